"""Facts that the run asked for, and that each replay compares."""
from __future__ import annotations

from typing import Any

from whet.tensor_base import Base

from ..values.tensor_facts import place_of


class GuardedFacts:
    """`numbers`: ids of the tensors of one element whose number is a guard. `offsets`: tensors and
    their storage offsets, by id. `settings`: internal objects whose attributes are compared, as the
    walk over the user's objects does not find them."""

    def __init__(self) -> None:
        self.numbers: set[int] = set()
        self.offsets: dict[int, tuple[Base, int]] = {}
        self.settings: list[Any] = []

    def compare_offset(self, t: Base) -> None:
        """Compare where in its storage a tensor begins."""
        self.offsets[id(t)] = t, place_of(t._array)
