"""whet.linalg against NumPy, and the gradients of what has signs or phases to choose through functions without them."""
import numpy as np
import pytest
import whet
from whet.autograd import gradcheck, gradgradcheck


def matrices(*shape, seed=0):
    return whet.tensor(np.random.default_rng(seed).standard_normal(shape), requires_grad=True)


@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 3), (3, 5), (0, 2, 2)])
def test_factorisations_multiply_back(shape):
    a = matrices(*shape).detach()
    q, r = whet.linalg.qr(a)
    u, s, vh = whet.linalg.svd(a, full_matrices=False)
    np.testing.assert_allclose((q @ r).numpy(), a.numpy(), atol=1e-12)
    np.testing.assert_allclose(((u * s.unsqueeze(-2)) @ vh).numpy(), a.numpy(), atol=1e-12)
    p = a @ a.mT + whet.eye(shape[-2], dtype=whet.float64)
    c = whet.linalg.cholesky(p)
    np.testing.assert_allclose((c @ c.mT).numpy(), p.numpy(), atol=1e-12)
    w, v = whet.linalg.eigh(p)
    np.testing.assert_allclose(((v * w.unsqueeze(-2)) @ v.mT).numpy(), p.numpy(), atol=1e-12)


@pytest.mark.parametrize("fn", [
    lambda a: whet.linalg.qr(a).Q.abs() * 1.0, lambda a: whet.linalg.qr(a).R ** 2,
    lambda a: whet.linalg.svd(a, full_matrices=False).S, lambda a: whet.linalg.svdvals(a) ** 2,
    lambda a: (lambda u, s, vh: (u * s.unsqueeze(-2)) @ vh)(*whet.linalg.svd(a, full_matrices=False)),
    lambda a: (lambda u, s, vh: u[:, :1] @ vh[:1])(*whet.linalg.svd(a, full_matrices=False)),
    lambda a: whet.linalg.eigvalsh(a @ a.mT), lambda a: (lambda w, v: v[:, -1:] @ v[:, -1:].mT)(*whet.linalg.eigh(a @ a.mT)),
    lambda a: whet.linalg.matrix_norm(a, "nuc"), lambda a: whet.linalg.matrix_norm(a, 2), lambda a: whet.linalg.pinv(a),
    lambda a: whet.linalg.matrix_power(a @ a.mT, 3), lambda a: whet.linalg.norm(a)])
def test_gradients(fn):
    assert gradcheck(fn, (matrices(4, 3),), atol=1e-5)


def test_second_gradients():
    a = matrices(3, 3)
    assert gradgradcheck(lambda a: whet.linalg.inv(a + 3 * whet.eye(3, dtype=a.dtype)), (a,), atol=1e-4)
    assert gradgradcheck(lambda a: whet.linalg.slogdet(a @ a.mT + whet.eye(3, dtype=a.dtype)).logabsdet, (a,), atol=1e-4)


def test_errors_say_what_is_wrong():
    with pytest.raises(RuntimeError, match="square matrices, but they are 2 by 3"):
        whet.linalg.inv(whet.zeros(2, 3))
    with pytest.raises(whet.linalg.LinAlgError, match="[Ss]ingular"):
        whet.linalg.inv(whet.zeros(2, 2))
    with pytest.raises(whet.linalg.LinAlgError):
        whet.linalg.cholesky(-whet.eye(2))
    with pytest.raises(RuntimeError, match="floating point"):
        whet.linalg.det(whet.ones(2, 2, dtype=whet.int64))
    with pytest.raises(RuntimeError, match="Incompatible shapes"):
        whet.linalg.solve(whet.eye(2), whet.ones(3))
