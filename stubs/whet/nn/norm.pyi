# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from typing import Any
from whet.dtypes import dtype
from whet.nn.module import Module
from whet.nn.parameter import Parameter
from whet.tensor import Tensor
from whet.types import Device, Ints, Number

class GroupNorm(Module):
    """Normalise groups of channels of each sample."""
    num_groups: int
    num_channels: int
    eps: float
    affine: bool
    def __init__(self, num_groups: int, num_channels: int, eps: float = 1e-05, affine: bool = True, device: Device | None = None, dtype: dtype | None = None, *, bias: bool = True) -> None: ...
    def extra_repr(self) -> str: """What stands between the parentheses when the module is printed."""
    def forward(self, input: Tensor) -> Tensor: ...
    def reset_parameters(self) -> None: """Scale one, shift zero."""
    def __call__(self, input: Tensor) -> Tensor: ...

class LayerNorm(Module):
    """Normalise over the last dimensions."""
    normalized_shape: Ints
    eps: float
    elementwise_affine: bool
    def __init__(self, normalized_shape: Ints, eps: float = 1e-05, elementwise_affine: bool = True, bias: bool = True, device: Device | None = None, dtype: dtype | None = None) -> None: ...
    def extra_repr(self) -> str: """What stands between the parentheses when the module is printed."""
    def forward(self, input: Tensor) -> Tensor: ...
    def reset_parameters(self) -> None: """Scale one, shift zero."""
    def __call__(self, input: Tensor) -> Tensor: ...

class RMSNorm(Module):
    """Divide by the root mean square over the last dimensions."""
    normalized_shape: Ints
    eps: float | None
    elementwise_affine: bool
    weight: Parameter
    def __init__(self, normalized_shape: Ints, eps: float | None = None, elementwise_affine: bool = True, device: Device | None = None, dtype: dtype | None = None) -> None: ...
    def extra_repr(self) -> str: """What stands between the parentheses when the module is printed."""
    def forward(self, input: Tensor) -> Tensor: ...
    def reset_parameters(self) -> None: """Scale one."""
    def __call__(self, input: Tensor) -> Tensor: ...

class LocalResponseNorm(Module):
    """Divide by a power of the neighbouring channels' mean square."""
    size: int
    alpha: Number
    beta: Number
    k: float
    def __init__(self, size: int, alpha: Number = 0.0001, beta: Number = 0.75, k: float = 1.0) -> None: ...
    def extra_repr(self) -> str: """What stands between the parentheses when the module is printed."""
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class BatchNorm1d(Module):
    """Normalise each channel of (N, C) or (N, C, L) over the batch."""
    num_features: int
    eps: float
    momentum: float | None
    affine: bool
    track_running_stats: bool
    running_mean: Tensor
    running_var: Tensor
    num_batches_tracked: Tensor
    def __init__(self, num_features: int, eps: float = 1e-05, momentum: float | None = 0.1, affine: bool = True, track_running_stats: bool = True, device: Device | None = None, dtype: dtype | None = None, *, bias: bool = True) -> None: ...
    def extra_repr(self) -> str: """What stands between the parentheses when the module is printed."""
    def forward(self, input: Tensor) -> Tensor: ...
    def reset_parameters(self) -> None: """Scale one, shift zero, no statistics."""
    def reset_running_stats(self) -> None: """Forget all batches."""
    def __call__(self, input: Tensor) -> Tensor: ...

class BatchNorm2d(Module):
    """Normalise each channel of (N, C, H, W) over the batch."""
    num_features: int
    eps: float
    momentum: float | None
    affine: bool
    track_running_stats: bool
    running_mean: Tensor
    running_var: Tensor
    num_batches_tracked: Tensor
    def __init__(self, num_features: int, eps: float = 1e-05, momentum: float | None = 0.1, affine: bool = True, track_running_stats: bool = True, device: Device | None = None, dtype: dtype | None = None, *, bias: bool = True) -> None: ...
    def extra_repr(self) -> str: """What stands between the parentheses when the module is printed."""
    def forward(self, input: Tensor) -> Tensor: ...
    def reset_parameters(self) -> None: """Scale one, shift zero, no statistics."""
    def reset_running_stats(self) -> None: """Forget all batches."""
    def __call__(self, input: Tensor) -> Tensor: ...

