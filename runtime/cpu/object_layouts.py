"""Checks on examples the memory layouts of CPython's and NumPy's objects, which machine code relies
on.

`passes/lower_llvm/calls/python_layouts.py` states the offsets. A proof makes objects and compares
the words at these offsets with what Python says of the objects. A proof never follows a word that
may not be an address. A layout that is not proved is not used: whet then runs in plain Python, and
says so."""

import ctypes as C
import functools
import sys
import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from whet.passes.lower_llvm.calls import python_layouts as L


def word(at: int) -> int:
    """The word at an address."""
    return int(C.c_uint64.from_address(at).value)


def field(x: Any, offset: int) -> int:
    """The word at an offset in an object."""
    return word(id(x) + offset)


def words_behind(address: int, count: int) -> list[int] | None:
    """The words at an address that an object holds; None if it cannot be an address."""
    if address % 8 or not 1 << 16 <= address < 1 << 47:
        return None
    return [word(address + 8 * i) for i in range(count)]


PLAIN = "whet runs in plain Python, which is slower and gives the same results"


# What is proved


def heads() -> bool:
    """Objects: the type, then fields of their own; before them the collector's words."""
    return (
        object.__basicsize__ == L.HEAD
        and all(field(x, L.TYPE) == id(type(x)) for x in (object(), 1.5, [], np.zeros(1)))
        and all(sys.getsizeof(t()) == t().__sizeof__() + L.GC_HEAD for t in (list, dict, set))
    )


def floats() -> bool:
    """Floats: the bits of the value."""
    return all(
        C.c_double.from_address(id(x) + L.FLOAT_VALUE).value == x for x in (1.5, -2.25e300, 3e-310)
    )


def tuples() -> bool:
    """Tuples: the length, then the elements."""
    made = [tuple(object() for _ in range(n)) for n in range(4)]
    return all(
        field(t, L.LENGTH) == len(t)
        and [field(t, L.TUPLE_ITEMS + 8 * i) for i in range(len(t))] == [*map(id, t)]
        for t in made
    )


def lists() -> bool:
    """Lists: the length, then the address of the elements."""
    made = [[object() for _ in range(n)] for n in range(1, 4)]
    return all(
        field(x, L.LENGTH) == len(x)
        and words_behind(field(x, L.LIST_ITEMS), len(x)) == [*map(id, x)]
        for x in made
    )


def dicts() -> bool:
    """Dictionaries: the number of entries, also of an instance's."""

    class Instance:
        pass

    x = Instance()
    x.a = x.b = 1  # type: ignore[attr-defined]
    made = [dict.fromkeys(range(n)) for n in range(4)] + [vars(x)]
    return all(field(d, L.DICT_LENGTH) == len(d) for d in made)


def slices() -> bool:
    """Slices: start, stop and step."""
    x = [object(), object(), object()]
    at = L.SLICE_START, L.SLICE_STOP, L.SLICE_STEP
    return [field(slice(*x), offset) for offset in at] == [*map(id, x)]


def slots() -> bool:
    """Slots of a class: where a descriptor says that its value lies."""

    class Slotted:
        __slots__ = ("one", "other")

    x, names = Slotted(), Slotted.__slots__
    x.one, x.other = object(), object()  # type: ignore[attr-defined]
    for name in names:
        definition = field(vars(Slotted)[name], L.SLOT_DEFINITION)
        if words_behind(definition, 3) is None:
            return False
        kind, offset = (
            C.c_int.from_address(definition + L.SLOT_KIND).value,
            word(definition + L.SLOT_OFFSET),
        )
        if kind != L.OBJECT_SLOT or not L.HEAD <= offset < Slotted.__basicsize__:
            return False
        if field(x, offset) != id(getattr(x, name)):
            return False
    return True


def cells() -> bool:
    """Cells of closures: what they hold."""
    x = object()
    return [field(c, L.CELL) for c in (types.CellType(x), types.CellType())] == [id(x), 0]


def proxies() -> bool:
    """Proxies of mappings: the mapping."""
    d = {"a": 1}
    return field(types.MappingProxyType(d), L.PROXY) == id(d)


