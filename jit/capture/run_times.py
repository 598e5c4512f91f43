"""How long the parts of a recorded run took, in seconds."""
import math

from whet.cpu import native

from .. import clocks


class RunTimes:
    """The times of one run. `search`: finding what the function can reach. `run`: the function
    itself, infinite as long as it is not known. `new_kernels`: compiling kernels during that.
    `watching`: an upper bound of what it cost to watch the run."""

    __slots__ = ("search", "run", "new_kernels", "watching", "_began", "_compiled",
                 "_plan_began", "_plan_compiled")

    def __init__(self) -> None:
        self.search, self.run, self.new_kernels, self.watching = 0.0, math.inf, 0.0, math.inf
        # when the function began, and what compiling had taken this thread before
        self._began = self._compiled = 0.0
        # the same for a plan for all sizes
        self._plan_began = self._plan_compiled = 0.0

    @property
    def are_known(self) -> bool:
        """Has the end of the run been noted?"""
        return self.run < math.inf

    def begin(self) -> None:
        """The function begins."""
        self._began, self._compiled = clocks.busy(), native.compiling_seconds()

    def end(self) -> None:
        """The function has run."""
        self.run = self.since_begin()
        self.new_kernels = native.compiling_seconds() - self._compiled

    def since_begin(self) -> float:
        """The time since the function began."""
        return clocks.busy() - self._began

    def begin_plan(self) -> float:
        """A plan for all sizes begins; the time since the function began."""
        self._plan_began, self._plan_compiled = clocks.busy(), native.compiling_seconds()
        return self._plan_began - self._began

    def of_plan(self) -> tuple[float, float]:
        """The time that the plan for all sizes took, and the part of it in which kernels were
        compiled."""
        return (clocks.busy() - self._plan_began,
                native.compiling_seconds() - self._plan_compiled)
