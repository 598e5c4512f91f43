"""Distributes the units of a kernel to threads, in machine code.

A launch has a word, (room, grain): `grain` is the number of units that are worth a thread. `room`,
above GRAIN_BITS, is the number of threads for which there is scratch memory; 0 if none is needed.
No more threads than that take part."""
from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from whet.ir.symbolic_size import at_most

if TYPE_CHECKING:
    from whet.passes.lower_llvm.builder import Fn, Module, Val

Word = TypeVar("Word", int, "Val")           # of a launch: a number, or one in machine code
GRAIN_BITS = 48


def word(grain: int, room: int = 0) -> int:
    """The word of a launch whose scratch memory is for `room` threads."""
    return at_most(grain, (1 << GRAIN_BITS) - 1) + (room << GRAIN_BITS)


def grain(launch: Word) -> Word:
    """The grain in a launch's word."""
    return launch & ((1 << GRAIN_BITS) - 1)


def room(launch: Word) -> Word:
    """The number of threads for which a launch has scratch memory; 0: none is needed."""
    return launch >> GRAIN_BITS


def declare(m: Module) -> None:
    m.declare("whet_pool_run", "void", ["ptr", "ptr", "i64", "i64"])


def emit(f: Fn, kernel: Val, slots: Val, total: Val, launch: Val,
         around: Callable[[Callable[[], None]], None] | None = None) -> None:
    """Run a kernel over units 0..total. `around(run)` emits the code around a launch that may take
    long (from 5 grains on)."""
    def alone() -> None:
        f.raw(f"call void {kernel.ref}(ptr {slots.ref}, i64 0, i64 {total.ref}, i64 0)")

    def run() -> None:
        f.call("whet_pool_run", "void", kernel, slots, total, launch)

    def shared() -> None:
        if around is None:
            run()
        else:
            f.if_(f.cmp("sge", f.sdiv(total, 5), least), lambda: around(run), run)
    least = grain(launch)
    f.if_(f.cmp("slt", f.sdiv(total, 2), least), alone, shared)
