"""Random arrays, shapes and keys for calls of the array API standard: every type, no dimensions
and sizes of zero, infinities, signed zeros and the ends of integer types among the elements."""
import random

import numpy as np

BOOLS = ("bool",)
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTS = SIGNED + UNSIGNED
REALS = ("float32", "float64")
COMPLEX = ("complex64", "complex128")
FLOATS = REALS + COMPLEX
NUMERIC = INTS + FLOATS
REAL_NUMERIC = INTS + REALS
ALL = BOOLS + NUMERIC
SPECIAL = (0.0, -0.0, float("inf"), float("-inf"), float("nan"), 1.0, -1.0, 0.5, -0.5)


class DType(str):
    """A type by its name: each namespace has its own object for it."""


class Draw:
    """A source of random arguments."""

    def __init__(self, seed):
        self.seed = seed
        self.choice = random.Random(seed)
        self.numbers = np.random.default_rng(seed)

    def one_of(self, *values):
        return self.choice.choice(values)

    def sometimes(self, chance=0.5):
        return self.choice.random() < chance

    def shape(self, least=0, most=3, sides=(0, 1, 2, 3, 4)):
        return tuple(self.choice.choice(sides) for _ in range(self.choice.randint(least, most)))

    def shapes(self, count=2):
        """Shapes that broadcast together."""
        whole = self.shape()
        return [
            tuple(1 if self.sometimes(0.3) else s
                  for s in whole[self.choice.randint(0, len(whole)):]) for _ in range(count)
        ]

    def dtypes(self, allowed, count=2):
        """Types that meet in one of the standard."""
        while True:
            drawn = [self.choice.choice(allowed) for _ in range(count)]
            if self.sometimes(0.5):
                drawn = drawn[:1] * count
            if meet(drawn) is not None:
                return drawn

    def array(self, dtype, shape=None, special=True, low=None, high=None):
        """An array of a type; small whole numbers mostly, so that results can be compared."""
        shape = self.shape() if shape is None else shape
        if dtype == "bool":
            return np.asarray(self.numbers.random(shape) < 0.5)
        if "int" in dtype:
            return self._integers(dtype, shape, low, high, special)
        if dtype in COMPLEX:
            parts = [self._reals("float64", shape, False, low, high) for _ in range(2)]
            return np.asarray(parts[0] + 1j * parts[1]).astype(dtype)
        return self._reals(dtype, shape, special, low, high)

    def _integers(self, dtype, shape, low, high, special):
        ends = np.iinfo(dtype)
        low = max(ends.min, -9) if low is None else low
        a = np.asarray(
            self.numbers.integers(max(low, ends.min),
                                  10 if high is None else high,
                                  shape,
                                  endpoint=True)).astype(dtype)
        if special and high is None and low < 1 and self.sometimes(0.2):
            a = np.where(self.numbers.random(shape) < 0.3, self.one_of(ends.min, ends.max),
                         a).astype(dtype)
        return a

    def _reals(self, dtype, shape, special, low, high):
        a = self.numbers.uniform(-4 if low is None else low, 4 if high is None else high, shape)
        if self.sometimes(0.3) and low is None:
            a = np.round(a)
        if special and self.sometimes(0.4):
            odd = self.numbers.choice(np.array(SPECIAL), shape)
            a = np.where(self.numbers.random(shape) < 0.4, odd, a)
        return np.asarray(a).astype(dtype)

    def number(self, dtype):
        """A Python number of the kind of a type."""
        if dtype == "bool":
            return self.sometimes()
        if "int" in dtype:
            return self.choice.randint(0 if dtype[0] == "u" else -9, 9)
        real = self.one_of(0.5, -2.0, 3, 0.0, 1.25)
        return complex(real, 1.5) if dtype in COMPLEX and self.sometimes() else real

    def axis(self, ndim):
        return self.choice.randint(-ndim, ndim - 1)

    def axes(self, ndim):
        """None, one axis or several."""
        if not ndim or self.sometimes(0.3):
            return None
        if self.sometimes():
            return self.axis(ndim)
        chosen = self.choice.sample(range(ndim), self.choice.randint(0, ndim))
        return tuple(a - ndim if self.sometimes(0.3) else a for a in chosen)

    def key(self, shape, nones=True):
        """Integers, slices, an ellipsis and new dimensions for an array of a shape."""
        taken, parts = self.choice.randint(0, len(shape)), []
        at = self.choice.randint(0, taken) if self.sometimes(0.4) else None
        for i in range(taken):
            if i == at:
                parts.append(...)
            d = i if at is None or i < at else len(shape) - (taken - i)
            parts.append(self._index(shape[d]))
        if at == taken or not parts or at is None and taken < len(shape):
            parts.append(...)
        if nones and self.sometimes(0.3):
            parts.insert(self.choice.randint(0, len(parts)), None)
        return parts[0] if len(parts) == 1 and self.sometimes() else tuple(parts)

    def _index(self, side):
        if side and self.sometimes(0.4):
            return self.choice.randint(-side, side - 1)
        step = self.one_of(None, 1, 2, -1, -2)
        ends = [None, *range(-side, side)] if step is None or step > 0 else [None]
        start, stop = self.choice.choice(ends), self.choice.choice(
            [*ends, side if len(ends) > 1 else None])
        return slice(start, stop, step)


def meet(dtypes):
    """The type in which several meet in the standard; None where it names none."""
    kinds = {np.dtype(d).kind for d in dtypes}
    if len(kinds) > 1 and not (kinds <= set("iu") or kinds <= set("fc")):
        return None
    result = np.result_type(*map(np.dtype, dtypes))
    return None if kinds <= set("iu") and result.kind == "f" else result.name
