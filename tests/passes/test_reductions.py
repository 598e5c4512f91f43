"""Reductions and what surrounds them become one kernel."""
import random

import pytest
import whet
from whet import jit
from whet.cpu import native
from whet.nn import functional as F
from whet.passes import fuse_rows, row_builder

from tests.passes.pass_cases import compiled, graph_of
from tests.together import bits


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
    (softmax, [(6, 50)]), (softmax, [(2, 3, 50)]), (softmax, [(40, 7)]), (softmax, [(5000,)]),
    (softmax, [(2, 9000)]),
    (lambda x: x - x.amax(1, keepdim=True)
     - (x - x.amax(1, keepdim=True)).exp().sum(1, keepdim=True).log(), [(6, 50)]),
     (layer_norm, [(6, 50), (50,), (50,)]), (layer_norm, [(2, 3, 50), (50,), (1,)]),
    (lambda x: x / (x * x).sum(-1).sqrt()[:, None], [(6, 50)]),
    (lambda x: x / (x * x).sum(-1).sqrt().unsqueeze(-1).expand(6, 50), [(6, 50)]),
    (lambda x, y: (x * y).sum(-1) / ((x * x).sum(-1).sqrt() * (y * y).sum(-1).sqrt()),
     [(6, 50), (6, 50)]),
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
    assert (graph_of(lambda x: (x.sum(-1), x.amax(-1) - x.amin(-1), x.double().mean(-1)),
                     whet.randn(6, 50).to(dtype))["launches"] == 1)


@compiled
def test_rows_of_whole_numbers_and_truth():
    x = whet.randint(-5, 6, (6, 50))
    assert (graph_of(lambda x: (x - x.amax(-1, keepdim=True)).sum(-1) + (x > 2).sum(-1),
                     x)["launches"] == 1)
    assert (graph_of(lambda x: ((x > 1) & (x > x.float().mean(-1, keepdim=True))).any(-1),
                     x)["launches"] == 1)


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
    # a reduction of what another left
    (lambda x: x.reshape(50, 6) + x.sum(1).sum(), (6, 50)),
    # a view that moves elements
    (lambda x: x.sum(-1, keepdim=True).T + x.T.contiguous(), (6, 50)),
    # columns' sums are columns', not rows'
    (lambda x: x.sum(0, keepdim=True).expand(6, 6) + x, (6, 6)),
    # a row of sums along the rows
    (lambda x: (x + x.sum(-1), x.sum(-1)), (6, 6)),
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
    shape = r.choice([(6, 50), (50, 6), (3, 4, 33), (4, 40, 5), (3, 5000), (2, 2, 3, 9), (70,),
                      (300, 3)])
    axes = r.choice([(len(shape) - 1,)] * 4
                    + [(0,), tuple(range(len(shape))), tuple(range(1, len(shape)))])
    kept = tuple(1 if a in axes else n for a, n in enumerate(shape))
    dtype = r.choice([whet.float32] * 5 + [whet.float64, whet.float16, whet.bfloat16, whet.int64])
    args = [whet.randn(s).mul(3).to(dtype) for s in (shape, shape, kept, shape[-1:], ())]
    if r.random() < 0.2:
        args[1] = args[1].mT.contiguous().mT if len(shape) > 1 else args[1][::2].repeat(2)
    if r.random() < 0.2 and dtype.is_floating_point:
        args[0].reshape(-1)[r.randrange(5)] = r.choice([float("nan"), float("inf"), -float("inf"),
                                                        -0.0])
    lines, full, row = [], ["a", "b"], ["c"]
    one = ["({x}).exp()", "({x}).tanh()", "{x} * 0.5", "({x}).abs()", "-({x})", "({x}).square()",
           "{x} + s", "{x} * v", "({x}).relu()", "{x} - 2"]
    for k in range(r.randint(3, 9)):
        name, x, y, z = f"v{k}", r.choice(full), r.choice(full), r.choice(row)
        what = r.random()
        if what < 0.35:
            keep = r.random() < 0.6
            lines.append(f"{name} = "
                         f"({x}).{r.choice(['sum', 'mean', 'amax', 'amin', 'sum', 'sum'])}({axes}, "
                         f"keepdim={keep})"
                         + ("" if keep else f".reshape({kept})"))
            row.append(name)
        elif what < 0.5:
            lines.append(f"{name} = {z} {r.choice('+-*')} {r.choice(row)}" if r.random() < 0.5
                         else f"{name} = ({z}).abs() + 1")
            row.append(name)
        elif what < 0.75:
            lines.append(f"{name} = {x} {r.choice('+-*/')} "
                         f"{r.choice([y, z, f'{z}.expand({shape})'])}")
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
    (lambda x: x.mean(), (700, 1000)), (lambda x: (x * 2).square().sum(), (700, 1000)),
    (lambda x: x.amax(), (700, 1000)),
    (lambda x: (x - x.mean()) / (x.square().mean() + 1).sqrt(), (700, 1000)),
    (lambda x: (x * 0.5).sum(0), (20000, 40)), (lambda x: x - x.mean(1, keepdim=True), (2, 400000)),
])
def test_long_rows_are_shared_out_without_python(fn, shape, two_threads):
    path = graph_of(fn, whet.randn(shape))
    assert not path["python"] and path["launches"] > 1, path["graph"]


