"""Operators that users define."""
import gc
import weakref

import numpy as np
import pytest
import whet
from whet import Tensor
from whet.library import custom_op, opcheck


@custom_op("tests::sine", mutates_args=())
def sine(x: Tensor, scale: float = 1.0) -> Tensor:
    """scale * sin(x), by NumPy."""
    return whet.from_numpy(np.sin(x.numpy()) * np.asarray(scale, x.numpy().dtype))


def keep(ctx, inputs, output):
    x, scale = inputs
    ctx.save_for_backward(x)
    ctx.scale = scale


sine.register_autograd(lambda ctx, g: (g * ctx.saved_tensors[0].cos() * ctx.scale, None),
                       setup_context=keep)


@sine.register_fake
def _(x, scale=1.0):
    return whet.empty_like(x)


@custom_op("tests::spread", mutates_args=())
def spread(xs: list[Tensor], *, shift: int) -> list[Tensor]:
    return [x + shift for x in xs]


def test_an_operator_computes_and_has_gradients():
    x = whet.randn(3, dtype=whet.float64, requires_grad=True)
    assert sine(x, 2.0).allclose(2 * x.sin())
    assert whet.autograd.gradcheck(lambda x: sine(x, 3.0), (x,))
    assert whet.autograd.gradgradcheck(lambda x: sine(x, 3.0), (x,))
    assert whet.ops.tests.sine is sine and sine.__name__ == "sine"


def test_traced_operators_are_eager_ones():
    def f(x):
        return (sine(x, 2.0) + sine(x)).sum()
    traced = whet.jit.trace(f)
    for i in range(6):
        x, y = (whet.linspace(0, i + 1, 4).requires_grad_() for _ in range(2))
        a, b = traced(x), f(y)
        a.backward(), b.backward()
        assert a.equal(b) and x.grad.equal(y.grad)


def test_transforms():
    x = whet.randn(4, 3)
    assert whet.vmap(sine)(x).allclose(x.sin())
    assert whet.func.grad(lambda x: sine(x).sum())(x).allclose(x.cos())
    assert whet.vmap(whet.func.grad(lambda x: sine(x).sum()))(x).allclose(x.cos())


def test_a_rule_for_batches_is_used():
    @custom_op("tests::summed", mutates_args=())
    def summed(x: Tensor) -> Tensor:
        assert x.ndim == 1
        return x.sum()

    @summed.register_vmap
    def _(info, in_dims, x):
        assert info.batch_size == 5 and in_dims == (0,)
        return x.sum(1), 0
    x = whet.randn(5, 3)
    assert whet.vmap(summed)(x).allclose(x.sum(1))


def test_lists_of_tensors():
    xs = [whet.ones(2, requires_grad=True), whet.zeros(3)]
    spread.register_autograd(lambda ctx, grads: [[g * 2 for g in grads]])
    made = spread(xs, shift=2)
    assert type(made) is list and [m.tolist() for m in made] == [[3, 3], [2, 2, 2]]
    made[0].sum().backward()
    assert xs[0].grad.tolist() == [2, 2]


def test_without_a_rule_there_is_no_backward():
    @custom_op("tests::ruleless", mutates_args=())
    def ruleless(x: Tensor) -> Tensor:
        return x * 2
    y = ruleless(whet.ones(2, requires_grad=True))
    with pytest.raises(RuntimeError, match="no autograd formula"):
        y.sum().backward()


def test_what_it_writes_to_is_noticed():
    @custom_op("tests::fill", mutates_args={"x"})
    def fill(x: Tensor, value: float) -> None:
        x.numpy()[...] = value
    x, w = whet.ones(2), whet.ones(2, requires_grad=True)
    y = w * x
    assert fill(x, 5.0) is None and x.tolist() == [5, 5]
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        y.sum().backward()
    with pytest.raises(RuntimeError):
        fill(w, 1.0)
    with pytest.raises(RuntimeError):
        fill.register_autograd(lambda ctx, g: g)


def test_opcheck_finds_what_was_said_wrongly():
    x = whet.randn(3, dtype=whet.float64, requires_grad=True)
    assert len(opcheck(sine, (x,))) == 3

    @custom_op("tests::liar", mutates_args=())
    def liar(x: Tensor) -> Tensor:
        x.add_(1)
        return x * 2
    with pytest.raises(RuntimeError, match="mutated"):
        opcheck("tests::liar", (whet.ones(2),))
    spread.register_fake(lambda xs, *, shift: [x.new_empty(1) for x in xs])
    with pytest.raises(RuntimeError, match="fake"):
        opcheck(spread, ([whet.ones(2)],), {"shift": 1})


def test_bad_definitions_and_calls():
    for name in ("nowhere", "a::b::c", "::x"):
        with pytest.raises(ValueError):
            custom_op(name, lambda: None, mutates_args=())
    with pytest.raises(ValueError, match="annotation"):
        custom_op("tests::bare", lambda x: x, mutates_args=())
    for mutates in ("x", ["y"]):
        with pytest.raises(ValueError):
            custom_op("tests::other", lambda: None, mutates_args=mutates)
    with pytest.raises(TypeError):
        sine()
    with pytest.raises(RuntimeError):
        whet.library.register_fake("tests::unknown", lambda: None)
    with pytest.raises(AttributeError):
        whet.ops.tests.unknown  # noqa: B018

    @custom_op("tests::same", mutates_args=())
    def same(x: Tensor) -> Tensor:
        return x
    with pytest.raises(RuntimeError, match="may not also be an input"):
        same(whet.ones(2))


