"""The accelerator of this machine, as programs ask for it: in this build there is none."""
from .cuda import device_count, is_available

__all__ = ["current_accelerator", "device_count", "is_available", "synchronize"]


def current_accelerator(check_available=False):
    """The device to compute on beside the CPU, or None."""
    return None


def synchronize(device=None):
    """Wait for the accelerator's work."""
    from .devices import as_device
    as_device("cuda")
