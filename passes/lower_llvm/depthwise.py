"""Convolutions of one input channel per group: nothing is packed, each tap is a vector load and a multiply-add.

The order is that of `conv.forward`, one chain over the taps, so the bits are too.
"""
from .conv import KC, OPERAND0, Geometry, Runs, divmod_, load_row, reader, share, table, while_, writer
from .layout import planes_to_pixels

HELD = 25                      # weights of a channel that stay in registers
HELD_SUMS = 14                 # sums of a weight gradient that do


def forward(m, symbol, t, taps, epilogue, near, far):
    """The kernel over units (block of channels, block of pixels); arguments as `conv.forward`, the number of taps fixed."""
    f = m.fn(symbol, [("ptr", "args"), ("i64", "begin"), ("i64", "end"), ("i64", "worker")])
    args, begin, end, worker = f.args
    x, w, y, scratch, _, *operands = (f.load("ptr", f.at(args, i, "i64")) for i in range(OPERAND0 + len(epilogue.operands)))
    g = Geometry(f, args, 4)
    mine = f.bytes_at(scratch, worker * g.scratch)
    limit = g.max_panels * t.panel
    runs = Runs(f, g, f.bytes_at(mine, g.in_at), t, limit, t.panel, near)
    masks = f.bytes_at(mine, g.list_at)
    places = [divmod_(f, f.const("i64", k), g.coltaps) for k in range(taps)]
    tap_at = [runs.tap_at(r, q) for r, q in places]
    weight_at = [table(f, g.table, g.rowtaps * 2 + g.coltaps + k) if t.listed else k for k in range(taps)]

    def unit(u):
        pixel_block, channel_block = divmod_(f, u, g.row_blocks)
        panel0, panel1 = share(f, pixel_block, g.panels, g.pixel_blocks), share(f, pixel_block + 1, g.panels, g.pixel_blocks)
        first, last = share(f, channel_block, g.outs, g.row_blocks), share(f, channel_block + 1, g.outs, g.row_blocks)
        runs.build(panel0, panel1, g.pixels)
        count = runs.get(runs.first, panel1 - panel0)

        def note(e):
            for k, (r, q) in enumerate(places):
                f.store(runs.inside(e, r, q), f.at(masks, e * taps + k, "i32"))
        f.loop(0, count, 1, note)

        def channel(o):
            group, row = divmod_(f, o, g.rows)
            xo, wo = f.at(x, group * g.xg, t.elem), f.at(w, group * g.wg + row * g.wo, t.elem)
            given = [f.splat(f.load(t.elem, f.at(p, o, t.elem)), t.lanes) if kind == "channel" else p
                     for p, kind in zip(operands, epilogue.operands, strict=True)]
            base = o * g.yo

            def weight(k):
                return f.splat(f.load(t.elem, f.at(wo, weight_at[k], t.elem)), t.lanes)
            held = [weight(k) for k in range(taps)] if taps <= HELD else None

            def run(e):
                p, acc = f.at(xo, runs.get(runs.x, e), t.elem), f.const(t.vec, 0.0)
                for k in range(taps):
                    bits = f.load("i32", f.at(masks, e * taps + k, "i32"))
                    acc = f.fma(held[k] if held else weight(k), reader(f, t, near, bits, g)(f.at(p, tap_at[k], t.elem)), acc)
                writer(f, t, epilogue, runs.get(runs.lanes, e), far, g)(acc, given, y, base + runs.get(runs.y, e))
            f.loop(0, count, 1, run)
        f.loop(first, last, 1, channel)
    f.loop(begin, end, 1, unit)


