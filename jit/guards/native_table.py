"""The short way into a replay: what a recording compares as a table for machine code, which walks it and launches the program.

A recording that is one list of launches becomes a table with the launches, the steps that build its result, and where new values of Python's
state are laid: such a call enters no Python at all. For the others the table has the guards alone, and a Python function made for the
recording does the rest. See `passes/lower_llvm/calls/traced_calls.py` for the tables. A call that no table fits goes the long way, in `trace.py`.
"""
import ctypes as C
import struct
import sys
import threading
import types
import weakref
from typing import Any

import numpy as np
from whet import dtypes, tensor_base
from whet.autograd.node import RELEASED, OutputOf, Shortcut, edge_of, next_number
from whet.cpu import entries, native, pool
from whet.tensor import Tensor, wrap
from whet.tensor_base import Base

from ..capture.containers import elements
from ..capture.varying_numbers import FACTS, tensor_of
from ..effects.python_state import get, named, put
from ..program.native_runner import machine
from ..program.program import Miss
from . import class_state, outside_state

MISSED, ANY = object(), object()
FOREVER = (1 << 63) - 1          # uses of a table
WORD, NUMBERED = (1 << 64) - 1, 63   # all bits of a word; arguments whose ints an index may go by
MANAGED_DICT = 1 << 4            # a flag of types: the dict of an instance lies before it
READ = ("__iter__", "__len__", "items", "values")        # what a dict that is compared as one does as dicts do (not so OrderedDict)


# ---- the native side -----------------------------------------------------------------------------------------------------
class PyEntry:
    """The callable base of traced functions, in plain Python."""
    __slots__ = ()

    def __call__(self, /, *args, **kwargs):
        return self._call(args, kwargs)

    def __get__(self, owner, cls=None):
        return self if owner is None else types.MethodType(self, owner)


def _word(at):
    return C.c_int64.from_address(at).value


class _Layouts:
    """Where objects keep what is compared, proved on examples; None where that is not as expected."""

    def __init__(self):
        head = native.HEAD
        d = {"a": 1}
        seen = []
        for v in (1, 2, 2, 3):
            d["a"] = v
            seen.append(_word(id(d) + head + 8))
        # (from 3.12 on the version is no longer promised)
        self.tags = sys.version_info < (3, 12) and len(set(seen)) == 3 and seen[1] == seen[2]
        x, one = object(), [object(), object()]
        cell, proxy = types.CellType(x), types.MappingProxyType(d)
        self.cell = head if _word(id(cell) + head) == id(x) and _word(id(types.CellType()) + head) == 0 else None
        self.proxy = head if _word(id(proxy) + head) == id(d) else None
        self.set = head + 8 if [_word(id(s) + head + 8) for s in (set(), {7}, {7, 8})] == [0, 1, 2] else None
        self.list = _word(id(one) + head) == 2 and [_word(_word(id(one) + head + 8) + 8 * i) for i in range(2)] == [id(y) for y in one]

        def f(a=x, *, b=x):
            pass

        def plain():
            pass
        words = [_word(id(f) + head + 8 * i) for i in range(12)]
        fields = f.__code__, f.__defaults__, f.__kwdefaults__
        self.function = [head + 8 * words.index(id(y)) for y in fields] if all(words.count(id(y)) == 1 for y in fields) else None
        if self.function and [_word(id(plain) + o) for o in self.function] != [id(plain.__code__), 0, 0]:
            self.function = None

    def slot(self, owner, name):
        """The offset of a slot in the instances of its class; None where it has none."""
        d = next((vars(c)[name] for c in type(owner).__mro__ if name in vars(c)), None)
        if type(d) is not types.MemberDescriptorType:
            return None
        offset = _word(_word(id(d) + native.HEAD + 24) + 16)
        now = getattr(owner, name, _Layouts)
        kind = C.c_int.from_address(_word(id(d) + native.HEAD + 24) + 8).value
        return offset if kind == 16 and _word(id(owner) + offset) == (0 if now is _Layouts else id(now)) else None


class Latch:
    """A lock that nobody waits for and that machine code can see: held while a program's memory is in use."""
    __slots__ = ("at", "word")

    def __init__(self):
        self.word = C.c_int64()
        self.at = C.addressof(self.word)

    def acquire(self, blocking=False):
        return take(self.at)

    def release(self):
        self.word.value = 0


