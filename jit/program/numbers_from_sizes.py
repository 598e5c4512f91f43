"""Python's numbers that come from sizes that it read, as expressions of sizes.

A run notes what the user's code computes from `x.shape` (see `capture/followed_sizes.py`).
Repeating the computation on symbolic sizes gives each number at unknown sizes. The questions asked
on the way become conditions on sizes."""
from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from whet.dtypes import float64, int64
from whet.ir.graph import Guard, Node, Ref
from whet.ir.symbolic_size import (
    NOT_BELOW_0,
    SYMBOLIC,
    SymbolicReal,
    SymbolicSize,
    Unsized,
    at_least,
    at_most,
    least_of,
    value,
)
from whet.ops.casting import CASTS
from whet.ops.python_calls import BY_NAME, of_numbers, size_of

if TYPE_CHECKING:
    from whet.ir.outline import Outline
    from whet.ir.symbolic_size import Facts, Quantity, Size

# a number that is known as a function of the sizes that differ
Stated: TypeAlias = "Callable[[Sequence[SymbolicSize]], Quantity]"
# which of a node's attributes are Python numbers, `(name, place in it, ...)` -> the value
NumbersOfNode: TypeAlias = Mapping[tuple[Any, ...], "int | Stated"]

# ops of numbers that are a Python operator
OPERATORS: dict[str, Callable[..., Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "neg": operator.neg,
    "true_divide": operator.truediv, "div": operator.truediv,
    "div_floor": operator.floordiv, "remainder": operator.mod, "abs": abs,
    "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
    "eq": operator.eq, "ne": operator.ne}
# functions of whole numbers that symbolic sizes have themselves
WHOLE = operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod
EXTREMES: dict[Any, Callable[[Any, Any], Any]] = {min: at_most, max: at_least}
DIVISIONS = "true_divide", "div"
DOWN = math.floor, math.trunc            # of what is not negative
ROUNDINGS = *DOWN, math.ceil, round
EXACT = 1 << 52                          # below this, a / b is never rounded up to a whole number


class NumbersFromSizes:
    """`numbers[n]`: the number that value n stands for. `nodes` are the recorded ones, `arrays` the
    outlines of values, `at` where numbers came to ops. Raises Unsized if a number is not an
    expression."""

    def __init__(self, nodes: Iterable[Node], arrays: Mapping[int, Outline],
                 at: Mapping[int, NumbersOfNode] | None, facts: Facts) -> None:
        self.makers = {o: n for n in nodes for o in n.outs}
        self.arrays, self.at, self.facts = arrays, at or {}, facts
        self.found: dict[int | Stated, Quantity] = {}
        self.asked: dict[str, bool] = {}         # while they were found

    def __getitem__(self, n: int | Stated) -> Quantity:
        if n not in self.found:
            with self.facts.noting() as asked:
                self.found[n] = (
                    n(self.facts.symbols) if callable(n) else self.compute(self.makers[n]))
            self.asked |= asked
            self.facts.asked |= asked
        return self.found[n]

    def compute(self, node: Node) -> Any:
        """Repeat what Python computed."""
        op = node.op
        if op is size_of:
            attrs = node.attrs
            size = self.arrays[attrs["of"]].shape[attrs["dim"]]
            return size - attrs["less"] if attrs["less"] else size
        assert op is not None
        ins = [self[int(x)] if type(x) is Ref else x for x in node.ins]
        if any(type(x) not in (int, float, bool, SymbolicSize, SymbolicReal) for x in ins):
            raise Unsized(f"{op.name} of sizes is no Python number")
        if op is CASTS[int64] and type(ins[0]) in (int, SymbolicSize):
            return ins[0]
        if op is CASTS[float64]:
            return ins[0] * 1.0
        if op.name in OPERATORS and not node.attrs:
            return OPERATORS[op.name](*ins)
        if op is of_numbers:
            function = BY_NAME[node.attrs["name"]]
            whole = self.quotient(function, node.ins) if function in ROUNDINGS else None
            return self.of_numbers(function, ins) if whole is None else whole
        raise Unsized(f"{op.name} of sizes is no expression")

    def quotient(self, function: Callable[..., Any], ins: Sequence[Any]) -> Any:
        """What is rounded to a whole number, if that is one size divided by another: `a // b`. None
        if it is another number, or rounded another way. Below EXACT, `a / b` is as far from the
        next whole number as it has to be for that."""
        made = self.makers.get(int(ins[0])) if len(ins) == 1 and type(ins[0]) is Ref else None
        if made is None or made.op is None or made.op.name not in DIVISIONS or made.attrs:
            return None
        a, b = map(self.whole, made.ins)
        if a is None or b is None or not _is_at_least(a, 0) or not _is_at_least(b, 1):
            return None
        is_whole = type(a % b) is int and a % b == 0
        return a // b if function in DOWN or is_whole else None

    def whole(self, x: Any) -> Size | None:
        """An operand of floats, as the whole number that it was; None if it was none."""
        if type(x) is float:
            return int(x) if x.is_integer() and abs(x) < EXACT else None
        made = self.makers.get(int(x)) if type(x) is Ref else None
        if made is not None and made.op is CASTS[float64]:
            x, = made.ins
        found: Any = self[int(x)] if type(x) is Ref else x
        return found if type(found) in (int, SymbolicSize) else None

    def of_numbers(self, function: Callable[..., Any], ins: Sequence[Any]) -> Any:
        """The result of a Python function."""
        x = ins[0]
        if function is math.trunc and type(x) is SymbolicReal and NOT_BELOW_0.fullmatch(x.text()):
            function = math.floor
        are_whole = all(type(x) in (int, SymbolicSize) for x in ins)
        if function in EXTREMES and are_whole:
            return functools.reduce(EXTREMES[function], ins)
        exact = function in WHOLE and are_whole
        if exact or not any(type(x) in SYMBOLIC for x in ins):
            return function(*ins)
        now = function(*map(value, ins))
        return (self.facts.call(function, *ins) if type(now) is int
                else self.facts.real(function, *ins))

    def attributes(self, node: Node) -> dict[str, Any]:
        """name -> the attribute, for attributes of a node with such numbers. The other numbers in
        it stay as they were."""
        if node.op is size_of:
            return {"value": self[node.outs[0]]}
        out: dict[str, Any] = {}
        sizes = frozenset[str]() if node.op is None else node.op.size_attrs
        for (name, *place), n in (self.at.get(node.outs[0], {}) if node.outs else {}).items():
            x = self[n]
            if type(x) is SymbolicSize and name in sizes and not x >= 0:
                raise Unsized("a size is negative")
            out[name] = _replaced_at(out.get(name, node.attrs[name]), place, x)
        return out

    def is_unchanged(self, guard: Guard) -> bool:
        """Has a number made from sizes alone, on which a guard depends, the recorded value?"""
        return bool(self[int(guard.refs()[0])] == guard.expected.item())


def _is_at_least(x: Size, least: int) -> bool:
    """Is this so at all sizes, as far as that is seen at once?"""
    low = least_of(x)
    return low is not None and low >= least


def _replaced_at(x: Any, place: Sequence[int], y: Any) -> Any:
    if not place:
        return y
    return tuple([_replaced_at(z, place[1:], y) if i == place[0] else z for i, z in enumerate(x)])
