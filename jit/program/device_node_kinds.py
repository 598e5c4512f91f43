"""The kinds of nodes on a device: the launches of each come from the code that eager calls use
there."""
from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from typing import Any

import numpy as np
from whet import devices
from whet.cpu.gemm import PLUS_BIAS
from whet.cuda import execute, plan_recorder, pointwise, products, random_draws, rows
from whet.cuda.arrays import DeviceArray, empty
from whet.cuda.errors import NoForm
from whet.ir import rows as R
from whet.ir import scalar as S
from whet.ir.graph import (
    Ask,
    Contract,
    Draw,
    Fused,
    Guard,
    Node,
    OpNode,
    Ref,
    Rows,
    Type,
    Write,
)

from ..refusals.reasons import Shapes
from ..refusals.replay_miss import Miss, broken
from .value_places import equivalent_layout

Env = dict[int, Any]
TOLD = "f32", "f64"                  # the types of numbers that row programs take as parameters


class Work:
    """What a node needs to know of its program: the device, the types of values (`types`), which of
    them are on the device (`there`), and which constants may be shared between calls
    (`lasting`)."""

    def __init__(self, index: int, types: list[Type], there: Set[int],
                 lasting: Set[int]) -> None:
        self.index, self.types, self.there, self.lasting = index, types, there, lasting

    def room(self, n: int) -> DeviceArray:
        """Allocate memory for a value."""
        t = self.types[n]
        return empty(self.index, t.shape, t.dtype, t.strides)

    def drawn(self, node: Draw, numbers: Sequence[Any]) -> DeviceArray:
        """The random numbers of a draw. `numbers`: the position in its stream, and the stream's
        seed."""
        return random_draws.at_position(node.op, node.attrs["shape"], numbers, self.index)

    def as_recorded(self, n: int, a: Any, node: Node) -> Any:
        """An op's result in the layout that was recorded."""
        like = self.types[n]
        layout = devices.places(a)
        if not equivalent_layout(layout, like):
            name = "an operation" if node.op is None else node.op.name
            raise Miss(Shapes(f"what {name} gives has another shape", node.line))
        if a.strides != like.strides and type(a) is DeviceArray:
            return DeviceArray.at(a.held, a.address, like.shape, like.strides, like.dtype)
        return a

    def in_recorded_layout(self, n: int, a: DeviceArray, node: Node) -> DeviceArray:
        """The result of a fused op in the layout that was recorded. The operands of the fused op
        may have other layouts than those of its last op."""
        like = self.types[n]
        if a.shape == like.shape and not equivalent_layout(a.geometry, like):
            a = execute.with_strides(a, like.strides)
        made: DeviceArray = self.as_recorded(n, a, node)
        return made


def launch(node: Node, env: Env, work: Work) -> None:
    """Launch a node: `env` has the values that it reads, and receives those that it makes."""
    KINDS[type(node)](node, env, work)


def operands(node: Node, env: Env) -> list[Any]:
    """The arrays and numbers that a node reads."""
    return [env[x] if type(x) is Ref else x for x in node.ins]


def op(node: OpNode, env: Env, work: Work) -> None:
    """An op that makes new values."""
    if not node.ins and node.outs[0] in work.there:
        env[node.outs[0]] = of_nothing(node, work)
        return
    ins = operands(node, env)
    if any(type(x) is DeviceArray for x in ins) or node.op.family == "transfer":
        made = execute.forward(node.op, ins, node.attrs)
    else:
        made = node.op.forward(*ins, **node.attrs)
    for o, a in zip(node.outs, made if type(made) is tuple else (made,), strict=True):
        a = a if type(a) is DeviceArray else np.asarray(a)
        env[o] = work.as_recorded(o, a, node)


def of_nothing(node: OpNode, work: Work) -> DeviceArray:
    """A value made without operands: filled with one number, or copied from a constant kept on the
    device."""
    out = node.outs[0]
    if out in work.lasting:
        return kept(node, work)
    made = work.room(out)
    if not made.size or node.op.is_unset:
        return made
    if node.op.fills is not None:
        pointwise.fill(made, np.asarray(node.op.fills(**node.attrs)).astype(made.dtype))
    else:
        pointwise.copy_into(made, kept(node, work))
    return made


def kept(node: OpNode, work: Work) -> DeviceArray:
    """A constant on the device, which lives as long as the plan."""
    return on_device(np.asarray(node.op.forward(**node.attrs)), work)


def on_device(a: np.ndarray, work: Work) -> DeviceArray:
    """Copy a constant to the device; the plan keeps it."""
    return execute.transfers.to_device(a, work.index)


