"""The passes over recorded nodes: each can be left out, and what each does and leaves alone."""
import random

import pytest
import whet
from whet import jit
from whet.cpu import native
from whet.nn import functional as F
from whet.passes import pipeline

from tests.together import bits, traced


def several(x, y):
    """Something for every pass."""
    z = (x * 2 + y).tanh()
    x.copy_(z * 0.5)
    return (z * y).sum(-1), z.mean(0)


def test_a_pass_changes_nothing_that_it_is_given(monkeypatch):
    """Neither the nodes nor what is known of their values: it makes a listing of its own."""
    changed = set()

    def unrolled(x, y):
        for _ in range(40):
            x = (x @ y * 0.5 + 1).tanh().sin()
        z = x @ y
        z.add_(1)
        return z

    def updated(x, y):
        x.mul_(0.9).add_(y)

    def watched(name, real):
        def one(g):
            before = [n.facts() for n in g.nodes], dict(g.root), len(g.arrays), set(g.visible)
            made = real(g)
            assert ([n.facts() for n in g.nodes], dict(g.root), len(g.arrays), set(g.visible)) == before, name
            changed.update([name] if made.nodes != g.nodes else [])
            return made
        return one
    monkeypatch.setattr(pipeline, "PASSES", [(name, watched(name, real)) for name, real in pipeline.PASSES])
    for f in several, unrolled, updated:
        jit.trace(f)(whet.randn(8, 8), whet.randn(8, 8))
    assert changed >= {"outright", "writes", "fuse", "epilogues", "write_through", "roll"}


@pytest.mark.parametrize("name", [name for name, _ in pipeline.PASSES])
def test_each_pass_can_be_left_out(name):
    x, y = whet.randn(6, 40), whet.randn(6, 40)
    runs = []
    for left_out in (), (name,), tuple(n for n, _ in pipeline.PASSES):
        f, xs = jit.trace(several, verify="off"), [x.clone() for _ in range(3)]
        with pipeline.without(*left_out):
            runs.append([[bits(r) for r in (*f(a, y), a)] for a in xs])
        assert f.explain(data=True)["paths"][0]["calls"]
    assert runs[0] == runs[1] == runs[2]
    assert [n for n, _ in pipeline.PASSES].count(name) == 1


def test_a_pass_that_is_not_there_cannot_be_left_out():
    with pytest.raises(ValueError, match="no pass is called melt"), pipeline.without("melt"):
        pass


# ---- layouts -------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("fn", [lambda x: (x.permute(0, 3, 1, 2) * 2 + 1).tanh(), lambda x: x.transpose(1, 2).to(whet.float64) / 3 - 1,
                                lambda x: F.silu(x.contiguous(memory_format=whet.channels_last) + 1) * 2])
def test_a_chain_in_another_order_of_memory_is_one_kernel(fn):
    path = graph_of(fn, whet.randn(2, 5, 6, 7))
    assert path["graph"].count("= fused(") == 1 and not path["unfused"]


# ---- rows ----------------------------------------------------------------------------------------------------------------
compiled = pytest.mark.skipif(not native.enabled(), reason="without machine code every step is Python's")


def graph_of(fn, *args, calls=3):
    """The traced function's graph, after calls that were compared with eager's."""
    f = jit.trace(fn, verify="off")
    for k in range(calls):
        xs = [x if k < 2 or not x.is_floating_point() or not x.numel() else x + k for x in args]
        got, want = f(*[x.clone(memory_format=whet.preserve_format) for x in xs]), fn(*xs)
        for g, w in zip(got if type(got) is tuple else (got,), want if type(want) is tuple else (want,), strict=True):
            assert bits(g) == bits(w)
    path, = f.explain(data=True)["paths"]
    assert path["calls"]
    return path


def softmax(x):
    e = (x - x.amax(-1, keepdim=True)).exp()
    return e / e.sum(-1, keepdim=True)


def layer_norm(x, w, b):
    m = x.mean(-1, keepdim=True)
    v = ((x - m) ** 2).mean(-1, keepdim=True)
    return (x - m) / (v + 1e-5).sqrt() * w + b


def attention_scores(x, mask):
    return F.softmax(x * 0.125 + mask, -1)


def several_results(x):
    m = x.mean(-1, keepdim=True)
    c = x - m
    return c * 2, m, (c * c).sum(-1), c.abs().amax(-1), x.argmax(-1)


