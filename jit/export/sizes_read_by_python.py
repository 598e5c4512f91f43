"""Sizes that Python read while the example ran, and what it did with them.

In a second run of the example, the sizes that Python reads are followed (see
`capture/followed_sizes.py`). The run shows what Python computed from them, which ops got the
results, and which decisions went by them. The graph holds at other sizes if two things are so: the
same arithmetic gives the numbers that the graph has there, and each decision is the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from whet.ir.graph import Guard, Node, Ref, Type
from whet.ir.symbolic_size import SYMBOLIC, Facts, SymbolicSize, Unsized
from whet.ops.casting import CASTS

from ..program.numbers_from_sizes import NumbersFromSizes
from .dims import Dims, Values
from .errors import PreconditionError
from .recording import Recorded
from .size_formulas import SizeFormula, formula_of
from .sized_graph import AnyExpression, Path, filled, made, part
from .sizes_of_values import SizesOfValues

Holes = Mapping[int, Mapping[Path, AnyExpression]]


class Apart(Exception):
    """The two runs of the example differ in more than what is computed from sizes."""


class SizesReadByPython:
    """What is known of a run. `plain` has the graph's nodes, with `holes` in them by id. `run` has
    the same nodes, and those that compute with sizes. Raises Apart if they differ in more."""

    def __init__(self, plain: Recorded, run: Recorded, holes: Holes, dims: Dims,
                 sizes: SizesOfValues) -> None:
        assert run.followed is not None
        self.sizes = sizes
        self.plain, self.run, self.holes, self.dims = plain, run, holes, dims
        self.at, read = run.followed.at, run.followed.values
        self.makers = {o: n for n in run.nodes for o in n.outs}
        self.guards = [
            n for n in run.nodes if isinstance(n, Guard) and read.issuperset(n.refs())
        ]
        alone = {id(n) for n in self.guards}
        others = [
            n for n in run.nodes
            if id(n) not in alone and not (n.outs and read.issuperset(n.outs))
        ]
        self.plain_of = self.values(others)
        # a node of the graph, a place in it, and the number that Python computed for it
        self.places = [
            (a, path, n) for a, b in zip(plain.nodes, others)
            for path, n in self.numbers_in(b, read)
        ]
        self.known = {(id(a), path): n for a, path, n in self.places}
        self.needed = self.needed_nodes()
        self.symbolic = self.numbers(sizes.outlines, sizes.facts)

    def paths_of(self, node: Node) -> list[Path]:
        """Where a node has numbers that Python computed."""
        return [path for owner, path in self.known if owner == id(node)]

    def number_at(self, node: Node, path: Path) -> Any:
        """What Python computed for a place in a node, as an expression of sizes; None where it
        computed none."""
        n = self.known.get((id(node), path))
        try:
            return None if n is None else self.symbolic[n]
        except (ArithmeticError, KeyError, ValueError, TypeError, Unsized):
            return None

    def values(self, others: list[Node]) -> dict[int, int]:
        """The graph's values, by those of the run that was followed."""
        plain, run = self.plain, self.run
        if len(plain.nodes) != len(others) or len(plain.inputs) != len(run.inputs):
            raise Apart
        own = {id(t): n for n, t in plain.outside.items()}
        found = dict(zip(run.inputs, plain.inputs))
        found |= {n: own[id(t)] for n, t in run.outside.items() if id(t) in own}
        for a, b in zip(plain.nodes, others):
            same = type(a) is type(b) and (a.op is b.op or both_keep_elements(a, b))
            if not same or len(a.ins) != len(b.ins) or len(a.outs) != len(b.outs):
                raise Apart
            found.update(zip(b.outs, a.outs))
        return found

    def numbers_in(self, n: Node, sizes: set[int]) -> Iterator[tuple[Path, int]]:
        """Where a node has numbers that Python computed of sizes."""
        if n.outs:
            yield from self.at.get(n.outs[0], {}).items()
        for k, x in enumerate(n.ins):
            if type(x) is Ref and x in sizes:
                yield (k,), self.before_casts(int(x))

    def before_casts(self, n: int) -> int:
        """The Python number that an operand was: an op takes it in a type of its own."""
        node = self.makers[n]
        while node.op in CASTS.values() and type(node.ins[0]) is Ref:
            n = int(node.ins[0])
            node = self.makers[n]
        return n

    def needed_nodes(self) -> list[Node]:
        """The graph's nodes that make what Python asked for sizes, in order."""
        asked = [self.plain_of.get(int(n.attrs["of"]), -1)
                 for n in self.run.nodes if n.op is not None and n.op.name == "size_of"]
        if -1 in asked:
            raise Apart
        wanted, found = set(asked), list[Node]()
        for n in reversed(self.plain.nodes):
            if wanted.intersection(n.outs):
                found.append(n)
                wanted.update(int(x) for x in n.refs())
        return found[::-1]

    # ---- at certain sizes ------------------------------------------------------------------------
    def hold(self, values: Values) -> bool:
        """Does Python do the same at these sizes?"""
        try:
            numbers = self.numbers(self.types(values), Facts([]))
            return all(map(numbers.is_unchanged, self.guards)) and all(
                numbers[n] == self.in_graph(node, path, values) for node, path, n in self.places)
        except (PreconditionError, ArithmeticError, ValueError, TypeError, Unsized):
            return False

    def numbers(self, types: Mapping[int, Any], facts: Facts) -> NumbersFromSizes:
        """What Python computes of the sizes of values of these types."""
        return NumbersFromSizes(self.run.nodes, Renamed(self.plain_of, types), self.at, facts)

    def types(self, values: Values) -> dict[int, Type]:
        """The types of the inputs, and of the values whose sizes Python asked for."""
        arrays = self.plain.arrays
        types = {v: Type.of(arrays[v]) for v in self.plain.outside}
        for i, v in enumerate(self.plain.inputs):
            a = arrays[v]
            types[v] = Type(a.dtype, self.dims.shape(i, a.shape, values))
        for n in self.needed:
            known = [self.sizes.outline_at(o, values) for o in n.outs]
            found = [Type.of(a) for a in known if a is not None]
            if len(found) < len(known):
                found = made(filled(n, self.holes.get(id(n), {}), values), types)
            types.update(zip(n.outs, found))
        return types

    def in_graph(self, node: Node, path: Path, values: Any) -> Any:
        """The number that the graph has somewhere at these sizes."""
        e = self.holes.get(id(node), {}).get(path)
        if e is not None:
            return e.at(values)
        return part((node.ins if type(path[0]) is int else node.attrs)[path[0]], path[1:])

    # ---- at all sizes ----------------------------------------------------------------------------
    def decided_by(self) -> set[int] | None:
        """The dimensions that Python's decisions go by, at sizes from 2 on: it does the same at all
        sizes of the others. None where that is not clear without trying. The numbers that it
        computes are the same sums of products of sizes then."""
        numbers, facts = self.symbolic, self.sizes.facts
        symbols: Any = facts.symbols
        with facts.noting() as asked:
            try:
                decisions = all(map(numbers.is_unchanged, self.guards))
                decided = set().union(*map(facts.symbols_in, [*asked, *numbers.asked]))
                asked.clear()
                same = decisions and all(
                    self.is_formula_of(numbers[n], node, path)
                    or terms(numbers[n]) == terms(self.in_graph(node, path, symbols))
                    for node, path, n in self.places)
            except (ArithmeticError, KeyError, ValueError, TypeError, Unsized):
                return None
        return decided if same and not asked else None

    def is_formula_of(self, number: Any, node: Node, path: Path) -> bool:
        """Was the formula that the graph has somewhere written from this very number?"""
        e = self.holes.get(id(node), {}).get(path)
        found = formula_of(number) if type(number) in SYMBOLIC else None
        return isinstance(e, SizeFormula) and found is not None and found.source == e.source


class Renamed(Mapping[int, Any]):
    """Values of one run by the numbers that they have in another."""

    def __init__(self, names: Mapping[int, int], values: Mapping[int, Any]) -> None:
        self.names, self.values_of = names, values

    def __getitem__(self, n: int) -> Any:
        return self.values_of[self.names[n]]

    def __iter__(self) -> Iterator[int]:
        return (n for n, v in self.names.items() if v in self.values_of)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def both_keep_elements(a: Node, b: Node) -> bool:
    """Do both nodes give all elements of their operand? Whether that takes a copy is a matter of
    the sizes."""
    return a.op is not None and b.op is not None and a.op.keeps_elements and b.op.keeps_elements


def terms(x: Any) -> Any:
    """A number, or the products of sizes that one is a sum of."""
    return x.terms if type(x) is SymbolicSize else x
