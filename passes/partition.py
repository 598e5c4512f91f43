"""What a backward reads of the forward: kept from the call, or computed again from less, whichever
costs less.

    forward                 backward                      forward                  backward
    %1 = mul(%0, %0)                                      %9 = positive(%0)        %1 = mul(%9, %9)
    %2 = exp(%1)            %6 = mul(%5, %2)              %1 = mul(%9, %9)         %2 = exp(%1)
    %3 = add(%2, %0)        %7 = mul(%6, %1)      ->      %2 = exp(%1)             %6 = mul(%5, %2)
    keeps %1, %2                                          %3 = add(%2, %9)         %7 = mul(%6, %1)
                                                          keeps %9

Pointwise results are computed again, by the very kernels of the forward: the bits are the same.
They are computed from what nobody else can write to: values that the call made and kept for itself,
copies of what came from outside among them. Which ones is a minimum cut between the operands of the
forward and what the backward wants: a value costs what it takes to store and load it, or to compute
it once more.
"""
from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

from whet.ir.graph import Node, OpNode, Ref
from whet.ir.values import Array
from whet.passes import fuse_pointwise
from whet.passes.lower_llvm.elements.pointwise import work
from whet.passes.uses import is_view, memories, written

if TYPE_CHECKING:
    from whet.passes.listing import Arrays

# computed again, from, dropped
Choice: TypeAlias = tuple[frozenset[int], tuple[int, ...], tuple[int, ...]]
# in the network: an end, or the near or far side of a value
Place: TypeAlias = str | tuple[int, int]
MOST = 400                       # values in one piece of a graph: more is not looked at
# picoseconds to store or load a byte: of small arrays, of such as are larger than that
NEAR, FAR, LARGE = 12, 55, 1 << 18
NOTHING: Choice = (frozenset(), (), ())      # the choice to keep all
EACH, COPY = 60_000, 100_000     # picoseconds for each array that is kept, and more for a copy
# picoseconds for a vector instruction, about, and the bytes of a vector
INSTRUCTION, VECTOR = 70, 64
NEVER = 1 << 60


class Partition:
    """What to do: `kept` are the values that the backward is given of those it `wanted`, and others
    for their sake; `dropped` are the rest; `again`: value -> the node that computes it from what is
    kept; `copies`: value from outside -> its copy; `choice` says the same for another list of the
    same nodes."""

    def __init__(self, wanted: Sequence[int], again: dict[int, Node], dropped: tuple[int, ...],
                 sources: tuple[int, ...], copies: dict[int, int], choice: Choice) -> None:
        self.dropped = dropped
        self.again, self.copies, self.choice = (
            {o: n.renamed(copies) for o, n in again.items()},
            copies,
            choice,
        )
        self.kept = list(
            dict.fromkeys(
                [n for n in wanted if n not in dropped] + [copies.get(n, n) for n in sources]
            )
        )

    def forward(self, nodes: Sequence[Node]) -> list[Node]:
        """The forward with the copies, which its kernels read as well."""
        from whet.ops.registry import REGISTRY
        op, todo = REGISTRY["positive"], dict(self.copies)
        out: list[Node] = []
        made: dict[int, int] = {}
        for node in nodes:
            if _maps(node) or isinstance(node, OpNode) and node.op.family in ("reduce", "rows"):
                for x in node.refs():
                    if x in todo:
                        made[int(x)] = c = todo.pop(x)
                        out.append(OpNode(op, (Ref(x),), {}, [c], node.line))
                node = node.renamed(made)
            out.append(node)
        return out + [OpNode(op, (Ref(x),), {}, [c], "") for x, c in todo.items()]

    def backward(self, nodes: Sequence[Node]) -> list[Node]:
        """A backward with what it computes again, each thing where it is first read."""
        out = []
        there: set[Any] = set()
        for node in nodes:
            node = node.renamed(self.copies)
            stack = [int(x) for x in node.refs()]
            while stack:
                x = stack[-1]
                before = (
                    []
                    if x in there or x not in self.again
                    else [
                        int(y) for y in self.again[x].refs() if y in self.again and y not in there
                    ]
                )
                if before:
                    stack += before
                    continue
                stack.pop()
                if x in self.again and x not in there:
                    there.update(self.again[x].outs)
                    out.append(self.again[x])
            out.append(node)
        return out

    def all(self) -> list[Node]:
        """Everything that can be computed again, in order."""
        return self.backward([OpNode(None, tuple(map(Ref, self.dropped)), {}, [], "")])[:-1]

    def keepers(self, holders: Mapping[int | None, int]) -> dict[int | None, int]:
        """`holders` (value -> those who want it, as bits) with who wants a kept value for the
        sake of a dropped one."""
        found = dict(holders)
        for node in reversed(self.all()):
            some = 0
            for o in node.outs:
                some |= found.get(o, 0)
            for x in map(int, node.refs()):
                found[x] = found.get(x, 0) | some
        return found


