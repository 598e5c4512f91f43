"""The sizes of all values of a run as expressions of those that differ.

What an op makes of sizes is found by its own code, which is run on arrays without memory whose
sizes are symbols. It is held to the sizes that values had in each of the runs. A number that the
graph has somewhere else is looked for among these: a view names sizes of what it is given.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Any

import numpy as np
from whet.cpu import allocator
from whet.cpu.taped_launches import Tape
from whet.ir.graph import Node, OpNode, Ref
from whet.ir.outline import Outline, broadcast_shapes
from whet.ir.symbolic_size import (
    Facts,
    Quantity,
    Size,
    SymbolicReal,
    SymbolicSize,
    Unsized,
)
from whet.ops.pointwise_family import PointwiseOp

from .dims import Dims, Values, fitted
from .recording import Recorded
from .size_formulas import SizeFormula, formula_of
from .sized_graph import AnyExpression, Path, filled, part

Samples = Sequence[tuple[Values, Recorded]]
MOST_DIMS = 6  # a tensor of more has too many products of sizes
FAILURES = (Unsized, ArithmeticError, AttributeError, IndexError, RuntimeError, TypeError,
            ValueError, NotImplementedError)


class SizesOfValues:
    """`outlines`: of the values so far; `samples` are runs at several sizes, the example's first.
    A value is missing where its sizes are no expressions, as those of `unfit` are."""

    def __init__(self, dims: Dims, samples: Samples, unfit: Set[int] = frozenset()) -> None:
        self.unfit = unfit
        self.samples, self.facts = samples, Facts(dims.example)
        symbols: Any = self.facts.symbols
        base = samples[0][1]
        self.outlines: dict[int, Any] = {
            v: Outline(dims.shape(i, base.arrays[v].shape, symbols), base.arrays[v].dtype)
            for i, v in enumerate(base.inputs)
        }
        for v in base.outside:
            t = base.arrays[v]
            self.outlines[v] = Outline(t.shape, t.dtype, t.strides)

    def add(self, node: Node, holes: Mapping[Path, AnyExpression]) -> None:
        """What a node makes; `holes` are its numbers that differ."""
        if not node.outs:
            return
        found: Sequence[Any] = ()
        if isinstance(node, OpNode) and all(x in self.outlines for x in node.refs()):
            symbols: Any = self.facts.symbols
            try:
                found = self.made(filled(node, holes, symbols), self.outlines)
            except FAILURES:
                found = ()
        for k, o in enumerate(node.outs):
            a = found[k] if k < len(found) else None
            if a is None or not self.is_as_seen(o, a.shape):
                a = self.as_seen(o)
            if a is not None and o not in self.unfit:
                self.outlines[o] = a

    def made(self, node: Any, outlines: Mapping[int, Any]) -> Sequence[Any]:
        """What an op makes of outlines. What it says of sizes is taken before it is run, which
        would want kernels for them."""
        op = node.op
        ins = [outlines[int(x)] if type(x) is Ref else x for x in node.ins]
        of_outlines = op.outlined or op.makes
        with np.errstate(all="ignore"), allocator.without_memory(), self.facts.noting():
            if of_outlines is not None:
                out: Any = of_outlines(*ins, **node.attrs)
            elif op.shape is not None:
                out = Outline(op.shape(*ins, **node.attrs), ins[0].dtype)
            elif (shape := self.stated_shape(node, ins)) is not None:
                out = Outline(shape, self.samples[0][1].arrays[node.outs[0]].dtype)
            else:
                out = Tape(dry=True).listen(op.forward, *ins, **node.attrs)
        return out if type(out) is tuple else (out,)

    def stated_shape(self, node: OpNode, ins: Sequence[Any]) -> Any:
        """The sizes of a result where the call itself states them; None where it does not. It
        has another layout elsewhere, which decides no size."""
        if isinstance(node.op, PointwiseOp) and len(node.outs) == 1:
            return broadcast_shapes(*[x.shape for x in ins if isinstance(x, np.ndarray)])
        if node.op.keeps_elements or not node.refs():
            sizes = [node.attrs[k] for k in node.op.size_attrs if k in node.attrs]
            return sizes[0] if len(sizes) == 1 and type(sizes[0]) is tuple else None
        return None

    # ---- what runs showed ------------------------------------------------------------------------
    def seen(self, n: Quantity) -> tuple[Any, ...]:
        """What a number was in each run."""
        if type(n) is not SymbolicSize and type(n) is not SymbolicReal:
            return (n,) * len(self.samples)
        return tuple([self.facts.scope(v).of(n.text()) for v, _ in self.samples])

    def is_as_seen(self, value: int, shape: Sequence[Size]) -> bool:
        """Are these the sizes that a value had in all runs?"""
        shapes = [run.arrays[value].shape for _, run in self.samples]
        return len(shape) == len(shapes[0]) and list(map(self.seen, shape)) == list(zip(*shapes))

    def as_seen(self, value: int) -> Outline | None:
        """A value whose sizes are what they were in the runs."""
        symbols: Any = self.facts.symbols
        base, shape = self.samples[0][1].arrays[value], list[Any]()
        for ns in zip(*[run.arrays[value].shape for _, run in self.samples]):
            e = fitted([(v, n) for (v, _), n in zip(self.samples, ns)])
            if len(set(ns)) > 1 and e is None:
                return None
            shape.append(ns[0] if len(set(ns)) == 1 or e is None else e.at(symbols))
        return Outline(shape, base.dtype)

    # ---- at certain sizes ------------------------------------------------------------------------
    def outline_at(self, value: int, values: Values) -> Any:
        """A value at some sizes; None where its sizes are not known."""
        a = self.outlines.get(value)
        if a is None:
            return None
        of = self.facts.scope(values).of
        shape = [of(n.text()) if type(n) is SymbolicSize else n for n in a.shape]
        return Outline(shape, a.dtype)

    def wrong_at(
        self, values: Values, holes: Mapping[int, Mapping[Path, AnyExpression]]
    ) -> set[int]:
        """The values of which ops make other sizes than the expressions say. What they refuse is
        refused in a call, too. `holes`: by id of a node."""
        base = self.samples[0][1]
        found: dict[int, Any] = {v: base.arrays[v] for v in base.outside}
        found |= {v: self.outline_at(v, values) for v in base.inputs}
        wrong = set[int]()
        for n in base.nodes:
            if not isinstance(n, OpNode):
                continue
            try:
                made = self.made(filled(n, holes.get(id(n), {}), values), found)
            except FAILURES:
                break
            for o, a in zip(n.outs, made):
                found[o] = Outline(a.shape, a.dtype, a.strides)
                known = self.outline_at(o, values)
                if known is not None and known.shape != tuple(a.shape):
                    wrong.add(o)
        return wrong

    # ---- numbers ---------------------------------------------------------------------------------
    def formula(self, node: Node, path: Path, numbers: tuple[int, ...]) -> SizeFormula | None:
        """The formula of a number in a node, from what it was in the runs; None where none is
        found."""
        for n in self.candidates(node, path):
            found = formula_of(n) if self.seen(n) == numbers else None
            if found is not None:
                return found
        return None

    def candidates(self, node: Node, path: Path) -> Iterator[SymbolicSize]:
        """What a number in a node may be, the likeliest first."""
        shapes = [self.outlines[x].shape for x in node.refs() if x in self.outlines]
        for shape in shapes:
            yield from sizes_among(products(shape))
        if isinstance(node, OpNode) and node.op.keeps_elements and shapes:
            yield from self.left(node, path, shapes[0])
        singles = list(distinct(n for a in reversed(self.outlines.values()) for n in a.shape))
        base = self.number(node, path)
        yield from singles
        for n in singles:  # a slice that ends before, a row beyond
            yield from sizes_among([n + (base - n.value)])
        for a, b in itertools.permutations(singles, 2):
            yield from sizes_among([a * b] if a.value * b.value == base else
                                   [a - b] if a.value - b.value == base else [])

    def left(self, node: OpNode, path: Path, shape: Sequence[Size]) -> Iterator[SymbolicSize]:
        """What is left of all elements when the other sizes of a view are known."""
        wanted = node.attrs.get(path[0])
        if type(wanted) is not tuple or len(path) != 2:
            return
        known, rest = list[Any](), list(shape)  # the sizes that are in both cancel
        for k, n in enumerate(wanted):
            if k != path[1]:
                of_input = [i for i, m in enumerate(rest) if self.seen(m)[0] == n]
                if of_input:
                    rest.pop(of_input[0])
                else:
                    known.append(n)
        yield from sizes_among([math.prod(rest) // math.prod(known)] if all(known) else [])

    def number(self, node: Node, path: Path) -> int:
        """The number in the example's run."""
        x: Any = node.ins if type(path[0]) is int else node.attrs
        return int(part(x[path[0]], path[1:]))


def products(shape: Sequence[Size]) -> Iterator[Any]:
    """The sizes of a value, and their products."""
    for k in range(1, len(shape) + 1 if len(shape) <= MOST_DIMS else 2):
        for some in itertools.combinations(shape, k):
            yield math.prod(some)


def sizes_among(numbers: Iterable[Any]) -> Iterator[SymbolicSize]:
    """Which of the numbers differ between calls: symbolic sizes."""
    return (n for n in numbers if type(n) is SymbolicSize)


def distinct(numbers: Iterable[Any]) -> Iterator[SymbolicSize]:
    """Which of the numbers differ between calls, each once."""
    return iter({n.text(): n for n in sizes_among(numbers)}.values())
