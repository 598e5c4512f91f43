"""Quantisation: models that compute with bytes.

Input: a model, with calibration data or after quantisation-aware training.
Output: an exported function of bytes and a report, or the model with replaced layers.
A layer of an unsupported kind stays in floating point; the report says why.

static.py        `static` and `convert`: a recorded model becomes an exported function of bytes
calibrators.py   the ranges of activations, observed in calls
scheme.py        scales and zero points
plain_graph.py   reads the graph: constants folded, quantisations that it states noted
lowering.py      layers become ops of bytes, with their epilogues fused
graph_builder.py builds a graph, computing each node on a sample
report.py        the error and the size of each layer
layers.py        `qat`, `dynamic`, `weight_only`: the layers that these put into a model
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
