"""The stages that make a program of recorded nodes, in order.

1. What is alive (`liveness.py`), and what the passes make of it (`passes/pipeline.py`).
2. Where each value is in memory (`value_places.py`), and what calls keep (`kept_between_calls.py`).
3. What each node launches (`node_kinds.py`, by `tape_entries.py`).
4. The place of each piece in the arena, and lists of words for machine code (`launch_lists.py`).
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from whet.cpu import (
    guarded_memory,
    indexed,
    memory,
    native,
    ordered_kernels,
    recorded_call,
    tiered_compilation,
)
from whet.ir import verify
from whet.ir.graph import Draw, Graph, Input, OpNode, Type, Write
from whet.ir.memory_spans import address, span
from whet.passes.pipeline import planned, rewrite
from whet.passes.value_uses import written
from whet.tensor_base import Base

from ..values.same_bits import template
from . import plan_cache
from .kept_between_calls import Steady
from .launch_lists import (
    Called,
    Launched,
    ListWriter,
    UsedUntilEnd,
    Viewed,
    find_places,
    guarded,
    lent_results,
)
from .launch_program import LaunchProgram
from .list_lifetimes import Windows, windows_of
from .liveness import Roots, last_uses, seen_nodes
from .node_kinds import KINDS, members
from .random_draws import Draws
from .steps_that_may_miss import PossibleMisses
from .tape_entries import TapeEntries
from .value_places import ValuePlaces
from .writes_and_questions import ordered

if TYPE_CHECKING:
    from whet.ir.graph import Node
    from whet.ir.values import Array
    from whet.random_position import Position

    from .arena import Piece
    from .arena_in_results import LentResults
    from .launch_entries import Entries
    from .launch_lists import Step
    from .program import Program


@dataclass(frozen=True, slots=True)
class Options:
    """How to build a program, and what is known of it beside its nodes and values."""
    # inputs that are the same tensors at each call, by value: what depends on them alone may be
    # kept between calls
    steady: Mapping[int, Base] = field(default_factory=dict)
    rewrites: Sequence[str] = ()             # names of rewrites that may change bits
    # a program of the same nodes at other sizes. None with rewrites: these depend on sizes
    like: Program | None = None
    # generators that a call does not only draw from, with the `Position` where it leaves them
    ends: Sequence[tuple[Any, Position]] = ()
    recorded: Sequence[Node] | None = None   # the nodes of the run, if they differ
    notes: Sequence[str] = ()                # notes about rewrites, in addition to their own
    lends: bool = True                       # may the arena use the memory of later results?
    released: Mapping[int, int] = field(default_factory=dict)  # see `Findings.released`
    counted: Set[int] = frozenset()          # results whose sizes data decides
    # may compiling kernels take this many seconds now? See `ordered_kernels.once_ready`
    affords: Callable[[float], bool] | None = None


DEFAULT = Options()


def build(nodes: Sequence[Node], arrays: Sequence[Array], outside: Iterable[int],
          results: Iterable[int], options: Options = DEFAULT) -> LaunchProgram:
    """Build a program that computes `results`, values by number, from those of `outside`. `arrays`
    say how each value lay in the run."""
    with np.errstate(all="ignore"), tiered_compilation.recording(), tiered_compilation.numbers():
        passed = Passed(nodes, arrays, outside, results, options)
        recorded = nodes if options.recorded is None else options.recorded
        notes = [*options.notes, *passed.notes]

        def begun() -> tuple[ProgramBuilder, list[Step]]:
            draws = Draws(passed.nodes, options.ends) if passed.draws else None
            builder = ProgramBuilder(passed, draws, options.lends)
            return builder, builder.steps()
        builder, steps = (begun() if options.affords is None else
                          ordered_kernels.once_ready(begun, options.affords))
        return builder.program(steps, recorded, notes, options.released)


class PassedRun(NamedTuple):
    """The nodes that passes left of a run, with the run's own: see `NodesOfRun`."""
    recorded: Sequence[Node]
    nodes: Sequence[Node]
    arrays: Sequence[Type]
    outside: Sequence[int]


