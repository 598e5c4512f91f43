"""Machine code called from Python: compile IR text, find kernels by key, launch them over a range of work.

Every kernel has one signature,  void kernel(i64* args, i64 begin, i64 end, i64 worker):
`args` holds one 8-byte slot per operand (data pointers, i64 integers, doubles as bits), `begin..end` is the part of the work
units this call does, `worker` the number of the thread that runs it (0 = the caller).
"""
import ctypes as C
import struct

import numpy as np

_engines: list = []
_found: dict = {}
_SIG = C.CFUNCTYPE(None, C.c_void_p, C.c_int64, C.c_int64, C.c_int64)


def build(text, names):
    """Compile IR text; the address of each named function."""
    import llvmlite.binding as llvm
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    tm = llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=2, reloc="pic", codemodel="small")
    mod = llvm.parse_assembly(text)
    mod.verify()
    engine = llvm.create_mcjit_compiler(mod, tm)
    engine.finalize_object()
    _engines.append((engine, tm))
    return {n: engine.get_function_address(n) for n in names}


def kernel(key, emit):
    """The address of the kernel that `key` describes completely; `emit(module, symbol)` writes it if it is in no cache."""
    if key not in _found:
        from whet.passes.lower_llvm.builder import Module
        m = Module()
        emit(m, "kernel")
        _found[key] = build(m.text(), ["kernel"])["kernel"]
    return _found[key]


def launch(addr, total, grain, *args):
    """Run kernel `addr` over work units 0..total, split over the threads in parts of at least `grain` units.

    An argument is an ndarray (its data pointer), an int, a float (a double's bits) or None (0)."""
    slots = (C.c_int64 * max(1, len(args)))()
    for i, a in enumerate(args):
        if isinstance(a, np.ndarray):
            slots[i] = a.__array_interface__["data"][0]
        elif isinstance(a, float):
            slots[i] = struct.unpack("<q", struct.pack("<d", a))[0]
        elif a is not None:
            slots[i] = a
    _SIG(addr)(C.addressof(slots), 0, total, 0)
