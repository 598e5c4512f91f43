"""The nodes of a run, cut into parts where data decides a size: what each part is given, what is
written before the last one, and what nobody needs after each."""
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
    """Nodes that make `results` of `outside`, and their parts once they are cut. `numbers`: the
    values that are made of sizes alone."""

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
        """The nodes whose doing somebody sees, what makes numbers, and what makes the values of
        whose sizes these are."""
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
        """Cut them. A part that goes by more than `most_counts` is split, where that can be."""
        found = cut(self.nodes, self.arrays, self.memory, self.results, self.numbers, self.needs,
                    most_counts)
        self.parts, self.most_counts = found or [], most_counts
        if self.parts:
            self.parts[0].given = self.outside

    def undone(self) -> list[int]:
        """What a call may have written to when it finds that a part has no plan for its sizes: what
        is written before that part, and what is written early, before a question."""
        inputs = set(self.outside)
        written = {self.roots.recorded[x] for part in self.parts[:-1] for node in part.nodes
                   for x in node.written()}
        return list(dict.fromkeys((*self.order.undone, *sorted(written & inputs))))

    def has_all_it_needs(self) -> bool:
        """Are there several parts, and is each given only what comes from outside or is made?"""
        there = {*self.outside, *(o for n in self.nodes for o in n.outs)}
        return bool(self.parts) and all(there.issuperset(part.given) for part in self.parts[1:])

    def draws_later(self) -> bool:
        """Does a later part draw random numbers?"""
        return any(isinstance(n, Draw) for part in self.parts[1:] for n in part.nodes)

    def give_sizes(self, steady: Container[int]) -> None:
        """Give a later part all that has sizes of its own where it may go by those of what it does
        not need, as `zeros_like(x)` does. `steady`: what is the same at each call."""
        varying = [n for n in self.outside if n not in steady]
        for k, part in enumerate(self.parts[1:], 1):
            part.told = [i for i, node in enumerate(part.nodes)
                         if self.needs.goes_by_other_sizes(node, self.arrays)]
            if part.told:
                part.given = sorted({*part.given, *varying, *counted(self.parts[:k])})

    def gone(self) -> list[list[int]]:
        """The values that nobody needs after each part, of those that parts make."""
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
