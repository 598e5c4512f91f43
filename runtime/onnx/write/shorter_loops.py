"""Loops that take as many steps as a size says: recordings of different lengths become alike.

A loop of which the steps repeat (`recurrences.py`) is written as one node, whatever their number.
So a recording keeps its first two steps and the last one, and slices that belong to these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from whet.ir.graph import Graph, Input, Node, OpNode, Ref

from .recurrences import Recurrence, Search


def shortened(g: Graph) -> Graph:
    """The graph with three steps of each loop. One whose other steps or slices are read
    stays as it is."""
    results = [v for v, _ in g.results]
    search = Search(g.nodes, results)
    dropped: set[int] = set()
    fewer: dict[int, Node] = {}
    second: dict[int, int] = {}  # what the last step is given: of the second in the place of others
    for r in search.found():
        between = {id(n) for step in r.steps[2:-1] for n in step}
        cut = sliced(r, search)
        read = {id(x) for n in cut for v in set(n.outs) - set(ends(n.outs, r))
                for x in search.readers.get(v, ())}
        if not between or read - between or any(
                1 < step < r.count - 1 for _, step in r.single.values()):
            continue
        dropped |= between
        second.update(
            (v, w) for n, m in zip(r.steps[-2], r.steps[1]) for v, w in zip(n.outs, m.outs))
        places = ends([*range(r.count - 2), -2, -1], r)
        for n in cut:
            attrs = {**n.attrs, "places": places}
            fewer[id(n)] = OpNode(n.op, n.ins, attrs, ends(n.outs, r), n.line)
        for m, _ in r.stacks:
            assert isinstance(m, OpNode)
            fewer[id(m)] = OpNode(m.op, tuple(ends(m.ins, r)), m.attrs, m.outs, m.line)
    kept = [fewer.get(id(n), n) for n in g.nodes if id(n) not in dropped]
    return numbered(g, kept, second)


def sliced(r: Recurrence, search: Search) -> list[OpNode]:
    """The nodes that cut into slices what the steps of a loop read."""
    bases = {s.base for s in r.roles.slices}
    found = {id(n): n for n, _ in search.slice_of.values()
             if int(n.ins[0]) in bases and len(n.outs) == r.count}
    return [n for n in found.values() if isinstance(n, OpNode)]


def ends(values: Sequence[Any], r: Recurrence) -> list[Any]:
    """From one value for each slice, those that the first two steps and the last one read."""
    return [values[0], *values[-2:]] if r.is_reversed else [*values[:2], values[-1]]


def numbered(g: Graph, nodes: Sequence[Node], others: Mapping[int, int]) -> Graph:
    """A graph of these nodes, its values numbered in order; `others`: the values that take the
    place of some."""
    order = dict.fromkeys([*(x.value for x in g.inputs), *(o for n in nodes for o in n.outs)])
    new = {v: i for i, v in enumerate(order)}
    new |= {v: new[w] for v, w in others.items() if v not in new}
    made = []
    for n in nodes:
        m = n.of(tuple([Ref(new[x]) if type(x) is Ref else x for x in n.ins])).by_itself()
        m.outs = [new[o] for o in n.outs]
        made.append(m)
    return Graph(
        made, {new[v]: g.types[v] for v in order},
        [Input(new[x.value], x.place, x.name) for x in g.inputs],
        [(new[v], name) for v, name in g.results], g.name, g.streams)
