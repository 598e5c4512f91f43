"""Batches launches: kernels that do the same on tensors of different sizes become one launch, as in
the updates of many small parameters.

    %4 = fused(%0, %1){mul; add} into %0
    %5 = fused(%2, %3){mul; add} into %2
    ->
    %4, %5 = many 2(%0, %1, %2, %3){mul; add} into %0, %2

The kernels have the same expressions on the same types; their operands are contiguous, or one
number. Nothing of what one of them makes or writes is touched, and nothing of what it reads is
written, before the last of them, where the launch stands.
"""
from __future__ import annotations

from collections.abc import Sequence

from whet.ir import scalar as S
from whet.ir.graph import Fused, Many, Node, Ref
from whet.ir.kernel import Pointwise
from whet.passes import fuse_pointwise
from whet.passes.listing import Arrays, Listing, Roots
from whet.passes.row_builder import NAMES
from whet.passes.value_uses import Uses, following, written

LARGE = 1 << 16                  # elements that are worth a launch of their own
MOST = 1800                      # operands and results of a launch


class _Group:
    def __init__(self, kernel: Pointwise) -> None:
        self.kernel, self.until = kernel, float("inf")
        self.at: list[int] = []
        self.members: list[Fused] = []


def batch_kernels(g: Listing) -> Listing:
    """The list with such kernels as "many" nodes; `value` are the nodes that one stands for,
    `roots` is the kernel of one part."""
    nodes, root, arrays = g.nodes, g.root, g.arrays
    before = None
    while before is None or len(nodes) < before:  # what was between parts may be parts now
        before, nodes = len(nodes), once(nodes, root, arrays)
    return g.of(nodes)


def once(nodes: Sequence[Node], root: Roots, arrays: Arrays) -> list[Node]:
    """The list with kernels as one that may stand where the last of them was."""
    uses = Uses(nodes, root, views=True)
    open_: dict[Pointwise, _Group] = {}
    groups: list[_Group] = []
    found: dict[int, list[Node]] = {}        # place -> what stands there in the place of its node
    for i, node in enumerate(nodes):
        if not isinstance(node, Fused) and fuse_pointwise.fusible(node, arrays):
            node = fuse_pointwise.alone(node, arrays)
        kernel = one_part(node, arrays)
        if kernel is None or not isinstance(node, Fused):
            continue
        group = open_.get(kernel)
        if (
            group is None
            or group.until <= i
            or (len(group.at) + 1) * (len(node.ins) + len(node.outs)) > MOST
        ):
            group = open_[kernel] = _Group(kernel)
            groups.append(group)
        group.at.append(i)
        group.members.append(node)
        group.until = min(group.until, _until(node, i, uses))
    for group in groups:
        if len(group.at) > 1:
            found.update(dict.fromkeys(group.at, []))
            found[group.at[-1]] = [_joined(group.members, group.kernel)]
    return [n for i, node in enumerate(nodes) for n in found.get(i, (node,))]


def one_part(node: Node, arrays: Arrays) -> Pointwise | None:
    """The kernel of a node, if it can be a part of a launch."""
    if not isinstance(node, Fused):
        return None
    out = arrays[node.outs[0]]
    if out.size > LARGE or not all(
        arrays[node.into.get(o, o)].flags.c_contiguous for o in node.outs
    ):
        return None
    access, dtypes = "", list[str | None]()
    for x in node.ins:
        a = arrays[x] if type(x) is Ref else x
        if type(x) is Ref and a.shape == out.shape and a.flags.c_contiguous and a.flags.aligned:
            access += "v"
        elif all(n == 1 or not step for n, step in zip(a.shape, a.strides, strict=True)):
            access += "s"
        else:
            return None
        dtypes.append(NAMES.get(a.dtype.name))
    results = tuple(NAMES.get(arrays[o].dtype.name) for o in node.outs)
    read, stored = [t for t in dtypes if t is not None], [t for t in results if t is not None]
    if len(read) < len(dtypes) or len(stored) < len(results):
        return None
    known = S.types(node.exprs, read)
    roots = tuple(
        e if known[id(e)] == t else S.cast(e, t) for e, t in zip(node.exprs, stored, strict=True)
    )
    return Pointwise(roots, tuple(read), tuple(stored), "flat", access + "v" * len(stored))


def _until(node: Fused, i: int, uses: Uses) -> float:
    """The first place after i at which the node cannot be done any more."""
    touched = [uses.users.get(uses.root[x], ()) for x in (*node.outs, *written(node))]
    return min(
        following(places, i)
        for places in [*touched, *(uses.writes.get(uses.root[x], ()) for x in node.refs())]
    )


def resized(members: Sequence[Node], kernel: Pointwise | None, arrays: Arrays) -> Many | None:
    """Such a launch of other members, for which this is the kernel of one part; None where it is
    not that of each."""
    parts = [m for m in members if isinstance(m, Fused) and one_part(m, arrays) == kernel]
    return _joined(parts, kernel) if len(parts) == len(members) else None


def _joined(members: Sequence[Fused], kernel: Pointwise | None) -> Many:
    into: dict[int, int] = {}
    for m in members:
        into.update(m.into)
    ins, outs = tuple(x for m in members for x in m.ins), [o for m in members for o in m.outs]
    return Many(ins, outs, members[-1].line, members, kernel, into)
