"""Helpers: `whet.utils.data` (datasets and loaders), `whet.utils.tensorboard`, ..."""
import importlib

_PARTS = ("_foreach_utils", "_python_dispatch", "_pytree", "benchmark", "checkpoint", "data",
          "dlpack", "flop_counter", "hooks", "model_zoo", "module_tracker", "tensorboard")


def set_module(obj, mod):
    """Let an object say that it is of a module, in texts and in pickles.

    >>> import whet
    >>> class Layer: ...
    >>> whet.utils.set_module(Layer, "mine")
    >>> Layer.__module__
    'mine'
    """
    if not isinstance(mod, str):
        raise TypeError("The mod argument should be a string")
    obj.__module__ = mod


def __getattr__(name):
    if name == "swap_tensors":
        from .swapping import swap_tensors
        return swap_tensors
    if name in _PARTS:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
