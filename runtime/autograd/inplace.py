"""Writing in place to tensors that are part of the recorded graph.

A write to a tensor gives it a new node. A write to a view also rewrites its base: the base's new node is a `CopySlices`, which
sends the gradient through the written region to the op and the rest to the old base. Other views of the same base find out by
the history count of their common cell and are re-derived from the base when next asked.
"""
from . import modes
from .node import Node


def check_writable(t, name):
    """Raise where an in-place op must not touch `t`."""
    flags = modes.state.flags
    a = t._array
    if not a.flags.writeable:
        raise RuntimeError(f"{name}: the tensor's memory is read-only")
    if 0 in a.strides and any(s == 0 and n > 1 for s, n in zip(a.strides, a.shape)) and a.size:
        raise RuntimeError("unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
                           "Please clone() the tensor before performing the operation.")
    if t._rg & 2 and not flags & modes.INFERENCE:
        raise RuntimeError("Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone to get a normal "
                           "tensor before doing inplace update.")
    if not flags & modes.GRAD:
        return
    if t._base is None:
        if t._rg & 1 and t._node is None:
            raise RuntimeError(f"a leaf Variable that requires grad is being used in an in-place operation ({name}).")
        return
    b = t._base
    if b._rg & 1 and b._node is None:
        raise RuntimeError(f"a view of a leaf Variable that requires grad is being used in an in-place operation ({name}).")


def check_view_for_history(t, name):
    """Views whose kind forbids recorded writes."""
    if t._rg & 8:
        raise RuntimeError(f"Output 0 of {t.grad_fn.name() if t.grad_fn is not None else 'a multi-view function'} is a view and is being "
                           f"modified inplace ({name}). This view is the output of a function that returns multiple views. Such functions "
                           "do not allow the output views to be modified inplace. You should replace the inplace operation by an "
                           "out-of-place one.")
    if t._rg & 4:
        raise RuntimeError(f"A view was created in no_grad mode and is being modified inplace ({name}) with grad mode enabled. Given that "
                           "this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both the view "
                           "and the inplace either both inside the no_grad block (if you don't want the inplace to be tracked) or both "
                           "outside (if you want the inplace to be tracked).")


def geometry(t, base):
    """The view as shape, strides and offset over the base's memory, in elements."""
    a, b = t._array, base._array
    size = a.itemsize
    if a.dtype == b.dtype:
        offset = (a.__array_interface__["data"][0] - b.__array_interface__["data"][0]) // size
        return dict(size=a.shape, stride=tuple(s // size for s in a.strides), offset=offset, exact=True)
    return None


def view_node(t, base_edge):
    """A node that says: t is this region of the base."""
    from ..ops.registry import REGISTRY
    from .node import Meta
    g = geometry(t, t._base)
    op = REGISTRY["as_strided_of"]
    n = Node(op, (base_edge,), dict(size=g["size"], stride=g["stride"], offset=g["offset"]))
    n.inputs, n.versions = (Meta(t._base),), (0,)
    n.attrs["base_stride"] = tuple(s // t._base._array.itemsize for s in t._base._array.strides)
    return n


def refresh_view(t):
    """Derive a view's history from its base again, after the base was rewritten."""
    base = t._base
    t._hist = t._cell.h
    if base._rg & 1:
        t._node = view_node(t, base._node or base)
        t._rg |= 1
    else:
        t._node = None
        t._rg &= ~1


class _CopySlicesOp:
    """Gradient of base-with-a-region-replaced: the region's part goes through the op that wrote it."""
    name = "copy_slices"
    saves_output = False
    nondiff_outputs = frozenset()

    @staticmethod
    def backward(node, g):
        fn, where = node.attrs["fn"], node.attrs["where"]
        from ..ops import as_strided
        whole = g.clone(memory_format="contiguous")
        place = _in_contiguous(where, node.attrs["base_shape"], node.attrs["base_stride"])
        if place is None:
            raise NotImplementedError("backward through an in-place write to this view of a non-contiguous base is not supported")
        region = as_strided(whole, *place)
        inner = list(fn.op.backward(fn, region.clone()))
        if node.edges[0] is None:
            whole = None
        else:
            first = inner[0] if fn.edges[0] is not None or node.attrs["through"] else None
            if first is None:
                region.zero_()
            else:
                region.copy_(first)
        return [whole, *inner[1:]]


def _in_contiguous(where, shape, stride):
    """The region (over a base with `stride`) as a region of a row-major copy of the base."""
    size, step, offset = where["size"], where["stride"], where["offset"]
    dense, n = [0] * len(shape), 1
    for d in range(len(shape) - 1, -1, -1):
        dense[d] = n
        n *= shape[d]
    if tuple(dense) == tuple(stride):
        return size, step, offset
    order = sorted((d for d in range(len(shape)) if shape[d] > 1), key=lambda d: -abs(stride[d]))

    def split(amount):
        """An offset in base memory as coordinates of the base, mapped to the dense layout."""
        total, left = 0, amount
        for d in order:
            if stride[d] == 0:
                return None
            k = int(left / stride[d])
            total += k * dense[d]
            left -= k * stride[d]
        return total if left == 0 else None
    new_offset = split(offset)
    new_step = [split(s) for s in step]
    return None if new_offset is None or None in new_step else (size, tuple(new_step), new_offset)


_copy_slices = _CopySlicesOp()


def rebase(t, op, inputs, edges, attrs, save):
    """Give `t`, just written in place by `op`, its new history. `save(node)` stores what the op's backward needs."""
    fn = Node(op, edges, attrs)
    save(fn)
    cell = t._shared()
    cell.h += 1
    if t._base is None:
        t._node = fn
        t._rg |= 1
        t._hist = cell.h
        return
    base = t._base
    where = geometry(t, base)
    if where is None:
        raise RuntimeError(f"{op.name}: writing in place through a view of another dtype cannot be recorded for gradients")
    from ..ops.registry import edge_of
    b = base._array
    node = Node(_copy_slices, (edge_of(base), *edges[1:]),
                dict(fn=fn, where=where, base_shape=b.shape, base_stride=tuple(s // b.itemsize for s in b.strides),
                     through=edges[0] is not None))
    base._node = node
    base._rg |= 1
    base._hist = cell.h
    t._node = view_node(t, node)
    t._rg |= 1
    t._hist = cell.h
