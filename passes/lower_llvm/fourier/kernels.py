"""Transforms along one dimension of dense arrays.

A transform of n numbers consists of passes (`butterflies.pass_of`) over lines of scratch memory. A
line holds one complex number for each lane: a vector of real parts and one of imaginary parts. The
lanes are different transforms: neighbours in memory along the dimensions behind (`columns`), or
rows (`rows`). A long transform is a matrix of a rows and b columns (`split`): the columns are
transformed, all elements are multiplied by twiddle factors, and the rows are transformed. Its
lanes are first the columns, then the rows of one transform; where the dimension is not the last,
they are neighbouring transforms again (`split_columns`).

An even number n of real numbers is transformed as n / 2 complex ones, whose transform is untangled
afterwards; the inverse tangles first. An odd number of them get imaginary parts of zero, and half
of the result is stored. An inverse transform exchanges real and imaginary parts.

A size n with a large prime factor has no passes. There a transform is a convolution (Bluestein's
algorithm): since jk = (j² + k² - (k - j)²) / 2, the numbers are multiplied by the chirp, whose
element k is exp(-pi i k² / n), convolved with its conjugate, and multiplied by the chirp again.
The convolution is a transform of a length m >= 2 n - 1 that has passes, a product with a table
(the spectrum), and an inverse transform.
"""
from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal

from .. import shuffles, targets
from ..builder import BYTES, Module, Val, vec
from . import butterflies

Kind = Literal["complex", "real", "to real", "odd real", "to odd real"]
# n: numbers of a transform. count: transforms. inner: elements in the dimensions behind. first:
# the offset of the real parts in a line, for passes. passes: passes over m numbers, or over a of a
# matrix. a, b: rows and columns of the matrix, m = a * b. passes_b: passes over b numbers. lines:
# lines of a buffer. turns, halves, chirp, spectrum: offsets of the tables of twiddle factors
# between columns and rows, of angles for real numbers, of a convolution. width: length of a row of
# turns. m: numbers of the passes: n, except for a convolution.
WORDS = ("n", "count", "inner", "first", "passes", "a", "b", "passes_b", "lines", "turns", "width",
         "halves", "m", "chirp", "spectrum")
SPARE = 16              # elements that may be read behind a table's last
Read = Callable[[Val, Val], tuple[Val, Val]]
Write = Callable[[Val, Val, tuple[Val, Val]], None]
PASS = 4                # words of a pass: radix, groups, stride, offset of its table


