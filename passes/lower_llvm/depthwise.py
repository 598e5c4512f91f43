"""Convolutions of one input channel per group: nothing is packed, each tap is a vector load and a multiply-add.

The order is that of `conv.forward`, one chain over the taps, so the bits are too.
"""
from .conv import OPERAND0, Geometry, Runs, divmod_, finish, reader, share, spread, table

HELD = 25                      # weights of a channel that stay in registers


def forward(m, symbol, t, taps, epilogue, near, far):
    """The kernel over units (block of channels, block of pixels); arguments as `conv.forward`, the number of taps fixed."""
    f = m.fn(symbol, [("ptr", "args"), ("i64", "begin"), ("i64", "end"), ("i64", "worker")])
    args, begin, end, worker = f.args
    x, w, y, scratch, _, *operands = (f.load("ptr", f.at(args, i, "i64")) for i in range(OPERAND0 + len(epilogue.operands)))
    g = Geometry(f, args, 4)
    mine = f.bytes_at(scratch, worker * g.scratch)
    limit = g.max_panels * t.panel
    runs = Runs(f, g, f.bytes_at(mine, g.in_at), t, limit, t.panel)
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
                bits = runs.inside(e, r, q)
                f.store(spread(f, bits) if near == 2 else bits, f.at(masks, e * taps + k, "i32"))
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
                    acc = f.fma(held[k] if held else weight(k), reader(f, t, near, bits, g, True)(f.at(p, tap_at[k], t.elem)), acc)
                finish(f, t, epilogue, acc, given, y, base + runs.get(runs.y, e), runs.get(runs.lanes, e), far, g)
            f.loop(0, count, 1, run)
        f.loop(first, last, 1, channel)
    f.loop(begin, end, 1, unit)
