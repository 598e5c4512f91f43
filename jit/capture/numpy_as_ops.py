"""NumPy's functions that ops of ours compute to the same bits. A recording has the ops in place of
calls of NumPy's, so that kernels compute them.

Where NumPy would warn of a number that is too large, or is none, the result has one that is not
finite. So it is a guard that all are: where they are not, the call is NumPy's own."""
from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from whet.autograd import modes
from whet.dtypes import FROM_NUMPY
from whet.layouts import contiguous_format
from whet.ops.numpy_calls import raising
from whet.ops.surface import FUNCTIONS

from ..stand_ins.numpy_stand_in import Array, real_of, tensor_of
from ..values.array_facts import flat, overlap

if TYPE_CHECKING:
    from whet.ir.values import Array as NumPyArray
    from whet.tensor_base import Base

# What a rule is given: the operands, as stand-ins and plain objects, the arguments by name, and
# what NumPy gave. It makes a tensor, or None where ours could come to other bits.
Rule: TypeAlias = Callable[[Sequence[Any], Mapping[str, Any], Any], "Base | None"]
# numbers up to this are ones of each type, but for the shortest ints
SMALL = 1 << 15


def by_ops(name: str, args: Sequence[Any], kwargs: Mapping[str, Any], made: Any) -> Base | None:
    """What ops of ours make of a call, whose result is `made`; None where the call is to be
    recorded as it is."""
    rule = RULES.get(name)
    under = raising()[2]
    if rule is None or not isinstance(made, np.ndarray | np.generic) or under == "raise":
        return None
    is_float = made.dtype.kind == "f"
    if made.dtype not in FROM_NUMPY or made.dtype.kind not in "biuf" \
            or is_float and not np.isfinite(made).all() or _shows_an_operand(made, args):
        return None
    with modes.no_grad():
        out = rule(args, kwargs, made)
        if out is None or not _same(out._array, made):
            return None
        if is_float and name in INEXACT:
            bool(out.isfinite().all())       # a guard, which kernels check as they compute it
    return out


def _shows_an_operand(made: Any, args: Sequence[Any]) -> bool:
    """Does a result share memory with an array among the operands?"""
    return isinstance(made, np.ndarray) and any(
        overlap(made, real_of(x)) for x in flat(tuple(args)) if _is_array(x))


def _same(a: NumPyArray, made: Any) -> bool:
    """Is an array what NumPy has made, to the bit?"""
    like = np.asarray(made)
    return (a.dtype == like.dtype and a.shape == like.shape
            and (a.strides == like.strides or a.size < 2) and a.tobytes() == like.tobytes())


# ---- operands ------------------------------------------------------------------------------------
def _is_array(x: Any) -> bool:
    """Is an operand an array, and no number of NumPy's?"""
    return type(x) is Array and isinstance(real_of(x), np.ndarray)


def _in(x: Any, dtype: Any) -> Any:
    """An operand of an operation in this type, for an op of ours; None where that would not be what
    NumPy takes it for."""
    if type(x) is Array:
        return tensor_of(x) if real_of(x).dtype == dtype else None
    if isinstance(x, np.floating):
        return x.item() if x.dtype == dtype else None
    if dtype.kind == "f":
        if type(x) not in (int, float) or abs(x) > SMALL:
            return None
        return float(dtype.type(x))          # as NumPy rounds it first
    return x if type(x) is int and dtype.kind in "iu" and np.iinfo(dtype).min <= x <= min(
        SMALL, np.iinfo(dtype).max) else None


def _alike(args: Sequence[Any], dtype: Any) -> list[Any] | None:
    """Operands in one type, as `_in` has each; None where one of them has none, or none of them is
    an array and numbers could overflow."""
    if not any(_is_array(x) or type(x) is Array and dtype.kind == "f" for x in args):
        return None
    operands = [_in(x, dtype) for x in args]
    return None if any(x is None for x in operands) else operands


# ---- rules ---------------------------------------------------------------------------------------
def _elementwise(function: Callable[..., Any], count: int) -> Rule:
    """The rule of a function of `count` operands in the type of the result."""
    def rule(args: Sequence[Any], kwargs: Mapping[str, Any], made: Any) -> Base | None:
        operands = None if kwargs or len(args) != count or made.dtype.kind == "b" else _alike(
            args, made.dtype)
        found: Base | None = None if operands is None else function(*operands)
        return found
    return rule


