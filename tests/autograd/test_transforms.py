"""whet.func, whet.fft, whet.special and whet.amp against definitions."""
import math

import numpy as np
import pytest
import whet
import whet.nn.functional as F
from scipy import special as scipy_special
from whet import fft, func
from whet.autograd.gradcheck import GradcheckError

R = np.random.default_rng(0)


def numbers(*shape):
    return whet.tensor(R.standard_normal(shape))


# ---- functions of functions ----------------------------------------------------------------------
def test_jacobians_agree_with_each_other_and_with_products():
    f = lambda x, y: {"a": (x.sin() * y.sum()), "b": x @ x}
    x, y = numbers(3), numbers(2)
    back, forward = func.jacrev(f, (0, 1))(x, y), func.jacfwd(f, (0, 1))(x, y)
    for name in "ab":
        for r, g in zip(back[name], forward[name]):
            np.testing.assert_allclose(r.numpy(), g.numpy(), atol=1e-12)
    assert (back["a"][0].shape == (3, 3) and back["a"][1].shape == (3, 2)
            and back["b"][0].shape == (3,))
    v = numbers(3)
    out, d = func.jvp(lambda x: f(x, y)["a"], (x,), (v,))
    np.testing.assert_allclose(d.numpy(), (back["a"][0] @ v).numpy(), atol=1e-12)
    np.testing.assert_allclose(
        func.linearize(lambda x: f(x, y)["a"], x)[1](v).numpy(), d.numpy(), atol=1e-12)
    out, pull = func.vjp(lambda x: f(x, y)["a"], x)
    np.testing.assert_allclose(pull(v)[0].numpy(), (v @ back["a"][0]).numpy(), atol=1e-12)


def test_a_hessian_and_its_derivative():
    f = lambda x: (x ** 3).sum() + x[0] * x[1]
    x = numbers(3)
    want = np.diag(6 * x.numpy())
    want[0, 1] = want[1, 0] = 1
    np.testing.assert_allclose(func.hessian(f)(x).numpy(), want, atol=1e-12)
    third = func.jacrev(func.hessian(f))(x)
    np.testing.assert_allclose(third.numpy()[range(3), range(3), range(3)], 6, atol=1e-12)


INNER = {
    "grad": lambda f, at: func.grad(f)(at),
    "vjp": lambda f, at: func.vjp(f, at)[1](whet.ones_like(at))[0],
    "jvp": lambda f, at: func.jvp(f, (at,), (whet.ones_like(at),))[1],
    "jacrev": lambda f, at: func.jacrev(f)(at),
    "jacfwd": lambda f, at: func.jacfwd(f)(at),
    "linearize": lambda f, at: func.linearize(f, at)[1](whet.ones_like(at))}


@pytest.mark.parametrize("inner", INNER)
@pytest.mark.parametrize("outer", INNER)
def test_a_derivative_of_a_function_that_closes_over_the_variable_of_another(outer, inner):
    at, other = whet.tensor(0.7, dtype=whet.float64), whet.tensor(2.0, dtype=whet.float64)
    found = INNER[outer](lambda x: x * INNER[inner](lambda y: x * y ** 2, other), at)
    assert float(found) == pytest.approx(4 * 2 * 0.7)


def test_a_gradient_that_depends_on_a_closed_over_leaf_has_its_history():
    w = whet.tensor(3.0, requires_grad=True)
    func.grad(lambda x: w * x * x)(whet.tensor(2.0)).backward()
    assert w.grad.item() == 4
    assert not func.grad(lambda x: x * x)(whet.tensor(2.0)).requires_grad


def test_vmap_is_a_loop():
    x, w = numbers(4, 3), numbers(3, 2)
    np.testing.assert_allclose(
        whet.vmap(lambda a, b: a @ b, in_dims=(0, None))(x, w).numpy(), (x @ w).numpy(), atol=1e-12)
    assert whet.vmap(lambda a: (a, a.sum()), in_dims=1, out_dims=(1, 0))(x)[0].shape == (4, 3)
    nested = whet.vmap(whet.vmap(lambda a, b: a * b, in_dims=(0, None)),
                       in_dims=(None, 0))(x[0], x[1])
    np.testing.assert_allclose(nested.numpy(), np.outer(x[1].numpy(), x[0].numpy()), atol=1e-12)
    per_sample = whet.vmap(func.grad(lambda w, x: (x @ w).sin().sum()), in_dims=(None, 0))(w, x)
    for g, row in zip(per_sample, x):
        np.testing.assert_allclose(g.numpy(),
                                   func.grad(lambda w: (row @ w).sin().sum())(w).numpy(),
                                   atol=1e-12)
    traced = whet.jit.trace(whet.vmap(lambda a: (a.sin() * a).sum()), strict=True)
    assert all(
        whet.equal(traced(x), (whet.vmap(lambda a: (a.sin() * a).sum()))(x)) for _ in range(3))


