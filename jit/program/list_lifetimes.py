"""When a list of launches uses which memory. A check can then provide memory for a part of the list
at a time, and take it away afterwards.

Times are words of the list. A window ends before the word that it names."""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from .arena import room_of
from .launch_entries import Moving
from .launch_lists import Launched, Step


class Window(NamedTuple):
    """When the memory of a value is in use. `first`: where the first launch begins that may write
    to it or, for memory that a call allocates, that uses it. `final`: after the last launch that
    may write to it. `last`: after the last launch that uses it."""
    value: int
    first: int
    final: int
    last: int


class Lodger(NamedTuple):
    """Bytes of the arena that are in use from the word `first` to the word `last`."""
    first: int
    last: int
    low: int
    high: int


class Windows(NamedTuple):
    """When a program, which is one list of launches, uses which memory. `changed`: inputs that it
    writes to. `made`: memory that a call allocates. `lodgers`: what is in that memory before the
    results."""
    changed: list[Window]
    made: list[Window]
    lodgers: list[Lodger]


class _Times:
    """Which steps use which moving memory, by root. `wrote`: the steps that write to it. `own`:
    those that use it as its own value. `lent`: the intervals in which the arena uses it."""

    def __init__(self, steps: Sequence[Step], moving: Sequence[int]) -> None:
        self.wrote: dict[int, list[int]] = {}
        self.own: dict[int, list[int]] = {}
        self.lent: dict[int, list[tuple[int, int]]] = {}
        for i, step in enumerate(steps):
            if isinstance(step, Launched):
                own = {a.position for e in step.entries for a in e.all_arguments()
                       if type(a) is Moving}
                for found, positions in (self.wrote, step.changes), (self.own, own):
                    for p in positions:
                        found.setdefault(moving[p], []).append(i)
        for p in pieces_of(steps):
            if p.room is not None:
                self.lent.setdefault(moving[p.room], []).append((p.first, p.last))

    def spans(self, root: int) -> list[tuple[int, int]]:
        """The intervals of steps in which the memory of a root holds something. Intervals that meet
        are merged."""
        own = self.own[root]
        out: list[tuple[int, int]] = []
        for first, last in sorted([*self.lent.get(root, ()), (own[0], own[-1])]):
            if out and first <= out[-1][1]:
                first, last = out[-1][0], max(out.pop()[1], last)
            out.append((first, last))
        return out


def windows_of(steps: Sequence[Step], moving: Sequence[int], changed: Iterable[int],
               made: Iterable[int]) -> Windows:
    """The windows of a program's steps. `moving`: the roots by position. `changed` and `made`: the
    roots that are inputs written to, and those that a call allocates."""
    ends = [*accumulate(words_of(step) for step in steps)]
    begins, times = [0, *ends], _Times(steps, moving)

    def window(root: int, first: int, last: int) -> Window:
        final = max((i for i in times.wrote.get(root, ()) if i <= last), default=last)
        return Window(root, begins[first], ends[max(first, final)], ends[last])
    return Windows(
        [window(r, times.wrote[r][0], times.own[r][-1]) for r in changed if r in times.wrote],
        [window(r, *span) for r in made if r in times.own for span in times.spans(r)],
        [Lodger(begins[p.first], ends[p.last], p.offset, p.offset + room_of(p.size))
         for p in pieces_of(steps) if p.room is None])


def pieces_of(steps: Iterable[Step]) -> Iterable[Any]:
    """The pieces of the arena that steps use."""
    return {id(p): p for step in steps for p in step.pieces()}.values()


def words_of(step: Step) -> int:
    """The number of words that a step takes in the list."""
    return sum(e.size for e in step.entries) if isinstance(step, Launched) else 0
