"""The rows of a table that compare the arguments of a call, and what lies in slots of Python's state."""
import struct

import numpy as np
from whet import dtypes
from whet.tensor import Tensor
from whet.tensor_base import Base

from .cpython_layouts import layouts
from .native_entry import L
from .table_rows import No
from .tensor_facts import named


def _bits(x):
    return struct.unpack("<q", struct.pack("<d", x))[0]


def arguments(t, r, args, kwargs, numbers, leaves):
    """Rows for the arguments, and for what lies in slots; how many."""
    rows, free, count, tensors = t["rows"], len(args) + 1, 0, []
    if len(leaves.order) > L.MAX_LEAVES or free > L.MAX_OBJECTS:
        raise No

    def row(kind, i, *words):
        nonlocal count
        count += 1
        rows.extend([kind, i, len(words) + 3, *words])

    def parts(xs):
        nonlocal free
        start, free = free, free + len(xs)
        if free > L.MAX_OBJECTS:
            raise No
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
        elif k is list and layouts.list:
            row(L.LIST, i, len(x), parts(x))
        elif k is dict and all(type(key) is str for key in x):
            row(L.DICT, i, len(x), parts(list(x.values())), *[t.id(key) for key in x])
        elif x is None or x is True or x is False or x is ... or id(x) in r.world.seen or isinstance(x, dtypes.dtype):
            row(L.SAME, i, t.id(x))
        else:
            raise No
    if free + len(r.world.slots) > L.MAX_OBJECTS:
        raise No
    if any(s.item is not None or s.is_array for s in r.world.slots):
        raise No
    for i, (s, leaf) in enumerate(zip(r.world.slots, leaves.slots), free):
        t["slots"].extend([*s.spot.read_row(t), i])
        if s.is_number:
            any_number(i, s.spot.get(), leaf)
        else:
            tensors.append((i, leaf))
    first = {}
    for i, x in tensors:
        if first.setdefault(id(x), i) == i:
            row(L.TENSOR, i, leaves.place[id(x)], *_tensor(t, r, x, leaves.leaf[id(x)]))
        else:
            row(L.AGAIN, i, leaves.place[id(x)])
    if len(first) != leaves.tensors:
        raise No
    known = r.world.tensors
    size = 1 << (2 * len(known)).bit_length()
    t["known"].extend([0] * size)
    for x in known:
        at = ((x >> 4) * L.GOLDEN % (1 << 64)) >> 40
        while t["known"][at % size]:
            at += 1
        t["known"][at % size] = x
    return count


def _tensor(t, r, x, leaf):
    a = x._array
    if type(x) is not Tensor or a.ndim > 32 or x._extra or named(x) or not a.flags.aligned or type(a) is not np.ndarray:
        raise No
    own, there = r.identity[leaf], (not r.without[leaf]) | (x._node is not None) << 1 | (x._base is not None) << 2
    return (t.id(type(x)), t.id(a.dtype), a.ndim, x._rg, a.flags.num & 0x500, there, 0 if own is None else t.id(own),
            *[w for pair in zip(a.shape, a.strides) for w in pair])
