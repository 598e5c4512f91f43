"""Whole Python numbers that become sizes, given as sizes.

Some numbers are used where sizes are: the function slices by them, or makes tensors of such a size
(`cache[:, :pos + 1]`). A recording gets such a number as the size of a tensor without memory. So
everything that follows sizes follows the number as well. Calls with other numbers are recorded like
this one, or replayed without a run, also by machine code.
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from whet.ir.symbolic_size import LEAST
from whet.tensor import wrap

if TYPE_CHECKING:
    from .number_paths import Path

MOST = 1 << 40                   # of such a number
NAME = "a size"                  # of its kind, in the key of a call

_memory = np.zeros(1, np.int8)


def is_one(x: Any) -> bool:
    """Can a number be given as a size?"""
    return type(x) is int and 0 <= x < MOST


def tensor_of_length(x: int) -> Any:
    """A tensor of a size that stands for a number. No size is 0 or 1, which differ from others in
    more than how large they are."""
    return wrap(np.ndarray((x + LEAST,), np.int8, _memory, 0, (0,)))


def length_of(t: Any) -> int:
    """The number."""
    n: int = t._array.shape[0]
    return n - LEAST


def described(x: int, sizes: bool = True) -> tuple[Any, ...]:
    """A number in the key of a call; `sizes`: is a size part of that?"""
    return (int, NAME, x) if sizes else (int, NAME)


def key_with_lengths(key: tuple[Any, ...], numbers: Iterable[Path], lengths: Mapping[Path, Any],
                     sizes: bool = True) -> tuple[Any, ...]:
    """A key with others of its numbers as sizes. `numbers`: where those are that vary, in the
    key's order, `lengths`: what stands for those that became sizes."""
    left = iter(numbers)

    def visit(d: Any) -> Any:
        if type(d) is not tuple:
            return d
        if len(d) == 2 and (d[0] is int or d[0] is float) and isinstance(d[1], np.dtype):
            path = next(left)
            return described(length_of(lengths[path]), sizes) if path in lengths else d
        return tuple(map(visit, d))
    args, kwargs, *modes = key
    return visit(args), visit(kwargs), *modes