class Kernel:
    """The function of a kernel, its arguments and its scratch memory.

    Arguments: the source, the target, words (WORDS, then those of passes), the table of angles,
    scratch memory and how many bytes of it a thread has, a factor of the results. `chirped`: the
    transforms are convolutions."""

    def __init__(self, m: Module, symbol: str, elem: str, radices: tuple[int, ...],
                 chirped: bool) -> None:
        self.chirped = chirped
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
        """The address of the vector of a line's real parts (part 0) or imaginary parts (part 1)."""
        return self.f.at(start, line * self.line + part * self.lanes, self.elem)

    def parts(self, start: Val, line: int | Val) -> tuple[Val, Val]:
        """Load the real and the imaginary parts of a line."""
        re, im = (self.f.load(self.ty, self.place(start, line, p)) for p in (0, 1))
        return re, im

    def put(self, start: Val, line: int | Val, z: tuple[Val, Val]) -> None:
        for part, x in enumerate(z):
            self.f.store(x, self.place(start, line, part))

    def each_unit(self, body: Callable[[Val], None]) -> None:
        self.f.loop(self.begin, self.end, 1, body)

    def passes(self, words: int | Val, count: Val, source: Val, a: Val, b: Val,
               first: int | Val) -> tuple[Val, Val]:
        """Emit `count` passes, whose words begin at `words`. The first reads the lines at `source`
        and writes to `a`; the next ones read `a` and write `b`, and the reverse, in turn. `first`:
        the offset of the real parts in a line. Returns the buffer with the results and the one that
        is free."""
        f = self.f
        first = f.as_val(first, "i64")

        def one(i: Val, x: Val, y: Val, other: Val) -> list[Val]:
            at = i * PASS + words
            radix, groups, stride, table = (self.word(at + k) for k in range(PASS))
            for r, helper in self.helpers.items():
                f.if_(f.cmp("eq", radix, r), lambda helper=helper: f.call_helper(
                    helper, x, y, f.at(self.angles, table, self.elem), groups, stride, first))
            return [y, other, y]
        made, free, _ = f.loop(0, count, 1, one, [source, a, b])
        return made, free

    def whole(self, a: Val, b: Val) -> tuple[Val, Val]:
        """Transform the numbers in the lines at `a`; `b` is a second buffer. Returns the buffer
        with the result and the one that is free."""
        f, w, words = self.f, self.w, len(WORDS)
        if not self.chirped:
            return self.passes(words, w["passes"], a, b, a, w["first"])
        zero = f.const(self.ty, 0)
        self.multiply(a, "chirp", w["n"])
        f.loop(w["n"], w["m"], 1, lambda i: self.put(a, i, (zero, zero)))
        made, free = self.passes(words, w["passes"], a, b, a, 0)
        self.multiply(made, "spectrum", w["m"])
        made, free = self.passes(words, w["passes"], made, free, made, self.lanes)
        self.multiply(made, "chirp", w["n"])
        return made, free

    def factor(self, name: str, i: Val, part: int) -> Val:
        """The address of number `i`, its real (0) or imaginary (1) part, in the table `name`."""
        at = self.w[name] + i
        return self.f.at(self.angles, at + (self.w["m"] + SPARE) if part else at, self.elem)

    def multiply(self, lines: Val, name: str, count: Val) -> None:
        """Multiply the first `count` lines by the complex numbers of the table `name`."""
        f = self.f
        f.loop(0, count, 1, lambda i: self.put(lines, i, butterflies.turned(
            f, self.parts(lines, i), *(f.splat(f.load(self.elem, self.factor(name, i, part)),
                                               self.lanes) for part in (0, 1)))))

    # ---- complex numbers in memory -----------------------------------------------------------
    def apart(self, at: Val, left: Val) -> tuple[Val, Val]:
        """Load a vector of complex numbers at an address as real and imaginary parts; at most
        `left` of them are read."""
        f = self.f
        both = [f.mload(self.ty, f.at(at, k * self.lanes, self.elem),
                        f.lanes_below(left * 2 - k * self.lanes, self.lanes)) for k in (0, 1)]
        re, im = shuffles.columns(f, both)
        return re, im

    def together(self, z: tuple[Val, Val], at: Val, left: Val) -> None:
        """Store a vector of complex numbers, interleaved; at most `left` of them are written."""
        f = self.f
        for k, x in enumerate(shuffles.consecutive(f, list(z))):
            f.put(f.lanes_below(left * 2 - k * self.lanes, self.lanes),
                  (x, f.at(at, k * self.lanes, self.elem)))

    def scaled(self, z: tuple[Val, Val]) -> tuple[Val, Val]:
        return z[0] * self.scale, z[1] * self.scale

    # ---- rows in lanes -----------------------------------------------------------------------
    def _pointers(self, start: Val, first: Val, length: Val) -> list[Val]:
        """The addresses at which the rows of the lanes begin, from row `first` on. Lanes behind the
        last row repeat it."""
        f = self.f
        return [f.at(start, f.imin(first + i, self.w["count"] - 1) * length, self.elem)
                for i in range(self.lanes)]

    def read_rows(self, first: Val, length: Val, to: Val) -> None:
        """Read the first `length` elements of the rows from `first` on into lines at `to`, a row in
        each lane."""
        f = self.f
        shuffles.planes_to_pixels(
            f, self.ty, self._pointers(self.source, first, length), f.as_val(0, "i64"), length, to,
            lambda p, i, mask: f.mload(self.ty, f.at(p, i, self.elem), mask))

    def write_rows(self, lines: Val, first: Val, length: Val) -> None:
        """Write lines to rows, a row from each lane, multiplied by the scale."""
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
        """Element i of the transform of 2 n real numbers, from elements i (`z`) and n - i
        (`mirror`) of the transform of the n complex numbers made of their pairs."""
        f, (a, b), (c, d) = self.f, z, mirror
        x, y = (b + d) * 0.5, (c - a) * 0.5
        return (f.fma(y, sine, f.fma(x, cosine, (a + c) * 0.5)),
                f.fma(-x, sine, f.fma(y, cosine, (b - d) * 0.5)))

    def tangled(self, z: tuple[Val, Val], mirror: tuple[Val, Val], cosine: Val,
                sine: Val) -> tuple[Val, Val]:
        """The inverse of `untangled`: element i of the complex transform, from elements i and n - i
        of that of the real numbers."""
        f, (a, b), (c, d) = self.f, z, mirror
        x, y = a - c, b + d
        return (f.fma(-y, cosine, f.fma(-x, sine, a + c)),
                f.fma(-y, sine, f.fma(x, cosine, b - d)))


