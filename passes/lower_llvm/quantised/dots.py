"""c = a b for a few rows of unsigned bytes and 32 columns of signed bytes, with the best
instructions of the machine.

The columns lie in panels of 16: for each four steps, 64 bytes, the four of a column side by side.
That is what `vpdpbusd` takes, and a tile of AMX is 16 such rows. Machines without either widen
both sides to 16 bits (`vpmaddubsw` would saturate its sums of two) and add pairs with `pmaddwd`.

A micro-kernel is `name(a, row, b, panel, steps, start, c)`: `row` bytes lie between rows of a,
`panel` bytes between the two panels; `steps` count fours; c is rows of 32 sums, which begin with
the 32 numbers at `start`.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence

from .. import targets
from ..builder import Fn, Module, Val, vec

PANEL = 16  # columns that lie together
WIDE = 2 * PANEL  # columns of a micro-kernel
STEP = 4 * PANEL  # bytes of a panel for four steps
TILE = 64  # bytes of a row of a tile of AMX, and what rows are padded to
TILE_ROWS = 16
CHAINS = 4  # that hide how long a product of one row takes
SIGNATURE = [
    ("ptr", "a"),
    ("i64", "row"),
    ("ptr", "b"),
    ("i64", "panel"),
    ("i64", "steps"),
    ("ptr", "start"),
    ("ptr", "c"),
]


def rows_of(kind: str) -> tuple[int, ...]:
    """The numbers of rows for which there are microkernels, the largest first; the last is 1."""
    vectors = (12, 4, 1)  # 24 sums of 16 columns, two vectors of b and one of a
    return (32, 16, *vectors) if kind == "amx" else vectors if kind == "vnni" else few_rows()


def few_rows() -> tuple[int, ...]:
    """The same on machines that add pairs: the accumulators and some operands must fit into their
    registers."""
    return {512: (8, 1), 256: (2, 1)}.get(targets.current().bits, (1,))


def micro(m: Module, name: str, kind: str, rows: int) -> Val:
    """The address of the micro-kernel for this number of rows."""
    f = m.fn(f"{name}_rows{rows}", SIGNATURE, linkage="internal", attrs="noinline")
    write: Callable[..., None] = (
        tiles if kind == "amx" and rows >= TILE_ROWS else vnni if kind in ("amx", "vnni") else pairs
    )
    write(f, rows)
    return Val(f, f"@{name}_rows{rows}", "ptr")


# ---- vpdpbusd ------------------------------------------------------------------------------------
def vnni(f: Fn, rows: int) -> None:
    """Sums of four products at once. Of three rows one has an address of its own, as there are
    not registers for all."""
    a, row, b, panel, steps, start, c = f.args
    thirds = [f.bytes_at(a, row * i if i else 0) for i in range(0, rows, 3)]
    twice = row + row
    second = f.bytes_at(b, panel)

    def step(k: Val, *acc: Val) -> list[Val]:
        bs = [f.load("<64 x i8>", f.bytes_at(p, k * STEP)) for p in (b, second)]
        lines = [f.bytes_at(f.at(p, k, "i32"), more) for p in thirds for more in (0, row, twice)]
        out = []
        for i, p in enumerate(lines[:rows]):
            x = f.bitcast(f.splat(f.load("i32", p, 1), PANEL), "<64 x i8>")
            out += [dot(f, acc[2 * i + j], x, y) for j, y in enumerate(bs)]
        return out

    starts = [f.load("<16 x i32>", f.at(start, j * PANEL, "i32")) for j in range(2)]
    done: int | Val = 0
    sums = starts * rows
    if rows == 1:  # sums in several chains, which do not wait for each other
        zero, done = f.const("<16 x i32>", 0), steps & -CHAINS

        def several(k: Val, *acc: Val) -> list[Val]:
            return [v for i in range(CHAINS) for v in step(k + i, *acc[2 * i : 2 * i + 2])]

        found = f.loop(0, done, CHAINS, several, [*starts, *[zero] * (2 * CHAINS - 2)])
        sums = [functools.reduce(operator.add, found[j::2]) for j in range(2)]
    sums = f.loop(done, steps, 1, step, sums)
    for i, v in enumerate(sums):
        f.store(v, f.at(c, i * PANEL, "i32"))


def dot(f: Fn, acc: Val, x: Val, y: Val) -> Val:
    """acc + the sums of four products of unsigned bytes x and signed bytes y."""
    name = "llvm.x86.avx512.vpdpbusd.512"
    found: Val = f.call(name, "<16 x i32>", acc, x, y)
    return found


# ---- tiles of AMX --------------------------------------------------------------------------------
def configure(f: Fn) -> None:
    """All tiles are 16 rows of 64 bytes from here on."""
    m = f.mod
    sizes = [1] + [0] * 15 + [64, 0] * 8 + [0] * 16 + [16] * 8 + [0] * 8
    f.call("llvm.x86.ldtilecfg", "void", m.table("tiles_of_16_by_64", "i8", sizes))


def release(f: Fn) -> None:
    """The tiles are not needed any more."""
    f.call("llvm.x86.tilerelease", "void")


def tiles(f: Fn, rows: int) -> None:
    """16 by 16 sums in each tile: 0 to 3 are sums, 4 and 5 rows of a, 6 and 7 panels of b."""
    a, row, b, panel, steps, start, c = f.args
    m, high = f.mod, range(rows // TILE_ROWS)
    for name in ("tileloadd64", "tilestored64"):
        m.declare(f"llvm.x86.{name}", "void", ["i8 immarg", "ptr", "i64"])
    m.declare("llvm.x86.tdpbusd", "void", ["i8 immarg"] * 3)

    def move(name: str, tile: int, p: Val, stride: int | Val) -> None:
        step = stride if isinstance(stride, int) else stride.ref
        f.raw(f"call void @llvm.x86.{name}(i8 {tile}, ptr {p.ref}, i64 {step})")

    lines = [f.bytes_at(a, row * (TILE_ROWS * i) if i else 0) for i in high]
    panels = [b, f.bytes_at(b, panel)]
    for tile in range(2 * len(high)):  # the same 16 numbers for each row
        move("tileloadd64", tile, f.at(start, tile % 2 * PANEL, "i32"), 0)

    def step(k: Val) -> None:
        for i in high:
            move("tileloadd64", 4 + i, f.bytes_at(lines[i], k * TILE), row)
        for j, p in enumerate(panels):
            move("tileloadd64", 6 + j, f.bytes_at(p, k * (TILE * TILE_ROWS)), TILE)
        for i in high:
            for j in range(2):
                f.raw(f"call void @llvm.x86.tdpbusd(i8 {2 * i + j}, i8 {4 + i}, i8 {6 + j})")

    f.loop(0, f.lshr(steps + (TILE // 4 - 1), 4), 1, step)
    for i in high:
        for j in range(2):
            at = f.at(c, i * TILE_ROWS * WIDE + j * PANEL, "i32")
            move("tilestored64", 2 * i + j, at, 4 * WIDE)


# ---- pairs of 16 bits ----------------------------------------------------------------------------
def pairs(f: Fn, rows: int) -> None:
    """Both sides widened to 16 bits; a panel after the other."""
    a, row, b, panel, steps, start, c = f.args
    f.loop(
        0,
        2,
        1,
        lambda j: pairs_of_panel(
            f,
            rows,
            a,
            row,
            f.bytes_at(b, j * panel),
            steps,
            f.at(start, j * PANEL, "i32"),
            f.at(c, j * PANEL, "i32"),
        ),
    )


def pairs_of_panel(
    f: Fn, rows: int, a: Val, row: Val, b: Val, steps: Val, start: Val, c: Val
) -> None:
    """The sums of one panel. Until the end each is kept as two: of steps 0 and 1, and of steps 2
    and 3."""
    halves = targets.current().bits // 16
    vectors = STEP // halves
    lines = [f.bytes_at(a, row * i if i else 0) for i in range(rows)]
    total = vec("i32", halves // 2)

    def step(k: Val, *acc: Val) -> list[Val]:
        bs = [
            f.conv(
                "sext",
                f.load(vec("i8", halves), f.bytes_at(f.bytes_at(b, k * STEP), j * halves)),
                "i16",
            )
            for j in range(vectors)
        ]
        out = []
        for i, p in enumerate(lines):
            four = f.splat(f.load("i32", f.at(p, k, "i32"), 1), halves // 4)
            x = f.conv("zext", f.bitcast(four, vec("i8", halves)), "i16")
            out += [acc[vectors * i + j] + pair(f, x, y) for j, y in enumerate(bs)]
        return out

    sums = f.loop(0, steps, 1, step, [f.const(total, 0)] * (rows * vectors))
    for i in range(rows):
        for j, v in enumerate(sums[vectors * i : vectors * (i + 1)]):
            n = halves // 2
            even, odd = (f.shuffle(v, None, range(at, n, 2)) for at in (0, 1))
            begin = f.load(vec("i32", n // 2), f.at(start, j * (n // 2), "i32"))
            f.store(even + odd + begin, f.at(c, i * WIDE + j * (n // 2), "i32"))


MULTIPLY_ADD = {
    8: "llvm.x86.sse2.pmadd.wd",
    16: "llvm.x86.avx2.pmadd.wd",
    32: "llvm.x86.avx512.pmaddw.d.512",
}


def pair(f: Fn, x: Val, y: Val) -> Val:
    """The sums of two neighbours' products, of 16 bits each."""
    n = x.lanes
    if targets.current().name == "neon":
        wide = [f.conv("sext", v, "i32") for v in (x, y)]
        products = wide[0] * wide[1]
        return f.shuffle(products, None, range(0, n, 2)) + f.shuffle(products, None, range(1, n, 2))
    found: Val = f.call(MULTIPLY_ADD[n], vec("i32", n // 2), x, y)
    return found


def pairs_of_four(f: Fn, acc: Sequence[Val], x: Val, y: Val) -> list[Val]:
    """Add four products of 16 columns to two vectors of 16 sums: one for columns 0 to 7, each
    twice, the other for the rest."""
    out, halves = [], targets.current().bits // 16
    for j in range(2):
        found = []
        for at in range(32 * j, 32 * j + 32, halves):
            part = range(at, at + halves)
            a = f.conv("zext", f.shuffle(x, None, part), "i16")
            b = f.conv("sext", f.shuffle(y, None, part), "i16")
            found.append(pair(f, a, b))
        while len(found) > 1:
            n = 2 * found[0].lanes
            found = [f.shuffle(u, v, range(n)) for u, v in zip(found[::2], found[1::2])]
        out.append(acc[j] + found[0])
    return out


def joined(f: Fn, sums: Sequence[Val]) -> Val:
    """The 16 sums of two vectors of halves."""
    even, odd = (f.shuffle(sums[0], sums[1], range(at, 32, 2)) for at in (0, 1))
    return even + odd
