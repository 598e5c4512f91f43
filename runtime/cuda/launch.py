"""Launches: a kernel's text, what it is given, the stream that it goes to."""
from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ..ir.spans import address, span
from . import machine as m
from .driver import Launch

if TYPE_CHECKING:
    from ..passes.lower_triton.source import Source

ALIGNED = 16                        # of what is a multiple of it, whole vectors are read at once


def launch(index: int, source: Source, arrays: Mapping[str, np.ndarray],
           numbers: Mapping[str, float]) -> None:
    """Run a kernel on a device, in this thread's stream. `arrays` tell where its pointers' elements
    lie; `numbers` are its other parameters."""
    machine = m.machine()
    starts = {name: address(a) for name, a in arrays.items()}
    arguments = {**numbers, **starts}
    aligned = tuple([
        name for name, kind in source.parameters
        if kind[0] in "*i" and not arguments[name] % ALIGNED])
    key = index, source, aligned
    kernel = machine.kernels.get(key)
    if kernel is None:
        kernel = machine.kernels[key] = machine.driver.load(index, source, aligned)
    given = Launch(source.programs(numbers), arguments, [span(a) for a in arrays.values()])
    machine.driver.launch(kernel, given, m.current_stream(index))
