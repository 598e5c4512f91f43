"""Convolutions and their gradients on devices, with the CPU's bits: contractions in the canonical
order whose operands are told by tables of places, and Winograd's method where the CPU takes it."""
from __future__ import annotations

import itertools
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ..cpu.conv_gradient_plan import input_grad_gathered
from ..cpu.conv_plan import conv_gathered, dense, three, winograd_pays
from ..dtypes import FLOAT, FROM_NUMPY
from ..ir import scalar as S
from ..passes.lower_llvm.windows import winograd as transforms
from . import machine as m
from .arrays import DeviceArray, empty
from .errors import NoForm
from .gathers import cast, lowered
from .launch import launch
from .pointwise import Expressions, compute, copied, copy_into, fill, is_wide
from .transfers import to_device

F32 = np.dtype(np.float32)
Padded = tuple[DeviceArray, tuple[int, ...]]


def row_major(a: DeviceArray) -> DeviceArray:
    """The elements row by row."""
    return a if a.flags.c_contiguous else copied(a)


def computed(a: DeviceArray) -> DeviceArray:
    """The elements in the type that sums are formed in, row by row."""
    if a.dtype.kind == "c" or FROM_NUMPY[a.dtype].kind != FLOAT:
        raise NoForm(f"windows of {a.dtype.name}")
    return row_major(cast(a, F32) if a.itemsize == 2 else a)


def convolution(x: DeviceArray, w: DeviceArray, bias: DeviceArray | None = None, *,
                stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int],
                groups: int) -> DeviceArray:
    """A convolution."""
    wide_x, wide_w = computed(x), computed(w)
    r, shape = conv_gathered(wide_x, wide_w, stride, padding, dilation, groups)
    y = empty(x.index, shape, wide_x.dtype)
    Run(r, wide_x, wide_w, y.reshape(-1), None if bias is None else computed(bias)).launch()
    return cast(y, x.dtype)


def conv_input_grad(g: DeviceArray, w: DeviceArray, *, x_shape: Sequence[int],
                    stride: Sequence[int], **at: Any) -> DeviceArray:
    """The gradient with respect to the image: a run for each remainder by the stride."""
    wide_g, wide_w = computed(g), computed(w)
    x_shape = tuple(x_shape)
    gx = empty(g.index, x_shape, wide_g.dtype)
    flat, steps = gx.reshape(-1), dense(x_shape)[2:]
    runs = input_grad_gathered(wide_g, wide_w, x_shape, stride, **at)
    for r, phase in zip(runs, itertools.product(*map(range, stride)), strict=True):
        start = sum(p * s for p, s in zip(phase, steps, strict=True))
        Run(r, wide_g, wide_w, flat[start:], None).launch()
    return cast(gx, g.dtype)


def conv_weight_grad(g: DeviceArray, x: DeviceArray, *, w_shape: Sequence[int],
                     stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int],
                     groups: int) -> DeviceArray:
    """The gradient with respect to the weights: a contraction over all images' pixels."""
    wide_g, wide_x, w_shape = computed(g), computed(x), tuple(w_shape)
    gw = empty(g.index, w_shape, wide_g.dtype)
    if 0 in w_shape or 0 in g.shape:
        fill(gw, 0)
        return cast(gw, g.dtype)
    nd, images, outs = x.ndim - 2, x.shape[0], w_shape[0] // groups
    offsets = (*[(0,)] * (3 - nd), *[
        tuple(k * d - p for k in range(n))
        for n, d, p in zip(w_shape[2:], dilation, padding, strict=True)])
    sizes, steps = three(g.shape[2:], 1), three(stride, 1)
    image, low = padded(wide_x, offsets, sizes, steps)
    taps = tap_places(image.shape[2:], offsets, low, w_shape[1])
    pixels = pixel_places(image.shape[2:], sizes, steps)
    number = np.arange(images)[:, None]
    count = prod(sizes)
    contract(wide_g, image, gw.reshape(-1), (outs, len(taps), images * count), (1, groups),
             a=(count, (number * (w_shape[0] * count) + np.arange(count)).reshape(-1), 0,
                outs * count),
             b=((number * prod(image.shape[1:]) + pixels).reshape(-1), taps, 0,
                w_shape[1] * prod(image.shape[2:])),
             c=(len(taps), 1, 0, outs * len(taps)))
    return cast(gw, g.dtype)


