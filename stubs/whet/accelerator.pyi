# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from whet.devices import device
from whet.types import Device


def current_accelerator(check_available: bool = False) -> device | None: """The device to compute on beside the CPU, or None."""
def device_count() -> int: """The number of devices."""
def is_available() -> bool: """Is there a device?"""
def synchronize(device: Device | None = None) -> None: """Wait for the accelerator's work."""
