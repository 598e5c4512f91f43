"""The memory of a recorded run while it goes on."""
from __future__ import annotations

import math

from .memory_ceiling import Ceiling, Lull
from .released_gradients import ReleasedGradients


class RunMemory:
    """`released`: which gradients the run replaces, and when. `ceiling`: what the process may hold.
    `lull`: the moment when the run has the least memory in use. `copies_until`: the number of nodes
    at which copies of overwritten values are given up."""

    def __init__(self) -> None:
        self.released, self.ceiling, self.lull = ReleasedGradients((), ()), Ceiling(), Lull()
        self.copies_until: float = math.inf

    def is_over_copies(self, nodes: int) -> bool:
        """Called before an operation, with the number of nodes so far: are copies given up by
        now?"""
        self.released.passes(nodes)
        self.lull.before_operation(nodes)
        return nodes >= self.copies_until
