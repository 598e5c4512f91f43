"""Moved elements in kernels: joins, pads, rolls and turns that kernels read or make part by
part."""
import random
import time

import numpy as np
import pytest
import whet
from whet import jit
from whet.cpu import native
from whet.ir.graph import walk
from whet.ir.interpret import interpret
from whet.ir.parse import parse
from whet.nn import functional as F
from whet.passes import fuse_moves, pipeline
from whet.passes.index_boxes import box_of, boxes_of

from tests.together import bits, path_of

compiled = pytest.mark.skipif(not native.enabled(),
                              reason="without machine code every step is Python's")


def rotary(x, c, s):
    h = x.shape[-1] // 2
    return x * c + whet.cat([-x[..., h:], x[..., :h]], -1) * s


def halves(x, c, s):
    a, b = x.chunk(2, -1)
    n = a.shape[-1]
    return whet.cat([a * c[..., :n] - b * s[..., :n], b * c[..., n:] + a * s[..., n:]], -1)


# function of (x, y of its shape, a row) -> how many kernels: all of it is one group
JOINED = {
    "halves turned": (lambda x, y, w: rotary(x, y, w), 2),
    "halves computed": (lambda x, y, w: halves(x, y, y + w), None),
    "cat, computed on": (lambda x, y, w: whet.cat([x, y]).tanh() * w, 2),
    "computed, cat": (lambda x, y, w: whet.cat([x * 2, y.exp(), x + w]), 3),
    "several results": (lambda x, y, w: [r := whet.cat([x.exp(), y], -1), (r * 2, r - 1)][1], 2),
    "cat is a result": (lambda x, y, w: [r := whet.cat([x, y]), (r, r * 2)][1], 2),
    "two cats, cut elsewhere": (lambda x, y, w: whet.cat([x, y, x], 0) * whet.cat([y, y * 2, x], 0),
                                3),
    "cuts in other places": (
        lambda x, y, w: whet.cat([x[:1], y[1:]]) - whet.cat([y[:3], x[3:]]).abs(), 3),
    "stack": (lambda x, y, w: whet.stack([x, y * w]) + 1, 2),
    "stack at the end": (lambda x, y, w: whet.stack([x * w, y], -1), 1),
    "a recurrence, stacked": (
        lambda x, y, w: [a := x * w, b := a * y - x, whet.stack([x, a, b, b * y - a], -1)][2], 1),
    "pad": (lambda x, y, w: F.pad(x * 2, (0, 0, 1, 2), value=0.5), 3),
    "pad that cuts": (lambda x, y, w: F.pad(x.tanh(), (-2, -1)), 1),
    "roll": (lambda x, y, w: x.roll(2, 0) * y + w, 2),
    "flip": (lambda x, y, w: x.flip(0) - y, 1),
    "flip of computed": (lambda x, y, w: (x * w).flip(0), 1),
    "part put": (lambda x, y, w: whet.slice_scatter(x * 2, y[1:3] - 1, 0, 1, 3) * 3, 3), }


@compiled
@pytest.mark.parametrize("shape", [(6, 40), (5, 4, 32)])
@pytest.mark.parametrize("name", list(JOINED))
def test_what_moves_elements_is_no_copy(name, shape):
    fn, kernels = JOINED[name]
    path = path_of(fn, whet.randn(*shape), whet.randn(*shape), whet.randn(shape[-1]))
    assert "= parts(" in path["graph"]
    if kernels is not None:
        assert path["launches"] == kernels, path["graph"]


@pytest.mark.parametrize(
    "dtype",
    [whet.float64, whet.float16, whet.bfloat16, whet.int64, whet.uint8, whet.bool, whet.complex64])
def test_every_type_keeps_its_bits(dtype):
    def f(x, y):
        return (whet.cat([x, y]), whet.cat([x, y], -1) == whet.cat([y, x], -1),
                whet.cat([x + x, y]).roll(1, 0) + 1, F.pad(x * y, (1, 1)))

    x, y = ((whet.arange(24).reshape(4, 6) * k % 5 - 2 * (dtype is not whet.uint8)).to(dtype)
            for k in (3, 7))
    path_of(f, x, y)