def padded(x: DeviceArray, offsets: Sequence[Sequence[int]], out: Sequence[int],
           stride: Sequence[int]) -> Padded:
    """(images of three dimensions with zeros around them, as far as taps reach; how many in
    front)"""
    sizes = three(x.shape[2:], 1)
    low = tuple(max(0, -min(o)) for o in offsets)
    high = tuple(max(0, (n - 1) * s + max(o) - (size - 1))
                 for o, n, s, size in zip(offsets, out, stride, sizes, strict=True))
    x = x.reshape(*x.shape[:2], *sizes)
    if not any(low) and not any(high):
        return x, low
    room = empty(x.index, (*x.shape[:2], *(l + n + h for l, n, h in
                                          zip(low, sizes, high, strict=True))), x.dtype)
    fill(room, 0)
    if x.size:
        copy_into(room[(slice(None), slice(None), *(
            slice(l, l + n) for l, n in zip(low, sizes, strict=True)))], x)
    return room, low


def tap_places(sizes: Sequence[int], offsets: Sequence[Sequence[int]], low: Sequence[int],
               channels: int) -> np.ndarray:
    """Where each channel's taps lie, from an output's first pixel: (channel, tap) in order."""
    _, h, w = sizes
    z, y, x = (np.asarray(o, np.int64) + l for o, l in zip(offsets, low, strict=True))
    taps = ((z[:, None, None] * h + y[:, None]) * w + x).reshape(-1)
    return (np.arange(channels)[:, None] * prod(sizes) + taps).reshape(-1)


def pixel_places(sizes: Sequence[int], out: Sequence[int], stride: Sequence[int]) -> np.ndarray:
    """Where each output's first pixel lies."""
    _, h, w = sizes
    z, y, x = (np.arange(n) * s for n, s in zip(out, stride, strict=True))
    return ((z[:, None, None] * h + y[:, None]) * w + x).reshape(-1)


Steps = Sequence[Any]               # along two dimensions (a number or a table), and two batches'


def contract(left: DeviceArray, right: DeviceArray, out: DeviceArray, shape: tuple[int, int, int],
             batch: tuple[int, int], bias: DeviceArray | None = None, **steps: Steps) -> None:
    """out[m, n] = the sum over k of left[m, k] * right[k, n], in the canonical order. `steps`
    has those of
    them as a, b and c; `bias` has an element for each m of each inner batch."""
    from ..passes.lower_triton import contract as lower
    given: dict[str, Any] = {"a": left.geometry, "b": right.geometry, "c": out.geometry}
    dtype = FROM_NUMPY[left.dtype].short
    described = lower.Contract(dtype)
    if bias is not None:
        described = lower.Contract(dtype, epilogue=S.arg(0) + S.arg(1), operands=(dtype,))
        given["e0"], steps["e0"] = bias.geometry, (1, 0, 0, shape[0])
    numbers = dict(zip("mnk", shape, strict=True)) | {"inner": batch[1],
                                                      "batches": batch[0] * batch[1]}
    held, tables, ones = [], [], []
    for name, along in steps.items():
        for d, s in zip(("mk" if name == "a" else "kn" if name == "b" else "mn") + "oi", along,
                        strict=True):
            key = f"{name}_{d}"
            s = as_stride(s)
            if isinstance(s, np.ndarray):
                table = to_device(s.astype(np.int64), left.index, False)
                held.append(table)
                tables.append(key)
                given[key] = table.geometry
            else:
                numbers[key] = s
                if s == 1 and d in "mnk":
                    ones.append(key)
    wide = is_wide([left.geometry, right.geometry, out.geometry])
    units = m.machine().properties(out.index).multi_processor_count
    tile = lower.cut(described, "chains", shape, numbers["batches"], units).tile
    kind = "contract", dtype, bias is None, tuple(tables), tuple(ones), wide, tile
    source = lowered(kind, lambda: lower.lower(described, "chains", ones, wide, tables, tile))
    launch(left.index, source, given, numbers)


