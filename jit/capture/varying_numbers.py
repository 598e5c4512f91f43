"""Numbers that are others at each call: arguments, attributes, what `item()` gives.

A recording takes numbers as they are, and looks before each replay whether they still are. Those that were seen to vary are `Number`s in the
next recording: they look like an int or float to Python, and every way of using one is either recorded (arithmetic and comparisons, done on
tensors of no dimension that give the very same bits, and operands of tensors' ops) or hands out the value, on which the replay then depends.
"""
import collections
import functools
import gc
import math
import operator
import types
import weakref

import numpy as np
from whet import dtypes
from whet.autograd import modes
from whet.ops import registry
from whet.ops.python import BY_NAME, NUMERIC, fits, of_numbers
from whet.ops.surface import FUNCTIONS
from whet.tensor import Size, wrap

from .containers import elements, fill, kind_of, values

SAFE = 1 << 40                   # an int from outside is at most so large
EXACT = 1 << 53                  # below this, ints are floats and do not overflow
DTYPES = {float: np.dtype(np.float64), int: np.dtype(np.int64)}


def varies(v):
    """Is this a number that a recording can take from outside at each call?"""
    return type(v) is float or type(v) is int and -SAFE <= v <= SAFE


def tensor_of(v):
    """A number as a tensor."""
    return wrap(np.array(v, DTYPES[type(v)]))


class Number:
    """A number of a run that is recorded: what it is, the tensor that stands for it, and how large it can be (of ints).

    Its type has the name of the value's type, and no method that the latter lacks: Python says of both what is wrong with them in the same
    words."""
    __slots__ = ("value", "tensor", "recorder", "bound", "__weakref__")

    def __new__(cls, value, *_):
        self = object.__new__(KINDS[type(value)])
        _set["value"](self, value)           # (who watches the run is shown what functions return, this one among them)
        return self

    def __init__(self, value, tensor, recorder, bound=SAFE):
        for name, x in ("value", value), ("tensor", tensor), ("recorder", recorder), ("bound", bound):
            _set[name](self, x)
        recorder.hidden.append(tensor)
        recorder.lent.append(weakref.ref(self))

    __class__ = property(lambda self: type(value_of(self)))      # isinstance(x, float)

    def __whet_tensor__(self):
        """The number as a tensor (float64 or int64), None when nobody records."""
        return tensor_behind(self) if live(self) else None

    def __whet_call__(self, name, numbers):
        """A function of Python's by its name in `ops/python.py`, of numbers among which this one is."""
        return through(BY_NAME[name], name, *numbers)

    def __whet_plain__(self):
        """The value, for who is not told of numbers that vary."""
        return plain(self)

    def __whet_whole__(self):                # (which is to become a size, or a part of an index)
        return recorder_of(self).followed.whole(recorder_of(self), self)

    def __bool__(self):
        if type(value_of(self)) is not bool and live(self):
            return bool(self != 0)
        return bool(plain(self))

    def __getattr__(self, name):
        if not hasattr(type(value_of(self)), name):
            raise AttributeError(f"{type(value_of(self)).__name__!r} object has no attribute {name!r}")
        return getattr(plain(self), name)

    def __reduce_ex__(self, protocol):
        return plain(self).__reduce_ex__(protocol)

    def __format__(self, spec):
        text = recorder_of(self).texts.note(recorder_of(self).user(), self, spec) if live(self) and type(spec) is str else None
        return plain(self).__format__(spec) if text is None else text

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __array__(self, dtype=None, copy=None):
        return np.asarray(plain(self), dtype)

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        """NumPy finds Python's number, which does not promote."""
        return getattr(ufunc, method)(*plainly(inputs), **plainly(kwargs))

    def __array_function__(self, function, types, args, kwargs):
        return function(*plainly(args), **plainly(kwargs))


# what a Number holds, and how it is given that: by no name that the user's code could find
_members = {name: vars(Number)[name] for name in ("value", "tensor", "recorder", "bound")}
value_of, tensor_behind, recorder_of, bound_of = (member.__get__ for member in _members.values())
_set = {name: member.__set__ for name, member in _members.items()}
for _name in _members:
    delattr(Number, _name)


def live(number):
    """Is its recording going on, in this thread?"""
    return recorder_of(number) in modes.state.observers


def plain(number):
    """The value, for Python to go on from: a replay needs the same."""
    if live(number):
        recorder_of(number).pin(tensor_behind(number))
    return value_of(number)


KINDS = {t: type(t.__name__, (Number,), {"__slots__": ()}) for t in (float, int, bool)}
NUMBERS = frozenset(KINDS.values())


def _give(name, method):
    """A method for the types of numbers whose own have it."""
    for t, kind in KINDS.items():
        if name in dir(t):                   # (`hasattr` finds those of types, too)
            setattr(kind, name, method)


def plainly(x):
    """The same with the values of Numbers, for Python to go on from."""
    if type(x) in NUMBERS:
        return plain(x)
    if type(x) in (tuple, list):
        return type(x)([plainly(y) for y in x])
    return {k: plainly(y) for k, y in x.items()} if type(x) is dict else x


