"""NVIDIA's driver, through its library alone. The library is loaded when it is first used.

Calls go through `ctypes`, which is enough for what is not hot; launches by machine code."""
from __future__ import annotations

import ctypes as C
import functools
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from .cubins import cubin
from .driver import Begin, CudaError, Driver, Launch, OutOfMemoryError, Properties, Span
from .launch_code import LaunchWords, Prepared, all_launcher, launcher

if TYPE_CHECKING:
    from ..passes.lower_triton.source import Programs, Source

NAME = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
OUT_OF_MEMORY, NO_DEVICE, NOT_READY = 2, 100, 600
NON_BLOCKING, NO_TIMING, PORTABLE = 1, 2, 1
# what `Properties` has, by the numbers of the driver's attributes
ATTRIBUTES = {
    "major": 75, "minor": 76, "multi_processor_count": 16, "max_threads_per_multi_processor": 39,
    "warp_size": 10, "shared_memory_per_block": 8, "shared_memory_per_block_optin": 97,
    "shared_memory_per_multiprocessor": 81,
    "L2_cache_size": 38}
DYNAMIC_SHARED = 8                  # the attribute of a function that allows more than 48 KiB of it


@functools.lru_cache(None)
def library() -> Any:
    """The driver's library; None if it is not installed."""
    try:
        return C.CDLL(NAME)
    except OSError:
        return None


@functools.lru_cache(None)
def missing() -> str:
    """What is missing for there to be a device; empty where nothing is."""
    cuda = library()
    if cuda is None:
        return f"the NVIDIA driver ({NAME}) is not installed"
    status = cuda.cuInit(0)
    if status not in (0, NO_DEVICE):
        return f"the NVIDIA driver does not start: {error_text(status)}"
    count = C.c_int(0)
    if status or cuda.cuDeviceGetCount(C.byref(count)) or not count.value:
        return "there is no NVIDIA GPU"
    return ""


def device_count() -> int:
    """The number of devices; 0 where anything is missing."""
    if missing():
        return 0
    count = C.c_int(0)
    library().cuDeviceGetCount(C.byref(count))
    return count.value


def error_text(status: int) -> str:
    """The driver's name and words for an error."""
    words = []
    for call in (library().cuGetErrorName, library().cuGetErrorString):
        text = C.c_char_p()
        call(status, C.byref(text))
        words.append((text.value or b"unknown error").decode())
    return f"{words[1]} ({words[0]})"


class Loaded(NamedTuple):
    """A function on a device and what a launch of it needs."""
    function: int
    module: C.c_void_p
    device: int
    threads: int
    shared: int
    parameters: tuple[tuple[str, str], ...]


