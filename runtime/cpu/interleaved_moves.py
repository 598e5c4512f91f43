"""Copies to interleaved parts of an array, such as the columns of a stack: one kernel makes
several. Each copy alone would traverse all of the array's memory."""
import functools

import numpy as np

from ..ir import scalar as S
from ..ir.memory_spans import in_turns
from .pointwise import BITS, Pointwise, move

# copies of a kernel: as many streams of memory as machines follow, and one that is written
MOST = 16


def together(pairs):
    """Group copies, given as pairs of a part and its source, so that one kernel makes each
    group."""
    groups: list = []
    for pair in pairs:
        last = groups[-1] if groups else None
        if last is not None and len(last) < MOST and _fit(last, pair):
            last.append(pair)
        else:
            groups.append([pair])
    return groups


def move_all(pairs):
    """Make a group of copies, between arrays of one type that do not overlap."""
    if len(pairs) == 1:
        (part, x), = pairs
        move(part, x)
        return
    bits = BITS[pairs[0][0].itemsize]
    _copies(len(pairs))([x.view(bits) for _, x in pairs], [part.view(bits) for part, _ in pairs])


@functools.cache
def _copies(count):
    return Pointwise(f"{count} copies", tuple([S.arg(i) for i in range(count)]), count)


def _fit(group, pair):
    """Is the memory that a copy writes interleaved with that of the others?"""
    first, (part, x) = group[0][0], pair
    if (type(part) is not np.ndarray or type(x) is not np.ndarray
            or type(first) is not np.ndarray or type(group[0][1]) is not np.ndarray):
        return False
    return (part.dtype == first.dtype == x.dtype == group[0][1].dtype and part.itemsize in BITS
            and x.shape == part.shape
            and in_turns([part for part, _ in group] + [part]))