def test_signalling_nans_of_half_types_are_moved_as_they_are():
    x = whet.tensor(np.arange(0x7c00, 0x7c00 + 32, dtype=np.uint16).view(np.float16).reshape(4, 8))
    path_of(lambda x: (whet.cat([x, x.flip(0)]), whet.cat([x, x.flip(0)]) * 1), x)


def small_borders(x):
    return x.roll(1, 0) + x.roll(-1, 0) + x.roll(1, 1) + x.roll(-1, 1) - 4 * x


@compiled
def test_thin_borders_are_parts_of_large_tensors_only():
    assert "= parts(" in path_of(small_borders, whet.randn(130, 140))["graph"]
    path = path_of(small_borders, whet.randn(8, 9))
    assert "= parts(" not in path["graph"]
    assert any("few elements" in why for *_, why in _said(path))


def _said(path):
    return [tuple(u.values()) if isinstance(u, dict) else tuple(u) for u in path["unfused"]]


@compiled
def test_interleaved_elements_are_computed_where_they_lie_side_by_side():
    path = path_of(lambda x, y: whet.stack([x * 2, y], -1).exp(),
                   whet.randn(64, 50),
                   whet.randn(64, 50))
    assert (path["graph"].count("= parts(") == 1
            and "exp" not in path["graph"].split("= parts(")[1].split("}")[0])


def five_points(x):
    return x[1:-1, 1:-1] * 3 + 0.5 * (x[2:, 1:-1] + x[:-2, 1:-1] - 4 * x[1:-1, 2:] + x[1:-1, :-2])


def seven_points(x):
    c = slice(1, -1)
    return ((x[2:, c, c] + x[:-2, c, c] + x[c, 2:, c]) * 2 +
            (x[c, :-2, c] + x[c, c, 2:] + x[c, c, :-2]).neg() - 6 * x[c, c, c])


STENCILS = [(five_points, (130, 140)), (seven_points, (28, 30, 34)), (five_points, (9, 10))]


def stencils_gradient(fn, shape, dtype):
    """What `explain` says of it."""
    def gradient(x, g):
        x = x.clone().requires_grad_()
        return whet.autograd.grad(fn(x), x, g)[0]
    x = whet.randn(*shape).to(dtype)
    return path_of(gradient, x, fn(x) * 0.5)


@pytest.mark.parametrize("dtype", [whet.float64, whet.float16, whet.bfloat16, whet.complex64])
@pytest.mark.parametrize("fn, shape", STENCILS)
def test_the_gradient_of_a_stencil_has_eagers_bits(fn, shape, dtype):
    stencils_gradient(fn, shape, dtype)


@compiled
@pytest.mark.parametrize("fn, shape", STENCILS[:2])
def test_the_gradient_of_a_stencil_is_one_group(fn, shape):
    graph = stencils_gradient(fn, shape, whet.float32)["graph"]
    assert (graph.count("= parts(") == 1
            and graph.count("unslice") == graph.split("= parts(")[1].count("unslice"))


# ---- what must be left alone ---------------------------------------------------------------------
def overwritten_before(x, y):
    r = whet.cat([x, y])
    x.add_(1)
    return r * 2, x


def overwritten_after(x, y):
    r = whet.cat([x * 2, y]) * 3
    y.mul_(2)
    return r, y


def seen_through_a_view(x, y):
    r = whet.cat([x, y])
    top = r[1:3]
    return r * 2, top + 1, r.mT @ r


def written_to(x, y):
    r = whet.cat([x, y])
    r[0] = 5
    return r * 2


def into_itself(x, y):
    x.copy_(x.roll(1, 0) * 2)
    return x + y


def into_another(x, y):
    x.copy_(whet.cat([y[2:] * 2, y[:2]]) + 1)
    return x * y


