"""`whet.Size`: the shape of a tensor."""
import operator

import numpy as np

from . import declared_for_tracing
from .tensor_base import Base

declared_for_tracing.only_computes(globals())
of_lengths = tuple.__new__               # without a look at them: for shapes that are known to be


class Size(tuple):
    """A shape: a tuple of integers with `numel()`. Integers are also tensors of one such number.

    >>> import whet
    >>> whet.Size([whet.tensor(2), 3]), whet.Size([2, 3]).numel()
    (whet.Size([2, 3]), 6)
    """
    __slots__ = ()

    def __new__(cls, lengths=()):
        made = of_lengths(cls, lengths)
        for n in made:
            if type(n) is not int:
                return of_lengths(cls, [_length(i, n) for i, n in enumerate(made)])
        return made

    def numel(self):
        """The product of the sizes."""
        n = 1
        for s in self:
            n *= s
        return n

    def __repr__(self):
        return f"whet.Size({list(self)})"

    def __getitem__(self, i):
        r = tuple.__getitem__(self, i)
        return of_lengths(Size, r) if type(i) is slice else r

    def __add__(self, other):
        return Size(tuple.__add__(self, tuple(other)))

    def __radd__(self, other):
        return Size(tuple(other) + tuple(self))

    def __mul__(self, n):
        return of_lengths(Size, tuple.__mul__(self, n))


def _length(i, n):
    """What a shape holds for an item that is no Python int."""
    if getattr(type(n), "stands_for_a_size", False):         # such as a ragged one
        return n
    try:
        whole = operator.index(n) if isinstance(n, Base | np.integer | bool) else None
    except (TypeError, RuntimeError, ValueError):
        whole = None
    if whole is None and (isinstance(n, Base) or not hasattr(type(n), "__index__")):
        raise TypeError(
            f"whet.Size() takes an iterable of 'int' (item {i} is '{n.__class__.__name__}')")
    # an int of another class stays one: it may be a number that a recorded run lets vary
    return n if whole is None else whole
