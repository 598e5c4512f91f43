"""Folds an eval-mode batch norm into the weights of the convolution or linear layer before it. This
changes bits, so it runs only when asked for by name.

    %2 = convolution(%0, %1)                         %11 = mul(%invstd, %weight)
    %3 = batch_norm_eval(%2, %mean, %invstd,   ->    %12 = mul(%1, %11)
                         %weight, %bias)             %15 = (0 - %mean) * %11 + %bias
                                                     %3 = convolution(%0, %12, %15)

All but the convolution depends on weights alone: it is kept, and recomputed when one of them
changes.

An output is the sum of K products, scaled and shifted. After scaling, the K weights are rounded
instead of the sum. So with s = weight * invstd an element may differ from eager's by

    (K + 8) * eps * (sum of |x * w * s| + |b * s| + |mean * s| + |bias|)

for any data. That is a few units in the last place of the largest term.
"""
from __future__ import annotations

import numpy as np
from whet.ir.graph import Node, OpNode, Ref
from whet.passes.listing import Listing
from whet.passes.value_uses import Uses, is_view

CONTRACTIONS = ("convolution", "linear")


def fold_batch_norm(g: Listing, steady: set[int], log: list[str]) -> tuple[Listing, set[int]]:
    """The list with batch norms folded, and the values that depend on the `steady` ones (which are
    there before every call, and are never written to) and are worth keeping. `log` gets what was
    done, and why batch norms were left alone."""
    folding = _Folding(g, steady)
    for i, n in enumerate(g.nodes):
        first = folding.contraction_before(n)
        if first is None:
            continue
        assert isinstance(n, OpNode)
        reason = folding.why_not(i, n, first)
        line = f" ({n.line})" if n.line else ""
        if reason is not None:
            log.append(f"fold_batch_norm left {n.op.name} alone: {reason}{line}")
            continue
        folding.fold(i, n, first)
        log.append(f"fold_batch_norm put {n.op.name} into the weights of {first.op.name}{line}")
    return folding.listing(), folding.worth_keeping()


class _Folding:
    """The work on a list. `known`: the values that are the same at each call as long as nothing
    writes to the steady ones; `out`: what stands in the place of each node; `made`: the values that
    weights are made by."""

    def __init__(self, g: Listing, steady: set[int]) -> None:
        self.nodes, self.visible = g.nodes, g.visible
        self.root, self.arrays = dict(g.root), list(g.arrays)
        self.uses = Uses(g.nodes, g.root, views=True)
        self.known = set(steady)
        for n in g.nodes:
            if self.computes_from_known(n):
                self.known.update(n.outs)
        self.out: list[list[Node]] = [[n] for n in g.nodes]
        self.made: set[int] = set()

    def computes_from_known(self, n: Node) -> bool:
        """Does a node make something of known values, to which nothing writes?"""
        return bool(
            isinstance(n, OpNode) and n.op.pure and not n.op.random
            and n.refs() and self.known.issuperset(n.refs())
            and not any(self.uses.writes.get(self.root[o]) for o in n.outs))

    def contraction_before(self, n: Node) -> OpNode | None:
        """The contraction whose result a batch norm reads; None where the node is none, or reads
        something else."""
        if not isinstance(n, OpNode) or n.op.name not in ("batch_norm_eval", "batch_norm"):
            return None
        k = self.uses.maker.get(n.ins[0])
        first = None if k is None else self.nodes[k]
        return first if isinstance(first, OpNode) and first.op.name in CONTRACTIONS else None

    def why_not(self, i: int, n: OpNode, first: OpNode) -> str | None:
        """Why batch norm `n`, node i, cannot go into the contraction before it; None where it
        can."""
        if n.op.name == "batch_norm":
            return "it is in training mode"
        arrays, users = self.arrays, self.uses.users
        x, w = first.outs[0], first.ins[1]
        k = self.uses.maker[x]
        if x in self.visible or users.get(self.root[x]) != [i]:
            return f"the output of {first.op.name} is used elsewhere"
        if not self.uses.later(k, i):
            return f"what {first.op.name} reads is written to in between"
        parts = [w, *(r for r in first.ins[2:] if type(r) is Ref), *n.ins[1:]]
        if not all(type(r) is Ref and r in self.known for r in parts):
            return "its weights may be others at each call"
        if any(j != k for j in users[self.root[w]] if not is_view(self.nodes[j])):
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

    def fold(self, i: int, n: OpNode, first: OpNode) -> None:
        """Put into the place of batch norm `n`, node i, what makes the weights, and the
        contraction."""
        made: list[Node] = []

        def make(name: str, *ins: Ref, **attrs: tuple[int, ...]) -> Ref:
            made.append(self.op(name, ins, attrs, n.line))
            return Ref(made[-1].outs[0])
        _, mean, invstd, weight, bias = n.ins
        w, b = first.ins[1], first.ins[2] if len(first.ins) > 2 else None
        channels, ones = self.arrays[w].shape[0], [1] * (self.arrays[w].ndim - 1)
        scale = make("mul", invstd, weight)
        scaled = make("mul", w, make("view", scale, size=(channels, *ones)))
        start = (
            make("neg", mean)
            if b is None
            else make("sub", make("view", b, size=self.arrays[mean].shape), mean)
        )
        shift = make("view", make("add", make("mul", start, scale), bias), size=(channels,))
        contraction = OpNode(
            first.op, (first.ins[0], scaled, shift), first.attrs, n.outs, n.line)
        self.made.update(o for m in made for o in m.outs)
        self.out[self.uses.maker[n.ins[0]]], self.out[i] = [], [*made, contraction]

    def op(self, name: str, ins: tuple[Ref, ...], attrs: dict[str, tuple[int, ...]],
           line: str) -> OpNode:
        """A new node that makes a new value."""
        from whet.ops.registry import REGISTRY
        op, o = REGISTRY[name], len(self.arrays)
        self.arrays.append(
            op.forward(*[self.arrays[x] if type(x) is Ref else x for x in ins], **attrs))
        self.root[o] = self.root[ins[0]] if op.is_view else o
        return OpNode(op, ins, attrs, [o], line)

    def listing(self) -> Listing:
        """The list."""
        nodes = [m for some in self.out for m in some]
        return Listing(nodes, self.root, self.arrays, self.visible)

    def worth_keeping(self) -> set[int]:
        """The values that weights are made by, and what these are made of."""
        if not self.made:
            return set()
        return self.made.union(
            o for n in self.nodes
            if isinstance(n, OpNode) and not is_view(n) and self.known.issuperset(n.outs)
            for o in n.outs)
