"""What programs written for TorchScript ask of `jit`. Nothing is scripted here: Python's own run is
recorded, so marks for a script compiler change nothing, and `script` is another door to `trace`."""
from __future__ import annotations

import builtins
import types
import typing
from typing import Any, TypeVar

from .trace import trace

F = TypeVar("F")

__all__ = ["Error", "ScriptFunction", "ScriptModule", "TracerWarning", "annotate", "ignore",
           "isinstance", "is_scripting", "is_tracing",
           "script", "script_if_tracing", "unused"]


class ScriptModule:
    """The type of no module: none is scripted."""


class ScriptFunction:
    """The type of no function: none is scripted."""


class Error(RuntimeError):
    """What no scripted code raises: there is none."""


class TracerWarning(Warning):
    """What PyTorch's tracer says: it is never given here. `TraceWarning` is."""


def script(obj: Any = None, optimize: Any = None, _frames_up: int = 0, _rcb: Any = None,
           example_inputs: Any = None) -> Any:
    """`trace` of a function or a module, whose Python need not be TorchScript. Classes are given
    back as they are.

    >>> import whet
    >>> @whet.jit.script
    ... def f(x):
    ...     return x * 2
    >>> f(whet.ones(2))
    tensor([2., 2.])
    """
    return obj if builtins.isinstance(obj, type) else trace(obj)


def script_if_tracing(fn: F) -> F:
    """The function itself: a recording follows its loops and branches as it is."""
    return fn


def is_scripting() -> bool:
    """False: no code is scripted."""
    return False


def is_tracing() -> bool:
    """False, also while a run is recorded: PyTorch's tracer keeps numbers of the recorded run for
    good, and programs ask this to avoid that. Recordings here follow them, and go the way that
    eager mode goes, so `compiler.is_compiling` says no as well."""
    return False


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """A mark for a script compiler, `@ignore` or `@ignore()`: the function itself."""
    return drop if callable(drop) else lambda fn: fn


def unused(fn: F) -> F:
    """A mark for a script compiler: the function itself."""
    return fn


def isinstance(obj: Any, target_type: Any) -> bool:
    """Is this an object of a type, or of one of several? What is in containers is looked at, as in
    `list[int]`.

    >>> import whet
    >>> whet.jit.isinstance([1, 2], list[int]), whet.jit.isinstance({"a": 1}, dict[str, str])
    (True, False)
    """
    if builtins.isinstance(target_type, tuple):
        return any(isinstance(obj, t) for t in target_type)
    origin, parts = typing.get_origin(target_type), typing.get_args(target_type)
    if origin in (typing.Union, types.UnionType):
        return any(isinstance(obj, t) for t in parts)
    if origin is None:
        return obj is None if target_type is None else builtins.isinstance(obj, target_type)
    if not builtins.isinstance(obj, origin):
        return False
    if origin is dict:
        return all(isinstance(k, parts[0]) and isinstance(v, parts[1]) for k, v in obj.items())
    if origin is tuple:
        return len(obj) == len(parts) and all(map(isinstance, obj, parts))
    return all(isinstance(x, parts[0]) for x in obj)


_overload = _overload_method = unused       # of one signature among several: densenets have them


def annotate(the_type: Any, the_value: Any) -> Any:
    """The value: its type is for a script compiler."""
    return the_value
