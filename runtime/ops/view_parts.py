"""Views of a part of a tensor: a place or a range of a dimension."""
import builtins

import numpy as np

from ..size_arguments import as_int, whole
from . import dims
from .batching import all_batched
from .onnx import shapes as in_onnx
from .registry import MoveOp, apply, unrecorded, view_of
from .sample_inputs import Sample
from .surface import function
from .view import ViewOp


def numpy_index(index):
    """The index that NumPy understands. A trailing `...` makes NumPy give views for single
    elements too."""
    return (*[builtins.slice(*i) if type(i) is tuple else i for i in index], ...)


def _unslice(out, g, size, index):
    return [(out, 0), (out[numpy_index(index)], g)]


_indices = [
    ((2, 3, 4), (0,)), ((2, 3, 4), ((0, 2, 1), 2)), ((2, 3, 4), ((0, 2, 1), None, (0, 3, 2))),
    ((5,), ((1, 5, 3),)), ((), (None,)), ((3, 0), ((0, 2, 1),)), ((4,), ((2, 2, 1),))]
WHOLE = None, None, None


def slice_each(op, n, inputs, batched, attrs):
    attrs = {**attrs, "index": (WHOLE, *attrs["index"])}
    if "size" in attrs:
        attrs["size"] = (n, *attrs["size"])
    return apply(op, tuple(all_batched(n, inputs, batched)), attrs)


def _slice_vjp(g, _y, _x, index):
    # New axes of the result are dropped first, which is a view. A gradient that nothing else was
    # cut off is no copy, and what is put into zeros lies in boxes of these.
    cut = tuple([i for i in index if i is not None])
    if len(cut) < len(index):
        kept = tuple([0 if i is None else WHOLE for i in index if i is None or type(i) is tuple])
        g = apply(slice_op, (g,), {"index": kept})
        if all([type(i) is tuple and all([k is None for k in i]) for i in cut]):
            return [g]
    return [apply(unslice_op, (g,), {"size": tuple(_x.shape), "index": cut})]


def _part_samples(make):
    for s, i in _indices:
        yield Sample(make(*np.empty(s)[numpy_index(i)].shape), size=s, index=i)


slice_op = ViewOp(
    "slice", lambda a, index: a[numpy_index(index)], _slice_vjp,
    samples=lambda make: [Sample(make(*s), index=i) for s, i in _indices],
    batch=slice_each, onnx=in_onnx.cut)
unslice_op = MoveOp(
    "unslice", lambda g, size, index: size, _unslice,
    lambda g, _y, _x, size, index: [apply(slice_op, (g,), {"index": index})],
    samples=_part_samples, batch=slice_each)
slice_op.any_sizes = unslice_op.any_sizes = True
slice_op.doc = (
    "`index`: for each dimension in turn a number, a tuple (start, stop, step) with step > 0, or "
    "None: a new axis. As in Python, what is negative counts from the end, and a slice ends where "
    "the dimension does.")


def _part(t, d, entry):
    """A view of a part, cut along dimension `d`."""
    index = (WHOLE,) * d + (entry,)
    if unrecorded(t):
        return view_of(t, t._array[numpy_index(index)])
    return apply(slice_op, (t,), {"index": index})


@function()
def select(input, dim, index):
    """One place of a dimension, which disappears.

    >>> import whet
    >>> whet.select(whet.tensor([[1, 2], [3, 4]]), 1, 0)
    tensor([1, 3])
    """
    shape = input._array.shape
    if not shape:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    d, i = dims.one(dim, len(shape)), as_int(index, "select", "index", 2, whole)
    if not -shape[d] <= i < shape[d]:
        raise IndexError(
            f"select(): index {i} out of range for tensor of size {list(shape)} at dimension {d}")
    return _part(input, d, i)


@function()
def narrow(input, dim, start, length):
    """A range of a dimension: `length` places from `start`.

    >>> import whet
    >>> whet.narrow(whet.arange(5), 0, 1, 3)
    tensor([1, 2, 3])
    """
    shape = input._array.shape
    if not shape:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if hasattr(start, "_array") and (start._array.ndim or start._array.dtype.kind not in "iu"):
        raise RuntimeError("start must be an 0-dim integral Tensor.")
    d, s = dims.one(dim, len(shape)), as_int(start, "narrow", "start", 2, whole)
    if hasattr(length, "__whet_whole__"):    # a number that a trace follows: it goes into the end
        end = whole((s if type(s) is int else start) + length)
        n = int(end) - int(s)
    else:
        n = as_int(length, "narrow", "length", 3)
        end = s + n if type(s) is int else whole(start + n)
    if n < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    if not -shape[d] <= s <= shape[d]:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-shape[d]}, {shape[d]}], but "
            f"got {s})")
    if s < 0:
        s, end = s + shape[d], end + shape[d]
    if end > shape[d]:
        raise RuntimeError(f"start ({s}) + length ({n}) exceeds dimension size ({shape[d]}).")
    return _part(input, d, (s, end, 1))


@function(out=True)
def narrow_copy(input, dim, start, length):
    """`narrow`, copied.

    >>> import whet
    >>> whet.narrow_copy(whet.arange(5), 0, 1, 3)
    tensor([1, 2, 3])
    """
    if hasattr(start, "_array") and start._array.ndim:
        raise TypeError("narrow_copy(): argument 'start' must be int, not a Tensor with dimensions")
    try:
        dims.one(dim, input._array.ndim, "narrow_copy")
    except IndexError as error:          # PyTorch's `narrow` raises that, too large or too small
        if dim < 0:
            raise
        raise RuntimeError(f"narrow_copy: {error}") from None
    return narrow(input, dim, start, length).clone()


def slice_along(input, dim, start=None, end=None, step=1):
    """input[..., start:end:step, ...] at dimension `dim`."""
    shape = input._array.shape
    if not shape:
        raise RuntimeError("slice() cannot be applied to a 0-dim tensor.")
    d = dims.one(dim, len(shape))
    if step <= 0:
        raise RuntimeError("slice step must be positive")
    return _part(input, d, (start, end, step))
