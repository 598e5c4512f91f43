"""Finds steps that repeat: what `whet.scan`, recurrent layers and loops over a sequence leave in a
graph.

    %2, %3, %4 = unbind(%0, dim=0)
    %5 = mul(%2, %1)
    %6 = add(%3, %5)                     a step is add and mul: each takes a slice, and what the
    %7 = mul(%6, %1)               ->    step before it made; its outputs are stacked
    %8 = add(%4, %7)
    %9 = stack(%5, %6, %8, dim=0)

The step of a node is that of the last slice that its operands come from. So what is made of one
step's results alone, such as the product of a state and its weights, belongs to that step and is
handed on. In a last step what is not read may be missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from whet.ir.graph import Node, OpNode, Ref
from whet.ir.value_keys import value_key

from ...ops.join import stack_op
from ...ops.split import unbind_op

LEAST = 3  # steps: two are compared, and a first one begins
OUTSIDE = -1  # the step of what no slice has made

Local: TypeAlias = tuple[int, int]  # a node of a step, and which of its results


class Slices(NamedTuple):
    """A sequence that a step has a slice of: the value, and along which dimension."""

    base: int
    dim: int
    is_reversed: bool


class Carried(NamedTuple):
    """What a step is given by the one before it: where that makes it, and what the first has."""

    local: Local
    first: int


class Roles:
    """What the operands of steps are, in the order in which they are met."""

    def __init__(self) -> None:
        self.outer: list[int] = []
        self.slices: list[Slices] = []
        self.carried: list[Carried] = []

    def place(self, kind: str, x: Any) -> tuple[str, int]:
        """What an operand is called: one of a kind, by its place."""
        found: list[Any] = getattr(self, kind)
        if x not in found:
            found.append(x)
        return kind, found.index(x)


class Recurrence:
    """Steps that repeat. `steps`: the nodes of each, in the order in which they are taken, the last
    of which may be missing in the last step; `key` is equal for steps that compute the same."""

    def __init__(self, steps: Sequence[Sequence[Node]], roles: Roles, key: Any) -> None:
        self.steps, self.roles, self.key = steps, roles, key
        self.body, self.count = steps[1], len(steps)
        self.is_reversed = roles.slices[0].is_reversed
        self.last: int = OUTSIDE  # where the last of its nodes stands
        self.stacks: list[tuple[Node, Local]] = []  # nodes that stack what all steps make
        self.single: dict[int, tuple[Local, int]] = {}  # value that others read -> where and when

    def value(self, local: Local, step: int) -> int | None:
        """What a step made."""
        node, place = local
        nodes = self.steps[step]
        return nodes[node].outs[place] if node < len(nodes) else None

    def first_of(self, local: Local) -> int:
        """What the first step has in the place of what a step before it made."""
        return next(c.first for c in self.roles.carried if c.local == local)

    def in_time(self, values: Sequence[int]) -> Local | None:
        """Where steps make these values, one each, in the order of the slices."""
        wanted = values[::-1] if self.is_reversed else values
        for k, node in enumerate(self.body):
            for place in range(len(node.outs)):
                if [self.value((k, place), t) for t in range(self.count)] == list(wanted):
                    return k, place
        return None


# ---- finding -------------------------------------------------------------------------------------
class Search:
    """Looks for recurrences in a list of nodes; `visible` are values that are read behind it."""

    def __init__(self, nodes: Sequence[Node], visible: Sequence[int]) -> None:
        self.nodes, self.visible = nodes, set(visible)
        self.place = {id(n): i for i, n in enumerate(nodes)}
        self.slice_of: dict[int, tuple[Node, int]] = {}  # value -> its unbind, and which it is
        self.readers: dict[int, list[Node]] = {}
        for n in nodes:
            if n.op is unbind_op:
                self.slice_of.update({v: (n, i) for i, v in enumerate(n.outs)})
            for x in n.refs():
                self.readers.setdefault(int(x), []).append(n)

    def found(self) -> Iterator[Recurrence]:
        """All of them; no node is in two."""
        taken: set[int] = set()
        for n in self.nodes:
            if n.op is not unbind_op or len(n.outs) < LEAST or id(n) in taken:
                continue
            together = self.together(n)
            for step in (1, -1):
                made = self.along([x.outs[::step] for x in together], taken)
                if made is not None:
                    taken.update(id(x) for step in made.steps for x in step)
                    taken.update(map(id, together))
                    yield made
                    break

    def together(self, n: Node) -> list[Node]:
        """The sequences that are cut into slices side by side, from one on."""
        found = []
        for m in self.nodes[self.place[id(n)] :]:
            if m.op is not unbind_op or len(m.outs) != len(n.outs):
                break
            found.append(m)
        return found

    def along(self, slices: Sequence[Sequence[int]], taken: set[int]) -> Recurrence | None:
        """The recurrence whose steps read these slices, one each of some sequences."""
        level = {v: i for outs in slices for i, v in enumerate(outs)}
        steps: list[list[Node]] = [[] for _ in slices[0]]
        for n in self.nodes[self.place[id(self.slice_of[slices[0][0]][0])] + 1 :]:
            at = max([level.get(int(x), OUTSIDE) for x in n.refs()], default=OUTSIDE)
            if at != OUTSIDE:
                level.update((o, at) for o in n.outs)
                steps[at].append(n)
        size = min(map(len, steps[:-1]))
        steps = [s[:size] for s in steps]  # others follow, which read a single step's results
        if not size:
            return None
        if any(type(n) is not OpNode or id(n) in taken for s in steps[:-1] for n in s):
            return None
        return self.with_readers(matched(steps, level, self.slice_of))

    def with_readers(self, r: Recurrence | None) -> Recurrence | None:
        """A recurrence that knows who reads what it makes; None where it is read before all
        steps are done, or nothing is handed on."""
        if r is None or not r.roles.carried:
            return None
        inside = {id(n) for s in r.steps for n in s}
        r.last = max(self.place[id(n)] for s in r.steps for n in s)
        for t, nodes in enumerate(r.steps):
            for k, n in enumerate(nodes):
                for j, v in enumerate(n.outs):
                    others = [x for x in self.readers.get(v, ()) if id(x) not in inside]
                    stacks = [x for x in others if x.op is stack_op and self.stacked(r, x)]
                    if any(self.place[id(x)] < r.last for x in others):
                        return None
                    if len(stacks) < len(others) or v in self.visible:
                        r.single[v] = (k, j), t
        return r

    def stacked(self, r: Recurrence, n: Node) -> bool:
        """Does a node stack what all steps make in one place? It is noted."""
        if all(n is not x for x, _ in r.stacks):
            local = r.in_time([int(x) for x in n.refs()])
            if local is None:
                return False
            r.stacks.append((n, local))
        return True


def matched(
    steps: list[list[Node]],
    level: Mapping[int, int],
    slice_of: Mapping[int, tuple[Node, int]],
) -> Recurrence | None:
    """The steps as a recurrence, if they all do the same. What follows the last one is left out."""
    locals_: list[dict[int, Local]] = [
        {o: (k, j) for k, n in enumerate(s) for j, o in enumerate(n.outs)} for s in steps
    ]
    *whole, last = steps
    roles, key = Roles(), []
    for k, node in enumerate(steps[1]):
        column = [s[k] for s in whole]
        if any(not alike(n, node) for n in column):
            return None
        reads = [operand([n.ins[i] for n in column], locals_, roles, slice_of)
                 for i in range(len(node.ins))]
        if None in reads:
            return None
        key.append((node.op, value_key(dict(node.attrs)), tuple(reads)))
        if k < len(last):
            also = alike(last[k], node) and type(last[k]) is OpNode and all(
                operand([n.ins[i] for n in [*column, last[k]]], locals_, roles, slice_of) == read
                for i, read in enumerate(reads))
            if not also:
                del last[k:]
    if not last or not roles.slices or any(c.first in level for c in roles.carried):
        return None
    return Recurrence(steps, roles, tuple(key))


def alike(a: Node, b: Node) -> bool:
    """Are two nodes of one op, with the same attributes?"""
    return a.op is b.op and len(a.ins) == len(b.ins) and value_key(dict(a.attrs)) == value_key(
        dict(b.attrs))


def operand(
    xs: Sequence[Any],
    locals_: Sequence[Mapping[int, Local]],
    roles: Roles,
    slice_of: Mapping[int, tuple[Node, int]],
) -> Any:
    """What an operand is in all steps, None where it differs."""
    if any(type(x) is not Ref for x in xs):
        key = value_key(xs[1])
        return ("number", key) if all(value_key(x) == key for x in xs) else None
    own = locals_[1].get(xs[1])
    if own is not None:
        same = all(locals_[t].get(x) == own for t, x in enumerate(xs))
        return ("local", own) if same else None
    before = locals_[0].get(xs[1])
    if before is not None:
        same = all(locals_[t].get(x) == before for t, x in enumerate(xs[1:]))
        return roles.place("carried", Carried(before, int(xs[0]))) if same else None
    if all(x == xs[0] for x in xs):
        return roles.place("outer", int(xs[0]))
    if all(x in slice_of and slice_of[x][0] is slice_of[xs[0]][0] for x in xs):
        node, order = slice_of[xs[0]][0], [slice_of[x][1] for x in xs]
        places = list(range(len(node.outs)))
        for is_reversed in (False, True):
            if len(locals_) == len(places) and order == places[: len(order)]:
                found = Slices(int(node.ins[0]), node.attrs["dim"], is_reversed)
                return roles.place("slices", found)
            places.reverse()
    return None