def partition(
        nodes: Sequence[Node], backwards: Sequence[Sequence[Node]], arrays: Arrays,
        outside: Sequence[int], exposed: Sequence[int], wanted: Sequence[int], fixed: set[int],
        copied: Callable[[int], int],
        like: Choice | None = None) -> Partition | None:
    """The `Partition` of a forward and some backwards, or None where all that is `wanted` (values
    of the forward that it may drop are among it) is best kept. `outside` are the values that the
    forward is given, `exposed` those that it gives away, `fixed` those that a backward gives on as
    they are; `copied(n)` numbers a copy of one, `like` is the choice that was made for the same
    nodes on other sizes."""
    graph = _Graph(nodes, backwards, arrays, outside, exposed, wanted, fixed)
    choice = graph.choose() if like is None else like if graph.allows(like) else None
    if choice is None or not choice[0]:
        return None
    again, sources, dropped = choice
    copies = {n: copied(n) for n in sources if graph.shown(n)}
    return Partition(wanted, {n: graph.maker[n] for n in again}, dropped, sources, copies, choice)


def _maps(node: Node) -> TypeGuard[OpNode]:
    """Is it a pointwise node that kernels take in, and that computes what it says whenever it is
    run?"""
    return (
        isinstance(node, OpNode)
        and node.op.family == "pointwise"
        and not node.attrs
        and node.op.pure
        and not node.op.may_fail
    )


def _moving(a: Array) -> int:
    """What it takes to store an array, or to load it."""
    return a.nbytes * (FAR if a.nbytes > LARGE else NEAR)


