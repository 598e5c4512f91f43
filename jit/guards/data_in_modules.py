"""What modules hold, where code looks up names that are made at run time."""
from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

from ..refusals.reasons import TooMuch
from ..values.code_origin import origin_of, users
from ..values.containers import OWN
from ..values.instance_state import has_dict, own_dict
from .container_places import Elements, Members, entries
from .name_places import LibraryNames, is_part
from .places import Place
from .visitors import BUILTINS, MOST, Unwatchable

if TYPE_CHECKING:
    from .outside_walk import Walk


def compare_modules(walk: Walk) -> None:
    """Compare what the user's modules hold, and the names of others that code passes on: it may
    look up any name there."""
    users_own, others = [], {}
    for m in walk.modules:
        if origin_of(names := vars(m)) is None:
            users_own.append(names)
        elif id(m) not in walk.modules.only_named:
            others.update(_with_parts(names))
    if sum(map(len, others.values())) > MOST:
        raise Unwatchable(TooMuch(f"it looks up names, and reaches more than {MOST} in modules"))
    walk.places += map(LibraryNames, others.values())
    compare_data(walk, users_own)


def _with_parts(names: dict[str, Any]) -> dict[int, dict[str, Any]]:
    """The names of a module, of the modules within it, and of those within these that offer names
    (`__all__`), by id."""
    found, todo = {id(names): names}, [names]
    while todo:
        holder = todo.pop()
        for name, x in holder.items():
            if is_part(holder, name) and id(vars(x)) not in found \
                    and (holder is names or "__all__" in vars(x)):
                found[id(vars(x))] = vars(x)
                todo.append(vars(x))
    return found


def compare_data(walk: Walk, found: list[Any]) -> None:
    """Compare containers and objects that hold attributes, with those in them. The use of other
    things in them is noticed."""
    met: set[int] = set()
    while found:
        x = found.pop()
        if id(x) in met or id(x) in walk.seen or id(x) == BUILTINS:
            continue
        met.add(id(x))
        if isinstance(x, tuple(OWN)):
            place: Place = entries(x) if isinstance(x, dict | types.MappingProxyType) \
                else Members(x) if isinstance(x, set | frozenset) else Elements(x)
            walk.places.append(place)
            found += place.objects
        elif not (isinstance(x, types.ModuleType) or callable(x)) \
                and users(type(x)) \
                and has_dict(x):
            found.append(own_dict(x))
        if len(found) > MOST:
            what = f"it looks up names, and reaches more than {MOST} objects in modules"
            raise Unwatchable(TooMuch(what))
