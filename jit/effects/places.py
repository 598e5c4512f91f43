"""Where a replay finds the tensors that were there before a run."""
from typing import Any

from ..capture.refused import Refused
from ..report.reasons import Memory


class Places:
    """The place of a tensor: an argument, an object, or what belongs to one; None where there is none."""

    def __init__(self, run: Any, borrowed: Any, facts: Any) -> None:
        self.argument = {id(t): i for i, t in enumerate(run.leaves)}
        self.known, self.borrowed, self.facts = run.whole.tensors, borrowed, facts
        self.owner = {id(g): t for t, g in zip(run.tensors, run.grads) if g is not None}
        self.twice = self.gradients_with_other_names(run)

    def gradients_with_other_names(self, run: Any) -> list[Any]:
        """Pairs of places of gradients that are known by another name, too."""
        twice, alone = [], set(map(id, run.whole.grads))
        for t, g in zip(run.tensors, run.grads):
            if g is not None and (id(g) not in alone or self.owner[id(g)] is not t):
                other = ("argument", self.argument[id(g)]) if id(g) in self.argument \
                    else self(g) if id(g) in alone else ("object", g)
                twice.append((("grad", self(t)), other))
        return twice

    def __call__(self, t: Any) -> Any:
        if id(t) in self.argument:
            return "argument", self.argument[id(t)]
        if id(t) in self.facts:
            what, of = self.facts[id(t)]
            return what, self(of)
        if id(t) in self.owner and id(t) in self.known:
            owner = self(self.owner[id(t)])
            return None if owner is None else ("grad", owner)
        return ("object", t) if id(t) in self.known or id(t) in self.borrowed else None

    def sharing(self, tensors: list[Any]) -> list[Any]:
        """Pairs of places of the tensors that are around one array, as `x` and `x.detach()` are."""
        first: dict[int, Any] = {}
        pairs = []
        for t in tensors:
            other = first.setdefault(id(t._array), t)
            if other is not t:
                pairs.append((self(other), self(t)))
        pairs += self.twice
        if any(None in (*pair, *(place[1] for place in pair if place and place[0] == "grad"))
               for pair in pairs):
            raise Refused(Memory("a gradient and another tensor are one array"))
        return pairs
