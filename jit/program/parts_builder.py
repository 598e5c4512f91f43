"""The making of a program in parts: see `program_in_parts.py`."""
from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any

from whet.ir.graph import Draw, OpNode, Type
from whet.passes.value_uses import memories

from . import builder
from .builder import Options, reached
from .cut_at_counts import PartNodes, cut, needs
from .liveness import Roots, seen_nodes
from .numbered_parts import NumberedPart, those_met_again
from .program_in_parts import LaterPart, PlacedPart, ProgramInParts
from .whose_sizes import SizeSources
from .writes_and_questions import LARGEST_COPY, ordered

if TYPE_CHECKING:
    from whet.ir.graph import Node
    from whet.ir.values import Array
    from whet.tensor_base import Base

    from ..capture.calls_behind_gradients import GradientsOf
    from .program import Program
    from .told_numbers import Told


MOST_COUNTS = 3                  # that a part may go by, until one is planned in MOST_WAYS
MOST_WAYS = 4                    # to plan a part: from then on each part goes by one count
LONG = 16                        # nodes for each count: then each part goes by one from the start


def build_in_parts(nodes: Sequence[Node], arrays: Sequence[Array], outside: Iterable[int],
                   results: Iterable[int], options: Options, numbers: Set[int],
                   told: Mapping[int, Told] | None, gradients_of: GradientsOf,
                   known: Sequence[ProgramInParts] = ()) -> ProgramInParts | None:
    """A program that makes `results` of `outside`, as `builder.build` makes it, in parts; None
    where it has but one, or leaves generators where a run without parts left them. `numbers`: the
    values that are made of sizes alone, `told`: where those that Python was told came to ops,
    `gradients_of`: see `CallsBehindGradients`, `known`: programs of other calls, whose parts may be
    shared.

    A number among the arguments that became a size (see `guards/lengths.py`) has no memory that
    could be given to a later part: there is no such program where one goes by it."""
    if not any(isinstance(n, OpNode) and n.op.sized_by_data for n in nodes):
        return None
    outside, results = list(outside), list(dict.fromkeys(results))
    roots = Roots(nodes, outside, results)
    alive = alive_nodes(nodes, roots, outside, results, numbers)
    in_order, order = ordered(alive, roots.root, outside, arrays)
    memory = memories(in_order, roots.root, arrays)

    def cut_by(most_counts: int) -> tuple[list[PartNodes] | None, list[int]]:
        found = cut(in_order, arrays, memory, results, numbers, told or {}, most_counts)
        return found, found and undone(found, roots, outside, order.undone) or []
    most_counts = most_counts_of_a_part(options.like, in_order)
    found, written = cut_by(most_counts)
    if sum(arrays[n].nbytes for n in written) > LARGEST_COPY:
        found, written = cut_by(most_counts := len(nodes))
    there = {*outside, *(o for n in in_order for o in n.outs)}
    if (found is None or not all(there.issuperset(part.given) for part in found[1:])
            or options.ends and any(isinstance(n, Draw) for part in found[1:] for n in part.nodes)):
        return None
    found[0].given = outside
    sources = SizeSources(
        nodes, arrays, [*outside, *counted(found)], told or {}, gradients_of)
    give_sizes(found, [n for n in outside if n not in options.steady], sources)
    options = dataclasses.replace(
        options, released={},
        steady={n: t for n, t in options.steady.items() if n not in order.written})
    maker = PartsBuilder(arrays, found, options, told, known)
    first, later = maker.first(), maker.later()
    # A part that others share works in memory of its own: one call at a time.
    lock = {} if maker.lock is None else {"lock": maker.lock}
    recorded = list(nodes if options.recorded is None else options.recorded)
    parts = maker.programs
    return ProgramInParts(
        recorded=recorded, nodes=maker.nodes, plan=first.plan,
        origin=roots.recorded, arrays=[Type.of(a) for a in maker.arrays], outside=outside,
        results=results, notes=list(options.notes), rewritten=None,
        steps=[s for p in parts for s in p.steps], called=maker.called,
        undone=written, draws=None, may_miss=True, keep=[x for p in parts for x in p.keep],
        launches=sum(p.launches for p in parts), hasty=set().union(*[p.hasty for p in parts]),
        inputs=reached(arrays[n] for n in outside), first=first, later=later,
        gone=gone(found, results), counted=set(counted(found)), most_counts=most_counts,
        **lock)


def undone(parts: Sequence[PartNodes], roots: Roots, outside: Sequence[int],
           early: Sequence[int]) -> list[int]:
    """What a call may have written to when it finds that a part has no plan for its sizes: what is
    written before that part, and what is written `early`, before a question."""
    inputs = set(outside)
    written = {roots.root[x] for part in parts[:-1] for node in part.nodes for x in node.written()}
    return list(dict.fromkeys((*early, *sorted(written & inputs))))


def most_counts_of_a_part(like: Program | None, nodes: Sequence[Node]) -> int:
    """By how many counts a part may go. Each part costs time, so that where nodes are few there are
    as few as can be, until one has to be planned in many ways, as counts are 0 or 1."""
    if not isinstance(like, ProgramInParts):
        counts = sum(isinstance(n, OpNode) and n.op.sized_by_data for n in nodes)
        return 1 if len(nodes) >= LONG * counts else MOST_COUNTS
    has_many_ways = any(len(placed.shared.ways) >= MOST_WAYS for placed in like.later)
    return 1 if has_many_ways else like.most_counts


