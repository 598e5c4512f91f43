"""What a tensor on a device has in the place of a NumPy array.

Where elements lie is told by a NumPy array over the device's addresses, which does what views need
and is never read. Memory is held by all views of it together. What would read or write on the host
is refused with words.
"""
from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from .. import devices
from ..ir.spans import address, span
from . import machine as m
from .allocator import Held

BASIC = (int, np.integer, slice, type(None), type(Ellipsis))

# NumPy's functions whose result is a view of their first operand
VIEWS = frozenset((np.broadcast_to, np.moveaxis, np.swapaxes, np.transpose))


# (elements, what to put there): `whet.cuda.execute` brings it
write_elements: Any = None


class Addresses:
    """What tells NumPy of memory at an address, without its being there."""
    __slots__ = ("__array_interface__",)

    def __init__(self, start: int, shape: tuple[int, ...], strides: tuple[int, ...] | None) -> None:
        self.__array_interface__ = {
            "data": (start, False), "shape": shape, "strides": strides, "typestr": "|V1",
            "version": 3}


def geometry(start: int, shape: tuple[int, ...], dtype: np.dtype,
             strides: tuple[int, ...] | None = None) -> np.ndarray:
    """A NumPy array over addresses of a device: it tells where elements lie."""
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    if strides is None:
        flat = np.asarray(Addresses(start, (size,), None))
        return flat.view(dtype).reshape(shape)
    low, high = reach(shape, strides, dtype.itemsize)
    flat = np.asarray(Addresses(start + low, (high - low,), None))
    return np.ndarray(shape, dtype, flat, -low, strides)


def reach(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> tuple[int, int]:
    """The bytes that elements lie in, counted from the first one."""
    if 0 in shape:
        return 0, 0
    ends = [(n - 1) * s for n, s in zip(shape, strides, strict=True)]
    return sum(min(e, 0) for e in ends), sum(max(e, 0) for e in ends) + itemsize


class DeviceArray:
    """Elements on a device: the memory that they lie in, and where they lie in it."""
    __slots__ = ("held", "geometry", "__weakref__")
    __array_ufunc__ = None

    def __init__(self, held: Held, geometry: np.ndarray) -> None:
        self.held, self.geometry = held, geometry

    # ---- where it is ----
    @property
    def index(self) -> int:
        """The number of the device."""
        return self.held.allocator.device

    @property
    def device(self) -> devices.device:
        """The device."""
        return devices.device("cuda", self.index)

    @property
    def address(self) -> int:
        """The device's address of the first element."""
        return address(self.geometry)

    @property
    def start(self) -> int:
        """The device's address of the first byte of the memory that all views share."""
        return self.held.block.address

    @property
    def span(self) -> tuple[int, int]:
        """The bytes that the elements lie in."""
        return span(self.geometry) if self.size else (self.address, self.address)

    # ---- what it is like ----
    shape = property(lambda self: self.geometry.shape)
    strides = property(lambda self: self.geometry.strides)
    dtype = property(lambda self: self.geometry.dtype)
    ndim = property(lambda self: self.geometry.ndim)
    size = property(lambda self: self.geometry.size)
    itemsize = property(lambda self: self.geometry.itemsize)
    nbytes = property(lambda self: self.geometry.nbytes)
    flags = property(lambda self: self.geometry.flags)
    base = None

    def __len__(self) -> int:
        return len(self.geometry)

    # ---- views ----
    def view_as(self, geometry: np.ndarray) -> DeviceArray:
        """Other elements of the same memory."""
        low, high = span(geometry) if geometry.size else (self.start, self.start)
        if low < self.start or high > self.start + self.held.block.size:
            raise NotImplementedError("this view would be a copy, which there is none of for "
                                      f"'{self.device}' yet")
        return DeviceArray(self.held, geometry)

    def __getitem__(self, item: Any) -> DeviceArray:
        parts = item if isinstance(item, tuple) else (item,)
        if not all(isinstance(p, BASIC) and not isinstance(p, bool) for p in parts):
            self.refuse("indexing by tensors or masks")
        if not any(p is Ellipsis for p in parts):
            parts = (*parts, Ellipsis)               # a view, where NumPy would give a number
        return DeviceArray(self.held, self.geometry[parts])

    def reshape(self, *shape: Any, copy: bool | None = None) -> DeviceArray:
        """The elements in another shape; ValueError where they would have to move."""
        size = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape
        return DeviceArray(self.held, self.geometry.reshape(tuple(size), copy=False))

    def transpose(self, *axes: Any) -> DeviceArray:
        """The dimensions in another order."""
        return DeviceArray(self.held, self.geometry.transpose(*axes))

    @property
    def T(self) -> DeviceArray:
        """The dimensions backwards."""
        return self.transpose()

    def view(self, dtype: Any = None) -> DeviceArray:
        """The same bytes as another type."""
        made = self.geometry.view() if dtype is None else self.geometry.view(dtype)
        return DeviceArray(self.held, made)

    # ---- numbers out ----
    def to_host(self, non_blocking: bool = False) -> np.ndarray:
        """The elements in memory of the host: after a wait, or, with `non_blocking`, in pinned
        memory, where they are once the stream is done."""
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

    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        raise TypeError(f"can't convert {self.device} device type tensor to numpy. Use "
                        "Tensor.cpu() to copy the tensor to host memory first.")

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> DeviceArray:
        if func in VIEWS and args and args[0] is self:
            return self.view_as(func(self.geometry, *args[1:], **kwargs))
        self.refuse(f"numpy.{func.__name__}")

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

    def __bool__(self) -> NoReturn:
        self.refuse("the truth of an array")

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        self.refuse(f"NumPy's `{name}` of an array")


def empty(index: int, shape: tuple[int, ...], dtype: np.dtype,
          strides: tuple[int, ...] | None = None) -> DeviceArray:
    """New memory for such elements, in this thread's stream."""
    machine = m.machine()
    low, high = (0, int(np.prod(shape, dtype=np.int64)) * dtype.itemsize)
    if strides is not None:
        low, high = reach(shape, strides, dtype.itemsize)
    held = machine.allocators[index].allocate(high - low, m.current_stream(index),
                                              f"{tuple(shape)} {dtype.name}")
    return DeviceArray(held, geometry(held.block.address - low, tuple(shape), dtype, strides))


def is_here(a: Any) -> bool:
    """Is it the memory of a tensor on a device?"""
    return type(a) is DeviceArray
