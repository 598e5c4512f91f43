"""The launches of nodes that eager mode runs in NumPy or Python: moving elements, random numbers,
guards and questions.

With these a whole program is one list for machine code. Each function gives the entries, or None
where Python runs the node."""
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

from ..machine_code.native_runner import machine

if TYPE_CHECKING:
    from whet.ir.graph import Ask, Draw, Guard, OpNode
    from whet.ir.values import Array

    from .builder import ProgramBuilder
    from .launch_entries import Entries

PIECES = 500  # copies of a node: more of them Python makes at once


def constant(b: ProgramBuilder, node: OpNode) -> Entries | None:
    """A copy of what an op without operands makes, or a fill with its one number. Uninitialised
    memory needs no entry."""
    out = b.places.memory(node.outs[0])
    if node.op.is_unset:
        return []
    if node.op.fills is not None:
        x = np.asarray(node.op.fills(**node.attrs)).astype(out.dtype)    # as an op casts a number
        return copied(b, out, x, [out, x])
    made = np.asarray(node.op.forward(**node.attrs))
    return copied(b, out, made, [out, made]) if out.shape == made.shape else None


def is_moved(op: Any) -> bool:
    """Does an op describe its result as copies of parts?"""
    return any(x is not None for x in (op.moves, op.write_by_kernels, op.write_without_numpy))


def moved(b: ProgramBuilder, node: OpNode | Write, rest: Sequence[Any],
          out: Array) -> Entries | None:
    """Copies of parts into the result, or into what is written to, then a kernel that writes the
    rest. `rest`: the operands apart from the target. An op that makes a new value by changing its
    first operand begins with a copy of it."""
    op = node.op
    if op.write_by_kernels is None and op.write_without_numpy is None:
        return moved_by(b, node, rest, out, None)
    for put in (op.write_by_kernels, b.without_numpy(op.write_without_numpy, out, rest)):
        entries = None if put is None else moved_by(b, node, rest, out, put)
        if entries is not None:
            return entries
    return None


def moved_by(b: ProgramBuilder, node: OpNode | Write, rest: Sequence[Any], out: Array,
             put: Any) -> Entries | None:
    """What `moved` does, with `put` as the kernel that follows the copies. None: no kernel
    follows."""
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
    """A copy into a part of an array."""
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
    """A random draw; its last block may be longer than the result."""
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
    """Check that a value that Python continued from is the same."""
    if not native.enabled() or not x.size or not x.flags.c_contiguous:
        return None
    wanted, flag, tape = node.value.copy(), np.zeros(1, np.int64), taped_launches.Tape()
    tape.launches.append((machine()[2], 1, 1, x, wanted, x.nbytes // 8, x.nbytes % 8, flag))
    got = b.tapes.entries(tape, [x, wanted, flag])
    return None if got is None else [*got, b.tapes.check(flag, 1, node)]


def asked(b: ProgramBuilder, node: Ask, x: Array, *numbers: Array) -> Entries | None:
    """Check that a question has the same answer. Each of its facts has to hold again for some
    element, or for none. The facts may have `numbers` as operands."""
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
    """Does a fact hold for some element? The answer is written to `made`."""
    if numbers:
        x, source = taped_launches.partial(memory.empty(x.shape, np.dtype(np.bool_))), x
        Pointwise("asked", (fact,), 1 + len(numbers))([source, *numbers], [x])
        fact = None
    made.append(reduce("any", x, pre=fact))
