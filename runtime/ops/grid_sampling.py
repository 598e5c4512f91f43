"""Sampling images at any positions: weighted sums of the elements around each."""
import math

from ..autograd import modes
from ..cpu import grid_sampling
from ..dtypes import FLOAT, FROM_NUMPY, float32, int32
from ..ir.scalar import cast, floor, where
from .argument_guards import check_flag
from .autocast_to_float32 import precise
from .batching import all_batched
from .onnx import grid_sampling as in_onnx
from .pointwise_family import PointwiseOp
from .registry import Op, apply, check_one_type, is_tensor
from .sample_inputs import Sample, integers, reals
from .surface import FUNCTIONS as F
from .surface import function
from .zero_gradients import attached


# ---- sums over taps ------------------------------------------------------------------------------
class TapsOp(Op):
    """An op on planes (..., C, S) that has for each of some taps places (..., P) and weights (...,
    P). The three of them are each other's gradients, each being linear in every operand but the
    places."""
    family = "gather"
    total = is_repeatable = any_sizes = True

    def batch(self, n, inputs, batched, attrs):
        """One dimension more in front of all."""
        return apply(self, tuple(all_batched(n, inputs, batched)), attrs)


def _floats(x):
    t = FROM_NUMPY[x.dtype]
    if t.category != FLOAT:
        raise NotImplementedError(f"\"grid_sampler\" not implemented for '{t.letter}'")
    return x


def _sums(x, *rest, taps):
    _floats(x)
    return grid_sampling.sums(x, rest[:taps], rest[taps:])


def _sums_vjp(g, _y, x, *rest, needs, taps):
    places, weights = rest[:taps], rest[taps:]
    back = spread_op(g, *places, *weights, taps=taps, size=x.shape[-1]) if needs[0] else None
    if not any(needs[1 + taps:]):
        return [back, *[None] * len(rest)]
    return [back, *[None] * taps, *products_op(x, g, *places)]


def _products(x, g, *places):
    _floats(x)
    return grid_sampling.products(x, g, places)


def _products_vjp(gs, _y, x, g, *places):
    taps = len(places)
    weights = [F["zeros"](places[0].shape, dtype=g.dtype, device=g.device) if u is None else u
               for u in gs]
    return [spread_op(g, *places, *weights, taps=taps, size=x.shape[-1]),
            sums_op(x, *places, *weights, taps=taps), *[None] * taps]


def _spread(g, *rest, taps, size):
    _floats(g)
    return grid_sampling.spread(g, rest[:taps], rest[taps:], size)


def _spread_vjp(u, _y, g, *rest, needs, taps, size):
    places, weights = rest[:taps], rest[taps:]
    back = sums_op(u, *places, *weights, taps=taps) if needs[0] else None
    if not any(needs[1 + taps:]):
        return [back, *[None] * len(rest)]
    return [back, *[None] * taps, *products_op(u, g, *places)]


def _places(make):
    yield (), F["tensor"]([[0, 4, 2], [-1, 1, 5]], dtype=int32)
    yield (2,), F["tensor"]([[[0, 4, 2], [3, 1, 1]], [[2, -1, 2], [4, 4, 0]]], dtype=int32)


def _sums_samples(make):
    for batch, k in _places(make):
        places = [k[..., i, :].contiguous() for i in (0, 1)]
        yield Sample(make(*batch, 2, 5), *places, make(*batch, 3), make(*batch, 3), taps=2)
        yield Sample(make(*batch, 2, 5), places[0], taps=1)


def _products_samples(make):
    for batch, k in _places(make):
        yield Sample(make(*batch, 2, 5), make(*batch, 2, 3),
                     *[k[..., i, :].contiguous() for i in (0, 1)])


def _spread_samples(make):
    for batch, k in _places(make):
        places = [k[..., i, :].contiguous() for i in (0, 1)]
        yield Sample(make(*batch, 2, 3), *places, make(*batch, 3), make(*batch, 3), taps=2, size=5)
        yield Sample(make(*batch, 2, 3), places[0], taps=1, size=5)


