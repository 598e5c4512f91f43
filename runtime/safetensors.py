"""The headers of safetensors files: types by their names there, and what must be so of a header."""
import math

import numpy as np

from . import dtypes

_NAMES = {
    "BOOL": dtypes.bool_, "U8": dtypes.uint8, "I8": dtypes.int8, "U16": dtypes.uint16,
    "I16": dtypes.int16, "U32": dtypes.uint32, "I32": dtypes.int32, "U64": dtypes.uint64,
    "I64": dtypes.int64, "F16": dtypes.float16, "BF16": dtypes.bfloat16, "F32": dtypes.float32,
    "F64": dtypes.float64, "C64": dtypes.complex64, "F8_E4M3": dtypes.float8_e4m3fn,
    "F8_E5M2": dtypes.float8_e5m2, "F8_E8M0": dtypes.float8_e8m0fnu,
    "F8_E4M3FNUZ": dtypes.float8_e4m3fnuz, "F8_E5M2FNUZ": dtypes.float8_e5m2fnuz}
_SPELLED = {d: name for name, d in _NAMES.items()}
TYPES = {name: d.np for name, d in _NAMES.items()}


def spelled(array):
    """An array's type and sizes as a header has them: a complex number of 128 bits is two
    floats."""
    if array.dtype == np.complex128:
        return "F64", [*array.shape, 2]
    dtype = dtypes.FROM_NUMPY[array.dtype]
    if dtype not in _SPELLED:
        raise NotImplementedError(f"files have no tensors of {dtype}: save a view of its bytes")
    return _SPELLED[dtype], list(array.shape)


def check_header(header):
    """The number of data bytes that a header speaks of; ValueError where it makes no sense."""
    spans = []
    for name, entry in header.items():
        try:
            dtype, shape, (start, end) = entry["dtype"], entry["shape"], entry["data_offsets"]
            if set(entry) != {"dtype", "shape", "data_offsets"} or dtype not in TYPES:
                raise ValueError(f"unknown type {dtype!r}")
            if not isinstance(shape, list) or len(shape) > 64 \
                    or not all(type(n) is int and 0 <= n < 2**48 for n in shape):
                raise ValueError(f"bad shape {shape!r}")
            if type(start) is not int or type(end) is not int or not 0 <= start <= end:
                raise ValueError(f"bad offsets {start!r}, {end!r}")
            if math.prod(shape) * TYPES[dtype].itemsize != end - start:
                raise ValueError(f"{end - start} bytes for shape {shape} of {dtype}")
        except (TypeError, ValueError, KeyError) as e:
            raise ValueError(f"the header entry {name!r} is damaged: {e}") from None
        spans.append((start, end, name))
    at = 0
    for start, end, name in sorted(spans):
        if start != at:
            raise ValueError(f"the bytes of {name!r} do not follow those before them")
        at = end
    return at
