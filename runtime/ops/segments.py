"""Reductions of segments that lie one after the other: `whet.segment_reduce`."""
from ..dtypes import FLOAT, INT
from . import dims
from .number_questions import has_negative
from .registry import ask
from .surface import FUNCTIONS as F
from .surface import function

# what an empty segment gives, and how elements are put into theirs
KINDS = {"sum": (0.0, "sum"), "mean": (0.0, "sum"), "prod": (1.0, "prod"),
         "max": (-float("inf"), "amax"), "min": (float("inf"), "amin")}


def _sums_to(size):
    """Do lengths sum to this, wherever they stand?"""
    def question(lengths):
        return bool((lengths.sum(-1) == size).all())
    return question


@function(method=False)
def segment_reduce(data, reduce, *, lengths=None, indices=None, offsets=None, axis=0, unsafe=False,
                   initial=None):
    """Reduce each of the segments of `data` along `axis`. They are given by their `lengths`, or by
    the `offsets` at which they begin and, last, end. `reduce` is sum, mean, max, min or prod;
    `initial` takes part in each segment.

    >>> import whet
    >>> x = whet.tensor([1., 2., 3., 4.])
    >>> whet.segment_reduce(x, "sum", lengths=whet.tensor([3, 0, 1]))
    tensor([6., 0., 4.])
    >>> whet.segment_reduce(x, "max", offsets=whet.tensor([0, 2, 4]))
    tensor([2., 4.])
    """
    if reduce not in KINDS:
        raise RuntimeError("segment_reduce(): reduce argument must be either sum, prod, mean, max "
                           f"or min, got {reduce}")
    if data.dtype.category != FLOAT:
        raise NotImplementedError(f"segment_reduce(): data of type {data.dtype} are not supported")
    axis = dims.one(axis, data.ndim, "segment_reduce")
    if indices is not None:
        raise RuntimeError("segment_reduce(): indices based reduction is not supported yet.")
    begins, ends, counts = _bounds(data, lengths, offsets, axis, unsafe)
    segments, (empty, way) = ends.shape[-1], KINDS[reduce]
    at = F["arange"](data.shape[axis], device=data.device).expand(
        *data.shape[:axis], data.shape[axis]).contiguous()
    own = F["searchsorted"](ends.contiguous(), at, right=True)
    # what lies in none goes into one more, which is left out
    own = own.where(at >= begins[..., :1], segments)
    shape = (*data.shape[:axis], segments + 1, *data.shape[axis + 1:])
    more = (1,) * (data.ndim - axis - 1)
    y = F["full"](shape, empty, dtype=data.dtype, device=data.device).scatter_reduce(
        axis, own.reshape(*own.shape, *more).expand(data.shape), data, way, include_self=False)
    y = y.narrow(axis, 0, segments)
    return _finished(y, reduce, counts.reshape(*counts.shape, *more), initial)


_segment_reduce = segment_reduce        # as libraries for graphs call it


def _bounds(data, lengths, offsets, axis, unsafe):
    """(where segments begin, where they end, how long they are), after a look at them."""
    if lengths is None and offsets is None:
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
    bounds = offsets if lengths is None else lengths
    if bounds.dtype.category != INT:
        raise RuntimeError("segment_reduce(): lengths and offsets must be integers, not "
                           f"{bounds.dtype}")
    if axis != bounds.ndim - 1 or tuple(bounds.shape[:-1]) != tuple(data.shape[:axis]):
        raise RuntimeError(
            "segment_reduce(): axis must be the last dimension of lengths or offsets, which have "
            f"the dimensions of data before it; got {list(bounds.shape)} for axis {axis} of data "
            f"of shape {list(data.shape)}")
    if lengths is None:
        return offsets[..., :-1], offsets[..., 1:], offsets.diff(dim=-1)
    if not unsafe and ask(has_negative, lengths):
        raise RuntimeError("segment_reduce(): lengths contains negative value!")
    if not unsafe and not ask(_sums_to(data.shape[axis]), lengths):
        raise RuntimeError("segment_reduce(): Expected all rows of lengths along axis to sum to "
                           "data.size(lengths.dim()-1) when !unsafe.")
    ends = lengths.cumsum(-1)
    return ends - lengths, ends, lengths


def _finished(y, reduce, counts, initial):
    """Segments with what they begin with, and means of sums."""
    if reduce == "max":
        return y if initial is None else y.where(~(y < initial), initial)
    if reduce == "min":
        return y if initial is None else y.where(~(y > initial), initial)
    if reduce == "prod":
        return y if initial is None else y * initial
    y = y if initial is None else y + initial
    if reduce == "sum":
        return y
    means = y / counts.clamp(min=1).to(y.dtype)
    return means.where(counts > 0, float("nan") if initial is None else float(initial))