@compiled
@pytest.mark.parametrize("fn, shapes", [
    (softmax, [(6, 50)]), (softmax, [(2, 3, 50)]), (softmax, [(40, 7)]), (softmax, [(5000,)]), (softmax, [(2, 9000)]),
    (lambda x: x - x.amax(1, keepdim=True) - (x - x.amax(1, keepdim=True)).exp().sum(1, keepdim=True).log(), [(6, 50)]),
    (layer_norm, [(6, 50), (50,), (50,)]), (layer_norm, [(2, 3, 50), (50,), (1,)]),
    (lambda x: x / (x * x).sum(-1).sqrt()[:, None], [(6, 50)]),
    (lambda x: x / (x * x).sum(-1).sqrt().unsqueeze(-1).expand(6, 50), [(6, 50)]),
    (lambda x, y: (x * y).sum(-1) / ((x * x).sum(-1).sqrt() * (y * y).sum(-1).sqrt()), [(6, 50), (6, 50)]),
    (lambda x: (x - x.mean((1, 2), keepdim=True)).square().mean((1, 2)), [(6, 5, 10)]),
    (lambda x: (x - x.mean(1, keepdim=True)) * x.std(1, keepdim=True), [(6, 50, 4)]),
    (lambda x: (x.mean(0), (x * x).mean(0) - x.mean(0) ** 2), [(50, 40)]),
    (lambda x: x / (x * x).sum().sqrt(), [(6, 50)]),
    (lambda x, s: ((x * s) - (x * s).mean(-1, keepdim=True)).relu(), [(6, 50), ()]),
    (lambda x, r: (x * r).sum(-1, keepdim=True) * r + x, [(6, 50), (6, 1)]),
    (attention_scores, [(2, 6, 50), (6, 50)]), (attention_scores, [(2, 6, 50), (2, 1, 50)]),
    (lambda x, w, b: F.gelu(F.layer_norm(x, (50,), w, b)) + x, [(6, 50), (50,), (50,)]),
    (lambda x: F.log_softmax(x * 2, -1).exp(), [(6, 50)]),
    (several_results, [(6, 50)]), (several_results, [(40, 5)]),
])
def test_rows_are_one_kernel(fn, shapes):
    whet.manual_seed(3)
    path = graph_of(fn, *[whet.randn(s) for s in shapes])
    assert path["launches"] == path["after"] == 1 and not path["python"], path["graph"]


@compiled
@pytest.mark.parametrize("dtype", [whet.float16, whet.bfloat16, whet.float64])
def test_rows_of_other_types(dtype):
    assert graph_of(softmax, whet.randn(6, 50).to(dtype))["launches"] == 1
    assert graph_of(lambda x: (x.sum(-1), x.amax(-1) - x.amin(-1), x.double().mean(-1)), whet.randn(6, 50).to(dtype))["launches"] == 1


@compiled
def test_rows_of_whole_numbers_and_truth():
    x = whet.randint(-5, 6, (6, 50))
    assert graph_of(lambda x: (x - x.amax(-1, keepdim=True)).sum(-1) + (x > 2).sum(-1), x)["launches"] == 1
    assert graph_of(lambda x: ((x > 1) & (x > x.float().mean(-1, keepdim=True))).any(-1), x)["launches"] == 1


@compiled
def test_special_numbers_in_rows():
    x = whet.randn(8, 50)
    for i, v in enumerate((float("nan"), float("inf"), -float("inf"), -0.0, 1e-42)):
        x[i, 3 * i] = v
    x[5], x[6] = float("-inf"), -0.0
    for fn in softmax, several_results, lambda x: x.sum(-1, keepdim=True) - x:
        graph_of(fn, x, calls=2)


def test_the_text_of_rows():
    f = jit.trace(softmax)
    for _ in range(2):
        f(whet.randn(4, 5))
    assert list(map(str, f.graph.nodes)) == ["%5 = rows(%0, axes=(1,)){amax; sub; exp; sum; div}"]


@compiled
def test_what_is_kept_for_the_way_back_is_stored():
    x, w = whet.randn(6, 50), whet.randn(50, requires_grad=True)

    def step(x):
        w.grad = None
        loss = (softmax(x * w) * x).sum()
        loss.backward()
        return loss.detach()
    f = jit.trace(step)
    for _ in range(3):
        want, grad = step(x), bits(w.grad)
        assert bits(f(x)) == bits(want) and bits(w.grad) == grad
    path, = f.explain(data=True)["paths"]
    assert path["calls"] and path["launches"] <= 6 and path["nodes"] > 20


# what must be left alone
@compiled
def test_rows_are_not_joined_over_a_write():
    def f(x, y):
        m = y.amax(-1, keepdim=True)
        x.add_(m)
        return x - y.sum(-1, keepdim=True) + m, y.sub_(1).sum(-1)

    def run(f):
        a, b = x.clone(), y.clone()
        return [bits(r) for r in (*f(a, b), a, b)]
    x, y, traced = whet.randn(6, 50), whet.randn(6, 50), jit.trace(f, verify="off")
    for _ in range(3):
        assert run(traced) == run(f)


@compiled
def test_a_value_that_is_wanted_in_between_keeps_rows_apart():
    def f(x, w):
        m = x.amax(-1, keepdim=True)
        return x - m + (m.T @ w)
    path = graph_of(f, whet.randn(6, 50), whet.randn(6, 50))
    assert "rows" not in path["graph"]


