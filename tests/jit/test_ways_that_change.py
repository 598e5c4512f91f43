"""Functions whose state changes for good, or in turns: what recordings that no longer fit cost, and
when new ones are made, under the policy that users have."""
import types

import pytest
import whet
from whet import jit
from whet.jit.machine_code import native_entry
from whet.jit.policy import account
from whet.jit.policy.account import Policy
from whet.jit.policy.candidate import Candidate
from whet.jit.policy.ledger import Kind
from whet.jit.policy.outcomes import Outcome
from whet.jit.policy.second_look import LONGEST, SecondLook
from whet.jit.program.program import Program
from whet.jit.replay.recording import Recording

from tests.loops.harness import untimed

ALLOWED, GRACE = 1.1, 0.05               # of eager's time, and seconds: what is promised


@pytest.fixture(autouse=True)
def limited(monkeypatch, unlimited):
    """What is spent is limited, as it is for users."""
    monkeypatch.setattr(account, "GRACE", 0.04)


def test_a_recording_that_never_fits_again_is_tried_ever_more_rarely():
    second_look, tries = SecondLook(), []
    for call in range(10000):
        if second_look.pays(gain=2e-4):
            tries.append(call)
            second_look.missed(1e-4)
    assert len(tries) < 200 and tries[1] <= 2
    second_look.fitted()
    assert second_look.pays(2e-4) and second_look.pays(2e-4)


def test_a_try_that_costs_nothing_beside_a_replay_is_made_each_time():
    second_look = SecondLook()
    for _ in range(100):
        assert second_look.pays(gain=1e-2)
        second_look.missed(1e-6)


def test_what_fits_most_calls_has_no_bad_luck():
    """Machine code makes the calls between the misses, and tells nobody."""
    second_look = SecondLook()
    for call in range(12, 12 * 50, 12):
        second_look.known(call)
        assert second_look.pays(gain=2e-4) and not second_look.is_out
        second_look.missed(1e-4)
    for _ in range(50):
        second_look.known(call)
        second_look.missed(1e-4)
    assert second_look.is_out


def test_what_no_longer_fits_is_not_tried_at_each_call(monkeypatch):
    """It was replayed before, so it stays; machine code looks at its table all the same."""
    state, tries, call = {"factor": 2}, [], Recording.call
    monkeypatch.setattr(Recording, "call", lambda self, *xs: tries.append(1) or call(self, *xs))
    f = jit.trace(lambda x: x * 2 if state["factor"] == 2 else x * 3)
    x = whet.ones(3)
    for _ in range(5):
        assert f(x).tolist() == [2.0] * 3
    f._policy.made, f._policy.ledger.spent = account.OPENING, 100.0      # nothing can be spent
    state["factor"] = 3
    tries.clear()
    for _ in range(2000):
        assert f(x).tolist() == [3.0] * 3
    assert len(tries) < 100
    state["factor"] = 2
    replayed = f._policy.summary().replayed
    for _ in range(1000):
        assert f(x).tolist() == [2.0] * 3
    if native_entry.enter is not None:
        assert f._policy.summary().replayed > replayed, "it fits again"


def test_a_program_that_finds_out_in_the_midst_is_not_run_in_vain_at_each_call(monkeypatch):
    """Nobody asks about these calls, and machine code would run it before it sees that a value is
    another."""
    runs, run = [], Program.__call__
    monkeypatch.setattr(Program, "__call__", lambda self, *xs: runs.append(1) or run(self, *xs))

    def step(x):
        n = int(x.sum().item())
        return x * n if n % 2 else x + 1
    f = jit.trace(step)
    odd = whet.ones(3)
    for _ in range(6):
        assert f(odd).tolist() == [3.0] * 3
    held = len(f._policy.held)
    f._policy.made, f._policy.ledger.spent = account.OPENING, 100.0      # nothing can be spent
    runs.clear()
    for n in range(2000):
        assert f(whet.tensor([1.0, 1.0, 2.0 + n % 9 * 2])).tolist() == step(
            whet.tensor([1.0, 1.0, 2.0 + n % 9 * 2])).tolist()
    assert held and len(runs) < 200
    f._policy.pause.left, f._policy.ledger.spent = 0, 0.0
    f._calls.tables.hand_over()
    for r in f._policy.held:
        r.second_look.passed = LONGEST
    replayed = f._policy.summary().replayed
    for _ in range(20):
        assert f(odd).tolist() == [3.0] * 3
    assert f._policy.summary().replayed > replayed, "it fits again"


def test_what_is_passed_over_is_tried_before_another_is_made():
    state = {"factor": 2}
    f = jit.trace(lambda x: x * 2 if state["factor"] == 2 else x * 3)
    with untimed():
        for state["factor"] in [2, 2, 3, 3] * 20:
            assert f(whet.ones(2)).tolist() == [float(state["factor"])] * 2
    assert f._policy.summary().recorded == 2


def test_calls_that_are_not_asked_speak_for_the_next_one_that_is():
    p = Policy()
    p.times.typical = 1e-3
    p.kind("key", ())
    p.rested(100)
    assert p.kind("key", ()).calls == 102 and p.kind("key", ()).calls == 103
    p.rested(100)
    assert p.kind("other", ()).calls == 1, "one that was never met says nothing of them"


def test_recordings_in_vain_make_the_next_one_of_their_kind_dearer():
    kind, cost = Kind(0.0, ()), 1e-2
    assert kind.returns(cost) == 1
    kind.spent = 3 * cost
    assert kind.returns(cost) == 1 / 4
    kind.saved = 10 * cost
    assert kind.returns(cost) == 1


