"""Matrix multiplication on the CPU: which kernel, cut into which work units, for which arrays.

What a call needs beyond its data pointers depends on dtypes, shapes and strides only. It is worked
out once, as a `Plan`, and found again by them, so that a small product costs a dictionary look-up
and a launch. No choice made here changes a bit of a result: the order of the sums is the kernels'
(`passes/lower_llvm/products/gemm.py`, and for one row or column `one_row.py`), and it knows only
the sizes. Which kernel is taken is chosen in `product_kernels.py`.
"""
import itertools
import math
from functools import partial
from typing import NamedTuple

import numpy as np
from whet import dtypes
from whet.ir import kernel as K
from whet.ir import scalar
from whet.ir.memory_spans import address
from whet.ir.outline import Outline, broadcast_shapes, broadcast_to
from whet.ir.outline import table as numbers_of
from whet.ir.symbolic_size import Unsized, at_least, at_most, plan_for
from whet.passes.lower_llvm.calls import distribute_units
from whet.passes.lower_llvm.products import gemm as kernels
from whet.passes.lower_llvm.products import packed_panels
from whet.passes.lower_llvm.scalar import Unsupported

from . import memory, native, small_products, taped_launches, thread_pool, tiered_compilation
from .complex_matrices import parts_in_rows, real_factors
from .pointwise import move
from .product_kernels import (
    DTYPE,
    FEW_ROWS,
    ROWS_EACH,
    ROWS_IN_PLACE,
    SHORT,
    UNIT_STEPS,
    choose,
)
from .rows import contiguous

MAX_PLANS = 8192
MANY_ROWS = 1024                         # rows beside which packing costs nothing
# multiply-adds of a matrix with its own transpose of which half are worth several launches
MIRRORED = 1 << 23
PLUS_BIAS = scalar.arg(0) + scalar.arg(1)


class OfSum(NamedTuple):
    """An epilogue that reads what the kernel has added up before it is rounded to 16 bits: argument
    0 of its expression is of the type that the kernel computes in."""
    expression: scalar.Expr


SUM = OfSum(scalar.arg(0))
_SUM_PLUS_BIAS = {
    DTYPE[t]: OfSum(scalar.cast(scalar.arg(0) + scalar.cast(scalar.arg(1), "f32"), t))
    for t in ("f16", "bf16")}

_plans: dict = {}
# of plans that are one launch: what `matmul` and `linear` look up
_quick: dict = {}
_scratch: list = []                      # buffers that no call uses now


class Plan(NamedTuple):
    """One product, apart from the data pointers."""
    shape: tuple                         # of the result
    dtype: np.dtype
    kernel: int
    total: int
    grain: int                           # as `launch.word` says
    table: np.ndarray                    # the kernel's DIMS
    scratch: int                         # bytes, for all threads
    swapped: bool                        # the kernel computes the transpose: its A is our b
    # of each launch, the byte offsets of all arrays; () is one launch at 0
    parts: tuple


def matmul(a, b, out=None, bias=None, epilogue=None, operands=()):
    """a (..., M, K) @ b (..., K, N) of one dtype and any strides; batch dimensions broadcast,
    vectors as in NumPy.

    `epilogue` is a scalar expression of the rounded product (argument 0) and of the `operands`
    (arguments 1...), arrays that broadcast to the result; it is applied as the product is stored.
    An `OfSum` reads the product before it is rounded.
    `bias` (N,) stands for the epilogue that adds it. `out` has the result's shape and dtype, any
    strides, and may overlap the operands.
    """
    if bias is None and epilogue is None and out is None:
        quick = _quick.get(
            (a.dtype, b.dtype, a.shape, a.strides, b.shape, b.strides, thread_pool._threads))
        if quick is None:
            return _product(a, b)
        shape, dtype, kernel, total, grain, table, swapped = quick
        c = memory.empty(shape, dtype)
        if swapped:
            native.launch(kernel, total, grain, b, a, c, table, None)
        else:
            native.launch(kernel, total, grain, a, b, c, table, None)
        return c
    if bias is not None:
        if epilogue is not None:
            raise TypeError("matmul: a bias and an epilogue together: let the epilogue add it")
        epilogue, operands = plus_bias(a.dtype), (bias,)
    return _put_into(out, _product(a, b, epilogue, operands))


