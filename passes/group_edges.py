"""Where a group of nodes ends: what it reads, and what others read of what it makes. Most pairs of
groups cannot be one kernel, which their edges say at once: the rounds of a loop that read one
memory are tried with one another."""
from __future__ import annotations

from collections.abc import Sequence, Set
from typing import NamedTuple, TypeGuard

from whet.ir.graph import Node, OpNode
from whet.passes.value_uses import Uses, following


class Edges(NamedTuple):
    """The edges of a group of nodes, those at the places `inside`."""

    inside: frozenset[int]
    makes: frozenset[int]
    operands: frozenset[int]     # the values of others that its pointwise nodes read
    memories: frozenset[int]     # all that its nodes read
    results: frozenset[int]      # what it makes that somebody else wants
    readers: Sequence[int]       # the places of others that read what it makes, in order
    # the first place at which something is written that a node before it reads
    overwritten: float

    def may_join(self, other: Edges, i: int) -> bool:
        """May the nodes of two groups all be done at place i? Nothing that they read is written
        before, and nothing else has read what they make."""
        return (self.overwritten >= i and other.overwritten >= i
                and not self.read_before(i, other) and not other.read_before(i, self))

    def read_before(self, i: int, other: Edges) -> bool:
        """Does a node before place i that is not of the other group read what this one makes?"""
        for u in self.readers:
            if u >= i:
                return False
            if u not in other.inside:
                return True
        return False

    def least(self, other: Edges, uses: Uses) -> int:
        """No program of both groups has fewer operands and results."""
        makes = self.makes | other.makes
        operands = sum(uses.root[x] not in makes for x in self.operands | other.operands)
        shared = len(self.results & other.memories) + len(other.results & self.memories)
        return operands + len(self.results) + len(other.results) - shared


def edges(at: Sequence[int], uses: Uses, visible: Set[int]) -> Edges:
    """The edges of the nodes at these places."""
    nodes, root = [uses.nodes[k] for k in at], uses.root
    inside = frozenset(at)
    makes = frozenset(o for node in nodes for o in node.outs)
    outside = {x: [u for u in uses.users.get(x, ()) if u not in inside] for x in makes}
    return Edges(
        inside, makes,
        frozenset(x for node in nodes if not is_program(node) for x in node.refs()
                  if root[x] not in makes),
        frozenset(root[x] for node in nodes for x in node.refs()),
        frozenset(x for x in makes if x in visible or outside[x]),
        sorted({u for users in outside.values() for u in users}),
        min((following(uses.writes[root[x]], k) for k, node in zip(at, nodes, strict=True)
             for x in node.refs() if root[x] in uses.writes), default=float("inf")),
    )


def is_program(node: Node) -> TypeGuard[OpNode]:
    """Is a node of a group a row program itself? It is a pointwise one otherwise."""
    return isinstance(node, OpNode) and node.op.family != "pointwise"
