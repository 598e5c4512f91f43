"""Python numbers among the arguments that become sizes: one recording serves all of them."""
import random

import pytest
import whet
from whet import jit, nn
from whet.jit.machine_code.native_entry import enter

W = whet.linspace(-1, 1, 48).reshape(8, 6)
LATE = 16                        # of the last 20 calls: others are eager, to see what that takes


pytestmark = pytest.mark.usefixtures("never_sounded")


class Cached(nn.Module):
    """Attention over what was there before, as in Llama's code."""

    def __init__(self):
        super().__init__()
        self.wq, self.wk, self.wv = (nn.Linear(8, 8, bias=False) for _ in range(3))
        self.register_buffer("keys", whet.zeros(1, 2, 64, 4))
        self.register_buffer("values", whet.zeros(1, 2, 64, 4))

    def forward(self, x, start_pos):
        n = x.shape[1]
        q, k, v = (f(x).view(1, n, 2, 4).transpose(1, 2) for f in (self.wq, self.wk, self.wv))
        self.keys[:, :, start_pos:start_pos + n] = k
        self.values[:, :, start_pos:start_pos + n] = v
        keys, values = self.keys[:, :, :start_pos + n], self.values[:, :, :start_pos + n]
        return ((q @ keys.mT * 0.5).softmax(-1) @ values).transpose(1, 2).reshape(1, n, 8)


def ragged(x, n):
    """The first rows of a padded batch."""
    return (x[:n] @ W).softmax(-1), x[n:].sum(0)


def named(x, *, n):
    """The same by name, and in arithmetic."""
    return x[:2 * n + 1].cumsum(0), x[n - 1] * n


def within(x, bounds):
    """A number in a tuple."""
    lo, hi = bounds
    return x[lo:hi] * 2


def made(x, n):
    """A size of a new tensor."""
    return whet.zeros(n, 8) + x[0], whet.arange(n) * 2


def narrowed(x, n):
    """Parts by functions."""
    return x.narrow(0, 1, n).sum(0), x.select(0, n)


def compared(f, eager, calls):
    """The calls of `f` that were replayed, each of which gives eager's bits."""
    replayed = []
    for args, kwargs in calls:
        before = f._policy.summary().replayed
        got, want = f(*args, **kwargs), eager(*args, **kwargs)
        got, want = (x if type(x) is tuple else (x,) for x in (got, want))
        for a, b in zip(got, want, strict=True):
            assert a.shape == b.shape and a.numpy().tobytes() == b.numpy().tobytes()
        replayed.append(f._policy.summary().replayed - before)
    return replayed


@pytest.mark.parametrize("fn, pack", [
    (ragged, lambda n: (n,)), (within, lambda n: ((3, n),)), (made, lambda n: (n,)),
    (narrowed, lambda n: (n,))])
@whet.no_grad()
def test_one_recording_serves_all_numbers(fn, pack):
    f = jit.trace(fn)
    x, rng = whet.randn(64, 8), random.Random(0)
    calls = [((x, *pack(n)), {}) for n in [20, 30, 40, *rng.sample(range(33, 60), 20)]]
    assert sum(compared(f, fn, calls)[-20:]) >= LATE
    assert f._policy.summary().recorded <= 3


@whet.no_grad()
def test_numbers_that_are_given_by_name():
    f, x = jit.trace(named), whet.randn(64, 8)
    calls = [((x,), {"n": n}) for n in [5, 15, 16, *range(17, 30)]]
    assert sum(compared(f, named, calls)[-13:]) >= 10


@whet.no_grad()
def test_a_cache_that_is_written_to_at_a_position():
    whet.manual_seed(1)
    traced, eager = Cached(), Cached()
    eager.load_state_dict(traced.state_dict())
    f = jit.trace(traced)
    calls = [((whet.randn(1, 1, 8), n), {}) for _ in range(3) for n in range(40)]
    replayed = compared(f, eager, calls)
    assert sum(replayed[-40:]) >= 36, replayed
    assert traced.keys.numpy().tobytes() == eager.keys.numpy().tobytes()
    assert f._policy.summary().recorded <= 8


@whet.no_grad()
def test_python_that_goes_another_way_by_one_is_asked_again():
    def fn(x, n):
        y = x[:n]
        return y.sum() if n > 24 else y.mean()
    f, x = jit.trace(fn), whet.randn(64, 8)
    rng = random.Random(1)
    compared(f, fn, [((x, rng.randrange(4, 60)), {}) for _ in range(60)])
    assert f._policy.summary().replayed > 20


@whet.no_grad()
def test_numbers_of_other_kinds_are_taken_as_they_are():
    def fn(x, n): return x[:n] * 2
    f, x = jit.trace(fn), whet.randn(64, 8)
    ns = [20, 30, 40, -3, -5, None, 0, 1, 2, 64, 200, 1 << 50, True, 33]
    compared(f, fn, [((x, n), {}) for n in ns for _ in range(2)])


@whet.no_grad()
def test_numbers_beside_others_in_lists_that_the_call_changes():
    def fn(x, given, scale):
        n = given["n"].pop()
        return x[:n] * scale + len(given["n"])
    f, x, rng = jit.trace(fn), whet.randn(64, 8), random.Random(2)
    for i in range(30):
        kept = [[rng.randrange(3, 9), rng.choice([-1, 5]), rng.randrange(20, 60)]
                for _ in range(1 + i % 2)]
        for last in kept:
            mine, other = {"n": [*last]}, {"n": [*last]}
            got, want = f(x, mine, i), fn(x, other, i)
            assert got.numpy().tobytes() == want.numpy().tobytes() and mine == other


@pytest.mark.skipif(enter is None, reason="there is no machine code for calls")
@whet.no_grad()
def test_machine_code_reads_the_number():
    def fn(x, n): return (x[:n] @ W).softmax(-1)
    f, x = jit.trace(fn), whet.randn(64, 8)
    compared(f, fn, [((x, n), {}) for n in [40, 41, 42, 43, 44]])
    table, = f._calls.policy.sized
    before = table.calls
    compared(f, fn, [((x, n), {}) for n in range(45, 60)])
    assert table.calls >= before + 13
    for n in (-7, 1 << 70, 4.0, 300):
        for g in (f, fn):
            try:
                shape = g(x, n).shape
            except TypeError:
                shape = None
            if g is f:
                mine = shape
        assert mine == shape
