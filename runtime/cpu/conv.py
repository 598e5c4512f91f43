"""Convolution and its two gradients on arrays (N, C, *spatial), 1 to 3 spatial dimensions.

f32 and f64 run on compiled kernels, f16 and bf16 through f32 with one rounding, everything else in
NumPy. A float result is the contraction of the weights with the unfolded image in the contraction's
canonical order (one chain of fused multiply-adds per 256 steps, in the order channel, tap; the
blocks' sums added in order), with zeros in the padding. In f32, 3x3 taps in a plane with stride 1
are done by Winograd's method where `conv_plan.winograd_pays`. So bits depend on shapes and types
only.
"""
import itertools
import math
import operator

import numpy as np

from . import memory, native, thread_pool
from .conv_gradient_plan import input_grad_plans, weight_grad_plan
from .conv_plan import (
    ELEM,
    conv_plan,
    conv_shape,
    dense,
    elements,
    known,
    remember,
    scratch,
)
from .indexed import converted
from .reference_only import REFERENCE
from .reference_windows import (
    reference_conv,
    reference_conv_input_grad,
    reference_conv_weight_grad,
)
from .rows import contiguous
from .sized_plans import by_sizes
from .taped_launches import partial
from .window_geometry import wide

F32 = np.dtype(np.float32)


def _launch(plan, x, w, y, *operands):
    """Run a plan. The epilogue's operands follow the geometry among the kernel's arguments."""
    w, pack = contiguous(w), plan.pack
    if pack is None:
        room = scratch(plan.scratch)
    else:
        if x.strides[-1] != x.itemsize:
            x = contiguous(x)
        room = scratch(plan.scratch + pack.size * x.itemsize)
        packed = room[plan.scratch:]
        native.launch(pack.kernel, pack.units, pack.grain, w, packed, *pack.numbers)
        w = packed
    native.launch(plan.kernel, plan.units, plan.grain, x, w, y, room, plan.geometry, *operands)


def _in_rows(x):
    """Pixels with adjacent columns. Copying others is quicker than reading them one by one."""
    return x if x.shape[-1] == 1 or x.strides[-1] == x.itemsize else contiguous(x)


def conv(x, w, bias, stride, padding, dilation, groups):
    """y[n, o, p] = bias[o] + sum over (c, tap) of w[o, c, tap] * x[n, c, p * stride + tap *
    dilation - padding].

    bias may be None; the attributes are tuples with a number for each spatial dimension.
    """
    x = _in_rows(x)
    key = ("conv", x.shape, x.strides, x.dtype, w.shape, w.dtype, stride, padding,
           dilation, groups, bias is None, thread_pool.get_num_threads())
    plan = known.get(key)
    if plan is None:
        if x.dtype not in ELEM or REFERENCE:
            return _through(conv, reference_conv, x, w, bias, stride, padding, dilation,
                            groups)
        if elements(x) is None:
            return conv(x.copy(), w, bias, stride, padding, dilation, groups)
        plan = remember(key, _planned(x, w, _bias(bias), stride, padding, dilation, groups))
    y = memory.empty(plan.out, x.dtype)
    if plan.units:
        if bias is not None:
            _check(bias, x, w.shape[:1])
            bias = contiguous(bias)
        _launch(plan, x, w, y, bias)
    return y


def _check(a, x, shape):
    """Check an operand of the epilogue: the kernel reads it unchecked."""
    if a.shape != shape or a.dtype != x.dtype:
        raise RuntimeError(
            f"conv: an operand of the epilogue must be {x.dtype}{list(shape)}, but is "
            f"{a.dtype}{list(a.shape)}")


def conv_fused(x, w, epilogue, operands, stride, padding, dilation, groups, out=None):
    """`conv` (f32 or f64) followed by an expression of its sums: `epilogue` is a
    `lower_llvm.windows.epilogue.Epilogue`.

    `operands` are its arrays, of x's type. Their shapes go by their extents: (O,) with a value for
    each channel, the result's shape with one for each pixel, () with one for all. The result may be
    given, also as an operand with a value for each pixel. The bits are those of the separate
    operations.
    """
    if elements(x) is None:
        x = x.copy()
    plan = _plan(x, w, epilogue, stride, padding, dilation, groups)
    for a, extent in zip(operands, epilogue.operands, strict=True):
        _check(a, x, {"channel": w.shape[:1], "pixel": plan.out, "one": ()}[extent])
    if out is None:
        out = memory.empty(plan.out, x.dtype)
    elif out.shape != plan.out or out.dtype != x.dtype or not out.flags.c_contiguous:
        raise RuntimeError(
            f"conv_fused: out must be contiguous {x.dtype}{list(plan.out)}, but is "
            f"{out.dtype}{list(out.shape)}")
    if plan.units:
        _launch(plan, x, w, out, *[contiguous(a) for a in operands])
    return out


