"""The steps at which a call may find that it misses."""
from __future__ import annotations

from collections.abc import Mapping, Sequence

from whet.ir.graph import Node
from whet.ir.memory_spans import address

from .launch_entries import Check
from .launch_lists import Launched, Step


class PossibleMisses:
    """The steps at which lists of launches may end early, each with the position of its node among
    the `recorded` nodes, or None if that is unknown. `checks`: see `Program`."""

    def __init__(self, steps: Sequence[Step], recorded: Sequence[Node],
                 checks: Mapping[int, Node | None]) -> None:
        self.steps: list[tuple[int, int | None]] = []
        found = [(i, checks.get(address(e.flag))) for i, step in enumerate(steps)
                 if isinstance(step, Launched) for e in step.entries if isinstance(e, Check)]
        if found:
            made = {o: k for k, n in enumerate(recorded) for o in n.outs}
            own = {id(n): k for k, n in enumerate(recorded)}
            self.steps = [(i, None if n is None else own.get(id(n.source or n),
                                                             _known(made, n.outs)))
                          for i, n in found]

    def last(self, since: int | None) -> int:
        """The last step that may miss, among nodes before the recorded position `since`; -1 if
        there is none. None means all nodes."""
        return max((i for i, k in self.steps if since is None or k is None or k < since),
                   default=-1)


def _known(made: Mapping[int, int], outs: Sequence[int]) -> int | None:
    return made.get(outs[0]) if outs else None
