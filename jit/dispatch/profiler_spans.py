"""Tells a profiler what traced functions do (see `profiler/hooks.py`).

Each call becomes a span. Within it are the search for a recording that fits, and a recording or a
replay. A replay has the launches of each node, named by the ops that are fused in it. For that,
launches are made one by one, not by machine code in one go. If the listener wants no kernels,
machine code makes replays as always, and each is a span without parts.
"""
from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

from whet.cpu import native
from whet.profiler.hooks import Exchanged, clock

from ..guards.tensor_guards import TensorGuards
from ..machine_code import native_entry, native_runner
from ..program import launch_program
from ..program.launch_lists import LaunchList
from ..program.launch_program import LaunchProgram
from ..program.program import Program
from ..report.summary import label
from .calls import Calls
from .recording_attempts import Attempts


class Parts(NamedTuple):
    """The launches of each node in a list: (the word where they begin, the ops, the user's
    line)."""

    of_nodes: list[tuple[int, str, str]]

    @classmethod
    def of(cls, one: LaunchList) -> Parts:
        """The parts of one list of launches. What belongs to no node comes first."""
        found = [(at, label(node), node.line) for at, node in one.parts]
        return cls(found if found and not found[0][0] else [(0, "launches", ""), *found])


class _Running(threading.local):
    """The program that runs on this thread: the parts of its lists by their addresses, and the word
    in which a check notes that it ended one."""

    lists: dict[int, Parts] = {}
    stopped: Any = None


def attach(listener: Any) -> Callable[[], None]:
    """Note what traced functions do; returns what ends it."""
    undo = [
        Exchanged(Calls, "__call__", _named_call(listener, Calls.__call__)),
        Exchanged(Attempts, "record_first", _recording(listener, Attempts.record_first)),
        Exchanged(Attempts, "record_and_compare",
                  _recording(listener, Attempts.record_and_compare)),
        Exchanged(TensorGuards, "fit", _span(listener, TensorGuards.fit, "guard", "guards")),
    ]
    if native_entry.enter is not None:
        undo.append(Exchanged(native_entry, "enter", _entered(listener, native_entry.enter)))
    if listener.kernels:
        running, machine = _Running(), native_runner.machine
        undo += [
            Exchanged(Program, "__call__", _replay(listener, running, Program.__call__))]
    if listener.kernels and native.enabled():
        timed = _launches(listener, running, machine()[1])
        undo.append(
            Exchanged(launch_program, "machine", lambda: (machine()[0], timed, machine()[2])))

    def end() -> None:
        while undo:
            undo.pop()()
    return end


def _span(listener: Any, function: Callable[..., Any], kind: str, name: str) -> Any:
    def timed(*args: Any, **kwargs: Any) -> Any:
        start = clock()
        try:
            return function(*args, **kwargs)
        finally:
            listener.span(kind, name, start, clock())
    return timed


def _named_call(listener: Any, call: Callable[..., Any]) -> Any:
    def timed(calls: Calls, args: Any, kwargs: Any) -> Any:
        start = clock()
        try:
            return call(calls, args, kwargs)
        finally:
            listener.span("traced", f"traced {calls.subject.name}", start, clock())
    return timed


def _recording(listener: Any, record: Callable[..., Any]) -> Any:
    """A recording: what is launched to plan it, or to prove it, is a part of it."""
    def timed(*args: Any) -> Any:
        start, before = clock(), listener.busy.launches
        listener.busy.launches = True
        try:
            return record(*args)
        finally:
            listener.busy.launches = before
            listener.span("record", "recording", start, clock())
    return timed


def _entered(listener: Any, enter: Callable[..., Any]) -> Any:
    """Tables in machine code are passed over, or run as a whole."""
    def passed(*call: Any) -> Any:
        return native_entry.MISSED

    def timed(*call: Any) -> Any:
        start = clock()
        out = listener.as_without(enter, *call)
        if out is not native_entry.MISSED:
            listener.span("replay", "replay", start, clock())
        return out
    return passed if listener.kernels else timed


def _replay(listener: Any, running: _Running, run: Callable[..., Any]) -> Any:
    known: weakref.WeakKeyDictionary[Any, dict[int, Parts]] = weakref.WeakKeyDictionary()

    def timed(program: Any, *args: Any) -> Any:
        before, start = (running.lists, running.stopped), clock()
        if isinstance(program, LaunchProgram):
            if program not in known:
                known[program] = {one.address: Parts.of(one)
                                  for one in program.steps if isinstance(one, LaunchList)}
            running.lists, running.stopped = known[program], program.stopped
        try:
            return run(program, *args)
        finally:
            running.lists, running.stopped = before
            listener.span("replay", "replay", start, clock())
    return timed


def _launches(listener: Any, running: _Running, run: Callable[..., Any]) -> Any:
    """A list of launches, node by node. Nothing here may fail between two of them."""
    def timed(address: int, words: int, long: bool, *arrays: Any) -> None:
        parts = running.lists.get(address)
        if parts is None or listener.busy.launches:
            run(address, words, long, *arrays)
            return
        ends = [at for at, _, _ in parts.of_nodes[1:]] + [words]
        for (at, name, line), end in zip(parts.of_nodes, ends, strict=True):
            if at < end and not running.stopped.value:
                start = clock()
                run(address + 8 * at, end - at, long, *arrays)
                listener.span("kernel", name, start, clock(), line)
    return timed
