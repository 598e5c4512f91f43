"""Which products are of small matrices, many of them, and how they are cut into units
(`passes/lower_llvm/products/small_matrices.py`)."""
from functools import partial
from typing import Any, NamedTuple

from whet.ir.outline import broadcast_to
from whet.ir.outline import table as numbers_of
from whet.ir.symbolic_size import at_least, fixed
from whet.passes.lower_llvm.calls import distribute_units
from whet.passes.lower_llvm.products import gemm as kernels
from whet.passes.lower_llvm.products import small_matrices
from whet.passes.lower_llvm.products.pack import size

from . import native
from .product_kernels import SHORT
from .rows import contiguous

# Each form is a kernel: fewer products than these, or rows that tiles are made for, are not worth
# one.
MANY, ROWS = 16, 64
STEPS = 16                               # of a sum; each takes two shuffles
SIDE = 8                                 # of one matrix that many rows are multiplied by
GRAIN = 10000                            # steps that take about 10 us


class Products(NamedTuple):
    """Products that `gemm` is asked for: sizes, and strides in bytes. `a`, `b` and `c`: of rows and
    columns; `batch`: how many, in two dimensions; `steps`: those of each array along both, of the
    epilogue's operands, too; `more`: the operands' strides of rows and columns."""
    m: Any
    n: Any
    k: Any
    a: tuple
    b: tuple
    c: tuple
    batch: tuple
    steps: tuple
    more: tuple
    one: bool


def launch(p, short, dst, epilogue):
    """(kernel, units, grain, table) of such products; None where they are others."""
    if short not in small_matrices.TYPES or not 1 <= p.k <= STEPS:
        return None
    p = as_many(p, size(short))
    if p is None:
        return None
    form = form_of(p, size(short), size(dst), epilogue)
    if form is None:
        return None
    outer, inner = p.batch
    what = f"{'/'.join(map(str, form[:-1]))}/{epilogue or ''}{form.operands or ''}"
    kernel = native.kernel(f"gemm/small/{short}/{what}", partial(
        small_matrices.small, dtype=short, form=form, dst=dst, epilogue=epilogue))
    facts = dict.fromkeys(kernels.DIMS, 0)
    facts.update(m=p.m, n=p.n, k=p.k, rows=p.m, cols=p.n, inner=inner)
    for x, (x_outer, x_inner) in zip("abc", p.steps[:3], strict=True):
        facts[f"{x}_outer"], facts[f"{x}_inner"] = x_outer, x_inner
    numbers = [facts[x] for x in kernels.DIMS]
    numbers += [x for o, y in zip(p.more, p.steps[3:], strict=True) for x in (o[0], *y)]
    grain = distribute_units.word(at_least(GRAIN // (form.k + 2), 1), 0)
    return kernel, outer * -(-inner // form.group), grain, numbers_of(numbers)


def as_many(p, s):
    """The products where they are many of small matrices; rows that are multiplied by one small
    matrix are as many products of one row. None where they are neither."""
    (outer, inner), most = p.batch, small_matrices.most("f32" if s == 4 else "f64")
    if p.n <= most and p.m * p.k <= most and p.k * p.n <= most and p.m * p.n <= most:
        return p if outer * inner >= MANY else None
    if outer > 1 or p.k > SIDE:
        return None
    a, b, c, *more = [steps[1] for steps in p.steps]
    if not p.one and p.n <= SIDE and p.m >= ROWS:
        steps = [(a, p.a[0]), (b, 0), (c, p.c[0])]
        steps += [(x, y[0]) for x, y in zip(more, p.more, strict=True)]
        return p._replace(m=1, batch=(inner, p.m), steps=tuple(steps))
    if p.one and p.m == 1 and p.n >= ROWS:
        steps = [(a, 0), (b, p.b[1]), (c, p.c[1])]
        steps += [(x, y[1]) for x, y in zip(more, p.more, strict=True)]
        return p._replace(n=1, batch=(inner, p.n), steps=tuple(steps))
    return None


def laid_out(a, b):
    """The operands of products. Those of many small matrices are copied if elements are repeated
    inside a matrix, as in the gradient of a sum: the kernels read matrices without gaps."""
    if max(a.ndim, b.ndim) < 3 or not (_repeats(a) or _repeats(b)):
        return a, b
    short, (m, k), n = SHORT.get(a.dtype), a.shape[-2:], b.shape[-1]
    if (short not in small_matrices.TYPES or not all(type(x) is int for x in (m, k, n))
            or k > STEPS or max(m * k, k * n, m * n) > small_matrices.most(short)):
        return a, b
    return tuple(_without_repeats(x) if _repeats(x) else x for x in (a, b))


def _repeats(x):
    """Are elements repeated inside each matrix?"""
    return any(type(s) is int and s == 0 and n != 1 for s, n in zip(x.strides[-2:], x.shape[-2:]))


def _without_repeats(x):
    """Matrices without gaps; where one matrix is repeated it still is."""
    different = tuple([slice(0, 1) if type(s) is int and s == 0 else slice(None)
                       for s in x.strides[:-2]])
    return broadcast_to(contiguous(x[different]), x.shape)


def form_of(p, s, dst_size, epilogue):
    """The form of the kernel; None where something lies otherwise than it can be read."""
    m, n, k = (fixed(x) for x in (p.m, p.n, p.k))
    a_turned, b_turned = _turned(m, k, p.a, s), _turned(k, n, p.b, s)
    if a_turned is None or b_turned is None or _turned(m, n, p.c, dst_size) is not False:
        return None
    group = _group(p, (m, n, k), s, dst_size)
    kinds = [_kind(m, n, group, o, y[1], size(x.dtype)) for o, y, x in zip(
        p.more, p.steps[3:], epilogue.operands if epilogue else (), strict=True)]
    if None in kinds:
        return None
    a_once, b_once = p.steps[0][1] == 0, p.steps[1][1] == 0
    return small_matrices.Form(m, n, k, group, a_turned, b_turned, a_once, b_once, p.one,
                               tuple(kinds))


def _group(p, sizes, s, dst_size):
    """Products that a unit can read and store at once: those that lie one after the other."""
    m, n, k = sizes
    (_, a), (_, b), (_, c) = p.steps[:3]
    beside = a in (0, m * k * s) and b in (0, k * n * s) and c == m * n * dst_size
    held = max(m * n, m * k if a else 1, k * n if b else 1)
    return small_matrices.most("f32" if s == 4 else "f64") // held if beside else 1


def _turned(rows, columns, strides, s):
    """Are columns adjacent, and not rows? None where neither a matrix's rows nor its columns lie
    one after the other."""
    row, column = strides
    if (columns == 1 or column == s) and (rows == 1 or row == columns * s):
        return False
    if (rows == 1 or row == s) and (columns == 1 or column == rows * s):
        return True
    return None


def _kind(m, n, group, strides, inner, s):
    """How an operand of the epilogue is read, as in `small_matrices.Form`; None if it cannot be."""
    row, column = strides
    if ((n == 1 or column == s) and (m == 1 or row == n * s)
            and (group == 1 or inner == m * n * s)):
        return "same"
    if (m == 1 or row == 0) and inner == 0:
        return "row" if n > 1 and column == s else "number" if n == 1 or column == 0 else None
    if inner == 0 and row == n * s and (n == 1 or column == s):
        return "matrix"
    if n == 1 or column == 0:
        if (m == 1 or row == 0) and (group == 1 or inner == s):
            return "each"
        if row == s and (group == 1 or inner == m * s):
            return "column"
    return None
