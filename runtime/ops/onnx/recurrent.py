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
    """The operator of the layer. What the backward reads it does not give."""
    n = cell.states
    states, (w_ih, w_hh, b_ih, b_hh) = rest[:n], rest[n:]
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
        operator, x, one_more(ordered(w_ih)), one_more(ordered(w_hh)), one_more(both), None,
        *map(one_more, states), outputs=1 + n, hidden_size=size,
        direction="reverse" if is_reversed else "forward", **attributes)
    made = [b.Squeeze(y, b.ints((1,))), *(b.Squeeze(s, b.ints((0,))) for s in last)]
    return (*made, *[None] * (1 + n if keep else 0))
