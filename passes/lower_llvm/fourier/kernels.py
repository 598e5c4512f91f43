"""Transforms along one dimension of dense arrays.

A transform of n numbers is a few passes (`butterflies.pass_of`) over lines of scratch memory, each
the real and the imaginary part of as many numbers as a vector has lanes. The lanes are neighbours
in memory, along the dimensions behind (`columns`), or rows (`rows`). Many numbers are a matrix,
a by b (`split`): its columns are transformed, all are turned, and its rows are transformed; the
lanes are then columns, and after that rows, of one transform.

Real numbers, an even number n of them, are n / 2 complex ones to the passes; what these make is
untangled, or tangled before them. How an inverse differs: the parts change their places.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from .. import shuffles, targets
from ..builder import BYTES, Module, Val, vec
from . import butterflies

Kind = Literal["complex", "real", "to real"]
# numbers of a transform, and transforms; those behind a dimension; where in a line real parts begin
# for the passes; passes over n or a numbers; a, b; passes over b; lines of a buffer; where angles
# between columns and rows are, and how many of a row; where those of real numbers are
WORDS = ("n", "count", "inner", "first", "passes", "a", "b", "passes_b", "lines", "turns", "width",
         "halves")
PASS = 4                # words of a pass: its radix, its groups, its stride, where its table is


class Kernel:
    """The function of a kernel, its arguments and its scratch memory.

    Arguments: the source, the target, words (WORDS, then those of passes), the table of angles,
    scratch memory and how many bytes of it a thread has, a factor of the results."""

    def __init__(self, m: Module, symbol: str, elem: str, radices: tuple[int, ...]) -> None:
        self.helpers = {r: butterflies.pass_of(m, r, elem) for r in radices}
        self.f = f = m.kernel(symbol)
        self.elem, self.lanes = elem, targets.current().lanes(BYTES[elem])
        self.ty = vec(elem, self.lanes)
        args, self.begin, self.end, worker = f.args
        self.source, self.target, self.words, self.angles, room = (
            f.load("ptr", f.at(args, i, "i64"), 8) for i in range(5))
        share = f.load("i64", f.at(args, 5, "i64"), 8)
        scale = f.load("double", f.at(args, 6, "i64"), 8)
        self.scale = f.splat(scale if elem == "double" else f.conv("fptrunc", scale, elem),
                             self.lanes)
        self.w = {name: self.word(i) for i, name in enumerate(WORDS)}
        self.line = 2 * self.lanes
        self.room = f.bytes_at(room, worker * share)

    def word(self, i: int | Val) -> Val:
        return self.f.load("i64", self.f.at(self.words, i, "i64"), 8)

    def place(self, start: Val, line: int | Val, part: int = 0) -> Val:
        """The address of a line's vector."""
        return self.f.at(start, line * self.line + part * self.lanes, self.elem)

    def parts(self, start: Val, line: int | Val) -> tuple[Val, Val]:
        """The real and the imaginary part of a line."""
        re, im = (self.f.load(self.ty, self.place(start, line, p)) for p in (0, 1))
        return re, im

    def put(self, start: Val, line: int | Val, z: tuple[Val, Val]) -> None:
        for part, x in enumerate(z):
            self.f.store(x, self.place(start, line, part))

    def each_unit(self, body: Callable[[Val], None]) -> None:
        self.f.loop(self.begin, self.end, 1, body)

    def passes(self, first: int | Val, count: Val, source: Val, a: Val, b: Val) -> Val:
        """Do passes, whose words begin with `first`: from the lines at `source` to those at a, from
        there to b, and so on. Where the last ones' results are."""
        f = self.f

        def one(i: Val, x: Val, y: Val, other: Val) -> list[Val]:
            at = i * PASS + first
            radix, groups, stride, table = (self.word(at + k) for k in range(PASS))
            for r, helper in self.helpers.items():
                f.if_(f.cmp("eq", radix, r), lambda helper=helper: f.call_helper(
                    helper, x, y, f.at(self.angles, table, self.elem), groups, stride,
                    self.w["first"]))
            return [y, other, y]
        return f.loop(0, count, 1, one, [source, a, b])[0]

    # ---- what lies in memory as complex numbers ----------------------------------------------
    def apart(self, at: Val, left: Val) -> tuple[Val, Val]:
        """The parts of the numbers at an address; `left`: how many there are, at most."""
        f = self.f
        both = [f.mload(self.ty, f.at(at, k * self.lanes, self.elem),
                        f.lanes_below(left * 2 - k * self.lanes, self.lanes)) for k in (0, 1)]
        re, im = shuffles.columns(f, both)
        return re, im

    def together(self, z: tuple[Val, Val], at: Val, left: Val) -> None:
        """Store numbers: `left` of them, at most."""
        f = self.f
        for k, x in enumerate(shuffles.consecutive(f, list(z))):
            f.put(f.lanes_below(left * 2 - k * self.lanes, self.lanes),
                  (x, f.at(at, k * self.lanes, self.elem)))

    def scaled(self, z: tuple[Val, Val]) -> tuple[Val, Val]:
        return z[0] * self.scale, z[1] * self.scale

    # ---- rows in lanes -----------------------------------------------------------------------
    def _pointers(self, start: Val, first: Val, length: Val) -> list[Val]:
        """Where the rows in the lanes begin; behind the last one it is the last one again."""
        f = self.f
        return [f.at(start, f.imin(first + i, self.w["count"] - 1) * length, self.elem)
                for i in range(self.lanes)]

    def read_rows(self, first: Val, length: Val, to: Val) -> None:
        """The first numbers of rows of so many, each row in a lane of lines."""
        f = self.f
        shuffles.planes_to_pixels(
            f, self.ty, self._pointers(self.source, first, length), f.as_val(0, "i64"), length, to,
            lambda p, i, mask: f.mload(self.ty, f.at(p, i, self.elem), mask))

    def write_rows(self, lines: Val, first: Val, length: Val) -> None:
        """The other way, scaled."""
        f, n = self.f, self.lanes
        rows = self._pointers(self.target, first, length)

        def chunk(i: Val) -> None:
            mask = f.lanes_below(length - i, n)
            columns = [f.load(self.ty, f.at(lines, (i + k) * n, self.elem)) * self.scale
                       for k in range(n)]
            for p, x in zip(rows, shuffles.transpose(f, columns), strict=True):
                f.put(mask, (x, f.at(p, i, self.elem)))
        f.loop(0, length, n, chunk)

    # ---- real numbers ------------------------------------------------------------------------
    def untangled(self, z: tuple[Val, Val], mirror: tuple[Val, Val], cosine: Val,
                  sine: Val) -> tuple[Val, Val]:
        """A number of the transform of twice as many real numbers, of those of the passes."""
        f, (a, b), (c, d) = self.f, z, mirror
        x, y = (b + d) * 0.5, (c - a) * 0.5
        return (f.fma(y, sine, f.fma(x, cosine, (a + c) * 0.5)),
                f.fma(-x, sine, f.fma(y, cosine, (b - d) * 0.5)))

    def tangled(self, z: tuple[Val, Val], mirror: tuple[Val, Val], cosine: Val,
                sine: Val) -> tuple[Val, Val]:
        """The number for the passes, of those of the transform of real numbers."""
        f, (a, b), (c, d) = self.f, z, mirror
        x, y = a - c, b + d
        return (f.fma(-y, cosine, f.fma(-x, sine, a + c)),
                f.fma(-y, sine, f.fma(x, cosine, b - d)))


