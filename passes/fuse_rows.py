"""Fuses reductions: reductions along some axes, what feeds them and what is computed from them
become one kernel, a row program.

    %1 = amax(%0, dim=(1,), keepdim=True)
    %3 = fused(%0, %1){sub; exp}
    %4 = sum(%3, dim=(1,), keepdim=True)    ->    %5 = rows(%0, axes=(1,)){
    %5 = div(%3, %4)                                  amax; sub; exp; sum; div}

A group has a shape and axes. Its pointwise nodes work on that shape ("full" values) or on what is
left without the axes ("row" values). Its other nodes are row programs themselves (reductions,
softmax, norms), whose stages are inserted unchanged. A row value may be read through views that put
its axes back or repeat it along them.

A result is stored if it is used outside of the group. A group takes the position of the last of its
nodes, so nothing before may read a result, nor write to what the group reads. The stages compute
what the single nodes compute, in the same types, and a reduction's order is that of `ir.rows`: no
bit changes.
"""
from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence, Set
from math import prod

from whet.ir.graph import Fused, Node, OpNode, Ref, Rows
from whet.ir.row_layout import Shape, left
from whet.passes import fuse_pointwise
from whet.passes.drop_unused import drop_unused
from whet.passes.fusion_memory import FusionMemory
from whet.passes.group_edges import Edges, edges
from whet.passes.listing import Arrays, Listing, Roots
from whet.passes.row_builder import MOST, Space, built, program_of, repays
from whet.passes.value_uses import Uses, is_view

MOST_NODES = 60                  # of a group
# readers of a memory that a group is tried with, the last ones: each round of a loop may have some
MOST_USERS = 60


class _Group:
    """Nodes that are to be one kernel. `at`: their indices, in order. `shapes`: those of its
    pointwise nodes. `space`: None as long as none of them reduces anything. `edges`: what it reads
    and makes, once it was tried with another group."""

    def __init__(self, i: int, shapes: set[Shape], space: Space | None = None) -> None:
        self.at, self.shapes, self.space = [i], shapes, space
        self.node: Rows | None = None
        self.edges: Edges | None = None
        # of its nodes, those that other groups compute for themselves, too
        self.repeated: tuple[int, ...] = ()


def fuse_rows(g: Listing) -> Listing:
    """The list with groups of reductions and pointwise nodes fused into "rows" nodes. A fused
    node's `value` are the nodes that it was made of, its `roots` the `Rows`."""
    grouping = _Grouping(g)
    for i in range(len(g.nodes)):
        grouping.add(i)
    grouping.repeat()
    return drop_unused(g.of(_put(g.nodes, g.root, grouping.group_of)))


class _Grouping:
    """The making of groups. `group_of`: the place of a node -> its group."""

    def __init__(self, g: Listing) -> None:
        self.nodes, self.root, self.arrays, self.visible = g.nodes, g.root, g.arrays, g.visible
        self.uses = Uses(g.nodes, g.root)
        self.fusion_memory = FusionMemory(g, self.uses)
        self.group_of: dict[int, _Group] = {}

    def add(self, i: int) -> None:
        """Put node i into a group, with those that it reads and those that reduce the same."""
        group = _start(i, self.nodes[i], self.arrays)
        if group is None:
            return
        self.group_of[i] = group
        for k in [self.uses.maker.get(self.root[x], -1) for x in self.nodes[i].refs()]:
            group = self.joined(self.group_of.get(k), group, i)
        if group.space is None:
            return
        for x in {self.root[x]: x for k in group.at for x in self.nodes[k].refs()}:
            users = self.uses.users.get(x, ())
            before = bisect_left(users, i)
            for u in users[max(0, before - MOST_USERS):before]:
                other = self.group_of.get(u)
                if other is not None and other.space == group.space:
                    group = self.joined(other, group, i)

    def joined(self, other: _Group | None, group: _Group, i: int) -> _Group:
        """The group made of two, at node i; or the second one, if they cannot be joined."""
        if other is None or other is group:
            return group
        at = group.at
        if not self.join(other, group, i):
            return group
        self.group_of.update(dict.fromkeys(at, other))
        self.group_of.update(dict.fromkeys(other.at, other))
        return other

    def join(self, a: _Group, b: _Group, i: int) -> bool:
        """Let the first group have the nodes of both, to stand at node i, if that may be."""
        space = a.space or b.space
        if space is None or b.space not in (None, space) or len(a.at) + len(b.at) > MOST_NODES:
            return False
        ends, others = self.edges(a), self.edges(b)
        if (not ends.may_join(others, i) or not a.shapes | b.shapes <= _shapes_in(space)
                or ends.least(others, self.uses) > MOST
                or self.fusion_memory.holds_more(a.at, b.at, i)):
            return False
        at = sorted(a.at + b.at)
        node = self.node(space, at)
        if node is None:
            return False
        a.at, a.shapes, a.space, a.node, a.edges = at, a.shapes | b.shapes, space, node, None
        return True

    def edges(self, group: _Group) -> Edges:
        """The edges of a group, which stay the same until it is joined."""
        if group.edges is None:
            group.edges = edges(group.at, self.uses, self.visible)
        return group.edges

    def node(self, space: Space, at: Sequence[int],
             repeated: tuple[int, ...] = ()) -> Rows | None:
        """The node of a group of nodes at these places."""
        return built(space, self.uses, self.arrays, self.visible, at, repeated)

    def repeat(self) -> None:
        """Where kernels read a large result that is computed from little, let each compute it for
        itself. So it is not stored."""
        for i, node in enumerate(self.nodes):
            takers = self.takers(i, node)
            made = {g: self.node(space, sorted([*g.at, i]), (*g.repeated, i))
                    for g, space in takers.items()}
            if None in made.values():
                continue
            for g, one in made.items():
                g.at, g.repeated, g.node = sorted([*g.at, i]), (*g.repeated, i), one
                self.group_of[i] = g

    def takers(self, i: int, node: Node) -> dict[_Group, Space]:
        """The groups that could each compute node i's result themselves, with their spaces. Empty
        if one of its readers cannot, or if it would not pay."""
        own = self.group_of.get(i)
        if own is None or own.at != [i] or own.space is not None \
                or not self.visible.isdisjoint(node.outs):
            return {}
        node = node if isinstance(node, Fused) else fuse_pointwise.alone(node, self.arrays)
        readers = {u for o in node.outs for u in self.uses.users.get(o, ())}
        if not readers or not readers <= self.group_of.keys():
            return {}
        groups = dict.fromkeys(self.group_of[u] for u in readers)
        takers = {g: g.space for g in groups if g.space and own.shapes <= _shapes_in(g.space)
                  and self.uses.later(i, g.at[-1])}
        return takers if len(takers) == len(groups) and repays(node, self.arrays) else {}


