"""Plans convolutions: which kernel, over how many units, with which geometry and how much scratch.

A plan depends on shapes, strides and the number of threads. No result depends on the number of
threads."""
import itertools
import math
import threading

import numpy as np

from ..ir.outline import table
from ..ir.symbolic_size import at_least, at_most, for_now, sized
from . import memory, native, taped_launches, thread_pool
from .depthwise_plan import band_run, depthwise_band, few_run, filled, plane_line, planes_plan
from .window_geometry import out_sizes
from .window_parts import (
    Gathered,
    Pack,
    Plan,
    geometry_of,
    runs_bytes,
    scratch_layout,
    shares_of,
    split,
)

ELEM = {np.dtype(np.float32): "float", np.dtype(np.float64): "double"}
HALF = "half"                       # what devices take as it is, and the CPU as floats
PLANS = 4096                   # kept at most; then all are forgotten
# with more taps or outputs per group they run as other convolutions do
DEPTHWISE_TAPS, DEPTHWISE_ROWS = 64, 4
# bytes for the transformed pixels of a unit: they and weights that go by stay in the second-level
# cache
WINOGRAD_SCRATCH = 1 << 17
# vectors of channels in a register tile, pixels of a unit
TURNED_VECTORS, TURNED_PIXELS = 2, 256
PLANES_SCRATCH = 1 << 18       # bytes for the rows that a band of outputs reads
TRANSFORM = 14                 # such rows for the transform of pixels by Winograd's method
# rows of a register tile whose products take as long as copying the pixels under a step's tap
COPY = 5
# the same where neighbouring outputs read pixels that lie further apart than every other one
COPY_APART = 25

known: dict = {}                # key -> Plan or what else a call needs
_local = threading.local()


def scratch(size):
    """Memory of at least `size` bytes, aligned to 64, that this thread may use until it asks
    again."""
    found = memory.scratch(size, getattr(_local, "memory", None))
    if type(found) is np.ndarray:
        _local.memory = found
    taped_launches.scratch(found, size)
    return found


def remember(key, plan):
    if len(known) >= PLANS:
        known.clear()
    known[key] = plan
    return plan


def three(values, fill):
    """Spatial sizes or strides as (depth, height, width)."""
    return (*[fill] * (3 - len(values)), *values)


