"""Layers and tensors that the functions use, and what they take."""

import whet as T
from whet import nn

FUNCTIONS = {}
D = 8
with T.random.fork_rng():
    T.manual_seed(0)
    lin, e, ln = nn.Linear(D, D), nn.Embedding(100, D), nn.LayerNorm(D)
    bn, bnt, bn2m = nn.BatchNorm1d(D).eval(), nn.BatchNorm1d(D), nn.BatchNorm2d(4)
    conv, conv2 = nn.Conv1d(D, D, 3, padding=1), nn.Conv2d(1, 4, 3, padding=1)
    drop = nn.Dropout(0.1)
    mha = nn.MultiheadAttention(D, 2, batch_first=True)
    gru, lstm = nn.GRU(D, D, batch_first=True), nn.LSTM(D, D, batch_first=True)
    enc = nn.TransformerEncoderLayer(D, 2, 16, dropout=0.0, batch_first=True).eval()
    tri, pe = T.tril(T.ones(200, 200)), T.randn(200, D)
    fc = T.polar(T.ones(100, 4), T.outer(T.arange(100).float(), T.tensor([1.0, 0.1, 0.01, 0.001])))


def sequences(n):
    """Three sequences of n steps."""
    return T.randn(3, n, D)


def rows(n):
    """n rows."""
    return T.randn(n, D)


def tokens(n):
    """Three texts of n tokens."""
    return T.randint(65, (3, n))


def images(n):
    """Two images, n high."""
    return T.randn(2, 1, n, n + 3)


def takes(make):
    """A function of what `make(n)` makes."""
    def register(fn):
        FUNCTIONS[fn.__name__] = fn, make
        return fn
    return register
