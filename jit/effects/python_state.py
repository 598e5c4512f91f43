"""What a function leaves behind in Python's state, and how a replay does the same: attributes, variables and entries that are set, lists
that grow. `Slot`s are places whose number or tensor is another at each call; they are arguments that nobody passes."""
import builtins
import collections
import ctypes as C
import operator
import os
import threading
import weakref

import numpy as np
from whet.tensor import wrap
from whet.tensor_base import Base

from ..capture import containers, numpy_arrays
from ..capture.containers import elements, kind_of
from ..capture.varying_numbers import HOLDS, NUMBERS, SETTLED, Number, reclaim, settle, tensor_of, value_of, varies

SETTABLE = frozenset(("dict", "some", "global", "cell", "slot", "vars", "items", "context", "local"))


CONTENTS = frozenset(("dict", "items", "set"))


def get(kind, owner, name):
    """What lies at a place."""
    if kind == "local":
        return vars(owner)[name]
    if kind == "cell":
        return owner.cell_contents
    if kind == "context":
        return owner.get()
    if kind == "slot":
        return getattr(owner, name)
    if kind == "vars":
        return vars(owner)[name]
    if kind == "builtin":
        return owner.get(name)
    return kind_of(owner).__getitem__(owner, name)


def found(place):
    """What lies at a place, None where nothing does any more."""
    try:
        return get(*place)
    except (AttributeError, LookupError, ValueError):
        return None


def put(kind, owner, name, value):
    """Lay something at a place, past whatever would notice."""
    if kind == "cell":
        owner.cell_contents = value
    elif kind == "slot":
        object.__setattr__(owner, name, value)
    elif kind == "vars":
        type.__setattr__(owner, name, value)
    elif kind == "builtin":                  # a name of Python's own, as one module sees it
        owner[name] = value
        if value is getattr(builtins, name):
            del owner[name]
    elif kind == "context":
        owner.set(value)
    elif kind == "local":
        vars(owner)[name] = value
    elif kind == "environment":
        for k in owner.keys() | value.keys():
            if owner.get(k) != value.get(k):
                decoded = os.environ.decodekey(k)
                if k in value:
                    os.environ[decoded] = os.environ.decodevalue(value[k])
                else:
                    del os.environ[decoded]
    elif name is None:
        fill(owner, value)
    else:
        kind_of(owner).__setitem__(owner, name, value)


def fill(owner, contents):
    """Let a container hold something else, past whatever would notice."""
    if isinstance(owner, dict):
        kind, there = kind_of(owner), elements(owner)
        if not all(map(operator.is_, there, contents)) or len(there) > len(contents):        # (entries are not only set or added)
            kind.clear(owner)
        kind.update(owner, contents)
    elif isinstance(owner, list | collections.deque):
        containers.fill(owner, contents)
    else:
        set.difference_update(owner, set(elements(owner)).difference(contents))      # (what stays keeps its place in the order)
        set.update(owner, contents)


def named(t):
    """The attributes that somebody gave a tensor. (Its dict is not made to find out.)"""
    if Base.__dictoffset__ > 0 and not C.c_void_p.from_address(id(t) + Base.__dictoffset__).value:
        return NOTHING
    return vars(t)


NOTHING: dict = {}
FLAGS = 0x500                    # of an array: is it aligned, may it be written to?


def look(t):
    """What a tensor is, its numbers aside."""
    a = t._array
    return (type(t), a.dtype, a.shape, a.strides, t._rg, t._grad is None, t._node is None, t._base is None, a.flags.num & FLAGS, bool(t._extra))


def spent(node):
    """Was the graph that starts at a node differentiated and freed, so that nothing flows through it any more?"""
    of = getattr(node, "parent", node)
    return bool(of.released) and not node.pre_hooks and not of.pre_hooks


