"""Partitions work between forward and backward: each value that the backward reads is kept from the
call or recomputed, whichever costs less.

    forward                 backward                      forward                  backward
    %1 = mul(%0, %0)                                      %9 = positive(%0)        %1 = mul(%9, %9)
    %2 = exp(%1)            %6 = mul(%5, %2)              %1 = mul(%9, %9)         %2 = exp(%1)
    %3 = add(%2, %0)        %7 = mul(%6, %1)      ->      %2 = exp(%1)             %6 = mul(%5, %2)
    keeps %1, %2                                          %3 = add(%2, %9)         %7 = mul(%6, %1)
                                                          keeps %9

Pointwise results are recomputed by the kernels of the forward, so the bits are the same. They are
computed from what no other code can write to: values that the call made and kept for itself, which
include copies of what came from outside. A minimum cut between the operands of the forward and what
the backward reads decides which values are kept. A value costs what it takes to store and load it,
or to compute it once more.
"""
from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence, Set
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, TypeGuard

from whet.ir.graph import Node, OpNode, Ref
from whet.ir.values import Array
from whet.passes import fuse_pointwise
from whet.passes.lower_llvm.elements.pointwise import work
from whet.passes.value_uses import is_view, memories, written

if TYPE_CHECKING:
    from whet.passes.listing import Arrays

MOST = 400                       # values in one piece of a graph: more is not looked at
LARGE = 1 << 18                  # bytes of an array that leaves the caches
# costs, in picoseconds
SMALL_BYTE, LARGE_BYTE = 12, 55  # to store or load a byte of an array that is not large, or is
EACH, COPY = 60_000, 100_000     # for each array that is kept, and more for a copy
INSTRUCTION, VECTOR = 70, 64     # for a vector instruction, about, on so many bytes
NEVER = 1 << 60                  # of what cannot be done


class Forward(NamedTuple):
    """A forward, and its values that matter outside of it. `given`: those from outside. `exposed`:
    those that it gives away. `wanted`: those that it would keep for its backwards. `fixed`: those
    that a backward gives on as they are, so that they have to be in memory."""
    nodes: Sequence[Node]
    arrays: Arrays
    given: Sequence[int]
    exposed: Sequence[int]
    wanted: Sequence[int]
    fixed: Set[int]


class Choice(NamedTuple):
    """Which values are computed again for the backward, and from what."""
    recomputed: frozenset[int]   # the values that are
    sources: tuple[int, ...]     # the kept values that they are computed from
    dropped: tuple[int, ...]     # of those that are, the ones that would be kept otherwise


NOTHING = Choice(frozenset(), (), ())        # all is kept


