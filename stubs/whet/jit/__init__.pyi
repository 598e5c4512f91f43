# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Callable, ParamSpec, TypeVar, overload
from whet.jit.guards.sizes import Dim as Dim
from whet.jit.errors import TraceError as TraceError
from whet.jit.errors import TraceWarning as TraceWarning
from whet.jit.trace import Traced as Traced
from whet.jit.dispatch.switch import disable as disable

F = TypeVar("F", bound=Callable[..., Any])
P = ParamSpec("P")
R = TypeVar("R")

def Attribute(value: Any, type: Any = None) -> Any: """The value: its type is for a script compiler."""
def annotate(the_type: Any, the_value: Any) -> Any: """The value: its type is for a script compiler."""
def fork(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any: """Call a function at once, and return a `Future` of its result."""
def freeze(mod: F, preserved_attrs: Sequence[str] | None = None, optimize_numerics: bool = True) -> F: """The module, which must be in eval mode: parameters are read where they are at each call."""
@overload
def ignore(drop: F, **kwargs: Any) -> F: """A mark for a script compiler, `@ignore` or `@ignore()`: the function itself."""
@overload
def ignore(drop: bool = False, **kwargs: Any) -> Callable[[F], F]: """A mark for a script compiler, `@ignore` or `@ignore()`: the function itself."""
def interface(fn: F) -> F: """A mark for a script compiler: the function itself."""
def is_scripting() -> bool: """False: no code is scripted."""
def is_tracing() -> bool: ...
def load(f: str | PathLike[str] | Any, map_location: Any = None, _extra_files: Any = None) -> Any: """The function in an archive that `save` wrote."""
def optimize_for_inference(mod: F, other_methods: Sequence[str] | None = None) -> F: """The module in eval mode. Traced code is always compiled for the machine that it runs on."""
def save(m: int, f: str | PathLike[str] | Any, _extra_files: Any = None) -> None: """Write a traced or exported function into an archive, a path or a binary file."""
def script(obj: F, optimize: Any = None, _frames_up: int = 0, _rcb: Any = None, example_inputs: Any = None) -> F: """`trace` of a function or a module, whose Python need not be TorchScript."""
def script_if_tracing(fn: F) -> F: """The function itself: a recording follows its loops and branches as it is."""
@overload
def trace(fn: Callable[P, R], example_inputs: Any = None, *, strict: bool = False, verify: str = 'sample', rewrites: Sequence[str] = (), dynamic: bool | Mapping[str, Mapping[int, Dim | str]] | None = None, example_kwarg_inputs: Mapping[str, Any] | None = None, check_trace: bool = True, check_inputs: Any = None, check_tolerance: float = 1e-05) -> Traced[P, R]: ...
@overload
def trace(fn: None = None, example_inputs: Any = None, *, strict: bool = False, verify: str = 'sample', rewrites: Sequence[str] = (), dynamic: bool | Mapping[str, Mapping[int, Dim | str]] | None = None, example_kwarg_inputs: Mapping[str, Any] | None = None, check_trace: bool = True, check_inputs: Any = None, check_tolerance: float = 1e-05) -> Callable[[Callable[P, R]], Traced[P, R]]: ...
def trace_module(mod: F, inputs: Mapping[str, Any], optimize: Any = None, check_trace: bool = True, check_inputs: Any = None, check_tolerance: float = 1e-05, strict: bool = False, example_inputs_is_kwarg: bool = False) -> F: ...
def unused(fn: F) -> F: """A mark for a script compiler: the function itself."""
def wait(future: Any) -> Any: """What a future of `fork` holds."""
