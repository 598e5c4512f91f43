"""whet.linalg against NumPy, and the gradients of what has signs or phases to choose through
functions without them."""
import numpy as np
import pytest
import whet
from whet.autograd import gradcheck, gradgradcheck
from whet.cpu import native


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


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("mode", ["reduced", "complete", "r"])
@pytest.mark.parametrize("shape", [
    (1, 1), (5, 5), (16, 12, 8), (3, 8, 20), (90, 5), (2, 3, 1),
    (2, 40, 37),             # more columns than a vector has numbers
])
def test_orthogonal_factors_are_those_of_numpy(shape, mode, dtype):
    a = matrices(*shape).detach().numpy().astype(dtype)
    for scale in (1, 2.0 ** 100, 2.0 ** -100):      # whose squares are no numbers of f32
        q, r = whet.linalg.qr(whet.from_numpy((a * scale).astype(dtype)), mode=mode)
        want = np.linalg.qr(a, mode)
        wanted_r = want if mode == "r" else want[1]
        close = dict(rtol=0, atol=np.finfo(dtype).eps * 200)
        np.testing.assert_allclose(r.numpy() / np.dtype(dtype).type(scale), wanted_r, **close)
        if mode != "r":
            np.testing.assert_allclose(q.numpy(), want[0], **close)


def test_columns_of_any_size_have_orthogonal_factors():
    a = matrices(6, 5).detach().float() * whet.tensor([1, 1e-20, 0, 1e-30, 1e15])
    q, r = whet.linalg.qr(a)
    np.testing.assert_allclose((q.mT @ q).numpy(), np.eye(5), atol=1e-6)
    np.testing.assert_allclose((q.double() @ r.double()).numpy(), a.numpy(), rtol=1e-4, atol=1e-26)


@pytest.mark.parametrize("bad", [np.inf, np.nan])
def test_factors_of_what_is_not_finite_are_not_numbers(bad):
    q, r = whet.linalg.qr(whet.tensor([[bad, 1], [2, 3]]))
    assert q.isnan().all() and r[0].isnan().all() and r[1, 1].isnan()


def test_orthogonal_factors_of_small_matrices_are_launches():
    if not native.enabled():
        pytest.skip("without machine code every step is Python's")
    f = whet.jit.trace(lambda a: whet.linalg.qr(a))
    for _ in range(3):
        f(whet.randn(4, 6, 3))
    path, = f.explain(data=True)["paths"]
    assert path["calls"] and not path["python"], path["graph"]


@pytest.mark.parametrize(
    "fn",
    [
        lambda a: whet.linalg.qr(a).Q.abs() * 1.0, lambda a: whet.linalg.qr(a).R ** 2,
        lambda a: whet.linalg.svd(a, full_matrices=False).S, lambda a: whet.linalg.svdvals(a) ** 2,
        lambda a: (lambda u, s, vh:
                   (u * s.unsqueeze(-2)) @ vh)(*whet.linalg.svd(a, full_matrices=False)), lambda a:
        (lambda u, s, vh: u[:, :1] @ vh[:1])(*whet.linalg.svd(a, full_matrices=False)),
        lambda a: whet.linalg.eigvalsh(a @ a.mT), lambda a: (lambda w, v: v[:, -1:] @ v[:, -1:].mT)
        (*whet.linalg.eigh(a @ a.mT)), lambda a: whet.linalg.matrix_norm(a, "nuc"),
        lambda a: whet.linalg.matrix_norm(a, 2), lambda a: whet.linalg.pinv(a),
        lambda a: whet.linalg.matrix_power(a @ a.mT, 3), lambda a: whet.linalg.norm(a)])
def test_gradients(fn):
    assert gradcheck(fn, (matrices(4, 3),), atol=1e-5)


def _refused(*_, **__):
    raise AssertionError("this is not wanted here")


