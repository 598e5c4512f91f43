"""What row programs find out of a row, as Triton source: sums and products in the canonical order,
extrema and their positions; also where parts of a row are walked by programs of their own."""
from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from whet.ir import scalar as S
from whet.ir.rows import IDENTITY, INDEXED, LANES, SUMS
from whet.passes.lower_llvm.builder import Val
from whet.passes.lower_llvm.scalar import is_float, is_signed

from . import scalar
from .builder import TYPE, Code

if TYPE_CHECKING:
    from whet.ir.expressions import Expr

    from .rows import _Rows


def reduction(rows: _Rows, k: int, kind: str, root: Expr) -> Reduction:
    """What stage k of a program finds out of the elements of an expression."""
    if kind in SUMS:
        return Sum(rows, k, kind, root)
    return (Position if kind in INDEXED else Extreme)(rows, k, kind, root)


class Reduction:
    """Lines for what a stage finds out of a row, while the row is walked."""

    def __init__(self, rows: _Rows, k: int, kind: str, root: Expr) -> None:
        self.rows, self.f, self.k, self.kind, self.root = rows, rows.f, k, kind, root
        self.dtype = rows.program.values[rows.program.results[k]].dtype
        self.ty, self.name = scalar.COMPUTE[self.dtype], f"r{rows.program.results[k]}"

    def start(self, shape: Sequence[int]) -> None:
        """The state of no elements."""
        raise NotImplementedError

    def step(self, x: Val, mask: str) -> None:
        """The state after more elements."""
        raise NotImplementedError

    def end(self, shape: Sequence[int]) -> list[Val | None]:
        """The results, None for one that is not wanted."""
        raise NotImplementedError

    # ---- where rows are cut into parts
    @property
    def parts(self) -> list[tuple[str, str, float]]:
        """What is kept of a part: (name, type, what it is of no elements) of each number."""
        raise NotImplementedError

    def keep(self, shape: Sequence[int]) -> list[str]:
        """The numbers of a part that was walked."""
        raise NotImplementedError

    def join_parts(self, kept: Sequence[str], shape: Sequence[int]) -> list[Val | None]:
        """The results, of the numbers of all parts."""
        raise NotImplementedError


class Sum(Reduction):
    """sum, prod"""
    def __init__(self, rows: _Rows, k: int, kind: str, root: Expr) -> None:
        super().__init__(rows, k, kind, root)
        self.none = self.f.const(self.ty, IDENTITY[self.kind])

    def start(self, shape: Sequence[int]) -> None:
        self.f.line(f"{self.name} = tl.full({shape}, {self.none.value}, {TYPE[self.ty]})")

    def step(self, x: Val, mask: str) -> None:
        self.f.line(
            f"{self.name} {'+' if self.kind == 'sum' else '*'}= tl.where({mask}, {x.ref}, "
            f"{self.none.ref})")

    def two(self, x: str, shape: Sequence[int], axis: int) -> str:
        """Pairs along an axis of two, combined."""
        x = f"tl.reshape({x}, {shape})"
        if self.kind == "sum":
            return f"tl.sum({x}, {axis})"
        self.f.mod.helpers.setdefault("times", (self.ty, "def times(a, b):\n    return a * b\n"))
        return f"tl.reduce({x}, {axis}, times)"

    def fold(self) -> None:
        """Lanes by halves, then blocks in pairs."""
        f, t, h, total = self.f, self.rows.tile, LANES // 2, f"{self.name}_sum"
        f.line(f"{total} = {self.two(self.name, [t.rows, t.blocks, 2, h], 2)}")
        while h > 1:
            h //= 2
            f.line(f"{total} = {self.two(total, [t.rows, t.blocks, 2, h], 2)}")

        count = t.blocks
        while count > 1:
            count //= 2
            f.line(f"{total} = {self.two(total, [t.rows, count, 2], 2)}")
        f.line(f"{total} = tl.reshape({total}, [{t.rows}, 1, 1])")

    # ---- chunks: level l holds the result of 2^l of them, in the order of a binary counter
    @property
    def levels(self) -> list[str]:
        return [f"{self.name}_{l}" for l in range(self.rows.tile.chunks.bit_length())]

    def join(self, a: str, b: str) -> str:
        return f"{a} {'+' if self.kind == 'sum' else '*'} {b}"

    def start_chunks(self) -> None:
        for level in self.levels:
            self.f.line(
                f"{level} = tl.full([{self.rows.tile.rows}, 1, 1], {self.none.value}, "
                f"{TYPE[self.ty]})")

    def put_chunk(self) -> None:
        f, total = self.f, f"{self.name}_sum"
        for l, level in enumerate(self.levels):
            mask, free = (2 << l) - 1, (1 << l) - 1
            f.line(f"{level} = tl.where(chunk & {mask} == {free}, {total}, {level})")
            f.line(
                f"{total} = tl.where(chunk & {mask} == {mask}, {self.join(level, total)}, {total})")

    def fold_chunks(self) -> None:
        f, (total, *levels) = self.f, self.levels
        for l, level in enumerate(levels, 1):
            both = f.v(
                self.ty,
                f"tl.where(chunks & {(1 << l) - 1} != 0, {self.join(level, total)}, {level})").ref
            total = f.v(self.ty, f"tl.where(chunks & {1 << l} != 0, {both}, {total})").ref
        f.line(f"{self.name}_sum = {total}")

    def end(self, shape: Sequence[int]) -> list[Val | None]:
        return [Val(self.f, f"{self.name}_sum", self.ty)]

    @property
    def parts(self) -> list[tuple[str, str, float]]:
        return [(self.name, self.ty, self.none.value)]

    def keep(self, shape: Sequence[int]) -> list[str]:
        return [f"{self.name}_sum"]

    def join_parts(self, kept: Sequence[str], shape: Sequence[int]) -> list[Val | None]:
        (total,), (rows, _, count) = kept, shape
        while count > 1:
            count //= 2
            self.f.line(f"{self.name}_sum = {self.two(total, [rows, count, 2], 2)}")
            total = f"{self.name}_sum"
        return [self.f.v(self.ty, f"tl.reshape({total}, [{rows}, 1, 1])")]


