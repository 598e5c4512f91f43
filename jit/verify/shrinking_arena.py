"""An arena for one run of a list of launches: it releases memory as the run goes on, and lends its
holes to other values of the run."""
from __future__ import annotations

import ctypes as C
from collections.abc import Sequence
from typing import Any

import numpy as np
from whet.cpu import memory
from whet.ir.memory_spans import address

from ..program.arena import Piece, room_of
from ..program.arena_in_results import Room
from ..program.launch_lists import ARENA
from ..program.list_lifetimes import Lodger, Window

FOR_EVER = 1 << 62
PAYS = 8                         # a part of an arena: to hold so much less is worth a copy


class ShrinkingArena:
    """The arena of a run, which frees its lower and upper ends when they are no longer needed.
    `block` is the memory that is left, and `begin` the byte of the arena at which it begins."""

    def __init__(self, size: int, lodgers: Sequence[Lodger]) -> None:
        self.size = size
        self.room = Room(ARENA, size, -1, FOR_EVER)
        self.room.lodgers = [(x.first, x.last - 1, x.low, x.high) for x in lodgers]
        self.lodgers = sorted(lodgers, key=lambda x: x.last)
        self.begin, end = self.needed(0)
        self.block = memory.empty(max(end - self.begin, 1), np.uint8)

    @property
    def base(self) -> Any:
        """An array at the address where the whole arena would begin. Its elements may be freed
        memory: only offsets to it are used."""
        one: Any = (C.c_uint8 * 1).from_address(address(self.block) - self.begin)
        return np.frombuffer(one, np.uint8)

    def needed(self, time: int) -> tuple[int, int]:
        """The first byte, and the one after the last, of all pieces in use at this time or
        later."""
        left = [x for x in self.lodgers if x.last > time]
        return min((x.low for x in left), default=0), max((x.high for x in left), default=0)

    def place(self, w: Window, size: int) -> int | None:
        """Reserve room for a window within the bytes that are needed while it exists. Gives its
        first byte; None where there is no room."""
        low, high = self.needed(w.first)
        span = w.first, w.last - 1, room_of(size), [Piece(size)]
        others, self.room.lodgers = self.room.lodgers, [
            *self.room.lodgers, (*span[:2], 0, low), (*span[:2], high, self.size)]
        at = self.room.offset(span)
        self.room.lodgers = others
        if at is not None:
            self.room.take(span, at)
        return at

    def shrink(self, time: int) -> bool:
        """Free what is not needed from this time on, where that pays. No window may be in the arena
        at the moment, as the rest is moved."""
        low, high = self.needed(time)
        size, now = max(high - low, 1), memory.stats()
        if size > self.block.nbytes - self.block.nbytes // PAYS or now["live"] + size > now["peak"]:
            return False                     # for a moment there are both
        block = memory.empty(size, np.uint8)
        block[:high - low] = self.block[low - self.begin:high - self.begin]
        self.begin, self.block = low, block
        return True
