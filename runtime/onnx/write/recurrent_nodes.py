"""Writes steps that repeat (`recurrences.py`) as one node: `LSTM`, `GRU` or `RNN` where they are
what a layer of ours does, else `Scan`.

What a layer does is found out from the layer: one of the same size is recorded, and its steps are
compared with those of the graph.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from whet.ir.graph import Node, OpNode, Ref
from whet.ir.values import Type, short

from ...ops.contract import linear_op
from .builder import Value
from .formulas import FormulaBuilder
from .memory import Memory
from .recurrences import Local, Recurrence, Search, alike

RUN = ("f32", "f64")  # what runtimes have these layers for


# ---- what layers do ------------------------------------------------------------------------------
class Kind(NamedTuple):
    """A layer of ours as an operator: `gates` are the places of the operator's gates among ours."""

    layer: str
    gates: tuple[int, ...]
    given: dict[str, Any] = {}
    attributes: dict[str, Any] = {}


KINDS = (
    Kind("LSTM", (0, 3, 1, 2)),
    Kind("GRU", (1, 0, 2), {}, {"linear_before_reset": 1}),
    Kind("RNN", (0,)),
    Kind("RNN", (0,), {"nonlinearity": "relu"}, {"activations": ["Relu"]}),
)


class LayerStep(NamedTuple):
    """The step of a layer: where it makes the states that the operator gives, and which of its
    outer values are the weight and the bias."""

    kind: Kind
    states: list[Local]
    weight: int
    bias: int | None


@functools.lru_cache(maxsize=64)
def layer_steps(size: int) -> dict[Any, LayerStep]:
    """The steps of our layers with so many numbers in a state, by their keys."""
    nn = importlib.import_module("whet.nn")
    found = {}
    for kind in KINDS:
        for bias in (True, False):
            layer = getattr(nn, kind.layer)(1, size, bias=bias, **kind.given).eval()
            r, names = recorded(layer)
            ((_, output),) = r.stacks
            states = [output, *(x for x, _ in r.single.values() if x != output)]
            weight, own = (names.get(f"{x}_hh_l0") for x in ("weight", "bias"))
            assert weight is not None
            found[r.key] = LayerStep(kind, states, weight, own)
    return found


def recorded(layer: Any) -> tuple[Recurrence, dict[str, int]]:
    """The steps of a layer, and which of their outer values is which parameter."""
    whet = importlib.import_module("whet")
    record = importlib.import_module("whet.jit.export.export").graph_as_written
    with whet.no_grad():
        graph, _ = record(layer, (whet.zeros(4, 2, 1),), {})
    (r,) = Search(graph.nodes, [v for v, _ in graph.results]).found()
    names = {x.value: x.name for x in graph.inputs}
    return r, {names[v]: i for i, v in enumerate(r.roles.outer)}


# ---- what a layer begins with --------------------------------------------------------------------
class Start:
    """The states that steps begin with. What a step hands on may be made of a state, as its product
    with the weights is; of such there is only what the first step was given."""

    def __init__(self, r: Recurrence, step: LayerStep, graph: Graph) -> None:
        self.r, self.graph = r, graph
        self.output = step.states[0]
        self.made = {o: (k, j) for k, n in enumerate(r.body) for j, o in enumerate(n.outs)}
        held = [c.local for c in r.roles.carried]
        self.cell = r.first_of(step.states[1]) if len(step.states) > 1 else None
        derived = [c for c in r.roles.carried if c.local not in step.states]
        self.state = r.first_of(self.output) if self.output in held else self.found(derived)
        self.array = self.known_state()
        self.is_right = all(self.fits(c.first, c.local) for c in derived)

    def found(self, derived: Sequence[Any]) -> int | None:
        """The value that what is handed on was made of; None where that was computed before."""
        for c in derived:
            value = self.source(c.first, c.local)
            if value is not None:
                return value
        return None

    def source(self, value: int, local: Local) -> int | None:
        """The state that a value was made of, as a step makes `local` of it."""
        if local == self.output:
            return value
        maker, node = self.graph.maker(value), self.r.body[local[0]]
        if maker is None or not alike(maker, node) or maker.outs[local[1]] != value:
            return None
        states = set()
        for x, y in zip(maker.ins, node.ins):
            if type(y) is Ref and y in self.made:
                states.add(self.source(int(x), self.made[y]))
            elif x != y:
                return None
        return states.pop() if len(states) == 1 else None

    def known_state(self) -> np.ndarray | None:
        """The state as an array, where it is the same in all calls."""
        if self.state is not None:
            return self.graph.known(self.state)
        t = self.graph.types[self.r.body[self.output[0]].outs[self.output[1]]]
        return np.zeros(t.shape, t.dtype) if is_static(t) else None

    def fits(self, value: int, local: Local) -> bool:
        """Is a value what a step would make of the state?"""
        if self.state is not None and self.source(value, local) == self.state:
            return True
        held = self.graph.known(value)
        made = None if held is None or self.array is None else self.computed(local)
        return made is not None and held is not None and made.tobytes() == held.tobytes()

    def computed(self, local: Local) -> np.ndarray | None:
        """What a step makes of the state that is known."""
        if local == self.output:
            return self.array
        node, operands = self.r.body[local[0]], []
        for x in node.ins:
            inside = type(x) is Ref and x in self.made
            a = self.computed(self.made[x]) if inside else self.graph.known(x)
            if a is None:
                return None
            operands.append(a)
        return self.graph.run(node, operands)[local[1]]


