"""Products of sparse matrices, whose entries are a value, a row and a column each.

Sums of rows: each entry adds its value times a row of a dense matrix to a row of the result. An
element of the result is one chain of fused multiply-adds from +0, in the order of the entries, so
it is the same however they are shared out.

Dots of rows: each entry is the product of a row of one matrix and a row of another. Column c goes
to chain c mod 16, each a chain of fused multiply-adds from +0; then the chains' halves are added,
the quarters, and so on.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence

from .. import targets
from ..builder import BYTES, Fn, Module, Val, vec

CHAINS = 16
BLOCK = 8               # vectors of a row that are summed at a time
AHEAD = 12              # entries ahead of which a row is fetched


def pointed_sums(m: Module, symbol: str, elem: str) -> None:
    """The kernel of sums of rows whose entries are named by where each row begins among them.
    Arguments: values, where each row begins and the last ends, the row of the dense matrix of each
    entry, the dense matrix (.., width), the result (.., width), bad (one i64, set to 1 where the
    rows are not all the entries, one after the other); how many entries, the width, how many rows
    the result has. Units are rows of the result."""
    PointedSums(m, symbol, elem)


def sums(m: Module, symbol: str, elem: str, in_order: bool) -> None:
    """The kernel of sums of rows. Arguments: values, the row of the result and the row of the dense
    matrix of each entry, the dense matrix (.., width), the result (.., width); how many entries,
    the width, how many rows the result has. `in_order`: the entries' rows of the result never go
    down, and units are rows of the result; else units are columns."""
    work = Sums(m, symbol, elem)
    if in_order:
        work.each_row()
    else:
        work.each_entry()


class Sums:
    """A kernel of `sums` under construction."""

    def __init__(self, m: Module, symbol: str, elem: str, pointers: int = 5) -> None:
        self.f = f = m.fn(symbol, [("ptr", "args"), ("i64", "begin"), ("i64", "end"),
                                   ("i64", "worker")])
        self.elem, self.lanes = elem, targets.current().lanes(BYTES[elem])
        args, self.begin, self.end, _ = f.args
        self.values, self.to, self.come, self.dense, self.out, *self.more = (
            f.load("ptr", f.at(args, i, "i64"), 8) for i in range(pointers))
        self.count, self.width, self.rows = (f.load("i64", f.at(args, i, "i64"), 8)
                                             for i in range(pointers, pointers + 3))
        self.last = self.count - 1

    # ---- entries in the order of the result's rows -----------------------------------------------
    def each_row(self) -> None:
        """Rows of the result, each with the entries that follow each other."""
        first = self.first_of(self.begin)
        self.by_width(lambda: self.wide_rows(first), lambda lanes: self.narrow_rows(first, lanes))

    def by_width(self, wide: Callable[[], None], narrow: Callable[[int], None]) -> None:
        """Rows of one element (0 lanes), or of no more than a vector has, or wider ones."""
        f = self.f
        f.if_(f.cmp("sle", self.width, self.lanes),
              lambda: f.if_(f.cmp("eq", self.width, 1), lambda: narrow(0),
                            lambda: narrow(self.lanes)), wide)

    def wide_rows(self, first: Val) -> None:
        """Rows of many elements: the entries of each are counted, and then met block by block."""
        def row(r: Val, first: Val) -> list[Val]:
            last = self.past(first, r)
            self.wide_row(r, first, last)
            return [last]
        self.f.loop(self.begin, self.end, 1, row, [first])

    def wide_row(self, r: Val, first: Val, last: Val) -> None:
        """A row of many elements, of these entries."""
        def sums(c: Val, vectors: int, mask: Val | None) -> None:
            self.row_sums(first, last, r, c, vectors, mask)
        self.blocks(self.f.as_val(0, "i64"), self.width, sums)

    def narrow_rows(self, first: Val, lanes: int) -> None:
        """Rows of few elements. Where they end is found on the way."""
        f, mask = self.f, self.narrow_mask(lanes)

        def row(r: Val, first: Val) -> list[Val]:
            last, total = f.while_(
                lambda k, _: self.belongs(k, r),
                lambda k, total: [k + 1, self.narrow_added(k, total, lanes, mask)],
                [first, f.const(vec(self.elem, lanes), 0)])
            self.put([total], f.at(self.out, r * self.width, self.elem), mask)
            return [last]
        f.loop(self.begin, self.end, 1, row, [first])

    def narrow_mask(self, lanes: int) -> Val | None:
        """The lanes that a row of few elements has."""
        return self.f.lanes_below(self.width, lanes) if lanes else None

    def narrow_added(self, k: Val, total: Val, lanes: int, mask: Val | None) -> Val:
        """The sums of a row of few elements with one entry more."""
        f, ty = self.f, vec(self.elem, lanes)
        p = self.place(k, f.as_val(0, "i64"))
        x = f.load(ty, p) if mask is None else f.mload(ty, p, mask)
        value = f.splat(f.load(self.elem, f.at(self.values, k, self.elem)), lanes)
        return f.fma(value, x, total)

    def first_of(self, row: Val) -> Val:
        """The first entry whose row is not before this one."""
        f = self.f

        def halve(low: Val, high: Val) -> list[Val]:
            middle = f.lshr(low + high, 1)
            before = f.cmp("slt", f.load("i64", f.at(self.to, middle, "i64")), row)
            return [f.sel(before, middle + 1, low), f.sel(before, high, middle)]
        return f.while_(lambda low, high: f.cmp("slt", low, high), halve,
                        [f.as_val(0, "i64"), self.count])[0]

    def past(self, first: Val, row: Val) -> Val:
        """The first entry from `first` on that is not of this row."""
        return self.f.while_(lambda k: self.belongs(k, row), lambda k: [k + 1], [first])[0]

    def belongs(self, k: Val, row: Val) -> Val:
        """Is there an entry of this number, and is it of this row?"""
        f = self.f
        same = f.cmp("eq", f.load("i64", f.at(self.to, f.imin(k, self.last), "i64")), row)
        return f.binary("and", same, f.cmp("sle", k, self.last))

    def row_sums(self, first: Val, last: Val, row: Val, c: Val, vectors: int, mask: Val | None
                 ) -> None:
        """Some columns of a row of the result."""
        f, ty = self.f, vec(self.elem, self.lanes)

        def entry(k: Val, *acc: Val) -> Sequence[Val]:
            self.fetch(k, c, vectors)
            return self.added(k, c, vectors, mask, acc)
        found = f.loop(first, last, 1, entry, [f.const(ty, 0)] * vectors)
        self.put(found, f.at(self.out, row * self.width + c, self.elem), mask)

    def fetch(self, k: Val, c: Val, vectors: int) -> None:
        """Have the row of an entry that comes later fetched: one line of the cache is 64 bytes."""
        f = self.f
        k = f.imin(k + AHEAD, self.last)
        p = self.place(k, c)
        for at in range(0, vectors * self.lanes * BYTES[self.elem], 64):
            f.prefetch(f.bytes_at(p, at))

    # ---- entries in any order --------------------------------------------------------------------
    def each_entry(self) -> None:
        """Some columns of all rows, to which entry after entry is added."""
        f, begin, end = self.f, self.begin, self.end

        def clear(r: Val) -> None:
            at = r * self.width

            def zeros(c: Val, vectors: int, mask: Val | None) -> None:
                nothing = [f.const(vec(self.elem, self.lanes), 0)] * vectors
                self.put(nothing, f.at(self.out, at + c, self.elem), mask)
            self.blocks(begin, end, zeros)

        def entry(k: Val) -> None:
            at = f.load("i64", f.at(self.to, k, "i64")) * self.width

            def add(c: Val, vectors: int, mask: Val | None) -> None:
                p = f.at(self.out, at + c, self.elem)
                there = self.read(p, vectors, mask)
                self.put(self.added(k, c, vectors, mask, there), p, mask)
            self.blocks(begin, end, add)
        f.loop(0, self.rows, 1, clear)
        f.loop(0, self.count, 1, entry)

    # ---- both ------------------------------------------------------------------------------------
    def blocks(self, begin: Val, end: Val, work: Callable[[Val, int, Val | None], None]) -> None:
        """work(first column, vectors, mask) for all columns: in wide blocks, then in narrower ones,
        then the rest that is no whole vector."""
        f, n = self.f, self.lanes
        wide = begin + (f.sdiv(end - begin, BLOCK * n) * (BLOCK * n))
        f.loop(begin, wide, BLOCK * n, lambda c: work(c, BLOCK, None))
        at, vectors = wide, BLOCK // 2
        while vectors:
            size = vectors * n
            fits = f.cmp("sge", end - at, size)
            f.if_(fits, lambda at=at, vectors=vectors: work(at, vectors, None))
            at = f.sel(fits, at + size, at)
            vectors //= 2
        f.if_(f.cmp("slt", at, end), lambda: work(at, 1, f.lanes_below(end - at, n)))

    def place(self, k: Val, c: Val) -> Val:
        """Where the row of an entry is, from a column on."""
        f = self.f
        return f.at(self.dense, f.load("i64", f.at(self.come, k, "i64")) * self.width + c,
                    self.elem)

    def added(self, k: Val, c: Val, vectors: int, mask: Val | None, acc: Sequence[Val]
              ) -> list[Val]:
        """Sums with one entry more."""
        f = self.f
        value = f.splat(f.load(self.elem, f.at(self.values, k, self.elem)), self.lanes)
        row = self.read(self.place(k, c), vectors, mask)
        return [f.fma(value, x, a) for x, a in zip(row, acc, strict=True)]

    def read(self, p: Val, vectors: int, mask: Val | None) -> list[Val]:
        f, ty = self.f, vec(self.elem, self.lanes)
        if mask is not None:
            return [f.mload(ty, p, mask)]
        return [f.load(ty, f.at(p, v * self.lanes, self.elem)) for v in range(vectors)]

    def put(self, made: Sequence[Val], p: Val, mask: Val | None) -> None:
        f = self.f
        if mask is not None:
            f.put(mask, (made[0], p))
            return
        for v, x in enumerate(made):
            f.store(x, f.at(p, v * self.lanes, self.elem))


class PointedSums(Sums):
    """The kernel of `pointed_sums`: instead of each entry's row it reads row pointers, the index of
    the first entry of each row."""

    def __init__(self, m: Module, symbol: str, elem: str) -> None:
        super().__init__(m, symbol, elem, 6)
        self.by_width(lambda: self.rows_by(self.wide_row), self.rows_of_lanes)

    def rows_of_lanes(self, lanes: int) -> None:
        """Rows of few elements."""
        f, mask = self.f, self.narrow_mask(lanes)

        def work(r: Val, first: Val, last: Val) -> None:
            found = f.loop(first, last, 1,
                           lambda k, total: [self.narrow_added(k, total, lanes, mask)],
                           [f.const(vec(self.elem, lanes), 0)])
            self.put(found, f.at(self.out, r * self.width, self.elem), mask)
        self.rows_by(work)

    def rows_by(self, work: Callable[[Val, Val, Val], None]) -> None:
        """work(row, its first entry, the one after its last) for all rows."""
        f = self.f

        def row(r: Val, wrong: Val) -> list[Val]:
            first, last, strange = entries_of(f, self.to, r, self.rows, self.count)
            work(r, first, last)
            return [wrong | strange]
        wrong, = f.loop(self.begin, self.end, 1, row, [f.as_val(0, "i1")])
        f.if_(wrong, lambda: f.store(f.as_val(1, "i64"), self.more[0]))


def entries_of(f: Fn, pointers: Val, r: Val, rows: Val, count: Val) -> tuple[Val, Val, Val]:
    """The first entry of a row, the one after its last, and whether the pointers are impossible;
    then the row has no entries."""
    first = f.load("i64", f.at(pointers, r, "i64"))
    last = f.load("i64", f.at(pointers, r + 1, "i64"))
    begins = f.sel(f.cmp("eq", r, 0), f.cmp("ne", first, 0), f.cmp("slt", first, 0))
    ends = f.sel(f.cmp("eq", r, rows - 1), f.cmp("ne", last, count), f.cmp("sgt", last, count))
    strange = begins | ends | f.cmp("sgt", first, last)
    return f.sel(strange, 0, first), f.sel(strange, 0, last), strange


def dots(m: Module, symbol: str, elem: str) -> None:
    """Dots of rows. Arguments: for each entry the row of x and the row of y, x (.., width),
    y (.., width), a place for each dot, the width. Units are entries."""
    f = m.fn(symbol, [("ptr", "args"), ("i64", "begin"), ("i64", "end"), ("i64", "worker")])
    args, begin, end, _ = f.args
    of_x, of_y, x, y, out = (f.load("ptr", f.at(args, i, "i64"), 8) for i in range(5))
    width = f.load("i64", f.at(args, 5, "i64"), 8)
    lanes = min(CHAINS, targets.current().lanes(BYTES[elem]))
    ty, vectors = vec(elem, lanes), CHAINS // lanes

    def row(start: Val, index: Val, k: Val) -> Val:
        return f.at(start, f.load("i64", f.at(index, k, "i64")) * width, elem)

    def dot(k: Val) -> None:
        p, q = row(x, of_x, k), row(y, of_y, k)

        def step(c: Val, *acc: Val) -> list[Val]:
            at = [c + v * lanes for v in range(vectors)]
            return [f.fma(f.load(ty, f.at(p, i, elem)), f.load(ty, f.at(q, i, elem)), a)
                    for i, a in zip(at, acc, strict=True)]

        def rest() -> list[Val]:
            made = []
            for v, a in enumerate(found):
                i = whole + v * lanes
                mask = f.lanes_below(width - i, lanes)
                made.append(f.fma(f.mload(ty, f.at(p, i, elem), mask),
                                  f.mload(ty, f.at(q, i, elem), mask), a))
            return made
        whole = width & -CHAINS
        found = f.loop(0, whole, CHAINS, step, [f.const(ty, 0)] * vectors)
        found = f.if_(f.cmp("slt", whole, width), rest, lambda: found)
        f.store(halved(found), f.at(out, k, elem))

    def halved(chains: list[Val]) -> Val:
        """Halves are added until one is left."""
        while len(chains) > 1:
            half = len(chains) // 2
            chains = [a + b for a, b in zip(chains[:half], chains[half:], strict=True)]
        found = chains[0]
        while found.lanes > 1:
            half = found.lanes // 2
            low = f.shuffle(found, None, range(half))
            found = low + f.shuffle(found, None, range(half, 2 * half))
        return f.extract(found, 0)
    f.loop(begin, end, 1, dot)


def spread(m: Module, symbol: str) -> None:
    """The row of each entry. Arguments: where each row begins among the entries, and where the last
    ends; a place for each entry's row; bad (one i64, set to 1 where the rows are not all the
    entries, one after the other: those are written nowhere); how many rows and entries. Units are
    rows."""
    f = m.fn(symbol, [("ptr", "args"), ("i64", "begin"), ("i64", "end"), ("i64", "worker")])
    args, begin, end, _ = f.args
    pointers, out, bad = (f.load("ptr", f.at(args, i, "i64"), 8) for i in range(3))
    rows, count = (f.load("i64", f.at(args, i, "i64"), 8) for i in (3, 4))

    def row(r: Val, wrong: Val) -> list[Val]:
        first, last, strange = entries_of(f, pointers, r, rows, count)
        f.loop(first, last, 1, lambda k: f.store(r, f.at(out, k, "i64")))
        return [wrong | strange]
    wrong, = f.loop(begin, end, 1, row, [f.as_val(0, "i1")])
    f.if_(wrong, lambda: f.store(f.as_val(1, "i64"), bad))
