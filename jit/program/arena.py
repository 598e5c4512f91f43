"""Plans the arena: the memory that a program needs only while it runs. Each piece of it gets an
offset when the program is made.

A piece is live from the first step that touches it to the last one. Two pieces that are never live
at once may share a place."""
import heapq
import itertools
from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from whet.cpu import guarded_memory

ALIGN = 64                       # bytes
# An arena that is so much larger than what lives at once is planned again, with more care, if it
# has no more pieces than this: it takes 3 ms then.
WASTE, MOST_BY_SIZE = 1.02, 300
# a piece with its heirs: its first step and its last one, bytes, these pieces
Span: TypeAlias = tuple[int, int, int, list["Piece"]]


class Piece:
    """A piece of the arena, of this many bytes. `first` and `last` are the steps that touch it.
    `heir` is the piece that takes over its place. `room` is the position of the result whose memory
    it is in instead."""
    __slots__ = ("size", "first", "last", "offset", "heir", "room")

    def __init__(self, size: int) -> None:
        self.size = size
        self.heir: Piece | None = None
        self.first: int | None = None
        self.last: int | None = None
        self.offset: Any = None              # once it has a place
        self.room: int | None = None

    def touch(self, step: int) -> None:
        """Note that a step works on this piece. Steps come in their order."""
        if self.first is None:
            self.first = step
        self.last = step


class Ranges:
    """Maps addresses to what is there. A later range hides an earlier one."""

    def __init__(self) -> None:
        self.lows: list[int] = []
        self.found: list[tuple[int, Any]] = []

    def put(self, low: int, high: int, what: Any) -> None:
        """Note that the memory from `low` to `high` is this. Whatever lay there before must have
        begun there too."""
        i = bisect_left(self.lows, low)
        if i < len(self.lows) and self.lows[i] == low:
            self.found[i] = high, what
        else:
            self.lows.insert(i, low)
            self.found.insert(i, (high, what))

    def at(self, address: int) -> tuple[int, Any] | None:
        """(where the range of an address begins, what it is), or None."""
        i = bisect_right(self.lows, address) - 1
        return (self.lows[i], self.found[i][1]) if i >= 0 and address < self.found[i][0] else None


def plan(pieces: Iterable[Piece], heirs: Iterable[tuple[Piece, Piece]] = (),
         lent: Callable[[list[Span]], list[Span]] = list) -> int:
    """Give each piece that is touched its offset; return the size of the arena.

    `heirs`: (piece, another of its size). The latter takes the former's place if the step that
    makes it is the last one to need that. `lent` finds other places for some, and gives the rest.
    """
    spans = lent(spans_of([p for p in pieces if p.first is not None], heirs))
    back = [(-last, -first, size, line) for first, last, size, line in spans]
    size, offsets = min(_fit(spans), _fit(back))
    if size > WASTE * most_alive(spans) and len(spans) <= MOST_BY_SIZE:
        size, offsets = min((size, offsets), _fit_by_size(spans))
    for k, (_, _, _, line) in enumerate(spans):
        for p in line:
            p.offset = offsets[k]
    return size


def spans_of(pieces: Sequence[Piece], heirs: Iterable[tuple[Piece, Piece]]) -> list[Span]:
    """The live range of each piece, joined with those of its heirs."""
    born = set()
    for old, new in heirs:
        if (old.heir is None and id(new) not in born and old.first is not None
                and old.last == new.first and room_of(old.size) == room_of(new.size)):
            old.heir = new
            born.add(id(new))
    spans: list[Span] = []
    for p in pieces:
        if id(p) not in born:
            line = [p]
            while line[-1].heir is not None:
                line.append(line[-1].heir)
            first, last = p.first, line[-1].last
            assert first is not None and last is not None
            spans.append((first, last, room_of(p.size), line))
    return spans


def plan_apart(pieces: Iterable[Piece]) -> tuple[int, list[int]]:
    """As `plan`, with guard pages: each piece is between two pages that must not be touched, next
    to the one at the guarded side. Returns (the size of the arena, where such pages begin)."""
    page, at, forbidden = guarded_memory.PAGE, 0, [0]
    for p in pieces:
        at += page
        room = room_of(p.size)
        p.offset = at + (guarded_memory.pages(room) - room if guarded_memory.SIDE == "end" else 0)
        at += guarded_memory.pages(p.size)
        forbidden.append(at)
    return at + page, forbidden


def room_of(size: int) -> int:
    """The bytes that a piece of this size takes."""
    return -(-size // ALIGN) * ALIGN


def _fit(spans: Sequence[Span]) -> tuple[int, list[int]]:
    """(bytes in all, the offset of each span): best fit in the order of time. Each span goes into
    the smallest hole that has room for it."""
    # holes: (offset, size), in order; ends: of those that live
    offsets, top = [0] * len(spans), 0
    holes: list[tuple[int, int]] = []
    ends: list[tuple[int, int, int]] = []
    for k in sorted(range(len(spans)), key=lambda k: (spans[k][0], -spans[k][2])):
        first, last, size, _ = spans[k]
        while ends and ends[0][0] < first:
            _give(holes, *heapq.heappop(ends)[1:])
        i = min((i for i, (_, room) in enumerate(holes) if room >= size),
                key=lambda i: holes[i][1],
                default=None)
        if i is not None:
            at, room = holes.pop(i)
            if room > size:
                holes.insert(i, (at + size, room - size))
        else:                                # the last hole may be the beginning of it
            at = holes.pop()[0] if holes and sum(holes[-1]) == top else top
            top = at + size
        offsets[k] = at
        heapq.heappush(ends, (last, at, size))
    return top, offsets


def most_alive(spans: Iterable[Span]) -> int:
    """The largest number of bytes that are live at once: a lower bound for the arena's size."""
    changes = sorted([c for first, last, size, _ in spans
                      for c in ((first, size), (last + 1, -size))])
    return max(itertools.accumulate(n for _, n in changes), default=0)


def _fit_by_size(spans: Sequence[Span]) -> tuple[int, list[int]]:
    """The size of an arena and the offsets of its spans, placing the largest first. Each span is
    as low as the spans that are live with it allow. This takes quadratic time and leaves the
    smallest holes."""
    offsets, top = [0] * len(spans), 0
    placed: list[tuple[int, int, int, int]] = []         # offset, the byte after it, first, last
    for k in sorted(range(len(spans)), key=lambda k: (-spans[k][2], spans[k][0])):
        first, last, size, _ = spans[k]
        at = 0
        for low, high, a, b in placed:
            if a <= last and first <= b:
                if low - at >= size:
                    break
                at = max(at, high)
        offsets[k], top = at, max(top, at + size)
        insort(placed, (at, at + size, first, last))
    return top, offsets


def _give(holes: list[tuple[int, int]], at: int, size: int) -> None:
    """Free a place: make it a hole, joined with the adjacent ones."""
    i = bisect_left(holes, (at, 0))
    if i < len(holes) and holes[i][0] == at + size:
        size += holes.pop(i)[1]
    if i and sum(holes[i - 1]) == at:
        at, more = holes.pop(i - 1)
        i, size = i - 1, size + more
    holes.insert(i, (at, size))
