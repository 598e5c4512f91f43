"""When a run lets go of the gradients that were there before it.

A replay that finds a question answered otherwise is done again by eager mode, which makes the same
calls until then. If the run held an old gradient no more when the question came, nothing can read
it in that second run: the replay may have written over it.
"""
from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from whet.cpu import memory


def references(g: Any) -> tuple[int, ...]:
    """How often a gradient is held, its array, the memory of that, and what counts versions."""
    a, cell = g._array, g._cell
    return (sys.getrefcount(g), sys.getrefcount(a), sys.getrefcount(a.base),
            0 if cell is None else sys.getrefcount(cell))


class LetGo:
    """`since`: by the ids of tensors, how many nodes there were when the run was first seen to hold
    the tensor's old gradient no more. Only large ones are looked for."""
    __slots__ = ("waiting", "since")

    def __init__(self, tensors: Iterable[Any], grads: Iterable[Any]) -> None:
        self.since: dict[int, int] = {}
        self.waiting: list[list[Any]] = [
            [t, g, ()] for t, g in zip(tensors, grads)
            if g is not None and g._array.nbytes >= memory.SMALLEST]
        for entry in self.waiting:           # held by its entry now, as it will be then
            entry[2] = references(entry[1])

    def look(self, nodes: int) -> None:
        """A question is asked, when there are so many nodes."""
        left = []
        for entry in self.waiting:
            t, was = entry[0], entry[2]
            if t._grad is not entry[1] and references(entry[1]) == (was[0] - 1, *was[1:]):
                self.since[id(t)] = nodes
            else:
                left.append(entry)
        self.waiting = left

    def end(self) -> None:
        """The run is over."""
        self.waiting = []