class Slot:
    """A place whose number or tensor a recording takes as it comes; `item`: one number of the tuple that lies there."""
    __slots__ = ("kind", "owner", "name", "item", "size", "cells", "is_number", "is_array", "type", "look")

    def __init__(self, kind, owner, name, value, item=None):
        self.kind, self.owner, self.name, self.item, self.cells = kind, owner, name, item, []
        self.size, value = (None, value) if item is None else (len(value), value[item])
        self.type, self.is_array = type(value), type(value) is np.ndarray
        self.is_number = not (self.is_array or isinstance(value, Base))
        self.look = numpy_arrays.layout(value) if self.is_array else None if self.is_number else look(value)

    @staticmethod
    def takes(value):
        """Can such a value come from a slot, or from several?"""
        if isinstance(value, Base):
            return not value._extra and (value._node is None or spent(value._node))
        return varies(value) or numpy_arrays.takes(value) or several(value)

    @staticmethod
    def at(kind, owner, name, value):
        """The slots of a place."""
        return [Slot(kind, owner, name, value, i) for i in (range(len(value)) if several(value) else (None,))]

    @property
    def key(self):
        """What tells it from others."""
        return id(self.owner), self.name, self.item, self.size

    def fetch(self, known, leaves):
        """The tensor that is there now, or that stands for the number; None where it is of another kind, or known under another name."""
        there = v = found((self.kind, self.owner, self.name))
        if v is None:
            return None
        if self.item is not None:
            if type(v) is not tuple or len(v) != self.size:
                return None
            v = v[self.item]
        if self.is_number:
            if type(v) is not self.type or not varies(v):
                return None
            t = tensor_of(v)
        elif self.is_array:
            if type(v) is not np.ndarray or numpy_arrays.layout(v) != self.look or any(v is x._array for x in leaves):
                return None
            t = wrap(v)
        elif type(v) is not self.type or v.requires_grad is None or look(v) != self.look or id(v) in known or any(v is x for x in leaves):
            return None
        else:
            t = v
        for objects, i in self.cells:
            objects[i] = there
        return t

    def there(self):
        """The number, tensor or array that is there."""
        v = get(self.kind, self.owner, self.name)
        return v if self.item is None else v[self.item]


def several(value):
    """Is this a tuple of numbers and tensors, each of which may be another at each call?"""
    return type(value) is tuple and len(value) > 0 and all([varies(x) or isinstance(x, Base) and Slot.takes(x) for x in value]) \
        and len(set(map(id, value))) == len(value)


class Growing(list):
    """What a run finds in place of a list that others only append to: whether it does more than that is noted."""

    def __init__(self, real):
        super().__init__(real)
        self.real, self.read, self.before, self.added = real, False, len(real), []
        self.thread = threading.get_ident()

    __class__ = property(lambda self: list)

    def looked(self):
        """Somebody reads: the run, or another thread?"""
        self.read |= threading.get_ident() == self.thread

    def end(self):
        """The real list as the run has left it; `added` is what was appended."""
        self.added = list.__getitem__(self, slice(self.before, None))
        self.real[:] = list.__getitem__(self, slice(None))


class GrowingDeque(collections.deque):
    """The same in place of a deque, of which old elements may fall out."""

    def __init__(self, real):
        super().__init__(real, real.maxlen)
        self.real, self.read, self.added = real, False, []
        self.thread = threading.get_ident()

    __class__ = property(lambda self: collections.deque)
    looked = Growing.looked

    def append(self, x):
        """One more."""
        collections.deque.append(self, x)
        self.added.append(x)

    def extend(self, xs):
        """Several more."""
        for x in list(xs):
            self.append(x)

    def __iadd__(self, xs):
        self.extend(xs)
        return self

    def end(self):
        """The real deque as the run has left it."""
        containers.fill(self.real, elements(self))


def _reading(name, kind=list):
    plain = getattr(kind, name)

    def method(self, *args, **kwargs):
        self.looked()
        return plain(self, *args, **kwargs)
    return method


def _item(self, i):
    """An element: those that the run appended are its own."""
    if type(i) is not int or i >= 0 or -i > list.__len__(self) - self.before:
        self.looked()
    return list.__getitem__(self, i)


def _behind(self, other):
    """Another list and this one are joined: by Python's own, that would not ask."""
    self.looked()
    return NotImplemented


