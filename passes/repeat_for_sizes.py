"""Repeats what the passes decided for one list of nodes for the same list at other sizes.

A `Plan` is kept with the list that the passes made. Let another recorded list have the same nodes,
in the same order, on values that differ in nothing but their sizes. Then every decision of the
passes holds. Passes look at ops, types, and which node reads or writes which value. Of sizes and
layouts they look at which sizes are equal, 0 or 1, which memory is contiguous, and which views have
the same layout. So the groups are formed again from their nodes, with the new sizes, attributes and
numbers, and no pass runs.

Some passes depend on more than that: on which constants are equal, or on how many bytes are between
products. This is checked again. If it has changed, the passes run.
"""
from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence, Set
from typing import Any, NamedTuple

import numpy as np
from whet.ir.graph import (
    Contract,
    Fused,
    Group,
    Guard,
    Many,
    Node,
    OpNode,
    Parts,
    Ref,
    Roll,
    Rows,
    Type,
)
from whet.ir.op import Op
from whet.ir.row_layout import Shape
from whet.ir.values import Array, DType
from whet.passes import (
    batch_kernels,
    chain_products,
    fuse_epilogues,
    fuse_gathers,
    fuse_moves,
    fuse_pointwise,
    fuse_rows,
    fuse_slices,
    join_slices,
)
from whet.passes.compare_nodes import Likeness, likeness
from whet.passes.fold_constants import Constants, constants, content
from whet.passes.listing import Arrays, Listing, Roots
from whet.passes.merge_repeats import Meaning, meaning
from whet.passes.value_uses import is_view, memories

FLAGS = 0x503                    # of an array: contiguous either way, aligned, writeable


class Added(NamedTuple):
    """The type of a value that passes added. `strides`: None in C order."""
    dtype: DType
    shape: Shape
    strides: tuple[int, ...] | None

    def lying(self) -> Array:
        """An array with this layout."""
        if self.strides is None:
            return np.empty(self.shape, self.dtype)
        ends = [(n - 1) * s for n, s in zip(self.shape, self.strides, strict=True)]
        first, last = sum(min(e, 0) for e in ends), sum(max(e, 0) for e in ends)
        memory = np.empty(last - first + self.dtype.itemsize, np.uint8)
        return np.ndarray(self.shape, self.dtype, memory, -first, self.strides)


class Plan:
    """A recorded list of nodes as the passes find it: `nodes`, what they are asked for
    (`visible`), and the layouts of all values."""

    def __init__(self, nodes: Sequence[Node], root: Roots, arrays: Arrays,
                 visible: Set[int]) -> None:
        self.nodes, self.visible = list(nodes), frozenset(visible)
        self.memory = memories(nodes, root, arrays)
        self.size = len(arrays)
        self.values = {
            n: (a.dtype, a.shape, a.strides, a.flags.num & FLAGS)
            for n, a in ((n, arrays[n]) for n in root)
        }
        self.lying = _lying(root, arrays)
        # what a node does -> the places of those that do it
        self.of_meaning: dict[Meaning, list[int]] | None = None
        # the list that the passes left, their names, and the types of values that they added
        self.made: list[Node] = []
        self.passes: list[str] = []
        self.added: list[Added] = []
        self.between: list[list[int]] = []       # products of chains, see `chain_products`

    @functools.cached_property
    def constants(self) -> Constants:
        """The constants of the list."""
        return constants(
            self.nodes,
            self.memory,
            {n: Type(*facts[:3]) for n, facts in self.values.items()},
            self.visible,
        )

    def done(self, made: list[Node], arrays: Arrays, passes: list[str]) -> None:
        """Record the result of the passes."""
        self.made, self.passes, self.added = (
            made,
            passes,
            [Added(a.dtype, a.shape, None if a.flags.c_contiguous else a.strides)
             for a in arrays[self.size :]],
        )
        root = {**self.memory, **{n: n for n in range(self.size, len(arrays))}}
        self.between = chain_products.between(Listing(made, root, arrays, self.visible))

    def applied(self, new: Plan, root: dict[int, int], arrays: list[Array]) -> list[Node] | None:
        """The list that the passes would make of another plan's nodes; None if that is not certain.
        `root` and `arrays` get the entries of the values that are added."""
        scale = self.scale(new)
        if scale is None or not all(
            a.strides is None and all(n in scale for n in a.shape) for a in self.added
        ):
            return None
        found = list(map(self.likeness, self.nodes, new.nodes, itertools.repeat(new)))
        same = [x is Likeness.SAME for x in found]
        if Likeness.OTHER_NODE in found or not self.merges_hold(new, same):
            return None
        arrays += [np.empty([scale[n] for n in a.shape], a.dtype) for a in self.added]
        memory = {**new.memory, **{n: n for n in range(self.size, len(arrays))}}
        made = (
            None
            if chain_products.wanted(self.made, self.between, arrays)
            else _Resizing(self, new, same, scale, memory, arrays).nodes()
        )
        if made is None:
            del arrays[self.size:]
        else:
            root.update((n, n) for n in range(self.size, len(arrays)))
        return made

    def likeness(self, a: Node, b: Node, new: Plan) -> Likeness:
        """How two nodes are alike. Guards on what depends on sizes alone may expect another number:
        they are in no list that the passes make."""
        found = likeness(a, b)
        if (found is Likeness.OTHER_NODE
                and isinstance(a, Guard) and isinstance(b, Guard) and a.ins == b.ins
                and all(a.refs()[0] in plan.constants.known for plan in (self, new))):
            return Likeness.OTHER_NUMBERS
        return found

    def scale(self, new: Plan) -> dict[int, int] | None:
        """size -> the size in its place; None where two that were equal are not, or one is 0 or 1
        that was not, or something else is another.

        Where two have become equal, no decision becomes wrong: it was made as for sizes that
        differ."""
        if (
            len(self.nodes) != len(new.nodes)
            or self.size != new.size
            or self.visible != new.visible
            or self.values.keys() != new.values.keys()
            or self.lying != new.lying
            or self.memory != new.memory
        ):
            return None
        there = {0: 0, 1: 1}
        lying: dict[fuse_pointwise.Lying, fuse_pointwise.Lying] = {}
        for (dtype, shape, strides, flags), (u, sizes, steps, other) in zip(
            self.values.values(), new.values.values()
        ):
            if dtype != u or flags != other or len(shape) != len(sizes):
                return None
            for a, b in zip(shape, sizes):
                if there.setdefault(a, b) != b or b < 2 and a != b:
                    return None
            if not flags & 1:
                a, b = Type(dtype, shape, strides), Type(u, sizes, steps)
                if (
                    not _parallel(strides, steps)
                    or fuse_pointwise.dense(a) != fuse_pointwise.dense(b)
                    or lying.setdefault(fuse_pointwise.lying(a), fuse_pointwise.lying(b))
                    != fuse_pointwise.lying(b)
                ):
                    return None
        return there

    def merges_hold(self, new: Plan, same: Sequence[bool]) -> bool:
        """Do nodes that did the same, and were merged, do so still, and are constants that were
        equal equal still?"""
        if all(same):
            return True
        if not self.constants.still(new.constants):
            return False
        if self.of_meaning is None:
            self.of_meaning = {}
            for i, n in enumerate(self.nodes):
                key = key_without_operands(n)
                if key is not None:
                    self.of_meaning.setdefault(key, []).append(i)
        return all(
            len({key_without_operands(new.nodes[i]) for i in group}) == 1
            for group in self.of_meaning.values()
            if not all(same[i] for i in group)
        )


