"""Tensor: an array, its place in the recorded graph, and methods that the ops bring.

The fields live in `tensor_base.Base`. `tensor_properties.py` has the methods that
describe a tensor besides its elements. Ops attach their methods in `ops/__init__.py`.
"""
import numpy as np

from . import declared_for_tracing, devices, dtypes, function_protocol
from .autograd import modes
from .composite import Composite
from .dtypes import FLOAT
from .size import Size as Size
from .tensor_base import IN_INFERENCE, REQUIRES_GRAD, Cell, count_writes_of, extend, new, wrap
from .tensor_properties import TensorProperties

declared_for_tracing.only_computes(globals())


def _before_the_ops(*args, **kwargs):
    """What `Tensor(...)` makes before the ops are there."""
    raise RuntimeError("Tensor(...): whet.ops is not loaded yet")


def _without_imaginary(number, kind):
    """The real part of a complex number that is real; RuntimeError for others, as for a number of
    the kind that has no room for them."""
    if type(number) is complex:
        if number.imag:
            raise RuntimeError(f"value cannot be converted to type {kind} without overflow")
        return number.real
    return number


@extend
class Tensor(TensorProperties):
    """A multi-dimensional array that can be differentiated through.

    >>> import whet
    >>> x = whet.tensor([1.0, 2.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([2., 4.])
    """
    __slots__ = ()
    __array_priority__ = 1000
    _prints_as_tensor = True
    __hash__ = object.__hash__

    _from_arguments = staticmethod(_before_the_ops)          # ops/from_data.py brings it

    def __new__(cls, *args, device=None, **kwargs):
        t = Tensor._from_arguments(*args, device=device, **kwargs)
        return t if cls is Tensor else t._as(cls)

    def __init__(self, *args, **kwargs):
        pass

    def __init_subclass__(cls, **kwargs):
        # `extend` makes another class of this one's body.
        super(Tensor, cls).__init_subclass__(**kwargs)       # noqa: UP008
        function_protocol.joined(cls)

    # what public functions are of tensors of a class of a user's
    __torch_function__ = classmethod(function_protocol.of_tensors)

    @staticmethod
    def _make_subclass(cls, data, require_grad=False):
        """A tensor of class `cls` over the memory of `data`."""
        if isinstance(data, Composite):
            raise TypeError(f"{cls.__name__}: a tensor of layout {data.layout} has no memory of "
                            "its own; its values can be one (`nn.Parameter(s.values())`)")
        t = new(cls)
        t._array = data._array
        t._cell = data._shared()
        t._rg = REQUIRES_GRAD if require_grad else 0
        if require_grad and not data.dtype.has_gradients:
            raise RuntimeError(
                "Only Tensors of floating point and complex dtype can require gradients")
        return t

    def _as(self, cls):
        t = new(cls)
        self._shared()
        for k in ("_array", "_node", "_grad", "_cell", "_base", "_hist", "_rg", "_extra"):
            setattr(t, k, getattr(self, k))
        return t

    def as_subclass(self, cls):
        """The same memory and history as an instance of `cls`."""
        with function_protocol.DisableTorchFunctionSubclass():
            recorded = modes.state.flags & modes.GRAD and self.requires_grad
            return (self.view_as(self) if recorded else self)._as(cls)

    # ---- versions and history ----
    # is it a tensor inside of a function transform? see autograd/levels.py
    _stands_for_another = False
    # does it stand for the rows, say, of a tensor that has one for each example? See func/vmap.py
    _is_one_of_many = False

    def _shared(self):
        """The version cell, made when first needed."""
        c = self._cell
        if c is None:
            c = self._cell = Cell()
        return c

    def _bare(self):
        """Another tensor over the same memory, without a history."""
        t = wrap(self._array)
        t._cell = self._shared()
        return t

    def _without_history(self):
        """The tensor without the history of its own layer: `detach`, but where it stands for
        another tensor, that one keeps its history."""
        return self.detach()

    def _bump(self, writer=None):
        """Say that the memory was written to."""
        c = self._cell
        if c is None:
            c = self._cell = Cell()
        c.v += 1
        c.writer = writer

    @property
    def _version(self):
        if modes.state.observers:
            seen = modes.state.observers[-1].asked(self, "version")
            if seen is not None:
                return seen
        c = self._cell
        return 0 if c is None else c.v

    @property
    def _cdata(self):
        """A number that no other tensor has while this one lives: libraries tell tensors by it."""
        if modes.state.observers:
            modes.state.observers[-1].asked(self, "identity")
        return id(self)

    @property
    def grad_fn(self):
        """The node that made this tensor; None for a leaf."""
        if modes.state.observers:
            modes.state.observers[-1].asked(self, "history")
        while first_look:
            first_look.pop()()
        n = None if self.is_leaf else in_full(self._node)
        return None if n is None else named(n.parent if type(n) is OutputOf else n)

    @property
    @declared_for_tracing.goes_by_no_size
    def is_leaf(self):
        """Was this tensor made by the user rather than by a recorded op?"""
        if self._base is not None and self._cell.h != self._hist:
            refresh_view(self)
        return self._node is None

    @property
    @declared_for_tracing.goes_by_no_size
    def requires_grad(self):
        """Is a gradient wanted for this tensor?"""
        if self._base is not None and self._cell.h != self._hist:
            refresh_view(self)
        return bool(self._rg & REQUIRES_GRAD)

    @requires_grad.setter
    def requires_grad(self, value):
        if self.grad_fn is not None:
            raise not_a_leaf(value)
        self.requires_grad_(value)

    def requires_grad_(self, requires_grad=True):
        """Ask for a gradient of this leaf (or stop asking)."""
        if requires_grad:
            if not self.dtype.has_gradients:
                raise RuntimeError(
                    "only Tensors of floating point and complex dtype can require gradients")
            if self._rg & IN_INFERENCE and not modes.state.flags & modes.INFERENCE:
                raise RuntimeError(
                    "Setting requires_grad=True on inference tensor outside InferenceMode is not "
                    "allowed.")
            self._rg |= REQUIRES_GRAD
        elif self.grad_fn is not None:
            raise not_a_leaf(requires_grad)
        else:
            self._rg &= ~REQUIRES_GRAD
        return self

    @property
    def grad(self):
        """The gradient that `backward()` accumulated, or None."""
        return self._grad

    @grad.setter
    def grad(self, g):
        if g is not None:
            if not isinstance(g, Tensor):
                raise TypeError(
                    "assigned grad expected to be a Tensor or None but got grad of type "
                    f"{g.__class__.__name__}")
            if g is self:
                raise RuntimeError("can't assign Variable as its own grad")
            if g.dtype is not self.dtype:
                raise RuntimeError(
                    f"assigned grad has data type {g.dtype}, but the tensor's is {self.dtype}")
            if tuple(g.shape) != self._array.shape:
                raise RuntimeError(
                    f"attempting to assign a gradient of size {list(g.shape)} to a tensor of size "
                    f"{list(self.shape)}. Please ensure that the gradient and the tensor are the "
                    "same size")
        self._grad = g

    @grad.deleter
    def grad(self):
        self._grad = None

    @property
    def data(self):
        """The same memory without history; writes to it are not seen by version checks."""
        t = wrap(self._array)
        cell = self._shared()
        if cell.aside is None:
            cell.aside = Cell()
        t._cell = cell.aside
        if modes.state.observers:
            modes.state.observers[-1].without_history(t)
        return t

    @data.setter
    def data(self, other):
        if not isinstance(other, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {other.__class__.__name__}")
        if (other.dtype is not self.dtype and self._rg & REQUIRES_GRAD
                and other.dtype.category < FLOAT):
            raise RuntimeError(
                "data set to a tensor that requires gradients must be floating point or complex "
                "dtype")
        if other._array is self._array:      # `w.data -= g`: nothing else than before
            return
        self._array = other._array
        count_writes_of(other, self)
        self._bump("data =")

    def detach_(self):
        """Forget the history of this tensor, in place."""
        if self._base is not None:
            raise RuntimeError(
                "Can't detach views in-place. Use detach() instead. If you are using "
                "DistributedDataParallel (DDP) for training, and gradient_as_bucket_view is set "
                "as True, gradients are views of DDP buckets, and hence detach_() cannot be "
                "called on these gradients.")
        self._node = None
        self._rg &= ~REQUIRES_GRAD
        return self

    @property
    def retains_grad(self):
        """Does this non-leaf keep its gradient?"""
        return bool(self._extra and self._extra.get("retains_grad"))

    @property
    @declared_for_tracing.goes_by_no_size
    def output_nr(self):
        n = None if self._node is None else in_full(self._node)
        return n.index if type(n) is OutputOf else 0

    @declared_for_tracing.goes_by_no_size
    def is_inference(self):
        """Was this tensor made in inference mode?

        >>> import whet
        >>> with whet.inference_mode():
        ...     x = whet.ones(2)
        >>> x.is_inference(), whet.ones(2).is_inference()
        (True, False)
        """
        return bool(self._rg & IN_INFERENCE)

    def _is_view(self):
        return self._base is not None

    @declared_for_tracing.acts
    def backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
        """Accumulate d self / d leaf into every leaf's `.grad`.

        >>> import whet
        >>> w = whet.ones(3, requires_grad=True)
        >>> (2 * w).sum().backward()
        >>> w.grad
        tensor([2., 2., 2.])
        """
        engine.backward((self,), None if gradient is None else (gradient,), retain_graph,
                        create_graph, inputs=inputs)

    @declared_for_tracing.acts
    def register_hook(self, hook):
        """Call `hook(grad)` when this tensor's gradient is known; what it returns (if anything)
        replaces the gradient."""
        return engine.register_tensor_hook(self, hook)

    @declared_for_tracing.acts
    def register_post_accumulate_grad_hook(self, hook):
        """Call `hook(tensor)` each time a gradient was accumulated into this leaf's `.grad`."""
        return engine.register_post_accumulate_hook(self, hook)

    @declared_for_tracing.acts
    def retain_grad(self):
        """Keep the gradient of this non-leaf in `.grad`."""
        engine.retain_grad(self)

    # ---- numbers out ----
    @declared_for_tracing.tells_elements
    def item(self):
        """The single element as a Python number."""
        if modes.state.observers:
            number = modes.state.observers[-1].item(self)
            if number is not None:
                return number
        a = self._array
        if a.size != 1:
            raise RuntimeError(f"a Tensor with {a.size} elements cannot be converted to Scalar")
        v = a.item()
        if type(v) is tuple:
            dtypes.check_converted(self.dtype)
        return v if type(v) in (int, float, bool, complex) else float(v)

    @declared_for_tracing.tells_elements
    def tolist(self):
        """Nested lists of Python numbers."""
        if self._array.ndim == 0:
            return self.item()
        if modes.state.observers:
            numbers = modes.state.observers[-1].listed(self)
            if numbers is not None:
                return numbers
        dtypes.check_converted(self.dtype)
        a = devices.on_host(self._array)
        return (a.astype(np.float32) if self.dtype is dtypes.bfloat16 else a).tolist()

    @declared_for_tracing.tells_elements
    def __bool__(self):
        if self._array.size != 1:
            if self._array.size == 0:
                raise RuntimeError("Boolean value of Tensor with no values is ambiguous")
            raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
        return bool(self.item())

    def _number(self):
        if self._array.size != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        return self.item()

    @declared_for_tracing.tells_elements
    def __int__(self):
        return int(_without_imaginary(self._number(), "int64_t"))

    @declared_for_tracing.tells_elements
    def __float__(self):
        return float(_without_imaginary(self._number(), "double"))

    def __complex__(self):
        return complex(self._number())

    @declared_for_tracing.tells_elements
    def __index__(self):
        if self._array.size != 1 or self.dtype.category >= FLOAT:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self.item())

    def __iter__(self):
        if self._array.ndim == 0:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))

    def __repr__(self, *, tensor_contents=None):
        from .formatting import tensor_str
        if modes.state.observers:
            modes.state.observers[-1].shown(self)
        return tensor_str(self)

    def _repr_html_(self):
        from .formatting import tensor_html
        return tensor_html(self)

    def __format__(self, spec):
        if self._array.ndim == 0 and type(self) is Tensor and not self.is_meta:
            return self.item().__format__(spec)
        return object.__format__(self, spec)

    def __dir__(self):
        return sorted(set(object.__dir__(self)))


# is a gradient wanted for a tensor? Its class is not asked, which may be a user's.
wants_gradient = Tensor.requires_grad.fget


def not_a_leaf(wanted):
    """The error where a computed tensor is set to require a gradient, or not to."""
    return RuntimeError(
        "you can only change requires_grad flags of leaf variables." + ("" if wanted else (
            " If you want to use a computed variable in a subgraph that doesn't require "
            "differentiation use var_no_grad = var.detach().")))


def shown(t):
    """The tensor, whose memory others may write to without counting its version."""
    t._shared().shown = 1
    if modes.state.observers:
        modes.state.observers[-1].array_is_shared(t)
    return t


from .autograd import engine  # noqa: E402  (the engine makes tensors)
from .autograd.inplace import refresh_view
from .autograd.names_of_nodes import named  # noqa: E402
from .autograd.node import OutputOf, first_look, in_full  # noqa: E402
