"""The address ranges of arrays."""
from __future__ import annotations

import ctypes as C
import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from .values import Array, Type

LINE = 64                        # bytes that pass through memory together


def _told(a: Array) -> int:
    """Where NumPy says that an array's first element lies: it makes a dictionary of all that is
    to be said of it."""
    return int(a.__array_interface__["data"][0])


def _read(a: Array, behind: int = object.__basicsize__,
          word: Callable[[int], C.c_size_t] = C.c_size_t.from_address) -> int:
    """What lies behind an object's head: of an array, where its first element lies."""
    return word(id(a) + behind).value


def _fits() -> bool:
    """Do arrays of this NumPy in this Python begin so?"""
    a = np.zeros((3, 4))
    others: list[Array] = [
        a, a[1:], a.T[2:, ::-1],
        np.zeros(1, np.int8),
        np.zeros((0, 2)), a[1, 1, ...]]
    return all(_read(x) == _told(x) for x in others)


# reading takes a fifth of the time
address: Callable[[Array], int] = _read if _fits() else _told


def span(a: Array) -> tuple[int, int]:
    """The addresses of the first byte of an array's elements and of the byte behind the last one.

        >>> import numpy as np
        >>> from whet.ir.memory_spans import span
        >>> low, high = span(np.zeros((3, 4))[:, ::-1])
        >>> high - low
        96
    """
    if a.flags.c_contiguous:                 # most are, and NumPy goes through all dimensions
        low = address(a)
        return low, low + a.nbytes
    return np.lib.array_utils.byte_bounds(a)


def seen(a: Array, offset: int, t: Type) -> Array:
    """What lies some bytes after an array's first element, as a tensor of this type."""
    low, high = t.span
    memory: Any = (C.c_uint8 * (high - low)).from_address(address(a) + offset + low)
    return np.ndarray(t.shape, t.dtype, memory, -low, t.strides)


def in_turns(parts: Sequence[Array]) -> bool:
    """Do parts of an array lie in turns in it, each a few bytes side by side at a time?

        >>> import numpy as np
        >>> from whet.ir.memory_spans import in_turns
        >>> a = np.zeros((100, 2))
        >>> in_turns([a[:, 0], a[:, 1]]), in_turns([a[:50], a[50:]])
        (True, False)
    """
    first = parts[0]
    if any(p.shape != first.shape or p.strides != first.strides for p in parts):
        return False
    run, step = first.itemsize, 0
    for n, stride in sorted(zip(first.shape, first.strides, strict=True), key=lambda d: abs(d[1])):
        if n != 1 and stride != run:
            step = stride
            break
        run *= n
    at = sorted(map(address, parts))
    return (run < LINE and at[-1] - at[0] + run <= step
            and all(b - a >= run for a, b in itertools.pairwise(at)))


def dense_ones_overlap(arrays: Iterable[Array]) -> bool:
    """Does any memory belong to two of these arrays, all of which are dense?

        >>> import numpy as np
        >>> from whet.ir.memory_spans import dense_ones_overlap
        >>> a = np.zeros(4)
        >>> dense_ones_overlap([a[:2], a[2:]]), dense_ones_overlap([a[:3], a[2:]])
        (False, True)
    """
    spans = sorted((address(a), a.nbytes) for a in arrays if a.size)
    return any(at + n > after for (at, n), (after, _) in itertools.pairwise(spans))
