"""Nodes and constants that passes merged, because they were equal in the recorded lists. A plan for
other sizes requires that they are equal there again."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.ir.graph import Ref
from whet.ir.outline import Numeral, Outline
from whet.ir.symbolic_size import SYMBOLIC, Unsized
from whet.passes.fold_constants import content
from whet.passes.repeat_for_sizes import key_without_operands
from whet.passes.value_uses import is_view

from .size_expressions import equal

if TYPE_CHECKING:
    from whet.ir.graph import Node
    from whet.passes.fold_constants import Constants

    from .sized_types import SizedTypes


class MergedNodes:
    """Requires the merged nodes and constants to be equal at all sizes, by conditions on sizes;
    raises `Unsized` where that fails. `found`: the constants of the first list."""

    def __init__(self, types: SizedTypes, found: Constants) -> None:
        self.types, self.found = types, found
        self.expected = {
            o: attrs for node, (_, attrs) in zip(types.like.recorded, types.expected, strict=True)
            for o in node.outs}
        self.nodes()
        self.constants()

    def nodes(self) -> None:
        """Require merged nodes to do the same again."""
        groups: dict[Any, Any] = {}
        for node, (ins, attrs) in zip(self.types.like.recorded, self.types.expected, strict=True):
            key = key_without_operands(node)
            if key is not None:
                numbers = [x for x in ins if type(x) is not Ref]
                first = groups.setdefault(key, (numbers, attrs))
                if not all(equal_again(attrs[k], x) for k, x in first[1].items()) or not all(
                        map(equal_again, first[0], numbers)):
                    raise Unsized("nodes that did the same do so no more")

    def constants(self) -> None:
        """Require merged constants to be equal again."""
        groups: dict[Any, list[int]] = {}
        for o in sorted(self.found.short):
            groups.setdefault(content(self.found[o]), []).append(o)
        for first, *others in groups.values():
            for o in others:
                if not self.made_alike(first, o) and self.varies(first, o):
                    self.compare(first, o)

    def compare(self, a: int, b: int) -> None:
        """Require two constants to be equal: by a condition on sizes, or by comparing them when
        they are made."""
        try:
            numbers = self.number(a), self.number(b)
        except Unsized:                      # One is no number.
            self.types.own.be_equal(a, b, self.types.arrays)
            return
        if not equal_again(*numbers):
            raise Unsized("constants that were equal are not")

    def made_alike(self, a: int, b: int) -> bool:
        """Are two constants certainly equal, because they are made alike? Attributes of nodes are
        compared above; views are not, as they are never merged."""
        one, other = self.found.known[a], self.found.known[b]
        if is_view(one):
            do_the_same = self.shows_alike(one, other)
        else:
            key = key_without_operands(one)
            do_the_same = key is not None and key == key_without_operands(other)
        refs = [(int(x), int(y)) for x, y in zip(one.refs(), other.refs())]
        return do_the_same and all(x == y or self.made_alike(x, y) for x, y in refs)

    def shows_alike(self, one: Node, other: Node) -> bool:
        """Do two views show the same part of their bases, at all sizes?"""
        x, y = self.expected[one.outs[0]], self.expected[other.outs[0]]
        return (one.op is other.op and len(one.ins) == len(other.ins) == 1
                and all(equal(v, other.attrs.get(k)) and equal_again(v_again, y[k])
                        for (k, v), v_again in zip(one.attrs.items(), x.values(), strict=True)))

    def varies(self, *constants: int) -> bool:
        """Does one of these constants depend on sizes?"""
        return any(map(self.types.own.differ, constants))

    def number(self, o: int) -> Any:
        """A constant as an expression."""
        return self.types.sizes.read_numbers[o] if self.varies(o) else self.found[o].item()


def equal_again(x: Any, y: Any) -> bool:
    """Are two things equal that were equal in the recorded lists? For expressions this adds a
    condition on sizes."""
    if type(x) in (tuple, list):
        return type(x) is type(y) and len(x) == len(y) and all(map(equal_again, x, y))
    x, y = (a.room.owner.number if type(a) is Outline and type(a.room.owner) is Numeral else a
            for a in (x, y))
    if type(x) in SYMBOLIC:
        return bool(x == y)
    return bool(y == x) if type(y) in SYMBOLIC else True