def into_parts(x, y):
    r = x.clone()
    r[:, 1:4] = (y * 2).tanh()[:, 1:4]
    r[1:, :2] = y[1:, :2] + x[1:, :2]
    return r, r * 2


def into_own_parts(x, y):
    x[1:-1] = x[1:-1] + 0.1 * (x[2:] + x[:-2])
    x[:, 1:] += y[:, :-1]
    return x.sum()


def read_before(x, y):
    r = whet.cat([x, y])
    s = r.sum(0)
    return r * s, s


def wanted_elsewhere(x, y):
    h = x.tanh()
    return whet.cat([h, y]) * 2, h


def twice(x, y):
    h = x.tanh()
    return whet.cat([h, h]) * 2, whet.cat([h * 2, y])


def of_moved(x, y):
    return whet.cat([whet.cat([x, y]), y.roll(1, 0)]).flip(0) * 2 + 1


def spread(x, y):
    return whet.cat([x[0, :2], y[0, 2:]]) + x


def empty_parts(x, y):
    return whet.cat([x, y[:0], y[:, :]]) * 2, whet.cat([x[:0], y[:0]]) * 2


@pytest.mark.parametrize("fn", [
    overwritten_before, overwritten_after, seen_through_a_view, written_to, into_itself,
    into_another, into_parts, into_own_parts, read_before, wanted_elsewhere, twice, of_moved,
    spread, empty_parts])
@pytest.mark.parametrize("left_out", [
    (), ("fuse_pointwise",), ("write_through",), ("writes_to_values", "in_place_to_new")])
def test_writes_views_and_other_readers(fn, left_out):
    with pipeline.without(*left_out):
        path_of(fn, whet.randn(6, 20), whet.randn(6, 20))


@compiled
def test_a_kernel_writes_to_a_part_that_it_is_copied_to():
    def f(x, y):
        r = whet.zeros(6, 20)
        r[:, :10] = x[:, :10] * 2 + 1
        r[:, 10:] = y[:, 10:].exp()
        return r
    graph = path_of(f, whet.randn(6, 20), whet.randn(6, 20))["graph"]
    assert graph.count(" into (") == 2 and "write copy" not in graph


@compiled
def test_a_group_writes_to_where_its_result_is_copied_unless_it_reads_from_there():
    assert " into (" in path_of(into_another, whet.randn(6, 20), whet.randn(6, 20))["graph"]
    assert " into (" not in path_of(into_itself, whet.randn(6, 20), whet.randn(6, 20))["graph"]


# ---- gradients, sizes, loops, text ---------------------------------------------------------------
def with_gradients(fn, x, w):
    x = x.detach().requires_grad_()
    y = fn(x, w, w)
    y.square().sum().backward()
    return y.detach(), x.grad


@pytest.mark.parametrize("fn", [
    rotary, halves, lambda x, c, s:
    (F.pad(x,
           (1, 1)) * 2).tanh()[..., 1:-1] * c, lambda x, c, s: x.roll(1, 0) * x + x.flip(-1) * s])
def test_gradients(fn):
    path_of(lambda x, w: with_gradients(fn, x, w), whet.randn(3, 6, 40), whet.randn(6, 40))
    traced, x, w = jit.trace(fn), whet.randn(3, 6, 40), whet.randn(6, 40)
    for k in range(4):
        grads = []
        for f in (traced, fn):
            a = (x + k).requires_grad_()
            f(a, w, w).square().sum().backward()
            grads.append(bits(a.grad))
        assert grads[0] == grads[1]


@compiled
def test_other_sizes_are_made_of_the_same_plan(monkeypatch):
    f, made = jit.trace(rotary), []
    was = fuse_moves.fuse_moves
    monkeypatch.setattr(pipeline,
                        "PASSES",
                        [(n, (lambda *a: made.append(1) or was(*a)) if n == "fuse_moves" else p)
                         for n, p in pipeline.PASSES])
    for shape in (2, 5, 32), (3, 7, 64), (4, 9, 96), (3, 7, 64):
        for k in range(3):
            x, c, s = whet.randn(*shape) + k, whet.randn(*shape[1:]), whet.randn(*shape[1:])
            assert bits(f(x, c, s)) == bits(rotary(x, c, s))
    assert len(made) == 1


