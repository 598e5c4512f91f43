"""Gradients through traced calls: whatever is asked of them comes out as eager's, to the bit, from the first call on."""
import gc
import weakref

import pytest
import whet
from whet import jit
from whet.autograd import grad

from tests.together import in_threads


def ways(f, use, calls=4):
    """What `use(call)` gives for each of several calls, eagerly and traced; the trace must have been replayed."""
    traced = jit.trace(f)
    seen = [[use(call) for _ in range(calls)] for call in (f, traced)]
    assert [p["calls"] for p in traced.explain(data=True)["paths"]] == [calls - 1], traced._why
    return seen


def leaf(*shape, seed=0, dtype=whet.float32):
    return whet.randn(*shape, generator=whet.Generator().manual_seed(seed)).to(dtype).requires_grad_()


def bits(*tensors):
    return [None if t is None else t.detach().numpy().tobytes() for t in tensors]


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
        return seen, bits(h.grad, x.grad, inner), y.grad_fn.name(), [n and n.name() for n, _ in h.grad_fn.next_functions]
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
    """What leads to the others is not gone through: a weight that was written to does not matter, nor is its part of the graph freed."""
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
    """A product saves both operands, though only the gradient of one is asked for: a write to the other is an error, as in eager mode."""
    w = whet.ones(3, 3)

    def use(call):
        x = leaf(1, 3)
        y, z = call(x)
        said = []
        for spoilt in (x, y):
            with whet.no_grad():
                spoilt.add_(1)
            try:
                (y + z).sum().backward(retain_graph=True)
            except RuntimeError as e:
                said.append(str(e))
        return said, bits(x.grad)

    def f(x):
        y = x @ w
        return y, y @ w
    eager, traced = ways(f, use)
    assert eager == traced and "`matmul` saved" in eager[0][0][0]


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


@pytest.mark.parametrize("write", [lambda y, v: v.mul_(2), lambda y, v: y.add_(1), lambda y, v: y[0].exp_()])
def test_a_result_and_a_view_of_it(write):
    def f(x):
        y = whet.cat([x * 2, x])
        return y[1:], y, y * 1, x[:2]

    def use(call):
        x = leaf(3)
        v, y, z, head = call(x * 1)
        write(y, v)
        out = bits(v, y, z, head), [t._version for t in (v, y, z, head)], v._base is y, head._base is None
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


def test_results_whose_graph_was_used_up():
    w = leaf(3)

    def f(x):
        y = w * 2
        y.data.mul_(1)
        y[:1].data.add_(x[1])
        y = y.add_(x)
        (y * y).sum().backward()
        x[1:].data.mul_(2)
        return y.split(1)[1], y.tanh().detach(), y

    def use(call):
        w.grad, x = None, whet.ones(3)
        out = call(x)
        said = [t._version for t in (x, *out)], [t._base is out[2] for t in out], bits(x, w.grad, *out), [t.grad_fn and t.grad_fn.name() for t in out]
        with pytest.raises(RuntimeError, match="a second time"):
            out[2].sum().backward()
        return said
    eager, traced = ways(f, use)
    assert eager == traced


def test_a_graph_is_freed_when_its_results_are():
    f = jit.trace(lambda a, b: ((a * b).exp(), a.sin()))
    a, b = leaf(3), leaf(3, seed=1)
    f(a, b)
    gc.disable()
    try:
        for look in (lambda y, z: None, lambda y, z: y.sum().backward(retain_graph=True), lambda y, z: grad(z.sum(), a, create_graph=True)):
            y, z = f(a, b)
            look(y, z)
            node = weakref.ref(y._node)
            del y, z
            assert node() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("zeros", [(False, False, True, False, True), (True, True, False, True, False)])
def test_a_backward_that_goes_by_its_values_may_read_what_it_did_not_before(zeros):
    """The gradient of a product of numbers takes another way where one of them is zero."""
    def f(x):
        return x.cumprod(0).softmax(0)
    t = jit.trace(f)
    for zero in zeros:
        x = whet.randn(3, 2)
        if zero:
            x[1, 0] = 0
        grads = []
        for fn in (f, t):
            y = x.clone().requires_grad_()
            (fn(y) * whet.arange(6.0).reshape(3, 2)).sum().backward()
            grads.append(y.grad.numpy().tobytes())
        assert grads[0] == grads[1]


def test_a_part_of_overlapping_memory_that_does_not_overlap_itself_is_written_to():
    for fn in (lambda x: x.__setitem__((..., 0), 2.0), jit.trace(lambda x: x.__setitem__((..., 0), 2.0))):
        for _ in range(3):
            x = whet.zeros(1).expand(3)
            fn(x)
            assert x.tolist() == [2.0, 2.0, 2.0]
            y = whet.zeros(3, 1).expand(3, 4)
            fn(y)
            assert y.tolist() == [[2.0] * 4] * 3


