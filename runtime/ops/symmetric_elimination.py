"""Elimination of symmetric matrices that need not be definite: A = L @ D @ L.mT, D having blocks of
one or two rows (Bunch and Kaufman), packed as LAPACK packs it."""
import math

import numpy as np

from .. import return_types
from ..dtypes import COMPLEX, INT
from .batching import aligned, all_batched, example_ndim
from .host_family import LinAlgError, host, matrix, square
from .registry import apply, ask, check_one_type
from .sample_inputs import Sample

# The growth of elements is least where a pivot of one row is this much of its column, or more.
LEAST = (1 + math.sqrt(17)) / 8


def _magnitude(x):
    """What elements are compared by, as in LAPACK."""
    return abs(x.real) + abs(x.imag) if np.iscomplexobj(x) else abs(x)


class Elimination:
    """One matrix, eliminated in place: its lower triangle, the swaps of rows, and the place of the
    first pivot that is zero (from 1; 0 where there is none)."""

    def __init__(self, a, hermitian):
        self.a, self.n = a, len(a)
        self.mirrored = np.conj if hermitian else np.asarray
        self.size = (lambda x: abs(x.real)) if hermitian else _magnitude
        self.pivots, self.info = np.zeros(self.n, np.int32), 0
        k = 0
        while k < self.n:
            k += self.step(k)

    def step(self, k):
        """Eliminate the rows from k on that make the next block; how many they are."""
        a = self.a
        below = _magnitude(a[k + 1:, k])
        largest = below.max(initial=0)
        if not max(self.size(a[k, k]), largest) > 0:
            self.info = self.info or k + 1
            self.pivots[k] = k + 1
            return 1
        p, rows = self.pivot(k, below, largest)
        last = k + rows - 1
        if p != last:
            self.swap(k, last, p)
        if rows == 1:
            self.pivots[k] = p + 1
            x = a[k + 1:, k] / a[k, k]
            a[k + 1:, k + 1:] -= np.tril(np.outer(x, self.mirrored(a[k + 1:, k])))
            a[k + 1:, k] = x
        else:
            self.pivots[k:k + 2] = -(p + 1)
            block = self.block(k)
            x = np.linalg.solve(block.T, a[k + 2:, k:k + 2].T).T
            a[k + 2:, k + 2:] -= np.tril(x @ self.mirrored(a[k + 2:, k:k + 2]).T)
            a[k + 2:, k:k + 2] = x
        return rows

    def pivot(self, k, below, largest):
        """(the row whose diagonal is taken, of how many rows the block is)"""
        a = self.a
        if self.size(a[k, k]) >= LEAST * largest:
            return k, 1
        i = k + 1 + int(below.argmax())
        row = max(_magnitude(a[i, k:i]).max(), _magnitude(a[i + 1:, i]).max(initial=0))
        if self.size(a[k, k]) >= LEAST * largest * (largest / row):
            return k, 1
        return (i, 1) if self.size(a[i, i]) >= LEAST * row else (i, 2)

    def swap(self, k, i, p):
        """Exchange rows and columns i and p, i < p, of what is left from row k on."""
        a = self.a
        a[p + 1:, [i, p]] = a[p + 1:, [p, i]]
        between = a[i + 1:p, i].copy()
        a[i + 1:p, i] = self.mirrored(a[p, i + 1:p])
        a[p, i + 1:p] = self.mirrored(between)
        a[p, i] = self.mirrored(a[p, i])
        a[[i, p], [i, p]] = a[[p, i], [p, i]]
        if i > k:
            a[[i, p], k] = a[[p, i], k]

    def block(self, k):
        """The two rows and columns of D at k."""
        a = self.a
        return np.array([[a[k, k], self.mirrored(a[k + 1, k])], [a[k + 1, k], a[k + 1, k + 1]]])


def _factor(a, *, hermitian):
    lower = np.ascontiguousarray(np.tril(a))     # NumPy keeps the order of `a`; this is written to
    if hermitian and np.iscomplexobj(a):
        diagonal = np.einsum("...ii->...i", lower)
        diagonal.imag[...] = 0
    flat = lower.reshape(math.prod(a.shape[:-2]), *a.shape[-2:])
    made = [Elimination(x, hermitian) for x in flat]
    pivots = np.array([e.pivots for e in made], np.int32).reshape(a.shape[:-1])
    return lower, pivots, np.array([e.info for e in made], np.int32).reshape(a.shape[:-2])


def _solved(a, pivots, b, hermitian):
    """X with A @ X = b, of one packed matrix."""
    n, x = len(a), b.copy()
    mirrored = np.conj if hermitian else np.asarray
    blocks, k = [], 0
    while k < n:
        rows = 1 if pivots[k] > 0 else 2
        p, last = abs(int(pivots[k])) - 1, k + rows - 1
        x[[last, p]] = x[[p, last]]
        x[k + rows:] -= a[k + rows:, k:k + rows] @ x[k:k + rows]
        d = a[k:k + 1, k:k + 1] if rows == 1 else np.array(
            [[a[k, k], mirrored(a[k + 1, k])], [a[k + 1, k], a[k + 1, k + 1]]])
        x[k:k + rows] = np.linalg.solve(d, x[k:k + rows])
        blocks.append((k, rows, p))
        k += rows
    for k, rows, p in reversed(blocks):
        x[k:k + rows] -= mirrored(a[k + rows:, k:k + rows]).T @ x[k + rows:]
        last = k + rows - 1
        x[[last, p]] = x[[p, last]]
    return x


