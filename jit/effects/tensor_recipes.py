"""Recipes of tensors that the run made: their memory, their bases, and their histories."""
from __future__ import annotations

from typing import Any

from whet.ops.registry import view_of
from whet.tensor import Tensor, wrap

from ..gradient.freed_graphs import FreedEnd
from ..values.tensor_sources import InPython, Source
from .recipes import Making, Recipe, Runs

REQUIRES_GRAD = 1                # the bit of a tensor's flags that says so


class VersionCell:
    """The cell that counts the versions of some tensors. It is that of a tensor from outside
    (`source`), or a new one. A new one begins at `version`; `writer` is the op that wrote last."""
    __slots__ = ("version", "writer", "source")

    def __init__(self, version: int, writer: str | None, source: Source | None):
        self.version, self.writer, self.source = version, writer, source

    def tie(self, t: Any, making: Making) -> None:
        """Give a tensor the cell of this call."""
        cell = making.made.get(self)
        if cell is None:
            if self.source is None:
                cell = t._shared()
                cell.v, cell.writer = self.version, self.writer
            else:
                cell = self.source.find(making.leaves)._shared()
            making.made[self] = cell
        t._cell = cell


class History:
    """What gradients find behind a tensor that requires one."""
    __slots__ = ()

    def attach(self, t: Any, making: Making) -> None:
        """Give it to the tensor of this call."""
        raise NotImplementedError

    def same(self, other: Any, runs: Runs) -> bool:
        """Is it the same in a run that was recorded again?"""
        raise NotImplementedError


class Leaf(History):
    """Nothing: the run made a leaf, with the gradient that a backward of the run has given it."""
    __slots__ = ("grad",)

    def __init__(self, grad: Recipe | None):
        self.grad = grad

    def attach(self, t: Any, making: Making) -> None:
        if self.grad is not None:
            t._grad = self.grad.build(making)

    def same(self, other: Any, runs: Runs) -> bool:
        return type(other) is Leaf and runs.recipes(self.grad, other.grad)


class LiveEnd(History):
    """The graph of the call, which it leaves at end `index`."""
    __slots__ = ("index",)

    def __init__(self, index: int):
        self.index = index

    def attach(self, t: Any, making: Making) -> None:
        t._node = making.ends[self.index]

    def same(self, other: Any, runs: Runs) -> bool:
        return type(other) is LiveEnd and other.index == self.index


class Freed(History):
    """A graph that the run differentiated and freed. Where it shares nodes with one that is
    alive, `live` is where it leaves that."""
    __slots__ = ("end", "live")

    def __init__(self, end: FreedEnd):
        self.end = end
        self.live: LiveEnd | None = None

    def attach(self, t: Any, making: Making) -> None:
        if self.live is not None:
            self.live.attach(t, making)
            return
        t._node = making.freed_graphs().edge(self.end, self.end.sources.find(making.leaves))

    def same(self, other: Any, runs: Runs) -> bool:
        if type(other) is not Freed or not self.end.same(other.end):
            return False
        return (self.live is other.live
                if self.live is None or other.live is None else self.live.same(other.live, runs))


class TensorOfValue(Recipe):
    """A tensor of class `kind` over a value of the run. `flags`: as it has them, `history`: what
    gradients find behind it."""
    __slots__ = ("value", "flags", "history", "kind")

    def __init__(self, value: int, flags: int, history: History | None, kind: type) -> None:
        self.value, self.history, self.kind = value, history, kind
        self.flags = flags & ~REQUIRES_GRAD | (REQUIRES_GRAD if history is not None else 0)

    def fresh(self, making: Making) -> Any:
        """A new tensor over what the call has computed."""
        raise NotImplementedError

    def mark(self, t: Any, making: Making) -> None:
        """Set its flags, and what else it has."""
        t._rg = self.flags

    def build(self, making: Making) -> Any:
        t = making.made.get(self)
        if t is None:
            t = self.fresh(making)
            t = making.made[self] = t if self.kind is Tensor else t.as_subclass(self.kind)
            self.mark(t, making)
            if self.history is not None:
                self.history.attach(t, making)
        return t

    def same(self, other: Any, runs: Runs) -> bool:
        return (runs.values(self.value, other.value) and self.flags == other.flags
                and self.kind is other.kind and _same_history(self, other, runs))


class MadeTensor(TensorOfValue):
    """A tensor with memory of its own. `cell`: the cell that counts its versions where others have
    it, too, `is_shared`: is it met more than once?"""
    __slots__ = ("cell", "is_shared")

    def __init__(self, value: int, flags: int, history: History | None, kind: type) -> None:
        super().__init__(value, flags, history, kind)
        self.cell: VersionCell | None = None
        self.is_shared = False

    @property
    def is_plain(self) -> bool:
        """Is it nothing but a tensor around an array?"""
        return (not self.flags and self.history is None and self.cell is None
                and self.kind is Tensor)

    def fresh(self, making: Making) -> Any:
        return wrap(making.env[self.value])

    def mark(self, t: Any, making: Making) -> None:
        if self.flags:
            t._rg = self.flags
        if self.cell is not None:
            self.cell.tie(t, making)

    def emit(self, steps: Any) -> None:
        if steps.was_made(self):
            return
        if self.history is not None or self.cell is not None or self.kind is not Tensor:
            raise InPython
        if steps.is_fresh(self.value):
            steps.new(self)
        else:
            steps.view(self, None)


class MadeView(TensorOfValue):
    """A tensor that is a view of another."""
    __slots__ = ("base",)

    def __init__(self, value: int, flags: int, history: History | None, base: Recipe,
                 kind: type) -> None:
        super().__init__(value, flags, history, kind)
        self.base = base

    def fresh(self, making: Making) -> Any:
        return view_of(self.base.build(making), making.env[self.value])

    def emit(self, steps: Any) -> None:
        if steps.was_made(self):
            return
        if self.history is not None or self.kind is not Tensor:
            raise InPython
        steps.view(self, self.base)

    def same(self, other: Any, runs: Runs) -> bool:
        return super().same(other, runs) and runs.recipes(self.base, other.base)

    def parts(self) -> list[Recipe]:
        return [self.base]


def _same_history(a: Any, b: Any, runs: Runs) -> bool:
    return (a.history is b.history if a.history is None or b.history is None else bool(
        a.history.same(b.history, runs)))