class BatchNorm3d(Module):
    """Normalise each channel of (N, C, D, H, W) over the batch."""
    num_features: int
    eps: float
    momentum: float | None
    affine: bool
    track_running_stats: bool
    running_mean: Tensor
    running_var: Tensor
    num_batches_tracked: Tensor
    def __init__(self, num_features: int, eps: float = 1e-05, momentum: float | None = 0.1, affine: bool = True, track_running_stats: bool = True, device: Device | None = None, dtype: dtype | None = None, *, bias: bool = True) -> None: ...
    def extra_repr(self) -> str: """What stands between the parentheses when the module is printed."""
    def forward(self, input: Tensor) -> Tensor: ...
    def reset_parameters(self) -> None: """Scale one, shift zero, no statistics."""
    def reset_running_stats(self) -> None: """Forget all batches."""
    def __call__(self, input: Tensor) -> Tensor: ...

class CrossMapLRN2d(LocalResponseNorm):
    """LocalResponseNorm of images, under its old name."""
    def __init__(self, size: int, alpha: Number = 0.0001, beta: Number = 0.75, k: float = 1) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class InstanceNorm1d(Module):
    """Normalise each channel of each sample of (N, C, L) or (C, L)."""
    num_features: int
    eps: float
    momentum: float
    affine: bool
    track_running_stats: bool
    running_mean: Tensor
    running_var: Tensor
    num_batches_tracked: Tensor
    def __init__(self, num_features: int, eps: float = 1e-05, momentum: float = 0.1, affine: bool = False, track_running_stats: bool = False, device: Device | None = None, dtype: dtype | None = None, *, bias: bool = True) -> None: ...
    def extra_repr(self) -> str: """What stands between the parentheses when the module is printed."""
    def forward(self, input: Tensor) -> Tensor: ...
    def reset_parameters(self) -> None: """Scale one, shift zero, no statistics."""
    def reset_running_stats(self) -> None: """Forget all batches."""
    def __call__(self, input: Tensor) -> Tensor: ...

class InstanceNorm2d(Module):
    """Normalise each channel of each sample of (N, C, H, W) or (C, H, W)."""
    num_features: int
    eps: float
    momentum: float
    affine: bool
    track_running_stats: bool
    running_mean: Tensor
    running_var: Tensor
    num_batches_tracked: Tensor
    def __init__(self, num_features: int, eps: float = 1e-05, momentum: float = 0.1, affine: bool = False, track_running_stats: bool = False, device: Device | None = None, dtype: dtype | None = None, *, bias: bool = True) -> None: ...
    def extra_repr(self) -> str: """What stands between the parentheses when the module is printed."""
    def forward(self, input: Tensor) -> Tensor: ...
    def reset_parameters(self) -> None: """Scale one, shift zero, no statistics."""
    def reset_running_stats(self) -> None: """Forget all batches."""
    def __call__(self, input: Tensor) -> Tensor: ...

class InstanceNorm3d(Module):
    """Normalise each channel of each sample of (N, C, D, H, W) or (C, D, H, W)."""
    num_features: int
    eps: float
    momentum: float
    affine: bool
    track_running_stats: bool
    running_mean: Tensor
    running_var: Tensor
    num_batches_tracked: Tensor
    def __init__(self, num_features: int, eps: float = 1e-05, momentum: float = 0.1, affine: bool = False, track_running_stats: bool = False, device: Device | None = None, dtype: dtype | None = None, *, bias: bool = True) -> None: ...
    def extra_repr(self) -> str: """What stands between the parentheses when the module is printed."""
    def forward(self, input: Tensor) -> Tensor: ...
    def reset_parameters(self) -> None: """Scale one, shift zero, no statistics."""
    def reset_running_stats(self) -> None: """Forget all batches."""
    def __call__(self, input: Tensor) -> Tensor: ...

