"""What is done with nested tensors, by the names of public functions and methods.

A call with a nested tensor among its operands comes to `call`: from the tensor's own methods, and
from functions of dense tensors, which hand over what they cannot take (`function_protocol.py`).
The families are in `pointwise.py`, `shapes.py`, `sums.py`, `products.py`, `attention.py` and
`make.py`.
"""
from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ..composite_tensor import member
from ..tensor import Tensor
from .tensor import NestedTensor, refusal

RULES: dict[str, Callable[..., Any]] = {}
# rules of several functions, which are told of which one they are asked
FAMILIES: dict[str, Callable[..., Any]] = {}


def rule(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A function is the rule of these public functions."""
    def register(fn: Callable[..., Any]) -> Callable[..., Any]:
        RULES.update(dict.fromkeys(names, fn))
        return fn
    return register


def family(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A function of a public function and the arguments of a call of it is the rule of these."""
    def register(fn: Callable[..., Any]) -> Callable[..., Any]:
        FAMILIES.update(dict.fromkeys(names, fn))
        return fn
    return register


def by_rule(func: Any, *args: Any, **kwargs: Any) -> Any:
    """A public function of operands some of which are nested."""
    name = func.__name__
    if name in RULES:
        return RULES[name](*args, **kwargs)
    if name in FAMILIES:
        return FAMILIES[name](func, *args, **kwargs)
    own = member(NestedTensor, name)
    if own is None:
        raise refusal(name)
    get: Any = own.fget if isinstance(own, property) else own
    return get(*args, **kwargs)


def call(func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """`by_rule`, as functions ask it."""
    return by_rule(func, *args, **kwargs or {})


def _named(function: Any, name: str) -> Any:
    """A method under the name that it is called by."""
    if function.__name__ == name:
        return function

    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)
    call.__name__ = name
    return call


def method(self: NestedTensor, name: str) -> Any:
    """What a method of ordinary tensors does with a nested one."""
    return partial(by_rule, _named(getattr(Tensor, name), name), self)


def _operator(name: str) -> None:
    def operate(self: Any, *args: Any) -> Any:
        return by_rule(_named(getattr(Tensor, name), name), self, *args)
    operate.__name__ = operate.__qualname__ = name
    setattr(NestedTensor, name, operate)


# Python looks for its operators in the class, so that `__getattr__` is not asked
for _name in """add sub mul truediv floordiv mod pow matmul and or xor lshift rshift""".split():
    for _form in ("__{}__", "__r{}__", "__i{}__"):
        if hasattr(Tensor, _form.format(_name)):
            _operator(_form.format(_name))
for _name in "eq ne lt le gt ge neg pos abs invert getitem setitem contains".split():
    _operator(f"__{_name}__")
NestedTensor._method = method   # type: ignore[method-assign, assignment]
NestedTensor.__torch_function__ = staticmethod(call)     # type: ignore[attr-defined]
