"""The memory of simulated devices.

An address of a device is a number that the host cannot follow: reading there ends the process, as
it does with a real device. Each allocation has a mirror in host memory, with a fence at both ends,
which work of the device is done on.
"""
from __future__ import annotations

import bisect

import numpy as np

from ..driver import CudaError, OutOfMemoryError

# no processor has memory there: bits 47 to 63 of an address of theirs are all alike
FIRST_ADDRESS = 0x0130_0000_0000_0000
ADDRESSES_OF_A_DEVICE = 1 << 44
ALIGNMENT = 512                     # of what a real driver gives out, at least
FENCE, GUARD = 256, 0xA5            # bytes at each end, and what they hold
FRESH, FREED = 0xFF, 0xDD           # what new and freed memory holds; the first is NaN in any type


class Mirror:
    """One allocation: where the device has it, and the host memory that stands for it."""
    __slots__ = ("address", "size", "bytes")

    def __init__(self, address: int, size: int) -> None:
        self.address, self.size = address, size
        self.bytes = np.full(size + 2 * FENCE, GUARD, np.uint8)
        self.bytes[FENCE:FENCE + size] = FRESH

    @property
    def inside(self) -> np.ndarray:
        """The memory without its fences."""
        return self.bytes[FENCE:FENCE + self.size]

    def start(self) -> int:
        """The host's address of the first byte."""
        return int(self.bytes.__array_interface__["data"][0]) + FENCE

    def intact(self) -> bool:
        """Did nothing write across an end?"""
        return bool((self.bytes[:FENCE] == GUARD).all()
                    and (self.bytes[FENCE + self.size:] == GUARD).all())


class Memory:
    """The allocations of one space of addresses, a device's or that of pinned host memory.

    Addresses are never given out twice, so that one that was freed is known to be wrong."""

    def __init__(self, first: int, total: int) -> None:
        self.next, self.total, self.used = first, total, 0
        self.starts: list[int] = []
        self.mirrors: dict[int, Mirror] = {}

    def allocate(self, size: int) -> int:
        """The address of new memory, full of NaN."""
        if self.used + size > self.total:
            raise OutOfMemoryError(
                f"out of memory: {size} bytes asked for, {self.total - self.used} are free")
        address = self.next
        self.next += -(-(size + 1) // ALIGNMENT) * ALIGNMENT
        self.keep(Mirror(address, size))
        return address

    def keep(self, mirror: Mirror) -> None:
        """Note an allocation under its address."""
        self.mirrors[mirror.address] = mirror
        bisect.insort(self.starts, mirror.address)
        self.used += mirror.size

    def free(self, address: int) -> None:
        """Take an allocation back."""
        mirror = self.mirrors.pop(address, None)
        if mirror is None:
            raise CudaError(f"invalid argument: {address:#x} is no allocation that is alive")
        self.starts.remove(address)
        self.used -= mirror.size
        intact = mirror.intact()
        mirror.inside[:] = FREED
        if not intact:
            raise CudaError(f"memory was written beyond an end of the allocation at {address:#x}")

    def find(self, address: int, size: int) -> Mirror | None:
        """The allocation that these bytes lie in."""
        at = bisect.bisect_right(self.starts, address) - 1
        if at < 0:
            return None
        mirror = self.mirrors[self.starts[at]]
        return mirror if address + size <= mirror.address + mirror.size else None

    def damaged(self) -> list[int]:
        """The addresses of allocations whose fences were written to."""
        return [a for a, m in self.mirrors.items() if not m.intact()]
