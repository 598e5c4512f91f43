# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from collections.abc import Mapping, Sequence
from typing import Any, Callable, ParamSpec, TypeVar, overload
from whet.jit.guards.sizes import Dim as Dim
from whet.jit.errors import TraceError as TraceError
from whet.jit.errors import TraceWarning as TraceWarning
from whet.jit.trace import Traced as Traced
from whet.jit.dispatch.switch import disable as disable

P = ParamSpec("P")
R = TypeVar("R")

@overload
def trace(fn: Callable[P, R], example_inputs: Any = None, *, strict: bool = False, verify: str = 'sample', rewrites: Sequence[str] = (), dynamic: bool | Mapping[str, Mapping[int, Dim | str]] | None = None) -> Traced[P, R]: ...
@overload
def trace(fn: None = None, example_inputs: Any = None, *, strict: bool = False, verify: str = 'sample', rewrites: Sequence[str] = (), dynamic: bool | Mapping[str, Mapping[int, Dim | str]] | None = None) -> Callable[[Callable[P, R]], Traced[P, R]]: ...
