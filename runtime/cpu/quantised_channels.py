"""Plans for depthwise convolutions of bytes, and for pools of bytes."""

import numpy as np
from whet.ir.outline import table as numbers_of
from whet.passes.lower_llvm import targets
from whet.passes.lower_llvm.calls import distribute_units
from whet.passes.lower_llvm.quantised import depthwise, dots, gather, max_pools, products

from . import memory, native, thread_pool
from .conv_plan import known, remember
from .reference_only import REFERENCE
from .window_parts import split

UNIT_TAPS = 1 << 19              # products that are worth a thread of their own
PIECE = 64                       # pixels of a line whose columns and sums the first cache keeps


def fours(taps):
    """The number of groups of four taps."""
    return -(-taps // 4)


def plan(how, facts, image, epilogue, residual, make):
    """A `Plan`, made by `make(kernel, units, grain, scratch, table)`."""
    form = products.Form(how, False, epilogue.zero is not None, residual)
    rows, columns, threads = facts["rows"], facts["columns"], thread_pool.get_num_threads()
    down, across, width = image["taps_y"], image["segments"], image["out_width"]
    lines, taps = rows // width, down * across
    useful = min(4 * threads, max(1, rows * columns * taps // UNIT_TAPS))
    unit_lines = max(1, -(-lines // useful))
    _, piece = split(width, PIECE)
    read = (piece - 1) * image["stride_x"] + (across - 1) * image["step_x"] + 1
    step = fours(down) * depthwise.BOTH
    columns_at = -(-columns // dots.WIDE) * across * step
    sums_at = columns_at + read * step
    blank_at = sums_at + piece * depthwise.BOTH
    each = blank_at + dots.STEP
    facts = {**epilogue.words(), "lines": lines, "columns": columns, "y_row": facts["y_row"],
             "fours": fours(down), "unit_lines": unit_lines, "piece": piece, "scratch": each,
             "columns_at": columns_at, "sums_at": sums_at, "blank_at": blank_at,
             "row_bytes": 4 * fours(taps)}
    table = [facts[x] for x in depthwise.DIMS] + [image[x] for x in gather.DIMS]
    key = form.key.replace("product", "depthwise")
    kernel = native.kernel(key, lambda m, symbol: depthwise.depthwise(m, symbol, form))
    units = -(-lines // unit_lines) if columns else 0
    grain = max(1, UNIT_TAPS // max(1, unit_lines * width * columns * taps))
    return make(kernel, units, distribute_units.word(grain, threads), each * threads,
                numbers_of(table))


def max_pool(x, kernel, stride, padding, dilation, ceil_mode):
    """The maximum of each window of unsigned bytes stored pixel by pixel, (N, C, H, W); None if
    there is no kernel for it."""
    if x.dtype != np.uint8 or x.ndim != 4 or ceil_mode or REFERENCE:
        return None
    by_pixel = x.transpose(0, 2, 3, 1)
    n, height, width, channels = by_pixel.shape
    lanes = next((v for v in (targets.current().bits // 8, 16, 8, 4, 2, 1) if v <= channels), 0)
    out = [(size + 2 * p - d * (k - 1) - 1) // s + 1 for size, k, s, p, d in
           zip((height, width), kernel, stride, padding, dilation, strict=True)]
    empty = any(2 * p > d * (k - 1) + 1 for k, p, d in zip(kernel, padding, dilation, strict=True))
    if not by_pixel.flags.c_contiguous or not lanes or min(out) <= 0 or not n or empty:
        return None
    key = "byte max pool", x.shape, kernel, stride, padding, dilation
    found = known.get(key)
    if found is None:
        address = native.kernel(f"quantised/largest/{lanes}",
                                lambda m, symbol: max_pools.largest(m, symbol, lanes))
        facts = (channels, height, width, *out, *kernel, *stride, *padding, *dilation)
        work = out[1] * channels * kernel[0] * kernel[1]
        found = remember(key, (address, n * out[0], max(1, (1 << 17) // work), numbers_of(facts)))
    y = memory.empty((n, *out, channels), np.uint8)
    address, units, grain, table = found
    native.launch(address, units, grain, by_pixel, y, table)
    return y.transpose(0, 3, 1, 2)
