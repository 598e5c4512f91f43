"""The kernel of products of bytes: rows of x, or those that a convolution's pixels read, times
packed weights.

A unit is a block of rows times a block of columns of a group. Where rows of x cannot be read where
they lie, the unit writes them into its thread's memory first. Then each pair of panels meets all
rows of the block, a tile after the other. Sums of some tiles go through the epilogue at once, while
they are in the first-level cache.

Arguments: x, w, shift, scale, bias, residual, y, scratch, table. The table has DIMS, the epilogue's
numbers, and for a convolution those of the gathering.
"""

from __future__ import annotations

from typing import NamedTuple

from ..builder import Fn, Module, Val
from . import dots, epilogue, gather

DIMS = (
    "rows",
    "columns",
    "steps",
    "row_bytes",
    "x_row",
    "y_row",
    "x_group",
    "w_group",
    "p_group",
    "y_group",
    "unit_rows",
    "row_blocks",
    "unit_columns",
    "column_blocks",
    "scratch",
    "sums_at",
    *epilogue.NUMBERS,
)
ROWS = 64  # whose sums are kept until all of them go through the epilogue
ARGUMENTS = ("x", "w", "shift", "scale", "bias", "residual", "y", "scratch", "table")


class Form(NamedTuple):
    """What kinds of products there are kernels for: how sums are made ("amx", "vnni", "pairs"), are
    rows gathered, are results bytes, is something added?"""

    kind: str
    gathered: bool
    bytes_out: bool
    residual: bool

    @property
    def key(self) -> str:
        """The kernel's key."""
        names = [x for x in ("gathered", "bytes_out", "residual") if getattr(self, x)]
        return "/".join(["quantised/product", self.kind, *names])


def kernel(m: Module, symbol: str, form: Form) -> None:
    """Write the kernel."""
    sizes = dots.rows_of(form.kind)
    micros = {n: dots.micro(m, symbol, form.kind, n) for n in sizes}
    finish = epilogue.function(m, symbol, form.bytes_out, form.residual)
    fetch = gather.gather(m, symbol, len(DIMS)) if form.gathered else None
    f = m.kernel(symbol)
    if form.kind == "amx":
        dots.configure(f)
    unit = Unit(f, form, micros, finish, fetch)
    f.loop(f.args[1], f.args[2], 1, unit.emit)
    if form.kind == "amx":
        dots.release(f)


class Unit:
    """Writes the work of one unit."""

    def __init__(
        self, f: Fn, form: Form, micros: dict[int, Val], finish: Val, fetch: Val | None
    ) -> None:
        self.f, self.form, self.micros, self.finish, self.fetch = f, form, micros, finish, fetch
        arguments = {
            name: f.load("ptr", f.at(f.args[0], i, "i64")) for i, name in enumerate(ARGUMENTS)}
        self.arguments, table = arguments, arguments["table"]
        self.d = {name: f.load("i64", f.at(table, i, "i64")) for i, name in enumerate(DIMS)}
        self.numbers = epilogue.numbers(f, self.d.__getitem__)
        self.mine = f.bytes_at(arguments["scratch"], f.args[3] * self.d["scratch"])
        self.sums = f.bytes_at(self.mine, self.d["sums_at"])

    def emit(self, u: Val) -> None:
        """The rows, then each pair of panels."""
        f, d, arguments = self.f, self.d, self.arguments
        block, rest = f.srem(u, d["column_blocks"]), f.sdiv(u, d["column_blocks"])
        self.group = f.sdiv(rest, d["row_blocks"])
        self.first = f.srem(rest, d["row_blocks"]) * d["unit_rows"]
        self.count = f.imin(d["unit_rows"], d["rows"] - self.first)
        x = f.bytes_at(arguments["x"], self.group * d["x_group"])
        if self.fetch is None:
            self.a, self.row = f.bytes_at(x, self.first * d["x_row"]), d["x_row"]
        else:
            self.a, self.row = self.mine, d["row_bytes"]
            f.call_helper(
                self.fetch, x, self.first, self.count, self.a, self.row, arguments["table"])
        p0 = block * d["unit_columns"]
        f.loop(p0, f.imin(p0 + d["unit_columns"], d["columns"]), dots.WIDE, self.panels)

    def panels(self, p: Val) -> None:
        """All rows of the block, for 32 columns from p on."""
        f, d, arguments = self.f, self.d, self.arguments
        b = f.bytes_at(arguments["w"], self.group * d["w_group"] + p * d["row_bytes"])
        shift, *parameters = (
            f.at(arguments[x], self.group * d["p_group"] + p, "i32")
            for x in ("shift", "scale", "bias")
        )

        def some(first: Val) -> None:
            rows = f.imin(self.count - first, f.const("i64", ROWS))
            self.add(f.bytes_at(self.a, first * self.row), rows, b, shift)
            at = (self.first + first) * d["y_row"] + self.group * d["y_group"] + p
            f.call_helper(
                self.finish, self.sums, rows, d["columns"] - p, *parameters,
                f.bytes_at(arguments["residual"], at),
                f.at(arguments["y"], at, "i8" if self.form.bytes_out else "float"),
                d["y_row"], *self.numbers,
            )  # fmt: skip

        f.loop(0, self.count, ROWS, some)

    def add(self, a: Val, rows: Val, b: Val, shift: Val) -> None:
        """The sums of some rows, a tile after the other."""
        f, d = self.f, self.d
        done: int | Val = 0
        for n, micro in self.micros.items():
            whole = rows - f.srem(rows - done, n)

            def tile(r: Val, micro: Val = micro) -> None:
                f.call_helper(
                    micro, f.bytes_at(a, r * self.row), self.row, b, d["row_bytes"] * dots.PANEL,
                    d["steps"], shift, f.at(self.sums, r * dots.WIDE, "i32"),
                )  # fmt: skip

            f.loop(done, whole, n, tile)
            done = whole
