# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from typing import Any
from whet.cuda.streams import Event
from whet.devices import device as _device
from whet.types import Device

class AnyEvent:
    """A mark in a stream, which others wait for."""
    def __init__(self, device: Device | None = None, *, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False) -> None: ...

class AnyStream:
    """A queue of work for a device, of the accelerator where no device is said."""
    def __init__(self, device: Device | None = None, *, priority: int = 0) -> None: ...
    @property
    def device(self) -> _device: """The device that does the work."""
    @property
    def device_type(self) -> int: """PyTorch's number of the kind of device."""
    def record_event(self, event: Event | None = None) -> Any: """An event behind the work so far."""
    def wait_event(self, event: Event) -> None: """Later work waits for the event."""
    def wait_stream(self, stream: Any) -> None: """Later work waits for all that another stream has to do now."""

class AcceleratorError(RuntimeError):
    """A device refused a call, or work that was given to it earlier failed."""
