"""Convolutions and their gradients on devices: contractions whose operands are addressed by tables
of offsets, in the canonical order. Winograd's method is used where the CPU uses it. Bits are the
CPU's. Halves are computed by tensor cores, whose order of sums is their own. Their images are
stored with channels last."""
from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from .. import tf32
from ..cpu.conv_gradient_plan import input_grad_gathered
from ..cpu.conv_plan import conv_gathered, dense, three, winograd_pays
from ..dtypes import FLOAT, FROM_NUMPY
from ..ir import scalar as S
from ..passes.lower_llvm.windows import winograd as transforms
from . import device_state as m
from .arrays import DeviceArray, empty
from .errors import NoForm
from .gathers import cast, lowered
from .launch import launch
from .pointwise import Expressions, compute, copied, copy_into, fill, is_wide
from .products import added, kernel_for
from .transfers import constant, to_device

F32 = np.dtype(np.float32)
ALIGNED = 8                         # numbers that can be moved at a time


def row_major(a: DeviceArray) -> DeviceArray:
    """The elements row by row."""
    return a if a.flags.c_contiguous else copied(a)


def floats(a: DeviceArray) -> DeviceArray:
    """The elements as a row-major array, in a type that has kernels."""
    if a.dtype.kind == "c" or FROM_NUMPY[a.dtype].category != FLOAT:
        raise NoForm(f"windows of {a.dtype.name}")
    return row_major(a)


def computed(a: DeviceArray) -> DeviceArray:
    """The elements in the type that the CPU forms sums in, row by row."""
    a = floats(a)
    return cast(a, F32) if a.itemsize == 2 else a


def convolution(x: DeviceArray, w: DeviceArray, bias: DeviceArray | None = None, *,
                stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int],
                groups: int) -> DeviceArray:
    """A convolution."""
    x, w = floats(x), floats(w)
    r, shape = conv_gathered(x, w, stride, padding, dilation, groups)
    y = empty(x.index, shape, x.dtype)
    Run(r, x, w, y.reshape(-1), None if bias is None else floats(bias)).launch()
    return y


def conv_input_grad(g: DeviceArray, w: DeviceArray, *, x_shape: Sequence[int],
                    stride: Sequence[int], **at: Any) -> DeviceArray:
    """The gradient with respect to the image: a run for each remainder by the stride."""
    g, w = floats(g), floats(w)
    x_shape = tuple(x_shape)
    gx = empty(g.index, x_shape, g.dtype)
    flat, steps = gx.reshape(-1), dense(x_shape)[2:]
    runs = input_grad_gathered(g, w, x_shape, stride, **at)
    divides = all(n % s == 0 for n, s in zip(x_shape[2:], stride, strict=True))
    if len(runs) > 1 and gx.size and divides and by_pixels(g, runs[0].channels):
        in_phases(runs, g, w, gx, three(stride, 1))
        return gx
    for r, phase in zip(runs, itertools.product(*map(range, stride)), strict=True):
        start = sum(p * s for p, s in zip(phase, steps, strict=True))
        Run(r, g, w, flat[start:], None).launch()
    return gx


def in_phases(runs: Sequence[Any], g: DeviceArray, w: DeviceArray, gx: DeviceArray,
              stride: Sequence[int]) -> None:
    """Runs that see the same images and store rows, which are put side by side at last: they
    would store one number at a time else."""
    reach = [tuple(sorted(set().union(*(r.offsets[d] for r in runs)))) or (0,) for d in range(3)]
    images, channels, out = *gx.shape[:2], runs[0].out
    seen = Images(g, reach, out, (1, 1, 1), by_pixels=True)
    made = empty(g.index, (len(runs), images, channels, *out), gx.dtype)
    for k, r in enumerate(runs):
        y = made[k]
        Run(dataclasses.replace(r, out_strides=dense(y.shape)), g, w, y.reshape(-1), None,
            seen).launch()
    sides = [n for pair in zip(out, stride, strict=True) for n in pair]
    phases = made.reshape(*stride, images, channels, *out).transpose(3, 4, 5, 0, 6, 1, 7, 2)
    copy_into(gx.reshape(images, channels, *sides), phases)


