"""Sizes that stand for any: `SymInt` and its like are types of PyTorch's compiler. Sizes are
Python numbers here, so nothing is of these types, and functions of them are Python's."""
import builtins
import math

__all__ = ["SymBool", "SymFloat", "SymInt", "sym_float", "sym_fresh_size", "sym_int", "sym_ite",
           "sym_max", "sym_min", "sym_not", "sym_sqrt", "sym_sum"]


class SymInt:
    """The type of no number: an `int` stands for every size."""

    def __init__(self, *args):
        raise TypeError(f"{type(self).__name__}: sizes are Python numbers")


class SymFloat(SymInt):
    """The type of no number."""


class SymBool(SymInt):
    """The type of no truth value."""


def sym_int(a):
    """A number without its fraction.

    >>> import whet
    >>> whet.sym_int(2.5), whet.sym_max(1, 2), whet.sym_not(True)
    (2, 2, False)
    """
    return math.trunc(a)


def sym_float(a):
    """A number as a `float`."""
    return float(a)


def sym_max(a, b):
    """The larger number; a `float` where one is."""
    return _either(a, b, builtins.max(a, b))


def sym_min(a, b):
    """The smaller number; a `float` where one is."""
    return _either(a, b, builtins.min(a, b))


def _either(a, b, chosen):
    return float(chosen) if isinstance(a, float) or isinstance(b, float) else chosen


def sym_not(a):
    """`not a`."""
    return not a


def sym_ite(b, t, f):
    """`t if b else f`."""
    return t if b else f


def sym_sum(args):
    """The sum of numbers."""
    return builtins.sum(args)


def sym_sqrt(a):
    """The square root of a number.

    >>> import whet
    >>> whet.sym_sqrt(4), whet.sym_fresh_size(3)
    (2.0, 3)
    """
    return math.sqrt(a)


def sym_fresh_size(expr):
    """A size that is not known to be another one: the number itself."""
    return expr
