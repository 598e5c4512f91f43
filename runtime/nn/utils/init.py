"""Modules without their first values: `whet.nn.utils.skip_init`."""
import inspect

from ..init import left_as_they_are
from ..module import Module


def skip_init(module_cls, *args, **kwargs):
    """A module whose parameters hold whatever lay in memory: for one whose values are loaded.

    >>> import whet
    >>> whet.nn.utils.skip_init(whet.nn.Linear, 5, 1).weight.shape
    whet.Size([1, 5])
    """
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    with left_as_they_are():
        return module_cls(*args, **kwargs)