def conv_weight_grad(g: DeviceArray, x: DeviceArray, *, w_shape: Sequence[int],
                     stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int],
                     groups: int) -> DeviceArray:
    """The gradient with respect to the weights: a contraction over all images' pixels."""
    g, x, w_shape = floats(g), floats(x), tuple(w_shape)
    gw = empty(g.index, w_shape, g.dtype)
    if 0 in w_shape or 0 in g.shape:
        fill(gw, 0)
        return gw
    nd, outs = x.ndim - 2, w_shape[0] // groups
    offsets = (*[(0,)] * (3 - nd), *[
        tuple(k * d - p for k in range(n))
        for n, d, p in zip(w_shape[2:], dilation, padding, strict=True)])
    sizes, steps = three(g.shape[2:], 1), three(stride, 1)
    seen = Images(x, offsets, sizes, steps, by_pixels=by_pixels(g, w_shape[1]))
    places = seen.taps(offsets, w_shape[1])
    count, images, taps = prod(sizes), x.shape[0], prod(w_shape[2:])
    made = empty(g.index, (w_shape[0], taps, w_shape[1]), g.dtype) if seen.by_pixels else gw
    contract(g, seen.array, made.reshape(-1), (outs, places.size, images * count), (1, groups),
             a=(count, Places(np.arange(count), images, w_shape[0] * count), 0, outs * count),
             b=(seen.pixels(sizes, steps), places, 0, w_shape[1] * seen.steps[1]),
             c=(places.size, 1, 0, outs * places.size))
    if seen.by_pixels:
        copy_into(gw.reshape(w_shape[0], w_shape[1], taps), made.transpose(0, 2, 1))
    return gw


def by_pixels(like: DeviceArray, channels: int) -> bool:
    """Do kernels take images whose pixels have their channels side by side? Those of tensor cores
    do, which can then be given many numbers at a time."""
    kernel = kernel_for(FROM_NUMPY[like.dtype].short, tf32.CONVOLUTIONS)
    return kernel.on_tensor_cores and channels % ALIGNED == 0


class Places(NamedTuple):
    """Where elements lie: of an image, and so many times again, `step` further each time."""
    of_one: np.ndarray
    images: int = 1
    step: int = 0

    @property
    def size(self) -> int:
        return self.images * self.of_one.size

    def stride(self) -> int | None:
        """The distance of all, which begin at 0; None where distances differ."""
        one = self.of_one
        if not one.size or one[0]:
            return None
        if one.size == 1:
            return self.step
        step = int(one[1])
        is_one = self.images == 1 or self.step == step * one.size
        return step if is_one and np.array_equal(one, np.arange(one.size) * step) else None

    def runs(self) -> tuple[int, int]:
        """(how many lie side by side, what the first of them is a multiple of)"""
        one = self.of_one
        run = next((n for n in (16, 8, 4, 2) if one.size % n == 0
                    and (np.diff(one.reshape(-1, n)) == 1).all()), 1)
        return run, int(np.gcd.reduce(one[::run], initial=np.gcd(16, self.step)))

    def on_device(self, index: int, number: Any) -> DeviceArray:
        """All of them, in order."""
        one = self.of_one.astype(number)
        if self.images == 1:
            return to_device(one, index)
        starts = (np.arange(self.images) * self.step).astype(number)[:, None]
        return constant(index, lambda: compute(
            SUMS, [to_device(a, index) for a in (starts, one)], index)[0].reshape(-1))


SUMS = Expressions("places", (S.arg(0) + S.arg(1),))


def grid(*axes: np.ndarray) -> np.ndarray:
    """Sums of places along three axes, row by row."""
    z, y, x = axes
    return (z[:, None, None] + y[:, None] + x).reshape(-1)


