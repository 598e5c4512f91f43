"""Calls of NumPy's functions, in a run that is recorded, that get tensors beside arrays.

For most of its functions, NumPy calls a hook of tensors (`__array_function__`). These calls become
whet's own ops, which know arrays by their memory. For an index or a method of an array it calls no
hook, and reads the memory of both unseen. So the tensors become arrays there, as NumPy makes them,
and the call is one of arrays."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from whet.dtypes import FLOAT, bool_
from whet.ops.numpy_calls import find
from whet.ops.registry import is_tensor

from ..refusals.reasons import OfNumPy
from ..stand_ins.numpy_functions import ADDRESSES, INPLACE, reflected
from ..stand_ins.numpy_stand_in import Array, real_of, unwrapped
from ..values.array_facts import flat

if TYPE_CHECKING:
    from .numpy_arrays import Arrays

INDEXING = frozenset(("operator.getitem", "operator.setitem", "operator.delitem"))


def call_beside_tensors(arrays: Arrays, name: str, function: Callable[..., Any],
                        args: tuple[Any, ...], kwargs: Mapping[str, Any],
                        asks_tensors: bool) -> Any:
    """Run a NumPy function that gets tensors, and record it. `asks_tensors`: would NumPy ask them
    what it is for them?"""
    if function in ADDRESSES:
        arrays.rec.refuse(OfNumPy("it asks where NumPy arrays are in memory"))
    elif asks_tensors:
        return _by_the_tensor(function, args, kwargs)
    elif name.startswith("operator.i") and name[10:] in INPLACE:
        return _in_place(arrays, name[10:], *args)
    elif name in INDEXING or not name.startswith("operator."):
        converted = _converted(args, kwargs, name)
        if converted is not None:
            return arrays.call(name, function, *converted)
        arrays.rec.refuse(OfNumPy(f"it calls {name} on a tensor that NumPy cannot read"))
    for x in flat((args, tuple(kwargs.values()))):
        if type(x) is Array and isinstance(real_of(x), np.generic):
            arrays.pin(x)                    # arrays are known by memory, numbers not
    return function(*unwrapped(args), **unwrapped(kwargs))


def _by_the_tensor(function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """What a tensor says that a function of NumPy's is."""
    t = next(x for x in flat((args, tuple(kwargs.values()))) if is_tensor(x))
    if isinstance(function, np.ufunc):
        return t.__array_ufunc__(function, "__call__", *args, **kwargs)
    owner = getattr(function, "__self__", None)
    if isinstance(owner, np.ufunc):
        return t.__array_ufunc__(owner, function.__name__, *args, **kwargs)
    return t.__array_function__(function, (), args, kwargs)


def _in_place(arrays: Arrays, operator: str, target: Any, other: Any) -> Any:
    """`array += tensor`: the tensor's op, copied into the array."""
    made = find("operator." + reflected(operator))(unwrapped(target), other)
    arrays.call("copyto", np.copyto, (target, made.detach().numpy()), {"casting": "same_kind"})
    return target


def _converted(args: tuple[Any, ...], kwargs: Mapping[str, Any],
               name: str) -> tuple[Any, Any] | None:
    """The arguments with arrays in place of tensors, and numbers where these are indices; None
    where a tensor has no array."""
    def of(x: Any, in_index: bool = False) -> Any:
        if is_tensor(x):
            is_place = in_index and x.numel() == 1 and x.dtype.category < FLOAT
            return x.numpy() if not is_place else x.item() if x.dtype is not bool_ else int(x)
        if type(x) in (tuple, list):
            return type(x)([of(y, in_index and type(x) is tuple) for y in x])
        if type(x) is slice:
            return slice(*[of(y, in_index) for y in (x.start, x.stop, x.step)])
        return {k: of(y) for k, y in x.items()} if type(x) is dict else x
    try:
        return (tuple([of(x, name in INDEXING and i == 1) for i, x in enumerate(args)]),
                of(dict(kwargs)))
    except (RuntimeError, TypeError):
        return None
