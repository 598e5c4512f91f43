"""The recordings of a function, by the keys of calls."""
from __future__ import annotations

import collections
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from whet.cpu import compile_time_estimates

from ..guards import sizes
from ..guards.hidden_arguments import hidden_names
from ..policy.account import FREE, Policy
from ..policy.outcomes import Event
from ..replay import families
from .learned_variation import Learned
from .objects_in_keys import KnownObjects
from .refusals import Refusals
from .tables import Tables
from .traced_function import TracedFunction

if TYPE_CHECKING:
    from whet.cpu.ordered_kernels import Order

    from ..capture.recorder import Recorder
    from ..guards.signature import FlatArguments, Key
    from ..policy.ledger import Kind
    from ..replay.recording import Recording
    from .invocation import Args, Invocation, Kwargs

# At most so many recordings have one key: each call that fits none has compared all of them.
PATHS = 8
# If these served so many calls each, on average, one of them may be replaced by a new one.
WORTH = 50
# A recording that no call has fitted is dropped after so many that did not fit it.
UNFIT = 20
# So many calls are left unrecorded because their sizes are equal by chance: better ones may come.
WAITS = 8
# Once there are many recordings, so many more are made of sizes that are new. Two of one way
# through the function make a plan for all sizes of that way.
VENTURES = 6
PATIENCE = 2                     # eager calls in a row before each of these


