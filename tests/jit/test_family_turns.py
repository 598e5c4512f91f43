"""Recordings of one family share what their checks note: one call at a time works in it."""
import sys
import threading

import pytest
import whet
from whet import jit
from whet.jit.program.programs_of_sizes import AtSizes

pytestmark = pytest.mark.usefixtures("never_sounded")


@jit.trace
def rows(x, index):
    return (x * 2)[index] + 1


def of_the_family():
    """The recordings of `rows`, for sizes that were run and for others."""
    x = whet.arange(4000.).reshape(1000, 4)
    for n in (*range(20, 29), 20, 30, 21, 31):
        for _ in range(3):
            rows(x[:n], whet.arange(n))
    held = rows._calls.policy.held
    assert any(r.unseen for r in held) and any(not r.unseen for r in held)
    return [r for r in held if isinstance(r.program, AtSizes)]


def replays():
    ledger = rows._calls.policy.summary()
    return ledger.replayed + ledger.unseen + ledger.sized


def test_programs_that_share_their_checks_share_a_lock():
    found = of_the_family()
    first = found[0].program.model
    assert len(found) > 1
    assert all(r.program.stopped is first.stopped for r in found)
    assert all(r.lock is first.lock for r in found)


def test_a_call_that_finds_the_memory_in_use_goes_through_eager_mode():
    first = of_the_family()[0]
    x = whet.arange(120.).reshape(30, 4)
    assert first.lock.acquire(False)
    try:
        before = replays()
        assert rows(x, whet.arange(30)).equal(rows.fn(x, whet.arange(30)))
        assert replays() == before
        with pytest.raises(IndexError):
            rows(x, whet.full((30,), 30))
    finally:
        first.lock.release()


def test_no_error_of_one_thread_is_another_s():
    """An index out of range raises in the thread that has it, and in no other."""
    x, interval = whet.arange(400.).reshape(100, 4), sys.getswitchinterval()
    wrong = []

    def work(i):
        for k in range(300):
            n = 20 + (7 * i + k) % 11
            index = whet.arange(n)
            bad = (k + i) % 3 == 0
            if bad:
                index[n - 1] = n
            try:
                rows(x[:n], index)
                raised = False
            except IndexError:
                raised = True
            if raised != bad:
                wrong.append((i, k, raised))

    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    finally:
        sys.setswitchinterval(interval)
    assert not wrong
