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
from ..lazy_names import lazy_names as _lazy_names

__getattr__, __dir__ = _lazy_names(
    __name__, modules={"amp": "amp"},
    members=dict.fromkeys(
        ("Event", "Stream", "StreamContext", "current_device", "current_stream", "device_count",
         "get_capabilities", "is_available", "is_initialized", "set_device", "stream",
         "synchronize"), "device_functions"))