def _shapes_in(space: Space) -> Set[Shape]:
    """The shapes that pointwise nodes of a group may have."""
    shape, axes = space
    return {shape, *left(shape, axes)}


def _start(i: int, node: Node, arrays: Arrays) -> _Group | None:
    """A group of one node; None if it can be in none."""
    if not fuse_pointwise.is_real(node, arrays):
        return None
    if (
        isinstance(node, Fused)
        and arrays[node.outs[0]].flags.c_contiguous
        or fuse_pointwise.fusible(node, arrays)
    ):
        return _Group(i, {arrays[node.outs[0]].shape})
    if (
        isinstance(node, OpNode)
        and node.op.family in ("reduce", "rows")
        and type(node.ins[0]) is Ref
        and arrays[node.ins[0]].ndim
    ):
        got = program_of(node, arrays)
        if got is not None:
            shape = arrays[node.ins[[o.is_full for o in got[0].operands].index(True)]].shape
            axes = tuple(sorted(a % len(shape) for a in got[2]))
            if 0 not in shape and prod(shape[a] for a in axes) > 1:
                return _Group(i, set(), (shape, axes))
    return None


def alone(i: int, uses: Uses, arrays: Arrays, visible: Set[int]) -> Rows | None:
    """Node i, an op that is a row program, as a "rows" node; None if it is none."""
    group = _start(i, uses.nodes[i], arrays)
    return (
        None
        if group is None or group.space is None
        else built(group.space, uses, arrays, visible, [i])
    )


def resized(
    node: Rows, members: Sequence[Node], shape: Shape, root: Roots, arrays: Arrays
) -> Rows | None:
    """A group of nodes on a shape of other sizes than that of `node`; None where no kernel takes
    it."""
    at = [k for k, m in enumerate(members) if not is_view(m)]
    return built((shape, node.placed.axes), Uses(members, root), arrays, set(node.outs), at)


def _put(nodes: Sequence[Node], root: Roots, groups: dict[int, _Group]) -> list[Node]:
    """The list with each group at the index of its last node, followed by the views of its
    results."""
    out: list[Node] = []
    inside: dict[int, _Group] = {}
    gone: set[int] = set()
    for group in groups.values():
        if group.node is not None:
            gone.update(group.at)
            for k in group.at:
                inside.update(dict.fromkeys(nodes[k].outs, group))
    waiting: dict[int, list[Node]] = {}
    for i, node in enumerate(nodes):
        if i not in gone:
            maker = inside.get(root[node.ins[0]]) if is_view(node) else None
            if maker is None or i > maker.at[-1]:
                out.append(node)
            else:
                waiting.setdefault(id(maker), []).append(node)
        elif i == groups[i].at[-1] and (made := groups[i].node) is not None:
            out += [made, *waiting.get(id(groups[i]), ())]
    return out
