"""Quantisation: models that compute with bytes.

Comes in: a model, and calls with typical data or a training that rounds.
Goes out: an exported function of bytes and a report, or the model with other layers.
A layer of another kind stays as it is; the report says why.

static.py        `static` and `convert`: what is recorded of a model becomes an exported function
calibrators.py   the ranges of activations, seen in calls
scheme.py        scales and zero points
plain_graph.py   what a graph says itself of how it is quantised
lowering.py      layers become ops of bytes, with what follows them
graph_builder.py nodes, each computed on the sample as it is made
report.py        what it did to each layer
layers.py        `qat`, `dynamic`, `weight_only`: layers that round as bytes do, or are of bytes
"""

from whet.ops.quantised import dequantize_linear, quantize_linear

from .calibrators import Entropy, MinMax, Percentile
from .layers import dynamic, qat, weight_only
from .report import LayerReport, Report
from .static import Quantised, convert, static

__all__ = [
    "Entropy",
    "LayerReport",
    "MinMax",
    "Percentile",
    "Quantised",
    "Report",
    "convert",
    "dequantize_linear",
    "dynamic",
    "qat",
    "quantize_linear",
    "static",
    "weight_only",
]
