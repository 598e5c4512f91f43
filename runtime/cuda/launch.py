"""Launches: a kernel's source, its arguments, and the stream on which it runs."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..ir.memory_spans import address, span
from . import device_state as m
from . import plan_recorder
from .driver import Launch

if TYPE_CHECKING:
    from ..passes.lower_triton.source import Programs, Source

ALIGNED = 16                        # of what is a multiple of it, whole vectors are read at once


def is_multiple(number: Any) -> bool:
    """Is an argument a multiple of 16 at every call?"""
    return isinstance(number, int) and not number % ALIGNED


def launch(index: int, source: Source, arrays: Mapping[str, np.ndarray],
           numbers: Mapping[str, float]) -> None:
    """Run a kernel in this thread's stream. `arrays` are its pointer arguments, `numbers` its other
    ones."""
    starts = {name: address(a) for name, a in arrays.items()}
    arguments = {**numbers, **starts}
    aligned = tuple([name for name, kind in source.parameters
                     if kind[0] in "*i" and is_multiple(arguments[name])])
    start(index, source, aligned, source.programs(numbers), arrays, numbers)


def start(index: int, source: Source, aligned: tuple[str, ...], programs: Programs,
          arrays: Mapping[str, np.ndarray], numbers: Mapping[str, float]) -> None:
    """Launch a kernel on a grid of `programs`. `aligned`: parameters that are multiples of 16 at
    every call."""
    machine = m.machine()
    key = index, source, aligned
    kernel = machine.kernels.get(key)
    if kernel is None:
        kernel = machine.kernels[key] = machine.driver.load(index, source, aligned)
    plan = plan_recorder.current()
    if plan is not None:
        return plan.start(kernel, programs, arrays, numbers)
    arguments = {**numbers, **{name: address(a) for name, a in arrays.items()}}
    call = Launch(programs, arguments, [span(a) for a in arrays.values()])
    machine.driver.launch(kernel, call, m.current_stream(index))


def bad_data(index: int, name: str, error: Callable[[int, int], Exception]) -> Any:
    """The number of the first of two words in which a launch notes bad data: `error` is of it."""
    if plan_recorder.current() is not None:
        return plan_recorder.Noted(name, error)
    return m.machine().checks[index].promise(m.current_stream(index), name, error)
