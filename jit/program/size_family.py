"""Plans for all sizes in which two runs differ."""
from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from whet.ir.symbolic_size import Unsized

from .planned_ranges import VAIN, PlannedRanges

if TYPE_CHECKING:
    from .shape_symbols import Shapes, ShapeSymbols

MOST = 8                         # families, one for sizes that differ in other places


class Plan(Protocol):
    """What is planned on symbolic sizes."""

    def finish(self) -> None:
        """Plan the launches."""

    def replan(self, values: Sequence[int]) -> bool:
        """Plan for sizes like these as well; False where already types are others."""


S = TypeVar("S", bound=Plan)
P = TypeVar("P")
M = TypeVar("M")


class SizeFamily(ABC, Generic[S, P]):
    """All calls that differ from a run only in the sizes in which another run differs from it.
    `symbols`: which sizes these are. `values`: their values in a call that is planned for at once.
    `attempts`: see `PlannedRanges`. Raises Unsized."""

    def __init__(self, symbols: ShapeSymbols, values: Sequence[int],
                 attempts: float = VAIN) -> None:
        self.symbols = symbols
        self.plans: list[S] = []
        self.ranges = PlannedRanges(self.planned, attempts)
        self.ranges.add(values)

    @abstractmethod
    def plan(self, values: Sequence[int]) -> S:
        """Begin a plan for sizes like these."""

    @abstractmethod
    def as_function(self, plan: S) -> P:
        """The result of a plan, as a function of sizes."""

    def planned(self, values: Sequence[int]) -> P:
        """A plan for sizes like these, made by replanning another if possible. Kernels may be
        ordered meanwhile."""
        for plan in self.plans:
            if plan.replan(values):
                return self.as_function(plan)
        plan = self.plan(values)
        self.plans.append(plan)
        plan.finish()
        return self.as_function(plan)

    def made(self, shapes: Shapes, make: Callable[[P, Sequence[int]], M | None],
             may_plan: bool = True) -> M | None:
        """The result of `make` for a plan that holds for these sizes. None if there is no plan, and
        none can or may be made."""
        values = self.symbols.values(shapes)
        return None if values is None else self.ranges.at(
            values, lambda function: make(function, values), may_plan)


F = TypeVar("F")


def join(families: list[F], make: Callable[[], F]) -> None:
    """Add a family. Raises Unsized if there are many already, or if it cannot be made."""
    if len(families) >= MOST:
        raise Unsized("its sizes differ in many ways already")
    families.append(make())
