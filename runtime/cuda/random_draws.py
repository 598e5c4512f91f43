"""Random numbers drawn on devices: the same function of seed and position as on the CPU."""
from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from ..ir import scalar as S
from . import plans, sort
from .arrays import DeviceArray, empty
from .pointwise import Expressions, compute, with_numbers
from .transfers import to_device

U64 = np.dtype(np.uint64)
ROW = 1024                          # counters are sums of a multiple of it and of what is left


def drawn(op: Any, shape: tuple[int, ...], seed: int, at: int, index: int) -> DeviceArray:
    """The numbers of an op for draws, from a position of a seed's stream on."""
    def draw(numbers: Sequence[Any]) -> DeviceArray:
        return at_position(op, shape, numbers, index)
    made: DeviceArray = plans.planned((op, "drawn"), index, [at, seed], {"shape": tuple(shape)},
                                      draw, by_value=False)
    return made


def at_position(op: Any, shape: tuple[int, ...], numbers: Sequence[Any],
                index: int) -> DeviceArray:
    """The numbers of an op for draws. `numbers`: the position in a seed's stream, and the seed."""
    n, draw = prod(shape), op.draw
    flat = empty(index, (draw.room(n),), draw.dtype)
    if n:
        count = flat.size // draw.per
        where = with_numbers(numbers, partial(np.asarray, dtype=U64))
        roots = Expressions(f"philox_{draw.kind}", op.words())
        compute(roots, [counters(count, index), *where], index,
                [flat[k * count:(k + 1) * count] for k in range(draw.per)])
    return flat[:n].reshape(shape)


def counters(count: int, index: int) -> DeviceArray:
    """0, 1, ... for each block of a draw."""
    rows = -(-count // ROW)
    down, across = (to_device(a, index) for a in (
        (np.arange(rows, dtype=U64) * ROW)[:, None], np.arange(ROW, dtype=U64)))
    made, = compute(Expressions("counters", (S.arg(0) + S.arg(1),)), [down, across], index)
    return made.reshape(-1)[:count]


def ranged(words: DeviceArray, *, low: int, span: int) -> DeviceArray:
    """Random words as whole numbers in [low, low + span), as `random_range` has them."""
    word, one = S.cast(S.arg(0), "u64"), S.cast(S.arg(1), "u64")
    if words.itemsize == 4:
        number = S.shr(word * one, S.cast(S.const(32), "u64"))
    else:
        number = S.mod(word, one) if span < 1 << 64 else word
    operands = [words, np.asarray(min(span, (1 << 64) - 1), U64)]
    root = S.cast(number, "i64") + low if low else S.cast(number, "i64")
    made, = compute(Expressions("random_range", (root,)), operands, words.index)
    return made


def ordered(keys: DeviceArray) -> DeviceArray:
    """The places of keys in ascending order."""
    return sort.sort_keys(sort.keys_of(keys.reshape(1, -1)))[1].reshape(-1)
