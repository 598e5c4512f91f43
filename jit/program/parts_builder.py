"""Builds a program in parts: see `program_in_parts.py`."""
from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from whet.cpu import ordered_kernels
from whet.ir.graph import OpNode, Type

from . import builder
from .builder import Options, reached
from .divided_nodes import DividedNodes
from .needed_values import Needs, NumberOrigins
from .numbered_parts import NumberedPart, those_met_again
from .program_in_parts import LaterPart, PlacedPart, ProgramInParts
from .writes_and_questions import LARGEST_COPY

if TYPE_CHECKING:
    from whet.ir.graph import Node
    from whet.ir.values import Array
    from whet.tensor_base import Base

    from .cut_at_counts import PartNodes
    from .program import Program


MOST_COUNTS = 3                  # that a part may depend on, until one is planned in MOST_WAYS
MOST_WAYS = 4                    # to plan a part: from then on each part depends on one count
LONG = 16                        # nodes for each count: then parts depend on one from the start


def build_in_parts(nodes: Sequence[Node], arrays: Sequence[Array], outside: Iterable[int],
                   results: Iterable[int], options: Options, origins: NumberOrigins,
                   known: Sequence[ProgramInParts] = ()) -> ProgramInParts | None:
    """Build a program that computes `results` from `outside`, as `builder.build` does, but in
    parts. None if it has a single part, or if the parts could not leave random generators where the
    run left them. `origins`: where the run's numbers come from. `known`: programs of other calls,
    whose parts may be shared.

    A number among the arguments that became a size (see `values/numbers_as_sizes.py`) has no
    memory that a later part could be given: there is no such program where one depends on it."""
    if not any(isinstance(n, OpNode) and n.op.sized_by_data for n in nodes):
        return None
    divided = DividedNodes(nodes, arrays, list(outside), list(dict.fromkeys(results)),
                           origins.of_sizes, Needs.of(nodes, arrays, origins))
    divided.cut(most_counts_of_a_part(options.like, divided.nodes))
    if sum(arrays[n].nbytes for n in divided.undone()) > LARGEST_COPY:
        divided.cut(most_counts=len(nodes))
    if not divided.has_all_it_needs() or options.ends and divided.draws_later():
        return None
    divided.give_sizes(options.steady)
    return PartsBuilder(divided, options, known).program()


def most_counts_of_a_part(like: Program | None, nodes: Sequence[Node]) -> int:
    """The number of counts that a part may depend on. Each part costs time. So a short list is cut
    as little as possible, until a part needs many plans because its counts were 0 or 1."""
    if not isinstance(like, ProgramInParts):
        counts = sum(isinstance(n, OpNode) and n.op.sized_by_data for n in nodes)
        return 1 if len(nodes) >= LONG * counts else MOST_COUNTS
    has_many_ways = any(len(placed.shared.ways) >= MOST_WAYS for placed in like.later)
    return 1 if has_many_ways else like.most_counts


