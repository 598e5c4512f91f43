"""The launches of nodes that eager does in NumPy or Python: elements that only move, random numbers, and what Python saw of values.

A program with them is one list for machine code. Each gives (words, their number), or None where Python does the node.
"""
import numpy as np
from whet.cpu import entries, memory
from whet.cpu.pointwise import Pointwise, move
from whet.cpu.reduce import reduce
from whet.ir.graph import Ref

from .native_runner import machine

PIECES = 500                     # copies of a node: more of them Python makes at once


def can(node):
    """Is a node one of these?"""
    if node.kind in ("op", "write"):
        return node.op.moves is not None or node.op.put is not None or node.kind == "op" and not node.ins and not node.op.random
    return node.kind in ("guard", "ask", "draw")


def launches(program, node, ins):
    """The words of a node's launches, and their number."""
    if node.kind == "draw":
        return _drawn(program, node)
    if node.kind == "guard":
        return _same(program, node, ins[0])
    if node.kind == "ask":
        return _asked(program, node, ins[0])
    if node.kind == "op" and not ins:
        out, made = program.memory(node.outs[0]), np.asarray(node.op.forward(**node.attrs))
        return _copied(program, out, made, [out, made]) if out.shape == made.shape else None
    return _moved(program, node, ins)


def _moved(program, node, ins):
    """Copies to parts of the result (or of what is written to), then a kernel that puts more there."""
    op, words, count = node.op, [], 0
    if node.kind == "write":
        out, rest, pairs = ins[0], ins[1:], []
        if any(program.entwined(node.ins[0], x) for x in node.ins[1:] if type(x) is Ref):
            return None
    else:
        out = program.memory(node.outs[0])
        rest, pairs = (ins, []) if op.write is None else (ins[1:], [(out, ins[0])])
    if op.put is not None:
        program.as_indices(rest)
    if op.moves is not None:
        pairs = [*pairs, *op.moves(out, *rest, **node.attrs)]
    if len(pairs) > PIECES:
        return None
    for part, x in pairs:
        got = _copied(program, part, x, [out, *ins])
        if got is None:
            return None
        words, count = words + got[0], count + got[1]
    if op.put is None:
        return words, count
    done = []
    got = program.take(lambda: done.append(op.put(out, *rest, **node.attrs)), [out, *rest], node=node)
    return (words + got[0], count + got[1]) if got is not None and done == [True] else None


def _copied(program, part, x, known):
    """A copy to a part of an array."""
    if not part.size:
        return [], 0
    if type(x) in (bool, int, float):
        x = np.asarray(x, part.dtype)
        known = [*known, x]
    if type(x) is not np.ndarray or x.dtype != part.dtype or x.itemsize > 8:
        return None
    return program.take(lambda: move(part, np.broadcast_to(x, part.shape)), known)


def _drawn(program, node):
    """A draw of random numbers; its last block may be longer than the result."""
    draw, out, (seed, at) = node.op.draw, program.memory(node.outs[0]), program.drawn[program.seats[id(node)]].reshape(2, 1)
    if not out.flags.c_contiguous:
        return None
    flat = out.reshape(-1) if draw.room(out.size) == out.size else program.part(memory.empty(draw.room(out.size), out.dtype))
    known = [flat, program.drawn, draw.counters(out.size)]
    got = program.take(lambda: draw.into(flat, out.size, seed.reshape(()), at.reshape(())), known)
    if got is None or flat.size == out.size:
        return got
    rest = _copied(program, out, flat[:out.size].reshape(out.shape), [out, flat])
    return None if rest is None else (got[0] + rest[0], got[1] + rest[1])


def _same(program, node, x):
    """The value that Python went on from must be there again."""
    if not x.size or not x.flags.c_contiguous:
        return None
    wanted, same, tape = node.value.copy(), np.zeros(1, np.int64), entries.Tape()
    tape.launches.append((machine()[2], 1, 1, x, wanted, x.nbytes // 8, x.nbytes % 8, same))
    got = program.words(tape, [x, wanted, same])
    return None if got is None else (got[0] + program.checked(same, 1, node), got[1])


def _asked(program, node, x):
    """A question must have the answer that it had: each of its facts is true of some element again, or of none."""
    words, count = [], 0
    for fact, answer in node.roots or ():
        flag, made = np.zeros(1, np.int64), []
        place = flag.view(np.bool_)[:1].reshape(())
        if x.size == 1:
            kernel = Pointwise("asked", (fact,), 1)
            got = program.take(lambda kernel=kernel, place=place: kernel([x.reshape(())], [place]), [x, flag])
        else:
            got = program.take(lambda fact=fact, made=made: made.append(reduce("any", x, pre=fact)), [x], made, [place])
        if got is None:
            return None
        words, count = words + got[0] + program.checked(flag, answer, node), count + got[1]
    return (words, count) if count else None
