# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from collections.abc import Sequence
from typing import Any
from whet.nn.module import Module
from whet.tensor import Tensor
from whet.types import Ints, Shape

class FractionalMaxPool2d(Module):
    """A max pool over pseudo-random windows."""
    kernel_size: Ints
    output_size: Ints | None
    output_ratio: float | Sequence[float] | None
    return_indices: bool
    def __init__(self, kernel_size: Ints, output_size: Ints | None = None, output_ratio: float | Sequence[float] | None = None, return_indices: bool = False, _random_samples: Tensor | None = None) -> None: ...
    def extra_repr(self) -> str: """What stands between the parentheses when the module is printed."""
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class FractionalMaxPool3d(Module):
    """A max pool over pseudo-random windows."""
    kernel_size: Ints
    output_size: Ints | None
    output_ratio: float | Sequence[float] | None
    return_indices: bool
    def __init__(self, kernel_size: Ints, output_size: Ints | None = None, output_ratio: float | Sequence[float] | None = None, return_indices: bool = False, _random_samples: Tensor | None = None) -> None: ...
    def extra_repr(self) -> str: """What stands between the parentheses when the module is printed."""
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class AdaptiveAvgPool1d(Module):
    """An average pool whose windows are chosen to give `output_size`."""
    output_size: int | Sequence[int | None] | None
    def __init__(self, output_size: int | Sequence[int | None] | None) -> None: ...
    def extra_repr(self) -> str: """What stands between the parentheses when the module is printed."""
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class AdaptiveAvgPool2d(Module):
    """An average pool whose windows are chosen to give `output_size`."""
    output_size: int | Sequence[int | None] | None
    def __init__(self, output_size: int | Sequence[int | None] | None) -> None: ...
    def extra_repr(self) -> str: """What stands between the parentheses when the module is printed."""
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class AdaptiveAvgPool3d(Module):
    """An average pool whose windows are chosen to give `output_size`."""
    output_size: int | Sequence[int | None] | None
    def __init__(self, output_size: int | Sequence[int | None] | None) -> None: ...
    def extra_repr(self) -> str: """What stands between the parentheses when the module is printed."""
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class AdaptiveMaxPool1d(Module):
    """A max pool whose windows are chosen to give `output_size`."""
    output_size: int | Sequence[int | None] | None
    return_indices: bool
    def __init__(self, output_size: int | Sequence[int | None] | None, return_indices: bool = False) -> None: ...
    def extra_repr(self) -> str: """What stands between the parentheses when the module is printed."""
    def forward(self, input: Tensor) -> Any: ...
    def __call__(self, input: Tensor) -> Any: ...

class AdaptiveMaxPool2d(Module):
    """A max pool whose windows are chosen to give `output_size`."""
    output_size: int | Sequence[int | None] | None
    return_indices: bool
    def __init__(self, output_size: int | Sequence[int | None] | None, return_indices: bool = False) -> None: ...
    def extra_repr(self) -> str: """What stands between the parentheses when the module is printed."""
    def forward(self, input: Tensor) -> Any: ...
    def __call__(self, input: Tensor) -> Any: ...

class AdaptiveMaxPool3d(Module):
    """A max pool whose windows are chosen to give `output_size`."""
    output_size: int | Sequence[int | None] | None
    return_indices: bool
    def __init__(self, output_size: int | Sequence[int | None] | None, return_indices: bool = False) -> None: ...
    def extra_repr(self) -> str: """What stands between the parentheses when the module is printed."""
    def forward(self, input: Tensor) -> Any: ...
    def __call__(self, input: Tensor) -> Any: ...

