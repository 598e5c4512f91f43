"""Memory as values. ONNX knows neither views nor writes: a view is computed from what it is a view
of, again after each write, and a write makes the memory anew."""

from __future__ import annotations

from typing import Any

import numpy as np
from whet.ir.graph import Node
from whet.ir.values import Type

from .complex_values import made_by, on_parts
from .formulas import FormulaBuilder
from .operators import Inexpressible
from .values import Pair, Value


class View:
    """A value that lies in the memory of another: the node that made it, and which result it is."""

    def __init__(self, node: Node, place: int) -> None:
        self.node, self.place = node, place
        self.seen: tuple[int, Value] | None = None  # (version of the memory, the value then)

    @property
    def base(self) -> int:
        """The value that it is a view of."""
        found: int = self.node.ins[0]
        return found


class Memory:
    """The values of a graph by their numbers, as they are now."""

    def __init__(self, b: FormulaBuilder, types: dict[int, Type]) -> None:
        self.b, self.types = b, types
        self.values: dict[int, Value] = {}  # of what is no view
        self.versions: dict[int, int] = {}
        self.views: dict[int, View] = {}

    def define(self, number: int, value: Value) -> None:
        """A value with memory of its own."""
        value.shape = value.shape if value.shape is not None else self.types[number].shape
        self.values[number], self.versions[number] = value, 0

    def alias(self, node: Node) -> None:
        """The results of a node are views of its first operand."""
        for place, out in enumerate(node.outs):
            self.views[out] = View(node, place)

    def root(self, number: int) -> int:
        """The value in whose memory another lies."""
        while number in self.views:
            number = self.views[number].base
        return number

    def read(self, number: int) -> Value:
        """What a value is now."""
        view = self.views.get(number)
        if view is None:
            return self.values[number]
        version = self.versions[self.root(number)]
        if view.seen is None or view.seen[0] != version:
            made = self._viewed(view)
            for place, out in enumerate(view.node.outs):
                value = made[place]
                if value.shape is None or value is self.read(view.base):
                    shape = self.types[out].shape
                    value = on_parts(value, lambda x: Value(x.name, x.dtype, shape, x.array))
                self.views[out].seen = version, value
        assert view.seen is not None
        return view.seen[1]

    def _viewed(self, view: View) -> tuple[Value, ...]:
        node = view.node
        assert node.op is not None
        if node.op.reach is not None:
            return (self._anywhere(node),)
        base = self.read(view.base)
        self.b.line, self.b.label = node.line, node.op.name
        self.b.results = tuple(self.types[out] for out in node.outs)
        made = made_by(self.b, node.op, [base], node.attrs, "view")
        values = made if isinstance(made, tuple) else (made,)
        for value in values:
            if not isinstance(value, Pair):
                self.b.makers.setdefault(value.name, (node.op, [base], node.attrs))
        return values

    def _anywhere(self, node: Node) -> Value:
        """A view of any strides: gathered from the whole memory."""
        root = self.root(node.ins[0])
        places = self._places(node.outs[0])
        index = self.b.constant(places, "places")
        return on_parts(
            self.values[root], lambda x: self.b.Gather(self.b.flat(x), index, axis=0)
        )

    def _places(self, number: int) -> np.ndarray:
        """The place in the memory that it lies in of each element of a value."""
        view = self.views.get(number)
        if view is None:
            return _numbered(self.types[number], self.b.static(*self.types[number].shape))
        node = view.node
        assert node.op is not None
        if node.op.onnx_write is not None:
            raise Inexpressible("a view of any strides of the parts of complex numbers")
        made = node.op.forward(self._places(view.base), **node.attrs)
        found: np.ndarray = made[view.place] if isinstance(made, tuple) else made
        return found

    def write(self, number: int, value: Value) -> None:
        """Put a value, which has the sizes and the type of what is there, into its place."""
        view = self.views.get(number)
        if view is None:
            value.shape = self.types[number].shape
            self.values[number] = value
            self.versions[number] += 1
            return
        op = view.node.op
        assert op is not None
        if op.reach is not None:
            root, places = self.root(number), self._places(number)
            self.write(root, self._scattered(root, self.b.constant(places.reshape(-1)), value))
            return
        base = view.base
        if op.onnx_write is not None:
            self.write(base, op.onnx_write(self.b, self.read(base), value))
            return
        shape = self.types[base].shape
        if all(isinstance(n, int) for n in shape):
            places = np.arange(int(np.prod(shape))).reshape(shape)
            made = op.forward(places, **view.node.attrs)
            part = made[view.place] if isinstance(made, tuple) else made
            if part.size == places.size and (part.reshape(-1) == places.reshape(-1)).all():
                self.write(base, on_parts(value, lambda x: self.b.reshape(x, shape)))
                return
            index = self.b.constant(np.ascontiguousarray(part).reshape(-1), "places")
        else:
            index = self._places_at_run_time(view, shape)
        self.write(base, self._scattered(base, index, value))

    def _places_at_run_time(self, view: View, shape: Any) -> Value:
        """The places of a view's elements in its base, as a vector."""
        b = self.b
        count = b.Squeeze(b.ReduceProd(b.ints(shape), keepdims=1))
        numbers = b.reshape(b.Range(b.number(0, "i64"), count, b.number(1, "i64")), shape)
        numbers.shape = tuple(shape)
        op = view.node.op
        assert op is not None and op.onnx is not None
        made = op.onnx(b, numbers, **view.node.attrs)
        return b.flat(made[view.place] if isinstance(made, tuple) else made)

    def _scattered(self, number: int, index: Value, value: Value) -> Value:
        b, shape = self.b, self.types[number].shape

        def put(base: Value, part: Value) -> Value:
            flat = b.ScatterElements(b.flat(base), index, b.flat(part), axis=0)
            return b.reshape(flat, shape)

        return on_parts(self.read(number), put, value)


def _numbered(t: Type, shape: tuple[int, ...]) -> np.ndarray:
    """An array that lies as one of this type does, with the number of each element in row-major
    order; what lies between the elements has number 0."""
    item = max(t.dtype.itemsize, 1)
    low, high = t.span
    memory = np.zeros((high - low) // item + 1, np.int64)
    made = np.ndarray(shape, np.int64, memory, -low // item * 8, [s // item * 8 for s in t.strides])
    made[...] = np.arange(int(np.prod(shape))).reshape(shape)
    return made
