"""Optimizers: the kernel is the formula to the bit, the formulas are the published ones, state
survives, schedules follow."""
import copy
import math
import warnings

import numpy as np
import pytest
import whet
from whet import nn, optim
from whet.optim import elementwise, lr_scheduler, swa_utils

SHAPES = [(3, 4), (5,), (), (0, 2), (4097,), (2, 3, 4)]
KINDS = [("SGD", {}), ("SGD", dict(lr=0.1, momentum=0.9)),
         ("SGD", dict(lr=0.1, momentum=0.9, dampening=0.1, weight_decay=0.01, maximize=True)),
         ("SGD", dict(lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.1)), ("Adam", {}),
         ("Adam", dict(lr=0.1, betas=(0.4, 0.9), weight_decay=0.1, amsgrad=True)),
         ("Adam", dict(maximize=True, weight_decay=0.1, decoupled_weight_decay=True)),
         ("AdamW", dict(amsgrad=True, weight_decay=0.3)), ("Adamax", dict(weight_decay=0.1)),
         ("NAdam", dict(weight_decay=0.1)),
         ("NAdam", dict(decoupled_weight_decay=True, weight_decay=0.1)),
         ("RAdam", dict(weight_decay=0.1)),
         ("RAdam", dict(betas=(0.9, 0.99), decoupled_weight_decay=True, weight_decay=0.1)),
         ("ASGD", dict(weight_decay=0.1, t0=2)), ("Rprop", {}), ("RMSprop", dict(weight_decay=0.1)),
         ("RMSprop", dict(centered=True, momentum=0.9, maximize=True)),
         ("RMSprop", dict(centered=True, alpha=0.3)),
         ("Adagrad", dict(lr_decay=0.1, weight_decay=0.1, initial_accumulator_value=0.5)),
         ("Adadelta", dict(weight_decay=0.1)), ]


def parameters(dtype=whet.float32, shapes=SHAPES, seed=0):
    rng = np.random.default_rng(seed)
    return [whet.tensor(rng.standard_normal(s)).to(dtype).requires_grad_() for s in shapes]


def give_gradients(params, seed):
    rng = np.random.default_rng(1000 + seed)
    for p in params:
        p.grad = whet.tensor(rng.standard_normal(tuple(p.shape))).to(p.dtype)


def bits(t):
    return t.detach().contiguous().numpy().tobytes()


def by_ops(optimizer):
    """Send every step along the op-by-op way."""
    def step():
        for group in optimizer.param_groups:
            live = [p for p in group["params"] if p.grad is not None]
            optimizer._step_by_ops(group, live, optimizer.kind(group))
    optimizer.step = step
    return optimizer


@pytest.mark.parametrize("dtype", [whet.float32, whet.float64, whet.bfloat16, whet.float16],
                         ids=str)
@pytest.mark.parametrize("name, options", KINDS, ids=lambda x: str(x))
def test_the_kernel_gives_the_bits_of_the_ops(name, options, dtype):
    a, b = parameters(dtype), parameters(dtype)
    fast, slow = getattr(optim, name)(a, **options), by_ops(getattr(optim, name)(b, **options))
    for i in range(4):
        give_gradients(a, i)
        give_gradients(b, i)
        fast.step()
        slow.step()
        for p, q in zip(a, b):
            assert bits(p) == bits(q)
            for k, v in fast.state[p].items():
                assert bits(v) == bits(slow.state[q][k]), k
    plan, = fast._plans.values()
    assert len(plan.batches) == 1 and not plan.rest


def test_adam_is_adam():
    p, = parameters(whet.float64, [(7,)])
    opt = optim.Adam([p], lr=0.01, betas=(0.9, 0.99), eps=1e-6)
    x, m, v = p.detach().numpy().copy(), np.zeros(7), np.zeros(7)
    for t in range(1, 6):
        give_gradients([p], t)
        g = p.grad.numpy()
        opt.step()
        m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g
        x -= 0.01 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.99**t)) + 1e-6)
        np.testing.assert_allclose(p.detach().numpy(), x, rtol=1e-12)
    assert opt.state[p]["step"].item() == 5 and opt.state[p]["step"].dtype is whet.float32


