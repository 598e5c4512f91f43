"""Products of reflections: `linalg.householder_product`, `geqrf`, `ormqr`."""

from .. import return_types
from ..autograd.modes import is_grad_enabled
from ..dtypes import FLOAT
from .host_family import matrix
from .lapack import _geqrf
from .registry import check_one_type
from .surface import FUNCTIONS as F


def _check_reflections(name, vectors, tau):
    matrix(name, vectors)
    check_one_type(name, input=vectors, tau=tau)
    if vectors.shape[:-2] != tau.shape[:-1]:
        raise RuntimeError(
            f"{name}: Expected tau to have one dimension less than input, and the same batches, "
            f"but got {list(tau.shape)} for {list(vectors.shape)}")


def householder_product(A, tau):
    """The first columns of a product of reflections, whose vectors are the columns of A below
    its diagonal.

    >>> import whet
    >>> A = whet.tensor([[1., 2.], [3., 4.]])
    >>> Q = whet.linalg.householder_product(*whet.geqrf(A))
    >>> whet.allclose(Q @ Q.T, whet.eye(2), atol=1e-5)
    True
    """
    _check_reflections("linalg.householder_product", A, tau)
    m, n = A.shape[-2:]
    k = tau.shape[-1]
    if m < n or n < k:
        raise RuntimeError(
            "linalg.householder_product: expected as many rows as columns or more, and no more "
            f"reflections than columns; got {m}x{n} and {k}")
    vectors = A[..., :k].tril(-1) + F["eye"](m, k, dtype=A.dtype, device=A.device)
    q = F["eye"](m, n, dtype=A.dtype, device=A.device).expand(*A.shape[:-2], m, n)
    for i in range(k - 1, -1, -1):
        v = vectors[..., i:i + 1]
        q = q - tau[..., i, None, None] * (v @ (v.mH @ q))
    # without reflections: memory and a history of its own, whose gradients are zeros
    return q if k else q - vectors @ tau[..., None]


def geqrf(input):
    """(the vectors of reflections below R, their factors): `qr` as `ormqr` and
    `linalg.householder_product` read it. It has no gradient.

    >>> import whet
    >>> packed, tau = whet.geqrf(whet.eye(2))
    >>> packed.shape, tau.shape
    (whet.Size([2, 2]), whet.Size([2]))
    """
    matrix("geqrf", input)
    if input.requires_grad and is_grad_enabled():
        raise RuntimeError("geqrf is not differentiable: detach() the input, or use linalg.qr")
    if input.dtype.category < FLOAT:
        raise RuntimeError(
            f"geqrf: Expected a floating point or complex tensor as input. Got {input.dtype.letter}"
        )
    return return_types.geqrf(_geqrf(input))


def ormqr(input, tau, other, left=True, transpose=False):
    """Q @ other (other @ Q, or with Q.mH) where Q is the product of the reflections that `geqrf`
    gives, without making Q.

    >>> import whet
    >>> a = whet.tensor([[3., 1.], [4., 2.]])
    >>> q, r = whet.linalg.qr(a)
    >>> whet.allclose(whet.ormqr(*whet.geqrf(a), r), a, atol=1e-5)
    True
    """
    _check_reflections("ormqr", input, tau)
    check_one_type("ormqr", input=input, other=other)
    if other.ndim != input.ndim or input.shape[:-2] != other.shape[:-2]:
        raise RuntimeError("ormqr: Expected other to have the batches of input, but got "
                           f"{list(other.shape)} for {list(input.shape)}")
    m, k = input.shape[-2], tau.shape[-1]
    if other.shape[-2 if left else -1] != m or k != min(m, input.shape[-1]):
        raise RuntimeError(
            f"ormqr: other.shape[{-2 if left else -1}] must be equal to input.shape[-2], and "
            "there must be as many reflections as the smaller size of input; got "
            f"{tuple(other.shape)}, {tuple(input.shape)} and {k}")
    vectors = input[..., :k].tril(-1) + F["eye"](m, k, dtype=input.dtype)
    for i in reversed(range(k)) if bool(left) != bool(transpose) else range(k):
        v, t = vectors[..., i:i + 1], tau[..., i, None, None]
        t = t.conj() if transpose else t
        other = other - (t * (v @ (v.mH @ other)) if left else t * ((other @ v) @ v.mH))
    return other
