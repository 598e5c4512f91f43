"""A graph of recorded nodes becomes an ONNX graph: node by node, in order.

What cannot be expressed is noted with the user's line, and the walk goes on, so that all of it is
told at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from whet.ir.graph import Ask, Draw, Guard, Node, OpNode, Ref, Write
from whet.ir.values import Type, short

from ..errors import OnnxError
from .complex_values import is_complex, made_by, on_parts
from .formulas import FormulaBuilder
from .memory import Memory
from .operators import Inexpressible
from .recurrences import Recurrence, Search
from .scan_nodes import Writer
from .values import Pair, Value


class Problem:
    """Something that ONNX cannot express: where it stands, the op, and why."""

    def __init__(self, line: str, what: str, why: str) -> None:
        self.line, self.what, self.why = line, what, why

    def __str__(self) -> str:
        return f"{self.line or '?'}: {self.what}: {self.why}"


class Translation:
    """A walk over nodes that writes what each of them is in ONNX."""

    def __init__(self, b: FormulaBuilder, types: Mapping[int, Type]) -> None:
        self.b, self.types = b, dict(types)
        self.memory = Memory(b, self.types)
        self.problems: list[Problem] = []
        self.asked: list[str] = []  # what must hold of the inputs
        self.visible: frozenset[int] = frozenset()  # values that are read behind the nodes
        if b.walk is None:
            b.walk = self.inside

    def inside(
        self,
        b: FormulaBuilder,
        nodes: Sequence[Node],
        types: Mapping[int, Type],
        inputs: Mapping[int, Value],
        results: Sequence[int],
    ) -> list[Value]:
        """The results of nodes that another builder writes; what cannot be is noted here."""
        line, label, kept = b.line, b.label, b.results
        known = {
            n: Value(x.name, x.dtype, types[n].shape, x.array) if n in types else x
            for n, x in inputs.items()
        }
        walk = translated(nodes, types, b, known, results)
        self.problems += walk.problems
        b.line, b.label, b.results = line, label, kept
        return [walk.memory.read(v) for v in results]

    def walk(self, nodes: Sequence[Node], visible: Sequence[int]) -> None:
        """Write all of them, of which some values are read behind them. Steps that repeat are
        written where the last of them stands."""
        self.visible = frozenset(visible)
        rolled: dict[int, Recurrence | None] = {}
        for found in Search(nodes, visible).found():
            if any(is_complex(self.types[v]) for n in found.body for v in (*n.refs(), *n.outs)):
                continue  # what a `Scan` hands on are values of their own
            rolled.update((id(n), None) for step in found.steps for n in step)
            rolled.update((id(n), None) for n, _ in found.stacks)
            rolled[id(nodes[found.last])] = found
        for n in nodes:
            try:
                if id(n) not in rolled:
                    self.visit(n)
                elif (r := rolled[id(n)]) is not None:
                    Writer(self.b, r, self.types, self.memory).write()
            except Inexpressible as e:
                self._give_up(n, str(e))

    def _give_up(self, n: Node, why: str) -> None:
        what = n.op.name if n.op is not None else n.kind
        self.problems.append(Problem(n.line, what, why))
        for out in n.outs:
            self.memory.views.pop(out, None)
            t = self.types[out]
            name = self.b.names.fresh("unknown")
            try:
                self.memory.define(out, Value(name, short(t.dtype), t.shape))
            except KeyError:
                self.memory.define(out, Value(name, "f32", t.shape))

    def visit(self, n: Node) -> None:
        """Write one."""
        self.b.line, self.b.label = n.line, n.op.name if n.op is not None else n.kind
        if isinstance(n, OpNode):
            self._op(n)
        elif isinstance(n, Write):
            self._write(n)
        elif isinstance(n, Guard):
            raise Inexpressible(
                "Python goes on from this value; say it with whet.cond or whet.where"
            )
        elif isinstance(n, Ask):
            self.asked.append(str(n))
        elif isinstance(n, Draw):
            raise Inexpressible("random numbers")
        else:
            raise Inexpressible("a group of nodes that a pass has made")

    def _op(self, n: OpNode) -> None:
        if n.is_view:
            self.memory.alias(n)
            for out in n.outs:
                self._sizes(out, self.memory.read(out))
            return
        made = self._made(n)
        if len(made) != len(n.outs):
            raise AssertionError(f"{n} gives {len(made)} values, not {len(n.outs)}")
        if any(value is None and out in self.visible for out, value in zip(n.outs, made)):
            raise Inexpressible("what is kept for a gradient")
        for out, value in zip(n.outs, made):
            if value is not None:
                self.memory.define(out, self._checked(n, out, value))
                self._sizes(out, value)

    def _sizes(self, out: int, value: Value) -> None:
        """Sizes that have a name and are those of no input are read off the first value that has
        them."""
        first = value.real if isinstance(value, Pair) else value
        for axis, n in enumerate(self.types[out].shape):
            if str(n).isidentifier():
                self.b.dims.setdefault(str(n), (first, axis))

    def _checked(self, n: Node, out: int, value: Value) -> Value:
        t = self.types[out]
        if value.dtype != short(t.dtype):
            raise AssertionError(f"{n} gives {value.dtype}, not {short(t.dtype)}")
        return on_parts(value, lambda x: Value(x.name, x.dtype, t.shape, x.array))

    def _made(self, n: Node) -> tuple[Value | None, ...]:
        """What the op makes."""
        operands = [self.memory.read(x) if type(x) is Ref else x for x in n.ins]
        made_types = n.outs or n.ins[:1]  # a write makes what it writes to
        self.b.results = tuple(self.types[out] for out in made_types)
        assert n.op is not None
        self.b.line, self.b.label = n.line, n.op.name
        made = made_by(self.b, n.op, operands, n.attrs, "operator")
        values: tuple[Value | None, ...] = made if isinstance(made, tuple) else (made,)
        for value in values:
            if value is not None and not isinstance(value, Pair):
                self.b.makers.setdefault(value.name, (n.op, operands, n.attrs))
        return values

    def _write(self, n: Write) -> None:
        target = n.ins[0]
        t = self.types[target]
        value, *_ = self._made(n)
        assert value is not None
        value = self.b.cast(value, short(t.dtype))
        if n.op.write is None and len(n.ins) > 1:  # it may have fewer dimensions
            sizes = self.b.ints(t.shape)
            value = on_parts(value, lambda x: self.b.Expand(x, sizes)) if t.shape else value
        self.memory.write(target, value)


def translated(
    nodes: Sequence[Node],
    types: Mapping[int, Type],
    b: FormulaBuilder,
    inputs: Mapping[int, Value],
    results: Sequence[int],
) -> Translation:
    """The walk over some nodes, with values for what they are given; `results` are read behind
    them."""
    walk = Translation(b, types)
    for number, value in inputs.items():
        walk.memory.define(number, value)
    walk.walk(nodes, results)
    return walk


def refuse_all(problems: Sequence[Problem], name: str) -> None:
    """Raise where anything cannot be expressed: all of it, in one error."""
    if problems:
        listed = "\n".join(f"  {p}" for p in problems)
        raise OnnxError(
            f"ONNX cannot express {len(problems)} operations of {name or 'the graph'}:\n{listed}"
        )
