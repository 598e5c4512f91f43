"""Gradients of and by nested tensors: those of their values."""
from __future__ import annotations

from typing import Any

from ..autograd import engine
from .rules import rule
from .tensor import is_nested


@rule("grad")
def grad(outputs: Any, inputs: Any, grad_outputs: Any = None, **options: Any) -> Any:
    """`autograd.grad`, where outputs or inputs are nested."""
    seeds = grad_outputs or [None] * len(outputs)
    seeds = [y._values_of(g) if g is not None and is_nested(y) else g
             for y, g in zip(outputs, seeds, strict=True)]
    found = engine.grad([y._held if is_nested(y) else y for y in outputs],
                        [x._held if is_nested(x) else x for x in inputs], seeds, **options)
    return tuple(x._with(g) if is_nested(x) and g is not None else g
                 for x, g in zip(inputs, found, strict=True))
