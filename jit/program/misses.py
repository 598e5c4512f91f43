"""A replay that is given up."""

from typing import Any

from whet.ir.graph import Ask, Guard

from ..report.reasons import Branches, Explained, Raises, Reason


class Miss(Explained):
    """A value or a shape is another than when it was recorded: the replay is given up, nothing
    outside has been changed. `no_room`: or a device had too little memory for it."""
    no_room = False


def broken(node: Any) -> Reason:
    """What is otherwise than it was at a guard, a question, or an op that refuses its data."""
    if isinstance(node, Guard):
        return Branches("a number that Python goes on from is another", node.line)
    if isinstance(node, Ask):
        return Branches("a question about a tensor's numbers has another answer", node.line)
    return Raises(f"{node.op.name} raises an error", node.line)