def test_eigenvalues_alone_are_found_without_vectors(monkeypatch):
    a = matrices(4, 4).detach()
    a = a + a.mT
    turned = matrices(4, 4).detach()
    values, vectors = whet.linalg.eigh(a)
    slopes = ((vectors.mT @ (turned + turned.mT) @ vectors).diagonal())
    monkeypatch.setattr(np.linalg, "eigh", _refused)
    assert whet.allclose(whet.linalg.eigvalsh(a), values)
    assert whet.allclose(whet.linalg.eigvalsh(a.triu(), "U"), values)
    with pytest.raises(AssertionError, match="not wanted"):
        whet.linalg.eigvalsh(a.requires_grad_())
    monkeypatch.undo()
    found, along = whet.func.jvp(
        whet.linalg.eigvalsh, (a.detach(),), (turned + turned.mT,))
    assert whet.allclose(found, values) and whet.allclose(along, slopes)


def test_least_squares_of_regular_matrices_want_no_singular_values(monkeypatch):
    a, b = matrices(5, 3).detach(), matrices(5, 2).detach()
    wanted = whet.linalg.pinv(a) @ b
    short = a.clone()
    short[:, 2] = short[:, 0] - short[:, 1]
    least = whet.linalg.pinv(short) @ b
    monkeypatch.setattr(np.linalg, "svd", _refused)
    x, _, rank, _ = whet.linalg.lstsq(a, b)
    assert whet.allclose(x, wanted) and rank == 3
    with pytest.raises(AssertionError, match="not wanted"):
        whet.linalg.lstsq(short, b)
    monkeypatch.undo()
    both = whet.linalg.lstsq(whet.stack([a, short]), whet.stack([b, b]))
    assert both.rank.tolist() == [3, 2]
    assert whet.allclose(both.solution, whet.stack([wanted, least]))


def test_second_gradients():
    a = matrices(3, 3)
    assert gradgradcheck(lambda a: whet.linalg.inv(a + 3 * whet.eye(3, dtype=a.dtype)), (a,),
                         atol=1e-4)
    assert gradgradcheck(
        lambda a: whet.linalg.slogdet(a @ a.mT + whet.eye(3, dtype=a.dtype)).logabsdet, (a,),
        atol=1e-4)


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


# ---- second derivatives, complex matrices, what has no solution ----------------------------------
SECOND = {
    "eigh": lambda a: whet.linalg.eigh(a + a.mH).eigenvectors.abs(),
    "svd": lambda a: whet.linalg.svd(a, full_matrices=False).U.abs(),
    "eig": lambda a: whet.linalg.eig(a).eigenvectors.abs(),
    "qr": lambda a: tuple(whet.linalg.qr(a)),
    "both": lambda a: (lambda u, s, vh: (u @ vh, s))(*whet.linalg.svd(a, full_matrices=False)),
    "pinv": whet.linalg.pinv,
    "lu": lambda a: tuple(whet.linalg.lu(a))[1:],
    "slogdet": lambda a: tuple(whet.linalg.slogdet(a)),
    "svdvals": whet.linalg.svdvals,
    "logdet": lambda a: whet.logdet(a @ a.mH + 1j if a.is_complex() else a @ a.mT)}


@pytest.mark.parametrize("complex_", [False, True])
@pytest.mark.parametrize("name", SECOND)
def test_second_derivatives_of_factorisations(name, complex_):
    rng = np.random.default_rng(3)
    a = rng.standard_normal((3, 3)) + (1j * rng.standard_normal((3, 3)) if complex_ else 0)
    x = whet.tensor(a, requires_grad=True)
    assert gradcheck(SECOND[name], [x])
    assert gradgradcheck(SECOND[name], [x], atol=1e-4)


@pytest.mark.parametrize("shape", [(2, 4), (4, 2), (2, 3, 5)])
def test_the_factors_of_matrices_that_are_not_square_have_gradients(shape):
    assert gradcheck(lambda a: tuple(whet.linalg.lu(a))[1:], [matrices(*shape)])


def test_a_pseudo_inverse_of_smaller_rank_has_the_gradient_of_that_rank():
    a, b = matrices(4, 2), matrices(4, 2, seed=1)
    assert gradcheck(lambda a, b: whet.linalg.pinv(a @ b.mT), [a, b])
    assert gradgradcheck(lambda a, b: whet.linalg.pinv(a @ b.mT), [a, b], atol=1e-4)


