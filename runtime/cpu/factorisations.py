"""Matrix factorisations and solutions by kernels (`passes/lower_llvm/factors/`). Large matrices are
split into parts and products. LAPACK, through NumPy, handles complex numbers and most QR
factorisations."""
from functools import partial
from math import prod

import numpy as np
from whet.passes.lower_llvm.factors import elimination, qr
from whet.passes.lower_llvm.factors.panel import lanes_of

from . import gemm, memory, native, taped_launches
from .reference_only import REFERENCE
from .rows import contiguous

ELEMENTS = {np.dtype("f4"): "float", np.dtype("f8"): "double"}
LARGEST = 512           # rows whose factors stay in the second cache; beyond it products pay
REFLECTED = 64          # columns for which reflections, taken one by one, are as quick
COLUMNS = 256           # of large matrices that are eliminated at a time
BLOCK = 256             # rows that are solved for before products take them off the rest
NO_ROW = ("pivots must be between 1 and the number of rows. Do they come from lu_factor, with "
          "these factors?")
UNIT_STEPS = 1 << 17    # multiply-adds that are worth a thread of their own


def fits(a):
    """Can the kernels factorise these matrices?"""
    return (not REFERENCE and a.dtype in ELEMENTS and a.size > 0
            and max(a.shape[-2:]) <= LARGEST)


def _square(a):
    if a.shape[-1] != a.shape[-2]:
        raise np.linalg.LinAlgError(f"{a.shape[-2]} by {a.shape[-1]} matrices are not square")


def is_large(a):
    """Are these matrices large, so that they are split into parts for the kernels?"""
    return not REFERENCE and a.dtype in ELEMENTS and a.size > 0 and max(a.shape[-2:]) > LARGEST


def _kernel(name, elem, write, *facts):
    return native.kernel("/".join(["factors", name, elem, *map(str, facts)]),
                         partial(write, elem=elem))