def alive_nodes(nodes: Sequence[Node], roots: Roots, outside: Sequence[int],
                results: Sequence[int], numbers: Set[int]) -> list[Node]:
    """The nodes whose doing somebody sees, what makes numbers, and what makes the values of whose
    sizes these are."""
    alive = set(map(id, seen_nodes(nodes, roots.root, outside, results)))
    alive.update(id(n) for n in nodes if n.outs and numbers >= set(n.outs))
    wanted: set[int] = set()
    for node in reversed(nodes):
        if id(node) in alive or not wanted.isdisjoint(node.outs):
            alive.add(id(node))
            wanted.update(needs(node, {}))
    return [n for n in nodes if id(n) in alive]


class PartsBuilder:
    """The making of the parts. `known` are programs of other calls, whose parts may be shared:
    `lock` is the one of those of which some are. `nodes` and `called` are what all parts launch and
    what they have Python do, as nodes of the whole list."""

    def __init__(self, arrays: Sequence[Array], found: list[PartNodes], options: Options,
                 told: Mapping[int, Told] | None, known: Sequence[ProgramInParts]) -> None:
        self.found, self.options, self.told = found, options, told
        # of all values; passes number what they add to a part behind those of the parts before
        self.arrays: list[Any] = list(arrays)
        self.programs: list[Program] = []
        self.nodes: list[Node] = []
        self.called: list[Node] = []
        self.lock: Any = None
        self.known = known
        self.made: list[LaterPart] = []
        like = options.like
        self.like = (like if isinstance(like, ProgramInParts)
                     and len(like.later) + 1 == len(found) else None)

    def first(self) -> Program:
        """The program of the first part."""
        part = self.found[0]
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
        """The other parts."""
        parts = [NumberedPart.of(part, self.told, steady(self.options, part))
                 for part in self.found[1:]]
        parts = [dataclasses.replace(part, steady={}) if again else part
                 for part, again in zip(parts, those_met_again(parts), strict=True)]
        models = [self.shared(k, part) for k, part in enumerate(parts)]
        placed, line = [], ""
        for k, (part, model) in enumerate(zip(parts, models, strict=True)):
            line = self.found[k].line or line
            self.note(self.met(model, part), part.of_whole)
            placed.append(PlacedPart(model, part.of_whole[:part.given_count],
                                     [part.of_whole[i] for i in part.results], line))
        return placed

    def shared(self, k: int, part: NumberedPart) -> LaterPart:
        """Later part k: one that there is, if it is the same."""
        shapes = [self.arrays[n].shape for n in part.of_whole[:part.given_count]]
        model = self.model(k, part)
        if model is None:
            model = LaterPart(part, shapes)
            self.made.append(model)
        else:
            model.learn(part, shapes)
        return model

    def model(self, k: int, part: NumberedPart) -> LaterPart | None:
        """A part that there is and does what this one does: of the program that the new one is
        like, of the new one itself, or of another one that is known."""
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
        """May parts of a program be shared? All that are have one lock."""
        return self.lock is None or program.lock is self.lock

    def met(self, model: LaterPart, part: NumberedPart) -> Program:
        """The program of a part for the sizes of the run, of which `model` has plans."""
        arrays = [self.arrays[n] for n in part.of_whole]
        for i, a in model.unread.items():
            arrays[i] = a

        def build(like: Program | None) -> Program:
            return builder.build(
                part.nodes, arrays, range(part.given_count), part.results,
                dataclasses.replace(self.options, ends=(), like=like, recorded=part.nodes,
                                    steady=part.steady, counted=part.counted))
        return model.meet(part.nodes, arrays[:part.given_count], build)

    def note(self, program: Program, names: Sequence[int]) -> None:
        """A part has its program for the sizes of the run; `names`: of its values, in the whole
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
    """The tensors that are the same at each call, of what a part is given."""
    given = set(part.given)
    return {n: t for n, t in options.steady.items() if n in given}


def give_sizes(parts: Sequence[PartNodes], outside: Sequence[int], sources: SizeSources) -> None:
    """Give a later part what has sizes of its own where it goes by those of what it does not read,
    as `zeros_like(x)` does. `outside`: what calls bring that is not the same each time."""
    for k, part in enumerate(parts[1:], 1):
        part.told = [i for i, node in enumerate(part.nodes)
                     if node.outs and node.outs[0] in sources.told]
        there = {*outside, *counted(parts[:k])}
        needed = sources.told_to([part.nodes[i] for i in part.told])
        part.given = sorted({*part.given, *there.intersection(needed)})


def gone(parts: Sequence[PartNodes], results: Iterable[int]) -> list[list[int]]:
    """The values that nobody needs after each part, of those that parts make."""
    last: dict[int, int] = {}
    for k, part in enumerate(parts):
        last.update(dict.fromkeys((*part.results, *part.given), k))
    made: set[Any] = {n for part in parts for n in part.results} - {*counted(parts)}
    wanted = set(results)
    return [[n for n, at in last.items() if at == k and n in made - wanted]
            for k in range(len(parts))]


def counted(parts: Sequence[PartNodes]) -> list[int]:
    """The values whose sizes data decides."""
    return sorted(n for part in parts for n in part.counted)