def columns(m: Module, symbol: str, elem: str, radices: tuple[int, ...], chirped: bool) -> None:
    """Transforms along a dimension that is not the last. The lanes are neighbours in the dimensions
    behind it; a unit of work is a vector of these."""
    k = Kernel(m, symbol, elem, radices, chirped)
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
        made, _ = k.whole(k.room, spare)
        f.loop(0, n, 1, lambda i: k.together(
            k.scaled(k.parts(made, i)), address(k.target, i), left))
    k.each_unit(unit)


def rows(m: Module, symbol: str, elem: str, radices: tuple[int, ...], kind: Kind,
         chirped: bool) -> None:
    """Transforms along the last dimension. The lanes are rows; a unit of work is a vector of
    rows."""
    k = Rows(m, symbol, elem, radices, chirped)
    do = {"complex": k.complex, "real": k.real, "to real": k.to_real, "odd real": k.odd_real,
          "to odd real": k.to_odd_real}[kind]
    k.each_unit(lambda u: do(u * k.lanes))


class Rows(Kernel):
    """Transforms of one vector of rows, from row `first` on."""

    def __init__(self, m: Module, symbol: str, elem: str, radices: tuple[int, ...],
                 chirped: bool) -> None:
        super().__init__(m, symbol, elem, radices, chirped)
        self.spare = self.f.at(self.room, self.w["lines"] * self.line, elem)
        self.n = self.w["n"]
        self.half = self.n * 2 + 2                # where real numbers are n pairs

    def angle(self, i: Val) -> list[Val]:
        f = self.f
        at = f.at(self.angles, self.w["halves"] + i * 2, self.elem)
        return [f.splat(f.load(self.elem, f.at(at, part, self.elem)), self.lanes)
                for part in (0, 1)]

    def complex(self, first: Val) -> None:
        self.read_rows(first, self.n * 2, self.room)
        self.write_rows(self.whole(self.room, self.spare)[0], first, self.n * 2)

    def real(self, first: Val) -> None:
        n = self.n
        self.read_rows(first, n * 2, self.room)
        made, free = self.whole(self.room, self.spare)
        self.put(made, n, self.parts(made, 0))
        self.f.loop(0, n + 1, 1, lambda i: self.put(free, i, self.untangled(
            self.parts(made, i), self.parts(made, n - i), *self.angle(i))))
        self.write_rows(free, first, self.half)

    def to_real(self, first: Val) -> None:
        f, n = self.f, self.n
        self.read_rows(first, self.half, self.room)
        zero = f.const(self.ty, 0)
        f.store(zero, self.place(self.room, 0, 1))
        f.store(zero, self.place(self.room, n, 1))
        f.loop(0, n, 1, lambda i: self.put(self.spare, i, self.tangled(
            self.parts(self.room, i), self.parts(self.room, n - i), *self.angle(i))))
        self.write_rows(self.whole(self.spare, self.room)[0], first, n * 2)

    def odd_real(self, first: Val) -> None:
        f, n = self.f, self.n
        self.read_rows(first, n, self.spare)
        zero = f.const(self.ty, 0)
        f.loop(0, n, 1, lambda i: self.put(
            self.room, i, (f.load(self.ty, f.at(self.spare, i * self.lanes, self.elem)), zero)))
        self.write_rows(self.whole(self.room, self.spare)[0], first, n + 1)

    def to_odd_real(self, first: Val) -> None:
        f, n = self.f, self.n
        self.read_rows(first, n + 1, self.spare)
        self.put(self.room, 0, (self.parts(self.spare, 0)[0], f.const(self.ty, 0)))

        def both(i: Val) -> None:
            re, im = self.parts(self.spare, i)
            self.put(self.room, i, (re, im))
            self.put(self.room, n - i, (re, -im))
        f.loop(1, f.sdiv(n, 2) + 1, 1, both)
        made, free = self.whole(self.room, self.spare)
        f.loop(0, n, 1, lambda i: f.store(
            self.parts(made, i)[0], f.at(free, i * self.lanes, self.elem)))
        self.write_rows(free, first, n)


