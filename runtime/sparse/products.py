"""Products with sparse matrices.

All go to two ops of entries, `ops/sparse_products.py`: sums of rows of a dense matrix, and dots of
rows of two.
"""
from __future__ import annotations

from typing import Any

from ..linalg import solve
from ..ops.registry import is_tensor
from ..ops.sparse_products import pointed_sums, row_dots, row_sums
from ..ops.surface import FUNCTIONS as F
from .convert import compressed, is_sparse
from .rules import rule
from .shapes import transpose
from .tensor import CooTensor, refusal, sparse_coo, sparse_csr


def _matrices(name: str, a: Any, b: Any) -> None:
    if a.ndim != 2 or b.ndim != 2:
        raise RuntimeError(f"{name}: Expected 2D matrices, but got tensors with {a.ndim} and "
                           f"{b.ndim} dimensions")
    if a.shape[1] != b.shape[0]:
        raise RuntimeError(f"{name}: mat1 and mat2 shapes cannot be multiplied "
                           f"({a.shape[0]}x{a.shape[1]} and {b.shape[0]}x{b.shape[1]})")
    if a.dtype is not b.dtype:
        raise RuntimeError(
            f"{name}: expected both matrices to have the same dtype, but got {a.dtype.letter} and "
            f"{b.dtype.letter}")


def _times_dense(a: Any, b: Any) -> Any:
    """A sparse matrix times a dense one."""
    if a.dense_dim():
        raise RuntimeError("mm: sparse matrices of values that have dimensions are not supported")
    if a.layout is sparse_csr:
        return pointed_sums(a._held, a._pointers.long(), a._places.long(), b)
    rows, columns, held, in_order = a._entries()
    return row_sums(held, rows, columns, b, a._sizes[0], in_order)


def _times_sparse(a: Any, b: Any) -> Any:
    """The product of two sparse matrices: each entry of the first meets a row of the second."""
    rows, columns, held, _ = a._as_coo().coalesce()._entries()
    second = b._as_coo().coalesce()
    inner = second._sizes[0]
    first = F["searchsorted"](second._places[0].contiguous(), F["arange"](inner + 1))
    begins = first.index_select(0, columns)
    lengths = first.index_select(0, columns + 1) - begins
    which = F["arange"](rows.shape[0]).repeat_interleave(lengths)
    before = (lengths.cumsum(0) - lengths).index_select(0, which)
    at = F["arange"](which.shape[0]) - before + begins.index_select(0, which)
    found = held.index_select(0, which) * second._held.index_select(0, at)
    places = F["stack"]([rows.index_select(0, which), second._places[1].index_select(0, at)])
    return a._back(CooTensor(places, found, (a._sizes[0], second._sizes[1])).coalesce())


@rule("mm", "spmm")
def mm(input: Any, mat2: Any) -> Any:
    """The product of matrices, one of which or both are sparse.

    >>> import whet
    >>> s = whet.sparse_coo_tensor([[0, 1], [2, 0]], [3., 4.], (2, 3))
    >>> whet.sparse.mm(s, whet.ones(3, 2))
    tensor([[3., 3.],
            [4., 4.]])
    """
    for i, x in enumerate((input, mat2)):
        if not is_tensor(x) and not is_sparse(x):
            raise TypeError(f"mm(): argument {i + 1} must be Tensor, not {x.__class__.__name__}")
    _matrices("mm", input, mat2)
    if is_sparse(input):
        return _times_sparse(input, mat2) if is_sparse(mat2) else _times_dense(input, mat2)
    if not is_sparse(mat2):
        return F["mm"](input, mat2)
    return _times_dense(transpose(mat2, 0, 1), input.t()).t()


@rule("mv")
def mv(input: Any, vec: Any) -> Any:
    """The product of a sparse matrix and a vector."""
    if vec.ndim != 1:
        raise RuntimeError(f"mv: vector + matrix @ vector expected, got {vec.ndim}")
    return mm(input, vec.unsqueeze(1)).squeeze(1)


