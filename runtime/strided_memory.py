"""Views of memory by sizes, strides and an offset, which all are counted in elements."""
from math import prod

import numpy as np

from .ir.memory_spans import address, span
from .ir.outline import Outline


def dense_strides(shape):
    """Row-major strides, in elements."""
    out, n = [0] * len(shape), 1
    for d in range(len(shape) - 1, -1, -1):
        out[d] = n
        n *= max(shape[d], 1)
    return tuple(out)


def strided(a, shape, strides, offset=0):
    """A view of `a`'s memory with the strides and the offset from its first element, in elements;
    never outside of the memory that `a` is a part of."""
    size = a.itemsize
    strides = tuple(s * size for s in strides)
    if type(a) is Outline:
        return a.inside(shape, strides, offset * size)
    if prod(shape) == 0:
        part = a if a.size == 0 else a[(slice(0, 0),) * a.ndim or ...]
        # The caller is told the strides it asked for, though there is nothing in memory.
        return np.lib.stride_tricks.as_strided(part.reshape(-1)[:0].reshape(shape), shape, strides)
    root = a
    while isinstance(root.base, np.ndarray):
        root = root.base
    low, high = span(root)
    at = address(a) + offset * size
    first = at + sum(s * (n - 1) for s, n in zip(strides, shape) if s < 0)
    last = at + sum(s * (n - 1) for s, n in zip(strides, shape) if s > 0) + size
    if first < low or last > high:
        raise RuntimeError(
            f"setStorage: sizes {list(shape)}, strides {[s // size for s in strides]} and the "
            f"offset need memory from byte {first - low} to {last - low}, which is out of bounds "
            f"for storage of size {high - low}")
    flat = (root.reshape(-1)
            if root.flags.c_contiguous else root.T.reshape(-1) if root.flags.f_contiguous else None)
    if flat is None or flat.size == 0:
        r = (np.lib.stride_tricks.as_strided(a[(0,) * a.ndim + (...,)], shape, strides)
             if offset == 0 else _offset(a, shape, strides, offset))
        return r
    r = np.ndarray(shape, a.dtype, flat.view(np.uint8), at - low, strides)
    if not a.flags.writeable:
        r.flags.writeable = False
    return r


class _Memory:
    """An array interface over an address that a view must keep alive."""

    def __init__(self, a, at, shape, strides):
        self.keep = a
        self.__array_interface__ = dict(version=3, shape=shape, strides=strides,
                                        typestr=f"|V{a.itemsize}", data=(at, not a.flags.writeable))


def index_of_part(shape, strides, size, stride, offset):
    """The index by which `slice` shows a part of a tensor that lies row by row; None where no such
    index does. All are counted in elements. A number is counted from the nearer end, so that it
    stays the same where there are more rows."""
    if prod(size) == 0 or any(s != t for s, t, n in zip(strides, dense_strides(shape), shape)
                              if n > 1):
        return None
    index, left = [], list(zip(size, stride))
    for n, step in zip(shape, dense_strides(shape)):
        first, offset = divmod(offset, step)
        m, own = left[0] if left else (0, 0)
        by, rest = divmod(own, step)
        if not m or rest or by < 1 or first + (m - 1) * by >= n:
            index.append(_from_nearer_end(first, n))
            continue
        left.pop(0)
        end = None if first + m * by >= n else _from_nearer_end(first + (m - 1) * by + 1, n)
        index.append((_from_nearer_end(first, n) or None, end, by if by > 1 else None))
    return None if left or offset else tuple(index)


def _from_nearer_end(i, n):
    return i if i < n - i else i - n


def _offset(a, shape, strides, offset):
    """`strided` over memory that is no dense block."""
    at = address(a) + offset * a.itemsize
    return np.asarray(_Memory(a, at, shape, strides)).view(a.dtype)


def alone(a):
    """An array as one that has memory of its own: the memory beside it is not used."""
    return np.asarray(_Memory(a, address(a), a.shape, a.strides)).view(a.dtype)
