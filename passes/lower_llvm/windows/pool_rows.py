"""Pools whose vectors hold neighbouring outputs of a row: for rows of pixels that lie side by side and windows at equal distances.

A unit is a plane, a depth and some rows of outputs. An output's chain is the one of `pool`: its taps in row-major order, sums from
+0. Taps outside the row are masked; where no lane can have one, four vectors go side by side without masks.
"""
from ..builder import vec
from .window_tiles import Geometry, divmod_, table_at

SIDE = 4                       # vectors side by side
FIELDS = "channels xn xc xd xh h w od oh ow step_d step_h step_w taps stride first left whole rows row_blocks z_at y_at".split()
FIELD = {name: i for i, name in enumerate(FIELDS)}


def emit(m, symbol, elem, lanes, kind, stride, taps):
    """The kernel, args x, y, index, scratch (unused), geometry, divisors, as `pool` has them; units (plane, depth, block of rows).

    kind: "max", "max_index" or "mean". stride: that of the windows along a row if it is 1 or 2, else 0. taps: their columns if these
    are few, else 0. In the geometry `first` is the column of output 0's first tap, output `left` (a multiple of the lanes) the first
    that has no tap before the row, and `whole` the end of those that have none behind it.
    """
    f = m.fn(symbol, [("ptr", "args"), ("i64", "begin"), ("i64", "end"), ("i64", "worker")])
    args, begin, end, _ = f.args
    x, y, index, _, _, divisors = (f.load("ptr", f.at(args, i, "i64")) for i in range(6))
    g = Geometry(f, args, 4, FIELD)
    t, ints = vec(elem, lanes), vec("i32", lanes)
    SECOND = 0, lanes - 1
    picks, nothing = kind == "max_index", f.const(t, 0.0 if kind == "mean" else float("-inf"))
    step = f.const("i64", stride) if stride else g.stride

    def entry(at, size, column, i):
        return table_at(f, g.table, at + size * column + i)

    def read(row, column, left):
        """The taps at `column` and every `step` of the row; of the first `left` outputs, if it is given: the rest are anything."""
        if stride == 1:
            p = f.at(row, column, elem)
            return f.load(t, p) if left is None else f.mload(t, p, f.lanes_below(left, lanes))
        if stride == 2:
            ps = [f.at(row, column + i, elem) for i in SECOND]
            return every_second([f.load(t, p) if left is None else f.mload(t, p, f.lanes_below(left * 2 - 1 - i, lanes))
                                 for i, p in zip(SECOND, ps, strict=True)])
        return f.gather(t, places(row, columns_from(column)), None if left is None else f.lanes_below(left, lanes))

    def below(columns):
        return f.cmp("ult", columns, f.splat(f.conv("trunc", g.w, "i32"), lanes))

    def inside(column, left):
        """Masks of what a tap of the first `left` outputs reads in the row: of its lanes and, with a stride of 2, of its two vectors."""
        lanes_ = below(columns_from(column, "i32")) & f.lanes_below(left, lanes)
        return [lanes_, *([below(columns_from(column + i, "i32", 1)) for i in SECOND] if stride == 2 else [])]

    def read_inside(row, column, masks):
        """The taps that are in the row; in place of the others, what changes no chain (a sum that began at +0 never is -0)."""
        if stride == 2:
            return every_second([f.mload(t, f.at(row, column + i, elem), mask, other=nothing) for i, mask in zip(SECOND, masks[1:], strict=True)])
        if stride == 1:
            return f.mload(t, f.at(row, column, elem), masks[0], other=nothing)
        return f.sel(masks[0], f.gather(t, places(row, columns_from(column)), masks[0]), nothing)

    def every_second(pair):
        """Of two vectors, the second of which begins with the last element of the first."""
        return f.shuffle(*pair, [*range(0, lanes, 2), *range(lanes + 1, 2 * lanes, 2)])

    def columns_from(column, ints="i64", step=step):
        """`column` and every `step` from there."""
        column, step = (f.conv("trunc", f.as_val(x, "i64"), "i32") if ints == "i32" else x for x in (column, step))
        return f.splat(column, lanes) + f.splat(step, lanes) * f.iota(ints, lanes)

    def places(row, columns):
        return f.v(vec("ptr", lanes), f"getelementptr {elem}, ptr {row.ref}, {columns.ty} {columns.ref}")

    def joined(state, new, column, number, inside):
        """A tap in a chain: `state` is the sum so far, or the best and (if asked for) which tap it is; `inside` the lanes that have it."""
        if kind == "mean":
            return [state[0] + new]
        best, *pick = state
        larger, nan = f.cmp("ogt", new, best), f.cmp("uno", new, new)
        if not picks:
            return [f.sel(nan, new, f.sel(larger, new, best))]           # (the inner one is an instruction, maximum)
        better = larger | nan | f.cmp("slt", pick[0], 0)
        better = better if inside is None else better & inside
        return [f.sel(better, new, best), f.sel(better, columns_from(column, "i32") + f.splat(number, lanes), pick[0])]

    def unit(u):
        rest, row_block = divmod_(f, u, g.row_blocks)
        plane, oz = divmod_(f, rest, g.od)
        image, c = divmod_(f, plane, g.channels)
        base = f.at(x, image * g.xn + c * g.xc, elem)
        z0, z1 = (entry(g.z_at, g.od, i, oz) for i in (0, 1))

        def row(oy):
            y0, y1 = (entry(g.y_at, g.oh, i, oy) for i in (0, 1))
            to = ((plane * g.od + oz) * g.oh + oy) * g.ow
            if kind == "mean":
                across = f.load("double", f.at(divisors, oz, "double")) * f.load("double", f.at(divisors, g.od + oy, "double"))

            def outputs(ox, side, left=None, check=False):
                """`side` vectors of outputs from ox on, or the first `left` of one; `check`: not all taps may be in the row."""
                start = [nothing] + ([f.const(ints, -1)] if picks else [])
                each, column = len(start), g.first + ox * step
                masks = [inside(column + g.step_w * k, left) for k in range(taps)] if check else []

                def depth(z, *state):
                    def line(v, *state):
                        source = f.at(base, z * g.xd + v * g.xh, elem)
                        number = f.conv("trunc", (z * g.h + v) * g.w, "i32") if picks else None

                        def tap(k, *state):
                            after, shift = [], k * g.step_w if taps == 0 else g.step_w * k
                            for s in range(side):
                                at = column + shift + step * (s * lanes)
                                mine = (masks[k] if taps else inside(at, left)) if check else [None]
                                new = read_inside(source, at, mine) if check else read(source, at, left)
                                after += joined(state[s * each:s * each + each], new, at, number, mine[0])
                            return after
                        if not taps:
                            return f.loop(0, g.taps, 1, tap, state)
                        for k in range(taps):
                            state = tap(k, *state)
                        return state
                    return f.loop(y0, y1, g.step_h, line, state)
                state = f.loop(z0, z1, g.step_d, depth, start * side)
                everywhere = f.const(vec("i1", lanes), True) if left is None else f.lanes_below(left, lanes)
                for s in range(side):
                    value, *pick = state[s * each:s * each + each]
                    at = ox + s * lanes
                    if kind == "mean":
                        by = f.mload(vec("double", lanes), f.at(divisors, at + g.od + g.oh, "double"), everywhere) * across
                        value = value / (f.conv("fptrunc", by, elem) if elem == "float" else by)
                    f.mstore(value, f.at(y, to + at, elem), everywhere)
                    if picks:
                        f.mstore(f.conv("sext", pick[0], "i64"), f.at(index, to + at, "i64"), everywhere)

            def edge(ox):
                outputs(ox, 1, g.ow - ox, check=True)
            at = f.imin(g.left, g.ow)
            f.loop(0, at, lanes, edge)
            for side in (SIDE, 1):
                group = side * lanes
                to_ = at + f.udiv(f.imax(g.whole - at, 0), group) * group
                f.loop(at, to_, group, lambda ox, side=side: outputs(ox, side))
                at = to_
            all_inside = f.cmp("sge", g.whole, g.ow)

            def rest():
                f.if_(all_inside & f.cmp("sge", g.ow - lanes, g.left), lambda: outputs(g.ow - lanes, 1), few)     # some of them again

            def few():
                f.if_(all_inside, lambda: outputs(at, 1, g.ow - at), lambda: f.loop(at, g.ow, lanes, edge) and None)
            f.if_(f.cmp("slt", at, g.ow), rest)
        oy0 = row_block * g.rows
        f.loop(oy0, f.imin(oy0 + g.rows, g.oh), 1, row)
    f.loop(begin, end, 1, unit)
