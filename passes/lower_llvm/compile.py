"""LLVM IR text -> object code, and object code -> addresses. The only place that runs LLVM for the
CPU.

No IR passes: generators write the loops as the machine should run them, and code generation alone
takes 2-3 ms a kernel.
"""
from __future__ import annotations

import ctypes
import functools
from collections.abc import Iterable, Mapping
from typing import Any

from . import targets


@functools.lru_cache(None)
def _llvm() -> Any:
    import llvmlite.binding as llvm
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm


def _machine(opt: int = 2) -> Any:
    target = targets.current()
    return _llvm().Target.from_default_triple().create_target_machine(
        cpu=target.cpu, features=target.features, opt=opt, reloc="pic", codemodel="small")


_shared_machine = functools.lru_cache(None)(_machine)


def object_code(text: str, opt: int = 2) -> bytes:
    """IR text compiled to a relocatable object file, as bytes; with `opt` 0 four times as fast,
    to code that is several times slower."""
    module = _llvm().parse_assembly(text)
    module.verify()
    return bytes(_shared_machine(opt).emit_object(module))


def load_object(code: bytes, names: Iterable[str], symbols: Mapping[str, int]) -> dict[str, int]:
    """Link an object file into this process; name -> address. `symbols` are addresses that the
    process does not export by name."""
    llvm = _llvm()
    for name, address in symbols.items():
        llvm.add_symbol(name, address)
    # takes its machine over: not the shared one
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _machine())
    engine.add_object_file(llvm.object_file.ObjectFileRef.from_data(code))
    engine.finalize_object()
    # never freed, at exit either: threads may still be in its code
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(engine))
    return {name: engine.get_function_address(name) for name in names}


# What code generation calls where the machine has no instruction and the C runtime of many systems
# no function: conversions to and from the 16-bit floats, rounded once to nearest even. A double
# first becomes a float rounded to odd (towards zero, the last bit set if anything was lost), which
# a second rounding cannot tell from the double itself.
SUPPORT = """
define internal i32 @to_odd(double %x) nounwind {
  %y = fptrunc double %x to float
  %bits = bitcast float %y to i32
  %back = fpext float %y to double
  %lost = fcmp one double %back, %x
  %xa0 = bitcast double %x to i64
  %ya0 = bitcast double %back to i64
  %xa = and i64 %xa0, 9223372036854775807
  %ya = and i64 %ya0, 9223372036854775807
  %up = icmp ugt i64 %ya, %xa
  %up32 = zext i1 %up to i32
  %down = sub i32 %bits, %up32
  %odd = or i32 %down, 1
  %r = select i1 %lost, i32 %odd, i32 %bits
  ret i32 %r
}

define internal i16 @bfloat_bits(i32 %u) nounwind {
  %magnitude = and i32 %u, 2147483647
  %nan = icmp ugt i32 %magnitude, 2139095040
  %top = lshr i32 %u, 16
  %quiet = or i32 %top, 64
  %even = and i32 %top, 1
  %a = add i32 %u, 32767
  %b = add i32 %a, %even
  %c = lshr i32 %b, 16
  %r = select i1 %nan, i32 %quiet, i32 %c
  %s = trunc i32 %r to i16
  ret i16 %s
}

define internal i16 @half_bits(i32 %u) nounwind {
  %a = and i32 %u, 2147483647
  %sign0 = lshr i32 %u, 16
  %sign = and i32 %sign0, 32768
  %nan = icmp ugt i32 %a, 2139095040
  %big = icmp uge i32 %a, 1199566848
  %tiny = icmp ult i32 %a, 947912704
  %payload0 = lshr i32 %a, 13
  %payload = and i32 %payload0, 1023
  %quiet = or i32 %payload, 32256
  ; below the smallest normal number an addition of 0.5 rounds at the right place
  %f = bitcast i32 %a to float
  %g = fadd float %f, 5.000000e-01
  %h = bitcast float %g to i32
  %subnormal = sub i32 %h, 1056964608
  %even = and i32 %payload0, 1
  %n0 = add i32 %a, 4095
  %n1 = add i32 %n0, %even
  %n2 = sub i32 %n1, 939524096
  %normal = lshr i32 %n2, 13
  %r0 = select i1 %tiny, i32 %subnormal, i32 %normal
  %r1 = select i1 %big, i32 31744, i32 %r0
  %r2 = select i1 %nan, i32 %quiet, i32 %r1
  %r3 = or i32 %r2, %sign
  %s = trunc i32 %r3 to i16
  ret i16 %s
}

define float @__extendhfsf2(half %x) nounwind {
  %h16 = bitcast half %x to i16
  %h = zext i16 %h16 to i32
  %a = and i32 %h, 32767
  %s0 = and i32 %h, 32768
  %sign = shl i32 %s0, 16
  %m = shl i32 %a, 13
  %normal = add i32 %m, 939524096
  %far = add i32 %m, 1879048192
  %nan = icmp ugt i32 %a, 31744
  %quiet = or i32 %far, 4194304
  %infinite = icmp uge i32 %a, 31744
  %tiny = icmp ult i32 %a, 1024
  %t0 = add i32 %m, 947912704
  %t1 = bitcast i32 %t0 to float
  %t2 = fsub float %t1, 0x3F10000000000000
  %subnormal = bitcast float %t2 to i32
  %r0 = select i1 %infinite, i32 %far, i32 %normal
  %r1 = select i1 %nan, i32 %quiet, i32 %r0
  %r2 = select i1 %tiny, i32 %subnormal, i32 %r1
  %r3 = or i32 %r2, %sign
  %r = bitcast i32 %r3 to float
  ret float %r
}
""" + "".join(f"""
define {ty} @__trunc{short}f{name}f2({source} %x) nounwind {{
  %u = {to_float}
  %b = call i16 @{bits}_bits(i32 %u)
  %r = bitcast i16 %b to {ty}
  ret {ty} %r
}}
""" for ty, name, bits in (("half", "h", "half"), ("bfloat", "b", "bfloat"))
              for short, source, to_float in (("s", "float", "bitcast float %x to i32"),
                                              ("d", "double", "call i32 @to_odd(double %x)")))
SUPPORT_NAMES = ("__extendhfsf2", "__truncsfhf2", "__truncdfhf2", "__truncsfbf2", "__truncdfbf2")
