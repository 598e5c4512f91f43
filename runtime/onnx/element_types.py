"""The element types of ONNX: their numbers in a file, their names, what holds them here.

>>> import whet
>>> from whet.onnx.element_types import ElementType
>>> ElementType.of_code(1).whet
whet.float32
>>> ElementType.of(whet.bfloat16).name
'BFLOAT16'
"""
from dataclasses import dataclass

import ml_dtypes
import numpy as np

from .. import dtypes
from .errors import OnnxError


@dataclass(frozen=True)
class ElementType:
    """An element type of the format. What whet has no type for is held in NumPy arrays."""
    code: int
    name: str
    numpy: np.dtype
    whet: dtypes.dtype | None

    @staticmethod
    def of_code(code: int) -> "ElementType":
        """The type with this number in the file."""
        if code not in BY_CODE:
            raise OnnxError(f"there is no element type of number {code}")
        return BY_CODE[code]

    @staticmethod
    def of(kind: dtypes.dtype | np.dtype) -> "ElementType":
        """The type of a whet type or of a NumPy type."""
        array_type = kind.np if isinstance(kind, dtypes.dtype) else np.dtype(kind)
        if array_type not in BY_NUMPY:
            raise OnnxError(f"ONNX has no element type for {kind}")
        return BY_NUMPY[array_type]

    def __str__(self) -> str:
        return self.name.lower()


# NumPy type -> whet's, of those that tensors are computed in; others are held in arrays
COMPUTED = {t: d for t, d in dtypes.FROM_NUMPY.items() if d.category != dtypes.STORED}


def _listed(code: int, name: str, numpy: type) -> ElementType:
    array_type: np.dtype = np.dtype(numpy)
    return ElementType(code, name, array_type, COMPUTED.get(array_type))


TYPES = (
    _listed(1, "FLOAT", np.float32), _listed(2, "UINT8", np.uint8), _listed(3, "INT8", np.int8),
    _listed(4, "UINT16", np.uint16), _listed(5, "INT16", np.int16), _listed(6, "INT32", np.int32),
    _listed(7, "INT64", np.int64), _listed(8, "STRING", np.object_), _listed(9, "BOOL", np.bool_),
    _listed(10, "FLOAT16", np.float16), _listed(11, "DOUBLE", np.float64),
    _listed(12, "UINT32", np.uint32), _listed(13, "UINT64", np.uint64),
    _listed(14, "COMPLEX64", np.complex64), _listed(15, "COMPLEX128", np.complex128),
    _listed(16, "BFLOAT16", ml_dtypes.bfloat16),
    _listed(17, "FLOAT8E4M3FN", ml_dtypes.float8_e4m3fn),
    _listed(18, "FLOAT8E4M3FNUZ", ml_dtypes.float8_e4m3fnuz),
    _listed(19, "FLOAT8E5M2", ml_dtypes.float8_e5m2),
    _listed(20, "FLOAT8E5M2FNUZ", ml_dtypes.float8_e5m2fnuz),
    _listed(21, "UINT4", ml_dtypes.uint4), _listed(22, "INT4", ml_dtypes.int4),
    _listed(23, "FLOAT4E2M1", ml_dtypes.float4_e2m1fn),
    _listed(24, "FLOAT8E8M0", ml_dtypes.float8_e8m0fnu),
    _listed(25, "UINT2", ml_dtypes.uint2), _listed(26, "INT2", ml_dtypes.int2))
BY_CODE = {t.code: t for t in TYPES}
BY_NUMPY = {t.numpy: t for t in TYPES}
