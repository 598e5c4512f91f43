"""Splits parts that depend on several counts into parts that depend on one each, as far as data
dependences allow.

    %9 = index(%0, %3)                      depends on the length of %3
    %10 = linear(%9, %6)
    %11 = index_add(%2, %3, %10)            what it makes has sizes of its own
                                            ------------------------------
    %12 = index(%0, %4)                     depends on the length of %4
    %13 = linear(%12, %7)

A plan is for a length of 0, of 1, or of more. So a part with one length has three plans, and a part
with k lengths has three to the power of k. Experts that get the tokens which chose them are such a
list.

Where the list is split decides how many plans there are, and never what they do: a part is planned
for all sizes of what it is given. Each part takes time of its own, so nodes change places until
those that depend on one count follow each other.
"""
from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set
from typing import TYPE_CHECKING

from whet.ir.graph import OpNode, Write

from .counts_of_sizes import Counts, CountsOfSizes
from .writes_and_questions import may_miss, may_move

if TYPE_CHECKING:
    from whet.ir.graph import Node
    from whet.ir.values import Array, Type

LONG_RUN = 16                            # nodes in a row that depend on no count: their own part
NOTHING: Set[int] = frozenset()
PARTS_PER_COUNT = 8                      # more than that on average, and a group stays whole


def split(groups: Sequence[list[Node]], arrays: Sequence[Array | Type], counted: Set[int],
          numbers: Set[int], memory: Mapping[int, int], needs: Callable[[Node], Sequence[int]],
          ) -> list[list[Node]]:
    """Split a list into groups, the first of which depends on no count. `numbers`: the values
    computed from sizes alone. `memory`: which values share memory."""
    sizes = CountsOfSizes(arrays, counted, numbers, needs)
    for node in groups[0]:
        sizes.add(node)
    out = [groups[0]]
    for group in groups[1:]:
        counts = {id(node): sizes.add(node) for node in group}
        pieces = without_short_ones(apart_from_twins(
            [piece for cluster in Clusters(group, counts, memory, needs).all()
             for piece in without_long_runs(cluster, counts)], counts), counts)
        out += pieces if len(pieces) <= PARTS_PER_COUNT * (len(counted) + 1) else [group]
    return out


class Movable:
    """A node, with what decides where it may stand. `is_behind`: does it come after something that
    is counted, written or asked, on which it depends?"""

    def __init__(self, node: Node, counts: Counts, memory: Mapping[int, int],
                 needs: Sequence[int]) -> None:
        self.node, self.counts, self.needs = node, counts, needs
        self.reads: Set[int] = NOTHING
        if not node.is_view:
            self.reads = {memory.get(int(x), int(x)) for x in node.refs()}
        self.writes: Set[int] = NOTHING
        if node.written():
            self.writes = {memory.get(x, x) for x in node.written()}
        self.may_miss, self.moves = may_miss(node), may_move(node)
        self.asks = not node.is_view and (not isinstance(node, OpNode | Write) or not self.moves)
        self.is_behind = False

    @property
    def does_nothing_else(self) -> bool:
        """Does it only compute something from its operands, whatever these are?"""
        return self.moves and not self.may_miss

    def may_wait(self, counts: Counts) -> bool:
        """May it be moved to right before its first user, in a cluster with these counts? Views
        may. So may nodes that depend on no count, unless that is what the cluster consists of."""
        return self.node.is_view or (
            not self.counts and self.does_nothing_else and (bool(counts) or not self.is_behind))


class Clusters:
    """Reorders nodes so that those with the same counts are adjacent, as far as data dependences
    allow."""

    def __init__(self, nodes: Sequence[Node], counts: Mapping[int, Counts],
                 memory: Mapping[int, int], needs: Callable[[Node], Sequence[int]]) -> None:
        self.nodes = [Movable(node, counts[id(node)], memory, needs(node)) for node in nodes]
        values: set[int] = set()
        written: set[int] = set()
        for n in self.nodes:
            n.is_behind = (
                bool(n.counts) or not n.does_nothing_else or not values.isdisjoint(n.needs)
                or not written.isdisjoint(n.reads))
            if n.is_behind:
                values.update(n.node.outs)
                written |= n.writes

    def all(self) -> list[list[Node]]:
        """The clusters. Those that depend on counts come first where they can."""
        out: list[list[Node]] = []
        left = self.nodes
        while left:
            found = self.next(left)
            if not found:                    # views that are not needed
                return [*out, [n.node for n in left]]
            out.append(found)
            taken = {*map(id, found)}
            left = [n for n in left if id(n.node) not in taken]
        return out

    def next(self, left: Sequence[Movable]) -> list[Node]:
        """The next cluster, from the nodes that are left."""
        of_counts = dict.fromkeys([n.counts for n in left if not n.node.is_view])
        for counts in sorted(of_counts, key=lambda c: not c):
            taken = Taken(counts)
            for n in left:
                taken.visit(n)
            if taken.nodes:
                return taken.nodes
        return []


