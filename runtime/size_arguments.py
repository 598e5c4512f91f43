"""Sizes and bounds as users write them, checked and brought into one form."""
import itertools
import operator
import types
from math import prod

import numpy as np

# the recorded runs, on any thread, that follow the sizes Python reads: mostly there are none
followers: set = set()
# code that computes with sizes to see whether they are right, and no more
CHECKS: set[types.CodeType] = set()


def checks(function):
    """Computing with sizes, this function only looks whether they are right."""
    CHECKS.add(function.__code__)
    return function


def whole(x):
    """operator.index(x). Of a size that a trace follows it is an int that knows where it comes
    from."""
    return x.__whet_whole__() if hasattr(x, "__whet_whole__") else operator.index(x)


def numbers(shape):
    """Sizes for a function to compute with, or to return. A trace follows those that it gave to
    `whole` through that, too."""
    if not followers:
        return shape
    return tuple([n.__whet_number__() if hasattr(n, "__whet_number__") else n for n in shape])


def as_int(x, op, argument, position=None, index=operator.index):
    """An integer from a number that is one (also a NumPy integer or a tensor of one element).
    `index`: `whole`, where it is a size or a part of an index."""
    if type(x) is int:
        return x
    try:
        if isinstance(x, bool | np.bool_):
            raise TypeError
        return index(x)
    except TypeError:
        where = "" if position is None else f" (position {position})"
        got = x.__class__.__name__           # a trace has stand-ins, which say the real class so
        raise TypeError(f"{op}(): argument '{argument}'{where} must be int, not {got}") from None


def sizes(args, op, argument="size"):
    """`f(2, 3)`, `f((2, 3))`, `f([2, 3])` or `f(size)` as a tuple of ints."""
    if len(args) == 1 and isinstance(args[0], tuple | list):
        args = args[0]
    for s in args:
        if type(s) is not int:
            break
    else:
        return tuple(args)
    out = []
    for i, s in enumerate(args):
        try:
            if isinstance(s, bool | np.bool_):
                raise TypeError
            out.append(whole(s))
        except TypeError:
            kind = s.__class__
            if (len(args) == 1 and not hasattr(s, "_array") and hasattr(kind, "__iter__")
                    and hasattr(kind, "__len__") and not isinstance(s, str)):
                return sizes(tuple(s), op, argument)
            got = kind.__name__
            raise TypeError(
                f"{op}(): argument '{argument}' (position {i + 1}) must be tuple of ints, not {got}"
            ) from None
    return tuple(out)


def tuple_of(v, n, name, what):
    """A number for all dimensions, or one for each."""
    if isinstance(v, int):
        return (v,) * n
    is_number = getattr(v, "ndim", None) == 0
    if hasattr(v, "__iter__") and not isinstance(v, str) and not is_number:
        v = tuple(itertools.islice(v, n + 1))
    v = sizes((v,), name, what)
    if len(v) == 1:
        return v * n
    if len(v) != n:
        raise RuntimeError(
            f"{name}: expected {what} to be a single integer value or a list of {n} values to "
            f"match the convolution dimensions, but got {what}={list(v)}")
    return v


@checks
def checked_size(size, op):
    """A size of a new tensor: not negative, and not larger than memory can be addressed."""
    for s in size:
        if s < 0:
            raise RuntimeError(f"{op}: Dimension size must be non-negative, got {list(size)}.")
    if prod(size) >= 1 << 60 or size and max(size) >= 1 << 62:
        raise RuntimeError(f"{op}: Storage size calculation overflowed with sizes={list(size)}")
    return size


class Rest(int):
    """A size that was given as -1: what is left of all elements."""
    __slots__ = ()


@checks
def infer_size(size, numel):
    """A shape to view `numel` elements as, its -1 replaced by what is left: a Rest, where a trace
    follows sizes."""
    unknown = -1
    n = 1
    for d, s in enumerate(size):
        if s == -1:
            if unknown >= 0:
                raise RuntimeError("only one dimension can be inferred")
            unknown = d
        elif s < 0:
            raise RuntimeError(f"invalid shape dimension {s}")
        else:
            n *= s
    if unknown < 0:
        if n == numel:
            return size
    elif n == 0:
        if numel == 0:
            raise RuntimeError(
                f"cannot reshape tensor of 0 elements into shape {list(size)} because the "
                "unspecified dimension size -1 can be any value and is ambiguous")
    elif numel % n == 0:
        rest = Rest(numel // n) if followers else numel // n
        return size[:unknown] + (rest,) + size[unknown + 1:]
    raise RuntimeError(f"shape '{list(size)}' is invalid for input of size {numel}")


def broadcast_shapes(*shapes):
    """The shape that tensors of these shapes broadcast to, as a tuple."""
    n = max(map(len, shapes), default=0)
    out = [1] * n
    for shape in shapes:
        for d, s in enumerate(shape, n - len(shape)):
            if s < 0:
                raise RuntimeError(f"Trying to create tensor with negative dimension ({s}): ({s})")
            if s != 1 and out[d] != s:
                if out[d] != 1:
                    raise RuntimeError(
                        "Shape mismatch: objects cannot be broadcast to a single shape: "
                        f"{', '.join(str(list(s)) for s in shapes)}")
                out[d] = s
    return tuple(out)


def broadcasts_to(shape, target):
    """Does a tensor of this shape broadcast to another shape, with no dimension of that changed?"""
    try:
        return np.broadcast_shapes(shape, target) == tuple(target)
    except ValueError:
        return False


def bound(start, stop, step, n):
    """A slice's start and stop as Python counts them, for a dimension of size n; start <= stop."""
    start = 0 if start is None else max(start + n, 0) if start < 0 else min(start, n)
    stop = n if stop is None else max(stop + n, 0) if stop < 0 else min(stop, n)
    return start, max(start, stop)
