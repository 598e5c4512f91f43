"""Lets a kernel whose result would be copied somewhere write there itself (`into`: value -> place).

    %3 = fused(%0, %1){...}
    write copy(%0, %3)          ->      %3 = fused(%0, %1){...} into %0

A view that is such a place is made before the kernel.
"""
from __future__ import annotations

from bisect import insort
from collections.abc import Mapping, Sequence

from whet.ir.graph import Fused, Node, OpNode, Parts, Ref
from whet.ir.values import Array
from whet.passes.fuse_pointwise import alone, fusible, in_order
from whet.passes.listing import Listing
from whet.passes.value_uses import Uses, copies_a_value, following, is_view, steady, touched


def write_through(g: Listing) -> Listing:
    """The list without copies of what one fused node made for them."""
    work = _WritingThrough(g)
    for i, node in enumerate(g.nodes):
        k = work.kernel_before(i, node) if copies_a_value(node) else None
        if k is not None:
            work.write_itself(k, i, node)
    return g.of(_with_early(work.out, work.gone, work.early, g.nodes))


class _WritingThrough:
    """The work on a list. `gone`: the places of nodes that are not needed, or stand earlier;
    `early`: view -> the place of the kernel that writes to it; `ways`: the places of nodes after
    which a run may have gone another way."""

    def __init__(self, g: Listing) -> None:
        self.root, self.arrays, self.visible = g.root, g.arrays, g.visible
        self.uses, self.readers = Uses(g.nodes, g.root, views=True), Uses(g.nodes, g.root)
        self.ways = [i for i, node in enumerate(g.nodes) if not steady(node)]
        self.out, self.gone = list(g.nodes), set[int]()
        self.early: dict[int, int] = {}

    def kernel_before(self, i: int, copy: Node) -> int | None:
        """The place of the kernel that makes what node i copies, if it may write to the copy's
        place itself."""
        place, x = copy.ins
        root, uses = self.root, self.uses
        k = uses.maker.get(x)
        if k is None or root[x] != x or uses.users[x] != [i] or x in self.visible:
            return None
        _, base = _views_since(k, place, uses)
        # the place is not there yet
        if max(uses.maker.get(base, -1), uses.maker.get(root[place], -1)) >= k:
            return None
        before = self.out[k]
        is_kernel = isinstance(before, Fused) or type(before) is Parts
        if not _takes(self.arrays[place], self.arrays[x]) \
                or not is_kernel and not fusible(before, self.arrays):
            return None
        if following(self.ways, k) < i or following(self.readers.users[root[place]], k) < i:
            return None
        return None if _reads_beside(before, place, root) else k

    def write_itself(self, k: int, i: int, copy: Node) -> None:
        """Let the kernel at place k write to where node i copies its result."""
        place, x = copy.ins
        before = self.out[k]
        group = alone(before, self.arrays) if isinstance(before, OpNode) else before
        assert isinstance(group, Fused | Parts)
        self.out[k] = group
        if place in group.into.values():
            return
        self.out[k] = group.putting({**group.into, x: place})
        self.gone.add(i)
        at = self.readers.users[self.root[place]]
        at.remove(i)                         # the kernel writes to it now
        insort(at, k)
        views, _ = _views_since(k, place, self.uses)
        self.early.update((v, min(k, self.early.get(v, k))) for v in views)


def _views_since(k: int, place: Ref, uses: Uses) -> tuple[list[int], Ref]:
    """The views from node k on that lead to a place, last first, and what the first is of."""
    views, base = [], place
    while uses.maker.get(base, -1) >= k and is_view(uses.nodes[uses.maker[base]]):
        views.append(uses.maker[base])
        base = uses.nodes[views[-1]].ins[0]
    return views, base


def _takes(place: Array, value: Array) -> bool:
    """May a kernel that writes the value write to the place instead?"""
    return (place.dtype == value.dtype and place.shape == value.shape and in_order(place)
            and value.flags.c_contiguous and place.flags.aligned)


def _reads_beside(node: Node, place: Ref, root: Mapping[int, int]) -> bool:
    """Does a node touch the place's memory other than as the place itself, element by element?"""
    return any(root[r] == root[place] and (r != place or type(node) is Parts)
               for r in touched(node))


def _with_early(out: Sequence[Node], gone: set[int], early: dict[int, int],
                nodes: Sequence[Node]) -> list[Node]:
    """The nodes but those that are gone, with the views that are made `early`: each before the
    kernel that writes to it."""
    first: dict[int, list[Node]] = {}
    for v in sorted(early):
        first.setdefault(early[v], []).append(nodes[v])
    gone.update(early)
    return [n for i, node in enumerate(out)
            for n in (*first.get(i, ()), *([] if i in gone else [node]))]
