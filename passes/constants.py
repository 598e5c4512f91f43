"""What depends on constants alone was computed when the run was recorded, by eager's own kernels: it is a constant.

    %1 = constant(array=1.0)
    %2 = div(%1, 2048)           ->     %2 = constant(array=0.00048828125)
"""
from whet.ir.graph import Node
from whet.passes.uses import Uses, is_view

MOST = 1 << 16                   # elements that are kept


def fold_constants(nodes, root, arrays, visible):
    """The list with them."""
    from whet.ops.registry import REGISTRY
    uses, known, out = Uses(nodes, root), set(), []
    for node in nodes:
        calm = node.kind == "op" and not node.op.random and not any(uses.writes.get(root[o]) or root[o] in visible for o in node.outs)
        refs = node.refs()
        if calm and not refs and not any(arrays[o].size > MOST for o in node.outs):
            known.update(node.outs)
        elif calm and refs and known.issuperset(refs) and not any(arrays[o].size > MOST for o in node.outs):
            known.update(node.outs)
            if not is_view(node) and node.op.pure:
                for o in node.outs:
                    out.append(Node("op", REGISTRY["constant"], (), {"array": arrays[o].copy(order="K")}, [o], node.line))
                    out[-1].source = node
                continue
        out.append(node)
    return out