def _handing_out(python):
    return lambda self: python(plain(self))


# (by the functions of Python, which say what is wrong with a float)
for _name, _python in dict(hash=hash, repr=repr, str=str, float=float, int=int, index=operator.index, trunc=math.trunc,
                           invert=operator.invert).items():
    _give(f"__{_name}__", _handing_out(_python))


def _plainly(python, reflected):
    def method(self, other):
        if registry.is_tensor(other):
            return NotImplemented
        other = plain(other) if type(other) in NUMBERS else other
        return python(other, plain(self)) if reflected else python(plain(self), other)
    return method


for _name, _python in dict(divmod=divmod).items():
    _give(f"__{_name}__", _plainly(_python, False))
    _give(f"__r{_name}__", _plainly(_python, True))


# ---- arithmetic ------------------------------------------------------------------------------------------------------------
PYTHON = {"add": operator.add, "sub": operator.sub, "mul": operator.mul, "true_divide": operator.truediv, "floor_divide": operator.floordiv,
          "remainder": operator.mod, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge, "eq": operator.eq, "ne": operator.ne}
COMPARISONS = frozenset(("lt", "le", "gt", "ge", "eq", "ne"))
APART = {str, bytes, list, tuple, dict, set, type(None)}                 # that nothing is larger than, nor equal to (Python says so)


def _bound(x):
    """How large an operand can be; a float counts as fitting."""
    value = value_of(x) if type(x) in NUMBERS else x
    return (bound_of(x) if type(x) in NUMBERS else abs(value)) if type(value) is int else 0


def _wide(x):
    """An operand as a float64 tensor or a Python float."""
    if type(x) in NUMBERS:
        return tensor_behind(x) if type(value_of(x)) is float else tensor_behind(x).to(dtypes.float64)
    return float(x)


def combine(name, a, b):
    """A binary operation, of which at least one side is a Number."""
    number = a if type(a) in NUMBERS else b
    x, y = (value_of(v) if type(v) in NUMBERS else v for v in (a, b))
    if type(x) not in DTYPES or type(y) not in DTYPES:
        if registry.is_tensor(y) or registry.is_tensor(x) or name in COMPARISONS and {type(x), type(y)} & APART:
            return NotImplemented
        return PYTHON[name](*(plain(v) if type(v) in NUMBERS else v for v in (a, b)))
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
    return Number(value, made, recorder_of(number), bound)


def recordable(name, a, b, x, y):
    """How large the result can be; None where tensors would not give Python's result for all values."""
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
        return 0 if b != 0 else None         # (asked so that a replay asks it too)
    if type(b) in NUMBERS or y == 0:
        return None
    if name == "true_divide":
        return 0
    return m + n if whole else None


def _operators(name, python):
    _give(f"__{python}__", lambda self, other: combine(name, self, other))
    if name not in COMPARISONS:
        _give(f"__r{python}__", lambda self, other: combine(name, other, self))


for _name, _python in dict(add="add", sub="sub", mul="mul", true_divide="truediv", floor_divide="floordiv", remainder="mod", lt="lt", le="le",
                           gt="gt", ge="ge", eq="eq", ne="ne").items():
    _operators(_name, _python)


def through(python, name, *args):
    """A function of Python's, by its name in `ops/python.py`: where it gives a float or a modest int for Numbers, a replay computes it again."""
    number = next((x for x in args if type(x) in NUMBERS and live(x)), None)
    values = [value_of(x) if type(x) in NUMBERS else x for x in args]
    if number is None:
        return python(*args if python in NUMERIC.values() else values)
    try:
        y = python(*values) if all(type(v) in DTYPES for v in values) else None
    except (ArithmeticError, ValueError):
        y = None
    if not fits(y):
        return python(*plainly(args))
    with modes.no_grad():
        made = of_numbers(*[tensor_behind(x) if type(x) in NUMBERS else x for x in args], name=name)
    return Number(y, made, recorder_of(number), SAFE)


def _through(name, python, reflected):
    def method(self, other, *more):
        if registry.is_tensor(other):
            return NotImplemented
        return through(python, name, other, self) if reflected else through(python, name, self, other, *[x for x in more if x is not None])
    return method


for _name, _python in dict(power=pow, lshift=operator.lshift, rshift=operator.rshift, xor=operator.xor,
                           **{"and": operator.and_, "or": operator.or_}).items():
    _dunder = "pow" if _name == "power" else _name
    _give(f"__{_dunder}__", _through(_name, _python, False))
    _give(f"__r{_dunder}__", _through(_name, _python, True))
for _name, _python in dict(floor=math.floor, ceil=math.ceil, round=round).items():
    _give(f"__{_name}__", lambda self, *digits, _python=_python, _name=_name: through(_python, _name, self, *digits))


def _sign(name, python):
    def method(self):
        if not live(self) or type(value_of(self)) not in DTYPES:
            return python(plain(self))
        with modes.no_grad():
            made = tensor_behind(self) if name == "pos" else FUNCTIONS[name](tensor_behind(self))
        return Number(python(value_of(self)), made, recorder_of(self), bound_of(self))
    return method


