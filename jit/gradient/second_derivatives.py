"""Decides whether what a replay keeps for the backward is also enough for second derivatives."""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from whet.autograd import modes
from whet.tensor_base import wrap

from ..values.same_bits import roughly_equal
from .eager_graph import History, walk

if TYPE_CHECKING:
    from ..capture.recorder import Recorder


def read_only(values: Iterable[int], rec: Recorder, history: History, gradients: Sequence[Any],
              first: Mapping[int, Any]) -> bool:
    """Does the backward read only these values when the graph of the gradients is recorded? It is
    run with nodes that have nothing else. `gradients`: of the outputs; `first`: what edges get
    without that graph."""
    held: dict[int | None, tuple[Any, int]] = {}
    for n in values:
        a = rec.values.array(n)
        if a is not None:                    # what eager did not save is not read
            t = rec.outside[n] if n in rec.outside else wrap(a)
            held[n] = t, t._version
    nodes = history.make(held, history.borders, {}, 1)
    with modes.enable_grad():
        seeds = {nodes[r]: g for r, g in zip(history.roots, gradients)}
        found = [(history.keys[key], g) for key, g in walk(nodes, seeds, [])]
    return {k for k, _ in found} == first.keys() \
        and all(roughly_equal(g._array, first[k]) for k, g in found)