def test_sgd_is_sgd():
    p, = parameters(whet.float64, [(7,)])
    opt = optim.SGD([p], lr=0.1, momentum=0.8, dampening=0.5, weight_decay=0.1)
    x, buf = p.detach().numpy().copy(), None
    for t in range(4):
        give_gradients([p], t)
        g = p.grad.numpy() + 0.1 * x
        opt.step()
        buf = g if buf is None else 0.8 * buf + 0.5 * g
        x = x - 0.1 * buf
        np.testing.assert_allclose(p.detach().numpy(), x, rtol=1e-12)


@pytest.mark.parametrize("make", [
    lambda: whet.randn(6, 8).t(), lambda: whet.randn(2, 3, 4, 5).permute(0, 3, 1, 2),
    lambda: whet.randn(10)[::2], lambda: whet.randn(3, 4)[:, 1:3],
    lambda: whet.randn(4).expand(3, 4).contiguous()])
def test_any_layout_gives_the_same(make):
    base = make()
    a = base.detach().requires_grad_()
    b = base.detach().contiguous().clone().requires_grad_()
    oa, ob = optim.Adam([a], lr=0.1), optim.Adam([b], lr=0.1)
    for i in range(3):
        give_gradients([b], i)
        a.grad = b.grad.clone() if i % 2 else b.grad.flip(0).flip(0)
        oa.step()
        ob.step()
    assert bits(a) == bits(b)


def test_steps_split_over_threads_give_the_same_bits():
    def run(threads):
        whet.set_num_threads(threads)
        ps = parameters(shapes=[(100_000,), (3,), (70_001,), (1,)])
        opt = optim.Adam(ps, lr=0.1)
        for i in range(2):
            give_gradients(ps, i)
            opt.step()
        return [bits(p) for p in ps]
    before = whet.get_num_threads()
    try:
        assert run(1) == run(2)
    finally:
        whet.set_num_threads(before)


def test_a_gradient_that_is_missing_or_comes_late():
    a, b = parameters(shapes=[(3,), (3,)])
    opt = optim.Adam([a, b], lr=0.1)
    kept = bits(b)
    give_gradients([a], 0)
    opt.step()
    opt.step()
    assert bits(b) == kept and b not in opt.state and opt.state[a]["step"].item() == 2
    give_gradients([b], 1)
    opt.step()
    assert opt.state[b]["step"].item() == 1 and opt.state[a]["step"].item() == 3
    x, = parameters(shapes=[(3,)], seed=5)
    with whet.no_grad():
        x.copy_(whet.tensor(np.frombuffer(kept, np.float32).copy()))
    alone = optim.Adam([x], lr=0.1)
    give_gradients([x], 1)
    x.grad = b.grad.clone()
    alone.step()
    assert bits(x) == bits(b)


def test_memory_may_be_replaced_between_steps():
    p, = parameters(shapes=[(4,)])
    opt = optim.SGD([p], lr=1.0, momentum=0.5)
    give_gradients([p], 0)
    opt.step()
    opt.step()
    p.data = whet.zeros(4)
    opt.state[p]["momentum_buffer"] = whet.zeros(4)
    opt.step()
    np.testing.assert_array_equal(p.detach().numpy(), -p.grad.numpy())


def test_two_parameters_over_the_same_memory_are_updated_one_after_the_other():
    memory = whet.zeros(6)
    a, b = memory[:4].detach().requires_grad_(), memory[2:].detach().requires_grad_()
    opt = optim.SGD([a, b], lr=1.0)
    a.grad, b.grad = whet.ones(4), whet.ones(4)
    opt.step()
    assert memory.tolist() == [-1, -1, -2, -2, -1, -1]


