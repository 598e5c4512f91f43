"""Normalisations, and dropout."""
from typing import Any

import whet
import whet.nn.functional as F

from ....random import Generator
from ....tensor import Tensor
from ...element_types import ElementType
from ...errors import OnnxError
from ..definition import Call, operator
from ..values import Int, Number


def normalised(x: Tensor, scale: Tensor, bias: Tensor, mean: Tensor, var: Tensor,
               epsilon: float) -> Tensor:
    """A batch norm with given statistics, which may be wider than the data."""
    if not x.dtype is scale.dtype is mean.dtype:
        wide = F.batch_norm(x.to(mean.dtype), mean, var, scale.to(mean.dtype),
                            bias.to(mean.dtype), False, 0.0, epsilon)
        return wide.to(x.dtype)
    return F.batch_norm(x, mean, var, scale, bias, False, 0.0, epsilon)


def trained(x: Tensor, scale: Tensor, bias: Tensor, mean: Tensor, var: Tensor, epsilon: float,
            momentum: float) -> tuple[Tensor, Tensor, Tensor]:
    """A batch norm with the batch's statistics, and the running ones after it."""
    dims = [0, *range(2, x.ndim)]
    wide = x.to(mean.dtype)
    own, spread = whet.mean(wide, dims), whet.var(wide, dims, correction=0)
    found = normalised(x, scale, bias, own, spread, epsilon)
    return (found, mean * momentum + own * (1 - momentum), var * momentum + spread * (1 - momentum))


@operator("BatchNormalization", since=14)
def batch_normalization(x: Tensor, scale: Tensor, bias: Tensor, mean: Tensor, var: Tensor, *,
                        epsilon: float = 1e-5, momentum: float = 0.9,
                        training_mode: int = 0) -> Any:
    if training_mode:
        return trained(x, scale, bias, mean, var, epsilon, momentum)
    return normalised(x, scale, bias, mean, var, epsilon)


@operator("BatchNormalization", since=7)
def batch_normalization_7(x: Tensor, scale: Tensor, bias: Tensor, mean: Tensor, var: Tensor, *,
                          epsilon: float = 1e-5, momentum: float = 0.9, spatial: int = 1,
                          call: Call) -> Any:
    if not spatial:
        found = (x - mean) / whet.sqrt(var + epsilon) * scale + bias
        return found
    if call.wants(1):                    # more than one result says that it is training
        found = trained(x, scale, bias, mean, var, epsilon, momentum)
        return (*found, found[1], found[2])
    return normalised(x, scale, bias, mean, var, epsilon)


@operator("BatchNormalization")
def batch_normalization_1(x: Tensor, scale: Tensor, bias: Tensor, mean: Tensor, var: Tensor, *,
                          epsilon: float = 1e-5, is_test: int = 0, momentum: float = 0.9,
                          spatial: int = 1, call: Call) -> Any:
    return batch_normalization_7(x, scale, bias, mean, var, epsilon=epsilon, momentum=momentum,
                                 spatial=spatial, call=Call(call.opset, (True,) if is_test
                                                            else call.outputs))


@operator("InstanceNormalization")
def instance_normalization(x: Tensor, scale: Tensor, bias: Tensor, *,
                           epsilon: float = 1e-5) -> Tensor:
    return F.instance_norm(x, weight=scale, bias=bias, eps=epsilon)


@operator("LayerNormalization")
def layer_normalization(x: Tensor, scale: Tensor, bias: Tensor | None = None, *, axis: int = -1,
                        epsilon: float = 1e-5, stash_type: int = 1, call: Call) -> Any:
    axis, wide = axis % x.ndim, stashed(x, stash_type)
    shape = x.shape[axis:]
    scale, wide_bias = scale.expand(shape), None if bias is None else bias.expand(shape)
    if wide.dtype is x.dtype:
        found = F.layer_norm(x, shape, scale, wide_bias, epsilon)
    else:
        found = F.layer_norm(wide, shape, None, None, epsilon).to(x.dtype) * scale
        found = found if wide_bias is None else found + wide_bias
    if not call.wants(1) and not call.wants(2):
        return found
    dims = list(range(axis, x.ndim))
    mean = whet.mean(wide, dims, keepdim=True)
    spread = whet.var(wide, dims, correction=0, keepdim=True)
    return found, mean, 1 / whet.sqrt(spread + epsilon)


