"""Places: what a function reads from in Python's state, each with the very objects that it held.

A kind of place is a class, which owns all that is known of it: what it holds now, whether that is
the same, how it is put back, what the user calls it, and its rows in a table for machine code.
A replay is right as long as every place holds the same objects, or equal numbers and texts.
"""
import collections
import itertools
import operator
import os
import types
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..capture.containers import OWN, elements, fill, values
from . import spots
from .cpython_layouts import layouts
from .immutable_types import PLAIN, equal, same_key
from .native_entry import MISSED
from .spots import Contents, Spot
from .table_rows import ANY

ABSENT = object()                # what lies where nothing does
READ = ("__iter__", "__len__", "items", "values")    # of a dict that is compared as one
GROWS = list, collections.deque  # what may be told to grow only
_same = operator.is_
Check = Callable[[], bool]


class Place:
    """`objects` is what `owner` held."""
    __slots__ = ("owner", "objects")
    can_be_set = False                       # may something be laid there, which replays repeat?
    has_contents = False                     # can it be filled as a whole?
    says_itself = False                      # does `say` tell more than a name of it would?

    def __init__(self, owner: Any, objects: Iterable[Any]) -> None:
        self.owner, self.objects = owner, list(objects)

    def look(self) -> Sequence[Any] | None:
        """What it holds now; None where its names are others."""
        raise NotImplementedError

    def found(self) -> Sequence[Any]:
        """The objects that lead to others."""
        return self.objects

    def same(self, alike: Callable[[Any, Any], bool] = _same) -> bool:
        """Does it hold the very objects that it held, or such as are alike?"""
        now = self.look()
        return now is not None and len(now) == len(self.objects) \
            and all(map(alike, now, self.objects))

    @classmethod
    def check(cls, places: "list[Any]") -> Check:
        """A function that compares places of this class at once."""
        return lambda: all([p.same() for p in places])

    def changes(self) -> "list[Change]":
        """In what it differs."""
        now = self.look()
        if now is None or len(now) != len(self.objects):
            return [Change(self, None, self.objects, now)]
        return [Change(self, None if a is ABSENT or b is ABSENT else i, b, a)
                for i, (a, b) in enumerate(zip(now, self.objects))
                if a is not b and not equal(a, b)]

    def name_of(self, i: int) -> Any:
        """The name of one of the objects."""
        return spots.CONTENTS

    def spot(self, i: int) -> Spot | None:
        """Where one of the objects lies, if anything can be laid there."""
        return None

    def contents(self) -> Contents | None:
        """All that it holds, if that can be laid anew."""
        return None

    def restore(self) -> None:
        """Let it hold what it held, as far as that can be."""

    def say(self, owner: Any) -> str:
        """A change in words."""
        return f"a {type(owner).__name__} changed"

    def called(self, names: Any) -> str:
        """What the user calls it."""
        return names.of(self.owner)

    def is_shown(self, names: Any) -> bool:
        """Is what it holds to be told, as the user has a name for it?"""
        return names.knows(self.owner)

    def inside(self, names: Any) -> list[tuple[str, Any]]:
        """What the user calls the objects in it, with these."""
        found = [(self.spot(i), x) for i, x in enumerate(self.objects)]
        return [(s.called(names), x) for s, x in found if s is not None]

    def table(self, t: Any, objects: list[Any]) -> bool:
        """Write its rows into a table. `objects`: ANY in place of those that may be any.

        False where Python must compare it. See `outside_rows.py` for `t`."""
        return False


class Change:
    """That a place holds something else. Without `index` there is more or less of it."""
    __slots__ = ("place", "index", "before", "now", "owner")

    def __init__(self, place: Place, index: int | None, before: Any = None, now: Any = None,
                 owner: Any = None) -> None:
        self.place, self.index, self.before, self.now = place, index, before, now
        self.owner = place.owner if owner is None else owner

    @property
    def name(self) -> Any:
        """The name of what is another; None where there is more or less of it."""
        return None if self.index is None else self.place.name_of(self.index)

    @property
    def spot(self) -> Spot | None:
        """Where it lies, if anything can be laid there."""
        return None if self.index is None else self.place.spot(self.index)

    @property
    def key(self) -> tuple[int, Any]:
        """What tells the spot from others."""
        return id(self.owner), self.name

    @property
    def is_of_all(self) -> bool:
        """Can it be made again only by laying all anew that the owner holds?"""
        return self.place.has_contents \
            and (self.spot is None or not isinstance(self.owner, dict | list))

    def bare(self) -> "Change":
        """The same without what was there before and is there now, which it keeps alive."""
        return Change(self.place, self.index, owner=self.owner)

    def grows(self) -> bool:
        """Has a list got more at its end, or a full deque other elements?"""
        owner = self.owner
        if type(self.place) is not Elements or type(owner) not in GROWS:
            return False
        if self.index is not None:
            return type(owner) is collections.deque and len(owner) == owner.maxlen
        return self.now is not None and len(self.now) > len(self.before) \
            and all(map(_same, self.now, self.before))


