"""Visitors: what an object leads to, on the walk over what a function can reach. One function for
each type of object, in `visitors_of_*.py`; the first whose test holds for a type visits its
objects."""
import builtins
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from ..refusals.reasons import Explained

if TYPE_CHECKING:
    from .outside_walk import Walk

MOST = 20_000                    # things that are watched
MOST_CODE = 1_000                # functions that are read before it is asked which run
# id of Python's own names, of which only those are compared that code looks up
BUILTINS = id(vars(builtins))
Visit: TypeAlias = "Callable[[Walk, Any], None]"
Test = Callable[[type], bool]


class Unwatchable(Explained):
    """Something that a function can read and that cannot be compared later."""


class Visitors:
    """Functions that visit, each with the test of the types that it is for, in their order."""

    def __init__(self) -> None:
        self.all: list[tuple[Test, Visit]] = []

    def of(self, *types: type) -> Callable[[Visit], Visit]:
        """The function visits objects of these types, or of subclasses."""
        return self.where(lambda t: issubclass(t, types))

    def of_just(self, *types: type) -> Callable[[Visit], Visit]:
        """The function visits objects of these very types."""
        return self.where(lambda t: t in types)

    def where(self, test: Test) -> Callable[[Visit], Visit]:
        """The function visits objects of types for which the test holds."""
        def register(visit: Visit) -> Visit:
            self.all.append((test, visit))
            return visit
        return register
