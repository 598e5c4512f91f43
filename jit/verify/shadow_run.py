"""Runs a program without writing to any of its inputs.

An input that it writes to is copied just before the first launch that does so. The copy is freed
after the last launch that needs it, and so is memory for results. Digests of their contents are
left. Large copies use those parts of the arena that are unused meanwhile.
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from whet.cpu import memory
from whet.strided_memory import strided

from ..program.launch_lists import ARENA
from ..program.launch_program import LaunchProgram
from ..program.list_lifetimes import Window, Windows
from ..values.same_bits import digest, same_bits, template
from .shrinking_arena import ShrinkingArena

if TYPE_CHECKING:
    from ..program.program import Program

Times = dict[int, list[Window]]


def can_shadow(program: Program) -> bool:
    """Can a program be run like this? It must be one list of launches whose windows are known, and
    no named rewrite may have changed its bits."""
    return (isinstance(program, LaunchProgram) and program.windows is not None
            and program.launches_and_views is not None
            and program.rewritten is None
            and all(t.dtype == program.arrays[root].dtype for root, _, t in program.shown.values()))


class ShadowRun:
    """`inputs`: the program's inputs, as they are before the call. `wanted`: values that get
    digests, beside those that are written to. `others`: by value, arrays that may have the same
    bits as what the program makes. Where they do, they replace it, which saves memory."""

    def __init__(self, program: Program, inputs: Sequence[Any], wanted: Iterable[int],
                 others: Mapping[int, Any]) -> None:
        assert isinstance(program, LaunchProgram) and program.windows is not None
        self.program, self.inputs, self.others = program, inputs, others
        self.windows: Windows = program.windows
        self.digests: dict[int, int] = {}
        self.values: dict[int, list[int]] = {w.value: [w.value] for w in self.windows.changed}
        self.latest = {w.value: w for w in (*self.windows.changed, *self.windows.made)}
        self.lasting: list[int] = []         # wanted values that are in no window
        made = {w.value for w in self.windows.made}
        for n in wanted:
            root = program.shown[n][0] if n in program.shown else n
            if root in self.values or root in made:
                self.values.setdefault(root, []).append(n)
            else:
                self.lasting.append(n)

    def run(self) -> dict[int, int]:
        """The digests by value; raises Miss where the call would go another way."""
        p, launches = self.program, self.program.launches_and_views
        assert launches is not None
        self.env = env = p.env.copy()
        self.arena = ShrinkingArena(p.arena, self.windows.lodgers)
        for n, a in zip(p.outside, self.inputs, strict=True):
            env[n] = a
        known = {*p.outside, *(w.value for w in self.windows.made)}
        for n in p.fresh:
            if n not in known:
                env[n] = template(p.arrays[n])
        begins, finals, ends = self.times()
        self.place([w for ws in begins.values() for w in ws])
        env[ARENA] = self.arena.base
        self.inside: set[Window] = set()     # what was placed in the arena and is there
        if p.draws is not None:
            p.draws.take()
        for at, end in pairwise(sorted({0, *begins, *finals, *ends, launches.words})):
            if not self.inside and self.arena.shrink(at):
                env[ARENA] = self.arena.base
            for w in begins.get(at, ()):
                self.begin(w)
            p.launch(launches.address + 8 * at, end - at, launches.long,
                     [env[r] for r in launches.values])
            for w in finals.get(end, ()):
                self.take_equal(w)
            for w in ends.get(end, ()):
                self.end(w)
        self.digests.update({n: digest(self.array(n)) for n in self.lasting})
        return self.digests

    def times(self) -> tuple[Times, Times, Times]:
        """The windows by three times: when they begin, when they are written for the last time, and
        when they end."""
        begins: Times = {}
        finals: Times = {}
        ends: Times = {}
        for w in (*self.windows.changed, *self.windows.made):
            for times, at in (begins, w.first), (finals, w.final), (ends, w.last):
                times.setdefault(at, []).append(w)
        return begins, finals, ends

    def place(self, windows: Iterable[Window]) -> None:
        """Find room in the arena for large values, the largest first. `places`: the byte at which
        each begins."""
        self.places: dict[Window, int] = {}
        types = self.program.arrays
        for w in sorted(windows, key=lambda w: -types[w.value].nbytes):
            t = types[w.value]
            at = (self.arena.place(w, t.nbytes)
                  if t.nbytes >= memory.SMALLEST and t.contiguous else None)
            if at is not None:
                self.places[w] = at

    # ---- one window ------------------------------------------------------------------------------
    def begin(self, w: Window) -> None:
        """Make memory for a value. Where the program is given the value, it is a copy."""
        t, was = self.program.arrays[w.value], self.env[w.value]
        made = (np.ndarray(t.shape, t.dtype, self.arena.block, self.places[w] - self.arena.begin,
                           t.strides) if w in self.places else template(t))
        if w in self.places:
            self.inside.add(w)
        if was is not None:
            np.copyto(made, was)
        self.env[w.value] = made

    def take_equal(self, w: Window) -> None:
        """Called after the last write to a value: replace it by another array with the same
        bits, if there is one."""
        other, a = self.others.get(w.value), self.env[w.value]
        if other is not None and other.strides == a.strides and same_bits(other, a):
            self.env[w.value] = other

    def end(self, w: Window) -> None:
        """Called when neither a value nor the previous contents of its memory are needed any
        more."""
        if w is self.latest[w.value]:
            self.digests.update({n: digest(self.array(n)) for n in self.values.get(w.value, ())})
        self.env[w.value] = None
        self.inside.discard(w)

    def array(self, n: int) -> Any:
        """The array of a value."""
        if n not in self.program.shown:
            return self.env[n]
        root, offset, t = self.program.shown[n]
        size = t.dtype.itemsize
        return strided(self.env[root], t.shape, [s // size for s in t.strides], offset // size)
