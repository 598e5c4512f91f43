"""Calls with NumPy arrays among the arguments or the results, through tables."""
import math
import threading

import numpy as np
import pytest
import whet
from whet import jit, nn
from whet.jit.policy import account, many_sizes

from tests.jit.table_calls import (
    TRIED,
    compiled,
    equal,
    never_slow,
    replays_by_table,
)

KNOWN = np.arange(6, dtype=np.float32).reshape(3, 2)


@pytest.fixture(autouse=True)
def untimed(monkeypatch):
    never_slow(monkeypatch)


def array(k, kind=np.float32):
    return (np.arange(6) * 0.5 + k).astype(kind).reshape(3, 2)


def one(k):
    """The arguments of a function of one array."""
    return [array(k)]


def summed(x):
    return whet.from_numpy(x).sum()


def product(x, y):
    return whet.from_numpy(x) @ whet.from_numpy(y).t() + 2.0


def as_array(x):
    return (whet.from_numpy(x) * 2).numpy()


def part_of_result(x):
    y = whet.from_numpy(x) * 2
    return y.numpy()[1:, ::-1], y


def number(x):
    return (whet.from_numpy(x) * 2).numpy()[1, 1], whet.from_numpy(x).sum().item()


def itself(x):
    return x, whet.from_numpy(x) + 1


def part_of_argument(x):
    return whet.from_numpy(x)[1], whet.from_numpy(x) + 1


def one_array_twice(x):
    y = (whet.from_numpy(x) * 2).numpy()
    return {"first": y, "again": [y, (y,)]}


FUNCTIONS = [summed, as_array, part_of_result, number, itself, part_of_argument, one_array_twice]


@compiled
@pytest.mark.parametrize("fn", FUNCTIONS, ids=[f.__name__ for f in FUNCTIONS])
@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int64, np.uint8])
def test_arrays(fn, kind):
    replays_by_table(fn, lambda k: [array(abs(k), kind)], alone=fn is not part_of_argument)


@compiled
def test_several_arrays_and_tensors():
    f = replays_by_table(product, lambda k: [array(k), array(k + 1)])
    x = array(4)
    assert equal(f(x, x), product(x, x))     # one array twice is another call
    assert equal(f(x, x[:]), product(x, x))
    replays_by_table(lambda x, y: whet.from_numpy(x["a"][0]) + y,
                     lambda k: [{"a": [array(k)]}, whet.tensor(array(k))])


@compiled
def test_results_are_one_object_where_they_were_one():
    f = replays_by_table(one_array_twice, one)
    out = f(array(7))
    assert out["first"] is out["again"][0] is out["again"][1][0]
    x = array(8)
    assert replays_by_table(itself, one)(x)[0] is x


@compiled
def test_what_shows_an_argument_shares_its_memory():
    f = replays_by_table(part_of_argument, one, alone=False)
    x = array(3)
    shown, _ = f(x)
    x[1] = 100
    assert shown.tolist() == [100, 100]


@compiled
def test_results_stay_when_others_are_made():
    f = replays_by_table(as_array, one)
    x, y = f(array(1)), f(array(2))
    x += 1
    assert equal(x, array(1) * 2 + 1) and equal(y, array(2) * 2)
    assert equal(f(array(3)), array(3) * 2)


@compiled
def test_other_layouts_are_other_calls():
    f = replays_by_table(as_array, one)
    frozen = array(5)
    frozen.flags.writeable = False
    for x in (array(1).T, array(1)[:2], array(1)[::-1], array(1, np.float64), frozen,
              np.asfortranarray(array(2)), array(2).astype(">f4"), np.ma.array(array(1)),
              array(1)[None], np.float32(3.0)):
        for _ in range(4):
            try:
                want = as_array(x)
            except Exception as e:
                with pytest.raises(type(e)):
                    f(x)
            else:
                assert equal(f(x), want)
        assert equal(f(array(9)), as_array(array(9)))


@compiled
def test_an_array_from_outside_is_told_from_others():
    def f(x):
        x[0] = 7
        return whet.from_numpy(x) + whet.from_numpy(KNOWN)
    traced, was = jit.trace(f), KNOWN.copy()
    for x in [*(array(k) for k in range(8)), KNOWN, array(3), KNOWN, array(4)]:
        y = x if x is KNOWN else x.copy()
        got = traced(x).numpy().copy()
        KNOWN[:] = was
        assert equal(got, f(y).numpy())
        KNOWN[:] = was


