"""Arrays to the bit: copies that lie alike, comparison, digests."""
import functools
import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from whet import devices
from whet.cpu import memory
from whet.ir.graph import Type

PIECE = 1 << 16                  # elements that are looked at together
BLOCK = 1 << 13                  # words of 32 bits that have random numbers of their own,
ODD = 0x9E3779B97F4A7C15         # and what tells blocks apart
FLOATS = "fcV"                   # kinds of data types that have NaNs


def template(a: Any) -> Any:
    """Memory of an array's shape, strides and type (or of such a `Type`)."""
    if type(a) is np.ndarray and a.flags.c_contiguous:
        m = memory.empty(a.shape, a.dtype)
        if m.strides == a.strides:
            return m
    a = a if type(a) is Type else Type.of(a)
    if a.contiguous:
        m = memory.empty(a.shape, a.dtype)
        if m.strides == a.strides or not a.size:
            return m
        # Any stride will do for a single element.
        return np.ndarray(a.shape, a.dtype, m.reshape(-1), 0, a.strides)
    low, high = a.span
    return np.ndarray(a.shape, a.dtype, memory.empty(high - low, np.uint8), -low, a.strides)


def laid(a: Any, like: Any = None) -> Any:
    """A copy with the layout of an array or a type, at first its own."""
    if devices.is_elsewhere(a):
        return devices.beyond.laid(a, a.strides if like is None else like.strides)
    out = template(a if like is None else like)
    np.copyto(out, a)
    return out


def pieces(a: Any) -> Iterator[Any]:
    """The elements of an array in C order, as many at a time as fit into a cache: where they part
    is a matter of the sizes alone."""
    if a.size <= PIECE:
        yield np.ascontiguousarray(a).reshape(-1)
        return
    rows = PIECE * len(a) // a.size
    if rows:
        yield from (np.ascontiguousarray(a[i:i + rows]).reshape(-1) for i in range(0, len(a), rows))
    else:
        yield from (p for row in a for p in pieces(row))


def same_bits(a: Any, b: Any) -> bool:
    """Are two arrays equal to the bit, all NaNs being one?"""
    a, b = devices.on_host(a), devices.on_host(b)
    return a.shape == b.shape and a.dtype == b.dtype and all(map(_same, pieces(a), pieces(b)))


def _same(a: Any, b: Any) -> bool:
    if np.array_equal(a.view(np.uint8), b.view(np.uint8)):
        return True
    if a.dtype.kind not in FLOATS:
        return False
    none = np.isnan(a)
    return bool((none == np.isnan(b)).all()) and a[~none].tobytes() == b[~none].tobytes()


def digest(a: Any) -> int:
    """A number of 64 bits that arrays of the same bits share, all NaNs being one, and hardly any
    others.

    32 bits at a time are multiplied with random numbers of 64 and added up: where any of them
    differ, sums are equal once in 2^32 times. Sums of pieces go through a cryptographic hash
    together, with the type and the sizes."""
    a = devices.on_host(a)
    sums = [_sum(p) for p in pieces(a)]
    return int.from_bytes(
        hashlib.blake2b(repr((a.dtype.str, a.shape, sums)).encode(), digest_size=8).digest(),
        "little",
    )


def _sum(a: Any) -> tuple[int, bytes]:
    if a.dtype.kind in FLOATS:
        none = np.isnan(a)
        if none.any():
            a = a.copy()
            a[none] = np.array(np.nan).astype(a.dtype)
    raw = a.view(np.uint8)
    words = raw[:raw.size & -4].view(np.uint32)
    total = 0
    for i in range(0, words.size, BLOCK):
        w = words[i:i + BLOCK].astype(np.uint64)
        total = (total * ODD + int(w @ _weights()[:w.size])) % (1 << 64)
    return total, raw[raw.size & -4:].tobytes()


@functools.cache
def _weights() -> Any:
    # Not of numpy.random: a run in which that is loaded looks as if it drew from there.
    return np.frombuffer(hashlib.shake_128(b"whet").digest(8 * BLOCK), np.uint64) | np.uint64(1)


def roughly_equal(a: Any, b: Any) -> bool:
    """Are two gradients the same, but for the rounding of another formula?"""
    a, b = devices.on_host(a), devices.on_host(b)
    wide = np.complex128 if a.dtype.kind == "c" else np.float64
    return (
        a.shape == b.shape
        and a.dtype == b.dtype
        and np.allclose(a.astype(wide), b.astype(wide), 0.05, 1e-3, equal_nan=True)
    )


def near(a: Any, b: Any) -> bool:
    """Are two results the same, but for the rounding of some thousand operations on numbers as
    large as the largest? (Of others than floats nothing can be said.)"""
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype.kind != "f" or not a.size:
        return True
    bound = 4096 * np.finfo(a.dtype).eps
    with np.errstate(all="ignore"):
        a, b = (np.where(np.isfinite(x), x, 0).astype(np.float64) for x in (a, b))
        return bool(np.abs(a - b).max() <= bound * np.abs(b).max())
