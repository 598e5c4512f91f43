"""NumPy numbers among the arguments, others at each call: a schedule in an array, say."""
import math

import numpy as np
import pytest
import whet
import whet.nn.functional as F
from whet import jit, nn, optim

from tests.jit.ledgers import served
from tests.jit.table_calls import compiled

CALLS = 30
OTHER = whet.ones(3)


pytestmark = pytest.mark.usefixtures("replays_count_as_faster")


REPLAYED = {
    "times": lambda x, a: a * x, "minus": lambda x, a: 1 - a + x, "over": lambda x, a: x / a,
    "greater": lambda x, a: x > a, "exp": lambda x, a: x * np.exp(-a),
    "back": lambda x, a: [a, {"k": a * 2}], "tensor": lambda x, a: whet.tensor(a),
    "branch": lambda x, a: x * 2 if a > 5 else x * 3, "array": lambda x, a: np.asarray(a) + x,
    "kinds": lambda x, a: (isinstance(a, float), isinstance(a, np.floating)),
    "item": lambda x, a: a.item(), "equal": lambda x, a: a == 3, "larger": lambda x, a: max(a, 2.0),
    "index": lambda x, a: x[:int(a) % 3],
    "density": lambda x, a: whet.distributions.Normal(x, a).log_prob(x),
    "alpha": lambda x, a: whet.add(x, x, alpha=a), "full": lambda x, a: whet.full((2,), a),
    "lerp": lambda x, a: x.lerp(OTHER, a), "in place": lambda x, a: x.clone().mul_(1 - a),
    "clamp": lambda x, a: x.clamp(min=-a, max=a), "slope": lambda x, a: F.leaky_relu(x, a)}
OTHERS = {
    "math": lambda x, a: x * math.exp(a), "text": lambda x, a: f"{a:.3f}",
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
    assert served(traced) >= CALLS - 6


LOW, HIGH = np.array([-2.0], "f"), np.array([2.0])
OF_ARRAYS = {
    "clamp": lambda x: x.clamp(LOW[0], HIGH[0]), "least": lambda x: x.clamp_min(LOW[0]),
    "filled": lambda x: whet.full_like(x, HIGH[0]),
    "where": lambda x: whet.where(x > LOW[0], HIGH[0], x), "add": lambda x: whet.add(x, LOW[0]),
    "scaled": lambda x: whet.add(x, x, alpha=HIGH[0]), "slope": lambda x: F.leaky_relu(x, HIGH[0]),
    "in place": lambda x: x.clone().add_(x, alpha=LOW[0]).mul_(HIGH[0]),
    "huber": lambda x: F.huber_loss(x, x * 9, delta=HIGH[0])}


@compiled
@pytest.mark.parametrize("name", OF_ARRAYS)
def test_numbers_out_of_an_array_are_operands(name):
    """What an op is given of an array is computed anew: such a run was refused."""
    f = OF_ARRAYS[name]
    traced = jit.trace(f)
    for k in range(CALLS):
        x, LOW[0], HIGH[0] = whet.arange(3.0) - k % 5, -1 - k * 0.3, 1 + k * 0.2
        assert bits(traced(x)) == bits(f(x))
    assert served(traced) >= CALLS - 8


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.float16])
@pytest.mark.parametrize("name", {**REPLAYED, **OTHERS})
def test_few_that_take_turns(name, kind):
    """Those that Python goes on from, or that the run cannot be told of, tell calls apart."""
    f = {**REPLAYED, **OTHERS}[name]
    traced = jit.trace(f)
    for k in range(CALLS):
        x, a = whet.arange(3.0) + k, kind((0.5, 2.5, 1.5)[k % 3])
        assert bits(traced(x, a)) == bits(f(x, a))
    if name == "power":
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


def sums_from_the_end(x):
    """The advantages of an episode, as scripts compute them in Python."""
    found, last = [], 0.0
    for row in (x * 2).numpy()[::-1]:
        last = 0.5 * last + row[0]
        found.append([last])
    found.reverse()
    return whet.tensor(found, dtype=whet.float)


LISTED = {
    "sums": sums_from_the_end,
    "numbers": lambda x: whet.tensor([v for v in (x * 2).numpy()[:, 0]]),
    "of two types": lambda x: whet.tensor([[v, 1.5, 2] for v in (x * 2).double().numpy()[:, 0]]),
    "narrower": lambda x: whet.tensor([*(x * 2).double().numpy()[:, 0]], dtype=whet.float32),
    "wider": lambda x: whet.tensor([*(x * 2).numpy()[:, 0]], dtype=whet.float64),
    "whole": lambda x: whet.as_tensor([*(x * 2).long().numpy()[:, 0]]),
    "with a tensor": lambda x: whet.tensor([(x * 2).numpy().max(), x.max(), x.max().item()]),
    "a leaf": lambda x: whet.tensor([*x.numpy()[:, 0]], requires_grad=True),
    "tolist": lambda x: (x * 2).numpy().tolist(),
    "tolist of one": lambda x: (x * 2).numpy()[1, 0].tolist() + 1,
    "tolist of none": lambda x: np.asarray((x * 2).numpy()[1, 0]).tolist() + 1,
    "tolist of whole ones": lambda x: (x * 2).long().numpy().tolist()}
GUARDED = {
    "truth": lambda x: (x > 0).numpy().tolist(),
    "half": lambda x: whet.tensor([*(x * 2).numpy()[:, 0]], dtype=whet.float16),
    "bool": lambda x: whet.tensor([*(x * 2).numpy()[:, 0]], dtype=whet.bool),
    "arrays": lambda x: whet.as_tensor([*(x * 2).numpy()]),
    "in the memory": lambda x: whet.tensor([*(x * 2).numpy()[:2]]),
    "nothing": lambda x: (x[:0] * 2).numpy().tolist()}


@pytest.mark.filterwarnings("ignore::whet.jit.TraceWarning")
@pytest.mark.parametrize("name", {**LISTED, **GUARDED})
def test_numbers_that_the_run_made_in_lists(name):
    f = {**LISTED, **GUARDED}[name]
    traced = jit.trace(f)
    for k in range(CALLS):
        x = whet.tensor(np.random.default_rng(k).normal(size=(4, 1)).astype("f"))
        found, want = traced(x), f(x)
        assert bits(found) == bits(want)
        assert not whet.is_tensor(want) or found.requires_grad == want.requires_grad
    if name in LISTED:
        assert served(traced) >= CALLS - 5
