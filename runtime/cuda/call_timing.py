"""How long a call takes on a device, for Triton's autotuner."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..autograd import modes
from . import device_state as m
from . import streams

TIMED, LEAST, MOST = 20.0, 5, 100       # milliseconds to spend on a call, and how often to make it


def time_of(call: Callable[[], Any], quantiles: Sequence[float] = (0.5, 0.2, 0.8)) -> list[float]:
    """Quantiles of the milliseconds that a call takes. Where a device has no speed all calls take
    the same, so the first one is chosen."""
    if not m.machine().driver.has_speed:
        return [0.0] * len(quantiles)
    modes.beyond("it times the configurations of a kernel, which the next call need not")
    call()
    once = _timed(call)
    count = min(MOST, max(LEAST, int(TIMED / max(once, 1e-3))))
    times = sorted(_timed(call) for _ in range(count))
    return [times[min(count - 1, int(q * count))] for q in quantiles]


def _timed(call: Callable[[], Any]) -> float:
    begin, end = streams.Event(enable_timing=True), streams.Event(enable_timing=True)
    begin.record()
    call()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end)
