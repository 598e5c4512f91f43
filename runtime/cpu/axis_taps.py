"""Weighted sums of a few slices along one dimension, and their transposes, by kernels
(`passes/lower_llvm/elements/axis_taps.py`). The places of the slices depend on sizes alone."""
from functools import cached_property, partial
from math import prod

import numpy as np

from . import memory, native, taped_launches
from .reference_only import REFERENCE
from .rows import contiguous

ELEMENTS = {np.dtype("f4"): "float", np.dtype("f8"): "double"}
GRAIN = 1 << 13                  # terms that are worth a thread of their own
GROUPS = 16                      # a kernel has code for each: of more there is none
LARGEST = (1 << 31) - 1          # elements of a dimension: places are numbers of 32 bits


def fits(a, groups):
    """Is there a kernel for sums of this many groups over an array?"""
    return (not REFERENCE and a.dtype in ELEMENTS and groups <= GROUPS
            and max(a.shape, default=0) <= LARGEST)


class Taps:
    """The slices that are added up. For each output p, group t and slot s: `places[t, s, p]` is the
    slice (-1: none), and `weights[t, s, p]` its weight (None: all are 1). `size` is the size of the
    dimension."""

    places: np.ndarray
    weights: np.ndarray | None
    groups: int
    slots: int
    count: int

    def __init__(self, size, places, weights, dtype, *, from_zero=False):
        self.size, (self.groups, self.slots, self.count) = size, places.shape
        self.places = np.ascontiguousarray(places, np.int32)
        self.weights = None if weights is None else np.ascontiguousarray(weights, dtype)
        self.from_zero = from_zero

    @cached_property
    def transposed(self):
        """The taps of the gradient. They have one slot in each group: for each slice, the slots are
        the outputs that read it, in order. The last group comes first."""
        times = [np.bincount(k[0], minlength=self.size) for k in self.places]
        slots = max(1, *[int(n.max(initial=1)) for n in times])
        places = np.full((self.groups, slots, self.size), -1, np.int32)
        weights = None if self.weights is None else np.zeros(places.shape, self.weights.dtype)
        for t, (of, n) in enumerate(zip(self.places[::-1, 0], times[::-1])):
            order = np.argsort(of, kind="stable")
            slot = np.arange(self.count) - np.repeat(np.cumsum(n) - n, n)
            places[t, slot, of[order]] = order
            if weights is not None and self.weights is not None:
                weights[t, slot, of[order]] = self.weights[self.groups - 1 - t, 0][order]
        dtype = weights is not None and weights.dtype
        return Taps(self.count, places, weights, dtype, from_zero=True)


def sums(a, dim, taps):
    """out[..., p, ...] = the weighted sum of the slices that the taps of p name."""
    a = contiguous(a)
    outer, inner, elem = prod(a.shape[:dim]), prod(a.shape[dim + 1:]), ELEMENTS[a.dtype]
    out = memory.empty((*a.shape[:dim], taps.count, *a.shape[dim + 1:]), a.dtype)
    if not out.size:
        return out
    weighted = taps.weights is not None

    def emit(form, module, symbol):
        from ..passes.lower_llvm.elements import axis_taps
        getattr(axis_taps, form)(module, symbol, elem, taps.groups, weighted, taps.from_zero)
    form = "along" if inner == 1 else "across"
    units = outer if inner == 1 else outer * taps.count
    key = f"axis taps/{form}/{elem}/{taps.groups}/{weighted}/{taps.from_zero}"
    places = taped_launches.table(taps.places.reshape(-1))
    weights = taped_launches.table(taps.weights.reshape(-1)) if weighted else places
    native.launch(native.kernel(key, partial(emit, form)), units,
                  max(1, GRAIN * units // (out.size * taps.groups * taps.slots)), a, out, places,
                  weights, outer, taps.size, taps.count, inner, taps.slots)
    return out
