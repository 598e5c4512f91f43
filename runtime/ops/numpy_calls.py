"""Calls of NumPy's functions, and of SciPy's, as ops, for traces: a replay makes them again, on the
arrays of the moment.

The arguments of a call are stored in nested tuples with a word first (see `ArgumentText`), so that
graphs with such calls can be printed, compared and read back. A call that NumPy would warn about, a
division by zero say, is an error here: eager then warns at the user's line.
"""
import functools
import importlib
import operator

import numpy as np

from ..dtypes import FROM_NUMPY
from .registry import Op

ERRORS = "divide", "over", "under", "invalid"
OPERANDS = {"array": lambda a: a, "scalar": lambda a: a[()], "number": lambda a: a.item()}
PLAIN = frozenset((int, float, complex, bool, str, bytes, type(None), type(...)))
# the parts of SciPy whose functions compute with what they are given, and read nothing else
SCIPY = frozenset(("linalg", "ndimage", "optimize", "signal", "spatial"))


@functools.cache
def find(name):
    """A function by its path: in `operator`, in one of some parts of SciPy, or in NumPy.

    >>> from whet.ops.numpy_calls import find
    >>> find("operator.add")(1, 2), find("add.reduce")([1, 2])
    (3, np.int64(3))
    """
    first, _, rest = name.partition(".")
    where, path = (operator, rest) if first == "operator" else (np, name)
    if first == "scipy":
        part, _, path = rest.partition(".")
        if part not in SCIPY:
            raise AttributeError(f"no function of arrays: {name}")
        where = importlib.import_module(f"scipy.{part}")
    return functools.reduce(getattr, path.split("."), where)


class Unsaid(Exception):
    """Something that a call was given has no form as text."""


class ArgumentText:
    """Arguments of a call as nested tuples: ("array", i) for operand i, ("list", ...), ("dtype",
    name), ("value", x). `operand(x)` gives (the word, the tensor) of what is an operand, and None
    of anything else."""

    def __init__(self, operand):
        self.operand, self.tensors, self.index = operand, [], {}

    def __call__(self, x):
        found = self.operand(x)
        if found is not None:
            word, tensor = found
            i = self.index.setdefault((word, id(tensor)), len(self.tensors))
            if i == len(self.tensors):
                self.tensors.append(tensor)
            return word, i
        t = type(x)
        if t in PLAIN:
            return "value", x
        if isinstance(x, np.generic) and x.dtype in FROM_NUMPY:
            return "value", x
        if t in (tuple, list):
            return t.__name__, *[self(y) for y in x]
        if t is slice:
            return "slice", self(x.start), self(x.stop), self(x.step)
        if (isinstance(x, np.dtype) or isinstance(x, type) and
            (x in (float, int, bool, complex) or issubclass(x, np.generic))):
            d = np.dtype(x)
            if d in FROM_NUMPY:
                return "dtype", d.str
        raise Unsaid


def _argument(described, arrays):
    """An argument, from what `ArgumentText` has made of it."""
    word, *rest = described
    if word in OPERANDS:
        return OPERANDS[word](arrays[rest[0]])
    if word == "value":
        return rest[0]
    if word == "dtype":
        return np.dtype(rest[0])
    parts = [_argument(x, arrays) for x in rest]
    return slice(*parts) if word == "slice" else tuple(parts) if word == "tuple" else parts


class NumpyCall(Op):
    """`function(*args, **kwargs)` of NumPy's. `writes`: which operand the function changes; the
    result is that operand afterwards, and the operand itself stays as it is."""
    total = False

    def forward(self, *arrays, function, args, kwargs, errors, writes=None):
        """The result, or several."""
        if writes is not None:
            arrays = *arrays[:writes], arrays[writes].copy(), *arrays[writes + 1:]
        with np.errstate(**dict(zip(ERRORS, errors))):
            made = find(function)(*[_argument(x, arrays) for x in args],
                                  **{k: _argument(x, arrays) for k, x in kwargs})
        if writes is not None:
            return arrays[writes]
        return tuple(map(np.asarray, made)) if isinstance(made, tuple | list) else np.asarray(made)


def raising():
    """The settings under which a call that NumPy would inform about is an error."""
    now = np.geterr()
    return tuple(["ignore" if now[kind] == "ignore" else "raise" for kind in ERRORS])


numpy_call = NumpyCall("numpy_call", inner=True)