def _solve_packed(a, pivots, b, *, hermitian):
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])

    def listed(x, n):
        own = x.shape[x.ndim - n:]
        return np.broadcast_to(x, batch + own).reshape(math.prod(batch), *own)
    a, pivots, b = listed(a, 2), listed(pivots, 1), listed(b, 2)
    solved = [_solved(*each, hermitian) for each in zip(a, pivots, b)]
    return np.array(solved, b.dtype).reshape(*batch, *b.shape[-2:])


def _indefinite(make):
    for shape in ((3, 3), (2, 4, 4)):
        a = make(*shape, grad=False)
        yield a + a.mT


def _packed(make):
    for a in _indefinite(make):
        factors, pivots, _ = _factors(a, hermitian=False)
        yield Sample(factors, pivots, make(a.shape[-1], 2, grad=False), hermitian=False)


_factors = host("ldl_factor", _factor, infer=square("ldl_factor"),
                samples=lambda make: [Sample(a, hermitian=h) for a in _indefinite(make)
                                      for h in (False, True)])
_solution_op = host("ldl_solve", _solve_packed, samples=_packed).op


def _solutions(op, n, inputs, batched, attrs):
    """One dimension more in front of all, with as many behind it as are broadcast."""
    own = 2, 1, 2                       # dimensions of factors, pivots and right sides
    most = max([example_ndim(x, b) - d for x, b, d in zip(inputs, batched, own)])
    full = all_batched(n, inputs, batched)
    return apply(op, tuple([aligned(x, most + d) for x, d in zip(full, own)]), attrs)


_solution_op.batch_rule = _solutions


def ldl_factor_ex(A, *, hermitian=False, check_errors=False):
    """(L and D in one matrix, row swaps, the place of the first pivot that is zero) of a symmetric
    (or hermitian) matrix, of which the lower triangle is read. It has no gradient.

    >>> import whet
    >>> LD, pivots, info = whet.linalg.ldl_factor_ex(whet.eye(2))
    >>> info.item()
    0
    """
    matrix("ldl_factor_ex", A)
    made = return_types.linalg_ldl_factor_ex(_factors(A.detach(), hermitian=bool(hermitian)))
    if check_errors:
        ask(_nonzero_pivots, made.info)
    return made


def _nonzero_pivots(info):
    if info.any():
        raise LinAlgError(
            f"linalg.ldl_factor: D[{info.max()},{info.max()}] is zero and using it on ldl_solve "
            "would result in a division by zero.")


def ldl_factor(A, *, hermitian=False):
    """(L and D in one matrix, row swaps): A = L @ D @ L.mT up to the swaps, for symmetric matrices
    that need not be positive definite.

    >>> import whet
    >>> a = whet.tensor([[0., 1.], [1., 0.]])
    >>> whet.linalg.ldl_solve(*whet.linalg.ldl_factor(a), whet.tensor([[2.], [3.]])).flatten()
    tensor([3., 2.])
    """
    made = ldl_factor_ex(A, hermitian=hermitian, check_errors=True)
    return return_types.linalg_ldl_factor(made[:2])


def ldl_solve(LD, pivots, B, *, hermitian=False):
    """X with A @ X = B, given what `ldl_factor` makes of A. It has no gradient.

    >>> import whet
    >>> LD, pivots = whet.linalg.ldl_factor(whet.tensor([[2., 0.], [0., 4.]]))
    >>> whet.linalg.ldl_solve(LD, pivots, whet.ones(2, 1))
    tensor([[0.5000],
            [0.2500]])
    """
    square("ldl_solve")(LD)
    check_one_type("linalg.ldl_solve", LD=LD, B=B)
    if B.ndim < 2:
        raise RuntimeError("linalg.ldl_solve: Expected B to have at least 2 dimensions, but it has "
                           f"{B.ndim} dimensions instead")
    if B.shape[-2] != LD.shape[-1] or tuple(pivots.shape) != tuple(LD.shape[:-1]):
        raise RuntimeError(
            f"linalg.ldl_solve: LD of shape {list(LD.shape)}, pivots of shape "
            f"{list(pivots.shape)} and B of shape {list(B.shape)} do not belong together")
    if pivots.dtype.category != INT:
        raise RuntimeError(f"linalg.ldl_solve: Expected pivots to be integers. Got {pivots.dtype}")
    return apply(_solution_op, (LD.detach(), pivots, B.detach()),
                 {"hermitian": bool(hermitian) and LD.dtype.category == COMPLEX})
