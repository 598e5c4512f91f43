"""What Python computes and decides from the sizes that it reads, and at which sizes the graph is
still right.

In a second run of the example, the sizes that Python reads are followed (see
`capture/followed_sizes.py`). The graph holds at other sizes if two things are so: each number that
Python computes is the one that the graph has there, and each decision is the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from whet.ir.graph import Node, Type
from whet.ir.symbolic_size import SYMBOLIC, Facts, SymbolicSize, Unsized

from ..program.numbers_from_sizes import NumbersFromSizes
from .dims import Dims, Values
from .errors import PreconditionError
from .paired_runs import NumberUse, PairedRuns
from .recording import Recorded
from .size_formulas import SizeFormula, formula_of
from .sized_graph import AnyExpression, Path, filled, made, part
from .sizes_of_values import SizesOfValues

Holes = Mapping[int, Mapping[Path, AnyExpression]]


class SizesReadByPython:
    """`graph_run` has the graph's nodes, with `holes` in them by id. `followed_run` has the same
    nodes, and those that compute with sizes. Raises RunsDiffer if they differ in more."""

    def __init__(self, graph_run: Recorded, followed_run: Recorded, holes: Holes, dims: Dims,
                 sizes: SizesOfValues) -> None:
        self.runs = runs = PairedRuns(graph_run, followed_run)
        self.sizes, self.holes, self.dims = sizes, holes, dims
        self.value_at = {(id(use.node), use.path): use.value for use in runs.uses}
        self.symbolic = self.numbers(sizes.outlines, sizes.facts)

    @property
    def decides(self) -> bool:
        """Did Python decide something by a size?"""
        return bool(self.runs.guards)

    def paths_of(self, node: Node) -> list[Path]:
        """The operands and attributes of a node that Python computed from sizes."""
        return [path for owner, path in self.value_at if owner == id(node)]

    def number_at(self, node: Node, path: Path) -> Any:
        """What Python computed for an operand or attribute, as an expression of sizes. None if it
        computed nothing, or no expression is known."""
        n = self.value_at.get((id(node), path))
        try:
            return None if n is None else self.symbolic[n]
        except (ArithmeticError, KeyError, ValueError, TypeError, Unsized):
            return None

    def numbers(self, types: Mapping[int, Any], facts: Facts) -> NumbersFromSizes:
        """What Python computes from the sizes of values of these types."""
        runs = self.runs
        return NumbersFromSizes(runs.followed_run.nodes, RenumberedValues(runs.graph_value, types),
                                runs.at, facts)

    def number_in_graph(self, use: NumberUse, values: Any) -> Any:
        """The number that the graph has in the same operand or attribute at these sizes."""
        node, path = use.node, use.path
        e = self.holes.get(id(node), {}).get(path)
        if e is not None:
            return e.at(values)
        return part((node.ins if type(path[0]) is int else node.attrs)[path[0]], path[1:])

    # ---- at certain sizes ------------------------------------------------------------------------
    def agrees_at(self, values: Values) -> bool:
        """Does Python compute the graph's numbers, and decide the same, at these sizes?"""
        try:
            numbers = self.numbers(self.types(values), Facts([]))
            return all(map(numbers.is_unchanged, self.runs.guards)) and all(
                numbers[use.value] == self.number_in_graph(use, values) for use in self.runs.uses)
        except (PreconditionError, ArithmeticError, ValueError, TypeError, Unsized):
            return False

    def types(self, values: Values) -> dict[int, Type]:
        """The types of the inputs, and of the values whose sizes Python read, at these sizes."""
        graph_run = self.runs.graph_run
        arrays = graph_run.arrays
        types = {v: Type.of(arrays[v]) for v in graph_run.outside}
        for i, v in enumerate(graph_run.inputs):
            a = arrays[v]
            types[v] = Type(a.dtype, self.dims.shape(i, a.shape, values))
        for n in self.runs.measured:
            known = [self.sizes.outline_at(o, values) for o in n.outs]
            found = [Type.of(a) for a in known if a is not None]
            if len(found) < len(known):
                found = made(filled(n, self.holes.get(id(n), {}), values), types)
            types.update(zip(n.outs, found))
        return types

    # ---- at all sizes ----------------------------------------------------------------------------
    def deciding_dims(self) -> set[int] | None:
        """The dimensions that Python's decisions depend on. At all sizes of the others, from 2 on,
        Python does the same. None where that is only known for sizes that are tried."""
        numbers, facts = self.symbolic, self.sizes.facts
        with facts.noting() as asked:
            try:
                decisions = all(map(numbers.is_unchanged, self.runs.guards))
                deciding = set().union(*map(facts.symbols_in, [*asked, *numbers.asked]))
                asked.clear()
                same = decisions and all(map(self.is_always_in_graph, self.runs.uses))
            except (ArithmeticError, KeyError, ValueError, TypeError, Unsized):
                return None
        return deciding if same and not asked else None

    def is_always_in_graph(self, use: NumberUse) -> bool:
        """Has the graph the number that Python computes, whatever the sizes? Both are then the same
        sum of products of sizes, or the graph's formula was written from this number."""
        number: Any = self.symbolic[use.value]
        e = self.holes.get(id(use.node), {}).get(use.path)
        found = formula_of(number) if type(number) in SYMBOLIC else None
        if isinstance(e, SizeFormula) and found is not None and found.source == e.source:
            return True
        symbols: Any = self.sizes.facts.symbols
        return bool(terms(number) == terms(self.number_in_graph(use, symbols)))


class RenumberedValues(Mapping[int, Any]):
    """What is known of one run's values, looked up by the numbers that another run gave them."""

    def __init__(self, numbers: Mapping[int, int], known: Mapping[int, Any]) -> None:
        self.numbers, self.known = numbers, known

    def __getitem__(self, n: int) -> Any:
        return self.known[self.numbers[n]]

    def __iter__(self) -> Iterator[int]:
        return (n for n, v in self.numbers.items() if v in self.known)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def terms(x: Any) -> Any:
    """A number, or the products of sizes that one is a sum of."""
    return x.terms if type(x) is SymbolicSize else x
