"""Convolutions and pools in ONNX where it has no operator for them: of types that `Conv` and the
pools lack, and gradients. Each tap of a window is a strided part of the image: the parts lie one
beside the other, and what is left is a product or a reduction. `b` writes nodes
(`onnx/write/builder.py`)."""

import itertools
import math

import numpy as np

from ...cpu import pooling
from ...dtypes import FLOAT, SHORT
from .shapes import END


def sums_run(b, operator, x):
    """Has an operator that adds a kernel for the type of x? Whole numbers wrap around in their own
    type, and would be rounded in a wider one."""
    return SHORT[x.dtype].category == FLOAT and b.runs(operator, x.dtype)


def lowest(dtype):
    """The least number of a type."""
    d = SHORT[dtype]
    return -np.inf if d.category == FLOAT else 0 if dtype == "bool" else np.iinfo(d.np).min


def greatest(dtype):
    """The greatest number of a type."""
    d = SHORT[dtype]
    return np.inf if d.category == FLOAT else 1 if dtype == "bool" else np.iinfo(d.np).max


def taps(b, x, size, *, kernel, stride, dilation, padding, ends=None, fill=0):
    """(items, channels, taps, *size): what each window holds, by taps. `size` says how many windows
    there are, `ends` how much is put behind, at first what is put before."""
    if any(padding) or any(ends or ()):
        amounts = b.ints((0, 0, *padding, 0, 0, *(ends or padding)))
        shape = x.shape
        x = b.Pad(x, amounts, b.number(fill, x.dtype))
        x.shape = shape
    axes = b.ints(range(2, x.ndim))
    zeros, n = b.ints([0] * len(kernel)), len(kernel)
    parts = []
    for at in itertools.product(*map(range, kernel)):
        first = b.ints([i * d for i, d in zip(at, dilation)])
        part = b.Slice(x, first, b.ints([END] * n), axes, b.ints(stride))
        parts.append(b.unsqueeze(b.Slice(part, zeros, b.ints(size), axes), (2,)))
    return b.Concat(*parts, axis=2) if len(parts) > 1 else parts[0]


def _wide(x):
    """The type that a product is computed in."""
    return "i64" if SHORT[x.dtype].category < FLOAT else x.dtype


def _columns(b, x, w_shape, size, groups, at):
    """The windows as matrices: (items, groups, channels of a group * taps, windows)."""
    kernel = w_shape[2:]
    found = taps(b, x, size, kernel=kernel, **at)
    rows = w_shape[1] * math.prod(kernel)
    return b.cast(b.Reshape(found, b.ints((x.shape[0], groups, rows, -1))), _wide(x))


