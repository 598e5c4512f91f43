"""Graphs that were used up: errors, hooks and memory of a second backward are as eager's."""
import gc
import weakref

import pytest
import whet
from whet import jit
from whet.autograd import grad

from tests.jit.gradient_calls import bits, leaf, outcome, ways


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
        said = ([t._version for t in (x, *out)], [t._base is out[2] for t in out],
                bits(x, w.grad, *out), [t.grad_fn and t.grad_fn.name() for t in out])
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
        for look in (lambda y, z: None, lambda y, z: y.sum().backward(retain_graph=True),
                     lambda y, z: grad(z.sum(), a, create_graph=True)):
            y, z = f(a, b)
            look(y, z)
            node = weakref.ref(y._node)
            del y, z
            assert node() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("zeros",
                         [(False, False, True, False, True), (True, True, False, True, False)])
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


def test_a_used_up_graph_that_only_zeros_flow_to():
    """What is written over has a gradient of zero: the node that was freed is asked for it."""
    def f(x):
        y = x * whet.tensor(3.0)
        y.backward()
        return y.bernoulli_(0.5)

    def use(call):
        x = leaf()
        with pytest.raises(RuntimeError, match="second time"):
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
        return [bits(*grad(y.sum(), v)), outcome(lambda: grad(y.sum(), x)),
                outcome(y.sum().backward), names(y.grad_fn), names(z.grad_fn),
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


@pytest.mark.parametrize("last",
                         [lambda x, y, z: z, lambda x, y, z: (z * z).sum(),
                          lambda x, y, z: z.split(1)[1]], ids=["used", "alive", "part"])
@pytest.mark.parametrize("held", [(0, 1), (0,), (1,)])
def test_used_up_graphs_that_share_nodes_are_one(last, held):
    """A hook in the inner one sees what comes through the outer one, though that raises in the
    end."""
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
        return (outcome(end.sum().backward), log, bits(x.grad),
                [outcome(y.sum().backward) for y in inner], log)
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


@pytest.mark.parametrize("last",
                         [Through.apply,
                          lambda x: (y := x * x,
                                     y.register_hook(lambda g: setattr(
                                         Through, "ran", Through.ran + 1)))[0]])
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


@pytest.mark.parametrize("make",
                         [lambda p: whet.optim.SGD([p], lr=0.1), lambda p: whet.optim.Adam([p])])
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
