"""Gradients through traced calls: whatever is asked of them comes out as eager's, to the bit, from
the first call on."""

import pytest
import whet
from whet import jit
from whet.autograd import grad

from tests.jit.gradient_calls import bits, leaf, ways
from tests.together import in_threads


def net(x, w, v):
    h = (x @ w).tanh()
    return ((h * v).softmax(-1) @ w.mT * x).sum(), h


def test_second_derivatives_have_eagers_bits():
    def use(call):
        x, w, v = leaf(5, 4), leaf(4, 6, seed=1), leaf(6, seed=2)
        y, _ = call(x, w, v)
        gs = grad(y, [x, w, v], create_graph=True)
        (sum((g * g).sum() for g in gs) + y * 3).backward()
        return bits(*gs, x.grad, w.grad, v.grad)
    eager, traced = ways(net, use)
    assert eager == traced


def test_third_derivatives():
    def use(call):
        x, = (leaf(7),)
        y, out = call(x), []
        for _ in range(3):
            y, = grad(y.sum(), x, create_graph=True)
            out += bits(y)
        return out
    eager, traced = ways(lambda x: (x * x).exp().sin() * x, use)
    assert eager == traced


def test_a_penalty_on_gradients_twice_through_one_graph():
    def use(call):
        x, w, v = leaf(5, 4), leaf(4, 6, seed=1), leaf(6, seed=2)
        y, h = call(x, w, v)
        a, = grad(y, x, create_graph=True)
        b, = grad(h.square().sum() + y, x, create_graph=True)
        (a.norm() + (b * x).sum() + h.mean() + (h * h).sum() + y).backward()
        return bits(a, b, x.grad, w.grad, v.grad)
    eager, traced = ways(net, use)
    assert eager == traced


def test_results_are_freed_apart():
    def f(a, b):
        return (a * a).sum(), (b * b).exp().sum(), a * b

    def use(call):
        a, b = leaf(3), leaf(3, seed=1)
        first, second, both = call(a, b)
        first.backward()
        second.backward()
        said = []
        for again in (first, second, both.sum()):
            try:
                again.backward()
            except RuntimeError as e:
                said.append(str(e)[:40])
        return bits(a.grad, b.grad), said
    eager, traced = ways(f, use)
    assert eager == traced and len(eager[0][1]) == 2


def test_a_graph_that_saved_nothing_runs_again():
    def use(call):
        a = leaf(3)
        y = call(a)
        for _ in range(3):
            y.sum().backward()
        return bits(a.grad)
    eager, traced = ways(lambda a: a + 1 + a, use)
    assert eager == traced


def test_leaves_do_not_share_a_gradient():
    def use(call):
        a, b, g = leaf(3), leaf(3, seed=1), whet.ones(3)
        call(a, b).backward(g)
        b.grad.mul_(5)
        return bits(a.grad, b.grad, g)
    eager, traced = ways(lambda a, b: a + b, use)
    assert eager == traced


def test_hooks_and_gradients_of_results_on_the_way():
    def use(call):
        x, w, v = leaf(5, 4), leaf(4, 6, seed=1), leaf(6, seed=2)
        y, h = call(x, w, v)
        h.retain_grad()
        seen = []
        h.register_hook(lambda g: seen.append(bits(g)))
        y.backward(retain_graph=True)
        inner, = grad(y, h)
        return (seen, bits(h.grad, x.grad, inner), y.grad_fn.name(),
                [n and n.name() for n, _ in h.grad_fn.next_functions])
    eager, traced = ways(net, use)
    assert eager == traced


def test_outputs_of_nodes_that_have_several():
    def f(x):
        parts = (x * x).split(2)
        values, at = x.max(0)
        return parts[1], parts[0].exp(), values, at, x.sort(0)[0]

    def use(call):
        x = leaf(4, 3)
        out = call(x)
        numbers = [t.output_nr for t in out]
        live = [t for t in out if t.requires_grad]
        g, = grad([t.square().sum() for t in live], x, create_graph=True)
        (g.square().sum() + live[0].sum() + live[2].exp().sum()).backward()
        return numbers, bits(*out, g, x.grad), [t.grad_fn.name() for t in live]
    eager, traced = ways(f, use)
    assert eager == traced and eager[0][0][0] == 1


def test_gradients_of_some_inputs_alone():
    """What leads to the others is not gone through: a weight that was written to does not matter,
    nor is its part of the graph freed."""
    def use(call):
        x, u, w = leaf(3), leaf(3, seed=1), leaf(3, seed=2)
        y = call(x, u, w).sum()
        out = bits(*grad(y, [x]))
        out += bits(*grad(y, [u], retain_graph=True))
        with whet.no_grad():
            w.add_(1)
        try:
            grad(y, [u])
        except RuntimeError as e:
            out.append(str(e))
        return out
    eager, traced = ways(lambda x, u, w: x.exp() + u * w, use)
    assert eager == traced and "modified by an inplace operation" in eager[0][-1]


def test_writes_after_the_call_matter_where_eager_saved_them():
    def use(call):
        x, w = leaf(3), leaf(3, seed=1)
        y = call(x, w)
        with whet.no_grad():
            x.add_(1)
        g, = grad(y.sum(), w, create_graph=True)
        g.sum().backward()
        return bits(g, w.grad, x.grad)
    eager, traced = ways(lambda x, w: ((x + w) * 2).exp(), use)
    assert eager == traced