def columns(m: Module, symbol: str, elem: str, radices: tuple[int, ...]) -> None:
    """Lanes are neighbours in the dimensions behind. A unit is a vector of them."""
    k = Kernel(m, symbol, elem, radices)
    f, n, inner = k.f, k.w["n"], k.w["inner"]
    blocks = f.sdiv(inner + (k.lanes - 1), k.lanes)
    lines = k.w["lines"] * k.line
    spare = f.at(k.room, lines, elem)

    def unit(u: Val) -> None:
        at, left = f.sdiv(u, blocks), f.srem(u, blocks) * k.lanes
        begin = at * n * inner + left
        left = inner - left

        def address(start: Val, i: Val) -> Val:
            return f.at(start, (begin + i * inner) * 2, elem)
        f.loop(0, n, 1, lambda i: k.put(k.room, i, k.apart(address(k.source, i), left)))
        made = k.passes(len(WORDS), k.w["passes"], k.room, spare, k.room)
        f.loop(0, n, 1, lambda i: k.together(
            k.scaled(k.parts(made, i)), address(k.target, i), left))
    k.each_unit(unit)


def rows(m: Module, symbol: str, elem: str, radices: tuple[int, ...], kind: Kind) -> None:
    """Lanes are rows. A unit is a vector of them."""
    k = Kernel(m, symbol, elem, radices)
    f, n = k.f, k.w["n"]
    spare = f.at(k.room, k.w["lines"] * k.line, elem)
    half = n * 2 + 2

    def angle(i: Val) -> list[Val]:
        at = f.at(k.angles, k.w["halves"] + i * 2, elem)
        return [f.splat(f.load(elem, f.at(at, part, elem)), k.lanes) for part in (0, 1)]

    def complex_(first: Val) -> None:
        k.read_rows(first, n * 2, k.room)
        k.write_rows(k.passes(len(WORDS), k.w["passes"], k.room, spare, k.room), first, n * 2)

    def real(first: Val) -> None:
        k.read_rows(first, n * 2, k.room)
        made = k.passes(len(WORDS), k.w["passes"], k.room, spare, k.room)
        k.put(made, n, k.parts(made, 0))
        free, = f.if_(f.cmp("eq", k.w["passes"] & 1, 0), lambda: [spare], lambda: [k.room])

        f.loop(0, n + 1, 1, lambda i: k.put(
            free, i, k.untangled(k.parts(made, i), k.parts(made, n - i), *angle(i))))
        k.write_rows(free, first, half)

    def to_real(first: Val) -> None:
        k.read_rows(first, half, k.room)
        zero = f.const(k.ty, 0)
        f.store(zero, k.place(k.room, 0, 1))
        f.store(zero, k.place(k.room, n, 1))
        f.loop(0, n, 1, lambda i: k.put(
            spare, i, k.tangled(k.parts(k.room, i), k.parts(k.room, n - i), *angle(i))))
        k.write_rows(k.passes(len(WORDS), k.w["passes"], spare, k.room, spare), first, n * 2)
    do = {"complex": complex_, "real": real, "to real": to_real}[kind]
    k.each_unit(lambda u: do(u * k.lanes))


