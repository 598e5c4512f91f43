"""Matrices of about a low rank: a few singular values, found with random vectors."""
from .argument_guards import guarded as _guarded
from .lapack import qr, svd
from .registry import check_one_type as _check_one_type
from .surface import FUNCTIONS as _F


def svd_lowrank(A, q=6, niter=2, M=None):
    """U, S, V of a matrix of about rank q, found by multiplying it with random vectors.

    >>> import whet
    >>> A = whet.outer(whet.tensor([1., 2., 2.]), whet.tensor([3., 4.]))
    >>> u, s, v = whet.svd_lowrank(A, q=1)
    >>> s
    tensor([15.])
    """
    q = 6 if q is None else q
    _check_one_type("svd_lowrank", A=A, M=M)
    if A.ndim < 2 or M is not None and M.ndim > A.ndim:
        raise ValueError(f"svd_lowrank: expected matrices, got {list(A.shape)}"
                         f"{'' if M is None else f' and a mean of {list(M.shape)}'}")
    A = A if M is None else A - M
    tall = A if A.shape[-2] >= A.shape[-1] else A.mH
    y = tall @ _F["randn"](*tall.shape[:-2], tall.shape[-1], q, dtype=A.dtype,
                         device=A.device)
    base = qr(y).Q
    for _ in range(niter):
        base = qr(tall @ qr(tall.mH @ base).Q).Q
    u, s, vh = svd(base.mH @ tall, full_matrices=False)
    u = base @ u
    return (u, s, vh.mH) if tall is A else (vh.mH, s, u)


def pca_lowrank(A, q=None, center=True, niter=2):
    """The principal components of rows: `svd_lowrank` after their mean is subtracted.

    >>> import whet
    >>> u, s, v = whet.pca_lowrank(whet.tensor([[1., 0.], [2., 0.], [3., 0.]]), q=1)
    >>> s
    tensor([1.4142])
    """
    q = min(6, *A.shape[-2:]) if q is None else q
    if not 0 <= q <= min(A.shape[-2:]):
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)="
                         f"{min(A.shape[-2:])}")
    return svd_lowrank(A - A.mean(-2, keepdim=True) if center else A, q, niter)


globals().update(_guarded(globals(), __name__))
