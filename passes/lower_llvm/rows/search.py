"""Where values belong in sorted sequences.

Each search halves what is left until one element is, whatever it meets. A few values are looked for
at a time, step by step together, so that their accesses to memory do not wait for each other.
"""
from __future__ import annotations

from typing import TYPE_CHECKING

from whet.passes.lower_llvm.builder import BYTES
from whet.passes.lower_llvm.rows.order_keys import RowKeys
from whet.passes.lower_llvm.rows.lanes import SIZE

if TYPE_CHECKING:
    from whet.passes.lower_llvm.builder import Module, Val

TOGETHER = 8                     # values that are looked for at a time


def emit(mod: Module, symbol: str, dtype: str, out: str, right: bool, has_order: bool) -> None:
    """Slots: sequences (rows, n), values, where each belongs, n (at least 1), how many values look
    into each sequence, and if `has_order` positions (rows, n) that put the sequences in order; a
    unit of work is a value. Results are of the type `out`."""
    f = mod.kernel(symbol)
    args, begin, end, _ = f.args
    sequences, values, goal = (f.load("ptr", f.at(args, i, "i64")) for i in range(3))
    n, each = (f.load("i64", f.at(args, i, "i64")) for i in (3, 4))
    order = f.load("ptr", f.at(args, 5, "i64")) if has_order else None
    keys = RowKeys(f, dtype)

    def group(first: Val) -> None:
        # Behind the last value, that one is looked for again.
        wanted = [f.imin(first + j, end - 1) for j in range(TOGETHER)]
        found = [keys.at(values, v) for v in wanted]
        starts = [f.udiv(v, each) * n for v in wanted]

        def before(j: int, i: Val) -> Val:
            """Is element i of the j-th value's sequence before that value?"""
            if order is not None:
                at = f.load("i64", f.at(order, starts[j] + i, "i64"))
                i = f.intr("umin", at, n - 1)
            x = keys.at(sequences, starts[j] + i)
            return f.cmp("ule" if right else "ult", x, found[j])

        def halve(left: Val, *low: Val) -> list[Val]:
            half = f.lshr(left, 1)
            return [left - half, *[f.sel(before(j, i + half - 1), i + half, i)
                                   for j, i in enumerate(low)]]
        _, *low = f.while_(lambda left, *_: f.cmp("sgt", left, 1), halve,
                           [n, *[f.const("i64", 0)] * TOGETHER])
        for j, (v, i) in enumerate(zip(wanted, low, strict=True)):
            place = i + f.conv("zext", before(j, i), "i64")
            f.store(f.conv("trunc", place, out), f.bytes_at(goal, v * BYTES[out]))
    f.loop(begin, end, TOGETHER, group)
