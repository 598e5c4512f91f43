"""The nodes of a run, cut into parts where data decides a size. Knows what each part is given, what
is written before the last part, and which values die after each."""
from __future__ import annotations

from collections.abc import Container, Sequence, Set
from typing import TYPE_CHECKING, Any

from whet.ir.graph import Draw
from whet.passes.value_uses import memories

from .cut_at_counts import PartNodes, cut
from .liveness import Roots, seen_nodes
from .writes_and_questions import ordered

if TYPE_CHECKING:
    from whet.ir.graph import Node
    from whet.ir.values import Array

    from .needed_values import Needs


class DividedNodes:
    """The nodes that compute `results` from `outside`, and their parts once they are cut.
    `numbers`: the values computed from sizes alone."""

    def __init__(self, nodes: Sequence[Node], arrays: Sequence[Array], outside: list[int],
                 results: list[int], numbers: Set[int], needs: Needs) -> None:
        self.recorded, self.arrays, self.outside, self.results = nodes, arrays, outside, results
        self.numbers, self.needs = numbers, needs
        self.roots = Roots(nodes, outside, results)
        self.nodes, self.order = ordered(self.alive(), self.roots.root, outside, arrays)
        self.memory = memories(self.nodes, self.roots.root, arrays)
        self.parts: list[PartNodes] = []
        self.most_counts = 0

    def alive(self) -> list[Node]:
        """The nodes with visible effects, the nodes that compute numbers, and the nodes whose
        values' sizes these numbers are."""
        nodes = self.recorded
        alive = set(map(id, seen_nodes(nodes, self.roots.root, self.outside, self.results)))
        alive.update(id(n) for n in nodes if n.outs and self.numbers >= set(n.outs))
        wanted: set[int] = set()
        for node in reversed(nodes):
            if id(node) in alive or not wanted.isdisjoint(node.outs):
                alive.add(id(node))
                wanted.update(self.needs(node))
        return [n for n in nodes if id(n) in alive]

    def cut(self, most_counts: int) -> None:
        """Cut the nodes into parts. A part that depends on more than `most_counts` counts is split
        where possible."""
        found = cut(self.nodes, self.arrays, self.memory, self.results, self.numbers, self.needs,
                    most_counts)
        self.parts, self.most_counts = found or [], most_counts
        if self.parts:
            self.parts[0].given = self.outside

    def undone(self) -> list[int]:
        """The values that a call may have written to when it finds that a part has no plan for its
        sizes. They are what is written before that part, and what is written early, before a
        question."""
        inputs = set(self.outside)
        written = {self.roots.recorded[x] for part in self.parts[:-1] for node in part.nodes
                   for x in node.written()}
        return list(dict.fromkeys((*self.order.undone, *sorted(written & inputs))))

    def has_all_it_needs(self) -> bool:
        """Are there several parts, each given only values from outside or from earlier parts?"""
        there = {*self.outside, *(o for n in self.nodes for o in n.outs)}
        return bool(self.parts) and all(there.issuperset(part.given) for part in self.parts[1:])

    def draws_later(self) -> bool:
        """Does a part after the first draw random numbers?"""
        return any(isinstance(n, Draw) for part in self.parts[1:] for n in part.nodes)

    def give_sizes(self, steady: Container[int]) -> None:
        """Give a later part the values whose sizes it may depend on without reading them, as
        `zeros_like(x)` does. `steady`: the values that are the same at each call."""
        varying = [n for n in self.outside if n not in steady]
        for k, part in enumerate(self.parts[1:], 1):
            part.by_unread_sizes = [i for i, node in enumerate(part.nodes)
                                    if self.needs.depends_on_other_sizes(node, self.arrays)]
            if part.by_unread_sizes:
                part.given = sorted({*part.given, *varying, *counted(self.parts[:k])})

    def gone(self) -> list[list[int]]:
        """The values that die after each part."""
        last: dict[int, int] = {}
        for k, part in enumerate(self.parts):
            last.update(dict.fromkeys((*part.results, *part.given), k))
        made: set[Any] = {n for part in self.parts for n in part.results} - {*self.counted()}
        wanted = set(self.results)
        return [[n for n, at in last.items() if at == k and n in made - wanted]
                for k in range(len(self.parts))]

    def counted(self) -> list[int]:
        """The values whose sizes data decides."""
        return counted(self.parts)


def counted(parts: Sequence[PartNodes]) -> list[int]:
    """The values of some parts whose sizes data decides."""
    return sorted(n for part in parts for n in part.counted)
