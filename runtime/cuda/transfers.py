"""Elements from host to device, back, and between devices.

What lies between the first and the last element moves as bytes, so strides are kept and no kernel
is needed. Memory of the host that is not pinned is copied by way of pinned memory where there is
little of it, else with a wait.
"""
from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..ir.memory_spans import address, span
from . import device_state as m
from . import plan_recorder
from .arrays import DeviceArray, empty
from .pinned import lent_of

STAGED = 1 << 20                    # at most so many bytes go by way of pinned memory


def dense(a: np.ndarray) -> np.ndarray:
    """An array without gaps: itself, or a copy."""
    if a.flags.c_contiguous or a.size == 0:
        return a
    low, high = span(a)
    if high - low == a.nbytes and all(s >= 0 for s in a.strides):
        return a
    return np.ascontiguousarray(a)


def to_device(a: np.ndarray, index: int, non_blocking: bool = False) -> DeviceArray:
    """Copy a host array to a device. The array may be changed afterwards, unless it is in pinned
    memory and `non_blocking` was given."""
    return constant(index, lambda: _to_device(dense(a), index, non_blocking))


def constant(index: int, make: Callable[[], DeviceArray]) -> DeviceArray:
    """What is made on a device, once for all calls of a plan."""
    with plan_recorder.of(None) as plan:
        made = make()
        if plan is not None:
            m.machine().driver.synchronize_stream(m.current_stream(index))      # for any stream
            plan.kept.append(made)
    return made


def _to_device(a: np.ndarray, index: int, non_blocking: bool) -> DeviceArray:
    machine, stream = m.machine(), m.current_stream(index)
    made = empty(index, a.shape, a.dtype, a.strides if a.size else None)
    if not a.size:
        return made
    low, high = span(a)
    if lent_of(a) is not None and non_blocking:
        machine.driver.copy(made.span[0], low, high - low, stream)
        machine.pinned.used(a, index, stream)
    elif high - low <= STAGED:
        staged = machine.pinned.array((high - low,), np.dtype(np.uint8))
        staged[:] = bytes_of(a, low, high)
        machine.driver.copy(made.span[0], address(staged), high - low, stream)
        machine.pinned.used(staged, index, stream)
    else:
        machine.driver.copy_and_wait(made.span[0], low, high - low, stream)
    return made.recognised()


def bytes_of(a: np.ndarray, low: int, high: int) -> np.ndarray:
    """The bytes of an array without gaps, as an array."""
    order = sorted(range(a.ndim), key=lambda d: -a.strides[d])
    return a.transpose(order).reshape(-1, copy=False).view(np.uint8)


def to_peer(a: DeviceArray, index: int) -> DeviceArray:
    """The elements on another device. The copy is made in the source's stream; both streams wait
    for each other."""
    plan_recorder.unplanned()
    driver = m.machine().driver
    low, high = a.span
    here, there = m.current_stream(a.index), m.current_stream(index)
    made = empty(index, a.shape, a.dtype, a.strides)
    if a.size:
        follow(here, there, index)
        driver.copy(made.span[0], low, high - low, here)
        follow(there, here, a.index)
    return made


def follow(stream: int, other: int, device: int) -> None:
    """Let a stream wait for all that another one, of `device`, has to do now."""
    driver = m.machine().driver
    event = driver.create_event(device, timing=False)
    driver.record(event, other)
    driver.wait(stream, event)
    driver.destroy_event(event)


def transfer(a: np.ndarray | DeviceArray, index: int | None, non_blocking: bool) -> object:
    """The elements on a device, or in memory of the host (None)."""
    if type(a) is not DeviceArray:
        assert isinstance(a, np.ndarray)
        return a if index is None else to_device(a, index, non_blocking)
    if index is None:
        return a.to_host(non_blocking)
    return a if a.index == index else to_peer(a, index)


def pinned_copy(a: np.ndarray) -> np.ndarray:
    """A copy of the elements in pinned memory."""
    made = m.machine().pinned.array(a.shape, a.dtype)
    np.copyto(made, a)
    return made


