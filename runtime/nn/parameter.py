"""Tensors that a Module owns: parameters (trained), buffers (kept), and those whose shape the
first input decides."""
import whet

from .. import declared_for_tracing, function_protocol, tensor_base
from ..cpu import repeated_calls
from ..tensor import Tensor


class Parameter(Tensor):
    """A tensor that becomes a parameter of the Module it is assigned to; it shares memory with
    `data`.

    >>> import whet
    >>> from whet import nn
    >>> m = nn.Module()
    >>> m.weight = nn.Parameter(whet.zeros(2))
    >>> [name for name, _ in m.named_parameters()]
    ['weight']
    """

    _prints_as_tensor = True
    __torch_function__ = staticmethod(function_protocol.disabled)

    def __new__(cls, data=None, requires_grad=True):
        if data is None:
            data = whet.empty(0)
        return Tensor._make_subclass(cls, data, requires_grad)

    def __init__(self, *args, **kwargs):
        # All is done in __new__, also by subclasses that take more.
        pass

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.data.clone(), self.requires_grad)
        return memo[id(self)]

    def __repr__(self):
        return "Parameter containing:\n" + super().__repr__()

    def __reduce_ex__(self, protocol):
        return _rebuild, (type(self), self.data, self.requires_grad), vars(self) or None


if tensor_base.native_apply is not None:
    # ops on exact Parameters run natively as those on tensors
    repeated_calls.also(Parameter)


class Buffer(Tensor):
    """A tensor that becomes a buffer of the Module it is assigned to (part of its state, not
    trained).

    >>> import whet
    >>> from whet import nn
    >>> m = nn.Module()
    >>> m.mean = nn.Buffer(whet.zeros(2))
    >>> list(m.state_dict()), list(m.parameters())
    (['mean'], [])
    """

    __torch_function__ = staticmethod(function_protocol.disabled)
    _prints_as_tensor = True

    def __new__(cls, data=None, *, persistent=True):
        if data is None:
            data = whet.empty(0)
        b = Tensor._make_subclass(cls, data, data.requires_grad)
        b.persistent = persistent
        return b

    def __init__(self, data=None, *, persistent=True):
        pass

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.data.clone(), persistent=self.persistent)
        return memo[id(self)]

    def __reduce_ex__(self, protocol):
        return _rebuild_buffer, (type(self), self.data, self.persistent), vars(self)


def _rebuild(cls, data, requires_grad):
    return cls(data, requires_grad)


def _rebuild_buffer(cls, data, persistent):
    return cls(data, persistent=persistent)


class UninitializedTensorMixin:
    """A tensor with a dtype and a device but no shape yet; `materialize(shape)` makes it an
    ordinary one. Functions of tensors refuse it, but for those that go by its type alone."""
    _speaker = None

    @classmethod
    def _without_shape(cls, requires_grad, device, dtype):
        made = Tensor._make_subclass(cls, whet.empty(0, device=device, dtype=dtype), requires_grad)
        made._speaker = function_protocol.Speaker()
        return made

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if getattr(func, "__name__", None) in _WITHOUT_SHAPE or _reads_attribute(func):
            result = function_protocol.disabled(func, types, args, kwargs)
            if issubclass(cls, Buffer) and type(result) is Tensor:
                # it takes this one's place in its module
                return cls(result.requires_grad, device=result.device, dtype=result.dtype)
            return result
        raise ValueError(
            f"Attempted to use an uninitialized parameter in {func}. This error happens when you "
            "are using a `LazyModule` or explicitly manipulating `UninitializedParameter` "
            "objects. When using LazyModules Call `forward` with a dummy batch to initialize the "
            "parameters before calling whet functions")

    def materialize(self, shape, device=None, dtype=None):
        """Give it its shape and (uninitialised) memory."""
        self.data = whet.empty(shape, device=device or self.device, dtype=dtype or self.dtype)
        self.__class__ = self.cls_to_become
        del self._speaker

    def share_memory_(self):
        """Refused: there is no memory yet that other processes could see."""
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer. Call `forward` to "
            "initialize the parameters before calling `module.share_memory()`.")

    @property
    def shape(self):
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually "
            "happens in `load_state_dict` when trying to load an uninitialized parameter into an "
            "initialized one. Call `forward` to initialize the parameters before accessing their "
            "attributes.")

    def __repr__(self):
        return f"<{type(self).__name__}>"

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.requires_grad, device=self.device, dtype=self.dtype)
        return memo[id(self)]

    def __reduce_ex__(self, protocol):
        return _rebuild_uninitialized, (type(self), self.requires_grad, self.dtype)


def _rebuild_uninitialized(cls, requires_grad, dtype):
    return cls(requires_grad, dtype=dtype)


# what a tensor without a shape can be asked, and converted to
_WITHOUT_SHAPE = frozenset("""__hash__ size copy_ is_complex is_floating_point half float double
char short int long cuda cpu to get_device""".split())


def _reads_attribute(func):
    """Is it the getter or setter of an attribute?"""
    return type(func).__name__ == "method-wrapper"


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A Parameter whose shape is not known yet; see the Lazy modules.

    >>> import whet
    >>> from whet import nn
    >>> p = nn.UninitializedParameter()
    >>> p.materialize((2, 3))
    >>> p.shape
    whet.Size([2, 3])
    """
    cls_to_become = Parameter

    def __new__(cls, requires_grad=True, device=None, dtype=None):
        return cls._without_shape(requires_grad, device, dtype)

    def __init__(self, requires_grad=True, device=None, dtype=None):
        pass


class UninitializedBuffer(UninitializedTensorMixin, Buffer):
    """A buffer whose shape is not known yet.

    >>> import whet
    >>> from whet import nn
    >>> b = nn.UninitializedBuffer()
    >>> b.materialize((2, 3))
    >>> b.shape
    whet.Size([2, 3])
    """
    cls_to_become = Buffer

    def __new__(cls, requires_grad=False, device=None, dtype=None, persistent=True):
        b = cls._without_shape(requires_grad, device, dtype)
        b.persistent = persistent
        return b

    def __init__(self, requires_grad=False, device=None, dtype=None, persistent=True):
        pass


@declared_for_tracing.goes_by_no_size
def is_lazy(param):
    """Has the tensor no shape yet?"""
    return isinstance(param, UninitializedTensorMixin)
