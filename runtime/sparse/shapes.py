"""Dimensions and parts of sparse tensors: their places change, their values stay."""
from __future__ import annotations

import operator
from typing import Any

from ..ops.registry import is_tensor
from ..ops.surface import FUNCTIONS as F
from .convert import is_sparse
from .rules import rule
from .tensor import (
    CompressedTensor,
    CooTensor,
    SparseTensor,
    refusal,
    sparse_bsc,
    sparse_bsr,
    sparse_csc,
    sparse_csr,
)

ACROSS = {sparse_csr: sparse_csc, sparse_csc: sparse_csr, sparse_bsr: sparse_bsc,
          sparse_bsc: sparse_bsr}


@rule("transpose", "swapaxes", "swapdims")
def transpose(input: Any, dim0: int, dim1: int) -> Any:
    """Two dimensions in each other's place."""
    a, b = input._dim(dim0), input._dim(dim1)
    order = list(range(input.ndim))
    order[a], order[b] = b, a
    return permute(input, order)


@rule("t")
def t(input: Any) -> Any:
    """The transpose of a matrix."""
    if input.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {input.ndim}D")
    return input if input.ndim < 2 else transpose(input, 0, 1)


SparseTensor.T = SparseTensor.mT = property(       # type: ignore[attr-defined]
    lambda self: transpose(self, -2, -1))
SparseTensor.H = SparseTensor.mH = property(       # type: ignore[attr-defined]
    lambda self: transpose(self.conj(), -2, -1))


@rule("permute")
def permute(input: Any, *dims: Any) -> Any:
    """The dimensions in another order."""
    order = dims[0] if len(dims) == 1 and not isinstance(dims[0], int) else dims
    order = [input._dim(d) for d in order]
    if sorted(order) != list(range(input.ndim)):
        raise RuntimeError("permute: the dimensions must be all there are, each once")
    if order == list(range(input.ndim)):
        return input
    sizes = tuple(input._sizes[d] for d in order)
    if isinstance(input, CompressedTensor):
        if order[:2] != [1, 0] or order[2:] != list(range(2, input.ndim)):
            raise refusal("permute", str(input.layout))
        held = input._held.transpose(1, 2) if input._has_blocks else input._held
        return CompressedTensor(input._pointers, input._places, held, sizes, ACROSS[input.layout])
    n = input.sparse_dim()
    if any((new < n) != (old < n) for new, old in enumerate(order)):
        raise RuntimeError("permute: sparse and dense dimensions cannot be mixed")
    places = F["stack"]([input._places[d] for d in order[:n]])
    held = input._held.permute(0, *(d - n + 1 for d in order[n:]))
    return CooTensor(places, held, sizes, input._is_coalesced and order[:n] == list(range(n)))


@rule("unsqueeze")
def unsqueeze(input: Any, dim: int) -> Any:
    """One dimension of size 1 more."""
    d = operator.index(dim)
    d += input.ndim + 1 if d < 0 else 0
    coo, n = input._as_coo(), input.sparse_dim()
    if not 0 <= d <= input.ndim:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-input.ndim - 1}, "
                         f"{input.ndim}], but got {dim})")
    sizes = (*coo._sizes[:d], 1, *coo._sizes[d:])
    if d > n:
        return CooTensor(coo._places, coo._held.unsqueeze(d - n + 1), sizes, coo._is_coalesced)
    row = F["zeros"](1, coo._nnz(), dtype=coo._places.dtype)
    return CooTensor(F["cat"]([coo._places[:d], row, coo._places[d:]]), coo._held, sizes,
                     coo._is_coalesced)


@rule("squeeze")
def squeeze(input: Any, dim: int | None = None) -> Any:
    """Dimensions of size 1 left out."""
    for d in reversed(range(input.ndim)) if dim is None else (input._dim(dim),):
        if input._sizes[d] == 1:
            input = select(input, d, 0)
    return input


# ---- parts ---------------------------------------------------------------------------------------
@rule("select")
def select(input: Any, dim: int, index: int) -> Any:
    """One slice of a dimension."""
    d, size = input._dim(dim), input._sizes[input._dim(dim)]
    if not -size <= index < size:
        raise IndexError(f"select(): index {index} out of range for tensor of size "
                         f"{list(input._sizes)} at dimension {d}")
    index += size if index < 0 else 0
    coo, n = input._as_coo(), input.sparse_dim()
    sizes = (*coo._sizes[:d], *coo._sizes[d + 1:])
    if d >= n:
        held = coo._held.select(d - n + 1, index)
        return CooTensor(coo._places, held, sizes, coo._is_coalesced)
    kept = (coo._places[d] == index).nonzero().reshape(-1)
    held = coo._held.index_select(0, kept)
    if n == 1:
        return held.sum(0)
    places = F["cat"]([coo._places[:d], coo._places[d + 1:]]).index_select(1, kept)
    return CooTensor(places, held, sizes, coo._is_coalesced)


