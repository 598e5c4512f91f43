"""Views that are no plain index: diagonals, windows, and any strides at all."""

import builtins
from math import prod

import numpy as np

from .. import dtypes, size_arguments, strided_memory
from ..cpu import indexed
from ..cpu.pointwise import add_onto
from ..ir.outline import Outline
from ..size_arguments import as_int, sizes, whole
from . import dims
from .autocast_to_float32 import precise
from .batching import shifted
from .changes_in_place import reshape_inplace
from .creation import like_array
from .onnx import shapes as in_onnx
from .registry import MoveOp, Op, apply, check_tensors
from .sample_inputs import Sample
from .surface import function, method
from .view import ViewOp


# ---- diagonal and windows ------------------------------------------------------------------------
def diagonal_of_array(a, offset, dim1, dim2):
    """NumPy's diagonal, which is writeable where the array is."""
    r = a.diagonal(offset, dim1, dim2)
    if a.flags.writeable:
        r.flags.writeable = True
    return r


def _undiagonal(out, g, size, offset, dim1, dim2):
    return [(out, 0), (diagonal_of_array(out, offset, dim1, dim2), g)]


_diagonals = [
    ((3, 4), 0, 0, 1),
    ((3, 4), 1, 0, 1),
    ((2, 3, 4), -1, 1, 2),
    ((3, 2, 4), 0, 2, 0),
    ((2, 2), 5, 0, 1),
]
diagonal_op = ViewOp(
    "diagonal",
    diagonal_of_array,
    lambda g, _y, _x, **kw: [apply(undiagonal_op, (g,), {"size": tuple(_x.shape), **kw})],
    samples=lambda make: [Sample(make(*s), offset=o, dim1=p, dim2=q) for s, o, p, q in _diagonals],
    batch=shifted("dim1", "dim2"),
    onnx=in_onnx.diagonal,
)
undiagonal_op = MoveOp(
    "undiagonal",
    lambda g, size, **kw: size,
    _undiagonal,
    lambda g, _y, _x, size, **kw: [apply(diagonal_op, (g,), kw)],
    samples=lambda make: [
        Sample(make(*np.empty(s).diagonal(o, p, q).shape), size=s, offset=o, dim1=p, dim2=q)
        for s, o, p, q in _diagonals
    ],
    batch=shifted("dim1", "dim2", sizes=("size",)),
)


diagonal_op.any_sizes = undiagonal_op.any_sizes = True


@function()
def diagonal(input, offset=0, dim1=0, dim2=1):
    """The diagonal of two dimensions, as the last dimension of the result.

    >>> import whet
    >>> whet.tensor([[1, 2], [3, 4]]).diagonal()
    tensor([1, 4])
    """
    n = input._array.ndim
    d1, d2 = dims.one(dim1, n), dims.one(dim2, n)
    if d1 == d2:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return apply(
        diagonal_op,
        (input,),
        {"offset": as_int(offset, "diagonal", "offset"), "dim1": d1, "dim2": d2},
    )


