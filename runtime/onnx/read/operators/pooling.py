"""Pools of any number of dimensions."""
import math
from typing import Any

import whet
import whet.nn.functional as F

from ....ops.pools import max_pool_values_op
from ....ops.registry import apply
from ....tensor import Tensor
from ..definition import Call, operator
from ..values import Ints
from .convolutions import flat_pads, windows


class Window:
    """How a window moves: its sizes, and how the edges are padded."""

    def __init__(self, x: Tensor, kernel: list[int], strides: list[int] | None,
                 dilations: list[int] | None, auto_pad: str, pads: list[int] | None,
                 ceil_mode: int) -> None:
        dims = len(kernel)
        self.kernel = kernel
        self.strides, self.dilations = strides or [1] * dims, dilations or [1] * dims
        sizes = list(x.shape[2:])
        self.pads = windows(sizes, kernel, self.strides, self.dilations, auto_pad, pads)
        self.counts, self.grown = [], []
        for n, k, s, d, (before, after) in zip(sizes, kernel, self.strides, self.dilations,
                                               self.pads):
            room = n + before + after - (k - 1) * d - 1
            count = (-(-room // s) if ceil_mode else room // s) + 1
            if ceil_mode and (count - 1) * s >= n + before:      # begins in the padding behind
                count -= 1
            self.counts.append(count)
            self.grown.append((before, max((count - 1) * s + (k - 1) * d + 1 - n - before, after)))

    def parts(self, x: Tensor, fill: float, pads: list[tuple[int, int]] | None = None) -> Tensor:
        """What each window sees: [n, c, *counts, *kernel]."""
        x = F.pad(x, flat_pads(pads or self.grown), value=fill)
        for i, (k, s, d, count) in enumerate(zip(self.kernel, self.strides, self.dilations,
                                                 self.counts)):
            at = whet.arange(count).reshape(-1, 1) * s + whet.arange(k).reshape(1, -1) * d
            x = whet.index_select(x, i + 2, at.reshape(-1))
            x = x.reshape(*x.shape[:i + 2], count, k, *x.shape[i + 3:]).movedim(i + 3, -1)
        return x

    @property
    def is_even(self) -> bool:
        """Is the padding the same before and after?"""
        return all(a == b for a, b in self.grown)

    @property
    def axes(self) -> list[int]:
        """The dimensions of the windows in `parts`."""
        return list(range(-len(self.kernel), 0))


@operator("MaxPool")
def max_pool(x: Tensor, *, kernel_shape: list[int], auto_pad: str = "NOTSET", ceil_mode: int = 0,
             dilations: list[int] | None = None, pads: list[int] | None = None,
             storage_order: int = 0, strides: list[int] | None = None, call: Call) -> Any:
    window = Window(x, kernel_shape, strides, dilations, auto_pad, pads, ceil_mode)
    function = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}.get(len(kernel_shape))
    lowest = -math.inf if x.dtype.is_floating_point else whet.iinfo(x.dtype).min
    if x.dtype is whet.uint8 and len(kernel_shape) == 2 and window.is_even and not call.wants(1):
        at = dict(kernel=kernel_shape, stride=window.strides, dilation=window.dilations,
                  padding=[b for b, _ in window.grown])
        return apply(max_pool_values_op, (x,),
                     {**{k: tuple(v) for k, v in at.items()}, "ceil_mode": False})
    if function is not None and x.dtype.is_floating_point:
        half = [b for b, _ in window.grown]
        fits = window.is_even and all(2 * b <= k for b, k in zip(half, kernel_shape))
        source = x if fits else F.pad(x, flat_pads(window.grown), value=lowest)
        found = function(source, kernel_shape, window.strides, half if fits else 0,
                         window.dilations, False, True) if call.wants(1) and fits else \
            function(source, kernel_shape, window.strides, half if fits else 0, window.dilations)
        if not call.wants(1):
            return found
        if fits:
            return found[0], numbered(found[1], x, storage_order)
    parts = window.parts(x, lowest).flatten(-len(kernel_shape))
    values, best = whet.max(parts, dim=-1)
    if not call.wants(1):
        return values
    places = whet.arange(math.prod(x.shape[2:])).reshape(1, 1, *x.shape[2:])
    own = window.parts(places, -1).flatten(-len(kernel_shape)).expand(parts.shape)
    chosen = whet.gather(own, -1, best.unsqueeze(-1)).squeeze(-1)
    return values, numbered(chosen, x, storage_order)


def numbered(places: Tensor, x: Tensor, storage_order: int) -> Tensor:
    """Places in a channel as places in the whole tensor, in the order of rows or of columns."""
    sizes = list(x.shape[2:])
    if storage_order and len(sizes) > 1:
        rest, at = places, []
        for n in reversed(sizes):
            at.append(whet.remainder(rest, n))
            rest = whet.div(rest, n, rounding_mode="floor")
        places, factor = whet.zeros_like(places), 1
        for index, n in zip(reversed(at), sizes):
            places, factor = places + index * factor, factor * n
    channels = whet.arange(x.shape[0] * x.shape[1]).reshape(*x.shape[:2], *[1] * len(sizes))
    return places + channels * math.prod(sizes)


@operator("AveragePool")
def average_pool(x: Tensor, *, kernel_shape: list[int], auto_pad: str = "NOTSET",
                 ceil_mode: int = 0, count_include_pad: int = 0,
                 dilations: list[int] | None = None, pads: list[int] | None = None,
                 strides: list[int] | None = None) -> Tensor:
    window = Window(x, kernel_shape, strides, dilations, auto_pad, pads, ceil_mode)
    function = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}.get(len(kernel_shape))
    half = [b for b, _ in window.grown]
    if function is not None and window.is_even and window.grown == window.pads and max(
            window.dilations) == 1 and all(2 * b <= k for b, k in zip(half, kernel_shape)):
        return function(x, kernel_shape, window.strides, half, False, bool(count_include_pad))
    total = whet.sum(window.parts(x, 0.0), window.axes)
    ones = whet.ones(1, 1, *x.shape[2:], dtype=x.dtype)
    if count_include_pad:
        ones = F.pad(ones, flat_pads(window.pads), value=1.0)
        rest = [(0, g - p) for (_, g), (_, p) in zip(window.grown, window.pads)]
        return total / whet.sum(window.parts(ones, 0.0, rest), window.axes)
    return total / whet.sum(window.parts(ones, 0.0), window.axes)


