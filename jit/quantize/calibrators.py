"""What ranges activations have: each calibrator looks at the arrays of some calls, and says between
which bounds numbers get bytes."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = Any
BINS = 2048
LEVELS = 128  # bytes on one side of zero: what entropy compares with
ABSENT = 1e9  # how many times likelier a number is than by bytes that have no step for it


class MinMax:
    """All numbers that were seen: nothing is cut off."""

    def __init__(self) -> None:
        self.low, self.high = np.inf, -np.inf

    def see(self, a: Array) -> None:
        """Take an array into account. Infinities and NaN have no byte and do not count."""
        a = a[np.isfinite(a)] if not np.isfinite(a).all() else a
        if a.size:
            self.low, self.high = min(self.low, float(a.min())), max(self.high, float(a.max()))

    def bounds(self) -> tuple[float, float]:
        """The least and the largest number that get bytes of their own."""
        return (self.low, self.high) if self.low <= self.high else (0.0, 0.0)


class Histogram(MinMax):
    """Counts of magnitudes, in bins that become twice as wide where larger ones come."""

    def __init__(self) -> None:
        super().__init__()
        self.counts, self.limit = np.zeros(BINS, np.int64), 0.0

    def see(self, a: Array) -> None:
        """Take an array into account."""
        super().see(a)
        sizes = np.abs(a[np.isfinite(a)].astype("f8"))  # float32 has no bins below its least number
        most = float(sizes.max(initial=0.0))
        if most == 0:
            return
        if self.limit == 0:
            self.limit = most
        while self.limit < most:
            pairs = self.counts.reshape(-1, 2).sum(1)
            self.counts = np.concatenate([pairs, np.zeros(BINS // 2, np.int64)])
            self.limit *= 2
        self.counts += np.histogram(sizes, BINS, (0.0, self.limit))[0]

    def cut(self) -> float:
        """The magnitude beyond which numbers are cut off."""
        raise NotImplementedError

    def bounds(self) -> tuple[float, float]:
        """The range that was seen, as far as it is not cut off."""
        low, high = super().bounds()
        at = self.cut() if self.limit else 0.0
        return max(low, -at), min(high, at)


class Percentile(Histogram):
    """So many per cent of all magnitudes get bytes of their own."""

    def __init__(self, percent: float = 99.99) -> None:
        super().__init__()
        if not 0 < percent <= 100:
            raise ValueError(f"Percentile: expected a number up to 100, got {percent}")
        self.percent = percent

    def cut(self) -> float:
        """The end of the bin that holds the last of them."""
        wanted = self.counts.sum() * self.percent / 100
        return float((np.searchsorted(self.counts.cumsum(), wanted) + 1) * self.limit / BINS)


class Entropy(Histogram):
    """The cut whose bytes say most of what the numbers say: the least Kullback-Leibler divergence
    of the counts from what is left of them when they are put into 128 steps."""

    def cut(self) -> float:
        """The best of all cuts at multiples of 128 / 8 bins."""
        tried = range(LEVELS, BINS + 1, LEVELS // 8)
        best = min(tried, key=lambda n: divergence(self.counts, n))
        return best * self.limit / BINS


def divergence(counts: Array, n: int) -> float:
    """How much is lost where the first n bins become 128 steps, and what lies beyond them counts as
    the last of these bins."""
    kept = counts[:n].astype("f8")
    whole = kept.copy()
    whole[-1] += counts[n:].sum()
    step = np.arange(n) * LEVELS // n
    sums = np.bincount(step, kept, LEVELS)
    filled = np.bincount(step, kept > 0, LEVELS)
    spread = np.where(kept > 0, (sums / np.maximum(filled, 1))[step], 0.0)
    if not whole.sum() or not spread.sum():
        return np.inf
    p, q = whole / whole.sum(), spread / spread.sum()
    both = (p > 0) & (q > 0)
    missing = p[(p > 0) & (q == 0)].sum()
    return float((p[both] * np.log(p[both] / q[both])).sum() + missing * np.log(ABSENT))


CALIBRATORS = {"minmax": MinMax, "percentile": Percentile, "entropy": Entropy}


def maker(calibrate: Any) -> Any:
    """A function that makes calibrators: a name, or such a function."""
    if isinstance(calibrate, str):
        if calibrate not in CALIBRATORS:
            raise ValueError(
                f"calibrate: expected one of {', '.join(CALIBRATORS)} or a function that makes a "
                f"calibrator, got {calibrate!r}"
            )
        return CALIBRATORS[calibrate]
    if not callable(calibrate):
        raise TypeError(f"calibrate: expected a name or a function, got {calibrate!r}")
    return calibrate
