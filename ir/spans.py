"""Where arrays lie in memory."""
import ctypes as C

import numpy as np


def _told(a):
    """Where NumPy says that an array's first element lies: it makes a dictionary of all that is to be said of it."""
    return a.__array_interface__["data"][0]


def _read(a, behind=object.__basicsize__, word=C.c_size_t.from_address):
    """What lies behind an object's head: of an array, where its first element lies."""
    return word(id(a) + behind).value


def _fits():
    """Do arrays of this NumPy in this Python begin so?"""
    a = np.zeros((3, 4))
    return all(_read(x) == _told(x) for x in (a, a[1:], a.T[2:, ::-1], np.zeros(1, np.int8), np.zeros((0, 2)), a[1, 1, ...]))


address = _read if _fits() else _told        # in a fifth of the time


def span(a):
    """The bytes that an array's elements lie in: the first, and the one after the last.

        >>> import numpy as np
        >>> from whet.ir.spans import span
        >>> low, high = span(np.zeros((3, 4))[:, ::-1])
        >>> high - low
        96
    """
    if a.flags.c_contiguous:                 # (most are; NumPy goes through all dimensions)
        low = address(a)
        return low, low + a.nbytes
    return np.lib.array_utils.byte_bounds(a)