class Changing:
    """A function that goes another way now and then, under a policy. `way(n)`: of call n."""
    asks, full, replay, worth = 5e-5, 2e-2, 5e-5, 3e-4

    def __init__(self, way):
        self.way, self.policy, self.known, self.replays = way, Policy(), {}, 0
        self.spent = self.eager = self.worst = 0.0

    def call(self, n):
        """Call number n."""
        self.spent += self.take(self.way(n))
        self.eager += self.worth
        self.worst = max(self.worst, self.spent - ALLOWED * self.eager - GRACE)

    def take(self, way):
        p = self.policy
        if way in self.known:
            self.replays += 1
            kind = self.known[way]
            p.replayed(kind, self.replay)
            p.ledger.spent += self.replay
            p.ledger.eager += self.worth
            return self.replay
        if p.pause.left:
            p.rested(1)
            return self.worth
        kind = p.kind("key", ())
        why = p.why_not_record(kind, Candidate(is_known=bool(self.known)))
        if why is not None:
            p.ran(kind, self.worth, self.asks + self.worth, why)
            return self.asks + self.worth
        took = self.asks + self.worth + self.full
        p.recorded(kind, took, 3 * self.worth, False, Outcome.RECORDED)
        self.known[way] = kind
        return took


def test_a_way_that_begins_late_is_recorded_once_its_calls_would_have_paid():
    """What asking costs does not eat up what recording it would take. Ways of a few calls between
    many replays are not recorded."""
    f = Changing(lambda n: min(n // 6, 3))
    for n in range(5000):
        f.call(n)
    assert [*f.known] == [0, 3] and f.replays > 3000, (f.known, f.replays)
    assert f.worst <= f.full                 # the first recording is made at once


def test_ways_that_never_come_again_are_recorded_ever_more_rarely():
    f, made = Changing(lambda n: n), []
    for n in range(20000):
        f.call(n)
        made.append(len(f.known))
    assert made[-1] < 2.5 * made[5000] < 25 and f.spent < 1.1 * f.eager + 0.05, made[::1000]


def by_machine_code(f, calls):
    """How many of the calls enter no Python."""
    asked, key = [], f._calls.learned.key
    f._calls.learned.key = lambda *args: asked.append(1) or key(*args)
    calls()
    return asked


@pytest.mark.skipif(native_entry.enter is None, reason="without machine code there are no tables")
def test_ways_that_come_in_turns_have_tables():
    """Where a call leaves the state so that it would not fit another one, its table is made before
    such a call, not after it."""
    w = whet.ones(3, requires_grad=True)

    def step(x):
        (w * x).sum().backward()
    f = jit.trace(step)

    def turn():
        f(whet.ones(3))
        assert w.grad.tolist() == [1.0] * 3
        f(whet.ones(3))
        assert w.grad.tolist() == [2.0] * 3
        w.grad = None
    with untimed():
        for _ in range(6):
            turn()
        assert not by_machine_code(f, turn)


@pytest.mark.skipif(native_entry.enter is None, reason="without machine code there are no tables")
def test_a_number_that_is_made_anew_and_stays_equal_has_a_table():
    held = types.SimpleNamespace(base=0.5, rate=0.25)

    def step(x):
        held.rate = held.base / 2
        return x * held.rate
    f = jit.trace(step)
    with untimed():
        for _ in range(4):
            assert f(whet.ones(2)).tolist() == [0.25] * 2
        assert not by_machine_code(f, lambda: f(whet.ones(2)))
        held.rate = 0.125                    # it is read by nobody, but who knows
        assert f(whet.ones(2)).tolist() == [0.25] * 2 and held.rate == 0.25


def test_a_number_made_of_one_that_varies_varies_though_it_stayed_equal():
    """A schedule keeps the rate that it has set: that was the same at first, and will not be."""
    w = whet.ones(3, requires_grad=True)
    optimizer = whet.optim.SGD([w], lr=0.5, momentum=0.9)
    schedule = whet.optim.lr_scheduler.StepLR(optimizer, step_size=6, gamma=0.5)
    other = whet.ones(3, requires_grad=True)
    eager = whet.optim.SGD([other], lr=0.5, momentum=0.9)
    plan = whet.optim.lr_scheduler.StepLR(eager, step_size=6, gamma=0.5)

    def make(w, optimizer, schedule):
        def step(x):
            optimizer.zero_grad()
            (w * x).sum().backward()
            optimizer.step()
            schedule.step()
        return step
    f, g = jit.trace(make(w, optimizer, schedule)), make(other, eager, plan)
    with untimed():
        for _ in range(18):
            f(whet.full((3,), 0.1)), g(whet.full((3,), 0.1))
            assert w.tolist() == other.tolist()
            assert schedule.get_last_lr() == plan.get_last_lr()
    # whether the rate changes is chosen within
    assert f._policy.summary().recorded == 1


@pytest.mark.parametrize("took, why", [(0.3, Outcome.COSTLY), (0.05, None)])
def test_a_dear_second_recording_waits_where_data_decides_sizes(took, why):
    """What the first one took is enough to know: there may be a recording for each call."""
    policy = Policy()
    kind = policy.kind(0, ())
    assert policy.why_not_record(kind, Candidate()) is None
    policy.recorded(kind, took, 0.001, False, Outcome.RECORDED)
    assert policy.why_not_record(kind, Candidate(is_known=True, depends_on_counts=True)) is why
    assert policy.why_not_record(kind, Candidate(is_known=True)) is None


def test_kernels_of_the_first_recording_are_no_credit():
    """They are compiled once, and no measure of what recordings cost."""
    policy = Policy()
    policy.recorded(policy.kind(0, ()), 0.5, 0.01, False, Outcome.RECORDED, 0.4)
    assert policy.first_cost == pytest.approx(0.1 - account.GRACE)
