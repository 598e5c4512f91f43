"""Tensors of quantised types: integers that stand for real numbers, `(q - zero_point) * scale`
(docs/quantization.md)."""
from . import rules as _rules  # noqa: F401  (what is done with them)
from .make import quantize_per_channel, quantize_per_tensor, quantize_per_tensor_dynamic
from .rules import RULES
from .tensor import QuantizedTensor

__all__ = ["RULES", "QuantizedTensor", "quantize_per_channel", "quantize_per_tensor",
           "quantize_per_tensor_dynamic"]
