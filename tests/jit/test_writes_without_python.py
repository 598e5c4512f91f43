"""Replays in machine code that write to tensors which were there before the call: bits, versions
and errors are eager's, and memory that overlaps otherwise is noticed."""
import pytest
import whet
from whet import jit
from whet.jit.machine_code.native_entry import L

from tests.jit.table_calls import TRIED, compiled, equal, hits, never_slow


@pytest.fixture(autouse=True)
def untimed(monkeypatch):
    never_slow(monkeypatch)


def armed(fn, *args):
    """A traced function whose calls like this one enter no Python."""
    f = jit.trace(fn)
    for _ in range(TRIED + 4):
        f(*args)
    before = hits(f)
    f(*args)
    assert hits(f) == before + 1
    tables = [r.tables.ready for rs in f._table.values() for r in rs if r.tables.ready]
    assert all(t[0][L.H["kind"] // 8] == L.LAUNCH for t in tables)
    return f


def step(x, y):
    x.add_(y).mul_(0.5)
    return (x * y).sum()


@compiled
def test_arguments_are_written_to_and_their_versions_count_it():
    x, y = whet.randn(32), whet.randn(32)
    f = armed(step, x, y)
    for _ in range(3):
        z, before, seen = x.clone(), x._version, hits(f)
        assert equal(f(x, y), step(z, y)) and equal(x, z) and hits(f) == seen + 1
        assert x._version - before == z._version == 2


@compiled
def test_outside_tensors_are_written_to():
    mean, count = whet.zeros(8), whet.zeros(())

    def update(x):
        mean.mul_(0.9).add_(x, alpha=0.1)
        count.add_(1)
        return x - mean
    f, x = armed(update, whet.randn(8)), whet.randn(8)
    was, counted, before = mean.clone(), count.item(), mean._version
    got = f(x)
    was.mul_(0.9).add_(x, alpha=0.1)
    assert equal(mean, was) and equal(got, x - was) and count.item() == counted + 1
    assert mean._version == before + 2


@compiled
@pytest.mark.parametrize("shift", [-31, -8, -1, 1, 8, 31, 32])
def test_memory_that_overlaps_is_eager_again(shift):
    f = armed(step, whet.randn(32), whet.randn(32))
    a = whet.randn(128)
    b = a.clone()
    views = [(t[40:72], t[40 + shift:72 + shift]) for t in (a, b)]
    got, want = f(*views[0]), step(*views[1])
    assert equal(a, b) and equal(got, want)


@compiled
def test_arrays_of_others_that_overlap_are_noticed():
    f = armed(step, whet.randn(32), whet.randn(32))
    a = whet.randn(64).numpy()
    b = a.copy()
    for _ in range(2):
        for shift in (16, 32, 0):
            got = f(*map(whet.from_numpy, (a[:32], a[shift:32 + shift])))
            want = step(*map(whet.from_numpy, (b[:32], b[shift:32 + shift])))
            assert equal(got, want) and (a == b).all()


@compiled
def test_an_argument_in_the_memory_of_an_outside_tensor_is_noticed():
    w = whet.randn(32)

    def update(x):
        w.add_(x)
        return x * w
    f = armed(update, whet.randn(32))
    v = whet.from_numpy(w.numpy()[::1])
    z = w.clone()
    got = f(v)
    z.add_(z)
    assert equal(w, z) and equal(got, z * z)


@compiled
def test_saved_tensors_notice_the_write():
    x, y = whet.randn(32), whet.randn(32)
    f = armed(step, x, y)
    w = whet.ones(32, requires_grad=True)
    r = (w * x).sum()
    f(x, y)
    with pytest.raises(RuntimeError, match="modified by an inplace operation, by `mul_`"):
        r.backward()
