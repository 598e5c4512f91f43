"""What changes a tensor itself: what it says of its memory, or the memory."""
from .. import devices
from ..autograd import inplace as ip
from ..autograd import modes
from ..autograd.node import Node
from ..tensor_base import REQUIRES_GRAD
from .pointwise_family import inplace
from .registry import edge_of


def reshape_inplace(op, t, attrs):
    """Replace a tensor's shape and strides by those of a view of itself, with history."""
    if modes.state.observers:
        return modes.state.observers[-1].inplace(op, t, (), attrs)
    return reshape_now(op, t, attrs)


def in_place(op, t, args, attrs):
    """Any op that changes a tensor, or what it says of its memory."""
    if op.is_view:
        return reshape_inplace(op, t, attrs)
    if op.name == "resize":
        return t.resize_(attrs["size"])
    return inplace(op, t, args, attrs)


def _viewed(op, a, attrs):
    return (devices.beyond.forward(op, (a,), attrs) if devices.is_elsewhere(a) else
            op.forward(a, **attrs))


def reshape_now(op, t, attrs):
    """Give a tensor another shape in place, unseen by observers."""
    name = op.name + "_"
    if modes.state.flags & modes.GRAD and t.requires_grad:
        source = t if t._base is None else t._base
        if source._rg & REQUIRES_GRAD and source._node is None:
            what = "a leaf Variable" if source is t else "a view of a leaf Variable"
            raise RuntimeError(
                f"{what} that requires grad is being used in an in-place operation ({name}).")
        ip.check_view_for_history(t, name)
        node = Node(op, (edge_of(t),), attrs)
        node.save((t,), t, op)
        t._array = _viewed(op, t._array, attrs)
        ip.give_history(t, node)
    else:
        t._array = _viewed(op, t._array, attrs)
    t._bump(name)
    return t
