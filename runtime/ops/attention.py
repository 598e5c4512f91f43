"""Attention, and the ops that it is on devices: of halves, without the matrix of scores."""
import math

import numpy as np

from .. import devices
from ..autograd import modes
from ..dtypes import BOOL, FLOAT
from ..ir.outline import broadcast_shapes
from .batching import example_ndim, repeated
from .dropout import dropout
from .registry import Op, apply, is_tensor
from .sample_inputs import Sample
from .surface import FUNCTIONS
from .zero_gradients import attached


def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False,
                                 scale=None, enable_gqa=False):
    """softmax(query @ key.T * scale + mask) @ value

    >>> import whet
    >>> import whet.nn.functional as F
    >>> q, k, v = whet.randn(3, 2, 4, 5, 8).unbind()
    >>> F.scaled_dot_product_attention(q, k, v, is_causal=True).shape
    whet.Size([2, 4, 5, 8])
    """
    for t in (query, key, value):
        if t.ndim < 2:
            raise RuntimeError(
                "scaled_dot_product_attention: expected at least 2 dimensions, got "
                f"{tuple(t.shape)}")
        if t.dtype is not query.dtype and modes.state.autocast is None:
            raise RuntimeError(
                "Expected query, key, and value to have the same dtype, but got query.dtype: "
                f"{query.dtype} key.dtype: {key.dtype} and value.dtype: {value.dtype} instead.")
    if attn_mask is not None and attn_mask.dtype.category not in (BOOL, FLOAT):
        raise RuntimeError(
            "Expected attn_mask dtype to be bool or float or to match query dtype, but got "
            f"attn_mask.dtype: {attn_mask.dtype} and  query.dtype: {query.dtype} instead.")
    if is_causal and attn_mask is not None:
        raise RuntimeError("Explicit attn_mask should not be set when is_causal=True")
    if enable_gqa:
        n = query.shape[-3]
        key, value = (key.repeat_interleave(n // key.shape[-3],
                                            -3), value.repeat_interleave(n // value.shape[-3], -3))
    scale = 1.0 / math.sqrt(query.shape[-1] or 1) if scale is None else scale
    if dropout_p == 0.0 and (halves := _for_kernels(query, key, value, attn_mask, scale)):
        return attention(*halves, attn_mask, scale=float(scale), is_causal=bool(is_causal))[0]
    if query.dtype.itemsize == 2 and modes.state.autocast is None:
        # scores and weights as halves would lose what the exponential makes much of
        y = _by_ops(query.float(), key.float(), value.float(), attn_mask, dropout_p, is_causal,
                    scale)
        return y.to(query.dtype)
    return _by_ops(query, key, value, attn_mask, dropout_p, is_causal, scale)


def _by_ops(query, key, value, attn_mask, dropout_p, is_causal, scale):
    """softmax(query @ key.T * scale + mask) @ value, in ops that have kernels for any operands."""
    if query.shape[:-2] != value.shape[:-2] and 0 in (*key.shape[:-1], *value.shape):
        # Nothing to attend to: as the query asks, whatever the batches are.
        return attached(query.new_zeros((*query.shape[:-1], value.shape[-1])), query, key, value)
    if is_causal and dropout_p == 0.0 and _pays_in_panels(query, key, value):
        return _causal_panels(query * scale, key, value)
    weights = _weights(query, key, attn_mask, is_causal, scale)
    if dropout_p > 0.0:
        weights = dropout(weights, dropout_p)
    return FUNCTIONS["matmul"](weights, value)


def _weights(query, key, attn_mask, is_causal, scale):
    """softmax(query @ key.T * scale + mask)"""
    scores = FUNCTIONS["matmul"](query * scale, key.mT)
    some_see_nothing = attn_mask is not None and attn_mask.dtype.category == BOOL
    if is_causal:
        seen = FUNCTIONS["ones"](query.shape[-2], key.shape[-2], dtype=bool,
                                 device=query.device).tril()
        scores = FUNCTIONS["where"](seen, scores, -math.inf)
    if some_see_nothing:
        scores = FUNCTIONS["where"](attn_mask, scores, -math.inf)
    elif attn_mask is not None:
        scores = scores + attn_mask
    weights = FUNCTIONS["softmax"](scores, -1)
    # a row that may see nothing attends to nothing (that of a causal mask sees the first one)
    if some_see_nothing:
        weights = FUNCTIONS["where"](attn_mask.any(-1, keepdim=True), weights, 0.0)
    return weights


PANEL = 128                      # queries of a panel of causal attention, at least


def _pays_in_panels(query, key, value):
    """Is causal attention computed by panels of queries? Not where the graph is for others, which
    have kernels of their own for the whole of it, nor where gradients are wanted: their bits would
    go by the panels."""
    queries = query._array.shape[-2]
    return (queries >= 2 * PANEL and queries == key._array.shape[-2]
            and query._array.size and key._array.size
            and query.device.type == "cpu" and not modes.state.exports
            and not (modes.state.flags & modes.GRAD
                     and any(t.requires_grad for t in (query, key, value))))


def _causal_panels(query, key, value):
    """softmax(query @ key.T, of what comes before) @ value, by panels of queries: keys that none of
    a panel sees are left out. The bits are those of all at once, as products and sums only lack
    zeros at their ends: so the panels that suit some sizes may be another's."""
    queries, panels = query._array.shape[-2], []
    size = max(PANEL, 1 << queries.bit_length() - 3)         # 4 to 7 of them, where there are many
    count = queries // size
    for first in range(0, count * size, size):
        last = first + size
        if last == count * size:             # the rest is the last one's
            rows, keys, values = query[..., first:, :], key, value
        else:
            rows, keys, values = query[..., first:last, :], key[..., :last, :], value[..., :last, :]
        scores = FUNCTIONS["matmul"](rows, keys.mT)
        one = scores[(0,) * (scores.ndim - 2)].detach()
        seen = FUNCTIONS["ones_like"](one, dtype=bool).tril(first)
        panels.append(FUNCTIONS["matmul"](
            FUNCTIONS["where"](seen, scores, -math.inf).softmax(-1), values))
    return FUNCTIONS["cat"](panels, -2)


# ---- by kernels of devices -----------------------------------------------------------------------
MOST_FEATURES = 256                  # that registers hold


def _for_kernels(query, key, value, mask, scale):
    """The operands as halves of one batch, where kernels of a device compute all at once; or else
    None. Gradients of masks are for ops."""
    dtype, device = query.dtype, query.device
    if device.type != "cuda":
        return None
    if modes.state.autocast is not None and modes.state.autocast_for == device.type:
        dtype = modes.state.autocast
    sizes = [*query.shape, *key.shape, *value.shape]
    if (dtype.itemsize != 2 or dtype.category != FLOAT or 0 in sizes or scale <= 0.0
            or max(query.shape[-1], value.shape[-1]) > MOST_FEATURES
            or key.shape[-2:] != (value.shape[-2], query.shape[-1])):
        return None
    batches = [t.shape[:-2] for t in (query, key, value)]
    if mask is not None:
        if mask.requires_grad or mask.device != device or mask.dtype.category not in (BOOL, FLOAT):
            return None
        batches.append(mask.shape[:-2])
    batch = broadcast_shapes(*batches)
    return [t.to(dtype).expand(*batch, *t.shape[-2:]) for t in (query, key, value)]


def _wide(*arrays):
    """Arrays in the type that is computed in."""
    return [a.astype(np.float64 if a.dtype == np.float64 else np.float32) for a in arrays]


def _attention(q, k, v, mask=None, *, scale, is_causal):
    """The result, and the logarithm of each query's sum of exponentials (in base 2)."""
    weights, logs = _softmax(q, k, mask, scale, is_causal)
    return (weights @ _wide(v)[0]).astype(q.dtype), logs


def _softmax(q, k, mask, scale, is_causal):
    """The weights as floats, and the logarithms of their sums."""
    q, k = _wide(q, k)
    number = q.dtype.type
    scores = q @ k.swapaxes(-1, -2) * number(scale)
    seen = np.ones(scores.shape[-2:], bool)
    if mask is not None and mask.dtype == bool:
        seen = mask
    elif mask is not None:
        scores = scores + mask.astype(q.dtype)
    seen = np.tril(seen) if is_causal else seen
    scores = np.where(seen, scores, number(-np.inf))
    with np.errstate(invalid="ignore", divide="ignore"):
        most = scores.max(-1, keepdims=True)
        weights = np.exp(scores - np.where(np.isinf(most), 0, most))
        sums = weights.sum(-1, keepdims=True)
        logs = (np.log2(sums) + most * number(1 / math.log(2)))[..., 0]
        if mask is not None and mask.dtype == bool:
            sums = np.where(sums == 0, 1, sums)
        return weights / sums, logs.astype(np.float32)


def _attention_backward(g, q, k, v, y, logs, mask=None, *, scale, is_causal):
    """The gradients of q, k and v."""
    weights, _ = _softmax(q, k, mask, scale, is_causal)
    weights = np.where(np.isinf(logs)[..., None], 0, weights)
    dtype = q.dtype
    g, q, k, v, y = _wide(g, q, k, v, y)
    slopes = weights * (g @ v.swapaxes(-1, -2) - (g * y).sum(-1, keepdims=True)) * scale
    slopes = slopes.astype(q.dtype)
    made = slopes @ k, slopes.swapaxes(-1, -2) @ q, weights.swapaxes(-1, -2) @ g
    return tuple(x.astype(dtype) for x in made)


def _attention_vjp(g, ys, q, k, v, mask=None, *, scale, is_causal):
    """The gradients of attention by its kernels; in ops where gradients of the gradients may be
    wanted."""
    (y, logs), g = ys, g[0]
    if not modes.state.flags & modes.GRAD:
        return *attention_backward(g, q, k, v, y, logs, mask, scale=scale,
                                   is_causal=is_causal), None
    dtype = q.dtype
    if dtype.itemsize == 2:
        g, q, k, v = g.float(), q.float(), k.float(), v.float()
    weights = _weights(q, k, mask, is_causal, scale)
    slopes = g @ v.mT
    slopes = weights * (slopes - (slopes * weights).sum(-1, keepdim=True)) * scale
    return *[x.to(dtype) for x in (slopes @ k, slopes.mT @ q, weights.mT @ g)], None


def _batch(op, n, inputs, batched, attrs):
    """One more dimension of the batch; that of a mask stands in front of all others."""
    full = [repeated(x, n) if is_tensor(x) and not b else x for x, b in zip(inputs, batched)]
    at = len(inputs) - 1
    if is_tensor(inputs[at]) and batched[at]:
        missing = full[0].ndim - 1 - example_ndim(inputs[at], True)
        full[at] = full[at].reshape(n, *[1] * missing, *full[at].shape[1:])
    elif is_tensor(inputs[at]):
        full[at] = inputs[at]
    return apply(op, tuple(full), attrs)


def _samples(make):
    for is_causal in (False, True):
        yield Sample(*_operands(make), None, scale=0.5, is_causal=is_causal)
    yield Sample(*_operands(make), make(5, 7).detach() > 0, scale=0.5, is_causal=False)
    yield Sample(*_operands(make), make(3, 5, 7).detach(), scale=0.5, is_causal=True)


def _operands(make):
    return [make(2, 3, n, 4) for n in (5, 7, 7)]


attention = Op("attention", _attention, _attention_vjp, samples=_samples, nondiff_outputs=(1,),
               batch=_batch)
attention.saved_outputs, attention.family = frozenset((0, 1)), "attention"
attention.forward_on_device = devices.function_of("attention", "forward")
attention_backward = Op("attention_backward", _attention_backward, inner=True, batch=_batch)
attention_backward.base, attention_backward.family = attention, "attention"
attention_backward.forward_on_device = devices.function_of("attention", "backward")
