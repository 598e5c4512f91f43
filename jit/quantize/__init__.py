"""Quantisation: models that compute with bytes."""

from whet.ops.quantised import dequantize_linear, quantize_linear

__all__ = ["dequantize_linear", "quantize_linear"]
