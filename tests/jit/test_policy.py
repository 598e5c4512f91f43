"""What tracing may cost over all calls of a function: with a clock that only the test moves on."""
import gc
import math
import random
import time
import types
import warnings

import numpy as np
import pytest
import whet
from whet import jit
from whet.jit.machine_code import native_entry, table_index
from whet.jit.policy import account, eviction, many_sizes, timing
from whet.jit.policy.account import Policy
from whet.jit.policy.candidate import Candidate
from whet.jit.policy.not_worth_tracing import why
from whet.jit.policy.outcomes import Outcome
from whet.jit.replay.recording import CallCounts
from whet.jit.tables import sized_table

from tests.loops.harness import untimed

ALLOWED, GRACE = 1.1, 0.05               # of eager's time, and seconds: what is promised


@pytest.fixture(autouse=True)
def limited(monkeypatch, unlimited):
    """What is spent is limited, as it is for users."""
    monkeypatch.setattr(account, "GRACE", 0.04)


class Recorded:
    """A recording of the simulated function."""
    slow, calls = False, 0

    def __init__(self, kind, size):
        self.kind, self.size, self.trial, self.counts = kind, size, timing.Trial(), CallCounts()


class Simulated:
    """A function of which each way to call it takes a known time, under a policy. `spent` and
    `eager`: the true seconds."""
    # seconds to ask, and to record; a replay by an eager call
    asks, full, like, replay = 2e-5, 8e-3, 2e-3, 0.3
    # seconds that a plan for all sizes takes, where there can be one
    grows, has_plan = None, False

    def __init__(self, seconds, **costs):
        self.seconds, self.policy, self.recordings = seconds, Policy(), {}
        self.spent = self.eager = self.worst = 0.0
        vars(self).update(costs)

    def call(self, kind):
        """A call whose arguments are of this kind."""
        worth = self.seconds(kind)
        self.spent += self.take(kind, worth)
        self.eager += worth
        self.worst = max(self.worst, self.spent - ALLOWED * self.eager - GRACE)

    def take(self, key, worth):
        p, r = self.policy, self.recordings.get(key)
        if r is not None and r.calls:        # machine code makes it, and nobody notes the time
            r.calls += 1
            return self.replay * worth
        if p.pause.left:
            p.rested(1)
            return worth
        kind = p.kind(key, ())
        if r is not None:
            r.calls = r.counts.in_account = 1
            p.replayed(kind, self.replay * worth)
            p.pay(kind, self.asks + self.replay * worth)
            return self.asks + self.replay * worth
        like = bool(self.recordings)
        grows = like and self.grows is not None and not self.has_plan
        why = p.why_not_record(kind, Candidate(like=lambda: like, grows=lambda: grows))
        if why is not None:
            p.ran(kind, worth, self.asks + worth, why)
            return self.asks + worth
        took = self.asks + worth + (self.like if like else self.full)
        if grows and p.affords_family(took):
            self.has_plan = True
            p.plans.note_family(self.grows, 0.0)
            took += self.grows
        p.recorded(kind, took, 3 * worth, like, Outcome.RESIZED if like else Outcome.RECORDED)
        r = self.recordings[key] = Recorded(kind, 1 << 16)
        for other in p.room(kind, r.size, [r], made=True):
            p.drop(other)
            self.recordings = {k: x for k, x in self.recordings.items() if x is not other}
        p.keep(r)
        return took


def mixes(count, passes=5):
    """Sizes in turn: any of them, each in order, each shuffled anew, others in each pass."""
    rng = random.Random(count)
    yield "uniform", [rng.randrange(count) for _ in range(count * passes)]
    yield "growing", list(range(count)) * passes
    yield "epochs", [n for _ in range(passes) for n in rng.sample(range(count), count)]
    yield "fresh", list(range(count * passes))
    yield "twice", [n for k in range(count) for n in (k, k)]


