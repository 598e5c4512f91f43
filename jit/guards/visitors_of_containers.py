"""What tensors and containers lead to, on the walk over what a function can reach."""
from __future__ import annotations

import collections
import types
from typing import TYPE_CHECKING, Any

from whet.tensor_base import Base, is_strided

from ..refusals.reasons import Reaches
from ..values.code_origin import users
from ..values.containers import elements
from ..values.immutable_types import PLAIN
from ..values.tensor_facts import named
from .allowed_calls import tells_who_watches
from .container_places import Elements, Members
from .name_places import Attribute, AttributesDict, Cell
from .object_places import TypeOf
from .visitors import Unwatchable, Visitors
from .visitors_of_callables import class_of_instance
from .visitors_of_objects import instance

if TYPE_CHECKING:
    from .outside_walk import Walk

# what is compared by identity, to whom it is the same
BY_IDENTITY = Base, type, types.FunctionType, types.BuiltinFunctionType
CONTAINERS = Visitors()


@CONTAINERS.of(Base)
def tensor(walk: Walk, t: Any) -> None:
    walk.tensors.by_id[id(t)] = t
    if type(t) is not Base or named(t):
        walk.places.append(AttributesDict(t))
        walk.namespace(vars(t))
        if users(type(t)):                   # it may say what functions are of it
            class_of_instance(walk, type(t))
        else:
            walk.framework(type(t))
    else:
        walk.tensors.bare.append(t)
    if t._extra:                             # hooks
        walk.stack.append(t._extra)
    if t._grad is not None:
        if not is_strided(t._grad):
            raise Unwatchable(Reaches("a sparse gradient", t, walk, Reaches.OF_GRADIENTS))
        walk.tensors.gradients.append(t._grad)


@CONTAINERS.of(list, tuple, collections.deque)
def sequence(walk: Walk, x: Any) -> None:
    walk.add(Elements(x))
    if type(x) not in (list, tuple, collections.deque):
        instance(walk, x)


@CONTAINERS.of(set, frozenset)
def set_(walk: Walk, x: Any) -> None:
    odd = {type(e).__name__ for e in elements(x)
           if not (type(e) in PLAIN or isinstance(e, BY_IDENTITY))}
    if odd:
        kinds = ", ".join(sorted({type(e).__name__ for e in elements(x)}))
        walk.unread[id(x)] = Reaches(f"a set of {kinds}", x, instead=Reaches.OF_SETS)
        return
    walk.add(Members(x))
    if type(x) not in (set, frozenset):
        instance(walk, x)


@CONTAINERS.of(dict)
def dict_(walk: Walk, x: Any) -> None:
    walk.namespace(x)
    if isinstance(x, collections.defaultdict):
        walk.add(Attribute(x, "default_factory"))
    if type(x) not in (dict, collections.OrderedDict, collections.defaultdict):
        instance(walk, x)


@CONTAINERS.of_just(types.MappingProxyType)
def view_of_a_dict(walk: Walk, x: Any) -> None:
    walk.namespace(x)


@CONTAINERS.of_just(types.CellType)
def cell(walk: Walk, x: Any) -> None:
    walk.add(Cell(x))


@CONTAINERS.of(types.ModuleType)
def module(walk: Walk, x: Any) -> None:
    walk.modules.add(x)
    walk.watchers.were_met |= tells_who_watches(x)
    if type(x) is not types.ModuleType:
        walk.add(TypeOf(x))
