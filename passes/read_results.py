"""Lets a gradient read the op's result in place of its operand, if it is the same at both. Then the
operand need not be kept.

    %2 = batch_norm(%0, %1)               %2 = batch_norm(%0, %1)
    %3 = relu(%2)                         %3 = relu(%2)
    %4 = convolution(%3, ...)       ->    %4 = convolution(%3, ...)
    ...                                   ...
    %8 = relu_grad(%2, %7)                %8 = relu_grad(%3, %7)

Which operations are such says `at_result` of the op. It is done where the result is read later than
the operand otherwise would be.
"""
from __future__ import annotations

from whet.ir.graph import Node, OpNode, Ref
from whet.ir.op import Op
from whet.passes.listing import Listing
from whet.passes.value_uses import Uses, following


def read_results(g: Listing) -> Listing:
    """The list with gradients at results."""
    nodes, root, arrays, visible = g.nodes, g.root, g.arrays, g.visible
    if not any(operand(node) is not None for node in nodes):
        return g
    out: list[Node] = []
    made: dict[tuple[Op, int], tuple[int, int]] = {}         # (op, operand) -> (place, result)
    uses, seen = Uses(nodes, root), {root.get(v, v) for v in visible}

    def result(node: OpNode, at: int, i: int) -> Ref | None:
        """What a gradient at place i may read in the place of its operand; None where nothing
        may, or it would not help."""
        x = node.ins[at]
        k, y = made.get((node.op.base, x), (-1, None))
        if (
            y is None
            or root[x] in seen
            or arrays[x].strides != arrays[y].strides
            or arrays[x].dtype != arrays[y].dtype
        ):
            return None
        written = any(following(uses.writes.get(root[v], ()), k) <= i for v in (x, y))
        return None if written or last(uses, y, node) <= last(uses, x, node) else Ref(y)
    for i, node in enumerate(nodes):
        if (
            isinstance(node, OpNode)
            and getattr(node.op, "at_result", False)
            and type(node.ins[0]) is Ref
        ):
            made[node.op, node.ins[0]] = i, node.outs[0]
        at = operand(node)
        if at is not None and isinstance(node, OpNode) and (y := result(node, at, i)) is not None:
            node = node.of((*node.ins[:at], y, *node.ins[at + 1:]))
        out.append(node)
    return g.of(out)


def operand(node: Node) -> int | None:
    """The position of the gradient's operand that the forward's result may replace; None if there
    is none."""
    base = node.op.base if isinstance(node, OpNode) else None
    if base is None or not getattr(base, "at_result", False) or base.gradient(0)[0] is not node.op:
        return None
    at = base.gradient(0)[1].index(0)
    return at if type(node.ins[at]) is Ref else None


def last(uses: Uses, x: int, but: Node) -> int:
    """The place of the last node that needs the memory of a value, other than gradients that do
    as `but` does."""
    places = uses.users.get(uses.root[x], ())
    return max(
        (i for i in places if uses.nodes[i].op is not but.op or x not in uses.nodes[i].refs()),
        default=-1,
    )