def test_a_pseudo_inverse_reads_what_it_is_told():
    a = whet.tensor([[2.0, 0.0], [0.0, 0.1]])
    assert whet.linalg.pinv(a, atol=0.5).tolist() == [[0.5, 0.0], [0.0, 0.0]]
    assert whet.linalg.pinv(a, rtol=0.5).tolist() == [[0.5, 0.0], [0.0, 0.0]]
    # of a symmetric matrix one triangle is read
    lower = whet.tensor([[1.0, 100.0], [2.0, 1.0]])
    np.testing.assert_allclose(
        whet.linalg.pinv(lower, hermitian=True).numpy(),
        np.linalg.pinv([[1.0, 2.0], [2.0, 1.0]]),
        rtol=1e-5)
    assert whet.linalg.matrix_rank(a, atol=0.5).item() == 1
    assert whet.linalg.matrix_rank(lower, hermitian=True).item() == 2


def test_the_ex_forms_say_where_it_failed():
    bad = whet.tensor([[4.0, 0.0], [0.0, -1.0]])
    both = whet.stack([whet.eye(2), bad])
    assert whet.linalg.cholesky_ex(both).info.tolist() == [0, 2]
    assert whet.linalg.cholesky_ex(both).L[0].tolist() == [[1.0, 0.0], [0.0, 1.0]]
    singular = whet.stack([whet.eye(2) * 2, whet.ones(2, 2)])
    inverse, info = whet.linalg.inv_ex(singular)
    assert info.tolist() == [0, 2] and inverse[0].tolist() == [[0.5, 0.0], [0.0, 0.5]]
    solution, info = whet.linalg.solve_ex(singular, whet.ones(2, 2))
    assert info.tolist() == [0, 2] and solution[0].tolist() == [0.5, 0.5]
    for call in (lambda: whet.linalg.cholesky_ex(bad, check_errors=True),
                 lambda: whet.linalg.inv_ex(singular, check_errors=True),
                 lambda: whet.linalg.solve_ex(singular, whet.ones(2, 2), check_errors=True)):
        with pytest.raises(whet.linalg.LinAlgError):
            call()


def test_matrices_without_elements():
    none = whet.ones(0, 3, 3, dtype=whet.float64, requires_grad=True)
    for fn in ((whet.linalg.inv, whet.linalg.pinv, lambda a: whet.linalg.lu_factor(a).LU,
                lambda a: whet.linalg.solve(a, a[..., :1]))):
        assert gradgradcheck(fn, [none])
    empty = whet.ones(0, 0)
    assert whet.linalg.pinv(empty).shape == (0, 0) and whet.linalg.matrix_rank(empty).item() == 0
    assert (whet.linalg.matrix_norm(empty, 2).item() == 0
            and whet.linalg.matrix_norm(empty, 1, keepdim=True).shape == (1, 1))
    assert whet.linalg.lu_solve(*whet.linalg.lu_factor(empty), whet.ones(0, 4)).shape == (0, 4)
    assert (whet.ones(5, 5, 0) @ whet.ones(0, 5)).tolist() == whet.zeros(5, 5, 5).tolist()


def test_complex_pivots_are_chosen_as_in_lapack():
    # |2.2 + 2.2j| is 3.11, the sum of its parts 4.4
    a = whet.tensor([[3.2 + 0j, 1], [2.2 + 2.2j, 1]])
    assert whet.linalg.lu_factor(a).pivots.tolist() == [2, 2]


def test_results_are_put_where_asked():
    a = whet.tensor([[2.0, 0.0], [0.0, 4.0]])
    out = whet.empty(2, 2)
    assert whet.linalg.inv(a, out=out) is out and out.tolist() == [[0.5, 0.0], [0.0, 0.25]]
    q, r = whet.empty(0), whet.empty(0)
    got = whet.linalg.qr(a, out=(q, r))
    assert got.Q is q and got.R is r and (q @ r).tolist() == a.tolist()
    with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
        whet.linalg.qr(a.requires_grad_(), out=(q, r))


