"""backward() and grad(): accumulation, what is kept, modes, checks, threads."""
import inspect
import threading

import numpy as np
import pytest
import whet
import whet.nn.functional as F
from whet.autograd import detect_anomaly, grad, gradcheck, gradgradcheck
from whet.utils.checkpoint import checkpoint, checkpoint_sequential


def leaf(*values, dtype=whet.float32):
    return whet.tensor(list(values), dtype=dtype, requires_grad=True)


def apart(*tensors):
    """Has each tensor memory of its own?"""
    return (not any(
        np.shares_memory(a.numpy(), b.numpy()) for i, a in enumerate(tensors) for b in tensors[:i]))


# ---- what backward leaves in .grad ---------------------------------------------------------------
def test_gradients_accumulate():
    x = leaf(1, 2)
    (x * x).sum().backward()
    assert x.grad.tolist() == [2, 4]
    first = x.grad
    (3 * x).sum().backward()
    assert x.grad.tolist() == [5, 7] and x.grad is first
    x.grad = None
    x.sum().backward()
    assert x.grad.tolist() == [1, 1] and first.tolist() == [5, 7]


@pytest.mark.parametrize("through",
                         [
                             lambda a, b, c: a + b + c, lambda a, b, c: (a + b) -
                             (0 - c), lambda a, b, c: whet.cat([a, b, c]),
                             lambda a, b, c: a.view(3) + b.reshape(3) + c.clone(),
                             lambda a, b, c: whet.stack([a, b, c]).t()])
@pytest.mark.parametrize("inputs", [False, True])
def test_leaves_never_share_a_gradient(through, inputs):
    a, b, c = leaf(1, 2, 3), leaf(1, 2, 3), leaf(1, 2, 3)
    for _ in range(2):
        r = through(a, b, c)
        g = whet.ones(*r.shape)
        r.backward(g, inputs=[a, b, c] if inputs else None)
        assert apart(a.grad, b.grad, c.grad, g)
    assert a.grad.tolist() == [2, 2, 2] and g.sum().item() == g.numel()


def test_a_given_gradient_is_not_captured():
    numbers = np.ones(3, np.float32)
    x, y = leaf(1, 2, 3), leaf(1, 2, 3)
    g = whet.from_numpy(numbers)
    for t in (x, y + 0, (y + 0).view(3)):
        t.backward(g)
        t.backward(g)
    assert (numbers.tolist() == [1, 1, 1] and x.grad.tolist() == [2, 2, 2]
            and y.grad.tolist() == [4, 4, 4])


def test_a_gradient_kept_by_a_hook_is_not_captured():
    kept = []
    x = leaf(1, 2)
    x.register_hook(kept.append)
    (x * 2).sum().backward()
    (x * 3).sum().backward()
    (x * 1 + x * 4).sum().backward()
    assert [k.tolist() for k in kept] == [[2, 2], [3, 3], [5, 5]] and x.grad.tolist() == [10, 10]


def test_an_assigned_gradient_is_added_to():
    x = leaf(1, 2)
    x.grad = g = whet.tensor([10.0, 20.0])
    x.sum().backward()
    assert x.grad is g and g.tolist() == [11, 21]
    for bad, error in ((whet.ones(3), RuntimeError),
                       (whet.ones(2, dtype=whet.float64), RuntimeError), (1.0, TypeError),
                       (x, RuntimeError)):
        with pytest.raises(error):
            x.grad = bad
    assert x.grad is g


def test_gradients_have_the_leafs_type():
    x = leaf(1, 2, dtype=whet.float16)
    (x * whet.ones(2, dtype=whet.float64)).sum().backward()
    assert x.grad.dtype is whet.float16
    z = leaf(1, 2)
    (z * whet.tensor([1j, 2.0])).sum().real.backward()
    assert z.grad.dtype is whet.float32 and z.grad.tolist() == [0, 2]


# ---- backward's arguments ------------------------------------------------------------------------
def test_backward_only_of_inputs():
    a, b = leaf(1), leaf(2)
    y = a * b
    y.backward(inputs=[a, a])
    assert a.grad.item() == 2 and b.grad is None
    y = a * 3
    z = (y * b).sum()
    z.backward(inputs=y)
    assert y.grad.item() == 2 and b.grad is None and a.grad.item() == 2
    with pytest.raises(RuntimeError, match="cannot be empty"):
        z.backward(inputs=[])
    with pytest.raises(RuntimeError, match="does not require grad"):
        (a * b).backward(inputs=[whet.ones(1)])


