"""Convolutions of bytes in which each channel has taps of its own.

A unit is a block of lines of output pixels. First the weights are put in order: a step is four taps
of one column of the window, and what a column lacks to fours is zero. Then for a piece of a line
and a pair of panels, 32 channels,

- each input column that the piece reads is brought together once: of four rows, the bytes of a
  channel become neighbours. Beyond the border stands the byte that means zero.
- each pixel adds the products of its columns (`dots.py`). Neighbours share columns.
- sums go through the epilogue.

Arguments as those of `products.py`; weights are packed as those of a product whose steps are taps.
"""

from __future__ import annotations

from ..builder import BYTES, Fn, Module, Val
from . import dots, epilogue, gather
from .products import ARGUMENTS, Form

DIMS = (
    "lines",
    "columns",
    "fours",
    "y_row",
    "unit_lines",
    "piece",
    "scratch",
    "columns_at",
    "sums_at",
    "blank_at",
    "row_bytes",
    *epilogue.NUMBERS,
)
BOTH = 2 * dots.STEP  # bytes of four taps of 32 channels
PIXELS = 4  # that share what is read of the weights
LANES = "<16 x i32>"


def depthwise(m: Module, symbol: str, form: Form) -> None:
    """Write the kernel."""
    finish = epilogue.function(m, symbol, form.bytes_out, form.residual)
    f = m.kernel(symbol)
    unit = Unit(f, form, finish)
    f.loop(f.args[1], f.args[2], 1, unit.emit)