class Recordings:
    """The recordings of a function by key, and its models: recordings from which those for other
    sizes are made."""

    def __init__(self, subject: TracedFunction, learned: Learned, policy: Policy,
                 refusals: Refusals, tables: Tables) -> None:
        self.learned, self.policy, self.refusals, self.tables = learned, policy, refusals, tables
        self.by_key: dict[Key, list[Recording]] = {}
        self.objects = KnownObjects()
        self.dropped: collections.Counter[Key] = collections.Counter()
        # key without sizes -> recordings to make others like
        self.models: dict[Key, list[Recording]] = {}
        self.watched: set[Key] = set()       # keys of calls that went another way than their model
        self.waited = self.ventured = 0
        # key without sizes -> the shapes of the first call that only set something up
        self.set_up: dict[Key, list[tuple[int, ...]]] = {}
        # kernels that the last attempt found missing: see `put_off`
        self.order: Order | None = None
        # dimensions that may differ
        self.free = sizes.declared(subject.dynamic, subject.fn)
        tables.serve_all_sizes = self.free is None

    def of(self, key: Key) -> list[Recording]:
        """The recordings of a key, the newest first."""
        return self.by_key.get(key, [])

    def slower(self, key: Key) -> Recording | None:
        """A recording of a key whose replays take longer than eager calls, or None."""
        return next((r for r in self.of(key) if r.slow), None)

    def put_off(self, order: Order) -> None:
        """Have kernels that a recording needs compiled in the background, and during later
        calls."""
        order.put_off()
        self.order = order

    def are_ordered(self, call: Invocation) -> bool:
        """Does the next recording still need kernels that are not compiled? Compiles as many now as
        the account allows."""
        order = self.order
        if order is not None:
            order.look()
        while order and self.policy.affords_kernel(compile_time_estimates.lacking.of()):
            with call.aside(self.policy.compiled):
                order.deliver()
        if order is not None and not len(order):
            self.order = None
        return self.order is not None

    def begin(self, key: Key, objects: Sequence[Any]) -> list[Recording]:
        """Called when a call of a key is about to be recorded. `objects`: what the key knows by
        address."""
        for gone in self.objects.ended():
            self.forget(gone)
        self.objects.hold(key, objects)
        return self.by_key.setdefault(key, [])

    def ended(self, key: Key) -> None:
        """Called when the attempt to record a call of a key is over."""
        if not self.of(key):
            self.objects.let_go(key)

    def forget(self, key: Key) -> None:
        """Forget all about a key that has no recordings."""
        for known in (self.by_key, self.dropped):
            known.pop(key, None)
        self.objects.forget(key)
        self.refusals.forget(key)
        self.watched.discard(key)

    def before(self, key: Key) -> list[Recording]:
        """The recordings with which a call is compared to find what varies. Where its key has none
        it is the latest of another key: state such as a counter changes with any call."""
        return self.by_key.get(key) or self.policy.held[-1:]

    # ---- like which a recording is made ----------------------------------------------------------
    def model(self, args: Args, kwargs: Kwargs,
              flat: FlatArguments) -> tuple[Key, Recording | None]:
        """The key of a call without its sizes, and a recording that differs from the call in sizes
        alone."""
        kind, found = self.fitting(args, kwargs, flat)
        return kind, next(found, None)

    def fitting(self, args: Args, kwargs: Kwargs,
                flat: FlatArguments) -> tuple[Key, Iterator[Recording]]:
        """The key of a call without its sizes, and all recordings that differ from the call in
        sizes alone. They may be of different ways through the function."""
        kind = self.learned.key_without_sizes(args, kwargs, flat)
        found = (r for r in self.models.get(kind, ()) if sizes.fits(r, flat.leaves) and (
            self.free is None
            or sizes.may_differ(self.free, r.sizes.shapes, args, kwargs, flat.leaves)))
        return kind, found

    def nearest(self, call: Invocation, model: Recording, rec: Recorder) -> Recording:
        """The best model for a run: one whose nodes are those of the run, with sizes that scale to
        the run's. `model` where there is none."""
        _, found = self.fitting(call.args, call.kwargs, call.flat)
        return next((m for m in found if sizes.has_nodes_of(m, rec.nodes)
                     and sizes.scales(m, rec.nodes, rec.values.arrays)), model)

    def untried(self, call: Invocation) -> list[Recording]:
        """The recordings from which one for a call's sizes can be made without a run, and has not
        been made so far. Those whose guards hold now come first."""
        _, found = self.fitting(call.args, call.kwargs, call.flat)
        known, flat = self.of(call.key), call.flat
        models = [m for m in found if families.serves(m) and sizes.serves_others(m)
                  and not any(m.does_as(r) for r in known)]
        if len(models) < 2:
            return models
        return sorted(models, key=lambda m: not m.fits_but_for_sizes(flat.leaves, flat.boxes))

    @property
    def plans(self) -> int:
        """How many plans for ranges of sizes there are."""
        return sum(len(m.sizes.family.ranges.plans) for m in self.all_models()
                   if m.sizes.family is not None)

    def all_models(self) -> list[Recording]:
        """All models at this moment. Other threads may add some meanwhile."""
        return [m for models in list(self.models.values()) for m in models]

    def ventures(self, kind: Kind, like: Callable[[], bool]) -> bool:
        """Should a call of new sizes be recorded although there are many recordings already? A few
        are: they may give a plan for all sizes of a way that has none."""
        if (self.ventured >= VENTURES or kind.calls > 1 or len(self.policy.held) < FREE
                or self.policy.pause.idle < PATIENCE or not like()):
            return False
        self.ventured += 1
        return True

    def had_better_wait(self, args: Args, kwargs: Kwargs, flat: FlatArguments) -> bool:
        """Would the call make a poor model, where a better one may come soon? It is poor if sizes
        are equal by chance."""
        if self.waited >= WAITS:
            return False
        kind = self.learned.key_without_sizes(args, kwargs, flat)
        models, set_up = self.models.get(kind), self.set_up.get(kind, ())
        shapes = [t._array.shape for t in flat.leaves]
        waits = (sizes.call_has_sizes_equal_by_chance(models[0], flat.leaves) if models else
                 sizes.new_sizes_equal_by_chance([*zip(shapes, set_up)]))
        self.waited += waits
        return waits

    def was_set_up(self, call: Invocation) -> None:
        """Note a call that only set something up and was not recorded."""
        kind = self.learned.key_without_sizes(call.args, call.kwargs, call.flat)
        self.set_up.setdefault(kind, [t._array.shape for t in call.flat.leaves])

    def add_model(self, kind: Key, r: Recording) -> None:
        """Make a new recording a model, unless there is one that does the same and needs no run."""
        known = self.models.get(kind, ())
        first = next((m for m in known if m.sizes.family and m.does_as(r)), r)
        others = [m for m in known if not m.does_as(r)]
        self.models[kind] = [first, *others][:sizes.MODELS]

    # ---- which are kept --------------------------------------------------------------------------
    def take_in(self, r: Recording) -> None:
        """Put a recording to use. Others may have to make room for it."""
        if r in self.policy.held:
            return
        for other in self.never_found_again(r):
            self.drop(other)
        r.size = r.weigh()
        for other in self.policy.room(r.kind, r.size, [r, *self.all_models()], made=True) or ():
            self.drop(other)
            self.policy.count(Event.EVICTED)
        self.policy.keep(r)
        self.tables.put(r)

    def never_found_again(self, new: Recording) -> list[Recording]:
        """The recordings of calls with the same objects as those of a new one, but with other
        hidden arguments: the keys of calls are others by now."""
        names = hidden_names(new.key)
        return [r for r in self.policy.held if r.recorded.objects == new.recorded.objects
                and hidden_names(r.key) != names]

    def unfit(self, r: Recording) -> None:
        """Called when a call did not fit a recording of its key."""
        self.policy.count(Event.MISSED)
        r.counts.unfit += 1
        if r.counts.unfit >= UNFIT and not r.calls:
            self.drop(r)                     # What it was made for does not come again.

    def has_place(self, key: Key) -> bool:
        """Is there a place for one more recording of a key, or is an exchange worth while?"""
        paths = self.of(key)
        if len(paths) < PATHS:
            return True
        calls, idle = sum(r.calls for r in paths), any(not r.calls for r in paths)
        return calls >= WORTH * PATHS or (
            calls > 0 and idle and self.dropped[key] < PATHS)

    def are_enough(self, key: Key) -> bool:
        """Is there no place for one more recording of a key, and have those that exist served more
        calls than were recorded to make them?"""
        paths = self.of(key)
        return (not self.has_place(key)
                and sum(r.calls for r in paths) > len(paths) + self.dropped[key])

    def make_place(self, key: Key) -> bool:
        """Make a place for one more recording of a key. If there is none, the least useful
        recording is dropped. False if none is worth dropping."""
        if not self.has_place(key):
            return False
        paths = self.by_key[key]
        if len(paths) >= PATHS:
            dropped = self.dropped[key] + 1
            self.drop(min(reversed(paths), key=lambda r: r.calls))
            self.dropped[key] = dropped
        return True

    def drop_key(self, key: Key) -> None:
        """Drop the recordings of a key that has been refused."""
        for r in list(self.by_key[key]):
            self.drop(r)
        self.by_key[key] = []

    def served_by(self, r: Recording, key: Key) -> Recording | None:
        """An existing recording that can serve the calls of a new one. Both share parts, which have
        been planned for the new sizes by now."""
        return next((known for known in self.of(key)
                     if known.program.depends_on_counts and known.does_as(r)), None)

    def drop(self, r: Recording) -> None:
        """Drop a recording."""
        with self.tables.lock:
            paths = self.by_key.get(r.key, [])
            paths[:] = [x for x in paths if x is not r]
            if not paths:
                if r.key in self.refusals.by_key:
                    self.objects.let_go(r.key)
                else:
                    self.forget(r.key)
            self.models = {k: left for k, rs in self.models.items()
                           if (left := [m for m in rs if m is not r])}
            self.policy.drop(r)
            self.tables.drop(r)
            self.learned.hidden.keep(
                r.recorded.objects for paths in self.by_key.values() for r in paths)

    def close(self) -> None:
        """Drop all recordings. Nothing is replayed any more."""
        with self.tables.lock:               # Another thread may be about to lay tables.
            self.by_key, self.objects, self.models = {}, KnownObjects(), {}
            self.learned.hidden.keep(())
            self.tables.close()
        for r in list(self.policy.held):
            self.policy.drop(r)
