"""Pools: the largest element, or the mean, of each window."""
import math

import numpy as np

from .. import devices
from ..autograd.modes import is_grad_enabled
from ..cpu import pooling, window_geometry
from ..dtypes import BOOL, COMPLEX, FLOAT, INT, int64
from ..ir.outline import Outline
from ..size_arguments import as_int, tuple_of, whole
from . import docstrings
from . import window_outlines as outlines
from .argument_errors import checked_input
from .argument_guards import guard
from .batching import folded
from .convolutions import positive
from .onnx import windows as in_onnx
from .onnx import windows_by_taps
from .out_arguments import give_out
from .public_functions import compile_function
from .question_kernels import asked
from .registry import Op, apply, ask
from .sample_inputs import Sample
from .surface import FUNCTIONS


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
            onnx=onnx,
            vjp=lambda g, y, _x, **at: [max_pool_grad_op(g[0], y[1], x_shape=_x.shape, **at)])


def _largest(name, kernel, indexed, samples, onnx):
    """The values alone: what is computed where neither the caller nor a gradient needs
    positions."""
    return Op(name, lambda x, **at: kernel(x, **at, indices=False)[0],
              lambda g, _y, x, **at: [
                  max_pool_grad_op(g, indexed(x, **at)[1], x_shape=x.shape, **at)],
              samples=samples, inner=True, onnx=onnx)


def _pool_samples(make):
    yield Sample(make(2, 3, 8), kernel=(2,), stride=(2,), padding=(0,), dilation=(1,),
                 ceil_mode=False)
    yield Sample(make(1, 2, 7, 6), kernel=(3, 2), stride=(2, 1), padding=(1, 0), dilation=(1, 2),
                 ceil_mode=True)


max_pool_grad_op = Op("max_pool_grad",
                      lambda g, i, *, x_shape, **at: pooling.max_pool_grad(g, i, x_shape),
                      lambda c, _y, _g, i, *, x_shape, **at: [_gather_plane(c, i), None],
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
                      onnx=windows_by_taps.mean_gradient)
adaptive_avg_pool_op = Op(
    "adaptive_avg_pool", lambda x, *, output_size: pooling.adaptive_avg_pool(x, output_size),
    lambda g, _y, _x, *, output_size: [adaptive_avg_pool_grad_op(g, x_shape=_x.shape)],
    samples=lambda make: [Sample(make(2, 3, 7, 5), output_size=(3, 2))], onnx=in_onnx.adaptive_mean)
adaptive_avg_pool_grad_op = Op(
    "adaptive_avg_pool_grad", lambda g, *, x_shape: pooling.adaptive_avg_pool_grad(g, x_shape),
    lambda c, _y, _g, *, x_shape: [adaptive_avg_pool_op(c, output_size=_g.shape[2:])], inner=True,
    onnx=windows_by_taps.adaptive_mean_gradient)
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


def pooled_from(shape, *, kernel, stride, padding):
    """The least sizes from which a pool makes a tensor of this shape."""
    return tuple([(m - 1) * s + k - 2 * p
                  for m, k, s, p in zip(shape[2:], kernel, stride, padding, strict=True)])


def check_unpooled(shape, size, **window):
    """Raise ValueError where a pool could not have made a tensor of this shape from one of `size`.
    The op does so, too: it is made for other sizes where no public function is called."""
    for d, (least, s, n) in enumerate(zip(pooled_from(shape, **window), window["stride"], size,
                                          strict=True)):
        if not least - s < n < least + s:
            raise ValueError(f"invalid output_size \"{list(size)}\" (dim {d} must be between "
                             f"{least - s} and {least + s})")


def _max_unpool(x, i, *, output_size, **window):
    check_unpooled(x.shape, output_size, **window)
    return pooling.max_unpool(x, i, output_size)


def _unpooled_outline(x, i, *, output_size, **window):
    check_unpooled(x.shape, output_size, **window)
    return Outline((*x.shape[:2], *output_size), x.dtype)


max_unpool_op = Op("max_unpool", _max_unpool,
                   lambda g, _y, _x, i, **at: [_gather_plane(g, i), None], inner=True,
                   onnx=in_onnx.unpooled)
max_unpool_op.outlined = _unpooled_outline
max_unpool_op.moves = lambda out, x, i, **at: [(out, 0)]
max_unpool_op.write_without_numpy = lambda out, x, i, *, output_size, **window: pooling.unpool_onto(
    out, x, i, output_size)