def _load():
    """(the base class, `enter`, `take`, the words shared with machine code, the generator's layout, layouts of objects)."""
    if not native.enabled() or tensor_base.native_apply is None:
        return PyEntry, None, None, None, None, None
    from whet.passes.lower_llvm.calls import traced_calls as L
    layouts = _Layouts()
    words = (C.c_int64 * 4)()
    native._forever(words)
    native._forever(MISSED)
    words[L.J["missed"] // 8] = id(MISSED)
    native.export("whet_jit", C.addressof(words))
    at = native.image(f"jit/traced/{layouts.tags}", lambda: L.source(layouts.tags), L.NAMES)
    base = native.make_type("whet.jit.Entry", native.HEAD, [(50, at["traced_call"]), (54, at["traced_get"])])
    return base, native.function(at["traced_enter"], "enter"), native.function(at["traced_take"], "take", flags=native.METH_O), words, L, layouts


Entry: Any
Entry, enter, take, _shared, L, _layouts = _load()
_nothing = C.c_int64()
_zero = C.addressof(_nothing)
latch: Any = threading.Lock if enter is None else Latch
_lock = threading.Lock()


def begin(cls, slow):
    """Tell the machine code where traced functions keep their tables, and what is called where none fits."""
    if enter is not None:
        native._forever(slow)
        native._forever(cls)
        _shared[L.J["slow"] // 8] = id(slow)
        _shared[L.J["ready"] // 8] = _word(_word(id(vars(cls)["_ready"]) + native.HEAD + 24) + 16)


def switch(by):
    """Count the threads on which tracing is off: while there is one, machine code asks Python."""
    if enter is not None:
        with _lock:
            _shared[L.J["off"] // 8] += by


_never = None if L is None else np.full(L.HEADER, -1, np.int64)           # a table that fits no call
AS = {} if L is None else {np.dtype(np.float64): L.AS_FLOAT, np.dtype(np.int64): L.AS_INT}       # numbers that the state gets


# ---- tables --------------------------------------------------------------------------------------------------------------
class _No(Exception):
    """This cannot be in a table."""


class _Rows:
    """Sections of a table under construction."""

    def __init__(self):
        self.owned, self.sections = [], {}

    def __getitem__(self, name):
        return self.sections.setdefault(name, [])

    def forget(self, *names):
        """These sections are empty."""
        for name in names:
            self.sections.pop(name, None)

    def id(self, x):
        """The address of an object that lives as long as the table."""
        self.owned.append(x)
        return id(x)


class _Leaves:
    """What a recording is given, in the order in which machine code hands it over: the tensors, then the numbers that may be any."""

    def __init__(self, leaves, slots, numbers):
        self.slots = slots
        self.number = [id(x) in numbers for x in leaves]
        self.order = sorted(range(len(leaves)), key=self.number.__getitem__)
        self.tensors = len(leaves) - len(numbers)
        self.leaf = {id(x): i for i, x in enumerate(leaves)}             # an object -> which of the recording's leaves it is,
        self.place = {id(leaves[i]): k for k, i in enumerate(self.order)}        # and where machine code puts it


def table(r, args, kwargs, given):
    """(the table as an array, what it points to) for calls like this one; None where a table does not do, or the world has moved on.

    To be made when `r` fits."""
    if enter is None or r.shared or r.filled or len({type(x) for x in given.boxes}) < len(given.boxes) or r.boxed:
        return None                          # (which containers are one is not compared,
    if any(like(x, y) for x in given.boxes for y in r.world.seen.values()):
        return None                          # nor whether one of them is reached from outside, too)
    leaves = r.reach(given.leaves)
    if leaves is None or not r.world.same():
        return None
    slots = leaves[len(given.leaves):]
    numbers = {id(x) for x in given.numbers.values()} | {id(x) for s, x in zip(r.world.slots, slots) if s.is_number}
    t, leaves = _Rows(), _Leaves(leaves, slots, numbers)
    try:
        described = _arguments(t, r, args, kwargs, given.numbers, leaves)
        header = dict(flags=r.settings[0], nargs=len(args), names=len(kwargs), rows=described, leaves=leaves.tensors, numbers=len(numbers),
                      slots=len(r.world.slots), **_world(t, r))
        header.update(_launch(t, r, leaves) or dict(kind=L.PYTHON, finish=t.id(rest(r, leaves))))
    except _No:
        return None
    words = [0] * L.HEADER
    for name in ("rows", "slots", "zeros", "words", "soft", "held", "bare", "always", "dicts", "lists", "known", "moving", "fresh", "left", "views",
                 "sources", "build"):
        header[f"{name}_at"] = 8 * len(words)
        if name == "build" and "keys" in t.sections:
            header["build_at"] += 8 * len(t["keys"])
            words += t["keys"]
            first = header["build_at"] - 8 * len(t["keys"])
            for k in range(0, len(t["build"]), 3):
                if t["build"][k] == L.TABLE:
                    t["build"][k + 2] = first + 8 * t["build"][k + 2]
        words += t[name]
    header["mask"] = len(t["known"]) - 1
    for name, v in header.items():
        words[L.H[name] // 8] = v
    return np.array([w if w < 1 << 63 else w - (1 << 64) for w in words], np.int64), [r, *t.owned]


def like(x, y):
    """Could a container be where another is, without a difference that the table sees?"""
    if type(x) is not type(y):
        return False
    if isinstance(x, dict):
        return list(map(type, x)) == list(map(type, y)) and list(map(type, x.values())) == list(map(type, y.values()))
    return not isinstance(x, list | tuple) or list(map(type, x)) == list(map(type, y))


def bypass(fn, first):
    """A table for a function that is faster without a recording, where its first argument is like this one."""
    words = np.zeros(L.HEADER, np.int64)
    for name, v in dict(kind=L.EAGER, finish=id(fn), type=id(type(first)), size=first._array.size).items():
        words[L.H[name] // 8] = v
    return words, [fn, type(first)]


def bypass_all(fn, uses):
    """A table for so many calls of a function, whatever their arguments: they are eager."""
    words = np.zeros(L.HEADER, np.int64)
    for name, v in dict(kind=L.EAGER, finish=id(fn), until=uses).items():
        words[L.H[name] // 8] = v
    return words, [fn]


def fingerprint(args, kwargs, aside=()):
    """What an index goes by: the sizes of tensors and the ints among the arguments, those `aside` left out. (As `_seek` in machine code does.)
    Without machine code nothing goes by it."""
    h = 0
    if L is None:
        return h
    for i, x in (*enumerate(args), *((None, x) for x in kwargs.values())):
        words = []
        if type(x) is Tensor and type(x._array) is np.ndarray:
            words = [x._array.ndim, *x._array.shape]
        elif type(x) is int and i is not None and i < NUMBERED and i not in aside:
            words = [x if -1 << 63 <= x < 1 << 63 else -1]
        for w in words:
            h = (h ^ w) * L.GOLDEN & WORD
            h ^= h >> L.TURN
    return h


class Index:
    """Tables that machine code finds by a fingerprint of the arguments, however many there are: `ready` is itself one.

    Threads may be reading it: what they could be in is kept until it is laid out anew, in other memory. `aside`: positions of ints that
    do not count."""

    def __init__(self, aside=()):
        self.aside = frozenset(aside)
        self.there = {}                      # fingerprint -> tables for such arguments
        self.lay(8)

    def put(self, finger, table):
        """One more table, for arguments of this fingerprint."""
        there = self.there.setdefault(finger, [])
        if any(x is table for x in there):
            return
        if len(there) == L.TRIES:            # (others would not be tried)
            self.drop(finger, there[0])
            there = self.there[finger]
        there.append(table)
        if 2 * self.used >= self.size:
            self.lay(4 * sum(map(len, self.there.values())))
        else:
            self.enter(finger, table)

    def drop(self, finger, table):
        """A table is no more."""
        left = [x for x in self.there.get(finger, ()) if x is not table]
        if left:
            self.there[finger] = left
        else:
            self.there.pop(finger, None)
        for at in self.places(finger):
            if self.rows[2 * at + 1] == table[0].ctypes.data:
                self.rows[2 * at + 1] = _never.ctypes.data

    def lay(self, least):
        """Lay all tables out anew, with room for so many."""
        self.size, self.used = 1 << max(least, 8).bit_length(), 0
        words, held = np.zeros(L.HEADER + 2 * self.size, np.int64), []
        aside = sum(1 << i for i in self.aside if i < NUMBERED) | -1 << NUMBERED
        for name, v in dict(kind=L.INDEX, type=id(Tensor), flags=aside, mask=self.size - 1, known_at=8 * L.HEADER).items():
            words[L.H[name] // 8] = v
        self.rows, self.ready = words[L.HEADER:], (words, held)
        for finger, there in self.there.items():
            for table in there:
                self.enter(finger, table)

    def places(self, finger):
        """The rows where tables for a fingerprint may be, up to the first free one."""
        at = finger >> 8 & self.size - 1
        while self.rows[2 * at + 1]:
            yield at
            at = at + 1 & self.size - 1
        yield at

    def enter(self, finger, table):
        *_, at = self.places(finger)
        self.ready[1].append(table)
        self.used += 1
        self.rows[2 * at] = finger if finger < 1 << 63 else finger - (1 << 64)
        self.rows[2 * at + 1] = table[0].ctypes.data


def limit(ready, uses):
    """After so many uses of a table Python makes the calls."""
    ready[0][L.H["until"] // 8] = min(max(uses, 0), FOREVER)


def count(ready, n):
    """A table was used so often."""
    ready[0][L.H["count"] // 8] = n


def calls(ready):
    """How often a table was used."""
    return int(ready[0][L.H["count"] // 8])


def _bits(x):
    return struct.unpack("<q", struct.pack("<d", x))[0]


def _arguments(t, r, args, kwargs, numbers, leaves):
    """Rows for the arguments, and for what lies in slots; how many."""
    rows, free, count, tensors = t["rows"], len(args) + 1, 0, []
    if len(leaves.order) > L.MAX_LEAVES or free > L.MAX_OBJECTS:
        raise _No

    def row(kind, i, *words):
        nonlocal count
        count += 1
        rows.extend([kind, i, len(words) + 3, *words])

    def parts(xs):
        nonlocal free
        start, free = free, free + len(xs)
        if free > L.MAX_OBJECTS:
            raise _No
        todo.extend(zip(range(start, free), xs))
        return start

    def any_number(i, x, leaf):
        row(L.ANY_FLOAT if type(x) is float else L.ANY_INT, i, leaves.place[id(leaf)])
    todo = [*enumerate(args), *([(len(args), kwargs)] if kwargs else [])]
    varying = {i: numbers[i] for i in range(len(args)) if i in numbers}
    if kwargs:                               # (their values are the first parts)
        varying |= {free + k: numbers[name] for k, name in enumerate(kwargs) if name in numbers}
        todo.insert(0, todo.pop())
    for i, x in todo:                        # (grows)
        k = type(x)
        if isinstance(x, Base):
            tensors.append((i, x))
        elif i in varying:
            any_number(i, x, varying[i])
        elif k is float:
            row(L.FLOAT, i, _bits(x))
        elif k is int and -1 << 63 <= x < 1 << 63:
            row(L.INT, i, x)
        elif k in (str, bytes):
            row(L.EQUAL, i, t.id(x))
        elif k is tuple:
            row(L.TUPLE, i, len(x), parts(x))
        elif k is list and _layouts.list:
            row(L.LIST, i, len(x), parts(x))
        elif k is dict and all(type(key) is str for key in x):
            row(L.DICT, i, len(x), parts(list(x.values())), *[t.id(key) for key in x])
        elif x is None or x is True or x is False or x is ... or id(x) in r.world.seen or isinstance(x, dtypes.dtype):
            row(L.SAME, i, t.id(x))
        else:
            raise _No
    if free + len(r.world.slots) > L.MAX_OBJECTS:
        raise _No
    if any(s.item is not None or s.is_array for s in r.world.slots):
        raise _No
    for i, (s, leaf) in enumerate(zip(r.world.slots, leaves.slots), free):
        t["slots"].extend([*_spot(t, s.kind, s.owner, s.name), i])
        if s.is_number:
            any_number(i, get(s.kind, s.owner, s.name), leaf)
        else:
            tensors.append((i, leaf))
    first = {}
    for i, x in tensors:
        if first.setdefault(id(x), i) == i:
            row(L.TENSOR, i, leaves.place[id(x)], *_tensor(t, r, x, leaves.leaf[id(x)]))
        else:
            row(L.AGAIN, i, leaves.place[id(x)])
    if len(first) != leaves.tensors:
        raise _No
    known = r.world.tensors
    size = 1 << (2 * len(known)).bit_length()
    t["known"].extend([0] * size)
    for x in known:
        at = ((x >> 4) * L.GOLDEN % (1 << 64)) >> 40
        while t["known"][at % size]:
            at += 1
        t["known"][at % size] = x
    return count


def _spot(t, kind, owner, name):
    """Where an object lies that may be any: (kind, where, what there)."""
    x = get(kind, owner, name)
    if kind == "vars" or kind == "global" and type(owner) is types.MappingProxyType:
        owner = _namespace(owner)
    if kind in ("dict", "some", "global", "vars") and isinstance(owner, dict) and type(name) is str and dict.get(owner, name, MISSED) is x:
        return L.ENTRY, t.id(owner), t.id(name)
    if kind == "items" and isinstance(owner, list) and _layouts.list:
        return L.ITEM, t.id(owner), name
    offset = _layouts.cell if kind == "cell" else _layouts.slot(owner, name) if kind == "slot" and not isinstance(owner, type) else None
    if offset is None or _word(id(owner) + offset) != id(x):
        raise _No
    return L.WORD, t.id(owner) + offset, 0


def _namespace(c):
    """The dict behind a class, or a view of it; an empty one where it cannot be found."""
    proxy = c if type(c) is types.MappingProxyType else vars(c)
    if _layouts.proxy is None or type(proxy) is not types.MappingProxyType:
        return {}
    return C.cast(_word(id(proxy) + _layouts.proxy), C.py_object).value


def _tensor(t, r, x, leaf):
    a = x._array
    if type(x) is not Tensor or a.ndim > 32 or x._extra or named(x) or not a.flags.aligned or type(a) is not np.ndarray:
        raise _No
    own, there = r.identity[leaf], (not r.without[leaf]) | (x._node is not None) << 1 | (x._base is not None) << 2
    return (t.id(type(x)), t.id(a.dtype), a.ndim, x._rg, a.flags.num & 0x500, there, 0 if own is None else t.id(own),
            *[w for pair in zip(a.shape, a.strides) for w in pair])


def _world(t, r):
    """Rows for what the recording reaches from outside."""
    words, number, rest, named = [], dict(always=0, dicts=0, lists=0), [], {}
    loose = {(id(objects), i) for s in r.world.slots for objects, i in s.cells}          # what is not compared: slots

    def dictionary(d, whole, pairs):
        tag = _word(id(d) + L.TAG) if _layouts.tags else 0
        if whole:                            # (as it is now, after the version was read: it must still be what was found)
            names, objects = pairs
            if len(d) != len(names) or not all(k is n and (x is ANY or v is x) for (k, v), n, x in zip(d.items(), names, objects)):
                raise _No
            pairs = list(zip(names, objects))
        elif any(d.get(k, MISSED) is not v for k, v in pairs):
            raise _No
        if whole and not pairs and type(d) is dict:
            words.extend([t.id(d) + native.HEAD, 0])
            return
        often = not (_layouts.tags and whole) or any(v is ANY for _, v in pairs)         # (globals, and dicts with slots, change often)
        number["always" if often else "dicts"] += 1
        t["always" if often else "dicts"].extend([
            t.id(d), tag, whole, len(pairs), *[w for k, v in pairs for w in (t.id(k), 0 if v is MISSED else L.ANY if v is ANY else t.id(v))]])
        if not often:
            t["soft"].extend([id(d) + L.TAG, tag])
    for place in r.world.places:
        kind, owner, names, objects = place
        free = [(id(objects), i) in loose for i in range(len(objects))]
        objects = [ANY if any_ else x for x, any_ in zip(objects, free)]
        if all(free) and objects and kind in ("global", "cell", "slot"):
            continue                         # (that there is something is seen where it is fetched)
        if kind == "dict" and isinstance(owner, dict) and all(getattr(type(owner), m) is getattr(dict, m) for m in READ):
            dictionary(owner, 1, (names, objects))
        elif kind == "some":                 # (attributes of ours, of which those named first may be any)
            mine = iter(objects)
            dictionary(owner, 1, (tuple(owner), [ANY if k in names[0] else next(mine, MISSED) for k in owner]))
        elif kind == "global":
            d = owner if type(owner) is dict else _namespace(owner)
            if d.get(names, MISSED) is not (objects[0] if objects else MISSED):
                raise _No
            named.setdefault(id(d), (d, []))[1].append((names, objects[0] if objects else MISSED))
        elif kind == "cell" and _layouts.cell is not None:
            words += [t.id(owner) + _layouts.cell, t.id(objects[0]) if objects else 0]
        elif kind == "class":
            words += [t.id(owner) + 8, t.id(objects[0])]
        elif kind == "partial" and None not in (at := [_holds(owner, x) for x in objects]):
            for offset, x in zip(at, objects):
                words += [t.id(owner) + offset, t.id(x)]
        elif kind == "function" and _layouts.function:
            for offset, x in zip(_layouts.function, objects):
                words += [t.id(owner) + offset, 0 if x is None else t.id(x)]
        elif kind == "items" and isinstance(owner, tuple) or kind == "set" and type(owner) is frozenset:
            pass                             # nobody can change it
        elif kind == "items" and isinstance(owner, list) and _layouts.list:
            number["lists"] += 1
            there = elements(owner)
            t["lists"].extend([t.id(owner), len(there), *[L.ANY if any_ else t.id(x) for x, any_ in zip(there, free, strict=True)]])
        elif kind == "set" and not objects and _layouts.set is not None:
            words += [t.id(owner) + _layouts.set, 0]
        elif kind == "slot" and isinstance(owner, type) and objects and (d := _namespace(owner)).get(names, MISSED) is objects[0]:
            named.setdefault(id(d), (d, []))[1].append((names, objects[0]))
        elif kind == "slot" and not isinstance(owner, type) and (offset := _layouts.slot(owner, names)) is not None:
            words += [t.id(owner) + offset, t.id(objects[0]) if objects else 0]
        elif kind == "patched" and isinstance(owner, types.ModuleType) and class_state.state(owner) is objects[0]:
            (names, values), = objects[0].held
            named.setdefault(id(vars(owner)), (vars(owner), []))[1].extend(zip(names, values))
        elif kind == "patched" and (now := class_state.tag(owner)) and class_state.state(owner) is objects[0]:
            words += [t.id(owner) + class_state.OFFSET, now]
        elif kind == "vars" and (d := _namespace(owner)) and _word(id(d) + native.HEAD) == len(d) and (at := _holds(owner, owner.__bases__)):
            named.setdefault(id(d), (d, []))[1].extend((k, x) for k, x, any_ in zip(names, objects, free) if not any_)
            words += [t.id(d) + native.HEAD, len(d), t.id(owner) + at, t.id(owner.__bases__)]
        elif any(free):
            raise _No
        elif kind == "said" and (more := _said(owner, names, objects)) is not None:
            words += [w for offset, x in more for w in (t.id(owner) + offset, t.id(x))]
            if isinstance(owner, type):
                named.setdefault(id(d := _namespace(owner)), (d, []))[1].extend(
                    (n, MISSED if x is None and n not in d else x) for n, x in zip(names, objects) if n not in outside_state.SAID[:2])
        else:
            rest.append(place)
    for x, d in zip(r.world.holders, r.world.held):
        at = _holds(x, d)
        if at is None:
            raise _No
        words += [t.id(x) + at, t.id(d)]
    for d, names in r.world.absent:
        named.setdefault(id(d), (d, []))[1].extend((k, MISSED) for k in names)
    for d, pairs in named.values():
        dictionary(d, 0, pairs)
    dictionary(vars(pool), 0, [("_threads", r.settings[2])])
    dictionary(vars(dtypes), 0, [("_default", r.settings[1])])
    for x, a, rg, extra, bare in zip(r.tensors, r.arrays, r.flags, r.extras, r.bare):
        words += [t.id(x) + L.T["array"], t.id(a), id(x) + L.T["rg"], rg]
        if extra is not None or (x._grad is None) != bare:
            raise _No
        held = _word(id(x) + L.T["dict"])    # (attributes that it has are a place)
        words += [id(x) + L.T["dict"], held] if not held else [id(x) + L.T["dict"], held, t.id(vars(x)) + native.HEAD, len(vars(x))]
        words += [id(x) + L.T["extra"], _word(id(x) + L.T["extra"])]
        t["bare" if bare else "held"].append(id(x) + L.T["grad"])
        if bare:
            t["soft"].extend([id(x) + L.T["grad"], _word(id(x) + L.T["grad"])])
    for x in r.views:                        # a write to the base gave it another history
        cell = x._cell
        words += [id(x) + L.T["cell"], t.id(cell), id(x) + L.T["hist"], x._hist, id(cell) + L.C["h"], x._hist]
    pairs = list(zip(words[::2], words[1::2]))
    t["zeros"].extend(a for a, w in pairs if not w)
    t["words"].extend(w for pair in pairs if pair[1] for w in pair)
    for name, one in (("zeros", [_zero]), ("words", [_zero, 0]), ("soft", [_zero, 0])):
        while len(t[name]) % (4 * len(one)):                # (they are read four at a time)
            t[name].extend(one)
    return dict(zeros=len(t["zeros"]), words=len(t["words"]) // 2, soft=len(t["soft"]) // 2, held=len(t["held"]), bare=len(t["bare"]),
                check=t.id(_checker(rest)) if rest else 0, **number)


def _holds(x, what):
    """Where in an object the address of something that it holds lies; None where that is not plain."""
    before = (-24,) if type(x).__flags__ & MANAGED_DICT else ()
    found = [at for at in (*before, *range(native.HEAD, min(type(x).__basicsize__, 512), 8)) if _word(id(x) + at) == id(what)]
    return found[0] if len(found) == 1 else None


def _said(owner, names, objects):
    """Where a function or class holds what it says of itself: (offset, object) for each; None where that is not plain. (Of equal names all places
    are compared.)"""
    out = []
    for n, x in zip(names, objects):
        if not isinstance(owner, type) or n in outside_state.SAID[:2]:
            if n == "__dataclass_fields__" or n == "__match_args__":         # (functions have none)
                continue
            at = [o for o in range(native.HEAD, min(type(owner).__basicsize__, 1024), 8) if _word(id(owner) + o) == id(x)]
            if not at:
                return None
            out += [(o, x) for o in at]
    return out


def _checker(places):
    """A function that says whether places hold the objects they held: True, or None."""
    settings = [(owner, objects[0]) for kind, owner, _, objects in places if kind == "setting"]
    others = [place for place in places if place[0] != "setting"]
    if len(settings) == 1 and not others:    # (code that names NumPy, mostly)
        (of, was), = settings
        return lambda: True if of() is was else None

    def check():
        if any(of() is not was for of, was in settings):
            return None
        for kind, owner, names, objects in others:
            now = outside_state._look(kind, owner, names)
            if now is None or len(now) != len(objects) or not all(a is b or outside_state._equal(a, b) for a, b in zip(now, objects)):
                return None
        return True
    return check


def simple(r):
    """Is a replay nothing but one list of launches, and views?"""
    return not (r.writes or r.bumps or r.grads or r.backward or r.acts or r.marks or r.program.draws) and r.program.plain is not None


def left_by(r):
    """What a replay makes for Python's state, as recipes: for its places, then for the lists that grow."""
    return [*(spec for *_, spec in r.effects), *(spec for _, grown in r.growths for spec in grown)]


class _Steps:
    """The steps that build results and what is laid into Python's state. (A class, not closures: those would hold the recording in a circle.)"""

    def __init__(self, t, r, leaves, fresh, where):
        self.t, self.arrays, self.leaves, self.fresh, self.where = t, r.program.arrays, leaves, fresh, where
        self.shown, self.build, self.made, self.hidden, self.sources = r.program.shown, [], {}, [], []
        self.free, self.views = set(fresh.values()), len(fresh)          # arrays that are in no tensor; how many tensors there may be

    def add(self, spec):
        """One more recipe."""
        (kind, what), t, leaves, fresh, made, build = spec, self.t, self.leaves, self.fresh, self.made, self.build
        if kind == "value":
            k, number, dead, base, rg = what
            if k in made:
                build.extend([L.ONCE_MORE, made[k], 0])
                return
            if dead is not None:
                raise LookupError
            if base is None and not rg and number in fresh:
                made[k] = self.take(number)
                build.extend([L.NEW, made[k], 0])
            else:
                self.view(k, number, base, rg)
        elif kind == "item" and what in fresh and self.arrays[what].dtype in AS:
            build.extend([AS[self.arrays[what].dtype], self.take(what), 0])
        elif kind == "item" and self.where.get(what, ("",))[0] == "argument" and leaves.number[self.where[what][1]]:
            build.extend([L.ARGUMENT, leaves.order.index(self.where[what][1]), 0])
        elif kind == "again":
            build.extend([L.ONCE_MORE, made[what], 0])
        elif kind == "const":
            build.extend([L.CONST, t.id(what), 0])
        elif kind == "place" and what[0] == "argument" and not leaves.number[what[1]]:
            build.extend([L.ARGUMENT, leaves.order.index(what[1]), 0])
        elif kind == "place" and what[0] == "object":
            build.extend([L.CONST, t.id(what[1]), 0])
        elif kind in (list, tuple):
            what = what[1] if kind is list else what
            for x in what:
                self.add(x)
            build.extend([L.PAIR if kind is tuple else L.SERIES, len(what), 0])
        elif kind is dict:
            _, what = what
            at = len(t["keys"])
            t["keys"].extend(t.id(k) for k, _ in what)
            for _, x in what:
                self.add(x)
            build.extend([L.TABLE, len(what), at])
        else:
            raise LookupError

    def take(self, number):
        """Which of the fresh arrays a value is, that no other tensor has."""
        self.free.remove(self.fresh[number])
        return self.fresh[number]

    def array(self, n):
        """Where the array of a value is found that was not made by the call's Python, as a pair."""
        if n in self.fresh:
            return L.FRESH, self.fresh[n]
        kind, what = self.where[n]
        if kind == "argument":
            number = L.FLOAT_LEAF if self.arrays[n].dtype == np.float64 else L.INT_LEAF
            return number if self.leaves.number[what] else L.LEAF, self.leaves.order.index(what)
        if kind == "object":
            return L.OBJECT, self.t.id(what)
        raise LookupError

    def view(self, k, number, base, rg):
        """A tensor that is a view, of a tensor that may be seen through it alone."""
        root, offset, a = self.shown[number]
        of = L.NEW, 0                        # none
        if base is not None:
            if base[0] == "value" and base[1][0] not in self.made:
                self.add(base)
                self.build[-3] = {L.NEW: L.HIDDEN, L.VIEW: L.HIDDEN_VIEW}[self.build[-3]]
                self.hidden.append(self.made[base[1][0]])
            at = len(self.build)
            self.add(("again", base[1][0]) if base[0] == "value" else base)
            of = self.build[at:at + 2]
            del self.build[at:]
        source = self.array(root)
        if a.ndim > L.MAX_DIMS or source[0] in (L.FLOAT_LEAF, L.INT_LEAF):
            raise LookupError
        if source[0] != L.FRESH:
            if source not in self.sources:
                self.sources.append(source)
            source = L.SEEN, self.sources.index(source)
        self.made[k] = self.views
        self.views += 1
        self.build.extend([L.VIEW, self.made[k], len(self.t["views"])])
        rest = [0] * (L.MAX_DIMS - a.ndim)
        self.t["views"].extend([*source, *of, rg, self.t.id(a.dtype), a.ndim, offset, *a.shape, *rest, *a.strides, *rest])

    def done(self):
        """Let go of what the results hold alone, or nothing does."""
        for i in self.hidden:
            self.build.extend([L.DROP, i, 0])
        for i in sorted(self.free):
            self.build.extend([L.DROP_ARRAY, i, 0])


def _launch(t, r, leaves):
    """The header's words for a recording that is one list of launches; None for others."""
    p = r.program
    if not simple(r) or r.cells:
        return None
    fresh = {}
    for number in p.fresh:
        a = p.arrays[number]
        if not a.contiguous or a.ndim > L.MAX_DIMS:
            return None
        fresh[number] = len(fresh)
        rest = [0] * (L.MAX_DIMS - a.ndim)
        t["fresh"].extend([t.id(a.dtype), a.ndim, int(entries.row_major(a)), *a.shape, *rest, *a.strides, *rest])
    moving = []
    long, words, length, passed = p.plain
    where = {n: place for n, (place, _) in zip(p.outside, r.given)}
    try:
        steps = _Steps(t, r, leaves, fresh, where)
        for spec in (*left_by(r), r.results):
            steps.add(spec)
        steps.done()
        if any(kind in ("vars", "context", "local", "environment") or name is None for kind, _, name, _ in r.effects):    # (classes have caches)
            raise LookupError
        rows = [_spot(t, kind, owner, name) for kind, owner, name, _ in r.effects]
        if any(type(real) is not list for real, _ in r.growths):
            raise LookupError
        rows += [(L.END, t.id(real), 0) for real, grown in r.growths for _ in grown]
        for n in passed[:-1] if p.arena else passed:         # (the last is the arena)
            moving += steps.array(n)
    except (LookupError, _No):
        t.forget("keys", "views", "fresh")
        return None
    if max(steps.views, len(steps.sources)) > L.MAX_FRESH or len(moving) // 2 > L.MAX_MOVING or len(steps.build) // 3 > L.MAX_OBJECTS:
        t.forget("keys", "views", "fresh")
        return None
    t["build"].extend(steps.build)
    t["moving"].extend(moving)
    t["sources"].extend(w for source in steps.sources for w in source)
    t["left"].extend(w for row in rows for w in row)
    return dict(kind=L.LAUNCH, busy=r.lock.at, fresh=len(fresh), moving=len(moving) // 2, build=len(steps.build) // 3, left=len(rows),
                sources=len(steps.sources), program=machine()[0], list=words, length=length, away=int(long), arena=p.arena,
                stopped=C.addressof(p.stopped) if p.checks else 0)


# ---- what the machine code leaves to Python --------------------------------------------------------------------------------
def rest(r, leaves):
    """A function of the leaves that does the rest of a replay, once all guards have been compared: the result or MISSED."""
    try:
        return _written(r, leaves)
    except LookupError:
        pass

    def replay(*given):
        if not r.lock.acquire(False):
            return MISSED
        try:
            own = [None] * len(given)
            for i, x in zip(leaves.order, given):
                own[i] = tensor_of(x) if leaves.number[i] else x
            return r.run(own)
        except Miss as e:
            r.missed.add(e.reason)
            return MISSED
        finally:
            r.lock.release()
    return replay


def _written(r, leaves):
    """The same as a function written for the recording; LookupError where a replay must be able to go back further."""
    p, b = r.program, r.backward
    if r.acts or r.marks or p.draws and p.may_miss:
        raise LookupError
    env = dict(wrap=wrap, MISSED=MISSED, Miss=Miss, used_up=used_up, Pit=Pit, next_number=next_number, lock=r.lock, program=p, make=r.make, put=put,
               tensor_of=tensor_of)
    names = [f"a{i}" for i in leaves.order]
    everything = f"[{', '.join(f'a{i}' for i in range(len(names)))}]"
    lines = [f"a{i} = tensor_of(a{i})" for i in leaves.order if leaves.number[i]]

    def given(name, value):
        env[name] = value
        return name

    def thing(place):
        return _thing(place, given)
    arrays, outside = [], []
    for number, (place, array) in zip(p.outside, r.given):
        outside.append(f"{number}: {thing(place)}")
        if place[0] == "grad":               # the only ones that the table does not look at
            o = f"o{number}"
            lines += [f"{o} = {thing(place)}",
                      f"if {o} is None or {o}._rg: return MISSED",
                      f"{o} = {o}._array",
                      f"if {o}.shape != {given(f's{number}', array.shape)} or {o}.strides != {given(f't{number}', array.strides)} "
                      f"or {o}.dtype is not {given(f'd{number}', array.dtype)}: return MISSED"]
            arrays.append(o)
        else:
            arrays.append(f"{thing(place)}._array")
    seen = set()
    specs = left_by(r)
    lines.append(f"arrays = [{', '.join(arrays)}]")
    if r.writes:
        lines.append(f"if not {given('apart', r.apart)}(arrays): return MISSED")
    lines += ["try: env = program(arrays)", "except Miss: return MISSED"]
    lines += [f"{thing(place)}._bump({writer!r})" for place, writer in r.bumps]
    try:
        if b is not None or r.cells:
            raise LookupError
        grads = [(place, None if spec is None else _result(spec, given, seen)) for place, spec in r.grads]
        left = [_result(spec, given, seen) for spec in specs]
        out = _result(r.results, given, seen)
    except LookupError:                      # by the recipe
        lines += ["made = {'boxes': (), 'cells': {}}", f"leaves = {everything}"]
        if b is not None:
            lines += [f"node = {given('call', b.node)}(env, [{', '.join(map(thing, b.places))}], {{{', '.join(outside)}}}, "
                      f"lambda t, n: {given('tie', r.tie)}(made['cells'], leaves, t, n))",
                      f"made['exits'], made['number'] = {given('exits', b.exits)}(node), node.seq"]
        grads = [(place, None if spec is None else f"make({given(f'grad{i}', spec)}, env, leaves, made)") for i, (place, spec) in enumerate(r.grads)]
        left = [f"make({given(f'left{i}', spec)}, env, leaves, made)" for i, spec in enumerate(specs)]
        out = f"make({given('results', r.results)}, env, leaves, made)"
    lines += [f"leaf{i}, grad_of{i} = {thing(place)}, {value}" for i, (place, value) in enumerate(grads)]
    lines += [f"{', '.join(f'n{i}' for i in range(len(left)))}, out = {', '.join((*left, out))}"] if left else [f"out = {out}"]
    lines += [f"leaf{i}._grad = grad_of{i}" for i in range(len(grads))]           # (until here those that were there before are)
    for i, (kind, owner, name, _) in enumerate(r.effects):
        place, key = given(f"owner{i}", owner), given(f"name{i}", name)
        lines.append(f"{place}[{key}] = n{i}" if type(owner) in (dict, list) and name is not None
                     else f"put({kind!r}, {place}, {key}, n{i})")
    at = len(r.effects)
    for i, (real, grown) in enumerate(r.growths):
        lines.append(f"{given(f'list{i}', real)}.extend([{', '.join(f'n{at + k}' for k in range(len(grown)))}])")
        at += len(grown)
    lines.append("return out")
    body = "\n".join("  " + line for line in lines)
    exec(f"def replay({', '.join(names)}):\n if not lock.acquire(False): return MISSED\n try:\n{body}\n finally: lock.release()", env)
    return env.pop("replay")                 # (which would hold itself)


def _thing(place, given):
    """What is at a place, as an expression; `given` names objects."""
    kind, what = place
    if kind in FACTS:
        raise LookupError
    if kind == "data":
        return f"{_thing(what, given)}.data"
    return f"a{what}" if kind == "argument" else given(f"thing{id(what)}", what) if kind == "object" else f"{_thing(what, given)}._grad"


def _result(spec, given, seen):
    """A result as an expression, each tensor once."""
    kind, what = spec
    if kind == "value":
        k, number, dead, base, rg = what
        if dead is not None and not hasattr(dead, "name") or base is not None or rg & ~1 or k in seen:
            raise LookupError
        seen.add(k)
        if dead is not None:                 # its graph was used up
            places = ["None" if p is None else _thing(p, given) for p in dead.places]
            pit = "pit" if "pit" in seen else "(pit := Pit(next_number()))"
            seen.add("pit")
            return f"used_up(env[{number}], {given(f'dead{k}', dead)}, [{', '.join(places)}], {pit})"
        return f"wrap(env[{number}])"
    if kind in (list, tuple):
        return f"{kind.__name__}([{', '.join(_result(x, given, seen) for x in (what[1] if kind is list else what))}])"
    if kind == "const":
        return given(f"const{id(what)}", what)
    if kind == "item":
        return f"env[{what}].item()"
    raise LookupError


class _Gone:
    """The op of a graph that has been freed."""
    saves_output, nondiff_outputs = False, frozenset()

    def __init__(self, name):
        self.name = name

    def backward(self, node, g):
        """Raise what eager raises."""
        raise RuntimeError(RELEASED)


class _Used(Shortcut):
    """The node of a result whose graph has been differentiated and freed, until somebody looks at that graph (`dead`, a `results.Dead`)."""
    __slots__ = ("dead", "pit")

    def open(self):
        if self.dead is not None:
            self.pit.open(self.dead.graph)

    def stale(self):
        return self.dead is not None         # (for some inputs alone there may be a way)


class Pit:
    """The graphs that a call has used up. `ends`: those of the results, with the latter's edges, weakly."""
    __slots__ = ("number", "ends")

    def __init__(self, number):
        self.number, self.ends = number, []

    def edge(self, dead, leaves):
        """The edge of a result. `leaves`: what stands at the places (None: a leaf that nobody else knows)."""
        for d, of in self.ends:
            if d.graph is dead.graph and d.root == dead.root and (out := of()) is not None:
                return out
        node = _Used(_Gone(dead.name), tuple([wrap(np.empty(0)) if x is None else edge_of(x) for x in leaves]), {}, dead.nout)
        node.seq, node.released, node.dead, node.pit = self.number, True, dead, self
        out = node if dead.index is None else OutputOf(node, dead.index)
        self.ends.append((dead, weakref.ref(out)))
        return out

    def open(self, graph):
        """Put eager's nodes in the place of a graph's ends."""
        h, exits, edges = graph.history, {}, [None] * graph.size
        if h is None:
            return
        for dead, of in self.ends:
            out = of()
            if dead.graph is graph and out is not None:
                node = out if dead.index is None else out.parent
                exits[h.roots[dead.root]], node.dead = out, None
                for k, e in zip(dead.keys, node.edges):
                    edges[k] = e
        h.make({}, edges, exits, self.number)


def used_up(a, dead, leaves, pit):
    """A tensor whose graph, which led to some tensors, has been differentiated and freed."""
    t = wrap(a)
    t._rg |= 1
    t._node = pit.edge(dead, leaves)
    return t
