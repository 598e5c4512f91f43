"""Two recordings of one list of nodes, compared node by node."""
from __future__ import annotations

from typing import Any

from whet.ir.graph import Ask, Draw, Guard, Node, Ref
from whet.ir.value_keys import value_key


def alike(a: Node, b: Node) -> bool | None:
    """Have two nodes the same attributes and numbers? None where they are no one node of a list
    that was recorded twice."""
    if a is b:
        return True
    if (
        a.kind != b.kind
        or a.op is not b.op
        or a.outs != b.outs
        or len(a.ins) != len(b.ins)
        or a.attrs.keys() != b.attrs.keys()
    ):
        return None
    same = True
    for x, y in zip(a.ins, b.ins):
        if (type(x) is Ref) != (type(y) is Ref) or type(x) is Ref and x != y:
            return None
        same &= type(x) is Ref or _equal(x, y)
    if isinstance(a, (Guard, Ask)) and not _equal(a.fact, b.fact):
        return None
    if isinstance(a, Draw) and not _one_stream(a.attrs["generator"], b.attrs["generator"]):
        return None
    return (
        same
        and a.roots == b.roots
        and all(_equal(v, b.attrs[k]) for k, v in a.attrs.items() if k != "generator")
    )


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
