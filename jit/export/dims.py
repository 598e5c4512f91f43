"""Sizes that differ between calls: which they are, their bounds, and expressions of them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Any

import numpy as np
from whet.autograd.modes import warn
from whet.ir.sample_sizes import points

from ..guards.sizes import Dim
from .errors import ExportError, PreconditionError

AUTO: Any = object()  # in place of a `Dim`: see automatic_dims.py
Values = tuple[int, ...]  # a size for each dimension, in order
STEPS = (1, 3, 7), (3, 1, 4), (5, 8, 1)  # how far sizes that are tried are from the example's
EIGHTHS = (3, 5, 7), (7, 3, 5), (5, 7, 3)  # of the example's sizes, by which others are larger
FIT = 3, 5  # and where numbers are known at any size, and expressions of them are looked for
HOLD = 8, 21  # what was found is held to the numbers at these
NEAR, FAR = 5, 4  # how far around some sizes ops are asked, and from a size without a largest
MOST = 128  # sizes that are all tried, where Python depends on them


class Expression:
    """`factor * n0**p0 * n1**p1 ... + offset`, of the sizes of all dimensions."""

    __slots__ = ("factor", "offset", "powers")

    def __init__(self, factor: int, powers: Sequence[int], offset: int) -> None:
        self.factor, self.powers, self.offset = factor, tuple(powers), offset

    def at(self, values: Sequence[int]) -> int:
        """The value of the expression where the dimensions have these sizes."""
        product: int = math.prod([n for n, p in zip(values, self.powers) for _ in range(p)])
        return self.factor * product + self.offset

    def text(self, names: Sequence[str]) -> str:
        """How people write it."""
        parts = [name for name, p in zip(names, self.powers) for _ in range(p)]
        said = "*".join([*([str(self.factor)] if self.factor != 1 or not parts else []), *parts])
        return said if not self.offset else f"{said}{self.offset:+d}"


def fitted(samples: Sequence[tuple[Values, int]]) -> Expression | None:
    """The expression that gives these numbers at these sizes, the simplest first; None where none
    does."""
    count = len(samples[0][0])
    for powers in sorted(itertools.product(range(3), repeat=count), key=sum):
        if not any(powers):
            continue
        terms = [math.prod(n**p for n, p in zip(v, powers)) for v, _ in samples]
        there = next((i for i, t in enumerate(terms) if t != terms[0]), None)
        if there is None:
            continue
        rise, run = samples[there][1] - samples[0][1], terms[there] - terms[0]
        if rise % run:
            continue
        factor = rise // run
        e = Expression(factor, powers, samples[0][1] - factor * terms[0])
        # products of several are counts of elements, or of degrees of freedom
        if (sum(powers) == 1 or -1 <= e.offset <= 1) and all(e.at(v) == n for v, n in samples):
            return e
    return None


class Dims:
    """The dimensions that differ between calls. `places`: for each input with some, axis -> number
    of the dimension. `example`: the dimensions' sizes in the example call."""

    def __init__(
        self, dims: Sequence[Dim], places: Mapping[int, Mapping[int, int]], example: Values
    ) -> None:
        self.dims, self.example = list(dims), tuple(example)
        self.places = {i: dict(axes) for i, axes in places.items()}

    @property
    def names(self) -> list[str]:
        """Their names."""
        return [d.name for d in self.dims]

    def __contains__(self, values: Values) -> bool:
        """Are these sizes within the bounds?"""
        return all(n in d for d, n in zip(self.dims, values))

    def in_words(self, values: Values) -> str:
        """Sizes in words."""
        return ", ".join(f"{d.name}={n}" for d, n in zip(self.dims, values))

    def of(self, names: Sequence[str], arrays: Sequence[Any]) -> Values:
        """The sizes of the dimensions in a call. Raises PreconditionError where inputs disagree, or
        a size is out of bounds."""
        found: list[int | None] = [None] * len(self.dims)
        for i, axes in self.places.items():
            for axis, k in axes.items():
                if axis >= arrays[i].ndim:
                    raise PreconditionError(f"input `{names[i]}` has no dimension {axis}")
                n, d = arrays[i].shape[axis], self.dims[k]
                if n not in d:
                    raise PreconditionError(
                        f"input `{names[i]}` has {n} in dimension {axis}; {d.name} is {bounds(d)}"
                    )
                if found[k] not in (None, n):
                    raise PreconditionError(
                        f"{d.name} is {found[k]} and {n}: the inputs do not agree"
                    )
                found[k] = n
        return tuple(n for n in found if n is not None)

    def shape(self, i: int, shape: Sequence[int], values: Values) -> tuple[int, ...]:
        """The sizes of an input, where those that differ have these values."""
        axes = self.places.get(i, {})
        return tuple(values[axes[k]] if k in axes else n for k, n in enumerate(shape))

    def resized(self, i: int, a: Any, values: Values) -> Any:
        """An input's array with these sizes. Where it grows, each of its elements is repeated: what
        is in order stays so. Whole numbers may be places in a dimension, or lengths of it: they
        stay within it."""
        for axis, k in self.places.get(i, {}).items():
            if not a.shape[axis]:
                a = np.zeros((*a.shape[:axis], 1, *a.shape[axis + 1:]), a.dtype)
            n, was = values[k], a.shape[axis]
            a = np.take(a, np.arange(n) * was // n if n > was else np.arange(n), axis)
        if a.dtype.kind in "iu" and a.size:
            for was, n in zip(self.example, values):
                if 0 < n < was and n <= a.max() <= was:
                    a = np.minimum(a, a.dtype.type(n if a.max() == was else n - 1))
        return np.ascontiguousarray(a)

    def tried(self) -> list[Values]:
        """The sizes at which the function is recorded, beside those of the example."""
        out = []
        for k in range(len(STEPS[0])):
            steps = itertools.cycle(row[k] for row in STEPS)
            out.append(tuple(near(d, n + s * d.multiple)
                             for d, n, s in zip(self.dims, self.example, steps)))
        # far away parts of sizes are others that are the same nearby, as the windows of a sound
        out.append(tuple(near(d, 2 * n + 1) for d, n in zip(self.dims, self.example)))
        out.append(tuple(n if d.max is None else d.max for d, n in zip(self.dims, self.example)))
        out += self.alone_and_far()
        out += self.distinguishing([self.example, *out])
        return [v for v in dict.fromkeys(out) if v != self.example]

    def alone_and_far(self) -> list[Values]:
        """Sizes of which one alone is far from the example's. Else `h // 16` of a square image
        could be `w // 16`: both are the same at sizes nearby."""
        if len(self.dims) < 2:
            return []
        return [(*self.example[:k], near(d, 2 * n + 1), *self.example[k + 1:])
                for k, (d, n) in enumerate(zip(self.dims, self.example))]

    def held_out(self) -> Iterator[Values]:
        """Sizes to which expressions are held that were found in runs at other sizes: each
        dimension grows by a share of its own."""
        for k in range(len(EIGHTHS[0])):
            shares = itertools.cycle(row[k] for row in EIGHTHS)
            values = tuple(near(d, n + (c * n // (8 * d.multiple) + k + 1) * d.multiple)
                           for d, n, c in zip(self.dims, self.example, shares))
            if values != self.example:
                yield values

    def distinguishing(self, some: Sequence[Values]) -> Iterator[Values]:
        """Sizes for each dimension that is as far from another one in all of some sizes: it moves
        alone. Else it is unknown of which of the two a number is an expression."""
        columns = list(zip(*some))
        for i, k in itertools.combinations(range(len(self.dims)), 2):
            d, n = self.dims[k], self.example[k]
            if len({a - b for a, b in zip(columns[i], columns[k])}) == 1:
                yield (*self.example[:k], another(d, n, d.multiple), *self.example[k + 1:])

    def to_fit(self) -> list[Values]:
        """The sizes from which expressions are found, the example's first, and then sizes that test
        these expressions."""
        second, third = (
            [another(d, n, far) for d, n in zip(self.dims, self.example)] for far in FIT
        )
        held = [
            tuple(another(d, n, far + k) for k, (d, n) in enumerate(zip(self.dims, self.example)))
            for far in HOLD
        ]
        far = tuple(another(d, n, n + 1) for d, n in zip(self.dims, self.example))
        return [*points(self.example, second, third), far, *held]

    def around(self) -> Iterator[Values]:
        """Sizes at which ops are asked whether what was found holds: small ones, those beside the
        example's and the largest, each with the example's others."""
        for k, d in enumerate(self.dims):
            n, most = self.example[k], FAR * max(self.example[k], NEAR) if d.max is None else d.max
            for m in sorted({m + step * d.multiple for m in (d.min, 2 * d.multiple, n, most)
                             for step in range(-2, NEAR)}):
                if m in d and m > 1:
                    yield (*self.example[:k], m, *self.example[k + 1:])

    def raise_least(self, k: int, least: int) -> None:
        """Let a dimension begin at a larger size."""
        d = self.dims[k]
        self.dims[k] = Dim(d.name, min=least, max=d.max, multiple=d.multiple)

    def tell_raised(self, before: Sequence[Dim]) -> None:
        """Warn of dimensions whose least size had to be raised above the declared one. A declared 0
        means that none was given."""
        for d, now in zip(before, self.dims):
            if 0 < d.min < now.min:
                warn(f"export(): {d.name} is at least {now.min}, not {d.min}: the function does "
                     "other things at smaller sizes")

    def all(self, most: int = MOST, among: Set[int] | None = None) -> Iterator[Values] | None:
        """All sizes within the bounds; None where these are more than `most`. Of the dimensions
        that are not `among` these, if that is given, the example's size stands for those from 2
        on."""
        ranges: list[Sequence[int]] = []
        for k, d in enumerate(self.dims):
            if among is not None and k not in among:
                ranges.append([n for n in (0, 1) if n in d and n != self.example[k]]
                              + [self.example[k]])
            elif d.max is None:
                return None
            else:
                ranges.append(sizes_of(d))
        return itertools.product(*ranges) if math.prod(map(len, ranges)) <= most else None

    def why_not_all(self, among: Set[int] | None = None) -> str:
        """What to do where there are too many sizes to record each of them, of all dimensions or
        `among` some."""
        dims = self.dims if among is None else [self.dims[k] for k in sorted(among)]
        endless = [d.name for d in dims if d.max is None]
        if endless:
            return f"give {' and '.join(endless)} a max, so that there are at most {MOST} sizes"
        counts = [len(sizes_of(d)) for d in dims if d.max is not None]
        return (f"there are {math.prod(counts)} sizes within the bounds, and {MOST} may be: "
                "narrow them")


def sizes_of(d: Dim) -> range:
    """All sizes within the bounds of a dimension that has a largest one."""
    assert d.max is not None
    return range(d.min, d.max + 1, d.multiple)


def near(d: Dim, n: int) -> int:
    """The size itself, or else one within the bounds. It is at least 2 where they allow it, as 0
    and 1 behave in their own ways."""
    if d.max is None:
        return n + -n % d.multiple
    least = d.min if d.min > 1 or d.max < 2 else 2 + -2 % d.multiple
    count = (d.max - least) // d.multiple + 1
    at = -(-(n - least) // d.multiple)
    return least + at % count * d.multiple if n > d.max or n % d.multiple else n


def another(d: Dim, n: int, step: int) -> int:
    """A size within the bounds that is larger than n by about `step`. It differs from n where the
    bounds allow it, because the same size twice shows nothing new."""
    found = near(d, n + step)
    return found if found != n else near(d, n + step + d.multiple)


def bounds(d: Dim) -> str:
    """The bounds of a dimension in words."""
    within = f"at least {d.min}" if d.max is None else f"from {d.min} to {d.max}"
    return within if d.multiple == 1 else f"a multiple of {d.multiple}, {within}"


def declared(dynamic: Any, names: Sequence[str], arrays: Sequence[Any]) -> Dims | None:
    """What `export(dynamic=...)` says of the inputs of these names; None where no size differs."""
    if not dynamic:
        return None
    if not isinstance(dynamic, Mapping):
        raise TypeError(
            "export(): dynamic is a dict from inputs' names to dimensions, "
            f"not {type(dynamic).__name__}"
        )
    said = {d.name: d for axes in dynamic.values() for d in dims_among(axes)}
    dims: dict[str, Dim] = {}
    places: dict[int, dict[int, int]] = {}
    example: dict[str, int] = {}
    for name, axes in dynamic.items():
        if name not in names:
            raise ValueError(f"export(): dynamic names {name!r}; the inputs are {', '.join(names)}")
        i = list(names).index(name)
        for axis, d in axes_of(name, axes).items():
            if not -arrays[i].ndim <= axis < arrays[i].ndim:
                raise ValueError(f"export(): {name} has no dimension {axis}")
            dim = said.get(d) or Dim(d) if isinstance(d, str) else d
            if dims.setdefault(dim.name, dim) is not dim and repr(dims[dim.name]) != repr(dim):
                raise ValueError(
                    f"export(): {dim.name} is declared in two ways: {dims[dim.name]} and {dim}"
                )
            n = arrays[i].shape[axis]
            if n not in dim:
                raise ValueError(
                    f"export(): {name} has {n} in dimension {axis}; {dim.name} is {bounds(dim)}"
                )
            if example.setdefault(dim.name, n) != n:
                raise ValueError(
                    f"export(): {dim.name} is {example[dim.name]} and {n} in the example"
                )
            places.setdefault(i, {})[axis % arrays[i].ndim] = list(dims).index(dim.name)
    return Dims(list(dims.values()), places, tuple(example[d] for d in dims))


def dims_among(axes: Any) -> list[Dim]:
    """The dimensions of one input that are declared: texts may name them at others."""
    held = axes.values() if isinstance(axes, Mapping) else axes
    return [d for d in held if isinstance(d, Dim)] if isinstance(held, Iterable) else []


def axes_of(name: str, axes: Any) -> dict[int, Any]:
    """The dimensions of one input: a dict, or a tuple with None for those that do not differ."""
    if axes is None:
        return {}
    found = (
        axes
        if isinstance(axes, Mapping)
        else dict(enumerate(axes))
        if isinstance(axes, tuple | list)
        else None
    )
    if found is None or not all(
        type(k) is int and (d is None or d is AUTO or isinstance(d, str | Dim))
        for k, d in found.items()
    ):
        raise TypeError(
            f"export(): of {name}, expected {{dimension: Dim}} or a tuple of names and None, "
            f"got {axes!r}"
        )
    return {k: d for k, d in found.items() if d is not None}


def disagree(what: str, line: str, dims: Dims, a: Values, b: Values) -> ExportError:
    """The error for what is not the same function of all sizes."""
    where = f" ({line})" if line else ""
    return ExportError(
        f"not one graph for all sizes: at {dims.in_words(a)} and at {dims.in_words(b)} "
        f"{what}{where}.\n"
        "  Leave the size out of dynamic=, give it bounds, as in Dim(\"n\", max=64), or write it "
        "so that the size decides nothing."
    )
