"""Numbers that differ between calls: arguments, attributes, results of `item()`.

A recording treats numbers as constants and compares them before each replay. A number that was seen
to vary is a `Number` in the next recording, which looks like an int or float to Python. Arithmetic
and comparisons of Numbers are recorded: they are done on zero-dimensional tensors that give the
same bits. So is their use as operands of ops. Any other use hands out the value, which becomes a
guard."""
from __future__ import annotations

import math
import operator
import types
from collections.abc import Callable, Mapping, MutableSequence
from typing import TYPE_CHECKING, Any

import numpy as np
from whet import declared_for_tracing, dtypes
from whet.autograd import modes
from whet.ops import registry
from whet.ops.python_calls import BY_NAME, NUMERIC, fits, of_numbers
from whet.ops.surface import FUNCTIONS
from whet.tensor import wrap
from whet.tensor_base import Base

if TYPE_CHECKING:
    from ..capture.recorder import Recorder

SAFE = 1 << 40                   # an int from outside is at most so large
EXACT = 1 << 53                  # below this, ints are floats and do not overflow
DTYPES = {float: np.dtype(np.float64), int: np.dtype(np.int64)}


def varies(v: object) -> bool:
    """Can a recording take this number from outside at each call? NaN cannot: code may look for it
    by identity, which no stand-in has."""
    return type(v) is float and v == v or type(v) is int and -SAFE <= v <= SAFE


def tensor_of(v: float) -> Base:
    """A number as a tensor."""
    return wrap(np.array(v, DTYPES[type(v)]))


value_of: Callable[[Any], Any]               # what a Number holds, defined below it


