"""Chains: a product, what is done to each of its rows, and a product with that are done together,
some rows after others.

    %3 = matmul(%0, %1)
    %11 = rows(%3, axes=(2,)){amax; sub; exp; sum; div}
    %13 = matmul(%11, %12)
    ->
    %13 = chain(%0, %1, %12){matmul; amax; sub; exp; sum; div; matmul}

What lies between the products is a few rows of each thread that stay in its cache; as a whole it is
never in memory. A row of a product comes of one row of its first operand, a row of a row program of
one row, so any rows may go before others: no bit changes. That is only right where nothing else
reads what lies between, and nothing is written meanwhile to what the chain reads; only worth it
where what lies between would not stay in the cache anyway, and the second operands, which every
block of rows goes over, are not much larger than one. """
from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from math import prod
from typing import Any

from whet.ir.graph import Chain, Contract, Node, OpNode, Ref, Rows
from whet.ir.outline import Outline
from whet.passes.fuse_epilogues import contraction
from whet.passes.fuse_rows import alone
from whet.passes.listing import Arrays, Listing
from whet.passes.uses import Uses

LEAST = 1 << 25                  # bytes between the products: less is not far from the next one
MOST = 1 << 22                   # bytes of the matrices that a row meets


def chains(g: Listing) -> Listing:
    """The list with chains at the places of their last nodes; `value` are the nodes that one
    stands for."""
    nodes, root, arrays, visible = g.nodes, g.root, g.arrays, g.visible
    uses = Uses(nodes, root, views=True)
    link: list[Node | None] = list(nodes)
    chain_of: dict[int, list[int]] = {}
    for j, node in enumerate(nodes):
        product = _product(node, arrays)
        x: Any = None
        if product is not None:
            x = product.ins[0]
        else:
            x = next(
                (r for r in node.refs() if uses.maker.get(r) in chain_of and uses.users[r] == [j]),
                None,
            )
            link[j] = found = _rows(j, uses, arrays, visible) if x is not None else None
            x = x if found is not None and found.placed.shape == arrays[x].shape else None
        chain = chain_of.get(uses.maker[x]) if type(x) is Ref and x in uses.maker else None
        if (
            chain is not None
            and root[x] == x
            and x not in visible
            and uses.users[x] == [j]
            and all(uses.later(k, j) for k in chain)
        ):
            chain.append(j)
            chain_of[j] = chain
        elif product is not None:
            chain_of[j] = [j]
    out: list[Node | None] = list(nodes)
    for chain in {id(c): c for c in chain_of.values()}.values():
        while _product(nodes[chain[-1]], arrays) is None:
            chain.pop()
        if len(chain) > 1 and _suits(chain, nodes, arrays):
            members = [m for m in (link[k] for k in chain) if m is not None]
            made = {o for m in members for o in m.outs}
            ins = dict.fromkeys(x for m in members for x in m.refs() if x not in made)
            for k in chain:
                out[k] = None
            out[chain[-1]] = Chain(tuple(ins), members[-1].outs, members[-1].line, members)
    return g.of([n for n in out if n is not None])


def wanted(nodes: Sequence[Node], arrays: Arrays | Mapping[int, Outline]) -> bool:
    """Is a chain among the nodes after all passes, or could one be, by the bytes of products and
    rows?"""
    if any(isinstance(n, Chain) for n in nodes):
        return True
    return (
        sum(
            arrays[o].nbytes
            for n in nodes
            if isinstance(n, (Rows, Contract))
            or isinstance(n, OpNode)
            and n.op.name in ("matmul", "linear")
            for o in n.outs
        )
        >= LEAST
    )


def _product(node: Node, arrays: Arrays) -> OpNode | None:
    """The product that a node is, or that it has an epilogue to."""
    first = node.first if isinstance(node, Contract) else node
    if (
        not contraction(first, arrays)
        or first.op.name not in ("matmul", "linear")
        or type(first.ins[1]) is not Ref
    ):
        return None
    right = (
        arrays[node.outs[0]].flags.c_contiguous and min(arrays[x].ndim for x in first.ins[:2]) > 1
    )
    return first if right else None


def _rows(j: int, uses: Uses, arrays: Arrays, visible: Set[int]) -> Rows | None:
    """Node j as a "rows" node whose only result has an element for each that it reads; None if
    it is none."""
    one = uses.nodes[j]
    node = one if isinstance(one, Rows) else alone(j, uses, arrays, visible)
    if node is None or len(node.outs) != 1:
        return None
    shape, axes = node.placed.shape, node.placed.axes
    return (
        node
        if axes == (len(shape) - 1,)
        and arrays[node.outs[0]].shape == shape
        and arrays[node.outs[0]].flags.c_contiguous
        else None
    )


def _suits(chain: Sequence[int], nodes: Sequence[Node], arrays: Arrays) -> bool:
    between = sum(arrays[nodes[k].outs[0]].nbytes for k in chain[:-1])
    seconds = [
        arrays[p.ins[1]] for p in (_product(nodes[k], arrays) for k in chain) if p is not None
    ]
    return between >= LEAST and sum(prod(b.shape[-2:]) * b.itemsize for b in seconds) <= MOST
