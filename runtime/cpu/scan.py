"""Running reductions along an axis of a NumPy array; the order of additions is stated in
`passes/lower_llvm/rows/scan.py`."""
import math

import numpy as np
from whet.cpu import memory, native
from whet.cpu.complex_matrices import pairs
from whet.cpu.reduce import accumulator
from whet.cpu.reference_only import REFERENCE
from whet.cpu.row_kernels import BF16, DTYPES, NAMES
from whet.cpu.rows import contiguous

FLOATS = ("f16", "bf16", "f32", "f64")
I64 = np.dtype(np.int64)
_found: dict = {}


# ---- kinds of scans ------------------------------------------------------------------------------
class Kind:
    """What a kind of scan computes. Types are NumPy's; those of `accumulator` are short names."""
    goes_by_parts = False        # Is it, of complex numbers, that of their parts?
    has_positions = False        # Are there results in i64 that tell where values lie?

    def __init__(self, name):
        self.name = name

    def out_type(self, dtype):
        """The type of the results for elements of a type."""
        return dtype

    def accumulator(self, dtype, out):
        """The type that it is computed in, of elements of `dtype`."""
        return accumulator(out)

    def by_numpy(self, x, axis, out):
        """The results with NumPy."""
        raise NotImplementedError


class Total(Kind):
    """Running sums or products."""

    def __init__(self, name, ufunc):
        super().__init__(name)
        self.ufunc, self.goes_by_parts = ufunc, ufunc is np.add

    def out_type(self, dtype):
        name = NAMES[dtype]
        return dtype if name[0] == "c" or name in FLOATS else I64

    def by_numpy(self, x, axis, out):
        acc = DTYPES[accumulator(NAMES[out])]
        return [self.ufunc.accumulate(x.astype(acc, copy=False), axis).astype(out, copy=False)]


class Extremum(Kind):
    """Running extrema, and their positions: the last of equals; a NaN stays."""
    has_positions = True

    def __init__(self, name, ufunc):
        super().__init__(name)
        self.ufunc = ufunc

    def accumulator(self, dtype, out):
        return dtype

    def by_numpy(self, x, axis, out):
        wide = _wide(x)
        values = self.ufunc.accumulate(wide, axis)
        shape = [1] * x.ndim
        shape[axis] = -1
        own = np.arange(x.shape[axis]).reshape(shape)
        hit = (wide == values) | (wide != wide)
        return [values.astype(out, copy=False), np.maximum.accumulate(np.where(hit, own, 0), axis)]


class LogSumExp(Kind):
    """Running logarithms of sums of exponentials."""

    def by_numpy(self, x, axis, out):
        return [_running_logsumexp(_wide(x), axis).astype(out, copy=False)]


def _wide(x):
    return x.astype("f4") if x.dtype == BF16 or x.dtype == np.float16 else x


KINDS = {kind.name: kind for kind in [
    Total("sum", np.add), Total("prod", np.multiply), Extremum("max", np.maximum),
    Extremum("min", np.minimum), LogSumExp("logsumexp")]}


# ---- calls ---------------------------------------------------------------------------------------
def cumsum(x, axis, out_dtype=None):
    """Running sums; of integers and booleans in i64, of halves in f32 and rounded at the end."""
    return _sums(KINDS["sum"], x, axis, out_dtype)


def cumprod(x, axis, out_dtype=None):
    """Running products, typed as `cumsum`."""
    return _sums(KINDS["prod"], x, axis, out_dtype)


def cummax(x, axis):
    """(running maxima, position of each as i64): the last of equals, a NaN stays."""
    return _run(KINDS["max"], x, axis, x.dtype)


def cummin(x, axis):
    """(running minima, position of each as i64): the last of equals, a NaN stays."""
    return _run(KINDS["min"], x, axis, x.dtype)


def logcumsumexp(x, axis):
    """log(cumsum(exp(x))) without overflow, of floats."""
    return _run(KINDS["logsumexp"], x, axis, x.dtype)[0]


def _sums(kind, x, axis, out_dtype):
    out = kind.out_type(x.dtype) if out_dtype is None else np.dtype(out_dtype)
    if x.dtype != out and NAMES[out] in (*FLOATS, "bool"):
        # element by element, first; integers may as well be cut at the end
        x = x.astype(out)
    if out.kind == "c" and x.dtype == out and kind.goes_by_parts and x.ndim and not REFERENCE:
        # an axis before the last one, which has the parts
        return _run(kind, pairs(x), axis % x.ndim, x.real.dtype)[0].view(out)[..., 0]
    return _run(kind, x, axis, out)[0]


def _run(kind, x, axis, out):
    if x.ndim == 0:
        return [y.reshape(()) for y in _run(kind, x.reshape(1), 0, out)]
    n, name = x.shape[axis], NAMES[x.dtype]
    if REFERENCE or name[0] == "c" or n >= 2**31:
        return reference(kind.name, x, axis, out)
    results = [memory.empty(x.shape, out)]
    if kind.has_positions:
        results.append(memory.empty(x.shape, I64))
    if not x.size:
        return results
    axis %= x.ndim
    columns = math.prod(x.shape[axis + 1:])
    rows = x.size // (n * columns)
    addr = _kernel(kind, name, NAMES[out], columns > 1)
    if not x.flags.c_contiguous:
        # With more than one dimension a copy is nothing that a recording knows: it could be no
        # plan's table.
        x = contiguous(x)[None]
    if columns > 1:
        panel = 4 * _lanes()
        native.launch(addr, rows * -(-columns // panel), max(1, (1 << 15) // (n * panel)), x,
                      *results, n, columns)
    else:
        native.launch(addr, rows, max(1, (1 << 16) // n), x, *results, n)
    return results


def _lanes():
    from whet.passes.lower_llvm.rows.scan import panel_lanes
    return panel_lanes()


def _kernel(kind, dtype, out, columns):
    key = (kind.name, dtype, out, columns)
    if key not in _found:
        acc = kind.accumulator(dtype, out)

        def emit(module, symbol):
            from whet.passes.lower_llvm.rows import scan
            (scan.emit_columns if columns else scan.emit_rows)(
                module, symbol, kind.name, dtype, acc, out)
        _found[key] = native.kernel(f"scan/{kind.name}/{dtype}/{out}{'/columns' * columns}", emit)
    return _found[key]


def reference(kind, x, axis, out):
    """The results with NumPy, the same up to the order of sums."""
    with np.errstate(all="ignore"):
        return KINDS[kind].by_numpy(x, axis, out)


def _running_logsumexp(x, axis):
    """log(cumsum(exp(x))) without overflow; NumPy has none of complex numbers."""
    if x.dtype.kind != "c":
        return np.logaddexp.accumulate(x, axis)
    y = np.moveaxis(x, axis, 0).copy()
    for k in range(1, len(y)):
        before, now = y[k - 1], y[k]
        larger = before.real > now.real
        top, low = np.where(larger, before, now), np.where(larger, now, before)
        apart = top.real > -np.inf          # else both are the logarithm of zero
        y[k] = np.where(apart, top + np.log1p(np.exp(np.where(apart, low - top, 0))), low)
    return np.moveaxis(y, 0, axis)
