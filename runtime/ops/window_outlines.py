"""What convolutions and pools make, as outlines of their operands: sizes, without the plans of
kernels."""
import math

from ..cpu import window_geometry
from ..cpu.conv_plan import conv_shape
from ..ir.outline import Outline


def convolved(x, w, _bias=None, **at):
    """The outline of a convolution's result."""
    return (Outline(conv_shape(x, w, **at), x.dtype),)


def input_gradient(g, _w, *, x_shape, **_):
    """The outline of a convolution's gradient by the input."""
    return (_outlined(x_shape, g.dtype),)


def weight_gradient(g, _x, *, w_shape, **_):
    """The outline of a convolution's gradient by the weight."""
    return (_outlined(w_shape, g.dtype),)


def pool_gradient(g, *_, x_shape, **__):
    """A pool's gradient."""
    return (Outline(x_shape, g.dtype),)


def _outlined(shape, dtype):
    """A result of these sizes, none of which may be 0."""
    if not all(n > 0 for n in shape):
        raise ValueError("a convolution's gradient has no elements")
    return Outline(shape, dtype)


def pooled(*others):
    """What pools with windows of one size make, as outlines: values, and others of these types."""
    def makes(x, *, kernel, stride, padding, dilation=None, ceil_mode, **_):
        out = window_geometry.out_sizes(x.shape[2:], kernel, stride, padding,
                               dilation or (1,) * len(kernel), ceil_mode)
        return tuple(Outline((*x.shape[:2], *out), t) for t in (x.dtype, *others))
    return makes


def pooled_to(*others):
    """Outlines of the results of adaptive pools, which have the result's size as an attribute:
    values, and others of these types."""
    return lambda x, *, output_size: tuple(
        Outline((*x.shape[:2], *output_size), t) for t in (x.dtype, *others))


def columns(x, *, kernel, dilation, padding, stride):
    """The windows of images, as columns."""
    out = window_geometry.out_sizes(x.shape[2:], kernel, stride, padding, dilation)
    return (Outline((x.shape[0], x.shape[1] * math.prod(kernel), math.prod(out)), x.dtype),)


def image_of_columns(c, *, output_size, kernel, **_):
    """What columns are added up to."""
    return (Outline((c.shape[0], c.shape[1] // math.prod(kernel), *output_size), c.dtype),)