Growing.__getitem__, Growing.__radd__ = _item, _behind
for _name in ("__len__", "__iter__", "__contains__", "__reversed__", "__setitem__", "__delitem__", "__eq__", "__ne__", "__lt__",
              "__le__", "__gt__", "__ge__", "__add__", "__mul__", "__rmul__", "__imul__", "__repr__", "pop", "insert", "remove", "clear", "sort",
              "reverse", "copy",
              "count", "index", "__reduce_ex__", "__sizeof__", "__format__", "__str__"):
    setattr(Growing, _name, _reading(_name))
for _name in ("__len__", "__iter__", "__contains__", "__reversed__", "__getitem__", "__setitem__", "__delitem__", "__eq__", "__ne__", "__lt__",
              "__le__", "__gt__", "__ge__", "__add__", "__mul__", "__rmul__", "__imul__", "__repr__", "pop", "popleft", "appendleft", "extendleft",
              "rotate", "insert", "remove", "clear", "reverse", "copy", "__copy__", "count", "index", "__reduce__", "__reduce_ex__", "__sizeof__",
              "__format__", "__str__", "__bool__"):
    if hasattr(collections.deque, _name):
        setattr(GrowingDeque, _name, _reading(_name, collections.deque))
GROWING = {list: Growing, collections.deque: GrowingDeque}
SETTLED.update(dict.fromkeys(GROWING.values(), operator.attrgetter("real")))
HOLDS.update(GROWING.values())


class Swapped:
    """The state as a run finds it: Numbers in the slots of numbers, lists that note what is done to them, stand-ins for what acts outside of
    Python's state. Afterwards all is plain again."""

    def __init__(self, world, leaves, outward):
        self.world, self.leaves = world, leaves
        self.acting = [(place, x, outward.stand_in(x)) for x, places in world.outward.values() for place in places]
        self.lists = [(GROWING[type(real)](real), holders) for real, holders in world.growing.values()]
        self.tuples = {}                     # place of a tuple of numbers -> (it, that of Numbers which is there instead)

    def enter(self, recorder):
        """Before the run; `leaves` are the tensors of the slots."""
        for s, t in zip(self.world.slots, self.leaves):
            if s.is_array:
                put(s.kind, s.owner, s.name, recorder.numpys.stand_in(t._array, given=True))
            if s.is_number:
                n = Number(s.there(), t, recorder)
                if s.item is not None:
                    real, there = self.tuples.get(s.key[:2]) or [get(s.kind, s.owner, s.name)] * 2
                    n = (*there[:s.item], n, *there[s.item + 1:])
                    self.tuples[s.key[:2]] = real, n
                put(s.kind, s.owner, s.name, n)
        for grown, holders in self.lists:
            for kind, owner, name in holders:
                put(kind, owner, name, grown)
        for place, _, stand_in in self.acting:
            put(*place, stand_in)

    def leave(self):
        """After the run, before anybody looks at the state."""
        for grown, holders in self.lists:
            for place in holders:
                if found(place) is grown:
                    put(*place, grown.real)
            grown.end()
        for place, real, stand_in in self.acting:
            if found(place) is stand_in:
                put(*place, real)
        self.acting = ()

    def settle(self, whole):
        """Plain numbers wherever the run left Numbers."""
        for s in self.world.slots:
            v = found((s.kind, s.owner, s.name))
            real, there = self.tuples.get(s.key[:2], (None, None))
            if there is not None and v is there:
                put(s.kind, s.owner, s.name, real)
            elif type(v) in NUMBERS:
                put(s.kind, s.owner, s.name, value_of(v))
            elif type(v) is numpy_arrays.Array:
                put(s.kind, s.owner, s.name, numpy_arrays.real_of(v))
        left = [grown for grown, _ in self.lists if type(grown) in GROWING.values()]         # (of one settled before, the real list is there)
        for grown in left:
            settle(grown.real)
            if type(grown) is GrowingDeque and any(type(x) in HOLDS for x in elements(grown.real)):
                containers.fill(grown.real, [settle(x) for x in elements(grown.real)])
        left = [(weakref.ref(grown), grown.real) for grown in left]
        grown = None
        for place, there in left:
            reclaim(place, there)
        for kind, owner, name, _, new in whole.changes():
            if name is not None and type(new) in HOLDS:
                put(kind, owner, name, settle(new))
            elif name is None and type(owner) in (list, dict):
                settle(owner)
