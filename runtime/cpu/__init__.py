"""Eager kernels on NumPy arrays, and what they need: machine code, threads, memory.

Input: an op's arrays. Output: arrays that kernels have filled.
Where there is no kernel for a type, NumPy computes it.

native.py          machine code by key: found, compiled, launched. cache.py keeps it on disk.
                   tiered_compilation.py compiles a kernel twice: quickly at once, well later.
thread_pool.py     the threads
memory.py          large memory, which is kept when it dies and handed out again: allocator.py
gemm.py            how a product is cut and shared out over threads, by the kernels that
                   product_kernels.py chooses. conv_plan.py, pooling.py, rows.py and pointwise.py
                   say the same of theirs.
repeated_calls.py  calls that were made before: machine code repeats them
taped_launches.py  what an op launches, written down for the programs of traces

`device_functions.py` has the names by which programs ask for the CPU as for any device.
"""
import importlib


def __getattr__(name):
    if name == "amp":
        return importlib.import_module(f"{__name__}.amp")
    if name[:1] != "_":
        device_functions = importlib.import_module(f"{__name__}.device_functions")
        if name in device_functions.__all__:
            return getattr(device_functions, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
