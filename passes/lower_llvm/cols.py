"""Row programs as LLVM code, for rows that run across memory: neighbours in memory belong to different rows.

A vector holds the same element of neighbouring rows, so row scalars are vectors and nothing is folded across lanes; sums keep the 32
partial sums of `ir.rows` in memory. The bits are those of `rows.py`.
"""
import functools

from whet.ir import scalar as sc
from whet.ir.rows import BLOCK, INDEXED, LANES, SUMS, Reduce
from whet.passes.lower_llvm.builder import vec
from whet.passes.lower_llvm.rows import SIZE, Extreme, Kernel, Pairwise, Plan, lanes_for, load, reduction, store, types_in, values
from whet.passes.lower_llvm.scalar import COMPUTE

AHEAD = 4                        # rows (of one lane) that are fetched before they are needed


class Best(Extreme):
    """max_index, min_index with the position in a second vector; elements come in order, so the first of equals stays."""

    def start(self, f, lanes):
        return [f.const(vec(self.ty, lanes), self.worst), f.const(vec("i32", lanes), 0)]

    def step_at(self, f, state, x, i):
        up = f.cmp(self.better, x, state[0])
        if self.float:
            up = up | (f.cmp("uno", x, x) & f.cmp("ord", state[0], state[0]))
        return [f.sel(up, x, state[0]), f.sel(up, f.splat(i, x.lanes), state[1])]


