"""Pools, unfold and fold on arrays (N, C, *spatial), 1 to 3 spatial dimensions.

f32 and f64 run on compiled kernels, f16 and bf16 through f32 (rounded once), everything else in
NumPy.
"""
import math

import numpy as np

from ..ir.symbolic_size import at_least, at_most, for_now, sized
from . import (
    indexed,
    memory,
    native,
    quantised_channels,
    reference_windows,
    thread_pool,
    window_geometry,
)
from .conv_plan import ELEM, elements, known, remember, scratch, three
from .indexed import converted
from .pointwise import add_onto, move
from .reference_only import REFERENCE
from .rows import contiguous
from .sized_plans import by_sizes
from .taped_launches import partial
from .window_columns import (
    Column,
    all_equal,
    count_of,
    first_and_distance,
    first_of,
    indices,
    larger,
    largest,
    smaller,
    table_of,
)
from .window_parts import GRAIN, Plan, scratch_layout, shares

F32 = np.dtype(np.float32)
INDEXED = 1 << 31              # a plane with more pixels than this has indices beyond the kernel's


def bounds_of(axes):
    """Per axis (first tap inside, end inside, first tap, end) of each output's window, from
    (input size, (first, end, step))."""
    tables = []
    for size, (first, end, step) in axes:
        # the first tap that is inside lies a whole number of steps from the first one
        tables.append((larger(first, first % step), smaller(end, size), first, end))
    return tables


def three_axes(spatial, windows):
    """Sizes and windows as (depth, height, width)."""
    whole = (np.zeros(1, np.int64), np.ones(1, np.int64), 1)
    return list(zip(three(spatial, 1), (*[whole] * (3 - len(windows)), *windows)))


def _planned(key, make, out, *arguments):
    """The plan by which `make` pools these arguments; the result has the sizes `out`."""
    shape = *arguments[0].shape[:2], *out
    plan, = by_sizes(lambda *xs: [_plan(*make(*xs))], [shape], *arguments)
    return remember(key, plan)


