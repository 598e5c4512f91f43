# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from typing import Any

class CUDAGraph:
    """The type of a captured graph. None can be made."""
    def __init__(self, keep_graph: bool = False) -> None: ...

class graph:
    """A block whose launches would be captured. None can be entered."""
    def __init__(self, cuda_graph: Any, pool: Any = None, stream: Any = None, capture_error_mode: str = 'global') -> None: ...
