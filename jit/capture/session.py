"""One call that runs eagerly under the recorder, stage by stage.

    search    what the function can reach from outside
    exchange  stand-ins take the place of what may be another value at each call
    observe   the function runs
    conclude  what it did becomes a recording, or is compared with one
    take back what is plain takes its place again
"""
import functools
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
from whet import size_arguments
from whet.autograd import modes
from whet.autograd.node import next_number
from whet.cpu import tiered_compilation

from .. import clocks
from ..guards.asked_gradients import AskedGradients
from ..guards.outside_state import World
from ..guards.signature import FlatArguments
from ..guards.visitors import Unwatchable
from ..refusals.reasons import Inspects
from ..refusals.recording_errors import Refused
from ..stand_ins.argument_stand_ins import ArgumentStandIns
from ..stand_ins.replace_stand_ins import reclaim, replace_stand_ins
from ..stand_ins.state_during_a_run import Swapped
from ..stand_ins.streams_and_functions import real
from ..values.varying_numbers import Number
from .call_search import CallSearch
from .ends_of_runs import RefusedWithoutMemory, Uncollected, surely
from .identity_uses import IdentityUses
from .internal_errors import Fault, is_raised
from .outside_calls import Outward
from .purity import Watch
from .recorder import Recorder
from .released_gradients import ReleasedGradients
from .run_times import RunTimes
from .set_before_read import FirstUses, could_be_set_first
from .state_before import StateBefore
from .user_code import UserCode
from .variation import Variation


class Unrecorded(Exception):
    """A call is not recorded, though nothing refused it: it runs eagerly."""


