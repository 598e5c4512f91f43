"""A few extreme eigenvalues of a large symmetric matrix: `whet.lobpcg`.

Each step looks for better vectors among the present ones, their residuals and the way that they
came, which takes one product with the matrix for each vector (Knyazev, 2001). The three blocks are
made orthonormal before, so nothing breaks down where they nearly depend on each other
(Duersch et al., 2018).
"""
from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from . import dtypes, linalg
from .autograd.function import Function, once_differentiable
from .ops.surface import FUNCTIONS
from .tensor import Size

_F: Any = FUNCTIONS
MOST_STEPS = 1000


@dataclass
class LOBPCG:
    """A search while it goes on, as a `tracker` sees it: the eigenvalues `E`, the vectors `X`,
    their residuals `R`, and `tvars["rerr"]`, what these are in proportion. A tracker ends it by
    `bvars["force_stop"] = True`."""
    A: Any
    B: Any
    iK: Any
    X: Any
    iparams: dict[str, Any]
    fparams: dict[str, float]
    bparams: dict[str, bool]
    tracker: Any = None
    E: Any = None
    R: Any = None
    S: Any = None
    ivars: dict[str, int] = field(default_factory=lambda: {"istep": 0, "converged_count": 0})
    tvars: dict[str, Any] = field(default_factory=dict)
    bvars: dict[str, bool] = field(default_factory=lambda: {"force_stop": False})

    def run(self) -> None:
        """Search until the wanted vectors have converged, or for as many steps as are allowed."""
        norms = self._norms()
        came = None
        self.X = self._orthonormal(self.X)
        self._best_of(self.X)
        while not self._is_done(norms):
            found = self.R if self.iK is None else self.iK @ self.R
            self.S = self._orthonormal(_F["cat"](
                [self.X, _of_length_one(found), *([] if came is None else [came])], 1))
            before = self.X
            self._best_of(self.S)
            came = _of_length_one(self.X - before @ (before.mT @ self._scaled(self.X)))
            self.ivars["istep"] += 1

    def _scaled(self, x: Any) -> Any:
        return x if self.B is None else self.B @ x

    def _norms(self) -> tuple[float, float]:
        size = float(self.X.norm())
        return float((self.A @ self.X).norm()) / size, float(self._scaled(self.X).norm()) / size

    def _orthonormal(self, x: Any) -> Any:
        q = linalg.qr(x)[0]
        if self.B is None:
            return q
        lower = linalg.cholesky(q.mT @ self._scaled(q))
        return linalg.solve_triangular(lower, q.mT, upper=False).mT

    def _best_of(self, basis: Any) -> None:
        """The best vectors of the space of a basis."""
        n = self.iparams["n"]
        values, vectors = linalg.eigh(basis.mT @ (self.A @ basis))
        if self.bparams["largest"]:
            values, vectors = values.flip(0), vectors.flip(1)
        self.E, self.X = values[:n], basis @ vectors[:, :n]
        self.R = self.A @ self.X - self._scaled(self.X) * self.E

    def _is_done(self, norms: tuple[float, float]) -> bool:
        size = self.X.norm(dim=0) * (norms[0] + self.E.abs() * norms[1])
        error = self.tvars["rerr"] = self.R.norm(dim=0) / size
        good = (error < self.fparams["tol"]).tolist()
        self.ivars["converged_count"] = (good + [False]).index(False)
        if self.tracker is not None:
            self.tracker(self)
        return (self.ivars["converged_count"] >= self.iparams["k"] or self.bvars["force_stop"]
                or 0 <= self.iparams["niter"] <= self.ivars["istep"])


def _of_length_one(x: Any) -> Any:
    """The columns in the length 1; those without a length as they are."""
    size = x.norm(dim=0)
    return x / _F["where"](size > 0, size, 1)


