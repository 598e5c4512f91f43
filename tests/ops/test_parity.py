"""What users of PyTorch rely on, with the expected values written in."""
import functools
import math
import warnings

import numpy as np
import pytest
import whet
import whet.nn.functional as F

NAN, INF = math.nan, math.inf


def same(t, expected, dtype=None, tol=1e-6):
    """The values (NaN equals NaN) and, where given, the type."""
    if dtype is not None:
        assert t.dtype is dtype
    np.testing.assert_allclose(np.asarray(t.tolist()), np.asarray(expected), rtol=tol, atol=tol)


def leaf(data, dtype=whet.float32):
    return whet.tensor(data, dtype=dtype, requires_grad=True)


def gradient_of(fn, *xs, g=None):
    y = fn(*xs)
    y.backward(whet.ones_like(y) if g is None else g)
    return [x.grad for x in xs]


# ---- types ---------------------------------------------------------------------------------------
def test_the_absolute_value_of_a_complex_number_is_real():
    z = whet.tensor([3 + 4j, 0j])
    same(z.abs(), [5, 0], whet.float32)
    with pytest.raises(RuntimeError):
        z.abs_()


def test_a_python_number_wraps_around_in_a_small_integer_type():
    same(whet.tensor([1, 2], dtype=whet.uint8) + 300, [45, 46], whet.uint8)
    same(whet.tensor([1, 2], dtype=whet.int8) - 300, [-43, -42], whet.int8)


def test_a_factor_takes_no_part_in_promotion():
    b = whet.tensor([True, False])
    same(whet.add(b, b, alpha=2), [True, False], whet.bool)
    i = whet.tensor([1, 2])
    same(whet.addcmul(i, i, i, value=2), [3, 10], whet.int64)
    same(F.hardtanh(whet.tensor([-5, 0, 5], dtype=whet.int8)), [-1, 0, 1], whet.int8)


def test_a_square_of_bools_counts():
    same(whet.tensor([True, False]).square(), [1, 0], whet.int64)


def test_a_running_sum_has_the_type_asked_for():
    same(whet.tensor([True, True]).cumsum(0, dtype=whet.int32), [1, 2], whet.int32)


def test_a_sum_of_bools_may_stay_a_bool():
    same(whet.tensor([0, 2]).sum(dtype=whet.bool), True, whet.bool)
    same(whet.tensor([0, 2]).prod(dtype=whet.bool), False, whet.bool)


def test_integers_become_floats_in_softsign():
    same(F.softsign(whet.tensor([1, -3])), [0.5, -0.75], whet.float32)


def test_whole_numbers_stay_whole():
    same(F.threshold(whet.tensor([-2, 0, 2]), 0.5, -9), [-9, -9, 2], whet.int64)
    same(whet.arange(0.0, -8.1, -4.0, dtype=whet.int64), [0, -4], whet.int64)
    same(whet.linspace(4.3, 1, 4, dtype=whet.int64), [4, 3, 2, 1], whet.int64)
    assert whet.unravel_index(whet.tensor([3], dtype=whet.uint8), (2, 2))[0].dtype is whet.int64
    b = whet.tensor([True, False])
    same(b.clamp_min(whet.tensor([False, True])), [True, True], whet.bool)
    same(b.clamp_max(whet.tensor([False, True])), [False, False], whet.bool)


def test_complex_numbers_where_a_formula_has_them():
    z = whet.tensor([1 + 1j, -2j])
    same(F.softsign(z), [(1 + 1j) / (1 + 2 ** 0.5), -2j / 3], whet.complex64)
    same(F.silu(z), [x / (1 + np.exp(-x)) for x in (1 + 1j, -2j)], whet.complex64)
    same(F.tanhshrink(z), [x - np.tanh(x) for x in (1 + 1j, -2j)], whet.complex64)
    for t in ((whet.tensor([complex(NAN, 1)]).nan_to_num(),
               whet.tensor([complex(NAN, 1)]).nan_to_num_())):
        same(t, [1j])
    same(whet.logsumexp(whet.tensor(2 + 7j), 0), 2 + (7 - 2 * math.pi) * 1j)
    with pytest.raises(NotImplementedError):
        z.softmax(0)


