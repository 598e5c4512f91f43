"""How real numbers map to bytes: the scale and the zero point of activations and of weights."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

Array = Any
LARGEST = 127  # of a weight: the same on both sides of zero
TINY = float(np.finfo(np.float32).tiny)


class Scheme(NamedTuple):
    """Affine quantisation: a byte q from 0 to 255 represents (q - zero) * scale."""

    scale: float
    zero: int

    @classmethod
    def of(cls, low: float, high: float, symmetric: bool = False) -> Scheme:
        """The scheme for numbers between two bounds. Zero is always represented exactly. If
        symmetric, the zero point is 128, or 0 where no number is negative."""
        low, high = min(float(low), 0.0), max(float(high), 0.0)
        if symmetric and low < 0:
            scale = max(-low, high) / LARGEST
            return cls(float(np.float32(max(scale, TINY))), 128)
        scale = float(np.float32(max((high - low) / 255, TINY)))
        return cls(scale, int(np.clip(np.rint(-low / scale), 0, 255)))

    @property
    def low(self) -> float:
        """The least number that a byte represents."""
        return -self.zero * self.scale

    @property
    def high(self) -> float:
        """The largest number that a byte represents."""
        return (255 - self.zero) * self.scale


class Weights(NamedTuple):
    """Weights as signed bytes from -127 to 127, with a scale for each row. Weights from a file may
    have -128."""

    numbers: Array
    scales: Array

    @classmethod
    def of(cls, w: Array, per_channel: bool = True) -> Weights:
        """Quantise real weights by their largest magnitude: of each row, or of all rows
        together."""
        rows = np.abs(w.reshape(len(w), -1).astype("f8")).max(1, initial=0.0)
        rows = rows if per_channel else np.full_like(rows, rows.max(initial=0.0))
        scales = np.maximum(rows / LARGEST, TINY).astype("f4")
        steps = w / scales.reshape(-1, *[1] * (w.ndim - 1)).astype("f8")
        return cls(np.clip(np.rint(steps), -LARGEST, LARGEST).astype("i1"), scales)