def plan_of(x, w, epilogue, stride, padding, dilation, groups, kept=False):
    """The plan of a convolution with an epilogue, for arrays with these layouts; None if it cannot
    be a single launch. `kept`: packed weights are kept between calls, so the plan may want them
    even if packing is costly."""
    if (x.dtype not in ELEM or REFERENCE or w.dtype != x.dtype or elements(x) is None
            or not w.flags.c_contiguous):
        return None
    plan = _plan(x, w, epilogue, stride, padding, dilation, groups, kept)
    return None if plan.pack is not None and x.strides[-1] != x.itemsize else plan


def _plan(x, w, epilogue, stride, padding, dilation, groups, kept=False):
    key = (("conv", x.shape, x.strides, x.dtype, w.shape, w.dtype, stride, padding, dilation,
            groups, epilogue.key, thread_pool.get_num_threads(), kept))
    plan = known.get(key)
    return (plan if plan is not None else remember(
        key, _planned(x, w, epilogue, stride, padding, dilation, groups, kept)))


def _planned(x, w, epilogue, stride, padding, dilation, groups, kept=False):
    """`conv_plan`, also for sizes that are not known."""
    def make(x, w, stride, padding, dilation, groups):
        return [conv_plan(x, w, epilogue, stride, padding, dilation, groups, kept)]
    at = stride, padding, dilation, groups
    plan, = by_sizes(make, [conv_shape(x, w, *at)], x, w, *at)
    return plan


def _bias(bias):
    """The epilogue that adds a bias, if there is one."""
    if bias is None:
        return None
    from whet.ir.scalar import arg
    from whet.passes.lower_llvm.windows.epilogue import Epilogue, Extent
    return Epilogue(arg(0) + arg(1), (Extent.CHANNEL,))


def conv_input_grad(gy, w, x_shape, stride, padding, dilation, groups):
    """The gradient of `conv` with respect to x, of shape `x_shape`; also the transposed
    convolution of gy."""
    gy = _in_rows(gy)
    key = ("input_grad", gy.shape, gy.strides, gy.dtype, w.shape, w.dtype, x_shape, stride, padding,
           dilation, groups, thread_pool.get_num_threads())
    plans = known.get(key)
    if plans is None:
        if gy.dtype not in ELEM or REFERENCE:
            return _through(conv_input_grad, reference_conv_input_grad, gy, w, x_shape, stride,
                            padding, dilation, groups)
        if elements(gy) is None:
            return conv_input_grad(gy.copy(), w, x_shape, stride, padding, dilation, groups)
        at = x_shape, stride, padding, dilation, groups
        plans = remember(key, by_sizes(input_grad_plans, [x_shape] * math.prod(stride), gy, w, *at))
    gx = memory.empty(x_shape, gy.dtype)
    flat, steps = gx.reshape(-1), dense(x_shape)[2:]
    for plan, phase in zip(plans, itertools.product(*map(range, stride)), strict=True):
        if plan.units:
            _launch(plan, gy, w, flat[sum(map(operator.mul, phase, steps)):])
    return gx


def conv_weight_grad(gy, x, w_shape, stride, padding, dilation, groups):
    """The gradient of `conv` with respect to w, of shape `w_shape`."""
    x = _in_rows(x)
    key = ("weight_grad", gy.shape, gy.dtype, x.shape, x.strides, x.dtype, w_shape, stride, padding,
           dilation, groups, thread_pool.get_num_threads())
    plan = known.get(key)
    if plan is None:
        if gy.dtype not in ELEM or REFERENCE:
            return _through(conv_weight_grad, reference_conv_weight_grad, gy, x, w_shape, stride,
                            padding, dilation, groups)
        if elements(x) is None:
            return conv_weight_grad(gy, x.copy(), w_shape, stride, padding, dilation, groups)
        plan, = by_sizes(lambda *xs: [weight_grad_plan(*xs)], [w_shape], gy, x, w_shape,
                         stride, padding, dilation, groups)
        remember(key, plan)
    # no weights, or no outputs to sum over
    if not plan.units:
        return np.zeros(w_shape, gy.dtype)
    gw = memory.empty(w_shape, gy.dtype)
    native.launch(plan.kernel, plan.units, plan.grain, contiguous(gy), x, gw, scratch(plan.scratch),
                  plan.geometry)
    return gw


def _through(f, reference, *args):
    """f on types without kernels: 16-bit floats through f32, rounded once; the others in NumPy."""
    dtype = args[0].dtype
    if wide(dtype) == dtype or REFERENCE:
        return reference(*args)
    made = f(*[converted(a, F32) if isinstance(a, np.ndarray) else a for a in args])
    return converted(partial(made), dtype)
