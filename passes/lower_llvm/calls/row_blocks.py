"""Runs several launches on blocks of rows: each block goes through all launches before the next
block begins. A unit of work is a block.

Arguments: a table, memory for all threads, then the arguments of the launches, one after the other.
The table: a `Blocks`, then for each launch a `Link`, and for each of its arguments a `Between`."""
from __future__ import annotations

from typing import Generic, NamedTuple

from ..builder import Module, Val
from .word_records import Address, Word, load, size

MOST = 64                        # arguments of a launch


class Blocks(NamedTuple, Generic[Word]):
    """What the launches have in common."""
    rows: Word                   # of a matrix
    blocks: Word                 # of a matrix
    high: Word                   # rows of a block
    memory: Word                 # bytes for a thread
    links: Word                  # launches


class Link(NamedTuple, Generic[Word]):
    """A launch."""
    kernel: Address[Word]
    units: Word                  # for a matrix
    step: Word                   # units for a block
    arguments: Word


class Between(NamedTuple, Generic[Word]):
    """An argument. If it is the address of an intermediate value: the bytes of a row of that, and
    the offset of a block's rows in a thread's memory. Otherwise all zero."""
    row: Word
    place: Word


def emit(module: Module, symbol: str) -> None:
    """The kernel."""
    f = module.kernel(symbol)
    args, begin, end, worker = f.args
    table, memory = (f.load("ptr", f.at(args, i, "i64")) for i in range(2))
    to = load(f, table, Blocks[Val])
    slots, mine = f.alloca("i64", MOST), f.bytes_at(memory, worker * to.memory)

    def unit(u: Val) -> None:
        matrix = f.udiv(u, to.blocks)
        i = u - matrix * to.blocks
        row = matrix * to.rows + i * to.high

        def launch(_: Val, at: Val, arguments: Val) -> list[Val]:
            link = load(f, at, Link[Val])

            def slot(k: Val) -> None:
                about = load(f, f.at(at, k * size(Between) + size(Link), "i64"), Between[Val])
                between = f.v(
                    "i64",
                    f"ptrtoint ptr {f.bytes_at(mine, about.place - row * about.row).ref} to i64")
                value = f.load("i64", f.at(arguments, k, "i64"))
                f.store(f.sel(f.cmp("ne", about.row, 0), between, value), f.at(slots, k, "i64"))
            f.loop(0, link.arguments, 1, slot)
            first, last = (matrix * link.units + f.imin(k * link.step, link.units)
                           for k in (i, i + 1))
            f.raw(f"call void {link.kernel.ref}(ptr {slots.ref}, i64 {first.ref}, i64 {last.ref}, "
                  f"i64 {worker.ref})")
            return [
                f.at(at, link.arguments * size(Between) + size(Link), "i64"),
                f.at(arguments, link.arguments, "i64")]
        f.loop(0, to.links, 1, launch, [f.at(table, size(Blocks), "i64"), f.at(args, 2, "i64")])
    f.loop(begin, end, 1, unit)
