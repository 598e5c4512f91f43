"""Batches from one process to another through shared memory.

A batch is pickled, and what arrays hold is not in the pickle but in a *block* of shared memory that
the worker owns. The reader's tensors lie in the block itself; when the last of them is gone the
block goes back to the worker, which writes another batch into it.
"""
from __future__ import annotations

import io
import itertools
import math
import mmap
import os
import pickle
import sys
import weakref
from collections import deque
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.reduction import recv_handle, send_handle
from typing import Any, NamedTuple

import numpy as np

from ...cpu.shared_memory import LINE, SharedMapping, new_mapping
from ...ops.pickling import refuse_history
from ...tensor import Tensor

# blocks are not smaller than this many bytes, and a power of two
SMALLEST = 1 << 16
# so many blocks of a worker may be with the reader; what comes after that is copied out of its
# block, which goes back at once. A reader that keeps all batches would need a block for each.
LENT = 16


class NewBlock(NamedTuple):
    """Said before a file descriptor is sent: a block of that many bytes."""
    block: int
    size: int


class DropBlock(NamedTuple):
    """The worker uses this block no more."""
    block: int


class Parcel(NamedTuple):
    """A pickled value whose large parts lie in a block, at `spans` (start, number of bytes). The
    pickle lies there too, at the last span, where it is not here."""
    pickled: bytes | None
    block: int
    spans: list[tuple[int, int]]


class Outbox:
    """The worker's end: blocks that it owns, those that are free, and where it sends."""

    def __init__(self, connection: Connection, reader: int) -> None:
        self.connection, self.reader = connection, reader
        self.blocks: dict[int, SharedMapping] = {}
        self.free: deque[int] = deque()
        self.made = 0
        # the block that the next batch is collated in, how much of it is taken, and how much the
        # batch before took
        self.open: int | None = None
        self.taken = self.expected = 0

    def room(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray | None:
        """Where to collate an array, so that it need not be copied later; None where it is not
        known yet how large batches are, or it does not fit."""
        size = math.prod(shape) * dtype.itemsize
        if self.open is None and self.expected:
            self.open, self.taken = self._block(self.expected), 0
        if self.open is None or not size or self.taken + size > len(self.blocks[self.open]):
            return None
        at = self.taken
        self.taken += whole_lines(size)
        return np.ndarray(shape, dtype, self.blocks[self.open], at)

    def pack(self, value: Any) -> Parcel:
        """A value as a message, after its block was made known."""
        parts: list[memoryview] = []
        pickled = _pickled(value, lambda b: parts.append(b.raw()))
        here: bytes | None = pickled
        if len(pickled) > SMALLEST // 4:
            parts.append(memoryview(pickled))
            here = None
        if not parts:
            return Parcel(here, -1, [])
        block, starts = self._place(parts)
        memory = memoryview(self.blocks[block])
        for part, start in zip(parts, starts):
            if start >= 0:
                memory[start:start + part.nbytes] = part
        spans = [(start if start >= 0 else ~start, part.nbytes)
                 for part, start in zip(parts, starts)]
        self.expected = max(start + whole_lines(size) for start, size in spans)
        return Parcel(here, block, spans)

    def _place(self, parts: list[memoryview]) -> tuple[int, list[int]]:
        """A block for parts, and where each begins in it; ~start, if it is there already."""
        block, self.open = self.open, None
        if block is not None:
            starts, end = [], self.taken
            first = _address(self.blocks[block])
            for part in parts:
                at = _address(part) - first
                if 0 <= at < self.taken:
                    starts.append(~at)
                else:
                    starts.append(end)
                    end += whole_lines(part.nbytes)
            if end <= len(self.blocks[block]):
                return block, starts
        sizes = [whole_lines(part.nbytes) for part in parts]
        fresh = self._block(sum(sizes))
        if block is not None:
            self.free.append(block)
        return fresh, [0, *itertools.accumulate(sizes[:-1])]

    def _block(self, size: int) -> int:
        """A block that is not being read, of at least that many bytes."""
        for _ in range(len(self.free)):
            block = self.free.popleft()
            mapping = self.blocks[block]
            # whoever kept a batch here (a cache in the dataset, say) goes on having it
            kept = sys.getrefcount(mapping) > 3
            if len(mapping) >= size and not kept:
                return block
            del self.blocks[block]
            self.connection.send(DropBlock(block))
        number, self.made = self.made, self.made + 1
        mapping = new_mapping(max(SMALLEST, 1 << (size - 1).bit_length()))
        self.blocks[number] = mapping
        self.connection.send(NewBlock(number, len(mapping)))
        send_handle(self.connection, mapping.fd, self.reader)
        return number


class _Pickler(pickle.Pickler):
    """It refuses tensors whose gradients would be lost on the way."""

    def reducer_override(self, x: Any) -> Any:
        if isinstance(x, Tensor):
            refuse_history(x)
        return NotImplemented


def _pickled(value: Any, apart: Callable[[pickle.PickleBuffer], Any]) -> bytes:
    """A value in bytes, but for its buffers, which are handed to `apart`."""
    out = io.BytesIO()
    _Pickler(out, 5, buffer_callback=apart).dump(value)
    return out.getvalue()


def whole_lines(size: int) -> int:
    """That many bytes, and as many as are left of the last cache line."""
    return -(-size // LINE) * LINE


def _address(memory: Any) -> int:
    return int(np.frombuffer(memory, np.uint8, 1).ctypes.data) if len(memory) else -1


class Inbox:
    """The reader's end: a worker's blocks as they are mapped here, and which can go back."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.blocks: dict[int, mmap.mmap] = {}
        self.lent = 0
        self.returned: deque[int] = deque()

    def receive(self) -> Any:
        """The next message that is none about blocks, if the worker has sent one."""
        while self.connection.poll(0):
            message = self.connection.recv()
            if isinstance(message, NewBlock):
                fd = recv_handle(self.connection)
                self.blocks[message.block] = mmap.mmap(fd, message.size)
                os.close(fd)
            elif isinstance(message, DropBlock):
                del self.blocks[message.block]
            else:
                return message
        return None

    def unpack(self, parcel: Parcel) -> Any:
        """The value in a parcel; its arrays lie in the block."""
        if not parcel.spans:
            assert parcel.pickled is not None
            return pickle.loads(parcel.pickled)
        block = self.blocks[parcel.block]
        lease: np.ndarray = np.frombuffer(block, np.uint8)
        memory = lease.data
        parts = [memory[start:start + length] for start, length in parcel.spans]
        pickled = parts.pop() if parcel.pickled is None else parcel.pickled
        if self.lent >= LENT:
            value = pickle.loads(pickled, buffers=[bytearray(part) for part in parts])
            self.returned.append(parcel.block)
            return value
        self.lent += 1
        weakref.finalize(lease, self._give_back, parcel.block).atexit = False
        return pickle.loads(pickled, buffers=parts)

    def _give_back(self, block: int) -> None:
        self.lent -= 1
        self.returned.append(block)

    def take_returned(self) -> list[int]:
        """The blocks whose batches are gone, which the worker must hear of."""
        blocks = []
        while self.returned:
            blocks.append(self.returned.popleft())
        return blocks