@pytest.mark.parametrize("hermitian", [False, True])
@pytest.mark.parametrize("dtype", [whet.float64, whet.complex128, whet.float32])
@pytest.mark.parametrize("n", [0, 1, 2, 3, 5, 30])
def test_symmetric_matrices_are_solved_by_their_factors(n, dtype, hermitian):
    whet.manual_seed(n)
    a = whet.randn(3, n, n, dtype=dtype)
    a = a + (a.mH if hermitian else a.mT)
    for i in range(min(n, 2)):
        a[0, i, i] = 0                  # there is no pivot of one row
    if n == 1:
        a[0] = 2
    b = whet.randn(3, n, 2, dtype=dtype)
    packed, pivots = whet.linalg.ldl_factor(a.tril(), hermitian=hermitian)
    assert pivots.dtype is whet.int32 and (packed.triu(1) == 0).all()
    bound = 1e-2 if dtype is whet.float32 else 1e-8
    whet.testing.assert_close(a @ whet.linalg.ldl_solve(packed, pivots, b, hermitian=hermitian), b,
                              rtol=bound, atol=bound)


def test_pairs_of_rows_are_eliminated_together():
    a = whet.tensor([[0.0, 2.0, 1.0], [2.0, 0.0, 3.0], [1.0, 3.0, 1.0]])
    packed, pivots = whet.linalg.ldl_factor(a)
    assert pivots.tolist() == [-2, -2, 3] and packed[1, 0] == 2


def test_symmetric_elimination_of_matrices_that_lie_otherwise():
    a = whet.randn(3, 2, 5, 5, generator=whet.Generator().manual_seed(0))
    examples_last = a.permute(1, 2, 3, 0).contiguous().permute(3, 0, 1, 2)
    for made, other in zip(whet.linalg.ldl_factor(a), whet.linalg.ldl_factor(examples_last)):
        whet.testing.assert_close(made, other)


def test_zero_pivots_of_symmetric_matrices_are_named():
    made = whet.linalg.ldl_factor_ex(whet.zeros(2, 3, 3))
    assert made.info.tolist() == [1, 1] and made.pivots.tolist() == [[1, 2, 3]] * 2
    with pytest.raises(whet.linalg.LinAlgError, match=r"D\[1,1\] is zero"):
        whet.linalg.ldl_factor(whet.zeros(3, 3))
    with pytest.raises(RuntimeError, match="do not belong together"):
        whet.linalg.ldl_solve(*whet.linalg.ldl_factor(whet.eye(3)), whet.ones(2, 1))
    with pytest.raises(RuntimeError, match="must be batches of square matrices|square"):
        whet.linalg.ldl_factor(whet.ones(2, 3))


def test_norms_with_their_statistics():
    x = whet.randn(2, 4, 3, dtype=whet.float64)
    w, b = whet.randn(3, dtype=whet.float64), whet.randn(3, dtype=whet.float64)
    y, mean, scale = whet.native_layer_norm(x, (3,), w, b, 1e-5)
    whet.testing.assert_close(y, (x - mean) * scale * w + b)
    y, mean, scale = whet.native_group_norm(x, None, None, 2, 4, 3, 2, 1e-5)
    whet.testing.assert_close(y, ((x.reshape(2, 2, 6) - mean[..., None]) * scale[..., None]
                                  ).reshape(2, 4, 3))
    y, mean, scale = whet.native_batch_norm(x, None, None, None, None, True, 0.1, 1e-5)
    whet.testing.assert_close(y, (x - mean[:, None]) * scale[:, None])
    y, *none = whet.native_batch_norm(x, None, None, mean, scale, False, 0.1, 1e-5)
    assert [t.shape for t in none] == [(0,), (0,)]


def test_products_that_end_with_a_vector_make_no_matrices():
    a = matrices(300, 300).requires_grad_(False)
    v = whet.ones(300, dtype=whet.float64)
    assert whet.linalg.multi_dot([a, a, a, v]).equal(a @ (a @ (a @ v)))
    assert whet.linalg.multi_dot([v, a, a, v]).equal(v @ a @ a @ v)
    assert whet.linalg.multi_dot([v, a, a]).equal(v @ a @ a)


