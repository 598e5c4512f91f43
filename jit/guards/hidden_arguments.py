"""Hidden arguments: tensors in Python's state that have other sizes from call to call, such as the
keys and values that a model keeps in attributes while it writes a text.

No caller passes them, but for all else they are arguments: their types are a part of a call's key,
and calls of new sizes are replayed without a run. In the world of a recording each is a slot whose
tensor is an argument, too (see `Twin`)."""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from whet.tensor_base import is_strided

from .slots import Slot, holds_slots, names_of_parts

if TYPE_CHECKING:
    from collections.abc import Hashable

    from .places import Change
    from .signature import FlatArguments
    from .spots import Spot

MOST = 256                       # hidden arguments of calls with the same objects
NO_TENSOR = type(None), None     # describes one in whose spot there is something else

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
    """The tensors that are found in one spot: a tensor, or those in a tuple, list or dict."""
    __slots__ = ("spot", "name")

    def __init__(self, spot: Spot, called: str) -> None:
        self.spot, self.name = spot, HiddenName(spot.key, called)

    def describe(self, value: Any, flat: FlatArguments) -> Hashable:
        """What is in the spot as a part of a call's key. Its tensors become leaves of the call."""
        if is_strided(value):
            return flat.flatten(value) if Slot.takes(value) else NO_TENSOR
        if not holds_slots(value):
            return NO_TENSOR
        parts = [flat.flatten(value[i]) if is_strided(value[i]) else (type(value[i]), None)
                 for i in names_of_parts(value)]
        if type(value) is dict:
            return dict, tuple(zip([(str, key) for key in value], parts))
        return type(value), tuple(parts)


class HiddenArguments:
    """The hidden arguments of a function: by the objects among the arguments of the calls that have
    them, as another model among these has other caches."""

    def __init__(self) -> None:
        self.by_objects: dict[Objects, list[HiddenArgument]] = {}

    def flatten(self, flat: FlatArguments,
                like: FlatArguments | None = None) -> tuple[tuple[HiddenName, Hashable], ...]:
        """Names and descriptions of a call's hidden arguments, after its others were flattened.
        `like`: the flat lists of the same call as it began, when its hidden arguments were read."""
        flat.objects = objects_of(flat.others)
        if not self.by_objects:
            return ()
        hidden = self.by_objects.get(flat.objects, ())
        flat.hidden = ({h.name: h.spot.found() for h in hidden} if like is None else like.hidden)
        return tuple([(h.name, h.describe(flat.hidden.get(h.name), flat)) for h in hidden])

    def learn(self, objects: Objects, spots: Iterable[tuple[Spot, str]]) -> bool:
        """Tensors in these spots, with what the user calls them, were found to have other sizes in
        calls with these objects among their arguments. True if that is new for one."""
        hidden = self.by_objects.get(objects, [])
        known = {h.name.spot for h in hidden}
        new = [HiddenArgument(spot, called) for spot, called in spots if spot.key not in known]
        if not new or len(hidden) + len(new) > MOST:
            return False
        self.by_objects[objects] = [*hidden, *new]
        return True

    def fix(self, keys: Iterable[Any]) -> None:
        """What these spots hold is compared from now on."""
        fixed = set(keys)
        left = {objects: [h for h in hidden if h.name.spot not in fixed]
                for objects, hidden in self.by_objects.items()}
        self.by_objects = {objects: hidden for objects, hidden in left.items() if hidden}

    def keep(self, kept: Iterable[Objects]) -> None:
        """Forget those of calls with other objects, which have no recordings any more."""
        if self.by_objects:
            there = set(kept)
            self.by_objects = {objects: hidden for objects, hidden in self.by_objects.items()
                               if objects in there}


def objects_of(others: Sequence[Any]) -> Objects:
    """The ids of objects among the arguments of a call."""
    return tuple(map(id, others))


def has_other_sizes(change: Change) -> bool:
    """Are there tensors before and after a change that differ in their sizes alone?"""
    if change.spot is None:
        return False
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
