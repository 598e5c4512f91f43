"""Rows made of pieces of equal length, which may lie anywhere in memory.

A block that spans several pieces is first copied into contiguous scratch memory. What it stores is
copied back afterwards.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

from whet.ir.rows import BLOCK, LANES
from whet.passes.lower_llvm.builder import vec
from whet.passes.lower_llvm.rows.lanes import SIZE
from whet.passes.lower_llvm.scalar import MEMORY

if TYPE_CHECKING:
    from whet.passes.lower_llvm.builder import Fn, Val


class Strip(NamedTuple):
    """One row of an operand or an output: where its first piece begins, the stride from piece to
    piece in bytes, the element type, and scratch memory for a block."""
    base: Val
    stride: Val
    dtype: str
    scratch: Val


class Block:
    """The elements from `first` to `end` of a row that is contiguous in memory."""

    def __init__(self, first: Val, end: Val) -> None:
        self.first, self.end = first, end
        # For the operands and outputs of rows in pieces: where the row would begin if all of it
        # were contiguous with this block.
        self.operands: dict[int, Val] = {}
        self.outputs: dict[int, Val] = {}

    def copy_back(self) -> None:
        """Copy stored elements from scratch memory to where they belong."""


class BlockInPieces(Block):
    """A block of a row that is stored in pieces. A block that may span several of them is copied
    through scratch memory; any other is read and written in place."""

    def __init__(self, f: Fn, piece: Val, lanes: int, first: Val, end: Val,
                 spans_pieces: bool) -> None:
        super().__init__(first, end)
        self.f, self.piece, self.lanes = f, piece, lanes
        self.is_in_one: Val | None = None
        if spans_pieces:
            at = first - f.udiv(first, piece) * piece
            self.is_in_one = f.cmp("sle", at + (end - first), piece)
        self.stored: dict[int, Strip] = {}

    def read(self, operands: Iterable[tuple[int, Strip]]) -> None:
        """Make these operands readable as contiguous rows."""
        for a, strip in operands:
            self.operands[a] = self.begin(strip, copy=True)

    def write(self, outputs: Iterable[tuple[int, Strip]]) -> None:
        """Make these outputs writable as contiguous rows."""
        for j, strip in outputs:
            self.outputs[j], self.stored[j] = self.begin(strip, copy=False), strip

    def begin(self, strip: Strip, copy: bool) -> Val:
        """Where the row would begin. With `copy`, scratch memory gets the block's elements."""
        f, size = self.f, SIZE[strip.dtype]

        def in_place() -> list[Val]:
            number = f.udiv(self.first, self.piece)
            return [f.bytes_at(strip.base, number * strip.stride - number * self.piece * size)]

        def in_scratch() -> list[Val]:
            if copy:
                self.move(strip, lambda piece, scratch: (piece, scratch))
            return [f.bytes_at(strip.scratch, 0 - self.first * size)]
        return (in_place() if self.is_in_one is None
                else f.if_(self.is_in_one, in_place, in_scratch))[0]

    def copy_back(self) -> None:
        if self.is_in_one is None:
            return
        for strip in self.stored.values():
            self.f.if_(~self.is_in_one,
                       lambda: self.move(strip, lambda piece, scratch: (scratch, piece)))

    def move(self, strip: Strip, ways: Callable[[Val, Val], tuple[Val, Val]]) -> None:
        """Copy the block's elements between the pieces and scratch memory; `ways(piece, scratch)`
        is (from, to)."""
        f, size, ty = self.f, SIZE[strip.dtype], vec(MEMORY[strip.dtype], self.lanes)

        def piece(at: Val) -> list[Val]:
            number = f.udiv(at, self.piece)
            first = at - number * self.piece
            count = f.imin(self.piece - first, self.end - at)
            p, q = ways(f.bytes_at(strip.base, number * strip.stride + first * size),
                        f.bytes_at(strip.scratch, (at - self.first) * size))
            whole = count & -self.lanes
            f.loop(0, whole, self.lanes,
                   lambda i: f.store(f.load(ty, f.bytes_at(p, i * size)), f.bytes_at(q, i * size)))

            def rest(i: Val) -> None:
                mask = f.lanes_below(count - i, self.lanes)
                f.put(mask, (f.mload(ty, f.bytes_at(p, i * size), mask), f.bytes_at(q, i * size)))
            f.loop(whole, count, self.lanes, rest)
            return [at + count]
        f.while_(lambda at: f.cmp("slt", at, self.end), piece, [self.first])


class Pieces:
    """The pieces of a kernel's rows: their length, and scratch memory for a block of each full
    operand and output."""

    def __init__(self, f: Fn, length: Val, operands: Iterable[tuple[int, str]],
                 outputs: Iterable[tuple[int, str]]) -> None:
        self.f, self.length = f, length
        self.operands = {i: f.alloca(MEMORY[t], BLOCK + LANES) for i, t in operands}
        self.outputs = {j: f.alloca(MEMORY[t], BLOCK + LANES) for j, t in outputs}

    def end_of(self, at: Val, end: Val) -> Val:
        """The end of the piece that element `at` is in, or of the row."""
        left = self.length - (at - self.f.udiv(at, self.length) * self.length)
        return at + self.f.imin(left, end - at)
