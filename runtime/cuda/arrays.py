"""What a tensor on a device has in the place of a NumPy array: where its elements lie there.

Memory is held by all views of it together.
"""
from __future__ import annotations

from math import prod
from typing import Any, NoReturn

import numpy as np

from .. import devices
from ..device_arrays import PlacedArray, geometry, reach
from ..ir.memory_spans import address
from . import device_state as m
from . import plan_recorder
from .allocator import BlockReference

# (elements, what to put there): `whet.cuda.execute` brings it
write_elements: Any = None


# what arrays are like, by number
_kinds: dict[tuple[Any, ...], int] = {}


class DeviceArray(PlacedArray):
    """An array on a device: its memory, and the address, shape and strides of its elements in
    it."""
    __slots__ = ("_kind",)
    held: BlockReference

    def __init__(self, held: BlockReference, geometry: np.ndarray) -> None:
        super().__init__(held, geometry)
        self._kind: int | None = None

    @classmethod
    def at(cls, held: BlockReference, address: int, shape: tuple[int, ...],
           strides: tuple[int, ...], dtype: np.dtype, kind: int | None = None) -> DeviceArray:
        """An array over memory, whose first element is at `address`."""
        self = object.__new__(cls)
        self.held, self.address, self.shape, self.strides = held, address, shape, strides
        self.dtype, self._geometry, self._kind = dtype, None, kind
        return self

    @property
    def kind(self) -> int:
        """A number for shape, strides, type, alignment and device. It is one object for all arrays
        that are alike in these."""
        if self._kind is None:
            facts = self.shape, self.strides, self.dtype, self.address % 16, self.index
            self._kind = _kinds.setdefault(facts, len(_kinds))
        return self._kind

    def recognised(self) -> DeviceArray:
        """The array, whose kind is known: who compares arrays by it need not ask."""
        self._kind = self.kind
        return self

    # ---- where it is ----
    @property
    def index(self) -> int:
        """The number of the device."""
        return self.held.allocator.device

    @property
    def device(self) -> devices.device:
        """The device."""
        return devices.cuda(self.index)

    @property
    def start(self) -> int:
        """The device's address of the first byte of the memory that all views share."""
        return self.held.block.address

    @property
    def room(self) -> int:
        """How many bytes that memory has."""
        return self.held.block.size

    @property
    def storage(self) -> tuple[int, int]:
        """The bytes that were asked for: the first one, and the one after the last."""
        return self.start, self.start + self.held.block.wanted

    # ---- numbers out ----
    def to_host(self, non_blocking: bool = False) -> np.ndarray:
        """Copy to host memory: after a wait, or, with `non_blocking`, to pinned memory, which is
        filled when the stream has come so far."""
        plan_recorder.unplanned()
        if not self.size:
            return np.empty(self.shape, self.dtype)
        machine, stream = m.machine(), m.current_stream(self.index)
        low, high = self.span
        if non_blocking:
            raw = machine.pinned.array((high - low,), np.dtype(np.uint8))
            machine.driver.copy(address(raw), low, high - low, stream)
            machine.pinned.used(raw, self.index, stream)
        else:
            raw = np.empty(high - low, np.uint8)
            machine.driver.copy_and_wait(address(raw), low, high - low, stream)
            machine.checks[self.index].settle(stream)
        laid = np.ndarray(self.shape, self.dtype, raw, self.address - low, self.strides)
        return laid if high - low == self.nbytes or non_blocking else laid.copy(order="K")

    def item(self) -> Any:
        """The one element as a number, after a wait."""
        return self.to_host().item()

    def tolist(self) -> Any:
        """Nested lists of numbers, after a wait."""
        return self.to_host().tolist()

    # ---- what it is not ----
    def refuse(self, what: str) -> NoReturn:
        """The error of what devices do not do yet."""
        raise NotImplementedError(f"{what}: there is no form of it for '{self.device}' yet. "
                                  "Use `.cpu()` to compute on the CPU.")

    def __setitem__(self, item: Any, value: Any) -> None:
        if write_elements is None:
            self.refuse("writing through an array")
        to = self[item]
        if type(value) is not DeviceArray:
            value = np.asarray(value, None if isinstance(value, np.ndarray) else to.dtype)
        write_elements(to, value)

    def fill(self, value: Any) -> None:
        """Write a number everywhere."""
        self[...] = value


def empty(index: int, shape: tuple[int, ...], dtype: np.dtype,
          strides: tuple[int, ...] | None = None) -> DeviceArray:
    """New memory for such elements, in this thread's stream."""
    low, high = (0, prod(shape) * dtype.itemsize)
    if strides is not None:
        low, high = reach(shape, strides, dtype.itemsize)
    plan, what = plan_recorder.current(), f"{tuple(shape)} {dtype.name}"
    held: Any = (m.machine().allocators[index].allocate(high - low, m.current_stream(index), what)
                 if plan is None else plan.ask(high - low, what))
    return DeviceArray(held, geometry(held.block.address - low, tuple(shape), dtype, strides))


def is_here(a: Any) -> bool:
    """Is it the memory of a tensor on a device?"""
    return type(a) is DeviceArray
