"""Reassociates: multiplies several matrices in the cheapest order, and merges sums and products
with numbers. This changes bits, so it runs only when asked for by name.

    %2 = matmul(%0, %1) : [100,100]             %4 = matmul(%1, %3) : [2,2]
    %4 = matmul(%2, %3) : [100,2]        ->     %5 = matmul(%0, %4) : [100,2]

    %1 = mul(%0, 2.0)
    %2 = mul(%1, 3.0)                    ->     %2 = mul(%0, 6.0)

A product of matrices in another order differs from eager's by (K1 + K2 + ...) * eps times the
product of the matrices' absolute values, where the Ks are the sizes that are summed over. This
holds for any order. c numbers that are merged into one sum or product differ by c * eps times the
sum of their absolute values, or their product. Numbers whose sum or product would overflow are left
alone. Products of matrices that overflow only in one order are not recognised.
"""
from __future__ import annotations

import math
from collections.abc import Sequence, Set
from typing import TypeAlias, TypeGuard

import numpy as np
from whet.ir.graph import Node, OpNode, Ref
from whet.ir.values import Array, DType
from whet.passes.listing import Arrays, Listing, Roots
from whet.passes.value_uses import Uses

# first and last matrix of a stretch -> where to part it
Split: TypeAlias = dict[tuple[int, int], int]
Rewritten: TypeAlias = tuple[list[Node], str]            # the list, and what to say


def reassociate(g: Listing, steady: Set[int], log: list[str]) -> tuple[Listing, set[int]]:
    """The list with chains of products in a cheaper order; `log` gets texts that say what was done.
    No values are kept between calls."""
    out, visible, root, arrays = list(g.nodes), g.visible, dict(g.root), list(g.arrays)
    while True:  # each time round changes one chain, whose parts are then gone
        found = chains(out, root, arrays, visible) or numbers(out, root, arrays, visible)
        if found is None:
            return Listing(out, root, arrays, visible), set()
        out, said = found
        log.append(f"reassociate {said}")


def inner(nodes: Sequence[Node], uses: Uses, root: Roots, arrays: Arrays, visible: Set[int], i: int,
          x: Ref, name: str) -> int | None:
    """The index of the node that makes operand x of node i, if it is of the same kind and has no
    other reader; else None."""
    k = uses.maker.get(x)
    if k is None:
        return None
    node = nodes[k]
    if (
        not isinstance(node, OpNode)
        or node.op.name != name
        or node.attrs
        or x in visible
        or uses.users.get(root[x]) != [i]
        or not uses.later(k, i)
        or arrays[x].dtype != arrays[nodes[i].outs[0]].dtype
    ):
        return None
    return k


def _multiplies_matrices(node: Node, arrays: Arrays) -> TypeGuard[OpNode]:
    """Is a node the product of two matrices of real numbers?"""
    return (
        isinstance(node, OpNode)
        and node.op.name == "matmul"
        and all(
            type(x) is Ref
            and arrays[x].ndim == 2
            and arrays[x].dtype in (np.float32, np.float64)
            for x in node.ins
        )
    )


def _factors(i: int, nodes: Sequence[Node], uses: Uses, root: Roots, arrays: Arrays,
             visible: Set[int], gone: list[int]) -> list[Ref]:
    """The matrices whose product node i makes, in order. `gone` gets the nodes that multiply some
    of them and are needed no more."""
    found: list[Ref] = []
    for x in nodes[i].refs():
        k = inner(nodes, uses, root, arrays, visible, i, x, "matmul")
        if k is None or not _multiplies_matrices(nodes[k], arrays):
            found.append(x)
        else:
            gone.append(k)
            found += _factors(k, nodes, uses, root, arrays, visible, gone)
    return found


def _in_order(last: OpNode, parts: Sequence[Ref], split: Split, root: dict[int, int],
              arrays: list[Array]) -> list[Node]:
    """The nodes that multiply the parts as `split` says, to what `last` makes."""
    made: list[Node] = []

    def build(lo: int, hi: int) -> Ref:
        if lo == hi:
            return parts[lo]
        k = split[lo, hi]
        ins = build(lo, k), build(k + 1, hi)
        o = last.outs[0]
        if (lo, hi) != (0, len(parts) - 1):
            o = len(arrays)
            arrays.append(last.op.forward(*[arrays[x] for x in ins]))
            root[o] = o
        made.append(OpNode(last.op, ins, last.attrs, [o], last.line))
        return Ref(o)
    build(0, len(parts) - 1)
    return made


