"""The recorded graph: each result knows the node that made it, a node knows its inputs' nodes.
Nothing points forward.

An *edge* is what an input leads to: the node that made it, the leaf tensor itself where gradients
end, or None.
"""
import traceback
import weakref
from typing import Any, NamedTuple

from .. import tensor_base
from ..dtypes import FLOAT, FROM_NUMPY, from_numpy
from ..tensor_base import IN_INFERENCE, REQUIRES_GRAD
from . import modes
from .hooks import Hooks, check_count
from .names_of_nodes import named
from .unsaved_input import Shape as Shape

next_number = tensor_base.next_number
# what is to be done when a program first looks at a graph (see ops/saved_names.py)
first_look: list = []

RELEASED = (
    "Trying to backward through the graph a second time (or directly access saved tensors after "
    "they have already been freed). Saved intermediate values of the graph are freed when you "
    "call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward "
    "through the graph a second time or if you need to access saved tensors after calling backward."
)
CHANGED = (
    "one of the variables needed for gradient computation has been modified by an inplace operation"
)


class Meta(Shape):
    """The shape and type of a tensor."""
    __slots__ = ()

    def __init__(self, t):
        a = t._array
        self.shape, self.dtype, self.ndim = a.shape, FROM_NUMPY[a.dtype], a.ndim


class SavedOutput:
    """An output's memory without the output itself: a node that held its own result would be a
    cycle."""
    __slots__ = ("array", "cell", "version", "index", "inside")

    def __init__(self, t, index):
        self.array, self.cell, self.index = t._array, t._shared(), index
        self.version = self.cell.v
        # the array is not all of such a tensor
        self.inside = t._bare() if t._stands_for_another else None

    @classmethod
    def of(cls, array, cell, version, index=0):
        """The saved output that is a plain tensor over this memory."""
        s = object.__new__(cls)
        s.array, s.cell, s.version, s.index, s.inside = array, cell, version, index, None
        return s


def is_shown_to_hooks(x):
    """Do pack hooks see a tensor that a node saves? The history of tensors that are not of the
    transform which the code that runs now is in lies in outer layers: hooks would cut it off. What
    stands for a Python number is not seen either, as a number is not."""
    observers = modes.state.observers
    if not observers:
        return True
    owns = getattr(observers[-1], "owns", None)
    return not observers[-1].is_number(x) if owns is None else owns(x)


class Packed:
    """A saved tensor that went through the user's pack hook."""
    __slots__ = ("value", "hook")

    def __init__(self, t, hooks):
        pack, self.hook = hooks
        unsaved = t._without_history()
        before = unsaved._version
        self.value = pack(unsaved)
        if unsaved._version != before:
            raise RuntimeError(
                "A saved tensor pack hook is modifying its input in place. Tensors passed as input "
                "to pack hook can not be modified in place.")

    def unpack(self, edge):
        """The tensor again, with the history (an edge) of the one that was packed."""
        t = self.hook(self.value)
        if not isinstance(t, tensor_base.Base):
            raise TypeError(
                "Output of saved tensor unpack_hook expected to be a Tensor but got result of "
                f"type {type(t).__name__}")
        return t if edge is None or not modes.state.flags & modes.GRAD else with_history(t, edge)


def without_base(t):
    """A tensor that a node may save in the place of `t`: one with its memory, version and history,
    but no base. A base that is written to later leads to the node of that write, and so may lead
    back to what saved its view: a circle that nothing frees."""
    if t._base is None or t._rg & REQUIRES_GRAD and t._node is None:
        return t                             # gradients end at a leaf
    return without_write(t)


def without_write(t):
    """A tensor with the memory, version and history that `t` has now. The node of a write to `t`
    that saved `t` itself would be held by what it holds."""
    if t._stands_for_another:
        return t
    r = t._bare()
    if type(r) is not type(t):
        return t
    r._rg, r._node = t._rg & REQUIRES_GRAD, t._node
    return r


def is_saved(x, version):
    """Is what a node keeps of an input something that `release` drops? A number that the backward
    reads is: it has a version of 1."""
    return (isinstance(x, tensor_base.Base) or type(x) is Packed
            or version == 1 and isinstance(x, int | float | complex))


