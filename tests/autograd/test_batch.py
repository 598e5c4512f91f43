"""`func.batch` is the loop over the examples, in fewer calls."""
import random

import pytest
import whet
import whet.nn.functional as F
from whet import func, jit, nn
from whet.autograd import modes
from whet.dtypes import FLOAT
from whet.func.trees import tensors
from whet.ops.observer import Observer
from whet.testing import assert_close

from tests.autograd.test_autograd import Wrong


@pytest.fixture(autouse=True)
def in_double():
    """Differences of order alone are small."""
    before = whet.get_default_dtype()
    whet.set_default_dtype(whet.float64)
    whet.manual_seed(0)
    yield
    whet.set_default_dtype(before)


@pytest.fixture
def w():
    return whet.randn(3, 3, requires_grad=True)


def vectors(n=5):
    return [whet.randn(3) for _ in range(n)]


def with_gradients(run, parameters):
    """Results, and the gradients of the parameters by all of them."""
    whet.manual_seed(1)
    outs = run()
    wanted = [(t * t).sum() for t in tensors(outs) if t.requires_grad and t.dtype.category >= FLOAT]
    return outs, whet.autograd.grad(
        sum(wanted), parameters, allow_unused=True) if wanted and parameters else None


def assert_is_the_loop(f, examples, *shared, parameters=()):
    parameters = list(parameters)
    outs, gs = with_gradients(lambda: [f(x, *shared) for x in examples], parameters)
    made, found = with_gradients(lambda: func.batch(f)(examples, *shared), parameters)
    assert [type(x) for x in made] == [type(x) for x in outs]
    assert_close(tensors(made), tensors(outs))
    # whether a result requires grad goes by all of its group; a gradient that is there or not by
    # whether it is zero
    for g, other, p in zip(gs or (), found or (), parameters):
        assert_close(p.new_zeros(p.shape) if other is None else other,
                     p.new_zeros(p.shape) if g is None else g)


class Counts(Observer):
    """Counts the ops that run."""

    def __init__(self):
        self.names = []

    def __call__(self, op, inputs, attrs):
        self.names.append(op.name)
        return super().__call__(op, inputs, attrs)


def launched(f, *args):
    """The names of the ops that f(*args) runs."""
    counts = Counts()
    modes.state.observers += (counts,)
    modes.refresh()
    try:
        f(*args)
    finally:
        modes.state.observers = modes.state.observers[:-1]
        modes.refresh()
    return [n for n in counts.names if n != "constant"]


# ---- programs ------------------------------------------------------------------------------------
def tree(rng, leaves):
    if leaves == 1:
        return rng.randrange(4)
    left = rng.randrange(1, leaves)
    return tree(rng, left), tree(rng, leaves - left)


def trees(n=6):
    rng = random.Random(0)
    return [tree(rng, rng.randrange(1, 8)) for _ in range(n)]