class Partition:
    """What to do: `kept` are the values that the backward is given of those it `wanted`, and others
    for their sake; `dropped` are the rest; `recomputed`: value -> the node that computes it from
    what is kept; `copies`: value from outside -> its copy; `choice` says the same for another list
    of the same nodes."""

    def __init__(self, wanted: Sequence[int], makers: dict[int, Node], copies: dict[int, int],
                 choice: Choice) -> None:
        self.dropped, self.copies, self.choice = choice.dropped, copies, choice
        self.recomputed = {o: n.renamed(copies) for o, n in makers.items()}
        stay = [n for n in wanted if n not in choice.dropped]
        self.kept = list(dict.fromkeys(stay + [copies.get(n, n) for n in choice.sources]))

    def forward(self, nodes: Sequence[Node]) -> list[Node]:
        """The forward with the copies. Its kernels read the copies, too."""
        from whet.ops.registry import REGISTRY
        op, todo = REGISTRY["positive"], dict(self.copies)
        out: list[Node] = []
        made: dict[int, int] = {}
        for node in nodes:
            if _has_kernel(node):
                for x in node.refs():
                    if x in todo:
                        made[int(x)] = c = todo.pop(x)
                        out.append(OpNode(op, (Ref(x),), {}, [c], node.line))
                node = node.renamed(made)
            out.append(node)
        return out + [OpNode(op, (Ref(x),), {}, [c], "") for x, c in todo.items()]

    def backward(self, nodes: Sequence[Node]) -> list[Node]:
        """A backward, with each value that is computed again before its first reader."""
        out: list[Node] = []
        done: set[int] = set()
        for node in nodes:
            node = node.renamed(self.copies)
            stack = [int(x) for x in node.refs()]
            while stack:
                x = stack[-1]
                maker = None if x in done else self.recomputed.get(x)
                first = [] if maker is None else [
                    int(y) for y in maker.refs() if y in self.recomputed and y not in done]
                if first:
                    stack += first
                    continue
                stack.pop()
                if maker is not None:
                    done.update(maker.outs)
                    out.append(maker)
            out.append(node)
        return out

    def recomputation(self) -> list[Node]:
        """The nodes that compute all those values again, in order."""
        return self.backward([OpNode(None, tuple(map(Ref, self.dropped)), {}, [], "")])[:-1]

    def keepers(self, holders: Mapping[int | None, int]) -> dict[int | None, int]:
        """Which backwards need each value, as bits: `holders`, and those that need a kept value
        because they compute a dropped one from it."""
        found = dict(holders)
        for node in reversed(self.recomputation()):
            some = 0
            for o in node.outs:
                some |= found.get(o, 0)
            for x in map(int, node.refs()):
                found[x] = found.get(x, 0) | some
        return found


def partition(forward: Forward, backwards: Sequence[Sequence[Node]], copied: Callable[[int], int],
              like: Choice | None = None) -> Partition | None:
    """The `Partition` of a forward and some backwards, or None where all that is wanted is best
    kept. `copied(n)` numbers a copy of a value, `like` is the choice that was made for the same
    nodes on other sizes."""
    graph = _Graph(forward, backwards)
    choice = graph.choose() if like is None else like if graph.allows(like) else None
    if choice is None or not choice.recomputed:
        return None
    copies = {n: copied(n) for n in choice.sources if graph.shown(n)}
    return Partition(forward.wanted, {n: graph.maker[n] for n in choice.recomputed}, copies, choice)


def _maps(node: Node) -> TypeGuard[OpNode]:
    """Is it a pointwise node that fits into kernels, and that computes the same whenever it is
    run?"""
    return (
        isinstance(node, OpNode)
        and node.op.family == "pointwise"
        and not node.attrs
        and node.op.pure
        and not node.op.may_fail
    )


def _has_kernel(node: Node) -> bool:
    """Is it a node that fits into row programs or pointwise kernels?"""
    return _maps(node) or isinstance(node, OpNode) and node.op.family in ("reduce", "rows")


def _moving(a: Array) -> int:
    """The costs of storing an array, or of loading it."""
    return a.nbytes * (LARGE_BYTE if a.nbytes > LARGE else SMALL_BYTE)


