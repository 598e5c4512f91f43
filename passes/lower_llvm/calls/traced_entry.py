"""`enter`: tries one block on a call.

It compares the arguments, runs the launches and builds the result."""

from ..builder import Module
from .traced_attempt import Attempt
from .traced_launch import Launch


def emit_enter(m: Module) -> None:
    """enter(block, args, kwargs, always): a new reference to the result, null with an error set, or
    MISS.

    `always`: even if the block was used as often as it says."""
    f = m.fn(
        "enter",
        [("ptr", "block"), ("ptr", "args"), ("ptr", "kw"), ("i64", "always")],
        "ptr",
        "internal",
    )
    attempt = Attempt(f)
    attempt.conditions()
    attempt.arguments()
    launch = Launch(attempt)
    launch.emit()
    attempt.by_python()
    attempt.eagerly()
    launch.ways_out()
    attempt.ways_out()
