"""Attributes that a run recomputes from constants alone, as hooks join the two parts of a weight
(`nn.utils.weight_norm`).

Each call would put the same tensor there, so the results of an exported function, which puts none,
are those of the function. This does not hold where a run reads what such an attribute held before,
as a count of calls does.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from whet.ops.registry import is_tensor

from ..guards.places import Change


def recomputed(changes: Collection[Change], rec: Any, inputs: Collection[int]) -> set[Any]:
    """The keys of the changes of such attributes among those of a run; none where it reads one of
    them first. `inputs`: the values that a call brings."""
    found = {c.key: c for c in changes if is_of_tensors(c) and c.now in rec.tensors}
    before = {id(c.before) for c in found.values()}
    if any(id(t) in before for t in rec.outside.values()):
        return set()
    return {key for key, c in found.items() if not depends_on_inputs(rec, rec.value(c.now), inputs)}


def is_of_tensors(c: Change) -> bool:
    """Did an attribute get another tensor?"""
    return c.spot is not None and is_tensor(c.now) and is_tensor(c.before)


def depends_on_inputs(rec: Any, value: int, inputs: Collection[int]) -> bool:
    """Does a value of a run depend on inputs, or on random numbers? What is written to its memory
    counts, whenever it was written."""
    root = rec.values.root
    needed = {root(value)}
    for n in reversed(rec.nodes):
        made = {root(x) for x in (*n.outs, *n.written())}
        if made & needed:
            if n.kind == "draw" or n.op is not None and n.op.random:
                return True
            needed.update(root(x) for x in n.refs())
    return not needed.isdisjoint(root(x) for x in inputs)
