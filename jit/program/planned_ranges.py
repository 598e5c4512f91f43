"""Plans for ranges of sizes, made as calls come to them."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from whet.ir import verify
from whet.ir.size_conditions import planning
from whet.ir.symbolic_size import Unsized

P = TypeVar("P")
M = TypeVar("M")

RANGES = 24                      # that have a plan, at most
VAIN = 3                         # attempts to plan that came to nothing, after which none is made


class PlannedRanges(Generic[P]):
    """The plans for ranges of sizes. `plan` makes one for given sizes; it raises Unsized, or any
    error of code that was not written for symbolic sizes. `attempts`: how many of them may fail."""

    def __init__(self, plan: Callable[[Sequence[int]], P], attempts: float = VAIN) -> None:
        self.plan, self.plans = plan, list[P]()
        self.attempts = attempts

    def at(self, values: Sequence[int], made: Callable[[P], M | None],
           may_plan: bool = True) -> M | None:
        """The first result of `made` that is not None, over the plans that hold for these sizes. A
        plan is made if there is none and `may_plan`."""
        for k, plan in enumerate(self.plans):
            found = made(plan)
            if found is not None:
                if k:
                    self.plans.insert(0, self.plans.pop(k))
                return found
        if not may_plan or len(self.plans) >= RANGES or self.attempts <= 0:
            return None
        try:
            return made(self.add(values))
        except Unsized:
            self.attempts -= 1
            return None

    def add(self, values: Sequence[int]) -> P:
        """Plan for sizes like these. Raises Unsized."""
        with planning:
            try:
                self.plans.append(self.plan(values))
            except Exception as e:
                if verify.CHECK and not isinstance(e, Unsized):
                    raise
                raise Unsized(str(e) if isinstance(e, Unsized) else
                              f"planning raises {e!r}") from None
        return self.plans[-1]
