"""What recordings watch, or make again, so that they need not refuse it: each program does on
every call what it does eagerly, and is compiled."""
import array
import datetime
import functools
import inspect
import itertools
import random
import sys
import time
import types
import typing

import numpy as np
import pytest
import whet
from whet.jit.stand_ins import caches

from tests.traps import harness
from tests.traps.harness import Box, leaf, ramp, thrice

PROGRAMS = {}


def program(build):
    PROGRAMS[build.__name__] = build
    return build


def fate(build):
    """(where a traced run differs from the eager one, why it was refused)"""
    made: list = []
    problem = harness.difference(build, harness.traced(made))
    return problem, next((r for t in made if (r := t.explain(data=True)["refused"])), None)


# ---- texts ---------------------------------------------------------------------------------------
@program
def the_text_of_a_tensor():
    """Its numbers, its type, its settings and its history are in it."""
    w = leaf(2)
    def f(x):
        y = x * w
        return y, repr(y), f"{y.detach()}", str(w), f"{x.sum()}"
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        yield from thrice(lambda: f(ramp(2) * 3))
        with whet.no_grad():
            w.mul_(2)
        yield from thrice(lambda: f(ramp(2)))
        whet.set_printoptions(precision=1)
        try:
            yield from thrice(lambda: f(ramp(2) / 3))
        finally:
            whet.set_printoptions(profile="default")
        yield from thrice(lambda: f(ramp(2) / 3))
    return f, calls


# ---- what is made anew ---------------------------------------------------------------------------
@program
def closures_are_returned():
    """Variables of their own, variables that two of them share, one that is itself, defaults,
    attributes, and what was there before."""
    o = Box(n=0)
    def f(x, k):
        count, y = 0, x * k
        def bump(by=1, *, twice=False):
            nonlocal count
            count += by * (1 + twice)
            o.n += 1
            return count, y
        def see(): return count
        def down(n): return 0 if n == 0 else 1 + down(n - 1)
        @functools.wraps(bump)
        def wrapped(): return bump(5)
        bump.made = y.sum()
        return y, bump, see, down, [wrapped, bump]
    def calls(f):
        for k in (2, 2, 2, 3, 3):
            y, bump, see, down, (wrapped, same) = f(ramp(2), k)
            yield (y, bump(), bump(2, twice=True), see(), down(3), wrapped(), see(), same
                   is bump, bump.made, wrapped.__name__, wrapped.__wrapped__ is bump,
                   bump.__qualname__, bump.__defaults__, bump.__kwdefaults__, o.n, bump()[1] is y)
    return f, calls


@program
def closures_are_kept():
    """One is laid into an attribute, with a tensor of the call and a parameter."""
    w, o = leaf(2), Box(back=None)
    def f(x):
        y = x * 2
        o.back = lambda g: g * y + w
        return y
    def calls(f):
        for k in range(5):
            y = f(ramp(2) * k)
            yield y, o.back(ramp(2)).detach()
            if k == 2:
                with whet.no_grad():
                    w.add_(1)
    return f, calls


@program
def tensors_are_new_keys():
    """Dicts and sets that get arguments and new tensors as keys, and lose them."""
    d, s = {}, set()
    def f(x):
        y = x * 2
        d[x], d[y] = len(d), y
        s.add(x)
        return y, len(s)
    def calls(f):
        a = ramp(2)
        for x in (a, a * 3, a * 4, a, a * 5, a):
            y, n = f(x)
            yield y, n, x in d, x in s, d[y] is y, list(d.values())[0], len(d)
            d.clear(), s.clear()
    return f, calls


# ---- settings ------------------------------------------------------------------------------------
@program
def settings_stay_as_the_call_left_them():
    """The default type, the gradient mode and the number of threads."""
    def f(x):
        y = x * whet.ones(2)
        whet.set_default_dtype(whet.float64 if whet.get_default_dtype() is
                               whet.float32 else whet.float32)
        whet.set_grad_enabled(not whet.is_grad_enabled())
        whet.set_num_threads(3 - whet.get_num_threads())
        return y, x * whet.ones(2)
    def calls(f):
        whet.set_num_threads(1)
        for _ in range(8):
            yield f(ramp(2)), whet.ones(1), whet.is_grad_enabled(), whet.get_num_threads(), (
                leaf(1) * 2).requires_grad
    return f, calls


