"""Nodes that code looks at are of classes named for what they do: `type(y.grad_fn).__name__` is
`AddBackward0`.

Drawings of graphs go by that name. A node becomes one of such a class when it is first given out:
calls make nodes of a few types, whatever their op.
"""
from typing import Any

from .. import tensor_base
from ..cpu import repeated_calls

_made: dict[tuple[type, str], Any] = {}
_classes: set[type] = set()


def named(node):
    """The node, of the class that has its name from now on."""
    cls = type(node)
    if cls in _classes:
        return node
    name = node.name().rpartition("::")[2]
    own = _made.get((cls, name))
    if own is None:
        own = _made[cls, name] = _subclass(cls, name)
        _classes.add(own)
    node.__class__ = own
    return node


def _subclass(cls, name):
    if cls is tensor_base.NativeNode:
        return repeated_calls.type_of_nodes(
            f"whet.autograd.{name}", cls, tensor_base.addresses["node_dealloc"])
    return type(name, (cls,), {"__slots__": (), "__module__": "whet.autograd"})
