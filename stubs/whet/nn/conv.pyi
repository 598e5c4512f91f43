# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from typing import Any
from whet.dtypes import dtype
from whet.nn.module import Module
from whet.nn.parameter import Parameter
from whet.tensor import Tensor
from whet.types import Device, Ints, Shape

class Conv1d(Module):
    """Cross-correlation over (N, C, L)."""
    in_channels: int
    out_channels: int
    kernel_size: Ints
    stride: Ints
    dilation: Ints
    padding: Ints | str
    output_padding: Any
    groups: int
    padding_mode: str
    weight: Parameter
    bias: Parameter | None
    def __init__(self, in_channels: int, out_channels: int, kernel_size: Ints, stride: Ints = 1, padding: Ints | str = 0, dilation: Ints = 1, groups: int = 1, bias: bool = True, padding_mode: str = 'zeros', device: Device | None = None, dtype: dtype | None = None) -> None: ...
    def extra_repr(self) -> str: """What stands between the parentheses when the module is printed."""
    def forward(self, input: Tensor) -> Tensor: ...
    def reset_parameters(self) -> None: """Weight and bias uniform within 1 / sqrt(fan_in)."""
    transposed: bool
    def __call__(self, input: Tensor) -> Tensor: ...

class Conv2d(Module):
    """Cross-correlation over (N, C, H, W)."""
    in_channels: int
    out_channels: int
    kernel_size: Ints
    stride: Ints
    dilation: Ints
    padding: Ints | str
    output_padding: Any
    groups: int
    padding_mode: str
    weight: Parameter
    bias: Parameter | None
    def __init__(self, in_channels: int, out_channels: int, kernel_size: Ints, stride: Ints = 1, padding: Ints | str = 0, dilation: Ints = 1, groups: int = 1, bias: bool = True, padding_mode: str = 'zeros', device: Device | None = None, dtype: dtype | None = None) -> None: ...
    def extra_repr(self) -> str: """What stands between the parentheses when the module is printed."""
    def forward(self, input: Tensor) -> Tensor: ...
    def reset_parameters(self) -> None: """Weight and bias uniform within 1 / sqrt(fan_in)."""
    transposed: bool
    def __call__(self, input: Tensor) -> Tensor: ...

class Conv3d(Module):
    """Cross-correlation over (N, C, D, H, W)."""
    in_channels: int
    out_channels: int
    kernel_size: Ints
    stride: Ints
    dilation: Ints
    padding: Ints | str
    output_padding: Any
    groups: int
    padding_mode: str
    weight: Parameter
    bias: Parameter | None
    def __init__(self, in_channels: int, out_channels: int, kernel_size: Ints, stride: Ints = 1, padding: Ints | str = 0, dilation: Ints = 1, groups: int = 1, bias: bool = True, padding_mode: str = 'zeros', device: Device | None = None, dtype: dtype | None = None) -> None: ...
    def extra_repr(self) -> str: """What stands between the parentheses when the module is printed."""
    def forward(self, input: Tensor) -> Tensor: ...
    def reset_parameters(self) -> None: """Weight and bias uniform within 1 / sqrt(fan_in)."""
    transposed: bool
    def __call__(self, input: Tensor) -> Tensor: ...

class ConvTranspose1d(Module):
    """The gradient of Conv1d with respect to its input, as a layer."""
    in_channels: int
    out_channels: int
    kernel_size: Ints
    stride: Ints
    dilation: Ints
    padding: Ints
    output_padding: Ints
    groups: int
    padding_mode: str
    weight: Parameter
    bias: Parameter | None
    def __init__(self, in_channels: int, out_channels: int, kernel_size: Ints, stride: Ints = 1, padding: Ints = 0, output_padding: Ints = 0, groups: int = 1, bias: bool = True, dilation: Ints = 1, padding_mode: str = 'zeros', device: Device | None = None, dtype: dtype | None = None) -> None: ...
    def extra_repr(self) -> str: """What stands between the parentheses when the module is printed."""
    def forward(self, input: Tensor, output_size: Shape | None = None) -> Tensor: ...
    def reset_parameters(self) -> None: """Weight and bias uniform within 1 / sqrt(fan_in)."""
    transposed: bool
    def __call__(self, input: Tensor, output_size: Shape | None = None) -> Tensor: ...