# ---- memory of Python's --------------------------------------------------------------------------
@program
def memory_is_compared():
    """bytearray, array.array, a record of a structured array."""
    raw, numbers, table = (bytearray(b"\x01\x02"), array.array("d", [1.0, 2.0]),
                           np.zeros(2, [("a", "f4"), ("b", "i2")]))
    record = table[0]
    def f(x): return x * raw[1] + numbers[0] + sum(numbers) + float(record["a"]) * int(record["b"])
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        raw[1] = 7
        yield from thrice(lambda: f(ramp(3)))
        numbers.append(5.0)
        yield from thrice(lambda: f(ramp(3)))
        table["a"], record["b"] = 2.0, 3
        yield from thrice(lambda: f(ramp(3)))
    return f, calls


# ---- caches --------------------------------------------------------------------------------------
@program
def tensors_come_from_a_cache():
    """A hit, the cached tensor written to, another one in its place."""
    @functools.lru_cache(maxsize=2)
    def table(n):
        return ramp(n), n * 2
    def f(x):
        t, k = table(x.shape[0])
        return x * t + k, t
    def calls(f):
        for n in (2, 2, 2, 3, 2, 3, 4, 2, 2, 2):
            y, t = f(ramp(n))
            yield y, t is table(n)[0], table.cache_info()
        table(2)[0].zero_()
        yield from thrice(lambda: f(ramp(2)))
        table.cache_clear(), table(3), table(2)
        for _ in range(20):
            table(2)
        yield from thrice(lambda: (f(ramp(2)), table.cache_info()))
    return f, calls


def test_a_cache_is_compared_by_what_it_holds():
    """As often filled, and asked more often than when it was recorded: a result that its
    arguments do not determine is another."""
    @functools.lru_cache(None)
    def stamp(n): return time.perf_counter_ns()
    stamp(1)
    f = whet.jit.trace(lambda x: (x * 2, stamp(1)))
    for _ in range(4):
        assert f(whet.ones(2))[1] == stamp(1)
    before = stamp(1)
    stamp.cache_clear()
    for _ in range(20):
        stamp(1)
    assert stamp(1) != before
    for _ in range(4):
        assert f(whet.ones(2))[1] == stamp(1)


class Recipe:
    """What a cached function makes of its arguments: lists, and an object as a key of its own."""

    def __init__(self, n):
        self.sizes, self.names = [n, 2], {"h": n}


@program
def objects_come_from_a_cache():
    """A hit by a text, another by the object that this gave and a shape; then the object changes,
    other entries come, the bounded cache forgets, and both are emptied."""
    @functools.lru_cache(maxsize=4)
    def recipe(text, n):
        return Recipe(int(text) * n)
    @functools.cache
    def shapes(made, shape, more):
        return [*shape, more[0][1]], {"n": made.sizes[0]}, None
    def f(x):
        made = recipe("3", 2)
        shape, found, nothing = shapes(made, x.shape, (("h", 2),))
        return x.reshape(shape[0], -1) * made.sizes[0] + found["n"] + made.names["h"], nothing
    def calls(f):
        f(ramp(4)), f(ramp(4))
        for change in (lambda: None, lambda: recipe("5", 1),
                       lambda: recipe("3", 2).names.update(h=9),
                       lambda: recipe("3", 2).sizes.append(1),
                       lambda: shapes(recipe("3", 2), (4,), (("h", 2),))[1].update(n=7),
                       lambda: [recipe(str(i), 1) for i in range(4)],
                       recipe.cache_clear, shapes.cache_clear):
            change()
            for _ in range(3):
                yield f(ramp(4)), tuple(recipe.cache_info()), tuple(shapes.cache_info())
        yield from thrice(lambda: f(ramp(6)))
    return f, calls


def test_a_cache_may_get_other_entries():
    @functools.lru_cache(None)
    def recipe(n): return Recipe(n)
    f = whet.jit.trace(lambda x: x * recipe(1).sizes[0])
    recipe(1)
    for n in range(8):
        recipe(n + 2)
        assert f(whet.ones(2)).tolist() == [1.0, 1.0]
    assert f.explain(data=True)["calls"]["replayed"] == 7


def test_a_cache_may_be_asked_by_a_device_and_a_dtype():
    @functools.lru_cache
    def positions(n, device, dtype): return whet.arange(n, device=device, dtype=dtype)
    f = whet.jit.trace(lambda x: x + positions(x.shape[0], x.device, x.dtype))
    for _ in range(8):
        assert f(whet.zeros(3)).tolist() == [0.0, 1.0, 2.0]
    assert f.explain(data=True)["calls"]["replayed"] >= 6