@compiled
def test_arrays_of_many_sizes(monkeypatch):
    monkeypatch.setattr(account, "GRACE", math.inf)
    monkeypatch.setattr(many_sizes, "SOUNDING", 1 << 30)
    net = nn.Linear(2, 3)

    def f(x):
        with whet.no_grad():
            return net(whet.from_numpy(x)).numpy()
    traced = jit.trace(f)
    for n in range(41, 53):
        x = np.arange(2 * n, dtype=np.float32).reshape(n, 2)
        assert equal(traced(x), f(x))
    ledger = traced._calls.policy.summary()
    assert ledger.unseen + ledger.sized >= 4


@compiled
def test_threads_with_arrays_of_their_own():
    f, wrong = replays_by_table(as_array, one), []

    def calls(k):
        x = array(k)
        for _ in range(200):
            if not equal(f(x), x * 2):
                wrong.append(k)
    threads = [threading.Thread(target=calls, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


@compiled
def test_slower_functions_of_arrays_are_called_at_once(monkeypatch):
    """Where eager calls are faster, machine code makes them."""
    from whet.jit.replay.recording import Recording
    monkeypatch.setattr(Recording, "slow", property(lambda r: True, lambda r, v: None))
    calls = []

    def f(x):
        return whet.from_numpy(x) * 2
    traced = jit.trace(f)
    for k in range(TRIED + 6):
        traced(array(k))
    monkeypatch.setattr(type(traced._calls), "__call__",
                        lambda self, *args: calls.append(args) or f(*args[0]))
    assert equal(traced(array(3)), f(array(3))) and not calls
    assert equal(traced(array(3)[:1]), f(array(3)[:1])) and calls


def listed(x):
    return (whet.from_numpy(x) * 2).tolist(), whet.from_numpy(x)[0, 1].item()


def numbers_in_places(x):
    y = whet.from_numpy(x).double()
    z = y.numpy()
    return z[2, 1], y, z[0, 0], z[1, 1].item(), float(y.sum())


@compiled
@pytest.mark.parametrize("fn", [listed, numbers_in_places])
def test_numbers_of_results(fn):
    replays_by_table(fn, one)


@compiled
def test_one_number_of_numpys_is_one_object():
    def f(x):
        y = (whet.from_numpy(x) * 2).numpy()[0, 1]
        return y, [y]
    traced = jit.trace(f)
    for k in range(TRIED + 8):
        a, (b,) = traced(array(k))
        assert a is b and equal(a, f(array(k))[0])


@compiled
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_numpy_numbers_among_arguments(kind):
    def fn(x, k):
        return x * float(k), k, whet.as_tensor(k) + 1, {"next": k + 1}
    f = replays_by_table(fn, lambda k: [whet.tensor([1.0, k]), kind(k + 0.5)], alone=False)
    x = whet.ones(2)
    for k in (np.float64(2.5), np.float32(3.5), np.float16(4.5), 5.5, kind(np.nan), kind(np.inf),
              kind(-0.0), kind(7.25)):
        for _ in range(4):
            got, want = f(x, k), fn(x, k)
            assert str(got) == str(want) and type(got[1]) is type(want[1])
    x = kind(9.5)
    g = replays_by_table(lambda a, b: (a * 2, a - b), lambda k: [kind(k), kind(k + 0.25)])
    assert equal(g(x, x), (x * 2, x - x))


@compiled
def test_draws_of_replays_that_cannot_miss_save_no_state(monkeypatch):
    """To save the state of a generator may take longer than the replay."""
    from whet.jit.stand_ins import outside_draws
    own, saved, state_of = np.random.default_rng(3), [], outside_draws.state_of

    def noisy(x):
        noise = whet.from_numpy(np.random.randn(2)) + whet.from_numpy(own.normal(size=2))
        return x + noise.float()

    def guarded(x):
        y = x + float(own.normal())
        return y * 2 if y.sum() > 0 else y
    monkeypatch.setattr(outside_draws, "state_of", lambda g: saved.append(g) or state_of(g))
    for fn, saves in ((noisy, False), (guarded, True)):
        found = []
        for f in (fn, jit.trace(fn)):
            np.random.seed(5)
            own.bit_generator.state = np.random.default_rng(7).bit_generator.state
            found.append([f(whet.ones(2)).tolist() for _ in range(TRIED + 6)])
            saved.clear()
            found[-1] += [f(whet.ones(2)).tolist() for _ in range(3)]
            found[-1].append((np.random.rand(), own.random()))
        assert found[0] == found[1]
        assert bool(saved) == saves
