"""Ops, and the one way in which they run.

An `Op` has everything that the framework knows of a primitive: how to compute it on arrays, its
gradient, its test inputs. `apply` runs one: compute, wrap, record. Code that observes every op
(gradient recording, traces, transforms) hooks into `apply`. Code that enumerates the ops (tests,
docs, other targets) reads `REGISTRY`.
"""
import functools
import inspect
from typing import Any

import numpy as np

from .. import devices, function_protocol, profiler_listeners, tensor_base
from ..autograd import modes
from ..autograd.inplace import edge_of
from ..autograd.node import Node, OutputOf, keep_outputs, stale_inputs
from ..composite import Composite
from ..cpu import memory, recorded_call, taped_launches
from ..cpu.pointwise import copy
from ..dtypes import FLOAT, FROM_NUMPY
from ..function_protocol import speakers
from ..op_table import REGISTRY as REGISTRY
from ..tensor_base import (
    IN_INFERENCE,
    ONE_OF_SEVERAL,
    REQUIRES_GRAD,
    VIEW_IN_NO_GRAD,
    VIEW_LIMITS,
)

OURS: set = set()                   # the ops that whet itself defines, once it has
state, GRAD, SPECIAL = modes.state, modes.GRAD, modes.SPECIAL


class Op:
    """A primitive operation on tensors.

    forward(*arrays, **attrs) -> array or tuple of arrays. Operands that are not tensors (numbers,
    None) are passed as they are. vjp(g, y, *inputs, **attrs) -> one gradient (or None) per input,
    written in whet ops. A parameter of vjp whose name starts with an underscore is not saved: only
    its `shape`, `dtype` and `ndim` are passed. With several outputs `g` and `y` are tuples; `g` has
    None where no gradient arrived. Outputs without a gradient (`nondiff_outputs`: positions,
    statistics) exist for the backward. An op with such outputs, or with `saved_outputs`, saves only
    these. `y` then has None for the others, which may be written to in place. A parameter `needs`
    says which inputs want a gradient.
    """
    # The facts of an op, by subject, with their defaults. A definition sets those that differ.
    family = "host"
    pure = True
    random = False
    # fills(**attrs), of an op without operands: the number with which it fills the result
    fills: Any = None
    is_unset = False                # of such an op: does it leave memory uninitialised?

    # ---- derivatives ----
    base: Any = None                # the op whose gradient it computes
    linear: tuple[int, ...] = ()    # the operands in which it is jointly linear
    # is it linear in each of the first two operands, and does it add the third?
    product = False

    # ---- views ----
    is_view = False                 # the result shares the first input's memory
    # reach(**attrs), of a view that extends beyond its input: its (first, last) element, counted
    # from the input's first
    reach = None
    # False: one of several views made by one call (writing to it is refused)
    view_is_safe = True
    detaches = False                # a view without a base

    # ---- repeating a call ----
    # may a call be replayed as its launches (or view)? see cpu/repeated_calls.py
    is_repeatable = False
    # does forward either launch kernels on operands, results and scratch alone, or use only NumPy?
    launches = False
    # do neither errors nor the results' shapes depend on data? None: they may for host ops, not for
    # others
    total: bool | None = None
    dynamic_numbers = False         # numbers are read by the kernel, so a replay may have others

    # ---- sizes: what a plan for all of them has to know ----
    # Do its Python code and its callers depend on sizes only by asking which are equal, 0 or 1, and
    # what is contiguous? Other questions must be asked of a SymbolicSize (ir/symbolic_size.py).
    # Then one plan serves all sizes with the same answers.
    any_sizes = False
    numbers_by_size = False         # numbers among operands may be symbolic
    size_attrs = frozenset(("size",))        # attributes that are sizes, or tuples of them
    value_attrs: frozenset[str] = frozenset()        # attributes that are values of a trace
    keeps_elements = False          # has the result all elements of the operand, in shape `size`?
    keeps_sizes = False             # do all results have the sizes of the first operand?
    # makes(*outlines, **attrs), of an op whose forward plans at length or makes an array of numbers
    # alone: outlines of the results
    makes: Any = None
    # outlined(*outlines, **attrs): the same, of an op whose forward reads elements, or whose
    # launches do not determine the results (see meta/results.py)
    outlined: Any = None
    sized_by_data = False           # do the results' sizes depend on elements of the operands?
    # usual_shape(**attrs), of such an op: the result's shape, if the attributes determine it for
    # nearly all data; else None
    usual_shape: Any = None

    # ---- writes in place, and forms by launches, for traces ----
    # `array` is the result; for an op with `write` it holds the first operand, and only the others
    # are passed.
    # write(array, *arrays, **attrs): the in-place form, if it is cheaper than computing and
    # copying
    write: Any = None
    # moves(array, *arrays, **attrs): the copies to make, in order: (part of the array, array or
    # number to copy there)
    moves: Any = None
    # shape(*arrays, **attrs), of an op that does nothing but these moves: the result's sizes
    shape: Any = None
    # allocate(*arrays, **attrs), of such an op: memory for its result, in whatever layout
    allocate: Any = None
    # write_by_kernels(array, *arrays, **attrs): what comes after the moves, by kernels. False:
    # nothing was done
    write_by_kernels = None
    # write_without_numpy(array, *arrays, **attrs): the same for programs without NumPy, and for few
    # elements; for many, NumPy is quicker
    write_without_numpy: Any = None
    # forward_without_numpy(*arrays, **attrs): the result of `forward` by launches alone, where
    # `write_without_numpy` is used
    forward_without_numpy: Any = None

    # ---- gathers ----
    # picks(*arrays, **attrs), of an op that gathers from its first operand by an index along a
    # dimension, its second operand, or by several along consecutive dimensions: (the dimension,
    # does the index name elements or whole slices?, do negative indices count from the end?); None
    # if the op does more.
    picks: Any = None
    # gathered(*arrays, **attrs), of an op that gathers from its first operand: a `Named`, or None
    gathered: Any = None

    # ---- types and devices ----
    cast_product = False            # does `autocast` compute it in a smaller type?
    crosses_devices = False         # may its operands be on different devices?
    # on devices: do kernels take numbers among the operands as parameters?
    kernels_take_numbers = False
    # forward_on_device(*arrays, **attrs): the result of `forward`, on a device
    forward_on_device: Any = None

    # ---- ONNX ----
    # onnx(b, *operands, **attrs): the result (or results) in ONNX. Operands are values, numbers or
    # None; `b` writes nodes (onnx/write/builder.py) and has a method for each operator of the
    # standard.
    onnx = None
    # onnx_complex(b, *operands, **attrs): the same for complex operands or results, each of which
    # is a `Pair` of real values. None: a linear op is applied to both parts.
    onnx_complex: Any = None
    # onnx_write(b, base, part), of a view with other elements than its base: the base, with a part
    # in the place of the view
    onnx_write: Any = None

    def __init__(self, name, forward=None, vjp=None, *, samples=None, differentiable=None,
                 nondiff_outputs=(), register=True, inner=False, doc=None, batch=None, linear=None,
                 onnx=None):
        self.name, self.batch_rule, self.writer = name, batch, f"{name}_"
        if onnx is not None:
            self.onnx = onnx
        if linear is not None:
            self.linear = linear
        if forward is not None:
            self.forward = forward
        # inner: made by another op's backward alone, whose tests reach it
        self.samples, self.inner = samples, inner
        self.nondiff_outputs = self.saved_outputs = frozenset(nondiff_outputs)
        self.met: set = set()           # hashes of operand layouts of calls that came
        self.refused: set = set()       # operand layouts of calls that cannot be replayed
        self.doc = doc
        self.set_vjp(vjp)
        self.differentiable = vjp is not None if differentiable is None else differentiable
        if register:
            if name in REGISTRY:
                raise ValueError(f"op {name!r} is defined twice")
            REGISTRY[name] = self

    def targets(self, attrs):
        """How many of its operands, the first ones, the in-place form writes to."""
        return 1

    @functools.cached_property
    def writes(self):
        """The object under which machine code keeps recipes of its writes in place; None if these
        are not launches."""
        forms = [] if self.write_by_kernels is None else [self.write_by_kernels]
        if self.write_without_numpy is not None:
            forms.append(recorded_call.for_few(self.write_without_numpy))
        return recorded_call.Writes(*forms) if forms and self.write is not None else None

    def set_vjp(self, vjp):
        self._vjp = vjp
        self.saves: frozenset[int] | None = frozenset()
        self.saves_output = self.wants_needs = False
        if vjp is None:
            return
        code = vjp.__code__
        names, n, k = code.co_varnames, code.co_argcount, code.co_kwonlyargcount
        self.saves_output = not names[1].startswith("_")
        every = code.co_flags & inspect.CO_VARARGS and not names[n + k].startswith("_")
        self.saves = (None if every
                      else frozenset(i for i, p in enumerate(names[2:n]) if not p.startswith("_")))
        self.wants_needs = "needs" in names[:n + k]

    def batch(self, n, inputs, batched, attrs):
        """The op on a batch of `n` examples, for `vmap` (see batching.py); NotImplemented where
        each example is to be computed apart."""
        return (NotImplemented if self.batch_rule is None else self.batch_rule(
            self, n, inputs, batched, attrs))

    def jvp(self, inputs, tangents, outs, attrs):
        """The tangents of the results, given those of the inputs, for forward mode; None is zero.

        NotImplemented where the rule of tangents.py for all ops gives them."""
        return NotImplemented

    def reads(self, i, edges):
        """Does the backward to these edges read the value of input i (-1: of the output), if
        that was saved? Each factor of a product is read by the gradient of the other alone."""
        return i < 2 and edges[1 - i] is not None if self.product and i >= 0 else True

    @property
    def __name__(self):
        return self.name

    @property
    def may_fail(self):
        """May a call on other data, of the same shapes and types, raise or give another shape?"""
        return self.family == "host" if self.total is None else not self.total

    @property
    def ours(self):
        """Is it one of those that whet defines, or a gradient of one?"""
        while self.base is not None:
            self = self.base
        return self in OURS

    def compute(self, *arrays, **attrs):
        """The result of `forward`, on the device of the operands."""
        if devices.beyond is None:
            return self.forward(*arrays, **attrs)
        return devices.beyond.forward(self, arrays, attrs)

    def on_device(self, arrays, attrs, index):
        """The result of `forward`, on a device. Families with kernels for devices override this."""
        return devices.beyond.by_facts(self, arrays, attrs, index)

    def write_on_device(self, arrays, attrs):
        """The in-place form on a device; False where the result is to be computed and copied."""
        return False

    def __repr__(self):
        return f"<op {self.name}>"

    def __reduce__(self):
        return REGISTRY.__getitem__, (self.name,)

    def __call__(self, *inputs, **attrs):
        return apply(self, inputs, attrs)

    def backward(self, node, g, needs=None):
        """Gradients for the node's edges, given the gradient(s) of its output(s). `needs`: which of
        them are wanted, where not all are."""
        xs = node.saved_inputs()
        y = None
        if self.saves_output:
            y = node.saved_outputs()
            if node.nout == 1:
                y = y[0]
        if self.wants_needs:
            return self._vjp(g, y, *xs, needs=needs or tuple([e is not None for e in node.edges]),
                             **node.attrs)
        return self._vjp(g, y, *xs, **node.attrs)