def split(m: Module, symbol: str, elem: str, radices: tuple[int, ...], kind: Kind,
          chirped: bool) -> None:
    """Transforms along the last dimension of many numbers, each as a matrix of a rows and b
    columns: first its columns are in lanes, then its rows. A unit of work is one transform."""
    k = Split(m, symbol, elem, radices, chirped)
    f, n = k.f, k.w["n"]
    half = f.sdiv(n, 2) * 2 + 2
    source_row, made_row = {"complex": (n * 2, n * 2), "real": (n * 2, n * 2 + 2),
                            "to real": (n * 2 + 2, n * 2), "odd real": (n, half),
                            "to odd real": (half, n)}[kind]
    prepare = {"to real": k.tangle, "to odd real": k.mirror}.get(kind)
    read = k.read_reals if kind == "odd real" else k.read_complex
    write = {"real": k.write_raw, "odd real": k.write_half, "to odd real": k.write_reals}.get(
        kind, k.write_complex)

    def unit(u: Val) -> None:
        source, made = f.at(k.source, u * source_row, elem), f.at(k.target, u * made_row, elem)
        if prepare:
            prepare(source)
            source = k.row
        k.whole_matrix(partial(read, source), partial(write, k.row if kind == "real" else made))
        if kind == "real":
            k.untangle(made)
    k.each_unit(unit)


def split_columns(m: Module, symbol: str, elem: str, radices: tuple[int, ...],
                  chirped: bool) -> None:
    """Transforms along a dimension that is not the last, each as a matrix as in `split`, with
    neighbours in the dimensions behind in the lanes as in `columns`. A unit of work is a vector of
    transforms. The bits are those of `split`."""
    k = Split(m, symbol, elem, radices, chirped)
    k.each_unit(k.behind)


