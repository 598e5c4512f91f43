"""Normalisation layers."""
import numbers

import whet

from ..ops import docstrings
from . import functional as F
from . import init
from .layer import Layer, layer
from .lazy import LazyModuleMixin
from .module import Module
from .parameter import Parameter, UninitializedBuffer, UninitializedParameter, is_lazy

__all__ = [
    f"{lazy}{kind}Norm{n}d" for lazy in ("", "Lazy") for kind in ("Batch", "Instance")
    for n in (1, 2, 3)]
__all__ += [
    "SyncBatchNorm", "GroupNorm", "LayerNorm", "RMSNorm", "LocalResponseNorm", "CrossMapLRN2d"
]


def _affine(module, shape, weight, bias, device, dtype):
    """Register `weight` and `bias`: parameters of a shape, or places for none."""
    for name, wanted in (("weight", weight), ("bias", bias)):
        module.register_parameter(
            name, Parameter(whet.empty(shape, device=device, dtype=dtype)) if wanted else None)


def _reset_affine(module):
    if module.weight is not None:
        init.ones_(module.weight)
    if module.bias is not None:
        init.zeros_(module.bias)


class _NormBase(Module):
    """What batch and instance norm share: affine parameters and running statistics."""
    _version = 2
    ndims = ()                 # the ranks of input that are accepted, and how the error names them

    def __init__(self, num_features, eps, momentum, affine, track_running_stats, device=None,
                 dtype=None, *, bias=True):
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        _affine(self, num_features, affine, affine and bias, device, dtype)
        if track_running_stats:
            self.register_buffer("running_mean",
                                 whet.zeros(num_features, device=device, dtype=dtype))
            self.register_buffer("running_var", whet.ones(num_features, device=device, dtype=dtype))
            self.register_buffer("num_batches_tracked",
                                 whet.tensor(0, dtype=whet.int64, device=device))
        else:
            for name in ("running_mean", "running_var", "num_batches_tracked"):
                self.register_buffer(name, None)
        self.reset_parameters()

    def reset_running_stats(self):
        """Forget all batches."""
        if self.track_running_stats:
            with whet.no_grad():
                self.running_mean.zero_()
                self.running_var.fill_(1)
                self.num_batches_tracked.zero_()

    def reset_parameters(self):
        """Scale one, shift zero, no statistics."""
        self.reset_running_stats()
        _reset_affine(self)

    def _check_input_dim(self, input):
        if input.ndim not in self.ndims:
            wanted = " or ".join(f"{n}D" for n in self.ndims)
            raise ValueError(f"expected {wanted} input (got {input.ndim}D input)")

    def extra_repr(self):
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}")

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, *rest):
        key = prefix + "num_batches_tracked"
        if ((local_metadata.get("version") or 0) < 2 and self.track_running_stats
                and key not in state_dict):
            # checkpoints of version 1 did not have it
            state_dict[key] = self.num_batches_tracked
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)


class _BatchNorm(_NormBase):

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True,
                 device=None, dtype=None, *, bias=True):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype,
                         bias=bias)

    def forward(self, input):
        self._check_input_dim(input)
        momentum = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            # a cumulative average (a tensor: Python need not look at the count)
            if self.momentum is None:
                momentum = self.num_batches_tracked.double().reciprocal()
        use_batch = self.training or self.running_mean is None
        keep = not self.training or self.track_running_stats
        return F.batch_norm(input, self.running_mean if keep else None,
                            self.running_var if keep else None, self.weight, self.bias, use_batch,
                            momentum, self.eps)


