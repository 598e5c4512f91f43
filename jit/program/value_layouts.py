"""The values of a run: the layout of each, without its memory.

A value has a number and a stand-in: an array with its type and strides, at an address without
physical memory as long as nothing touches it. Values that share memory have stand-ins that share
addresses in the same way. So what passes ask of arrays (do they overlap, are they contiguous, how
far apart are they) has the same answers. The array itself is known as long as somebody else holds
it; it is freed when eager frees it."""
from __future__ import annotations

import math
import weakref
from bisect import bisect, insort
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from whet import devices
from whet.ir.graph import Type
from whet.ir.memory_spans import address, span

from ..refusals.recording_errors import NoElements, Refused
from ..values.same_bits import copy_with_layout, digest, same_bits

if TYPE_CHECKING:
    from whet.ir.values import Array

# bytes of a tensor from outside that is copied at once: a digest would take no less
SHORT = 1 << 12
LINE = 64                        # bytes: an array's alignment to these is a fact of it
CHUNK = 1 << 26                  # bytes of addresses that are asked for at a time
MOST = 1 << 44                   # bytes of addresses of all values of a run: a system has few more


class Addresses:
    """Reserves addresses for arrays whose elements are never read or written. The system provides
    memory for a page when it is first touched."""

    def __init__(self) -> None:
        self.chunk = np.empty(0, np.uint8)
        self.used = self.taken = 0

    def take(self, size: int, like: int) -> tuple[Array, int]:
        """(an array of bytes, the offset in it at which `size` bytes begin that are aligned as
        address `like` is)"""
        at = self.used + (like - address(self.chunk) - self.used) % LINE
        if at + size > self.chunk.size:
            self.chunk = np.empty(max(CHUNK, size + LINE), np.uint8)
            at = (like - address(self.chunk)) % LINE
        self.used = at + size + 1            # neighbours do not touch
        self.taken += size
        if self.taken > MOST:
            raise MemoryError("the system has no addresses for all that it makes")
        return self.chunk, at

    def like(self, a: Array | Type) -> Array:
        """An array with the type and strides of another, or of a `Type`."""
        t = a if isinstance(a, Type) else Type.of(a)
        low, high = t.span
        chunk, at = self.take(high - low, 0)
        return np.ndarray(t.shape, t.dtype, chunk, at - low, t.strides)


class StandInMemory:
    """The addresses that stand for a piece of memory. `low` and `high` are the real addresses;
    `chunk` has the stand-in's from `at` on."""
    __slots__ = ("low", "high", "chunk", "at")

    def __init__(self, low: int, high: int, addresses: Addresses) -> None:
        self.low, self.high = low, high
        self.chunk, self.at = addresses.take(high - low, low)

    def stand_in(self, a: Array) -> Array:
        """The stand-in of an array in this memory."""
        made = np.ndarray(a.shape, a.dtype, self.chunk,
                          self.at + address(a) - self.low if a.size else self.at, a.strides)
        if not a.flags.writeable:
            made.flags.writeable = False
        return made


class Values:
    """The values of a run, by number."""

    def __init__(self) -> None:
        # stand-ins; of what was there before, the arrays
        self.arrays: list[Array] = []
        # value that is a view -> the value whose memory it shows, which is no view
        self.memory: dict[int, int] = {}
        # weak references to the arrays
        self.real: list[Callable[[], Array | None]] = []
        # id of an array -> its number, or that of one that is gone
        self.numbers: dict[int, int] = {}
        # value -> where the stand-ins of its memory are; none where that was there before
        self.rooms: dict[int, StandInMemory] = {}
        self.addresses = Addresses()
        # value on a device -> the device's number
        self.devices: dict[int, int] = {}
        # value that was there before, on a device -> its array
        self.device_arrays: dict[int, Any] = {}
        # arrays that are kept for the time being (see `holding`)
        self.held: list[Array] | None = None

    def number(self, a: Array) -> int | None:
        """The number of an array, or None."""
        n = self.numbers.get(id(a))
        return n if n is not None and self.real[n]() is a else None

    def root(self, n: int) -> int:
        """The value whose memory a view shows; the value itself if it is no view."""
        return self.memory.get(n, n)

    def array(self, n: int) -> Array | None:
        """The array of a value; None if eager has freed it."""
        return self.real[n]()

    def from_outside(self, a: Array) -> int:
        """Number an array that existed before. For an array on a device the stand-in is an array
        that has its address and cannot be read."""
        n = self.enter(a, devices.places(a))
        if n in self.devices:
            self.device_arrays[n] = a
        return n

    def made(self, a: Array, sources: Iterable[int] = ()) -> int:
        """Number an array that the run made. `sources`: the values whose memory it may share."""
        layout = devices.places(a)
        low, high = span(layout)
        for x in sources if a.size else ():
            room = self.rooms.get(x)
            if room is not None and room.low <= low and high <= room.high:
                break
            if room is None and np.may_share_memory(layout, self.arrays[x]):
                return self.enter(a, layout)     # it keeps nothing that its operand does not
        else:
            room = StandInMemory(low, high, self.addresses)
        n = self.enter(a, room.stand_in(layout))
        self.rooms[n] = room
        return n

    def enter(self, a: Array, stand_in: Array) -> int:
        """Number an array."""
        n = self.numbers[id(a)] = len(self.arrays)
        self.arrays.append(stand_in)
        self.real.append(weakref.ref(a))
        where: Any = a
        if devices.is_elsewhere(a):
            if where.index is None:
                raise Refused(NoElements())
            self.devices[n] = where.index
        if self.held is not None:
            self.held.append(a)
        return n

    def copied(self, n: int) -> int:
        """Number a future copy of a value."""
        new = len(self.arrays)
        self.arrays.append(np.empty_like(self.arrays[n]))
        self.real.append(gone)
        if n in self.devices:
            self.devices[new] = self.devices[n]
        return new

    def inside(self, n: int) -> bool:
        """Is a view inside the memory of its base, and past the gaps of one from outside?"""
        root = self.memory[n]
        if n in self.rooms:
            return self.rooms[n] is self.rooms.get(root)
        (low, high), (first, end) = span(self.arrays[n]), span(self.arrays[root])
        return first <= low and high <= end and not _shows_gaps(self.arrays[n], self.arrays[root])

    @contextmanager
    def holding(self) -> Iterator[None]:
        """A context in which arrays that are used or made stay alive."""
        held: list[Array] = []
        around, self.held = self.held, held
        try:
            yield
        finally:
            if around is not None:
                around += held
            self.held = around

    def forget(self, n: int) -> None:
        """Make a value unknown."""
        a = self.array(n)
        if a is not None:
            self.numbers.pop(id(a), None)


