# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from collections.abc import Mapping
from typing import Any, Callable, Iterator, Self
from whet.dtypes import dtype
from whet.nn.parameter import Parameter
from whet.tensor import Tensor
from whet.types import Device, Dims
from whet.utils.hooks import RemovableHandle

class Module:
    training: bool
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def add_module(self, name: str, module: Module | None) -> None: """Add a submodule (or None)."""
    def apply(self, fn: Callable[[Module], Any]) -> Self: """Call `fn(module)` on every submodule, then on this one."""
    def bfloat16(self) -> Self: """Floating-point parameters and buffers to bfloat16."""
    def buffers(self, recurse: bool = True) -> Iterator[Tensor]: """The buffers, each once."""
    def children(self) -> Iterator[Module]: """The direct submodules, each once."""
    def compile(self, *args: Any, **kwargs: Any) -> None: """Let `whet.compile`, with these arguments, make the module's `forward`."""
    def cpu(self) -> Self: """Everything to the CPU."""
    def cuda(self, device: Device | None = None) -> Self: """Everything to a GPU."""
    def double(self) -> Self: """Floating-point parameters and buffers to float64."""
    def eval(self) -> Self: """Training mode off."""
    def extra_repr(self) -> str: """What stands between the parentheses when the module is printed."""
    def float(self) -> Self: """Floating-point parameters and buffers to float32."""
    def forward(self, *args: Any, **kwargs: Any) -> Any: ...
    def get_buffer(self, target: str) -> Tensor: """The buffer at a dotted path."""
    def get_extra_state(self) -> Any: """Override (with `set_extra_state`) to keep more than tensors in the state_dict."""
    def get_parameter(self, target: str) -> Parameter: """The parameter at a dotted path."""
    def get_submodule(self, target: str) -> Module: """The submodule at a dotted path, e.g. `"encoder.layers.0"`."""
    def half(self) -> Self: """Floating-point parameters and buffers to float16."""
    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any: ...
    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]: """This module and all below it, each once, unless `remove_duplicate` is False."""
    def named_buffers(self, prefix: str = '', recurse: bool = True, remove_duplicate: bool = True) -> Iterator[tuple[str, Tensor]]: """Pairs of (dotted name, buffer)."""
    def named_children(self) -> Iterator[tuple[str, Module]]: """Pairs of (name, direct submodule), each submodule once."""
    def named_modules(self, memo: set[Module] | None = None, prefix: str = '', remove_duplicate: bool = True) -> Iterator[tuple[str, Module]]: """Pairs of (dotted name, module), this module first."""
    def named_parameters(self, prefix: str = '', recurse: bool = True, remove_duplicate: bool = True) -> Iterator[tuple[str, Parameter]]: """Pairs of (dotted name, parameter)."""
    def parameters(self, recurse: bool = True) -> Iterator[Parameter]: """The parameters, each once."""
    def register_backward_hook(self, hook: Callable[..., Any]) -> RemovableHandle: ...
    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None: """Add a tensor that is state but not trained; `persistent=False` keeps it out of the state_dict."""
    def register_forward_hook(self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False) -> RemovableHandle: """Call `hook(module, args, output)` after every `forward`; it may return a new output."""
    def register_forward_pre_hook(self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False) -> RemovableHandle: """Call `hook(module, args)` before every `forward`; it may return new arguments."""
    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle: ...
    def register_full_backward_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle: """Call `hook(module, grad_output)` before the module's gradients are computed; it may return new ones."""
    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle: ...
    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle: ...
    def register_module(self, name: str, module: Module | None) -> None: """Add a submodule (or None)."""
    def register_parameter(self, name: str, param: Parameter | None) -> None: """Add a parameter (or None: a place for one)."""
    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle: ...
    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle: """Call `hook(module, prefix, keep_vars)` before `state_dict` is filled."""
    def requires_grad_(self, requires_grad: bool = True) -> Self: """Whether autograd records operations on the parameters."""
    def set_extra_state(self, state: Any) -> Any: """The counterpart of `get_extra_state`."""
    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None: """Put a module at a dotted path."""
    def share_memory(self) -> Self: """Everything to memory that other processes can see."""
    def show(self, *args: Any, path: str | None = None, **kwargs: Any) -> str: ...
    def state_dict(self, *args: Any, destination: Dims | None = None, prefix: str = '', keep_vars: bool = False) -> dict[str, Any]: ...
    def to(self, *args: Any, **kwargs: Any) -> Self: ...
    def to_empty(self, *, device: Device, recurse: bool = True) -> Self: """Everything to a device, with uninitialised memory."""
    def train(self, mode: bool = True) -> Self: """Training mode on or off, here and below."""
    def type(self, dst_type: dtype | str) -> Self: """All parameters and buffers to one dtype."""
    def zero_grad(self, set_to_none: bool = True) -> None: """Drop (or zero) the parameters' gradients."""
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def __getattr__(self, name: str) -> Any: ...
    def __setattr__(self, name: str, value: Any) -> None: ...