@pytest.mark.parametrize("replay", [0.1, 0.7, 1.0, 1.3])
@pytest.mark.parametrize("seconds", [2e-7, 2e-5, 1e-3, 2e-2])
@pytest.mark.parametrize("count", [1, 20, 200, 1000])
def test_the_loss_is_bounded_at_every_moment(count, seconds, replay):
    for name, sizes in mixes(count):
        f = Simulated(lambda n: seconds * (1 + n % 7), replay=replay)
        for n in sizes:
            f.call(n)
        # a replay that is slower than eager calls is found by its trial
        if replay <= 1:
            assert f.worst <= 0, f"{name}: {f.worst} s behind what is promised"
        total = f.policy.summary()
        assert total.calls == len(sizes), "each call is in the ledger once"
        assert (total.eager < 1.3 * f.eager
                + 1e-4), "what eager calls would have taken is rather thought to be less than more"


def test_what_it_spends_beyond_the_opening_is_within_the_bound():
    """The first call of a function is recorded whatever that costs, and the next ones that may find
    other state; calls of other sizes are not, and none once a call was left eager, until it is
    earned back."""
    f = Simulated(lambda n: 1e-3, full=0.3, like=0.1)
    f.call(0)
    kind = f.policy.kind(0, ())
    assert f.policy.why_not_record(kind, Candidate(is_known=True)) is None
    for n in 1, 2:
        f.call(n)
    assert len(f.recordings) == 1 and f.worst > 0
    assert f.policy.why_not_record(kind, Candidate(is_known=True)) is Outcome.COSTLY
    behind = f.spent - f.eager
    for n in range(3, 2000):
        f.call(n)
    assert f.spent - f.eager < behind + 0.1 * f.eager


@pytest.mark.parametrize("seconds, like, epochs",
                         [(1e-3, 2e-3, 12), (2e-3, 10e-3, 30), (1e-4, 2e-4, 12)])
def test_what_recurs_in_epochs_is_replayed(seconds, like, epochs):
    f, rng = Simulated(lambda n: seconds, like=like), random.Random(0)
    for _ in range(epochs):
        before, eager = f.spent, f.eager
        for n in rng.sample(range(200), 200):
            f.call(n)
    assert f.spent - before < 0.4 * (f.eager - eager) and f.worst <= 0


def test_sizes_that_never_come_again_cost_nothing_in_the_long_run():
    f = Simulated(lambda n: 1e-3)
    for n in range(5000):
        f.call(n)
    assert len(f.recordings) == account.FREE and f.spent < 1.04 * f.eager


def test_what_pays_may_take_more_than_what_has_yet_to_show_it():
    p = Policy()
    often, once = p.kind("often", ()), p.kind("once", ())
    for kind in (often, once):
        kind.eager = 1e-3
    often.missed, once.missed = 100, 2
    p.times.typical, p.made = 1e-3, account.OPENING
    assert p.affords(often, 0.03) and not p.affords(once, 0.03) and p.affords(once, 0.009)


