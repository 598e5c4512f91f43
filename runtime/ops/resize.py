"""Resizing and sampling images: weighted sums of a few taps per output, axis by axis where the
map is separable."""
import functools
import math
from typing import NamedTuple

import numpy as np

from .. import size_arguments
from ..autograd import modes
from ..cpu import axis_taps
from ..dtypes import FLOAT, FROM_NUMPY, float32, float64, int64, uint8
from ..layouts import contiguous_format
from ..size_arguments import as_int, whole
from .argument_guards import check_flag
from .creation import literal
from .grid_sampling import says_of_corners
from .half_precision import wide
from .onnx import shapes as in_onnx
from .pools import adaptive_avg_pool
from .ranges import goes_by_sizes
from .registry import Op, apply, apply_without_operands, sizes_of
from .resize_filters import FILTERS, Interpolation
from .sample_inputs import Sample
from .surface import FUNCTIONS as F
from .surface import function


class Mode(NamedTuple):
    """What `interpolate` knows by a name. `filter`: see `FILTERS`, None for means of areas;
    `dims`: how many spatial dimensions it may have; `antialiases`: can it?"""
    filter: str | None
    dims: tuple[int, ...]
    antialiases: bool = False

    @property
    def interpolates(self):
        """Is an element a sum of neighbours?"""
        return self.filter is not None and isinstance(FILTERS[self.filter], Interpolation)


MODES = {
    "nearest": Mode("nearest", (1, 2, 3)), "nearest-exact": Mode("nearest-exact", (1, 2, 3)),
    "area": Mode(None, (1, 2, 3)), "linear": Mode("linear", (1,)),
    "bilinear": Mode("linear", (2,), antialiases=True),
    "bicubic": Mode("cubic", (2,), antialiases=True),
    "trilinear": Mode("linear", (3,))}


def _in_shorts(index, weights):
    """Weights for bytes, rounded as PyTorch rounds them: 16-bit integers divided by a power of two.
    Taps that coincide at the end of an axis become one."""
    weights = weights.copy()
    for k in range(1, weights.shape[1]):
        met = index[:, k] == index[:, k - 1]
        weights[:, k] += np.where(met, weights[:, k - 1], 0)
        weights[met, k - 1] = 0
    power = next((p for p in range(22) if int(weights.max() * (2 << p) + 0.5) >= 1 << 15), 22)
    return np.trunc(weights * (1 << power) + np.copysign(0.5, weights)) / (1 << power)


@functools.lru_cache(256)
def _kept_taps(mode, of_bytes=False, **map_):
    """The places and the weights (or None) of one axis, as one array for each tap. `mode` is the
    name of a filter."""
    index, weights = FILTERS[mode].taps(**map_)
    if of_bytes:
        weights = _in_shorts(index, weights)
    taps = [np.ascontiguousarray(index[:, k]) for k in range(index.shape[1])]
    return taps, None if weights is None else [weights[:, k] for k in range(len(taps))]


def _taps(count, **map_):
    """`_kept_taps`; raises unless there are `count` of them. Where antialiasing shrinks an axis,
    their number depends on its sizes, but a trace has as many ops as were recorded."""
    places, weights = _kept_taps(**map_)
    if len(places) != count:
        raise ValueError(f"interpolate: {len(places)} taps where there were {count}")
    return places, weights


def _places(tap, count, dtype, **map_):
    places, _ = _taps(count, **map_)
    return places[tap].copy()


def _weights(tap, count, dtype, **map_):
    _, weights = _taps(count, **map_)
    return np.array(weights[tap]).astype(dtype.np)


def _written(b, forward, part, at):
    """A constant in ONNX where sizes are known, else the formula of the tap: `part` of it."""
    if isinstance(at["n"], int) and isinstance(at["out"], int):
        return in_onnx.by_rule(b, forward, (), at)
    if at["antialias"] or at.get("of_bytes"):
        b.refuse("how many elements a filter takes depends on sizes that differ: leave `antialias` "
                 "out, or the size out of those that differ")
    formula = FILTERS[at["mode"]].formulas(at["scale"], at["align_corners"])[at["tap"]][part]
    number = b.cast(b.range_of(at["out"]), "f64")
    made = b.expression(formula, number, b.number(at["n"], "f64"), b.number(at["out"], "f64"))
    return b.cast(made, at["dtype"].short)


def _made_by_sizes(name, forward, part, dtype):
    """An op that makes one number for each place of the resized axis: `part` of each tap."""
    made = Op(name, forward, samples=lambda make: [
        Sample(tap=1, count=2, dtype=dtype, mode="linear", n=5, out=8, scale=None,
               align_corners=False, antialias=False)],
        onnx=lambda b, **at: _written(b, forward, part, at))
    made.total = True
    goes_by_sizes(made, lambda out, **_: (out,), "n", "out")
    return made


