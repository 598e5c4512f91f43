"""Convolutions, pools, unfold and fold in NumPy: slow and sure, for any dtype and 1 to 3 spatial
dimensions.

Each function walks over the taps of the window; a tap is a strided view of the (padded) input, so
nothing is copied k times. They are the oracle of the compiled kernels, and what runs where those do
not apply (integers, complex numbers, `WHET_CPU=numpy`).
"""
import itertools
import math

import numpy as np

from .window_geometry import adaptive_bounds, out_sizes, pool_divisors, taps, unfold_moves, wide


def _flat(a):
    return a.reshape(*a.shape[:3], math.prod(a.shape[3:]))


def _grouped(a, groups, axis):
    return a.reshape(*a.shape[:axis], groups, a.shape[axis] // groups, *a.shape[axis + 1:])


def reference_conv(x, w, bias, stride, padding, dilation, groups):
    """y[n, o, p] = bias[o] + sum over (c, tap) of w[o, c, tap] * x[n, c, p * stride + tap *
    dilation - padding]."""
    dtype, acc = x.dtype, wide(x.dtype)
    out = out_sizes(x.shape[2:], w.shape[2:], stride, padding, dilation)
    xg = _grouped(x.astype(acc, copy=False), groups, 1)
    wg = _grouped(w.astype(acc, copy=False), groups, 0)
    y = np.zeros((x.shape[0], groups, w.shape[0] // groups, *out), acc)
    for t, o, i in taps(x.shape[2:], out, w.shape[2:], stride, padding, dilation):
        xs = xg[(..., *i)]
        part = wg[(..., *t)] @ _flat(xs)
        y[(..., *o)] += part.reshape(*part.shape[:3], *xs.shape[3:])
    y = y.reshape(x.shape[0], w.shape[0], *out)
    if bias is not None:
        y += bias.astype(acc, copy=False).reshape(-1, *[1] * len(out))
    return y.astype(dtype, copy=False)


def reference_conv_input_grad(gy, w, x_shape, stride, padding, dilation, groups):
    """The gradient of `conv` with respect to x (without conjugation: the transposed
    convolution)."""
    dtype, acc = gy.dtype, wide(gy.dtype)
    gg = _grouped(gy.astype(acc, copy=False), groups, 1)
    wg = _grouped(w.astype(acc, copy=False), groups, 0)
    gx = np.zeros((x_shape[0], groups, x_shape[1] // groups, *x_shape[2:]), acc)
    for t, o, i in taps(x_shape[2:], gy.shape[2:], w.shape[2:], stride, padding, dilation):
        g = gg[(..., *o)]
        part = wg[(..., *t)].swapaxes(1, 2) @ _flat(g)
        gx[(..., *i)] += part.reshape(*part.shape[:3], *g.shape[3:])
    return gx.reshape(x_shape).astype(dtype, copy=False)


def reference_conv_weight_grad(gy, x, w_shape, stride, padding, dilation, groups):
    """The gradient of `conv` with respect to w (without conjugation)."""
    dtype, acc = gy.dtype, wide(gy.dtype)
    gg = _grouped(gy.astype(acc, copy=False), groups, 1)
    xg = _grouped(x.astype(acc, copy=False), groups, 1)
    gw = np.zeros((groups, w_shape[0] // groups, *w_shape[1:]), acc)
    for t, o, i in taps(x.shape[2:], gy.shape[2:], w_shape[2:], stride, padding, dilation):
        g, xs = gg[(..., *o)], xg[(..., *i)]
        part = _flat(g) @ _flat(xs).swapaxes(2, 3)
        gw[(..., *t)] = part.sum(0, dtype=acc)
    return gw.reshape(w_shape).astype(dtype, copy=False)


def _lowest(dtype):
    if dtype.kind in "iu":
        return np.iinfo(dtype).min
    return False if dtype.kind == "b" else -np.inf


def reference_max_pool(x, kernel, stride, padding, dilation, ceil_mode=False):
    """(largest of each window, where it lies in the flattened input plane). The first of equals; a
    NaN wins, the last of several.

    A window without a tap inside the input gives the lowest value and index -1."""
    spatial = x.shape[2:]
    out = out_sizes(spatial, kernel, stride, padding, dilation, ceil_mode)
    y = np.full((*x.shape[:2], *out), _lowest(x.dtype), x.dtype)
    index = np.full(y.shape, -1, np.int64)
    flat = np.arange(math.prod(spatial), dtype=np.int64).reshape(spatial)
    for _, o, i in taps(spatial, out, kernel, stride, padding, dilation):
        v, best, at = x[(..., *i)], y[(..., *o)], index[(..., *o)]
        better = (v > best) | (v != v) | (at < 0)
        np.copyto(best, v, where=better)
        np.copyto(at, np.broadcast_to(flat[i], at.shape), where=better)
    return y, index


def reference_max_pool_grad(gy, index, x_shape):
    """Each output's gradient goes to the input it was taken from; several to one input add in
    the order of the outputs."""
    n = math.prod(x_shape[:2])
    plane = math.prod(x_shape[2:])
    acc = wide(gy.dtype)
    gx = np.zeros((n, plane), acc)
    count = math.prod(gy.shape[2:])
    g, at = gy.reshape(n, count).astype(acc, copy=False), index.reshape(n, count)
    rows, cols = np.nonzero(at >= 0)
    np.add.at(gx, (rows, at[rows, cols]), g[rows, cols])
    return gx.reshape(x_shape).astype(gy.dtype, copy=False)


def _divisor(per_axis):
    d = np.ones((), np.int64)
    for a in per_axis:
        d = np.multiply.outer(d, a)
    return d


def _divide(total, divisor, dtype):
    if dtype.kind in "iu":
        whole = np.abs(total) // np.abs(divisor)
        return (np.sign(total) * np.sign(divisor) * whole).astype(dtype)        # towards zero
    with np.errstate(all="ignore"):
        return (total / divisor.astype(total.dtype)).astype(dtype, copy=False)


def reference_avg_pool(x, kernel, stride, padding, ceil_mode=False, count_include_pad=True,
                       divisor_override=None):
    """The mean of each window: its taps inside the input added in order, divided once."""
    ones = (1,) * len(kernel)
    spatial = x.shape[2:]
    out = out_sizes(spatial, kernel, stride, padding, ones, ceil_mode)
    y = np.zeros((*x.shape[:2], *out), wide(x.dtype))
    for _, o, i in taps(spatial, out, kernel, stride, padding, ones):
        y[(..., *o)] += x[(..., *i)]
    return _divide(y,
                   _divisor(pool_divisors(spatial, out, kernel, stride, padding, count_include_pad,
                                          divisor_override)), x.dtype)


def reference_avg_pool_grad(gy, x_shape, kernel, stride, padding, ceil_mode=False,
                            count_include_pad=True, divisor_override=None):
    """The gradient of `avg_pool`: each output's gradient, divided, to every input of its window
    (outputs in descending taps)."""
    ones = (1,) * len(kernel)
    spatial, out = x_shape[2:], gy.shape[2:]
    acc = wide(gy.dtype)
    g = _divide(gy.astype(acc, copy=False), _divisor(
        pool_divisors(spatial, out, kernel, stride, padding, count_include_pad, divisor_override)),
        acc)
    gx = np.zeros(x_shape, acc)
    for _, o, i in reversed(list(taps(spatial, out, kernel, stride, padding, ones))):
        gx[(..., *i)] += g[(..., *o)]
    return gx.astype(gy.dtype, copy=False)


def reference_adaptive_avg_pool(x, output_size):
    """The mean of each of `output_size` nearly equal windows."""
    y = np.zeros((*x.shape[:2], *output_size), wide(x.dtype))
    bounds = [list(zip(*adaptive_bounds(*a))) for a in zip(x.shape[2:], output_size)]
    for o in np.ndindex(*output_size):
        cut = [b[k] for b, k in zip(bounds, o)]
        for i in itertools.product(*[range(lo, hi) for lo, hi in cut]):
            y[(..., *o)] += x[(..., *i)]
        y[(..., *o)] = _divide(y[(..., *o)], np.asarray(np.prod([hi - lo for lo, hi in cut])),
                               y.dtype)
    return y.astype(x.dtype, copy=False)


def reference_adaptive_avg_pool_grad(gy, x_shape):
    """The gradient of `adaptive_avg_pool`: for each input, its windows in order."""
    gx = np.zeros(x_shape, wide(gy.dtype))
    bounds = [list(zip(*adaptive_bounds(*a))) for a in zip(x_shape[2:], gy.shape[2:])]
    for o in np.ndindex(*gy.shape[2:]):
        cut = [b[k] for b, k in zip(bounds, o)]
        g = gy[(..., *o)].astype(gx.dtype, copy=False)
        g = _divide(g, np.asarray(np.prod([hi - lo for lo, hi in cut])), gx.dtype)
        gx[(..., *[slice(lo, hi) for lo, hi in cut])] += g.reshape(*g.shape, *[1] * len(cut))
    return gx.astype(gy.dtype, copy=False)


def reference_adaptive_max_pool(x, output_size):
    """(largest of each of `output_size` nearly equal windows, where it lies in the flattened
    input plane)."""
    spatial = x.shape[2:]
    y = np.full((*x.shape[:2], *output_size), _lowest(x.dtype), x.dtype)
    index = np.full(y.shape, -1, np.int64)
    flat = np.arange(math.prod(spatial), dtype=np.int64).reshape(spatial)
    bounds = [list(zip(*adaptive_bounds(*a))) for a in zip(spatial, output_size)]
    for o in np.ndindex(*output_size):
        best, at = y[(..., *o)], index[(..., *o)]
        for i in itertools.product(*[range(*b[k]) for b, k in zip(bounds, o)]):
            v = x[(..., *i)]
            better = (v > best) | (v != v) | (at < 0)
            best = np.where(better, v, best)
            at = np.where(better, flat[i], at)
        y[(..., *o)], index[(..., *o)] = best, at
    return y, index


def reference_unfold(x, kernel, dilation, padding, stride):
    """The windows as columns: (N, C * taps, windows), zeros where a tap lies outside."""
    out = out_sizes(x.shape[2:], kernel, stride, padding, dilation)
    cols = np.empty((x.shape[0], x.shape[1] * math.prod(kernel), math.prod(out)), x.dtype)
    for part, source in unfold_moves(cols, x, kernel, dilation, padding, stride):
        part[...] = source
    return cols


def reference_fold(cols, output_size, kernel, dilation, padding, stride):
    """The transpose of `unfold`: every column element added where it came from, taps in order."""
    out = out_sizes(output_size, kernel, stride, padding, dilation)
    c = cols.shape[1] // math.prod(kernel)
    acc = wide(cols.dtype)
    parts = cols.reshape(cols.shape[0], c, *kernel, *out)
    y = np.zeros((cols.shape[0], c, *output_size), acc)
    with np.errstate(all="ignore"):
        for t, o, i in taps(output_size, out, kernel, stride, padding, dilation):
            y[(..., *i)] += parts[(slice(None), slice(None), *t, *o)]
    return y.astype(cols.dtype, copy=False)
