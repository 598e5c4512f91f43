"""Numbers of NumPy's among the arguments, others at each call: a schedule in an array, say."""
import math

import numpy as np
import pytest
import whet
import whet.nn.functional as F
from whet import jit, nn, optim
from whet.jit.policy import account, timing

from tests.jit.ledgers import served
from tests.jit.table_calls import compiled

CALLS = 30
OTHER = whet.ones(3)


@pytest.fixture(autouse=True)
def whatever_is_faster(monkeypatch):
    monkeypatch.setattr(timing, "MARGIN", 0.0)
    monkeypatch.setattr(account, "GRACE", float("inf"))


REPLAYED = {
    "times": lambda x, a: a * x, "minus": lambda x, a: 1 - a + x, "over": lambda x, a: x / a,
    "greater": lambda x, a: x > a, "exp": lambda x, a: x * np.exp(-a),
    "back": lambda x, a: [a, {"k": a * 2}], "tensor": lambda x, a: whet.tensor(a),
    "branch": lambda x, a: x * 2 if a > 5 else x * 3, "array": lambda x, a: np.asarray(a) + x,
    "kinds": lambda x, a: (isinstance(a, float), isinstance(a, np.floating)),
    "item": lambda x, a: a.item(), "equal": lambda x, a: a == 3, "larger": lambda x, a: max(a, 2.0),
    "index": lambda x, a: x[:int(a) % 3],
    "density": lambda x, a: whet.distributions.Normal(x, a).log_prob(x)}
OTHERS = {
    "alpha": lambda x, a: whet.add(x, x, alpha=a), "math": lambda x, a: x * math.exp(a),
    "text": lambda x, a: f"{a:.3f}", "full": lambda x, a: whet.full((2,), a),
    "lerp": lambda x, a: x.lerp(OTHER, a), "in place": lambda x, a: x.clone().mul_(1 - a),
    "clamp": lambda x, a: x.clamp(min=-a, max=a), "slope": lambda x, a: F.leaky_relu(x, a),
    "hash": lambda x, a: hash(a), "key": lambda x, a: {a: 1}, "type": lambda x, a: type(a),
    "round": lambda x, a: round(a, 1), "power": lambda x, a: x ** a}


def bits(v):
    if whet.is_tensor(v):
        return str(v.dtype), tuple(v.shape), v.detach().numpy().tobytes()
    if isinstance(v, list | tuple):
        return [type(v), *map(bits, v)]
    if isinstance(v, dict):
        return [(bits(k), bits(x)) for k, x in v.items()]
    return type(v), repr(v)


@compiled
@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("name", REPLAYED)
def test_what_is_computed_of_one(name, kind):
    f = REPLAYED[name]
    traced = jit.trace(f)
    for k in range(CALLS):
        x, a = whet.arange(3.0) + k, kind(1 + k * 0.37)
        assert bits(traced(x, a)) == bits(f(x, a))
    assert served(traced) >= CALLS - 5


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.float16])
@pytest.mark.parametrize("name", {**REPLAYED, **OTHERS})
def test_few_that_take_turns(name, kind):
    """Those that Python goes on from, or that the run cannot be told of, tell calls apart."""
    f = {**REPLAYED, **OTHERS}[name]
    traced = jit.trace(f)
    for k in range(CALLS):
        x, a = whet.arange(3.0) + k, kind((0.5, 2.5, 1.5)[k % 3])
        assert bits(traced(x, a)) == bits(f(x, a))
    if name in ("alpha", "in place", "clamp", "slope", "lerp", "power"):
        assert served(traced) >= CALLS - 12


@compiled
def test_a_step_with_a_schedule_in_an_array():
    rates, found = np.linspace(1, 0.1, CALLS), []
    for trace in (lambda f: f, jit.trace):
        whet.manual_seed(0)
        model = nn.Linear(4, 2)
        opt = optim.SGD(model.parameters(), lr=0.1)

        def step(x, rate, model=model, opt=opt):
            loss = model(x).square().mean() * rate
            opt.zero_grad()
            loss.backward()
            opt.step()
            return loss.item(), rate
        traced = trace(step)
        found.append([traced(whet.full((3, 4), k / 9), rates[k]) for k in range(CALLS)])
    assert bits(found[0]) == bits(found[1])
    assert served(traced) >= CALLS - 6
