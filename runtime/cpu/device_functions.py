"""The CPU as a device (`whet.cpu.synchronize()`), for programs that run on any device."""
import contextlib

from .. import declared_for_tracing as _declared_for_tracing
from .capabilities import get_capabilities

__all__ = [
    "Event", "Stream", "StreamContext", "current_device", "current_stream", "device_count",
    "get_capabilities", "is_available", "is_initialized", "set_device", "stream", "synchronize"]


@_declared_for_tracing.goes_by_no_size
def is_available():
    """It is.

    >>> import whet
    >>> whet.cpu.is_available(), whet.cpu.device_count(), whet.cpu.current_device()
    (True, 1, 'cpu')
    """
    return True


@_declared_for_tracing.goes_by_no_size
def is_initialized():
    """It is."""
    return True


@_declared_for_tracing.goes_by_no_size
def device_count():
    """The number of devices: one, of many cores."""
    return 1


@_declared_for_tracing.goes_by_no_size
def current_device():
    """The name of the current device."""
    return "cpu"


def set_device(device):
    """Do nothing: there is only this device."""


def synchronize(device=None):
    """Do nothing: every op returns when it is done."""


class Stream:
    """A stream of the CPU: everything runs in order, so it does nothing.

    >>> import whet
    >>> with whet.cpu.stream(whet.cpu.Stream()) as s:
    ...     whet.cpu.current_stream().wait_stream(whet.cpu.Stream())
    """

    def __init__(self, priority=-1):
        """Nothing is before another."""

    def wait_stream(self, stream):
        """Wait for another one."""

    def wait_event(self, event):
        """Wait for a mark."""

    def record_event(self):
        """Set a mark."""


class Event:
    """A mark in a stream: everything before it is done already."""

    def query(self):
        """Is all done that is before it?"""
        return True

    def record(self, stream=None):
        """Set it."""

    def synchronize(self):
        """Wait for it."""

    def wait(self, stream=None):
        """Let a stream wait for it."""


_streams = [Stream()]


def current_stream(device=None):
    """The stream that was entered last."""
    return _streams[-1]


class StreamContext(contextlib.AbstractContextManager):
    """A context in which a stream is the current one."""

    def __init__(self, stream):
        self.stream = stream

    def __enter__(self):
        _streams.append(_streams[-1] if self.stream is None else self.stream)

    def __exit__(self, *exc):
        _streams.pop()


def stream(stream):
    """A context in which a stream is the current one."""
    return StreamContext(stream)


def get_cpu_capability():
    """The instructions that kernels are written with, as PyTorch names them."""
    from whet.passes.lower_llvm import targets
    return {"avx512": "AVX512", "avx2": "AVX2"}.get(targets.current().name, "DEFAULT")