def test_vmap_refuses_what_it_cannot_do():
    x = numbers(3, 2)
    for call, text in ((lambda: whet.vmap(lambda a, b: a)(x, x[:2]), "same size"),
                       (lambda: whet.vmap(lambda a: a, in_dims=2)(x), "in_dim"),
                       (lambda: whet.vmap(lambda a: 3)(x), "must only return Tensors"),
                       (lambda: whet.vmap(lambda a: a, in_dims=(0, 0))(x), "in_dims")):
        with pytest.raises(ValueError, match=text):
            call()
    with pytest.raises(RuntimeError, match="random"):
        whet.vmap(lambda a: a + whet.rand(2))(x)
    same = whet.vmap(lambda a: whet.rand(2), randomness="same")(x)
    assert (whet.equal(same[0], same[1])
            and not whet.equal(*whet.vmap(lambda a: whet.rand(2), randomness="different")(x)[:2]))


# ---- Fourier transforms --------------------------------------------------------------------------
@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
def test_fourier_transforms_are_numpys(norm):
    x, z = numbers(3, 4, 6), whet.complex(numbers(3, 4, 6), numbers(3, 4, 6))
    for name, t in (("fft", z), ("ifft", z), ("rfft", x), ("irfft", z), ("hfft", z), ("ihfft", x)):
        for n in (None, 3, 9):
            np.testing.assert_allclose(
                getattr(fft, name)(t, n, 1, norm).numpy(),
                getattr(np.fft, name)(t.numpy(), n, 1, norm),
                atol=1e-12)
    for name, t in (("fftn", z), ("ifftn", z), ("rfftn", x), ("irfftn", z)):
        for s, dims in ((None, (0, 2)), ((2, 5), (1, 2))):
            np.testing.assert_allclose(
                getattr(fft, name)(t, s, dims, norm).numpy(),
                getattr(np.fft, name)(t.numpy(), s, dims, norm),
                atol=1e-12)
    np.testing.assert_allclose(
        fft.ihfftn(fft.hfftn(z.real + 0j, norm=norm), norm=norm).shape, z.shape)


def test_frequencies_and_shifts():
    for n in (1, 6, 7):
        np.testing.assert_allclose(fft.fftfreq(n, 0.5).numpy(), np.fft.fftfreq(n, 0.5), rtol=1e-6)
        np.testing.assert_allclose(fft.rfftfreq(n).numpy(), np.fft.rfftfreq(n), rtol=1e-6)
        assert fft.ifftshift(fft.fftshift(whet.arange(n))).tolist() == list(range(n))


def test_short_time_transforms_are_undone():
    x, window = numbers(2, 50), whet.hann_window(12, dtype=whet.float64) + 0.1
    for kw in (({}, {"hop_length": 3}, {"normalized": True}, {"onesided": False},
                {"center": False, "hop_length": 2})):
        y = whet.stft(x, 12, window=window, return_complex=True, **kw)
        back = whet.istft(y, 12, window=window, **kw)
        np.testing.assert_allclose(back.numpy(), x.numpy()[:, :back.shape[1]], atol=1e-10)
    frame = x[0, :12] * window
    first = whet.stft(x[0], 12, window=window, center=False, return_complex=True)[:, 0]
    np.testing.assert_allclose(first.numpy(), np.fft.rfft(frame.numpy()), atol=1e-12)


def test_wrong_transforms_are_refused():
    x = numbers(4)
    for call in (lambda: fft.fft(x, 0), lambda: fft.fft(x, norm="other"), lambda: fft.rfft(x + 0j),
                 lambda: fft.fftn(x, dim=(0, 0)),
                 lambda: whet.stft(x, 8, return_complex=True, center=False),
                 lambda: whet.istft(x, 8), lambda: fft.fft(x.half())):
        with pytest.raises(RuntimeError):
            call()


# ---- special functions ---------------------------------------------------------------------------
@pytest.mark.parametrize("name, theirs",
                         [("i0", "i0"), ("i0e", "i0e"), ("i1", "i1"), ("i1e", "i1e"),
                          ("erfcx", "erfcx"), ("entr", "entr"), ("ndtr", "ndtr"),
                          ("log_ndtr", "log_ndtr"), ("modified_bessel_k0", "k0"),
                          ("modified_bessel_k1", "k1")])
