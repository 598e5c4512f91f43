"""Weighted sums of a few elements at given places of planes, on NumPy arrays: by kernels
(`passes/lower_llvm/elements/grid_sampling.py`), or with NumPy where nothing is compiled."""
from functools import partial
from math import prod

import numpy as np
from whet.passes.lower_llvm.elements import grid_sampling as kernels

from . import memory, native
from .reference_only import REFERENCE
from .rows import contiguous

ELEMENTS = {np.dtype("f4"): "float", np.dtype("f8"): "double"}
GRAIN = 1 << 12                 # gathers that are worth a thread of their own
LARGEST = (1 << 31) - 1         # elements of a plane: places are numbers of 32 bits


def sums(x, places, weights):
    """out[..., c, p] = sum over taps of weight[..., p] * x[..., c, place[..., p]]"""
    if x.dtype not in ELEMENTS or REFERENCE:
        return _sums(x, places, weights)
    *batch, channels, size = x.shape
    taps = (*batch, places[0].shape[-1])
    x, places, weights = _planes(x), _dense(places, taps), _dense(weights, taps)
    out = memory.empty((*batch, channels, places[0].shape[-1]), x.dtype)
    if out.size:
        _by_blocks("sums", partial(kernels.sums, weighted=bool(weights)), x,
                   (x, out, *places, *weights), len(places), bool(weights), places[0].shape[-1])
    return out


def products(x, g, places):
    """For each tap out[..., p] = sum over c of g[..., c, p] * x[..., c, place[..., p]]"""
    if x.dtype not in ELEMENTS or REFERENCE:
        return tuple([(g * _picked(x, k)).sum(-2, dtype=x.dtype) for k in places])
    taps = (*x.shape[:-2], g.shape[-1])
    x, g, places = _planes(x), contiguous(g), _dense(places, taps)
    if g.shape[:-1] != x.shape[:-1]:
        raise ValueError(f"the planes differ: {x.shape} and {g.shape}")
    outs = [memory.empty(k.shape, x.dtype) for k in places]
    if outs[0].size:
        _by_blocks("products", kernels.products, x, (x, g, *places, *outs), len(places), True,
                   g.shape[-1])
    return tuple(outs)


def spread(g, places, weights, size):
    """out[..., c, s] = sum of weight[..., p] * g[..., c, p] over places and taps that are s"""
    *batch, channels, count = g.shape
    if g.dtype not in ELEMENTS or REFERENCE:
        return _spread(g, places, weights, size)
    taps = (*batch, count)
    g, places, weights = contiguous(g), _dense(places, taps), _dense(weights, taps)
    out = memory.empty((*batch, channels, size), g.dtype)
    if out.size:
        number, elem = len(places), ELEMENTS[g.dtype]
        write = partial(kernels.spread, elem=elem, taps=number, weighted=bool(weights))
        native.launch(native.kernel(f"sample/spread/{elem}/{number}/{bool(weights)}", write),
                      prod(batch) * channels, max(1, GRAIN // max(1, number * count)), g, out,
                      *places, *weights, channels, size, count)
    return out


def _by_blocks(name, write, x, operands, taps, weighted, count):
    """Launch a kernel whose units are blocks of places."""
    *batch, channels, size = x.shape
    elem = ELEMENTS[x.dtype]
    units = prod(batch) * -(-count // kernels.BLOCK)
    steps = min(count, kernels.BLOCK) * taps * max(1, channels)
    native.launch(native.kernel(f"sample/{name}/{elem}/{taps}/{weighted}",
                                partial(write, elem=elem, taps=taps)), units,
                  max(1, 2 * GRAIN // steps), *operands, channels, size, count, *_steps(x))


def _planes(x):
    """x with elements of a plane side by side, however the planes lie: `expand` may show one image
    many times."""
    return x if x.ndim <= 3 and x.strides[-1] == x.itemsize else contiguous(x)


def _steps(x):
    """The elements from one image to the next, and from one channel to the next."""
    if x.ndim > 3:                               # row-major, see `_planes`
        return prod(x.shape[-2:]), x.shape[-1]
    image, channel = (0, 0, *x.strides)[-3:-1]
    return image // x.itemsize, channel // x.itemsize


def _dense(arrays, shape):
    """The places or weights of taps, in row-major order; all must have one shape."""
    if any(a.shape != shape for a in arrays):
        raise ValueError(f"taps must have the shape {shape}, not {[a.shape for a in arrays]}")
    return [contiguous(a) for a in arrays]


# ---- with NumPy ----------------------------------------------------------------------------------
def _picked(x, place):
    """The elements at these places; zero for places that do not exist."""
    size = x.shape[-1]
    inside = (place >= 0) & (place < size)
    at = np.where(inside, place, 0)[..., None, :].astype(np.int64)
    if not size:
        return np.zeros((*x.shape[:-1], place.shape[-1]), x.dtype)
    got = np.take_along_axis(x, np.broadcast_to(at, (*x.shape[:-1], at.shape[-1])), -1)
    return np.where(inside[..., None, :], got, 0).astype(x.dtype)


def _sums(x, places, weights):
    parts = []
    for t, place in enumerate(places):
        part = _picked(x, place)
        if weights:
            inside = (place >= 0) & (place < x.shape[-1])
            part = part * np.where(inside, weights[t], 0)[..., None, :]
        parts.append(part)
    return sum(parts[1:], parts[0]).astype(x.dtype, copy=False)


def _spread(g, places, weights, size):
    *batch, channels, _ = g.shape
    out = np.zeros((*batch, channels, size), g.dtype)
    for row in np.ndindex(*batch):
        for t, place in enumerate(places):
            inside = (place[row] >= 0) & (place[row] < size)
            part = g[row] * weights[t][row] if weights else g[row]
            for c in range(channels):
                np.add.at(out[(*row, c)], place[row][inside], part[c][inside])
    return out
