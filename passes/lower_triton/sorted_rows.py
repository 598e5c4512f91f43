"""Rows in order, as Triton source: stable, of keys that are integers of 64 bits.

A run of `RUN` keys is put in order by counting for each key those that come before it. Two runs are
joined by ranks: a key goes behind those of its own run that come before it and behind those of the
other run, whose number a bisection finds. Keys never move twice in one launch, and no two write to
one place.
"""
from __future__ import annotations

from typing import TYPE_CHECKING

from .builder import Code, Module
from .indexed import TILE, coordinates
from .source import source

if TYPE_CHECKING:
    from .source import Source

RUN = 64                        # keys that one program compares pair by pair


def lower_runs() -> Source:
    """Runs of each row in order: keys, and the position in the row of each."""
    f = Code(Module())
    f.line(f"runs = tl.cdiv(n, {RUN})")
    f.line("program = tl.program_id(0).to(tl.int64)")
    f.line("row = x + program // runs * n")
    f.line(f"first = program % runs * {RUN}")
    f.line(f"i = first + tl.arange(0, {RUN})[:, None]")
    f.line(f"j = first + tl.arange(0, {RUN})[None, :]")
    f.line("mine = tl.load(row + i, i < n, other=0)")
    f.line("theirs = tl.load(row + j, j < n, other=0)")
    f.line("before = (j < n) & ((theirs < mine) | ((theirs == mine) & (j < i)))")
    f.line("to = program // runs * n + first + tl.sum(before.to(tl.int64), 1)[:, None]")
    f.line("tl.store(y + to, mine, i < n)")
    f.line("tl.store(order + to, i, i < n)")
    return source("runs_kernel", f.mod,
                  [("x", "*i64"), ("y", "*i64"), ("order", "*i64"), ("n", "i64"), ("rows", "i64")],
                  f.lines, f"rows * cdiv(n, {RUN})")


def bisect(f: Code, row: str, before: str) -> None:
    """In `steps` steps, `low` becomes the number of elements of a sorted row, of those from `low`
    to `high`, for which `before` holds: an expression of `other`."""
    f.line("for _ in range(0, steps):")
    f.line("    middle = (low + high) // 2")
    f.line("    inside = here & (low < high)")
    f.line(f"    other = tl.load({row} + middle, inside, other=0)")
    f.line(f"    passed = inside & ({before})")
    f.line("    high = tl.where(inside & ~passed, middle, high)")
    f.line("    low = tl.where(passed, middle + 1, low)")


def lower_merge() -> Source:
    """Neighbouring runs of `width` joined. `steps`: of a bisection of so many."""
    f = Code(Module())
    f.line(f"at = tl.program_id(0).to(tl.int64) * {TILE} + tl.arange(0, {TILE})")
    f.line("here = at < n * rows")
    f.line("row = at // n * n")
    f.line("i = at - row")
    f.line("run = i // width")
    f.line("start = (run ^ 1) * width")
    f.line("key = tl.load(x + at, here, other=0)")
    f.line("low = tl.minimum(start, n)")
    f.line("high = tl.minimum(start + width, n)")
    bisect(f, "x + row", "(other < key) | ((other == key) & (run % 2 == 1))")
    f.line("to = row + run // 2 * 2 * width + i - run * width + low - tl.minimum(start, n)")
    f.line("tl.store(y + to, key, here)")
    f.line("tl.store(order + to, tl.load(positions + at, here, other=0), here)")
    return source("merge_kernel", f.mod,
                  [("x", "*i64"), ("positions", "*i64"), ("y", "*i64"), ("order", "*i64"),
                   ("n", "i64"), ("rows", "i64"), ("width", "i64"), ("steps", "i32")],
                  f.lines, f"cdiv(n * rows, {TILE})")


def lower_search(right: bool) -> Source:
    """Where each value would go in its sorted row of n: before what is equal, or behind it. Rows
    have `each` values; `steps` of a bisection."""
    f = Code(Module())
    coordinates(f, 1, wide=True)
    f.line("row = x + at // each * length")
    f.line("value = tl.load(values + at, here, other=0)")
    f.line("low = tl.zeros_like(at)")
    f.line("high = tl.zeros_like(at) + length")
    bisect(f, "row", f"other {'<=' if right else '<'} value")
    f.line("tl.store(y + at, low, here)")
    return source("search_kernel", f.mod,
                  [("x", "*i64"), ("values", "*i64"), ("y", "*i64"), ("n", "i64"), ("each", "i64"),
                   ("length", "i64"), ("steps", "i32")], f.lines, f"cdiv(n, {TILE})")
