"""Attention in its kinds, and rotary embeddings."""
import math
from typing import Any

import whet
import whet.nn.functional as F

from ....tensor import Tensor
from ...element_types import ElementType
from ...errors import OnnxError
from ..definition import Body, Call, operator


def heads(x: Tensor, count: int | None) -> Tensor:
    """[batch, length, heads * size] as [batch, heads, length, size]."""
    if x.ndim == 4:
        return x
    if count is None:
        raise OnnxError("inputs of 3 dimensions need q_num_heads and kv_num_heads")
    return x.reshape(x.shape[0], x.shape[1], count, -1).transpose(1, 2)


def additive(mask: Tensor, like: Tensor) -> Tensor:
    """A mask as what is added to scores."""
    if mask.dtype is not whet.bool:
        return mask
    return whet.where(mask, whet.zeros((), dtype=like.dtype),
                      whet.full((), -math.inf, dtype=like.dtype))


class Masking:
    """Which keys a query may see."""

    def __init__(self, mask: Tensor | None, lengths: Tensor | None, causal: bool, left: int,
                 right: int, before: int) -> None:
        self.mask, self.lengths, self.causal = mask, lengths, causal
        self.left, self.right, self.before = left, right, before

    def bias(self, q: Tensor, k: Tensor) -> Tensor | None:
        """What is added to the scores, or None where all is seen."""
        rows, columns = q.shape[2], k.shape[2]
        mask = self.mask
        if mask is not None:
            mask = additive(mask, q)
            if columns > mask.shape[-1]:
                mask = F.pad(mask, [0, columns - mask.shape[-1]], value=-math.inf)
        seen = self.seen(rows, columns)
        if seen is None:
            return mask
        found = additive(seen, q)
        return found if mask is None else found + mask

    def seen(self, rows: int, columns: int) -> Tensor | None:
        """The keys that positions and lengths let a query see."""
        parts: list[Tensor] = []
        if self.causal or self.left >= 0 or self.right >= 0:
            start: Any = self.before
            if self.lengths is not None:
                start = self.lengths.reshape(-1, 1, 1, 1) - rows
            ahead = whet.arange(columns) - (whet.arange(rows).reshape(-1, 1) + start)
            if self.causal:
                parts.append(ahead <= 0)
            if self.left >= 0:
                parts.append(ahead >= -self.left)
            if self.right >= 0:
                parts.append(ahead <= self.right)
        if self.lengths is not None:
            parts.append(whet.arange(columns) < self.lengths.reshape(-1, 1, 1, 1))
        found = None
        for part in parts:
            found = part if found is None else found & part
        return found


def probabilities(scores: Tensor, bias: Tensor | None) -> Tensor:
    """Softmax over the keys; zero for a query that may see none."""
    if bias is None:
        return whet.softmax(scores, -1)
    blind = whet.eq(whet.amax(bias, -1, keepdim=True), -math.inf)
    found = whet.softmax(scores, -1)
    return whet.where(blind, whet.zeros((), dtype=found.dtype), found)


def attend(q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None, scale: float, softcap: float,
           precision: int | None, output_mode: int) -> tuple[Tensor, Tensor]:
    """The steps of attention, one by one: the result, and what there was at one of the stages."""
    root = math.sqrt(scale)
    scores = whet.matmul(q * root, (k * root).transpose(-1, -2))
    stage = scores
    if softcap:
        scores = whet.tanh(scores / softcap) * softcap
    stage = scores if output_mode == 1 else stage
    if bias is not None:
        scores = scores + bias
    stage = scores if output_mode == 2 else stage
    kind = ElementType.of_code(precision).whet if precision else None
    weights = probabilities(scores if kind is None else scores.to(kind), bias).to(q.dtype)
    return whet.matmul(weights, v), weights if output_mode == 3 else stage.to(q.dtype)


@operator("Attention")
def attention(q: Tensor, k: Tensor, v: Tensor, attn_mask: Tensor | None = None,
              past_key: Tensor | None = None, past_value: Tensor | None = None,
              nonpad_kv_seqlen: Tensor | None = None, *, is_causal: int = 0,
              kv_num_heads: int | None = None, left_window_size: int = -1,
              q_num_heads: int | None = None, qk_matmul_output_mode: int = 0,
              right_window_size: int = -1, scale: float | None = None, softcap: float = 0.0,
              softmax_precision: int | None = None, call: Call) -> Any:
    flat = q.ndim == 3
    q, k, v = heads(q, q_num_heads), heads(k, kv_num_heads), heads(v, kv_num_heads)
    before = 0
    if past_key is not None and past_value is not None:
        before = past_key.shape[2]
        k, v = whet.cat([past_key, k], 2), whet.cat([past_value, v], 2)
    masking = Masking(attn_mask, nonpad_kv_seqlen, bool(is_causal), left_window_size,
                      right_window_size, before)
    bias, present = masking.bias(q, k), (k, v)
    groups = q.shape[1] // k.shape[1]
    if groups > 1:
        k, v = (whet.repeat_interleave(t, groups, 1) for t in (k, v))
    factor = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    plain = bias is None and not softcap and softmax_precision is None and not call.wants(3)
    if plain:
        found, stage = F.scaled_dot_product_attention(q, k, v, scale=factor), None
    else:
        found, stage = attend(q, k, v, bias, factor, softcap, softmax_precision,
                              qk_matmul_output_mode)
    if flat:
        found = found.transpose(1, 2).reshape(found.shape[0], found.shape[2], -1)
    return found, *present, stage