sums_op = TapsOp("tap_sums", _sums, _sums_vjp, samples=_sums_samples, onnx=in_onnx.sums)
products_op = TapsOp("tap_products", _products, _products_vjp, samples=_products_samples,
                     onnx=in_onnx.products)
spread_op = TapsOp("tap_spread", _spread, _spread_vjp, samples=_spread_samples,
                   onnx=in_onnx.spread)


# ---- places and weights of taps ------------------------------------------------------------------
def _first_place(x, step, size):
    """The whole number `step` after floor(x) as an index of a dimension; -1 where it is none."""
    i = floor(x) + step
    return where((i >= 0) & (i <= size - 1), cast(i, "i32"), -1)


def _next_place(place, x, step, size):
    """The place in one dimension more, each element of those before having `size`."""
    i = floor(x) + step
    inside = (i >= 0) & (i <= size - 1) & (place >= 0)
    return where(inside, cast(place, "i32") * cast(size, "i32") + cast(i, "i32"), -1)


_AT = reals(-2, 6, avoid=range(-3, 8), grad=False)
first_place = PointwiseOp(
    "first_place", _first_place, result="i32", differentiable=False, kinds="f",
    samples=[_AT, integers(0, 1), integers(1, 5)])
next_place = PointwiseOp(
    "next_place", _next_place, result="i32", differentiable=False, kinds="f", keep=(0,),
    samples=[integers(-1, 3), _AT, integers(0, 1), integers(1, 5)])
# the weight of the tap `step` after floor(x)
linear_weight = PointwiseOp(
    "linear_weight", lambda x, step: 1 - step + (2 * step - 1) * (x - floor(x)), kinds="f",
    samples=[reals(-2, 6, avoid=range(-3, 8)), integers(0, 1)])
sampled_position = PointwiseOp(
    "sampled_position", lambda x, size: ((x + 1) * size - 1) / 2, kinds="f",
    samples=[reals(-2, 2), integers(1, 5)])


def cubic_weights(t, a):
    """The cubic convolution weights of the four taps around a fraction t."""
    def near(x):
        return ((a + 2) * x - (a + 3)) * x * x + 1

    def far(x):
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return [far(t + 1), near(t), near(1 - t), far(2 - t)]


def _reflect(x, low, high):
    """Fold positions back into [low, high] (twice the bounds, as whole numbers)."""
    if low == high:
        return F["zeros_like"](x)
    lo, span = low / 2, (high - low) / 2
    x = (x - lo).abs()
    extra = x % span
    flips = (x / span).floor()
    return F["where"](flips % 2 == 0, extra + lo, span - extra + lo)


class Axis:
    """The taps of one dimension: for each the number that `first_place` is to floor, the step from
    there, and its weight (None: one)."""

    def __init__(self, x, size, mode, padding_mode, align_corners):
        self.size, self.padding_mode, self.align_corners = size, padding_mode, align_corners
        x = (x + 1) * (size - 1) * 0.5 if align_corners else sampled_position(x, size)
        if mode != "bicubic":
            x = self.clip(x)
        if mode == "nearest":
            self.taps = [(x.round(), 0, None)]
        elif mode == "bilinear":
            self.taps = [(x, step, linear_weight(x, step)) for step in (0, 1)]
        else:
            low = x.detach().floor()
            self.taps = [(self.clip(low + k - 1), 0, w)
                         for k, w in enumerate(cubic_weights(x - low, -0.75))]

    def clip(self, x):
        """Positions that the image has, where padding continues it."""
        n = self.size
        if self.padding_mode == "reflection":
            x = _reflect(x, 0, 2 * (n - 1)) if self.align_corners else _reflect(x, -1, 2 * n - 1)
        return x.clamp(0, n - 1) if self.padding_mode != "zeros" else x


def _taps(axes):
    """(places, weights) of all combinations of the axes' taps."""
    found = [(first_place(x, step, axes[0].size), w) for x, step, w in axes[0].taps]
    for axis in axes[1:]:
        found = [(next_place(k, x, step, axis.size), w if more is None else w * more)
                 for k, w in found for x, step, more in axis.taps]
    return [k for k, _ in found], [w for _, w in found if w is not None]


