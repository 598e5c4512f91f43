"""Ops that users define: `autograd.Function`."""
import warnings
import weakref
from typing import Any

from ..composite import Composite
from ..dtypes import COMPLEX, FLOAT
from ..tensor_base import OF_FUNCTION, REQUIRES_GRAD, Base
from . import inplace, modes
from .inplace import edge_of
from .node import Node, OutputOf, Packed, SavedOutput, changed, is_shown_to_hooks, tied


class _FunctionOp:
    """What the engine needs to know of a user's Function."""
    saves_output = False
    nondiff_outputs: frozenset[int] = frozenset()
    python = True                            # its backward is Python of the user's

    def __init__(self, cls):
        self.cls, self.name = cls, cls.__name__

    @property
    def called(self):
        """What users know it by: one of ours says what it is a part of."""
        return getattr(self.cls, "_called", self.name)

    def backward(self, node, g):
        cls, ctx = self.cls, node.ctx
        gs = list(g) if isinstance(g, list) else [g]
        if ctx._materialize:
            from ..ops.creation import zeros
            gs = [
                zeros(shape, dtype=d) if x is None and d is not None and d.category >= FLOAT else x
                for x, (shape, d) in zip(gs, node.outlines)]
        r = backward_of(cls)(ctx, *gs)
        r = r if isinstance(r, tuple) else (r,)
        n = len(node.edges)
        if len(r) > n and all(x is None for x in r[n:]):
            r = r[:n]
        if len(r) != n:
            raise RuntimeError(
                f"function {cls.__name__}Backward returned an incorrect number of gradients "
                f"(expected {n}, got {len(r)})")
        out = []
        for i, (x, e, meta) in enumerate(zip(r, node.edges, ctx._inputs)):
            if x is None or e is None:
                out.append(None)
                continue
            if not hasattr(x, "_array"):
                raise RuntimeError(
                    f"{cls.__name__}.backward: expected a Tensor or None as gradient {i}, got "
                    f"{type(x).__name__}")
            shape, dtype = meta
            if x._array.shape != shape:
                try:
                    x = x.sum_to_size(shape)
                except RuntimeError:
                    raise RuntimeError(
                        f"Function {cls.__name__}Backward returned an invalid gradient at index "
                        f"{i} - got {list(x.shape)} but expected shape compatible with "
                        f"{list(shape)}") from None
            if x.dtype is not dtype:
                is_reduced = x.dtype.category == COMPLEX and dtype.category != COMPLEX
                x = (x.real if is_reduced else x).to(dtype)
            out.append(x)
        return out


class FunctionNode(Node):
    """A node with the user's context, whose attributes are its own."""
    __slots__ = ("ctx",)

    def __getattr__(self, name):
        if name == "ctx":
            raise AttributeError(name)
        return getattr(self.ctx, name)

    def name(self):
        return f"{self.op.name}Backward"

    def release(self):
        self.ctx._saved = None
        self.released = True


class FunctionCtx:
    """What a Function's forward leaves for its backward."""

    def __init__(self):
        self._to_save: tuple = ()
        self._dirty: tuple = ()
        self._nondiff: tuple = ()
        self._saved = None
        self._for_forward = None
        self.needs_input_grad: tuple[bool, ...] = ()
        self._materialize, self._node, self._inputs = True, None, ()

    def save_for_backward(self, *tensors):
        """Keep tensors (inputs or outputs of the forward) for the backward."""
        self._to_save = tensors

    def save_for_forward(self, *tensors):
        """Keep tensors for `jvp`."""
        self._for_forward = tensors

    def mark_dirty(self, *tensors):
        """Say which inputs the forward changed in place."""
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors):
        """Say which outputs have no gradient."""
        self._nondiff = tensors

    def set_materialize_grads(self, value):
        """Whether missing gradients arrive as zeros (the default) or None."""
        self._materialize = value

    @property
    def saved_tensors(self):
        """What `save_for_backward` kept; raises if one was changed in place since."""
        if self._saved is None:
            if self._node is not None:
                raise RuntimeError(
                    "Trying to backward through the graph a second time (or directly access saved "
                    "tensors after they have already been freed). Saved intermediate values of "
                    "the graph are freed when you call .backward() or autograd.grad(). Specify "
                    "retain_graph=True if you need to backward through the graph a second time or "
                    "if you need to access saved tensors after calling backward.")
            return tuple(self._to_save)
        node = self._node()
        out = []
        for x, v in self._saved:
            if type(x) is Packed:
                out.append(x.unpack(_output_edge(node, v.index) if type(v) is _Output else v))
            elif type(x) is SavedOutput:
                if x.cell.v != x.version:
                    raise changed(_FunctionOp(self._cls), x.array, x.cell.v, x.version, x)
                out.append(tied(x, node))
            else:
                if x is not None and x._version != v:
                    held = x._held if isinstance(x, Composite) else x
                    raise changed(_FunctionOp(self._cls), held._array, x._version, v, held)
                out.append(x)
        return tuple(out)


    @property
    def saved_variables(self):
        """The old name of `saved_tensors`."""
        warnings.warn("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning,
                      stacklevel=2)
        return self.saved_tensors

