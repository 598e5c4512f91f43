"""What is done with sparse tensors, by the names of public functions and methods.

A call of a function or a method with a sparse tensor among its operands comes to `call`: from the
tensor's own methods, and from functions of dense tensors, which hand over what they have no rule
for (`overrides.py`). The families are in `pointwise.py`, `shapes.py`, `sums.py`, `products.py` and
`convert.py`.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..composite_tensor import own_function
from .tensor import SparseTensor, refusal

RULES: dict[str, Callable[..., Any]] = {}
# names that Python's operators have, and what they are methods of
REFLECTED = {"__radd__": "__add__", "__rsub__": "__sub__", "__rmul__": "__mul__",
             "__rtruediv__": "__truediv__", "__rmatmul__": "__matmul__", "__rpow__": "__pow__"}


def rule(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A function is the rule of these public functions, and a method of sparse tensors."""
    def register(fn: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            RULES[name] = fn
            if own_function(SparseTensor, name) is None:
                setattr(SparseTensor, name, fn)
        return fn
    return register


def call(func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """A public function of operands some of which are sparse."""
    name = func.__name__
    fn = RULES.get(name)
    if fn is None:
        fn = own_function(SparseTensor, name) or SparseTensor._function_of_values(name)
    if fn is None:
        layouts = sorted({str(x.layout) for x in _operands(args, kwargs)})
        raise refusal(name, " and ".join(layouts))
    return fn(*args, **kwargs or {})


def _operands(args: Any, kwargs: Any) -> list[Any]:
    """The sparse tensors among arguments, and in their lists."""
    found = []
    for x in (*args, *(kwargs or {}).values()):
        found += [y for y in (x if isinstance(x, list | tuple) else (x,))
                  if issubclass(type(y), SparseTensor)]
    return found


SparseTensor.__torch_function__ = staticmethod(call)   # type: ignore[attr-defined]
