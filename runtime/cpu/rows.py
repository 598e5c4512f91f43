"""Row programs on NumPy arrays: which kernel, over which axes, in which order of memory.

What follows from shapes and strides (orientation, copies, long rows split over threads) is decided
once and kept. It never changes a bit of a result: every way through here adds in the order that
`ir.rows` states. """
import functools
import math

import numpy as np
from whet.cpu import memory, native, pointwise, taped_launches, thread_pool, tiered_compilation
from whet.ir import rows as R
from whet.ir.row_layout import ColumnWalk
from whet.ir.symbolic_size import at_least, chosen, plan_for

from .reference_only import REFERENCE
from .row_kernels import (
    DENSE,
    DTYPES,
    FEW,
    FEW_VECTORS,
    LONG,
    MANY,
    NARROW,
    SHORT,
    SUPPORTED,
    column_kernel,
    column_shape,
    dense,
    finishing_kernel,
    in_fours,
    narrow_kernel,
    one_of_few,
    per_grain,
    row_kernel,
    short_kernel,
    short_rows,
    span_of,
    span_program,
    walks,
    weight,
)
from .rows_in_memory import RowsInMemory

_plans: dict = {}
thread_pool.on_change.append(_plans.clear)      # what is shared out depends on the threads


def rows(program, operands, axes=(-1,)):
    """Run a row program along `axes` (one axis, or several taken as one in row-major order): the
    list of its outputs.

    Full operands have one shape. Row operands have that shape without the axes, or with size 1
    there (then with any strides); column operands have the axes' sizes; scalars are Python numbers;
    an index operand is None. Full outputs have the full shape, row outputs that without the
    axes."""
    key = ((program, axes, *[
        (x.shape, x.strides, x.dtype) if isinstance(x, np.ndarray) else None for x in operands]))
    plan = _plans.get(key) or plan_for(
        rows, key, lambda: Plan(program, operands, axes), functools.partial(remember, _plans, key))
    return plan(*operands)


def remember(plans, key, plan):
    """Keep a plan; the store is emptied before it can grow without bound."""
    if len(plans) > 20000:
        plans.clear()
    plans[key] = plan
    return plan


def contiguous(x):
    """A contiguous copy, or x itself. Where a tape listens, it is a launch, however small."""
    if x.flags.c_contiguous:
        return x
    out = memory.empty(x.shape, x.dtype)
    if taped_launches.listens():
        pointwise.move(taped_launches.partial(out), x)
        return out
    return pointwise.copy(out, x)


def _turned(y, shape, order):
    """What launches made as `shape`, with its dimensions in another order."""
    turned = y.reshape(shape).transpose(order)
    if not turned.flags.c_contiguous:
        taped_launches.partial(y)
    return contiguous(turned)


