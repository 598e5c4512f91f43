"""Recurrent layers: all steps of one direction are one op, whatever their number is.

From what a cell is (`recurrent_cells.py`) come the op, its gradient, which is an op as well, and
the gradients of that. The input's part of the gates is one product for all steps. A kernel takes
the steps: the product with the state before, and in its epilogue all else
(`passes/lower_llvm/products/recurrences.py`).
"""
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ..autograd import modes
from ..autograd.node import SavedOutput
from ..cpu import gemm, memory, product_kernels, taped_launches
from ..cpu import recurrences as kernels
from ..cpu.pointwise import move
from ..cpu.rows import contiguous
from ..ir import scalar
from ..ir.scalar import Expr, sigmoid, tanh
from .batching import repeated
from .contract import linear_vjp
from .gradients_by_decomposition import by_decomposition
from .onnx import recurrent as in_onnx
from .pointwise_family import NO_ATTRS, PointwiseOp, of_expression
from .recurrent_cells import CELLS, Recipe, backward_recipe, forward_recipe
from .registry import Op, apply, is_tensor
from .sample_inputs import Sample, reals
from .surface import FUNCTIONS

R = reals(-3, 3)
# gates before their activations, and the state before
lstm_state = PointwiseOp("lstm_state", lambda i, f, g, c: sigmoid(f) * c + sigmoid(i) * tanh(g),
                         kinds="f", samples=(R, R, R, R))
lstm_output = PointwiseOp("lstm_output", lambda o, c: sigmoid(o) * tanh(c), kinds="f",
                          samples=(R, R))


# ---- the same in ops -----------------------------------------------------------------------------
@functools.lru_cache(4096)
def _formula(e: Expr) -> tuple[Any, list[int]]:
    """The op of an expression, and which of the values it takes."""
    used = scalar.uses(e)
    if not used:
        return None, used
    compact = scalar.substitute(e, {u: scalar.arg(k) for k, u in enumerate(used)})
    op = of_expression("recurrent_step", compact, [f"x{k}" for k in range(len(used))],
                       differentiable=True)
    op.base = lstm_state
    return op, used


def by_ops(recipe: Recipe, named: dict[str, Any], first: Any, matrices: Sequence[Any], size: int,
           is_reversed: bool, sizes: Sequence[int] | None = None) -> dict[str, Any]:
    """What a recipe makes, step by step in ops: what gradients of gradients are taken of. Gives
    tensors by their names. `sizes`: of packed sequences, how many each step has."""
    what, names = recipe
    made: dict[int, list[Any]] = {p.array: [] for _, p in what.results}
    held = {i: named[name] for i, name in enumerate(names) if name in named}
    slices = {i: x.unbind(0) if sizes is None else x.split(sizes)
              for i, x in held.items() if isinstance(what.arrays[i], kernels.Series)}
    count, source = len(next(iter(slices.values()))), None

    def read(p: Any, t: int, rows: int) -> Any:
        x = slices[p.array][t] if p.array in slices else held[p.array]
        if isinstance(what.arrays[p.array], kernels.State):
            x = _first(x, rows)
        return x.narrow(-1, p.part * size, size)
    for t in reversed(range(count)) if is_reversed else range(count):
        like = next(iter(slices.values()))[t]
        rows = like.shape[-2]
        values = [*(_sums(source, first, m, like, size) for m in matrices),
                  *(read(p, t, rows) for p in what.reads)]
        parts: dict[int, list[Any]] = {}
        for e, p in what.results:
            op, used = _formula(e)
            x = (like.new_zeros((*like.shape[:-1], size)) if op is None
                 else apply(op, tuple([values[u] for u in used]), NO_ATTRS))
            parts.setdefault(p.array, [None] * what.arrays[p.array].parts)[p.part] = x
        for i, xs in parts.items():
            x = xs[0] if len(xs) == 1 else FUNCTIONS["cat"](xs, -1)
            if isinstance(what.arrays[i], kernels.Series):
                made[i].append(x)
            else:
                held[i] = _joined(x, held.get(i))
        source = made[what.source.array][-1].narrow(-1, what.source.part * size,
                                                    matrices[0].shape[-2])
    join = FUNCTIONS["stack" if sizes is None else "cat"]
    return {
        names[i]: join(xs[::-1] if is_reversed else xs) if xs else held[i]
        for i, xs in made.items()}


def _first(x: Any, rows: int) -> Any:
    """The first rows of a step, or of a state."""
    return x if x.shape[-2] == rows else x.narrow(-2, 0, rows)


def _joined(x: Any, longer: Any) -> Any:
    """The rows of `x`, and behind them those that `longer` has beyond."""
    rows = x.shape[-2]
    if longer is None or longer.shape[-2] == rows:
        return x
    return FUNCTIONS["cat"]([x, longer.narrow(-2, rows, longer.shape[-2] - rows)], -2)


