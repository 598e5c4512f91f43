"""Writes the nodes of an ONNX graph.

An op's definition says what it is in ONNX as a function of a builder and of the operands:

    onnx=lambda b, x, dim: b.Unsqueeze(x, b.ints((dim,)))

Any operator of the standard is a method. Operands are `Value`s, Python numbers (which take the type
of what they meet), or None for what is left out.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from whet.ir import values

from ...dtypes import SHORT
from ..element_types import ElementType
from ..library import onnx_library
from . import runner_types
from .named_sizes import Expression
from .operators import Inexpressible, accepted_codes, element_code, result_types, schema_of
from .sizes import size_value
from .values import REAL_OF, Pair, Value


def widened(value: np.ndarray) -> Any:
    """An array of bfloat16 as float32."""
    return (value.view(np.uint16).astype(np.uint32) << 16).view(np.float32)


class Names:
    """Names that are given once in the whole model."""

    def __init__(self) -> None:
        self.taken: set[str] = set()

    def fresh(self, wanted: str) -> str:
        """The name that is wanted, with a number behind it where it is taken."""
        name, k = wanted, 0
        while name in self.taken:
            k += 1
            name = f"{wanted}_{k}"
        self.taken.add(name)
        return name


class GraphBuilder:
    """A graph while it is written. A body of an `If` or a `Loop` has a builder of its own, which
    sees the values of the one around it."""

    def __init__(self, opset: int, outer: GraphBuilder | None = None) -> None:
        self.opset, self.outer = opset, outer
        # are layers of bytes written as real ones between QuantizeLinear and DequantizeLinear?
        self.pairs: bool = outer.pairs if outer else False
        self.nodes: list[Any] = []
        self.names: Names = outer.names if outer else Names()
        self.arrays: dict[str, np.ndarray] = outer.arrays if outer else {}
        self.constants: dict[Any, Value] = outer.constants if outer else {}
        self.dims: dict[str, tuple[Value, int]] = outer.dims if outer else {}
        self.sizes: dict[str, Value] = {}
        self.line, self.label = "", ""  # the user's line, and what is being written
        self.results: tuple[Any, ...] = ()  # the types of what is being written
        self.makers: dict[str, Any] = outer.makers if outer else {}
        # writes recorded nodes into a builder: `Translation.inside`
        self.walk: Callable[..., Any] | None = outer.walk if outer else None

    # ---- nodes
    def __getattr__(self, operator: str) -> Callable[..., Any]:
        if not operator[:1].isupper():
            raise AttributeError(operator)
        return functools.partial(self.node, operator)

    def has(self, operator: str) -> bool:
        """Does the standard have the operator at this opset?"""
        return schema_of(operator, self.opset) is not None

    def accepts(self, operator: str, dtype: str) -> bool:
        """Does an operator take its first operand in a type?"""
        schema = schema_of(operator, self.opset)
        if schema is None:
            return False
        accepted = accepted_codes(schema, schema.inputs[0].type_str)
        return ElementType.of(SHORT[dtype]).code in accepted

    def runs(self, operator: str, dtype: str) -> bool:
        """Has the standard the operator for a type, or a wider one, and runners a kernel?"""
        schema = schema_of(operator, self.opset)
        if schema is None:
            return False
        accepted = accepted_codes(schema, runner_types.main_type(schema))
        return runner_types.has_kernel(schema, accepted, dtype)

    def node(
        self,
        operator: str,
        *inputs: Any,
        outputs: int = 1,
        like: Value | None = None,
        **attributes: Any,
    ) -> Any:
        """Write a node: its result, or several. `like` is what numbers among the operands become,
        at first the first value."""
        schema = schema_of(operator, self.opset)
        if schema is None:
            raise Inexpressible(f"opset {self.opset} has no operator {operator}")
        like = like or next((x for x in inputs if isinstance(x, Value)), None)
        operands = [self._operand(x, like) for x in inputs]
        while operands and operands[-1] is None:
            operands.pop()
        wide = self._widened(schema, operands, attributes)
        types = result_types(schema, operands, attributes, outputs)
        written = result_types(schema, wide, attributes, outputs)
        made = [Value(self.names.fresh(self.label or operator.lower()), t) for t in written]
        helper = onnx_library("onnx.helper")
        for key, v in attributes.items():
            if any(isinstance(n, Expression) for n in (v if isinstance(v, list | tuple) else [v])):
                raise Inexpressible(
                    f"`{key}` of {operator} would be {v}, and ONNX has one number there for all "
                    "sizes: leave the size out of those that differ"
                )
        node = helper.make_node(
            operator,
            ["" if x is None else x.name for x in wide],
            [y.name for y in made],
            name=self.names.fresh(f"node_{made[0].name}"),
            **attributes,
        )
        node.doc_string = self.line
        self.nodes.append(node)
        cut = [self.cast(y, t) for y, t in zip(made, types)]
        return cut[0] if outputs == 1 else tuple(cut)

    def _widened(
        self, schema: Any, operands: Sequence[Value | None], attributes: dict[str, Any]
    ) -> list[Value | None]:
        """The operands of a node in a type that it can be computed in."""
        main, formal = runner_types.main_type(schema), list(schema.inputs)
        at = [formal[min(i, len(formal) - 1)].type_str == main for i in range(len(operands))]
        first = next((x for x, is_main in zip(operands, at) if is_main and x is not None), None)
        accepted = accepted_codes(schema, main)
        if first is None or not accepted:
            return list(operands)
        t = runner_types.computed_in(schema, accepted, first.dtype, attributes)
        if not t:
            raise Inexpressible(f"the operator {schema.name} of {first.dtype}")
        if t == first.dtype:
            return list(operands)
        return [
            self.cast(x, t) if is_main and x is not None and x.dtype == first.dtype else x
            for x, is_main in zip(operands, at)
        ]

    def _operand(self, x: Any, like: Value | None) -> Value | None:
        if x is None or isinstance(x, Value):
            return x
        assert like is not None, "a number takes the type of a value"
        return self.number(x, like.dtype)

    # ---- constants
    def constant(self, array: Any, name: str = "constant") -> Value:
        """An array as a value; equal ones are one."""
        array = np.asarray(array)
        if array.dtype.kind == "c":
            real, imag = (self.constant(x, name) for x in (array.real, array.imag))
            return Pair(real, imag, array.shape)
        key = array.dtype, array.shape, array.tobytes()
        found = self.constants.get(key)
        if found is None:
            found = self.constants[key] = self.initialiser(self.names.fresh(name), array)
        return found

    def initialiser(self, name: str, array: np.ndarray) -> Value:
        """A named array that the file holds."""
        self.arrays[name] = array
        short = next((d.short for d in SHORT.values() if d.np == array.dtype), None)
        if short is None:
            raise Inexpressible(f"ONNX has no type {array.dtype}")
        return Value(name, short, array.shape, array)

    def number(self, x: Any, dtype: str) -> Value:
        """A number as a value of a type; a size that is not known yet is one too."""
        if isinstance(x, Value):
            return self.cast(x, dtype)
        if not isinstance(x, int | float | bool | complex | np.generic | np.ndarray):
            return self.cast(self.Squeeze(self.size(x)), dtype)
        with np.errstate(all="ignore"):
            return self.constant(np.asarray(x).astype(SHORT[dtype].np))

    def ints(self, numbers: Iterable[Any]) -> Value:
        """Whole numbers, or sizes, as a vector."""
        numbers = list(numbers)
        if all(isinstance(n, int | np.integer) for n in numbers):
            return self.constant(np.array(numbers, np.int64).reshape(-1), "sizes")
        parts: list[Value] = []
        known: list[int] = []
        for n in numbers:
            if isinstance(n, int | np.integer):
                known.append(int(n))
                continue
            if known:
                parts.append(self.ints(known))
                known = []
            parts.append(self.size(n))
        if known:
            parts.append(self.ints(known))
        return parts[0] if len(parts) == 1 else self.Concat(*parts, axis=0)

    def size(self, n: Any) -> Value:
        """A size as a vector of one number."""
        return size_value(self, n)

    # ---- what many ops need
    def cast(self, x: Value, dtype: str) -> Value:
        """x in another type."""
        if x.dtype == dtype:
            return x
        if isinstance(x, Pair) or dtype in REAL_OF:
            real, imag = (self.cast(p, REAL_OF.get(dtype, dtype)) for p in self.parts_of(x))
            return Pair(real, imag, x.shape) if dtype in REAL_OF else real
        return self.Cast(x, to=element_code(dtype))

    def parts_of(self, x: Any) -> tuple[Any, Any]:
        """The real and the imaginary part of a value or a number."""
        if isinstance(x, Pair):
            return x.real, x.imag
        if isinstance(x, Value):
            zeros = self.Expand(self.number(0, x.dtype), self.Shape(x))
            zeros.shape = x.shape
            return x, zeros
        return x.real, x.imag

    def reshape(self, x: Value, sizes: Sequence[Any]) -> Value:
        """x in other sizes, some of which may be zero."""
        known = all(isinstance(n, int) and n for n in sizes)
        return self.Reshape(x, self.ints(sizes), **({} if known else {"allowzero": 1}))

    def flat(self, x: Value) -> Value:
        """All elements as a vector."""
        return self.Reshape(x, self.ints((-1,)))

    def shape_of(self, x: Value) -> Value:
        """The sizes of x as a vector."""
        return self.ints(x.shape) if x.shape is not None else self.Shape(x)

    def range_of(self, n: Any) -> Value:
        """0, 1, ... n - 1 as i64."""
        if isinstance(n, int):
            return self.constant(np.arange(n))
        return self.Range(self.number(0, "i64"), self.number(n, "i64"), self.number(1, "i64"))

    def squeeze(self, x: Value, dims: Iterable[int]) -> Value:
        """Without dimensions of size one."""
        dims = tuple(dims)
        return self.Squeeze(x, self.ints(dims)) if dims else x

    def unsqueeze(self, x: Value, dims: Iterable[int]) -> Value:
        """A value with new dimensions of size one at these places of the result."""
        dims = tuple(dims)
        return self.Unsqueeze(x, self.ints(dims)) if dims else x

    def slice(self, x: Value, dim: int, start: Any, stop: Any, step: int = 1) -> Value:
        """A range of a dimension."""
        return self.Slice(
            x, self.ints((start,)), self.ints((stop,)), self.ints((dim,)), self.ints((step,))
        )

    def static(self, *sizes: Any) -> tuple[int, ...]:
        """Sizes that must be known."""
        for n in sizes:
            if not isinstance(n, int | np.integer):
                raise Inexpressible(f"the size {n} must be a number here")
        return tuple(int(n) for n in sizes)

    def moved(self, x: Value, move: Callable[[np.ndarray], np.ndarray], fill: Any = None) -> Value:
        """x after `move`, a function that only moves the elements of an array: each is gathered
        from its place. Places of no element are less than zero, and become `fill`."""
        shape = self.static(*(x.shape or ()))
        places = np.asarray(move(np.arange(1, int(np.prod(shape)) + 1).reshape(shape))) - 1
        if not places.size or not np.prod(shape):
            return self.constant(
                np.full(places.shape, 0 if fill is None else fill, SHORT[x.dtype].np)
            )
        made = self.Gather(self.flat(x), self.constant(np.maximum(places, 0), "places"), axis=0)
        if not (places < 0).any():
            return made
        return self.Where(
            self.constant(places >= 0, "inside"), made, self.number(fill or 0, x.dtype)
        )

    def filled(self, shape: Value, value: np.ndarray) -> Value:
        """An element everywhere; `shape` is a vector."""
        if value.dtype.kind == "c":
            real, imag = (self.filled(shape, x) for x in (value.real, value.imag))
            return Pair(real, imag, None)
        helper = onnx_library("onnx.numpy_helper")
        dtype = next(d.short for d in SHORT.values() if d.np == value.dtype)
        if dtype == "bf16":  # the operator has it from opset 20 on, and runners later
            return self.cast(self.filled(shape, widened(value)), dtype)
        made: Value = self.ConstantOfShape(shape, value=helper.from_array(value.reshape(1)))
        made.dtype = dtype
        return made

    def result_type(self, place: int) -> str:
        """The type that a result of what is being written has."""
        return values.short(self.results[place].dtype)

    def maker(self, x: Value) -> tuple[Any, list[Any], dict[str, Any]] | None:
        """(op, operands, attributes) of the recorded node that made a value."""
        found: tuple[Any, list[Any], dict[str, Any]] | None = self.makers.get(x.name)
        return found

    def made_by(self, x: Any, op: Any) -> tuple[list[Any], dict[str, Any]] | None:
        """(operands, attributes) of the recorded node that made a value, if that was of this op."""
        made = self.maker(x) if isinstance(x, Value) else None
        return made[1:] if made and made[0] is op else None

    def summed(self, x: Value, places: np.ndarray, shape: Sequence[int]) -> Value:
        """Each element of x added to its place among zeros; none where that is less than 0."""
        size = int(np.prod(shape))
        zero = self.filled(self.ints((size + 1,)), np.zeros((), SHORT[x.dtype].np))
        index = self.constant(np.where(places < 0, size, places).reshape(-1), "places")
        made = self.ScatterElements(zero, index, self.flat(x), axis=0, reduction="add")
        return self.reshape(self.slice(made, 0, 0, size), shape)

    def refuse(self, why: str) -> Any:
        """Say that ONNX has no form of what is being written."""
        raise Inexpressible(why)

    def body(self) -> GraphBuilder:
        """A builder of a graph inside of this one."""
        return type(self)(self.opset, self)