def test_writes_to_what_was_saved_in_vain():
    """A product saves what the wanted gradients read: a write to the factor whose own gradient
    alone would read the other is no error, a write to the other is one."""
    w = whet.ones(3, 3)

    def use(call):
        x = leaf(1, 3)
        y, z = call(x)
        said = []
        for spoilt in (x, y, w):
            with whet.no_grad():
                spoilt.mul_(1)
            try:
                (y + z).sum().backward(retain_graph=True)
            except RuntimeError as e:
                said.append(str(e).partition(", is at version")[0])
        return said, bits(x.grad)

    def f(x):
        y = x @ w
        return y, y @ w
    eager, traced = ways(f, use)
    assert eager == traced
    assert all(len(said) == 1 and "`matmul` saved" in said[0] for said, _ in eager)


def test_second_derivatives_know_of_writes_to_views():
    def f(x, w):
        v = x * 2
        v[..., 0].add_(w)
        v[1:].mul_(w)
        return v

    def use(call):
        x, w = leaf(3), leaf(seed=1)
        g, h = grad((call(x, w) ** 3).sum(), [w, x], create_graph=True)
        (g + h.sum()).backward()
        return bits(g, h, w.grad, x.grad)
    eager, traced = ways(f, use)
    assert eager == traced


def test_what_wrote_to_a_view_is_a_node_too():
    """Its result, which its backward reads, leads back to it in a second derivative."""
    def f(x):
        y = x * 3
        y.reshape(-1).sigmoid_()
        return y.t()

    def use(call):
        x = leaf(3)
        y = call(x).sum()
        g, = grad(y, x, create_graph=True)
        (y + g.square().sum()).backward()
        return bits(g, x.grad)
    eager, traced = ways(f, use)
    assert eager == traced


def test_a_call_that_writes_to_what_it_reads():
    state = whet.ones(3)

    def f(x):
        state.mul_(0.5)
        y = x * state.clone()
        state.add_(1)
        return y * y

    def use(call):
        if use.calls % 4 == 0:
            with whet.no_grad():
                state.fill_(1)
        use.calls += 1
        x = leaf(3)
        g, = grad(call(x).sum(), x, create_graph=True)
        g.sum().backward()
        return bits(g, x.grad, state)
    use.calls = 0
    eager, traced = ways(f, use)
    assert eager == traced


@pytest.mark.parametrize("write",
                         [lambda y, v: v.mul_(2), lambda y, v: y.add_(1), lambda y, v: y[0].exp_()])
def test_a_result_and_a_view_of_it(write):
    def f(x):
        y = whet.cat([x * 2, x])
        return y[1:], y, y * 1, x[:2]

    def use(call):
        x = leaf(3)
        v, y, z, head = call(x * 1)
        write(y, v)
        out = (bits(v, y, z, head), [t._version for t in (v, y, z, head)], v._base is y,
               head._base is None)
        sum((t * t).sum() for t in (v, y, z, head)).backward()
        return out, bits(x.grad)
    eager, traced = ways(f, use)
    assert eager == traced and eager[0][0][2]


def test_a_view_of_an_argument_that_is_a_view():
    def use(call):
        x, y = leaf(4, 3), whet.ones(2, 3)
        a, b = call(x[1:], y[0])
        a, b = a * a, b.add_(1)
        a.sum().backward()
        return bits(a, b, x.grad, y), b._base is y, y._version
    eager, traced = ways(lambda u, v: (u.mT, v[1:]), use)
    assert eager == traced and eager[0][1]


def test_a_view_of_what_nobody_else_has():
    def use(call):
        x = leaf(4, 3)
        v = call(x)
        v[0] = 7
        v.square().sum().backward()
        return bits(v, v._base, x.grad), v._version
    eager, traced = ways(lambda x: (x * 2).mT[1:], use)
    assert eager == traced


def test_a_gradient_of_another_type():
    def use(call):
        x = leaf(300)
        call(x).backward(leaf(300, seed=1, dtype=whet.float64).detach())
        return bits(x.grad)
    eager, traced = ways(lambda x: (x * 1.1).exp() * x, use)
    assert eager == traced


def test_versions_of_results_are_eagers():
    def f(x):
        y = x * 2
        y.add_(1).mul_(x)
        z = x + 1
        z.data.add_(1)
        return y, y.detach(), x.detach(), z, z.data.mul_(2), x.data, x.data.add_(1).data.add_(1)

    def use(call):
        x = whet.ones(3)
        x.add_(1)
        out = call(x)
        before = [t._version for t in out]
        out[1].zero_()
        x.zero_()
        return before, [t._version for t in out], bits(*out)
    eager, traced = ways(f, use)
    assert eager == traced


def test_many_threads_go_back_through_one_trace():
    f = jit.trace(lambda x, w: ((x @ w).tanh() @ w.mT).exp())
    f(leaf(60, 60), leaf(60, 60))
    wrong = []

    def work(seed):
        for k in range(30):
            found = []
            for call in (f, f.fn):
                x, w = leaf(60, 60, seed=seed), leaf(60, 60, seed=k)
                call(x, w).sum().backward()
                found.append(bits(x.grad, w.grad))
            if found[0] != found[1]:
                wrong.append((seed, k))
    in_threads(work)
    assert not wrong


def test_a_part_of_overlapping_memory_that_does_not_overlap_itself_is_written_to():
    for fn in (lambda x: x.__setitem__((..., 0), 2.0),
               jit.trace(lambda x: x.__setitem__((..., 0), 2.0))):
        for _ in range(3):
            x = whet.zeros(1).expand(3)
            fn(x)
            assert x.tolist() == [2.0, 2.0, 2.0]
            y = whet.zeros(3, 1).expand(3, 4)
            fn(y)
            assert y.tolist() == [[2.0] * 4] * 3