def test_graphs_are_freed_unless_retained():
    x = leaf(1, 2)
    y = x.exp().sum()
    y.backward(retain_graph=True)
    y.backward()
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()
    z = (x + x).sum()                   # saves nothing: there is nothing to free
    z.backward()
    z.backward()
    with pytest.raises(RuntimeError, match="second time"):
        w = x.tanh()
        grad(w.sum(), x)
        grad(w.sum(), x)


def test_create_graph():
    x = leaf(2, dtype=whet.float64)
    g, = grad(x ** 4, x, create_graph=True)
    h, = grad(g, x, create_graph=True)
    k, = grad(h, x)
    assert ((g.item(), h.item(), k.item()) == (32, 48, 48) and g.requires_grad
            and not k.requires_grad)
    (x ** 3).backward(create_graph=True)
    assert x.grad.requires_grad
    s, = grad(x.grad, x)
    assert s.item() == 12
    # without a graph the sum goes into the gradient that has one
    (x ** 3).backward()
    assert x.grad.item() == 24


def test_grad_of_unused_inputs():
    x, y = leaf(1), leaf(2)
    with pytest.raises(RuntimeError, match="not have been used"):
        grad(x * 2, [x, y])
    assert grad(x * 2, [x, y], allow_unused=True)[1] is None
    assert grad(x * 2, [x, y], materialize_grads=True)[1].tolist() == [0]
    with pytest.raises(RuntimeError):
        grad(whet.ones(1), x)
    with pytest.raises(RuntimeError):
        grad(x * 2, whet.ones(1))
    with pytest.raises(RuntimeError):
        grad(x * 2, [])
    assert x.grad is None and y.grad is None


def test_grad_outputs():
    x = leaf(1, 2, 3)
    y = x * x
    with pytest.raises(RuntimeError, match="scalar outputs"):
        grad(y, x)
    with pytest.raises(RuntimeError, match="Mismatch in shape"):
        grad(y, x, whet.ones(2))
    with pytest.raises(TypeError):
        grad(y, x, [1.0])
    assert grad(y, x, whet.tensor([1.0, 0, 2]))[0].tolist() == [2, 0, 12]
    a, b = x.sum(), (2 * x).sum()
    assert grad([a, b], x, [whet.tensor(3.0), None])[0].tolist() == [5, 5, 5]
    rows, = grad(x * 1, x, whet.eye(3), is_grads_batched=True)
    assert rows.tolist() == np.eye(3).tolist()


def test_gradients_of_what_is_not_a_leaf():
    x = leaf(1, 2)
    y = x * 3
    z = (y * y).sum()
    gy, gz, gx = grad(z, [y, z, x])
    assert gy.tolist() == [6, 12] and gz.item() == 1 and gx.tolist() == [18, 36]
    y = x * 3
    y.retain_grad()
    y.retain_grad()
    assert y.retains_grad and not x.retains_grad
    for n in (1, 2):
        (y * y).sum().backward(retain_graph=True)
        assert y.grad.tolist() == [6 * n, 12 * n]
    with pytest.raises(RuntimeError):
        whet.ones(1).retain_grad()


def test_one_output_of_several():
    x = leaf(3, 1, 2)
    values, places = x.sort()
    assert not places.requires_grad and values.grad_fn is not None
    values[0].backward()
    assert x.grad.tolist() == [0, 1, 0]
    x.grad = None
    a, b, c = x.unbind()
    (a * 5 + c).backward()
    assert x.grad.tolist() == [5, 0, 1]


def test_diamonds_and_repeated_operands():
    x = leaf(2, 3, dtype=whet.float64)
    y = x * x
    for _ in range(3):
        y = y * y + y
    y.sum().backward()
    def f(v):
        y, d = v * v, 2 * v
        for _ in range(3):
            d = 2 * y * d + d
            y = y * y + y
        return d
    assert x.grad.tolist() == [f(2.0), f(3.0)]
    m = whet.eye(2).mul(2).requires_grad_()
    (m @ m).sum().backward()
    assert m.grad.tolist() == [[4, 4], [4, 4]]


