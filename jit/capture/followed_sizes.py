"""Sizes that the user's code is told, followed to where they go.

What `x.shape` gives during a recorded run are `Number`s (see varying_numbers.py): what Python
computes of them is recorded, and what it goes on from is a guard. Where one becomes a size of an
op, or part of an index, it is a `Whole` on its way through the framework: an int that knows its
value of the run. The op's node has the plain int, and `at` says which value it was. A Whole that
the framework computes with, or that comes to no op, is a guard like any other number.
"""
from __future__ import annotations

import operator
import sys
import weakref
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from whet import indexing
from whet.autograd import modes
from whet.ir.graph import Ref
from whet.ops.python import size_of
from whet.tensor import Size

from ..guards.origin import ours
from .refused import Refused
from .varying_numbers import SAFE, Number, live, plain, tensor_behind, value_of

if TYPE_CHECKING:
    from whet.ir.graph import Node
    from whet.ir.op import Op
    from whet.tensor_base import Base

    from .recorder import Recorder

# where an attribute of a node is such a number: `(name, place in it, ...)` -> the value
Found: TypeAlias = dict[tuple[Any, ...], int]


class Whole(int):
    """See above: value `n` of what `rec` records."""

    n: int
    rec: weakref.ref[Recorder]
    arrived: bool                            # has it come to an op?

    def __new__(cls, size: int, n: int, rec: Recorder) -> Whole:
        self = int.__new__(cls, size)
        self.n, self.rec, self.arrived = n, weakref.ref(rec), False
        return self

    def __reduce__(self) -> tuple[type[int], tuple[int]]:
        return int, (int(self),)

    def computed(self) -> None:
        """The framework computes with it: a replay needs the same."""
        rec = self.rec()
        if (rec is not None and not rec.running and rec in modes.state.observers
                and sys._getframe(2).f_code not in indexing.CHECKS):
            rec.followed.pin(rec, self.n)


def _computing(name: str) -> None:
    plain = getattr(int, name)

    def method(self: Whole, *others: Any) -> Any:
        self.computed()
        return plain(self, *others)
    setattr(Whole, name, method)


for _name in "add sub mul floordiv truediv mod divmod pow lshift rshift and or xor".split():
    _computing(f"__{_name}__")
    _computing(f"__r{_name}__")
for _name in ("__neg__", "__abs__", "__float__", "__invert__"):
    _computing(_name)


class FollowedSizes:
    """The sizes of one run. `at`: the first result of a node -> which of its attributes are such
    numbers: `(name, place in it, ...)` -> the value. `lost`: was Python told sizes that are not
    followed?"""

    def __init__(self) -> None:
        # by value; and those of sizes by (tensor, dimension, size)
        self.tensors: dict[Any, Base] = {}
        self.values: set[int] = set()        # those that are made of nothing but sizes
        self.wholes: list[Whole] = []
        self.at: dict[int, Found] = {}
        self.lost = False

    def of(self, rec: Recorder, t: Base) -> Size | None:
        """What to give for `t.shape`; None where it is not the user's code that asks."""
        shape = t._array.shape
        if not shape or ours(sys._getframe(4)):
            return None
        try:
            n = None if rec.trying is not None else Ref(rec.value(t))
        except Refused:
            n = None
        if n is None:
            self.lost = True
            return None
        return Size([self.number(rec, n, d, v) for d, v in enumerate(shape)])

    def number(self, rec: Recorder, n: Ref, dim: int, size: int) -> Number:
        """A size of a value, as a Number."""
        if (n, dim, size) not in self.tensors:
            with modes.no_grad():
                self.tensors[n, dim, size] = size_of(of=n, dim=dim, value=size)
        return Number(size, self.tensors[n, dim, size], rec, SAFE)

    def made(self, op: Op, ins: Iterable[Any], outs: Iterable[int]) -> None:
        """Note whether an op makes numbers of nothing but sizes."""
        refs = [x for x in ins if type(x) is Ref]
        if op is size_of or refs and self.values and self.values.issuperset(refs):
            self.values.update(outs)

    def whole(self, rec: Recorder, number: Number) -> int:
        """A Number on its way to an op, as an int; a guard where it is of no sizes."""
        t = tensor_behind(number)
        n = rec.values.number(t._array) if live(number) else None
        if type(value_of(number)) is not int or n not in self.values:
            return operator.index(plain(number))
        self.tensors[n] = t
        self.wholes.append(Whole(value_of(number), int(n), rec))
        return self.wholes[-1]

    def pin(self, rec: Recorder, n: int) -> None:
        """Somebody went on from one, other than by giving it to an op."""
        if n in self.tensors:
            rec.pin(self.tensors[n])

    def arrive(self, attrs: Mapping[str, Any]) -> tuple[dict[str, Any], Found]:
        """An op's attributes without Wholes, and where these were."""
        found: Found = {}
        return {k: _plain(x, (k,), found) for k, x in attrs.items()}, found

    def arrived(self, **attrs: Any) -> tuple[Iterable[Any], Found]:
        """The same with the attributes in their order."""
        known, found = self.arrive(attrs)
        return known.values(), found

    def came(self, nodes: Sequence[Node], sizes: Found) -> None:
        """These sizes came to the last node."""
        if sizes and nodes and nodes[-1].outs:
            self.at[nodes[-1].outs[0]] = sizes

    def plain(self, rec: Recorder, attrs: Mapping[str, Any]) -> dict[str, Any]:
        """An op's attributes with guards in the place of Wholes."""
        known, found = self.arrive(attrs)
        for n in found.values():
            self.pin(rec, n)
        return known

    def end(self, rec: Recorder) -> None:
        """The run is over: what came to no op is a guard."""
        for w in self.wholes:
            if not w.arrived:
                self.pin(rec, w.n)
        self.tensors, self.wholes = {}, []


def _plain(x: Any, place: tuple[Any, ...], found: Found) -> Any:
    if type(x) is Whole:
        x.arrived = True
        found[place] = x.n
        return int(x)
    if type(x) is tuple:
        return tuple([_plain(y, (*place, i), found) for i, y in enumerate(x)])
    return x
