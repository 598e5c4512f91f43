"""Convolutions. `conv1d`, `conv2d` and `conv3d` are made from one function, and so are
those of `conv_transpose`. A convolution and its two gradients are three ops, each other's
derivatives."""
import math

from .. import devices
from ..autograd import modes
from ..cpu import conv as kernels
from ..dtypes import COMPLEX
from ..size_arguments import as_int, tuple_of, whole
from . import docstrings
from . import window_outlines as outlines
from .argument_guards import guard
from .batching import folded, repeated
from .contract import linear, matmul
from .onnx import windows as in_onnx
from .onnx import windows_by_taps
from .pad import pad
from .public_functions import compile_function
from .registry import Op, apply, check_tensors, narrowed, sizes_of
from .sample_inputs import Sample
from .surface import function


def _c(x):
    """The conjugate, which the other factor's gradient is multiplied by."""
    return x.conj() if x.dtype.category == COMPLEX else x


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
    """(items, n * channels, ...) as (n, items, channels, ...): undoes `_channels`."""
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
    onnx=windows_by_taps.weight_gradient)
conv_op.cast_product = True
conv_op.makes, conv_input_grad_op.makes = outlines.convolved, outlines.input_gradient
conv_weight_grad_op.makes = outlines.weight_gradient
for _o in (conv_op, conv_input_grad_op, conv_weight_grad_op):
    _o.family, _o.launches, _o.product, _o.any_sizes = "window", True, True, True
    _o.size_attrs = frozenset(("x_shape", "w_shape"))
    _o.forward_on_device = devices.function_of("convolutions", _o.name)


def _check_conv(name, x, w, bias, n, groups, transposed=False):
    check_tensors(name, 2, input=x, weight=w)
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
    if 0 in w.shape[2:]:
        raise RuntimeError(
            f"{name}: kernel size should be greater than zero, but got {tuple(w.shape[2:])}")
    if 0 in x.shape[-n:]:
        raise RuntimeError("Only zero batch or zero channel inputs are supported, but got input "
                           f"shape: {list(x.shape)}")
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


def positive(name, **named):
    for what, v in named.items():
        if min(v) <= 0:
            raise RuntimeError(f"{name}: non-positive {what} is not supported: {v}")


def convolution(name, n, x, w, bias, stride, padding, dilation, groups):
    """convNd"""
    _check_conv(name, x, w, bias, n, groups)
    stride, dilation = tuple_of(stride, n, name, "stride"), tuple_of(dilation, n, name, "dilation")
    positive(name, stride=stride, dilation=dilation)
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
    spanned = [i for i in range(n) if _spans(i, x, w, padding, dilation)]
    if any(w._array.shape[2 + i] > 1 for i in spanned):
        y = _along_the_rest(x, w, bias, spanned, stride, padding, dilation, groups)
    else:
        y = apply(conv_op, (x, w) if bias is None else (x, w, bias),
                  dict(stride=stride, padding=padding, dilation=dilation, groups=int(groups)))
    return y if batched else y.squeeze(0)


def _spans(i, x, w, padding, dilation):
    """Has a kernel one place along a dimension of the image? The result has one there: sizes that
    are 1 are so wherever a trace serves."""
    return (x._array.shape[2 + i] == w._array.shape[2 + i]
            and padding[i] == 0 and dilation[i] == 1)


def _along_the_rest(x, w, bias, spanned, stride, padding, dilation, groups):
    """A convolution whose kernel has one place along some dimensions: these are channels, and where
    none is left it is a product. The gradient of the input would be padded by the kernel's size,
    and most of what is multiplied there would be zeros."""
    n = len(stride)
    rest = [i for i in range(n) if i not in spanned]
    order = (0, 1, *[2 + i for i in spanned], *[2 + i for i in rest])
    channels = [a.permute(order).flatten(1, 1 + len(spanned)).contiguous() for a in (x, w)]
    if rest or groups > 1:
        # Of no dimension in which it moves, one of a single place.
        at = {k: tuple([v[i] for i in rest]) or (one,) for k, v, one in (
            ("stride", stride, 1), ("padding", padding, 0), ("dilation", dilation, 1))}
        operands = [a if rest else a.unsqueeze(-1) for a in channels]
        y = apply(conv_op, (*operands, bias) if bias is not None else tuple(operands),
                  dict(at, groups=int(groups)))
    else:
        y = linear(channels[0], channels[1], bias)
    sizes = iter(y.shape[2:])
    return y.reshape(*y.shape[:2], *[1 if i in spanned else next(sizes) for i in range(n)])