def passed_as(like: Program, nodes: Sequence[Node], arrays: Sequence[Array], outside: Iterable[int],
              results: Iterable[int], options: Options) -> PassedRun | None:
    """The nodes that the passes leave, if each pass decides as it did for another program; else
    None."""
    with np.errstate(all="ignore"), tiered_compilation.recording(), tiered_compilation.numbers():
        passed = Passed(nodes, arrays, outside, results, options)
    if passed.plan is not like.plan:
        return None
    return PassedRun(nodes, passed.nodes, [Type.of(a) for a in passed.arrays], passed.outside)


class Passed:
    """The live nodes after the passes, and what is known of their values. `arrays` and `roots`
    include the values that passes added."""

    def __init__(self, nodes: Sequence[Node], arrays: Sequence[Array], outside: Iterable[int],
                 results: Iterable[int], options: Options) -> None:
        self.arrays, self.outside = list(arrays), list(outside)
        self.results = list(dict.fromkeys(results))
        self.roots = Roots(nodes, self.outside, self.results)
        root = self.roots.root
        nodes = seen_nodes(nodes, root, self.outside, self.results)
        self.draws = bool(options.ends) or any(isinstance(n, Draw) for n in nodes)
        nodes, self.order = ordered(nodes, root, self.outside, self.arrays)
        self.counted = options.counted
        self.tensors = {n: t for n, t in options.steady.items() if n not in self.order.written}
        self.rewritten: list[Node] | None = None
        self.notes: list[str] = []
        self.lasting: set[int] = set()
        visible = {*self.results, *self.roots.moving}
        if options.rewrites:
            before = nodes
            nodes, self.lasting, self.notes = rewrite(
                nodes, root, self.arrays, visible, options.rewrites, set(self.tensors))
            self.rewritten = nodes if nodes != before else None
        plan = options.like.plan if options.like is not None and not options.rewrites else None
        check = self.check if verify.CHECK else None
        arrays = [*self.arrays]
        for n in self.counted:               # nothing that is decided here depends on their sizes
            arrays[n] = np.empty((1,) * len(arrays[n].shape), arrays[n].dtype)
        self.nodes, self.plan = planned(nodes, root, arrays, visible, check, plan, plan_cache)
        self.arrays += arrays[len(self.arrays):]

    def check(self, nodes: Sequence[Node], arrays: Sequence[Array]) -> None:
        """Verify the graph between two passes, where the settings ask for it."""
        inputs = [Input(n, "") for n in self.outside]
        verify.verify(Graph.of(nodes, arrays, inputs, [(n, "") for n in self.results]))


