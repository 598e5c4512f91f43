"""Convolution and its two gradients on arrays (N, C, *spatial), 1 to 3 spatial dimensions.

f32 and f64 run on compiled kernels, f16 and bf16 through f32 with one rounding, everything else in NumPy. What a call needs
beyond its operands (kernel, geometry, scratch sizes) depends on shapes and strides only and is kept in a `Plan`.
"""
import math
import os
import threading
from dataclasses import dataclass

import numpy as np

from . import native, pool
from .window import out_sizes, reference_conv, reference_conv_input_grad, reference_conv_weight_grad, wide

ELEM = {np.dtype(np.float32): "float", np.dtype(np.float64): "double"}
PLANS = 4096                   # kept at most; then all are forgotten
REFERENCE = os.environ.get("WHET_CPU") == "numpy"
GRAIN = 1 << 19                # multiply-adds of a work unit's worth of 10 us

_plans: dict = {}
_local = threading.local()


@dataclass(slots=True)
class Plan:
    """How to run one shape: a kernel over `units`, with its geometry and `scratch` bytes."""
    kernel: int
    units: int
    grain: int
    geometry: np.ndarray
    scratch: int
    out: tuple


def scratch(size):
    """Address of at least `size` bytes, aligned to 64, that this thread may use until it asks again."""
    try:
        if _local.size >= size:
            return _local.at
    except AttributeError:
        pass
    _local.memory = np.empty(size + 64, np.uint8)
    _local.size, at = size, _local.memory.__array_interface__["data"][0]
    _local.at = at + -at % 64
    return _local.at


def remember(key, plan):
    if len(_plans) >= PLANS:
        _plans.clear()
    _plans[key] = plan
    return plan