@rule("narrow", "narrow_copy")
def narrow(input: Any, dim: int, start: Any, length: int) -> Any:
    """Some slices of a dimension that follow each other."""
    d, start = input._dim(dim), operator.index(start)
    size = input._sizes[d]
    start += size if start < 0 else 0
    if start < 0 or length < 0 or start + length > size:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({size}).")
    coo, n = input._as_coo(), input.sparse_dim()
    sizes = (*coo._sizes[:d], length, *coo._sizes[d + 1:])
    if d >= n:
        held = coo._held.narrow(d - n + 1, start, length)
        return input._back(CooTensor(coo._places, held, sizes, coo._is_coalesced))
    row = coo._places[d]
    kept = ((row >= start) & (row < start + length)).nonzero().reshape(-1)
    places = _moved(coo._places.index_select(1, kept), d, start)
    return input._back(CooTensor(places, coo._held.index_select(0, kept), sizes,
                                 coo._is_coalesced))


def _moved(places: Any, d: int, by: int) -> Any:
    """Places, those of one dimension `by` less."""
    return F["cat"]([places[:d], places[d:d + 1] - by, places[d + 1:]]) if by else places


@rule("index_select")
def index_select(input: Any, dim: int, index: Any) -> Any:
    """The slices of a dimension that a vector names."""
    d = input._dim(dim)
    if index.ndim != 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    size, count = input._sizes[d], index.shape[0]
    if count and bool(((index < -size) | (index >= size)).any()):
        raise IndexError("index_select(): index out of range for dimension of size " + str(size))
    index = F["where"](index < 0, index + size, index)
    coo, n = input._as_coo(), input.sparse_dim()
    sizes = (*coo._sizes[:d], count, *coo._sizes[d + 1:])
    if d >= n:
        held = coo._held.index_select(d - n + 1, index)
        return input._back(CooTensor(coo._places, held, sizes, coo._is_coalesced))
    # of each name the entries of its slice, which follow each other once they are in its order
    order = coo._places[d].argsort(stable=True)
    ranked = coo._places[d].index_select(0, order)
    first = F["searchsorted"](ranked, index)
    lengths = F["searchsorted"](ranked, index, right=True) - first
    name = F["arange"](count).repeat_interleave(lengths)
    before = (lengths.cumsum(0) - lengths).index_select(0, name)
    at = F["arange"](name.shape[0]) - before + first.index_select(0, name)
    kept = order.index_select(0, at)
    places = coo._places.index_select(1, kept)
    places = F["cat"]([places[:d], name[None], places[d + 1:]])
    return input._back(CooTensor(places, coo._held.index_select(0, kept), sizes))


@rule("__getitem__")
def getitem(self: Any, key: Any) -> Any:
    """Parts by numbers, slices of step 1, None and `...`."""
    keys = list(key) if isinstance(key, tuple) else [key]
    indexed = sum(k is not None and k is not Ellipsis for k in keys)
    if indexed > self.ndim:
        raise IndexError(f"too many indices for tensor of dimension {self.ndim}")
    if not any(k is Ellipsis for k in keys):
        keys.append(Ellipsis)
    at = next(i for i, k in enumerate(keys) if k is Ellipsis)
    keys[at:at + 1] = [slice(None)] * (self.ndim - indexed)
    d = 0
    for k in keys:
        if k is None:
            self, d = unsqueeze(self, d), d + 1
        elif isinstance(k, slice):
            self, d = _sliced(self, d, k), d + 1
        elif is_tensor(k) and k.ndim == 1:
            self, d = index_select(self, d, _numbers_of(k, self.shape[d])), d + 1
        elif hasattr(k, "__index__") and not isinstance(k, bool):
            self = select(self, d, operator.index(k))
        else:
            raise refusal("index", str(getattr(self, "layout", "sparse")))
    return self


def _numbers_of(index: Any, size: int) -> Any:
    """The slices that an index names: it says their numbers, or of each whether it is wanted."""
    if index.dtype.category:
        return index
    if index.shape[0] != size:
        raise IndexError(f"The shape of the mask {list(index.shape)} does not match a dimension of "
                         f"size {size}")
    return index.nonzero().reshape(-1)


def _sliced(x: Any, d: int, k: slice) -> Any:
    start, stop, step = k.indices(x.shape[d])
    if step != 1:
        raise refusal("as_strided", str(x.layout))
    whole = not start and stop == x.shape[d]
    return x if whole else x.narrow(d, start, max(0, stop - start))


@rule("unbind")
def unbind(input: Any, dim: int = 0) -> Any:
    """The slices of a dimension."""
    return tuple(select(input, dim, i) for i in range(input._sizes[input._dim(dim)]))


