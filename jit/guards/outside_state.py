"""What a function reads besides its arguments' numbers.

It is found before a recording by a walk, and compared before each replay."""
from __future__ import annotations

import collections
import copy
import types
from collections.abc import Iterable, Iterator, Sequence, Set
from typing import Any, NamedTuple

from ..refusals.reasons import Changed
from ..values.immutable_types import same_key
from .array_places import ArrayContents, BareTensors
from .container_places import entries
from .finished_walk import FinishedWalk
from .followed_module_names import absent_names
from .incomparable_objects import Unread
from .locks import TakenLocks
from .outside_walk import Walk
from .overwritten_attributes import SetFirst
from .places import Change, Place
from .slots import Slot, Twin
from .unnamed_objects import takes_objects_apart, tells_identities

# a slot's descriptor, and a method of it
OF_SLOTS = types.MemberDescriptorType, types.MethodWrapperType


class PastNames(NamedTuple):
    """What code of a world can do that does not name what it reads. `reads_slots`: could it read a
    slot by a name made at run time, or by its descriptor? `takes_apart`: could it read an attribute
    past its class, which notes what is set first? `tells_identities`: could it find out the
    identity of an object?"""
    reads_slots: bool
    takes_apart: bool
    tells_identities: bool

    @classmethod
    def of(cls, walk: Walk) -> PastNames:
        """What the code that a walk has met can do without naming it."""
        return cls(
            walk.facts.looks_up_names or walk.met_code.made_names.could_be_any
            or "__get__" in walk.met_code.attributes
            or any(type(x) in OF_SLOTS for x in walk.seen.values()),
            takes_objects_apart(walk) or walk.facts.reads_dicts,
            tells_identities(walk))


