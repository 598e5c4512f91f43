"""The update of several parameters as one op, so that a recorded step is one node.

It goes by a name that says all of it, `Adam.step/0,l2,0,1`: the class of the optimizer, and the
kind of its formula. The kernel is that of an eager step.
"""
import functools
import os
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import whet
from whet.ir import scalar as S

from ..cpu import native
from ..dtypes import bfloat16, float16
from ..ops.registry import OURS, Op
from ..tensor_base import wrap
from .formula_ops import by_name, formulas, kind_of_text, kind_text

FLOATS = {
    np.dtype(np.float32): "f32",
    np.dtype(np.float64): "f64", float16.np: "f16", bfloat16.np: "bf16"}
ELEMENTS_OF_A_GRAIN = 8192


class Operands(NamedTuple):
    """The operands of an update, in their order; `states` and `scalars` have a list for each
    state."""
    params: Sequence[Any]
    states: Sequence[Sequence[Any]]
    steps: Sequence[Any]
    scalars: Sequence[Sequence[Any]]
    gradients: Sequence[Any]
    hypers: Sequence[Any]

    def of(self, i: int) -> list[Any]:
        """What a parameter's elements are updated with: itself, its gradient, and its states."""
        return [self.params[i], self.gradients[i], *(s[i] for s in self.states)]


class Update(Op):
    """The update of `tensors` parameters of one type, each of which lies in memory as its states
    and its gradient do. It writes to the parameters, the states and, where the optimizer counts
    steps or has scalar states, to these numbers, one for each parameter."""
    family = "many tensors"
    total = any_sizes = True

    def __init__(self, cls: type, kind: tuple[Any, ...]) -> None:
        self.cls, self.kind, self.form = cls, kind, formulas(cls, kind)
        self.states, self.counts = cls.states(kind), cls.counts  # type: ignore[attr-defined]
        self.scalars: tuple[str, ...] = cls.scalars  # type: ignore[attr-defined]
        self.roots = self.form.whole
        super().__init__(f"{cls.__name__}.step/{kind_text(kind)}", register=False)
        self.writer = f"{cls.__name__}.step"
        if by_name(cls.__name__) is cls:
            OURS.add(self)

    def targets(self, attrs: Mapping[str, Any]) -> int:
        """The parameters, their states, their numbers of steps, and their scalar states."""
        tensors: int = attrs["tensors"]
        return tensors * (1 + len(self.states) + self.counts + len(self.scalars))

    def operands(self, xs: Sequence[Any], tensors: int) -> Operands:
        """The operands by what they are."""
        states = 1 + len(self.states)
        scalars = states + self.counts
        rows = [xs[k * tensors:(k + 1) * tensors]
                for k in range(scalars + len(self.scalars) + 1)]
        return Operands(rows[0], rows[1:states], rows[states] if self.counts else (),
                        rows[scalars:-1], rows[-1], xs[len(rows) * tensors:])

    def write(self, *arrays, tensors):
        """Do it: at once for all parameters that are at the same step."""
        xs = self.operands(arrays, tensors)
        hypers = [float(h) for h in xs.hypers]
        at: dict[tuple[np.dtype, float, tuple[float, ...]], list[int]] = {}
        for i, p in enumerate(xs.params):
            number = xs.steps[i].item() if self.counts else 0.0
            scalars = tuple(row[i].item() for row in xs.scalars)
            at.setdefault((p.dtype, number, scalars), []).append(i)
        for (dtype, number, scalars), places in at.items():
            if self.counts:
                for i in places:
                    xs.steps[i][...] = number + 1
                number = xs.steps[places[0]].item()          # a float32 stops counting at 2^24
            scalars = new_scalars(self.form.before, (number, *hypers, *scalars)) or scalars
            self.write_elements(xs, places, dtype, number, (*hypers, *scalars))
            scalars = new_scalars(self.form.after, (number, *hypers, *scalars)) or scalars
            for row, value in zip(xs.scalars, scalars, strict=True):
                for i in places:
                    row[i][...] = value

    def write_elements(self, xs: Operands, places: Sequence[int], dtype: np.dtype, number: float,
                       hypers: Sequence[float]) -> None:
        """Write the new elements of parameters that have one type and are at one step. `hypers`:
        with the scalar states."""
        kernel = address(self.cls, self.kind, dtype)
        if kernel is None:
            for i in places:
                self.by_ops(xs.of(i), number, hypers)
            return
        table, total, grain = blocks([xs.params[i].size for i in places])
        rows = [xs.params, *xs.states, xs.gradients]
        native.launch(kernel, total, grain, table, len(places), float(number), *hypers,
                      *[row[i] for row in rows for i in places])

    def by_ops(self, arrays: Sequence[Any], number: float, hypers: Sequence[float]) -> None:
        """Do it for one parameter without a kernel."""
        with whet.no_grad():
            tensors = [wrap(a) for a in arrays]
            computed = tensors[0].dtype if tensors[0].dtype.itemsize > 2 else whet.float32
            p, g, *states = [t.to(computed) for t in tensors]
            numbers = self.form.rounded_numbers(computed, number, hypers)
            new = self.form.update(p, g, states, numbers)
            for t, x in zip((tensors[0], *tensors[2:]), new, strict=True):
                t.copy_(x)