class Graph:
    """The nodes around a recurrence: what made a value, and what is the same in all calls."""

    def __init__(self, nodes: Sequence[Node], types: Mapping[int, Type], memory: Memory) -> None:
        self.makers = {o: n for n in nodes for o in n.outs}
        self.types, self.memory = types, memory

    def maker(self, value: int) -> Node | None:
        """The node that made a value."""
        return self.makers.get(int(value))

    def known(self, x: Any) -> Any:
        """A number, or the array that a value is in all calls; None where it differs."""
        if type(x) is not Ref and type(x) is not int:
            return x
        node = self.maker(x)
        if node is None:
            return self.memory.read(int(x)).array
        if type(node) is not OpNode or not node.op.pure or not all(
                is_static(self.types[o]) for o in node.outs):
            return None
        operands = [self.known(y) if type(y) is Ref else y for y in node.ins]
        if any(y is None for y in operands):
            return None
        return self.run(node, operands)[list(node.outs).index(int(x))]

    def run(self, node: Node, operands: Sequence[Any]) -> Sequence[Any]:
        """What a node makes."""
        assert node.op is not None
        made = node.op.forward(*operands, **node.attrs)
        return made if isinstance(made, tuple) else (made,)


def is_static(t: Type) -> bool:
    """Are its sizes numbers?"""
    return all(isinstance(n, int) for n in t.shape)


