"""Where a tensor is not zero."""

from math import prod

import numpy as np

from .. import devices, dtypes
from ..cpu import indexed, scan, taped_launches
from ..ir import scalar as s
from ..ir.outline import Outline
from .batching import by_rows
from .creation import cast_number
from .from_data import tensor
from .onnx import gather_and_scatter as in_onnx
from .registry import Op, apply
from .sample_inputs import Sample
from .surface import function


def _nonzero(a):
    if not a.ndim:
        return np.zeros((int(bool(a)), 0), np.int64)
    at = flat_places(a)
    if a.ndim == 1:
        return at.reshape(-1, 1)
    rows = np.empty((at.size, a.ndim), np.int64)
    for d in range(a.ndim - 1, 0, -1):
        above = at // a.shape[d] if at.size else at
        np.subtract(at, above * a.shape[d], out=rows[:, d])
        at = above
    rows[:, 0] = at
    return rows


def flat_places(a):
    """The places of elements that are not zero, where all lie row by row. A mask is searched in
    a fraction of the time that numbers take."""
    return (a if a.dtype == np.bool_ else a != 0).reshape(-1).nonzero()[0]


# NumPy tests each element of a mask again. It is often wrong in guessing, which
# is slower than finding all places first, but for few elements.
FEW = 1 << 12
SHORT = 4                        # elements for each one of a mask: copied like the mask


def selected(a, mask):
    """The elements of an array where a mask of its shape is true."""
    if a.size <= FEW or not a.flags.c_contiguous:
        return a[mask]
    return a.reshape(-1).take(flat_places(mask), mode="clip")


def put_where(a, mask, values):
    """Write values to the elements of an array where a mask of its shape is true."""
    if a.size <= FEW or not a.flags.c_contiguous:
        a[mask] = values
    else:
        a.reshape(-1)[flat_places(mask)] = values


nonzero_op = Op(
    "nonzero",
    _nonzero,
    samples=lambda make: [Sample(tensor([[1, 0], [0, 2]])), Sample(make(0)), Sample(make())],
    onnx=in_onnx.places_of_true,
)


nonzero_op.sized_by_data = True
nonzero_op.forward_on_device = lambda a: devices.beyond.scatters.nonzero(a)


@function(out=True)
def nonzero(input, *, as_tuple=False):
    """The indices of all elements that are not zero, as rows (or one tensor for each dimension).

    >>> import whet
    >>> whet.nonzero(whet.tensor([0, 3, 0, 4]))
    tensor([[1],
            [3]])
    """
    if not as_tuple:
        return apply(nonzero_op, (input,), {})
    return places_of_true(input if input._array.ndim else input.reshape(1))


def places_of_true(mask):
    """Where a tensor of one dimension or more is not zero: an index for each of its dimensions."""
    rows = apply(nonzero_op, (mask,), {})
    return (rows.reshape(-1),) if mask._array.ndim == 1 else rows.unbind(1)


def in_one_dimension(t, mask, dim):
    """A tensor, and a mask of its dimensions from one on, as one dimension each, if these lie one
    behind the other or a copy costs little: a place is one number then, and not one for each
    dimension."""
    shape, last = t._array.shape, dim + mask._array.ndim - 1
    if not t._array.flags.c_contiguous and prod(shape[last + 1:]) > SHORT:
        strides = t.stride()
        if any(strides[d] != strides[d + 1] * shape[d + 1] for d in range(dim, last)):
            return t, mask
    n = prod(shape[dim:last + 1])
    return t.reshape((*shape[:dim], n, *shape[last + 1:])), mask.reshape(-1)


@function()
def argwhere(input):
    """The indices of all elements that are not zero, as rows.

    >>> import whet
    >>> whet.argwhere(whet.tensor([[0, 1], [2, 0]]))
    tensor([[0, 1],
            [1, 0]])
    """
    return apply(nonzero_op, (input,), {})


def _nonzero_static(a, size, fill_value):
    out = np.empty((size, a.ndim), np.int64)
    out.fill(cast_number(fill_value, dtypes.int64))
    rows = _nonzero(a)[:size]
    out[: len(rows)] = rows
    return out


nonzero_static_op = Op(
    "nonzero_static",
    _nonzero_static,
    samples=lambda make: [
        Sample(tensor([[1, 0], [0, 2]]), size=3, fill_value=-1),
        Sample(tensor([True, True]), size=1, fill_value=0),
    ],
    onnx=in_onnx.first_places_of_true,
)


def _nonzero_static_without_numpy(out, a, size, fill_value):
    """The coordinates of each element that is not zero go to the row of its rank."""
    if not a.ndim or not indexed.suit(out, a):
        return False
    x, rank, column = s.args(3)
    mask = indexed.pointwise("nonzero", s.ne(x, 0), [a], a.shape, np.dtype(bool))
    count = taped_launches.partial(scan.cumsum(mask.reshape(-1), 0)).reshape(a.shape)
    at = s.where(s.le(rank, size), s.where(x, (rank - 1) * a.ndim + column, -1), -1)
    for d, n in enumerate(a.shape):
        here = taped_launches.table(np.full(1, d))
        along = taped_launches.table(np.arange(n))
        along = along.reshape([-1 if k == d else 1 for k in range(a.ndim)])
        indexed.put(out, indexed.pointwise("rank", at, [mask, count, here], a.shape),
                    np.broadcast_to(along, a.shape))
    return True


nonzero_static_op.outlined = lambda a, size, fill_value: Outline((size, a.ndim), np.int64)
nonzero_static_op.moves = lambda out, a, size, fill_value: [
    (out, int(cast_number(fill_value, dtypes.int64)))]
nonzero_static_op.write_without_numpy = _nonzero_static_without_numpy


@function()
def nonzero_static(input, *, size, fill_value=-1):
    """`nonzero` with a given number of rows: cut, or filled up with `fill_value`.

    >>> import whet
    >>> whet.nonzero_static(whet.tensor([0, 5, 6]), size=3)
    tensor([[ 1],
            [ 2],
            [-1]])
    """
    if size < 0:
        raise RuntimeError("nonzero_static: 'size' must be an non-negative integer")
    return apply(nonzero_static_op, (input,), {"size": size, "fill_value": fill_value})


by_rows(nonzero_op, nonzero_static_op)
