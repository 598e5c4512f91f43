"""What programs written for TorchScript ask of `jit`. Nothing is scripted here: Python's own run is
recorded, so marks for a script compiler change nothing, and `script` is another door to `trace`."""
from __future__ import annotations

from typing import Any, TypeVar

from .trace import trace

F = TypeVar("F")

__all__ = ["annotate", "ignore", "is_scripting", "is_tracing", "script", "script_if_tracing",
           "unused"]


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
    return obj if isinstance(obj, type) else trace(obj)


def script_if_tracing(fn: F) -> F:
    """The function itself: a recording follows its loops and branches as it is."""
    return fn


def is_scripting() -> bool:
    """False: no code is scripted."""
    return False


def is_tracing() -> bool:
    """False, also while a run is recorded: PyTorch's tracer keeps numbers of the recorded run for
    good, and programs ask this to avoid that. Recordings here follow them. `compiler.is_compiling`
    says whether a run is recorded."""
    return False


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """A mark for a script compiler, `@ignore` or `@ignore()`: the function itself."""
    return drop if callable(drop) else lambda fn: fn


def unused(fn: F) -> F:
    """A mark for a script compiler: the function itself."""
    return fn


_overload = _overload_method = unused       # of one signature among several: densenets have them


def annotate(the_type: Any, the_value: Any) -> Any:
    """The value: its type is for a script compiler."""
    return the_value
