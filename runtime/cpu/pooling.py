"""Pools, unfold and fold on arrays (N, C, *spatial), 1 to 3 spatial dimensions."""
import math

import numpy as np

from . import window


def max_pool(x, kernel, stride, padding, dilation, ceil_mode=False):
    """(largest of each window, its int64 index in the flattened input plane).

    The first of equals; a NaN wins, the last of several."""
    return window.reference_max_pool(x, kernel, stride, padding, dilation, ceil_mode)


def max_pool_grad(gy, index, x_shape):
    """The gradient of `max_pool` and `adaptive_max_pool`: outputs that share an input add in their order."""
    return window.reference_max_pool_grad(gy, index, x_shape)


def avg_pool(x, kernel, stride, padding, ceil_mode=False, count_include_pad=True, divisor_override=None):
    """The mean of each window; its divisor counts the padding (not what hangs over it), or not, or is given."""
    return window.reference_avg_pool(x, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override)


def avg_pool_grad(gy, x_shape, kernel, stride, padding, ceil_mode=False, count_include_pad=True, divisor_override=None):
    """The gradient of `avg_pool`."""
    return window.reference_avg_pool_grad(gy, x_shape, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override)


def adaptive_avg_pool(x, output_size):
    """The mean of each of `output_size` windows that cover the input evenly (they overlap where sizes do not divide)."""
    return window.reference_adaptive_avg_pool(x, output_size)


def adaptive_avg_pool_grad(gy, x_shape):
    """The gradient of `adaptive_avg_pool`."""
    return window.reference_adaptive_avg_pool_grad(gy, x_shape)


def adaptive_max_pool(x, output_size):
    """(largest of each of `output_size` windows, its int64 index in the flattened input plane)."""
    return window.reference_adaptive_max_pool(x, output_size)


def unfold(x, kernel, dilation, padding, stride):
    """The windows as columns: (N, C * taps, windows), zeros where a tap lies outside (im2col)."""
    return window.reference_unfold(x, kernel, dilation, padding, stride)


def fold(cols, output_size, kernel, dilation, padding, stride):
    """The transpose of `unfold`: (N, C, *output_size), every column element added where it came from (col2im)."""
    return window.reference_fold(cols, output_size, kernel, dilation, padding, stride)


def max_unpool(x, index, output_size):
    """Each element at its index of the flattened output plane, zeros elsewhere; of several at one index the last stays."""
    n = math.prod(x.shape[:2])
    plane = math.prod(output_size)
    count = math.prod(x.shape[2:])
    at = index.reshape(n, count)
    if at.size and (at.min() < 0 or at.max() >= plane):
        raise RuntimeError(f"max_unpool: indices must lie in 0..{plane - 1} for the output {tuple(output_size)}, "
                           f"but go from {at.min()} to {at.max()}")
    y = np.zeros((n, plane), x.dtype)
    np.put_along_axis(y, at, x.reshape(n, count), axis=1)
    return y.reshape(*x.shape[:2], *output_size)