class _AliasOp:
    """The op of a tensor that is an alias of a leaf."""
    name, saves_output = "alias", False
    nondiff_outputs: frozenset[int] = frozenset()

    @staticmethod
    def backward(node, g):
        return [g]


def with_history(t, edge):
    """A tensor over t's memory whose gradient flows to `edge`."""
    r = t._bare()
    r._rg = REQUIRES_GRAD
    r._node = Node(_AliasOp, (edge,), {}) if isinstance(edge, tensor_base.Base) else edge
    return r


# what users keep at nodes: few do, so nodes have no place for it
_metadata: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()


class Node:
    """One recorded call of an op.

    >>> import whet
    >>> y = whet.ones(2, requires_grad=True).exp()
    >>> y.grad_fn.name(), isinstance(y.grad_fn, whet.autograd.graph.Node)
    ('ExpBackward0', True)

    Its class has that name: `type(y.grad_fn).__name__`.
    """
    __slots__ = ("op", "edges", "inputs", "outputs", "attrs", "seq", "versions", "pre_hooks",
                 "post_hooks", "trace", "released", "nout", "outlines", "__weakref__")

    def __init__(self, op, edges, attrs, nout=1):
        self.op, self.edges, self.attrs, self.nout = op, edges, attrs, nout
        self.inputs: tuple = ()
        self.outputs: tuple = ()
        self.versions: tuple[int, ...] = ()
        self.seq = next_number()
        self.pre_hooks = self.post_hooks = self.outlines = None
        self.released = False
        self.trace = "".join(traceback.format_stack()[:-3]) if modes.state.anomaly else None

    def name(self):
        return backward_name(self.op)

    def __repr__(self):
        return f"<{self.name()} object at {id(self):#x}>"

    @property
    def next_functions(self):
        """The nodes (with output numbers) that gradients flow to."""
        from .accumulate import AccumulateGrad
        return tuple((None, 0) if e is None else (named(e.parent), e.index)
                     if type(e) is OutputOf else (named(e), 0)
                     if hasattr(e, "edges") else (AccumulateGrad(e), 0)
                     for e in map(in_full, self.edges))

    @property
    def metadata(self):
        """A dict in which users may keep what they like."""
        modes.beyond("it keeps something at a node of the graph")
        return _metadata.setdefault(self, {})

    def register_hook(self, fn):
        """Call `fn(grad_inputs, grad_outputs)` after this node ran; what it returns replaces
        grad_inputs."""
        if self.post_hooks is None:
            self.post_hooks = Hooks()
        return self.post_hooks.add(fn)

    def register_prehook(self, fn):
        """Call `fn(grad_outputs)` before this node runs; what it returns replaces grad_outputs."""
        if self.pre_hooks is None:
            self.pre_hooks = Hooks()

        def hook(g):
            gradients = tuple(g) if isinstance(g, list) else (g,)
            r = fn(gradients)
            if r is None or not isinstance(r, tuple | list):
                return r
            check_count(fn, r, gradients)
            return list(r) if isinstance(g, list) else r[0]
        hook.turn = 2
        return self.pre_hooks.add(hook)

    def save(self, inputs, result, op):
        """Keep what the op's backward to its edges reads: tensors with their versions, metadata of
        the rest."""
        self.save_inputs(inputs, op)
        self.save_outputs(result, op)

    def save_inputs(self, inputs, op):
        """The inputs' part of it. An op that writes in place has it done before it writes: pack
        hooks want the values that the op reads, and an input may lie in what it writes."""
        keep = op.saves
        hooks = modes.state.saved_hooks
        kept, versions = [], []
        for i, x in enumerate(inputs):
            if not hasattr(x, "_array"):
                kept.append(x)
                # See `release`.
                versions.append(int((keep is None or i in keep) and op.reads(i, self.edges)))
            elif (keep is None or i in keep) and op.reads(i, self.edges):
                if x._rg & IN_INFERENCE:
                    raise RuntimeError(
                        "Inference tensors cannot be saved for backward. To work around you can "
                        "make a clone to get a normal tensor and use it in autograd.")
                versions.append(x._version)
                kept.append(Packed(x, hooks[-1]) if hooks and is_shown_to_hooks(x) else
                            without_base(x))
            else:
                kept.append(Meta(x))
                versions.append(0)
        self.inputs, self.versions = tuple(kept), tuple(versions)

    def save_outputs(self, result, op):
        """The outputs' part of it."""
        hooks = modes.state.saved_hooks
        if op.saves_output:
            outs, only = result if isinstance(result, tuple) else (result,), op.saved_outputs
            self.outputs = tuple([
                None
                if only and i not in only else Packed(t, hooks[-1]) if hooks else SavedOutput(t, i)
                for i, t in enumerate(outs)])

    def saved_inputs(self):
        """The inputs as the backward sees them; raises if one was changed since."""
        if self.released:
            raise RuntimeError(RELEASED)
        packed = False
        for i, (x, v) in enumerate(zip(self.inputs, self.versions)):
            if type(x) is Packed:
                packed = True
            elif (v is not None and hasattr(x, "_array") and x._version != v
                  and self.op.reads(i, self.edges)):
                raise changed(self.op, x._array, x._version, v, x)
        return (tuple([
            x.unpack(e) if type(x) is Packed else x
            for x, e in zip(self.inputs, self.edges)]) if packed else self.inputs)

    def saved_outputs(self):
        """The outputs, tied to this node again so that a second derivative flows through them."""
        if self.released:
            self.saved_inputs()
        out: list = []
        for i, s in enumerate(self.outputs):
            if s is None:
                out.append(None)
                continue
            if type(s) is Packed:
                out.append(s.unpack(None if i in self.op.nondiff_outputs else self if self.nout == 1
                                    else OutputOf(self, i)))
                continue
            if s.cell.v != s.version and self.op.reads(-1, self.edges):
                raise changed(self.op, s.array, s.cell.v, s.version, s)
            out.append(tied(s, self))
        return tuple(out)

    def release(self):
        """Drop the saved tensors. A node that saved none can run again."""
        if self.outputs or any(map(is_saved, self.inputs, self.versions)):
            self.inputs = self.outputs = ()
            self.released = True