@compiled
@pytest.mark.parametrize("fn, shape", [
    (lambda x: x.sum(0).sum(), (6, 50)),                                     # other axes
    (lambda x: x.reshape(50, 6) + x.sum(1).sum(), (6, 50)),                   # a reduction of what another left
    (lambda x: x.sum(-1, keepdim=True).T + x.T.contiguous(), (6, 50)),        # a view that moves elements
    (lambda x: x.sum(0, keepdim=True).expand(6, 6) + x, (6, 6)),              # columns' sums are columns', not rows'
    (lambda x: (x + x.sum(-1), x.sum(-1)), (6, 6)),                           # a row of sums along the rows
    (lambda x: x.cumsum(0) - x.amax(1, keepdim=True), (6, 50)),
    (lambda x: x - x.sum(-1, keepdim=True), (6, 1)),                          # rows of one
    (lambda x: x - x.sum(-1, keepdim=True), (6, 0)),
    (lambda x: x.to(whet.complex64) - x.sum(-1, keepdim=True), (6, 50)),
    (lambda x: x.to(whet.complex64).sum(-1) * 2, (6, 50)),
    (lambda x: (x[:, ::2] * 2).sum(-1), (6, 50)),                             # strides
    (lambda x: (x.mT - x.mT.amax(-1, keepdim=True)).exp(), (6, 50)),
    (lambda x: (x.mT * 2).sum(-1) + x[0, :1], (6, 50)),
    (lambda x: (x.permute(2, 0, 1) - x.mean(1).mT[:, :, None]).sum(-1), (6, 5, 50)),
])
def test_rows_that_are_more_than_one(fn, shape):
    graph_of(fn, whet.randn(shape))


def random_rows(seed):
    """A function of reductions and pointwise operations, and its arguments."""
    r = random.Random(seed)
    shape = r.choice([(6, 50), (50, 6), (3, 4, 33), (4, 40, 5), (3, 5000), (2, 2, 3, 9), (70,), (300, 3)])
    axes = r.choice([(len(shape) - 1,)] * 4 + [(0,), tuple(range(len(shape))), tuple(range(1, len(shape)))])
    kept = tuple(1 if a in axes else n for a, n in enumerate(shape))
    dtype = r.choice([whet.float32] * 5 + [whet.float64, whet.float16, whet.bfloat16, whet.int64])
    args = [whet.randn(s).mul(3).to(dtype) for s in (shape, shape, kept, shape[-1:], ())]
    if r.random() < 0.2:
        args[1] = args[1].mT.contiguous().mT if len(shape) > 1 else args[1][::2].repeat(2)
    if r.random() < 0.2 and dtype.is_floating_point:
        args[0].reshape(-1)[r.randrange(5)] = r.choice([float("nan"), float("inf"), -float("inf"), -0.0])
    lines, full, row = [], ["a", "b"], ["c"]
    one = ["({x}).exp()", "({x}).tanh()", "{x} * 0.5", "({x}).abs()", "-({x})", "({x}).square()", "{x} + s", "{x} * v", "({x}).relu()", "{x} - 2"]
    for k in range(r.randint(3, 9)):
        name, x, y, z = f"v{k}", r.choice(full), r.choice(full), r.choice(row)
        what = r.random()
        if what < 0.35:
            keep = r.random() < 0.6
            lines.append(f"{name} = ({x}).{r.choice(['sum', 'mean', 'amax', 'amin', 'sum', 'sum'])}({axes}, keepdim={keep})"
                         + ("" if keep else f".reshape({kept})"))
            row.append(name)
        elif what < 0.5:
            lines.append(f"{name} = {z} {r.choice('+-*')} {r.choice(row)}" if r.random() < 0.5 else f"{name} = ({z}).abs() + 1")
            row.append(name)
        elif what < 0.75:
            lines.append(f"{name} = {x} {r.choice('+-*/')} {r.choice([y, z, f'{z}.expand({shape})'])}")
            full.append(name)
        else:
            lines.append(f"{name} = {r.choice(one).format(x=x)}")
            full.append(name)
    made = [q for q in full + row if q[0] == "v" and q[1:].isdigit()]
    returned = sorted({made[-1], *r.sample(made, r.randint(1, len(made)))})
    if dtype is whet.int64:
        lines = [line.replace(".mean(", ".sum(") for line in lines]
    text = "\n    ".join(["def f(a, b, c, v, s):", *lines, f"return {', '.join(returned)},"])
    scope = {}
    exec(text, scope)
    return scope["f"], args, text


