"""NumPy arrays over addresses that are not the host's: they tell where elements lie, and are never
read. What tensors have in the place of a NumPy array where they are not on the CPU goes by them."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, NoReturn, Self

import numpy as np

from . import devices
from .ir.memory_spans import address, span

BASIC = (int, np.integer, slice, type(None), type(Ellipsis))

# NumPy's functions whose result is a view of their first operand
VIEWS = frozenset((np.broadcast_to, np.moveaxis, np.swapaxes, np.transpose))


class Addresses:
    """Gives NumPy the address of memory that it must not read."""
    __slots__ = ("__array_interface__",)

    def __init__(self, start: int, shape: tuple[int, ...], strides: tuple[int, ...] | None) -> None:
        self.__array_interface__ = {
            "data": (start, False), "shape": shape, "strides": strides, "typestr": "|V1",
            "version": 3}


def geometry(start: int, shape: tuple[int, ...], dtype: np.dtype,
             strides: tuple[int, ...] | None = None) -> np.ndarray:
    """A NumPy array with the address, shape and strides of elements in other memory, for code that
    looks at layouts alone."""
    size = prod(shape) * dtype.itemsize
    if strides is None:
        flat = np.asarray(Addresses(start, (size,), None))
        return flat.view(dtype).reshape(shape)
    low, high = reach(shape, strides, dtype.itemsize)
    flat = np.asarray(Addresses(start + low, (high - low,), None))
    return np.ndarray(shape, dtype, flat, -low, strides)


def reach(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> tuple[int, int]:
    """The range of bytes that elements occupy, relative to the first one."""
    if 0 in shape:
        return 0, 0
    ends = [(n - 1) * s for n, s in zip(shape, strides, strict=True)]
    return sum(min(e, 0) for e in ends), sum(max(e, 0) for e in ends) + itemsize


class PlacedArray:
    """An array whose elements are not in host memory: the memory, the offset, shape and strides.

    `held` is that memory, which all views of it hold together. What would read or write elements is
    refused with words."""
    __slots__ = ("held", "address", "shape", "strides", "dtype", "_geometry", "__weakref__")
    __array_ufunc__ = None
    held: Any
    _geometry: np.ndarray | None

    def __init__(self, held: Any, geometry: np.ndarray) -> None:
        self.held, self.address, self.dtype = held, address(geometry), geometry.dtype
        self._geometry = geometry
        self.shape, self.strides = geometry.shape, geometry.strides

    @property
    def geometry(self) -> np.ndarray:
        """A NumPy array over the addresses."""
        if self._geometry is None:
            self._geometry = geometry(self.address, self.shape, self.dtype, self.strides)
        return self._geometry

    # ---- where it is ----
    @property
    def device(self) -> devices.device:
        """The device."""
        raise NotImplementedError

    @property
    def start(self) -> int:
        """The address of the first byte of the memory that all views share."""
        raise NotImplementedError

    @property
    def pointer(self) -> int:
        """The address of the first element, as others know it."""
        return self.address

    @property
    def room(self) -> int:
        """How many bytes that memory has."""
        raise NotImplementedError

    @property
    def storage(self) -> tuple[int, int]:
        """The bytes of that memory: the first one, and the one after the last."""
        self.refuse("storages")

    @property
    def span(self) -> tuple[int, int]:
        """The addresses of the first byte of the elements and of the one behind the last."""
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
    def view_as(self, geometry: np.ndarray) -> Self:
        """Other elements of the same memory."""
        low, high = span(geometry) if geometry.size else (self.start, self.start)
        if low < self.start or high > self.start + self.room:
            raise NotImplementedError("this view would be a copy, which there is none of for "
                                      f"'{self.device}' yet")
        return type(self)(self.held, geometry)

    def __getitem__(self, item: Any) -> Self:
        parts = item if isinstance(item, tuple) else (item,)
        if not all(isinstance(p, BASIC) and not isinstance(p, bool) for p in parts):
            self.refuse("indexing by tensors or masks")
        if not any(p is Ellipsis for p in parts):
            parts = (*parts, Ellipsis)               # a view, where NumPy would give a number
        return type(self)(self.held, self.geometry[parts])

    def reshape(self, *shape: Any, copy: bool | None = None) -> Self:
        """A view of another shape; ValueError if the elements would have to be copied."""
        size = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape
        return type(self)(self.held, self.geometry.reshape(tuple(size), copy=False))

    def transpose(self, *axes: Any) -> Self:
        """The dimensions in another order."""
        return type(self)(self.held, self.geometry.transpose(*axes))

    @property
    def T(self) -> Self:
        """The dimensions backwards."""
        return self.transpose()

    def view(self, dtype: Any = None) -> Self:
        """The same bytes as another type."""
        made = self.geometry.view() if dtype is None else self.geometry.view(dtype)
        return type(self)(self.held, made)

    # ---- what it is not ----
    def refuse(self, what: str) -> NoReturn:
        """The exception for an operation that does not exist for this device."""
        raise NotImplementedError(f"{what}: there is no form of it for '{self.device}'")

    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        raise TypeError(f"can't convert {self.device} device type tensor to numpy. Use "
                        "Tensor.cpu() to copy the tensor to host memory first.")

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Self:
        if func in VIEWS and args and args[0] is self:
            return self.view_as(func(self.geometry, *args[1:], **kwargs))
        self.refuse(f"numpy.{func.__name__}")

    def __bool__(self) -> NoReturn:
        self.refuse("the truth of an array")

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        self.refuse(f"NumPy's `{name}` of an array")


def view(op: Any, arrays: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
    """The results of an op that makes a view, or several: NumPy computes their strides."""
    first = arrays[0]
    made = op.forward(first.geometry, *arrays[1:], **attrs)
    if type(made) is tuple:
        return tuple([first.view_as(a) for a in made])
    return first.view_as(made)
