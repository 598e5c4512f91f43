"""Products and convolutions of bytes on the CPU: unsigned bytes times signed bytes, 32-bit sums,
and an epilogue (`passes/lower_llvm/quantised/epilogue.py`).

Images are stored pixel by pixel, as channels_last tensors; so are results. Weights are packed once
(`quantised_weights.py`)."""

import ctypes
import functools
import platform
from typing import NamedTuple

import numpy as np
from whet.ir.outline import Table
from whet.ir.outline import table as numbers_of
from whet.passes.lower_llvm import targets
from whet.passes.lower_llvm.calls import distribute_units
from whet.passes.lower_llvm.quantised import dots, gather, products

from . import memory, native, quantised_channels, taped_launches, thread_pool
from .conv_plan import known, remember, scratch
from .pointwise import move
from .quantised_weights import of_features, packed_shape, padded, unpacked, unpacked_window
from .reference_only import REFERENCE
from .window_parts import split

ROW_BYTES = 1 << 18              # of gathered rows that a unit keeps
UNIT_ROWS = 128
FEW_STEPS = 32
UNIT_STEPS = 1 << 22             # products of bytes that are worth a thread of their own


class Epilogue(NamedTuple):
    """The epilogue of a sum: the numbers of `quantised/epilogue.py`. Results are bytes around
    `zero`, or floats if that is None."""

    low: float
    high: float
    zero: int | None
    residual_scale: float

    def words(self):
        """The words that the kernel reads, by name."""
        floats = np.array([self.low, self.high, self.residual_scale], "f4")
        low, high, more = floats.view("i4").tolist()
        return {"low": low, "high": high, "zero": self.zero or 0, "residual_scale": more}

    @property
    def dtype(self):
        """The type of the results."""
        return np.dtype("f4" if self.zero is None else "u1")


class Plan(NamedTuple):
    """A product, apart from the data pointers."""

    kernel: int
    units: int
    grain: int
    scratch: int
    table: np.ndarray | Table


# ---- what the machine has ------------------------------------------------------------------------
def kind():
    """The instructions with which products are summed on this machine."""
    if REFERENCE:
        return "numpy"
    if targets.has("avx512_vnni"):
        return "amx" if targets.has("amx_int8") and tiles_allowed() else "vnni"
    return "pairs"


@functools.lru_cache(None)
def tiles_allowed():
    """Ask Linux for AMX tiles: it saves them for a process only after being asked. Are they
    available?"""
    if platform.system() != "Linux" or platform.machine() != "x86_64":
        return False
    arch_prctl, ask_for, tile_data = 158, 0x1023, 18
    return ctypes.CDLL(None).syscall(arch_prctl, ask_for, tile_data) == 0


# ---- calls ---------------------------------------------------------------------------------------
def _dense(name, x, w, parameters, residual, shape, packed, epilogue):
    """The operands in the form that kernels read unchecked. `shape`: of the result, by pixel.
    `packed`: of the weights."""
    room = packed[0], packed[1] * dots.PANEL
    wanted = [(x, x.shape, "u1"), (w, packed, "i1")]
    wanted += [(p, room, t) for p, t in zip(parameters, ("i4", "f4", "f4"))]
    wanted += [] if residual is None else [(residual, shape, "u1")]
    for a, sizes, t in wanted:
        if a.dtype != np.dtype(t) or a.shape != tuple(sizes):
            raise RuntimeError(
                f"{name}: expected an operand of type {np.dtype(t)} and shape {list(sizes)}, got "
                f"{a.dtype} and {list(a.shape)}")
    zero = epilogue.zero or 0
    inside = epilogue.zero is None or 0 <= epilogue.low + zero <= epilogue.high + zero <= 255
    if not epilogue.low <= epilogue.high or not inside or not 0 <= zero <= 255:
        raise RuntimeError(
            f"{name}: results from {epilogue.low} to {epilogue.high} with the zero point "
            f"{epilogue.zero} do not fit into bytes")
    return [a if a is None else in_order(a) for a in (w, *parameters, residual)]


