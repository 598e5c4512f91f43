"""Finds out what a C function or type does with its arguments, by calling it.

C code cannot be read, but it can be probed. It is called with a number that only looks like one of
Python's, a list whose methods all raise, or the name of a file that cannot exist. Only functions
that are known to do no more than compute are probed, each once. A method of a container is probed
on another container, because it may change that.
"""
import collections
import functools
import itertools
import math
import operator
import os
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

from ..values.varying_numbers import NUMBERS, idle_number, value_of

MOST_ARGUMENTS = 3               # no C function wants more of a later argument
CONSUMED = 8                     # how many elements of an iterator are compared
NAME = "a_name_that_nobody_has"
NOWHERE = os.path.join(os.devnull, "file")       # nothing is inside of what is no folder
T = TypeVar("T")
Asked = Callable[[Any], T]


# by type: a new object for a method to change
_CHANGED_BY_METHODS: dict[type, Callable[[], Any]] = {
    collections.OrderedDict: lambda: collections.OrderedDict({1: 2, "d": 3}),
    collections.defaultdict: lambda: collections.defaultdict(int, {1: 2, "d": 3}),
    dict: lambda: {1: 2, "d": 3}, list: lambda: [1, 2, 3, 4], set: lambda: {1, 2, 3, 4},
    collections.deque: lambda: collections.deque([1, 2, 3, 4]),
    bytearray: lambda: bytearray(b"abcd"), BaseException: BaseException}


@functools.cache
def _method_of_another(kind: type, name: str) -> Callable[..., Any]:
    """A method that is called on a new object each time."""
    return lambda *args: getattr(_CHANGED_BY_METHODS[kind](), name)(*args)


def _harmless_form(f: Any) -> Any:
    """The function itself, or, if it is a method of a container, the same method of others."""
    owner = getattr(f, "__self__", None)
    kind = next((t for t in _CHANGED_BY_METHODS if isinstance(owner, t)), None)
    return f if kind is None else _method_of_another(kind, f.__name__)


def _asked_once(ask: Asked[T]) -> Asked[T]:
    """Cache the answers to a question about functions, by the function's identity."""
    answers: dict[int, tuple[Any, T]] = {}

    def answer(f: Any) -> T:
        f = _harmless_form(f)
        if id(f) not in answers:
            answers[id(f)] = f, ask(f)
        return answers[id(f)][1]
    return answer


def _visible_parts(x: Any) -> Any:
    """What can be seen of a result, with the values of Numbers."""
    if type(x) in NUMBERS:
        x = value_of(x)
    if isinstance(x, list | tuple | set | frozenset | collections.deque):
        return [_visible_parts(y) for y in x]
    if isinstance(x, dict):
        return [(_visible_parts(k), _visible_parts(v)) for k, v in x.items()]
    if isinstance(x, Iterator):
        return [_visible_parts(y) for y in itertools.islice(x, CONSUMED)]
    kind = type(x).__qualname__
    return kind, repr(x) if type(x) in (int, float, complex, bool, str, bytes) else ""


def _outcome(f: Any, make: Iterable[Callable[[], Any]]) -> Any:
    """What can be seen of a call: its result and its arguments; None where it raises an error."""
    args = [m() for m in make]
    try:
        return _visible_parts(f(*args)), [_visible_parts(x) for x in args]
    except Exception:
        return None


# ---- numbers -------------------------------------------------------------------------------------
# arguments, new ones for each call; the first two are numbers, with stand-ins below
_EXAMPLES: Sequence[Callable[[], Any]] = (
    lambda: 2, lambda: 0.5, lambda: [1, 2, 3, 4], lambda: "d")
_STAND_INS: Sequence[Callable[[], Any]] = lambda: idle_number(2), lambda: idle_number(0.5)


