"""Calls of a traced function with other sizes: equal to eager in every bit, and made of what the
recording of the first ones left."""

import numpy as np
import pytest
import whet
import whet.nn.functional as F
from whet import nn
from whet.cpu import native, tiered_compilation
from whet.jit.capture import purity
from whet.jit.program import writes_and_questions
from whet.jit.program.writes_and_questions import LARGEST_COPY
from whet.passes import chain_products

pytestmark = pytest.mark.filterwarnings("error::whet.jit.TraceWarning")
SIZES = 7, 2, 3, 8, 16, 17, 64, 1, 0


def layers(seed, make):
    whet.manual_seed(seed)
    return make()


def function(make, call):
    """A function over a model of its own, twice: to be traced, and to be called eagerly."""
    def one():
        model = layers(0, make)
        return (lambda *xs: call(model, *xs)), list(model.parameters())
    return one


def pointwise(m, x):
    return (x * 2 + 1).tanh() * x.exp() / (x.abs() + 1)


def reductions(m, x):
    return x.sum(0), x.mean(), x.mean(1, keepdim=True) - x, (x * x).sum(1).sqrt(), x.cumsum(0)


def attention(m, x):
    y = m(x).view(-1, 5, 3, 2, 4).permute(2, 0, 3, 1, 4)
    return F.scaled_dot_product_attention(y[0], y[1], y[2]).transpose(1, 2).flatten(2)


def normal(*shape):
    return lambda n: [whet.randn(n, *shape)]


CASES = {
    "pointwise": (nn.Identity, pointwise, normal(6)),
    "reductions": (nn.Identity, reductions, normal(6)),
    "softmax": (nn.Identity, lambda m, x: (x * 3).softmax(-1) @ x.t().contiguous(), normal(5)),
    "matmul": (nn.Identity, lambda m, x, y: x @ y + 1,
               lambda n: [whet.randn(n, 6), whet.randn(6, 9)]),
    "mlp": (lambda: nn.Sequential(nn.Linear(6, 9), nn.GELU(), nn.LayerNorm(9), nn.Linear(9, 4)),
            lambda m, x: m(x),
            normal(6)),
    "conv": (lambda: nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.
                                   Flatten(), nn.Linear(36, 5)), lambda m, x: m(x),
             normal(3, 6, 6)),
    "attention": (lambda: nn.Linear(8, 24), attention, normal(5, 8)),
    "encoder": (lambda: nn.TransformerEncoderLayer(8, 2, 12, dropout=0.0, batch_first=True),
                lambda m, x: m(x),
                normal(5, 8)),
    "embedding": (lambda: nn.Embedding(11, 6), lambda m, i: m(i).mean(1),
                  lambda n: [whet.randint(0, 11, (n, 5))]),
    "lstm": (lambda: nn.LSTMCell(5, 6), lambda m, x, h, c: m(x, (h, c)),
             lambda n: [whet.randn(n, 5), whet.randn(n, 6), whet.randn(n, 6)]),
    "length": (lambda: nn.Linear(8, 8), lambda m, x:
               (m(x) @ m(x).transpose(1, 2)).softmax(-1).sum(2), lambda n: [whet.randn(3, n, 8)]), }


def same(a, b):
    """To the bit, strides and gradients included."""
    assert type(a) is type(b)
    if isinstance(a, tuple | list):
        assert len(a) == len(b)
        for x, y in zip(a, b):
            same(x, y)
    elif a is not None:
        assert ((a.shape, a.stride(), a.dtype,
                 a.requires_grad) == (b.shape, b.stride(), b.dtype, b.requires_grad))
        assert a.detach().numpy().tobytes() == b.detach().numpy().tobytes()


def total(out):
    """A number to differentiate."""
    outs = [y for y in (out if isinstance(out, tuple) else (out,)) if y.requires_grad]
    return sum((y * y).sum() for y in outs) if outs else None


def recordings(f):
    return [r for rs in f._table.values() for r in rs]


def on_its_own(f):
    """How many recordings were not made like another."""
    plans = [r.program.plan for r in recordings(f)]
    return len({id(p) for p in plans})


