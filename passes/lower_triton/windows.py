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
from .indexed import coordinates
from .source import source

if TYPE_CHECKING:
    from .source import Source

TILE = 256
AXES = "zyx"


def lower_pool(kind: str, dtype: str, far: bool) -> Source:
    """The Source of a pool of contiguous planes; are places in them counted in 64 bits?"""
    return _Pool(kind, dtype, far).source()


class _Pool:
    """The writing of a pool's kernel. `plane` and `outs`: the names of an output's place."""

    def __init__(self, kind: str, dtype: str, far: bool) -> None:
        self.kind, self.dtype = kind, dtype
        self.is_max = kind in ("max", "max_index")
        self.f, self.ty = Code(Module()), TYPE[scalar.COMPUTE[dtype]]
        self.number = "i64" if far else "i32"
        self.plane, *self.outs = coordinates(self.f, 4, far, TILE)

    def source(self) -> Source:
        """The Source: what comes before the taps, a loop over them along each axis, the store."""
        f = self.f
        self.begin()
        inside = "here"
        for a in AXES:
            f.line(f"for t_{a} in range(0, most_{a}):")
            f.depth += 1
            f.line(f"tap_{a} = first_{a} + t_{a} * step_{a}")
            f.line(f"inside_{a} = {inside} & (tap_{a} < end_{a})")
            inside = f"inside_{a}"
        self.tap()
        f.depth -= len(AXES)
        if self.kind == "mean":
            divide(f, "total", self.outs, "here", self.ty)
        f.line("tl.store(y + at, total, here)")
        if self.kind == "max_index":
            f.line("tl.store(index + at, best, here)")
        return source(f"pool_{self.kind}_kernel", f.mod, self.parameters(), f.lines,
                      f"cdiv(n, {TILE})")

    def begin(self) -> None:
        """Where an output's image is, the bounds of its taps, and what it begins as."""
        f = self.f
        f.line(f"image = x + {self.plane} * depth * height * width")
        for a, o in zip(AXES, self.outs, strict=True):
            for name, table in (("first", "low"), ("end", "high")):
                f.line(f"{name}_{a} = tl.load({table}_{a} + {o}, here, "
                       f"other=0).to({TYPE[self.number]})")
        none = 'float("-inf")' if self.is_max else "0.0"
        f.line(f"total = tl.full([{TILE}], {none}, {self.ty})")
        if self.is_max:
            f.line(f"best = tl.full([{TILE}], -1, tl.int64)")

    def tap(self) -> None:
        """What a tap does to the output."""
        f = self.f
        f.line("spot = (tap_z * height + tap_y) * width + tap_x")
        f.line("value = tl.load(image + spot, inside_x, other=0)")
        if self.is_max:
            f.line("better = inside_x & ((value > total) | (value != value) | (best < 0))")
            f.line("total = tl.where(better, value, total)")
            f.line("best = tl.where(better, spot, best)")
            return
        if self.kind == "spread":
            divide(f, "value", [f"tap_{a}" for a in AXES], "inside_x", self.ty)
        added = "inside_x"
        if self.kind == "taken":
            f.line(f"chosen = tl.load(index + {self.plane} * depth * height * width + spot, "
                   "inside_x, other=-1)")
            added = f"chosen == ({self.outs[0]} * n2 + {self.outs[1]}) * n3 + {self.outs[2]}"
        f.line(f"total = tl.where({added}, total + value, total)")

    def parameters(self) -> list[tuple[str, str]]:
        """The kernel's parameters, with their types."""
        pointers = [("x", scalar.POINTER[self.dtype]), ("y", scalar.POINTER[self.dtype])]
        pointers += [("index", "*i64")] if self.kind in ("max_index", "taken") else []
        pointers += [(f"{side}_{a}", "*i64") for a in AXES for side in ("low", "high")]
        divides = self.kind in ("mean", "spread")
        pointers += [(f"by_{a}", "*fp64") for a in AXES] if divides else []
        numbers = ["depth", "height", "width", *(f"most_{a}" for a in AXES),
                   *(f"step_{a}" for a in AXES), "n", "n1", "n2", "n3"]
        return [*pointers, *((n, self.number) for n in numbers)]


def divide(f: Code, name: str, places: Sequence[str], mask: str, ty: str) -> None:
    """Divide by the product of an output's divisors."""
    for a, at in zip(AXES, places, strict=True):
        f.line(f"d_{a} = tl.load(by_{a} + {at}, {mask}, other=1)")
    f.line(f"divisor = (d_z * d_y * d_x).to({ty})")
    f.line(f"{name} = " + (f"tl.div_rn({name}, divisor)" if ty == "tl.float32"
                           else f"{name} / divisor"))