def sets() -> bool:
    """Sets: how many elements there are, not how many places are or were in use."""
    shorter = {7, 8, 9}
    shorter.discard(8)
    return [field(x, L.SET_LENGTH) for x in (set(), {7}, {7, 8}, shorter)] == [0, 1, 2, 2]


def arrays() -> bool:
    """NumPy's arrays: all that an array is made of."""
    at = L.ARRAY
    for a in (np.zeros((3, 5), np.float32)[:, 1:4], np.zeros((4, 2, 3), np.int16).T, np.zeros(7)):
        ints = [C.c_int.from_address(id(a) + at[name]).value for name in ("nd", "flags")]
        found = [field(a, at[name]) for name in ("data", "base", "descr")]
        base = 0 if a.base is None else id(a.base)
        if [ints[0], ints[1] & 0x503] != [a.ndim, a.flags.num & 0x503]:
            return False
        if found != [a.__array_interface__["data"][0], base, id(a.dtype)]:
            return False
        if any(
            words_behind(field(a, at[name]), a.ndim) != [n % 2**64 for n in values]
            for name, values in (("dims", a.shape), ("strides", a.strides))
        ):
            return False
    return True


def dtypes() -> bool:
    """NumPy's data types: the bytes of an element, and whether it holds references."""
    known = {"f4": (4, 0), "c16": (16, 0), "O": (8, 1), "i2, O": (10, 1)}
    made = ((np.dtype(k), v) for k, v in known.items())
    return all((field(d, L.DTYPE_SIZE), field(d, L.DTYPE_FLAGS) & 1) == v for d, v in made)


def buffers() -> bool:
    """Types: their functions of the buffer protocol."""

    class Without:
        pass

    tables = [words_behind(field(t, L.TYPE_BUFFER), 2) for t in (Without, bytes, bytearray)]
    return [t and [w != 0 for w in t] for t in tables] == [
        [False, False],
        [True, False],
        [True, True],
    ]


# Without these there are no native entries; without those there are fewer tables for traced calls.
NEEDED: tuple[Callable[[], bool], ...] = (
    heads,
    floats,
    tuples,
    lists,
    dicts,
    slices,
    slots,
    arrays,
    dtypes,
    buffers,
)
HELPFUL: tuple[Callable[[], bool], ...] = (cells, proxies, sets)


def unproved(proofs: tuple[Callable[[], bool], ...]) -> list[str]:
    """The kinds of objects whose layouts are not the stated ones."""
    return [p.__name__ for p in proofs if not p()]


def warn(kinds: list[str], then: str) -> None:
    """Warn that some kinds of objects have other layouts, and what follows from that."""
    version = ".".join(map(str, sys.version_info[:3]))
    warnings.warn(
        f"this interpreter, {sys.implementation.name} {version} with NumPy {np.__version__}, keeps "
        f"{', '.join(kinds)} in another way than expected: {then}",
        RuntimeWarning,
        stacklevel=3,
    )


@functools.lru_cache(None)
def int_layout() -> str:
    """How an int stores its length: "size" before CPython 3.12, "tag" since, else "unknown"."""
    digits = lambda v: [v >> 30 * i & 2**30 - 1 for i in range(2)]
    values = (0, 1, 7, 2**30 - 1, 2**30, 2**45 + 7, 2**60 - 1)
    length = lambda v: (v > 0) + (v >= 2**30)
    found = lambda v: list((C.c_uint32 * length(v)).from_address(id(v) + L.HEAD + 8))
    if sys.int_info.bits_per_digit != 30 or any(found(v) != digits(v)[: length(v)] for v in values):
        return "unknown"
    if (
        all(
            field(v, L.HEAD) == length(v) and field(-v, L.HEAD) == 2**64 - length(v)
            for v in values[1:]
        )
        and field(0, L.HEAD) == 0
    ):
        return "size"
    tags = all(field(v, L.HEAD) >> 3 == length(v) and not field(v, L.HEAD) & 2 for v in values)
    return "tag" if tags and all(field(-v, L.HEAD) & 2 for v in values[1:]) else "unknown"
