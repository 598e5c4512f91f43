"""Streams and events, as programs have them."""
from __future__ import annotations

import weakref
from typing import Any

from ..autograd import modes
from ..devices import device as Device
from ..streams import AnyEvent, AnyStream
from . import device_state as m

# why what does such things is not recorded
WAITS = "it waits for a device, or asks what is done there"
ORDERS = "it puts marks into streams, or lets them wait"


def index_of(d: Any) -> int:
    """The number of a device from what users write; None is the current one."""
    if d is None or isinstance(d, int) and not isinstance(d, bool):
        return m.existing(d)
    d = Device(d)
    if d.type != "cuda":
        raise ValueError(f"Expected a cuda device, but got: {d}")
    return m.existing(d.index)


class Stream(AnyStream):
    """A queue of work for a device. The work of one stream is done in order; streams run
    independently unless one is told to wait for another.

    >>> import whet
    >>> with whet.cuda.stream(None):      # no other than before
    ...     pass
    """
    __slots__ = ("_machine", "device_index", "cuda_stream", "priority", "__weakref__")
    _machine: m.Machine
    device_index: int
    cuda_stream: int
    priority: int

    def __new__(cls, device: Any = None, priority: int = 0) -> Stream:
        machine, index = m.machine(), index_of(device)
        return cls._of(machine, index, machine.stream(index, priority), priority)

    @classmethod
    def _of(cls, machine: m.Machine, device: int, number: int, priority: int = 0) -> Stream:
        self = object.__new__(cls)
        self._machine, self.device_index, self.priority = machine, device, priority
        self.cuda_stream = number
        return self

    @property
    def device(self) -> Device:
        """The device that does the work."""
        return Device("cuda", self.device_index)

    @property
    def stream_id(self) -> int:
        """The driver's number of the stream."""
        return self.cuda_stream

    def query(self) -> bool:
        """Is all work done?"""
        modes.beyond(WAITS)
        return self._machine.driver.stream_done(self.cuda_stream)

    def synchronize(self) -> None:
        """Wait for all work; an error of earlier work is raised here."""
        modes.beyond(WAITS)
        self._machine.driver.synchronize_stream(self.cuda_stream)
        self._machine.checks[self.device_index].settle(self.cuda_stream)

    def record_event(self, event: Event | None = None) -> Event:
        """An event behind the work so far."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """Later work waits for the event."""
        event.wait(self)

    def wait_stream(self, stream: Stream) -> None:
        """Later work waits for all that another stream has to do now."""
        self.wait_event(stream.record_event())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and (
            (self._machine, self.cuda_stream) == (other._machine, other.cuda_stream))

    def __hash__(self) -> int:
        return hash(self.cuda_stream)

    def __repr__(self) -> str:
        return f"<whet.cuda.Stream device={self.device} cuda_stream={self.cuda_stream:#x}>"

    def __enter__(self) -> Stream:
        _chosen().append(_Choice(self))
        return self

    def __exit__(self, *error: object) -> None:
        _chosen().pop().undo()


class _Choice:
    """Makes a stream and its device the current ones of a thread, and restores the former ones."""
    __slots__ = ("device", "kept_device", "kept_stream")

    def __init__(self, stream: Stream) -> None:
        self.device, (self.kept_device, streams) = stream.device_index, m.current_choice()
        self.kept_stream = streams.get(self.device)
        m.choose_stream(self.device, stream.cuda_stream)
        m.choose_device(self.device)

    def undo(self) -> None:
        """Choose the stream again that was chosen before."""
        m.choose_stream(self.device, self.kept_stream)
        m.choose_device(self.kept_device)


def _chosen() -> list[_Choice]:
    found: list[_Choice] | None = getattr(m.choice, "chosen", None)
    if found is None:
        found = m.choice.chosen = []
    return found


class ExternalStream(Stream):
    """A stream that another library made, by the driver's handle of it. That library must keep it
    alive.

    >>> import whet
    >>> s = whet.cuda.Stream()
    >>> whet.cuda.ExternalStream(s.cuda_stream) == s
    True
    """
    __slots__ = ()

    def __new__(cls, stream_ptr: int, device: Any = None, **kwargs: Any) -> ExternalStream:
        self = cls._of(m.machine(), index_of(device), int(stream_ptr))
        return self         # type: ignore[return-value]


def current_stream(device: int) -> Stream:
    """The stream that this thread's work for a device goes to."""
    return Stream._of(m.machine(), device, m.current_stream(device))


