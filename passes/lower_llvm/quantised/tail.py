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


def tail(m: Module, name: str, bytes_out: bool, residual: bool) -> Val:
    """The address of a function that stores rows of 32 sums at y, of which so many columns are
    wanted; `row` elements lie between rows of y and of the residual, which is bytes."""
    f = m.fn(f"{name}_tail", SIGNATURE, linkage="internal", attrs="noinline")
    c, rows, columns, scale, bias, added, y, row, low, high, zero, added_scale = f.args
    elem = "i8" if bytes_out else "float"
    scales, biases = (
        [f.load("<16 x float>", f.at(p, j * PANEL)) for j in range(2)] for p in (scale, bias)
    )
    low, high, added_scale, to_zero = (
        f.splat(x, PANEL) for x in (low, high, added_scale, zero - MAGIC_BITS)
    )

    def values(i: Val, more: list[Val]) -> Val:
        found = []
        for j in range(2):
            total = f.load("<16 x i32>", f.at(f.at(c, i * WIDE, "i32"), j * PANEL, "i32"))
            v = f.conv("sitofp", total, "float") * scales[j] + biases[j]
            if more:
                v = v + f.conv("sitofp", f.conv("zext", more[j], "i32"), "float") * added_scale
            v = f.sel(f.cmp("olt", v, low), low, v)
            v = f.sel(f.cmp("ogt", v, high), high, v)
            if bytes_out:
                v = f.bitcast(v + MAGIC, "<16 x i32>") + to_zero
            found.append(v)
        both = f.shuffle(found[0], found[1], range(WIDE))
        return f.conv("trunc", both, "i8") if bytes_out else both

    def whole(i: Val) -> None:
        more = (
            [f.load("<16 x i8>", f.bytes_at(added, i * row + j * PANEL)) for j in range(2)]
            if residual
            else []
        )
        f.store(values(i, more), f.at(y, i * row, elem))

    def some() -> None:
        here = f.alloca("i8", WIDE)
        there = f.alloca(elem, WIDE)

        def one(i: Val) -> None:
            if residual and wide_masks():
                mask = first_lanes(f, columns, WIDE)
                f.store(f.mload(f"<{WIDE} x i8>", f.bytes_at(added, i * row), mask), here)
            elif residual:
                copy(f, here, f.bytes_at(added, i * row), columns, "i8")
            more = (
                [f.load("<16 x i8>", f.bytes_at(here, j * PANEL)) for j in range(2)]
                if residual
                else []
            )
            v = values(i, more)
            if m.brief or wide_masks():
                f.mstore(v, f.at(y, i * row, elem), first_lanes(f, columns, WIDE))
            else:
                f.store(v, there)
                copy(f, f.at(y, i * row, elem), there, columns, elem)

        f.loop(0, rows, 1, one)

    f.if_(f.cmp("sge", columns, WIDE), lambda: f.loop(0, rows, 1, whole) and None, lambda: some())
    return Val(f, f"@{name}_tail", "ptr")


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
