"""The kernels of row programs, by way through memory, and the walks in which long rows are
computed."""
import functools

from whet.cpu import native
from whet.dtypes import ALL, FROM_NUMPY, STORED
from whet.ir import rows as R
from whet.ir import scalar as sc
from whet.ir.symbolic_size import at_most

NAMES = {np_dtype: d.short for np_dtype, d in FROM_NUMPY.items() if d.category != STORED}
DTYPES = {d.short: d.np for d in ALL.values()}
BF16 = DTYPES["bf16"]
LONG = 1 << 20                  # bytes from which a row is shared by several threads
FEW = 4                         # the number of short rows from which they are folded together
# up to this number of columns without gaps, lines are added as long ones of several lines each
DENSE = 64
# up to these row lengths, panels of FEW_VECTORS vectors are added with four partial sums at once:
# in general, and for fewer columns than a vector has lanes
FEW_LINES, FEW_VECTORS, NARROW_LINES = 160, 4, 48
# up to this length, many rows that lie apart are taken at once, and their elements are gathered
SHORT = 12
# up to this length, many adjacent rows are loaded at once and transposed; half of it for short
# vectors
NARROW = 16
# the kernel for such rows is unrolled, so a row may take at most this number of instructions
MANY = 512
# the number of row lengths for which a program gets such kernels. Each takes 20 to 60 ms to compile
# and saves microseconds of a call: rows of 3 take a quarter of the time, rows of 10 two thirds
FEW_LENGTHS = 5


