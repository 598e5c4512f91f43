"""Memory for large CPU arrays, kept when they die and handed out again: page faults cost more than a large eager op's arithmetic.

Blocks of 64 KiB and more come in sizes of a quarter power of two, aligned to 64 bytes; those of 4 MiB and more are mapped on
their own with huge pages asked for. A block belongs to a small object that is its array's base; when the last view is gone the
block goes to the list of its size, or back to the system once `limit` bytes lie there. All of it runs under the GIL.
"""
import ctypes as C
import functools
import math
import operator
import os
import sys
from collections.abc import Callable

import numpy as np

from . import flat, guard
from .heap_layout import BLOCK_TYPE, CACHED, FRESH, HEAP_BYTES, LIMIT, LIVE, PEAK, REUSED, SLOW, SMALLEST

__all__ = ["empty", "empty_cache", "reset_peak", "scratch", "set_limit", "stats"]
empty: Callable[..., np.ndarray]         # made at first use, by __getattr__

Block = None                     # the type of what large memory belongs to, once there is machine code


def source():
    from .heap_code import source
    return source()


NAMES = ["empty", "array_new", "block_new", "block_dealloc", "heap_empty", "heap_take", "heap_give"]


@functools.lru_cache(None)
def exports():
    """Addresses that the allocator's code names: its words, and NumPy's functions."""
    capsule = C.pythonapi.PyCapsule_GetPointer
    capsule.restype, capsule.argtypes = C.c_void_p, [C.py_object, C.c_char_p]
    table = capsule(np._core._multiarray_umath._ARRAY_API, None)
    entry = lambda i: C.c_void_p.from_address(table + 8 * i).value
    return {"whet_heap": flat.reserve(HEAP_BYTES), "whet_dtype": id(np.dtype),
            "whet_NewFromDescr": entry(94), "whet_SetBaseObject": entry(282), "whet_DescrConverter": entry(174)}


def proved():
    """Do NumPy's data types lie in memory as the allocator's code reads them?"""
    head = object.__basicsize__
    word = lambda thing, offset: C.c_uint64.from_address(id(thing) + head + offset).value
    known = {"f4": (4, 0), "c16": (16, 0), "O": (8, 1), "i2, O": (10, 1)}                # the size, and whether it holds references
    return all((word(d, 24), word(d, 16) & 1) == expected for d, expected in ((np.dtype(k), v) for k, v in known.items()))


def _word(offset):
    return C.c_int64.from_address(exports()["whet_heap"] + offset)


def begin(found, make_type):
    """Fill in what the code, now loaded at `found`, needs of Python."""
    global Block
    Block = block = make_type("whet.memory.Block", object.__basicsize__ + 16, [(52, found["block_dealloc"])], flags=1 << 18 | 1 << 7)
    for offset, thing in ((BLOCK_TYPE, block), (SLOW, _empty)):
        C.pythonapi.Py_IncRef(C.py_object(thing))            # the code holds them for ever
        _word(offset).value = id(thing)
    _word(LIMIT).value = 0 if guard.SIDE else available() // 8


def available():
    """The bytes of memory that this process may have."""
    from . import pool
    try:
        have = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    except (OSError, ValueError):
        have = [8 << 30]
    for words in pool.control_group("memory", ["memory.limit_in_bytes"], ["memory.max"]):
        if words[0].isdigit():
            have.append(int(words[0]))
    return min(have)


