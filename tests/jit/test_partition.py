"""What is kept of a traced call for its backward, and what the backward computes again: nobody
sees it, but by speed and memory."""
import weakref

import pytest
import whet
from whet import jit, nn
from whet.ir.text import lines
from whet.nn import functional as F
from whet.passes import pipeline
from whet.passes.partition import MOST, _Network

from tests.together import bits, in_threads


def leaf(*shape, seed=0):
    return whet.randn(*shape, generator=whet.Generator().manual_seed(seed)).requires_grad_()


def by_hand(x, w):
    return 0.5 * x * (1 + whet.tanh(0.79788 * (x + 0.044715 * x * x * x))) * w


def gated(x, w):
    h = x @ w.reshape(4, 8).mT @ w.reshape(4, 8)
    return (h * h.sigmoid() * whet.exp(-h * h)).cumsum(0), h.sin()


def normed(x, w):
    d = x - x.mean(-1, keepdim=True)
    return F.dropout(d * whet.rsqrt((d * d).mean(-1, keepdim=True) + 1e-5) * w[:8] + w[8:16],
                     0.5,
                     training=False).relu()


def over_views(x, w):
    y = (x.T * 2).exp()
    z = (y[1:] - y[:-1]).sin().T
    return z * z.cos(), y.unsqueeze(0) * w[:8, None]


def written(x, w):
    y = x * w[:8]
    z = y.exp()
    y.mul_(2)
    return z * z * y * x.sin()


def several_uses(x, w):
    return x * w[:8] + x.sin() * w[8:16].cos() - x / (2 + x * x), x.exp() * 2


FUNCTIONS = [(by_hand, 8), (gated, 32), (normed, 16), (over_views, 8), (written, 8),
             (several_uses, 16)]


def tried(fn):
    try:
        return fn()
    except RuntimeError as e:
        return str(e)


def summed(out, k=1.0):
    return sum((t * (i + k)).sum() for i, t in enumerate(out if type(out) is tuple else (out,)))


def every(out, x, w):
    summed(out).backward()


def twice(out, x, w):
    s = summed(out)
    s.backward(retain_graph=True)
    s.backward()
    return tried(s.backward)


def in_parts(out, x, w):
    for t in out if type(out) is tuple else (out,):
        t.sum().backward(retain_graph=True)
    summed(out, 2.0).backward()
    return tried(summed(out).backward)


def of_one(out, x, w):
    return (whet.autograd.grad(summed(out), w, retain_graph=True)[0].tolist(),
            tried(lambda: whet.autograd.grad(summed(out), x)[0].tolist()))


def second(out, x, w):
    g, = whet.autograd.grad(summed(out), x, create_graph=True)
    (g * g).sum().backward()


def seen(out, x, w):
    log = []
    for t in out if type(out) is tuple else (out,):
        t.register_hook(lambda g: log.append(g.tolist()))
    summed(out).backward()
    return log


def operand_written(out, x, w):
    """What eager did not save may be written to; what it did may not."""
    with whet.no_grad():
        x.mul_(3)
    return (tried(lambda: whet.autograd.grad(summed(out), w, retain_graph=True)[0].tolist()),
            tried(lambda: summed(out).backward()))


def weight_written(out, x, w):
    with whet.no_grad():
        w.zero_()
    return (tried(lambda: whet.autograd.grad(summed(out), x, retain_graph=True)[0].tolist()),
            tried(lambda: summed(out).backward()))


def result_written(out, x, w):
    first = out[0] if type(out) is tuple else out
    with whet.no_grad():
        first.mul_(2)
    return tried(lambda: summed(out).backward())


def used_outside(out, x, w):
    (summed(out) + x.pow(2).sum() + w.sin().sum()).backward()


def walked(out, x, w):
    def names(n):
        return n and [n.name(), [names(m) for m, _ in n.next_functions]]
    said = [names(t.grad_fn) for t in (out if type(out) is tuple else (out,))]
    summed(out).backward()
    return said


@pytest.mark.drawn(2)
@pytest.mark.parametrize("use", [
    every, twice, in_parts, of_one, second, seen, operand_written, weight_written, result_written,
    used_outside, walked])