@custom_op("tests::product", mutates_args=())
def product(a: Tensor, b: Tensor) -> Tensor:
    out = whet.zeros(a.shape[0], b.shape[1])
    return whet.mm(a, b, out=out)


product.register_autograd(
    lambda ctx, g: (g @ ctx.saved_tensors[1].T, ctx.saved_tensors[0].T @ g),
    setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs))


@pytest.mark.parametrize("by_name", [False, True])
def test_a_traced_step_with_an_operator(by_name):
    w = whet.randn(3, 3, requires_grad=True)

    def step(x):
        w.grad = None
        y = whet.ops.tests.product(x, w) if by_name else product(x, w)
        loss = y.relu().sum()
        loss.backward()
        return loss
    f = whet.jit.trace(step)
    for _ in range(5):
        x = whet.randn(2, 3)
        got = f(x), w.grad
        want = step(x), w.grad
        assert all(a.equal(b) for a, b in zip(got, want, strict=True))
    assert f.explain(data=True)["calls"]["replayed"] >= 2


def test_operators_are_attributes_of_their_namespace():
    assert whet.ops.tests.product is product
    with pytest.raises(AttributeError, match="'tests' has no operator 'other'"):
        whet.ops.tests.other()
    with pytest.raises(AttributeError, match="no function 'nowhere'"):
        whet.ops.nowhere()


@custom_op("tests::quiet", mutates_args=())
def quiet(a: Tensor) -> Tensor:
    return a * 2


quiet.register_autograd(lambda ctx, g: g * 2)


def test_an_operator_lets_go_of_what_it_is_given():
    gc.collect()
    gc.disable()
    try:
        x = whet.randn(2, 3, requires_grad=True)
        held = weakref.ref(x)
        product(x, whet.randn(3, 3)).sum().backward()
        del x
        assert held() is None
        h = whet.randn(2, 3, requires_grad=True) * 2
        held, y = weakref.ref(h), quiet(h)
        del h
        assert held() is None and y.requires_grad
    finally:
        gc.enable()


def test_a_function_is_called_for_tensors_of_the_devices_it_was_given_for():
    lib = whet.library.Library("kinds", "DEF")
    lib.define("f(Tensor x) -> Tensor")
    x = whet.ones(2)
    with pytest.raises(NotImplementedError, match="Could not run 'kinds::f' .* 'CPU' backend"):
        whet.ops.kinds.f(x)
    lib.impl("f", lambda x: x * 3, "CUDA")
    with pytest.raises(NotImplementedError, match=r"There are some for \['cuda'\]"):
        whet.ops.kinds.f(x)
    lib.impl("f", lambda x: x * 2, "CPU")
    whet.library.impl("kinds::f", "meta", lambda x: whet.empty_like(x))
    assert whet.ops.kinds.f(x).tolist() == [2, 2]
    assert whet.ops.kinds.f(x.to("meta")).is_meta


def test_one_function_for_all_devices_gives_way_to_that_of_one():
    @whet.library.custom_op("kinds::g", mutates_args=(), device_types=["cpu", "cuda"])
    def g(x: whet.Tensor) -> whet.Tensor:
        return x + 1
    whet.library.register_kernel("kinds::g", None, lambda x: x + 5)
    assert g(whet.zeros(1)).item() == 1
    whet.library.register_kernel("kinds::g", "cpu", lambda x: x + 2)
    assert g(whet.zeros(1)).item() == 2
    assert g(whet.zeros(1, device="meta")).is_meta

    @whet.library.custom_op("kinds::h", mutates_args=(), device_types="cuda")
    def h(x: whet.Tensor) -> whet.Tensor:
        return x + 1
    with pytest.raises(NotImplementedError, match="'kinds::h'"):
        h(whet.zeros(1))


def test_functions_for_devices_that_are_not_there_are_never_called():
    whet.library.define("kinds::k", "(Tensor x) -> Tensor")
    whet.library.impl("kinds::k", ["default", "xpu"], lambda x: x + 1)
    whet.library.impl("kinds::k", "mps", lambda x: x + 100)
    assert whet.ops.kinds.k(whet.zeros(1)).item() == 1


def test_keys_that_are_not_known_are_refused():
    lib = whet.library.Library("refused", "DEF")
    lib.define("f(Tensor x) -> Tensor")
    for key in ("cuda", "AutocastCPU", "Foo"):
        with pytest.raises(RuntimeError, match=f"could not parse dispatch key: {key}"):
            lib.impl("f", lambda x: x, key)
    with pytest.raises(RuntimeError, match="Expected one of cpu, cuda"):
        whet.library.impl("refused::f", "foo", lambda x: x)
