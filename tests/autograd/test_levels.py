"""Levels beyond single ops: what escapes, in-place writes, Functions, control flow, checkpoints,
traces, random numbers."""
import numpy as np
import pytest
import whet
import whet.autograd.forward_ad as fw
from whet import func
from whet.utils.checkpoint import checkpoint

R = np.random.default_rng(0)


def numbers(*shape):
    return whet.tensor(R.standard_normal(shape))


def close(a, b):
    np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-10, atol=1e-12)


def rows(f, x):
    return whet.stack([f(r) for r in x])


# ---- what a level refuses ------------------------------------------------------------------------
@pytest.mark.parametrize("use",
                         [lambda t: t + 1, lambda t: whet.ones(3) * t, lambda t: t[0],
                          lambda t: t.item(), lambda t: t.numpy(),
                          lambda t: t.add_(1),
                          lambda t: whet.vmap(lambda a: a * t)(whet.ones(2, 3)),
                          lambda t: t.shape])
@pytest.mark.parametrize("inside",
                         [lambda f: whet.vmap(f)(whet.ones(2, 3)),
                          lambda f: func.jvp(f, (whet.ones(3),), (whet.ones(3),))])
def test_a_tensor_that_escaped_its_level_is_an_error(inside, use):
    kept = []
    inside(lambda x: kept.append(x * 2) or x)
    with pytest.raises(RuntimeError, match="outside of it"):
        use(kept[0])


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x.item(), lambda x: bool(x > 0), lambda x: x.numpy(), lambda x: x.tolist(),
        lambda x: int(x), lambda x: np.asarray(x), lambda x: whet.arange(3)[x.long()]
        if x > 0 else x, lambda x: f"{float(x)}"])
def test_python_does_not_see_the_numbers_of_a_batch(f):
    with pytest.raises(RuntimeError, match="vmap"):
        whet.vmap(f)(whet.tensor([1.0, -1.0]))


def test_what_all_examples_share_cannot_be_written_with_what_they_differ_in():
    w = whet.zeros(3)
    for f in ((lambda x: w.add_(x), lambda x: whet.zeros(3).copy_(x),
               lambda x, y: y.clone().add_(x))):
        with pytest.raises(RuntimeError, match="vmap"):
            whet.vmap(f, (0, None) if f.__code__.co_argcount == 2 else 0)(
                *[whet.ones(2, 3), w][:f.__code__.co_argcount])
    assert (w == 0).all()


def test_random_numbers_are_refused_the_same_or_different():
    x = whet.zeros(3)
    for draw in ((lambda x: x + whet.rand(()), lambda x: whet.nn.functional.dropout(x),
                  lambda x: whet.randperm(3), lambda x: whet.randn_like(x))):
        with pytest.raises(RuntimeError, match="randomness"):
            whet.vmap(draw)(x)
    same, other = (whet.vmap(lambda x: x + whet.randn(2), randomness=r)(x)
                   for r in ("same", "different"))
    assert whet.equal(same[0], same[1]) and not whet.equal(other[0], other[1])
    assert (whet.vmap(lambda x: whet.randperm(5),
                      randomness="different")(x).sort(1).values.tolist() == [list(range(5))] * 3)


# ---- in place ------------------------------------------------------------------------------------
def written(x):
    y = x.new_zeros(4)
    y[0] = x[0]
    y[1:] = x * 2
    y.mul_(x[1])
    y[1:3].add_(x[0])
    return y


def written_view(x):
    y = x * 1
    part = y[1:]
    part.mul_(x[0])
    part[0] += x[1]
    y.unsqueeze_(0)
    return y.squeeze(0) * part.sum()


