"""Functions that drop gradients by an optimizer and come to nothing of its state, such as the
closures that L-BFGS calls. The state may differ at each call."""
import copy

import pytest
import whet
import whet.nn.functional as F
from whet import jit, nn, optim

from .ledgers import calls_of, served


def model_and_data():
    whet.manual_seed(0)
    x = whet.randn(20, 3)
    model = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
    return model, x, x.sin().sum(1, keepdim=True)


def bits(model):
    return [p.detach().numpy().tobytes() for p in model.parameters()]


@pytest.mark.parametrize("search", [None, "strong_wolfe"])
def test_closures_of_lbfgs_are_replayed(search):
    def train(tracer):
        model, x, y = model_and_data()
        opt = optim.LBFGS(model.parameters(), lr=0.5, line_search_fn=search)

        def closure():
            opt.zero_grad()
            loss = F.mse_loss(model(x), y)
            loss.backward()
            return loss
        closure = tracer(closure)
        return [opt.step(closure).item() for _ in range(5)], bits(model), closure
    *eager, _ = train(lambda fn: fn)
    *traced, closure = train(jit.trace)
    assert eager == traced
    assert served(closure) >= 0.9 * calls_of(closure)["total"]


def losses(comes_to_state, tracer):
    """Losses of a function that may come to the state of an optimizer, which also steps outside."""
    model, x, y = model_and_data()
    opt = optim.Adam(model.parameters(), lr=0.05)
    more = comes_to_state(opt)

    def step():
        opt.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        return loss * more()
    step = tracer(step)
    found = []
    for i in range(14):
        found.append(step().item())
        if i % 3 == 2:
            opt.step()
    return found, bits(model)


def through_a_method(opt):
    step = opt.step
    return lambda: 1.0 if step() is None else 2.0


def through_a_function(opt):
    steps = [type(opt).step]
    return lambda: 1.0 if steps[0](opt) is None else 2.0


def through_a_name(opt):
    return lambda: 1 + len(getattr(opt, "sta" + "te"))


def through_the_state(opt):
    state = opt.state
    return lambda: 1 + sum(s["step"].item() for s in state.values())


def through_a_copy(opt):
    return lambda: 1 + len(copy.copy(opt).state)


def through_a_pattern(opt):
    def more():
        match opt:
            case optim.Adam(state=state):
                return 1 + len(state)
    return more


def through_a_saved_state(opt):
    return lambda: 1 + len(opt.state_dict()["state"])


@pytest.mark.parametrize("comes_to_state", [
    through_a_method, through_a_function, through_a_name, through_the_state, through_a_copy,
    through_a_pattern, through_a_saved_state])
def test_functions_that_come_to_the_state_go_by_it(comes_to_state):
    assert losses(comes_to_state, jit.trace) == losses(comes_to_state, lambda fn: fn)


def test_a_method_that_nobody_names_refuses_the_run(monkeypatch):
    """Code of ours may call a method that reads the state."""
    monkeypatch.setattr(optim.Optimizer, "_named_by", {"state": frozenset(("state",))})

    def through_a_step(opt):
        return lambda: 1.0 if opt.step() is None else 2.0
    assert losses(through_a_step, jit.trace) == losses(through_a_step, lambda fn: fn)
