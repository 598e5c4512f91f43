"""Writing in place to tensors that are part of the recorded graph.

A write to a tensor gives it a new node. A write to a view also rewrites its base: the base's new
node is a `CopySlices`, which sends the gradient through the written region to the op and the rest
to the old base. Other views of the same base find out by the history count of their common cell and
are re-derived from the base when next asked.
"""
from typing import Any

from .. import devices, tensor_base
from ..ir.memory_spans import address
from ..op_table import REGISTRY
from ..strided_memory import index_of_part
from ..tensor_base import (
    IN_INFERENCE,
    OF_FUNCTION,
    ONE_OF_SEVERAL,
    REQUIRES_GRAD,
    VIEW_IN_NO_GRAD,
)
from . import modes
from .hooks import move_retained
from .node import RELEASED, Meta, Node


def each_element_once(t):
    """The part of a tensor that has each place of its memory once, where dimensions repeat it
    (`expand`): writes to it that depend on no position write the tensor."""
    a = t._array
    repeats = [d for d, (s, n) in enumerate(zip(a.strides, a.shape)) if s == 0 and n > 1]
    for d in repeats:
        t = t.narrow(d, 0, 1)
    return t


def check_writable(t, name, part=None):
    """Raise where an in-place op must not touch `t`, or a part of its array."""
    flags = modes.state.flags
    a = t._array if part is None else part
    if not a.flags.writeable:
        raise RuntimeError(f"{name}: the tensor's memory is read-only")
    if 0 in a.strides and any(s == 0 and n > 1 for s, n in zip(a.strides, a.shape)) and a.size:
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a "
            "single memory location. Please clone() the tensor before performing the operation.")
    if t._rg & IN_INFERENCE and not flags & modes.INFERENCE:
        raise RuntimeError(
            "Inplace update to inference tensor outside InferenceMode is not allowed.You can make "
            "a clone to get a normal tensor before doing inplace update.")
    if not flags & modes.GRAD:
        return
    if t._rg & OF_FUNCTION or t._base is not None and t._base._rg & OF_FUNCTION:
        check_not_of_function(t, name)
    if t._base is None:
        if t._rg & REQUIRES_GRAD and t._node is None:
            raise RuntimeError(
                "a leaf Variable that requires grad is being used in an in-place operation "
                f"({name}).")
        return
    b = t._base
    if b._rg & REQUIRES_GRAD:
        check_view_for_history(t, name)
    if (b._rg & REQUIRES_GRAD or t.requires_grad) and b._node is None:
        raise RuntimeError(
            "a view of a leaf Variable that requires grad is being used in an in-place operation "
            f"({name}).")


def check_not_of_function(t, name):
    """A custom Function gave the memory of an input as its result. A record of the write would
    leave out what the Function's backward says of it."""
    if t.requires_grad:
        raise RuntimeError(
            f"Output 0 of {t.grad_fn.name()} is a view and is being modified inplace ({name}). "
            "This view was created inside a custom Function (or because an input was returned "
            "as-is) and the autograd logic to handle view+inplace would override the custom "
            "backward associated with the custom Function, leading to incorrect gradients. This "
            "behavior is forbidden. You can fix this by cloning the output of the custom "
            "Function.")


def writes_at_once(t):
    """May `t` be written without a record: no gradient flows to it, no observer watches, and it is
    no tensor of inference mode?"""
    flags = modes.state.flags
    return (not flags & (modes.INFERENCE | modes.SPECIAL) and not t._rg & IN_INFERENCE
            and not (flags & modes.GRAD and t.requires_grad))


def check_view_for_history(t, name):
    """Views whose kind forbids recorded writes."""
    if t._rg & ONE_OF_SEVERAL:
        raise RuntimeError(
            f"Output 0 of {t.grad_fn.name() if t.grad_fn is not None else 'a multi-view function'} "
            f"is a view and is being "
            f"modified inplace ({name}). This view is the output of a function that returns "
            "multiple views. Such functions do not allow the output views to be modified inplace. "
            "You should replace the inplace operation by an out-of-place one.")
    if t._rg & VIEW_IN_NO_GRAD:
        raise RuntimeError(
            f"A view was created in no_grad mode and is being modified inplace ({name}) with grad "
            "mode enabled. Given that this use case is ambiguous and error-prone, it is "
            "forbidden. You can clarify your code by moving both the view "
            "and the inplace either both inside the no_grad block (if you don't want the inplace "
            "to be tracked) or both outside (if you want the inplace to be tracked).")