class OutputOf:
    """One output of a node that has several."""
    __slots__ = ("parent", "index", "seq", "pre_hooks", "__weakref__")

    def __init__(self, parent, index):
        self.parent, self.index, self.seq, self.pre_hooks = parent, index, next_number(), None

    @property
    def edges(self):
        return (self.parent,)


class _Place(NamedTuple):
    node: Any
    output_nr: int
    ownership_token: Any = None              # the edge that a tensor of this place has


class GradientEdge(_Place):
    """A node and the number of one of its outputs.

    >>> import whet
    >>> x = whet.tensor([3.0], requires_grad=True)
    >>> y = x * 2
    >>> edge = whet.autograd.graph.get_gradient_edge(y)
    >>> edge.node is y.grad_fn, edge.output_nr
    (True, 0)
    """
    outline: Any = None                      # (shape, dtype, device) of a tensor of this place

    def edge(self):
        """What the engine knows this place by."""
        if self.ownership_token is not None:
            return self.ownership_token
        leaf = getattr(self.node, "variable", None)
        if leaf is not None:
            return leaf
        if self.node.nout > 1:
            raise RuntimeError(
                f"{self.node.name()} has several outputs: make the edge of one of them by "
                "whet.autograd.graph.get_gradient_edge(tensor)")
        return self.node


class Shortcut(Node):
    """A node in the place of a whole graph, which is built only if code looks into it."""
    __slots__ = ()

    def open(self):
        """Become the last node of that graph (whoever holds this node as an edge then holds that
        one)."""
        raise NotImplementedError

    def stale(self):
        """Has anything that it saved been written to?"""
        raise NotImplementedError

    def shares(self):
        """Could a gradient that it gives lie in the memory of one that it is given, or of
        another that it gives?"""
        return False

    def broke_off(self):
        """Its backward raised: drop what those nodes of the graph there saved that ran before
        the one that did (an opened one: none)."""