@pytest.mark.parametrize("f", [written, written_view])
def test_writes_in_place(f):
    x = numbers(2, 3)
    close(whet.vmap(f)(x), rows(f, x))
    jacobian = rows(func.jacrev(f), x)
    for derivative in (func.jacrev, func.jacfwd):
        close(whet.vmap(derivative(f))(x), jacobian)
        close(derivative(f)(x[0]), jacobian[0])
        whole = derivative(whet.vmap(f))(x)
        close(whet.stack([whole[i, :, i] for i in range(2)]), jacobian)
    close(func.jacfwd(func.jacrev(f))(x[0]), func.jacrev(func.jacrev(f))(x[0]))


@pytest.mark.parametrize("f", [
    written, written_view, lambda x: _overwritten(x, x * x),
    lambda x: _overwritten(x.clone(), x.sin())])
def test_a_linear_function_knows_what_was_there_before_a_write(f):
    x, v, w = numbers(3).exp(), numbers(3), numbers(3)
    out, push = func.linearize(f, x.clone())
    for t in (v, w):
        want, slope = func.jvp(f, (x.clone(),), (t,))
        close(out, want)
        close(push(t), slope)


def _overwritten(x, y):
    z = x * y
    y.mul_(x).add_(z)
    part = z[1:]
    part.copy_(y[:-1])
    return z * y + part.sum()


def test_a_batch_is_written_into_the_users_memory():
    x = numbers(2, 3)
    want = x * 2
    whet.vmap(lambda r: r.mul_(2))(x)
    close(x, want)


# ---- Functions -----------------------------------------------------------------------------------
class Scaled(whet.autograd.Function):
    """Saves an output and an input."""
    @staticmethod
    def forward(ctx, x, c):
        y = x.exp() * c
        ctx.save_for_backward(y, c)
        return y

    @staticmethod
    def backward(ctx, g):
        y, c = ctx.saved_tensors
        return g * y, (g * y / c).sum()


class Rounded(whet.autograd.Function):
    """Its gradient is another than that of what it computes."""
    @staticmethod
    def forward(x):
        return x.round()

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, g):
        return 3 * g


