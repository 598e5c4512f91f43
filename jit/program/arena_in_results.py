"""Places pieces of the arena in the memory of results that are computed later.

A call allocates its results before it begins, or writes gradients over the old ones. Most of that
memory is unused until the end of the call. A sum of gradients is in the memory of its result from
the first term on, so it takes no more memory than in eager mode."""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from whet.cpu import memory

from .arena import Piece, Span


class Room:
    """The memory of a result that the arena may borrow: its position among the moving arrays, and
    its bytes. `since` is the last step that may find the old contents there, `until` the first one
    that needs the memory for the result."""
    __slots__ = ("position", "size", "since", "until", "heir_of", "lodgers")

    def __init__(self, position: int, size: int, since: int, until: int) -> None:
        self.position, self.size, self.since, self.until = position, size, since, until
        self.heir_of: set[int] = set()       # ids of pieces that the result may be put over
        # (first step, last one, offset, the byte after it) of what is here
        self.lodgers: list[tuple[int, int, int, int]] = []

    def offset(self, span: Span) -> int | None:
        """The place of a span of pieces; None if there is none."""
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
        """Place the pieces of a span here."""
        first, last, size, line = span
        self.lodgers.append((first, last, at, at + size))
        for piece in line:
            piece.room, piece.offset = self.position, at

    @property
    def touched(self) -> int:
        """The first step that writes to this memory."""
        return min([self.until, *(first for first, *_ in self.lodgers)])


class LentResults:
    """The memory of results that the arena may borrow. `sizes`: bytes, by position. `first`: the
    first step that needs each. `kept_until`: the step until which a gradient's memory still holds
    the old gradient. `left_to`: pieces, and the positions of results that may overwrite them in the
    step that computes those."""

    def __init__(self, sizes: Mapping[int, int], first: Mapping[int, int],
                 kept_until: Mapping[int, int], left_to: Iterable[tuple[Piece, int]]) -> None:
        self.rooms = {
            # What is made before old results can be freed gets new memory.
            p: Room(p, size, since if (since := kept_until.get(p, -1)) < first[p] else -1, first[p])
            for p, size in sizes.items() if p in first and size >= memory.SMALLEST}
        for piece, position in left_to:
            if position in self.rooms:
                self.rooms[position].heir_of.add(id(piece))

    def place(self, spans: Sequence[Span]) -> list[Span]:
        """Place spans where there is room, the large ones first. Returns the spans that found no
        place."""
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
        """The rooms that could hold a span, each with its sort key. Rooms whose result
        overwrites the span come first, then smaller ones, then those that are needed sooner."""
        for room in self.rooms.values():
            if room.since < span[0] and span[1] <= room.until and span[3][0].size <= room.size:
                at = room.offset(span)
                if at is not None:
                    yield (span[1] < room.until, room.size, room.until, room.position), room, at
