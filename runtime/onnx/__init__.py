"""Models in the ONNX format: files become modules, exported graphs become files.

What comes in: a path, bytes or a `ModelProto`. What goes out: an `nn.Module` that runs, traces and
trains. The package `onnx` is needed; it loads at first use, and where it is missing an error says
how to install it.
"""
import importlib
from typing import Any

from .. import declared_for_tracing
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


def __getattr__(name: str) -> Any:
    if name in _FROM:
        return getattr(importlib.import_module("." + _FROM[name], __name__), name)
    raise AttributeError(f"module 'whet.onnx' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_FROM])
