"""What a thread plans: an op's code says here what later calls must be told again.

`plans.py` runs an op's code on stand-ins of its operands; meanwhile what it asks for is noted.
"""
from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from .plans import Planning

_local = threading.local()


class NoPlan(Exception):
    """What is done depends on more than the operands' shapes."""


class Number(NamedTuple):
    """A number among the operands, and what a kernel gets of it."""
    operand: int
    value_of: Callable[[Any], Any]


class Noted(NamedTuple):
    """The words in which a launch notes bad data."""
    name: str
    error: Callable[[int, int], Exception]


def current() -> Planning | None:
    """The plan that this thread finds out."""
    found: Planning | None = getattr(_local, "planning", None)
    return found


@contextmanager
def of(planning: Planning | None) -> Iterator[Planning | None]:
    """What is done here belongs to a plan. With None it is done now: constants are brought to the
    device. Gives the plan that there was."""
    before, _local.planning = current(), planning
    try:
        yield before
    finally:
        _local.planning = before


def unplanned() -> None:
    """Somebody wants to know elements."""
    if current() is not None:
        raise NoPlan


def number(operand: int, made: Any, value_of: Callable[[Any], Any]) -> Any:
    """`made`, of a number among an op's operands: a kernel that takes it gets `value_of` of that
    operand at each call. In a plan of many ops a number that is no operand of the plan is always
    the same."""
    found = current()
    if found is not None and not found.is_of_many:
        found.numbers[id(made)] = made, Number(operand, value_of)
    return made


def seen_as(made: Any, other: Any, through: Callable[[Any], Any]) -> Any:
    """`other`, which is `through` of what `number` made."""
    found = current()
    known = None if found is None else found.numbers.get(id(made))
    if known is not None:
        operand, value_of = known[1]
        number(operand, other, lambda x: through(value_of(x)))
    return other


def parameter(made: Any, value: Callable[[Any], Any]) -> Any:
    """The value of an array without dimensions as a parameter of a kernel, or the operand that
    tells it at each call."""
    found = current()
    known = None if found is None else found.numbers.get(id(made))
    if known is None:
        return value(made)
    operand, value_of = known[1]
    return Number(operand, lambda x: value(value_of(x)))
