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
from . import dots, gather, tail
from .products import ARGUMENTS, Form

DIMS = (
    "rows", "columns", "fours", "y_row", "unit_rows", "scratch", "sums_at", "blank_at", "row_bytes",
    *tail.NUMBERS,
)


def depthwise(m: Module, symbol: str, form: Form) -> None:
    """Write the kernel."""
    finish = tail.tail(m, symbol, form.bytes_out, form.residual)
    f = m.fn(symbol, [("ptr", "args"), ("i64", "begin"), ("i64", "end"), ("i64", "worker")])
    unit = Unit(f, form, finish)
    f.loop(f.args[1], f.args[2], 1, unit.emit)


class Unit:
    """Writes the work of one unit."""

    def __init__(self, f: Fn, form: Form, finish: Val) -> None:
        self.f, self.form, self.finish = f, form, finish
        self.given = {x: f.load("ptr", f.at(f.args[0], i, "i64")) for i, x in enumerate(ARGUMENTS)}
        table = self.given["table"]
        self.d = {name: f.load("i64", f.at(table, i, "i64")) for i, name in enumerate(DIMS)}
        self.window = {
            name: f.load("i64", f.at(table, len(DIMS) + i, "i64"))
            for i, name in enumerate(gather.DIMS)
        }
        self.numbers = tail.numbers(f, self.d.__getitem__)
        self.mine = f.bytes_at(self.given["scratch"], f.args[3] * self.d["scratch"])
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
        """The addresses of each pixel's taps, in fours."""
        f, w = self.f, self.window
        area, each = w["out_height"] * w["out_width"], self.d["fours"] * 4

        def pixel(i: Val, image: Val, oy: Val, ox: Val) -> list[Val]:
            start = f.bytes_at(self.given["x"], image * w["image_x"])
            to = f.at(self.mine, i * each, "ptr")

            def line(ky: Val) -> None:
                iy = oy * w["stride_y"] - w["pad_y"] + ky * w["step_y"]
                row = f.bytes_at(start, iy * w["line_x"])
                high = f.cmp("ult", iy, w["height"])

                def tap(kx: Val) -> None:
                    ix = ox * w["stride_x"] - w["pad_x"] + kx * w["step_x"]
                    there = high & f.cmp("ult", ix, w["width"])
                    p = f.sel(there, f.bytes_at(row, ix * w["pixel"]), self.blank)
                    f.store(p, f.at(to, ky * w["segments"] + kx, "ptr"))

                f.loop(0, w["segments"], 1, tap)

            f.loop(0, w["taps_y"], 1, line)
            again = f.load("ptr", to)
            taps = w["taps_y"] * w["segments"]
            f.loop(taps, each, 1, lambda t: f.store(again, f.at(to, t, "ptr")))
            return gather.following(f, w, image, oy, ox)

        rest = f.srem(self.first, area)
        carried = [f.sdiv(self.first, area), f.sdiv(rest, w["out_width"])]
        f.loop(0, self.count, 1, pixel, [*carried, f.srem(rest, w["out_width"])])

    def panels(self, p: Val) -> None:
        """All pixels of the block, for 32 channels from p on, of which some may not be there."""
        f, d = self.f, self.d
        b = f.bytes_at(self.given["w"], p * d["row_bytes"])
        left = d["columns"] - p
        f.loop(0, self.count, 1, lambda i: self.both(i, p, b, left))
        parameters = [f.at(self.given[x], p, "i32") for x in ("scale", "bias")]
        at = self.first * d["y_row"] + p
        y = f.at(self.given["y"], at, "i8" if self.form.bytes_out else "float")
        f.call_helper(
            self.finish, self.sums, self.count, left, *parameters,
            f.bytes_at(self.given["residual"], at), y, d["y_row"], *self.numbers,
        )  # fmt: skip

    def both(self, i: Val, p: Val, b: Val, left: Val) -> None:
        """The sums of a pixel."""
        f = self.f
        places = f.at(self.mine, i * self.d["fours"] * 4, "ptr")

        def panel(j: Val) -> None:
            rest = left - j * dots.PANEL
            weights = f.bytes_at(b, j * (self.d["row_bytes"] * dots.PANEL))
            whole = f.cmp("sge", rest, dots.PANEL)
            more, to = p + j * dots.PANEL, f.at(self.sums, i * dots.WIDE + j * dots.PANEL, "i32")
            start = f.at(f.at(self.given["shift"], p, "i32"), j * dots.PANEL, "i32")
            f.if_(
                whole,
                lambda: self.panel(places, more, weights, start, to, None),
                lambda: self.panel(places, more, weights, start, to, rest),
            )

        f.loop(0, 2, 1, panel)

    def panel(
        self, places: Val, more: Val, weights: Val, start: Val, to: Val, rest: Val | None
    ) -> None:
        """The sums of 16 channels, or of the `rest`, from channel `more` on."""
        f, form = self.f, self.form
        wide = form.kind != "pairs"
        ty = "<16 x i32>"
        zeros = [f.load(ty, start)] if wide else [f.const(ty, 0), f.const(ty, 0)]

        def four(k: Val, *acc: Val) -> list[Val]:
            taps = []
            for t in range(4):
                x = f.bytes_at(f.load("ptr", f.at(f.at(places, k * 4, "ptr"), t, "ptr")), more)
                taps.append(self.channels(x, rest))
            halves = [f.shuffle(taps[t], taps[t + 1], alternating(16)) for t in (0, 2)]
            index = [v for n in range(16) for v in (2 * n, 2 * n + 1, 32 + 2 * n, 33 + 2 * n)]
            x = f.shuffle(halves[0], halves[1], index)
            y = f.load("<64 x i8>", f.bytes_at(weights, k * dots.STEP))
            if wide:
                return [dots.dot(f, acc[0], x, y)]
            return dots.pairs_of_four(f, acc, x, y)

        sums = f.loop(0, self.d["fours"], 1, four, zeros)
        total = sums[0] if wide else dots.joined(f, sums) + f.load(ty, start)
        f.store(total, to)

    def channels(self, x: Val, rest: Val | None) -> Val:
        """16 bytes, or the first ones and anything."""
        f = self.f
        if rest is None:
            return f.load("<16 x i8>", x)
        if tail.wide_masks():
            return f.mload("<16 x i8>", x, f.lanes_below(rest, dots.PANEL))
        here = f.alloca("i8", dots.PANEL)
        tail.copy(f, here, x, rest, "i8")
        return f.load("<16 x i8>", here)


def alternating(n: int) -> list[int]:
    """The elements of two vectors by turns."""
    return [v for i in range(n) for v in (i, n + i)]
