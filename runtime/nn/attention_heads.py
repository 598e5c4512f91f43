"""Attention in several heads, each of which sees a projection of what is given."""
import dataclasses
import math
from collections.abc import Callable
from typing import Any

import whet

from ..ops.attention import scaled_dot_product_attention
from ..ops.contract import linear
from ..ops.dropout import dropout
from ..ops.pad import pad
from ..ops.softmax import softmax


@dataclasses.dataclass
class Projections:
    """The weights by which query, key and value are projected: one above the other where all have
    one width, else three."""
    together: Any
    apart: tuple

    @classmethod
    def of(cls, module):
        """The projections of an `nn.MultiheadAttention`."""
        return cls(module.in_proj_weight,
                   (module.q_proj_weight, module.k_proj_weight, module.v_proj_weight))

    def __call__(self, query, key, value, width, bias):
        """The three inputs, each (N, length, width) after its projection."""
        w, b, e = self.together, bias, width
        if w is not None and query is key and key is value:
            return linear(query, w, b).chunk(3, -1)
        if w is not None and key is value:
            k, v = linear(key, w[e:], None if b is None else b[e:]).chunk(2, -1)
            return linear(query, w[:e], None if b is None else b[:e]), k, v
        weights = self.apart if w is None else w.chunk(3)
        biases = (None,) * 3 if b is None else b.chunk(3)
        return tuple(linear(x, wi, bi) for x, wi, bi in zip((query, key, value), weights, biases))


@dataclasses.dataclass
class Attention:
    """What `nn.MultiheadAttention` computes, of its weights."""
    width: int
    heads: int
    project: Projections
    bias: Any
    bias_k: Any
    bias_v: Any
    add_zero: bool
    dropout: float
    project_out: Callable[..., Any]
    projected: tuple = (None, None)             # keys and values that need no projection

    def __call__(self, query, key, value, key_padding_mask, need_weights, attn_mask, average,
                 is_causal, batch_first):
        if query.is_nested:
            from ..nested import heads
            heads.check(need_weights, batch_first, key_padding_mask=key_padding_mask,
                        attn_mask=attn_mask)
            return heads.attend(self, query, key, value, is_causal), None
        batched = query.ndim == 3
        self._check(query, key, value, key_padding_mask, attn_mask, batched, batch_first)
        if is_causal and attn_mask is None:
            raise RuntimeError("Need attn_mask if specifying the is_causal hint.")
        same_kv, same_q = key is value, query is key
        if not batched:
            query, key, value = query.unsqueeze(0), key.unsqueeze(0), value.unsqueeze(0)
            key_padding_mask = (key_padding_mask
                                if key_padding_mask is None else key_padding_mask.unsqueeze(0))
        elif not batch_first:
            query, key, value = query.transpose(0, 1), key.transpose(0, 1), value.transpose(0, 1)
        # new views, still the same tensors: let the projection see it
        if same_kv:
            value = key
            query = key if same_q else query
        n, length, _ = query.shape
        q, k, v, extra = self._in_heads(query, key, value)
        mask = self._mask(attn_mask, key_padding_mask, n, extra, q.dtype)
        if need_weights:
            out, weights = self._weighted(q, k, v, mask, average)
        else:
            causal = is_causal and key_padding_mask is None and not extra
            out = scaled_dot_product_attention(q, k, v, None if causal else mask, self.dropout,
                                               causal)
            weights = None
        if batched and not batch_first:      # rows in the order of the query's, in memory too
            rows = out.permute(2, 0, 1, 3).reshape(length, n, self.width)
        else:
            rows = out.transpose(1, 2).reshape(n, length, self.width)
        out = self.project_out(rows)
        if not batched:
            return out.squeeze(0), weights if weights is None else weights.squeeze(0)
        return out, weights

    def _in_heads(self, query, key, value):
        """(query, key, value, places added to the keys), each (N, heads, length, width of a
        head)."""
        n, head = query.shape[0], self.width // self.heads
        q, k, v = self.project(query, key, value, self.width, self.bias)
        extra, (own_k, own_v) = 0, self.projected
        if self.bias_k is not None:
            k = whet.cat([k, self.bias_k.expand(n, 1, -1)], 1)
            v = whet.cat([v, self.bias_v.expand(n, 1, -1)], 1)
            extra += 1
        q, k, v = (x.reshape(n, x.shape[1], self.heads, head).transpose(1, 2) for x in (q, k, v))
        k = k if own_k is None else own_k.reshape(n, self.heads, *own_k.shape[1:])
        v = v if own_v is None else own_v.reshape(n, self.heads, *own_v.shape[1:])
        if self.add_zero:
            zero = k.new_zeros((n, self.heads, 1, head))
            k, v = whet.cat([k, zero], 2), whet.cat([v, zero], 2)
            extra += 1
        return q, k, v, extra

    def _weighted(self, q, k, v, mask, average):
        scores = (q * math.sqrt(1.0 / q.shape[-1])) @ k.transpose(-2, -1)
        weights = softmax(scores if mask is None else scores + mask, -1)
        if self.dropout:
            weights = dropout(weights, self.dropout)
        return weights @ v, weights.mean(1) if average else weights

    def _check(self, query, key, value, key_padding_mask, attn_mask, batched, batch_first):
        if query.ndim not in (2, 3):
            raise AssertionError(
                f"query should be unbatched 2D or batched 3D tensor but received {query.ndim}-D "
                "query tensor")
        if key.ndim != query.ndim or value.ndim != query.ndim:
            kind = "batched (3-D)" if batched else "unbatched (2-D)"
            raise AssertionError(
                f"For {kind} `query`, expected `key` and `value` to be "
                f"{query.ndim}-D but found {key.ndim}-D and {value.ndim}-D tensors respectively")
        last = None if self.project.together is not None else -1
        if key.shape[:last] != value.shape[:last]:
            raise AssertionError(
                f"key shape {key.shape} does not match value shape {value.shape}")
        if (self.bias_k is None) != (self.bias_v is None):
            raise AssertionError("bias_k and bias_v are set both, or neither is")
        if query.shape[-1] != self.width:
            raise AssertionError(
                f"was expecting embedding dimension of {self.width}, but got {query.shape[-1]}")
        if key_padding_mask is not None:
            _check_padding(key_padding_mask, key, batched, batch_first)
        if attn_mask is None:
            return
        seq = 0 if batched and not batch_first else -2
        n = query.shape[0 if batch_first else 1] if batched else 1
        wanted = {
            2: (query.shape[seq], key.shape[seq]),
            3: (n * self.heads, query.shape[seq], key.shape[seq])}
        if attn_mask.ndim not in wanted:
            raise AssertionError(
                f"For {query.ndim}-D `query`, expected `attn_mask` to be None, 2-D or 3-D but "
                f"found {attn_mask.ndim}-D tensor instead")
        if tuple(attn_mask.shape) != wanted[attn_mask.ndim]:
            raise RuntimeError(
                f"The shape of the {attn_mask.ndim}D attn_mask is {attn_mask.shape}, but "
                f"should be {wanted[attn_mask.ndim]}.")

    def _mask(self, attn_mask, key_padding_mask, n, extra, dtype):
        """Both masks as one addend that broadcasts to (N, heads, L, S), with `extra` open places
        at the end."""
        mask = _additive(attn_mask, "attn_mask", dtype)
        if mask is not None and mask.ndim == 3:
            mask = mask.reshape(n, self.heads, *mask.shape[1:])
        padding = _additive(key_padding_mask, "key_padding_mask", dtype)
        if padding is not None:
            padding = padding[:, None, None, :]
            mask = padding if mask is None else mask + padding
        return pad(mask, (0, extra)) if mask is not None and extra else mask


