"""Quantised layers: for quantisation-aware training, with dynamic ranges, and with quantised
weights only."""

from __future__ import annotations

from typing import Any

import numpy as np
import whet
from whet import nn
from whet.cpu import quantised_weights as packing
from whet.cpu import weight_only as few_bits
from whet.nn import functional as F
from whet.ops.quantised import linear_op, quantize_linear, weight_only_op
from whet.ops.registry import apply
from whet.tensor import Tensor

from .scheme import LARGEST, TINY, Weights

BYTES = 255
KEPT = 0.9  # the weight of the range so far in the moving average


class FakeQuantize(nn.Module):
    """Rounds numbers to the values that bytes can represent. In training the range is an
    exponential moving average of the extrema, with weight 0.9 on the past; in evaluation it is
    fixed."""

    low: Tensor
    high: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("low", whet.tensor(float("inf")))
        self.register_buffer("high", whet.tensor(float("-inf")))

    def forward(self, x: Tensor) -> Tensor:
        """The rounded numbers."""
        if self.training:
            with whet.no_grad():
                for kept, seen in ((self.low, x.amin()), (self.high, x.amax())):
                    old = whet.where(kept.isinf(), seen, kept)
                    kept.copy_(old + (seen - old) * (1 - KEPT))
        scale, zero = range_of(self.low, self.high)
        return whet.fake_quantize_per_tensor_affine(x, scale, zero, 0, BYTES)


def range_of(low: Tensor, high: Tensor) -> tuple[Tensor, Tensor]:
    """The scale and the zero point of bytes for numbers between two bounds. Zero is always
    representable."""
    low, high = whet.clamp(low.detach(), max=0.0), whet.clamp(high.detach(), min=0.0)
    scale = whet.clamp((high - low) / BYTES, min=TINY)
    return scale, whet.clamp(whet.round(-low / scale), 0, BYTES)


def rounded_weight(w: Tensor) -> Tensor:
    """A weight rounded to the values that bytes can represent, with one scale for each row."""
    largest = w.detach().abs().flatten(1).amax(1)
    scale = whet.clamp(largest / LARGEST, min=TINY)
    return whet.fake_quantize_per_channel_affine(w, scale, 0, 0, -LARGEST, LARGEST)


class QATLinear(nn.Linear):
    """A linear layer for quantisation-aware training: its input and its weight are rounded as bytes
    would be."""

    fake: FakeQuantize

    def forward(self, input: Tensor) -> Tensor:
        """The layer applied to the rounded input and weight."""
        return F.linear(self.fake(input), rounded_weight(self.weight), self.bias)


class QATConv2d(nn.Conv2d):
    """A 2-d convolution for quantisation-aware training."""

    fake: FakeQuantize

    def forward(self, input: Tensor) -> Tensor:
        """The convolution of the rounded input and weight."""
        return self._conv_forward(self.fake(input), rounded_weight(self.weight), self.bias)


def check_input(input: Tensor, in_features: int) -> None:
    """Raise the error that a floating-point linear layer raises for such an input. Packed weights
    are padded with zeros, so without this check an input with a few features too many or too few
    would be accepted."""
    if input.dtype != whet.float32:
        raise RuntimeError(f"linear: expected an input of whet.float32, but got: {input.dtype}")
    if input.shape[-1] != in_features:
        raise RuntimeError(
            f"linear: the input has {input.shape[-1]} features, the weight is for {in_features}"
        )


class DynamicLinear(nn.Module):
    """A linear layer that computes with bytes. The range of its input is computed in each call."""

    weight: Tensor
    sums: Tensor
    scales: Tensor
    bias: Tensor

    def __init__(self, layer: nn.Linear) -> None:
        super().__init__()
        self.in_features, self.out_features = layer.in_features, layer.out_features
        w = Weights.of(layer.weight.detach().numpy())
        packed = packing.pack(w.numbers[None])
        bias = np.zeros(len(w.numbers), "f4") if layer.bias is None else layer.bias.detach().numpy()
        parts = {
            "sums": w.numbers.astype("i4").sum(1).astype("i4"),
            "scales": w.scales,
            "bias": bias,
        }
        self.register_buffer("weight", whet.from_numpy(packed))
        for name, p in parts.items():
            found = packing.by_feature(np.ascontiguousarray(p), packed)
            self.register_buffer(name, whet.from_numpy(found))

    def forward(self, input: Tensor) -> Tensor:
        """input @ weight.T + bias, computed with bytes."""
        check_input(input, self.in_features)
        if not input.numel():
            return input.new_zeros((*input.shape[:-1], self.out_features))
        scale, zero = range_of(input.amin(), input.amax())
        q = quantize_linear(input.detach(), scale, zero)
        shift = self.sums * -zero.to(whet.int32)
        tail = dict(low=float("-inf"), high=float("inf"), zero=None, residual_scale=0.0)
        operands = (q, self.weight, shift, self.scales * scale, self.bias, None)
        found: Tensor = apply(linear_op, operands, {"features": self.out_features, **tail})
        return found

    def extra_repr(self) -> str:
        """The sizes, for the layer's text."""
        return f"in_features={self.in_features}, out_features={self.out_features}"


