"""The rest of a replay whose guards machine code has compared, where Python starts the program."""
from __future__ import annotations

import functools
from collections.abc import Callable
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from whet.tensor import wrap

from ..machine_code.native_entry import MISSED
from ..refusals.replay_miss import Miss
from ..values.varying_numbers import tensor_of


class Handed(NamedTuple):
    """What machine code hands over. `order`: which leaf each object is. `number`, `numpy`: which
    leaves are numbers, and which are NumPy arrays or NumPy numbers. `lengths`: numbers that machine
    code has compared and does not hand over. `known`: the arrays of outside tensors, by the
    tensors' addresses, which it has compared too. `by_leaves`: did it get the leaves, found by
    Python, in place of the arguments? `without_boxes`: are the containers among the arguments still
    to be found?"""

    order: list[int]
    number: list[bool]
    numpy: list[bool]
    lengths: dict[int, int]
    known: dict[int, Any]
    by_leaves: bool = False
    without_boxes: bool = False


def after_table(recording: Any, handed: Handed) -> Callable[..., Any]:
    """A function that takes what machine code hands over and does the rest of a replay: it returns
    the result or MISSED. If the containers among the arguments are needed, it returns a function of
    these instead."""
    lock, run = recording.lock, recording.replay.run_with_arrays
    order, number, numpy, known = handed.order, handed.number, handed.numpy, handed.known
    arrays_of = recording.replay.inputs.arrays_beside(known)
    in_order = order == list(range(len(number))) and not any(number) and not any(numpy)

    def arranged(tensors: tuple[Any, ...]) -> list[Any]:
        own: list[Any] = [None] * len(number)
        for i, x in zip(order, tensors):
            own[i] = wrap(np.asarray(x)) if numpy[i] else tensor_of(x) if number[i] else x
        return own

    def rest(tensors: tuple[Any, ...], boxes: Any = ()) -> Any:
        if not lock.acquire(False):
            return MISSED
        start = perf_counter()
        try:
            own = tensors if in_order else arranged(tensors)
            return run(arrays_of, own, boxes)
        except Miss:
            recording.counts.in_vain += perf_counter() - start
            return MISSED
        finally:
            lock.release()
    if handed.without_boxes:
        return lambda *tensors: functools.partial(rest, tensors)
    return lambda *tensors: rest(tensors)
