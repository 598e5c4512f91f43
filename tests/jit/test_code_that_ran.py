"""Functions within reach of what cannot be compared, by code that does not run."""
import contextlib
import os
import sys
import threading
import types
import warnings

import pytest
import whet
from whet.jit.dispatch.code_that_ran import LESSONS
from whet.jit.export import ExportError

MANY = [[i] for i in range(30_000)]          # more objects than are watched
EVENTS = [threading.Event()]


def with_a_table(x):
    return x * len(MANY[7])


def with_an_event(x):
    return x * (2 + EVENTS[0].is_set())


def with_files(x):
    return x * len(list(map(os.listdir, ["."])))


def with_an_iterator(x, it=iter([2, 3])):
    return x * next(it)


@contextlib.contextmanager
def guarded():
    if not EVENTS[0].is_set():
        yield


@guarded()
def with_a_context(x):
    return x * 2


NEVER = [with_a_table, with_an_event, with_files, with_an_iterator, with_a_context]


def plain(x, n):
    return x * n + 1


def deep(x, n):
    return whet.relu(plain(x, n)) if n > 1 else x - n


@pytest.fixture(params=NEVER, ids=lambda f: f.__name__)
def step(request):
    """A function that could call another, which cannot be recorded."""
    never = request.param

    def step(x, n):
        return never(x) if n > 100 else deep(x, n)
    return step


def replayed(f):
    return f.explain(data=True)["calls"]["replayed"]


def test_code_that_does_not_run_is_no_reason_to_run_eagerly(step):
    f, x = whet.jit.trace(step), whet.randn(3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(5):
            assert f(x, 2).tolist() == step(x, 2).tolist()
    assert replayed(f) >= 2
    assert "only what ran is read" in f.explain()


def test_strict_functions_learn_too(step):
    f, x = whet.jit.trace(step, strict=True), whet.randn(3)
    for _ in range(5):
        assert f(x, 2).tolist() == step(x, 2).tolist()
    assert replayed(f) >= 2


def test_other_ways_are_learned_when_they_come(step):
    f, x = whet.jit.trace(step), whet.randn(3)
    for _ in range(3):
        for n in (0, 0, 0, 2, 2, 2, 3.5, 3.5, 3.5):
            assert f(x, n).tolist() == step(x, n).tolist()
    assert replayed(f) >= 12


def test_a_first_run_that_sets_more_up_than_can_be_compared(step):
    made = []

    def sets_up(x):
        if not made:
            made.append(step(x, 101))
        return x * 2
    f, x = whet.jit.trace(sets_up), whet.randn(3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(6):
            assert f(x).tolist() == (x * 2).tolist()
    assert replayed(f) >= 2


def test_functions_of_others_around_code_that_runs_later():
    """A wrapper of contextlib's is not looked into, as long as what it wraps does not run."""
    numbers = [2.0]

    @contextlib.contextmanager
    def counted():
        numbers[0] += 1
        yield

    @counted()
    def scaled(x):
        return x * numbers[0]

    def step(x, n):
        return with_an_event(x) if n > 100 else scaled(x) if n > 2 else deep(x, n)
    f, x = whet.jit.trace(step), whet.randn(3)
    for n in (1, 1, 1, 1, 3, 3, 3, 3, 1, 3):
        before = numbers[0]
        found, count = f(x, n).tolist(), numbers[0]
        numbers[0] = before
        assert (found, count) == (step(x, n).tolist(), numbers[0])
    assert replayed(f) >= 2


def test_what_code_that_ran_reads_is_compared(monkeypatch):
    """And what stands in the place of code that ran."""
    names = types.SimpleNamespace(scale=2.0)

    def scaled(x):
        return x * names.scale

    def shifted(x, n, by=3):
        return x + n * by

    def step(x, n):
        return with_an_event(x) if n > 100 else scaled(x) + plain(x, n)
    f, x = whet.jit.trace(step), whet.randn(3)
    for i in range(16):
        names.scale += i % 4 == 3
        if i == 8:
            monkeypatch.setitem(globals(), "plain", shifted)
        if i == 12:
            shifted.__defaults__ = (4,)
        assert f(x, 2).tolist() == step(x, 2).tolist()
    assert replayed(f) >= 4


def test_numbers_are_what_they_are_in_code_that_was_not_read():
    """A stand-in for a number would be known by its type."""
    kinds = []

    def told(n):
        kinds.append((type(n), type(n) is float))
        return n

    def step(x, n, rate):
        y = with_an_event(x) if n > 100 else x * rate
        return y * told(rate) if n > 4 else y
    f, x = whet.jit.trace(step), whet.randn(3)
    for n, rate in [(1, 0.5), (1, 0.25), (1, 0.125), (5, 0.5), (5, 0.75), (6, 0.25), (6, 0.25)]:
        assert f(x, n, rate).tolist() == step(x, n, rate).tolist()
    assert kinds and set(kinds) == {(float, True)}


def test_what_code_that_ran_cannot_be_compared_by_is_still_a_reason():
    f, x = whet.jit.trace(lambda x, n: with_an_event(x) if n > 1 else deep(x, n)), whet.randn(3)
    with pytest.warns(whet.jit.TraceWarning, match=r"EVENTS.* a threading.Event"):
        for _ in range(4):
            assert f(x, 2).tolist() == (x * 2).tolist()


def test_code_that_is_new_at_every_call_is_a_reason():
    source = "def made(x): return x * 2"

    def step(x, n):
        return with_an_event(x) if n > 100 else made(x)
    f, x = whet.jit.trace(step), whet.randn(3)
    with pytest.warns(whet.jit.TraceWarning, match="made"):
        for i in range(2 * LESSONS):
            held = {}
            exec("\n" * i + source, held)
            made = held["made"]
            assert f(x, 1).tolist() == (x * 2).tolist()


def test_checks_that_run_other_code():
    """What a check of a recording runs that was not read is learned, and no reason to give up."""
    def step(x, n):
        if n > 100:
            return with_an_event(x)
        y = x + 1
        if y.sum() > 40:
            return plain(y, 4)
        if y.sum() > 20:
            return deep(y, 3)
        return deep(y, 0) if y.sum() > 0 else plain(y, 2)
    f = whet.jit.trace(step)
    for i in range(60):
        x = whet.full((3,), [-5.0, 1.0, 9.0, 20.0][i * i % 7 % 4])
        assert f(x, 1).tolist() == step(x, 1).tolist()
    assert f.explain(data=True)["refused"] is None and replayed(f) >= 30


# ---- exports -------------------------------------------------------------------------------------
def test_what_does_not_run_is_no_reason_not_to_export(step):
    x = whet.randn(3)
    assert whet.export(step, x, 2)(x, 2).tolist() == step(x, 2).tolist()
    e, longer = whet.export(step, x, 2, dynamic={"x": ("n",)}), whet.randn(7)
    assert e(longer, 2).tolist() == step(longer, 2).tolist()


def test_what_runs_is_a_reason(step):
    with pytest.raises(ExportError, match=r"step \(test_code_that_ran.py.* cannot be exported"):
        whet.export(step, whet.randn(3), 200)


def test_code_that_was_not_seen_at_first_is_read_then():
    """Who asks for the profile is not watched any more."""
    asks = [sys.getprofile]

    def step(x, n):
        while asks:
            asks.pop()()
        return with_an_event(x) if n > 100 else deep(x, n)
    x = whet.randn(3)
    assert whet.export(step, x, 2)(x, 2).tolist() == step(x, 2).tolist()
