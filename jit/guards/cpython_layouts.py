"""Where CPython's own objects keep what a table compares: proved on examples at import."""
import ctypes as C
import sys
import types
from typing import Any

from whet import tensor_base
from whet.cpu import native

MANAGED_DICT = 1 << 4            # a flag of types: the dict of an instance lies before it
OBJECT_MEMBER = 16               # the kind of slots: T_OBJECT_EX


def word(at: int) -> int:
    """The word at an address."""
    return C.c_int64.from_address(at).value


def _first(x: Any, more: int = 0) -> int:
    """One of the words that follow the head of an object."""
    return word(id(x) + native.HEAD + 8 * more)


class Layouts:
    """Where objects keep what is compared; None where that is not as expected."""

    def __init__(self) -> None:
        head, x = native.HEAD, object()
        self.tags = _dicts_have_versions()
        full, empty, d = types.CellType(x), types.CellType(), {"a": 1}
        self.cell = head if (_first(full), _first(empty)) == (id(x), 0) else None
        self.proxy = head if _first(types.MappingProxyType(d)) == id(d) else None
        counts = [_first(s, 1) for s in (set(), {7}, {7, 8})]
        self.set = head + 8 if counts == [0, 1, 2] else None
        self.list = _lists_are_arrays()
        self.function = _fields_of_functions()

    def slot(self, owner: Any, name: str) -> int | None:
        """The offset of a slot in the instances of its class; None where it has none."""
        d = next((vars(c)[name] for c in type(owner).__mro__ if name in vars(c)), None)
        if type(d) is not types.MemberDescriptorType:
            return None
        member = _first(d, 3)                # a PyMemberDef: name, kind, offset
        kind, offset = C.c_int.from_address(member + 8).value, word(member + 16)
        now = getattr(owner, name, Layouts)
        held = 0 if now is Layouts else id(now)
        return offset if kind == OBJECT_MEMBER and word(id(owner) + offset) == held else None


def _dicts_have_versions() -> bool:
    """Does a dict get another version when it changes, and only then? From CPython 3.12 on the
    version is no longer promised."""
    d, seen = {"a": 1}, []
    for v in (1, 2, 2, 3):
        d["a"] = v
        seen.append(_first(d, 1))
    return sys.version_info < (3, 12) and len(set(seen)) == 3 and seen[1] == seen[2]


def _lists_are_arrays() -> bool:
    """Does a list have its length first, then the address of its elements?"""
    two = [object(), object()]
    return _first(two) == 2 and [word(_first(two, 1) + 8 * i) for i in range(2)] == [*map(id, two)]


def _fields_of_functions() -> list[int] | None:
    """Where a function has its code and its defaults, which are 0 where there are none."""
    x = object()

    def f(a: Any = x, *, b: Any = x) -> None:
        pass

    def bare() -> None:
        pass
    words = [_first(f, i) for i in range(12)]
    fields = f.__code__, f.__defaults__, f.__kwdefaults__
    if any(words.count(id(y)) != 1 for y in fields):
        return None
    at = [words.index(id(y)) for y in fields]
    if [_first(bare, i) for i in at] != [id(bare.__code__), 0, 0]:
        return None
    return [native.HEAD + 8 * i for i in at]


layouts: Any = Layouts() if native.enabled() and tensor_base.native_apply is not None else None


def namespace(c: Any) -> Any:
    """The dict behind a class, or behind a view of it; None where it cannot be found."""
    proxy = vars(c) if isinstance(c, type) else c
    if layouts.proxy is None or type(proxy) is not types.MappingProxyType:
        return None
    return C.cast(word(id(proxy) + layouts.proxy), C.py_object).value


def holds(x: Any, what: Any) -> int | None:
    """Where in an object the address of something that it holds lies; None if not in one place."""
    before = (-24,) if type(x).__flags__ & MANAGED_DICT else ()
    within = range(native.HEAD, min(type(x).__basicsize__, 512), 8)
    found = [at for at in (*before, *within) if word(id(x) + at) == id(what)]
    return found[0] if len(found) == 1 else None


def self_description(owner: Any, held: list[tuple[str, Any]]) -> list[tuple[int, Any]] | None:
    """Where a function or class holds what it says of itself: (offset, object) of each.

    None where that is not plain. Of equal names all offsets are given."""
    out = []
    for name, x in held:
        if name in ("__dataclass_fields__", "__match_args__"):
            continue                         # functions have none
        end = min(type(owner).__basicsize__, 1024)
        at = [o for o in range(native.HEAD, end, 8) if word(id(owner) + o) == id(x)]
        if not at:
            return None
        out += [(o, x) for o in at]
    return out
