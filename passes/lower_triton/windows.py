"""Pools as Triton source: an element of the tile is an output, whose taps are taken one after the
other in row-major order, sums from +0, as `lower_llvm.windows.pool` has it. Bits are the CPU's.

Windows are told by tables along each axis: the first tap inside the image, and the end. The kinds
are those of the CPU's kernel: "max", "max_index", "mean" (divide the sums), "spread" (divide, then
add), and "taken": an element of the tile is a pool's input, whose taps are the outputs that may
have taken it. An output's divisor is a product along the axes, formed in f64.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from . import scalar
from .builder import TYPE, Code, Module
from .places import coordinates
from .source import source

if TYPE_CHECKING:
    from .source import Source

TILE = 256
AXES = "zyx"


def lower_pool(kind: str, dtype: str, far: bool) -> Source:
    """The Source of a pool of contiguous planes; are places in them counted in 64 bits?"""
    f, ty = Code(Module()), TYPE[scalar.COMPUTE[dtype]]
    number = "i64" if far else "i32"
    plane, *outs = coordinates(f, 4, far, TILE)
    is_max = kind.startswith("max")
    f.line(f"image = x + {plane} * depth * height * width")
    for a, o in zip(AXES, outs, strict=True):
        for name, table in (("first", "low"), ("end", "high")):
            f.line(f"{name}_{a} = tl.load({table}_{a} + {o}, here, other=0).to({TYPE[number]})")
    none = 'float("-inf")' if is_max else "0.0"
    f.line(f"total = tl.full([{TILE}], {none}, {ty})")
    if is_max:
        f.line(f"best = tl.full([{TILE}], -1, tl.int64)")
    inside = "here"
    for a in AXES:
        f.line(f"for t_{a} in range(0, most_{a}):")
        f.depth += 1
        f.line(f"tap_{a} = first_{a} + t_{a} * step_{a}")
        f.line(f"inside_{a} = {inside} & (tap_{a} < end_{a})")
        inside = f"inside_{a}"
    f.line("spot = (tap_z * height + tap_y) * width + tap_x")
    f.line("value = tl.load(image + spot, inside_x, other=0)")
    if is_max:
        f.line("better = inside_x & ((value > total) | (value != value) | (best < 0))")
        f.line("total = tl.where(better, value, total)")
        f.line("best = tl.where(better, spot, best)")
    else:
        if kind == "spread":
            divide(f, "value", [f"tap_{a}" for a in AXES], "inside_x", ty)
        added = "inside_x"
        if kind == "taken":
            f.line(f"chosen = tl.load(index + {plane} * depth * height * width + spot, inside_x, "
                   "other=-1)")
            added = f"chosen == ({outs[0]} * n2 + {outs[1]}) * n3 + {outs[2]}"
        f.line(f"total = tl.where({added}, total + value, total)")
    f.depth -= len(AXES)
    if kind == "mean":
        divide(f, "total", outs, "here", ty)
    f.line("tl.store(y + at, total, here)")
    if kind == "max_index":
        f.line("tl.store(index + at, best, here)")
    pointers = [("x", scalar.POINTER[dtype]), ("y", scalar.POINTER[dtype])]
    pointers += [("index", "*i64")] if kind in ("max_index", "taken") else []
    pointers += [(f"{side}_{a}", "*i64") for a in AXES for side in ("low", "high")]
    pointers += [(f"by_{a}", "*fp64") for a in AXES] if kind in ("mean", "spread") else []
    numbers = ["depth", "height", "width", *(f"most_{a}" for a in AXES),
               *(f"step_{a}" for a in AXES), "n", "n1", "n2", "n3"]
    return source(f"pool_{kind}_kernel", f.mod, [*pointers, *((n, number) for n in numbers)],
                  f.lines, f"cdiv(n, {TILE})")


def divide(f: Code, name: str, places: Sequence[str], mask: str, ty: str) -> None:
    """Divide by the product of an output's divisors."""
    for a, at in zip(AXES, places, strict=True):
        f.line(f"d_{a} = tl.load(by_{a} + {at}, {mask}, other=1)")
    f.line(f"divisor = (d_z * d_y * d_x).to({ty})")
    f.line(f"{name} = " + (f"tl.div_rn({name}, divisor)" if ty == "tl.float32"
                           else f"{name} / divisor"))
