"""From one layout to another, and from and to dense tensors."""
from __future__ import annotations

import math
from typing import Any

from ..dtypes import int64
from ..layouts import strided
from ..ops.surface import FUNCTIONS as F
from .rules import rule
from .tensor import (
    COMPRESSED_NAMES,
    CompressedTensor,
    CooTensor,
    SparseTensor,
    flat_places,
    sparse_bsc,
    sparse_bsr,
    sparse_coo,
    sparse_csc,
    sparse_csr,
)


def is_sparse(x: Any) -> bool:
    """Is it a sparse tensor, of any layout?"""
    return issubclass(type(x), SparseTensor)


def coo_of(x: Any, sparse_dim: int | None = None) -> CooTensor:
    """The elements (or slices) of a dense tensor that are not zero."""
    n = x.ndim if sparse_dim is None else sparse_dim
    if not 0 <= n <= x.ndim or (x.ndim and not n):
        raise RuntimeError(f"sparse_dim must be in the range [1, {x.ndim}], but got {sparse_dim}")
    sizes = tuple(x.shape)
    found = x.detach() != 0
    if n < x.ndim:
        found = found.reshape(*sizes[:n], -1).any(-1)
    places = found.nonzero().t().contiguous()
    flat = x.reshape(-1, *sizes[n:])
    held = flat.index_select(0, flat_places(places, sizes[:n]))
    return CooTensor(places, held, sizes, True)


def compressed(coo: CooTensor, layout: Any, block: Any = None) -> CompressedTensor:
    """A matrix of entries row by row, or column by column, or of blocks of them."""
    if coo.sparse_dim() != 2:
        raise RuntimeError(f"to_sparse: only matrices have the layout {layout}, but there are "
                           f"{coo.sparse_dim()} sparse dimensions")
    if layout in (sparse_bsr, sparse_bsc):
        return _of_blocks(coo, layout, block)
    rows_first = layout is sparse_csr
    if not rows_first:
        coo = _swapped(coo)
    coo = coo.coalesce()
    sizes = coo._sizes if rows_first else (coo._sizes[1], coo._sizes[0], *coo._sizes[2:])
    return CompressedTensor(pointers_of(coo._places[0], coo._sizes[0]), coo._places[1], coo._held,
                            sizes, layout)


CompressedTensor._compressed = staticmethod(compressed)


def _swapped(coo: CooTensor) -> CooTensor:
    return CooTensor(coo._places.flip(0), coo._held,
                     (coo._sizes[1], coo._sizes[0], *coo._sizes[2:]))


def pointers_of(rows: Any, count: int) -> Any:
    """Where each row begins among entries in order, and where the last ends."""
    ones = F["ones"](rows.shape[0], dtype=int64, device=rows.device)
    lengths = F["zeros"](count + 1, dtype=int64, device=rows.device)
    return lengths.index_add(0, rows + 1, ones).cumsum(0)


