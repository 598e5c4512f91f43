# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from typing import Any
from whet.dtypes import dtype
from whet.nn.module import Module
from whet.nn.parameter import Parameter
from whet.tensor import Tensor
from whet.types import Device

class Bilinear(Module):
    """x1 @ weight[k] @ x2 + bias[k] for each output feature k."""
    in1_features: int
    in2_features: int
    out_features: int
    weight: Parameter
    bias: Parameter | None
    def __init__(self, in1_features: int, in2_features: int, out_features: int, bias: bool = True, device: Device | None = None, dtype: dtype | None = None) -> None: ...
    def extra_repr(self) -> str: """What stands between the parentheses when the module is printed."""
    def forward(self, input1: Tensor, input2: Tensor) -> Tensor: ...
    def reset_parameters(self) -> None: """Weight and bias uniform within 1 / sqrt(in1_features)."""
    def __call__(self, input1: Tensor, input2: Tensor) -> Tensor: ...

class Identity(Module):
    """Its input; any arguments are accepted and ignored."""
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class Linear(Module):
    """x @ weight.T + bias"""
    in_features: int
    out_features: int
    weight: Parameter
    bias: Parameter | None
    def __init__(self, in_features: int, out_features: int, bias: bool = True, device: Device | None = None, dtype: dtype | None = None) -> None: ...
    def extra_repr(self) -> str: """What stands between the parentheses when the module is printed."""
    def forward(self, input: Tensor) -> Tensor: ...
    def reset_parameters(self) -> None: """Weight and bias uniform within 1 / sqrt(in_features)."""
    def __call__(self, input: Tensor) -> Tensor: ...

class LazyLinear(Linear):
    """A Linear that learns `in_features` from its first input."""
    def __init__(self, out_features: int, bias: bool = True, device: Device | None = None, dtype: dtype | None = None) -> None: ...
    def initialize_parameters(self, input: Tensor) -> None: """Take the shape from the first input."""
    def reset_parameters(self) -> None: """Weight and bias uniform within 1 / sqrt(in_features)."""
