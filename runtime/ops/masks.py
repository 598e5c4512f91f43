"""Writing by masks, and filling."""
from math import copysign, prod

import numpy as np

from ..autograd import inplace as ip
from ..autograd import modes
from ..cpu import indexed, memory, pointwise, scan, taped_launches
from ..dtypes import BOOL, FLOAT
from ..ir import scalar as s
from ..ir.outline import Outline
from ..size_arguments import broadcast_shapes
from ..tensor import wrap
from .advanced_indexing import fits, index_op
from .batching import aligned, all_batched, repeated
from .creation import zeros
from .from_data import number, tensor
from .gather import WriteOp
from .nonzero import in_one_dimension, places_of_true, put_where, selected
from .onnx import gather_and_scatter as in_onnx
from .pad import pad_to
from .pointwise_family import PointwiseOp, inplace
from .registry import Op, apply, ask, is_tensor, unrecorded
from .sample_inputs import Sample, booleans, reals
from .surface import FUNCTIONS, function, method
from .view import broadcast_tensors

# ---- masks ---------------------------------------------------------------------------------------
masked_fill_op = PointwiseOp("masked_fill", lambda input, mask, value: s.where(mask, value, input),
                             keep=(1,), samples=(reals(-3, 3), booleans, reals(-3, 3)))


def _check_masked_fill(self, mask, value):
    if not is_tensor(mask):
        raise TypeError("masked_fill(): argument 'mask' (position 2) must be Tensor, not "
                        f"{mask.__class__.__name__}")
    if mask.dtype.category != BOOL:
        raise RuntimeError("masked_fill_ only supports boolean masks, but got mask with dtype "
                           f"{mask.dtype.name}")
    if is_tensor(value):
        if value._array.ndim:
            raise RuntimeError(
                "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with "
                f"{value.ndim} dimension(s).")
        if value.dtype.category > FLOAT and self.dtype.category <= FLOAT:
            raise RuntimeError(
                f"value cannot be converted to type {self.dtype.letter} without overflow")
        return value.to(self.dtype)
    return number(value, self.dtype)


@function()
def masked_fill(input, mask, value):
    """A copy of `input` with `value` where the mask is true.

    >>> import whet
    >>> x = whet.tensor([1.0, 2.0])
    >>> x.masked_fill(x > 1, 0)
    tensor([1., 0.])
    """
    return apply(masked_fill_op, (input, mask, _check_masked_fill(input, mask, value)), {})


@method()
def masked_fill_(self, mask, value):
    """`masked_fill`, in place.

    >>> import whet
    >>> whet.tensor([1., 2.]).masked_fill_(whet.tensor([True, False]), 0.)
    tensor([0., 2.])
    """
    return inplace(masked_fill_op, self, (mask, _check_masked_fill(self, mask, value)))


@function(out=True)
def masked_select(input, mask):
    """The elements where the mask is true, as one dimension.

    >>> import whet
    >>> whet.masked_select(whet.tensor([1., 2., 3.]), whet.tensor([True, False, True]))
    tensor([1., 3.])
    """
    if not is_tensor(mask):
        raise TypeError("masked_select(): argument 'mask' (position 2) must be Tensor, not "
                        f"{mask.__class__.__name__}")
    if mask.dtype.category != BOOL:
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    if input._array.shape != mask._array.shape:
        input, mask = broadcast_tensors(input, mask)
    if not input._array.ndim:
        input, mask = input.reshape(1), mask.reshape(1)
    if (unrecorded(input) and not modes.state.flags & modes.INFERENCE
            and type(input._array) is type(mask._array) is np.ndarray):
        return wrap(selected(input._array, mask._array))
    if mask._array.ndim > 1:
        input, mask = in_one_dimension(input, mask, 0)
    where = places_of_true(mask)
    return apply(index_op, (input, *where), {"dims": tuple(range(len(where)))})


def _masked_scatter_write(a, source, mask):
    m = np.broadcast_to(mask, a.shape)
    n = int(np.count_nonzero(m))
    if source.size < n:
        raise RuntimeError("Number of elements of source < number of ones in mask")
    put_where(a, m, source.reshape(-1)[:n])
    return a


def _ranks_without_numpy(mask, shape):
    """(a mask of that shape; of each element how many are true up to it), flat, by launches."""
    mask = indexed.converted(np.broadcast_to(mask, shape), mask.dtype).reshape(-1)
    return mask, taped_launches.partial(scan.cumsum(mask, 0))


