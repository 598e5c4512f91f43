"""The making of a program in parts: see `program_in_parts.py`."""
from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any

from whet.ir.graph import Draw, OpNode, Type
from whet.passes.value_uses import memories

from . import builder
from .builder import Options, reached
from .cut_at_counts import PartNodes, cut, goes_by_other_sizes
from .liveness import Roots, seen_nodes
from .program_in_parts import WAYS, LaterPart, ProgramInParts
from .writes_and_questions import ordered

if TYPE_CHECKING:
    from whet.ir.graph import Node
    from whet.ir.values import Array
    from whet.tensor_base import Base

    from .program import Program
    from .told_numbers import Told


def build_in_parts(nodes: Sequence[Node], arrays: Sequence[Array], outside: Iterable[int],
                   results: Iterable[int], options: Options, numbers: Set[int],
                   told: Mapping[int, Told] | None) -> ProgramInParts | None:
    """A program that makes `results` of `outside`, as `builder.build` makes it, in parts; None
    where it has but one, or leaves generators where a run without parts left them. `numbers`: the
    values that are made of sizes alone, `told`: where those that Python was told came to ops.

    A number among the arguments that became a size (see `guards/lengths.py`) has no memory that
    could be given to a later part: there is no such program where one goes by it."""
    if not any(isinstance(n, OpNode) and n.op.sized_by_data for n in nodes):
        return None
    outside, results = list(outside), list(dict.fromkeys(results))
    roots = Roots(nodes, outside, results)
    seen = set(map(id, seen_nodes(nodes, roots.root, outside, results)))
    alive = [n for n in nodes if id(n) in seen or n.outs and numbers >= set(n.outs)]
    in_order, order = ordered(alive, roots.root, outside, arrays)
    memory = memories(in_order, roots.root, arrays)
    found = cut(in_order, arrays, memory, results, numbers, told or {})
    if found is None or options.ends and any(
            isinstance(n, Draw) for part in found[1:] for n in part.nodes):
        return None
    there = {*outside, *(o for n in in_order for o in n.outs)}
    if not all(there.issuperset(part.given) for part in found[1:]):
        return None
    found[0].given = outside
    give_sizes(found, [n for n in outside if n not in options.steady], arrays, told or {})
    options = dataclasses.replace(
        options, let_go={},
        steady={n: t for n, t in options.steady.items() if n not in order.written})
    maker = PartsBuilder(arrays, found, options, told)
    first, later = maker.first(), maker.later()
    # A part that others share works in memory of its own: one call at a time.
    lock = {"lock": maker.like.lock} if maker.shares and maker.like is not None else {}
    recorded = list(nodes if options.recorded is None else options.recorded)
    parts = maker.programs
    return ProgramInParts(
        recorded=recorded, nodes=[n for p in parts for n in p.nodes], plan=first.plan,
        origin=roots.recorded, arrays=[Type.of(a) for a in maker.arrays], outside=outside,
        results=results, notes=list(options.notes), rewritten=None,
        steps=[s for p in parts for s in p.steps], called=[n for p in parts for n in p.called],
        undone=order.undone, draws=None, may_miss=True, keep=[x for p in parts for x in p.keep],
        launches=sum(p.launches for p in parts), hasty=set().union(*[p.hasty for p in parts]),
        inputs=reached(arrays[n] for n in outside), first=first, later=later,
        gone=gone(found, results), counted=set(counted(found)), **lock)


class PartsBuilder:
    """The making of the parts. `shares`: does the program have parts of the one that it is like?"""

    def __init__(self, arrays: Sequence[Array], found: list[PartNodes], options: Options,
                 told: Mapping[int, Told] | None) -> None:
        self.found, self.options, self.told = found, options, told
        # of all values; passes number what they add to a part behind those of the parts before
        self.arrays: list[Any] = list(arrays)
        self.programs: list[Program] = []
        self.shares = False
        like = options.like
        self.like = (like if isinstance(like, ProgramInParts)
                     and len(like.later) + 1 == len(found) else None)

    def first(self) -> Program:
        """The program of the first part."""
        return self.made(self.build(self.found[0], self.options, self.like and self.like.first))

    def later(self) -> list[LaterPart]:
        """The other parts."""
        models: Sequence[LaterPart | None] = (
            [None] * (len(self.found) - 1) if self.like is None else self.like.later)
        return [self.later_part(k, model) for k, model in enumerate(models, 1)]

    def later_part(self, k: int, model: LaterPart | None) -> LaterPart:
        """One of them: that of the program that this one is like, if it is the same."""
        part = self.found[k]
        options = dataclasses.replace(self.options, ends=())
        if model is not None and len(model.ways) < WAYS and model.is_of(part, self.told):
            self.made(model.meet(lambda like: self.build(part, options, like)))
            self.shares = True
            return model
        program = self.made(self.build(part, options, None))
        return LaterPart(program, self.steady(part), self.told, self.found[k - 1].line)

    def made(self, program: Program) -> Program:
        """A part has its program for the sizes of the run."""
        self.arrays += program.arrays[len(self.arrays):]
        self.programs.append(program)
        return program

    def build(self, part: PartNodes, options: Options, like: Program | None) -> Program:
        """The program of a part for the sizes of the run, like that of another one."""
        return builder.build(
            part.nodes, self.arrays, part.given, part.results,
            dataclasses.replace(options, like=like, recorded=part.nodes,
                                steady=self.steady(part), counted=part.counted))

    def steady(self, part: PartNodes) -> dict[int, Base]:
        """The tensors that are the same at each call, of what a part is given."""
        given = set(part.given)
        return {n: t for n, t in self.options.steady.items() if n in given}


def give_sizes(parts: Sequence[PartNodes], outside: Sequence[int], arrays: Sequence[Array],
               told: Mapping[int, Told]) -> None:
    """Give a later part all that has sizes of its own where it may go by those of what it does not
    read, as `zeros_like(x)` does. `outside`: what calls bring that is not the same each time."""
    for k, part in enumerate(parts[1:], 1):
        if any(goes_by_other_sizes(node, arrays, told) for node in part.nodes):
            part.given = sorted({*part.given, *outside, *counted(parts[:k])})


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
