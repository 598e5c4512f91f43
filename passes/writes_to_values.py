"""Turns writes into values: an in-place op becomes an op that makes a value, and a copy, so that
other passes can fuse it like any other.

    write mul(%0, 0.9)              %2 = mul(%0, 0.9)
    write add(%0, %1)         ->    %3 = add(%2, %1)
                                    write copy(%0, %3)

Three things are done. A pointwise write to a whole tensor is computed, then copied; what is copied
to floats of another type is rounded first. Who reads a tensor just after a copy to it reads what
was copied, and a copy that the next one covers is dropped. Copies are made as late as may be. Later
`write_through` lets kernels write to the places themselves again.
"""
from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Any

import numpy as np
from whet.ir.graph import Node, OpNode, Ref, Write
from whet.ir.values import Array
from whet.passes.listing import Arrays, Listing, Roots
from whet.passes.value_uses import copies_a_value, following, is_view, steady, touched, written

FLOATS = frozenset(("float16", "bfloat16", "float32", "float64"))


def writes_to_values(g: Listing) -> Listing:
    """The list with pointwise writes as values."""
    root, arrays = dict(g.root), list(g.arrays)
    made = propagate_copies(as_values(g.nodes, root, arrays), root, arrays, g.visible)
    return Listing(delay_copies(made, root), root, arrays, g.visible)


def as_values(nodes: Sequence[Node], root: dict[int, int], arrays: list[Array]) -> list[Node]:
    """Pointwise writes, and copies of floats of another type, as a value and a copy each."""
    from whet.ops.registry import REGISTRY
    out: list[Node] = []
    for node in nodes:
        values = values_of(node, root, arrays) if isinstance(node, Write) else []
        if values:
            made = Ref(values[-1].outs[0])
            node = Write(REGISTRY["copy"], (node.ins[0], made), {}, node.line)
        out += [*values, node]
    return out


def values_of(node: Write, root: dict[int, int], arrays: list[Array]) -> list[OpNode]:
    """The nodes that compute what a write puts into its place; none where it stays a write."""
    from whet.ops.registry import REGISTRY
    place = node.ins[0]
    wanted = arrays[place].dtype

    def new(dtype: np.dtype[Any]) -> int:
        """A value of the place's sizes."""
        root[len(arrays)] = len(arrays)
        arrays.append(np.empty_like(arrays[place], dtype))
        return len(arrays) - 1

    def rounded(x: Ref) -> OpNode:
        return OpNode(REGISTRY[f"to_{wanted.name}"], (x,), {}, [new(wanted)], node.line, node)
    if is_whole_pointwise(node, root, arrays):
        computed = computed_in(node, arrays)
        value = node.as_value(new(computed))
        return [value] if computed == wanted else [value, rounded(Ref(value.outs[0]))]
    return [rounded(node.ins[1])] if is_rounding_copy(node, root, arrays) else []


def computed_in(node: Write, arrays: Arrays) -> np.dtype[Any]:
    """The type that a pointwise write is computed in."""
    dtype: np.dtype[Any] = node.op.plan([
        arrays[x] if type(x) is Ref else x for x in node.ins])[2].np
    return dtype


def is_rounding_copy(node: Write, root: Roots, arrays: Arrays) -> bool:
    """Is a write a copy of floats to all of a contiguous tensor of another type of floats?"""
    if not copies_a_value(node):
        return False
    place, x = node.ins
    a, b = arrays[place], arrays[x]
    return bool(root[place] == place and a.size and whole(a) and a.shape == b.shape
                and a.dtype != b.dtype and FLOATS.issuperset((a.dtype.name, b.dtype.name)))