def linear(x, w, shift, scale, bias, residual, features, epilogue):
    """x (..., K), unsigned bytes, times packed weights: (..., features)."""
    k, shape = x.shape[-1], (*x.shape[:-1], features)
    w, *parameters, residual = _dense(
        "quantised_linear", x, w, (shift, scale, bias), residual, shape,
        packed_shape(1, features, k), epilogue)
    x = in_order(x)
    if REFERENCE:
        total = x.astype("f8") @ unpacked(w, features, k)[0].T.astype("f8")
        return finished(total, [of_features(p, features) for p in parameters], residual, epilogue)
    y = memory.empty(shape, epilogue.dtype)
    rows = y.size // features if features else 0
    threads = thread_pool.get_num_threads()
    key = ("quantised linear", rows, k, features, epilogue, residual is None, threads)
    plan = known.get(key)
    if plan is None:
        facts = dict(rows=rows, columns=features, x_row=k, y_row=features, p_group=0)
        image = dict.fromkeys(gather.DIMS, 0)
        image |= dict.fromkeys(("height", "width", "out_height", "out_width", "taps_y"), 1)
        image |= dict(segments=1, span=1, bytes=k, image_x=k)
        plan = remember(key, _plan(k, 1, facts, image, epilogue, residual is not None, True))
    _run(plan, x, w, parameters, residual, y)
    return y


def conv(x, w, shift, scale, bias, residual, features, window, epilogue):
    """x (N, C, H, W), unsigned bytes, convolved with packed weights: (N, features, H', W'), pixel
    by pixel in memory. `window`: a `Window`."""
    n, channels = x.shape[:2]
    sound = min(window.groups, *window.taps, *window.stride, *window.dilation) > 0
    size = window.out_size(x.shape[2:]) if sound else (0,)
    if (min(size) <= 0 or channels % window.groups or features % window.groups
            or min(window.padding) < 0 or not 0 <= window.blank <= 255):
        raise RuntimeError(
            f"quantised_conv: {window} does not fit {list(x.shape)} and {features} features")
    w, *parameters, residual = _dense(
        "quantised_conv", x, w, (shift, scale, bias),
        None if residual is None else by_pixel(residual), (n, *size, features),
        window.packed(channels, features), epilogue)
    x = by_pixel(x)
    y = memory.empty((n, *size, features), epilogue.dtype)
    if REFERENCE:
        total = _reference_sums(x, w, features, size, window)
        y[...] = finished(total, [of_features(p, features) for p in parameters], residual, epilogue)
        return y.transpose(0, 3, 1, 2)
    key = ("quantised conv", x.shape, features, window, epilogue, residual is None,
           thread_pool.get_num_threads())
    plan = known.get(key)
    if plan is None:
        plan = remember(key, _conv_plan(x.shape, features, size, window, epilogue,
                                        residual is not None, shift.shape[1]))
    _run(plan, x, w, parameters, residual, y)
    return y.transpose(0, 3, 1, 2)


def by_pixel(x):
    """An image as (N, H, W, C), contiguous."""
    return in_order(x.transpose(0, 2, 3, 1))


def in_order(x):
    """An array in row-major order: itself, or a copy made by a launch, which a program can
    repeat."""
    if x.flags.c_contiguous:
        return x
    found = memory.empty(x.shape, x.dtype)
    taped_launches.scratch(found, found.nbytes)
    move(found, x)
    return found


def _run(plan, x, w, parameters, residual, y):
    if plan.units:
        native.launch(plan.kernel, plan.units, plan.grain, x, w, *parameters, residual, y,
                      scratch(plan.scratch), plan.table)


