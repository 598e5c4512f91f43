"""What products and norms are in ONNX: the `onnx` of ops in contract.py and norm.py. `b` writes
nodes (`onnx/write/builder.py`)."""

import numpy as np

from ...dtypes import FLOAT, SHORT
from ...ir import row_programs

HALF = ("f16", "bf16")


def attention(b, weights, value, ops):
    """softmax(query * scale @ key.mT + mask) @ value as the operator `Attention`, from opset 23 on;
    None for any other product. `ops` are those of which it is made, by their names."""
    if not b.has("Attention") or weights.ndim != 4 or value.ndim != 4:
        return None
    chosen = b.made_by(weights, ops["where"])
    if chosen and not b.made_by(chosen[0][1], ops["softmax"]):
        return None
    made = b.made_by(chosen[0][1] if chosen else weights, ops["softmax"])
    if not made or made[1]["dim"] != (3,):
        return None
    scores, mask = _masked(b, made[0][0], ops)
    found = _scores(b, scores, ops)
    if not found or value.dtype not in ("f32", "f16") or chosen and not _seen(
            b, chosen[0], mask, ops):
        return None
    query, key, scale = found
    if mask is not None and _is_causal(b, mask, ops):
        return b.Attention(query, key, value, is_causal=1, scale=scale)
    # rows that see nothing: ours attend to nothing, others do as they like
    seen = chosen and not (mask.array is not None and mask.array.any(-1).all())
    if mask is not None and mask.shape[-2:] != scores.shape[-2:]:
        mask = b.Expand(mask, b.ints((*mask.shape[:-2], *scores.shape[-2:])))
    y = b.Attention(query, key, value, mask, scale=scale)
    return b.Where(chosen[0][0], y, b.number(0, value.dtype)) if seen else y


def _masked(b, scores, ops):
    """(the scores, the mask that is added to them or chooses among them, or None)"""
    added, chosen = b.made_by(scores, ops["add"]), b.made_by(scores, ops["where"])
    if added:
        scores, mask = added[0]
        return scores, mask if mask.dtype == scores.dtype else None
    if chosen and chosen[0][2] == -np.inf:
        mask, scores, _ = chosen[0]
        return scores, mask
    return scores, None


def _scores(b, scores, ops):
    """(query, key, scale) of query * scale @ key.mT, or None."""
    made = b.made_by(scores, ops["matmul"])
    scaled = b.made_by(made[0][0], ops["mul"]) if made else None
    turned = b.made_by(made[0][1], ops["transpose"]) if made else None
    if not scaled or not turned or set(turned[1].values()) != {2, 3}:
        return None
    (query, scale), (key,) = scaled[0], turned[0]
    if type(scale) is not float or {query.ndim, key.ndim} != {4} or query.shape[1] != key.shape[1]:
        return None
    return query, key, scale


def _seen(b, chosen, mask, ops):
    """Are weights zero just where a mask leaves nothing? `chosen`: the operands of that choice."""
    seen, _, other = chosen
    if mask is None or mask.dtype != "bool" or other != 0.0:
        return False
    made = b.made_by(seen, ops["any"])
    if made:
        return made[0][0].name == mask.name and made[1]["dim"] == (mask.ndim - 1,)
    held = mask.array, seen.array
    return held[0] is not None and np.array_equal(held[0].any(-1, keepdims=True), held[1])


def _is_causal(b, mask, ops):
    """Does each place see itself and all before it?"""
    if mask.dtype != "bool" or mask.ndim != 2 or mask.shape[0] != mask.shape[1]:
        return False
    if mask.array is not None:
        return np.array_equal(mask.array, np.tril(np.ones_like(mask.array)))
    made = b.made_by(mask, ops["tril"])
    ones = made and made[1]["diagonal"] == 0 and b.made_by(made[0][0], ops["full"])
    return bool(ones) and ones[1].get("value") == 1


def product(b, x, y):
    """The op `matmul`."""
    wide = "i64" if SHORT[x.dtype].category < FLOAT else x.dtype
    return b.cast(b.MatMul(b.cast(x, wide), b.cast(y, wide)), x.dtype)


