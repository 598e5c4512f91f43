"""The ONNX forms of convolutions and pools: the `onnx` of their ops. `b` writes nodes
(`onnx/write/builder.py`)."""

import math

import numpy as np

from ...cpu import pooling
from ...dtypes import FLOAT, SHORT
from . import windows_by_taps


def convolution(b, x, w, bias=None, *, stride, padding, dilation, groups):
    """The operator `Conv`."""
    if not windows_by_taps.sums_run(b, "Conv", x):
        at = dict(stride=stride, padding=padding, dilation=dilation)
        return windows_by_taps.convolution(b, x, w, bias, groups=groups, **at)
    return b.Conv(
        x,
        w,
        bias,
        strides=list(stride),
        pads=[*padding, *padding],
        dilations=list(dilation),
        group=groups,
        kernel_shape=list(w.shape[2:]),
    )


def transposed_convolution(b, g, w, *, x_shape, stride, padding, dilation, groups):
    """The gradient of a convolution by its input: the operator `ConvTranspose`."""
    if not windows_by_taps.sums_run(b, "ConvTranspose", g):
        at = dict(stride=stride, padding=padding, dilation=dilation)
        return windows_by_taps.input_gradient(b, g, w, x_shape=x_shape, groups=groups, **at)
    extra = [
        n - ((m - 1) * s - 2 * p + d * (k - 1) + 1)
        for n, m, s, p, d, k in zip(
            x_shape[2:], g.shape[2:], stride, padding, dilation, w.shape[2:]
        )
    ]
    extra = b.static(*extra)
    y = b.ConvTranspose(
        g,
        w,
        strides=list(stride),
        pads=[*padding, *padding],
        group=groups,
        dilations=list(dilation),
        kernel_shape=list(w.shape[2:]),
        output_padding=[max(e, 0) for e in extra],
    )
    for d, e in enumerate(extra):
        y = b.slice(y, d + 2, 0, e) if e < 0 else y
    return y


def _ends(b, x, kernel, stride, padding, dilation, ceil_mode):
    """How far windows reach beyond the end: with so much padding, sizes need no rounding up."""
    if not ceil_mode:
        return list(padding)
    sizes = b.static(*x.shape[2:])
    out = b.results[0].shape[2:]
    return [
        max((m - 1) * s + d * (k - 1) + 1 - n - p, p)
        for m, s, d, k, n, p in zip(out, stride, dilation, kernel, sizes, padding)
    ]


def largest(b, x, *, kernel, stride, padding, dilation, ceil_mode, outputs=1):
    """The op `max_pool_values`: the operator `MaxPool`."""
    known = all(isinstance(n, int) for n in x.shape[2:])
    ends = _ends(b, x, kernel, stride, padding, dilation, ceil_mode and known)
    if not b.runs("MaxPool", x.dtype):
        at = dict(kernel=kernel, stride=stride, padding=padding, dilation=dilation)
        made = windows_by_taps.largest(b, x, ends=ends, **at)
        return made if outputs > 1 else made[0]
    return b.MaxPool(
        x,
        kernel_shape=list(kernel),
        strides=list(stride),
        pads=[*padding, *ends],
        dilations=list(dilation),
        ceil_mode=int(ceil_mode and not known),
        outputs=outputs,
    )


def largest_with_places(b, x, **at):
    """The op `max_pool`. Places are counted in a plane here, in the whole tensor there."""
    values, places = largest(b, x, **at, outputs=2)
    if not b.runs("MaxPool", x.dtype):
        return values, places
    return values, b.Mod(places, b.number(math.prod(b.static(*x.shape[2:])), "i64"))


