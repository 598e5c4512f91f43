"""What a run that is recorded has in memory, as it goes on."""
from __future__ import annotations

import math

from .memory_ceiling import Ceiling, Lull
from .released_gradients import ReleasedGradients


class RunMemory:
    """`released`: which gradients the run replaces, and when; `ceiling`: what the process may hold;
    `lull`: when the run has least in memory; `copies_until`: when there are so many nodes, copies
    of what the run writes to are given up."""

    def __init__(self) -> None:
        self.released, self.ceiling, self.lull = ReleasedGradients((), ()), Ceiling(), Lull()
        self.copies_until: float = math.inf

    def is_over_copies(self, nodes: int) -> bool:
        """An operation is about to run; there are so many nodes. Are copies given up by now?"""
        self.released.passes(nodes)
        self.lull.look(nodes)
        return nodes >= self.copies_until
