"""The memory cost of fusion: a kernel runs at the place of its last node, so the operands of the
others stay alive until then."""

from __future__ import annotations

from collections.abc import Sequence

from whet.ir.graph import Fused, Node, OpNode
from whet.passes.listing import Listing
from whet.passes.value_uses import Uses, following

# bytes: less than this that waits costs less than a kernel more
LARGE = 1 << 18
# families of ops that kernels are fused of, which hold little themselves
FUSED = frozenset(("pointwise", "reduce", "rows"))


class FusionMemory:
    """What fused kernels hold in memory. A kernel stands at the place of its last node, so that the
    operands of its earlier nodes live longer, and their results are never stored."""

    def __init__(self, g: Listing, uses: Uses) -> None:
        self.nodes, self.root, self.arrays, self.uses = g.nodes, g.root, g.arrays, uses
        self.seen = {g.root[v] for v in g.visible if v in g.root}
        # the places of nodes that make large values, beside which what waits counts
        self.large = [i for i, node in enumerate(g.nodes) if self.makes_large(node)]

    def makes_large(self, node: Node) -> bool:
        """Does a node that no kernel takes in make a large value?"""
        if isinstance(node, Fused) or isinstance(node, OpNode) and node.op.family in FUSED:
            return False
        return any(self.root[o] == o and self.arrays[o].nbytes >= LARGE for o in node.outs)

    def holds_more(self, before: Sequence[int], at: Sequence[int], i: int) -> bool:
        """Would a kernel at place i hold more memory than its nodes, those at places `before` and
        `at`? Large operands of those `before` wait for it, beside other large values that are made
        meanwhile. Sums of gradients that are read at the end of a step are such: all terms would
        be there at once."""
        last = before[-1]
        if following(self.large, last) >= i:
            return False
        together = {*before, *at}
        made = {o for k in before for o in self.nodes[k].outs}
        read = {self.root[x] for k in before for x in self.nodes[k].refs()} - made
        waiting = sum(self.arrays[r].nbytes for r in read - self.seen
                      if r in self.uses.maker and self.uses.users[r][-1] <= last)
        saved = sum(self.arrays[o].nbytes for o in made - self.seen
                    if self.only_inside(o, together, last))
        return waiting - saved >= LARGE

    def only_inside(self, value: int, together: set[int], last: int) -> bool:
        """Do only the nodes `together` read a value, and some of them after the place `last`?"""
        users = self.uses.users.get(value, [])
        return bool(users) and users[-1] > last and together.issuperset(users)