class WeightOnlyLinear(nn.Module):
    """A linear layer that computes in floating point and stores its weights in 8 or 4 bits."""

    weight: Tensor
    scales: Tensor
    bias: Tensor

    def __init__(self, layer: nn.Linear, bits: int, block: int) -> None:
        super().__init__()
        self.in_features, self.out_features = layer.in_features, layer.out_features
        self.bits, self.block = bits, block
        self.missing = -layer.in_features % (8 // bits)
        weight = np.pad(layer.weight.detach().numpy(), ((0, 0), (0, self.missing)))
        packed, scales = few_bits.pack(weight, bits, block)
        bias = np.zeros(scales.shape[1], "f4")
        if layer.bias is not None:
            bias[: self.out_features] = layer.bias.detach().numpy()
        for name, a in {"weight": packed, "scales": scales, "bias": bias}.items():
            self.register_buffer(name, whet.from_numpy(a))

    def forward(self, input: Tensor) -> Tensor:
        """input @ weight.T + bias"""
        check_input(input, self.in_features)
        if self.missing:  # rows are whole bytes
            input = F.pad(input, (0, self.missing))
        operands = (input.detach(), self.weight, self.scales, self.bias)
        attrs = {"features": self.out_features, "bits": self.bits, "block": self.block}
        found: Tensor = apply(weight_only_op, operands, attrs)
        return found

    def extra_repr(self) -> str:
        """The sizes and bits, for the layer's text."""
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"bits={self.bits}, block={self.block}"
        )


def replaced(model: nn.Module, change: Any) -> nn.Module:
    """The module with each layer replaced by `change(layer)`, unless that is None."""
    found: nn.Module | None = change(model)
    if found is not None:
        return found
    for name, child in list(model.named_children()):
        new = replaced(child, change)
        if new is not child:
            setattr(model, name, new)
    return model


def qat(model: nn.Module) -> nn.Module:
    """Prepare a model for quantisation-aware training. Its linear layers and 2-d convolutions round
    their weights and inputs as bytes would. Gradients pass through the rounding unchanged.
    Parameters stay the same objects under the same names. The model is changed in place and
    returned.

    After the training, `quantize.convert(model.eval(), x)` makes the model of bytes.

    >>> import whet
    >>> from whet import nn, quantize
    >>> model = quantize.qat(nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)))
    >>> optimizer = whet.optim.SGD(model.parameters(), lr=0.1)
    >>> x = whet.randn(32, 8)
    >>> for _ in range(3):
    ...     optimizer.zero_grad()
    ...     model(x).square().mean().backward()
    ...     optimizer.step()
    >>> small = quantize.convert(model.eval(), x)
    >>> bool((small(x) - model(x)).abs().max() < 1e-4)
    True
    """
    kinds: dict[Any, Any] = {nn.Linear: QATLinear, nn.Conv2d: QATConv2d}

    def change(layer: nn.Module) -> nn.Module | None:
        new = kinds.get(type(layer))
        if new is None:
            return None
        made = new.__new__(new)
        made.__dict__.update(layer.__dict__)
        made.fake = FakeQuantize().train(layer.training)
        return made

    return replaced(model, change)


def dynamic(model: nn.Module, *, least: int = 0) -> nn.Module:
    """Make the linear layers of a model compute with bytes. Weights are quantised now, inputs in
    each call by the range they have there, so no calibration data are needed. For inference. Layers
    with fewer than `least` weights stay as they are. The model is changed in place and returned.

    >>> import whet
    >>> from whet import nn, quantize
    >>> model = nn.Sequential(nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 4)).eval()
    >>> x = whet.randn(5, 64)
    >>> before = model(x)
    >>> small = quantize.dynamic(model)
    >>> bool((small(x) - before).abs().max() < 0.05)
    True
    """

    def change(layer: nn.Module) -> nn.Module | None:
        if type(layer) is not nn.Linear or layer.weight.numel() < least:
            return None
        return DynamicLinear(layer)

    return replaced(model, change)


def weight_only(model: nn.Module, *, bits: int = 8, block: int = 128, least: int = 0) -> nn.Module:
    """Store the weights of a model's linear layers in 8 or 4 bits, with a scale for each `block` of
    a row. All computation stays in float32. This pays where few rows meet large weights, as reading
    the weights is what takes the time. For inference. Layers with fewer than `least` weights stay
    as they are. The model is changed in place and returned.

    >>> import whet
    >>> from whet import nn, quantize
    >>> model = nn.Linear(64, 32).eval()
    >>> x = whet.randn(1, 64)
    >>> before = model(x)
    >>> small = quantize.weight_only(model, bits=4, block=32)
    >>> small, bool((small(x) - before).abs().max() < 0.3)
    (WeightOnlyLinear(in_features=64, out_features=32, bits=4, block=32), True)
    """
    if bits not in (4, 8):
        raise ValueError(f"weight_only(): bits must be 8 or 4, not {bits}")
    if block < 1 or block % (8 // bits):
        raise ValueError(
            f"weight_only(): with {bits} bits, the block size must be a positive multiple of "
            f"{8 // bits}, not {block}")

    def change(layer: nn.Module) -> nn.Module | None:
        if type(layer) is not nn.Linear or layer.weight.numel() < least:
            return None
        if layer.weight.dtype is not whet.float32:
            return None
        return WeightOnlyLinear(layer, bits, block)

    return replaced(model, change)