class Number:
    """A number of a run that is recorded: what it is, the tensor that stands for it, and how large
    it can be (of ints).

    Its type has the name of the value's type, and no method that the latter lacks: Python says of
    both what is wrong with them in the same words."""
    __slots__ = ("value", "tensor", "recorder", "bound", "__weakref__")

    def __new__(cls, value: float, *_: Any) -> Number:
        self: Number = object.__new__(KINDS[type(value)])
        # Whoever watches the run is shown what functions return, and this is one.
        _set["value"](self, value)
        return self

    def __init__(self, value: float, tensor: Base, recorder: Recorder, bound: int = SAFE) -> None:
        for name, x in dict(value=value, tensor=tensor, recorder=recorder, bound=bound).items():
            _set[name](self, x)
        recorder.stand_ins.numbers.add(tensor, self)

    __class__ = property(lambda self: type(value_of(self)))      # isinstance(x, float)

    def __whet_tensor__(self) -> Base | None:
        """The number as a tensor (float64 or int64); None if nothing is recorded."""
        return tensor_behind(self) if live(self) else None

    def __whet_call__(self, name: str, numbers: Any) -> Any:
        """The function with this name in `ops/python_calls.py`, applied to this and other
        numbers."""
        return through(BY_NAME[name], name, *numbers)

    def __whet_choose__(self, yes: float, no: float) -> Any:
        """One of two numbers, chosen by whether this is true."""
        return choose(self, yes, no)

    def __whet_plain__(self) -> float:
        """The value, for code that does not know numbers that vary."""
        value: float = guarded_value(self)
        return value

    def __whet_whole__(self) -> int:
        """The value, to be used as a size or a part of an index."""
        whole: int = recorder_of(self).followed.whole(recorder_of(self), self)
        return whole

    def __bool__(self) -> bool:
        if type(value_of(self)) is not bool and live(self):
            return bool(combine("ne", self, 0))
        return bool(guarded_value(self))
    declared_for_tracing.tells_elements(__bool__)

    def __getattr__(self, name: str) -> Any:
        if not hasattr(type(value_of(self)), name):
            kind = type(value_of(self)).__name__
            raise AttributeError(f"{kind!r} object has no attribute {name!r}")
        return getattr(guarded_value(self), name)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return guarded_value(self).__reduce_ex__(protocol)

    def __format__(self, spec: str) -> str:
        rec = recorder_of(self)
        text = live(self) and type(spec) is str and rec.stand_ins.texts.note(rec.user(), self, spec)
        return text or format(guarded_value(self), spec)
    declared_for_tracing.tells_elements(__format__)  # the text is formatted again, or a guard

    def __copy__(self) -> Number:
        return self

    def __deepcopy__(self, memo: object) -> Number:
        return self

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.asarray(guarded_value(self), dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """NumPy sees Python's number, which does not promote."""
        return getattr(ufunc, method)(*guarded_values(inputs), **guarded_values(kwargs))

    def __array_function__(self, function: Callable[..., Any], types: object, args: tuple[Any, ...],
                           kwargs: dict[str, Any]) -> Any:
        return function(*guarded_values(args), **guarded_values(kwargs))


def hide_slots(cls: type, *names: str) -> tuple[list[Any], dict[str, Any]]:
    """Functions that read and write slots of a class whose names are then removed from it, so that
    the user's code finds none."""
    members = {name: vars(cls)[name] for name in names}
    for name in names:
        delattr(cls, name)
    return ([member.__get__ for member in members.values()],
            {name: member.__set__ for name, member in members.items()})


(value_of, tensor_behind, recorder_of, bound_of), _set = hide_slots(
    Number, "value", "tensor", "recorder", "bound")


def idle_number(value: float) -> Number:
    """A Number without a recording, for asking a function whether it accepts one as a number."""
    number = Number.__new__(Number, value)
    for name, x in dict(tensor=None, recorder=None, bound=SAFE).items():
        _set[name](number, x)
    return number


def live(number: Any) -> bool:
    """Is its recording going on, in this thread?"""
    return recorder_of(number) in modes.state.observers


def guarded_value(number: Any) -> Any:
    """The value, for Python to continue from: it becomes a guard."""
    if live(number):
        recorder_of(number).pin(tensor_behind(number))
    return value_of(number)


KINDS = {t: type(t.__name__, (Number,), {"__slots__": (), "__doc__": t.__doc__})
         for t in (float, int, bool)}
NUMBERS = frozenset(KINDS.values())


def _give(name: str, method: Callable[..., Any]) -> None:
    """Give a method to those types of Numbers whose Python types have it."""
    for t, kind in KINDS.items():
        if name in dir(t):                   # `hasattr` finds those of types, too
            setattr(kind, name, method)


def guarded_values(x: Any) -> Any:
    """An argument with the values of its Numbers, for Python to continue from."""
    if type(x) in NUMBERS:
        return guarded_value(x)
    if type(x) in (tuple, list):
        return type(x)([guarded_values(y) for y in x])
    return {k: guarded_values(y) for k, y in x.items()} if type(x) is dict else x


def attributes_without_numbers(attrs: Mapping[str, Any]) -> Mapping[str, Any]:
    """The attributes of an op without Numbers."""
    return {k: without_numbers(v) for k, v in attrs.items()} if attrs else attrs


def without_numbers(x: Any) -> Any:
    """A value with plain numbers; if it has no Numbers, it is returned itself."""
    if type(x) in NUMBERS:
        return guarded_value(x)
    if type(x) in (tuple, list) and any(type(y) in NUMBERS or type(y) in (tuple, list) for y in x):
        return type(x)([without_numbers(y) for y in x])
    return x


def _handing_out(python: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Number) -> Any:
        is_noted = live(self) and recorder_of(self).stand_ins.texts.takes(self, python)
        return python(value_of(self) if is_noted else guarded_value(self))
    declared_for_tracing.tells_elements(method)      # a guard, as for a tensor that is asked
    return method


# By Python's functions, which say what is wrong with a float.
_MADE_OF_IT: dict[str, Callable[..., Any]] = dict(
    hash=hash, repr=repr, str=str, float=float, int=int, index=operator.index, trunc=math.trunc,
    invert=operator.invert)
for _name, _python in _MADE_OF_IT.items():
    _give(f"__{_name}__", _handing_out(_python))


def _on_values(python: Callable[..., Any], *, reflected: bool) -> Callable[..., Any]:
    def method(self: Number, other: Any) -> Any:
        if registry.is_tensor(other):
            return NotImplemented
        other = guarded_value(other) if type(other) in NUMBERS else other
        own = guarded_value(self)
        return python(other, own) if reflected else python(own, other)
    return method


_give("__divmod__", _on_values(divmod, reflected=False))
_give("__rdivmod__", _on_values(divmod, reflected=True))


# ---- arithmetic ----------------------------------------------------------------------------------
PYTHON = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "true_divide": operator.truediv,
    "floor_divide": operator.floordiv, "remainder": operator.mod, "lt": operator.lt,
    "le": operator.le, "gt": operator.gt, "ge": operator.ge, "eq": operator.eq, "ne": operator.ne}
