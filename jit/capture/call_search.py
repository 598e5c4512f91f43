"""The search for what the function of one call can reach. It is made again if what it finds shows
that less may vary than was assumed."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..guards.outside_state import OutsideSearch, World, world_of
from ..guards.signature import FlatArguments


class CallSearch:
    """`world`: what was found last. `latest`: the search that found it; None where the world is
    that of another recording. `set_first`: keys of attributes that are only read once they are
    set."""
    world: World

    def __init__(self, fn: Callable[..., Any], flat: FlatArguments, learned: Any) -> None:
        self.fn, self.flat, self.codes = fn, flat, learned.codes
        self.set_first = frozenset(learned.set_first)
        self.latest: OutsideSearch | None = None

    def take(self, world: World) -> None:
        """Search nothing: the call reaches what a recorded one has reached."""
        self.world = world.copy_for_another_run()

    def run(self, loose: frozenset[Any]) -> None:
        """Search. `loose`: keys of what may be another value at each call."""
        self.latest = OutsideSearch(self.fn, self.flat.others, loose | self.set_first,
                                    numpy=bool(self.flat.arrays), ran=self.codes)
        self.world = self.latest.world

    def with_arguments(self, arguments: Sequence[Any]) -> World:
        """The world of these arguments as well. What it goes on from is used up."""
        arrays = frozenset(self.flat.arrays or ())
        if self.latest is not None:
            return self.latest.further([*arguments], arrays)
        return world_of(self.fn, [*self.flat.others, *arguments], arrays, self.codes,
                        self.set_first)
