"""The plans of a convolution's gradients: with respect to its input and to its weight."""
import itertools
import math

import numpy as np

from . import native, thread_pool
from .conv_plan import (
    DEPTHWISE_ROWS,
    DEPTHWISE_TAPS,
    ELEM,
    HALF,
    dense,
    elements,
    gathered_plan,
    same_type,
    three,
)
from .depthwise_plan import depthwise_band
from .window_parts import Gathered, Plan, geometry_of, runs_bytes, scratch_layout, shares_of, split


def input_grad_plans(gy, w, x_shape, stride, padding, dilation, groups):
    """The plans of the runs that compute gx."""
    return [gathered_plan(r, None, x_shape) for r in input_grad_gathered(
        gy, w, x_shape, stride, padding, dilation, groups)]


def input_grad_gathered(gy, w, x_shape, stride, padding, dilation, groups):
    """The runs that compute gx: one for each residue of the pixel coordinates modulo the stride,
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
        r = Gathered(ELEM.get(gy.dtype, HALF), groups, opg,
                     cpg, three(gy.shape[2:], 1), (*gs[:2], *three(gs[2:], 0)), x_shape[0],
                     three(out, 1), (*xs[:2], *three([a * s for a, s in zip(xs[2:], stride)], 0)),
                     (1, 1, 1), (*[(0,)] *
                                 (3 - nd), *offsets), (opg * cpg * taps, taps, cpg * taps), listed)
        runs.append(r)
    return runs


def weight_grad_plan(gy, x, w_shape, stride, padding, dilation, groups):
    """The plan of the run that computes gw."""
    same_type("conv_weight_grad", gy, x)
    if (gy.shape[:2] != (x.shape[0], w_shape[0]) or x.shape[1] != w_shape[1] * groups
            or w_shape[0] % groups):
        raise RuntimeError(
            f"conv_weight_grad: gradient {gy.shape}, input {x.shape} and weight {w_shape} do not "
            f"fit with {groups} groups")
    if 0 in w_shape or 0 in gy.shape:
        return Plan(0, 0, 1, np.empty(0, np.int64), 0, w_shape)
    gradient = _WeightGradient(gy, x, w_shape, stride, padding, dilation, groups)
    if (w_shape[1] == 1 and gradient.outs <= DEPTHWISE_ROWS
            and 0 < gradient.steps <= DEPTHWISE_TAPS and gradient.pixels):
        plan = _depthwise_weight_grad_plan(gradient)
        if plan is not None:
            return plan
    return _contraction_plan(gradient)


class _WeightGradient:
    """The quantities from which the plans are made. Each group has `outs` output channels, each
    with weights for `steps` steps."""

    def __init__(self, gy, x, w_shape, stride, padding, dilation, groups):
        from whet.passes.lower_llvm.windows.conv import lanes_for
        nd = gy.ndim - 2
        self.w_shape, self.groups, self.images = w_shape, groups, gy.shape[0]
        self.elem, self.lanes = ELEM[gy.dtype], lanes_for(ELEM[gy.dtype])
        self.outs, self.steps = w_shape[0] // groups, math.prod(w_shape[1:])
        self.image = math.prod(gy.shape[2:])
        self.pixels = self.image * self.images
        self.x_strides, self.y_strides = elements(x), dense(gy.shape)
        self.x_size, self.y_size, self.stride = (three(x.shape[2:], 1), three(gy.shape[2:], 1),
                                                 three(stride, 1))
        self.offsets = (*[(0,)] * (3 - nd), *[
            tuple(k * d - p for k in range(n)) for n, d, p in zip(w_shape[2:], dilation, padding)])
        self.rowtaps, self.coltaps = (len(self.offsets[0]) * len(self.offsets[1]),
                                      len(self.offsets[2]))

    def fields(self):
        """The fields of the geometry that all plans have in common."""
        (d, h, w), (_, oh, ow), (sd, sh, sw) = self.x_size, self.y_size, self.stride
        (xn, xc, *xs), (yn, yo, *_) = self.x_strides, self.y_strides
        xd, xh, xw = three(xs, 0)
        return dict(pixels=self.pixels, image=self.image, oh=oh, ow=ow, d=d, h=h, w=w, sd=sd,
                    sh=sh, sw=sw, xn=xn, xg=xc * self.w_shape[1], xd=xd, xh=xh, xw=xw, yn=yn,
                    yo=yo, rowtaps=self.rowtaps, coltaps=self.coltaps)


def _contraction_plan(r):
    from whet.passes.lower_llvm.windows import conv, conv_weight_grad, window_tiles
    rows = conv.tile_rows(r.steps)
    vectors = 1 if r.outs <= r.lanes else 2
    tile = window_tiles.Tile(r.elem, rows, r.lanes, vectors)
    tiles, panels = -(-r.steps // rows), -(-r.outs // tile.panel)
    out_blocks, max_panels = split(panels, max(1, 256 // tile.panel))
    # even parts for the threads
    threads = thread_pool.get_num_threads()
    row_blocks = min(tiles, -(-threads // math.gcd(r.groups * out_blocks, threads)))
    max_tiles = -(-tiles // row_blocks)
    layout = _scratch(r, tile, max_panels, max_tiles)
    fields = r.fields()
    geometry = geometry_of(
        dict(fields, xc=r.x_strides[1], yg=r.y_strides[1] * r.outs, wg=r.outs * r.steps,
             wo=r.steps, rows=r.steps, outs=r.outs, panels=panels, pixel_blocks=out_blocks,
             row_blocks=row_blocks, tiles=tiles, max_panels=max_panels, max_tiles=max_tiles,
             **layout), r.offsets)
    apart = fields["sw"] * fields["xw"]
    near = apart if apart in (1, 2) else 0
    kernel = native.kernel(f"conv_weight_grad/{r.elem}/{rows}x{vectors}x{r.lanes}/{near}",
                           lambda m, symbol: conv_weight_grad.weight_grad(m, symbol, tile, near))
    units = r.groups * out_blocks * row_blocks
    grain, parts = shares_of(rows * tile.panel * max_panels * max_tiles * r.pixels, r.lanes, units,
                             threads)
    return Plan(kernel, units, grain, geometry, layout["scratch"] * parts, r.w_shape)


def _scratch(r, tile, max_panels, max_tiles):
    """The scratch memory of a thread, for units of so many panels and tiles; see
    `conv_weight_grad`."""
    from whet.passes.lower_llvm.windows.window_tiles import BYTES, KC
    size, square = BYTES[r.elem], tile.rows * tile.panel
    return scratch_layout(
        in_at=runs_bytes(KC, r.rowtaps + r.coltaps),
        out_at=runs_bytes(KC, 0),
        y_at=(max_panels * max_tiles if r.pixels > KC else 1) * square * size,
        b_at=max_panels * (KC + r.lanes) * tile.panel * size,
        a_at=tile.rows * (KC + 16) * size)


def _depthwise_weight_grad_plan(r):
    """None if a band of rows would take more scratch than it is worth."""
    from whet.passes.lower_llvm.windows import depthwise_weight_grad, window_tiles
    (xn, xc, *xs), outs = r.x_strides, r.w_shape[0]
    run = Gathered(r.elem, r.groups, 1, r.outs, r.x_size, (xn, xc, *three(xs, 0)), r.images,
                   r.y_size, (), r.stride, r.offsets, ())
    band = depthwise_band(run, r.lanes, window_tiles.BYTES[r.elem], r.steps)
    if band is None:
        return None
    fields = r.fields()
    geometry = geometry_of(
        dict(fields, outs=outs, steps=r.outs, rows=len(r.offsets[1]), **band), r.offsets)
    tile, near = window_tiles.Tile(r.elem, 1, r.lanes, 1), int(fields["xw"] == 1)
    units = -(-outs // r.lanes)
    kernel = native.kernel(
        f"conv_depthwise_weight_grad/{r.elem}/{r.lanes}/{r.steps}/{near}",
        lambda m, symbol: depthwise_weight_grad.weight_grad(m, symbol, tile, r.steps, near))
    grain, parts = shares_of(
        r.steps * r.lanes * r.pixels, r.lanes, units, thread_pool.get_num_threads())
    return Plan(kernel, units, grain, geometry, band["scratch"] * parts, r.w_shape)
