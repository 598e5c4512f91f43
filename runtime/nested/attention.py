"""Attention within parts: queries of a part see keys of the same part alone."""
from __future__ import annotations

from typing import Any

from ..ops.surface import FUNCTIONS as F
from .padding import lengths_of, longest, padded, unpadded, without_gaps
from .rules import family
from .tensor import NestedTensor, is_nested, refusal


def _check(query: Any, key: Any, value: Any, attn_mask: Any) -> None:
    name = "scaled_dot_product_attention"
    if attn_mask is not None:
        raise refusal(name, "there is no attn_mask beside nested tensors")
    if not all(is_nested(x) for x in (query, key, value)):
        raise refusal(name, "query, key and value must all be nested")
    for x in (query, key, value):
        if x.ndim < 3 or x._ragged != x.ndim - 2:
            raise RuntimeError(f"{name}: expected the ragged dimension to be the last but one, as "
                               f"in (B, H, j, D), but got the shape {tuple(x.shape)}")
    if not key._has_structure_of(value):
        raise RuntimeError(f"{name}: expected key and value to share their ragged structure, but "
                           f"got shapes {tuple(key.shape)} and {tuple(value.shape)}")
    if query.shape[0] != key.shape[0]:
        raise RuntimeError(f"{name}: expected as many parts of query as of key, but got "
                           f"{query.shape[0]} and {key.shape[0]}")


@family("scaled_dot_product_attention")
def attention(func: Any, query: Any, key: Any, value: Any, attn_mask: Any = None,
              dropout_p: float = 0.0, is_causal: bool = False, scale: Any = None,
              enable_gqa: bool = False) -> Any:
    """softmax(query @ key.T * scale) @ value of each part, (B, H, j, D). All are padded to the
    longest once; what was filled up is seen by none."""
    _check(query, key, value, attn_mask)
    of_itself = query._has_structure_of(key)
    query, length = without_gaps(query), longest(key)
    key, value = without_gaps(key), without_gaps(value)
    options = {"dropout_p": dropout_p, "scale": scale, "enable_gqa": enable_gqa}
    if is_causal and of_itself or _fills(key, length):
        options["is_causal"] = is_causal     # what is filled up comes after all that sees
    else:
        options["attn_mask"] = _mask(query, key, length, is_causal)
    found = func(padded(query, 0), padded(key, 0, length), padded(value, 0, length), **options)
    return unpadded(found, query)


def _fills(x: NestedTensor, length: int) -> bool:
    """Have all parts the same length?"""
    return bool(x._held.shape[x._ragged - 1] == (x._offsets.shape[0] - 1) * length)


def _mask(query: NestedTensor, key: NestedTensor, length: int, is_causal: bool) -> Any:
    """Which keys queries see: (B, 1, ..., 1 or queries, keys)."""
    at = F["arange"](length, device=key.device)
    seen = at < lengths_of(key).reshape(-1, *[1] * (query.ndim - 1))
    if is_causal:
        seen = seen & (at <= F["arange"](longest(query), device=key.device).unsqueeze(1))
    return seen
