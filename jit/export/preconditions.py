"""The conditions on a call under which an exported function gives the original's results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from whet.ir.graph import Ask, Graph, Guard, Node
from whet.ir.values import Type

from ..guards.sizes import Dim
from ..refusals.replay_miss import Miss
from .dims import bounds
from .errors import PreconditionError
from .signature import Signature, Value
from .tree_structure import FixedPart, OmittedPart


class Precondition:
    """`text` is the condition, `line` the user's line that depends on it, or ""."""

    __slots__ = ("line", "text")

    def __init__(self, text: str, line: str = "") -> None:
        self.text, self.line = text, line

    def __repr__(self) -> str:
        return f"{self.text}  # {self.line}" if self.line else self.text


def preconditions(
    signature: Signature, g: Graph, dims: Sequence[Dim] = ()
) -> Iterator[Precondition]:
    """All of a function's: bounds of sizes, types of inputs, values that became a part of it,
    answers about data."""
    for d in dims:
        yield Precondition(f"{d.name} is {bounds(d)}")
    for v in signature.inputs:
        yield Precondition(f"`{v.name}` is {v.type_text}")
    for p in signature.parameters:
        for leaf in p.part.leaves():
            if isinstance(leaf, FixedPart):
                yield Precondition(f"`{leaf.name}` is {leaf.value!r}")
            elif isinstance(leaf, OmittedPart):
                yield Precondition(f"`{leaf.name}` is left out")
    for n in g.nodes:
        if isinstance(n, Guard | Ask) or n.op is not None and n.op.may_fail:
            yield Precondition(condition_text(n), n.line)


def condition_text(n: Node) -> str:
    """The condition that a node of the graph checks."""
    if isinstance(n, Guard):
        return f"the value of {n.ins[0]!r} is {n.expected.tolist()}"
    if isinstance(n, Ask):
        of = ", ".join(map(repr, n.ins))
        return (
            f"{of}: accepted"
            if n.answer is None
            else f"the answer to {n.question.__name__}({of}) is {n.answer!r}"
        )
    return f"{n.op.name} accepts its data" if n.op is not None else ""


def broken(name: str, error: Miss) -> PreconditionError:
    """The error for data of which something is not so."""
    reason = error.reason
    where = f" ({reason.where})" if reason.where else ""
    return PreconditionError(
        f"{name}: {reason.what or 'these data go another way'}{where}; "
        "it was exported for data that go the recorded way"
    )


def wrong_type(v: Value, passed: Any) -> PreconditionError:
    """The error for an input of another type."""
    return PreconditionError(
        f"input `{v.name}` is {Type.of(passed)}, but the function was exported for {v.type_text}"
    )
