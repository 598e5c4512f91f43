"""Gradients of and by sparse tensors: those of their values."""
from __future__ import annotations

from typing import Any

from ..autograd import engine
from .convert import is_sparse
from .rules import rule


@rule("grad")
def grad(outputs: Any, inputs: Any, grad_outputs: Any = None, **options: Any) -> Any:
    """`autograd.grad`, where outputs or inputs are sparse."""
    seeds = grad_outputs or [None] * len(outputs)
    seeds = [g.sparse_mask(y)._held if g is not None and is_sparse(y) else g
             for y, g in zip(outputs, seeds, strict=True)]
    found = engine.grad([y._held if is_sparse(y) else y for y in outputs],
                        [x._held if is_sparse(x) else x for x in inputs], seeds, **options)
    return tuple(x._with(g) if is_sparse(x) and g is not None else g
                 for x, g in zip(inputs, found, strict=True))
