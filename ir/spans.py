"""Where arrays lie in memory."""
import numpy as np


def address(a):
    """Where an array's first element lies."""
    return a.__array_interface__["data"][0]


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
