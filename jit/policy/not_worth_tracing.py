"""Decides whether users are warned that tracing does not pay."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..refusals.arguments_in_words import differing
from ..refusals.reasons import Little, Others, Reason, Unfit, Varies
from .account import FREE, Policy

if TYPE_CHECKING:
    from collections.abc import Callable

# seconds of eager calls until it is said; calls until that is asked again
SURE, LOOKS = 1.0, 256
# one replay in so many calls is as good as none
SELDOM = 20
# eager calls in a row until it is asked whether recordings are of any use at all
FIRST_LOOK = 12


def why(policy: Policy, fn: Callable[..., Any]) -> Reason | None:
    """Why tracing a function does not pay, once that is sure; otherwise None."""
    book = policy.ledger
    if is_met_by_none(policy):
        none = f"none of {book.calls} calls was replayed"
        return Unfit(none, miss) if (miss := most_missed(policy, fn)) else others(
            none, policy, fn)
    if book.eager < SURE or 2 * book.ran_eagerly < book.calls:
        return None
    policy.summary()
    if SELDOM * book.replayed < book.calls and len(policy.kinds) > 2 * FREE:
        return varies(policy)                # Little was spent, as nothing came twice.
    if book.spent < book.eager or not book.calls:
        return None
    made = book.recorded + book.resized
    if book.missed > (book.calls - book.unasked) / 2:
        return Unfit(f"of {book.calls} calls {book.replayed} were replayed, most others missed",
                     most_missed(policy, fn))
    if book.slower > book.ran_eagerly / 2:
        return Little(f"of {book.calls} calls {book.slower} were eager, as replays take longer")
    if made and policy.times.ratio >= 1:
        return Little(
            f"replays take {policy.times.ratio:.2f} of an eager call's time, and {made} recordings "
            f"took {book.recording:.2f} s")
    return varies(policy) if len(policy.kinds) > 2 * FREE else None


def most_missed(policy: Policy, fn: Callable[..., Any]) -> Reason | None:
    """The reason for which most calls did not fit a recording that has their arguments; None where
    there is no such call."""
    found = [(n, r, reason) for r in policy.held for reason, n in r.missed.counted()]
    _, r, reason = max(found, key=lambda x: x[0], default=(0, None, None))
    return reason.named(fn, r.key) if reason is not None and r is not None else None


def others(none: str, policy: Policy, fn: Callable[..., Any]) -> Reason:
    """The reason that calls differ in their arguments, with an example."""
    apart = next((x for x in differing(fn, [r.key for r in policy.held]) if x), [])
    example = f" ({apart[0]})" if apart else ""
    return Others(
        f"{none}: what they are given beside tensors was another each time{example}")


def varies(policy: Policy) -> Reason:
    """The reason that calls come with arguments of ever other kinds."""
    book = policy.ledger
    known = [c.seconds for c in (policy.full, policy.like) if c.is_known]
    cost = min(known, default=policy.full.seconds) / max(policy.times.typical, 1e-9)
    return Varies(
        f"{book.calls} calls came with at least {len(policy.kinds)} kinds of arguments, and "
        f"{book.replayed} were replayed; a recording takes as long as {cost:.0f} eager calls")


def is_met_by_none(policy: Policy) -> bool:
    """Are there recordings for tensors of the same sizes, and was no call one that they fit?"""
    held = policy.held
    return (len(held) > 1 and policy.pause.idle >= FIRST_LOOK
            and all(r.sizes.shapes == held[0].sizes.shapes for r in held)
            and not policy.summary().replayed)
