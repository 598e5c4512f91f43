"""Sparse tensors: `whet.sparse_coo_tensor`, `whet.sparse_csr_tensor`, `Tensor.to_sparse`, and what
is done with them (docs/sparse.md)."""
from typing import Any

from . import gradients as _gradients  # noqa: F401  (its rules)
from . import pointwise as _pointwise  # noqa: F401  (its rules)
from . import products as _products
from . import resize as _resize  # noqa: F401  (its rules)
from . import sums as _sums
from .legacy_tensor_types import (
    ByteTensor,
    CharTensor,
    DoubleTensor,
    FloatTensor,
    HalfTensor,
    IntTensor,
    LongTensor,
    ShortTensor,
)
from .make import check_sparse_tensor_invariants as check_sparse_tensor_invariants
from .make import (
    sparse_bsc_tensor,
    sparse_bsr_tensor,
    sparse_compressed_tensor,
    sparse_coo_tensor,
    sparse_csc_tensor,
    sparse_csr_tensor,
)
from .products import addmm, sampled_addmm, spdiags, spsolve
from .rules import RULES as RULES
from .scipy import from_scipy, to_scipy
from .sums import log_softmax, softmax
from .tensor import SparseTensor

__all__ = [
    "ByteTensor", "CharTensor", "DoubleTensor", "FloatTensor", "HalfTensor", "IntTensor",
    "LongTensor", "ShortTensor", "SparseTensor", "addmm", "check_sparse_tensor_invariants",
    "from_scipy", "log_softmax", "mm", "sampled_addmm", "softmax", "spdiags", "spsolve", "sum",
    "to_scipy"]

MAKERS = (sparse_coo_tensor, sparse_compressed_tensor, sparse_csr_tensor, sparse_csc_tensor,
          sparse_bsr_tensor, sparse_bsc_tensor)


def mm(mat1: Any, mat2: Any, reduce: str = "sum") -> Any:
    """The product of matrices, one of which or both are sparse; `reduce`: what becomes of the terms
    of a row (sum, mean, amax, amin).

    >>> import whet
    >>> s = whet.sparse_coo_tensor([[0, 0], [2, 0]], [3., 4.], (2, 3))
    >>> whet.sparse.mm(s, whet.ones(3, 1), "amax")
    tensor([[4.],
            [0.]])
    """
    return (_products.mm(mat1, mat2) if reduce == "sum"
            else _products.reduced(mat1, mat2, reduce))


def sum(input: Any, dim: Any = None, dtype: Any = None) -> Any:  # noqa: A001
    """The sum of all elements of a sparse tensor, or along dimensions.

    >>> import whet
    >>> x = whet.tensor([[0., 1.], [2., 3.]]).to_sparse()
    >>> whet.sparse.sum(x), whet.sparse.sum(x, 0).to_dense()
    (tensor(6.), tensor([2., 4.]))
    """
    return _sums.sum(input, dim, dtype=dtype)
