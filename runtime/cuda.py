"""CUDA devices, as programs ask for them. This build computes on the CPU, so there are none."""
import sys
import types

from . import amp as _amp
from . import devices


class _GradScaler(_amp.GradScaler):
    """`whet.amp.GradScaler` for CUDA devices."""

    def __init__(self, *args, **kwargs):
        super().__init__("cuda", *args, **kwargs)


class _autocast(_amp.autocast):
    """`whet.amp.autocast` for CUDA devices."""
    __slots__ = ()

    def __init__(self, enabled=True, dtype=None, cache_enabled=True):
        super().__init__("cuda", dtype, enabled)

    def _clone(self):
        return type(self)(self.enabled, self.dtype)


amp = types.ModuleType(f"{__name__}.amp", "The older names of `whet.amp`, for CUDA devices.")
amp.autocast, amp.GradScaler, amp.custom_fwd, amp.custom_bwd = (_autocast, _GradScaler,
                                                                _amp.custom_fwd, _amp.custom_bwd)
sys.modules[amp.__name__] = amp
__path__: list = []                     # lets `amp` be imported as a submodule


def is_available():
    """Is there a device?"""
    return False


def device_count():
    """The number of devices."""
    return 0


def is_initialized():
    """Was a device used already?"""
    return False


def is_bf16_supported(including_emulation=True):
    """Can the current device compute in bfloat16?"""
    return False


def manual_seed(seed):
    """Seed the current device's generator (of no device: nothing happens)."""
    int(seed)


def manual_seed_all(seed):
    """Seed the generators of all devices."""
    int(seed)


def empty_cache():
    """Give memory that devices hold back to the system."""


def current_device():
    """The number of the device in use."""
    devices.as_device("cuda")


def synchronize(device=None):
    """Wait for a device's work."""
    devices.as_device("cuda")


def set_device(device):
    """Choose the device in use."""
    devices.as_device("cuda")


def get_device_name(device=None):
    """What a device is called."""
    devices.as_device("cuda")


def get_device_properties(device=None):
    """What a device can do."""
    devices.as_device("cuda")
