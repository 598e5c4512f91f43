"""What is real, in the place of stand-ins that a recorded run left: in what it returns, in Python's
state, and wherever else somebody holds one."""
import collections
import functools
import gc
import operator
import types
from collections.abc import Callable, Sequence
from typing import Any

from whet.tensor import Size

from ..guards.instances import attribute, own_dict, parts_of_partial, set_attribute
from .containers import elements, fill, kind_of, values
from .varying_numbers import NUMBERS, value_of

# what gives the real thing for a stand-in that may lie in what a run returns, and types of what may
# hold one
REAL_OF = dict.fromkeys(NUMBERS, value_of)
HOLDS = {*NUMBERS, list, dict, tuple, slice, frozenset, Size}


def replace_stand_ins(x: Any, seen: dict[int, tuple[Any, Any]] | None = None) -> Any:
    """The same with plain numbers in place of Numbers: containers that the run made are changed,
    tuples made anew, each once (`seen`)."""
    t, made, seen = type(x), None, {} if seen is None else seen
    if t in REAL_OF:
        return REAL_OF[t](x)
    if id(x) in seen:                        # a list may hold itself
        return seen[id(x)][1]
    seen[id(x)] = x, x
    if t is list:
        for i, y in enumerate(x):
            if type(y) in HOLDS:
                x[i] = replace_stand_ins(y, seen)
    elif isinstance(x, dict):
        for k, y in zip(elements(x), values(x)):
            if type(y) in HOLDS:
                kind_of(x).__setitem__(x, k, replace_stand_ins(y, seen))
    elif t is tuple and any(type(y) in HOLDS for y in x):
        parts = [replace_stand_ins(y, seen) for y in x]
        made = tuple(parts) if any(map(operator.is_not, parts, x)) else None
    elif isinstance(x, tuple | frozenset | slice):
        made = _anew(x, lambda y: replace_stand_ins(y, seen))
    seen[id(x)] = x, x if made is None else made
    return seen[id(x)][1]


def reclaim(lent: Sequence[tuple[Callable[[], Any], Any]]) -> None:
    """What is real in place of stand-ins that the run left somewhere that nobody looks at: in
    objects of its own, in frames of an exception. `lent`: pairs of a stand-in, weakly, and what it
    stands for, or None for the number that a Number has."""
    alive = [x for ref, _ in lent if (x := ref()) is not None]
    if not alive:
        return
    real = [value_of(ref()) if value is None else value for ref, value in lent if ref() is not None]
    # This looks at every container of the process.
    for holder in gc.get_referrers(*alive):
        for x, value in zip(alive, real) if holder is not alive else ():
            _replace(holder, x, value)


def _replace(holder: Any, number: Any, value: Any) -> None:
    """A plain number in place of a Number, or one tuple in place of another, in what refers to
    it."""
    def replaced(x: Any) -> Any:
        return value if x is number else x
    if isinstance(holder, list | collections.deque | dict | set):
        own, held = kind_of(holder), elements(holder)
        if isinstance(holder, set):
            if any(x is number for x in held):
                set.discard(holder, number)
                set.add(holder, value)
        elif isinstance(holder, dict) and (of := _class_with(holder)) is not None:
            for name, x in zip(held, values(holder)):
                if x is number:
                    type.__setattr__(of, name, value)
        elif isinstance(holder, dict) and any(k is number for k in held):
            fill(holder, [(replaced(k), replaced(v)) for k, v in zip(held, values(holder))])
        else:
            for i, x in zip(held, values(holder)) if isinstance(holder, dict) else enumerate(held):
                if x is number:
                    own.__setitem__(holder, i, value)
    elif isinstance(holder, BaseException) and holder.args is number:        # they are a tuple
        holder.args = value
    elif type(holder) is types.CellType:
        holder.cell_contents = replaced(holder.cell_contents)
    elif type(holder) is types.FunctionType:             # its defaults are a tuple
        holder.__defaults__ = value if holder.__defaults__ is number else holder.__defaults__
    elif isinstance(holder, functools.partial):          # its arguments are a tuple
        partial: Any = holder
        function, args, keywords, attributes = parts_of_partial(partial)
        partial.__setstate__((function, replaced(args), keywords, attributes))
    elif isinstance(holder, tuple | frozenset | slice | types.MethodType):
        new = _anew(holder, replaced)
        if new is not None:
            for outer in gc.get_referrers(holder):
                _replace(outer, holder, new)
    elif not isinstance(holder, types.FrameType):
        names = own_dict(holder)
        for k in [k for k, x in names.items() if x is number]:
            names[k] = value
        for c in type(holder).__mro__:
            for name in [d.__name__ for d in vars(c).values()
                         if type(d) is types.MemberDescriptorType]:
                if attribute(holder, name) is number:
                    set_attribute(holder, name, value)


def _class_with(d: dict[Any, Any]) -> type | None:
    """The class of which a dict is the namespace. CPython keeps what it finds there in caches that
    hold no reference."""
    if "__module__" not in d or "__doc__" not in d:
        return None
    return next((t for t in gc.get_referrers(d) if isinstance(t, type)
                 and len(vars(t)) == len(d) and all(vars(t)[k] is x for k, x in d.items())), None)


def _anew(holder: Any, replaced: Callable[[Any], Any]) -> Any:
    """A tuple, slice or bound method with plain numbers; None where it has no others, or is of a
    kind of its own."""
    t = type(holder)
    if t is types.MethodType:
        of = holder.__self__
        if type(of) not in NUMBERS or replaced(of) is of:
            return None
        name = next((k for k, v in vars(type(of)).items() if v is holder.__func__), None)
        real = replaced(of)
        return types.MethodType(holder.__func__, real) if name is None else getattr(real, name)
    parts = (holder.start, holder.stop, holder.step) if t is slice else elements(holder)
    if not any(replaced(x) is not x for x in parts):
        return None
    if t is slice:
        return slice(*map(replaced, parts))
    try:
        new = kind_of(holder).__new__(t, map(replaced, parts))
    except TypeError:                        # a record made in C
        return None
    if hasattr(holder, "__dict__"):
        vars(new).update(vars(holder))
    return new