def test_arguments_that_have_no_one_meaning_are_errors():
    with pytest.raises(RuntimeError, match="the input must be 1D or 2D. Got 3D"):
        whet.linalg.norm(whet.ones(2, 2, 2), 2)
    with pytest.raises(RuntimeError, match="at least 2 tensors but got 1"):
        whet.linalg.multi_dot([whet.eye(2)])
    with pytest.raises(RuntimeError, match="tensor 1 must be 2D but got 1D"):
        whet.linalg.multi_dot([whet.eye(2), whet.ones(2), whet.ones(2)])
    with pytest.raises(RuntimeError, match=r"U\[1,1\] is zero"):
        whet.linalg.lu_factor(whet.zeros(2, 2))
    assert whet.linalg.lu(whet.zeros(2, 2)).U.tolist() == [[0, 0], [0, 0]]
    assert whet.linalg.lu_factor_ex(whet.zeros(2, 2)).info.item() == 1


@pytest.mark.parametrize("columns", [[[1, 2], [2, 4], [0, 0]], [[1, 2], [2, 4]], [[0, 0], [0, 0]]])
def test_least_squares_of_dependent_columns_has_the_least_solution(columns):
    a = whet.tensor(columns, dtype=whet.float64, requires_grad=True)
    b = whet.arange(1.0, len(columns) + 1, dtype=whet.float64).unsqueeze(-1)
    got = whet.linalg.lstsq(a, b)
    np.testing.assert_allclose(got.solution.detach(), np.linalg.lstsq(a.detach(), b, None)[0],
                               atol=1e-12)
    assert got.rank == np.linalg.matrix_rank(a.detach())
    got.solution.sum().backward()
    assert a.grad.isfinite().all()


def test_least_squares_of_a_batch_leave_the_bits_of_matrices_that_have_full_rank():
    good, bad = matrices(3, 2).detach(), whet.tensor([[1.0, 1], [1, 1], [2, 2]]).double()
    b = matrices(3, 1, seed=1).detach()
    both = whet.stack([good, bad]).requires_grad_()
    x = whet.linalg.lstsq(both, b.expand(2, 3, 1)).solution
    assert whet.equal(x[0], whet.linalg.lstsq(good, b).solution)
    whet.testing.assert_close(x[1], whet.linalg.lstsq(bad, b, driver="gelsy").solution)
    x.sum().backward()
    assert both.grad.isfinite().all()
    each = whet.vmap(lambda a: whet.linalg.lstsq(a, b).solution)(both)
    assert whet.equal(each, x)


@pytest.mark.parametrize("dtype", [whet.float64, whet.complex128])
@pytest.mark.parametrize("function", [whet.logdet, lambda a: whet.linalg.slogdet(a)[1].real])
def test_logarithms_of_determinants_of_no_inverse_have_an_infinite_derivative(function, dtype):
    a = whet.stack([whet.eye(2), whet.ones(2, 2)]).to(dtype).requires_grad_()
    y = function(a)
    y[0].real.backward(retain_graph=True)
    assert a.grad[0].real.tolist() == [[1, 0], [0, 1]]
    a.grad = None
    y.real.sum().backward()
    assert a.grad[0].real.tolist() == [[1, 0], [0, 1]] and not a.grad[1].isfinite().any()


def test_eigenvalues_of_halves_are_complex():
    quarter_turn = whet.tensor([[0., 1.], [-1., 0.]])
    for dtype in (whet.float16, whet.bfloat16):
        w, v = whet.linalg.eig(quarter_turn.to(dtype))
        assert w.dtype is v.dtype is whet.complex64
        np.testing.assert_array_equal(np.sort(w.imag.numpy()), [-1, 1])


def test_kinds_of_arguments_that_factorisations_refuse():
    integers = whet.ones(2, 2, dtype=whet.int64)
    for fn in (whet.linalg.eigh, whet.linalg.qr, whet.linalg.svd, whet.linalg.lu):
        with pytest.raises(NotImplementedError, match="Got Long"):
            fn(integers)
    with pytest.raises(TypeError, match="'mode' must be str"):
        whet.linalg.qr(whet.eye(2), mode=None)
    solved = whet.linalg.lstsq(whet.eye(2), whet.ones(2, 1), driver="GELSD").solution
    np.testing.assert_allclose(solved.numpy(), np.ones((2, 1)), rtol=1e-6)


