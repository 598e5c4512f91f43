"""Eager kernels on arrays, and (`as_device.py`) the names by which programs ask for the CPU as for
any device."""
import importlib


def __getattr__(name):
    if name == "amp":
        return importlib.import_module(f"{__name__}.amp")
    if name[:1] != "_":
        as_device = importlib.import_module(f"{__name__}.as_device")
        if name in as_device.__all__:
            return getattr(as_device, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