places_op = _made_by_sizes("resized_places", _places, 0, int64)
weights_op = _made_by_sizes("resized_weights", _weights, 1, float32)


@functools.lru_cache(256)
def _kept_sums(dtype, transposed, **map_):
    """The taps of a resize as sums of slices, for kernels; kept for the next calls."""
    places, weights = _kept_taps(**map_)
    taps = axis_taps.Taps(map_["n"], np.stack(places)[:, None],
                          None if weights is None else np.stack(weights)[:, None], dtype.np)
    return taps.transposed if transposed else taps


@functools.lru_cache(256)
def _kept_arrays(dtype, **map_):
    """(places, weights or None) of each tap, as arrays that are kept between calls."""
    places, weights = _kept_taps(**map_)
    return [(p, None if weights is None else np.array(weights[k]).astype(dtype.np))
            for k, p in enumerate(places)]


def _tensors(x, **map_):
    """(places, weights or None) of each tap, as tensors. A trace gets them from ops that depend on
    the sizes, so that it holds for other sizes too."""
    plain = {**map_, "n": int(map_["n"]), "out": int(map_["out"])}
    if _is_one_call_inside(x):
        return [(literal(p), None if w is None else literal(w))
                for p, w in _kept_arrays(x.dtype, **plain)]
    places, weights = _kept_taps(**plain)

    def made(op, tap, dtype):
        t = apply_without_operands(
            op, {"tap": tap, "count": len(places), "dtype": dtype, **map_})
        return t if x.device.type == "cpu" else t.to(x.device)
    return [(made(places_op, tap, int64),
             None if weights is None else made(weights_op, tap, x.dtype))
            for tap in range(len(places))]


def _along(x, dim, vector):
    return vector.reshape([-1 if d == dim else 1 for d in range(x.ndim)])


def _resample(x, dim, **map_):
    """The sums of all taps: tap by tap, or all by one kernel where nothing records the call."""
    if _at_once(x, map_):
        return apply(resample_op, (x,), {"dim": dim, "transposed": False, **map_})
    out, taps = None, _tensors(x, **map_)
    x = _joined(x, taps)
    for index, weights in taps:
        part = F["index_select"](x, dim, index)
        if weights is not None:
            part = part * _along(x, dim, weights)
        out = part if out is None else out + part
    return out


def _joined(x, taps):
    """The tensor that taps read: a view, so that the gradients of taps are added to each other
    before other gradients of `x`, as the kernel for all taps does."""
    return x.view_as(x) if len(taps) > 1 and x.requires_grad else x


def _spread(g, dim, **map_):
    """What `_resample` gives back: the tap that was added last comes first."""
    if _at_once(g, map_):
        return apply(resample_op, (g,), {"dim": dim, "transposed": True, **map_})
    out, shape = None, [map_["n"] if d == dim else n for d, n in enumerate(sizes_of(g))]
    taps = _tensors(g, **map_)
    g = _joined(g, taps)
    for index, weights in reversed(taps):
        part = g if weights is None else g * _along(g, dim, weights)
        part = F["zeros"](shape, dtype=g.dtype, device=g.device).index_add(dim, index, part)
        out = part if out is None else out + part
    return out


def _at_once(x, map_):
    """May one kernel add up all taps, and is there one?"""
    return (_is_one_call_inside(x) and x._array.size > 0
            and axis_taps.fits(x._array, len(_kept_taps(**map_)[0])))


def _is_one_call_inside(x):
    """May a call on the CPU compute all taps together, since nothing records or transforms the ops
    inside of it?"""
    return (not any([o.wants_parts for o in modes.state.observers]) and not size_arguments.followers
            and type(x._array) is np.ndarray)


def _resampled(a, dim, transposed, **map_):
    return axis_taps.sums(a, dim, _kept_sums(FROM_NUMPY[a.dtype], transposed, **map_))


def _resample_vjp(g, _y, _x, dim, transposed, **map_):
    return [(_resample if transposed else _spread)(g, dim, **map_)]


resample_op = Op("resample", _resampled, _resample_vjp, linear=(0,), inner=True)
resample_op.is_repeatable = True