def mean(b, x, *, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override):
    """The op `avg_pool`: the operator `AveragePool`; where windows reach beyond the padding, or are
    divided by another number, the sum of each window times a constant."""
    how = dict(kernel_shape=list(kernel), strides=list(stride))
    _only_real(b, x)
    if not b.runs("AveragePool", x.dtype):
        at = dict(ceil_mode=ceil_mode, count_include_pad=count_include_pad)
        return _mean_of_taps(b, x, kernel, stride, padding, divisor_override, at)
    if not ceil_mode and divisor_override is None:
        return b.AveragePool(
            x, pads=[*padding, *padding], count_include_pad=int(count_include_pad), **how
        )
    at = dict(
        kernel=kernel,
        stride=stride,
        padding=padding,
        ceil_mode=ceil_mode,
        count_include_pad=count_include_pad,
    )
    ends = _ends(b, x, kernel, stride, padding, (1,) * len(kernel), ceil_mode)
    ones = np.ones((1, 1, *b.static(*x.shape[2:])), SHORT[x.dtype].np)
    part = pooling.avg_pool(ones, **at, divisor_override=divisor_override)
    whole = pooling.avg_pool(ones, **at, divisor_override=1)
    wide = b.Pad(x, b.ints((0, 0, *padding, 0, 0, *ends)))
    total = b.AveragePool(wide, **how)
    return b.Mul(
        total, b.constant((part / whole * math.prod(kernel)).astype(ones.dtype), "factors")
    )


def _only_real(b, x):
    """Means of whole numbers are what sums of their type leave of them."""
    if SHORT[x.dtype].category != FLOAT:
        b.refuse("means of whole numbers in windows")


def _mean_of_taps(b, x, kernel, stride, padding, divisor, at):
    """The op `avg_pool` by its taps, which are multiplied by what each window's count says."""
    ones = np.ones((1, 1, *b.static(*x.shape[2:])), SHORT[x.dtype].np)
    how = dict(kernel=kernel, stride=stride, padding=padding, **at)
    part = pooling.avg_pool(ones, **how, divisor_override=divisor)
    whole = pooling.avg_pool(ones, **how, divisor_override=1)
    single = (1,) * len(kernel)
    ends = _ends(b, x, kernel, stride, padding, single, at["ceil_mode"])
    found = windows_by_taps.taps(
        b, x, part.shape[2:], kernel=kernel, stride=stride, padding=padding, dilation=single,
        ends=ends)
    total = b.reduce("ReduceSum", found, (2,), keepdim=False)
    return b.Mul(total, b.constant(part / whole, "factors"))


