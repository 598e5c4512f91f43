"""What depends on constants alone is computed now, by eager's own kernels: it is a constant.

    %1 = constant(array=1.0)
    %2 = div(%1, 2048)           ->     %2 = constant(array=0.00048828125)

(What the recorded run computed is no guide: it may have been written to since, by a write that nobody reads and that is in the list no more.)
"""
import numpy as np
from whet.ir.graph import Node, Ref
from whet.passes.uses import Uses, is_view

MOST = 1 << 16                   # elements that are kept


def fold_constants(nodes, root, arrays, visible):
    """The list with them."""
    from whet.ops.registry import REGISTRY
    uses, known, values, out = Uses(nodes, root), {}, {}, []       # known: value -> the node that makes it, of constants

    def compute(node):
        ins = [value(x) if type(x) is Ref else x for x in node.ins]
        made = node.op.forward(*ins, **node.attrs)
        values.update(zip(node.outs, map(np.asarray, made if type(made) is tuple else (made,))))

    def value(x):
        if x not in values:
            compute(known[x])
        return values[x]
    for node in nodes:
        refs = node.refs()
        if node.kind == "op" and not node.op.random and all(x in known for x in refs) \
                and not any(uses.writes.get(root[o]) or root[o] in visible or arrays[o].size > MOST for o in node.outs):
            known.update(dict.fromkeys(node.outs, node))
            if refs and node.op.pure and not is_view(node):
                compute(node)
                if all(values[o].strides == arrays[o].strides for o in node.outs):
                    out += [Node("op", REGISTRY["constant"], (), {"array": values[o]}, [o], node.line) for o in node.outs]
                    continue
        out.append(node)
    return out
