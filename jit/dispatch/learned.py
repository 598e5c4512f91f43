"""What the calls of a function have taught: which of its numbers vary. By this calls are told
apart."""
from __future__ import annotations

import sys
from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from whet import dtypes
from whet.autograd import modes
from whet.cpu import pool
from whet.tensor_base import Base

from ..capture.varying_numbers import tensor_of, varies
from ..guards.outside_state import World
from ..guards.places import Change
from ..guards.signature import Given
from ..guards.slots import several

if TYPE_CHECKING:
    from ..replay.recording import Recording
    from ..report.names import Key
    from .invocation import Args, Kwargs

SEEN = 4                         # calls of which the numbers among the arguments are remembered


class Learned:
    """Numbers that vary are taken as they come; others are part of the key of a call, or guards."""

    def __init__(self) -> None:
        self.varying: set[Any] = set()       # places of arguments whose numbers vary
        self.loose: set[Any] = set()         # places in Python's state where they do
        self.fixed: set[Any] = set()         # of all of these, those that Python went on from
        self.seen: list[list[Any]] = []      # the numbers among the arguments of the last new kinds
        # somebody would notice a Number: none is taken as it comes
        self.numbers_are_known = False
        self.arrays_are_known = False        # the same of what stands for a NumPy array

    # ---- the key of a call -----------------------------------------------------------------------
    def key(self, args: Args, kwargs: Kwargs, given: Given | None = None) -> tuple[Key, Given]:
        """What tells calls apart, and what the call was given."""
        given = Given(arrays=not self.arrays_are_known) if given is None else given
        key: tuple[Hashable, Hashable]
        if self.varying:
            key = (tuple([self.flatten(given, i, x) for i, x in enumerate(args)]),
                   tuple([(k, self.flatten(given, k, v)) for k, v in kwargs.items()]))
        else:
            flatten = given.flatten
            key = (tuple([flatten(x) for x in args]),
                   tuple([(k, flatten(v)) for k, v in kwargs.items()]) if kwargs else None)
        return (*key, modes.state.flags, dtypes.get_default_dtype(), pool._threads), given

    def key_without_sizes(self, args: Args, kwargs: Kwargs) -> Key:
        """What tells calls apart whose tensors may have other sizes."""
        return self.key(args, kwargs, Given(sizes=False, arrays=not self.arrays_are_known))[0]

    def flatten(self, given: Given, place: Any, x: Any) -> Hashable:
        """How an argument at a place is described, where some are numbers that vary."""
        if place in self.varying and varies(x):
            t = tensor_of(x)
            given.number(place, t)
            return type(x), t._array.dtype
        return given.flatten(x)

    # ---- learning --------------------------------------------------------------------------------
    def learn(self, before: Iterable[Recording], is_new: bool, args: Args, kwargs: Kwargs) -> bool:
        """Look in what a call differs from those that were recorded `before`. True if some
        arguments are found to vary. `is_new`: is this the first call of its key?"""
        if self.numbers_are_known:
            return False
        for r in before:
            self.loosen(r.world.changes())
        found = len(self.varying)
        if is_new:
            self.compare_arguments([*enumerate(args), *kwargs.items()])
        return len(self.varying) > found

    def compare_arguments(self, named: list[Any]) -> None:
        """Arguments that are numbers vary where they alone differ from those of a call before."""
        for other in self.seen:
            if len(other) != len(named) or any(a != b for (a, _), (b, _) in zip(other, named)):
                continue
            apart = [(k, x, y) for (k, x), (_, y) in zip(other, named)
                     if type(y) in (int, float) and (type(x) is not type(y) or x != y)]
            if all(type(x) is type(y) for _, x, y in apart):
                self.varying.update(k for k, _, _ in apart if k not in self.fixed)
        self.seen.append([(k, x if type(x) in (int, float) else None) for k, x in named])
        del self.seen[:-SEEN]

    def loosen(self, changes: Iterable[Change]) -> None:
        """Numbers and tensors that were exchanged, and lists that grew, may be any from now on."""
        if self.numbers_are_known:
            return
        for c in changes:
            if c.grows() and (id(c.owner), None) not in self.fixed:
                self.loose.add((id(c.owner), None))
            elif c.name is not None and _may_be_exchanged(c.before, c.now):
                self.loose.add(c.key)
        self.loose -= self.fixed

    def expect(self, world: World) -> None:
        """Options of optimizers that schedules change may be any from now on."""
        if self.numbers_are_known or (optim := sys.modules.get("whet.optim")) is None:
            return
        for x in world.seen.values():
            if isinstance(x, optim.Optimizer):
                self.loose |= {(id(group), name) for group in x.param_groups
                               for name in x.scheduled if varies(group.get(name))}
        self.loose -= self.fixed

    def fix(self, places: Iterable[Any]) -> None:
        """Python went on from what was at these places: it is a guard from now on."""
        self.fixed.update(places)
        self.varying -= self.fixed
        self.loose -= self.fixed

    def fix_numbers(self) -> None:
        """Somebody would notice a Number: none is taken as it comes."""
        self.numbers_are_known = True
        self.varying, self.loose = set(), set()


def _may_be_exchanged(before: Any, now: Any) -> bool:
    if varies(now) or isinstance(now, Base | np.ndarray):
        # (sums begin as 0, or as None)
        return type(before) is type(now) or before is None or varies(before)
    return several(before) and several(now) and [*map(type, before)] == [*map(type, now)]
