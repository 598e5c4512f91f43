"""`whet.Stream`, `whet.Event`: queues of work of any kind of devices, and marks in them.

Those of CUDA devices are `whet.cuda.Stream` and `whet.cuda.Event`, which these make there. The CPU
has one queue, whose work is done when a call returns."""
from __future__ import annotations

import importlib
from typing import Any

from .devices import as_device, has_cuda
from .devices import device as Device

# what PyTorch calls kinds of devices by number
NUMBERS = {"cpu": 0, "cuda": 1, "meta": 14}


def _device_of(device: Any, what: str) -> Device:
    """The device that is meant; that of the accelerator where none is said."""
    if isinstance(device, int) and not isinstance(device, bool) and not has_cuda():
        raise RuntimeError("Cannot access accelerator device when none is available.")
    if device is None:
        device = "cuda" if has_cuda() else "cpu"
    if isinstance(device, bool) or not isinstance(device, str | int | Device):
        raise TypeError(f"{what}(): argument 'device' (position 1) must be whet.device, not "
                        f"{type(device).__name__}")
    found: Device = as_device(device)
    return found


def _of_devices() -> Any:
    """The module of streams of CUDA devices, which is made of this one."""
    return importlib.import_module(".cuda.streams", __package__)


class AnyStream:
    """A queue of work for a device, of the accelerator where no device is said.

    >>> import whet
    >>> with whet.Stream("cpu") as s:
    ...     x = whet.ones(2) + 1
    >>> s.query(), s.device
    (True, device(type='cpu'))
    """
    __slots__ = ()

    def __new__(cls, device: Any = None, *, priority: int = 0) -> Any:
        found = _device_of(device, "Stream")
        if found.type == "cuda":
            return _of_devices().Stream(found, priority)
        return _TheOnlyStream(found)

    @property
    def device(self) -> Any:
        """The device that does the work."""
        raise NotImplementedError

    @property
    def device_type(self) -> int:
        """PyTorch's number of the kind of device."""
        return NUMBERS[self.device.type]

    def record_event(self, event: Any = None) -> Any:
        """An event behind the work so far."""
        event = AnyEvent(self.device) if event is None else event
        event.record(self)
        return event

    def wait_event(self, event: Any) -> None:
        """Later work waits for the event."""
        event.wait(self)

    def wait_stream(self, stream: Any) -> None:
        """Later work waits for all that another stream has to do now."""
        self.wait_event(stream.record_event())


class _TheOnlyStream(AnyStream):
    """The queue of a kind of devices whose work is done when a call returns."""
    __slots__ = ("_device",)
    _device: Device
    device_index, stream_id = -1, 0

    def __new__(cls, device: Device) -> Any:
        self = object.__new__(cls)
        self._device = device
        return self

    @property
    def device(self) -> Device:
        """The device that does the work."""
        return self._device

    def query(self) -> bool:
        """Is all work done?"""
        return True

    def synchronize(self) -> None:
        """Wait for all work."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _TheOnlyStream) and self._device == other._device

    def __hash__(self) -> int:
        return hash(self._device)

    def __repr__(self) -> str:
        return (f"whet.Stream device_type={self._device.type}, device_index={self.device_index}, "
                f"stream_id={self.stream_id}")

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *error: object) -> None:
        pass


class AnyEvent:
    """A mark in a stream, which others wait for. The CPU has none: there it can be made and asked,
    but not recorded.

    >>> import whet
    >>> whet.Event("cpu").query()
    True
    """
    __slots__ = ()

    def __new__(cls, device: Any = None, *, enable_timing: bool = False, blocking: bool = False,
                interprocess: bool = False) -> Any:
        found = _device_of(device, "Event")
        if found.type == "cuda":
            return _of_devices().Event(enable_timing, blocking, interprocess)
        return _NoEvent(found, enable_timing)


class _NoEvent(AnyEvent):
    """A mark that nothing is behind: all work is done when a call returns."""
    __slots__ = ("device", "_timed")
    device: Device
    _timed: bool
    event_id = 0

    def __new__(cls, device: Device, timed: bool) -> Any:
        self = object.__new__(cls)
        self.device, self._timed = device, bool(timed)
        return self

    def record(self, stream: Any = None) -> None:
        """Put the mark behind what a stream has to do so far."""
        raise RuntimeError(f"{self.device.type} backend doesn't support events.")

    def wait(self, stream: Any = None) -> None:
        """Let a stream wait for the mark."""

    def query(self) -> bool:
        """Was the mark passed?"""
        return True

    def synchronize(self) -> None:
        """Wait until the mark is passed."""

    def elapsed_time(self, end_event: Any) -> float:
        """Milliseconds until another mark is passed."""
        if not (self._timed and getattr(end_event, "_timed", False)):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        raise ValueError("Both events must be recorded before calculating elapsed time.")

    def __repr__(self) -> str:
        return f"whet.Event device_type={self.device.type}, event_id={self.event_id}"


Stream, Event = AnyStream, AnyEvent


class AcceleratorError(RuntimeError):
    """A device refused a call, or work that was given to it earlier failed.

    >>> import whet
    >>> issubclass(whet.cuda.CudaError, whet.AcceleratorError)
    True
    """