def as_stride(table: Any) -> Any:
    """A table of places that are equally far apart, from 0 on, as their distance; others, and
    numbers, as they are."""
    if not isinstance(table, np.ndarray) or not table.size or table[0]:
        return table
    step = int(table[1]) if table.size > 1 else 0
    return step if np.array_equal(table, np.arange(table.size) * step) else table


class Run:
    """One `Gathered`: y[n, o, p] = the sum over (channel, tap) of w[o, channel, tap] and x at the
    tap's offset from pixel p."""

    def __init__(self, r: Any, x: DeviceArray, w: DeviceArray, y: DeviceArray,
                 bias: DeviceArray | None) -> None:
        self.r, self.x, self.w, self.y, self.bias = r, x, w, y, bias

    def launch(self) -> None:
        """Fill y."""
        r = self.r
        if 0 in (*r.out, r.images, r.groups, r.rows):
            return
        if not prod(map(len, r.offsets)) or not r.channels:
            self.zeros()
        elif winograd_pays(r):
            self.winograd()
        else:
            self.direct()

    def places(self) -> DeviceArray:
        """The outputs as (image, channel, depth, height, width)."""
        r, size = self.r, self.y.itemsize
        shape = (r.images, r.groups * r.rows, *r.out)
        steps = [s * size for s in r.out_strides]
        return self.y.view_as(np.lib.stride_tricks.as_strided(self.y.geometry, shape, steps))

    def zeros(self) -> None:
        """No tap meets an output: what is added to nothing."""
        fill(self.places(), 0)
        if self.bias is not None:
            copy_into(self.places(), self.bias.reshape(1, -1, 1, 1, 1))

    def direct(self) -> None:
        """A contraction over channels and taps."""
        r = self.r
        image, low = padded(self.x, r.offsets, r.out, r.stride)
        taps = tap_places(image.shape[2:], r.offsets, low, r.channels)
        pixels = pixel_places(image.shape[2:], r.out, r.stride)
        group, row, channel = r.w_strides
        steps: Any = 1
        if r.taps_at or channel != prod(map(len, r.offsets)):
            listed = np.asarray(r.taps_at or range(prod(map(len, r.offsets))))
            steps = (np.arange(r.channels)[:, None] * channel + listed).reshape(-1)
        yn, yo, yd, yh, yw = r.out_strides
        z, y, x = (np.arange(n) * s for n, s in zip(r.out, (yd, yh, yw), strict=True))
        outs = (z[:, None, None] + y[:, None] + x).reshape(-1)
        size = prod(image.shape[2:])
        contract(self.w, image, self.y, (r.rows, len(outs), len(taps)), (r.images, r.groups),
                 self.bias, a=(row, steps, 0, group),
                 b=(taps, pixels, r.groups * r.channels * size, r.channels * size),
                 c=(yo, outs, yn, r.rows * yo))

    # ---- Winograd's F(2x2, 3x3) ----
    def winograd(self) -> None:
        """16 products of matrices for tiles of 2x2 outputs."""
        r, index = self.r, self.x.index
        tall, wide = (-(-n // 2) for n in r.out[1:])
        count = r.images * tall * wide
        weights = empty(index, (16, r.groups * r.rows, r.channels), F32)
        seen = empty(index, (16, r.groups * r.channels, count), F32)
        products = empty(index, (16, r.groups * r.rows, count), F32)
        self.transform_weights(weights)
        self.transform_tiles(seen, tall, wide)
        contract(weights, seen, products, (r.rows, count, r.channels), (16, r.groups),
                 a=(r.channels, 1, r.groups * r.rows * r.channels, r.rows * r.channels),
                 b=(count, 1, r.groups * r.channels * count, r.channels * count),
                 c=(count, 1, r.groups * r.rows * count, r.rows * count))
        self.transform_outputs(products, tall, wide)

    def transform_weights(self, to: DeviceArray) -> None:
        """U = G w G', formed in f64 and rounded once."""
        r, size = self.r, self.w.itemsize
        turned = r.offsets[1][0] > r.offsets[1][1]
        flat, (group, row, channel) = self.w.reshape(-1), r.w_strides
        taps = [flat[k:].view_as(np.lib.stride_tricks.as_strided(
            flat.geometry[k:], (r.groups, r.rows, r.channels),
            [s * size for s in (group, row, channel)])) for k in range(9)]
        xs = [S.cast(S.arg(k), "f64") for k in (range(8, -1, -1) if turned else range(9))]
        down = [transforms.transform_weight(xs[j::3]) for j in range(3)]
        roots = [S.cast(v, "f32") for a in range(4)
                 for v in transforms.transform_weight([d[a] for d in down])]
        each(Expressions("winograd_weights", roots), taps,
             [to[k].reshape(r.groups, r.rows, r.channels) for k in range(16)])

    def transform_tiles(self, to: DeviceArray, tall: int, wide: int) -> None:
        """V = B' d B of each tile."""
        r = self.r
        top, left = min(r.offsets[1]), min(r.offsets[2])
        reach = (0,), (top, top + 3), (left, left + 3)
        image, low = padded(self.x, reach, (1, tall, wide), (1, 2, 2))
        y, x = top + low[1], left + low[2]
        tiles = [image[:, :, 0, y + a:y + a + 2 * tall - 1:2, x + b:x + b + 2 * wide - 1:2]
                 for a in range(4) for b in range(4)]
        xs = [S.arg(k) for k in range(16)]
        down = [transforms.transform_in(xs[q::4]) for q in range(4)]
        roots = [v for a in range(4) for v in transforms.transform_in([d[a] for d in down])]
        each(Expressions("winograd_tiles", roots), tiles, [
            to[k].reshape(-1, r.images, tall, wide).transpose(1, 0, 2, 3) for k in range(16)], 8)

    def transform_outputs(self, products: DeviceArray, tall: int, wide: int) -> None:
        """A' M A of each tile, and the bias."""
        r, index = self.r, self.y.index
        outs = self.places()[:, :, 0]
        tiles = [products[k].reshape(-1, r.images, tall, wide).transpose(1, 0, 2, 3)
                 for k in range(16)]
        bias = [] if self.bias is None else [self.bias.reshape(1, -1, 1, 1)]
        xs = [S.arg(k) for k in range(16)]
        down = [transforms.transform_out(xs[b::4]) for b in range(4)]
        alike: dict[tuple[int, ...], list[tuple[Any, DeviceArray]]] = {}
        for a in range(2):
            for b in range(2):
                y = transforms.transform_out([d[a] for d in down])[b]
                to = outs[:, :, a::2, b::2]
                if to.size:
                    alike.setdefault(to.shape, []).append((y + S.arg(16) if bias else y, to))
        for shape, made in alike.items():          # all, where there are whole tiles only
            part = [t[:, :, :shape[2], :shape[3]] for t in tiles]
            compute(Expressions("winograd_outputs", [y for y, _ in made]), [*part, *bias], index,
                    [to for _, to in made])


def each(expressions: Expressions, operands: Sequence[DeviceArray], outs: Sequence[DeviceArray],
         count: int = 4) -> None:
    """Expressions of one shape, so many results at a time: as registers hold."""
    for k in range(0, len(outs), count):
        part = Expressions(expressions.name, expressions.roots[k:k + count])
        compute(part, operands, outs[0].index, outs[k:k + count])
