"""Elements and tensors repeated."""

import operator

import numpy as np

from .. import devices, dtypes, size_arguments
from ..ir.outline import Outline
from ..layouts import contiguous_format
from ..size_arguments import sizes
from . import dims
from .batching import by_rows, shifted
from .creation import literal, zeros
from .onnx import shapes as in_onnx
from .ranges import arange
from .registry import Op, apply, is_tensor
from .sample_inputs import Sample
from .surface import FUNCTIONS, METHODS, function, method
from .view import reshape


def _repeat_shape(input, repeats, op):
    n = input._array.ndim
    if len(repeats) < n:
        raise RuntimeError(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of "
            "tensor")
    if any(r < 0 for r in repeats):
        raise RuntimeError(f"{op}: repeats must be non-negative, got {list(repeats)}")
    return (1,) * (len(repeats) - n) + input._array.shape


@size_arguments.checks
def _merged(repeats, shape):
    """The sizes of the result: what it is a view of has both."""
    return tuple(map(operator.mul, repeats, shape))


def _repeated(input, repeats, op="repeat"):
    shape = _repeat_shape(input, repeats, op)
    split = tuple([k for r, s in zip(repeats, shape) for k in (1, s)])
    wide = tuple([k for r, s in zip(repeats, shape) for k in (r, s)])
    r = input.reshape(split).expand(wide)
    final = _merged(repeats, shape)
    r = reshape(r, final)
    return r if any(k != 1 for k in repeats) else r.clone(memory_format=contiguous_format)


@method()
def repeat(self, *size, repeats=None):
    """The tensor repeated along each dimension, copied.

    >>> import whet
    >>> whet.tensor([1, 2]).repeat(2, 2)
    tensor([[1, 2, 1, 2],
            [1, 2, 1, 2]])
    """
    repeats = sizes(size if repeats is None else (repeats,), "repeat", "repeats")
    r = _repeated(self, repeats)
    shares = np.may_share_memory(*map(devices.places, (r._array, self._array)))
    return r.clone(memory_format=contiguous_format) if shares else r


@function()
def tile(input, dims):
    """`repeat`, where missing repeats of leading dimensions are one.

    >>> import whet
    >>> whet.tile(whet.tensor([1, 2]), (2,))
    tensor([1, 2, 1, 2])
    """
    reps = sizes((dims,), "tile", "dims")
    reps = (1,) * (input._array.ndim - len(reps)) + reps
    return repeat(input, *reps)


def _tile_method(self, *size, dims=None):
    """See `whet.tile`.

    >>> import whet
    >>> whet.tensor([1, 2]).tile(2, 2)
    tensor([[1, 2, 1, 2],
            [1, 2, 1, 2]])
    """
    dims = size if dims is None else (dims,)
    return tile(self, dims[0] if len(dims) == 1 and not isinstance(dims[0], int) else dims)


METHODS["tile"] = _tile_method


def _repeat_each(a, repeats, dim):
    return np.repeat(a, repeats, dim)


def _repeat_each_vjp(g, _y, _x, repeats, dim):
    if isinstance(repeats, int):
        shape = tuple(_x.shape)
        return [g.reshape(*shape[: dim + 1], repeats, *shape[dim + 1 :]).sum(dim + 1)]
    index = literal(np.repeat(np.arange(len(repeats)), repeats)).to(g.device)
    return [zeros(_x.shape, dtype=g.dtype, device=g.device).index_add(dim, index, g)]


repeat_interleave_op = Op(
    "repeat_interleave",
    _repeat_each,
    _repeat_each_vjp,
    samples=lambda make: [
        Sample(make(2, 3), repeats=2, dim=1),
        Sample(make(3, 2), repeats=(2, 0, 1), dim=0),
        Sample(make(3), repeats=0, dim=0),
    ],
    linear=(0,),
    batch=shifted("dim"),
    onnx=in_onnx.repeated_each,
)


def _each_repeated(out, a, repeats, dim):
    at = (slice(None),) * dim
    if isinstance(repeats, int):
        parts = out.reshape(*a.shape[: dim + 1], repeats, *a.shape[dim + 1 :])
        return [(parts, a[(*at, slice(None), None)])]
    ends = np.cumsum(repeats).tolist()
    return [
        (out[(*at, slice(end - n, end))], a[(*at, slice(i, i + 1))])
        for i, (n, end) in enumerate(zip(repeats, ends)) if n
    ]


