"""Pointwise kernels: `ir.kernel.Pointwise` to a function over a range of elements, rows or panels of tiles.

Operands are the inputs, then the results: slot i of `args` is the address of operand i's first element, and for spaces other than
flat one more slot is the address of `ir.kernel.tables`. An element's value is computed by the same code wherever it lies, so
neither the space nor the place in a vector can change a bit.
"""
from whet.ir import scalar as S
from whet.ir.kernel import TILE

from . import scalar, targets
from .builder import vec

_COST = {**dict.fromkeys(("exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh "
                         "sigmoid erf hypot").split(), 30),
         **dict.fromkeys("mod fmod floordiv gcd pow cbrt erfc erfinv lgamma digamma trigamma polygamma2".split(), 150)}


def work(roots):
    """A rough count of instructions that one vector of results takes."""
    return sum(_COST.get(e.op, 1) for e in S.walk(*roots) if e.op not in ("arg", "const"))


def lanes(kernel):
    """Elements computed at once: the widest type of the kernel fills a vector; gathered ones come one by one, so at most 16."""
    types = [t for t in S.types(kernel.roots, kernel.dtypes).values() if t]
    stored = [scalar.MEMORY[t] for t in (*kernel.dtypes, *kernel.results)]
    widest = max(scalar.BYTES.get(t, 1) for t in stored + [scalar.COMPUTE[t] for t in types])
    return min(targets.current().bits // 8 // widest, 16 if "g" in kernel.access else 64)


def nanoseconds(kernel):
    """A rough cost of one element, to cut work into parts that are worth a thread."""
    moved = sum(scalar.BYTES[scalar.MEMORY[t]] for t, a in zip((*kernel.dtypes, *kernel.results), kernel.access) if a != "s")
    return moved / 100 + kernel.access.count("g") / 4 + work(kernel.roots) * 0.07 / lanes(kernel)


def emit(kernel, module, symbol, code=None):
    """Write the kernel into a module as the function `symbol`."""
    for t in S.types(kernel.roots, kernel.dtypes).values():
        if t and t not in scalar.COMPUTE:
            raise scalar.Unsupported(t)
    f = module.fn(symbol, [("ptr", "args"), ("i64", "begin"), ("i64", "end"), ("i64", "worker")])
    k = (code or _Code)(f, kernel)
    {"flat": k.flat, "rows": k.rows, "tiles": k.tiles}[kernel.space]()


class _Code:
    """One kernel under construction."""

    def __init__(self, f, kernel):
        self.f, self.kernel = f, kernel
        self.inputs = len(kernel.dtypes)
        self.dtypes = (*kernel.dtypes, *kernel.results)
        self.memory = [scalar.MEMORY[t] for t in self.dtypes]
        self.sizes = [scalar.BYTES[m] for m in self.memory]
        self.count = len(self.dtypes)
        self.lanes = lanes(kernel)
        self.unroll = 4 if work(kernel.roots) < 16 else 1
        args, self.begin, self.end, _ = f.args
        self.base = [f.load("ptr", f.at(args, i, "i64")) for i in range(self.count)]
        if kernel.space != "flat":
            self.table = f.load("ptr", f.at(args, self.count, "i64"))

    # ---- one run of elements -----------------------------------------------------------------------------------------
    def run(self, pointers, strides, n, access):
        """Elements 0..n along the inner dimension. `strides` are needed where the access is a gather."""
        f, lanes = self.f, self.lanes
        same = [scalar.widen(f, f.load(m, p), t) if a == "s" else None
                for a, m, p, t in zip(access, self.memory, pointers, self.dtypes)]
        same = [s and f.splat(s, lanes) for s in same]
        hops = [f.iota("i64", lanes) * f.splat(s, lanes) if a == "g" else None for a, s in zip(access, strides)]

        def addresses(k, i):
            far = f.splat(i * strides[k], lanes) + hops[k]
            return f.v(f"<{lanes} x ptr>", f"getelementptr i8, ptr {pointers[k].ref}, {far!r}")

        def places(k, i):
            """The addresses one by one: a gather instruction is slower, and hides the stride from the prefetcher."""
            p = f.bytes_at(pointers[k], i * strides[k])
            for _ in range(lanes):
                yield p
                p = f.bytes_at(p, strides[k])

        def load(k, i, mask):
            if access[k] == "s":
                return same[k]
            ty = vec(self.memory[k], lanes)
            if access[k] == "g" and mask is None:
                x = f.const(ty, 0)
                for lane, p in enumerate(places(k, i)):
                    x = f.insert(x, f.load(self.memory[k], p), lane)
            elif access[k] == "g":
                x = f.gather(ty, addresses(k, i), mask)
            else:
                at = f.at(pointers[k], i, self.memory[k])
                x = f.load(ty, at) if mask is None else f.mload(ty, at, mask)
            return scalar.widen(f, x, self.dtypes[k])

        def store(k, i, x, mask, stream):
            if access[k] == "g" and mask is None:
                for lane, p in enumerate(places(k, i)):
                    f.store(f.extract(x, lane), p)
            elif access[k] == "g":
                f.scatter(x, addresses(k, i), mask)
            else:
                at = f.at(pointers[k], i, self.memory[k])
                if mask is not None:
                    f.mstore(x, at, mask)
                else:
                    f.store(x, at, lanes * self.sizes[k] if stream else None, stream)

        def step(i, mask=None, stream=False):
            values = [load(k, i, mask) for k in range(self.inputs)]
            for k, x in enumerate(scalar.results(f, self.kernel.roots, values, self.kernel.dtypes, lanes)):
                store(self.inputs + k, i, x, mask, stream)

        def sweep(start, stream=False):
            """From `start` to n: unrolled, vector by vector, and the rest of a vector."""
            left = f.binary("and", n - start, lanes - 1)
            whole = n - left
            if self.unroll > 1:
                wide = self.unroll * lanes
                stop = whole - f.binary("and", whole - start, wide - 1)
                f.loop(start, stop, wide, lambda i: [step(i + u * lanes, None, stream) for u in range(self.unroll)] and None)
                start = stop
            f.loop(start, whole, lanes, lambda i: step(i, None, stream))
            f.if_(f.cmp("ne", left, 0), lambda: step(whole, self.below(left)))

        def streamed():
            """Past the cache: whole aligned vectors, after a part of one."""
            size = lanes * self.sizes[-1]
            head = f.imin(f.lshr(f.binary("and", 0 - address, size - 1), self.sizes[-1].bit_length() - 1), n)
            step(f.const("i64", 0), self.below(head))
            sweep(head, True)
            if targets.current().name != "neon":
                f.call("llvm.x86.sse.sfence", "void")

        if not self.kernel.stream:
            return sweep(f.const("i64", 0))
        address = f.v("i64", f"ptrtoint ptr {pointers[-1].ref} to i64")
        fits = f.cmp("eq", f.binary("and", address, self.sizes[-1] - 1), 0)
        for p in pointers[:self.inputs]:                     # in place, the line is in the cache already
            fits = fits & f.cmp("ne", p, pointers[-1])
        f.if_(fits, streamed, lambda: sweep(f.const("i64", 0)))

    def below(self, n):
        """The mask of the first n lanes, 0 <= n < lanes."""
        bits = self.f.const("i64", 1) << n
        bits = self.f.conv("trunc", bits - 1, f"i{self.lanes}")
        return self.f.bitcast(bits, vec("i1", self.lanes))

    def flat(self):
        f = self.f
        pointers = [p if a == "s" else f.at(p, self.begin, m) for p, a, m in zip(self.base, self.kernel.access, self.memory)]
        self.run(pointers, [None] * self.count, self.end - self.begin, self.kernel.access)

    # ---- an odometer over the outer dimensions -----------------------------------------------------------------------
    def field(self, i):
        return self.f.load("i64", self.f.at(self.table, i, "i64"))

    def odometer(self, at, visit):
        """visit(pointers, c, d) for each outer position in begin..end: c and d are its places in the two innermost of the
        dimensions, which are described in the table from `at` on."""
        f, m = self.f, self.count
        outer = self.field(at)
        sizes = f.at(self.table, at + 1, "i64")
        steps = f.at(sizes, outer + 1, "i64")
        wraps = f.at(steps, (outer + 1) * m, "i64")
        counters = f.alloca("i64", 72)                       # an array has at most 64 dimensions
        word = lambda table, i: f.load("i64", f.at(table, i, "i64"))

        def row(table, d):
            there = f.at(table, d * m, "i64")
            return [word(there, k) for k in range(m)]

        def decode(d, rest, *offsets):
            size = word(sizes, d)
            c = f.urem(rest, size)
            f.store(c, f.at(counters, d, "i64"))
            return [f.udiv(rest, size), *(o + c * s for o, s in zip(offsets, row(steps, d)))]
        zero = f.const("i64", 0)
        _, *offsets = f.loop(0, outer, 1, decode, [self.begin, *[zero] * m])
        for d in range(2):                                   # past the last dimension too
            f.store(zero, f.at(counters, outer + d, "i64"))
        size, step = word(sizes, 0), row(wraps, 0)

        def body(_, c, *offsets):
            visit([f.bytes_at(p, o) for p, o in zip(self.base, offsets)], c, word(counters, 1))

            def wrapped():
                def up(d, c):
                    f.store(zero, f.at(counters, d, "i64"))
                    return d + 1, word(counters, d + 1) + 1
                d, c = f.while_(lambda d, c: f.cmp("eq", c, word(sizes, d)), up, [f.const("i64", 1), word(counters, 1) + 1])
                f.store(c, f.at(counters, d, "i64"))
                return [zero, *(o + s for o, s in zip(offsets, row(wraps, d)))]
            more = f.cmp("slt", c + 1, size)
            return f.if_(more, lambda: [c + 1, *(o + s for o, s in zip(offsets, step))], wrapped)
        f.loop(self.begin, self.end, 1, body, [word(counters, 0), *offsets])

    def pieces(self):
        """The inner size of piece c of a row, as a function of c."""
        n, size, step = (self.field(i) for i in range(3))
        return lambda c: self.f.imin(n - c * step, size)

    def rows(self):
        strides = [self.field(3 + k) if a == "g" else None for k, a in enumerate(self.kernel.access)]
        piece = self.pieces()
        self.odometer(3 + self.count, lambda pointers, c, _: self.run(pointers, strides, piece(c), self.kernel.access))

    # ---- tiles -------------------------------------------------------------------------------------------------------
    def tiles(self):
        """Panels of TILE rows, cut into tiles: transposed operands are turned into scratch, then each row is a run."""
        f, m = self.f, self.count
        piece, cut, rows = self.pieces(), f.cmp("ne", self.field(2), 0), self.field(3 + m)
        across = [self.field(3 + k) for k in range(m)]
        down = [self.field(4 + m + k) for k in range(m)]
        turned = [f.alloca(ty, TILE * TILE) if a == "t" else None for a, ty in zip(self.kernel.access, self.memory)]
        access = self.kernel.access.replace("t", "v")

        def panel(pointers, c, d):
            columns = piece(c)
            height = f.imin(rows - f.sel(cut, d, c) * TILE, TILE)

            def tile(j):
                width = f.imin(columns - j, TILE)
                here = [f.bytes_at(p, j * s) for p, s in zip(pointers, across)]
                for k, scratch in enumerate(turned):
                    if scratch is not None:
                        self.turn(here[k], across[k], scratch, k, height, width)

                def one(i):
                    at = [f.at(t, i * TILE, ty) if t is not None else f.bytes_at(p, i * s)
                          for t, ty, p, s in zip(turned, self.memory, here, down)]
                    self.run(at, across, width, access)
                f.loop(0, height, 1, one)
            f.loop(0, columns, TILE, tile)
        self.odometer(4 + 2 * m, panel)

    def turn(self, source, stride, scratch, k, height, width):
        """scratch[i][j] = element i of column j, for a tile of height x width."""
        f, ty = self.f, self.memory[k]
        edge = min(16, targets.current().bits // 8 // self.sizes[k])

        def block(i, j):
            left = height - i
            columns = [f.at(f.bytes_at(source, f.imin(j + c, width - 1) * stride), i, ty) for c in range(edge)]
            for c in range(edge):                            # the next tile's: over strides of pages the hardware looks not ahead
                f.prefetch(f.at(f.bytes_at(source, (j + c + TILE) * stride), i, ty))
            full = f.cmp("sge", left, edge)
            mask = f.lanes_below(left, edge)
            block = f.if_(full, lambda: [f.load(vec(ty, edge), p) for p in columns],
                          lambda: [f.mload(vec(ty, edge), p, mask) for p in columns])
            for r, line in enumerate(transposed(f, block)):
                f.store(line, f.at(scratch, (i + r) * TILE + j, ty))
        f.loop(0, height, edge, lambda i: f.loop(0, width, edge, lambda j: block(i, j)) and None)


def transposed(f, rows):
    """The columns of a square of vectors, by exchanging halves of ever smaller squares."""
    n = len(rows)
    half = n // 2
    while half:
        low = [i - half + n if i & half else i for i in range(n)]
        high = [i + n if i & half else i + half for i in range(n)]
        rows = list(rows)
        for r in range(n):
            if not r & half:
                a, b = rows[r], rows[r + half]
                rows[r], rows[r + half] = f.shuffle(a, b, low), f.shuffle(a, b, high)
        half //= 2
    return rows

