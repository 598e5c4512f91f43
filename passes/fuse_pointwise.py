"""Fuses pointwise nodes: nodes of one shape and one order in memory that feed each other become one
kernel with several results.

    %2 = mul(%0, %1)
    %3 = add(%2, %0)        ->      %3 = fused(%0, %1){mul; add}

A fused kernel computes the same expressions as the single nodes, in the same types, so it changes
no bit. A half type is rounded where it was stored. The kernel takes the position of the last of its
nodes. Nodes are not fused across a write to what they read, nor where a value would be needed
before the kernel runs.
"""
from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence, Set
from typing import Any, TypeAlias, TypeGuard

from whet.ir import scalar as S
from whet.ir.expressions import Expr
from whet.ir.graph import Fused, Node, OpNode, Ref, Type
from whet.ir.values import Array
from whet.passes.fusion_memory import FusionMemory
from whet.passes.listing import Arrays, Listing
from whet.passes.value_uses import Uses

Key: TypeAlias = int | tuple[str, bytes]  # of an operand: a value, or a number by its type and bits
Lying: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]       # a shape, and strides of elements
MOST = 40                        # operands and results of a kernel
TRUTHS = frozenset(("eq", "ne", "lt", "le", "gt", "ge", "isnan", "arg"))
MOST_NODES = 120


class _Group:
    """Nodes to be fused, by their indices in the list. Their results have one shape and one order
    of dimensions in memory; the fused node takes the place of the last one."""

    def __init__(self, i: int, lying: Lying) -> None:
        self.at, self.lying = [i], lying


def fuse_pointwise(g: Listing) -> Listing:
    """The list with groups of pointwise nodes fused. `root`: value -> the value that owns its
    memory; `visible`: the values that are read outside."""
    nodes, root, arrays, visible = g.nodes, g.root, g.arrays, g.visible
    uses = Uses(nodes, root, views=True)
    groups: dict[int, _Group] = {}           # node -> its group
    fusion_memory = FusionMemory(g, uses)
    for i, node in enumerate(nodes):
        if not mappable(node, arrays):
            continue
        group = groups[i] = _Group(i, lying(arrays[node.outs[0]]))
        for x in node.refs():
            other = groups.get(uses.maker.get(x, -1))
            if (other is not None and other is not group and joinable(other, group, i, uses)
                    and not fusion_memory.holds_more(other.at, group.at, i)):
                other.at = sorted(other.at + group.at)
                for k in group.at:
                    groups[k] = other
                group = other
    out: list[Node] = []
    for i, node in enumerate(nodes):
        found = groups.get(i)
        if found is None or len(found.at) == 1:
            out.append(node)
        elif i == found.at[-1]:
            made = kernel([nodes[k] for k in found.at], nodes, uses.users, arrays, visible)
            out += [made] if made.outs else []               # else it is not used
    return g.of(out)


def fusible(node: Node, arrays: Arrays) -> TypeGuard[OpNode]:
    """May the node be a part of a kernel whose results are row-major?"""
    return mappable(node, arrays) and arrays[node.outs[0]].flags.c_contiguous


def lying(a: Array | Type) -> Lying:
    """The shape of an array (or a `Type`) and the order of its dimensions in memory, as strides
    of elements."""
    return a.shape, tuple(
        [s // a.dtype.itemsize for n, s in zip(a.shape, a.strides, strict=True) if n != 1]
    )


def dense(a: Array | Type) -> bool:
    """Does an array (or a `Type`) fill its memory, whatever the order of its dimensions?"""
    shape, steps = lying(a)
    size = 1
    for step, n in sorted(zip(steps, [n for n in shape if n != 1], strict=True)):
        if step != size:
            return False
        size *= n
    return True


def in_order(a: Array) -> bool:
    """Are the strides those of a row-major array, possibly with gaps?"""
    size = a.itemsize
    for n, step in zip(reversed(a.shape), reversed(a.strides)):
        if n > 1:
            if step < size:
                return False
            size = step * n
    return True


def mappable(node: Node, arrays: Arrays) -> TypeGuard[OpNode]:
    """May the node be a part of a kernel?"""
    if not isinstance(node, OpNode) or node.op.family != "pointwise" or node.attrs:
        return False
    a = arrays[node.outs[0]]
    operands = [arrays[x] if type(x) is Ref else x for x in node.ins]
    return bool(a.size) and dense(a) and all(
        map(is_operand, node.ins)) and has_parts(node, operands)


def is_real(node: Node, arrays: Arrays) -> bool:
    """Does a node read and make real numbers alone?"""
    return all(arrays[x].dtype.kind != "c" for x in (*node.refs(), *node.outs))


def is_operand(x: Any) -> bool:
    """May a kernel read this?"""
    return type(x) is Ref or type(x) in (int, float, bool, complex)


def has_parts(node: OpNode, operands: list[Any]) -> bool:
    """Has all that a node computes of complex numbers a kernel?"""
    if not any(type(n) is Ref and x.dtype.kind == "c" for n, x in zip(node.ins, operands)):
        return True
    one, number, t = node.op.plan(operands)
    return bool(one.has_parts([x if type(n) is Ref else node.op._number(x, number, t)
                               for n, x in zip(node.ins, operands)]))


def joinable(a: _Group, b: _Group, i: int, uses: Uses) -> bool:
    """May two groups be one that stands at node i?"""
    nodes, at = uses.nodes, a.at + b.at
    together = set(at)
    if (
        a.lying != b.lying
        or len(at) > MOST_NODES
        or any(not uses.later(k, i) or uses.needed(k, i, together) for k in at)
    ):
        return False
    made = {nodes[k].outs[0] for k in at}
    seen = sum(any(u > i for u in uses.users.get(x, ())) for x in made)
    return len({x for k in at for x in nodes[k].refs()} - made) + seen <= MOST


def alone(node: Node, arrays: Arrays) -> Fused:
    """A pointwise node as a fused one."""
    return kernel([node], [], {}, arrays, set(node.outs))


def kernel(members: Sequence[Node], nodes: Sequence[Node], users: Mapping[int, Collection[int]],
           arrays: Arrays, visible: Set[int]) -> Fused:
    """The fused node, with the expressions of its results (`roots`)."""
    places: dict[Key, Expr] = {}
    ins: list[Array | Ref] = []
    known: dict[int, Expr] = {}

    def operand(x: Array | Ref, key: Key) -> Expr:
        if key not in places:
            places[key] = S.arg(len(ins))
            ins.append(x)
        return places[key]
    for n in members:
        assert n.op is not None
        one, number, t = n.op.plan([arrays[x] if type(x) is Ref else x for x in n.ins])
        by = {}
        for k, x in enumerate(n.ins):
            if type(x) is Ref:
                by[k] = known[x] if x in known else operand(x, x)
            else:
                # a number of the type that the node's own kernel reads
                x = n.op._number(x, number, t)
                by[k] = operand(x, (x.dtype.str, x.tobytes()))
        e = S.substitute(one.roots[0], by)
        if arrays[n.outs[0]].dtype.kind == "b" and e.op not in TRUTHS:
            e = S.ne(e, 0)                   # memory holds 0 or 1
        known[n.outs[0]] = e
    inside = {id(n) for n in members}
    outs = [
        v
        for v in known
        if v in visible or any(id(nodes[u]) not in inside for u in users.get(v, ()))
    ]
    return Fused(tuple(ins), outs, members[-1].line, members, tuple(known[v] for v in outs))
