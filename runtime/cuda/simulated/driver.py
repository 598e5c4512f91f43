"""The simulated driver: memory, streams and launches put together."""
from __future__ import annotations

import ctypes
import os
import threading
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..driver import CudaError, Driver, Launch, Properties
from .memory import ADDRESSES_OF_A_DEVICE, FIRST_ADDRESS, Memory, Mirror
from .queues import Mark, Queue, Queues

if TYPE_CHECKING:
    from ...passes.lower_triton.source import Source

DEVICES = 2
ALIGNED = 16                        # what hints of alignment promise
MEMORY = 1 << 28                    # bytes of a device, where nothing else is asked for


class Loaded(NamedTuple):
    """A kernel on a device: its text, which the interpreter runs. `aligned` are the parameters that
    its machine code would take for multiples of 16."""
    device: int
    source: Source
    aligned: tuple[str, ...] = ()


class SimulatedDriver(Driver):
    """Devices that there are not, on which what goes wrong on a real one goes wrong, too.

    `seed` chooses the order in which streams go on. The environment has the defaults: WHET_GPU_SEED
    and WHET_GPU_MEMORY, the bytes of a device."""
    poisons = checks_addresses = True
    has_speed = False

    def __init__(self, seed: int | None = None, memory: int | None = None,
                 devices: int = DEVICES) -> None:
        if seed is None:
            seed = int(os.environ.get("WHET_GPU_SEED", "0"))
        if memory is None:
            memory = int(os.environ.get("WHET_GPU_MEMORY", MEMORY))
        first = [FIRST_ADDRESS + d * ADDRESSES_OF_A_DEVICE for d in range(devices)]
        self.memories = [Memory(f, memory) for f in first]
        self.pinned: dict[int, Mirror] = {}
        self.queues = Queues(seed)
        self.devices_of_events: dict[int, int] = {}
        self.lock = threading.RLock()

    # ---- devices ----
    def count(self) -> int:
        return len(self.memories)

    def properties(self, device: int) -> Properties:
        return Properties("simulated device", 9, 0, self.memories[device].total, 4, 2048, 32,
                          48 << 10, 227 << 10, 228 << 10, 1 << 20)

    def memory_info(self, device: int) -> tuple[int, int]:
        memory = self.memories[device]
        return memory.total - memory.used, memory.total

    def can_access_peer(self, device: int, peer: int) -> bool:
        return device != peer

    def synchronize(self, device: int) -> None:
        with self.lock:
            mine = [q for q in self.queues.streams.values() if q.device == device]
            self.queues.until(lambda: not any(q.work for q in mine), device)
            damaged = self.memories[device].damaged()
        if damaged:
            raise CudaError(
                f"memory was written beyond an end of the allocation at {damaged[0]:#x}")

    # ---- memory ----
    def allocate(self, device: int, size: int) -> int:
        with self.lock:
            self.queues.raise_failure(device)
            return self.memories[device].allocate(size)

    def free(self, device: int, address: int) -> None:
        with self.lock:
            self.synchronize(device)
            self.memories[device].free(address)

    def allocate_pinned(self, size: int) -> int:
        mirror = Mirror(0, size)
        mirror.address = mirror.start()
        self.pinned[mirror.address] = mirror
        return mirror.address

    def free_pinned(self, address: int) -> None:
        with self.lock:
            for device in range(self.count()):
                self.synchronize(device)
            if not self.pinned.pop(address).intact():
                raise CudaError("pinned memory was written beyond an end")

    def _memory_of(self, address: int) -> Memory | None:
        """The device's memory that an address would lie in; None for the host's."""
        device, _ = divmod(address - FIRST_ADDRESS, ADDRESSES_OF_A_DEVICE)
        return self.memories[device] if 0 <= device < self.count() else None

    def _device_bytes(self, address: int, size: int) -> np.ndarray | None:
        """The bytes at an address of a device; None where it is none of one."""
        memory = self._memory_of(address)
        if memory is None:
            return None
        mirror = memory.find(address, size)
        if mirror is None:
            raise CudaError(f"illegal address: {size} bytes at {address:#x} are not allocated")
        return mirror.inside[address - mirror.address:][:size]

    def _pinned_bytes(self, address: int, size: int) -> np.ndarray:
        """The bytes at an address of pinned host memory."""
        for m in self.pinned.values():
            if m.address <= address and address + size <= m.address + m.size:
                return m.inside[address - m.address:][:size]
        raise CudaError("a copy that is waited for later needs pinned host memory: the host may "
                        f"change or free the {size} bytes at {address:#x} before it happens")

    def _bytes(self, address: int, size: int) -> np.ndarray:
        found = self._device_bytes(address, size)
        return self._pinned_bytes(address, size) if found is None else found

    def copy(self, to: int, source: int, size: int, stream: int) -> None:
        if not size:
            return
        for address in (to, source):
            if self._memory_of(address) is None:
                self._pinned_bytes(address, size)

        def run() -> None:
            self._bytes(to, size)[:] = self._bytes(source, size).copy()
        with self.lock:
            self.queues.add(stream, run)

    def copy_and_wait(self, to: int, source: int, size: int, stream: int) -> None:
        def anywhere(address: int) -> np.ndarray:
            found = self._device_bytes(address, size)
            if found is None:
                found = np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(address))
            return found

        def run() -> None:
            anywhere(to)[:] = anywhere(source).copy()
        with self.lock:
            if size:
                self.queues.add(stream, run)
            self.synchronize_stream(stream)

    def fill(self, to: int, byte: int, size: int, stream: int) -> None:
        def run() -> None:
            self._bytes(to, size)[:] = byte
        with self.lock:
            if size:
                self.queues.add(stream, run)

    # ---- streams and events ----
    def create_stream(self, device: int, priority: int) -> int:
        with self.lock:
            number = self.queues.handle()
            self.queues.streams[number] = Queue(device)
        return number

    def stream_done(self, stream: int) -> bool:
        with self.lock:
            self.queues.some()
            queue = self.queues.stream(stream)
            self.queues.raise_failure(queue.device)
            return not queue.work

    def synchronize_stream(self, stream: int) -> None:
        with self.lock:
            queue = self.queues.stream(stream)
            self.queues.until(lambda: not queue.work, queue.device)

    def create_event(self, device: int, *, timing: bool) -> int:
        with self.lock:
            number = self.queues.handle()
            self.queues.events[number] = Mark(passed=True)
            self.devices_of_events[number] = device
        return number

    def destroy_event(self, event: int) -> None:
        with self.lock:
            del self.queues.events[event], self.devices_of_events[event]

    def record(self, event: int, stream: int) -> None:
        with self.lock:
            self.queues.event(event)
            self._on_device(stream, self.devices_of_events[event])
            self.queues.record(event, stream)

    def _on_device(self, stream: int, device: int) -> None:
        """Raise an error if a stream does not belong to the device of its work."""
        if self.queues.stream(stream).device != device:
            raise CudaError(f"invalid resource handle: what belongs to device {device} was given "
                            "to a stream of another one")

    def wait(self, stream: int, event: int) -> None:
        with self.lock:
            self.queues.add(stream, lambda: None, self.queues.event(event))

    def event_done(self, event: int) -> bool:
        with self.lock:
            self.queues.some()
            self.queues.raise_failure(self.devices_of_events[event])
            return self.queues.event(event).passed

    def synchronize_event(self, event: int) -> None:
        with self.lock:
            mark = self.queues.event(event)
            self.queues.until(lambda: mark.passed, self.devices_of_events[event])

    def elapsed(self, start: int, end: int) -> float:
        with self.lock:
            a, b = self.queues.event(start), self.queues.event(end)
            if not (a.passed and b.passed):
                raise CudaError("device not ready: an event of the two was not passed yet")
            return b.time - a.time

    # ---- kernels ----
    def load(self, device: int, source: Source, aligned: tuple[str, ...]) -> Loaded:
        return Loaded(device, source, aligned)

    def launch(self, kernel: Loaded, launch: Launch, stream: int) -> None:
        told = launch.programs
        x, y, z = told if isinstance(told, tuple) else (told, 1, 1)
        if not (0 < x < 1 << 31 and 0 < y < 1 << 16 and 0 < z < 1 << 16):
            raise CudaError(f"invalid configuration: {told} programs")
        wrong = [name for name in kernel.aligned if launch.arguments[name] % ALIGNED]
        if wrong:
            raise CudaError(f"misaligned address: {kernel.source.name} was compiled for multiples "
                            f"of {ALIGNED} as {', '.join(wrong)}")
        self._on_device(stream, kernel.device)
        order = self.queues.chance.randrange(1 << 30)
        with self.lock:
            self.queues.add(stream, lambda: self._run(kernel, launch, order))

    def _run(self, kernel: Loaded, launch: Launch, order: int) -> None:
        """Run a kernel's programs on the mirrors of what it touches."""
        from ...passes.lower_triton import simulate
        moved: dict[str, Any] = dict(launch.arguments)
        for name, kind in kernel.source.parameters:
            if kind[0] == "*":
                moved[name] = self._in_mirror(int(moved[name]))
        regions = [(self._in_mirror(a), self._in_mirror(a) + b - a) for a, b in launch.spans]
        simulate.run_at(kernel.source, moved, regions, launch.programs, order)

    def _in_mirror(self, address: int) -> int:
        """Where the host has what a device has at an address."""
        memory = self._memory_of(address)
        mirror = memory.find(address, 0) if memory is not None else None
        if mirror is None:
            raise CudaError(f"illegal address: {address:#x} is not allocated on a device")
        return mirror.start() + address - mirror.address

