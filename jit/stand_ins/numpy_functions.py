"""NumPy functions of which a recording knows more than that they compute."""
from __future__ import annotations

import types
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import numpy as np
from whet.ops.numpy_calls import find

NumPyFunction: TypeAlias = Callable[..., Any]

# the type of functions that ask their arguments for what overrides them
ASKING: type = type(np.mean)
KINDS = types.BuiltinFunctionType, types.FunctionType, ASKING
# functions that change their first operand, by their path
WRITES = frozenset((
    "copyto", "put", "place", "putmask", "put_along_axis", "fill_diagonal", "ndarray.fill",
    "ndarray.sort", "ndarray.partition", "ndarray.put"))
# what these call that operand
WRITTEN = "dst", "a", "arr"
# operators that have a form that changes the first operand
INPLACE = frozenset((
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor",
    "lshift", "rshift"))
ADDRESSES = np.shares_memory, np.may_share_memory
# what leaves memory as it is, which would be another at each call
UNSET: dict[NumPyFunction, NumPyFunction] = {np.empty_like: np.zeros_like}
# what makes an array of a list or a deque, and computes with that
OF_SEQUENCES: frozenset[NumPyFunction] = frozenset((
    np.mean, np.sum, np.prod, np.std, np.var, np.max, np.min, np.median, np.average, np.argmax,
    np.argmin, np.percentile, np.quantile))
# what makes arrays without asking its operands
_MAKE: list[Any] = [
    np.array, np.asarray, np.ascontiguousarray, np.asanyarray, np.zeros, np.empty, np.ones,
    np.full, np.arange]
MAKERS: frozenset[NumPyFunction] = frozenset((*_MAKE, *OF_SEQUENCES))
# those of them that are there to be written to
BLANK: dict[NumPyFunction, NumPyFunction] = {
    np.zeros: np.zeros, np.empty: np.zeros, np.ones: np.ones, np.full: np.full}
# what makes the indices that code shuffles
ARANGE = np.arange


for _function in MAKERS:                     # while their names still lead to them
    find(_function.__name__)


def reflected(name: str) -> str:
    """The name of an operator that makes a new array."""
    return name + "_" if name in ("and", "or") else name


def shuffles(codes: Iterable[types.CodeType]) -> bool:
    """Does code name a function that writes to its argument?"""
    return any("shuffle" in code.co_names for code in codes)
