"""`whet.sparse.FloatTensor`, ...: the names of types from PyTorch's first years, which programs
still use."""
from __future__ import annotations

from typing import Any

from .. import dtypes
from ..classes_of_dtypes import ClassOfDtype
from ..ops.docstrings import with_example
from ..tensor import Size
from .make import sparse_coo_tensor
from .tensor import CooTensor


def _made(name: str, dtype: Any, args: Any) -> Any:
    if not args or isinstance(args[0], int | Size):
        sizes = args[0] if args and isinstance(args[0], Size) else args or (0,)
        return sparse_coo_tensor(tuple(sizes), dtype=dtype)
    if len(args) < 2 or getattr(args[1], "dtype", dtype) is not dtype:
        raise TypeError(f"{name}: expected indices, values of {dtype} and sizes")
    return sparse_coo_tensor(*args)


def _new(self: Any, *args: Any) -> Any:
    """A tensor of the same type, of what its type takes: indices, values and sizes, or sizes."""
    return _made("new", self.dtype, args)


CooTensor.new = _new    # type: ignore[attr-defined]


class SparseType(ClassOfDtype):
    """A type of sparse tensor: makes tensors of layout `sparse_coo`, and knows its own."""
    def __call__(cls, *args: Any) -> Any:
        """A tensor of indices, values and sizes; or one of nothing but zeros, of sizes."""
        return _made(cls.__name__, cls.dtype, args)

    def __instancecheck__(cls, x: Any) -> bool:
        return type(x) is CooTensor and x.dtype is cls.dtype


def _type(dtype: dtypes.dtype) -> Any:
    return SparseType.named(f"{dtype.letter}Tensor", dtype, "whet.sparse",
                            with_example(f"Sparse tensors of {dtype.name}.",
                                         f"whet.sparse.{dtype.letter}Tensor(2, 3).dtype",
                                         f"whet.{dtype.name}"))


FloatTensor, DoubleTensor, HalfTensor = map(_type, (dtypes.float32, dtypes.float64, dtypes.float16))
LongTensor, IntTensor, ShortTensor = map(_type, (dtypes.int64, dtypes.int32, dtypes.int16))
CharTensor, ByteTensor = map(_type, (dtypes.int8, dtypes.uint8))
