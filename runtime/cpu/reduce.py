"""Reductions on NumPy arrays: sums, products, extrema, truth, positions, over any axes."""
import functools
import math

import numpy as np
from whet.cpu import thread_pool
from whet.cpu.complex_matrices import pairs
from whet.cpu.reference_only import REFERENCE
from whet.cpu.row_kernels import BF16, DTYPES, NAMES
from whet.cpu.rows import Plan, remember, rows
from whet.ir import rows as R
from whet.ir import scalar as sc
from whet.ir.symbolic_size import plan_for
from whet.passes.lower_llvm.scalar import Unsupported

__all__ = ["BF16", "DTYPES", "KINDS", "NAMES", "reduce", "reduction_program", "reference", "rows"]
_plans: dict = {}
thread_pool.on_change.append(_plans.clear)


def accumulator(name):
    """The type that sums and products of a type are computed in."""
    return "f32" if name in ("f16", "bf16") else name if name[0] in "fc" else "i64"


def _cast(e, src, dst):
    return e if src == dst else sc.cast(e, dst)


# ---- kinds of reductions -------------------------------------------------------------------------
class Kind:
    """A kind of reduction: how it is computed as a row program, and with NumPy."""
    needs_elements = False       # Is there nothing to give where there is nothing to choose from?
    goes_by_parts = False        # Is it, of complex numbers, that of their parts?
    several_results = False

    def __init__(self, name):
        self.name = name

    def program(self, name, e, t, operands, out):
        """The program that reduces an expression `e`, of type `t`, of the operands; sums end as
        type `out`."""
        raise NotImplementedError

    def scalars(self, n):
        """The numbers that the program takes after the array, for reductions of n elements each."""
        return ()

    def by_numpy(self, x, axes, keepdims, out_dtype):
        """Reduce an array over a tuple of axes with NumPy."""
        raise NotImplementedError


class Total(Kind):
    """A sum or a product, in the type of the accumulator."""

    def __init__(self, name, ufunc, reduction=None):
        super().__init__(name)
        self.ufunc, self.reduction = ufunc, reduction or name
        self.goes_by_parts = ufunc is np.add

    def program(self, name, e, t, operands, out):
        out = out or (t if t in ("f16", "bf16", "f32", "f64") else "i64")
        acc = accumulator(out)
        e = _cast(_cast(e, t, out), out, acc)
        operands, end = self.ended(operands, acc)
        return R.Program(
            name, operands, (R.Reduce(self.reduction, e), R.StoreRow(_cast(end, acc, out))))

    def ended(self, operands, acc):
        """(the operands, the expression of the result in terms of the total, which is the argument
        after them)"""
        return operands, sc.arg(len(operands))

    def by_numpy(self, x, axes, keepdims, out_dtype):
        name = NAMES[x.dtype]
        out = (np.dtype(out_dtype) if out_dtype is not None else
               x.dtype if name[0] in "fc" or name == "bf16" else np.dtype("i8"))
        acc = DTYPES[accumulator(NAMES[out])]
        x = x.astype(out, copy=False).astype(acc, copy=False)
        total = self.ufunc.reduce(x, axes, dtype=acc, keepdims=keepdims)
        return np.asarray(self.ended_by_numpy(total, x, axes, acc), out, order="C")

    def ended_by_numpy(self, total, x, axes, acc):
        """The results from the totals of an array."""
        return total


class Mean(Total):
    """A sum, divided by the number of elements, which is one more operand."""

    def ended(self, operands, acc):
        n = len(operands)
        return (*operands, R.Operand(acc, R.Extent.SCALAR)), sc.arg(n + 1) / sc.arg(n)

    def scalars(self, n):
        return (1.0 * n,)

    def ended_by_numpy(self, total, x, axes, acc):
        return total / acc.type(math.prod(x.shape[a] for a in axes))


class Truth(Kind):
    """Is any element true, or are all?"""

    def __init__(self, name, ufunc):
        super().__init__(name)
        self.ufunc = ufunc

    def program(self, name, e, t, operands, out):
        value = sc.arg(len(operands))
        return R.Program(
            name, operands, (R.Reduce(self.name, _cast(e, t, "bool")), R.StoreRow(value)))

    def by_numpy(self, x, axes, keepdims, out_dtype):
        return np.asarray(self.ufunc.reduce(x.astype(bool), axes, keepdims=keepdims), order="C")


class Extremum(Kind):
    """The largest or the smallest element."""
    needs_elements = True

    def __init__(self, name, ufunc):
        super().__init__(name)
        self.ufunc = ufunc

    def program(self, name, e, t, operands, out):
        return R.Program(
            name, operands, (R.Reduce(self.name, e), R.StoreRow(sc.arg(len(operands)))))

    def by_numpy(self, x, axes, keepdims, out_dtype):
        wide = x.astype("f4") if x.dtype == BF16 else x
        return np.asarray(self.ufunc.reduce(wide, axes, keepdims=keepdims), x.dtype, order="C")


