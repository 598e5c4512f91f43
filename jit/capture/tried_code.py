"""Code that a recorded run did not come to, tried on the side.

It runs on the real operands, and is stopped before it does anything but compute.
"""
from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from operator import attrgetter, is_
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn

from whet import declared_for_tracing
from whet.autograd import modes
from whet.tensor_base import Base

from ..guards.call_settings import CallSettings
from ..guards.origin import origin_of
from ..guards.outside_state import world_of
from ..guards.visitors import Unwatchable
from ..report.reasons import Calls
from .purity import Watch, resume

if TYPE_CHECKING:
    from whet.ir.graph import Node

    from ..guards.outside_state import World
    from .recorder import Recorder

# what a tensor is
_facts = attrgetter("_array", "_grad", "_rg", "_node", "_extra", "_base", "_cell")


class NotANode(Exception):
    """What was noted cannot be a node."""


class Stop(BaseException):
    """Code that is tried was about to do more than compute."""


class unseen:
    """Inside, nobody records or watches."""

    def __enter__(self) -> None:
        self.profile, self.observers = sys.getprofile(), modes.state.observers
        sys.setprofile(None)
        modes.state.observers = ()
        modes.refresh()

    def __exit__(self, *exc: object) -> None:
        modes.state.observers = self.observers
        modes.refresh()
        resume(self.profile)


class Before:
    """What some functions reach, as it is before they run (`why`: why that cannot be said)."""

    def __init__(self, *objects: Any) -> None:
        self.world: World | None = None
        self.why = ""
        try:
            self.world = world_of(objects[0], objects[1:])
        except Unwatchable as e:
            self.why = str(e)
        if self.world is not None:
            self.world.run_begins()
        self.settings = CallSettings.now()
        self.looks = ([] if self.world is None else [
            (t, _facts(t)) for t in self.world.tensors.values()])

    def compare(self) -> None:
        """Raise NotANode where something is another now: the other branch, or another number of
        rounds, would not have done it."""
        if self.world is None:
            raise NotANode(self.why)
        if any(not _alike(t, was) for t, was in self.looks):
            raise NotANode("it changes what a tensor is")
        if self.world.changes():
            raise NotANode("it changes Python's state")
        if CallSettings.now() != self.settings:
            raise NotANode("it changes a setting")

    def restore(self) -> list[str]:
        """Put all back, where it can be; what was another, in words."""
        found = []
        for t, was in self.looks:
            if not _alike(t, was):
                t._array, t._grad, t._rg, t._node, t._extra, t._base, t._cell = was
                found.append("it changes what a tensor is")
        if self.world is not None and self.world.restore():
            found.append("it changes Python's state")
        if CallSettings.now() != self.settings:
            self.settings.put()
            found.append("it changes a setting")
        return found


def _alike(t: Base, was: tuple[Any, ...]) -> bool:
    """Is a tensor what it was? A cell that was not there yet counts what is written from now on."""
    *now, cell = _facts(t)
    return all(map(is_, now, was)) and (was[-1] is None or cell is was[-1])


class Careful(Watch):
    """A watch that stops what it would refuse, before it happens, and functions of ours that do
    not say that they only compute."""

    def called(self, frame: FrameType) -> None:
        back = frame.f_back
        if back is not None and (back.f_code in self.codes or back.f_code is run.__code__):
            origin = origin_of(frame.f_globals)
            if (origin is not None and origin.is_ours
                    and (frame.f_code in declared_for_tracing.ACTING or not origin.only_computes)):
                self.refuse(Calls(frame.f_code.co_name))
        super().called(frame)


def run(fn: Callable[..., Any], operands: Sequence[Any]) -> Any:
    """Call it from a place that `Careful` knows."""
    return fn(*operands)


def attempt(rec: Recorder, fn: Callable[..., Any],
            operands: Sequence[Any]) -> tuple[Any, list[Node]]:
    """What a function gives that eager does not come to, and the nodes of it. It runs on the real
    operands, and is stopped before it writes to what was there before, draws random numbers, starts
    a backward or calls what a recording may not call; Python's state is put back."""
    before, stopped = Before(fn, operands), []
    if before.world is None:
        raise NotANode(before.why)

    def stop(reason: object) -> NoReturn:
        stopped.append(str(reason))
        raise Stop(reason)
    at = len(rec.nodes)
    around = rec.trying, rec.since           # tried code may come to another cond
    rec.trying, rec.since = stop, len(rec.arrays)
    try:
        with warnings.catch_warnings(record=True) as warned, Careful(before.world, stop):
            warnings.simplefilter("always")
            out = run(fn, operands)
    except (Stop, Exception) as e:
        stopped.append(str(e))
    finally:
        rec.trying, rec.since = around
        nodes = rec.nodes[at:]
        del rec.nodes[at:]
    stopped += before.restore()
    if stopped or warned:
        raise NotANode(stopped[0] if stopped else "it warns")
    return out, nodes
