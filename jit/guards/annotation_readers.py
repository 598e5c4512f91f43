"""Finds code of the standard library that reads annotations and other descriptions which functions
and classes have of themselves. It is found by reading the code, and the code that it calls."""
import functools
import types
from collections.abc import Iterator
from typing import Any

from ..values.code_origin import origin_of_class
from .object_places import NAMES, SAID

# what functions and classes say of themselves, but for their names, which all errors tell
TOLD = frozenset(SAID) - {*NAMES, "__module__"}


@functools.cache
def reads_annotations(f: types.FunctionType) -> bool:
    """Does a function of the standard library, or what it names there, ask for that?

    >>> import copy, dataclasses, inspect
    >>> from whet.jit.guards.annotation_readers import reads_annotations
    >>> [reads_annotations(f) for f in (inspect.signature, dataclasses.fields, copy.copy)]
    [True, True, False]
    """
    met: set[int] = set()
    waiting: list[tuple[Any, types.FunctionType]] = [(f, f)]
    while waiting:
        x, of = waiting.pop()
        if type(x) is str and x in TOLD:
            return True
        if id(x) not in met:
            met.add(id(x))
            waiting += [(y, z) for y, z in _leads_to(x, of)]
    return False


def _leads_to(x: Any, of: types.FunctionType) -> Iterator[tuple[Any, types.FunctionType]]:
    """What something leads to that code of a function names, and whose names that is found by."""
    if type(x) is types.FunctionType:
        yield from ((y, x) for y in (x.__code__, *(x.__defaults__ or ())))
    elif type(x) is types.CodeType:
        names = of.__globals__
        held = [names[name] for name in x.co_names if name in names]
        inner = [vars(m)[name] for m in held if type(m) is types.ModuleType
                 for name in x.co_names if name in vars(m)]
        yield from ((y, of) for y in (*x.co_names, *x.co_consts, *held, *inner))
    elif type(x) is tuple:
        yield from ((y, of) for y in x)
    elif isinstance(x, type) and (origin := origin_of_class(x)) and origin.names is of.__globals__:
        yield from ((getattr(y, "__func__", y), of) for y in vars(x).values())