fold_op.moves = lambda out, c, *, output_size, **at: [(out, 0)]
fold_op.write_by_kernels = lambda out, c, **at: pooling.fold_onto(out, c, **at)
unfold_op.moves = lambda out, x, **at: window_geometry.unfold_moves(out, x, **at)
_launched = (max_pool_values_op, adaptive_max_pool_values_op, max_pool_grad_op, avg_pool_op,
             avg_pool_grad_op, adaptive_avg_pool_op, adaptive_avg_pool_grad_op)
for _o in (*_launched, max_pool_op, adaptive_max_pool_op, unfold_op, fold_op, max_unpool_op):
    _o.family, _o.batch_rule = "window", folded("x_shape")
    _o.forward_on_device = devices.function_of("pooling", _o.name)
for _o in (*_launched, max_pool_op, adaptive_max_pool_op):
    _o.launches = True
max_pool_op.makes = outlines.pooled(np.int64)
max_pool_values_op.makes = avg_pool_op.makes = outlines.pooled()
adaptive_max_pool_op.makes = outlines.pooled_to(np.int64)
adaptive_max_pool_values_op.makes = adaptive_avg_pool_op.makes = outlines.pooled_to()
for _o in (max_pool_grad_op, avg_pool_grad_op, adaptive_avg_pool_grad_op):
    _o.makes = outlines.pool_gradient
unfold_op.makes, fold_op.makes = outlines.columns, outlines.image_of_columns
for _o in (*_launched, max_pool_op, adaptive_max_pool_op, unfold_op, fold_op, max_unpool_op):
    _o.any_sizes, _o.size_attrs = True, frozenset(("x_shape", "output_size"))
for _o in ((max_pool_grad_op, avg_pool_op, avg_pool_grad_op, adaptive_avg_pool_op,
            adaptive_avg_pool_grad_op, unfold_op, fold_op, max_unpool_op)):
    _o.linear = (0,)


def with_batch(name, x, n, least=BOOL, also=None):
    """The input with a batch dimension, and whether it had one. Its type is of the kind `least` or
    a higher one, or `also`."""
    checked_input(name, x)
    if x.ndim not in (n + 1, n + 2):
        raise RuntimeError(
            f"{name}: Expected {n + 1}D or {n + 2}D (batch mode) tensor for input, but got "
            f"{tuple(x.shape)}")
    if x.dtype.category < least and x.dtype is not also:
        raise NotImplementedError(f"\"{name}\" not implemented for '{x.dtype.letter}'")
    return (x, True) if x.ndim == n + 2 else (x.unsqueeze(0), False)


def check_channels(name, x, n):
    """Refuse an input (with a batch dimension) that has no channels: only batches may be empty."""
    if not x.shape[1]:
        raise RuntimeError(
            f"{name}: Expected {n + 1}D or {n + 2}D (batch mode) tensor with optional 0 dim batch "
            f"size for input, but got: {list(x.shape)}")


def _window(name, x, n, kernel, stride, padding, dilation=1, ceil_mode=False):
    kernel = tuple_of(kernel, n, name, "kernel_size")
    stride = (kernel if stride is None or (not isinstance(stride, int) and len(stride) == 0) else
              tuple_of(stride, n, name, "stride"))
    padding, dilation = (tuple_of(padding, n, name,
                                  "padding"), tuple_of(dilation, n, name, "dilation"))
    positive(name, kernel_size=kernel, stride=stride, dilation=dilation)
    for k, p in zip(kernel, padding):
        if p < 0 or p > k / 2:
            raise RuntimeError(
                f"{name}: pad should be at most half of effective kernel size, but got pad={p} "
                f"and kernel_size={k}")
    outs = (1,) * n
    if ceil_mode:
        outs = window_geometry.out_sizes(x.shape[-n:], kernel, stride, padding, dilation, True)
    for i in range(n):
        size = x.shape[-n + i]
        if (size == 0 or outs[i] < 1
                or size + 2 * padding[i] < dilation[i] * (kernel[i] - 1) + 1 and not ceil_mode):
            raise RuntimeError(
                f"{name}: Given input size: {tuple(x.shape)}. Calculated output size is too small "
                f"for kernel_size={kernel}")
    return kernel, stride, padding, dilation