def _plan(x, windows, kind, divisors):
    """A plan of `lower_llvm.pool`: windows are (first, end, step) per axis, divisors arrays per
    axis."""
    from whet.passes.lower_llvm.windows import conv as lower
    from whet.passes.lower_llvm.windows import pool as lower_pool
    from whet.passes.lower_llvm.windows import window_tiles
    out = tuple(count_of(w[0]) for w in windows)
    shape, elem = (*x.shape[:2], *out), ELEM[x.dtype]
    planes = x.shape[0] * x.shape[1]
    if not planes * math.prod(out):
        return Plan(0, 0, 1, None, 0, shape)
    axes = three_axes(x.shape[2:], windows)
    by = (None if divisors is None
          else table_of(*[1] * (3 - len(divisors)), *divisors, dtype=np.float64))
    (d, h, w), (od, oh, ow) = (a for a, _ in axes), (count_of(b[0]) for _, b in axes)
    xs = elements(x)
    xd, xh, xw = three(xs[2:], 0)
    lanes, threads = lower.lanes_for(elem), thread_pool.get_num_threads()
    if kind != "spread" and xw == 1 and for_now(2 * ow) >= lanes and _even(axes[2][1]):
        plan = _row_plan(kind, elem, lanes, axes, xs, x.shape[1], planes, shape)
        plan.divisors = by
        return plan
    size = window_tiles.BYTES[elem]
    chunk = lower_pool.CHUNK
    chunk_cols, chunk_rows = at_most(at_least(w, 1), chunk), at_least(chunk // at_least(w, 1), 1)
    cols, rows = at_most(ow, chunk), at_least(at_most(chunk // ow, oh), 1)
    blocks = -(-planes // lanes) * od
    rows = at_least(at_most(-(-oh // at_least(-(-threads * 2 // blocks), 1)), rows), 1)
    row_blocks, col_blocks = -(-oh // rows), -(-ow // cols)
    layout = scratch_layout(planes_at=8 * lanes,
                            in_at=(chunk_rows * chunk_cols + lanes) * lanes * size,
                            out_at=(rows * cols + lanes) * lanes * size,
                            index_at=(rows * cols + lanes) * lanes * 4)
    tables, starts = _tables(axes, w, chunk_cols)
    fields = dict(planes=planes, channels=x.shape[1], xn=xs[0], xc=xs[1], xd=xd, xh=xh, xw=xw, d=d,
                  h=h, w=w, od=od, oh=oh, ow=ow, step_d=axes[0][1][2], step_h=axes[1][1][2],
                  step_w=axes[2][1][2], rows=rows, cols=cols, row_blocks=row_blocks,
                  col_blocks=col_blocks, chunk_rows=chunk_rows, chunk_cols=chunk_cols,
                  **layout, **starts)
    geometry = table_of(*[fields[name] for name in lower_pool.FIELDS], *tables)
    units = blocks * row_blocks * col_blocks
    tile = window_tiles.Tile(elem, 1, lanes, 1)
    near = 1 if xw == 1 or w == 1 else 0
    kernel = native.kernel(f"pool/{kind}/{elem}/{lanes}/{near}",
                           lambda m, symbol: lower_pool.emit(m, symbol, tile, kind, near))
    work = (x.size + 8 * planes * math.prod(out)) // units
    grain, parts = shares(GRAIN * lanes // (4 * at_least(work, 1)), units, threads)
    return Plan(kernel, units, grain, geometry, layout["scratch"] * parts, shape, divisors=by)


def _tables(axes, w, chunk_cols):
    """The tables of a kernel: the bounds of all windows, then for each chunk of columns the outputs
    whose windows may touch it. Also the offsets of the axes' tables behind the fields."""
    from whet.passes.lower_llvm.windows.pool import FIELDS
    tables, starts = [], {}
    for name, columns in zip(("z_table", "y_table", "x_table"), bounds_of(axes)):
        starts[name] = len(FIELDS) + sum(map(count_of, tables))
        tables += columns
    first, last = tables[-2:]
    if sized((w, chunk_cols)) and w <= chunk_cols:
        return [*tables, 0, count_of(first)], starts     # there is one chunk for all outputs
    edges = np.arange(0, max(w, 1), chunk_cols)
    touched = np.stack([np.searchsorted(last, edges, "right"),
                        np.searchsorted(first, edges + chunk_cols, "left")], 1)
    return [*tables, touched.ravel()], starts


def _even(windows):
    """Do the windows along an axis have one size and equal distances?"""
    first, end, _ = windows
    if type(first) is Column:
        # an index stands for windows at equal distances
        return first.index is not None and all_equal(end - first)
    distances = set(np.diff(first).tolist())
    return all_equal(end - first) and len(distances) <= 1 and 0 not in distances


def _row_plan(kind, elem, lanes, axes, xs, channels, planes, shape):
    """A plan of `lower_llvm.pool_rows`."""
    from whet.passes.lower_llvm.windows import pool_rows as lower
    (_, h, w), (od, oh, ow) = (a for a, _ in axes), (count_of(b[0]) for _, b in axes)
    xd, xh, _ = three(xs[2:], 0)
    (step_d, step_h, step_w), (first, end, _) = (b[2] for _, b in axes), axes[2][1]
    size, (first, stride) = first_of(end - first), first_and_distance(first)
    taps = -(-size // step_w)
    depth, height, _ = bounds_of(axes)
    left = -(-max(-(first // stride), 0) // lanes) * lanes
    whole = at_least(at_most((w - 1 - first - (taps - 1) * step_w) // stride + 1, ow), 0)
    threads = thread_pool.get_num_threads()
    rows = at_least(at_most(at_most(
        GRAIN // at_least(-(-ow // lanes) * taps * 4, 1),
        -(-oh // at_least(-(-threads * 2 // (planes * od)), 1))), oh), 1)
    row_blocks = -(-oh // rows)
    fields = dict(channels=channels, xn=xs[0], xc=xs[1], xd=xd, xh=xh, h=h, w=w, od=od, oh=oh,
                  ow=ow, step_d=step_d, step_h=step_h, step_w=step_w, taps=taps, stride=stride,
                  first=first, left=left, whole=whole, rows=rows, row_blocks=row_blocks,
                  z_at=len(lower.FIELDS), y_at=len(lower.FIELDS) + sum(map(count_of, depth)))
    geometry = table_of(*[fields[name] for name in lower.FIELDS], *depth, *height)
    form = stride if stride in (1, 2) else 0, taps if taps <= 3 else 0
    kernel = native.kernel(f"pool_rows/{kind}/{elem}/{lanes}/{form}",
                           lambda m, symbol: lower.emit(m, symbol, elem, lanes, kind, *form))
    units = planes * od * row_blocks
    taps_of_window = taps * largest(height[3] - height[2]) * largest(depth[3] - depth[2])
    grain = at_least(GRAIN // at_least(rows * -(-ow // lanes) * taps_of_window, 1), 1)
    return Plan(kernel, units, grain, geometry, 0, shape)


def _key(kind, x, *rest):
    return ("pool", kind, x.shape, x.strides, x.dtype, thread_pool.get_num_threads(), *rest)


def _run(plan, x, indices=False):
    y = memory.empty(plan.out, x.dtype)
    index = memory.empty(plan.out, np.int64) if indices else None
    if plan.units:
        native.launch(plan.kernel, plan.units, plan.grain, x, y, index, scratch(plan.scratch),
                      plan.geometry, plan.divisors)
    return y, index


def _compiled(x):
    return (x.dtype in ELEM and not REFERENCE and elements(x) is not None
            and math.prod(x.shape[2:]) < INDEXED)


def _windows(n, out, kernel, stride, padding, dilation=1):
    """Along one axis: first tap, end, distance of taps."""
    first = indices(out, n) * stride - padding
    return first, first + (kernel - 1) * dilation + 1, dilation


def _covering(windows, n):
    """For each of n inputs, the outputs (first, end, 1) whose windows hold it."""
    first, end, _ = windows
    at = np.arange(n)
    return np.searchsorted(end, at, "right"), np.searchsorted(first, at, "right"), 1


def _halves(x):
    return window_geometry.wide(x.dtype) != x.dtype and not REFERENCE


def _without_kernel(pool_of, reference, x, *args):
    """The result of `pool_of` for types without a kernel: halves through float32, rounded once;
    others by NumPy. None if there is a kernel."""
    if _halves(x):
        return converted(partial(pool_of(converted(x, F32), *args)), x.dtype)
    return None if _compiled(x) else reference(x, *args)


def max_pool(x, kernel, stride, padding, dilation, ceil_mode=False, indices=True):
    """(largest of each window, its int64 index in the flattened input plane, or None without
    `indices`).

    The first of equals; a NaN wins, the last of several. A window without taps inside gives -inf
    and index -1.
    """
    key = _key("max", x, kernel, stride, padding, dilation, ceil_mode, indices)
    found = known.get(key)
    if found is None:
        if x.dtype == np.uint8 and not indices:
            y = quantised_channels.max_pool(x, kernel, stride, padding, dilation, ceil_mode)
            if y is not None:
                return y, None
        if _halves(x):
            y, index = max_pool(converted(x, F32), kernel, stride, padding, dilation, ceil_mode,
                                indices)
            return converted(partial(y), x.dtype), index
        if not _compiled(x):
            y, index = reference_windows.reference_max_pool(
                x, kernel, stride, padding, dilation, ceil_mode)
            return y, index if indices else None
        out = window_geometry.out_sizes(x.shape[2:], kernel, stride, padding, dilation, ceil_mode)
        found = _planned(key, lambda x, *at: (x, [
            _windows(*a) for a in zip(x.shape[2:], *at)], "max_index" if indices else "max", None),
                         out, x, out, kernel, stride, padding, dilation)
    return _run(found, x, indices)


def max_pool_grad(gy, index, x_shape):
    """The gradient of `max_pool` and `adaptive_max_pool`: outputs that share an input add in
    their order."""
    if gy.shape != index.shape or gy.shape[:2] != tuple(x_shape[:2]) or index.dtype != np.int64:
        raise RuntimeError(
            f"max_pool_grad: gradient {gy.shape}, indices {index.dtype}{list(index.shape)} (int64 "
            f"expected) and input {x_shape} do not fit")
    if _halves(gy):
        return converted(partial(max_pool_grad(converted(gy, F32), index, x_shape)), gy.dtype)
    if gy.dtype not in ELEM or REFERENCE:
        return reference_windows.reference_max_pool_grad(gy, index, x_shape)
    from whet.passes.lower_llvm.windows import pool as lower_pool
    elem = ELEM[gy.dtype]
    kernel = native.kernel(f"max_pool_grad/{elem}",
                           lambda m, symbol: lower_pool.max_grad(m, symbol, elem))
    gx = memory.empty(x_shape, gy.dtype)
    outputs, inputs = math.prod(gy.shape[2:]), math.prod(x_shape[2:])
    grain = max(1, 2 * GRAIN // max(outputs, 1))
    native.launch(kernel, math.prod(x_shape[:2]), grain, contiguous(gy),
                  contiguous(index), gx, outputs, inputs)
    return gx


def avg_pool(x, kernel, stride, padding, ceil_mode=False, count_include_pad=True,
             divisor_override=None):
    """The mean of each window; its divisor counts the padding (not what hangs over it), or not,
    or is given."""
    key = _key("avg", x, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override)
    found = known.get(key)
    if found is None:
        args = kernel, stride, padding, ceil_mode, count_include_pad, divisor_override
        y = _without_kernel(avg_pool, reference_windows.reference_avg_pool, x, *args)
        if y is not None:
            return y
        out = window_geometry.out_sizes(
            x.shape[2:], kernel, stride, padding, (1,) * len(kernel), ceil_mode)
        found = _planned(key, lambda x, *at: (
            x, [_windows(*a) for a in zip(x.shape[2:], *at)], "mean",
            window_geometry.pool_divisors(x.shape[2:], *at, count_include_pad, divisor_override)),
                         out, x, out, kernel, stride, padding)
    return _run(found, x)[0]


def avg_pool_grad(gy, x_shape, kernel, stride, padding, ceil_mode=False, count_include_pad=True,
                  divisor_override=None):
    """The gradient of `avg_pool`: for each input, the divided gradients of its windows in order."""
    key = _key("avg_grad", gy, x_shape, kernel, stride, padding, ceil_mode, count_include_pad,
               divisor_override)
    found = known.get(key)
    if found is None:
        args = x_shape, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override
        gx = _without_kernel(avg_pool_grad, reference_windows.reference_avg_pool_grad, gy, *args)
        if gx is not None:
            return gx
        found = _planned(key, lambda gy, *at: (
            gy, [_covering(_windows(*a), a[0]) for a in zip(*at)], "spread",
            window_geometry.pool_divisors(*at, count_include_pad, divisor_override)),
                         x_shape[2:], gy, x_shape[2:], gy.shape[2:], kernel, stride, padding)
    return _run(found, gy)[0]


def _adaptive(n_in, n_out):
    lo, hi = window_geometry.adaptive_bounds(n_in, n_out)
    return lo, hi, 1


def adaptive_avg_pool(x, output_size):
    """The mean of each of `output_size` windows that cover the input evenly (they overlap where
    sizes do not divide)."""
    key = _key("adaptive_avg", x, output_size)
    found = known.get(key)
    if found is None:
        y = _without_kernel(
            adaptive_avg_pool, reference_windows.reference_adaptive_avg_pool, x, output_size)
        if y is not None:
            return y

        def make(x, output_size):
            windows = [_adaptive(*a) for a in zip(x.shape[2:], output_size)]
            return x, windows, "mean", [hi - lo for lo, hi, _ in windows]
        found = _planned(key, make, output_size, x, output_size)
    return _run(found, x)[0]


def adaptive_avg_pool_grad(gy, x_shape):
    """The gradient of `adaptive_avg_pool`."""
    key = _key("adaptive_avg_grad", gy, x_shape)
    found = known.get(key)
    if found is None:
        gx = _without_kernel(
            adaptive_avg_pool_grad, reference_windows.reference_adaptive_avg_pool_grad, gy, x_shape)
        if gx is not None:
            return gx

        def make(gy, sizes):
            windows = [_adaptive(*a) for a in zip(sizes, gy.shape[2:])]
            covering = [_covering(w, n) for w, n in zip(windows, sizes)]
            return gy, covering, "spread", [hi - lo for lo, hi, _ in windows]
        found = _planned(key, make, x_shape[2:], gy, x_shape[2:])
    return _run(found, gy)[0]


def adaptive_max_pool(x, output_size, indices=True):
    """(largest of each of `output_size` windows, its int64 index in the flattened input plane,
    or None without `indices`)."""
    key = _key("adaptive_max", x, output_size, indices)
    found = known.get(key)
    if found is None:
        if _halves(x):
            y, index = adaptive_max_pool(converted(x, F32), output_size, indices)
            return converted(partial(y), x.dtype), index
        if not _compiled(x):
            y, index = reference_windows.reference_adaptive_max_pool(x, output_size)
            return y, index if indices else None
        found = _planned(key, lambda x, output_size: (
            x, [_adaptive(*a) for a in zip(x.shape[2:], output_size)],
            "max_index" if indices else "max", None), output_size, x, output_size)
    return _run(found, x, indices)


def unfold(x, kernel, dilation, padding, stride):
    """The windows as columns: (N, C * taps, windows), zeros where a tap lies outside (im2col)."""
    out = window_geometry.out_sizes(x.shape[2:], kernel, stride, padding, dilation)
    cols = memory.empty((x.shape[0], x.shape[1] * math.prod(kernel), math.prod(out)), x.dtype)
    if REFERENCE or x.itemsize > 8 or not x.size or not cols.size:
        return reference_windows.reference_unfold(x, kernel, dilation, padding, stride)
    if any(padding):
        inside = [slice(p, p + n) for n, p in zip(x.shape[2:], padding)]
        framed = np.zeros(
            (*x.shape[:2], *[n + 2 * p for n, p in zip(x.shape[2:], padding)]), x.dtype)
        move(framed[(..., *inside)], x)
        x = framed
    parts, steps = cols.reshape(*x.shape[:2], *kernel, *out), x.strides[2:]
    move(parts, np.lib.stride_tricks.as_strided(x, parts.shape, (
        *x.strides[:2], *[n * d for n, d in zip(steps, dilation)],
        *[n * s for n, s in zip(steps, stride)])))
    return cols


def fold(cols, output_size, kernel, dilation, padding, stride):
    """The transpose of `unfold`: (N, C, *output_size), every column element added where it came
    from (col2im)."""
    return reference_windows.reference_fold(cols, output_size, kernel, dilation, padding, stride)


def fold_onto(out, cols, output_size, kernel, dilation, padding, stride):
    """`fold` by kernels, onto zeros; returns whether it was possible. Halves are added in a wider
    type."""
    if window_geometry.wide(cols.dtype) != cols.dtype:
        return False
    sizes = window_geometry.out_sizes(output_size, kernel, stride, padding, dilation)
    parts = cols.reshape(*out.shape[:2], *kernel, *sizes)
    for t, o, i in window_geometry.taps(output_size, sizes, kernel, stride, padding, dilation):
        to = out[(..., *i)]
        if to.size:
            add_onto(to, parts[(slice(None), slice(None), *t, *o)])
    return True


def unpool_onto(out, x, index, output_size):
    """`max_unpool` by launches alone, onto zeros; returns whether it was possible."""
    if not indexed.suit(out, x, index):
        return False
    planes = math.prod(x.shape[:2])
    index = indexed.converted(index, index.dtype).reshape(planes, -1)
    at = indexed.of_elements((planes, math.prod(output_size)), index, 1)
    if at is None:
        return False
    indexed.put(out, at, x)
    return True


def max_unpool(x, index, output_size):
    """Each element at its index of the flattened output plane, zeros elsewhere; of several at
    one index the last stays."""
    n = math.prod(x.shape[:2])
    plane = math.prod(output_size)
    count = math.prod(x.shape[2:])
    at = index.reshape(n, count)
    if at.size and (at.min() < 0 or at.max() >= plane):
        raise RuntimeError(
            f"max_unpool: indices must be in 0..{plane - 1} for the output {tuple(output_size)}, "
            f"but go from {at.min()} to {at.max()}")
    y = np.zeros((n, plane), x.dtype)
    np.put_along_axis(y, at, x.reshape(n, count), axis=1)
    return y.reshape(*x.shape[:2], *output_size)