COMPARISONS = frozenset(("lt", "le", "gt", "ge", "eq", "ne"))
# what no number is larger than, nor equal to (Python says so)
APART = {str, bytes, list, tuple, dict, set, type(None)}


def _bound(x: Any) -> int:
    """How large an operand can be; a float counts as fitting."""
    value = value_of(x) if type(x) in NUMBERS else x
    return (bound_of(x) if type(x) in NUMBERS else abs(value)) if type(value) is int else 0


def _wide(x: Any) -> Any:
    """An operand as a float64 tensor or a Python float."""
    if type(x) in NUMBERS:
        t = tensor_behind(x)
        return t if type(value_of(x)) is float else t.to(dtypes.float64)
    return float(x)


def _repeats_in_place(t: type) -> bool:
    """Do lists of this type have C's `*=`? Python asks the number first, which cannot distinguish
    this from `*`, and then the list itself."""
    return issubclass(t, MutableSequence) \
        and type(getattr(t, "__imul__", None)) is types.WrapperDescriptorType


def combine(name: str, a: Any, b: Any) -> Any:
    """A binary operation, of which at least one side is a Number."""
    number = a if type(a) in NUMBERS else b
    x, y = (value_of(v) if type(v) in NUMBERS else v for v in (a, b))
    if type(x) not in DTYPES or type(y) not in DTYPES:
        if (registry.is_tensor(y) or registry.is_tensor(x)
                or name in COMPARISONS and {type(x), type(y)} & APART
                or name == "mul" and any(map(_repeats_in_place, (type(x), type(y))))):
            return NotImplemented
        return PYTHON[name](*(guarded_value(v) if type(v) in NUMBERS else v for v in (a, b)))
    if not live(number):
        return PYTHON[name](x, y)
    bound = recordable(name, a, b, x, y)
    if bound is None:
        return through(PYTHON[name], name, a, b)
    value = PYTHON[name](x, y)
    with modes.no_grad():
        if type(x) is type(y) is int and name != "true_divide":
            made = FUNCTIONS[name](*(tensor_behind(v) if type(v) in NUMBERS else v for v in (a, b)))
        else:
            made = FUNCTIONS[name](_wide(a), _wide(b))
    result = Number(value, made, rec := recorder_of(number), bound)
    return guarded_value(result) if name in COMPARISONS and rec.code.notices_truths else result


def choose(condition: Any, yes: Any, no: Any) -> Any:
    """yes if condition else no, for a condition that is a Number."""
    x, y = (value_of(v) if type(v) in NUMBERS else v for v in (yes, no))
    if (not live(condition) or type(value_of(condition)) is not bool or type(x) is not type(y)
            or type(x) not in DTYPES):
        return yes if guarded_value(condition) else no
    with modes.no_grad():
        made = FUNCTIONS["where"](tensor_behind(condition), *(
            tensor_behind(v) if type(v) in NUMBERS else _recorded(v) for v in (yes, no)))
    return Number(x if value_of(condition) else y, made, recorder_of(condition),
                  max(_bound(yes), _bound(no)))


def _recorded(v: float) -> Any:
    """A plain number as a tensor that the recording makes."""
    return FUNCTIONS["full"]((), v, dtype=dtypes.float64 if type(v) is float else dtypes.int64)


