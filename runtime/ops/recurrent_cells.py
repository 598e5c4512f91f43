"""What recurrent cells are, and how a kernel takes their steps, forwards and back.

A cell is stated once, by what an element of its state is. Its gradient follows from that.
"""
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..cpu import recurrences as kernels
from ..ir import scalar
from ..ir.scalar import Expr, maximum, sigmoid, tanh


# ---- cells ---------------------------------------------------------------------------------------
class Sum(NamedTuple):
    """What a step goes on from, and the backward reads: a gate of the input's part, of the part
    that the state has, or the sum of both."""
    of_input: int | None
    of_state: int | None

    def of(self, inputs: Sequence[Expr], products: Sequence[Expr]) -> Expr:
        """The sum itself."""
        parts = [] if self.of_input is None else [inputs[self.of_input]]
        parts += [] if self.of_state is None else [products[self.of_state]]
        return parts[0] if len(parts) == 1 else parts[0] + parts[1]


@dataclass(frozen=True)
class Cell:
    """`step(which, kept, before, made)`: one of the states after a step, of the sums that are kept,
    the states before it, and the states with larger numbers, which are made first. State 0 is the
    output.

    Among the kept sums the first ones are those with a gate of the input's part, and the last ones
    those with a gate of the state's, these in order."""
    name: str
    gates: int
    kept: tuple[Sum, ...]
    states: int
    step: Callable[..., Expr]

    @property
    def lone(self) -> int:
        """How many gates of either part are kept by themselves."""
        return len(self.kept) - self.gates

    def expressions(self, kept: Sequence[Expr], before: Sequence[Expr]) -> list[Expr]:
        """The states after a step."""
        made: list[Any] = [None] * self.states
        for i in reversed(range(self.states)):
            made[i] = self.step(i, kept, before, made)
        return made

    def gradients(self, kept: Sequence[Expr], before: Sequence[Expr],
                  g: Sequence[Expr]) -> list[Expr | None]:
        """The gradients of the kept sums and of the states before, given those of the states; None
        where there is none."""
        known = [*kept, *before]
        after = self.expressions(kept, before)
        first = max(x.value for x in scalar.walk(*known, *g) if x.op == "arg") + 1
        made = [scalar.arg(first + i) for i in range(self.states)]
        flows = list(g)
        found: list[Expr | None] = [None] * len(known)
        for i in range(self.states):
            wanted = [*known, *made[i + 1:]]
            parts = scalar.differentiate(self.step(i, kept, before, made), flows[i],
                                         [x.value for x in wanted])
            for k, part in enumerate(parts):
                if part is None:
                    continue
                if k < len(known):
                    e = found[k]
                    found[k] = part if e is None else e + part
                else:
                    flows[i + 1 + k - len(known)] += part
        states = {x.value: y for x, y in zip(made, after)}
        return [None if e is None else scalar.substitute(e, states) for e in found]


def _lstm_step(which, kept, before, made):
    i, f, g, o = kept
    return sigmoid(o) * tanh(made[1]) if which == 0 else sigmoid(f) * before[1] + sigmoid(i) * tanh(
        g)


def _gru_step(_, kept, before, made):
    x, r, z, h = kept
    new = tanh(x + sigmoid(r) * h)
    return (before[0] - new) * sigmoid(z) + new


BOTH = tuple(Sum(i, i) for i in range(4))
CELLS = {
    cell.name: cell for cell in (
        Cell("lstm", 4, BOTH, 2, _lstm_step),
        Cell("gru", 3, (Sum(2, None), *BOTH[:2], Sum(None, 2)), 1, _gru_step),
        Cell("rnn_tanh", 1, BOTH[:1], 1, lambda i, kept, before, made: tanh(kept[0])),
        Cell("rnn_relu", 1, BOTH[:1], 1, lambda i, kept, before, made: maximum(kept[0], 0)))}


# ---- what the kernel is told ---------------------------------------------------------------------
class Recipe(NamedTuple):
    """A step, and the names of its arrays."""
    what: kernels.Steps
    names: tuple[str, ...]


