"""Eager's autograd graph of a call at sizes that no run had: the graph of a recorded run, with
expressions in place of sizes.

What a node keeps beside tensors are the attributes and numbers of its op, and the shapes of
operands that its backward does not read. Two runs of different sizes show which of them differ.
"""
from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from whet.autograd.unsaved_input import Shape
from whet.ir.graph import Node, Ref, Type
from whet.ir.symbolic_size import SYMBOLIC, Symbolic, Unsized

from ..program.size_dependent_arrays import expressions_in, filled
from ..program.size_expressions import equal, same_number
from .eager_graph import Output, Saved, Spec, stand_in
from .graph_maker import GraphMaker

if TYPE_CHECKING:
    from whet.ir.size_conditions import ValuesOf

    from ..program.sized_program import SizedProgram
    from ..program.types_across_parts import TypesAt
    from .backward import CallNode
    from .eager_graph import History

# text of an expression -> its value
Numbers = Mapping[str, Any]


class SizedEagerGraph:
    """The graph behind calls of the program `forward`, which may be given by its types alone.
    `first` and `other` make the graphs of the two runs that it was planned from. Raises Unsized."""

    def __init__(self, first: GraphMaker, other: GraphMaker,
                 forward: SizedProgram | TypesAt) -> None:
        if (not same_form(first.history, other.history)
                or (first.saved, first.dropped) != (other.saved, other.dropped)):
            raise Unsized("gradients flow another way")
        self.first, self.sizes, self.arrays = first, forward.sizes, forward.arrays
        self.recorded = [*zip(forward.like.recorded, forward.other.recorded,
                              forward.types.expected, strict=True)]
        pairs: Any = zip(first.history.specs, other.history.specs, strict=True)
        self.specs: list[SizedSpec | Output] = [
            a if isinstance(a, Output) else SizedSpec(self, a, b) for a, b in pairs]
        expected = {n.outs[0]: known for n, _, known in self.recorded if n.outs}
        self.again = [self.computed(n, *expected[n.outs[0]]) for n in first.again]
        self.types = {o: self.arrays[o] for o in first.types}
        self.facts, self.known = forward.facts, dict[str, Symbolic]()
        expressions_in([*self.parts()], self.known)

    def parts(self) -> Iterator[Any]:
        """All that expressions are in."""
        for s in self.specs:
            if isinstance(s, SizedSpec):
                yield from s.parts()
        for node in self.again:
            yield [*node.ins, *node.attrs.values()]
        for a in self.types.values():
            yield [a.shape, a.strides]

    @staticmethod
    def computed(node: Node, ins: Sequence[Any], attrs: Mapping[str, Any]) -> Node:
        """A node that computes once more what was dropped, with expressions."""
        made = node.like()
        made.ins = tuple([x if type(x) is Ref else y for x, y in zip(node.ins, ins, strict=True)])
        made.attrs = {**node.attrs, **attrs}
        return made

    def function(self) -> ValuesOf:
        """What `at` wants to know, for sizes that go the way that was planned last."""
        return self.facts.function(list(self.known.values()))

    def at(self, found: Sequence[Any]) -> GraphMaker:
        """What makes the graph for the sizes of which this was found."""
        numbers = dict(zip(self.known, found, strict=True))
        first, history = self.first, copy.copy(self.first.history)
        history.specs = [s.at(numbers) if isinstance(s, SizedSpec) else s for s in self.specs]
        again = []
        for node in self.again:
            made = node.like()
            made.ins = tuple([filled(x, numbers) for x in node.ins])
            made.attrs = {k: filled(x, numbers) for k, x in node.attrs.items()}
            again.append(made)
        types = {o: Type(a.dtype, filled(a.shape, numbers), filled(a.strides, numbers))
                 for o, a in self.types.items()}
        return GraphMaker(history, first.saved, first.dropped, again, types)

    # ---- what a node keeps -----------------------------------------------------------------------
    def beside(self, a: Spec, b: Spec) -> tuple[Mapping[str, Any], Sequence[Any]]:
        """The attributes of a node, and its operands that are no tensors, as expressions. If the
        operation that it is the gradient of was recorded as it is, they are taken from there."""
        found = [known for node, other, known in self.recorded
                 if node.op is a.op and equal_attrs(node.attrs, a.attrs)
                 and equal_attrs(other.attrs, b.attrs) and len(node.ins) == len(a.inputs)]
        if found and all(texts(known) == texts(found[0]) for known in found):
            ins, attrs = found[0]
            return {**a.attrs, **attrs}, ins
        again = self.sizes.again
        return ({k: x if k == a.inner or x is b.attrs[k] else again(x, b.attrs[k])
                 for k, x in a.attrs.items()}, a.inputs)

    def shape(self, value: int | None, x: Sequence[int], y: Sequence[int]) -> Any:
        """The sizes of a value, which were these in the two runs."""
        a = None if value is None else self.arrays.get(value)
        if a is not None:
            return a.shape
        self.sizes.tell_apart(tuple([n for n, m in zip(x, y, strict=True) if n == m]))
        return self.sizes.again(tuple(x), tuple(y))