# ---- special values ------------------------------------------------------------------------------
def test_the_sign_of_nan_is_zero():
    same(whet.tensor([NAN, -2.0, -0.0]).sign(), [0, -1, 0])
    same(whet.tensor([True, False]).sign(), [True, False], whet.bool)


def test_the_step_function_of_nan_is_zero():
    same(whet.heaviside(whet.tensor([NAN, -1.0, 0.0, 1.0]), whet.tensor(0.5)), [0, 0, 0.5, 1])


def test_the_zeroth_power_is_one_of_everything_by_no_logarithm():
    x = leaf([NAN, INF, 0., -2.])
    for n in (0, 0.0, False):
        same(x ** n, [1, 1, 1, 1], whet.float32)
    y = x ** 0
    same(gradient_of(lambda x: x ** 0, x)[0], [0, 0, 0, 0])
    assert y.grad_fn.name() == "Pow0Backward0"
    same(whet.tensor([0, 3]) ** 0, [1, 1], whet.int64)
    assert (whet.tensor([0, 3]) ** 0.0).dtype is whet.float32


def test_the_first_power_works():
    x = whet.tensor([1.5, -2.0])
    same(x ** 1, [1.5, -2.0])
    same(whet.tensor([3, 4]) ** 1, [3, 4], whet.int64)


def test_whole_numbers_have_no_nan_to_replace():
    same(whet.nan_to_num(whet.tensor([1, 2])), [1, 2], whet.int64)


# ---- gradients -----------------------------------------------------------------------------------
def test_gradients_of_functions_without_a_complex_derivative():
    z = leaf([3 + 4j, 0j], whet.complex64)
    same(gradient_of(whet.abs, z)[0], [0.6 + 0.8j, 0])
    z, g = leaf([1 + 2j], whet.complex64), whet.tensor([1 + 1j])
    same(gradient_of(whet.conj_physical, z, g=g)[0], [1 - 1j])
    z = leaf([3 + 4j], whet.complex64)
    same(gradient_of(whet.sgn, z, g=g)[0], [0.032 - 0.024j])
    z = leaf([1 + 1j], whet.complex64)
    same(gradient_of(whet.angle, z)[0], [-0.5 + 0.5j])


def test_gradients_of_complex_products_are_conjugated():
    z = leaf([1 + 1j, 2j], whet.complex64)
    same(gradient_of(whet.prod, z)[0], [-2j, 1 - 1j])
    z = leaf([1 + 1j, 2j], whet.complex64)
    same(gradient_of(lambda x: x.cumprod(0), z)[0], [1 - 2j, 1 - 1j])
    x, w = leaf([[[1j, 2.0]]], whet.complex64), leaf([[[1 + 1j]]], whet.complex64)
    gx, gw = gradient_of(F.conv1d, x, w)
    same(gx, [[[1 - 1j, 1 - 1j]]])
    same(gw, [[[2 - 1j]]])


@pytest.mark.parametrize("n", [1, 2, 3, 6, 13, 700])
def test_gradients_of_running_products_with_zeros(n):
    """Of first and second order; they take no longer than without."""
    rng = np.random.default_rng(n)
    a, w = rng.uniform(0.9, 1.1, (2, n)) * (rng.random((2, n)) < 1 - 2 /
                                            (n + 2)), rng.standard_normal((2, n))
    want = np.zeros((2, n))
    for row in range(2):
        for i in range(n):
            total, factor = w[row, i], 1.0
            for k in range(i + 1, n):
                factor *= a[row, k]
                if factor == 0:
                    break
                total += w[row, k] * factor
            want[row, i] = total * np.prod(a[row, :i])
    x = whet.tensor(a, requires_grad=True)
    x.cumprod(1).backward(whet.tensor(w))
    np.testing.assert_allclose(x.grad.numpy(), want, rtol=1e-9, atol=1e-12)
    if n < 10:
        assert (whet.autograd.gradcheck(lambda x: x.cumprod(1), (x,))
                and whet.autograd.gradgradcheck(lambda x: x.cumprod(1), (x,)))



def test_the_gradient_of_elu_at_zero_is_that_of_its_left_side():
    same(gradient_of(lambda x: F.elu(x, 0.5), leaf([0.0, NAN]))[0], [0.5, 1.0])
    same(gradient_of(lambda x: F.celu(x, 0.5), leaf([0.0, NAN]))[0], [1.0, 1.0])
    same(gradient_of(F.selu, leaf([0.0]))[0], [1.7580993])


