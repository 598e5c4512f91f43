"""Functions that PyTorch's modules are made of, and hashes."""
import pytest
import whet
from whet import nn


def test_norms_of_slices():
    v = whet.arange(6.0).reshape(2, 3)
    assert whet.allclose(whet.norm_except_dim(v), whet.tensor([[5.0 ** 0.5], [50.0 ** 0.5]]))
    assert whet.norm_except_dim(v, 2, 1).shape == (1, 3)
    assert whet.norm_except_dim(v, 2, -1).ndim == 0
    layer = nn.utils.parametrizations.weight_norm(nn.Linear(3, 2))
    g, v = layer.parametrizations.weight.original0, layer.parametrizations.weight.original1
    assert whet.allclose(whet._weight_norm(v, g, 0), layer.weight)


def test_dropout_says_what_stays():
    x = whet.ones(1000)
    y, kept = whet.native_dropout(x, 0.25, True)
    assert kept.dtype is whet.bool and whet.equal(y, kept / 0.75)
    y, kept = whet.native_dropout(x, 0.25, False)
    assert whet.equal(y, x) and y is not x and kept.all()
    sums = whet.feature_dropout(whet.ones(4, 8, 3), 0.5, True).sum(-1)
    assert set(sums.flatten().tolist()) == {0.0, 6.0}
    with pytest.raises(RuntimeError, match="at least 2 dimensions"):
        whet.feature_dropout(x, 0.5, True)


def test_convolutions_of_any_kind():
    x, w, F = whet.randn(1, 2, 5), whet.randn(2, 3, 2), nn.functional
    assert whet.equal(whet.convolution(x, w, None, [2], [0], [1], True, [1], 1),
                      F.conv_transpose1d(x, w, None, 2, 0, 1))
    w = whet.randn(3, 2, 2)
    assert whet.equal(whet.convolution(x, w, None, [1], [1], [1], False, [0], 1),
                      F.conv1d(x, w, None, 1, 1))
    values, places = whet.max_pool1d_with_indices(x, 2)
    assert whet.equal(values, F.max_pool1d(x, 2)) and places.dtype is whet.int64


@pytest.mark.parametrize("mode, cls, cell", [
    ("lstm", nn.LSTM, nn.LSTMCell), ("gru", nn.GRU, nn.GRUCell),
    ("rnn_tanh", nn.RNN, nn.RNNCell)])
@pytest.mark.parametrize("bias", [True, False])
def test_recurrences_of_lists_of_weights(mode, cls, cell, bias):
    layer, x = cls(3, 4, 2, bias=bias, bidirectional=True, batch_first=True), whet.randn(5, 6, 3)
    zeros = whet.zeros(4, 5, 4)
    state = [zeros, zeros] if mode == "lstm" else zeros
    run = getattr(whet, mode)
    weights = [*layer.parameters()]
    y, *end = run(x, state, weights, bias, 2, 0.0, False, True, True)
    expected, last = layer(x)
    assert whet.equal(y, expected)
    assert all(map(whet.equal, end, last if mode == "lstm" else (last,)))
    packed = nn.utils.rnn.pack_padded_sequence(x, [6, 4, 3, 3, 1], batch_first=True)
    data, *_ = run(packed.data, packed.batch_sizes, state, weights, bias, 2, 0.0, False, True)
    assert whet.equal(data, layer(packed)[0].data)
    step = cell(3, 4, bias=bias)
    h = whet.randn(5, 4)
    now = getattr(whet, f"{mode}_cell")(x[:, 0], [h, h] if mode == "lstm" else h,
                                        *step.parameters())
    expected = step(x[:, 0], (h, h) if mode == "lstm" else h)
    assert all(map(whet.equal, now, expected)) if mode == "lstm" else whet.equal(now, expected)


def test_recurrences_with_projections():
    layer, x = nn.LSTM(3, 4, proj_size=2), whet.randn(6, 5, 3)
    state = [whet.zeros(1, 5, 2), whet.zeros(1, 5, 4)]
    y, *_ = whet.lstm(x, state, [*layer.parameters()], True, 1, 0.0, False, False, False)
    assert whet.equal(y, layer(x)[0])


@pytest.mark.parametrize("size", range(1, 12))
def test_a_hash_is_the_exclusive_or_of_bits(size):
    x = whet.randn(size, 3)
    expected = [0, 0, 0]
    for row in x.double().view(whet.int64).tolist():
        expected = [a ^ b % 2 ** 64 for a, b in zip(expected, row)]
    assert whet.hash_tensor(x, 0).tolist() == expected
    traced = whet.jit.trace(lambda x: whet.hash_tensor(x, 0, keepdim=True))
    for _ in range(4):
        assert traced(x).tolist() == [expected]


def test_hashes_of_other_types():
    assert whet.hash_tensor(whet.tensor([True, False])).item() == 1
    assert whet.hash_tensor(whet.tensor([-1], dtype=whet.int8)).item() == 2 ** 64 - 1
    assert whet.hash_tensor(whet.ones(2, 0), 0).shape == (0,)
    for bad, error in (((whet.ones(0, 3), 0), IndexError),
                       ((whet.ones(2, dtype=whet.complex64),), NotImplementedError),
                       ((whet.ones(2), 3), IndexError)):
        with pytest.raises(error):
            whet.hash_tensor(*bad)
    with pytest.raises(RuntimeError, match="Unknown hash_tensor mode: 1"):
        whet.hash_tensor(whet.ones(2), mode=1)
