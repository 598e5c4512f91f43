# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Callable, ParamSpec, TypeVar
from whet.nn.module import Module
from whet.random import Generator
from whet.tensor import Tensor

R = TypeVar("R")

default_generator: Generator
def check_backward_validity(inputs: Tensor | Sequence[Tensor]) -> None: """Warn where no tensor among the inputs requires a gradient."""
def checkpoint(function: Callable[..., R], *args: Any, use_reentrant: bool | None = None, context_fn: Callable[..., Any] | None = None, determinism_check: str = 'default', debug: bool = False, preserve_rng_state: bool = True, **kwargs: Any) -> R: """function(*args), keeping no intermediate results; they are computed again in the backward."""
def checkpoint_sequential(functions: Module | Sequence[Callable[..., Any]], segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any) -> Any: """Run a sequence of functions in `segments` checkpointed parts."""
def detach_variable(inputs: Tensor | Sequence[Tensor]) -> tuple[Any, ...]: """The same values, tensors among them without their history. They require gradients where they did."""
def get_device_states(*args: Any) -> tuple[list[int], list[Tensor]]: ...
def noop_context_fn() -> tuple[AbstractContextManager[None], AbstractContextManager[None]]: """What `context_fn` gives where none is given: nothing is in effect in either run."""
def set_checkpoint_early_stop(enable: bool) -> AbstractContextManager[None]: ...
def set_device_states(devices: Sequence[int], states: Sequence[Tensor], *, device_type: str | None = None) -> None: """Let the generators of devices go on from such states."""

class CheckpointError(RuntimeError):
    """A checkpointed function did not do the same when it was run again."""
