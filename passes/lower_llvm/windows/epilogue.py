"""What a convolution stores: an expression over its sums and further operands."""
from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from ....ir import scalar
from ....ir.scalar import Expr
from ..builder import Val
from ..scalar import emit as emit_scalar
from .output_lanes import output_lanes

if TYPE_CHECKING:
    from ..builder import Fn
    from .window_tiles import Geometry, Tile


class Extent(enum.StrEnum):
    """What an operand of an epilogue has a value for."""
    ONE = "one"                  # for all results: one number
    CHANNEL = "channel"          # for each output channel
    PIXEL = "pixel"              # for each result; it is laid out as y is


@dataclass(frozen=True)
class Epilogue:
    """What is stored: an `ir.scalar` expression over the sums (argument 0) and over operands, which
    follow x, w and y in the kernel's arguments. `operands`: the extent of each."""
    root: Expr
    operands: tuple[Extent, ...] = ()

    def values(self, f: Fn, elem: str, operands: Sequence[Val], channel: Val,
               more: int | Val = 0) -> list[Val]:
        """What `writer` takes for the operands (pointers) at output channel `channel + more`:
        numbers, and the pointers of those that go by pixel."""
        def value(p: Val, extent: Extent) -> Val:
            if extent is Extent.PIXEL:
                return p
            of_channel = extent is Extent.CHANNEL
            return f.load(elem, f.at(f.at(p, channel, elem), more, elem) if of_channel else p)
        return [value(p, x) for p, x in zip(operands, self.operands, strict=True)]

    def by_pixel(self, operands: Sequence[Val]) -> list[Val]:
        """The operands that have a value for each result."""
        return [p for p, extent in zip(operands, self.operands, strict=True)
                if extent is Extent.PIXEL]

    @property
    def key(self) -> str:
        return f"{self.root}/{','.join(self.operands)}"


SUMS = Epilogue(scalar.arg(0))
Put: TypeAlias = Callable[[Val, Sequence[Val], Val, Val], None]          # see `writer`


def writer(f: Fn, t: Tile, epilogue: Epilogue, bits: Val | None, far: int, g: Geometry) -> Put:
    """A function (sums, operands, y, at) that applies the epilogue to a vector of sums and stores
    it at y + at.

    `bits` and `far`: which lanes, and how far they are apart, see `output_lanes`.
    """
    lanes = output_lanes(f, t, bits, far, g)
    dtype = "f32" if t.elem == "float" else "f64"

    def put(acc: Val, operands: Sequence[Val], y: Val, at: Val) -> None:
        if epilogue.root != scalar.arg(0):
            values = [acc, *(lanes.load(f.at(v, at, t.elem)) if v.ty == "ptr" else v
                             for v in operands)]
            acc = emit_scalar(f, [epilogue.root], values, [dtype] * len(values), t.lanes)[0]
        lanes.store(acc, f.at(y, at, t.elem))
    return put
