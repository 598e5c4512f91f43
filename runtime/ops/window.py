"""Convolutions and pools. `conv1d`, `conv2d` and `conv3d` are made from one function, and so are
those of `conv_transpose`. A convolution and its two gradients are three ops, each other's
derivatives."""
import math

import numpy as np

from .. import devices
from ..autograd import modes
from ..autograd.modes import is_grad_enabled
from ..cpu import conv as kernels
from ..cpu import pooling, window
from ..dtypes import BOOL, FLOAT, INT, int64
from ..indexing import as_int, tuple_of, whole
from . import onnx_taps
from . import onnx_windows as in_onnx
from . import window_outlines as outlines
from .batching import folded, repeated
from .pad import pad
from .registry import Op, apply, ask, asked, is_tensor
from .samples import Sample
from .surface import FUNCTIONS, compile_function, function, give_out, guard


def _c(x):
    """The conjugate, which the other factor's gradient is multiplied by."""
    return x.conj() if x.dtype.kind == 3 else x


def _conv_vjp(g, _y, x, w, bias=None, *, stride, padding, dilation, groups, needs):
    at = dict(stride=stride, padding=padding, dilation=dilation, groups=groups)
    gx = conv_input_grad_op(g, _c(w), x_shape=x.shape, **at) if needs[0] else None
    gw = conv_weight_grad_op(g, _c(x), w_shape=w.shape, **at) if needs[1] else None
    gb = g.sum((0, *range(2, g.ndim))) if len(needs) > 2 and needs[2] else None
    return [gx, gw, gb][:len(needs)]


def _conv_to(shape, x, w, at):
    """A convolution's first results, as many as `shape` says: what a transposed one pads its
    output by may be as wide as a step."""
    y = conv_op(x, w, **at)
    for d in range(2, y.ndim):
        y = y if y.shape[d] == shape[d] else y.narrow(d, 0, shape[d])
    return y


def _input_grad_vjp(c, _y, g, w, *, x_shape, needs, **at):
    return [
        _conv_to(g.shape, c, _c(w), at) if needs[0] else None,
        conv_weight_grad_op(_c(g), c, w_shape=w.shape, **at) if needs[1] else None]


def _weight_grad_vjp(c, _y, g, x, *, w_shape, needs, **at):
    return [
        _conv_to(g.shape, _c(x), c, at) if needs[0] else None,
        conv_input_grad_op(_c(g), c, x_shape=x.shape, **at) if needs[1] else None]


def _conv_forward(x, w, bias=None, *, stride, padding, dilation, groups):
    return kernels.conv(x, w, bias, stride, padding, dilation, groups)


def _input_grad_forward(g, w, *, x_shape, stride, padding, dilation, groups):
    return kernels.conv_input_grad(g, w, x_shape, stride, padding, dilation, groups)


def _weight_grad_forward(g, x, *, w_shape, stride, padding, dilation, groups):
    return kernels.conv_weight_grad(g, x, w_shape, stride, padding, dilation, groups)


def _channels(x, n):
    """(n, items, channels, ...) as (items, n * channels, ...)."""
    _, items, channels, *sizes = x._array.shape
    return x.movedim(0, 1).reshape((items, n * channels, *sizes))


