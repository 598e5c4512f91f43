"""The memory of results before they are made: pieces of the arena that are done with by then lie
there.

A call takes memory for its results before it begins, or lays gradients where the old ones were.
Most of it waits for the end of the call. Sums of gradients are in the place of their result from
their first term on, and so take no more memory than in eager mode.
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from whet.cpu import memory

from .arena import Piece, Span


class Room:
    """The memory of a result: its position among what moves, its bytes, the last step that may
    find it needed for something else, and the first one that needs it for the result."""
    __slots__ = ("position", "size", "since", "until", "heir_of", "lodgers")

    def __init__(self, position: int, size: int, since: int, until: int) -> None:
        self.position, self.size, self.since, self.until = position, size, since, until
        self.heir_of: set[int] = set()       # ids of pieces that the result may be put over
        # (first step, last one, offset, the byte after it) of what lies here
        self.lodgers: list[tuple[int, int, int, int]] = []

    def offset(self, span: Span) -> int | None:
        """Where a span of pieces would lie; None where there is no place for it."""
        first, last, size, line = span
        beside = [(low, high) for a, b, low, high in self.lodgers if a <= last and first <= b]
        if last >= self.until:
            heir = last == self.until and id(line[-1]) in self.heir_of and not beside
            return 0 if heir and line[-1].size == self.size else None
        at = 0
        for low, high in sorted(beside):
            if low - at >= size:
                break
            at = max(at, high)
        return at if at + size <= self.size else None

    def take(self, span: Span, at: int) -> None:
        """Let the pieces of a span lie here."""
        first, last, size, line = span
        self.lodgers.append((first, last, at, at + size))
        for piece in line:
            piece.room, piece.offset = self.position, at

    @property
    def touched(self) -> int:
        """The first step that writes to it."""
        return min([self.until, *(first for first, *_ in self.lodgers)])


class LentResults:
    """The rooms that results have. `sizes`: bytes, by position; `first`: the first step that needs
    each; `kept_until`: steps until which the memory of gradients is that of old ones; `left_to`:
    pieces, and positions of results that may be put over them by the step that makes those."""

    def __init__(self, sizes: Mapping[int, int], first: Mapping[int, int],
                 kept_until: Mapping[int, int], left_to: Iterable[tuple[Piece, int]]) -> None:
        self.rooms = {
            # What is made before old results can be freed gets new memory.
            p: Room(p, size, since if (since := kept_until.get(p, -1)) < first[p] else -1, first[p])
            for p, size in sizes.items() if p in first and size >= memory.SMALLEST}
        for piece, position in left_to:
            if position in self.rooms:
                self.rooms[position].heir_of.add(id(piece))

    def lend(self, spans: Sequence[Span]) -> list[Span]:
        """Put spans where there is room, the large ones first; gives the others."""
        left: list[Span] = []
        for span in sorted(spans, key=lambda s: (-s[2], s[0])):
            places = self.places(span) if span[2] >= memory.SMALLEST else ()
            _, room, at = min(places, default=((), None, 0), key=lambda x: x[0])
            if room is None:
                left.append(span)
            else:
                room.take(span, at)
        return left

    def places(self, span: Span) -> Iterable[tuple[tuple[int, ...], Room, int]]:
        """The rooms that a span could lie in, with what to choose by: first those whose result
        takes it over, then the smallest, then those that are needed soon."""
        for room in self.rooms.values():
            if room.since < span[0] and span[1] <= room.until and span[3][0].size <= room.size:
                at = room.offset(span)
                if at is not None:
                    yield (span[1] < room.until, room.size, room.until, room.position), room, at
