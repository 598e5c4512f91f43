"""Indexing by launches alone: computes the places that indices name, and reads, writes or combines
elements there, in the order of the indices.

A place is the number of an element in a row-major array, or in the memory of another array
(`walk`). A negative place is none."""
import functools

import numpy as np

from ..dtypes import FLOAT, FROM_NUMPY
from ..ir import scalar as s
from ..ir.outline import broadcast_shapes
from ..strided_memory import strided
from . import gather, memory, native
from .duplicate_indices import COMBINATIONS
from .pointwise import Pointwise, move
from .reference_only import REFERENCE
from .taped_launches import partial, table, verdict

BITS = {1: "u1", 2: "u2", 4: "u4", 8: "u8"}
I64 = np.dtype(np.int64)


def pointwise(name, root, inputs, shape, dtype=I64):
    """The result of an expression, in a form that later launches read."""
    out = partial(memory.empty(shape, dtype))
    Pointwise(name, (root,), len(inputs))(inputs, [out])
    return out


def converted(a, dtype):
    """An array converted to a type, in row-major order."""
    if a.dtype == dtype and a.flags.c_contiguous:
        return a
    out = partial(memory.empty(a.shape, dtype))
    if a.dtype == dtype:
        move(out, a)
    else:
        Pointwise("copy", (s.cast(s.arg(0), FROM_NUMPY[out.dtype].short),), 1)([a], [out])
    return out


def within(index, n, wrap=False):
    """Are indices, int64 and row-major, all in range? `wrap`: negative ones count from the end."""
    def bounds(module, symbol):
        from ..passes.lower_llvm.elements import gather as lowered
        lowered.emit_bounds(module, symbol)
    bad = np.zeros(1, np.int64)
    verdict(bad)
    native.launch(native.kernel("take/bounds", bounds), index.size, 1 << 14, index,
                  n if wrap else 0, 2 * n if wrap else n, bad)
    return not bad[0]


# ---- where ---------------------------------------------------------------------------------------
@functools.cache
def _place(indices, others, wrap):
    """Places of index arrays and coordinates: (index, its dimension's size, its step) each, then
    coordinates that are multiplied already."""
    xs = s.args(3 * indices + others)
    at = None
    for k in range(indices):
        i, n, step = xs[3 * k: 3 * k + 3]
        i = (s.where(s.lt(i, 0), i + n, i) if wrap else i) * step
        at = i if at is None else at + i
    for x in xs[3 * indices:]:
        at = x if at is None else at + x
    return Pointwise("places", (at,), len(xs))


def steps(shape):
    """The number of elements that one step along each dimension skips."""
    out, n = [], 1
    for k in reversed(shape):
        out.append(n)
        n *= k
    return out[::-1]