class ColKernel(Kernel):
    """One program over rows that lie side by side in columns: outer index a, element i, column c; a unit of work is a panel of `width`
    columns of one a. After n come the number of blocks (if partial) and the number of columns; then the strides of a and i of each full
    operand, that of a of each row operand, and those of a and i of each full output. Row outputs are a-major without gaps. Results of
    blocks are (a, block, column). With `sequential` sums walk memory in order (for few columns), else lane by lane (for many)."""

    def __init__(self, program, partial=False, sequential=False):
        self.program, self.partial, self.sequential, self.plan = program, partial, sequential, Plan(program)
        dtypes = [v[0] for v in program.values]
        exprs = [s.expr for s in program.stages]
        self.W = lanes_for(types_in(exprs, dtypes))
        weight = len(sc.walk(*exprs)) + 2 * sum(len(sc.walk(s.expr)) > 6 for s in program.stages)
        self.width = self.W * (8 if weight <= 6 else 4 if weight <= 12 else 2)

    def emit(self, mod, symbol):
        self.start(mod, symbol)
        f, program = self.f, self.program
        self.blocks = self.slot("i64") if self.partial else None
        self.columns = self.slot("i64")
        self.strides = [[self.slot("i64") for _ in range({"full": 2, "row": 1}.get(o.kind, 0))] for o in program.operands]
        self.out_strides = [[self.slot("i64") for _ in range(2)] if self.has_stride(k) else [] for k, _ in self.outs]
        self.scratch = {}
        panels = f.sdiv(self.columns + (self.width - 1), self.width)

        def unit(u):
            self.block = f.urem(u, self.blocks) if self.partial else None
            rest = f.udiv(u, self.blocks) if self.partial else u
            a = f.udiv(rest, panels)
            c = (rest - a * panels) * self.width
            f.if_(f.cmp("sle", c + self.width, self.columns), lambda: self.panel(a, c, self.width // self.W, None),
                  lambda: self.edge(a, c))
        f.loop(f.args[1], f.args[2], 1, unit)

    def edge(self, a, c):
        """The last panel, a masked vector at a time."""
        f = self.f
        f.loop(c, self.columns, self.W, lambda c: self.panel(a, c, 1, f.lanes_below(self.columns - c, self.W)))

    def memory(self, what, ty, count):
        """Scratch memory of this name, reserved once."""
        key = (what, ty, count)
        if key not in self.scratch:
            self.scratch[key] = self.f.alloca(ty, count)
        return self.scratch[key]

    def panel(self, a, c, vectors, mask):
        """All walks over `vectors` vectors of columns from c on."""
        f, program = self.f, self.program
        self.vectors, self.mask, self.a, self.c = vectors, mask, a, c
        self.base = [f.bytes_at(p, a * st[0] + c * SIZE[o.dtype]) if st else p
                     for o, p, st in zip(program.operands, self.address, self.strides, strict=True)]
        lines = a * self.blocks + self.block if self.partial else a
        self.out_base = [f.bytes_at(p, (a * st[0] if st else lines * self.columns * SIZE[t]) + c * SIZE[t])
                         for (_, t), p, st in zip(self.outs, self.out_address, self.out_strides, strict=True)]
        self.known = [{i: load(f, o.dtype, f.bytes_at(self.base[i], v * self.W * SIZE[o.dtype]), self.W, mask) if o.kind == "row"
                       else self.address[i] for i, o in enumerate(program.operands) if o.kind in ("row", "scalar")} for v in range(vectors)]
        for p in self.plan.passes:
            self.walk(p)
            for k in p.rows if not self.partial else ():
                j, dtype = self.out_of(k)
                for v in range(vectors):
                    x, = self.uniforms([program.stages[k].expr], v)
                    store(f, dtype, f.splat(x, self.W), f.bytes_at(self.out_base[j], v * self.W * SIZE[dtype]), mask)

    def uniforms(self, exprs, v):
        defined = self.program.values
        return values(self.f, exprs, [self.known[v].get(i) for i in range(len(defined))], [d[0] for d in defined], self.W) if exprs else []

    def walk(self, p):
        f, program = self.f, self.program
        stages = [k for k in p.stages if self.plan.work(k)]
        kinds = {k: program.stages[k].kind for k in stages if isinstance(program.stages[k], Reduce)}
        sums = [k for k in stages if kinds.get(k) in SUMS]
        others = [k for k in stages if k in kinds and k not in sums]
        writes = [k for k in stages if k not in kinds]
        lo, hi = f.const("i64", 0), self.n
        if self.partial:
            lo = self.block * BLOCK
            hi = f.imin(lo + BLOCK, self.n)
        if others or (writes and not sums):
            self.in_order(others + (writes if not sums else []), lo, hi)
        if sums:
            self.in_lanes(sums + writes, sums, lo, hi)

    def prepare(self, stages):
        """What the loop over elements reads: expressions with row scalars taken out."""
        roots, uniform = self.plan.hoist([self.plan.expression(k) for k in stages])
        dtypes = [d[0] for d in self.program.values]
        self.roots, self.dtypes = roots, dtypes + [sc.typeof(e, dtypes) for e in uniform]
        self.used = sc.uses(*roots)
        self.hoisted = [self.uniforms(uniform, v) for v in range(self.vectors)]
        return {k: (Best if self.program.stages[k].kind in INDEXED else reduction)(self.program.stages[k].kind, self.program.values[self.program.results[k]][0])
                for k in stages if isinstance(self.program.stages[k], Reduce)}

    def element(self, i, v):
        """The stages' values for element i of the rows in vector v."""
        f, program = self.f, self.program
        xs = [None] * len(program.values) + self.hoisted[v]
        for arg in self.used:
            if arg >= len(program.values):
                continue
            dtype, kind = program.values[arg]
            if kind == "index":
                xs[arg] = f.conv("trunc", i, COMPUTE[dtype])
            elif kind == "col":
                xs[arg] = load(f, dtype, f.bytes_at(self.address[arg], i * SIZE[dtype]), 0)
            else:
                j = self.plan.kept.get(arg)
                base, stride = (self.out_base[j], self.out_strides[j][1]) if kind == "kept" else (self.base[arg], self.strides[arg][1])
                xs[arg] = load(f, dtype, f.bytes_at(base, i * stride + v * self.W * SIZE[dtype]), self.W, self.mask)
        return [f.splat(x, self.W) for x in values(f, self.roots, xs, self.dtypes, self.W)]

    def write(self, k, i, v, x):
        j, dtype = self.out_of(k)
        at = i * self.out_strides[j][1] + v * self.W * SIZE[dtype]
        store(self.f, dtype, x, self.f.bytes_at(self.out_base[j], at), self.mask)

    def define(self, k, v, *xs):
        f, program = self.f, self.program
        for j, x in enumerate(xs):
            a = program.results[k] + j
            self.known[v][a] = x
            if self.partial:
                out, dtype = self.out_of(k, j)
                store(f, dtype, x, f.bytes_at(self.out_base[out], v * self.W * SIZE[dtype]), self.mask)

    def in_order(self, stages, lo, hi):
        """Exact reductions, and stores: element after element."""
        f = self.f
        reds = self.prepare(stages)
        sizes = {k: len(reds[k].start(f, self.W)) for k in reds}

        def step(i, *flat):
            flat, new = list(flat), []
            got = [self.element(i, v) for v in range(self.vectors)]
            for q, k in enumerate(stages):
                for v in range(self.vectors):
                    x = got[v][q]
                    if k not in reds:
                        self.write(k, i, v, x)
                        continue
                    state = [flat.pop(0) for _ in range(sizes[k])]
                    red = reds[k]
                    new += red.step_at(f, state, x, f.conv("trunc", i, "i32")) if isinstance(red, Best) else red.step(f, state, x)
            return new
        flat = [x for k in reds for _ in range(self.vectors) for x in reds[k].start(f, self.W)]
        flat = f.loop(lo, hi, 1, step, flat)
        for k in reds:
            for v in range(self.vectors):
                state = [flat.pop(0) for _ in range(sizes[k])]
                if isinstance(reds[k], Best):
                    self.define(k, v, state[0], f.conv("zext", state[1], "i64"))
                else:
                    self.define(k, v, reds[k].end(f, state))

    def in_lanes(self, stages, sums, lo, hi):
        """Sums: 32 interleaved partial sums a block, folded by halves, blocks combined in pairs."""
        f = self.f
        reds = self.prepare(stages)
        vectors, W = self.vectors, self.W
        types = {k: vec(COMPUTE[reds[k].dtype], W) for k in sums}
        lanes = {k: self.memory(("lanes", k), types[k], LANES * vectors) for k in sums}
        stacks = {k: Pairwise(f, reds[k], W, vectors, functools.partial(self.memory, ("stack", k))) for k in sums} if not self.partial else {}

        def spot(k, lane, v):
            return f.at(lanes[k], f.as_val(lane, "i64") * vectors + v, types[k])

        def visit(i, acc):
            """Element i into the accumulators (a list per sum); stores on the way."""
            got = [self.element(i, v) for v in range(vectors)]
            for q, k in enumerate(stages):
                for v in range(vectors):
                    if k in acc:
                        acc[k][v] = reds[k].step(f, [acc[k][v]], got[v][q])[0]
                    else:
                        self.write(k, i, v, got[v][q])

        def lane_by_lane(b, end, count):
            def lane(l):
                def step(i, *flat):
                    for arg in self.used if self.mask is None else ():
                        if arg < len(self.base) and self.program.operands[arg].kind == "full":
                            for v in range(vectors):
                                f.prefetch(f.bytes_at(self.base[arg], (i + AHEAD * LANES) * self.strides[arg][1] + v * W * SIZE[self.dtypes[arg]]))
                    acc = {k: list(flat[q * vectors:(q + 1) * vectors]) for q, k in enumerate(sums)}
                    visit(i, acc)
                    return [x for k in sums for x in acc[k]]
                flat = f.loop(b + l, end, LANES, step, [reds[k].start(f, W)[0] for k in sums for _ in range(vectors)])
                for q, k in enumerate(sums):
                    for v in range(vectors):
                        f.store(flat[q * vectors + v], spot(k, l, v))
            f.loop(0, count, 1, lane)

        def in_memory_order(b, end, count):
            def clear(l):
                for k in sums:
                    for v in range(vectors):
                        f.store(reds[k].start(f, W)[0], spot(k, l, v))
            f.loop(0, count, 1, clear)

            def step(i):
                l = i & (LANES - 1)
                acc = {k: [f.load(types[k], spot(k, l, v)) for v in range(vectors)] for k in sums}
                visit(i, acc)
                for k in sums:
                    for v in range(vectors):
                        f.store(acc[k][v], spot(k, l, v))
            f.loop(b, end, 1, step)

        def block(b):
            end = f.imin(b + BLOCK, self.n)
            count = f.imin(end - b, LANES)
            (in_memory_order if self.sequential else lane_by_lane)(b, end, count)
            left, h = count, LANES // 2
            while h:
                def fold(l, h=h):
                    for k in sums:
                        for v in range(vectors):
                            x = reds[k].merge(f, [f.load(types[k], spot(k, l, v))], [f.load(types[k], spot(k, l + h, v))])[0]
                            f.store(x, spot(k, l, v))
                f.loop(0, f.imin(left - h, h), 1, fold)
                left, h = f.imin(left, h), h // 2
            for k in sums:
                xs = [f.load(types[k], spot(k, 0, v)) for v in range(vectors)]
                if self.partial:
                    for v in range(vectors):
                        self.define(k, v, xs[v])
                else:
                    stacks[k].push(f.sdiv(b, BLOCK), xs)
        f.loop(lo, hi, BLOCK, block)
        if not self.partial:
            for k in sums:
                for v, x in enumerate(stacks[k].total(f.sdiv(self.n + (BLOCK - 1), BLOCK))):
                    self.define(k, v, x)