def _check_ordered(name, x):
    if x.dtype.category == COMPLEX:
        raise NotImplementedError(f"\"{name}\" not implemented for '{x.dtype.letter}'")


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
    x, batched = with_batch(name, x, n, least=INT)
    _check_ordered(name, x)
    check_channels(name, x, n)
    kernel, stride, padding, dilation = _window(name, x, n, kernel, stride, padding, dilation,
                                                ceil_mode)
    attrs = dict(kernel=kernel, stride=stride, padding=padding, dilation=dilation,
                 ceil_mode=bool(ceil_mode))
    return _best(max_pool_op, max_pool_values_op, x, attrs, return_indices, batched)


def avg_pool(x, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override, n):
    """avg_poolNd"""
    name = f"avg_pool{n}d"
    x, batched = with_batch(name, x, n, least=FLOAT, also=int64)
    check_channels(name, x, n)
    kernel, stride, padding, _ = _window(name, x, n, kernel, stride, padding, 1, ceil_mode)
    if divisor_override is not None:
        divisor_override = as_int(divisor_override, name, "divisor_override")
    if divisor_override == 0:
        raise RuntimeError("divisor must be not zero")
    y = apply(
        avg_pool_op, (x,),
        dict(kernel=kernel, stride=stride, padding=padding, ceil_mode=bool(ceil_mode),
             count_include_pad=bool(count_include_pad), divisor_override=divisor_override))
    return y if batched else y.squeeze(0)


def _output_size(x, size, n):
    name = f"adaptive pool over {n} dimensions"
    if size is None and n == 1:
        raise TypeError("adaptive_pool1d(): argument 'output_size' must be ints, not NoneType")
    size = (size,) * n if size is None or not hasattr(size, "__iter__") else tuple(size)
    size = [s if s is None else as_int(s, f"adaptive_pool{n}d", "output_size", i + 1, whole)
            for i, s in enumerate(size)]
    if len(size) != n or any(s is not None and s < 0 for s in size):
        raise RuntimeError(f"{name}: output_size must have {n} numbers >= 0, but got {size}")
    if x.ndim <= n and n > 1:
        raise ValueError(f"{name}: Input dimension should be at least {n + 1}, but got {x.ndim}")
    return tuple(x.shape[-n + i] if s is None else s for i, s in enumerate(size))


def _not_empty(name, sizes):
    if 0 in sizes:
        raise RuntimeError(f"{name}(): Expected input to have non-zero size for non-batch "
                           f"dimensions, but got {list(sizes)}")


def adaptive_avg_pool(x, size, n):
    """adaptive_avg_poolNd. A mean of whole planes is one like any other, which fuses better."""
    whole_planes = all(isinstance(s, int) and s == 1
                       for s in (size if isinstance(size, tuple | list) else (size,)))
    size = _output_size(x, size, n)
    x, batched = with_batch(f"adaptive_avg_pool{n}d", x, n, least=FLOAT)
    _not_empty(f"adaptive_avg_pool{n}d", x.shape[2:])
    if whole_planes:
        y = x.mean(tuple(range(2, n + 2)), keepdim=True)
    else:
        y = apply(adaptive_avg_pool_op, (x,), dict(output_size=size))
    return y if batched else y.squeeze(0)


def adaptive_max_pool(x, size, return_indices, n):
    """adaptive_max_poolNd"""
    attrs = dict(output_size=_output_size(x, size, n))
    x, batched = with_batch(f"adaptive_max_pool{n}d", x, n)
    _check_ordered(f"adaptive_max_pool{n}d", x)
    _not_empty(f"adaptive_max_pool{n}d", x.shape[1 if batched else 2:])
    return _best(adaptive_max_pool_op, adaptive_max_pool_values_op, x, attrs, return_indices,
                 batched)


def _doc(name, n, says):
    """The docstring of a pool, with an example that gives two places in each dimension."""
    x = f"whet.ones(1, 3{', 4' * n})"
    arguments = {"lp_pool": f"{x}, 2, kernel_size=2",
                 "max_unpool": f"*F.max_pool{n}d({x}, 2, return_indices=True), kernel_size=2"}.get(
        name, f"{x}, {'output_size' if 'adaptive' in name else 'kernel_size'}=2")
    size = 4 if name == "max_unpool" else 2
    return docstrings.with_example(
        f"{says}, over {n} spatial dimension{'s' * (n > 1)}.",
        f"import whet.nn.functional as F\n>>> F.{name}{n}d({arguments}).shape",
        f"whet.Size([1, 3{f', {size}' * n}])")