class Unit:
    """Writes the work of one unit."""

    def __init__(self, f: Fn, form: Form, finish: Val) -> None:
        self.f, self.form, self.finish = f, form, finish
        self.arguments = {
            x: f.load("ptr", f.at(f.args[0], i, "i64")) for i, x in enumerate(ARGUMENTS)}
        table = self.arguments["table"]
        self.d = {name: f.load("i64", f.at(table, i, "i64")) for i, name in enumerate(DIMS)}
        self.window = {
            name: f.load("i64", f.at(table, len(DIMS) + i, "i64"))
            for i, name in enumerate(gather.DIMS)
        }
        self.numbers = epilogue.numbers(f, self.d.__getitem__)
        self.weights = f.bytes_at(self.arguments["scratch"], f.args[3] * self.d["scratch"])
        self.columns, self.sums, self.blank = (
            f.bytes_at(self.weights, self.d[x]) for x in ("columns_at", "sums_at", "blank_at"))
        self.blanks = f.splat(f.conv("trunc", self.window["padding"], "i8"), dots.STEP)
        f.store(self.blanks, self.blank)

    def emit(self, u: Val) -> None:
        """All weights in order, then line by line."""
        f, d = self.f, self.d
        first = u * d["unit_lines"]
        end = f.imin(first + d["unit_lines"], d["lines"])
        f.loop(0, d["columns"], dots.WIDE, self.arrange)
        f.loop(first, end, 1, self.line)

    def weights_of(self, p: Val) -> Val:
        """Where the weights of 32 channels from p on are put in order."""
        each = self.window["segments"] * self.d["fours"] * (BOTH // dots.WIDE)
        return self.f.bytes_at(self.weights, p * each)

    def arrange(self, p: Val) -> None:
        """The weights of 32 channels, column by column of the window."""
        f, d, w = self.f, self.d, self.window
        b = f.bytes_at(self.arguments["w"], p * d["row_bytes"])
        panel, start = d["row_bytes"] * dots.PANEL, self.weights_of(p)

        def step(kx: Val, k: Val) -> None:
            to = f.bytes_at(start, (kx * d["fours"] + k) * BOTH)
            rows = f.imin(w["taps_y"] - k * 4, f.const("i64", 4))
            panels = list[Val]()
            for j in range(2):
                source = f.bytes_at(b, panel * j if j else 0)

                def tap(i: Val, found: Val, source: Val = source) -> list[Val]:
                    t = (k * 4 + i) * w["segments"] + kx
                    four = f.load(LANES, f.bytes_at(source, f.lshr(t, 2) * dots.STEP))
                    byte = f.lshr(four, f.conv("trunc", (t & 3) * 8, "i32")) & 255
                    return [found | byte << f.conv("trunc", i * 8, "i32")]

                panels += f.loop(0, rows, 1, tap, [f.const(LANES, 0)])
            for j, v in enumerate(apart(f, *panels)):
                f.store(v, f.bytes_at(to, j * dots.STEP))

        f.loop(0, w["segments"], 1, lambda kx: f.loop(0, d["fours"], 1, lambda k: step(kx, k)))

    def line(self, line: Val) -> None:
        """The pixels of a line: pieces one by one, of each 32 channels after the others."""
        f, d, w = self.f, self.d, self.window
        image, oy = f.sdiv(line, w["out_height"]), f.srem(line, w["out_height"])
        start = f.bytes_at(self.arguments["x"], image * w["image_x"])
        y = oy * w["stride_y"] - w["pad_y"]

        def piece(ox: Val) -> None:
            count = f.imin(d["piece"], w["out_width"] - ox)
            x = ox * w["stride_x"] - w["pad_x"]
            at = (line * w["out_width"] + ox) * d["y_row"]

            def panels(p: Val) -> None:
                left, source = d["columns"] - p, f.bytes_at(start, p)
                f.if_(
                    f.cmp("sge", left, dots.WIDE),
                    lambda: self.brought_together(source, y, x, count, None),
                    lambda: self.brought_together(source, y, x, count, left),
                )
                self.added(p, count)
                self.finished(p, at + p, count)

            f.loop(0, d["columns"], dots.WIDE, panels)

        f.loop(0, w["out_width"], d["piece"], piece)

    def finished(self, p: Val, at: Val, count: Val) -> None:
        """Apply the epilogue to the sums; the first result is element `at`."""
        f, arguments = self.f, self.arguments
        f.call_helper(
            self.finish, self.sums, count, self.d["columns"] - p,
            *[f.at(arguments[x], p, "i32") for x in ("scale", "bias")],
            f.bytes_at(arguments["residual"], at),
            f.at(arguments["y"], at, "i8" if self.form.bytes_out else "float"),
            self.d["y_row"], *self.numbers,
        )  # fmt: skip

    # ---- input columns ---------------------------------------------------------------------------
    def brought_together(self, start: Val, y: Val, x: Val, count: Val, left: Val | None) -> None:
        """Copy the input columns that these pixels read together, from row y and column x on."""
        f, d, w = self.f, self.d, self.window
        columns = (count - 1) * w["stride_x"] + (w["segments"] - 1) * w["step_x"] + 1
        low = f.imin(f.imax(0 - x, f.const("i64", 0)), columns)
        high = f.imax(f.imin(w["width"] - x, columns), low)

        def four(k: Val) -> None:
            rows = [self.row(start, y, f.imin(k * 4 + i, w["taps_y"] - 1)) for i in range(4)]

            def place(c: Val) -> Val:
                return f.bytes_at(self.columns, (c * d["fours"] + k) * BOTH)

            def outside(c: Val) -> None:
                for j in range(2):
                    f.store(self.blanks, f.bytes_at(place(c), j * dots.STEP))

            def inside(c: Val, n: int) -> None:
                taps = []
                for row, far in rows:
                    a, *b = (
                        self.channels(f.bytes_at(row, (x + c + i) * far), left) for i in range(n))
                    taps.append(f.shuffle(a, b[0], range(2 * dots.WIDE)) if b else a)
                for q, v in enumerate(interleaved(f, taps)):
                    for i in range(n):
                        part = f.shuffle(v, None, range(i * dots.WIDE, (i + 1) * dots.WIDE))
                        f.store(part, f.bytes_at(place(c + i), q * dots.WIDE))

            f.loop(0, low, 1, outside)
            both = high - f.srem(high - low, 2)
            f.loop(low, both, 2, lambda c: inside(c, 2))
            f.loop(both, high, 1, lambda c: inside(c, 1))
            f.loop(high, columns, 1, outside)

        f.loop(0, d["fours"], 1, four)

    def row(self, start: Val, y: Val, ky: Val) -> tuple[Val, Val]:
        """Where a row of the window begins, and how far its pixels are from each other: beyond the
        border all are the same one."""
        f, w = self.f, self.window
        iy = y + ky * w["step_y"]
        there = f.cmp("ult", iy, w["height"])
        row = f.sel(there, f.bytes_at(start, iy * w["line_x"]), self.blank)
        return row, f.sel(there, w["pixel"], 0)

    def channels(self, x: Val, left: Val | None) -> Val:
        """32 bytes, or the first ones and anything."""
        f, ty = self.f, f"<{dots.WIDE} x i8>"
        if left is None:
            return f.load(ty, x)
        if epilogue.wide_masks():
            return f.mload(ty, x, epilogue.first_lanes(f, left, dots.WIDE))
        here = f.alloca("i8", dots.WIDE)
        epilogue.copy(f, here, x, left, "i8")
        return f.load(ty, here)

    # ---- sums ------------------------------------------------------------------------------------
    def added(self, p: Val, count: Val) -> None:
        """The sums of these pixels' 32 channels, from p on."""
        f = self.f
        shift = f.at(self.arguments["shift"], p, "i32")
        starts = apart(f, *[f.load(LANES, f.at(shift, j * dots.PANEL, "i32")) for j in range(2)])
        done: int | Val = 0
        for n in (PIXELS, 1) if self.form.kind != "pairs" else (1,):
            whole = count - f.srem(count - done, n)
            f.loop(done, whole, n, lambda i, n=n: self.pixels(p, i, n, starts))
            done = whole

    def pixels(self, p: Val, first: Val, n: int, starts: list[Val]) -> None:
        """The sums of n pixels."""
        f, d, w, wide = self.f, self.d, self.window, self.form.kind != "pairs"
        each = d["fours"] * BOTH
        places = [f.bytes_at(self.columns, (first + i) * w["stride_x"] * each) for i in range(n)]
        weights = self.weights_of(p)
        begin = starts * n if wide else [f.const(LANES, 0)] * (4 * n)

        def column(kx: Val, *acc: Val) -> list[Val]:
            b = f.bytes_at(weights, kx * each)
            lines = [f.bytes_at(place, kx * w["step_x"] * each) for place in places]

            def four(k: Val, *acc: Val) -> list[Val]:
                return self.step([f.bytes_at(x, k * BOTH) for x in (b, *lines)], acc)

            return f.loop(0, d["fours"], 1, four, list(acc))

        sums = f.loop(0, w["segments"], 1, column, begin)
        if not wide:
            sums = [
                dots.joined(f, sums[2 * i : 2 * i + 2]) + starts[i % 2] for i in range(2 * n)]
        to = f.bytes_at(self.sums, first * BOTH)
        for i in range(0, 2 * n, 2):
            for j, v in enumerate(in_order(f, sums[i], sums[i + 1])):
                f.store(v, f.bytes_at(to, (i + j) * dots.STEP))

    def step(self, places: list[Val], acc: tuple[Val, ...]) -> list[Val]:
        """The products of four taps of some pixels; the first place is that of the weights."""
        f, out = self.f, list[Val]()
        ys, *pixels = (
            [f.load("<64 x i8>", f.bytes_at(p, j * dots.STEP)) for j in range(2)] for p in places)
        for i, xs in enumerate(pixels):
            for j in range(2):
                at = 2 * i + j
                if self.form.kind != "pairs":
                    out.append(dots.dot(f, acc[at], xs[j], ys[j]))
                else:
                    out += dots.pairs_of_four(f, acc[2 * at : 2 * at + 2], xs[j], ys[j])
        return out


# ---- the order of channels -----------------------------------------------------------------------
# Registers are interleaved in lanes of 16 bytes. So the 32 channels of a step lie in fours:
# 0, 16, 4, 20 and 8, 24, 12, 28.
def interleaved(f: Fn, taps: list[Val]) -> list[Val]:
    """The bytes of four taps, with those of each channel adjacent: four vectors with four channels
    in each 128-bit lane."""
    halves = [zipped(f, *taps[at : at + 2]) for at in (0, 2)]
    words = [[f.bitcast(v, f"<{v.lanes // 2} x i16>") for v in half] for half in halves]
    found = [v for a, b in zip(*words, strict=True) for v in zipped(f, a, b)]
    return [f.bitcast(v, taps[0].ty) for v in found]


def zipped(f: Fn, a: Val, b: Val) -> list[Val]:
    """The elements of a and b by turns: of the first halves of their lanes, and of the second."""
    n, lane = a.lanes, a.lanes * BYTES[a.elem] // 16
    each = n // lane
    return [
        f.shuffle(a, b, [k * n + i for start in range(half, n, each)
                         for i in range(start, start + each // 2) for k in range(2)])
        for half in (0, each // 2)
    ]  # fmt: skip


def apart(f: Fn, a: Val, b: Val) -> list[Val]:
    """32 numbers by channel, as the sums of a step lie."""
    return [f.shuffle(a, b, [i + n for i in fours for n in range(4)])
            for fours in ((0, 16, 4, 20), (8, 24, 12, 28))]  # fmt: skip


def in_order(f: Fn, a: Val, b: Val) -> list[Val]:
    """Sums as `apart` has them, by channel."""
    return [f.shuffle(a, b, [i + n for i in fours for n in range(4)])
            for fours in ((0, 8, 16, 24), (4, 12, 20, 28))]  # fmt: skip