def _sums(source: Any, first: Any, matrix: Any, like: Any, size: int) -> Any:
    """The product of a step's rows: of those that the step before has, and beyond them of `first`;
    zero where that is None."""
    rows = like.shape[-2]
    beyond = (like.new_zeros((*like.shape[:-1], size)) if first is None
              else _first(first, rows) @ matrix)
    return beyond if source is None else _joined(_first(source, min(
        rows, source.shape[-2])) @ matrix, beyond)


# ---- the ops -------------------------------------------------------------------------------------
class _StepsOp(Op):
    """Steps of a cell. `rows_at`: the dimension of each operand that goes over the sequences; None
    where it has none."""
    family = "recurrent"
    total = any_sizes = launches = True
    rows_at: tuple[int | None, ...]
    # apart(inputs, **attrs): of examples with weights of their own, in front of all operands, step
    # by step in ops
    apart: Callable[..., Any]

    def batch(self, n, inputs, batched, attrs):
        """More sequences, where the weights are the same for all examples. Packed ones are taken
        example by example: transforms take their steps instead (see `direction`)."""
        if len(inputs) == len(self.rows_at) and inputs[-1] is not None:
            return NotImplemented
        if any(b and at is None for b, at in zip(batched, self.rows_at)):
            return self.apart([x if b or not is_tensor(x) else repeated(x, n)
                               for x, b in zip(inputs, batched)], **attrs)
        rows = next(x._array.shape[at + b] for x, b, at in zip(inputs, batched, self.rows_at)
                    if at is not None and is_tensor(x))

        def together(x, b, at):
            if at is None or not is_tensor(x):
                return x
            x = x if b else repeated(x, n)
            return x.movedim(0, at).flatten(at, at + 1)
        outs = apply(self, tuple(map(together, inputs, batched, self.rows_at)), attrs)
        # All results have rows of numbers: the dimension before the last goes over the sequences.
        places = [x._array.ndim - 2 for x in outs]
        return tuple([
            x.unflatten(at, (n, rows)).movedim(at, 0) for x, at in zip(outs, places)])