class World:
    """The places that a function reads from, as a walk has found them. `locks`: those that a run
    took, as it turned out."""
    stack = ()                               # nothing is left to be looked at

    def __init__(self, finished: FinishedWalk) -> None:
        walk = finished.walk
        self.seen, self.tensors, self.codes = walk.seen, walk.tensors.by_id, walk.met_code.all
        self.slots, self.growing = walk.varying.slots, walk.varying.growing
        self.twins: list[Twin] = []
        self.containers = [*walk.varying.containers.values()]
        self.stand_ins, self.later = walk.stand_ins, walk.later
        # NumPy arrays that have stand-ins in a run, by id
        self.grads, self.inputs = walk.tensors.gradients, finished.arrays
        self.compares_arrays = finished.compares_arrays
        self.facts, self.settings = walk.facts, frozenset(walk.settings)
        self.watching = frozenset(walk.watchers.names)
        self.unread = Unread(walk, finished.overwritten)
        self.past_names, self.locks = PastNames.of(walk), TakenLocks()
        self.bare, self.places = walk.tensors.bare, walk.places
        self.overwritten, self.names_set = finished.overwritten, walk.met_code.are_set
        # by the id of a module: those of its names that are compared
        self.names_in_modules = {i: frozenset(done) for i, (_, done) in walk.modules.by_id.items()}
        self.places += absent_names(walk)
        self.places.append(BareTensors(self.bare))
        self._arrange()

    @property
    def arrays(self) -> list[Any]:
        """The arrays whose numbers are compared."""
        return [p.owner for p in self.places if type(p) is ArrayContents]

    def _arrange(self) -> None:
        """Group the places by class. Those of one class are compared together, in C, as long as
        nothing differs."""
        kinds: dict[type[Place], list[Place]] = {}
        for place in self.places:
            kinds.setdefault(type(place), []).append(place)
        self._kinds = [(kind.check(places), places) for kind, places in kinds.items()]

    def copy_for_another_run(self) -> World:
        """This world for one more run. Other runs may use the original at the same time."""
        if not self.overwritten:
            return self
        new = copy.copy(self)
        fresh = {id(place): copy.copy(place) for place in self.overwritten}
        new.places = [fresh.get(id(place), place) for place in self.places]
        new.overwritten = list(fresh.values())
        new._arrange()
        return new

    def run_begins(self) -> None:
        """Hold the values of attributes that code only sets."""
        for place in self.overwritten:
            place.begin()

    def run_ends(self) -> None:
        """Release the values of attributes that code only sets."""
        for place in self.overwritten:
            place.end()

    def watch(self, objects: Iterable[Any]) -> None:
        """Compare the attributes of some more objects, which hold nothing but numbers."""
        for x in objects:
            if id(x) not in self.seen:
                self.seen[id(x)] = x
                self.places.append(entries(vars(x)))
        self._arrange()

    def let_go(self, kept: Iterable[Any]) -> None:
        """Release containers among the arguments, and gradients other than `kept`. A gradient is
        soon replaced by another; its tensor leads to the current one."""
        for c in self.containers:
            c.value = None
        gone = set(map(id, self.grads)) - set(map(id, kept))
        for i in gone:
            self.tensors.pop(i, None)
            self.seen.pop(i, None)
        self.bare[:] = [t for t in self.bare if id(t) not in gone]
        self.grads = []

    def holds_varying_parts(self, boxes: Iterable[Any]) -> bool:
        """Is one of these containers a list that grows, or one of which parts vary between
        calls?"""
        there = {id(s.spot.found()) for s in self.taken if s.item is not None}
        return any(id(x) in self.growing or id(x) in there for x in boxes)

    def entangled(self, leaves: Sequence[Any], boxes: Iterable[Any]) -> set[Any]:
        """The keys of what is known by other names as well, and so neither a slot nor a list that
        grows."""
        containers = {id(s.spot.found()): s.spot.key for s in self.slots if s.item is not None}
        keys: set[Any] = {key for i, key in containers.items()
                          if i in self.seen or i in self.growing}
        keys |= {containers[id(x)] for x in boxes if id(x) in containers}
        in_arguments = set(map(id, boxes))
        keys |= {(i, None) for i in self.growing
                 if self.facts.notices_lists or i in self.seen or i in in_arguments}
        known = {*self.tensors, *self.inputs, *(id(x._array) for x in leaves)}
        found = [(s, id(s.current())) for s in self.slots if not s.is_number]
        times = collections.Counter([*map(id, leaves), *(i for _, i in found)])
        keys |= {s.spot.key for s, i in found
                 if i in known or times[i] > 1 and not s.may_be_twin}
        # Those that the call's key does not describe are compared by identity, too.
        return keys | {c.key for c in self.containers
                       if id(c.value) in self.seen or id(c.value) not in in_arguments
                       or self.past_names.tells_identities}

    def pair_with_arguments(self, leaves: Sequence[Any], boxes: Sequence[Any]) -> None:
        """Tell slots whose tensor is an argument, or that of another slot, from the others, and
        containers in Python's state from those among the arguments."""
        numbers = {id(x): i for i, x in enumerate(boxes)}
        for c in self.containers:
            c.box = numbers[id(c.value)]
        slots, self.slots = self.slots, []
        first = {id(x): i for i, x in enumerate(leaves)}
        for s in slots:
            i = id(s.current()) if s.may_be_twin else None
            if i in first:
                self.twins.append(Twin(s, first[i]))
                continue
            if i is not None:
                first[i] = len(leaves) + len(self.slots)
            self.slots.append(s)

    @property
    def taken_keys(self) -> list[Any]:
        """What tells the spots that are taken as they come from those of another world."""
        return [*(s.key for s in self.slots), *(twin.key for twin in self.twins),
                *(c.key for c in self.containers)]

    @property
    def loose_cells(self) -> set[tuple[int, int]]:
        """The objects in places that may be others at each call: (id of the place, which of its
        objects)."""
        cells = [*(s.cells for s in self.taken), *(c.cells for c in self.containers)]
        return {(id(place), i) for those in cells for place, i in those}

    @property
    def taken(self) -> list[Slot]:
        """The slots, those among them whose tensors are arguments or another slot's."""
        return [*self.slots, *(twin.slot for twin in self.twins)]

    # ---- comparing -------------------------------------------------------------------------------
    def same(self) -> bool:
        """Does everything hold the very objects that were found?"""
        for check, _ in self._kinds:
            if not check():
                return False
        return True

    def _other(self) -> Iterator[Place]:
        """The places of those classes of which some place changed."""
        unlike = {type(places[0]) for check, places in self._kinds if not check()}
        return (p for p in self.places if type(p) in unlike)

    def accept_equal_objects(self) -> bool:
        """Replace the objects that were found by equal ones that are there now, because machine
        code compares identities. False where some are not even equal."""
        if self.same():
            return True
        if self.changes():
            return False
        for place in self.places:
            if not place.same():
                place.objects[:] = place.look() or ()
        self._arrange()
        return self.same()

    def changes(self) -> list[Change]:
        """All that changed since it was found, once for each spot."""
        out: list[Change] = []
        for place in self._other():
            for c in place.changes():
                if c.index is None or not any(o.owner is c.owner and same_key(o.name, c.name)
                                              for o in out):
                    out.append(c)
        return out

    def difference(self) -> Changed | None:
        """The first change since it was found, as a reason, or None."""
        found = next((c for place in self._other() for c in place.changes()), None)
        return None if found is None else Changed(self, found)

    def restore(self) -> bool:
        """Undo all changes. Were there any?"""
        if self.same():
            return False
        for place in self.places:
            if not place.same():
                place.restore()
        return True


class OutsideSearch:
    """The world of a function and of some objects, and the walk that found it, to go on from."""

    def __init__(self, fn: Any, others: Iterable[Any] = (), loose: Any = frozenset(),
                 numpy: bool = False, ran: Set[types.CodeType] | None = None) -> None:
        walk = Walk(fn, others, loose, numpy=numpy, ran=ran)
        walk.walk()
        self._set_first = frozenset(key for key in loose if type(key) is SetFirst)
        self._begun = None if loose - self._set_first else walk.copied()
        self._start, self._ran = (fn, others), ran
        self.world = World(FinishedWalk(walk))

    def further(self, arguments: list[Any], skipped: Any) -> World:
        """The world of these arguments as well: as if searched anew, with one look at each thing.

        Only once: what it goes on from holds gradients, which are soon others."""
        walk, self._begun = self._begun, None
        if walk is None:
            fn, others = self._start
            return world_of(fn, [*others, *arguments], skipped, self._ran, self._set_first)
        walk.skipped = skipped
        walk.go_on_to(arguments)
        return World(FinishedWalk(walk))


def world_of(fn: Any, arguments: Iterable[Any] = (), skipped: Any = frozenset(),
             ran: Set[types.CodeType] | None = None, loose: Any = frozenset()) -> World:
    """The world of a function and of its arguments."""
    walk = Walk(fn, arguments, loose, skipped=skipped, ran=ran)
    walk.walk()
    return World(FinishedWalk(walk))
