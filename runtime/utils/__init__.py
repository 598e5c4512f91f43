"""Helpers: `whet.utils.data` (datasets and loaders), `whet.utils.tensorboard`, ..."""
import importlib

_PARTS = ("_foreach_utils", "_python_dispatch", "_pytree", "benchmark", "checkpoint", "data",
          "dlpack", "flop_counter", "hooks", "model_zoo", "module_tracker", "tensorboard")


def __getattr__(name):
    if name == "swap_tensors":
        from .swapping import swap_tensors
        return swap_tensors
    if name == "ThroughputBenchmark":
        from .throughput import ThroughputBenchmark
        return ThroughputBenchmark
    if name in _PARTS:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def set_module(obj, mod):
    """Say that an object is of another module, which messages then name.

    >>> import whet
    >>> class Mine: pass
    >>> whet.utils.set_module(Mine, "package")
    >>> Mine
    <class 'package.Mine'>
    """
    if not isinstance(mod, str):
        raise TypeError("The mod argument should be a string")
    obj.__module__ = mod
