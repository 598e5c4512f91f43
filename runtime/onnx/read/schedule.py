"""Which nodes of a graph are needed, and in which order they can run."""
from typing import Any

from ..errors import OnnxError


def in_order(nodes: list[Any], results: list[str], known: set[str]) -> list[Any]:
    """The nodes that lead to these results, in the file's order wherever that is possible."""
    maker: dict[str, int] = {}
    for i, node in enumerate(nodes):
        for name in node.output:
            if name and (name in maker or name in known):
                raise OnnxError(f"the value {name!r} is made twice")
            maker[name] = i
    maker.pop("", None)
    needed = _needed(nodes, results, maker)
    left, done, found = [i for i in range(len(nodes)) if i in needed], set[int](), list[Any]()
    while left:
        later = []
        for i in left:
            if all(maker[n] in done for n in reads(nodes[i]) if n in maker):
                done.add(i)
                found.append(nodes[i])
            else:
                later.append(i)
        if len(later) == len(left):
            listed = ", ".join(repr(nodes[i].name or nodes[i].output[0]) for i in later[:8])
            raise OnnxError(f"the graph has a cycle among the nodes {listed}", placed=True)
        left = later
    return found


def _needed(nodes: list[Any], results: list[str], maker: dict[str, int]) -> set[int]:
    found, stack = set[int](), [maker[n] for n in results if n in maker]
    while stack:
        i = stack.pop()
        if i not in found:
            found.add(i)
            stack += [maker[n] for n in reads(nodes[i]) if n in maker]
    return found


def reads(node: Any) -> set[str]:
    """The names that a node reads, its subgraphs counted."""
    found = {n for n in node.input if n}
    for attribute in node.attribute:
        for graph in (attribute.g, *attribute.graphs) if attribute.HasField("g") else ():
            found |= outer_names(graph)
    return found


def outer_names(graph: Any) -> set[str]:
    """The names that a subgraph reads from the graph around it."""
    own = {v.name for v in graph.input} | {t.name for t in graph.initializer}
    own |= {t.values.name for t in graph.sparse_initializer}
    own |= {n for node in graph.node for n in node.output}
    read = {v.name for v in graph.output}.union(*map(reads, graph.node))
    return read - own - {""}
