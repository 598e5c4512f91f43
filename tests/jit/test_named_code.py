"""What code names, and what it does not: a program that is written as libraries are is replayed,
and whatever it reads by the names that it has is still compared."""
import collections
import enum
import inspect
import types

import pytest
import whet
from whet import jit, nn

HELPERS = types.ModuleType("helpers")
HELPERS.limit, HELPERS.scale, HELPERS.stack = 3, 2.0, lambda *a: open("/nowhere")
MISSING = object()


class Mode(enum.Enum):
    TRAIN = 1
    EVAL = 2


class Level(enum.IntEnum):
    LOW = 0
    HIGH = 3


class Meter:
    def __init__(self, window=3):
        self.values, self.total, self.count = collections.deque(maxlen=window), 0.0, 0

    def update(self, value):
        self.values.append(value)
        self.total += value
        self.count += 1

    @property
    def mean(self):
        return self.total / self.count


class Meters:
    """As training scripts have it: a meter is there once it is named."""

    def __init__(self):
        self.meters = collections.defaultdict(Meter)

    def update(self, **values):
        for name, value in values.items():
            self.meters[name].update(value.item() if isinstance(value, whet.Tensor) else value)

    def __getattr__(self, name):
        if name in self.meters:
            return self.meters[name]
        if name in self.__dict__:
            return self.__dict__[name]
        raise AttributeError(name)


def same(make, calls=8, replayed=None, between=lambda state, k: None):
    """Eager and traced calls give the same; `make` gives a function and its state. Of the traced
    ones at least so many are replayed."""
    (eager, of_eager), (fn, of_traced) = make(), make()
    traced = jit.trace(fn)
    for k in range(calls):
        x = whet.full((3,), float(k))
        between(of_eager, k)
        expected = eager(x)
        between(of_traced, k)
        assert traced(x) == expected, k
    if replayed is not None:
        assert traced.explain(data=True)["calls"]["replayed"] >= replayed


def test_numbers_vary_beside_questions_for_what_a_library_has():
    def make():
        def f(x, default=inspect.Parameter.empty, mode=Mode.EVAL):
            known = default is inspect.Parameter.empty
            total = x.sum().item()
            return total * 2 if known and mode is Mode.EVAL else total, (x is MISSING)
        return f, None
    same(make, replayed=7)


@pytest.mark.parametrize("ask", [
    lambda n: n is HELPERS.limit, lambda n: n is Level.HIGH, lambda n: n is whet.nowhere,
    lambda n: n is HELPERS.scale], ids=["a number of a module", "an enum of numbers", "nothing",
                                        "a float"])
def test_questions_that_a_number_may_answer_are_eager_modes(ask):
    def make():
        def f(x):
            n = int(x.sum().item())
            try:
                return ask(n), n
            except AttributeError as e:
                return type(e).__name__, n
        return f, None
    same(make)


def test_meters_that_are_made_when_named():
    def make():
        whet.manual_seed(0)
        log, model = Meters(), nn.Linear(3, 1)

        def f(x):
            loss = model(x).square().sum()
            log.update(loss=loss, size=3)
            return log.loss.total, log.size.count, [*log.loss.values]
        return f, log
    same(make, 14, replayed=6)

    def changed(log, k):
        if k in (5, 9):
            log.meters["loss"].total = 100.0 * k
        if k == 7:
            log.loss = Meter()
    same(make, 14, between=changed)


def test_a_factory_of_the_users_gets_numbers():
    def defaultdict(factory):
        return {"made": factory(2), "by": factory}

    def make():
        def f(x):
            n = int(x.sum().item()) % 4 + 1
            held = defaultdict(Meter)["by"](n)
            for k in range(5):
                held.update(k + x.mean().item())
            return [*held.values], held.mean
        return f, None
    same(make)


class Sized(Meter):
    def __init__(self, n):
        super().__init__(n + 1)
        self.n = n


class Older(Meter):
    def __init__(self, n):
        super(Older, self).__init__(n)       # noqa: UP008


@pytest.mark.parametrize("kind", [Sized, Older, lambda n: type("Made", (Sized,), {})(n),
                                  lambda n: Meter.__init__(m := Sized(1), n) or m],
                         ids=["super", "super with arguments", "a class inside", "by its name"])
def test_constructors_that_a_subclass_calls_get_numbers(kind):
    def make():
        def f(x):
            made = kind(int(x.sum().item()) % 3 + 1)
            for k in range(6):
                made.update(k)
            return [*made.values], made.values.maxlen
        return f, None
    same(make)


def test_a_method_may_make_its_object_anew():
    class Counter(Meter):
        def reset(self):
            super().__init__(2)

    def make():
        counter = Counter()

        def f(x):
            counter.update(x.sum().item())
            if counter.count > 3:
                counter.reset()
            return [*counter.values], counter.total
        return f, counter
    same(make, 12)


