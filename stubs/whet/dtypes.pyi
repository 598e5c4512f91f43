# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
_dtype = dtype
from typing import Any

class dtype:
    """An element type. There is one object for each; compare with `is` or `==`."""
    @property
    def is_complex(self) -> bool: ...
    @property
    def is_floating_point(self) -> bool: ...
    @property
    def is_signed(self) -> bool: ...
    @property
    def itemsize(self) -> int: ...
    @property
    def kind(self) -> str: """NumPy's letter for such numbers: b, i, u, f or c; V for bytes that are no numbers."""
    @property
    def name(self) -> str: ...
    def to_complex(self) -> dtype: """The complex type whose parts have this type."""
    def to_real(self) -> dtype: """The type of the real part."""

class finfo:
    """Limits of a floating point type: bits, eps, max, min, tiny, smallest_normal, resolution."""
    bits: int
    eps: float
    max: float
    min: float
    tiny: float
    smallest_normal: float
    resolution: float
    dtype: str
    def __init__(self, type: _dtype | None = None) -> None: ...

class iinfo:
    """Limits of an integer type: bits, max, min."""
    bits: int
    max: int
    min: int
    dtype: str
    def __init__(self, type: _dtype | Any) -> None: ...