class LPPool1d(Module):
    """The p-norm of each window."""
    norm_type: float
    kernel_size: Ints
    stride: Ints | None
    ceil_mode: bool
    def __init__(self, norm_type: float, kernel_size: Ints, stride: Ints | None = None, ceil_mode: bool = False) -> None: ...
    def extra_repr(self) -> str: """What stands between the parentheses when the module is printed."""
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class LPPool2d(Module):
    """The p-norm of each window."""
    norm_type: float
    kernel_size: Ints
    stride: Ints | None
    ceil_mode: bool
    def __init__(self, norm_type: float, kernel_size: Ints, stride: Ints | None = None, ceil_mode: bool = False) -> None: ...
    def extra_repr(self) -> str: """What stands between the parentheses when the module is printed."""
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class LPPool3d(Module):
    """The p-norm of each window."""
    norm_type: float
    kernel_size: Ints
    stride: Ints | None
    ceil_mode: bool
    def __init__(self, norm_type: float, kernel_size: Ints, stride: Ints | None = None, ceil_mode: bool = False) -> None: ...
    def extra_repr(self) -> str: """What stands between the parentheses when the module is printed."""
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class AvgPool1d(Module):
    """The mean of each window."""
    kernel_size: Ints
    stride: Ints | None
    padding: Ints
    ceil_mode: bool
    count_include_pad: bool
    def __init__(self, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0, ceil_mode: bool = False, count_include_pad: bool = True) -> None: ...
    def extra_repr(self) -> str: """What stands between the parentheses when the module is printed."""
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class AvgPool2d(Module):
    """The mean of each window."""
    kernel_size: Ints
    stride: Ints | None
    padding: Ints
    ceil_mode: bool
    count_include_pad: bool
    divisor_override: int | None
    def __init__(self, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0, ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None) -> None: ...
    def extra_repr(self) -> str: """What stands between the parentheses when the module is printed."""
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class AvgPool3d(Module):
    """The mean of each window."""
    kernel_size: Ints
    stride: Ints | None
    padding: Ints
    ceil_mode: bool
    count_include_pad: bool
    divisor_override: int | None
    def __init__(self, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0, ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None) -> None: ...
    def extra_repr(self) -> str: """What stands between the parentheses when the module is printed."""
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class MaxPool1d(Module):
    """The largest value of each window."""
    kernel_size: Ints
    stride: Ints | None
    padding: Ints
    dilation: Ints
    return_indices: bool
    ceil_mode: bool
    def __init__(self, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0, dilation: Ints = 1, return_indices: bool = False, ceil_mode: bool = False) -> None: ...
    def extra_repr(self) -> str: """What stands between the parentheses when the module is printed."""
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class MaxPool2d(Module):
    """The largest value of each window."""
    kernel_size: Ints
    stride: Ints | None
    padding: Ints
    dilation: Ints
    return_indices: bool
    ceil_mode: bool
    def __init__(self, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0, dilation: Ints = 1, return_indices: bool = False, ceil_mode: bool = False) -> None: ...
    def extra_repr(self) -> str: """What stands between the parentheses when the module is printed."""
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class MaxPool3d(Module):
    """The largest value of each window."""
    kernel_size: Ints
    stride: Ints | None
    padding: Ints
    dilation: Ints
    return_indices: bool
    ceil_mode: bool
    def __init__(self, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0, dilation: Ints = 1, return_indices: bool = False, ceil_mode: bool = False) -> None: ...
    def extra_repr(self) -> str: """What stands between the parentheses when the module is printed."""
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class MaxUnpool1d(Module):
    """Puts the values of a max pool back where they came from, zero elsewhere."""
    kernel_size: Ints
    stride: Ints | None
    padding: Ints
    def __init__(self, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0) -> None: ...
    def extra_repr(self) -> str: """What stands between the parentheses when the module is printed."""
    def forward(self, input: Tensor, indices: Tensor, output_size: Shape | None = None) -> Tensor: ...
    def __call__(self, input: Tensor, indices: Tensor, output_size: Shape | None = None) -> Tensor: ...

class MaxUnpool2d(Module):
    """Puts the values of a max pool back where they came from, zero elsewhere."""
    kernel_size: Ints
    stride: Ints | None
    padding: Ints
    def __init__(self, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0) -> None: ...
    def extra_repr(self) -> str: """What stands between the parentheses when the module is printed."""
    def forward(self, input: Tensor, indices: Tensor, output_size: Shape | None = None) -> Tensor: ...
    def __call__(self, input: Tensor, indices: Tensor, output_size: Shape | None = None) -> Tensor: ...

class MaxUnpool3d(Module):
    """Puts the values of a max pool back where they came from, zero elsewhere."""
    kernel_size: Ints
    stride: Ints | None
    padding: Ints
    def __init__(self, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0) -> None: ...
    def extra_repr(self) -> str: """What stands between the parentheses when the module is printed."""
    def forward(self, input: Tensor, indices: Tensor, output_size: Shape | None = None) -> Tensor: ...
    def __call__(self, input: Tensor, indices: Tensor, output_size: Shape | None = None) -> Tensor: ...
