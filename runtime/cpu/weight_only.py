"""Linear layers on the CPU whose weights alone are of 8 or 4 bits; the order of sums is stated in
`passes/lower_llvm/quantised/weight_only.py`."""

import numpy as np
from whet.ir.outline import table as numbers_of
from whet.passes.lower_llvm.quantised import weight_only

from . import memory, native
from .conv_plan import known, remember
from .reference_only import REFERENCE

LARGEST = {8: 127, 4: 7}
UNIT_STEPS = 1 << 18             # products that are worth a thread of their own


def pack(w, bits, block):
    """Weights (N, K) of float32 as (bytes (panels, K or K / 2, 32), scales (blocks, room))."""
    n, k = w.shape
    room, blocks = -(-n // weight_only.PANEL) * weight_only.PANEL, -(-k // block)
    whole = np.zeros((room, blocks * block), "f4")
    whole[:n, :k] = w
    parts = whole.reshape(room, blocks, block)
    scales = np.maximum(np.abs(parts).max(2) / LARGEST[bits], np.finfo("f4").tiny).astype("f4")
    steps = np.rint(parts / scales[..., None]).clip(-LARGEST[bits], LARGEST[bits]).astype("i1")
    q = steps.reshape(room, -1)[:, :k].reshape(-1, weight_only.PANEL, k).transpose(0, 2, 1)
    if bits == 4:
        q = (q[:, 0::2] & 15) | (q[:, 1::2] << 4)
    return np.ascontiguousarray(q), np.ascontiguousarray(scales.T)


def unpacked(w, scales, features, bits, block):
    """The real weights (N, K) that those are."""
    q = w
    if bits == 4:
        q = np.stack([(w << 4).astype("i1") >> 4, w >> 4], 2).reshape(len(w), -1, w.shape[2])
    q = q.transpose(0, 2, 1).reshape(-1, q.shape[1])[:features]
    by = np.repeat(scales.T, block, 1)[:features, : q.shape[1]]
    return q.astype("f4") * by


def linear(x, w, scales, bias, features, bits, block):
    """x (..., K), float32, times packed weights, plus a bias: (..., features)."""
    k, panels = x.shape[-1], -(-features // weight_only.PANEL)
    room, together = panels * weight_only.PANEL, 8 // bits
    wanted = [(x, x.shape, "f4"), (w, (panels, k // together, weight_only.PANEL), "i1"),
              (scales, (-(-k // block), room), "f4"), (bias, (room,), "f4")]
    for a, shape, t in wanted:
        if a.dtype != np.dtype(t) or a.shape != shape:
            raise RuntimeError(
                f"weight_only_linear: expected an operand of type {np.dtype(t)} and shape "
                f"{list(shape)}, got {a.dtype} and {list(a.shape)}")
    if k % together or block % together or block < 1:
        raise RuntimeError(
            f"weight_only_linear: with {bits} bits, the {k} features of the input and the block "
            f"size {block} must be multiples of {together}")
    x, w, scales, bias = (
        a if a.flags.c_contiguous else np.ascontiguousarray(a) for a in (x, w, scales, bias))
    if REFERENCE:
        return _reference(x, w, scales, bias, features, bits, block)
    y = memory.empty((*x.shape[:-1], features), x.dtype)
    rows = y.size // features if features else 0
    key = "weight only", rows, k, features, bits, block
    plan = known.get(key)
    if plan is None:
        facts = dict(rows=rows, steps=k, columns=features, room=room, block=block,
                     panel_bytes=k // together * weight_only.PANEL)
        kernel = native.kernel(f"quantised/weight_only/{bits}",
                               lambda m, symbol: weight_only.weight_only(m, symbol, bits))
        grain = max(1, UNIT_STEPS // max(1, rows * k * weight_only.PANEL))
        plan = remember(key, (kernel, panels if rows else 0, grain,
                              numbers_of([facts[d] for d in weight_only.DIMS])))
    kernel, units, grain, table = plan
    if units:
        native.launch(kernel, units, grain, x, w, scales, bias, y, table)
    return y


def _reference(x, w, scales, bias, features, bits, block):
    """x times packed weights, plus a bias, in NumPy, a step at a time."""
    q = unpacked(w, np.ones_like(scales), features, bits, block)
    total = np.zeros((*x.shape[:-1], features), "f4")
    for b in range(len(scales)):
        sums = np.zeros_like(total)
        for k in range(b * block, min((b + 1) * block, x.shape[-1])):
            sums = sums + x[..., k : k + 1] * q[:, k]
        total = total + sums * scales[b, :features]
    return total + bias[:features]
