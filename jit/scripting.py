"""What programs written for TorchScript ask of `jit`. Nothing is scripted here: Python's own run is
recorded, so marks for a script compiler change nothing. `script` is another name for `trace`."""
from __future__ import annotations

import builtins
import contextlib
import types
import typing
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from whet import declared_for_tracing

from .trace import trace

F = TypeVar("F")

__all__ = ["Attribute", "Error", "ScriptFunction", "ScriptWarning", "TracerWarning",
           "TracingCheckError", "annotate",
           "fork", "freeze", "ignore", "interface", "isinstance", "is_scripting", "is_tracing",
           "optimize_for_inference", "optimized_execution", "script", "script_if_tracing",
           "script_method", "set_fusion_strategy", "trace_module", "unused", "wait"]


class ScriptFunction:
    """The type of no function: none is scripted."""


class ScriptWarning(Warning):
    """The warning of PyTorch's script compiler, for code that names it."""


class Error(RuntimeError):
    """The error of scripted code. Nothing raises it: no code is scripted."""


class TracingCheckError(Exception):
    """The error of PyTorch's check of a trace, for code that names it: see `trace(verify=)`."""


class TracerWarning(Warning):
    """The warning of PyTorch's tracer, for code that names it. Here it is `TraceWarning`."""


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


def trace_module(mod: Any, inputs: Mapping[str, Any], optimize: Any = None,
                 check_trace: bool = True, check_inputs: Any = None,
                 check_tolerance: float = 1e-5, strict: bool = False,
                 example_inputs_is_kwarg: bool = False) -> Any:
    """The trace of a module, with traces of its methods that are named, each with the inputs of a
    first call.

    >>> import whet
    >>> class Scale(whet.nn.Module):
    ...     def forward(self, x):
    ...         return x * 2
    ...     def back(self, x):
    ...         return x / 2
    >>> scale = whet.jit.trace_module(Scale(), {"forward": whet.ones(2), "back": whet.ones(2)})
    >>> scale(whet.ones(2)), scale.back(whet.ones(2))
    (tensor([2., 2.]), tensor([0.5000, 0.5000]))
    """
    def traced(fn: Any, examples: Any) -> Any:
        given = "example_kwarg_inputs" if example_inputs_is_kwarg else "example_inputs"
        return trace(fn, strict=strict, **{given: examples})
    whole = traced(mod, inputs.get("forward"))
    for name, examples in inputs.items():
        if name != "forward":
            whole.__dict__[name] = traced(getattr(mod, name), examples)
    return whole


def script_if_tracing(fn: F) -> F:
    """The function itself: a recording follows its loops and branches as it is.

    >>> import whet
    >>> @whet.jit.script_if_tracing
    ... def double(x):
    ...     return x * 2
    >>> double(whet.ones(2))
    tensor([2., 2.])
    """
    return fn


def is_scripting() -> bool:
    """False: no code is scripted.

    >>> import whet
    >>> whet.jit.is_scripting()
    False
    """
    return False


def is_tracing() -> bool:
    """False, also while a run is recorded: PyTorch's tracer keeps numbers of the recorded run for
    good, and programs ask this to avoid that. Recordings here follow them, and go the way that
    eager mode goes, so `compiler.is_compiling` says no as well.

    >>> import whet
    >>> whet.jit.trace(lambda x: x * (3 if whet.jit.is_tracing() else 2))(whet.ones(2))
    tensor([2., 2.])
    """
    return False


for _question in (is_scripting, is_tracing):
    declared_for_tracing.goes_by_no_size(_question)


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """A mark for a script compiler, `@ignore` or `@ignore()`: the function itself.

    >>> import whet
    >>> @whet.jit.ignore
    ... def f(x):
    ...     return x + 1
    >>> f(2)
    3
    """
    return drop if callable(drop) else lambda fn: fn


def unused(fn: F) -> F:
    """A mark for a script compiler: the function itself."""
    return fn


script_method = unused                       # a mark of methods


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


def fork(func: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a function at once, and return a `Future` of its result.

    >>> import whet
    >>> whet.jit.wait(whet.jit.fork(whet.add, whet.ones(2), 1))
    tensor([2., 2.])
    """
    from whet.futures import Future
    made = Future()
    made.set_result(func(*args, **kwargs))
    return made


def wait(future: Any) -> Any:
    """What a future of `fork` holds.

    >>> import whet
    >>> whet.jit.wait(whet.jit.fork(whet.mul, whet.ones(2), 3))
    tensor([3., 3.])
    """
    return future.wait()


def freeze(mod: Any, preserved_attrs: Any = None, optimize_numerics: bool = True) -> Any:
    """The module, which must be in eval mode: parameters are read where they are at each call.
    `whet.export` makes constants of them.

    >>> import whet
    >>> model = whet.nn.Linear(2, 2).eval()
    >>> whet.jit.freeze(model) is model
    True
    """
    if getattr(mod, "training", False):
        raise RuntimeError("Freezing is currently only implemented for modules in eval mode. "
                           "Please call .eval() on your module before freezing.")
    return mod


def optimize_for_inference(mod: Any, other_methods: Any = None) -> Any:
    """The module in eval mode. Traced code is always compiled for the machine that it runs on.

    >>> import whet
    >>> model = whet.nn.Linear(2, 2).eval()
    >>> whet.jit.optimize_for_inference(model) is model
    True
    """
    return freeze(mod.eval() if hasattr(mod, "eval") else mod)


interface = unused                           # a mark of classes


def Attribute(value: Any, type: Any = None) -> Any:
    """The value: its type is for a script compiler.

    >>> import whet
    >>> whet.jit.Attribute(3, int)
    3
    """
    return value


def optimized_execution(should_optimize: bool) -> contextlib.AbstractContextManager[None]:
    """A context that changes nothing: traced code is always compiled.

    >>> import whet
    >>> with whet.jit.optimized_execution(False):
    ...     x = whet.ones(1)
    """
    return contextlib.nullcontext()


def set_fusion_strategy(strategy: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    """PyTorch's choice between kernels for one size and for all, which changes nothing here. Gives
    the one before.

    >>> import whet
    >>> whet.jit.set_fusion_strategy([("STATIC", 2)])
    [('DYNAMIC', 10)]
    """
    return [("DYNAMIC", 10)]


def annotate(the_type: Any, the_value: Any) -> Any:
    """The value: its type is for a script compiler.

    >>> import whet
    >>> whet.jit.annotate(list[int], [1, 2])
    [1, 2]
    """
    return the_value
