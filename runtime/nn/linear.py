"""Linear layers."""
import math

import whet

from . import functional as F
from . import init
from .lazy import LazyModuleMixin
from .module import Module
from .parameter import Parameter, UninitializedParameter, is_lazy

__all__ = ["Identity", "Linear", "LazyLinear", "Bilinear"]


class Identity(Module):
    """Its input; any arguments are accepted and ignored.

    >>> import whet
    >>> from whet import nn
    >>> nn.Identity(54, anything=True)(whet.ones(2))
    tensor([1., 1.])
    """

    def __init__(self, *args, **kwargs):
        super().__init__()

    def forward(self, input):
        return input


class Linear(Module):
    """x @ weight.T + bias

    >>> import whet
    >>> from whet import nn
    >>> layer = nn.Linear(3, 2)
    >>> layer(whet.ones(4, 3)).shape
    whet.Size([4, 2])
    >>> layer.weight.shape
    whet.Size([2, 3])
    """

    def __init__(self, in_features, out_features, bias=True, device=None, dtype=None):
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(whet.empty((out_features, in_features), device=device, dtype=dtype))
        self.register_parameter(
            "bias",
            Parameter(whet.empty(out_features, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self):
        """Weight and bias uniform within 1 / sqrt(in_features)."""
        init.linear_(self.weight, self.bias)

    def forward(self, input):
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self):
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}")


class LazyLinear(LazyModuleMixin, Linear):
    """A Linear that learns `in_features` from its first input.

    >>> import whet
    >>> from whet import nn
    >>> layer = nn.LazyLinear(2)
    >>> layer(whet.ones(3, 5)).shape
    whet.Size([3, 2])
    >>> layer.in_features
    5
    """
    cls_to_become = Linear

    def __init__(self, out_features, bias=True, device=None, dtype=None):
        super().__init__(0, 0, False)
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_features = out_features
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self):
        if not self.has_uninitialized_params() and self.in_features:
            super().reset_parameters()

    def initialize_parameters(self, input):
        """Take the shape from the first input."""
        if is_lazy(self.weight):
            self.in_features = input.shape[-1]
            self.weight.materialize((self.out_features, self.in_features))
            if is_lazy(self.bias):
                self.bias.materialize((self.out_features,))
            self.reset_parameters()
        self.in_features = self.weight.shape[-1]


class Bilinear(Module):
    """x1 @ weight[k] @ x2 + bias[k] for each output feature k.

    >>> import whet
    >>> from whet import nn
    >>> nn.Bilinear(3, 4, 2)(whet.ones(5, 3), whet.ones(5, 4)).shape
    whet.Size([5, 2])
    """

    def __init__(self, in1_features, in2_features, out_features, bias=True, device=None,
                 dtype=None):
        super().__init__()
        if in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got {in1_features}")
        self.in1_features, self.in2_features = in1_features, in2_features
        self.out_features = out_features
        self.weight = Parameter(
            whet.empty((out_features, in1_features, in2_features), device=device, dtype=dtype))
        self.register_parameter(
            "bias",
            Parameter(whet.empty(out_features, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self):
        """Weight and bias uniform within 1 / sqrt(in1_features)."""
        bound = 1 / math.sqrt(self.in1_features)
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1, input2):
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self):
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
            f"out_features={self.out_features}, bias={self.bias is not None}")
