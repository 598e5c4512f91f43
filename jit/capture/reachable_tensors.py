"""The tensors that a function could reach before its run: what a recorder may take as an input."""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from whet.tensor_base import Base


class ReachableTensors:
    """Tensors are looked up by the arrays that they stand for: a tensor made anew around the same
    array is the same value. `watched`: NumPy arrays that are compared at each call; `borrowed`:
    tensors around watched arrays, by id; `laid_around`: values of tensors around arrays that the
    run made."""

    def __init__(self, tensors: Iterable[Base], watched: Sequence[Any]) -> None:
        self.by_array: dict[int, Base] = {}
        self.arrays: dict[int, Any] = {}     # So no other array gets the id of one.
        self.watched = watched
        self.borrowed: dict[int, Base] = {}
        self.laid_around: set[int | None] = set()
        for t in tensors:
            self.add(t)

    def add(self, t: Base) -> None:
        """A tensor was there before the run."""
        self.by_array[id(t._array)], self.arrays[id(t._array)] = t, t._array

    def remove(self, a: Any) -> None:
        """The array of a tensor from outside is going to be freed."""
        self.by_array.pop(id(a), None)
        self.arrays.pop(id(a), None)

    def borrow(self, real: Any, t: Base) -> None:
        """A tensor was made around a NumPy array that was there before the run."""
        self.borrowed[id(t)] = t
        self.by_array.setdefault(id(real), t)

    def before(self, t: Base) -> Base | None:
        """The tensor that had this array before the run; None where there was none."""
        a = t._array
        found = self.by_array.get(id(a))
        if found is None and any(x is a or x is a.base for x in self.watched):
            self.borrowed[id(t)] = t
            return t
        return found
