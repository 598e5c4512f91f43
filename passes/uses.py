"""Who uses a value, and whether a node may be done later than it was: what every pass that moves nodes asks."""
from bisect import bisect_right


class Uses:
    """Of a list of nodes: `users` are, for each memory, the places of the nodes that read or write it (views read nothing), `maker` the
    place of the node that made a value."""

    def __init__(self, nodes, root):
        self.nodes, self.root = nodes, root
        self.users, self.maker, self._writes = {}, {}, {}
        for i, node in enumerate(nodes):
            for o in node.outs:
                self.maker[o] = i
            if is_view(node):
                continue
            for x in touched(node):
                self.users.setdefault(root[x], []).append(i)
            for x in written(node):
                self._writes.setdefault(root[x], []).append(i)

    def later(self, k, i):
        """May node k be done at place i (after all that is there), as far as what it reads goes: is nothing of it written in between?"""
        for x in self.nodes[k].refs():
            writes = self._writes.get(self.root[x])
            if writes:
                at = bisect_right(writes, k)
                if at < len(writes) and writes[at] < i:
                    return False
        return True

    def needed(self, k, i, together):
        """Does a node before place i, other than those `together` (places), use what node k makes?"""
        return any(u < i and u not in together for o in self.nodes[k].outs for u in self.users.get(o, ()))


def is_view(node):
    return node.kind == "op" and node.op.is_view


def touched(node):
    """The values that a node reads or writes."""
    return [*node.refs(), *node.attrs.get("into", {}).values()]


def written(node):
    """The values that a node writes in place."""
    return [node.ins[0]] if node.kind == "write" else node.attrs.get("into", {}).values()
