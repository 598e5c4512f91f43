"""Which objects are replaced by stand-ins while a function is recorded."""
from __future__ import annotations

import functools
import io
import logging
import math
import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from whet.ops.python_calls import CLOCKS, NUMERIC
from whet.tensor import Tensor

from ..values.array_facts import takes
from ..values.code_origin import is_compiled_function
from .caches import CACHED
from .numpy_functions import ASKING, MAKERS
from .outside_draws import draws, is_generator
from .repeated_output import METHODS
from .scipy_functions import path_of
from .streams_and_functions import LEVELS

TIMES, MATH = tuple(CLOCKS.values()), {f: name for name, f in NUMERIC.items()}
# of numbers
ASKED: dict[Any, Callable[[Any], Any]] = {
    math.isnan: lambda v: v != v,
    math.isinf: lambda v: abs(v) == math.inf,
    math.isfinite: lambda v: abs(v) < math.inf}
KNOWN = frozenset((*TIMES, *MATH, *ASKED))
# logging.info and the others
MODULE = {getattr(logging, name): level for name, level in LEVELS.items()}
# of these there are many kinds, which an abstract class knows
OUTWARD = io.IOBase, logging.Logger, CACHED
# what has no stand-in (of others it is asked)
NEVER = frozenset((
    int, float, complex, bool, str, bytes, type(None), list, tuple, dict, set, frozenset, type,
    types.ModuleType, types.CellType, types.CodeType, types.MethodType, Tensor))


def stands(x: Any) -> bool:
    """Is there a stand-in for such an object?"""
    t: type = type(x)
    if t is np.ndarray:
        return takes(x)
    if t is types.BuiltinFunctionType:
        return (x is print or x is warnings.warn or x in KNOWN or x in MAKERS or draws(x)
                or isinstance(x.__self__, io.IOBase) and x.__name__ in METHODS
                or path_of(x) is not None)
    if t is functools.partial:
        return stands(x.func)
    if t is types.MethodType:
        return draws(x)
    if t is ASKING:
        return x in MAKERS
    if t is types.FunctionType:
        return (x in MODULE or x is logging.getLogger or x in MAKERS
                or path_of(x) is not None)
    return _is_outward(t) or _tells_its_class(t) and (
        x.__class__ is not t and isinstance(x, OUTWARD))


@functools.lru_cache(1024)
def _tells_its_class(t: type) -> bool:
    """May objects of a type be asked for their class? Some notice whatever they are asked for."""
    return not isinstance(t.__getattribute__, types.FunctionType)


@functools.lru_cache(1024)
def _is_outward(t: type) -> bool:
    """Is there a stand-in for objects of a type? Called for everything that a function reaches."""
    return t not in NEVER and (issubclass(t, OUTWARD)
                               or is_generator(t) or is_compiled_function(t))
