# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from typing import Any, Iterable
from whet.tensor import Tensor
from whet.types import Device
from whet.cuda.graphs import CUDAGraph as CUDAGraph
from whet.cuda.driver import CudaError as CudaError
from whet.cuda.streams import Event as Event
from whet.cuda.streams import ExternalStream as ExternalStream
from whet.cuda.driver import OutOfMemoryError as OutOfMemoryError
from whet.cuda.streams import Stream as Stream
from whet.cuda.streams import stream as StreamContext
from whet.cuda.graphs import graph as graph
from whet.cuda.streams import stream as stream


has_half: bool
has_magma: bool
def can_device_access_peer(device: Device, peer_device: Device) -> bool: """Can a device read the memory of another one?"""
def clock_rate(device: Device | None = None) -> int: """The clock of the device's processors, in MHz."""
def current_device() -> int: """The number of the device that this thread works with."""
def current_stream(device: Device | None = None) -> Stream: """The stream that this thread's work goes to."""
def default_stream(device: Device | None = None) -> Stream: """The stream that work goes to where nothing else is said."""
def device_count() -> int: """The number of devices."""
def device_memory_used(device: Device | None = None) -> int: """How many bytes of a device's memory all processes have."""
def empty_cache() -> None: """Give memory that is kept for reuse back to the driver."""
def empty_host_cache() -> None: """Give pinned memory of the host that is kept for reuse back to the driver."""
def get_allocator_backend() -> str: """What gives memory out: whet's own allocator."""
def get_device_capability(device: Device | None = None) -> tuple[int, int]: """The compute capability of a device: (9, 0) is sm_90."""
def get_device_name(device: Device | None = None) -> str: """The name of a device."""
def get_device_properties(device: Device | None = None) -> Any: """What a device can do."""
def get_per_process_memory_fraction(device: Device | None = None) -> float: """The part of a device's memory that this process may have."""
def get_rng_state(device: Device = 'cuda') -> Tensor: """The state of the one generator, which draws for all devices."""
def get_rng_state_all() -> list[Tensor]: """The state of the one generator, once for each device."""
def get_stream_from_external(data_ptr: int, device: Device | None = None) -> Stream: """A stream that others made, by the driver's number of it."""
def host_memory_stats() -> dict[str, int]: """What is counted of pinned memory of the host, under PyTorch's names."""
def host_memory_stats_as_nested_dict() -> dict[str, Any]: """What `host_memory_stats` says, by the parts of the names: `["active_bytes"]["peak"]`."""
def init() -> None: """Initialise the devices. Their first use does it, too."""
def initial_seed() -> int: """The number that the generator was seeded with."""
def ipc_collect() -> None: """Does nothing: processes share no memory of devices."""
def is_available() -> bool: """Is there a device?"""
def is_bf16_supported(including_emulation: bool = True) -> bool: """Can the current device compute in bfloat16?"""
def is_current_stream_capturing() -> bool: """Is what a stream does being captured into a graph? No."""
def is_initialized() -> bool: """Was a device used already?"""
def is_tf32_supported() -> bool: """Can the current device multiply in TF32?"""
def list_gpu_processes(device: Device | None = None) -> str: """The processes that compute on a device and what memory each has, a line each."""
def manual_seed(seed: int) -> None: """Seed the generator of random numbers."""
def manual_seed_all(seed: int) -> None: """Seed the generator of random numbers."""
def max_memory_allocated(device: Device | None = None) -> int: """Bytes that tensors had at most."""
def max_memory_cached(device: Device | None = None) -> int: """Bytes that came from the driver at most."""
def max_memory_reserved(device: Device | None = None) -> int: """Bytes that came from the driver at most."""
def mem_get_info(device: Device | None = None) -> tuple[int, int]: """(bytes that are free, all bytes) of a device, as the driver has it."""
def memory_allocated(device: Device | None = None) -> int: """Bytes that tensors have."""
def memory_cached(device: Device | None = None) -> int: """Bytes that came from the driver: those of tensors, and those kept for reuse."""
def memory_reserved(device: Device | None = None) -> int: """Bytes that came from the driver: those of tensors, and those kept for reuse."""
def memory_stats(device: Device | None = None) -> dict[str, int]: """All that the allocator counts, under PyTorch's names."""
def memory_stats_as_nested_dict(device: Device | None = None) -> dict[str, Any]: """What `memory_stats` says, by the parts of the names: `["allocated_bytes"]["all"]["peak"]`."""
def memory_summary(device: Device | None = None, abbreviated: bool = False) -> str: """What the allocator counts, a line each."""
def memory_usage(device: Device | None = None) -> int: """In how many percent of the last sample's time the device's memory was read or written."""
def power_draw(device: Device | None = None) -> int: """How many milliwatts the device takes."""
def reset_accumulated_host_memory_stats() -> None: """Reset the counts of pinned memory that was allocated and freed so far."""
def reset_accumulated_memory_stats(device: Device | None = None) -> None: """Set the counts of allocations and releases so far to zero."""
def reset_max_memory_allocated(device: Device | None = None) -> None: """Set the peaks to the current values."""
def reset_max_memory_cached(device: Device | None = None) -> None: """Set the peaks to the current values."""
def reset_peak_host_memory_stats() -> None: """Set the peaks of pinned memory to the current values."""
def reset_peak_memory_stats(device: Device | None = None) -> None: """Set the peaks to the current values."""
def seed() -> int: """Seed the generator with a number from the system; that number."""
def seed_all() -> int: """Seed the generator with a number from the system; that number."""
def set_device(device: Device) -> None: """Let this thread work with another device."""
def set_per_process_memory_fraction(fraction: float, device: Device | None = None) -> None: """Let this process have no more than a part of a device's memory: beyond it there is none."""
def set_rng_state(new_state: Tensor, device: Device = 'cuda') -> None: """Continue the one generator from such a state."""
def set_rng_state_all(new_states: Iterable[Tensor]) -> None: """Continue the one generator from the state for the last of the devices."""
def set_stream(stream: Any) -> None: """Let this thread's work go to a stream, and to its device."""
def synchronize(device: Device | None = None) -> None: """Wait for all work of a device; an error of earlier work is raised here."""
def temperature(device: Device | None = None) -> int: """Degrees Celsius of the device."""
def utilization(device: Device | None = None) -> int: """In how many percent of the last sample's time a kernel ran."""

class device:
    """A `with` block that works with another device; a negative number changes nothing."""
    index: int | None
    def __init__(self, device: Device) -> None: ...

class device_of:
    """A context manager that makes the device of a tensor the current one, if it is a CUDA tensor."""
    index: Any
    def __init__(self, obj: Any) -> None: ...