@pytest.mark.parametrize("part", range(4))
def test_random_rows(part):
    together = 0
    for seed in range(part * 1000, part * 1000 + 60):
        fn, args, text = random_rows(seed)
        f = jit.trace(fn, verify="off")
        try:
            want = [bits(t) for t in fn(*args)]
        except (RuntimeError, NotImplementedError):
            continue
        for _ in range(3):
            got = [bits(t) for t in f(*args)]
            assert [g[:2] for g in got] == [w[:2] for w in want], text
            wrong = [k for k, (g, w) in enumerate(zip(got, want)) if g != w]
            assert not wrong, f"seed {seed}, results {wrong}:\n{text}\n{f.graph}"
        together += "rows(" in str(f.graph)
    assert together > 30


@compiled
@pytest.mark.parametrize("fn, shape", [
    (lambda x: x.mean(), (700, 1000)), (lambda x: (x * 2).square().sum(), (700, 1000)), (lambda x: x.amax(), (700, 1000)),
    (lambda x: (x - x.mean()) / (x.square().mean() + 1).sqrt(), (700, 1000)), (lambda x: (x * 0.5).sum(0), (20000, 40)),
    (lambda x: x - x.mean(1, keepdim=True), (2, 400000)),
])
def test_long_rows_are_shared_out_without_python(fn, shape):
    path = graph_of(fn, whet.randn(shape))
    assert not path["python"] and path["launches"] > 1, path["graph"]


@compiled
def test_positions_in_long_rows_stay_with_python():
    path = graph_of(lambda x: (x * 2).argmax(), whet.randn(700, 1000))
    assert len(path["python"]) == 1


def differences(x, y, g):
    d = (x[:, None] - y) * g[:, :, None]
    return d.sum(1), (d * d).sum(0)


def test_what_several_reductions_read_is_computed_by_each():
    """Where it is large, and made of little: then it is nowhere stored."""
    x, y, g = whet.randn(150, 16), whet.randn(130, 16), whet.randn(150, 130)
    path = graph_of(differences, x, y, g)
    assert path["graph"].count("= rows(") == 2 and path["launches"] == 2 and "f32[150,130,16]" not in path["graph"].split("rows(")[0]
    f = jit.trace(differences)
    for n in (150, 140, 150, 30, 200):
        for _ in range(2):
            got, want = f(x[:n], y, g[:n]), differences(x[:n], y, g[:n])
            assert [bits(a) for a in got] == [bits(a) for a in want]


@compiled
@pytest.mark.parametrize("fn", [
    lambda x, y, g: (*differences(x, y, g), x[:, None] - y),                  # somebody wants it
    lambda x, y, g: differences(x[:8], y[:8], g[:8, :8]),                     # it stays in the cache
    lambda x, y, g: (lambda d: (d.sum(1), d.sum(0), d.cumsum(0)))((x[:, None] - y) * g[:, :, None]),
    lambda x, y, g: (lambda d: (d.sum(1), d.sum(0)))((x[:, None] - y) * whet.ones(150, 130, 16).cumsum(0)),       # as much is read
    lambda x, y, g: (lambda d: (d.sum(1), x.mul_(2), d.sum(0)))(x[:, None] - y),                                  # it is another by then
])
def test_what_is_not_computed_again(fn):
    path = graph_of(fn, whet.randn(150, 16), whet.randn(130, 16), whet.randn(150, 130))
    assert "fused(" in path["graph"].replace("rows(", "") or "= sub(" in path["graph"]


def standardised(x):
    c = x - x.mean(0)
    return c / ((c * c).mean(0).sqrt() + 1e-6)


@compiled
@pytest.mark.parametrize("fn, shape, groups", [
    (standardised, (16384, 64), 1), (standardised, (5000, 200), 1), (standardised, (300, 3), 1),
    (lambda x: ((x - x.mean(0)) ** 2).mean(0), (1000, 2000), 1),              # nothing is stored on the way
    (standardised, (1000, 2000), 0),                                          # lines so long that a column's numbers are far apart
    (standardised, (200000, 3), 0),                                           # and so short that vectors would be mostly empty
])
def test_large_columns_are_walked_several_times(fn, shape, groups):
    x = whet.randn(shape)
    want, got = bits(fn(x)), jit.trace(fn)
    assert all(bits(got(x)) == want for _ in range(3))
    whole = [part for part in str(got.graph).split("rows(")[1:] if part.count("mean(") == 2]
    assert len(whole) == groups, got.graph


@compiled
@pytest.mark.parametrize("fn", [
    lambda x, y: (-0.5 * (x[:, None] - y) ** 2).exp().sum(1), lambda x, y: (-0.5 * (x[:, None] - y) ** 2).exp().sum(0),
    lambda x, y: (x[:, None] > y).sum(1), lambda x, y: ((x[:, None] * y).tanh() * x[:, None]).sum(1) * x,
    lambda x, y: (x[:, None] - y).abs().amin(0) + y, lambda x, y: (lambda d: (d.amin(1), d.amin(0)))((x[:, None] - y).abs())])
