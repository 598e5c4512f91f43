"""Repeated steps of an unrolled loop become a loop again: one body, built once, that machine code
goes round.

    %2 = matmul(%0, %1)
    %3 = fused(%2, %10){add; tanh}
    %4 = matmul(%3, %1)             ->    %3 = roll 2 times(%0, %1, %10..%11):
    %5 = fused(%4, %11){add; tanh}          %2 = matmul(a, b)
                                            %3 = fused(%2, c){add; tanh}

Here a is %0, then %3 of the round before; b is %1; c is %10, then what lies 128 bytes further on.

What a round reads is the same in all rounds, or what the round before made (*carried*), or lies so
many bytes after what the round before read (a row of a tensor; what an earlier loop made). What is
read of every round afterwards is *kept*: it lies in one piece of memory, round after round; views
through which it is read stand after the loop. The last round stays as it is, so that what is seen
from outside is made by ordinary nodes.

Only nodes that compute are rolled: no write, no guard, nothing that may fail, nothing that is
visible. The kernels are those of the unrolled list, in its order: no bit changes.
"""
from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Any, TypeAlias

from whet.ir.graph import Contract, Fused, Loop, Node, OpNode, Parts, Ref, Roll, Rows
from whet.ir.values import Array, DType
from whet.passes.listing import Arrays, Listing, Roots
from whet.passes.uses import is_view

LEAST = 8                        # rounds
WORK = 96  # operations that a loop must do: going into it costs as much as a launch or two
LONGEST = 400                    # nodes of a body
WAYS = 24  # lengths of a body that are tried at a node: a step may be there several times in one
PATIENCE = 20                    # how often each node is looked at in vain
# nodes of a body: a shorter one is several rounds long, so that going round costs nothing beside
# them
ENOUGH = 12
STEPS = OpNode, Fused, Rows, Parts, Contract             # what a body may have, beside views