# ---- plans ---------------------------------------------------------------------------------------
def _conv_plan(shape, features, size, window, epilogue, residual, per_group):
    n, height, width, channels = shape
    each, (taps_y, taps_x), groups = channels // window.groups, window.taps, window.groups
    alone = window.by_channel(channels, features)
    span = taps_x if groups == 1 and window.dilation[1] == 1 else 1
    facts = dict(rows=n * size[0] * size[1], columns=features // (1 if alone else groups),
                 x_row=channels, y_row=features, x_group=each, y_group=features // groups,
                 p_group=per_group)
    image = dict(
        pixel=channels, bytes=each, image_x=height * width * channels, line_x=width * channels,
        height=height, width=width, out_height=size[0], out_width=size[1],
        stride_y=window.stride[0], stride_x=window.stride[1], pad_y=window.padding[0],
        pad_x=window.padding[1], step_y=window.dilation[0], step_x=window.dilation[1],
        taps_y=taps_y, segments=taps_x // span, span=span, padding=window.blank)
    if alone:
        return quantised_channels.plan(kind(), facts, image, epilogue, residual, Plan)
    plain = window.taps == window.stride == (1, 1) and not any(window.padding)
    return _plan(each * taps_y * taps_x, groups, facts, image, epilogue, residual, plain)


def _plan(k, groups, facts, image, epilogue, residual, direct):
    """The plan of a product of k steps. `direct`: rows are adjacent in x."""
    how, threads = kind(), thread_pool.get_num_threads()
    if how == "amx" and k <= FEW_STEPS:              # a tile would be empty for the most part
        how = "vnni"
    direct = direct and k % (dots.TILE if how == "amx" else 4) == 0
    form = products.Form(how, not direct, epilogue.zero is not None, residual)
    row, rows, columns = padded(k, dots.TILE), facts["rows"], facts["columns"]
    unit_rows = min(UNIT_ROWS, max(32, ROW_BYTES // max(row, 1) // 32 * 32))
    useful = min(4 * threads, max(1, rows * columns * groups * k // UNIT_STEPS))
    if rows > 32:                                    # enough blocks for all threads
        _, unit_rows = split(rows, min(unit_rows, padded(-(-rows * groups // useful), 16)))
        unit_rows = padded(unit_rows, 16)
    row_blocks = -(-rows // unit_rows)
    _, wide = split(columns, max(dots.WIDE, columns * groups * row_blocks // useful))
    wide = padded(wide, dots.WIDE)
    column_blocks = -(-columns // wide)
    sums_at = padded(unit_rows * row + 64, 64) if form.gathered else 0
    each = sums_at + 4 * dots.WIDE * products.ROWS
    facts = {
        "x_group": 0, "y_group": 0, **facts, **epilogue.words(), "steps": -(-k // 4),
        "row_bytes": row, "unit_rows": unit_rows, "w_group": padded(columns, dots.WIDE) * row,
        "row_blocks": row_blocks, "unit_columns": wide, "column_blocks": column_blocks,
        "scratch": each, "sums_at": sums_at}
    words = [facts[x] for x in products.DIMS] + [image[x] for x in gather.DIMS if form.gathered]
    kernel = native.kernel(form.key, lambda m, symbol: products.kernel(m, symbol, form))
    units = groups * row_blocks * column_blocks if rows and columns else 0
    grain = max(1, UNIT_STEPS // max(1, unit_rows * wide * k))
    return Plan(kernel, units, distribute_units.word(grain, threads), each * threads,
                numbers_of(words))


# ---- the same in NumPy ---------------------------------------------------------------------------
def finished(total, parameters, residual, epilogue):
    """Apply the epilogue to sums (..., columns), given as exact integers of any type."""
    shift, scale, bias = parameters
    total = (total.astype("i8") + shift).astype("i4")
    v = total.astype("f4") * scale + bias
    if residual is not None:
        v = v + residual.astype("f4") * np.float32(epilogue.residual_scale)
    v = np.minimum(np.maximum(v, np.float32(epilogue.low)), np.float32(epilogue.high))
    return v if epilogue.zero is None else (np.rint(v).astype("i4") + epilogue.zero).astype("u1")


def _reference_sums(x, w, features, size, window):
    """The sums of a convolution of x (N, H, W, C), by definition."""
    (ky, kx), (py, px), g, channels = window.taps, window.padding, window.groups, x.shape[3]
    weights = unpacked_window(w, window, channels, features).astype("f8")
    blank = dict(constant_values=window.blank)
    x = np.pad(x, ((0, 0), (py, py), (px, px), (0, 0)), **blank).astype("f8")
    total = np.zeros((x.shape[0], *size, features))
    (sy, sx), (dy, dx) = window.stride, window.dilation
    for i in range(ky):
        for j in range(kx):
            part = x[:, i * dy:i * dy + size[0] * sy:sy, j * dx:j * dx + size[1] * sx:sx]
            part = part.reshape(*part.shape[:3], g, channels // g)
            rows = weights[:, i, j].reshape(g, -1, channels // g)
            total += np.einsum("nhwgc,gfc->nhwgf", part, rows, optimize=True).reshape(total.shape)
    return total
