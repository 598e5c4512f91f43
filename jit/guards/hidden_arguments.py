"""Hidden arguments: what a function finds in Python's state, and what is another from call to call,
so that it is described by a call's key as arguments are. No caller passes them.

Such are tensors that have other sizes at later calls (`HiddenTensors`), as the keys and values that
a model keeps in attributes while it writes a text. In the world of a recording each is a slot whose
tensor is an argument, too (see `Twin`). And such are whole containers, and objects that hold
nothing but data, where another one may lie at each call (`HiddenContainer`), as a cache that is
made for each text."""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any, NamedTuple

from whet.tensor_base import is_strided

from .data_objects import Contents, holds_data
from .slots import Slot, holds_slots, names_of_parts

if TYPE_CHECKING:
    from collections.abc import Hashable

    from ..values.number_paths import Branch
    from .places import Change
    from .signature import FlatArguments, Key
    from .spots import Spot

MOST = 256                       # hidden arguments of calls with the same objects
NOTHING = type(None), None       # describes one in whose spot there is something else

# the ids of the objects among the arguments of a call that are known by identity only
Objects = tuple[int, ...]


class HiddenName(NamedTuple):
    """The name of a hidden argument in a call's key: which spot it is, and what the user calls
    it."""
    spot: tuple[int, Any]
    called: str

    def __str__(self) -> str:
        return self.called


class HiddenArgument:
    """What is found in one spot."""
    __slots__ = ("spot", "name")

    def __init__(self, spot: Spot, called: str) -> None:
        self.spot, self.name = spot, HiddenName(spot.key, called)

    def describe(self, value: Any, flat: FlatArguments, branch: Branch | None) -> Hashable:
        """What is in the spot as a part of a call's key. Its tensors become leaves of the call.
        `branch`: which numbers in it vary."""
        raise NotImplementedError


class HiddenTensors(HiddenArgument):
    """A tensor, or the tensors in a tuple, list or dict that no call writes to."""
    __slots__ = ()

    def describe(self, value: Any, flat: FlatArguments, branch: Branch | None) -> Hashable:
        if is_strided(value):
            return flat.flatten(value) if Slot.takes(value) else NOTHING
        if not holds_slots(value):
            return NOTHING
        parts = [flat.flatten(value[i]) if is_strided(value[i]) else (type(value[i]), None)
                 for i in names_of_parts(value)]
        if type(value) is dict:
            return dict, tuple(zip([(str, key) for key in value], parts))
        return type(value), tuple(parts)


class HiddenContainer(HiddenArgument):
    """A container or an object of data, with all that is in it."""
    __slots__ = ()

    def describe(self, value: Any, flat: FlatArguments, branch: Branch | None) -> Hashable:
        return flat.flatten(value, branch, (self.name,)) if holds_data(value) else NOTHING


class HiddenArguments:
    """The hidden arguments of a function: by the objects among the arguments of the calls that have
    them, as another model among these has other caches."""

    def __init__(self) -> None:
        self.by_objects: dict[Objects, list[HiddenArgument]] = {}

    def flatten(self, flat: FlatArguments, branches: Branch | None,
                like: FlatArguments | None) -> tuple[tuple[HiddenName, Hashable], ...]:
        """Names and descriptions of a call's hidden arguments, after its others were flattened.
        `like`: the flat lists of the same call as it began, when its hidden arguments were read."""
        flat.objects = objects_of(flat.others)
        if not self.by_objects:
            return ()
        hidden = self.by_objects.get(flat.objects, ())
        flat.hidden = (like.hidden if like is not None else
                       {h.name.spot: (h.name, h.spot.found()) for h in hidden})
        return tuple([
            (h.name, h.describe(flat.hidden.get(h.name.spot, (None, None))[1], flat,
                                branches and branches.part(h.name))) for h in hidden])

    def learn(self, objects: Objects, found: Iterable[HiddenArgument]) -> bool:
        """Hidden arguments were found in calls with these objects among their arguments. True if
        one is new. A container takes the place of the tensors in its spot."""
        known = {h.name.spot: h for h in self.by_objects.get(objects, [])}
        new = {h.name.spot: h for h in found if type(known.get(h.name.spot)) not in
               (type(h), HiddenContainer)}
        if not new or len(known) + len(new) > MOST:
            return False
        self.by_objects[objects] = [*{**known, **new}.values()]
        return True

    def fix(self, keys: Iterable[Any]) -> None:
        """What these spots hold is compared from now on."""
        fixed = set(keys)
        self._only(lambda h: h.name.spot not in fixed)

    def forget_within(self, owners: Set[int]) -> None:
        """Forget what is in containers that are known by what they hold themselves. `owners`: the
        ids of these."""
        self._only(lambda h: id(h.spot.owner) not in owners)

    def keep(self, kept: Iterable[Objects]) -> None:
        """Forget those of calls with other objects, which have no recordings any more."""
        if self.by_objects:
            there = set(kept)
            self.by_objects = {objects: hidden for objects, hidden in self.by_objects.items()
                               if objects in there}

    def _only(self, stays: Any) -> None:
        left = {objects: [h for h in hidden if stays(h)]
                for objects, hidden in self.by_objects.items()}
        self.by_objects = {objects: hidden for objects, hidden in left.items() if hidden}


def objects_of(others: Sequence[Any]) -> Objects:
    """The ids of objects among the arguments of a call."""
    return tuple(map(id, others))


def hidden_names(key: Key) -> set[HiddenName]:
    """The hidden arguments that a call's key describes."""
    return {name for name, _ in key[1] or () if type(name) is HiddenName}


def has_other_sizes(change: Change) -> bool:
    """Are there tensors before and after a change that differ in their sizes alone?"""
    before, now = _tensors(change.before), _tensors(change.now)
    return before.keys() == now.keys() and type(change.before) is type(change.now) and all(
        type(now[i]) is type(x) and now[i].dtype is x.dtype and now[i].ndim == x.ndim
        for i, x in before.items()) and any(
        now[i]._array.shape != x._array.shape for i, x in before.items())


def _tensors(value: Any) -> Mapping[Any, Any]:
    """The tensors that a slot, or the slots of a container, would hold, by their names."""
    if is_strided(value):
        return {None: value} if Slot.takes(value) else {}
    if not holds_slots(value):
        return {}
    return {i: value[i] for i in names_of_parts(value) if is_strided(value[i])}


class OtherContainer:
    """A change by which another container of data lies somewhere. `kinds`: the classes of objects
    in it, and in that before; `owners`: the ids of all containers and objects in these; `is_one`:
    are both data, with tensors or arrays in one?"""

    def __init__(self, change: Change) -> None:
        before, now = change.before, change.now
        self.kinds: set[type] = set()
        self.owners: set[int] = set()
        self.is_one = (type(before) is type(now) and before is not now
                       and holds_data(before) and holds_data(now))
        if self.is_one:
            held = Contents(before), Contents(now)
            self.is_one = any([x.has_arrays for x in held])
            self.kinds = held[0].kinds | held[1].kinds
            self.owners = held[0].owners | held[1].owners
