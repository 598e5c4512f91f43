"""Whether replays or eager calls are faster is measured: with a clock that only the test moves
on."""
import pytest
import whet
from whet import jit
from whet.cpu import tiered_compilation
from whet.jit import clocks
from whet.jit.dispatch.replays import Replays
from whet.jit.gradient import backward
from whet.jit.machine_code import native_entry
from whet.jit.policy import timing
from whet.jit.policy.account import Policy

# calls of a recording until its first round is over, where nothing holds that up
ROUND = timing.TURNS + 1


class Clock:
    """Time that passes in replays and in eager calls as the test says; `noise` adds to single
    calls."""

    def __init__(self, monkeypatch):
        self.now, self.replay, self.eager, self.back, self.eager_back = 0.0, 1.0, 10.0, 0.0, 0.0
        self.noise = lambda: 0.0
        self.eager_calls = self.replays = 0
        self.pending = False
        monkeypatch.setattr(clocks, "clock", lambda: self.now)
        monkeypatch.setattr(tiered_compilation, "among",
                            lambda keys: ["a kernel"] if self.pending else [])
        monkeypatch.setattr(Policy, "affords_better", lambda policy, seconds: not self.pending)
        replay, gradients, walk = Replays.replay, backward.Backward.gradients, timing.walk

        def timed_replay(*args):
            out, took = replay(*args)
            self.replays += 1
            passed = self.replay + self.noise()
            self.now += passed
            return out, took + passed

        def timed_gradients(*args):
            self.now += self.back + self.noise()
            return gradients(*args)

        def timed_walk(*args):
            self.now += self.eager_back + self.noise()
            return walk(*args)
        monkeypatch.setattr(Replays, "replay", timed_replay)
        monkeypatch.setattr(backward.Backward, "gradients", timed_gradients)
        monkeypatch.setattr(timing, "walk", timed_walk)

    def traced(self, fn, *args, **options):
        """A traced function, recorded; whose eager calls take time from now on."""
        f = jit.trace(fn, verify="off", **options)
        f(*args)

        def eager(*args):
            self.now += self.eager + self.noise()
            self.eager_calls += 1
            return fn(*args)
        f.fn = eager
        return f


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch)


def only(f):
    (r,), = f._table.values()
    return r


def calls(f, n, *args):
    for _ in range(n):
        f(*args)


def test_faster_replays_go_on(clock):
    x = whet.ones(3)
    f = clock.traced(lambda x: x * 2, x)
    calls(f, ROUND, x)
    assert not only(f).slow and clock.eager_calls == 4
    assert only(f).trial.seconds == [1.0, 10.0] and "1000000.0 us" in f.explain(full=True)


@pytest.mark.parametrize("eager, slow", [(0.5, True), (0.96, False), (1.5, False)])
def test_eager_must_be_faster_by_a_margin(clock, eager, slow):
    clock.eager = eager
    x = whet.ones(3)
    f = clock.traced(lambda x: x * 2, x)
    calls(f, ROUND, x)
    assert only(f).slow == slow
    before = clock.eager_calls
    calls(f, 50, x)
    assert clock.eager_calls - before == (50 if slow else 0)


def test_single_long_calls_decide_nothing(clock):
    clock.eager, turn = 1.5, iter(range(1000))
    clock.noise = lambda: 100.0 if next(turn) % 3 else 0.0
    x = whet.ones(3)
    f = clock.traced(lambda x: x * 2, x)
    calls(f, ROUND, x)
    assert only(f).trial.seconds == [1.0, 1.5] and not only(f).slow


def test_calls_of_both_kinds_alternate(clock):
    """A machine that is slow for a while is so for both."""
    x = whet.ones(3)
    f = clock.traced(lambda x: x * 2, x)
    turns = []
    for _ in range(ROUND):
        before = clock.eager_calls
        f(x)
        turns.append(clock.eager_calls > before)
    eager = [i for i, e in enumerate(turns) if e]
    assert len(eager) >= 4 and all(b - a > 1 for a, b in zip(eager, eager[1:]))


@pytest.mark.parametrize("back, eager_back, slow",
                         [(1.0, 20.0, False), (30.0, 2.0, True), (0.0, 0.0, True)])
def test_the_backward_counts_where_gradients_flow_through_the_call(clock, back, eager_back, slow):
    """Forward, eager is faster."""
    clock.replay, clock.eager, clock.back, clock.eager_back = 5.0, 3.0, back, eager_back
    w = whet.ones(3, requires_grad=True)
    x = whet.ones(2, 3)
    f = clock.traced(lambda x: (x * w).sum(), x)
    for _ in range(ROUND):
        loss = f(x) * 2
        loss.backward()
        assert w.grad.tolist() == [4.0] * 3
        w.grad = None
    r = only(f)
    assert r.trial.seconds == [5.0 + back, 3.0 + eager_back] and r.slow == slow


def test_a_backward_that_nobody_takes_does_not_count(clock):
    clock.replay, clock.eager, clock.back, clock.eager_back = 5.0, 3.0, 1.0, 20.0
    w = whet.ones(3, requires_grad=True)
    f = clock.traced(lambda x: (x * w).sum(), whet.ones(2, 3))
    calls(f, ROUND, whet.ones(2, 3))
    assert only(f).trial.seconds == [5.0, 3.0] and only(f).slow


