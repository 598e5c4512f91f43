"""What the calls of a traced function have shown to vary: numbers, arrays, sizes, attributes. The
key of a call leaves these out; a recording takes them from the call."""
from __future__ import annotations

import functools
import itertools
import sys
import weakref
from collections.abc import Callable, Hashable, Iterable, Sequence, Set
from typing import TYPE_CHECKING, Any

import numpy as np
from whet.tensor_base import is_strided

from ..effects.recipes import Number
from ..guards.appended_lists import appended_lists
from ..guards.call_settings import CallSettings
from ..guards.container_places import GROWS, Elements, Entries, OtherEntries
from ..guards.hidden_arguments import (
    HiddenArguments,
    HiddenContainer,
    HiddenTensors,
    OtherContainer,
    has_other_sizes,
)
from ..guards.outside_state import World
from ..guards.places import Change
from ..guards.signature import FlatArguments
from ..guards.slots import ByContents, holds_slots, names_of_parts
from ..refusals.reasons import Branches, Shapes
from ..refusals.user_names import Names
from ..stand_ins.caches import CACHED, containers_in, data_in
from ..values.array_facts import is_number
from ..values.immutable_types import PLAIN
from ..values.varying_numbers import varies
from .varying_arguments import VaryingArguments

if TYPE_CHECKING:
    from types import CodeType

    from whet.tensor_base import Base

    from ..capture.set_before_read import FirstUse
    from ..effects.recipes import Recipe
    from ..guards.hidden_arguments import Objects
    from ..guards.overwritten_attributes import SetFirst
    from ..guards.signature import Key
    from ..guards.spots import Spot
    from ..replay.recording import Recording
    from .code_that_ran import CodeThatRan
    from .invocation import Args, Invocation, Kwargs


