"""Puts the real objects in place of stand-ins that a recorded run left: in its result, in Python's
state, and wherever else somebody holds one."""
import collections
import functools
import gc
import operator
import types
from collections.abc import Callable, Sequence
from typing import Any

from whet.tensor import Size

from ..values.containers import elements, fill, kind_of, values
from ..values.instance_state import attribute, own_dict, parts_of_partial, set_attribute
from ..values.varying_numbers import NUMBERS, value_of

# what gives the real thing for a stand-in that may be in what a run returns, and types of what may
# hold one
REAL_OF = dict.fromkeys(NUMBERS, value_of)
HOLDS = {*NUMBERS, list, dict, tuple, slice, frozenset, Size}


def replace_stand_ins(x: Any, seen: dict[int, tuple[Any, Any]] | None = None) -> Any:
    """An object with plain numbers in place of Numbers. Containers that the run made are changed in
    place; tuples are copied, each once (`seen`)."""
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
    elif issubclass(t, dict):
        for k, y in zip(elements(x), values(x)):
            if type(y) in HOLDS:
                kind_of(x).__setitem__(x, k, replace_stand_ins(y, seen))
    elif t is tuple and any(type(y) in HOLDS for y in x):
        parts = [replace_stand_ins(y, seen) for y in x]
        made = tuple(parts) if any(map(operator.is_not, parts, x)) else None
    elif issubclass(t, (tuple, frozenset, slice)):
        made = _anew(x, lambda y: replace_stand_ins(y, seen))
    seen[id(x)] = x, x if made is None else made
    return seen[id(x)][1]


def reclaim(stand_ins: Sequence[tuple[Callable[[], Any], Any]]) -> None:
    """Replace the stand-ins that the run left in unknown places: in its own objects, or in the
    frames of an exception. `stand_ins`: pairs of a weak reference to a stand-in and what it stands
    for, or None for the value of a Number."""
    alive = [x for ref, _ in stand_ins if (x := ref()) is not None]
    if not alive:
        return
    real = [value_of(ref()) if value is None else value
            for ref, value in stand_ins if ref() is not None]
    # This looks at every container of the process: milliseconds, even where frames of ours alone
    # hold one.
    for holder in gc.get_referrers(*alive):
        for x, value in zip(alive, real) if holder is not alive else ():
            _replace(holder, x, value)


def _replace(holder: Any, old: Any, new: Any) -> None:
    """Replace `old` by `new` in an object that refers to it: a Number by its value, or a tuple by
    another."""
    for kinds, replace in HOLDERS:
        if isinstance(holder, kinds):
            replace(holder, old, new)
            return


def _in_sequence(holder: Any, old: Any, new: Any) -> None:
    for i, x in enumerate(elements(holder)):
        if x is old:
            kind_of(holder).__setitem__(holder, i, new)


def _in_set(holder: set[Any], old: Any, new: Any) -> None:
    if any(x is old for x in elements(holder)):
        set.discard(holder, old)
        set.add(holder, new)


def _in_dict(holder: dict[Any, Any], old: Any, new: Any) -> None:
    of, keys = _class_with(holder), elements(holder)
    if of is not None:
        for name, x in zip(keys, values(holder)):
            if x is old:
                type.__setattr__(of, name, new)
    elif any(k is old for k in keys):
        fill(holder, [(new if k is old else k, new if v is old else v)
                      for k, v in zip(keys, values(holder))])
    else:
        for k, v in zip(keys, values(holder)):
            if v is old:
                kind_of(holder).__setitem__(holder, k, new)


def _in_exception(holder: BaseException, old: Any, new: Any) -> None:
    if holder.args is old:                   # a tuple
        holder.args = new
    else:
        _in_instance(holder, old, new)


def _in_cell(holder: types.CellType, old: Any, new: Any) -> None:
    if holder.cell_contents is old:
        holder.cell_contents = new


def _in_function(holder: types.FunctionType, old: Any, new: Any) -> None:
    if holder.__defaults__ is old:           # a tuple
        holder.__defaults__ = new


def _in_partial(holder: Any, old: Any, new: Any) -> None:
    function, args, keywords, attributes = parts_of_partial(holder)
    if args is old:                          # a tuple
        holder.__setstate__((function, new, keywords, attributes))


def _in_immutable(holder: Any, old: Any, new: Any) -> None:
    """Copy the holder with the replacement, and replace the holder in what refers to it."""
    made = _anew(holder, lambda x: new if x is old else x)
    if made is not None:
        for outer in gc.get_referrers(holder):
            _replace(outer, holder, made)


def _in_nothing(holder: types.FrameType, old: Any, new: Any) -> None:
    """Do nothing: a frame's variables vanish with it."""


def _in_instance(holder: Any, old: Any, new: Any) -> None:
    names = own_dict(holder)
    for k in [k for k, x in names.items() if x is old]:
        names[k] = new
    for c in type(holder).__mro__:
        for name in [d.__name__ for d in vars(c).values()
                     if type(d) is types.MemberDescriptorType]:
            if attribute(holder, name) is old:
                set_attribute(holder, name, new)


# what may refer to a stand-in, and how that is replaced there; the first that fits
HOLDERS: list[tuple[Any, Callable[[Any, Any, Any], None]]] = [
    (set, _in_set),
    (dict, _in_dict),
    (list | collections.deque, _in_sequence),
    (BaseException, _in_exception),
    (types.CellType, _in_cell),
    (types.FunctionType, _in_function),
    (functools.partial, _in_partial),
    (tuple | frozenset | slice | types.MethodType, _in_immutable),
    (types.FrameType, _in_nothing),
    (object, _in_instance),
]


def _class_with(d: dict[Any, Any]) -> type | None:
    """The class whose namespace a dict is. CPython keeps what it finds there in caches without
    references."""
    if "__module__" not in d or "__doc__" not in d:
        return None
    return next((t for t in gc.get_referrers(d) if isinstance(t, type)
                 and len(vars(t)) == len(d) and all(vars(t)[k] is x for k, x in d.items())), None)


def _anew(holder: Any, replaced: Callable[[Any], Any]) -> Any:
    """A copy of a tuple, slice or bound method with plain numbers; None if it has no others, or is
    of a subclass."""
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
