"""The launches of convolutions, and of contractions with an epilogue (see
passes/fuse_epilogues.py).

Some convolution kernels read their weights in a packed order. Weights that exist before every call,
and are only read in it, are packed once: the launch that packs them is skipped as long as nothing
writes to them (`kept_between_calls.py`)."""
from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from whet.cpu import conv, gemm
from whet.cpu.conv_plan import scratch
from whet.cpu.taped_launches import Tape
from whet.dtypes import FROM_NUMPY
from whet.ir import scalar as S
from whet.ir.expressions import Expr
from whet.ir.graph import Contract, OpNode, Ref
from whet.passes.lower_llvm.scalar import Unsupported
from whet.passes.lower_llvm.windows.epilogue import SUMS, Epilogue, Extent

if TYPE_CHECKING:
    from whet.ir.graph import Node
    from whet.ir.values import Array, DType

    from .builder import ProgramBuilder
    from .launch_entries import Entries


def launches(b: ProgramBuilder, node: Contract | OpNode, ins: Sequence[Array]) -> Entries | None:
    """The entries of a node's launches; None if another form computes it."""
    try:
        if node.op.name == "convolution":
            return _convolution(b, node, *_after(node, ins))
        return _product(b, node, ins)
    except Unsupported:
        return None


def _after(node: Contract | OpNode,
           ins: Sequence[Array]) -> tuple[Node, Sequence[Array], Expr, list[Array]]:
    """(the contraction, its operands, the epilogue's expression, the other operands of the
    epilogue)"""
    first = node.first if isinstance(node, Contract) else node
    n = len(first.ins)
    root = S.arg(0)
    operands: list[Array] = []
    if isinstance(node, Contract):
        by = {0: root}
        for i, (r, x) in enumerate(zip(node.ins[n:], ins[n:], strict=True)):
            if type(r) is Ref or x.dtype == ins[0].dtype:   # one kernel for all numbers
                operands.append(x)
                by[i + 1] = S.arg(len(operands))
            else:                            # a number of the type that the kernel computes in
                by[i + 1] = S.cast(S.const(x.item()), FROM_NUMPY[x.dtype].short)
        root = S.substitute(node.exprs[0], by)
    return first, ins[:n], root, operands


def product(node: Contract | OpNode,
            ins: Sequence[Array]) -> tuple[Array, Array, Expr | None, list[Array]] | None:
    """(the matrices of a product or linear map, the epilogue's expression or None, its other
    operands); None if the sum with a bias would be rounded before the expression reads it."""
    _, (a, b, *more), root, operands = _after(node, ins)
    bias = more[0] if more else None
    if bias is not None and a.dtype.itemsize < 4:
        return None
    root, operands = _with_bias(root, operands, bias)
    return a, b.T if node.op.name == "linear" else b, None if root is S.arg(0) else root, operands


def _with_bias(root: Expr, operands: list[Array],
               bias: Array | None) -> tuple[Expr, list[Array]]:
    """The expression and its operands, with a bias added first."""
    if bias is None:
        return root, operands
    moved = {i + 1: S.arg(i + 2) for i in range(len(operands))}
    return S.substitute(root, {0: S.arg(0) + S.arg(1), **moved}), [bias, *operands]


def _product(b: ProgramBuilder, node: Contract | OpNode, ins: Sequence[Array]) -> Entries | None:
    got = product(node, ins)
    if got is None:
        return None
    (x, w, root, operands), first = got, node.first if isinstance(node, Contract) else node
    kept = b.steady.behind(first.ins[1])
    found = None if kept is None else gemm.kept_plan(x, w, root, operands)
    if kept is not None and found is not None:
        return _with_packed(b, node, first, kept, (x, w, operands), found)
    if isinstance(node, OpNode):
        return None
    made: list[Array] = []
    return b.take(lambda: made.append(gemm.matmul(x, w, epilogue=root, operands=operands)),
                  [x, w, *operands], made, node.outs)