class TreeLSTM(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.embed, self.leaf = nn.Embedding(4, width), nn.Linear(width, 3 * width)
        self.node = nn.Linear(2 * width, 5 * width)

    def of_leaf(self, word):
        i, o, u = self.leaf(self.embed(word)).chunk(3)
        c = i.sigmoid() * u.tanh()
        return o.sigmoid() * c.tanh(), c

    def of_node(self, left, right):
        (h1, c1), (h2, c2) = left, right
        i, f1, f2, o, u = self.node(whet.cat([h1, h2])).chunk(5)
        c = i.sigmoid() * u.tanh() + f1.sigmoid() * c1 + f2.sigmoid() * c2
        return o.sigmoid() * c.tanh(), c

    def forward(self, t):
        if isinstance(t, int):
            return self.of_leaf(whet.tensor(t))
        return self.of_node(self(t[0]), self(t[1]))


class OfCells(TreeLSTM):
    of_leaf, of_node = func.cell(TreeLSTM.of_leaf), func.cell(TreeLSTM.of_node)


@pytest.mark.parametrize("kind", [TreeLSTM, OfCells])
def test_a_tree_lstm_is_the_loop(kind):
    model = kind()
    assert_is_the_loop(model, trees(), parameters=model.parameters())


@pytest.mark.parametrize("kind", [TreeLSTM, OfCells])
def test_equal_ops_of_all_examples_are_run_at_once(kind):
    model, examples = kind(), trees(20)
    names = launched(func.batch(model), examples)
    alone = launched(lambda: [model(t) for t in examples])
    deepest = 8
    assert names.count("linear") <= deepest < alone.count("linear") / 10
    assert len(names) < len(alone) / 5


def test_independent_ops_of_one_example_are_run_at_once(w):
    def f(xs):
        return sum([(x @ w).tanh() for x in xs])
    names = launched(func.batch(f), [vectors(10)])
    assert names.count("matmul") == names.count("tanh") == 1


def test_rows_that_follow_each_other_are_not_copied(w):
    xs = vectors()
    names = launched(func.batch(lambda x: ((x @ w).tanh() * 2).sum()), xs)
    assert names == ["stack", "matmul", "tanh", "mul", "sum", "unbind"]


@pytest.mark.parametrize("f", [
    lambda x, w: F.linear(x, w, w[0]).tanh(), lambda x, w: x @ w.T, lambda x, w: w @ x,
    lambda x, w: {"a": x * 2, "b": (x.sum(), [x @ w])}, lambda x, w: (x @ w).max(0),
    lambda x, w: (x @ w).sort()[0], lambda x, w: whet.linalg.inv(w + whet.diag(x)),
    lambda x, w: F.conv1d(x.view(1, 1, 3), w.view(3, 1, 3)[:, :, :2]),
    lambda x, w: F.layer_norm(x @ w, (3,), w[1]), lambda x, w: whet.where(x > 0, x @ w, w[0]),
    lambda x, w: whet.einsum("i,ij->j", x, w), lambda x, w: (x @ w).cumsum(0).prod(),
    lambda x, w: whet.complex(x, x @ w).abs(), lambda x, w: (x @ w).bfloat16().double(),
    lambda x, w: F.scaled_dot_product_attention(x.view(1, 1, 3) * w, w[None], w[None]),
    lambda x, w: whet.zeros(4).scatter_add(0, whet.tensor([0, 1, 1]), x @ w),
    lambda x, w: x.view(3, 1).expand(3, 2) * w[:, :2]])
def test_ops_are_those_of_the_loop(f, w):
    assert_is_the_loop(f, vectors(), w, parameters=[w])


def test_examples_of_different_sizes(w):
    examples = [whet.randn(n, 3) for n in (2, 3, 1, 3, 2)]
    assert_is_the_loop(lambda x: (x @ w).tanh().sum(0), examples, parameters=[w])
    layer = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)
    assert_is_the_loop(layer, [whet.randn(n, 4) for n in (2, 3, 2)], parameters=layer.parameters())


def test_no_examples():
    assert func.batch(lambda x: x * 2)([]) == []


def test_keywords_and_tensors_from_outside_come_back():
    x, y = vectors(2)
    assert func.batch(lambda x, *, k: x if k else x * 2)([x, y], k=True) == [x, y]


def test_numbers_of_python_tell_kinds_apart():
    one = whet.tensor([1, 2])
    made = func.batch(lambda k: one * k)([2, 2.0, True, -0.0, 0.0])
    assert [t.dtype for t in made] == [(one * k).dtype for k in (2, 2.0, True, -0.0, 0.0)]
    assert [bool(whet.signbit(t[0])) for t in made[3:]] == [True, False]


def test_the_default_type_tells_kinds_apart():
    one = whet.tensor([1, 2])
    double = func.batch(lambda k: one * k)([2.5])
    whet.set_default_dtype(whet.float32)
    assert [double[0].dtype, func.batch(lambda k: one * k)([2.5])[0].dtype] == [
        whet.float64, whet.float32]


def test_small_tensors_of_examples_are_stacked_and_large_shared_ones_are_not(monkeypatch):
    small, large = ([whet.randn(n, n) for _ in range(2)] for n in (3, 100))
    for pair, groups in (small, 1), (large, 2):
        x = whet.randn(pair[0].shape[0])
        names = launched(func.batch(lambda i, x=x, pair=pair: (x + i) @ pair[i % 2]), range(20))
        assert names.count("matmul") == groups


def test_padding_of_an_embedding_gets_no_gradient(w):
    assert_is_the_loop(lambda i: F.embedding(whet.tensor(i), w, padding_idx=1), [0, 1, 2, 1],
                       parameters=[w])
    words = whet.tensor([0, 1, 2, 1])
    made = func.vmap(lambda i: F.embedding(i, w, padding_idx=1))(words)
    g, = whet.autograd.grad(made.sum(), w)
    assert not g[1].any() and g[0].all()