class ByNumPy(whet.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return whet.tensor(np.sin(x.detach().numpy()))

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return g * x.cos()


class Ruled(whet.autograd.Function):
    """Has all the rules, each told apart by a factor."""
    @staticmethod
    def forward(x):
        return x ** 2

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return g * 2 * x

    @staticmethod
    def jvp(ctx, t):
        x, = ctx.saved_tensors
        return 20 * x * t

    @staticmethod
    def vmap(info, in_dims, x):
        assert info.batch_size == 4
        return 5 * Ruled.apply(x.movedim(in_dims[0], 0)), 0


def test_functions_in_every_nesting():
    x, c = numbers(4), whet.tensor(2.0, dtype=whet.float64)
    f = lambda x: Scaled.apply(x, c)  # noqa: E731
    want = x.exp() * c
    for found in (whet.vmap(f)(x),
                  whet.vmap(func.grad(f))(x),
                  whet.vmap(func.grad(func.grad(f)))(x),
                  func.grad(lambda x: whet.vmap(f)(x).sum())(x),
                  func.grad(lambda x: whet.vmap(func.grad(f))(x).sum())(x),
                  func.jvp(f, (x,), (whet.ones_like(x),))[1],
                  func.hessian(lambda x: f(x).sum())(x).diagonal(),
                  func.jacfwd(f)(x).diagonal(),
                  func.grad(lambda x: func.jvp(f, (x,), (whet.ones_like(x),))[1].sum())(x),
                  whet.vmap(func.hessian(f))(x),
                  func.jvp(func.grad(lambda x: f(x).sum()), (x,), (whet.ones_like(x),))[1]):
        close(found, want)
    by_c = func.grad(lambda c: whet.vmap(lambda x: Scaled.apply(x, c))(x).sum())
    close(by_c(c), x.exp().sum())


def test_a_function_goes_by_its_own_gradient_at_every_level():
    x = numbers(4)
    for found in (func.grad(lambda x: whet.vmap(Rounded.apply)(x).sum())(x),
                  whet.vmap(func.grad(Rounded.apply))(x),
                  func.jvp(Rounded.apply, (x,), (whet.ones_like(x),))[1],
                  whet.vmap(func.jacfwd(Rounded.apply))(x)):
        close(found, whet.full_like(x, 3.0))


def test_a_function_that_looks_at_numbers_runs_for_each_example_and_says_so():
    x = numbers(4)
    with pytest.warns(UserWarning, match="each example in turn"):
        close(whet.vmap(ByNumPy.apply)(x), x.sin())
    close(whet.vmap(func.grad(ByNumPy.apply))(x), x.cos())
    close(func.grad(lambda x: whet.vmap(ByNumPy.apply)(x).sum())(x), x.cos())


def test_a_functions_own_rules():
    x = numbers(4)
    close(whet.vmap(Ruled.apply)(x), 5 * x ** 2)
    close(func.jvp(Ruled.apply, (x,), (whet.ones_like(x),))[1], 20 * x)
    close(whet.vmap(func.grad(Ruled.apply))(x), 2 * x)
    close(func.grad(lambda x: whet.vmap(Ruled.apply)(x).sum())(x), 10 * x)


def test_a_function_is_linearized_once():
    calls, x, c = [], numbers(4), whet.tensor(2.0, dtype=whet.float64, requires_grad=True)

    def f(x):
        calls.append(1)
        return {"a": Scaled.apply(x, c), "b": (Ruled.apply(x) * c, x.new_ones(2), x.argmax())}
    out, push = func.linearize(f, x)
    assert out["b"][2] == x.argmax()
    for v in (numbers(4), numbers(4)):
        got = push(v)
        close(got["a"], v * x.exp() * 2)
        close(got["b"][0], 20 * x * v * 2)
        assert (got["b"][1] == 0).all() and got["b"][2] == 0
    close(whet.vmap(lambda v: push(v)["a"])(whet.eye(4, dtype=whet.float64)), (x.exp() * 2).diag())
    close(whet.autograd.grad(push(x)["a"].sum(), c)[0], (x * x.exp()).sum())
    close(func.grad(lambda v: push(v)["a"].sum())(x), x.exp() * 2)
    assert len(calls) == 1


def test_a_linear_function_whose_numbers_changed_is_an_error():
    x = numbers(3)
    _, push = func.linearize(lambda x: x * x, x)
    x.add_(1)
    with pytest.raises(RuntimeError, match="inplace"):
        push(x)
    with pytest.raises(RuntimeError, match="linearize.*shape"):
        func.linearize(lambda x: x * x, x)[1](numbers(2))
    with pytest.raises(RuntimeError, match="linearize"):
        func.linearize(lambda x: x, whet.tensor(1))


@pytest.mark.parametrize("f", [lambda x, w: whet.autograd.grad((x * w).sum(), w)[0], lambda x, w: (x * w).sum().backward(),
                               lambda x, w: whet.autograd.grad(x.detach().requires_grad_().sum(), w)])
@pytest.mark.parametrize("inside", [lambda f: whet.vmap(f)(whet.ones(2, 3)), lambda f: func.jvp(f, (whet.ones(3),), (whet.ones(3),))])
def test_differentiating_by_a_leaf_from_outside_is_explained(inside, f):
    w = whet.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="reaches back to the arguments of.*func.grad"):
        inside(lambda x: f(x, w))
    assert w.grad is None


# ---- control flow, checkpoints, traces -----------------------------------------------------------
def test_control_flow_of_a_batch():
    x = whet.tensor([0.3, -0.7, 1.2], dtype=whet.float64)
    f = lambda x: whet.cond(x > 0, lambda x: x * 2, lambda x: -x, (x,))  # noqa: E731
    close(whet.vmap(f)(x), whet.tensor([0.6, 0.7, 2.4], dtype=whet.float64))
    close(whet.vmap(func.grad(f))(x), whet.tensor([2.0, -1.0, 2.0], dtype=whet.float64))
    power = lambda n: whet.while_loop(lambda i, a: i < n, lambda i, a: (i + 1, a * 2),
                                      (whet.tensor(0), whet.tensor(1.0)))[1]    # noqa: E731
    assert whet.vmap(power)(whet.tensor([1, 3, 0])).tolist() == [2, 8, 1]
    running = lambda r: whet.scan(lambda c, y: (c + y, c * y), whet.zeros(
        (), dtype=whet.float64), r)[1]    # noqa: E731
    xs = whet.stack([x, x * 2])
    close(whet.vmap(running)(xs), rows(running, xs))