def plus_bias(dtype):
    """The epilogue that adds a bias to products of this type."""
    return _SUM_PLUS_BIAS.get(dtype, PLUS_BIAS)


def linear(x, w, bias=None):
    """x (..., K) @ w (N, K).T + bias, rounded once: with the bits of `matmul` followed by an
    addition, except for elements of 16 bits."""
    if bias is None:
        key = (x.dtype, w.dtype, x.shape, x.strides, w.shape, w.strides, thread_pool._threads,
               "linear")
    else:
        key = (x.dtype, w.dtype, x.shape, x.strides, w.shape, w.strides, thread_pool._threads,
               bias.dtype, bias.shape, bias.strides)
    quick = _quick.get(key)
    if quick is None:
        if bias is None:
            return _product(x, w.T, None, (), key)
        return _product(x, w.T, plus_bias(x.dtype), (bias,), key)
    shape, dtype, kernel, total, grain, table, swapped = quick
    c = memory.empty(shape, dtype)
    if swapped:
        native.launch(kernel, total, grain, w, x, c, table, None, bias)
    else:
        native.launch(kernel, total, grain, x, w, c, table, None, bias)
    return c


def _put_into(out, r):
    if out is None:
        return r
    if out.shape != r.shape or out.dtype != r.dtype:
        raise ValueError(f"matmul: out is {out.dtype}{out.shape}, the result {r.dtype}{r.shape}")
    out[...] = r
    return out


def _product(a, b, epilogue=None, operands=(), quick=None):
    """The product and its epilogue, in one kernel where there is one. A plan that is nothing but
    a launch is kept in `_quick`."""
    if a.ndim < 2 or b.ndim < 2:
        return _without_kernel(a, b) if epilogue is None else _apart(a, b, epilogue, operands)
    a, b = small_products.laid_out(a, b)
    key, plan = _key_and_plan(a, b, epilogue, operands)
    if plan is None:
        if epilogue is None or epilogue is PLUS_BIAS and a.dtype.kind == "c":
            return _without_kernel(a, b, *operands)
        return _apart(a, b, epilogue, operands)
    if a.shape == b.shape[::-1] and (cuts := _cuts_for_mirroring(a, b, operands)):
        c = _mirrored(a, b, epilogue, operands, plan, cuts)
        if c is not None:
            return c
    elif not plan.scratch and not plan.parts and (epilogue is None or quick):
        _keep_in(
            _quick,
            quick or key[:-2],
            (plan.shape, plan.dtype, plan.kernel, plan.total, plan.grain, plan.table, plan.swapped))
    c = memory.empty(plan.shape, plan.dtype)
    _run(plan, (b, a, c, *operands) if plan.swapped else (a, b, c, *operands))
    return c


def _key_and_plan(a, b, epilogue, operands, to=None):
    """(key, plan) of a product; the plan is None if no kernel computes it. `to`: the strides of an
    existing result."""
    key = (a.dtype, b.dtype, a.shape, a.strides, b.shape, b.strides, thread_pool.get_num_threads(),
           *[x for o in operands for x in (o.dtype, o.shape, o.strides)], epilogue, to)
    plan = _plans.get(key)
    if plan is None:
        plan = plan_for(matmul, key, lambda: _make_plan(a, b, epilogue, operands, to=to),
                        partial(_keep_plan, key))
    return key, plan


