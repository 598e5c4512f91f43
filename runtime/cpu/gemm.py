"""Matrix multiplication on the CPU: which kernel, cut into which work units, for which arrays.

What a call needs beyond its data pointers depends on dtypes, shapes and strides only. It is worked out once, as a `Plan`, and
found again by them, so that a small product costs a dictionary look-up and a launch. No choice made here changes a bit of a
result: the order of the sums is the kernels' (`passes/lower_llvm/gemm.py`), and it knows only K.
"""
import itertools
import math
from typing import NamedTuple

import ml_dtypes
import numpy as np

from whet.passes.lower_llvm import gemm as kernels
from whet.passes.lower_llvm import gemv

from . import native, pool

SHORT = {np.dtype(t): s for t, s in (
    ("f4", "f32"), ("f8", "f64"), ("f2", "f16"), (ml_dtypes.bfloat16, "bf16"), ("i1", "i8"), ("i2", "i16"), ("i4", "i32"),
    ("i8", "i64"), ("u1", "u8"), ("u2", "u16"), ("u4", "u32"), ("u8", "u64"))}
MAX_COLS = 2048                          # of a unit: 256 rows of them are packed at a time
MAX_PLANS = 8192
UNIT_STEPS = 1 << 20                     # multiply-adds that are worth a thread of their own

_plans: dict = {}
_scratch: list = []                      # buffers that no call uses now


class Plan(NamedTuple):
    """One product, but for the data pointers."""
    shape: tuple                         # of the result
    kernel: int
    total: int
    grain: int
    table: np.ndarray                    # the kernel's DIMS
    scratch: int                         # bytes, for all threads
    swapped: bool                        # the kernel computes the transpose: its A is our b
    parts: tuple                         # byte offsets of (a, b) for each launch; () is one launch at 0


def matmul(a, b, out=None, bias=None):
    """a (..., M, K) @ b (..., K, N) of one dtype and any strides; batch dimensions broadcast, vectors as in NumPy.

    `bias` (N,) is added to the rounded product. `out` has the result's shape and dtype, any strides, and may overlap anything.
    """
    dtype = a.dtype
    plan = _plans.get((dtype, a.shape, a.strides, b.shape, b.strides, pool._threads))
    if plan is None or b.dtype is not dtype:
        if b.dtype != dtype:
            raise TypeError(f"matmul: the operands have different dtypes: {dtype} and {b.dtype}")
        if dtype not in SHORT or a.ndim < 2 or b.ndim < 2 or not kernels.supported(SHORT[dtype]):
            return _into(out, _plus(_special(a, b), bias))
        plan = _remember(a, b)
    if bias is not None or out is not None:
        return _into(out, _plus(matmul(a, b), bias))
    c = np.empty(plan.shape, dtype)
    if plan.swapped:
        a, b = b, a
    if plan.scratch or plan.parts:
        _run(plan, a, b, c)
    else:
        native.launch(plan.kernel, plan.total, plan.grain, a, b, c, plan.table, None)
    return c


def linear(x, w, bias=None):
    """x (..., K) @ w (N, K).T + bias: to the bit what `matmul` and then an addition give."""
    return matmul(x, w.T, bias=bias)


def _into(out, r):
    if out is None:
        return r
    if out.shape != r.shape or out.dtype != r.dtype:
        raise ValueError(f"matmul: out is {out.dtype}{out.shape}, the result {r.dtype}{r.shape}")
    out[...] = r
    return out


def _plus(r, bias):
    return r if bias is None else r + bias


def _run(plan, a, b, c):
    """The launches of a plan that is more than one of them, or needs scratch memory."""
    try:
        scratch = _scratch.pop()
    except IndexError:
        scratch = None
    if scratch is None or scratch.size < plan.scratch:
        scratch = np.empty(plan.scratch, np.uint8)
    if plan.parts:
        at = [x.__array_interface__["data"][0] for x in (a, b, c)]
        step = c.nbytes // len(plan.parts)
        for i, (a_part, b_part) in enumerate(plan.parts):
            native.launch(plan.kernel, plan.total, plan.grain, at[0] + a_part, at[1] + b_part, at[2] + i * step, plan.table,
                          scratch)
    else:
        native.launch(plan.kernel, plan.total, plan.grain, a, b, c, plan.table, scratch)
    if len(_scratch) < 8:
        _scratch.append(scratch)