def test_checkpoints_inside_and_outside():
    x = numbers(3)
    f = lambda x: checkpoint(lambda x: x.exp().sin(), x)  # noqa: E731
    slope = func.grad(lambda x: x.exp().sin().sum())
    close(whet.vmap(func.grad(f))(x), slope(x))
    close(func.grad(lambda x: whet.vmap(f)(x).sum())(x), slope(x))
    close(
        func.grad(lambda x: whet.vmap(func.grad(f))(x).sum())(x),
        func.grad(lambda x: slope(x).sum())(x))
    close(func.jvp(f, (x,), (whet.ones_like(x),))[1], slope(x))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: whet.vmap(func.grad(lambda y: checkpoint(lambda y: y * y * y * x.sum(), y)))
        (x).sum(), lambda x: checkpoint(func.hessian(lambda y: (y * y * y * x).sum()), x).sum(),
        lambda x: func.jvp(lambda y: whet.vmap(lambda y: checkpoint(lambda y: y * y * x[0], y))(y),
                           (x,), (x,))[1].sum()])
def test_a_checkpoint_inside_keeps_the_history_of_what_is_outside(f, monkeypatch):
    x = numbers(3)
    got = func.grad(f)(x)
    monkeypatch.setitem(globals(), "checkpoint", lambda f, x: f(x))
    close(got, func.grad(f)(x))


def test_hooks_see_what_is_saved_in_the_layer_that_they_were_set_in():
    seen, x = [], numbers(3).requires_grad_()
    with whet.autograd.graph.saved_tensors_hooks(lambda t: seen.append(t) or t, lambda t: t):
        y = whet.vmap(func.grad(lambda a: a.sin() * a))(x).sum()
    assert seen and not any(t._stands_for_another for t in seen)
    close(whet.autograd.grad(y, x)[0], 2 * x.cos() - x * x.sin())


def test_control_flow_of_a_batch_that_an_inner_transform_meets():
    x = whet.tensor([0.3, -0.7, 1.2], dtype=whet.float64)
    f = lambda x: whet.cond(x > 0, lambda x: x * x, lambda x: -x, (x,))  # noqa: E731
    g = lambda x: whet.while_loop(lambda a: a.abs() < 2, lambda a: (a * 3,), (x,))[0]  # noqa: E731
    for h, slope in ((f, [0.6, -1.0, 2.4]), (g, [9.0, 3.0, 3.0])):
        want = whet.tensor(slope, dtype=whet.float64)
        close(whet.vmap(lambda x, h=h: func.jvp(h, (x,), (x * 0 + 1,))[1])(x), want)
        close(whet.vmap(lambda x, h=h: func.linearize(h, x)[1](x * 0 + 1))(x), want)
        close(
            whet.vmap(lambda x, h=h: whet.vmap(lambda y: h(x) * y)(whet.ones(2)))(x)[:, 1],
            h_of_each(h, x))


def h_of_each(h, x):
    return whet.stack([h(y) for y in x])


@pytest.mark.parametrize("f",
                         [
                             lambda x: whet.vmap(func.grad(lambda a: a.sin() * a))(x),
                             func.hessian(lambda x: (x.sin() * x).sum() ** 2),
                             lambda x: func.jvp(lambda x: x.tanh() * x, (x,), (x,))[1],
                             whet.vmap(lambda r: written(whet.stack([r, r, r])))])
