"""Spots: single positions in Python's state. A spot is read and written to without running hooks of
the user, such as `__setattr__`. Each kind of position is a class."""
from __future__ import annotations

import builtins
import collections
import functools
import operator
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from whet.cpu.object_layouts import field
from whet.tensor_base import count_writes_of

from ..machine_code.cpython_layouts import layouts, namespace
from ..machine_code.native_entry import MISSED, L
from ..machine_code.table_rows import NotInTable
from ..values import containers
from ..values.containers import elements, kind_of
from ..values.instance_state import NOTHING, attribute, set_attribute

if TYPE_CHECKING:
    from ..refusals.user_names import Names

CONTENTS = "contents"            # the name of a position whose owner has no other


class Spot:
    """`name` of `owner`."""
    __slots__ = ("owner", "name")

    def __init__(self, owner: Any, name: Any = CONTENTS) -> None:
        self.owner, self.name = owner, name

    @property
    def key(self) -> tuple[int, Any]:
        """A key for the spot."""
        return id(self.owner), self.name

    def get(self) -> Any:
        """The object in it. Raises an error where there is none."""
        raise NotImplementedError

    def put(self, value: Any) -> None:
        """Write an object to it."""
        raise NotImplementedError

    def put_back(self, value: Any) -> None:
        """Put an object back, if the spot still exists. Another thread may have removed it."""
        try:
            self.put(value)
        except (AttributeError, LookupError, ValueError):
            pass

    def found(self) -> Any:
        """The object in it; None where there is none any more."""
        try:
            return self.get()
        except (AttributeError, LookupError, ValueError):
            return None

    def called(self, names: Names) -> str:
        """What the user calls it. `names`: see `refusals/user_names.py`."""
        return names.of(self.owner)

    def read_row(self, t: Any) -> tuple[int, int, int]:
        """Where machine code reads the object: (kind, where, what there)."""
        raise NotInTable

    def write_row(self, t: Any) -> tuple[int, int, int]:
        """Where machine code writes the object."""
        return self.read_row(t)

    def setter(self) -> Callable[[Any], Any]:
        """The cheapest function that puts an object there."""
        return self.put


class Entry(Spot):
    """An entry of a dict."""
    __slots__ = ()

    def get(self) -> Any:
        # An index would make an entry where a defaultdict has none.
        found = kind_of(self.owner).get(self.owner, self.name, MISSED)
        if found is MISSED:
            raise KeyError(self.name)
        return found

    def put(self, value: Any) -> None:
        kind_of(self.owner).__setitem__(self.owner, self.name, value)

    def called(self, names: Names) -> str:
        return names.of_entry(self.owner, self.name)

    def read_row(self, t: Any) -> tuple[int, int, int]:
        d, name = self.owner, self.name
        if type(d) is types.MappingProxyType:
            d = namespace(d)
        if not isinstance(d, dict) or not _is_found_by_c(name) \
                or dict.get(d, name, MISSED) is not self.found():
            raise NotInTable
        return L.ENTRY, t.id(d), t.id(name)

    def setter(self) -> Callable[[Any], Any]:
        if type(self.owner) not in (dict, list):
            return self.put
        return functools.partial(self.owner.__setitem__, self.name)


class GlobalName(Entry):
    """A name of a module."""
    __slots__ = ()

    def called(self, names: Names) -> str:
        return str(self.name)


class Element(Entry):
    """An element of a list or a deque."""
    __slots__ = ()

    def get(self) -> Any:
        return kind_of(self.owner).__getitem__(self.owner, self.name)

    def called(self, names: Names) -> str:
        return f"{names.of_object(self.owner)}[{self.name}]"

    def read_row(self, t: Any) -> tuple[int, int, int]:
        if not isinstance(self.owner, list):
            raise NotInTable
        return L.ITEM, t.id(self.owner), self.name


