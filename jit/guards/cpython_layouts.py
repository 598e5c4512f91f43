"""Where CPython's own objects keep what a table compares: proved on examples at import."""
import ctypes as C
import sys
import types
from typing import Any

from whet import tensor_base
from whet.cpu import native

MANAGED_DICT = 1 << 4            # a flag of types: the dict of an instance lies before it


def word(at):
    return C.c_int64.from_address(at).value


class Layouts:
    """Where objects keep what is compared; None where that is not as expected."""

    def __init__(self):
        head = native.HEAD
        d = {"a": 1}
        seen = []
        for v in (1, 2, 2, 3):
            d["a"] = v
            seen.append(word(id(d) + head + 8))
        # (from 3.12 on the version is no longer promised)
        self.tags = sys.version_info < (3, 12) and len(set(seen)) == 3 and seen[1] == seen[2]
        x, one = object(), [object(), object()]
        cell, proxy = types.CellType(x), types.MappingProxyType(d)
        self.cell = head if word(id(cell) + head) == id(x) and word(id(types.CellType()) + head) == 0 else None
        self.proxy = head if word(id(proxy) + head) == id(d) else None
        self.set = head + 8 if [word(id(s) + head + 8) for s in (set(), {7}, {7, 8})] == [0, 1, 2] else None
        self.list = word(id(one) + head) == 2 and [word(word(id(one) + head + 8) + 8 * i) for i in range(2)] == [id(y) for y in one]

        def f(a=x, *, b=x):
            pass

        def plain():
            pass
        words = [word(id(f) + head + 8 * i) for i in range(12)]
        fields = f.__code__, f.__defaults__, f.__kwdefaults__
        self.function = [head + 8 * words.index(id(y)) for y in fields] if all(words.count(id(y)) == 1 for y in fields) else None
        if self.function and [word(id(plain) + o) for o in self.function] != [id(plain.__code__), 0, 0]:
            self.function = None

    def slot(self, owner, name):
        """The offset of a slot in the instances of its class; None where it has none."""
        d = next((vars(c)[name] for c in type(owner).__mro__ if name in vars(c)), None)
        if type(d) is not types.MemberDescriptorType:
            return None
        offset = word(word(id(d) + native.HEAD + 24) + 16)
        now = getattr(owner, name, Layouts)
        kind = C.c_int.from_address(word(id(d) + native.HEAD + 24) + 8).value
        return offset if kind == 16 and word(id(owner) + offset) == (0 if now is Layouts else id(now)) else None


layouts: Any = Layouts() if native.enabled() and tensor_base.native_apply is not None else None


def namespace(c: Any) -> Any:
    """The dict behind a class, or behind a view of it; None where it cannot be found."""
    proxy = vars(c) if isinstance(c, type) else c
    if layouts.proxy is None or type(proxy) is not types.MappingProxyType:
        return None
    return C.cast(word(id(proxy) + layouts.proxy), C.py_object).value


def holds(x, what):
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
