"""Plans the program of a list of nodes once, on symbolic sizes; it is then evaluated for each
call's sizes.

The nodes and the passes' decisions are those of a program for certain sizes (`like`). The types of
a second program of the same nodes show which sizes differ. The code that plans launches runs on
outlines (see `ir/outline.py`) with symbolic sizes. The result is a list of launches whose words are
numbers or expressions, and the conditions on sizes under which it holds."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from whet.cpu import guarded_memory, ordered_kernels
from whet.ir.graph import Ask, Chain, Draw, Fused, OpNode, Parts, Ref, Roll, Rows, Write
from whet.ir.outline import Outline, Room
from whet.ir.symbolic_size import SymbolicSize, Unsized
from whet.passes import chain_products
from whet.passes.value_uses import is_view, written

from . import sized_questions
from .dry_runs import dry
from .launch_program import LaunchProgram
from .liveness import Roots
from .node_kinds import KINDS, members
from .size_dependent_arrays import SizedDraws
from .size_expressions import same_number
from .sized_lists import Done, SizedLists
from .sized_places import Brought, SizedPiece, SizedPlaces, SizedSteady, SizedTapes
from .sized_types import SizedTypes

if TYPE_CHECKING:
    from whet.ir.graph import Node, Type
    from whet.ir.symbolic_size import Size
    from whet.tensor_base import Base

    from .launch_entries import Entries
    from .numbers_from_sizes import NumbersOfNode
    from .program import Program
    from .size_expressions import SizeExpressions
    from .sized_lists import Step

APART = Chain, Parts, Roll  # groups that are done as their nodes


class Outcome(NamedTuple):
    """The result of planning a node. It holds for all sizes for which the questions in `asked` have
    the same answers: see `SizedProgram.come_to`."""

    node: Node
    asked: dict[str, bool]
    step: Step | None
    members: Sequence[Node]
    is_launched: bool


class LiesOtherwise(Exception):
    """A node that is not a launch gives another layout at other sizes, which may change all later
    nodes."""


class NodesOfRun(Protocol):
    """What is compared of a run. A program has these attributes, and so has what passes left of a
    run."""

    @property
    def recorded(self) -> Sequence[Node]:
        """The nodes of the run."""

    @property
    def nodes(self) -> Sequence[Node]:
        """The nodes that passes left."""

    @property
    def arrays(self) -> Sequence[Type]:
        """The types of the values."""

    @property
    def outside(self) -> Sequence[int]:
        """The values that are inputs."""


class SizedProgram:
    """Plans a program on symbolic sizes. `other`: what is known of a run of the second sizes.
    `sizes`: their expressions. `steady`: see `builder.build`. `input_outlines`: the outlines of
    inputs that another program, planned with the same expressions, makes. Raises Unsized if
    something is not a function of sizes. Kinds of nodes use it as they use a `ProgramBuilder`.

    The constructor finds the types; `finish` plans the launches. The program can be replanned for
    sizes that take another way (`finish_again`): a node's outcome is reused wherever the questions
    that it asked have the same answers."""

    def __init__(self, like: Program, other: NodesOfRun, sizes: SizeExpressions,
                 steady: Mapping[int, Base], follows: Mapping[int, NumbersOfNode] | None = None,
                 input_outlines: Mapping[int, Outline] | None = None) -> None:
        if like.rewritten is not None or guarded_memory.SIDE:
            raise Unsized("named rewrites depend on sizes")
        if not isinstance(like, LaunchProgram):
            raise Unsized("it is no program of launches")
        self.like, self.other = like, other
        self.sizes, self.facts = sizes, sizes.facts
        self.outside, self.results, self.nodes = like.outside, like.results, like.nodes
        self.roots = Roots([*like.recorded, *added(like)], like.outside, like.results)
        self.types = SizedTypes(like, other, sizes, self.roots, follows, input_outlines)
        self.arrays, self.own = self.types.arrays, self.types.own
        self.draws = None if like.draws is None else SizedDraws(like.draws, self.nodes, self.own)
        self.places = SizedPlaces(self.arrays, self.roots)
        self.held = self.places.held
        self.steady = self.kept(steady)
        self.tapes = SizedTapes(self.arrays, self.places)
        self.tapes.stopped = like.stopped
        self.take = self.tapes.take
        self.others = dict(pairs(like.nodes, other.nodes))
        self.makers = {m.outs[0]: m for m in other.recorded if m.outs}
        self.changed = {self.roots[x] for n in self.nodes for x in written(n)}
        for n in self.outside:
            self.held[n] = self.places.moved(n)
        self.outcomes: dict[int, list[Outcome]] = {}     # by the id of a node
        self.awaited: dict[int, Outline] = {}    # what nodes make whose kernels were not there
        if not self.types.hold():
            raise Unsized("what was asked of types has other answers")

    def finish(self) -> None:
        """Plan the launches. If kernels have to be ordered for them, plan again when these are
        there."""
        self.keep: list[Any] = []
        self.steps = self.plan()
        if ordered_kernels.current():
            raise ordered_kernels.NotYet
        self.list = SizedLists(self.steps, self.roots, self.keep, self.steady)
        self.shown = self.views()
        self.facts.hold(self.sizes.read_numbers.asked)

    def finish_again(self) -> bool:
        """Plan the launches for the current values of the symbols as well; False if types already
        differ."""
        if not self.types.hold():
            return False
        try:
            self.finish()
        except LiesOtherwise:
            return False
        return True

    def replan(self, values: Sequence[int]) -> bool:
        """Plan for sizes like these as well; False if types already differ."""
        self.facts.rebind(values)
        return self.finish_again()

    @property
    def drawn(self) -> SizedDraws | None:
        """The random draws of a program that has some."""
        return self.draws

    def kept(self, steady: Mapping[int, Base]) -> SizedSteady:
        """What is kept between calls."""
        nodes = self.like.recorded
        writes = {self.roots[x] for n in nodes for x in n.written()} & set(self.outside)
        tensors = {n: t for n, t in steady.items() if n not in writes}
        return SizedSteady(tensors, set(), writes, self.roots, self.arrays)

    # ---- steps -----------------------------------------------------------------------------------
    def plan(self) -> list[Step]:
        """The steps: the entries of launches, and nodes that Python runs."""
        if chain_products.wanted(self.nodes, self.like.plan.between, self.arrays):
            raise Unsized("products are so far apart that they take rows in turn")
        steps: list[Step] = []
        todo = self.nodes[::-1]
        while todo:
            outcome = self.outcome(todo.pop())
            if outcome.step is not None:
                steps.append(outcome.step)
            todo += outcome.members[::-1]
        return steps

    def outcome(self, node: Node) -> Outcome:
        """The outcome of a node at these sizes."""
        known = self.outcomes.setdefault(id(node), [])
        for found in known:
            if self.facts.hold(found.asked):
                return found
        # what is no launch is found by all that follow: they keep what they found
        if known and not known[0].is_launched:
            raise LiesOtherwise
        try:
            with self.facts.noting() as asked:
                step, inner, is_launched = self.come_to(node, bool(known))
        except ordered_kernels.NotYet:
            self.awaited.update((o, self.places.memory(o)) for o in node.outs)
            return Outcome(node, {}, None, (), is_launched=True)
        if any(self.held[o] is not self.awaited[o] for o in node.outs if o in self.awaited):
            raise LiesOtherwise              # Views of it were found where it is not.
        self.facts.hold(asked)
        known.append(Outcome(node, asked, step, inner, is_launched=is_launched))
        return known[-1]

    def come_to(self, node: Node, is_known: bool) -> tuple[Step | None, Sequence[Node], bool]:
        """(the node's step, if it has one; the nodes that run in its place, if any; do launches
        compute it, its own or theirs?). `is_known`: the outcome for other sizes is known
        already."""
        other = self.others.get(id(node)) or self.second(node)
        if self.depends_on_sizes_alone(node):
            return None, (), False
        node = self.resized(node, other)
        if self.is_the_same(node):
            return None, (), False
        if is_view(node):
            self.view(node)
            return None, (), False
        self.tapes.begin()
        splits = KINDS[node.kind].splits(node, self.arrays, True)
        try:
            entries = self.launches(node)
        except Unsized:
            # (eager's own code, which it would launch by, does so at any sizes; that of a group
            # computes with what no kernel takes in)
            by_eager = isinstance(node, OpNode) and not node.op.random and not is_known
            if not by_eager and (not splits or isinstance(node, Fused | Roll)):
                raise
            entries = None
        if entries is not None:
            return entries, (), True
        if splits:
            if isinstance(node, Fused | Roll):
                raise Unsized(f"{node.kind} is no launch")
            return None, members(node), True
        if is_known:
            raise LiesOtherwise
        return self.called(node), (), False

    def second(self, node: Node) -> Node:
        """The counterpart, in the second list, of a node that passes put into a group."""
        made = self.makers.get(node.outs[0]) if isinstance(node, OpNode) and node.outs else None
        return node if made is None or made.op is not node.op else made

    def depends_on_sizes_alone(self, node: Node) -> bool:
        """Does a node make a value that depends on sizes alone? If so, an own array becomes its
        outline."""
        if not self.types.is_constant(node) or any(map(self.roots.moves, node.outs)):
            return False
        if not any(map(self.own.differ, node.outs)):
            return False
        self.held.update((o, self.own.constant(o, self.arrays)) for o in node.outs)
        return True

    def is_the_same(self, node: Node) -> bool:
        """Does a node make a value that is the same at each call? If so, the value is computed
        now."""
        if not isinstance(node, OpNode) or node.ins or node.op.random:
            return False
        o = node.outs[0]
        if sized_type(self.arrays[o]) or self.roots[o] in self.changed or self.roots.moves(o):
            return False
        a = node.op.forward(**node.attrs)
        self.held[o] = Outline(a.shape, a.dtype, a.strides, Room(a.nbytes, a))
        return True

    def launches(self, node: Node) -> Entries | None:
        """The entries of a node's launches, or None."""
        if isinstance(node, APART):
            return None
        builder: Any = self
        return KINDS[node.kind].launches(builder, node)

    def called(self, node: Node) -> Done:
        """A step that Python runs: find its operands; its results move."""
        if (node.attrs.get("into") or isinstance(node, Ask) and len(node.ins) > 1
                or not self.roots.root.keys() >= set(node.outs)):    # passes have put it there
            raise Unsized(f"{node.kind if node.op is None else node.op.name} is no launch")
        looks = {}
        for x in node.refs():
            if type(self.held[x].room.owner) is not Brought or self.roots[x] != x:
                looks[int(x)] = self.seen(x)
        for o in node.outs:
            if self.roots[o] != o or o not in self.roots.position:
                self.roots.set_free(o)
            self.held[o] = self.places.moved(o)
        return Done(node, looks)

    def view(self, node: OpNode) -> None:
        """Views of values that have outlines."""
        operands = [self.held[x] if type(x) is Ref else x for x in node.ins]
        made = dry(lambda: node.op.forward(*operands, **node.attrs))
        self.held.update(zip(node.outs, made if type(made) is tuple else (made,)))

    def without_numpy(self, form: object, a: object, others: object) -> None:
        """None: NumPy is available, and it is unknown whether elements are few."""

    def as_indices(self, xs: object) -> None:
        """Does nothing: outlines have no elements."""

    def views(self) -> dict[int, tuple[int, Outline]]:
        """The places of results that are views of moving memory: value -> (root, outline)."""
        found = {}
        made = {o for s in self.steps if type(s) is Done for o in s.node.outs}
        for n in self.results:
            if n not in self.outside and n not in self.roots.fresh and n not in made:
                a = self.held[n]
                if type(a.room.owner) is not Brought:
                    raise Unsized("a result is in the arena")
                found[n] = self.roots.moving[a.room.owner.position], self.seen(n)
        return found

    def seen(self, n: int) -> Outline:
        """The outline of a value that Python makes a view of (see `part_of`)."""
        a = self.held[n]
        if type(a.room.owner) is not SizedPiece:
            root = self.arrays.get(self.roots[n])
            if root is None or a.dtype != root.dtype and not root.flags.c_contiguous:
                raise Unsized("Python reads memory as another type")
        return a

    @property
    def fresh(self) -> list[int]:
        """The roots that a call allocates before it begins."""
        made = {o for s in self.steps if type(s) is Done for o in s.node.outs}
        return [r for r in self.roots.fresh if r not in made]

    # ---- nodes of other sizes --------------------------------------------------------------------
    def resized(self, node: Node, other: Node) -> Node:
        """A node with symbolic sizes in its attributes, its numbers, and what its group knows of
        sizes."""
        reads = isinstance(node, OpNode | Write) and self.sizes.read_numbers.attributes(node)
        if node is other and not reads:      # What it reads may be equal in both runs by chance.
            return node
        if isinstance(node, Rows):
            return self.rows(node, other)
        if isinstance(node, Ask) and isinstance(other, Ask):
            return sized_questions.resized(node, other, self.arrays[node.ins[0]], self.sizes)
        attrs = node.attrs
        if isinstance(node, OpNode | Write) and attrs:
            attrs = self.sizes.attributes(node, other, [self.arrays[x] for x in node.refs()])
        elif isinstance(node, Draw):
            shape = self.arrays[node.outs[0]].shape
            attrs = {**attrs, "shape": shape}
        operands = iter(self.types.operands(node, other, self.arrays))
        ins = [x if type(x) is Ref else y for x, y in zip(node.ins, operands, strict=True)]
        if attrs is node.attrs and all(x is y for x, y in zip(ins, node.ins, strict=True)):
            return node
        made = node.like()
        made.ins = tuple(ins)
        if attrs is not node.attrs:
            made.attrs = attrs
        return made

    def rows(self, node: Rows, other: Node) -> Rows:
        """A row program with symbolic sizes."""
        work, sizes = node.roots, self.sizes
        assert work is not None
        shapes = [self.arrays[x].shape for x in (*node.refs(), *node.outs)]
        if len(work.shape) != len(other.roots.shape) or len(node.ins) != len(other.ins):
            raise Unsized("a row program has other operands")
        pairs = zip(work.shape, other.roots.shape, strict=True)
        shape: Any = tuple([n if n == m else sizes.natural(n, m, shapes) for n, m in pairs])
        made = node.like()
        made.work = dataclasses.replace(work, shape=shape)
        made.ins = tuple([
            x
            if type(x) is Ref or same_number(x, y)
            else Count(sizes.number_of_type(x, y, [shape]))
            for x, y in zip(node.ins, other.ins, strict=True)
        ])
        return made


class Count:
    """A number of elements, in the form that a row program takes numbers."""

    def __init__(self, n: Size) -> None:
        self.n = n

    dtype, ndim, shape = np.dtype(np.float32), 0, ()

    def item(self) -> Size:
        """The number."""
        return self.n


def pairs(nodes: Sequence[Node], others: Sequence[Node]) -> Iterator[tuple[int, Node]]:
    """The nodes that passes left of two runs, by the ids of the first ones, each with its
    counterpart. So are those in groups of the same nodes."""
    for a, b in zip(nodes, others, strict=True):
        yield id(a), b
        if [(m.kind, m.op, m.outs) for m in a.members] == [
                (m.kind, m.op, m.outs) for m in b.members]:
            yield from pairs(a.members, b.members)


def added(p: Program) -> list[Node]:
    """The nodes that were not recorded: copies for a backward, and writes that passes turned into
    operations."""
    made = {o for n in p.recorded for o in n.outs}
    return [n for group in p.nodes for n in group.flat() if not made.issuperset(n.outs)]


def sized_type(a: Outline) -> bool:
    """Do any of a value's sizes differ?"""
    return any(type(n) is SymbolicSize for n in (*a.shape, *a.strides))