def fills_alike(a: Node, b: Node) -> bool:
    """Do two nodes make memory that both leave unset, or fill with the same number?"""
    if not isinstance(a, OpNode) or not isinstance(b, OpNode) or a.op is not b.op:
        return False
    fills = a.op.fills
    return a.op.is_unset or fills is not None and content(np.asarray(
        fills(**a.attrs))) == content(np.asarray(fills(**b.attrs)))


class _Resizing:
    """The making of the list for other sizes. `same`: which nodes have the very attributes and
    numbers that they had."""

    def __init__(self, plan: Plan, new: Plan, same: Sequence[bool], scale: dict[int, int],
                 root: Roots, arrays: Arrays) -> None:
        self.plan, self.scale, self.root, self.arrays = plan, scale, root, arrays
        self.new_nodes = new.nodes
        self.at = {id(a): i for i, a in enumerate(plan.nodes)}
        self.other = {i for i, s in enumerate(same) if not s}
        self.found: set[int] = set()         # the places of the nodes that the list has
        self.constants = new.constants
        self.known_meanings: dict[Op, set[tuple[Meaning | None, Meaning | None]]] = {}

    def nodes(self) -> list[Node] | None:
        """The list; None where a node cannot be made, or a change of one is lost."""
        out = []
        for old in self.plan.made:
            node = self.node(old)
            if node is None:
                return None
            out.append(node)
        lost = self.other - self.found
        return out if all(self.may_be_lost(i, self.plan.nodes[i]) for i in lost) else None

    def may_be_lost(self, i: int, a: Node) -> bool:
        """May a node that has other attributes now have no place in the list?"""
        return bool(
            is_view(a) or isinstance(a, Guard) or fills_alike(a, self.new_nodes[i])
            or a.outs and self.constants.known.keys() >= set(a.outs)
            or self.merged(i, a) or join_slices.still(a, self.new_nodes[i]))

    def merged(self, i: int, a: Node) -> bool:
        """Is there a node in the list that was the same, and is so now?"""
        b = self.new_nodes[i]
        if not isinstance(a, OpNode) or not isinstance(b, OpNode):
            return False
        before, now = meaning(a), meaning(b)
        return None not in (before, now) and (before, now) in self.meanings(a.op)

    def meanings(self, op: Op) -> set[tuple[Meaning | None, Meaning | None]]:
        """What each node of the list with this op means, before and now."""
        if op not in self.known_meanings:
            pairs = [(self.plan.nodes[k], self.new_nodes[k]) for k in self.found]
            self.known_meanings[op] = {
                (meaning(x), meaning(y)) for x, y in pairs
                if isinstance(x, OpNode) and isinstance(y, OpNode) and x.op is op}
        return self.known_meanings[op]

    def node(self, x: Node) -> Node | None:
        """One node of the list at the new sizes; None if it cannot be made."""
        if isinstance(x, Roll):
            return x if all(self.still(m) for m in x.flat()) else None
        if isinstance(x, Group):
            return self.group(x)
        i = self.at.get(id(x.source or x))
        if i is None:                        # a pass put it there
            return None if "size" in x.attrs else x
        self.found.add(i)
        b = self.new_nodes[i]
        if x.source is None:
            return b
        if was_computed(x, b):
            o = x.outs[0]
            if self.constants[o].strides != self.arrays[o].strides:
                return None
            return OpNode(x.op, (), {"array": self.constants[o]}, x.outs, x.line)
        if i not in self.other or x.op is not b.op:     # what a copy rounds has no numbers
            return x
        ins = tuple([p if type(p) is Ref else q for p, q in zip(x.ins, b.ins, strict=True)])
        if isinstance(x, OpNode):  # a write that became an operation has none of its attributes
            return OpNode(x.op, ins, b.attrs if isinstance(b, OpNode) else {}, x.outs, x.line)
        return b.of(ins)

    def still(self, node: Node) -> bool:
        """Is a node, and all that it reads and makes, as it was?"""
        i = self.at.get(id(node.source or node))
        if i in self.other:
            return False
        if (
            i is not None
            and was_computed(node, self.new_nodes[i])
            and content(self.constants[node.outs[0]]) != content(node.attrs["array"])
        ):
            return False
        for v in (*node.refs(), *node.outs):
            if v not in self.plan.values or self.plan.values[v][1:3] != (
                self.arrays[v].shape,
                self.arrays[v].strides,
            ):
                return False
        return True

    def group(self, x: Group) -> Group | None:
        """A fused node at the new sizes."""
        members = [m for m in map(self.node, x.members) if m is not None]
        if len(members) < len(x.members) or not all(
            fuse_pointwise.in_order(self.arrays[place]) for place in x.into.values()
        ):
            return None
        if (
            all(a is b or not a.members and likeness(a, b) is Likeness.SAME
                for a, b in zip(x.members, members))
            and (not isinstance(x, Rows) or all(self.scale.get(n) == n for n in x.placed.shape))
            and not isinstance(x, Parts)
        ):
            return x
        made: Group | str | None
        if isinstance(x, Fused):
            made = fuse_pointwise.kernel(members, (), {}, self.arrays, set(x.outs))
        elif isinstance(x, Contract):
            first, then = members
            made = (
                fuse_epilogues.joined(first, then)
                if isinstance(first, OpNode) and isinstance(then, Fused)
                else None
            )
        elif isinstance(x, Parts):
            made = _joining(x).joined(members, self.arrays, x.outs)
        elif isinstance(x, Rows):
            made = fuse_rows.resized(
                x, members, tuple([self.scale[n] for n in x.placed.shape]), self.root, self.arrays
            )
        elif isinstance(x, Many):
            made = batch_kernels.resized(members, x.kernel, self.arrays)
        else:
            return None
        if not isinstance(made, Group) or made.outs != x.outs or made.refs() != x.refs():
            return None
        return made.putting(x.into) if x.into else made


