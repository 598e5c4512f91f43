"""Places: what a function reads from in Python's state, each with the very objects that it held.

A kind of place is a class, which owns all that is known of it. It says what the place holds now,
whether that is the same, how it is put back, and what the user calls it. It also writes the
place's rows in a table for machine code.
A replay is right as long as every place holds the same objects, or equal numbers and texts.
"""
from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ..values.immutable_types import equal
from . import spots
from .spots import Contents, Spot

if TYPE_CHECKING:
    from ..refusals.user_names import Names

ABSENT = object()                # the contents of an empty place
_same = operator.is_
Check = Callable[[], bool]


class Place:
    """`objects` is what `owner` held."""
    __slots__ = ("owner", "objects")
    can_be_set = False                       # can replays write to it?
    has_contents = False                     # can it be filled as a whole?
    says_itself = False                      # does `say` tell more than a name of it would?
    is_read = True                           # could a function depend on what it holds?

    def __init__(self, owner: Any, objects: Iterable[Any]) -> None:
        self.owner, self.objects = owner, list(objects)

    def look(self) -> Sequence[Any] | None:
        """What it holds now; None if it has other names, such as other keys."""
        raise NotImplementedError

    def found(self) -> Sequence[Any]:
        """The objects in it that the walk visits."""
        return self.objects

    def same(self, alike: Callable[[Any, Any], bool] = _same) -> bool:
        """Does it hold the very objects that it held, or ones that no code can distinguish from
        them?"""
        now = self.look()
        return now is not None and len(now) == len(self.objects) \
            and all(map(alike, now, self.objects))

    @classmethod
    def check(cls, places: list[Any]) -> Check:
        """A function that compares several places of this class at once."""
        return lambda: all([p.same() for p in places])

    def changes(self) -> list[Change]:
        """The differences to what it held."""
        now = self.look()
        if now is None or len(now) != len(self.objects):
            return [Change(self, None, self.objects, now)]
        return [Change(self, None if a is ABSENT or b is ABSENT else i, b, a)
                for i, (a, b) in enumerate(zip(now, self.objects))
                if a is not b and not equal(a, b)]

    def grew(self, change: Change) -> bool:
        """Is it a list that got more elements at its end, or a full deque of which old elements
        fell out?"""
        return False

    def name_of(self, i: int) -> Any:
        """The name of one of the objects."""
        return spots.CONTENTS

    def spot(self, i: int) -> Spot | None:
        """The spot of one of the objects; None where nothing can be put in its place."""
        return None

    def contents(self) -> Contents | None:
        """The spot of all that it holds; None where that cannot be replaced as a whole."""
        return None

    def restore(self) -> None:
        """Put back what it held, as far as possible."""

    def say(self, owner: Any) -> str:
        """A change in words."""
        return f"a {type(owner).__name__} changed"

    def called(self, names: Names) -> str:
        """What the user calls it."""
        return names.of(self.owner)

    def is_shown(self, names: Names) -> bool:
        """Should messages tell what it holds? Only if the user has a name for it."""
        return names.knows(self.owner)

    def inside(self, names: Names) -> list[tuple[str, Any]]:
        """Pairs: what the user calls an object in it, and the object."""
        found = [(self.spot(i), x) for i, x in enumerate(self.objects)]
        return [(s.called(names), x) for s, x in found if s is not None]

    def table(self, t: Any, objects: list[Any]) -> bool:
        """Write its rows into a table. `objects`: ANY in place of those that may be any.

        False where Python must compare it. See `outside_rows.py` for `t`."""
        return False


class Change:
    """A place holds something else than it held. `index`: which of its objects changed; None where
    it has more or fewer of them."""
    __slots__ = ("place", "index", "before", "now", "owner")

    def __init__(self, place: Place, index: int | None, before: Any = None, now: Any = None,
                 owner: Any = None) -> None:
        self.place, self.index, self.before, self.now = place, index, before, now
        self.owner = place.owner if owner is None else owner

    @property
    def name(self) -> Any:
        """The name of the object that changed; None where there are more or fewer objects."""
        return None if self.index is None else self.place.name_of(self.index)

    @property
    def spot(self) -> Spot | None:
        """The spot of the object that changed; None where nothing can be put there."""
        return None if self.index is None else self.place.spot(self.index)

    @property
    def key(self) -> tuple[int, Any]:
        """A key for the spot."""
        return id(self.owner), self.name

    @property
    def is_of_all(self) -> bool:
        """Can a replay make the change only by replacing all that the owner holds?"""
        return self.place.has_contents \
            and (self.spot is None or not isinstance(self.owner, dict | list))

    def bare(self) -> Change:
        """This change without the old and the new object, which it would keep alive."""
        return Change(self.place, self.index, owner=self.owner)

    def grows(self) -> bool:
        """Has a list got more elements at its end, or a full deque other ones?"""
        return self.place.grew(self)


class Single(Place):
    """A place of one object, or of none."""
    __slots__ = ()
    can_be_set = True

    def called(self, names: Names) -> str:
        spot = self.spot(0)
        return super().called(names) if spot is None else spot.called(names)
