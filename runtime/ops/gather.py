"""Gathering along one dimension. Places are checked before anything is read or written."""
import builtins
from functools import partial
from typing import Any

import numpy as np

from .. import devices, dtypes
from ..autograd import modes
from ..cpu import gather as picks
from ..cpu import indexed
from ..ir.outline import Outline, like_first
from . import dims, docstrings
from .advanced_indexing import in_bounds, index_op, put_in, put_op
from .batching import shifted
from .creation import empty_array, zeros
from .from_data import tensor
from .indexed_elements import Named
from .number_questions import has_negative
from .onnx import gather_and_scatter as in_onnx
from .pointwise_family import inplace
from .registry import REGISTRY, Op, about_numbers, apply, ask, is_tensor
from .sample_inputs import Sample
from .surface import FUNCTIONS, METHODS, function, method
from .view import reshape

FULL = builtins.slice(None)
INDEX_TYPES = (dtypes.int64, dtypes.int32)


def writes(op, check):
    """Publish `op` out of place and in place from `check(self, *args) -> (operands after self,
    attrs)`."""
    name = op.name

    def out_of_place(input, *args, **kwargs):
        rest, attrs = check(input, *args, **kwargs)
        return apply(op, (input, *rest), attrs)

    def in_place(self, *args, **kwargs):
        rest, attrs = check(self, *args, **kwargs)
        return inplace(op, self, rest, attrs)
    out_of_place.__name__ = out_of_place.__qualname__ = name
    out_of_place.__doc__ = check.__doc__
    in_place.__name__ = in_place.__qualname__ = name + "_"
    in_place.__doc__ = docstrings.of_in_place(name, check.__doc__)
    out_of_place.__wrapped__ = in_place.__wrapped__ = check        # the signature that help() shows
    check.__qualname__ = name
    METHODS[name + "_"] = in_place
    return function(out=True)(out_of_place), in_place


class WriteOp(Op):
    """An op that changes some elements of its first input: `write(a, *arrays, **attrs)` does it
    in place, where no kernel does (`write_by_kernels`)."""

    # written(a, *arrays, **attrs): a `Written`, or None
    written: Any = None
    outlined = staticmethod(like_first)

    def __init__(self, name, write, vjp, write_by_kernels=None, **kw):
        self.by_numpy, self.write_by_kernels = write, write_by_kernels
        super().__init__(name, None, vjp, **kw)

    def write(self, a, *arrays, **attrs):
        """The in-place form: into `a` itself."""
        if self.write_by_kernels is not None and self.write_by_kernels(a, *arrays, **attrs):
            return a
        return self.by_numpy(a, *arrays, **attrs)

    def on_device(self, arrays, attrs, index):
        """A copy, some elements of which are written over."""
        return devices.beyond.written_over(self, arrays, attrs, index)

    def write_on_device(self, arrays, attrs):
        """The copies that the op states, or what it puts at places, into the first operand."""
        return devices.beyond.write_over(self, arrays, attrs)

    def forward(self, a, *arrays, **attrs):
        r = np.array(a, order="C")
        self.write(r, *arrays, **attrs)
        return r


def check_index(op, index, message=None):
    if not is_tensor(index):
        raise TypeError(f"{op}(): argument 'index' must be Tensor, not {index.__class__.__name__}")
    if index.dtype not in INDEX_TYPES:
        raise RuntimeError(
            message or f"{op}(): Expected dtype int32/int64 for index, but got {index.dtype}")


def along(a, d):
    return (FULL,) * d + (a,)


# ---- gather --------------------------------------------------------------------------------------
def places_of(index, shape, dim):
    """Where `index` points in a row-major array of `shape`: every other coordinate is the
    element's own."""
    at = in_bounds(index, shape[dim], dim, negative=False, error=RuntimeError)
    n = 1
    strides = []
    for s_ in reversed(shape):
        strides.append(n)
        n *= s_
    strides.reverse()
    if strides[dim] != 1:
        at = at * strides[dim]
    for d, k in enumerate(index.shape):
        if d != dim and k > 1:
            at = (at + (np.arange(k, dtype=np.int64)
                        * strides[d]).reshape((k,) + (1,) * (index.ndim - 1 - d)))
    return at


