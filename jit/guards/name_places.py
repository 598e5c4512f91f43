"""Places of single names: globals, variables, attributes, and names that must stay absent. See
`places.py`."""
from __future__ import annotations

import itertools
import operator
import types
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..machine_code.cpython_layouts import holds, layouts
from ..machine_code.native_entry import MISSED
from ..machine_code.table_rows import ANY
from ..values.instance_state import NOTHING, attribute, has_dict, own_dict, set_attribute
from . import spots
from .places import ABSENT, Change, Check, Place, Single
from .spots import Spot

if TYPE_CHECKING:
    from ..refusals.user_names import Names

_same = operator.is_


class Global(Single):
    """A name of a module, or of what else is looked up as one."""
    __slots__ = ("name",)

    def __init__(self, owner: Any, name: str) -> None:
        super().__init__(owner, (owner[name],) if name in owner else ())
        self.name = name

    def look(self) -> Sequence[Any] | None:
        return (self.owner[self.name],) if self.name in self.owner else ()

    @classmethod
    def check(cls, places: list[Global]) -> Check:
        there = [(p.owner, p.name, p.objects) for p in places if p.objects]
        missing = [(p.owner, p.name) for p in places if not p.objects]

        def same() -> bool:
            for d, name, (x,) in there:
                if d.get(name, ABSENT) is not x:
                    return False
            for d, name in missing:
                if name in d:
                    return False
            return True
        return same

    def name_of(self, i: int) -> Any:
        return self.name

    def spot(self, i: int) -> Spot | None:
        return spots.GlobalName(self.owner, self.name)

    def restore(self) -> None:
        if self.objects:
            self.owner[self.name], = self.objects
        else:
            self.owner.pop(self.name, None)

    def is_shown(self, names: Names) -> bool:
        return True

    def say(self, owner: Any) -> str:
        return f"the global `{self.name}` changed"

    def table(self, t: Any, objects: list[Any]) -> bool:
        t.name(self.owner, self.name, objects[0] if objects else MISSED)
        return True


class Cell(Single):
    """The variable of an enclosing function."""
    __slots__ = ()

    def __init__(self, owner: types.CellType) -> None:
        self.owner = owner
        super().__init__(owner, self.look())

    def look(self) -> tuple[Any, ...]:
        try:
            return (self.owner.cell_contents,)
        except ValueError:
            return ()

    @classmethod
    def check(cls, places: list[Cell]) -> Check:
        there = [(p.owner, p.objects) for p in places if p.objects]
        empty = [p for p in places if not p.objects]

        def same() -> bool:
            try:
                for cell, (x,) in there:
                    if cell.cell_contents is not x:
                        return False
            except ValueError:
                return False
            return all([p.same() for p in empty])
        return same

    def spot(self, i: int) -> Spot | None:
        return spots.Variable(self.owner)

    def restore(self) -> None:
        if self.objects:
            self.owner.cell_contents, = self.objects
        else:
            del self.owner.cell_contents

    def is_shown(self, names: Names) -> bool:
        return True

    def say(self, owner: Any) -> str:
        return "a variable of an enclosing function changed"

    def table(self, t: Any, objects: list[Any]) -> bool:
        if layouts.cell is None:
            return False
        t.word(t.id(self.owner) + layouts.cell, t.id(objects[0]) if objects else 0)
        return True


class Attribute(Single):
    """An attribute that is a slot of its owner's class, or held by an object of C's."""
    __slots__ = ("name",)

    def __init__(self, owner: Any, name: str) -> None:
        self.owner, self.name = owner, name
        super().__init__(owner, self.look())

    def look(self) -> tuple[Any, ...]:
        held = attribute(self.owner, self.name)
        return () if held is NOTHING else (held,)

    def name_of(self, i: int) -> Any:
        return self.name

    def spot(self, i: int) -> Spot | None:
        return spots.Attribute(self.owner, self.name)

    def called(self, names: Names) -> str:
        return names.of(self.owner)

    def restore(self) -> None:
        if self.objects:
            set_attribute(self.owner, self.name, *self.objects)
        else:
            object.__delattr__(self.owner, self.name)

    def say(self, owner: Any) -> str:
        return f"an attribute of a {type(owner).__qualname__} changed"

    def table(self, t: Any, objects: list[Any]) -> bool:
        offset = layouts.slot(self.owner, self.name)
        if offset is None:
            return False
        t.word(t.id(self.owner) + offset, t.id(objects[0]) if objects else 0)
        return True