def _check(input, grid, mode, padding_mode, align_corners):
    if mode not in ("bilinear", "nearest", "bicubic"):
        raise ValueError(
            "nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or "
            f"'bicubic', but got: '{mode}'")
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or "
            f"'reflection', but got: '{padding_mode}'")
    if align_corners is not None:
        check_flag("grid_sampler", "align_corners", align_corners)
    n = input.ndim - 2
    if (not is_tensor(grid) or grid.ndim != input.ndim or grid.shape[-1] != n
            or grid.shape[0] != input.shape[0]):
        raise RuntimeError(
            f"grid_sampler(): expected grid to have size {n} in last dimension and the input's "
            f"batch size, but got grid with sizes {list(grid.shape)} for input {list(input.shape)}")
    if mode == "bicubic" and n != 2:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    check_one_type("grid_sampler()", input=input, grid=grid)
    if 0 in input.shape[2:]:
        raise RuntimeError(
            f"grid_sampler(): expected input to have non-empty spatial dimensions, but got "
            f"{list(input.shape)}")
    if math.prod(input.shape[2:]) > grid_sampling.LARGEST:
        raise RuntimeError(f"grid_sampler(): images of {list(input.shape[2:])} are too large")


def says_of_corners(name, align_corners):
    """Are -1 and 1 the middles of the outermost pixels? They are their edges where it is not said,
    and were not in programs written for PyTorch before 1.3."""
    if align_corners is None:
        modes.warn(f"{name}: align_corners is False where it is not given; before PyTorch 1.3 it "
                   "was True. Say which is meant.")
    return bool(align_corners)


@precise
def grid_sample(input, grid, mode="bilinear", padding_mode="zeros", align_corners=None):
    """Sample an image at the positions of a grid in [-1, 1].

    >>> import whet
    >>> image, middle = whet.tensor([[[[1.0, 3.0]]]]), whet.zeros(1, 1, 1, 2)
    >>> whet.nn.functional.grid_sample(image, middle, align_corners=True).item()
    2.0
    """
    _check(input, grid, mode, padding_mode, align_corners)
    align_corners = says_of_corners("grid_sample", align_corners)
    if input.dtype.category == FLOAT and input.dtype.itemsize == 2:
        return grid_sample(input.to(float32), grid.to(float32), mode, padding_mode,
                           align_corners).to(input.dtype)
    n, sizes = input.ndim - 2, input.shape[2:]
    axes = [Axis(grid[..., n - 1 - i].flatten(1), sizes[i], mode, padding_mode,
                 align_corners) for i in range(n)]
    places, weights = _taps(axes)
    out = sums_op(input.flatten(2), *places, *weights, taps=len(places))
    out = out.reshape(*input.shape[:2], *grid.shape[1:-1])
    return attached(out, grid) if mode == "nearest" else out


GRID_SAMPLE_INTERPOLATION_MODES = {"bilinear": 0, "nearest": 1, "bicubic": 2}
GRID_SAMPLE_PADDING_MODES = {"zeros": 0, "border": 1, "reflection": 2}


@function("grid_sampler_2d", "grid_sampler_3d", method=False)
def grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners):
    """`nn.functional.grid_sample` with its modes as numbers, which are in
    `GRID_SAMPLE_INTERPOLATION_MODES` and `GRID_SAMPLE_PADDING_MODES`.

    >>> import whet
    >>> image, middle = whet.tensor([[[[1.0, 3.0]]]]), whet.zeros(1, 1, 1, 2)
    >>> whet.grid_sampler(image, middle, 0, 0, True).item()
    2.0
    """
    modes, paddings = tuple(GRID_SAMPLE_INTERPOLATION_MODES), tuple(GRID_SAMPLE_PADDING_MODES)
    at = interpolation_mode, padding_mode
    if not all(i in range(3) for i in at):
        raise RuntimeError(f"grid_sampler(): modes are numbers from 0 to 2, got {at}")
    return grid_sample(input, grid, modes[interpolation_mode], paddings[padding_mode],
                       align_corners)