def split(n, most):
    """Cut n into the fewest nearly equal parts of at most `most`: (parts, size of the largest)."""
    parts = max(1, -(-n // most))
    return parts, -(-n // parts)


def _three(values, fill):
    """Spatial sizes or strides as (depth, height, width)."""
    return (*[fill] * (3 - len(values)), *values)


def _elements(a):
    """Strides in elements; None where they are no multiple of one."""
    size = a.itemsize
    return None if any(s % size for s in a.strides) else tuple(s // size for s in a.strides)


@dataclass(slots=True)
class Gathered:
    """One kernel run: out[n, o, p] = sum over (c, tap) of w[o, c, tap] * x[n, c, p * stride + offset of tap]."""
    elem: str
    groups: int
    channels: int              # of x, per group
    rows: int                  # of w, per group
    x_size: tuple              # depth, height, width
    x_strides: tuple           # n, c, depth, height, width
    images: int
    out: tuple                 # depth, height, width
    out_strides: tuple         # n, o, depth, height, width
    stride: tuple
    offsets: tuple             # per axis, of each tap
    w_row: int                 # elements between rows of w; a row is channels x taps in order


def _flat_pixels(r):
    """With one tap, on the pixel itself, an image is one row of pixels if its strides allow."""
    xn, xc, *xs = r.x_strides
    yn, yo, *ys = r.out_strides
    sizes = r.out
    if r.offsets != ((0,), (0,), (0,)) or r.stride != (1, 1, 1) or r.x_size != sizes:
        return r
    for strides in (xs, ys):
        step = strides[2]
        for axis in (2, 1, 0):
            if sizes[axis] != 1 and strides[axis] != step:
                return r
            step *= sizes[axis]
    n = math.prod(sizes)
    r.x_size = r.out = (1, 1, n)
    r.x_strides, r.out_strides = (xn, xc, 0, 0, xs[2]), (yn, yo, 0, 0, ys[2])
    return r


def gathered_plan(r, epilogue, out_shape):
    """The plan of a `Gathered` run."""
    if 0 in (*r.out, r.images, r.groups, r.rows):
        return Plan(0, 0, 1, np.empty(0, np.int64), 0, out_shape)
    from whet.passes.lower_llvm import conv as lower
    r = _flat_pixels(r)
    threads = pool.get_num_threads()
    (od, oh, ow), (d, h, w), (sd, sh, sw) = r.out, r.x_size, r.stride
    xn, xc, xd, xh, xw = r.x_strides
    yn, yo, yd, yh, yw = r.out_strides
    image = od * oh * ow
    pixels = r.images * image
    lanes = lower.lanes_for(r.elem)
    tiles, rows = split(r.rows, lower.most_rows())
    vectors = 1 if pixels <= lanes else 4 if rows < 4 and pixels > 2 * lanes else 2
    tile = lower.Tile(r.elem, rows, lanes, vectors)
    size, panel = lower.BYTES[r.elem], tile.panel
    rowtaps, coltaps = len(r.offsets[0]) * len(r.offsets[1]), len(r.offsets[2])
    steps = r.channels * rowtaps * coltaps

    panels = -(-pixels // panel)
    pixel_blocks, max_panels = split(panels, max(1, 128 // panel))
    row_blocks, max_tiles = split(tiles, max(1, 512 // rows))
    if threads > 1 and r.groups * pixel_blocks * row_blocks < 8 * threads:                # even parts for the threads
        even = -(-pixel_blocks // threads) * threads
        if panels >= 2 * even:
            pixel_blocks, max_panels = even, -(-panels // even)
        elif r.groups * pixel_blocks % threads:
            row_blocks = min(tiles, -(-row_blocks // threads) * threads)
            max_tiles = -(-tiles // row_blocks)
    units = r.groups * pixel_blocks * row_blocks

    limit = max_panels * panel
    layout, at = {}, 0
    for name, n in (("in_at", (limit + 1) * 40 + limit * 4 * (rowtaps + coltaps)), ("out_at", (limit + 1) * 40),
                    ("y_at", (max_panels * max_tiles * rows * panel + lanes) * size),
                    ("b_at", (max_panels * lower.KC * panel + lanes) * size)):
        layout[name] = at
        at += -(-n // 64) * 64
    scattered = yw != 1 or (od > 1 and yd != oh * ow) or (oh > 1 and yh != ow)
    fields = dict(pixels=pixels, image=image, oh=oh, ow=ow, d=d, h=h, w=w, sd=sd, sh=sh, sw=sw, xn=xn, xg=xc * r.channels, xc=xc,
                  xd=xd, xh=xh, xw=xw, yn=yn, yg=yo * r.rows, yo=yo, yd=yd, yh=yh, yw=yw, wg=r.rows * r.w_row, wo=r.w_row,
                  rows=r.rows, rowtaps=rowtaps, coltaps=coltaps, steps=steps, panels=panels, pixel_blocks=pixel_blocks,
                  row_blocks=row_blocks, tiles=tiles, max_panels=max_panels, max_tiles=max_tiles, scratch=at, **layout)
    tables = ([a for a in r.offsets[0] for _ in r.offsets[1]] + list(r.offsets[1]) * len(r.offsets[0]) + list(r.offsets[2]))
    geometry = np.array([fields[name] for name in lower.FIELDS] + tables, np.int64)

    near = sw * xw if sw * xw in (1, 2) else 0
    key = f"conv/{r.elem}/{rows}x{vectors}x{lanes}/{near}/{'to' if scattered else 'flat'}/{epilogue.key}"
    kernel = native.kernel(key, lambda m, symbol: lower.forward(m, symbol, tile, epilogue, near, scattered))
    work = rows * panel * max_panels * max_tiles * max(steps, 1)
    grain = max(1, GRAIN * lanes // (work * 1), -(-units // threads))
    return Plan(kernel, units, grain, geometry, at * threads, out_shape)


def _bias_epilogue(bias):
    from whet.ir.scalar import arg
    from whet.passes.lower_llvm.conv import Epilogue
    return Epilogue(arg(0) + arg(1), ("channel",)) if bias else Epilogue(arg(0))


def _strides(shape):
    out, step = [], 1
    for n in reversed(shape):
        out.append(step)
        step *= n
    return tuple(reversed(out))


def _conv_plan(key, x, w, bias, stride, padding, dilation, groups):
    nd = x.ndim - 2
    out = out_sizes(x.shape[2:], w.shape[2:], stride, padding, dilation)
    shape = (x.shape[0], w.shape[0], *out)
    xs, ys = _elements(x), _strides(shape)
    offsets = tuple(tuple(k * d - p for k in range(n)) for n, d, p in zip(w.shape[2:], dilation, padding))
    r = Gathered(ELEM[x.dtype], groups, x.shape[1] // groups, w.shape[0] // groups, _three(x.shape[2:], 1),
                 (*xs[:2], *_three(xs[2:], 0)), x.shape[0], _three(out, 1), (*ys[:2], *_three(ys[2:], 0)),
                 _three(stride, 1), (*[(0,)] * (3 - nd), *offsets), math.prod(w.shape[1:]))
    return remember(key, gathered_plan(r, _bias_epilogue(bias), shape))


def conv(x, w, bias, stride, padding, dilation, groups):
    """y[n, o, p] = bias[o] + sum over (c, tap) of w[o, c, tap] * x[n, c, p * stride + tap * dilation - padding]."""
    key = ("conv", x.shape, x.strides, x.dtype, w.shape, stride, padding, dilation, groups, bias is None)
    plan = _plans.get(key)
    if plan is None:
        if x.dtype not in ELEM or REFERENCE:
            return _through(reference_conv if REFERENCE else conv, x, w, bias, stride, padding, dilation, groups)
        if _elements(x) is None:
            return conv(x.copy(), w, bias, stride, padding, dilation, groups)
        plan = _conv_plan(key, x, w, bias is not None, stride, padding, dilation, groups)
    if not w.flags.c_contiguous:
        w = np.ascontiguousarray(w)
    y = np.empty(plan.out, x.dtype)
    if plan.units:
        native.launch(plan.kernel, plan.units, plan.grain, x, w, y, scratch(plan.scratch), plan.geometry, bias)
    return y


def conv_input_grad(gy, w, x_shape, stride, padding, dilation, groups):
    """The gradient of `conv` with respect to x, of shape `x_shape`; also the transposed convolution of gy."""
    return reference_conv_input_grad(gy, w, x_shape, stride, padding, dilation, groups)


def conv_weight_grad(gy, x, w_shape, stride, padding, dilation, groups):
    """The gradient of `conv` with respect to w, of shape `w_shape`."""
    return reference_conv_weight_grad(gy, x, w_shape, stride, padding, dilation, groups)


def _through(f, x, w, bias, *attrs):
    """f on the types that have kernels of their own: 16-bit floats as f32, rounded once."""
    if wide(x.dtype) == x.dtype:
        return reference_conv(x, w, bias, *attrs)
    x32, w32, b32 = (a if a is None else a.astype(np.float32) for a in (x, w, bias))
    return f(x32, w32, b32, *attrs).astype(x.dtype)
