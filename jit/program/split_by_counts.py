"""Parts that go by several counts, split into parts that go by one each, as far as they stand one
after the other.

    %9 = index(%0, %3)                      goes by the length of %3
    %10 = linear(%9, %6)
    %11 = index_add(%2, %3, %10)            what it makes has sizes of its own
                                            ------------------------------
    %12 = index(%0, %4)                     goes by the length of %4
    %13 = linear(%12, %7)

A plan is for lengths of 0, of 1, or of more: for one length there are three, for k in one part
three to the power of k. Experts that get the tokens which chose them are such a list.

Where the list is split decides how many plans there are, and never what they do: a part is planned
for all sizes of what it is given.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from whet.ir.graph import Node
    from whet.ir.values import Array, Type

Counts: TypeAlias = "frozenset[int]"     # values whose sizes data decides

SHORT_RUN = 4                            # nodes; fewer that go by no count join their neighbours
PARTS_PER_COUNT = 8                      # more than that on average, and a group stays whole
NONE: Counts = frozenset()


class CountsOfSizes:
    """Which counts the sizes of values go by, of each dimension: what is only seen in one run, as
    two sizes may be equal by chance. `needs` gives the values that a node goes by."""

    def __init__(self, arrays: Sequence[Array | Type], counted: Set[int],
                 needs: Callable[[Node], Sequence[int]]) -> None:
        self.arrays, self.counted, self.needs = arrays, counted, needs
        self.dims: dict[int, list[Counts]] = {}

    def of(self, n: int) -> list[Counts]:
        """The counts of each dimension of a value."""
        return self.dims.get(n) or [NONE] * len(self.arrays[n].shape)

    def meet(self, node: Node) -> Counts:
        """The counts that a node goes by; nodes are met in their order."""
        read = [int(x) for x in node.refs()]
        found = NONE.union(*(c for x in self.needs(node) for c in self.of(x)))
        if node.outs and not self.counted.isdisjoint(node.outs):
            of = self.arrays[read[0]].shape if read else ()
            self.dims.update((o, counted_dims(o, self.arrays[o].shape, of)) for o in node.outs)
            return found
        of_read = NONE.union(*(c for x in read for c in self.of(x)))
        for o in node.outs if found else ():
            self.dims[o] = [self.of_dim(d, n, read, is_told(node)) if of_read else found
                            for d, n in enumerate(self.arrays[o].shape)]
            found = found.union(*self.dims[o])
        return found

    def of_dim(self, d: int, size: int, read: Sequence[int], is_told: bool) -> Counts:
        """The counts that dimension `d` of a result goes by, which has this size: those of the
        operands' dimension of that size, if there is one. `is_told`: may it have none of theirs?"""
        dims = [(i, n, c) for x in read
                for i, (n, c) in enumerate(zip(self.arrays[x].shape, self.of(x), strict=True))]
        with_counts = [(i, c) for i, n, c in dims if n == size and c]
        for i, c in with_counts:
            if i == d:
                return c
        if size == 1 or is_told or any(n == size and not c for _, n, c in dims):
            return NONE
        return with_counts[0][1] if with_counts else NONE.union(*(c for _, _, c in dims))


def counted_dims(n: int, shape: tuple[int, ...], of: tuple[int, ...]) -> list[Counts]:
    """The counts of what is counted itself: of the dimensions that the operand has not, and that do
    not tell how many it has (places in several dimensions do)."""
    is_counted = [d == 0 and len(shape) != len(of) or of[d:d + 1] != (size,) and size != len(of)
                  for d, size in enumerate(shape)]
    if not any(is_counted):
        is_counted = [True] * len(shape)
    return [frozenset((n,)) if it else NONE for it in is_counted]


def is_told(node: Node) -> bool:
    """Is a node told the sizes of what it makes?"""
    return (node.op is not None and not node.op.keeps_elements
            and not node.op.size_attrs.isdisjoint(node.attrs))


def split(groups: Sequence[list[Node]], arrays: Sequence[Array | Type], counted: Set[int],
          needs: Callable[[Node], Sequence[int]]) -> list[list[Node]]:
    """The groups of a list, of which the first goes by no count."""
    sizes = CountsOfSizes(arrays, counted, needs)
    for node in groups[0]:
        sizes.meet(node)
    out = [groups[0]]
    for group in groups[1:]:
        counts = {id(node): sizes.meet(node) for node in group}
        runs = joined(runs_of(views_where_read(group, needs), counts))
        out += runs if len(runs) <= PARTS_PER_COUNT * (len(counted) + 1) else [group]
    return out


def views_where_read(nodes: Sequence[Node],
                     needs: Callable[[Node], Sequence[int]]) -> list[list[Node]]:
    """Each node that is no view, behind the views that it is the first to read; the last list has
    those that none of them reads."""
    waiting: dict[int, int] = {}             # by their results: where in the list they are
    out: list[list[Node]] = []
    for place, node in enumerate(nodes):
        if node.is_view:
            waiting.update(dict.fromkeys(node.outs, place))
            continue
        found, todo = {place}, [*needs(node)]
        while todo:
            at = waiting.get(todo.pop())
            if at is not None:
                found.add(at)
                todo += needs(nodes[at])
                for o in nodes[at].outs:
                    del waiting[o]
        out.append([nodes[i] for i in sorted(found)])
    left = sorted({*waiting.values()})
    return [*out, [nodes[i] for i in left]] if left else out


def runs_of(lists: Sequence[list[Node]],
            counts: Mapping[int, Counts]) -> list[tuple[Counts, list[Node]]]:
    """Nodes, with the views before them, in runs of those that go by the same counts."""
    runs: list[tuple[Counts, list[Node]]] = []
    for nodes in lists:
        c = counts[id(nodes[-1])]
        if not runs or runs[-1][0] != c and not nodes[-1].is_view:
            runs.append((c, []))
        runs[-1][1].extend(nodes)
    return runs


def joined(runs: Sequence[tuple[Counts, list[Node]]]) -> list[list[Node]]:
    """The runs, of which short ones that go by no count join the one before."""
    out: list[tuple[Counts, list[Node]]] = []
    for c, nodes in runs:
        if out and (c == out[-1][0] or not c and len(nodes) < SHORT_RUN):
            out[-1] = out[-1][0], [*out[-1][1], *nodes]
        elif out and not out[-1][0] and len(out[-1][1]) < SHORT_RUN:
            out[-1] = c, [*out[-1][1], *nodes]
        else:
            out.append((c, nodes))
    return [nodes for _, nodes in out]