def unrounded_product(b, x, y):
    """The op `unrounded_matmul`."""
    return product(b, *(b.cast(a, "f32") if a.dtype in HALF else a for a in (x, y)))


def complex_product(b, x, y):
    """The op `matmul` of complex numbers: four products of real ones."""
    (a, c), (d, e) = b.parts_of(x), b.parts_of(y)
    return b.pair(b.Sub(b.MatMul(a, d), b.MatMul(c, e)), b.Add(b.MatMul(a, e), b.MatMul(c, d)))


def complex_linear(b, x, w, bias=None):
    """The op `linear` of complex numbers."""
    y = complex_product(b, x, b.of_each_part(lambda part: b.Transpose(part, perm=[1, 0]), w))
    return y if bias is None else b.of_each_part(b.Add, y, bias)


def linear(b, x, w, bias=None):
    """The op `linear`: `Gemm` of matrices, else `MatMul`."""
    if x.ndim == 2 and w.ndim == 2 and SHORT[x.dtype].category == FLOAT:
        return b.Gemm(x, w, bias, transB=1)
    y = product(b, x, b.Transpose(w, perm=[1, 0]))
    return y if bias is None else b.Add(y, bias)


def _trailing(x, dim):
    """Are these the last dimensions?"""
    return tuple(dim) == tuple(range(x.ndim - len(dim), x.ndim))


def _ones(b, x, dim):
    sizes = [x.shape[d] for d in dim]
    if not all(isinstance(n, int) for n in sizes):
        return None
    return b.constant(np.ones(sizes, SHORT[x.dtype].np), "ones")


def layer_norm(b, x, weight, bias, eps, n, *, dim):
    """The op `layer_norm`. The statistics, which seldom matter, are written apart."""
    rest = b.row_program(row_programs.layer_norm(x.dtype), (x, weight, bias, eps, n), dim)
    if not _trailing(x, dim):
        return tuple(rest)
    return b.LayerNormalization(x, weight, bias, axis=dim[0], epsilon=eps), *rest[1:]


def rows_normalized(b, x, eps, n, *, dim):
    """The op `normalize_rows`: a layer norm with weights of one."""
    program = row_programs.layer_norm(x.dtype, weight=False, bias=False)
    rest = b.row_program(program, (x, eps, n), dim)
    ones = _ones(b, x, dim) if _trailing(x, dim) else None
    if ones is None:
        return tuple(rest)
    return b.LayerNormalization(x, ones, None, axis=dim[0], epsilon=eps), *rest[1:]


def rms_norm(b, x, eps, n, *, dim):
    """The op `rms_norm`, an operator from opset 23 on."""
    rest = b.row_program(row_programs.rms_norm(x.dtype, weight=False), (x, eps, n), dim)
    ones = _ones(b, x, dim) if _trailing(x, dim) and b.has("RMSNormalization") else None
    if ones is None:
        return tuple(rest)
    return b.RMSNormalization(x, ones, axis=dim[0], epsilon=eps), *rest[1:]


def batch_norm(b, operands, inverse_std, view):
    """The op `batch_norm_eval`, where its scale is seen to be 1 / sqrt(var + eps) of a channel."""
    x, mean, scale, weight, bias = operands
    found = _channel(b, scale, view)
    made = found and b.maker(found)
    if found is None or x.ndim < 2:
        return None
    if found.array is not None:  # it was computed before
        wide = 1 / found.array.astype(np.float64) ** 2
        var, eps = b.constant(wide.astype(found.array.dtype)), 0.0
    elif made and made[0] is inverse_std and isinstance(made[1][1], float):
        var, eps = made[1]
    else:
        return None
    rest = [_channel(b, p, view) for p in (weight, bias, mean)]
    if None in rest or var.dtype != x.dtype:
        return None
    return b.BatchNormalization(x, *rest, var, epsilon=eps)


def _channel(b, p, view):
    """A vector that was given dimensions of size one around its own."""
    made = b.maker(p)
    if p.ndim < 2 or any(n != 1 for i, n in enumerate(p.shape) if i != 1):
        return None
    if made and made[0] is view and made[1][0].ndim == 1:
        return made[1][0]
    return b.Reshape(p, b.ints((-1,))) if p.array is None else b.constant(p.array.reshape(-1))
