"""Notices when a recorded run changes a library, as in `math.exp = mine` or
`np.version.seen = True`. Such a run is not recorded. A library's state are the attributes of all
modules, classes and functions that are not the user's.

Attributes that code reads by name are compared before each replay. This is about all others, which
are too many to compare. Attributes that a library loads at their first use are no changes.
"""
from __future__ import annotations

import operator
import types
from typing import TYPE_CHECKING, Any

from ..guards.places import ABSENT
from ..refusals.reasons import Settings
from ..values.code_origin import (
    HEAP,
    IMMUTABLE,
    is_our_class,
    origin_of_module,
    origin_of_what,
)

if TYPE_CHECKING:
    from ..guards.outside_state import World


class LibraryState:
    """What such objects hold before a run, as far as the run can reach them by their names."""

    def __init__(self, world: World) -> None:
        self.held = [(x, dict(vars(x))) for x in world.seen.values() if _is_changeable(x)]
        self.compared = world.names_in_modules

    def change(self) -> Settings | None:
        """The first change that the run has made, as a reason; None if there is none."""
        for x, before in self.held:
            name = self._changed_name(x, before, vars(x))
            if name is not None:
                return Settings(f"it changes what `{x.__name__}` has as `{name}`")
        return None

    def _changed_name(self, x: Any, before: dict[str, Any], now: dict[str, Any]) -> str | None:
        """Which of the names in an object changed, and is neither compared nor loaded."""
        if len(now) == len(before) and all(map(operator.is_, before.values(), now.values())):
            return None
        for name in {**before, **now}:
            if (before.get(name, ABSENT) is not now.get(name, ABSENT)
                    and name not in self.compared.get(id(x), ())
                    and (name in before or not _is_loaded(x, name, now[name]))):
                return name
        return None


def _is_changeable(x: Any) -> bool:
    """Is this a module, a class or a function that is not the user's, and could be changed? The
    classes of ours are compared as a whole. User objects are not asked for their class."""
    kind = type(x)
    if kind is types.ModuleType:
        return origin_of_module(x) is not None
    if issubclass(kind, type):
        return bool(x.__flags__ & HEAP and not x.__flags__ & IMMUTABLE) \
            and origin_of_what(x) is not None and not is_our_class(x)
    return kind is types.FunctionType and origin_of_what(x) is not None


def _is_loaded(x: Any, name: str, new: Any) -> bool:
    """Has a module loaded something new, as it does with what is first asked for by this name?"""
    if not isinstance(x, types.ModuleType):
        return False
    load = vars(x).get("__getattr__")
    try:
        is_module = issubclass(type(new), types.ModuleType)
        return is_module or load is not None and load(name) is new
    except AttributeError:
        return False