def in_full(edge):
    """An edge, with the graph there in place of a short cut."""
    node = edge.parent if type(edge) is OutputOf else edge
    if isinstance(node, Shortcut):
        node.open()
    return edge


def backward_name(op):
    """`log_softmax` -> `LogSoftmaxBackward0`"""
    own = getattr(op, "name_of_node", None)
    return own or "".join(w[:1].upper() + w[1:] for w in op.name.split("_") if w) + "Backward0"


def changed(op, array, now, then, what):
    """The error of a saved tensor that was modified in place, naming the op that needs it and
    the one that wrote."""
    cell = what.cell if type(what) is SavedOutput else what._cell
    writer = cell.writer
    by = f", by `{writer}`" if writer else ""
    return RuntimeError(
        f"{CHANGED}{by}: [{from_numpy(array.dtype)} {list(array.shape)}], which `{op.name}` saved "
        f"for its backward, is at version {now}; expected version {then} instead. Hint: enable "
        "anomaly detection to find the operation that failed to compute its gradient, with "
        "whet.autograd.set_detect_anomaly(True).")


def tied(saved, node):
    """A tensor over a saved output's memory whose history is `node`."""
    if saved.inside is None:
        t = tensor_base.wrap(saved.array)
    else:
        t = saved.inside._bare()
    t._cell = saved.cell
    if saved.index not in node.op.nondiff_outputs:
        t._rg = REQUIRES_GRAD
        t._node = node if node.nout == 1 else OutputOf(node, saved.index)
    return t


# ---- the native node -----------------------------------------------------------------------------
def stale_inputs(node):
    """`saved_inputs` of a native node that was released, or one of whose inputs was written to
    (or is of a class of its own)."""
    if node.released_:
        raise RuntimeError(RELEASED)
    xs = node.inputs
    for i, (x, v) in enumerate(zip(xs, node.versions)):
        if isinstance(x, tensor_base.Base) and x._version != v and node.op.reads(i, node.edges):
            raise changed(node.op, x._array, x._version, v, x)
    return xs


def keep_outputs(node, outs):
    """Give each of the several results of a native node an edge of its own, and the node what
    `record` and `save_outputs` give others: what the results are like, and what the backward reads
    of them. The node comes as that of the first result, which lets go of it here."""
    op, outline = node.op, []
    without = op.nondiff_outputs
    outs[0]._node = None
    for i, t in enumerate(outs):
        a = t._array
        dtype = FROM_NUMPY[a.dtype]
        outline.append((a.shape, dtype))
        if dtype.category >= FLOAT and i not in without:
            t._node = OutputOf(node, i)
            t._rg |= REQUIRES_GRAD
    node.outlines = tuple(outline)
    if op.saves_output:
        only = op.saved_outputs
        node.kept_outputs = tuple([
            None if only and i not in only else SavedOutput(t, i) for i, t in enumerate(outs)])


def _native_node(cls):
    """Give the native node type the rest of Node's interface."""
    most = sum(name.startswith("version") for name in vars(cls))
    saved, version = ([f"{k}{i}" for i in range(most)] for k in ("saved", "version"))

    def inputs(self):
        return tuple([getattr(self, k) for k in saved[:self.nin]])

    def versions(self):
        return tuple([getattr(self, k) for k in version[:self.nin]])

    def outputs(self):
        if self.nout > 1:
            return self.kept_outputs or ()
        c = self.out_cell
        return () if c is None else (SavedOutput.of(self.out_array, c, self.out_version),)
    cls.inputs, cls.versions, cls.outputs = property(inputs), property(versions), property(outputs)
    cls.saved_outputs = Node.saved_outputs
    cls.released = property(lambda self: bool(self.released_))
    cls.name, cls.__repr__, cls.next_functions = Node.name, Node.__repr__, Node.next_functions
    cls.register_hook, cls.register_prehook = Node.register_hook, Node.register_prehook
    cls.metadata = Node.metadata


if tensor_base.NativeNode is not None:
    _native_node(tensor_base.NativeNode)
