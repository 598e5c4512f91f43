"""Pools: a vector holds one pixel of several planes (an image's channel), so windows of any shape and stride cost the same. (Rows of
pixels side by side under even windows have `pool_rows`, and the same bits.)

A unit is a vector of planes times a block of outputs. It brings the input, a chunk of rows after another, into scratch as
[pixel][plane], continues every output's chain over the window's taps in that chunk, and at last turns the outputs back into planes.
Taps are taken in row-major order, sums start from +0: the order of a loop over the window.

What windows are is told by tables: along each axis, the first tap of output i, its end, and the distance of taps. So plain, dilated
and adaptive pools are one kernel; and the gradient of an average is a sum over the windows of the outputs that an input is in.
"""
from ..builder import vec
from ..shuffles import planes_to_pixels, transpose
from .conv import lanes_for
from .window_tiles import Geometry, divmod_, load_row, table_at

CHUNK = 4096                   # pixels of an input chunk and of an output block, at most (a row of pixels at least)
FIELDS = ("planes channels xn xc xd xh xw d h w od oh ow step_d step_h step_w rows cols row_blocks col_blocks "
          "chunk_rows chunk_cols scratch planes_at in_at out_at index_at z_table y_table x_table").split()
FIELD = {name: i for i, name in enumerate(FIELDS)}


def emit(m, symbol, t, kind, near):
    """The kernel, args x, y, index, scratch, geometry, divisors; units (vector of planes, depth, block of rows, block of columns).

    kind: "max", "max_index" (y and index), "mean" (divide the sums), "spread" (divide x, then add). Divisors are f64, per axis.
    z_table, y_table, x_table in the geometry say where an axis' tables begin: first taps, ends, then the bounds without clipping.
    """
    f = m.fn(symbol, [("ptr", "args"), ("i64", "begin"), ("i64", "end"), ("i64", "worker")])
    args, begin, end, worker = f.args
    x, y, index, scratch, _, divisors = (f.load("ptr", f.at(args, i, "i64")) for i in range(6))
    g = Geometry(f, args, 4, FIELD)
    mine = f.bytes_at(scratch, worker * g.scratch)
    planes_at, block, outs, picks = (g.area(mine, name) for name in ("planes_at", "in_at", "out_at", "index_at"))
    n, ints = t.lanes, vec("i32", t.lanes)
    is_max = kind.startswith("max")
    image = g.oh * g.ow
    size = g.od * image

    def entry(at, axis_size, column, i):
        return table_at(f, g.table, at + axis_size * column + i)

    def bring(z, y0, y1, x0, x1):
        """Rows y0..y1, columns x0..x1 of the planes at depth z into `block`."""
        def line(v):
            rows = []
            for i in range(n):
                at = f.load("i64", f.at(planes_at, i, "i64"))
                rows.append(f.at(x, at + z * g.xd + v * g.xh, t.elem))
            if kind == "spread":
                across = f.load("double", f.at(divisors, z, "double")) * f.load("double", f.at(divisors, v + g.d, "double"))

            def divided(pixels, c, mask):
                by = f.mload(vec("double", n), f.at(divisors, c + g.d + g.h, "double"), mask) * across
                by = f.conv("fptrunc", by, t.elem) if t.elem == "float" else by
                return [p / by for p in pixels]
            planes_to_pixels(f, t.vec, rows, x0, x1, f.at(block, (v - y0) * (x1 - x0) * n, t.elem),
                             lambda p, c, mask: load_row(f, t, p, c, mask, near, g), divided if kind == "spread" else None)
        f.loop(y0, y1, 1, line)

    def first_tap(lo, start, step):
        """The first of lo, lo + step, ... that is not below start."""
        return lo + f.udiv(f.imax(start - lo, 0) + step - 1, step) * step

    def unit(u):
        rest, col_block = divmod_(f, u, g.col_blocks)
        rest, row_block = divmod_(f, rest, g.row_blocks)
        planes, oz = divmod_(f, rest, g.od)
        plane0 = planes * n
        for i in range(n):
            image_, c = divmod_(f, f.imin(plane0 + i, g.planes - 1), g.channels)
            f.store(image_ * g.xn + c * g.xc, f.at(planes_at, i, "i64"))
        oy0, ox0 = row_block * g.rows, col_block * g.cols
        oy1, ox1 = f.imin(oy0 + g.rows, g.oh), f.imin(ox0 + g.cols, g.ow)
        count = (oy1 - oy0) * (ox1 - ox0)
        start = float("-inf") if is_max else 0.0

        def clear(i):
            f.store(f.const(t.vec, start), f.at(outs, i * n, t.elem))
            if kind == "max_index":
                f.store(f.const(ints, -1), f.at(picks, i * n, "i32"))
        f.loop(0, count, 1, clear)

        def chunk(z, y0, y1, x0, x1):
            bring(z, y0, y1, x0, x1)
            width = x1 - x0

            def row(oy):
                lo, hi = f.imax(entry(g.y_table, g.oh, 0, oy), 0), entry(g.y_table, g.oh, 1, oy)
                first, last = first_tap(lo, y0, g.step_h), f.imin(hi, y1)

                def out(ox):
                    at = (oy - oy0) * (ox1 - ox0) + (ox - ox0)
                    p, q = f.at(outs, at * n, t.elem), f.at(picks, at * n, "i32")
                    lo, hi = entry(g.x_table, g.ow, 0, ox), entry(g.x_table, g.ow, 1, ox)
                    left, right = first_tap(lo, x0, g.step_w), f.imin(hi, x1)
                    held = [f.load(t.vec, p)] + ([f.load(ints, q)] if kind == "max_index" else [])

                    def taps(v, *acc):
                        src = f.at(block, ((v - y0) * width - x0) * n, t.elem)
                        number = f.conv("trunc", (z * g.h + v) * g.w, "i32") if kind == "max_index" else None

                        def tap(c, best, *pick):
                            new = f.load(t.vec, f.at(src, c * n, t.elem))
                            if not is_max:
                                return best + new
                            better = f.cmp("ogt", new, best) | f.cmp("uno", new, new)
                            if pick:
                                better = better | f.cmp("slt", pick[0], 0)
                                here = f.splat(number + f.conv("trunc", c, "i32"), n)
                                return f.sel(better, new, best), f.sel(better, here, pick[0])
                            return f.sel(better, new, best)
                        return f.loop(left, right, g.step_w, tap, acc)
                    held = f.loop(first, last, g.step_h, taps, held)
                    f.store(held[0], p)
                    if kind == "max_index":
                        f.store(held[1], q)
                f.if_(f.cmp("slt", first, last), lambda: f.loop(
                    f.imax(ox0, table_at(f, g.table, g.x_table + g.ow * 4 + f.udiv(x0, g.chunk_cols) * 2)),
                    f.imin(ox1, table_at(f, g.table, g.x_table + g.ow * 4 + f.udiv(x0, g.chunk_cols) * 2 + 1)), 1, out) and None)
            f.loop(oy0, oy1, 1, row)

        def clipped(at, size, first, last, limit):
            """The part of the axis that outputs first..last - 1 may touch."""
            low = f.imin(f.imax(entry(at, size, 2, first), 0), limit)
            return low, f.imax(low, f.imin(entry(at, size, 3, last - 1), limit))
        y0, y1 = clipped(g.y_table, g.oh, oy0, oy1, g.h)
        x0, x1 = clipped(g.x_table, g.ow, ox0, ox1, g.w)

        def depth(z):
            def rows(v):
                v1 = f.imin(v + g.chunk_rows, y1)
                first = f.udiv(x0, g.chunk_cols) * g.chunk_cols
                f.loop(first, x1, g.chunk_cols, lambda c: chunk(z, v, v1, f.imax(c, x0), f.imin(c + g.chunk_cols, x1)))
            f.loop(y0, y1, g.chunk_rows, rows)
        f.loop(entry(g.z_table, g.od, 0, oz), entry(g.z_table, g.od, 1, oz), g.step_d, depth)

        if kind == "mean":
            def divide(oy):
                across = f.load("double", f.at(divisors, oz, "double")) * f.load("double", f.at(divisors, g.od + oy, "double"))

                def one(ox):
                    p = f.at(outs, ((oy - oy0) * (ox1 - ox0) + (ox - ox0)) * n, t.elem)
                    by = across * f.load("double", f.at(divisors, g.od + g.oh + ox, "double"))
                    by = f.conv("fptrunc", by, t.elem) if t.elem == "float" else by
                    f.store(f.load(t.vec, p) / f.splat(by, n), p)
                f.loop(ox0, ox1, 1, one)
            f.loop(oy0, oy1, 1, divide)

        def back(src, elem, put):
            """Turn [output][plane] into planes. A block of several rows has whole rows, so its outputs follow each other."""
            at = (oz * g.oh + oy0) * g.ow + ox0

            def outputs(i):
                mask = f.lanes_below(count - i, n)
                rows = [f.load(vec(elem, n), f.at(src, (i + k) * n, elem)) for k in range(n)]
                for k, row in enumerate(transpose(f, rows)):
                    f.if_(f.cmp("slt", plane0 + k, g.planes), lambda: put(row, (plane0 + k) * size + at + i, mask))
            f.loop(0, count, n, outputs)
        back(outs, t.elem, lambda v, at, mask: f.put(mask, (v, f.at(y, at, t.elem))))
        if kind == "max_index":
            back(picks, "i32", lambda v, at, mask: f.put(mask, (f.conv("sext", v, "i64"), f.at(index, at, "i64"))))
    f.loop(begin, end, 1, unit)


