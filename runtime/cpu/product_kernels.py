"""Chooses the kernel of a product, and the rows and columns of its units.

A product of one row or column has its own kernels, because its sums have their own order
(`one_row.py`). Of the other products, those of a few rows need no packing (`few_rows.py`); all
others are computed in tiles (`gemm.py`). These share parts that are compiled once for all
kernels."""
import functools
from functools import partial
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
from whet.ir.symbolic_size import Size, fixed
from whet.passes.lower_llvm import targets
from whet.passes.lower_llvm.modules import new_module
from whet.passes.lower_llvm.products import few_rows, one_row
from whet.passes.lower_llvm.products import gemm as kernels
from whet.passes.lower_llvm.products.pack import WIDE

from . import native

SHORT = {
    np.dtype(t): s
    for t, s in (("f4", "f32"), ("f8", "f64"), ("f2", "f16"), (ml_dtypes.bfloat16, "bf16"),
                 ("i1", "i8"), ("i2", "i16"), ("i4", "i32"), ("i8", "i64"), ("u1", "u8"),
                 ("u2", "u16"), ("u4", "u32"), ("u8", "u64"), ("?", "bool"))}
DTYPE = {s: d for d, s in SHORT.items()}
MAX_COLS = 2048                          # of a unit: 256 rows of them are packed at a time
ROWS_EACH = 112                          # that a thread should have below each other
# multiply-adds that are worth a thread of their own: some microseconds
UNIT_STEPS = 1 << 20
FEW_ROWS = 8                             # for which `few_rows.py` is quicker than packing
# the same for elements of less than four bytes
FEW_SHORT_ROWS = 3
# bytes of B that are in the first-level cache, where they are as good in any order
FIRST_LEVEL = 1 << 16
# rows for which a matrix with adjacent columns is read where it is
ROWS_IN_PLACE = 28
# rows, columns and steps up to which A is read where it is, though its rows are a page apart
SMALL_A = 28, 96, 64
# bytes read of a matrix of which a tile reads a line here, a line there
LINES = 1 << 24
NEAR = 1 << 15                           # bytes of a matrix that costs the same in any order
NEAR_ROWS = 64                           # of a matrix that may be read in columns


class Chosen(NamedTuple):
    """A kernel and how to use it."""
    key: str
    emit: Any                            # the generator
    rows: Size                           # of a unit
    cols: Size
    in_place: bool = False               # may B's rows be read where they are?
    scratch: Size = 0                    # bytes for each thread