def test_special_functions_of_one_number(name, theirs):
    x = np.concatenate([np.linspace(-30, 30, 401), [0.0, 1e-8, 8.0, 100.0]])
    want = getattr(scipy_special, theirs)(np.where(x < 0, np.nan, x) if theirs[0] == "k" else x)
    np.testing.assert_allclose(
        getattr(whet.special, name)(whet.tensor(x)).numpy(), want, rtol=1e-11, atol=1e-300)


def test_special_functions_of_two_numbers():
    a, x = np.array([[0.1], [1.0], [20.0], [500.0]]), np.array([0.0, 0.3, 1.0, 19.0, 480.0, 1000.0])
    ours = [whet.tensor(v) for v in np.broadcast_arrays(a, x)]
    np.testing.assert_allclose(
        whet.igamma(*ours).numpy(), scipy_special.gammainc(a, x), rtol=1e-10, atol=1e-300)
    np.testing.assert_allclose(
        whet.igammac(*ours).numpy(), scipy_special.gammaincc(a, x), rtol=1e-9, atol=1e-300)
    q = whet.tensor([0.1, 1.0, 7.5, 300.0], dtype=whet.float64)
    for n in (0, 1, 2, 5):
        np.testing.assert_allclose(
            whet.polygamma(n, q).numpy(), scipy_special.polygamma(n, q.numpy()), rtol=1e-11)
    np.testing.assert_allclose(
        whet.special.zeta(whet.tensor(2.5), q).numpy(),
        scipy_special.zeta(2.5, q.numpy()),
        rtol=1e-12)
    p = whet.tensor([1e-200, 1e-9, 0.02, 0.1, 0.5, 0.97, 1 - 1e-9], dtype=whet.float64)
    np.testing.assert_allclose(
        whet.special.ndtri(p).numpy(), scipy_special.ndtri(p.numpy()), rtol=1e-7, atol=1e-12)


def test_polynomials():
    x = R.uniform(-1, 1, 7)
    for name, theirs in (("chebyshev_polynomial_t", "eval_chebyt"),
                         ("chebyshev_polynomial_u", "eval_chebyu"),
                         ("hermite_polynomial_h", "eval_hermite"),
                         ("hermite_polynomial_he", "eval_hermitenorm"),
                         ("laguerre_polynomial_l", "eval_laguerre"),
                         ("legendre_polynomial_p", "eval_legendre"),
                         ("shifted_chebyshev_polynomial_t", "eval_sh_chebyt")):
        for n in (0, 1, 4):
            np.testing.assert_allclose(
                getattr(whet.special, name)(whet.tensor(x), n).numpy(),
                getattr(scipy_special, theirs)(n, x),
                rtol=1e-11)


# ---- mixed precision -----------------------------------------------------------------------------
def test_autocast_makes_products_small_and_losses_large():
    x, w = whet.randn(4, 3), whet.randn(5, 3, requires_grad=True)
    with whet.autocast("cpu"):
        y = F.linear(x, w)
        assert y.dtype is whet.bfloat16 and (x @ w.T).dtype is whet.bfloat16
        assert F.conv1d(whet.randn(2, 3, 4), w.unsqueeze(-1)).dtype is whet.bfloat16
        assert (y @ w).dtype is whet.bfloat16                        # operands of two types
        assert (y + x.sum()).dtype is whet.bfloat16 and y.exp().dtype is whet.bfloat16
        assert (x.double() @ w.double().T).dtype is whet.float64
        loss = F.cross_entropy(y, whet.tensor([0, 1, 2, 3]))
        assert loss.dtype is whet.float32 and whet.is_autocast_enabled("cpu")
        with whet.autocast("cpu", enabled=False):
            assert F.linear(x, w).dtype is whet.float32
    assert F.linear(x, w).dtype is whet.float32 and not whet.is_autocast_enabled("cpu")
    loss.backward()
    assert w.grad.dtype is whet.float32
    assert whet.equal(y, F.linear(x.bfloat16(), w.bfloat16()))

    @whet.autocast("cpu", dtype=whet.float16)
    def f(x):
        return x @ x.T
    assert f(x).dtype is whet.float16


