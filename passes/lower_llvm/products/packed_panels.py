"""The second operand of products, packed once for many: see `gemm.py`."""
from __future__ import annotations

from ..builder import Module, Val
from . import pack
from .gemm import KC, shape
from .pack import WIDE, size


def pack_b(mod: Module, symbol: str, dtype: str, b_mode: str) -> None:
    """Emit the kernel (b, out, table) that packs B, or several one after the other, for b_mode
    "packed"; a unit is a panel. The table: k, n, b_k, b_n, and as the batch has two dimensions, the
    count of the inner one and the strides of both.

    `out` holds the blocks of K one after the other, in each all panels, in each its rows:
    [k][width], widened."""
    wide, sh = WIDE.get(dtype, dtype), shape(dtype)
    s = size(wide)
    copy = symbol + ".copy"
    if b_mode == "rows":
        pack.copy_rows(mod, copy, dtype, wide, sh.lanes, sh.vectors)
    else:
        pack.copy_transposed(mod, copy, dtype, wide, sh.lanes)
    f = mod.kernel(symbol)
    b_start, out_start, table = (f.load("ptr", f.at(f.args[0], i, "i64")) for i in range(3))
    k, n, b_k, b_n, inner, outer_step, inner_step = (f.load("i64", f.at(table, i, "i64"))
                                                     for i in range(7))
    panels = f.sdiv(n + (sh.width - 1), sh.width)
    padded = panels * sh.width
    step = f.const("i64", sh.width * s)

    def panel(u: Val) -> None:
        z = f.sdiv(u, panels)
        outer = f.sdiv(z, inner)
        b, out = (f.bytes_at(b_start, outer * outer_step + (z - outer * inner) * inner_step),
                  f.bytes_at(out_start, z * padded * k * s))
        j = (u - z * panels) * sh.width
        some = f.imin(n - j, sh.width)

        def block(k0: Val) -> None:
            kb = f.imin(k - k0, KC)
            src, dst = (f.bytes_at(b,
                                   k0 * b_k + j * b_n), f.bytes_at(out, (k0 * padded + j * kb) * s))
            if b_mode == "rows":
                f.call(copy, "void", src, b_k, kb, some, dst, step)
            else:
                f.call(copy, "void", src, b_n, b_k, some, kb, dst, step)
        f.loop(0, k, KC, block)
    f.loop(f.args[1], f.args[2], 1, panel)