def outcome(call):
    """The error that a call raises."""
    with pytest.raises(RuntimeError) as e:
        call()
    return str(e.value)


def test_a_used_up_graph_that_no_gradient_flows_to():
    """What is written over has no gradient: the node that was freed is never asked."""
    def f(x):
        y = x * whet.tensor(3.0)
        y.backward()
        return y.bernoulli_(0.5)

    def use(call):
        x = leaf()
        call(x).backward()
        return bits(x.grad)
    eager, traced = ways(f, use)
    assert eager == traced


def test_a_used_up_graph_under_what_was_written_to():
    """The node over it is asked first."""
    def f(x):
        y = x.log1p()
        y.backward()
        return whet.log_softmax(y, 0)

    def use(call):
        y, z = call(leaf()), call(leaf())
        with whet.no_grad():
            y.mul_(2)
        return [outcome(t.backward) for t in (y, z, z)] + [names(z.grad_fn)]

    def names(n):
        return n and [n.name(), [names(m) for m, _ in n.next_functions]]
    eager, traced = [[use(call) for _ in range(3)] for call in (f, jit.trace(f))]
    assert eager == traced and "`log_softmax`" in eager[0][0] and "second time" in eager[0][1]


def test_a_used_up_graph_of_an_op_with_several_outputs():
    def f(x):
        y = x * 2
        (y * y).sum().backward()
        return y.split(1)[1], y.topk(2)[0]

    def use(call):
        a, b = call(leaf(3))
        return [(t.grad_fn.name(), t.output_nr, outcome(t.sum().backward)) for t in (a, b)]
    eager, traced = ways(f, use)
    assert eager == traced


def test_the_graph_of_what_was_used_up():
    """It is all there to be looked at, and may be alive for some."""
    def f(x, v):
        y = x * x
        y.exp().sum().backward()
        return whet.cat([y.view(-1), v.view(-1)]), y[1:].split(1)[1]

    def names(n):
        return n and [n.name(), [names(m) for m, _ in n.next_functions]]

    def use(call):
        x, v = leaf(3), leaf(3, seed=1)
        y, z = call(x, v)
        return [bits(*grad(y.sum(), v)), outcome(lambda: grad(y.sum(), x)), outcome(y.sum().backward), names(y.grad_fn), names(z.grad_fn),
                outcome(z.sum().backward), bits(x.grad, v.grad)]
    eager, traced = ways(f, use)
    assert eager == traced


@pytest.mark.parametrize("used", [(0,), (1,), (2,), (0, 2), (1, 2), (0, 1, 2)])
def test_hooks_run_in_eagers_order_before_the_error_of_a_used_up_graph(used):
    def f(x):
        made = [x.square(), x.sin(), x.exp()]
        sum(made[i].sum() for i in used).backward()
        return made[1], made[2], made[0]

    def use(call):
        x, log = leaf(3), []
        out = call(x)
        for k, y in enumerate(out):
            y.register_hook(lambda g, k=k: log.append(k))
        return outcome(sum(out).sum().backward), log, bits(x.grad)
    eager, traced = ways(f, use)
    assert eager == traced


@pytest.mark.parametrize("last", [lambda x, y, z: z, lambda x, y, z: (z * z).sum(), lambda x, y, z: z.split(1)[1]], ids=["used", "alive", "part"])
@pytest.mark.parametrize("held", [(0, 1), (0,), (1,)])
def test_used_up_graphs_that_share_nodes_are_one(last, held):
    """A hook in the inner one sees what comes through the outer one, though that raises in the end."""
    def f(x):
        y = x.exp()
        z = y.view(-1) + y
        (z * x).tanh().sum().backward()
        return y, z, last(x, y, z)

    def use(call):
        x, log = leaf(3), []
        *out, end = call(x)
        inner = [out[k] for k in held]
        del out
        for k, y in zip(held, inner):
            y.register_hook(lambda g, k=k: log.append((k, bits(g))))
        return outcome(end.sum().backward), log, bits(x.grad), [outcome(y.sum().backward) for y in inner], log
    eager, traced = ways(f, use)
    assert eager == traced


class Through(whet.autograd.Function):
    """What saves nothing can be gone through again."""
    ran = 0

    @staticmethod
    def forward(ctx, x):
        return x.sign()

    @staticmethod
    def backward(ctx, g):
        Through.ran += 1
        return g


