"""Row programs as LLVM code, for short rows whose elements lie side by side: a group of rows goes
through each walk together.

    for each row of the group:   its elements, down to one vector of partial results
    for the whole group:         these vectors folded together: row scalars are vectors of rows

A row that is folded alone takes a step for each halving, most lanes of it idle; folded with its
neighbours it takes about two in all, and what is made of row scalars is computed for all of them at
once. The order of a sum is that of `ir.rows`: the halves meet as they do in a row alone, only next
to those of other rows. """
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from whet.ir import scalar as sc
from whet.ir.rows import INDEXED, LANES, SUMS, Extent, Keep, Reduce, Store
from whet.passes.lower_llvm.builder import BITS, BYTES, vec
from whet.passes.lower_llvm.rows.lanes import (
    SIZE,
    Extreme,
    Sum,
    lanes_for,
    load,
    store,
    types_in,
    values,
)
from whet.passes.lower_llvm.rows.row_kernel import Kernel, Plan
from whet.passes.lower_llvm.scalar import COMPUTE, MEMORY

if TYPE_CHECKING:
    from whet.ir.expressions import Expr
    from whet.ir.rows import Pass, Program
    from whet.passes.lower_llvm.builder import Fn, Module, Val

MOST = 8                        # vectors of a row, at most


# ---- reductions: a state is a list of vectors that memory can hold. `take` gives the state after
# one more element, whose position is `at`; the state is None before the first.
class Total(Sum):
    """sum, prod."""
    parts = 1

    def take(self, f: Fn, state: Sequence[Val] | None, x: Val, mask: Val | None,
             at: Val) -> list[Val]:
        return self.step(f, state or self.start(f, x.lanes), x, mask)


class Ranked(Extreme):
    """max, min, any, all: floats as integers in the numbers' order, a NaN beyond all, and truth
    as bytes. One vector is the state."""
    parts = 1

    def __init__(self, kind: str, dtype: str) -> None:
        super().__init__({"any": "max", "all": "min"}.get(kind, kind),
                         "u8" if dtype == "bool" else dtype)
        self.truth = dtype == "bool"
        width = BITS[self.ty]
        if self.float:
            self.sign, self.worst = "s", -1 << width - 1 if self.max else (1 << width - 1) - 1
            quiet = 0x7FC00000 if width == 32 else 0x7FF8 << 48
            self.beyond = quiet if self.max else ~quiet
        else:
            self.sign = self.better[0]

    def ranked(self, f: Fn, x: Val, mask: Val | None) -> Val:
        """Elements in the form that is compared; lanes outside of the mask are worse than all
        others."""
        if self.float:
            x = f.sel(f.cmp("uno", x, x),
                      f.const(vec(self.bits, x.lanes), self.beyond),
                      self.turned(f, f.bitcast(x, vec(self.bits, x.lanes))))
        elif self.truth:
            x = f.conv("zext", x, "i8")
        return x if mask is None else f.sel(mask, x, self.worst)

    def turned(self, f: Fn, bits: Val) -> Val:
        """The bits of a negative float, but for the sign, the other way round; twice is nothing."""
        return bits ^ f.lshr(bits >> BITS[self.ty] - 1, 1)

    def take(self, f: Fn, state: Sequence[Val] | None, x: Val, mask: Val | None,
             at: Val) -> list[Val]:
        new = [self.ranked(f, x, mask)]
        return self.merge(f, state, new) if state else new

    def merge(self, f: Fn, a: Sequence[Val], b: Sequence[Val]) -> list[Val]:
        return [f.intr(self.sign + ("max" if self.max else "min"), a[0], b[0])]

    def end(self, f: Fn, state: Sequence[Val]) -> Val:
        if self.truth:
            return f.cmp("ne", state[0], 0)
        if not self.float:
            return state[0]
        x = f.bitcast(self.turned(f, state[0]), vec(self.ty, state[0].lanes))
        return f.sel(f.cmp("uno", x, x), float("nan"), x)