class _Graph:
    def __init__(self, nodes: Sequence[Node], backwards: Sequence[Sequence[Node]], arrays: Arrays,
                 outside: Sequence[int], exposed: Sequence[int], wanted: Sequence[int],
                 fixed: set[int]) -> None:
        self.arrays, self.wanted = arrays, wanted
        root = {n: n for n in outside}
        for node in nodes:
            for o in node.outs:
                root[o] = root[node.ins[0]] if is_view(node) else o
        self.root = root = memories(nodes, root, arrays)
        self.changed = {root[x] for node in nodes for x in written(node)}
        self.away = {root[n] for n in (*outside, *exposed)}
        # value -> the node that can compute it again; what lies in memory in any case
        self.maker = {}
        self.stored: set[int] = set()
        for node in nodes:
            free = is_view(node) or _maps(node) and fuse_pointwise.mappable(node, arrays)
            for o in node.outs:
                if (
                    free
                    and root[o] not in self.changed
                    and not any(root[x] in self.changed for x in node.refs())
                ):
                    self.maker[o] = node
            if not (
                is_view(node)
                or _maps(node)
                or isinstance(node, OpNode)
                and node.op.family in ("reduce", "rows")
            ):
                self.stored.update(root[x] for x in (*node.outs, *node.refs()))
        self.fixed = set(fixed)  # values that a backward wants in memory; view -> what it shows
        behind: dict[int, int] = {}
        for node in nodes:
            if is_view(node):
                behind.update((o, behind.get(node.ins[0], int(node.ins[0]))) for o in node.outs)
        for node in (n for b in backwards for n in b):
            if is_view(node):
                behind.update((o, behind.get(node.ins[0], int(node.ins[0]))) for o in node.outs)
            elif not (
                _maps(node) or isinstance(node, OpNode) and node.op.family in ("reduce", "rows")
            ):
                self.fixed.update(behind.get(x, int(x)) for x in node.refs())
        self.droppable = [
            n for n in wanted if n in self.maker and not self.shown(n) and n not in self.fixed
        ]

    def shown(self, n: int) -> bool:
        """Can somebody else write to a value's memory?"""
        return self.root.get(n) in self.away or n not in self.root

    def keeping(self, n: int) -> int:
        """What it costs to keep a value for the backward."""
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
        """What it costs to compute a value once more from its operands."""
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
        """(what is computed again, the values that it is computed from, those of it that are
        wanted) with the least costs."""
        done: set[int] = set()
        again: list[int] = []
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
                    self.cut(piece, again, sources)
        return (
            frozenset(again),
            tuple(dict.fromkeys(sources)),
            tuple(n for n in self.droppable if n in again),
        )

    def piece(self, n: int, done: set[int]) -> tuple[set[int], bool]:
        """The values that are connected with one by what can be computed again, and whether these
        are all. (Of values that are in memory in any case, everybody may have as much as he
        likes.)"""
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

    def cut(self, piece: set[int], again: list[int], sources: list[int]) -> None:
        """Add what is computed again of some connected values, and from what."""
        flow, wanted = _Flow(), [n for n in self.droppable if n in piece]
        # What no wanted value depends on does not matter.
        reached, stack = set(wanted), list(wanted)
        while stack:
            n = stack.pop()
            flow.edge("from", (n, 0), self.computing(n))
            flow.edge((n, 0), (n, 1), self.keeping(n))
            for x in map(int, self.maker[n].refs() if n in self.maker else ()):
                flow.edge((x, 1), (n, 0), NEVER)
                if x not in reached:
                    reached.add(x)
                    stack.append(x)
        for n in wanted:
            flow.edge((n, 1), "to", NEVER)
        kept = flow.before("from", "to")
        stack, seen = [n for n in wanted if (n, 0) not in kept], set()
        while stack:
            n = stack.pop()
            if n in seen:
                continue
            seen.add(n)
            if (n, 0) in kept:
                sources.append(n)
            else:
                again.append(n)
                stack += map(int, self.maker[n].refs())

    def allows(self, choice: Choice) -> bool:
        """May that be done here too? The nodes may be others than those that it was made for."""
        again, sources, dropped = choice
        return (
            dropped == tuple(n for n in self.droppable if n in again)
            and all(self.computing(n) < NEVER for n in again)
            and all(self.keeping(n) < NEVER for n in sources)
            and all(x in again or x in sources for n in again for x in self.maker[n].refs())
        )


class _Flow:
    """A network with capacities, for its minimum cut (Dinic)."""

    def __init__(self) -> None:
        self.room: dict[Place, dict[Place, int]] = {}        # from -> to -> what can still flow

    def edge(self, a: Place, b: Place, most: int) -> None:
        self.room.setdefault(a, {})
        self.room.setdefault(b, {}).setdefault(a, 0)
        self.room[a][b] = self.room[a].get(b, 0) + most

    def before(self, start: Place, end: Place) -> set[Place]:
        """The places before the minimum cut that is next to the start."""
        while True:
            level: dict[Place, int] = {start: 0}
            queue = deque([start])
            while queue:
                a = queue.popleft()
                for b, room in self.room[a].items():
                    if room and b not in level:
                        level[b] = level[a] + 1
                        queue.append(b)
            if end not in level:
                return set(level)
            todo = {a: list(bs) for a, bs in self.room.items()}
            path = [start]
            while path:
                a = path[-1]
                if a == end:
                    steps = list(zip(path, path[1:]))
                    least = min(self.room[p][q] for p, q in steps)
                    for p, q in steps:
                        self.room[p][q] -= least
                        self.room[q][p] += least
                    path = [start]
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
