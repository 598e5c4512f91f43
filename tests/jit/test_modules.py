"""Layers and activations, traced: what they leave is laid as eager lays it, and none of them
need run eagerly."""
import warnings

import pytest
import whet
import whet.nn.functional as F
from whet import jit, nn

across = whet.tensor([2.0, -1.0, 3.0, 1.0])


def leaf(transposed=True):
    x = whet.randn(4, 3) if transposed else whet.randn(3, 4)
    return (x.t() if transposed else x).detach().requires_grad_()


def squared(y):
    return (y * y).sum()


def by_transposed(y):
    return (y * whet.ones(4, 3).t()).sum()


LAID = {
    "multiplied": lambda x: x * 2.0,
    "handed on": lambda x: x + 1,
    "turned": lambda x: x.t(),
    "dropout": lambda x: F.dropout(x * 1, 0.4, False),
    "batch_norm": lambda x: F.batch_norm(x, across, across * across),
    "normalize": F.normalize,
    "in place": lambda x: F.celu_(x * 1),
    "two ways": lambda x: x * across + x.sin(),
    "two results": lambda x: (x * across, x + 1),
}


@pytest.mark.parametrize("transposed", [False, True], ids=["rows", "columns"])
@pytest.mark.parametrize("name", LAID)
def test_gradients_lie_as_eagers_do(name, transposed):
    f = LAID[name]
    traced = whet.jit.trace(f, verify="off")

    def seen(f, loss):
        x, between = leaf(transposed), []
        mid = x * 3.0
        mid.register_hook(lambda g: between.append((g.stride(), g.tolist())))
        ys = f(mid)
        losses = [
            loss(y) for y in (ys if type(ys) is tuple else (ys,))
            if y.shape == (3, 4) or loss is not by_transposed]
        sum(losses, whet.zeros(())).backward() if losses else None
        return between, None if x.grad is None else (x.grad.stride(), x.grad.tolist())
    for k, loss in enumerate((whet.sum, squared, by_transposed) * 2):
        whet.manual_seed(k)
        want = seen(f, loss)
        whet.manual_seed(k)
        assert seen(traced, loss) == want
    assert sum(path["calls"] for path in traced.explain(data=True)["paths"]) >= 4


def test_gradients_of_what_was_written_in_place_lie_as_others():
    def stride(f):
        x = leaf()
        return whet.autograd.grad(squared(f(x * 1)), x)[0].stride()
    assert stride(F.celu_) == stride(F.celu) == stride(F.relu_) == (1, 3)


def hooked():
    m = nn.Linear(3, 3)
    m.handle = m.register_forward_hook(lambda m, x, y: y * 2)
    return m


COMPILED = {
    "a cumulative average": lambda: nn.BatchNorm1d(3, momentum=None),
    "a lazy layer": lambda: nn.LazyLinear(2),
    "a lazy norm": nn.LazyBatchNorm1d,
    "a hook's handle is kept": hooked,
    "rrelu in place": lambda: nn.Sequential(nn.Linear(3, 3), nn.RReLU(inplace=True)),
}


@pytest.mark.parametrize("unread", [False, True], ids=["read", "unread"])
@pytest.mark.parametrize("name", COMPILED)
def test_layers_are_compiled(name, unread):
    outcomes = []
    for trace in (lambda f: f, whet.jit.trace):
        whet.manual_seed(0)
        m = COMPILED[name]()
        call = trace(lambda x, m=m: None if m(x) is None or unread else m(x))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            out = [call(whet.randn(5, 3)) for _ in range(6)]
        outcomes.append(([y.tolist() for y in out
                          if y is not None], [t.tolist() for t in m.state_dict().values()]))
    assert outcomes[0] == outcomes[1]
    assert sum(path["calls"] for path in call.explain(data=True)["paths"]) >= 3


def test_a_cumulative_average_is_the_mean():
    m, xs = nn.BatchNorm1d(3, momentum=None), whet.randn(7, 5, 3)
    for x in xs:
        m(x)
    assert (whet.allclose(m.running_mean, xs.mean((0, 1)), atol=1e-6)
            and whet.allclose(m.running_var,
                              xs.var(1).mean(0), atol=1e-5))