def write(node: Write, env: Env, work: Work) -> None:
    """An op that writes to its first operand."""
    ins = operands(node, env)
    if any(type(x) is DeviceArray for x in ins):
        execute.write(node.op, ins, node.attrs, lambda made: None)
    elif node.op.write is not None:
        node.op.write(*ins, **node.attrs)
    else:
        np.copyto(ins[0], node.op.forward(*ins, **node.attrs), casting="unsafe")


def by_kernel(make: Callable[[Any, list[Any], Env, Work], Sequence[Any]]) -> Any:
    """A group as one kernel, or its members one by one."""
    def run(node: Any, env: Env, work: Work) -> None:
        ins = operands(node, env)
        try:
            outs = make(node, ins, env, work)
        except NoForm:
            for m in node.apart():
                launch(m, env, work)
            for o in {o for m in node.members for o in m.outs}.difference(node.outs):
                env.pop(o, None)
            return
        for o, a in zip(node.outs, outs, strict=True):
            env[o] = a
    return run


def fused(node: Fused, ins: list[Any], env: Env, work: Work) -> Sequence[Any]:
    """One pointwise kernel."""
    places = node.into
    outs = [env[places[o]] if o in places else work.room(o) for o in node.outs]
    if any(type(x) is DeviceArray and pointwise.overlaps(x, y) for x in ins for y in outs):
        raise NoForm("results overlap operands")
    xs = [x if type(x) is DeviceArray else np.asarray(x) for x in ins]
    made: Sequence[Any] = pointwise.compute(
        pointwise.Expressions("fused", node.exprs), xs, work.index, outs)
    return made


def row_program(node: Rows, ins: list[Any], env: Env, work: Work) -> Sequence[Any]:
    """Reductions with their prologue and epilogue."""
    placed = node.placed
    declared = list(placed.program.operands)
    xs: list[Any] = []
    for i, (x, was) in enumerate(zip(ins, node.ins, strict=True)):
        is_number = declared[i].is_scalar or declared[i].is_position
        if node.into or type(was) is Ref and is_number:
            raise NoForm("a number of a tensor")
        if is_number or type(x) is DeviceArray:
            xs.append(placed.operand(i, x))
        elif type(was) is Ref and declared[i].dtype in TOLD:
            declared[i] = R.Operand(declared[i].dtype, R.Extent.SCALAR)
            xs.append(plan_recorder.parameter(x, np.ndarray.item))
        elif type(was) is Ref:
            raise NoForm("a number of the host")
        else:
            xs.append(placed.operand(i, on_device(x, work)))
    program = placed.program
    if declared != list(program.operands):
        program = R.Program(program.name, tuple(declared), program.stages)
    made = rows.run(program, xs, placed.axes, work.index, [work.types[o] for o in node.outs])
    return [work.in_recorded_layout(o, a.reshape(work.types[o].shape), node)
            for o, a in zip(node.outs, made, strict=True)]


def contract(node: Contract, ins: list[Any], env: Env, work: Work) -> Sequence[Any]:
    """A product of matrices with its epilogue."""
    first = node.members[0]
    mine, more = ins[:len(first.ins)], ins[len(first.ins):]
    out = work.types[node.outs[0]]
    if node.into or len(node.outs) > 1 or node.op.name not in ("matmul", "linear") \
            or out.dtype.char not in "fd" or any(a.dtype != out.dtype for a in (*mine, *more)):
        raise NoForm("its epilogue")
    if any(type(a) is not DeviceArray for a, x in zip(ins, node.ins, strict=True)
           if type(x) is Ref):
        raise NoForm("a number of the host")
    root, = node.exprs
    operands = [a if type(a) is DeviceArray else on_device(a, work) for a in more]
    a, b, *bias = mine
    if node.op.name == "linear":
        b = b.T
    if bias and bias[0] is not None:
        root = S.substitute(root, {0: PLUS_BIAS, **{
            1 + i: S.arg(2 + i) for i in range(len(operands))}})
        operands = [bias[0], *operands]
    made = products.of_matrices((a, b), root, operands)
    return [work.as_recorded(node.outs[0], made, node)]


def guard(node: Guard, env: Env, work: Work) -> None:
    """Check that a value that Python continued from is the same."""
    if devices.on_host(env[node.ins[0]]).tobytes() != node.expected.tobytes():
        raise Miss(broken(node))


def ask(node: Ask, env: Env, work: Work) -> None:
    """Check that a question about values has the same answer."""
    plan_recorder.unplanned()
    if node.question(*[devices.on_host(a) for a in operands(node, env)]) != node.answer:
        raise Miss(broken(node))


KINDS: dict[type[Node], Callable[[Any, Env, Work], None]] = {
    OpNode: op, Write: write, Guard: guard, Ask: ask,
    Fused: by_kernel(fused), Rows: by_kernel(row_program), Contract: by_kernel(contract)}