class MoveOp(Op):
    """An op that only puts elements into other places: `shape(*arrays, **attrs)` of the result,
    and the `moves` that fill it."""
    total = True
    linear = 0, 1

    def __init__(self, name, shape, moves, vjp, **kw):
        self.shape, self.moves = shape, moves
        super().__init__(name, None, vjp, **kw)

    def forward(self, *arrays, **attrs):
        out = memory.empty(self.shape(*arrays, **attrs), arrays[0].dtype)
        for part, x in self.moves(out, *arrays, **attrs):
            if type(x) is np.ndarray and type(part) is np.ndarray:
                copy(part, x)
            else:
                taped_launches.written_by_numpy()
                part[...] = x
        return out

    def onnx(self, b, x, **attrs):
        """Each element is gathered from its place."""
        return b.moved(x, lambda places: self.forward(places, **attrs))


def is_tensor(x):
    return hasattr(x, "_array")


def check_tensors(name, least=1, /, **operands):
    """Raise TypeError for the first operand that is neither a tensor nor None. The first `least`
    operands may not be None either."""
    for i, (what, x) in enumerate(operands.items()):
        if not is_tensor(x) and (x is not None or i < least):
            kind = f"one of {x.layout}" if isinstance(x, Composite) else x.__class__.__name__
            raise TypeError(
                f"{name}(): argument '{what}' (position {i + 1}) must be Tensor, not {kind}")


