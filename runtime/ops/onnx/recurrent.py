"""What recurrent layers are in ONNX: the `onnx` of ops in recurrent.py. `b` writes nodes
(`onnx/write/builder.py`)."""

from typing import Any

import numpy as np

# the places of the operators' gates among ours, and what else tells them apart
STANDARD: dict[str, tuple[str, tuple[int, ...], dict[str, Any]]] = {
    "lstm": ("LSTM", (0, 3, 1, 2), {}),
    "gru": ("GRU", (1, 0, 2), {"linear_before_reset": 1}),
    "rnn_tanh": ("RNN", (0,), {}),
    "rnn_relu": ("RNN", (0,), {"activations": ["Relu"]})}


def direction(cell, b, x, *rest, is_reversed, keep):
    """The operator of the layer. What the backward reads it does not give. Packed sequences are
    padded for it, and its outputs packed again."""
    n = cell.states
    states, (w_ih, w_hh, b_ih, b_hh, *packed) = rest[:n], rest[n:]
    there = lengths = None
    if packed and packed[0] is not None:
        x, there, lengths = _padded(b, x, packed[0], states[0].shape[0])
    operator, gates, attributes = STANDARD[cell.name]
    size = w_hh.shape[1]
    order = np.arange(cell.gates * size).reshape(cell.gates, size)[list(gates)].reshape(-1)

    def ordered(v):
        if v.array is not None:
            return b.constant(v.array[order], v.name)
        return b.Gather(v, b.constant(order, "gates"), axis=0)

    def one_more(v):
        return None if v is None else b.Unsqueeze(v, b.ints((0,)))
    both = None
    if b_ih is not None:
        both = b.Concat(ordered(b_ih), ordered(b_hh), axis=0)
    y, *last = b.node(
        operator, x, one_more(ordered(w_ih)), one_more(ordered(w_hh)), one_more(both), lengths,
        *map(one_more, states), outputs=1 + n, hidden_size=size,
        direction="reverse" if is_reversed else "forward", **attributes)
    y = b.Squeeze(y, b.ints((1,)))
    if there is not None:
        y = b.Compress(b.Reshape(y, b.ints((-1, size))), b.flat(there), axis=0)
    made = [y, *(b.Squeeze(s, b.ints((0,))) for s in last)]
    return (*made, *[None] * (1 + n if keep else 0))


def _padded(b, x, begins, batch):
    """(padded sequences, which of their steps there are, their lengths) of packed ones."""
    first, end = b.slice(begins, 0, 0, -1), b.slice(begins, 0, 1, np.iinfo(np.int64).max)
    sequences = b.unsqueeze(b.range_of(batch), (0,))
    there = b.Less(sequences, b.unsqueeze(b.Sub(end, first), (1,)))
    row = b.Add(b.unsqueeze(first, (1,)), sequences)
    rows = b.Gather(x, b.Where(there, row, b.number(0, "i64")), axis=0)
    return rows, there, b.ReduceSum(b.cast(there, "i32"), b.ints((0,)), keepdims=0)
