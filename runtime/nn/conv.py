"""Convolutions and transposed convolutions."""
import whet

from ..ops import docstrings
from . import functional as F
from . import init
from .lazy import LazyModuleMixin
from .module import Module
from .parameter import Parameter, UninitializedParameter, is_lazy


def ntuple(x, n):
    """An int as n of them; a sequence as a tuple."""
    return tuple(x) if isinstance(x, tuple | list) else (x,) * n


__all__ = [
    f"{lazy}Conv{kind}{n}d" for lazy in ("", "Lazy") for kind in ("", "Transpose")
    for n in (1, 2, 3)]


class _ConvNd(Module):
    """What all convolutions share; `dims` is the number of spatial dimensions."""
    dims = 2
    transposed = False

    def _set_up(self, in_channels, out_channels, kernel_size, stride, padding, dilation,
                output_padding, groups, bias, padding_mode, device, dtype):
        Module.__init__(self)
        n = self.dims
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups:
            raise ValueError("out_channels must be divisible by groups")
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise ValueError(
                    f"Invalid padding string '{padding}', should be one of {{'same', 'valid'}}")
            if padding == "same" and any(s != 1 for s in ntuple(stride, n)):
                raise ValueError("padding='same' is not supported for strided convolutions")
        if padding_mode not in ("zeros", "reflect", "replicate", "circular"):
            raise ValueError(
                "padding_mode must be one of {'zeros', 'reflect', 'replicate', 'circular'}, "
                f"but got padding_mode='{padding_mode}'")
        if self.transposed and padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        self.in_channels, self.out_channels = in_channels, out_channels
        self.kernel_size, self.stride = ntuple(kernel_size, n), ntuple(stride, n)
        self.dilation = ntuple(dilation, n)
        self.padding = padding if isinstance(padding, str) else ntuple(padding, n)
        self.output_padding, self.groups = ntuple(output_padding, n), groups
        self.padding_mode = padding_mode
        self._explicit_padding = self._pad_amounts() if padding_mode != "zeros" else None
        self.weight = Parameter(whet.empty(self._weight_shape(), device=device, dtype=dtype))
        self.register_parameter(
            "bias",
            Parameter(whet.empty(out_channels, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def _weight_shape(self):
        a, b = ((self.in_channels, self.out_channels) if self.transposed else
                (self.out_channels, self.in_channels))
        return (a, b // self.groups, *self.kernel_size)

    def _pad_amounts(self):
        """The padding as F.pad takes it (last dimension first), for modes that pad before the
        convolution."""
        amounts = []
        for k, d, p in zip(self.kernel_size, self.dilation, self._each_padding()):
            if p == "same":
                total = d * (k - 1)
                amounts.append((total // 2, total - total // 2))
            else:
                amounts.append((p, p))
        return tuple(x for pair in reversed(amounts) for x in pair)

    def _each_padding(self):
        if isinstance(self.padding, str):
            return (0 if self.padding == "valid" else "same",) * self.dims
        return self.padding

    def reset_parameters(self):
        """Weight and bias uniform within 1 / sqrt(fan_in)."""
        init.linear_(self.weight, self.bias)

    def forward(self, input):
        return self._conv_forward(input, self.weight, self.bias)

    def extra_repr(self):
        text = (
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, "
            f"stride={self.stride}")
        if self.padding != (0,) * self.dims:
            text += f", padding={self.padding}"
        if self.dilation != (1,) * self.dims:
            text += f", dilation={self.dilation}"
        if self.output_padding != (0,) * self.dims:
            text += f", output_padding={self.output_padding}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        if self.bias is None:
            text += ", bias=False"
        if self.padding_mode != "zeros":
            text += f", padding_mode={self.padding_mode}"
        return text


class _Conv(_ConvNd):

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1,
                 groups=1, bias=True, padding_mode="zeros", device=None, dtype=None):
        self._set_up(in_channels, out_channels, kernel_size, stride, padding, dilation, 0, groups,
                     bias, padding_mode, device, dtype)


class Conv1d(_Conv):
    """Cross-correlation over (N, C, L).

    >>> import whet
    >>> from whet import nn
    >>> nn.Conv1d(3, 8, kernel_size=3, padding=1)(whet.ones(2, 3, 16)).shape
    whet.Size([2, 8, 16])
    """
    dims = 1

    def _conv_forward(self, input, weight, bias):
        if self._explicit_padding is not None:
            return F.conv1d(F.pad(input, self._explicit_padding, self.padding_mode), weight, bias,
                            self.stride, 0, self.dilation, self.groups)
        return F.conv1d(input, weight, bias, self.stride, self.padding, self.dilation, self.groups)


class Conv2d(_Conv):
    """Cross-correlation over (N, C, H, W).

    >>> import whet
    >>> from whet import nn
    >>> nn.Conv2d(3, 8, kernel_size=3, stride=2)(whet.ones(2, 3, 9, 9)).shape
    whet.Size([2, 8, 4, 4])
    """
    dims = 2

    def _conv_forward(self, input, weight, bias):
        if self._explicit_padding is not None:
            return F.conv2d(F.pad(input, self._explicit_padding, self.padding_mode), weight, bias,
                            self.stride, 0, self.dilation, self.groups)
        return F.conv2d(input, weight, bias, self.stride, self.padding, self.dilation, self.groups)


class Conv3d(_Conv):
    """Cross-correlation over (N, C, D, H, W).

    >>> import whet
    >>> from whet import nn
    >>> nn.Conv3d(1, 2, kernel_size=2)(whet.ones(1, 1, 4, 4, 4)).shape
    whet.Size([1, 2, 3, 3, 3])
    """
    dims = 3

    def _conv_forward(self, input, weight, bias):
        if self._explicit_padding is not None:
            return F.conv3d(F.pad(input, self._explicit_padding, self.padding_mode), weight, bias,
                            self.stride, 0, self.dilation, self.groups)
        return F.conv3d(input, weight, bias, self.stride, self.padding, self.dilation, self.groups)


class _ConvTransposeNd(_ConvNd):
    transposed = True
    function = "conv_transpose2d"

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0,
                 output_padding=0, groups=1, bias=True, dilation=1, padding_mode="zeros",
                 device=None, dtype=None):
        self._set_up(in_channels, out_channels, kernel_size, stride, padding, dilation,
                     output_padding, groups, bias, padding_mode, device, dtype)

    def forward(self, input, output_size=None):
        extra = (self.output_padding if output_size is None else self._output_padding(
            input, output_size))
        return getattr(F, self.function)(input, self.weight, self.bias, self.stride, self.padding,
                                         extra, self.groups, self.dilation)

    def _output_padding(self, input, output_size):
        """The output padding that gives the wanted size."""
        n, batched = self.dims, input.ndim == self.dims + 2
        sizes = tuple(output_size)
        if len(sizes) == n + 1 + batched:
            sizes = sizes[1 + batched:]
        if len(sizes) != n:
            raise ValueError(
                f"ConvTranspose{n}D: for {input.ndim}D input, output_size must have {n} or "
                f"{n + 1 + batched} elements (got {len(output_size)})")
        least = [(size - 1) * s - 2 * p + d * (k - 1) + 1 for size, s, p, d, k in
                 zip(input.shape[-n:], self.stride, self.padding, self.dilation, self.kernel_size)]
        if any(not low <= size <= low + s - 1 for size, low, s in zip(sizes, least, self.stride)):
            most = [low + s - 1 for low, s in zip(least, self.stride)]
            raise ValueError(
                f"requested an output size of {sizes}, but valid sizes range from {least} to "
                f"{most} (for an input of {tuple(input.shape[-n:])})")
        return tuple(size - low for size, low in zip(sizes, least))


class ConvTranspose1d(_ConvTransposeNd):
    """The gradient of Conv1d with respect to its input, as a layer.

    >>> import whet
    >>> from whet import nn
    >>> nn.ConvTranspose1d(3, 8, kernel_size=4, stride=2)(whet.ones(2, 3, 5)).shape
    whet.Size([2, 8, 12])
    """
    dims, function = 1, "conv_transpose1d"


class ConvTranspose2d(_ConvTransposeNd):
    """The gradient of Conv2d with respect to its input, as a layer.

    >>> import whet
    >>> from whet import nn
    >>> nn.ConvTranspose2d(3, 8, kernel_size=2, stride=2)(whet.ones(2, 3, 4, 4)).shape
    whet.Size([2, 8, 8, 8])
    """
    dims, function = 2, "conv_transpose2d"


class ConvTranspose3d(_ConvTransposeNd):
    """The gradient of Conv3d with respect to its input, as a layer.

    >>> import whet
    >>> from whet import nn
    >>> nn.ConvTranspose3d(1, 2, kernel_size=2)(whet.ones(1, 1, 3, 3, 3)).shape
    whet.Size([1, 2, 4, 4, 4])
    """
    dims, function = 3, "conv_transpose3d"


class _LazyConvNd(LazyModuleMixin):
    """A convolution that learns `in_channels` from its first input."""

    def _leave_open(self, out_channels, bias, device, dtype):
        self.out_channels = out_channels
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self):
        if not self.has_uninitialized_params() and self.in_channels:
            super().reset_parameters()

    def initialize_parameters(self, input, *args, **kwargs):
        """Take the shape from the first input."""
        if is_lazy(self.weight):
            if input.ndim not in (self.dims + 1, self.dims + 2):
                raise RuntimeError(
                    f"Expected {self.dims + 1}D (unbatched) or {self.dims + 2}D (batched) input to "
                    f"{type(self).__name__}, but got input of size: {tuple(input.shape)}")
            self.in_channels = input.shape[-self.dims - 1]
            if self.in_channels % self.groups:
                raise ValueError("in_channels must be divisible by groups")
            self.weight.materialize(self._weight_shape())
            if is_lazy(self.bias):
                self.bias.materialize((self.out_channels,))
            self.reset_parameters()
        self.in_channels = (self.weight.shape[0] if self.transposed else self.weight.shape[1]
                            * self.groups)


class _LazyConv(_LazyConvNd):

    def __init__(self, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1,
                 bias=True, padding_mode="zeros", device=None, dtype=None):
        super().__init__(0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode)
        self._leave_open(out_channels, bias, device, dtype)


class _LazyConvTranspose(_LazyConvNd):

    def __init__(self, out_channels, kernel_size, stride=1, padding=0, output_padding=0, groups=1,
                 bias=True, dilation=1, padding_mode="zeros", device=None, dtype=None):
        super().__init__(0, 0, kernel_size, stride, padding, output_padding, groups, False,
                         dilation, padding_mode)
        self._leave_open(out_channels, bias, device, dtype)


for _base in (Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d):
    _name = f"Lazy{_base.__name__}"
    _lazy = _LazyConvTranspose if _base.transposed else _LazyConv
    globals()[_name] = type(
        _name, (_lazy, _base),
        {
            "cls_to_become": _base,
            "__module__": __name__,
            "__doc__": docstrings.with_example(
                f"{_base.__name__} whose `in_channels` is taken from its first input.",
                f"whet.nn.{_name}(4, kernel_size=1)(whet.ones(2, 3{', 5' * _base.dims})).shape",
                f"whet.Size([2, 4{', 5' * _base.dims}])")})
