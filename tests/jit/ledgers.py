"""What the accounts of traced functions say."""


def unrun(traced):
    """Calls of sizes that no run had."""
    ledger = traced._calls.policy.summary()
    return ledger.unseen + ledger.sized


def calls_of(traced):
    """How many calls there were of each kind."""
    return traced.explain(data=True)["calls"]


def served(traced):
    """How many calls a recording served: replays, and eager calls that were timed beside them."""
    calls = calls_of(traced)
    return calls["replayed"] + calls["timed"]