class Place(Kind):
    """The position of the largest or the smallest element in the reduced axes, flattened in
    row-major order. `reduction`: its name in row programs."""
    needs_elements = True
    kept: tuple[int, ...] = (1,)     # which of (value, place) are results

    def __init__(self, name, place_of, reduction):
        super().__init__(name)
        self.place_of, self.reduction = place_of, reduction

    def program(self, name, e, t, operands, out):
        stored = [R.StoreRow(sc.arg(len(operands) + k)) for k in self.kept]
        return R.Program(name, operands, (R.Reduce(self.reduction, e), *stored))

    def by_numpy(self, x, axes, keepdims, out_dtype):
        wide = x.astype("f4") if x.dtype == BF16 else x
        outer = tuple(a for a in range(x.ndim) if a not in axes)
        shape = tuple(
            1 if a in axes else s for a, s in enumerate(x.shape) if keepdims or a not in axes)
        flat = wide.transpose(outer + axes).reshape(math.prod(x.shape[a] for a in outer),
                                                    math.prod(x.shape[a] for a in axes))
        at = self.place_of(flat, 1)
        values = np.take_along_axis(flat, at[:, None], 1).astype(x.dtype, copy=False)
        found = tuple([(values, at)[k].reshape(shape) for k in self.kept])
        return found if self.several_results else found[0]


class ExtremumAndPlace(Place):
    """The largest or the smallest element, and where it lies."""
    several_results = True
    kept = (0, 1)


KINDS = {kind.name: kind for kind in [
    Total("sum", np.add), Total("prod", np.multiply), Mean("mean", np.add, "sum"),
    Truth("any", np.logical_or), Truth("all", np.logical_and),
    Extremum("max", np.maximum), Extremum("min", np.minimum),
    Place("argmax", np.argmax, "max_index"), Place("argmin", np.argmin, "min_index"),
    ExtremumAndPlace("max_index", np.argmax, "max_index"),
    ExtremumAndPlace("min_index", np.argmin, "min_index")]}


# ---- programs and calls --------------------------------------------------------------------------
def reduce(kind, x, axes=None, keepdims=False, out_dtype=None, pre=None):
    """Reduce an array over `axes` (a tuple of axes >= 0, or None for all).

    kind: one of `KINDS` by name; sums, products and means are of type `out_dtype`, by default sums
    of integers are i64. `pre` is a scalar expression of arg(0) that is applied to each element
    first."""
    key = (kind, x.dtype, x.shape, x.strides, axes, keepdims, out_dtype, pre)
    plan = _plans.get(key) or plan_for(
        reduce, key, lambda: _plan(KINDS[kind], x, axes, keepdims, out_dtype, pre),
        functools.partial(remember, _plans, key))
    return plan(x)


@functools.lru_cache(None)
def reduction_program(kind, dtype, out=None, pre=None):
    """The program of one reduction of a `dtype` array; sums, products and means end as type
    `out`."""
    e = sc.arg(0) if pre is None else pre
    return KINDS[kind].program(
        f"{kind}_{dtype}", e, sc.typeof(e, [dtype]), (R.Operand(dtype),), out)


def _axes(x, axes):
    return tuple(range(x.ndim)) if axes is None else tuple(sorted(axes)) if x.ndim else ()


def _plan(kind, x, axes, keepdims, out_dtype, pre):
    name, ax = NAMES[x.dtype], _axes(x, axes)
    n = math.prod(x.shape[a] for a in ax)
    if not n and kind.needs_elements:
        raise ValueError(
            f"{kind.name}: no elements to choose from in shape {x.shape} over axes {ax}")
    is_complex = name[0] == "c"
    if (is_complex and kind.goes_by_parts and not REFERENCE and pre is None
            and out_dtype in (None, x.dtype)):
        return lambda x: reduce(kind.name, pairs(x), ax, keepdims).view(x.dtype)[..., 0]
    try:
        if REFERENCE or is_complex:
            raise Unsupported(name)
        out = None if out_dtype is None else NAMES[np.dtype(out_dtype)]
        program, scalars = reduction_program(kind.name, name, out, pre), kind.scalars(n)
        shape = tuple(1 if a in ax else s for a, s in enumerate(x.shape)) if keepdims else None
        plan = Plan(program, (x, *scalars), ax, shape)
    except Unsupported:
        return lambda x: reference(kind.name, x, axes, keepdims, out_dtype, pre)
    if kind.several_results:
        return lambda x: tuple(plan(x))
    single = plan.single
    return (lambda x: single(x, *scalars)) if scalars else single


def reference(kind, x, axes=None, keepdims=False, out_dtype=None, pre=None):
    """`reduce` with NumPy: the same results up to the order of sums. Products of complex numbers
    are always computed here."""
    if pre is not None:
        x = np.asarray(sc.evaluate((pre,), [x], DTYPES.__getitem__)[0])
    with np.errstate(all="ignore"):
        return KINDS[kind].by_numpy(x, _axes(x, axes), keepdims, out_dtype)