class Forwarding:
    def __init__(self, inner, **more):
        self.inner = inner
        self.__dict__.update(more)

    def __getattr__(self, name):
        return getattr(self.inner, name)


@pytest.mark.parametrize("way", ["named", "text", "made up", "called"])
def test_what_is_asked_for_by_another_objects_name_is_compared(way):
    name = "sca" + "le"

    def make():
        inner = types.SimpleNamespace(scale=2.0)
        outer = Forwarding(Forwarding(inner), kept=1.0)

        def f(x):
            found = {"named": lambda: outer.scale,
                     "text": lambda: getattr(outer, "scale"),    # noqa: B009
                     "made up": lambda: getattr(outer, name),
                     "called": lambda: outer.__getattr__(name)}[way]()
            return (x * found).tolist(), outer.kept
        return f, (inner, outer)

    def changed(state, k):
        inner, outer = state
        if k in (3, 6):
            inner.scale = 10.0 * k
        if k == 5:
            outer.kept = 2.0
    same(make, 9, between=changed)


def asked(m, name):
    return getattr(m, name)


@pytest.mark.parametrize("way", [
    lambda: HELPERS.scale, lambda: asked(HELPERS, "scale"), lambda: vars(HELPERS)["scale"],
    lambda: [HELPERS][0].scale, lambda: Forwarding(HELPERS).scale,
    lambda: HELPERS.__dict__["scale"]])
def test_names_of_a_module_are_compared_however_they_are_read(way, monkeypatch):
    """Another module's function of a name that the code uses of something else is not reached."""
    f = jit.trace(lambda x: (whet.stack([x, x]).sum() * way() * (HELPERS.limit or 1)).item())
    for k, scale in enumerate([2.0, 2.0, 3.0, 3.0, 2.0]):
        monkeypatch.setattr(HELPERS, "scale", scale)
        assert f(whet.ones(2) * k) == 12 * k * scale


class Stored:
    """Keeps what is set in a dict of its own."""

    def __init__(self, **held):
        self.__dict__["_store"] = held
        self.__dict__["aside"] = {"n": 1.0}

    def __getattr__(self, name):
        if name in self.__dict__["_store"]:
            return self.__dict__["_store"][name]
        raise AttributeError(name)

    def __setattr__(self, name, value):
        self.__dict__["_store"][name] = value

    def kept(self):
        return self.__dict__["aside"]["n"]


CHANGES = {
    "set": lambda s, k: setattr(s, "scale", 5.0 * k),
    "in its dict": lambda s, k: s._store.update(scale=7.0 * k),
    "another dict": lambda s, k: s.__dict__.update(_store={"scale": 3.0 * k}),
    "deleted": lambda s, k: s._store.pop("scale", None),
    "covered": lambda s, k: s.__dict__.update(scale=2.0 * k),
    "aside": lambda s, k: s.__dict__["aside"].update(n=4.0 * k),
    "another aside": lambda s, k: s.__dict__.update(aside={"n": 6.0 * k})}


@pytest.mark.parametrize("change", CHANGES)
def test_what_an_object_finds_itself_is_compared(change):
    def make():
        held = Stored(scale=2.0)

        def f(x):
            try:
                return (x * held.scale).tolist(), held.kept(), hasattr(held, "other")
            except AttributeError as e:
                return str(e), held.kept()
        return f, held
    same(make, 9, replayed=2,
         between=lambda held, k: CHANGES[change](held, k) if k in (3, 6) else None)


def test_another_way_to_find_attributes_is_compared():
    def make():
        class Own(Stored):
            pass
        held = Own(scale=2.0)
        return lambda x: (x * held.scale).tolist(), Own

    def changed(kind, k):
        if k == 4:
            kind.__getattr__ = lambda self, name: 10.0
    same(make, 8, between=changed)


@pytest.mark.parametrize("way", ["tensor", "number", "dict", "by the name that is asked for"])
def test_what_is_set_may_have_been_read_past_its_class(way):
    class State:
        def __init__(self):
            self.last, self.seen, self.held = whet.zeros(3), 1.0, {"n": 1.0}

        def __getattr__(self, name):
            return self.__dict__["held" if name == "kept" else name]

    def make():
        state = State()

        def f(x):
            if way == "tensor":
                x = x + state.__dict__["last"]
                state.last = x * 0.5
            elif way == "number":
                x = x * state.__dict__["seen"]
                state.seen = x.mean().item() / 4
            else:
                held = state.__dict__["held"] if way == "dict" else state.kept
                x = x + held["n"]
                state.held = {"n": x.mean().item() / 2}
            return x.tolist()
        return f, state

    def changed(state, k):
        if k in (4, 7):
            state.last, state.seen, state.held = whet.full((3,), 9.0 * k), 3.0 * k, {"n": 5.0 * k}
    same(make, 10, between=changed)