def _compared(function: Callable[..., Any]) -> Rule:
    """The rule of a comparison."""
    def rule(args: Sequence[Any], kwargs: Mapping[str, Any], made: Any) -> Base | None:
        arrays = [x for x in args if type(x) is Array]
        operands = None if kwargs or len(args) != 2 or not arrays else _alike(
            args, real_of(arrays[0]).dtype)
        found: Base | None = None if operands is None else function(*operands)
        return found
    return rule


def _squared(args: Sequence[Any], kwargs: Mapping[str, Any], made: Any) -> Base | None:
    """`x ** 2`, which NumPy computes as a square."""
    if len(args) != 2 or type(args[1]) is not int or args[1] != 2 or not _is_array(args[0]):
        return None
    return RULES["square"](args[:1], kwargs, made)


def _clipped(args: Sequence[Any], kwargs: Mapping[str, Any], made: Any) -> Base | None:
    """`clip` to bounds that are numbers. Which zero comes of a bound of zero is NumPy's secret."""
    if kwargs or len(args) != 3 or not _is_array(args[0]):
        return None
    operands = _alike(args, made.dtype)
    if operands is None or any(type(x) not in (int, float) or x == 0 or x != x
                               for x in operands[1:]) or operands[1] > operands[2]:
        return None
    clipped: Base = operands[0].clamp(*operands[1:])
    return clipped


def _converted(args: Sequence[Any], kwargs: Mapping[str, Any], made: Any) -> Base | None:
    """A copy of an array in row-major order, perhaps in another type."""
    if not args or not _is_array(args[0]) or not isinstance(made, np.ndarray) \
            or len(args) > 2 or kwargs.keys() - {"dtype", "copy"}:
        return None
    a = real_of(args[0])
    if not (made.flags.c_contiguous and a.flags.c_contiguous and _keeps_numbers(a.dtype,
                                                                                 made.dtype)):
        return None
    return _copied(tensor_of(args[0]), made)


def _in_row_major_order(args: Sequence[Any], kwargs: Mapping[str, Any], made: Any) -> Base | None:
    """A copy of an array in row-major order, however that lay."""
    if kwargs or len(args) != 1 or not _is_array(args[0]) or not isinstance(made, np.ndarray):
        return None
    return _copied(tensor_of(args[0]), made)


def _copied(t: Any, made: NumPyArray) -> Base | None:
    """A tensor's elements in memory of their own, in the type and the number of dimensions that
    NumPy's result has."""
    if made.ndim != t.ndim:
        if made.ndim != 1:
            return None
        t = t.reshape(-1)
    dtype = FROM_NUMPY[made.dtype]
    copy: Base = t.clone(memory_format=contiguous_format) if t.dtype is dtype else t.to(
        dtype, memory_format=contiguous_format)
    return copy


def _keeps_numbers(a: Any, b: Any) -> bool:
    """Does a conversion between types round as ours does? (Where a float becomes too large, it is
    infinite.)"""
    return a == b or b.kind == "f" and a.kind in "biuf" or np.can_cast(a, b, "safe")


def _joined(function: Callable[..., Any]) -> Rule:
    """The rule of a function that joins arrays of one type along an axis."""
    def rule(args: Sequence[Any], kwargs: Mapping[str, Any], made: Any) -> Base | None:
        parts, axis = args[0], (*args[1:], kwargs.get("axis", 0))[0]
        if (type(parts) not in (list, tuple) or not parts or not all(map(_is_array, parts))
                or any(real_of(x).dtype != made.dtype for x in parts) or type(axis) is not int
                or len(args) > 2 or kwargs.keys() - {"axis"}):
            return None
        found: Base = function([tensor_of(x) for x in parts], axis)
        return found
    return rule


def _listed(args: Sequence[Any], kwargs: Mapping[str, Any], made: Any) -> Base | None:
    """`np.array` of an array, or of a list of arrays."""
    if len(args) == 1 and type(args[0]) in (list, tuple) and not kwargs:
        return RULES["stack"](args, kwargs, made)
    return _converted(args, kwargs, made)


