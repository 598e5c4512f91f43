"""Calibrators: each observes the arrays of some calls and chooses the range of numbers that bytes
represent."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = Any
BINS = 2048
LEVELS = 128  # steps on one side of zero, to which `Entropy` reduces its histogram
ABSENT = 1e9  # the probability ratio assumed where no step represents a number


class MinMax:
    """The range of all numbers that were seen: nothing is clipped."""

    def __init__(self) -> None:
        self.low, self.high = np.inf, -np.inf

    def see(self, a: Array) -> None:
        """Take an array into account. Infinities and NaN have no byte and are ignored."""
        a = a[np.isfinite(a)] if not np.isfinite(a).all() else a
        if a.size:
            self.low, self.high = min(self.low, float(a.min())), max(self.high, float(a.max()))

    def bounds(self) -> tuple[float, float]:
        """The least and the largest number that bytes represent."""
        return (self.low, self.high) if self.low <= self.high else (0.0, 0.0)


class Histogram(MinMax):
    """A histogram of magnitudes. Its bins double in width when a larger number arrives."""

    def __init__(self) -> None:
        super().__init__()
        self.counts, self.limit = np.zeros(BINS, np.int64), 0.0

    def see(self, a: Array) -> None:
        """Take an array into account."""
        super().see(a)
        sizes = np.abs(a[np.isfinite(a)].astype("f8"))  # float32 bins could underflow to width 0
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
        """The magnitude beyond which numbers are clipped."""
        raise NotImplementedError

    def bounds(self) -> tuple[float, float]:
        """The range that was seen, clipped at the cut."""
        low, high = super().bounds()
        at = self.cut() if self.limit else 0.0
        return max(low, -at), min(high, at)


class Percentile(Histogram):
    """Clip so that this percentage of all magnitudes stays in range."""

    def __init__(self, percent: float = 99.99) -> None:
        super().__init__()
        if not 0 < percent <= 100:
            raise ValueError(f"Percentile: expected a number up to 100, got {percent}")
        self.percent = percent

    def cut(self) -> float:
        """The upper end of the bin in which the percentage is reached."""
        wanted = self.counts.sum() * self.percent / 100
        return float((np.searchsorted(self.counts.cumsum(), wanted) + 1) * self.limit / BINS)


class Entropy(Histogram):
    """Choose the cut that loses the least information: the smallest Kullback-Leibler divergence
    between the histogram and the same histogram in 128 steps."""

    def cut(self) -> float:
        """The best cut among the multiples of 16 bins."""
        tried = range(LEVELS, BINS + 1, LEVELS // 8)
        best = min(tried, key=lambda n: divergence(self.counts, n))
        return best * self.limit / BINS


def divergence(counts: Array, n: int) -> float:
    """The information lost when the first n bins become 128 steps and everything beyond them is
    clipped into the last of these bins."""
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
    """A function that makes calibrators, from the name of a kind or from such a function."""
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
