"""When a run drops the gradients that existed before it.

If a replay finds that a question has another answer, eager mode repeats the call, and makes the
same calls up to that question. If the run had dropped an old gradient before the question, nothing
can read it in the repetition. So the replay may have overwritten it.

Eager mode frees such a gradient then. Here its identity is kept, but its memory is freed."""
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
    """The reference counts of a gradient, its array, the array's memory, and its version cell."""
    a, cell = g._array, g._cell
    return (sys.getrefcount(g), sys.getrefcount(a), sys.getrefcount(a.base),
            0 if cell is None else sys.getrefcount(cell))


class Owner:
    """A tensor whose gradient nothing else holds, with or without a version cell."""

    def __init__(self, counted: bool) -> None:
        self._grad = wrap(memory.empty((memory.SMALLEST,), np.uint8))
        if counted:
            self._grad._bump("alone")


def counts(owner: Any) -> tuple[int, ...]:
    """The reference counts of a tensor's gradient and its parts."""
    return references(owner._grad)


@functools.cache
def alone() -> frozenset[tuple[int, ...]]:
    """The reference counts of gradients that nothing else holds: they depend on the interpreter."""
    return frozenset(counts(Owner(counted)) for counted in (False, True))


def no_other_holder(g: Any) -> int:
    """How often something else than its tensor holds a gradient: never."""
    return 0


def nothing(a: Any) -> None:
    """Does nothing: nothing observes that an array is going to be freed."""


class OldGradient:
    """A gradient that existed before the run, with its reference counts. `is_ours`: only its tensor
    and the watching code hold it."""
    __slots__ = ("owner", "grad", "references", "is_ours")

    def __init__(self, owner: Any, grad: Any) -> None:
        self.owner, self.grad = owner, grad
        self.references: tuple[int, ...] = ()
        self.is_ours = False

    @property
    def is_replaced(self) -> bool:
        """Does its tensor have another gradient now, or none?"""
        return self.owner._grad is not self.grad


def _once_less(was: tuple[int, ...]) -> tuple[int, ...]:
    """The reference counts of a gradient after its tensor has dropped it."""
    return was[0] - 1, *was[1:]


def _memory_alone(was: tuple[int, ...], holders: int) -> bool:
    """Do only the tensor and the watching code hold a gradient, its array and its memory? The
    latter has an entry for it, and keeps arrays for their ids."""
    return (was[0] - holders - 1, was[1] - 1, was[2]) in {x[:3] for x in alone()}


class ReleasedGradients:
    """`since`: by the ids of tensors, the number of nodes when the run was first seen without the
    tensor's old gradient. `hollow`: the ids of gradients whose memory was freed. Only large
    gradients are considered. `holders` says how often the watching code holds a gradient. `forget`
    observes arrays that are going to be freed."""
    __slots__ = ("waiting", "since", "hollow", "forget")

    def __init__(self, tensors: Iterable[Any], grads: Iterable[Any],
                 holders: Callable[[Any], int] = no_other_holder,
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
        """Called after an operation, with the number of nodes so far. Gradients are mostly replaced
        all at once, or one after the other, so it is enough to look at the first and the last."""
        waiting = self.waiting
        if waiting and (waiting[0].is_replaced or waiting[-1].is_replaced):
            self.look(nodes)

    def look(self, nodes: int) -> None:
        """Called when a question is asked, with the number of nodes so far."""
        gone = [w for w in self.waiting
                if w.is_replaced and references(w.grad) == _once_less(w.references)]
        self.waiting = [w for w in self.waiting if w not in gone]
        for w in gone:
            self.since[id(w.owner)] = nodes
            if w.is_ours:
                self.empty(w.grad)

    def empty(self, g: Any) -> None:
        """Free the memory of a gradient that nothing else holds."""
        a, cell = g._array, g._cell
        if (type(a.base) is allocator.Block and g._base is None and not weakref.getweakrefcount(g)
                and (cell is None or not cell.shown)):
            self.hollow.add(id(g))
            self.forget(a)
            g._array = np.broadcast_to(np.zeros((), a.dtype), a.shape)

    def end(self) -> None:
        """The run is over."""
        self.waiting, self.forget = [], nothing
