"""What a pass takes and returns: nodes in order, with what is known of their values."""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import TypeAlias

from whet.ir.nodes import Node
from whet.ir.values import Array

Roots: TypeAlias = Mapping[int, int]         # value -> the value whose memory it is in
Arrays: TypeAlias = Sequence[Array]          # what each value was when recorded


class Listing:
    """A list of nodes with what passes need to know of it. `root`: value -> the value that owns its
    memory. `arrays`: the type of each value. `visible`: the values that are read outside. A pass
    does not change a listing; it returns another one, made by `of`, or a new one where it adds
    values."""
    __slots__ = ("nodes", "root", "arrays", "visible")

    def __init__(
        self,
        nodes: Iterable[Node],
        root: Roots,
        arrays: Arrays,
        visible: Set[int],
    ) -> None:
        self.nodes = list(nodes)
        self.root, self.arrays, self.visible = root, arrays, visible

    def of(self, nodes: Iterable[Node]) -> Listing:
        """Other nodes on the same values."""
        return Listing(nodes, self.root, self.arrays, self.visible)
