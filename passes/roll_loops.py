"""Rolls up unrolled loops: repeated steps become one body, built once, which machine code runs in
rounds.

    %2 = matmul(%0, %1)
    %3 = fused(%2, %10){add; tanh}
    %4 = matmul(%3, %1)             ->    %3 = roll 2 times(%0, %1, %10..%11):
    %5 = fused(%4, %11){add; tanh}          %2 = matmul(a, b)
                                            %3 = fused(%2, c){add; tanh}

Here a is %0, then %3 of the round before; b is %1; c is %10, then what is 128 bytes further on.

A round reads values of three kinds. Some are the same in all rounds. Some were made by the round
before (*carried*). Some are consecutive parts of a memory, such as rows of a tensor or what an
earlier loop made. If a value of every round is read afterwards, it is *kept*: the rounds store it
one after the other in one piece of memory, and views after the loop read it. The last round is not
rolled, so that ordinary nodes make what is visible outside.

Only nodes that compute are rolled: no write, no guard, nothing that may fail, nothing that is
visible. The kernels are those of the unrolled list, in its order: no bit changes.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from typing import Any, TypeAlias

from whet.ir.graph import Contract, Fused, Loop, Node, OpNode, Parts, Ref, Roll, Rows
from whet.ir.loops import Along, BodyInput, BodyResult, Carried, Last, Same, Stacked
from whet.ir.memory_spans import address
from whet.ir.value_keys import layout_key, value_key
from whet.ir.values import Array
from whet.passes.listing import Arrays, Listing, Roots
from whet.passes.value_uses import is_view

LEAST = 8                        # rounds
WORK = 96  # operations that a loop must do: going into it costs as much as a launch or two
LONGEST = 400                    # nodes of a body
WAYS = 24  # lengths of a body that are tried at a node: a step may be there several times in one
PATIENCE = 20                    # how often each node is looked at in vain
# nodes of a body: a shorter one is several rounds long, so that going round costs nothing beside
# them
ENOUGH = 12
STEPS = OpNode, Fused, Rows, Parts, Contract             # what a body may have, beside views

# where values are made, as far as the rounds of a loop make them: (round, place in the body)
Made: TypeAlias = dict[int, tuple[int, int]]


def roll_loops(g: Listing) -> Listing:
    """The list with loops. It has new names."""
    nodes, arrays = g.nodes, list(g.arrays)
    repeats = Repeats(g)
    maker = LoopMaker(nodes, g.root, arrays, g.visible, users_of(nodes, g.root))
    out: list[Node] = []
    i, patience = 0, PATIENCE * len(nodes)
    waits: dict[int, int] = {}               # length of a body -> where it is next tried
    while i < len(nodes):
        found = None
        for length in repeats.lengths(i):
            if waits.get(length, 0) > i or patience <= 0:
                continue
            rounds = repeats.rounds(i, length)
            if rounds < LEAST or repeats.work(i, length * rounds) < WORK:
                continue
            several = max(1, min(-(-ENOUGH // length), rounds // LEAST))
            size, rounds = length * several, rounds // several
            found = maker.loop(i, size, rounds, several)
            if found is not None:
                out += found
                i += size * rounds
                break
            patience -= size * rounds
            waits[length] = i + size * maker.uneven
        if found is None:
            out.append(nodes[i])
            i += 1
    return Listing(out, g.root, arrays, g.visible)


class Repeats:
    """Where in a list the same steps come again."""

    def __init__(self, g: Listing) -> None:
        self.steps = numbered_steps(g.nodes, g.arrays)
        self.after = next_alike(self.steps)
        self.shown = next_visible(g.nodes, g.visible)
        self.ends: dict[int, int] = {}       # length of a body -> where its last repetition ends
        self.before = [0]                    # operations before each node
        for node in g.nodes:
            self.before.append(self.before[-1] + len(node.flat()))

    def lengths(self, i: int) -> Iterator[int]:
        """The lengths of the bodies that are tried at a node: to where the same step comes
        again."""
        k = self.after[i]
        for _ in range(WAYS):
            if k is None or k - i > LONGEST:
                return
            yield k - i
            k = self.after[k]

    def rounds(self, i: int, length: int) -> int:
        """How often a body repeats from a node on, as far as no visible value is in the way. The
        last round stays outside of the loop."""
        end = self.ends.get(length, 0)
        if end <= i:
            steps, end = self.steps, i
            while end + length < len(steps) and steps[end] == steps[end + length]:
                end += 1
            self.ends[length] = end
        return (min(end, self.shown[i]) - i) // length

    def work(self, i: int, count: int) -> int:
        """The estimated operations of these nodes."""
        return self.before[i + count] - self.before[i]


def numbered_steps(nodes: Sequence[Node], arrays: Arrays) -> list[int]:
    """A number for each node: the same for nodes that are the same step."""
    numbers = []
    kinds: dict[Any, int] = {}
    for node in nodes:
        try:
            numbers.append(kinds.setdefault(step_key(node, arrays), len(kinds)))
        except TypeError:                    # an attribute that does not compare
            numbers.append(kinds.setdefault(id(node), len(kinds)))
    return numbers


def next_alike(steps: Sequence[int]) -> list[int | None]:
    """For each node the index of the next one that is the same step; None if there is none."""
    after: list[int | None] = [None] * len(steps)
    seen: dict[int, int] = {}
    for i in reversed(range(len(steps))):
        after[i] = seen.get(steps[i])
        seen[steps[i]] = i
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


def step_key(node: Node, arrays: Arrays) -> int | tuple[Any, ...]:
    """What must be equal for two nodes to be the same step."""
    outs = tuple([layout_key(arrays[o]) for o in node.outs])
    if is_view(node) and len(node.outs) == 1:
        return (
            "view",
            node.op,
            outs,
            tuple([layout_key(arrays[x]) if type(x) is Ref else None for x in node.ins]),
        )
    if type(node) not in STEPS or "into" in node.attrs:
        return id(node)
    if isinstance(node, OpNode) and (
        node.op.may_fail or not (node.op.is_repeatable or node.op.moves is not None)
    ):
        return id(node)
    ins = tuple([
        ("value", layout_key(arrays[x])) if type(x) is Ref else value_key(x) for x in node.ins])
    return (
        node.kind,
        node.op,
        ins,
        value_key(node.attrs),
        outs,
        node.roots if not isinstance(node, OpNode) else None,
    )


class Local:
    """An operand that the same round makes."""


LOCAL = Local()


class LoopMaker:
    """Makes loops of the nodes of a list."""

    def __init__(self, nodes: Sequence[Node], root: Roots, arrays: list[Array], visible: Set[int],
                 users: dict[int, list[int]]) -> None:
        self.nodes, self.root, self.arrays = nodes, root, arrays
        self.visible, self.users = visible, users
        # value that a loop keeps -> (the first of them, bytes from there)
        self.kept: dict[int, tuple[int, int]] = {}
        self.uneven = 0  # how many rounds of the last try were unlike the later ones
        # which of its node's results a value is
        self.output = {o: k for n in nodes for k, o in enumerate(n.outs)}

    def location(self, x: int, made: Made) -> tuple[int, int] | None:
        """The position of a value: the value that owns the memory and the bytes from its start;
        None for what the loop itself makes."""
        r = self.root[x]
        if r in made:
            return None
        offset = address(self.arrays[x]) - address(self.arrays[r])
        base, more = self.kept.get(r, (r, 0))
        return base, offset + more

    def loop(self, i: int, p: int, rounds: int, several: int) -> list[Node] | None:
        """The rounds from node i on, of p nodes each (`several` steps that are alike), as the nodes
        to put in their place; None if they are no loop."""
        nodes, self.uneven = self.nodes, 0
        stop = i + p * rounds
        made = {o: divmod(k - i, p) for k in range(i, stop) for o in nodes[k].outs}
        columns = [[nodes[k] for k in range(i + q, stop, p)] for q in range(p)]
        hoisted = self.hoisted(columns, made)
        inputs: dict[int, BodyInput] = {}
        body = self.body(columns, made, inputs)
        if not body:
            return None
        carried = {x.result for x in inputs.values() if isinstance(x, Carried)}
        found = self.results(i, stop, columns, several, made, carried)
        if found is None:
            return None
        results, sunk = found
        gone = {n.outs[0]: n.ins[0] for n in hoisted if not self.used(n.outs[0], i, stop)}
        refs = self.outside_refs(nodes[i:stop], made, gone)
        self.note_kept(results.values(), several)
        blocks = frozenset(base for base, _ in self.kept.values())
        loop = Loop(rounds, several, body, inputs, results, nodes[i:stop], blocks)
        outs = [v for y in results.values() for v in y.values]
        node = Roll(tuple(refs), outs, nodes[i].line, loop)
        return [n for n in hoisted if n.outs[0] not in gone] + [node] + sunk

    def outside_refs(self, nodes: Sequence[Node], made: Made, gone: dict[int, Any]) -> list[Ref]:
        """The values that the rounds read from outside. Views in `gone` are replaced by what they
        are views of."""
        refs = [x for node in nodes for x in node.refs() if x not in made]
        for at, x in enumerate(refs):
            while x in gone:
                x = gone[x]
            refs[at] = x
        return list(dict.fromkeys(refs))

    def note_kept(self, results: Iterable[BodyResult], several: int) -> None:
        """Note the memory to which a loop writes its results, so that a later loop can read along
        it."""
        for y in results:
            if isinstance(y, Stacked):
                for r, v in enumerate(y.values):
                    self.kept[v] = y.head, (r * several + y.at) * self.arrays[v].nbytes

    def hoisted(self, columns: Sequence[Sequence[Node]], made: Made) -> list[Node]:
        """Views of what was there before the loop, which it does not make: only their
        addresses are needed."""
        found: list[Node] = []
        for column in columns:
            if is_view(column[0]) and not any(n.ins[0] in made for n in column):
                found += column
                for n in column:
                    del made[n.outs[0]]
        return found

    def body(self, columns: Sequence[Sequence[Node]], made: Made,
             inputs: dict[int, BodyInput]) -> list[Node] | None:
        """The nodes of one round; None where the rounds differ. `inputs` gets what the body
        reads."""
        names: dict[Any, int] = {}
        body: list[Node] = []
        for column in columns:
            first = column[0]
            if first.outs[0] not in made:
                continue
            if is_view(first) and any(
                value_key((n.attrs, n.ins[1:])) != value_key((first.attrs, first.ins[1:]))
                for n in column
            ):
                return None
            ins = self.operands(column, made, names, inputs)
            step = None if ins is None else with_operands(first, tuple(ins))
            if step is None:
                return None
            body.append(step)
        return body

    def operands(self, column: Sequence[Node], made: Made, names: dict[Any, int],
                 inputs: dict[int, BodyInput]) -> list[Any] | None:
        """What a step of the body reads; None where the rounds differ. `names` has the body's
        inputs by their roles."""
        arrays, ins = self.arrays, []
        for at, x in enumerate(column[0].ins):
            if type(x) is not Ref:
                ins.append(x)
                continue
            operand = self.operand([int(n.ins[at]) for n in column], made)
            if operand is None:
                return None
            if isinstance(operand, Local):
                ins.append(x)
                continue
            role = operand, layout_key(arrays[x])        # a row and its transpose share a place
            if role not in names:                    # two roles may begin with one value
                names[role] = len(arrays)
                inputs[len(arrays)] = operand
                arrays.append(arrays[x])
            ins.append(Ref(names[role]))
        return ins

    def used(self, x: int, i: int, stop: int) -> bool:
        """Is a value read outside of the nodes from i on?"""
        return x in self.visible or any(not i <= u < stop for u in self.users.get(x, ()))

    def operand(self, xs: Sequence[int], made: Made) -> BodyInput | Local | None:
        """What an operand is, given its values round by round; None where the rounds differ."""
        if xs[1] not in made:
            return self.from_outside(xs, made)
        return self.of_this_round(xs, made) if xs[0] in made else self.of_round_before(xs, made)

    def from_outside(self, xs: Sequence[int], made: Made) -> BodyInput | None:
        """An operand that the rounds do not make: one value, or consecutive parts of a memory."""
        if any(x in made for x in xs):
            return None
        if all(x == xs[0] for x in xs):
            return Same(xs[0])
        places = [p for p in (self.location(x, made) for x in xs) if p is not None]
        if len(places) < len(xs):
            return None
        base, step = places[-1][0], places[-1][1] - places[-2][1]
        even = len(places) - 1
        while even and places[even - 1] == (base, places[even][1] - step):
            even -= 1
        if even:                             # such as what an earlier loop left
            self.uneven = even if even < len(places) - 2 else 0
            return None
        return Along(*places[0], step)

    def of_this_round(self, xs: Sequence[int], made: Made) -> Local | None:
        """An operand that each round makes for itself."""
        place = made[xs[0]][1]
        same = all(made.get(x) == (r, place) for r, x in enumerate(xs))
        return LOCAL if same and self.are_one_output(xs) else None

    def of_round_before(self, xs: Sequence[int], made: Made) -> Carried | None:
        """An operand that each round but the first has from the round before."""
        first, *later = xs
        place = made[xs[1]][1]
        if (
            all(made.get(x) == (r, place) for r, x in enumerate(later))
            and self.are_one_output(later)
            and layout_key(self.arrays[first]) == layout_key(self.arrays[xs[1]])
            and self.root[first] not in made
        ):
            return Carried(first, xs[1])
        return None

    def are_one_output(self, xs: Sequence[int]) -> bool:
        """Are these values the same output of their respective nodes?"""
        return all(self.output[x] == self.output[xs[0]] for x in xs)

    def results(self, i: int, stop: int, columns: Sequence[Sequence[Node]], several: int,
                made: Made, carried: set[int]) -> tuple[dict[int, BodyResult], list[Node]] | None:
        """What the rounds make for others, and their views that others look through, to stand
        after them; None where that cannot be."""
        found: dict[int, BodyResult] = {}
        step = len(columns) // several
        sunk: list[Node] = []
        shown: set[int] = set()              # what views after the loop are of

        def is_wanted(v: int) -> bool:
            return v in shown or self.used(v, i, stop)
        for q in reversed(range(step)):
            same = [columns[q + s * step] for s in range(several)]
            if same[0][0].outs[0] not in made:
                continue
            if any(v in self.visible for column in same for n in column for v in n.outs):
                return None
            if not is_view(same[0][0]):
                of_step = self.results_of_step(same, is_wanted, carried)
                if of_step is None:
                    return None
                found.update(of_step)
                continue
            if any(o in carried for column in same for o in column[0].outs):
                return None
            views = [n for column in same for n in column if any(map(is_wanted, n.outs))]
            sunk += views
            shown.update(n.ins[0] for n in views)
        sunk.sort(key=lambda n: made[n.outs[0]])
        return found, sunk

    def results_of_step(self, same: Sequence[Sequence[Node]], is_wanted: Callable[[int], bool],
                        carried: set[int]) -> dict[int, BodyResult] | None:
        """The results of the steps of a body that are alike, each with its nodes round by round;
        None where one is not in memory of its own, without gaps."""
        found: dict[int, BodyResult] = {}
        for j in range(len(same[0][0].outs)):
            alike = [[int(n.outs[j]) for n in column] for column in same]
            wanted = [[is_wanted(v) for v in values] for values in alike]
            kept = any(any(w[:-1]) for w in wanted)
            for s, (values, w) in enumerate(zip(alike, wanted)):
                first = values[0]
                if not (kept or first in carried or w[-1]):
                    continue
                if not self.arrays[first].flags.c_contiguous or any(
                        self.root[v] != v for v in values):
                    return None
                found[first] = Stacked(tuple(values), alike[0][0], s) if kept else Last(values[-1])
        return found


def with_operands(node: Node, ins: tuple[Any, ...]) -> Node | None:
    """The same node on other operands; None where one value would become two."""
    names: dict[int, Any] = {}
    for x, y in zip(node.ins, ins, strict=True):
        if type(x) is Ref and names.setdefault(int(x), y) != y:
            return None
    return node.renamed(names).by_itself()