def _each_shape(a, repeats, dim):
    if not isinstance(repeats, int) and len(repeats) != a.shape[dim]:
        raise ValueError(f"{len(repeats)} numbers of repeats of {a.shape[dim]} slices")
    n = a.shape[dim] * repeats if isinstance(repeats, int) else sum(repeats)
    return *a.shape[:dim], n, *a.shape[dim + 1 :]


def _each_outlined(a, repeats, dim):
    return (Outline(_each_shape(a, repeats, dim), a.dtype),)


repeat_interleave_op.moves, repeat_interleave_op.shape = _each_repeated, _each_shape
repeat_interleave_op.makes = _each_outlined
repeat_interleave_op.any_sizes = True


def _check_length(have, n, dim):
    if have != n:
        raise RuntimeError(
            "repeats must have the same size as input along dim, but got repeats.size(0) = "
            f"{have} and input.size({dim}) = {n}")


def _check_repeats(total, shape, dim, output_size):
    size_arguments.checked_size((*shape[:dim], total, *shape[dim + 1 :]), "repeat_interleave")
    if output_size is not None and output_size != total:
        raise RuntimeError(
            f"repeat_interleave: allocated size {output_size} does not match the required size "
            f"{total}")


def _repeated_places(repeats, shape, dim, output_size):
    if repeats.size and repeats.min() < 0:
        raise RuntimeError("repeats can not be negative")
    _check_repeats(sum(repeats.tolist()), shape, dim, output_size)
    return np.repeat(np.arange(repeats.size), repeats)


repeated_places_op = Op(
    "repeated_places",
    _repeated_places,
    samples=lambda make: [Sample(literal(np.array([2, 0, 1])), shape=(3, 2), dim=0, output_size=3)],
)
by_rows(repeated_places_op)


def _places_outlined(repeats, shape, dim, output_size):
    if output_size is None:
        raise NotImplementedError("cannot repeat_interleave a meta tensor without output_size")
    return Outline((output_size,), np.int64)


def _usual_places_shape(shape, dim, output_size):
    return None if output_size is None else (output_size,)


repeated_places_op.outlined = _places_outlined
repeated_places_op.sized_by_data = True
repeated_places_op.usual_shape = _usual_places_shape
repeated_places_op.size_attrs = frozenset(("shape",))


def repeat_interleave(input, repeats=None, dim=None, *, output_size=None):
    """Each element repeated, along one dimension or (with none) of the flattened tensor.

    >>> import whet
    >>> whet.repeat_interleave(whet.tensor([1, 2]), 2)
    tensor([1, 1, 2, 2])
    """
    if repeats is None:
        places = arange(input.numel(), dtype=input.dtype if input.dtype is dtypes.int32 else None)
        return repeat_interleave(places, input, 0, output_size=output_size)
    if dim is None:
        input, dim = input.reshape(-1), 0
    d = dims.one(dim, input._array.ndim)
    n = input._array.shape[d]
    if is_tensor(repeats):
        if repeats.dtype not in (dtypes.int32, dtypes.int64):
            raise RuntimeError("repeats has to be Long or Int tensor")
        if repeats.ndim > 1:
            raise RuntimeError("repeat_interleave only accept 0D or 1D vector as repeat")
        if repeats.numel() != 1:
            _check_length(repeats.numel(), n, d)
            index = apply(
                repeated_places_op,
                (repeats,),
                {"shape": input._array.shape, "dim": d, "output_size": output_size},
            )
            return FUNCTIONS["index_select"](input, d, index)
        repeats = repeats.reshape(()).item()
    try:
        repeats = operator.index(repeats)    # NumPy's integers, too
    except TypeError:
        repeats = tuple(repeats)
    if isinstance(repeats, int):
        if repeats < 0:
            raise RuntimeError("Repeats must be non-negative")
    else:
        _check_length(len(repeats), n, d)
        if any(r < 0 for r in repeats):
            raise RuntimeError("repeats can not be negative")
    total = n * repeats if isinstance(repeats, int) else sum(repeats)
    _check_repeats(total, input._array.shape, d, output_size)
    return apply(repeat_interleave_op, (input,), {"repeats": repeats, "dim": d})


repeat_interleave.__module__ = "whet"
FUNCTIONS["repeat_interleave"] = METHODS["repeat_interleave"] = repeat_interleave