def _of_blocks(coo: CooTensor, layout: Any, block: Any) -> CompressedTensor:
    if block is None:
        raise RuntimeError(f"to_sparse: the layout {layout} needs a blocksize")
    r, c = block
    n, m = coo._sizes[:2]
    if n % r or m % c:
        raise RuntimeError(
            f"tensor sparse size ({n},{m}) must be divisible by given blocksize ({r},{c})")
    rest = coo._sizes[2:]
    rows_first = layout is sparse_bsr
    grid = (n // r, m // c) if rows_first else (m // c, n // r)
    coo = coo.coalesce()
    rows, columns = coo._places
    along, across = (rows // r, columns // c) if rows_first else (columns // c, rows // r)
    flat, which = F["unique"](along * grid[1] + across, return_inverse=True)
    held = F["zeros"](flat.shape[0] * r * c, *rest, dtype=coo.dtype, device=coo.device)
    held = held.index_add(0, which * (r * c) + rows % r * c + columns % c, coo._held)
    return CompressedTensor(pointers_of(flat // grid[1], grid[0]), flat % grid[1],
                            held.reshape(-1, r, c, *rest), coo._sizes, layout)


# ---- methods -------------------------------------------------------------------------------------
@rule("to_dense")
def to_dense(self: Any, dtype: Any = None, *, masked_grad: bool | None = None) -> Any:
    """The tensor with all its zeros."""
    if not is_sparse(self):
        return self if dtype is None else self.to(dtype)
    coo = self._as_coo()
    n = coo.sparse_dim()
    sizes = coo._sizes
    held = coo._held
    whole = F["zeros"](math.prod(sizes[:n]), *sizes[n:], dtype=held.dtype, device=held.device)
    found = whole.index_add(0, flat_places(coo._places, sizes[:n]), held).reshape(sizes)
    return found if dtype is None else found.to(dtype)


@rule("to_sparse")
def to_sparse(self: Any, sparse_dim: Any = None, *, layout: Any = None, blocksize: Any = None,
              dense_dim: int | None = None) -> Any:
    """The tensor as a sparse one: of so many sparse dimensions, or of a layout.

    >>> import whet
    >>> whet.eye(2).to_sparse()
    tensor(indices=tensor([[0, 1],
                           [0, 1]]),
           values=tensor([1., 1.]),
           size=(2, 2), nnz=2, layout=whet.sparse_coo)
    """
    if isinstance(sparse_dim, type(strided)):
        sparse_dim, layout = None, sparse_dim
    if layout is strided:
        return to_dense(self)
    layout = sparse_coo if layout is None else layout
    if is_sparse(self) and layout is self.layout:
        return self
    if layout is sparse_coo:
        return self._as_coo().coalesce() if is_sparse(self) else coo_of(self, sparse_dim)
    if layout not in COMPRESSED_NAMES:
        raise RuntimeError(f"to_sparse: unknown layout {layout}")
    if not is_sparse(self):
        wanted = self.ndim - (dense_dim or 0)
        if wanted != 2:
            raise NotImplementedError(
                f"to_sparse: only matrices have the layout {layout}, but got {wanted} dimensions")
        self = coo_of(self, 2)
    return compressed(self._as_coo(), layout, blocksize)


def _to_layout(name: str, layout: Any) -> None:
    def convert(self: Any, *args: Any, **kwargs: Any) -> Any:
        if layout in (sparse_bsr, sparse_bsc):
            kwargs.setdefault("blocksize", args[0] if args else None)
        return to_sparse(self, layout=layout, **kwargs)
    convert.__name__ = convert.__qualname__ = name
    convert.__doc__ = f"The same as a tensor of layout {layout}."
    rule(name)(convert)


for _name, _layout in (("to_sparse_coo", sparse_coo), ("to_sparse_csr", sparse_csr),
                       ("to_sparse_csc", sparse_csc), ("to_sparse_bsr", sparse_bsr),
                       ("to_sparse_bsc", sparse_bsc)):
    _to_layout(_name, _layout)


@rule("sparse_mask")
def sparse_mask(self: Any, mask: Any) -> Any:
    """The elements at the places of a sparse tensor."""
    if tuple(self.shape) != tuple(mask.shape):
        raise RuntimeError(
            "sparse_mask(): operands have incompatible sizes; self has size "
            f"{list(self.shape)} but mask has size {list(mask.shape)}")
    if mask.layout is not sparse_coo:
        if is_sparse(self) and self.layout is mask.layout and self._places is mask._places:
            return self
        found = sparse_mask(self if not is_sparse(self) else self._as_coo(), mask._as_coo())
        return mask._with(found._held.reshape(mask._held.shape))
    if is_sparse(self):
        if self.layout is sparse_coo and self._places is mask._places:
            return self
        return _masked(self._as_coo(), mask)
    n = mask.sparse_dim()
    flat = self.reshape(-1, *mask._sizes[n:])
    held = flat.index_select(0, flat_places(mask._places, mask._sizes[:n]))
    return CooTensor(mask._places, held, mask._sizes, mask._is_coalesced)


def _masked(coo: CooTensor, mask: CooTensor) -> CooTensor:
    """The entries of a sparse tensor at the places of another; zero where it has none."""
    coo, n = coo.coalesce(), coo.sparse_dim()
    mine = flat_places(coo._places, coo._sizes[:n])
    wanted = flat_places(mask._places, mask._sizes[:n])
    held = coo._held
    if not mine.shape[0]:
        empty = F["zeros"](wanted.shape[0], *held.shape[1:], dtype=held.dtype)
        return CooTensor(mask._places, empty, mask._sizes, mask._is_coalesced)
    at = F["searchsorted"](mine, wanted).clamp(max=mine.shape[0] - 1)
    there = (mine.index_select(0, at) == wanted).reshape(-1, *[1] * (held.ndim - 1))
    found = F["where"](there, held.index_select(0, at), F["zeros"]((), dtype=held.dtype))
    return CooTensor(mask._places, found, mask._sizes, mask._is_coalesced)