def _pools():
    """{name: function} of every pool in one, two and three dimensions."""
    env = dict(avg_pool=avg_pool, adaptive_avg_pool=adaptive_avg_pool, give_out=give_out,
               adaptive_max_pool=adaptive_max_pool, lp_pool=lp_pool, max_unpool=max_unpool,
               max_pool=max_pool)
    out = {}
    for n in (1, 2, 3):
        for name, params, call, says in (
                ("max_pool", "input, kernel_size, stride=None, padding=0, dilation=1, "
                             "ceil_mode=False, return_indices=False",
                 "input, kernel_size, stride, padding, dilation, ceil_mode, return_indices",
                 "The largest value of each window"),
                ("avg_pool", "input, kernel_size, stride=None, padding=0, ceil_mode=False, "
                             "count_include_pad=True"
                 + (", divisor_override=None" if n > 1 else ""),
                 "input, kernel_size, stride, padding, ceil_mode, count_include_pad, "
                 + ("divisor_override" if n > 1 else "None"), "The mean of each window"),
                ("adaptive_avg_pool", "input, output_size", "input, output_size",
                 "The means of windows that are chosen to give `output_size`"),
                ("adaptive_max_pool", "input, output_size, return_indices=False",
                 "input, output_size, return_indices",
                 "The largest values of windows that are chosen to give `output_size`"),
                ("lp_pool", "input, norm_type, kernel_size, stride=None, ceil_mode=False",
                 "input, norm_type, kernel_size, stride, ceil_mode", "The p-norm of each window"),
                ("max_unpool", "input, indices, kernel_size, stride=None, padding=0, "
                               "output_size=None",
                 "input, indices, kernel_size, stride, padding, output_size",
                 "The values of a max pool at the places that they came from, zero elsewhere")):
            f = f"{name}{n}d"
            text = f"def {f}({params}):\n    return {name}({call}, {n})"
            if name == "avg_pool" and n > 1:
                text = (f"def {f}({params}, *, out=None):\n    y = {name}({call}, {n})\n"
                        f"    return y if out is None else give_out({f!r}, y, out, (input,))")
            out[f] = guard(compile_function(f, text, env))
            out[f].__doc__ = _doc(name, n, says)
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


def _unpooled_size(size, n):
    """The size that was asked for, without batch and channels."""
    size = tuple([whole(s) for s in size])
    if len(size) not in (n, n + 2):
        raise ValueError(f"output_size should be a sequence containing {n} or {n + 2} elements, "
                         f"but it has a length of '{len(size)}'")
    return size[-n:]


def max_unpool(x, indices, kernel, stride, padding, output_size, n):
    """Put values back where a max pool found them; zeros elsewhere."""
    name = f"max_unpool{n}d"
    if tuple(x.shape) != tuple(indices.shape):
        raise RuntimeError(
            f"{name}: Expected shape of indices to be same as that of the input tensor "
            f"({tuple(x.shape)}) but got indices tensor with shape: {tuple(indices.shape)}")
    if indices.dtype is not int64:
        raise RuntimeError(f"{name}: elements in indices should be type int64 but got: "
                           f"{indices.dtype.letter}")
    x, batched = with_batch(name, x, n)
    i = indices if batched else indices.unsqueeze(0)
    kernel = tuple_of(kernel, n, name, "kernel_size")
    stride, padding = (tuple_of(kernel if stride is None else stride, n, name,
                                "stride"), tuple_of(padding, n, name, "padding"))
    window = {"kernel": kernel, "stride": stride, "padding": padding}
    if output_size is None:
        size = pooled_from(x.shape, **window)
    else:
        size = _unpooled_size(output_size, n)
        check_unpooled(x.shape, size, **window)
    planes = int(np.prod(size, dtype=np.int64))
    if i.numel() and ask(outside(planes), i):
        raise RuntimeError(
            f"{name}: found an invalid max index: {int(i.max())} (output volumes are of size "
            f"{'x'.join(map(str, size))})")
    y = apply(max_unpool_op, (x, i), {"output_size": size, **window})
    return y if batched else y.squeeze(0)


POOLS = _pools()
for _n in (("max_pool1d", "max_pool2d", "max_pool3d", "avg_pool1d", "adaptive_avg_pool1d",
            "adaptive_max_pool1d")):
    FUNCTIONS[_n] = POOLS[_n]
