"""The launches of nodes that eager does in NumPy or Python: elements that only move, random
numbers, and what Python saw of values.

A program with them is one list for machine code. Each function gives the entries, or None where
Python does the node.
"""
from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from whet.cpu import memory, native, taped_launches
from whet.cpu.interleaved_moves import move_all, together
from whet.cpu.pointwise import Pointwise, move
from whet.cpu.reduce import reduce
from whet.ir.graph import Write
from whet.ir.outline import Outline, broadcast_to

from .native_runner import machine

if TYPE_CHECKING:
    from whet.ir.graph import Ask, Draw, Guard, OpNode
    from whet.ir.values import Array

    from .builder import ProgramBuilder
    from .launch_entries import Entries

PIECES = 500  # copies of a node: more of them Python makes at once


def constant(b: ProgramBuilder, node: OpNode) -> Entries | None:
    """A copy of what an op without operands makes, or of the one number that it fills with. Memory
    that is left as it is needs nothing."""
    out = b.places.memory(node.outs[0])
    if node.op.is_unset:
        return []
    if node.op.fills is not None:
        x = np.asarray(node.op.fills(**node.attrs)).astype(out.dtype)    # as an op casts a number
        return copied(b, out, x, [out, x])
    made = np.asarray(node.op.forward(**node.attrs))
    return copied(b, out, made, [out, made]) if out.shape == made.shape else None


def is_moved(op: Any) -> bool:
    """Does an op say what it moves or puts where?"""
    return any(x is not None for x in (op.moves, op.put, op.put_alone))


def moved(b: ProgramBuilder, node: OpNode | Write, rest: Sequence[Any],
          out: Array) -> Entries | None:
    """Copies to parts of the result, or of what is written to, then a kernel that puts more there.
    `rest`: the operands without that; an op that makes a new value from the first one by writing
    to it begins with a copy."""
    op = node.op
    if op.put is None and op.put_alone is None:
        return moved_by(b, node, rest, out, None)
    for put in (op.put, b.alone(op.put_alone, out, rest)):
        entries = None if put is None else moved_by(b, node, rest, out, put)
        if entries is not None:
            return entries
    return None


def moved_by(b: ProgramBuilder, node: OpNode | Write, rest: Sequence[Any], out: Array,
             put: Any) -> Entries | None:
    """What `moved` does, where more is put into the copies by the kernel `put`; nothing is where
    that is None."""
    op, known = node.op, [out, *rest]
    entries: Entries = []
    pairs: list[tuple[Array, Any]] = []
    if not isinstance(node, Write) and op.write is not None:
        pairs, rest = [(out, rest[0])], rest[1:]
    if put is not None:
        b.as_indices(rest)
    if op.moves is not None:
        pairs = [*pairs, *op.moves(out, *rest, **node.attrs)]
    if len(pairs) > PIECES:
        return None
    for group in together(pairs):
        part, x = group[0]
        got = (copied(b, part, x, known) if len(group) == 1 else
               b.take(partial(move_all, group), known))
        if got is None:
            return None
        entries += got
    if put is None:
        return entries
    done: list[bool] = []
    got = b.take(lambda: done.append(put(out, *rest, **node.attrs)), [out, *rest], node=node)
    return [*entries, *got] if got is not None and done == [True] else None


def copied(b: ProgramBuilder, part: Array, x: Any, known: Sequence[Any]) -> Entries | None:
    """A copy to a part of an array."""
    if not part.size:
        return []
    if type(x) in (bool, int, float):
        x = np.asarray(x, part.dtype)
        known = [*known, x]
    if not isinstance(x, np.ndarray) or x.dtype != part.dtype or x.itemsize > 8:
        return None
    of_sizes: object = type(part)            # a stand-in of unknown sizes
    broadcast = broadcast_to if of_sizes is Outline else np.broadcast_to
    return b.take(lambda: move(part, broadcast(x, part.shape)), known)


def drawn(b: ProgramBuilder, node: Draw) -> Entries | None:
    """A draw of random numbers; its last block may be longer than the result."""
    draw, out, draws = node.op.draw, b.places.memory(node.outs[0]), b.drawn
    numbers = draws.of(node)
    seed, at = numbers[:1].reshape(()), numbers[1:].reshape(())
    if not out.flags.c_contiguous:
        return None
    room = draw.room(out.size)
    fits = room == out.size
    flat = out.reshape(-1) if fits else b.places.part(memory.empty((room,), out.dtype))
    counters = draws.counters(draw, out.size)
    known = [flat, draws.numbers, counters]
    got = b.take(lambda: draw.into(flat, counters, seed, at), known)
    if got is None or fits:
        return got
    rest = copied(b, out, flat[:out.size].reshape(out.shape), [out, flat])
    return None if rest is None else [*got, *rest]


def same(b: ProgramBuilder, node: Guard, x: Array) -> Entries | None:
    """The value that Python went on from must be there again."""
    if not native.enabled() or not x.size or not x.flags.c_contiguous:
        return None
    wanted, flag, tape = node.value.copy(), np.zeros(1, np.int64), taped_launches.Tape()
    tape.launches.append((machine()[2], 1, 1, x, wanted, x.nbytes // 8, x.nbytes % 8, flag))
    got = b.tapes.entries(tape, [x, wanted, flag])
    return None if got is None else [*got, b.tapes.check(flag, 1, node)]


def asked(b: ProgramBuilder, node: Ask, x: Array, *numbers: Array) -> Entries | None:
    """A question must have the answer that it had: each of its facts, which may have `numbers` for
    operands, is true of some element again, or of none."""
    entries: Entries = []
    for fact, answer in node.asks or ():
        flag = np.zeros(1, np.int64)
        made: list[Array] = []
        place = flag.view(np.bool_)[:1].reshape(())
        if x.size == 1:
            kernel = Pointwise("asked", (fact,), 1 + len(numbers))
            got = b.take(partial(kernel, [x.reshape(()), *numbers], [place]), [x, flag, *numbers])
        else:
            got = b.take(partial(_reduced, made, x, numbers, fact), [x, *numbers], made, [place])
        if got is None:
            return None
        entries += [*got, b.tapes.check(flag, answer, node)]
    return entries or None


def _reduced(made: list[Array], x: Array, numbers: Sequence[Array], fact: Any) -> None:
    """Is a fact true of some element? The answer goes into `made`."""
    if numbers:
        x, source = taped_launches.partial(memory.empty(x.shape, np.dtype(np.bool_))), x
        Pointwise("asked", (fact,), 1 + len(numbers))([source, *numbers], [x])
        fact = None
    made.append(reduce("any", x, pre=fact))