@pytest.mark.parametrize("sizes, most", [(SIZES, 3), (SIZES[::-1], 6)])
@pytest.mark.parametrize("name", CASES)
def test_each_size_gives_what_eager_gives(name, sizes, most):
    make, call, inputs = CASES[name]
    (traced, mine), (eager, theirs) = function(make, call)(), function(make, call)()
    f = whet.jit.trace(traced)
    whet.manual_seed(1)
    for n in sizes:
        for _ in range(4):
            xs = inputs(n)
            ours, others = ([
                x.clone().requires_grad_() if x.dtype.is_floating_point else x for x in xs]
                            for _ in range(2))
            got, want = f(*ours), eager(*others)
            same(got, want)
            if total(want) is not None:
                total(got).backward()
                total(want).backward()
            same([x.grad for x in (*ours, *mine)], [x.grad for x in (*others, *theirs)])
    assert len(recordings(f)) <= len(SIZES) + 1          # once there were no gradients yet
    # sizes 0 and 1 have ways of their own; so have others that equal one of something else, until
    # there is one that does not
    assert on_its_own(f) <= most and all(r.recorded.size_read_at is None for r in recordings(f))


def step_of(seed, decide=lambda loss, out, y: None):
    whet.manual_seed(seed)
    model = nn.Sequential(nn.Linear(6, 9), nn.BatchNorm1d(9), nn.ReLU(), nn.Linear(9, 4))
    optimizer = whet.optim.Adam(model.parameters(), 1e-2)

    def step(x, y):
        optimizer.zero_grad()
        out = model(x)
        loss = F.cross_entropy(out, y)
        loss.backward()
        optimizer.step()
        decide(loss, out, y)
        return loss
    return step, model


def right(loss, out, y):
    """Something is decided by what the step has made."""
    return "good" if (out.argmax(1) == y).float().mean() <= 1 else "impossible"


@pytest.mark.parametrize("decide, copied", [
    (lambda *_: None, LARGEST_COPY), (right, LARGEST_COPY), (right, 0)])
def test_training_steps_over_sizes(decide, copied, monkeypatch):
    """Also where what is decided comes before the writes to the statistics of a norm."""
    monkeypatch.setattr(writes_and_questions, "LARGEST_COPY", copied)
    (traced, mine), (eager, theirs) = step_of(3, decide), step_of(3, decide)
    f = whet.jit.trace(traced)
    whet.manual_seed(4)
    for n in (5, 3, 7, 8, 16, 17, 64, 5, 12, 33):
        for _ in range(3):
            x, y = whet.randn(n, 6), whet.randint(0, 4, (n,))
            same(f(x, y), eager(x, y))
            same(list(mine.state_dict().values()), list(theirs.state_dict().values()))
    assert len(recordings(f)) == 9 and on_its_own(f) <= 3


def test_a_new_size_compiles_nothing_and_is_not_watched(monkeypatch):
    f = whet.jit.trace(lambda x: (x @ x.t()).softmax(-1).sum(0) * 2)
    # the last two, and the new ones, take as many vectors: of 8 lanes, or of 16
    for n in (5, 9, 18, 20):
        f(whet.randn(n, 6))
    # what was put off, here or by the tests before, is not compiled behind this one's back
    tiered_compilation.compile_well()
    compiled, watched = [], []
    monkeypatch.setattr(native, "on_compile", [compiled.append])
    monkeypatch.setattr(purity.Watch, "__enter__", lambda self: watched.append(self))
    for n in (21, 22):
        f(whet.randn(n, 6))
    assert len(recordings(f)) == 4 and on_its_own(f) == 1 and not compiled and not watched


def test_loops_that_are_rolled_are_not_watched_either(monkeypatch):
    f = whet.jit.trace(steps)
    f(whet.randn(5, 3))
    watched = []
    monkeypatch.setattr(purity.Watch, "__enter__", lambda self: watched.append(self))
    for n in (7, 9):
        f(whet.randn(n, 3))
    assert len(recordings(f)) == 3 and not watched


def test_a_recording_of_another_world_takes_over():
    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.w, self.name = nn.Parameter(whet.ones(3)), "a"

        def forward(self, x):
            return (x * self.w).sum(1) if self.name else x
    m = Scaled()
    f = whet.jit.trace(m)
    f(whet.ones(4, 3))
    m.name = "b"
    f(whet.ones(4, 3))
    f(whet.ones(5, 3))
    first, last = f._table.values()
    assert len(first) == 2 and last[0].world is first[0].world and on_its_own(f) == 1


@pytest.mark.parametrize("dynamic", [None, False])
def test_dynamic_false_records_each_size(dynamic):
    f = whet.jit.trace(lambda x: (x * 2).sum(1), dynamic=dynamic)
    for n in (3, 4, 5):
        f(whet.randn(n, 7))
    assert on_its_own(f) == (3 if dynamic is False else 1)


# ---- where a size decides ------------------------------------------------------------------------
def branch(x):
    return x * 2 if x.shape[0] > 4 else x + 1


