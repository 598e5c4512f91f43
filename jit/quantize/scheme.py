"""How real numbers become bytes: a scale and a zero point, of activations and of weights."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

Array = Any
LARGEST = 127  # of a weight: the same on both sides of zero
TINY = float(np.finfo(np.float32).tiny)


class Scheme(NamedTuple):
    """A byte q from 0 to 255 stands for (q - zero) * scale."""

    scale: float
    zero: int

    @classmethod
    def of(cls, low: float, high: float, symmetric: bool = False) -> Scheme:
        """For numbers between two bounds, and zero, which has a byte of its own. Symmetric: zero is
        128, or 0 where no number is negative."""
        low, high = min(float(low), 0.0), max(float(high), 0.0)
        if symmetric and low < 0:
            scale = max(-low, high) / LARGEST
            return cls(float(np.float32(max(scale, TINY))), 128)
        scale = float(np.float32(max((high - low) / 255, TINY)))
        return cls(scale, int(np.clip(np.rint(-low / scale), 0, 255)))

    @property
    def low(self) -> float:
        """The least number that there is a byte for."""
        return -self.zero * self.scale

    @property
    def high(self) -> float:
        """The largest one."""
        return (255 - self.zero) * self.scale


class Weights(NamedTuple):
    """Weights as bytes from -127 to 127 (-128 where a file has that), and a scale for each row."""

    numbers: Array
    scales: Array

    @classmethod
    def of(cls, w: Array, per_channel: bool = True) -> Weights:
        """Rounded from real ones: each row, or all of them, by its largest magnitude."""
        rows = np.abs(w.reshape(len(w), -1).astype("f8")).max(1, initial=0.0)
        rows = rows if per_channel else np.full_like(rows, rows.max(initial=0.0))
        scales = np.maximum(rows / LARGEST, TINY).astype("f4")
        steps = w / scales.reshape(-1, *[1] * (w.ndim - 1)).astype("f8")
        return cls(np.clip(np.rint(steps), -LARGEST, LARGEST).astype("i1"), scales)
