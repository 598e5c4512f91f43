"""What becomes of a sum of products of bytes: float32, or a byte again.

    v = float(sum) * scale + bias [+ float(residual) * residual_scale]
    v = least(most(v, low), high)                     then, for bytes:
    q = rounded(v) + zero                             to the nearest integer, half to even

Sums begin with `shift`, a whole number; it, `scale` and `bias` go by column. Each operation rounds
once; none are contracted. low and high bound v to where adding 1.5 * 2**23
leaves the integer in its last bits.
"""

from __future__ import annotations

from typing import Any

from .. import targets
from ..builder import Fn, Module, Val
from .dots import PANEL, WIDE

MAGIC = 12582912.0  # 1.5 * 2**23: a float of this size has no bits after the point
MAGIC_BITS = 0x4B400000
NUMBERS = ("low", "high", "zero", "residual_scale")
SIGNATURE = [
    ("ptr", "c"),
    ("i64", "rows"),
    ("i64", "columns"),
    ("ptr", "scale"),
    ("ptr", "bias"),
    ("ptr", "residual"),
    ("ptr", "y"),
    ("i64", "row"),
    *[("i32" if x == "zero" else "float", x) for x in NUMBERS],
]


def function(m: Module, name: str, bytes_out: bool, residual: bool) -> Val:
    """The address of a function that stores rows of 32 sums at y, of which so many columns are
    wanted; `row` elements lie between rows of y and of the residual, which is bytes."""
    f = m.fn(f"{name}_epilogue", SIGNATURE, linkage="internal", attrs="noinline")
    rows = _Rows(f, bytes_out, residual)
    f.if_(f.cmp("sge", rows.columns, WIDE), rows.whole, rows.partial)
    return Val(f, f"@{name}_epilogue", "ptr")


class _Rows:
    """Code for the rows of one call, which are stored one by one."""

    def __init__(self, f: Fn, bytes_out: bool, residual: bool) -> None:
        self.f, self.bytes_out, self.residual = f, bytes_out, residual
        self.elem = "i8" if bytes_out else "float"
        self.c, self.count, self.columns, scale, bias, *rest = f.args
        self.added, self.y, self.row, low, high, zero, added_scale = rest
        self.scales, self.biases = (
            [f.load("<16 x float>", f.at(p, j * PANEL)) for j in range(2)] for p in (scale, bias))
        self.low, self.high, self.added_scale, self.to_zero = (
            f.splat(x, PANEL) for x in (low, high, added_scale, zero - MAGIC_BITS))

    def values(self, i: Val, more: list[Val]) -> Val:
        """What becomes of the sums of row i, to which the bytes `more` are added."""
        f, found = self.f, []
        for j in range(2):
            total = f.load("<16 x i32>", f.at(f.at(self.c, i * WIDE, "i32"), j * PANEL, "i32"))
            v = f.conv("sitofp", total, "float") * self.scales[j] + self.biases[j]
            if more:
                v = v + f.conv("sitofp", f.conv("zext", more[j], "i32"), "float") * self.added_scale
            v = f.sel(f.cmp("olt", v, self.low), self.low, v)
            v = f.sel(f.cmp("ogt", v, self.high), self.high, v)
            if self.bytes_out:
                v = f.bitcast(v + MAGIC, "<16 x i32>") + self.to_zero
            found.append(v)
        both = f.shuffle(found[0], found[1], range(WIDE))
        return f.conv("trunc", both, "i8") if self.bytes_out else both

    def whole(self) -> None:
        """Rows of which all columns are wanted."""
        f = self.f

        def one(i: Val) -> None:
            more = []
            if self.residual:
                more = [f.load("<16 x i8>", f.bytes_at(self.added, i * self.row + j * PANEL))
                        for j in range(2)]
            f.store(self.values(i, more), f.at(self.y, i * self.row, self.elem))
        f.loop(0, self.count, 1, one)

    def partial(self) -> None:
        """Rows of which some columns are wanted."""
        f, columns = self.f, self.columns
        here = f.alloca("i8", WIDE)
        there = f.alloca(self.elem, WIDE)

        def one(i: Val) -> None:
            more = []
            if self.residual:
                if wide_masks():
                    mask = first_lanes(f, columns, WIDE)
                    added = f.bytes_at(self.added, i * self.row)
                    f.store(f.mload(f"<{WIDE} x i8>", added, mask), here)
                else:
                    copy(f, here, f.bytes_at(self.added, i * self.row), columns, "i8")
                more = [f.load("<16 x i8>", f.bytes_at(here, j * PANEL)) for j in range(2)]
            v = self.values(i, more)
            if f.mod.brief or wide_masks():
                f.mstore(v, f.at(self.y, i * self.row, self.elem), first_lanes(f, columns, WIDE))
            else:
                f.store(v, there)
                copy(f, f.at(self.y, i * self.row, self.elem), there, columns, self.elem)
        f.loop(0, self.count, 1, one)


def wide_masks() -> bool:
    """Has the machine masks for bytes?"""
    return bool(targets.current().bits == 512)


def first_lanes(f: Fn, n: Val, lanes: int) -> Val:
    """The mask of the first n lanes of bytes, none where n is negative: its bits are a number."""
    n = f.imax(f.imin(n, f.const("i64", lanes)), f.const("i64", 0))
    bits = f.lshr(f.const("i64", -1), 64 - f.imax(n, f.const("i64", 1)))
    bits = f.sel(f.cmp("eq", n, 0), 0, bits)
    narrow = bits if lanes == 64 else f.conv("trunc", bits, f"i{lanes}")
    return f.bitcast(narrow, f"<{lanes} x i1>")


def copy(f: Fn, to: Val, source: Val, count: Val, elem: str) -> None:
    """Elements one by one."""
    f.loop(0, count, 1, lambda i: f.store(f.load(elem, f.at(source, i, elem)), f.at(to, i, elem)))


def numbers(f: Fn, load: Any) -> list[Val]:
    """The numbers of a call, which `load(name)` gives as words of 64 bits."""
    out = []
    for name in NUMBERS:
        bits = f.conv("trunc", load(name), "i32")
        out.append(bits if name == "zero" else f.bitcast(bits, "float"))
    return out