@rule("matmul", "__matmul__")
def matmul(input: Any, other: Any) -> Any:
    """The product of matrices, or of a matrix and a vector."""
    if input.ndim == 2 and other.ndim == 1:
        return mv(input, other)
    if input.ndim == 1 and other.ndim == 2:
        return mm(input.unsqueeze(0), other).squeeze(0)
    if not is_sparse(input) and input.ndim > 2 and other.ndim == 2:
        found = mm(input.reshape(-1, input.shape[-1]), other)
        return found.reshape(*input.shape[:-1], other.shape[1])
    if input.ndim == 3 or other.ndim == 3:
        return bmm(input, other)
    return mm(input, other)


@rule("__rmatmul__")
def _rmatmul(self: Any, other: Any) -> Any:
    return matmul(other, self)


@rule("bmm")
def bmm(input: Any, mat2: Any) -> Any:
    """Products of the matrices of a sparse batch and of a dense one."""
    if not is_sparse(input) or is_sparse(mat2):
        raise refusal("bmm", "strided and sparse")
    if input.ndim != 3 or mat2.ndim != 3 or input.shape[0] != mat2.shape[0] \
            or input.shape[2] != mat2.shape[1]:
        raise RuntimeError(f"bmm: sizes {list(input.shape)} and {list(mat2.shape)} do not fit")
    coo = input._as_coo()
    if coo.sparse_dim() != 3:
        raise RuntimeError("bmm: all three dimensions must be sparse")
    batch, n, m = coo._sizes
    z, rows, columns = coo._places
    found = row_sums(coo._held, z * n + rows, z * m + columns,
                     mat2.reshape(batch * m, mat2.shape[2]), batch * n, coo._is_coalesced)
    return found.reshape(batch, n, mat2.shape[2])


@rule("addmm")
def addmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """beta times a matrix and alpha times a product.

    >>> import whet
    >>> whet.sparse.addmm(whet.zeros(2, 2), whet.eye(2).to_sparse(), whet.ones(2, 2))
    tensor([[1., 1.],
            [1., 1.]])
    """
    found = mm(mat1, mat2)
    found = found if alpha == 1 else found * alpha
    scaled = input if beta == 1 else input * beta
    if is_sparse(scaled) and not is_sparse(found):
        return found + scaled
    return scaled + found


