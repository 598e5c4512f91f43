"""`whet.lobpcg` finds what `eigh` finds, by products with the matrix alone."""
import pytest
import whet


def symmetric(*sizes, dtype=whet.float64):
    a = whet.randn(*sizes, dtype=dtype)
    return a @ a.mT


def wanted(A, k, largest):
    values = whet.linalg.eigvalsh(A)
    return values.flip(-1)[..., :k] if largest else values[..., :k]


@pytest.mark.parametrize("dtype,bound", [(whet.float32, 2e-5), (whet.float64, 1e-9)], ids=str)
@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("method", [None, "basic", "ortho"])
def test_values_and_vectors(dtype, bound, largest, method):
    A = symmetric(60, 60, dtype=dtype)
    E, X = whet.lobpcg(A, 3, largest=largest, method=method)
    size = whet.linalg.matrix_norm(A, 2)
    assert ((E - wanted(A, 3, largest)).abs().max() / size) < bound
    assert (A @ X - X * E).norm() / size < 1e-3
    assert whet.allclose(X.mT @ X, whet.eye(3, dtype=dtype), atol=1e-5)


def test_of_two_matrices_and_with_a_preconditioner():
    A, B = symmetric(40, 40), symmetric(40, 40) * 0.01 + whet.eye(40, dtype=whet.float64)
    E, X = whet.lobpcg(A, 2, B=B, iK=whet.linalg.inv(A), largest=False)
    assert ((A @ X - (B @ X) * E).norm() / A.norm()) < 1e-6
    assert whet.allclose(X.mT @ B @ X, whet.eye(2, dtype=whet.float64), atol=1e-6)


def test_of_batches_and_of_sparse_matrices():
    A = symmetric(2, 3, 30, 30)
    E, X = whet.lobpcg(A, 2, X=whet.randn(2, 3, 30, 4, dtype=whet.float64))
    assert E.shape == (2, 3, 2) and X.shape == (2, 3, 30, 2)
    assert whet.allclose(E, wanted(A, 2, True), rtol=1e-6)
    S = whet.diag(whet.arange(1.0, 40.0))
    assert whet.allclose(whet.lobpcg(S.to_sparse(), 2)[0], whet.tensor([39.0, 38.0]))
    assert whet.allclose(whet.lobpcg(S.to_sparse_csr(), largest=False)[0], whet.tensor([1.0]))


def test_gradients_are_those_of_eigh():
    A = symmetric(12, 12).requires_grad_()
    c = whet.randn(12, 2, dtype=whet.float64)
    E, X = whet.lobpcg(A, 2, tol=1e-12)
    g, = whet.autograd.grad((E ** 2).sum() + (X.square() * c).sum(), A)
    L, V = whet.linalg.eigh((A + A.mT) / 2)
    L, V = L.flip(0)[:2], V.flip(1)[:, :2]
    w, = whet.autograd.grad((L ** 2).sum() + (V.square() * c).sum(), A)
    assert whet.allclose(g, (w + w.mT) / 2, rtol=1e-6, atol=1e-8)
    with pytest.raises(ValueError, match="no gradients where B is given"):
        whet.lobpcg(A, B=whet.eye(12, dtype=whet.float64))


def test_a_tracker_sees_the_steps_and_may_end_them():
    seen = []

    def tracker(worker):
        seen.append((worker.ivars["istep"], worker.tvars["rerr"].shape, worker.X.shape))
        worker.bvars["force_stop"] = worker.ivars["istep"] == 2
    whet.lobpcg(symmetric(30, 30), 2, tracker=tracker, tol=0.0)
    assert seen == [(i, (2,), (30, 2)) for i in range(3)]
    seen.clear()
    whet.lobpcg(symmetric(30, 30), 2, niter=1, tol=0.0, tracker=lambda w: seen.append(w.E))
    assert len(seen) == 2


def test_refusals():
    A = symmetric(6, 6)
    with pytest.raises(ValueError, match="not applicable when the number of A rows"):
        whet.lobpcg(A, 3)
    with pytest.raises(AssertionError, match="must be square"):
        whet.lobpcg(A[:, :5])
    with pytest.raises(AssertionError, match="same shape"):
        whet.lobpcg(A, B=A[:5, :5])
    with pytest.raises(ValueError, match="method"):
        whet.lobpcg(A, method="other")


def test_traced_calls_are_eager_ones():
    f = whet.jit.trace(lambda A, X: whet.lobpcg(A, X=X))
    X = whet.randn(20, 1, dtype=whet.float64)
    for _ in range(5):
        A = symmetric(20, 20)
        for a, b in zip(f(A, X), whet.lobpcg(A, X=X)):
            assert a.equal(b)
