"""Compares two recordings of one list of nodes, node by node."""
from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

from whet.ir.graph import Ask, Draw, Guard, Node, Ref
from whet.ir.value_keys import value_key


class Likeness(enum.Enum):
    """What two recorded lists have at one place."""
    OTHER_NODE = enum.auto()                 # another op, or other values are read or made
    OTHER_NUMBERS = enum.auto()              # one node with other attributes or numbers
    SAME = enum.auto()


def likeness(a: Node, b: Node) -> Likeness:
    """How a node is like the one in its place in another recorded list."""
    if a is b:
        return Likeness.SAME
    if (
        a.kind != b.kind
        or a.op is not b.op
        or a.outs != b.outs
        or len(a.ins) != len(b.ins)
        or a.attrs.keys() != b.attrs.keys()
    ):
        return Likeness.OTHER_NODE
    same = True
    for x, y in zip(a.ins, b.ins):
        if (type(x) is Ref) != (type(y) is Ref) or type(x) is Ref and x != y:
            return Likeness.OTHER_NODE
        same &= type(x) is Ref or _equal(x, y)
    if isinstance(a, (Guard, Ask)) and not _equal(a.fact, b.fact):
        return Likeness.OTHER_NODE
    if isinstance(a, Draw) and not _one_stream(a.attrs["generator"], b.attrs["generator"]):
        return Likeness.OTHER_NODE
    same = (
        same
        and a.roots == b.roots
        and all(_equal(v, b.attrs[k]) for k, v in a.attrs.items() if k != "generator")
    )
    return Likeness.SAME if same else Likeness.OTHER_NUMBERS


def is_one_node(a: Node, b: Node) -> bool:
    """Are two nodes one of a list that was recorded twice? Its numbers may differ."""
    return likeness(a, b) is not Likeness.OTHER_NODE


def are_one_list(nodes: Sequence[Node], others: Sequence[Node]) -> bool:
    """Are two lists of nodes one that was recorded twice? Its numbers may differ."""
    return len(nodes) == len(others) and all(map(is_one_node, nodes, others))


def _one_stream(x: Any, y: Any) -> bool:
    """Are two streams of random numbers one, or one place?"""
    return x is y or hasattr(x, "key") and hasattr(y, "key") and x.key() == y.key()


def _equal(x: Any, y: Any) -> bool:
    """Are two attributes the same, to the bit?"""
    if x is y:
        return True
    if type(x) is not type(y):
        return False
    if type(x) in (int, str, bool):
        return bool(x == y)
    if type(x) is tuple:
        return len(x) == len(y) and all(map(_equal, x, y))
    return bool(value_key(x) == value_key(y))
