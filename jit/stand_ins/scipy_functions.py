"""SciPy's functions of arrays, which a replay calls again as it calls NumPy's.

The code that SciPy itself runs is not watched. So a call is recorded only if its arguments are
arrays, numbers and texts, which lead to no user code, and if it does not write to them."""
from __future__ import annotations

import os
import types
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from whet.ops.numpy_calls import find
from whet.ops.registry import is_tensor

from ..refusals.reasons import Calls
from ..values.array_facts import can_be_noted, several
from .numpy_stand_in import unwrapped
from .numpy_warnings import warning_here
from .streams_and_functions import called_plainly

if TYPE_CHECKING:
    from ..capture.purity import Watch
    from ..capture.recorder import Recorder

FUNCTIONS = types.FunctionType, types.BuiltinFunctionType


def path_of(x: Any) -> str | None:
    """The path by which SciPy's users know a function of arrays; None of anything else.

    >>> import numpy as np
    >>> from scipy.optimize import linear_sum_assignment
    >>> from whet.jit.stand_ins.scipy_functions import path_of
    >>> path_of(linear_sum_assignment), path_of(np.sort)
    ('scipy.optimize.linear_sum_assignment', None)
    """
    module = x.__module__ if isinstance(x, FUNCTIONS) else None
    if type(module) is not str or not module.startswith("scipy."):
        return None
    public = [part for part in module.split(".") if not part.startswith("_")]
    path = ".".join((*public, x.__name__))
    try:
        return path if find(path) is x else None
    except (AttributeError, ImportError):
        return None


def call(rec: Recorder, watch: Watch, path: str, function: Callable[..., Any],
         args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Call a SciPy function and record it."""
    args = tuple(map(_as_array, args))
    kwargs = {k: _as_array(x) for k, x in kwargs.items()}
    node = None if "SCIPY_ARRAY_API" in os.environ else rec.stand_ins.arrays.as_node(
        path, function, args, kwargs)
    if node is None:
        rec.refuse(Calls(path))
        return called_plainly(function, args, kwargs)[0]
    before = [t._array.tobytes() for t in node[1]]
    made = watch.unwatched(
        warning_here, rec, function, unwrapped(args), unwrapped(kwargs))
    if [t._array.tobytes() for t in node[1]] != before:
        rec.refuse(Calls(path))
    if rec.reason is not None:
        return made
    if not node[1]:                          # of what is the same each time
        return made
    if not all(map(can_be_noted, several(made))):
        rec.stand_ins.arrays.pin_all(args, kwargs)
        return made
    return watch.unwatched(rec.stand_ins.arrays.noted, made, *node)


def _as_array(x: Any) -> Any:
    """A tensor as NumPy sees it; anything else as it is."""
    return x.numpy() if is_tensor(x) and not x.requires_grad else x
