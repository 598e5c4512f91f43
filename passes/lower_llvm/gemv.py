"""A row times a matrix, for matrices that are read once: the same order of sums as `gemm`, the same table and operands.

Two kernels, by which of B's strides is the element's: `row_rows` (n adjacent) lets B's rows pass by a row of sums; `row_cols`
(k adjacent, as in x @ w.T) brings as many columns as a vector has lanes side by side by register transposes. A matrix times a
column is the same thing: its transpose is a row times a matrix.
"""
from . import pack, targets
from .builder import vec
from .gemm import DIMS, KC
from .pack import LLVM, WIDE, narrow, size, widen

DEPTH = 4               # rows of B that `row_rows` reads side by side
STRIP = 4096            # columns that it sums at a time: they stay in the first-level cache
GROUPS = 2              # vectors of columns that `row_cols` advances together, to hide the latency of their chains; one where
                        # memory is slower than a chain, for the fewer places it reads from at a time
NEAR = 1 << 19          # bytes of B that the second-level cache is expected to hold


class _Row:
    """What both kernels share: the operands, and the walk over units of `cols` columns."""

    def __init__(self, mod, symbol, dtype):
        self.dtype, self.wide = dtype, WIDE.get(dtype, dtype)
        self.s, self.ty, self.e = size(dtype), LLVM[self.wide], LLVM[dtype]
        self.lanes = targets.current().lanes(size(self.wide))
        f = self.f = mod.fn(symbol, [("ptr", "args"), ("i64", "begin"), ("i64", "end"), ("i64", "worker")])
        args, begin, end, _ = f.args
        a, b, c, table = (f.load("ptr", f.at(args, i, "i64")) for i in range(4))
        d = self.d = {n: f.load("i64", f.at(table, i, "i64")) for i, n in enumerate(DIMS)}
        across = f.sdiv(d["n"] + d["cols"] - 1, d["cols"])
        self.blocks = f.imax(f.sdiv(d["k"] + (KC - 1), KC), 1)
        self.prepare()

        def unit(u):
            z, j = f.sdiv(u, across), f.srem(u, across)
            outer, inner = f.sdiv(z, d["inner"]), f.srem(z, d["inner"])
            at = [f.bytes_at(p, outer * d[f"{x}_outer"] + inner * d[f"{x}_inner"]) for x, p in (("a", a), ("b", b), ("c", c))]
            run = f.imin(end - u, across - j)
            self.columns(*at, j * d["cols"], f.imin((j + run) * d["cols"], d["n"]))
            return [u + run]
        f.while_(lambda u: f.cmp("slt", u, end), unit, [begin])

    def prepare(self):
        """Code before the walk."""

    def multiply_add(self, x, y, acc):
        return self.f.fma(x, y, acc) if acc.is_float else x * y + acc

    def splat(self, p):
        """One element, widened, in all lanes."""
        return self.f.splat(widen(self.f, self.f.load(self.e, p), self.dtype, self.wide), self.lanes)

    def k_blocks(self, body):
        """body(k0, k1, first) for each block of K."""
        f = self.f
        f.loop(0, self.blocks, 1, lambda q: body(q * KC, f.imin(q * KC + KC, self.d["k"]), f.cmp("eq", q, 0)))


class _RowRows(_Row):
    def prepare(self):
        self.chains, self.sums = (self.f.alloca(self.ty, STRIP + self.lanes) for _ in range(2))

    def columns(self, a, b, c, j0, j1):
        f = self.f
        f.loop(j0, j1, STRIP, lambda j: self.strip(a, f.bytes_at(b, j * self.s), f.bytes_at(c, j * self.s), f.imin(j1 - j, STRIP)))

    def strip(self, a, b, c, n):
        """`n` columns: DEPTH rows of B at a time go by a row of chains."""
        f, d, lanes, t = self.f, self.d, self.lanes, vec(self.ty, self.lanes)

        def each(body):
            f.loop(0, n, lanes, lambda j: body(j, f.at(self.chains, j, self.ty), f.at(self.sums, j, self.ty)))

        def block(k0, k1, first):
            each(lambda j, chain, total: f.store(f.const(t, 0), chain))

            def rows(depth):
                def pass_(k):
                    xs = [self.splat(f.bytes_at(a, (k + i) * d["a_k"])) for i in range(depth)]
                    starts = [f.bytes_at(b, (k + i) * d["b_k"]) for i in range(depth)]

                    def vector(j):
                        chain, mask = f.at(self.chains, j, self.ty), f.lanes_below(n - j, lanes)
                        acc, ahead = f.load(t, chain), j * self.s + d["b_k"] * depth
                        for x, p in zip(xs, starts, strict=True):
                            y = f.mload(vec(self.e, lanes), f.at(p, j, self.e), mask)
                            acc = self.multiply_add(x, widen(f, y, self.dtype, self.wide), acc)
                            if depth > 1:
                                f.prefetch(f.bytes_at(p, ahead), locality=2)
                        f.store(acc, chain)
                    f.loop(0, n, lanes, vector)
                return pass_
            deep = k0 + ((k1 - k0) & -DEPTH)
            f.loop(k0, deep, DEPTH, rows(DEPTH))
            f.loop(deep, k1, 1, rows(1))

            def total(j, chain, total):
                acc = f.load(t, chain)
                acc, = f.if_(first, lambda: [acc], lambda: [f.load(t, total) + acc])
                f.store(acc, total)
            each(total)
        self.k_blocks(block)
        each(lambda j, chain, total: f.mstore(narrow(f, f.load(t, total), self.dtype), f.bytes_at(c, j * self.s),
                                              f.lanes_below(n - j, lanes)))


