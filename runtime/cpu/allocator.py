"""The Python side of the allocator of large memory: the words that machine code shares, the NumPy
and Python functions that it calls, and the fallback where machine code is off."""
import contextlib
import ctypes as C
import functools
import math
import operator
import os
import threading

import numpy as np

from ..ir.outline import Outline
from ..ir.symbolic_size import sized
from . import guarded_memory, mapped_code, thread_pool
from .allocator_layout import ABSENT, BLOCK_TYPE, HEAP_BYTES, LIMIT, SLOW

# the type of what large memory belongs to, once there is machine code
Block = None
machine_empty = None             # `empty` as machine code, once there is that
FASTCALL_KEYWORDS = 0x80 | 0x2


def source():
    from .allocator_code import source
    return source()


NAMES = ["empty", "array_new", "block_new", "block_dealloc", "heap_empty", "heap_take", "heap_give"]


@functools.lru_cache(None)
def exports():
    """Addresses that the allocator's code names: its words, and NumPy's functions."""
    capsule = C.pythonapi.PyCapsule_GetPointer
    capsule.restype, capsule.argtypes = C.c_void_p, [C.py_object, C.c_char_p]
    table = capsule(np._core._multiarray_umath._ARRAY_API, None)
    entry = lambda i: C.c_void_p.from_address(table + 8 * i).value
    return {
        "whet_heap": mapped_code.reserve(HEAP_BYTES),
        "whet_trim": C.cast(trim_of_library(), C.c_void_p).value,
        "whet_dtype": id(np.dtype),
        "whet_Scalar": entry(60),
        "whet_NewFromDescr": entry(94),
        "whet_SetBaseObject": entry(282),
        "whet_DescrConverter": entry(174)}


@functools.lru_cache(None)
def trim_of_library():
    """The function that makes the C library return its unused memory to the system. Only that of
    glibc holds much; in others it is one that does nothing with a null pointer."""
    library = C.CDLL(None)
    return getattr(library, "malloc_trim", library.free)


def heap_word(offset):
    """A word of the heap's state, to read and to write."""
    return C.c_int64.from_address(exports()["whet_heap"] + offset)


def begin(found, make_type, function):
    """Give the code, now loaded at `found`, the Python objects that it needs."""
    global Block, machine_empty
    machine_empty = machine = function(found["empty"], "empty", _empty.__doc__, FASTCALL_KEYWORDS)

    def other_arguments(shape, dtype, strides=None):
        """What the code calls with arguments that it does not take."""
        return (_empty(shape, dtype, strides) if _plain(shape, dtype) or _unknown(shape, strides)
                else machine(*_made_plain(shape, dtype, strides)))

    Block = block = make_type("whet.memory.Block",
                              object.__basicsize__ + 24, [(52, found["block_dealloc"])],
                              flags=1 << 18 | 1 << 7)
    for offset, thing in ((BLOCK_TYPE, block), (SLOW, other_arguments)):
        C.pythonapi.Py_IncRef(C.py_object(thing))            # the code holds them for ever
        heap_word(offset).value = id(thing)
    heap_word(LIMIT).value = 0 if guarded_memory.SIDE else available() // 8


def available():
    """The bytes of memory that this process may have."""
    try:
        have = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    except (OSError, ValueError):
        have = [8 << 30]
    for words in thread_pool.control_group("memory", ["memory.limit_in_bytes"], ["memory.max"]):
        if words[0].isdigit():
            have.append(int(words[0]))
    return min(have)


_here, _counting = threading.local(), threading.Lock()


def _count(more):
    with _counting:
        heap_word(ABSENT).value += more


def is_absent():
    """Does this thread allocate outlines instead of arrays?"""
    return getattr(_here, "absent", False)


@contextlib.contextmanager
def without_memory():
    """A context in which this thread's new arrays are outlines: ops are planned and not run."""
    before = is_absent()
    _here.absent = True
    _count(1)
    try:
        yield
    finally:
        _count(-1)
        _here.absent = before


def _plain(shape, dtype):
    """Are these arguments in the form that machine code takes?"""
    return (type(shape) is tuple and isinstance(dtype, np.dtype)
            and all(type(n) is int for n in shape))


def _unknown(shape, strides):
    """Are some of the sizes symbolic?"""
    return type(shape) in (tuple, list) and sized((*shape, *(strides or ())))


def _made_plain(shape, dtype, strides):
    """Shape, type and strides in the form that machine code takes."""
    if not _plain(shape, dtype):
        sizes = shape if np.iterable(shape) else (shape,)
        shape, dtype = tuple(int(operator.index(n)) for n in sizes), np.dtype(dtype)
    if strides is not None:
        strides = tuple(
            int(operator.index(s)) for s in (strides if np.iterable(strides) else (strides,)))
        if len(strides) != len(shape) or min(strides, default=0) < 0:
            raise ValueError(
                f"empty: strides {strides} for shape {shape}: one for each dimension is needed, "
                "none of them negative")
    return shape, dtype, strides


def _empty(shape, dtype, strides=None):
    """empty(shape, dtype, strides=None)

    A new array, its contents undefined; with strides, in bytes and not negative, it takes what they
    reach."""
    if _unknown(shape, strides):
        return Outline(shape, dtype, strides)
    shape, dtype, strides = _made_plain(shape, dtype, strides)
    if is_absent():
        return Outline(shape, dtype, strides)
    fenced = guarded_memory.SIDE and dtype.itemsize and not dtype.hasobject
    if strides is None and not fenced:
        return np.empty(shape, dtype)
    if min(shape, default=1) < 0:
        raise ValueError(f"empty: negative dimensions are not allowed: {shape}")
    reach = ([(n - 1) * s for n, s in zip(shape, strides, strict=True)] if strides else [
        (math.prod(shape) - 1) * dtype.itemsize])
    span = dtype.itemsize + sum(reach) if all(shape) else 0
    block = (guarded_memory.fenced(span, guarded_memory.SIDE)
             if fenced else np.empty(max(span, dtype.itemsize), np.uint8))
    return np.ndarray(shape, dtype, block, strides=strides)