def _check_mode(n, size, scale_factor, mode, align_corners, antialias):
    for wanted in (size, scale_factor):
        if isinstance(wanted, list | tuple) and len(wanted) != n:
            raise ValueError(
                "Input and output must have the same number of spatial dimensions, but got an "
                f"input with {n} of them, and {list(wanted)}.")
    if mode not in MODES or n not in MODES[mode].dims:
        raise NotImplementedError(
            f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {n + 2}D) for the "
            "modes: nearest | linear | bilinear | bicubic | trilinear | area | nearest-exact "
            f"(got {mode})")
    if align_corners is not None and not MODES[mode].interpolates:
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear "
            "| bicubic | trilinear")
    if align_corners is not None:
        check_flag("interpolate", "align_corners", align_corners)
    if (size is None) == (scale_factor is None):
        raise ValueError("only one of size or scale_factor should be defined"
                         if size is not None else "either size or scale_factor should be defined")
    if antialias and not MODES[mode].antialiases:
        raise ValueError(
            "Anti-alias option is restricted to bilinear and bicubic modes and requires a 4-D "
            "tensor as input")


def _resized(before, size, scale_factor, recompute_scale_factor):
    """(the sizes afterwards, the scales that positions are computed with: None where they follow
    from the sizes)"""
    n = len(before)
    scales: tuple[float | None, ...] = (None,) * n
    if size is not None:
        if recompute_scale_factor:
            raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
        is_number = not hasattr(size, "__iter__") or getattr(size, "ndim", 1) == 0
        size = (size,) * n if is_number else tuple(size)
        size = tuple([as_int(s, "interpolate", "size", index=whole) for s in size])
        if len(size) != n:
            raise ValueError(
                "Input and output must have the same number of spatial dimensions, but got input "
                f"with spatial dimensions of {list(before)} and output size of "
                f"{list(size)}.")
    else:
        scales = ((float(scale_factor),)
                  * n if isinstance(scale_factor, int | float) else tuple(map(float, scale_factor)))
        size = tuple([whole(math.floor(b * scale)) for b, scale in zip(before, scales)])
        if recompute_scale_factor:
            scales = (None,) * n
    # sizes are not compared with each other: one graph serves images that are wide or high
    if any([s <= 0 for s in (*size, *before)]):
        raise RuntimeError(
            "Input and output sizes should be greater than 0, but got input "
            f"{list(before)} and output {list(size)}")
    return size, scales


def interpolate(input, size=None, scale_factor=None, mode="nearest", align_corners=None,
                recompute_scale_factor=None, antialias=False):
    """Resize the spatial dimensions.

    >>> import whet
    >>> import whet.nn.functional as F
    >>> F.interpolate(whet.tensor([[[1., 3.]]]), scale_factor=2, mode="linear")
    tensor([[[1.0000, 1.5000, 2.5000, 3.0000]]])
    """
    n = input.ndim - 2
    _check_mode(n, size, scale_factor, mode, align_corners, antialias)
    size, scales = _resized(sizes_of(input)[2:], size, scale_factor, recompute_scale_factor)
    if mode == "area":
        return adaptive_avg_pool(input, size, n)
    kind, interpolates = MODES[mode].filter, MODES[mode].interpolates
    if input.dtype.category < FLOAT and interpolates:
        if input.dtype is not uint8 or n != 2:
            raise NotImplementedError(
                f"\"interpolate\" with mode {mode} not implemented for '{input.dtype.letter}'")
    bytes_ = input.dtype is uint8 and interpolates
    x, before = wide(input) if interpolates else input, sizes_of(input)[2:]
    if bytes_:
        x = input.to(float64)
    # bytes are rounded after each axis, the last one first
    for i in reversed(range(n)) if bytes_ else range(n):
        # A size that the user gives as a number is compared with the size that a trace follows. One
        # that was computed from that size, such as twice as much, is compared with its value.
        there = before[i] if type(size[i]) is int else x.shape[2 + i]
        if size[i] == there and (
                bytes_ or scales[i] in (None, 1.0) and not antialias):
            continue
        x = _resample(x, 2 + i, mode=kind, n=whole(before[i]), out=size[i], scale=scales[i],
                      align_corners=bool(align_corners), antialias=bool(antialias),
                      **({"of_bytes": True} if bytes_ else {}))
        if bytes_:
            x = (x + 0.5).floor().clamp(0, 255)
    x = x.to(input.dtype)
    return x.contiguous() if x is not input else input.clone()


def upsample(input, size=None, scale_factor=None, mode="nearest", align_corners=None):
    """`interpolate` under its older name.

    >>> import whet
    >>> import whet.nn.functional as F
    >>> F.upsample(whet.tensor([[[1., 3.]]]), scale_factor=2)
    tensor([[[1., 1., 3., 3.]]])
    """
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input, size=None, scale_factor=None):
    """`interpolate` with mode "nearest".

    >>> import whet
    >>> import whet.nn.functional as F
    >>> F.upsample_nearest(whet.tensor([[[1., 3.]]]), scale_factor=2)
    tensor([[[1., 1., 3., 3.]]])
    """
    return interpolate(input, size, scale_factor, "nearest")


