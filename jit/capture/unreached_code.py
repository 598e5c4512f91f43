"""Runs code that a recorded run did not reach, on the side.

The code runs on the real operands, and is stopped before it does anything but compute."""
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
from ..guards.outside_state import world_of
from ..guards.visitors import Unwatchable
from ..refusals.reasons import Calls
from ..values.code_origin import origin_of
from .purity import Watch, resume
from .tried_code import TriedCode

if TYPE_CHECKING:
    from whet.ir.graph import Node

    from ..guards.outside_state import World
    from .recorder import Recorder

# what a tensor is
_facts = attrgetter("_array", "_grad", "_rg", "_node", "_extra", "_base", "_cell")


class NotANode(Exception):
    """The recorded nodes cannot become one node."""


class Stop(BaseException):
    """The tried code was about to do more than compute."""


class unseen:
    """A context in which nothing is recorded or watched."""

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
    """What some functions reach, as it is before they run. `why`: why that is unknown."""

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
        """Raise NotANode if something was changed: the other branch, or another number of rounds,
        would not have changed it."""
        if self.world is None:
            raise NotANode(self.why)
        if any(not _alike(t, was) for t, was in self.looks):
            raise NotANode("it changes what a tensor is")
        if self.world.changes():
            raise NotANode("it changes Python's state")
        if CallSettings.now() != self.settings:
            raise NotANode("it changes a setting")

    def restore(self) -> list[str]:
        """Restore everything, where possible; returns in words what was changed."""
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
    """Is a tensor unchanged? It may have got a version cell since then: that is no change."""
    *now, cell = _facts(t)
    return all(map(is_, now, was)) and (was[-1] is None or cell is was[-1])


class Careful(Watch):
    """A watch that stops what it would refuse before it happens. It also stops functions of ours
    that are not declared to only compute."""

    def called(self, frame: FrameType) -> None:
        back = frame.f_back
        if back is not None and (back.f_code in self.codes or back.f_code is run.__code__):
            origin = origin_of(frame.f_globals)
            if (origin is not None and origin.is_ours
                    and (frame.f_code in declared_for_tracing.ACTING or not origin.only_computes)):
                self.refuse(Calls(frame.f_code.co_name))
        super().called(frame)


def run(fn: Callable[..., Any], operands: Sequence[Any]) -> Any:
    """Call a function from a frame that `Careful` knows."""
    return fn(*operands)


def attempt(rec: Recorder, fn: Callable[..., Any],
            operands: Sequence[Any]) -> tuple[Any, list[Node]]:
    """Try a function that eager mode does not reach: its result, and its nodes. It runs on the real
    operands. It is stopped before it writes to what existed before, draws random numbers, starts a
    backward, or calls what a recording may not call. Python's state is restored."""
    before, stopped = Before(fn, operands), []
    if before.world is None:
        raise NotANode(before.why)

    def stop(reason: object) -> NoReturn:
        stopped.append(str(reason))
        raise Stop(reason)
    at = len(rec.nodes)
    around = rec.tried_code                       # tried code may come to another cond
    rec.tried_code = TriedCode(stop, len(rec.values.arrays))
    try:
        with warnings.catch_warnings(record=True) as warned, Careful(before.world, stop):
            warnings.simplefilter("always")
            out = run(fn, operands)
    except (Stop, Exception) as e:
        stopped.append(str(e))
    finally:
        rec.tried_code = around
        nodes = rec.nodes[at:]
        del rec.nodes[at:]
    stopped += before.restore()
    if stopped or warned:
        raise NotANode(stopped[0] if stopped else "it warns")
    return out, nodes