class Variable(Spot):
    """The variable of an enclosing function."""
    __slots__ = ()

    def get(self) -> Any:
        return self.owner.cell_contents

    def put(self, value: Any) -> None:
        self.owner.cell_contents = value

    def called(self, names: Names) -> str:
        return names.of_cell(self.owner)

    def read_row(self, t: Any) -> tuple[int, int, int]:
        return _word_row(t, self.owner, layouts.cell, self.get())


class Attribute(Spot):
    """An attribute that is a slot of its class."""
    __slots__ = ()

    def get(self) -> Any:
        held = attribute(self.owner, self.name)
        if held is NOTHING:
            raise AttributeError(self.name)
        return held

    def put(self, value: Any) -> None:
        set_attribute(self.owner, self.name, value)

    def called(self, names: Names) -> str:
        return f"{names.of_object(self.owner)}.{self.name}"

    def read_row(self, t: Any) -> tuple[int, int, int]:
        return _word_row(t, self.owner, layouts.slot(self.owner, self.name), self.get())


class ClassAttribute(Spot):
    """An attribute of a class."""
    __slots__ = ()

    def get(self) -> Any:
        return vars(self.owner)[self.name]

    def put(self, value: Any) -> None:
        type.__setattr__(self.owner, self.name, value)

    def called(self, names: Names) -> str:
        return f"{names.of_object(self.owner)}.{self.name}"

    def read_row(self, t: Any) -> tuple[int, int, int]:
        return Entry(namespace(self.owner), self.name).read_row(t)

    def write_row(self, t: Any) -> tuple[int, int, int]:
        raise NotInTable                     # CPython keeps what it finds in classes in caches


class ContextValue(Spot):
    """What a context variable holds."""
    __slots__ = ()

    def get(self) -> Any:
        found = self.owner.get(MISSED)       # Its default is not what it holds.
        if found is MISSED:
            raise LookupError(self.owner.name)
        return found

    def put(self, value: Any) -> None:
        self.owner.set(value)

    def called(self, names: Names) -> str:
        return str(self.owner.name)


class BuiltinName(Spot):
    """A builtin name, as one module sees it. The module has an entry for it while it stands for
    another object."""
    __slots__ = ()

    def get(self) -> Any:
        return self.owner.get(self.name)

    def put(self, value: Any) -> None:
        self.owner[self.name] = value
        if value is getattr(builtins, self.name):
            del self.owner[self.name]


class Contents(Spot):
    """All that a container holds."""
    __slots__ = ()

    def __init__(self, owner: Any) -> None:
        super().__init__(owner, None)

    def put(self, value: Any) -> None:
        owner = self.owner
        if isinstance(owner, dict):
            kind, there = kind_of(owner), elements(owner)
            if not all(map(operator.is_, there, value)) or len(there) > len(value):
                kind.clear(owner)            # entries were not only set or added
            kind.update(owner, value)
        elif isinstance(owner, list | collections.deque):
            containers.fill(owner, value)
        else:                                # what stays keeps its place in the order
            set.difference_update(owner, set(elements(owner)).difference(value))
            set.update(owner, value)


class MemoryOf(Spot):
    """The memory of a tensor, as `t.data = other` sets it."""
    __slots__ = ()

    def __init__(self, owner: Any) -> None:
        super().__init__(owner, "memory")

    def get(self) -> Any:
        return self.owner._array

    def put(self, value: Any) -> None:
        self.owner._array = value._array
        count_writes_of(value, self.owner)


def _word_row(t: Any, owner: Any, offset: int | None, held: Any) -> tuple[int, int, int]:
    if offset is None or field(owner, offset) != id(held):
        raise NotInTable
    return L.WORD, t.id(owner) + offset, 0


def _is_found_by_c(key: Any) -> bool:
    """Is a dict's key compared without running Python code?"""
    t = type(key)
    return t in (str, int, bytes) or t is tuple and all(map(_is_found_by_c, key)) or all(
        getattr(t, name) is getattr(object, name) for name in ("__hash__", "__eq__"))