def _shows_gaps(part: Array, whole: Array) -> bool:
    """Does a part of an array's memory show bytes between the array's elements?"""
    low, high = span(whole)
    if whole.nbytes == high - low and 0 not in whole.strides:
        return False
    held = np.zeros(high - low, bool)

    def bytes_of(a: Array) -> Array:
        return np.ndarray((*a.shape, a.itemsize), bool, held.data, address(a) - low,
                          (*a.strides, 1))
    bytes_of(whole)[...] = True
    return not bytes_of(part).all()


def unlimited() -> float:
    """The default of `Originals.may_take`: copies may take any number of bytes."""
    return math.inf


def nothing() -> None:
    """The default of `Originals.given_up`: nothing is done."""


def gone() -> None:
    """The array of a value that the run did not make."""


class Originals:
    """What outside tensors held before the run wrote to them: each is copied just before it is
    written to. For the others, a digest shows afterwards that nothing else wrote to them.

    If the copies would take more than `may_take()` bytes, they are dropped, and no more are made.
    `given_up()` is called before the write for which the next copy would have been made."""

    def __init__(self, values: Values) -> None:
        self.arrays, self.device_arrays = values.arrays, values.device_arrays
        self.may_take: Callable[[], float] = unlimited
        self.given_up: Callable[[], None] = nothing
        self.are_lost = False
        self.taken = self.met = 0            # bytes of copies, and of all values from outside
        self.copies: dict[int, Array] = {}
        self.digests: dict[int, int] = {}
        # (first address, value), in order; the bytes of the longest
        self.places: list[tuple[int, int]] = []
        self.longest = 0

    def note_first_use(self, n: int) -> None:
        """Note the first use of an outside value."""
        a = self.arrays[n]
        self.met += a.nbytes
        if a.nbytes < SHORT:
            self.copies[n] = copy_with_layout(self.real(n))
            return
        low, high = span(a)
        insort(self.places, (low, n))
        self.longest = max(self.longest, high - low)
        self.digests[n] = digest(self.real(n))

    def real(self, n: int) -> Array:
        """The array of an outside value, which can be read."""
        found: Array = self.device_arrays.get(n, self.arrays[n])
        return found

    def write(self, a: Array) -> None:
        """Called before an array is written to."""
        if self.are_lost:
            return
        low, high = span(devices.places(a))
        for i in (range(bisect(self.places, (low - self.longest, 0)),
                        bisect(self.places, (high, 0)))):
            _, n = self.places[i]
            if n not in self.copies and span(self.arrays[n])[1] > low:
                self.taken += self.arrays[n].nbytes
                if self.taken > self.may_take():
                    self.give_up()
                    return
                self.copies[n] = copy_with_layout(self.real(n))

    def give_up(self) -> None:
        """Drop the copies, except short ones that replace digests."""
        if self.are_lost:
            return
        given_up, self.are_lost = self.given_up, True
        self.end()
        given_up()
        for n in self.digests:
            self.copies.pop(n, None)

    def end(self) -> None:
        """End the run, or the copies: no use of a value is noted any more."""
        self.may_take, self.given_up = unlimited, nothing

    def __getitem__(self, n: int) -> Array:
        """The original contents of an outside value."""
        a = self.copies.get(n)
        return self.real(n) if a is None else a

    def untouched(self, n: int) -> bool:
        """Has a value to which the run did not write its original contents?"""
        return (digest(self.real(n)) == self.digests[n] if n in self.digests else
                same_bits(self.real(n), self.copies[n]))

    def clear(self) -> None:
        """Drop the copies."""
        self.copies.clear()
