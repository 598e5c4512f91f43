"""Products and convolutions of bytes for quantised operators, by the kernels of bytes: unsigned
bytes times signed ones, with sums of 32 bits. Bytes of the other sign are shifted by 128, and their
zero points with them. What has no kernel (weights with a zero point of their own, images of other
than two dimensions) is None here, and computed in wide integers by who asks."""
import functools
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

import whet
import whet.nn.functional as F

from ....autograd import modes
from ....cpu import quantised_weights as packing
from ....ops.quantised import conv_op, linear_op, pack_op
from ....ops.registry import apply
from ....tensor import Tensor
from ..values import Known
from .convolutions import flat_pads, windows

SIGNED = 128                     # what a signed byte is less than an unsigned one
EXACT = 512                      # so many products of bytes have a sum that float32 holds
PLAIN = dict(low=float("-inf"), high=float("inf"), zero=None, residual_scale=0.0)


class Image(NamedTuple):
    """How a convolution's windows lie: attributes of the operator."""
    auto_pad: str
    dilations: list[int] | None
    group: int
    pads: list[int] | None
    strides: list[int] | None


def moved(x: Tensor, by: int, to: Any) -> Tensor:
    """Bytes of the other sign."""
    return (x.to(whet.int16) + by).to(to)


def unsigned(x: Tensor) -> tuple[Tensor, int]:
    """(bytes from 0 to 255, what is added to their zero point)"""
    return (moved(x, SIGNED, whet.uint8), SIGNED) if x.dtype is whet.int8 else (x, 0)


def signed(w: Tensor) -> Tensor:
    """Bytes from -128 to 127."""
    return moved(w, -SIGNED, whet.int8) if w.dtype is whet.uint8 else w


def has_no_zero(w: Tensor, zero: Known | None) -> bool:
    """Do signed bytes of weights stand for numbers around 0?"""
    points = [0] if zero is None else zero.items.reshape(-1).tolist()
    return all(p == (SIGNED if w.dtype is whet.uint8 else 0) for p in points)


# ---- weights, packed once ------------------------------------------------------------------------
# by the tensor's id: (a reference to it, what was made of it)
_made: dict[int, tuple[weakref.ref[Tensor], dict[Any, Any]]] = {}


def kept_of(w: Tensor) -> dict[Any, Any]:
    """What was made of a tensor, as long as it lives."""
    place = id(w)
    found = _made.get(place)
    if found is None or found[0]() is not w:
        found = _made[place] = weakref.ref(w, lambda _: _made.pop(place, None) and None), {}
    return found[1]


def once(make: Callable[..., Any]) -> Callable[..., Any]:
    """A function of a tensor and numbers that is asked again where the tensor was written to. A run
    that is recorded computes it, so that it holds for weights that come later."""
    @functools.wraps(make)
    def found(w: Tensor, *how: Any) -> Any:
        if modes.state.observers:
            return make(w, *how)
        kept = kept_of(w)
        key = make.__name__, how
        if key not in kept or kept[key][0] != w._version:
            with whet.no_grad():
                kept[key] = w._version, make(w, *how)
        return kept[key][1]
    return found


@once
def rows_of(w: Tensor, each: int) -> tuple[list[Tensor], Tensor]:
    """A matrix of weights (K, N) as packed rows, `each` elements of K at a time, and its sums."""
    rows = signed(w).t().contiguous()
    parts = [apply(pack_op, (rows.narrow(1, i, min(each, rows.shape[1] - i)).contiguous(),), {})
             for i in range(0, rows.shape[1], each)]
    return parts, rows.to(whet.int32).sum(1).to(whet.int32)


@once
def taps_of(w: Tensor, first: int, count: int, window: packing.Window) -> tuple[Tensor, Tensor]:
    """Some channels of a convolution's weights, packed, and their sums."""
    part = signed(w).narrow(1, first, count).contiguous()
    sums = part.to(whet.int32).sum((1, 2, 3)).to(whet.int32)
    return apply(pack_op, (part,), window._asdict()), sums


