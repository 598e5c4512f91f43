"""What a unit of work of a window kernel reads first: its call's pointers and geometry, and where
the thread's scratch memory is."""
from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from .window_tiles import FIELD, Geometry

if TYPE_CHECKING:
    from ..builder import Fn, Val
    from .epilogue import Epilogue
    from .window_tiles import Tile

GEOMETRY = 4                   # the slot of the geometry; three operands and the scratch come first


class Call:
    """The arguments of a call; the first `slots` are loaded as pointers."""

    def __init__(self, f: Fn, t: Tile, slots: int = GEOMETRY,
                 fields: dict[str, int] = FIELD) -> None:
        self.f, self.t = f, t
        args, self._begin, self._end, worker = f.args
        self.pointers = [f.load("ptr", f.at(args, i, "i64")) for i in range(slots)]
        self.g = Geometry(f, args, GEOMETRY, fields)
        self.scratch = f.bytes_at(self.pointers[GEOMETRY - 1], worker * self.g.scratch)

    def area(self, name: str) -> Val:
        """A piece of the thread's scratch memory."""
        return self.g.area(self.scratch, name)

    def each_unit(self, unit: Callable[[Val], None]) -> None:
        """unit(number) for every unit of work that the kernel is called for."""
        self.f.loop(self._begin, self._end, 1, unit)


class ForwardCall(Call):
    """Operands x, w and y; the epilogue's operands follow the geometry."""

    def __init__(self, f: Fn, t: Tile, epilogue: Epilogue, fields: dict[str, int] = FIELD) -> None:
        super().__init__(f, t, GEOMETRY + 1 + len(epilogue.operands), fields)
        self.epilogue = epilogue
        self.x, self.w, self.y, _, _, *self.operands = self.pointers
