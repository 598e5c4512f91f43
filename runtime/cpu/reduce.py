"""Reductions on NumPy arrays: sums, products, extrema, truth, positions, over any axes."""
import functools
import math

import numpy as np
from whet.cpu import thread_pool
from whet.cpu.complex_matrices import pairs
from whet.cpu.row_kernels import BF16, DTYPES, NAMES
from whet.cpu.rows import REFERENCE, Plan, remember, rows
from whet.ir import rows as R
from whet.ir import scalar as sc
from whet.passes.lower_llvm.scalar import Unsupported

__all__ = ["BF16", "DTYPES", "NAMES", "reduce", "reduction_program", "reference", "rows"]
CHOOSING = ("max", "min", "argmax", "argmin", "max_index", "min_index")
_plans: dict = {}
thread_pool.on_change.append(_plans.clear)


def reduce(kind, x, axes=None, keepdims=False, out_dtype=None, pre=None):
    """Reduce an array over `axes` (a tuple of axes >= 0, or None for all).

    kind: sum, prod, mean (in `out_dtype`; sums of integers are i64), max, min, any, all; argmax,
    argmin and max_index, min_index, which return (values, indices): positions are those in the
    reduced axes, taken as one in row-major order. `pre` is a scalar expression of arg(0) that is
    applied to each element first."""
    key = (kind, x.dtype, x.shape, x.strides, axes, keepdims, out_dtype, pre)
    plan = _plans.get(key)
    if plan is None:
        plan = remember(_plans, key, _plan(kind, x, axes, keepdims, out_dtype, pre))
    return plan(x)


def accumulator(name):
    """The type that sums and products of a type are computed in."""
    return "f32" if name in ("f16", "bf16") else name if name[0] in "fc" else "i64"


@functools.lru_cache(None)
def reduction_program(kind, dtype, out=None, pre=None):
    """The program of one reduction of a `dtype` array; sums, products and means end as type
    `out`."""
    e = sc.arg(0) if pre is None else pre
    return program_of(f"{kind}_{dtype}", kind, e, (R.Operand(dtype),), out)


@functools.lru_cache(4096)
def program_of(name, kind, e, operands, out=None):
    """The program that reduces an expression of operands. A mean has one more, the number of
    elements."""
    n = len(operands)
    t = sc.typeof(e, [o.dtype for o in operands])
    value, index = sc.arg(n), sc.arg(n + 1)
    if kind in ("sum", "prod", "mean"):
        out = out or (t if t in ("f16", "bf16", "f32", "f64") else "i64")
        acc = accumulator(out)
        e = _cast(_cast(e, t, out), out, acc)
        operands = (*operands, R.Operand(acc, "scalar")) if kind == "mean" else operands
        total = sc.arg(len(operands))
        last = total / sc.arg(n) if kind == "mean" else total
        return R.Program(
            name,
            operands,
            (R.Reduce("prod" if kind == "prod" else "sum", e), R.StoreRow(_cast(last, acc, out))))
    if kind in ("any", "all"):
        return R.Program(name, operands, (R.Reduce(kind, _cast(e, t, "bool")), R.StoreRow(value)))
    if kind in ("max", "min"):
        return R.Program(name, operands, (R.Reduce(kind, e), R.StoreRow(value)))
    found = R.Reduce({"argmax": "max_index", "argmin": "min_index"}.get(kind, kind), e)
    values = [R.StoreRow(value)] if kind.endswith("index") else []
    return R.Program(name, operands, (found, *values, R.StoreRow(index)))


def _cast(e, src, dst):
    return e if src == dst else sc.cast(e, dst)


def _plan(kind, x, axes, keepdims, out_dtype, pre):
    name = NAMES[x.dtype]
    ax = tuple(range(x.ndim)) if axes is None else tuple(sorted(axes)) if x.ndim else ()
    n = math.prod(x.shape[a] for a in ax)
    if not n and kind in CHOOSING:
        raise ValueError(f"{kind}: no elements to choose from in shape {x.shape} over axes {ax}")
    if (kind in ("sum", "mean") and name[0] == "c" and not REFERENCE and pre is None
            and out_dtype in (None, x.dtype)):
        return lambda x: reduce(kind, pairs(x), ax, keepdims).view(x.dtype)[..., 0]
    try:
        if REFERENCE or name[0] == "c":
            raise Unsupported(name)
        program = reduction_program(kind, name,
                                    None if out_dtype is None else NAMES[np.dtype(out_dtype)], pre)
        scalars = (1.0 * n,) if kind == "mean" else ()
        shape = tuple(1 if a in ax else s for a, s in enumerate(x.shape)) if keepdims else None
        plan = Plan(program, (x, *scalars), ax, shape)
    except Unsupported:
        return lambda x: reference(kind, x, axes, keepdims, out_dtype, pre)
    if kind.endswith("_index"):
        return lambda x: tuple(plan(x))
    single = plan.single
    return (lambda x: single(x, *scalars)) if scalars else single


def reference(kind, x, axes=None, keepdims=False, out_dtype=None, pre=None):
    """`reduce` with NumPy: the same results up to the order of sums. Products of complex numbers
    are always computed here."""
    if pre is not None:
        x = np.asarray(sc.evaluate((pre,), [x], DTYPES.__getitem__)[0])
    ax = tuple(range(x.ndim)) if axes is None else tuple(sorted(axes)) if x.ndim else ()
    with np.errstate(all="ignore"):
        if kind in ("sum", "prod", "mean"):
            name = NAMES[x.dtype]
            out = (np.dtype(out_dtype) if out_dtype is not None else
                   x.dtype if name[0] in "fc" or name == "bf16" else np.dtype("i8"))
            acc = DTYPES[accumulator(NAMES[out])]
            x = x.astype(out, copy=False).astype(acc, copy=False)
            r = (np.prod if kind == "prod" else np.sum)(x, ax, dtype=acc, keepdims=keepdims)
            if kind == "mean":
                r = r / acc.type(math.prod(x.shape[a] for a in ax))
            return np.asarray(r, out, order="C")
        if kind in ("any", "all"):
            return np.asarray((np.any if kind == "any"
                               else np.all)(x.astype(bool), ax, keepdims=keepdims), order="C")
        wide = x.astype("f4") if x.dtype == BF16 else x
        if kind in ("max", "min"):
            return np.asarray((np.max if kind == "max" else np.min)(wide, ax, keepdims=keepdims),
                              x.dtype,
                              order="C")
        outer = tuple(a for a in range(x.ndim) if a not in ax)
        shape = tuple(1 if a in ax else s for a, s in enumerate(x.shape) if keepdims or a not in ax)
        flat = wide.transpose(outer + ax).reshape(math.prod(x.shape[a] for a in outer),
                                                  math.prod(x.shape[a] for a in ax))
        at = (np.argmax if kind in ("argmax", "max_index") else np.argmin)(flat, 1)
        values = np.take_along_axis(flat, at[:, None], 1).astype(x.dtype, copy=False).reshape(shape)
        return at.reshape(shape) if kind.startswith("arg") else (values, at.reshape(shape))