# ---- requires_grad -------------------------------------------------------------------------------
def test_requires_grad_flips():
    x = whet.ones(2)
    assert x.is_leaf and not x.requires_grad and x.grad_fn is None
    y = x * 2
    x.requires_grad_()
    assert not y.requires_grad
    y = x * 2
    assert y.requires_grad and not y.is_leaf
    with pytest.raises(RuntimeError, match="leaf"):
        y.requires_grad_(False)
    with pytest.raises(RuntimeError, match="floating point"):
        whet.arange(3).requires_grad_()
    x.requires_grad = False
    assert not (x * 2).requires_grad and y.requires_grad
    y.sum().backward()                  # the edge was recorded
    assert not (x > 0).requires_grad and not x.argmax().requires_grad


def test_detach_and_data_share_memory():
    x = leaf(1, 2)
    y = x * 2
    d, e = y.detach(), y.data
    assert not d.requires_grad and not e.requires_grad and d._base is None
    d[0] = 9
    assert y.tolist() == [9, 4] and e.tolist() == [9, 4] and y._version == 1 and e._version == 0
    z = y.exp()
    y.data[1] = 0                       # not seen by the version check
    z.sum().backward()
    y.detach_()
    assert y.is_leaf and not y.requires_grad
    x.data = whet.tensor([5.0, 6.0])
    assert x.tolist() == [5, 6] and x.requires_grad


# ---- modes ---------------------------------------------------------------------------------------
def test_modes_as_statements():
    x = leaf(1)
    with whet.no_grad():
        assert not (x * 2).requires_grad and not whet.is_grad_enabled()
        with whet.enable_grad():
            assert (x * 2).requires_grad
        with whet.set_grad_enabled(True):
            assert (x * 2).requires_grad
        assert not (x * 2).requires_grad
        x.add_(1)                       # a leaf may be written to here
    assert (x * 2).requires_grad and x.tolist() == [2]
    whet.set_grad_enabled(False)
    try:
        assert not (x * 2).requires_grad
    finally:
        whet.set_grad_enabled(True)
    with pytest.raises(ZeroDivisionError), whet.no_grad():
        raise ZeroDivisionError
    assert whet.is_grad_enabled()


def test_modes_as_decorators():
    x = leaf(1)

    @whet.no_grad()
    def off():
        return x * 2

    @whet.no_grad
    def bare():
        return x * 2

    @whet.set_grad_enabled(False)
    def switched():
        return x * 2

    @whet.no_grad()
    def produce(n):
        for _ in range(n):
            got = yield (x * 2).requires_grad, whet.is_grad_enabled()
        return got

    assert (not off().requires_grad and not bare().requires_grad and not switched().requires_grad
            and whet.is_grad_enabled())
    assert inspect.isgeneratorfunction(produce)
    it = produce(3)
    for _ in range(3):
        assert it.send(None) == (False, False) and whet.is_grad_enabled() and (x * 2).requires_grad
    with pytest.raises(StopIteration) as stop:
        it.send(7)
    assert stop.value.value == 7


def test_what_is_thrown_into_a_decorated_generator_reaches_it():
    seen = []

    @whet.no_grad()
    def produce():
        try:
            while True:
                try:
                    yield whet.is_grad_enabled()
                except KeyError as e:
                    seen.append((e.args, whet.is_grad_enabled()))
        finally:
            seen.append(whet.is_grad_enabled())
    it = produce()
    assert next(it) is False
    assert it.throw(KeyError("a")) is False and whet.is_grad_enabled()
    it.close()
    assert seen == [(("a",), False), False] and whet.is_grad_enabled()


def test_inference_mode():
    x = leaf(1, 2)
    plain = whet.ones(2)
    with whet.inference_mode():
        y = x * 2
        v = plain.view(2)
        plain.add_(1)
        assert (y.is_inference() and not y.requires_grad and whet.is_inference_mode_enabled()
                and not v.is_inference())
        y.add_(1)
        with whet.inference_mode(False):
            assert (x * 2).requires_grad
    assert (y + 1).is_inference() is False and (x + y).requires_grad and plain._version == 1
    with pytest.raises(RuntimeError, match="[Ii]nference"):
        y.add_(1)
    with pytest.raises(RuntimeError, match="[Ii]nference"):
        x * y
    with pytest.raises(RuntimeError, match="[Ii]nference"):
        y.requires_grad_()
    assert (y.clone() * x).requires_grad


