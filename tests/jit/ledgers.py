"""What the accounts of traced functions say."""


def unrun(traced):
    """Calls of sizes that no run had."""
    ledger = traced._calls.policy.summary()
    return ledger.unseen + ledger.sized