class Taken:
    """The nodes of a cluster with these counts. The remaining nodes are visited in order and taken,
    unless they depend on another count or on a node that is left."""

    def __init__(self, counts: Counts) -> None:
        self.counts = counts
        self.nodes: list[Node] = []
        self.ids: set[int] = set()           # of these nodes
        # nodes that come along once they are needed, by what they make, and by what they read
        self.waiting: dict[int, Movable] = {}
        self.readers: dict[int, list[Movable]] = {}
        # what nodes that are left make, and the memory that they read and write
        self.made: set[int] = set()
        self.read: set[int] = set()
        self.written: set[int] = set()
        # may one that is left find that the call goes another way? Or an error, at least?
        self.asks = self.may_miss = False

    def visit(self, n: Movable) -> None:
        """Take a node, leave it, or postpone the decision."""
        if self.has_to_wait(n):
            self.leave(n)
        elif n.may_wait(self.counts):
            self.waiting.update(dict.fromkeys(n.node.outs, n))
            for m in n.reads:
                self.readers.setdefault(m, []).append(n)
        elif n.counts <= self.counts and (n.counts or not self.counts):
            self.take(n)
        else:
            self.leave(n)

    def has_to_wait(self, n: Movable) -> bool:
        """Must a node that is left come before this one?"""
        return (not self.made.isdisjoint(n.needs) or not self.written.isdisjoint(n.reads)
                or bool(n.writes) and (self.may_miss or not self.written.isdisjoint(n.writes)
                                       or not self.read.isdisjoint(n.writes))
                or self.asks and not n.node.is_view and not n.does_nothing_else)

    def take(self, n: Movable) -> None:
        """Take a node, after the postponed nodes that it needs."""
        if id(n.node) in self.ids:
            return
        self.ids.add(id(n.node))
        for x in n.needs:
            if x in self.waiting:
                self.take(self.waiting[x])
        for m in n.writes:
            for reader in self.readers.pop(m, ()):
                self.take(reader)
        self.nodes.append(n.node)

    def leave(self, n: Movable) -> None:
        """Leave a node to later clusters."""
        self.made.update(n.node.outs)
        self.read |= n.reads
        self.written |= n.writes
        self.may_miss = self.may_miss or n.may_miss
        self.asks = self.asks or n.asks


def without_long_runs(nodes: Sequence[Node], counts: Mapping[int, Counts]) -> list[list[Node]]:
    """Cut a list around long runs of nodes that depend on no count: these need not be planned
    several times."""
    out: list[list[Node]] = [[]]
    for depends_on_counts, run in runs_of(nodes, counts):
        if not depends_on_counts and len(run) >= LONG_RUN:
            out += [run, []]
        else:
            out[-1] += run
    return [piece for piece in out if piece]


def without_short_ones(pieces: Sequence[list[Node]],
                       counts: Mapping[int, Counts]) -> list[list[Node]]:
    """Join short pieces that depend on no count to the piece before. Pieces that could share the
    plans of that one mostly have such a piece behind them too."""
    done = [what_is_done(piece) for piece in pieces]
    alike, pairs = Counter(done), Counter(itertools.pairwise(done))
    out: list[list[Node]] = []
    for k, piece in enumerate(pieces):
        is_short = len(piece) < LONG_RUN and not any(counts[id(n)] for n in piece)
        if k and is_short and 2 * pairs[done[k - 1], done[k]] > alike[done[k - 1]]:
            out[-1] = [*out[-1], *piece]
        else:
            out.append(piece)
    return out


def runs_of(nodes: Sequence[Node], counts: Mapping[int, Counts]) -> list[tuple[bool, list[Node]]]:
    """Cut a list into runs of nodes that depend on counts and runs of those that do not. A view
    belongs to the run that follows it."""
    runs: list[tuple[bool, list[Node]]] = []
    views: list[Node] = []
    for node in nodes:
        views.append(node)
        if not node.is_view:
            depends_on_counts = bool(counts[id(node)])
            if not runs or runs[-1][0] != depends_on_counts:
                runs.append((depends_on_counts, []))
            runs[-1][1].extend(views)
            views = []
    return [*runs, (True, views)] if views else runs


def apart_from_twins(pieces: Sequence[list[Node]],
                     counts: Mapping[int, Counts]) -> list[list[Node]]:
    """Cut a piece that begins like another one and goes on with nodes that depend on no count. The
    common beginning can then share its plans."""
    twins = {what_is_done(piece) for piece in pieces}
    out: list[list[Node]] = []
    for piece in pieces:
        runs = runs_of(piece, counts)
        begin: list[Node] = []
        for k, (_, run) in enumerate(runs):
            begin = [*begin, *run]
            if k + 2 < len(runs) and runs[k][0] and what_is_done(begin) in twins:
                rest = [node for _, later in runs[k + 2:] for node in later]
                out += [begin, runs[k + 1][1], rest]
                break
        else:
            out.append(piece)
    return out


def what_is_done(nodes: Sequence[Node]) -> tuple[object, ...]:
    """A description of what nodes do, to compare them with others."""
    return tuple([(node.kind, node.op, len(node.ins)) for node in nodes if not node.is_view])