def test_nan_lets_gradients_through():
    for f in (F.relu, F.relu6, F.hardtanh):
        same(gradient_of(f, leaf([NAN, 0.5, 7.0 if f is not F.relu else -7.0]))[0], [1, 1, 0])
    a, b = gradient_of(whet.maximum, leaf([NAN, 2.0, 1.0]), leaf([1.0, 2.0, 3.0]))
    same(a, [1, 0.5, 0])
    same(b, [1, 0.5, 1])


def test_the_side_that_fmax_and_fmin_drop_has_no_gradient_also_where_infinities_come_in():
    up = lambda f: lambda a, b: f(a, b) ** 2
    for f, other in ((whet.fmax, np.inf), (whet.fmin, -np.inf)):
        a, b = gradient_of(up(f), leaf([1.0, NAN]), leaf([other, other]))
        same(a, [0, 0])
        same(b, [other, other])
        a, b = gradient_of(up(f), leaf([1.0, 2.0]), leaf([-other, NAN]))
        same(a, [2, 4])
        same(b, [0, 0])


def test_logits_outside_of_the_unit_interval_have_no_gradient():
    same(gradient_of(whet.logit, leaf([-1.0, 0.5]))[0], [NAN, 4.0])


def test_the_angle_at_the_origin_has_gradient_zero():
    a, b = gradient_of(whet.atan2, leaf([0.0]), leaf([0.0]))
    same(a, [0])
    same(b, [0])


def test_logaddexp_of_infinities_sends_the_gradient_to_the_greater():
    a, b = gradient_of(whet.logaddexp, leaf([INF, -INF]), leaf([0.0, 0.0]))
    same(a, [1, 0])
    same(b, [0, 1])


def test_certain_probabilities_have_a_finite_gradient():
    x = leaf([0.0, 1.0, 0.25], whet.float64)
    loss = F.binary_cross_entropy(x,
                                  whet.tensor([0.0, 1.0, 1.0], dtype=whet.float64),
                                  reduction="sum")
    loss.backward()
    same(loss, math.log(4))
    same(x.grad, [0, 0, -4])


def test_the_zeroth_norm_has_gradient_zero():
    x = leaf([1.0, 0.0])
    whet.dist(x, whet.zeros(2), 0).backward()
    same(x.grad, [0, 0])


# ---- errors --------------------------------------------------------------------------------------
def test_a_type_that_is_not_supported_is_told_apart():
    for call in (lambda: whet.floor(whet.tensor([True])), lambda: whet.erf(whet.tensor([1j])),
                 lambda: whet.max(whet.tensor([1j])), lambda: whet.softmax(whet.tensor([1]), 0),
                 lambda: whet.clamp(whet.tensor([1j]), 0)):
        with pytest.raises(NotImplementedError):
            call()


def test_shapes_that_do_not_fit_are_named():
    with pytest.raises(RuntimeError, match=r"size of tensor a \(4\) must match the size of tensor "
                                           r"b \(3\) at non-singleton dimension 1"):
        whet.ones(3, 4) + whet.ones(3)


def test_no_tensor_at_all_is_a_type_error():
    for f in (whet.cos, whet.sum, whet.mean, whet.nan_to_num, whet.angle):
        for x in (3, "x", None):
            with pytest.raises(TypeError):
                f(x)


def test_whole_numbers_are_not_divided_by_zero():
    x = whet.tensor([5, 6])
    for f in (whet.remainder, whet.fmod):
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            f(x, 0)
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            f(x, whet.tensor([1, 0]))
    with pytest.raises(RuntimeError):
        x %= 0
    same(x, [5, 6])


def test_bools_are_not_subtracted():
    with pytest.raises(RuntimeError):
        whet.tensor([1]) - True


def test_only_single_elements_are_numbers():
    for f in (int, float, complex):
        with pytest.raises(ValueError):
            f(whet.ones(2))
    with pytest.raises(TypeError):
        ~whet.ones(2)


def test_a_double_power_is_not_written_into_a_smaller_type():
    x = whet.tensor([2, 3])
    with pytest.raises(RuntimeError):
        x.float_power_(2)
    same(x, [2, 3])