@pytest.mark.parametrize("n, k", [(1000, 700), (40, 33), (1, 5000), (5000, 7)])
def test_tables_of_two_vectors_are_nowhere_stored(fn, n, k):
    x, y, got = whet.randn(n), whet.randn(k), jit.trace(fn)
    want = fn(x, y)
    for _ in range(3):
        for a, b in zip(*[r if isinstance(r, tuple) else (r,) for r in (got(x, y), want)], strict=True):
            assert bits(a) == bits(b)
    if n == 1000:                            # (of small ones reading may be as good)
        path, = got.explain(data=True)["paths"]
        assert not path["python"] and path["peak"] < n * k, path["graph"]


# ---- writes --------------------------------------------------------------------------------------------------------------
def written(fn, *args):
    """The path of a traced function that writes to its arguments, after calls that did as eager ones do."""
    f = jit.trace(fn, verify="off")
    xs, ys = ([x.clone() for x in args] for _ in range(2))
    for _ in range(4):
        got, want = f(*xs), fn(*ys)
        assert [bits(t) for t in (*got, *xs)] == [bits(t) for t in (*want, *ys)]
    path, = f.explain(data=True)["paths"]
    assert path["calls"]
    return path


def decayed(p, g):
    p.mul_(0.9).add_(g, alpha=0.1)
    return ()


def momentum(p, g, b):
    b.mul_(0.9).add_(g)
    p -= b * 0.1
    return ()


@compiled
@pytest.mark.parametrize("fn, count, launches", [(decayed, 2, 1), (momentum, 3, 1)])
def test_writes_in_place_are_fused(fn, count, launches):
    path = written(fn, *[whet.randn(6, 50) for _ in range(count)])
    assert path["launches"] == launches, path["graph"]


def test_the_text_of_writes():
    f = jit.trace(decayed)
    p, g = whet.randn(3), whet.randn(3)
    for _ in range(2):
        f(p, g)
    assert list(map(str, f.graph.nodes)) == [
        "%3 = fused(%0, f32[](0.8999999761581421), %1, f32[](0.10000000149011612)) into (%3 -> %0){mul; add_scaled}"]


@compiled
def test_a_value_that_is_only_worked_on_is_not_copied():
    def fn(x):
        y = x * 2
        y += 1
        y.mul_(x)
        return y.tanh(),
    assert written(fn, whet.randn(6, 50))["launches"] == 1


@pytest.mark.parametrize("fn", [
    lambda x, y: (a := x + y, x.mul_(2), x + a)[:1],                          # read before and after
    lambda x, y: (x.mul_(2), y.add_(x), x.add_(y), y * x)[3:],
    lambda x, y: (v := x[1:], x.mul_(2), v.sum(), v.add_(1), x.sum())[2:3],   # through views
    lambda x, y: (v := x[1:], v.mul_(2), x.add_(1), v * 3)[3:],
    lambda x, y: (x.add_(x.mT), x.mul_(x[0]), x + y)[2:],                     # what is written is read in another order
    lambda x, y: (x.copy_(y), y.mul_(2), x * 1)[2:],                          # the copied changes
    lambda x, y: (x.copy_(y), x.add_(1), x.copy_(y), x * 1)[3:],
    lambda x, y: (x.zero_(), x.add_(y), x.t().mul_(2), x * 1)[3:],
    lambda x, y: (x.add_(1), x.div_(y), y.copy_(x), x.sub_(y), y.sum())[4:],
    lambda x, y: (z := whet.zeros(4, 4), w := z + x, z.copy_(x * 2), z + w)[3:],
    lambda x, y: (x.mul_(y.sum()), x.relu_(), x.clamp_(0, 1), x.sum())[3:],
    lambda x, y: (a := x.abs(), b := a.exp(), b.copy_(y), b * 2)[3:],        # what was there first is never seen
    lambda x, y: (a := x.abs(), a.fill_(2), a.mul_(y), x * 1)[3:],
    lambda x, y: (x.add_(y, alpha=2), x.lerp_(y, 0.5), x.addcmul_(x, y), x.sum())[3:],
])
def test_writes_and_reads_in_their_order(fn):
    for dtype in whet.float32, whet.float16:
        written(fn, whet.randn(4, 4).to(dtype), whet.randn(4, 4).to(dtype))


def test_writes_to_tensors_that_overlap():
    def fn(x, y):
        x.mul_(2)
        y.add_(1)
        z = x + 1
        x.sub_(0.5)
        return z, y * 2
    f = jit.trace(fn, verify="off")
    a, b = whet.randn(20), None
    b = a.clone()
    for _ in range(4):
        got, want = f(a[:10], a[5:15]), fn(b[:10], b[5:15])
        assert [bits(t) for t in (*got, a)] == [bits(t) for t in (*want, b)]
    f = jit.trace(lambda x, s: (x.mul_(s), x.add_(s), x * s), verify="off")
    for _ in range(4):
        got, want = f(a, a[3]), f.fn(b, b[3])
        assert [bits(t) for t in (*got, a)] == [bits(t) for t in (*want, b)]


