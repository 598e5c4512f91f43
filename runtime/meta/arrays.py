"""What a tensor on `meta` has in the place of a NumPy array: where elements would lie."""
from __future__ import annotations

import threading
from math import prod
from typing import Any, NoReturn

import numpy as np

from .. import devices
from ..device_arrays import Addresses, PlacedArray, reach
from ..ir.outline import dense

META = devices.device("meta")
NO_DATA = "Cannot copy out of meta tensor; no data!"
FIRST, LAST, ALIGNED = 1 << 20, 1 << 62, 64
MOST_BYTES = 1 << 63             # as many as a tensor may have anywhere

_lock = threading.Lock()
_next = FIRST


class NoMemory:
    """So many bytes that there are not. They have addresses, which no other such memory has: what
    asks whether two arrays share memory goes by them."""
    __slots__ = ("start", "size")

    def __init__(self, size: int) -> None:
        global _next
        with _lock:
            if _next + size > LAST:
                _next = FIRST
            self.start, self.size = _next, size
            _next += -(-max(size, 1) // ALIGNED) * ALIGNED


class MetaArray(PlacedArray):
    """Type, shape and strides, and of which memory it is a view. Writing does nothing; elements
    that are asked for are an error."""
    __slots__ = ()
    held: NoMemory
    index = None                 # the number of the device
    device = META
    start = property(lambda self: self.held.start)
    room = property(lambda self: self.held.size)
    storage = property(lambda self: (self.start, self.start + self.room))
    pointer = 0

    @property
    def geometry(self) -> np.ndarray:
        """A NumPy array over the addresses. It knows how far the memory reaches, which other views
        of that may do."""
        if self._geometry is None:
            whole = np.asarray(Addresses(self.start, (self.room,), None))
            self._geometry = np.ndarray(self.shape, self.dtype, whole, self.address - self.start,
                                        self.strides)
        return self._geometry

    @classmethod
    def at(cls, held: NoMemory, address: int, shape: tuple[int, ...], strides: tuple[int, ...],
           dtype: np.dtype) -> MetaArray:
        """Elements of a memory, the first of which lies at `address`."""
        self = object.__new__(cls)
        self.held, self.address, self.shape, self.strides = held, address, shape, strides
        self.dtype, self._geometry = dtype, None
        return self

    def to_host(self, non_blocking: bool = False) -> NoReturn:
        """There are no elements."""
        raise NotImplementedError(NO_DATA)

    tolist = to_host

    def item(self) -> NoReturn:
        """There is no number."""
        raise RuntimeError("Tensor.item() cannot be called on meta tensors")

    def __setitem__(self, item: Any, value: Any) -> None:
        to = self[item]
        if hasattr(value, "shape"):
            fits(to.shape, value.shape)

    def fill(self, value: Any) -> None:
        """Write a number everywhere: nowhere, that is."""


def fits(to: tuple[int, ...], shape: tuple[int, ...]) -> None:
    """Raise ValueError where elements of one shape cannot be written over those of another."""
    if np.broadcast_shapes(to, shape) != to:
        raise ValueError(f"could not broadcast input array from shape {shape} into shape {to}")


def empty(shape: tuple[int, ...], dtype: np.dtype,
          strides: tuple[int, ...] | None = None) -> MetaArray:
    """A new array, without gaps where no strides are given."""
    shape = tuple(shape)
    if strides is None:
        strides = tuple(dense(shape, dtype.itemsize))
    low, high = reach(shape, strides, dtype.itemsize)
    if max(high - low, prod(shape) * dtype.itemsize) >= MOST_BYTES:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(shape)}")
    held = NoMemory(high - low)
    return MetaArray.at(held, held.start - low, shape, strides, dtype)