def test_a_traced_transform_is_replayed_with_the_same_bits(f):
    traced = whet.jit.trace(f, strict=True)
    for _ in range(4):
        x = numbers(3)
        assert whet.equal(traced(x), f(x))


def test_a_traced_function_inside_of_a_transform():
    x = numbers(3)
    traced = whet.jit.trace(lambda a: a.sin() * a)
    for _ in range(3):
        traced(x)
        close(whet.vmap(traced)(x), x.sin() * x)
        close(whet.vmap(func.grad(traced))(x), x.cos() * x + x.sin())


# ---- the forms of vmap ---------------------------------------------------------------------------
def test_dimensions_and_structures_of_vmap():
    x, y = numbers(2, 3), numbers(3)
    out = whet.vmap(lambda d, k=1: {"a": d["x"] * d["y"] * k, "b": (d["x"], d["y"])},
                    in_dims=({"x": 1, "y": 0},),
                    out_dims={"a": 1, "b": (0, 0)})({"x": x, "y": y}, k=2)
    close(out["a"], x * y * 2)
    close(out["b"][0], x.T)
    shared = whet.vmap(lambda a: (a, whet.ones(2)), out_dims=(0, None))(y)[1]
    assert shared.shape == (2,)
    with pytest.raises(ValueError, match="BatchedTensor"):
        whet.vmap(lambda a: a, out_dims=None)(y)


def test_an_index_of_each_example():
    x, i, j = numbers(4, 5, 3), whet.tensor([0, 3, -1, 2]), whet.tensor([1, 0, 2, 2])
    for f in ((lambda x, i, j: x[i], lambda x, i, j: x[i, j], lambda x, i, j: x[:, j],
               lambda x, i, j: x[j, 1:])):
        close(whet.vmap(f)(x, i, j), whet.stack([f(*each) for each in zip(x, i, j)]))

    def put(x, i):
        y = x.clone()
        y[i] = 7.0
        return y
    close(whet.vmap(put)(x, i), whet.stack([put(*each) for each in zip(x, i)]))


def test_norms_with_weights_of_each_example():
    w, x = numbers(3, 5), numbers(3, 4, 5)
    f = lambda w, x: whet.nn.functional.layer_norm(x, (5,), w, w).square().sum()  # noqa: E731
    for d in (func.grad(f), func.grad(f, 1), func.hessian(f)):
        close(whet.vmap(d)(w, x), whet.stack([d(*each) for each in zip(w, x)]))
        close(whet.vmap(d, (0, None))(w, x[0]), whet.stack([d(each, x[0]) for each in w]))
        assert not d(w[0], x[0]).requires_grad


@pytest.mark.parametrize("draw",
                         [
                             lambda x: whet.bernoulli(x), lambda x: whet.normal(x, x),
                             lambda x: x.new_zeros(3).normal_(), lambda x: whet.multinomial(x, 2),
                             lambda x: whet.poisson(x), lambda x: whet.nn.functional.dropout(x)])
def test_draws_with_arguments_of_each_example(draw):
    x = whet.full((20, 3), 0.5)
    same, different = [whet.vmap(draw, randomness=r)(x) for r in ("same", "different")]
    assert (same == same[0]).all() and not (different == different[0]).all()


@pytest.mark.parametrize("chunk_size", [1, 2, 3, 100])
def test_chunks(chunk_size):
    x = numbers(5, 3)
    f = lambda r: (r.sin(), r.sum())  # noqa: E731
    for a, b in zip(whet.vmap(f, chunk_size=chunk_size)(x), whet.vmap(f)(x)):
        close(a, b)
    g = lambda r: r.sin() * r.sum()  # noqa: E731
    close(func.jacrev(g, chunk_size=chunk_size)(x[0]), func.jacfwd(g, chunk_size=chunk_size)(x[0]))


