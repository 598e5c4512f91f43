"""The accelerator of this machine, as programs ask for it: its CUDA devices, where there are
some."""
from . import cpu as _cpu
from . import cuda as _cuda
from .cuda import (
    current_stream,
    device_count,
    empty_cache,
    empty_host_cache,
    get_device_capability,
    is_available,
    max_memory_allocated,
    max_memory_reserved,
    memory_allocated,
    memory_reserved,
    memory_stats,
    reset_accumulated_memory_stats,
    reset_peak_memory_stats,
    set_stream,
    synchronize,
)

__all__ = [
    "current_accelerator", "current_device_idx", "current_device_index", "current_stream",
    "device_count", "device_index", "empty_cache", "empty_host_cache", "get_device_capability",
    "get_memory_info", "is_available", "max_memory_allocated", "max_memory_reserved",
    "memory_allocated", "memory_reserved", "memory_stats", "reset_accumulated_memory_stats",
    "reset_peak_memory_stats", "set_device_idx", "set_device_index", "set_stream", "synchronize"]
current_device_index = current_device_idx = _cuda.current_device
set_device_index = set_device_idx = _cuda.set_device
get_memory_info = _cuda.mem_get_info


class device_index(_cuda.device):
    """A `with` block that works with another device; a negative number changes nothing."""


def current_accelerator(check_available=False):
    """The device to compute on beside the CPU, or None."""
    from .devices import device
    return device("cuda") if is_available() else None


def get_device_module(device=None):
    """The module that a kind of devices is asked by: `whet.cuda`, or `whet.cpu`; where none is
    named, that of the accelerator, if there is one.

    >>> import whet
    >>> whet.get_device_module("cpu") is whet.cpu
    True
    """
    from .devices import as_device
    if device is None:
        return _cuda if is_available() else _cpu
    return _cpu if as_device(device).type == "cpu" else _cuda