class Extreme(Reduction):
    """max, min, any, all: of integers in the same order."""
    def __init__(self, rows: _Rows, k: int, kind: str, root: Expr) -> None:
        super().__init__(rows, k, kind, root)
        self.max = self.kind in ("max", "any", "max_index")
        self.int = "i64" if self.ty in ("double", "i64") else "i32"
        # to the order of the signed integers of its size
        self.flip = self.dtype in ("u32", "u64")
        self.top = -1 << int(self.int[1:]) - 1
        self.suffix = {"i1": "bool", "float": "f32", "double": "f64"}.get(self.ty, self.dtype)

    def key(self, x: Val) -> Val:
        """An integer for an element."""
        if not is_float(self.dtype):
            wide = self.f.conv("sext" if is_signed(self.dtype) else "zext", x, self.int)
            return wide ^ self.top if self.flip else wide
        side = "high" if self.max else "low"
        if self.kind in INDEXED:
            x = x + 0.0                                     # the zeros are equal
        return scalar.call(self.f,
                           f"order_{self.suffix}_nan_{side}",
                           partial(_order, nan=~self.top if self.max else self.top),
                           x)

    def value(self, x: Val) -> Val:
        if not is_float(self.dtype):
            x = x ^ self.top if self.flip else x
            return self.f.cmp("ne", x, 0) if self.ty == "i1" else self.f.conv("trunc", x, self.ty)
        return scalar.call(self.f, f"unorder_{self.suffix}", _unorder, x)

    @property
    def worst(self) -> int:
        """The key of the least (or greatest) number of the type."""
        if is_float(self.dtype):
            return _ordered_infinity(self.ty, self.max)
        low, high = _range(self.dtype)
        if self.flip:
            low, high = self.top, ~self.top
        return low if self.max else high

    def start(self, shape: Sequence[int]) -> None:
        self.f.line(f"{self.name} = tl.full({shape}, {self.worst}, {TYPE[self.int]})")

    def masked(self, x: Val, mask: str) -> Val:
        return self.f.sel(Val(self.f, mask, "i1"), self.key(x), self.worst)

    def step(self, x: Val, mask: str) -> None:
        self.f.line(
            f"{self.name} = tl.{'max' if self.max else 'min'}imum({self.name}, "
            f"{self.masked(x, mask).ref})")

    def best(self, x: str, shape: Sequence[int], least: bool = False) -> str:
        rows = shape[0]
        return (
            f"tl.reshape(tl.{'min' if least or not self.max else 'max'}(tl.reshape({x}, [{rows}, "
            f"{math.prod(shape[1:])}]), 1), [{rows}, 1, 1])")

    def end(self, shape: Sequence[int]) -> list[Val | None]:
        return [self.value(self.f.v(self.int, self.best(self.name, shape)))]

    @property
    def parts(self) -> list[tuple[str, str, float]]:
        return [(self.name, self.int, self.worst)]

    def keep(self, shape: Sequence[int]) -> list[str]:
        return [self.best(self.name, shape)]

    def join_parts(self, kept: Sequence[str], shape: Sequence[int]) -> list[Val | None]:
        return [self.value(self.f.v(self.int, self.best(kept[0], shape)))]


