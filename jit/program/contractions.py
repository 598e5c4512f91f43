"""The launches of convolutions, and of contractions with an epilogue (see passes/fuse_epilogues.py), in a program.

Some convolutions read their weights in an order of their own. Weights that are there before every call, and are only read in it, are put
into that order once: the launch that does so is left out of a replay as long as their memory says that nobody wrote to it (`Guard`).
"""
import ctypes as C

import numpy as np
from whet import tensor_base
from whet.cpu import conv, entries, gemm, memory
from whet.cpu.conv_plan import scratch
from whet.dtypes import FROM_NUMPY
from whet.ir import scalar as S
from whet.ir.graph import Ref
from whet.ir.spans import address
from whet.passes.lower_llvm.scalar import Unsupported
from whet.passes.lower_llvm.windows.conv import SUMS, Epilogue


def launches(program, node, ins):
    """The words of a node's launches, and their number; None where it is done otherwise."""
    try:
        if (node if node.kind == "op" else node.value[0]).op.name == "convolution":
            return _convolution(program, node, *_after(node, ins))
        return _product(program, node, ins)
    except Unsupported:
        return None


def _after(node, ins):
    """(the contraction, its operands, the expression of its results, what that reads beside them)"""
    first = node if node.kind == "op" else node.value[0]
    n = len(first.ins)
    root, operands = S.arg(0), []
    if node.kind == "contract":
        by = {0: root}
        for i, (r, x) in enumerate(zip(node.ins[n:], ins[n:], strict=True)):
            if type(r) is Ref:
                operands.append(x)
                by[i + 1] = S.arg(len(operands))
            else:                            # a number of the type that the kernel computes in
                by[i + 1] = S.cast(S.const(x.item()), FROM_NUMPY[x.dtype].short)
        root = S.substitute(node.roots[0], by)
    return first, ins[:n], root, operands


def product(node, ins):
    """(the matrices of a product or a linear map, the expression of its results or None, what that reads beside them); None where the
    sum with a bias would be rounded before the expression sees it."""
    first, (a, b, *bias), root, operands = _after(node, ins)
    bias = bias[0] if bias else None
    if bias is not None and a.dtype.itemsize < 4:
        return None
    root, operands = _with_bias(root, operands, bias)
    return a, b.T if first.op.name == "linear" else b, None if root is S.arg(0) else root, operands


def _with_bias(root, operands, bias):
    """The expression and its operands with a bias that is added first."""
    if bias is None:
        return root, operands
    moved = {i + 1: S.arg(i + 2) for i in range(len(operands))}
    return S.substitute(root, {0: S.arg(0) + S.arg(1), **moved}), [bias, *operands]


def _product(program, node, ins):
    got = product(node, ins)
    if got is None:
        return None
    (a, b, root, operands), first = got, node if node.kind == "op" else node.value[0]
    kept = _kept(program, first)
    found = gemm.kept_plan(a, b, root, operands) if kept is not None else None
    if found is not None:
        plan, (size, dtype, *pack, table) = found
        out = program.arrays[node.outs[0]]
        if out.shape != plan.shape or out.dtype != plan.dtype or not out.flags.c_contiguous:
            return None
        tape, y = entries.Tape(), program.memory(node.outs[0])
        key, data, new = _shared(program, first, b, size, dtype, (*pack, table))
        room = scratch(plan.scratch) if plan.scratch else None
        if room is not None:
            tape.need(room, plan.scratch)
        words = _words(program, first, kept, tape, [a, b, y, data, *operands], (*pack, b, data, table) if new else None,
                       (plan.kernel, plan.total, plan.grain, a, data, y, plan.table, room, *operands))
        if words is not None:
            program.packed[key] = data
        return words
    if node.kind == "op":
        return None
    made = []
    return program.take(lambda: made.append(gemm.matmul(a, b, epilogue=root, operands=operands)), [a, b, *operands], made, node.outs)


def _kind(a, shape, dtype):
    """How the kernels of convolutions read an operand of their epilogue; None if they do not."""
    if a.dtype != dtype:
        return None
    if a.size == 1:
        return "one"
    if a.shape == shape:
        return "pixel" if a.flags.c_contiguous else None
    strides = np.broadcast_to(a, shape).strides
    apart = [s for i, (s, n) in enumerate(zip(strides, shape)) if i != 1 and n > 1]
    return "channel" if strides[1] == a.itemsize and not any(apart) else None