def recordable(name: str, a: Any, b: Any, x: float, y: float) -> int | None:
    """How large the result can be; None if tensors would not give Python's result for all
    values."""
    m, n = _bound(a), _bound(b)
    if max(m, n) >= EXACT:
        return None
    if name in COMPARISONS:
        return 0
    whole = type(x) is type(y) is int
    if name in ("add", "sub"):
        return m + n if not whole or m + n < EXACT else None
    if name == "mul":
        return m * n if not whole or m * n < EXACT else None
    if type(b) in NUMBERS and name == "true_divide" and y != 0:
        return 0 if b != 0 else None         # asked so that a replay asks it, too
    if type(b) in NUMBERS or y == 0:
        return None
    if name == "true_divide":
        return 0
    return m + n if whole else None


def _operators(name: str, python: str) -> None:
    _give(f"__{python}__", declared_for_tracing.tells_elements(lambda a, b: combine(name, a, b)))
    if name not in COMPARISONS:
        _give(f"__r{python}__", lambda self, other: combine(name, other, self))


for _name, _operator in dict(
        add="add", sub="sub", mul="mul", true_divide="truediv", floor_divide="floordiv",
        remainder="mod", lt="lt", le="le", gt="gt", ge="ge", eq="eq", ne="ne").items():
    _operators(_name, _operator)


def through(python: Callable[..., Any], name: str, *args: Any) -> Any:
    """Apply a Python function, by its name in `ops/python_calls.py`. If it gives a float or a
    modest int for Numbers, a replay computes it again."""
    number = next((x for x in args if type(x) in NUMBERS and live(x)), None)
    values = [value_of(x) if type(x) in NUMBERS else x for x in args]
    if number is None:
        return python(*args if python in NUMERIC.values() else values)
    y: Any
    try:
        y = python(*values) if all(type(v) in DTYPES for v in values) else None
    except (ArithmeticError, ValueError):
        y = None
    if not fits(y):
        return python(*guarded_values(args))
    with modes.no_grad():
        made = of_numbers(*[tensor_behind(x) if type(x) in NUMBERS else x for x in args], name=name)
    return Number(y, made, recorder_of(number), SAFE)


def _python_method(name: str, python: Callable[..., Any], *, reflected: bool) -> Callable[..., Any]:
    def method(self: Number, other: Any, *more: Any) -> Any:
        if registry.is_tensor(other):
            return NotImplemented
        if reflected:
            return through(python, name, other, self)
        return through(python, name, self, other, *[x for x in more if x is not None])
    return method


_BY_PYTHON: dict[str, Callable[..., Any]] = {
    "power": pow, "lshift": operator.lshift, "rshift": operator.rshift, "xor": operator.xor,
    "and": operator.and_, "or": operator.or_}
for _name, _python in _BY_PYTHON.items():
    _dunder = "pow" if _name == "power" else _name
    _give(f"__{_dunder}__", _python_method(_name, _python, reflected=False))
    _give(f"__r{_dunder}__", _python_method(_name, _python, reflected=True))
_ROUNDING: dict[str, Callable[..., Any]] = dict(floor=math.floor, ceil=math.ceil, round=round)
for _name, _python in _ROUNDING.items():
    _give(f"__{_name}__", lambda self, *digits, _python=_python, _name=_name: through(
        _python, _name, self, *digits))


def _sign(name: str, python: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Number) -> Any:
        if not live(self) or type(value_of(self)) not in DTYPES:
            return python(guarded_value(self))
        with modes.no_grad():
            made = tensor_behind(self) if name == "pos" else FUNCTIONS[name](tensor_behind(self))
        return Number(python(value_of(self)), made, recorder_of(self), bound_of(self))
    return method


_SIGNS: dict[str, Callable[..., Any]] = dict(neg=operator.neg, abs=abs, pos=operator.pos)
for _name, _function in _SIGNS.items():
    _give(f"__{_name}__", _sign(_name, _function))


# names that Python numbers lack (but for one that every class has)
TELLTALE = frozenset(name for t, kind in KINDS.items() for name in dir(kind)
                     if not hasattr(t(), name) and name != "__module__")

# methods that Python's numbers have: those of the types take no Number for a number
METHODS = frozenset(name for t in (int, float) for name, f in vars(t).items()
                    if type(f) is types.MethodDescriptorType)