def _special(a, b):
    """Vectors, complex numbers, and what no kernel of ours computes."""
    if a.ndim == 0 or b.ndim == 0:
        raise ValueError(f"matmul: both operands need at least one dimension: {a.shape} @ {b.shape}")
    if a.ndim == 1:
        return matmul(a[None], b)[..., 0, :] if b.ndim > 1 else matmul(a[None], b[:, None])[0, 0, ...]
    if b.ndim == 1:
        return matmul(a, b[:, None])[..., 0]
    if a.dtype.kind == "c":
        real, imag = ([np.ascontiguousarray(p) for p in parts] for parts in ((a.real, b.real), (a.imag, b.imag)))
        c = np.empty(_shape(a, b), a.dtype)
        c.real = matmul(real[0], real[1]) - matmul(imag[0], imag[1])
        c.imag = matmul(real[0], imag[1]) + matmul(imag[0], real[1])
        return c
    if a.dtype not in SHORT:
        raise TypeError(f"matmul: {a.dtype} is not supported")
    wide = np.float32 if a.dtype.itemsize == 2 and a.dtype.kind not in "iu" else a.dtype
    return np.matmul(a.astype(wide, copy=False), b.astype(wide, copy=False)).astype(a.dtype, copy=False)


def _shape(a, b):
    if a.shape[-1] != b.shape[-2]:
        raise ValueError(f"matmul: inner sizes differ: {a.shape} @ {b.shape}")
    try:
        return (*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1])
    except ValueError:
        raise ValueError(f"matmul: batch sizes do not broadcast: {a.shape} @ {b.shape}") from None


# ---- plans -----------------------------------------------------------------------------------------------------------
def _remember(a, b):
    """Plan this product, for now and for later."""
    threads = pool.get_num_threads()
    if len(_plans) >= MAX_PLANS:
        _plans.clear()
    plan = _plan(a.dtype, _shape(a, b), a, b, threads)
    _plans[a.dtype, a.shape, a.strides, b.shape, b.strides, threads] = plan
    return plan