class ProgramBuilder:
    """Builds one program. Kinds of nodes call it to say what they launch. `is_alone`: the program
    will run without NumPy, so everything that can be a launch has to be one."""

    is_alone = False

    def __init__(self, passed: Passed, draws: Draws | None, lends: bool = False) -> None:
        self.passed, self.draws, self.lends = passed, draws, lends
        self.nodes, self.arrays, self.roots = passed.nodes, passed.arrays, passed.roots
        self.places = ValuePlaces(self.arrays, self.roots)
        self.held = self.places.held
        self.steady = Steady(
            passed.tensors, passed.lasting, passed.order.written, self.roots, self.arrays)
        self.tapes = TapeEntries(self.arrays, self.places)
        self.take = self.tapes.take
        self.compiled = native.enabled()
        self.keep: list[Any] = []            # what machine code reads
        self.constants: set[int] = set()     # values that stand-ins hold
        self.blocks: set[int] = set()        # values at the start of what a loop keeps
        self.changed = {self.roots[x] for n in self.nodes for x in written(n)}

    @property
    def drawn(self) -> Draws:
        """The random draws. Only called where a node draws."""
        assert self.draws is not None
        return self.draws

    def inner(self, nodes: Sequence[Node], inputs: Iterable[int],
              results: Iterable[int]) -> LaunchProgram:
        """Build a program that this one runs inside a node."""
        return build(nodes, self.arrays, inputs, results, Options(lends=False))

    def without_numpy(self, form: Callable[..., Any] | None, a: Array,
                      others: Sequence[Any]) -> Callable[..., Any] | None:
        """The launchable form of an op that NumPy would otherwise compute; None where NumPy is
        better. The form runs on one thread, so with NumPy available it pays only for few elements.
        `a` is what is read by indices or written to, of whatever size."""
        if form is None or self.is_alone:
            return form
        arrays = [x for x in others if isinstance(x, np.ndarray)]
        few = indexed.suit(a, *arrays) and recorded_call.are_few(arrays)
        return recorded_call.with_few_between(form) if few else None

    def as_indices(self, xs: Iterable[Any]) -> None:
        """Fill stand-ins that may be used as indices with valid ones."""
        for x in xs:
            if type(x) is np.ndarray and not any(
                    np.may_share_memory(x, self.held[c]) for c in self.constants):
                x[...] = 0

    # ---- what each node launches -----------------------------------------------------------------
    def steps(self) -> list[Step]:
        """The steps: launches, views of memory that moves, and nodes that Python runs."""
        for r in self.passed.outside:
            self.places.hold(r, self.places.addresses.like(self.arrays[r]))
        dying = last_uses(self.nodes, self.roots)
        out: list[Launched | Viewed | Called] = []
        looks: list[Piece] = []
        todo: list[tuple[int | None, Node]] = [*reversed([*enumerate(self.nodes)])]
        while todo:
            i, node = todo.pop()
            if isinstance(node, OpNode) and self.is_constant(node):
                self.keep_constant(node.outs[0], self.constant(node))
                continue
            view = node if isinstance(node, OpNode) and node.op.is_view else None
            entries = None if view is not None or not self.compiled else self.entries(node)
            if entries is None and KINDS[node.kind].splits(node, self.arrays, self.compiled):
                parts = members(node)
                todo += [(i if m is parts[-1] else None, m) for m in parts[::-1]]
                continue
            if entries is not None:
                out.append(Launched(entries, self.changes(node), node))
            elif view is not None and self.places.view(view):
                if self.roots.moves(node.outs[0]):
                    out.append(Viewed(node, self.places.look(node)))
            else:
                step = Called(node, self.places.look(node))
                looks += step.looks if view is not None else []
                self.places.move(node)
                out.append(step)
            self.places.release(() if i is None else dying.get(i, ()))
        # Views of Python's show pieces until the end.
        return [*self.wanted(out), UsedUntilEnd(looks)]

    def is_constant(self, node: OpNode) -> bool:
        """Does a node without operands make a constant that nothing writes to? A large constant of
        one number is made again at each call: writing it costs no more than reading it, and takes
        memory only meanwhile."""
        if node.ins or node.op.random:
            return False
        out = node.outs[0]
        if node.op.fills is not None and self.arrays[out].nbytes >= memory.SMALLEST \
                and self.compiled:
            return False
        return self.roots[out] not in self.changed and out not in self.roots.position

    def constant(self, node: OpNode) -> Array:
        """The array that a node without operands makes."""
        made: Array
        try:
            made = node.op.forward(**node.attrs)
        except ordered_kernels.NotYet:
            made = template(self.arrays[node.outs[0]])
        return made

    def keep_constant(self, n: int, a: Array) -> None:
        """Make a value a constant of the program."""
        self.places.hold(n, a)
        self.constants.add(n)

    def entries(self, node: Node) -> Entries | None:
        """The entries of a node's launches, or None. Values that depend on steady tensors alone get
        memory of their own, which all calls share."""
        self.tapes.begin()
        sources, kept = self.steady.sources(node), len(self.keep)
        for o in node.outs if sources else ():
            self.keep_constant(o, template(self.arrays[o]))
        try:
            entries = KINDS[node.kind].launches(self, node)
        except ordered_kernels.NotYet:       # Another builder is asked once there is the kernel.
            for o in node.outs:
                self.places.memory(o)
            return []
        if entries is None:
            del self.keep[kept:]
        elif sources:
            self.steady.derived.update((o, sources) for o in node.outs)
            entries = self.steady.unless_written(sources, entries)
        return entries

    def changes(self, node: Node) -> set[int]:
        """The positions of moving arrays that a node's launches may write to."""
        position = self.roots.position
        found = (position.get(self.roots[x]) for x in (*node.outs, *written(node)))
        return {p for p in found if p is not None}

    def wanted(self, steps: Sequence[Launched | Viewed | Called]) -> list[Step]:
        """The steps without unused views. Notes which values are `needed`."""
        self.needed = set(self.passed.results)
        out: list[Step] = []
        for step in reversed(steps):
            if isinstance(step, Viewed) and self.needed.isdisjoint(step.node.outs):
                continue
            if not isinstance(step, Launched):
                self.needed.update(step.node.refs())
                self.needed.update(step.node.attrs.get("into", {}).values())
            out.append(step)
        return out[::-1]

    # ---- the program -----------------------------------------------------------------------------
    def program(self, steps: list[Step], recorded: Sequence[Node], notes: Iterable[str],
                released: Mapping[int, int]) -> LaunchProgram:
        """Make the program from its steps."""
        misses = PossibleMisses(steps, recorded, self.tapes.checks)
        kept_until = {self.roots.position[n]: misses.last(k) for n, k in released.items()
                      if n in self.roots.position}
        lent = lent_results(steps, self.results_before() if self.lends else {}, kept_until,
                            self.places.left_to)
        arena, forbidden = find_places(steps, self.places.heirs, lent.place)
        lists = ListWriter(self.roots.moving, arena, self.keep)
        for step in (*guarded(forbidden), *steps):
            lists.add(step)
        lists.end()
        called = [step.node for step in steps if isinstance(step, Called)]
        fresh = self.fresh(called)
        local, passed = self.places.where(), self.passed
        self.steady.planned()
        return LaunchProgram(
            recorded=list(recorded), nodes=self.nodes, plan=passed.plan, origin=self.roots.recorded,
            arrays=[Type.of(a) for a in self.arrays], outside=passed.outside,
            results=passed.results, notes=list(notes), rewritten=passed.rewritten,
            steps=lists.steps, called=called, env=self.env(local), fresh=fresh,
            early=self.early(lent, kept_until),
            undone=passed.order.undone, arena=arena, local=local, draws=self.draws,
            may_miss=passed.order.may_miss, checks=self.tapes.checks, stopped=self.tapes.stopped,
            shown={} if called else dict(self.shown(steps)),
            keep=self.keep, steady=self.steady, launches=lists.launches, hasty=self.tapes.hasty,
            inputs=reached(self.arrays[n] for n in passed.outside),
            windows=None if called or guarded_memory.SIDE else self.windows(steps, fresh),
            counted=passed.counted)

    def windows(self, steps: Sequence[Step], fresh: Sequence[int]) -> Windows | None:
        """When the list works on which memory; None if it writes to no large memory that it is
        given, as then it is not compared."""
        written = self.passed.order.written
        if all(self.arrays[n].nbytes < memory.SMALLEST for n in written):
            return None
        return windows_of(steps, self.roots.moving, written, fresh)

    def env(self, local: Mapping[int, Any]) -> list[Any]:
        """The arrays of the values that are the same at each call. The last place is the
        arena's."""
        env = [None] * (len(self.arrays) + 1)
        for n in self.needed:
            if n in self.held and n not in local and not self.roots.moves(n):
                env[n] = self.held[n]
        return env

    def fresh(self, called: Iterable[Node]) -> list[int]:
        """The roots that a call allocates before it begins."""
        made = {o for node in called if not isinstance(node, Write) for o in node.outs}
        return [r for r in self.roots.fresh if r not in made]

    def early(self, lent: LentResults, kept_until: Mapping[int, int]) -> set[int]:
        """The gradients whose memory is overwritten at a moment when the call may still miss,
        although eager mode would then read what was there."""
        known = {self.roots.moving[p]: lent.rooms[p].touched <= step
                 for p, step in kept_until.items() if p in lent.rooms}
        return {r for r, is_early in known.items() if is_early} | (
            self.passed.order.early - known.keys())

    def results_before(self) -> dict[int, int]:
        """The bytes of the results that are allocated before a call begins, by position. Only
        results without gaps count."""
        return {self.roots.position[r]: self.arrays[r].nbytes for r in self.roots.fresh
                if Type.of(self.arrays[r]).contiguous}

    def shown(self, steps: Iterable[Step]) -> Iterator[tuple[int, tuple[int, int, Type]]]:
        """The places of views of moving memory."""
        for step in steps:
            for o in step.node.outs if isinstance(step, Viewed) else ():
                root = self.roots[o]
                offset = address(self.held[o]) - address(self.held[root])
                yield o, (root, offset, Type.of(self.arrays[o]))


def reached(arrays: Iterable[Array]) -> int:
    """The bytes of the memory that arrays are in."""
    total, end = 0, 0
    for low, high in sorted(span(a) for a in arrays if a.size):
        if high > end:
            total += memory.taken(high - max(low, end))
            end = high
    return total
