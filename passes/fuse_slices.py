"""Fuses slices of a kernel's result: the kernel that reads a slice computes it itself.

    %1 = mul(%0, %0)
    %2 = slice(%1, index=((1, None, 1),))       ->      %4 = parts(%0){mul; slice; slice; sub}
    %3 = slice(%1, index=((None, -1, 1),))
    %4 = sub(%2, %3)

So do differences of neighbours, and formulas that are applied to halves of a tensor. A group has a
kernel that reads such slices ("reader"), the slices, and the kernels whose results are used only
there. These may read slices of others in turn. An element that is in several slices is computed
for each of them, by the expressions that the nodes compute, in the same types: no bit changes.
That is worth it as long as the instructions take less time than the memory traffic.

A group stands where its reader was: nothing may write to what it reads before that.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from math import prod
from typing import TypeAlias

import numpy as np
from whet.ir import scalar as S
from whet.ir.expressions import Expr
from whet.ir.graph import Fused, Node, OpNode, Part, Parts, Ref
from whet.ir.memory_spans import address
from whet.ir.values import Array
from whet.passes.fuse_moves import HALVES, MOST, Kernel, Key, computing, kernel, operand
from whet.passes.fuse_pointwise import in_order
from whet.passes.fusion_memory import FusionMemory
from whet.passes.listing import Arrays, Listing
from whet.passes.lower_llvm.elements.pointwise import work
from whet.passes.value_uses import Uses, is_view

RUN = 16                         # elements side by side that a slice should have
# Instructions for a vector of results that are done sooner than the vector is stored and read.
SAVED = 16
Look: TypeAlias = Callable[[Array], Array]       # how an array of a value's shape is seen


def fuse_slices(g: Listing) -> Listing:
    """The list with groups of slices and the nodes that compute their operands fused into "parts"
    nodes of one part. A fused node's `value` are the nodes that it was made of."""
    nodes = g.nodes
    if not any(is_view(node) for node in nodes):
        return g
    search = _Search(g)
    groups: dict[int, Node] = {}             # the place of a group's reader -> its node
    gone: set[int] = set()
    for i in reversed(range(len(nodes))):
        if i not in gone and computing(nodes[i], g.arrays):
            at, made = search.around(i, gone)
            if made is not None:
                groups[i] = made
                gone |= at
    return g.of([groups.get(i, node) for i, node in enumerate(nodes)
                 if i in groups or i not in gone])


class _Search:
    """Looks for groups in a list. A group is given by the indices of its nodes."""

    def __init__(self, g: Listing) -> None:
        self.nodes, self.root, self.arrays = g.nodes, g.root, g.arrays
        self.uses = Uses(g.nodes, g.root, views=True)
        self.fusion_memory = FusionMemory(g, self.uses)
        self.seen = {g.root[v] for v in g.visible if v in g.root}

    def around(self, i: int, gone: Set[int]) -> tuple[set[int], Parts | None]:
        """The group whose reader is node i, and its node; None where there is none. `gone`: the
        places of nodes that are in other groups."""
        at, found = {i}, None
        took = work(kernel(self.nodes[i], self.arrays).exprs)
        todo = [i]
        while todo:
            for p in self.makers(todo.pop()):
                more = None if p in at or p in gone else self.with_maker(at, p, i)
                if more is None:
                    continue
                made = joined([self.nodes[k] for k in sorted(more)], self.arrays,
                              self.nodes[i].outs)
                if isinstance(made, Parts) and self.pays(made, took, p, i):
                    at, found = more, made
                    took = work(made.parts[0].roots)
                    todo.append(p)
        return at, found

    def makers(self, k: int) -> list[int]:
        """The nodes that made the memories which node k reads."""
        found = (self.uses.maker.get(self.root[x]) for x in self.nodes[k].refs())
        return [p for p in dict.fromkeys(found) if p is not None]

    def with_maker(self, at: Set[int], p: int, i: int) -> set[int] | None:
        """A group with reader i, node p, and the slices of p's result; None where p cannot be in
        the group."""
        node = self.nodes[p]
        if not computing(node, self.arrays) or not self.uses.later(p, i) \
                or self.fusion_memory.holds_more([p], sorted(at), i):
            return None
        more = {*at, p}
        if not any(is_view(self.nodes[u]) for o in node.outs for u in self.uses.users.get(o, ())):
            return None
        for o in node.outs:
            if o in self.seen or self.root[o] != o or self.uses.writes.get(o):
                return None
            for u in self.uses.users.get(o, ()):
                user = self.nodes[u]
                if is_view(user) and self.is_slice(user):
                    more.add(u)
                elif u not in at or not self.reads_each_once(user, o):
                    return None
        return more

    def reads_each_once(self, reader: Node, memory: int) -> bool:
        """Does a kernel read each element of a memory at most once?"""
        shape = self.arrays[reader.outs[0]].shape
        return all(self.arrays[x].shape == shape for x in reader.refs()
                   if self.root[x] == memory)

    def is_slice(self, view: Node) -> bool:
        """Does a view show elements in their order, many of them side by side?"""
        a = self.arrays[view.ins[0]]
        return all(a.dtype == b.dtype and in_order(b) and bool(b.ndim)
                   and (b.flags.c_contiguous or b.shape[-1] >= RUN)
                   for b in (self.arrays[o] for o in view.outs))

    def pays(self, made: Parts, took: int, p: int, i: int) -> bool:
        """Is a group with node p faster than the kernel of p and the group without it? `took`: the
        instructions of the latter, for a vector of results."""
        node = self.nodes[p]
        whole, size = (prod(self.arrays[self.nodes[k].outs[0]].shape) for k in (p, i))
        spared = work(kernel(node, self.arrays).exprs) + SAVED * len(node.outs)
        return (work(made.parts[0].roots) - took) * size <= spared * whole