def _with_packed(b: ProgramBuilder, node: Node, first: Node, kept: list[int],
                 arrays: tuple[Array, Array, list[Array]], found: Any) -> Entries | None:
    """A product whose second operand is packed once."""
    (x, w, operands), (plan, (size, dtype, *pack, table)) = arrays, found
    out = b.arrays[node.outs[0]]
    if out.shape != plan.shape or out.dtype != plan.dtype or not out.flags.c_contiguous:
        return None
    tape, y = Tape(), b.places.memory(node.outs[0])
    key, data, new = b.steady.order(first.ins[1], w, size, dtype, (*pack, table))
    room = scratch(plan.scratch) if plan.scratch else None
    if room is not None:
        tape.need(room, plan.scratch)
    entries = _entries(
        b, kept, tape, [x, w, y, data, *operands], (*pack, w, data, table) if new else None,
        (plan.kernel, plan.total, plan.grain, x, data, y, plan.table, room, *operands))
    if entries is not None:
        b.steady.packed[key] = data
    return entries


def _extent(a: Array, shape: tuple[int, ...], dtype: DType) -> Extent | None:
    """Along which dimensions an operand of a convolution's epilogue varies; None if kernels cannot
    read it."""
    if a.dtype != dtype:
        return None
    if a.size == 1:
        return Extent.ONE
    if a.shape == shape:
        return Extent.PIXEL if a.flags.c_contiguous else None
    strides = np.broadcast_to(a, shape).strides
    apart = [s for i, (s, n) in enumerate(zip(strides, shape)) if i != 1 and n > 1]
    return Extent.CHANNEL if strides[1] == a.itemsize and not any(apart) else None


def _epilogue(b: ProgramBuilder, node: Node, ins: Sequence[Array], root: Expr,
              operands: list[Array]) -> tuple[Epilogue, list[Array]] | None:
    """(the epilogue of a convolution, its operands), or None where its kernels cannot compute
    it."""
    (x, _, *more), out = ins, b.arrays[node.outs[0]]
    bias = more[0] if more else None
    if bias is not None:
        if not bias.flags.c_contiguous:
            return None
        bias = bias.reshape(-1, *[1] * (out.ndim - 2))
    root, operands = _with_bias(root, operands, bias)
    extents = tuple(e for a in operands if (e := _extent(a, out.shape, x.dtype)) is not None)
    t = FROM_NUMPY[x.dtype].short
    if len(extents) < len(operands) or not out.flags.c_contiguous:
        return None
    if S.typeof(root, [t] * (1 + len(extents))) != t:
        return None
    return Epilogue(root, extents) if extents or root is not S.arg(0) else SUMS, operands


def _convolution(b: ProgramBuilder, node: Node, first: Node, ins: Sequence[Array], root: Expr,
                 operands: list[Array]) -> Entries | None:
    found = _epilogue(b, node, ins, root, operands)
    if found is None:
        return None
    (x, w, *_), (epilogue, operands), kept = ins, found, b.steady.behind(first.ins[1])
    plan = conv.plan_of(x, w, epilogue, kept=kept is not None, **first.attrs)
    if plan is None or not plan.units or plan.out != b.arrays[node.outs[0]].shape:
        return None
    tape, y = Tape(), b.places.memory(node.outs[0])
    need, pack, packed = plan.scratch, plan.pack, w
    if pack is not None and kept is None:
        need += pack.size * x.itemsize
    room = scratch(need)
    tape.need(room, need)
    key, new = None, pack is not None
    if new and kept is None:
        packed = room[plan.scratch:]
    elif new:
        key, packed, new = b.steady.order(first.ins[1], w, pack.size, x.dtype,
                                          (pack.kernel, pack.units, pack.grain, *pack.numbers))
    entries = _entries(
        b, kept, tape, [x, w, y, *operands, *([packed] if kept is not None else [])],
        (pack.kernel, pack.units, pack.grain, w, packed, *pack.numbers) if new else None,
        (plan.kernel, plan.units, plan.grain, x, packed, y, room, plan.geometry, *operands))
    if entries is not None and key is not None:
        b.steady.packed[key] = packed
    return entries


def _entries(b: ProgramBuilder, kept: list[int] | None, tape: Tape, known: Sequence[Any],
             pack: tuple[Any, ...] | None, launch: tuple[Any, ...]) -> Entries | None:
    """The entries of a launch, and of the launch that packs the second operand for it. The latter
    is skipped where the packed operand was `kept`."""
    packing: Entries = []
    if pack is not None:
        tape.launches.append(pack)
        packed = b.tapes.entries(tape, known)
        if packed is None:
            return None
        packing = packed if kept is None else b.steady.unless_written(kept, packed)
        tape.launches.clear()
    tape.launches.append(launch)
    entries = b.tapes.entries(tape, known)
    return None if entries is None else [*packing, *entries]
