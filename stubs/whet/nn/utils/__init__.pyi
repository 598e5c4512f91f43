# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from typing import Any, Callable, Iterable, ParamSpec, TypeVar
from whet.nn.module import Module
from whet.nn.parameter import Parameter
from whet.tensor import Tensor
from whet.types import MemoryFormat
from whet.nn.utils import rnn as rnn
from whet.nn.utils import parametrize as parametrize
from whet.nn.utils import parametrizations as parametrizations
from whet.nn.utils import prune as prune
from whet.nn.utils import stateless as stateless

M = TypeVar("M", bound=Module)

def clip_grad_norm(parameters: Tensor | Iterable[Tensor], max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None) -> Tensor: """`clip_grad_norm_` under its older name."""
def clip_grad_norm_(parameters: Tensor | Iterable[Tensor], max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None) -> Tensor: """Scale the gradients so that their norm, taken together, is at most `max_norm`; returns what it was."""
def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None) -> None: """Clamp every element of the gradients to [-clip_value, clip_value]."""
def clip_grads_with_norm_(parameters: Tensor | Iterable[Tensor], max_norm: float, total_norm: Tensor, foreach: bool | None = None) -> None: """Scale the gradients by max_norm / total_norm where that is below 1."""
def convert_conv2d_weight_memory_format(module: Module, memory_format: MemoryFormat) -> Module: """Lay the weights of all two-dimensional convolutions of a module so; the module."""
def convert_conv3d_weight_memory_format(module: Module, memory_format: MemoryFormat) -> Module: """Lay the weights of all three-dimensional convolutions of a module so; the module."""
def fuse_conv_bn_eval(conv: Module, bn: Module, transpose: bool = False) -> Module: """A copy of the convolution with the batch norm folded in; both must be in eval mode."""
def fuse_conv_bn_weights(conv_w: Tensor, conv_b: Tensor | None, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float, bn_w: Tensor | None, bn_b: Tensor | None, transpose: bool = False) -> tuple[Parameter, Parameter]: """Weight and bias of a convolution that does what it and the batch norm did."""
def fuse_linear_bn_eval(linear: Module, bn: Module) -> Module: """A copy of the linear layer with the batch norm folded in; both must be in eval mode."""
def fuse_linear_bn_weights(linear_w: Tensor, linear_b: Tensor | None, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float, bn_w: Tensor, bn_b: Tensor) -> tuple[Parameter, Parameter]: """Weight and bias of a linear layer that does what it and the batch norm did."""
def get_total_norm(tensors: Tensor | Iterable[Tensor], norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None) -> Tensor: """The norm of all elements of all tensors."""
def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor: """All elements of the parameters, one after the other."""
def remove_spectral_norm(module: M, name: str = 'weight') -> M: """Undo `spectral_norm`."""
def remove_weight_norm(module: M, name: str = 'weight') -> M: """Undo `weight_norm`."""
def skip_init(module_cls: Callable[..., M], *args: Any, **kwargs: Any) -> M: """A module whose parameters hold whatever lay in memory: for one whose values are loaded."""
def spectral_norm(module: M, name: str = 'weight', n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None) -> M: ...
def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None: """Give the parameters new memory: slices of the vector."""
def weight_norm(module: M, name: str = 'weight', dim: int = 0) -> M: ...