class Images:
    """Padded images of three dimensions, with the addresses of their elements: channels first, or
    last with `by_pixels`."""

    def __init__(self, x: DeviceArray, offsets: Sequence[Sequence[int]], out: Sequence[int],
                 stride: Sequence[int], *, by_pixels: bool = False) -> None:
        self.by_pixels = by_pixels
        sizes = three(x.shape[2:], 1)
        self.low = tuple(max(0, -min(o)) for o in offsets)
        high = tuple(max(0, (n - 1) * s + max(o) - (size - 1))
                     for o, n, s, size in zip(offsets, out, stride, sizes, strict=True))
        x = x.reshape(*x.shape[:2], *sizes)
        inside = tuple(slice(l, l + n) for l, n in zip(self.low, sizes, strict=True))
        whole = tuple(l + n + h for l, n, h in zip(self.low, sizes, high, strict=True))
        self.array = x if whole == sizes and not by_pixels else self.room(x, whole, inside)
        self.steps = [s // x.itemsize for s in self.array.geometry.strides]

    def room(self, x: DeviceArray, sizes: Sequence[int], inside: tuple[slice, ...]) -> DeviceArray:
        """The images in new memory, and zeros around them."""
        images, channels = x.shape[:2]
        if self.by_pixels:
            made = empty(x.index, (images, *sizes, channels), x.dtype).transpose(0, 4, 1, 2, 3)
        else:
            made = empty(x.index, (images, channels, *sizes), x.dtype)
        if made.shape != x.shape:
            fill(made, 0)
        if x.size:
            copy_into(made[(slice(None), slice(None), *inside)], x)
        return made

    def taps(self, offsets: Sequence[Sequence[int]], channels: int) -> Places:
        """The offset of each tap of each channel from the first pixel of an output, in order."""
        places = grid(*((np.asarray(o, np.int64) + l) * s for o, l, s in zip(
            offsets, self.low, self.steps[2:], strict=True)))
        return self.in_order(channels, places, self.steps[1])

    def in_order(self, channels: int, taps: np.ndarray, step: int) -> Places:
        """Places of (channel, tap), or, by pixels, of (tap, channel), row by row."""
        each = np.arange(channels) * step
        return Places((taps[:, None] + each if self.by_pixels
                       else each[:, None] + taps).reshape(-1))

    def pixels(self, out: Sequence[int], stride: Sequence[int]) -> Places:
        """The offset of the first pixel of each output, in all images."""
        places = grid(*(np.arange(n) * s * step for n, s, step in zip(
            out, stride, self.steps[2:], strict=True)))
        return Places(places, self.array.shape[0], self.steps[0])


Steps = Sequence[Any]               # along two dimensions (a number or Places), and two batches'


def contract(left: DeviceArray, right: DeviceArray, out: DeviceArray, shape: tuple[int, int, int],
             batch: tuple[int, int], bias: DeviceArray | None = None, **steps: Steps) -> None:
    """out[m, n] = the sum over k of left[m, k] * right[k, n]. `steps` has those of them as a, b and
    c; `bias` has an element for each m of each inner batch."""
    made = Contraction(left, right, out, shape, batch)
    for name, along in steps.items():
        made.lies(name, along)
    made.run(bias)


class Contraction:
    """A contraction whose operands are given by strides or tables, and the arguments of its
    kernel."""

    def __init__(self, left: DeviceArray, right: DeviceArray, out: DeviceArray,
                 shape: tuple[int, int, int], batch: tuple[int, int]) -> None:
        self.out, self.shape, self.batch = out, shape, batch
        self.dtype = FROM_NUMPY[left.dtype].short
        self.kernel = kernel_for(self.dtype, tf32.CONVOLUTIONS)
        self.parameters: dict[str, Any] = {
            "a": left.geometry, "b": right.geometry, "c": out.geometry}
        self.is_wide = is_wide([*self.parameters.values()])
        self.numbers = dict(zip("mnk", shape, strict=True)) | {
            "inner": batch[1], "batches": batch[0] * batch[1]}
        self.held: list[DeviceArray] = []
        self.tables: list[Any] = []
        self.ones: list[str] = []

    def lies(self, name: str, along: Steps) -> None:
        """The strides of an operand: along its two dimensions and along two batch dimensions."""
        from ..passes.lower_triton import contract as lower
        dims = "mk" if name == "a" else "kn" if name == "b" else "mn"
        for d, s in zip(dims + "oi", along, strict=True):
            key = f"{name}_{d}"
            if isinstance(s, Places) and (stride := s.stride()) is not None:
                s = stride
            if isinstance(s, Places):
                number = np.int64 if self.is_wide else np.int32
                self.held.append(s.on_device(self.out.index, number))
                self.tables.append(lower.Table(key, *s.runs()))
                self.parameters[key] = self.held[-1].geometry
            else:
                self.numbers[key] = s
                if s == 1 and d in "mnk":
                    self.ones.append(key)

    def run(self, bias: DeviceArray | None) -> None:
        """Compute the result; where K is split into parts, by adding their sums."""
        from ..passes.lower_triton import contract as lower
        described = lower.Contract(self.dtype)
        if bias is not None:
            described = lower.Contract(self.dtype, epilogue=S.arg(0) + S.arg(1),
                                       operands=(self.dtype,))
        units = m.machine().properties(self.out.index).multi_processor_count
        batches = self.numbers["batches"]
        by_columns = any(t.name == "b_k" and t.run > 1 for t in self.tables)
        found = self.kernel.cut(described, self.shape, batches, units, by_columns)
        is_all = self.shape[0] * self.shape[1] * batches == self.out.size
        parts = found.parts(self.shape[2]) if is_all and self.out.flags.c_contiguous else 1
        if parts > 1:
            self.in_parts(described, found, parts, bias)
            return
        if bias is not None:
            self.parameters["e0"] = bias.geometry
            self.lies("e0", (1, 0, 0, self.shape[0]))
        self.launch(described, found.tile)

    def in_parts(self, described: Any, found: Any, parts: int, bias: DeviceArray | None) -> None:
        """The sums of parts, then the sum of those."""
        from ..passes.lower_triton import contract as lower
        sums = empty(self.out.index, (parts, self.out.size), F32)
        self.parameters["c"] = sums.geometry
        self.numbers |= {"part": found.part, "parts": parts, "c_p": self.out.size}
        self.launch(lower.Contract(self.dtype), found.tile, in_parts=True)
        if bias is None:
            added(described, sums, self.out)
        else:
            rows = self.shape[0] * self.batch[1]
            added(described, sums, self.out, [bias], each=self.numbers["c_m"], count=rows)

    def launch(self, described: Any, tile: Any, in_parts: bool = False) -> None:
        """Run a kernel."""
        from ..passes.lower_triton import contract as lower
        form = self.kernel, tuple(self.ones), self.is_wide, tuple(self.tables), tile, in_parts
        source = lowered(("contract", described, form), lambda: lower.lower(described, *form))
        launch(self.out.index, source, self.parameters, self.numbers)


class Run:
    """One `Gathered`: y[n, o, p] = the sum over (channel, tap) of w[o, channel, tap] and x at the
    tap's offset from pixel p."""

    def __init__(self, r: Any, x: DeviceArray, w: DeviceArray, y: DeviceArray,
                 bias: DeviceArray | None, seen: Images | None = None) -> None:
        self.r, self.x, self.w, self.y, self.bias = r, x, w, y, bias
        self.seen = seen                    # where others see the same

    def launch(self) -> None:
        """Fill y."""
        r = self.r
        if 0 in (*r.out, r.images, r.groups, r.rows):
            return
        if not prod(map(len, r.offsets)) or not r.channels:
            self.zeros()
        elif not tf32.allowed & tf32.CONVOLUTIONS and winograd_pays(r):
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
        seen = self.seen or Images(self.x, r.offsets, r.out, r.stride,
                                   by_pixels=by_pixels(self.x, r.channels))
        w, (group, row, channel) = self.w, r.w_strides
        taps = prod(map(len, r.offsets))
        steps: int | Places = 1
        if seen.by_pixels:
            w, row = self.weights_by_taps(), taps * r.channels
            group = r.rows * row
        else:
            steps = seen.in_order(r.channels, np.asarray(r.taps_at or range(taps)), channel)
        yn, yo, *pixel = r.out_strides
        y, outs = self.y, Places(grid(*(
            np.arange(n) * s for n, s in zip(r.out, pixel, strict=True))), r.images, yn)
        if seen.by_pixels and outs.runs()[0] == 1 and r.images > 1:
            y = empty(y.index, (r.groups * r.rows, r.images, *r.out), y.dtype)
            yo, outs = outs.size, Places(np.arange(outs.size))
        contract(w, seen.array, y.reshape(-1),
                 (r.rows, outs.size, taps * r.channels), (1, r.groups), self.bias,
                 a=(row, steps, 0, group),
                 b=(seen.taps(r.offsets, r.channels), seen.pixels(r.out, r.stride), 0,
                    r.channels * seen.steps[1]),
                 c=(yo, outs, 0, r.rows * yo))
        if y is not self.y:
            copy_into(self.places(), y.transpose(1, 0, 2, 3, 4))

    def weights_by_taps(self) -> DeviceArray:
        """The weights as (group, row, tap, channel), one after the other. Taps of a run are at
        equal distances along each axis: those of a gradient's phase are every second, say."""
        r, size = self.r, self.w.itemsize
        group, row, channel = r.w_strides
        shape = tuple(map(len, r.offsets))
        taps = np.asarray(r.taps_at or range(prod(shape))).reshape(shape)
        along = [int(np.diff(taps, axis=d).flat[0]) if n > 1 else 0 for d, n in enumerate(shape)]
        flat = self.w.reshape(-1)[int(taps.flat[0]):]
        steps = [s * size for s in (group, row, *along, channel)]
        return copied(flat.view_as(np.lib.stride_tricks.as_strided(
            flat.geometry, (r.groups, r.rows, *shape, r.channels), steps)))

    # ---- Winograd's F(2x2, 3x3) ----
    def winograd(self) -> None:
        """16 products of matrices for tiles of 2x2 outputs. Their steps are the channels of each
        plane of taps."""
        r, index = self.r, self.x.index
        planes, maps = len(r.offsets[0]), (r.out[0], *(-(-n // 2) for n in r.out[1:]))
        steps, count = planes * r.channels, r.images * prod(maps)
        weights = empty(index, (16, r.groups * r.rows, steps), F32)
        seen = empty(index, (16, r.groups * steps, count), F32)
        products = empty(index, (16, r.groups * r.rows, count), F32)
        self.transform_weights(weights.reshape(16, r.groups, r.rows, planes, r.channels))
        self.transform_tiles(seen.reshape(16, r.groups, planes, r.channels, r.images, *maps))
        contract(weights, seen, products, (r.rows, count, steps), (16, r.groups),
                 a=(steps, 1, r.groups * r.rows * steps, r.rows * steps),
                 b=(count, 1, r.groups * steps * count, steps * count),
                 c=(count, 1, r.groups * r.rows * count, r.rows * count))
        self.transform_outputs(products.reshape(16, -1, r.images, *maps).transpose(
            0, 2, 1, 3, 4, 5))

    def transform_weights(self, to: DeviceArray) -> None:
        """U = G w G', formed in f64 and rounded once."""
        r, size = self.r, self.w.itemsize
        turned = r.offsets[1][0] > r.offsets[1][1]
        flat, (group, row, channel) = self.w.reshape(-1), r.w_strides
        xs = [S.cast(S.arg(k), "f64") for k in (range(8, -1, -1) if turned else range(9))]
        down = [transforms.transform_weight(xs[j::3]) for j in range(3)]
        roots = [S.cast(v, "f32") for a in range(4)
                 for v in transforms.transform_weight([d[a] for d in down])]
        for z, at in enumerate((r.taps_at or range(9 * to.shape[3]))[::9]):
            taps = [flat[k:].view_as(np.lib.stride_tricks.as_strided(
                flat.geometry[k:], (r.groups, r.rows, r.channels),
                [s * size for s in (group, row, channel)])) for k in range(at, at + 9)]
            each(Expressions("winograd_weights", roots), taps,
                 [to[k, :, :, z] for k in range(16)])

    def transform_tiles(self, to: DeviceArray) -> None:
        """V = B' d B of each tile."""
        r, maps = self.r, to.shape[5:]
        depth, (top, left) = r.offsets[0], (min(a) for a in r.offsets[1:])
        reach, stride = (depth, (top, top + 3), (left, left + 3)), (r.stride[0], 2, 2)
        seen = Images(self.x, reach, maps, stride)
        image = seen.array.reshape(r.images, r.groups, r.channels, *seen.array.shape[2:])
        xs = [S.arg(k) for k in range(16)]
        down = [transforms.transform_in(xs[q::4]) for q in range(4)]
        roots = [v for a in range(4) for v in transforms.transform_in([d[a] for d in down])]
        for z, far in enumerate(depth):
            tiles = [image[:, :, :, *(
                slice(at + l, at + l + (n - 1) * s + 1, s) for at, l, n, s in zip(
                    (far, top + a, left + b), seen.low, maps, stride, strict=True))]
                for a in range(4) for b in range(4)]
            each(Expressions("winograd_tiles", roots), tiles,
                 [to[k, :, z].transpose(2, 0, 1, 3, 4, 5) for k in range(16)], 8)

    def transform_outputs(self, tiles: DeviceArray) -> None:
        """A' M A of each tile, and the bias."""
        index, outs = self.y.index, self.places()
        bias = [] if self.bias is None else [self.bias.reshape(1, -1, 1, 1, 1)]
        xs = [S.arg(k) for k in range(16)]
        down = [transforms.transform_out(xs[b::4]) for b in range(4)]
        alike: dict[tuple[int, ...], list[tuple[Any, DeviceArray]]] = {}
        for a in range(2):
            for b in range(2):
                y = transforms.transform_out([d[a] for d in down])[b]
                to = outs[..., a::2, b::2]
                if to.size:
                    alike.setdefault(to.shape, []).append((y + S.arg(16) if bias else y, to))
        for shape, made in alike.items():          # all, where there are whole tiles only
            part = [tiles[k][..., :shape[3], :shape[4]] for k in range(16)]
            compute(Expressions("winograd_outputs", [y for y, _ in made]), [*part, *bias], index,
                    [to for _, to in made])


def each(expressions: Expressions, operands: Sequence[DeviceArray], outs: Sequence[DeviceArray],
         count: int = 4) -> None:
    """Expressions of one shape, so many results at a time: as registers hold."""
    for k in range(0, len(outs), count):
        part = Expressions(expressions.name, expressions.roots[k:k + count])
        compute(part, operands, outs[0].index, outs[k:k + count])
