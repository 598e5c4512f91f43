"""Rows of unsigned 64-bit keys in order, by machine code alone, and where numbers belong among such
keys. NumPy is quicker where it is there.

Neighbouring runs are merged, of one key, then of two, then of four; equal keys keep their order.
"""
from __future__ import annotations

from typing import Any

from ..builder import Module, Val


def emit_sort(mod: Module, symbol: str, paired: bool) -> None:
    """Slots: keys (rows, n), as much memory beside them, n, and if `paired` positions (rows, n)
    that go where their keys go, and memory beside those; a unit of work is a row. Positions need
    not be set."""
    f: Any = mod.kernel(symbol)
    args, begin, end, _ = f.args
    keys, spare = (f.load("ptr", f.at(args, i, "i64")) for i in range(2))
    n = f.load("i64", f.at(args, 2, "i64"))
    pairs = [f.load("ptr", f.at(args, i, "i64")) for i in (3, 4)] if paired else []

    def row(r: Val) -> None:
        at = [f.at(p, r * n, "i64") for p in (keys, *pairs[:1])]
        to = [f.at(p, r * n, "i64") for p in (spare, *pairs[1:])]
        for p in at[1:]:
            f.loop(0, n, 1, lambda i, p=p: f.store(i, f.at(p, i, "i64")))

        def double(width: Val, *places: Val) -> list[Val]:
            count = len(places) // 2
            source, goal = places[:count], places[count:]

            def run(low: Val) -> None:
                merge(f, source, goal, low, f.imin(low + width, n), f.imin(low + width * 2, n))
            f.loop(0, n, width * 2, run)
            return [width * 2, *goal, *source]
        _, *last = f.while_(lambda width, *_: f.cmp("slt", width, n), double,
                            [f.const("i64", 1), *at, *to])
        moved = f.cmp("ne", last[0], at[0])
        for source, goal in zip(last, at):
            f.if_(moved, lambda source=source, goal=goal: f.loop(0, n, 1, lambda i: f.store(
                f.load("i64", f.at(source, i, "i64")), f.at(goal, i, "i64"))) or [])
    f.loop(begin, end, 1, row)


def merge(f: Any, source: Any, goal: Any, low: Val, middle: Val, high: Val) -> None:
    """Merge two runs, low..middle and middle..high, by what the first of the places hold."""
    last = high - 1

    def one(k: Val, i: Val, j: Val) -> list[Val]:
        # A run that is used up is not chosen, and is read where there is something.
        places = f.imin(i, last), f.imin(j, last)
        left, right = (f.load("i64", f.at(source[0], p, "i64")) for p in places)
        first = f.cmp("slt", i, middle) & (f.cmp("sge", j, high) | f.cmp("ule", left, right))
        for p, q in zip(source, goal):
            a, b = (f.load("i64", f.at(p, x, "i64")) for x in places)
            f.store(f.sel(first, a, b), f.at(q, k, "i64"))
        step = f.conv("zext", first, "i64")
        return [i + step, j + (1 - step)]
    f.loop(low, high, 1, one, [low, middle])


def emit_search(mod: Module, symbol: str, right: bool) -> None:
    """Slots: sequences of keys, keys, where each belongs, keys in a sequence, how many keys look
    into each sequence, bits to leave out; a unit of work is a key."""
    f: Any = mod.kernel(symbol)
    args, begin, end, _ = f.args
    sequences, keys, out = (f.load("ptr", f.at(args, i, "i64")) for i in range(3))
    n, each, down = (f.load("i64", f.at(args, i, "i64")) for i in (3, 4, 5))

    def one(v: Val) -> None:
        sequence = f.at(sequences, f.udiv(v, each) * n, "i64")
        key = f.lshr(f.load("i64", f.at(keys, v, "i64")), down)

        def halve(low: Val, high: Val) -> list[Val]:
            middle = f.lshr(low + high, 1)
            x = f.lshr(f.load("i64", f.at(sequence, middle, "i64")), down)
            before = f.cmp("ule" if right else "ult", x, key)
            return [f.sel(before, middle + 1, low), f.sel(before, high, middle)]
        low, _ = f.while_(lambda low, high: f.cmp("slt", low, high), halve,
                          [f.const("i64", 0), n])
        f.store(low, f.at(out, v, "i64"))
    f.loop(begin, end, 1, one)