class PartsBuilder:
    """Builds the parts. `known` are programs of other calls, whose parts may be shared; `lock` is
    that of the programs whose parts are shared. `nodes` and `called` are what all parts launch and
    what Python runs for them, as nodes of the whole list."""

    def __init__(self, divided: DividedNodes, options: Options,
                 known: Sequence[ProgramInParts]) -> None:
        self.divided = divided
        written = divided.order.written
        self.options = dataclasses.replace(
            options, released={},
            steady={n: t for n, t in options.steady.items() if n not in written})
        # of all values; passes number what they add to a part behind those of the parts before
        self.arrays: list[Any] = list(divided.arrays)
        self.programs: list[Program] = []
        self.nodes: list[Node] = []
        self.called: list[Node] = []
        self.lock: Any = None
        self.known = known
        self.made: list[LaterPart] = []
        like = options.like
        self.like = (like if isinstance(like, ProgramInParts)
                     and len(like.later) + 1 == len(divided.parts) else None)

    def program(self) -> ProgramInParts:
        """Build the program of all parts."""
        divided, parts = self.divided, self.programs
        first, later = self.first(), self.later()
        # A part that others share works in memory of its own: one call at a time.
        lock = {} if self.lock is None else {"lock": self.lock}
        recorded = self.options.recorded
        return ProgramInParts(
            recorded=list(divided.recorded if recorded is None else recorded), nodes=self.nodes,
            plan=first.plan, origin=divided.roots.recorded,
            arrays=[Type.of(a) for a in self.arrays], outside=divided.outside,
            results=divided.results, notes=list(self.options.notes), rewritten=None,
            steps=[s for p in parts for s in p.steps], called=self.called,
            undone=divided.undone(), draws=None, may_miss=True,
            keep=[x for p in parts for x in p.keep], launches=sum(p.launches for p in parts),
            hasty=set().union(*[p.hasty for p in parts]),
            inputs=reached(divided.arrays[n] for n in divided.outside), first=first, later=later,
            gone=divided.gone(), counted=set(divided.counted()), most_counts=divided.most_counts,
            **lock)

    def first(self) -> Program:
        """Build the program of the first part."""
        part = self.divided.parts[0]
        program = builder.build(
            part.nodes, self.arrays, part.given, part.results,
            dataclasses.replace(
                self.options, like=self.like and self.like.first, recorded=part.nodes,
                steady=steady(self.options, part), counted=part.counted))
        self.arrays += program.arrays[len(self.arrays):]
        self.programs.append(program)
        self.nodes += program.nodes
        self.called += program.called
        return program

    def later(self) -> list[PlacedPart]:
        """Build the other parts."""
        parts = [NumberedPart.of(part, self.divided.needs, steady(self.options, part), self.arrays)
                 for part in self.divided.parts[1:]]
        parts = [dataclasses.replace(part, steady={}) if again else part
                 for part, again in zip(parts, those_met_again(parts), strict=True)]
        models = [self.shared(k, part) for k, part in enumerate(parts)]
        placed, line = [], ""
        for k, (part, model) in enumerate(zip(parts, models, strict=True)):
            line = self.divided.parts[k].line or line
            self.note(self.program_of_run(model, part), part.of_whole)
            placed.append(PlacedPart(model, part.of_whole[:part.given_count],
                                     [part.of_whole[i] for i in part.results], line))
        return placed

    def shared(self, k: int, part: NumberedPart) -> LaterPart:
        """Later part k: an existing one that does the same, or a new one."""
        shapes = [self.arrays[n].shape for n in part.of_whole[:part.given_count]]
        model = self.model(k, part)
        if model is None:
            model = LaterPart(part, shapes)
            self.made.append(model)
        else:
            model.learn(part, shapes)
        return model

    def model(self, k: int, part: NumberedPart) -> LaterPart | None:
        """An existing part that does the same as this one. It comes from the program that the new
        one is like, from the new one itself, or from another known one."""
        if self.like is not None and self.may_share(self.like):
            there = self.like.later[k].shared
            if there.numbered.is_at(part) and there.has_room_for(part):
                self.lock = self.like.lock
                return there
        for there in self.made:
            if there.numbered.does_as(part) and there.has_room_for(part):
                return there
        for program in filter(self.may_share, self.known):
            for placed in program.later:
                if placed.shared.numbered.does_as(part) and placed.shared.has_room_for(part):
                    self.lock = program.lock
                    return placed.shared
        return None

    def may_share(self, program: ProgramInParts) -> bool:
        """May parts of a program be shared? All programs that share parts have the same lock."""
        return self.lock is None or program.lock is self.lock

    def program_of_run(self, model: LaterPart, part: NumberedPart) -> Program:
        """The program of a part for the sizes of the run. `model` has the plans."""
        arrays = [self.arrays[n] for n in part.of_whole]
        for i, a in model.unread.items():
            arrays[i] = a

        def options(like: Program | None) -> Options:
            return dataclasses.replace(self.options, ends=(), like=like, recorded=part.nodes,
                                       steady=part.steady, counted=part.counted)

        def passed(like: Program) -> builder.PassedRun | None:
            return builder.passed_as(like, part.nodes, arrays, range(part.given_count),
                                     part.results, options(like))

        def build(like: Program | None) -> Program:
            return builder.build(part.nodes, arrays, range(part.given_count), part.results,
                                 options(like))

        def once_ready(make: Callable[[], None]) -> None:
            affords = self.options.affords
            if affords is None:
                make()
            else:
                ordered_kernels.once_ready(make, affords)
        return model.plan_like_run(part.nodes, arrays[:part.given_count], passed, build, once_ready)

    def note(self, program: Program, names: Sequence[int]) -> None:
        """Note the program of a part for the sizes of the run. `names`: its values, in the whole
        list."""
        added = program.arrays[len(names):]
        names = [*names, *range(len(self.arrays), len(self.arrays) + len(added))]
        self.arrays += added
        self.programs.append(program)
        whole = dict(enumerate(names))
        nodes = {id(node): node.numbered(whole) for node in program.nodes}
        self.nodes += nodes.values()
        self.called += [nodes.get(id(node)) or node.numbered(whole) for node in program.called]


def steady(options: Options, part: PartNodes) -> dict[int, Base]:
    """The steady tensors among the inputs of a part."""
    given = set(part.given)
    return {n: t for n, t in options.steady.items() if n in given}
