"""`nn.MultiheadAttention` of nested tensors, (B, j, width)."""
from __future__ import annotations

from typing import Any

from ..ops.attention import scaled_dot_product_attention
from .attention import attention
from .shapes import transpose
from .tensor import is_nested, refusal

NAME = "MultiheadAttention"


def attend(module: Any, query: Any, key: Any, value: Any, is_causal: bool) -> Any:
    """What an `Attention` gives (`nn/attention_heads.py`): each part attends to its own keys."""
    inputs = query, key, value
    if not all(is_nested(x) and x.ndim == 3 and x._ragged == 1 for x in inputs):
        raise refusal(NAME, "query, key and value must all be of shape (B, j, width)")
    if module.bias_k is not None or module.add_zero or module.projected != (None, None):
        raise refusal(NAME, "there are no further keys beside nested ones")
    projected = module.project(*(x._held for x in inputs), module.width, module.bias)
    q, k, v = (transpose(x._with(p.unflatten(-1, (module.heads, -1))), 1, 2)
               for x, p in zip(inputs, projected, strict=True))
    found = attention(scaled_dot_product_attention, q, k, v, None, module.dropout, is_causal)
    together = transpose(found, 1, 2)
    return together._with(module.project_out(together._held.flatten(-2)))


def check(needs_weights: bool, batch_first: bool, **masks: Any) -> None:
    """Raise where a call of the module asks for what there is not for nested tensors."""
    if not batch_first:
        raise refusal(NAME, "it must be made with batch_first=True")
    for name, mask in masks.items():
        if mask is not None:
            raise refusal(NAME, f"there is no {name} beside nested tensors, whose parts see "
                          "themselves alone; is_causal=True needs none")
    if needs_weights:
        raise refusal(NAME, "it must be called with need_weights=False")