def choose(p, short, dst, epilogue, is_packed, threads):
    """Choose the kernel of products `p` with elements `short`, whose results are `dst` after an
    epilogue. `is_packed`: is B in the order in which kernels read it? `threads`: how many take the
    units."""
    s, lanes = DTYPE[short].itemsize, kernels.shape(short).lanes
    if not p.one and not _few(p, s, lanes, is_packed):
        return _in_tiles(p, short, dst, epilogue, is_packed, threads)
    m, count = p.m, p.batch[0] * p.batch[1]
    parts = min(8 * threads, p.n * p.k * count // (UNIT_STEPS // 8)) // max(1, count)
    cols = max(4 * lanes, -(-p.n // max(1, parts) // lanes) * lanes)
    if p.one:
        kind, emit = _one_row(p, s)
    else:
        m = fixed(m)
        name, generator = (("rows", few_rows.few_rows) if p.b[1] == s else
                           ("cols", few_rows.few_cols))
        kind, emit = f"{name}/{m}", partial(generator, m=m)
    return Chosen(f"gemv/{short}/{kind}/{epilogue or ''}",
                  partial(emit, dtype=short, dst=dst, epilogue=epilogue), m, cols)


def _few(p, s, lanes, is_packed):
    """Are there so few rows that packing never pays? `s`: bytes of an element."""
    few = (1 if p.n * p.k * s <= FIRST_LEVEL else FEW_ROWS if s >= 4 else FEW_SHORT_ROWS)
    return (0 < p.m <= few and p.batch[0] * p.batch[1] and not is_packed
            and (p.b[1] == s or (p.b[0] == s and p.n >= lanes)))


def _one_row(p, s):
    """The kind of kernel for one row, and its generator. `s`: bytes of an element."""
    n, k, b = p.n, p.k, p.b
    if b[0] != s and b[1] == s:
        near = k <= NEAR_ROWS or (k <= one_row.BLOCK and n * k * s <= NEAR)
        return f"one_row{'/near' if near else ''}", partial(one_row.one_row, near=near)
    # columns a page apart meet in one cache set
    most = 4 if _page_apart(b[1]) else 8
    side = next(x for x in (8, 4, 2, 1) if x <= max(1, min(n, most)))
    return (f"one_col/{side}{'' if b[0] == s else '/any'}",
            partial(one_row.one_col, count=side, adjacent=b[0] == s))


def _in_tiles(p, short, dst, epilogue, is_packed, threads):
    """A kernel of tiles, and whether it packs A and B or reads them in place."""
    s, (m, n, k, a, b) = DTYPE[short].itemsize, p[:5]
    # of vectors, and with them of caches
    is_small = kernels.shape(short).lanes * s < 64
    a_mode = "place"
    # Rows a page apart would all meet in one cache set; and of a transposed A a register tile reads
    # a line of each step.
    apart = _page_apart(a[0]) if a[1] == s else not is_small or _page_apart(a[1])
    least_m, least_n, least_k = SMALL_A
    if (short in WIDE
            or (apart and m > least_m or is_small and m > kernels.MC) and n > least_n
            and k > least_k):
        a_mode = "rows" if a[1] == s else "cols"
    b_mode = "packed" if is_packed else "rows" if b[1] == s else "cols"
    near = m * n * k * s <= LINES if is_small else n * k * s <= few_rows.FAR
    in_place = b[1] == s and (m <= ROWS_IN_PLACE or not _page_apart(b[0]) and near)
    if (in_place and not is_packed and n * k * s <= NEAR and short not in WIDE
            and targets.current().name == "avx512"):
        b_mode = "place"                     # masks cost nothing
    rows, cols = _unit(short, m, n, k, p.batch[0] * p.batch[1], threads)
    scratch = -(-kernels.scratch_bytes(short, dst, a_mode, m, cols) // 64) * 64
    for part in kernels.parts(short, a_mode, b_mode):
        bring_part(*part)
    emit = partial(kernels.gemm, dtype=short, a_mode=a_mode, b_mode=b_mode, dst=dst,
                   epilogue=epilogue)
    return Chosen(f"gemm/{short}/{a_mode}/{b_mode}/{epilogue or ''}", emit, rows, cols, in_place,
                  scratch)


def _page_apart(stride):
    return stride and stride % 4096 == 0


def _unit(short, m, n, k, count, threads):
    """The rows and columns of a work unit. A thread takes neighbouring units, and those below each
    other together, so a unit is one tile high. Columns are cut if a thread would get too few rows
    to make up for packing all columns of B."""
    tile = kernels.shape(short)
    useful = min(threads, m * n * k * count // UNIT_STEPS)
    across = -(-n // (MAX_COLS if short not in WIDE else MAX_COLS // 4)) or 1
    if useful > 1:
        across = max(across, min(-(-useful * ROWS_EACH // (m * count)), n // (2 * tile.width)))
    return tile.rows[0], max(1, -(-n // across // tile.width)) * tile.width


# ---- parts that kernels share --------------------------------------------------------------------
@functools.lru_cache(None)
def bring_part(part, dtype):
    """Make a shared part available to kernels that are compiled or loaded from now on."""
    def text():
        module = new_module()
        module.writing = f"gemm/part/{part}/{dtype}"
        kernels.emit_part(module, part, dtype)
        return module.text()

    for name, place in native.image(f"gemm/part/{part}/{dtype}", text,
                                    kernels.part_names(part, dtype)).items():
        native.export(name, place)


def _bring_named(name):
    """Make the part available that has a function of this name."""
    dtype, function = name.removeprefix(kernels.PREFIX).split(".")
    whose = next((part for start, part in (("tile", "tiles"), ("masked", "masked"))
                  if function.startswith(start)), function)
    bring_part(whose, dtype)


native.provide(kernels.PREFIX, _bring_named)
