"""Ranges of numbers: `arange`, `linspace`, `logspace`."""
import builtins
import math
import numbers

import numpy as np

from .. import dtypes, size_arguments
from ..cpu import memory
from ..dtypes import COMPLEX, FLOAT, INT
from ..ir.outline import Outline
from .creation import check_options, finish, float_dtype, literal, made_of_numbers
from .onnx import shapes as in_onnx
from .out_arguments import type_to_make
from .registry import Op, apply, is_tensor
from .sample_inputs import Sample
from .surface import function


def _count(start, end, step, inclusive=False):
    """How many steps fit between start and end."""
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if not all(isinstance(x, int) or math.isfinite(x) for x in (start, end)):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    if not isinstance(step, int) and math.isnan(step):
        raise RuntimeError(f"unsupported range: {start} -> {end} by {step}")
    if (end - start) * math.copysign(1, step) < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    if all(isinstance(x, int) for x in (start, end, step)):
        n = (end - start) // step + 1 if inclusive else -((start - end) // step)
    else:
        n = math.floor((end - start) / step + 1) if inclusive else math.ceil((end - start) / step)
    return size_arguments.checked_size((size_arguments.whole(max(n, 0)),), "arange")[0]


def _arange(start, step, n, dtype):
    if dtype.category <= INT:
        if isinstance(start, int) and isinstance(step, int):
            return np.arange(start, start + n * step, step, np.int64).astype(dtype.np, copy=False)
        return (int(start) + np.arange(n, dtype=np.int64) * int(step)).astype(dtype.np)
    return (np.arange(n, dtype=np.float64) * step + start).astype(dtype.np)


arange_op = Op(
    "arange", _arange, samples=lambda make: [
        Sample(start=0, step=1, n=5, dtype=dtypes.int64),
        Sample(start=1.0, step=0.5, n=0, dtype=dtypes.float32)],
    onnx=lambda b, **at: in_onnx.counted(b, _arange, **at))
arange_op.any_sizes = arange_op.total = True
arange_op.size_attrs = frozenset(("n",))
arange_op.outlined = lambda start, step, n, dtype: Outline((n,), dtype.np)


def goes_by_sizes(op, shape, *sizes):
    """Plans for sizes that are not known may have an op that makes an array of numbers alone:
    `shape(**attrs)` is that of the array, `sizes` the attributes that it goes by."""
    op.any_sizes, op.size_attrs = True, frozenset(sizes)
    op.makes = lambda *_, dtype, **attrs: (Outline(shape(**attrs), dtype.np),)


def _whole_numbers(start, end, step):
    """The bounds and the step of a range of int64, without their fractions."""
    if isinstance(step, builtins.float) and 0 < abs(step) < 1 and (end - start) * step >= 0:
        raise ValueError(f"step must be nonzero: as a whole number {step} is 0")
    return [x if type(x) is not bool and isinstance(x, int) else int(x) for x in (start, end, step)]


def _number(x):
    if is_tensor(x):
        return x.item()
    if isinstance(x, np.generic):
        return x.item()
    if not isinstance(x, numbers.Real):
        raise TypeError(f"argument must be Number, not {x.__class__.__name__}")
    return x


def _finished(made, name, out, requires_grad, device):
    """The result of a constructor of a range, or that written to `out`: one of as many elements
    keeps its shape, and has them in row-major order."""
    if is_tensor(out) and out.numel() == made.numel():
        made = made.view(out.shape)
    return finish(made, name, out, requires_grad, device)


@function(method=False)
def arange(start=0, end=None, step=1, *, out=None, dtype=None, layout=None, device=None,
           requires_grad=False, pin_memory=False):
    """start, start + step, ... up to but without `end`.

    >>> import whet
    >>> whet.arange(5)
    tensor([0, 1, 2, 3, 4])
    >>> whet.arange(1, 2.5, 0.5)
    tensor([1.0000, 1.5000, 2.0000])
    """
    check_options("arange", layout, device, pin_memory)
    if end is None:
        start, end = 0, start
    start, end, step = _number(start), _number(end), _number(step)
    dtype = type_to_make(dtype, out)
    if dtype is None:
        some_float = any(isinstance(x, builtins.float) for x in (start, end, step))
        dtype = dtypes.get_default_dtype() if some_float else dtypes.int64
    dtypes.check_converted(dtypes.as_dtype(dtype))
    if dtypes.as_dtype(dtype) is dtypes.int64:
        start, end, step = _whole_numbers(start, end, step)
    n = -1
    if type(start) is type(step) is int and (start, step) == (0, 1) and isinstance(end, int):
        n = size_arguments.whole(end)
    if n < 0:
        n = _count(start, end, step)
        if type(start) is not int and isinstance(start, int):
            start = size_arguments.whole(start)              # it may go by sizes
    attrs = {"start": start, "step": step, "n": n, "dtype": dtypes.as_dtype(dtype)}
    made = made_of_numbers(arange_op, attrs, device, out)
    return _finished(made, "arange", out, requires_grad, device)


