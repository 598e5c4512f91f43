"""How arrays lie in memory that they share: what of it is stored, and how they are seen in it."""
import numpy as np

from . import dtypes
from .ir.memory_spans import address


def layout_of(a):
    """Two arrays of which this is the same see the same elements."""
    return address(a), a.dtype, a.shape, a.strides


def extent(a):
    """The first address of an array's elements, and the one after the last."""
    at = address(a)
    if not a.size:
        return at, at
    steps = [(n - 1) * s for n, s in zip(a.shape, a.strides)]
    return at + sum(s for s in steps if s < 0), at + sum(s for s in steps if s > 0) + a.itemsize


def sharing(arrays):
    """The indices of arrays in groups whose memory overlaps."""
    spans = sorted((*extent(a), i) for i, a in enumerate(arrays))
    groups: list[list[int]] = []
    end = None
    for low, high, i in spans:
        if low < high and groups and end is not None and low < end:
            groups[-1].append(i)
            end = max(end, high)
        else:
            groups.append([i])
            end = high if low < high else None
    return sorted((sorted(g) for g in groups), key=lambda g: g[0])


def memory_of(arrays, group, low, high):
    """The bytes low..high, of which the arrays of the group see parts (what none of them sees is
    zero)."""
    out = np.zeros(high - low, np.uint8)
    for i in group:
        a = arrays[i]
        # an element that is repeated is written once
        once = [slice(0, 1) if s == 0 and n > 1 else slice(None)
                for n, s in zip(a.shape, a.strides)]
        a = a[(*once, ...)]                 # a view, also where there are no dimensions
        view_of(out, dtypes.FROM_NUMPY[a.dtype].name, list(a.shape), list(a.strides),
                address(a) - low)[...] = a
    return out


def view_of(memory, dtype, shape, strides, at):
    """An array over some bytes of a one-dimensional array, if they are all inside of it."""
    dtype = dtypes.NAMED[dtype].np
    if not (memory.ndim == 1 and memory.dtype == np.uint8 and len(shape) == len(strides) <= 64
            and type(at) is int
            and all(type(x) is int for x in (*shape, *strides))
            and all(0 <= n < 2**48 for n in shape)):
        raise ValueError("bad view")
    steps = [(n - 1) * s for n, s in zip(shape, strides)] if 0 not in shape else []
    low, high = (at + sum(s for s in steps if s < 0),
                 at + sum(s for s in steps if s > 0) + dtype.itemsize)
    if 0 in shape:
        return np.empty(shape, dtype)
    if low < 0 or high > memory.size:
        raise ValueError("a view reaches out of its memory")
    a = np.ndarray(shape, dtype, memory, at, strides)
    return a if a.flags.aligned else a.copy()


def order_of(a):
    """The dimensions from the outermost in memory, for an array that is dense in another order
    than row-major; else None."""
    if a.flags.c_contiguous:
        return None
    order = sorted(range(a.ndim), key=lambda d: -a.strides[d])
    return order if a.transpose(order).flags.c_contiguous else None