@pytest.mark.parametrize("maxsize", (None, 3))
def test_numbers_vary_beside_a_cache(maxsize):
    """What is asked of tensors, and an attribute that is another at each call; the cache keeps
    plain numbers."""
    def build():
        o = Box(base=2.0, last=0.0)
        @functools.lru_cache(maxsize)
        def known(n, *, half=False): return o.base, o.last, o.base * n
        def f(x, n):
            o.last = x.sum().item()
            base, last, product = known(n, half=True)
            o.base += 1
            return x * base + product + last, o.last
        return o, known, f
    (o, known, f), (p, other, g) = build(), build()
    g = whet.jit.trace(g)
    for k in range(48):
        x, n = ramp(3) * (k + 1), k // 12
        (y, last), (z, traced) = f(x, n), g(x, n)
        assert y.tolist() == z.tolist() and last == traced and type(traced) is float
        assert vars(o) == vars(p) and type(p.base) is type(p.last) is float
        assert known.cache_info() == other.cache_info()
        assert caches.entries_of(known) == caches.entries_of(other)
        assert {type(v) for _, found in caches.entries_of(other) for v in found} == {float}
    assert g.explain(data=True)["calls"]["replayed"] >= 36


@pytest.mark.parametrize("typed", (False, True))
@pytest.mark.parametrize("maxsize", (None, 0, 2))
def test_whether_a_cache_finds_something_is_known_before_it_is_asked(maxsize, typed):
    @functools.lru_cache(maxsize, typed=typed)
    def f(*args, **kwargs): return args, kwargs
    asked = [((), {}), ((1,), {}), ((1.0,), {}), (("a",), {}), (((1, 2),), {}), ((1, 2), {}),
             ((1,), {"n": 2}), ((), {"n": 2, "m": 3}), ((), {"m": 3, "n": 2}), ((None,), {})]
    for args, kwargs in [*asked, *asked[::-1], ((True,), {}), ((1,), {})]:
        expected, hits = caches.finds(f, args, kwargs), f.cache_info().hits
        f(*args, **kwargs)
        assert expected == (f.cache_info().hits > hits)
    assert not caches.finds(f, ([],), {})


@program
def a_module_is_asked_what_it_knows():
    """Whether a name is among others, in a module's dict: not what it stands for there, until that
    is read, too. What modules hold that are loaded is nobody's."""
    mod = types.ModuleType("mod")
    mod.known, mod.rates = {"a": 1}, {"a": 2.0}
    o = Box(name="a")
    def f(x):
        y = x * 2 if o.name in mod.known else x * 3
        if "numpy" in sys.modules and o.name in mod.rates:
            y = y + mod.rates[o.name]
        return y
    def calls(f):
        for change in (lambda: None, lambda: mod.known.update(a=5), lambda: mod.known.clear(),
                       lambda: setattr(mod, "known", {"b": 1}), lambda: mod.rates.update(a=9.0),
                       lambda: setattr(o, "name", "b"), lambda: mod.rates.update(b=0.5)):
            change()
            yield from thrice(lambda: f(ramp(2)))
    return f, calls


def test_what_is_loaded_may_change_where_a_name_is_looked_for():
    loaded = types.ModuleType("loaded_for_this_test")
    sys.modules["loaded_for_this_test"] = loaded
    try:
        f = whet.jit.trace(lambda x, o: x * 2 if "loaded_for_this_test" in sys.modules else x + o.n)
        o = Box(n=3)
        for n in range(8):
            loaded.n = n
            assert f(whet.ones(2), o).tolist() == [2.0, 2.0]
        assert f.explain(data=True)["calls"]["replayed"] == 7
    finally:
        del sys.modules["loaded_for_this_test"]
    assert f(whet.ones(2), o).tolist() == [4.0, 4.0]


@program
def signatures_and_capsules_are_in_reach():
    """A signature never changes, its defaults may; into a capsule nobody can look."""
    rates = [2.0]
    def rate(by=rates): return by[0]
    o = Box(signature=inspect.signature(rate), pointer=datetime.datetime_CAPI)
    def f(x):
        return x * o.signature.parameters["by"].default[0] + (o.pointer is None)
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        rates[0] = 3.0
        yield from thrice(lambda: f(ramp(2)))
    return f, calls


