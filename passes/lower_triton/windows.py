"""Pools as Triton source: an element of the tile is an output, whose taps are taken one after the
other in row-major order, sums from +0, as `lower_llvm.windows.pool` has it. Bits are the CPU's.

Windows are described by tables along each axis: the first tap inside the image, and the end. The
kinds (`KINDS`) are those of the CPU's kernel. An output's divisor is a product along the axes,
formed in f64.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

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
    return KINDS[kind](kind, dtype, far).source()


class Pool:
    """The writing of a pool's kernel: sums of what the taps give. `plane` and `outs`: the names of
    an output's place."""
    nothing: ClassVar = "0.0"        # what an output begins as
    uses_index: ClassVar = False     # Are there places of taps, read or written?
    divides: ClassVar = False        # Are there divisors?

    def __init__(self, kind: str, dtype: str, far: bool) -> None:
        self.kind, self.dtype = kind, dtype
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
        self.end()
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
        f.line(f"total = tl.full([{TILE}], {self.nothing}, {self.ty})")

    def tap(self) -> None:
        """Read a tap, and take it."""
        self.f.line("spot = (tap_z * height + tap_y) * width + tap_x")
        self.f.line("value = tl.load(image + spot, inside_x, other=0)")
        self.take()

    def take(self) -> None:
        """What a tap does to the output."""
        self.add("inside_x")

    def add(self, mask: str) -> None:
        """Add the tap where a mask holds."""
        self.f.line(f"total = tl.where({mask}, total + value, total)")

    def end(self) -> None:
        """What becomes of an output when all taps are taken."""
        self.f.line("tl.store(y + at, total, here)")

    def parameters(self) -> list[tuple[str, str]]:
        """The kernel's parameters, with their types."""
        pointers = [("x", scalar.POINTER[self.dtype]), ("y", scalar.POINTER[self.dtype])]
        pointers += [("index", "*i64")] if self.uses_index else []
        pointers += [(f"{side}_{a}", "*i64") for a in AXES for side in ("low", "high")]
        pointers += [(f"by_{a}", "*fp64") for a in AXES] if self.divides else []
        numbers = ["depth", "height", "width", *(f"most_{a}" for a in AXES),
                   *(f"step_{a}" for a in AXES), "n", "n1", "n2", "n3"]
        return [*pointers, *((n, self.number) for n in numbers)]


class Max(Pool):
    """The largest tap, or the first that is no number."""
    nothing = 'float("-inf")'

    def begin(self) -> None:
        super().begin()
        self.f.line(f"best = tl.full([{TILE}], -1, tl.int64)")

    def take(self) -> None:
        self.f.line("better = inside_x & ((value > total) | (value != value) | (best < 0))")
        self.f.line("total = tl.where(better, value, total)")
        self.f.line("best = tl.where(better, spot, best)")


class MaxIndex(Max):
    """The largest tap, or the first that is no number, and where it is."""
    uses_index = True

    def end(self) -> None:
        super().end()
        self.f.line("tl.store(index + at, best, here)")


class Mean(Pool):
    """Sums, divided."""
    divides = True

    def end(self) -> None:
        divide(self.f, "total", self.outs, "here", self.ty)
        super().end()


class Spread(Pool):
    """Sums of what was divided: the gradient of a mean."""
    divides = True

    def take(self) -> None:
        divide(self.f, "value", [f"tap_{a}" for a in AXES], "inside_x", self.ty)
        super().take()


class Taken(Pool):
    """The gradient of a maximum: an output is the pool's input, its taps are the pool's outputs
    that may have taken it."""
    uses_index = True

    def take(self) -> None:
        self.f.line(f"chosen = tl.load(index + {self.plane} * depth * height * width + spot, "
                    "inside_x, other=-1)")
        self.add(f"chosen == ({self.outs[0]} * n2 + {self.outs[1]}) * n3 + {self.outs[2]}")


KINDS = {"max": Max, "max_index": MaxIndex, "mean": Mean, "spread": Spread, "taken": Taken}


def divide(f: Code, name: str, places: Sequence[str], mask: str, ty: str) -> None:
    """Divide by the product of an output's divisors."""
    for a, at in zip(AXES, places, strict=True):
        f.line(f"d_{a} = tl.load(by_{a} + {at}, {mask}, other=1)")
    f.line(f"divisor = (d_z * d_y * d_x).to({ty})")
    f.line(f"{name} = " + (f"tl.div_rn({name}, divisor)" if ty == "tl.float32"
                           else f"{name} / divisor"))