def _apart(y, n):
    """And back."""
    items, channels, *sizes = y._array.shape
    return y.reshape((items, n, channels // n, *sizes)).movedim(1, 0)


def _rows(w):
    """(n, channels, ...) as (n * channels, ...)."""
    return w.reshape((-1, *w._array.shape[2:]))


def _conv_each(op, n, inputs, batched, attrs):
    """More items where the weights are the same for all examples; otherwise each example is a
    group of channels."""
    x, w, bias = (*inputs, None)[:3]
    if not any(batched[1:]):
        return _MORE_ITEMS(op, n, inputs, batched, attrs)
    grouped = batched[0] or attrs["groups"] > 1
    x = _channels(x if batched[0] else repeated(x, n), n) if grouped else x
    w = _rows(w if batched[1] else repeated(w, n))
    operands = ((x, w) if bias is None else
                (x, w, _rows((bias if batched[2] else repeated(bias, n)).contiguous())))
    return _apart(apply(op, operands, {**attrs, "groups": attrs["groups"] * (n if grouped else 1)}),
                  n)


def _input_grad_each(op, n, inputs, batched, attrs):
    g, w = inputs
    items, channels, *sizes = attrs["x_shape"]
    if not batched[1]:
        return _MORE_ITEMS(op, n, inputs, batched, attrs)
    g = _channels(g if batched[0] else repeated(g, n), n)
    return _apart(
        apply(op, (g, _rows(w)),
              {**attrs, "x_shape": (items, n * channels, *sizes), "groups": attrs["groups"] * n}),
        n)


def _weight_grad_each(op, n, inputs, batched, attrs):
    g, x = [_channels(t if b else repeated(t, n), n) for t, b in zip(inputs, batched)]
    rows, *rest = attrs["w_shape"]
    w = apply(op, (g, x), {**attrs, "w_shape": (n * rows, *rest), "groups": attrs["groups"] * n})
    return w.reshape((n, rows, *rest))


_MORE_ITEMS = folded("x_shape", first=1)


def _conv_samples(make):
    yield Sample(make(2, 3, 7), make(4, 3, 3), make(4), stride=(2,), padding=(1,), dilation=(1,),
                 groups=1)
    yield Sample(make(2, 4, 6, 5), make(6, 2, 3, 2), make(6), stride=(1, 2), padding=(1, 0),
                 dilation=(1, 1), groups=2)
    yield Sample(make(1, 2, 7, 7), make(2, 1, 3, 3), None, stride=(1, 1), padding=(2, 2),
                 dilation=(2, 2), groups=2)
    yield Sample(make(1, 2, 4, 4, 4), make(3, 2, 2, 2, 2), make(3), stride=(1, 1, 1),
                 padding=(0, 0, 0), dilation=(1, 1, 1), groups=1)


conv_op = Op("convolution", _conv_forward, _conv_vjp, samples=_conv_samples, batch=_conv_each,
             onnx=in_onnx.convolution)
conv_input_grad_op = Op(
    "conv_input_grad", _input_grad_forward, _input_grad_vjp, samples=lambda make: [
        Sample(make(1, 2, 4), make(2, 1, 3), x_shape=(1, 2, 14), stride=(2,), padding=(1,),
               dilation=(4,), groups=2),
        Sample(make(2, 4, 4), make(4, 3, 3), x_shape=(2, 3, 7), stride=(2,), padding=(1,),
               dilation=(1,), groups=1)], batch=_input_grad_each,
    onnx=in_onnx.transposed_convolution)
conv_weight_grad_op = Op(
    "conv_weight_grad", _weight_grad_forward, _weight_grad_vjp, samples=lambda make: [
        Sample(make(2, 4, 4), make(2, 3, 7), w_shape=(4, 3, 3), stride=(2,), padding=(1,),
               dilation=(1,), groups=1)], batch=_weight_grad_each,
    onnx=onnx_taps.weight_gradient)
conv_op.makes, conv_input_grad_op.makes = outlines.convolved, outlines.input_gradient
conv_weight_grad_op.makes = outlines.weight_gradient
for _o in (conv_op, conv_input_grad_op, conv_weight_grad_op):
    _o.family, _o.launches, _o.product, _o.any_sizes = "window", True, True, True
    _o.size_attrs = frozenset(("x_shape", "w_shape"))
    _o.there = devices.there("convolutions", _o.name)


def _check_conv(name, x, w, bias, n, groups, transposed=False):
    for t, what in ((x, "input"), (w, "weight")):
        if not is_tensor(t):
            raise TypeError(f"{name}(): argument '{what}' must be Tensor, not {type(t).__name__}")
    if x.dtype is not w.dtype and modes.state.autocast is None:
        raise RuntimeError(
            f"{name}: Input type ({x.dtype}) and weight type ({w.dtype}) should be the same")
    if bias is not None and bias.dtype is not x.dtype and modes.state.autocast is None:
        raise RuntimeError(
            f"{name}: Input type ({x.dtype}) and bias type ({bias.dtype}) should be the same")
    if w.ndim != n + 2:
        raise RuntimeError(f"{name}: expected weight to be {n + 2}D, got {tuple(w.shape)}")
    if x.ndim not in (n + 1, n + 2):
        raise RuntimeError(
            f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to {name}, but got input "
            f"of size: {list(x.shape)}")
    if as_int(groups, name, "groups") <= 0:
        raise RuntimeError("non-positive groups is not supported")
    channels = x.shape[-n - 1]
    need = w.shape[0] if transposed else w.shape[1] * groups
    if channels != need:
        raise RuntimeError(
            f"Given {'transposed=1, ' if transposed else ''}groups={groups}, weight of size "
            f"{list(w.shape)}, expected input{list(x.shape)} to have {need} channels, but got "
            f"{channels} channels instead")
    if w.shape[0] % groups:
        raise RuntimeError(
            f"{name}: expected weight to be at least {groups} at dimension 0 and divisible by "
            f"groups, got {list(w.shape)}")
    outs = w.shape[1] * groups if transposed else w.shape[0]
    if bias is not None and tuple(bias.shape) != (outs,):
        raise RuntimeError(
            f"Given weight of size {list(w.shape)}, expected bias to be 1-dimensional with {outs} "
            f"elements, but got bias of size {list(bias.shape)} instead")


def _positive(name, **named):
    for what, v in named.items():
        if min(v) <= 0:
            raise RuntimeError(f"{name}: non-positive {what} is not supported: {v}")


def convolution(name, n, x, w, bias, stride, padding, dilation, groups):
    """convNd"""
    _check_conv(name, x, w, bias, n, groups)
    stride, dilation = tuple_of(stride, n, name, "stride"), tuple_of(dilation, n, name, "dilation")
    _positive(name, stride=stride, dilation=dilation)
    if isinstance(padding, str):
        if padding == "valid":
            padding = (0,) * n
        elif padding == "same":
            if any(s != 1 for s in stride):
                raise RuntimeError("padding='same' is not supported for strided convolutions")
            total = [d * (k - 1) for d, k in zip(dilation, w.shape[2:])]
            if any(t % 2 for t in total):
                sides = []
                for t in reversed(total):
                    sides += [0, t % 2]
                x = pad(x, sides)
            padding = tuple(t // 2 for t in total)
        else:
            raise RuntimeError(f"Invalid padding string: '{padding}'")
    padding = tuple_of(padding, n, name, "padding")
    if min(padding) < 0:
        raise RuntimeError("negative padding is not supported")
    batched = x.ndim == n + 2
    x = x if batched else x.unsqueeze(0)
    for i in range(n):
        size, reach = x.shape[2 + i] + 2 * padding[i], dilation[i] * (w.shape[2 + i] - 1) + 1
        if size < reach:
            raise RuntimeError(
                "Calculated padded input size per channel: "
                f"({' x '.join(str(x.shape[2 + j] + 2 * padding[j]) for j in range(n))}). "
                f"Kernel size: "
                f"({' x '.join(str(dilation[j] * (w.shape[2 + j] - 1) + 1) for j in range(n))}). "
                f"Kernel size can't be "
                "greater than actual input size")
    y = apply(conv_op, (x, w) if bias is None else (x, w, bias),
              dict(stride=stride, padding=padding, dilation=dilation, groups=int(groups)))
    return y if batched else y.squeeze(0)


def transposed(name, n, x, w, bias, stride, padding, output_padding, groups, dilation):
    """conv_transposeNd: the gradient of a convolution with respect to its input."""
    _check_conv(name, x, w, bias, n, groups, True)
    stride, dilation = tuple_of(stride, n, name, "stride"), tuple_of(dilation, n, name, "dilation")
    padding, extra = (tuple_of(padding, n, name,
                               "padding"), tuple_of(output_padding, n, name, "output_padding"))
    _positive(name, stride=stride, dilation=dilation)
    if any(e >= max(s, d) for e, s, d in zip(extra, stride, dilation)):
        raise RuntimeError(
            "output padding must be smaller than either stride or dilation, but got "
            f"output_padding={extra}, stride={stride}, dilation={dilation}")
    batched = x.ndim == n + 2
    x = x if batched else x.unsqueeze(0)
    size = tuple((x.shape[2 + i] - 1) * stride[i] - 2 * padding[i]
                 + dilation[i] * (w.shape[2 + i] - 1) + extra[i] + 1 for i in range(n))
    if min(size) <= 0:
        raise RuntimeError(
            f"{name}: the output size would be {size} for an input of size {tuple(x.shape)}")
    y = apply(
        conv_input_grad_op, (x, w),
        dict(x_shape=(x.shape[0], w.shape[1] * groups, *size), stride=stride, padding=padding,
             dilation=dilation, groups=int(groups)))
    if bias is not None:
        y = y + bias.reshape(-1, *[1] * n)
    return y if batched else y.squeeze(0)


def _publish_convs():
    for n in (1, 2, 3):
        name = f"conv{n}d"
        f = compile_function(
            name,
            f"def {name}(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):\n"
            f"    return convolution('{name}', {n}, input, weight, bias, stride, padding, "
            "dilation, groups)",
            {"convolution": convolution})
        f.__doc__ = f"The {n}-d convolution (cross-correlation) of an input with a weight."
        function(method=False)(guard(f))
        name = f"conv_transpose{n}d"
        f = compile_function(
            name,
            f"def {name}(input, weight, bias=None, stride=1, padding=0, output_padding=0, "
            "groups=1, dilation=1):\n"
            f"    return transposed('{name}', {n}, input, weight, bias, stride, padding, "
            "output_padding, groups, dilation)",
            {"transposed": transposed})
        f.__doc__ = f"The {n}-d transposed convolution."
        function(method=False)(guard(f))


_publish_convs()


@function(method=False)
def conv_tbc(input, weight, bias, pad=0):
    """1-d convolution of (time, batch, channel) with a weight of (width, in, out)."""
    return convolution("conv_tbc", 1, input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, 1, pad,
                       1, 1).permute(2, 0, 1)


# ---- pools ---------------------------------------------------------------------------------------
def _gather_plane(x, index):
    """x at positions of its flattened spatial dimensions."""
    n, c = index.shape[:2]
    x, at = (t.reshape(n, c, math.prod(t.shape[2:])) for t in (x, index))
    return x.gather(2, at).reshape(index.shape)


class _MaxPool(Op):
    """(values, positions in the flattened plane)"""
    family = "window"

    def __init__(self, name, kernel, samples, onnx):
        super().__init__(
            name, lambda x, **at: kernel(x, **at), samples=samples, nondiff_outputs=(1,),
            onnx=onnx, vjp=lambda g, y, _x, **at: [max_pool_grad_op(g[0], y[1], x_shape=_x.shape)])


def _largest(name, kernel, indexed, samples, onnx):
    """The values alone: what is computed where nobody asks for positions and no gradient will."""
    return Op(name, lambda x, **at: kernel(x, **at, indices=False)[0],
              lambda g, _y, x, **at: [max_pool_grad_op(g, indexed(x, **at)[1], x_shape=x.shape)],
              samples=samples,
              inner=True,
              onnx=onnx)


def _pool_samples(make):
    yield Sample(make(2, 3, 8), kernel=(2,), stride=(2,), padding=(0,), dilation=(1,),
                 ceil_mode=False)
    yield Sample(make(1, 2, 7, 6), kernel=(3, 2), stride=(2, 1), padding=(1, 0), dilation=(1, 2),
                 ceil_mode=True)


max_pool_grad_op = Op("max_pool_grad",
                      lambda g, i, *, x_shape: pooling.max_pool_grad(g, i, x_shape),
                      lambda c, _y, _g, i, *, x_shape: [_gather_plane(c, i), None],
                      inner=True,
                      onnx=in_onnx.spread_to_largest)
max_pool_op = _MaxPool("max_pool", pooling.max_pool, _pool_samples, in_onnx.largest_with_places)
adaptive_max_pool_op = _MaxPool("adaptive_max_pool",
                                pooling.adaptive_max_pool,
                                lambda make: [Sample(make(2, 3, 7, 5), output_size=(3, 2))],
                                in_onnx.adaptive_largest_with_places)
max_pool_values_op = _largest("max_pool_values", pooling.max_pool, max_pool_op, max_pool_op.samples,
                              in_onnx.largest)
adaptive_max_pool_values_op = _largest("adaptive_max_pool_values", pooling.adaptive_max_pool,
                                       adaptive_max_pool_op, adaptive_max_pool_op.samples,
                                       in_onnx.adaptive_largest)
avg_pool_op = Op(
    "avg_pool", lambda x, **at: pooling.avg_pool(x, **at),
    lambda g, _y, _x, **at: [avg_pool_grad_op(g, x_shape=_x.shape, **at)], samples=lambda make: [
        Sample(make(1, 2, 7, 6), kernel=(3, 2), stride=(2, 1), padding=(1, 1), ceil_mode=True,
               count_include_pad=False, divisor_override=None)], onnx=in_onnx.mean)
avg_pool_grad_op = Op("avg_pool_grad",
                      lambda g, *, x_shape, **at: pooling.avg_pool_grad(g, x_shape, **at),
                      lambda c, _y, _g, *, x_shape, **at: [avg_pool_op(c, **at)], inner=True,
                      onnx=onnx_taps.mean_gradient)
adaptive_avg_pool_op = Op(
    "adaptive_avg_pool", lambda x, *, output_size: pooling.adaptive_avg_pool(x, output_size),
    lambda g, _y, _x, *, output_size: [adaptive_avg_pool_grad_op(g, x_shape=_x.shape)],
    samples=lambda make: [Sample(make(2, 3, 7, 5), output_size=(3, 2))], onnx=in_onnx.adaptive_mean)
adaptive_avg_pool_grad_op = Op(
    "adaptive_avg_pool_grad", lambda g, *, x_shape: pooling.adaptive_avg_pool_grad(g, x_shape),
    lambda c, _y, _g, *, x_shape: [adaptive_avg_pool_op(c, output_size=_g.shape[2:])], inner=True,
    onnx=onnx_taps.adaptive_mean_gradient)
unfold_op = Op(
    "unfold_windows", lambda x, **at: pooling.unfold(x, **at),
    lambda g, _y, _x, **at: [fold_op(g, output_size=_x.shape[2:], **at)], samples=lambda make: [
        Sample(make(2, 3, 5, 6), kernel=(2, 3), dilation=(1, 1), padding=(1, 0), stride=(2, 1))],
    onnx=in_onnx.blocks)
fold_op = Op(
    "fold_windows", lambda c, *, output_size, **at: pooling.fold(c, output_size, **at),
    lambda g, _y, _c, *, output_size, **at: [unfold_op(g, **at)], samples=lambda make: [
        Sample(make(2, 18, 12), output_size=(5, 6), kernel=(2, 3), dilation=(1, 1), padding=(1, 0),
               stride=(2, 1))], onnx=in_onnx.blocks_summed)
max_unpool_op = Op("max_unpool", lambda x, i, *, output_size: pooling.max_unpool(x, i, output_size),
                   lambda g, _y, _x, i, *, output_size: [_gather_plane(g, i), None], inner=True,
                   onnx=in_onnx.unpooled)
max_unpool_op.moves = lambda out, x, i, *, output_size: [(out, 0)]
max_unpool_op.put_alone = lambda out, x, i, **at: pooling.unpool_onto(out, x, i, **at)
fold_op.moves = lambda out, c, *, output_size, **at: [(out, 0)]
fold_op.put = lambda out, c, **at: pooling.fold_onto(out, c, **at)
unfold_op.moves = lambda out, x, **at: window.unfold_moves(out, x, **at)
_launched = (max_pool_values_op, adaptive_max_pool_values_op, max_pool_grad_op, avg_pool_op,
             avg_pool_grad_op, adaptive_avg_pool_op, adaptive_avg_pool_grad_op)
for _o in (*_launched, max_pool_op, adaptive_max_pool_op, unfold_op, fold_op, max_unpool_op):
    _o.family, _o.batch_rule = "window", folded("x_shape")
    _o.there = devices.there("pools", _o.name)
for _o in (*_launched, max_pool_op, adaptive_max_pool_op):
    _o.launches = True
max_pool_op.makes = outlines.pooled(np.int64)
max_pool_values_op.makes = avg_pool_op.makes = outlines.pooled()
adaptive_max_pool_op.makes = outlines.pooled_to(np.int64)
adaptive_max_pool_values_op.makes = adaptive_avg_pool_op.makes = outlines.pooled_to()
for _o in (max_pool_grad_op, avg_pool_grad_op, adaptive_avg_pool_grad_op):
    _o.makes = outlines.pool_gradient
for _o in (*_launched, max_pool_op, adaptive_max_pool_op):
    _o.any_sizes, _o.size_attrs = True, frozenset(("x_shape", "output_size"))
for _o in ((max_pool_grad_op, avg_pool_op, avg_pool_grad_op, adaptive_avg_pool_op,
            adaptive_avg_pool_grad_op, unfold_op, fold_op, max_unpool_op)):
    _o.linear = (0,)


def _planes(name, x, n, least=BOOL, also=None):
    """The input with a batch dimension, and whether it had one. Its type is of the kind `least` or
    a higher one, or `also`."""
    if not is_tensor(x):
        raise TypeError(
            f"{name}(): argument 'input' (position 1) must be Tensor, not {type(x).__name__}")
    if x.ndim not in (n + 1, n + 2):
        raise RuntimeError(
            f"{name}: Expected {n + 1}D or {n + 2}D (batch mode) tensor for input, but got "
            f"{tuple(x.shape)}")
    if x.dtype.kind < least and x.dtype is not also:
        raise NotImplementedError(f"\"{name}\" not implemented for '{x.dtype.letter}'")
    return (x, True) if x.ndim == n + 2 else (x.unsqueeze(0), False)


def _window(name, x, n, kernel, stride, padding, dilation=1, ceil_mode=False):
    kernel = tuple_of(kernel, n, name, "kernel_size")
    stride = (kernel if stride is None or (not isinstance(stride, int) and len(stride) == 0) else
              tuple_of(stride, n, name, "stride"))
    padding, dilation = (tuple_of(padding, n, name,
                                  "padding"), tuple_of(dilation, n, name, "dilation"))
    _positive(name, kernel_size=kernel, stride=stride, dilation=dilation)
    for k, p in zip(kernel, padding):
        if p < 0 or p > k / 2:
            raise RuntimeError(
                f"{name}: pad should be at most half of effective kernel size, but got pad={p} "
                f"and kernel_size={k}")
    for i in range(n):
        size = x.shape[-n + i]
        if size == 0 or size + 2 * padding[i] < dilation[i] * (kernel[i] - 1) + 1 and not ceil_mode:
            raise RuntimeError(
                f"{name}: Given input size: {tuple(x.shape)}. Calculated output size is too small "
                f"for kernel_size={kernel}")
    return kernel, stride, padding, dilation


def _best(indexed, values, x, attrs, return_indices, batched):
    """The results of a max pool."""
    if not return_indices and not (x.requires_grad and is_grad_enabled()):
        y = apply(values, (x,), attrs)
        return y if batched else y.squeeze(0)
    r = apply(indexed, (x,), attrs)
    if not batched:
        r = tuple(t.squeeze(0) for t in r)
    return r if return_indices else r[0]


def max_pool(x, kernel, stride, padding, dilation, ceil_mode, return_indices, n):
    """max_poolNd"""
    name = f"max_pool{n}d"
    x, batched = _planes(name, x, n, least=INT)
    if not x.shape[1]:
        raise RuntimeError(f"{name}: Expected channels, but input has shape {list(x.shape)}")
    kernel, stride, padding, dilation = _window(name, x, n, kernel, stride, padding, dilation,
                                                ceil_mode)
    attrs = dict(kernel=kernel, stride=stride, padding=padding, dilation=dilation,
                 ceil_mode=bool(ceil_mode))
    return _best(max_pool_op, max_pool_values_op, x, attrs, return_indices, batched)


def avg_pool(x, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override, n):
    """avg_poolNd"""
    name = f"avg_pool{n}d"
    x, batched = _planes(name, x, n, least=FLOAT, also=int64)
    kernel, stride, padding, _ = _window(name, x, n, kernel, stride, padding, 1, ceil_mode)
    if divisor_override == 0:
        raise RuntimeError("divisor must be not zero")
    y = apply(
        avg_pool_op, (x,),
        dict(kernel=kernel, stride=stride, padding=padding, ceil_mode=bool(ceil_mode),
             count_include_pad=bool(count_include_pad), divisor_override=divisor_override))
    return y if batched else y.squeeze(0)


def _output_size(x, size, n):
    name = f"adaptive pool over {n} dimensions"
    size = (size,) * n if size is None or not hasattr(size, "__iter__") else tuple(size)
    size = [s if s is None else as_int(s, f"adaptive_pool{n}d", "output_size", i + 1, whole)
            for i, s in enumerate(size)]
    if len(size) != n or any(s is not None and s < 0 for s in size):
        raise RuntimeError(f"{name}: output_size must have {n} numbers >= 0, but got {size}")
    if x.ndim <= n and n > 1:
        raise ValueError(f"{name}: Input dimension should be at least {n + 1}, but got {x.ndim}")
    return tuple(x.shape[-n + i] if s is None else s for i, s in enumerate(size))


def adaptive_avg_pool(x, size, n):
    """adaptive_avg_poolNd"""
    size = _output_size(x, size, n)
    x, batched = _planes(f"adaptive_avg_pool{n}d", x, n, least=FLOAT)
    y = apply(adaptive_avg_pool_op, (x,), dict(output_size=size))
    return y if batched else y.squeeze(0)


def adaptive_max_pool(x, size, return_indices, n):
    """adaptive_max_poolNd"""
    attrs = dict(output_size=_output_size(x, size, n))
    x, batched = _planes(f"adaptive_max_pool{n}d", x, n)
    return _best(adaptive_max_pool_op, adaptive_max_pool_values_op, x, attrs, return_indices,
                 batched)


def _pools():
    """{name: function} of every pool in one, two and three dimensions."""
    env = dict(avg_pool=avg_pool, adaptive_avg_pool=adaptive_avg_pool, give_out=give_out,
               adaptive_max_pool=adaptive_max_pool, lp_pool=lp_pool, max_unpool=max_unpool,
               max_pool=max_pool)
    out = {}
    for n in (1, 2, 3):
        for name, params, call in (
                ("max_pool", "input, kernel_size, stride=None, padding=0, dilation=1, "
                             "ceil_mode=False, return_indices=False",
                 "input, kernel_size, stride, padding, dilation, ceil_mode, return_indices"),
                ("avg_pool", "input, kernel_size, stride=None, padding=0, ceil_mode=False, "
                             "count_include_pad=True"
                 + (", divisor_override=None" if n > 1 else ""),
                 "input, kernel_size, stride, padding, ceil_mode, count_include_pad, "
                 + ("divisor_override" if n > 1 else "None")),
                ("adaptive_avg_pool", "input, output_size", "input, output_size"),
                ("adaptive_max_pool", "input, output_size, return_indices=False",
                 "input, output_size, return_indices"),
                ("lp_pool", "input, norm_type, kernel_size, stride=None, ceil_mode=False",
                 "input, norm_type, kernel_size, stride, ceil_mode"),
                ("max_unpool", "input, indices, kernel_size, stride=None, padding=0, "
                               "output_size=None",
                 "input, indices, kernel_size, stride, padding, output_size")):
            f = f"{name}{n}d"
            text = f"def {f}({params}):\n    return {name}({call}, {n})"
            if name == "avg_pool" and n > 1:
                text = (f"def {f}({params}, *, out=None):\n    y = {name}({call}, {n})\n"
                        f"    return y if out is None else give_out({f!r}, y, out)")
            out[f] = guard(compile_function(f, text, env))
            out[f].__doc__ = f"{name.replace('_', ' ')} over {n} spatial dimension{'s' * (n > 1)}."
    return out


def lp_pool(x, norm_type, kernel, stride, ceil_mode, n):
    """The p-norm of each window."""
    kernel = tuple_of(kernel, n, "lp_pool", "kernel_size")
    if norm_type in (math.inf, -math.inf):
        sign = 1 if norm_type > 0 else -1
        return sign * max_pool(sign * x.abs(), kernel, stride, 0, 1, ceil_mode, False, n)
    mean = avg_pool(x ** norm_type, kernel, stride, 0, ceil_mode, True, None, n)
    relu = FUNCTIONS["relu"]
    return (FUNCTIONS["sign"](mean) * relu(mean.abs()) * math.prod(kernel)) ** (1.0 / norm_type)


def outside(n):
    """The question whether some place of a plane is none of its n."""
    @asked(lambda x, _: (x < 0) | (x >= n))
    def is_outside(a):
        return bool(a.min() < 0 or a.max() >= n)
    return is_outside


def max_unpool(x, indices, kernel, stride, padding, output_size, n):
    """Put values back where a max pool found them; zeros elsewhere."""
    name = f"max_unpool{n}d"
    if tuple(x.shape) != tuple(indices.shape):
        raise RuntimeError(
            f"{name}: Expected shape of indices to be same as that of the input tensor "
            f"({tuple(x.shape)}) but got indices tensor with shape: {tuple(indices.shape)}")
    x, batched = _planes(name, x, n)
    i = indices if batched else indices.unsqueeze(0)
    kernel = tuple_of(kernel, n, name, "kernel_size")
    stride, padding = (tuple_of(kernel if stride is None else stride, n, name,
                                "stride"), tuple_of(padding, n, name, "padding"))
    default = tuple((x.shape[2 + d] - 1) * stride[d] + kernel[d] - 2 * padding[d] for d in range(n))
    size = default if output_size is None else tuple(output_size)[-n:]
    planes = int(np.prod(size, dtype=np.int64))
    if i.numel() and ask(outside(planes), i):
        raise RuntimeError(
            f"{name}: found an invalid max index: {int(i.max())} (output volumes are of size "
            f"{'x'.join(map(str, size))})")
    y = apply(max_unpool_op, (x, i), dict(output_size=size))
    return y if batched else y.squeeze(0)


POOLS = _pools()
for _n in (("max_pool1d", "max_pool2d", "max_pool3d", "avg_pool1d", "adaptive_avg_pool1d",
            "adaptive_max_pool1d")):
    FUNCTIONS[_n] = POOLS[_n]
