"""What sparse, nested, masked and quantised tensors have in common: each is one tensor of values,
and tensors or numbers that say where these are or what they mean. Together they stand for a tensor.

Such a tensor has no memory, no history and no gradient of its own: all are those of its values.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from . import declared_for_tracing
from .composite import Composite
from .layouts import layout
from .tensor import Size, Tensor


class CompositeTensor(Composite):
    """Base of tensor types made of several tensors. It counts as an instance of `Tensor`."""
    __slots__ = ()
    __class__ = property(lambda self: Tensor)           # type: ignore[assignment]
    __array_ufunc__ = None
    __hash__ = object.__hash__

    # ---- what the layouts say ----
    _held: Any                               # the values
    _kind: str                               # the word for texts: sparse, nested
    layout: layout

    @property
    def shape(self) -> Any:
        """The sizes."""
        raise NotImplementedError

    def _with(self, values: Any) -> Any:
        """A tensor with this one's places and other values."""
        raise NotImplementedError

    def _values_of(self, gradient: Any) -> Any:
        """The values of another tensor at the places of this one."""
        raise NotImplementedError

    def _method(self, name: str) -> Any:
        """What a method does that ordinary tensors have, and the class does not define."""
        raise NotImplementedError

    # ---- what it is ----
    def _dim(self, dim: int) -> int:
        n = self.dim()
        if not -n <= dim < n:
            raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], "
                             f"but got {dim})")
        return dim % n

    def size(self, dim: int | None = None) -> Any:
        """The sizes, or the size of one dimension."""
        return Size(self.shape) if dim is None else self.shape[self._dim(dim)]

    def dim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    ndimension = dim
    ndim = property(dim)

    def __len__(self) -> int:
        return int(self.shape[0])

    def numel(self) -> int:
        """The number of elements."""
        raise NotImplementedError

    dtype = property(lambda self: self._held.dtype)
    device = property(lambda self: self._held.device)
    is_cuda = property(lambda self: self._held.is_cuda)
    is_cpu = property(lambda self: self._held.is_cpu)
    _version = property(lambda self: self._held._version)

    def is_floating_point(self) -> bool:
        """Is the element type a floating point type?"""
        return bool(self._held.is_floating_point())

    def is_complex(self) -> bool:
        """Is the element type complex?"""
        return bool(self._held.is_complex())

    def is_signed(self) -> bool:
        """Has the element type negative numbers?"""
        return bool(self._held.is_signed())

    def is_pinned(self, device: Any = None) -> bool:
        """Is it in memory that a GPU can read directly?"""
        return bool(self._held.is_pinned(device))

    def get_device(self) -> int:
        """The number of its GPU; -1 in the memory of the machine."""
        return int(self._held.get_device())

    def element_size(self) -> int:
        """Bytes of an element."""
        return int(self._held.element_size())

    itemsize = property(element_size)

    # ---- gradients ----
    @property
    def requires_grad(self) -> bool:
        """Is a gradient wanted?"""
        return bool(self._held.requires_grad)

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self._held.requires_grad = value

    grad_fn = property(lambda self: self._held.grad_fn)
    is_leaf = property(lambda self: self._held.is_leaf)
    retains_grad = property(lambda self: self._held.retains_grad)

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """Ask for a gradient of this leaf (or stop asking)."""
        self._held.requires_grad_(requires_grad)
        return self

    @property
    def grad(self) -> Any:
        """The gradient that `backward()` accumulated, at the places of the tensor, or None."""
        g = self._held.grad
        return None if g is None else self._with(g)

    @grad.setter
    def grad(self, g: Any) -> None:
        self._held.grad = None if g is None else self._values_of(g)

    @property
    def data(self) -> Any:
        """The same memory without history."""
        return self._with(self._held.data)

    def retain_grad(self) -> None:
        """Keep the gradient of this non-leaf in `.grad`."""
        self._held.retain_grad()

    def backward(self, gradient: Any = None, retain_graph: Any = None, create_graph: bool = False,
                 inputs: Any = None) -> None:
        """Accumulate d self / d leaf into every leaf's `.grad`."""
        if gradient is not None:
            gradient = self._values_of(gradient)
        self._held.backward(gradient, retain_graph, create_graph, inputs)

    def register_hook(self, hook: Any) -> Any:
        """Call `hook(grad)` when the gradient is known; a result other than None replaces it."""
        def of_values(g: Any) -> Any:
            r = hook(self._with(g))
            return None if r is None else self._values_of(r)
        return self._held.register_hook(of_values)

    # ---- what there is not ----
    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not hasattr(Tensor, name):
            kind = f"{self._kind.capitalize()}Tensor"
            raise AttributeError(f"'{kind}' object has no attribute '{name}'")
        there = getattr(Tensor, name)
        if isinstance(there, bool):
            return there
        if name in ("is_cpu", "is_cuda", "is_meta"):
            return self.device.type == name.removeprefix("is_")
        if isinstance(there, property):
            raise AttributeError(f"{name}: {self._kind} tensors have none")
        return self._method(name)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        return self.numpy()

    @declared_for_tracing.tells_elements
    def item(self) -> Any:
        """The single element as a Python number."""
        raise NotImplementedError

    @declared_for_tracing.tells_elements
    def __float__(self) -> float:
        return float(self.item())

    @declared_for_tracing.tells_elements
    def __int__(self) -> int:
        return int(self.item())

    def __complex__(self) -> complex:
        return complex(self.item())

    @declared_for_tracing.tells_elements
    def __bool__(self) -> bool:
        if self.numel() != 1:
            raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
        return bool(self.item())

    def data_ptr(self) -> int:
        """There is no storage."""
        raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")

    # ---- texts and copies ----
    def __format__(self, spec: str) -> str:
        return object.__format__(self, spec)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if not self.is_leaf:
            raise RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
                "protocol at the moment.")
        if id(self) not in memo:
            new = self.clone().detach()
            memo[id(self)] = new.requires_grad_() if self.requires_grad else new
        return memo[id(self)]

    def __reduce_ex__(self, protocol: Any) -> Any:
        return type(self), tuple(vars(self).values())


