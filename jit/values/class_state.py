"""What our own classes and modules hold. Anybody may patch them (`Tensor.relu = ...`, `F.gelu =
...`), so recordings depend on it: each state that one was in is an object, which is compared by
identity. CPython's version tags of types (and of dicts, before 3.12) say in one word that it is
still in the state it was in."""
import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from whet.cpu.object_layouts import field
from whet.passes.lower_llvm.calls.python_layouts import DICT_VERSION, HEAD

# `_hooks` of Module comes and goes with the hooks, which are watched themselves. The builtins of
# modules are compared by name.
NOT_COMPARED = frozenset(("_hooks", "__builtins__"))
SIZE_OF_TYPES: int = getattr(type, "__basicsize__")
# names and values of a class and its bases
Held: TypeAlias = Sequence[tuple[tuple[str, ...], tuple[Any, ...]]]
MOST = 8                         # states of a class that are distinguished


def _offset() -> int | None:
    """Where a type keeps its version tag, found on examples; None where that is not plain."""
    class Example:
        here = 1
    at = range(HEAD, min(SIZE_OF_TYPES, 1024), 8)

    def look() -> list[int]:
        getattr(Example, "not_here", None)   # a look-up gives the type a tag
        return [field(Example, o) for o in at]
    a = look()
    Example.here = 2
    b = [field(Example, o) for o in at]
    c = look()
    found = [o for o, x, y, z in zip(at, a, b, c) if 0 < x < z < 1 << 32 and y == 0]
    return found[0] if len(found) == 1 else None


OFFSET = _offset()
DICTS = sys.version_info < (3, 12)           # do dicts have version tags?


def tag(c: Any) -> int:
    """The word that says that a class or module is as it was, or 0."""
    if not isinstance(c, type):
        return int(field(vars(c), DICT_VERSION)) if DICTS else 0
    if OFFSET is None:
        return 0
    getattr(c, "not_here", None)
    return int(field(c, OFFSET))


class State:
    """A state that a class with its bases, or a module, was in."""
    __slots__ = ("held", "_parts")

    def __init__(self, held: Held) -> None:
        self.held = held
        self._parts: tuple[list[Any], list[Any]] | None = None

    def parts(self, is_ours: Callable[[Any], bool]) -> tuple[list[Any], list[Any]]:
        """What is held and not ours, and the containers that are."""
        if self._parts is None:
            values = [v for _, values in self.held for v in values]
            self._parts = (([v for v in values if not is_ours(v)],
                            [v for v in values if type(v) in (list, dict, set) and is_ours(v)]))
        return self._parts


# class or module -> (tag, the state that it says, the latest states)
_states: dict[Any, tuple[int, State, tuple[State, ...]]] = {}


def state(c: Any) -> State:
    """The state that a class or module is in."""
    now = tag(c)
    known = _states.get(c)
    if known is not None and now and known[0] == now:
        return known[1]
    held = []
    for b in c.__mro__[:-1] if isinstance(c, type) else (c,):
        names = [k for k in vars(b) if k not in NOT_COMPARED]
        held.append((tuple(names), tuple([vars(b)[k] for k in names])))
    earlier = () if known is None else known[2]
    found = next((s for s in earlier if _same_objects(s.held, held)), None) or State(held)
    _states[c] = now, found, (found, *(s for s in earlier if s is not found))[:MOST]
    return found


def _same_objects(a: Held, b: Held) -> bool:
    return (len(a) == len(b)
            and all(m == n and all(x is y for x, y in zip(v, w)) for (m, v), (n, w) in zip(a, b)))
