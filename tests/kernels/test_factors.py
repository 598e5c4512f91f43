"""Factors and solutions of small matrices against LAPACK in float64; what cannot be done is
said."""
import numpy as np
import pytest
import whet
from whet import linalg
from whet.cpu import factorisations

pytestmark = pytest.mark.skipif(factorisations.REFERENCE, reason="NumPy alone is wanted")
SIDES = [1, 2, 3, 8, 15, 16, 17, 33, 64, 100]


def matrices(n, dtype, *batch):
    rng = np.random.default_rng(n)
    a = (rng.standard_normal((*batch, n, n)) + 0.2 * n * np.eye(n)).astype(dtype)
    return a, rng.standard_normal((*batch, n, n // 3 + 1)).astype(dtype)


def near(got, wanted, dtype, n):
    bound = (2e-4 if dtype == "f4" else 1e-11) * n
    assert got.dtype == dtype and np.abs(got - wanted).max() <= bound * np.abs(wanted).max()


@pytest.mark.parametrize("n", SIDES)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("batch", [(), (3,), (2, 2)])
def test_solutions(n, dtype, batch):
    a, b = matrices(n, dtype, *batch)
    wide = a.astype("f8")
    near(factorisations.solve(a, b), np.linalg.solve(wide, b.astype("f8")), dtype, n)
    near(factorisations.inverse(a), np.linalg.inv(wide), dtype, n)
    positive = a @ np.swapaxes(a, -1, -2)
    near(factorisations.cholesky(positive), np.linalg.cholesky(positive.astype("f8")), dtype, n)
    if n < 40:
        near(factorisations.determinant(a), np.linalg.det(wide), dtype, n)
    for upper, unit in ((False, False), (True, False), (False, True), (True, True)):
        t = (a / n + 2 * np.eye(n)).astype(dtype)
        full = np.triu(t) if upper else np.tril(t)
        full = np.where(np.eye(n), 1, full) if unit else full
        wanted = np.linalg.solve(full.astype("f8"), b.astype("f8"))
        near(factorisations.triangular(t, b, upper=upper, unit=unit), wanted, dtype, n)
        turned = np.swapaxes(np.swapaxes(t, -1, -2).copy(), -1, -2)
        assert np.array_equal(factorisations.triangular(turned, b, upper=upper, unit=unit),
                              factorisations.triangular(t, b, upper=upper, unit=unit))


@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (5, 3), (17, 33), (40, 16), (2, 4, 4)])
def test_elimination_is_that_of_the_reference(shape):
    a = np.random.default_rng(1).standard_normal(shape)
    got, wanted = factorisations.lu(a), factorisations._eliminate(a)
    assert np.allclose(got[0], wanted[0]) and np.array_equal(got[1], wanted[1])
    assert got[1].dtype == got[2].dtype == np.int32 and not got[2].any()


@pytest.mark.parametrize("shape", [
    (1, 1), (3, 5), (5, 3), (17, 33), (40, 16), (2, 4, 4), (0, 3, 3)])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_parts_of_factors_are_those_of_the_reference(shape, dtype):
    packed, pivots, _ = factorisations.lu(
        np.random.default_rng(1).standard_normal(shape).astype(dtype))
    for got, wanted in zip(factorisations.parts(packed, pivots),
                           factorisations._parts(packed, pivots)):
        assert got.dtype == dtype and np.array_equal(got, wanted)


@pytest.mark.parametrize("pivot", [0, 4, -2 ** 31])
@pytest.mark.parametrize("dtype", [whet.float32, whet.complex64])
def test_a_swap_with_no_row_is_refused(pivot, dtype):
    pivots = whet.tensor([1, pivot, 3], dtype=whet.int32)
    for _ in range(3):
        with pytest.raises(RuntimeError, match="pivots must be between 1 and the number of rows"):
            whet.lu_unpack(whet.ones(3, 3, dtype=dtype), pivots)