@operator("FlexAttention", domain="ai.onnx.preview")
def flex_attention(q: Tensor, k: Tensor, v: Tensor, *, scale: float | None = None,
                   score_mod: Body | None = None, prob_mod: Body | None = None,
                   softmax_precision: int | None = None) -> Any:
    groups, kind = q.shape[1] // k.shape[1], v.dtype
    if groups > 1:
        k, v = (whet.repeat_interleave(t, groups, 1) for t in (k, v))
    root = math.sqrt(1 / math.sqrt(q.shape[-1]) if scale is None else scale)
    scores = whet.matmul(q * root, (k * root).transpose(-1, -2))
    wide = whet.float32 if q.dtype in (whet.float16, whet.bfloat16) else q.dtype
    if softmax_precision:
        wide = ElementType.of_code(softmax_precision).whet or wide
    scores = scores.to(wide)
    if score_mod is not None:
        scores = score_mod(scores)[0].to(wide)
    weights = whet.softmax(scores, -1)
    if prob_mod is not None:
        weights = prob_mod(weights)[0].to(wide)
    return whet.matmul(weights, v.to(wide)).to(kind)


@operator("RotaryEmbedding")
def rotary_embedding(x: Tensor, cos_cache: Tensor, sin_cache: Tensor,
                     position_ids: Tensor | None = None, *, interleaved: int = 0,
                     num_heads: int | None = None, rotary_embedding_dim: int = 0) -> Tensor:
    shape = x.shape
    if x.ndim == 3:
        x = x.reshape(shape[0], shape[1], num_heads, -1)
    else:
        x = x.transpose(1, 2)
    width = rotary_embedding_dim or x.shape[3]
    turned, rest = x[..., :width], x[..., width:]
    if position_ids is not None:
        cos_cache, sin_cache = cos_cache[position_ids], sin_cache[position_ids]
    cos, sin = cos_cache.unsqueeze(2), sin_cache.unsqueeze(2)
    if interleaved:
        a, b = turned[..., 0::2], turned[..., 1::2]
        found = whet.stack([cos * a - sin * b, sin * a + cos * b], -1).reshape(turned.shape)
    else:
        a, b = whet.chunk(turned, 2, -1)
        found = whet.cat([cos * a - sin * b, sin * a + cos * b], -1)
    found = found if width == x.shape[3] else whet.cat([found, rest], -1)
    return found.reshape(shape) if len(shape) == 3 else found.transpose(1, 2)


@operator("LinearAttention")
def linear_attention(query: Tensor, key: Tensor, value: Tensor, past_state: Tensor | None = None,
                     decay: Tensor | None = None, beta: Tensor | None = None, *,
                     chunk_size: int = 64, kv_num_heads: int, q_num_heads: int, scale: float = 0.0,
                     update_rule: str = "gated_delta") -> tuple[Tensor, Tensor]:
    gated, delta = "gated" in update_rule, "delta" in update_rule
    if update_rule not in ("linear", "gated", "delta", "gated_delta"):
        raise OnnxError(f"there is no update_rule {update_rule!r}")
    if gated != (decay is not None) or delta != (beta is not None):
        raise OnnxError(f"update_rule {update_rule!r} does not go with the inputs decay and beta")
    batch, length, _ = query.shape
    q, k, v = (heads(t, n).to(whet.float32) for t, n in
               ((query, q_num_heads), (key, kv_num_heads), (value, kv_num_heads)))
    size, groups = k.shape[-1], q_num_heads // kv_num_heads
    state = whet.zeros(batch, kv_num_heads, size, v.shape[-1]) if past_state is None \
        else past_state.to(whet.float32)
    fall = None if decay is None else whet.exp(heads(decay, kv_num_heads).to(whet.float32))
    rate = None if beta is None else heads(beta, beta.shape[-1]).to(whet.float32)
    rows = []
    for i in range(length):
        keys, new = k[:, :, i], v[:, :, i]
        if fall is not None:
            state = state * fall[:, :, i].unsqueeze(-1)
        if rate is not None:
            new = rate[:, :, i] * (new - whet.einsum("bhdm,bhd->bhm", state, keys))
        state = state + keys.unsqueeze(-1) * new.unsqueeze(-2)
        read = state if groups == 1 else whet.repeat_interleave(state, groups, 1)
        rows.append(whet.einsum("bhd,bhdm->bhm", q[:, :, i], read))
    found = whet.stack(rows, 1) * (scale or 1 / math.sqrt(size))
    kind = query.dtype if past_state is None else past_state.dtype
    return found.reshape(batch, length, -1).to(query.dtype), state.to(kind)