def _unfold(a, dimension, size, step):
    shape, strides = list(a.shape), list(a.strides)
    if not shape:
        return a.reshape(1)[:size]
    n = (shape[dimension] - size) // step + 1
    a = a[(builtins.slice(None),) * dimension + (builtins.slice(0, (n - 1) * step + 1, step),)]
    item = a.itemsize
    shape[dimension] = n
    inner = strides[dimension] // item
    strides[dimension] *= step
    if type(a) is Outline:                   # they lie in it, however many they are
        return a.seen((*shape, size), (*strides, inner * item))
    return strided_memory.strided(a, (*shape, size), (*[s // item for s in strides], inner))


def _unfolded_sum(g, shape, dimension, size, step):
    out = np.zeros(shape, g.dtype)
    if not shape:
        return out + (g.sum() if g.size else 0)
    for to, part in _window_parts(out, g, dimension, size, step):
        to += part
    return out


def _window_parts(out, g, dimension, size, step):
    """What windows add to where, as pairs of views: `step` elements of all windows at a time, which
    lie in different places."""
    n, at = g.shape[dimension], (builtins.slice(None),) * dimension
    for k in range(0, size, step):
        width = min(step, size - k)
        part = out[(*at, builtins.slice(k, k + (n - 1) * step + width))]
        yield _unfold(part, dimension, width, step), g[..., k:k + width]


_dimension_shifted = shifted("dimension")


def _unfold_each(op, n, inputs, batched, attrs):
    """Windows of examples that are numbers have one dimension, and not one more."""
    x, = inputs
    if x.ndim == 1:
        return x.reshape((n, 1))[:, :attrs["size"]]
    return _dimension_shifted(op, n, inputs, batched, attrs)


_windows = [((8,), 0, 3, 1), ((2, 7), 1, 2, 2), ((5, 3), 0, 5, 1), ((4, 3), 0, 2, 3)]
unfold_op = ViewOp(
    "unfold",
    _unfold,
    lambda g, _y, _x, **kw: [apply(unfold_sum_op, (g,), {"shape": tuple(_x.shape), **kw})],
    samples=lambda make: [Sample(make(*s), dimension=d, size=n, step=k) for s, d, n, k in _windows],
    batch=_unfold_each,
    onnx=in_onnx.windows,
)
unfold_op.any_sizes = True
unfold_sum_op = Op(
    "unfold_sum",
    _unfolded_sum,
    lambda g, _y, _x, shape, **kw: [apply(unfold_op, (g,), kw)],
    samples=lambda make: [
        Sample(make(*_unfold(np.empty(s), d, n, k).shape), shape=s, dimension=d, size=n, step=k)
        for s, d, n, k in _windows
    ],
    linear=(0,),
    batch=shifted("dimension", sizes=("shape",), least=2),
    onnx=lambda b, g, shape, **at: b.summed(g, _unfold(in_onnx.numbered(b, shape), **at), shape),
)


def _unfolded_onto(out, g, shape, dimension, size, step):
    """Add the gradient of windows onto zeros with a kernel. Is it done?"""
    if not shape or not indexed.suit(out, g):
        return False
    for to, part in _window_parts(out, g, dimension, size, step):
        add_onto(to, part)
    return True


unfold_sum_op.moves = lambda out, g, shape, **at: [(out, 0)]
unfold_sum_op.write_by_kernels = _unfolded_onto
unfold_sum_op.any_sizes, unfold_sum_op.size_attrs = True, frozenset(("shape",))
unfold_sum_op.makes = lambda g, *, shape, **_: (Outline(shape, g.dtype),)


@method()
def unfold(self, dimension, size, step):
    """All windows of `size` along a dimension, `step` apart, as a new last dimension.

    >>> import whet
    >>> whet.arange(4).unfold(0, 2, 1)
    tensor([[0, 1],
            [1, 2],
            [2, 3]])
    """
    shape = self._array.shape
    d = dims.one(dimension, len(shape))
    size = as_int(size, "unfold", "size", 2, whole)
    step = as_int(step, "unfold", "step", 3, whole)
    if size < 0:
        raise RuntimeError(f"size is {size} but must be >= 0")
    limit = shape[d] if shape else 1
    if size > limit:
        raise RuntimeError(
            f"maximum size for tensor at dimension {d} is {limit} but size is {size}"
        )
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    return apply(unfold_op, (self,), {"dimension": d, "size": size, "step": step})


# ---- any strides ---------------------------------------------------------------------------------
def extent(shape, stride, offset=0):
    """The lowest and the highest element that the geometry touches, relative to its base's first
    element."""
    if prod(shape) == 0:
        return offset, offset - 1
    low = high = offset
    for n, s in zip(shape, stride):
        if s < 0:
            low += (n - 1) * s
        else:
            high += (n - 1) * s
    return low, high


def _positions(shape, stride, offset):
    """Each element's place in memory."""
    p = np.full(shape, offset, np.int64)
    for d, (n, s) in enumerate(zip(shape, stride)):
        p += (np.arange(n, dtype=np.int64) * s).reshape((-1,) + (1,) * (len(shape) - 1 - d))
    return p


def touched_span(shape, base_stride, size, stride, offset):
    """(elements before the base's first element, number of elements) of the memory that base and
    view touch."""
    low0, high0 = extent(shape, base_stride)
    low1, high1 = extent(size, stride, offset)
    return -min(low0, low1), max(high0, high1) - min(low0, low1) + 1


def _strided_sum(g, shape, size, stride, offset, base_stride):
    before, n = touched_span(shape, base_stride, size, stride, offset)
    wide = (
        np.float32
        if g.dtype.itemsize == 2 and g.dtype.kind in "fV" or g.dtype == dtypes.bfloat16.np
        else g.dtype
    )
    memory = np.zeros(max(n, 0), wide)
    if prod(size):
        if _distinct(size, stride):
            strided_memory.strided(memory[:1], size, stride, before + offset)[...] = g
        else:
            np.add.at(memory, _positions(size, stride, before + offset), g.astype(wide, copy=False))
    if prod(shape) == 0:
        return np.zeros(shape, g.dtype)
    base = strided_memory.strided(memory[:1], shape, base_stride, before)
    if not _distinct(shape, base_stride):  # each of the elements in one place gets its share
        where = _positions(shape, base_stride, before)
        base = base / np.bincount(where.reshape(-1), minlength=n)[where]
    return base.astype(g.dtype)


def _strided_sum_in_onnx(b, g, shape, size, stride, offset, base_stride):
    """Each element is added to its place in the memory, from which the result is gathered; what
    lies in one place is shared."""
    shape, size = b.static(*shape), b.static(*size)
    before, n = touched_span(shape, base_stride, size, stride, offset)
    if not prod(size) or not prod(shape):
        return b.filled(b.ints(shape), np.zeros((), dtypes.SHORT[g.dtype].np))
    memory = b.summed(g, _positions(size, stride, before + offset).reshape(-1), (n,))
    where = _positions(shape, base_stride, before)
    base = b.Gather(memory, b.constant(where, "places"), axis=0)
    if _distinct(shape, base_stride):
        return base
    shares = np.bincount(where.reshape(-1), minlength=n)[where]
    return b.Div(base, b.constant(shares.astype(dtypes.SHORT[g.dtype].np), "shares"))


def _distinct(shape, stride):
    """Do the elements lie in different places, as far as nested dimensions show? False may be a
    false alarm."""
    reach = 0
    for s, n in sorted((abs(s), n) for s, n in zip(stride, shape) if n != 1):
        if n and s <= reach:
            return False
        reach += s * (n - 1)
    return True


def _strided_copy(a, size, stride, offset, base_stride):
    before, n = touched_span(a.shape, base_stride, size, stride, offset)
    if not prod(size):
        return np.empty(size, a.dtype)
    memory = np.zeros(max(n, 1), a.dtype)
    if a.size:
        strided_memory.strided(memory[:1], a.shape, base_stride, before)[...] = a
    return strided_memory.strided(memory[:1], size, stride, before + offset).copy()


def _as_strided_vjp(g, _y, _x, size, stride, offset, base_stride):
    return [
        apply(
            strided_sum_op,
            (g,),
            {
                "shape": tuple(_x.shape),
                "size": size,
                "stride": stride,
                "offset": offset,
                "base_stride": base_stride,
            },
        )
    ]


_geometries = [
    ((3, 4), (2, 2), (4, 1), 1, (4, 1)),
    ((6,), (4, 3), (1, 1), 0, (1,)),
    ((2, 3), (3, 2), (1, 3), 0, (3, 1)),
    ((4,), (2, 2), (0, 2), 1, (1,)),
    ((3,), (), (), 2, (1,)),
    ((3,), (0, 2), (1, 1), 0, (1,)),
]


def _geometry_samples(make, of_view):
    for shape, size, stride, offset, base in _geometries:
        kw = dict(size=size, stride=stride, offset=offset, base_stride=base)
        yield Sample(make(*size), shape=shape, **kw) if of_view else Sample(make(*shape), **kw)


def _as_strided_each(op, n, inputs, batched, attrs):
    """The examples lie a stride apart that each place is counted from."""
    (x,) = inputs
    first = element_strides(x._array)[0]
    return apply(
        op,
        (x,),
        {
            "size": (n, *attrs["size"]),
            "stride": (first, *attrs["stride"]),
            "offset": attrs["offset"],
            "base_stride": (first, *attrs["base_stride"]),
        },
    )


def _as_strided_copy_each(op, n, inputs, batched, attrs):
    """Each example has a block of memory of its own, as large as what base and view touch."""
    shape = attrs["shape"] if "shape" in attrs else inputs[0]._array.shape[1:]
    _, block = touched_span(
        shape, attrs["base_stride"], attrs["size"], attrs["stride"], attrs["offset"])
    attrs = {
        **attrs,
        "size": (n, *attrs["size"]),
        "stride": (block, *attrs["stride"]),
        "base_stride": (block, *attrs["base_stride"]),
    }
    if "shape" in attrs:
        attrs["shape"] = (n, *attrs["shape"])
    return apply(op, inputs, attrs)


as_strided_op = ViewOp(
    "as_strided",
    lambda a, size, stride, offset, base_stride: strided_memory.strided(a, size, stride, offset),
    _as_strided_vjp,
    samples=lambda make: _geometry_samples(make, of_view=False),
    batch=_as_strided_each,
)
as_strided_op.reach = lambda size, stride, offset, base_stride: extent(size, stride, offset)
as_strided_op.doc = (
    "A region of memory: size, stride, offset from the first element of the input, whose strides "
    "are `base_stride`.")
as_strided_copy_op = Op(
    "as_strided_copy",
    _strided_copy,
    _as_strided_vjp,
    samples=lambda make: _geometry_samples(make, of_view=False),
    linear=(0,),
    batch=_as_strided_copy_each,
    onnx=lambda b, x, **at: b.moved(x, lambda places: _strided_copy(places, **at)),
)
strided_sum_op = Op(
    "strided_sum",
    _strided_sum,
    lambda g, _y, _x, shape, **kw: [apply(as_strided_copy_op, (g,), kw)],
    samples=lambda make: _geometry_samples(make, of_view=True),
    linear=(0,),
    batch=_as_strided_copy_each,
    onnx=_strided_sum_in_onnx,
)
strided_sum_op.outlined = lambda g, shape, base_stride, **_: like_array(
    Outline(shape, g.dtype, [s * g.itemsize for s in base_stride]), g.dtype)
as_strided_copy_op.outlined = lambda x, size, **_: Outline(size, x.dtype)


def element_strides(a):
    return tuple([s // a.itemsize for s in a.strides])


def _region(name, input, size, stride, storage_offset):
    """The attributes of a region of a tensor's memory, checked."""
    size, stride = sizes((size,), name), sizes((stride,), name, "stride")
    if len(size) != len(stride):
        raise RuntimeError(
            f"{name}: mismatch in length of strides and shape: {list(size)}, {list(stride)}"
        )
    if any(s < 0 for s in stride) and not any(s < 0 for s in input._array.strides):
        raise RuntimeError(
            f"{name}: Negative strides are not supported at the moment, got strides: {list(stride)}"
        )
    size_arguments.checked_size(size, name)
    if storage_offset is not None and storage_offset < 0:
        raise RuntimeError(f"{name}: Tensor: invalid storage offset {storage_offset}")
    offset = 0 if storage_offset is None else storage_offset - input.storage_offset()
    return {
        "size": size,
        "stride": stride,
        "offset": offset,
        "base_stride": element_strides(input._array),
    }


@function()
def as_strided(input, size, stride, storage_offset=None):
    """A view with the given size and strides, `storage_offset` elements from the start of the
    storage (of this tensor, if None).

    >>> import whet
    >>> whet.as_strided(whet.arange(4.), (3, 2), (1, 1))
    tensor([[0., 1.],
            [1., 2.],
            [2., 3.]])
    """
    return apply(
        as_strided_op, (input,), _region("as_strided", input, size, stride, storage_offset)
    )


@method()
def as_strided_(self, size, stride, storage_offset=None):
    """`as_strided`, in place.

    >>> import whet
    >>> whet.arange(4.).as_strided_((2,), (2,))
    tensor([0., 2.])
    """
    return reshape_inplace(
        as_strided_op, self, _region("as_strided_", self, size, stride, storage_offset)
    )


@function()
@precise
def trace(input):
    """The sum of the diagonal of a matrix.

    >>> import whet
    >>> whet.trace(whet.tensor([[1., 2.], [3., 4.]]))
    tensor(5.)
    """
    check_tensors("trace", input=input)
    if input.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {input.ndim}")
    return input.diagonal().sum()
