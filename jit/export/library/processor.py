"""Machine code that asks the processor which level of x86-64 it has: 1 to 4, and 5 for the fourth
with VNNI, instructions for products of bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from whet.passes.lower_llvm.builder import Module, Val

ANSWER = "{i32, i32, i32, i32}"
CLOBBERED = "~{dirflag},~{fpsr},~{flags}"
EAX, EBX, ECX = range(3)

# (leaf, register): bits, as the psABI lists what a level has
Bits = dict[tuple[int, int], tuple[int, ...]]
V2: Bits = {(1, ECX): (0, 9, 13, 19, 20, 23), (0x80000001, ECX): (0,)}
V3: Bits = {(1, ECX): (12, 22, 27, 28, 29), (7, EBX): (3, 5, 8), (0x80000001, ECX): (5,)}
V4: Bits = {(7, EBX): (16, 17, 28, 30, 31)}
VNNI: Bits = {(7, ECX): (11,)}
YMM, ZMM = 0x6, 0xE6  # what the system keeps of the registers, in XCR0


def emit(m: Module) -> None:
    """The function `processor`."""
    f = m.fn("processor", [], "i64", "internal")

    def cpuid(leaf: int) -> list[Val]:
        text = "={ax},={bx},={cx},={dx},{ax},{cx}," + CLOBBERED
        r = f.v(ANSWER, f'call {ANSWER} asm sideeffect "cpuid", "{text}"(i32 {leaf}, i32 0)')
        return [f.v("i32", f"extractvalue {ANSWER} {r.ref}, {k}") for k in range(4)]

    def system(wanted: int) -> Val:
        text = "={ax},={dx},{cx}," + CLOBBERED
        r = f.v("{i32, i32}", f'call {{i32, i32}} asm sideeffect "xgetbv", "{text}"(i32 0)')
        low = f.v("i32", f"extractvalue {{i32, i32}} {r.ref}, 0")
        return f.cmp("eq", low & wanted, wanted)

    def has(bits: Bits) -> Val:
        found: Val | None = None
        for (leaf, register), wanted in bits.items():
            mask = sum(1 << b for b in wanted)
            mask -= (mask >> 31) << 32  # as LLVM writes an i32
            one = f.cmp("eq", cpuid(leaf)[register] & mask, mask)
            found = one if found is None else found & one
        assert found is not None
        return found

    def level(n: int, bits: Bits, deeper: Callable[[], list[Val]]) -> list[Val]:
        return f.if_(has(bits), deeper, lambda: [f.const("i64", n - 1)])

    def kept(wanted: int, n: int, deeper: Callable[[], list[Val]]) -> list[Val]:
        return f.if_(system(wanted), deeper, lambda: [f.const("i64", n - 1)])

    last = [f.const("i64", 5)]
    leaves = f.cmp("uge", cpuid(0)[EAX], 7)
    (found,) = level(2, V2, lambda: f.if_(
        leaves,
        lambda: level(3, V3, lambda: kept(YMM, 3, lambda: level(
            4, V4, lambda: kept(ZMM, 4, lambda: level(5, VNNI, lambda: last))))),
        lambda: [f.const("i64", 2)],
    ))
    f.ret(found)