class SyncBatchNorm(Module):
    num_features: int
    eps: float
    momentum: float
    affine: bool
    track_running_stats: bool
    running_mean: Tensor
    running_var: Tensor
    num_batches_tracked: Tensor
    process_group: Any
    def __init__(self, num_features: int, eps: float = 1e-05, momentum: float = 0.1, affine: bool = True, track_running_stats: bool = True, process_group: Any = None, device: Device | None = None, dtype: dtype | None = None, *, bias: bool = True) -> None: ...
    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module: """A module with its batch norms replaced by SyncBatchNorm, with the same parameters and statistics."""
    def extra_repr(self) -> str: """What stands between the parentheses when the module is printed."""
    def forward(self, input: Tensor) -> Tensor: ...
    def reset_parameters(self) -> None: """Scale one, shift zero, no statistics."""
    def reset_running_stats(self) -> None: """Forget all batches."""
    def __call__(self, input: Tensor) -> Tensor: ...

class LazyBatchNorm1d(BatchNorm1d):
    """BatchNorm1d whose `num_features` is taken from its first input."""
    weight: Parameter
    bias: bool
    def __init__(self, eps: float = 1e-05, momentum: float = 0.1, affine: bool = True, track_running_stats: bool = True, device: Device | None = None, dtype: dtype | None = None, *, bias: bool = True) -> None: ...
    def initialize_parameters(self, input: Tensor) -> None: """Take the shape from the first input."""
    def reset_parameters(self) -> None: ...

class LazyBatchNorm2d(BatchNorm2d):
    """BatchNorm2d whose `num_features` is taken from its first input."""
    weight: Parameter
    bias: bool
    def __init__(self, eps: float = 1e-05, momentum: float = 0.1, affine: bool = True, track_running_stats: bool = True, device: Device | None = None, dtype: dtype | None = None, *, bias: bool = True) -> None: ...
    def initialize_parameters(self, input: Tensor) -> None: """Take the shape from the first input."""
    def reset_parameters(self) -> None: ...

class LazyBatchNorm3d(BatchNorm3d):
    """BatchNorm3d whose `num_features` is taken from its first input."""
    weight: Parameter
    bias: bool
    def __init__(self, eps: float = 1e-05, momentum: float = 0.1, affine: bool = True, track_running_stats: bool = True, device: Device | None = None, dtype: dtype | None = None, *, bias: bool = True) -> None: ...
    def initialize_parameters(self, input: Tensor) -> None: """Take the shape from the first input."""
    def reset_parameters(self) -> None: ...

class LazyInstanceNorm1d(InstanceNorm1d):
    """InstanceNorm1d whose `num_features` is taken from its first input."""
    weight: Parameter
    bias: bool
    def __init__(self, eps: float = 1e-05, momentum: float = 0.1, affine: bool = True, track_running_stats: bool = True, device: Device | None = None, dtype: dtype | None = None, *, bias: bool = True) -> None: ...
    def initialize_parameters(self, input: Tensor) -> None: """Take the shape from the first input."""
    def reset_parameters(self) -> None: ...

class LazyInstanceNorm2d(InstanceNorm2d):
    """InstanceNorm2d whose `num_features` is taken from its first input."""
    weight: Parameter
    bias: bool
    def __init__(self, eps: float = 1e-05, momentum: float = 0.1, affine: bool = True, track_running_stats: bool = True, device: Device | None = None, dtype: dtype | None = None, *, bias: bool = True) -> None: ...
    def initialize_parameters(self, input: Tensor) -> None: """Take the shape from the first input."""
    def reset_parameters(self) -> None: ...

class LazyInstanceNorm3d(InstanceNorm3d):
    """InstanceNorm3d whose `num_features` is taken from its first input."""
    weight: Parameter
    bias: bool
    def __init__(self, eps: float = 1e-05, momentum: float = 0.1, affine: bool = True, track_running_stats: bool = True, device: Device | None = None, dtype: dtype | None = None, *, bias: bool = True) -> None: ...
    def initialize_parameters(self, input: Tensor) -> None: """Take the shape from the first input."""
    def reset_parameters(self) -> None: ...
