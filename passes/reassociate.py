"""Products of several matrices in the cheapest order, and sums and products with numbers in one. It changes bits: asked for by name.

    %2 = matmul(%0, %1) : [100,100]             %4 = matmul(%1, %3) : [2,2]
    %4 = matmul(%2, %3) : [100,2]        ->     %5 = matmul(%0, %4) : [100,2]

    %1 = mul(%0, 2.0)
    %2 = mul(%1, 3.0)                    ->     %2 = mul(%0, 6.0)

A product of matrices in another order differs from eager's by (K1 + K2 + ...) * eps times the product of the matrices' absolute values, where
the Ks are the sizes that are summed over: in any order. c numbers that are added or multiplied in one differ by c * eps times the sum of the
absolute values, or the product. What may overflow in one order and not in the other is left alone only as far as the numbers themselves go.
"""
import math

import numpy as np
from whet.ir.graph import OpNode, Ref
from whet.passes.listing import Listing
from whet.passes.uses import Uses


def reassociate(g: Listing, steady, log):
    """The list with chains in the other order; `log` gets what was done. Nothing is kept between calls."""
    out, visible, root, arrays = list(g.nodes), g.visible, dict(g.root), list(g.arrays)
    while True:                              # (each time round changes one chain, whose parts are then gone)
        found = chains(out, root, arrays, visible) or numbers(out, root, arrays, visible)
        if found is None:
            return Listing(out, root, arrays, visible), set()
        out, said = found
        log.append(f"reassociate {said}")


def inner(nodes, uses, root, arrays, visible, i, x, name):
    """The place of the node that made operand x of node i, where it is of the same kind and nobody else wants its result; or None."""
    k = uses.maker.get(x)
    if (
        k is None
        or not isinstance(nodes[k], OpNode)
        or nodes[k].op.name != name
        or nodes[k].attrs
        or x in visible
        or uses.users.get(root[x]) != [i]
        or not uses.later(k, i)
        or arrays[x].dtype != arrays[nodes[i].outs[0]].dtype
    ):
        return None
    return k


def chains(nodes, root, arrays, visible):
    """A chain of matmuls that is cheaper in another order: (the list with it, what to say); None where there is none."""
    uses = Uses(nodes, root, views=True)

    def plain(n):
        return isinstance(n, OpNode) and n.op.name == "matmul" and all(
            type(x) is Ref and arrays[x].ndim == 2 and arrays[x].dtype in (np.float32, np.float64) for x in n.ins)
    for i in reversed(range(len(nodes))):
        if not plain(nodes[i]):
            continue
        gone: list = []

        def leaves(x, at, gone=gone, uses=uses):
            k = inner(nodes, uses, root, arrays, visible, at, x, "matmul")
            if k is None or not plain(nodes[k]):
                return [x]
            gone.append(k)
            return [*leaves(nodes[k].ins[0], k), *leaves(nodes[k].ins[1], k)]
        a, b = nodes[i].ins
        parts = [*leaves(a, i), *leaves(b, i)]
        now = sum(_cost(arrays, nodes[k]) for k in (*gone, i))
        if len(parts) < 3 or not all(uses.later(k, i) for k in gone):
            continue
        best, split = cheapest([arrays[parts[0]].shape[0], *(arrays[x].shape[1] for x in parts)])
        if best >= now:
            continue
        made = []

        def build(lo, hi, parts=parts, split=split, made=made, n=nodes[i]):
            if lo == hi:
                return parts[lo]
            k = split[lo, hi]
            ins = build(lo, k), build(k + 1, hi)
            o = n.outs[0]
            if (lo, hi) != (0, len(parts) - 1):
                o = len(arrays)
                arrays.append(n.op.forward(*[arrays[x] for x in ins]))
                root[o] = o
            made.append(OpNode(n.op, ins, n.attrs, [o], n.line))
            return Ref(o)
        build(0, len(parts) - 1)
        out = [m for j, n in enumerate(nodes) if j not in gone for m in (made if j == i else [n])]
        return out, f"ordered a product of {len(parts)} matrices: {best} multiplications, not {now}" + _at(nodes[i])
    return None


def _cost(arrays, n):
    a, b = n.ins
    return arrays[a].shape[0] * arrays[a].shape[1] * arrays[b].shape[1]


def cheapest(sizes):
    """The multiplications of a product of matrices of sizes[i] x sizes[i + 1] in the best order, and where to part each stretch."""
    n, cost, split = len(sizes) - 1, {}, {}
    for i in range(n):
        cost[i, i] = 0
    for length in range(2, n + 1):
        for i in range(n - length + 1):
            j = i + length - 1
            cost[i, j], split[i, j] = min((cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j))
    return cost[0, n - 1], split


def numbers(nodes, root, arrays, visible):
    """A sum or product with one number after the other: (the list with both in one, what to say); None where there is none."""
    uses = Uses(nodes, root, views=True)

    def number(n):
        """(the tensor, the number) of an operation with both."""
        if (
            not isinstance(n, OpNode)
            or n.op.name not in ("add", "mul")
            or n.attrs
            or len(n.ins) != 2
        ):
            return None
        x, c = n.ins if type(n.ins[0]) is Ref else n.ins[::-1]
        ok = type(x) is Ref and type(c) in (int, float) and math.isfinite(c) and arrays[x].dtype in (np.float32, np.float64)
        return (x, c) if ok and arrays[x].dtype == arrays[n.outs[0]].dtype else None
    for i, n in enumerate(nodes):
        here = number(n)
        k = None if here is None else inner(nodes, uses, root, arrays, visible, i, here[0], n.op.name)
        before = None if k is None else number(nodes[k])
        if before is None:
            continue
        kind = arrays[n.outs[0]].dtype.type
        with np.errstate(all="ignore"):
            both = float(kind(before[1]) + kind(here[1]) if n.op.name == "add" else kind(before[1]) * kind(here[1]))
        if not math.isfinite(both) or both == 0 and n.op.name == "mul":
            continue
        joined = OpNode(n.op, (before[0], both), n.attrs, n.outs, n.line)
        return [joined if j == i else m for j, m in enumerate(nodes) if j != k], f"made one of two operations {n.op.name}" + _at(n)
    return None


def _at(n):
    return f" ({n.line})" if n.line else ""