def test_a_write_before_python_looks_is_there_when_it_looks():
    def fn(x, y):
        x.add_(y)
        if x.sum().item() > 0:
            x.sub_(y)
        return x * 1,
    f = jit.trace(fn, verify="off")
    a, b = whet.full((4,), -10.0), whet.full((4,), -10.0)
    for k in range(8):
        y = whet.full((4,), float(3 * k))
        assert [bits(t) for t in (*f(a, y), a)] == [bits(t) for t in (*fn(b, y), b)]


# ---- many tensors --------------------------------------------------------------------------------------------------------
def sized(*sizes, dtype=whet.float32):
    return [whet.randn(n).to(dtype) for n in sizes]


def each(change, *lists):
    """A step that changes every tensor of the first list, and what it gives."""
    def step(*flat):
        n = len(flat) // len(lists)
        return tuple(r for xs in zip(*(flat[k * n:(k + 1) * n] for k in range(len(lists)))) for r in change(*xs) or ())
    return written(step, *[x for xs in lists for x in xs])


@compiled
@pytest.mark.parametrize("dtype", [whet.float32, whet.float64, whet.float16, whet.int64])
def test_the_same_on_many_tensors_is_one_launch(dtype):
    sizes = [(3, 7), (50,), (4099,), (1,), (2, 3, 4), (9000,), (65,), ()]
    path = each(decayed, sized(*sizes, dtype=dtype), sized(*sizes, dtype=dtype)) if dtype.is_floating_point else \
        each(lambda p, g: (p.add_(g), p.sub_(2))[:0], sized(*sizes, dtype=dtype), sized(*sizes, dtype=dtype))
    assert path["launches"] == 1 and " = many(" in path["graph"], path["graph"]
    path = each(lambda p, g: (p * g - 2,), sized(*sizes, dtype=dtype), sized(*sizes, dtype=dtype))
    assert path["launches"] == 1, path["graph"]


@compiled
@pytest.mark.parametrize("make, most", [
    (lambda ps: whet.optim.Adam(ps, lr=0.1), 2), (lambda ps: whet.optim.AdamW(ps, lr=0.1, amsgrad=True), 2),
    (lambda ps: whet.optim.SGD(ps, lr=0.1), 1), (lambda ps: whet.optim.SGD(ps, lr=0.1, momentum=0.9, nesterov=True), 1),
    (lambda ps: whet.optim.RMSprop(ps, lr=0.1), 2),
])
def test_an_optimizer_step_over_many_parameters_is_a_launch_or_two(make, most):
    def training():
        whet.manual_seed(1)
        ps = [whet.nn.Parameter(x) for x in sized(*[(3 + i % 5, 7 + i) for i in range(20)])]
        opt = make(ps)
        for p in ps:
            p.grad = whet.randn(p.shape)
        opt.step()
        return ps, opt
    (ps, opt), (qs, other) = training(), training()
    step = jit.trace(lambda: opt.step())
    for _ in range(4):
        step()
        other.step()
        assert [bits(p.detach()) for p in ps] == [bits(q.detach()) for q in qs]
    path, = step.explain(data=True)["paths"]
    assert path["launches"] <= most and not path["python"], path["graph"]


def test_the_text_of_many():
    f = jit.trace(lambda x, y: (x * 2, y * 2))
    x, y = sized((3,), (4,))
    for _ in range(2):
        f(x, y)
    assert list(map(str, f.graph.nodes)) == ["%1, %3 = many(%0, f32[](2.0), %2, f32[](2.0)){mul; mul}"]
    f = jit.trace(lambda x, y: (x.mul_(2), y.mul_(2))[2:])
    for _ in range(2):
        f(x, y)
    assert "-> %0" in str(f.graph.nodes[0]) and "-> %1" in str(f.graph.nodes[0])


@compiled
@pytest.mark.parametrize("fn, launches", [
    (lambda x, y, z: (x * 2, y * 3), 1),                                      # numbers may differ
    (lambda x, y, z: (x * 2, y + 2), 2),
    (lambda x, y, z: (x * 2, y * y), 2),                                      # a number is no tensor
    (lambda x, y, z: (x * 2, z * 2), 2),                                      # nor another type
    (lambda x, y, z: (x * 2, y.mT * 2), 2),                                   # nor another order
    (lambda x, y, z: (a := x.sum() * 2, y * 2 + a), 2),
    (lambda x, y, z: (a := x * 2, b := a.mean(0), b.sum() + y * 2), 3),
])
def test_what_differs_is_not_joined(fn, launches):
    path = graph_of(fn, whet.randn(4, 5), whet.randn(6, 7), whet.randn(8).double())
    assert path["launches"] == launches, path["graph"]