def _convolution(program, node, first, ins, root, operands):
    x, w, *bias = ins
    shape, out = program.arrays[node.outs[0]].shape, program.arrays[node.outs[0]]
    bias = bias[0] if bias else None
    if bias is not None:
        if not bias.flags.c_contiguous:
            return None
        bias = bias.reshape(-1, *[1] * (len(shape) - 2))
    root, operands = _with_bias(root, operands, bias)
    kinds = tuple(_kind(a, shape, x.dtype) for a in operands)
    t = FROM_NUMPY[x.dtype].short
    if None in kinds or not out.flags.c_contiguous or S.typeof(root, [t] * (1 + len(kinds))) != t:
        return None
    kept = _kept(program, first)
    plan = conv.plan_of(x, w, Epilogue(root, kinds) if kinds or root is not S.arg(0) else SUMS, kept=kept is not None, **first.attrs)
    if plan is None or not plan.units or plan.out != shape:
        return None
    tape, y = entries.Tape(), program.memory(node.outs[0])
    need, pack, packed = plan.scratch, plan.pack, w
    if pack is not None and kept is None:
        need += pack.size * x.itemsize
    room = scratch(need)
    tape.need(room, need)
    key, new = None, pack is not None
    if new and kept is None:
        packed = room[plan.scratch:]
    elif new:
        key, packed, new = _shared(program, first, w, pack.size, x.dtype, (pack.kernel, pack.units, pack.grain, *pack.numbers))
    words = _words(program, first, kept, tape, [x, w, y, *operands, *([packed] if kept is not None else [])],
                   (pack.kernel, pack.units, pack.grain, w, packed, *pack.numbers) if new else None,
                   (plan.kernel, plan.units, plan.grain, x, packed, y, room, plan.geometry, *operands))
    if words is not None and key is not None:
        program.packed[key] = packed
    return words


def _shared(program, first, w, size, dtype, how):
    """Memory for weights in their kernel's order: (what tells it from others, the memory, is it new?). What is put into one order for several
    contractions is so once."""
    facts = tuple([x.tobytes() if type(x) is np.ndarray else x for x in how])
    key = program.root[first.ins[1]], address(w), w.shape, w.strides, size, dtype, facts
    found = program.packed.get(key)
    return key, memory.empty(size, dtype) if found is None else found, found is None


def _kept(program, first):
    """The values whose tensors a contraction's second operand lies in or is made of at every call, if their versions can be compared."""
    r = first.ins[1]
    if type(r) is not Ref or tensor_base.NativeNode is None:
        return None
    r = program.root[r]
    kept = program.derived.get(r) or ([r] if r in program.steady else None)
    if kept is not None and any(np.may_share_memory(program.steady[k]._array, program.arrays[n]) for n in program.written for k in kept):
        return None
    return kept


def unless(program, sources, words):
    """Words that are passed over as long as nobody writes to some tensors (given as values): once for each, so that any of them counts."""
    out = []
    for n in sources:
        guard = Guard(program.steady[n], program.position[n])
        program.guards.append(guard)
        out += guard.words(len(words)) + words
    return out


def _words(program, first, kept, tape, known, pack, launch):
    """The words of a launch and of the one that packs the second operand for it, which is left out where it was `kept`."""
    words, count = [], 0
    if pack is not None:
        tape.launches.append(pack)
        got = program.words(tape, known)
        if got is None:
            return None
        words, count = got
        if kept is not None:
            words = unless(program, kept, words)
        tape.launches.clear()
    tape.launches.append(launch)
    got = program.words(tape, known)
    return None if got is None else (words + got[0], count + got[1])


class Guard:
    """What machine code compares before it leaves out a launch: the tensor's version cell, its version, and where its memory lies.

    The tensor's memory is that of the recording as long as its array is; a new array wants `forget`.
    """

    def __init__(self, tensor, position):
        self.tensor, self.position = tensor, position
        self.record = (C.c_int64 * 4)(id(tensor))
        self.forget()

    def forget(self):
        """The next call does the launch."""
        self.cell = self.tensor._shared()
        self.record[1:] = [id(self.cell), -1, 0]

    def words(self, count):
        """The words before a launch of `count` words: see passes/lower_llvm/calls/launch_list.py."""
        return [0, C.addressof(self.record), self.position, count]
