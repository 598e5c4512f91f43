"""The random draws of a program: each has a seed and a position, which a call writes first."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from whet.ir.graph import Draw, Node
from whet.random_position import Position

WORDS = 1 << 64                  # a position is counted modulo the numbers of a word


class Draws:
    """The draws of some nodes. `ends`: (generator, the `Position` where a call leaves it), for
    generators that a call does not only draw from. `numbers`: the memory for seeds and positions,
    where there is some already."""

    def __init__(self, nodes: Iterable[Node], ends: Sequence[tuple[Any, Position]],
                 numbers: Any = None) -> None:
        draws = [n for n in nodes if isinstance(n, Draw)]
        streams: dict[int, tuple[Any, list[int], list[int]]] = {}
        # seed and position of each draw
        self.numbers = np.zeros((len(draws), 2), np.uint64) if numbers is None else numbers
        self.words = self.numbers.reshape(-1).data
        self.seats, self.ends = {id(n): i for i, n in enumerate(draws)}, ends
        for i, n in enumerate(draws):
            g = n.attrs["generator"]
            _, places, starts = streams.setdefault(id(g), (g, [], [0]))
            places.append(i)
            starts.append(starts[-1] + n.op.blocks(n.attrs["shape"]))
        self.streams = [
            (g, list(zip(places, starts)), starts[-1])
            for g, places, starts in streams.values()
        ]

    @property
    def generators(self) -> list[Any]:
        """The generators that a call moves."""
        drawn = [s for s, _, _ in self.streams if type(s) is not Position]
        return [*drawn, *(g for g, _ in self.ends)]

    def of(self, node: Node) -> Any:
        """The seed and the position of a draw."""
        return self.numbers[self.seats[id(node)]]

    def counters(self, draw: Any, n: int) -> Any:
        """The counters that a draw's kernel reads."""
        return draw.counters(n)

    def take(self) -> None:
        """Write the seed and the position of each draw, advancing each stream once, and leave the
        generators where the recorded run left them."""
        ends = [(g, p.now()) for g, p in self.ends]
        begins = [s.now() if type(s) is Position else None for s, _, _ in self.streams]
        ended = {id(g): (g._seed, g._offset) for g, _ in ends}
        words = self.words
        for (s, seats, total), begin in zip(self.streams, begins):
            seed, at = begin or ended.get(id(s)) or s.take(total)
            # Python writes a few numbers to memory sooner than NumPy begins.
            for seat, start in seats:
                words[2 * seat], words[2 * seat + 1] = seed, (at + start) % WORDS
        for g, (seed, at) in ends:
            g._seed, g._offset = seed, at