def test_a_scaled_step_is_the_step_and_an_infinite_one_is_left_out():
    p = whet.nn.Parameter(whet.ones(3))
    optimizer, scaler = (whet.optim.SGD([p], lr=0.5),
                         whet.amp.GradScaler("cpu", init_scale=8.0, growth_interval=2))
    scaler.scale((p * 2).sum()).backward()
    assert p.grad.tolist() == [16, 16, 16]
    scaler.step(optimizer)
    scaler.update()
    assert p.tolist() == [0, 0, 0] and scaler.get_scale() == 8
    p.grad = whet.tensor([1.0, math.inf, 1.0])
    scaler.step(optimizer)
    scaler.update()
    assert p.tolist() == [0, 0, 0] and scaler.get_scale() == 4
    for _ in range(2):
        p.grad = whet.ones(3)
        scaler.unscale_(optimizer)
        with pytest.raises(RuntimeError, match="already been called"):
            scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()
    assert scaler.get_scale() == 8
    other = whet.amp.GradScaler("cpu")
    other.load_state_dict(scaler.state_dict())
    assert other.state_dict() == scaler.state_dict()


def test_factors_of_a_scaler_can_be_asked_and_set():
    scaler = whet.amp.GradScaler("cpu", growth_factor=3.0, backoff_factor=0.25, growth_interval=7)
    for name, value in (("growth_factor", 3.0), ("backoff_factor", 0.25), ("growth_interval", 7)):
        assert getattr(scaler, f"get_{name}")() == value
        getattr(scaler, f"set_{name}")(value * 2)
        assert scaler.state_dict()[name] == value * 2


def test_without_a_device_cuda_amp_does_nothing():
    with pytest.warns(UserWarning, match="not available"):
        scaler = whet.cuda.amp.GradScaler()
    assert not scaler.is_enabled() and scaler.scale(3) == 3
    with pytest.warns(UserWarning, match="not available"), whet.autocast("cuda"):
        assert (whet.ones(2, 2) @ whet.ones(2, 2)).dtype is whet.float32


# ---- compile -------------------------------------------------------------------------------------
def test_compile_traces():
    @whet.compile(fullgraph=True, dynamic=False)
    def f(x):
        return (x * 2).sin()
    x = numbers(3)
    assert isinstance(f, whet.jit.Traced) and whet.equal(f(x), (x * 2).sin())
    net = whet.nn.Linear(2, 2)
    assert (isinstance(whet.compile(net, mode="max-autotune"), whet.nn.Linear)
            and whet.compile(net, disable=True) is net)


def test_close_tensors():
    close = whet.testing.assert_close
    close({"a": [whet.ones(2), 1.0]}, {"a": [whet.ones(2) + 1e-7, 1.0]})
    close(whet.tensor([math.nan]), whet.tensor([math.nan]), equal_nan=True)
    for a, b, kw, text in ((whet.ones(2), whet.ones(3), {},
                            "shape"), (whet.ones(2), whet.ones(2).double(), {}, "dtype"),
                           (1.0, 2.0, {}, "Scalars"), (whet.ones(2), whet.zeros(2), {}, "2 / 2"),
                           ([1], [1, 2], {}, "length"), ({"a": 1}, {"b": 1}, {}, "keys"),
                           (whet.ones(1), whet.ones(1) + 0.1,
                            {"rtol": 0, "atol": 0.01, "msg": "here"}, "here")):
        with pytest.raises(AssertionError, match=text):
            close(a, b, **kw)


def test_dimensions_may_be_named_as_numpy_names_them():
    x = numbers(3, 4)
    assert (whet.equal(x.argmax(axis=1), x.argmax(1))
            and whet.equal(whet.cumprod(x, axis=0), whet.cumprod(x, 0)))
    assert (whet.equal(x.amax(axis=0, keepdims=True), x.amax(0, True))
            and whet.equal(x.flip(dims=(0, 1)), x.flip(0, 1)))
    assert (whet.equal(whet.softmax(x, axis=1), whet.softmax(x, 1))
            and whet.equal(whet.std(x, axis=0), whet.std(x, 0)))
    with pytest.raises(TypeError, match="axi"):
        x.argmax(axi=1)


def test_zeros_for_what_is_not_used_have_no_history():
    def inner(x, y):
        return sum(g.sum() for g in func.grad(lambda x, y: x.square().sum(), (0, 1))(x, y))
    for g in func.grad(inner, (0, 1))(whet.ones(3), whet.ones(3)):
        assert not g.requires_grad