def transposed(name, n, x, w, bias, stride, padding, output_padding, groups, dilation):
    """conv_transposeNd: the gradient of a convolution with respect to its input."""
    _check_conv(name, x, w, bias, n, groups, True)
    stride, dilation = tuple_of(stride, n, name, "stride"), tuple_of(dilation, n, name, "dilation")
    padding, extra = (tuple_of(padding, n, name,
                               "padding"), tuple_of(output_padding, n, name, "output_padding"))
    positive(name, stride=stride, dilation=dilation)
    if min(padding) < 0:
        raise RuntimeError("negative padding is not supported")
    if min(extra) < 0:
        raise RuntimeError("negative output_padding is not supported")
    if any(e >= max(s, d) for e, s, d in zip(extra, stride, dilation)):
        raise RuntimeError(
            "output padding must be smaller than either stride or dilation, but got "
            f"output_padding={extra}, stride={stride}, dilation={dilation}")
    x, w, bias = narrowed(x, w, bias)
    batched = x.ndim == n + 2
    x = x if batched else x.unsqueeze(0)
    size = tuple([
        whole((sizes_of(x)[2 + i] - 1) * stride[i] - 2 * padding[i]
              + dilation[i] * (w.shape[2 + i] - 1) + extra[i] + 1) for i in range(n)])
    if min(size) <= 0:
        raise RuntimeError(
            f"{name}: the output size would be {size} for an input of size {tuple(x.shape)}")
    kernel = w._array.shape[2:]
    # one place becomes as many as the kernel has
    if (math.prod(x._array.shape[2:]) == 1 < math.prod(kernel) and groups == 1
            and max(extra) == max(padding) == 0 and max(dilation) == 1):
        y = matmul(x.flatten(1), w.flatten(1)).reshape(x.shape[0], w.shape[1], *kernel)
    else:
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
        f.__doc__ = docstrings.with_example(
            f"The {n}-d convolution (cross-correlation) of an input with a weight.",
            f"whet.{name}(whet.ones(1, 2{', 8' * n}), whet.ones(4, 2{', 3' * n})).shape",
            f"whet.Size([1, 4{', 6' * n}])")
        function(method=False)(guard(f))
        name = f"conv_transpose{n}d"
        f = compile_function(
            name,
            f"def {name}(input, weight, bias=None, stride=1, padding=0, output_padding=0, "
            "groups=1, dilation=1):\n"
            f"    return transposed('{name}', {n}, input, weight, bias, stride, padding, "
            "output_padding, groups, dilation)",
            {"transposed": transposed})
        f.__doc__ = docstrings.with_example(
            f"The {n}-d transposed convolution: the gradient of `conv{n}d` for its input.",
            f"whet.{name}(whet.ones(1, 2{', 6' * n}), whet.ones(2, 4{', 3' * n})).shape",
            f"whet.Size([1, 4{', 8' * n}])")
        function(method=False)(guard(f))


_publish_convs()


@function(method=False)
def conv_tbc(input, weight, bias, pad=0):
    """1-d convolution of (time, batch, channel) with a weight of (width, in, out).

    >>> import whet
    >>> whet.conv_tbc(whet.ones(8, 1, 2), whet.ones(3, 2, 4), whet.zeros(4)).shape
    whet.Size([6, 1, 4])
    """
    return convolution("conv_tbc", 1, input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, 1, pad,
                       1, 1).permute(2, 0, 1)