class Plan:
    """How to run one program on operands of these shapes and strides; call it with the operands."""

    def __init__(self, program, operands, axes, row_shape=None):
        self.program = program
        for i, (x, o) in enumerate(zip(operands, program.operands, strict=True)):
            if (o.is_full or o.is_row or o.is_column) and x.dtype != DTYPES[o.dtype]:
                raise TypeError(f"{program.name}: operand {i} is {o.dtype}, not {x.dtype}")
        lead = next(x for x, o in zip(operands, program.operands, strict=True) if o.is_full)
        self.shape = shape = lead.shape
        self.axes = tuple(sorted(a % len(shape) for a in axes)) if shape else ()
        self.outer = tuple(a for a in range(len(shape)) if a not in self.axes)
        self.n = math.prod(shape[a] for a in self.axes)
        self.count = math.prod(shape[a] for a in self.outer)
        self.plain_rows = tuple(shape[a] for a in self.outer)
        self.row_shape = self.plain_rows if row_shape is None else row_shape
        self.full_out = [isinstance(program.stages[k], R.Store) for k, _ in program.outputs]
        self.out_types = [DTYPES[t] for _, t in program.outputs]
        self.out_shapes = [shape if full else self.row_shape for full in self.full_out]
        self.passed = [i for i, o in enumerate(program.operands) if not o.is_position]
        # (kernel, its last arguments) of a plan that is one launch whose units are the rows
        self.by_row = None
        with tiered_compilation.work(self.n * self.count):
            self.run = self._choose(operands)

    def __call__(self, *operands):
        return self.run(*operands)

    # ---- deciding
    def _choose(self, operands):
        if REFERENCE or any(o.dtype not in SUPPORTED for o in self.program.operands):
            return self._reference
        if not self.count or (not self.n and all(self.full_out)):
            return lambda *operands: [
                memory.empty(s, t) for s, t in zip(self.out_shapes, self.out_types, strict=True)]
        if not self.n:                       # kernels have nothing to go over
            return self._reference
        if any(self._must_copy(x, o) for x, o in zip(operands, self.program.operands, strict=True)):
            return self._with_contiguous
        return self._orient(operands) or self._copied

    def _must_copy(self, x, o):
        if o.is_row:
            return (x.shape != self._kept_shape()
                    and (x.shape != self.plain_rows or not x.flags.c_contiguous))
        return o.is_column and (x.size != self.n or not x.flags.c_contiguous)

    def _kept_shape(self):
        return tuple(1 if a in self.axes else s for a, s in enumerate(self.shape))

    def _orient(self, operands):
        """The way to run without copies; None if there is none."""
        there = RowsInMemory(self, operands)
        rest, order, arrays = there.rest, there.order, len(there.arrays)
        if len(rest.sizes) > 2:
            return None
        run = self._narrow(there)
        if run is not None:
            return run
        if self.n and len(there.reduced.sizes) > 1:
            return (self._by_rows(rest, arrays, order, there.reduced)
                    if there.is_in_pieces(self.program) else None)
        step = there.step(self.n)
        if self._has_short_rows(there, step):
            return self._by_columns(step, rest, arrays, order, ColumnWalk.APART)
        if there.follow(step):
            return self._by_rows(rest, arrays, order)
        if rest.sizes and self.n < 2**31:
            still = there.same_in_all_columns()
            if still is not None:
                return self._by_columns(step, rest, arrays, order, still=still)
        return None

    def _has_short_rows(self, there, step):
        """Are rows so short that several are better walked side by side, although what is beside
        an element lies apart?"""
        if there.follow(step) and self.n > 3 and short_rows(self.program, self.n):
            return False
        return (self.n <= SHORT and self.count >= 16 and len(there.rest.sizes) == 1
                and there.row_operands_are_dense() and not there.columns_follow())

    def _narrow(self, there):
        """The way for rows of a few elements that follow each other in memory; None where they
        are not that."""
        reduced, rest, arrays = there.reduced, there.rest, there.arrays
        program, size, pieces = self.program, (reduced.sizes or [1])[-1], 1
        if len(reduced.sizes) == 2:
            pieces = reduced.sizes[0]
        if (type(self.n) is not int or not 1 < self.n <= R.LANES or len(reduced.sizes) > 2
                or not rest.sizes or self.n * weight(program) > MANY):
            return None
        far, lanes = rest.strides[-1], column_shape(program)[1]
        steps = reduced.strides[-1]
        most = NARROW if lanes >= NARROW else NARROW // 2
        if rest.sizes[-1] < lanes:
            return None

        def how(i, itemsize, m, step, out):
            """How the columns of array i lie, m elements of each together; None where no kernel
            reads that."""
            if far[i] in (0, itemsize):
                return None if out and not far[i] else far[i] and -1
            k = far[i] // itemsize
            if far[i] % itemsize or not m <= k <= most or m > 1 and step != itemsize:
                return None
            return k if k == m or itemsize >= 4 and not out else None
        inputs = len(arrays) - sum(self.full_out)
        hows = [how(i, n, size, steps[i], i >= inputs) for i, (_, n) in enumerate(arrays)]
        hows += [how(i, n, 1, 0, False) for i, n in enumerate(there.row_bytes, len(arrays))]
        if None in hows or max(hows) < 1 or not one_of_few(program, self.n):
            return None
        columns, outer = rest.sizes[-1], rest.sizes[0] if len(rest.sizes) == 2 else 1
        strides = rest.strides[0] if len(rest.sizes) == 2 else [0] * len(far)

        def full(i):
            return [strides[i], steps[i], reduced.strides[0][i] if pieces > 1 else 0]

        numbers = [
            self.n, columns, *self._strides_in_order(len(arrays), full, lambda i: [strides[i]])]
        hows = self._strides_in_order(len(arrays), lambda i: [hows[i]], lambda i: [hows[i]])
        kernel = chosen(lambda pieces, *hows: narrow_kernel(program, size, pieces, hows),
                        pieces, *hows)
        grain = at_least(per_grain(self.program) // (self.n * lanes), 1)
        return self._direct(kernel, outer * -(-columns // lanes), grain, numbers, there.order)

    def _strides_in_order(self, arrays, full, row):
        """The strides as kernels want them: of operands, then of outputs. `full(i)`, `row(i)`
        give those of array i."""
        at, row_at, numbers = 0, arrays, []
        for o in self.program.operands:
            if o.is_full:
                numbers += full(at)
                at += 1
            elif o.is_row:
                numbers += row(row_at)
                row_at += 1
        for is_full in self.full_out:
            if is_full:
                numbers += full(at)
                at += 1
        return numbers

    def _by_rows(self, rest, arrays, order, reduced=None):
        """`reduced`: rows are in pieces, this is how."""
        rank = max(1, len(rest.sizes))
        strides = rest.strides or [[0] * (arrays + len(self.program.operands))]

        def row(i):
            return [s[i] for s in strides]

        def full(i):
            return [*row(i), reduced.strides[0][i]] if reduced else row(i)

        def plain(size):
            return [size] if rank == 1 else [size * rest.sizes[1], size]
        sizes = [*([rest.sizes[1]] if rank == 2 else []), *([reduced.sizes[1]] if reduced else [])]
        if self._splits(self.count):
            return self._split(
                lambda p: row_kernel(p, rank, partial=True, pieces=reduced is not None),
                lambda walk: [*sizes, *self._walk_strides(walk, arrays, full, row, plain)],
                lambda walk: self.count, (self.count, 1), order)
        grain = at_least(per_grain(self.program) // at_least(self.n, 1), 1)
        numbers = [self.n, *sizes, *self._strides_in_order(arrays, full, row)]
        short = short_rows(self.program, self.n) if not reduced and self.count >= FEW else None
        if short:
            kernel = chosen(functools.partial(short_kernel, self.program, rank), *short)
        else:
            kernel = row_kernel(self.program, rank, partial=False, pieces=reduced is not None)
        if order == sorted(order):
            self.by_row = kernel, tuple(numbers)
        return self._direct(kernel, self.count, grain, numbers, order)

    def _by_columns(self, step, rest, arrays, order, mode=None, still=()):
        """`still`: the arrays that are the same in all columns."""
        columns, outer = rest.sizes[-1], rest.sizes[0] if len(rest.sizes) == 2 else 1
        strides = rest.strides[0] if len(rest.sizes) == 2 else [0] * len(rest.strides[0])

        def of(i):
            of_column = [rest.strides[-1][i]] if mode is ColumnWalk.APART else []
            return [strides[i], step[i], *of_column]

        def row_of(i):
            return [strides[i]]
        still = self._operands_of(still, arrays)
        mode = mode or self._column_mode(step, columns, outer, still)
        vectors, panels = self._panels(self.program, columns, outer, mode)
        units = outer * panels
        if self._splits(units, columns // panels):
            if still:
                return None

            def kernel(p):
                fits = mode is not ColumnWalk.DENSE or self._one_panel(p, columns, outer)
                vectors, _ = self._panels(p, columns, outer)
                return column_kernel(p, vectors, mode if fits else ColumnWalk.SEQUENTIAL,
                                     self._masked(p, columns, vectors), partial=True)

            def numbers_of(walk):
                return [columns, *self._walk_strides(walk, arrays, of, row_of,
                                                     lambda size: [size * columns])]

            def units(walk):
                return outer * self._panels(walk.program, columns, outer)[1]
            return self._split(kernel, numbers_of, units, (outer, columns), order)
        grain = at_least(per_grain(self.program) // at_least(self.n * -(-columns // panels), 1), 1)
        numbers = [self.n, columns, *self._strides_in_order(arrays, of, row_of)]
        program = self.program
        addr = chosen(
            lambda vectors, columns: column_kernel(
                program, vectors, mode, self._masked(program, columns, vectors), partial=False,
                still=still),
            vectors, columns)
        return self._direct(addr, units, grain, numbers, order)

    def _operands_of(self, at, arrays):
        """The operands that are these arrays, which are numbered as full ones first, then (from
        `arrays` on) those of rows."""
        operands = self.program.operands
        fulls = [i for i, o in enumerate(operands) if o.is_full]
        rows_ = [i for i, o in enumerate(operands) if o.is_row]
        return tuple(sorted(fulls[i] if i < arrays else rows_[i - arrays] for i in at))

    def _column_mode(self, step, columns, outer, still):
        line = columns * DTYPES[self.program.operands[0].dtype].itemsize
        is_dense = (not still and columns <= DENSE and step[0] == line
                    and self._one_panel(self.program, columns, outer))
        if in_fours(self.program, self.n, columns, is_dense):
            return ColumnWalk.FOUR
        if is_dense:
            return ColumnWalk.DENSE
        return ColumnWalk.SEQUENTIAL if max(map(abs, step)) <= 512 else ColumnWalk.LANES

    def _one_panel(self, program, columns, outer):
        """May lines be added up as few long ones? What follows the sum may take so many
        registers that a panel holds less than a line."""
        return dense(program) and self._panels(program, columns, outer)[1] == 1

    @staticmethod
    def _masked(program, columns, vectors):
        width = vectors * column_shape(program)[1]
        return (columns % width != 0
                and (columns < width or any(isinstance(s, R.Keep) for s in program.stages)))

    def _panels(self, program, columns, outer, mode=None):
        """(vectors in a panel, panels): as wide as registers allow, evenly, but enough for a few
        threads."""
        most, lanes = column_shape(program)
        if mode is ColumnWalk.FOUR:
            most = min(most, FEW_VECTORS)
        chunks = -(-columns // lanes)
        panels = -(-chunks // most)
        if outer * panels < 4 and self.n * columns >= 1 << 15 and chunks >= 8:
            panels = 4
        vectors = -(-chunks // panels)
        return vectors, -(-chunks // vectors)

    def _walk_strides(self, walk, arrays, full, row, plain):
        """As `_strides_in_order`, for the program of one walk; `plain(itemsize)` are the strides
        of a row result."""
        array, at, row_at = {}, 0, arrays
        for i, o in enumerate(self.program.operands):
            if o.is_full:
                array[i] = at
                at += 1
            elif o.is_row:
                array[i] = row_at
                row_at += 1
        out = {}
        for j, is_full in enumerate(self.full_out):
            if is_full:
                out[j] = at
                at += 1
        kept, numbers = dict(walk.reads_out), []
        for a, o in zip(walk.args, walk.program.operands, strict=True):
            if o.is_full:
                numbers += full(out[kept[a]] if a in kept else array[a])
            elif o.is_row:
                numbers += row(array[a]) if a in array else plain(DTYPES[o.dtype].itemsize)
        for k, _ in walk.program.block_outputs():
            if k in walk.stores:
                numbers += full(out[walk.stores[k]])
        return numbers

    def _splits(self, units, columns=1):
        """Are there threads, too few units for them, and rows long enough to share?"""
        size = (self.n * columns * max(DTYPES[o.dtype].itemsize
                                       for o in self.program.operands if o.is_full))
        return (size >= LONG and units < 16 and self.n >= 2 * span_of(columns)
                and thread_pool.get_num_threads() > 1)

    # ---- running
    def _direct(self, addr, units, grain, numbers, order):
        """One launch."""
        launch, empty, types = native.launch, memory.empty, self.out_types
        back = None if order == sorted(order) else np.argsort(order).tolist()
        rows = tuple(self.plain_rows[i] for i in order)
        shapes = self.out_shapes if back is None else [rows] * len(types)

        def in_order(y):
            return y if back is None else _turned(y, rows, back).reshape(self.row_shape)
        numbers = tuple(numbers)
        if len(types) == 1 and len(self.passed) == len(self.program.operands) and back is None:
            shape, dtype = shapes[0], types[0]

            def run(*operands):
                out = empty(shape, dtype)
                launch(addr, units, grain, *operands, out, *numbers)
                return [out]

            def single(x, *scalars):
                out = empty(shape, dtype)
                launch(addr, units, grain, x, *scalars, out, *numbers)
                return out
            self.single = single
            return run

        specs, passed = list(zip(shapes, types, strict=True)), self.passed
        every = len(passed) == len(self.program.operands)

        def run(*operands):
            outs = [empty(s, t) for s, t in specs]
            launch(addr, units, grain, *(operands if every else [operands[i] for i in passed]),
                   *outs, *numbers)
            return outs if back is None else [in_order(y) for y in outs]
        return run

    def single(self, x, *scalars):
        """The only output of a program of one array and numbers."""
        return self.run(x, *scalars)[0]

    def _split(self, kernel_of, numbers_of, units, shape, order):
        """Spans of rows in parallel, one walk after the other; each walk's results of spans are
        combined before the next.

        `kernel_of(program)` is the kernel for spans of a walk's program, `numbers_of(walk)` what it
        wants to know after the length of a span, `units(walk)` how many parts of a row's space
        there are; results of spans have `shape` with the spans in its middle."""
        program, span, empty, launch = self.program, span_of(shape[1]), memory.empty, native.launch
        spans = -(-self.n // span)
        shape = (shape[0], spans, shape[1])
        back = None if order == sorted(order) else np.argsort(order).tolist()
        kernel_rows = tuple(self.plain_rows[i] for i in order)
        grain = max(1, per_grain(self.program) // (span * min(shape[2], 256)))
        steps = []
        for walk in walks(program):
            made = walk.program.block_outputs()
            combiners = [(value, at, combiner(kind, made[at][1], shape))
                         for value, kind, at in walk.reductions()]
            parts = [(walk.stores.get(k), DTYPES[t]) for k, t in made]
            args = [a for a in walk.args if program.values[a].extent is not R.Extent.POSITION]
            steps.append((kernel_of(walk.program), units(walk) * spans, args, walk.reads_out, parts,
                          (self.n, spans, span, *numbers_of(walk)), combiners))
        finish = finishing_kernel(program)
        out_specs = [(self.shape if full else kernel_rows, t)
                     for full, t in zip(self.full_out, self.out_types, strict=True)]
        place = {k: j for j, (k, _) in enumerate(program.outputs)}

        def run(*operands):
            outs = [empty(*spec) for spec in out_specs]
            known = dict(enumerate(operands))
            for addr, total, args, reads_out, parts, numbers, combiners in steps:
                for a, j in reads_out:
                    known[a] = outs[j]
                made = [
                    taped_launches.partial(empty(shape, t)) if j is None else outs[j]
                    for j, t in parts]
                launch(addr, total, grain, *[known[a] for a in args], *made, *numbers)
                for a, at, combined in combiners:
                    for j, y in enumerate(combined(*made[at:at + 2])):
                        known[a + j] = y
            if finish is not None:
                addr, args, sizes, results = finish
                launch(addr, self.count, 1 << 14, *[known[a] for a in args],
                       *[outs[place[k]] for k in results], 0, *sizes)
            return [
                y if full else
                (y if back is None else _turned(y, kernel_rows, back)).reshape(self.row_shape)
                for y, full in zip(outs, self.full_out, strict=True)]
        return run

    def _with_contiguous(self, *operands):
        """Row and column operands brought into their plain form."""
        def plain(x, o):
            if o.is_row:
                kept = x.reshape(self._kept_shape()) if x.size == self.count else self._spread(x)
                return contiguous(kept).reshape(self.plain_rows)
            if o.is_column:
                return contiguous(np.broadcast_to(x, tuple(self.shape[a] for a in self.axes)))
            return x

        return rows(self.program,
                    [plain(x, o) for x, o in zip(operands, self.program.operands, strict=True)],
                    self.axes)

    def _copied(self, *operands):
        """Every full operand copied to (outer, reduced) order first."""
        order = self.outer + self.axes
        flat = [
            contiguous(x.transpose(order)).reshape(self.count, self.n)
            if o.is_full else x.reshape(self.count)
            if o.is_row else x.reshape(self.n) if o.is_column else x
            for x, o in zip(operands, self.program.operands, strict=True)]
        return self._moved_back(rows(self.program, flat, (1,)))

    def _moved_back(self, outs):
        """Outputs in (outer, reduced) order as they should lie."""
        order = self.outer + self.axes
        back, moved = np.argsort(order).tolist(), tuple(self.shape[a] for a in order)
        return [_turned(y, moved, back) if full else y.reshape(self.row_shape)
                for y, full in zip(outs, self.full_out, strict=True)]

    def _spread(self, x):
        """A row operand with size one along the axes."""
        x = x if x.ndim == len(self.shape) else np.expand_dims(x, self.axes)
        return np.broadcast_to(x, self._kept_shape())

    def _reference(self, *operands):
        def two(x, o):
            if o.is_full:
                return x.transpose(self.outer + self.axes).reshape(self.count, self.n)
            if o.is_row:
                return self._spread(x).reshape(self.count, 1)
            if o.is_column:
                return np.broadcast_to(x, [self.shape[a] for a in self.axes]).reshape(1, self.n)
            return None if o.is_position else DTYPES[o.dtype].type(x)
        flat = [two(x, o) for x, o in zip(operands, self.program.operands, strict=True)]
        return self._moved_back(R.run(self.program, flat, self.n, DTYPES.__getitem__))


def combiner(kind, dtype, shape):
    """A function that combines results of spans (outer, spans, columns) over the spans, and gives
    the list of the row results. It gets the results, and for positions those too. Sums and products
    are combined in pairs, in place."""
    outer, spans, columns = shape
    if kind in R.SUMS:
        wide, out_type = columns >= 8, DTYPES[dtype]

        def emit(module, symbol):
            from whet.passes.lower_llvm.rows.combine_spans import emit_combine
            emit_combine(module, symbol, kind, dtype, wide)
        addr = native.kernel(f"combine/{kind}/{dtype}{'/wide' * wide}", emit)

        def pairwise(parts, *_):
            out = taped_launches.partial(memory.empty((outer, columns), out_type))
            native.launch(addr, outer, 1 << 20, parts, out, spans, columns)
            return [out]
        return pairwise
    plan = Plan(span_program(kind, dtype), (np.empty(shape, DTYPES[dtype]),), (1,))
    if kind in R.EXACT:
        return lambda parts, *_: [taped_launches.partial(y) for y in plan(parts)]

    def positions(parts, at):
        best = plan(parts)[0][:, None]
        return [np.take_along_axis(y, best, 1).reshape(-1) for y in (parts, at)]
    return positions
