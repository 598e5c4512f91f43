"""Finds out which values a node depends on: those that it reads, and those whose sizes it receives.

    %5 = index(%0, %3)
    %6 = mean(%5)
    %8 = div(%7, 44)                        in the gradient of %6: has the sizes of %5
    %9 = expand(%8, size=(11, 4))           so is this

Parts are planned for the sizes of what they are given. The attributes of a node are functions of
these only if the part is given the values whose sizes they are.
"""
from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from whet.ir.graph import Draw, OpNode

from .size_expressions import COUNTED, several

if TYPE_CHECKING:
    from whet.ir.graph import Node
    from whet.ir.values import Array, Type

    from ..capture.calls_behind_gradients import GradientsOf
    from ..capture.followed_sizes import Place
    from .numbers_from_sizes import NumbersOfNode


@dataclass(frozen=True)
class NumberOrigins:
    """Where numbers of a run come from. `of_sizes`: the values that are made of sizes alone.
    `read_numbers`: where numbers that Python has read came to ops; None where these are not
    followed. `rests`: the places of sizes that were given as -1. `gradients_of`: the op's call
    behind each gradient, see `CallsBehindGradients`."""
    of_sizes: Set[int]
    read_numbers: Mapping[int, NumbersOfNode] | None
    rests: Mapping[int, Set[Place]]
    gradients_of: GradientsOf


@dataclass(frozen=True)
class SizeSources:
    """Where the sizes among nodes' attributes come from, by the first result of each node.
    `read_numbers`: the values of numbers that Python has read (see `FollowedSizes.at`); None where
    these are not followed. `rests`: the places of sizes that were given as -1. `like`: for nodes of
    gradients, the values whose sizes they have besides those of their operands."""
    read_numbers: Mapping[int, NumbersOfNode] | None = None
    rests: Mapping[int, Set[Place]] = field(default_factory=dict)
    like: dict[int, list[int]] = field(default_factory=dict)


class Needs:
    """What nodes need. `gradients`: the nodes that compute gradients of an op, by their first
    result."""

    def __init__(self, sizes: SizeSources | None = None) -> None:
        self.sizes = sizes or SizeSources()
        self.gradients: set[int] = set()

    @classmethod
    def of(cls, nodes: Iterable[Node], arrays: Sequence[Array | Type],
           origins: NumberOrigins) -> Needs:
        """The needs of a list of nodes."""
        needs = cls(SizeSources(origins.read_numbers, origins.rests))
        for node in nodes:
            of = origins.gradients_of.get(node.outs[0], ()) if node.outs else ()
            if of and isinstance(node, OpNode):
                needs.gradients.add(node.outs[0])
                found = needs.behind(node, arrays, of)
                if found:
                    needs.sizes.like[node.outs[0]] = found
        return needs

    def __call__(self, node: Node) -> list[int]:
        """The values that a node depends on."""
        of = () if node.op is None else [int(node.attrs[k]) for k in node.op.value_attrs]
        found = [*map(int, node.refs()), *of]
        if node.outs:
            found += [*self.numbers(node).values(), *self.sizes.like.get(node.outs[0], ())]
        return found

    def numbers(self, node: Node) -> NumbersOfNode:
        """The values of the numbers that Python has read, by where the node has them."""
        read_numbers = self.sizes.read_numbers
        return read_numbers.get(node.outs[0], {}) if read_numbers else {}

    def depends_on_other_sizes(self, node: Node, arrays: Sequence[Array | Type]) -> bool:
        """May a node receive a size of a value that it does not depend on? In a view that keeps all
        elements, one size follows from the others."""
        if isinstance(node, Draw):
            return True
        return (isinstance(node, OpNode)
                and self.other_sizes(node, arrays).total() > node.op.keeps_elements)

    def other_sizes(self, node: OpNode, arrays: Sequence[Array | Type]) -> Counter[int]:
        """The sizes among a node's attributes that no value has on which it depends."""
        known = self.numbers(node)
        sizes: Counter[int] = Counter()
        for name in node.op.size_attrs & node.attrs.keys():
            x = node.attrs[name]
            places = ([((name, i), n) for i, n in enumerate(x)] if type(x) is tuple
                      else [((name,), x)])
            sizes.update(n for place, n in places
                         if place not in known and type(n) is int and n > 1)
        sizes.subtract(n for x in (*node.refs(), *self.sizes.like.get(node.outs[0], ()))
                       for n in arrays[x].shape)
        return +sizes

    def behind(self, node: OpNode, arrays: Sequence[Array | Type],
               of: Sequence[int]) -> list[int]:
        """The operands and results of an op whose sizes a node of its gradient receives. `of` are
        all of them. Those are left out whose sizes the node's own operands have as well."""
        sizes = self.other_sizes(node, arrays)
        if sizes.total() <= node.op.keeps_elements:
            sizes = Counter()
        read = [arrays[x].shape for x in node.refs()]
        numbers = [x for x in numbers_of(node) if not any(is_made_of(x, s) for s in read)]
        found = []
        for v in of:
            shape = arrays[v].shape
            its_own, made = Counter(shape) & sizes, [x for x in numbers if is_made_of(x, shape)]
            if its_own or made:
                found.append(v)
                sizes -= its_own
                numbers = [x for x in numbers if x not in made]
        return found


def numbers_of(node: OpNode) -> list[int | float]:
    """The numbers of a node that may have been computed from sizes."""
    return [x for x in (*node.ins, *[x for x in node.attrs.values() if type(x) is float])
            if type(x) in (int, float)]


def is_made_of(x: Any, shape: Sequence[int]) -> bool:
    """Can a number have been computed from some of these sizes?"""
    for some in several(shape):
        n = math.prod(some)
        if n > 1 and (x in (n, n - 1) if type(x) is int else any(x == f(n) for f in COUNTED)):
            return True
    return False