def _cuts_for_mirroring(a, b, operands):
    """Where to cut the columns of a product of which half is enough, if b is the transpose of a; ()
    if that does not pay."""
    if a.ndim != 2 or a.strides != b.strides[::-1] or any(o.size != 1 for o in operands):
        return ()
    m, k = a.shape
    blocks = min(6, m // 32, m * m * k // (4 * UNIT_STEPS))
    return (tuple(m * i // blocks
                  for i in range(blocks + 1)) if blocks > 1 and m * m * k >= MIRRORED else ())


def _mirrored(a, b, epilogue, operands, plan, cuts):
    """The product of a matrix with its own transpose: the blocks of columns above the diagonal, and
    their mirror image, which has the same bits. None if b is not the transpose of a."""
    if address(a) != address(b):
        return None
    c = memory.empty(plan.shape, plan.dtype)
    parts = [(a[:j], b[:, i:j], c[:j, i:j]) for i, j in itertools.pairwise(cuts)]
    plans = [_key_and_plan(x, y, epilogue, operands, z.strides)[1] for x, y, z in parts]
    if None in plans:
        return None
    for (x, y, z), p, (i, j) in zip(parts, plans, itertools.pairwise(cuts), strict=True):
        _run(p, (y, x, z, *operands) if p.swapped else (x, y, z, *operands))
        if i:
            move(c[i:j, :i], c[:i, i:j].T)
    return c


def _wide(dtype):
    """The type that kernels compute products of this type in."""
    return DTYPE[kernels.WIDE.get(SHORT[dtype], SHORT[dtype])]


def _apart(a, b, epilogue, operands):
    """A product that no kernel computes with its epilogue, which NumPy applies."""
    if any(type(x) is Outline for x in (a, b, *operands)):
        raise Unsized("an epilogue is computed apart")
    if type(epilogue) is OfSum:
        a, b = (x.astype(_wide(x.dtype), copy=False) for x in (a, b))
        epilogue = epilogue.expression
    r = _product(a, b)
    return scalar.evaluate([epilogue], [r, *operands], lambda t: dtypes.SHORT[t].np)[0]


def _keep_in(plans, key, plan):
    if len(plans) >= MAX_PLANS:
        plans.clear()
    plans[key] = plan


def _keep_plan(key, plan):
    if plan is not None:
        _keep_in(_plans, key, plan)


def _run(plan, arrays):
    """Run a plan that has several launches, scratch memory, or an epilogue."""
    scratch = None
    if plan.scratch:
        try:
            scratch = _scratch.pop()
        except IndexError:
            pass
        scratch = memory.scratch(plan.scratch, scratch)
        taped_launches.scratch(scratch, plan.scratch)
    if plan.parts:
        for part in plan.parts:
            a, b, c, *operands = map(taped_launches.inside, arrays, part)
            native.launch(plan.kernel, plan.total, plan.grain, a, b, c, plan.table, scratch,
                          *operands)
    else:
        a, b, c, *operands = arrays
        native.launch(plan.kernel, plan.total, plan.grain, a, b, c, plan.table, scratch, *operands)
    if type(scratch) is np.ndarray and len(_scratch) < 8:
        _scratch.append(scratch)


def _without_kernel(a, b, bias=None):
    """Products of vectors, of complex numbers (plus a bias, if given), and of types without a
    kernel."""
    if b.dtype != a.dtype:
        raise TypeError(f"matmul: the operands have different dtypes: {a.dtype} and {b.dtype}")
    if a.ndim == 0 or b.ndim == 0:
        raise ValueError(
            f"matmul: both operands need at least one dimension: {a.shape} @ {b.shape}")
    if a.ndim == 1:
        return (matmul(a[None], b)[..., 0, :] if b.ndim > 1
                else matmul(a[None], b[:, None])[0, 0, ...])
    if b.ndim == 1:
        return matmul(a, b[:, None])[..., 0]
    if a.dtype.kind == "c":
        _result_shape(a, b)
        bias = None if bias is None else parts_in_rows(contiguous(bias))
        return matmul(*real_factors(a, b), bias=bias).view(a.dtype)
    if a.dtype not in SHORT or a.dtype.kind == "b":
        raise TypeError(f"matmul: {a.dtype} is not supported")
    wide = _wide(a.dtype)
    _result_shape(a, b)
    return np.matmul(a.astype(wide, copy=False),
                     b.astype(wide, copy=False)).astype(a.dtype, copy=False)


def _result_shape(a, b):
    if a.shape[-1] != b.shape[-2]:
        raise ValueError(f"matmul: inner sizes differ: {a.shape} @ {b.shape}")
    try:
        return (*broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1])
    except ValueError:
        raise ValueError(f"matmul: batch sizes do not broadcast: {a.shape} @ {b.shape}") from None


# ---- weights that stay ---------------------------------------------------------------------------
class Packed(NamedTuple):
    """A matrix B, and its elements in the order in which kernels read them."""
    data: np.ndarray
    matrix: np.ndarray