def check_one_type(name, **operands):
    """Raise RuntimeError where tensors are of two types. `autocast` makes operands smaller, each
    by itself, but leaves float64 alone."""
    types = {t.dtype for t in operands.values() if is_tensor(t)}
    if len(types) > 1 and (state.autocast is None or not all(map(_may_be_smaller, types))):
        said = ", ".join([f"{what} {t.dtype}" for what, t in operands.items() if is_tensor(t)])
        raise RuntimeError(f"{name}: Expected all tensors to have the same dtype, but got {said}")


class Stopped(Exception):
    """Raised inside of an op by the framework itself, which catches it outside and continues. Each
    call takes the same way."""


def about_numbers(error):
    """The error, to be raised, which depends on the elements of a tensor. Observers are notified:
    the user's function may catch it, and other elements may not raise it."""
    if state.observers:
        state.observers[-1].failed(error)
    return error


def apply_python(op, inputs, attrs):
    """Run an op on tensors: compute, wrap the result, record it where a gradient may be asked
    for."""
    flags = state.flags
    if speakers and function_protocol.is_to_ask(inputs, attrs):
        return function_protocol.hand_over(op, inputs, attrs)
    if flags & modes.CASTS and op.cast_product:
        inputs = narrowed(*inputs)
    if flags & SPECIAL and state.observers:
        return state.observers[-1](op, inputs, attrs)
    return execute(op, inputs, attrs)


