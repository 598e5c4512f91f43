# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from whet.streams import AcceleratorError

class OutOfMemoryError(RuntimeError):
    """Raised when a device has too little free memory for an allocation."""
    is_out_of_memory: bool

class CudaError(AcceleratorError):
    """The driver refused a call, or work that was given to it earlier failed."""
