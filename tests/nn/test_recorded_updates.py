"""An optimizer's step in a trace: one op for all parameters that lie alike, with eager's bits."""
import pytest
import whet
from whet import jit, optim
from whet.ir.op import find_op
from whet.ir.parse import parse
from whet.optim import update_ops

from .test_optim import KINDS, bits, give_gradients, parameters

STEPS = 5


def training(name, options, dtype):
    """(a step, the parameters, the optimizer): one parameter is a step ahead, the gradient of
    another lies otherwise in memory, and one has none."""
    params = parameters(dtype)
    ahead, turned, unused = params[0], params[5], params[1]
    opt = getattr(optim, name)(params, **options)
    alone = getattr(optim, name)([ahead], **options)
    give_gradients([ahead], 7)
    alone.step()
    opt.state[ahead] = alone.state[ahead]

    def step(gradients):
        for p, g in zip(params, gradients):
            p.grad = None if p is unused else g * 2
        turned.grad = turned.grad.transpose(0, 2).contiguous().transpose(0, 2)
        opt.step()
    return step, params, opt


def gradients_of(params, seed):
    give_gradients(params, seed)
    return [p.grad.detach() for p in params]


def updates(traced):
    return [n for n in traced.recorded.nodes if isinstance(n.op, update_ops.Update)]


@pytest.mark.parametrize("dtype", [whet.float32, whet.float64, whet.bfloat16, whet.float16],
                         ids=str)
@pytest.mark.parametrize("name, options", KINDS, ids=lambda x: str(x))
def test_a_recorded_step_gives_eagers_bits(name, options, dtype):
    (eager, params, opt), (step, others, other) = (
        training(name, options, dtype) for _ in range(2))
    traced = jit.trace(step)
    for k in range(STEPS):
        given = gradients_of(parameters(dtype), k)
        eager(given)
        traced(given)
        assert [*map(bits, params)] == [*map(bits, others)]
    for p, q in zip(params, others):
        assert {k: bits(x) for k, x in opt.state[p].items()} == {
            k: bits(x) for k, x in other.state[q].items()}
        assert p._version == q._version
    # all but the empty one, the one without a gradient, and the one whose gradient lies otherwise
    (node,) = updates(traced)
    assert node.attrs["tensors"] == 3
    # machine code does it
    assert not any(isinstance(n.op, update_ops.Update)
                   for r in traced._calls.policy.held for n in r.program.called)


def test_a_rate_that_varies_is_an_operand():
    def made():
        params = parameters()
        return params, optim.Adam(params)
    (params, opt), (others, other) = made(), made()

    def stepping(opt, params):
        def step(gradients, rate):
            opt.param_groups[0]["lr"] = rate
            for p, g in zip(params, gradients):
                p.grad = g.clone()
            opt.step()
        return step
    eager, traced = stepping(opt, params), jit.trace(stepping(other, others))
    for k in range(12):
        given = gradients_of(parameters(), k)
        eager(given, 0.1 / (k + 1))
        traced(given, 0.1 / (k + 1))
        assert [*map(bits, params)] == [*map(bits, others)]
    assert traced.explain(data=True)["calls"]["replayed"] >= 7


@pytest.mark.parametrize("name", ["Adam", "NAdam", "SGD"])
def test_more_parameters_than_a_launch_has_room_for(name):
    def made():
        params = [whet.zeros(3).requires_grad_() for _ in range(400)]
        opt = getattr(optim, name)(params, lr=0.1)

        def step(g):
            for p in params:
                p.grad = g * 2
            opt.step()
        return step, params
    (eager, params), (step, others) = made(), made()
    traced = jit.trace(step)
    for k in range(4):
        for f in (eager, traced):
            f(whet.tensor([1.0, k, -2.0]))
        assert [*map(bits, params)] == [*map(bits, others)]


def test_it_is_found_by_its_name():
    w, v = whet.randn(4, 3).requires_grad_(), whet.randn(3).requires_grad_()
    optimizer = optim.Adam([w, v], amsgrad=True, weight_decay=0.1)

    @jit.trace
    def step(x):
        optimizer.zero_grad()
        (w * x + v).sum().backward()
        optimizer.step()
    for _ in range(4):
        step(whet.ones(4, 3))
    (node,) = updates(step)
    assert node.op.name == "Adam.step/0,l2,1,1" and len(node.written()) == 2 * 5
    text = str(step.recorded)
    assert str(parse(text)) == text
    for name in (node.op.name, "Adam.exp_avg/0,l2,1,1", "SGD.step/0,,1,0"):
        assert find_op(name).name == name
    for wrong in ("Adam.exp_avg/", "Adam.step/", "Adam.nothing/0,l2,1,1", "Adam/0",
                  "Optimizer.step/0", "/", "LBFGS.x/0"):
        assert find_op(wrong) is None


@pytest.mark.parametrize("dtype", [whet.float32, whet.float64, whet.bfloat16], ids=str)
def test_without_kernels_it_is_done_by_ops(dtype, monkeypatch):
    op = update_ops.update_op(optim.AdamW, optim.AdamW([whet.ones(1)]).kind({
        "maximize": False, "weight_decay": 0.1, "decoupled_weight_decay": True, "amsgrad": False,
        "betas": (0.9, 0.99)}))

    def done():
        params, states = parameters(dtype, [(3, 4), (5000,)]), []
        for seed in (1, 2):
            states += [t.detach().abs() for t in parameters(dtype, [(3, 4), (5000,)], seed)]
        steps = [whet.tensor(1.0), whet.tensor(7.0)]
        gradients = gradients_of(params, 3)
        arrays = [t._array for t in (*params, *states, *steps, *gradients)]
        op.write(*arrays, 0.01, 0.9, 0.99, 1e-8, 0.1, tensors=2)
        return [bits(t) for t in (*params, *states, *steps)]
    by_kernel = done()
    monkeypatch.setattr(update_ops, "address", lambda *args: None)
    assert done() == by_kernel


def test_a_subclass_of_the_users_is_recorded_too():
    class Mine(optim.SGD):
        pass
    w = whet.ones(3).requires_grad_()
    opt = Mine([w], lr=0.5)

    @jit.trace
    def step(x):
        opt.zero_grad()
        (w * x).sum().backward()
        opt.step()
    for _ in range(5):
        step(whet.ones(3))
    assert w.tolist() == [-1.5] * 3
    assert not updates(step)[0].op.ours
