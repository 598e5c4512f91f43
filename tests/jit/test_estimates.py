"""What the policy thinks that calls take which were not timed."""
import dataclasses
import math
import sys
import time

import pytest
import whet
from whet.cpu import native
from whet.jit.policy import account, call_times
from whet.jit.policy.account import Policy
from whet.jit.policy.candidate import Candidate
from whet.jit.policy.ledger import Ledger
from whet.jit.policy.outcomes import WHY_EAGER, Event, Outcome


def test_what_an_eager_call_takes_is_known_by_its_size():
    known = call_times.EagerBySize()
    assert known.of(100) == math.inf
    for elements in (64, 1024):
        known.note(elements, elements * 1e-6)
    assert known.of(64) == 64e-6 and known.of(1024) == 1024e-6
    assert known.of(300) == pytest.approx(300e-6, rel=0.2)
    assert known.of(1) == 64e-6 and known.of(1 << 20) == 1024e-6
    known.note(64, 1.0)
    assert known.of(64) < 2 * 64e-6, "now and then another process has the processor"


def test_a_replay_of_a_large_size_is_no_loss_though_most_are_small():
    """Of the kind itself no eager call was timed."""
    policy = Policy()
    for n in range(200):
        small = policy.kind(n % 8, (), [whet.ones(10)])
        policy.ran(small, 1e-4, 1e-4, Outcome.COSTLY)
    for n in range(8):
        policy.ran(policy.kind(100 + n, (), [whet.ones(1000)]), 1e-2, 1e-2, Outcome.COSTLY)
    for _ in range(50):
        policy.ran(small, 1e-4, 1e-4, Outcome.COSTLY)
    large = policy.kind("large", (), [whet.ones(1001)])
    policy.replayed(large, 5e-3)
    assert policy.ledger.saved == pytest.approx(5e-3)


def test_what_took_long_once_is_tried_again(monkeypatch, unlimited):
    """The first recordings without a run find nothing in the processor's cache."""
    monkeypatch.setattr(account, "GRACE", 0.04)
    policy = Policy()
    kind = policy.kind(0, (), [whet.ones(10)])
    for _ in range(20):
        policy.ran(kind, 1e-3, 1e-3, Outcome.COSTLY)
    policy.ledger.spent += 1.0           # nothing can be spent
    for _ in range(5):
        policy.unrun(kind, 0.1, 0.1)
    tries = next(n for n in range(200) if policy.makes(kind))
    assert 5 < tries < 100


def test_a_length_that_is_the_batch_by_chance_is_left_to_a_later_call(unlimited):
    """Hardly any other length could be served like it. The call before it, which only set the
    optimizer up, shows which of the two sizes varies."""
    layer = whet.nn.Linear(3, 2)
    optimizer = whet.optim.SGD(layer.parameters(), lr=0.1, momentum=0.9)

    @whet.jit.trace
    def step(x):
        optimizer.zero_grad()
        layer(x).square().mean().backward()
        optimizer.step()
    for length in (3, 4, 5, 6, 7):
        step(whet.randn(4, length, 3))
    became = step.explain(data=True)["calls"]
    assert became["because"] == {"new": 1}, "a length of four, and four in the batch"
    assert (became["set_up"], became["recorded"], became["resized"]) == (1, 3, 2)


def test_one_thread_may_ask_while_another_notes():
    """Between any two lines: what is known of a size is known with it, or not at all."""
    known = call_times.EagerBySize()

    def asking(frame, event, arg):
        if frame.f_code is call_times.EagerBySize.note.__code__:
            assert all(known.of(n) >= 1e-3 for n in (1, 100, 1 << 20))
            return asking
        return None
    before = sys.gettrace()
    sys.settrace(asking)
    try:
        for n in (100, 1, 1 << 20, 1000, 100):
            known.note(n, 1e-3)
    finally:
        sys.settrace(before)


