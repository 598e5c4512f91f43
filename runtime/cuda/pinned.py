"""Pinned host memory, which devices copy from and to by themselves; kept and given out again.

A piece is given out again when the copies that it was lent to are over: each is followed by an
event."""
from __future__ import annotations

import threading
from collections import deque
from typing import Any

import numpy as np

from .driver import Driver
from .statistics import HostStatistics

SMALLEST = 512


class Piece:
    """One piece of pinned memory, and the events of copies that use it."""
    __slots__ = ("address", "size", "events")

    def __init__(self, address: int, size: int) -> None:
        self.address, self.size = address, size
        self.events: list[int] = []


class PieceReference:
    """Somebody's hold on a piece. Arrays on it refer to it."""
    __slots__ = ("pinned", "piece", "__weakref__")

    def __init__(self, pinned: PinnedMemory, piece: Piece) -> None:
        self.pinned, self.piece = pinned, piece

    def __del__(self) -> None:
        self.pinned.dropped.append(self.piece)


class PinnedBytes:
    """What an array over pinned memory has as its base."""
    __slots__ = ("lent", "__array_interface__")

    def __init__(self, lent: PieceReference, size: int) -> None:
        self.lent = lent
        self.__array_interface__ = {
            "data": (lent.piece.address, False), "shape": (size,), "typestr": "|u1", "version": 3}


class PinnedMemory:
    """All pinned memory of a process."""

    def __init__(self, driver: Driver) -> None:
        self.driver, self.lock = driver, threading.Lock()
        self.dropped: deque[Piece] = deque()
        self.unused: dict[int, list[Piece]] = {}
        self.statistics = HostStatistics()

    def array(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """A new array in pinned memory, in C order, with undefined elements."""
        size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        lent = self._lend(size)
        return np.asarray(PinnedBytes(lent, size)).view(dtype).reshape(shape)

    def _lend(self, size: int) -> PieceReference:
        size = 1 << (max(size, SMALLEST) - 1).bit_length()
        with self.lock:
            self._look_at_dropped()
            found = self.unused.get(size)
            piece = found.pop() if found else self._new(size)
            self.statistics.lent(size)
        return PieceReference(self, piece)

    def _new(self, size: int) -> Piece:
        piece = Piece(self.driver.allocate_pinned(size), size)
        self.statistics.allocated(size)
        return piece

    def settle(self) -> HostStatistics:
        """The statistics, with all pending releases counted."""
        with self.lock:
            self._look_at_dropped()
        return self.statistics

    def _look_at_dropped(self) -> None:
        for _ in range(len(self.dropped)):
            piece = self.dropped.popleft()
            if all(self.driver.event_done(e) for e in piece.events):
                for e in piece.events:
                    self.driver.destroy_event(e)
                piece.events = []
                self.statistics.returned(piece.size)
                self.unused.setdefault(piece.size, []).append(piece)
            else:
                self.dropped.append(piece)

    def empty_cache(self) -> None:
        """Free the blocks that no array and no copy uses."""
        with self.lock:
            self._look_at_dropped()
            for pieces in self.unused.values():
                for piece in pieces:
                    self.driver.free_pinned(piece.address)
                    self.statistics.freed(piece.size)
            self.unused.clear()

    def used(self, a: np.ndarray, device: int, stream: int) -> None:
        """A copy from or to an array in pinned memory was queued in a stream."""
        lent = lent_of(a)
        if lent is not None:
            event = self.driver.create_event(device, timing=False)
            self.driver.record(event, stream)
            lent.piece.events.append(event)


def lent_of(a: np.ndarray) -> PieceReference | None:
    """The pinned block that an array is in; None for other memory."""
    base: Any = a
    while isinstance(base, np.ndarray):
        base = base.base
    return base.lent if type(base) is PinnedBytes else None
