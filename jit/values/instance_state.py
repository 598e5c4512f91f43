"""What instances hold: attributes, slots, and state that C keeps where Python cannot look."""
import collections
import functools
import types
from typing import Any

from whet.cpu.object_layouts import field

from .code_origin import HEAP, origin_of_class
from .immutable_types import PLAIN

NOTHING = object()               # what an instance holds by a name that it has not
# C types whose instances hold nothing but what can be looked at
OPEN = frozenset((
    *PLAIN, object, types.SimpleNamespace, list, tuple, dict, set, frozenset, collections.deque,
    collections.OrderedDict, collections.defaultdict))


def slots_of(c: type) -> list[str]:
    """The names of the slots of a class."""
    held = c.__dict__
    if "__slots__" not in held:
        return []
    return [k for k, d in held.items() if type(d) is types.MemberDescriptorType]


def base_with_hidden_state(t: type) -> type | None:
    """The base of a class that keeps state where Python cannot look, or None."""
    for b in t.__mro__:
        if type(vars(b).get("__new__")) is types.BuiltinFunctionType and b not in OPEN:
            origin = origin_of_class(b)
            if origin is None or not origin.is_ours:
                return b
    return None


def not_of_c(t: type) -> bool:
    """Do the instances of a class hold nothing but attributes?"""
    made_in_python = all(b is object or b.__flags__ & HEAP for b in t.__mro__)
    return made_in_python and base_with_hidden_state(t) is None


def attributes(x: Any) -> list[tuple[str, Any]]:
    """The names and values of what such an instance holds, past whatever would notice."""
    held = [(n, attribute(x, n)) for c in type(x).__mro__ for n in slots_of(c)]
    return [*own_dict(x).items(), *[(n, v) for n, v in held if v is not NOTHING]]


def has_dict(x: Any) -> bool:
    """Has an instance a dict of its own? A proxy that passes on what it is asked for may say so
    and have none."""
    try:
        object.__getattribute__(x, "__dict__")
    except AttributeError:
        return False
    return True


def own_dict(x: Any) -> dict[str, Any]:
    """The dict that holds the attributes of an instance; an empty one where it has none."""
    held: dict[str, Any] = object.__getattribute__(x, "__dict__") if has_dict(x) else {}
    return held


def existing_dict(x: Any) -> dict[str, Any]:
    """The dict that holds the attributes of an instance, if it was ever asked for; else an empty
    one. It is not made to find out."""
    offset = type(x).__dictoffset__
    return own_dict(x) if offset < 0 or offset > 0 and field(x, offset) else {}


def parts_of_partial(x: "functools.partial[Any]") -> tuple[Any, ...]:
    """The function, the arguments, those by name, and the dict of attributes, None where none was
    made. It is not made to find out: partials of this one would differ."""
    reduced: Any = functools.partial.__reduce__(x)
    parts: tuple[Any, ...] = reduced[2]
    return parts


def attribute(x: Any, name: str) -> Any:
    """What an instance holds by a name, or NOTHING."""
    slot = _slot(type(x), name)
    if slot is None:
        return own_dict(x).get(name, NOTHING)
    try:
        return slot.__get__(x)
    except AttributeError:
        return NOTHING


def set_attribute(x: Any, name: str, value: Any) -> None:
    """Let an instance hold something by a name: no descriptor of that name is asked."""
    slot = _slot(type(x), name)
    if slot is None:
        own_dict(x)[name] = value
    else:
        slot.__set__(x, value)


def _slot(t: type, name: str) -> Any:
    return next((vars(c)[name] for c in t.__mro__
                 if type(vars(c).get(name)) is types.MemberDescriptorType), None)


def contents_of(x: Any) -> Any:
    """What holds all that a list, a dict or an object does: itself, or the object's dict; None of
    others."""
    if isinstance(x, list | dict):
        return x
    if isinstance(x, tuple) or any(map(slots_of, type(x).__mro__)) or not has_dict(x):
        return None
    return own_dict(x)
