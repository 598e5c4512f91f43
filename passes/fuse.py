"""Fusion of pointwise nodes, and of reductions with what they reduce: nodes of one shape that feed each other become one kernel with several results.

    %2 = mul(%0, %1)
    %3 = add(%2, %0)        ->      %3 = fused(%0, %1){mul; add}

A fused kernel computes the very expressions that the nodes compute alone, in the same types (a half type is rounded where it was
stored), so it changes no bit; it stands where the last of its nodes was. Nodes are not fused over a write or a guard, nor where a value
would be needed before the kernel runs. A reduction takes in the pointwise node that nothing else reads:

    %2 = mul(%0, %1)
    %3 = sum(%2)            ->      %3 = rows sum(%0, %1){mul}
"""
from whet.ir import scalar as S
from whet.ir.graph import Node, Ref

MOST = 40                        # operands and results of a kernel
TRUTHS = frozenset(("eq", "ne", "lt", "le", "gt", "ge", "isnan", "arg"))
MOST_NODES = 120


class _Group:
    """Nodes of one shape, by their places in the list, which stand at the last of them."""

    def __init__(self, i, shape):
        self.at, self.shape = [i], shape


def fuse(nodes, root, arrays, visible):
    """The list with fused nodes. `root` tells which memory a value lies in, `visible` which values are seen from outside."""
    users, epochs, epoch = {}, [], 0
    for i, node in enumerate(nodes):
        for x in node.refs():
            users.setdefault(root[x], []).append(i)
        epochs.append(epoch)
        epoch += node.kind in ("write", "guard", "ask")
    groups, maker = {}, {}                   # node -> its group; value -> the node that made it
    for i, node in enumerate(nodes):
        if not fusible(node, arrays):
            continue
        group = groups[i] = _Group(i, arrays[node.outs[0]].shape)
        maker[node.outs[0]] = i
        for x in node.refs():
            other = groups.get(maker.get(x))
            if other is not None and other is not group and joinable(other, group, i, nodes, users, epochs):
                other.at = sorted(other.at + group.at)
                for k in group.at:
                    groups[k] = other
                group = other
    out = []
    for i, node in enumerate(nodes):
        group = groups.get(i)
        if group is None or len(group.at) == 1:
            out.append(node)
        elif i == group.at[-1]:
            out.append(kernel([nodes[k] for k in group.at], nodes, users, arrays, visible, root))
    return out


REDUCTIONS = ("sum", "mean", "max", "min")


def reductions(nodes, root, arrays, visible):
    """The list with reductions that compute what they reduce. Such a node is "rows"; `value` are the two that it stands for."""
    users, epochs, epoch, maker = {}, [], 0, {}
    for i, node in enumerate(nodes):
        for x in node.refs():
            users.setdefault(root[x], []).append(i)
        epochs.append(epoch)
        epoch += node.kind in ("write", "guard", "ask")
        for o in node.outs:
            maker[o] = i
    out = list(nodes)
    for i, node in enumerate(nodes):
        if node.kind != "op" or node.op.family != "reduce" or getattr(node.op, "pre", 0) is not None or node.op.kind not in REDUCTIONS \
                or node.attrs.get("dtype") is not None:
            continue
        x = node.ins[0]
        k = maker.get(x)
        if k is None or root[x] != x or users[x] != [i] or x in visible or epochs[k] != epochs[i] or out[k] is None:
            continue
        before = out[k]
        if before.kind != "fused" and not fusible(before, arrays) or before.outs != [x] or not arrays[node.outs[0]].size:
            continue
        if before.kind != "fused":
            before = kernel([before], nodes, users, arrays, visible | {x}, root)
        joined = Node("rows", node.op, before.ins, node.attrs, node.outs, node.line, [before, node])
        joined.roots = before.roots
        out[k], out[i] = None, joined
    return [n for n in out if n is not None]