class LibCuda(Driver):
    """The driver's calls. A device's primary context is used, as other libraries do."""

    def __init__(self) -> None:
        self.cuda = library()
        self.contexts: dict[int, C.c_void_p] = {}
        self.devices: dict[int, int] = {}          # of streams and events

    def _call(self, name: str, *args: Any) -> None:
        status = getattr(self.cuda, name)(*args)
        if status:
            self._raise(name, status)

    @staticmethod
    def _raise(name: str, status: int) -> NoReturn:
        if status == OUT_OF_MEMORY:
            raise OutOfMemoryError(f"{name}: {error_text(status)}")
        raise CudaError(f"CUDA error in {name}: {error_text(status)}")

    def _activate(self, device: int) -> None:
        context = self.contexts.get(device)
        if context is None:
            context = C.c_void_p()
            self._call("cuDevicePrimaryCtxRetain", C.byref(context), device)
            self.contexts[device] = context
        self._call("cuCtxSetCurrent", context)

    def _new(self, name: str, device: int, *args: Any) -> int:
        """What a call writes a handle of into its first argument."""
        self._activate(device)
        made = C.c_void_p()
        self._call(name, C.byref(made), *args)
        return made.value or 0

    # ---- devices ----
    def count(self) -> int:
        return device_count()

    def properties(self, device: int) -> Properties:
        numbers, name, total = {}, C.create_string_buffer(128), C.c_size_t()
        for field, attribute in ATTRIBUTES.items():
            value = C.c_int()
            self._call("cuDeviceGetAttribute", C.byref(value), attribute, device)
            numbers[field] = value.value
        self._call("cuDeviceGetName", name, 128, device)
        self._call("cuDeviceTotalMem_v2", C.byref(total), device)
        return Properties(name=name.value.decode(), total_memory=total.value, **numbers)

    def memory_info(self, device: int) -> tuple[int, int]:
        self._activate(device)
        free, total = C.c_size_t(), C.c_size_t()
        self._call("cuMemGetInfo_v2", C.byref(free), C.byref(total))
        return free.value, total.value

    def can_access_peer(self, device: int, peer: int) -> bool:
        can = C.c_int()
        self._call("cuDeviceCanAccessPeer", C.byref(can), device, peer)
        return bool(can.value)

    def synchronize(self, device: int) -> None:
        self._activate(device)
        self._call("cuCtxSynchronize")

    # ---- memory ----
    def allocate(self, device: int, size: int) -> int:
        return self._new("cuMemAlloc_v2", device, C.c_size_t(size))

    def free(self, device: int, address: int) -> None:
        self._activate(device)
        self._call("cuMemFree_v2", C.c_uint64(address))

    def allocate_pinned(self, size: int) -> int:
        return self._new("cuMemHostAlloc", 0, C.c_size_t(size), PORTABLE)

    def free_pinned(self, address: int) -> None:
        self._call("cuMemFreeHost", C.c_void_p(address))

    def copy(self, to: int, source: int, size: int, stream: int) -> None:
        if size:
            self._activate(self.devices[stream])
            self._call("cuMemcpyAsync", C.c_uint64(to), C.c_uint64(source), C.c_size_t(size),
                       C.c_void_p(stream))

    def copy_and_wait(self, to: int, source: int, size: int, stream: int) -> None:
        self.copy(to, source, size, stream)
        self.synchronize_stream(stream)

    def fill(self, to: int, byte: int, size: int, stream: int) -> None:
        if size:
            self._activate(self.devices[stream])
            self._call("cuMemsetD8Async", C.c_uint64(to), C.c_ubyte(byte), C.c_size_t(size),
                       C.c_void_p(stream))

    # ---- streams and events ----
    def create_stream(self, device: int, priority: int) -> int:
        made = self._new("cuStreamCreateWithPriority", device, NON_BLOCKING, priority)
        self.devices[made] = device
        return made

    def _done(self, name: str, handle: int) -> bool:
        self._activate(self.devices[handle])
        status = getattr(self.cuda, name)(C.c_void_p(handle))
        if status not in (0, NOT_READY):
            raise CudaError(f"CUDA error in {name}: {error_text(status)}")
        return not status

    def stream_done(self, stream: int) -> bool:
        return self._done("cuStreamQuery", stream)

    def synchronize_stream(self, stream: int) -> None:
        self._activate(self.devices[stream])
        self._call("cuStreamSynchronize", C.c_void_p(stream))

    def create_event(self, device: int, *, timing: bool) -> int:
        made = self._new("cuEventCreate", device, 0 if timing else NO_TIMING)
        self.devices[made] = device
        return made

    def destroy_event(self, event: int) -> None:
        self._activate(self.devices.pop(event))
        self._call("cuEventDestroy_v2", C.c_void_p(event))

    def record(self, event: int, stream: int) -> None:
        self._activate(self.devices[stream])
        self._call("cuEventRecord", C.c_void_p(event), C.c_void_p(stream))

    def wait(self, stream: int, event: int) -> None:
        self._activate(self.devices[stream])
        self._call("cuStreamWaitEvent", C.c_void_p(stream), C.c_void_p(event), 0)

    def event_done(self, event: int) -> bool:
        return self._done("cuEventQuery", event)

    def synchronize_event(self, event: int) -> None:
        self._activate(self.devices[event])
        self._call("cuEventSynchronize", C.c_void_p(event))

    def elapsed(self, start: int, end: int) -> float:
        self._activate(self.devices[start])
        milliseconds = C.c_float()
        # the newer name is not in older drivers
        name = ("cuEventElapsedTime_v2" if hasattr(self.cuda, "cuEventElapsedTime_v2") else
                "cuEventElapsedTime")
        self._call(name, C.byref(milliseconds), C.c_void_p(start), C.c_void_p(end))
        return milliseconds.value

    # ---- kernels ----
    def load(self, device: int, source: Source, aligned: tuple[str, ...]) -> Loaded:
        p = self.properties(device)
        made = cubin(source, 10 * p.major + p.minor, aligned)
        if made.scratch:
            raise NotImplementedError(f"{made.name}: kernels that need scratch memory")
        self._activate(device)
        module, function = C.c_void_p(), C.c_void_p()
        self._call("cuModuleLoadData", C.byref(module), made.binary)
        self._call("cuModuleGetFunction", C.byref(function), module, made.name.encode())
        if made.shared > p.shared_memory_per_block:
            self._call("cuFuncSetAttribute", function, DYNAMIC_SHARED, made.shared)
        return Loaded(function.value or 0, module, device, 32 * made.warps, made.shared,
                      source.parameters)

    def launch(self, kernel: Loaded, launch: Launch, stream: int) -> None:
        self.prepare(kernel, launch.programs, launch.arguments, ())(stream, launch.spans)

    def prepare(self, kernel: Loaded, programs: Programs, fixed: Mapping[str, float],
                varying: Sequence[str]) -> Begin:
        self._activate(kernel.device)
        made = Prepared(self.cuda, kernel, self.contexts[kernel.device].value or 0, programs, fixed,
                        varying)
        launch, address = launcher(), made.address

        def begin(stream: int, _spans: Sequence[Span], *values: Any) -> None:
            status = launch(address, stream, *(made.by_bits(values) if made.floats else values))
            if status:
                self._raise("cuLaunchKernel", status)
        return begin

    def sequence(self, starts: Sequence[Any],
                 varying: Sequence[Sequence[tuple[int, int]]]) -> Begin | None:
        launch = all_launcher()
        if launch is None:
            return None
        device = starts[0].kernel.device
        self._activate(device)
        context = self.contexts[device].value or 0
        made = LaunchWords([Prepared(self.cuda, s.kernel, context, s.programs, s.fixed,
                                     list(s.varying)) for s in starts], varying)
        address = made.address

        def begin(stream: int, *values: int, kept: LaunchWords = made) -> None:
            status = launch(address, stream, *values)
            if status:
                self._raise("cuLaunchKernel", status)
        return begin