@compiled
def test_steps_with_moves_are_a_loop():
    def f(u):
        for _ in range(60):
            u = u + 0.1 * (u.roll(1, 0) - 2 * u + u.roll(-1, 0))
        return u
    assert "= roll " in path_of(f, whet.randn(100, 40))["graph"]


@compiled
def test_the_graph_is_read_back_and_means_the_same():
    f, xs = jit.trace(rotary), [whet.randn(4, 6, 32), whet.randn(6, 32), whet.randn(6, 32)]
    for _ in range(2):
        y = f(*xs)
    g = f.graph
    assert any(n.kind == "parts" for m in g.nodes for n in walk(m))
    inputs = {x.name: a for x, a in zip((x for x in g.inputs), xs)}
    assert (interpret(parse(str(g)), *inputs.values())[0].tobytes() == y.numpy().tobytes()
            or len(inputs) != 3)


@compiled
@pytest.mark.parametrize("threads", [1, 2, 4])
def test_any_number_of_threads(threads):
    was, xs = (whet.get_num_threads(), (whet.randn(40, 300,
                                                   64), whet.randn(300, 64), whet.randn(300, 64)))
    try:
        whet.set_num_threads(threads)
        assert "= parts(" in path_of(rotary, *xs)["graph"]
    finally:
        whet.set_num_threads(was)


@compiled
@pytest.mark.parametrize(
    "fn, why",
    [(lambda x, y: whet.cat([x, y]).diagonal_scatter(y[0, :12]) * 2, "one by one"),
     (lambda x, y: whet.cat([x[0], y[0]]) + whet.randn(3, 1) * 0, None),
     (lambda x, y: whet.cat([x[i % 6:i % 6 + 1] for i in range(20)]) * whet.cat([x, y, x, y])[:20],
      "parts"), (lambda x, y: whet.cat([x.roll(1, 0), y]) * 2, "moved again"), ])
def test_why_it_is_not_joined(fn, why):
    said = _said(path_of(fn, whet.randn(6, 20), whet.randn(6, 20)))
    assert why is None or any(why in str(s[-1]) for s in said), said


# ---- pieces --------------------------------------------------------------------------------------
def test_boxes():
    out = np.empty((4, 1, 6), np.float32)
    assert box_of(out, out[1:3]) == (
        ((1, 3, 1), (0, 1, 1), (0, 6, 1)), [True, True, True])
    assert box_of(out, out[2, ...])[0] == ((2, 3, 1), (0, 1, 1), (0, 6, 1))
    assert box_of(out, out[:, 0, 2:5])[0] == ((0, 4, 1), (0, 1, 1), (2, 5, 1))
    assert box_of(out, out[::2, :, 1::3])[0] == ((0, 3, 2), (0, 1, 1), (1, 5, 3))
    assert box_of(out, out[3::2, 0, ::4])[0] == ((3, 4, 1), (0, 1, 1), (0, 5, 4))
    for other in (out[:, :, ::-1], out.transpose(2, 1, 0), out.reshape(6, 4),
                  np.broadcast_to(out[:1], out.shape)):
        assert box_of(out, other) is None


def boxes(shape, *moves):
    """Those in which each move is one copy; a move is slices of the result."""
    out = np.empty(shape, np.float32)
    return boxes_of(
        shape, [[box_of(out, out[at])[0] for at in move] for move in moves])


