"""Convolutions of bytes in which each channel has taps of its own.

A unit is a block of output pixels. First it notes where each of their taps lies, or that it lies
beyond the border, where the byte that means zero stands. Then each pair of panels, 32 channels,
goes over all pixels: four taps of 16 channels are brought together, so that the bytes of a channel
are neighbours, and multiplied as in a product (`dots.py`). Taps that make up the number to fours
are the first again, with a weight of zero.

Arguments as those of `products.py`; weights are packed as those of a product whose steps are taps.
"""

from __future__ import annotations

from ..builder import Fn, Module, Val
from . import dots, epilogue, gather
from .products import ARGUMENTS, Form

DIMS = (
    "rows",
    "columns",
    "fours",
    "y_row",
    "unit_rows",
    "scratch",
    "sums_at",
    "blank_at",
    "row_bytes",
    *epilogue.NUMBERS,
)


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
        self.mine = f.bytes_at(self.arguments["scratch"], f.args[3] * self.d["scratch"])
        self.sums = f.bytes_at(self.mine, self.d["sums_at"])
        self.blank = f.bytes_at(self.mine, self.d["blank_at"])
        byte = f.splat(f.conv("trunc", self.window["padding"], "i8"), dots.PANEL)
        gather.fill(f, byte, self.blank, self.d["columns"])

    def emit(self, u: Val) -> None:
        """Where the taps lie, then each pair of panels."""
        f, d = self.f, self.d
        self.first = u * d["unit_rows"]
        self.count = f.imin(d["unit_rows"], d["rows"] - self.first)
        self.places()
        f.loop(0, d["columns"], dots.WIDE, self.panels)

    def places(self) -> None:
        """The addresses of each pixel's taps, in fours. Where a pixel and the one before lie within
        one row, away from the borders, all are as far from those as the pixels are."""
        f, w = self.f, self.window
        area, each = w["out_height"] * w["out_width"], self.d["fours"] * 4
        far = w["stride_x"] * w["pixel"]

        def pixel(i: Val, image: Val, oy: Val, ox: Val) -> list[Val]:
            to = f.at(self.mine, i * each, "ptr")
            y, x = oy * w["stride_y"] - w["pad_y"], ox * w["stride_x"] - w["pad_x"]
            last_y, last_x = (
                y + (w["taps_y"] - 1) * w["step_y"],
                x + (w["segments"] - 1) * w["step_x"],
            )
            within = f.cmp("sge", y, 0) & f.cmp("slt", last_y, w["height"])
            within = within & f.cmp("sge", x, w["stride_x"]) & f.cmp("slt", last_x, w["width"])

            def beside() -> None:
                before = f.at(to, 0 - each, "ptr")

                def four(t: Val) -> None:
                    v = f.load("<4 x i64>", f.at(before, t, "ptr"))
                    f.store(v + f.splat(far, 4), f.at(to, t, "ptr"))

                f.loop(0, each, 4, four)

            start = f.bytes_at(self.arguments["x"], image * w["image_x"])
            f.if_(f.cmp("ne", i, 0) & within, beside, lambda: self.looked_up(to, start, y, x, each))
            return gather.following(f, w, image, oy, ox)

        rest = f.srem(self.first, area)
        carried = [f.sdiv(self.first, area), f.sdiv(rest, w["out_width"])]
        f.loop(0, self.count, 1, pixel, [*carried, f.srem(rest, w["out_width"])])

    def looked_up(self, to: Val, start: Val, y: Val, x: Val, each: Val) -> None:
        """The addresses of the taps of one pixel, whose first is at row y and column x."""
        f, w = self.f, self.window

        def line(ky: Val) -> None:
            iy = y + ky * w["step_y"]
            row = f.bytes_at(start, iy * w["line_x"])
            high = f.cmp("ult", iy, w["height"])

            def tap(kx: Val) -> None:
                ix = x + kx * w["step_x"]
                there = high & f.cmp("ult", ix, w["width"])
                p = f.sel(there, f.bytes_at(row, ix * w["pixel"]), self.blank)
                f.store(p, f.at(to, ky * w["segments"] + kx, "ptr"))

            f.loop(0, w["segments"], 1, tap)

        f.loop(0, w["taps_y"], 1, line)
        again = f.load("ptr", to)
        taps = w["taps_y"] * w["segments"]
        f.loop(taps, each, 1, lambda t: f.store(again, f.at(to, t, "ptr")))

    def panels(self, p: Val) -> None:
        """All pixels of the block, for 32 channels from p on, of which some may not be there."""
        f, d = self.f, self.d
        b = f.bytes_at(self.arguments["w"], p * d["row_bytes"])
        left = d["columns"] - p
        each = self.d["row_bytes"] * dots.PANEL

        def whole() -> None:
            f.loop(0, self.count, 1, lambda i: self.pixel(i, p, b, each, (None, None)))

        def some() -> None:
            rest = left, left - dots.PANEL
            f.loop(0, self.count, 1, lambda i: self.pixel(i, p, b, each, rest))

        f.if_(f.cmp("sge", left, dots.WIDE), whole, some)
        parameters = [f.at(self.arguments[x], p, "i32") for x in ("scale", "bias")]
        at = self.first * d["y_row"] + p
        y = f.at(self.arguments["y"], at, "i8" if self.form.bytes_out else "float")
        f.call_helper(
            self.finish, self.sums, self.count, left, *parameters,
            f.bytes_at(self.arguments["residual"], at), y, d["y_row"], *self.numbers,
        )  # fmt: skip

    def pixel(self, i: Val, p: Val, b: Val, each: Val, rest: tuple[Val | None, Val | None]) -> None:
        """The sums of a pixel's 32 channels from p on, or of so many of each 16."""
        f, d, wide = self.f, self.d, self.form.kind != "pairs"
        ty, places = "<16 x i32>", f.at(self.mine, i * d["fours"] * 4, "ptr")
        shift = f.at(self.arguments["shift"], p, "i32")
        starts = [f.load(ty, f.at(shift, j * dots.PANEL, "i32")) for j in range(2)]
        zero = f.const(ty, 0)

        def four(k: Val, *acc: Val) -> list[Val]:
            at, out = f.at(places, k * 4, "ptr"), []
            taps = [f.bytes_at(f.load("ptr", f.at(at, t, "ptr")), p) for t in range(4)]
            for j in range(2):
                x = self.brought_together([f.bytes_at(t, j * dots.PANEL) for t in taps], rest[j])
                y = f.load(
                    "<64 x i8>", f.bytes_at(f.bytes_at(b, each * j if j else 0), k * dots.STEP)
                )
                if wide:
                    out.append(dots.dot(f, acc[j], x, y))
                else:
                    out += dots.pairs_of_four(f, acc[2 * j : 2 * j + 2], x, y)
            return out

        sums = f.loop(0, d["fours"], 1, four, starts if wide else [zero] * 4)
        if not wide:
            sums = [dots.joined(f, sums[2 * j : 2 * j + 2]) + starts[j] for j in range(2)]
        for j, v in enumerate(sums):
            f.store(v, f.at(self.sums, i * dots.WIDE + j * dots.PANEL, "i32"))

    def brought_together(self, taps: list[Val], rest: Val | None) -> Val:
        """The bytes of four taps, those of a channel side by side."""
        f = self.f
        found = [self.channels(x, rest) for x in taps]
        halves = [f.shuffle(found[t], found[t + 1], range(32)) for t in (0, 2)]
        four = f.shuffle(halves[0], halves[1], range(64))
        return f.shuffle(four, None, [16 * t + n for n in range(16) for t in range(4)])

    def channels(self, x: Val, rest: Val | None) -> Val:
        """16 bytes, or the first ones and anything."""
        f = self.f
        if rest is None:
            return f.load("<16 x i8>", x)
        if epilogue.wide_masks():
            return f.mload("<16 x i8>", x, epilogue.first_lanes(f, rest, dots.PANEL))
        here = f.alloca("i8", dots.PANEL)
        epilogue.copy(f, here, x, f.imin(rest, f.const("i64", dots.PANEL)), "i8")
        return f.load("<16 x i8>", here)
