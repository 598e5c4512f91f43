"""Resize and Upsample: each axis by itself, from the few places that a new place is made of."""
import math
from dataclasses import dataclass

import numpy as np
import whet
import whet.nn.functional as F

from ....tensor import Tensor
from ...errors import OnnxError
from ..definition import operator
from ..values import Ints, Numbers

NEAREST = {"round_prefer_floor": lambda x: np.ceil(x - 0.5),
           "round_prefer_ceil": lambda x: np.floor(x + 0.5),
           "floor": np.floor, "ceil": np.ceil}


@dataclass(frozen=True)
class Style:
    """How the values at new places are made."""
    mode: str = "nearest"
    coordinates: str = "half_pixel"
    nearest: str = "round_prefer_floor"
    cubic: float = -0.75
    exclude_outside: bool = False
    antialias: bool = False
    extrapolation: float = 0.0


@dataclass(frozen=True)
class Axis:
    """One axis that is resized: old size, new size, scale, the part of it that is looked at."""
    before: int
    after: int
    scale: float
    start: float = 0.0
    end: float = 1.0

    def places(self, coordinates: str) -> np.ndarray:
        """Where the new places lie among the old ones."""
        new, exact, last = np.arange(self.after), self.scale * self.before, self.before - 1
        if coordinates == "align_corners":
            return np.zeros(self.after) if exact == 1 else new * last / (exact - 1)
        if coordinates == "asymmetric":
            return new / self.scale
        if coordinates == "tf_half_pixel_for_nn":  # up to opset 12
            return (new + 0.5) / self.scale
        if coordinates == "tf_crop_and_resize":
            part = self.end - self.start
            inner = np.full(self.after, part * last / 2) if exact == 1 else \
                new * part * last / (exact - 1)
            return inner + self.start * last
        if coordinates == "pytorch_half_pixel" and exact == 1:
            return np.full(self.after, -0.5)
        half = (new + 0.5) / self.scale - 0.5
        if coordinates in ("half_pixel", "pytorch_half_pixel"):
            return half
        if coordinates == "half_pixel_symmetric":
            return half + self.before / 2 * (1 - self.after / exact)
        raise OnnxError(f"there is no coordinate_transformation_mode {coordinates!r}")


def weights(distance: np.ndarray, style: Style) -> np.ndarray:
    """How much a place counts, by its distance from the new one."""
    d = np.abs(distance)
    if style.mode == "linear":
        return np.maximum(1 - d, 0)
    a = style.cubic
    near = (a + 2) * d**3 - (a + 3) * d**2 + 1
    far = a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a
    return np.where(d <= 1, near, np.where(d < 2, far, 0.0))


def resized(x: Tensor, dim: int, axis: Axis, style: Style) -> Tensor:
    """The data with other places along a dimension."""
    at = axis.places(style.coordinates)
    if style.mode == "nearest":
        if style.nearest not in NEAREST:
            raise OnnxError(f"there is no nearest_mode {style.nearest!r}")
        index = np.clip(NEAREST[style.nearest](at), 0, axis.before - 1)
        found = whet.index_select(x, dim, whet.tensor(index.astype(np.int64)))
    else:
        found = mixed(x, dim, axis, style, at)
    outside = (at < 0) | (at > axis.before - 1)
    if style.coordinates == "tf_crop_and_resize" and outside.any():
        view = [-1 if i == dim else 1 for i in range(x.ndim)]
        filler = whet.full((), style.extrapolation, dtype=found.dtype)
        found = whet.where(whet.tensor(outside).reshape(view), filler, found)
    return found


def mixed(x: Tensor, dim: int, axis: Axis, style: Style, at: np.ndarray) -> Tensor:
    """New places as sums of old ones with weights."""
    shrink = min(axis.scale, 1.0) if style.antialias else 1.0
    reach = {"linear": 1, "cubic": 2}[style.mode]
    first = math.floor(-reach / shrink) + 1
    base = np.ceil(at).astype(np.int64) - 1          # the place on the left, never the same one
    index = base[:, None] + np.arange(first, 2 - first)
    share = weights((index - at[:, None]) * shrink, style)
    if style.exclude_outside:
        share = np.where((index < 0) | (index >= axis.before), 0.0, share)
    if style.exclude_outside or style.antialias:
        total = share.sum(1, keepdims=True)
        share = share / np.where(total == 0, 1, total)
    flat = whet.tensor(np.clip(index, 0, axis.before - 1).reshape(-1))
    parts = whet.index_select(x, dim, flat)
    parts = parts.reshape(*x.shape[:dim], *index.shape, *x.shape[dim + 1:])
    view = [1] * dim + list(index.shape) + [1] * (x.ndim - dim - 1)
    return whet.sum(parts * whet.tensor(share).reshape(view).to(x.dtype), dim + 1)


