"""Ops that NumPy would do, in a form that launches can do.

Some kernels take only operands that lie dense; elsewhere NumPy copies them. In a library the copy
is a launch of its own. Orders of sums follow shapes alone, so no bit changes. And what an op makes
of operands without elements is known beforehand, as for a batch of no examples.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from typing import Any

import numpy as np
from whet.ir.graph import Graph, Node, OpNode, Ref
from whet.ir.values import Type
from whet.layouts import contiguous_format
from whet.ops.convert import copy_to_format_op
from whet.ops.creation import constant_op


def launchable(g: Graph, makers: Container[int], constants: Mapping[int, Any]) -> Graph | None:
    """The graph with other forms of ops that have no launches; None where there are none. `makers`:
    the values that these ops make, `constants`: the arrays of known values."""
    known = {**constants, **{n.outs[0]: n.attrs["array"] for n in g.nodes if n.op is constant_op}}
    types, nodes = dict(g.types), list[Node]()
    changed = False
    for n in g.nodes:
        form: Iterable[Node] | None = None
        if isinstance(n, OpNode) and not n.is_view and any(o in makers for o in n.outs):
            form = made_of_nothing(n, types, known) or with_dense_operands(n, types)
        nodes += [n] if form is None else form
        changed = changed or form is not None
    return Graph(nodes, types, g.inputs, g.results, g.name) if changed else None


def made_of_nothing(
    n: OpNode, types: Mapping[int, Type], known: Mapping[int, Any]
) -> list[Node] | None:
    """The results of an op as constants, where its operands are known or have no elements."""
    refs = [int(x) for x in n.refs()]
    if not refs or any(x not in known and types[x].size for x in refs):
        return None
    operands = {
        x: known[x] if x in known else np.empty(types[x].shape, types[x].dtype) for x in refs}
    try:
        made = n.forward(operands, [])
    except Exception:  # an op may raise anything; the caller names what is refused
        return None
    arrays = made if isinstance(made, tuple) else (made,)
    if any(a.size and Type.of(a) != types[o] for o, a in zip(n.outs, arrays, strict=True)):
        return None
    return [
        OpNode(constant_op, (), {"array": a}, [o], n.line) for o, a in zip(n.outs, arrays)
    ]


def with_dense_operands(n: OpNode, types: dict[int, Type]) -> list[Node] | None:
    """An op on dense copies of its operands. None where they are dense already, or where its
    results would then be laid out otherwise."""
    loose = dict.fromkeys(int(x) for x in n.refs() if not types[x].contiguous)
    copies = {x: 1 + max(types) + i for i, x in enumerate(loose)}
    more = {o: Type(types[x].dtype, types[x].shape) for x, o in copies.items()}
    dense = n.of(tuple([
        Ref(copies[x]) if type(x) is Ref and int(x) in copies else x for x in n.ins]))
    if not copies or dense.asked({**types, **more})[0] != [types[o] for o in n.outs]:
        return None
    types.update(more)
    return [
        *[OpNode(copy_to_format_op, (Ref(x),), {"memory_format": contiguous_format}, [o], n.line)
          for x, o in copies.items()], dense]