class Position(Ranked):
    """max_index, min_index: the position beside what is compared, in which zeros of both signs
    are equal."""
    parts = 2

    def take(self, f: Fn, state: Sequence[Val] | None, x: Val, mask: Val | None,
             at: Val) -> list[Val]:
        new = [self.ranked(f, x + 0.0 if self.float else x, mask), at]
        return self.merge(f, state, new) if state else new

    def merge(self, f: Fn, a: Sequence[Val], b: Sequence[Val]) -> list[Val]:
        order = self.sign + ("gt" if self.max else "lt")
        up = f.cmp(order, b[0], a[0]) | (f.cmp("eq", b[0], a[0]) & f.cmp("slt", b[1], a[1]))
        return [f.sel(up, x, y) for x, y in zip(b, a, strict=True)]

    def end(self, f: Fn, state: Sequence[Val]) -> Val:
        return f.conv("zext", state[1], "i64")


def reduction(kind: str, dtype: str) -> Total | Ranked:
    if kind in SUMS:
        return Total(kind, dtype)
    return (Position if kind in INDEXED else Ranked)(kind, dtype)


def fold(f: Fn, red: Total | Ranked, load: Callable[[int], list[Val]], rows: int,
         lanes: int) -> list[list[Val]]:
    """The states of `rows` rows, each of `lanes` lanes, folded by halves: states of `lanes` rows
    each, in order. `load(r)` gives row r's."""
    def together(first: int, count: int) -> tuple[list[Val], list[int]]:
        """Neighbouring rows in one state: its vectors, and the row of each segment of lanes."""
        if count == 1:
            return load(first), [first]
        half = count // 2
        (a, left), (b, right) = together(first, half), together(first + half, half)
        segment = lanes // half
        # shuffles within 16 bytes are cheap
        inside = max(segment, min(lanes, 16 // BYTES[a[0].elem]))
        low: list[int] = []
        high: list[int] = []
        order: list[int] = []
        for block in range(0, lanes, inside):
            for base, names in ((0, left), (lanes, right)):
                for s in range(block, block + inside, segment):
                    low += range(base + s, base + s + segment // 2)
                    high += range(base + s + segment // 2, base + s + segment)
                    order.append(names[s // segment])
        return red.merge(f, [f.shuffle(x, y, low) for x, y in zip(a, b, strict=True)],
                         [f.shuffle(x, y, high) for x, y in zip(a, b, strict=True)]), order
    done = []
    for first in range(0, rows, lanes):
        state, order = together(first, lanes)
        sort = [order.index(first + r) for r in range(lanes)]
        if sort != list(range(lanes)):
            state = [f.shuffle(x, None, sort) for x in state]
        done.append(state)
    return done


# ---- the kernel ----------------------------------------------------------------------------------
class OfRows(NamedTuple):
    """A number for each row of a group, from `room` on."""
    room: Val


class ShortPlan(Plan):
    """A kept value that a later walk reads stays in memory of the kernel's own."""

    def __init__(self, program: Program) -> None:
        super().__init__(program, store=False)
        self.stored = {
            a for a, k in self.kept_by.items()
            if any(a in sc.uses(program.stages[j].expr) and self.walk_of[j] > self.walk_of[k]
                   for j in self.walk_of)}


def walk_lanes(program: Program) -> list[int]:
    """Elements of a vector, in each walk that does something."""
    plan = ShortPlan(program)
    walks = [[k for k in p.stages if plan.work(k)] for p in plan.passes]
    return [lanes_for(types_in(*plan.roots(stages)[::2])) for stages in walks if stages]


class ShortKernel(Kernel):
    """One program over contiguous rows of at most `vectors` vectors of the walk with the fewest
    lanes; `whole`: every vector of every walk is full. A unit of work is a row. After n come, for
    rank 2, the size of the inner of two outer dimensions, then the strides as
    `contiguous.RowKernel` has them."""
    partial = False
    inner: Val                          # the size of the inner dimension, for rank 2

    def __init__(self, program: Program, rank: int, vectors: int, whole: bool) -> None:
        self.program, self.rank, self.vectors, self.whole = program, rank, vectors, whole
        self.plan = ShortPlan(program)
        lanes = walk_lanes(program)
        self.least, self.together = min(lanes), max(lanes)

    def emit(self, mod: Module, symbol: str) -> None:
        self.start(mod, symbol)
        f, program, R = self.f, self.program, self.together
        if self.rank == 2:
            self.inner = self.slot("i64")
        has = [o.is_full or o.is_row for o in program.operands]
        self.strides = [[self.slot("i64") for _ in range(self.rank * h)] for h in has]
        self.out_strides = [[self.slot("i64") for _ in range(self.rank * self.has_stride(k))]
                            for k, _ in self.outs]
        self.memory: dict[tuple[str | int, ...], Val] = {}
        self.types: dict[int, list[str]] = {}           # of a reduction's state
        self.scalars: list[Val | None] = [None] * len(program.values)
        for i, o in enumerate(program.operands):
            if o.is_scalar:
                self.scalars[i] = self.address[i]

        def group(u: Val) -> None:
            self.row, self.count = u, f.imin(f.args[2] - u, R)
            self.known = list(self.scalars)
            self.load_rows()
            for p in self.plan.passes:
                self.walk(p)
                for k in p.rows:
                    self.store_row(k)
        f.loop(f.args[1], f.args[2], R, group)

    def room(self, what: tuple[str | int, ...], ty: str, count: int) -> Val:
        """Memory of this name for a group, reserved once."""
        if what not in self.memory:
            self.memory[what] = self.f.alloca(ty, count)
        return self.memory[what]

    def each_row(self, places: Sequence[tuple[Val, list[Val]]],
                 body: Callable[[Val, Sequence[Val]], None]) -> None:
        """body(r, pointers) for each row of the group, with the beginning of the row at each of
        `places`, (address, strides)."""
        f = self.f

        def run(first: Val, end: Val, starts: Sequence[Val]) -> None:
            def one(r: Val, *at: Val) -> list[Val]:
                body(r, at)
                return [f.bytes_at(p, st[-1]) for p, (_, st) in zip(at, places, strict=True)]
            f.loop(first, end, 1, one, starts)
        if self.rank == 1:
            run(f.const("i64", 0),
                self.count, [f.bytes_at(p, self.row * st[0]) for p, st in places])
            return
        outer = f.udiv(self.row, self.inner)

        def line(first: Val, outer: Val, rest: Val) -> list[Val]:
            """The rows of the group that one index of the outer dimension has."""
            end = f.imin(first + (self.inner - rest), self.count)
            run(first, end, [f.bytes_at(p, outer * st[0] + rest * st[1]) for p, st in places])
            return [end, outer + 1, f.const("i64", 0)]

        f.while_(lambda first, *_: f.cmp("slt", first, self.count),
                 line, [f.const("i64", 0), outer, self.row - outer * self.inner])

    # ---- row scalars
    def load_rows(self) -> None:
        """The row operands, brought together."""
        f, operands = self.f, self.program.operands
        rows = [i for i, o in enumerate(operands) if o.is_row]
        if not rows:
            return
        rooms = [self.room(("row", i), MEMORY[operands[i].dtype], self.together) for i in rows]

        def copy(r: Val, at: Sequence[Val]) -> None:
            for i, p, room in zip(rows, at, rooms, strict=True):
                ty = MEMORY[operands[i].dtype]
                f.store(f.load(ty, p), f.at(room, r, ty))
        self.each_row([(self.address[i], self.strides[i]) for i in rows], copy)
        for i, room in zip(rows, rooms, strict=True):
            self.known[i] = load(f, operands[i].dtype, room, self.together)

    def of_rows(self, exprs: Sequence[Expr], lanes: int) -> list[Val]:
        defined = self.program.values
        return values(self.f, exprs, self.known, [v.dtype for v in defined], lanes) if exprs else []

    def store_row(self, k: int) -> None:
        f, R = self.f, self.together
        j, dtype = self.out_of(k)
        x, = self.of_rows([self.program.stages[k].expr], R)
        p = f.bytes_at(self.out_address[j], self.row * SIZE[dtype])
        f.if_(f.cmp("eq", self.count, R), lambda: store(f, dtype, x, p),
              lambda: store(f, dtype, x, p, f.lanes_below(self.count, R)))

    # ---- a walk
    def walk(self, p: Pass) -> None:
        f, program = self.f, self.program
        stages = [k for k in p.stages if self.plan.work(k)]
        if not stages:
            return
        roots, self.uniform, self.dtypes = self.plan.roots(stages)
        extents = [v.extent for v in program.values]
        self.cut(roots)
        W = self.W
        reds = {k: reduction(s.kind, program.values[program.results[k]].dtype)
                for k in stages if isinstance(s := program.stages[k], Reduce)}
        used = sc.uses(*roots)
        reads = [a for a in used if a < len(extents) and extents[a] is Extent.FULL]
        kept = [a for a in used if a < len(extents) and extents[a] is Extent.KEPT]
        writes = [k for k in stages if isinstance(program.stages[k], Store)]
        places = [(self.address[a], self.strides[a]) for a in reads]
        places += [(self.out_address[j], self.out_strides[j]) for j, _ in map(self.out_of, writes)]
        fixed = self.fixed([a for a in used if a < len(extents)
                            and extents[a] in (Extent.COLUMN, Extent.POSITION)])
        rooms = self.rooms()

        def row(r: Val, at: Sequence[Val]) -> None:
            of_row, got = self.from_rooms(rooms, r), []
            for c, mask in enumerate(self.masks):
                xs: list[Val | None] = [None] * len(self.dtypes)
                for a, parts in fixed.items():
                    xs[a] = f.splat(parts[c], W)
                for j, x in of_row.items():
                    xs[j] = f.splat(x, W)
                for a, p in zip(reads, at, strict=False):
                    xs[a] = load(f, self.dtypes[a], f.bytes_at(p, c * W * SIZE[self.dtypes[a]]), W,
                                 mask)
                for a in kept:
                    xs[a] = load(f, self.dtypes[a], self.kept_at(a, r, c), W)
                got.append(values(f, roots, xs, self.dtypes, W))
            for q, k in enumerate(stages):
                if k in reds:
                    self.reduce(k, reds[k], r, [x[q] for x in got])
                for c, (found, mask) in enumerate(zip(got, self.masks, strict=True)):
                    if isinstance(program.stages[k], Keep):
                        a = program.results[k]
                        store(f, self.dtypes[a], found[q], self.kept_at(a, r, c))
                    elif k in writes:
                        p, dtype = at[len(reads) + writes.index(k)], self.out_of(k)[1]
                        store(f, dtype, found[q], f.bytes_at(p, c * W * SIZE[dtype]), mask)
        self.each_row(places, row)
        for k, red in reds.items():
            self.define(k, red, roots[stages.index(k)], rooms)

    def cut(self, roots: Sequence[Expr]) -> None:
        """How the rows of a walk are cut into vectors: their lanes, and the mask of each vector."""
        W = self.W = lanes_for(types_in(roots, self.dtypes))
        count = -(-self.vectors * self.least // W)
        self.masks: list[Val | None] = [None] * count
        if not self.whole:
            self.masks[-1] = self.f.lanes_below(self.n - (count - 1) * W, W)

    def define(self, k: int, red: Total | Ranked, root: Expr,
               rooms: dict[int, Val | OfRows]) -> None:
        """What the rows' states of a reduction come to."""
        f, program = self.f, self.program
        states = fold(f, red, functools.partial(self.state, k), self.together, self.W)
        value = self.joined(("result", k), [red.end(f, s) for s in states],
                            program.values[program.results[k] + red.parts - 1].dtype)
        if isinstance(red, Position):
            self.define_position(k, value, root, rooms)
        else:
            self.known[program.results[k]] = value

    def kept_at(self, a: int, r: Val, c: int) -> Val:
        """Where a kept value of row r is, vector c of it: rows have room for whole vectors."""
        f, t = self.f, self.program.values[a].dtype
        row = self.vectors * self.together
        return f.at(self.room(("kept", a), MEMORY[t], self.together * row),
                    f.as_val(r, "i64") * row + c * self.W,
                    MEMORY[t])

    def fixed(self, used: Sequence[int]) -> dict[int, list[Val]]:
        """What is the same in every row, as vectors for each part of it."""
        f, W, same = self.f, self.W, {}
        for a in used:
            t, extent = self.program.values[a]
            if extent is Extent.POSITION:
                same[a] = [
                    f.iota(COMPUTE[t], W) + c * W if c else f.iota(COMPUTE[t], W)
                    for c in range(len(self.masks))]
            else:
                same[a] = [
                    load(f, t, f.bytes_at(self.address[a], c * W * SIZE[t]), W, m)
                    for c, m in enumerate(self.masks)]
        return same

    def rooms(self) -> dict[int, Val | OfRows]:
        """What a walk needs of row scalars: a number for all rows, or one for each row of the
        group."""
        f, known = self.f, len(self.program.values)
        made: dict[int, Val | OfRows] = {}
        for j, e in enumerate(self.uniform, known):
            if all(self.program.values[a].extent is Extent.SCALAR for a in sc.uses(e)):
                made[j] = self.of_rows([e], 0)[0]
            else:
                t = self.dtypes[j]
                room = self.room(("uniform", j, t), MEMORY[t], self.together)
                store(f, t, self.of_rows([e], self.together)[0], room)
                made[j] = OfRows(room)
        return made

    def from_rooms(self, rooms: dict[int, Val | OfRows], r: Val) -> dict[int, Val]:
        """The numbers of row r."""
        f, numbers = self.f, {}
        for j, x in rooms.items():
            t = self.dtypes[j]
            numbers[j] = load(f, t, f.at(x.room, r, MEMORY[t]), 0) if isinstance(x, OfRows) else x
        return numbers

    # ---- results
    def reduce(self, k: int, red: Total | Ranked, r: Val, xs: Sequence[Val]) -> None:
        """The partial results of a row, as one vector (or one of each part): the 32 lanes of
        `ir.rows` with those folded that are in different vectors."""
        f, W = self.f, self.W
        count = max(1, LANES // W)
        states: dict[int, list[Val]] = {}               # some of `count`, the first ones
        for c, (x, mask) in enumerate(zip(xs, self.masks, strict=True)):
            at = f.iota("i32", W) + c * W if c else f.iota("i32", W)
            states[c % count] = red.take(f, states.get(c % count), x, mask, at)
        while count > 1:
            count //= 2
            for c in range(count):
                if c + count in states:
                    states[c] = red.merge(f, states[c], states[c + count])
        self.types[k] = [x.ty for x in states[0]]
        for i, x in enumerate(states[0]):
            f.store(x, f.at(self.room(("state", k, i), x.ty, self.together), r, x.ty))

    def state(self, k: int, r: int) -> list[Val]:
        f = self.f
        return [
            f.load(ty, f.at(self.memory["state", k, i], r, ty))
            for i, ty in enumerate(self.types[k])]

    def joined(self, name: tuple[str, int], parts: Sequence[Val], dtype: str) -> Val:
        """Vectors of some rows each as one of all."""
        if len(parts) == 1:
            return parts[0]
        f, size = self.f, SIZE[dtype]
        room = self.room(name, MEMORY[dtype], self.together)
        for i, x in enumerate(parts):
            store(f, dtype, x, f.bytes_at(room, i * self.W * size))
        return load(f, dtype, room, self.together)

    def define_position(self, k: int, value: Val, root: Expr,
                        rooms: dict[int, Val | OfRows]) -> None:
        """A position, one for each row. The element there is looked up where the program wants
        it."""
        program, at = self.program, self.program.results[k]
        self.known[at + 1] = value
        if not any(at in sc.uses(s.expr) for s in program.stages):
            return
        f, dtype, defined = self.f, program.values[at].dtype, program.values
        positions, found = (self.room(("position", k), "i64", self.together),
                            self.room(("found", k), MEMORY[dtype], self.together))
        f.store(value, positions)
        used = [a for a in sc.uses(root) if a < len(defined)]
        reads = [a for a in used if defined[a].extent is Extent.FULL]

        def row(r: Val, starts: Sequence[Val]) -> None:
            i = f.load("i64", f.at(positions, r, "i64"))
            xs: list[Val | None] = [None] * len(self.dtypes)
            for j, x in self.from_rooms(rooms, r).items():
                xs[j] = x
            for a in used:
                t, extent = defined[a]
                if extent is Extent.POSITION:
                    xs[a] = f.conv("trunc", i, COMPUTE[t])
                else:
                    p = (self.kept_at(a, r, 0) if extent is Extent.KEPT else
                         starts[reads.index(a)] if a in reads else self.address[a])
                    xs[a] = load(f, t, f.bytes_at(p, i * SIZE[t]), 0)
            x, = values(f, [root], xs, self.dtypes, 0)
            store(f, dtype, x, f.at(found, r, MEMORY[dtype]))
        self.each_row([(self.address[a], self.strides[a]) for a in reads], row)
        self.known[at] = load(f, dtype, found, self.together)
