"""Where CPython's own objects keep what a table compares: proved on examples at import."""
import ctypes as C
import sys
import types
from typing import Any

from whet import tensor_base
from whet.cpu import native, object_layouts
from whet.cpu.object_layouts import field, word
from whet.passes.lower_llvm.calls import python_layouts as L

from ..values.instance_state import NOTHING, attribute

MANAGED_DICT = 1 << 4            # a flag of types: the dict of an instance is before it


class Layouts:
    """Where objects keep what is compared; None where that is not as expected."""

    def __init__(self) -> None:
        self.tags = _dicts_have_versions()
        self.cell = L.CELL if object_layouts.cells() else None
        self.proxy = L.PROXY if object_layouts.proxies() else None
        self.set = L.SET_LENGTH if object_layouts.sets() else None
        self.function = _fields_of_functions()
        unknown = object_layouts.unproved(object_layouts.HELPFUL)
        unknown += [] if self.function else ["functions"]
        if unknown:
            object_layouts.warn(unknown, "traced functions that reach such are called more slowly")

    def slot(self, owner: Any, name: str) -> int | None:
        """The offset of a slot in the instances of its class, or of a member of a class of C's;
        None where it has none."""
        d = next((vars(c)[name] for c in type(owner).__mro__ if name in vars(c)), None)
        if type(d) is not types.MemberDescriptorType:
            return None
        definition = field(d, L.SLOT_DEFINITION)
        kind = C.c_int.from_address(definition + L.SLOT_KIND).value
        offset = word(definition + L.SLOT_OFFSET)
        now = attribute(owner, name)
        held = 0 if now is NOTHING else id(now)
        known = kind in (L.OBJECT_SLOT, L.OBJECT_MEMBER)
        return offset if known and word(id(owner) + offset) == held else None


def _dicts_have_versions() -> bool:
    """Does a dict get another version when it changes, and only then? From CPython 3.12 on the
    version is no longer promised."""
    d, seen = {"a": 1}, []
    for v in (1, 2, 2, 3):
        d["a"] = v
        seen.append(field(d, L.DICT_VERSION))
    return sys.version_info < (3, 12) and len(set(seen)) == 3 and seen[1] == seen[2]


def _fields_of_functions() -> list[int] | None:
    """Where a function has its code and its defaults, which are 0 where there are none."""
    x = object()

    def f(a: Any = x, *, b: Any = x) -> None:
        pass

    def bare() -> None:
        pass
    words = [field(f, L.HEAD + 8 * i) for i in range(12)]
    fields = f.__code__, f.__defaults__, f.__kwdefaults__
    if any(words.count(id(y)) != 1 for y in fields):
        return None
    at = [words.index(id(y)) for y in fields]
    if [field(bare, L.HEAD + 8 * i) for i in at] != [id(bare.__code__), 0, 0]:
        return None
    return [L.HEAD + 8 * i for i in at]


layouts: Any = Layouts() if native.enabled() and tensor_base.native_apply is not None else None


def namespace(c: Any) -> Any:
    """The dict behind a class, or behind a view of it; None where it cannot be found."""
    proxy = vars(c) if isinstance(c, type) else c
    if layouts.proxy is None or type(proxy) is not types.MappingProxyType:
        return None
    return C.cast(word(id(proxy) + layouts.proxy), C.py_object).value


def holds(x: Any, what: Any) -> int | None:
    """Where an object has the address of something that it holds; None if not in one place."""
    before = (-24,) if type(x).__flags__ & MANAGED_DICT else ()
    within = range(L.HEAD, min(type(x).__basicsize__, 512), 8)
    found = [at for at in (*before, *within) if word(id(x) + at) == id(what)]
    return found[0] if len(found) == 1 else None


def self_description(owner: Any, held: list[tuple[str, Any]]) -> list[tuple[int, Any]] | None:
    """Where a function or class holds its name, documentation and the like: (offset, object) of
    each. None if one of them is not found. If an object is held several times, all offsets are
    given."""
    out = []
    for name, x in held:
        if name in ("__dataclass_fields__", "__match_args__"):
            continue                         # functions have none
        end = min(type(owner).__basicsize__, 1024)
        at = [o for o in range(L.HEAD, end, 8) if word(id(owner) + o) == id(x)]
        if not at:
            return None
        out += [(o, x) for o in at]
    return out