@_asked_once
def wants_pythons_numbers(f: Any) -> frozenset[int]:
    """The positions of arguments for which a C function or type wants a number of Python's own. It
    refuses what only looks like one there, or gives another result for it.

    >>> import collections, math, operator
    >>> from whet.jit.guards.probed_functions import wants_pythons_numbers
    >>> [sorted(wants_pythons_numbers(f)) for f in (math.sin, math.ldexp, collections.deque)]
    [[], [1], [1]]
    >>> sorted(wants_pythons_numbers(operator.is_))
    [0, 1]
    """
    found: set[int] = set()
    fewer_were_taken = False
    for n in range(1, MOST_ARGUMENTS + 1):
        are_taken = False
        for chosen in itertools.product(range(len(_EXAMPLES)), repeat=n):
            numbers = [i for i, which in enumerate(chosen) if which < len(_STAND_INS)]
            want = _outcome(f, [_EXAMPLES[k] for k in chosen])
            are_taken |= want is not None
            if want is not None and numbers:
                _add_what_matters(found, f, chosen, numbers, want)
        if fewer_were_taken and not are_taken:
            break                            # nor are more
        fewer_were_taken |= are_taken
    return frozenset(found)


def _add_what_matters(found: set[int], f: Any, chosen: Sequence[int], numbers: list[int],
                      want: Any) -> None:
    """Add to `found` the positions at which a stand-in for a number changes the outcome, alone or
    together with others."""
    for count in range(1, len(numbers) + 1):
        for replaced in itertools.combinations(numbers, count):
            make = [_STAND_INS[k] if i in replaced else _EXAMPLES[k]
                    for i, k in enumerate(chosen)]
            if found.isdisjoint(replaced) and _outcome(f, make) != want:
                found.update(replaced)


# ---- lists ---------------------------------------------------------------------------------------
class _Noticed(Exception):
    """A method was called."""


def _raising(*_: Any, **__: Any) -> Any:
    raise _Noticed


# `[1] + asking` asks the latter only where it has a method of its own for that.
_Asking: Any = type("_Asking", (list,), {"__radd__": _raising} | {
    name: _raising for name, method in vars(list).items()
    if type(method) in (types.MethodDescriptorType, types.WrapperDescriptorType)
    and name not in ("__init__", "__getattribute__")})


@_asked_once
def bypasses_list_methods(f: Any) -> bool:
    """Does a C function read or change what a list holds without calling its methods?

    >>> import bisect, heapq, operator
    >>> from whet.jit.guards.probed_functions import bypasses_list_methods
    >>> [bypasses_list_methods(f) for f in (len, sorted, isinstance, bisect.insort)]
    [False, False, False, False]
    >>> [bypasses_list_methods(f) for f in (operator.concat, heapq.heappush)]
    [True, True]
    """
    others = [(), (2,), ([1],), (list,), (2, 2)]
    return any(_reads(f, before, after)
               for before in others[:-1] for after in others if len(before) + len(after) < 3)


def _reads(f: Any, before: Sequence[Any], after: Sequence[Any]) -> bool:
    """Does the outcome of a call depend on the contents of a list whose methods all raise?"""
    seen = []
    for held in ([5, 7], [5, 8, 9]):
        asking = _Asking(held)
        try:
            result = f(*before, asking, *after)
            said = None if result is asking else _visible_parts(result)
        except Exception:                    # among them, that a method was called
            return False
        if list(list.__iter__(asking)) != held:
            return True
        seen.append(said)
    return bool(seen[0] != seen[1])


# ---- names ---------------------------------------------------------------------------------------
# What a module may hold under NAME: nothing, or a type, whose result shows that it was called.
_HELD: Sequence[type | None] = (None, int, float)


@_asked_once
def looks_up_names(f: Any) -> bool:
    """Does a function or type read or change an attribute of a module whose name it is given, or
    read all attributes?

    >>> import inspect, operator
    >>> from whet.jit.guards.probed_functions import looks_up_names
    >>> [looks_up_names(f) for f in (getattr, setattr, vars, operator.attrgetter, len, operator.eq)]
    [True, True, True, True, False, False]
    >>> looks_up_names(inspect.getmembers), looks_up_names(inspect.getdoc)
    (True, False)
    """
    return reads_names(f) or changes_names(f)


def reads_names(f: Any) -> bool:
    """Does the outcome of a call depend on what a module holds?"""
    module = types.ModuleType(NAME)
    return any(_outcome_in(module, f, args, held) != _outcome_in(module, f, args, None)
               for args in ((), (NAME,)) for held in _HELD[1:]) \
        or len({repr(_called_in(module, f, held)) for held in _HELD}) > 1


@_asked_once
def lists_names(f: Any) -> bool:
    """Does a function list all that a module holds, without being given a name?

    >>> import inspect
    >>> from whet.jit.guards.probed_functions import lists_names
    >>> [lists_names(f) for f in (dir, vars, inspect.getmembers, getattr, hasattr, len)]
    [True, True, True, False, False, False]
    """
    module = types.ModuleType(NAME)
    return any(_outcome_in(module, f, (), held) != _outcome_in(module, f, (), None)
               for held in _HELD[1:])