def span_of(columns):
    """The number of elements of a row that a thread takes at once: 2**k blocks, which are combined
    with each other first; 64 Ki elements in all."""
    return R.BLOCK << max(0, ((1 << 16) // (R.BLOCK * columns)).bit_length() - 1)


SUPPORTED = {n for n in DTYPES if n[0] != "c"}


# ---- kernels -------------------------------------------------------------------------------------
def row_kernel(program, rank, partial=False, pieces=False):
    def emit(module, symbol):
        from whet.passes.lower_llvm.rows.contiguous import RowKernel
        RowKernel(program, rank, partial, pieces).emit(module, symbol)
    return native.kernel(f"rows/{rank}{'/part' * partial}{'/pieces' * pieces}/{program.key}", emit)


def short_kernel(program, rank, vectors, rest):
    whole = not rest

    def emit(module, symbol):
        from whet.passes.lower_llvm.rows.short import ShortKernel
        ShortKernel(program, rank, vectors, whole).emit(module, symbol)
    return native.kernel(f"rows/short/{rank}/{vectors}{'/whole' * whole}/{program.key}", emit)


@functools.lru_cache(4096)
def short_rows(program, n):
    """(vectors of a row, 1 if the last one is not full) for a kernel of short rows; None if there
    is none, or if rows are too long."""
    from whet.passes.lower_llvm.rows.short import MOST, walk_lanes
    lanes = walk_lanes(program)
    vectors = -(-n // min(lanes, default=1))
    return ((vectors, at_most(n % max(lanes), 1))
            if vectors <= MOST and any(isinstance(s, R.Reduce) for s in program.stages) else None)


def one_of_few(program, n):
    """Is `n` among the first few row lengths that a program was given? If many come, as with
    sequences, compiling a kernel for each takes longer than it saves."""
    known = _lengths.setdefault(program, set())
    if n not in known and len(known) < FEW_LENGTHS:
        known.add(n)
    return n in known


_lengths: dict = {}


def narrow_kernel(program, size, pieces, how):
    def emit(module, symbol):
        from whet.passes.lower_llvm.rows.narrow import NarrowKernel
        NarrowKernel(program, size, pieces, how).emit(module, symbol)
    return native.kernel(f"rows/narrow/{size}/{pieces}/{how}/{program.key}", emit)


@functools.lru_cache(4096)
def weight(program):
    """The approximate number of instructions for an element."""
    return sum(20 if e.op in R.HEAVY else 1 for e in sc.walk(*(s.expr for s in program.stages)))


@functools.lru_cache(4096)
def per_grain(program):
    """The number of elements that take about ten microseconds."""
    heavy = sum(e.op in R.HEAVY for e in sc.walk(*(s.expr for s in program.stages)))
    return (1 << 17) // (1 + len(program.passes) // 2 + 4 * heavy)


@functools.lru_cache(4096)
def order_free(program):
    """May elements be taken in any order? Then the order of memory is best. This holds if the
    program only reduces them, in ways that do not depend on the order."""
    def is_exact(k, s):
        return s.kind in R.EXACT or program.values[program.results[k]].dtype == "i64"
    return not any(o.is_column or o.is_position for o in program.operands) and all(
        isinstance(s, R.StoreRow)
        or isinstance(s, R.Reduce) and not s.has_position and is_exact(k, s)
        for k, s in enumerate(program.stages))


def in_fours(program, n, columns, is_dense):
    """Are four partial sums at once the quickest way for rows of n elements in adjacent columns?
    The limit of n is lower if there are fewer columns than a vector has lanes, without gaps."""
    is_narrow = is_dense and columns < column_shape(program)[1]
    return n <= (NARROW_LINES if is_narrow else FEW_LINES) and sums(program)


def column_kernel(program, vectors, mode, masked, partial, still=()):
    def emit(module, symbol):
        from whet.passes.lower_llvm.rows.strided_rows import ColKernel
        ColKernel(program, vectors, mode, masked, partial, still).emit(module, symbol)
    apart = f"/still {still}" if still else ""
    return native.kernel(
        f"cols/{vectors}/{mode}{'/masked' * masked}{'/part' * partial}{apart}/{program.key}", emit)


@functools.lru_cache(None)
def column_shape(program):
    """(vectors that a panel may have, lanes of a vector)"""
    from whet.passes.lower_llvm.rows.strided_rows import most_vectors, panel_lanes
    return most_vectors(program), panel_lanes(program)


@functools.lru_cache(4096)
def sums(program):
    """Does it add up or multiply the elements of rows?"""
    return any(isinstance(s, R.Reduce) and s.kind in R.SUMS for s in program.stages)


@functools.lru_cache(None)
def dense(program):
    """Is the program one sum of one operand, in one walk? Then many short lines can be added as a
    few long ones."""
    reduced = [s for s in program.stages if isinstance(s, R.Reduce)]
    return (len(reduced) == 1 and reduced[0].kind in R.SUMS
            and all(isinstance(s, R.Reduce | R.StoreRow) for s in program.stages)
            and sc.uses(reduced[0].expr) == [0])


@functools.lru_cache(None)
def span_program(kind, dtype):
    """The program that combines the results of spans: the value, or for positions the span that has
    it."""
    x, value, index = sc.args(3)
    return R.Program(kind, (R.Operand(dtype),),
                     (R.Reduce(kind, x), R.StoreRow(index if kind in R.INDEXED else value)))


class Walk:
    """One walk of a program as a program of its own. Earlier row scalars become row operands, and
    values kept in an output become full operands."""

    def __init__(self, plan, w):
        program = plan.program
        stages = [k for k in plan.passes[w].stages if plan.work(k)]
        exprs = [plan.expression(k) for k in stages]
        used = sc.uses(*exprs)
        self.args = ([i for i, o in enumerate(program.operands)]
                     + [a for a in used if a >= len(program.operands)])
        new = {a: sc.arg(i) for i, a in enumerate(self.args)}
        operands = tuple(
            program.operands[a] if a < len(program.operands) else as_operand(program.values[a])
            for a in self.args)
        self.reads_out = [(a, plan.kept[a]) for a in self.args if a in plan.kept]
        made, self.stores, self.results = [], {}, {}
        for i, (k, e) in enumerate(zip(stages, exprs, strict=True)):
            s, e = program.stages[k], sc.substitute(e, new)
            made.append(R.Reduce(s.kind, e) if isinstance(s, R.Reduce) else R.Store(e))
            if isinstance(s, R.Reduce):
                self.results[i] = program.results[k]
            else:
                self.stores[i] = plan.kept[program.results[k]] if isinstance(s, R.Keep) else next(
                    j for j, o in enumerate(program.outputs) if o[0] == k)
        self.program = R.Program(f"{program.name}_{w}", operands, tuple(made))

    def reductions(self):
        """(value, kind, the index of its first output) for each reduction of the walk."""
        at = 0
        for k, s in enumerate(self.program.stages):
            if isinstance(s, R.Reduce):
                yield self.results[k], s.kind, at
            at += s.defined_count if isinstance(s, R.Reduce) else 1


def as_operand(value):
    """The operand of a later walk that an earlier one has stored: elements, or one each row."""
    kept = value.extent is R.Extent.KEPT
    return R.Operand(value.dtype, R.Extent.FULL if kept else R.Extent.ROW)


@functools.lru_cache(None)
def walks(program):
    """The walks of a program over a row, one for each pass with work to do."""
    from whet.passes.lower_llvm.rows.row_kernel import Plan as Lowered
    plan = Lowered(program)
    return [Walk(plan, w) for w, p in enumerate(plan.passes) if any(plan.work(k) for k in p.stages)]


@functools.lru_cache(None)
def finishing_kernel(program):
    """The computation on row scalars at the end of a program: (kernel, arguments, their sizes,
    stages); None if there is none."""
    stages = [k for k, s in enumerate(program.stages) if isinstance(s, R.StoreRow)]
    if not stages:
        return None
    used = sc.uses(*(program.stages[k].expr for k in stages))
    new = {a: sc.arg(i) for i, a in enumerate(used)}
    operands = tuple(R.Operand(*program.values[a]) for a in used)
    last = R.Program(program.name,
                     operands,
                     tuple(R.StoreRow(sc.substitute(program.stages[k].expr, new)) for k in stages))
    sizes = [DTYPES[o.dtype].itemsize for o in operands if o.is_row]
    return row_kernel(last, 1), used, sizes, stages
