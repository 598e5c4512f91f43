# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from typing import Any
from whet.devices import device as _device
from whet.streams import AnyEvent, AnyStream
from whet.types import Device

class stream:
    """A `with` block whose work goes to a stream, and to its device; None changes nothing."""
    def __init__(self, stream: Any) -> None: ...
    @property
    def stream(self) -> Stream | None: ...

class Event(AnyEvent):
    """A mark in a stream, for which the host and other streams can wait."""
    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False) -> None: ...
    @property
    def cuda_event(self) -> int: """The driver's number of the event; 0 before its first recording."""
    @property
    def device(self) -> _device | None: """The device of the stream that it was recorded in."""
    @property
    def device_index(self) -> int: ...
    def elapsed_time(self, end_event: Event) -> float: """Milliseconds until another mark is passed."""
    @property
    def event_id(self) -> int: """The driver's number of the event; 0 before its first recording."""
    def query(self) -> bool: """Was the mark passed?"""
    def record(self, stream: Any = None) -> None: """Put the mark behind what a stream has to do so far."""
    def synchronize(self) -> None: """Wait until the mark is passed; an error of earlier work is raised here."""
    def wait(self, stream: Any = None) -> None: """Let a stream wait for the mark."""

class Stream(AnyStream):
    """A queue of work for a device."""
    def __init__(self, device: Device | None = None, priority: int = 0) -> None: ...
    @property
    def cuda_stream(self) -> int: ...
    @property
    def device(self) -> _device: """The device that does the work."""
    @property
    def device_index(self) -> int: ...
    @property
    def priority(self) -> int: ...
    def query(self) -> bool: """Is all work done?"""
    def record_event(self, event: Event | None = None) -> Event: """An event behind the work so far."""
    @property
    def stream_id(self) -> int: """The driver's number of the stream."""
    def synchronize(self) -> None: """Wait for all work; an error of earlier work is raised here."""
    def wait_event(self, event: Event) -> None: """Later work waits for the event."""
    def wait_stream(self, stream: Any) -> None: """Later work waits for all that another stream has to do now."""

class ExternalStream(Stream):
    """A stream that another library made, by the driver's handle of it. That library must keep it alive."""
    def __init__(self, stream_ptr: int, device: Device | None = None, **kwargs: Any) -> None: ...
