"""The package `onnx`, which is loaded when something of it is needed for the first time."""
import importlib
from types import ModuleType

from .errors import MissingOnnx


def onnx_library(part: str = "onnx") -> ModuleType:
    """The module `onnx`, or a part of it such as "onnx.helper"."""
    try:
        return importlib.import_module(part)
    except ModuleNotFoundError as error:
        if error.name != "onnx":
            raise
        raise MissingOnnx("whet.onnx needs the package onnx: pip install whet[onnx]") from error