def roll(g: Listing) -> Listing:
    """The list with loops. It has new names."""
    nodes, root, visible, arrays = g.nodes, g.root, g.visible, list(g.arrays)
    looks = looks_of(nodes, arrays)
    after, shown = next_alike(looks), next_visible(nodes, visible)
    users = users_of(nodes, root)
    work = [0]                               # operations before each node
    for node in nodes:
        work.append(work[-1] + len(node.flat()))
    state = _State(nodes, root, arrays, visible, users)
    out, i, patience = [], 0, PATIENCE * len(nodes)
    ends: dict[int, int] = {}
    waits: dict[int, int] = {}
    while i < len(nodes):
        found, k = None, after[i]
        for _ in range(WAYS):
            if k is None or k - i > LONGEST:
                break
            p, k = k - i, after[k]
            if waits.get(p, 0) > i:
                continue
            end = ends.get(p, 0)
            if end <= i:
                end = i
                while end + p < len(nodes) and looks[end] == looks[end + p]:
                    end += 1
                ends[p] = end
            rounds = (min(end, shown[i]) - i) // p       # the last round stays
            if rounds >= LEAST and work[i + p * rounds] - work[i] >= WORK and patience > 0:
                several = max(1, min(-(-ENOUGH // p), rounds // LEAST))
                length, p, rounds = p, p * several, rounds // several
                found = state.loop(i, p, rounds, several)
                if found is not None:
                    break
                patience -= p * rounds
                waits[length] = i + p * state.uneven
        if found is None:
            out.append(nodes[i])
            i += 1
        else:
            out += found
            i += p * rounds
    return Listing(out, root, arrays, visible)


def looks_of(nodes: Sequence[Node], arrays: Arrays) -> list[int]:
    """A number for each node: the same for nodes that are the same step."""
    looks = []
    kinds: dict[Any, int] = {}
    for node in nodes:
        try:
            looks.append(kinds.setdefault(look(node, arrays), len(kinds)))
        except TypeError:                    # an attribute that does not compare
            looks.append(kinds.setdefault(id(node), len(kinds)))
    return looks


def next_alike(looks: Sequence[int]) -> list[int | None]:
    """For each node the next one that is the same step; None where there is none."""
    after: list[int | None] = [None] * len(looks)
    seen: dict[int, int] = {}
    for i in reversed(range(len(looks))):
        after[i] = seen.get(looks[i])
        seen[looks[i]] = i
    return after


def next_visible(nodes: Sequence[Node], visible: Set[int]) -> list[int]:
    """For each node the next one, itself or later, that makes something visible."""
    shown = [len(nodes)] * (len(nodes) + 1)
    for i in reversed(range(len(nodes))):
        makes = not is_view(nodes[i]) and not visible.isdisjoint(nodes[i].outs)
        shown[i] = i if makes else shown[i + 1]
    return shown


def users_of(nodes: Sequence[Node], root: Roots) -> dict[int, list[int]]:
    """value -> the places of the nodes that read it, or write to it"""
    users: dict[int, list[int]] = {}
    for i, node in enumerate(nodes):
        for x in (*node.refs(), *node.attrs.get("into", {}).values()):
            users.setdefault(int(x), []).append(i)
            if root[x] != x:
                users.setdefault(root[x], []).append(i)
    return users


def look(node: Node, arrays: Arrays) -> int | tuple[Any, ...]:
    """What must be equal for two nodes to be the same step."""
    outs = tuple([layout(arrays[o]) for o in node.outs])
    if is_view(node) and len(node.outs) == 1:
        return (
            "view",
            node.op,
            outs,
            tuple([layout(arrays[x]) if type(x) is Ref else None for x in node.ins]),
        )
    if type(node) not in STEPS or "into" in node.attrs:
        return id(node)
    if isinstance(node, OpNode) and (
        node.op.may_fail or not (node.op.memo or node.op.moves is not None)
    ):
        return id(node)
    ins = tuple([("value", layout(arrays[x])) if type(x) is Ref else said(x) for x in node.ins])
    return (
        node.kind,
        node.op,
        ins,
        said(node.attrs),
        outs,
        node.roots if not isinstance(node, OpNode) else None,
    )


def layout(a: Array) -> tuple[tuple[int, ...], tuple[int, ...], DType]:
    return a.shape, a.strides, a.dtype


def said(x: Any) -> tuple[Any, ...]:
    """A number, or whatever an attribute is, as something that compares by bits and type."""
    if hasattr(x, "tobytes"):
        return "array", x.dtype, x.shape, x.tobytes()
    if isinstance(x, tuple | list):
        return type(x), tuple(map(said, x))
    if isinstance(x, dict):
        return type(x), tuple([(k, said(v)) for k, v in x.items()])
    return type(x), repr(x) if isinstance(x, float | complex | slice) else x


def start(a: Array) -> int:
    return int(a.__array_interface__["data"][0])


Place: TypeAlias = tuple[Any, ...]           # what a body reads or gives, as `Loop` has it


class _State:
    """A list in which loops are looked for."""

    def __init__(self, nodes: Sequence[Node], root: Roots, arrays: list[Array], visible: Set[int],
                 users: dict[int, list[int]]) -> None:
        self.nodes, self.root, self.arrays, self.visible, self.users = (
            nodes,
            root,
            arrays,
            visible,
            users,
        )
        # value that a loop keeps -> (the first of them, bytes from there)
        self.kept: dict[int, tuple[int, int]] = {}
        self.uneven = 0  # how many rounds of the last try were unlike the later ones
        # which of its node's results a value is
        self.output = {o: k for n in nodes for k, o in enumerate(n.outs)}

    def lies(self, x: int, inside: dict[int, tuple[int, int]]) -> tuple[int, int] | None:
        """Where a value lies: the value that owns the memory and the bytes from its start; None
        for what the loop itself makes."""
        r = self.root[x]
        if r in inside:
            return None
        offset = start(self.arrays[x]) - start(self.arrays[r])
        base, more = self.kept.get(r, (r, 0))
        return base, offset + more

    def loop(self, i: int, p: int, rounds: int, several: int) -> list[Node] | None:
        """The rounds from node i on, of p nodes each (`several` steps that are alike), as the nodes
        to put in their place; None if they are no loop."""
        nodes, arrays, self.uneven = self.nodes, self.arrays, 0
        stop = i + p * rounds
        made = {o: divmod(k - i, p) for k in range(i, stop) for o in nodes[k].outs}
        columns = [[nodes[k] for k in range(i + q, stop, p)] for q in range(p)]
        hoisted = self.hoisted(columns, made)
        inputs: dict[int, Place] = {}
        body = self.body(columns, made, inputs)
        if not body:
            return None
        carried = {what[2] for what in inputs.values() if what[0] == "carried"}
        found = self.results(i, stop, columns, several, made, carried)
        if found is None:
            return None
        results, sunk = found
        outs = [
            v for kind, what, *_ in results.values() for v in (what if kind == "kept" else [what])
        ]
        gone = {n.outs[0]: n.ins[0] for n in hoisted if not self.used(n.outs[0], i, stop)}
        refs = [x for k in range(i, stop) for x in nodes[k].refs() if x not in made]
        for at, x in enumerate(refs):
            while x in gone:                 # a view that is there no more
                x = gone[x]
            refs[at] = x
        refs = list(dict.fromkeys(refs))
        for kind, what, *memory in results.values():
            if kind == "kept":
                for r, v in enumerate(what):
                    self.kept[v] = memory[0], (r * several + memory[1]) * arrays[v].nbytes
        loop = Loop(
            rounds,
            several,
            body,
            inputs,
            results,
            nodes[i:stop],
            frozenset(base for base, _ in self.kept.values()),
        )
        node = Roll(tuple(refs), outs, nodes[i].line, loop)
        return [n for n in hoisted if n.outs[0] not in gone] + [node] + sunk

    def hoisted(self, columns: Sequence[Sequence[Node]],
                made: dict[int, tuple[int, int]]) -> list[Node]:
        """Views of what was there before the loop, which it does not make: where they lie is all
        that is needed."""
        found: list[Node] = []
        for column in columns:
            if is_view(column[0]) and not any(n.ins[0] in made for n in column):
                found += column
                for n in column:
                    del made[n.outs[0]]
        return found

    def body(self, columns: Sequence[Sequence[Node]], made: dict[int, tuple[int, int]],
             inputs: dict[int, Place]) -> list[Node] | None:
        """The nodes of one round; None where the rounds differ. `inputs` gets what the body
        reads."""
        names: dict[Any, int] = {}
        body: list[Node] = []
        for column in columns:
            first = column[0]
            if first.outs[0] not in made:
                continue
            if is_view(first) and any(
                said((n.attrs, n.ins[1:])) != said((first.attrs, first.ins[1:])) for n in column
            ):
                return None
            ins = self.operands(column, made, names, inputs)
            step = None if ins is None else again(first, tuple(ins))
            if step is None:
                return None
            body.append(step)
        return body

    def operands(self, column: Sequence[Node], made: dict[int, tuple[int, int]],
                 names: dict[Any, int], inputs: dict[int, Place]) -> list[Any] | None:
        """What a step of the body reads; None where the rounds differ. `names` has the body's
        inputs by their roles."""
        arrays, ins = self.arrays, []
        for at, x in enumerate(column[0].ins):
            if type(x) is not Ref:
                ins.append(x)
                continue
            what = self.operand([int(n.ins[at]) for n in column], made)
            if what is None:
                return None
            if what[0] == "local":
                ins.append(x)
                continue
            role = what, layout(arrays[x])  # a row and its transpose share a place
            if role not in names:        # two roles may begin with one value
                names[role] = len(arrays)
                inputs[len(arrays)] = what
                arrays.append(arrays[x])
            ins.append(Ref(names[role]))
        return ins

    def used(self, x: int, i: int, stop: int) -> bool:
        """Is a value read outside of the nodes from i on?"""
        return x in self.visible or any(not i <= u < stop for u in self.users.get(x, ()))

    def operand(self, xs: Sequence[int], made: dict[int, tuple[int, int]]) -> Place | None:
        """What an operand is, given its values round by round."""
        a, b = made.get(xs[0]), made.get(xs[1])
        if b is None:
            if any(x in made for x in xs):
                return None
            if all(x == xs[0] for x in xs):
                return "same", xs[0]
            places = [p for p in (self.lies(x, made) for x in xs) if p is not None]
            if len(places) < len(xs):
                return None
            base, step = places[-1][0], places[-1][1] - places[-2][1]
            even = len(places) - 1
            while even and places[even - 1] == (base, places[even][1] - step):
                even -= 1
            if even:                         # such as what an earlier loop left
                self.uneven = even if even < len(places) - 2 else 0
                return None
            return "along", *places[0], step
        if a is not None:
            same = all(made.get(x) == (r, a[1]) for r, x in enumerate(xs))
            return (
                ("local",)
                if same and all(self.output[x] == self.output[xs[0]] for x in xs)
                else None
            )
        if (
            all(made.get(x) == (r, b[1]) for r, x in enumerate(xs[1:]))
            and all(self.output[x] == self.output[xs[1]] for x in xs[1:])
            and layout(self.arrays[xs[0]]) == layout(self.arrays[xs[1]])
            and self.root[xs[0]] not in made
        ):
            return "carried", xs[0], xs[1]
        return None

    def results(self, i: int, stop: int, columns: Sequence[Sequence[Node]], several: int,
                made: dict[int, tuple[int, int]],
                carried: set[int]) -> tuple[dict[int, Place], list[Node]] | None:
        """What the rounds make for others, and their views that others look through, to stand
        after them; None where that cannot be."""
        found: dict[int, Place] = {}
        step = len(columns) // several
        sunk: list[Node] = []
        seen: set[int] = set()               # of what views stand there
        for q in reversed(range(step)):
            same = [columns[q + s * step] for s in range(several)]
            if same[0][0].outs[0] not in made:
                continue
            if any(v in self.visible for column in same for n in column for v in n.outs):
                return None
            if is_view(same[0][0]):
                if any(o in carried for column in same for o in column[0].outs):
                    return None
                views = [
                    n
                    for column in same
                    for n in column
                    if any(v in seen or self.used(v, i, stop) for v in n.outs)
                ]
                sunk += views
                seen.update(n.ins[0] for n in views)
                continue
            for j in range(len(same[0][0].outs)):
                alike = [[int(n.outs[j]) for n in column] for column in same]
                used = [[v in seen or self.used(v, i, stop) for v in values] for values in alike]
                kept = any(any(u[:-1]) for u in used)
                for s, (values, u) in enumerate(zip(alike, used)):
                    if kept or values[0] in carried or u[-1]:
                        if not self.arrays[values[0]].flags.c_contiguous or any(
                            self.root[v] != v for v in values
                        ):
                            return None
                        found[values[0]] = (
                            ("kept", values, alike[0][0], s) if kept else ("last", values[-1])
                        )
        sunk.sort(key=lambda n: made[n.outs[0]])
        return found, sunk


def again(node: Node, ins: tuple[Any, ...]) -> Node | None:
    """The same node of other operands; None where one value would become two."""
    names: dict[int, Any] = {}
    for x, y in zip(node.ins, ins, strict=True):
        if type(x) is Ref and names.setdefault(int(x), y) != y:
            return None
    return node.renamed(names).by_itself()
