"""Cuts a list of nodes behind each node whose result has a size that data decides.

    %1 = gt(%0, 0)                          a first part, given %0
    %2 = nonzero(%1)
                                            ------------------------------
    %3 = unbind(%2, dim=1)                  a second one, given %0 and %2
    %4 = index(%0, %3)
    %5 = mean(%4)

A later part is planned for any sizes of what it is given (`program_in_parts.py`). Views, and
numbers that are made of sizes alone, are no results of a part: the parts that need them make them
again. So each part knows whose memory a value is in, and what a number is made of.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from whet.ir.graph import Node, OpNode
from whet.ir.values import Array, Type
from whet.passes.value_uses import is_view

from .split_by_counts import split

if TYPE_CHECKING:
    from .needed_values import Needs


@dataclass
class PartNodes:
    """The nodes of a part, the values that it is `given` and those that other parts want.
    `counted`: the wanted values whose sizes data decides. `line`: the user's line where they are
    counted. `by_unread_sizes`: the positions of nodes that may depend on sizes of values that
    they do not read."""
    nodes: list[Node] = field(default_factory=list)
    given: list[int] = field(default_factory=list)
    results: list[int] = field(default_factory=list)
    counted: set[int] = field(default_factory=set)
    line: str = ""
    by_unread_sizes: list[int] = field(default_factory=list)


def is_counted(node: Node, arrays: Sequence[Array | Type]) -> bool:
    """Does data decide the sizes of a node's results?"""
    if not isinstance(node, OpNode) or not node.op.sized_by_data:
        return False
    shape_of = node.op.usual_shape
    return shape_of is None or bool(shape_of(**node.attrs) != arrays[node.outs[0]].shape)


def cut(nodes: Sequence[Node], arrays: Sequence[Array | Type], memory: Mapping[int, int],
        results: Sequence[int], numbers: Set[int], needs: Needs,
        most_counts: int) -> list[PartNodes] | None:
    """Cut a list into parts; None if nothing is counted. Parts that depend on more than
    `most_counts` counts are split.

    `arrays`: how values lay in the run, `memory`: which values lie in one (`uses.memories`),
    `numbers`: the values that are made of sizes alone."""
    nodes = behind_what_they_need(nodes, needs)
    counted = {id(n) for n in nodes if is_counted(n, arrays)}
    groups = grouped(nodes, memory, counted, needs)
    if not counted:
        return None
    values = {o for n in nodes if id(n) in counted for o in n.outs}
    if len(values) > most_counts:
        groups = split(groups, arrays, values, numbers, memory, needs)
    return Cut(nodes, groups, counted, numbers, needs).parts(results)


def behind_what_they_need(nodes: Sequence[Node], needs: Needs) -> list[Node]:
    """Order the nodes so that each comes behind the values whose sizes it receives. Its operands
    alone do not say so."""
    makers = {o for n in nodes for o in n.outs}
    made: set[int] = set()
    out: list[Node] = []
    waiting: list[Node] = []
    for node in nodes:
        waiting.append(node)
        while ready := [n for n in waiting if made.issuperset(makers.intersection(needs(n)))]:
            taken = set(map(id, ready))
            waiting = [n for n in waiting if id(n) not in taken]
            out += ready
            made.update(o for n in ready for o in n.outs)
    return out


def made_for(nodes: Sequence[Node], counted: Set[int], needs: Needs) -> set[int]:
    """The ids of the nodes that count, and of the nodes that only compute something for these."""
    found = set(counted)
    wanted: set[int] = set()
    for node in reversed(nodes):
        if id(node) in counted or not wanted.isdisjoint(node.outs) and makes_alone(node):
            found.add(id(node))
            wanted.update(needs(node))
    return found


def makes_alone(node: Node) -> bool:
    """Does a node compute something without any effect?"""
    return isinstance(node, OpNode) and node.op.pure and not node.op.random


def grouped(nodes: Sequence[Node], memory: Mapping[int, int], counted: Set[int],
            needs: Needs) -> list[list[Node]]:
    """Split the nodes into groups that end with the nodes that count. A counting node, and what is
    computed only for it, joins the earliest group in which its operands exist. A view is in the
    group of its base."""
    groups: list[list[Node]] = [[]]
    early = made_for(nodes, counted, needs)
    there: dict[int, int] = {}               # value -> the first group that may read it
    written: dict[int, int] = {}             # memory -> the last group that writes to it
    has_ended = False
    for node in nodes:
        at = len(groups) - 1
        is_counted = id(node) in counted
        if id(node) in early or is_view(node):
            # A number among the arguments has no memory, so nothing writes to it.
            at = max([max(there.get(x, 0), written.get(memory.get(x, x), 0))
                      for x in needs(node)], default=0)
        elif has_ended:
            at += 1
        if at == len(groups):
            groups.append([])
            has_ended = False
        has_ended = has_ended or is_counted and at == len(groups) - 1
        groups[at].append(node)
        there.update(dict.fromkeys(node.outs, at + is_counted))
        written.update((memory[x], at) for x in node.written())
    return groups


class Cut:
    """Finds out what each group needs."""

    def __init__(self, nodes: Sequence[Node], groups: Sequence[Sequence[Node]], counted: Set[int],
                 numbers: Set[int], needs: Needs) -> None:
        self.groups, self.counted, self.numbers, self.needs = groups, counted, numbers, needs
        self.place = {id(n): i for i, n in enumerate(nodes)}
        self.maker = {o: n for n in nodes for o in n.outs}
        self.home = {o: k for k, group in enumerate(groups) for n in group for o in n.outs}

    def parts(self, results: Sequence[int]) -> list[PartNodes]:
        """The parts. `results` are the values that are wanted in the end."""
        wanted = dict.fromkeys(results)
        parts = [self.part(k) for k in range(len(self.groups))]
        for part in parts:
            wanted.update(dict.fromkeys([*part.given, *sorted(part.counted)]))
        for n in wanted:
            if n in self.home:
                parts[self.home[n]].results.append(n)
        return parts

    def part(self, k: int) -> PartNodes:
        """A part, without its results."""
        again: dict[int, Node] = {}          # views and numbers of the parts before, by place
        given: dict[int, None] = {}
        todo = [x for n in self.groups[k] for x in self.needs(n)]
        while todo:
            x = todo.pop()
            node = self.maker.get(x)
            if node is None:
                given[x] = None
            elif self.home[x] != k and self.is_made_anew(node):
                if self.place[id(node)] not in again:
                    again[self.place[id(node)]] = node
                    todo += self.needs(node)
            elif self.home[x] != k:
                given[x] = None
        nodes = [*(again[i] for i in sorted(again)), *self.groups[k]]
        counted = [n for n in self.groups[k] if id(n) in self.counted]
        return PartNodes(nodes, sorted(given), [], {o for n in counted for o in n.outs},
                         counted[0].line if counted else "")

    def is_made_anew(self, node: Node) -> bool:
        """Is this node repeated in each part that needs its result?"""
        return is_view(node) or bool(node.outs) and self.numbers >= set(node.outs)