def test_transforms_say_which_arguments_they_cannot_differentiate_by():
    x = whet.ones(3)
    for transform in (whet.func.grad, whet.func.jacrev, whet.func.jacfwd):
        for argnums, args, error, words in ((1, (x,), RuntimeError, "only 1 positional"),
                                            ((0, 0), (x,), RuntimeError, "unique"),
                                            ((), (x,), RuntimeError, "non-empty"),
                                            ("a", (x,), RuntimeError, "must be int"),
                                            (1, (x, 3), ValueError, "must be Tensor")):
            with pytest.raises(error, match=words):
                transform(lambda a, b=0: a.sum(), argnums=argnums)(*args)
    with pytest.raises(RuntimeError, match="has_aux"):
        whet.func.grad(lambda a: a.sum(), has_aux=True)(x)


def test_functional_call_refuses_two_values_for_one_tied_parameter():
    class Tied(whet.nn.Module):
        def __init__(self):
            super().__init__()
            self.a = self.b = whet.nn.Parameter(whet.ones(1))

        def forward(self):
            return self.a + self.b

    model, zero, one = Tied(), whet.zeros(1), whet.ones(1)
    with pytest.raises(ValueError, match="which are tied"):
        whet.func.functional_call(model, {"a": zero, "b": one}, ())
    assert whet.func.functional_call(model, {"a": zero, "b": one}, (), tie_weights=False) == 1
    assert whet.func.functional_call(model, {"a": zero, "b": zero}, ()) == 0


def test_functional_call_that_is_strict_asks_for_one_name_of_a_tied_parameter():
    layer = whet.nn.Linear(1, 1, bias=False)
    model = whet.nn.Sequential(layer, layer)
    two = {"0.weight": whet.full((1, 1), 2.0)}
    assert whet.func.functional_call(model, two, whet.ones(1), strict=True) == 4
    with pytest.raises(RuntimeError, match=r"Missing key\(s\): '1.weight'"):
        whet.func.functional_call(model, two, whet.ones(1), tie_weights=False, strict=True)
    with pytest.raises(RuntimeError, match=r"Unexpected key\(s\): 'x'"):
        whet.func.functional_call(model, {**two, "x": whet.ones(1)}, whet.ones(1), strict=True)
    with pytest.raises(ValueError, match="to be a dict, or a list/tuple of dicts"):
        whet.func.functional_call(model, 3, whet.ones(1))


def test_jvp_that_is_strict_refuses_an_output_that_no_input_reaches():
    x = whet.ones(2)
    with pytest.raises(RuntimeError, match="independent of the inputs"):
        whet.func.jvp(lambda x: (x * 2, whet.ones(2)), (x,), (x,), strict=True)
    assert whet.func.jvp(lambda x: whet.ones(2), (x,), (x,))[1].tolist() == [0, 0]
    assert whet.func.jvp(lambda x: x * 2, (x,), (x,), strict=True)[1].tolist() == [2, 2]


def test_what_comes_beside_an_output_has_no_history():
    x = whet.ones(2)
    for made in (func.grad(lambda x: ((x ** 2).sum(), x * 3), has_aux=True)(x),
                 func.jacrev(lambda x: (x ** 2, x * 3), has_aux=True)(x)):
        assert made[1].equal(x * 3) and not made[1].requires_grad
    aux = func.vjp(lambda x: (x ** 2, {"a": x * 3}), x, has_aux=True)[2]
    assert not aux["a"].requires_grad
    outer = whet.ones(2, requires_grad=True)     # what somebody else differentiates keeps it
    assert func.grad(lambda x: ((x * outer).sum(), x * outer), has_aux=True)(x)[1].requires_grad


def test_a_check_of_gradients_finds_outputs_that_were_cut_off():
    x = whet.ones(2, dtype=whet.float64, requires_grad=True)
    with pytest.raises(GradcheckError, match="expected to be zero"):
        whet.autograd.gradcheck(lambda x: x.detach() * 2, (x,))
    assert whet.autograd.gradcheck(lambda x: x.detach().sign(), (x,))


def test_a_variable_of_a_tensor_wants_gradients_where_it_says_so():
    x = whet.ones(2, requires_grad=True)
    assert not whet.autograd.Variable(x).requires_grad
    assert whet.autograd.Variable(x, requires_grad=True).is_leaf