class BatchNorm1d(_BatchNorm):
    """Normalise each channel of (N, C) or (N, C, L) over the batch.

    >>> import whet
    >>> from whet import nn
    >>> layer = nn.BatchNorm1d(2)
    >>> layer(whet.tensor([[0., 10.], [2., 30.]])).detach()
    tensor([[-1.0000, -1.0000],
            [ 1.0000,  1.0000]])
    >>> layer.running_mean
    tensor([0.1000, 2.0000])
    """
    ndims = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Normalise each channel of (N, C, H, W) over the batch.

    >>> import whet
    >>> from whet import nn
    >>> nn.BatchNorm2d(3)(whet.randn(4, 3, 5, 5)).shape
    whet.Size([4, 3, 5, 5])
    """
    ndims = (4,)


class BatchNorm3d(_BatchNorm):
    """Normalise each channel of (N, C, D, H, W) over the batch.

    >>> import whet
    >>> from whet import nn
    >>> nn.BatchNorm3d(3)(whet.randn(4, 3, 2, 2, 2)).shape
    whet.Size([4, 3, 2, 2, 2])
    """
    ndims = (5,)


class SyncBatchNorm(_BatchNorm):
    """Normalise each channel of (N, C, ...) over the batches of all processes: here there is one,
    so it is batch norm of any number of dimensions.

    >>> import whet
    >>> whet.nn.SyncBatchNorm(2)(whet.ones(3, 2)).shape
    whet.Size([3, 2])
    """

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True,
                 process_group=None, device=None, dtype=None, *, bias=True):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype,
                         bias=bias)
        self.process_group = process_group

    def _check_input_dim(self, input):
        if input.ndim < 2:
            raise ValueError(f"expected at least 2D input (got {input.ndim}D input)")

    @classmethod
    def convert_sync_batchnorm(cls, module, process_group=None):
        """A module with its batch norms replaced by SyncBatchNorm, with the same parameters and
        statistics."""
        if isinstance(module, _BatchNorm) and not isinstance(module, cls):
            made = cls(module.num_features, module.eps, module.momentum, module.affine,
                       module.track_running_stats, process_group)
            made._parameters.update(module._parameters)
            made._buffers.update(module._buffers)
            made.training = module.training
            return made
        for name, child in module.named_children():
            module.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return module


class _InstanceNorm(_NormBase):

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=False,
                 track_running_stats=False, device=None, dtype=None, *, bias=True):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype,
                         bias=bias)

    def forward(self, input):
        self._check_input_dim(input)
        unbatched = input.ndim == self.ndims[0]
        channels = input.shape[0 if unbatched else 1]
        if channels != self.num_features and self.affine:
            raise ValueError(
                f"expected input's size at dim={0 if unbatched else 1} to match num_features "
                f"({self.num_features}), but got: {channels}.")
        use_input = self.training or not self.track_running_stats
        out = F.instance_norm(
            input.unsqueeze(0) if unbatched else input, self.running_mean, self.running_var,
            self.weight, self.bias, use_input, 0.0 if self.momentum is None else self.momentum,
            self.eps)
        return out.squeeze(0) if unbatched else out


class InstanceNorm1d(_InstanceNorm):
    """Normalise each channel of each sample of (N, C, L) or (C, L).

    >>> import whet
    >>> from whet import nn
    >>> nn.InstanceNorm1d(1)(whet.tensor([[[0., 2.]]]))
    tensor([[[-1.0000,  1.0000]]])
    """
    ndims = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """Normalise each channel of each sample of (N, C, H, W) or (C, H, W).

    >>> import whet
    >>> from whet import nn
    >>> nn.InstanceNorm2d(3)(whet.randn(4, 3, 5, 5)).shape
    whet.Size([4, 3, 5, 5])
    """
    ndims = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """Normalise each channel of each sample of (N, C, D, H, W) or (C, D, H, W).

    >>> import whet
    >>> from whet import nn
    >>> nn.InstanceNorm3d(3)(whet.randn(4, 3, 2, 2, 2)).shape
    whet.Size([4, 3, 2, 2, 2])
    """
    ndims = (4, 5)


class _LazyNorm(LazyModuleMixin):
    """A norm that learns `num_features` from its first input."""

    def __init__(self, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, device=None,
                 dtype=None, *, bias=True):
        super().__init__(0, eps, momentum, False, False, device, dtype)
        self.affine, self.track_running_stats = affine, track_running_stats
        if affine:
            self.weight = UninitializedParameter(device=device, dtype=dtype)
            if bias:
                self.bias = UninitializedParameter(device=device, dtype=dtype)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(device=device, dtype=dtype)
            self.running_var = UninitializedBuffer(device=device, dtype=dtype)
            self.num_batches_tracked = whet.tensor(0, dtype=whet.int64, device=device)

    def reset_parameters(self):
        if not self.has_uninitialized_params() and self.num_features:
            super().reset_parameters()

    def initialize_parameters(self, input):
        """Take the shape from the first input."""
        if self.has_uninitialized_params():
            self.num_features = input.shape[-len(self._spatial(input)) - 1]
            for t in (self.weight, self.bias, self.running_mean, self.running_var):
                if is_lazy(t):
                    t.materialize((self.num_features,))
            self.reset_parameters()
        else:
            known = next((t for t in (self.weight, self.running_mean) if t is not None), None)
            self.num_features = (input.shape[-len(self._spatial(input)) - 1] if known is None
                                 else known.shape[0])

    def _spatial(self, input):
        """The dimensions after the channels."""
        self._check_input_dim(input)
        batched = issubclass(self.cls_to_become, _BatchNorm) or input.ndim == self.ndims[-1]
        return input.shape[2 if batched else 1:]


for _base in ((BatchNorm1d, BatchNorm2d, BatchNorm3d, InstanceNorm1d, InstanceNorm2d,
               InstanceNorm3d)):
    _name = f"Lazy{_base.__name__}"
    globals()[_name] = type(_name, (_LazyNorm, _base), {
        "cls_to_become": _base, "__module__": __name__,
        "__doc__": docstrings.with_example(
            f"{_base.__name__} whose `num_features` is taken from its first input.",
            f"whet.nn.{_name}()(whet.ones({', '.join('23456'[:_base.ndims[-1]])})).shape",
            f"whet.Size([{', '.join('23456'[:_base.ndims[-1]])}])")})


class GroupNorm(Module):
    """Normalise groups of channels of each sample.

    >>> import whet
    >>> from whet import nn
    >>> nn.GroupNorm(2, 4)(whet.randn(3, 4, 5)).shape
    whet.Size([3, 4, 5])
    """

    def __init__(self, num_groups, num_channels, eps=1e-5, affine=True, device=None, dtype=None, *,
                 bias=True):
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(
                f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups, self.num_channels, self.eps = num_groups, num_channels, eps
        self.affine = affine
        _affine(self, num_channels, affine, affine and bias, device, dtype)
        self.reset_parameters()

    def reset_parameters(self):
        """Scale one, shift zero."""
        _reset_affine(self)

    def forward(self, input):
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self):
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}")


def _as_shape(shape):
    return (int(shape),) if isinstance(shape, numbers.Integral) else tuple(shape)


class LayerNorm(Module):
    """Normalise over the last dimensions.

    >>> import whet
    >>> from whet import nn
    >>> nn.LayerNorm(3)(whet.tensor([[1., 2., 3.]])).detach()
    tensor([[-1.2247,  0.0000,  1.2247]])
    """

    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True, bias=True, device=None,
                 dtype=None):
        super().__init__()
        self.normalized_shape = _as_shape(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        _affine(self, self.normalized_shape, elementwise_affine, elementwise_affine and bias,
                device, dtype)
        self.reset_parameters()

    def reset_parameters(self):
        """Scale one, shift zero."""
        _reset_affine(self)

    def forward(self, input):
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self):
        return (
            f"{self.normalized_shape}, eps={self.eps}, "
            f"elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}")


class RMSNorm(Module):
    """Divide by the root mean square over the last dimensions.

    >>> import whet
    >>> from whet import nn
    >>> nn.RMSNorm(2)(whet.tensor([3., 4.])).detach()
    tensor([0.8485, 1.1314])
    """

    def __init__(self, normalized_shape, eps=None, elementwise_affine=True, device=None,
                 dtype=None):
        super().__init__()
        self.normalized_shape = _as_shape(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        weight = (Parameter(whet.empty(self.normalized_shape, device=device, dtype=dtype))
                  if elementwise_affine else None)
        self.register_parameter("weight", weight)
        self.reset_parameters()

    def reset_parameters(self):
        """Scale one."""
        if self.weight is not None:
            init.ones_(self.weight)

    def forward(self, input):
        return F.rms_norm(input, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self):
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
        )


@layer("local_response_norm")
class LocalResponseNorm(Layer):
    """Divide by a power of the neighbouring channels' mean square.

    >>> import whet
    >>> from whet import nn
    >>> nn.LocalResponseNorm(2)(whet.ones(1, 3, 2)).shape
    whet.Size([1, 3, 2])
    """
    size: int
    alpha: float = 1e-4
    beta: float = 0.75
    k: float = 1.0

    def extra_repr(self):
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class CrossMapLRN2d(LocalResponseNorm):
    """LocalResponseNorm of images, under its old name.

    >>> import whet
    >>> from whet import nn
    >>> nn.CrossMapLRN2d(2)(whet.ones(1, 3, 2, 2)).shape
    whet.Size([1, 3, 2, 2])
    """

    def __init__(self, size, alpha=1e-4, beta=0.75, k=1):
        super().__init__(size, alpha, beta, k)

    def forward(self, input):
        if input.ndim != 4:
            raise ValueError(
                f"CrossMapLRN2d: Expected input to be 4D, got {input.ndim}D instead.")
        return super().forward(input)