def _empty(shape, dtype, strides=None):
    """empty(shape, dtype, strides=None)

    A new array, its contents undefined; with strides, in bytes and not negative, it takes what they reach."""
    from . import native
    plain = type(shape) is tuple and isinstance(dtype, np.dtype) and all(type(n) is int for n in shape)
    if not plain:
        sizes = shape if np.iterable(shape) else (shape,)
        shape, dtype = tuple(int(operator.index(n)) for n in sizes), np.dtype(dtype)
    if strides is not None:
        strides = tuple(int(operator.index(s)) for s in (strides if np.iterable(strides) else (strides,)))
        if len(strides) != len(shape) or min(strides, default=0) < 0:
            raise ValueError(f"empty: strides {strides} for shape {shape}: one for each dimension is needed, none of them negative")
    if native.enabled() and not plain:
        return sys.modules[__name__].empty(shape, dtype, strides)
    fenced = guard.SIDE and dtype.itemsize and not dtype.hasobject
    if strides is None and not fenced:
        return np.empty(shape, dtype)
    if min(shape, default=1) < 0:
        raise ValueError(f"empty: negative dimensions are not allowed: {shape}")
    reach = [(n - 1) * s for n, s in zip(shape, strides, strict=True)] if strides else [(math.prod(shape) - 1) * dtype.itemsize]
    span = dtype.itemsize + sum(reach) if all(shape) else 0
    block = guard.fenced(span, guard.SIDE) if fenced else np.empty(max(span, dtype.itemsize), np.uint8)
    return np.ndarray(shape, dtype, block, strides=strides)


def scratch(size, found=None):
    """Memory for `size` bytes, aligned to 64 bytes: `found`, if that is large enough, or new. (Under a guard it ends where they do.)"""
    from . import native
    if found is not None and (found.size >= size if guard.SIDE is None else size <= found.size < size + 64):
        return found
    if guard.SIDE or size >= SMALLEST and native.enabled():
        return sys.modules[__name__].empty((-(-max(size, 1) // 64) * 64,), np.uint8)
    block = np.empty(size + 64, np.uint8)
    at = -block.__array_interface__["data"][0] % 64
    return block[at:at + max(size, 1)]


def __getattr__(name):
    if name != "empty":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import native
    made = _empty
    if native.enabled():
        made = native.function(native.symbol("empty"), "empty", _empty.__doc__, native.METH_FASTCALL | native.METH_KEYWORDS)
    globals()["empty"] = made
    return made


def stats():
    """Bytes in large blocks that are alive, that were at most, and that are kept for reuse; the limit of those kept; how many
    blocks were reused and how many are new. All zero where the allocator is off."""
    from . import native
    names = {"live": LIVE, "peak": PEAK, "cached": CACHED, "limit": LIMIT, "reused": REUSED, "fresh": FRESH}
    return {name: _word(offset).value if native.enabled() else 0 for name, offset in names.items()}


def taken(size):
    """The bytes that an array of `size` bytes takes: large ones get blocks of certain sizes."""
    if size < SMALLEST or guard.SIDE:
        return size
    shift = (size - 1).bit_length() - 3
    return ((size - 1 >> shift) + 1) << shift


def reset_peak():
    """Let the peak start again from what is alive now."""
    from . import native
    if native.enabled():
        _word(PEAK).value = _word(LIVE).value


def growth(call):
    """How many bytes in large blocks `call()` adds to those that are alive, at most; the peak stays what it was."""
    from . import native
    if not native.enabled():
        call()
        return 0
    live, before = _word(LIVE).value, _word(PEAK).value
    _word(PEAK).value = live
    try:
        call()
        return _word(PEAK).value - live
    finally:
        _word(PEAK).value = max(before, _word(PEAK).value)


def empty_cache():
    """Give all blocks that are kept for reuse back to the system."""
    from . import native
    if native.enabled():
        C.PYFUNCTYPE(None)(native.symbol("heap_empty"))()
        _trim()


def _trim():
    """Let the C library give back what it holds of those below `MAPPED`, which lie in its heap."""
    trim = getattr(_library(), "malloc_trim", None)          # (glibc's; others give back by themselves)
    if trim is not None:
        trim(C.c_size_t(0))


@functools.lru_cache(None)
def _library():
    return C.CDLL(None)


def set_limit(limit):
    """Keep at most this many bytes for reuse."""
    limit = operator.index(limit)
    if limit < 0:
        raise ValueError(f"set_limit: expected at least 0 bytes, got {limit}")
    if stats()["cached"] > limit:
        empty_cache()
    from . import native
    if native.enabled() and guard.SIDE is None:
        _word(LIMIT).value = limit