# ---- writing -------------------------------------------------------------------------------------
class Writer:
    """Writes one recurrence, and tells the memory what it made."""

    def __init__(self, b: FormulaBuilder, r: Recurrence, graph: Graph) -> None:
        self.b, self.r, self.graph, self.memory = b, r, graph, graph.memory
        b.line, b.label = r.body[0].line, "steps"
        self.finals: dict[Local, Value] = {}
        self.sequences: dict[Local, Value] = {}

    def write(self) -> None:
        """The operator of a layer, or `Scan`; then what others read of it."""
        if not self.layer():
            self.scan()
        for node, local in self.r.stacks:
            value, dim = self.sequences[local], node.attrs["dim"]
            if dim:
                axes = [*range(1, dim + 1), 0, *range(dim + 1, len(self.type(node.outs[0]).shape))]
                value = self.b.Transpose(value, perm=axes)
            self.define(node.outs[0], value)
        for number, (local, step) in self.r.single.items():
            self.define(number, self.at(local, step))

    def define(self, number: int, value: Value) -> None:
        t = self.type(number)
        self.memory.define(number, Value(value.name, short(t.dtype), t.shape))

    def type(self, number: int) -> Type:
        return self.graph.types[number]

    def at(self, local: Local, step: int) -> Value:
        """What a step made."""
        b, count = self.b, self.r.count
        if step == count - 1 and local in self.finals:
            return self.finals[local]
        place = count - 1 - step if self.r.is_reversed else step
        return b.Gather(self.sequences[local], b.constant(np.int64(place)), axis=0)

    def wanted(self) -> set[Local]:
        """What steps make that others read of each of them."""
        read = {local for _, local in self.r.stacks}
        held = {c.local for c in self.r.roles.carried}
        return read | {x for x, t in self.r.single.values()
                       if t < self.r.count - 1 or x not in held}

    # ---- Scan
    def scan(self) -> None:
        """The operator `Scan`."""
        b, r = self.b, self.r
        given = {role: int(x) for n, (_, _, reads) in zip(r.body, r.key)
                 for x, role in zip(n.ins, reads) if type(x) is Ref}
        inner = b.body()
        known = {given["outer", i]: self.memory.read(v) for i, v in enumerate(r.roles.outer)}
        inputs = []
        for kind in ("carried", "slices"):
            for i in range(len(getattr(r.roles, kind))):
                number = given[kind, i]
                t = self.type(number)
                inputs.append(inner.given(Value("", short(t.dtype), t.shape)))
                known[number] = inputs[-1]
        outs = [*(c.local for c in r.roles.carried), *sorted(self.wanted())]
        numbers = [r.body[k].outs[j] for k, j in outs]
        types = {v: self.type(v) for n in r.body for v in n.values()}
        graph = inner.graph("step", inputs, inner.inside(r.body, types, known, numbers))
        held, slices = len(r.roles.carried), r.roles.slices
        directions: dict[str, Any] = {}
        if len(outs) > held:
            directions["scan_output_directions"] = [int(r.is_reversed)] * (len(outs) - held)
        made = b.node(
            "Scan", *(self.memory.read(c.first) for c in r.roles.carried),
            *(self.memory.read(s.base) for s in slices), outputs=len(outs), body=graph,
            num_scan_inputs=len(slices), scan_input_axes=[s.dim for s in slices],
            scan_input_directions=[int(s.is_reversed) for s in slices], **directions)
        values = made if isinstance(made, tuple) else (made,)
        for value, number in zip(values, numbers):
            value.dtype = short(self.type(number).dtype)
        self.finals = dict(zip(outs[:held], values))
        self.sequences = dict(zip(outs[held:], values[held:]))

    # ---- layers
    def layer(self) -> bool:
        """The operator of a layer, if the steps are those of one: is it written?"""
        r, (source, *more) = self.r, self.r.roles.slices
        maker = self.graph.maker(source.base)
        outer = [self.type(v) for v in r.roles.outer]
        sizes = {t.shape[1] for t in outer if len(t.shape) == 2 and isinstance(t.shape[1], int)}
        step = next((s[r.key] for s in map(layer_steps, sizes) if r.key in s), None)
        if step is None or more or source.dim or maker is None or maker.op is not linear_op:
            return False
        if len(self.type(maker.refs()[0]).shape) != 3 or not all(
                x in step.states[:1] or x in step.states and t == r.count - 1
                for x, t in r.single.values()) or self.wanted() - {step.states[0]}:
            return False
        dtype = short(self.type(source.base).dtype)
        start = Start(r, step, self.graph)
        if dtype not in RUN or not start.is_right:
            return False
        self.operator(step, start, maker)
        return True

    def operator(self, step: LayerStep, start: Start, maker: Node) -> None:
        """The node itself."""
        b, r, kind = self.b, self.r, step.kind
        x, w, *own = [self.memory.read(int(v)) for v in maker.refs()]
        weight = self.memory.read(r.roles.outer[step.weight])
        size, gates = int(weight.shape[1]), kind.gates  # type: ignore[index]
        b.label = kind.layer.lower()
        biases = [own[0] if own else None,
                  None if step.bias is None else self.memory.read(r.roles.outer[step.bias])]
        both = None
        if any(v is not None for v in biases):
            none = b.constant(np.zeros(len(gates) * size, self.type(r.roles.outer[0]).dtype))
            parts = [none if v is None else self.ordered(v, gates, size) for v in biases]
            both = b.Unsqueeze(b.Concat(*parts, axis=0), b.ints((0,)))
        states = [self.first(start.state, start.array)]
        if start.cell is not None:
            states.append(self.first(start.cell, self.graph.known(start.cell)))
        y, *last = b.node(
            kind.layer, x,
            *(b.Unsqueeze(self.ordered(v, gates, size), b.ints((0,))) for v in (w, weight)), both,
            None, *states, outputs=1 + len(step.states), hidden_size=size,
            direction="reverse" if r.is_reversed else "forward", **kind.attributes)
        self.sequences = {step.states[0]: b.Squeeze(y, b.ints((1,)))}
        self.finals = {local: b.Squeeze(v, b.ints((0,))) for local, v in zip(step.states, last)}

    def first(self, number: int | None, array: np.ndarray | None) -> Value | None:
        """A state to begin with; none for zeros."""
        if array is not None and not array.any():
            return None
        assert number is not None
        return self.b.Unsqueeze(self.memory.read(number), self.b.ints((0,)))

    def ordered(self, v: Value, gates: Sequence[int], size: int) -> Value:
        """A weight or bias with its gates in the order of the operator."""
        rows = np.arange(len(gates) * size).reshape(len(gates), size)[list(gates)].reshape(-1)
        if v.array is not None:
            return self.b.constant(v.array[rows], v.name)
        return self.b.Gather(v, self.b.constant(rows, "gates"), axis=0)