def test_windows_must_fit():
    with pytest.raises(RuntimeError):
        F.unfold(whet.ones(1, 1, 2, 2), 3)
    with pytest.raises(RuntimeError):
        F.pixel_shuffle(whet.ones(1, 4, 2, 2), 0)


# ---- memory --------------------------------------------------------------------------------------
def test_results_lie_in_memory_as_the_first_operand_that_has_an_order():
    a, b = whet.ones(4, 3, 2).permute(2, 1, 0), whet.ones(2, 3, 4)
    assert (a + b).stride() == (1, 2, 6)
    assert (b + a).stride() == (12, 4, 1)
    assert (whet.ones(3, 1) * whet.ones(1, 4)).stride() == (4, 1)


# ---- images --------------------------------------------------------------------------------------
def test_bytes_are_resized_as_numbers():
    x = whet.tensor([[[[0, 100], [200, 40]]]], dtype=whet.uint8)
    same(F.interpolate(x, size=(1, 1), mode="bilinear"), [[[[85]]]], whet.uint8)


# as PyTorch gives them: bytes are rounded after each axis, weights have 16 bits
RESIZED = (
    ("bilinear", (5, 5), False, False, [[0, 102, 255, 106, 7], [179, 138, 76, 70, 65],
                                        [255, 204, 128, 88, 61], [179, 203, 239, 127, 52],
                                        [3, 82, 200, 140, 100]]),
    ("bilinear", (2, 2), False, True, [[146, 83], [165, 116]]),
    ("bicubic", (5, 4), False, False, [[0, 197, 206, 0], [184, 93, 38, 78], [255, 169, 70, 57],
                                       [184, 242, 196, 28], [0, 133, 187, 98]]),
    ("bicubic", (3, 5), True, False, [[0, 151, 255, 155, 7], [255, 198, 109, 67, 62],
                                      [3, 111, 200, 168, 100]]),
    ("bicubic", (3, 2), False, True, [[109, 87], [217, 75], [126, 138]]))


@pytest.mark.parametrize("mode,size,align_corners,antialias,want", RESIZED)
def test_images_of_bytes_are_resized_as_in_pytorch(mode, size, align_corners, antialias, want):
    x = whet.tensor([[0, 255, 7], [255, 0, 90], [255, 255, 31], [3, 200, 100]], dtype=whet.uint8)
    resize = functools.partial(F.interpolate, size=size, mode=mode, align_corners=align_corners,
                               antialias=antialias)
    same(resize(x[None, None]), [[want]], whet.uint8)
    f = whet.jit.trace(resize)
    for _ in range(3):
        same(f(x[None, None]), [[want]], whet.uint8)


@pytest.mark.parametrize("loss", [F.huber_loss, F.smooth_l1_loss])
def test_an_infinite_error_has_the_slope_of_a_large_one(loss):
    x = whet.tensor([INF, -INF, 1e-6, -5.0, NAN], requires_grad=True)
    loss(x, whet.zeros(5), reduction="sum").backward()
    same(x.grad, [1, -1, 1e-6, -1, NAN])


def test_a_weighted_huber_loss_is_averaged_plainly():
    same(F.huber_loss(whet.tensor([0.5, 3.0]), whet.zeros(2), weight=whet.tensor([2.0, 4.0])),
         (0.25 + 10.0) / 2)


# ---- functions made of others --------------------------------------------------------------------
def test_closeness():
    a = whet.tensor([1.0, INF, NAN, -INF])
    same(whet.isclose(a, whet.tensor([1.000001, INF, NAN, INF])), [True, True, False, False])
    same(whet.isclose(a, a, equal_nan=True), [True] * 4)
    assert (whet.allclose(whet.ones(2),
                          whet.ones(2) + 1e-9) and not whet.allclose(whet.ones(2), whet.zeros(2)))
    with pytest.raises(RuntimeError):
        whet.isclose(a, a, rtol=-1)


def test_equality_of_whole_tensors():
    assert (whet.equal(whet.tensor([1, 2]), whet.tensor([1, 2]))
            and not whet.equal(whet.tensor([1, 2]), whet.tensor([1])))


