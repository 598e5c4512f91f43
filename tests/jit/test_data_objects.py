"""Objects of data among the arguments: others come at each call, and what they hold is what
counts."""
import dataclasses
import gc
from typing import Any

import numpy as np
import pytest
import whet
import whet.nn.functional as F
from whet import nn
from whet.jit.guards.data_objects import may_be_record

from .ledgers import calls_of, served

CALLS = 40


pytestmark = pytest.mark.usefixtures("replays_count_as_faster")


class Data:
    def __init__(self, x, edge_index, y):
        self.x, self.edge_index, self.y = x, edge_index, y

    @property
    def num_nodes(self):
        return self.x.shape[0]

    def doubled(self):
        return Data(self.x * 2, self.edge_index, self.y)


class Slots:
    __slots__ = ("x", "edge_index", "y", "__weakref__")

    def __init__(self, x, edge_index, y):
        self.x, self.edge_index, self.y = x, edge_index, y

    num_nodes = Data.num_nodes

    def doubled(self):
        return Slots(self.x * 2, self.edge_index, self.y)


class Holder:
    last = None


LAYER, HELD = nn.Linear(4, 3), Holder()


def graph(rng, kind=Data, most=0):
    n = 6 + int(rng.integers(most + 1))
    return kind(whet.tensor(rng.standard_normal((n, 4)).astype("f")),
                whet.tensor(rng.integers(0, n, (2, 10))), whet.tensor(rng.integers(0, 3, n)))


def scores(d):
    source, target = d.edge_index
    return LAYER(whet.zeros(d.num_nodes, 4).index_add(0, target, d.x[source]))


def loss(d):
    return F.cross_entropy(scores(d), d.y)


def given_back(d):
    return d, scores(d).sum()


def another(d):
    other = d.doubled()
    return other, scores(other).sum()


def told(d):
    d.h, d.calls = scores(d).detach(), getattr(d, "calls", 0) + 1
    return d.h.sum() + d.calls


def several(ds):
    return sum(scores(d).sum() for d in ds["graphs"])


def bits(x):
    if whet.is_tensor(x):
        return x.detach().numpy().tobytes()
    if isinstance(x, tuple):
        return tuple(map(bits, x))
    if isinstance(x, Data | Slots):
        names = ("x", "edge_index", "y", "h", "calls")
        return type(x), [(k, bits(getattr(x, k))) for k in names if hasattr(x, k)]
    return x


def run(function, kind, most, wrap):
    rng, found = np.random.default_rng(1), []
    for _ in range(CALLS):
        d = graph(rng, kind, most)
        made = function(wrap(d))
        if isinstance(made, tuple):
            found.append(made[0] is d)
        found.append((bits(made), bits(d)))
    return found


@pytest.mark.parametrize("function", [scores, loss, given_back, another, told, several])
@pytest.mark.parametrize("kind", [Data, Slots])
@pytest.mark.parametrize("most", [0, 5], ids=["of one size", "of many sizes"])
def test_what_they_hold_is_what_counts(function, kind, most):
    if kind is Slots and function is told:
        pytest.skip("slots that a class has not cannot be set")

    def wrap(d):
        return {"graphs": [d, kind(d.x + 1, d.edge_index, d.y)]} if function is several else d
    traced = whet.jit.trace(function)
    assert run(traced, kind, most, wrap) == run(function, kind, most, wrap)
    assert calls_of(traced)["replayed"] >= CALLS - 12, calls_of(traced)


def test_objects_that_are_kept_are_data_where_many_come():
    rng, traced = np.random.default_rng(1), whet.jit.trace(scores)
    graphs = [graph(rng) for _ in range(30)]
    for d in graphs * 2:
        assert bits(traced(d)) == bits(scores(d))
    assert calls_of(traced)["replayed"] >= 45


def hashes(d):
    return scores(d).sum() + len({d})


def compares(d):
    return scores(d).sum(), d == d, d != HELD


def shown(d):
    return f"{d}", scores(d).sum()


def hashed_by_object(d):
    return object.__hash__(d), scores(d).sum()


def of_another_kind(d):
    return type(d)(d.x, d.edge_index, d.y), scores(d).sum()


def is_the_last(d):
    same, HELD.last = d is HELD.last, d
    return scores(d).sum(), same


@pytest.mark.parametrize("function", [
    hashes, compares, shown, hashed_by_object, of_another_kind, is_the_last])
def test_where_it_is_of_matter_which_object_comes(function):
    rng, traced = np.random.default_rng(1), whet.jit.trace(function)
    for k in range(CALLS):
        d = graph(rng) if k % 3 else HELD.last or graph(rng)
        before = HELD.last
        wanted = bits(function(d))
        HELD.last = before
        assert bits(traced(d)) == wanted
    HELD.last = None
    assert Data.__hash__ is object.__hash__ and Data.__eq__ is object.__eq__
    assert "__repr__" not in vars(Data)


def test_the_dict_of_its_attributes_is_its_own():
    def given(d):
        return vars(d), scores(d).sum()
    rng, traced = np.random.default_rng(1), whet.jit.trace(given)
    for _ in range(CALLS):
        d = graph(rng)
        assert traced(d)[0] is vars(d)