def changes_names(f: Any) -> bool:
    """Does a call replace what a module holds under a given name?"""
    module = types.ModuleType(NAME)
    for args in ((), (NAME,), (NAME, 1)):
        _outcome_in(module, f, args, int)
        if vars(module).get(NAME) is not int:
            return True
    return False


def _outcome_in(module: types.ModuleType, f: Any, args: Sequence[Any], held: type | None) -> Any:
    """The visible result of a call with a module that holds `held` under NAME."""
    names = vars(module)
    names.clear()
    names.update({NAME: held} if held is not None else {})
    try:
        return _visible_parts(f(module, *args))
    except Exception:
        return None


def _called_in(module: types.ModuleType, f: Any, held: type | None) -> Any:
    """The visible result of calling `f(NAME)(module)`, as with `operator.attrgetter`."""
    try:
        made = f(NAME)
    except Exception:
        return None
    return _outcome_in(module, made, (), held) if callable(made) else None


def module_attributes_that(do: Callable[[Any], bool]) -> frozenset[str]:
    """The attributes that all modules have and that, taken and called, do this.

    >>> from whet.jit.guards.probed_functions import (
    ...     changes_names, module_attributes_that, reads_names)
    >>> module_attributes_that(reads_names) >= {"__dict__", "__dir__", "__getattribute__"}
    True
    >>> sorted(module_attributes_that(changes_names))
    ['__delattr__', '__setattr__']
    """
    def called(name: str) -> Callable[..., Any]:
        def call(module: types.ModuleType, *args: Any) -> Any:
            found = getattr(module, name)
            return found(*args) if callable(found) else found
        return call
    return frozenset(name for name in dir(types.ModuleType) if do(called(name)))


# ---- files ---------------------------------------------------------------------------------------
@_asked_once
def opens_files(f: Any) -> bool:
    """Does a C function open a file whose name it is given?

    >>> import numpy as np
    >>> from whet.jit.guards.probed_functions import opens_files
    >>> opens_files(np.fromfile), opens_files(np.zeros), opens_files(np.zeros(1).tofile)
    (True, False, True)
    """
    try:
        f(NOWHERE)
    except OSError:
        return True
    except Exception:
        return False
    return False


@functools.cache
def array_opens_files_by(name: str) -> bool:
    """Is there such a method of NumPy's arrays that opens a file whose name it is given?

    >>> from whet.jit.guards.probed_functions import array_opens_files_by
    >>> [array_opens_files_by(name) for name in ("tofile", "dump", "sum", "shape")]
    [True, True, False, False]
    """
    method = getattr(np.ndarray, name, None)
    return type(method) is types.MethodDescriptorType \
        and opens_files(functools.partial(method, np.zeros(1)))


# ---- methods that Python calls -------------------------------------------------------------------
# by the name of a method: the function that calls it for a number
_ASKING_FOR_NUMBERS: dict[str, Callable[[Any], Any]] = {
    "__bool__": bool, "__int__": int, "__float__": float, "__complex__": complex,
    "__index__": operator.index, "__hash__": hash, "__len__": len,
    "__length_hint__": operator.length_hint, "__abs__": abs, "__round__": round,
    "__floor__": math.floor, "__ceil__": math.ceil, "__trunc__": math.trunc}


def methods_that_give_numbers() -> frozenset[str]:
    """The names of methods that must return a number of Python's own, and nothing that only looks
    like one.

    >>> from whet.jit.guards.probed_functions import methods_that_give_numbers
    >>> sorted(methods_that_give_numbers())
    ['__bool__', '__float__', '__hash__', '__index__', '__int__', '__length_hint__']
    """
    return frozenset(
        name for name, ask in _ASKING_FOR_NUMBERS.items()
        for number in ((True,) if ask is bool else (2, 0.5))
        if (want := _outcome(ask, [lambda: _object_giving(name, number)])) is not None
        and _outcome(ask, [lambda: _object_giving(name, idle_number(number))]) != want)


def _object_giving(name: str, number: Any) -> Any:
    """An object whose method `name` returns a number."""
    return type("_Giving", (), {name: lambda self: number})()