class _Graph:
    """A forward, its backwards, and what it costs to keep or to compute its values. `root`: value
    -> whose memory it is in; `changed`: the memories that are written to; `exposed`: those that
    others can write to; `stored`: those that are there in any case; `maker`: value -> the node that
    can compute it again; `fixed`: the values that a backward wants in memory; `droppable`: the
    wanted ones that need not be kept."""
    def __init__(self, forward: Forward, backwards: Sequence[Sequence[Node]]) -> None:
        nodes, arrays, given, exposed, wanted, fixed = forward
        self.arrays, self.wanted = arrays, wanted
        root = {n: n for n in given}
        for node in nodes:
            for o in node.outs:
                root[o] = root[node.ins[0]] if is_view(node) else o
        self.root = root = memories(nodes, root, arrays)
        self.changed = {root[x] for node in nodes for x in written(node)}
        self.exposed = {root[n] for n in (*given, *exposed)}
        self.maker = {o: node for node in nodes if self.is_repeatable(node)
                      for o in node.outs if root[o] not in self.changed}
        self.stored = {root[x] for node in nodes if not (is_view(node) or _has_kernel(node))
                       for x in (*node.outs, *node.refs())}
        self.fixed = {*fixed, *self.read_from_memory(nodes, backwards)}
        self.droppable = [
            n for n in wanted if n in self.maker and not self.shown(n) and n not in self.fixed
        ]

    def is_repeatable(self, node: Node) -> bool:
        """Does running a node again later give the same result, as nothing that it reads is written
        to?"""
        repeats = is_view(node) or _maps(node) and fuse_pointwise.mappable(node, self.arrays)
        return repeats and not any(self.root[x] in self.changed for x in node.refs())

    def read_from_memory(self, nodes: Sequence[Node],
                         backwards: Sequence[Sequence[Node]]) -> Iterator[int]:
        """The values that a backward reads by nodes that are no part of kernels. Of a view it is
        the value that it is a view of."""
        behind: dict[int, int] = {}          # view -> what it shows
        for node in (*nodes, *(n for b in backwards for n in b)):
            if is_view(node):
                behind.update((o, behind.get(node.ins[0], int(node.ins[0]))) for o in node.outs)
        for node in (n for b in backwards for n in b):
            if not (is_view(node) or _has_kernel(node)):
                yield from (behind.get(x, int(x)) for x in node.refs())

    def shown(self, n: int) -> bool:
        """Can code outside of the call write to a value's memory?"""
        return self.root.get(n) in self.exposed or n not in self.root

    def keeping(self, n: int) -> int:
        """The costs of keeping a value for the backward."""
        root, a = self.root.get(n, n), self.arrays[n]
        if root in self.changed:
            return NEVER
        if self.shown(n):
            return (
                2 * _moving(a) + EACH + COPY
                if a.dtype.kind in "fiuV" and a.size and fuse_pointwise.dense(a)
                else NEVER
            )
        if n in self.wanted and n not in self.droppable:
            return 1                         # it is saved already
        # A view saves all of it.
        return (1 if root in self.stored else 2) * _moving(self.arrays[root]) + EACH

    def computing(self, n: int) -> int:
        """The costs of computing a value again from its operands."""
        node = self.maker.get(n)
        if node is None or n in self.fixed:
            return NEVER
        if is_view(node):
            return 0
        assert node.op is not None
        kernel, _, _ = node.op.plan([self.arrays[x] if type(x) is Ref else x for x in node.ins])
        a = self.arrays[n]
        return int(work(kernel.roots) * INSTRUCTION * a.size * max(a.itemsize, 4) // VECTOR)

    def choose(self) -> Choice:
        """The choice with the lowest costs."""
        done: set[int] = set()
        recomputed: list[int] = []
        sources: list[int] = []
        self.users: dict[int, list[int]] = {}
        for o, node in self.maker.items():
            for x in node.refs():
                self.users.setdefault(int(x), []).append(o)
        for n in self.droppable:
            if n not in done:
                piece, small = self.piece(n, done)
                done |= piece
                if small:
                    self.cut(piece, recomputed, sources)
        return Choice(frozenset(recomputed), tuple(dict.fromkeys(sources)),
                      tuple(n for n in self.droppable if n in recomputed))

    def piece(self, n: int, done: set[int]) -> tuple[set[int], bool]:
        """The values that recomputation connects with value n, and whether these are all of them.
        Values that stay in memory anyway connect nothing, as any number of kernels may read
        them."""
        found, stack = {n}, [n]
        while stack:
            x = stack.pop()
            near = [int(y) for y in self.maker[x].refs()] if x in self.maker else []
            if self.keeping(x) > 1:
                near += self.users.get(x, ())
            for y in near:
                if y not in found:
                    found.add(y)
                    stack.append(y)
            if len(found) > MOST or x in done and self.keeping(x) > 1:
                return found, False
        return found, True

    def cut(self, piece: set[int], recomputed: list[int], sources: list[int]) -> None:
        """Choose for some connected values: add what is computed again, and from what."""
        wanted = [n for n in self.droppable if n in piece]
        kept = self.network(wanted).before_minimum_cut()
        stack, seen = [n for n in wanted if (n, MADE) not in kept], set()
        while stack:
            n = stack.pop()
            if n in seen:
                continue
            seen.add(n)
            if (n, MADE) in kept:
                sources.append(n)
            else:
                recomputed.append(n)
                stack += map(int, self.maker[n].refs())

    def network(self, wanted: Sequence[int]) -> _Network:
        """The network whose minimum cut is the best choice for these wanted values. Each value has
        two points in it. The edge into the first one has the costs of computing the value, the edge
        between them the costs of keeping it. Values that no wanted one depends on are left out."""
        network = _Network(START, END)
        reached, stack = set(wanted), list(wanted)
        while stack:
            n = stack.pop()
            network.edge(START, (n, MADE), self.computing(n))
            network.edge((n, MADE), (n, AT_HAND), self.keeping(n))
            for x in map(int, self.maker[n].refs() if n in self.maker else ()):
                network.edge((x, AT_HAND), (n, MADE), NEVER)
                if x not in reached:
                    reached.add(x)
                    stack.append(x)
        for n in wanted:
            network.edge((n, AT_HAND), END, NEVER)
        return network

    def allows(self, choice: Choice) -> bool:
        """Can a choice be used here? It may have been made for other nodes."""
        recomputed, sources, dropped = choice
        return (
            dropped == tuple(n for n in self.droppable if n in recomputed)
            and all(self.computing(n) < NEVER for n in recomputed)
            and all(self.keeping(n) < NEVER for n in sources)
            and all(x in recomputed or x in sources
                    for n in recomputed for x in self.maker[n].refs())
        )


Point: TypeAlias = Hashable
# Points of a graph's network: two of its own, and (value, MADE) and (value, AT_HAND) of each value.
START, END, MADE, AT_HAND = "start", "end", "made", "at hand"


class _Network:
    """A network of edges with capacities (costs), for its minimum cut (Dinic)."""

    def __init__(self, start: Point, end: Point) -> None:
        self.start, self.end = start, end
        self.room: dict[Point, dict[Point, int]] = {}        # from -> to -> what can still flow

    def edge(self, a: Point, b: Point, capacity: int) -> None:
        """One more edge."""
        self.room.setdefault(a, {})
        self.room.setdefault(b, {}).setdefault(a, 0)
        self.room[a][b] = self.room[a].get(b, 0) + capacity

    def before_minimum_cut(self) -> set[Point]:
        """The points before the minimum cut that is next to the start."""
        while True:
            level = self.levels()
            if self.end not in level:
                return set(level)
            self.fill(level)

    def levels(self) -> dict[Point, int]:
        """How many edges with room lead from the start to each point that can be reached."""
        level: dict[Point, int] = {self.start: 0}
        queue = deque([self.start])
        while queue:
            a = queue.popleft()
            for b, room in self.room[a].items():
                if room and b not in level:
                    level[b] = level[a] + 1
                    queue.append(b)
        return level

    def fill(self, level: dict[Point, int]) -> None:
        """Let as much flow along shortest paths as there is room for."""
        todo = {a: list(bs) for a, bs in self.room.items()}
        path = [self.start]
        while path:
            a = path[-1]
            if a == self.end:
                self.flow_along(path)
                path = [self.start]
                continue
            while todo[a] and not (
                self.room[a][todo[a][-1]] and level.get(todo[a][-1]) == level[a] + 1
            ):
                todo[a].pop()
            if todo[a]:
                path.append(todo[a][-1])
            else:
                path.pop()
                if path:
                    todo[path[-1]].pop()

    def flow_along(self, path: Sequence[Point]) -> None:
        """Let as much flow along a path as its narrowest edge has room for."""
        steps = list(zip(path, path[1:]))
        least = min(self.room[p][q] for p, q in steps)
        for p, q in steps:
            self.room[p][q] -= least
            self.room[q][p] += least