class Function:
    """A differentiable function with a backward of your own.

    >>> import whet
    >>> class Cube(whet.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x ** 3
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         x, = ctx.saved_tensors
    ...         return 3 * x ** 2 * g
    >>> x = whet.tensor(2.0, requires_grad=True)
    >>> Cube.apply(x).backward()
    >>> x.grad
    tensor(12.)
    """

    @staticmethod
    def forward(*args, **kwargs):
        """Compute the results: forward(ctx, *args), or forward(*args) beside a
        `setup_context(ctx, inputs, output)`."""
        raise NotImplementedError(
            "You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def backward(ctx, *grads):
        """The gradients of the inputs, given those of the outputs."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom "
            "autograd.Function to use it with backward mode AD.")

    vjp = backward                           # another name for it

    @staticmethod
    def jvp(ctx, *tangents):
        """The tangents of the outputs, given those of the inputs (None: zero). Where there is
        none, the backward is transposed."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with "
            "forward mode AD.")

    @classmethod
    def apply(cls, *args, **kwargs):
        """Run the function."""
        return call(cls, args, kwargs)

    def __call__(self, *args, **kwargs):
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use "
            f"new-style autograd function with static forward method: {type(self).__name__}.apply"
            "(...)")


class InplaceFunction(Function):
    """A `Function` that may write into its input. Writing is up to its forward, which marks what
    it wrote to with `ctx.mark_dirty`.

    >>> import whet
    >>> class Rounded(whet.autograd.function.InplaceFunction):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.mark_dirty(x)
    ...         return x.round_()
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         return g
    >>> x = whet.tensor([1.2], requires_grad=True)
    >>> Rounded.apply(x * 2).backward()
    >>> x.grad
    tensor([2.])
    """

    def __init__(self, inplace=False):
        super().__init__()
        self.inplace = inplace


def backward_of(cls):
    """The backward that the user wrote, by either of its names."""
    other = getattr(cls, "vjp", Function.vjp)
    if other is Function.vjp:
        return cls.backward
    if cls.backward is not Function.backward:
        raise RuntimeError(
            "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You "
            f"should only implement one of them: {cls.__name__}")
    return other


def call(cls, args, kwargs):
    """Apply a Function, or an object with a forward and a backward like one."""
    if "setup_context" in methods(cls) and not kwargs:
        args = _with_defaults(cls.forward, args)
    if modes.state.observers:
        level, off = modes.level_of(args), modes.deferred(())
        if off is not None and level is not off:
            return off.now(call, cls, args, kwargs)
        if level is not None:
            return level.function(cls, args, kwargs)
    recording = modes.state.flags & modes.GRAD
    tensors = [a if hasattr(a, "_array") else None for a in args]
    ctx = FunctionCtx()
    ctx.needs_input_grad = tuple(t is not None and t.requires_grad for t in tensors)
    edges = tuple(edge_of(t) if t is not None and recording else None for t in tensors)
    return attach(cls, ctx, evaluate(cls, ctx, args, kwargs), args, edges)


def _with_defaults(forward, args):
    """The arguments with those that the forward has values for: a `setup_context` gets all."""
    code, defaults = getattr(forward, "__code__", None), getattr(forward, "__defaults__", None)
    missing = code.co_argcount - len(args) if code is not None else 0
    return (*args, *defaults[-missing:]) if defaults and 0 < missing <= len(defaults) else args


def evaluate(cls, ctx, args, kwargs):
    """The results of a Function's forward; `ctx` gets what it saves."""
    with modes.no_grad():
        if "setup_context" not in methods(cls):
            return cls.forward(ctx, *args, **kwargs)
        result = cls.forward(*args, **kwargs)
        cls.setup_context(ctx, args, result)
        return result


def attach(cls, ctx, result, args, edges):
    """The results of a Function with their history, whose gradients flow to the edges."""
    tensors = [a if hasattr(a, "_array") else None for a in args]
    many = isinstance(result, tuple)
    outs = list(result) if many else [result]
    if not all(any(t is o for o in outs) for t in ctx._dirty):
        raise RuntimeError(
            "Some elements marked as dirty during the forward method were not returned as output. "
            "The inputs that are modified inplace must all be outputs of the Function.")
    node = None
    if any(e is not None for e in edges):
        op = _FunctionOp(cls)
        node = FunctionNode(op, edges, {}, len(outs))
        node.ctx, ctx._node, ctx._cls = ctx, weakref.ref(node), cls
        ctx._inputs = tuple((t._array.shape, t.dtype) if t is not None else None for t in tensors)
        node.outlines = tuple(
            (t._array.shape, t.dtype) if hasattr(t, "_array") else ((), None) for t in outs)
    made: dict[int, Any] = {}           # a result that is given twice is one tensor
    for i, t in enumerate(outs):
        if id(t) not in made:
            made[id(t)] = _output(t, i, node, ctx, tensors, len(outs))
    outs = [made[id(t)] for t in outs]
    for t in ctx._dirty:
        t._bump(cls.__name__)
    if node is not None:
        ctx._saved = _save(ctx, outs, node)
        ctx._to_save = ()
    ctx._dirty = ctx._nondiff = ()
    return tuple(outs) if many else outs[0]