def test_recordings_that_bring_in_nothing_become_rarer():
    f = Simulated(lambda n: 1e-4)
    # each kind comes twice, and is recorded then for nothing
    for n in range(4000):
        f.call(n // 2)
    assert f.spent < 1.1 * f.eager + 0.05 and len(f.recordings) < 60


def test_a_tiny_function_is_not_even_asked():
    f = Simulated(lambda n: 1e-6)
    for n in range(100000):
        f.call(n)
    ledger = f.policy.summary()
    assert f.worst <= 0 and ledger.unasked > 90000


def test_memory_is_bounded_and_a_cycle_larger_than_it_does_not_thrash(monkeypatch):
    monkeypatch.setattr(eviction, "LIMIT", 50 << 16)
    f = Simulated(lambda n: 1e-3)
    for _ in range(10):
        for n in range(200):
            f.call(n)
    assert f.policy.bytes <= 50 << 16 and len(f.recordings) == 50
    ledger = f.policy.summary()
    assert ledger.evicted == 0 and ledger.crowded > 0 and ledger.replayed > 50 * 6
    # what comes much more often takes the place of something
    for _ in range(300):
        for n in range(1000, 1005):
            f.call(n)
    assert sum(n >= 1000 for n in f.recordings) == 5 and len(f.recordings) == 50


def test_objects_known_by_address_are_told_apart_from_others_there():
    p, x = Policy(), {"a set", "of texts"}
    kind = p.kind("key", [x])
    assert p.kind("key", [x]) is kind and kind.calls == 2
    assert p.kind("key", [{"another"}]) is not kind


def test_history_is_bounded(monkeypatch):
    monkeypatch.setattr(account, "HISTORY", 100)
    p = Policy()
    for n in range(1000):
        p.kind(n, ())
    assert len(p.kinds) == 100 and p.kind(999, ()).calls == 2


# ---- traced functions ----------------------------------------------------------------------------
class Clock:
    """Time that only the function's own calls take."""

    def __init__(self, monkeypatch, seconds=1e-3):
        self.now, self.calls, self.seconds, self.lost = 0.0, 0, seconds, 0.0
        monkeypatch.setattr(jit.clocks, "clock", self.tell)
        monkeypatch.setattr(jit.clocks, "busy", self.tell)

    def tell(self):
        """The time; each look takes some."""
        self.now += self.lost
        return self.now

    def traced(self, fn, *first, **options):
        """A traced function, recorded; whose eager calls take time from now on."""
        f = jit.trace(fn, **options)
        f(*first)

        def eager(*args):
            self.now += self.seconds
            self.calls += 1
            return fn(*args)
        f.fn = eager
        return f


def test_a_loop_of_another_length_is_not_recorded_on_credit(monkeypatch):
    """The first recording comes at once, those of other sizes where what may be lost is not."""
    monkeypatch.setattr(account, "GRACE", 0.0)
    cell = whet.nn.GRUCell(4, 4)

    @whet.no_grad()
    def fn(xs):
        h = whet.zeros(1, 4)
        for x in xs.unbind(0):
            h = cell(x, h)
        return h
    f = jit.trace(fn)
    for n in (8, 5, 9, 6):
        x = whet.randn(n, 1, 4)
        assert f(x).tolist() == fn(x).tolist()
    ledger = f._policy.summary()
    assert ledger.recorded == f._policy.made == 1 and ledger.ran_eagerly == 3, ledger


def test_each_call_is_in_the_ledger(monkeypatch):
    monkeypatch.setattr(account, "GRACE", math.inf)
    f = jit.trace(lambda x: x * 2 + 1)
    sizes = [*range(2, 40), *range(2, 40), *[5] * 300]
    for n in sizes:
        assert f(whet.ones(n)).tolist() == [3.0] * n
    ledger = f._policy.summary()
    assert ledger.calls == len(sizes) and ledger.recorded >= 1
    assert (ledger.resized + ledger.unseen + ledger.sized >= account.FREE - 2
            and ledger.replayed + ledger.slower > 100), ledger


def test_many_kinds_are_found_by_machine_code(monkeypatch):
    monkeypatch.setattr(account, "GRACE", math.inf)
    # however slow the machine is, none is timed yet
    for owner, name in (timing, "SHORT"), (timing, "EARLY"), (sized_table, "SOUNDINGS"):
        monkeypatch.setattr(owner, name, 1 << 40)
    f = jit.trace(lambda x, y: x * 2 + y.sum())
    kinds = [(n, m) for n in range(2, 14) for m in range(2, 14)]
    for n, m in kinds * 4:
        assert f(whet.ones(n), y=whet.ones(m)).tolist() == [2.0 + m] * n
    if native_entry.enter is not None:
        asked, key = [], f._calls.learned.key
        f._calls.learned.key = lambda *args: asked.append(1) or key(*args)
        for n, m in kinds:
            assert f(whet.ones(n), y=whet.ones(m)).tolist() == [2.0 + m] * n
        assert not asked and f._policy.summary().replayed >= 3 * len(kinds)


@pytest.mark.parametrize("sizes", [[(2, 3), (3, 2), (6,), (1, 6)], [(4,), (5,)]])
def test_fingerprints_are_machine_codes(sizes):
    """What an index was told of arguments in Python is what machine code finds in them."""
    if native_entry.enter is None:
        pytest.skip("without machine code there is no index")
    index, made = table_index.Index({1}), {}
    for shape in sizes:
        for n in (7, -3, 1 << 62, 1 << 70):
            args, kwargs = (whet.ones(shape), 5, n, None), {"y": whet.ones(shape[::-1])}
            finger = table_index.fingerprint(args, kwargs, {1})
            made[finger] = table_index.bypass_all(lambda *args, found=(shape, n), **kwargs: found, 100)
            index.put(finger, made[finger])
    for shape in sizes:
        for n in (7, -3, 1 << 62):
            got = native_entry.enter(index.ready, (whet.ones(shape), 6, n, None),
                                     {"y": whet.ones(shape[::-1])})
            assert got == (shape, n)
    finger = table_index.fingerprint((whet.ones(sizes[0]), 5, 7, None),
                                     {"y": whet.ones(sizes[0][::-1])}, {1})
    index.drop(finger, made[finger])
    assert (native_entry.enter(index.ready, (whet.ones(sizes[0]), 6, 7, None),
                               {"y": whet.ones(sizes[0][::-1])}) is native_entry.MISSED)


def test_evicted_recordings_leave_nothing(monkeypatch):
    monkeypatch.setattr(jit.tables.sized_table, "sized", lambda *_: None)  # each size has its own
    f = jit.trace(lambda x: (x * 2).exp())
    monkeypatch.setattr(account, "GRACE", math.inf)
    for n in range(2, 30):
        for _ in range(3):
            f(whet.ones(n))
    kept = [r for rs in f._table.values() for r in rs]
    for r in kept[5:]:
        f._calls.recordings.drop(r)
    del r, kept
    gc.collect()
    assert len(f._table) == len(f._policy.held) == 5
    for n in range(2, 30):
        assert f(whet.ones(n)).tolist() == (whet.ones(n) * 2).exp().tolist()


def test_arguments_that_are_always_others_are_soon_left_alone(monkeypatch):
    clock = Clock(monkeypatch, 1e-6)
    # a set is known by its address
    f = clock.traced(lambda x, a: x + len(a), whet.ones(2), {0.5})
    key, asked = f._calls.learned.key, []

    def asking(*args):                       # asking takes much longer than the function
        clock.now += 1e-5
        asked.append(1)
        return key(*args)
    f._calls.learned.key = asking
    for i in range(20000):
        f(whet.ones(2), {float(i)})
    assert len(asked) < 8000 and f._policy.summary().unasked > 10000


def kinds_that_come_once(f, calls):
    """The warnings of calls of which each has other sizes than all before."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for n in range(calls):
            f(whet.ones(2 + n))
    return [str(w.message) for w in said]


def test_it_is_said_once_that_tracing_does_not_pay(monkeypatch):
    clock = Clock(monkeypatch, seconds=1e-2)
    f = clock.traced(lambda x: x.sum() * 2, whet.ones(1), dynamic=False)
    said = kinds_that_come_once(f, 90)
    assert not said, "as long as it costs nothing"
    clock.lost = 1e-3                        # asking takes time
    said = kinds_that_come_once(f, 600)
    assert len(said) == 1 and "is no faster traced so far" in said[0]
    assert "kinds of arguments" in said[0] and "Pad to fewer sizes" in said[0]


def test_it_is_said_early_that_no_call_has_the_arguments_of_another():
    f = jit.trace(lambda x, factors: x * float(factors[0]) + float(factors[1]))
    x = whet.ones(3)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for i in range(60):
            a, b = i + 0.5, 1.0 / (i + 1)
            assert f(x, [repr(a), repr(b)]).tolist() == (x * a + b).tolist()
    (text,) = [str(w.message) for w in said]
    assert "calls was replayed: what they are given beside tensors" in text
    assert "(factors[0] is " in text and "Pass numbers that change as tensors" in text


def test_it_is_said_which_line_lets_no_call_fit_a_recording():
    def f(x):
        before = whet.get_rng_state()
        noise = whet.rand_like(x[x > 0]).sum()       # of another length each time
        return noise, whet.set_rng_state(before)
    g, rng = jit.trace(f), np.random.default_rng(0)
    calls = [whet.tensor(rng.permutation(np.arange(-n, 99 - n))) * 1.0 for n in range(1, 60)]
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for x in calls:
            assert g(x)[0].tolist() == f(x)[0].tolist()
    (text,) = [str(w.message) for w in said]
    assert "was replayed: what nonzero gives has another shape (test_policy.py:" in text
    assert "Keep the shape" in text


@pytest.mark.parametrize("made, book, words", [
    (5, dict(slower=900, replayed=100), "replays take longer"),
    (5, dict(missed=900, costly=600, replayed=100, new=300), "most others missed: what"),
    (0, dict(costly=1000), None), (3, dict(replayed=900, costly=100), None)])
def test_why_it_does_not_pay(made, book, words):
    p = Policy()
    vars(p.ledger).update(recorded=made, eager=2.0, spent=2.5, **book)
    assert (why(p, len) is None) if words is None else words in str(why(p, len))
    p.ledger.spent = 1.9
    assert why(p, len) is None, "no word where it is faster"
    p.ledger.spent, p.ledger.eager = 0.9, 0.5
    assert why(p, len) is None, "nor before it is sure"


def test_a_plan_for_a_range_of_sizes_waits_until_it_can_be_spent():
    policy = Policy()
    kind = policy.kind(0, ())
    assert policy.may_plan(kind)
    policy.plans.note_range(10 * account.GRACE, 0.0)
    assert not policy.may_plan(kind)
    earned = 20 * account.GRACE / many_sizes.PLANS
    policy.ledger.eager = policy.ledger.spent = earned / account.ALLOWANCE
    assert policy.may_plan(kind)


def test_nothing_is_known_of_plans_before_one_was_made():
    policy = Policy()
    kind = policy.kind(0, ())
    kind.calls, kind.missed, kind.eager, policy.times.ratio = 2, 3, 1e-3, 2.0
    policy.ledger.spent = 1.0                # There is nothing to spend, nor to bring in.
    assert policy.may_plan(kind)
    policy.plans.note_family(0.1, 0.0)
    assert not policy.may_plan(kind)


@pytest.mark.parametrize("seconds, full", [(1e-3, 60e-3), (5e-3, 0.2), (1e-4, 10e-3)])
def test_where_many_sizes_come_a_plan_for_all_of_them_is_saved_up_for(seconds, full):
    """No recording of one size eats up what the plan takes, and once that has paid it is made."""
    rng = random.Random(0)
    f = Simulated(lambda n: seconds, full=full, like=full)
    f.grows = 0.8 * full
    for _ in range(12000):
        f.call(rng.randrange(1000))
        if f.has_plan:
            break
    assert f.has_plan and len(f.recordings) <= 4 and f.worst <= account.CREDIT * full
    assert f.eager < 8 * full / account.ALLOWANCE


def test_a_recording_that_happens_to_take_long_does_not_put_off_the_plan():
    """The machine was busy, which says nothing of the plan."""
    f = Simulated(lambda n: 2e-2, full=0.1, like=0.6, grows=0.05, replay=0.3)
    for n in range(400):
        f.call(n)
    assert f.has_plan and f.policy.summary().resized == 1


def test_two_sizes_in_turn_are_recorded_one_by_one():
    f = Simulated(lambda n: 1e-3)
    f.grows = 2e-3
    for n in range(50):
        f.call(n % 2)
    assert len(f.recordings) == 2 and f.spent < 0.7 * f.eager


def test_what_misses_after_many_replays_is_no_opening():
    """A rare way through a function that is replayed well is not recorded at once."""
    f = Simulated(lambda n: 1e-3, full=0.08)
    f.call(0)
    for _ in range(20):
        f.call(0)
    kind = f.policy.kind(0, ())
    assert f.policy.why_not_record(kind, Candidate(is_known=True)) is Outcome.COSTLY


def test_a_second_way_is_recorded_once_it_would_have_paid():
    """Though the first recording, a dear one, has not been earned back."""
    f = Simulated(lambda n: 4e-3, full=0.2)
    f.call("one phase")
    for _ in range(20):
        f.call("one phase")
    eager = 0
    while len(f.recordings) < 2 and eager < 150:
        f.call("the next phase")
        eager += 1
    assert 20 < eager < 120 and f.policy.balance < 0


def test_a_plan_for_a_range_of_sizes_pays_by_the_calls_of_all_of_them():
    policy = Policy()
    policy.times.typical, policy.plans.range_seconds, policy.first_cost = 4e-3, 0.02, 0.1
    policy.ledger.spent = 0.1
    for n in range(40):                      # each of them comes once
        kind = policy.kind(n, ())
        if policy.may_plan(kind):
            break
        policy.why_not_record(kind, Candidate())
    assert 4 < n < 20
    policy.plans.note_range(0.02, 0.0)
    assert not policy.may_plan(kind)


def test_a_run_that_sets_something_up_makes_no_recording():
    """What it changed it would want as it was. The next one is recorded, and knows what varies."""
    counts = types.SimpleNamespace(calls=0, total=None, last=0)

    @whet.jit.trace
    def step(x):
        counts.calls += 1
        counts.total = counts.calls if counts.total is None else counts.total + counts.calls
        counts.last = x.sum().item()
        return x * 2
    with untimed():
        for k in range(1, 6):
            assert step(whet.full((3,), k)).tolist() == [2.0 * k] * 3
            assert counts.last == 3.0 * k and counts.calls == k
            assert counts.total == k * (k + 1) // 2
    calls = step.explain(data=True)["calls"]
    assert (calls["set_up"], calls["recorded"], calls["replayed"]) == (1, 1, 3), calls


def test_a_state_that_alternates_is_recorded_though_each_run_changes_it():
    """That a run changes what it finds does not say that this never comes back."""
    state = {"odd": False}

    @whet.jit.trace
    def step(x):
        state["odd"] = not state["odd"]
        return x + 1 if state["odd"] else x - 1
    with untimed():
        for k in range(12):
            assert step(whet.zeros(2)).tolist() == ([-1.0, -1.0] if k % 2 else [1.0, 1.0])
    assert step.explain(data=True)["calls"]["replayed"] >= 7


def test_stand_ins_are_taken_back_without_a_look_at_all_that_is_alive(monkeypatch):
    """Finding who holds something takes milliseconds: it is asked only of what the run kept."""
    from whet.jit.stand_ins import replace_stand_ins
    asked = []
    look = replace_stand_ins.gc.get_referrers

    class Counting:
        @staticmethod
        def get_referrers(*xs):
            asked.append(len(xs))
            return look(*xs)
    monkeypatch.setattr(replace_stand_ins, "gc", Counting)
    history, rates = [], {"betas": (0.5, 0.25)}

    @whet.jit.trace
    def step(batch):
        rates["betas"] = rates["betas"][0] * 0.5, rates["betas"][1]
        history.append(whet.from_numpy(batch[0]).sum().item())
        print("", end="")
        return whet.from_numpy(batch[1]) * rates["betas"][0]
    for k in range(4):
        rows = np.full(3, k, np.float32)
        assert step((rows, rows + 1)).tolist() == [0.5 ** (k + 2) * (k + 1)] * 3
    assert history == [0.0, 3.0, 6.0, 9.0] and not asked
    assert all(type(x) is float for x in (*history, *rates["betas"]))


def test_a_learning_rate_is_known_to_be_scheduled(monkeypatch):
    """It changes sooner or later: a recording that was made of it alone would be of no use then."""
    monkeypatch.setattr(account, "GRACE", math.inf)
    w = whet.ones(3, requires_grad=True)
    optimizer = whet.optim.Adam([w], lr=0.5)

    @whet.jit.trace
    def step(x):
        optimizer.zero_grad()
        (w * x).sum().backward()
        optimizer.step()
        return w.detach().clone()
    other = whet.ones(3, requires_grad=True)
    eager = whet.optim.Adam([other], lr=0.5)
    for k in range(6):
        optimizer.param_groups[0]["lr"] = eager.param_groups[0]["lr"] = 0.5 / (1 + k // 3)
        eager.zero_grad()
        (other * 2).sum().backward()
        eager.step()
        assert step(whet.full((3,), 2.0)).tolist() == other.tolist()
    calls = step.explain(data=True)["calls"]
    assert (calls["recorded"], calls["replayed"]) == (1, 4), calls


def test_sizes_that_never_come_twice_are_told_even_where_little_was_spent():
    p = Policy()
    p.ledger.eager, p.ledger.spent, p.ledger.new = 2.0, 0.1, 400
    assert why(p, len) is None
    for i in range(40):
        p.kind(i, ())
    assert "40 kinds of arguments" in str(why(p, len))
    p.ledger.replayed = 400
    assert why(p, len) is None


def test_a_failed_recording_is_told_of_where_no_other_is_due(monkeypatch):
    """Three tries are made before a function is given up, but they may be far apart."""
    f, x = jit.trace(lambda x: (time.sleep(0), x * 2)[1]), whet.ones(3)
    f(x)
    monkeypatch.setattr(account.Policy, "why_not_record", lambda self, *given: Outcome.COSTLY)
    with pytest.warns(jit.TraceWarning, match="eagerly so far: it calls time.sleep"):
        for _ in range(40):
            f(x)