def narrowed(*operands):
    """The operands of a product, converted as `autocast` asks."""
    if not state.flags & modes.CASTS:
        return operands
    return tuple([x.to(state.autocast) if narrows(x) else x for x in operands])


def narrows(x):
    """Does `autocast` make this operand of a product smaller?"""
    return (is_tensor(x) and _may_be_smaller(x.dtype) and x.dtype is not state.autocast
            and x.device.type == state.autocast_for)


def _may_be_smaller(dtype):
    return dtype.category == FLOAT and dtype.itemsize <= 4


def beside(source, made):
    """What takes the place of `made`, a new tensor that was made like `source`. In a transform
    `source` may be a batch. Then there may be such a tensor for each example."""
    return state.observers[-1].beside(source, made) if state.observers else made


def ask(question, *tensors):
    """The answer of `question(*arrays)` about the tensors' elements, by which Python branches (or
    it raises). A trace asks again at each replay, so the question must depend on nothing but the
    arrays. A question about one tensor may have `facts(array)`, scalar expressions of an element.
    Its answer is then a function of which of them are true of any element, and kernels evaluate
    them (see `question_kernels.py`). A tensor on `meta` has no elements, so none is true."""
    if devices.beyond is not None and hasattr(question, "facts") and tensors[0].is_meta:
        return question(np.empty(0, tensors[0]._array.dtype))
    if state.observers:
        return state.observers[-1].ask(question, tensors)
    return question(*[devices.on_host(t._array) for t in tensors])


def carry_out(compute, used):
    """Call `compute()`, a function of whet that calls no code but that of the objects in `used`. If
    these are whet's as well, a recorder need not search for other code."""
    return state.observers[-1].carry_out(compute, used) if state.observers else compute()


apply = tensor_base.native_apply or apply_python


def apply_without_operands(op, attrs):
    """`apply` for an op without operands, such as `zeros`. Machine code has no recipes for these,
    so this takes fewer steps if no observer is active."""
    if state.flags & modes.SPECIAL:
        return apply(op, (), attrs)
    if (state.flags & modes.INFERENCE or devices.beyond is not None
            or profiler_listeners.active is not None):
        return execute(op, (), attrs)
    return wrap(op.forward(**attrs))         # there is no history to record


def sizes_of(t):
    """The sizes of a tensor, from which others will be computed. A trace follows them, like the
    sizes that the user's code reads."""
    return state.observers and modes.followed_sizes(t, for_user=True) or t.shape


# the types of operands that are not tensors
OPERANDS = frozenset((int, float, bool, complex, type(None)))


