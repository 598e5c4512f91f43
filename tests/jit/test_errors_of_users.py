"""What a traced function raises is its own error, with nothing of ours about it."""
import contextlib

import pytest
import whet
from whet.jit.policy import account
from whet.jit.policy.outcomes import Outcome


def reaches_files(x):
    if x.shape[0] > 100:
        open  # noqa: B018
        open("never")                        # nor can what is within reach be compared
    raise ValueError("mine")


def raises(x):
    raise ValueError("mine")


@pytest.mark.parametrize("fn", [reaches_files, raises])
def test_an_error_has_no_context_of_ours(fn):
    f = whet.jit.trace(fn)
    for _ in range(4):
        with pytest.raises(ValueError, match="mine") as e:
            f(whet.ones(2))
        assert e.value.__context__ is None and e.value.__cause__ is None


def test_the_context_of_a_users_own_stays():
    def fn(x):
        try:
            {}["absent"]
        except KeyError:
            raise ValueError("mine")         # noqa: B904
    f = whet.jit.trace(fn)
    for _ in range(4):
        with pytest.raises(ValueError, match="mine") as e:
            f(whet.ones(2))
        assert type(e.value.__context__) is KeyError
        assert e.value.__context__.__context__ is None


def call(f, x):
    """Call a function that may raise an error of its own."""
    with contextlib.suppress(KeyError):
        f(x)


@pytest.mark.filterwarnings("ignore::whet.jit.TraceWarning")
def test_runs_that_raise_are_in_the_account(monkeypatch):
    """Each was watched for nothing: few are."""
    monkeypatch.setattr(account, "GRACE", 0.04)
    f = whet.jit.trace(lambda x: {}[x.sum().exp().sin().item()])
    for _ in range(200):
        call(f, whet.ones(2))
    calls = f.explain(data=True)["calls"]
    assert calls["total"] == 200 and calls["failed"] <= account.OPENING, calls
    assert "it raised KeyError" in str(f.explain())


def test_an_error_says_nothing_of_how_long_calls_take(monkeypatch):
    """An eager call that ends early is no measure of one that replays could take the place of."""
    monkeypatch.setattr(account, "GRACE", 0.04)

    def fn(x, key):
        empty = {} if key else {key: 1}
        return x.exp() * empty[key]
    f = whet.jit.trace(fn)
    for _ in range(5):
        f(whet.ones(2), 0)
    policy = f._calls.policy
    before = policy.times.typical, [k.eager for k in policy.kinds.values()]
    for _ in range(20):
        with pytest.raises(KeyError):
            f(whet.ones(2), 1)
    now = [k.eager for k in policy.kinds.values()][:len(before[1])]
    assert (policy.times.typical, now) == before
    assert f.explain(data=True)["calls"]["total"] == 25


def test_errors_between_replays_do_not_end_them(monkeypatch):
    """However long it took to find that no recording fits the calls that raise."""
    monkeypatch.setattr(account, "GRACE", 0.04)
    f = whet.jit.trace(lambda x: x.exp())
    for _ in range(5):
        f(whet.ones(2))
    policy, asked = f._calls.policy, whet.jit.trace(len)._calls.policy
    for p in (policy, asked):
        p.ledger.spent += 1.0
        for _ in range(40):
            p.raised(1e-6, 1e-2, Outcome.COSTLY)
    assert policy.held and policy.pause.left == 0 and asked.pause.left > 0
