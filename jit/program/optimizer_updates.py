"""The launches of an optimizer's update of many parameters: one kernel counts the steps
and computes the numbers of each, and one writes to all parameters and their states.

The kernel of an eager step is given the number of the step. This one finds it in memory, where
parameters may be at different steps. The expressions are the same, and so are the bits."""
from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from whet.ir import scalar as S
from whet.ir.graph import Ref
from whet.ir.kernel import Pointwise
from whet.optim.update_ops import FLOATS

from .kernel_groups import over_many, where
from .launch_entries import Fixed, InArena

if TYPE_CHECKING:
    from whet.ir.expressions import Expr
    from whet.ir.graph import Write
    from whet.optim.update_ops import Operands, Update

    from .builder import ProgramBuilder
    from .launch_entries import Argument, Entries


def launches(b: ProgramBuilder, op: Update, node: Write) -> Entries | None:
    """The entries of an update, or None."""
    tensors = node.attrs["tensors"]
    xs = op.operands(node.ins, tensors)
    if not all(_lie_alike([b.held[x] for x in xs.of(i)]) for i in range(tensors)):
        return None
    stored = FLOATS[b.held[xs.params[0]].dtype]
    computed = "f64" if stored == "f64" else "f32"
    numbers = _Numbers(op, xs, computed)
    entries = numbers.entries(b)
    if entries is None:
        return None
    updates = over_many(
        b, _elements(op, stored, computed), [b.held[p].size for p in xs.params],
        [*(where(b, x) for row in (xs.params, xs.gradients, *xs.states) for x in row),
         *numbers.arguments(),
         *(where(b, x) for row in (xs.params, *xs.states) for x in row)])
    return None if updates is None else [*entries, *updates]


def _lie_alike(arrays: Sequence[Any]) -> bool:
    """Do a parameter, its gradient and its states have one layout, so that the order of elements in
    memory is the same? That the memory has no gaps was seen when it was recorded."""
    first, *others = arrays
    return all([*a.strides] == [*first.strides] and [*a.shape] == [*first.shape]
               and a.dtype == first.dtype for a in others)


def _elements(op: Update, stored: str, computed: str) -> Pointwise:
    """The kernel that computes the new parameter and states, of the parameter, its gradient, the
    states, and numbers."""
    count, numbers = 2 + len(op.states), len(op.form.numbers[None])
    wide = {i: S.cast(S.arg(i), computed) for i in range(count)} if stored != computed else {}
    roots = [S.substitute(e, wide) for e in op.roots]
    return _kernel(roots, [stored] * count + [computed] * numbers,
                   [stored] * len(roots), "v" * count + "s" * numbers)


def _kernel(roots: Sequence[Expr], read: Sequence[str], stored: Sequence[str],
            access: str) -> Pointwise:
    """A kernel over elements, whose results are rounded to the types that are stored."""
    known = S.types(roots, read)
    rounded = tuple([e if known[id(e)] == t else S.cast(e, t)
                     for e, t in zip(roots, stored, strict=True)])
    return Pointwise(rounded, tuple(read), tuple(stored), "flat", access + "v" * len(rounded))


class _Numbers:
    """The numbers of an update. Those that are the same at each call are constants. Others are
    computed once, or for each parameter that has its own count of steps."""

    def __init__(self, op: Update, xs: Operands, computed: str) -> None:
        self.xs, self.computed, self.tensors = xs, computed, len(xs.params)
        self.formulas = op.form.numbers["f32" if computed == "f32" else None]
        self.size = np.dtype(np.float32 if computed == "f32" else np.float64).itemsize
        self.op, operands = op, (0.0, *xs.hypers, *[0.0 for _ in xs.scalars])
        varying = [k for k, x in enumerate(operands)
                   if type(x) is Ref or not k and op.counts or k > len(xs.hypers)]
        self.varying = [i for i, f in enumerate(self.formulas)
                        if not set(f.reads).isdisjoint(varying)]
        self.constants = {i: f(operands) for i, f in enumerate(self.formulas)
                          if i not in self.varying}
        self.room: Any = None

    @property
    def times(self) -> int:
        """For how many parameters numbers are computed."""
        return self.tensors if self.xs.steps or self.xs.scalars else 1

    def entries(self, b: ProgramBuilder) -> Entries | None:
        """The launch that counts the steps, changes the scalar states, and computes the varying
        numbers, if one is needed."""
        xs, n = self.xs, self.times
        if not (xs.steps or self.varying):
            return []
        self.room = b.tapes.room(n * len(self.varying) * self.size)
        state = [where(b, x) for row in ((xs.steps,) if xs.steps else ()) + tuple(xs.scalars)
                 for x in row]
        hypers = [self.hyper(b, x) for x in xs.hypers for _ in range(n)]
        results = [InArena(self.room, self.offset(i, k)) for i in self.varying for k in range(n)]
        return over_many(b, self.kernel(), [1] * n, [*state, *hypers, *state, *results])

    def kernel(self) -> Pointwise:
        """The kernel of that launch. It reads the number of steps, the scalar states and the
        hyperparameters, and gives the first two anew, and then the numbers."""
        xs, form, counts = self.xs, self.op.form, bool(self.xs.steps)
        hypers, states = len(xs.hypers), counts + len(xs.scalars)
        step = S.arg(0) + 1.0
        by = {k: S.arg(states + k - 1) for k in range(1, 1 + hypers)}
        by |= {0: S.cast(step, "f64")} if counts else {}
        scalars: Sequence[Expr] = [S.arg(counts + k) for k in range(len(xs.scalars))]

        def become(scalars: Sequence[Expr], changes: Sequence[Any]) -> Sequence[Expr]:
            by.update((1 + hypers + k, S.cast(x, "f64")) for k, x in enumerate(scalars))
            return [S.cast(S.substitute(change.expression, by), "f32")
                    for change in changes] or scalars
        scalars = become(scalars, form.before)
        after = become(scalars, form.after)
        roots = [S.substitute(self.formulas[i].expression, by) for i in self.varying]
        return _kernel([*([step] * counts), *after, *roots],
                       ["f32"] * states + ["f64"] * hypers,
                       ["f32"] * states + [self.computed] * len(roots),
                       "v" * states + "s" * hypers)

    def hyper(self, b: ProgramBuilder, x: Any) -> Argument | None:
        """Where a hyperparameter is read."""
        return where(b, x) if type(x) is Ref else Fixed(np.array(x, np.float64))

    def offset(self, i: int, k: int) -> int:
        """The position of a parameter's number in the room."""
        return (self.varying.index(i) * self.times + k) * self.size

    def arguments(self) -> list[Argument]:
        """Where each number is, for all parameters."""
        found: list[Argument] = []
        for i in range(len(self.formulas)):
            if i in self.constants:
                dtype = np.float32 if self.computed == "f32" else np.float64
                found += [Fixed(np.array(self.constants[i], dtype))] * self.tensors
            else:
                found += [InArena(self.room, self.offset(i, k % self.times))
                          for k in range(self.tensors)]
        return found
