"""Runs of equal elements, of neighbours or of all in order."""
from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from whet.passes.lower_llvm.rows.lanes import SIZE, load
from whet.passes.lower_llvm.rows.order_keys import joins
from whet.passes.lower_llvm.rows.select import copy_element
from whet.passes.lower_llvm.rows.sort import Order
from whet.passes.lower_llvm.scalar import is_float

if TYPE_CHECKING:
    from whet.passes.lower_llvm.builder import Fn, Module, Val


class Runs:
    """Slots from the given one on: how many runs there are, for each element which run it is in,
    how long each run is."""

    def __init__(self, f: Fn, dtype: str, slot: int, wants_places: bool,
                 wants_lengths: bool) -> None:
        self.f, self.dtype = f, dtype
        self.wants_places, self.wants_lengths = wants_places, wants_lengths
        self.number, self.inverse, self.lengths = (
            f.load("ptr", f.at(f.args[0], i, "i64")) for i in range(slot, slot + 3))

    def write(self, x: Val, values: Val, n: Val, element: Callable[[Val], tuple[Val, Val]],
              begins: Callable[[Val, Val], Val]) -> None:
        """Write the runs. `element(i)`: (a key, its position in x). `begins(a, b)`: does a begin a
        run after b?"""
        f = self.f

        def one(i: Val, before: Val, run: Val, start: Val) -> list[Val]:
            own, place = element(i)
            new = begins(own, before) | f.cmp("eq", i, 0)
            run, start = run + f.conv("zext", new, "i64"), f.sel(new, i, start)
            f.if_(new, lambda: copy_element(f, self.dtype, x, place, values, run))
            if self.wants_lengths:
                f.store(i - start + 1, f.at(self.lengths, run, "i64"))
            if self.wants_places:
                f.store(run, f.at(self.inverse, place, "i64"))
            return [own, run, start]
        zero = f.const("i64", 0)
        start = [element(zero)[0], f.const("i64", -1), zero]
        _, last, _ = f.loop(0, n, 1, one, start)
        f.store(last + 1, self.number)


def emit_neighbours(mod: Module, symbol: str, dtype: str, wants_places: bool,
                    wants_lengths: bool) -> None:
    """Runs of a vector. Slots: x (n), an element of each run, n (at least 1), and those of `Runs`;
    there is one unit of work."""
    f = mod.kernel(symbol)
    x, values = (f.load("ptr", f.at(f.args[0], i, "i64")) for i in (0, 1))
    n = f.load("i64", f.at(f.args[0], 2, "i64"))
    runs = Runs(f, dtype, 3, wants_places, wants_lengths)

    def element(i: Val) -> tuple[Val, Val]:
        return load(f, dtype, f.bytes_at(x, i * SIZE[dtype]), 0), i
    differ = "une" if is_float(dtype) else "ne"                # NaN is equal to nothing
    runs.write(x, values, n, element, lambda a, b: f.cmp(differ, a, b))


def emit_distinct(mod: Module, symbol: str, dtype: str, packed: bool, wants_places: bool,
                  wants_lengths: bool) -> None:
    """Runs of a vector in order. Slots: those of `Order` for one row, of which positions are not
    used, and those of `Runs`; there is one unit of work."""
    f = mod.kernel(symbol)
    order = Order(f, dtype, packed, descending=False)
    runs = Runs(f, dtype, 7, wants_places, wants_lengths)

    def write(_: Val, row: Val, found: Val) -> None:
        def element(i: Val) -> tuple[Val, Val]:
            return order.key(found, i), order.items.position(order.items.load(found, i))
        runs.write(row, order.values, order.n, element, lambda a, b: ~joins(f, dtype, a, b))
    order.rows(write)