def _iterate(self: Any) -> Any:
    return iter(unbind(self))


SparseTensor.__iter__ = _iterate                   # type: ignore[attr-defined]


# ---- several -------------------------------------------------------------------------------------
@rule("cat", "concat", "concatenate")
def cat(tensors: Any, dim: int = 0) -> Any:
    """Tensors behind each other along a dimension."""
    for i, x in enumerate(tensors):
        if not is_sparse(x):
            raise RuntimeError(
                f"Concatenating sparse tensors, but a dense tensor was found at position {i}.")
    first, d = tensors[0], tensors[0]._dim(dim)
    coos = [x._as_coo() for x in tensors]
    n = coos[0].sparse_dim()
    for i, x in enumerate(coos):
        rest = [m for k, m in enumerate(x._sizes) if k != d]
        if x.sparse_dim() != n or rest != [m for k, m in enumerate(coos[0]._sizes) if k != d]:
            raise RuntimeError(
                f"All tensors must have the same shape: {list(coos[0]._sizes)} (except in the "
                f"concatenating dimension), but found shape: {list(x._sizes)} at position {i}.")
    if d >= n:
        raise NotImplementedError("cat: along a dense dimension of sparse tensors")
    places, start = [], 0
    for x in coos:
        places.append(_moved(x._places, d, -start))
        start += x._sizes[d]
    sizes = (*coos[0]._sizes[:d], start, *coos[0]._sizes[d + 1:])
    held = F["cat"]([x._held for x in coos])
    in_order = not d and all(x._is_coalesced for x in coos)
    return first._back(CooTensor(F["cat"](places, 1), held, sizes, in_order))


@rule("hstack")
def hstack(tensors: Any) -> Any:
    """Tensors beside each other."""
    return cat(tensors, 0 if tensors[0].ndim == 1 else 1)


@rule("vstack", "row_stack")
def vstack(tensors: Any) -> Any:
    """Tensors below each other."""
    return cat([unsqueeze(x, 0) if x.ndim == 1 else x for x in tensors])


@rule("stack")
def stack(tensors: Any, dim: int = 0) -> Any:
    """Tensors along a new dimension."""
    return cat([unsqueeze(x, dim) for x in tensors], dim)


# ---- copies --------------------------------------------------------------------------------------
@rule("clone")
def clone(input: Any, *, memory_format: Any = None) -> Any:
    """A copy."""
    held = input._held.clone()
    if isinstance(input, CooTensor):
        return CooTensor(input._places.clone(), held, input._sizes, input._is_coalesced)
    return CompressedTensor(input._pointers.clone(), input._places.clone(), held, input._sizes,
                            input.layout)


@rule("detach")
def detach(self: Any) -> Any:
    """The same memory without history."""
    return self._with(self._held.detach())


@rule("detach_")
def detach_(self: Any) -> Any:
    """Forget the history."""
    self._held = self._held.detach()
    return self


@rule("to")
def to(self: Any, *args: Any, **kwargs: Any) -> Any:
    """The values in another type, or on another device."""
    copy = kwargs.get("copy", False)
    held = self._held.to(*args, **kwargs)
    if copy:
        return clone(self)._with(held)
    return self if held is self._held else self._with(held)


def _converting(name: str) -> None:
    def convert(self: Any, *args: Any, **kwargs: Any) -> Any:
        held = getattr(self._held, name)(*args, **kwargs)
        return self if held is self._held else self._with(held)
    convert.__name__ = convert.__qualname__ = name
    convert.__doc__ = f"`Tensor.{name}` of the values."
    rule(name)(convert)


for _name in ("float", "double", "half", "bfloat16", "int", "long", "short", "char", "byte", "bool",
              "cfloat", "cdouble", "type_as", "cpu", "cuda", "pin_memory", "contiguous",
              "real", "imag", "conj"):
    _converting(_name)


@rule("zeros_like", "empty_like")
def zeros_like(input: Any, *, dtype: Any = None, layout: Any = None, device: Any = None,
               requires_grad: bool = False, memory_format: Any = None) -> Any:
    """A tensor of the same sizes without entries."""
    if layout is not None and layout is not input.layout:
        return F["zeros"](input._sizes, dtype=dtype or input.dtype, requires_grad=requires_grad)
    coo = input._as_coo()
    none = CooTensor(coo._places[:, :0], coo._held.detach()[:0].to(dtype or input.dtype),
                     coo._sizes, True)
    made = input._back(none)
    return made.requires_grad_() if requires_grad else made


@rule("is_same_size")
def is_same_size(input: Any, other: Any) -> bool:
    """Are the sizes the same?"""
    return tuple(input.shape) == tuple(other.shape)


@rule("is_tensor")
def is_a_tensor(obj: Any) -> bool:
    """A sparse tensor is one."""
    return True
