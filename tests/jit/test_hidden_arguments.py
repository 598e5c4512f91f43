"""Tensors in Python's state that have other sizes from call to call: caches of keys and values as
attributes of a model."""
import pytest
import whet
import whet.nn.functional as F
from whet import nn
from whet.jit.policy import many_sizes

from tests.jit.ledgers import calls_of, served
from tests.jit.table_calls import compiled, is_launched, never_slow

STEPS, TEXTS = 27, 3

pytestmark = pytest.mark.usefixtures("replays_count_as_faster")


@pytest.fixture(autouse=True)
def no_soundings(monkeypatch):
    monkeypatch.setattr(many_sizes, "SOUNDING", 1 << 30)


class Attributes(nn.Module):
    """Keys and values as two attributes."""
    def __init__(self):
        super().__init__()
        self.key = nn.Linear(8, 8)
        self.begin()

    def begin(self):
        self.k, self.v = whet.zeros(1, 2, 8), whet.ones(1, 2, 8)

    def grown(self, k, v):
        self.k, self.v = whet.cat([self.k, k], 1), whet.cat([self.v, v], 1)
        return self.k, self.v

    def forward(self, x):
        q = self.key(x)[:, None]
        k, v = self.grown(q, x[:, None])
        return F.scaled_dot_product_attention(q, k, v)


class FromNothing(Attributes):
    """There is no cache before the first call."""
    def begin(self):
        self.k = self.v = None

    def grown(self, k, v):
        if self.k is None:
            self.k, self.v = k, v
            return k, v
        return super().grown(k, v)


class Pair(Attributes):
    """Keys and values as a tuple."""
    def begin(self):
        self.kv = whet.zeros(1, 2, 8), whet.ones(1, 2, 8)

    def grown(self, k, v):
        self.kv = whet.cat([self.kv[0], k], 1), whet.cat([self.kv[1], v], 1)
        return self.kv


class NewList(Pair):
    """Each call lays a new list."""
    def begin(self):
        self.kv = [whet.zeros(1, 2, 8), whet.ones(1, 2, 8)]

    def grown(self, k, v):
        self.kv = [whet.cat([self.kv[0], k], 1), whet.cat([self.kv[1], v], 1)]
        return self.kv


class NewDict(Pair):
    """Each call lays a new dict."""
    def begin(self):
        self.kv = {"k": whet.zeros(1, 2, 8), "v": whet.ones(1, 2, 8)}

    def grown(self, k, v):
        self.kv = {"k": whet.cat([self.kv["k"], k], 1), "v": whet.cat([self.kv["v"], v], 1)}
        return self.kv["k"], self.kv["v"]


class Items(Pair):
    """Each text begins with a new list, of which calls set the items."""
    def begin(self):
        self.kv = [whet.zeros(1, 2, 8), whet.ones(1, 2, 8)]

    def grown(self, k, v):
        self.kv[0], self.kv[1] = whet.cat([self.kv[0], k], 1), whet.cat([self.kv[1], v], 1)
        return self.kv


class Filled(Pair):
    """Each text begins with an empty dict."""
    def begin(self):
        self.kv = {}

    def grown(self, k, v):
        for name, new in ("k", k), ("v", v):
            self.kv[name] = whet.cat([self.kv[name], new], 1) if name in self.kv else new
        return self.kv["k"], self.kv["v"]


class ListOfPairs(Pair):
    """A pair in a list, which each call replaces by another."""
    def begin(self):
        self.kv = [(whet.zeros(1, 2, 8), whet.ones(1, 2, 8))]

    def grown(self, k, v):
        self.kv = [(whet.cat([a, k], 1), whet.cat([b, v], 1)) for a, b in self.kv]
        return self.kv[0]


class Cache:
    """Keys and values of one text."""
    def __init__(self):
        self.k, self.v, self.seen = whet.zeros(1, 2, 8), whet.ones(1, 2, 8), 0

    def update(self, k, v):
        self.seen += 1
        self.k, self.v = whet.cat([self.k, k], 1), whet.cat([self.v, v * self.seen], 1)
        return self.k, self.v


class Object(Pair):
    """Each text has an object of its own."""
    def begin(self):
        self.kv = Cache()

    def grown(self, k, v):
        return self.kv.update(k, v)


class Counted(Attributes):
    """A counter beside them, which is a number that varies."""
    def begin(self):
        super().begin()
        self.at = 0

    def grown(self, k, v):
        self.at += 1
        return super().grown(k, v * self.at)


class BySize(Attributes):
    """Python computes with the size that a cache has."""
    def grown(self, k, v):
        return super().grown(k, v * self.k.shape[1])


