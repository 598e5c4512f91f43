"""Facts of NumPy arrays, and of the arguments of NumPy functions, that need no look at the
numbers."""
from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np
from whet.dtypes import FROM_NUMPY
from whet.ir.memory_spans import span
from whet.ir.values import Array

# what an index that selects a window consists of, beside slices
WINDOWS = frozenset((int, type(None), type(...)))


def takes(x: Any) -> bool:
    """Can this array be an input?"""
    return (type(x) is np.ndarray and x.dtype in FROM_NUMPY and x.dtype.isnative
            and x.flags.aligned and all(s % x.itemsize == 0 for s in x.strides))


def is_number(x: Any) -> bool:
    """Can this NumPy number be an input? NaN cannot: code may look for it by identity."""
    return issubclass(type(x), np.floating) and x.dtype in FROM_NUMPY and bool(x == x)


def can_be_noted(y: Any) -> bool:
    """Can this be a result of a node?"""
    return isinstance(y, np.generic) and y.dtype in FROM_NUMPY or takes(y)


def layout(x: Array) -> tuple[Any, ...]:
    """Everything that describes an array, except its numbers."""
    return x.dtype, x.shape, x.strides, x.flags.writeable


def is_all(index: object) -> bool:
    """Does an index select the whole array?"""
    return index is ... or type(index) is slice and index == slice(None)


def is_a_window(index: object) -> bool:
    """Does an index select a window, which NumPy shows? Lists, arrays and truth values select a
    copy.

    >>> from whet.jit.values.array_facts import is_a_window
    >>> is_a_window((0, slice(1, None))), is_a_window([0, 1])
    (True, False)
    """
    parts = index if type(index) is tuple else (index,)
    return all(type(part) in WINDOWS or type(part) is slice and all(
        type(x) in WINDOWS for x in (part.start, part.stop, part.step)) for part in parts)


def several(made: Any) -> Sequence[Any]:
    """The results of a function, as a sequence."""
    return made if isinstance(made, tuple | list) else (made,)


def like(made: Any, parts: Sequence[Any]) -> Any:
    """`parts`, as `made` has its own: one alone, a tuple or a list."""
    if not isinstance(made, tuple | list):
        return parts[0]
    kind: Any = type(made)
    return kind._make(parts) if hasattr(kind, "_make") else kind(parts)


def overlap(a: Array, b: Array) -> bool:
    """Do the address ranges of two arrays overlap?"""
    if not a.size or not b.size:
        return False
    (low, high), (first, end) = span(a), span(b)
    return low < end and first < high


def ordinary(x: Any) -> Any:
    """An argument with deques and subclasses of list and tuple replaced by lists and tuples, which
    NumPy treats the same.

    >>> from collections import deque
    >>> from whet.jit.values.array_facts import ordinary
    >>> ordinary((deque([1, 2], maxlen=2), 0))
    ([1, 2], 0)
    """
    if isinstance(x, deque | list):
        return [ordinary(y) for y in x]
    if isinstance(x, tuple):
        return tuple([ordinary(y) for y in x])
    return {k: ordinary(y) for k, y in x.items()} if type(x) is dict else x


def flat(x: Any) -> list[Any]:
    """The leaves of nested tuples and lists."""
    if type(x) in (tuple, list):
        return [z for y in x for z in flat(y)]
    if type(x) is slice:
        return flat((x.start, x.stop, x.step))
    return [z for y in x.values() for z in flat(y)] if type(x) is dict else [x]
