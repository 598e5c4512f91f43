"""Models in the ONNX format: files become modules, exported graphs become files.

What comes in: a path, bytes or a `ModelProto`. What goes out: an `nn.Module` that runs, traces and
trains. The package `onnx` is needed; it loads at first use, and where it is missing an error says
how to install it.
"""
from .. import declared_for_tracing
from ..lazy_names import lazy_names as _lazy_names
from .errors import MissingOnnx, OnnxError, UnsupportedOnnx

_FROM = {
    "load": "loading", "OnnxModule": "module",
    "export": "torch_arguments", "OnnxProgram": "torch_arguments",
    "TrainingMode": "torch_arguments"}


@declared_for_tracing.goes_by_no_size
def is_in_onnx_export() -> bool:
    """False: what is exported is a recording of a plain run, which need not know of it.

    >>> import whet
    >>> whet.onnx.is_in_onnx_export()
    False
    """
    return False


__getattr__, __dir__ = _lazy_names(__name__, members=_FROM)
