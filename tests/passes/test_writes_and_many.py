"""Writes in place are fused, and the same on many tensors is one launch."""

import pytest
import whet
from whet import jit

from tests.passes.pass_cases import compiled, graph_of, written
from tests.together import bits


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


def rounded(p, g):
    q = p.float() - g.float() * 0.1
    p.copy_(q)
    return ()


@compiled
@pytest.mark.parametrize("dtype", (whet.bfloat16, whet.float16, whet.float64))
def test_what_is_rounded_is_written_by_the_kernel_that_makes_it(dtype):
    path = written(rounded, *[whet.randn(6, 50).to(dtype) for _ in range(2)])
    assert path["launches"] == 1, path["graph"]


@pytest.mark.parametrize("fn", [
    lambda x, y: (x.copy_(y), y.mul_(2), x * 1)[2:],                          # the copied changes
    lambda x, y: (x.copy_(y), x.add_(1), y.copy_(x), y * x)[3:],
    lambda x, y: (z := y * 3, x.copy_(z), x.copy_(y), x + z)[3:],
    lambda x, y: (v := x[1:], x.copy_(y * 2), v.sum(), x.mT.copy_(y), x * 1)[4:],
    lambda x, y: (x.copy_(y[0]), y.copy_(x), y * 1)[2:],
])
def test_copies_between_types_of_floats_in_their_order(fn):
    for dtype in whet.bfloat16, whet.float16, whet.float64:
        written(fn, whet.randn(4, 4).to(dtype), whet.randn(4, 4) * 1000)


def test_the_text_of_writes():
    f = jit.trace(decayed)
    p, g = whet.randn(3), whet.randn(3)
    for _ in range(2):
        f(p, g)
    assert list(map(str, f.graph.nodes)) == [
        "%3 = fused(%0, f32[](0.8999999761581421), %1, f32[](0.10000000149011612)) into (%3 -> "
        "%0){mul; add_scaled}"]


@compiled
def test_a_value_that_is_only_worked_on_is_not_copied():
    def fn(x):
        y = x * 2
        y += 1
        y.mul_(x)
        return y.tanh(),
    assert written(fn, whet.randn(6, 50))["launches"] == 1


@pytest.mark.parametrize("fn", [
    # read before and after
    lambda x, y: (a := x + y, x.mul_(2), x + a)[:1],
    lambda x, y: (x.mul_(2), y.add_(x), x.add_(y), y * x)[3:],
    lambda x, y: (v := x[1:], x.mul_(2), v.sum(), v.add_(1), x.sum())[2:3],   # through views
    lambda x, y: (v := x[1:], v.mul_(2), x.add_(1), v * 3)[3:],
    # what is written is read in another order
    lambda x, y: (x.add_(x.mT), x.mul_(x[0]), x + y)[2:],
    lambda x, y: (x.copy_(y), y.mul_(2), x * 1)[2:],                          # the copied changes
    lambda x, y: (x.copy_(y), x.add_(1), x.copy_(y), x * 1)[3:],
    lambda x, y: (x.zero_(), x.add_(y), x.t().mul_(2), x * 1)[3:],
    lambda x, y: (x.add_(1), x.div_(y), y.copy_(x), x.sub_(y), y.sum())[4:],
    lambda x, y: (z := whet.zeros(4, 4), w := z + x, z.copy_(x * 2), z + w)[3:],
    lambda x, y: (x.mul_(y.sum()), x.relu_(), x.clamp_(0, 1), x.sum())[3:],
    # what was there first is never seen
    lambda x, y: (a := x.abs(), b := a.exp(), b.copy_(y), b * 2)[3:],
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


# ---- many tensors --------------------------------------------------------------------------------
def sized(*sizes, dtype=whet.float32):
    return [whet.randn(n).to(dtype) for n in sizes]


def each(change, *lists):
    """A step that changes every tensor of the first list, and what it gives."""
    def step(*flat):
        n = len(flat) // len(lists)
        return tuple(r for xs in zip(*(flat[k * n:(k + 1) * n] for k in range(len(lists))))
                     for r in change(*xs) or ())
    return written(step, *[x for xs in lists for x in xs])


@compiled
@pytest.mark.parametrize("dtype", [whet.float32, whet.float64, whet.float16, whet.int64])
def test_the_same_on_many_tensors_is_one_launch(dtype):
    sizes = [(3, 7), (50,), (4099,), (1,), (2, 3, 4), (9000,), (65,), ()]
    change = decayed if dtype.is_floating_point else lambda p, g: (p.add_(g), p.sub_(2))[:0]
    path = each(change, sized(*sizes, dtype=dtype), sized(*sizes, dtype=dtype))
    assert path["launches"] == 1 and " = many(" in path["graph"], path["graph"]
    path = each(lambda p, g: (p * g - 2,), sized(*sizes, dtype=dtype), sized(*sizes, dtype=dtype))
    assert path["launches"] == 1, path["graph"]


@compiled
@pytest.mark.parametrize("make, most", [
    (lambda ps: whet.optim.Adam(ps, lr=0.1), 2),
    (lambda ps: whet.optim.AdamW(ps, lr=0.1, amsgrad=True), 2),
    (lambda ps: whet.optim.SGD(ps, lr=0.1), 1),
    (lambda ps: whet.optim.SGD(ps, lr=0.1, momentum=0.9, nesterov=True), 1),
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
    assert (list(map(str, f.graph.nodes))
            == ["%1, %3 = many(%0, f32[](2.0), %2, f32[](2.0)){mul; mul}"])
    f = jit.trace(lambda x, y: (x.mul_(2), y.mul_(2))[2:])
    for _ in range(2):
        f(x, y)
    assert "-> %0" in str(f.graph.nodes[0]) and "-> %1" in str(f.graph.nodes[0])


@compiled
@pytest.mark.parametrize("fn, launches", [
    (lambda x, y, z: (x * 2, y * 3), 1),                                      # numbers may differ
    (lambda x, y, z: (x * 2, y + 2), 2),
    # a number is no tensor
    (lambda x, y, z: (x * 2, y * y), 2),
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
    path = each(decayed, sized(*[(i % 7 + 1, 3) for i in range(600)]),
                sized(*[(i % 7 + 1, 3) for i in range(600)]))
    assert path["launches"] == 2
