"""Where a replay finds the tensors that existed before the recorded run: one class for each way to
reach one."""
from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from whet.tensor_base import Base

if TYPE_CHECKING:
    from ..effects.recipes import Recipe


class InPython(Exception):
    """Machine code has no step for this; Python does it."""


class Source:
    """A way to reach a tensor. Two sources are equal if they lead to the same tensor of one
    call."""
    __slots__ = ()

    def find(self, leaves: list[Any]) -> Any:
        """The tensor in a call with these leaves, or None."""
        raise NotImplementedError

    def same(self, other: Any) -> bool:
        """Is it the same way as in a run that was recorded again?"""
        return bool(self == other)

    def emit(self, steps: Any) -> None:
        """The machine code step that gives the tensor."""
        raise InPython

    def address(self, steps: Any, number: int) -> Any:
        """Where machine code finds the tensor's array, which is value `number` of the program."""
        raise InPython

    def described(self, paths: list[str], names: Any) -> tuple[str, str]:
        """Where the tensor comes from, and its name in the user's code."""
        raise NotImplementedError


class Argument(Source):
    """A tensor among the arguments or in a slot, or one that stands for a number there."""
    __slots__ = ("index",)

    def __init__(self, index: int):
        self.index = index

    def __eq__(self, other: object) -> bool:
        return type(other) is Argument and other.index == self.index

    def __hash__(self) -> int:
        return hash(self.index)

    def find(self, leaves: list[Any]) -> Any:
        return leaves[self.index]

    def emit(self, steps: Any) -> None:
        steps.argument(self.index)

    def address(self, steps: Any, number: int) -> Any:
        return steps.leaf(self.index, number)

    def described(self, paths: list[str], names: Any) -> tuple[str, str]:
        return f"argument {self.index}", paths[self.index]


class Drawn(Source):
    """The result of a foreign generator: draw `index - number of leaves` of a call. Before the
    draw, the recorded run's tensor shows what it will be like."""
    __slots__ = ("index", "like")

    def __init__(self, index: int, like: Base):
        self.index, self.like = index, like

    def __eq__(self, other: object) -> bool:
        return type(other) is Drawn and other.index == self.index

    def __hash__(self) -> int:
        return hash((Drawn, self.index))

    def find(self, leaves: list[Any]) -> Any:
        return leaves[self.index] if self.index < len(leaves) else self.like

    def described(self, paths: list[str], names: Any) -> tuple[str, str]:
        return "drawn", ""


class Outside(Source):
    """A tensor that the function reaches from outside, the same one at each call."""
    __slots__ = ("tensor",)

    def __init__(self, tensor: Base):
        self.tensor = tensor

    def __eq__(self, other: object) -> bool:
        return type(other) is Outside and other.tensor is self.tensor

    def __hash__(self) -> int:
        return id(self.tensor)

    def find(self, leaves: list[Any]) -> Any:
        return self.tensor

    def same(self, other: Any) -> bool:
        # The function makes new tensors around one NumPy array.
        return (type(other) is Outside
                and (self == other or _around_one(self.tensor._array, other.tensor._array)))

    def emit(self, steps: Any) -> None:
        steps.constant(self.tensor)

    def address(self, steps: Any, number: int) -> Any:
        return steps.held(self.tensor)

    def described(self, paths: list[str], names: Any) -> tuple[str, str]:
        return "outside", names.of_tensor(self.tensor)


class _Reached(Source):
    """A tensor reached through another tensor, its `owner`."""
    __slots__ = ("owner",)

    def __init__(self, owner: Source):
        self.owner = owner

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.owner == self.owner

    def __hash__(self) -> int:
        return hash((type(self), self.owner))

    def same(self, other: Any) -> bool:
        return type(other) is type(self) and self.owner.same(other.owner)


class GradientOf(_Reached):
    """The gradient that a tensor has when the call begins."""
    __slots__ = ()

    def find(self, leaves: list[Any]) -> Any:
        return self.owner.find(leaves)._grad

    def described(self, paths: list[str], names: Any) -> tuple[str, str]:
        where, name = self.owner.described(paths, names)
        return f"gradient of {where}", f"{name}.grad" if name else ""


class DataOf(_Reached):
    """`tensor.data`, which has a version cell of its own."""
    __slots__ = ()

    def find(self, leaves: list[Any]) -> Any:
        return self.owner.find(leaves).data

    def described(self, paths: list[str], names: Any) -> tuple[str, str]:
        where, name = self.owner.described(paths, names)
        return f"data of {where}", f"{name}.data" if name else ""


