"""Boxes of a tensor: a range of indices in each dimension, possibly with a step.

What is copied to parts of a tensor is copied to boxes. Where these overlap, or interleave, the
tensor falls into cells, each of which has the elements of one copy.
"""
from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from whet.ir.memory_spans import address
from whet.ir.row_layout import Shape
from whet.ir.values import Array

CELLS = 256                      # that the cuts of all moves make
# the first element, one after the last one, and the step
Range: TypeAlias = tuple[int, int, int]
Box: TypeAlias = tuple[Range, ...]               # a range of each dimension


def box_of(out: Array, part: Array) -> tuple[Box, list[bool]] | None:
    """(The box of a row-major array that a view of it shows, for each dimension whether the view
    has it); None where it shows no box."""
    at, box, kept, d = address(part) - address(out), [], [], 0
    for n, step in zip(out.shape, out.strides):
        first = at // step if n > 1 else 0
        at -= first * step
        has = d < part.ndim and (part.strides[d] > 0 == part.strides[d] % step
                                 or part.shape[d] == 1 == n)
        count = part.shape[d] if has else 1
        apart = part.strides[d] // step if count > 1 else 1
        box.append((first, first + (count - 1) * apart + 1, apart))
        kept.append(has)
        d += has
    if at or any(stop > n for (_, stop, _), n in zip(box, out.shape)):
        return None
    there = out[(*[slice(*b) if k else b[0] for b, k in zip(box, kept)], ...)]
    same = there.shape == part.shape and address(there) == address(part) and all(
        n == 1 or s == t for n, s, t in zip(part.shape, part.strides, there.strides))
    return (tuple(box), kept) if same else None


def boxes_of(
    shape: Shape, movers: Sequence[Sequence[Box]]
) -> list[tuple[Box, tuple[int, ...]]] | None:
    """The boxes in which each move is one copy, as (box, which copy of each); None where there
    are too many, or something is not filled."""
    lines = [_Line.of(n, [b[d] for boxes in movers for b in boxes]) for d, n in enumerate(shape)]
    if None in lines:
        return None
    dims = [x for x in lines if x is not None]
    sizes, periods = [len(x.cuts) - 1 for x in dims], [x.period for x in dims]
    if prod(sizes) * prod(periods) > CELLS:
        return None
    which: Array = np.full((*periods, *sizes, len(movers)), -1)
    for k, boxes in enumerate(movers):
        for j, ranges in enumerate(boxes):  # what is copied later overwrites the rest
            there: Any = [x.cells(r) for x, r in zip(dims, ranges)]
            which[(*[a for a, _ in there], *[b for _, b in there], k)] = j
    found = []
    for phases in np.ndindex(*periods):
        done = np.zeros(sizes, bool)
        for d, (x, phase) in enumerate(zip(dims, phases)):
            if x.is_short(phase):            # the last cell is beyond the end
                last: list[slice | int] = [slice(None)] * d + [-1]
                done[tuple(last)] = True
        if (which[phases][~done] < 0).any():
            return None
        for cells, moved in _merged(which[phases], done):
            found.append((tuple([x.range(*c, i) for x, c, i in zip(dims, cells, phases)]), moved))
    return found


def _merged(which: Array, done: Array) -> list[tuple[list[tuple[int, int]], tuple[int, ...]]]:
    """Cells as few blocks of such as have the same copies: (the first and one after the last cell
    of each dimension, which copy of each move). `which` has the copies of each cell; cells that
    are `done` are in no block."""
    found, sizes = [], done.shape
    for cell in np.ndindex(*sizes):
        if done[cell]:
            continue
        box = [slice(i, i + 1) for i in cell]
        for d in reversed(range(len(sizes))):
            while box[d].stop < sizes[d]:
                beside = tuple([*box[:d], slice(box[d].stop, box[d].stop + 1), *box[d + 1:]])
                if done[beside].any() or (which[beside] != which[cell]).any():
                    break
                box[d] = slice(box[d].start, box[d].stop + 1)
        done[tuple(box)] = True
        found.append(([(b.start, b.stop) for b in box], tuple(which[cell])))
    return found


class _Line(NamedTuple):
    """A dimension of so many elements, as `period` interleaved phases, each of which is cut into
    cells at the same places."""
    length: int
    period: int
    cuts: list[int]

    @classmethod
    def of(cls, n: int, ranges: Sequence[Range]) -> _Line | None:
        """The line of n elements of whose cells each of these ranges consists; None where there is
        none."""
        steps = {step for _, _, step in ranges} - {1}
        if len(steps) > 1:
            return None
        line = cls(n, steps.pop() if steps else 1, [])
        p, cuts = line.period, {0, n // line.period, -(-n // line.period)}
        for a, b, step in ranges:
            if step == 1 and b - a > 1 and (a % p or b % p and b != n):
                return None
            cuts.update((a // p, (b - 1) // p + 1))
        return line._replace(cuts=sorted(cuts))

    def cells(self, r: Range) -> tuple[slice, slice]:
        """The phases and the cells of a range."""
        a, b, step = r
        cells = slice(self.cut(a // self.period), self.cut((b - 1) // self.period + 1))
        one = step == self.period or b - a == 1
        return slice(a % self.period, a % self.period + 1) if one else slice(None), cells

    def cut(self, at: int) -> int:
        """The number of a cut."""
        return bisect_left(self.cuts, at)

    def is_short(self, phase: int) -> bool:
        """Has a phase one element less than others?"""
        return 0 < self.length % self.period <= phase

    def range(self, first: int, last: int, phase: int) -> Range:
        """Some cells of a phase as a range of elements."""
        a, b, p = self.cuts[first], self.cuts[last], self.period
        return a * p + phase, (b - 1) * p + phase + 1, p


def _count(r: Range) -> int:
    a, b, step = r
    return (b - a + step - 1) // step


def elements(box: Box) -> int:
    """How many elements a box has."""
    return prod(map(_count, box))


def run_of(box: Box, shape: Shape) -> int:
    """The number of elements of a box that are at one distance from each other."""
    run = 1
    for r, n in zip(reversed(box), reversed(shape)):
        if r[2] > 1 and run > 1:
            break
        run *= _count(r)
        if _count(r) != n:
            break
    return run
