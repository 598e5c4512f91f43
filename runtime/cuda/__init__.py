"""CUDA devices, under the names of `torch.cuda`.

Nothing is loaded before a program asks for a device. Without a GPU there are none, unless
`WHET_GPU=sim` is in the environment: then two simulated ones are there, on which streams run late,
memory is checked, and kernels go through Triton's interpreter.
"""
import sys as _sys
from typing import Any

from .. import declared_for_tracing as _declared_for_tracing
from ..autograd import modes as _modes
from ..lazy_names import lazy_names as _lazy_names
from . import amp as amp
from . import device_state as _m
from . import random as random
from . import streams as _streams
from .driver import CudaError as CudaError
from .driver import OutOfMemoryError as OutOfMemoryError
from .driver import Properties as _Properties
from .graphs import CUDAGraph as CUDAGraph
from .graphs import graph as graph
from .graphs import is_current_stream_capturing as is_current_stream_capturing
from .random import get_rng_state as get_rng_state
from .random import get_rng_state_all as get_rng_state_all
from .random import initial_seed as initial_seed
from .random import manual_seed as manual_seed
from .random import manual_seed_all as manual_seed_all
from .random import seed as seed
from .random import seed_all as seed_all
from .random import set_rng_state as set_rng_state
from .random import set_rng_state_all as set_rng_state_all
from .sensors import clock_rate as clock_rate
from .sensors import device_memory_used as device_memory_used
from .sensors import list_gpu_processes as list_gpu_processes
from .sensors import memory_usage as memory_usage
from .sensors import power_draw as power_draw
from .sensors import temperature as temperature
from .sensors import utilization as utilization
from .statistics import HostStatistics as _HostStatistics
from .statistics import Statistics as _Statistics
from .streams import Event as Event
from .streams import ExternalStream as ExternalStream
from .streams import Stream as Stream
from .streams import stream as stream

_MEMORY = "it asks what memory a device has left, or changes that"


@_declared_for_tracing.goes_by_no_size
def is_available() -> bool:
    """Is there a device?

    >>> import whet
    >>> whet.cuda.is_available() or whet.cuda.device_count() == 0
    True
    """
    return _m.is_available()


@_declared_for_tracing.goes_by_no_size
def device_count() -> int:
    """The number of devices.

    >>> import whet
    >>> whet.cuda.device_count() > 0            # with a GPU, or WHET_GPU=sim
    True
    """
    return _m.count()


@_declared_for_tracing.goes_by_no_size
def is_initialized() -> bool:
    """Was a device used already?

    >>> import whet
    >>> x = whet.ones(2, device="cuda")
    >>> whet.cuda.is_initialized()
    True
    """
    return _m.is_initialized()


def init() -> None:
    """Initialise the devices. Their first use does it, too.

    >>> import whet
    >>> whet.cuda.init()
    >>> whet.cuda.is_initialized()
    True
    """
    _m.machine()