class Learned:
    """What varies between the calls of one traced function, as far as its calls have shown. What is
    not known to vary is a part of a call's key, or a guard."""

    def __init__(self) -> None:
        self.arguments = VaryingArguments()
        self.hidden = HiddenArguments()
        # keys of places in Python's state: those whose contents vary, and those that are guards
        # for good, as Python has decided something by their contents
        self.loose: set[Any] = set()
        self.fixed: set[Any] = set()
        # keys of spots with containers that runs write to, or hand on
        self.written: set[Any] = set()
        # attributes that are others each time: those that runs may set before they read them, those
        # that they do set first, and those that they read first
        self.suspected: set[tuple[int, str]] = set()
        self.set_first: set[SetFirst] = set()
        self.read_first: set[tuple[int, str]] = set()
        # Does no number vary, and no NumPy array, because code would notice a stand-in of one?
        self.numbers_are_known = False
        self.arrays_are_known = False
        # what runs write to is copied even if that takes much memory
        self.keeps_copies = False
        # sizes that data decides were others than in a run before
        self.counts_vary = False
        # the tensors among the arguments of the last call that was recorded
        self.last_leaves: list[weakref.ref[Base]] | None = None
        # the lines at which Python went on from numbers that were others
        self.counting: set[str] = set()
        self.ran: CodeThatRan | None = None  # the only code that is read, if not all is

    @property
    def codes(self) -> Set[CodeType] | None:
        """The only code that is read for what the function can reach, or None for all."""
        return None if self.ran is None else self.ran.codes

    # ---- the key of a call -----------------------------------------------------------------------
    def key(self, args: Args, kwargs: Kwargs, flat: FlatArguments | None = None,
            like: FlatArguments | None = None) -> tuple[Key, FlatArguments]:
        """The key of a call, and the arguments as they were flattened for it. `like`: how they were
        flattened when the call began, if it may have run since."""
        if flat is None:
            flat = FlatArguments(arrays=not self.arrays_are_known,
                                 records=self.arguments.objects.records,
                                 numpys_vary=self.arguments.numpys_vary)
        key: tuple[Hashable, tuple[Any, ...] | None]
        branches, flatten = self.arguments.branches, flat.flatten
        if branches is not None:
            key = (tuple([flatten(x, branches.part(i), (i,)) for i, x in enumerate(args)]),
                   tuple([(k, flatten(v, branches.part(k), (k,))) for k, v in kwargs.items()]))
        else:
            key = (tuple([flatten(x) for x in args]),
                   tuple([(k, flatten(v)) for k, v in kwargs.items()]) if kwargs else None)
        if hidden := self.hidden.flatten(flat, branches, like):
            key = key[0], (*(key[1] or ()), *hidden)
        return (*key, *CallSettings.now()), flat

    def key_without_sizes(self, args: Args, kwargs: Kwargs, like: FlatArguments) -> Key:
        """The key of a call, without the sizes of its tensors. `like`: its arguments, flattened."""
        flat = FlatArguments(sizes=False, arrays=not self.arrays_are_known,
                             records=self.arguments.objects.records,
                             numpys_vary=self.arguments.numpys_vary)
        return self.key(args, kwargs, flat, like)[0]

    # ---- learning --------------------------------------------------------------------------------
    def learn(self, fn: Any, before: Iterable[Recording], is_new: bool, call: Invocation) -> bool:
        """Compare a call of `fn` with those that were recorded `before`. True if some arguments are
        found to vary. `is_new`: is this the first call of its key?"""
        named = [*enumerate(call.args), *call.kwargs.items(), *call.flat.hidden.values()]
        found = [(r, r.world.changes()) for r in before]
        for _, changes in found:
            self.loosen(changes)
        some_are_hidden = any([
            self.find_hidden(r.recorded.objects, changes,
                             functools.partial(Names, r.world, fn, r.key))
            for r, changes in found])
        if self.arguments.objects.note_sizes(named, itertools.chain(*(xs for _, xs in found))):
            return True
        if not is_new:
            return some_are_hidden
        return (self.arguments.objects.compare(named) if self.numbers_are_known
                else self.arguments.compare(named)) or some_are_hidden

    def find_hidden(self, objects: Objects, changes: Iterable[Change],
                    names_of: Callable[[], Names]) -> bool:
        """Tensors in Python's state that have other sizes than before, and containers in the place
        of others, are arguments that no caller passes, from now on. True where some are new to
        that. `objects`: those among the arguments of such calls; `names_of`: how the user calls
        things."""
        if self.numbers_are_known:
            return False
        new: list[tuple[type[HiddenTensors | HiddenContainer], Spot]] = []
        within: set[int] = set()
        for c in changes:
            spot = c.spot
            if spot is None or c.key in self.fixed or not c.place.is_read:
                continue
            if c.key not in self.written and (has_other_sizes(c)
                                              or _may_be_exchanged(c.before, c.now)):
                new += [(HiddenTensors, spot)] if has_other_sizes(c) else []
            elif (other := OtherContainer(c)).is_one and self.arguments.objects.resize(other.kinds):
                within |= other.owners
                self.loose.add(ByContents(spot.key))
                new.append((HiddenContainer, spot))
        if not new:
            return False
        # What is in a container is described with it.
        self.hidden.forget_within(within)
        names = names_of()
        return self.hidden.learn(objects, [kind(spot, spot.called(names)) for kind, spot in new
                                           if id(spot.owner) not in within])

    def new_arguments(self, leaves: Sequence[Base]) -> set[int]:
        """The ids of those tensors of a call that were other objects at the recorded call
        before."""
        before = self.last_leaves
        self.last_leaves = [weakref.ref(t) for t in leaves]
        return set() if before is None else {
            id(t) for i, t in enumerate(leaves) if i >= len(before) or before[i]() is not t}

    def loosen(self, changes: Iterable[Change]) -> None:
        """Numbers and tensors that were replaced, and lists that grew, may vary from now on."""
        changes = [x for c in changes if c.place.is_read for x in (c, *_of_numbers(c))]
        self.suspected |= {c.key for c in changes if _may_be_set_first(c)} - self.read_first
        if self.numbers_are_known:
            return
        for c in changes:
            if c.grows() and (id(c.owner), None) not in self.fixed:
                self.loose.add((id(c.owner), None))
            elif c.name is not None and _may_be_exchanged(c.before, c.now):
                self.loose.add(c.key)
        self.loose -= self.fixed

    def watched(self, uses: Iterable[FirstUse]) -> list[FirstUse]:
        """Note which attributes a run set before it read them. Gives those that it read first
        although earlier runs had set them first."""
        wrong = []
        for use in uses:
            key = use.key.owner, use.key.name
            if use.was_read:
                wrong += [use] if use.key in self.set_first else []
                self.read_first.add(key)
                self.set_first.discard(use.key)
            elif use.was_set:
                self.set_first.add(use.key)
        self.suspected -= {(use.key.owner, use.key.name) for use in uses
                           if use.was_read or use.was_set}
        return wrong

    def look_at_counts(self, paths: Iterable[Recording], model: Recording | None) -> None:
        """Called when a call fits none of these recordings, and differs from `model` in sizes
        alone. Notes whether sizes decided by data differ; with other input sizes they nearly always
        do."""
        reasons = [reason for r in paths for reason, _ in r.missed.counted()]
        self.counting |= {reason.where for reason in reasons if type(reason) is Branches}
        if (any(type(reason) is Shapes for reason in reasons)
                or any(r.program.depends_on_counts for r in paths)
                or model is not None and any(node.op is not None and node.op.sized_by_data
                                             for node in model.program.recorded)):
            self.counts_vary = self.keeps_copies = True

    def expect(self, world: World) -> None:
        """Options of optimizers that schedules change may vary from now on."""
        if self.numbers_are_known or (optim := sys.modules.get("whet.optim")) is None:
            return
        for x in world.seen.values():
            if issubclass(type(x), optim.Optimizer):
                self.loose |= {(id(group), name) for group in x.param_groups
                               for name in x.scheduled if varies(group.get(name))}
        self.loose -= self.fixed

    def expect_growth(self, world: World) -> frozenset[tuple[int, None]]:
        """Lists that the code only appends to, and that no run has read, may vary from now on."""
        if self.numbers_are_known:
            return frozenset()
        lists = appended_lists(world) - self.fixed
        self.loose |= lists
        return lists

    def expect_to_go_on(self, before: World, now: World) -> None:
        """A run set up state. The numbers in it, such as sums and counters, may vary from now on,
        because the next runs will change them. What a cache keeps stays as it is."""
        if self.numbers_are_known:
            return
        known = {id(place.owner) for place in before.places}
        known |= {id(x) for cache, _ in now.stand_ins.spots.values() if type(cache) is CACHED
                  for data in data_in(cache) for x in containers_in(data)}
        for place in now.places:
            if type(place) not in (Entries, Elements) or id(place.owner) in known:
                continue
            numbers = [i for i, x in enumerate(place.objects) if varies(x)]
            self.loose |= {(id(place.owner), place.name_of(i)) for i in numbers}
            if type(place.owner) in GROWS and len(numbers) == len(place.objects):
                self.loose.add((id(place.owner), None))
        self.loose -= self.fixed

    def foresee(self, effects: Iterable[tuple[Spot, Recipe]]) -> None:
        """A number that a run computed from varying ones and left in Python's state varies, too,
        even if it was the same this time."""
        if not self.numbers_are_known:
            self.loose |= {spot.key for spot, made in effects if isinstance(made, Number)}
            self.loose -= self.fixed

    def fix(self, places: Iterable[Any]) -> None:
        """Python decided on what was at these places, so it is a guard from now on."""
        self.fixed.update([x for place in places for x in (place, ByContents(place))])
        self.loose -= self.fixed
        self.hidden.fix(self.fixed)

    def fix_numbers(self) -> None:
        """The function would notice stand-ins of numbers, so all numbers are compared from now
        on."""
        self.numbers_are_known = True
        self.arguments.fix_all()
        self.loose, self.hidden = set(), HiddenArguments()


def _of_numbers(change: Change) -> list[Change]:
    """The numbers that changed in a dict whose entries are no longer the same ones."""
    place, held = change.place, change.owner
    if change.index is not None or type(place) not in (Entries, OtherEntries) \
            or type(held) is not dict:
        return []
    return [Change(place, i, x, held[place.name_of(i)]) for i, x in enumerate(place.objects)
            if varies(x) and varies(held.get(place.name_of(i))) and held[place.name_of(i)] != x]


def _may_be_set_first(change: Change) -> bool:
    """Is it an entry of a dict that may be an object's, and that leads to more than numbers?"""
    return (type(change.place) in (Entries, OtherEntries) and type(change.name) is str
            and not (type(change.before) in PLAIN and type(change.now) in PLAIN))


def _may_be_exchanged(before: Any, now: Any) -> bool:
    if varies(now) or is_strided(now) or issubclass(type(now), np.ndarray) or is_number(now):
        # Sums begin as 0, or as None.
        return type(before) is type(now) or before is None or varies(before)
    return type(before) is type(now) and holds_slots(before) and holds_slots(now) \
        and names_of_parts(before) == names_of_parts(now) \
        and all(type(before[i]) is type(now[i]) for i in names_of_parts(now))
