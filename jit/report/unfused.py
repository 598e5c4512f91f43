"""The reasons why operations that feed each other are not one kernel."""
from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias

from whet.ir.graph import SHOWN, Ask, Guard, OpNode, Ref, Write
from whet.passes import fuse_gathers, fuse_moves
from whet.passes.fuse_pointwise import MOST, MOST_NODES, dense, has_parts, is_operand, lying

from ..values.same_bits import template

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whet.ir.graph import Graph

    Users: TypeAlias = Mapping[int, Sequence[int]]      # value -> the nodes that read it


def unfused(before: Graph, after: Graph) -> list[tuple[OpNode, OpNode, str]]:
    """Pointwise nodes that feed each other and are not one kernel: (the node that makes a value,
    the one that reads it, why). Of very many operands of a node, the first."""
    kernel: dict[int, int] = {}              # value -> the kernel that computes it
    for i, n in enumerate(after.nodes):
        for m in n.flat():
            kernel.update(dict.fromkeys(m.outs, i))
    root, users = before.roots(), dict[int, list[int]]()
    for i, n in enumerate(before.nodes):
        for x in n.refs():
            users.setdefault(root[x], []).append(i)
    maker: dict[int, int] = {}               # value -> the pointwise node that makes it
    nodes: dict[int, OpNode] = {}
    out: list[tuple[OpNode, OpNode, str]] = []
    for i, n in enumerate(before.nodes):
        if (
            isinstance(n, OpNode)
            and (n.op.family == "pointwise" or fuse_moves.moves(n) or n.op.picks is not None)
            and n.outs[0] in kernel
        ):
            maker[n.outs[0]], nodes[i] = i, n
            for x in dict.fromkeys(n.refs()[:SHOWN]):
                k = maker.get(x)
                if k is not None and kernel[x] != kernel[n.outs[0]]:
                    out.append((nodes[k], n, why(before, (k, nodes[k]), (i, n), users)))
    return out


def why(g: Graph, first: tuple[int, OpNode], second: tuple[int, OpNode], users: Users) -> str:
    """Why two nodes of a graph, each with its place in it, are not one kernel."""
    (k, a), (i, b) = first, second
    moved, gathered = (any(f(n) for n in (a, b))
                       for f in (fuse_moves.moves, lambda n: n.op.picks is not None))
    if moved or gathered:
        arrays = {v: template(g.types[v]) for n in (a, b) for v in (*n.refs(), *n.outs)}
        said = ("what moves elements does not gather" if moved and gathered else
                (fuse_moves if moved else fuse_gathers).why(a, b, arrays))
        return said or _between(g, k, i, users) or f"others need %{a.outs[0]} too"
    no_kernel = why_no_kernel(g, a) or why_no_kernel(g, b)
    if no_kernel is not None:
        return no_kernel
    x, y = g.types[a.outs[0]], g.types[b.outs[0]]
    if x.shape != y.shape:
        return f"their shapes differ: {list(x.shape)} and {list(y.shape)}"
    if lying(x) != lying(y):
        return f"their elements are in other orders: {x} and {y}"
    too_large = f"a kernel would be too large (more than {MOST} operands or {MOST_NODES} nodes)"
    return _between(g, k, i, users) or f"another node needs one of them before, or {too_large}"


def why_no_kernel(g: Graph, n: OpNode) -> str | None:
    """Why a node can be in no pointwise kernel; None if it can."""
    t = g.types[n.outs[0]]
    if n.attrs:
        return f"{n.op.name} has attributes ({', '.join(n.attrs)})"
    types = [template(g.types[x]) if type(x) is Ref else x for x in n.ins]
    if n.op.family == "pointwise" and not has_parts(n, types):
        return "a function of complex numbers has no kernel"
    if not t.size:
        return "there are no elements"
    if not dense(t):
        return f"the result of {n.op.name} has gaps: {t}"
    odd = [x for x in n.ins if not is_operand(x)]
    if odd:
        return f"{n.op.name} has an operand that is no tensor and no number: {odd[0]!r}"
    return None


def _between(g: Graph, k: int, i: int, users: Users) -> str | None:
    """What comes between nodes k and i that keeps them apart, if anything does."""
    apart = next((n for n in g.nodes[k:i] if isinstance(n, (Write, Guard, Ask))), None)
    if apart is not None:
        return f"{apart.between} comes between them" + (f" ({apart.line})" if apart.line else "")
    made = g.nodes[k].outs[0]
    between = [g.nodes[u] for u in users.get(made, ()) if k < u < i]
    used = next(
        (n for n in between if not isinstance(n, OpNode) or n.op.family != "pointwise"), None
    )
    if used is None:
        return None
    return f"{used.kind if used.op is None else used.op.name} needs %{made} before"


def kind_of(reason: str) -> str:
    """A reason without what it says of these nodes alone: `their shapes differ: [4] and [3]` is
    `their shapes differ`."""
    return re.sub(r"%\d+", "one of them", re.split(r": | \(", reason, maxsplit=1)[0])