def default_stream(device: int) -> Stream:
    """The stream that work goes to where nothing else is said."""
    machine = m.machine()
    return Stream._of(machine, device, machine.default_stream(device))


class stream:
    """A `with` block whose work goes to a stream, and to its device; None changes nothing.

    >>> import whet
    >>> s = whet.cuda.Stream()
    >>> with whet.cuda.stream(s):
    ...     print(whet.cuda.current_stream() == s)
    True
    """
    __slots__ = ("stream",)

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        if self.stream is not None:
            self.stream.__enter__()

    def __exit__(self, *error: object) -> None:
        if self.stream is not None:
            self.stream.__exit__()


class Event(AnyEvent):
    """A mark in a stream, for which the host and other streams can wait. The driver's event is made
    at its first recording.

    >>> import whet
    >>> done = whet.cuda.Event()
    >>> y = whet.ones(2, device="cuda") + 1
    >>> done.record()
    >>> done.synchronize()              # y is computed
    >>> done.query()
    True
    """
    __slots__ = ("_machine", "_event", "_timing", "device_index", "__weakref__")

    def __new__(cls, *args: Any, **kwargs: Any) -> Event:
        return object.__new__(cls)

    def __init__(self, enable_timing: bool = False, blocking: bool = False,
                 interprocess: bool = False) -> None:
        if interprocess:
            raise NotImplementedError("Event: events between processes are not there yet")
        self._timing, self._event, self.device_index = bool(enable_timing), 0, -1
        self._machine: m.Machine | None = None

    @property
    def cuda_event(self) -> int:
        """The driver's number of the event; 0 before its first recording."""
        return self._event

    event_id = cuda_event

    @property
    def device(self) -> Device | None:
        """The device of the stream that it was recorded in."""
        return None if self._machine is None else Device("cuda", self.device_index)

    def record(self, stream: Stream | None = None) -> None:
        """Put the mark behind what a stream has to do so far."""
        modes.beyond(ORDERS)
        stream = current_stream(m.current_device()) if stream is None else stream
        if self._machine is None:
            self._machine, self.device_index = stream._machine, stream.device_index
            driver = self._machine.driver
            self._event = driver.create_event(self.device_index, timing=self._timing)
            weakref.finalize(self, driver.destroy_event, self._event).atexit = False
        elif self.device_index != stream.device_index:
            raise RuntimeError(
                f"Event device cuda:{self.device_index} does not match recording stream's device "
                f"{stream.device}.")
        self._machine.driver.record(self._event, stream.cuda_stream)

    def wait(self, stream: Stream | None = None) -> None:
        """Let a stream wait for the mark."""
        modes.beyond(ORDERS)
        stream = current_stream(m.current_device()) if stream is None else stream
        if self._machine is not None:
            self._machine.driver.wait(stream.cuda_stream, self._event)

    def query(self) -> bool:
        """Was the mark passed?"""
        modes.beyond(WAITS)
        return self._machine is None or self._machine.driver.event_done(self._event)

    def synchronize(self) -> None:
        """Wait until the mark is passed; an error of earlier work is raised here."""
        modes.beyond(WAITS)
        if self._machine is not None:
            self._machine.driver.synchronize_event(self._event)

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds until another mark is passed."""
        modes.beyond(WAITS)
        for event in (self, end_event):
            if not event._timing or event._machine is None:
                raise ValueError(
                    "Both events must be created with argument 'enable_timing=True' and recorded.")
        assert self._machine is not None
        return self._machine.driver.elapsed(self._event, end_event._event)