class AttributesDict(Place):
    """The very dict that holds the attributes of an object: another could be put in its place."""
    __slots__ = ()
    says_itself = True

    def __init__(self, owner: Any) -> None:
        super().__init__(owner, (object.__getattribute__(owner, "__dict__"),))

    def look(self) -> Sequence[Any] | None:
        return (own_dict(self.owner),) if has_dict(self.owner) else None

    @classmethod
    def check(cls, places: list[AttributesDict]) -> Check:
        owners, held = [p.owner for p in places], [p.objects[0] for p in places]
        get = object.__getattribute__

        def same() -> bool:
            try:
                return all(map(_same, map(get, owners, itertools.repeat("__dict__")), held))
            except AttributeError:           # a list is where another run's stand-in for it was
                return False
        return same

    def changes(self) -> list[Change]:
        return [] if self.same() else [Change(self, None)]

    def say(self, owner: Any) -> str:
        return f"the attributes of a {type(owner).__qualname__} were replaced"

    def table(self, t: Any, objects: list[Any]) -> bool:
        at = holds(self.owner, objects[0])   # not found in what is a kind of int
        if at is None:
            return False
        t.word(t.id(self.owner) + at, t.id(objects[0]))
        return True


class AbsentNames(Place):
    """Names that a module has not, and that code asks it for. A part of the module that is loaded
    when it is first asked for may come."""
    __slots__ = ("names",)
    says_itself = True

    def __init__(self, owner: dict[str, Any], names: frozenset[str]) -> None:
        super().__init__(owner, ())
        self.names = names

    def look(self) -> Sequence[Any] | None:
        there = self.owner.keys() & self.names
        return () if not there or all(is_part(self.owner, name) for name in there) else None

    def changes(self) -> list[Change]:
        return [] if self.same() else [Change(self, None)]

    def say(self, owner: Any) -> str:
        return f"the module {owner.get('__name__')} got a name"

    def table(self, t: Any, objects: list[Any]) -> bool:
        for k in self.names:
            if k not in self.owner:
                t.name(self.owner, k, MISSED)
        return True


class LibraryNames(Place):
    """All names of a module that is not the user's, with what they stand for: code looks up one
    that is made at run time. Parts of the module that are loaded when first asked for may come."""
    __slots__ = ("names",)
    says_itself = True
    PASSING = frozenset(("__builtins__", "__warningregistry__"))     # come and go by themselves

    def __init__(self, owner: dict[str, Any]) -> None:
        self.names = tuple(k for k in owner if self._counts(owner, k))
        super().__init__(owner, [owner[k] for k in self.names])

    @classmethod
    def _counts(cls, owner: dict[str, Any], name: str) -> bool:
        return name not in cls.PASSING and not is_part(owner, name)

    def look(self) -> Sequence[Any] | None:
        held = self.owner
        names = tuple([k for k in held if self._counts(held, k)])
        return [held[k] for k in names] if names == self.names else None

    def changes(self) -> list[Change]:
        return [] if self.same() else [Change(self, None)]

    def say(self, owner: Any) -> str:
        return f"the module {owner.get('__name__')} changed"

    def table(self, t: Any, objects: list[Any]) -> bool:
        held = {**self.owner, **dict(zip(self.names, objects))}      # the parts of now, too
        t.whole(self.owner, tuple(held), [ANY if k in self.PASSING else held[k] for k in held])
        return True


def is_part(names: dict[str, Any], name: str) -> bool:
    """Is what a module has by a name a module within it?"""
    x = names[name]
    return type(x) is types.ModuleType and x.__name__ == f"{names.get('__name__')}.{name}"