@pytest.mark.parametrize("norm", ["layer_norm", "rms_norm", "group_norm", "batch_norm"])
def test_forward_over_reverse_of_a_norm_is_reverse_over_reverse(norm):
    F = whet.nn.functional
    call = {"layer_norm": lambda x, w, b: F.layer_norm(x, (3,), w, b),
            "rms_norm": lambda x, w, b: F.rms_norm(x, (3,), w) + b,
            "group_norm": lambda x, w, b: F.group_norm(x[:, :, None], 1, w, b),
            "batch_norm": lambda x, w, b: F.batch_norm(x, None, None, w, b, True)}[norm]
    whet.manual_seed(0)
    at = [whet.randn(*size, dtype=whet.float64) for size in ((4, 3), (3,), (3,))]
    along = tuple(t.cos() for t in at)
    slopes = func.grad(lambda *at: call(*at).pow(2).sum(), (0, 1, 2))

    def along_slopes(*at):
        return sum((g * v).sum() for g, v in zip(slopes(*at), along))
    expected = func.grad(along_slopes, (0, 1, 2))(*at)      # second derivatives are symmetric
    _, got = func.jvp(slopes, tuple(at), along)
    whet.testing.assert_close(got, expected)
    assert not any(t.requires_grad for t in got)            # nobody asked for a history
    one = func.vmap(slopes)
    _, got = func.jvp(lambda *at: one(*[t[None] for t in at]), tuple(at), along)
    whet.testing.assert_close(tuple(t[0] for t in got), expected)


@pytest.mark.parametrize("name", ["max", "min", "amax", "amin"])
def test_an_infinite_gradient_of_an_extremum_stays_where_it_belongs(name):
    x = whet.tensor([0.0, 5.0, 0.0, 5.0], requires_grad=True)
    getattr(x, name)().backward(whet.tensor(float("inf")))
    extreme = 0.0 if name in ("min", "amin") else 5.0
    assert x.grad.tolist() == [float("inf") if a == extreme else 0.0 for a in x.tolist()]


def test_a_gradient_inside_of_no_grad_is_a_constant_to_who_differentiates_outside():
    x = whet.tensor(0.7)

    def slope_without_history(transform):
        def inside(x):
            with whet.no_grad():
                return transform(x)
        return inside

    def product(x):
        value, back = func.vjp(whet.sin, x)
        return back(value)[0]

    for transform in (func.grad(whet.sin), product, func.jacrev(whet.sin)):
        assert float(slope_without_history(transform)(x)) == float(transform(x))
        assert float(func.grad(slope_without_history(transform))(x)) == 0
        leaf = x.clone().requires_grad_()
        assert not slope_without_history(transform)(leaf).requires_grad
        assert transform(leaf).requires_grad


def test_a_gradient_by_a_cotangent_has_no_history_of_the_variables_that_have_ended():
    x, v = whet.tensor(0.7), whet.tensor(1.3)
    slope = func.grad(lambda v: func.vjp(whet.sin, x)[1](v)[0])(v)
    assert not slope.requires_grad and abs(float(slope) - float(x.cos())) < 1e-6
    x.requires_grad_()
    slope = func.grad(lambda v: func.vjp(whet.sin, x)[1](v)[0])(v)
    assert abs(float(whet.autograd.grad(slope, x)[0]) + float(x.sin())) < 1e-6


def test_derivatives_as_values_name_themselves_and_the_input_that_does_not_matter():
    x, d = whet.ones(2), whet.autograd.functional
    with pytest.raises(TypeError, match="inputs given to hvp"):
        d.hvp(lambda x: x.sum(), (x, 2), x)
    with pytest.raises(RuntimeError, match=r"v has invalid size: should be whet.Size\(\[2\]\)"):
        d.vhp(lambda x: x.sum(), x, whet.ones(3))
    with pytest.raises(RuntimeError, match="Output 0 of the user-provided function does not req"):
        d.vjp(lambda x: x.detach().sum(), x, strict=True)
    with pytest.raises(RuntimeError, match="is independent of input 1"):
        d.jacobian(lambda x, y: x, (x, x), strict=True)
    with pytest.raises(RuntimeError, match="jacobian of the user-provided function with respect"):
        d.hvp(lambda x: (x * 3).sum(), x, x, strict=True)


def test_cotangents_are_held_as_the_outputs_are():
    x = whet.ones(2)
    _, back = whet.func.vjp(lambda x: {"a": x}, x)
    with pytest.raises(RuntimeError, match=r"cotangents: {'b': \*}, primal output: {'a': \*}"):
        back({"b": x})
    _, back = whet.func.vjp(lambda x: (x, [x]), x)
    assert back((x, [x]))[0].tolist() == [2, 2]
    with pytest.raises(RuntimeError, match=r"cotangents: \(\*, \*\), primal output: \(\*, \["):
        back((x, x))
