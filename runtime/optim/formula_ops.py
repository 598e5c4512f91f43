"""The formulas of an optimizer's update as pointwise ops: one for each number that is worked out
once a step, and one for each new tensor. With these a parameter is updated by itself, as where
gradients flow through the update; `update_ops.py` has ops for many parameters.

Such an op goes by a name that says all of it, `Adam.exp_avg/0,l2,0,1`: the class, the number or
tensor, and the kind of the formula. A graph that was written down finds it by that.
"""
import functools
import inspect
from typing import Any

import numpy as np
import whet
from whet.ir import scalar as S

from ..ops.pointwise_family import inplace, of_expression
from ..ops.registry import OURS


class Formula:
    """One formula. `op`: None where it is one of the operands; `reads`: the operands that it reads,
    by position. `target`: the one that the result replaces, which comes first. `result`: the type
    to round it to, of numbers in float64."""
    __slots__ = ("expression", "op", "reads")

    def __init__(self, name, expression, operands, is_ours, target=None, result=None):
        self.expression = S.lift(expression)
        self.reads, self.op = S.uses(self.expression), None
        if target in self.reads:
            self.reads = [target, *(i for i in self.reads if i != target)]
        if self.expression.op != "arg":
            by = {i: S.arg(k) for k, i in enumerate(self.reads)}
            self.op = of_expression(name, S.substitute(self.expression, by),
                                    [operands[i] for i in self.reads], differentiable=True,
                                    result=result)
            if is_ours:
                OURS.add(self.op)

    def __call__(self, operands):
        """What it gives for these: tensors, or Python numbers."""
        xs = [operands[i] for i in self.reads]
        if self.op is None:
            return xs[0]
        if any(isinstance(x, whet.Tensor) for x in xs):
            return self.op(*xs)
        return _number(self.expression, tuple(zip(self.reads, xs)))

    def replace(self, t, operands):
        """Write what it gives for these over one of them."""
        if self.op is not None and operands[self.reads[0]] is t:
            inplace(self.op, t, tuple([operands[i] for i in self.reads[1:]]))
        else:
            t.copy_(self(operands))


@functools.lru_cache(1024)
def _number(expression, values):
    """What an expression is where its arguments are plain numbers: pairs of position and value."""
    by = {i: np.float64(x) for i, x in values}
    row = [by.get(i) for i in range(max(by, default=-1) + 1)]
    return float(S.evaluate((expression,), row, np.dtype)[0])


class Formulas:
    """The formulas of one form of an optimizer's update. `numbers` are of (step, *hyper
    parameters, *scalar states), computed in float64 and rounded to the type by which they are
    found; `elements` are of (parameter, gradient, *states, *numbers), and each of those before it:
    the new states, then the new parameter. `before` and `after` are of what the numbers are of:
    the scalar states at the start of a step, and at its end, where these change."""

    def __init__(self, cls, kind):
        hypers = [*inspect.signature(cls.numbers).parameters][3:]
        states, is_ours = cls.states(kind), by_name(cls.__name__) is cls

        def named(part):
            return f"{cls.__name__}.{part}/{kind_text(kind)}"
        self.hypers = len(hypers)
        operands = ["step", *hypers]
        numbers = cls.numbers(S, kind, *S.args(len(operands)))
        self.numbers = {
            result: [Formula(named(f"number{i}{as_type}"), e, operands, is_ours, result=result)
                     for i, e in enumerate(numbers)]
            for result, as_type in ((None, ""), ("f32", ".f32"))}
        self.before, self.after = (
            [Formula(named(f"{scalar}_{when}"), e, operands, is_ours, result="f32")
             for scalar, e in zip(cls.scalars, made(S, kind, *S.args(len(operands))))]
            for when, made in (("before", cls.before), ("after", cls.after)))
        names = ["param", "grad", *states, *(f"number{i}" for i in range(len(numbers)))]
        param, grad, *rest = S.args(len(names))
        made = cls.elements(S, kind, param, grad, rest[:len(states)], rest[len(states):])
        # the new parameter and the new states, of the first operands alone
        self.whole = tuple([S.lift(e) for e in made])
        # The parameter comes last: it is made of the states.
        parts = [*zip(states, made[1:]), ("param", made[0])]
        self.elements: list[Formula] = []
        # Which operand each replaces.
        targets = [*range(2, 2 + len(states)), 0]
        for k, (part, e) in enumerate(parts):
            for j in reversed(range(k)):
                if self.elements[j].op is not None:
                    e = S.replace(e, S.lift(parts[j][1]), S.arg(len(names) + j))
            operands = [*names, *(f"new_{name}" for name, _ in parts[:k])]
            self.elements.append(Formula(named(part), e, operands, is_ours, targets[k]))
        # Does none want what an earlier one replaces?
        self.may_replace = not any(set(targets[:k]).intersection(f.reads)
                                   for k, f in enumerate(self.elements))

    def rounded_numbers(self, computed, step, hypers):
        """The numbers of a step, for elements that are computed in this type. As in the kernel, a
        number has the elements' type also where the parameter is a single element."""
        rounded = self.numbers["f32" if computed is whet.float32 else None]
        numbers = [formula((step, *hypers)) for formula in rounded]
        return [n.to(computed) if isinstance(n, whet.Tensor) else n for n in numbers]

    def update(self, param, grad, states, numbers):
        """The new parameter, then the new states."""
        operands = [param, grad, *states, *numbers]
        for formula in self.elements:
            operands.append(formula(operands))
        *new, last = operands[-len(self.elements):]
        return last, *new

    def replace(self, param, grad, states, numbers):
        """Write the new parameter and the new states over these."""
        operands = [param, grad, *states, *numbers, *states]
        for formula, t in zip(self.elements, (*states, param), strict=True):
            formula.replace(t, operands)


MOST = 256                               # forms that are remembered
_known: dict[Any, Formulas] = {}


def formulas(cls: Any, kind: tuple[Any, ...]) -> Formulas:
    """The formulas of a class of optimizers, for one form of the update."""
    known = _known.get((cls, kind))
    if known is None:
        if len(_known) >= MOST:
            _known.clear()
        known = _known[cls, kind] = Formulas(cls, kind)
    return known


def by_name(name):
    """The optimizer of whet of this name, if its update is a formula; else None."""
    cls = getattr(whet.optim, name, None)
    return cls if hasattr(cls, "numbers") and hasattr(cls, "elements") else None


def kind_text(kind):
    """The kind of a formula as a part of an op's name."""
    return ",".join([x if type(x) is str else str(int(x)) for x in kind])


def kind_of_text(text):
    """The kind that is written so."""
    return tuple([x == "1" if x in ("0", "1") else x for x in text.split(",")])