def _gather(a, index, dim):
    if not a.ndim:
        in_bounds(index, 1, 0, negative=False, error=RuntimeError)
        return np.full(index.shape, a)
    if not index.size:
        return np.empty(index.shape, a.dtype)
    if (index.shape[:dim] == a.shape[:dim] and index.shape[dim + 1:] == a.shape[dim + 1:]
            and picks.fits(a, index)):
        out, fine = picks.along(a, index, dim)
        if fine:
            return out
    if not a.flags.c_contiguous:
        a = np.ascontiguousarray(a[tuple([
            FULL if d == dim else builtins.slice(0, k) for d, k in enumerate(index.shape)])])
    at = places_of(index, a.shape, dim)
    return a.reshape(-1).take(at, out=empty_array(index.shape, a.dtype), mode="clip")


def one_dim(x, n):
    """0-d operands beside n-d ones as 1-d."""
    return x.reshape(1) if n and is_tensor(x) and not x._array.ndim else x


def onto_zeros(op, shape, source, index, attrs):
    """What a `WriteOp` makes of zeros: these themselves, not a copy, where that has no other
    effect."""
    out = zeros(shape, dtype=source.dtype, device=source.device)
    if (modes.state.flags & (modes.SPECIAL | modes.GRAD) or not shape
            or devices.is_elsewhere(out._array)):
        return apply(op, (out, source, index), attrs)
    inplace(op, out, (source, index), attrs)
    out._cell = None                 # of a tensor that was never seen as it was before
    return out


def _gather_vjp(g, _y, _x, index, dim):
    n = _x.ndim
    made = onto_zeros(REGISTRY["scatter_add"], tuple(_x.shape), one_dim(g, n), one_dim(index, n),
                      {"dim": dim})
    return [made, None]


_index2 = [[0, 1, 1], [1, 0, 1]]


def longs(x):
    return tensor(x, dtype=dtypes.int64)


gather_op = Op("gather", _gather, _gather_vjp, samples=lambda make: [
    Sample(make(2, 3), longs(_index2), dim=0), Sample(make(3, 4), longs([[3, 3], [0, 1]]), dim=1),
    Sample(make(3), longs([2, 2, 0]), dim=0),
    Sample(make(), longs(0), dim=0), Sample(make(2, 3), zeros(0, 3, dtype=dtypes.int64), dim=0)],
    linear=(0,), batch=shifted("dim"), onnx=in_onnx.gathered)
gather_op.any_sizes = True
gather_op.is_repeatable = True
gather_op.outlined = lambda a, index, dim: Outline(index.shape, a.dtype)
gather_op.forward_without_numpy = lambda a, index, dim: indexed.picked_by(
    partial(indexed.of_elements, dim=dim), a, index)
gather_op.gathered = lambda a, index, dim: Named((index,), (dim,), each=True, error=RuntimeError)
gather_op.picks = lambda a, index, dim: (dim, True, False) if a.ndim else None


def _checked_dim(input, dim, index):
    """The dimension along which is gathered, where the index has sizes that fit."""
    n = input._array.ndim
    d = dims.one(dim, n)
    if max(index._array.ndim, 1) != max(n, 1):
        raise RuntimeError("Index tensor must have the same number of dimensions as input tensor")
    for k in range(n if index._array.ndim else 0):
        if k != d and index._array.shape[k] > input._array.shape[k]:
            raise RuntimeError(
                f"Size does not match at dimension {k} expected index {list(index._array.shape)} "
                f"to be no larger than self {list(input._array.shape)} apart from dimension {d}")
    return d


@function(out=True)
def gather(input, dim, index, *, sparse_grad=False):
    """Elements at the places that `index` names along a dimension.

    >>> import whet
    >>> whet.gather(whet.tensor([[1, 2], [3, 4]]), 1, whet.tensor([[0, 0], [1, 0]]))
    tensor([[1, 1],
            [4, 3]])
    """
    if is_tensor(index) and not index._array.size:       # of whatever type and dimensions
        dims.one(dim, input._array.ndim)
        return reshape(input, (-1,))[:0].reshape(index.shape)
    check_index("gather", index, "gather(): Expected dtype int32/int64 for index")
    d = _checked_dim(input, dim, index)
    if not index._array.ndim and input._array.ndim:
        return apply(gather_op, (input, index.reshape(1)), {"dim": d}).reshape(())
    return apply(gather_op, (input, index), {"dim": d})


