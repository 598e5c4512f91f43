"""One graph for all sizes: attributes and operands that are sizes are expressions of them.

What ops make of other sizes is asked of the ops themselves, each time a size is new.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from whet.cpu.taped_launches import Tape
from whet.ir.graph import Graph, Node, OpNode, Ref, Type, Write
from whet.ir.result_types import stand_in

from .dims import Dims, Expression, Values
from .errors import PreconditionError
from .size_formulas import SizeFormula

LEAST = 2  # no declared least size is more: 0 and 1 are left out where ops go other ways there

# Where an expression stands in a node: the place of an operand or the name of an attribute, then
# places in tuples.
Path = tuple[Any, ...]
AnyExpression: TypeAlias = "Expression | SizeFormula"


class TooLarge(ValueError):
    """A value takes more memory than it may."""


class SizedGraph:
    """`graph` is that of the example's sizes, `holes` are what differs: place of a node -> path ->
    expression."""

    def __init__(
        self, graph: Graph, dims: Dims, holes: Mapping[int, Mapping[Path, AnyExpression]]
    ) -> None:
        self.graph, self.dims, self.holes = graph, dims, holes

    def formulas(self) -> dict[int, dict[Path, SizeFormula]]:
        """The numbers in nodes that are no products of sizes."""
        found = {i: {p: e for p, e in holes.items() if isinstance(e, SizeFormula)}
                 for i, holes in self.holes.items()}
        return {i: holes for i, holes in found.items() if holes}

    def leave_out_too_small(self) -> None:
        """Let dimensions without a declared least size begin where all ops take them, as a window
        takes no fewer elements than it has."""
        example = self.dims.example
        for k, d in enumerate(self.dims.dims):
            for n in range(d.min, example[k], d.multiple) if d.min <= LEAST else ():
                try:
                    self.at((*example[:k], n, *example[k + 1 :]))
                    break
                except PreconditionError:
                    self.dims.raise_least(k, n + 1)

    def at(self, values: Values, most: int | None = None) -> Graph:
        """The graph for these sizes. Raises TooLarge where a value takes more than `most` bytes."""
        if values == self.dims.example:
            return self.graph
        g, types = self.graph, dict[int, Type]()
        number = 0
        for x in g.inputs:
            t = g.types[x.value]
            if x.place != "constant":
                t = Type(t.dtype, self.dims.shape(number, t.shape, values))
                number += 1
            types[x.value] = t
        nodes = [filled(n, self.holes.get(i, {}), values) for i, n in enumerate(g.nodes)]
        with np.errstate(all="ignore"):
            for n in nodes:
                for v, t in zip(n.outs, made(n, types)):
                    types[v] = t
                    if most is not None and max(t.nbytes, t.extent) > most:
                        raise TooLarge(f"%{v} takes {t.nbytes:,} bytes, more than {most:,}")
        return Graph(nodes, types, g.inputs, g.results, g.name)


def filled(n: Node, holes: Mapping[Path, AnyExpression], values: Values) -> Node:
    """A node with the numbers that it has at these sizes."""
    if not holes:
        return n
    ins, attrs = list(n.ins), dict(n.attrs)
    for path, e in holes.items():
        where: Any = ins if type(path[0]) is int else attrs
        made = e.at(values)
        if type(part(where[path[0]], path[1:])) is float:  # a count may be one
            made = made * 1.0
        where[path[0]] = put(where[path[0]], path[1:], made)
    if isinstance(n, Write):
        return Write(n.op, tuple(ins), attrs, n.line, (), n.counted)
    return OpNode(n.op, tuple(ins), attrs, n.outs, n.line)


def put(x: Any, path: Path, value: float) -> Any:
    """A value with a part exchanged."""
    if not path:
        return value
    parts = list(x)
    parts[path[0]] = put(parts[path[0]], path[1:], value)
    return type(x)(parts)


def made(n: Node, types: Mapping[int, Type]) -> list[Type]:
    """The types of what a node makes of operands of these types: the op is run on zeros, and
    launches nothing: kernels may refuse such numbers."""
    if not isinstance(n, OpNode):
        return []
    operands = [stand_in(types[x]) if type(x) is Ref else x for x in n.ins]
    try:
        out = Tape(dry=True).listen(n.op.forward, *operands, **n.attrs)
    except Exception as e:
        where = f" ({n.line})" if n.line else ""
        raise PreconditionError(f"{n.op.name} does not take these sizes{where}: {e}") from None
    found = [Type.of(np.asarray(a)) for a in (out if type(out) is tuple else (out,))]
    has_elements = not any(0 in types[x].shape for x in n.refs())
    if "kernel" in n.attrs and 0 in found[0].shape and has_elements:
        where = f" ({n.line})" if n.line else ""
        raise PreconditionError(f"{n.op.name} has larger windows than there are elements{where}")
    return found


def differing(a: Any, b: Any, path: Path = ()) -> list[Path] | None:
    """Where two values differ in numbers; None where they differ in something else."""
    if type(a) is not type(b):
        return None
    if type(a) is int or type(a) is float and math.isfinite(a) and math.isfinite(b):
        return [path] if a != b else []
    if isinstance(a, tuple | list) and len(a) == len(b):
        found = [differing(x, y, (*path, i)) for i, (x, y) in enumerate(zip(a, b))]
        return None if None in found else [p for ps in found if ps is not None for p in ps]
    if isinstance(a, np.ndarray):
        same = a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
        return [] if same else None
    return [] if a is b or a == b or (a != a and b != b) else None


def part(x: Any, path: Sequence[Any]) -> Any:
    """The part of a value at a path."""
    for k in path:
        x = x[k]
    return x