def _plan(dtype, shape, a, b, threads):
    """The plan for arrays like these."""
    m, k, n, s = shape[-2], a.shape[-1], shape[-1], dtype.itemsize
    spread = (np.broadcast_to(x, (*shape[:-2], *x.shape[-2:])).strides[:-2] for x in (a, b))
    batch, a_batch, b_batch = _collapse(shape[:-2], *spread)
    a, b = a.strides[-2:], b.strides[-2:]
    if batch and b_batch[-1] == 0 and (m == 1 or a_batch[-1] == m * a[0]):         # one B for many A: a taller A
        a = a if m > 1 else (a_batch[-1], a[1])
        m *= batch.pop()
        del a_batch[-1], b_batch[-1]
    swapped = n == 1 and m > 1
    if swapped:                          # a column is a row of the transpose, whose tiles are the better ones
        m, n, a, b, a_batch, b_batch = n, m, b[::-1], a[::-1], b_batch, a_batch
    if n == 1 and b[0] != s:
        b = b[0], s                      # any stride will do: name the one that needs no transposing
    c_batch = [m * n * s * math.prod(batch[i + 1:]) for i in range(len(batch))]
    parts = ()
    if len(batch) > 2:
        parts = tuple((sum(map(int.__mul__, at, a_batch)), sum(map(int.__mul__, at, b_batch)))
                      for at in itertools.product(*map(range, batch[:-2])))
    (outer, inner), *strides = ([0, 0, *x][-2:] if x is not batch else [1, 1, *x][-2:] for x in (batch, a_batch, b_batch, c_batch))
    short = SHORT[dtype]
    key, emit, in_place, rows, cols, scratch = _choose(short, s, m, n, k, a, b, outer * inner, threads)
    total = outer * inner * -(-m // rows) * -(-n // cols)
    table = dict(m=m, n=n, k=k, a_m=a[0], a_k=a[1], b_k=b[0], b_n=b[1], c_m=n * s, rows=rows, cols=cols, inner=inner,
                 in_place=in_place, scratch=scratch)
    for x, (x_outer, x_inner) in zip("abc", strides, strict=True):
        table[f"{x}_outer"], table[f"{x}_inner"] = x_outer, x_inner
    kernel = native.kernel(key, emit)
    grain = max(1, (UNIT_STEPS // 8 if m == 1 else UNIT_STEPS) // max(1, rows * cols * k))
    numbers = np.array([table[x] for x in kernels.DIMS], np.int64)
    return Plan(shape, kernel, total, grain, numbers, scratch * threads, swapped, parts)


def _collapse(sizes, a, b):
    """Batch dimensions with neighbours merged where both operands allow it, and those of one element left out."""
    merged = []
    for n, x, y in zip(sizes, a, b, strict=True):
        if n == 1:
            continue
        if merged and merged[-1][1] == n * x and merged[-1][2] == n * y:
            merged[-1] = merged[-1][0] * n, x, y
        else:
            merged.append((n, x, y))
    return [list(x) for x in zip(*merged, strict=True)] or [[], [], []]


def _choose(short, s, m, n, k, a, b, count, threads):
    """The kernel, as (key, emit), and how it is used: (whether B is read in place, rows and columns of a unit, scratch bytes)."""
    lanes = kernels.shape(short).lanes
    if m == 1 and (b[1] == s or (b[0] == s and n >= lanes)):
        parts = min(8 * threads, n * k * count // (UNIT_STEPS // 8)) // count
        cols = max(4 * lanes, -(-n // max(1, parts) // lanes) * lanes)
        kind, emit = ("rows", gemv.row_rows) if b[1] == s else ("cols", gemv.row_cols)
        return f"gemv/{short}/{kind}", lambda mod, symbol: emit(mod, symbol, short), 0, 1, cols, 0
    a_mode = "place"
    if short in kernels.WIDE or (_page_apart(a[0] if a[1] == s else a[1]) and m > 28 and n > 96 and k > 64):
        a_mode = "rows" if a[1] == s else "cols"         # rows a page apart would all meet in one cache set
    b_mode = "rows" if b[1] == s else "cols"
    in_place = b[1] == s and (m <= 28 or not _page_apart(b[0]))
    rows, cols = _units(short, m, n, k, count, threads)
    scratch = -(-kernels.scratch_bytes(short, short, a_mode, m, cols) // 64) * 64
    return (f"gemm/{short}/{a_mode}/{b_mode}", lambda mod, symbol: kernels.gemm(mod, symbol, short, a_mode, b_mode), int(in_place),
            rows, cols, scratch)


def _page_apart(stride):
    return stride and stride % 4096 == 0


def _units(short, m, n, k, count, threads):
    """Rows and columns of a work unit. A thread gets adjacent units and does those below each other as one; so units are small
    where there is much to do, and the columns are cut only where the rows do not give each thread its share."""
    tile = kernels.shape(short)
    steps = m * n * k * count
    across = -(-n // (MAX_COLS if short not in kernels.WIDE else MAX_COLS // 4)) or 1
    parts = min(8 * threads, steps // UNIT_STEPS)                # the number of units that we would like
    while count * across * -(-m // tile.rows[0]) < parts and n > across * tile.width:
        across += 1
    down = -(-parts // (count * across)) or 1
    return (max(step, -(-size // cuts // step) * step)
            for size, cuts, step in ((m, min(down, 64), tile.rows[0]), (n, across, tile.width)))
