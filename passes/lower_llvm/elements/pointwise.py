"""Pointwise kernels: `ir.kernel.Pointwise` to a function over a range of elements, rows or panels
of tiles.

Operands are the inputs, then the results: slot i of `args` is the address of operand i's first
element, and for spaces other than flat one more slot is the address of `ir.kernel.tables`. An
element's value is computed by the same code wherever it is, so neither the space nor the place in
a vector can change a bit.
"""
from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from whet.ir import scalar as S
from whet.ir.complex_parts import InParts, Inseparable, in_parts
from whet.ir.expressions import REAL_OF, Expr
from whet.ir.kernel import TILE, Pointwise

from .. import scalar, targets
from ..builder import Fn, Module, Val, vec
from ..modules import new_module
from ..shuffles import transposed
from .operands import Operands, Strides, apart, one_by_one
from .packed_rows import PackedRows, narrow

# the elements from one on, under a mask
Load: TypeAlias = Callable[[Val, Val | None], Val]
BLOCK = 512             # elements that are picked at once
# instructions for a vector from which on it is not loading and storing that counts
HEAVY = 16

_COST = {
    **dict.fromkeys(("exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan atan2 sinh "
                     "cosh tanh asinh acosh atanh sigmoid logit softplus silu mish gelu gelu_tanh "
                     "tanhshrink ndtr erf erfinv hypot").split(
                    ), 30), **dict.fromkeys(
        "mod fmod floordiv gcd pow cbrt erfc erfcx ndtri sinc lgamma digamma trigamma "
        "polygamma2".split(
        ),
        150)}


def parts(kernel: Pointwise) -> InParts | None:
    """What a kernel of complex numbers computes; None of one that has none."""
    try:
        return in_parts(kernel.roots, kernel.dtypes)
    except Inseparable as wrong:
        raise scalar.Unsupported(str(wrong)) from None


def computed(kernel: Pointwise) -> dict[int, str | None]:
    """The types of all that is computed, by the expressions' identities."""
    real = parts(kernel) or kernel
    return S.types(real.roots, real.dtypes)


def work_of(kernel: Pointwise) -> int:
    """A rough count of instructions that one vector of a kernel's results takes."""
    return work((parts(kernel) or kernel).roots)


def work(roots: Sequence[Expr]) -> int:
    """A rough count of instructions that one vector of results takes."""
    return sum(_COST.get(e.op, 1) for e in S.walk(*roots) if e.op not in ("arg", "const"))


