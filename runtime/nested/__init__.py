"""Nested tensors: `whet.nested.nested_tensor`, and what is done with tensors of unequal length
(docs/nested.md)."""
from . import attention as _attention  # noqa: F401  (its rules)
from . import gradients as _gradients  # noqa: F401  (its rules)
from . import pointwise as _pointwise  # noqa: F401  (its rules)
from . import products as _products  # noqa: F401  (its rules)
from . import shapes as _shapes  # noqa: F401  (its rules)
from . import sums as _sums  # noqa: F401  (its rules)
from .make import (
    as_nested_tensor,
    masked_select,
    narrow,
    nested_tensor,
    nested_tensor_from_jagged,
)
from .padding import to_padded_tensor
from .tensor import NestedTensor

__all__ = ["NestedTensor", "as_nested_tensor", "masked_select", "narrow", "nested_tensor",
           "nested_tensor_from_jagged", "to_padded_tensor"]