def fast(x: Tensor, axes: dict[int, Axis], style: Style) -> Tensor | None:
    """x resized by whet's own interpolation, where that means the same."""
    plain = style.mode == "linear" and not style.antialias and not style.exclude_outside
    if not plain or x.ndim != 4 or sorted(axes) != [2, 3] or not x.dtype.is_floating_point:
        return None
    if any(a.after != a.scale * a.before or a.after < 2 for a in axes.values()):
        return None
    if style.coordinates not in ("half_pixel", "pytorch_half_pixel", "align_corners"):
        return None
    return F.interpolate(x, [axes[2].after, axes[3].after], mode="bilinear",
                         align_corners=style.coordinates == "align_corners")


def resize_axes(x: Tensor, axes: dict[int, Axis], style: Style) -> Tensor:
    """The data with all these axes resized."""
    if style.mode not in ("nearest", "linear", "cubic"):
        raise OnnxError(f"there is no mode {style.mode!r}")
    crops = style.coordinates == "tf_crop_and_resize"
    axes = {d: a for d, a in axes.items() if crops or a.scale != 1 or a.after != a.before}
    found = fast(x, axes, style)
    if found is not None:
        return found
    exact = style.mode == "nearest"
    found = x if exact or x.dtype.is_floating_point else x.to(whet.float64)
    for dim, axis in axes.items():
        found = resized(found, dim, axis, style)
    if found.dtype is not x.dtype:
        limits = whet.iinfo(x.dtype)
        found = whet.clamp(whet.round(found), limits.min, limits.max)
    return found.to(x.dtype)


def planned(x: Tensor, dims: list[int], scales: list[float] | None, sizes: list[int] | None,
            roi: list[float] | None, policy: str) -> dict[int, Axis]:
    """The axes, with their new sizes."""
    count = len(dims)
    old = [x.shape[d] for d in dims]
    starts, ends = ([0.0] * count, [1.0] * count) if not roi else (roi[:count], roi[count:])
    if sizes:
        scales = [n / m for n, m in zip(sizes, old)]
        if policy != "stretch":
            one = min(scales) if policy == "not_larger" else max(scales)
            scales, sizes = [one] * count, [int(one * m + 0.5) for m in old]
    elif scales:
        sizes = [math.floor(s * m * (e - b)) for s, m, b, e in zip(scales, old, starts, ends)]
    else:
        raise OnnxError("neither scales nor sizes are given")
    if len(sizes) != count or len(scales) != count:
        raise OnnxError(f"there are {len(sizes)} sizes for {count} axes")
    return {d % x.ndim: Axis(m, n, s, b, e)
            for d, m, n, s, b, e in zip(dims, old, sizes, scales, starts, ends)}


@operator("Resize", since=11)
def resize(x: Tensor, roi: Numbers | None = None, scales: Numbers | None = None,
           sizes: Ints | None = None, *, antialias: int = 0, axes: list[int] | None = None,
           coordinate_transformation_mode: str = "half_pixel", cubic_coeff_a: float = -0.75,
           exclude_outside: int = 0, extrapolation_value: float = 0.0,
           keep_aspect_ratio_policy: str = "stretch", mode: str = "nearest",
           nearest_mode: str = "round_prefer_floor") -> Tensor:
    style = Style(mode, coordinate_transformation_mode, nearest_mode, cubic_coeff_a,
                  bool(exclude_outside), bool(antialias), extrapolation_value)
    dims = axes if axes is not None else list(range(x.ndim))
    crop = roi if coordinate_transformation_mode == "tf_crop_and_resize" else None
    return resize_axes(x, planned(x, dims, scales, sizes, crop, keep_aspect_ratio_policy), style)


def magnified(x: Tensor, scales: list[float], mode: str) -> Tensor:
    """What versions before 11 do."""
    style = Style({"bilinear": "linear"}.get(mode, mode), "asymmetric", "floor")
    return resize_axes(x, planned(x, list(range(x.ndim)), scales, None, None, "stretch"), style)


@operator("Resize")
def resize_10(x: Tensor, scales: Numbers, *, mode: str = "nearest") -> Tensor:
    return magnified(x, scales, mode)


@operator("Upsample", since=9)
def upsample(x: Tensor, scales: Numbers, *, mode: str = "nearest") -> Tensor:
    return magnified(x, scales, mode)


@operator("Upsample", since=7)
def upsample_7(x: Tensor, *, scales: list[float], mode: str = "nearest") -> Tensor:
    return magnified(x, scales, mode)


@operator("Upsample")
def upsample_1(x: Tensor, *, height_scale: float, width_scale: float,
               mode: str = "nearest") -> Tensor:
    return magnified(x, [1.0, 1.0, height_scale, width_scale], mode)
