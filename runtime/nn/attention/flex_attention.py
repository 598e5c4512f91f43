"""Attention whose scores a function of positions changes, under a mask that another gives.

    from whet.nn.attention.flex_attention import create_block_mask, flex_attention

    mask = create_block_mask(lambda b, h, q, kv: q >= kv, None, None, 512, 512)
    y = flex_attention(query, key, value, lambda s, b, h, q, kv: s - (q - kv), mask)

The functions are vmapped over all positions. All scores are computed, and hidden ones are left out
of the sum; no block is skipped yet. Gradients flow into the queries, keys, values and whatever the
functions close over. A traced call fuses the functions with what is around them.
"""
import math
import warnings
from typing import Any, NamedTuple

import whet

from .block_mask import BLOCK as _DEFAULT_SPARSE_BLOCK_SIZE  # noqa: F401  packages read it here
from .block_mask import (
    BlockMask,
    _sliced_mask_mod_error,
    and_masks,
    create_block_mask,
    create_mask,
    noop_mask,
    or_masks,
    over_positions,
    positions,
)

__all__ = [
    "AuxOutput", "AuxRequest", "BlockMask", "FlexKernelOptions", "and_masks", "create_block_mask",
    "create_mask", "flex_attention", "noop_mask", "or_masks"]

FlexKernelOptions = dict[str, Any]


class AuxRequest(NamedTuple):
    """What `flex_attention` is to give beside its result."""
    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """The logarithm of the sum of the exponentials of each query's scores, and the largest."""
    lse: Any = None
    max_scores: Any = None


def _check_sizes(query, key, value, block_mask, enable_gqa):
    for t in (query, key, value):
        if t.dtype is not query.dtype:
            raise ValueError("Expected query, key, and value to have the same dtype, but got "
                             f"query.dtype: {query.dtype}, key.dtype: {key.dtype}, and "
                             f"value.dtype: {value.dtype} instead.")
        if t.dim() != 4:
            raise NotImplementedError("NYI: query, key, and value must be 4D tensors")
    if query.shape[-1] != key.shape[-1]:
        raise ValueError("Expect query and key/value to have the same embedding dimension but got "
                         f"E={query.shape[-1]} and E={key.shape[-1]}.")
    heads, kv_heads = query.shape[1], key.shape[1]
    if not enable_gqa and heads != kv_heads:
        raise ValueError(
            f"Expect query and key/value to have the same number of heads but got Hq={heads} and "
            f"Hkv={kv_heads}. Try setting enable_gqa=True for GQA.")
    if heads % kv_heads:
        raise ValueError(
            "Expect number of query heads to be a multiple of kv heads for GQA but got "
            f"Hq={heads} and Hkv={kv_heads}.")
    if query.shape[0] != key.shape[0] and not (
            key.shape[0] == 1 and block_mask is not None
            and block_mask.kv_num_blocks.shape[0] == query.shape[0]):
        raise ValueError(
            "Expect query and key/value to have the same batch size, or block_mask and query to "
            f"have the same batch size, but got Bq={query.shape[0]} and Bkv={key.shape[0]}.")


def _check_mask(block_mask, query, key):
    if block_mask.mask_mod is _sliced_mask_mod_error:
        raise RuntimeError("Cannot use mask_mod from a sliced BlockMask")
    lengths = query.shape[-2], key.shape[-2]
    if block_mask.shape[-2:] != lengths:
        raise ValueError(
            f"block_mask was created for block_mask.shape={block_mask.shape} but got "
            f"q_len={lengths[0]} and kv_len={lengths[1]}. Create a new block mask, or take the "
            "upper left corner of a larger one: block_mask._adjust(q_len, kv_len).")


def _scores(query, key, score_mod, block_mask, scale):
    """The scores of all positions as the softmax gets them."""
    precise = whet.float64 if query.dtype is whet.float64 else whet.float32
    scores = (query.to(precise) @ key.to(precise).mT) * scale
    if score_mod is not None:
        scores = over_positions(score_mod, 1)(scores, *positions(scores.shape, scores.device))
    if block_mask is not None:
        scores = whet.where(block_mask.visible(scores.shape), scores, -math.inf)
    return scores.to(precise)


def flex_attention(query, key, value, score_mod=None, block_mask=None, scale=None,
                   enable_gqa=False, return_lse=False, kernel_options=None, *, return_aux=None):
    """softmax(score_mod(query @ key.T * scale)) @ value where the mask shows it: tensors of shape
    (batch, heads, length, size). A query that sees nothing gives zeros. `kernel_options` choose
    among PyTorch's kernels; there is one way here.

    >>> import whet
    >>> from whet.nn.attention.flex_attention import flex_attention
    >>> x = whet.ones(1, 1, 2, 4)
    >>> flex_attention(x, x, x * 3, lambda score, b, h, q, kv: score + kv).shape
    whet.Size([1, 1, 2, 4])
    """
    _check_sizes(query, key, value, block_mask, enable_gqa)
    if block_mask is not None:
        _check_mask(block_mask, query, key)
    if return_lse and return_aux is not None:
        raise ValueError("Cannot specify both return_lse and return_aux. return_lse is deprecated, "
                         "please use return_aux=AuxRequest(lse=True) instead.")
    if return_lse:
        warnings.warn("return_lse is deprecated. Please use return_aux=AuxRequest(lse=True) "
                      "instead.", FutureWarning, stacklevel=2)
    groups = query.shape[1] // key.shape[1]
    if groups > 1:
        key, value = key.repeat_interleave(groups, 1), value.repeat_interleave(groups, 1)
    scale = 1.0 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = _scores(query, key, score_mod, block_mask, scale)
    nothing = (scores == -math.inf).all(-1, keepdim=True)
    # zeros instead: a softmax of minus infinities has no gradient
    scores = whet.where(nothing, 0.0, scores)
    weights = whet.where(nothing, 0.0, scores.softmax(-1))
    result = weights.to(query.dtype) @ value
    if not return_lse and return_aux is None:
        return result
    wanted = AuxRequest(lse=True) if return_aux is None else return_aux

    def of_rows(x):
        return whet.where(nothing.squeeze(-1), -math.inf, x)
    aux = AuxOutput(of_rows(scores.logsumexp(-1)) if wanted.lse else None,
                    of_rows(scores.amax(-1)) if wanted.max_scores else None)
    return result, aux.lse if return_aux is None else aux