class _Eigenpairs(Function):
    """The eigenpairs that a search finds, with the gradients of a symmetric matrix."""
    _called = "lobpcg"

    @staticmethod
    def forward(ctx: Any, A: Any, search: Any) -> Any:
        values, vectors = search(A)
        ctx.save_for_backward(A, values, vectors)
        return values, vectors

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_values: Any, of_vectors: Any) -> Any:
        A, values, vectors = ctx.saved_tensors
        every, basis = linalg.eigh(A)
        g = (vectors * of_values.unsqueeze(-2)) @ vectors.mT
        # how far a vector turns to each other one goes by the distance of their values
        gaps = values.unsqueeze(-2) - every.unsqueeze(-1)
        own = (basis.mT @ vectors).abs() > 0.5
        turned = _F["where"](own, 0, (basis.mT @ of_vectors) / _F["where"](own, 1, gaps))
        g = g + basis @ turned @ vectors.mT
        return (g + g.mT) / 2, None


def lobpcg(A: Any, k: int | None = None, B: Any = None, X: Any = None, n: int | None = None,
           iK: Any = None, niter: int | None = None, tol: float | None = None,
           largest: bool | None = None, method: str | None = None, tracker: Any = None,
           ortho_iparams: Any = None, ortho_fparams: Any = None, ortho_bparams: Any = None) -> Any:
    """The `k` largest (or smallest) eigenvalues of a symmetric matrix, with their eigenvectors as
    columns; with `B` of the problem `A x = e B x`. `A` may be sparse, and is only multiplied with.
    `X` is where the search begins, `iK` a preconditioner. Both methods are the robust one.

    >>> import whet
    >>> A = whet.diag(whet.arange(1.0, 21.0))
    >>> values, vectors = whet.lobpcg(A, k=2)
    >>> values
    tensor([20.0000, 19.0000])
    """
    m = A.shape[-1]
    if A.shape[-2] != m:
        raise AssertionError(f"A must be square, got shape {A.shape}")
    if B is not None and B.shape != A.shape:
        raise AssertionError(f"A and B must have same shape, got {A.shape} vs {B.shape}")
    if method not in (None, "ortho", "basic"):
        raise ValueError(f"lobpcg: method is 'ortho' or 'basic', not {method!r}")
    if B is not None and B.requires_grad:
        raise ValueError("lobpcg.backward: there are no gradients where B is given")
    k = (1 if X is None else X.shape[-1]) if k is None else k
    n = X.shape[-1] if X is not None else k if n is None else n
    if m < 3 * n:
        raise ValueError(f"LOBPCG algorithm is not applicable when the number of A rows (={m}) is "
                         f"smaller than 3 x the number of requested eigenpairs (={n})")
    if tol is None:
        tol = math.sqrt({dtypes.float32: 1.2e-07, dtypes.float64: 2.23e-16}[A.dtype])
    facts = ({"m": m, "n": n, "k": k, "niter": MOST_STEPS if niter is None else niter},
             {"tol": tol}, {"largest": True if largest is None else bool(largest)}, tracker)

    def search(A: Any) -> Any:
        return _searched(A, B, X, iK, facts)
    if not A.requires_grad:
        return search(A)
    if B is not None:
        raise ValueError("lobpcg.backward: there are no gradients where B is given")
    return _Eigenpairs.apply((A + A.mT) / 2, search)


def _searched(A: Any, B: Any, X: Any, iK: Any, facts: Any) -> Any:
    """The eigenpairs of a matrix, or of each of a batch."""
    counts, *others = facts
    if A.ndim == 2:
        if X is None:
            X = _F["randn"](counts["m"], counts["n"], dtype=A.dtype, device=A.device)
        if X.shape != (counts["m"], counts["n"]):
            raise AssertionError(f"X shape mismatch: got {tuple(X.shape)}, expected "
                                 f"{(counts['m'], counts['n'])}")
        worker = LOBPCG(A, B, iK, X, counts, *others)
        worker.run()
        return worker.E[:counts["k"]], worker.X[:, :counts["k"]]
    batch = Size(A.shape[:-2])
    each = [None if x is None else x.reshape(-1, *x.shape[-2:]) for x in (A, B, X)]
    pairs = []
    for i in range(batch.numel()):
        a, b, x = (None if every is None else every[i] for every in each)
        pairs.append(_searched(a, b, x, iK, ({**counts, "batch_index": i}, *others)))
    values, vectors = (_F["stack"](list(parts)) for parts in zip(*pairs))
    return values.reshape(*batch, counts["k"]), vectors.reshape(*batch, counts["m"], counts["k"])
