# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from collections.abc import Sequence
from typing import Any, Callable, ParamSpec, TypeVar, overload

F = TypeVar("F", bound=Callable[..., Any])

def allow_in_graph(fn: Callable[..., Any]) -> Any: """A mark for a compiler: the function itself."""
def assume_constant_result(fn: Callable[..., Any]) -> Any: """A mark for a compiler: the function itself."""
@overload
def compile(model: F, *, fullgraph: bool = False, dynamic: bool | None = None, backend: str | Callable[..., Any] = 'inductor', mode: str | None = None, options: Any = None, name: str | None = None, disable: bool = False, recompile_limit: int | None = None, isolate_recompiles: bool = False, shapes_spec: Any = None) -> F: """`whet.jit.trace` of a function or module."""
@overload
def compile(model: None = None, *, fullgraph: bool = False, dynamic: bool | None = None, backend: str | Callable[..., Any] = 'inductor', mode: str | None = None, options: Any = None, name: str | None = None, disable: bool = False, recompile_limit: int | None = None, isolate_recompiles: bool = False, shapes_spec: Any = None) -> Callable[[F], F]: """`whet.jit.trace` of a function or module."""
def cudagraph_mark_step_begin() -> None: """Nothing: launches are recorded without graphs of CUDA's."""
def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any: """A function that is not recorded: here any may be, so it is the function itself."""
def is_compiling() -> bool: """False, as in eager mode: what a traced function does must not depend on its being traced."""
def is_dynamo_compiling() -> bool: """False, as in eager mode: what a traced function does must not depend on its being traced."""
def is_exporting() -> bool: """Is this run one that `whet.export` makes? Programs ask, to leave out what depends on data."""
def list_backends(exclude_tags: Sequence[str] = ...) -> list[str]: """The names of compilers: there is one, and other names lead to it."""
def reset() -> None: """Forget what was compiled: recordings go with their functions, so there is nothing to do."""

class set_stance:
    def __init__(self, stance: str = 'default', *, skip_guard_eval_unsafe: bool = False, force_backend: Any = None) -> None: ...
