"""Eager kernels on NumPy arrays, and what they need: machine code, threads, memory.

Comes in: an op's arrays. Goes out: arrays that kernels have filled.
Where there is no kernel for a type, NumPy computes it.

native.py          machine code by key: found, compiled, launched. cache.py keeps it on disk, and
                   haste.py has a kernel compiled twice: briefly at once, well later.
pool.py            the threads
memory.py          large memory, which is kept when it dies and handed out again
gemm.py            how a product is cut and shared out over threads. conv_plan.py, pooling.py,
                   rows.py and pointwise.py say the same of their kernels.
repeated_calls.py  calls that were made before: machine code repeats them
taped_launches.py  what an op launches, written down for the programs of traces

`as_device.py` has the names by which programs ask for the CPU as for any device.
"""
import importlib


def __getattr__(name):
    if name == "amp":
        return importlib.import_module(f"{__name__}.amp")
    if name[:1] != "_":
        as_device = importlib.import_module(f"{__name__}.as_device")
        if name in as_device.__all__:
            return getattr(as_device, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