def weight_grad(m, symbol, t, taps, near):
    """The kernel over vectors of output channels, args gy, x, gw, scratch, geometry: the sums of `conv.weight_grad`, in its order.

    A vector holds one pixel of several channels. Bands of image rows are brought into scratch as [row][column][channel] with the
    padding written out, so a tap is a plain load; `left` is the leftmost tap, band_cols the width with padding.
    """
    f = m.fn(symbol, [("ptr", "args"), ("i64", "begin"), ("i64", "end"), ("i64", "worker")])
    args, begin, end, worker = f.args
    gy, x, gw, scratch = (f.load("ptr", f.at(args, i, "i64")) for i in range(4))
    g = Geometry(f, args, 4)
    mine = f.bytes_at(scratch, worker * g.scratch)
    band, line, sums, totals = (f.bytes_at(mine, at) for at in (g.in_at, g.out_at, g.y_at, g.b_at))
    n, depths, size = t.lanes, f.udiv(g.rowtaps, g.rows), g.band_rows * g.band_cols * t.lanes
    top = table(f, g.table, g.rowtaps)
    tap_at = []                              # from the window's first pixel in the band, in elements
    for k in range(taps):
        r, q = divmod_(f, f.const("i64", k), g.coltaps)
        depth = f.udiv(r, g.rows)
        across = table(f, g.table, q + g.rowtaps * 2) - g.left
        tap_at.append(depth * size + ((table(f, g.table, r + g.rowtaps) - top) * g.band_cols + across) * n)
    parts = -(-taps // HELD_SUMS)
    cuts = [taps * i // parts for i in range(parts + 1)]

    def unit(u):
        first = u * n
        channels = [f.imin(first + i, g.outs - 1) for i in range(n)]
        x_at = [f.udiv(c, g.steps) * g.xg for c in channels]        # steps: output channels per group
        for k in range(taps):
            f.store(f.const(t.vec, 0.0), f.at(sums, k * n, t.elem))

        def bring(image, depth, z, y0, rows):
            """Rows y0.. of depth z to the band's place `depth`; what lies outside is zeros."""
            def row(i):
                v, to = y0 + i, f.at(band, depth * size + i * g.band_cols * n, t.elem)
                inside = f.cmp("ult", v, g.h) & f.cmp("ult", z, g.d)
                low = f.imax(0, 0 - g.left)
                high = f.sel(inside, f.imax(low, f.imin(g.band_cols, g.w - g.left)), low)
                base = image * g.xn + z * g.xd + v * g.xh

                def zeros(c):
                    f.store(f.const(t.vec, 0.0), f.at(to, c * n, t.elem))
                f.loop(0, f.imin(low, g.band_cols), 1, zeros)

                def copy():
                    rows = [f.at(x, at + base, t.elem) for at in x_at]
                    planes_to_pixels(f, t.vec, rows, low + g.left, high + g.left, f.at(to, low * n, t.elem),
                                     lambda p, c, mask: load_row(f, t, p, c, mask, near, g))
                f.if_(inside, copy)
                f.loop(high, g.band_cols, 1, zeros)
            f.loop(0, rows, 1, row)

        def output_row(image, oz, oy, y0):
            pixel0 = (oz * g.oh + oy) * g.ow
            base = image * g.yn + pixel0
            planes_to_pixels(f, t.vec, [f.at(gy, base + c * g.yo, t.elem) for c in channels], f.const("i64", 0), g.ow, line,
                             lambda p, c, mask: f.mload(t.vec, f.at(p, c, t.elem), mask))
            src = f.at(band, (oy * g.sh + top - y0) * g.band_cols * n, t.elem)
            start = image * g.image + pixel0

            def part(p):
                """Pixels up to the end of the row or of the block of KC, whichever comes first."""
                block, inside = divmod_(f, start + p, f.const("i64", KC))
                stop = f.imin(g.ow, p + (KC - inside))
                for low, high in zip(cuts, cuts[1:]):
                    def pixel(i, *acc):
                        v, at = f.load(t.vec, f.at(line, i * n, t.elem)), f.at(src, i * g.sw * n, t.elem)
                        return [f.fma(f.load(t.vec, f.at(at, tap_at[k], t.elem)), v, a) for k, a in zip(range(low, high), acc)]
                    places = [f.at(sums, k * n, t.elem) for k in range(low, high)]
                    for q, a in zip(places, f.loop(p, stop, 1, pixel, [f.load(t.vec, q) for q in places])):
                        f.store(a, q)
                last = f.cmp("eq", start + stop, g.pixels) | f.cmp("eq", inside + (stop - p), KC)

                def flush():
                    for k in range(taps):
                        q, a = f.at(totals, k * n, t.elem), f.load(t.vec, f.at(sums, k * n, t.elem))
                        f.store(f.sel(f.cmp("eq", block, 0), a, f.load(t.vec, q) + a), q)
                        f.store(f.const(t.vec, 0.0), f.at(sums, k * n, t.elem))
                f.if_(last, flush)
                return stop
            at = f.alloca("i64", 1, 8)
            f.store(f.const("i64", 0), at)
            while_(f, lambda: f.cmp("slt", f.load("i64", at), g.ow), lambda: f.store(part(f.load("i64", at)), at))

        def bands(image, oz):
            def some(oy0):
                oy1 = f.imin(oy0 + g.max_tiles, g.oh)
                y0 = oy0 * g.sh + top
                rows = f.imin(g.band_rows, (oy1 - 1) * g.sh + table(f, g.table, g.rowtaps * 2 - 1) + 1 - y0)
                f.loop(0, depths, 1, lambda k: bring(image, k, oz * g.sd + table(f, g.table, k * g.rows), y0, rows))
                f.loop(oy0, oy1, 1, lambda oy: output_row(image, oz, oy, y0))
            f.loop(0, g.oh, g.max_tiles, some)
        images, out_depth = f.udiv(g.pixels, g.image), f.udiv(g.image, g.oh * g.ow)
        f.loop(0, images, 1, lambda image: f.loop(0, out_depth, 1, lambda oz: bands(image, oz)))

        def put(i):
            for k in range(taps):
                f.store(f.load(t.elem, f.at(totals, k * n + i, t.elem)), f.at(gw, (first + i) * taps + k, t.elem))
        f.loop(0, f.imin(g.outs - first, n), 1, put)
    f.loop(begin, end, 1, unit)