def arrays_of(op, inputs):
    """The operands as arrays and numbers; anything else is refused."""
    arrays = []
    for i, x in enumerate(inputs):
        try:
            arrays.append(x._array)
        except AttributeError:
            if type(x) not in OPERANDS:
                # A stand-in of a recorded run that has ended.
                if hasattr(x, "__whet_tensor__"):
                    x = x.__whet_plain__()
                elif isinstance(x, np.generic):      # arrays are refused below
                    x = x.item()
                if not isinstance(x, int | float | complex):
                    raise TypeError(
                        f"{op.name}(): argument {i + 1} must be a Tensor or a number, not "
                        f"{x.__class__.__name__}") from None
            arrays.append(x)
    return arrays


def execute(op, inputs, attrs):
    """Compute and record, with no observer asked."""
    return finish(op, inputs, attrs, op.compute(*arrays_of(op, inputs), **attrs))


def finish(op, inputs, attrs, result):
    """Wrap the arrays of a result, and record it."""
    flags = state.flags
    if type(result) is tuple:
        outs = tuple([wrap(a) for a in result])
    else:
        outs = wrap(result)
    if op.is_view:
        share(op, inputs[0], outs, flags)
    if flags & modes.INFERENCE:
        for t in (outs if type(outs) is tuple else (outs,)):
            t._rg = t._rg | inputs[0]._rg & IN_INFERENCE if op.is_view else IN_INFERENCE
        return outs
    if flags & GRAD and op.differentiable:
        for x in inputs:
            if hasattr(x, "_array") and (
                    x._rg & REQUIRES_GRAD or x._base is not None and x.requires_grad):
                if flags & SPECIAL and state.observers:
                    state.observers[-1].computed(outs)
                record(op, inputs, attrs, outs)
                break
    return outs


def share(op, source, outs, flags):
    """Mark views: one version counter, and the base whose history they follow."""
    cell = source._shared()
    base = source._base if source._base is not None else source
    extra = (0 if flags & GRAD else VIEW_IN_NO_GRAD) | (0 if op.view_is_safe else ONE_OF_SEVERAL)
    for t in (outs if type(outs) is tuple else (outs,)):
        if t is None:
            continue
        t._cell = cell
        t._base = base
        t._hist = cell.h
        t._rg = extra | (source._rg & VIEW_LIMITS if source._base is not None else 0)


def _view_of(t, a):
    """The array `a`, a view of the tensor's, as a view of the tensor. Nothing is recorded."""
    v = wrap(a)
    base = t._base
    cell = v._cell = t._shared()
    v._hist = cell.h
    v._base = t if base is None else base
    v._rg = ((0 if base is None else t._rg & VIEW_LIMITS)
             | (0 if state.flags & GRAD else VIEW_IN_NO_GRAD)
             | (t._rg & IN_INFERENCE if state.flags & modes.INFERENCE else 0))
    return v


view_of = tensor_base.native_view_of or _view_of


def unrecorded(t):
    """Can a view of `t` be made now without a node, and without an observer?"""
    flags = state.flags
    return (not flags & SPECIAL
            and not (flags & GRAD and (
                t._rg & REQUIRES_GRAD or t._base is not None and t.requires_grad)))


def record(op, inputs, attrs, outs, edges=None):
    """Give the results a node. Only floating point (and complex) results carry gradients."""
    if edges is None:
        edges = tuple([edge_of(x) if hasattr(x, "_array") else None for x in inputs])
    if type(outs) is tuple:
        live = [i for i, t in enumerate(outs)
                if i not in op.nondiff_outputs and t.dtype.category >= FLOAT]
        if not live:
            return None
        node = Node(op, edges, attrs, len(outs))
        node.save(inputs, outs, op)
        node.outlines = tuple([(t._array.shape, t.dtype) for t in outs])
        for i in live:
            outs[i]._node = OutputOf(node, i)
            outs[i]._rg |= REQUIRES_GRAD
        return node
    if FROM_NUMPY[outs._array.dtype].category < FLOAT:
        return None
    node = Node(op, edges, attrs)
    node.save(inputs, outs, op)
    outs._node = node
    outs._rg |= REQUIRES_GRAD
    return node


from ..tensor import Tensor, wrap  # noqa: E402  (tensors know their ops, ops make tensors)

if tensor_base.native_apply is not None:
    from ..cpu import repeated_calls
    repeated_calls.begin(Tensor, tensor_base.NativeNode, tensor_base.Cell, record, keep_outputs,
                         stale_inputs, apply_python, finish)
    modes.set_native_flags = tensor_base.set_native_flags
    modes.set_flags(state.flags)