@compiled
def test_positions_in_long_rows_stay_with_python(two_threads):
    path = graph_of(lambda x: (x * 2).argmax(), whet.randn(700, 1000))
    assert len(path["python"]) == 1


def differences(x, y, g):
    d = (x[:, None] - y) * g[:, :, None]
    return d.sum(1), (d * d).sum(0)


def test_what_several_reductions_read_is_computed_by_each():
    """Where it is large, and made of little: then it is nowhere stored."""
    x, y, g = whet.randn(150, 16), whet.randn(130, 16), whet.randn(150, 130)
    path = graph_of(differences, x, y, g)
    assert (path["graph"].count("= rows(") == 2 and path["launches"] == 2
            and "f32[150,130,16]" not in path["graph"].split("rows(")[0])
    f = jit.trace(differences)
    for n in (150, 140, 150, 30, 200):
        for _ in range(2):
            got, want = f(x[:n], y, g[:n]), differences(x[:n], y, g[:n])
            assert [bits(a) for a in got] == [bits(a) for a in want]


@compiled
@pytest.mark.parametrize("fn", [
    lambda x, y, g: (*differences(x, y, g), x[:, None] - y),                  # somebody wants it
    # it stays in the cache
    lambda x, y, g: differences(x[:8], y[:8], g[:8, :8]),
    lambda x, y, g: (lambda d: (d.sum(1), d.sum(0), d.cumsum(0)))((x[:, None] - y) * g[:, :, None]),
    # as much is read
    lambda x, y, g: (lambda d: (d.sum(1), d.sum(0)))((x[:, None] - y)
                                                     * whet.ones(150, 130, 16).cumsum(0)),
    # what reads it has another shape
    lambda x, y, g: ((x[:, None] - y).flatten(1) * g.repeat(1, 16)).sum(1),
    # it is another by then
    lambda x, y, g: (lambda d: (d.sum(1), x.mul_(2), d.sum(0)))(x[:, None] - y),
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
    # nothing is stored on the way
    (lambda x: ((x - x.mean(0)) ** 2).mean(0), (1000, 2000), 1),
    # lines so long that a column's numbers are far apart
    (standardised, (1000, 2000), 0),
    # and so short that vectors would be mostly empty
    (standardised, (200000, 3), 0),
])
def test_large_columns_are_walked_several_times(fn, shape, groups):
    x = whet.randn(shape)
    want, got = bits(fn(x)), jit.trace(fn)
    assert all(bits(got(x)) == want for _ in range(3))
    whole = [part for part in str(got.graph).split("rows(")[1:] if part.count("mean(") == 2]
    assert len(whole) == groups, got.graph