# ---- what functions are of such tensors ----------------------------------------------------------
Rule = Callable[..., Any]


def registers(rules: dict[str, Rule]) -> Callable[..., Callable[[Rule], Rule]]:
    """A decorator, given names of public functions, that makes a function the rule of these."""
    def rule(*names: str) -> Callable[[Rule], Rule]:
        def register(fn: Rule) -> Rule:
            rules.update(dict.fromkeys(names, fn))
            return fn
        return register
    return rule


def own_function(cls: type, name: str) -> Any:
    """The method, or what gives the attribute, that a kind of such tensors has itself under a name,
    or from here; None where there is nothing."""
    own: Any = vars(cls).get(name, vars(CompositeTensor).get(name))
    return own.fget if isinstance(own, property) else own


def operators(infix: str, others: str) -> list[str]:
    """The names of methods that Python's operators call: of infix ones all forms that ordinary
    tensors have."""
    forms = [form.format(name) for name in infix.split()
             for form in ("__{}__", "__r{}__", "__i{}__")]
    return [*filter(partial(hasattr, Tensor), forms), *(f"__{name}__" for name in others.split())]


def let_say(cls: Any, call: Callable[..., Any], methods: Iterable[str]) -> None:
    """From now on `call(func, types, args, kwargs)` says what functions and methods of ordinary
    tensors are of a kind of such tensors. `methods`: those that Python's operators call, which it
    looks for in the class alone. They are put there."""
    def method(self: Any, name: str) -> Any:
        return partial(_ask, call, _method_of_tensors(name), self)
    for name in methods:
        setattr(cls, name, _operator(call, name))
    cls._method = method
    cls.__torch_function__ = staticmethod(call)


def _ask(call: Callable[..., Any], func: Any, /, *args: Any, **kwargs: Any) -> Any:
    return call(func, (), args, kwargs)


def _operator(call: Callable[..., Any], name: str) -> Any:
    def operate(self: Any, *args: Any) -> Any:
        return call(_method_of_tensors(name), (), (self, *args))
    operate.__name__ = operate.__qualname__ = name
    return operate


def _method_of_tensors(name: str) -> Any:
    """A method of ordinary tensors under the name that it is called by. One function may have
    several names, and rules are found by them."""
    function = getattr(Tensor, name)
    if function.__name__ == name:
        return function

    def named(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)
    named.__name__ = name
    return named