def methods(cls):
    """The names that a Function defines itself."""
    if not isinstance(cls, type):
        return ()
    return {k for c in cls.__mro__[:-1] if c is not Function for k in c.__dict__}


def _output(t, i, node, ctx, inputs, n):
    """An output with its history. An input that is returned as it came becomes a tensor of its
    own."""
    if not hasattr(t, "_array"):
        return t
    if any(t is d for d in ctx._dirty) and not any(t is x for x in inputs):
        warnings.warn(
            "Only input Tensors should be given to ctx.mark_dirty(). If a Tensor is not an input, "
            "there is no need to pass it to mark_dirty().", stacklevel=4)
    elif any(t is d for d in ctx._dirty):
        if node is not None:
            inplace.check_writable(t, node.op.name)
            if t._base is not None and n > 1:
                raise RuntimeError(
                    "If your Function modifies inplace an Input that is a view of another Tensor, "
                    "your Function cannot return more than one Tensor.")
            at = next(k for k, x in enumerate(inputs) if x is t)
            inplace.adopt(t, node, node if n == 1 else OutputOf(node, i), at)
        return t
    shared = 0
    if any(t is x for x in inputs):
        kept, t = t, t._without_history()
        if any(kept is d for d in ctx._nondiff):
            return t
        shared = OF_FUNCTION
    if node is None or any(t is d for d in ctx._nondiff) or t.dtype.category < FLOAT:
        return t
    if t._base is not None or t._node is not None:
        if t._base is not None and any(
                x is not None and (t._base is x or t._base is x._base) for x in inputs):
            shared = OF_FUNCTION
        t = t._without_history()
    t._node, t._rg = (node if n == 1 else OutputOf(node, i)), REQUIRES_GRAD | shared
    return t


class _Output:
    """Says that a packed tensor was an output of the function."""
    __slots__ = ("index",)

    def __init__(self, index):
        self.index = index


def _output_edge(node, i):
    return node if node is None or node.nout == 1 else OutputOf(node, i)


def _save(ctx, outs, node):
    hooks = modes.state.saved_hooks
    kept = []
    for position, x in enumerate(ctx._to_save):
        if x is None:
            kept.append((None, 0))
            continue
        if not isinstance(x, Base | Composite):
            raise TypeError(
                f"save_for_backward can only save variables, but argument {position} is of type "
                f"{type(x).__name__}")
        if isinstance(x, Composite):        # has no memory of its own to compare
            kept.append((x, x._version))
            continue
        at = next((i for i, o in enumerate(outs)
                   if o is x or (hasattr(o, "_array") and o._array is x._array
                                 and o._node is not None and x._node is None)), None)
        made_here = at is not None and outs[at]._node is not None and (
            outs[at]._node is node or getattr(outs[at]._node, "parent", None) is node
            or any(outs[at] is d for d in ctx._dirty))
        if hooks and is_shown_to_hooks(x):
            kept.append((Packed(x, hooks[-1]), _Output(at) if made_here else edge_of(x)))
        else:
            kept.append((SavedOutput(outs[at], at), 0) if made_here else (x, x._version))
    return tuple(kept)


def once_differentiable(fn):
    """Decorate a `backward` whose own gradient must not be asked for."""
    import functools

    @functools.wraps(fn)
    def wrapped(ctx, *args):
        recording = modes.state.flags & modes.GRAD
        with modes.no_grad():
            r = fn(ctx, *args)
        if recording and any(hasattr(a, "_array") and a.requires_grad for a in args):
            class Refuse(Function):
                @staticmethod
                def forward(ctx, *xs):
                    return tuple(x.clone() for x in xs[:len(live)])

                @staticmethod
                def backward(ctx, *gs):
                    raise RuntimeError(
                        "trying to differentiate twice a function that was marked with "
                        "@once_differentiable")
            many = r if isinstance(r, tuple) else (r,)
            live = [x.requires_grad_() for x in many if x is not None]
            done = iter(
                Refuse.apply(*live, *[a for a in args if hasattr(a, "_array") and a.requires_grad]))
            many = tuple(None if x is None else next(done) for x in many)
            return many if isinstance(r, tuple) else many[0]
        return r
    return wrapped