@operator("LpPool")
def lp_pool(x: Tensor, *, kernel_shape: list[int], auto_pad: str = "NOTSET", ceil_mode: int = 0,
            dilations: list[int] | None = None, p: float = 2, pads: list[int] | None = None,
            strides: list[int] | None = None) -> Tensor:
    window = Window(x, kernel_shape, strides, dilations, auto_pad, pads, ceil_mode)
    parts = window.parts(whet.abs(x), 0.0)
    return whet.sum(parts ** p, window.axes) ** (1 / p)


@operator("MaxUnpool")
def max_unpool(x: Tensor, indices: Tensor, output_shape: Ints | None = None, *,
               kernel_shape: list[int], pads: list[int] | None = None,
               strides: list[int] | None = None) -> Tensor:
    dims = len(kernel_shape)
    strides, pads = strides or [1] * dims, pads or [0] * (2 * dims)
    sizes = [(n - 1) * s + k - a - b for n, s, k, a, b in
             zip(x.shape[2:], strides, kernel_shape, pads[:dims], pads[dims:])]
    shape = [*x.shape[:2], *sizes]
    full = whet.zeros(math.prod(shape), dtype=x.dtype)
    found = full.scatter(0, indices.reshape(-1), x.reshape(-1)).reshape(shape)
    if output_shape is None:
        return found
    more = [(0, m - n) for n, m in zip(shape, output_shape)]
    return F.pad(found, flat_pads(more))


def spatial(x: Tensor) -> list[int]:
    """The dimensions of an image's places."""
    return list(range(2, x.ndim))


@operator("GlobalAveragePool")
def global_average_pool(x: Tensor) -> Tensor:
    return whet.mean(x, spatial(x), keepdim=True)


@operator("GlobalMaxPool")
def global_max_pool(x: Tensor) -> Tensor:
    return whet.amax(x, spatial(x), keepdim=True)


@operator("GlobalLpPool")
def global_lp_pool(x: Tensor, *, p: float = 2) -> Tensor:
    return whet.sum(whet.abs(x) ** p, spatial(x), keepdim=True) ** (1 / p)
