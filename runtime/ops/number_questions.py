"""Questions about the numbers of arrays, which several ops ask."""
import operator

import numpy as np

from ..ir import scalar
from .question_kernels import asked


def fixed_number(number):
    """A whole number that a question depends on, as a plain int: where a trace follows it, it is a
    guard from here on."""
    return operator.index(number) + 0


FEW = 24                         # numbers that Python compares sooner than NumPy begins


def listed(a):
    """The few numbers of an array as a list; None where there are more, or none, or no memory."""
    return a.ravel().tolist() if type(a) is np.ndarray and 0 < a.size <= FEW else None


def all_below(a, n):
    """Are all of an array of int64, of which there are some, between 0 and n - 1? Negative numbers
    are huge ones here: one pass checks both ends, and sees no number twice that an expanded array
    repeats."""
    numbers = listed(a)
    if numbers is not None:
        return min(numbers) >= 0 and max(numbers) < n
    once = a if a.flags.c_contiguous else a[tuple([slice(None if step else 1)
                                                   for step in a.strides])]
    return np.maximum.reduce(once.view(np.uint64), None) < n


def all_between(a, low, high):
    """Are all elements at least `low` and at most `high`, and none not a number?"""
    numbers = listed(a)
    if numbers is not None:
        return all([low <= x <= high for x in numbers])
    if type(a) is np.ndarray and not a.size:
        return True
    if type(a) is np.ndarray and a.dtype.kind == "f":     # two passes, and no masks
        # as Python's numbers: NumPy would round the ends to the array's type
        least, greatest = np.minimum.reduce(a, None).item(), np.maximum.reduce(a, None).item()
        return bool(least >= low and greatest <= high)
    return bool(((a >= low) & (a <= high)).all())


@asked(lambda x, _: scalar.eq(x, 0))
def has_zero(a):
    """Is any element zero?"""
    return bool((a == 0).any())


@asked(lambda x, _: x < 0)
def has_negative(a):
    """Is any element below zero?"""
    if a.dtype.kind == "i" and a.size:
        numbers = listed(a)
        if numbers is not None:
            return min(numbers) < 0
        return bool(np.minimum.reduce(a, None) < 0)
    return bool((a < 0).any())


@asked(lambda x, _: x > 0)
def has_positive(a):
    """Is any element above zero?"""
    return bool((a > 0).any())


@asked(lambda x, _: ~((x >= 0) & (x <= 1)))
def are_probabilities(a):
    """Are all elements between 0 and 1?"""
    return all_between(a, 0, 1)
