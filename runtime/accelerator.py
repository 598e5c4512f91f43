"""The accelerator of this machine, as programs ask for it: its CUDA devices, where there are
some."""
from .cuda import device_count, is_available

__all__ = ["current_accelerator", "device_count", "is_available", "synchronize"]


def current_accelerator(check_available=False):
    """The device to compute on beside the CPU, or None."""
    from .devices import device
    return device("cuda") if is_available() else None


def synchronize(device=None):
    """Wait for the accelerator's work."""
    from . import cuda
    cuda.synchronize(device)