def test_a_step_is_seen_by_version_checks():
    p, = parameters(shapes=[(3,)])
    loss = (p * p).sum()
    p.grad = whet.ones(3)
    before = p._version
    optim.Adam([p]).step()
    assert p._version > before
    with pytest.raises(RuntimeError, match="modified by an inplace operation|modified"):
        loss.backward()


def test_steps_are_not_recorded():
    p, = parameters(shapes=[(3,)])
    (p * 2).sum().backward()
    for opt in ((optim.SGD([p], momentum=0.9), optim.AdamW([p]), optim.Adafactor([p]),
                 optim.NAdam([p]))):
        opt.step()
    assert p.is_leaf and p.grad_fn is None and p.requires_grad


def test_large_numbers_of_parameters():
    ps = parameters(shapes=[(2,)] * 600)
    qs = [p.detach().clone().requires_grad_() for p in ps]
    a, b = optim.Adam(ps), by_ops(optim.Adam(qs))
    for i in range(2):
        give_gradients(ps, i)
        give_gradients(qs, i)
        a.step()
        b.step()
    assert [bits(p) for p in ps] == [bits(q) for q in qs]
    plan, = a._plans.values()
    assert len(plan.batches) == 3


def test_mixed_dtypes_and_groups():
    a, b, c = (whet.ones(2, dtype=t, requires_grad=True)
               for t in (whet.float32, whet.float64, whet.float32))
    opt = optim.SGD([{"params": [a, b]}, {"params": c, "lr": 1.0}], lr=0.5)
    for p in (a, b, c):
        p.grad = whet.ones_like(p)
    opt.step()
    assert a.tolist() == [0.5, 0.5] and b.tolist() == [0.5, 0.5] and c.tolist() == [0, 0]
    opt.param_groups[0]["lr"] = 0.25
    opt.step()
    assert a.tolist() == [0.25, 0.25]


@pytest.mark.parametrize("make", [optim.Adam, optim.Rprop])
def test_complex_parameters_are_pairs_of_reals(make):
    z = whet.tensor([1 + 2j, -3j], requires_grad=True)
    r = whet.view_as_real(z.detach().clone()).clone().requires_grad_()
    oz, orr = make([z], lr=0.1), make([r], lr=0.1)
    for i in range(3):
        r.grad = whet.tensor(np.random.default_rng(i).standard_normal((2, 2)), dtype=whet.float32)
        z.grad = whet.view_as_complex(r.grad.clone())
        oz.step()
        orr.step()
    assert bits(whet.view_as_real(z.detach())) == bits(r)


def test_learning_rate_as_a_tensor():
    a, b = parameters(shapes=[(4,)]), parameters(shapes=[(4,)])
    lr = whet.tensor(0.125)
    oa, ob = optim.Adam(a, lr=lr), optim.Adam(b, lr=0.125)
    for i in range(2):
        give_gradients(a, i)
        give_gradients(b, i)
        oa.step()
        ob.step()
    assert bits(a[0]) == bits(b[0])
    lr_scheduler.StepLR(oa, 1, 0.5).step()
    assert oa.param_groups[0]["lr"] is lr and lr.item() == 0.0625


def test_differentiable_steps():
    w0 = whet.tensor([1.0, 2.0], requires_grad=True)
    w = w0.clone()
    opt = optim.SGD([w], lr=0.1, momentum=0.9, differentiable=True)
    w.grad = w0 * 3
    opt.step()
    w.sum().backward()
    np.testing.assert_allclose(w0.grad.numpy(), [0.7, 0.7], rtol=1e-6)


@pytest.mark.parametrize("name", [
    "SGD", "Adam", "AdamW", "Adamax", "NAdam", "RAdam", "ASGD", "Rprop", "RMSprop", "Adagrad",
    "Adadelta", "Adafactor", "SparseAdam"])