def test_kernels_that_a_plan_compiled_are_left_out_once():
    """Else the next recording would seem to cost nothing."""
    policy = Policy()
    kind = policy.kind(0, ())
    policy.ran(kind, 0.01, 0.01, Outcome.COSTLY)
    policy.plans.note_family(0.085, 0.07)
    assert policy.plans.family_seconds == pytest.approx(0.015)
    policy.recorded(kind, 0.155, 0.012, True, Outcome.RESIZED, 0.072)
    assert policy.like.of(0.01) == pytest.approx(0.155 - 0.085 - 0.002 - 0.01)


def test_a_plan_that_was_tried_before_is_no_part_of_a_recording():
    policy = Policy()
    kind = policy.kind(0, ())
    policy.ran(kind, 0.01, 0.01, Outcome.COSTLY)
    policy.plans.note_range(0.05, 0.0)
    policy.why_not_record(kind, Candidate(like=lambda: True))
    policy.recorded(kind, 0.06, 0.012, True, Outcome.RESIZED)
    assert policy.like.of(0.01) == pytest.approx(0.06 - 0.01)


def test_kernels_that_are_new_to_eager_mode_are_not_what_its_calls_take(monkeypatch):
    compiling = [0.0]

    def compiled(x):
        begun = time.thread_time()
        while time.thread_time() - begun < 0.02:
            pass
        compiling[0] += 0.02
        return x + 1
    monkeypatch.setattr(native, "compiling_seconds", lambda: compiling[0])
    monkeypatch.setattr(Policy, "why_not_record", lambda *_: Outcome.COSTLY)

    def seconds():
        traced = whet.jit.trace(lambda x: compiled(x))
        traced(whet.ones(3))
        (kind,) = traced._calls.policy.kinds.values()
        return kind.eager

    # others may take the processor meanwhile: one of some
    assert any(0 < seconds() < 0.01 for _ in range(20))


def test_a_ledger_counts_each_outcome_and_each_event():
    counts = {f.name for f in dataclasses.fields(Ledger) if f.type is int}
    assert counts == {x.field for x in (*Outcome, *Event)}
    book = Ledger()
    for n, what in enumerate((*Outcome, *Event), 1):
        book.add(what, n)
    assert book.calls == sum(map(book.count, Outcome)) > 0
    assert book.ran_eagerly == sum(map(book.count, WHY_EAGER)) < book.calls


def test_what_a_first_run_loads_eager_mode_would_have_loaded_too():
    """A run takes longer than the eager calls after it: a part of that is for watching it, the rest
    for kernels and modules that are new to the process."""
    policy = Policy()
    kind = policy.kind(0, ())
    policy.recorded(kind, 0.06, 0.05, False, Outcome.RECORDED, watching=0.008)
    policy.ran(kind, 2e-4, 2e-4, Outcome.COSTLY)
    assert policy.ledger.eager == pytest.approx(0.042 + 2e-4)


def test_what_tables_try_in_vain_is_in_the_account(monkeypatch):
    """They find in the midst of a call that it goes another way."""
    monkeypatch.setattr(account, "GRACE", math.inf)

    def by_count(x):
        found, = whet.where(x > 1)
        return x[found].sum() if len(found) == 0 else x[found].exp().mean()
    traced = whet.jit.trace(by_count)
    policy = traced._calls.policy
    lost = 0.0
    for k in range(200):
        traced(whet.full((9,), float(k % 7 == 0) * 2))
        lost = max(lost, sum(r.counts.in_vain for r in policy.held))
    assert lost > 0
    traced(whet.full((9,), 2.0))
    before, now = policy.ledger.spent, sum(r.counts.in_vain for r in policy.held)
    policy.harvest(list(policy.held))
    assert policy.ledger.spent >= before + now and not any(r.counts.in_vain for r in policy.held)
    before = policy.ledger.spent
    policy.unrun_in_vain(0.5)
    assert policy.ledger.spent == before + 0.5