# ---- numbers -------------------------------------------------------------------------------------
@pytest.mark.parametrize("f", [
    lambda x, w: (x * w[0]).sum() if (x @ w).sum() > 0 else x @ w,
    lambda x, w: (x @ w) * (x @ w).max().item(), lambda x, w: x * (x * 2).tolist()[0],
    lambda x, w: x * float((x * 3).sum()) + (x * 2).numpy()[1], lambda x, w: x * len(repr(x * 2)),
    lambda x, w: (x @ w)[x * 2 > 0] * 2, lambda x, w: (x * 2 > 0).nonzero()])
def test_python_may_ask_for_numbers(f, w):
    assert_is_the_loop(f, vectors(), w, parameters=[w])


def test_branches_and_loops_go_by_the_numbers_of_an_example(w):
    assert_is_the_loop(
        lambda x: whet.cond(x.sum() > 0, lambda a: a * 2, lambda a: a @ w, (x,)),
        vectors(), parameters=[w])
    assert_is_the_loop(
        lambda x: whet.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * 2),
                                  (whet.tensor(0), x)), vectors())


@pytest.mark.parametrize("f", [
    lambda x, w: F.dropout(x @ w), lambda x, w: x + whet.randn(3) + whet.rand_like(x),
    lambda x, w: whet.bernoulli((x @ w).sigmoid()), lambda x, w: (x * 1).normal_() @ w])
def test_random_numbers_are_those_of_the_loop(f, w):
    assert_is_the_loop(f, vectors(), w, parameters=[w])


# ---- writes --------------------------------------------------------------------------------------
def writes_views(x, w):
    y = x @ w
    y.add_(1)
    a, b = y[1:], y[1:][0]
    y.mul_(2)
    a.mul_(w[0, :2])
    b.add_(x[0])
    y.view(3, 1)[0] = x[1]
    return y, a, b


def writes_scratch(x, w):
    rows = x.new_zeros(2, 3)
    rows[0] = x
    rows[1].copy_(x @ w)
    rows.t()[2] = 1.0
    return rows.sum(0)


def writes_detached(x, w):
    y = x @ w
    z = y.detach()
    z.add_(1)
    z.view(3, 1)[0] = 7.0
    return y, z, y * 1


def writes_without_a_record(x, w):
    y = x @ w
    z = y * 2
    with whet.no_grad():
        y.mul_(3)
    return y + z


def turns_in_place(x, w):
    return (x.view(1, 3) * 2).t_().squeeze_(1) * w


def writes_a_copy(x, w):
    y = x.clone()
    y.detach().add_(1)
    return y @ w


@pytest.mark.parametrize("f", [writes_views, writes_scratch, writes_detached,
                               writes_without_a_record, turns_in_place, writes_a_copy])
def test_writes_are_those_of_the_loop(f, w):
    assert_is_the_loop(f, vectors(), w, parameters=[w])


def test_writes_to_tensors_from_outside_come_in_order():
    total = whet.zeros(3)

    def f(x):
        before = total * 1
        total.add_(x * 2)
        total[0] = (x * 2).sum()
        return before, total * 2
    xs = vectors()
    outs = [f(x) for x in xs]
    reached = total.clone()
    total.zero_()
    assert_close(func.batch(f)(xs), outs)
    assert_close(total, reached)


def test_statistics_of_a_batch_norm():
    layer = nn.BatchNorm1d(3)
    assert_is_the_loop(lambda x: layer(whet.stack([x, x * 2])), vectors(),
                       parameters=layer.parameters())


# ---- gradients inside ----------------------------------------------------------------------------
def own_gradient(x, w):
    x = x.detach().requires_grad_()
    y = (x @ w).tanh().sum()
    return whet.autograd.grad(y, x, create_graph=True)[0] * 2, y


def own_backward(x, w):
    x = (x * 2).requires_grad_()
    ((x.view(3, 1) * 3 + 1) ** 2).sum().backward()
    return x.grad @ w


@pytest.mark.parametrize("f", [
    own_gradient, own_backward, lambda x, w: func.grad(lambda y: (y @ w).tanh().sum())(x),
    lambda x, w: func.jvp(lambda y: (y @ w).tanh(), (x,), (x,)),
    lambda x, w: func.vmap(lambda row: row * x)(w),
    lambda x, w: func.hessian(lambda y: (y @ w).tanh().sum())(x),
    lambda x, w: sum(func.batch(lambda y: (y @ w).tanh())([x, x * 2])),
    lambda x, w: whet.utils.checkpoint.checkpoint(lambda y: (y @ w).tanh(), x, use_reentrant=False),
    lambda x, w: jit.trace(lambda y: (y @ w).tanh() * 2)(x)])