def split(m: Module, symbol: str, elem: str, radices: tuple[int, ...], kind: Kind) -> None:
    """A transform is a matrix, a by b; its columns, then its rows are lanes. A unit is a
    transform."""
    k = Split(m, symbol, elem, radices)
    f, n = k.f, k.w["n"]
    source_row, made_row = (n * 2 + 2 * (kind == other) for other in ("to real", "real"))

    def unit(u: Val) -> None:
        source, made = f.at(k.source, u * source_row, elem), f.at(k.target, u * made_row, elem)
        if kind == "to real":
            k.tangle(source)
        k.turn_columns(k.row if kind == "to real" else source)
        k.finish_rows(k.row if kind == "real" else made, scaled=kind != "real")
        if kind == "real":
            k.untangle(made)
    k.each_unit(unit)


class Split(Kernel):
    """A transform as a matrix, a by b.

    Scratch memory: two times the lines of a column or a row, the lines of all rows (those of a
    vector's rows together), and for real numbers a row of them all."""

    def __init__(self, m: Module, symbol: str, elem: str, radices: tuple[int, ...]) -> None:
        super().__init__(m, symbol, elem, radices)
        f, w = self.f, self.w
        self.spare = f.at(self.room, w["lines"] * self.line, elem)
        self.rows = f.at(self.spare, w["lines"] * self.line, elem)
        # lines of a block of rows: one for each column, in whole vectors
        self.block = f.sdiv(w["b"] + (self.lanes - 1), self.lanes) * self.lanes
        blocks = f.sdiv(w["a"] + (self.lanes - 1), self.lanes)
        self.row = f.at(self.rows, blocks * self.block * self.line, elem)

    def turn_columns(self, source: Val) -> None:
        """Transform the columns and turn what comes of it; it is the lines of the rows then."""
        f, w, n = self.f, self.w, self.lanes
        a, b = w["a"], w["b"]
        whole = f.sdiv(a + (n - 1), n) * n
        zero = f.const(self.ty, 0)
        for lines in (self.room, self.spare):
            f.loop(a, whole, 1, lambda i, lines=lines: self.put(lines, i, (zero, zero)))

        def columns(j: Val) -> None:
            f.loop(0, a, 1, lambda i: self.put(
                self.room, i, self.apart(f.at(source, (i * b + j) * 2, self.elem), b - j)))
            made = self.passes(len(WORDS), w["passes"], self.room, self.spare, self.room)

            def block(i: Val) -> None:
                turned = [self.turned(made, i + r, j) for r in range(n)]
                to = self.place(self.rows, f.sdiv(i, n) * self.block + j)
                for part in (0, 1):
                    for c, x in enumerate(shuffles.transpose(f, [z[part] for z in turned])):
                        f.store(x, self.place(to, c, part))
            f.loop(0, a, n, block)
        f.loop(0, b, n, columns)

    def turned(self, made: Val, i: Val, j: Val) -> tuple[Val, Val]:
        """The numbers of row i in columns j..., turned by the angles of their places."""
        f, width = self.f, self.w["width"]
        at = f.at(self.angles, self.w["turns"] + i * (width * 2) + j, self.elem)
        return butterflies.turned(f, self.parts(made, i), f.load(self.ty, at),
                                  f.load(self.ty, f.at(at, width, self.elem)))

    def finish_rows(self, to: Val, scaled: bool) -> None:
        """Transform the rows."""
        f, w, n = self.f, self.w, self.lanes
        a, b = w["a"], w["b"]

        def rows(i: Val) -> None:
            source = self.place(self.rows, f.sdiv(i, n) * self.block)
            made = self.passes(w["passes"] * PASS + len(WORDS), w["passes_b"], source, self.room,
                               self.spare)

            def line(j: Val) -> None:
                z = self.parts(made, j)
                self.together(self.scaled(z) if scaled else z,
                              f.at(to, (j * a + i) * 2, self.elem), a - i)
            f.loop(0, b, 1, line)
        f.loop(0, a, n, rows)

    # ---- real numbers ------------------------------------------------------------------------
    def mirrored(self, start: Val, i: Val) -> tuple[Val, Val]:
        """The numbers before number n of those at an address, from i before it on, backwards."""
        f, n = self.f, self.lanes
        before = self.w["n"] - i - (n - 1)              # where the last of them is
        at = f.at(start, before * 2, self.elem)
        both = [f.mload(self.ty, f.at(at, k * n, self.elem),
                        ~f.lanes_below(before * -2 - k * n, n)) for k in (0, 1)]
        re, im = (f.shuffle(x, None, range(n - 1, -1, -1)) for x in shuffles.columns(f, both))
        return re, im

    def angles_of(self, i: Val) -> list[Val]:
        """Cosines and sines for number i and those behind it."""
        f = self.f
        at = f.at(self.angles, self.w["halves"] + i * 2, self.elem)
        return shuffles.columns(f, [f.load(self.ty, f.at(at, k * self.lanes, self.elem))
                                    for k in (0, 1)])

    def untangle(self, to: Val) -> None:
        """The transform of real numbers, of that in the row."""
        f, n = self.f, self.w["n"]
        for part in (0, 1):
            f.store(f.load(self.elem, f.at(self.row, part, self.elem)),
                    f.at(self.row, n * 2 + part, self.elem))

        def some(i: Val) -> None:
            left = n + 1 - i
            z = self.apart(f.at(self.row, i * 2, self.elem), left)
            made = self.untangled(z, self.mirrored(self.row, i), *self.angles_of(i))
            self.together(self.scaled(made), f.at(to, i * 2, self.elem), left)
        f.loop(0, n + 1, self.lanes, some)

    def tangle(self, source: Val) -> None:
        """The numbers for the passes, in the row."""
        f, n = self.f, self.w["n"]

        def some(i: Val) -> None:
            ends = f.cmp("eq", f.iota("i64", self.lanes) + i, 0)        # they are real
            re, im = self.apart(f.at(source, i * 2, self.elem), n - i)
            x, y = self.mirrored(source, i)
            made = self.tangled((re, f.sel(ends, 0.0, im)), (x, f.sel(ends, 0.0, y)),
                                *self.angles_of(i))
            self.together(made, f.at(self.row, i * 2, self.elem), n - i)
        f.loop(0, n, self.lanes, some)
