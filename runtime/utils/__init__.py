"""Helpers: `whet.utils.data` (datasets and loaders), `whet.utils.tensorboard`, ..."""
import importlib

_PARTS = ("_foreach_utils", "_python_dispatch", "_pytree", "benchmark", "checkpoint", "data",
          "dlpack", "flop_counter", "hooks", "model_zoo", "module_tracker", "tensorboard")


def __getattr__(name):
    if name == "swap_tensors":
        from .swapping import swap_tensors
        return swap_tensors
    if name in _PARTS:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