def _picked(args: Sequence[Any], kwargs: Mapping[str, Any], made: Any) -> Base | None:
    """One element of an array, by whole numbers."""
    index = args[1] if type(args[1]) is tuple else (args[1],)
    if not _is_array(args[0]) or not isinstance(made, np.generic) \
            or any(type(i) is not int for i in index):
        return None
    element: Base = tensor_of(args[0])[index].clone()
    return element


def _reduced(method: str) -> Rule:
    """The rule of a reduction that comes to one result in any order, over all or along an axis."""
    def rule(args: Sequence[Any], kwargs: Mapping[str, Any], made: Any) -> Base | None:
        axis = (*args[1:], kwargs.get("axis"))[0]
        if not _is_array(args[0]) or not (axis is None or type(axis) is int) or len(args) > 2 \
                or kwargs.keys() - {"axis"}:
            return None
        t = tensor_of(args[0])
        found: Base = getattr(t, method)(*(() if axis is None else (axis,)))
        return found
    return rule


def _tested(function: Callable[..., Any]) -> Rule:
    """The rule of a test of each element."""
    def rule(args: Sequence[Any], kwargs: Mapping[str, Any], made: Any) -> Base | None:
        found: Base | None = None if kwargs or len(args) != 1 or not _is_array(args[0]) \
            else function(tensor_of(args[0]))
        return found
    return rule


def _chosen(args: Sequence[Any], kwargs: Mapping[str, Any], made: Any) -> Base | None:
    """`np.where` with three operands."""
    if kwargs or len(args) != 3 or not _is_array(args[0]) or real_of(args[0]).dtype != bool:
        return None
    operands = _alike(args[1:], made.dtype)
    chosen: Base | None = None if operands is None else FUNCTIONS["where"](
        tensor_of(args[0]), *operands)
    return chosen


def _of(name: str) -> Callable[..., Any]:
    """A function of ours, by its name."""
    return lambda *operands: FUNCTIONS[name](*operands)


# Those of which the result may be too large, or no number, though the operands are neither.
_BINARY = {"add": operator.add, "sub": operator.sub, "mul": operator.mul,
           "truediv": operator.truediv}
_UFUNCS = {"add": "add", "subtract": "sub", "multiply": "mul", "divide": "truediv",
           "true_divide": "truediv"}
_INEXACT: dict[str, Rule] = {
    **{f"operator.{name}": _elementwise(f, 2) for name, f in _BINARY.items()},
    **{name: _elementwise(_BINARY[as_operator], 2) for name, as_operator in _UFUNCS.items()},
    "sqrt": _elementwise(_of("sqrt"), 1),
    "square": _elementwise(lambda x: x * x, 1),
    "operator.pow": _squared,
    **dict.fromkeys(("ndarray.astype", "asarray"), _converted),
    "array": _listed}
INEXACT = frozenset(_INEXACT)
RULES: dict[str, Rule] = {
    **_INEXACT,
    **dict.fromkeys(("operator.neg", "negative"), _elementwise(operator.neg, 1)),
    **dict.fromkeys(("operator.abs", "absolute"), _elementwise(abs, 1)),
    **{name: _compared(getattr(operator, by)) for by, names in {
        "gt": ("operator.gt", "greater"), "ge": ("operator.ge", "greater_equal"),
        "lt": ("operator.lt", "less"), "le": ("operator.le", "less_equal"),
        "eq": ("operator.eq", "equal"), "ne": ("operator.ne", "not_equal")}.items()
        for name in names},
    **dict.fromkeys(("clip", "ndarray.clip"), _clipped),
    **dict.fromkeys(("copy", "ascontiguousarray"), _converted),
    **dict.fromkeys(("ndarray.copy", "ndarray.flatten"), _in_row_major_order),
    **dict.fromkeys(("argmax", "ndarray.argmax"), _reduced("argmax")),
    **dict.fromkeys(("argmin", "ndarray.argmin"), _reduced("argmin")),
    **dict.fromkeys(("any", "ndarray.any"), _reduced("any")),
    **dict.fromkeys(("all", "ndarray.all"), _reduced("all")),
    **{name: _tested(_of(name)) for name in ("isnan", "isinf", "isfinite")},
    "where": _chosen,
    "concatenate": _joined(_of("cat")), "stack": _joined(_of("stack")),
    "operator.getitem": _picked}