class _RowCols(_Row):
    def __init__(self, mod, symbol, dtype, far):
        self.far = far
        super().__init__(mod, symbol, dtype)

    def prepare(self):
        f, n = self.f, self.lanes
        self.chains, self.sums = f.alloca(self.ty, GROUPS * n), f.alloca(self.ty, GROUPS * n)
        self.square = f.alloca(self.ty, n * n)

    def columns(self, a, b, c, j0, j1):
        f, lanes = self.f, self.lanes
        most = 1 if self.far else GROUPS

        def some(j):
            groups = f.imin(f.sdiv(j1 - j + (lanes - 1), lanes), most)
            self.strip(a, b, c, j, groups)
        f.loop(j0, j1, most * lanes, some)

    def strip(self, a, b, c, j, groups):
        """`groups` vectors of columns from j on; the last one of all starts so early that it is whole."""
        f, d, lanes, t = self.f, self.d, self.lanes, vec(self.ty, self.lanes)

        def each(body):
            def group(g):
                body(f.imin(j + g * lanes, d["n"] - lanes), *(f.at(p, g * lanes, self.ty) for p in (self.chains, self.sums)))
            f.loop(0, groups, 1, group)

        def transposed(col, k, load):
            rows, p = [], f.bytes_at(b, col * d["b_n"] + k * self.s)
            for _ in range(lanes):
                rows.append(widen(f, load(vec(self.e, lanes), p), self.dtype, self.wide))
                p = f.bytes_at(p, d["b_n"])
            return pack.transpose(f, rows)

        per_row, per_square = f.imax(f.sdiv(d["k"] * self.s, 64), 1), max(1, lanes * lanes * self.s // 64)

        def fetch(col, k):
            """What the next columns need, a part in each step, row after row: the order in which memory is quick."""
            line = (f.lshr(k, lanes.bit_length() - 1) * groups + f.sdiv(col - j, lanes)) * per_square
            row = f.udiv(line, per_row)
            at = f.bytes_at(f.bytes_at(b, (j + groups * lanes + row) * d["b_n"]), (line - row * per_row) * 64)
            for i in range(per_square):
                f.prefetch(f.bytes_at(at, i * 64), locality=2)

        def block(k0, k1, first):
            whole = k0 + ((k1 - k0) & -lanes)
            each(lambda col, chain, total: f.store(f.const(t, 0), chain))

            def square(k):
                def step(col, chain, total):
                    if self.far:
                        fetch(col, k)
                    acc, x = f.load(t, chain), f.bytes_at(a, k * d["a_k"])
                    for y in transposed(col, k, f.load):
                        acc = self.multiply_add(self.splat(x), y, acc)
                        x = f.bytes_at(x, d["a_k"])
                    f.store(acc, chain)
                each(step)
            f.loop(k0, whole, lanes, square)

            def rest(k):
                mask = f.lanes_below(k1 - k, lanes)

                def step(col, chain, total):
                    for i, y in enumerate(transposed(col, k, lambda ty, p: f.mload(ty, p, mask))):
                        f.store(y, f.at(self.square, i * lanes, self.ty))

                    def one(i, acc):
                        x, y = self.splat(f.bytes_at(a, (k + i) * d["a_k"])), f.load(t, f.at(self.square, i * lanes, self.ty))
                        return self.multiply_add(x, y, acc)
                    acc, = f.loop(0, k1 - k, 1, one, [f.load(t, chain)])
                    f.store(acc, chain)
                each(step)
            f.loop(whole, k1, lanes, rest)

            def total(col, chain, total):
                acc = f.load(t, chain)
                acc, = f.if_(first, lambda: [acc], lambda: [f.load(t, total) + acc])
                f.store(acc, total)
            each(total)
        self.k_blocks(block)
        each(lambda col, chain, total: f.store(narrow(f, f.load(t, total), self.dtype), f.bytes_at(c, col * self.s)))


def row_rows(mod, symbol, dtype):
    """Emit the kernel for a B whose n is adjacent."""
    _RowRows(mod, symbol, dtype)


def row_cols(mod, symbol, dtype, far):
    """Emit the kernel for a B whose k is adjacent; `far` if it will come from beyond the second-level cache."""
    _RowCols(mod, symbol, dtype, far)
