"""Arrays to the bit: copies with the same layout, comparison, digests."""
import functools
import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from whet import devices
from whet.cpu import memory
from whet.cpu.rows import rows
from whet.ir import rows as ir_rows
from whet.ir import scalar
from whet.ir.graph import Type

PIECE = 1 << 16                  # elements that are looked at together
BLOCK = 1 << 12                  # words of 32 bits that have random numbers of their own
ODD = 0x9E3779B97F4A7C15         # tells the random numbers of blocks apart
FLOATS = "fcV"                   # kinds of data types that have NaNs
LARGE = 1 << 16                  # bytes of a piece that a kernel adds up
SIGN, INFINITY = -(1 << 31), 0x7F800000          # of a float of 32 bits, as a whole number


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


def copy_with_layout(a: Any, like: Any = None) -> Any:
    """A copy with the layout of an array or a type, at first its own."""
    if devices.is_elsewhere(a):
        return devices.beyond.with_strides(a, a.strides if like is None else like.strides)
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
    return (a.shape == b.shape and a.dtype == b.dtype
            and all(map(_same_but_for_nans, pieces(a), pieces(b))))


def _same_but_for_nans(a: Any, b: Any) -> bool:
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
    """The sum of a piece, and the bytes of it that are not added up."""
    # The kernel looks for NaNs in passing: there are hardly ever any.
    known = a.dtype == np.float32 and a.nbytes >= LARGE
    sums, has_nan = _sums(a if known or a.dtype.kind not in FLOATS else _with_one_nan(a))
    if has_nan and known:
        sums, _ = _sums(_with_one_nan(a))
    total = functools.reduce(lambda total, x: (total * ODD + x) % (1 << 64), sums, 0)
    raw = a.view(np.uint8)
    return total, raw[raw.size & -4:].tobytes()


def _with_one_nan(a: Any) -> Any:
    """An array with one NaN in the place of all."""
    none = np.isnan(a)
    if none.any():
        a = a.copy()
        a[none] = np.array(np.nan).astype(a.dtype)
    return a


def _sums(a: Any) -> tuple[list[int], bool]:
    """The sums of a piece's blocks. Is there a NaN, if the elements of a large one are floats of 32
    bits?"""
    raw = a.view(np.uint8)
    words, weights = raw[:raw.size & -4].view(np.int32), _weights()
    sums: list[int] = []
    has_nan, done = False, 0
    if a.nbytes >= LARGE:
        done = words.size // BLOCK * BLOCK
        found, nans = rows(_program(), [words[:done].reshape(-1, BLOCK), weights])
        sums, has_nan = found.tolist(), bool(nans.any() or _has_nan(words[done:]))
    for i in range(done, words.size, BLOCK):
        w = words[i:i + BLOCK].astype(np.int64)
        sums.append(int(w @ weights[:w.size]))
    return sums, has_nan


def _has_nan(words: Any) -> bool:
    return bool(((words & ~SIGN) > INFINITY).any())


@functools.cache
def _program() -> Any:
    """The row program of a digest: the sum of each block of words, and whether one of them is a
    NaN."""
    word = scalar.arg(0)
    is_nan = (word & scalar.const(~SIGN)) > scalar.const(INFINITY)
    return ir_rows.Program(
        "digest", (ir_rows.Operand("i32"), ir_rows.Operand("i64", ir_rows.Extent.COLUMN)),
        (ir_rows.Reduce("sum", scalar.cast(word, "i64") * scalar.arg(1)),
         ir_rows.Reduce("any", is_nan),
         ir_rows.StoreRow(scalar.arg(2)), ir_rows.StoreRow(scalar.arg(3))))


@functools.cache
def _weights() -> Any:
    # Not of numpy.random: a run in which that is loaded looks as if it drew from there.
    return np.frombuffer(hashlib.shake_128(b"whet").digest(8 * BLOCK), np.int64) | np.int64(1)


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
    large as the largest? Of others than floats nothing can be said."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype.kind != "f" or not a.size:
        return True
    bound = 4096 * np.finfo(a.dtype).eps
    with np.errstate(all="ignore"):
        a, b = (np.where(np.isfinite(x), x, 0).astype(np.float64) for x in (a, b))
        return bool(np.abs(a - b).max() <= bound * np.abs(b).max())
