"""A copy of a tensor with another tensor in a slice, a row, a diagonal or a strided part of it."""

from .. import size_arguments
from ..size_arguments import sizes
from . import dims
from .batching import shifted
from .creation import zeros
from .onnx import shapes as in_onnx
from .registry import MoveOp, apply
from .sample_inputs import Sample
from .strided_views import as_strided, diagonal, diagonal_of_array
from .surface import function
from .view_parts import numpy_index, select, slice_along, slice_each, slice_op


def _put_slice(out, a, src, index):
    return [(out, a), (out[numpy_index(index)], src)]


def _put_slice_vjp(g, _y, _x, _src, index, needs):
    gx = None
    if needs[0]:
        zero = zeros(_src.shape, dtype=g.dtype, device=g.device)
        gx = apply(slice_scatter_op, (g, zero), {"index": index})
    return [gx, apply(slice_op, (g,), {"index": index}) if needs[1] else None]


slice_scatter_op = MoveOp(
    "slice_scatter",
    lambda a, src, index: a.shape,
    _put_slice,
    _put_slice_vjp,
    samples=lambda make: [
        Sample(make(3, 4), make(2, 4), index=((0, 2, 1),)),
        Sample(make(3, 4), make(3), index=((0, 3, 1), 1)),
        Sample(make(5), make(2), index=((1, 5, 2),)),
        Sample(make(3), make(0), index=((1, 1, 1),)),
    ],
    batch=slice_each,
    onnx=lambda b, a, src, index: in_onnx.put(b, a, src, lambda places: places[numpy_index(index)]),
)
slice_scatter_op.any_sizes = True


def _scatter_into_slice(input, src, part, index, op):
    want = part._array.shape
    if src._array.shape != want:
        raise RuntimeError(
            f"{op}: expected src to have a size equal to the slice of self. src size = "
            f"{list(src._array.shape)}, slice size = {list(want)}")
    return apply(slice_scatter_op, (input, src.to(input.dtype)), {"index": index})


@function(out=True)
def slice_scatter(input, src, dim=0, start=None, end=None, step=1):
    """A copy of `input` with input[start:end:step] along `dim` replaced by `src`.

    >>> import whet
    >>> whet.slice_scatter(whet.zeros(3), whet.ones(2), 0, 1)
    tensor([0., 1., 1.])
    """
    d = dims.one(dim, input._array.ndim)
    part = slice_along(input.detach(), d, start, end, step)
    n = input._array.shape[d]
    return _scatter_into_slice(
        input,
        src,
        part,
        ((None, None, None),) * d + ((*size_arguments.bound(start, end, step, n), step),),
        "slice_scatter",
    )


@function()
def slice_inverse(input, src, dim=0, start=None, end=None, step=1):
    """`src`, of which `input` is a slice: a view of it.

    >>> import whet
    >>> whet.slice_inverse(whet.zeros(3), whet.ones(3), 0, 1)
    tensor([1., 1., 1.])
    """
    return src.view_as(src)


@function()
def select_scatter(input, src, dim, index):
    """A copy of `input` with one place of a dimension replaced by `src`.

    >>> import whet
    >>> whet.select_scatter(whet.zeros(2, 2), whet.ones(2), 0, 1)
    tensor([[0., 0.],
            [1., 1.]])
    """
    d = dims.one(dim, input._array.ndim)
    part = select(input.detach(), d, index)
    return _scatter_into_slice(
        input,
        src,
        part,
        ((None, None, None),) * d + (index % input._array.shape[d],),
        "select_scatter",
    )


@function()
def diagonal_scatter(input, src, offset=0, dim1=0, dim2=1):
    """A copy of `input` with a diagonal replaced by `src`.

    >>> import whet
    >>> whet.diagonal_scatter(whet.zeros(2, 2), whet.ones(2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    want = diagonal(input.detach(), offset, dim1, dim2)._array.shape
    if src._array.shape != want:
        raise RuntimeError(
            "expected src to have a size equal to the slice of self. src size = "
            f"{list(src._array.shape)}, slice size = {list(want)}")
    n = input._array.ndim
    kw = {"offset": offset, "dim1": dims.one(dim1, n), "dim2": dims.one(dim2, n)}
    return apply(diagonal_scatter_op, (input, src.to(input.dtype)), kw)


def _put_diagonal(out, a, src, offset, dim1, dim2):
    d = out.diagonal(offset, dim1, dim2)
    d.flags.writeable = True
    return [(out, a), (d, src)]


def _put_diagonal_vjp(g, _y, _x, _src, offset, dim1, dim2):
    kw = {"offset": offset, "dim1": dim1, "dim2": dim2}
    return [
        apply(diagonal_scatter_op, (g, zeros(_src.shape, dtype=g.dtype, device=g.device)), kw),
        diagonal(g, **kw),
    ]


diagonal_scatter_op = MoveOp(
    "diagonal_scatter",
    lambda a, src, **kw: a.shape,
    _put_diagonal,
    _put_diagonal_vjp,
    samples=lambda make: [
        Sample(make(3, 3), make(3), offset=0, dim1=0, dim2=1),
        Sample(make(2, 3, 4), make(2, 3), offset=1, dim1=1, dim2=2),
    ],
    batch=shifted("dim1", "dim2"),
    onnx=lambda b, a, src, **at: in_onnx.put(
        b, a, src, lambda places: diagonal_of_array(places, **at)),
)
diagonal_scatter_op.any_sizes = True


def _reach(size, stride):
    """How many elements of memory lie from the first of such a view to its last."""
    return 1 + sum((n - 1) * s for n, s in zip(size, stride)) if all(size) else 0


@function()
def as_strided_scatter(input, src, size, stride, storage_offset=None):
    """A copy of `input` and of its memory with the region of `as_strided` replaced by `src`.

    >>> import whet
    >>> whet.as_strided_scatter(whet.zeros(2, 2), whet.ones(2), (2,), (3,))
    tensor([[1., 0.],
            [0., 1.]])
    """
    if tuple(src._array.shape) != sizes((size,), "as_strided_scatter"):
        raise RuntimeError(
            "expected src to have a size equal to the slice of self. src size = "
            f"{list(src._array.shape)}, slice size = {list(size)}")
    start = input.storage_offset()
    offset = start if storage_offset is None else storage_offset
    end = offset + _reach(size, stride)
    repeats = any(n > 1 and not s for n, s in zip(input.shape, input.stride()))
    if repeats or not start and input.is_contiguous() and end <= input.numel():
        out = input.contiguous().clone()
        as_strided(out, size, stride, offset).copy_(src)
        return out
    end = max(end, start + _reach(input.shape, input.stride()))
    memory = as_strided(input, (end,), (1,), 0).clone()
    as_strided(memory, size, stride, offset).copy_(src)
    return as_strided(memory, input.shape, input.stride(), start)