class BaseOf(_Reached):
    """The base of a view."""
    __slots__ = ()

    def find(self, leaves: list[Any]) -> Any:
        return self.owner.find(leaves)._base

    def described(self, paths: list[str], names: Any) -> tuple[str, str]:
        where, name = self.owner.described(paths, names)
        return f"base of {where}", f"{name}._base" if name else ""


class MadeLeaf(Source):
    """A leaf that the run made, to which gradients of its results flow. The call builds it by a
    `recipe`. `number`: its index among the tensors that the recipe makes."""
    __slots__ = ("number", "recipe")

    def __init__(self, number: int, recipe: Recipe):
        self.number, self.recipe = number, recipe

    def __eq__(self, other: object) -> bool:
        return type(other) is MadeLeaf and other.number == self.number

    def __hash__(self) -> int:
        return hash((MadeLeaf, self.number))

    def find(self, leaves: list[Any]) -> Any:
        return None                          # The call has not built it yet.


class Search:
    """Several sources whose tensors each call looks up. Outside tensors are `known`, `arguments`
    are taken by their index, and the `others` are found one by one."""
    __slots__ = ("sources", "known", "arguments", "others")

    def __init__(self, sources: list[Source | None]):
        self.sources = sources
        self.known: list[Any] = [s.tensor if isinstance(s, Outside) else None for s in sources]
        self.arguments = [(i, s.index) for i, s in enumerate(sources) if isinstance(s, Argument)]
        self.others = [(i, s) for i, s in enumerate(sources)
                       if s is not None and not isinstance(s, Outside | Argument)]

    def find(self, leaves: Any) -> list[Any]:
        """The tensors in a call with these leaves; None for one that does not exist."""
        found = self.known.copy()
        for i, k in self.arguments:
            found[i] = leaves[k]
        for i, s in self.others:
            found[i] = s.find(leaves)
        return found

    def same(self, other: Search) -> bool:
        """Are they the same ways as in a run that was recorded again?"""
        return len(self.sources) == len(other.sources) and all(
            a is b if a is None or b is None else a.same(b)
            for a, b in zip(self.sources, other.sources))


class Sources:
    """The way to each tensor that existed before a run."""

    def __init__(self, run: Any, borrowed: dict[int, Base], drawn: list[Base]):
        self.arguments: dict[int, Source] = {
            id(t): Argument(i) for i, t in enumerate(run.leaves)}
        self.arguments.update((id(t), Drawn(i, t)) for i, t in enumerate(drawn, len(run.leaves)))
        self.known, self.borrowed = run.whole.tensors, borrowed
        self.owners: dict[int, Any] = {
            id(g): t for t, g in zip(run.tensors, run.grads) if g is not None}
        # Gradients that are known by another name, too: pairs of sources.
        self.twice: list[tuple[Source, Source | None]] = []
        only_gradients = set(map(id, run.whole.grads))
        t: Any
        for t, g in zip(run.tensors, run.grads):
            if g is not None and (id(g) not in only_gradients or self.owners[id(g)] is not t):
                other: Any = (self.arguments.get(id(g))
                              or (self(g) if id(g) in only_gradients else Outside(g)))
                self.twice.append((GradientOf(self(t)), other))

    def __call__(self, t: Any) -> Any:
        """The way to a tensor; None if it did not exist before, or is out of reach."""
        if id(t) in self.arguments:
            return self.arguments[id(t)]
        if id(t) in self.owners and id(t) in self.known:
            owner = self(self.owners[id(t)])
            return None if owner is None else GradientOf(owner)
        return Outside(t) if id(t) in self.known or id(t) in self.borrowed else None

    def sharing(self, found: Iterable[tuple[Base, Any]]) -> list[tuple[Any, Any]]:
        """Pairs of sources of tensors that wrap the same array, such as `x` and `x.detach()`.
        `found`: tensors and their arrays before the run."""
        first: dict[int, Base] = {}
        pairs: list[tuple[Any, Any]] = []
        for t, array in found:
            other = first.setdefault(id(array), t)
            if other is not t:
                pairs.append((self(other), self(t)))
        pairs += self.twice
        return pairs


def within_reach(source: Source | None) -> bool:
    """Does a source lead to something?"""
    return source is not None and (
        not isinstance(source, _Reached) or within_reach(source.owner))


def _around_one(a: Any, b: Any) -> bool:
    """Are two arrays the same, or views of the same elements with the same layout?"""
    if a is b:
        return True
    if a.base is None or a.base is not b.base:
        return False
    layout, other = (
        (x.dtype, x.shape, x.strides, x.__array_interface__["data"]) for x in (a, b))
    return bool(layout == other)