@dataclass
class _Writer:
    """Writes a recipe: arrays with names, what is read of them, what is stored."""
    sums: int
    names: list[str] = field(default_factory=list)
    arrays: list[kernels.Array] = field(default_factory=list)
    reads: list[kernels.Place] = field(default_factory=list)
    results: list[tuple[Expr, kernels.Place]] = field(default_factory=list)

    def array(self, name: str, kind: kernels.Array) -> None:
        self.names.append(name)
        self.arrays.append(kind)

    def read(self, name: str, part: int = 0) -> Expr:
        self.reads.append(kernels.Place(self.names.index(name), part))
        return scalar.arg(self.sums + len(self.reads) - 1)

    def store(self, e: Expr, name: str, part: int = 0) -> None:
        self.results.append((e, kernels.Place(self.names.index(name), part)))

    def recipe(self, dtype: str, source: str, part: int = 0) -> Recipe:
        what = kernels.Steps(dtype, self.sums, tuple(self.arrays), tuple(self.reads),
                             tuple(self.results), kernels.Place(self.names.index(source), part))
        return Recipe(what, tuple(self.names))


@functools.lru_cache(None)
def forward_recipe(cell: Cell, dtype: str, has_bias: bool, keep: bool) -> Recipe:
    """The steps of a cell. `keep`: what the backward reads is stored as well."""
    w, series = _Writer(cell.gates), kernels.Series
    w.array("x", series(cell.gates))
    if has_bias:
        w.array("bias", kernels.Array(cell.gates))
    for i in range(cell.states):
        w.array(f"state{i}", kernels.State())
    w.array("y", series())
    products = [
        scalar.arg(g) + w.read("bias", g) if has_bias else scalar.arg(g)
        for g in range(cell.gates)]
    inputs = [w.read("x", g) for g in range(cell.gates)]
    kept = [s.of(inputs, products) for s in cell.kept]
    before = [w.read(f"state{i}") for i in range(cell.states)]
    after = cell.expressions(kept, before)
    if keep:
        w.array("kept", series(len(kept)))
        for k, e in enumerate(kept):
            w.store(e, "kept", k)
        for i, e in enumerate(before):
            w.array(f"before{i}", series())
            w.store(e, f"before{i}")
    for i, e in enumerate(after):
        w.store(e, f"state{i}")
    w.store(after[0], "y")
    return w.recipe(dtype, "y")


@functools.lru_cache(None)
def backward_recipe(cell: Cell, dtype: str, gradients: frozenset[str]) -> Recipe:
    """The steps of the backward. `gradients`: which gradients of results there are, by name. Those
    of the states are always there; that of the kept sums is made. A sum is read before its gradient
    is written: both may be in one place."""
    w, series, count = _Writer(1), kernels.Series, len(cell.kept)
    sizes = {"g_y": 1, "g_more": count, **{f"g_before{i}": 1 for i in range(cell.states)}}
    for name in sizes:
        if name in gradients:
            w.array(name, series(sizes[name]))
    w.array("kept", series(count))
    for i in range(cell.states):
        w.array(f"before{i}", series())
        w.array(f"g_state{i}", kernels.State())
    w.array("g_kept", series(count))

    def more(e: Expr | None, name: str, part: int = 0) -> Expr:
        if name in gradients:
            return w.read(name, part) if e is None else e + w.read(name, part)
        return scalar.cast(scalar.const(0.0), dtype) if e is None else e
    kept = [w.read("kept", k) for k in range(count)]
    before = [w.read(f"before{i}") for i in range(cell.states)]
    flows = [w.read(f"g_state{i}") for i in range(cell.states)]
    flows[0] = more(scalar.arg(0) + flows[0], "g_y")
    found = cell.gradients(kept, before, flows)
    for k, e in enumerate(found[:count]):
        w.store(more(e, "g_more", k), "g_kept", k)
    for i, e in enumerate(found[count:]):
        w.store(more(e, f"g_before{i}"), f"g_state{i}")
    return w.recipe(dtype, "g_kept", count - cell.gates)
