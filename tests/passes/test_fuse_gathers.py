"""Gathers in kernels: elements at places that an index names, read by the kernel that computes
with them."""
import numpy as np
import pytest
import whet
from whet import jit
from whet.cpu import native, pointwise
from whet.nn import functional as F
from whet.passes import pipeline
from whet.passes.lower_llvm.elements import pointwise as lower
from whet.passes.lower_llvm.scalar import Unsupported

from tests.together import bits, each, traced

compiled = pytest.mark.skipif(not native.enabled(),
                              reason="without machine code every step is Python's")


def interpolate(table, x):
    at = x.sigmoid() * (table.shape[0] - 1.001)
    i = at.floor()
    k = i.long()
    return table[k] * (1 - (at - i)) + table[k + 1] * (at - i)


def places(n, *shape, low=0):
    return whet.randint(low, n, shape)


# name -> (function, operands): all of it is one kernel
JOINED = {
    "interpolation": (interpolate, lambda: (whet.randn(50), whet.randn(301))),
    "interpolation in a plane": (interpolate, lambda: (whet.randn(50), whet.randn(7, 45))),
    "negative places": (lambda t, k: t[k] * 2, lambda: (whet.randn(20), places(20, 100, low=-20))),
    "several results": (lambda t, k: (t[k] * 2, t[k].exp()), lambda:
                        (whet.randn(20), places(20, 33))),
    "two tables": (lambda t, u, k: t[k] * u[k // 2] + k, lambda:
                   (whet.randn(20), whet.randn(9).double(), places(18, 5, 9))),
    "a column": (lambda t, k: t[:, 1][k] + 1, lambda: (whet.randn(20, 3), places(20, 40))),
    "one element": (lambda t, k: t[k] + 1, lambda: (whet.randn(20), places(20, 1))),
    "along rows": (lambda x, k: x.gather(1, k) * 2 + 1, lambda:
                   (whet.randn(6, 40), places(40, 6, 50))),
    "along columns": (lambda x, k: x.gather(0, k) - x, lambda:
                      (whet.randn(6, 50), places(6, 6, 50))),
    "along the middle": (lambda x, k: x.gather(1, (k + 1) % 4) * 3, lambda:
                         (whet.randn(5, 4, 33), places(4, 4, 4, 30))),
    "slices": (lambda t, k, x: t[k] + x, lambda:
               (whet.randn(9, 40), places(9, 12, low=-9), whet.randn(40))),
    "slices, in pieces": (lambda t, k, x: (t[:, :35][k] * x).tanh(), lambda:
                          (whet.randn(9, 40), places(9, 3, 4), whet.randn(3, 4, 35))),
    "selected": (lambda t, k, x: t.index_select(0, k) * x, lambda:
                 (whet.randn(9, 40), places(9, 12), whet.randn(12, 40))),
    "whole planes": (lambda t, k: t[k] + 1, lambda: (whet.randn(4, 5, 40), places(4, 6))),
    "in a plane": (lambda t, i, j: t[i, j] * 2 + t[i, j - 1], lambda:
                   (whet.randn(6, 5), places(6, 40, low=-6), places(5, 40, low=-4))),
    "in a plane, alone": (lambda t, i, j: t[i, j], lambda:
                          (whet.randn(6, 5), places(6, 40), places(5, 40))),
    "in some planes": (lambda t, i, j: t[:, i, j] + 1, lambda:
                       (whet.randn(2, 6, 5), places(6, 40), places(5, 40))),
    "in a box": (lambda t, i, j, k: t[:, i, j, k] + 1, lambda:
                 (whet.randn(2, 6, 5, 3), places(6, 9, 8), places(5, 9, 8), places(3, 9, 8))),
    "slices of planes": (
        lambda t, i, j, x: t[i, j] * x, lambda:
        (whet.randn(4, 3, 40), places(4, 9), places(3, 9, low=-3), whet.randn(40))),
    "at one row each": (lambda t, i, j: t[i, j] + 1, lambda:
                        (whet.randn(6, 5), places(6, 8, 1), places(5, 37))),
    "taken": (lambda x, k: x.take(k) * 2, lambda: (whet.randn(6, 5), places(30, 40))), }


@compiled
@pytest.mark.parametrize("name", list(JOINED))
def test_a_gather_is_a_part_of_the_kernel(name):
    fn, operands = JOINED[name]
    f = traced(fn, *operands())
    path = f.explain(data=True)["paths"][0]
    assert ([
        n.kind for n in f.graph.nodes
        if not (n.kind == "op" and (n.op.is_view or n.op.name == "constant"))
        and n.kind != "ask"] == ["picks"]), str(f.graph)
    assert path["calls"]


@pytest.mark.parametrize("dtype", [
    whet.float64, whet.float16, whet.bfloat16, whet.int64, whet.int32, whet.uint8, whet.bool,
    whet.complex64])
@pytest.mark.parametrize("n", [1, 70])
def test_tables_of_every_type(dtype, n):
    t = (whet.arange(60) * 7 % 11 - 3 * (dtype is not whet.uint8)).to(dtype)
    traced(
        lambda t, k: (t[k] + t[k - 1],
                      (t[k] == t[-1]), t.reshape(6, 10).gather(1, k[:6, None] % 10) * 2), t,
        places(60, n + 5))


def test_signalling_nans_of_half_types_are_gathered_as_they_are():
    t = whet.tensor(np.arange(0x7c00, 0x7c00 + 32, dtype=np.uint16).view(np.float16))
    traced(lambda t, k: (t[k], t[k] * 1), t.clone(), places(32, 50))


def of_gathered(t, k):
    return t[t[k].abs().long() % 20] * 2 + t[k]


def test_places_that_are_gathered_themselves():
    traced(of_gathered, whet.randn(20) * 30, places(20, 1100))
    traced(lambda u, t, k: t[u[k]] * 2, places(9, 30), whet.randn(9), places(30, 700))
    traced(lambda t, k: t.gather(0, t[k].long() * 0), whet.randn(20), places(20, 7))


@pytest.mark.parametrize("n", [1, 15, 16, 17, 511, 512, 513, 1024, 1100])
def test_blocks_of_every_length(n):
    t, k = whet.randn(30), places(30, n)
    fn = lambda t, k: t[(k * 1 - 30)] * t[k // 2] + k
    f = traced(fn, t, k)
    for at in 0, n // 2, n - 1:
        for bad in 60, -31:
            wrong = k.clone()
            wrong[at] = bad
            assert raised(f, t, wrong) == raised(fn, t, wrong)


def test_many_gathers():
    traced(lambda t, k: sum(t[(k + i) % 20] * i for i in range(12)),
           whet.randn(20),
           places(20, 600))


def test_a_last_axis_of_few_elements():
    traced(lambda t, k, x: (t[k] * x, t[:, k[:3] % 3] + 1), whet.randn(50, 3), places(50, 80),
           whet.randn(80, 3))


# ---- places that there are not -------------------------------------------------------------------
def raised(f, *args):
    with pytest.raises((IndexError, RuntimeError)) as e:
        f(*args)
    return type(e.value), str(e.value)


@pytest.mark.parametrize("fn", [
    lambda t, k: t[k] * 2, lambda t, k: t[k + 0] + t[
        (k * 1).abs()], lambda t, k: t.gather(0, k) * 2, lambda t, k: t.index_select(0, k) + 1,
    lambda t, k: t.reshape(4, 1).expand(4, 40)[k] * 2])
@pytest.mark.parametrize("where", [0, 37, 101, -1])
@pytest.mark.parametrize("bad", [4, -5, 1 << 40, -(1 << 63)])
def test_a_wrong_place_raises_what_eager_raises(fn, where, bad):
    f, t, k = jit.trace(fn), whet.randn(4), places(4, 103)
    for _ in range(3):
        assert bits(f(t, k)) == bits(fn(t, k))
    wrong = k.clone()
    wrong[where] = bad
    for _ in range(2):
        assert raised(f, t, wrong) == raised(fn, t, wrong)
        assert bits(f(t, k)) == bits(fn(t, k))
    assert f.explain(data=True)["paths"][0]["calls"] >= 3


def wrong_after_a_write(t, k, out):
    out.add_(1)
    y = t[k] * 2
    out.mul_(3)
    return y


def write_between(t, k, out):
    y = t[k]
    out.copy_(t.sum() + out)
    return y * 2


def table_written(t, k, out):
    y = t[k]
    t.mul_(2)
    return y + out[0]


def index_written(t, k, out):
    y = t[k]
    k.add_(-1)
    return y * 2 + k


def table_made_there(t, k, out):
    u = t * 2
    return u[k[:4]] + u


def result_into(t, k, out):
    out.copy_(t[k] * 2)
    return out + 1


def a_value_seen(t, k, out):
    y = t[k]
    return y * 2 if y.sum() > -1e9 else y


def unused(t, k, out):
    t[k]
    return k * 2


def indices_of_several(t, k, out):
    return t.reshape(2, 2)[k % 2, k // 2] * 2


def halves(t, k, out):
    return whet.cat([t[k] * 2, out]) + 1


@pytest.mark.parametrize("fn", [
    wrong_after_a_write, write_between, table_written, index_written, table_made_there, result_into,
    a_value_seen, unused, indices_of_several, halves])
def test_writes_and_other_readers(fn):
    t, k, out = whet.randn(4), places(4, 50), whet.randn(50)
    f = traced(fn, t, k, out)
    for bad in 4, 9:
        wrong = k.clone()
        wrong[-1] = bad
        states = []
        for call in f, fn:
            xs = t.clone(), wrong.clone(), out.clone()
            try:
                said = [bits(r) for r in each(call(*xs))]
            except (IndexError, RuntimeError) as e:
                said = type(e), str(e)
            states.append((said, [bits(x) for x in xs]))
        assert states[0] == states[1]


@compiled
def test_results_written_past_the_cache(monkeypatch):
    monkeypatch.setattr(pointwise, "_cache_bytes", lambda: 8192)
    t, k = whet.randn(77), places(77, 5003)
    for at in 0, 3, 2500, 5002:
        f = traced(lambda t, k: t[k] * 2.5, t, k)
        wrong = k.clone()
        wrong[at] = 77
        assert raised(f, t, wrong) == raised(lambda t, k: t[k], t, wrong)


@compiled
def test_without_a_kernel_the_nodes_run_one_by_one(monkeypatch):
    def refuse(*_):
        raise Unsupported("pick")
    monkeypatch.setattr(lower._Code, "fetch", refuse)
    t, k = whet.randn(77), places(77, 53)
    f = traced(lambda t, k: (t[k].exp() - 7.25).atan().sinh(), t, k)
    k[0] = 77
    assert (raised(f, t, k) == raised(lambda t, k: t[k], t, k)
            and f.explain(data=True)["paths"][0]["launches"] == 2)


@compiled
def test_where_a_row_of_a_table_begins_is_found_once_for_its_elements(monkeypatch):
    """No vector of places is made for it."""
    def refuse(*_):
        raise Unsupported("pick")
    monkeypatch.setattr(lower._Code, "place", refuse)
    table, k = whet.randn(9, 40), places(9, 12, low=-9)
    f = traced(lambda t, k: (t[k] * 1.375 - 0.625).tanh(), table, k)
    path, = f.explain(data=True)["paths"]
    assert "= picks(" in path["graph"] and path["launches"] == 1


# ---- gradients, sizes, threads, reasons ----------------------------------------------------------
@pytest.mark.parametrize("fn, operands",
                         [(interpolate, lambda: (whet.randn(50), whet.randn(301))),
                          (lambda w, x: F.embedding(
                              (x.abs() * 2).long().clamp(max=6), w) * 2 + 1, lambda:
                           (whet.randn(7, 40), whet.randn(5, 6))),
                          (lambda x, y:
                           (x.log_softmax(-1).gather(1, (y[:, :1] > 0).long()) * y).sum(-1), lambda:
                           (whet.randn(8, 5), whet.randn(8, 3)))])
def test_gradients(fn, operands):
    def both(*xs):
        xs = [x.detach().requires_grad_() for x in xs]
        y = fn(*xs)
        y.square().sum().backward()
        return y.detach(), xs[0].grad
    traced(both, *operands())


@compiled
def test_other_sizes_are_made_of_the_same_plan(monkeypatch):
    f, made, was = jit.trace(interpolate), [], dict(pipeline.PASSES)["fuse_gathers"]
    monkeypatch.setattr(pipeline,
                        "PASSES",
                        [(n, (lambda *a: made.append(1) or was(*a)) if n == "fuse_gathers" else p)
                         for n, p in pipeline.PASSES])
    for n, m in (50, 301), (60, 40), (7, 99), (60, 40):
        for _ in range(3):
            t, x = whet.randn(n), whet.randn(m)
            assert bits(f(t, x)) == bits(interpolate(t, x))
    assert len(made) == 1


@compiled
@pytest.mark.parametrize("threads", [1, 2, 4])
def test_any_number_of_threads(threads):
    was, t, x = whet.get_num_threads(), whet.randn(1000), whet.randn(300_000)
    try:
        whet.set_num_threads(threads)
        f = traced(interpolate, t, x)
        k = places(1000, 300_000)
        g = traced(lambda t, k: t[k] * 2, t, k)
        k[123_456] = 1000
        assert raised(g, t, k)[0] is IndexError and "= picks(" in str(f.graph) + str(g.graph)
    finally:
        whet.set_num_threads(was)


@pytest.mark.parametrize("d", [0, 1])
@pytest.mark.parametrize("bad", [-7, 7, 2 ** 62, -2 ** 63])
def test_wrong_places_along_one_of_several_dimensions(d, bad):
    fn = lambda t, i, j: t[i, j] * 2
    t, at = whet.randn(6, 6), [places(6, 50, low=-6), places(6, 50)]
    f = traced(fn, t, *at)
    at[d][33] = bad
    assert raised(f, t, *at) == raised(fn, t, *at) and raised(f, t, *at)[0] is IndexError


@compiled
@pytest.mark.parametrize("fn, why", [
    (lambda t, k: t[:4, :3].T[k % 3, k % 4] * 2, "along one dimension, or several as along one"),
    (lambda t, k: t[k % 8][:, 0] * 2, None),
    (lambda t, k: t[k % 8] + 1, None),
    (lambda t, k: t.view(1, 24)[k % 1] + 1, "too short"),
    (lambda t, k: (t * 2)[k % 8, None].expand(80, 2, 3) + 1, None),
    (lambda t, k: (t[:, 0] * 2)[k % 8] * 2, "here and there"),
])
def test_why_it_is_not_joined(fn, why):
    f = traced(fn, whet.randn(8, 3), places(50, 80))
    said = f.explain(data=True)["paths"][0]["unfused"]
    assert why is None or any(why in str(s) for s in said), said


@compiled
def test_what_is_gathered_for_a_gradient_alone_needs_no_python():
    """Nobody reads it, but there may be no such places: columns of a matrix name them here."""
    def f(table, at):
        table = table.detach().requires_grad_()
        i, j = at[:, 0], at[:, 1]
        (table[i, j] * 2 + table[i + 1, j]).sum().backward()
        return table.grad, i + 1
    f, was = jit.trace(f), f
    for k in range(5):
        table, at = whet.randn(9, 7), whet.randint(0, 7 + (k > 3), (500, 2))
        if k > 3:
            for fn in (f, was):
                with pytest.raises(IndexError):
                    fn(table, at + 1)
        else:
            assert all(bits(a) == bits(b)
                       for a, b in zip(f(table, at), was(table, at), strict=True))
    path, = f.explain(data=True)["paths"]
    assert path["calls"] and not path["python"], path["graph"]


@compiled
@pytest.mark.parametrize("n, one, two", [
    (2, True, True), (15, True, True), (16, False, True), (31, False, True), (32, True, True)])
def test_slices_of_some_lengths_are_gathered_in_pairs_alone(n, one, two):
    x, e = whet.randn(50, n), places(50, 2, 200)
    for fn, joined in ((lambda x, e: x[e[0]] * 2, one), (lambda x, e: x[e[0]] - x[e[1]], two)):
        assert ("= picks(" in str(traced(fn, x, e).graph)) == joined


@compiled
@pytest.mark.parametrize("columns", [2, 3, 4, 8, 9, 15])
@pytest.mark.parametrize("rows", [8, 63, 64, 65, 200])
@pytest.mark.parametrize("t", [whet.float32, whet.float64, whet.float16, whet.int8, whet.int64])
def test_short_rows_are_gathered_side_by_side(columns, rows, t):
    fn = lambda x, i, j, w: (x[i] - x[i.flip(0)] * w[:, None], x.view(4, 5, -1)[j[0], j[1]] + w[0])
    x, w = (whet.randn(20, columns) * 9).to(t), (whet.randn(rows) * 3).to(t)
    i, j = places(20, rows, low=-20), whet.stack([places(4, rows), places(5, rows, low=-5)])
    f = traced(fn, x, i, j, w)
    assert str(f.graph).count("= picks(") == 2
    for table in (x, x.new_tensor(np.asarray(x)[:, ::-1].copy())):
        for got, expected in zip(f(table, i, j, w), fn(table, i, j, w), strict=True):
            assert bits(got) == bits(expected)
    for at, wrong in ((i, 20), (i, -21), (j[0], 4), (j[1], -6)):
        was, at[rows // 2] = at[rows // 2].clone(), wrong
        assert raised(f, x, i, j, w) == raised(fn, x, i, j, w)
        assert raised(f, x, i, j, w)[0] is IndexError
        at[rows // 2] = was


@compiled
@pytest.mark.parametrize("fn, shape", [
    (lambda t, i, j: t[i, j], (6, 5, 48)), (lambda t, i, j: t[i, j], (6, 5, 3)),
    (lambda t, i, j: t[:, i, j], (2, 6, 5)), (lambda t, i, j: t[i, :, j], (6, 4, 5))])
def test_slices_at_several_places_alone_have_kernels_of_their_own(fn, shape):
    f = traced(fn, whet.randn(shape), places(6, 40, low=-6), places(5, 40, low=-5))
    path, = f.explain(data=True)["paths"]
    assert path["calls"] and not path["python"] and "= picks(" not in path["graph"]
