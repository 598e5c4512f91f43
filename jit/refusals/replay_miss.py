"""The error by which a replay is given up."""

from typing import Any

from whet.ir.graph import Ask, Guard

from .reasons import Branches, Explained, Raises, Reason


class Miss(Explained):
    """The replay is given up: a value or a shape differs from the recording. Nothing outside has
    been changed. `no_room`: a device had too little memory."""
    no_room = False


def broken(node: Any) -> Reason:
    """The reason of a miss at a node: a guard, a question, or an op that refuses its data."""
    if isinstance(node, Guard):
        return Branches("a number that Python goes on from is another", node.line)
    if isinstance(node, Ask):
        return Branches("a question about a tensor's numbers has another answer", node.line)
    return Raises(f"{node.op.name} raises an error", node.line)