class Split(Kernel):
    """A transform as a matrix, a by b.

    Scratch memory: two times the lines of a column or a row, the lines of all rows (those of a
    vector's rows together), and a row of them all, for real numbers and for convolutions.

    What reads numbers gets the place of the first in the transform and how many there are at most;
    what writes them gets them, too."""

    def __init__(self, m: Module, symbol: str, elem: str, radices: tuple[int, ...],
                 chirped: bool) -> None:
        super().__init__(m, symbol, elem, radices, chirped)
        f, w = self.f, self.w
        self.spare = f.at(self.room, w["lines"] * self.line, elem)
        self.rows = f.at(self.spare, w["lines"] * self.line, elem)
        # lines of a block of rows: one for each column, in whole vectors
        self.block = f.sdiv(w["b"] + (self.lanes - 1), self.lanes) * self.lanes
        blocks = f.sdiv(w["a"] + (self.lanes - 1), self.lanes)
        self.row = f.at(self.rows, blocks * self.block * self.line, elem)

    def whole_matrix(self, read: Read, write: Write) -> None:
        """Transform the numbers that `read` returns and pass the results to `write`. A convolution
        transforms twice; in the second, inverse transform real and imaginary parts are exchanged on
        reading and writing, so that it can use the twiddle factors of the first."""
        f, w = self.f, self.w
        if not self.chirped:
            self.turn_columns(read, w["first"])
            self.finish_rows(write, w["first"])
            return
        self.turn_columns(
            lambda at, left: self.product(read(at, f.imin(left, w["n"] - at)), "chirp", at), 0)
        self.finish_rows(lambda at, left, z: self.write_raw(
            self.row, at, left, self.product(z, "spectrum", at)[::-1]), 0)
        self.turn_columns(partial(self.read_complex, self.row), 0)
        self.finish_rows(lambda at, left, z: write(
            at, f.imin(left, w["n"] - at), self.product(z[::-1], "chirp", at)), 0)

    def product(self, z: tuple[Val, Val], name: str, at: Val) -> tuple[Val, Val]:
        """Multiply a vector of numbers by those of the table `name` from place `at` on."""
        return butterflies.turned(self.f, z, *(
            self.f.load(self.ty, self.factor(name, at, part)) for part in (0, 1)))

    def read_complex(self, source: Val, at: Val, left: Val) -> tuple[Val, Val]:
        return self.apart(self.f.at(source, at * 2, self.elem), left)

    def read_reals(self, source: Val, at: Val, left: Val) -> tuple[Val, Val]:
        f = self.f
        mask = f.lanes_below(left, self.lanes)
        return f.mload(self.ty, f.at(source, at, self.elem), mask), f.const(self.ty, 0)

    def write_raw(self, target: Val, at: Val, left: Val, z: tuple[Val, Val]) -> None:
        self.together(z, self.f.at(target, at * 2, self.elem), left)

    def write_complex(self, target: Val, at: Val, left: Val, z: tuple[Val, Val]) -> None:
        self.write_raw(target, at, left, self.scaled(z))

    def write_half(self, target: Val, at: Val, left: Val, z: tuple[Val, Val]) -> None:
        f = self.f
        self.write_complex(target, at, f.imin(left, f.sdiv(self.w["n"], 2) + 1 - at), z)

    def write_reals(self, target: Val, at: Val, left: Val, z: tuple[Val, Val]) -> None:
        f = self.f
        f.put(f.lanes_below(left, self.lanes), (z[0] * self.scale, f.at(target, at, self.elem)))

    def turn_columns(self, read: Read, first: int | Val) -> None:
        """Transform the columns and multiply them by the twiddle factors. The result is the lines
        of the rows."""
        f, w, n = self.f, self.w, self.lanes
        a, b = w["a"], w["b"]
        whole = f.sdiv(a + (n - 1), n) * n
        zero = f.const(self.ty, 0)
        for lines in (self.room, self.spare):
            f.loop(a, whole, 1, lambda i, lines=lines: self.put(lines, i, (zero, zero)))

        def columns(j: Val) -> None:
            f.loop(0, a, 1, lambda i: self.put(
                self.room, i, read(i * b + j, b - j)))
            made, _ = self.passes(len(WORDS), w["passes"], self.room, self.spare, self.room, first)

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

    def finish_rows(self, write: Write, first: int | Val) -> None:
        """Transform the rows."""
        f, w, n = self.f, self.w, self.lanes
        a, b = w["a"], w["b"]

        def rows(i: Val) -> None:
            source = self.place(self.rows, f.sdiv(i, n) * self.block)
            made, _ = self.passes(w["passes"] * PASS + len(WORDS), w["passes_b"], source,
                                  self.room, self.spare, first)
            f.loop(0, b, 1, lambda j: write(j * a + i, a - i, self.parts(made, j)))
        f.loop(0, a, n, rows)

    # ---- neighbours behind the transforms in lanes -------------------------------------------
    def behind(self, u: Val) -> None:
        """Transform the rows of a vector of transforms, which are neighbours in the dimensions
        behind. The lines of all rows follow each other then."""
        f, w = self.f, self.w
        a, b, inner = w["a"], w["b"], w["inner"]
        blocks = f.sdiv(inner + (self.lanes - 1), self.lanes)
        at, column = f.sdiv(u, blocks), f.srem(u, blocks) * self.lanes
        begin, left = at * w["n"] * inner + column, inner - column

        def address(start: Val, i: Val) -> Val:
            return f.at(start, (begin + i * inner) * 2, self.elem)

        def columns(j: Val) -> None:
            f.loop(0, a, 1, lambda i: self.put(
                self.room, i, self.apart(address(self.source, i * b + j), left)))
            made, _ = self.passes(len(WORDS), w["passes"], self.room, self.spare, self.room,
                                  w["first"])
            f.loop(0, a, 1, lambda i: self.put(
                self.rows, i * b + j, self.turned_alike(made, i, j)))

        def rows(i: Val) -> None:
            made, _ = self.passes(w["passes"] * PASS + len(WORDS), w["passes_b"],
                                  self.place(self.rows, i * b), self.room, self.spare, w["first"])
            f.loop(0, b, 1, lambda j: self.together(
                self.scaled(self.parts(made, j)), address(self.target, j * a + i), left))
        f.loop(0, b, 1, columns)
        f.loop(0, a, 1, rows)

    def turned_alike(self, made: Val, i: Val, j: Val) -> tuple[Val, Val]:
        """The numbers of row i in column j, one of each transform, turned by one angle."""
        f, width = self.f, self.w["width"]
        at = self.w["turns"] + i * (width * 2) + j
        cosine, sine = (f.splat(f.load(self.elem, f.at(self.angles, p, self.elem)), self.lanes)
                        for p in (at, at + width))
        return butterflies.turned(f, self.parts(made, i), cosine, sine)

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

    def mirror(self, source: Val) -> None:
        """All numbers, an odd number of them, of the half that real numbers have."""
        f, n = self.f, self.w["n"]
        half = f.sdiv(n, 2) + 1

        def some(i: Val) -> None:
            first = f.cmp("eq", f.iota("i64", self.lanes) + i, 0)       # it is real
            re, im = self.read_complex(source, i, half - i)
            self.write_raw(self.row, i, half - i, (re, f.sel(first, 0.0, im)))

        def mirrored(i: Val) -> None:
            re, im = self.mirrored(source, i)
            self.write_raw(self.row, i, n - i, (re, -im))
        f.loop(0, half, self.lanes, some)
        f.loop(half, n, self.lanes, mirrored)
