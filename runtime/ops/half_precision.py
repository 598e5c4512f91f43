"""Halves in functions of several ops: computed in float32, and rounded once, at the end."""
from ..dtypes import FLOAT, float32


def wide(x):
    """A tensor of 16-bit floats in float32, any other as it is."""
    return x.to(float32) if x.dtype.category == FLOAT and x.dtype.itemsize == 2 else x