def max_grad(m, symbol, elem):
    """The kernel over planes, args gy, index, gx, outputs, inputs: each output's gradient to its index, in order. An index outside
    the plane (a window without taps has -1) gives nothing."""
    f = m.fn(symbol, [("ptr", "args"), ("i64", "begin"), ("i64", "end"), ("i64", "worker")])
    args, begin, end, _ = f.args
    n = lanes_for(elem)
    gy, index, gx = (f.load("ptr", f.at(args, i, "i64")) for i in range(3))
    outputs, inputs = (f.load("i64", f.at(args, i, "i64")) for i in (3, 4))

    def plane(p):
        g, at, to = f.at(gy, p * outputs, elem), f.at(index, p * outputs, "i64"), f.at(gx, p * inputs, elem)
        f.loop(0, inputs, n, lambda i: f.put(f.lanes_below(inputs - i, n), (f.const(vec(elem, n), 0.0), f.at(to, i, elem))))

        def add(i):
            where = f.load("i64", f.at(at, i, "i64"))
            q = f.at(to, where, elem)
            f.if_(f.cmp("ult", where, inputs), lambda: f.store(f.load(elem, q) + f.load(elem, f.at(g, i, elem)), q))
        f.loop(0, outputs, 1, add)
    f.loop(begin, end, 1, plane)