def test_state_goes_on_where_it_was(name):
    options = {"momentum": 0.9} if name == "SGD" else {}
    a = parameters(shapes=[(3, 4), (5,)])
    opt = getattr(optim, name)(a, lr=0.05, **options)
    for i in range(3):
        give_gradients(a, i)
        opt.step()
    saved = copy.deepcopy(opt.state_dict())
    assert saved["param_groups"][0]["params"] == [0, 1] and set(saved["state"]) == {0, 1}
    b = [p.detach().clone().requires_grad_() for p in a]
    other = getattr(optim, name)(b, lr=9.0, **options)
    other.load_state_dict(saved)
    assert other.param_groups[0]["lr"] == 0.05 and other.param_groups[0]["params"][0] is b[0]
    for i in range(3, 6):
        give_gradients(a, i)
        give_gradients(b, i)
        opt.step()
        other.step()
    assert [bits(p) for p in a] == [bits(p) for p in b]


def test_loading_checks_and_converts():
    p = whet.ones(2, dtype=whet.float64, requires_grad=True)
    opt = optim.Adam([p])
    state = {"step": whet.tensor(3.0), "exp_avg": whet.ones(2), "exp_avg_sq": whet.ones(2)}
    opt.load_state_dict({
        "state": {0: state}, "param_groups": [{**opt.state_dict()["param_groups"][0]}]})
    assert (opt.state[p]["exp_avg"].dtype is whet.float64
            and opt.state[p]["step"].dtype is whet.float32)
    with pytest.raises(ValueError, match="different number of parameter groups"):
        opt.load_state_dict({"state": {}, "param_groups": []})
    with pytest.raises(ValueError, match="doesn't match the size"):
        opt.load_state_dict({"state": {}, "param_groups": [{"params": [0, 1]}]})


def test_a_parameter_that_is_listed_twice_is_changed_twice():
    p = whet.ones(1, requires_grad=True)
    with pytest.warns(UserWarning, match="duplicate parameters"):
        opt = optim.SGD([p, p], lr=0.25)
    p.grad = whet.ones(1)
    opt.step()
    assert p.item() == 0.5


def test_construction_is_checked():
    p = whet.ones(1, requires_grad=True)
    for bad, text in ((lambda: optim.SGD([]), "empty parameter list"),
                      (lambda: optim.SGD(p), "should be an iterable"),
                      (lambda: optim.SparseAdam([whet.zeros(2, dtype=whet.complex64)]),
                       "does not support complex"),
                      (lambda: optim.SGD([("a", p), p]), "Some param names are missing"),
                      (lambda: optim.SGD([3]), "can only optimize Tensors"),
                      (lambda: optim.SGD([p * 2]), "non-leaf"),
                      (lambda: optim.SGD([p], lr=-1), "Invalid learning rate: -1"),
                      (lambda: optim.SGD([p], nesterov=True), "Nesterov"),
                      (lambda: optim.Adam([p], betas=(1.0, 0.9)), "index 0"),
                      (lambda: optim.SGD([{"params": {p}}]), "ordered collections"),
                      (lambda: optim.Rprop([p], etas=(2, 3)), "eta"),
                      (lambda: optim.SGD([{"params": [p]}, {"params": [p]}]),
                       "more than one parameter group")):
        with pytest.raises((ValueError, TypeError), match=text):
            bad()
    named = optim.SGD(nn.Linear(1, 1).named_parameters())
    assert named.param_groups[0]["param_names"] == ["weight", "bias"]
    assert repr(optim.SGD([p], lr=0.5)).startswith("SGD (\nParameter Group 0\n    dampening: 0\n")


def test_zero_grad_closure_and_hooks():
    p = whet.tensor([2.0], requires_grad=True)
    opt, log = optim.SGD([p], lr=0.25), []
    opt.register_step_pre_hook(lambda o, args, kwargs: log.append("before"))
    opt.register_step_post_hook(lambda o, args, kwargs: log.append("after"))

    def closure():
        opt.zero_grad()
        loss = (p * p).sum()
        loss.backward()
        return loss
    with whet.no_grad():
        assert opt.step(closure).item() == 4
    assert p.item() == 1 and log == ["before", "after"]
    opt.zero_grad(set_to_none=False)
    assert p.grad.item() == 0
    opt.zero_grad()
    assert p.grad is None
    opt.register_state_dict_post_hook(lambda o, d: {**d, "more": 1})
    assert opt.state_dict()["more"] == 1