def test_covariance():
    x = whet.tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]])
    same(whet.cov(x), [[1, -1], [-1, 1]])
    same(whet.cov(x[0], correction=0), 2 / 3)
    same(whet.cov(x, fweights=whet.tensor([1, 2, 1])), [[2 / 3, -2 / 3], [-2 / 3, 2 / 3]])
    same(whet.cov(x, aweights=whet.tensor([1.0, 0.5, 1.0])), [[1.25, -1.25], [-1.25, 1.25]])
    same(whet.corrcoef(x), [[1, -1], [-1, 1]])


def test_cross_products_and_traces():
    same(whet.cross(whet.tensor([1.0, 0.0, 0.0]), whet.tensor([0.0, 1.0, 0.0])), [0, 0, 1])
    same(whet.trace(whet.tensor([[1, 2], [3, 4]])), 5, whet.int64)


def test_gradients_of_samples():
    f = whet.tensor([0.0, 1.0, 4.0, 9.0])
    same(whet.gradient(f)[0], [1, 2, 4, 5])
    same(whet.gradient(f, edge_order=2)[0], [0, 2, 4, 6])
    same(
        whet.gradient(whet.tensor([0.0, 1.0, 9.0]),
                      spacing=(whet.tensor([0.0, 1.0, 3.0]),),
                      edge_order=2)[0], [0, 2, 6])


def test_rows_are_scaled_down_to_a_norm():
    same(whet.renorm(whet.tensor([[3.0, 4.0], [0.3, 0.4]]), 2, 0, 1.0), [[0.6, 0.8], [0.3, 0.4]])


def test_mantissa_and_exponent():
    m, e = whet.frexp(whet.tensor([8.0, -0.75, 0.0]))
    same(m, [0.5, -0.75, 0])
    same(e, [4, 0, 0], whet.int32)


def test_angles_and_reals():
    same(whet.angle(whet.tensor([-1.0, 2.0, NAN])), [math.pi, 0, NAN])
    same(whet.angle(whet.tensor([1j, -1 + 0j])), [math.pi / 2, math.pi])
    same(whet.isreal(whet.tensor([1 + 0j, 1j])), [True, False])


# ---- draws and padding ---------------------------------------------------------------------------
def test_draws_must_fit_their_type():
    with pytest.raises(RuntimeError):
        whet.zeros(3, dtype=whet.uint8).random_(0, 300)
    with pytest.raises(RuntimeError):
        whet.randint(5, (3,), dtype=whet.bool)
    with pytest.raises(RuntimeError):
        whet.zeros(3, dtype=whet.int32).exponential_()
    with pytest.raises(TypeError):
        whet.rand("a")
    assert whet.zeros(1000, dtype=whet.uint8).random_(250, 256).min() >= 250


def test_circular_padding_wraps_what_is_left_after_cutting():
    x = leaf([[[0.0, 1.0, 2.0, 3.0]]])
    y = F.pad(x, (-1, 2), "circular")
    same(y, [[[1, 2, 3, 1, 2]]])
    y.sum().backward()
    same(x.grad, [[[0, 2, 2, 1]]])


def test_a_sum_of_small_integers_may_stay_small():
    same(whet.tensor([200, 100], dtype=whet.uint8).sum(dtype=whet.uint8), 44, whet.uint8)
    b = whet.ones(2, 2, 2, dtype=whet.uint8)
    same(whet.addbmm(b[0], b, b), [[5, 5], [5, 5]], whet.uint8)


# ---- found by comparing call by call -------------------------------------------------------------
def test_logit_in_place_limits_its_argument_too():
    x = whet.tensor([0.05, 0.5, 0.95])
    want = whet.logit(x, 0.2).tolist()
    same(x.logit_(0.2), want)
    x, = gradient_of(lambda x: whet.logit(x, 0.2), leaf([0.1, 0.5]))
    same(x, [0, 4])


def test_in_place_forms_of_functions_whose_backward_reads_their_argument():
    for fn, name in ((lambda x: whet.polygamma(1, x), lambda x: x.polygamma_(1)),
                     (lambda x: x.renorm(2, 0, 0.5), lambda x: x.renorm_(2, 0, 0.5)),
                     (lambda x: x.cumprod(1), lambda x: x.cumprod_(1))):
        want, = gradient_of(fn, leaf([[0.5, 1.5]]))
        got, = gradient_of(lambda x, name=name: name(x.clone()), leaf([[0.5, 1.5]]))
        same(got, want.tolist())
    with pytest.raises(RuntimeError, match="can't be cast"):
        whet.tensor([1, 2]).polygamma_(1)


