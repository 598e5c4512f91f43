"""A recorded run as the graph that is exported: what is not used is gone, what constants
alone make is a constant, named rewrites are done. A text says what was done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from whet.ir.graph import Graph, Guard, Input, Node, OpNode, Ref, Type
from whet.passes.drop_identities import drop_identities
from whet.passes.drop_unused import drop_unused
from whet.passes.listing import Listing
from whet.passes.pipeline import rewrite
from whet.passes.value_uses import Uses, is_view, memories

from ..program.liveness import Roots, seen_nodes
from ..values.same_bits import copy_with_layout
from . import constants
from .recording import Recorded
from .unused_names import unused

# A folded constant may be so much larger than what it is made of: more costs the file more than
# the call.
GROWTH, LEAST = 2, 1 << 20


class Simplified:
    """The graph, and the arrays of its constants by name. `rewrites`: what was done, in words."""

    def __init__(
        self,
        run: Recorded,
        name: str,
        rewrites: Sequence[str],
        holes: Mapping[int, Any] | None = None,
        fold: bool = True,
    ) -> None:
        self.differing = holes  # by id, the nodes that differ with sizes
        self.run, self.rewrites = run, list[str]()
        self.values = list(dict.fromkeys(run.values))
        self.names = constants.names(run)
        self.held = {n: t._array for n, t in run.outside.items()}
        self.arrays = list(run.arrays)
        outside = [*run.inputs, *run.outside]
        self.roots = Roots(run.nodes, outside, self.values)
        nodes = seen_nodes(run.nodes, self.roots.root, outside, self.values)
        nodes = self.rewritten(nodes, rewrites)
        if holes is None:  # what does nothing at one size may do something at others
            nodes = self.without_identities(nodes)
        nodes = self.folded(nodes) if fold else self.without_checks_of_constants(nodes)
        self.holes = {
            i: holes[id(n.source or n)]
            for i, n in enumerate(nodes)
            if holes is not None and id(n.source or n) in holes
        }
        self.graph = self.numbered(nodes, name)

    @property
    def visible(self) -> set[int]:
        """The values that are visible outside."""
        return {*self.values, *self.roots.moving}

    def rewritten(self, nodes: list[Node], names: Sequence[str]) -> list[Node]:
        """The nodes after the rewrites of these names."""
        if not names:
            return nodes
        nodes, _, notes = rewrite(
            nodes, self.roots.root, self.arrays, self.visible, names, set(self.held)
        )
        self.rewrites += notes
        return list(nodes)

    def without_identities(self, nodes: list[Node]) -> list[Node]:
        """The nodes without those that give what is there."""
        root = self.roots.root
        g = Listing(nodes, memories(nodes, root, self.arrays), self.arrays, self.visible)
        made = drop_unused(drop_identities(g)).nodes
        if len(made) < len(nodes):
            self.rewrites.append(
                "left out " + counted(len(nodes) - len(made), "identity", "identities")
            )
        return list(made)

    # ---- constants -------------------------------------------------------------------------------
    def folded(self, nodes: list[Node]) -> list[Node]:
        """The nodes that do not depend on constants alone; what the others made and these read is
        held as a constant."""
        uses = Uses(nodes, self.roots.root)
        known: dict[int, Any] = dict(self.held)
        origin = dict(self.names)
        folded: dict[int, str] = {}
        kept: list[Node] = []
        for n in nodes:
            if isinstance(n, Guard) and n.refs()[0] in known:
                continue  # a constant is what it was
            made = self.computed(n, known, uses)
            known.update(zip(n.outs, made or ()))
            origin.update(
                (o, origin[n.refs()[0]]) for o in n.outs if n.refs() and n.refs()[0] in origin
            )
            is_shown = is_view(n) and not any(x in folded for x in n.refs())
            if made is None or n.op is None or is_shown or not n.refs():
                kept.append(n)
            else:
                folded.update((o, origin.get(o, n.op.name)) for o in n.outs)
        for o in folded.keys() & ({int(x) for n in kept for x in n.refs()} | set(self.values)):
            self.held[o] = self.arrays[o] = known[o]
            self.names[o] = unused(f"{folded[o]}.folded", self.names.values())
        if folded:
            self.rewrites.append(
                f"computed {counted(len(folded), 'constant', 'constants')} beforehand"
            )
        root = self.roots.root
        return list(drop_unused(Listing(kept, root, self.arrays, set(self.values))).nodes)

    def without_checks_of_constants(self, nodes: list[Node]) -> list[Node]:
        """The nodes without guards on what constants alone make: these hold in every call."""
        known = set(self.held)
        for n in nodes:
            if isinstance(n, OpNode) and not n.op.random and known.issuperset(n.refs()):
                known.update(n.outs)
        written = {self.roots.root.get(int(x), x) for n in nodes for x in n.written()}
        known = {v for v in known if self.roots.root.get(v, v) not in written}
        return [n for n in nodes if not (isinstance(n, Guard) and n.refs()[0] in known)]

    def computed(self, n: Node, known: dict[int, Any], uses: Uses) -> list[Any] | None:
        """What a node makes of constants; None where it is to stay."""
        root = self.roots.root
        if (
            not isinstance(n, OpNode)
            or not (n.op.pure or is_view(n))
            or n.op.random
            or getattr(n.op, "bodies", None)
            or not all(x in known for x in n.refs())
            or any(uses.writes.get(root[o]) for o in n.outs)
            or (self.differing is not None and id(n.source or n) in self.differing)
        ):
            return None
        read = sum(known[x].nbytes for x in n.refs())
        if sum(self.arrays[o].nbytes for o in n.outs) > max(LEAST, GROWTH * read):
            return None
        with np.errstate(all="ignore"):
            made = n.op.forward(*[known[x] if type(x) is Ref else x for x in n.ins], **n.attrs)
        made = [np.asarray(a) for a in (made if type(made) is tuple else (made,))]
        fits = all(Type.of(a) == Type.of(self.arrays[o]) for a, o in zip(made, n.outs))
        return made if fits else None

    # ---- the graph -------------------------------------------------------------------------------
    def numbered(self, nodes: list[Node], name: str) -> Graph:
        """The graph, its values numbered in order: arguments, constants, what is made."""
        read = {int(x) for n in nodes for x in n.refs()} | set(self.values)
        held = [n for n in self.held if n in read]
        order = dict.fromkeys([*self.run.inputs, *held, *(o for n in nodes for o in n.outs)])
        new = {n: i for i, n in enumerate(order)}
        made = [renumbered(n, new) for n in nodes]
        self.constants = {self.names[n]: copy_with_layout(self.held[n]) for n in held}
        named = enumerate(zip(self.run.inputs, self.run.input_names))
        inputs = [Input(new[n], f"argument {i}", called) for i, (n, called) in named]
        inputs += [Input(new[n], "constant", self.names[n]) for n in held]
        results = list(zip([new[n] for n in self.values], self.run.result_names))
        arrays = [self.arrays[n] for n in order]
        return Graph.of(made, arrays, inputs, results, name)


def counted(n: int, one: str, several: str) -> str:
    """So many of something."""
    return f"{n} {one if n == 1 else several}"


def renumbered(n: Node, new: dict[int, int]) -> Node:
    """A node on values of other numbers."""
    made = n.of(tuple([Ref(new[x]) if type(x) is Ref else x for x in n.ins])).by_itself()
    made.outs = [new[o] for o in n.outs]
    return made
