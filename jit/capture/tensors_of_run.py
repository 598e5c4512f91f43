"""The tensors that a run makes."""
from __future__ import annotations

import weakref
from collections.abc import Container
from typing import Any

from whet.tensor_base import Base, Cell


class TensorsOfRun:
    """`wrapped`: for a tensor that was made around an array of unknown origin, the id of the array
    -> the function that made it, and the line. `version_cells`: those of such tensors.
    `first_node`: the number of the first node of a history that the run could make."""

    def __init__(self) -> None:
        self.by_id: dict[int, weakref.ref[Base]] = {}
        self.wrapped: dict[int, tuple[str, str]] = {}
        self.version_cells: list[Cell] = []
        self.first_node = 0

    def add(self, t: Base) -> None:
        """The run has made this tensor."""
        self.by_id[id(t)] = weakref.ref(t)

    def __contains__(self, t: Base) -> bool:
        ref = self.by_id.get(id(t))
        return ref is not None and ref() is t

    def has_cell_of(self, t: Base) -> bool:
        """Are the writes to a tensor counted in a cell that the run made?"""
        return any(t._cell is c for c in self.version_cells)

    def but_for(self, ids: Container[int]) -> list[weakref.ref[Base]]:
        """References to the tensors with other ids than these."""
        return [ref for i, ref in self.by_id.items() if i not in ids]

    def existed_before(self, node: Any) -> bool:
        """Was a node of a history made before the run?"""
        return bool(node.seq < self.first_node)