def stashed(x: Tensor, stash_type: int) -> Tensor:
    """The data in the type that its statistics are computed in."""
    kind = ElementType.of_code(stash_type).whet
    return x if kind is None or x.dtype is whet.float64 else x.to(kind)


@operator("RMSNormalization")
def rms_normalization(x: Tensor, scale: Tensor, *, axis: int = -1, epsilon: float = 1e-5,
                      stash_type: int = 1) -> Tensor:
    axis, wide = axis % x.ndim, stashed(x, stash_type)
    shape = x.shape[axis:]
    if wide.dtype is x.dtype and scale.dtype is x.dtype:
        return F.rms_norm(x, shape, scale.expand(shape), epsilon)
    return F.rms_norm(wide, shape, None, epsilon).to(x.dtype).to(scale.dtype) * scale


@operator("GroupNormalization", since=21)
def group_normalization(x: Tensor, scale: Tensor, bias: Tensor, *, num_groups: int,
                        epsilon: float = 1e-5, stash_type: int = 1) -> Tensor:
    wide = stashed(x, stash_type)
    if wide.dtype is x.dtype:
        return F.group_norm(x, num_groups, scale, bias, epsilon)
    view = [1, -1, *[1] * (x.ndim - 2)]
    found = F.group_norm(wide, num_groups, None, None, epsilon).to(x.dtype)
    return found * scale.reshape(view) + bias.reshape(view)


@operator("GroupNormalization", since=18)
def group_normalization_18(x: Tensor, scale: Tensor, bias: Tensor, *, num_groups: int,
                           epsilon: float = 1e-5) -> Tensor:
    each = x.shape[1] // num_groups
    return F.group_norm(x, num_groups, whet.repeat_interleave(scale, each),
                        whet.repeat_interleave(bias, each), epsilon)


@operator("MeanVarianceNormalization")
def mean_variance_normalization(x: Tensor, *, axes: list[int] | None = None) -> Tensor:
    dims = axes or [0, 2, 3]
    mean = whet.mean(x, dims, keepdim=True)
    spread = whet.sqrt(whet.mean(x * x, dims, keepdim=True) - mean * mean)
    return (x - mean) / (spread + 1e-9)


@operator("LpNormalization")
def lp_normalization(x: Tensor, *, axis: int = -1, p: int = 2) -> Tensor:
    if p == 1:
        size = whet.sum(whet.abs(x), axis, keepdim=True)
    else:
        size = whet.sqrt(whet.sum(x * x, axis, keepdim=True))
    return whet.where(whet.eq(size, 0), whet.zeros_like(x), x / size)


@operator("LRN")
def lrn(x: Tensor, *, size: int, alpha: float = 1e-4, beta: float = 0.75,
        bias: float = 1.0) -> Tensor:
    before = (size - 1) // 2
    squares = (x * x).movedim(1, -1)
    padded = F.pad(squares, [before, size - 1 - before])
    total = sum((padded.narrow(-1, i, x.shape[1]) for i in range(size)), whet.zeros(()))
    return x / (bias + alpha / size * total.movedim(-1, 1)) ** beta


def dropped(x: Tensor, ratio: float, seed: int | None) -> tuple[Tensor, Tensor]:
    """The data without a part of its elements, and which ones are kept."""
    generator = None if seed is None else Generator().manual_seed(seed)
    kept = whet.rand(x.shape, generator=generator) >= ratio
    if ratio >= 1:
        return whet.zeros_like(x), kept
    return whet.where(kept, x * (1 / (1 - ratio)), whet.zeros_like(x)), kept


@operator("Dropout", since=12)
def dropout(x: Tensor, ratio: Number | None = None, training_mode: Int | None = None, *,
            seed: int | None = None, call: Call) -> Any:
    part = 0.5 if ratio is None else ratio
    if not 0 <= part <= 1:
        raise OnnxError(f"the ratio {part} is not from 0 to 1")
    if training_mode and part:
        return dropped(x, part, seed)
    return x, whet.ones(x.shape, dtype=whet.bool)


@operator("Dropout", since=7)
def dropout_7(x: Tensor, *, ratio: float = 0.5, call: Call) -> Any:
    if not call.wants(1):
        return x
    return x, whet.ones(x.shape, dtype=whet.bool if call.opset >= 10 else x.dtype)


@operator("Dropout")
def dropout_1(x: Tensor, *, ratio: float = 0.5, is_test: int = 0, call: Call) -> Any:
    if is_test:
        return x, whet.ones_like(x)
    found, kept = dropped(x, ratio, None)
    return found, kept.to(x.dtype)
