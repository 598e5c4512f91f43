"""How a call is made whose launches are written down: on operands that an address tells apart, and
by kernels where only elements move."""
import functools

import numpy as np

from ..ir.spans import address, span
from . import memory, pointwise, taped_launches
from .flat import ALIGN


def apart(operands):
    """Put copies among the operands where arrays share memory: a launch's arguments then tell which
    operand they are."""
    seen: list = []
    for i, a in enumerate(operands):
        if not isinstance(a, np.ndarray):
            continue
        if any(np.may_share_memory(a, b) for b in seen):
            operands[i] = a = _alike(a)
        seen.append(a)


def _alike(a):
    """A copy with the same strides."""
    low, high = span(a)
    made = np.ndarray(a.shape, a.dtype, np.zeros(high - low, np.uint8), address(a) - low, a.strides)
    made[...] = a
    return made


def may_move(operands):
    """Can a kernel move elements of these from one to another?"""
    first = operands[0]
    return (isinstance(first, np.ndarray) and first.itemsize <= 8
            and all(isinstance(a, np.ndarray) and a.dtype is first.dtype for a in operands))


def mover(op):
    """The forward of an op that only moves elements, by kernels alone."""
    return functools.partial(_moved, op)


def _moved(op, *arrays, **attrs):
    out = memory.empty(op.shape(*arrays, **attrs), arrays[0].dtype)
    for part, x in op.moves(out, *arrays, **attrs):
        if not isinstance(x, np.ndarray):
            number = np.empty(1, out.dtype)
            number[...] = x          # refuses what `np.full` casts: 1j as a float
            x = taped_launches.table(number).reshape(())
        if part.size:
            pointwise.move(part, np.broadcast_to(x, part.shape))
    return out


def rooms(arguments):
    """Where in one block of memory each piece begins that launches need meanwhile, by the piece's
    id; and the bytes of the block."""
    pieces = {id(x.memory): x.size for x in arguments if type(x) is taped_launches.Scratch}
    begins, size = {}, 0
    for piece, n in pieces.items():
        begins[piece], size = size, size + -(-n // ALIGN) * ALIGN
    return begins, size
