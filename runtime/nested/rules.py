"""What is done with nested tensors, by the names of public functions and methods.

A call with a nested tensor among its operands comes to `call`: from the tensor's own methods, and
from functions of dense tensors, which hand over what they cannot take (`function_protocol.py`).
The families are in `pointwise.py`, `shapes.py`, `sums.py`, `products.py`, `attention.py` and
`make.py`.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..composite_tensor import let_say, operators, own_function, registers
from .tensor import NestedTensor, refusal

RULES: dict[str, Callable[..., Any]] = {}
rule = registers(RULES)
# Rules that serve several functions, the first argument of the rule: `f(function, *operands)`.
FAMILIES: dict[str, Callable[..., Any]] = {}
family = registers(FAMILIES)


def call(func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """A public function of operands some of which are nested."""
    name, kwargs = func.__name__, kwargs or {}
    if name in RULES:
        return RULES[name](*args, **kwargs)
    if name in FAMILIES:
        return FAMILIES[name](func, *args, **kwargs)
    own = own_function(NestedTensor, name)
    if own is None:
        raise refusal(name)
    return own(*args, **kwargs)


let_say(NestedTensor, call, operators(
    "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift",
    "eq ne lt le gt ge neg pos abs invert getitem setitem contains"))