class SizedSpec:
    """A node of the graph; `a` and `b` are it in the two runs."""

    def __init__(self, graph: SizedEagerGraph, a: Spec, b: Spec) -> None:
        self.spec = a
        self.attrs, others = graph.beside(a, b)
        self.inner = None if a.inner is None else SizedSpec(
            graph, a.attrs[a.inner], b.attrs[a.inner])
        self.inputs: list[Any] = []
        for k, (x, y) in enumerate(zip(a.inputs, b.inputs, strict=True)):
            if isinstance(x, Saved):
                self.inputs.append(SizedSaved(graph, x, y))
            elif isinstance(x, Shape):
                self.inputs.append(SizedShape(x, graph.shape(None, x.shape, y.shape)))
            elif same_number(x, y) or x is y:
                self.inputs.append(x)
            else:
                number = others[k]
                self.inputs.append(number if type(number) in SYMBOLIC
                                   else graph.sizes.number(x, y, ()))
        self.outputs = [x and SizedSaved(graph, x, y)
                        for x, y in zip(a.outputs, b.outputs, strict=True)]
        self.outlines = (a.outlines if a.outlines is b.outlines
                         else graph.sizes.again(a.outlines, b.outlines))

    def parts(self) -> Iterator[Any]:
        """All that expressions are in."""
        yield [x for k, x in self.attrs.items() if k != self.spec.inner] + [self.outlines]
        for x in (*self.inputs, *self.outputs):
            yield x.shape if type(x) in (SizedSaved, SizedShape) else x
        if self.inner is not None:
            yield from self.inner.parts()

    def at(self, numbers: Numbers) -> Spec:
        """The node for some sizes."""
        def made(x: Any) -> Any:
            return x.at(numbers) if type(x) in (SizedSaved, SizedShape) else filled(x, numbers)
        spec = copy.copy(self.spec)
        spec.attrs = {k: filled(x, numbers) for k, x in self.attrs.items()}
        if self.inner is not None and spec.inner is not None:
            spec.attrs[spec.inner] = self.inner.at(numbers)
        spec.outlines = filled(self.outlines, numbers)
        spec.inputs, spec.outputs = [*map(made, self.inputs)], [*map(made, self.outputs)]
        return spec


class SizedSaved:
    """A tensor that a node saved."""

    def __init__(self, graph: SizedEagerGraph, x: Saved, y: Saved) -> None:
        self.saved = x
        self.shape = graph.shape(x.value, x.stand_in.shape, y.stand_in.shape)

    def at(self, numbers: Numbers) -> Saved:
        """The saved tensor where sizes are these numbers."""
        made = copy.copy(self.saved)
        made.stand_in = stand_in(filled(self.shape, numbers), made.stand_in.dtype)
        return made


class SizedShape:
    """What a node keeps of an operand that its backward does not read."""

    def __init__(self, like: Shape, shape: Any) -> None:
        self.like, self.shape = like, shape

    def at(self, numbers: Numbers) -> Shape:
        """The operand's type and shape where sizes are these numbers."""
        made: Shape = copy.copy(self.like)
        made.shape = filled(self.shape, numbers)
        return made


class GraphAtSizes:
    """A `GraphMaker` for certain sizes, which is made when it is first needed."""

    def __init__(self, make: Callable[[], GraphMaker]) -> None:
        self.make: Callable[[], GraphMaker] = make
        self.maker: GraphMaker | None = None

    def nodes(self, call: CallNode, exits: dict[int, Any]) -> list[Any]:
        """See `GraphMaker`."""
        if self.maker is None:
            self.maker = self.make()
        return self.maker.nodes(call, exits)


def same_form(a: History, b: History) -> bool:
    """Are two graphs the same, apart from sizes?"""
    return (a.roots == b.roots and a.keys == b.keys and a.holders == b.holders
            and a.holding == b.holding and a.behind == b.behind and len(a.specs) == len(b.specs)
            and all(map(same_node, a.specs, b.specs)))


def same_node(a: Spec | Output, b: Spec | Output) -> bool:
    """Is a node the same in two graphs, apart from sizes?"""
    if isinstance(a, Output) or isinstance(b, Output):
        return (isinstance(a, Output) and isinstance(b, Output)
                and (a.rank, a.parent, a.index) == (b.rank, b.parent, b.index))
    return ((a.rank, a.op, a.nout, a.released, a.edges, a.inner) ==
            (b.rank, b.op, b.nout, b.released, b.edges, b.inner)
            and a.attrs.keys() == b.attrs.keys()
            and len(a.inputs) == len(b.inputs) and len(a.outputs) == len(b.outputs)
            and all(map(same_kind, (*a.inputs, *a.outputs), (*b.inputs, *b.outputs)))
            and (a.inner is None or same_node(a.attrs[a.inner], b.attrs[a.inner])))


def same_kind(x: Any, y: Any) -> bool:
    """Is what a node keeps the same in two graphs, apart from sizes?"""
    if type(x) is not type(y):
        return False
    if isinstance(x, Saved):
        return ((x.value, x.edge, x.outside, x.at) == (y.value, y.edge, y.outside, y.at)
                and x.stand_in.dtype == y.stand_in.dtype
                and x.stand_in.ndim == y.stand_in.ndim)
    if isinstance(x, Shape):
        return bool(x.dtype is y.dtype and x.ndim == y.ndim)
    return x is y or isinstance(x, int | float | complex | np.generic | np.ndarray)


def equal_attrs(a: Mapping[str, Any], b: Mapping[str, Any]) -> bool:
    """Are attributes the same?"""
    return a.keys() == b.keys() and all(equal(x, b[k]) for k, x in a.items())


def texts(known: Any) -> list[str]:
    """The expressions among a node's operands and attributes."""
    ins, attrs = known
    return list(expressions_in([*ins, *attrs.values()], {}))
