"""How the elements of a kernel's operands are read and written: side by side, a stride apart, or
one for all lanes.

An element's value is a vector of what it is computed in, or, where it is a complex number, two:
vectors of real and of imaginary parts. In memory these lie in turns.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from whet.ir.expressions import REAL_OF

from .. import scalar, targets
from ..builder import BYTES, Fn, Val, vec
from ..shuffles import columns, consecutive, load_columns, store_apart

Strides: TypeAlias = Sequence[Any]  # of each operand: a value, or None where its access needs none
Value: TypeAlias = tuple[Val, ...]           # of an element, for each lane


def apart(access: str) -> bool:
    """Do elements lie a stride apart?"""
    return access in ("g", "r") or access.isdigit()


def one_by_one(access: str) -> bool:
    """Do elements come one by one?"""
    return apart(access) and access != "r"


class Operands:
    """The operands of a kernel, with their types. `units`: the type of an element's bits. `sizes`:
    its bytes."""

    def __init__(self, f: Fn, dtypes: Sequence[str], lanes: int) -> None:
        self.f, self.dtypes, self.lanes = f, dtypes, lanes
        self.units = [scalar.MEMORY[t] for t in dtypes]
        self.sizes = [scalar.BYTES[m] for m in self.units]

    def part(self, k: int) -> str | None:
        """What a part of a complex element is; None where elements are real."""
        return scalar.MEMORY[REAL_OF[self.dtypes[k]]] if self.dtypes[k] in REAL_OF else None

    def alignment(self, k: int) -> int:
        """The bytes by which addresses of an operand's elements can be divided."""
        return BYTES[self.part(k) or self.units[k]]

    def unread(self, k: int) -> Value:
        """Something for an operand whose elements are not read."""
        kind = self.part(k) or scalar.COMPUTE[self.dtypes[k]]
        return (self.f.const(vec(kind, self.lanes), 0),) * (2 if self.part(k) else 1)

    def loads(self, pointers: Sequence[Val], strides: Strides, access: str,
              used: Iterable[int]) -> Callable[..., Value]:
        """How to load each operand of `used` at an element: a function of the operand, the
        element and the mask."""
        f = self.f
        same = {k: tuple(f.splat(x, self.lanes) for x in self.one(k, pointers[k]))
                for k in used if access[k] == "s"}

        def load(k: int, i: Val, mask: Val | None) -> Value:
            if access[k] == "s":
                return same[k]
            if self.part(k):
                return self.load_parts(pointers, strides, access[k], k, i, mask)
            ty = vec(self.units[k], self.lanes)
            if access[k] == "r":
                at = self.backwards(pointers, k, i)
                back = f.load(ty, at) if mask is None else f.mload(ty, at, self.reversed(mask))
                x = self.reversed(back)
            elif access[k].isdigit() and mask is None:
                x, = load_columns(f, ty, f.bytes_at(pointers[k], i * strides[k]), int(access[k]))
            elif apart(access[k]) and mask is None:
                x = f.const(ty, 0)
                for lane, p in enumerate(self.one_by_one(pointers, strides, k, i)):
                    x = f.insert(x, f.load(self.units[k], p), lane)
            elif apart(access[k]):
                x = f.gather(ty, self.addresses(pointers, strides, k, i), mask)
            else:
                at = f.at(pointers[k], i, self.units[k])
                x = f.load(ty, at) if mask is None else f.mload(ty, at, mask)
            return (scalar.widen(f, x, self.dtypes[k]),)
        return load

    def one(self, k: int, p: Val) -> Value:
        """The value of one element."""
        f, part = self.f, self.part(k)
        if part:
            return f.load(part, p), f.load(part, f.at(p, 1, part))
        return (scalar.widen(f, f.load(self.units[k], p), self.dtypes[k]),)

    def load_parts(self, pointers: Sequence[Val], strides: Strides, access: str, k: int, i: Val,
                   mask: Val | None) -> Value:
        f, lanes, part = self.f, self.lanes, self.part(k)
        assert part is not None
        ty = vec(part, lanes)
        if not apart(access):
            at = f.at(pointers[k], i, self.units[k])
            if mask is None:
                halves = [f.load(ty, p) for p in (at, f.at(at, lanes, part))]
            else:
                halves = [f.mload(ty, f.at(at, h * lanes, part), m)
                          for h, m in enumerate(self.twice(mask))]
            return tuple(columns(f, halves))
        if mask is not None:
            to = self.addresses(pointers, strides, k, i)
            behind = f.v(to.ty, f"getelementptr {part}, {to!r}, i64 1")
            return f.gather(ty, to, mask), f.gather(ty, behind, mask)
        if access.isdigit():
            return tuple(load_columns(f, ty, f.bytes_at(pointers[k], i * strides[k]),
                                      2 * int(access), 2))
        real = imag = f.const(ty, 0)
        for lane, p in enumerate(self.one_by_one(pointers, strides, k, i)):
            a, b = self.one(k, p)
            real, imag = f.insert(real, a, lane), f.insert(imag, b, lane)
        return real, imag

    def stores(self, pointers: Sequence[Val], strides: Strides, access: str) -> Callable[..., None]:
        """How to store to each operand at an element: a function of the operand, the element, the
        value in its form in memory, the mask, and whether it goes past the cache."""
        f, lanes = self.f, self.lanes

        def store(k: int, i: Val, value: Value, mask: Val | None, stream: bool) -> None:
            if self.part(k):
                self.store_parts(pointers, strides, access[k], k, i, value, mask, stream)
                return
            x, = value
            if access[k] == "r":
                at, back = self.backwards(pointers, k, i), self.reversed(x)
                if mask is None:
                    f.store(back, at)
                else:
                    f.mstore(back, at, self.reversed(mask))
            # Masks are slow on other targets.
            elif access[k].isdigit() and mask is None and targets.current().name == "avx512":
                store_apart(f, x, f.bytes_at(pointers[k], i * strides[k]), int(access[k]))
            elif apart(access[k]) and mask is None:
                for lane, p in enumerate(self.one_by_one(pointers, strides, k, i)):
                    f.store(f.extract(x, lane), p)
            elif apart(access[k]):
                f.scatter(x, self.addresses(pointers, strides, k, i), mask)
            else:
                at = f.at(pointers[k], i, self.units[k])
                if mask is not None:
                    f.put(mask, (x, at))
                else:
                    f.store(x, at, lanes * self.sizes[k] if stream else None, stream)
        return store

    def store_parts(self, pointers: Sequence[Val], strides: Strides, access: str, k: int, i: Val,
                    value: Value, mask: Val | None, stream: bool) -> None:
        f, lanes, part = self.f, self.lanes, self.part(k)
        assert part is not None
        if not apart(access):
            at = f.at(pointers[k], i, self.units[k])
            halves = [(x, f.at(at, h * lanes, part)) for h, x in enumerate(consecutive(f, value))]
            masks = self.twice(mask) if mask is not None else ()
            for (x, p), m in zip(halves, masks):
                f.put(m, (x, p))
            if mask is None:
                for x, p in halves:
                    f.store(x, p, lanes * BYTES[part] if stream else None, stream)
        elif mask is not None:
            to = self.addresses(pointers, strides, k, i)
            behind = f.v(to.ty, f"getelementptr {part}, {to!r}, i64 1")
            for x, addresses in zip(value, (to, behind)):
                f.scatter(x, addresses, mask)
        else:
            for lane, p in enumerate(self.one_by_one(pointers, strides, k, i)):
                for which, x in enumerate(value):
                    f.store(f.extract(x, lane), f.at(p, which, part))

    def twice(self, mask: Val) -> tuple[Val, Val]:
        """A mask of complex numbers as two masks of their interleaved parts."""
        f, lanes = self.f, self.lanes
        first = f.first.get(mask.ref)
        if first is not None:                # lanes 0, 1, ... up to some
            parts = first + first
            low, high = f.lanes_below(parts, lanes), f.lanes_below(parts - lanes, lanes)
            return low, high
        halves = [[(h * lanes + i) // 2 for i in range(lanes)] for h in range(2)]
        low, high = (f.shuffle(mask, None, index) for index in halves)
        return low, high

    def reversed(self, x: Val) -> Val:
        return self.f.shuffle(x, None, range(self.lanes - 1, -1, -1))

    def backwards(self, pointers: Sequence[Val], k: int, i: Val) -> Val:
        """Where the last of the elements from i on is, which is before all others."""
        return self.f.at(pointers[k], 0 - i - (self.lanes - 1), self.units[k])

    def addresses(self, pointers: Sequence[Val], strides: Strides, k: int,
                  i: Val) -> Val:
        f, lanes = self.f, self.lanes
        far = f.splat(i * strides[k], lanes) + f.iota("i64", lanes) * f.splat(strides[k], lanes)
        return f.v(f"<{lanes} x ptr>", f"getelementptr i8, ptr {pointers[k].ref}, {far!r}")

    def one_by_one(self, pointers: Sequence[Val], strides: Strides, k: int,
                   i: Val) -> Iterator[Any]:
        """The addresses one by one: a gather instruction is slower, and hides the stride from
        the prefetcher."""
        p = self.f.bytes_at(pointers[k], i * strides[k])
        for _ in range(self.lanes):
            yield p
            p = self.f.bytes_at(p, strides[k])
