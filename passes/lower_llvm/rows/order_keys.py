"""Keys: unsigned numbers in the order that elements of any type have.

Equal elements have equal keys (zeros of both signs, all NaNs); NaN is greater than everything.
Descending keys are the complement. Elements of up to 32 bits have keys of 32 bits, the others of
64.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from whet.passes.lower_llvm import targets
from whet.passes.lower_llvm.builder import BITS, vec
from whet.passes.lower_llvm.rows.lanes import SIZE, fold, load
from whet.passes.lower_llvm.scalar import COMPUTE, is_float, is_signed

if TYPE_CHECKING:
    from whet.passes.lower_llvm.builder import Fn, Val


def key_type(dtype: str) -> str:
    """The type of keys of elements."""
    return "i64" if SIZE[dtype] == 8 else "i32"


def key_of(f: Fn, dtype: str, x: Val) -> Val:
    """The keys of elements in computed form."""
    elem = key_type(dtype)
    ty, bits = vec(elem, x.lanes), BITS[elem]
    if is_float(dtype):
        u = f.bitcast(x + 0.0, ty)                                  # -0 + 0 is +0
        u = u ^ ((u >> (bits - 1)) | f.const(ty, -2**(bits - 1)))
        return f.sel(f.cmp("uno", x, x), f.const(ty, -1), u)
    x = f.conv("sext" if is_signed(dtype) else "zext", x, elem)
    return x ^ f.const(ty, -2**(bits - 1)) if is_signed(dtype) else x


def element_of(f: Fn, dtype: str, u: Val) -> Val:
    """The element that has this key, in computed form; of equal elements one of them."""
    bits = BITS[u.elem]
    if is_float(dtype):
        negative = f.cmp("sge", u, 0)
        u = f.sel(negative, ~u, u ^ f.const(u.ty, -2**(bits - 1)))
        return f.bitcast(u, vec(COMPUTE[dtype], u.lanes))
    if is_signed(dtype):
        u = u ^ f.const(u.ty, -2**(bits - 1))
    if dtype == "bool":
        return f.cmp("ne", u, 0)
    return f.conv("trunc", u, COMPUTE[dtype])


def is_shared(f: Fn, dtype: str, u: Val) -> Val:
    """Do elements that differ in their bits have this key? Zeros do, and NaNs."""
    if not is_float(dtype):
        return f.const("i1", 0)
    return f.cmp("eq", u, -2**(BITS[u.elem] - 1)) | f.cmp("eq", u, -1)


def joins(f: Fn, dtype: str, key: Val, before: Val) -> Val:
    """Are two elements equal, by their keys? NaN is equal to nothing."""
    same = f.cmp("eq", key, before)
    return same & f.cmp("ne", key, -1) if is_float(dtype) else same


class RowKeys:
    """The keys of a row in memory, some at a time."""

    def __init__(self, f: Fn, dtype: str, descending: bool = False) -> None:
        self.f, self.dtype, self.descending = f, dtype, descending
        self.elem = key_type(dtype)
        self.lanes = targets.current().lanes(BITS[self.elem] // 8)

    def at(self, row: Val, i: Val, lanes: int = 0) -> Val:
        """The keys of elements from i on; without lanes, of one."""
        f = self.f
        u = key_of(f, self.dtype, load(f, self.dtype, f.bytes_at(row, i * SIZE[self.dtype]), lanes))
        return ~u if self.descending else u

    def each(self, row: Val, n: Val, use: Callable[[Val, Val], None]) -> list[Val]:
        """Call `use(keys, i)` with vectors of keys, then with single ones. Returns (the least key,
        the greatest key, the number of NaN)."""
        f, W = self.f, self.lanes

        def group(lanes: int) -> Callable[..., list[Val]]:
            def one(i: Val, *seen: Val) -> list[Val]:
                u = self.at(row, i, lanes)
                use(u, i)
                return self._join(seen, [u, u, self._nan(u)])
            return one
        whole = n & -W
        seen = f.loop(0, whole, W, group(W), self._nothing(W))
        seen = fold(f, lambda f, a, b: self._join(a, b), [seen])
        low, high, nans = f.loop(whole, n, 1, group(0), seen)
        return [low, high, f.conv("zext", nans, "i64")]

    def _nothing(self, lanes: int) -> list[Val]:
        return [self.f.const(vec(self.elem, lanes), x) for x in (-1, 0, 0)]

    def _nan(self, u: Val) -> Val:
        """1 where keys are those of NaN."""
        f = self.f
        if not is_float(self.dtype):
            return f.const(u.ty, 0)
        return f.conv("zext", f.cmp("eq", u, 0 if self.descending else -1), self.elem)

    def _join(self, a: Sequence[Val], b: Sequence[Val]) -> list[Val]:
        f = self.f
        return [f.intr("umin", a[0], b[0]), f.intr("umax", a[1], b[1]), a[2] + b[2]]


def bit_length(f: Fn, x: Val) -> Val:
    """How many bits a number of 64 bits needs."""
    return 64 - f.intr("ctlz", x, f.const("i1", 0))
