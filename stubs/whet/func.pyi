# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from typing import Any, Callable, Iterable, ParamSpec, TypeVar
from whet.nn.module import Module
from whet.tensor import Tensor

P = ParamSpec("P")
R = TypeVar("R")

def batch(func: Callable[..., R]) -> Callable[..., list[R]]: """A function of many examples: `func` of each, where equal ops of all are run at once."""
def cell(func: Callable[P, R]) -> Callable[P, R]: ...
def debug_unwrap(tensor: Tensor, *, recurse: bool = True) -> Tensor: ...
def functional_call(module: Module, parameter_and_buffer_dicts: Any, args: Any = None, kwargs: Any = None, *, tie_weights: bool = True, strict: bool = False) -> Any: """`module(*args, **kwargs)` with the given tensors, by name, in place of its parameters and buffers."""
def functionalize(func: Callable[..., Any], *, remove: str = 'mutations') -> Callable[..., Any]: """A function that means the same as `func`, and may be recorded without writes in place."""
def grad(func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Callable[..., Any]: ...
def grad_and_value(func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Callable[..., Any]: ...
def hessian(func: Callable[..., Any], argnums: int | tuple[int, ...] = 0) -> Callable[..., Any]: """A function that computes the second derivatives of `func`."""
def jacfwd(func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False, *, randomness: str = 'error', chunk_size: int | None = None) -> Callable[..., Any]: """As `jacrev`, by forward mode along all elements of the input at once: for functions of few numbers."""
def jacrev(func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, *, has_aux: bool = False, chunk_size: int | None = None, _preallocate_and_copy: bool = False) -> Callable[..., Any]: ...
def jvp(func: Callable[..., Any], primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False) -> Any: """(func(*primals), its derivative in the direction of the tangents)"""
def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]: """(func(*primals), the function that takes tangents of the primals to the output's)"""
def rearrange(tensor: Tensor, pattern: str, **axes_lengths: int) -> Tensor: """A tensor with its dimensions as a pattern says: `"b c h w -> b (c h) w"` joins two of them."""
def replace_all_batch_norm_modules_(root: Module) -> Module: ...
def stack_module_state(models: Iterable[Module]) -> tuple[dict[str, Tensor], dict[str, Tensor]]: ...
def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any: """(func(*primals), a function that takes a cotangent of the output to those of the primals)"""
def vmap(func: Callable[..., R], in_dims: Any = 0, out_dims: Any = 0, randomness: str = 'error', *, chunk_size: int | None = None) -> Callable[..., R]: """`func` for every slice of its arguments along `in_dims`, the results stacked along `out_dims`."""