class Position(Extreme):
    """max_index, min_index: the best of each place in the tile and where it came first."""
    def start(self, shape: Sequence[int]) -> None:
        super().start(shape)
        self.f.line(
            f"{self.name}_at = tl.full({shape}, 0, "
            f"{'tl.int64' if self.rows.number == 'i64' else 'tl.int32'})")

    def step(self, x: Val, mask: str) -> None:
        f, key = self.f, self.masked(x, mask)
        better = f.v("i1", f"{key.ref} {'>' if self.max else '<'} {self.name}")
        f.line(f"{self.name} = tl.where({better.ref}, {key.ref}, {self.name})")
        f.line(f"{self.name}_at = tl.where({better.ref}, i, {self.name}_at)")

    @property
    def parts(self) -> list[tuple[str, str, float]]:
        return [*super().parts, (f"{self.name}_at", self.rows.number, 0)]

    def keep(self, shape: Sequence[int]) -> list[str]:
        at = self.first_best(self.name, f"{self.name}_at", shape).ref
        return [f"{self.name}_best", at]

    def join_parts(self, kept: Sequence[str], shape: Sequence[int]) -> list[Val | None]:
        keys, spots = kept
        return self.found(self.first_best(keys, spots, shape))

    def end(self, shape: Sequence[int]) -> list[Val | None]:
        return self.found(self.first_best(self.name, f"{self.name}_at", shape))

    def first_best(self, keys: str, spots: str, shape: Sequence[int]) -> Val:
        """Where the best of keys came first."""
        f, number = self.f, self.rows.number
        f.line(f"{self.name}_best = {self.best(keys, shape)}")
        none = f.const(number, (1 << int(number[1:]) - 1) - 1).ref
        f.line(f"{self.name}_spots = tl.where({keys} == {self.name}_best, {spots}, {none})")
        return f.v(number, self.best(f"{self.name}_spots", shape, least=True))

    def found(self, at: Val) -> list[Val | None]:
        """The results for a position."""
        f, rows = self.f, self.rows
        result = rows.program.results[self.k]
        wanted = any(result in S.uses(s.expr) for s in rows.program.stages)
        value = None
        if wanted:
            x = rows.element(self.root, at.ref)
            empty = (float("-inf" if self.max else "inf")
                     if is_float(self.dtype) else _range(self.dtype)[not self.max])
            value = f.sel(f.cmp("sgt", Val(f, "n", rows.number), 0), x, empty)
        return [value, f.v("i64", f"{at.ref}.to(tl.int64)")]


def _range(t: str) -> tuple[int, int]:
    """The least and the greatest integer of a type."""
    if t == "bool":
        return 0, 1
    bits = int(t[1:])
    return (-1 << bits - 1, (1 << bits - 1) - 1) if is_signed(t) else (0, (1 << bits) - 1)


def _order(f: Code, x: Val, nan: int) -> Val:
    """Bits as an integer that orders floats: negative ones turned, NaN at the end."""
    elem = {"float": "i32", "double": "i64"}[x.ty]
    bits = f.conv("bitcast", x, elem)
    key = bits ^ ((bits >> int(elem[1:]) - 1) & (1 << int(elem[1:]) - 1) - 1)
    return f.sel(f.cmp("uno", x, x), nan, key)


def _unorder(f: Code, key: Val) -> Val:
    bits = key ^ ((key >> int(key.ty[1:]) - 1) & (1 << int(key.ty[1:]) - 1) - 1)
    return f.conv("bitcast", bits, {"i32": "float", "i64": "double"}[key.ty])


def _ordered_infinity(ty: str, negative: bool) -> int:
    high = {"float": 0x7F800000, "double": 0x7FF0000000000000}[ty]
    return -high - 1 if negative else high