@program
def parameters_of_signatures_are_in_reach():
    """As hubs of models note them of each class."""
    rates = [2.0]
    def rate(by=rates): return by[0]
    o = Box(known=dict(inspect.signature(rate).parameters))
    def f(x):
        return x * o.known["by"].default[0]
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        rates[0] = 3.0
        yield from thrice(lambda: f(ramp(2)))
        o.known = dict(inspect.signature(lambda by=[5.0]: by).parameters)
        yield from thrice(lambda: f(ramp(2)))
    return f, calls


@program
def an_end_of_the_program_that_never_comes_is_in_reach():
    def f(x):
        if x.shape[0] > 100:
            exit()
        return x * 2
    return f, lambda f: thrice(lambda: f(ramp(2)))


@program
def functions_of_texts_are_in_reach():
    """NumPy's ufuncs of texts have no types as others have."""
    o = Box(ask=np.strings.isdecimal, name="12")
    def f(x): return x * 2 if o.name.isdecimal() else x * o.ask(np.array(["1"])).sum()
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        o.name = "x"
        yield from thrice(lambda: f(ramp(2)))
    return f, calls


# ---- names that are only there -------------------------------------------------------------------
T = typing.TypeVar("T")


@program
def names_for_types():
    """typing's objects."""
    o = Box(k=2.0, kind=typing.ClassVar[int])
    def f(x): return typing.cast(T, x) * o.k + (o.kind is typing.Any)
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        o.k, o.kind = 3.0, typing.Any
        yield from thrice(lambda: f(ramp(2)))
    return f, calls


@program
def the_path_of_a_package():
    """The path of a package without __init__.py, which the import system may make longer."""
    import tests
    def f(x): return x * len(tests.__path__)
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
    return f, calls


# ---- generators of Python's ----------------------------------------------------------------------
@program
def a_generator_is_in_reach():
    """random.Random beside what is read, and seeded or not it is not used."""
    o = Box(rng=random.Random(5), k=2.0, noisy=False)
    def f(x): return x * (o.rng.random() if o.noisy else o.k)
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        o.k = 3.0
        o.rng.seed(3)
        yield from thrice(lambda: f(ramp(2)))
    return f, calls


@pytest.mark.parametrize("draw", [
    lambda r: r.random(), lambda r: r.uniform(0, 1), lambda r: next(iter(r.random, None)),
    lambda r: next(map(r.getrandbits, [30])), lambda r: next(itertools.starmap(r.random, [()])),
    lambda r: r.gauss(0, 1), lambda r: sorted([1, 2], key=lambda _: r.random())[0]])
def test_numbers_of_a_generator_are_drawn_anew(draw):
    ours, theirs = random.Random(5), random.Random(5)
    f = whet.jit.trace(lambda x: x * draw(ours))
    for _ in range(6):
        assert f(whet.ones(1)).item() == (whet.ones(1) * draw(theirs)).item()
    assert ours.getstate() == theirs.getstate()


def test_the_state_of_a_generator_is_asked_eagerly():
    ours = random.Random(5)
    f = whet.jit.trace(lambda x: x * ours.getstate()[1][5])
    with pytest.warns(whet.jit.TraceWarning):
        for _ in range(6):
            assert f(whet.ones(1)).item() == np.float32(ours.getstate()[1][5])
            ours.random()


# what has no replay, as nobody's step needs it: it runs eagerly, and says why
REFUSED = {
    "closures_are_returned": "it returns a function",
    "closures_are_kept": "`o.back`, which becomes a function",
    "memory_is_compared": "a numpy.void",
    "the_path_of_a_package": "`__path__`"}


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_does_what_eager_does_and_is_compiled(name):
    problem, refused = fate(PROGRAMS[name])
    assert problem is None, problem
    if name in REFUSED:
        assert REFUSED[name] in str(refused)
    else:
        assert refused is None, refused


def test_classes_of_code_that_was_run_in_a_namespace_without_a_name():
    space = {"whet": whet}
    exec(
        "class Scale(whet.nn.Module):\n"
        "    def __init__(self):\n        super().__init__()\n        self.by = "
        "whet.nn.Parameter(whet.tensor(2.0))\n"
        "    def forward(self, x):\n        return x * self.by\n"
        "scale = Scale()\ndef f(x):\n    return scale(x) + 1\n",
        space)
    f = whet.jit.trace(space["f"])
    for by in (2.0, 2.0, 3.0):
        with whet.no_grad():
            space["scale"].by.fill_(by)
        assert f(whet.ones(2)).tolist() == [by + 1] * 2
    assert f._why is None and sum(p["calls"] for p in f.explain(data=True)["paths"]) == 2
