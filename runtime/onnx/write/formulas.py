"""Writes whole formulas: expressions, row programs, reductions, pointwise ops."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from whet.ir.expressions import typeof

from ...dtypes import FLOAT, SHORT
from ..library import onnx_library
from .builder import GraphBuilder
from .complex_values import expression_of_pairs, is_complex, joined, split
from .operators import element_code, used_nodes
from .row_nodes import reduce, reduction, row_program
from .scalar_nodes import choose, expression, primitive, stand_in
from .values import Pair, Value

PLAIN = (int, float, bool, complex, np.generic)


class FormulaBuilder(GraphBuilder):
    """What the `onnx` of an op is given: a builder of nodes that knows whet's own languages too."""

    # ---- graphs inside of this one
    def inside(
        self,
        nodes: Sequence[Any],
        types: Mapping[int, Any],
        values: Mapping[int, Value],
        results: Sequence[int],
    ) -> list[Value]:
        """The results of recorded nodes, written into this graph."""
        assert self.walk is not None
        made: list[Value] = self.walk(self, nodes, types, values, results)
        return made

    def add_input(self, like: Value) -> Value:
        """A value that a body is given, of the type and sizes of another."""
        return Value(self.names.fresh("given"), like.dtype, like.shape)

    def one_truth(self, x: Value) -> Value:
        """A tensor of one element as a bool."""
        return self.Reshape(self.cast(x, "bool"), self.ints(()))

    def several(self, operator: str, *operands: Any, **graphs: Any) -> tuple[Value, ...]:
        """An operator whose results have the types of what is being written."""
        made = self.node(operator, *operands, outputs=len(self.results), **graphs)
        values = made if isinstance(made, tuple) else (made,)
        for i, value in enumerate(values):
            value.dtype = self.result_type(i)
        return values

    def graph(self, name: str, inputs: Sequence[Value], values: Sequence[Value]) -> Any:
        """What was written, as a graph that gives some values."""
        outputs = [self.Identity(x) for x in values]
        for out, x in zip(outputs, values):
            out.dtype = x.dtype
        helper = onnx_library("onnx.helper")

        def described(x: Value, sizes: Any) -> Any:
            return helper.make_tensor_value_info(x.name, element_code(x.dtype), sizes)

        nodes = used_nodes(self.nodes, {x.name for x in outputs})
        return helper.make_graph(
            nodes,
            self.names.fresh(name),
            [
                described(x, [n if isinstance(n, int) else None for n in x.shape or ()])
                for x in inputs
            ],
            [described(x, None) for x in outputs],
        )

    # ---- complex numbers
    def pair(self, real: Value, imag: Value) -> Pair:
        """The complex numbers of these parts."""
        return Pair(real, imag, real.shape)

    def split(self, x: Value) -> Pair:
        """The complex numbers whose parts the last dimension has."""
        return split(self, x)

    def joined(self, z: Pair) -> Value:
        """Complex numbers as real ones, with a last dimension of their parts."""
        return joined(self, z)

    def of_each_part(self, rule: Callable[..., Value], *xs: Any) -> Pair:
        """What a rule makes of the real parts, and of the imaginary ones."""
        real, imag = (rule(*parts) for parts in zip(*[self.parts_of(x) for x in xs]))
        return self.pair(real, imag)

    # ---- formulas
    def where(self, condition: Value, yes: Value, no: Value) -> Value:
        """`Where`, of any type."""
        return choose(self, condition, yes, no)

    def floor_divide(self, x: Value, y: Value) -> Value:
        """x / y, of whole numbers rounded down."""
        return primitive(self, "floordiv" if SHORT[x.dtype].category < FLOAT else "div", x, y)

    def reduce(self, operator: str, x: Value, dim: Sequence[int], keepdim: bool = True) -> Value:
        """A reduction."""
        return reduce(self, operator, x, dim, keepdim)

    def reduction(
        self, kind: str, before: Any, x: Value, dim: Sequence[int] | None, keepdim: bool
    ) -> Value:
        """An op's reduction of elements, computed by an expression before, to its result's type."""
        return reduction(self, kind, before, x, dim, keepdim)

    def place(self, largest: bool, x: Value, dim: int, keepdim: bool) -> Value:
        """The place of the first greatest (or least) element."""
        if not x.shape and x.shape is not None:
            return self.number(0, "i64")
        return self.node("ArgMax" if largest else "ArgMin", x, axis=dim, keepdims=int(keepdim))

    def expression(self, root: Any, *args: Value) -> Value:
        """A scalar expression of values."""
        return expression(self, root, args)

    def row_program(self, program: Any, operands: Sequence[Any], dim: Sequence[int]) -> list[Value]:
        """The outputs of a row program."""
        return row_program(self, program, operands, dim)

    def pointwise(self, op: Any, operands: Sequence[Any]) -> Value:
        """A pointwise op by its expression, with its rule of promotion."""
        kernel, number, t = self._planned(op, operands)
        short = next(d.short for d in SHORT.values() if d.np.type is number)
        args = [
            x
            if isinstance(x, Value)
            else self.constant(op._number(x, number, t))
            if isinstance(x, PLAIN)
            else self.number(x, short)
            for x in operands
        ]
        root = kernel.roots[0]
        if any(isinstance(x, Pair) for x in args) or is_complex(self.results[0]):
            return expression_of_pairs(self, root, args)
        return expression(self, root, args)

    def _planned(self, op: Any, operands: Sequence[Any]) -> Any:
        """How an op computes with operands of these types: (kernel, type of numbers, type that they
        meet in). What a size becomes is a whole number, or not where the result is none."""
        for size in (1, 1.0):
            known = [
                stand_in(x) if isinstance(x, Value) else x if isinstance(x, PLAIN) else size
                for x in operands
            ]
            kernel, number, t = op.plan(known)
            short = next(d.short for d in SHORT.values() if d.np.type is number)
            types = [x.dtype if isinstance(x, Value) else short for x in operands]
            if typeof(kernel.roots[0], types) == self.result_type(0):
                break
        return kernel, number, t

    def named(self, operator: str, x: Value) -> Value | None:
        """An operator of one operand, where the standard has it for this type; else nothing."""
        return self.with_numbers(operator, x)

    def with_numbers(self, operator: str, x: Value, **attributes: Any) -> Value | None:
        """An operator of one operand and attributes, where the standard has it for this type and
        these are known numbers; else nothing."""
        if (
            x.dtype not in ("f32", "f16", "bf16")
            or not self.accepts(operator, x.dtype)
            or not all(isinstance(a, int | float | str) for a in attributes.values())
        ):
            return None
        made: Value = self.node(operator, x, **attributes)
        return made

    def slopes(self, x: Value, slope: Value) -> Value | None:
        """`PRelu`, of which the slope broadcasts to x in one direction."""
        one_way = slope.ndim <= x.ndim and x.dtype == slope.dtype in ("f32", "f16")
        return self.PRelu(x, slope) if one_way else None