# ---- containers ----------------------------------------------------------------------------------
class Entries(Place):
    """All entries of a dict, in their order."""
    __slots__ = ("names",)
    has_contents = True

    def __init__(self, owner: Any, names: tuple[Any, ...], objects: Iterable[Any]) -> None:
        super().__init__(owner, objects)
        self.names = names

    @property
    def can_be_set(self) -> bool:            # type: ignore[override]
        return type(self.owner) is not types.MappingProxyType

    def look(self) -> Sequence[Any] | None:
        return values(self.owner) if keys_are(self.owner, self.names) else None

    @classmethod
    def check(cls, places: "list[Entries]") -> Check:
        own = [p for p in places if type(p.owner) in OWN]
        empty = [p.owner for p in own if not p.objects]
        full = [(p.owner, p.names, p.objects) for p in own if p.objects]
        keyed = [(d, names) for d, names, _ in full if any(type(k) is not str for k in names)]
        others = [p for p in places if type(p.owner) not in OWN]

        def same() -> bool:
            if any(empty):
                return False
            for d, names, objects in full:
                if len(d) != len(names) or not all(map(_same, d.values(), objects)) \
                        or not (all(map(_same, d, names)) or keys_are(d, names)):
                    return False
            return all([all(map(_same, d, names)) for d, names in keyed]) \
                and all([p.same() for p in others])
        return same

    def name_of(self, i: int) -> Any:
        return self.names[i]

    def spot(self, i: int) -> Spot | None:
        return spots.Entry(self.owner, self.names[i])

    def contents(self) -> Contents | None:
        return Contents(self.owner) if self.can_be_set else None

    def restore(self) -> None:
        if not isinstance(self.owner, types.MappingProxyType):
            fill(self.owner, zip(self.names, self.objects))

    def say(self, owner: Any) -> str:
        some = ", ".join(map(_name, self.names[:3]))
        return super().say(owner) + (f" (one with {some})" if some else "")

    def table(self, t: Any, objects: list[Any]) -> bool:
        d = self.owner
        if not isinstance(d, dict) \
                or any(getattr(type(d), m) is not getattr(dict, m) for m in READ):
            return False
        t.whole(d, self.names, objects)
        return True


class EnvironmentVariables(Entries):
    """The variables of the process, which are laid only all at once."""
    __slots__ = ()

    def spot(self, i: int) -> Spot | None:
        return None

    def contents(self) -> Contents | None:
        return spots.Environment(self.owner)


VARIABLES = getattr(os.environ, "_data", None)


def entries(owner: Any) -> Entries:
    """The place of all that a dict holds."""
    kind = EnvironmentVariables if owner is VARIABLES else Entries
    return kind(owner, elements(owner), values(owner))


class OtherEntries(Place):
    """The entries of a dict but for some names, in their order."""
    __slots__ = ("skipped", "names")
    can_be_set = True

    def __init__(self, owner: dict[Any, Any], skipped: Iterable[Any]) -> None:
        self.skipped = skipped
        self.names = tuple(k for k in owner if k not in skipped)
        super().__init__(owner, [owner[k] for k in self.names])

    def look(self) -> Sequence[Any] | None:
        now = tuple(v for k, v in self.owner.items() if k not in self.skipped)
        return now if tuple(k for k in self.owner if k not in self.skipped) == self.names else None

    def name_of(self, i: int) -> Any:
        return self.names[i]

    def spot(self, i: int) -> Spot | None:
        return spots.Entry(self.owner, self.names[i])

    def restore(self) -> None:
        for k in [k for k in self.owner if k not in self.skipped]:
            del self.owner[k]
        self.owner.update(zip(self.names, self.objects))

    def table(self, t: Any, objects: list[Any]) -> bool:
        mine = iter(objects)
        t.whole(self.owner, tuple(self.owner),
                [ANY if k in self.skipped else next(mine, MISSED) for k in self.owner])
        return True


class Elements(Place):
    """The elements of a list, a tuple or a deque."""
    __slots__ = ()
    has_contents = True

    def __init__(self, owner: Any) -> None:
        super().__init__(owner, elements(owner))

    @property
    def can_be_set(self) -> bool:            # type: ignore[override]
        return not isinstance(self.owner, tuple)

    def look(self) -> Sequence[Any] | None:
        return elements(self.owner)

    def name_of(self, i: int) -> Any:
        return i

    def spot(self, i: int) -> Spot | None:
        return spots.Element(self.owner, i)

    def contents(self) -> Contents | None:
        return Contents(self.owner) if self.can_be_set else None

    def restore(self) -> None:
        if not isinstance(self.owner, tuple):
            fill(self.owner, self.objects)

    def table(self, t: Any, objects: list[Any]) -> bool:
        if isinstance(self.owner, tuple):
            return True                      # nobody can change it
        if not isinstance(self.owner, list) or not layouts.list:
            return False
        t.list(self.owner, objects)
        return True


