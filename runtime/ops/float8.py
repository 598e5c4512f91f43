"""Floats of one byte: what converts them. Nothing else is computed in them (`cpu/float8.py`)."""
import numpy as np

from .. import dtypes
from ..cpu import float8
from ..tensor import wrap
from .batching import native
from .creation import like_array
from .registry import Op
from .sample_inputs import Sample

_FLOAT = np.dtype(np.float32)


def widened(a):
    """An array's values as float32."""
    return float8.widened(a, like_array(a, _FLOAT))


def narrowed(a, dtype):
    """An array of float32 in one of these types."""
    return float8.narrowed(a, like_array(a, dtype.np))


to_float32 = Op(
    "float8_to_float32", widened, lambda g, _y, _x: [g.to(_x.dtype)], batch=native,
    samples=lambda make: [Sample(wrap(narrowed(np.array([[0, 1.5, -2], [0.25, 448, -0.0]], _FLOAT),
                                               dtypes.float8_e5m2)))])
to_float32.outlined = lambda a: like_array(a, _FLOAT)
to_float8 = Op(
    "float32_to_float8", narrowed, lambda g, _y, _x, dtype: [g.to(_x.dtype)],
    batch=native,
    samples=lambda make: [Sample(make(2, 3, dtype=dtypes.float32, grad=False), dtype=d)
                          for d in dtypes.STORED_TYPES])
to_float8.outlined = lambda a, dtype: like_array(a, dtype.np)
for _op in (to_float32, to_float8):
    _op.total = _op.keeps_sizes = _op.any_sizes = True
