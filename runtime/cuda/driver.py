"""The driver as the runtime sees it: some twenty-five calls, which `libcuda.py` makes of NVIDIA's
driver and `simulated/` of host memory and queues.

Addresses, streams and events are whole numbers. Nothing here waits but what says so; what is asked
of a stream happens later, in the stream's order. An error that happens there is raised by a later
call.
"""
from __future__ import annotations

import abc
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..streams import AcceleratorError

if TYPE_CHECKING:
    from ..passes.lower_triton.source import Programs, Source

Span = tuple[int, int]              # the first byte, and the one after the last
Begin = Callable[..., None]         # what `Driver.prepare` gives


class CudaError(AcceleratorError):
    """The driver refused a call, or work that was given to it earlier failed.

    >>> import whet
    >>> issubclass(whet.cuda.CudaError, whet.AcceleratorError)
    True
    """


class OutOfMemoryError(RuntimeError):
    """Raised when a device has too little free memory for an allocation.

    >>> import whet
    >>> try:
    ...     x = whet.empty(1 << 50, dtype=whet.int8, device="cuda")
    ... except whet.cuda.OutOfMemoryError:
    ...     print("too large")
    too large
    """
    is_out_of_memory = True


class Properties(NamedTuple):
    """What a device can do. Names are PyTorch's."""
    name: str
    major: int
    minor: int
    total_memory: int
    multi_processor_count: int
    max_threads_per_multi_processor: int
    warp_size: int
    shared_memory_per_block: int
    shared_memory_per_block_optin: int
    shared_memory_per_multiprocessor: int
    L2_cache_size: int


class Launch(NamedTuple):
    """One launch of a loaded kernel: what its parameters are, by name, and how many programs, in
    one dimension or three.

    `spans` are the bytes that it may touch. A real device does not ask; the simulated one checks
    every address."""
    programs: Programs
    arguments: Mapping[str, float]
    spans: Sequence[Span]


class Driver(abc.ABC):
    """What the runtime asks of a driver."""
    poisons: bool = False           # shall memory that is let go of be written over?
    checks_addresses: bool = False  # are launches told which bytes they may touch?
    has_speed: bool = True          # is the time between two events that of the work there?

    # ---- devices ----
    @abc.abstractmethod
    def count(self) -> int:
        """The number of devices."""

    @abc.abstractmethod
    def properties(self, device: int) -> Properties:
        """What a device can do."""

    @abc.abstractmethod
    def memory_info(self, device: int) -> tuple[int, int]:
        """(bytes that are free, all bytes) of a device."""

    @abc.abstractmethod
    def can_access_peer(self, device: int, peer: int) -> bool:
        """Can a device read the memory of another one?"""

    @abc.abstractmethod
    def synchronize(self, device: int) -> None:
        """Wait for all work of a device."""

    # ---- memory ----
    @abc.abstractmethod
    def allocate(self, device: int, size: int) -> int:
        """Allocate memory and return its address; raises OutOfMemoryError."""

    @abc.abstractmethod
    def free(self, device: int, address: int) -> None:
        """Give memory back. Waits for the device."""

    @abc.abstractmethod
    def allocate_pinned(self, size: int) -> int:
        """The address of new host memory that devices copy from and to by themselves."""

    @abc.abstractmethod
    def free_pinned(self, address: int) -> None:
        """Give such memory back."""

    @abc.abstractmethod
    def copy(self, to: int, source: int, size: int, stream: int) -> None:
        """Copy bytes later, between devices and pinned host memory."""

    @abc.abstractmethod
    def copy_and_wait(self, to: int, source: int, size: int, stream: int) -> None:
        """Copy bytes after what the stream has to do, and wait. Host memory may be of any kind."""

    @abc.abstractmethod
    def fill(self, to: int, byte: int, size: int, stream: int) -> None:
        """Write a byte everywhere, later."""

    # ---- streams and events ----
    @abc.abstractmethod
    def create_stream(self, device: int, priority: int) -> int:
        """Create a stream that does not synchronise with the default stream."""

    @abc.abstractmethod
    def stream_done(self, stream: int) -> bool:
        """Is all work of a stream done?"""

    @abc.abstractmethod
    def synchronize_stream(self, stream: int) -> None:
        """Wait for the work of a stream."""

    @abc.abstractmethod
    def create_event(self, device: int, *, timing: bool) -> int:
        """A mark to put into streams."""

    @abc.abstractmethod
    def destroy_event(self, event: int) -> None:
        """Forget a mark."""

    @abc.abstractmethod
    def record(self, event: int, stream: int) -> None:
        """Put the mark behind what the stream has to do so far."""

    @abc.abstractmethod
    def wait(self, stream: int, event: int) -> None:
        """Make a stream wait, from now on, for the last recording of an event."""

    @abc.abstractmethod
    def event_done(self, event: int) -> bool:
        """Was the mark passed?"""

    @abc.abstractmethod
    def synchronize_event(self, event: int) -> None:
        """Wait until the mark is passed."""

    @abc.abstractmethod
    def elapsed(self, start: int, end: int) -> float:
        """Milliseconds between two marks that were passed."""

    # ---- kernels ----
    @abc.abstractmethod
    def load(self, device: int, source: Source, aligned: tuple[str, ...]) -> Any:
        """A kernel, ready to be launched on a device. `aligned` names the parameters that are
        multiples of 16."""

    @abc.abstractmethod
    def launch(self, kernel: Any, launch: Launch, stream: int) -> None:
        """Run a loaded kernel later."""

    def prepare(self, kernel: Any, programs: Programs, fixed: Mapping[str, float],
                varying: Sequence[str]) -> Begin:
        """A function that runs a loaded kernel later: of a stream, the spans (where the driver
        checks addresses) and the parameters `varying`; the others are `fixed`."""
        def begin(stream: int, spans: Sequence[Span], *values: float) -> None:
            arguments = {**fixed, **dict(zip(varying, values, strict=True))}
            self.launch(kernel, Launch(programs, arguments, spans), stream)
        return begin

    def sequence(self, starts: Sequence[Any],
                 varying: Sequence[Sequence[tuple[int, int]]]) -> Begin | None:
        """A function that makes launches (`plan_code.Start`) one after the other: of the stream
        and words. `varying`: of each parameter that a call tells, which of the words it is, and
        what is added to that. None where each launch is a call of its own."""
        return None
