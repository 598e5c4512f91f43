"""What a convolution stores: an expression over its sums and further operands."""
from __future__ import annotations

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


@dataclass(frozen=True)
class Epilogue:
    """What is stored: an `ir.scalar` expression over acc (argument 0) and operands that follow x,
    w, y in the kernel's arguments.

    An operand is "channel" (one value per output channel), "pixel" (laid out as y is) or "one" (a
    value for all).
    """
    root: Expr
    operands: tuple[str, ...] = ()

    def values(self, f: Fn, elem: str, operands: Sequence[Val], channel: Val,
               more: int | Val = 0) -> list[Val]:
        """What `writer` takes for the operands (pointers) at output channel `channel + more`:
        numbers, and the pointers of those that go by pixel."""
        return [p if kind == "pixel"
                else f.load(elem,
                            f.at(f.at(p, channel, elem), more, elem) if kind == "channel" else p)
                for p, kind in zip(operands, self.operands, strict=True)]

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