def chains(nodes: Sequence[Node], root: dict[int, int], arrays: list[Array],
           visible: Set[int]) -> Rewritten | None:
    """Reorder one chain of matrix products that is cheaper otherwise: (the new list, a text), or
    None."""
    uses = Uses(nodes, root, views=True)
    for i in reversed(range(len(nodes))):
        last = nodes[i]
        if not _multiplies_matrices(last, arrays):
            continue
        gone: list[int] = []
        parts = _factors(i, nodes, uses, root, arrays, visible, gone)
        now = sum(_cost(arrays, nodes[k]) for k in (*gone, i))
        if len(parts) < 3 or not all(uses.later(k, i) for k in gone):
            continue
        best, split = cheapest([arrays[parts[0]].shape[0], *(arrays[x].shape[1] for x in parts)])
        if best >= now:
            continue
        made = _in_order(last, parts, split, root, arrays)
        out = [m for j, n in enumerate(nodes) if j not in gone for m in (made if j == i else [n])]
        return (
            out,
            f"ordered a product of {len(parts)} matrices: {best} multiplications, not {now}"
            + _line_of(nodes[i]),
        )
    return None


def _cost(arrays: Arrays, n: Node) -> int:
    a, b = n.ins
    (rows, inner), columns = arrays[a].shape, arrays[b].shape[1]
    return int(rows * inner * columns)


def cheapest(sizes: Sequence[int]) -> tuple[int, Split]:
    """The multiplications of a product of matrices of sizes[i] x sizes[i + 1] in the best order,
    and where to part each stretch."""
    n = len(sizes) - 1
    cost: dict[tuple[int, int], int] = {}
    split: Split = {}
    for i in range(n):
        cost[i, i] = 0
    for length in range(2, n + 1):
        for i in range(n - length + 1):
            j = i + length - 1
            cost[i, j], split[i, j] = min(
                (cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k)
                for k in range(i, j)
            )
    return cost[0, n - 1], split


def numbers(nodes: Sequence[Node], root: Roots, arrays: Arrays,
            visible: Set[int]) -> Rewritten | None:
    """Merge one pair of successive additions of, or multiplications by, numbers: (the new list, a
    text), or None."""
    uses = Uses(nodes, root, views=True)
    for i, n in enumerate(nodes):
        here = _tensor_and_number(n, arrays)
        if here is None or not isinstance(n, OpNode):
            continue
        k = inner(nodes, uses, root, arrays, visible, i, here[0], n.op.name)
        before = None if k is None else _tensor_and_number(nodes[k], arrays)
        both = None if before is None else _in_one(n.op.name, before[1], here[1],
                                                   arrays[n.outs[0]].dtype)
        if before is None or both is None:
            continue
        joined = OpNode(n.op, (before[0], both), n.attrs, n.outs, n.line)
        made = [joined if j == i else m for j, m in enumerate(nodes) if j != k]
        return made, f"made one of two operations {n.op.name}" + _line_of(n)
    return None


def _tensor_and_number(n: Node, arrays: Arrays) -> tuple[Ref, float] | None:
    """(tensor, number), the operands of an addition or multiplication; None for other operands."""
    if not isinstance(n, OpNode) or n.op.name not in ("add", "mul") or n.attrs or len(n.ins) != 2:
        return None
    x, c = n.ins if type(n.ins[0]) is Ref else n.ins[::-1]
    if type(x) is not Ref or type(c) not in (int, float) or not math.isfinite(c):
        return None
    dtype = arrays[x].dtype
    is_float = dtype in (np.float32, np.float64)
    return (x, c) if is_float and dtype == arrays[n.outs[0]].dtype else None


def _in_one(op: str, a: float, b: float, dtype: DType) -> float | None:
    """Two numbers added or multiplied, as a type has them; None where the result of the operation
    would be another than that of both in turn."""
    kind = dtype.type
    with np.errstate(all="ignore"):
        both = float(kind(a) + kind(b) if op == "add" else kind(a) * kind(b))
    return both if math.isfinite(both) and not (both == 0 and op == "mul") else None


def _line_of(n: Node) -> str:
    return f" ({n.line})" if n.line else ""