@pytest.mark.parametrize("fn", [
    lambda x, y, z: (x.mul_(2), y.add_(x[0, 0]), z.mul_(2))[:0],
    lambda x, y, z: (a := x * 2, z.add_(a.sum()), y * 2, z * 2)[2:],
    lambda x, y, z: (x.mul_(2), v := x.view(-1)[:6], v.mul_(2), y.mul_(2), z.mul_(2))[:0],
    lambda x, y, z: (a := x * 2, x.copy_(a + 1), b := y * 2, y.copy_(b + 1), x * 2, a, b)[4:],
    lambda x, y, z: (x.mul_(z[0]), y.mul_(z[1]), z.mul_(2), x.mul_(z[0]), y.mul_(z[1]))[:0],
])
def test_parts_keep_their_order(fn):
    written(fn, whet.randn(4, 5), whet.randn(6, 7), whet.randn(8))


def test_parts_that_overlap_keep_their_order():
    def fn(x, y):
        x.mul_(2)
        y.mul_(2)
        return ()
    f = jit.trace(fn, verify="off")
    a = whet.randn(20)
    b = a.clone()
    for _ in range(4):
        f(a[:10], a[5:16]), fn(b[:10], b[5:16])
        assert bits(a) == bits(b)


@compiled
def test_more_parts_than_a_launch_takes():
    path = each(decayed, sized(*[(i % 7 + 1, 3) for i in range(600)]), sized(*[(i % 7 + 1, 3) for i in range(600)]))
    assert path["launches"] == 2


# ---- what need not be done -----------------------------------------------------------------------------------------------
def ops_of(fn, *args, only=()):
    """The graph's operations, with the named passes alone."""
    with pipeline.without(*[n for n, _ in pipeline.PASSES if n not in only]):
        graph = graph_of(fn, *args)["graph"]
    lines = [line for line in graph.splitlines() if " = " in line and " = input " not in line and not line.startswith("  stream")]
    return [line.split(" = ")[1].split("(")[0] for line in lines if "= size_of(" not in line]


@pytest.mark.parametrize("fn, left", [
    (lambda x, y: x.exp() + x.exp(), ["exp", "add"]),
    (lambda x, y: (x + y).tanh() * (x + y).tanh(), ["add", "tanh", "mul"]),
    (lambda x, y: x.sum(0) * x.sum(0) + x.sum(0, keepdim=True), ["sum", "mul", "sum", "add"]),
    (lambda x, y: x * 1 - x * 1.5 - x * 1.0, ["mul", "mul", "sub", "mul", "sub"]),          # 1 is not 1.0: its type may count
    (lambda x, y: x + 0.0 - (x + -0.0), ["add", "add", "sub"]),
    (lambda x, y: (x.exp(), x.exp()), ["exp", "exp"]),                                       # two results are two tensors
    (lambda x, y: (a := x.exp(), a.add_(1), x.exp() + a)[2:], ["exp", "exp", "add"]),        # one is written to
    (lambda x, y: (a := x.exp(), b := x.exp(), b.add_(1), a + b)[3:], ["exp", "exp", "add"]),
    (lambda x, y: (z := y * 1, a := z.exp(), z.add_(1), b := z.exp(), a + b)[4:], ["mul", "exp", "exp", "add"]),        # the operand is
    (lambda x, y: (a := x.exp(), b := x.exp(), b[0], a + b)[2:], ["exp", "exp", "slice", "add"]),   # one is seen by a view
    (lambda x, y: (a := x.exp(), a + x.exp()), ["exp", "add"]),
])
def test_each_thing_is_computed_once(fn, left):
    x, y = whet.randn(4, 5), whet.randn(4, 5)
    assert ops_of(fn, x, y, only=["merge_repeats"]) == left


def test_random_numbers_are_not_computed_once():
    f = jit.trace(lambda x: whet.rand_like(x) - whet.rand_like(x))
    for _ in range(3):
        assert f(whet.zeros(10)).abs().max() > 0


@pytest.mark.parametrize("fn, left", [
    (lambda x: x.mT.mT.exp(), ["transpose", "exp"]),
    (lambda x: x.reshape(x.shape).exp(), ["exp"]),
    (lambda x: x.view(20).view(4, 5) * x.view(20).sum(), ["view", "sum", "mul"]),
    (lambda x: (x * 1).exp() / 1 - 0, ["exp", "sub"]),                                      # the last is a result
    (lambda x: (x + 0).exp(), ["add", "exp"]),                                               # -0 + 0 is 0
    (lambda x: (x - (-0.0)).exp(), ["sub", "exp"]),
    (lambda x: (0 - x).exp() * (1 / x), ["sub", "exp", "div", "mul"]),
    (lambda x: (y := x + 2, z := y * 1, y.add_(1), z + y)[3:], ["add", "mul", "add"]),       # what it is the same as changes
    (lambda x: (y := x + 2, z := y * 1, z.add_(1), z + y)[3:], ["add", "mul", "add"]),
    (lambda x: x.mT.mT, ["transpose", "transpose"]),                                         # a result is a tensor of its own
])
def test_what_is_there_is_not_made_again(fn, left):
    assert ops_of(fn, whet.randn(4, 5), only=["drop_identities"]) == left