def test_gradients_of_each_sample_of_a_model():
    net = whet.nn.Sequential(whet.nn.Conv2d(2, 3, 3), whet.nn.GroupNorm(1, 3), whet.nn.ReLU(),
                             whet.nn.Flatten(), whet.nn.Linear(48, 2)).double()
    params = {k: p.detach() for k, p in net.named_parameters()}
    x, y = numbers(4, 2, 6, 6), whet.tensor([0, 1, 1, 0])

    def loss(params, x, y):
        return whet.nn.functional.cross_entropy(func.functional_call(net, params, (x[None],)),
                                                y[None])
    found = whet.vmap(func.grad(loss), (None, 0, 0))(params, x, y)
    for i in range(4):
        for k, g in func.grad(loss)(params, x[i], y[i]).items():
            close(found[k][i], g)


def test_an_ensemble():
    nets = [
        whet.nn.Sequential(whet.nn.Linear(3, 4), whet.nn.Tanh(), whet.nn.Linear(4, 2)).double()
        for _ in range(3)]
    params, buffers = func.stack_module_state(nets)
    x = numbers(5, 3)
    out = whet.vmap(lambda p, b: func.functional_call(nets[0], (p, b), (x,)))(params, buffers)
    close(out, whet.stack([n(x) for n in nets]))


@pytest.mark.parametrize("options",
                         [{"vectorize": True}, {"vectorize": True, "strategy": "forward-mode"}])
def test_jacobians_as_values(options):
    functional = whet.autograd.functional
    x, y = numbers(3), numbers(2)
    f = lambda x, y: (x.sin() * y.sum(), y * x[0])  # noqa: E731
    for row, want in zip(functional.jacobian(f, (x, y), **options), functional.jacobian(f, (x, y))):
        for a, b in zip(row, want):
            close(a, b)
    g = lambda x: (x ** 3).sum() * x[0]  # noqa: E731
    w = x.clone().requires_grad_()
    functional.jacobian(lambda x: x ** 3, w, create_graph=True, **options).sum().backward()
    close(w.grad, 6 * x)
    close(
        functional.hessian(g, x, vectorize=True,
                           outer_jacobian_strategy=options.get("strategy", "reverse-mode")),
        functional.hessian(g, x))


def test_batched_gradients_of_a_graph():
    x = numbers(3).requires_grad_()
    y, z = x ** 2, numbers(2).requires_grad_()
    rows_of, none = whet.autograd.grad(y, (x, z), whet.eye(3, dtype=x.dtype), is_grads_batched=True,
                                       allow_unused=True)
    close(rows_of, (2 * x).diag())
    assert none is None


# ---- dual numbers --------------------------------------------------------------------------------
def test_dual_levels():
    x, v = numbers(3), numbers(3)
    with pytest.raises(RuntimeError, match="no level"):
        fw.make_dual(x, v)
    with fw.dual_level():
        d = fw.make_dual(x, v)
        y = fw.unpack_dual((d.sin() * d).sum())
        close(y.tangent, ((x.cos() * x + x.sin()) * v).sum())
        assert fw.unpack_dual(x).tangent is None
        assert float(d.sum()) == pytest.approx(float(x.sum()))
        with fw.dual_level():
            inner = fw.make_dual(d, whet.ones_like(x))
            t = fw.unpack_dual(inner ** 3).tangent
        close(fw.unpack_dual(t).tangent, 6 * x * v)


def test_a_product_with_the_hessian_by_dual_numbers():
    x, v = numbers(3).requires_grad_(), numbers(3)
    with fw.dual_level():
        d = fw.make_dual(x, v)
        g, = whet.autograd.grad((d ** 3).sum(), d)
        close(fw.unpack_dual(g).tangent, 6 * x * v)


def test_tensors_made_inside_of_forward_mode_can_be_written_to():
    def f(x):
        out = whet.zeros(3, dtype=whet.float64)
        out[0] = x
        out[1:] = x * x
        return out

    close(
        func.jacfwd(f)(whet.tensor(3.0, dtype=whet.float64)),
        whet.tensor([1.0, 6.0, 6.0], dtype=whet.float64))