@pytest.mark.parametrize("shape", [(513, 513), (600, 70), (70, 600), (2, 515, 516), (0, 600, 600)])
def test_large_matrices_are_eliminated_by_panels(shape, monkeypatch):
    a = np.random.default_rng(1).standard_normal(shape)
    wanted = factorisations._eliminate(a)
    monkeypatch.setattr(factorisations, "_eliminate", None)     # which takes ten times as long
    got, threads = factorisations.lu(a), whet.get_num_threads()
    assert np.allclose(got[0], wanted[0]) and np.array_equal(got[1], wanted[1])
    assert got[1].dtype == got[2].dtype == np.int32 and not got[2].any()
    try:
        for n in (1, 2, 5):
            whet.set_num_threads(n)
            assert all(map(np.array_equal, factorisations.lu(a), got))
    finally:
        whet.set_num_threads(threads)
    a[..., 66] = 0
    assert (factorisations.lu(a)[2] == 67).all()


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_large_matrices_are_solved_by_their_parts(dtype, monkeypatch):
    a, b = matrices(530, dtype)
    positive = (a @ a.T).astype(dtype)
    wide = [x.astype("f8") for x in (a, b, positive)]
    wanted = (np.linalg.solve(*wide[:2]), np.linalg.inv(wide[0]), np.linalg.cholesky(wide[2]),
              np.linalg.slogdet(wide[0]))
    for name in ("solve", "inv", "cholesky", "slogdet", "det"):
        monkeypatch.setattr(np.linalg, name, None)              # which take twice as long and more
    near(factorisations.solve(a, b), wanted[0], dtype, 530)
    near(factorisations.inverse(a), wanted[1], dtype, 530)
    near(factorisations.cholesky(positive), wanted[2], dtype, 530)
    sign, logarithm = factorisations.log_determinant(a)
    assert sign == wanted[3][0] and np.isclose(logarithm, wanted[3][1], rtol=1e-5)
    scaled = a / a.dtype.type(np.exp(wanted[3][1] / 530))
    assert np.isclose(abs(factorisations.determinant(scaled)), 1, rtol=2e-2)
    a[:, 7] = 0
    assert factorisations.determinant(a) == 0 == np.exp(factorisations.log_determinant(a)[1])
    for fn in (factorisations.inverse, lambda a: factorisations.solve(a, b)):
        with pytest.raises(np.linalg.LinAlgError, match="Singular"):
            fn(a)
    with pytest.raises(np.linalg.LinAlgError, match="positive definite"):
        factorisations.cholesky(-positive)


@pytest.mark.parametrize("n", [1, 2, 5, 17, 64])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_logarithms_of_determinants(n, dtype):
    a, _ = matrices(n, dtype, 3)
    sign, logarithm = factorisations.log_determinant(a)
    wanted = np.linalg.slogdet(a.astype("f8"))
    assert sign.dtype == logarithm.dtype == dtype and np.array_equal(sign, wanted[0])
    assert np.allclose(logarithm, wanted[1], rtol=1e-4 if dtype == "f4" else 1e-12, atol=1e-5)
    sign, logarithm = factorisations.log_determinant(np.zeros((n, n), dtype))
    assert sign == 0 and logarithm == -np.inf


def test_a_triangle_of_many_rows_is_solved_in_blocks():
    a = np.tril(np.random.default_rng(0).standard_normal((300, 300))) / 20 + 2 * np.eye(300)
    b = np.ones((300, 4))
    found = factorisations.triangular(a, b, upper=False, unit=False)
    assert np.allclose(found, np.linalg.solve(a, b))
    found = factorisations.triangular(a.T, b, upper=True, unit=False)
    assert np.allclose(found, np.linalg.solve(a.T, b))


@pytest.mark.parametrize("traced", [False, True])
def test_what_has_no_solution_is_an_error_at_each_call(traced):
    solve = whet.jit.trace(linalg.inv) if traced else linalg.inv
    factor = whet.jit.trace(linalg.cholesky) if traced else linalg.cholesky
    good = 2 * whet.eye(3)
    for _ in range(4):
        assert solve(good)[0, 0] == 0.5 and factor(2 * good)[0, 0] == 2
    for _ in range(3):
        with pytest.raises(linalg.LinAlgError, match="inv: The diagonal element 2 is zero"):
            solve(whet.ones(3, 3))
        with pytest.raises(linalg.LinAlgError, match="not positive-definite"):
            factor(-good)
    assert solve(good)[0, 0] == 0.5


def test_the_first_zero_pivot_is_told():
    info = linalg.lu_factor_ex(whet.tensor([[[1.0, 2.0], [2.0, 4.0]], [[0.0, 1.0], [0.0, 1.0]],
                                            [[1.0, 0.0], [0.0, 1.0]]])).info
    assert info.tolist() == [2, 1, 0]