def _whole(n, elem):
    """A row of n numbers in whole vectors."""
    return -(-n // lanes_of(elem)) * lanes_of(elem)


def _launch(kernel, units, steps, *args):
    native.launch(kernel, units, max(1, UNIT_STEPS // max(1, steps)), *args)


class Factors:
    """The result of elimination: factors in panels, row swaps, first zero pivots."""

    def __init__(self, a):
        a = contiguous(a)
        self.elem = ELEMENTS[a.dtype]
        *self.batch, self.m, self.n = a.shape
        self.count, self.stride = prod(self.batch), _whole(self.n, self.elem)
        self.panels = taped_launches.partial(
            memory.empty((self.count, self.m, self.stride), a.dtype))
        self.pivots = memory.empty((*self.batch, min(self.m, self.n)), np.dtype("i4"))
        self.info = memory.empty(tuple(self.batch), np.dtype("i4"))
        self.steps = self.m * self.n * min(self.m, self.n)
        self.flag = np.zeros(1, np.int64)

    def eliminate(self, a, must_be_regular):
        """Run the elimination. Raises an error for a zero pivot if the matrices must be regular."""
        if must_be_regular:
            taped_launches.verdict(self.flag)
            taped_launches.partial(self.pivots), taped_launches.partial(self.info)
        else:
            taped_launches.partial(self.flag)
        _launch(_kernel("eliminate", self.elem, elimination.eliminate), self.count, self.steps,
                contiguous(a), self.panels, self.pivots, self.info, self.flag, self.m, self.n,
                self.stride)
        if must_be_regular and self.flag[0]:
            raise np.linalg.LinAlgError("Singular matrix")
        return self


def lu(a):
    """(L and U in one matrix, row swaps from 1, the first zero pivot from 1 or 0)"""
    if fits(a):
        return _panel(a)
    return _eliminate(a) if REFERENCE or a.dtype not in ELEMENTS else _by_panels(a)


def _panel(a):
    """`lu` by one kernel."""
    found = Factors(a).eliminate(a, must_be_regular=False)
    out = memory.empty(a.shape, a.dtype)
    _launch(_kernel("unpack", found.elem, elimination.unpack), found.count, out.size, found.panels,
            out, found.m, found.n, found.stride)
    return out, found.pivots, found.info


def parts(packed, pivots):
    """(P, L, U) with A = P @ L @ U, from the result of `lu`."""
    *batch, m, n = packed.shape
    k, elem = min(m, n), ELEMENTS.get(packed.dtype)
    if REFERENCE or elem is None or not packed.size or pivots.shape != (*batch, k):
        return _parts(packed, pivots[..., :k])
    p, l, u = [memory.empty((*batch, *sizes), packed.dtype) for sizes in ((m, m), (m, k), (k, n))]
    room, bad = memory.empty((prod(batch), m), np.dtype("i8")), np.zeros(1, np.int64)
    taped_launches.partial(room)
    taped_launches.verdict(bad)
    _launch(_kernel("parts", elem, elimination.parts), prod(batch), m * m + m * k + k * n,
            contiguous(packed), contiguous(pivots.astype(np.int32, copy=False)), room, p, l, u, bad,
            m, n)
    if bad[0]:
        raise np.linalg.LinAlgError(NO_ROW)
    return p, l, u


def _parts(packed, pivots):
    """`parts` with NumPy."""
    *batch, m, n = packed.shape
    swaps = pivots.reshape(prod(batch), pivots.shape[-1]).astype(np.int64) - 1
    if ((swaps < 0) | (swaps >= m)).any():
        raise np.linalg.LinAlgError(NO_ROW)
    order, which = np.tile(np.arange(m), (len(swaps), 1)), np.arange(len(swaps))
    for i, other in enumerate(swaps.T):
        order[which, i], order[which, other] = order[which, other], order[which, i].copy()
    p = np.swapaxes(np.eye(m, dtype=packed.dtype)[order], -1, -2).reshape(*batch, m, m)
    k = min(m, n)
    lower = np.tril(packed[..., :k], -1) + np.eye(m, k, dtype=packed.dtype)
    return p, lower, np.triu(packed[..., :k, :])


def _by_panels(a):
    """`lu` of large matrices: eliminate some columns, then subtract their product from the rest."""
    out = np.array(a, copy=True)
    *batch, m, n = out.shape
    k = min(m, n)
    pivots, info = np.zeros((*batch, k), np.int32), np.zeros(batch, np.int32)
    if not out.size:
        return out, pivots, info
    for first in range(0, k, COLUMNS):
        last = min(first + COLUMNS, k)
        below, own = slice(first, m), slice(first, last)
        left, right = slice(0, first), slice(last, n)
        out[..., below, own], swaps, zero = _panel(out[..., below, own])
        pivots[..., own] = swaps + first
        info[...] = np.where((info == 0) & (zero > 0), zero + first, info)
        for at in np.ndindex(*batch):
            order = _order_of(swaps[at], m - first)
            for columns in (left, right):
                out[(*at, below, columns)] = out[(*at, below, columns)][order]
        if last == n:
            continue
        upper = triangular(out[..., own, own], out[..., own, right], upper=False, unit=True)
        out[..., own, right] = upper
        if last < m:
            with np.errstate(all="ignore"):
                out[..., last:, right] -= gemm.matmul(out[..., last:, own], upper)
    return out, pivots, info


def _order_of(swaps, rows):
    """The order of rows after swaps (from 1) of each row with a later one."""
    order = np.arange(rows)
    for i, p in enumerate(swaps.tolist()):
        order[i], order[p - 1] = order[p - 1], order[i]
    return order


def inverse(a):
    """The inverse of each matrix."""
    _square(a)
    if is_large(a):
        return _solve_large(a, np.broadcast_to(np.eye(a.shape[-1], dtype=a.dtype), a.shape))
    if not fits(a):
        return np.linalg.inv(a)
    return _solution(Factors(a).eliminate(a, must_be_regular=True), None, a.shape, a.dtype)


def solve(a, b):
    """X with a @ X = b."""
    _square(a)
    if b.dtype != a.dtype or b.ndim < 2 or not (fits(a) or is_large(a)):
        return np.linalg.solve(a, b)
    a, b = _as_many(a, b)
    if is_large(a):
        return _solve_large(a, b)
    return _solution(Factors(a).eliminate(a, must_be_regular=True), contiguous(b), b.shape, b.dtype)


def _solve_large(a, b):
    """`solve` for large matrices: two triangular solves, with rows in the order of the pivots."""
    packed, pivots, zero = _by_panels(a)
    if zero.any():
        raise np.linalg.LinAlgError("Singular matrix")
    b = np.array(b, copy=True)
    for at in np.ndindex(*b.shape[:-2]):
        b[at] = b[at][_order_of(pivots[at], a.shape[-1])]
    return triangular(packed, triangular(packed, b, upper=False, unit=True), upper=True, unit=False)


def _as_many(a, b):
    """Both operands, broadcast to the same number of matrices."""
    if a.shape[-1] != b.shape[-2]:
        raise ValueError(f"the matrix has {a.shape[-1]} rows, the right side has {b.shape[-2]}")
    if a.shape[:-2] == b.shape[:-2]:
        return a, b
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return (np.broadcast_to(a, (*batch, *a.shape[-2:])),
            np.broadcast_to(b, (*batch, *b.shape[-2:])))


def _solution(found, b, shape, dtype):
    out, columns = memory.empty(shape, dtype), shape[-1]
    if not out.size:
        return out
    width = _whole(columns, found.elem)
    room = taped_launches.partial(memory.empty((found.count, found.n, width), dtype))
    write = partial(elimination.solve, inverse=b is None)
    _launch(_kernel("solve", found.elem, write, b is None), found.count,
            2 * found.n * found.n * columns, found.panels, found.pivots, b, room, out, found.n,
            columns, found.stride, width)
    return out


def determinant(a):
    """The determinant of each matrix."""
    _square(a)
    if is_large(a):
        return np.multiply.reduce(_turned_diagonal(a), -1)
    return _of_diagonal(a, elimination.determinant, 1)[0] if fits(a) else np.linalg.det(a)


def log_determinant(a):
    """(the sign, the logarithm of the absolute value) of the determinant of each matrix."""
    _square(a)
    if is_large(a):
        x = _turned_diagonal(a)
        with np.errstate(divide="ignore"):
            logs = np.add.reduce(np.log(np.abs(x), dtype=np.float64), -1)
        return np.multiply.reduce(np.sign(x), -1), logs.astype(a.dtype)
    if not fits(a):
        return tuple(np.linalg.slogdet(a))
    return _of_diagonal(a, elimination.log_determinant, 2)


def _turned_diagonal(a):
    """The diagonal of U of large matrices, negated where a row was swapped."""
    packed, pivots, _ = _by_panels(a)
    x = np.diagonal(packed, 0, -2, -1)
    return np.where(pivots != np.arange(1, a.shape[-1] + 1), -x, x)


def _of_diagonal(a, kernel, results):
    """The result of a kernel on the diagonal of each matrix's factors: this many numbers."""
    found = Factors(a).eliminate(a, must_be_regular=False)
    taped_launches.partial(found.pivots), taped_launches.partial(found.info)
    out = [memory.empty(tuple(found.batch), a.dtype) for _ in range(results)]
    _launch(_kernel(kernel.__name__, found.elem, kernel), found.count, found.n, found.panels,
            found.pivots, *out, found.n, found.stride)
    return tuple(out)


def cholesky(a):
    """The lower factor of each matrix's mean with its transpose (conjugate); an error where that is
    not positive definite."""
    _square(a)
    if is_large(a):
        return _cholesky_by_panels(a)
    if not fits(a):
        return np.linalg.cholesky((a + np.conj(np.swapaxes(a, -1, -2))) / 2)
    a, out, elem = contiguous(a), memory.empty(a.shape, a.dtype), ELEMENTS[a.dtype]
    n, count, bad = a.shape[-1], prod(a.shape[:-2]), np.zeros(1, np.int64)
    stride = _whole(n, elem)
    panels = taped_launches.partial(memory.empty((count, n, stride), a.dtype))
    taped_launches.verdict(bad)
    _launch(_kernel("cholesky", elem, elimination.cholesky), count, n * n * n,
            a, panels, out, bad, n, stride)
    if bad[0]:
        raise np.linalg.LinAlgError("Matrix is not positive definite")
    return out


def _cholesky_by_panels(a):
    """`cholesky` of large matrices: factorise some columns, then subtract their product from the
    rest."""
    rest, out = (a + np.swapaxes(a, -1, -2)) * a.dtype.type(0.5), np.zeros(a.shape, a.dtype)
    for first in range(0, a.shape[-1], LARGEST):
        last = first + LARGEST
        here = cholesky(rest[..., :LARGEST, :LARGEST])
        out[..., first:last, first:last] = here
        below = rest[..., LARGEST:, :LARGEST]
        if below.size:
            turned = triangular(here, np.swapaxes(below, -1, -2), upper=False, unit=False)
            below = np.swapaxes(turned, -1, -2)
            out[..., last:, first:last] = below
            with np.errstate(all="ignore"):
                rest = rest[..., LARGEST:, LARGEST:] - gemm.matmul(below, turned)
    return out


def orthogonal(a, *, mode):
    """(Q, R) with a = Q @ R as `np.linalg.qr` has them; with mode "r" Q is empty."""
    *batch, m, n = a.shape
    columns = {"reduced": min(m, n), "complete": m, "r": 0}[mode]
    rows = columns or min(m, n)
    if not fits(a) or min(m, n) > REFLECTED:
        q, r = ((np.empty((*batch, 0), a.dtype), np.linalg.qr(a, "r")) if mode == "r"
                else np.linalg.qr(a, mode))
        return q, np.ascontiguousarray(r)
    a, elem, count = contiguous(a), ELEMENTS[a.dtype], prod(batch)
    q = memory.empty((*batch, m, columns) if columns else (*batch, 0), a.dtype)
    r = memory.empty((*batch, rows, n), a.dtype)
    stride, width = _whole(n, elem), _whole(columns, elem)
    panels, factors, room = (taped_launches.partial(memory.empty((count, *sizes), a.dtype))
                             for sizes in ((m, stride), (min(m, n),), (m, width)))
    _launch(_kernel("orthogonal", elem, qr.orthogonal), count,
            2 * m * n * min(m, n) + 2 * m * columns * min(m, n), a, panels, factors, room, q, r,
            m, n, columns, rows, stride, width)
    return q, r


def triangular(a, b, *, upper, unit):
    """X with a @ X = b, one triangle of `a` being read, `unit`: with ones for its diagonal."""
    _square(a)
    a, b = _as_many(a, b)
    if REFERENCE or a.dtype not in ELEMENTS or b.dtype != a.dtype or not b.size:
        n = a.shape[-1]
        a = np.triu(a) if upper else np.tril(a)
        return np.linalg.solve(np.where(np.eye(n, dtype=bool), 1, a) if unit else a, b)
    return _blocks(a, b, upper, unit)


def _blocks(a, b, upper, unit):
    """Solve in blocks of rows: products subtract each block from the rest."""
    n = a.shape[-1]
    if n <= BLOCK:
        return _triangle(a, b, upper, unit)
    cut = n // 2 // BLOCK * BLOCK or BLOCK
    first, then = (slice(cut, n), slice(0, cut)) if upper else (slice(0, cut), slice(cut, n))
    out = np.empty(b.shape, b.dtype)
    out[..., first, :] = solved = _blocks(a[..., first, first], b[..., first, :], upper, unit)
    rest = b[..., then, :] - gemm.matmul(a[..., then, first], solved)
    out[..., then, :] = _blocks(a[..., then, then], rest, upper, unit)
    return out


def _triangle(a, b, upper, unit):
    turned = not a.flags.c_contiguous and np.swapaxes(a, -1, -2).flags.c_contiguous
    a, b, elem = a if turned else contiguous(a), contiguous(b), ELEMENTS[a.dtype]
    *batch, n, columns = b.shape
    out, width = memory.empty(b.shape, b.dtype), _whole(columns, elem)
    room = taped_launches.partial(memory.empty((prod(batch), n, width), b.dtype))
    write = partial(elimination.triangular, upper=upper, unit=unit, turned=turned)
    _launch(_kernel("triangular", elem, write, upper, unit, turned), prod(batch),
            n * n * columns, a, b, room, out, n, columns, width)
    return out


def _eliminate(a):
    """(packed factors, row swaps from 1, first zero pivot from 1 or 0) of matrices, with partial
    pivoting."""
    lu = np.array(a, copy=True)
    *batch, m, n = lu.shape
    lu = lu.reshape(prod(batch), m, n)
    k, rows = min(m, n), np.arange(lu.shape[0])
    pivots, info = np.zeros((lu.shape[0], k), np.int32), np.zeros(lu.shape[0], np.int32)
    with np.errstate(all="ignore"):
        for i in range(k):
            # of complex numbers the sum of the parts counts, as in LAPACK
            column = lu[:, i:, i]
            p = (i + np.argmax(
                np.abs(column.real)
                + np.abs(column.imag) if column.dtype.kind == "c" else np.abs(column), axis=1))
            pivots[:, i] = p + 1
            lu[rows, i], lu[rows, p] = lu[rows, p], lu[rows, i]
            pivot = lu[:, i, i]
            info[(pivot == 0) & (info == 0)] = i + 1
            safe = np.where(pivot == 0, 1, pivot)
            lu[:, i + 1:, i] /= safe[:, None]
            lu[:, i + 1:, i + 1:] -= lu[:, i + 1:, i, None] * lu[:, None, i, i + 1:]
    return lu.reshape(a.shape), pivots.reshape(*batch, k), info.reshape(batch)