def test_a_product_of_no_reflections_has_gradients_and_memory_of_its_own():
    a = whet.full((2, 3, 3), float("nan"), requires_grad=True)
    tau = whet.ones(2, 0, requires_grad=True)
    q = whet.linalg.householder_product(a, tau)
    q.sum().backward()
    assert not a.grad.any() and tau.grad.shape == (2, 0)
    q.detach()[0, 0, 1] = 5.0
    assert q[1].tolist() == whet.eye(3).tolist()


@pytest.mark.parametrize("driver", [None, "gelsy", "gelsd", "gelss", "gels"])
def test_residuals_are_told_where_no_matrix_lacks_a_rank(driver):
    """By drivers that find ranks, of all matrices of a batch or of none."""
    generator = np.random.default_rng(0)
    full, b = (whet.tensor(generator.standard_normal((2, 4, n))) for n in (3, 2))
    lacking = full.clone()
    lacking[1, :, 2] = lacking[1, :, 0]
    told = driver in ("gelsd", "gelss", "gels")
    assert whet.linalg.lstsq(full, b, driver=driver).residuals.shape == ((2, 2) if told else (0,))
    if driver != "gels":
        assert whet.linalg.lstsq(lacking, b, driver=driver).residuals.shape == (0,)


@pytest.mark.parametrize("dtype", [whet.float32, whet.float64, whet.complex128])
@pytest.mark.parametrize("n", [3, 40, 300])
def test_an_error_names_the_matrix_that_failed_and_where(dtype, n):
    regular = whet.eye(n, dtype=dtype)
    singular, several = regular.clone(), regular.repeat(4, 1, 1)
    singular[-1, -1] = several[2, -1, -1] = 0
    b = whet.ones(n, 1, dtype=dtype)
    factor = r"factorization could not be completed .* minor of order %d is not"
    inverse = r"diagonal element %d is zero, the inversion could not be completed"
    solved = "The solver failed because the input matrix is singular"
    for name, call, what in (
            ("cholesky", whet.linalg.cholesky, factor % n),
            ("cholesky_ex", lambda a: whet.linalg.cholesky_ex(a, check_errors=True), factor % n),
            ("inv", whet.linalg.inv, inverse % n),
            ("solve", lambda a: whet.linalg.solve(a, b), solved)):
        with pytest.raises(whet.linalg.LinAlgError, match=rf"^linalg\.{name}: (The )?{what}"):
            call(singular)
        with pytest.raises(whet.linalg.LinAlgError,
                           match=rf"{name}: \(Batch element 2\): (The )?{what}"):
            call(several)
        call(regular)


def test_decompositions_of_what_is_not_finite_say_so():
    x = whet.tensor([[1.0, whet.nan], [1.0, 1.0]])
    for call in (whet.linalg.svd, whet.linalg.svdvals):
        with pytest.raises(whet.linalg.LinAlgError, match="contained non-finite values"):
            call(x)


def test_a_norm_is_asked_for_in_a_type_that_holds_the_numbers():
    x = whet.ones(4, dtype=whet.complex64) * 3j
    assert whet.linalg.vector_norm(x, dtype=whet.complex128).item() == 6.0
    assert whet.linalg.vector_norm(x.imag, dtype=whet.float64).dtype is whet.float64
    with pytest.raises(RuntimeError, match="should be complex for complex inputs"):
        whet.linalg.vector_norm(x, dtype=whet.float32)
    with pytest.raises(RuntimeError, match="without narrowing"):
        whet.linalg.vector_norm(x.imag, dtype=whet.float16)
    for ord in (None, 2, 1):
        with pytest.raises(RuntimeError, match="must be of length 1 or 2"):
            whet.linalg.norm(whet.ones(2, 2, 2), ord, (0, 1, 2))


def test_r_alone_comes_with_no_q():
    a = whet.arange(12.0).view(2, 3, 2)
    q, r = whet.linalg.qr(a, mode="r")
    assert q.shape == (0,) and q.dtype is a.dtype
    assert whet.allclose(r, whet.linalg.qr(a).R)
