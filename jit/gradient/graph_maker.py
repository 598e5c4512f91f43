"""Rebuilds the autograd graph that eager mode would have made for a replayed call, from what the
call saved."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from whet.ir.interpret import step
from whet.tensor_base import wrap

if TYPE_CHECKING:
    from whet.ir.graph import Node, Type

    from .backward import CallNode
    from .eager_graph import Held, History


class GraphMaker:
    """`history`: the recorded graph, `saved`: the values that a call keeps for it. `again` are the
    nodes that compute those that were `dropped`, and `types` what they make."""

    def __init__(self, history: History, saved: Sequence[int], dropped: Sequence[int],
                 again: Sequence[Node], types: Mapping[int, Type]) -> None:
        self.history, self.saved, self.dropped = history, saved, dropped
        self.again, self.types = again, types

    def nodes(self, call: CallNode, exits: dict[int, Any]) -> list[Any]:
        """The nodes behind a call, oldest first; `exits`: number -> an object that is to be that
        node."""
        return self.history.make(self.held(call), call.edges, exits, call.seq, call.gone)

    def held(self, call: CallNode) -> Held:
        """What a call has saved and not released."""
        held: dict[int | None, tuple[Any, int]] = {
            n: (x, v) for n, x, v in zip(self.saved, call.inputs, call.versions) if x is not None}
        if self.again:
            env = {n: x._array for n, (x, _) in held.items()}
            with np.errstate(all="ignore"):
                for node in self.again:
                    if all(x in env for x in node.refs()):
                        step(node, env, self.types, ())
            held.update((n, (wrap(env[n]), 0)) for n in self.dropped
                        if n in env and self.history.holders[n] & ~call.gone)
        return held