def is_whole_pointwise(node: Write, root: Roots, arrays: Arrays) -> bool:
    """Is a write a pointwise operation on all of a contiguous tensor, in its own type or another
    type of floats?"""
    place, op = node.ins[0], node.op
    a = arrays[place]
    if (
        op.family != "pointwise"
        or op.result is not None
        or node.attrs
        or root[place] != place
        or not (a.size and whole(a))
    ):
        return False
    for x in node.ins[1:]:
        if type(x) is Ref:
            b = arrays[x]
            if b.ndim and b.shape != a.shape or x != place and root[x] == root[place]:
                return False
        elif type(x) not in (int, float, bool, complex):
            return False
    computed = computed_in(node, arrays)
    return computed == a.dtype or FLOATS.issuperset((computed.name, a.dtype.name))


def whole(a: Array) -> bool:
    """Is an array one that a write fills from its first byte to its last?"""
    return a.flags.c_contiguous and a.flags.aligned


def copied(node: Node, root: Roots, arrays: Arrays) -> tuple[Ref, Ref] | None:
    """(place, value) of a copy of a value to all of a memory of its type and shape; else None."""
    if not copies_a_value(node):
        return None
    place, x = node.ins
    a, b = arrays[place], arrays[x]
    fits = (
        root[place] == place
        and root[x] == x
        and a.dtype == b.dtype
        and a.shape == b.shape
        and whole(a)
        and whole(b)
    )
    return (place, x) if fits else None


def propagate_copies(nodes: Sequence[Node], root: Roots, arrays: Arrays,
                     visible: Set[int]) -> list[Node]:
    """The list in which reads of what was just copied are reads of what it was copied from. Copies
    that are not read before the next one, or ever, are dropped."""
    out: list[Node | None] = []
    same: dict[int, Ref] = {}                # place -> the value that is there too
    last: dict[int, int] = {}                # place -> its copy, which was not read yet
    of: dict[int, list[int]] = {}            # memory -> the places that it has to do with
    for node in nodes:
        copy = copied(node, root, arrays)
        first = len(node.written()) if isinstance(node, Write) else 0
        if (
            isinstance(node, (OpNode, Write))
            and not is_view(node)
            and any(type(x) is Ref and x in same for x in node.ins[first:])
        ):
            ins = (
                *node.ins[:first],
                *(Ref(same[x]) if type(x) is Ref and x in same else x for x in node.ins[first:]),
            )
            node = node.of(ins)
        over = last.get(copy[0]) if copy else None
        for x in node.ins[1:] if copy else touched(node):
            if type(x) is Ref:
                last.pop(root[x], None)
        if over is not None:
            out[over] = None
        for x in written(node):
            for place in of.pop(root[x], ()):
                same.pop(place, None)
        if copy:
            place, x = copy[0], node.ins[1]
            same[place], last[place] = x, len(out)
            of.setdefault(root[place], []).append(place)
            of.setdefault(root[x], []).append(place)
        out.append(node)
    for place, k in last.items():
        if place not in visible:
            out[k] = None
    return [n for n in out if n is not None]


def delay_copies(nodes: Sequence[Node], root: Roots) -> list[Node]:
    """The list with each copy moved down to just before the next node that reads or writes its
    target, writes its source, or may leave the program."""
    ways = []
    touch: dict[int, list[int]] = {}
    change: dict[int, list[int]] = {}
    for i, node in enumerate(nodes):
        if not steady(node):
            ways.append(i)
        for x in {root[x] for x in touched(node)}:
            touch.setdefault(x, []).append(i)
        for x in {root[x] for x in written(node)}:
            change.setdefault(x, []).append(i)
    own = {}
    before: dict[float, list[Write]] = {}
    for i, node in enumerate(nodes):
        if copies_a_value(node):
            to = min(
                following(touch[root[node.ins[0]]], i),
                following(change.get(root[node.ins[1]], ()), i),
                following(ways, i),
                len(nodes),
            )
            before.setdefault(to, []).append(node)
        else:
            own[i] = node
    return [
        n
        for i in range(len(nodes) + 1)
        for n in (*before.get(i, ()), *([own[i]] if i in own else ()))
    ]