def _even(x, output_size):
    """The windows of an adaptive pool, where all have one size; else None."""
    sizes = x.shape[2:]
    if not all(isinstance(n, int) for n in (*sizes, *output_size)):
        return None
    if not all(m and n % m == 0 for n, m in zip(sizes, output_size)):
        return None
    kernel = [n // m for n, m in zip(sizes, output_size)]
    return dict(kernel_shape=kernel, strides=kernel)


def adaptive_mean(b, x, *, output_size):
    """The op `adaptive_avg_pool`: products with matrices, where windows differ in size."""
    _only_real(b, x)
    how = _even(x, output_size) if b.runs("AveragePool", x.dtype) else None
    if set(output_size) == {1}:
        mean = b.reduce("ReduceMean", x, range(2, x.ndim)) if how is None else None
        return mean or b.GlobalAveragePool(x)
    if how is not None:
        return b.AveragePool(x, **how)
    letters = "abcde"[: x.ndim]
    for d, (n, m) in enumerate(zip(x.shape[2:], output_size), 2):
        made = letters.replace(letters[d], "o")
        x = b.Einsum(x, _shares(b, n, m, x.dtype), equation=f"{letters},o{letters[d]}->{made}")
    return x


def _shares(b, n, m, dtype):
    """How much of each of n elements is in each of the m means of them."""
    if not all(isinstance(size, int | np.integer) for size in (n, m)):
        return _shares_of_any(b, n, m, dtype)
    matrix = np.zeros((m, n), SHORT[dtype].np)
    for i in range(m):
        low, high = windows_by_taps.window(i, n, m)
        matrix[i, low:high] = 1 / (high - low)
    return b.constant(matrix, "windows")


def _shares_of_any(b, n, m, dtype):
    """How much of each of n elements is in each of the m means of them, where n or m is known when
    the model runs: window i is from i*n/m, rounded down, to (i+1)*n/m, rounded up."""
    count, means = b.number(n, "i64"), b.number(m, "i64")
    row = b.unsqueeze(b.range_of(m), (1,))
    low = b.Div(b.Mul(row, count), means)
    high = b.Div(b.Add(b.Mul(b.Add(row, 1), count), b.Sub(means, 1)), means)
    at = b.range_of(n)
    inside = b.And(b.GreaterOrEqual(at, low), b.Less(at, high))
    return b.Div(b.cast(inside, dtype), b.cast(b.Sub(high, low), dtype))


def adaptive_largest(b, x, *, output_size):
    """The op `adaptive_max_pool_values`."""
    how = _even(x, output_size) if b.runs("MaxPool", x.dtype) else None
    if how is not None:
        return b.MaxPool(x, **how)
    for d, (n, m) in enumerate(zip(b.static(*x.shape[2:]), output_size), 2):
        windows = [b.slice(x, d, *windows_by_taps.window(i, n, m)) for i in range(m)]
        x = b.Concat(*[b.reduce("ReduceMax", w, (d,)) for w in windows], axis=d)
    return x


def adaptive_largest_with_places(b, x, *, output_size):
    """The op `adaptive_max_pool`."""
    how = _even(x, output_size) if b.runs("MaxPool", x.dtype) else None
    if how is None:
        return windows_by_taps.adaptive(b, x, output_size)
    values, places = b.MaxPool(x, **how, outputs=2)
    return values, b.Mod(places, b.number(math.prod(x.shape[2:]), "i64"))


def put_back(b, x, places, *, shape, **how):
    """Values at places of planes, zeros elsewhere; sums where `reduction` says so."""
    n, c, *sizes = b.static(*shape)
    zero = b.filled(b.ints((n, c, math.prod(sizes))), np.zeros((), SHORT[x.dtype].np))
    rows = b.ints((n, c, -1))
    made = b.ScatterElements(zero, b.Reshape(places, rows), b.Reshape(x, rows), axis=2, **how)
    return b.reshape(made, shape)


def unpooled(b, x, places, *, output_size, **window):
    """The op `max_unpool`."""
    return put_back(b, x, places, shape=(*x.shape[:2], *output_size))


def spread_to_largest(b, g, places, *, x_shape, **at):
    """The op `max_pool_grad`."""
    return put_back(b, g, places, shape=x_shape, reduction="add")


def _block_places(shape, at):
    """The place in an image of each element of its blocks; less than zero beyond it."""
    numbers = np.arange(1, math.prod(shape) + 1, dtype=np.float64).reshape(shape)
    return np.asarray(pooling.unfold(numbers, **at)).astype(np.int64) - 1


def blocks(b, x, **at):
    """The op `unfold_windows`: each element is gathered."""
    places = _block_places((1, *b.static(*x.shape[1:])), at)
    rows = b.Reshape(x, b.ints((x.shape[0], -1)))
    made = b.Gather(rows, b.constant(np.maximum(places[0], 0), "places"), axis=1)
    return b.where(b.constant(places[0] >= 0, "inside"), made, b.number(0, x.dtype))


def blocks_summed(b, c, *, output_size, **at):
    """The op `fold_windows`: each element is added to its place, beyond the image to one more."""
    n, (rows,) = c.shape[0], b.static(c.shape[1])
    sizes = rows // math.prod(at["kernel"]), *b.static(*output_size)
    places = _block_places((1, *sizes), at).reshape(-1)
    made = windows_by_taps.summed(b, b.Reshape(c, b.ints((n, -1))), places, sizes)
    return b.reshape(made, (n, *sizes))