def write_through(nodes, root, arrays, visible):
    """The list without copies of what one fused node made for them: it writes to their place itself (`attrs["into"]`: value -> place).

        %3 = fused(%0, %1){...}
        write copy(%0, %3)          ->      %3 = fused(%0, %1){...} into %0
    """
    users, maker = {}, {}
    for i, node in enumerate(nodes):
        for x in node.refs():
            users.setdefault(root[x], []).append(i)
        for o in node.outs:
            maker[o] = i
    out = list(nodes)
    for i, node in enumerate(nodes):
        if node.kind != "write" or node.op.name != "copy" or node.attrs or type(node.ins[1]) is not Ref:
            continue
        place, x = node.ins
        k = maker.get(x)
        if k is None or root[x] != x or users[x] != [i] or x in visible or out[k] is None:
            continue
        if maker.get(place, -1) >= k or maker.get(root[place], -1) >= k:         # the place is not there yet
            continue
        a, b, before = arrays[place], arrays[x], out[k]
        if a.dtype != b.dtype or a.shape != b.shape or not (a.flags.c_contiguous and b.flags.c_contiguous and a.flags.aligned):
            continue
        if before.kind != "fused" and not fusible(before, arrays):
            continue
        near = out[k + 1:i]
        if any(n is not None and (n.kind not in ("fused", "write") and not fusible(n, arrays) or root[place] in {root[r] for r in _touched(n)})
               for n in near) or any(root[r] == root[place] and r != place for r in _touched(before)):
            continue
        if before.kind != "fused":
            before = out[k] = kernel([before], nodes, users, arrays, visible | {x}, root)
        into = before.attrs.setdefault("into", {})
        if place in into.values():
            continue
        into[x] = place
        out[i] = None
    return [n for n in out if n is not None]


PASSES = [fuse, reductions, write_through]       # in this order


def _touched(node):
    """The values that a node reads or writes."""
    return [*node.refs(), *node.attrs.get("into", {}).values()]


def fusible(node, arrays):
    """May the node be a part of a kernel?"""
    if node.kind != "op" or node.op.family != "pointwise" or node.attrs:
        return False
    a = arrays[node.outs[0]]
    plain = a.size and a.flags.c_contiguous and a.dtype.kind != "c"
    return plain and all(arrays[x].dtype.kind != "c" if type(x) is Ref else type(x) in (int, float, bool) for x in node.ins)


def joinable(a, b, i, nodes, users, epochs):
    """May two groups be one that stands at node i?"""
    at = a.at + b.at
    if a.shape != b.shape or len(at) > MOST_NODES or any(epochs[k] != epochs[i] for k in at):
        return False
    together = set(at)
    if any(u < i and u not in together for k in at for u in users.get(nodes[k].outs[0], ())):
        return False
    made = {nodes[k].outs[0] for k in at}
    seen = sum(any(u > i for u in users.get(x, ())) for x in made)
    return len({x for k in at for x in nodes[k].refs()} - made) + seen <= MOST


def kernel(members, nodes, users, arrays, visible, root):
    """The fused node, with the expressions of its results (`roots`)."""
    ins, places, known = [], {}, {}

    def operand(x, key):
        if key not in places:
            places[key] = S.arg(len(ins))
            ins.append(x)
        return places[key]
    for n in members:
        one, number, t = n.op.plan([arrays[x] if type(x) is Ref else x for x in n.ins])
        by = {}
        for k, x in enumerate(n.ins):
            if type(x) is Ref:
                by[k] = known[x] if x in known else operand(x, x)
            else:
                x = n.op._number(x, number, t)               # a number of the type that the node's own kernel reads
                by[k] = operand(x, (x.dtype.str, x.tobytes()))
        e = S.substitute(one.roots[0], by)
        if arrays[n.outs[0]].dtype.kind == "b" and e.op not in TRUTHS:
            e = S.ne(e, 0)                   # memory holds 0 or 1
        known[n.outs[0]] = e
    inside = {id(n) for n in members}
    outs = [v for v in known if v in visible or any(id(nodes[u]) not in inside for u in users.get(v, ()))]
    node = Node("fused", None, tuple(ins), {}, outs, members[-1].line, members)
    node.roots = tuple(known[v] for v in outs)
    return node