def test_transforms_inside(f, w):
    assert_is_the_loop(f, vectors(), w, parameters=[w])


def test_gradients_inside_are_batched():
    w = whet.randn(3, 3)
    names = launched(func.batch(func.grad(lambda x: (x @ w).tanh().sum())), vectors())
    assert names.count("matmul") == 2


@pytest.mark.parametrize("over", [
    lambda f, w: func.grad(lambda w: f(w).sum())(w), func.hessian,
    lambda f, w: func.jvp(f, (w,), (w,)), lambda f, w: func.vmap(f)(whet.stack([w, w * 2]))])
def test_transforms_outside(over, w):
    xs, w = vectors(3), w.detach()
    if over is func.hessian:
        def over(f, w):
            return func.hessian(lambda w: f(w).sum())(w)

    def looped(w):
        return whet.stack([(x @ w).tanh() for x in xs])

    def batched(w):
        return whet.stack(func.batch(lambda x: (x @ w).tanh())(xs))
    assert_close(over(batched, w), over(looped, w))


def test_a_traced_function_may_batch(w):
    xs = vectors()

    @jit.trace
    def step(w):
        return whet.stack(func.batch(lambda x: (x @ w).tanh())(xs)).sum()
    for _ in range(3):
        assert_close(step(w), whet.stack([(x @ w).tanh() for x in xs]).sum())
    assert "stack" in str(step.graph)


def test_functions_whose_backward_is_not_that_of_their_forward(w):
    assert_is_the_loop(lambda x: Wrong.apply(x @ w), vectors(), parameters=[w])
    assert_is_the_loop(lambda x: x @ Wrong.apply(w), vectors(), parameters=[w])
    assert_is_the_loop(lambda x: func.grad(lambda y: Wrong.apply(y * 2).sum())(x), vectors())


# ---- cells ---------------------------------------------------------------------------------------
def test_a_cell_is_noted_as_one_op(w):
    calls = []

    @func.cell
    def step(h, x, *, scale):
        calls.append(1)
        return {"h": (h @ w).tanh() + x * scale}

    def f(xs):
        h = whet.zeros(3)
        for x in xs:
            h = step(h, x, scale=2)["h"]
        return h
    examples = [vectors(n) for n in (2, 4, 3)]
    assert_is_the_loop(f, examples, parameters=[w])
    calls.clear()
    func.batch(f)(examples)
    assert len(calls) == 4


def test_a_cell_goes_by_its_other_arguments(w):
    step = func.cell(lambda x, k: (x @ w) * k)
    assert_is_the_loop(lambda k: step(w[0], k), [1, 2, 1, True, 1.0], parameters=[w])
    assert_is_the_loop(lambda k: step(w[0], whet.tensor(k)), [1.0, 2.0], parameters=[w])


def test_a_cell_inside_of_gradients(w):
    step = func.cell(lambda x: (x @ w).tanh())
    assert_is_the_loop(func.grad(lambda x: step(step(x)).sum()), vectors(), parameters=[w])


def test_random_numbers_of_cells_differ():
    step = func.cell(lambda x: x * 0 + whet.rand(3))
    made = whet.stack(func.batch(lambda x: step(x * 1))(vectors()))
    assert len(set(made.flatten().tolist())) == made.numel()


def test_trying_a_cell_draws_no_random_numbers():
    def drawn():
        whet.manual_seed(0)
        step = func.cell(lambda x: x + whet.rand(3))
        return func.batch(step)([whet.zeros(3)])[0], whet.rand(3)
    found = drawn()
    whet.manual_seed(0)
    assert_close(found, (whet.rand(3), whet.rand(3)))


def test_a_cell_cannot_go_by_more_than_its_arguments():
    sizes = [2]
    step = func.cell(lambda x: x[:sizes[0]] * 1)

    def f(x):
        return step(x * 1)
    assert func.batch(f)([whet.ones(3)])[0].shape == (2,)
    sizes[0] = 1
    for n in 1, 2:
        with pytest.raises(RuntimeError, match="Only a function of its"):
            func.batch(f)([whet.ones(3)] * n + [whet.zeros(3)])


def test_a_view_of_a_tensor_that_is_gone_is_not_another_ones():
    total = whet.zeros(1)

    def f(n):
        found = 0
        for i in range(n):
            found = found + whet.full((2, 2), float(i)).detach().t().sum() * 1
            total.add_(1)
        return found
    assert_is_the_loop(f, [20, 20])