def test_copies_and_pickles():
    import pickle
    p, = parameters(shapes=[(3,)])
    opt = optim.Adam([p])
    give_gradients([p], 0)
    opt.step()
    for other in (copy.deepcopy(opt), pickle.loads(pickle.dumps(opt))):
        q = other.param_groups[0]["params"][0]
        assert q is not p and bits(other.state[q]["exp_avg"]) == bits(opt.state[p]["exp_avg"])
        q.grad = p.grad.clone()
        other.step()
        assert other.state[q]["step"].item() == 2


@pytest.mark.parametrize("search", [None, "strong_wolfe"])
def test_lbfgs(search):
    x = whet.tensor([-1.2, 1.0], dtype=whet.float64, requires_grad=True)
    opt = optim.LBFGS([x], lr=1 if search else 1e-3, max_iter=20, line_search_fn=search)

    def closure():
        opt.zero_grad()
        loss = (1 - x[0])**2 + 100 * (x[1] - x[0]**2)**2
        loss.backward()
        return loss
    losses = [float(opt.step(closure).detach()) for _ in range(8)]
    assert losses[0] == pytest.approx(24.2)
    assert losses[-1] < (1e-9 if search else 24)
    other = optim.LBFGS([x])
    other.load_state_dict(opt.state_dict())
    assert other.state[x]["n_iter"] == opt.state[x]["n_iter"]


def test_sparse_adam_leaves_other_rows_alone():
    table = nn.Embedding(5, 3)
    before = table.weight.detach().numpy().copy()
    opt = optim.SparseAdam(table.parameters(), lr=0.1)
    table(whet.tensor([1, 3])).sum().backward()
    opt.step()
    after = table.weight.detach().numpy()
    assert ((after[[0, 2, 4]] == before[[0, 2, 4]]).all()
            and np.allclose(after[[1, 3]], before[[1, 3]] - 0.1, atol=1e-5))


def test_training_goes_down():
    whet.manual_seed(1)
    x = whet.randn(64, 3)
    y = x @ whet.tensor([[1.0], [-2.0], [0.5]]) + 0.3
    for name in (("SGD", "Adam", "AdamW", "Adamax", "NAdam", "RAdam", "RMSprop", "Adagrad", "Rprop",
                  "Adafactor")):
        model = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 1))
        opt = getattr(optim, name)(model.parameters(), lr=0.05)
        losses = []
        for _ in range(60):
            opt.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()
            opt.step()
            losses.append(loss.item())
        assert losses[-1] < 0.5 * losses[0], name


# ---- schedules -----------------------------------------------------------------------------------
def rates(make, epochs=12, lr=0.1):
    p = whet.zeros(1, requires_grad=True)
    opt = optim.SGD([p], lr=lr, momentum=0.9)
    scheduler = make(opt)
    out = [opt.param_groups[0]["lr"]]
    for _ in range(epochs):
        opt.step()
        scheduler.step()
        out.append(opt.param_groups[0]["lr"])
    assert scheduler.get_last_lr() == [out[-1]]
    return out