def test_no_difference_is_a_copy():
    x = whet.tensor([1.0, 4.0])
    y = x.diff(0, prepend=whet.tensor([9.0]))
    same(y, [1, 4])
    assert y.data_ptr() != x.data_ptr()


def test_one_variable_has_one_covariance():
    assert whet.cov(whet.ones(1, 4)).shape == whet.corrcoef(whet.ones(1, 4)).shape == ()


def test_gradients_have_the_shapes_of_what_they_are_of():
    x, w = whet.randn(1, 2, 4, requires_grad=True), whet.randn(2, 1, 3, requires_grad=True)
    F.conv_transpose1d(x, w, stride=2, padding=1, output_padding=3, dilation=4,
                       groups=2).sum().backward()
    assert x.grad.shape == x.shape and w.grad.shape == w.shape
    w, b = whet.ones(2, 3, requires_grad=True), whet.ones(2, 3, requires_grad=True)
    F.layer_norm(whet.randn(2, 3), (2, 3), w, b).sum().backward()
    assert w.grad.shape == b.grad.shape == (2, 3)
    x, s = whet.tensor(2.0, requires_grad=True), whet.tensor(3.0, requires_grad=True)
    x.index_reduce(0, whet.tensor([0]), s, "prod").backward()
    assert x.grad.tolist() == 3.0 and s.grad.tolist() == 2.0


def test_the_fraction_of_a_quantile_has_a_gradient():
    q = leaf([0.1, 0.6])
    whet.quantile(leaf([0.0, 1.0, 3.0]), q).sum().backward()
    same(q.grad, [2.0, 4.0])                # two steps in all: of 1 below the middle, of 2 above it


def test_vectors_are_broadcast_before_their_angle():
    same(F.cosine_similarity(whet.tensor([[[1.0], [2.0]]]), whet.tensor([[[3.0]]]), dim=1),
         [[3 / 5 ** 0.5 / 2 ** 0.5]])


def test_a_real_signal_of_all_frequencies():
    x = whet.arange(20.0)
    both = whet.stft(x, 4, onesided=False, return_complex=True, window=whet.ones(4))
    both[3:] = 0                            # the other half says nothing new, and is not read
    same(whet.istft(both, 4, window=whet.ones(4)), x.tolist(), tol=1e-4)


def test_powers_of_halves_do_not_overflow_in_a_norm():
    assert (whet.linalg.vector_norm(whet.tensor([10.0], dtype=whet.float16),
                                    6).item() == pytest.approx(10, rel=1e-2))


def test_nothing_is_searched_in_nothing():
    assert whet.searchsorted(whet.zeros(0, 0), whet.zeros(0, 0)).shape == (0, 0)
    assert whet.histogram(whet.zeros(0), 1).bin_edges.tolist() == [0, 1]
    assert F.group_norm(whet.zeros(0, 2), 1).shape == (0, 2)
    assert F.multi_margin_loss(whet.tensor(2.0), whet.tensor(0)).item() == 0
    assert F.multilabel_margin_loss(whet.tensor(2.0), whet.tensor(0)).item() == 0


