"""What a tensor on a device has in the place of a NumPy array.

Where elements lie is told by a NumPy array over the device's addresses, which does what views need
and is never read. Memory is held by all views of it together. What would read or write on the host
is refused with words.
"""
from __future__ import annotations

from math import prod
from typing import Any, NoReturn

import numpy as np

from .. import devices
from ..ir.spans import address, span
from . import machine as m
from . import planning
from .allocator import Held
from .geometry import geometry, reach

BASIC = (int, np.integer, slice, type(None), type(Ellipsis))

# NumPy's functions whose result is a view of their first operand
VIEWS = frozenset((np.broadcast_to, np.moveaxis, np.swapaxes, np.transpose))


# (elements, what to put there): `whet.cuda.execute` brings it
write_elements: Any = None


# what arrays are like, by number
_kinds: dict[tuple[Any, ...], int] = {}


class DeviceArray:
    """Elements on a device: the memory that they lie in, and where they lie in it."""
    __slots__ = ("held", "address", "shape", "strides", "dtype", "_geometry", "_kind",
                 "__weakref__")
    __array_ufunc__ = None

    def __init__(self, held: Held, geometry: np.ndarray) -> None:
        self.held, self.address, self.dtype = held, address(geometry), geometry.dtype
        self._geometry: np.ndarray | None = geometry
        self._kind: int | None = None
        self.shape, self.strides = geometry.shape, geometry.strides

    @classmethod
    def at(cls, held: Held, address: int, shape: tuple[int, ...], strides: tuple[int, ...],
           dtype: np.dtype, kind: int | None = None) -> DeviceArray:
        """Elements of a memory, the first of which lies at `address`."""
        self = object.__new__(cls)
        self.held, self.address, self.shape, self.strides = held, address, shape, strides
        self.dtype, self._geometry, self._kind = dtype, None, kind
        return self

    @property
    def geometry(self) -> np.ndarray:
        """A NumPy array over the device's addresses."""
        if self._geometry is None:
            self._geometry = geometry(self.address, self.shape, self.dtype, self.strides)
        return self._geometry

    @property
    def kind(self) -> int:
        """A number that stands for what arrays are like: shape, strides, type, alignment, device.
        It is one object for all that are alike."""
        if self._kind is None:
            told = self.shape, self.strides, self.dtype, self.address % 16, self.index
            self._kind = _kinds.setdefault(told, len(_kinds))
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
    def span(self) -> tuple[int, int]:
        """The bytes that the elements lie in."""
        return span(self.geometry) if self.size else (self.address, self.address)

    # ---- what it is like ----
    ndim = property(lambda self: len(self.shape))
    size = property(lambda self: prod(self.shape))
    itemsize = property(lambda self: self.dtype.itemsize)
    nbytes = property(lambda self: self.dtype.itemsize * prod(self.shape))
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
        planning.unplanned()
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
    low, high = (0, prod(shape) * dtype.itemsize)
    if strides is not None:
        low, high = reach(shape, strides, dtype.itemsize)
    plan, what = planning.current(), f"{tuple(shape)} {dtype.name}"
    held: Any = (m.machine().allocators[index].allocate(high - low, m.current_stream(index), what)
                 if plan is None else plan.ask(high - low, what))
    return DeviceArray(held, geometry(held.block.address - low, tuple(shape), dtype, strides))


def is_here(a: Any) -> bool:
    """Is it the memory of a tensor on a device?"""
    return type(a) is DeviceArray
