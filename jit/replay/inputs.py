"""The inputs of a program in a replay: where its arrays are found, which layouts they must have,
and which may share memory."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import is_, itemgetter
from typing import Any

import numpy as np
from whet import devices
from whet.cpu import allocator
from whet.ir.graph import Type
from whet.ir.memory_spans import address, span

from ..refusals.replay_miss import Miss
from ..values.tensor_facts import Look, elsewhere
from ..values.tensor_sources import Argument, Drawn, GradientOf, Outside, Search, Source

REQUIRES_GRAD = 1


class Inputs:
    """The tensors whose arrays are the program's inputs, in order, with their types and the
    addresses where they lay (`homes`).

    A tensor's array is read once in a call, then compared and used. Another thread may exchange the
    tensor's array at any time."""

    def __init__(self, sources: list[Source], arrays: list[Any], homes: list[int]):
        self.sources, self.types = sources, [Type.of(a) for a in arrays]
        self.homes = homes
        self.search = Search(list(sources))

    def find(self, leaves: Any) -> list[Any]:
        """The tensors of a call, with None for those that do not exist."""
        return self.search.find(leaves)

    def drawn(self) -> list[tuple[int, int]] | None:
        """Which inputs foreign generators draw, and which leaves these are; None where others may
        be found through one."""
        known = Outside, Argument, Drawn
        if not all(isinstance(s, known) for s in self.sources):
            return None
        return [(i, s.index) for i, s in enumerate(self.sources) if isinstance(s, Drawn)]

    def arrays(self, leaves: list[Any]) -> list[Any]:
        """The arrays of a call. Raises Miss if one does not have the recorded layout."""
        return [
            _array_of(t, s, like, home)
            for t, s, like, home in zip(self.find(leaves), self.sources, self.types, self.homes)]

    def arrays_beside(self, known: dict[int, Any]) -> Callable[[list[Any]], list[Any]]:
        """As `arrays`. `known` are arrays that were compared already, by the tensor's id."""
        of_sources = [known.get(id(s.tensor)) if isinstance(s, Outside) else None
                      for s in self.sources]
        others = [(i, s, self.types[i]) for i, (s, a) in enumerate(zip(self.sources, of_sources))
                  if a is None]

        def arrays(leaves: list[Any]) -> list[Any]:
            found = of_sources.copy()
            for i, source, like in others:
                t = None if source is None else source.find(leaves)
                found[i] = _array_of(t, source, like, self.homes[i])
            return found
        return arrays

    def are_arguments_like(self, looks: Sequence[Look | None]) -> bool:
        """Do the arguments that are inputs have the recorded layouts? `looks`: what a call's key
        says of each argument, None for numbers."""
        seen = [(looks[k], self.types[i]) for i, k in self.search.arguments if k < len(looks)]
        return all([a is None or (a.shape, a.strides, a.dtype) == (b.shape, b.strides, b.dtype)
                    for a, b in seen])


def _array_of(t: Any, source: Source, like: Type, home: int) -> Any:
    if t is not None:
        a = t._array
        # Gradients flow to a gradient only where somebody made a graph of it: the program knows of
        # none.
        if (a.shape == like.shape and a.strides == like.strides and a.dtype == like.dtype
                and elsewhere(a) == home and not (isinstance(source, GradientOf) and t._rg)):
            return a
    raise Miss


class Overlaps:
    """Which of the arrays that a program writes share memory with which of its inputs. This must be
    the same at each call.

    Usually arrays from outside are the very same objects, and the others have memory of their own.
    That case is recognised at once."""

    def __init__(self, arrays: list[Any], written: list[int], inputs: Inputs):
        self.written, self.pattern = written, overlaps(arrays, written)
        self.fixed_places = [i for i, s in enumerate(inputs.sources) if isinstance(s, Outside)]
        self.fixed_arrays = [arrays[i] for i in self.fixed_places]
        self.moving = [
            (i, i in written) for i, s in enumerate(inputs.sources) if not isinstance(s, Outside)]
        # A getter of one gives no tuple: it gets the one twice.
        twice = 2 if len(self.fixed_places) == 1 else 1
        self.fixed = itemgetter(*self.fixed_places * twice) if self.fixed_places else _nothing
        self.fixed_arrays *= twice
        memories = {i: _memory(arrays[i]) for i in self.fixed_places}
        self.written_memory = {memories[i] for i in written if i in memories}
        self.fixed_memory = set(memories.values())
        is_fixed = set(self.fixed_places).issuperset
        self.moving_overlap_nothing = (None not in self.fixed_memory
                                       and all(is_fixed((i, k)) for i, k, _ in self.pattern))

    def are_as_before(self, arrays: list[Any]) -> bool:
        """Do the arrays overlap exactly as they did?"""
        if self.moving_overlap_nothing and all(map(is_, self.fixed(arrays), self.fixed_arrays)):
            seen = set(self.written_memory)
            for i, is_written in self.moving:
                a = arrays[i]
                m = id(a.base) if type(a.base) is allocator.Block else _memory(a)
                if m is None or m in seen or is_written and m in self.fixed_memory:
                    break
                seen.add(m)
            else:
                return True
        return overlaps(arrays, self.written) == self.pattern


def _nothing(arrays: list[Any]) -> tuple[()]:
    return ()


def _memory(a: Any) -> int | None:
    """The id of the owner of an array's memory; None if other objects may lead to the same memory
    (of another library, say)."""
    if devices.is_elsewhere(a):
        return id(a.held)
    while type(a) is np.ndarray and a.base is not None:
        a = a.base
    is_memory = type(a) is np.ndarray and a.flags.owndata or type(a) is allocator.Block
    return id(a) if is_memory else None


def overlaps(arrays: list[Any], written: list[int]) -> tuple[tuple[int, int, int], ...]:
    """Which of the written arrays share memory with which inputs, and the distance between their
    beginnings."""
    arrays = [devices.places(a) for a in arrays]
    spans = sorted([(*span(a), i) for i, a in enumerate(arrays) if a.size])
    changed = set(written)
    found: list[tuple[int, int, int]] = []
    reaching: list[tuple[int, int]] = []
    for low, high, i in spans:
        reaching = [(end, k) for end, k in reaching if end > low]
        for _, k in reaching:
            found += [(a, b, address(arrays[b]) - address(arrays[a])) for a, b in ((i, k), (k, i))
                      if a in changed]
        reaching.append((high, i))
    return tuple(sorted(found))
