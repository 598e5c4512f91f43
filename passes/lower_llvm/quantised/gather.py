"""The bytes that some output pixels of a convolution read, a row for each: line by line of the
taps, in each tap by tap, in each channel by channel.

The image is stored pixel by pixel, so the taps of a line are one stretch of bytes where they are
neighbours (`span` of them), cut at the image's borders. Beyond those stands the byte that means
zero. Rows are written from left to right in whole vectors: what is too much is overwritten by what
comes next, the last of a row by the next row, so 64 bytes are free after the last.
"""

from __future__ import annotations

from typing import Any

from .. import targets
from ..builder import Fn, Module, Val, vec
from . import epilogue

DIMS = (
    "pixel",
    "bytes",
    "image_x",
    "line_x",
    "height",
    "width",
    "out_height",
    "out_width",
    "stride_y",
    "stride_x",
    "pad_y",
    "pad_x",
    "step_y",
    "step_x",
    "taps_y",
    "segments",
    "span",
    "padding",
)
SIGNATURE = [
    ("ptr", "x"),
    ("i64", "first"),
    ("i64", "count"),
    ("ptr", "a"),
    ("i64", "row"),
    ("ptr", "table"),
]


def gather(m: Module, name: str, first_word: int) -> Val:
    """The address of a function that writes `count` rows, from output pixel `first` on, to a.
    `table`, from this word on, has DIMS."""
    f = m.fn(f"{name}_gather", SIGNATURE, linkage="internal", attrs="noinline")
    x, first, count, a, row, table = f.args
    d = {name: f.load("i64", f.at(table, first_word + i, "i64")) for i, name in enumerate(DIMS)}
    width = 64 if targets.current().name == "avx512" else 16
    blank = f.splat(f.conv("trunc", d["padding"], "i8"), width)
    area = d["out_height"] * d["out_width"]
    stretch = Stretch(f, d, blank)

    def pixel(i: Val, image: Val, oy: Val, ox: Val) -> list[Val]:
        start = f.bytes_at(x, image * d["image_x"])

        def line(ky: Val, at: Val) -> Val:
            iy = oy * d["stride_y"] - d["pad_y"] + ky * d["step_y"]
            inside = f.cmp("sge", iy, 0) & f.cmp("slt", iy, d["height"])
            left = ox * d["stride_x"] - d["pad_x"]
            source = f.bytes_at(start, iy * d["line_x"])

            def segment(s: Val, at: Val) -> Val:
                ix = left + s * d["span"] * d["step_x"]
                return stretch.copy(source, ix, inside, at)

            return f.loop(0, d["segments"], 1, segment, [at])[0]

        f.loop(0, d["taps_y"], 1, line, [f.bytes_at(a, i * row)])
        return following(f, d, image, oy, ox)

    rest = f.srem(first, area)
    f.loop(
        0,
        count,
        1,
        pixel,
        [f.sdiv(first, area), f.sdiv(rest, d["out_width"]), f.srem(rest, d["out_width"])],
    )
    return Val(f, f"@{name}_gather", "ptr")


def following(f: Fn, d: Any, image: Val, oy: Val, ox: Val) -> list[Val]:
    """The next output pixel."""
    ox = ox + 1
    wrap = f.cmp("sge", ox, d["out_width"])
    oy = f.sel(wrap, oy + 1, oy)
    over = f.cmp("sge", oy, d["out_height"])
    return [f.sel(over, image + 1, image), f.sel(over, 0, oy), f.sel(wrap, 0, ox)]


class Stretch:
    """Copies the bytes of `span` taps, those outside blank."""

    def __init__(self, f: Fn, d: Any, blank: Val) -> None:
        self.f, self.d, self.blank, self.width = f, d, blank, blank.lanes
        self.size = d["span"] * d["bytes"]
        self.mask = self.rest_of(self.size)  # of all stretches but those at borders

    def rest_of(self, size: Val) -> Val | None:
        """The mask for the rest of `size` bytes after whole vectors, on machines with byte
        masks."""
        if self.width != 64:
            return None
        return epilogue.first_lanes(self.f, size & (self.width - 1), self.width)

    def copy(self, source: Val, ix: Val, inside: Val, at: Val) -> Val:
        """Copy a stretch from column ix on; returns where it ends."""
        f, d = self.f, self.d
        last = f.cmp("sle", ix, d["width"] - d["span"])

        def whole() -> list[Val]:
            return [self.copied(f.bytes_at(source, ix * d["pixel"]), at, self.size, self.mask)]

        def cut() -> list[Val]:
            zero = f.const("i64", 0)
            low = f.sel(inside, f.imin(f.imax(0 - ix, zero), d["span"]), d["span"])
            high = f.sel(inside, f.imax(f.imin(d["width"] - ix, d["span"]), low), low)
            to = fill(f, self.blank, at, low * d["bytes"])
            start, size = f.bytes_at(source, (ix + low) * d["pixel"]), (high - low) * d["bytes"]
            to = self.copied(start, to, size, self.rest_of(size))
            return [fill(f, self.blank, to, (d["span"] - high) * d["bytes"])]

        return f.if_(inside & f.cmp("sge", ix, 0) & last, whole, cut)[0]

    def copied(self, source: Val, at: Val, size: Val, mask: Val | None) -> Val:
        """Copy `size` bytes without reading any others; returns where the copy ends."""
        f, width = self.f, self.width
        ty = vec("i8", width)
        whole = size & -width
        f.loop(
            0, whole, width,
            lambda i: f.store(f.load(ty, f.bytes_at(source, i)), f.bytes_at(at, i)),
        )  # fmt: skip

        def rest() -> None:
            if mask is not None:
                found = f.mload(ty, f.bytes_at(source, whole), mask)
                f.store(found, f.bytes_at(at, whole))
                return
            f.if_(f.cmp("sge", size, width), last, few)

        def last() -> None:
            end = size - width
            f.store(f.load(ty, f.bytes_at(source, end)), f.bytes_at(at, end))

        def few() -> None:
            f.loop(
                0, size, 1,
                lambda i: f.store(f.load("i8", f.bytes_at(source, i)), f.bytes_at(at, i)),
            )  # fmt: skip

        f.if_(f.cmp("sgt", size, whole), rest)
        return f.bytes_at(at, size)


def fill(f: Fn, blank: Val, at: Val, size: Val) -> Val:
    """`size` blank bytes, or more."""
    f.loop(0, size, blank.lanes, lambda i: f.store(blank, f.bytes_at(at, i)))
    return f.bytes_at(at, size)