def elements(a):
    """Strides in elements; None where they are no multiple of one."""
    size = a.itemsize
    return None if any(s % size for s in a.strides) else tuple(s // size for s in a.strides)


def _flat_pixels(r):
    """Treat an image as one row of pixels, if it has a single tap on the pixel itself and its
    strides allow it."""
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


def _cut(panels, most_panels, tiles, most_tiles, rows, others, threads, last=1.0, copy=COPY,
         by_rows=False):
    """(blocks of panels, blocks of tiles) that respect the size limits and minimise the work of the
    busiest thread.

    A unit is `rows` of work for each of its panels and tiles, and copies the pixels of its panels,
    which takes as long as the work for `copy` rows; the last panel is `last` of one. There are
    `others` for each two blocks. `by_rows`: in the order that `runs.blocks` means by that.
    """
    fewest = split(panels, most_panels)[0], split(tiles, most_tiles)[0]
    if threads == 1 or for_now(others * fewest[0] * fewest[1]) >= 32 * threads:
        return fewest
    even = [at_most(n, -(-few // threads) * threads) for n, few in zip((panels, tiles), fewest)]

    def longest(blocks):
        across, down = (np.diff(np.arange(b + 1.0) * n // b)
                        for n, b in zip(map(for_now, (panels, tiles)), map(for_now, blocks)))
        across[-1] -= 1 - last
        work = across[:, None] * (down * rows + copy)
        work = np.tile((work.T if by_rows else work).ravel(), for_now(others))
        parts = min(threads, len(work))
        each, over = divmod(len(work), parts)                    # as the pool has it
        return (max(np.add.reduceat(work, [i * each + min(i, over)
                                           for i in range(parts)])),
                for_now(blocks[0] * blocks[1]))
    finest = [panels] if for_now(panels) < 8 * threads else []
    return min(
        itertools.product(each_once([fewest[0], even[0], *finest]),
                          each_once([fewest[1], even[1]])),
        key=longest)


def each_once(sizes):
    """Sizes, of those that are equal for now the first."""
    return [*{for_now(n): n for n in reversed(sizes)}.values()][::-1]


def _finer(blocks, panels, tiles, rows, others, threads, last):
    """Smaller blocks, if threads have few units each. With more units a slow or busy thread takes
    fewer of them, and the others wait less for the last one. This is for kernels that go `by_rows`:
    neighbouring units share weights in the cache."""
    if threads == 1 or for_now(others * blocks[0] * blocks[1]) >= 8 * threads:
        return blocks
    if sized((*blocks, panels, tiles, others)):
        finer = _finer([*map(for_now, blocks)], for_now(panels), for_now(tiles), rows,
                       for_now(others), threads, last)
        return [at_least(b, at_most(n, most))
                for b, n, most in zip(blocks, finer, (panels, tiles))]

    def time(cut):
        across, down = (-(-n // b) for n, b in zip((panels, tiles), cut))
        return (((panels - 1 + last) * (tiles * rows + cut[1] * COPY) * others / threads + across *
                 (down * rows + COPY), cut[0] * cut[1]))
    # Copied pixels are worth a few rows.
    downs = range(blocks[1], max(blocks[1], min(tiles * rows // 24, 8 * threads)) + 1)
    return min(((across, down) for down in downs for across in {
        blocks[0], max(blocks[0], min(panels, -(-16 * threads // (others * down))))}),
               key=time)


def _last(pixels, tile):
    """The size of the last panel relative to a full one. If its pixels fit into one vector, only
    that is computed."""
    return 1 / tile.vectors if 0 < pixels % tile.panel <= tile.lanes else 1.0


def _whole(pixels, lanes):
    """Pixels in whole vectors (see `_last`)."""
    return -(-pixels // lanes) * lanes


def gathered_plan(r, epilogue, out_shape, kept=False):
    """The plan of a `Gathered` run; an epilogue of None stores the sums. `kept`: weights are
    packed once for many calls."""
    from whet.passes.lower_llvm.windows import conv as lower
    from whet.passes.lower_llvm.windows import window_tiles
    from whet.passes.lower_llvm.windows.epilogue import SUMS
    if 0 in (*r.out, r.images, r.groups, r.rows):
        return Plan(0, 0, 1, np.empty(0, np.int64), 0, out_shape)
    epilogue = epilogue or SUMS
    if winograd_pays(r):
        if r.x_strides[-1] != 1:                                 # the call copies such an x
            r.x_strides = dense((r.images, r.groups * r.channels, *r.x_size))
        return winograd_plan(r, epilogue, out_shape)
    r = _flat_pixels(r)
    threads = thread_pool.get_num_threads()
    (od, oh, ow), (d, h, w), (sd, sh, sw) = r.out, r.x_size, r.stride
    xn, xc, xd, xh, xw = r.x_strides
    yn, yo, yd, yh, yw = r.out_strides
    image = od * oh * ow
    pixels, lanes = r.images * image, lower.lanes_for(r.elem)
    rowtaps, coltaps = len(r.offsets[0]) * len(r.offsets[1]), len(r.offsets[2])
    steps = r.channels * rowtaps * coltaps
    size = window_tiles.BYTES[r.elem]
    near = sw * xw if sw * xw in (1, 2) else 0
    flat = yw == 1 and (od == 1 or yd == oh * ow) and (oh == 1 or yh == ow)
    far = 1 if flat else 2 if yw == 2 else 0
    fields = dict(pixels=pixels, image=image, oh=oh, ow=ow, d=d, h=h, w=w, sd=sd, sh=sh, sw=sw,
                  xn=xn, xg=xc * r.channels, xc=xc, xd=xd, xh=xh, xw=xw, yn=yn, yg=yo * r.rows,
                  yo=yo, yd=yd, yh=yh, yw=yw, wg=r.w_strides[0], wo=r.w_strides[1],
                  wk=r.w_strides[2], rows=r.rows, outs=r.rows * r.groups, rowtaps=rowtaps,
                  coltaps=coltaps, steps=steps, channels=r.channels)
    how = f"{'listed' if r.taps_at else 'rows'}/{far}/{epilogue.key}"
    if r.channels == 1 and r.rows <= DEPTHWISE_ROWS and 1 <= steps <= DEPTHWISE_TAPS:
        found = planes_plan(r, lanes, threads, epilogue, out_shape)
        if found is not None:
            return found
        band = depthwise_band(r, lanes, size, steps) if 2 * fields["outs"] >= lanes else None
        run = band_run if band else few_run
        kernel, units, work = run(r, fields, band, lanes, threads, how, epilogue, near, far)
    else:
        rows = turned_rows(r, pixels, lanes) if kept and far == 1 and not r.taps_at else None
        if rows:
            return _turned_plan(r, fields, lanes, threads, rows, epilogue, near, out_shape)
        band = planes_band(r, lanes, threads) if xw == 1 else None
        if band:
            return _planes_plan(r, band, lanes, threads, epilogue, out_shape)
        kernel, units, work = _contraction(r, fields, lanes, threads, how, epilogue, near, far)
    grain, parts = shares_of(work, lanes, units, threads)
    return Plan(kernel, units, grain, geometry_of(fields, r.offsets, r.taps_at),
                fields["scratch"] * parts, out_shape)


def _contraction(r, fields, lanes, threads, how, epilogue, near, far):
    """The plan as a contraction, which works for any convolution."""
    from whet.passes.lower_llvm.windows import conv as lower
    from whet.passes.lower_llvm.windows import window_tiles
    pixels, size, rows = fields["pixels"], window_tiles.BYTES[r.elem], lower.tile_rows(r.rows)
    tiles = -(-r.rows // rows)
    now = for_now(pixels)
    vectors = 1 if now <= lanes else 4 if rows < 4 and now > 2 * lanes else 2
    tile = window_tiles.Tile(r.elem, rows, lanes, vectors, bool(r.taps_at))
    panel = tile.panel
    panels = -(-pixels // panel)
    last = _last(now, tile)
    pixel_blocks, row_blocks = _finer(
        _cut(panels, max(1, 128 // panel), tiles, max(1, 512 // rows), rows, r.groups, threads,
             last, by_rows=True), panels, tiles, rows, r.groups, threads, last)
    max_panels, max_tiles = -(-panels // pixel_blocks), -(-tiles // row_blocks)
    limit, taps = max_panels * panel, fields["rowtaps"] + fields["coltaps"]
    fields.update(
        scratch_layout(
            in_at=runs_bytes(limit, taps), out_at=runs_bytes(limit, 0),
            list_at=window_tiles.KC * 8, tap_at=fields["rowtaps"] * fields["coltaps"] * 8, y_at=(
                (max_panels * max_tiles if fields["steps"] > window_tiles.KC else 1) * rows * panel
                + lanes) * size, b_at=max_panels * window_tiles.KC * panel * size), panels=panels,
        pixel_blocks=pixel_blocks, row_blocks=row_blocks, tiles=tiles, max_panels=max_panels,
        max_tiles=max_tiles)
    kernel = native.kernel(f"conv/{r.elem}/{rows}x{vectors}x{lanes}/{near}/{how}",
                           lambda m, symbol: lower.forward(m, symbol, tile, epilogue, near, far))
    return (kernel, r.groups * pixel_blocks * row_blocks,
            rows * panel * max_panels * max_tiles * fields["steps"])


def planes_band(r, lanes, threads):
    """The number of output rows of a unit of `lower_llvm.planes`; None if that does not pay, or
    leaves some threads without work."""
    from whet.passes.lower_llvm.windows import conv as lower
    from whet.passes.lower_llvm.windows import few_channels, window_tiles
    (od, oh, ow), (_, sh, sw), (depth, height, width) = r.out, r.stride, r.offsets
    if not (r.channels and depth and height and width and sw in few_channels.STRIDES):
        return None
    line, span = _plane_line(r, lanes), max(height) - min(height) + 1
    # rows of the planes
    tall = PLANES_SCRATCH // (r.channels * len(depth) * sw * line * window_tiles.BYTES[r.elem])
    band = at_most((tall - span) // sh + 1, oh)
    high = few_channels.registers_for(r.rows)[0]
    if for_now(band) < 1 or for_now(r.groups * r.images * od * oh) * -(-r.rows // high) < threads:
        return None
    # of a pixel, for one under each tap
    now = for_now(band)
    copies = sw * ((now - 1) * sh + span) / (len(height) * len(width) * now)
    tiled, here = (-(-r.rows // n) * n for n in (lower.tile_rows(r.rows), high))
    usual = for_now(_whole(r.images * od * oh * ow, lanes)) * (
        tiled + (COPY if sw <= 2 else COPY_APART))
    pays = for_now(r.images * od * oh * -(-ow // lanes)) * lanes * (here + COPY * copies) < usual
    return at_least(band, 1) if pays else None


def _plane_line(r, lanes):
    """Columns of a row of a plane."""
    *_, width = r.offsets
    return plane_line(r.out[2], min(width), max(width), r.stride[2], lanes)


def _planes_plan(r, band, lanes, threads, epilogue, out_shape):
    from whet.passes.lower_llvm.windows import few_channels, window_tiles
    (od, oh, ow), (d, h, w), (sd, sh, sw), offsets = r.out, r.x_size, r.stride, r.offsets
    depth, height, width = offsets
    (xn, xc, xd, xh, _), (yn, yo, yd, yh, yw) = r.x_strides, r.out_strides
    size, top, left, line = (window_tiles.BYTES[r.elem], min(height), min(width),
                             _plane_line(r, lanes))
    rows, across = few_channels.registers_for(r.rows)
    tile, far = (window_tiles.Tile(r.elem, rows, lanes, across,
                                   bool(r.taps_at)), yw if yw in (1, 2) else 0)
    others, tiles, planes = r.groups * r.images * od, -(-r.rows // rows), len(depth)
    bands, row_blocks = _cut(oh, band, tiles, tiles, rows, others, threads)
    units = others * bands * row_blocks
    band = -(-oh // bands)
    band_rows, vectors = (band - 1) * sh + max(height) - top + 1, -(-ow // lanes)
    fill = filled(vectors, (max(width) - left) // sw, lanes)
    layout = scratch_layout(in_at=r.channels * planes * band_rows * sw * line * size, out_at=3 * 8 *
                     (band * vectors + across), y_at=rows * tile.panel * size)
    fields = dict(images=r.images, od=od, oh=oh, ow=ow, d=d, h=h, w=w, sd=sd, sh=sh, left=left,
                  top=top, xn=xn, xg=xc * r.channels, xc=xc, xd=xd, xh=xh, yn=yn, yg=yo * r.rows,
                  yo=yo, yd=yd, yh=yh, yw=yw, wg=r.w_strides[0], wo=r.w_strides[1], rows=r.rows,
                  steps=r.channels * planes * len(height) * len(width), channels=r.channels,
                  planes=planes, tiles=tiles, row_blocks=row_blocks, band=band, bands=bands,
                  band_rows=band_rows, line=line, vectors=vectors, fill=fill, **layout)
    away = [((plane * band_rows + i - top) * sw + (j - left) % sw) * line + (j - left) // sw
            for plane in range(r.channels * planes) for i in height for j in width]
    places = np.arange(r.channels)[:, None] * r.w_strides[2] + np.array(r.taps_at, np.int64)
    form = "listed" if r.taps_at else "rows"
    kernel = native.kernel(
        f"conv_planes/{r.elem}/{rows}x{across}x{lanes}/{sw}/{far}/{form}/{epilogue.key}",
        lambda m, symbol: few_channels.forward(m, symbol, tile, epilogue, sw, far))
    grain, parts = shares_of(band * vectors * lanes * r.rows * fields["steps"] // row_blocks, lanes,
                           units, threads)
    geometry = table([*(fields[name] for name in few_channels.FIELDS), *depth, *away,
                      *places.ravel().tolist()])
    return Plan(kernel, units, grain, geometry, layout["scratch"] * parts, out_shape)


def turned_rows(r, pixels, lanes):
    """The number of pixels of a register tile for a convolution by `lower_llvm.turned`; None if
    that does not pay."""
    from whet.passes.lower_llvm.windows import conv as lower
    most = 14 if lower.tile_rows(12) == 12 else 6
    pixels, panel = for_now(pixels), TURNED_VECTORS * lanes
    rows = min(range(most, most // 2, -1), key=lambda n: -(-pixels // n) * (n + 0.25))
    wasted = -(-pixels // rows) * rows * -(-r.rows // panel) * panel
    usual = lower.tile_rows(r.rows)
    return (rows if r.channels
            and 1.05 * wasted < _whole(pixels, lanes) * -(-r.rows // usual) * usual else None)


def _turned_plan(r, fields, lanes, threads, rows, epilogue, near, out_shape):
    from whet.passes.lower_llvm.windows import reordered_weights, window_tiles
    size, tile = window_tiles.BYTES[r.elem], window_tiles.Tile(r.elem, rows, lanes, TURNED_VECTORS)
    panels, tiles = -(-fields["pixels"] // rows), -(-r.rows // tile.panel)
    pixel_blocks, row_blocks = _cut(panels, max(1, TURNED_PIXELS // rows), tiles,
                                    max(1, 512 // tile.panel), rows, r.groups, threads,
                                    by_rows=True)
    max_panels, max_tiles = -(-panels // pixel_blocks), -(-tiles // row_blocks)
    limit, taps, padded = (max_panels * rows, fields["rowtaps"] + fields["coltaps"],
                           -(-fields["steps"] // lanes) * lanes)
    fields.update(
        scratch_layout(
            in_at=runs_bytes(limit, taps), out_at=runs_bytes(limit, 0),
            tap_at=fields["rowtaps"] * fields["coltaps"] * 8, a_at=lanes * lanes * size,
            y_at=(max_tiles if fields["steps"] > window_tiles.KC else 1) *
            (limit + lanes) * tile.panel * size, b_at=(limit * window_tiles.KC + lanes) * size),
        panels=panels, pixel_blocks=pixel_blocks, row_blocks=row_blocks, tiles=tiles,
        max_panels=max_panels, max_tiles=max_tiles, wk=padded,
        wg=tiles * TURNED_VECTORS * padded * lanes)
    group, row, _ = r.w_strides
    kernel = native.kernel(
        f"conv_turned/{r.elem}/{rows}x{TURNED_VECTORS}x{lanes}/{near}/{epilogue.key}",
        lambda m, symbol: reordered_weights.forward(m, symbol, tile, epilogue, near))
    pack = native.kernel(f"conv_turned_weights/{r.elem}/{lanes}",
                         lambda m, symbol: reordered_weights.weights(m, symbol, tile))
    vectors = tiles * TURNED_VECTORS
    units = r.groups * pixel_blocks * row_blocks
    grain, parts = shares_of(limit * max_tiles * tile.panel * fields["steps"], lanes, units,
                             threads)
    return Plan(
        kernel, units, grain, geometry_of(fields, r.offsets), fields["scratch"] * parts, out_shape,
        Pack(pack, r.groups * vectors, max(1, (1 << 14) // padded),
             (r.rows, vectors, fields["steps"], padded, row, group),
             r.groups * vectors * padded * lanes))


def winograd_pays(r):
    """Whether a convolution is done by Winograd's method: a matter of its shape alone, whatever the
    number of images.

    Of fewer pixels one image would pay less than transforming the weights costs. Half-filled tiles
    waste. A plane's taps are all of the kernel's there, and its outputs side by side: in the
    gradient of a convolution with strides, a run has some of the taps, or makes every second
    output.
    """
    depth, rows, cols = r.offsets
    od, oh, ow = r.out
    if (r.elem != "float" or r.stride[1:] != (1, 1) or not depth
            or r.taps_at not in ((), tuple(a + k for a in r.taps_at[::9] for k in range(9)))
            or r.out_strides[3:] != (ow, 1) or len(rows) != 3 or len(cols) != 3
            or {rows[1] - rows[0], rows[2] - rows[1], cols[1] - cols[0], cols[2] - cols[1]
                } not in ({1}, {-1})):
        return False
    pixels, tiles = oh * ow, -(-oh // 2) * -(-ow // 2)
    return min(r.channels, r.rows) >= 16 and od * pixels >= 49 and 400 * tiles <= 135 * pixels


def winograd_plan(r, epilogue, out_shape):
    """The plan of a `Gathered` run with 3x3 taps in each plane and x's pixels side by side, by
    Winograd's method."""
    from whet.passes.lower_llvm.windows import conv as lower
    from whet.passes.lower_llvm.windows import window_tiles, winograd
    threads, lanes, size = (thread_pool.get_num_threads(), lower.lanes_for(r.elem),
                            window_tiles.BYTES[r.elem])
    (od, oh, ow), (d, h, w) = r.out, r.x_size
    xn, xc, xd, xh, _ = r.x_strides
    yn, yo, yd, *_ = r.out_strides
    depth, turned = r.offsets[0], r.offsets[1][0] > r.offsets[1][1]
    top, left = (min(a) for a in r.offsets[1:])
    th, tw = -(-oh // 2), -(-ow // 2)
    pixels, steps = r.images * od * th * tw, r.channels * len(depth)
    rows = lower.tile_rows(r.rows)
    tiles = -(-r.rows // rows)
    tile, line = (window_tiles.Tile(r.elem, rows, lanes,
                                    1 if for_now(pixels) <= lanes else 2), steps + winograd.PAD)
    panel = tile.panel
    panels = -(-pixels // panel)
    pixel_blocks, row_blocks = _cut(panels,
                                    max(1, WINOGRAD_SCRATCH // (16 * steps * panel * size)),
                                    tiles, tiles, rows, r.groups, threads,
                                    _last(for_now(pixels), tile), TRANSFORM)
    max_panels = -(-panels // pixel_blocks)
    limit = max_panels * panel
    layout = scratch_layout(in_at=runs_bytes(limit, 4 * len(depth) + 2) + limit * 16,
                     a_at=panel * 16 * lanes * size,
                     y_at=(max_panels * 16 * rows * panel + lanes) * size,
                     b_at=max_panels * 16 * (steps + 1) * panel * size)
    geometry = geometry_of(
        dict(pixels=pixels, image=od * th * tw, oh=th, ow=tw, d=d, h=h, w=w, sd=r.stride[0], sh=2,
             sw=2, xn=xn, xg=xc * r.channels, xc=xc, xd=xd, xh=xh, xw=1, yn=yn, yg=yo * r.rows,
             yo=yo, yd=yd, yh=2 * ow, yw=2, wg=16 * tiles * rows * line, rows=r.rows,
             rowtaps=4 * len(depth), coltaps=2, steps=steps, channels=r.channels, panels=panels,
             pixel_blocks=pixel_blocks, row_blocks=row_blocks, tiles=tiles, max_panels=max_panels,
             band_rows=oh, band_cols=ow, **layout),
        (depth, range(top, top + 4), (left, left + 2)))
    kernel = native.kernel(f"conv_winograd/{r.elem}/{rows}x{tile.vectors}x{lanes}/{epilogue.key}",
                           lambda m, symbol: winograd.forward(m, symbol, tile, epilogue))
    pack = native.kernel(f"conv_winograd_weights/{r.elem}/{rows}/{lanes}/{turned}",
                         lambda m, symbol: winograd.weights(m, symbol, tile, turned))
    units = r.groups * pixel_blocks * row_blocks
    work = 16 * rows * panel * max_panels * tiles // row_blocks * steps
    grain, parts = shares_of(work, lanes, units, threads)
    numbers = (r.rows, tiles, r.channels, len(depth), *r.w_strides, *_planes_at(r))
    return Plan(
        kernel, units, grain, geometry, layout["scratch"] * parts, out_shape,
        Pack(pack, r.groups * tiles * rows, max(1, 4096 // steps), numbers,
             16 * r.groups * tiles * rows * line))


def _planes_at(r):
    """The offset of the first plane of 3x3 taps in the weights, and the distance to the next
    one."""
    first, second = ((*r.taps_at[::9], 0) if r.taps_at else (0, 9))[:2]
    return first, second - first


def dense(shape):
    out, step = [], 1
    for n in reversed(shape):
        out.append(step)
        step *= n
    return tuple(reversed(out))


def conv_plan(x, w, epilogue, stride, padding, dilation, groups, kept=False):
    """The plan of a convolution of f32 or f64 arrays of these shapes and strides (their values do
    not matter).

    Its kernel's arguments: x, w (packed by `plan.pack`, if there is one), the result, scratch,
    geometry, the epilogue's operands.
    """
    r, shape = conv_gathered(x, w, stride, padding, dilation, groups)
    return gathered_plan(r, epilogue, shape, kept)


def conv_gathered(x, w, stride, padding, dilation, groups):
    """(a convolution as one `Gathered`, the shape of its result)"""
    nd = x.ndim - 2
    shape = conv_shape(x, w, stride, padding, dilation, groups)
    _, _, *out = shape
    xs, ys = elements(x), dense(shape)
    offsets = tuple(
        tuple(k * d - p for k in range(n)) for n, d, p in zip(w.shape[2:], dilation, padding))
    r = Gathered(
        ELEM.get(x.dtype, HALF), groups, x.shape[1] // groups, w.shape[0] // groups,
        three(x.shape[2:], 1),
        (*xs[:2], *three(xs[2:], 0)), x.shape[0], three(out, 1), (*ys[:2], *three(ys[2:], 0)),
        three(stride, 1), (*[(0,)] * (3 - nd), *offsets),
        tuple(
            math.prod(a) for a in ((w.shape[0] // groups, *w.shape[1:]), w.shape[1:], w.shape[2:])))
    return r, shape


def conv_shape(x, w, stride, padding, dilation, groups):
    """The shape of a convolution's result."""
    same_type("conv", x, w)
    if x.shape[1] != w.shape[1] * groups or w.shape[0] % groups:
        raise RuntimeError(
            f"conv: input {x.shape} and weight {w.shape} do not fit with {groups} groups")
    return (x.shape[0], w.shape[0],
            *out_sizes(x.shape[2:], w.shape[2:], stride, padding, dilation))


def same_type(name, a, b):
    """Raise if two operands have different types: kernels read both as one type."""
    if a.dtype != b.dtype:
        raise RuntimeError(f"{name}: operands of one type expected, got {a.dtype} and {b.dtype}")