def geometry(t, base):
    """The view as shape, strides and offset over the base's memory, in elements; None where
    elements are not the same numbers.

    via: "real" if the view shows parts of complex numbers, "complex" if it shows pairs of the
    base's numbers as complex ones; the geometry counts real numbers then.
    """
    a, b, via = devices.places(t._array), devices.places(base._array), None
    if a.dtype != b.dtype:
        if b.dtype.kind == "c" and a.dtype == b.real.dtype:
            via, b = "real", b[..., None].view(a.dtype)
        elif a.dtype.kind == "c" and b.dtype == a.real.dtype:
            via, a = "complex", a[..., None].view(b.dtype)
        else:
            return None
    n = a.itemsize
    offset = (address(a) - address(b)) // n
    return dict(size=a.shape, stride=tuple(s // n for s in a.strides), offset=offset,
                base_shape=b.shape, base_stride=tuple(s // n for s in b.strides), via=via)


def _plain_node(op, edge, source, **attrs):
    n = Node(op, (edge,), attrs)
    n.inputs, n.versions = (Meta(tensor_base.wrap(source)),), (0,)
    return n


def view_node(t, base_edge):
    """A node (or two) that says: t is this region of the base. None for a view whose elements
    are other numbers than the base's."""
    g = geometry(t, t._base)
    if g is None:
        return None
    source = t._base._array
    if g["via"] == "real":
        base_edge = _plain_node(REGISTRY["view_as_real"], base_edge, source)
        source = source[..., None].view(t._array.dtype)
    index = None if g["via"] else index_of_part(
        g["base_shape"], g["base_stride"], g["size"], g["stride"], g["offset"])
    if index is not None:
        return _plain_node(REGISTRY["slice"], base_edge, source, index=index)
    n = _plain_node(REGISTRY["as_strided"], base_edge, source, size=g["size"], stride=g["stride"],
                    offset=g["offset"], base_stride=g["base_stride"])
    if g["via"] == "complex":
        n = _plain_node(REGISTRY["view_as_complex"], n, t._array[..., None].view(source.dtype))
    return n


def refresh_view(t):
    """Derive a view's history from its base again, after the base was rewritten."""
    base = t._base
    t._hist = t._cell.h
    give_history(t, view_node(t, base._node or base) if base._rg & REQUIRES_GRAD else None)


def give_history(t, node):
    """Let `node` be what made `t` from now on; with None, nothing did. A gradient that `t` retains
    is that of its new value. Its hooks stay with the old value, whose gradient they were to see."""
    before, t._node = t._node, node
    if node is None:
        t._rg &= ~REQUIRES_GRAD
        return
    t._rg |= REQUIRES_GRAD
    if t.retains_grad and before is not None:
        move_retained(t, before, node)


def edge_of(t):
    """What a gradient for `t` flows to."""
    if not t._rg & REQUIRES_GRAD:
        return None
    if t._base is not None and t._cell.h != t._hist:
        refresh_view(t)
        if not t._rg & REQUIRES_GRAD:
            return None
    return t._node or t


class CopySlicesOp:
    """Gradient of base-with-a-region-replaced: the region's part goes through the op that wrote
    it. `ops/complex_views.py` brings what finds the region in a gradient."""
    name, name_of_node = "copy_slices", "whet::autograd::CopySlices"
    saves_output = False
    nondiff_outputs: frozenset[int] = frozenset()
    region_of_copy: Any
    with_region: Any

    @classmethod
    def backward(cls, node, g):
        if node.released:
            raise RuntimeError(RELEASED)
        fn = node.attrs["fn"]
        whole, region = cls.region_of_copy(g, node.attrs["where"])
        others = list(fn.op.backward(fn, region.clone()))
        mine = others.pop(node.attrs["at"])
        if node.edges[0] is None:
            whole = None
        elif g._stands_for_another:
            whole = cls.with_region(g, node.attrs["where"], mine)
        elif mine is None:
            region.zero_()
        else:
            region.copy_(mine)
        return [whole, *others]


_copy_slices = CopySlicesOp()


class CopySlices(Node):
    """The node of a base whose region was written. The node of that write is its own, and goes
    when it is released; in a second derivative others may lead to it, and still need it."""
    __slots__ = ()

    def release(self):
        self.attrs, self.released = {}, True


def adopt(t, fn, made, at=0):
    """Make node `fn` the history of `t`, into whose memory it wrote: `made` is `fn` or the one of
    its outputs that `t` is, `at` the number of the input that `t` was."""
    op = fn.op
    cell = t._shared()
    cell.h += 1
    if t._base is None:
        give_history(t, made)
        t._hist = cell.h
        return
    base = t._base
    where = geometry(t, base)
    if where is None:
        raise RuntimeError(
            f"{op.name}: writing in place through a view of another dtype cannot be recorded for "
            "gradients")
    node = CopySlices(_copy_slices, (edge_of(base), *fn.edges[:at], *fn.edges[at + 1:]),
                      dict(fn=fn, where=where, at=at))
    give_history(base, node)
    base._hist = cell.h
    give_history(t, view_node(t, node))
    t._hist = cell.h


def adopt_constant(t):
    """Give `t`, into whose memory an op without a derivative wrote, the history of a filled
    tensor: its new values do not depend on the old ones."""
    node = _plain_node(REGISTRY["fill"], edge_of(t), t._array)
    node.edges, node.inputs, node.versions = (*node.edges, None), (*node.inputs, None), (0, 0)
    adopt(t, node, node)