def joined(members: Sequence[Node], arrays: Arrays, outs: Sequence[int]) -> str | Parts:
    """The node of a group, whose last member makes `outs`; the reason why there is none, as
    text."""
    made = {o for m in members for o in m.outs}
    ins: list[Array | Ref] = []
    at: dict[Key, int] = {}
    for m in members:
        for x in m.ins if is_view(m) else kernel(m, arrays).ins:
            if type(x) is not Ref or x not in made:
                operand(x, ins, at)
    whole = Kernel(at, ins, arrays, tuple([(0, n, 1) for n in arrays[outs[0]].shape]))
    found = _Elements(members, arrays, whole).of(members[-1], outs)
    if found is None:
        return "an operand has a type that no kernel reads, or would have to be copied"
    if len(whole.types) + len(found) > MOST:
        return f"a kernel would have more than {MOST} operands"
    if any(e.op == "arg" and whole.types[e.value] in HALVES for e in found):
        return "a kernel would not keep the bits of what it moves"
    part = Part(whole.box, tuple(found), tuple(whole.operands))
    return Parts(tuple(ins), list(outs), members[-1].line, members, (part,))


class _Elements:
    """The expressions of the values in a group, as its kernel sees them. `known`: those found so
    far, by value and by the view through which it is read."""

    def __init__(self, members: Sequence[Node], arrays: Arrays, whole: Kernel) -> None:
        self.makers = {o: m for m in members for o in m.outs}
        self.arrays, self.whole = arrays, whole
        self.known: dict[tuple[int, int, tuple[int, ...], tuple[int, ...]], Expr | None] = {}

    def of(self, reader: Node, outs: Sequence[int]) -> list[Expr] | None:
        """The expressions of a kernel's results; None where no kernel reads one of the operands."""
        found = [e for e in (self.element(o, lambda a: a) for o in outs) if e is not None]
        return found if len(found) == len(outs) else None

    def element(self, x: int, look: Look) -> Expr | None:
        """The expression of a value as read through this view; None if there is none."""
        a = self.arrays[x]
        maker = self.makers.get(x)
        if isinstance(maker, OpNode) and is_view(maker):
            return self.element(maker.ins[0], lambda b: look(self.viewed(maker, x, b)))
        if maker is None:
            seen = look(a)
            return self.whole.argument(Ref(x), seen) if np.may_share_memory(seen, a) else None
        own = np.empty(a.shape, a.dtype)
        seen = look(own)
        key = x, address(seen) - address(own), seen.shape, seen.strides
        if key not in self.known:
            self.known[key] = self.computed(kernel(maker, self.arrays), x, look) \
                if np.may_share_memory(seen, own) else None
        return self.known[key]

    def computed(self, maker: Fused, x: int, look: Look) -> Expr | None:
        """The expression of a value that a kernel computes."""
        shape, args = self.arrays[x].shape, {}
        for k, y in enumerate(maker.ins):
            if type(y) is not Ref or y not in self.makers and self.arrays[y].ndim == 0:
                e = self.whole.argument(y, None)
            else:
                e = self.element(y, lambda a: look(np.broadcast_to(a, shape)))
            if e is None:
                return None
            args[k] = e
        return self.whole.stored(S.substitute(maker.exprs[maker.outs.index(x)], args), x)

    def viewed(self, view: OpNode, x: int, a: Array) -> Array:
        """What a view makes of an array: the result for value x. Another memory where the array
        cannot be viewed like that."""
        try:
            found = view.op.forward(a, *view.ins[1:], **view.attrs)
        except RuntimeError:
            return np.empty(self.arrays[x].shape, a.dtype)
        one: Array = found[view.outs.index(x)] if isinstance(found, list | tuple) else found
        return one
