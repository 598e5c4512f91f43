"""An arena for one run of a list of launches: less of it is held as the run goes on, and its holes
are lent to what the run needs beside it."""
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
    """The arena of a run, of which less is held when its upper and lower ends are needed no more.
    `begin` is the byte of the arena at which `block` begins; `base` begins where the arena would
    have."""

    def __init__(self, size: int, lodgers: Sequence[Lodger]) -> None:
        self.size = size
        self.room = Room(ARENA, size, -1, FOR_EVER)
        self.room.lodgers = [(x.first, x.last - 1, x.low, x.high) for x in lodgers]
        self.lodgers = sorted(lodgers, key=lambda x: x.last)
        self.begin, end = self.needed(0)
        self.block = memory.empty(max(end - self.begin, 1), np.uint8)

    @property
    def base(self) -> Any:
        """An array whose address is that of the whole arena; its elements are nobody's."""
        one: Any = (C.c_uint8 * 1).from_address(address(self.block) - self.begin)
        return np.frombuffer(one, np.uint8)

    def needed(self, time: int) -> tuple[int, int]:
        """The bytes from which and until which pieces lie that are in use at a time or later."""
        left = [x for x in self.lodgers if x.last > time]
        return min((x.low for x in left), default=0), max((x.high for x in left), default=0)

    def place(self, w: Window, size: int) -> int | None:
        """Where memory for a window has room among what is needed then; it lies there from now
        on."""
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
        """Hold less from this time on, where that pays; nothing was placed in it that is there
        still."""
        low, high = self.needed(time)
        size, now = max(high - low, 1), memory.stats()
        if size > self.block.nbytes - self.block.nbytes // PAYS or now["live"] + size > now["peak"]:
            return False                     # for a moment there are both
        block = memory.empty(size, np.uint8)
        block[:high - low] = self.block[low - self.begin:high - self.begin]
        self.begin, self.block = low, block
        return True