class RecurrentOp(_StepsOp):
    """One direction of a layer: (x, *states, w_ih, w_hh, b_ih, b_hh, begins) -> (outputs, *last
    states) and, with `keep`, what the backward reads: sums of gates, and the states before each
    step.

    x is (steps, sequences, features), of at least one step. With `begins`, x is (rows, features) of
    packed sequences, as are all results but the last states: where each step begins, and the last
    one ends."""

    def __init__(self, cell):
        self.cell = cell
        n = cell.states
        self.rows_at = (1, *[0] * n, None, None, None, None, None)
        super().__init__(cell.name, vjp=_vjp_of(self), samples=functools.partial(_samples, cell),
                         onnx=functools.partial(in_onnx.direction, cell))
        self.saved_outputs = frozenset(range(1 + n, 2 + 2 * n))

    def forward(self, x, *rest, is_reversed, keep):
        cell, n = self.cell, self.cell.states
        states, (w_ih, w_hh, b_ih, b_hh, *packed) = rest[:n], rest[n:]
        begins = packed[0] if packed else None
        size, at = w_hh.shape[1], x.shape[:-1]
        count, rows = at if begins is None else (begins.shape[0] - 1, states[0].shape[0])
        sums = gemm.linear(x, w_ih, None if b_ih is None else contiguous(b_ih))
        dtype = sums.dtype
        named = {"x": sums, "y": memory.empty((*at, size), dtype)}
        if b_hh is not None:
            named["bias"] = contiguous(b_hh)
        for i, s in enumerate(states):
            named[f"state{i}"] = memory.empty((rows, size), dtype)
            move(named[f"state{i}"], s)
        if keep:
            width = len(cell.kept) * size
            # an element is read before it is written
            named["kept"] = memory.empty((*at, width), dtype) if cell.lone else sums
            for i in range(n):
                named[f"before{i}"] = memory.empty((*at, size), dtype)
        if not keep or cell.lone:
            taped_launches.partial(sums)
        recipe = forward_recipe(cell, product_kernels.SHORT[dtype], b_hh is not None, keep)
        matrices = contiguous(w_hh).reshape(cell.gates, size, size).swapaxes(1, 2)
        kernels.run(recipe.what, (count, rows, size), states[0], matrices,
                    [named[name] for name in recipe.names], is_reversed,
                    None if begins is None else contiguous(begins))
        more = ("kept", *(f"before{i}" for i in range(n))) if keep else ()
        return tuple([named[k] for k in ("y", *(f"state{i}" for i in range(n)), *more)])

    def apart(self, inputs, *, is_reversed, keep):
        cell, n = self.cell, self.cell.states
        (x, *states), (w_ih, w_hh, b_ih, b_hh, *_) = inputs[:1 + n], inputs[1 + n:]
        size = w_hh.shape[-1]
        sums = x.movedim(0, 1) @ w_ih.mT
        named = {"x": sums if b_ih is None else sums + b_ih.unsqueeze(1),
                 **{f"state{i}": s for i, s in enumerate(states)}}
        if b_hh is not None:
            named["bias"] = b_hh.unsqueeze(1)
        recipe = forward_recipe(cell, x.dtype.short, b_hh is not None, keep)
        matrices = [w_hh.narrow(-2, g * size, size).mT for g in range(cell.gates)]
        made = by_ops(recipe, named, states[0], matrices, size, is_reversed)
        series = [made[k].movedim(1, 0) for k in (
            "y", *["kept"] * keep, *(f"before{i}" for i in range(n * keep)))]
        return series[0], *(made[f"state{i}"] for i in range(n)), *series[1:]

    def last_backward(self, node, g):
        """`backward` of a node that runs for the last time: where nothing else refers to what it
        kept, gradients are written over that."""
        if (modes.state.observers or modes.state.flags & modes.GRAD
                or any(type(x) is not SavedOutput for x in node.outputs if x is not None)):
            return self.backward(node, g)
        x, h, *_, w_ih, w_hh, _, _, begins = node.saved_inputs()
        y = node.saved_outputs()
        # a backward that is interrupted cannot be run again
        node.outputs[1 + self.cell.states].cell.v += 1
        needs = tuple(e is not None for e in node.edges)
        return self.flow(g, y, x, h, w_ih, w_hh, begins, needs, node.attrs["is_reversed"], True)

    def flow(self, g, y, x, h, w_ih, w_hh, begins, needs, is_reversed, spends=False):
        """The gradients: steps back, then products over all steps at once."""
        cell, n = self.cell, self.cell.states
        kept, *before = y[1 + n:]
        ends = [before[0].new_zeros(h.shape) if e is None else e for e in g[1:1 + n]]
        sums, *ends = apply(BACKWARD[cell.name],
                            (g[0], *ends, *g[1 + n:], kept, *before, w_hh, begins),
                            {"is_reversed": is_reversed, "spends": spends})
        size = w_hh.shape[1]
        lone, width = cell.lone * size, cell.gates * size
        inputs, products = (sums.narrow(-1, 0, width), sums.narrow(-1, lone, width)) if lone else (
            sums, sums)
        # gates that are kept by themselves come first there, and last among the weights
        turned = w_ih.roll(lone, 0) if lone and needs[0] else w_ih
        from_x = linear_vjp(inputs, None, x, turned, None,
                             needs=(needs[0], needs[1 + n], needs[3 + n]))
        if lone:
            from_x[1:] = [None if v is None else v.roll(-lone, 0) for v in from_x[1:]]
        _, *from_state = linear_vjp(products, None, before[0], w_hh, None,
                                     needs=(False, needs[2 + n], needs[4 + n]))
        if needs[1]:
            ends[0] = first_rows(products, begins, h.shape[0], is_reversed) @ w_hh + ends[0]
        return [from_x[0], *ends, from_x[1], from_state[0], from_x[2], from_state[1], None]


def first_rows(series, begins, rows, is_reversed):
    """What the step has of each sequence with which it begins."""
    if begins is None:
        return series[-1 if is_reversed else 0]
    if not is_reversed:
        return series.narrow(0, 0, rows)
    sequences = FUNCTIONS["arange"](rows, device=series.device)
    last = (begins.diff().unsqueeze(1) > sequences).sum(0) - 1
    return series.index_select(0, begins.index_select(0, last) + sequences)


def _vjp_of(op):
    """The gradient of a direction."""
    def of_one(g, y, x, _h, w_ih, w_hh, _b_ih, _b_hh, begins, *, is_reversed, keep, needs):
        return op.flow(g, y, x, _h, w_ih, w_hh, begins, needs, is_reversed)

    def of_two(g, y, x, _h, _c, w_ih, w_hh, _b_ih, _b_hh, begins, *, is_reversed, keep, needs):
        return op.flow(g, y, x, _h, w_ih, w_hh, begins, needs, is_reversed)
    return of_one if op.cell.states == 1 else of_two