@_declared_for_tracing.goes_by_no_size
def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Can the current device compute in bfloat16?

    >>> import whet
    >>> whet.cuda.is_bf16_supported()
    True
    """
    return is_available() and (including_emulation or get_device_capability()[0] >= 8)


@_declared_for_tracing.goes_by_no_size
def is_tf32_supported() -> bool:
    """Can the current device multiply in TF32?

    >>> import whet
    >>> whet.cuda.is_tf32_supported() == (whet.cuda.get_device_capability() >= (8, 0))
    True
    """
    return is_available() and get_device_capability()[0] >= 8


# what PyTorch says of how it was built: there is float16, and no library of its
has_half, has_magma = True, False


# ---- devices -------------------------------------------------------------------------------------
@_declared_for_tracing.goes_by_no_size
def current_device() -> int:
    """The number of the device that this thread works with.

    >>> import whet
    >>> whet.cuda.current_device()
    0
    """
    _m.machine()
    return _m.current_device()


def set_device(device: Any) -> None:
    """Let this thread work with another device.

    >>> import whet
    >>> whet.cuda.set_device(0)
    >>> whet.ones(1, device="cuda").device
    device(type='cuda', index=0)
    """
    _m.choose_device(_streams.index_of(device))


class device:
    """A `with` block that works with another device; a negative number changes nothing.

    >>> import whet
    >>> with whet.cuda.device(0):
    ...     whet.cuda.current_device()
    0
    """

    def __init__(self, device: Any) -> None:
        self.index = _streams.index_of(device)
        self.before = -1

    def __enter__(self) -> None:
        self.before = current_device()
        _m.choose_device(self.index)

    def __exit__(self, *error: object) -> None:
        _m.choose_device(self.before)


class device_of(device):
    """A context manager that makes the device of a tensor the current one, if it is a CUDA
    tensor.

    >>> import whet
    >>> with whet.cuda.device_of(whet.ones(1, device="cuda:0")):
    ...     whet.cuda.current_device()
    0
    """

    def __init__(self, obj: Any) -> None:
        super().__init__(obj.get_device() if obj.is_cuda else -1)


def get_device_properties(device: Any = None) -> _Properties:
    """What a device can do.

    >>> import whet
    >>> whet.cuda.get_device_properties(0).total_memory > 0
    True
    """
    return _m.machine().driver.properties(_streams.index_of(device))


def get_device_name(device: Any = None) -> str:
    """The name of a device.

    >>> import whet
    >>> len(whet.cuda.get_device_name(0)) > 0
    True
    """
    return get_device_properties(device).name


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """The compute capability of a device: (9, 0) is sm_90.

    >>> import whet
    >>> whet.cuda.get_device_capability() >= (7, 0)
    True
    """
    p = get_device_properties(device)
    return p.major, p.minor


def can_device_access_peer(device: Any, peer_device: Any) -> bool:
    """Can a device read the memory of another one?

    >>> import whet
    >>> isinstance(whet.cuda.can_device_access_peer(0, 0), bool)
    True
    """
    one, other = _streams.index_of(device), _streams.index_of(peer_device)
    return _m.machine().driver.can_access_peer(one, other)


# ---- streams -------------------------------------------------------------------------------------
def current_stream(device: Any = None) -> Stream:
    """The stream that this thread's work goes to.

    >>> import whet
    >>> whet.cuda.current_stream() == whet.cuda.default_stream()
    True
    """
    return _streams.current_stream(_streams.index_of(device))


def default_stream(device: Any = None) -> Stream:
    """The stream that work goes to where nothing else is said.

    >>> import whet
    >>> whet.cuda.default_stream().query()
    True
    """
    return _streams.default_stream(_streams.index_of(device))


def set_stream(stream: Stream | None) -> None:
    """Let this thread's work go to a stream, and to its device.

    >>> import whet
    >>> s = whet.cuda.Stream()
    >>> whet.cuda.set_stream(s)
    >>> whet.cuda.current_stream() == s
    True
    >>> whet.cuda.set_stream(whet.cuda.default_stream())
    """
    if stream is not None:
        _m.choose_device(stream.device_index)
        _m.choose_stream(stream.device_index, stream.cuda_stream)


def get_stream_from_external(data_ptr: int, device: Any = None) -> Stream:
    """A stream that others made, by the driver's number of it.

    >>> import whet
    >>> s = whet.cuda.Stream()
    >>> whet.cuda.get_stream_from_external(s.cuda_stream) == s
    True
    """
    return ExternalStream(data_ptr, device)


StreamContext = stream


def synchronize(device: Any = None) -> None:
    """Wait for all work of a device; an error of earlier work is raised here.

    >>> import whet
    >>> y = whet.ones(2, device="cuda") + 1
    >>> whet.cuda.synchronize()         # y is computed, and had no error
    """
    _modes.beyond(_streams.WAITS)
    index, machine = _streams.index_of(device), _m.machine()
    machine.driver.synchronize(index)
    machine.checks[index].settle()


# ---- memory --------------------------------------------------------------------------------------
def _statistics(device: Any) -> _Statistics:
    _modes.beyond(_MEMORY)
    return _m.machine().allocators[_streams.index_of(device)].settle()


def memory_allocated(device: Any = None) -> int:
    """Bytes that tensors have.

    >>> import whet
    >>> before = whet.cuda.memory_allocated()
    >>> x = whet.zeros(256, device="cuda")
    >>> whet.cuda.memory_allocated() - before
    1024
    """
    return _statistics(device).bytes.current


def max_memory_allocated(device: Any = None) -> int:
    """Bytes that tensors had at most.

    >>> import whet
    >>> x = whet.zeros(256, device="cuda")
    >>> whet.cuda.max_memory_allocated() >= 1024
    True
    """
    return _statistics(device).bytes.peak


def memory_reserved(device: Any = None) -> int:
    """Bytes that came from the driver: those of tensors, and those kept for reuse.

    >>> import whet
    >>> x = whet.zeros(256, device="cuda")
    >>> whet.cuda.memory_reserved() >= whet.cuda.memory_allocated()
    True
    """
    return _statistics(device).segments.current


def max_memory_reserved(device: Any = None) -> int:
    """Bytes that came from the driver at most.

    >>> import whet
    >>> whet.cuda.max_memory_reserved() >= whet.cuda.memory_reserved()
    True
    """
    return _statistics(device).segments.peak


def reset_peak_memory_stats(device: Any = None) -> None:
    """Set the peaks to the current values.

    >>> import whet
    >>> whet.cuda.reset_peak_memory_stats()
    >>> whet.cuda.max_memory_allocated() == whet.cuda.memory_allocated()
    True
    """
    _statistics(device).reset_peak()


reset_max_memory_allocated = reset_max_memory_cached = reset_peak_memory_stats


def memory_stats(device: Any = None) -> dict[str, int]:
    """All that the allocator counts, under PyTorch's names.

    >>> import whet
    >>> whet.cuda.memory_stats()["allocated_bytes.all.peak"] >= 0
    True
    """
    return _statistics(device).named()


def memory_stats_as_nested_dict(device: Any = None) -> dict[str, Any]:
    """What `memory_stats` says, by the parts of the names: `["allocated_bytes"]["all"]["peak"]`.

    >>> import whet
    >>> whet.cuda.memory_stats_as_nested_dict()["allocated_bytes"]["all"]["peak"] >= 0
    True
    """
    return _nested(memory_stats(device))


def _nested(named: dict[str, int]) -> dict[str, Any]:
    """Numbers by the parts of their names."""
    found: dict[str, Any] = {}
    for name, number in named.items():
        *rooms, last = name.split(".")
        room = found
        for part in rooms:
            room = room.setdefault(part, {})
        room[last] = number
    return found


def reset_accumulated_memory_stats(device: Any = None) -> None:
    """Set the counts of allocations and releases so far to zero.

    >>> import whet
    >>> whet.cuda.reset_accumulated_memory_stats()
    >>> whet.cuda.memory_stats()["allocation.all.allocated"]
    0
    """
    _statistics(device).reset_accumulated()


def set_per_process_memory_fraction(fraction: float, device: Any = None) -> None:
    """Let this process have no more than a part of a device's memory: beyond it there is none.

    >>> import whet
    >>> whet.cuda.set_per_process_memory_fraction(0.5)
    >>> whet.cuda.get_per_process_memory_fraction()
    0.5
    >>> whet.cuda.set_per_process_memory_fraction(1.0)
    """
    if not isinstance(fraction, float):
        raise TypeError("Invalid type for fraction argument, must be `float`")
    if not 0 <= fraction <= 1:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
    _modes.beyond(_MEMORY)
    _m.machine().allocators[_streams.index_of(device)].fraction = fraction


def get_per_process_memory_fraction(device: Any = None) -> float:
    """The part of a device's memory that this process may have.

    >>> import whet
    >>> whet.cuda.get_per_process_memory_fraction()
    1.0
    """
    _modes.beyond(_MEMORY)
    return _m.machine().allocators[_streams.index_of(device)].fraction


def _host_statistics() -> _HostStatistics:
    _modes.beyond(_MEMORY)
    return _m.machine().pinned.settle() if _m.is_initialized() else _HostStatistics()


def host_memory_stats() -> dict[str, int]:
    """What is counted of pinned memory of the host, under PyTorch's names.

    >>> import whet
    >>> x = whet.ones(2).pin_memory()
    >>> whet.cuda.host_memory_stats()["active_bytes.current"] > 0
    True
    """
    return _host_statistics().named()


def host_memory_stats_as_nested_dict() -> dict[str, Any]:
    """What `host_memory_stats` says, by the parts of the names: `["active_bytes"]["peak"]`.

    >>> import whet
    >>> x = whet.ones(2).pin_memory()
    >>> whet.cuda.host_memory_stats_as_nested_dict()["active_bytes"]["current"] > 0
    True
    """
    return _nested(host_memory_stats())


def reset_peak_host_memory_stats() -> None:
    """Set the peaks of pinned memory to the current values.

    >>> import whet
    >>> whet.cuda.reset_peak_host_memory_stats()
    """
    _host_statistics().reset_peak()


def reset_accumulated_host_memory_stats() -> None:
    """Reset the counts of pinned memory that was allocated and freed so far.

    >>> import whet
    >>> whet.cuda.reset_accumulated_host_memory_stats()
    """
    _host_statistics().reset_accumulated()


def get_allocator_backend() -> str:
    """What gives memory out: whet's own allocator.

    >>> import whet
    >>> whet.cuda.get_allocator_backend()
    'native'
    """
    return "native"


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """(bytes that are free, all bytes) of a device, as the driver has it.

    >>> import whet
    >>> free, total = whet.cuda.mem_get_info()
    >>> 0 < free <= total
    True
    """
    _modes.beyond(_MEMORY)
    return _m.machine().driver.memory_info(_streams.index_of(device))


def empty_cache() -> None:
    """Give memory that is kept for reuse back to the driver.

    >>> import whet
    >>> x = whet.zeros(256, device="cuda")
    >>> del x
    >>> whet.cuda.empty_cache()
    >>> whet.cuda.memory_reserved() == whet.cuda.memory_allocated()
    True
    """
    _modes.beyond(_MEMORY)
    if _m.is_initialized():
        for allocator in _m.machine().allocators:
            allocator.empty_cache()


def empty_host_cache() -> None:
    """Give pinned memory of the host that is kept for reuse back to the driver.

    >>> import whet
    >>> whet.cuda.empty_host_cache()
    """
    _modes.beyond(_MEMORY)
    if _m.is_initialized():
        _m.machine().pinned.empty_cache()


memory_cached, max_memory_cached = memory_reserved, max_memory_reserved


# ---- what else programs ask for ------------------------------------------------------------------
def ipc_collect() -> None:
    """Does nothing: processes share no memory of devices.

    >>> import whet
    >>> whet.cuda.ipc_collect()
    """


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """What the allocator counts, a line each.

    >>> import whet
    >>> "allocated_bytes.all.current" in whet.cuda.memory_summary()
    True
    """
    counts = memory_stats(device)
    width = max(map(len, counts), default=0)
    return "\n".join(f"{name:{width}}  {number}" for name, number in counts.items())


# where PyTorch keeps these
memory = _sys.modules[f"{__name__}.memory"] = _sys.modules[__name__]


def _type_named(name: str) -> Any:
    """What PyTorch's name of a type of tensors or of storage stands for."""
    if not name.endswith(("Tensor", "Storage")):
        return None
    from .. import legacy_tensor_types
    from ..ops.storage_kinds import CUDA_STORAGES
    return {**legacy_tensor_types.CUDA_TYPES, **CUDA_STORAGES}.get(name)


# with the profiler, once somebody asks
__getattr__, __dir__ = _lazy_names(
    __name__, modules={"nvtx": "nvtx"}, otherwise=_type_named)
