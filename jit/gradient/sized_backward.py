"""The backward of a call at sizes that no run had. Its programs are planned with the expressions of
the forward's, from which they get their inputs."""
from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING

from whet.ir.outline import Outline
from whet.ir.symbolic_size import Unsized, text

from ..program.programs_of_sizes import ProgramOfSizes
from ..program.sized_program import SizedProgram
from .sized_eager_graph import GraphAtSizes, SizedEagerGraph

if TYPE_CHECKING:
    from ..program.types_across_parts import TypesAt
    from .backward import Backward, Some
    from .backward_program import BackwardProgram


class SizedBackward:
    """`first` and `other`: the backward of the two runs that `forward` was planned from: a program,
    or the types of one in parts. Raises Unsized."""

    def __init__(self, first: Backward, other: Backward,
                 forward: SizedProgram | TypesAt) -> None:
        if (first.ways.keys() != other.ways.keys()
                or (first.output_of, first.are_nodes, first.ends_of, first.leads_to,
                    first.sources.sources)
                != (other.output_of, other.are_nodes, other.ends_of, other.leads_to,
                    other.sources.sources)):
            raise Unsized("gradients flow elsewhere")
        self.first, self.forward = first, forward
        self.programs = {some: self.planned(some, way, other.ways[some])
                         for some, way in first.ways.items()}
        first_graph, other_graph = first.graph, other.graph
        if isinstance(first_graph, GraphAtSizes) or isinstance(other_graph, GraphAtSizes):
            raise Unsized("no run has shown its graph")
        self.graph = SizedEagerGraph(first_graph, other_graph, forward)

    def planned(self, some: Some, way: BackwardProgram, other: BackwardProgram) -> SizedProgram:
        """The program of one of the ways."""
        if (way.program.plan is not other.program.plan
                or (way.saved, way.incoming, way.values, way.sums, way.ran)
                != (other.saved, other.incoming, other.values, other.sums, other.ran)):
            raise Unsized("gradients are computed another way")
        types = self.forward.arrays
        inputs = {n: types[n] for n in way.saved}
        for n, k in zip(way.incoming, some, strict=True):
            end = self.first.ends_of[k]
            if end is None:
                raise Unsized("a result is no value of the run")
            inputs[n] = Outline(types[end].shape, way.program.arrays[n].dtype)
        return SizedProgram(
            way.program, other.program, self.forward.sizes, {}, input_outlines=inputs)

    def ask(self) -> None:
        """Require each gradient to have the sizes of the value that it is the gradient of."""
        for some, program in self.programs.items():
            for k, n in self.first.ways[some].values.items():
                leads_to = self.first.leads_to[k]
                if leads_to is None:
                    raise Unsized("a gradient flows to what is no value of the run")
                pairs = zip(program.arrays[n].shape, self.forward.arrays[leads_to].shape,
                            strict=True)
                if not all(text(a) == text(b) or a == b for a, b in pairs):
                    raise Unsized("a gradient has other sizes than what it is of")


class BackwardOfSizes:
    """The programs of a `SizedBackward`, as functions of sizes."""

    def __init__(self, sized: SizedBackward) -> None:
        sized.ask()
        self.first, self.graph, self.evaluate = sized.first, sized.graph, sized.graph.function()
        self.programs = {some: ProgramOfSizes(p) for some, p in sized.programs.items()}

    def at(self, values: Sequence[int], like: Backward | None = None) -> Backward | None:
        """The backward for these sizes, made like the first or another one that does the same; None
        where it would be another."""
        first = self.first if like is None else like
        made, found = copy.copy(first), self.evaluate(*values)
        if found is None:
            return None
        made.ways = {}
        for some, of_sizes in self.programs.items():
            program = of_sizes.program(values)
            if program is None:
                return None
            made.ways[some] = first.ways[some].at(program)
        made.graph = GraphAtSizes(lambda: self.graph.at(found))
        return made