@pytest.mark.parametrize("fn, width", FUNCTIONS)
def test_gradients_are_eagers(fn, width, use):
    said = []
    for call in jit.trace(fn), fn:
        said.append([])
        for k in range(3):
            x, w = leaf(6, 8, seed=k), leaf(width, seed=k + 10)
            if call is fn or k:
                assert (call is fn or call.explain(data=True)["paths"][0]["backward"]["again"]
                        or fn is written)
            more = use(call(x, w), x, w)
            said[-1].append((more, *[None if t.grad is None else bits(t.grad)
                                     for t in (x, w)], bits(x), bits(w)))
    assert said[0] == said[1]


def test_less_is_kept():
    def kept(fn, *args):
        f = jit.trace(fn)
        f(*args)
        return f.explain(data=True)["paths"][0]["backward"]
    x, w = leaf(600, 500), leaf(500)
    with pipeline.without("partition"):
        before = kept(by_hand, x, w)
    after = kept(by_hand, x, w)
    assert before["kept"] > 5 * 600 * 500 * 4 and before["again"] == 0
    assert after["kept"] == 600 * 500 * 4 and after["again"] > 5          # a copy of x
    # what a product made is kept, and no copy of it; what the next product reads is kept too
    after = kept(lambda x, v: F.gelu(x @ v) @ v, leaf(64, 128), leaf(128, 128))
    assert after["kept"] == 2 * 64 * 128 * 4
    deep = kept(lambda x, v: ((x @ v) * 2 + 1).relu().square().neg().relu().square().sum(),
                leaf(64, 128),
                leaf(128, 128))
    assert deep["kept"] == 64 * 128 * 4
    assert "operations computed again" in (f := jit.trace(by_hand), f(x, w))[0].explain()


def test_views_are_made_again_of_what_is_kept():
    def heads(x, w):
        q, k, v = (x @ w).view(4, 6, 3, 8).transpose(1, 2).split(1, 1)
        return (q @ k.mT).softmax(-1) @ v
    grads, f = [], jit.trace(heads)
    for call in f, f, heads:
        x, w = leaf(4, 6, 8), leaf(8, 24)
        call(x, w).sin().sum().backward()
        grads.append((bits(x.grad), bits(w.grad)))
    assert grads[0] == grads[1] == grads[2]
    path, = f.explain(data=True)["paths"]
    assert path["backward"]["kept"] == 4 * (4 * 6 * 24 + 4 * 6 * 6) or not path["launches"]
    assert len(path["python"]) == 1 or not path["launches"]              # the product's view of x


def test_what_a_call_keeps_is_freed():
    f, x, w = jit.trace(by_hand), leaf(512, 512), leaf(512)
    for _ in range(2):
        f(x, w)
    y = f(x, w)
    node = y._node
    y.sum().backward(retain_graph=True)
    assert None not in node.inputs
    kept = [weakref.ref(t) for t in node.inputs if t is not x and t is not w]
    assert len(kept) == 1
    y.sum().backward()
    assert node.released and node.inputs == [None] * 3 and kept[0]() is None


def test_other_sizes_divide_alike():
    def step(x, w):
        return by_hand(x, w).sum()
    f = jit.trace(step)
    for n in (40, 7, 3, 90, 1000):
        for _ in range(2):
            grads = []
            for call in f, step:
                x, w = leaf(n, 8), leaf(8, seed=1)
                call(x, w).backward()
                grads.append((bits(x.grad), bits(w.grad)))
            assert grads[0] == grads[1]
    paths = f.explain(data=True)["paths"]
    assert (len({p["backward"]["again"] for p in paths}) == 1
            and sum(p["like"] is not None for p in paths) >= 3)


def test_threads_differentiate_one_trace():
    f, wrong = jit.trace(by_hand), []
    f(leaf(30, 40), leaf(40))

    def work(k):
        for i in range(20):
            x, w, u, v = (t for _ in range(2)
                          for t in (leaf(30, 40, seed=k * 100 + i), leaf(40, seed=i)))
            f(x, w).sum().backward()
            by_hand(u, v).sum().backward()
            wrong.extend([(k, i)] * (bits(x.grad) != bits(u.grad) or bits(w.grad) != bits(v.grad)))
    in_threads(work)
    assert not wrong


