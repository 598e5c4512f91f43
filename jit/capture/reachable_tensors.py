"""The tensors that a function could reach before its run: those that a recorder may take as
inputs."""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from whet.tensor_base import Base


class ReachableTensors:
    """Finds tensors by their arrays: two tensors that wrap the same array are the same value.
    `watched`: NumPy arrays that are compared at each call. `borrowed`: tensors that wrap watched
    arrays, by id. `laid_around`: values of tensors that wrap arrays which the run made."""

    def __init__(self, tensors: Iterable[Base], watched: Sequence[Any]) -> None:
        self.by_array: dict[int, Base] = {}
        self.arrays: dict[int, Any] = {}     # So no other array gets the id of one.
        self.watched = watched
        self.borrowed: dict[int, Base] = {}
        self.laid_around: set[int | None] = set()
        for t in tensors:
            self.add(t)

    def add(self, t: Base) -> None:
        """Add a tensor that was there before the run."""
        self.by_array[id(t._array)], self.arrays[id(t._array)] = t, t._array

    def remove(self, a: Any) -> None:
        """Remove the array of an outside tensor, because it is going to be freed."""
        self.by_array.pop(id(a), None)
        self.arrays.pop(id(a), None)

    def borrow(self, real: Any, t: Base) -> None:
        """Add a tensor that wraps a NumPy array which was there before the run."""
        self.borrowed[id(t)] = t
        self.by_array.setdefault(id(real), t)

    def before(self, t: Base) -> Base | None:
        """The tensor that wrapped this array before the run; None if there was none."""
        a = t._array
        found = self.by_array.get(id(a))
        if found is None and any(x is a or x is a.base for x in self.watched):
            self.borrowed[id(t)] = t
            return t
        return found
