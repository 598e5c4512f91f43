"""When a run lets go of the gradients that were there before it.

A replay that finds a question answered otherwise is done again by eager mode, which makes the same
calls until then. If the run held an old gradient no more when the question came, nothing can read
it in that second run: the replay may have written over it.

Eager frees such a gradient then. Here it is still known by who it is, but its memory goes.
"""
from __future__ import annotations

import functools
import sys
import weakref
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from whet.cpu import allocator, memory
from whet.tensor import wrap


def references(g: Any) -> tuple[int, ...]:
    """How often a gradient is held, its array, the memory of that, and what counts versions."""
    a, cell = g._array, g._cell
    return (sys.getrefcount(g), sys.getrefcount(a), sys.getrefcount(a.base),
            0 if cell is None else sys.getrefcount(cell))


class Owner:
    """Has a gradient that nobody else holds, with or without a count of its versions."""

    def __init__(self, counted: bool) -> None:
        self._grad = wrap(memory.empty((memory.SMALLEST,), np.uint8))
        if counted:
            self._grad._bump("alone")


def counts(owner: Any) -> tuple[int, ...]:
    """The references to a tensor's gradient and what it is made of."""
    return references(owner._grad)


@functools.cache
def alone() -> frozenset[tuple[int, ...]]:
    """The references to gradients that nobody else holds: they depend on the interpreter."""
    return frozenset(counts(Owner(counted)) for counted in (False, True))


def nobody(g: Any) -> int:
    """Nothing holds a gradient but its tensor."""
    return 0


def nothing(a: Any) -> None:
    """Nobody is told of an array that is going to be freed."""


class OldGradient:
    """A gradient that was there before the run, and its references. `is_ours`: nobody holds it but
    its tensor and what watches the run."""
    __slots__ = ("owner", "grad", "references", "is_ours")

    def __init__(self, owner: Any, grad: Any) -> None:
        self.owner, self.grad = owner, grad
        self.references: tuple[int, ...] = ()
        self.is_ours = False

    @property
    def is_replaced(self) -> bool:
        """Has its tensor another one, or none?"""
        return self.owner._grad is not self.grad


def _once_less(was: tuple[int, ...]) -> tuple[int, ...]:
    """The references of a gradient that its tensor has let go of."""
    return was[0] - 1, *was[1:]


def _memory_alone(was: tuple[int, ...], holders: int) -> bool:
    """Does nobody hold a gradient, its array and its memory but its tensor and what watches the
    run? That has an entry for it, and keeps arrays for their ids."""
    return (was[0] - holders - 1, was[1] - 1, was[2]) in {x[:3] for x in alone()}


class ReleasedGradients:
    """`since`: by the ids of tensors, how many nodes there were when the run was first seen to hold
    the tensor's old gradient no more. `hollow`: the ids of gradients whose memory is gone. Only
    large ones are looked for. `holders` says how often a gradient is held by what watches the run;
    `forget` is told of arrays that are going to be freed."""
    __slots__ = ("waiting", "since", "hollow", "forget")

    def __init__(self, tensors: Iterable[Any], grads: Iterable[Any],
                 holders: Callable[[Any], int] = nobody,
                 forget: Callable[[Any], object] = nothing) -> None:
        self.since: dict[int, int] = {}
        self.hollow: set[int] = set()
        self.forget = forget
        self.waiting: list[OldGradient] = [
            OldGradient(t, g) for t, g in zip(tensors, grads)
            if g is not None and g._array.nbytes >= memory.SMALLEST]
        for w in self.waiting:               # held by its entry now, as it will be then
            w.references = references(w.grad)
            w.is_ours = _memory_alone(w.references, holders(w.grad))

    def passes(self, nodes: int) -> None:
        """An operation is done, and there are so many nodes. Gradients are mostly replaced all at
        once, or one after the other: the first or the last one tells."""
        waiting = self.waiting
        if waiting and (waiting[0].is_replaced or waiting[-1].is_replaced):
            self.look(nodes)

    def look(self, nodes: int) -> None:
        """A question is asked, when there are so many nodes."""
        gone = [w for w in self.waiting
                if w.is_replaced and references(w.grad) == _once_less(w.references)]
        self.waiting = [w for w in self.waiting if w not in gone]
        for w in gone:
            self.since[id(w.owner)] = nodes
            if w.is_ours:
                self.empty(w.grad)

    def empty(self, g: Any) -> None:
        """Let the memory of a gradient go that nobody else holds."""
        a, cell = g._array, g._cell
        if (type(a.base) is allocator.Block and g._base is None and not weakref.getweakrefcount(g)
                and (cell is None or not cell.shown)):
            self.hollow.add(id(g))
            self.forget(a)
            g._array = np.broadcast_to(np.zeros((), a.dtype), a.shape)

    def end(self) -> None:
        """The run is over."""
        self.waiting, self.forget = [], nothing