@pytest.mark.parametrize("make, formula", [
    (lambda o: lr_scheduler.LambdaLR(o, lambda e: 0.9**e), lambda t: 0.1 * 0.9**t),
    (lambda o: lr_scheduler.MultiplicativeLR(o, lambda e: 0.9), lambda t: 0.1 * 0.9**t),
    (lambda o: lr_scheduler.StepLR(o, 3), lambda t: 0.1 * 0.1 ** (t // 3)),
    (lambda o: lr_scheduler.MultiStepLR(o, [2, 5, 5]),
     lambda t: 0.1 * 0.1 ** ((t >= 2) + 2 * (t >= 5))),
    (lambda o: lr_scheduler.ConstantLR(o, 0.5, 4), lambda t: 0.05 if t < 4 else 0.1),
    (lambda o: lr_scheduler.LinearLR(o, 0.5, 1.0, 4), lambda t: 0.1 * (0.5 + 0.5 * min(t, 4) / 4)),
    (lambda o: lr_scheduler.ExponentialLR(o, 0.9), lambda t: 0.1 * 0.9**t),
    (lambda o: lr_scheduler.PolynomialLR(o, 5, 2.0), lambda t: 0.1 * (1 - min(t, 5) / 5) ** 2),
    (lambda o: lr_scheduler.CosineAnnealingLR(o, 4, 0.01),
     lambda t: 0.01 + 0.09 * (1 + math.cos(math.pi * t / 4)) / 2),
    (lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 4),
     lambda t: 0.1 * (1 + math.cos(math.pi * (t % 4) / 4)) / 2),
    (lambda o: lr_scheduler.CyclicLR(o, 0.1, 0.5, 3),
     lambda t: 0.1 + 0.4 * (1 - abs(t % 6 / 3 - 1))),
],
ids=["lambda", "multiplicative", "step", "multistep", "constant", "linear", "exponential",
     "polynomial", "cosine", "restarts",
        "cyclic"])
def test_schedules(make, formula):
    np.testing.assert_allclose(rates(make), [formula(t) for t in range(13)], rtol=1e-9, atol=1e-12)


def test_one_cycle():
    got = rates(lambda o: lr_scheduler.OneCycleLR(o, 1.0, total_steps=11, pct_start=0.4,
                                                  anneal_strategy="linear"), epochs=10)
    assert (got[0] == pytest.approx(0.04) and max(got) == pytest.approx(got[3], rel=0.2)
            and got[-1] == pytest.approx(4e-6))
    opt = optim.Adam([whet.zeros(1, requires_grad=True)])
    s = lr_scheduler.OneCycleLR(opt, 1.0, total_steps=10)
    assert opt.param_groups[0]["betas"][0] == 0.95
    for _ in range(10):
        opt.step()
        s.step()
    with pytest.raises(ValueError, match="Tried to step 11 times"):
        s.step()


def test_schedules_in_sequence_and_in_chains():
    def parts(o, n):
        return [lr_scheduler.ConstantLR(o, 0.1, n), lr_scheduler.ExponentialLR(o, 0.5)]
    got = rates(lambda o: lr_scheduler.SequentialLR(o, parts(o, 100), [3]), epochs=6)
    np.testing.assert_allclose(got, [0.01, 0.01, 0.01, 0.1, 0.05, 0.025, 0.0125])
    got = rates(lambda o: lr_scheduler.ChainedScheduler(parts(o, 2)), 3)
    np.testing.assert_allclose(got, [0.01, 0.005, 0.025, 0.0125])


def test_plateau():
    opt = optim.SGD([whet.zeros(1, requires_grad=True)], lr=1.0)
    s = lr_scheduler.ReduceLROnPlateau(opt, factor=0.5, patience=1, min_lr=0.2)
    out = []
    for metric in (5, 4, 4, 4, 4, 4, 4, 4, 4):
        s.step(whet.tensor(float(metric)))
        out.append(opt.param_groups[0]["lr"])
    assert out == [1, 1, 1, 0.5, 0.5, 0.25, 0.25, 0.2, 0.2]


def test_schedule_state_and_warnings():
    def make():
        return optim.SGD([whet.zeros(1, requires_grad=True)], lr=0.1)
    opt = make()
    s = lr_scheduler.StepLR(opt, 2)
    for _ in range(3):
        opt.step()
        s.step()
    other = lr_scheduler.StepLR(make(), 9)
    other.load_state_dict(s.state_dict())
    assert other.last_epoch == 3 and other.step_size == 2 and "optimizer" not in s.state_dict()
    with pytest.warns(UserWarning, match="before `optimizer.step"):
        lr_scheduler.StepLR(make(), 2).step()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        opt = make()
        s = lr_scheduler.StepLR(opt, 2)
        opt.step()
        s.step()
    with pytest.raises(KeyError, match="initial_lr"):
        lr_scheduler.StepLR(make(), 2, last_epoch=3)
    with pytest.raises(TypeError, match="not an Optimizer"):
        lr_scheduler.StepLR(3, 2)


def test_averages_of_weights():
    model = nn.Sequential(nn.Linear(2, 2, bias=False), nn.BatchNorm1d(2))
    mean, ema = (swa_utils.AveragedModel(model),
                 swa_utils.AveragedModel(model, multi_avg_fn=swa_utils.get_ema_multi_avg_fn(0.5)))
    for value in (1.0, 2.0, 6.0):
        with whet.no_grad():
            model[0].weight.fill_(value)
        mean.update_parameters(model)
        ema.update_parameters(model)
    assert (mean.module[0].weight[0, 0].item() == pytest.approx(3)
            and ema.module[0].weight[0, 0].item() == pytest.approx(3.75))
    assert int(mean.n_averaged) == 3
    x = whet.randn(20, 2)
    swa_utils.update_bn([x[:10], (x[10:], None)], mean)
    hidden = [mean.module[0](part).detach().numpy().mean(0) for part in (x[:10], x[10:])]
    np.testing.assert_allclose(mean.module[1].running_mean.numpy(), np.mean(hidden, 0), rtol=1e-4,
                               atol=1e-5)
    assert mean.module[1].momentum == 0.1
    got = rates(lambda o: swa_utils.SWALR(o, 0.05, 4, "linear"), 6)
    np.testing.assert_allclose(got, [0.1, 0.0875, 0.075, 0.0625, 0.05, 0.05, 0.05])


def test_plans_do_not_outlive_what_they_planned_for():
    p, q = parameters(shapes=[(3,), (3,)])
    opt = optim.Adam([p])
    give_gradients([p, q], 0)
    opt.step()
    opt.add_param_group({"params": [q]})
    opt.step()
    opt.load_state_dict(opt.state_dict())
    assert not opt.__dict__.get("_plans")
    opt.step()
    assert opt.state[q]["step"].item() == 2 and len(opt._plans) == 2
    assert (elementwise.dense_ones_overlap([p._array, p._array[1:]])
            and not elementwise.dense_ones_overlap([p._array, q._array]))


def test_a_module_in_place_of_its_parameters_says_what_to_pass():
    with pytest.raises(TypeError, match=r"but got a Linear: pass its .parameters\(\)"):
        optim.Adam(nn.Linear(2, 2))


def test_a_list_of_parameters_is_one_to_optimize():
    held = nn.ParameterList([whet.ones(2), whet.ones(3)])
    opt = optim.SGD(held, lr=1.0)
    held[0].sum().backward()
    opt.step()
    assert held[0].tolist() == [0, 0] and held[1].tolist() == [1, 1, 1]
    with pytest.raises(TypeError):
        optim.SGD(nn.Sequential(nn.Linear(2, 2)), lr=1.0)


@pytest.mark.parametrize("make", [optim.Adam, optim.RMSprop, lambda p: optim.SGD(p, 0.1, 0.9)])
def test_cleared_state_is_made_in_the_order_of_the_parameters(make):
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    params = list(model.parameters())
    opt = make(params)

    def order():
        opt.zero_grad()
        model(whet.ones(1, 2)).sum().backward()
        opt.step()
        return [next(i for i, p in enumerate(params) if p is k) for k in opt.state]
    assert order() == order() == [0, 1, 2, 3]
    del opt.state[params[1]]
    assert order() == order() == [0, 2, 3, 1]
    opt.state.clear()
    assert order() == [0, 1, 2, 3]
