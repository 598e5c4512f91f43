"""Is a graph that was read one that `whet.export` could have made? What runs it believes that it
is.

Only ops that compute are let in: nothing that draws, writes to an input, or calls code that is not
an op's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from whet.ir import verify
from whet.ir.graph import Ask, Graph, Guard, OpNode, Write
from whet.ir.question_names import name_of
from whet.ir.values import Array, Type

QUESTIONS = "whet.ops.", "whet.jit.capture."  # where the code of questions about data is


class Unsound(ValueError):
    """This graph is not sound, and why."""


def check(g: Graph, constants: Mapping[str, Array]) -> None:
    """Raise Unsound for a graph that is invalid, as far as that shows without running any op."""
    if g.streams:
        raise Unsound("it draws random numbers")
    arguments = [x for x in g.inputs if x.place != "constant"]
    if g.inputs[: len(arguments)] != arguments or any(
        x.place != f"argument {i}" for i, x in enumerate(arguments)
    ):
        raise Unsound("its inputs are not arguments in order, and then constants")
    for x in g.inputs[len(arguments) :]:
        a = constants.get(x.name)
        if a is None or not g.types[x.value].fits(Type.of(a)):
            raise Unsound(f"there is no constant `{x.name}` of type {g.types[x.value]}")
    made = set[int]()
    known = {x.value for x in g.inputs}
    if len(known) < len(g.inputs):
        raise Unsound("an input is there twice")
    for n in g.nodes:
        missing = [x for x in n.refs() if x not in known]
        if missing or known.intersection(n.outs) or len(set(n.outs)) < len(n.outs):
            raise Unsound(f"{n} reads what is not made, or makes what is there")
        allowed(n)
        known.update(n.outs)
        made.update(n.outs)
    if any(v not in known for v, _ in g.results) or len(
        set(map(int, (v for v, _ in g.results)))
    ) < len(g.results):
        raise Unsound("its results are not made, or not each once")
    roots = g.roots()
    for n in g.nodes:
        if any(roots[x] not in made for x in n.written()):
            raise Unsound(f"{n} writes to an input")


def allowed(n: Any) -> None:
    """Raise Unsound for a node of a kind that an exported graph does not have."""
    if isinstance(n, Ask):
        name, _, defaults = name_of(n.question)
        if not name.startswith(QUESTIONS) or defaults:
            raise Unsound(f"it asks {name}, which is no question about data")
        return
    if (
        not isinstance(n, Guard | OpNode | Write)
        or n.op is not None
        and (n.op.random or not n.op.ours or getattr(n.op, "python", False))
    ):
        raise Unsound(f"{n} does more than compute")


def check_whole(g: Graph, most: int) -> None:
    """Ask every op for its result types, by running it once on zeros. No value may take more than
    `most` bytes, and views must be within the memory of what they are views of."""
    from .layouts import layouts

    for v, t in g.types.items():
        if max(t.nbytes, t.extent, t.span[1] - t.span[0]) > most:
            raise Unsound(f"%{v} takes {t.nbytes:,} bytes, more than {most:,}")
    try:
        layouts(g)
        with np.errstate(all="ignore"):
            verify.verify(g)
    except (ValueError, MemoryError) as e:
        raise Unsound(str(e)) from None
