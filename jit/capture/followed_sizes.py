"""Sizes that the user's code is told, followed to where they go.

What `x.shape` gives during a recorded run are `Number`s (see varying_numbers.py): what Python
computes of them is recorded, and what it goes on from is a guard. Where one becomes a size of an
op, or part of an index, it is a `Whole` on its way through the framework: an int that knows its
value of the run. The op's node has the plain int, and `at` says which value it was. A Whole that
the framework computes with, or that comes to no op, is a guard like any other number.
"""
import operator
import sys
import weakref

from whet import indexing
from whet.autograd import modes
from whet.ir.graph import Ref
from whet.ops.python import size_of
from whet.tensor import Size

from ..guards.origin import ours
from .refused import Refused
from .varying_numbers import SAFE, Number, live, plain, tensor_behind, value_of


class Whole(int):
    """See above: value `n` of what `rec` records."""

    def __new__(cls, size, n, rec):
        self = int.__new__(cls, size)
        self.n, self.rec, self.arrived = n, weakref.ref(rec), False
        return self

    def __reduce__(self):
        return int, (int(self),)

    def computed(self):
        """The framework computes with it: a replay needs the same."""
        rec = self.rec()
        if (rec is not None and not rec.running and rec in modes.state.observers
                and sys._getframe(2).f_code not in indexing.CHECKS):
            rec.followed.pin(rec, self.n)


def _computing(name):
    plain = getattr(int, name)

    def method(self, *others):
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

    def __init__(self):
        self.tensors, self.values, self.wholes, self.at = {}, set(), [], {}
        self.lost = False

    def of(self, rec, t):
        """What to give for `t.shape`; None where it is not the user's code that asks."""
        shape = t._array.shape
        if not shape or ours(sys._getframe(4)):
            return None
        try:
            n = None if rec.trying is not None else int(rec.value(t))
        except Refused:
            n = None
        if n is None:
            self.lost = True
            return None
        return Size([self.number(rec, n, d, v) for d, v in enumerate(shape)])

    def number(self, rec, n, dim, size):
        """A size of value n, as a Number."""
        if (n, dim, size) not in self.tensors:
            with modes.no_grad():
                self.tensors[n, dim, size] = size_of(of=n, dim=dim, value=size)
        return Number(size, self.tensors[n, dim, size], rec, SAFE)

    def made(self, op, ins, outs):
        """Note whether an op makes numbers of nothing but sizes."""
        refs = [x for x in ins if type(x) is Ref]
        if op is size_of or refs and self.values and self.values.issuperset(refs):
            self.values.update(outs)

    def whole(self, rec, number):
        """A Number on its way to an op, as an int; a guard where it is of no sizes."""
        t = tensor_behind(number)
        n = rec.values.number(t._array) if live(number) else None
        if type(value_of(number)) is not int or n not in self.values:
            return operator.index(plain(number))
        self.tensors[n] = t
        self.wholes.append(Whole(value_of(number), int(n), rec))
        return self.wholes[-1]

    def pin(self, rec, n):
        """Somebody went on from one, other than by giving it to an op."""
        if n in self.tensors:
            rec.pin(self.tensors[n])

    def arrive(self, attrs):
        """An op's attributes without Wholes, and where these were."""
        found = {}
        return {k: _plain(x, (k,), found) for k, x in attrs.items()}, found

    def arrived(self, **attrs):
        """The same with the attributes in their order."""
        known, found = self.arrive(attrs)
        return known.values(), found

    def came(self, nodes, sizes):
        """These sizes came to the last node."""
        if sizes and nodes and nodes[-1].outs:
            self.at[nodes[-1].outs[0]] = sizes

    def plain(self, rec, attrs):
        """An op's attributes with guards in the place of Wholes."""
        known, found = self.arrive(attrs)
        for n in found.values():
            self.pin(rec, n)
        return known

    def end(self, rec):
        """The run is over: what came to no op is a guard."""
        for w in self.wholes:
            if not w.arrived:
                self.pin(rec, w.n)
        self.tensors, self.wholes = {}, []


def _plain(x, place, found):
    if type(x) is Whole:
        x.arrived = True
        found[place] = x.n
        return int(x)
    if type(x) is tuple:
        return tuple([_plain(y, (*place, i), found) for i, y in enumerate(x)])
    return x