@pytest.mark.parametrize("fn, left", [
    (lambda x: x * (whet.ones(4, 1) / 3 + 1).expand(4, 5), ["constant", "expand", "mul"]),
    (lambda x: (c := whet.zeros(5) + 1, c.add_(1), x * c)[2:], ["zeros", "add", "mul"]),     # a constant that is written to
    (lambda x: (c := whet.zeros(5), d := c * 2, c.add_(1), x * c + d)[3:], ["zeros", "mul", "mul", "add"]),
    (lambda x: (whet.ones(5) * 2, x * 2), ["full", "mul", "mul"]),                           # a result is new each time
    (lambda x: x * whet.rand(5).mul(0), ["draw random_uniform32", "mul", "mul"]),
])
def test_what_is_constant_is_computed_once_for_all(fn, left):
    got = ops_of(fn, whet.randn(4, 5), only=["fold_constants", "drop_unused"])
    assert got == left, got


@pytest.mark.parametrize("columns", [5, 8, 16, 24, 40, 47])
def test_much_may_follow_a_sum_of_short_lines(columns):
    """A panel of so heavy a kernel holds fewer columns than a line has."""
    def f(x, y):
        return (((x.sum(0) / y + y.exp()) * y.tanh()).sin() / (y * y + 1)).sqrt()
    traced = whet.jit.trace(f)
    for n in (2, 70):
        x, y = whet.randn(n, columns).double(), (whet.randn(columns) > 0).double() + 0.5
        assert all(traced(x, y).numpy().tobytes() == f(x, y).numpy().tobytes() for _ in range(2))


def test_a_constant_is_what_it_was_before_a_write_that_nobody_reads():
    """The recorded run's memory holds what was written to it."""
    def f():
        c = whet.zeros(5) + 1
        d = whet.zeros(5).index_add(0, whet.arange(5), c)
        c.add_(1)
        return d
    traced = whet.jit.trace(f, verify="off")
    assert traced().tolist() == traced().tolist() == f().tolist()


@compiled
def test_what_has_no_kernel_is_done_apart():
    """The truth has no remainder but NumPy's, whose exponentials are not ours."""
    t = whet.randn(4, 50) > 0
    graph_of(lambda x: x.exp() + whet.remainder(t, True), whet.randn(4, 50))
    graph_of(lambda x: (x.exp() + whet.remainder(t, True)).sum(-1), whet.randn(4, 50))
    written(lambda x, y: (x.exp_().add_(whet.remainder(t, True)), y.exp_().add_(whet.remainder(t, True)))[:0], whet.randn(4, 50), whet.randn(4, 50))


def test_a_node_of_very_many_copies_is_one_step():
    path = graph_of(lambda x: whet.stack([a * 2 for a in x.unbind()]), whet.randn(600))
    assert len(path["python"]) == 1 and path["launches"] > 0


@pytest.mark.skipif(not native.enabled(), reason="what is grouped goes by the kernels that there are")
@pytest.mark.parametrize("shape, weights", [
    ((20, 40, 33), (20, 40, 1)), ((20, 5, 7), (20, 5, 1)), ((3, 12, 256), (3, 12, 1)), ((64, 12, 70), (64, 1, 1)), ((64, 12, 70), (1, 12, 1)),
    ((17, 9000, 13), (17, 9000, 1)), ((2, 3, 50, 40), (2, 3, 50, 1)), ((40, 33), (1, 1)), ((3, 9000, 40), (3, 9000, 1)),
])
def test_weights_of_tokens_are_read_by_the_kernel_that_sums_over_them(shape, weights):
    axis, x, w = len(shape) - 2, whet.randn(*shape), whet.randn(*weights)
    fns = [lambda x, w: (x * w).sum(axis), lambda x, w: (x * w).sum(axis) / (w.sum(axis) + 2), lambda x, w: whet.where(w > 0, x, -9).amax(axis),
           lambda x, w: (x * w).argmin(axis), lambda x, w: (x - w) / ((x - w).abs().sum(axis, keepdim=True) + w.amax(axis, keepdim=True)),
           lambda x, w: (x.half() * w.half()).sum(axis)]
    was = whet.get_num_threads()
    try:
        for fn in fns:
            f = traced(fn, x, w)
            for threads in 1, 2:
                whet.set_num_threads(threads)
                assert bits(f(x, w)) == bits(fn(x, w))
    finally:
        whet.set_num_threads(was)
    if shape != (3, 9000, 40):               # (long columns are shared among threads, by kernels that read whole vectors)
        assert [n.kind for n in traced(fns[0], x, w).graph.nodes] == ["rows"]