@compiled
@pytest.mark.parametrize("fn", [
    lambda x, y: (-0.5 * (x[:, None] - y) ** 2).exp().sum(1),
    lambda x, y: (-0.5 * (x[:, None] - y) ** 2).exp().sum(0), lambda x, y: (x[:, None] > y).sum(1),
    lambda x, y: ((x[:, None] * y).tanh() * x[:, None]).sum(1) * x,
    lambda x, y: (x[:, None] - y).abs().amin(0) + y,
    lambda x, y: (lambda d: (d.amin(1), d.amin(0)))((x[:, None] - y).abs())])
@pytest.mark.parametrize("n, k", [(1000, 700), (40, 33), (1, 5000), (5000, 7)])
def test_tables_of_two_vectors_are_nowhere_stored(fn, n, k):
    x, y, got = whet.randn(n), whet.randn(k), jit.trace(fn)
    want = fn(x, y)
    for _ in range(3):
        for a, b in zip(*[r if isinstance(r, tuple) else (r,) for r in (got(x, y), want)],
                        strict=True):
            assert bits(a) == bits(b)
    if n == 1000:                            # of small ones reading may be as good
        path, = got.explain(data=True)["paths"]
        assert not path["python"] and path["peak"] < n * k, path["graph"]


def test_no_program_is_made_of_groups_that_read_too_much(monkeypatch):
    """Rounds of a loop read parts of one tensor each, so that every group is tried with all before
    it."""
    monkeypatch.setattr(native, "cached", lambda key: None)
    made, add = [], row_builder._Builder.add
    monkeypatch.setattr(row_builder._Builder, "add", lambda *of: [made.append(of), add(*of)][1])

    def scan(x, dt, a, b, c):
        decay, fed = (dt[..., None] * a).exp(), (dt * x)[..., None] * b[:, :, None]
        h, seen = whet.zeros(2, 32, 8), []
        for t in range(x.shape[1]):
            h = decay[:, t] * h + fed[:, t]
            seen.append((h * c[:, t, None]).sum(-1))
        return whet.autograd.grad(whet.stack(seen, 1).sum(), (x, dt, a, b, c))
    shapes = (2, 40, 32), (2, 40, 32), (32, 8), (2, 40, 8), (2, 40, 8)
    graph_of(scan, *[whet.randn(s, requires_grad=True) for s in shapes])
    assert len(made) < 5000


def rounds_of_maxima(n):
    """A loop whose rounds reduce with one matrix, and take a part of one tensor."""
    def scores(steps, moves):
        s = steps[0]
        for k in range(1, n):
            s = (s[:, None] + moves).amax(0) + steps[k]
        return s
    return scores


def test_rounds_of_a_loop_are_tried_with_the_last_ones_alone(monkeypatch):
    """A group that reads what all rounds read is not tried with each of them."""
    monkeypatch.setattr(native, "cached", lambda key: None)
    monkeypatch.setattr(fuse_rows, "MOST_USERS", 10)
    tries, join = [], fuse_rows._Grouping.join
    monkeypatch.setattr(fuse_rows._Grouping, "join", lambda *of: [tries.append(of), join(*of)][1])
    counts = []
    for n in (30, 60):
        graph_of(rounds_of_maxima(n), whet.randn(n, 6), whet.randn(6, 6))
        counts.append(len(tries))
        tries.clear()
    assert 0 < counts[1] < 2.5 * counts[0]


@compiled
def test_each_result_of_a_group_is_stored_once():
    """Groups that had become one were joined with themselves."""
    def sums(x, y):
        return ((x * 2).sum(1), (x * 3).sum(1), (x * y).sum(1), (y + 1).sum(1), (x - y).sum(1))
    path = graph_of(sums, whet.randn(50, 60), whet.randn(50, 60))
    line = next(at for at in path["graph"].splitlines() if " = rows(" in at)
    names = line.split(" = ")[0].split(", ")
    assert len(names) == len(set(names)) == 5, path["graph"]