def _masked_scatter_without_numpy(a, source, mask):
    """Each place where the mask is true looks for the element of its rank."""
    if not indexed.suit(a, source, mask):
        return False
    mask, rank = _ranks_without_numpy(mask, a.shape)
    m, r, old, new = s.args(4)
    at = indexed.pointwise("rank", s.where(m, r - 1, 0), [mask, rank], rank.shape)
    if not indexed.within(at, source.size):
        return False
    found = taped_launches.partial(indexed.picked(source, at).reshape(a.shape))
    chosen = pointwise.Pointwise("where", (s.where(m, new, old),), 4)
    chosen([mask.reshape(a.shape), rank.reshape(a.shape), a, found], [a])
    return True


def _masked_first_without_numpy(out, a, mask, size):
    """Each element goes to the place of its rank."""
    if not indexed.suit(out, a, mask):
        return False
    mask, rank = _ranks_without_numpy(mask, a.shape)
    m, r = s.args(2)
    at = indexed.pointwise("rank", s.where(s.le(r, size), s.where(m, r - 1, -1), -1),
                           [mask, rank], rank.shape)
    indexed.put(out, at, a)
    return True


def _ranks(mask, shape):
    """(the masks of examples of a shape, a row each; how many are true before each place of
    theirs)"""
    rows = aligned(mask, len(shape) - 1).expand(shape).reshape((shape[0], prod(shape[1:])))
    return rows, rows.cumsum(1) - 1


def _masked_scatter_each(op, n, inputs, batched, attrs):
    """Each place looks for its element: that whose number is its rank."""
    x, source, mask = all_batched(n, inputs, batched)
    rows, rank = _ranks(mask, x._array.shape)
    source = source.reshape((n, prod(source._array.shape[1:])))
    have = source._array.shape[1]

    def enough(a):
        if have < np.count_nonzero(a, 1).max():
            raise RuntimeError("Number of elements of source < number of ones in mask")
    ask(enough, rows)
    if not have:
        return x.clone()
    picked = source.gather(1, rank.clamp(0, have - 1))
    return FUNCTIONS["where"](rows, picked, x.reshape(rows._array.shape)).reshape(x._array.shape)


def _masked_first_each(op, n, inputs, batched, attrs):
    """Each element goes to the place of its rank, and those that are not wanted to one more
    place."""
    (x, mask), size = all_batched(n, inputs, batched), attrs["size"]
    rows, rank = _ranks(mask, x._array.shape)
    at = FUNCTIONS["where"](rows & (rank < size), rank, size)
    room = zeros(n, size + 1, dtype=x.dtype, device=x.device)
    return room.scatter(1, at, x.reshape(rows._array.shape)).narrow(1, 0, size)


def _masked_first(a, mask, size):
    out, found = np.zeros(size, a.dtype), a[np.broadcast_to(mask, a.shape)][:size]
    out[:found.size] = found
    return out


# `masked_select` with a given number of elements, cut or filled up with zeros: its size does not go
# by the mask
masked_first_op = Op(
    "masked_first", _masked_first, lambda g, _y, _a, mask, size: [
        masked_scatter(zeros(_a.shape, dtype=g.dtype, device=g.device), mask,
                       pad_to(g, (max(size, prod(_a.shape)),))), None], samples=lambda make: [
                Sample(make(2, 3), tensor([[True, False, True], [False, True, False]]), size=4),
                Sample(make(2, 2), tensor([True, False]), size=2)], linear=(0,),
    batch=_masked_first_each, onnx=in_onnx.first_of_masked)


masked_first_op.outlined = lambda a, mask, size: Outline((size,), a.dtype)
masked_first_op.moves = lambda out, a, mask, size: [(out, 0)]
masked_first_op.write_without_numpy, masked_first_op.any_sizes = _masked_first_without_numpy, True


def _masked_scatter_vjp(g, _y, _x, _source, mask, needs):
    gs = None
    if needs[1]:
        shape = tuple(_source.shape)
        gs = apply(masked_first_op, (g, mask), {"size": prod(shape)}).reshape(shape)
    return [masked_fill(g, mask, 0) if needs[0] else None, gs, None]


masked_scatter_op = WriteOp(
    "masked_scatter", _masked_scatter_write, _masked_scatter_vjp, samples=lambda make: [
        Sample(make(2, 3), make(4), tensor([[True, False, True], [False, True, False]])),
        Sample(make(2, 2), make(4), tensor([True, False]))], linear=(0, 1),
    batch=_masked_scatter_each, onnx=in_onnx.masked_scattered)


masked_scatter_op.write_without_numpy = _masked_scatter_without_numpy
masked_scatter_op.any_sizes = True