for _name, _function in dict(neg=operator.neg, abs=abs, pos=operator.pos).items():
    _give(f"__{_name}__", _sign(_name, _function))


# what gives the real thing for a stand-in that may lie in what a run returns, and types of what may hold one
SETTLED = dict.fromkeys(NUMBERS, value_of)
HOLDS = {*NUMBERS, list, dict, tuple, slice, frozenset, Size}


def settle(x, seen=None):
    """The same with plain numbers in place of Numbers: containers that the run made are changed, tuples made anew, each once (`seen`)."""
    t, made, seen = type(x), None, {} if seen is None else seen
    if t in SETTLED:
        return SETTLED[t](x)
    if id(x) in seen:                        # (a list may hold itself)
        return seen[id(x)][1]
    seen[id(x)] = x, x
    if t is list:
        for i, y in enumerate(x):
            if type(y) in HOLDS:
                x[i] = settle(y, seen)
    elif isinstance(x, dict):
        for k, y in zip(elements(x), values(x)):
            if type(y) in HOLDS:
                kind_of(x).__setitem__(x, k, settle(y, seen))
    elif t is tuple and any(type(y) in HOLDS for y in x):
        made = tuple([settle(y, seen) for y in x])
    elif isinstance(x, tuple | frozenset | slice):
        made = _anew(x, lambda y: settle(y, seen))
    seen[id(x)] = x, x if made is None else made
    return seen[id(x)][1]


def reclaim(lent):
    """What is real in place of stand-ins that the run left somewhere that nobody looks at: in
    objects of its own, in frames of an exception. `lent`: pairs of a stand-in, weakly, and what it
    stands for, or None for the number that a Number has."""
    alive = [x for ref, _ in lent if (x := ref()) is not None]
    if not alive:
        return
    real = [value_of(ref()) if value is None else value for ref, value in lent if ref() is not None]
    # (this looks at every container of the process)
    for holder in gc.get_referrers(*alive):
        for x, value in zip(alive, real) if holder is not alive else ():
            _replace(holder, x, value)


def _replace(holder, number, value):
    """A plain number in place of a Number, or one tuple in place of another, in what refers to it."""
    def settled(x):
        return value if x is number else x
    if isinstance(holder, list | collections.deque | dict | set):
        own, held = kind_of(holder), elements(holder)
        if own is set:
            set.discard(holder, number)
            set.add(holder, value)
        elif isinstance(holder, dict) and any(k is number for k in held):
            fill(holder, [(settled(k), settled(v)) for k, v in zip(held, values(holder))])
        else:
            for i, x in zip(held, values(holder)) if isinstance(holder, dict) else enumerate(held):
                if x is number:
                    own.__setitem__(holder, i, value)
    elif isinstance(holder, BaseException) and holder.args is number:        # (they are a tuple)
        holder.args = value
    elif type(holder) is types.CellType:
        holder.cell_contents = settled(holder.cell_contents)
    elif type(holder) is types.FunctionType:             # (its defaults are a tuple)
        holder.__defaults__ = value if holder.__defaults__ is number else holder.__defaults__
    elif isinstance(holder, functools.partial):          # (its arguments are a tuple)
        holder.__setstate__((holder.func, settled(holder.args), holder.keywords, holder.__dict__))
    elif isinstance(holder, tuple | frozenset | slice | types.MethodType):
        new = _anew(holder, settled)
        if new is not None:
            for outer in gc.get_referrers(holder):
                _replace(outer, holder, new)
    elif not isinstance(holder, types.FrameType):
        held = getattr(holder, "__dict__", {})
        for k in [k for k, x in held.items() if x is number]:
            held[k] = value
        for c in type(holder).__mro__:
            for d in vars(c).values():
                if type(d) is types.MemberDescriptorType and getattr(holder, d.__name__, None) is number:
                    object.__setattr__(holder, d.__name__, value)


def _anew(holder, settled):
    """A tuple, slice or bound method with plain numbers; None where it has no others, or is of a kind of its own."""
    t = type(holder)
    if t is types.MethodType:
        of = holder.__self__
        if type(of) not in NUMBERS or settled(of) is of:
            return None
        name = next((k for k, v in vars(type(of)).items() if v is holder.__func__), None)
        return types.MethodType(holder.__func__, settled(of)) if name is None else getattr(settled(of), name)
    parts = (holder.start, holder.stop, holder.step) if t is slice else elements(holder)
    if not any(settled(x) is not x for x in parts):
        return None
    if t is slice:
        return slice(*map(settled, parts))
    try:
        new = kind_of(holder).__new__(t, map(settled, parts))
    except TypeError:                        # (a record of C's)
        return None
    if hasattr(holder, "__dict__"):
        vars(new).update(vars(holder))
    return new


# names that numbers of Python's lack (but for one that every class has)
TELLTALE = frozenset(name for t, kind in KINDS.items() for name in dir(kind) if not hasattr(t(), name) and name != "__module__")
