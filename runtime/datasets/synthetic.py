"""Data that a formula makes."""
import math

import numpy as np
from whet import from_numpy
from whet.utils.data import TensorDataset


class Spirals(TensorDataset):
    """Points of the plane on the arms of a spiral, and the arm of each.

    >>> import whet
    >>> data = whet.datasets.Spirals(10)
    >>> len(data)
    10
    """

    def __init__(self, count=1000, arms=2, noise=0.02, turns=1.5, seed=0):
        draw = np.random.default_rng(seed)
        arm, far = np.arange(count) % arms, np.sqrt(draw.random(count))
        angle = 2 * math.pi * (turns * far + arm / arms)
        points = np.stack([far * np.cos(angle), far * np.sin(angle)], 1)
        points += noise * draw.standard_normal(points.shape)
        self.points = from_numpy(points.astype(np.float32))
        self.arms = from_numpy(arm)
        super().__init__(self.points, self.arms)


class Sines(TensorDataset):
    """Sine waves of one frequency, each from another phase: `count` rows of `length` values.

    >>> import whet
    >>> from whet.datasets import Sines
    >>> waves = Sines(count=3, length=50)
    >>> len(waves)
    3
    """

    def __init__(self, count=100, length=1000, period=20.0, seed=0):
        phase = np.random.default_rng(seed).uniform(-80, 80, (count, 1))
        waves = np.sin((np.arange(length) + phase) / period)
        self.waves = from_numpy(waves.astype(np.float32))
        super().__init__(self.waves)