class Members(Place):
    """The elements of a set."""
    __slots__ = ()
    has_contents = True

    def __init__(self, owner: Any) -> None:
        super().__init__(owner, elements(owner))

    def look(self) -> Sequence[Any] | None:
        return elements(self.owner)

    def contents(self) -> Contents | None:
        return None if isinstance(self.owner, frozenset) else Contents(self.owner)

    def restore(self) -> None:
        if not isinstance(self.owner, frozenset):
            fill(self.owner, self.objects)

    def table(self, t: Any, objects: list[Any]) -> bool:
        if type(self.owner) is frozenset:
            return True
        if objects or layouts.set is None:
            return False
        t.word(t.id(self.owner) + layouts.set, 0)
        return True


# ---- single names --------------------------------------------------------------------------------
class Single(Place):
    """A place of one object, or of none."""
    __slots__ = ()
    can_be_set = True

    def called(self, names: Any) -> str:
        spot = self.spot(0)
        return super().called(names) if spot is None else spot.called(names)


class Global(Single):
    """A name of a module, or of what else is looked up as one."""
    __slots__ = ("name",)

    def __init__(self, owner: Any, name: str) -> None:
        super().__init__(owner, (owner[name],) if name in owner else ())
        self.name = name

    def look(self) -> Sequence[Any] | None:
        return (self.owner[self.name],) if self.name in self.owner else ()

    @classmethod
    def check(cls, places: "list[Global]") -> Check:
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

    def is_shown(self, names: Any) -> bool:
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
    def check(cls, places: "list[Cell]") -> Check:
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

    def is_shown(self, names: Any) -> bool:
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
        try:
            return (getattr(self.owner, self.name),)
        except AttributeError:
            return ()

    def name_of(self, i: int) -> Any:
        return self.name

    def spot(self, i: int) -> Spot | None:
        return spots.Attribute(self.owner, self.name)

    def called(self, names: Any) -> str:
        return names.of(self.owner)

    def restore(self) -> None:
        if self.objects:
            setattr(self.owner, self.name, *self.objects)
        else:
            delattr(self.owner, self.name)

    def say(self, owner: Any) -> str:
        return f"an attribute of a {type(owner).__qualname__} changed"

    def table(self, t: Any, objects: list[Any]) -> bool:
        offset = layouts.slot(self.owner, self.name)
        if offset is None:
            return False
        t.word(t.id(self.owner) + offset, t.id(objects[0]) if objects else 0)
        return True


def keys_are(d: Any, names: Sequence[Any]) -> bool:
    """Are the keys of a dict these, in this order? Tensors are so by identity."""
    held = elements(d)
    return len(held) == len(names) and all(map(same_key, held, names))


def _name(k: Any) -> str:
    return repr(k) if type(k) in PLAIN else f"a {type(k).__name__}"


class AttributesDict(Place):
    """The very dict that holds the attributes of an object: another could be put in its place."""
    __slots__ = ()
    says_itself = True

    def __init__(self, owner: Any) -> None:
        super().__init__(owner, (object.__getattribute__(owner, "__dict__"),))

    def look(self) -> Sequence[Any] | None:
        return (object.__getattribute__(self.owner, "__dict__"),)

    @classmethod
    def check(cls, places: "list[AttributesDict]") -> Check:
        owners, held = [p.owner for p in places], [p.objects[0] for p in places]
        get = object.__getattribute__
        return lambda: all(map(_same, map(get, owners, itertools.repeat("__dict__")), held))

    def changes(self) -> list[Change]:
        return [] if self.same() else [Change(self, None)]

    def say(self, owner: Any) -> str:
        return f"the attributes of a {type(owner).__qualname__} were replaced"

    def table(self, t: Any, objects: list[Any]) -> bool:
        t.held(self.owner, objects[0])
        return True


class AbsentNames(Place):
    """Names that a module of the user's has not, and that code asks it for."""
    __slots__ = ("names",)
    says_itself = True

    def __init__(self, owner: dict[str, Any], names: frozenset[str]) -> None:
        super().__init__(owner, ())
        self.names = names

    def look(self) -> Sequence[Any] | None:
        return () if self.owner.keys().isdisjoint(self.names) else None

    def changes(self) -> list[Change]:
        return [] if self.same() else [Change(self, None)]

    def say(self, owner: Any) -> str:
        return f"the module {owner.get('__name__')} got a name"

    def table(self, t: Any, objects: list[Any]) -> bool:
        for k in self.names:
            t.name(self.owner, k, MISSED)
        return True
