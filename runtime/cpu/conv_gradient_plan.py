"""The plans of a convolution's gradients: with respect to its input and to its weight."""
import itertools
import math

import numpy as np

from . import native, pool
from .conv_plan import (
    DEPTHWISE_ROWS,
    DEPTHWISE_TAPS,
    ELEM,
    dense,
    elements,
    gathered_plan,
    same_type,
    three,
)
from .depthwise_plan import depthwise_band
from .window_parts import Gathered, Plan, geometry_of, runs_bytes, scratch_layout, shares_of, split


def input_grad_plans(gy, w, x_shape, stride, padding, dilation, groups):
    """Plans of the runs that make gx."""
    return [gathered_plan(r, None, x_shape) for r in input_grad_gathered(
        gy, w, x_shape, stride, padding, dilation, groups)]


def input_grad_gathered(gy, w, x_shape, stride, padding, dilation, groups):
    """The runs that make gx: one for each remainder of the pixel coordinates by the stride, each
    with its own taps."""
    nd = gy.ndim - 2
    same_type("conv_input_grad", gy, w)
    if gy.shape[1] != w.shape[0] or x_shape[1] != w.shape[1] * groups or w.shape[0] % groups:
        raise RuntimeError(
            f"conv_input_grad: gradient {gy.shape}, weight {w.shape} and input {x_shape} do not "
            f"fit with {groups} groups")
    opg, cpg, kernel = w.shape[0] // groups, w.shape[1], w.shape[2:]
    gs, xs = elements(gy), dense(x_shape)
    taps = math.prod(kernel)
    runs = []
    for phase in np.ndindex(*stride):
        out = tuple(-(-(n - a) // s) if n > a else 0 for n, a, s in zip(x_shape[2:], phase, stride))
        picked = [[k for k in range(n) if (a + p - k * d) % s == 0]
                  for n, a, p, d, s in zip(kernel, phase, padding, dilation, stride)]
        offsets = [
            tuple((a + p - k * d) // s for k in ks)
            for ks, a, p, d, s in zip(picked, phase, padding, dilation, stride)]
        taps_at = [int(np.ravel_multi_index(t, kernel)) for t in itertools.product(*picked)]
        listed = () if opg == 1 and taps_at == list(range(taps)) else tuple(taps_at) or (0,)
        r = Gathered(ELEM[gy.dtype], groups, opg,
                     cpg, three(gy.shape[2:], 1), (*gs[:2], *three(gs[2:], 0)), x_shape[0],
                     three(out, 1), (*xs[:2], *three([a * s for a, s in zip(xs[2:], stride)], 0)),
                     (1, 1, 1), (*[(0,)] *
                                 (3 - nd), *offsets), (opg * cpg * taps, taps, cpg * taps), listed)
        runs.append(r)
    return runs


def weight_grad_plan(gy, x, w_shape, stride, padding, dilation, groups):
    from whet.passes.lower_llvm.windows import conv as lower
    from whet.passes.lower_llvm.windows import window_tiles
    same_type("conv_weight_grad", gy, x)
    if (gy.shape[:2] != (x.shape[0], w_shape[0]) or x.shape[1] != w_shape[1] * groups
            or w_shape[0] % groups):
        raise RuntimeError(
            f"conv_weight_grad: gradient {gy.shape}, input {x.shape} and weight {w_shape} do not "
            f"fit with {groups} groups")
    if 0 in w_shape or 0 in gy.shape:
        return Plan(0, 0, 1, np.empty(0, np.int64), 0, w_shape)
    nd, threads = gy.ndim - 2, pool.get_num_threads()
    elem, lanes = ELEM[gy.dtype], lower.lanes_for(ELEM[gy.dtype])
    outs, rows_all, image = w_shape[0] // groups, math.prod(w_shape[1:]), math.prod(gy.shape[2:])
    xs, ys = elements(x), dense(gy.shape)
    if (w_shape[1] == 1 and outs <= DEPTHWISE_ROWS and 0 < rows_all <= DEPTHWISE_TAPS
            and image * gy.shape[0]):
        plan = _depthwise_weight_grad_plan(gy, x, w_shape, stride, padding, dilation, groups)
        if plan is not None:
            return plan
    rows = lower.tile_rows(rows_all)
    tiles = -(-rows_all // rows)
    vectors = 1 if outs <= lanes else 2
    tile = window_tiles.Tile(elem, rows, lanes, vectors)
    size, panel = window_tiles.BYTES[elem], tile.panel
    panels = -(-outs // panel)
    out_blocks, max_panels = split(panels, max(1, 256 // panel))
    # even parts for the threads
    row_blocks = min(tiles, -(-threads // math.gcd(groups * out_blocks, threads)))
    max_tiles = -(-tiles // row_blocks)
    units = groups * out_blocks * row_blocks
    offsets: tuple[tuple[int, ...], ...] = tuple(
        tuple(k * d - p for k in range(n)) for n, d, p in zip(w_shape[2:], dilation, padding))
    offsets = (*[(0,)] * (3 - nd), *offsets)
    rowtaps, coltaps = len(offsets[0]) * len(offsets[1]), len(offsets[2])
    layout = scratch_layout(
        in_at=runs_bytes(window_tiles.KC, rowtaps + coltaps),
        out_at=runs_bytes(window_tiles.KC, 0),
        y_at=(max_panels * max_tiles if image * gy.shape[0] > window_tiles.KC else 1) * rows * panel
        * size,
        b_at=max_panels * (window_tiles.KC + lanes) * panel * size,
        a_at=rows * (window_tiles.KC + 16) * size)
    (d, h, w), (_, oh, ow), (sd, sh,
                             sw) = (three(x.shape[2:], 1), three(gy.shape[2:], 1), three(stride, 1))
    xd, xh, xw = three(xs[2:], 0)
    geometry = geometry_of(
        dict(pixels=image * gy.shape[0], image=image, oh=oh, ow=ow, d=d, h=h, w=w, sd=sd, sh=sh,
             sw=sw, xn=xs[0], xg=xs[1] * w_shape[1], xc=xs[1], xd=xd, xh=xh, xw=xw, yn=ys[0],
             yg=ys[1] * outs, yo=ys[1], wg=outs * rows_all, wo=rows_all, rows=rows_all, outs=outs,
             rowtaps=rowtaps, coltaps=coltaps, panels=panels, pixel_blocks=out_blocks,
             row_blocks=row_blocks, tiles=tiles, max_panels=max_panels, max_tiles=max_tiles,
             **layout), offsets)
    near = sw * xw if sw * xw in (1, 2) else 0
    kernel = native.kernel(f"conv_weight_grad/{elem}/{rows}x{vectors}x{lanes}/{near}",
                           lambda m, symbol: lower.weight_grad(m, symbol, tile, near))
    grain, parts = shares_of(rows * panel * max_panels * max_tiles * image * gy.shape[0], lanes,
                           units, threads)
    return Plan(kernel, units, grain, geometry, layout["scratch"] * parts, w_shape)


def _depthwise_weight_grad_plan(gy, x, w_shape, stride, padding, dilation, groups):
    """None if a band of rows would take more scratch than it is worth."""
    from whet.passes.lower_llvm.windows import conv as lower
    from whet.passes.lower_llvm.windows import depthwise, window_tiles
    nd, threads = gy.ndim - 2, pool.get_num_threads()
    elem, taps, image = ELEM[gy.dtype], math.prod(w_shape[2:]), math.prod(gy.shape[2:])
    lanes, size = lower.lanes_for(elem), window_tiles.BYTES[elem]
    offsets = ((*[(0,)] * (3 - nd), *[
        tuple(k * d - p for k in range(n)) for n, d, p in zip(w_shape[2:], dilation, padding)]))
    xs, ys = elements(x), dense(gy.shape)
    xd, xh, xw = three(xs[2:], 0)
    r = Gathered(elem, groups, 1, w_shape[0] // groups, three(x.shape[2:], 1),
                 (*xs[:2], xd, xh, xw), x.shape[0], three(gy.shape[2:], 1), (), three(stride, 1),
                 offsets, ())
    band = depthwise_band(r, lanes, size, taps)
    if band is None:
        return None
    (d, h, w), (_, oh, ow), (sd, sh, sw) = r.x_size, r.out, r.stride
    geometry = geometry_of(
        dict(pixels=image * gy.shape[0], image=image, oh=oh, ow=ow, d=d, h=h, w=w, sd=sd, sh=sh,
             sw=sw, xn=xs[0], xg=xs[1], xd=xd, xh=xh, xw=xw, yn=ys[0], yo=ys[1], outs=w_shape[0],
             steps=r.rows, rows=len(offsets[1]), rowtaps=len(offsets[0]) * len(offsets[1]),
             coltaps=len(offsets[2]), **band), offsets)
    tile, near, units = (window_tiles.Tile(elem, 1, lanes,
                                           1), 1 if xw == 1 else 0, -(-w_shape[0] // lanes))
    kernel = native.kernel(f"conv_depthwise_weight_grad/{elem}/{lanes}/{taps}/{near}",
                           lambda m, symbol: depthwise.weight_grad(m, symbol, tile, taps, near))
    grain, parts = shares_of(taps * lanes * image * gy.shape[0], lanes, units, threads)
    return Plan(kernel, units, grain, geometry, band["scratch"] * parts, w_shape)
