"""A list of kernel launches as data, and the machine code that runs it: the part of a traced
function between two Python steps.

Arguments: the address of the list, the number of its words, then the addresses of the arrays that
differ between calls. The list has launches, and other entries, which have a mark in place of a
kernel. The records below are its layout. `jit/program/launch_entries.py` writes lists with them."""
from __future__ import annotations

from typing import TYPE_CHECKING, Generic, NamedTuple

from ..builder import Module, Val
from . import distribute_units as launching
from .op_layouts import C, T
from .python_layouts import ARRAY
from .word_records import Address, Word, load, size

if TYPE_CHECKING:
    from ..builder import Fn

MOST = 8192                      # arguments of a launch, eager or in a list
MOST_ARRAYS = 1000               # that launches of a list share; one launch may have more
MOVING = MOST + MOST_ARRAYS      # arrays that change from call to call
SKIP, CHECK = 0, 1               # marks; kernels lie at larger addresses
VALUE = -1                       # in the place of an array: the argument is a word
NAMES = ["program", "run"]


class Launch(NamedTuple, Generic[Word]):
    """Run a kernel. `grain`: with the room, see distribute_units.py. The arguments follow; `count`
    is their number."""
    kernel: Address[Word]
    total: Word
    grain: Word
    arguments: Word


class Argument(NamedTuple, Generic[Word]):
    """The address `offset` bytes into an array; or `offset` itself, if `VALUE` is in place of the
    array."""
    array: Word
    offset: Word


class Skip(NamedTuple, Generic[Word]):
    """Skip `words` words, which compute something kept between calls, if the array that they read
    is unchanged. `state` is the address of a `State`. Memory that is shared with others always
    counts as changed."""
    mark: Word
    state: Address[Word]
    array: Word
    words: Word


class State(NamedTuple, Generic[Word]):
    """A tensor, and its state at the last run: its version cell, the sum of its version and that of
    `.data`, and its array's address."""
    tensor: Address[Word]
    cell: Address[Word]
    version: Word
    address: Word


class Check(NamedTuple, Generic[Word]):
    """End the list if the word at `flag`, which an earlier launch wrote, is not `wanted`. The
    address of `flag` is then stored where `stopped` points. So a launch that reads by indices from
    data comes after the check of these indices."""
    mark: Word
    flag: Address[Word]
    wanted: Word
    stopped: Address[Word]


def source() -> str:
    """The IR text."""
    m = Module()
    launching.declare(m)
    f = m.kernel("program")
    args = f.args[0]
    words = f.load("ptr", f.at(args, 0, "i64"))
    end = f.at(words, f.load("i64", f.at(args, 1, "i64")), "i64")
    slots = f.alloca("i64", MOST)

    def launch(at: Val) -> Val:
        to, after = prepare(f, args, slots, at)
        launching.emit(f, to.kernel, slots, to.total, to.grain)
        return after

    def skip(at: Val) -> Val:
        to = load(f, at, Skip[Val])
        was = load(f, to.state, State[Val])
        mine = f.cmp("eq", f.load("ptr", f.bytes_at(was.tensor, T["cell"])), was.cell)
        here = f.load("i64", f.at(args, to.array + 2, "i64"))

        def count(c: Val, now: Val, shown: Val) -> tuple[Val, Val, Val]:
            return (f.load("ptr", f.bytes_at(c, C["aside"])),
                    now + f.load("i64", f.bytes_at(c, C["v"])),
                    shown | f.load("i64", f.bytes_at(c, C["shown"])))
        zero = f.const("i64", 0)
        _, now, shown = f.while_(lambda c, *_: f.cmp("ne", c, 0), count, [was.cell, zero, zero])
        same = (mine & f.cmp("eq", shown, 0) & f.cmp("eq", now, was.version)
                & f.cmp("eq", here, was.address))
        f.store(now, f.at(to.state, State._fields.index("version"), "i64"))
        f.store(here, f.at(to.state, State._fields.index("address"), "i64"))
        return f.at(at, f.sel(same, to.words + size(Skip), size(Skip)), "i64")

    def check(at: Val) -> list[Val]:
        to = load(f, at, Check[Val])

        def stop() -> list[Val]:
            f.store(to.flag, to.stopped)
            return [end]

        return (f.if_(f.cmp("eq", f.load("i64", to.flag), to.wanted),
                      lambda: [f.at(at, size(Check), "i64")], stop))
    f.while_(
        lambda at: f.cmp("ult", at, end), lambda at: f.if_(
            f.cmp("ugt", f.load("i64", at), CHECK), lambda: [launch(at)], lambda: f.if_(
                f.cmp("eq", f.load("i64", at), SKIP), lambda: [skip(at)], lambda: check(at))),
        [words])
    _run(m)
    return m.text()


