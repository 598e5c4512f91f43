# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.



class CudaError(RuntimeError):
    """The driver refused a call, or work that was given to it earlier failed."""

class OutOfMemoryError(RuntimeError):
    """A device has no memory left for what was asked of it."""
    is_out_of_memory: bool
