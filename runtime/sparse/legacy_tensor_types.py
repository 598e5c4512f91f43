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


class SparseType(ClassOfDtype):
    """A type of sparse tensor: makes tensors of layout `sparse_coo`, and knows its own."""
    def __call__(cls, *args: Any) -> Any:
        """A tensor of indices, values and sizes; or one of nothing but zeros, of sizes."""
        if not args or isinstance(args[0], int | Size):
            sizes = args[0] if args and isinstance(args[0], Size) else args or (0,)
            return sparse_coo_tensor(tuple(sizes), dtype=cls.dtype)
        if len(args) < 2 or getattr(args[1], "dtype", cls.dtype) is not cls.dtype:
            raise TypeError(f"{cls.__name__}: expected indices, values of {cls.dtype} and sizes")
        return sparse_coo_tensor(*args)

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