class RecurrentBackwardOp(_StepsOp):
    """The steps back: (gradients of what the direction gives, of which only those of the states
    must be there; what it kept; w_hh; begins) -> the gradients of the kept sums, and of the states
    at the beginning, without what flows through the first product. `spends`: the gradients take the
    place of the sums, which are not read again."""

    def __init__(self, cell):
        self.cell, n = cell, cell.states
        self.rows_at = (1, *[0] * n, 1, *[1] * n, 1, *[1] * n, None, None)
        super().__init__(f"{cell.name}_backward", vjp=by_decomposition(self.by_definition),
                         inner=True)

    def named(self, inputs):
        """(the operands that are there, by name; the weights; where steps begin, if packed)"""
        n = self.cell.states
        names = ["g_y", *(f"g_state{i}" for i in range(n)), "g_more",
                 *(f"g_before{i}" for i in range(n)), "kept", *(f"before{i}" for i in range(n))]
        w, *packed = inputs[len(names):]
        return ({k: x for k, x in zip(names, inputs) if x is not None}, w,
                packed[0] if packed else None)

    def results(self):
        return "g_kept", *(f"g_state{i}" for i in range(self.cell.states))

    def recipe(self, named, dtype):
        return backward_recipe(self.cell, dtype, frozenset(named))

    def forward(self, *inputs, is_reversed, spends=False):
        named, w, begins = self.named(inputs)
        kept, cell = contiguous(named["kept"]), self.cell
        size, (rows, _) = w.shape[1], named["g_state0"].shape
        count = kept.shape[0] if begins is None else begins.shape[0] - 1
        made = {"g_kept": kept if spends else memory.empty(kept.shape, kept.dtype)}
        for i in range(cell.states):
            name = f"g_state{i}"
            made[name] = memory.empty((rows, size), kept.dtype)
            move(made[name], named[name])
        recipe = self.recipe(named, product_kernels.SHORT[kept.dtype])
        arrays = {**{k: contiguous(x) for k, x in named.items()}, "kept": kept, **made}
        kernels.run(recipe.what, (count, rows, size), None, contiguous(w)[None],
                    [arrays[name] for name in recipe.names], not is_reversed,
                    None if begins is None else contiguous(begins))
        return tuple([made[k] for k in self.results()])

    def apart(self, inputs, *, is_reversed, spends):
        named, w, _ = self.named(inputs)
        named = {k: x if k.startswith("g_state") else x.movedim(0, 1) for k, x in named.items()}
        made = by_ops(self.recipe(named, w.dtype.short), named, None, [w], w.shape[-1],
                      not is_reversed)
        first, *states = [made[k] for k in self.results()]
        return first.movedim(1, 0), *states

    def by_definition(self, *inputs, is_reversed, spends):
        """The gradients of a recurrent layer in ops."""
        named, w, begins = self.named(inputs)
        sizes = None if begins is None else begins.diff().tolist()
        made = by_ops(self.recipe(named, named["kept"].dtype.short), named, None, [w], w.shape[1],
                      not is_reversed, sizes)
        return tuple([made[k] for k in self.results()])


def _samples(cell, make):
    for count, rows, inside, size, has_bias, back in ((3, 2, 4, 5, True, False),
                                                      (2, 3, 1, 2, False, True),
                                                      (4, 1, 2, 17, True, True)):
        gates = cell.gates * size
        yield Sample(make(count, rows, inside), *(make(rows, size) for _ in range(cell.states)),
                     make(gates, inside), make(gates, size),
                     *((make(gates), make(gates)) if has_bias else (None, None)), None,
                     is_reversed=back, keep=True)


FORWARD = {name: RecurrentOp(cell) for name, cell in CELLS.items()}
BACKWARD = {name: RecurrentBackwardOp(cell) for name, cell in CELLS.items()}


def direction(mode, x, states, w_ih, w_hh, b_ih, b_hh, is_reversed, begins=None):
    """(outputs, last states) of one direction of a layer over sequences x of shape (steps,
    sequences, features), or (rows, features) if packed, as one op; None where it has none, and
    steps are to be taken. `begins`: see `RecurrentOp`."""
    a, size = x._array, w_hh._array.shape[1]
    operands = (x, *states, w_ih, w_hh, b_ih, b_hh)
    if (modes.state.autocast is not None or x.device.type != "cpu"
            or a.dtype.kind != "f" or a.dtype.itemsize < 4
            or any(p is not None and p._array.dtype != a.dtype for p in operands)
            or w_hh._array.shape[0] != CELLS[mode].gates * size):
        return None
    transformed = any(not o.records for o in modes.state.observers)
    if transformed and begins is not None:
        return None
    keep = bool(modes.state.flags & modes.GRAD) and (
        transformed or any(p is not None and p.requires_grad for p in operands))
    made = apply(FORWARD[mode], (*operands, begins), {"is_reversed": is_reversed, "keep": keep})
    return made[0], made[1:1 + len(states)]
