"""Eval-mode batch norm goes into the weights of the convolution or linear layer before it. It
changes bits: asked for by name.

    %2 = convolution(%0, %1)                         %11 = mul(%invstd, %weight)
    %3 = batch_norm_eval(%2, %mean, %invstd,   ->    %12 = mul(%1, %11)
                         %weight, %bias)             %15 = (0 - %mean) * %11 + %bias
                                                     %3 = convolution(%0, %12, %15)

All but the convolution depends on weights alone: it is kept, and made anew when one of them
changes.

An output is the sum of K products, scaled and shifted. Instead of the sum the K weights are rounded
after scaling, so an element may differ from eager's by (K + 8) * eps * (sum of |x * w * s| + |b *
s| + |mean * s| + |bias|) with s = weight * invstd, whatever the data: a few units in the last place
of the largest term.
"""
from __future__ import annotations

from collections.abc import Sequence, Set

import numpy as np
from whet.ir.graph import Node, OpNode, Ref
from whet.ir.values import Array
from whet.passes.listing import Arrays, Listing, Roots
from whet.passes.uses import Uses, is_view

CONTRACTIONS = ("convolution", "linear")


def folded(n: OpNode, first: OpNode, arrays: list[Array], root: dict[int, int]) -> list[Node]:
    """The nodes in the place of batch norm `n` after `first`: those that make the weights, and the
    contraction last."""
    from whet.ops.registry import REGISTRY
    made: list[Node] = []

    def make(name: str, *ins: Ref, **attrs: tuple[int, ...]) -> Ref:
        op, o = REGISTRY[name], len(arrays)
        arrays.append(op.forward(*[arrays[x] if type(x) is Ref else x for x in ins], **attrs))
        root[o] = root[ins[0]] if op.is_view else o
        made.append(OpNode(op, ins, attrs, [o], n.line))
        return Ref(o)
    _, mean, invstd, weight, bias = n.ins
    w, b = first.ins[1], first.ins[2] if len(first.ins) > 2 else None
    channels = arrays[w].shape[0]
    scale = make("mul", invstd, weight)
    scaled = make("mul", w, make("view", scale, size=(channels, *[1] * (arrays[w].ndim - 1))))
    start = (
        make("neg", mean)
        if b is None
        else make("sub", make("view", b, size=arrays[mean].shape), mean)
    )
    shift = make("view", make("add", make("mul", start, scale), bias), size=(channels,))
    return [*made, OpNode(first.op, (first.ins[0], scaled, shift), first.attrs, n.outs, n.line)]


def fold_batch_norm(g: Listing, steady: set[int], log: list[str]) -> tuple[Listing, set[int]]:
    """The list with batch norms folded, and the values that depend on the `steady` ones (which are
    there before every call, and nobody writes to) and are worth keeping. `log` gets what was done,
    and why batch norms were left alone."""
    nodes, visible, root, arrays = g.nodes, g.visible, dict(g.root), list(g.arrays)
    uses, known = Uses(nodes, root, views=True), set(steady)
    maker: dict[int, int] = {}
    for i, n in enumerate(nodes):
        maker.update((o, i) for o in n.outs)
        if (
            isinstance(n, OpNode)
            and n.op.pure
            and not n.op.random
            and n.refs()
            and known.issuperset(n.refs())
            and not any(uses.writes.get(root[o]) for o in n.outs)
        ):
            known.update(n.outs)
    out = [[n] for n in nodes]               # what stands in the place of each node
    kept: set[int] = set()
    for i, n in enumerate(nodes):
        if not isinstance(n, OpNode) or n.op.name not in ("batch_norm_eval", "batch_norm"):
            continue
        x = n.ins[0]
        first = nodes[maker[x]] if x in maker else None
        if not isinstance(first, OpNode) or first.op.name not in CONTRACTIONS:
            continue
        reason = why_not(n, first, maker[x], nodes, uses, root, arrays, visible, known)
        if reason:
            log.append(
                f"fold_batch_norm left {n.op.name} alone: {reason}"
                + (f" ({n.line})" if n.line else "")
            )
            continue
        made = folded(n, first, arrays, root)
        kept.update(o for m in made[:-1] for o in m.outs)
        out[maker[x]], out[i] = [], made
        log.append(
            f"fold_batch_norm put {n.op.name} into the weights of {first.op.name}"
            + (f" ({n.line})" if n.line else "")
        )
    if kept:  # what they are made of is worth keeping as well
        kept.update(
            o
            for n in nodes
            if isinstance(n, OpNode) and not is_view(n) and known.issuperset(n.outs)
            for o in n.outs
        )
    return Listing([m for some in out for m in some], root, arrays, visible), kept


def why_not(n: OpNode, first: OpNode, k: int, nodes: Sequence[Node], uses: Uses, root: Roots,
            arrays: Arrays, visible: Set[int], known: set[int]) -> str | None:
    """Why a batch norm cannot go into the contraction before it, node k; None where it can."""
    if n.op.name == "batch_norm":
        return "it is in training mode"
    x, w = first.outs[0], first.ins[1]
    i = next(i for i, m in enumerate(nodes) if m is n)
    if x in visible or uses.users.get(root[x]) != [i]:
        return f"the output of {first.op.name} is used elsewhere"
    if not uses.later(k, i):
        return f"what {first.op.name} reads is written to in between"
    parts = [w, *(r for r in first.ins[2:] if type(r) is Ref), *n.ins[1:]]
    if not all(type(r) is Ref and r in known for r in parts):
        return "its weights may be others at each call"
    if any(j != k for j in uses.users[root[w]] if not is_view(nodes[j])):
        return f"the weight of {first.op.name} is used elsewhere"
    dtype = arrays[x].dtype
    if dtype not in (np.float32, np.float64) or any(
        arrays[r].dtype != dtype for r in (*first.refs(), *n.refs(), n.outs[0])
    ):
        return (
            "it is not float32 or float64 throughout, but "
            f"{', '.join(sorted({str(arrays[r].dtype) for r in (*first.refs(), *n.refs())}))}")
    shape = [1] * arrays[x].ndim
    shape[1 if first.op.name == "convolution" else -1] = arrays[w].shape[0]
    if any(arrays[r].shape != tuple(shape) for r in n.ins[1:]):
        return "its channels are not those of the weight"
    return None