def vector(kernel: Pointwise) -> int:
    """Elements that fill a vector: of the widest type of the kernel (places in tables, several);
    gathered ones come one by one, so at most 16."""
    tables = [e.args[0].value for e in S.walk(*kernel.roots) if e.op == "pick"]
    if tables:
        widest = max(scalar.BYTES[scalar.MEMORY[t]]
                     for t in (*kernel.results, *(kernel.dtypes[k] for k in tables)))
        return min(int(targets.current().bits) // 8 // widest, 16)
    types = [t for t in computed(kernel).values() if t]
    stored = [scalar.MEMORY[REAL_OF.get(t, t)] for t in (*kernel.dtypes, *kernel.results)]
    widest = max(scalar.BYTES.get(t, 1) for t in stored + [scalar.COMPUTE[t] for t in types])
    most = 16 if any(map(one_by_one, kernel.access)) else 64
    return min(int(targets.current().bits) // 8 // widest, most)


def lanes(kernel: Pointwise) -> int:
    """The number of elements computed at once. Two vectors hide each other's latency on processors
    that look ahead less far than one vector's work is long: those with narrow vectors."""
    n = vector(kernel)
    paired = (targets.current().name == "avx2" and n <= 8 and work_of(kernel) >= HEAVY
              and not any(e.op == "pick" for e in S.walk(*kernel.roots)))
    return 2 * n if paired else n


def nanoseconds(kernel: Pointwise) -> float:
    """A rough cost of one element, to cut work into parts that are worth a thread."""
    moved = sum(scalar.BYTES[scalar.MEMORY[t]]
                for t, a in zip((*kernel.dtypes, *kernel.results), kernel.access) if a != "s")
    return moved / 100 + kernel.access.count("g") / 4 + work_of(kernel) * 0.07 / vector(kernel)


def emit(kernel: Pointwise, module: Module, symbol: str, code: type[_Code] | None = None) -> None:
    """Write the kernel into a module as the function `symbol`."""
    for t in computed(kernel).values():
        if t and t not in scalar.COMPUTE:
            raise scalar.Unsupported(t)
    f = module.kernel(symbol)
    k = (code or _Code)(f, kernel)
    {"flat": k.flat, "rows": k.rows, "tiles": k.tiles, "packed": k.packed}[kernel.space]()


def has_form(kernel: Pointwise) -> bool:
    """Is there machine code for all that a kernel computes?"""
    try:
        emit(kernel, new_module(brief=True), "kernel")
    except scalar.Unsupported:
        return False
    return True


class _Code:
    """One kernel under construction."""

    def __init__(self, f: Fn, kernel: Pointwise) -> None:
        self.f, self.kernel = f, kernel
        self.inputs = len(kernel.dtypes)
        self.dtypes = (*kernel.dtypes, *kernel.results)
        self.parts = parts(kernel)
        self.count = len(self.dtypes)
        self.lanes = vector(kernel) if f.mod.brief else lanes(kernel)
        self.operands = Operands(f, self.dtypes, self.lanes)
        self.units, self.sizes = self.operands.units, self.operands.sizes
        self.picked = [e for e in S.walk(*kernel.roots) if e.op == "pick"]
        self.unroll = 4 if work_of(kernel) < HEAVY and not f.mod.brief else 1
        args, self.begin, self.end, _ = f.args
        self.base = [f.load("ptr", f.at(args, i, "i64")) for i in range(self.count)]
        if kernel.space != "flat":
            self.table = f.load("ptr", f.at(args, self.count, "i64"))

    # ---- one run of elements ---------------------------------------------------------------------
    def run(self, pointers: Sequence[Val], strides: Strides, n: Val,
            access: str) -> Any:
        """Elements 0..n along the inner dimension. `strides` are needed where the access is a
        gather.

        What is picked at one place for the whole run is a row of a table, found before the run.
        What is picked lane by lane is picked for a block of elements first: between other work
        gathers wait for their turn."""
        f, none = self.f, self.f.const(vec("i64", self.lanes), 0)
        still = [
            e for e in self.picked
            if all(access[a] == "s" for a in S.uses(e.args[1])) and access[e.args[0].value] in "sv"]
        lanewise = [e for e in self.picked if e not in still]
        rows = self.rows_of_tables(pointers, strides, access, still)
        kept = [f.alloca(self.units[e.args[0].value], BLOCK) for e in lanewise]
        roots = self.as_arguments(still + lanewise)
        types = [self.dtypes[e.args[0].value] for e in still + lanewise]

        def elements(here: Sequence[Val], n: Val, at: Val | int) -> None:
            loads = [functools.partial(self.of_row, e, p, access, at) for e, p in rows.items()]
            loads += [functools.partial(self.of_block, e, p)
                      for e, p in zip(lanewise, kept, strict=True)]
            self.elements(here, strides, n, access, roots, list(zip(loads, types, strict=True)))
        if not lanewise:
            return elements(pointers, n, 0)

        def block(at: Val, *worst: Val) -> list[Val]:
            here = [p if a == "s" else f.bytes_at(p, at * (size if a == "v" else s))
                    for p, a, size, s in zip(pointers, access, self.sizes, strides)]
            m = f.imin(n - at, BLOCK)
            found = self.places(here, strides, m, access, lanewise, kept, worst, rows, at)
            elements(here, m, at)
            return found

        self.note(pointers, lanewise, f.loop(0, n, BLOCK, block, [none] * len(lanewise)))

    def as_arguments(self, picked: Sequence[Expr]) -> tuple[Expr, ...]:
        """The roots, with what is picked as arguments after the inputs, in this order."""
        argument = {e: S.arg(self.inputs + j) for j, e in enumerate(picked)}
        roots = self.kernel.roots
        for e in reversed(self.picked):                      # the outer ones first
            roots = tuple([S.replace(r, e, argument[e]) for r in roots])
        return roots

    def used(self, roots: Sequence[Expr]) -> set[int]:
        """The operands that expressions read element by element: no tables, and nothing of them
        but their places."""
        found = {e.value for e in roots if e.op == "arg"}
        for e in S.walk(*roots):
            found.update(a.value for a in ((e.args[1], e.args[2],
                                            *e.args[4:]) if e.op == "pick" else e.args)
                         if a.op == "arg")
        return found

    def elements(self, pointers: Sequence[Val], strides: Strides, n: Val, access: str,
                 roots: tuple[Expr, ...], picked: Sequence[tuple[Load, str]]) -> None:
        """The roots at elements 0..n. `picked` are arguments after the inputs: (how to load them at
        an element, under a mask; their type)."""
        f, lanes = self.f, self.lanes
        used = self.used(roots)
        load = self.operands.loads(pointers, strides, access, used & set(range(self.inputs)))
        store = self.operands.stores(pointers, strides, access)
        dtypes = (*self.kernel.dtypes, *(t for _, t in picked))

        def step(i: Val, mask: Val | None = None, stream: bool = False) -> None:
            values = self.values(load, used, i, mask)
            values += [scalar.widen(f, of(i, mask), t) for of, t in picked]
            for k, x in enumerate(self.results(roots, values, dtypes)):
                store(self.inputs + k, i, x, mask, stream)

        def sweep(start: Val, stream: bool = False) -> None:
            self.sweep(start, n, lambda i, mask: step(i, mask, stream and mask is None))

        def streamed() -> None:
            """Past the cache: whole aligned vectors, after a part of one."""
            size = lanes * self.sizes[-1]
            head = f.imin(
                f.lshr(f.binary("and", 0 - address, size - 1), self.sizes[-1].bit_length() - 1), n)
            step(f.const("i64", 0), self.below(head))
            sweep(head, True)
            if targets.current().name != "neon":
                f.call("llvm.x86.sse.sfence", "void")

        if not self.kernel.stream or self.picked:
            sweep(f.const("i64", 0))
            return
        address = f.v("i64", f"ptrtoint ptr {pointers[-1].ref} to i64")
        fits = f.cmp("eq", f.binary("and", address, self.sizes[-1] - 1), 0)
        # in place, the line is in the cache already
        for p in pointers[:self.inputs]:
            fits = fits & f.cmp("ne", p, pointers[-1])
        f.if_(fits, streamed, lambda: sweep(f.const("i64", 0)))

    def sweep(self, start: Val, n: Val, step: Callable[[Val, Val | None], None]) -> None:
        """step(element, mask) from `start` to n: unrolled, vector by vector, and the rest of a
        vector."""
        f, lanes = self.f, self.lanes

        def several(i: Val) -> None:
            for u in range(self.unroll):
                step(i + u * lanes, None)
        if self.unroll > 1:
            wide = self.unroll * lanes
            stop = n - f.binary("and", n - start, wide - 1)
            f.loop(start, stop, wide, several)
            start = stop
        self.vectors(start, n, step)

    def values(self, load: Callable[..., Any], used: set[int], i: Val,
               mask: Val | None) -> list[Val]:
        """The values that expressions are computed from: one for each input, or two where parts of
        complex numbers are computed."""
        made = [load(k, i, mask) if k in used else self.operands.unread(k)
                for k in range(self.inputs)]
        return [x for value in made
                for x in (value if self.parts is None or len(value) == 2 else value * 2)]

    def results(self, roots: tuple[Expr, ...], values: Sequence[Val],
                dtypes: Sequence[str]) -> list[tuple[Val, ...]]:
        """The value of each root, in the form that it has in memory."""
        if self.parts is None:
            return [(x,) for x in scalar.results(self.f, roots, values, dtypes, self.lanes)]
        made = iter(scalar.results(self.f, self.parts.roots, values, self.parts.dtypes, self.lanes))
        return [tuple(next(made) for _ in range(n)) for n in self.parts.widths]

    # ---- elements of tables ----------------------------------------------------------------------
    def rows_of_tables(self, pointers: Sequence[Val], strides: Strides, access: str,
                       still: Sequence[Expr]) -> dict[Expr, Val]:
        """Where each row begins that is picked at one place for a whole run; the inner picks come
        before those whose places they are."""
        f, used, first = self.f, self.used(still), self.f.const("i64", 0)
        load = self.operands.loads(pointers, strides, access, used & set(range(self.inputs)))
        values = self.values(load, used, first, None) if still else []
        rows: dict[Expr, Val] = {}
        for e in still:
            found, _ = scalar.compute(
                f, [e.args[1]], values, self.kernel.dtypes, self.lanes,
                pick=lambda inner, _: self.of_rows(rows, inner, access, 0, first, None))
            n, *step = (f.load("i64", pointers[a.value]) for a in (e.args[2], *e.args[4:]))
            place = f.extract(found[0], 0)
            if e.value:
                place = f.intr("umin", place, place + n)     # negative ones are largest
            f.if_(f.cmp("uge", place, n),
                  lambda e=e: f.store(f.as_val(1, "i64"), pointers[e.args[3].value]))
            place = f.intr("umin", place, n - 1)
            k = e.args[0].value
            rows[e] = (f.bytes_at(pointers[k], place * step[0]) if step
                       else f.at(pointers[k], place, self.units[k]))
        return rows

    def of_row(self, e: Expr, row: Val, access: str, at: Val | int, i: Val,
               mask: Val | None) -> Val:
        """Elements of a row of a table, i counted from `at`; or the one that serves all."""
        f, k = self.f, e.args[0].value
        elem, ty = self.units[k], vec(self.units[k], self.lanes)
        if access[k] == "s":
            return f.splat(f.load(elem, row), self.lanes)
        p = f.at(f.at(row, at, elem), i, elem)
        return f.load(ty, p) if mask is None else f.mload(ty, p, mask)

    def of_rows(self, rows: Mapping[Expr, Val], e: Expr, access: str, at: Val | int, i: Val,
                mask: Val | None) -> Val:
        """Elements of a row of a table, as `of_row` returns them, in the form that is computed
        with."""
        return scalar.widen(self.f, self.of_row(e, rows[e], access, at, i, mask),
                            self.dtypes[e.args[0].value])

    def of_block(self, e: Expr, block: Val, i: Val, _mask: Val | None) -> Val:
        """The elements that were gathered for a block."""
        elem = self.units[e.args[0].value]
        return self.f.load(vec(elem, self.lanes), self.f.at(block, i, elem))

    def places(self, pointers: Sequence[Val], strides: Strides, n: Val, access: str,
               picked: Sequence[Expr], kept: Sequence[Val], worst: tuple[Val, ...],
               rows: Mapping[Expr, Val], first: Val) -> list[Val]:
        """Gather the picked operands of elements 0..n into `kept`. Element 0 is element `first` of
        the run. Returns the largest indices so far, for the check of bounds."""
        f, lanes, used = self.f, self.lanes, self.used(picked)
        load = self.operands.loads(pointers, strides, access, used & set(range(self.inputs)))
        spots = [f.alloca("i64", BLOCK) for _ in picked]
        most = self.find(pointers, strides, n, access, picked, spots, worst, rows, first)

        def fetch(i: Val, mask: Val | None) -> None:
            for e, spot, p in zip(picked, spots, kept):
                step = [load(a.value, i, None)[0] for a in e.args[4:]]
                x = self.fetch(e, f.load(vec("i64", lanes), f.at(spot, i, "i64")), step, pointers,
                               strides, access, i, mask)
                f.store(x, f.at(p, i, x.elem))
        self.vectors(f.const("i64", 0), n, fetch)
        return most

    def find(self, pointers: Sequence[Val], strides: Strides, n: Val, access: str,
             picked: Sequence[Expr], spots: Sequence[Val], worst: Sequence[Val],
             rows: Mapping[Expr, Val], first: Val | int) -> list[Val]:
        """Put the places that are picked for elements 0..n into `spots`; the largest so far."""
        f, lanes, used = self.f, self.lanes, self.used(picked)
        load = self.operands.loads(pointers, strides, access, used & set(range(self.inputs)))

        def find(i: Val, mask: Val | None, *worst: Val) -> list[Val]:
            values = self.values(load, used, i, mask)
            largest = dict(zip(picked, worst, strict=True))

            def pick(e: Expr, operands: Sequence[Val]) -> Val:
                if e in rows:
                    return self.of_rows(rows, e, access, first, i, mask)
                x, largest[e] = self.pick(e, operands, pointers, strides, access, i, mask,
                                          largest[e])
                return x
            found, _ = scalar.compute(f, [e.args[1] for e in picked], values, self.kernel.dtypes,
                                      lanes, pick=pick)
            for e, x, spot in zip(picked, found, spots):
                at, largest[e] = self.place(e, x, values[e.args[2].value], mask, largest[e])
                f.store(at, f.at(spot, i, "i64"))
            return list(largest.values())
        return self.vectors(f.const("i64", 0), n, find, worst)

    def note(self, pointers: Sequence[Val], picked: Sequence[Expr], worst: Sequence[Val]) -> None:
        """Places that a table does not have were read nowhere; they are noted."""
        f = self.f
        for e, w in zip(picked, worst, strict=True):
            size = f.splat(f.load("i64", pointers[e.args[2].value]), self.lanes)
            f.if_(f.any(f.cmp("uge", w, size)),
                  lambda e=e: f.store(f.as_val(1, "i64"), pointers[e.args[3].value]))

    def pick(self, e: Expr, operands: Sequence[Val], pointers: Sequence[Val],
             strides: Strides, access: str, i: Val, mask: Val | None,
             worst: Val) -> tuple[Val, Val]:
        """(The elements of a table at some places along a dimension, the largest place so far:
        see `ir.scalar.pick`.)"""
        _, places, n, _, *step = operands
        at, worst = self.place(e, places, n, mask, worst)
        return (scalar.widen(self.f, self.fetch(e, at, step, pointers, strides, access, i, mask),
                             self.dtypes[e.args[0].value]), worst)

    def place(self, e: Expr, places: Val, n: Val, mask: Val | None, worst: Val) -> tuple[Val, Val]:
        """(Places that the table has, the largest so far that was asked for, as an unsigned
        number.)"""
        f = self.f
        if e.value:
            places = f.intr("umin", places, places + n)      # negative ones are largest
        worst = f.intr(
            "umax", worst,
            places if mask is None else f.sel(mask, places, f.const(vec("i64", self.lanes), 0)))
        return f.intr("umin", places, n - 1), worst

    def fetch(self, e: Expr, at: Val, step: Sequence[Val], pointers: Sequence[Val],
              strides: Strides, access: str, i: Val, mask: Val | None) -> Val:
        """The elements at these places, as memory has them. `step`: the bytes from one place to
        the next, or nothing: they are side by side."""
        f, lanes, k = self.f, self.lanes, e.args[0].value
        ty, size, unit = self.units[k], self.sizes[k], "i8" if step else self.units[k]
        if step:
            at = at * step[0]
        p = (pointers[k] if access[k] == "s" else f.bytes_at(
            pointers[k], i * (size if access[k] == "v" else strides[k])))
        far = f.v(vec("ptr", lanes), f"getelementptr {unit}, ptr {p.ref}, {at!r}")
        if access[k] == "v":
            far = f.v(vec("ptr", lanes), f"getelementptr {ty}, {far!r}, {f.iota('i64', lanes)!r}")
        elif apart(access[k]):
            far = f.v(
                vec("ptr", lanes),
                f"getelementptr i8, {far!r}, {f.iota('i64', lanes) * f.splat(strides[k], lanes)!r}")
        # Where gathers are quick.
        if mask is not None or size >= 4 and targets.current().name == "avx512":
            return f.gather(vec(ty, lanes), far, mask)
        x = f.const(vec(ty, lanes), 0)
        for lane in range(lanes):
            x = f.insert(x, f.load(ty, f.extract(far, lane)), lane)
        return x

    def vectors(self, start: Val, n: Val, body: Callable[..., Any],
                carry: Sequence[Val] = ()) -> list[Val]:
        """body(i, mask, *carried) -> new carried values, for each vector of the elements from
        `start` to n. The rest at the end gets a mask; if code should be short, every vector
        does."""
        f, lanes = self.f, self.lanes
        if f.mod.brief:
            return f.loop(start, n, lanes,
                          lambda i, *carry: body(i, f.lanes_below(n - i, lanes), *carry), carry)
        left = f.binary("and", n - start, lanes - 1)
        whole = n - left
        carry = f.loop(start, whole, lanes, lambda i, *carry: body(i, None, *carry), carry)
        return f.if_(f.cmp("ne", left, 0), lambda: body(whole, self.below(left), *carry),
                     lambda: carry)

    def below(self, n: Val) -> Val:
        """The mask of the first n lanes, 0 <= n < lanes."""
        bits = self.f.const("i64", 1) << n
        mask = self.f.bitcast(self.f.conv("trunc", bits - 1, f"i{self.lanes}"),
                              vec("i1", self.lanes))
        self.f.first[mask.ref] = n
        return mask

    def flat(self) -> None:
        f = self.f
        pointers = [
            p if a == "s" else f.at(p, self.begin, m)
            for p, a, m in zip(self.base, self.kernel.access, self.units)]
        self.run(pointers, [None] * self.count, self.end - self.begin, self.kernel.access)

    # ---- an odometer over the outer dimensions ---------------------------------------------------
    def field(self, i: int) -> Val:
        return self.f.load("i64", self.f.at(self.table, i, "i64"))

    def odometer(self, at: int, visit: Callable[..., Any]) -> None:
        """visit(pointers, c, d) for each outer position in begin..end: c and d are its places in
        the two innermost of the dimensions, which are described in the table from `at` on."""
        f, m = self.f, self.count
        outer = self.field(at)
        sizes = f.at(self.table, at + 1, "i64")
        steps = f.at(sizes, outer + 1, "i64")
        wraps = f.at(steps, (outer + 1) * m, "i64")
        counters = f.alloca("i64", 72)                       # an array has at most 64 dimensions
        def word(table: Val, i: int | Val) -> Val:
            return f.load("i64", f.at(table, i, "i64"))

        def row(table: Val, d: int | Val) -> list[Val]:
            there = f.at(table, d * m, "i64")
            return [word(there, k) for k in range(m)]

        def decode(d: Val, rest: Val, *offsets: Val) -> list[Val]:
            size = word(sizes, d)
            c = f.urem(rest, size)
            f.store(c, f.at(counters, d, "i64"))
            return [f.udiv(rest, size), *(o + c * s for o, s in zip(offsets, row(steps, d)))]
        zero = f.const("i64", 0)
        _, *offsets = f.loop(0, outer, 1, decode, [self.begin, *[zero] * m])
        for d in range(2):                                   # past the last dimension too
            f.store(zero, f.at(counters, outer + d, "i64"))
        size, step = word(sizes, 0), row(wraps, 0)

        def body(_: Val, c: Val, *offsets: Val) -> list[Val]:
            visit([f.bytes_at(p, o) for p, o in zip(self.base, offsets)], c, word(counters, 1))

            def wrapped() -> list[Val]:
                def up(d: Val, c: Val) -> tuple[Val, Val]:
                    f.store(zero, f.at(counters, d, "i64"))
                    return d + 1, word(counters, d + 1) + 1

                d, c = f.while_(lambda d, c: f.cmp("eq", c, word(sizes, d)), up,
                                [f.const("i64", 1), word(counters, 1) + 1])
                f.store(c, f.at(counters, d, "i64"))
                return [zero, *(o + s for o, s in zip(offsets, row(wraps, d)))]
            more = f.cmp("slt", c + 1, size)
            return f.if_(more, lambda: [c + 1, *(o + s for o, s in zip(offsets, step))], wrapped)
        f.loop(self.begin, self.end, 1, body, [word(counters, 0), *offsets])

    def pieces(self) -> Callable[..., Any]:
        """The inner size of piece c of a row, as a function of c."""
        n, size, step = (self.field(i) for i in range(3))
        return lambda c: self.f.imin(n - c * step, size)

    def rows(self) -> None:
        strides = [
            self.field(3 + k) if apart(a) else None for k, a in enumerate(self.kernel.access)]
        piece = self.pieces()
        self.odometer(
            3 + self.count,
            lambda pointers, c, _: self.run(pointers, strides, piece(c), self.kernel.access))

    # ---- short rows ------------------------------------------------------------------------------
    def packed(self) -> None:
        """Panels of TILE rows, each walked as one run."""
        f, m, columns, rows = self.f, self.count, self.field(0), self.field(3 + self.count)
        down = [self.field(4 + m + k) for k in range(m)]
        letters, roots = self.kernel.access, self.as_arguments(self.picked)
        access = "".join("s" if a == "s" else "v" for a in letters)
        anew = {k: PackedRows(f, self.units[k], letters[k] == "o", columns)
                for k in sorted(self.used(roots)) if k < self.inputs and letters[k] not in "vs"}
        picks = [PackedRows(f, self.units[e.args[0].value], False, columns) for e in self.picked]
        spots = [f.alloca("i64", TILE + self.lanes) for _ in picks]
        loads = [(functools.partial(self.of_block, e, packed.rows), self.dtypes[e.args[0].value])
                 for e, packed in zip(self.picked, picks)]
        for k, packed in anew.items():
            if letters[k] == "b":                            # once for all panels
                packed.fill(self.base[k], f.const("i64", 0), TILE)

        def panel(pointers: Sequence[Val], c: Val, _: Val) -> None:
            height, here = f.imin(rows - c * TILE, TILE), list(pointers)
            for k, packed in anew.items():
                if letters[k] != "b":
                    packed.fill(pointers[k], down[k], height)
                here[k] = packed.rows
            if picks:
                worst = [f.const(vec("i64", self.lanes), 0)] * len(picks)
                self.note(pointers, self.picked, self.find(
                    pointers, down, height, letters.replace("o", "g"), self.picked, spots, worst,
                    {}, 0))
                narrow(f, columns, height, 1, functools.partial(self.pick_rows, spots, picks))
            self.elements(here, [None] * m, height * columns, access, roots, loads)
        self.odometer(4 + 2 * m, panel)

    def pick_rows(self, spots: Sequence[Val], picks: Sequence[PackedRows], i: Val, width: int,
                  mask: Val) -> None:
        """Copy what is picked for row i."""
        f = self.f
        for e, spot, packed in zip(self.picked, spots, picks, strict=True):
            table, place = self.base[e.args[0].value], f.load("i64", f.at(spot, i, "i64"))
            step = [f.load("i64", self.base[a.value]) for a in e.args[4:]]
            packed.put(f.bytes_at(table, place * step[0]) if step
                       else f.at(table, place, packed.unit), i, width, mask)

    # ---- tiles -----------------------------------------------------------------------------------
    def tiles(self) -> None:
        """Panels of TILE rows, cut into tiles: transposed operands are turned into scratch, then
        each row is a run."""
        f, m = self.f, self.count
        piece, cut, rows = self.pieces(), f.cmp("ne", self.field(2), 0), self.field(3 + m)
        across = [self.field(3 + k) for k in range(m)]
        down = [self.field(4 + m + k) for k in range(m)]
        turned = [
            f.alloca(ty, TILE * TILE) if a == "t" else None
            for a, ty in zip(self.kernel.access, self.units)]
        access = self.kernel.access.replace("t", "v")

        def panel(pointers: Sequence[Val], c: Val, d: Val) -> None:
            columns = piece(c)
            height = f.imin(rows - f.sel(cut, d, c) * TILE, TILE)

            def tile(j: Val) -> None:
                width = f.imin(columns - j, TILE)
                here = [f.bytes_at(p, j * s) for p, s in zip(pointers, across)]
                for k, scratch in enumerate(turned):
                    if scratch is not None:
                        self.turn(here[k], across[k], scratch, k, height, width)

                def one(i: Val) -> None:
                    at = [f.at(t, i * TILE, ty) if t is not None else f.bytes_at(p, i * s)
                          for t, ty, p, s in zip(turned, self.units, here, down)]
                    self.run(at, across, width, access)
                f.loop(0, height, 1, one)
            f.loop(0, columns, TILE, tile)
        self.odometer(4 + 2 * m, panel)

    def turn(self, source: Val, stride: Val, scratch: Val, k: int, height: Val, width: Val) -> None:
        """scratch[i][j] = element i of column j, for a tile of height x width."""
        f, ty, align = self.f, self.units[k], self.operands.alignment(k)
        edge = min(16, targets.current().bits // 8 // self.sizes[k])

        def block(i: Val, j: Val) -> None:
            left = height - i
            columns = [
                f.at(f.bytes_at(source, f.imin(j + c, width - 1) * stride), i, ty)
                for c in range(edge)]
            # the next tile's: over strides of pages the hardware looks not ahead
            for c in range(edge):
                f.prefetch(f.at(f.bytes_at(source, (j + c + TILE) * stride), i, ty))
            full = f.cmp("sge", left, edge)
            mask = f.lanes_below(left, edge)
            block = f.if_(full, lambda: [f.load(vec(ty, edge), p, align) for p in columns],
                          lambda: [f.mload(vec(ty, edge), p, mask, align) for p in columns])
            for r, line in enumerate(transposed(f, block)):
                f.store(line, f.at(scratch, (i + r) * TILE + j, ty), align)
        f.loop(0, height, edge, lambda i: f.loop(0, width, edge, lambda j: block(i, j)) and None)
