"""Products of sparse matrices by kernels (`passes/lower_llvm/products/sparse.py`) or with NumPy."""
from functools import partial

import numpy as np
from whet.passes.lower_llvm import targets
from whet.passes.lower_llvm.products import sparse as kernels

from . import indexed, memory, native, taped_launches, thread_pool
from .reference_only import REFERENCE
from .rows import contiguous

ELEMENTS = {np.dtype("f4"): "float", np.dtype("f8"): "double"}
UNIT_STEPS = 1 << 16    # multiply-adds that are worth a thread of their own
COLUMNS = 16            # columns that a thread has at least: a line of the cache


def _have_kernel(*arrays):
    """Is there a kernel for these types?"""
    return (not REFERENCE and targets.has_fma() and arrays[0].dtype in ELEMENTS
            and all(a.dtype == arrays[0].dtype for a in arrays))


def _fits(*arrays):
    """Is there a kernel for these arrays?"""
    return _have_kernel(*arrays) and all(a.size for a in arrays)


def check(index, size, name):
    """Raise where an index is out of range."""
    if index.size and (index.min() < 0 or index.max() >= size):
        raise IndexError(f"{name}: an index is out of range for {size} rows")


def row_sums(values, to, come, dense, rows, in_order):
    """(rows, width): each entry's value times row `come` of `dense`, added to row `to`."""
    width = dense.shape[1]
    if _fits(values, dense) and rows:
        to, come = contiguous(to), contiguous(come)
        if _within(to, rows, in_order) and indexed.within(come, dense.shape[0]):
            out = memory.empty((rows, width), values.dtype)
            _launch_sums(contiguous(values), to, come, contiguous(dense), out, in_order)
            return out
    check(to, rows, "sparse product")
    check(come, dense.shape[0], "sparse product")
    out = np.zeros((rows, width), _wide(values.dtype))
    np.add.at(out, to, values[:, None].astype(out.dtype) * dense[come].astype(out.dtype))
    return out.astype(values.dtype)


def pointed_sums(values, pointers, come, dense):
    """`row_sums` of entries row by row, of where each row begins among them and the last ends."""
    return _sums_of_rows(values, pointers, come, dense, are_trusted=False)


def equal_sums(values, pointers, come, dense, each, ones):
    """`row_sums` of entries row by row, each row of `each` entries. It is not checked that
    `pointers` say so. `ones`: all values are one: kernels multiply by them, exports need not."""
    return _sums_of_rows(values, pointers, come, dense, are_trusted=True)


def _sums_of_rows(values, pointers, come, dense, *, are_trusted):
    rows, width, count = pointers.shape[0] - 1, dense.shape[1], values.size
    if _have_kernel(values, dense) and rows > 0 and dense.size:
        come = contiguous(come)
        if indexed.within(come, dense.shape[0]):
            elem, bad = ELEMENTS[values.dtype], np.zeros(1, np.int64)
            out = memory.empty((rows, width), values.dtype)
            if not are_trusted:
                taped_launches.verdict(bad)
            kernel = native.kernel(f"sparse/sums/{elem}/pointers",
                                   partial(kernels.pointed_sums, elem=elem))
            native.launch(kernel, rows, max(1, UNIT_STEPS * rows // (count * width + out.size)),
                          contiguous(values), contiguous(pointers), come, contiguous(dense), out,
                          bad, count, width, rows)
            if not bad[0]:
                return out
    return row_sums(values, rows_of(pointers, count), come, dense, rows, in_order=True)


def _within(index, size, in_order):
    """Is an index in range? One that never goes down is where its ends are."""
    if in_order:
        return indexed.within(index[:1], size) and indexed.within(index[-1:], size)
    return indexed.within(index, size)


def _wide(dtype):
    """The type in which NumPy adds: that of half the size in single precision."""
    return np.dtype("f4") if dtype.itemsize == 2 and dtype.kind not in "iu" else dtype


def _launch_sums(values, to, come, dense, out, in_order):
    elem, (rows, width), count = ELEMENTS[values.dtype], out.shape, values.size
    kernel = native.kernel(f"sparse/sums/{elem}/{'rows' if in_order else 'columns'}",
                           partial(kernels.sums, elem=elem, in_order=in_order))
    work = count * width + out.size
    if in_order:
        units, grain = rows, max(1, UNIT_STEPS * rows // work)
    else:
        units = width
        grain = max(COLUMNS, UNIT_STEPS * width // work, -(-width // thread_pool.get_num_threads()))
    native.launch(kernel, units, grain, values, to, come, dense, out, count, width, rows)


def dots(of_x, of_y, x, y):
    """For each entry the product of a row of x and a row of y."""
    if _fits(x, y) and of_x.size:
        of_x, of_y = contiguous(of_x), contiguous(of_y)
        if indexed.within(of_x, x.shape[0]) and indexed.within(of_y, y.shape[0]):
            elem, width = ELEMENTS[x.dtype], x.shape[1]
            out = memory.empty(of_x.shape, x.dtype)
            kernel = native.kernel(f"sparse/dots/{elem}", partial(kernels.dots, elem=elem))
            native.launch(kernel, of_x.size, max(1, UNIT_STEPS // width), of_x, of_y,
                          contiguous(x), contiguous(y), out, width)
            return out
    check(of_x, x.shape[0], "sparse product")
    check(of_y, y.shape[0], "sparse product")
    wide = _wide(x.dtype)
    return (x[of_x].astype(wide) * y[of_y].astype(wide)).sum(-1, dtype=wide).astype(x.dtype)


def rows_of(pointers, count):
    """The row of each of `count` entries, of where each row begins and the last ends."""
    rows = pointers.shape[0] - 1
    if not REFERENCE and rows > 0 and count:
        out, bad = memory.empty((count,), np.int64), np.zeros(1, np.int64)
        taped_launches.verdict(bad)
        grain = max(1, UNIT_STEPS * rows // (rows + count))
        native.launch(native.kernel("sparse/spread", kernels.spread), rows, grain,
                      contiguous(pointers), out, bad, rows, count)
        if not bad[0]:
            return out
    lengths = np.diff(pointers)
    if rows < 0 or pointers[0] != 0 or pointers[-1] != count or (lengths < 0).any():
        raise RuntimeError("the compressed indices must go from 0 to the number of entries, and "
                           "never down")
    return np.repeat(np.arange(rows), lengths)