@function(method=False)
def range(start=0, end=None, step=1, *, out=None, dtype=None, layout=None, device=None,
          requires_grad=False):
    """As `arange`, with `end` included, and floating point by default.

    >>> import warnings
    >>> import whet
    >>> with warnings.catch_warnings(action="ignore"):
    ...     whet.range(1, 4)
    tensor([1., 2., 3., 4.])
    """
    check_options("range", layout, device)
    if end is None:
        raise TypeError("range() missing 1 required positional arguments: \"end\"")
    start, end, step = _number(start), _number(end), _number(step)
    n = _count(start, end, step, inclusive=True)
    attrs = {"start": start, "step": step, "n": n, "dtype": float_dtype(type_to_make(dtype, out))}
    made = made_of_numbers(arange_op, attrs, device, out)
    return _finished(made, "range", out, requires_grad, device)


# elements that are made at a time: what is made of them on the way stays in the cache
BLOCK = 1 << 14


# NumPy has nothing to warn of where both ends are plain numbers below this
ORDINARY = 1e30


def evenly(start, end, steps, dtype):
    """Evenly spaced numbers, from both ends towards the middle, so that the last value is `end`
    itself."""
    if dtype.category == FLOAT and dtype.itemsize > 2 and 1 < steps <= BLOCK and all(
            type(x) in (int, float) and -ORDINARY < x < ORDINARY for x in (start, end)):
        return _evenly_few(start, end, steps, dtype)
    wide = np.complex128 if dtype.category == COMPLEX else np.float64
    with np.errstate(all="ignore"):
        if steps == 1:
            return np.asarray([start]).astype(dtype.np)
        step = (wide(end) - wide(start)) / (steps - 1) if steps > 1 else wide(0)
        out, half = memory.empty((steps,), dtype.np), steps // 2
        for k in builtins.range(0, half, BLOCK):
            part = out[k:min(k + BLOCK, half)]
            part[...] = start + step * np.arange(k, k + part.size, dtype=np.float64)
        for k in builtins.range(half, steps, BLOCK):
            part, last = out[k:k + BLOCK], steps - 1 - k
            part[...] = end - step * np.arange(last, last - part.size, -1, dtype=np.float64)
        return out


def _evenly_few(start, end, steps, dtype):
    """A few evenly spaced numbers, by fewer calls of NumPy."""
    out, half = memory.empty((steps,), dtype.np), steps // 2
    far = np.arange(steps, dtype=np.float64)
    far *= (float(end) - float(start)) / (steps - 1)
    np.add(far[:half], start, out[:half], casting="unsafe")
    np.subtract(end, far[steps - 1 - half::-1], out[half:], casting="unsafe")
    return out


def _single_element(x):
    if x.numel() != 1:
        x.item()                             # which says so
    return (x if x.dtype.category != FLOAT else x.to(dtypes.float64)).detach()


def _ends(name, start, end):
    """(tensors, attributes) for two ends: tensors and numbers that vary are operands, for a
    replay to take as they come."""
    for what, x in (("start", start), ("end", end)):
        if type(x) in (int, float):
            continue
        if is_tensor(x) and x.ndim:
            raise RuntimeError(f"{name} only supports 0-dimensional start and end tensors, but got "
                               f"{what} with {x.ndim} dimension(s).")
        if not is_tensor(x) and not isinstance(x, int | float | builtins.complex | np.generic
                                               ) and not hasattr(x, "__whet_tensor__"):
            raise TypeError(f"{name}(): argument '{what}' must be Number or Tensor, not "
                            f"{x.__class__.__name__}")
    ends = [
        _single_element(x) if is_tensor(x) else
        x.__whet_tensor__() if hasattr(x, "__whet_tensor__") else None
        for x in (start, end)]
    if ends[0] is None and ends[1] is None:
        return (), {"start": start, "end": end}
    return (tuple([literal(np.asarray(x)) if t is None else t
                   for t, x in zip(ends, (start, end))]), {})


