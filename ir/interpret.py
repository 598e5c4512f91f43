"""The meaning of a graph: runs its nodes one by one, by each op's own definition, without fusion or
planning.

The kernels are those that eager mode calls for each op alone, so the bits are eager's; with
`WHET_CPU=numpy` they are NumPy's. It is what compiled programs are compared with.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .graph import Graph
from .nodes import Diverged, Env, Node, Positions
from .values import Array, Type

__all__ = ["Diverged", "interpret", "step"]


def interpret(g: Graph, *arrays: Any,
              streams: Sequence[Sequence[int]] | None = None) -> list[Array]:
    """The results of a graph for given inputs, as arrays. What the graph writes to its inputs is
    written to the arrays.

    `arrays` (or tensors) are in the order of `g.inputs`; `streams` are the positions (seed, offset)
    of its generators, at first those of the recorded run.

    >>> import whet
    >>> from whet.ir.interpret import interpret
    >>> @whet.jit.trace
    ... def double(x):
    ...     return x * 2
    >>> _ = double(whet.ones(3))
    >>> interpret(double.recorded, whet.tensor([1.0, 2.0, 3.0]))
    [array([2., 4., 6.], dtype=float32)]
    """
    inputs = [getattr(a, "_array", a) for a in arrays]
    if len(inputs) != len(g.inputs):
        names = ", ".join(x.name or x.place for x in g.inputs)
        raise ValueError(f"the graph has {len(g.inputs)} inputs ({names}), not {len(inputs)}")
    positions = [list(s) for s in (g.streams if streams is None else streams)]
    if len(positions) != len(g.streams):
        raise ValueError(f"the graph draws from {len(g.streams)} generators, not {len(positions)}")
    env: Env = {}
    for x, a in zip(g.inputs, inputs):
        t = g.types[x.value]
        if not isinstance(a, np.ndarray) or (a.dtype, a.shape) != (t.dtype, t.shape):
            found = Type.of(a) if isinstance(a, np.ndarray) else type(a).__name__
            raise ValueError(f"{x.name or x.place} is {t} in this graph, not {found}")
        env[x.value] = a
    with np.errstate(all="ignore"):
        for n in g.nodes:
            step(n, env, g.types, positions)
    return [env[v] for v, _ in g.results]


def step(n: Node, env: Env, types: Any, positions: Positions) -> None:
    """Run a node: `env` has the values so far, `positions` are those of the generators."""
    n.run(env, types, positions)
