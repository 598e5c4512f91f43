"""Real numbers times weights of 8 or 4 bits: for layers whose weights are read from memory at each
call, which takes the longer the more bytes they are.

A result is the sum, over blocks of steps in order from +0, of a block's sum times its scale, and
then the bias. A block's sum is a chain of products, each rounded and then added, in order from +0.
The weights of a panel of 32 columns lie step by step; of 4 bits, two steps share 32 bytes, the
first one in the lower halves.

A unit is a panel. Arguments: x, w, scales (block by block, for all columns), bias, y, table.
"""

from __future__ import annotations

from .. import targets
from ..builder import Fn, Module, Val
from . import epilogue

PANEL = 32
LANES = 16
DIMS = ("rows", "steps", "columns", "room", "block", "panel_bytes")


def rows_together() -> int:
    """Rows that meet a weight once it is a number."""
    return 4 if targets.current().bits == 512 else 1


def weight_only(m: Module, symbol: str, bits: int) -> None:
    """Write the kernel."""
    f = m.kernel(symbol)
    x, w, scales, bias, y, table = (f.load("ptr", f.at(f.args[0], i, "i64")) for i in range(6))
    d = {name: f.load("i64", f.at(table, i, "i64")) for i, name in enumerate(DIMS)}

    def unit(u: Val) -> None:
        done: int | Val = 0
        for n in dict.fromkeys((rows_together(), 1)):
            whole = d["rows"] - f.srem(d["rows"] - done, n)
            here = f.bytes_at(w, u * d["panel_bytes"])

            def rows(r: Val, n: int = n, here: Val = here) -> None:
                some = [f.at(x, (r + i) * d["steps"]) for i in range(n)]
                found = totals(f, d, bits, some, here, f.at(scales, u * PANEL))
                for i in range(n):
                    to = f.at(y, (r + i) * d["columns"] + u * PANEL)
                    put(
                        f,
                        found[2 * i : 2 * i + 2],
                        f.at(bias, u * PANEL),
                        to,
                        d["columns"] - u * PANEL,
                    )

            f.loop(done, whole, n, rows)
            done = whole

    f.loop(f.args[1], f.args[2], 1, unit)


def totals(f: Fn, d: dict[str, Val], bits: int, rows: list[Val], w: Val, scales: Val) -> list[Val]:
    """The sums of some rows, two vectors each."""
    zeros = [f.const("<16 x float>", 0.0)] * (2 * len(rows))
    together = 8 // bits

    def block(k0: Val, *total: Val) -> list[Val]:
        k1 = f.imin(k0 + d["block"], d["steps"])

        def step(k: Val, *acc: Val) -> list[Val]:
            line = f.bytes_at(w, f.sdiv(k, together) * PANEL if together > 1 else k * PANEL)
            out = list(acc)
            for u, halves in enumerate(numbers(f, line, bits)):
                for i, row in enumerate(rows):
                    v = f.splat(f.load("float", f.at(f.at(row, k), u)), LANES)
                    for j, b in enumerate(halves):
                        out[2 * i + j] = out[2 * i + j] + v * b
            return out

        sums = f.loop(k0, k1, together, step, zeros)
        here = f.at(scales, f.sdiv(k0, d["block"]) * d["room"])
        by = [f.load("<16 x float>", f.at(here, j * LANES)) for j in range(2)]
        return [t + s * by[i % 2] for i, (t, s) in enumerate(zip(total, sums))]

    return f.loop(0, d["steps"], d["block"], block, zeros)


def numbers(f: Fn, line: Val, bits: int) -> list[list[Val]]:
    """The weights of 32 columns at a step, or at two, as two vectors of floats each."""
    wide = [
        f.conv("sext", f.load("<16 x i8>", f.bytes_at(line, j * LANES)), "i32") for j in range(2)
    ]
    if bits == 8:
        return [[f.conv("sitofp", v, "float") for v in wide]]
    low, high = [(v << 28) >> 28 for v in wide], [v >> 4 for v in wide]
    return [[f.conv("sitofp", v, "float") for v in half] for half in (low, high)]


def put(f: Fn, sums: list[Val], bias: Val, to: Val, left: Val) -> None:
    """Add the bias and store the wanted ones of 32 columns."""
    found = [v + f.load("<16 x float>", f.at(bias, j * LANES)) for j, v in enumerate(sums)]

    def whole() -> None:
        for j, v in enumerate(found):
            f.store(v, f.at(to, j * LANES))

    def some() -> None:
        here = f.alloca("float", PANEL)
        for j, v in enumerate(found):
            f.store(v, f.at(here, j * LANES))
        epilogue.copy(f, to, here, left, "float")

    f.if_(f.cmp("sge", left, PANEL), whole, some)