def test_modes_belong_to_threads():
    x = leaf(1, 2)
    (x * 2), (x * 2)
    seen = []

    def look():
        seen.append(((x * 2).requires_grad, whet.is_grad_enabled()))

    def off():
        whet.set_grad_enabled(False)
        look()
    with whet.no_grad():
        for f in (look, off, look, off, look):
            t = threading.Thread(target=f)
            t.start()
            t.join()
        assert not (x * 2).requires_grad
    assert seen == [(True, True), (False, False), (True, True), (False, False), (True, True)]


# ---- checks --------------------------------------------------------------------------------------
def test_anomaly_mode_names_the_forward_line():
    x = leaf(-1.0)
    with detect_anomaly(), pytest.warns(UserWarning, match="y = x.sqrt()"), pytest.raises(
            RuntimeError, match="SqrtBackward0.*nan"):
        y = x.sqrt()
        y.backward()
    with detect_anomaly(check_nan=False):
        x.sqrt().backward()
    x.sqrt().backward()


class Wrong(whet.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return g * x * 1.9


class WrongTwice(whet.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return g * x.detach() * 2


def test_gradcheck_finds_wrong_gradients():
    x = whet.randn(3, dtype=whet.float64, requires_grad=True)
    assert gradcheck(lambda x: (x.exp() * x).sum(0), x) and gradgradcheck(lambda x: x.exp() * x, x)
    with pytest.raises(RuntimeError, match="Jacobian mismatch"):
        gradcheck(Wrong.apply, x)
    assert not gradcheck(Wrong.apply, x, raise_exception=False)
    assert (gradcheck(WrongTwice.apply, x)
            and not gradgradcheck(WrongTwice.apply, x, raise_exception=False))
    z = whet.randn(2, dtype=whet.complex128, requires_grad=True)
    assert gradcheck(lambda z: (z * z).real, z) and gradcheck(lambda z: z.abs(), z)
    with pytest.raises(ValueError):
        gradcheck(lambda x: x, whet.ones(2))
    before = x.tolist()
    gradcheck(lambda x: x.sin(), x)
    assert x.tolist() == before


def block(w1, w2):
    def f(x):
        h = whet.nn.functional.dropout((x @ w1).relu(), 0.5)
        return (h @ w2).tanh()
    return f


@pytest.mark.parametrize("reentrant", [None, False])
def test_checkpoint_gives_the_same_bits(reentrant):
    w1, w2 = whet.randn(8, 16, requires_grad=True), whet.randn(16, 4, requires_grad=True)
    x = whet.randn(5, 8, requires_grad=True)
    runs = []
    for wrap in (lambda f, x: f(x), lambda f, x: checkpoint(f, x, use_reentrant=reentrant)):
        whet.manual_seed(3)
        y = wrap(block(w1, w2), x)
        after = whet.rand(3)
        y.square().sum().backward()
        runs.append([
            t.numpy().tobytes()
            for t in (y.detach(), after, x.grad, w1.grad, w2.grad, whet.rand(3))])
        x.grad = w1.grad = w2.grad = None
    assert runs[0] == runs[1]


def test_second_derivatives_through_a_checkpoint():
    x = leaf(0.1, 0.2, dtype=whet.float64)
    assert gradgradcheck(lambda x: checkpoint(lambda x: (x.sin() * x).exp(), x), x)


def test_checkpoint_of_several():
    layers = [lambda x: x.sin(), lambda x: x * x, lambda x: x.exp()]
    x = leaf(0.1, 0.2, dtype=whet.float64)
    a, = grad(checkpoint_sequential(layers, 2, x).sum(), x)
    b, = grad((x.sin() * x.sin()).exp().sum(), x)
    assert a.tolist() == b.tolist()


def test_saved_tensors_hooks():
    x = leaf(1, 2)
    log = []

    def pack(t):
        log.append("pack")
        return t.tolist()

    def unpack(v):
        log.append("unpack")
        return whet.tensor(v)
    with whet.autograd.saved_tensors_hooks(pack, unpack):
        y = x * x
        z = y.exp()
    w = z * 2
    assert log == ["pack"] * 3
    w.sum().backward()
    assert log == ["pack"] * 3 + ["unpack"] * 3
    assert np.allclose(x.grad.numpy(), 4 * x.detach().numpy() * np.exp(x.detach().numpy() ** 2))


# ---- threads -------------------------------------------------------------------------------------
def in_threads(n, fn):
    errors = []

    def run(i):
        try:
            fn(i)
        except BaseException as e:
            errors.append(e)
    threads = [threading.Thread(target=run, args=(i,)) for i in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if errors:
        raise errors[0]


def test_independent_graphs_in_threads():
    def work(i):
        with whet.set_grad_enabled(True):
            x = whet.full((50,), float(i + 1), requires_grad=True)
            for n in range(100):
                y = x
                for _ in range(5):
                    y = y * x + 1 if n % 2 else (y + x).mul(2)
                with whet.no_grad() if i % 2 else whet.enable_grad():
                    assert (x * 2).requires_grad is not bool(i % 2)
                g, = grad(y.sum(), x)
                v = float(i + 1)
                odd = 1 + 2 * v + 3 * v ** 2 + 4 * v ** 3 + 6 * v ** 5
                want = odd if n % 2 else 32 + 2 + 4 + 8 + 16 + 32
                assert np.allclose(g.numpy(), want), (g[0].item(), want)
    in_threads(6, work)


def test_threads_accumulate_into_one_leaf():
    w = whet.zeros(1000, requires_grad=True)
    per, threads = 200, 4

    def work(i):
        for _ in range(per):
            (w * 1.0).sum().backward()
    in_threads(threads, work)
    assert w.grad.tolist() == [per * threads] * 1000


PRODUCTS = {
    "matmul": lambda x, w: x @ w,
    "linear": lambda x, w: F.linear(x, w, whet.ones(3)),
    "bmm": lambda x, w: whet.bmm(x[None], w[None]),
    "addmm": lambda x, w: whet.addmm(whet.ones(3, 3), x, w),
    "einsum": lambda x, w: whet.einsum("ij,kj->ik", x, w),
    "mv": lambda x, w: x @ w[0],
    "conv1d": lambda x, w: F.conv1d(x[None], w[:, :, None]),
    "conv_transpose1d": lambda x, w: F.conv_transpose1d(x[None], w[:, :, None]),
}


@pytest.mark.parametrize("product", PRODUCTS.values(), ids=PRODUCTS)
@pytest.mark.parametrize("first_wants", [True, False])
@pytest.mark.parametrize("repeats", [1, 3])
def test_a_factor_whose_partner_wants_no_gradient_may_be_written_to(product, first_wants, repeats):
    for _ in range(repeats):                    # the third call is made by machine code
        operands = [whet.rand(3, 3), whet.rand(3, 3)]
        wanted, other = operands if first_wants else operands[::-1]
        wanted.requires_grad_()
        expected, = whet.autograd.grad(product(*operands).sum(), wanted)
        computed = [t * 1 for t in operands]
        y = product(*computed)
        with whet.no_grad():
            computed[0 if first_wants else 1].zero_()
        y.sum().backward(retain_graph=True)
        assert wanted.grad.tolist() == expected.tolist()
        computed[1 if first_wants else 0].zero_()
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.sum().backward()


def test_gradients_of_leaves_made_with_create_graph_are_tensors_of_their_own():
    x = whet.ones(3, requires_grad=True)
    (x * 1).sum().backward(create_graph=True)
    x.sum().backward(create_graph=True)
    x.sum().backward()
    x.grad.zero_()
    assert x.grad.tolist() == [0, 0, 0]


def test_unused_inputs_get_zeros_that_can_be_differentiated_where_asked():
    x, y = (whet.ones(2, requires_grad=True) for _ in range(2))
    unused = whet.autograd.grad(x.sum(), y, create_graph=True, materialize_grads=True)[0]
    assert unused.tolist() == [0, 0] and unused.requires_grad
    assert not whet.autograd.grad(x.sum(), y, materialize_grads=True)[0].requires_grad


def test_only_leaves_are_told_whether_to_require_a_gradient():
    y = whet.ones(2, requires_grad=True) * 2
    for wanted in (True, False):
        with pytest.raises(RuntimeError, match="leaf variables"):
            y.requires_grad = wanted
    assert y.requires_grad_() is y


def test_a_leaf_that_requires_no_gradient_any_more_gets_none():
    x = whet.ones(2, requires_grad=True)
    y = (x * 2).sum()
    x.requires_grad_(False)
    y.backward()
    assert x.grad is None