def test_an_operand_with_a_dimension_of_size_one_that_lies_otherwise():
    def turned(*shape):
        return whet.randn(*shape[::-1]).permute(*reversed(range(len(shape)))).requires_grad_()
    call = whet.jit.trace(lambda x, grid: F.grid_sample(x, grid, align_corners=False))
    for _ in range(4):
        x, grid = turned(1, 2, 3, 4, 5), turned(1, 2, 2, 2, 3)
        assert call(x, grid).tolist() == F.grid_sample(
            x, grid, align_corners=False).tolist()
    assert sum(path["calls"] for path in call.explain(data=True)["paths"]) == 3


def test_written_over_by_what_it_was_made_into_is_freed_at_once():
    import gc
    import weakref
    gc.disable()
    try:
        y = F.rrelu(whet.ones(3, requires_grad=True) * 1, training=True, inplace=True)
        alive = weakref.ref(y)
        del y
        assert alive() is None
    finally:
        gc.enable()


def test_columns_with_infinities_are_folded_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert F.fold(
            whet.tensor([1.0, -1.0]).repeat(4).reshape(1, 4, 2) * float("inf"), (2, 3),
            2).isnan().any()


@pytest.mark.parametrize("n", [1, 2, 3])
def test_norms_of_windows_without_bound(n):
    x = whet.randn(2, 3, *(5,) * n, requires_grad=True)
    pool, largest = getattr(F, f"lp_pool{n}d"), getattr(F, f"max_pool{n}d")
    assert pool(x, float("inf"), 2).equal(largest(x.abs(), 2))
    assert pool(x, -float("inf"), 2, stride=1).equal(-largest(-x.abs(), 2, stride=1))
    g, = whet.autograd.grad(pool(x, float("inf"), 2).sum(), x)
    assert g.abs().sum() == pool(x, float("inf"), 2).numel()


def test_gradients_of_no_planes():
    x = whet.ones(0, 3, 2, requires_grad=True)
    F.max_unpool1d(x, whet.zeros(0, 3, 2, dtype=whet.int64), 2).sum().backward()
    assert x.grad.shape == (0, 3, 2)


@pytest.mark.parametrize("p", [0.5, 1.5, 2.5, 3, 4])
def test_norms_have_no_gradient_at_zero(p):
    x = whet.zeros(3, requires_grad=True)
    whet.linalg.vector_norm(x, p).backward()
    assert x.grad.tolist() == [0, 0, 0]
    y = whet.tensor([0.0, 2.0], requires_grad=True)
    y.norm(p).backward()
    assert y.grad.tolist() == pytest.approx([0, 1])
    whet.autograd.gradcheck(
        lambda z: whet.linalg.vector_norm(z, p),
        (whet.tensor([0.7, -2.0, 1.3], dtype=whet.float64, requires_grad=True),))


def test_selu_of_infinity():
    inf = float("inf")
    assert (F.selu(whet.tensor([inf, -inf, 1.0, -1.0])).tolist() == pytest.approx([
        inf, -1.7580993, 1.0507010, -1.1113307]))
    assert F.selu(whet.tensor([inf], dtype=whet.float64)).item() == inf


def laid(self, x):
    """A parameter in another's place, with what a backward gives it."""
    self.weight = nn.Parameter(self.weight * 0.5 + x)
    (self.weight * x).sum().backward()
    return self.weight


def beside(self, x):
    """Two that share memory and versions with a tensor that is written to."""
    t = x * 2
    self.weight = nn.Parameter(t)
    t.add_(1)
    return t, self.weight, nn.Parameter(t, requires_grad=False)


def around(self, x):
    """Of an argument's memory, and of a view of that."""
    return nn.Parameter(x), nn.Parameter(x.view(2, 1), requires_grad=False)


@pytest.mark.parametrize("step", [laid, beside, around])
def test_parameters_that_a_function_makes(step):
    def known(t):
        grad = None if t.grad is None else t.grad.tolist()
        return type(t), t.tolist(), t.requires_grad, t.is_leaf, t._version, grad

    def model():
        m = nn.Linear(2, 1)
        m.weight = nn.Parameter(whet.ones(2))
        return m
    eager, traced = model(), model()
    f = jit.trace(lambda x: step(traced, x))
    for k in range(6):
        x, y = whet.full((2,), k + 1.0), whet.full((2,), k + 1.0)
        now, then = (out if type(out) is tuple else (out,) for out in (f(x), step(eager, y)))
        assert [*map(known, now)] == [*map(known, then)]
        assert known(traced.weight) == known(eager.weight)
        if step is around:
            now[0].data.add_(1)
            assert x.tolist() == [k + 2.0] * 2
    assert f._policy.summary().replayed >= 3
