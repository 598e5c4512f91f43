"""Causal masks, by which each query sees the keys before it; queries and keys may differ in number.

    from whet.nn.attention.bias import causal_lower_right

    y = scaled_dot_product_attention(q, k, v, attn_mask=causal_lower_right(4, 20))
"""
from whet import bool as boolean
from whet import ones

__all__ = ["causal_lower_right", "causal_upper_left"]


def causal_upper_left(*size):
    """The first query sees the first key, as with `is_causal=True`.

    >>> from whet.nn.attention.bias import causal_upper_left
    >>> causal_upper_left(2, 4).int()
    tensor([[1, 0, 0, 0],
            [1, 1, 0, 0]], dtype=whet.int32)
    """
    queries, keys = _queries_and_keys(size)
    return ones(queries, keys, dtype=boolean).tril()


def causal_lower_right(*size):
    """The last query sees all keys: the queries belong to the last keys, as in generation with a
    cache of earlier keys.

    >>> from whet.nn.attention.bias import causal_lower_right
    >>> causal_lower_right(2, 4).int()
    tensor([[1, 1, 1, 0],
            [1, 1, 1, 1]], dtype=whet.int32)
    """
    queries, keys = _queries_and_keys(size)
    return ones(queries, keys, dtype=boolean).tril(keys - queries)


def _queries_and_keys(size):
    """The numbers of queries and of keys, as they were given."""
    if len(size) != 2:
        raise ValueError(f"a causal mask is of two sizes, queries and keys, not {len(size)}")
    return size