class ConvTranspose2d(Module):
    """The gradient of Conv2d with respect to its input, as a layer."""
    in_channels: int
    out_channels: int
    kernel_size: Ints
    stride: Ints
    dilation: Ints
    padding: Ints
    output_padding: Ints
    groups: int
    padding_mode: str
    weight: Parameter
    bias: Parameter | None
    def __init__(self, in_channels: int, out_channels: int, kernel_size: Ints, stride: Ints = 1, padding: Ints = 0, output_padding: Ints = 0, groups: int = 1, bias: bool = True, dilation: Ints = 1, padding_mode: str = 'zeros', device: Device | None = None, dtype: dtype | None = None) -> None: ...
    def extra_repr(self) -> str: """What stands between the parentheses when the module is printed."""
    def forward(self, input: Tensor, output_size: Shape | None = None) -> Tensor: ...
    def reset_parameters(self) -> None: """Weight and bias uniform within 1 / sqrt(fan_in)."""
    transposed: bool
    def __call__(self, input: Tensor, output_size: Shape | None = None) -> Tensor: ...

class ConvTranspose3d(Module):
    """The gradient of Conv3d with respect to its input, as a layer."""
    in_channels: int
    out_channels: int
    kernel_size: Ints
    stride: Ints
    dilation: Ints
    padding: Ints
    output_padding: Ints
    groups: int
    padding_mode: str
    weight: Parameter
    bias: Parameter | None
    def __init__(self, in_channels: int, out_channels: int, kernel_size: Ints, stride: Ints = 1, padding: Ints = 0, output_padding: Ints = 0, groups: int = 1, bias: bool = True, dilation: Ints = 1, padding_mode: str = 'zeros', device: Device | None = None, dtype: dtype | None = None) -> None: ...
    def extra_repr(self) -> str: """What stands between the parentheses when the module is printed."""
    def forward(self, input: Tensor, output_size: Shape | None = None) -> Tensor: ...
    def reset_parameters(self) -> None: """Weight and bias uniform within 1 / sqrt(fan_in)."""
    transposed: bool
    def __call__(self, input: Tensor, output_size: Shape | None = None) -> Tensor: ...

class LazyConv1d(Conv1d):
    """Conv1d whose `in_channels` is taken from its first input."""
    def __init__(self, out_channels: int, kernel_size: Ints, stride: Ints = 1, padding: Ints | str = 0, dilation: Ints = 1, groups: int = 1, bias: bool = True, padding_mode: str = 'zeros', device: Device | None = None, dtype: dtype | None = None) -> None: ...
    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None: """Take the shape from the first input."""
    def reset_parameters(self) -> None: ...

class LazyConv2d(Conv2d):
    """Conv2d whose `in_channels` is taken from its first input."""
    def __init__(self, out_channels: int, kernel_size: Ints, stride: Ints = 1, padding: Ints | str = 0, dilation: Ints = 1, groups: int = 1, bias: bool = True, padding_mode: str = 'zeros', device: Device | None = None, dtype: dtype | None = None) -> None: ...
    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None: """Take the shape from the first input."""
    def reset_parameters(self) -> None: ...

class LazyConv3d(Conv3d):
    """Conv3d whose `in_channels` is taken from its first input."""
    def __init__(self, out_channels: int, kernel_size: Ints, stride: Ints = 1, padding: Ints | str = 0, dilation: Ints = 1, groups: int = 1, bias: bool = True, padding_mode: str = 'zeros', device: Device | None = None, dtype: dtype | None = None) -> None: ...
    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None: """Take the shape from the first input."""
    def reset_parameters(self) -> None: ...

class LazyConvTranspose1d(ConvTranspose1d):
    """ConvTranspose1d whose `in_channels` is taken from its first input."""
    def __init__(self, out_channels: int, kernel_size: Ints, stride: Ints = 1, padding: Ints = 0, output_padding: Ints = 0, groups: int = 1, bias: bool = True, dilation: Ints = 1, padding_mode: str = 'zeros', device: Device | None = None, dtype: dtype | None = None) -> None: ...
    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None: """Take the shape from the first input."""
    def reset_parameters(self) -> None: ...

class LazyConvTranspose2d(ConvTranspose2d):
    """ConvTranspose2d whose `in_channels` is taken from its first input."""
    def __init__(self, out_channels: int, kernel_size: Ints, stride: Ints = 1, padding: Ints = 0, output_padding: Ints = 0, groups: int = 1, bias: bool = True, dilation: Ints = 1, padding_mode: str = 'zeros', device: Device | None = None, dtype: dtype | None = None) -> None: ...
    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None: """Take the shape from the first input."""
    def reset_parameters(self) -> None: ...

class LazyConvTranspose3d(ConvTranspose3d):
    """ConvTranspose3d whose `in_channels` is taken from its first input."""
    def __init__(self, out_channels: int, kernel_size: Ints, stride: Ints = 1, padding: Ints = 0, output_padding: Ints = 0, groups: int = 1, bias: bool = True, dilation: Ints = 1, padding_mode: str = 'zeros', device: Device | None = None, dtype: dtype | None = None) -> None: ...
    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None: """Take the shape from the first input."""
    def reset_parameters(self) -> None: ...
