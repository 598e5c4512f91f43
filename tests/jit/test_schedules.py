"""Schedules in traced steps: what they decide by the number of the step is a choice within the
recording, so that one recording serves a whole run of training."""
import pytest
import whet
from whet import jit, nn, optim
from whet.jit.stand_ins import replace_stand_ins
from whet.optim import formula_ops
from whet.optim import lr_scheduler as schedules

STEPS = 60


def warm_up_and_down(opt):
    return schedules.ChainedScheduler([
        schedules.LinearLR(opt, 0.1, 1.0, total_iters=10),
        schedules.MultiStepLR(opt, [20, 31, 45], gamma=0.5)])


SCHEDULES = {
    "step": lambda opt: schedules.StepLR(opt, 7, gamma=0.7),
    "milestones": lambda opt: schedules.MultiStepLR(opt, [9, 23, 23, 41], gamma=0.3),
    "linear": lambda opt: schedules.LinearLR(opt, 1.0, 0.0, total_iters=20),
    "polynomial": lambda opt: schedules.PolynomialLR(opt, total_iters=20, power=0.9),
    "cosine": lambda opt: schedules.CosineAnnealingLR(opt, 12, eta_min=1e-4),
    "restarts": lambda opt: schedules.CosineAnnealingWarmRestarts(opt, 5, T_mult=2),
    "triangles": lambda opt: schedules.CyclicLR(
        opt, 1e-4, 1e-2, step_size_up=6, step_size_down=3, cycle_momentum=False),
    "lower triangles": lambda opt: schedules.CyclicLR(
        opt, 1e-4, 1e-2, step_size_up=5, mode="triangular2", cycle_momentum=False),
    "one cycle": lambda opt: schedules.OneCycleLR(opt, 1e-2, total_steps=STEPS + 5),
    "three phases": lambda opt: schedules.OneCycleLR(
        opt, 1e-2, total_steps=STEPS + 5, three_phase=True, anneal_strategy="linear"),
    "chained": warm_up_and_down,
}


def training(schedule):
    whet.manual_seed(0)
    net = nn.Linear(4, 2)
    opt = optim.AdamW(net.parameters(), lr=1e-2)
    rates = schedule(opt)

    def step(x):
        opt.zero_grad()
        loss = net(x).square().mean()
        loss.backward()
        opt.step()
        rates.step()
        return loss.detach()
    return step, net, opt


@pytest.mark.parametrize("name", SCHEDULES)
def test_one_recording_serves_all_of_a_schedule(name):
    (eager, net, opt), (fn, other, traced_opt) = (training(SCHEDULES[name]) for _ in range(2))
    step = jit.trace(fn)
    for _ in range(STEPS):
        x = whet.randn(8, 4)
        assert step(x).tolist() == eager(x).tolist()
        assert [g["lr"] for g in opt.param_groups] == [g["lr"] for g in traced_opt.param_groups]
        assert opt.param_groups[0]["betas"] == traced_opt.param_groups[0]["betas"]
    assert net.weight.tolist() == other.weight.tolist()
    calls = step.explain(data=True)["calls"]
    # the first recording learns which numbers vary
    assert calls["recorded"] <= 2 and calls["replayed"] > STEPS - 15, calls


def test_a_step_leaves_nothing_to_look_for(monkeypatch):
    """A number of a recording that stayed in a cache would be looked for in all of Python."""
    held = []
    monkeypatch.setattr(replace_stand_ins.gc, "get_referrers", lambda *xs: held.extend(xs) or [])
    monkeypatch.setattr(formula_ops, "_known", {})
    step, _, _ = training(SCHEDULES["one cycle"])
    step = jit.trace(step)
    for _ in range(6):
        step(whet.randn(8, 4))
    assert formula_ops._known and not held
