"""LLVM IR text -> object code, and object code -> addresses. The only place that runs LLVM for the CPU.

No IR passes: generators write the loops as the machine should run them, and code generation alone takes 2-3 ms a kernel.
"""
import ctypes
import functools

from . import targets


@functools.lru_cache(None)
def _llvm():
    import llvmlite.binding as llvm
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm


def _machine():
    target = targets.current()
    return _llvm().Target.from_default_triple().create_target_machine(
        cpu=target.cpu, features=target.features, opt=2, reloc="pic", codemodel="small")


_shared_machine = functools.lru_cache(None)(_machine)


def object_code(text):
    """IR text compiled to a relocatable object file, as bytes."""
    module = _llvm().parse_assembly(text)
    module.verify()
    return _shared_machine().emit_object(module)


def load_object(code, names, symbols):
    """Link an object file into this process; name -> address. `symbols` are addresses that the process does not export by name."""
    llvm = _llvm()
    for name, address in symbols.items():
        llvm.add_symbol(name, address)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _machine())     # takes its machine over: not the shared one
    engine.add_object_file(llvm.object_file.ObjectFileRef.from_data(code))
    engine.finalize_object()
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(engine))      # never freed, at exit either: threads may still be in its code
    return {name: engine.get_function_address(name) for name in names}
