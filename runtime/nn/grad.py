"""Gradients of convolutions, as functions of their own."""
from ..ops import convolutions
from .conv import ntuple

__all__ = ["conv1d_input", "conv1d_weight", "conv2d_input", "conv2d_weight", "conv3d_input",
           "conv3d_weight"]


def _at(name, n, sizes, weight_sizes, grad, other, *, stride, padding, dilation, groups):
    """Where the convolution's windows lie, once all sizes are known to fit each other."""
    stride, padding, dilation = ntuple(stride, n), ntuple(padding, n), ntuple(dilation, n)
    if any(len(x) != n + 2 for x in (sizes, weight_sizes, grad.shape)):
        raise RuntimeError(
            f"{name}: input, weight and gradient must have {n + 2} dimensions: {sizes}, "
            f"{weight_sizes}, {tuple(grad.shape)}")
    if grad.dtype != other.dtype:
        raise RuntimeError(f"{name}: types differ: {grad.dtype} and {other.dtype}")
    if min(stride) <= 0 or min(dilation) <= 0 or min(padding) < 0 or groups <= 0:
        raise RuntimeError(f"{name}: non-positive stride, dilation or groups, or negative padding")
    if sizes[1] != weight_sizes[1] * groups or weight_sizes[0] % groups:
        raise RuntimeError(f"{name}: {sizes[1]} channels in {groups} groups do not fit a weight "
                           f"of sizes {weight_sizes}")
    seen = [(size + 2 * p - d * (k - 1) - 1) // s + 1 for size, k, s, p, d in
            zip(sizes[2:], weight_sizes[2:], stride, padding, dilation, strict=True)]
    if tuple(grad.shape) != (sizes[0], weight_sizes[0], *seen):
        raise RuntimeError(f"{name}: the gradient must have the sizes "
                           f"{(sizes[0], weight_sizes[0], *seen)}, got {tuple(grad.shape)}")
    return dict(stride=stride, padding=padding, dilation=dilation, groups=groups)


def _of_input(n):
    def conv_input(input_size, weight, grad_output, stride=1, padding=0, dilation=1, groups=1):
        if input_size is None:
            raise ValueError(f"grad.conv{n}d_input requires specifying an input_size")
        sizes = tuple(input_size)
        at = _at(f"conv{n}d_input", n, sizes, tuple(weight.shape), grad_output, weight,
                 stride=stride, padding=padding, dilation=dilation, groups=groups)
        return convolutions.conv_input_grad_op(grad_output, weight, x_shape=sizes, **at)
    conv_input.__name__ = conv_input.__qualname__ = f"conv{n}d_input"
    conv_input.__doc__ = f"""The gradient of `conv{n}d` to its input.

    >>> import whet
    >>> whet.nn.grad.conv{n}d_input({(1, 1, *[3] * n)}, whet.ones({(1, 1, *[3] * n)}),
    ...     whet.ones({(1, 1, *[1] * n)})).sum()
    tensor({3 ** n}.)
    """
    return conv_input


def _of_weight(n):
    def conv_weight(input, weight_size, grad_output, stride=1, padding=0, dilation=1, groups=1):
        sizes = tuple(weight_size)
        at = _at(f"conv{n}d_weight", n, tuple(input.shape), sizes, grad_output, input,
                 stride=stride, padding=padding, dilation=dilation, groups=groups)
        return convolutions.conv_weight_grad_op(grad_output, input, w_shape=sizes, **at)
    conv_weight.__name__ = conv_weight.__qualname__ = f"conv{n}d_weight"
    conv_weight.__doc__ = f"""The gradient of `conv{n}d` to its weight.

    >>> import whet
    >>> whet.nn.grad.conv{n}d_weight(whet.ones({(1, 1, *[3] * n)}), {(1, 1, *[3] * n)},
    ...     whet.ones({(1, 1, *[1] * n)})).sum()
    tensor({3 ** n}.)
    """
    return conv_weight


conv1d_input, conv2d_input, conv3d_input = (_of_input(n) for n in (1, 2, 3))
conv1d_weight, conv2d_weight, conv3d_weight = (_of_weight(n) for n in (1, 2, 3))