class Client:
    def __init__(self):
        self.model, self.steps = nn.Linear(4, 3), 0


class State:
    def __init__(self):
        self.n, self.sums = 0, []


def stepped(c, x):
    c.steps += 1
    return c.model(x).sum() * c.steps


def counted(s, x):
    s.n += 1
    s.sums.append(float(x.sum()))
    return x.sum() * s.n


@pytest.mark.parametrize("function, kind", [(stepped, Client), (counted, State)])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_objects_that_take_turns_are_known_by_identity(function, kind, count):
    traced, found = whet.jit.trace(function), []
    for fn in (function, traced):
        whet.manual_seed(0)
        held = [kind() for _ in range(count)]
        found.append([bits(fn(held[k % count], whet.full((2, 4), float(k)))) for k in range(60)])
        found.append([{k: v for k, v in vars(x).items() if k != "model"} for x in held])
    assert found[:2] == found[2:]
    assert not traced._calls.learned.arguments.objects.records
    assert calls_of(traced)["replayed"] >= 45


def test_the_second_object_that_comes_with_tensors_shows_that_they_are_data():
    rng, traced = np.random.default_rng(0), whet.jit.trace(scores)
    for _ in range(8):
        g = graph(rng)
        assert bits(traced(g)) == bits(scores(g))
    assert traced._calls.learned.arguments.objects.records == {Data}
    assert calls_of(traced)["recorded"] == 2 and served(traced) == 6


@dataclasses.dataclass
class Options:
    n: int
    scale: float
    on: bool


@pytest.mark.parametrize("wrap", [lambda o: o, lambda o: {"options": [o]}], ids=["alone", "within"])
def test_numbers_that_vary_stay_in_what_a_call_writes_to(wrap):
    """What an object holds is laid anew where a call writes to it, the numbers that came among
    it."""
    def function(o, x):
        o = o if isinstance(o, Options) else o["options"][0]
        o.last = (x * o.scale).sum().item()
        return x + o.n
    traced = whet.jit.trace(function)
    for k in range(12):
        a, b = (Options(k, k * 0.5, k % 3 > 0) for _ in range(2))
        x = whet.full((3,), float(k))
        assert function(wrap(a), x).tolist() == traced(wrap(b), x).tolist()
        assert vars(a) == vars(b) and list(vars(a)) == list(vars(b))
    assert calls_of(traced)["replayed"] >= 5


class Hashed(Data):
    def __hash__(self):
        return 3


class Found(Data):
    def __getattribute__(self, name):
        return 0


class Deleted(Data):
    def __del__(self):
        pass


@dataclasses.dataclass(frozen=True)
class Frozen:
    x: Any


@pytest.mark.parametrize("kind", [Hashed, Found, Deleted, Frozen, nn.Linear, int, list, dict])
def test_what_is_no_record(kind):
    assert not may_be_record(kind)


def test_what_may_be_one():
    assert may_be_record(Data) and may_be_record(Slots) and may_be_record(Holder)


@dataclasses.dataclass
class Written:
    x: Any
    h: Any = None
    n: int = 0


def test_attributes_of_arguments_are_written_to():
    def write(d):
        d.h, d.n = d.x * 2, d.n + 1
        return d.h.sum()
    traced = whet.jit.trace(write)
    for k in range(CALLS):
        d = Written(whet.ones(3) * k, n=k)
        assert traced(d).item() == 6 * k
        assert d.h.tolist() == [2 * k] * 3 and d.n == k + 1
        del d
        gc.collect(0)
    assert calls_of(traced)["replayed"] >= CALLS - 4


class Stored:
    """Keeps what is set in a dict of its own, as graph libraries do."""

    def __init__(self, x, edge_index, y):
        self.__dict__["_store"] = {}
        self.x, self.edge_index, self.y = x, edge_index, y

    def __getattr__(self, name):
        if name in self.__dict__["_store"]:
            return self.__dict__["_store"][name]
        raise AttributeError(name)

    def __setattr__(self, name, value):
        self._store[name] = value

    @property
    def num_nodes(self):
        return self.x.shape[0]


def test_a_record_may_find_its_attributes_itself():
    assert may_be_record(Stored)
    rng, traced = np.random.default_rng(0), whet.jit.trace(scores)
    for _ in range(8):
        g = graph(rng, Stored)
        assert bits(traced(g)) == bits(scores(g))
    assert served(traced) >= 5


def test_what_a_record_keeps_is_written_to():
    def write(d):
        d.y = d.x * 2
        d.edge_index = d.y.sum().item()
        return d.num_nodes, hasattr(d, "nothing")
    traced = whet.jit.trace(write)
    for k in range(8):
        a, b = (Stored(whet.full((3,), float(k)), 0, k) for _ in range(2))
        assert traced(a) == write(b)
        assert a.y.tolist() == b.y.tolist() and a.edge_index == b.edge_index
        assert list(a._store) == list(b._store)