@function(out=True)
def take_along_dim(input, indices, dim=None):
    """Elements at the places that `indices`, broadcast against `input`, names along a dimension
    (or of the flattened tensor).

    >>> import whet
    >>> x = whet.tensor([[3., 1.], [5., 9.]])
    >>> whet.take_along_dim(x, x.argmax(1, keepdim=True), 1)
    tensor([[3.],
            [9.]])
    """
    if indices.dtype not in INDEX_TYPES:
        raise RuntimeError(
            f"take_along_dim(): dtype of indices should be Long but got {indices.dtype.letter}")
    if dim is None:
        return gather(reshape(input, (-1,)), 0, reshape(indices, (-1,)))
    if input.ndim != indices.ndim:
        raise RuntimeError(
            "take_along_dim(): input and indices should have the same number of dimensions, but "
            f"got {input.ndim} dimensions for input, and {indices.ndim} dimensions for indices")
    d = dims.one(dim, input.ndim)
    common = _broadcast_except(tuple(input.shape), tuple(indices.shape), d)
    a, i = list(common), list(common)
    a[d], i[d] = input.shape[d], indices.shape[d]
    indices = indices.expand(i)
    n = input.shape[d]
    if ask(has_negative, indices):
        indices = FUNCTIONS["where"](indices < 0, indices + n, indices)
    return gather(input.expand(a), d, indices)


def _broadcast_except(a, b, d):
    try:
        return np.broadcast_shapes(a[:d] + (1,) + a[d + 1:], b[:d] + (1,) + b[d + 1:])
    except ValueError:
        raise RuntimeError(
            f"take_along_dim: shapes {list(a)} and {list(b)} do not broadcast apart from "
            f"dimension {d}") from None


@function(out=True)
def take(input, index):
    """Elements at places of the flattened tensor.

    >>> import whet
    >>> whet.take(whet.tensor([[1., 2.], [3., 4.]]), whet.tensor([0, 3]))
    tensor([1., 4.])
    """
    if index.dtype is not dtypes.int64:
        raise RuntimeError(
            f"take(): Expected a long tensor for index, but got {index.dtype.letter}")
    _check_flat(index, input.numel())
    return apply(index_op, (reshape(input, (-1,)), index), {"dims": (0,)})


def _check_flat(index, n):
    a = index._array
    if devices.is_elsewhere(a):             # its kernel looks
        return
    if a.size and not n:
        raise IndexError("take(): tried to take from an empty tensor")
    bad = a[(a < -n) | (a >= n)]
    if bad.size:
        raise about_numbers(IndexError(
            f"out of range: tried to access index {int(bad.reshape(-1)[0])} on a tensor of {n} "
            "elements."))


def _flat_places(self, index, source):
    """An index and a source for the flattened tensor, or an error."""
    if index.dtype not in INDEX_TYPES:
        raise RuntimeError(
            f"put_(): Expected a long tensor for index, but got {index.dtype.letter}")
    if source.dtype is not self.dtype:
        raise RuntimeError(
            "put_(): self and source expected to have the same dtype, but got self.dtype = "
            f"{self.dtype.letter} and source.dtype = {source.dtype.letter}")
    if index.numel() != source.numel():
        raise IndexError(
            "put_(): Expected source and index to have the same number of elements, but got "
            f"source.numel() = {source.numel()}, index.numel() = {index.numel()}")
    _check_flat(index, self.numel())
    return reshape(index, (-1,)), reshape(source, (-1,))


@method()
def put_(self, index, source, accumulate=False):
    """Write (or add) `source` at places of the flattened tensor.

    >>> import whet
    >>> whet.zeros(2, 2).put_(whet.tensor([0, 3]), whet.tensor([1., 2.]))
    tensor([[1., 0.],
            [0., 2.]])
    """
    index, source = _flat_places(self, index, source)
    if self._array.flags.c_contiguous:
        put_in(self.view(-1), [index], (0,), source, accumulate)
        return self
    return self.copy_(_put_flat(self, index, source, accumulate))


def _put_flat(input, index, source, accumulate):
    flat = apply(put_op, (reshape(input, (-1,)), source, index),
                 {"dims": (0,), "accumulate": accumulate})
    return flat.view(input.shape)


@function()
def put(input, index, source, accumulate=False):
    """A copy with `source` written (or added) at places of the flattened tensor.

    >>> import whet
    >>> whet.put(whet.zeros(2, 2), whet.tensor([0, 3]), whet.tensor([1., 2.]))
    tensor([[1., 0.],
            [0., 2.]])
    """
    index, source = _flat_places(input, index, source)
    return _put_flat(input, index, source, accumulate)