def _check_masked_scatter(self, mask, source):
    if mask.dtype.category != BOOL:
        raise RuntimeError(
            "masked_scatter_ only supports boolean masks, but got mask with dtype "
            f"{mask.dtype.name}")
    if source.dtype is not self.dtype:
        raise RuntimeError(
            "masked_scatter_: expected self and source to have same dtypes but got "
            f"{self.dtype.letter} and {source.dtype.letter}")


@function()
def masked_scatter(input, mask, source):
    """A copy of `input` whose elements where the mask is true are those of `source`, in order.

    >>> import whet
    >>> whet.zeros(3).masked_scatter(whet.tensor([True, False, True]), whet.tensor([1., 2.]))
    tensor([1., 0., 2.])
    """
    _check_masked_scatter(input, mask, source)
    shape = broadcast_shapes(input._array.shape, mask._array.shape)
    return apply(masked_scatter_op, (input.expand(shape), source, mask), {})


@method()
def masked_scatter_(self, mask, source):
    """`masked_scatter`, in place.

    >>> import whet
    >>> whet.zeros(2).masked_scatter_(whet.tensor([False, True]), whet.tensor([5.]))
    tensor([0., 5.])
    """
    _check_masked_scatter(self, mask, source)
    return inplace(masked_scatter_op, self, (source, mask), {})


# ---- filling -------------------------------------------------------------------------------------
def _fill_write(a, value):
    a[...] = value
    return a


def _fill_each(op, n, inputs, batched, attrs):
    x, value = inputs
    x = x if batched[0] else repeated(x, n)
    return apply(op, (x, aligned(value, x._array.ndim - 1) if batched[1] else value), attrs)


def _fill_vjp(g, _y, _x, _value, needs):
    return [zeros(_x.shape, dtype=_x.dtype, device=g.device) if needs[0] else None,
            g.sum_to_size(_value.shape) if needs[1] else None]


fill_op = WriteOp("fill", _fill_write, _fill_vjp,
                  samples=lambda make: [Sample(make(2, 3), make()), Sample(make(0), make()),
                                        Sample(make(2, 3), make(2, 1))], linear=(0, 1),
                  batch=_fill_each, onnx=in_onnx.filled_everywhere)
fill_op.any_sizes = fill_op.kernels_take_numbers = True
fill_op.total = True
fill_op.moves = lambda a, value: [(a, value)]


@method()
def fill_(self, value):
    """Write a number to every element.

    >>> import whet
    >>> whet.zeros(2).fill_(3.)
    tensor([3., 3.])
    """
    if 0 in self._array.strides and (once := ip.each_element_once(self)) is not self:
        fill_(once, value)
        return self
    if fits(value, self._array) and ip.writes_at_once(self):
        ip.check_writable(self, "fill_")
        if value == 0 and copysign(1.0, value) > 0:
            memory.clear(self._array)
        else:
            self._array.fill(value)
        self._bump("fill_")
        return self
    if is_tensor(value):
        if value._array.ndim:
            raise RuntimeError(
                f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} "
                "dimensions.")
        value = value.to(self.dtype)
    else:
        value = number(value, self.dtype)
    return inplace(fill_op, self, (value,))


@function(method=False)
def fill(input, value):
    """A tensor of the shape of `input` with a number everywhere.

    >>> import whet
    >>> whet.fill(whet.zeros(2), 3.)
    tensor([3., 3.])
    """
    return input.clone().fill_(value)


@method()
def zero_(self):
    """Write zero to every element.

    >>> import whet
    >>> whet.ones(2).zero_()
    tensor([0., 0.])
    """
    return fill_(self, 0)


FUNCTIONS["fill_"], FUNCTIONS["zero_"] = fill_, zero_


@method()
def fill_diagonal_(self, fill_value, wrap=False):
    """Write a number to the main diagonal; with `wrap` it starts again below a tall matrix's
    end.

    >>> import whet
    >>> whet.zeros(2, 2).fill_diagonal_(1.)
    tensor([[1., 0.],
            [0., 1.]])
    """
    n = self._array.ndim
    if n < 2:
        raise RuntimeError("dimensions must larger than 1")
    shape = self._array.shape
    if n > 2 and len(set(shape)) != 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    if n == 2 and wrap and shape[0] > shape[1] + 1:
        for top in range(0, shape[0], shape[1] + 1):
            self[top:].diagonal().fill_(fill_value)
        return self
    if n == 2:
        self.diagonal().fill_(fill_value)
        return self
    stride = sum(self.stride())
    self.as_strided((min(shape),), (stride,), self.storage_offset()).fill_(fill_value)
    return self
