"""Reductions on NumPy arrays: sums, products, extrema, truth, positions, over any axes."""
import math

import ml_dtypes
import numpy as np

from whet.ir import scalar

BF16 = np.dtype(ml_dtypes.bfloat16)
NAMES = {np.dtype(t): n for t, n in (
    ("?", "bool"), ("u1", "u8"), ("u2", "u16"), ("u4", "u32"), ("u8", "u64"), ("i1", "i8"), ("i2", "i16"), ("i4", "i32"), ("i8", "i64"),
    ("f2", "f16"), (BF16, "bf16"), ("f4", "f32"), ("f8", "f64"), ("c8", "c64"), ("c16", "c128"))}
DTYPES = {n: d for d, n in NAMES.items()}


def _accumulator(name):
    """The type that sums and products of a type are computed in."""
    return "f32" if name in ("f16", "bf16") else name if name[0] in "fc" else "i64"


def _reference(kind, x, axes, keepdims, out_dtype, pre):
    if pre is not None:
        x, = scalar.evaluate((pre,), [x], DTYPES.__getitem__)
        x = np.asarray(x)
    ax = tuple(range(x.ndim)) if axes is None else axes
    if kind in ("sum", "prod", "mean"):
        out = np.dtype(out_dtype) if out_dtype is not None else x.dtype if NAMES[x.dtype][0] in "fc" or x.dtype == BF16 else np.dtype("i8")
        acc = DTYPES[_accumulator(NAMES[out])]
        x = x.astype(out, copy=False).astype(acc, copy=False)
        r = (np.prod if kind == "prod" else np.sum)(x, ax, dtype=acc, keepdims=keepdims)
        if kind == "mean":
            n = math.prod(x.shape[a] for a in ax)
            r = r / acc.type(n)
        return np.asarray(r).astype(out, copy=False)
    if kind in ("any", "all"):
        return np.asarray((np.any if kind == "any" else np.all)(x.astype(bool), ax, keepdims=keepdims))
    if kind in ("max", "min"):
        if x.dtype == BF16:
            return _reference(kind, x.astype("f4"), axes, keepdims, None, None).astype(BF16)
        return np.asarray((np.max if kind == "max" else np.min)(x, ax, keepdims=keepdims))
    wide = x.astype("f4") if x.dtype == BF16 else x
    arg = np.argmax if kind in ("argmax", "max_index") else np.argmin
    at = np.asarray(arg(wide, axes[0] if axes is not None and x.ndim else None, keepdims=keepdims))
    if kind in ("argmax", "argmin"):
        return at
    if axes is None or not x.ndim:
        return np.asarray(x.reshape(-1)[at]), at
    full = at if keepdims else np.expand_dims(at, axes[0])
    v = np.take_along_axis(x, full, axes[0])
    return (v if keepdims else np.squeeze(v, axes[0])), at


def reduce(kind, x, axes=None, keepdims=False, out_dtype=None, pre=None):
    """Reduce an array over `axes` (a tuple of axes >= 0, or None for all).

    kind: sum, prod, mean (in `out_dtype`; sums of integers are i64), max, min, any, all; argmax, argmin (one axis or None) and
    max_index, min_index, which return (values, indices). `pre` is a scalar expression of arg(0) applied to each element first.
    """
    with np.errstate(all="ignore"):
        return _reference(kind, x, axes, keepdims, out_dtype, pre)