class Window(Attributes):
    """No more than sixteen are kept."""
    def grown(self, k, v):
        super().grown(k, v)
        self.k, self.v = self.k[:, -16:], self.v[:, -16:]
        return self.k, self.v


FORMS = [Attributes, FromNothing, Pair, NewList, NewDict, Counted, BySize, Window, ListOfPairs]


def written(make, trace, steps=STEPS):
    """All that some texts lead to, and the traced function."""
    whet.manual_seed(0)
    model = make()
    f, found = trace(model.forward), []
    with whet.no_grad():
        for _ in range(TEXTS):
            model.begin()
            for _ in range(steps):
                found.append(f(whet.randn(1, 8)).numpy().tobytes())
    return found, f


@pytest.mark.parametrize("make", FORMS)
def test_caches_that_grow_are_replayed(make):
    want, _ = written(make, lambda f: f)
    got, traced = written(make, whet.jit.trace)
    assert want == got
    assert served(traced) >= 0.75 * STEPS * TEXTS and calls_of(traced)["recorded"] <= 8
    assert traced.explain() and traced.explain(full=True)


@pytest.mark.parametrize("make", [Items, Filled, Object])
def test_caches_that_each_text_has_of_its_own_are_replayed(make, monkeypatch):
    monkeypatch.setattr(many_sizes, "MARGIN", 0)
    want, _ = written(make, lambda f: f)
    got, traced = written(make, whet.jit.trace)
    assert want == got
    assert served(traced) >= 0.7 * STEPS * TEXTS and calls_of(traced)["recorded"] <= 12


@compiled
@pytest.mark.parametrize("make", [Attributes, Pair, NewList, NewDict, ListOfPairs])
def test_machine_code_makes_calls_of_new_sizes(make, monkeypatch):
    never_slow(monkeypatch)
    want, _ = written(make, lambda f: f, 90)
    got, traced = written(make, whet.jit.trace, 90)
    calls = sum(table.calls for table in traced._calls.policy.sized)
    assert want == got and calls > 180


def test_a_key_says_what_the_user_calls_them():
    class Rows:
        def __init__(self): self.rows = whet.zeros(1, 3)
        def step(self, x):
            self.rows = whet.cat([self.rows, x])
            return self.rows.sum()
    f = whet.jit.trace(Rows().step)
    for _ in range(4):
        f(whet.ones(1, 3))
    hidden = [name for key in f._table for name, _ in key[1] or ()]
    assert {str(name) for name in hidden} == {"self.rows"}
    assert "self.rows is f32[" in f.explain(full=True)


def test_another_models_caches_are_not_those_of_the_first():
    def step(model, x):
        return model(x)
    f = whet.jit.trace(step)
    with whet.no_grad():
        models = [Attributes(), Attributes()]
        for _ in range(6):
            for model in models:
                f(model, whet.randn(1, 8))
    hidden = f._calls.learned.hidden.by_objects
    assert len(hidden) == 2 and all(len(arguments) == 2 for arguments in hidden.values())


def test_they_are_forgotten_with_the_recordings():
    def step(model, x):
        return model(x)
    f, model = whet.jit.trace(step), Attributes()
    with whet.no_grad():
        for _ in range(6):
            f(model, whet.randn(1, 8))
    assert f._calls.learned.hidden.by_objects
    for r in list(f._calls.policy.held):
        f._calls.recordings.drop(r)
    assert not f._calls.learned.hidden.by_objects


@pytest.mark.parametrize("n", [63, 64, 65, 80])
def test_as_many_results_as_a_table_holds(n, monkeypatch):
    never_slow(monkeypatch)
    f = whet.jit.trace(lambda *xs: [x * 2 + 1 for x in xs])
    for k in range(12):
        xs = [whet.tensor(float(i + k)) for i in range(n)]
        assert [float(x) for x in f(*xs)] == [2 * (i + k) + 1 for i in range(n)]
    if whet.cpu.native.enabled():
        assert is_launched(f)


@compiled
def test_sizes_of_tensors_in_containers_are_resized_by_machine_code(monkeypatch):
    """As well as those of arguments."""
    never_slow(monkeypatch)
    f = whet.jit.trace(lambda x, past: [whet.cat([past[0], x]), whet.cat([past[1], x * 2])])
    past = [whet.zeros(2, 3), whet.ones(2, 3)]
    for k in range(60):
        x = whet.ones(1, 3) * k
        want, past = [whet.cat([past[0], x]), whet.cat([past[1], x * 2])], f(x, past)
        assert all(a.numpy().tobytes() == b.numpy().tobytes() for a, b in zip(want, past))
    assert sum(table.calls for table in f._calls.policy.sized) > 20
