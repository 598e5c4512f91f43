"""Tracks the positions of random generators during a run, so that a replay draws what eager mode
would.

A draw is recorded with the *stream* that it continues. A stream is a generator from outside, as a
call finds it, or a `Position` to which the run has moved one. Such a position is the start of a
seed, or some blocks after where a generator was. At the end the run notes where it leaves each
generator from outside."""
from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

from whet.random import Generator
from whet.random_generator_events import (
    Copied,
    Event,
    Made,
    SeedAsked,
    Seeded,
    StateSet,
    StateTold,
)
from whet.random_position import Position
from whet.tensor_base import Base

if TYPE_CHECKING:
    from whet.ir.graph import Node


# what a draw continues: a generator from outside, or a place where the run has put one
Stream: TypeAlias = "Generator | Position"


class _At:
    """Where a generator is: the stream that its draws continue, and the distance from the stream's
    beginning. `origin`: the generator from outside that the stream goes on from; None where a seed
    began it."""
    __slots__ = ("generator", "stream", "origin", "seed", "offset", "has_drawn")

    def __init__(self, generator: Generator, stream: Stream | None, origin: Generator | None,
                 seed: int | None, offset: int) -> None:
        self.generator, self.stream = generator, stream
        self.origin, self.seed, self.offset = origin, seed, offset
        self.has_drawn = False

    @property
    def is_where_it_was(self) -> bool:
        """Is it where the call found it, having been moved only by restoring a state? A checkpoint
        saves a generator's state and restores it, whether it draws or not."""
        return self.origin is self.generator and not (self.offset or self.has_drawn)

    def begin_stream(self, origin: Generator | None, seed: int | None, offset: int) -> None:
        """Begin another stream."""
        self.origin, self.seed, self.offset = origin, seed, offset
        self.stream = Position(origin, seed, offset)


class Streams:
    """The generators that a run uses."""

    def __init__(self) -> None:
        # id -> where it is; of those from outside, where they were
        self.all: dict[int, _At] = {}
        self.starts: dict[int, tuple[int, int]] = {}
        # (a state that was handed out, its bytes, what it stands for)
        self.states: list[tuple[Base, bytes, tuple[Generator | None, int | None, int]]] = []

    def at(self, g: Generator) -> _At:
        """Where a generator is."""
        found = self.all.get(id(g))
        if found is None:
            self.starts[id(g)] = g._seed, g._offset
            found = self.all[id(g)] = _At(g, g, g, None, 0)
        return found

    def drawn(self, g: Generator, blocks: int) -> Stream:
        """The stream that a draw continues."""
        at = self.at(g)
        at.offset, at.has_drawn = at.offset + blocks, True
        return at.stream

    # ---- what happens to a generator -------------------------------------------------------------
    def note(self, g: Generator, event: Event) -> bool:
        """Note an event of a generator. False if a replay cannot repeat it."""
        return NOTED[type(event)](self, g, event)

    def made(self, g: Generator, event: Made) -> bool:
        """Note a generator at the beginning of its stream."""
        self.all[id(g)] = at = _At(g, None, None, g._seed, 0)
        at.begin_stream(None, g._seed, g._offset)
        return True

    def copied(self, g: Generator, event: Copied) -> bool:
        """Note a generator at the position of another one."""
        source = self.at(event.source)
        self.all[id(g)] = at = _At(g, None, None, 0, 0)
        at.begin_stream(source.origin, source.seed, source.offset)
        return True

    def seeded(self, g: Generator, event: Seeded) -> bool:
        """Note that a generator is seeded."""
        self.at(g).begin_stream(None, event.seed, 0)
        return True

    def state_told(self, g: Generator, event: StateTold) -> bool:
        """Note which position a state tensor contains."""
        at, state = self.at(g), event.state
        self.states.append((state, state._array.tobytes(), (at.origin, at.seed, at.offset)))
        return True

    def state_set(self, g: Generator, event: StateSet) -> bool:
        """Note that a generator goes where a state tensor says, if the run was given that
        tensor."""
        state = event.state
        found = next(
            (to for t, raw, to in self.states if t is state and t._array.tobytes() == raw), None)
        if found is None:
            return False
        self.at(g).begin_stream(*found)
        return True

    def seed_asked(self, g: Generator, event: SeedAsked) -> bool:
        """Is the seed one that the run itself has set?"""
        return self.at(g).origin is None

    # ---- afterwards ------------------------------------------------------------------------------
    def outside(self) -> list[_At]:
        """The generators from outside that have moved, with where they are."""
        return [at for i, at in self.all.items() if i in self.starts and not at.is_where_it_was]

    def moved(self) -> list[Generator]:
        """The generators from outside that have moved."""
        return [at.generator for at in self.outside()]

    def ends(self) -> list[tuple[Generator, Position]]:
        """(generator, Position) for generators that were moved other than by drawing."""
        return [(at.generator, Position(at.origin, at.seed, at.offset)) for at in self.outside()
                if at.stream is not at.generator]

    def as_told(self, g: Generator) -> bool:
        """Is a generator where the observed events put it?"""
        at = self.all[id(g)]
        seed, offset = (at.seed, 0) if at.origin is None else self.starts[id(at.origin)]
        return (g._seed, g._offset) == (seed, offset + at.offset)

    def key(self, nodes: Iterable[Node]) -> list[Any]:
        """What runs with equal draws have in common."""
        streams = {
            id(n.attrs["generator"]): n.attrs["generator"] for n in nodes if n.kind == "draw"}
        return [
            *[s.key() if type(s) is Position else id(s) for s in streams.values()],
            *[(id(g), p.key()) for g, p in self.ends()]]


NOTED: dict[type[Event], Callable[[Streams, Generator, Any], bool]] = {
    Made: Streams.made, Copied: Streams.copied, Seeded: Streams.seeded,
    StateTold: Streams.state_told, StateSet: Streams.state_set, SeedAsked: Streams.seed_asked}