def parameter(p: Tensor, features: int, packed: Tensor) -> Tensor:
    """Numbers for each feature as kernels read them."""
    groups, room = packed.shape[0], packed.shape[1] * packed.shape[3]
    p = p.expand(features) if p.numel() == 1 else p
    return F.pad(p.reshape(groups, -1), (0, room - features // groups))


def numbers(packed: Tensor, features: int, shift: Tensor, scale: Tensor) -> tuple[Tensor, ...]:
    """The operands that follow the weights."""
    return (*(parameter(p, features, packed) for p in (shift, scale)),
            whet.zeros(packed.shape[0], packed.shape[1] * packed.shape[3]))


# ---- sums ----------------------------------------------------------------------------------------
def matmul_sums(a: Tensor, b: Tensor) -> Tensor | None:
    """The integers a @ b, less no zero points, with b shifted to signed bytes and a to unsigned
    ones: by so many elements at a time that floats hold the sums."""
    if b.ndim != 2 or a.ndim < 1 or not a.numel() or not b.numel():
        return None
    parts, _ = rows_of(b, EXACT)
    total: Tensor | None = None
    for i, packed in enumerate(parts):
        part = a.narrow(-1, i * EXACT, min(EXACT, a.shape[-1] - i * EXACT)).contiguous()
        features = b.shape[1]
        rest = numbers(packed, features, whet.zeros(1, dtype=whet.int32), whet.ones(1))
        found = apply(linear_op, (part, packed, *rest, None), {"features": features, **PLAIN})
        whole = found.to(whet.int32)
        total = whole if total is None else total + whole
    return total


def matmul_integers(a: Tensor, b: Tensor, a_zero: Tensor | None, b_zero: Known | None
                    ) -> Tensor | None:
    """(a - a_zero) @ (b - b_zero) as integers of 32 bits."""
    if not has_no_zero(b, b_zero) or a_zero is not None and a_zero.numel() != 1:
        return None
    x, more = unsigned(a)
    total = matmul_sums(x, b)
    if total is None:
        return None
    point = whet.zeros((), dtype=whet.int32) if a_zero is None else \
        a_zero.reshape(()).to(whet.int32)
    return total - (point + more) * rows_of(b, EXACT)[1]


# ---- layers --------------------------------------------------------------------------------------
class Result:
    """What a layer of bytes gives: bytes of a type around a zero point."""

    def __init__(self, zero: Known) -> None:
        self.signed = zero.type is whet.int8
        self.zero = int(zero.items.reshape(-1)[0]) + (SIGNED if self.signed else 0)

    @property
    def tail(self) -> dict[str, Any]:
        """The attributes of the op."""
        return dict(low=float(-self.zero), high=float(255 - self.zero), zero=self.zero,
                    residual_scale=0.0)

    def of(self, y: Tensor) -> Tensor:
        """The result in its type."""
        return moved(y, -SIGNED, whet.int8) if self.signed else y


def fits(x: Tensor, w: Tensor, x_zero: Known, w_zero: Known, y_scale: Tensor,
         y_zero: Known) -> bool:
    """Are these the bytes and zero points that kernels are for?"""
    return (has_no_zero(w, w_zero) and x_zero.items.size == y_zero.items.size == 1
            and y_scale.numel() == 1 and y_zero.type in (whet.uint8, whet.int8)
            and {x.dtype, w.dtype} <= {whet.uint8, whet.int8} and bool(x.numel() and w.numel()))


def matmul_layer(a: Tensor, a_zero: Known, b: Tensor, factor: Tensor, y_zero: Known) -> Tensor:
    """`QLinearMatMul` with a matrix of weights."""
    x, more = unsigned(a)
    (packed,), sums = rows_of(b, b.shape[0])
    shift = sums * -(int(a_zero.items.reshape(-1)[0]) + more)
    rest = numbers(packed, b.shape[1], shift, factor.reshape(-1))
    result = Result(y_zero)
    return result.of(apply(linear_op, (x.contiguous(), packed, *rest, None),
                           {"features": b.shape[1], **result.tail}))


def windows_of(x: Tensor, w: Tensor, image: Image, zero: int
               ) -> tuple[Tensor, packing.Window] | None:
    """(the image, padded where sides differ, how windows lie on it)"""
    if x.ndim != 4:
        return None
    strides, dilations = image.strides or [1, 1], image.dilations or [1, 1]
    each = windows(list(x.shape[2:]), list(w.shape[2:]), strides, dilations, image.auto_pad,
                   image.pads)
    if any(before != after or before < 0 for before, after in each):
        x, each = F.pad(x, flat_pads(each), value=zero), [(0, 0)] * 2
    return x, packing.Window(tuple(w.shape[2:]), tuple(strides), tuple(b for b, _ in each),
                             tuple(dilations), image.group, zero)


def conv_layer(x: Tensor, x_zero: Known, w: Tensor, bias: Tensor | None, factor: Tensor,
               y_zero: Known, image: Image) -> Tensor | None:
    """`QLinearConv` of images."""
    x, more = unsigned(x)
    zero = int(x_zero.items.reshape(-1)[0]) + more
    found = windows_of(x, w, image, zero)
    if found is None:
        return None
    x, window = found
    packed, sums = taps_of(w, 0, w.shape[1], window)
    shift = sums * -zero
    rest = numbers(packed, w.shape[0], shift if bias is None else shift + bias, factor.reshape(-1))
    result = Result(y_zero)
    return result.of(apply(conv_op, (x, packed, *rest, None),
                           {"features": w.shape[0], **window._asdict(), **result.tail}))


def conv_integers(x: Tensor, w: Tensor, x_zero: Tensor | None, w_zero: Known | None, image: Image
                  ) -> Tensor | None:
    """`ConvInteger` of images: sums of so many channels at a time that floats hold them, less the
    zero point times what the weights add up to in each window."""
    each = EXACT // max(w.shape[2:].numel(), 1)
    if not has_no_zero(w, w_zero) or x.ndim != 4 or image.group != 1 or not each:
        return None
    if not x.numel() or not w.numel() or x_zero is not None and x_zero.numel() != 1:
        return None
    x, more = unsigned(x)
    point = whet.zeros((), dtype=whet.int32) if x_zero is None else \
        x_zero.reshape(()).to(whet.int32)
    ones = whet.ones(1, *x.shape[1:], dtype=whet.uint8)
    total, weights = (_sums(y, w, image, each) for y in (x, ones))
    return total - (point + more) * weights


def _sums(x: Tensor, w: Tensor, image: Image, each: int) -> Tensor:
    """What windows of an image, with zeros around it, add up to."""
    found = windows_of(x, w, image, 0)
    assert found is not None
    x, window = found
    total: Tensor | None = None
    for first in range(0, w.shape[1], each):
        count = min(each, w.shape[1] - first)
        packed, _ = taps_of(w, first, count, window)
        rest = numbers(packed, w.shape[0], whet.zeros(1, dtype=whet.int32), whet.ones(1))
        part = x.narrow(1, first, count).contiguous()
        whole = apply(conv_op, (part, packed, *rest, None),
                      {"features": w.shape[0], **window._asdict(), **PLAIN}).to(whet.int32)
        total = whole if total is None else total + whole
    assert total is not None
    return total.contiguous()
