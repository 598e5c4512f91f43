"""What time it is, as an op: a trace that asks for it asks again at each call, when it comes to it."""
import time

import numpy as np

from .registry import Op

CLOCKS = {name: getattr(time, name) for name in ("time", "perf_counter", "monotonic", "process_time", "thread_time")}
TIMES = tuple(CLOCKS.values())


class Clock(Op):
    """The time in seconds by one of Python's clocks, which is another at each call."""
    random, total = True, True

    def forward(self, *, name):
        """The time now."""
        return np.array(CLOCKS[name](), np.float64)


clock = Clock("clock", inner=True)