def loop(x):
    for i in range(x.shape[0]):
        x = x + x[i]
    return x


def rows(x):
    y = whet.zeros(3)
    for row in x:
        y = y + row
    return y


def number(x):
    return x.sum(0) * (1 / len(x))


def shaped(x):
    b, h = x.shape
    return x.view(h, b).t().mul(2).reshape(b * h // 3, 3)


def narrow(x):
    return x[:8] * 2, x[-2:] + 1


def caught(x):
    try:
        return x.view(4, -1) * 2
    except RuntimeError:
        return x * 3


def text(x):
    return x * (2 if "3, 3" in f"{tuple(x.stride())}{list(x.size())}" else 5)


def halves(x):
    a, *b = x.split(4)
    return a * 2, [y + 1 for y in b]


def joined(x):
    return whet.cat([x, whet.arange(x.shape[0] * 3, dtype=whet.float32).view(-1, 3)], 1).mean(0)


def against(x):
    return x + whet.ones(8, 1), x.expand_as(x) if x.is_contiguous() else x


def masked(x):
    n = x.size(0)
    return (x @ x.t()).masked_fill(whet.ones(n, n).triu(1) > 0, -np.inf).softmax(-1)


def merged(x):
    return (x * 2).exp() + (x * x.shape[0]).tanh()


def filled(x):
    return x + whet.full((3,), 2.0) - (x * whet.full((3,), float(x.shape[0]))).exp()


def nothing(x):
    return (x * (x.shape[0] - 4)).exp(), (x - (x.shape[0] - 5)).relu()


def computed(x):
    n = x.shape[0]
    return x + whet.full((n,), 1.5).cumsum(0).unsqueeze(1) / n, x * (whet.ones(3) / n)


def in_place(x):
    y = x * 2
    y += x.shape[0]
    y[0] = 5.0
    z = whet.zeros(x.shape[0], 3)
    z[1:] = y[:-1]
    z.mul_(1 / len(x))
    return y, z


def second_half(x):
    n = x.shape[0]
    return (x[n // 2:] + 1, x[n - 2:] * 2 if n > 1 else x, x.flip(0)[::2].contiguous(),
            x[max(n - 4, 0)] * 3)


def unrolled(x):
    h = whet.zeros(x.shape[1])
    for i in range(40):
        h = (h * 0.5 + x[i % len(x)] * 2).tanh()
    return h, h.sum() / len(x)


W = whet.tensor([[0.5, 0.25, 0.0], [0.0, 0.5, -1.0], [1.0, 0.0, 0.5]])


def steps(x):
    h = x * 0
    for _ in range(40):
        h = (h @ W + x).tanh()
    return h


def turned(x):
    y = x.unsqueeze(1).expand(-1, 2, 3).contiguous().permute(1, 2, 0)
    return (y * 2 + 1).exp(), (x[:, :2].t() * 2 - 1).tanh(), y.transpose(0, 1)[:, :, ::2].relu() + 1


@pytest.mark.parametrize("sizes", [(6, 5, 4, 3, 8, 9, 12, 1, 16, 2), (2, 3, 4, 8, 1), (5, 6, 9)])
@pytest.mark.parametrize("fn", [
    branch, loop, rows, number, shaped, narrow, caught, text, halves, joined, masked, merged,
    filled, nothing, computed, in_place, second_half, turned, unrolled, steps])
def test_a_size_decides(fn, sizes):
    f = whet.jit.trace(fn)
    for n in sizes:
        for _ in range(3):
            x = whet.randn(n, 3)
            same(f(x), fn(x))


def test_recurrent_layers_and_random_numbers_over_sizes():
    whet.manual_seed(0)
    lstm, drop = nn.LSTM(3, 5, batch_first=True), nn.Dropout(0.4)
    f = whet.jit.trace(lambda x: drop(lstm(x)[0]).mean(2))
    for n, t in ((4, 20), (6, 20), (7, 20), (9, 20), (6, 24), (4, 30)):
        for k in range(3):
            x = whet.randn(n, t, 3)
            whet.manual_seed(k)
            got = f(x)
            whet.manual_seed(k)
            same(got, f.fn(x))


def test_written_arguments_and_state_over_sizes():
    norm, other = nn.BatchNorm1d(3), nn.BatchNorm1d(3)

    def fill(x, out, norm):
        out.copy_(norm(x).detach())
        out[0] += 1
        return out.sum(1)
    f = whet.jit.trace(fill)
    for n in (4, 5, 9, 12, 2):
        for _ in range(3):
            x, a, b = whet.randn(n, 3), whet.zeros(n, 3), whet.zeros(n, 3)
            same((f(x, a, norm), a), (fill(x, b, other), b))
            same(list(norm.state_dict().values()), list(other.state_dict().values()))


def test_an_error_of_one_size_is_eagers():
    f = whet.jit.trace(lambda x: x + whet.ones(8, 1) if True else x)
    for n in (8, 1, 8, 1):
        same(f(whet.ones(n, 3)), whet.ones(n, 3) + whet.ones(8, 1))
    for _ in range(3):
        with pytest.raises(RuntimeError, match="must match the size"):
            f(whet.ones(5, 3))


class Quiet:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        return True


def suppressed(x):
    with Quiet():
        x = x.view(4, -1)
    return x * 2


def told(fn):
    f = whet.jit.trace(fn)
    f(whet.randn(6, 3))
    (r,) = recordings(f)
    return r.recorded.read_at is not None


@pytest.mark.parametrize("fn", [
    branch, loop, number, shaped, caught, text, joined, masked, lambda x: x * x.numel(),
    lambda x: x * x.nbytes, lambda x: x if x.is_contiguous() else x * 2, lambda x: x * x.stride(0),
    lambda x: x * x._array.size, suppressed, lambda x: x * np.size(x), lambda x: x * 2 if
    (x * 2).grad_fn is None else x, lambda x: [x * 2 for _ in range(x.size()[1])]])
def test_code_that_asks_for_a_size_is_known(fn):
    assert told(fn)


@pytest.mark.parametrize("fn", [
    narrow, halves, lambda x: F.layer_norm(x, (3,)), lambda x: x.flatten(0).softmax(-1).view_as(x),
    lambda x: x * x.ndim, lambda x: whet.cat([x, x]).mean(0)])
def test_code_that_asks_for_none_is_known(fn):
    assert not told(fn)


def test_what_only_one_size_does_is_seen():
    seen = []

    def fn(x):
        if len(x) > 10:
            seen.append(len(seen))
        return x * 2
    f = whet.jit.trace(fn)
    for n in (4, 5, 12, 12, 6, 13):
        f(whet.ones(n))
    assert seen == [0, 1, 2]


def test_what_is_printed_at_one_size_is_printed(capsys):
    def fn(x):
        if len(x) > 10:
            print("long")
        return x * 2
    f = whet.jit.trace(fn)
    for n in (4, 5, 12, 12, 6):
        f(whet.ones(n))
    assert capsys.readouterr().out == "long\n" * 2


def test_what_happens_besides_is_seen_where_an_error_decides(capsys):
    def fn(x):
        y = x * 2
        try:
            whet.broadcast_tensors(x, whet.ones(4, 1))
        except RuntimeError:
            return y
        print("fits")
        return y
    f = whet.jit.trace(fn)
    for n in (5, 6, 4, 7, 4):
        f(whet.ones(n, 3))
    assert capsys.readouterr().out == "fits\n" * 2


def test_sizes_that_become_equal_are_not_confused():
    w = whet.randn(8, 8)
    f = whet.jit.trace(lambda x, y: (x @ w + y.sum(), y[:8] * 2, whet.cat([x, y.expand(3, 8)[:2]])))
    for n, k in ((5, 8), (6, 8), (8, 8), (3, 8), (2, 8)):
        for _ in range(3):
            x, y = whet.randn(n, 8), whet.randn(k)
            same(f(x, y), f.fn(x, y))


# ---- dimensions by name --------------------------------------------------------------------------
def test_dims_say_what_differs():
    batch = whet.jit.Dim("batch", min=2, max=64)
    f = whet.jit.trace(lambda x: x.sum(1), dynamic={"x": {0: batch}})
    for n in range(2, 30):                   # more than are compiled at their first call otherwise
        f(whet.randn(n, 100))
    assert len(recordings(f)) == 28 and on_its_own(f) == 1
    f(whet.randn(2, 101))
    f(whet.randn(2, 101))
    assert on_its_own(f) == 2
    f(whet.randn(65, 100))
    f(whet.randn(65, 100))
    assert on_its_own(f) == 3
    assert f.explain(data=True)["sizes"]["x[0]"]["dim"] == "batch"
    assert "batch" in f.explain(full=True)


def test_bad_dims():
    for bad in (dict(min=-1), dict(min=3, max=2), dict(max=1.5)):
        with pytest.raises(ValueError, match="min"):
            whet.jit.Dim("n", **bad)
    with pytest.raises(ValueError, match="identifier"):
        whet.jit.Dim("a b")
    with pytest.raises(ValueError, match="no argument"):
        whet.jit.trace(lambda x: x, dynamic={"y": {0: whet.jit.Dim("n")}})
    with pytest.raises(TypeError, match="dict"):
        whet.jit.trace(lambda x: x, dynamic=3)
    with pytest.raises(TypeError, match="expected dynamic dimensions"):
        whet.jit.trace(lambda x: x, dynamic={"x": {0: 5}})


def test_explain_says_what_is_assumed_of_sizes():
    f = whet.jit.trace(branch)
    for n in (6, 7):
        f(whet.randn(n, 3))
    said = f.explain(full=True)
    assert "sizes of x[0]: 6, 7" in said and "asks for a size at" in said
    g = whet.jit.trace(lambda x: x * 2)
    for n in (6, 7):
        g(whet.randn(n, 3))
    assert "made like recording 1" in g.explain(full=True)


@pytest.mark.parametrize("c", [0.125, 0.3])
def test_constants_may_be_equal_at_one_size_alone(c):
    def fn(x):
        return x * (whet.tensor(2.0) / x.shape[0]) + x.exp() * (whet.tensor(c) * 4)
    f = whet.jit.trace(fn)
    for n in (4, 9, 5, 7):
        for _ in range(3):
            x = whet.randn(n, 3)
            same(f(x), fn(x))
    # 2 / 4 is 0.125 * 4
    assert len(recordings(f)) == 4 and on_its_own(f) == (2 if c == 0.125 else 1)


def test_what_prints_is_watched_at_each_size(capsys):
    def fn(x):
        y = (x * 2).sum()
        print("sum", y)
        return x + y
    f = whet.jit.trace(fn)
    for n in (5, 3, 7):
        for _ in range(3):
            x = whet.randn(n, 3)
            same(f(x), fn(x))
    lines = capsys.readouterr().out.splitlines()
    assert (len(lines) == 18 and lines[::2] == lines[1::2] and len(recordings(f)) == 3
            and all(r.replay.acts for r in recordings(f)))


def test_rewrites_choose_for_each_size():
    a, b = whet.randn(6, 40), whet.randn(40, 6)
    f = whet.jit.trace(lambda x: x @ a @ b, rewrites=["reassociate"])
    for n in (2, 64, 2, 64):
        f(whet.randn(n, 6))
    assert on_its_own(f) == len(recordings(f)) == 2
    assert sorted(len(r.program.notes) for r in recordings(f)) == [0, 1]


def test_products_are_chained_where_much_lies_between(monkeypatch):
    monkeypatch.setattr(chain_products, "LEAST", 1 << 12)

    def fn(q, k):
        return (q @ k.swapaxes(-1, -2)).softmax(-1) @ k
    f = whet.jit.trace(fn)
    for n in (10, 16, 40, 50, 9):
        for _ in range(3):
            q, k = whet.randn(n, 8), whet.randn(n + 2, 8)
            same(f(q, k), fn(q, k))
    chained = [any(n.kind == "chain" for n in r.program.nodes) for r in recordings(f)]
    assert sorted(chained) == [False, False, False, True, True] and on_its_own(f) == 3


def test_much_that_lies_between_no_products_makes_no_chain(monkeypatch):
    monkeypatch.setattr(chain_products, "LEAST", 1 << 12)

    def fn(q, k):
        scores = q @ k.swapaxes(-1, -2)
        return scores, scores.softmax(-1) @ k
    f = whet.jit.trace(fn)
    for n in (10, 16, 40, 50, 9):
        for _ in range(3):
            q, k = whet.randn(n, 8), whet.randn(n + 2, 8)
            same(f(q, k), fn(q, k))
    assert on_its_own(f) == 1


@pytest.mark.parametrize("f", [
    lambda x, i: F.one_hot(i, x.shape[-1]),
    lambda x, i: F.cross_entropy(x, i, ignore_index=x.shape[-1] - 1),
    lambda x, i: F.nll_loss(x, i, ignore_index=x.shape[0] - 4)])
def test_a_question_goes_by_a_size(f):
    """The size is a guard: a run that is compared asks the same."""
    traced = whet.jit.trace(f, verify="always")
    for n in (4, 4, 4, 6, 6, 4):
        x, i = whet.randn(n, n), whet.arange(n) % 3
        assert traced(x, i).tolist() == f(x, i).tolist()
    assert traced.explain(data=True)["refused"] is None and traced._why is None
    assert traced.explain(data=True)["calls"]["checked"] >= 3