def test_one_weight_in_two_calls():
    """What the first call's backward adds up for an edge is not what eager adds when something
    is there already."""
    net = nn.Linear(8, 8)
    block = jit.trace(lambda h: h + (net(h) * h).tanh() * h.exp())
    grads = []
    for call in block, block.fn:
        for _ in range(2):
            net.zero_grad()
            x = leaf(5, 8)
            h = call(call(x)) * x
            (h.sum() + call(x).pow(2).sum() + x.sin().sum()).backward()
        grads.append([bits(t.grad) for t in (x, *net.parameters())])
    assert grads[0] == grads[1]


def brute(edges, start, end):
    """The least capacity of a cut, over all of them."""
    inner = sorted({p for a, b, _ in edges for p in (a, b)} - {start, end})
    sides = ([start, *(p for i, p in enumerate(inner) if k >> i & 1)]
             for k in range(1 << len(inner)))
    return min(sum(c for a, b, c in edges if a in s and b not in s) for s in map(set, sides))


@pytest.mark.parametrize("seed", range(40))
def test_cuts_are_minimal(seed):
    import random
    r, places = random.Random(seed), [*range(7)]
    edges = ([(*r.sample(places, 2), r.randrange(9)) for _ in range(r.randrange(4, 20))] + [
        (0, 1, 2), (5, 6, 2)])
    network = _Network(0, 6)
    for a, b, c in edges:
        network.edge(a, b, c)
    side = network.before_minimum_cut()
    assert (0 in side and 6 not in side
            and sum(c for a, b, c in edges if a in side and b not in side) == brute(edges, 0, 6))


def test_long_chains_are_divided_or_left_in_time():
    def chain(x, n):
        for _ in range(n):
            x = (x * 1.01).sin()
        return x
    for n in (MOST // 4, 3 * MOST):
        f, grads = jit.trace(lambda x, n=n: chain(x, n)), []
        for call in f, f, f.fn:
            x = leaf(3, 4)
            call(x).sum().backward()
            grads.append(bits(x.grad))
        assert grads[0] == grads[1] == grads[2]


def text(nodes, types):
    return [line.partition("  #")[0].strip() for line in lines(nodes, types)]


def test_reductions_wait_for_pointwise_nodes():
    def fn(x, y):
        a = x * y
        s = a.sum(0)
        b = a * 2 - x
        return s + 1, b
    f = jit.trace(fn)
    x, y = whet.randn(300, 40), whet.randn(300, 40)
    for _ in range(3):
        for g, w in zip(f(x, y), fn(x, y)):
            assert bits(g) == bits(w)
    from whet.passes.delay_reductions import delay_reductions
    from whet.passes.listing import Listing
    g = f.recorded
    nodes = [n for n in g.nodes if n.kind == "op"]
    delayed = delay_reductions(Listing(nodes, g.roots(), g.types, set()))
    order = [n.op.name for n in delayed.nodes]
    assert ([n.op.name for n in nodes] == ["mul", "sum", "mul", "sub", "add"]
            and order == ["mul", "mul", "sub", "sum", "add"])


def test_a_choice_for_other_nodes_is_not_taken():
    """A layer changes its class: the nodes are others, some under the same numbers."""
    net = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Tanh(), nn.Dropout(0.5),
                        nn.Linear(4, 4))
    opt = whet.optim.Adam(net.parameters(), lr=0.01)
    schedule = whet.optim.lr_scheduler.StepLR(opt, 3, 0.5)

    @jit.trace
    def step(x):
        y = x * 1.0 + opt.param_groups[0]["lr"]
        schedule.step()
        return net(y[None].expand(2, 4))[0]
    for k in range(6):
        if k == 3:
            net[0].__class__ = type("Shifted", (nn.Linear,), {"forward": lambda self, v: v - 1})
        step(whet.ones(4)).sum().backward()
        opt.step()
    assert step.explain(data=True)["calls"]["replayed"]
