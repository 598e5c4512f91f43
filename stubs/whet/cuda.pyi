# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from typing import Any
from whet.types import Device


def current_device() -> int: """The number of the device in use."""
def device_count() -> int: """The number of devices."""
def empty_cache() -> None: """Give memory that devices hold back to the system."""
def get_device_name(device: Device | None = None) -> str: """What a device is called."""
def get_device_properties(device: Device | None = None) -> Any: """What a device can do."""
def is_available() -> bool: """Is there a device?"""
def is_bf16_supported(including_emulation: bool = True) -> bool: """Can the current device compute in bfloat16?"""
def is_initialized() -> bool: """Was a device used already?"""
def manual_seed(seed: int) -> None: """Seed the current device's generator (of no device: nothing happens)."""
def manual_seed_all(seed: int) -> None: """Seed the generators of all devices."""
def set_device(device: Device) -> None: """Choose the device in use."""
def synchronize(device: Device | None = None) -> None: """Wait for a device's work."""