def test_a_cell_cannot_go_by_numbers():
    step = func.cell(lambda x: x if x.sum() > 0 else -x)
    with pytest.raises(RuntimeError, match="depends on the numbers"):
        func.batch(lambda x: step(x * 1))(vectors())


# ---- errors --------------------------------------------------------------------------------------
def test_a_tensor_that_escapes_says_so():
    kept = []
    func.batch(lambda x: kept.append(x * 2) or x * 3)(vectors())
    for use in (lambda t: t + 1, lambda t: t.shape, lambda t: t.sum().item(), lambda t: t.tolist()):
        with pytest.raises(RuntimeError, match="func.batch is used outside"):
            use(kept[0])


def test_an_error_of_shapes_is_raised_at_the_line(w):
    with pytest.raises(RuntimeError, match="matmul: inner sizes differ"):
        func.batch(lambda x: (x * 2) @ w)([whet.ones(4)])
    assert_close(func.batch(lambda x: x @ w)([whet.ones(3)]), [whet.ones(3) @ w])


def test_an_error_of_numbers_is_raised_when_they_are_there(w):
    def f(x):
        y = whet.linalg.inv(whet.diag(x * 0))
        try:
            y.sum().item()
        except RuntimeError:
            pass
        return y
    with pytest.raises(RuntimeError, match="was not computed"):
        func.batch(f)(vectors())


def test_a_write_to_a_view_that_is_differentiated_inside_is_refused():
    def f(x):
        y = x * 2
        y[0] = 1.0
        return y.sum()
    with pytest.raises(RuntimeError, match="func.batch: .* Use the op that is not in place"):
        func.batch(func.grad(f))(vectors())


# ---- random programs -----------------------------------------------------------------------------
UNARY = [
    lambda x: x.tanh(), lambda x: x * 0.5, lambda x: x.view(3, 1).squeeze(1) + 1,
    lambda x: x.flip(0),
    lambda x: whet.cat(x.chunk(3)[::-1]), lambda x: x[1:].sum() * x, lambda x: x.softmax(0),
    lambda x: x.detach() + x, lambda x: x.expand(2, 3).t()[:, 1], lambda x: x.index_select(
        0, whet.tensor([2, 0, 0])), lambda x: x * (2 if x.sum() > 0 else 3)]
BINARY = [
    lambda x, y: x + y, lambda x, y: x * y, lambda x, y: whet.where(x > y, x, 0.5 * y),
    lambda x, y: whet.stack([x, y]).mean(0), lambda x, y: whet.outer(x, y).tanh().sum(1),
    lambda x, y: whet.cat([x[:1], y[1:]])]


def written(rng, x, y):
    """A write to what may be a view, or have some."""
    x = x.clone()
    part, other = (x, y) if rng.random() < 0.5 else (x[1:], y[:2])
    rng.choice([part.add_, part.mul_, part.copy_])(other)
    return x + part.sum()


def program(seed, parameters):
    """A function of lists of vectors, which draws what it does by the list's own numbers."""
    def run(example):
        number, xs = example
        rng = random.Random(seed * 100 + number % 3)
        values = [*xs, *parameters[1:]]
        for _ in range(rng.randrange(4, 16)):
            kind, x, y = rng.random(), rng.choice(values), rng.choice(values)
            values.append(
                rng.choice(UNARY)(x) if kind < 0.35 else rng.choice(BINARY)(x, y) if kind < 0.65
                else (x @ parameters[0]).tanh() if kind < 0.85 else written(rng, x, y))
        return {"last": values[-1], "more": tuple(rng.sample(values, 2))}
    return run


@pytest.mark.parametrize("seed", range(25))
def test_random_programs_are_the_loop(seed):
    whet.manual_seed(seed)
    parameters = [whet.randn(3, 3, requires_grad=True), whet.randn(3, requires_grad=True)]
    examples = [(i, vectors(2)) for i in range(5)]
    assert_is_the_loop(program(seed, parameters), examples, parameters=parameters)


def test_groups_are_taken_by_their_depth():
    """What is needed by calls that lie deep waits until all of its kind are there."""
    def f(n):
        x = whet.ones(3) * n
        for _ in range(n):
            x = x + 1
        return x.tanh()
    names = launched(func.batch(f), range(1, 6))
    assert names.count("tanh") == 1 and names.count("add") == 5