@pytest.mark.parametrize("last", [Through.apply, lambda x: (y := x * x, y.register_hook(lambda g: setattr(Through, "ran", Through.ran + 1)))[0]])
def test_a_used_up_graph_that_runs_python_of_the_users(last):
    """Nobody but eager knows what that does: it is neither left out nor called once more."""
    def f(x):
        y = last(x * 1)
        y.sum().backward()
        return y

    def use(call):
        x = leaf(3)
        y, Through.ran = call(x), 0
        try:
            y.sum().backward()
        except RuntimeError as e:
            return str(e), Through.ran
        return bits(x.grad), Through.ran
    traced = jit.trace(f)
    assert [use(f) for _ in range(4)] == [use(traced) for _ in range(4)]
    assert "Python" in str(traced._why) or "hooks" in str(traced._why)


def test_an_argument_whose_graph_was_used_up_when_it_was_recorded():
    """Its graph is its own: another call's is not."""
    def f(x):
        return x * 2

    def use(call):
        x = leaf(3)
        y = x * x
        if not seen:
            y.sum().backward()
        seen.append(y)
        z = call(y)
        if len(seen) == 1:
            return [outcome(z.sum().backward)]
        z.sum().backward()
        return bits(x.grad)
    out = []
    for call in (f, jit.trace(f)):
        seen = []
        out.append([use(call) for _ in range(3)])
    assert out[0] == out[1] and "second time" in out[0][0][0]


def test_an_error_of_a_node_that_was_looked_at_is_raised_again():
    def use(call):
        x = leaf(3)
        y = call(x)
        y.grad_fn.name()
        with whet.no_grad():
            x.add_(1)
        said = []
        for _ in range(3):
            with pytest.raises(RuntimeError) as e:
                y.sum().backward()
            said.append(str(e.value))
        return said
    eager, traced = ways(lambda x: x.exp().log() * x, use)
    assert eager == traced and all("`mul` saved" in text for text in eager[0])


def test_an_error_in_the_middle_uses_up_what_ran_before_it():
    def f(x, w):
        y = w / x
        return (y * y).square(), y

    def use(call):
        x, w = leaf(seed=1), leaf()
        z, y = call(x, w)
        with whet.no_grad():
            x.add_(1)
        return [outcome(z.backward) for _ in range(2)]
    eager, traced = ways(f, use)
    assert eager == traced and "`div`" in eager[0][0] and "second time" in eager[0][1]


@pytest.mark.parametrize("make", [lambda p: whet.optim.SGD([p], lr=0.1), lambda p: whet.optim.Adam([p])])
def test_an_error_names_the_optimizer_that_wrote(make):
    def run(wrap):
        p = whet.ones(3, requires_grad=True)
        p.grad = whet.ones(3)
        step = make(p)

        def f(x):
            step.step()
            return x * p
        call = wrap(f)
        ys = [call(leaf(3)) for _ in range(4)]
        return [outcome(y.sum().backward) for y in ys[:-1]]
    eager, traced = run(lambda f: f), run(jit.trace)
    assert eager == traced and ".step`" in eager[0]


def test_the_used_up_graph_of_a_result_leads_to_a_leaf_of_the_runs():
    layer = whet.nn.Linear(3, 1)

    def penalty(x):
        x = x.clone().requires_grad_()
        g, = grad(layer(x).tanh().sum(), x, create_graph=True)
        loss = (g.norm(dim=1) - 1).square().mean()
        layer.zero_grad()
        loss.backward()
        return loss
    eager, traced = ways(penalty, lambda call: bits(call(leaf(4, 3).detach()), layer.weight.grad))
    assert eager == traced


def test_a_leaf_that_somebody_else_holds_is_no_part_of_a_used_up_graph():
    from whet.jit.capture.recorder import escaped
    from whet.jit.gradient.eager_graph import leaves_of
    x = leaf(3)
    y = x.exp().sum()
    y.backward()
    held = leaves_of([y.grad_fn], 0)
    kept = [x]
    made = [x, x.grad]
    del x
    refs = [weakref.ref(t) for t in made]
    del made
    assert escaped(refs, held) is kept[0]
    del kept[:]
    assert escaped(refs, held) is None


def test_what_an_inplace_op_overwrites_is_kept_as_it_lies():
    def f(x):
        return (x * 1).sin_()

    def strides(call):
        x = whet.ones(4, 3).t().requires_grad_()
        y = call(x)
        y.double().sum().backward()
        return y.stride(), x.grad.stride()
    eager, traced = ways(f, strides)
    assert eager == traced == [((1, 3), (1, 3))] * 4
