"""What becomes of a sum of products of bytes: float32, or a byte again.

    v = float(sum) * scale + bias [+ float(residual) * residual_scale]
    v = most(least(v, high), low)                     then, for bytes:
    q = rounded(v) + zero                             to the nearest integer, half to even

Sums begin with `shift`, a whole number; it, `scale` and `bias` go by column. Each operation rounds
once; none are contracted. high is no less than low; they bound v to where adding 1.5 * 2**23
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
    """The address of a function that stores rows of 32 sums at y, as far as columns are wanted.
    `row` is the distance of rows in y and in the residual, which is bytes."""
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
        self.zero = f.splat(f.conv("trunc", zero, "i16"), WIDE)
        if bytes_out:
            least = f.conv("fptosi", f.rint(low), "i32") + zero
            self.lowest = f.splat(f.conv("trunc", least, "i8"), 2 * WIDE)

    def numbers(self, i: int | Val, more: list[Val]) -> list[Val]:
        """What becomes of the sums of row i, to which the bytes `more` are added, as floats
        that are `high` at most."""
        f, found = self.f, []
        for j in range(2):
            total = f.load("<16 x i32>", f.at(f.at(self.c, i * WIDE, "i32"), j * PANEL, "i32"))
            v = f.conv("sitofp", total, "float") * self.scales[j] + self.biases[j]
            if more:
                v = v + f.conv("sitofp", f.conv("zext", more[j], "i32"), "float") * self.added_scale
            found.append(f.sel(f.cmp("ogt", v, self.high), self.high, v))
        return found

    def values(self, i: Val, more: list[Val]) -> Val:
        """What becomes of the sums of row i, to which the bytes `more` are added, in the type of
        the results."""
        f, found = self.f, self.numbers(i, more)
        found = [f.sel(f.cmp("olt", v, self.low), self.low, v) for v in found]
        if self.bytes_out:
            found = [f.bitcast(v + MAGIC, "<16 x i32>") + self.to_zero for v in found]
        both = f.shuffle(found[0], found[1], range(WIDE))
        return f.conv("trunc", both, "i8") if self.bytes_out else both

    def two_rows(self, i: Val) -> None:
        """Rows i and i + 1 of bytes. Instructions that make numbers narrower take those of both by
        lanes of 16 bytes; a last one puts them in order. They keep what is too low at their lowest
        number, so the lowest byte that is wanted is seen to at the end."""
        f, words = self.f, list[Val]()
        for row in (i, i + 1):
            whole = [nearest(f, v) for v in self.numbers(row, self.residuals(row))]
            narrow = f.call("llvm.x86.avx512.packssdw.512", "<32 x i16>", *whole)
            words.append(narrow + self.zero)
        packed = f.call("llvm.x86.avx512.packuswb.512", "<64 x i8>", *words)
        found = f.bitcast(f.intr("umax", packed, self.lowest), "<16 x i32>")
        for k in range(2):
            order = [4 * lane + 2 * k + j for j in range(2) for lane in range(4)]
            f.store(f.shuffle(found, None, order), f.bytes_at(self.y, (i + k) * self.row), 1)

    def residuals(self, i: Val) -> list[Val]:
        """The bytes that are added to the sums of a row with all columns."""
        f = self.f
        if not self.residual:
            return []
        return [f.load("<16 x i8>", f.bytes_at(self.added, i * self.row + j * PANEL))
                for j in range(2)]

    def whole(self) -> None:
        """Rows with all columns."""
        f, done = self.f, self.f.const("i64", 0)
        if self.bytes_out and wide_masks() and not f.mod.brief:
            done = self.count & -2
            f.loop(0, done, 2, self.two_rows)

        def one(i: Val) -> None:
            f.store(self.values(i, self.residuals(i)), f.at(self.y, i * self.row, self.elem))
        f.loop(done, self.count, 1, one)

    def partial(self) -> None:
        """Rows with some of the columns."""
        f, columns, masks = self.f, self.columns, wide_masks()
        mask = first_lanes(f, columns, WIDE)
        here = f.alloca("i8", WIDE)
        there = f.alloca(self.elem, WIDE)

        def one(i: Val) -> None:
            more = []
            if self.residual:
                added = f.bytes_at(self.added, i * self.row)
                if masks:
                    f.store(f.mload(f"<{WIDE} x i8>", added, mask), here)
                else:
                    copy(f, here, added, columns, "i8")
                more = [f.load("<16 x i8>", f.bytes_at(here, j * PANEL)) for j in range(2)]
            v = self.values(i, more)
            if masks or f.mod.brief:
                f.mstore(v, f.at(self.y, i * self.row, self.elem), mask)
            else:
                f.store(v, there)
                copy(f, f.at(self.y, i * self.row, self.elem), there, columns, self.elem)
        f.loop(0, self.count, 1, one)


def nearest(f: Fn, v: Val) -> Val:
    """The nearest integers, half to even, on machines with wide vectors."""
    name, ty = "llvm.x86.avx512.mask.cvtps2dq.512", "<16 x i32>"
    f.mod.declare(name, ty, ["<16 x float>", ty, "i16", "i32 immarg"])
    # all lanes; 8: this rounding, whatever the machine is set to
    return f.v(ty, f"call {ty} @{name}({v.ty} {v.ref}, {ty} zeroinitializer, i16 -1, i32 8)")


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
