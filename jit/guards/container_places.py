"""Places of containers: dicts, lists, tuples, deques and sets. See `places.py`."""
import collections
import operator
import os
import sys
import types
from collections.abc import Iterable, Sequence
from typing import Any

from ..machine_code.cpython_layouts import layouts
from ..machine_code.native_entry import MISSED
from ..machine_code.table_rows import ANY
from ..values.containers import OWN, elements, fill, values
from ..values.immutable_types import PLAIN, same_key
from . import spots
from .places import Change, Check, Place
from .spots import Contents, Spot

READ = ("__iter__", "__len__", "items", "values")    # of a dict that is compared as one
GROWS = list, collections.deque  # what may be known to grow only
_same = operator.is_


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
        if not isinstance(d, dict):
            return False
        # an ordered dict keeps the order of its entries elsewhere; a few have none
        if len(objects) > 1 and any(getattr(type(d), m) is not getattr(dict, m) for m in READ):
            return False
        t.whole(d, self.names, objects)
        return True


class EnvironmentVariables(Entries):
    """The variables of the process. Setting one tells the system, too, which no replay does."""
    __slots__ = ()

    def spot(self, i: int) -> Spot | None:
        return None

    def contents(self) -> Contents | None:
        return None


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


class Names(Place):
    """The keys of a dict, in their order, whatever it holds by them."""
    __slots__ = ()

    def __init__(self, owner: dict[Any, Any]) -> None:
        super().__init__(owner, owner)

    def look(self) -> Sequence[Any]:
        return list(self.owner)

    def table(self, t: Any, objects: list[Any]) -> bool:
        t.whole(self.owner, tuple(self.objects), [ANY] * len(self.objects))
        return True


class LoadedModules(Names):
    """The names in `sys.modules`, whatever these modules are. Those of the framework's parts do not
    count, nor of its compiler: which of them are loaded depends on what was traced before."""
    __slots__ = ()
    LATER = frozenset(("whet", "llvmlite"))      # more of these is loaded while calls are traced

    def __init__(self) -> None:
        Place.__init__(self, sys.modules, self.names())

    def names(self) -> list[str]:
        """The names that count."""
        return [name for name in sys.modules if name.partition(".")[0] not in self.LATER]

    def look(self) -> Sequence[Any]:
        return self.names()

    def table(self, t: Any, objects: list[Any]) -> bool:
        names = tuple(sys.modules)
        t.whole(sys.modules, names, [ANY] * len(names))
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
        now: tuple[Any, ...] = elements(self.owner)
        return now

    def name_of(self, i: int) -> Any:
        return i

    def spot(self, i: int) -> Spot | None:
        return spots.Element(self.owner, i)

    def contents(self) -> Contents | None:
        return Contents(self.owner) if self.can_be_set else None

    def grew(self, change: Change) -> bool:
        if change.index is not None:
            return type(self.owner) is collections.deque and len(self.owner) == self.owner.maxlen
        return type(self.owner) in GROWS and len(change.now) > len(change.before) \
            and all(map(_same, change.now, change.before))

    def restore(self) -> None:
        if not isinstance(self.owner, tuple):
            fill(self.owner, self.objects)

    def table(self, t: Any, objects: list[Any]) -> bool:
        if isinstance(self.owner, tuple):
            return True                      # it cannot change
        if not isinstance(self.owner, list):
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
        now: tuple[Any, ...] = elements(self.owner)
        return now

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


def keys_are(d: Any, names: Sequence[Any]) -> bool:
    """Are the keys of a dict these, in this order? Tensors are so by identity."""
    held = elements(d)
    return len(held) == len(names) and all(map(same_key, held, names))


def _name(k: Any) -> str:
    return repr(k) if type(k) in PLAIN else f"a {type(k).__name__}"