@rule("addmm_")
def addmm_(self: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """`addmm`, in place."""
    return self.copy_(addmm(self, mat1, mat2, beta=beta, alpha=alpha))


@rule("addmv")
def addmv(input: Any, mat: Any, vec: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """beta times a vector and alpha times a product."""
    return input * beta + mv(mat, vec) * alpha


@rule("linear")
def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """x W^T + b, where one of them is sparse."""
    flat = input if is_sparse(input) else input.reshape(-1, input.shape[-1])
    found = mm(flat, weight.t())
    if not is_sparse(input):
        found = found.reshape(*input.shape[:-1], weight.shape[0])
    return found if bias is None else found + bias


@rule("smm")
def smm(input: Any, mat: Any) -> Any:
    """The product of a sparse matrix and a dense one, as a sparse one."""
    return sspaddmm(CooTensor(F["zeros"](2, 0, dtype=input._as_coo()._places.dtype),
                              input._held.detach()[:0], (input._sizes[0], mat.shape[1]), True),
                    input, mat)


@rule("sspaddmm")
def sspaddmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """beta times a sparse matrix and alpha times a product, as a sparse one."""
    if not is_sparse(input) or not is_sparse(mat1) or is_sparse(mat2):
        raise refusal("sspaddmm", "strided")
    _matrices("sspaddmm", mat1, mat2)
    coo, width = mat1._as_coo(), mat2.shape[1]
    rows, columns, held, _ = coo._entries()
    found = (held[:, None] * mat2.index_select(0, columns)).reshape(-1) * alpha
    across = F["arange"](width).expand(rows.shape[0], width).reshape(-1)
    places = F["stack"]([rows[:, None].expand(rows.shape[0], width).reshape(-1), across])
    mine = input._as_coo()
    return CooTensor(F["cat"]([mine._places, places], 1), F["cat"]([mine._held * beta, found]),
                     mine._sizes).coalesce()


@rule("hspmm")
def hspmm(mat1: Any, mat2: Any) -> Any:
    """The product of a sparse matrix and a dense one, as the rows that have entries."""
    _matrices("hspmm", mat1, mat2)
    rows, columns, held, in_order = mat1._as_coo()._entries()
    there, which = F["unique"](rows, return_inverse=True)
    found = row_sums(held, which, columns, mat2, there.shape[0], in_order)
    return CooTensor(there[None], found, (mat1._sizes[0], mat2.shape[1]), True)


@rule("sampled_addmm")
def sampled_addmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1.0, alpha: Any = 1.0) -> Any:
    """beta times a sparse matrix and alpha times a product of dense ones at its places.

    >>> import whet
    >>> at = whet.tensor([[0., 1.], [1., 0.]]).to_sparse_csr()
    >>> whet.sparse.sampled_addmm(at, whet.ones(2, 3), whet.ones(3, 2), beta=0.0).to_dense()
    tensor([[0., 3.],
            [3., 0.]])
    """
    _matrices("sampled_addmm", mat1, mat2)
    if tuple(input.shape) != (mat1.shape[0], mat2.shape[1]):
        raise RuntimeError("sampled_addmm: Expected self.shape to be "
                           f"{[mat1.shape[0], mat2.shape[1]]}, but got {list(input.shape)}")
    rows, columns, _, _ = input._entries()
    found = row_dots(rows, columns, mat1, mat2.t().contiguous())
    return input._with(input._held * beta + found.reshape(input._held.shape) * alpha)


def reduced(input: Any, mat: Any, reduce: str) -> Any:
    """The product with another reduction than the sum, over the entries of each row."""
    _matrices("sparse.mm", input, mat)
    rows, columns, held, in_order = input._entries()
    count, width = input._sizes[0], mat.shape[1]
    if reduce in ("sum", "mean"):
        found = row_sums(held, rows, columns, mat, count, in_order)
        if reduce == "sum":
            return found
        ones = F["ones"](rows.shape[0], dtype=held.dtype)
        lengths = F["zeros"](count, dtype=held.dtype).index_add(0, rows, ones).clamp(min=1)
        return found / lengths[:, None]
    if reduce not in ("amax", "amin"):
        raise RuntimeError("reduce argument must be either sum, prod, mean, amax or amin, got "
                           f"{reduce}")
    terms = held[:, None] * mat.index_select(0, columns)
    zero = F["zeros"](count, width, dtype=held.dtype)
    return zero.scatter_reduce(0, rows[:, None].expand(terms.shape), terms, reduce,
                               include_self=False)


def spsolve(input: Any, other: Any) -> Any:
    """The solution of a system of equations with a sparse matrix.

    >>> import whet
    >>> A = whet.tensor([[2., 0.], [0., 4.]]).to_sparse_csr()
    >>> whet.sparse.spsolve(A, whet.tensor([2., 2.]))
    tensor([1.0000, 0.5000])
    """
    if not is_sparse(input) or input.layout is not sparse_csr:
        raise RuntimeError("spsolve: the matrix must be of layout whet.sparse_csr")
    return solve(input._as_coo().to_dense(), other)


def spdiags(diagonals: Any, offsets: Any, shape: Any, layout: Any = None) -> Any:
    """A sparse matrix of its diagonals: row i of them lies at offset i, element j in column j.

    >>> import whet
    >>> whet.sparse.spdiags(whet.ones(1, 3), whet.tensor([1]), (3, 3)).to_dense()
    tensor([[0., 1., 0.],
            [0., 0., 1.],
            [0., 0., 0.]])
    """
    diagonals = diagonals.reshape(-1, diagonals.shape[-1])
    offsets = offsets.reshape(-1)
    if offsets.shape[0] != diagonals.shape[0]:
        raise RuntimeError("spdiags: number of diagonals "
                           f"({diagonals.shape[0]}) does not match the number of offsets "
                           f"({offsets.shape[0]})")
    if len(set(offsets.tolist())) != offsets.shape[0]:
        raise RuntimeError("spdiags: offsets has duplicate values")
    if len(shape) != 2:
        raise RuntimeError("spdiags: Output shape must be 2d")
    n, m = shape
    columns = F["arange"](diagonals.shape[1]).expand(diagonals.shape)
    rows = columns - offsets[:, None]
    kept = ((rows >= 0) & (rows < n) & (columns < m)).reshape(-1).nonzero().reshape(-1)
    places = F["stack"]([rows.reshape(-1), columns.reshape(-1)]).index_select(1, kept)
    coo = CooTensor(places, diagonals.reshape(-1).index_select(0, kept), (n, m)).coalesce()
    return coo if layout in (None, sparse_coo) else compressed(coo, layout)


