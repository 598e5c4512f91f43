"""Optimizer steps: one kernel updates many tensors. An update is two lists of scalar expressions:
numbers of the step, worked out once a tensor in double precision, and the new elements of parameter
and states, worked out in the element type (halves in f32).

`args`: [table, count, step, *hyper parameters, *parameters, *states 0, *states 1, ..., *gradients];
a work unit is a block of `many.BLOCK` elements of one tensor, and row i of the table is (first
block of tensor i, its number of elements). All arrays of a tensor are dense and in the same order
in memory.
"""
from __future__ import annotations

from dataclasses import dataclass

from whet.ir.expressions import Expr

from .. import scalar, targets
from ..builder import Module, Val, vec
from .many_tensors import find


@dataclass(frozen=True)
class Update:
    """What a step computes. `numbers` are expressions of (step, *hyper parameters); `elements`, of
    (parameter, gradient, *states, *numbers), are the new parameter and states."""
    key: str
    numbers: tuple[Expr, ...]
    elements: tuple[Expr, ...]
    hypers: int
    states: int
    dtype: str


def emit(u: Update, module: Module, symbol: str) -> None:
    """Write the kernel of an update into a module as the function `symbol`."""
    f = module.kernel(symbol)
    args, begin, end, _ = f.args
    memory, kind = scalar.MEMORY[u.dtype], "f64" if u.dtype == "f64" else "f32"
    wide = scalar.COMPUTE[kind]
    lanes = targets.current().bits // 8 // scalar.BYTES[wide]
    arrays = 2 + u.states

    def slot(i: int | Val, ty: str = "i64") -> Val:
        return f.load(ty, f.at(args, i, "i64"))

    table, count = slot(0, "ptr"), slot(1)
    arguments = [slot(2 + i, "double") for i in range(1 + u.hypers)]
    numbers, _ = scalar.compute(f, u.numbers, arguments, ["f64"] * len(arguments), 0)
    numbers = [
        f.splat(f.conv("fptrunc", x, wide) if wide != "double" else x, lanes) for x in numbers]
    kinds = [kind] * (arrays + len(numbers))

    def block(unit: Val, tensor: Val) -> Val:
        """Do one block; `tensor` is the one the block before belonged to, or an earlier one."""
        tensor, start, n = find(f, table, count, unit, tensor)
        bases = [
            f.at(slot(tensor + count * k + (3 + u.hypers), "ptr"), start, memory)
            for k in range(arrays)]

        def step(i: Val, mask: Val | None = None) -> None:
            at = [f.at(p, i, memory) for p in bases]
            ty = vec(memory, lanes)
            p, *states, g = (scalar.widen(f,
                                          f.load(ty, q) if mask is None else f.mload(ty, q, mask),
                                          u.dtype) for q in at)
            new, _ = scalar.compute(f, u.elements, [p, g, *states, *numbers], kinds, lanes)
            for p, x in zip(at, new):
                x = scalar.narrow(f, x, u.dtype)
                f.store(x, p) if mask is None else f.put(mask, (x, p))

        left = f.binary("and", n, lanes - 1)
        whole = n - left
        f.loop(0, whole, lanes, step)
        f.if_(f.cmp("ne", left, 0), lambda: step(whole, f.lanes_below(left, lanes)))
        return tensor

    f.loop(begin, end, 1, block, [f.const("i64", 0)])