class Session:
    """A recorded run. `refusals`: notes that a run cannot be recorded."""
    refusals: Any

    def __init__(self, subject: Any, learned: Any, call: Any, variation: Variation) -> None:
        self.subject, self.learned, self.call = subject, learned, call
        self.variation = variation
        self.args, self.kwargs, self.leaves = call.args, call.kwargs, call.flat.leaves
        self.model: Any = None               # a recording that this one is like, but for sizes
        self.is_unwatched = False            # a model shows that nothing needs to be watched for
        self.times = RunTimes()
        # Did the function run eagerly before? Then kernels that are new are mostly of ops that only
        # a recorded run launches one by one.
        self.ran_before = True
        self.has_run = False                 # Was the function called?
        self.out: Any = None                 # its result, held here alone: see `reclaim`
        self.is_over = False                 # Is what the run left in its real form again?

    def has_learned(self) -> bool:
        """Has the run revealed code that was not read, but will be from now on?"""
        ran = self.learned.ran
        return ran is not None and ran.learn(self.watch.beyond)

    @property
    def gradients(self) -> AskedGradients:
        """Which gradients from before the run it could have asked for."""
        return self.model.guards.gradients if self.is_unwatched else self.watch.gradients

    # ---- what differs between a first recording and one for comparison ---------------------------
    def numbers_become_known(self) -> None:
        """Stop letting numbers vary. Raises Unrecorded if the call's key changes by that."""
        raise NotImplementedError

    def arrays_become_known(self) -> None:
        """Stop letting NumPy arrays vary. Raises Unrecorded if the call's key changes by that."""
        raise NotImplementedError

    def may_only_grow(self, world: World) -> frozenset[Any]:
        """The lists of a search, made with what is known by now, that may have any contents."""
        return frozenset()

    def is_searched(self) -> None:
        """Called when the search is done. Raises Unrecorded if it shows that the run is of no
        use."""

    def unwatchable(self, error: Unwatchable) -> None:
        """Called when something that the function reaches cannot be compared."""
        raise NotImplementedError

    def conclude(self, out: Any) -> None:
        """Called when the run is over, with its result."""
        raise NotImplementedError

    def failed(self, error: Any) -> None:
        """Called when the run cannot be recorded."""
        raise NotImplementedError

    # ---- the stages ------------------------------------------------------------------------------
    def result(self) -> Any:
        """Run the function and return its result."""
        start = clocks.clock()
        # What the function raises has no error of ours as its context: it runs outside of these.
        if not self.may_be_watched():
            return self.unwatched()
        self.times.search = clocks.clock() - start
        self.exchange()
        try:
            try:
                self.out = self.observe()
            except Exception as e:
                if self.has_run:
                    raise
                self.unprepared(e)
            if self.has_run:
                self.concluded()
        except BaseException:
            if not self.is_over:             # an interrupt came as the run ended
                surely(self.replace_stand_ins, self.take_back)
            raise
        out, self.out = self.out, None
        return out if self.has_run else self.unwatched()

    def concluded(self) -> None:
        """Describe the run, which is over, and replace the stand-ins in its result."""
        if not self.is_unwatched:
            self.world.locks.add(self.watch.locks.taken.values())
        try:
            with Uncollected(), RefusedWithoutMemory():
                self.conclude(self.out)
        except (Refused, Unwatchable) as e:
            self.failed(e)
        except Exception as e:
            if is_raised(e):
                raise
            self.failed(Refused(Fault.raised(e)))
        self.out = self.as_the_user_gets_it(self.out)
        self.args, self.kwargs = (), {}
        self.take_back()

    def unwatched(self) -> Any:
        """Run the function as if it were not traced."""
        return self.subject.fn(*self.args, **self.kwargs)

    def may_be_watched(self) -> bool:
        """Is everything known that the function can reach?"""
        try:
            self.search()
        except Unrecorded:
            return False
        except Unwatchable as e:
            self.unwatchable(e)
            return False
        except Exception as e:
            self.unprepared(e)
            return False
        return True

    def unprepared(self, error: Exception) -> None:
        """Prepare to run unwatched, because something went wrong before the run. For example,
        another thread may have changed what was searched."""
        if is_raised(error):
            raise error
        self.args, self.kwargs = self.call.args, self.call.kwargs
        self.refusals.failed(self.call.key, Refused(Fault.raised(error)), passing=True)

    def search(self) -> None:
        """Find what the function can reach from outside."""
        search = CallSearch(self.subject.fn, self.call.flat, self.learned)
        if self.is_unwatched:
            search.take(self.model.world)
        else:
            search.run(self.variation.loose)
        self.limit_variation(search)
        world = search.world
        world.pair_with_arguments(self.leaves, self.call.flat.boxes)
        self.look_at_numbers_in_containers(world)
        self.world = world
        self.look_at_records()
        self.is_searched()
        self.slots = [s.fetch(world.tensors, self.leaves) for s in world.slots]
        self.leaves = [*self.leaves, *self.slots]
        self.whole = search.with_arguments([*self.leaves, *self.args, *self.kwargs.values()])
        if not {p.key for p in world.overwritten} <= {p.key for p in self.whole.overwritten}:
            raise Unwatchable(Inspects("what it is given could read an attribute that it sets"))

    def limit_variation(self, search: CallSearch) -> None:
        """Let less vary where code could notice what stands for it, and search again."""
        leaves, boxes, learned = self.leaves, self.call.flat.boxes, self.learned
        if search.world.past_names.takes_apart and search.set_first:
            search.set_first = frozenset()
            if search.latest is not None:
                search.run(self.variation.loose)
        if search.world.facts.notices_numbers and not learned.numbers_are_known:
            self.variation = replace(self.variation, loose=frozenset(), items=False, sizes=False)
            self.numbers_become_known()
            search.run(frozenset())
        loose = self.variation.loose
        if search.latest is not None and (growing := self.may_only_grow(search.world) - loose):
            loose |= growing
            self.variation = replace(self.variation, loose=loose)
            search.run(loose)
        if search.world.compares_arrays and not learned.arrays_are_known:
            self.arrays_become_known()
        if tangled := search.world.entangled(leaves, boxes):
            search.run(loose - tangled)
            if search.world.entangled(leaves, boxes):
                search.run(frozenset())

    def look_at_numbers_in_containers(self, world: World) -> None:
        """Compare numbers in containers among the arguments that have another name as well."""
        flat = self.call.flat
        within = [path for path in (*flat.numbers, *flat.lengths) if len(path) > 1]
        if within and any(id(x) in world.seen for x in flat.boxes):
            self.learned.arguments.fix(within)
            raise Unrecorded

    def look_at_records(self) -> None:
        """Compare by identity those objects among the arguments whose identity code could notice,
        or that code also reaches in another way."""
        flat, objects = self.call.flat, self.learned.arguments.objects
        kinds = {type(x) for x in flat.boxes if self.world.past_names.tells_identities
                 or type(x) in objects.resized and id(x) in self.world.seen} & flat.records
        if kinds:
            for kind in kinds:
                objects.know(kind)
            raise Unrecorded

    def exchange(self) -> None:
        """Prepare the recorder, and put the stand-ins in place."""
        flat, whole = self.call.flat, self.whole
        for world in {id(w): w for w in (self.world, whole)}.values():
            world.run_begins()
        self.run = run = StateBefore(self.world, whole, self.leaves, flat.boxes, next_number())
        run.first_uses = self.first_uses()
        code = UserCode(whole.codes, Session.observe.__code__, self.learned.numbers_are_known,
                        whole.facts.notices_truths, whole.facts.makes_generators)
        self.rec = rec = Recorder(run.tensors, self.variation, whole.arrays, code)
        kinds = [type(x) for x in flat.boxes if type(x) in flat.records]
        self.identity_uses = IdentityUses(kinds, self.learned.arguments.objects, rec)
        rec.stand_ins.arrays.can_stand = not whole.compares_arrays
        rec.stand_ins.arrays.settings_are_guarded = "numpy" in self.world.settings
        rec.tensors.first_node = run.first
        rec.followed.counting = self.learned.counting
        rec.new_arguments = self.call.new_arguments | {
            id(t) for s, t in zip(self.world.slots, self.slots) if s.is_number}
        self.exchange_arguments()
        self.watch = Watch(whole, rec.refuse)
        self.watch.follows = self.variation.sizes
        self.watch.runner = code.caller
        self.outward = Outward(rec, self.watch, self.world, self.slots)
        self.swapped = Swapped(self.world, self.slots, self.outward)
        self.outward.plainly = functools.partial(
            self.swapped.plainly, self.whole, self.stand_ins.tuples)
        rec.run_memory.released = ReleasedGradients(
            run.tensors, run.grads, self.holders, rec.reachable.remove)

    def first_uses(self) -> FirstUses:
        """Watch attributes that may be set before they are read."""
        world, learned = self.world, self.learned
        return FirstUses(world, () if world.past_names.takes_apart else
                         (learned.suspected | could_be_set_first(world)) - learned.read_first)

    def holders(self, g: Any) -> int:
        """How often the session holds a gradient that existed before."""
        run, worlds = self.run, {id(w): w for w in (self.world, self.whole)}.values()
        known = [run.tensors, run.grads, self.rec.reachable.by_array.values(),
                 *(held for w in worlds for held in (w.grads, w.bare))]
        return sum(x is g for held in known for x in held) + sum(
            id(g) in held for w in worlds for held in (w.tensors, w.seen))

    def exchange_arguments(self) -> None:
        """Put stand-ins in place of numbers that vary and of NumPy arrays."""
        flat, rec = self.call.flat, self.rec
        array = functools.partial(self.array_of, flat) if flat.arrays else None
        numbers = {path: Number(t._array.item(), t, rec) for path, t in flat.numbers.items()}
        numbers |= {path: rec.followed.length(rec, path, flat.leaves[i])
                    for path, i in flat.lengths.items()}
        self.stand_ins = stand_ins = ArgumentStandIns(numbers, array, flat.records)
        self.run.tuples, self.run.written = stand_ins.tuples, stand_ins.written
        if numbers or array:
            self.args = [stand_ins(x, (i,)) for i, x in enumerate(self.args)]
            self.kwargs = {k: stand_ins(x, (k,)) for k, x in self.kwargs.items()}
            for c in self.world.containers:
                name, x = flat.hidden[c.spot.key]
                stand_ins.in_state(c.spot, x, (name,))

    def array_of(self, flat: FlatArguments, x: Any) -> Any:
        """The stand-in for a NumPy array, or for a NumPy number, among the arguments."""
        if type(x) is np.ndarray:
            return self.rec.stand_ins.arrays.stand_in(x, has_tensor=True)
        known = flat.arrays is not None and flat.arrays.get(id(x)) is x
        return (self.rec.stand_ins.arrays.given_number(x, flat.leaves[flat.met[id(x)]]) if known
                else x)

    def observe(self) -> Any:
        """Run the function under the recorder; return its result."""
        try:
            try:
                self.swapped.enter(self.rec)
                self.run.first_uses.enter()
                self.identity_uses.enter()
                if self.variation.sizes:
                    size_arguments.followers.add(self.rec)
                modes.state.observers += (self.rec,)
                modes.refresh()
                self.times.begin()
                watch = nullcontext() if self.is_unwatched else self.watch
                with (watch, tiered_compilation.numbers(),
                      tiered_compilation.recording(self.ran_before)):
                    self.has_run = True
                    return self.subject.fn(*self.args, **self.kwargs)
            finally:
                self.close()
        except BaseException:
            self.args, self.kwargs = (), {}
            surely(self.close, self.replace_stand_ins, self.take_back)
            raise

    def close(self) -> None:
        """End the run. Repeated if an interrupt ends it midway."""
        self.watch.withdraw()
        self.run.first_uses.leave()
        self.identity_uses.leave()
        self.rec.run_memory.released.end()
        self.rec.originals.end()
        self.rec.followed.end(self.rec)
        size_arguments.followers.discard(self.rec)
        state = modes.state
        state.observers = tuple(o for o in state.observers if o is not self.rec)
        modes.refresh()
        self.swapped.leave()
        self.stand_ins.end()

    def as_the_user_gets_it(self, out: Any) -> Any:
        """The result without stand-ins."""
        has_stand_ins = (self.rec.stand_ins.numbers.numbers or self.rec.stand_ins.arrays.stand_ins
                         or self.swapped.lists)
        self.replace_stand_ins()
        if self.stand_ins.tuples:
            out = self.stand_ins.given_back(out)
        out = real(replace_stand_ins(out, self.swapped.replaced) if has_stand_ins else out)
        self.swapped.replaced = {}
        return out

    def replace_stand_ins(self) -> None:
        """Put plain numbers wherever the run left Numbers in Python's state."""
        self.swapped.replace_stand_ins(self.whole, self.stand_ins.tuples)

    def take_back(self) -> None:
        """Put the real objects wherever else the run left stand-ins. Most stand-ins are gone once
        they are dropped here. Finding who holds the rest takes a look at all live objects."""
        self.stand_ins.forget()
        self.swapped.forget()
        for world in (self.world, self.whole):
            world.run_ends()
        reclaim([(x, None) for x in self.rec.stand_ins.numbers.numbers])
        self.outward.take_back()
        self.rec.stand_ins.arrays.take_back()
        self.is_over = True