def _type_of_ends(name, dtype, *ends):
    """The type of numbers between two ends: `dtype`, or without one the default type, its complex
    one for a complex end. Raise RuntimeError where the type holds no complex numbers, and one end
    is one."""
    is_complex = any(
        x.dtype.category == COMPLEX if is_tensor(x) else isinstance(x, builtins.complex)
        for x in ends)
    if dtype is None:
        dtype = dtypes.get_default_dtype()
        return dtype.to_complex() if is_complex else dtype
    dtype = dtypes.as_dtype(dtype)
    if is_complex and dtype.category != COMPLEX:
        raise RuntimeError(f"{name}(): inferred dtype complex can't be safely cast to passed dtype "
                           f"{dtype.letter}")
    return dtype


def _linspace(*ends, steps, dtype, endpoint=True, start=None, end=None):
    if ends:
        start, end = (x.item() for x in ends)
    if dtype.category == INT:
        start, end = int(start), int(end)
    if not endpoint and steps:
        end = start + (end - start) * (steps - 1) / steps
    return evenly(start, end, steps, dtype)


linspace_op = Op(
    "linspace", _linspace, samples=lambda make: [
        Sample(start=0.0, end=1.0, steps=5, dtype=dtypes.float32),
        Sample(start=3, end=-2, steps=1, dtype=dtypes.float64),
        Sample(start=0, end=1, steps=0, dtype=dtypes.float64)],
    onnx=lambda b, *ends, **at: in_onnx.evenly_spaced(b, _linspace, ends, at))
goes_by_sizes(linspace_op, lambda steps, **_: (steps,), "steps")


@function(method=False)
def linspace(start, end, steps, *, out=None, dtype=None, layout=None, device=None,
             requires_grad=False, endpoint=True):
    """`steps` numbers evenly spaced from start to end (without the end itself, if
    `endpoint=False`).

    >>> import whet
    >>> whet.linspace(0, 1, 3)
    tensor([0.0000, 0.5000, 1.0000])
    """
    check_options("linspace", layout, device)
    steps = size_arguments.as_int(steps, "linspace", "steps", 3, size_arguments.whole)
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    start, end = (x.item() if isinstance(x, np.generic) else x for x in (start, end))
    dtype = _type_of_ends("linspace", type_to_make(dtype, out), start, end)
    operands, attrs = _ends("linspace", start, end)
    attrs = {**attrs, "steps": steps, "dtype": dtype}
    if not endpoint:
        attrs["endpoint"] = False
    made = (apply(linspace_op, operands, attrs) if operands else
            made_of_numbers(linspace_op, attrs, device, out))
    return _finished(made, "linspace", out, requires_grad, device)


def _logspace(*ends, steps, base, dtype, start=None, end=None):
    if ends:
        start, end = (x.item() for x in ends)
    if dtype.category == INT:
        start, end = int(start), int(end)
    with np.errstate(all="ignore"):
        a = np.power(
            np.float64(base) if dtype.category != COMPLEX else np.complex128(base),
            evenly(start, end, steps,
                   dtypes.complex128 if dtype.category == COMPLEX else dtypes.float64))
        return a.astype(dtype.np)


logspace_op = Op(
    "logspace",
    _logspace,
    samples=lambda make: [
        Sample(start=0.0, end=2.0, steps=3, base=10.0, dtype=dtypes.float32),
        Sample(start=1.5, end=4.5, steps=4, base=2.0, dtype=dtypes.int64)],
    onnx=lambda b, *ends, **at: in_onnx.by_rule(b, _logspace, ends, at))
goes_by_sizes(logspace_op, lambda steps, **_: (steps,), "steps")


@function(method=False)
def logspace(start, end, steps, base=10.0, *, out=None, dtype=None, layout=None, device=None,
             requires_grad=False):
    """base ** linspace(start, end, steps).

    >>> import whet
    >>> whet.logspace(0, 2, steps=3)
    tensor([  1.,  10., 100.])
    """
    check_options("logspace", layout, device)
    steps = size_arguments.as_int(steps, "logspace", "steps", 3, size_arguments.whole)
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    if base is None:
        raise TypeError("logspace(): argument 'base' must be float, not NoneType")
    dtype = _type_of_ends("logspace", type_to_make(dtype, out), start, end)
    operands, attrs = _ends("logspace", start, end)
    t = apply(logspace_op, operands, {**attrs, "steps": steps, "base": base, "dtype": dtype})
    return _finished(t, "logspace", out, requires_grad, device)
