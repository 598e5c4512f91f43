"""The programs of a graph at two sizes, from which programs for others are planned.

Passes run once, at sizes of which no two happen to be equal. Their decisions, and what the two
programs differ in, hold for other sizes too. So the lists that go another way at some sizes are
planned again (see `SizedProgram.replan`), and nothing else is repeated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from whet.ir.graph import Graph, OpNode, Ref
from whet.ir.op import find_op
from whet.ir.symbolic_size import Unsized
from whet.ir.values import Type
from whet.layouts import contiguous_format

from ...program import builder
from ...program.launch_entries import Argument, Number
from ...program.numbers_from_sizes import NumbersOfNode, Stated
from ...program.size_expressions import SizeExpressions, Sizes
from ...program.sized_places import SizedSteady
from ...program.sized_program import SizedProgram
from ..layouts import layouts
from ..sized_graph import AnyExpression, Path
from .level_program import AtOnce


def owning(g: Graph) -> Graph:
    """The graph with results that have memory of their own and lie row by row."""
    copy: Any = find_op("clone_format")
    nodes, types, results = list(g.nodes), dict(g.types), []
    roots, seen = g.roots(), {x.value for x in g.inputs}
    for v, name in g.results:
        t = types[v]
        if v in seen or roots[v] != v or not t.contiguous:
            new = max(types) + 1
            attrs = {"memory_format": contiguous_format}
            nodes.append(OpNode(copy, (Ref(v),), attrs, [new], ""))
            types[new] = Type(t.dtype, t.shape)
            v = new
        seen.add(v)
        results.append((v, name))
    return Graph(nodes, types, g.inputs, results, g.name)


class TwoRuns:
    """The programs of `graphs`, one graph at two sizes, which differ in the dimensions `symbols`.
    `stated`: node's first result -> where it has numbers that are expressions of all sizes. Raises
    Unsized."""

    def __init__(self, graphs: Sequence[Graph], constants: Mapping[str, Any],
                 sizes: Sequence[Sequence[int]], symbols: Sequence[int],
                 stated: Mapping[int, Mapping[Path, AnyExpression]]) -> None:
        g, self.sizes = graphs[0], list(sizes[0])
        self.own = {x.value: constants[x.name] for x in g.inputs if x.place == "constant"}
        self.inputs = [x.value for x in g.inputs if x.place != "constant"]
        self.results = [v for v, _ in g.results]
        self.values = {v: t._array for v, t in self.own.items()}
        self.programs: list[Any] = []
        for g in graphs:
            like = self.programs[-1] if self.programs else None
            self.programs.append(builder.build(
                g.nodes, layouts(g), [*self.inputs, *self.own], self.results,
                builder.Options(steady=self.own, like=like)))
        first, other = self.programs
        if other.plan is not first.plan:
            raise Unsized("passes go another way")
        self.pairs = Sizes(*[[n for v in self.inputs for n in p.arrays[v].shape]
                             for p in (first, other)])
        known = {(sizes[0][k], sizes[1][k]): k for k in symbols}
        if set(known) != set(self.pairs.pairs):
            raise Unsized("sizes are not distinguished")
        self.symbols = [known[p] for p in self.pairs.pairs]
        self.follows = {o: {path: self.stated(e) for path, e in at.items()}
                        for o, at in stated.items()}
        self.plans: list[Planned] = []

    def are_for(self, values: Sequence[int]) -> bool:
        """Do sizes differ from these in no others than the symbols?"""
        return all(k in self.symbols or n == values[k] for k, n in enumerate(self.sizes))

    def has_inputs(self, values: Sequence[int]) -> bool:
        """Have inputs elements at such sizes? They have none where a size is 0 for all of them."""
        arrays = self.programs[0].arrays
        return not self.are_for(values) or any(arrays[v].size for v in self.inputs)

    def planned(self, values: Sequence[int]) -> Planned:
        """The program for sizes like these. It is used up before another one is asked for: that may
        be the same one, planned again."""
        symbols = [values[k] for k in self.symbols]
        for plan in self.plans:
            if plan.replan(symbols):
                return plan
        expressions = SizeExpressions(self.pairs, symbols)
        expressions.facts.is_for_library = True
        first, other = self.programs
        made = Planned(first, other, expressions, self.own, self.follows)
        self.plans.append(made)
        return made

    def stated(self, e: AnyExpression) -> Stated:
        """A number of the graph, as a function of the symbols."""

        def number(symbols: Sequence[Any]) -> Any:
            values: list[Any] = list(self.sizes)
            for k, symbol in zip(self.symbols, symbols, strict=True):
                values[k] = symbol
            return e.at(values)
        return number


class Planned(SizedProgram):
    """A program whose weights are put into their order at once."""

    def __init__(self, first: Any, other: Any, sizes: SizeExpressions, own: Any,
                 follows: Mapping[int, NumbersOfNode]) -> None:
        self.arrays_of = {v: t._array for v, t in own.items()}
        super().__init__(first, other, sizes, own, follows)
        self.finish()

    def kept(self, steady: Mapping[int, Any]) -> Any:
        return KeptWeights(steady, self)


class KeptWeights(AtOnce, SizedSteady):
    """What is kept of weights."""

    def __init__(self, steady: Mapping[int, Any], program: Planned) -> None:
        super().__init__(steady, set(), (), program.roots, program.arrays)
        self.values, self.moving = program.arrays_of, program.roots.moving

    def now(self, a: Argument, pieces: dict[int, np.ndarray]) -> int:
        if type(a) is Number and type(a.word) is not int:
            raise Unsized("the order of weights depends on sizes")
        return super().now(a, pieces)