def walk(a):
    """The number of elements of its own memory that one step along each dimension skips. None if
    the array is row-major, or if its strides are not multiples of an element: then it is copied."""
    if type(a) is not np.ndarray or a.flags.c_contiguous:
        return None
    if any([s < 0 or s % a.itemsize for s in a.strides]):
        return None
    return [s // a.itemsize for s in a.strides]


def walked(a):
    """The memory of such an array, as a vector."""
    return strided(a, (1 + sum([(n - 1) * s for n, s in zip(a.shape, walk(a))]),), (1,))


def named(shape, index, dims, axes, result, wrap=False, step=None):
    """The places in an array of `shape` of what indices name; None where one is out of range.

    `index`: arrays for the dimensions `dims`, that broadcast to `result`; `axes`: for each other
    dimension the axis of `result` that runs along it; `step`: see `walk`."""
    index = [converted(i, I64) for i in index]
    for i, d in zip(index, dims):
        if not within(i, shape[d], wrap):
            return None
    step, operands = step or steps(shape), []
    for i, d in zip(index, dims):
        operands += [i, *[table(np.array([n], I64)) for n in (shape[d], step[d])]]
    others = [d for d in range(len(shape)) if d not in dims and result[axes[d]] > 1]
    for d in others:
        along = table(np.arange(result[axes[d]], dtype=I64) * step[d])
        operands.append(along.reshape([-1 if k == axes[d] else 1 for k in range(len(result))]))
    out = partial(memory.empty(result, I64))
    _place(len(dims), len(others), wrap)(operands, [out])
    return out


def of_elements(shape, index, dim, step=None):
    """The places of elements that have an index along one dimension and their own coordinate along
    the others."""
    return named(shape, [index], (dim,), range(index.ndim), index.shape, step=step)


def of_slices(shape, index, dim, wrap=False, step=None):
    """The places of the elements of the slices that a vector of indices names."""
    result = (*shape[:dim], index.size, *shape[dim + 1:])
    index = index.reshape((-1,) + (1,) * (len(shape) - 1 - dim))
    return named(shape, [index], (dim,), range(len(shape)), result, wrap, step)


def of_several(shape, index, dims, step=None):
    """The places of what several indices name, as NumPy has them: where the dimensions are
    neighbours their axes are there, else in front."""
    inner = broadcast_shapes(*[i.shape for i in index])
    rest = [d for d in range(len(shape)) if d not in dims]
    at = dims[0] if dims[-1] - dims[0] == len(dims) - 1 else 0
    axes = {d: k if k < at else k + len(inner) for k, d in enumerate(rest)}
    sizes = [shape[d] for d in rest]
    behind = (1,) * (len(rest) - at)
    index = [i.reshape((1,) * (len(inner) - i.ndim) + i.shape + behind) for i in index]
    return named(shape, index, dims, axes, (*sizes[:at], *inner, *sizes[at:]), True, step)


# ---- what is there, and what is put there --------------------------------------------------------
def picked(a, at):
    """The elements at places that all exist."""
    out, _ = gather.rows(converted(a, a.dtype).reshape(-1), at.reshape(-1), 0)
    return out.reshape(at.shape)


def picked_by(places, a, index):
    """The elements of an array of any strides at the places that `places(shape, index, step=)`
    gives. They are read from its own memory if possible, even if they are few of its elements."""
    step = walk(a)
    at = places(a.shape, index, step=step)
    if at is None:
        return None
    return picked(a if step is None else walked(a), at)


def suit(*arrays):
    """Do kernels know the types of these arrays, and has each at least one element?"""
    return not REFERENCE and all(
        a.size and a.dtype in FROM_NUMPY and a.dtype.kind != "c" for a in arrays)


def combine(out, at, values, kind):
    """Put values into places of `out`, or combine them with what is there; `values` are as many
    as places, or one. `kind`: see `COMBINATIONS`."""
    op = COMBINATIONS[kind].primitive
    if op is None:
        bits = np.dtype(BITS[out.dtype.itemsize])
        out, values = out.view(bits), values.view(bits)
    dtype = FROM_NUMPY[out.dtype].short

    def emit(module, symbol):
        from ..passes.lower_llvm.elements import combine_at_places as lowered
        lowered.emit(module, symbol, dtype, op)
    kernel = native.kernel(f"combine/{op}/{dtype}", emit)
    native.launch(kernel, 1, 1, out, at, converted(values, out.dtype), at.size,
                  int(values.size > 1))


def put_by(places, out, values, index):
    """Put values to the places in an array of any strides that `places(shape, index, step=)` gives:
    as many as places, or one. False where an index is out of range: nothing was written then."""
    step = walk(out)
    at = places(out.shape, index, step=step)
    if at is None:
        return False
    values = values if values.size == 1 else np.broadcast_to(values, at.shape)
    put(out if step is None else walked(out), at, values)
    return True


def put(out, at, values):
    """Write values to places of an array of any strides."""
    work = converted(out, out.dtype)
    combine(work, at, values, "put")
    if work is not out:
        move(out, work)


def wider(dtype):
    """The type in which elements of a type are combined."""
    half = dtype.itemsize == 2 and FROM_NUMPY[dtype].category == FLOAT
    return np.dtype(np.float32) if half else dtype


def reduce(out, at, values, kind, include_self=True):
    """Combine values into places of an array of any strides: sum, prod, mean, amax, amin. Without
    `include_self` what is there does not count."""
    how = COMBINATIONS[kind]
    work = converted(out, wider(out.dtype))
    values = converted(values, work.dtype)
    if not include_self:
        combine(work, at, table(np.full(1, how.start(work.dtype), work.dtype)), "put")
    combine(work, at, values, kind)
    if how.divides:
        divide(work, at, include_self)
    if work is not out:
        short = FROM_NUMPY[out.dtype].short
        Pointwise("copy", (s.cast(s.arg(0), short),), 1)([work], [out])


def reduce_along(out, index, axis, values, kind, start, each):
    """Combine values into `out` at the places that indices name along an axis: sum, prod, mean,
    amax, amin. `each`: every element has its own index; otherwise an index names a slice. `start`:
    what elements are before values come to them; None: what is there counts. False where the
    kernels of takes do not do it, or an index is out of range: nothing was written then."""
    if not gather.combines(out, values):
        return False
    if (each and index.size and index.shape == values.shape and _whole(out, index, axis)
            and gather.repeats(index, axis)):
        index, each = gather.of_slices(index, axis), False
    count = None
    divides = COMBINATIONS[kind].divides
    if start is not None or divides:
        count = counted(out, index, axis, values, each)
        if count is None:
            return False
    if start is not None:
        there, n, first = s.args(3)
        starts = np.broadcast_to(table(np.full(1, start, out.dtype)), out.shape)
        Pointwise("start", (s.where(s.gt(n, 0), first, there),), 3)([out, count, starts], [out])
    if not gather.put(out, index, values, axis, kind, each):
        return False
    if divides:
        means(out, count, start is None)
    return True


def _whole(out, index, axis):
    """Does an index name whole slices of `out`, not parts of them?"""
    return all(n == m for i, (n, m) in enumerate(zip(index.shape, out.shape)) if i != axis)


def counted(out, index, axis, values, each):
    """How often each element of `out` is named along an axis; None if no kernel counts that, or an
    index is out of range."""
    count = filled(partial(memory.empty(out.shape if each else out.shape[axis:axis + 1], I64)), 0)
    ones = filled(partial(memory.empty(values.shape if each else index.shape, I64)), 1)
    if not gather.put(count, index, ones, axis if each else 0, "sum", each):
        return None
    along = count if each else count.reshape((-1,) + (1,) * (out.ndim - 1 - axis))
    return np.broadcast_to(along, out.shape)


def divide(sums, at, more):
    """Turn sums into means: of the values added to each place, and one more."""
    count = filled(partial(memory.empty(sums.shape, I64)), 0)
    combine(count, at, table(np.ones(1, I64)), "sum")
    means(sums, count, more)


def means(sums, count, more):
    """Turn sums into means, given how many values were added to each place, and one more."""
    root = mean_of(FROM_NUMPY[sums.dtype].short, sums.dtype.kind == "f", int(more))
    Pointwise("mean", (root,), 2)([sums, count], [sums])


def mean_of(short, is_float, more):
    """The mean of a sum, of a type, and of how many there were beside `more`; the sum of none."""
    x, n = s.args(2)
    touched, n = s.gt(n, 0), n + more
    if is_float:
        mean = s.cast(s.cast(x, "f64") / s.cast(n, "f64"), short)
    else:
        mean = s.cast(s.floordiv(s.cast(x, "i64"), n), short)
    return s.where(touched, mean, x)


def filled(out, value):
    """Write a number into every element; returns `out`."""
    number = table(np.full(1, value, out.dtype)).reshape(())
    move(out, np.broadcast_to(number, out.shape))
    return out