def _check_padding(mask, key, batched, batch_first):
    if mask.ndim != 1 + batched:
        kind = "batched (3-D)" if batched else "unbatched (2-D)"
        raise AssertionError(
            f"For {kind} `query`, expected `key_padding_mask` to be `None` or {1 + batched}-D but "
            f"found {mask.ndim}-D tensor instead")
    wanted = key.shape[:-1] if not batched or batch_first else (key.shape[1], key.shape[0])
    for i, (size, due) in enumerate(zip(mask.shape, wanted)):
        if size != due:
            raise AssertionError(f"Expected key_padded_mask.shape[{i}] to be {due}, but got {size}")


def _additive(mask, name, dtype):
    """A mask as what is added to the scores: a bool mask is -inf where it is true."""
    if mask is None:
        return None
    if mask.dtype == whet.bool:
        return whet.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill_(mask, -math.inf)
    if not mask.is_floating_point():
        raise AssertionError(f"only bool and floating types of {name} are supported")
    return mask.to(dtype)


def multi_head_attention_forward(
        query, key, value, embed_dim_to_check, num_heads, in_proj_weight, in_proj_bias, bias_k,
        bias_v, add_zero_attn, dropout_p, out_proj_weight, out_proj_bias, training=True,
        key_padding_mask=None, need_weights=True, attn_mask=None, use_separate_proj_weight=False,
        q_proj_weight=None, k_proj_weight=None, v_proj_weight=None, static_k=None, static_v=None,
        average_attn_weights=True, is_causal=False):
    """What `nn.MultiheadAttention` computes, of weights that are given: (output, weights), for
    inputs (length, batch, width) or (length, width).

    >>> import whet
    >>> import whet.nn.functional as F
    >>> m = whet.nn.MultiheadAttention(4, 2)
    >>> x = whet.randn(3, 1, 4)
    >>> y, _ = F.multi_head_attention_forward(
    ...     x, x, x, 4, 2, m.in_proj_weight, m.in_proj_bias, None, None, False, 0.0,
    ...     m.out_proj.weight, m.out_proj.bias)
    >>> bool((y == m(x, x, x)[0]).all())
    True
    """
    if embed_dim_to_check % num_heads:
        raise AssertionError(
            f"embed_dim {embed_dim_to_check} not divisible by num_heads {num_heads}")
    if use_separate_proj_weight:
        for name, w in (("q", q_proj_weight), ("k", k_proj_weight), ("v", v_proj_weight)):
            if w is None:
                raise AssertionError(
                    f"use_separate_proj_weight is True but {name}_proj_weight is None")
    elif in_proj_weight is None:
        raise AssertionError("use_separate_proj_weight is False but in_proj_weight is None")
    attention = Attention(
        embed_dim_to_check, num_heads,
        Projections(None if use_separate_proj_weight else in_proj_weight,
                    (q_proj_weight, k_proj_weight, v_proj_weight)),
        in_proj_bias, bias_k, bias_v, add_zero_attn, dropout_p if training else 0.0,
        lambda x: linear(x, out_proj_weight, out_proj_bias), (static_k, static_v))
    return attention(query, key, value, key_padding_mask, need_weights, attn_mask,
                     average_attn_weights, is_causal, False)