def new_scalars(changes: Sequence[Any], operands: tuple[float, ...]) -> tuple[float, ...]:
    """The scalar states that formulas give for these numbers. They are kept in float32."""
    return tuple(float(np.float32(change(operands))) for change in changes)


@functools.lru_cache(256)
def update_op(cls: type, kind: tuple[Any, ...]) -> Update:
    """The update of a class of optimizers, for one form of its formula."""
    return Update(cls, kind)


def blocks(sizes: Sequence[int]) -> tuple[np.ndarray, int, int]:
    """How the kernel of an update distributes tensors of these numbers of elements: the table of
    their first blocks and their sizes, the number of all blocks, and how many are worth a
    thread."""
    from whet.passes.lower_llvm.elements.many_tensors import BLOCK
    counts = [-(-n // BLOCK) for n in sizes]
    total = sum(counts)
    starts = np.cumsum([0, *counts])[:-1]
    table = np.stack([starts, np.array(sizes, np.int64)], 1).astype(np.int64)
    return table, total, max(1, ELEMENTS_OF_A_GRAIN * total // max(1, sum(sizes)))


def address(cls: Any, kind: tuple[Any, ...], dtype: np.dtype) -> int | None:
    """The address of the kernel of an update; None if it cannot be compiled."""
    if os.environ.get("WHET_CPU") == "numpy":
        return None
    from whet.passes.lower_llvm.elements import optimizer_steps as lower
    from whet.passes.lower_llvm.scalar import Unsupported
    short, form, states = FLOATS[dtype], formulas(cls, kind), len(cls.states(kind))
    formula = next(c for c in cls.__mro__ if "elements" in c.__dict__)
    numbers = tuple(cls.numbers(S, kind, *S.args(1 + form.hypers)))
    p, g, *rest = S.args(2 + states + len(numbers))
    elements = tuple(cls.elements(S, kind, p, g, rest[:states], rest[states:]))
    key = (f"optim/{formula.__module__}.{formula.__qualname__}/{kind}/{short}/"
           + ";".join(map(str, (*numbers, *elements))))
    update = lower.Update(key, numbers, elements, form.hypers, states, short)
    try:
        found: int = native.kernel(key, lambda module, symbol: lower.emit(update, module, symbol))
    except Unsupported:
        return None
    return found


def find_op(name: str) -> Op | None:
    """The op of this name; None if it is not of an optimizer."""
    whose, _, kind = name.partition("/")
    of, _, part = whose.partition(".")
    cls = by_name(of)
    if cls is None:
        return None
    try:
        read = kind_of_text(kind)
        known = formulas(cls, read)
        if part == "step":
            update: Op = update_op(cls, read)
            return update if update.name == name else None
    except (ValueError, TypeError, LookupError):
        return None
    ops: Iterable[Any] = (
        f.op for f in (*chain(*known.numbers.values()), *known.before, *known.after,
                       *known.elements) if f.op is not None)
    return next((op for op in ops if op.name == name), None)
