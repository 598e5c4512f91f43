"""Helpers: `whet.utils.data` (datasets and loaders), `whet.utils.tensorboard`, ..."""
from ..lazy_names import lazy_names as _lazy_names

__getattr__, __dir__ = _lazy_names(
    __name__,
    modules={name: name for name in (
        "_foreach_utils", "_python_dispatch", "_pytree", "benchmark", "checkpoint", "data",
        "dlpack", "flop_counter", "hooks", "model_zoo", "module_tracker", "tensorboard")},
    members={"swap_tensors": "swapping", "ThroughputBenchmark": "throughput"})


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
