"""Convolution and its two gradients on arrays (N, C, *spatial), 1 to 3 spatial dimensions."""
from .window import reference_conv, reference_conv_input_grad, reference_conv_weight_grad


def conv(x, w, bias, stride, padding, dilation, groups):
    """y[n, o, p] = bias[o] + sum over (c, tap) of w[o, c, tap] * x[n, c, p * stride + tap * dilation - padding]."""
    return reference_conv(x, w, bias, stride, padding, dilation, groups)


def conv_input_grad(gy, w, x_shape, stride, padding, dilation, groups):
    """The gradient of `conv` with respect to x, of shape `x_shape`; also the transposed convolution of gy."""
    return reference_conv_input_grad(gy, w, x_shape, stride, padding, dilation, groups)


def conv_weight_grad(gy, x, w_shape, stride, padding, dilation, groups):
    """The gradient of `conv` with respect to w, of shape `w_shape`."""
    return reference_conv_weight_grad(gy, x, w_shape, stride, padding, dilation, groups)
