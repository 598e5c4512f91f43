"""Elements at places that indices name, read on devices."""
from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from . import device_state as m
from .arrays import DeviceArray, empty
from .errors import NoForm
from .launch import bad_data, launch
from .pointwise import copy_into, is_wide

if TYPE_CHECKING:
    from ..ops.indexed_elements import Named

I64 = np.dtype(np.int64)
BITS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
SLICE = 32                          # slices of so many elements are taken whole
INDICES = {"int32": "i32", "int64": "i64"}

_sources: dict[Any, Any] = {}       # by what describes a kernel completely


def lowered(key: Any, lower: Callable[[], Any]) -> Any:
    """A source that is made once."""
    if key not in _sources:
        _sources[key] = lower()
    return _sources[key]


class Walk:
    """How the elements that indices name are walked: along `shape`, each `x` and each index by
    strides, in elements. `units`: what a step along each dimension of the array is."""

    def __init__(self, named: Named, shape: tuple[int, ...], units: list[int]) -> None:
        shape, units = shape or (1,), units or [1]          # a number is a vector of one
        self.named = named
        self.shape, own, at = named.axes(shape)
        self.x = [0 if d is None else units[d] for d in own]
        self.index = []
        for i in named.indices:
            if named.each:
                self.index.append([s // i.itemsize for s in i.strides])
                continue
            depth = sum(d is None for d in own)
            behind = [s // i.itemsize if n > 1 else 0
                      for s, n in zip(i.strides, i.shape, strict=True)]
            inner = iter([0] * (depth - i.ndim) + behind)
            self.index.append([next(inner) if d is None else 0 for d in own])
        self.sizes = [shape[d] for d in named.dims]
        self.steps = [units[d] for d in named.dims]

    def without_last(self, count: int) -> None:
        """Leave the last axes out."""
        keep = len(self.shape) - count
        self.shape, self.x = self.shape[:keep], self.x[:keep]
        self.index = [q[:keep] for q in self.index]

    def launch(self, index: int, name: str, source: Any, arrays: dict[str, Any],
               more: dict[str, int] | None = None) -> None:
        """Run a kernel of `lower_triton.places` on such a walk."""
        shape = self.shape or (1,)
        numbers: dict[str, Any] = {"n": prod(shape)}
        numbers |= {f"n{d}": shape[d] for d in range(1, len(shape))}
        numbers |= {f"x_{d}": s for d, s in enumerate(self.x or [0])}
        for k, (size, step) in enumerate(zip(self.sizes, self.steps, strict=True)):
            numbers |= {f"q{k}_{d}": s for d, s in enumerate(self.index[k] or [0])}
            numbers |= {f"size{k}": size, f"step{k}": step}
            numbers[f"slot{k}"] = bad_data(index, name, self.complaint(k))
        words = m.machine().checks[index].words(m.current_stream(index))
        indices = {f"q{k}": i.geometry for k, i in enumerate(self.named.indices)}
        launch(index, source, {**arrays, **indices, "words": words}, numbers | (more or {}))

    def complaint(self, k: int) -> Callable[[int, int], Exception]:
        """The error of bad numbers of an index."""
        named, n, dim = self.named, self.sizes[k], self.named.dims[k]
        return lambda high, low: named.out_of_bounds(high, low, n, dim)

    def kind(self) -> Any:
        """What a kernel is made for."""
        from ..passes.lower_triton.indexed import Named as Lowered
        types = tuple(INDICES[i.dtype.name] for i in self.named.indices)
        return Lowered(max(1, len(self.shape)), types, self.named.wraps)


def are_known(named: Named) -> bool:
    """Do kernels read indices of these types?"""
    return all(type(i) is DeviceArray and i.dtype.name in INDICES for i in named.indices)


def take(name: str, a: DeviceArray, named: Named) -> DeviceArray:
    """The elements at the places that indices name."""
    from ..passes.lower_triton import indexed as lower
    if a.itemsize not in BITS or not are_known(named):
        raise NoForm(a.dtype.name)
    walk = Walk(named, a.shape, [s // a.itemsize for s in a.strides])
    out = empty(a.index, walk.shape, a.dtype)
    if out.size:
        behind, inner = slices(a, named)
        whole = inner >= SLICE
        if whole:
            walk.without_last(behind)
        wide = is_wide([a.geometry, out.geometry, *(i.geometry for i in named.indices)])
        kind, bits = walk.kind(), BITS[a.itemsize]
        source = lowered((kind, a.itemsize, wide, whole), lambda: (
            lower.lower_slices if whole else lower.lower_take)(kind, a.itemsize, wide))
        arrays = {"x": a.view(bits).geometry, "y": out.view(bits).geometry}
        walk.launch(a.index, name, source, arrays, {"inner": inner} if whole else {})
    return out


def slices(a: DeviceArray, named: Named) -> tuple[int, int]:
    """(the dimensions behind all that are indexed, how many elements they have) where those lie one
    behind the other, so that slices are taken whole; else none, and 1."""
    if named.each or not named.is_one_block:
        return 0, 1
    behind, inner = 0, 1
    for d in reversed(range(named.dims[-1] + 1, a.ndim)):
        if a.strides[d] != inner * a.itemsize:
            return 0, 1
        behind, inner = behind + 1, inner * a.shape[d]
    return behind, inner


def along(name: str, a: DeviceArray, index: DeviceArray, dim: int) -> DeviceArray:
    """Elements of `a`, each by an index of its own along a dimension."""
    from ..ops.indexed_elements import Named
    return take(name, a, Named((index,), (dim,), each=True))


def cast(a: DeviceArray, dtype: np.dtype) -> DeviceArray:
    """The elements in a type, row-major; the array itself where it is so already."""
    if a.dtype == dtype and a.flags.c_contiguous:
        return a
    made = empty(a.index, a.shape, dtype)
    copy_into(made, a)
    return made
