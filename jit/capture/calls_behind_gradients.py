"""For each recorded node that computes gradients: the op's call whose gradients these are.

A gradient rule uses sizes that its own operands need not have: the gradient of `x.sum()` is a
number, expanded to the sizes of `x`. They are sizes of the operands or results of `x.sum()`, which
is why a program for other sizes must know that call."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from whet.autograd import modes
from whet.autograd.node import OutputOf
from whet.ir.graph import Ref

if TYPE_CHECKING:
    from whet.autograd.node import Node as EagerNode
    from whet.ops.registry import Op

# by the first result of a node: the operands and results of the op whose gradients it computes
GradientsOf: TypeAlias = Mapping[int, Sequence[int]]


class CallsBehindGradients:
    """The calls behind the gradients of one run, as `found`."""

    def __init__(self) -> None:
        self.found: dict[int, Sequence[int]] = {}
        self.values: dict[int, Sequence[int]] = {}           # of an op, by its eager node's number

    def ran(self, op: Op, ins: Sequence[Any], outs: Sequence[int], made: Any) -> None:
        """Note that an op made something from `ins`; `outs`: its values."""
        first = made[0] if type(made) is tuple else made
        node: EagerNode | None = first._node
        if isinstance(first._node, OutputOf):
            node = first._node.parent
        if node is not None and node.op is op:
            self.values[node.seq] = [*(int(x) for x in ins if type(x) is Ref), *outs]
        walk = modes.state.walk
        # The user's code runs in the midst of a rule where he has hooks for what is saved.
        if outs and walk is not None and walk.at is not None and not modes.state.saved_hooks:
            known = self.values.get(walk.at.seq)
            if known is not None:
                self.found[outs[0]] = known
