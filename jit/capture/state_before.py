"""The state before a run, and whether the run changed something that a replay would not."""
from __future__ import annotations

import collections
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from whet import random
from whet.autograd import modes
from whet.cpu import tiered_compilation
from whet.ir.graph import Write

from ..guards.call_settings import CallSettings
from ..refusals.reasons import Memory, Settings
from ..refusals.recording_errors import Refused
from ..stand_ins.repeatable_call import Call
from ..values.tensor_sources import DataOf
from .library_state import LibraryState
from .set_before_read import FirstUses
from .writes import counters

if TYPE_CHECKING:
    from ..guards.outside_state import World
    from .recorder import Recorder


def places_of_counters(tensors: Iterable[Any],
                       place_of: Callable[[Any], Any]) -> dict[int, Any]:
    """{id of a version cell: where the tensor with this cell is}, for all cells to which outside
    tensors lead."""
    known: dict[int, Any] = {}
    for t in tensors:
        place = place_of(t)
        for cell in counters(t):
            known.setdefault(id(cell), place)
            place = DataOf(place)
    return known


class StateBefore:
    """What existed before a run."""

    def __init__(self, world: World, whole: World, leaves: Sequence[Any], boxes: Sequence[Any],
                 first: int) -> None:
        self.world, self.whole, self.leaves, self.boxes = world, whole, leaves, boxes
        self.first = first
        self.tensors = list(whole.tensors.values())
        self.grads = [t._grad for t in self.tensors]
        # id of a tensor -> its memory. That of gradients, which the run may let go, is not held.
        gradients = set(map(id, self.grads))
        self.arrays = {id(t): t._array for t in self.tensors if id(t) not in gradients}
        self.looks = [_form(t) for t in self.tensors]
        self.cells = {id(c): (c, c.v) for t in self.tensors for c in counters(t)}
        self.settings = CallSettings.now()
        self.start = random.default_generator._seed, random.default_generator._offset
        self.others = _others()
        self.libraries = LibraryState(whole)
        self.first_uses = FirstUses(world, ())
        # id of a tuple with stand-ins in it -> it, and what was given
        self.tuples: dict[int, tuple[Any, Any]] = {}
        # containers and objects with stand-ins in them to which the run wrote
        self.written: list[Any] = []

    def array(self, t: Any) -> Any:
        """The array that a tensor had."""
        return self.arrays.get(id(t), t._array)

    def alone(self) -> bool:
        """Did no other Python thread run at the same time? Its changes would look like the
        run's own."""
        return _others() == self.others

    def release(self, rec: Recorder) -> None:
        """The recording is made: drop the gradients that the run has replaced and that are not
        read, as eager has done."""
        replaced = {
            id(g): g for t, g in zip(self.tensors, self.grads)
            if g is not None and t._grad is not g}
        for t in (*rec.outside.values(), *self.leaves):
            replaced.pop(id(t), None)
        for g in replaced.values():
            rec.reachable.remove(g._array)
        self.whole.let_go([g for g in self.whole.grads if id(g) not in replaced])
        self.tensors, self.arrays, self.grads, self.looks = [], {}, [], []

    def unseen(self, rec: Recorder,
               place_of: Callable[[Any], Any]) -> list[tuple[Any, Any]]:
        """Version bumps of outside tensors that are not writes: (place, the cell)."""
        seen = collections.Counter(
            id(c) for n in rec.nodes if isinstance(n, Write) for c in n.cells)
        places = places_of_counters(self.tensors, place_of)
        found = {
            id(c): (c, c.v - self.cells.get(id(c), (c, 0))[1] - seen[id(c)]) for t in self.tensors
            for c in counters(t)}
        return [(places[i], c.writer) for i, (c, more) in found.items() for _ in range(more)]

    def unchanged(self, rec: Recorder) -> None:
        """Raise if the run changed something that a replay does not."""
        settings = CallSettings.now()
        if (settings.flags ^ self.settings.flags) & modes.SPECIAL:
            raise Refused(Settings("it changes a setting"))
        change = self.libraries.change()
        if change is not None:
            raise Refused(change)
        # A recording begins with known settings, so it ends with known ones.
        if settings != self.settings:
            rec.acts.append(Call(_set, list(settings), {}, len(rec.nodes)))
        # leaves that require a gradient now, or no longer do, and what has lost its history
        self.marks = []
        self.moved = []                      # tensors that have other memory now
        for t, was in zip(self.tensors, self.looks):
            now = _form(t)
            if now != was and id(t) not in rec.run_memory.released.hollow:
                if now[0] != was[0] and now[1:] == was[1:] and t._base is None:
                    self.moved.append(t)
                    continue
                if ((now[0], *now[3:]) != (was[0], *was[3:]) or t._node is not None
                        or t._base is not None):
                    raise Refused(Memory("it changes what a tensor from outside is: its memory, "
                                         "history or hooks"))
                self.marks.append(t)
        rec.stand_ins.streams.at(random.default_generator)
        if (self.start != rec.stand_ins.streams.starts[id(random.default_generator)]
                or not all(map(rec.stand_ins.streams.as_told, rec.stand_ins.streams.moved()))):
            raise Refused(Settings("it moves the random number generator"))


def _set(*settings: Any) -> None:
    """The settings, as a run left them."""
    CallSettings(*settings).put()


def _others() -> dict[int, tuple[int, int]]:
    """The frames of the other Python threads, except our own threads."""
    mine = threading.get_ident(), tiered_compilation.thread()
    return {i: (id(f), f.f_lasti) for i, f in sys._current_frames().items() if i not in mine}


def _form(t: Any) -> tuple[Any, ...]:
    """What a tensor is. Of its node it has the number: a node that has taken the place of one
    that is gone may be at its address."""
    node = 0 if t._node is None else t._node.seq
    return id(t._array), t._rg, node, id(t._base), bool(t._extra)
