# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from collections.abc import Sequence
from whet.nn.module import Module
from whet.tensor import Tensor
from whet.types import Dims, Ints, Shape

class Flatten(Module):
    """Dimensions start_dim..end_dim as one."""
    start_dim: int
    end_dim: int
    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None: ...
    def extra_repr(self) -> str: """What stands between the parentheses when the module is printed."""
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class Unflatten(Module):
    """One dimension as several."""
    dim: int
    unflattened_size: Shape
    def __init__(self, dim: int, unflattened_size: Shape) -> None: ...
    def extra_repr(self) -> str: """What stands between the parentheses when the module is printed."""
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class Upsample(Module):
    """Resample to a size or by a factor."""
    size: Ints | None
    mode: Tensor
    align_corners: bool | None
    recompute_scale_factor: bool | None
    scale_factor: float | Sequence[float] | None
    def __init__(self, size: Ints | None = None, scale_factor: float | Sequence[float] | None = None, mode: str = 'nearest', align_corners: bool | None = None, recompute_scale_factor: bool | None = None) -> None: ...
    def extra_repr(self) -> str: """What stands between the parentheses when the module is printed."""
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class ChannelShuffle(Module):
    """Channels as (groups, n) transposed to (n, groups)."""
    groups: int
    def __init__(self, groups: int) -> None: ...
    def extra_repr(self) -> str: """What stands between the parentheses when the module is printed."""
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class CosineSimilarity(Module):
    """The cosine of the angle between vectors along `dim`."""
    dim: Dims
    eps: float
    def __init__(self, dim: Dims = 1, eps: float = 1e-08) -> None: ...
    def extra_repr(self) -> str: """What stands between the parentheses when the module is printed."""
    def forward(self, x1: Tensor, x2: Tensor) -> Tensor: ...
    def __call__(self, x1: Tensor, x2: Tensor) -> Tensor: ...

class Fold(Module):
    """Sum sliding windows (as columns) into an image."""
    output_size: Ints
    kernel_size: Ints
    dilation: Ints
    padding: Ints
    stride: Ints
    def __init__(self, output_size: Ints, kernel_size: Ints, dilation: Ints = 1, padding: Ints = 0, stride: Ints = 1) -> None: ...
    def extra_repr(self) -> str: """What stands between the parentheses when the module is printed."""
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class PairwiseDistance(Module):
    """The p-norm of x1 - x2 + eps."""
    p: float
    eps: float
    keepdim: bool
    def __init__(self, p: float = 2.0, eps: float = 1e-06, keepdim: bool = False) -> None: ...
    def extra_repr(self) -> str: """What stands between the parentheses when the module is printed."""
    def forward(self, x1: Tensor, x2: Tensor) -> Tensor: ...
    def __call__(self, x1: Tensor, x2: Tensor) -> Tensor: ...

class PixelShuffle(Module):
    """(*, C * r^2, H, W) -> (*, C, H * r, W * r)"""
    upscale_factor: int
    def __init__(self, upscale_factor: int) -> None: ...
    def extra_repr(self) -> str: """What stands between the parentheses when the module is printed."""
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class PixelUnshuffle(Module):
    """(*, C, H * r, W * r) -> (*, C * r^2, H, W)"""
    downscale_factor: int
    def __init__(self, downscale_factor: int) -> None: ...
    def extra_repr(self) -> str: """What stands between the parentheses when the module is printed."""
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class Unfold(Module):
    """Sliding windows of an image as columns."""
    kernel_size: Ints
    dilation: Ints
    padding: Ints
    stride: Ints
    def __init__(self, kernel_size: Ints, dilation: Ints = 1, padding: Ints = 0, stride: Ints = 1) -> None: ...
    def extra_repr(self) -> str: """What stands between the parentheses when the module is printed."""
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class UpsamplingBilinear2d(Upsample):
    """Upsample bilinearly, corners aligned."""
    def __init__(self, size: Ints | None = None, scale_factor: float | Sequence[float] | None = None) -> None: ...

class UpsamplingNearest2d(Upsample):
    """Upsample with the nearest pixel."""
    def __init__(self, size: Ints | None = None, scale_factor: float | Sequence[float] | None = None) -> None: ...
