"""NumPy arrays over a device's addresses: they tell where elements lie, and are never read."""
from __future__ import annotations

import numpy as np


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