def test_an_output_of_another_shape_is_resized_with_a_warning():
    with pytest.warns(UserWarning, match="was resized"):
        whet.exp(whet.zeros(2), out=whet.zeros(3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert whet.full((2,), 3.0, out=whet.zeros(3)).tolist() == [3, 3]
        assert whet.exp(whet.zeros(2), out=whet.zeros(0)).tolist() == [1, 1]


def test_more_functions_put_their_result_where_asked():
    x, out = whet.tensor([1.0, 2.0, 3.0]), whet.empty(2)
    for fn, args in (((whet.take, (x, whet.tensor([0, 2]))), (whet.narrow_copy, (x, 0, 1, 2)),
                      (whet.slice_scatter, (x[:2], x[2:], 0, 1)))):
        assert fn(*args, out=out) is out
        same(out, fn(*args).tolist())
    same(whet.isin(x, whet.tensor([2.0]), out=whet.empty(3, dtype=whet.bool)), [False, True, False])


def test_outputs_of_comparisons_take_operands_with_history():
    out = whet.zeros(2, dtype=whet.bool)
    same(whet.eq(leaf([1.0, 2.0]), 2.0, out=out), [False, True])


@pytest.mark.parametrize(
    "name, x, want",
    [("bessel_j0", [0.5, 3.0, 30.0], [0.9384698072408130, -0.2600519549019335, -0.0863679835810405
                                      ]),
     ("bessel_j1", [-0.5, 3.0, 30.0], [
         -0.2422684576748739, 0.3390589585259365, -0.1187510626166229]),
     ("bessel_y0", [0.5, 3.0, 30.0], [-0.4445187335067066, 0.3768500100127904, -0.1172957316535247
                                      ]),
     ("bessel_y1", [0.5, 3.0, 30.0], [-1.4714723926702430, 0.3246744247918000, 0.0844255706528183]),
     ("airy_ai", [-20.0, -3.0, 0.5, 3.0], [
         -0.17640612707798434, -0.3788142936776580, 0.2316936064808335, 0.0065911393574607])])
def test_bessel_functions(name, x, want):
    fn = getattr(whet.special, name)
    same(fn(whet.tensor(x, dtype=whet.float64)), want, whet.float64, tol=1e-9)
    for i, one in enumerate(x):             # an element's value is its own
        assert fn(whet.tensor([one])).tolist()[0] == fn(whet.tensor(x)).tolist()[i]
    assert math.isnan(fn(whet.tensor(NAN)).item())


@pytest.mark.parametrize("name", [
    "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "modified_bessel_k0", "modified_bessel_k1",
    "scaled_modified_bessel_k0", "scaled_modified_bessel_k1", "airy_ai"])
def test_bessel_functions_have_derivatives(name):
    fn = getattr(whet.special, name)
    x = whet.tensor([0.4, 1.3, 3.0, 7.0], dtype=whet.float64, requires_grad=True)
    assert whet.autograd.gradcheck(fn, x) and whet.autograd.gradgradcheck(fn, x)


def test_the_bessel_function_of_order_one_has_derivatives_at_zero():
    x = whet.zeros((), dtype=whet.float64, requires_grad=True)
    y, slopes = whet.special.bessel_j1(x), []
    for _ in range(4):
        y, = whet.autograd.grad(y, x, create_graph=True)
        slopes.append(y.item())
    assert slopes == pytest.approx([0.5, 0, -0.375, 0])


def test_a_function_without_a_derivative_may_be_asked_where_none_is_recorded():
    x = whet.zeros((), requires_grad=True)
    with whet.no_grad():
        assert whet.igamma(x, x + 1) == whet.igamma(x.detach(), x.detach() + 1)
    with pytest.raises(NotImplementedError, match="derivative for 'igamma: input'"):
        whet.igamma(x, x + 1)


def test_polynomials_take_a_degree_for_each_element():
    x, n = whet.tensor([0.3, -0.5, 2.0, 0.1]), whet.tensor([0.0, 1.0, 2.0, -1.0])
    same(whet.special.chebyshev_polynomial_t(x, n), [1, -0.5, 7, 0])
    same(whet.special.legendre_polynomial_p(2.0, whet.tensor([1, 2])), [2, 5.5])
    same(whet.special.hermite_polynomial_h(x, 2, out=whet.empty(4)), [-1.64, -1, 14, -1.96])


def test_reflections_multiply_without_being_made():
    a = whet.tensor(np.random.default_rng(0).standard_normal((4, 3)))
    c = whet.tensor(np.random.default_rng(1).standard_normal((4, 4)))
    reflections = whet.geqrf(a)
    q = whet.linalg.qr(a, "complete").Q
    for left in (True, False):
        for transpose in (True, False):
            b = q.mH if transpose else q
            same(whet.ormqr(*reflections, c, left, transpose), (b @ c if left else c @ b).tolist(),
                 tol=1e-10)
    same(whet.linalg.householder_product(*reflections), q[:, :3].tolist(), tol=1e-10)
def test_the_method_split_calls_its_sizes_by_another_name():
    a, b = whet.arange(5).split(split_size=[2, 3], dim=0)
    same(a, [0, 1])
    same(b, [2, 3, 4])
    assert len(whet.arange(5).split(split_size=2)) == 3
