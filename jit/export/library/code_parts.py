"""What the generators of a library's functions share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from whet.cpu.thread_pool_layout import state_bytes

from .layout import MOST_THREADS, PAGE, About

POOL = -(-state_bytes(MOST_THREADS) // PAGE) * PAGE  # bytes before a context
READ, READ_WRITE, PRIVATE, ANONYMOUS = 1, 3, 2, 0x20  # of memory that is mapped, as Linux has them
ID_BYTES = 64  # at the start of a file of weights, and of the weights inside


class Facts(NamedTuple):
    """What the code is written for. `machine` as `platform.machine` has it; `mapped`: the bytes of
    the file of weights, 0 where they are inside. `about`: what contexts know where sizes differ,
    `itemsizes`: of inputs and results, `most`: words of the longest list."""

    prefix: str
    machine: str
    levels: int
    inputs: int
    results: int
    copies: list[tuple[int, int, int]]
    messages: int
    mapped: int
    about: About | None
    itemsizes: list[int]
    most: int


def chain(f: Any, *steps: Callable[[], Any]) -> Any:
    """The first code other than 0 that steps give; what follows that is not done."""
    code = f.const("i64", 0)
    for step in steps:
        (code,) = f.if_(f.cmp("eq", code, 0), lambda: [step()], lambda: [code])
    return code


def where(f: Any, wrong: Any, code: Any) -> Any:
    """A code where something is wrong, else 0."""
    return f.sel(wrong, f.as_val(code, "i64"), 0)


def field(f: Any, record: Any, at: Any, name: str) -> Any:
    """The address of a field of a record."""
    return f.at(at, record._fields.index(name), "i64")


def put(f: Any, record: Any, at: Any, **values: Any) -> None:
    """Write all fields of a record."""
    for i, name in enumerate(record._fields):
        f.store(values.pop(name), f.at(at, i, "i64"))
    assert not values, f"{record.__name__} has no {', '.join(values)}"


def until(f: Any, count: Any, one: Callable[[Any], Any]) -> Any:
    """one(0), one(1), ... until one gives a code other than 0."""
    _, code = f.while_(
        lambda i, code: f.cmp("slt", i, count) & f.cmp("eq", code, 0),
        lambda i, code: [i + 1, one(i)],
        [f.const("i64", 0), f.const("i64", 0)],
    )
    return code


def discard(value: Any) -> None:
    """What a call gives is not looked at."""


def named(f: Any, symbol: str) -> Any:
    """The address of something that the data have."""
    return f.v("ptr", f"getelementptr i8, ptr @{symbol}, i64 0")


def give(f: Any, code: Any) -> None:
    """End a function of the interface."""
    f.ret(f.conv("trunc", code, "i32"))