def test_timing_eagers_backward_leaves_the_graph_alone(clock):
    w = whet.ones(3, requires_grad=True)
    x = whet.ones(2, 3)
    f = clock.traced(lambda x: (x * w).exp().sum(), x)
    for _ in range(2 * ROUND):
        y = f(x)
        y.backward()
        with pytest.raises(RuntimeError, match="second time"):
            y.backward()
    assert w.grad.tolist() == sum([w.detach().exp() * 2] * (2 * ROUND)).tolist()


@pytest.mark.parametrize("wrong", ["slow", "fast"])
def test_a_wrong_decision_heals(clock, wrong):
    clock.eager = 0.5 if wrong == "slow" else 2.0
    x = whet.ones(3)
    f = clock.traced(lambda x: x * 2, x)
    calls(f, ROUND, x)
    assert only(f).slow == (wrong == "slow")
    clock.eager = 10.0 if wrong == "slow" else 0.5
    for _ in range(5000):
        if only(f).slow == (wrong == "slow"):
            f(x)
    assert only(f).slow != (wrong == "slow")
    before = clock.eager_calls
    calls(f, 50, x)
    assert clock.eager_calls - before == (0 if wrong == "slow" else 50)


@pytest.mark.parametrize("eager, replay", [(100.0, 1.0), (1.2, 1.0), (1.0, 50.0)])
def test_rounds_lie_ever_further_apart_and_cost_next_to_nothing(eager, replay):
    t, n, spent, best = timing.Trial(), 0, 0.0, min(eager, replay)
    ends = []
    while n < 1_000_000:
        if n < t.at:
            n = t.at
        turn = t.eager
        spent += (eager if turn else replay) - best
        n += 1
        if t.note(turn, eager if turn else replay, n):
            ends.append(n)
    assert len(ends) > 2 and all(b > 7 * a for a, b in zip(ends, ends[1:]))
    assert spent < 0.015 * n * best + timing.TURNS * max(eager, replay)


def test_short_calls_are_timed_when_they_have_been_made_for_a_while(clock):
    """Machine code makes them until then."""
    clock.replay = 2.0 ** -11
    x = whet.ones(3)
    f = clock.traced(lambda x: x * 2, x)
    calls(f, timing.EARLY, x)
    assert (clock.eager_calls == 0
            and clock.replays == (2 if native_entry.enter is not None else timing.EARLY))
    calls(f, timing.TURNS, x)
    assert clock.eager_calls == 4 and only(f).trial.seconds == [2.0 ** -11, 10.0]


def test_while_kernels_wait_to_be_compiled_well_the_next_round_comes_soon(clock):
    x, clock.pending = whet.ones(3), True
    f = clock.traced(lambda x: x * 2, x)
    calls(f, timing.EARLY, x)
    assert clock.eager_calls == 0
    calls(f, ROUND, x)
    assert clock.eager_calls == 4 and not only(f).slow
    # the next one by half of all calls, and that after it far from there
    calls(f, 2 * ROUND + timing.EARLY, x)
    assert clock.eager_calls == 8
    clock.pending = False
    calls(f, 200, x)
    assert clock.eager_calls == 12
    calls(f, 400, x)
    assert clock.eager_calls == 12 and not only(f).slow


def rounds(trials, replay, eager, calls):
    """The first rounds of recordings that are called in turn: for each the call with which it
    began."""
    began = {}
    for n in range(calls):
        for t in trials:
            if n < t.at:
                continue
            turn = t.eager
            if not t.turn:
                if t.wait(replay, n, False):
                    continue
                began.setdefault(t, n)
            t.note(turn, eager if turn else replay, n + 1)
    return [began.get(t) for t in trials]


def test_of_recordings_that_differ_in_sizes_few_are_timed_where_replays_are_far_shorter():
    sizes = timing.TrialsOfSizes()
    trials = [timing.Trial(sizes) for _ in range(40)]
    began = rounds(trials, 1e-4, 5e-4, timing.LATE)
    assert [n is not None for n in began] == [True] * timing.ROUNDS + [False] * 37
    # those that take long, too
    sizes = timing.TrialsOfSizes()
    began = rounds([timing.Trial(sizes) for _ in range(40)], 1e-2, 5e-2, timing.LATE)
    assert sum(n is not None for n in began) == timing.ROUNDS
    # later all are
    began = rounds(trials, 1e-4, 5e-4, 3 * timing.LATE)
    assert all(n >= timing.LATE for n in began[timing.ROUNDS:])


@pytest.mark.parametrize("replay", [4.9e-4, 6e-4])
def test_of_recordings_that_differ_in_sizes_all_are_timed_where_replays_are_no_shorter(replay):
    sizes = timing.TrialsOfSizes()
    trials = [timing.Trial(sizes) for _ in range(8)]
    began = rounds(trials, replay, 5e-4, 6 * timing.LATE)
    assert max(began) < timing.LATE
    assert all(t.slow == (replay > 5e-4 / timing.MARGIN) for t in trials)


def test_a_round_that_is_never_over_keeps_others_waiting_for_a_while_only():
    sizes = timing.TrialsOfSizes()
    sizes.under_way = timing.ROUNDS
    assert rounds([timing.Trial(sizes)], 1e-4, 5e-4, 2 * timing.LATE)[0] in range(
        timing.LATE, timing.LATE + timing.TURNS + 1)
