"""The plans of convolutions of one input channel per group.

With a vector of channels where there are many (`_depthwise_band`), else with one of neighbouring
pixels: in planes with their padding (`planes_plan`), or with the lanes that are inside the image
under each tap (`_depthwise_few`).
"""
from ..ir.outline import table
from ..ir.symbolic_size import at_least, at_most, for_now
from . import native
from .window_parts import Plan, runs_bytes, scratch_layout, shares_of, split

PLANE_SCRATCH = 1 << 15        # bytes for the rows of a channel that a band of outputs reads
WIDE = 3                       # vectors in a row from which they pay beside vectors of channels


def depthwise_band(r, lanes, size, taps):
    """Fields for a depthwise kernel's bands: max_tiles rows of outputs and what they read; None
    if that takes too much scratch."""
    depth, height, width = r.offsets
    _, oh, ow = r.out
    _, sh, sw = r.stride
    cols = (ow - 1) * sw + max(width) - min(width) + 1
    span = max(height) - min(height) + 1                         # rows under one window
    outputs = at_least(at_most((4096 // cols - span) // sh + 1, oh), 1)
    rows = (outputs - 1) * sh + span
    fields = scratch_layout(in_at=(len(depth) * rows * cols + lanes + 4 * sw) * lanes * size,
                     out_at=(ow + lanes + 4) * lanes * size,
                     y_at=(taps + lanes) * lanes * size,
                     b_at=(taps + lanes) * lanes * size)
    if fields["scratch"] > 16 << 20:
        return None
    return {
        **fields, "band_rows": rows, "band_cols": cols, "left": min(width), "top": min(height),
        "bottom": max(height), "max_tiles": outputs}


def band_run(r, fields, band, lanes, threads, how, epilogue, near, far):
    """(kernel, units, work of a unit) with a vector of channels; completes the fields."""
    from whet.passes.lower_llvm.windows import depthwise, window_tiles
    taps, panels, oh = fields["steps"], -(-fields["outs"] // lanes), fields["oh"]
    others = panels * r.images * r.out[0]
    while (threads > 1 and for_now(-(-oh // band["max_tiles"]) * others) < 2 * threads
           and for_now(band["max_tiles"]) > 8):
        # a band for every thread, if there are so few units
        band["max_tiles"] = -(-band["max_tiles"] // 2)
    row_blocks = -(-oh // band["max_tiles"])
    fields.update(band, steps=r.rows, rows=len(r.offsets[1]), panels=panels, row_blocks=row_blocks)
    tile, near = window_tiles.Tile(r.elem, 1, lanes, 2, bool(r.taps_at)), int(r.x_strides[-1] == 1)
    kernel = native.kernel(
        f"conv_depthwise/{r.elem}/{lanes}/{taps}/{near}/{how}",
        lambda m, symbol: depthwise.forward(m, symbol, tile, taps, epilogue, near, far))
    return kernel, row_blocks * others, band["max_tiles"] * fields["ow"] * taps * lanes


def few_run(r, fields, _, lanes, threads, how, epilogue, near, far):
    """(kernel, units, work of a unit) with a vector of neighbouring pixels: for few channels, or if
    a band would not fit. Completes the fields."""
    from whet.passes.lower_llvm.windows import depthwise, window_tiles
    taps, outs = fields["steps"], fields["outs"]
    tile = window_tiles.Tile(r.elem, 1, lanes, 2, bool(r.taps_at))
    panels = -(-fields["pixels"] // tile.panel)
    pixel_blocks, max_panels = split(panels, max(1, 1024 // tile.panel))
    row_blocks = at_most(-(-threads * 4 // pixel_blocks), outs)
    limit = max_panels * tile.panel
    fields.update(
        scratch_layout(in_at=runs_bytes(limit, fields["rowtaps"] + fields["coltaps"]),
                list_at=limit * taps * 4), panels=panels, pixel_blocks=pixel_blocks,
        row_blocks=row_blocks, max_panels=max_panels)
    kernel = native.kernel(
        f"conv_depthwise_few/{r.elem}/{lanes}/{taps}/{near}/{how}",
        lambda m, symbol: depthwise.forward_few(m, symbol, tile, taps, epilogue, near, far))
    return kernel, pixel_blocks * row_blocks, limit * taps * -(-outs // row_blocks)


# ---- planes --------------------------------------------------------------------------------------
def taps_of(r):
    """The windows of a run, for `lower_llvm.depthwise_planes`. None for dilated or 3-d windows, and
    if rows are much shorter than a vector."""
    from whet.passes.lower_llvm.windows import depthwise_planes
    (_, down, across), (depth, *others) = r.stride, r.offsets
    steps = {b - a for offsets in others for a, b in zip(offsets, offsets[1:])}
    if len(depth) != 1 or steps not in ({1}, {-1}) or r.x_strides[-1] != 1:
        return None
    if across > 2 or down > 2:
        return None
    rows, columns = map(len, others)
    return depthwise_planes.Taps(rows, columns, down, across, steps == {-1})


def plane_line(ow, left, right, across, lanes):
    """The columns of a row of a plane. The number of vectors is odd, so that rows do not compete
    for one set of the cache."""
    vectors = -(-ow // lanes) + -(-((right - left) // across) // lanes)
    return (vectors | 1) * lanes


def filled(vectors, span, lanes):
    """The number of vectors of a row that must be initialised: all that windows of this width read,
    including lanes beyond the outputs. Uninitialised memory may hold denormal numbers, which are
    fifty times slower."""
    return vectors + -(-span // lanes)


def planes_plan(r, lanes, threads, epilogue, out_shape):
    """The plan with a vector of neighbouring outputs of a row; None if its scratch does not fit."""
    from whet.passes.lower_llvm.windows import depthwise_planes, few_channels, window_tiles
    taps, (od, oh, ow) = taps_of(r), r.out
    vectors = -(-ow // lanes)
    if taps is None or 2 * r.rows * r.groups >= lanes and for_now(ow) < WIDE * lanes:
        return None
    (d, h, w), (depth, height, width) = r.x_size, r.offsets
    (xn, xc, xd, xh, _), (yn, yo, yd, yh, yw) = r.x_strides, r.out_strides
    size, top, left = window_tiles.BYTES[r.elem], min(height), min(width)
    line = plane_line(ow, left, max(width), taps.across, lanes)
    row = line * taps.across * size
    tall = at_least((PLANE_SCRATCH // row - taps.rows) // taps.down + 1, 1)
    others = r.groups * r.images * od
    bands = at_least(split(oh, tall)[0], at_most(-(-2 * threads // others), oh))
    band = -(-oh // bands)
    band_rows = (band - 1) * taps.down + taps.rows
    pieces = scratch_layout(in_at=row * (band_rows + 1))
    fields = dict(images=r.images, od=od, oh=oh, ow=ow, d=d, h=h, w=w, sd=r.stride[0], sh=taps.down,
                  left=left, top=top, xn=xn, xg=xc, xc=xc, xd=xd, xh=xh, yn=yn, yg=yo * r.rows,
                  yo=yo, yd=yd, yh=yh, yw=yw, wg=r.w_strides[0], wo=r.w_strides[1], rows=r.rows,
                  steps=taps.rows * taps.columns, channels=1, planes=1, band=band, bands=bands,
                  band_rows=band_rows, line=line, vectors=vectors,
                  fill=filled(vectors, (max(width) - left) // taps.across, lanes), **pieces)
    places = r.taps_at or range(fields["steps"])
    numbers = [*(fields.get(name, 0) for name in few_channels.FIELDS), *depth,
               *[0] * fields["steps"], *places]
    far = yw if yw in (1, 2) else 0
    tile = window_tiles.Tile(r.elem, 1, lanes, 1)
    kernel = native.kernel(
        f"conv_depthwise_planes/{r.elem}/{lanes}/{taps.key}/{far}/{epilogue.key}",
        lambda m, symbol: depthwise_planes.forward(m, symbol, tile, taps, epilogue, far))
    units = others * bands
    grain, parts = shares_of(band * vectors * lanes * r.rows * fields["steps"], lanes, units,
                             threads)
    return Plan(kernel, units, grain, table(numbers), pieces["scratch"] * parts,
                out_shape)