def upsample_bilinear(input, size=None, scale_factor=None):
    """`interpolate` with mode "bilinear" and aligned corners.

    >>> import whet
    >>> import whet.nn.functional as F
    >>> F.upsample_bilinear(whet.tensor([[[[1., 3.]]]]), size=(1, 3))
    tensor([[[[1., 2., 3.]]]])
    """
    return interpolate(input, size, scale_factor, "bilinear", True)


def _check_map(theta, size, n):
    if not theta.is_floating_point():
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    if n not in (2, 3):
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, "
            f"respectively. Got size {tuple(size)}.")
    if theta.ndim != 3 or tuple(theta.shape[1:]) != (n, n + 1):
        raise ValueError(
            f"Expected a batch of {n}D affine matrices of shape Nx{n}x{n + 1} for size "
            f"{tuple(size)}. Got {list(theta.shape)}.")
    if any([s <= 0 for s in size]):
        raise ValueError(f"Expected non-zero, positive output size. Got {tuple(size)}")


def affine_grid(theta, size, align_corners=None):
    """The sampling grid of an affine map.

    >>> import whet
    >>> import whet.nn.functional as F
    >>> theta = whet.tensor([[[1., 0., 0.], [0., 1., 0.]]])
    >>> F.affine_grid(theta, (1, 1, 2, 2), align_corners=False).shape
    whet.Size([1, 2, 2, 2])
    """
    n = len(size) - 2
    _check_map(theta, size, n)
    if says_of_corners("affine_grid", align_corners) and 1 in size[2:]:
        modes.warn("affine_grid: a dimension of one pixel is in the middle (0) where "
                   "align_corners is True; before PyTorch 1.3 it was at -1.")

    def line(k):
        x = (F["linspace"](-1, 1, k, dtype=theta.dtype, device=theta.device)
             if k > 1 else F["zeros"](1, dtype=theta.dtype, device=theta.device))
        return x if align_corners else x * ((k - 1) / k)
    axes = F["meshgrid"](*[line(k) for k in size[2:]], indexing="ij")
    base = F["stack"]([*reversed(axes), F["ones_like"](axes[0])], -1).reshape(1, -1, n + 1)
    return F["matmul"](base, theta.mT).reshape(size[0], *size[2:], n)


@function(method=False)
def pixel_shuffle(input, upscale_factor):
    """(C r^2, H, W) -> (C, H r, W r)

    >>> import whet
    >>> import whet.nn.functional as F
    >>> F.pixel_shuffle(whet.arange(4.).reshape(1, 4, 1, 1), 2)
    tensor([[[[0., 1.],
              [2., 3.]]]])
    """
    r = upscale_factor
    if r <= 0:
        raise RuntimeError(f"pixel_shuffle expects a positive upscale_factor, but got {r}")
    if input.ndim < 3 or input.shape[-3] % (r * r):
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square "
            f"of upscale_factor, but input.size(-3)={input.shape[-3] if input.ndim > 2 else None} "
            f"is not divisible by {r * r}")
    if r == 1:
        return input.clone(memory_format=contiguous_format)
    *b, c, h, w = input.shape
    k = len(b)
    x = input.reshape(*b, c // (r * r), r, r, h, w)
    return x.permute(*range(k), k, k + 3, k + 1, k + 4,
                     k + 2).reshape(*b, c // (r * r), h * r, w * r)


@function(method=False)
def pixel_unshuffle(input, downscale_factor):
    """(C, H r, W r) -> (C r^2, H, W)

    >>> import whet
    >>> import whet.nn.functional as F
    >>> F.pixel_unshuffle(whet.ones(1, 1, 4, 4), 2).shape
    whet.Size([1, 4, 2, 2])
    """
    r = downscale_factor
    if r <= 0:
        raise RuntimeError(f"pixel_unshuffle expects a positive downscale_factor, but got {r}")
    *b, c, h, w = input.shape
    if h % r or w % r:
        raise RuntimeError(
            "pixel_unshuffle expects height and width to be divisible by downscale_factor, but "
            f"got {(h, w)} and {r}")
    if r == 1:
        return input.clone(memory_format=contiguous_format)
    k = len(b)
    x = input.reshape(*b, c, h // r, r, w // r, r)
    return x.permute(*range(k), k, k + 2, k + 4, k + 1,
                     k + 3).reshape(*b, c * r * r, h // r, w // r)
