"""Gathering and scattering along one dimension of NumPy arrays, by kernels that check every
index."""
from math import prod

import numpy as np

from ..dtypes import FROM_NUMPY
from . import memory, native, taped_launches
from .duplicate_indices import COMBINATIONS
from .pointwise import move
from .reference_only import REFERENCE
from .rows import contiguous


def fits(a, index):
    """Can the kernels do it? An index that is not row-major is copied."""
    return (not REFERENCE and a.flags.c_contiguous and a.dtype.itemsize in (1, 2, 4, 8)
            and index.dtype == np.int64)


def repeats(index, axis):
    """Does an index of elements name whole slices, because it is expanded along all other axes? Its
    strides tell."""
    return all(d == axis or not step or n == 1
               for d, (n, step) in enumerate(zip(index.shape, index.strides)))


def of_slices(index, axis):
    """The vector that such an expanded index repeats."""
    return index[tuple([slice(None) if d == axis else 0 for d in range(index.ndim)])]


def along(a, index, axis, wrap=False):
    """(elements of `a` at the places `index` names along the axis, were all of them in range?)

    `a` is row-major, and both agree in all other sizes. `wrap`: negative indices count from the
    end."""
    if index.size and repeats(index, axis):
        return rows(a, of_slices(index, axis), axis, wrap)
    shape, index = index.shape, contiguous(index)
    outer, n, count, inner = prod(shape[:axis]), a.shape[axis], shape[axis], prod(shape[axis + 1:])
    out = memory.empty(shape, a.dtype)
    if not out.size:
        return out, True
    if not n:
        return out, False
    flat, size = inner == 1, a.dtype.itemsize

    def emit(module, symbol):
        from ..passes.lower_llvm.elements import gather
        gather.emit(module, symbol, size, flat, wrap)

    return out, _run(native.kernel(f"take/{size}/{'flat' if flat else 'inner'}/{wrap}", emit), a,
                     index, out, outer, n, count, inner,
                     max(1, 8192 // (inner * (count if outer >= 16 else outer))))


def rows(a, index, axis, wrap=False):
    """(the slices of `a` that a vector of indices names along the axis, were all of them in
    range?)"""
    index = contiguous(index)
    outer, n, count, inner = (prod(a.shape[:axis]), a.shape[axis], index.shape[0],
                              prod(a.shape[axis + 1:]))
    out, item = (memory.empty((*a.shape[:axis], count, *a.shape[axis + 1:]),
                              a.dtype), a.dtype.itemsize)
    size = inner * item
    if not count or not outer or not n:
        return out, bool(n) or not count

    def emit(module, symbol):
        from ..passes.lower_llvm import targets
        from ..passes.lower_llvm.elements import gather
        if inner == 1:
            gather.emit(module, symbol, item, True, wrap, one_index=True)
        else:
            gather.emit_rows(module, symbol, targets.current().lanes(1), wrap)
    if inner == 1:
        return out, _run(native.kernel(f"take/{item}/one index/{wrap}", emit), a, index, out, outer,
                         n, count, 1, max(1, 8192 // (count if outer >= 16 else outer)))
    return out, _run(native.kernel(f"take/rows/{wrap}", emit), a, index, out, outer, n, count, size,
                     max(1, 65536 // max(1, size * (count if outer >= 16 else outer))))


def _run(kernel, a, index, out, outer, n, count, inner, grain):
    bad = np.zeros(1, np.int64)
    taped_launches.verdict(bad)
    by_outer = outer >= 16
    native.launch(kernel, outer if by_outer else count, grain, a, index, out, bad, outer, n, count,
                  inner, int(by_outer))
    return not bad[0]


ADDED = {
    np.dtype(t): e
    for t, e in (("f4", "float"), ("f8", "double"), ("i1", "i8"), ("u1", "i8"), ("i2", "i16"),
                 ("u2", "i16"), ("i4", "i32"), ("u4", "i32"), ("i8", "i64"), ("u8", "i64"))}
# bytes: slices are shared out between threads in pieces of so many, as each walks all of the index
LINE = 64
MOVED = {1: "i8", 2: "i16", 4: "i32", 8: "i64"}


def _may_put(a, index, source, each):
    """Do the three have layouts with which the kernels can scatter?"""
    return (fits(a, index) and a.size and source.size and source.dtype == a.dtype
            and source.flags.c_contiguous and a.flags.writeable
            and (index.shape == source.shape if each else index.ndim == 1)
            and not np.may_share_memory(a, source) and not np.may_share_memory(a, index))


def combines(a, source):
    """Can `put` combine a source with the contents of `a`, as far as the two tell?"""
    return (a.dtype in ADDED and a.dtype == source.dtype and a.flags.c_contiguous
            and a.flags.writeable and source.flags.c_contiguous
            and not np.may_share_memory(a, source))


def in_rows(source):
    """The source in row-major order, as kernels read it. The gradient of a sum is one element,
    expanded."""
    if source.flags.c_contiguous or not source.size or source.itemsize > 8:
        return source
    made = memory.empty(source.shape, source.dtype)
    taped_launches.scratch(made, made.nbytes)
    move(made, source)
    return made


def put(a, index, source, axis, how, each=False, wrap=False):
    """Put `source` at the places of `a` that an index names along an axis, or combine it with what
    is there, in the order of the index. False where the kernels do not do it, or an index is out of
    range: nothing was written then. `how`: see `COMBINATIONS`.

    `each`: the index has the shape of the source, which has that of `a` but along the axis; else it
    is a vector and names slices."""
    shape, count = a.shape, index.shape[axis if each else 0] if index.ndim else 0
    op = COMBINATIONS[how].primitive
    short = FROM_NUMPY[a.dtype].short if a.dtype in FROM_NUMPY else None
    elem = ADDED.get(a.dtype) if op else MOVED.get(a.dtype.itemsize)
    if each and index.size and index.shape == source.shape and repeats(index, axis):
        index, each = of_slices(index, axis), False
    index = contiguous(index)
    if elem is not None:
        source = in_rows(source)
    if (elem is None or source.shape != (*shape[:axis], count, *shape[axis + 1:])
            or not _may_put(a, index, source, each)):
        return False
    outer, n, inner = prod(shape[:axis]), shape[axis], prod(shape[axis + 1:])

    def emit(module, symbol):
        from ..passes.lower_llvm import scalar, targets
        from ..passes.lower_llvm.elements import gather

        def combined(f, x, y):
            return scalar.primitive(f, op, short, x, y)
        gather.emit_put(module, symbol, elem, targets.current().lanes(a.itemsize), op and combined,
                      each, wrap)

    def bounds(module, symbol):
        from ..passes.lower_llvm.elements import gather
        gather.emit_bounds(module, symbol)
    kind = f"{short}/{op}" if op else elem
    kernel = native.kernel(f"take/put/{kind}/{each}/{wrap}", emit)
    bad = np.zeros(1, np.int64)
    taped_launches.verdict(bad)
    native.launch(native.kernel("take/bounds", bounds), index.size, 1 << 14, index,
                  n if wrap else 0, 2 * n if wrap else n, bad)
    if bad[0]:
        return False
    by_outer = outer >= 16 or inner == 1
    piece = 0 if by_outer else LINE // a.itemsize
    units, worth = (outer, 1 << 14) if by_outer else (-(-inner // piece), 1 << 18)
    native.launch(kernel, units, max(1, worth * units // source.size), a, index, source, outer, n,
                  count, inner, piece)
    return True
