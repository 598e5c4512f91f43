"""Sizes that may differ, found by trying: `export(dynamic=True)`.

A run shows at once that a size cannot be another one: a layer has a fixed number of features. So
each size of each input is tried alone, in one run. Sizes that must stay equal to others fail alone
and pass together. What passed is exported as a whole; where that fails, as Python decides by a
size, less is tried."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from ..guards.sizes import Dim
from .dims import AUTO, Dims, Values, axes_of

STEPS = 1, 2, 4, 8, 16, 32       # a size may have to be a multiple of these
FAR = 2, 64                      # up to this many times the size, and more, a largest is looked for
Place = tuple[int, int]          # the number of an input, and of its dimension
Passes = Callable[[Dims, Values], bool]      # can the function be recorded at these sizes?


def is_automatic(dynamic: Any) -> bool:
    """Does `dynamic=` leave it open which sizes may differ?"""
    return dynamic is True or isinstance(dynamic, Mapping) and any(
        d is AUTO for name, axes in dynamic.items() for d in axes_of(name, axes).values())


@dataclass(frozen=True)
class Bounds:
    """Sizes that pass: multiples of a number, up to a largest one if there is any."""
    multiple: int
    max: int | None

    def and_those(self, other: Bounds) -> Bounds:
        """The sizes that pass here and there."""
        largest = [m for m in (self.max, other.max) if m is not None]
        return Bounds(max(self.multiple, other.multiple), min(largest, default=None))


Groups: TypeAlias = "dict[tuple[Place, ...], Bounds]"    # dimensions that are always equal


class AutomaticDims:
    """The sizes of the inputs that may differ. `declared` is what `dynamic=` says of them."""

    def __init__(self, dynamic: Any, names: Sequence[str], arrays: Sequence[Any],
                 passes: Passes) -> None:
        self.names, self.arrays, self.passes = list(names), arrays, passes
        self.declared = {name: {} for name in names} if dynamic is True else {
            name: {k: d for k, d in axes_of(name, axes).items() if d is not AUTO}
            for name, axes in dynamic.items()}
        self.open = [
            (i, axis) for i, name in enumerate(names) for axis in range(arrays[i].ndim)
            if dynamic is True
            or AUTO in (found := axes_of(name, dynamic.get(name))).values()
            and AUTO in (found.get(axis), found.get(axis - arrays[i].ndim))]

    def attempts(self) -> Iterator[dict[str, dict[int, Any]]]:
        """What `dynamic=` may be, from the most to the least."""
        groups: Groups = {(p,): b for p in self.open if (b := self.bounds((p,)))}
        groups.update(self.together([p for p in self.open if (p,) not in groups]))
        tied = self.tied(groups)
        first = {g: b for g, b in tied.items() if any(axis == 0 for _, axis in g)}
        others = {g: b for g, b in tied.items() if g not in first}
        said = [self.as_dynamic(x) for x in (groups, tied, first, others, {})]
        yield from (x for k, x in enumerate(said) if x not in said[:k])

    def size(self, place: Place) -> int:
        """A size in the example."""
        i, axis = place
        found: int = self.arrays[i].shape[axis]
        return found

    def pass_at(self, group: Sequence[Place], n: int) -> bool:
        """Can some dimensions, which are equal in the example, have another size?"""
        places: dict[int, dict[int, int]] = {}
        for i, axis in group:
            places.setdefault(i, {})[axis] = 0
        return self.passes(Dims([Dim("n")], places, (self.size(group[0]),)), (n,))

    def bounds(self, group: Sequence[Place]) -> Bounds | None:
        """Which sizes some dimensions may have at once; None where no other passes."""
        n = self.size(group[0])
        step = next((k for k in STEPS if n and n % k == 0 and self.pass_at(group, n + k)), None)
        if step is None:
            return None
        low, high = n // step + 1, FAR[0] * n // step + FAR[1]      # in steps
        if self.pass_at(group, high * step):
            return Bounds(step, None)
        while high - low > 1:
            between = (low + high) // 2
            low, high = (between, high) if self.pass_at(group, between * step) else (low, between)
        return Bounds(step, low * step)

    def together(self, fixed: Sequence[Place]) -> Groups:
        """Sizes that cannot differ alone, but with equal ones of the example."""
        found: Groups = {}
        left = sorted(fixed, key=self.size)
        for _, equal in itertools.groupby(left, self.size):
            open_ = list(equal)
            first = [p for p in open_ if p[1] == 0]
            for group in open_, first, *itertools.combinations(open_, 2):
                if len(group) > 1 and set(group) <= set(open_) and (b := self.bounds(group)):
                    found[tuple(group)] = b
                    open_ = [p for p in open_ if p not in group]
        return found

    def tied(self, groups: Groups) -> Groups:
        """Equal sizes in the same place of several inputs as one dimension, as of a batch."""
        found: dict[tuple[int, int], tuple[tuple[Place, ...], Bounds]] = {}
        for group, bounds in groups.items():
            key = group[0][1], self.size(group[0])
            others, theirs = found.get(key, ((), bounds))
            found[key] = (*others, *group), bounds.and_those(theirs)
        return dict(found.values())

    def as_dynamic(self, groups: Groups) -> dict[str, dict[int, Any]]:
        """Some groups of sizes as `dynamic=` has them, beside what was declared."""
        made = {name: dict(axes) for name, axes in self.declared.items()}
        for group, b in groups.items():
            dim = Dim(self.name(group, groups), max=b.max, multiple=b.multiple)
            for i, axis in group:
                made.setdefault(self.names[i], {})[axis] = dim
        return {name: axes for name, axes in made.items() if axes}

    def name(self, group: Sequence[Place], groups: Groups) -> str:
        """A name for a dimension: "batch" where one alone is the first of inputs."""
        if all(axis == 0 for _, axis in group) and sum(
                any(axis == 0 for _, axis in g) for g in groups) == 1:
            return "batch"
        i, axis = group[0]
        return re.sub(r"\W", "_", f"{self.names[i]}_{axis}")