def _joining(x: Parts) -> Any:
    """The pass that makes such groups."""
    if type(x) is not Parts:
        return fuse_gathers
    return fuse_slices if any(map(is_view, x.members)) else fuse_moves


def was_computed(x: Any, b: Node) -> bool:
    """Is a node a constant that stands for what this one of the list makes?"""
    return x.op is not b.op and "array" in x.attrs


def key_without_operands(n: Node) -> Meaning | None:
    """A node without the values that it reads, as a key; None where that does not compare, or is
    never merged."""
    if not isinstance(n, OpNode) or is_view(n):
        return None
    return meaning(n, [x for x in n.ins if type(x) is not Ref])


def _parallel(strides: tuple[int, ...], steps: tuple[int, ...]) -> bool:
    """Do two arrays have the same order of dimensions in memory?"""
    if [(s > 0) - (s < 0) for s in strides] != [(s > 0) - (s < 0) for s in steps]:
        return False
    return all(
        (a < b) == (c < d)
        for a, c in zip(map(abs, strides), map(abs, steps))
        for b, d in zip(map(abs, strides), map(abs, steps))
    )


def _lying(root: Roots, arrays: Arrays) -> list[int]:
    """For each view, and what it is a view of: the first with the same layout."""
    first: dict[tuple[int, int, Shape, Shape], int] = {}
    out = []
    for n, r in root.items():
        if n != r:
            for v in (r, n):
                a = arrays[v]
                out.append(
                    first.setdefault(
                        (
                            r,
                            a.__array_interface__["data"][0]
                            - arrays[r].__array_interface__["data"][0],
                            a.shape,
                            a.strides,
                        ),
                        v,
                    )
                )
    return out
