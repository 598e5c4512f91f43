"""What a run left in Python's state, as recipes by which a replay lays it there again."""
import functools
from collections.abc import Callable
from typing import Any

from whet.tensor import wrap

from ..capture.numpy_stand_in import Array, real_of
from ..capture.refused import Refused
from ..capture.varying_numbers import NUMBERS, tensor_behind
from ..guards.container_places import Elements, entries
from ..guards.instances import contents_of
from ..guards.overwritten_attributes import Overwritten, could_be_found_elsewhere
from ..guards.places import ABSENT, Change
from ..guards.slots import items
from ..guards.spots import MemoryOf
from ..report.reasons import Changes, Inspects, OtherMemory
from .write_back import Left


class LeftBehind:
    """`effects`: (spot, recipe of the new value) of what was changed, `growths`: what was
    appended to lists, `filled`: what containers among the arguments hold afterwards."""

    def __init__(self, run: Any, results: Any, swapped: Any, learned: Any) -> None:
        self.run, self.results, self.swapped = run, results, swapped
        slots, leaves = run.world.slots, run.leaves
        there = leaves[len(leaves) - len(slots):]
        self.slots = {s.spot.key: t for s, t in zip(slots, there)}
        self.tuples = {place: there for place, (_, there) in swapped.tuples.items()}
        # what is accounted for
        self.known: set[Any] = {id(grown.real) for grown, _ in swapped.lists}
        self.effects: list[Any] = []
        self.only_appended(learned)
        self.only_read(learned)
        self.read_before_set(learned)
        self.set_to_what_was_there()
        self.changed(learned)
        self.exchanged()
        self.growths = [
            (grown.real, [results.describe(x) for x in grown.added])
            for grown, _ in swapped.lists if grown.added]
        self.filled = self.contents_of_arguments()

    def laid_again(self) -> Left:
        """How a replay lays the three."""
        return Left(self.effects, self.growths, self.filled)

    def only_appended(self, learned: Any) -> None:
        """A list that the run appends to must not be read by it."""
        for grown, _ in self.swapped.lists:
            if grown.read:
                learned.fix([(id(grown.real), None)])
                change = Change(Elements(grown.real), None)
                raise Refused(
                    Changes(self.run.world, change, "a list that it both reads and appends to"))

    def only_read(self, learned: Any) -> None:
        """A list or dict whose parts lie in slots is any of its kind: the run must neither change
        it nor hand it on, as a replay does not know it by its identity."""
        slots, leaves = self.run.world.slots, self.run.leaves
        for s, t in zip(slots, leaves[len(leaves) - len(slots):]):
            was = s.changeable
            if was is None:
                continue
            fix = functools.partial(learned.fix, [s.spot.key])
            self.results.of_slots[id(was)] = fix
            if items(was) != s.items or was[s.item] is not t:
                fix()
                change = Change(Elements(was) if type(was) is list else entries(was), None)
                raise Refused(Changes(self.run.world, change, "which is another at each call"))

    def set_to_what_was_there(self) -> None:
        """Compare attributes that the run may have set to the very value that they had: whether it
        did cannot be seen."""
        run = self.run
        known = [*run.whole.seen.values(), *run.tensors, *run.grads, *run.leaves, *run.boxes]
        for place in run.world.overwritten:
            there, = place.look()
            was_set = run.first_uses.was_set(place.key)
            if there is place.objects[0] and there is not ABSENT and was_set is not False:
                if was_set:
                    self.effects.append((place.spot(0), self.results.describe(there)))
                elif could_be_found_elsewhere(there, known):
                    place.is_compared = True

    def read_before_set(self, learned: Any) -> None:
        """What runs have set first so far, this one must not have read before."""
        uses = self.run.first_uses
        wrong = learned.watched(list(uses.uses.values()))
        if wrong or not uses.is_complete:
            learned.set_first &= uses.uses.keys()
            raise Refused(Inspects("it reads an attribute that it has only set so far"))

    # ---- what differs from before ----------------------------------------------------------------
    def changed(self, learned: Any) -> None:
        """Describe what the run changed of what it could reach."""
        changes = self.run.world.changes()
        # what is new in a dict is laid there in the order in which the run has set it
        changes.sort(key=lambda c: c.place.position if type(c.place) is Overwritten else -1)
        whole = {id(c.owner) for c in changes if c.is_of_all}
        for c in changes:
            if self.is_what_was_there(c.key, c.now):
                continue
            if self.describe(c, id(c.owner) in whole):
                continue
            if id(c.owner) not in self.known:
                learned.loosen(changes)
                raise Refused(Changes(self.run.world, c))

    def is_what_was_there(self, place: Any, new: Any) -> bool:
        """Is it the number, the numbers or the array for which something stood during the run?"""
        if type(new) in NUMBERS:
            return tensor_behind(new) is self.slots.get(place)
        if type(new) is tuple:
            return new is self.tuples.get(place)
        return (type(new) is Array and place in self.slots
                and real_of(new) is self.slots[place]._array)

    def describe(self, change: Change, is_whole: bool) -> bool:
        """Note how a replay makes a change; False where it is not noted. `is_whole`: all that the
        owner holds is laid anew."""
        def laid(make: Callable[[Any], Any], x: Any) -> Any:
            try:
                return make(x)
            except Refused as e:
                raise Refused(e.reason.left(self.run.world, change)) from None
        owner, spot = change.owner, change.spot
        if change.place.has_contents and is_whole:
            contents = change.place.contents()
            if id(owner) in self.known or contents is None:
                return False
            self.known.add(id(owner))
            self.effects.append((contents, laid(self.results.contents, owner)))
            return True
        if spot is not None:
            self.effects.append((spot, laid(self.results.describe, change.now)))
        return spot is not None

    def exchanged(self) -> None:
        """Describe what the run left where a number or an array was: it may be what was there
        this time."""
        self.known |= {spot.key for spot, _ in self.effects}
        for s in self.run.world.slots:
            place = s.spot.key
            now = s.spot.found() if s.is_number or s.is_array else None
            if now is None or place in self.known:       # None: it was deleted.
                continue
            if (type(now) is not Array and type(now) not in NUMBERS
                    and now is not self.tuples.get(place)):
                self.effects.append((s.spot, self.results.describe(now)))
        self.known |= self.slots.keys() | {spot.key for spot, _ in self.effects}

    def moved(self) -> None:
        """Describe the memory that tensors from outside were given: that of another tensor which
        the run leaves, if there is one."""
        holders = {id(t._array): t for t in self.results.tensors}
        for t in self.run.moved:
            if self.run.world.tensors.get(id(t)) is not t:
                raise Refused(OtherMemory(t, "gets other memory (`.data = ...`)", self.run.whole))
            holder = holders.get(id(t._array))
            self.effects.append((MemoryOf(t), self.results.tensor(
                wrap(t._array) if holder is None else holder)))

    # ---- containers among the arguments ----------------------------------------------------------
    def contents_of_arguments(self) -> list[Any]:
        """What containers among the arguments hold, of those that the run changed."""
        run, filled = self.run, {}
        boxes = {id(held): i for i, x in enumerate(run.boxes)
                 if (held := contents_of(x)) is not None}
        for c in [*run.whole.changes(), *self.written_as_before()]:
            owner = c.owner
            if id(owner) in filled:
                continue
            if id(owner) in boxes and id(owner) not in run.world.seen:
                filled[id(owner)] = boxes[id(owner)], self.results.contents(owner)
            elif id(owner) not in self.known and c.key not in self.known:
                raise Refused(Changes(run.whole, c))
        return list(filled.values())

    def written_as_before(self) -> list[Change]:
        """Changes of arguments in which numbers vary. What the run put there may be equal to what
        was there in this call, and is not in others."""
        written = {id(contents_of(owner)) for owner in self.run.written}
        return [Change(place, None) for place in self.run.whole.places
                if id(place.owner) in written] if written else []
