"""Convolutions, and what they are made of: windows, paddings."""
import math

import whet
import whet.nn.functional as F

from ....tensor import Tensor
from ...errors import OnnxError
from ..definition import operator
from ..values import Ints
from .detection import sampled

CONV = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
TRANSPOSED = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}


def windows(sizes: list[int], kernel: list[int], strides: list[int], dilations: list[int],
            auto_pad: str, pads: list[int] | None) -> list[tuple[int, int]]:
    """How much is padded before and after each dimension."""
    if auto_pad == "VALID":
        return [(0, 0)] * len(kernel)
    if auto_pad == "NOTSET":
        padding = pads or [0] * (2 * len(kernel))
        return list(zip(padding[:len(kernel)], padding[len(kernel):]))
    if auto_pad not in ("SAME_UPPER", "SAME_LOWER"):
        raise OnnxError(f"there is no auto_pad {auto_pad!r}")
    found = []
    for n, k, s, d in zip(sizes, kernel, strides, dilations):
        needed = max((-(-n // s) - 1) * s + (k - 1) * d + 1 - n, 0)
        less, more = needed // 2, needed - needed // 2
        found.append((less, more) if auto_pad == "SAME_UPPER" else (more, less))
    return found


def flat_pads(pads: list[tuple[int, int]]) -> list[int]:
    """How much is padded before and after each dimension, as `F.pad` takes it."""
    return [n for pair in reversed(pads) for n in pair]


def convolved(x: Tensor, w: Tensor, bias: Tensor | None, *, auto_pad: str = "NOTSET",
              dilations: list[int] | None, group: int, pads: list[int] | None,
              strides: list[int] | None) -> Tensor:
    """A convolution of any number of dimensions."""
    dims = x.ndim - 2
    if dims not in CONV:
        raise OnnxError(f"convolutions have 1 to 3 dimensions, not {dims}")
    strides, dilations = strides or [1] * dims, dilations or [1] * dims
    each = windows(list(x.shape[2:]), list(w.shape[2:]), strides, dilations, auto_pad, pads)
    if any(before != after or before < 0 for before, after in each):
        x, each = F.pad(x, flat_pads(each)), [(0, 0)] * dims
    return CONV[dims](x, w, bias, strides, [b for b, _ in each], dilations, group)


@operator("Conv")
def conv(x: Tensor, w: Tensor, bias: Tensor | None = None, *, auto_pad: str = "NOTSET",
         dilations: list[int] | None = None, group: int = 1,
         kernel_shape: list[int] | None = None, pads: list[int] | None = None,
         strides: list[int] | None = None) -> Tensor:
    return convolved(x, w, bias, auto_pad=auto_pad, dilations=dilations, group=group, pads=pads,
                     strides=strides)


@operator("ConvTranspose")
def conv_transpose(x: Tensor, w: Tensor, bias: Tensor | None = None, *, auto_pad: str = "NOTSET",
                   dilations: list[int] | None = None, group: int = 1,
                   kernel_shape: list[int] | None = None, output_padding: list[int] | None = None,
                   output_shape: list[int] | None = None, pads: list[int] | None = None,
                   strides: list[int] | None = None) -> Tensor:
    dims = x.ndim - 2
    strides, dilations = strides or [1] * dims, dilations or [1] * dims
    extra = output_padding or [0] * dims
    sizes = [(n - 1) * s + (k - 1) * d + 1 + e for n, s, k, d, e in
             zip(x.shape[2:], strides, w.shape[2:], dilations, extra)]
    if output_shape is None and auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        output_shape = [n * s for n, s in zip(x.shape[2:], strides)]
    if output_shape is not None:
        cut = [_cut(n - m, auto_pad) for n, m in zip(sizes, output_shape[-dims:])]
    else:
        cut = windows([0] * dims, [1] * dims, strides, dilations,
                      "NOTSET" if auto_pad == "VALID" else auto_pad, pads)
    even = all(a == b and a >= 0 for a, b in cut)
    found = TRANSPOSED[dims](x, w, bias, strides, [a for a, _ in cut] if even else 0,
                             0 if not even else extra, group, dilations)
    if even:
        return found
    after = [(-a, e - b) for (a, b), e in zip(cut, extra)]
    grown = F.pad(found, flat_pads([(0, max(e, 0)) for e in extra])) if any(extra) else found
    if bias is not None and any(extra):
        grown = F.pad(TRANSPOSED[dims](x, w, None, strides, 0, 0, group, dilations),
                      flat_pads([(0, e) for e in extra])) + bias.reshape(-1, *[1] * dims)
    return F.pad(grown, flat_pads([(a, b - e) for (a, b), e in zip(after, extra)]))


def _cut(total: int, auto_pad: str) -> tuple[int, int]:
    half = total // 2
    return (half, total - half) if auto_pad == "SAME_UPPER" else (total - half, half)


@operator("CausalConvWithState")
def causal_conv_with_state(x: Tensor, weight: Tensor, bias: Tensor | None = None,
                           past_state: Tensor | None = None, *,
                           activation: str = "none") -> tuple[Tensor, Tensor]:
    width = weight.shape[2] - 1
    if past_state is None:
        past_state = whet.zeros(x.shape[0], x.shape[1], width, dtype=x.dtype)
    padded = whet.cat([past_state, x], 2)
    found = F.conv1d(padded, weight, bias, groups=x.shape[1])
    if activation in ("silu", "swish"):
        found = F.silu(found)
    elif activation != "none":
        raise OnnxError(f"there is no activation {activation!r}")
    return found, padded.narrow(2, padded.shape[2] - width, width)


@operator("Col2Im")
def col2im(x: Tensor, image_shape: Ints, block_shape: Ints, *, dilations: list[int] | None = None,
           pads: list[int] | None = None, strides: list[int] | None = None) -> Tensor:
    dims = len(image_shape)
    strides, dilations = strides or [1] * dims, dilations or [1] * dims
    before_after = pads or [0] * (2 * dims)
    full = [n + before_after[i] + before_after[i + dims] for i, n in enumerate(image_shape)]
    counts = [(n - (k - 1) * d - 1) // s + 1
              for n, k, d, s in zip(full, block_shape, dilations, strides)]
    batch, channels = x.shape[0], x.shape[1] // math.prod(block_shape)
    places = whet.zeros([1] * (2 * dims), dtype=whet.int64)
    for i in range(dims):
        own = whet.arange(block_shape[i]).reshape(-1, 1) * dilations[i] + \
            whet.arange(counts[i]).reshape(1, -1) * strides[i]
        view = [1] * (2 * dims)
        view[i], view[i + dims] = block_shape[i], counts[i]
        places = places * full[i] + own.reshape(view)
    source = x.reshape(batch, channels, -1)
    at = places.reshape(1, 1, -1).expand(source.shape)
    found = whet.zeros(batch, channels, math.prod(full), dtype=x.dtype).scatter_add(2, at, source)
    found = found.reshape(batch, channels, *full)
    for i, n in enumerate(image_shape):
        found = found.narrow(i + 2, before_after[i], n)
    return found


@operator("DeformConv")
def deform_conv(x: Tensor, w: Tensor, offset: Tensor, bias: Tensor | None = None,
                mask: Tensor | None = None, *, dilations: list[int] | None = None, group: int = 1,
                kernel_shape: list[int] | None = None, offset_group: int = 1,
                pads: list[int] | None = None, strides: list[int] | None = None) -> Tensor:
    if x.ndim != 4:
        raise OnnxError("deformable convolutions have 2 dimensions")
    dilations, strides = dilations or [1, 1], strides or [1, 1]
    pads = pads or [0, 0, 0, 0]
    n, c = x.shape[:2]
    kh, kw = w.shape[2:]
    oh, ow = offset.shape[2:]
    moved = offset.reshape(n, offset_group, kh, kw, 2, oh, ow)
    rows = _grid(oh, strides[0], pads[0], kh, dilations[0], x).reshape(1, 1, kh, 1, oh, 1)
    columns = _grid(ow, strides[1], pads[1], kw, dilations[1], x).reshape(1, 1, 1, kw, 1, ow)
    rows, columns = rows + moved[:, :, :, :, 0], columns + moved[:, :, :, :, 1]
    shape = (n * offset_group, kh * kw * oh * ow)
    source = x.reshape(n * offset_group, c // offset_group, *x.shape[2:])
    found = sampled(source, rows.reshape(shape), columns.reshape(shape))
    found = found.reshape(n, offset_group, c // offset_group, kh * kw, oh * ow)
    if mask is not None:
        found = found * mask.reshape(n, offset_group, 1, kh * kw, oh * ow)
    found = found.reshape(n, group, c // group * kh * kw, oh * ow)
    result = whet.matmul(w.reshape(1, group, w.shape[0] // group, -1), found)
    result = result.reshape(n, w.shape[0], oh, ow)
    return result if bias is None else result + bias.reshape(1, -1, 1, 1)


def _grid(count: int, stride: int, pad: int, kernel: int, dilation: int, like: Tensor) -> Tensor:
    at = whet.arange(count, dtype=like.dtype).reshape(1, -1) * stride - pad
    return whet.arange(kernel, dtype=like.dtype).reshape(-1, 1) * dilation + at