def prepare(f: Fn, args: Val, slots: Val, at: Val) -> tuple[Launch[Val], Val]:
    """Put the arguments of the launch at `at` into `slots`; returns (the launch, where the list
    continues)."""
    to = load(f, at, Launch[Val])

    def slot(i: Val) -> None:
        argument = load(f, f.at(at, i * size(Argument) + size(Launch), "i64"), Argument[Val])
        base, = f.if_(f.cmp("slt", argument.array, 0), lambda: [f.const("i64", 0)],
                      lambda: [f.load("i64", f.at(args, argument.array + 2, "i64"))])
        f.store(base + argument.offset, f.at(slots, i, "i64"))
    f.loop(0, to.arguments, 1, slot)
    return to, f.at(at, to.arguments * size(Argument) + size(Launch), "i64")


def compare() -> str:
    """The IR text of a kernel whose answer a check reads: same(a, b, words, bytes after them, out).
    `out` is 1 if two pieces of memory have the same contents, else 0."""
    m = Module()
    f = m.kernel("same")
    a, b, n, rest, out = (f.load(ty, f.at(f.args[0], i, "i64"))
                          for i, ty in enumerate(("ptr", "ptr", "i64", "i64", "ptr")))

    def differs(ty: str, count: Val, first: int | Val) -> Val:
        def one(i: Val, bad: Val) -> list[Val]:
            x, y = (f.load(ty, f.at(f.bytes_at(p, first), i, ty), 1) for p in (a, b))
            return [bad | f.cmp("ne", x, y)]
        return f.loop(0, count, 1, one, [f.const("i1", 0)])[0]
    bad = differs("i64", n, 0) | differs("i8", rest, n << 3)
    f.store(f.conv("zext", ~bad, "i64"), out)
    return m.text()


def _run(m: Module) -> None:
    """run(list, its words, long, *arrays) for Python, which has checked the arguments. Long lists
    release the interpreter's lock."""
    m.decls["_Py_NoneStruct"] = "@_Py_NoneStruct = external global i8"
    f = m.fn("run", [("ptr", "self"), ("ptr", "argv"), ("i64", "n")], "ptr")
    _, argv, n = f.args
    slots, none = f.alloca("i64", MOVING + 3), Val(f, "@_Py_NoneStruct", "ptr")

    def number(i: int) -> Val:
        return f.call("PyLong_AsLongLong", "i64", f.load("ptr", f.at(argv, i, "i64"), 8))
    f.store(number(0), slots)
    f.store(number(1), f.at(slots, 1, "i64"))

    def array(i: Val) -> None:
        a = f.load("ptr", f.at(argv, i, "i64"), 8)
        data, = f.if_(f.cmp("eq", a, none), lambda: [f.const("i64", 0)],
                      lambda: [f.load("i64", f.bytes_at(a, ARRAY["data"]))])
        f.store(data, f.at(slots, i - 1, "i64"))
    f.loop(3, n, 1, array)

    def go() -> None:
        f.raw(f"call void @program(ptr {slots.ref}, i64 0, i64 1, i64 0)")

    def away() -> None:
        thread = f.call("PyEval_SaveThread", "ptr")
        go()
        f.call("PyEval_RestoreThread", "void", thread)
    f.if_(f.cmp("ne", number(2), 0), away, go)
    f.call("Py_IncRef", "void", none)
    f.ret(none)
