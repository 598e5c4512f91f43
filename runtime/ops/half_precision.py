"""Halves in functions of several ops: computed in float32, and rounded once, at the end."""
from ..dtypes import FLOAT, float32


def wide_type(dtype):
    """float32 for the types of 16-bit floats, any other as it is."""
    return float32 if dtype.category == FLOAT and dtype.itemsize == 2 else dtype


def wide(x):
    """A tensor of 16-bit floats in float32, any other as it is."""
    return x.to(float32) if wide_type(x.dtype) is not x.dtype else x