def convolution(b, x, w, bias, *, groups, **at):
    """The op `convolution`, as products of matrices."""
    shape = b.results[0].shape
    columns = _columns(b, x, b.static(*w.shape), shape[2:], groups, at)
    weight = b.reshape(b.cast(w, _wide(x)), (groups, w.shape[0] // groups, columns_of(w)))
    made = b.cast(b.reshape(b.MatMul(weight, columns), shape), x.dtype)
    if bias is None:
        return made
    return b.Add(made, b.reshape(bias, (-1, *[1] * (x.ndim - 2))))


def columns_of(w):
    """How many elements a row of a weight has."""
    return math.prod(w.shape[1:])


def weight_gradient(b, g, x, *, w_shape, groups, **at):
    """The op `conv_weight_grad`: products with what the windows held, summed over items."""
    columns = _columns(b, x, w_shape, g.shape[2:], groups, at)
    sizes = (g.shape[0], groups, w_shape[0] // groups, -1)
    rows = b.cast(b.Reshape(g, b.ints(sizes)), _wide(g))
    found = b.MatMul(rows, b.Transpose(columns, perm=[0, 1, 3, 2]))
    return b.cast(b.reshape(b.reduce("ReduceSum", found, (0,), keepdim=False), w_shape), g.dtype)


def input_gradient(b, g, w, *, x_shape, groups, **at):
    """The op `conv_input_grad`, as products of matrices, which are added to their places."""
    w_shape, sizes = b.static(*w.shape), b.static(*x_shape[1:])
    weight = b.reshape(b.cast(w, _wide(g)), (groups, w_shape[0] // groups, columns_of(w)))
    rows = b.Reshape(b.cast(g, _wide(g)), b.ints((g.shape[0], groups, w_shape[0] // groups, -1)))
    parts = b.MatMul(b.Transpose(weight, perm=[0, 2, 1]), rows)
    parts = b.Reshape(parts, b.ints((g.shape[0], -1)))
    numbers = np.arange(1, math.prod(sizes) + 1, dtype=np.float64).reshape((1, *sizes))
    places = np.asarray(pooling.unfold(numbers, kernel=w_shape[2:], **at)).astype(np.int64) - 1
    return b.cast(b.reshape(summed(b, parts, places.reshape(-1), sizes), x_shape), g.dtype)


def summed(b, rows, places, sizes):
    """Rows whose elements are added to their places among zeros; none where that is less than 0."""
    n = math.prod(sizes)
    items = b.slice(b.Shape(rows), 0, 0, 1)
    zero = b.filled(b.Concat(items, b.ints((n + 1,)), axis=0), np.zeros((), SHORT[rows.dtype].np))
    index = b.constant(np.where(places < 0, n, places)[None], "places")
    made = b.ScatterElements(zero, b.Expand(index, b.Shape(rows)), rows, axis=1, reduction="add")
    return b.slice(made, 1, 0, n)


def largest(b, x, *, ends, kernel, stride, padding, dilation):
    """(the greatest element of each window, its place in the plane)"""
    sizes, size = b.static(*x.shape[2:]), b.static(*b.results[0].shape[2:])
    at = dict(kernel=kernel, stride=stride, dilation=dilation)
    found = taps(b, x, size, **at, padding=padding, ends=ends, fill=lowest(x.dtype))
    values = b.reduce("ReduceMax", found, (2,), keepdim=False)
    return values, _places(b, b.place(True, found, 2, True), sizes, size, padding, at)


def _places(b, best, sizes, size, padding, at):
    """The places in a plane of the best taps."""
    table = np.zeros((), np.int64)
    for d, n in enumerate(sizes):
        window = np.arange(size[d]) * at["stride"][d] - padding[d]
        tap = np.arange(at["kernel"][d]) * at["dilation"][d]
        shape = [1] * (2 * len(sizes))
        shape[d], shape[len(sizes) + d] = len(tap), len(window)
        table = table * n + (tap[:, None] + window).reshape(shape)
    table = b.constant(table.reshape(1, 1, -1, *size), "places")
    sizes = b.Concat(b.slice(b.Shape(best), 0, 0, 2), b.ints((table.shape[2], *size)), axis=0)
    return b.squeeze(b.GatherElements(b.Expand(table, sizes), best, axis=2), (2,))


def window(i, n, m):
    """(first, one past the last) place of window i of m over n places."""
    return i * n // m, -(-(i + 1) * n // m)


def adaptive(b, x, output_size):
    """(the greatest element of windows of several sizes, its place in the plane)"""
    sizes = b.static(*x.shape[2:])
    plane = np.arange(math.prod(sizes)).reshape(sizes)
    windows = [
        plane[tuple(slice(*window(i, n, m)) for i, n, m in zip(at, sizes, output_size))]
        for at in np.ndindex(*output_size)
    ]
    most = max(w.size for w in windows)
    table = np.stack([np.pad(w.reshape(-1), (0, most - w.size), "edge") for w in windows])
    rows = b.Reshape(x, b.ints((x.shape[0], x.shape[1], -1)))
    found = b.Gather(rows, b.constant(table, "places"), axis=2)
    best = b.place(True, found, 3, True)
    table = b.constant(table[None, None], "places")
    wide = b.Concat(b.slice(b.Shape(best), 0, 0, 2), b.ints(table.shape[2:]), axis=0)
    places = b.GatherElements(b.Expand(table, wide), best, axis=3)
    shape = b.ints((x.shape[0], x.shape[1], *output_size))
    largest = b.reduce("ReduceMax", found, (3,), keepdim=False)
    return b.Reshape(largest, shape), b.Reshape(places, shape)


def shares_added(b, g, x_shape, pool):
    """The gradient of a mean over windows: a product with the matrix that the mean is, transposed.
    `pool` is the op on an array."""
    sizes = b.static(*x_shape[2:])
    n = math.prod(sizes)
    matrix = np.asarray(pool(np.eye(n).reshape(n, 1, *sizes))).reshape(n, -1)
    rows = b.Reshape(g, b.ints((g.shape[0], g.shape[1], -1)))
    made = b.MatMul(rows, b.constant(matrix.T.astype(SHORT[g.dtype].np), "shares"))
    return b.reshape(made, x_shape)


def mean_gradient(b, g, *, x_shape, **at):
    """The op `avg_pool_grad`."""
    return shares_added(b, g, x_shape, lambda image: pooling.avg_pool(image, **at))


def adaptive_mean_gradient(b, g, *, x_shape):
    """The op `adaptive_avg_pool_grad`."""
    size = b.static(*g.shape[2:])
    return shares_added(b, g, x_shape, lambda image: pooling.adaptive_avg_pool(image, size))
