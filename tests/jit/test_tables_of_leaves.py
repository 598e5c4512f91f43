"""Recordings whose arguments machine code does not go through, objects of data: Python finds the
leaves, and a table compares and replays the rest."""
import numpy as np
import pytest
import whet
from whet import jit, nn, optim
from whet.optim import lr_scheduler

from tests.jit.table_calls import TRIED, compiled, hits, never_slow, replays_by_table


@pytest.fixture(autouse=True)
def untimed(monkeypatch):
    never_slow(monkeypatch)


class Batch:
    def __init__(self, x, y, weight=1.0):
        self.x, self.y, self.weight = x, y, weight


def array(k):
    return np.full((3, 2), k, np.float32)


def batch(k, kind=whet.tensor, weight=1.0):
    return Batch(kind(array(k)), kind(array(k + 1)), weight)


SCALE = 2.0


def scaled(b):
    return whet.as_tensor(b.x) * SCALE + b.y


def by_weight(b):
    return b.x * b.weight - b.y


def few(*args):
    return args[0].x + args[0].y if len(args) == 1 else args[0] - args[1]


def replays_by_leaves(f, make):
    """The recording that serves the calls of a traced function by a table of its leaves."""
    replays_by_table(f, make, alone=None)
    r = f._calls.policy.held[-1]
    assert r.is_given_leaves
    return r


@compiled
@pytest.mark.parametrize("function, args", [
    (scaled, lambda k: [batch(k)]),
    (scaled, lambda k: [batch(k, np.asarray)]),
    (by_weight, lambda k: [batch(k)]),
    (few, lambda k: [batch(k)])], ids=["tensors", "arrays", "number", "few"])
def test_a_table_of_leaves(function, args):
    replays_by_leaves(jit.trace(function), args)


@compiled
def test_numbers_that_vary_are_handed_over():
    replays_by_leaves(jit.trace(by_weight), lambda k: [batch(k, weight=k + 0.5)])


@compiled
def test_what_lies_outside_is_compared(monkeypatch):
    f = jit.trace(scaled)
    replays_by_leaves(f, lambda k: [batch(k)])
    monkeypatch.setitem(globals(), "SCALE", 5.0)
    for k in range(4):
        assert f(batch(k)).tolist() == (array(k) * 5.0 + array(k + 1)).tolist()


@compiled
def test_other_arguments_of_the_same_leaves_are_another_call():
    f = jit.trace(few)
    replays_by_leaves(f, lambda k: [batch(k)])
    for k in range(4):
        x, y = whet.tensor(array(k)), whet.tensor(array(2 * k))
        assert f(x, y).tolist() == (array(k) - array(2 * k)).tolist()


@compiled
def test_one_tensor_twice_is_another_call():
    f = jit.trace(scaled)
    replays_by_leaves(f, lambda k: [batch(k)])
    for k in range(4):
        x = whet.tensor(array(k))
        assert f(Batch(x, x)).tolist() == (array(k) * 3).tolist()


@compiled
def test_a_tuple_of_numbers_in_the_state_is_read_by_a_table():
    """Cycled momentum lays a new tuple of betas with each step."""
    found = []
    for is_traced in (False, True):
        whet.manual_seed(0)
        net = nn.Linear(4, 2)
        opt = optim.Adam(net.parameters(), lr=1e-3)
        rates = lr_scheduler.OneCycleLR(opt, 1e-2, total_steps=200)

        def step(x, net=net, opt=opt, rates=rates):
            opt.zero_grad()
            net(x).square().mean().backward()
            opt.step()
            rates.step()
        f = jit.trace(step) if is_traced else step
        rng = np.random.default_rng(0)
        for _ in range(60):
            f(whet.tensor(rng.standard_normal((3, 4)).astype("f")))
        found.append((net.weight.tolist(), opt.param_groups[0]["betas"]))
    assert found[0] == found[1]
    assert hits(f) >= 30


def after_some_calls(f, args):
    """The traced function, after calls with these arguments, and the recordings that tables serve
    which are given leaves."""
    f = jit.trace(f)
    for _ in range(TRIED + 6):
        f(*args)
    return f, [r for r in f._calls.policy.held if r.is_given_leaves]


@compiled
def test_containers_that_are_written_to_are_those_of_the_call():
    """A table does not tell two lists from one twice: the key of the call does."""
    def both(a, b):
        a[0], b[0] = a[0] + 1, b[0] * 2
        return b, a
    f, held = after_some_calls(both, [[whet.zeros(2)], [whet.ones(2)]])
    assert held
    before = hits(f)
    for _ in range(4):
        a, b = [whet.full((2,), 3.0)], [whet.full((2,), 5.0)]
        x, y = f(a, b)
        assert x is b and y is a
        assert (a[0].tolist(), b[0].tolist()) == ([4, 4], [10, 10])
    assert hits(f) >= before + 3
    x, y = f(a, a)
    assert x is a and y is a and a[0].tolist() == [8, 8]


@compiled
def test_a_container_from_outside_is_not_what_was_given_before():
    known = [whet.ones(2)]

    def beside(a):
        a[0] = a[0] + 1
        return known[0] + a[0]
    f, held = after_some_calls(beside, [[whet.zeros(2)]])
    assert held
    assert f([whet.zeros(2)]).tolist() == [2, 2]
    assert f(known).tolist() == [4, 4] and known[0].tolist() == [2, 2]
    assert f([whet.zeros(2)]).tolist() == [3, 3]


class Compared:
    """A key that Python's code compares."""
    def __hash__(self):
        return 5

    def __eq__(self, other):
        return self is other


@compiled
@pytest.mark.parametrize("key, is_tabled", [
    ("a", True), (3, True), (nn.Identity(), True), ((0, "a"), True), (b"a", True),
    (Compared(), False)], ids=["text", "number", "module", "tuple", "bytes", "other"])
def test_entries_of_the_state_by_their_keys(key, is_tabled):
    """What a dict of modules, say, holds by one is read and laid by machine code."""
    found = []
    for trace in (lambda f: f, jit.trace):
        held = {key: whet.zeros(3)}

        def f(x, held=held):
            held[key] = held[key] * 0.5 + x
            return held[key].sum()
        traced = trace(f)
        found.append([traced(whet.ones(3) * k).item() for k in range(TRIED + 24)])
        found.append([(k is key, t.tolist()) for k, t in held.items()])
    assert found[:2] == found[2:]
    assert (hits(traced) > 10) == is_tabled
