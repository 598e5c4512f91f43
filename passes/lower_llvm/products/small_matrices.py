"""Many products of small matrices, and many rows times one small matrix, in the order of sums of
`gemm` (or of `one_row`, where a product has one row or column).

A matrix is in a register as a whole, or several matrices, one after the other. For each step of
the sums the elements of A and of B that the results want are brought to the lanes of the results by
a shuffle: the sums of all elements of some matrices go on in one register. Tiles, whose vectors are
columns of one matrix, would leave most lanes unused.

A unit is a group of products. Table and operands are those of `gemm`; `inner` products follow each
other, `outer` times, and `rows` and `cols` say nothing.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from .. import scalar
from ..builder import Module, Val, vec
from .gemm import DIMS, Epilogue, load_operands
from .one_row import CHAINS
from .pack import LLVM, size

TYPES = ("f32", "f64", "i32", "i64")     # whose sums are of their own type
BYTES = 128                              # of what a register holds, or some side by side


class Form(NamedTuple):
    """The facts by which such a kernel is specialised."""
    m: int
    n: int
    k: int
    group: int                           # products of a unit
    a_turned: bool                       # are columns of A adjacent, not rows?
    b_turned: bool
    a_once: bool                         # do all of a row of products have one A?
    b_once: bool
    one: bool                            # the order of sums of `one_row`
    # of each operand of the epilogue: "same" (as C), "matrix", "row" (of n) or "number" for
    # all, "column" (of m) or "each" (a number) for each product
    operands: tuple[str, ...] = ()

    @property
    def lanes(self) -> int:
        """The number of lanes for what a unit reads of an operand, and for its results."""
        most = max(self.m * self.k * (1 if self.a_once else self.group),
                   self.k * self.n * (0 if self.b_once else self.group),
                   self.m * self.n * self.group)
        return 16 if most <= 16 else 32

    @property
    def b_apart(self) -> bool:
        """Is one B larger than a register, and read a row at a time?"""
        return self.b_once and self.k * self.n > self.lanes


def small(mod: Module, symbol: str, dtype: str, form: Form, dst: str | None = None,
          epilogue: Epilogue | None = None) -> None:
    """Emit the kernel."""
    _Small(mod, symbol, dtype, form, dst or dtype, epilogue).emit()


class _Small:
    def __init__(self, mod: Module, symbol: str, dtype: str, form: Form, dst: str,
                 epilogue: Epilogue | None) -> None:
        self.dtype, self.dst, self.form, self.epilogue = dtype, dst, form, epilogue
        f = self.f = mod.kernel(symbol)
        args, self.begin, self.end, _ = f.args
        self.pointers = [f.load("ptr", f.at(args, i, "i64")) for i in range(3)]
        table = f.load("ptr", f.at(args, 3, "i64"))
        self.d = {n: f.load("i64", f.at(table, i, "i64")) for i, n in enumerate(DIMS)}
        self.operands = load_operands(f, args, table, epilogue)
        self.t = vec(LLVM[dtype], form.lanes)

    def emit(self) -> None:
        """The units, a row of groups after the other."""
        f, d, group = self.f, self.d, self.form.group
        across = f.sdiv(d["inner"] + (group - 1), group)

        def row(u: Val) -> list[Val]:
            z, j = f.sdiv(u, across), f.srem(u, across)
            run = f.imin(self.end - u, across - j)
            self.groups(z, j, j + run)
            return [u + run]
        f.while_(lambda u: f.cmp("slt", u, self.end), row, [self.begin])

    def groups(self, z: Val, first: Val, end: Val) -> None:
        """Groups first ... end of row z."""
        f, d, form = self.f, self.d, self.form
        a, b, c = (f.bytes_at(p, z * d[f"{x}_outer"])
                   for p, x in zip(self.pointers, "abc", strict=True))
        a_size, b_size, c_size = form.m * form.k, form.k * form.n, form.m * form.n
        every = self.steps(a, a_size, self.a_lanes()) if form.a_once else None
        each = None
        if form.b_once:
            each = self.rows(b) if form.b_apart else self.steps(b, b_size, self.b_lanes())
        read = [self.operand(i, z) for i in range(len(self.operands))]

        def some(j: Val, count: int | Val) -> None:
            """A group of so many products."""
            j = j * form.group
            xs = every or self.steps(f.bytes_at(a, j * d["a_inner"]), count * a_size,
                                     self.a_lanes())
            ys = each or self.steps(f.bytes_at(b, j * d["b_inner"]), count * b_size,
                                    self.b_lanes())
            mask = f.lanes_below(count * c_size, form.lanes)
            f.put(mask, (self.after(self.sums(xs, ys), [g(j, count, mask) for g in read]),
                         f.bytes_at(c, j * d["c_inner"])))

        if form.group == 1:
            f.loop(first, end, 1, lambda j: some(j, 1))
        elif f.mod.brief:
            f.loop(first, end, 1,
                   lambda j: some(j, f.imin(d["inner"] - j * form.group, form.group)))
        else:
            whole = f.sdiv(d["inner"], form.group)
            f.loop(first, f.imin(end, whole), 1, lambda j: some(j, form.group))
            f.if_(f.cmp("sgt", end, whole),
                  lambda: some(whole, d["inner"] - whole * form.group))

    def a_lanes(self) -> list[list[int]]:
        """For each step, which element of A goes to each lane of the results."""
        m, k, turned, once = self.form.m, self.form.k, self.form.a_turned, self.form.a_once
        return self.lanes(lambda p, i, _, q: (0 if once else p * m * k)
                          + (q * m + i if turned else i * k + q))

    def b_lanes(self) -> list[list[int]]:
        """For each step, which element of B goes to each lane of the results."""
        k, n, turned, once = self.form.k, self.form.n, self.form.b_turned, self.form.b_once
        return self.lanes(lambda p, _, j, q: (0 if once else p * k * n)
                          + (j * k + q if turned else q * n + j))

    def lanes(self, place: Callable[[int, int, int, int], int]) -> list[list[int]]:
        """For each step, place(product, row, column, step) of each lane."""
        form = self.form
        made = []
        for q in range(form.k):
            row = [place(p, i, j, q) for p in range(form.group) for i in range(form.m)
                   for j in range(form.n)]
            made.append(row + [0] * (form.lanes - len(row)))
        return made

    def steps(self, p: Val, count: int | Val, lanes: Sequence[Sequence[int]]) -> list[Val]:
        """What each step wants of `count` elements at p."""
        f = self.f
        x = f.mload(self.t, p, f.lanes_below(count, self.form.lanes))
        return [f.shuffle(x, None, index) for index in lanes]

    def rows(self, b: Val) -> list[Val]:
        """The rows of one B, each in all products' lanes: read from a copy in their order."""
        f, n, k, elem = self.f, self.form.n, self.form.k, LLVM[self.dtype]
        copy = f.alloca(elem, k * n)
        for q in range(k):
            for j in range(n):
                x = f.load(elem, f.at(b, j * k + q if self.form.b_turned else q * n + j, elem))
                f.store(x, f.at(copy, q * n + j, elem))
        mask = f.lanes_below(n, self.form.lanes)
        return [f.shuffle(f.mload(self.t, f.at(copy, q * n, elem), mask), None,
                          [i % n for i in range(self.form.lanes)]) for q in range(k)]

    def sums(self, xs: Sequence[Val], ys: Sequence[Val]) -> Val:
        """The products added up."""
        f, acc = self.f, self.f.const(self.t, 0)
        if not self.form.one:
            for x, y in zip(xs, ys, strict=True):
                acc = self.multiply_add(x, y, acc)
            return acc
        return self.halved([self.multiply_add(x, y, f.const(self.t, 0))
                            for x, y in zip(xs, ys, strict=True)])

    def multiply_add(self, x: Val, y: Val, acc: Val) -> Val:
        return self.f.fma(x, y, acc) if acc.is_float else x * y + acc

    def halved(self, chains: Sequence[Val]) -> Val:
        """The sum of chains, of which the unused ones are zeros. After one addition a sum is -0
        only if both terms were, so adding more zeros does not change it."""
        some: list[tuple[Val, bool]] = [(x, not x.is_float) for x in chains]
        width = CHAINS
        while width > 1:
            width //= 2
            made = []
            for i, (x, settled) in enumerate(some[:width]):
                if i + width < len(some):
                    y, other = some[i + width]
                    made.append((x + y, settled or other))
                else:
                    made.append((x if settled else x + self.f.const(self.t, 0), True))
            some = made
        return some[0][0]

    def operand(self, which: int, z: Val) -> Callable[[Val, int | Val, Val], Val]:
        """What reads an operand of the epilogue in row z: for a group's first product, how many
        products it has, and the lanes that there are."""
        f, form = self.f, self.form
        p, _, p_outer, p_inner = self.operands[which]
        assert self.epilogue is not None
        elem = LLVM[self.epilogue.operands[which].dtype]
        p, t, kind = f.bytes_at(p, z * p_outer), vec(elem, form.lanes), form.operands[which]
        if kind == "same":
            return lambda j, _, mask: f.mload(t, f.bytes_at(p, j * p_inner), mask)
        if kind in ("column", "each"):
            return lambda j, count, _: self.spread(t, f.bytes_at(p, j * p_inner), count, kind)
        if kind == "number":
            x = f.splat(f.load(elem, p), form.lanes)
        else:
            numbers = form.n if kind == "row" else form.m * form.n
            x = f.mload(t, p, f.lanes_below(numbers, form.lanes))
            x = f.shuffle(x, None, [i % numbers for i in range(form.lanes)])
        return lambda j, count, mask: x

    def spread(self, t: str, p: Val, count: int | Val, kind: str) -> Val:
        """Numbers at p, one for each row of `count` products or one for each product, in the lanes
        of all that they are for."""
        f, form = self.f, self.form
        numbers, lanes_each = (form.m, form.n) if kind == "column" else (1, form.m * form.n)
        x = f.mload(t, p, f.lanes_below(count * numbers, form.lanes))
        return f.shuffle(x, None, [min(i // lanes_each, form.group * numbers - 1)
                                   for i in range(form.lanes)])

    def after(self, x: Val, operands: Sequence[Val]) -> Val:
        """The products with the epilogue, as they are stored."""
        if self.epilogue is None:
            return x
        y, = scalar.emit(self.f, [self.epilogue.expression], [x, *operands],
                         [self.dtype, *(o.dtype for o in self.epilogue.operands)],
                         self.form.lanes)
        return y


def most(dtype: str) -> int:
    """The largest number of elements of a matrix for such a kernel."""
    return min(32, BYTES // size(dtype))
