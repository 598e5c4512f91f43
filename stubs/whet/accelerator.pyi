# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from typing import Any
from whet.cuda.streams import Stream
from whet.devices import device
from whet.types import Device


def current_accelerator(check_available: bool = False) -> device | None: """The device to compute on beside the CPU, or None."""
def current_device_idx() -> int: """The number of the device that this thread works with."""
def current_device_index() -> int: """The number of the device that this thread works with."""
def current_stream(device: Device | None = None) -> Stream: """The stream that this thread's work goes to."""
def device_count() -> int: """The number of devices."""
def empty_cache() -> None: """Give memory that is kept for reuse back to the driver."""
def empty_host_cache() -> None: """Give pinned memory of the host that is kept for reuse back to the driver."""
def get_device_capability(device: Device | None = None) -> tuple[int, int]: """The compute capability of a device: (9, 0) is sm_90."""
def get_memory_info(device: Device | None = None) -> tuple[int, int]: """(bytes that are free, all bytes) of a device, as the driver has it."""
def is_available() -> bool: """Is there a device?"""
def max_memory_allocated(device: Device | None = None) -> int: """Bytes that tensors had at most."""
def max_memory_reserved(device: Device | None = None) -> int: """Bytes that came from the driver at most."""
def memory_allocated(device: Device | None = None) -> int: """Bytes that tensors have."""
def memory_reserved(device: Device | None = None) -> int: """Bytes that came from the driver: those of tensors, and those kept for reuse."""
def memory_stats(device: Device | None = None) -> dict[str, int]: """All that the allocator counts, under PyTorch's names."""
def reset_accumulated_memory_stats(device: Device | None = None) -> None: """Set the counts of allocations and releases so far to zero."""
def reset_peak_memory_stats(device: Device | None = None) -> None: """Set the peaks to the current values."""
def set_device_idx(device: Device) -> None: """Let this thread work with another device."""
def set_device_index(device: Device) -> None: """Let this thread work with another device."""
def set_stream(stream: Any) -> None: """Let this thread's work go to a stream, and to its device."""
def synchronize(device: Device | None = None) -> None: """Wait for all work of a device; an error of earlier work is raised here."""

class device_index:
    """A `with` block that works with another device; a negative number changes nothing."""
    index: Any
    def __init__(self, device: Device) -> None: ...
