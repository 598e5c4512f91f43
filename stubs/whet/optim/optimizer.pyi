# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from typing import Any, Callable, Iterable
from whet.tensor import Tensor
from whet.utils.hooks import RemovableHandle

class Optimizer:
    """Base class: a subclass gives `defaults` and a `step`."""
    defaults: dict[str, Any]
    state: dict[Any, Any]
    param_groups: list[dict[str, Any]]
    def __init__(self, params: Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]], defaults: dict[str, Any]) -> None: ...
    def add_param_group(self, param_group: dict[str, Any]) -> None: """Add parameters with options of their own; missing options are taken from the defaults."""
    def load_state_dict(self, state_dict: dict[str, Any]) -> None: ...
    def register_load_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle: """Call `hook(optimizer)` after loading."""
    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle: """Call `hook(optimizer, state_dict)` before loading; it may return another."""
    def register_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle: """Call `hook(optimizer, state_dict)` after `state_dict`; it may return another."""
    def register_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle: """Call `hook(optimizer)` before `state_dict`."""
    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle: """Call `hook(optimizer, args, kwargs)` after each step."""
    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle: ...
    def state_dict(self) -> dict[str, Any]: """`{"state": {number: ...}, "param_groups": [...]}`, with parameters replaced by their numbers."""
    def step(self, closure: Callable[[], Any] | None = None) -> Any: """One update of the parameters; `closure` computes the loss again and returns it."""
    def zero_grad(self, set_to_none: bool = True) -> None: """Drop (or zero) the gradients of all parameters."""