def test_cells():
    assert boxes((4,), [np.s_[:2], np.s_[2:]], [np.s_[:1], np.s_[1:]]) == [
        (((0, 1, 1),), (0, 0)), (((1, 2, 1),), (0, 1)), (((2, 4, 1),), (1, 1))]
    inside = boxes((4, 5), [np.s_[:, :], np.s_[1:3, 1:4]])
    assert [which for _, which in inside].count((1,)) == 1 and len(inside) == 5
    assert boxes((4,), [np.s_[:2]]) is None
    assert boxes((2000,), [np.s_[i:i + 1] for i in range(2000)]) is None
    every = [np.s_[:], np.s_[::2]], [np.s_[:], np.s_[1::2]]
    assert boxes((6,), *every) == [(((0, 5, 2),), (1, 0)), (((1, 6, 2),), (0, 1))]
    assert boxes((7,), *every) == [(((0, 7, 2),), (1, 0)), (((1, 6, 2),), (0, 1))]
    assert boxes((8,), [np.s_[:], np.s_[::2]], [np.s_[:], np.s_[::3]]) is None      # two periods
    assert boxes((8,), [np.s_[:], np.s_[::2]], [np.s_[:], np.s_[1:]]) is None       # cuts a pair


def parts_of(draw, shape):
    """A part of a tensor with steps, as an index."""
    return tuple([slice(draw.randrange(min(n, 3)), draw.choice([None, n, -1]), draw.choice([1, p]))
                  for n, p in zip(shape, draw.choices([2, 2, 3, 4], k=len(shape)))])


@pytest.mark.parametrize("seed", range(30))
def test_gradients_of_parts_with_steps(seed):
    draw = random.Random(seed)
    shape = tuple([draw.choice([1, 4, 5, 16, 33, 64]) for _ in range(draw.randint(1, 3))])
    ats = [parts_of(draw, shape) for _ in range(draw.randint(2, 5))]

    def f(x):
        x = x.detach().requires_grad_()
        parts = [x[at] for at in ats]
        total = sum([(y * (k + 1)).square().sum() for k, y in enumerate(parts)])
        return whet.autograd.grad(total, x)[0]
    traced, x = jit.trace(f), whet.randn(*shape)
    for _ in range(3):
        assert bits(traced(x)) == bits(f(x))


@compiled
@pytest.mark.parametrize("fn, shape", [
    (lambda x: x[..., ::2] * 2 - x[..., 1::2].square(), (6, 64)),
    (lambda x: (x[:, ::2, ::2] + x[:, 1::2, ::2] + x[:, ::2, 1::2] + x[:, 1::2, 1::2]) * 0.25,
     (3, 32, 64)),
    (lambda x: whet.stack([x[..., ::2] * 3, x[..., 1::2]], -1).flatten(-2), (5, 64)),
    (lambda x: x[:, ::3] * x[:, 1::3] + x[:, 2::3], (6, 96))])
def test_the_gradient_of_interleaved_parts_is_one_kernel_for_each(fn, shape):
    def f(x):
        x = x.detach().requires_grad_()
        return whet.autograd.grad(fn(x).exp().sum(), x)[0]
    graph = path_of(f, whet.randn(*shape))["graph"]
    assert graph.count("= unslice(") == graph.split("= parts(")[-1].count("= unslice(") > 1
    assert "= parts(" in graph


@pytest.mark.parametrize("dtype", [whet.float16, whet.float32])
def test_what_is_moved_twice_and_read_both_ways(dtype):
    def f(x):
        y = (x * 2).flip(0)
        z = y.roll(1, 0)
        return z * -1.75 + y, (z.flip(0) - z) * y
    x = whet.randn(6, 5).to(dtype)
    t = jit.trace(f)
    for _ in range(3):
        for a, b in zip(t(x), f(x), strict=True):
            assert a.dtype == b.dtype and a.numpy().tobytes() == b.numpy().tobytes()
    assert t._why is None


def test_a_stack_of_very_many_is_not_looked_at_one_by_one():
    f, x = jit.trace(lambda x: whet.stack(x.unbind(0)) * 2, verify="off"), whet.randn(20_000)
    start = time.process_time()
    f(x)
    # 0.6 s; 13 where each is
    assert time.process_time() - start < 6 and bits(f(x)) == bits(x * 2)
