"""Describes the changes that a run made to Python's state, as recipes by which a replay makes the
same changes."""
import functools
from collections.abc import Callable
from typing import Any

from whet.tensor import wrap

from ..guards.container_places import Elements, entries
from ..guards.overwritten_attributes import Overwritten, could_be_found_elsewhere
from ..guards.places import ABSENT, Change
from ..guards.slots import names_of_parts
from ..guards.spots import MemoryOf
from ..refusals.reasons import Changes, Inspects, OtherMemory
from ..refusals.recording_errors import Refused
from ..stand_ins.numpy_stand_in import Array, real_of, tensor_of
from ..values.instance_state import contents_of
from ..values.varying_numbers import NUMBERS, tensor_behind
from .write_back import Left


class LeftBehind:
    """`effects`: (spot, recipe of the new value) of what was changed. `growths`: what was appended
    to lists. `filled`: the new contents of containers among the arguments. A run whose changes
    cannot be made again is refused."""

    def __init__(self, run: Any, results: Any, swapped: Any, learned: Any) -> None:
        self.run, self.results, self.swapped = run, results, swapped
        slots, leaves = run.world.slots, run.leaves
        there = leaves[len(leaves) - len(slots):]
        self.slots = {s.spot.key: t for s, t in zip(slots, there)}
        self.tuples = {place: there for place, (_, there) in swapped.tuples.items()}
        # what is accounted for
        self.known: set[Any] = {id(grown.real) for grown, _ in swapped.lists}
        self.effects: list[Any] = []
        self.check_appended_lists(learned)
        self.check_unread_containers(learned)
        self.check_attributes_read_first(learned)
        self.describe_attributes_set_again()
        self.describe_changes(learned)
        self.describe_replaced_numbers()
        self.growths = [
            (grown.real, [results.describe(x) for x in grown.added])
            for grown, _ in swapped.lists if grown.added]
        self.filled = self.contents_of_arguments()

    def for_replays(self) -> Left:
        """What each replay has to do to Python's state."""
        return Left(self.effects, self.growths, self.filled)

    def check_appended_lists(self, learned: Any) -> None:
        """Refuse a run that reads a list it appends to: such lists are not compared before a
        replay."""
        for grown, _ in self.swapped.lists:
            if grown.read:
                learned.fix([(id(grown.real), None)])
                change = Change(Elements(grown.real), None)
                raise Refused(
                    Changes(self.run.world, change, "a list that it both reads and appends to"))

    def check_unread_containers(self, learned: Any) -> None:
        """Refuse a run that changes a list or dict of which parts vary between calls, or that
        returns it. A replay does not know which object it is. Later runs take the container as one
        that is given to them."""
        world, leaves = self.run.world, self.run.leaves
        found = [*zip(world.slots, leaves[len(leaves) - len(world.slots):]),
                 *((twin.slot, leaves[twin.leaf]) for twin in world.twins)]
        for s, t in found:
            was = s.changeable
            if was is None:
                continue
            note = functools.partial(learned.written.add, s.spot.key)
            self.results.of_slots[id(was)] = note
            if names_of_parts(was) != s.items or was[s.item] is not t:
                note()
                change = Change(Elements(was) if type(was) is list else entries(was), None)
                raise Refused(Changes(self.run.world, change, "which is another at each call"))

    def describe_attributes_set_again(self) -> None:
        """Handle attributes that hold the same object as before the run. If the run is known to
        have set one, replays set it, too. If that is unknown, and another place could have given
        the object, it is compared before each replay."""
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

    def check_attributes_read_first(self, learned: Any) -> None:
        """Refuse a run that read an attribute which earlier runs had set before they read it. Such
        attributes are not compared before a replay."""
        uses = self.run.first_uses
        wrong = learned.watched(list(uses.uses.values()))
        if wrong or not uses.is_complete:
            learned.set_first &= uses.uses.keys()
            raise Refused(Inspects("it reads an attribute that it has only set so far"))

    # ---- what differs from before ----------------------------------------------------------------
    def describe_changes(self, learned: Any) -> None:
        """Describe what the run changed of all that it could reach."""
        changes = self.run.world.changes()
        # A replay sets new entries of a dict in the order in which the run did.
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
        """Is the new value only the stand-in of the number, numbers or array that was there
        before?"""
        if type(new) in NUMBERS:
            return tensor_behind(new) is self.slots.get(place)
        if type(new) is tuple:
            return new is self.tuples.get(place)
        slot = self.slots.get(place)
        return (type(new) is Array and slot is not None
                and (tensor_of(new) is slot or real_of(new) is slot._array))

    def describe(self, change: Change, is_whole: bool) -> bool:
        """Note how a replay makes a change. `is_whole`: everything that the owner holds is
        replaced. False where no replay can make it."""
        def described(make: Callable[[Any], Any], x: Any) -> Any:
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
            self.effects.append((contents, described(self.results.contents, owner)))
            return True
        if spot is not None:
            self.effects.append((spot, described(self.results.describe, change.now)))
        return spot is not None

    def describe_replaced_numbers(self) -> None:
        """Describe new values in places of numbers or arrays that vary. They count as changes even
        if they equal what was there in this call: in other calls they will not."""
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

    def describe_moved_memory(self) -> None:
        """Describe the new memory of tensors that were there before the run (`t.data = ...`). It
        may be that of another tensor that the run left."""
        holders = {id(t._array): t for t in self.results.tensors}
        for t in self.run.moved:
            if self.run.world.tensors.get(id(t)) is not t:
                raise Refused(OtherMemory(t, "gets other memory (`.data = ...`)", self.run.whole))
            holder = holders.get(id(t._array))
            self.effects.append((MemoryOf(t), self.results.tensor(
                wrap(t._array) if holder is None else holder)))

    # ---- containers among the arguments ----------------------------------------------------------
    def contents_of_arguments(self) -> list[Any]:
        """The new contents of those containers among the arguments that the run changed."""
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
        """Places in arguments that the run wrote to. In this call the new numbers may equal the old
        ones; in others they will not."""
        written = {id(contents_of(owner)) for owner in self.run.written}
        return [Change(place, None) for place in self.run.whole.places
                if id(place.owner) in written] if written else []