def pack(b):
    """b (K, N), any strides, packed once for many products."""
    size, dtype, kernel, units, grain, table = packing_of(b)
    data = memory.empty(size, dtype)
    native.launch(kernel, units, grain, b, data, table)
    return Packed(data, b)


class Packing(NamedTuple):
    """How to pack a matrix, or several."""
    size: int                            # elements of the result
    dtype: np.dtype
    kernel: int
    units: int
    grain: int
    table: np.ndarray


def packing_of(b):
    """How to pack b, a matrix or several; None if one launch cannot reach all of them."""
    short = SHORT[b.dtype]
    wide = kernels.WIDE.get(short, short)
    (k, n), (outer, inner) = b.shape[-2:], _collapse_batch(b.shape[:-2], [b.strides[:-2]])
    if len(outer) > 2:
        return None
    (_, many), (outer_step, inner_step) = [1, 1, *outer][-2:], [0, 0, *inner[0]][-2:]
    width, s = kernels.shape(short).width, b.dtype.itemsize
    b_mode = "rows" if b.strides[-1] == s else "cols"
    kernel = native.kernel(f"gemm/pack/many/{short}/{b_mode}",
                           lambda mod, symbol: packed_panels.pack_b(mod, symbol, short, b_mode))
    count, panels = math.prod(b.shape[:-2]), -(-n // width)
    return Packing(count * panels * width * max(k, 1), DTYPE[wide], kernel, count * panels,
                   max(1, (1 << 18) // max(1, k * width)),
                   numbers_of([k, n, *b.strides[-2:], many, outer_step, inner_step]))


def matmul_packed(a, packed, bias=None, epilogue=None, operands=()):
    """`matmul(a, b, ...)` for `packed = pack(b)`, to the bit."""
    b = packed.matrix
    if bias is not None:
        epilogue, operands = plus_bias(b.dtype), (bias,)
    if has_one_row(a.shape, b.shape):
        return _product(a, b, epilogue, operands)
    plan = _packed_plan(a, b, epilogue, operands)
    if plan is None:
        raise TypeError(f"matmul_packed: {a.dtype}{a.shape} @ {b.dtype}{b.shape} has no kernel")
    c = memory.empty(plan.shape, plan.dtype)
    _run(plan, (a, packed.data, c, *operands))
    return c


def _packed_plan(a, b, epilogue, operands):
    key = (Packed, epilogue, a.dtype, a.shape, a.strides, b.shape, b.dtype, thread_pool._threads,
           *[x for o in operands for x in (o.dtype, o.shape, o.strides)])
    plan = _plans.get(key)
    if plan is None:
        plan = plan_for(Packed, key, lambda: _make_plan(a, b, epilogue, operands, packed=True),
                        partial(_keep_plan, key))
    return plan


def kept_plan(a, b, epilogue, operands):
    """(plan, how to pack b) of a product with a matrix that is packed once for many. None if each
    product may pack it itself, or needs no packing."""
    if (a.ndim < 2 or b.ndim != 2 or a.dtype != b.dtype or a.dtype.kind not in "fV" or not b.size
            or has_one_row(a.shape, b.shape)):
        return None
    if not (ROWS_IN_PLACE if b.strides[1] == b.itemsize else FEW_ROWS
            ) < math.prod(a.shape[:-1]) <= MANY_ROWS or max(b.shape) <= small_products.SIDE:
        return None
    plan = _packed_plan(a, b, epilogue, operands)
    return None if plan is None or plan.parts or plan.swapped else (plan, packing_of(b))


class Rows(NamedTuple):
    """A product whose units are tiles of whole rows, so that any of its rows can be computed
    separately."""
    plan: Plan
    packing: Packing | None              # of the second operand; None: it is read where it is
    tile: int                            # rows of a unit
    rows: int                            # of each of so many
    matrices: int


def by_rows(a, b, epilogue, operands):
    """`matmul(a, b, ...)` as `Rows`; None if that is impossible."""
    if (a.ndim < 2 or b.ndim < 2 or a.dtype != b.dtype or a.dtype.kind not in "fV" or not a.size
            or not b.size or has_one_row(a.shape, b.shape)):
        return None
    plan, packing = _make_plan(a, b, epilogue, operands, whole=True), None
    place = kernels.DIMS.index
    if plan is None or not plan.table[place("in_place")]:
        packing = packing_of(b)
        if packing is None:
            return None
        each = packing.size // math.prod(b.shape[:-2]) * packing.dtype.itemsize
        steps = [each * math.prod(b.shape[i + 1:-2]) for i in range(b.ndim - 2)]
        there = np.lib.stride_tricks.as_strided(np.empty(1, b.dtype), b.shape,
                                                (*steps, b.itemsize, b.itemsize))
        plan = _make_plan(a, there, epilogue, operands, packed=True, whole=True)
    if plan is None or plan.parts or plan.swapped:
        return None
    tile, rows = (int(plan.table[place(x)]) for x in ("rows", "m"))
    matrices, rest = divmod(plan.total, -(-rows // tile))
    whole = not rest and rows > FEW_ROWS and plan.table[place("cols")] >= plan.table[place("n")]
    return Rows(plan, packing, tile, rows, matrices) if whole else None


# ---- plans ---------------------------------------------------------------------------------------
def _make_plan(a, b, epilogue, operands, packed=False, whole=False, to=None):
    """The plan for arrays with these layouts; None if no single kernel computes the product.
    `whole`: units are not cut for many threads. `to`: the strides of an existing result."""
    threads = thread_pool.get_num_threads()
    if (a.dtype != b.dtype or a.dtype not in SHORT or a.dtype.kind == "b" or a.ndim < 2
            or b.ndim < 2):
        return None
    shape = _result_shape(a, b)
    if not kernels.supported(SHORT[a.dtype]) or any(o.dtype not in SHORT for o in operands):
        return None
    try:
        operands = [broadcast_to(o, shape) for o in operands]
    except ValueError:
        return None                      # the epilogue makes the result larger
    if any(o.strides[-1] not in (0, o.itemsize) for o in operands):
        return None
    try:
        # a tile computes whole vectors, however few columns there are
        rows, columns, k = math.prod(shape[:-1]), at_least(shape[-1], 16), at_least(a.shape[-1], 16)
        with tiered_compilation.work(rows * columns * k >> 4):
            return _plan(shape, a, b, epilogue, operands, packed, threads, 1 if whole else threads,
                         to, not packed and not whole)
    except Unsupported:
        return None


def has_one_row(a, b):
    """Does the product of these shapes have one row or one column? Such sums have another order, so
    this must not depend on strides."""
    rows = math.prod(a[:-1]) if math.prod(b[:-2]) == 1 else a[-2]
    return rows == 1 or b[-1] == 1


def _result_type(short, epilogue, operands):
    """The type of a product's elements after its epilogue."""
    if epilogue is None:
        return short
    of_sum = type(epilogue) is OfSum
    made = scalar.typeof(epilogue.expression if of_sum else epilogue, [
        kernels.WIDE.get(short, short) if of_sum else short,
        *(SHORT[o.dtype] for o in operands)]) or short
    if made not in DTYPE:
        raise Unsupported("an epilogue that makes complex numbers")
    return made


def _in_kernels(epilogue, operands):
    """An epilogue as the generators of kernels take it."""
    if epilogue is None:
        return None
    of_sum = type(epilogue) is OfSum
    return kernels.Epilogue(epilogue.expression if of_sum else epilogue, tuple(operands), of_sum)


def _plan(shape, a, b, epilogue, operands, packed, threads, sharing, to, small):
    """The plan for arrays with these layouts. `operands` have the result's shape. `sharing` threads
    take the units. `to` are the result's strides if it is not dense. `small`: units may consist of
    many small matrices."""
    batch, (m, n), k = shape[:-2], shape[-2:], a.shape[-1]
    short, one = SHORT[a.dtype], has_one_row(a.shape, b.shape)
    dst = _result_type(short, epilogue, operands)
    c_strides = (list(to) if to else [
        DTYPE[dst].itemsize * math.prod(shape[i + 1:]) for i in range(len(shape))])
    sides = ([K.spread(x, (*batch, *x.shape[-2:]))
              for x in (a, b)] + [c_strides] + [o.strides for o in operands])
    batch, batches = _collapse_batch(batch, [x[:-2] for x in sides])
    a, b, c, *more = (tuple(x[-2:]) for x in sides)
    if batch and batches[1][-1] == 0 and (n == 1 or not one) and all(
            m == 1 or y[-1] == m * x[0]
            for x, y in zip((a, *more), (batches[0], *batches[3:]), strict=True)):
        if m == 1:                       # one B for many A: a taller A
            a, *more = ((y[-1], x[1])
                        for x, y in zip((a, *more), (batches[0], *batches[3:]), strict=True))
        m *= batch.pop()
        for y in batches:
            y.pop()
        c = n * c[1], c[1]
    swapped = n == 1 and m > 1
    if swapped:                          # a column is a row of the transpose
        if not all(x[0] in (0, o.itemsize) for x, o in zip(more, operands, strict=True)):
            raise Unsupported("an epilogue whose operands are not beside a column")
        m, n, a, b, batches[:2] = n, m, b[::-1], a[::-1], batches[1::-1]
        more = [x[::-1] for x in more]
    kernel_epilogue = _in_kernels(epilogue, [
        kernels.Operand(SHORT[o.dtype], x[1] != 0) for x, o in zip(more, operands, strict=True)])
    parts = tuple(tuple(sum(map(int.__mul__, at, y)) for y in batches)
                  for at in itertools.product(*map(range, batch[:-2]))) if len(batch) > 2 else ()
    outer, inner = [1, 1, *batch][-2:]
    batches = [[0, 0, *y][-2:] for y in batches]
    p = small_products.Products(m, n, k, a, b, c, (outer, inner), tuple(batches), tuple(more), one)
    found = small_products.launch(p, short, dst, kernel_epilogue) if small else None
    kernel, total, grain, table, scratch = ((*found, 0) if found is not None else _tiled(
        p, short, dst, kernel_epilogue, packed, threads, sharing))
    return Plan(shape, DTYPE[dst], kernel, total, grain, table, scratch, swapped, parts)


def _tiled(p, short, dst, epilogue, packed, threads, sharing):
    """(kernel, units, grain, table, bytes of scratch) of products by tiles, rows or columns."""
    m, n, k, a, b, c, (outer, inner) = p[:7]
    chosen = choose(p, short, dst, epilogue, packed, sharing)
    rows, cols, scratch = chosen.rows, chosen.cols, chosen.scratch
    total = outer * inner * -(-m // rows) * -(-n // cols) if m and n else 0
    facts = dict(m=m, n=n, k=k, a_m=a[0], a_k=a[1], b_k=b[0], b_n=b[1], c_m=c[0], rows=rows,
                 cols=cols, inner=inner, in_place=int(chosen.in_place), scratch=scratch)
    for x, (x_outer, x_inner) in zip("abc", p.steps[:3], strict=True):
        facts[f"{x}_outer"], facts[f"{x}_inner"] = x_outer, x_inner
    numbers = ([facts[x] for x in kernels.DIMS]
               + [x for o, y in zip(p.more, p.steps[3:], strict=True) for x in (o[0], *y)])
    steps = UNIT_STEPS if m > FEW_ROWS else UNIT_STEPS // 8
    grain = at_least(steps // at_least(rows * cols * k, 1), 1)
    if not chosen.in_place:                  # a thread packs B for each piece that it takes
        grain = at_least(grain, at_most(total // sharing, ROWS_EACH // at_least(rows, 1)))
    return (native.kernel(chosen.key, chosen.emit), total,
            distribute_units.word(grain, threads if scratch else 0), numbers_of(numbers),
            scratch * threads)


def _collapse_batch(sizes, sides):
    """(sizes, strides) of the batch dimensions: adjacent ones merged if every side allows it, and
    those of size 1 dropped."""
    merged: list = []
    for n, *steps in zip(sizes, *sides, strict=True):
        if n == 1:
            continue
        if merged and all(x == n * y for x, y in zip(merged[-1][1:], steps, strict=True)):
            merged[-1] = merged[-1][0] * n, *steps
        else:
            merged.append((n, *steps))
    sizes, *sides = ((list(x) for x in zip(*merged, strict=True))
                     if merged else [[] for _ in range(1 + len(sides))])
    return sizes, sides
