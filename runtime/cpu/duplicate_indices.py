"""What happens to values whose indices name the same place: the last one stays, or their sum,
product, extremum or mean."""
import numpy as np

from ..dtypes import BOOL, FLOAT, FROM_NUMPY


class Combination:
    """`primitive`: combines what is there with a new value in kernels; None: the new value replaces
    it. `ufunc`: the same in NumPy."""
    divides = False              # Is the result divided by how many values there were?

    def __init__(self, primitive, ufunc):
        self.primitive, self.ufunc = primitive, ufunc

    def start(self, dtype):
        """What a place holds before anything is combined into it, for a NumPy type."""
        raise NotImplementedError


class Put(Combination):
    """The last value stays."""


class Folded(Combination):
    """A sum or a product, which starts at `unit`."""

    def __init__(self, primitive, ufunc, unit):
        super().__init__(primitive, ufunc)
        self.unit = unit

    def start(self, dtype):
        return dtype.type(self.unit)


class Mean(Folded):
    """A sum, divided."""
    divides = True


class Extremum(Combination):
    """The largest or the smallest value."""

    def __init__(self, primitive, ufunc, *, largest):
        super().__init__(primitive, ufunc)
        self.largest = largest

    def start(self, dtype):
        d = FROM_NUMPY[dtype]
        if d.category == FLOAT:
            return dtype.type(-np.inf if self.largest else np.inf)
        if d.category == BOOL:
            return not self.largest
        info = np.iinfo(dtype)
        return info.min if self.largest else info.max


COMBINATIONS = {
    "put": Put(None, None), "sum": Folded("add", np.add, 0), "prod": Folded("mul", np.multiply, 1),
    "mean": Mean("add", np.add, 0), "amax": Extremum("max", np.maximum, largest=True),
    "amin": Extremum("min", np.minimum, largest=False)}
