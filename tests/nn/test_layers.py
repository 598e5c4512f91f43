"""Layers against plain NumPy, and what every layer must do."""
import copy
import math

import numpy as np
import pytest
import whet
from whet import nn

F = nn.functional


def close(t, a, tol=1e-5):
    np.testing.assert_allclose(t.detach().numpy(), a, rtol=tol, atol=tol)


def N(t):
    return t.detach().numpy().astype(np.float64)


def sig(x):
    return 1 / (1 + np.exp(-x))


# (constructor, shapes of the inputs), for the checks that every layer passes
LAYERS = [
    ("Linear(6, 5)", (4, 6)), ("Bilinear(3, 4, 5)", (7, 3), (7, 4)), ("Identity()", (3,)),
    ("Flatten()", (2, 3, 4)), ("Unflatten(1, (2, 3))", (4, 6)), ("PReLU(4)", (2, 4, 3)),
    *[(a, (4, 6))
      for a in ("ReLU()", "ReLU6()", "Sigmoid()", "Tanh()", "Hardsigmoid()", "Hardswish()",
                "SiLU()", "Mish()", "ELU(0.7)", "CELU(1.3)", "SELU()", "GELU()", "GELU('tanh')",
                "GLU()", "Hardshrink()", "Softshrink(0.3)", "Tanhshrink()", "LeakyReLU(0.2)",
                "LogSigmoid()", "Softplus(2, 10)", "Softsign()", "Softmax(1)", "Softmin(-1)",
                "LogSoftmax(0)", "Threshold(0.1, 20)", "Hardtanh(-0.5, 0.7)", "RReLU()",
                "Dropout()", "AlphaDropout()", "FeatureAlphaDropout()")],
    ("Softmax2d()", (2, 3, 4, 4)), ("Dropout2d()", (2, 3, 4, 4)), ("Dropout1d()", (2, 3, 4)),
    ("Dropout3d()", (2, 3, 2, 2, 2)),
    *[(f"{kind}{n}d({args})", (2, 4, 7, 6, 5)[:n + 2]) for n in (1, 2, 3)
      for kind, args in (("Conv", "4, 6, 3, 2, 1"), ("ConvTranspose", "4, 6, 3, 2, 1, 1"),
                         ("BatchNorm", "4"), ("InstanceNorm", "4, affine=True"), ("MaxPool", "2"),
                         ("AvgPool", "3, 2, 1"), ("LPPool", "2, 3"), ("AdaptiveAvgPool", "2"),
                         ("AdaptiveMaxPool", "2"), ("ConstantPad", "1, 2.5"), ("ZeroPad", "1"),
                         ("ReflectionPad", "1"), ("ReplicationPad", "2"), ("CircularPad", "1"))],
    ("GroupNorm(2, 4)", (3, 4, 5)), ("LayerNorm(6)", (4, 6)), ("RMSNorm(6)", (4, 6)),
    ("LocalResponseNorm(2)", (2, 4, 5, 5)), ("Fold((4, 5), 2)", (2, 12, 12)),
    ("Unfold(2)", (2, 3, 4, 5)), ("PixelShuffle(2)", (2, 8, 3, 3)),
    ("PixelUnshuffle(2)", (2, 3, 4, 4)), ("ChannelShuffle(2)",
                                          (2, 4, 3, 3)), ("Upsample(scale_factor=2)", (2, 3, 4, 4)),
    ("UpsamplingBilinear2d((5, 6))",
     (2, 3, 4, 4)), ("CosineSimilarity()", (4, 5), (4, 5)), ("PairwiseDistance()", (4, 5), (4, 5)),
    ("RNN(4, 5)", (6, 3, 4)), ("LSTM(4, 5, 2, bidirectional=True)",
                               (6, 3, 4)), ("GRU(4, 5, batch_first=True)", (3, 6, 4)),
    ("RNNCell(4, 5)", (3, 4)), ("LSTMCell(4, 5)", (3, 4)), ("GRUCell(4, 5)", (3, 4)),
    ("MultiheadAttention(8, 2)", (5, 3, 8), (7, 3, 8),
     (7, 3, 8)), ("TransformerEncoderLayer(8, 2, 16)",
                  (5, 3, 8)), ("TransformerDecoderLayer(8, 2, 16)", (5, 3, 8),
                               (7, 3, 8)), ("Transformer(8, 2, 1, 1, 16)", (7, 3, 8), (5, 3, 8)),
    *[(f"{loss}()", (4, 5), (4, 5))
      for loss in ("L1Loss", "MSELoss", "SmoothL1Loss", "HuberLoss", "SoftMarginLoss",
                   "BCEWithLogitsLoss", "PoissonNLLLoss", "HingeEmbeddingLoss")], ]


def tensors(result):
    if isinstance(result, whet.Tensor):
        return [result]
    return [t for r in result for t in tensors(r)] if isinstance(result, tuple | list) else []


@pytest.mark.parametrize("case", LAYERS, ids=lambda case: case[0])
def test_every_layer(case):
    text, *shapes = case
    layer = eval(f"nn.{text}")
    inputs = [whet.randn(*s, requires_grad=True) for s in shapes]
    out = tensors(layer(*inputs))
    assert all(bool(t.isfinite().all()) for t in out)
    sum(t.sum() for t in out if t.is_floating_point() and t.requires_grad).backward()
    assert all(p.grad is not None and p.grad.shape == p.shape for p in layer.parameters())
    assert inputs[0].grad is not None
    layer.eval()
    twin = copy.deepcopy(layer)
    again = eval(f"nn.{text}").eval()
    again.load_state_dict(layer.state_dict())
    for a, b, c in zip(*(tensors(m(*inputs)) for m in (layer, twin, again)), strict=True):
        assert bool((a == b).all()) and bool((a == c).all())
    assert repr(layer).startswith(type(layer).__name__ + "(")
    assert all(a.dtype is whet.float64
               for a in tensors(layer.double()(*(x.detach().double() for x in inputs)))
               if a.is_floating_point())


def test_linear_starts_as_expected():
    m = nn.Linear(400, 300)
    for p in m.parameters():
        a = p.detach().numpy()
        assert np.abs(a).max() <= 1 / 20 and abs(a.std() - 1 / 20 / math.sqrt(3)) < 0.003
    assert nn.Linear(2, 3, bias=False).bias is None
    assert nn.Linear(2, 3, dtype=whet.float64).weight.dtype is whet.float64


def test_conv_same_and_padding_modes():
    x = whet.randn(1, 2, 9)
    for mode, np_mode in ((("zeros", "constant"), ("reflect", "reflect"), ("replicate", "edge"),
                           ("circular", "wrap"))):
        for k, d in ((3, 1), (4, 1), (3, 2)):
            m = nn.Conv1d(2, 3, k, padding="same", dilation=d, padding_mode=mode)
            total = d * (k - 1)
            padded = np.pad(N(x), ((0, 0), (0, 0), (total // 2, total - total // 2)), mode=np_mode)
            want = np.zeros((1, 3, 9))
            for i in range(9):
                want[:, :,
                     i] = (np.einsum("nck,ock->no", padded[:, :, i:i + total + 1:d], N(m.weight))
                           + N(m.bias))
            close(m(x), want)
    with pytest.raises(ValueError, match="strided"):
        nn.Conv1d(1, 1, 3, 2, "same")
    with pytest.raises(ValueError, match="Invalid padding"):
        nn.Conv1d(1, 1, 3, padding="all")
    with pytest.raises(ValueError, match="divisible"):
        nn.Conv2d(3, 4, 3, groups=2)
    with pytest.raises(ValueError, match='Only "zeros"'):
        nn.ConvTranspose1d(1, 1, 3, padding_mode="reflect")


def test_transposed_convolution_of_a_wanted_size():
    m = nn.ConvTranspose2d(2, 3, 3, stride=3)
    x = whet.randn(1, 2, 4, 5)
    assert m(x, output_size=(13, 16)).shape == (1, 3, 13, 16)
    assert m(x, output_size=(1, 3, 12, 17)).shape == (1, 3, 12, 17)
    with pytest.raises(ValueError, match="requested an output size"):
        m(x, output_size=(20, 15))


def test_batch_norm_statistics():
    m = nn.BatchNorm1d(3)
    xs = [whet.randn(10, 3) * 2 + 1 for _ in range(3)]
    mean, var = np.zeros(3), np.ones(3)
    for x in xs:
        y = m(x)
        a = N(x)
        mean, var = 0.9 * mean + 0.1 * a.mean(0), 0.9 * var + 0.1 * a.var(0, ddof=1)
        close(y, (a - a.mean(0)) / np.sqrt(a.var(0) + 1e-5), 1e-4)
    close(m.running_mean, mean)
    close(m.running_var, var)
    assert int(m.num_batches_tracked) == 3
    m.eval()
    close(m(xs[0]), (N(xs[0]) - mean) / np.sqrt(var + 1e-5), 1e-4)
    assert int(m.num_batches_tracked) == 3
    m.reset_running_stats()
    assert int(m.num_batches_tracked) == 0 and float(m.running_var.sum()) == 3
    c = nn.BatchNorm1d(3, momentum=None)
    for x in xs:
        c(x)
    close(c.running_mean, np.mean([N(x).mean(0) for x in xs], 0))
    with pytest.raises(ValueError, match="expected 2D or 3D input"):
        m(whet.ones(2, 3, 4, 5))
    assert nn.BatchNorm2d(3, track_running_stats=False).running_mean is None


def lstm_reference(x, w_ih, w_hh, b_ih, b_hh, h, c):
    out = []
    for x_t in x:
        i, f, g, o = np.split(x_t @ w_ih.T + b_ih + h @ w_hh.T + b_hh, 4, -1)
        c = sig(f) * c + sig(i) * np.tanh(g)
        h = sig(o) * np.tanh(c)
        out.append(h)
    return np.stack(out), h, c


def test_lstm():
    m = nn.LSTM(4, 5)
    x, h, c = whet.randn(6, 3, 4), whet.randn(1, 3, 5), whet.randn(1, 3, 5)
    out, (hn, cn) = m(x, (h, c))
    want, wh, wc = lstm_reference(N(x), *(N(w) for w in m.all_weights[0]), N(h)[0], N(c)[0])
    close(out, want)
    close(hn[0], wh)
    close(cn[0], wc)
    cell = nn.LSTMCell(4, 5)
    cell.load_state_dict({k[:-3]: v for k, v in m.state_dict().items()})
    h1, c1 = cell(x[0], (h[0], c[0]))
    close(h1, want[0])


def test_gru_and_rnn():
    x, h = whet.randn(6, 3, 4), whet.randn(1, 3, 5)
    m = nn.GRU(4, 5)
    w_ih, w_hh, b_ih, b_hh = (N(w) for w in m.all_weights[0])
    s, want = N(h)[0], []
    for x_t in N(x):
        xr, xz, xn = np.split(x_t @ w_ih.T + b_ih, 3, -1)
        hr, hz, hn = np.split(s @ w_hh.T + b_hh, 3, -1)
        z = sig(xz + hz)
        s = (1 - z) * np.tanh(xn + sig(xr + hr) * hn) + z * s
        want.append(s)
    close(m(x, h)[0], np.stack(want))
    for kind, f in (("tanh", np.tanh), ("relu", lambda a: np.maximum(a, 0))):
        m = nn.RNN(4, 5, nonlinearity=kind)
        w_ih, w_hh, b_ih, b_hh = (N(w) for w in m.all_weights[0])
        s, want = N(h)[0], []
        for x_t in N(x):
            s = f(x_t @ w_ih.T + b_ih + s @ w_hh.T + b_hh)
            want.append(s)
        close(m(x, h)[0], np.stack(want))


def test_recurrent_shapes_and_names():
    m = nn.LSTM(4, 5, num_layers=2, bidirectional=True, proj_size=3)
    assert [n for n, _ in m.named_parameters()][-5:] == [
        f"{n}_l1_reverse" for n in ("weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr")]
    out, (h, c) = m(whet.randn(6, 2, 4))
    assert out.shape == (6, 2, 6) and h.shape == (4, 2, 3) and c.shape == (4, 2, 5)
    out, h = nn.GRU(4, 5, batch_first=True)(whet.randn(2, 6, 4))
    assert out.shape == (2, 6, 5) and h.shape == (1, 2, 5)
    out, h = nn.GRU(4, 5)(whet.randn(6, 4))
    assert out.shape == (6, 5) and h.shape == (1, 5)
    with pytest.raises(ValueError, match="2D or 3D"):
        nn.GRU(4, 5)(whet.randn(1, 6, 2, 4))
    with pytest.raises(RuntimeError, match="input_size"):
        nn.GRU(4, 5)(whet.randn(6, 2, 3))
    with pytest.raises(RuntimeError, match="Expected hidden size"):
        nn.GRU(4, 5)(whet.randn(6, 2, 4), whet.randn(1, 3, 5))
    with pytest.raises(ValueError, match="proj_size"):
        nn.LSTM(4, 5, proj_size=5)
    for layer in (nn.GRU, nn.RNN):
        with pytest.raises(ValueError, match="only supported for LSTM"):
            layer(4, 5, proj_size=2)
    with pytest.warns(UserWarning, match="dropout option"):
        nn.RNN(4, 5, dropout=0.5)


def test_a_reversed_direction_is_the_layer_on_the_reversed_sequence():
    m = nn.GRU(4, 5, bidirectional=True)
    one = nn.GRU(4, 5)
    one.load_state_dict({
        k.replace("_reverse", ""): v for k, v in m.state_dict().items() if k.endswith("_reverse")})
    x = whet.randn(6, 2, 4)
    close(m(x)[0][..., 5:], N(one(x.flip(0))[0].flip(0)), 1e-6)


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
def test_packed_sequences_are_the_sequences_one_by_one(kind):
    m = getattr(nn, kind)(3, 4, num_layers=2, bidirectional=True)
    lengths = [2, 5, 1, 5]
    seqs = [whet.randn(n, 3) for n in lengths]
    packed = nn.utils.rnn.pack_sequence(seqs, enforce_sorted=False)
    out, state = m(packed)
    padded, back = nn.utils.rnn.pad_packed_sequence(out)
    assert back.tolist() == lengths
    state = state if isinstance(state, tuple) else (state,)
    for i, s in enumerate(seqs):
        alone, end = m(s)
        close(padded[:lengths[i], i], N(alone), 1e-5)
        for a, b in zip(state, end if isinstance(end, tuple) else (end,)):
            close(a[:, i], N(b), 1e-5)
    assert not N(padded)[2:, 0].any()


def attention_reference(m, q, k, v, mask=None):
    e, h = m.embed_dim, m.num_heads
    w, b = N(m.in_proj_weight), N(m.in_proj_bias)
    q, k, v = q @ w[:e].T + b[:e], k @ w[e:2 * e].T + b[e:2 * e], v @ w[2 * e:].T + b[2 * e:]
    q, k, v = (x.reshape(x.shape[0], x.shape[1], h, e // h).transpose(1, 2, 0, 3)
               for x in (q, k, v))
    s = q @ k.swapaxes(-1, -2) / math.sqrt(e // h)
    s = s if mask is None else s + mask
    p = np.exp(s - s.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    out = (p @ v).transpose(2, 0, 1, 3).reshape(q.shape[2], q.shape[0], e)
    return out @ N(m.out_proj.weight).T + N(m.out_proj.bias), p


def test_multihead_attention():
    m = nn.MultiheadAttention(8, 2)
    q, k, v = whet.randn(5, 3, 8), whet.randn(7, 3, 8), whet.randn(7, 3, 8)
    want, p = attention_reference(m, N(q), N(k), N(v))
    out, weights = m(q, k, v)
    close(out, want)
    close(weights, p.mean(1))
    close(m(q, k, v, average_attn_weights=False)[1], p)
    out, none = m(q, k, v, need_weights=False)
    close(out, want)
    assert none is None
    padding = whet.zeros(3, 7, dtype=whet.bool)
    padding[1, 4:] = True
    additive = whet.randn(5, 7)
    mask = N(additive) + np.where(padding.numpy(), -np.inf, 0)[:, None, None, :]
    want, p = attention_reference(m, N(q), N(k), N(v), mask)
    for need in (True, False):
        close(m(q, k, v, key_padding_mask=padding, attn_mask=additive, need_weights=need)[0], want)
    causal = nn.Transformer.generate_square_subsequent_mask(5)
    want, _ = attention_reference(m, N(q), N(q), N(q), N(causal))
    for args in (({"need_weights": True}, {"need_weights": False},
                  {"need_weights": False, "is_causal": True})):
        close(m(q, q, q, attn_mask=causal, **args)[0], want)
    first = nn.MultiheadAttention(8, 2, batch_first=True)
    first.load_state_dict(m.state_dict())
    close(
        first(q.transpose(0, 1), k.transpose(0, 1), v.transpose(0, 1))[0].transpose(0, 1),
        N(m(q, k, v)[0]))
    close(m(q[:, 0], k[:, 0], v[:, 0])[0], N(m(q, k, v)[0])[:, 0])


def test_multihead_attention_refuses():
    m = nn.MultiheadAttention(8, 2)
    q = whet.randn(5, 3, 8)
    with pytest.raises(RuntimeError, match="shape of the 2D attn_mask"):
        m(q, q, q, attn_mask=whet.zeros(3, 3))
    with pytest.raises(RuntimeError, match="is_causal hint"):
        m(q, q, q, is_causal=True)
    with pytest.raises(AssertionError, match="embedding dimension"):
        m(whet.randn(5, 3, 4), q, q)
    with pytest.raises(AssertionError, match="divisible"):
        nn.MultiheadAttention(8, 3)


def test_embedding():
    m = nn.Embedding(10, 4, padding_idx=3)
    assert not m.weight[3].any() and m(whet.tensor([[1, 3]])).shape == (1, 2, 4)
    m(whet.tensor([1, 3, 1])).sum().backward()
    assert N(m.weight.grad).sum(1).tolist() == [0, 8, 0, 0, 0, 0, 0, 0, 0, 0]
    table = whet.randn(5, 2)
    frozen = nn.Embedding.from_pretrained(table)
    assert not frozen.weight.requires_grad and bool((frozen(whet.tensor([4])) == table[4]).all())
    with pytest.raises(AssertionError, match="padding_idx"):
        nn.Embedding(3, 2, padding_idx=3)
    bag = nn.EmbeddingBag.from_pretrained(table, mode="sum")
    close(bag(whet.tensor([0, 1, 2, 4]), whet.tensor([0, 3])),
          np.stack([N(table)[:3].sum(0), N(table)[4]]))


def test_bags_are_summed_one_row_after_the_other():
    i, w = whet.randint(50, (6, 40)), whet.randn(50, 9)
    begin = whet.arange(0, 240, 40)
    for mode in ("sum", "mean", "max"):
        whet.testing.assert_close(F.embedding_bag(i.flatten(), w, begin, mode=mode),
                                  F.embedding_bag(i, w, mode=mode), rtol=1e-5, atol=1e-5)
        padded = F.embedding_bag(i.flatten(), w, begin, mode=mode, padding_idx=3)
        whet.testing.assert_close(F.embedding_bag(i, w, mode=mode, padding_idx=3), padded,
                                  rtol=1e-5, atol=1e-5)
        for dtype in (whet.float32, whet.float64):       # one row after the other
            rows, sums = w.to(dtype)[i], whet.zeros(6, 9, dtype=dtype)
            for k in range(40):
                sums = sums + rows[:, k]
            for bags in ((i,), (i.flatten(), begin)):
                for mode, wanted in (("sum", sums), ("mean", sums / 40)):
                    got = F.embedding_bag(bags[0], w.to(dtype), *bags[1:], mode=mode)
                    assert got.numpy().tobytes() == wanted.numpy().tobytes()
            ones = whet.ones(240, dtype=dtype)
            got = F.embedding_bag(i.flatten(), w.to(dtype), begin, mode="sum",
                                  per_sample_weights=ones)
            assert got.numpy().tobytes() == sums.numpy().tobytes()
            factors = whet.rand(6, 40, dtype=dtype)
            apart = F.embedding_bag(i.flatten(), w.to(dtype), begin, mode="sum",
                                    per_sample_weights=factors.flatten())
            got = F.embedding_bag(i, w.to(dtype), mode="sum", per_sample_weights=factors)
            assert got.numpy().tobytes() == apart.numpy().tobytes()
            whet.testing.assert_close(got, (rows * factors[..., None]).sum(1))
    nothing = whet.zeros(2, 0, dtype=whet.int64)
    for mode in ("sum", "mean", "max"):
        assert F.embedding_bag(nothing, w, mode=mode).tolist() == [[0.0] * 9] * 2


def test_losses_register_weights_and_old_reductions():
    w = whet.tensor([1.0, 2.0])
    loss = nn.CrossEntropyLoss(weight=w, label_smoothing=0.1)
    assert (list(loss.state_dict()) == ["weight"] and loss.weight is w
            and repr(loss) == "CrossEntropyLoss()")
    with pytest.warns(UserWarning, match="reduction='sum'"):
        assert nn.MSELoss(size_average=False).reduction == "sum"
    x, t = whet.randn(3, 2), whet.tensor([0, 1, 1])
    p = np.log(np.exp(N(x)) / np.exp(N(x)).sum(1, keepdims=True))
    want = -(p[range(3), t.numpy()] * np.array([1, 2, 2])).sum() / 5
    close(nn.CrossEntropyLoss(weight=w)(x, t), want)
    import inspect
    assert (list(inspect.signature(nn.MarginRankingLoss).parameters) == [
        "margin", "size_average", "reduce", "reduction"])
    with pytest.raises(TypeError):
        nn.GaussianNLLLoss(True)


def test_triplet_loss_with_a_distance_of_ones_own():
    a, p, n = (whet.randn(4, 3) for _ in range(3))
    loss = nn.TripletMarginWithDistanceLoss(
        distance_function=lambda x, y: (x - y).abs().max(1).values, margin=0.5, reduction="none")
    d1, d2 = np.abs(N(a) - N(p)).max(1), np.abs(N(a) - N(n)).max(1)
    close(loss(a, p, n), np.maximum(d1 - d2 + 0.5, 0))


def test_adaptive_softmax_is_a_distribution():
    m = nn.AdaptiveLogSoftmaxWithLoss(16, 20, [5, 10], div_value=2.0)
    x, t = whet.randn(6, 16), whet.tensor([0, 4, 5, 9, 10, 19])
    full = m.log_prob(x)
    close(full.exp().sum(1), np.ones(6))
    out, loss = m(x, t)
    close(out, N(full)[range(6), t.numpy()])
    close(loss, -N(out).mean())
    assert m.predict(x).tolist() == N(full).argmax(1).tolist()
    with pytest.raises(ValueError, match="cutoffs"):
        nn.AdaptiveLogSoftmaxWithLoss(16, 20, [5, 5])


def test_linear_cross_entropy_is_linear_then_cross_entropy():
    m = nn.LinearCrossEntropyLoss(5, 3, bias=True)
    x, t = whet.randn(4, 5), whet.tensor([0, 2, 1, 1])
    close(m(x, t), N(F.cross_entropy(F.linear(x, m.linear.weight, m.linear.bias), t)))
    m = nn.LinearCrossEntropyLoss(5, 3, out_features=(2, 2))
    assert m(x, whet.zeros(4, 2, 2, dtype=whet.int64)).ndim == 0


def test_dropout_is_checked():
    with pytest.raises(ValueError, match="between 0 and 1"):
        nn.Dropout(1.5)
    x = whet.ones(1000)
    y = nn.Dropout(0.25)(x)
    kept = N(y)[N(y) != 0]
    assert np.allclose(kept, 4 / 3) and 650 < len(kept) < 850
    assert nn.Dropout(0.25).eval()(x) is x or bool((nn.Dropout(0.25).eval()(x) == 1).all())


def test_subclasses_of_written_layers():
    class Mine(nn.ReLU):
        def __init__(self):
            super().__init__(inplace=False)
            self.calls = 0

        def forward(self, x):
            self.calls += 1
            return super().forward(x)
    m = Mine()
    assert float(m(whet.tensor(-1.0))) == 0 and m.calls == 1


@pytest.mark.parametrize("error, match, call", [
    (TypeError, "bias should be of type bool, got: int", lambda: nn.LSTM(3, 5, bias=1)),
    (TypeError, "batch_first should be of type bool, got: str",
     lambda: nn.GRU(3, 5, batch_first="no")),
    (ValueError, "input_size must be greater than zero", lambda: nn.RNN(0, 5)),
    (ValueError, "RNN input dtype .whet.float64. does not match weight dtype .whet.float32.",
     lambda: nn.LSTM(3, 5)(whet.ones(2, 3, dtype=whet.float64))),
    (ValueError, "Expected hx.1. to be 1D or 2D, got 3D",
     lambda: nn.LSTMCell(3, 5)(whet.ones(2, 3), (whet.ones(2, 5), whet.ones(1, 2, 5)))),
    (ValueError, "Expected hidden to be 1D or 2D",
     lambda: nn.GRUCell(3, 5)(whet.ones(2, 3), whet.ones(1, 2, 5))),
    (ValueError, "positive during training", lambda: nn.BatchNorm1d(3, eps=0)(whet.ones(2, 3))),
    (ValueError, "non-negative", lambda: nn.BatchNorm1d(3, eps=-1).eval()(whet.ones(2, 3))),
    (TypeError, "delta must be a float or int", lambda: nn.HuberLoss(delta=1j)),
    (RuntimeError, "ignore_index is not supported",
     lambda: nn.CrossEntropyLoss(ignore_index=1)(whet.ones(2, 3), whet.ones(2, 3))),
    (ValueError, "to match target batch_size",
     lambda: nn.LinearCrossEntropyLoss(3, 2)(whet.ones(4, 3), whet.ones(5, 2)))])
def test_what_cannot_be_computed_is_refused(error, match, call):
    with pytest.raises(error, match=match):
        call()


@pytest.mark.parametrize("shape", [(4, 3), (4, 1), (1, 3), (4,)])
def test_one_size_of_a_variance_may_be_stretched(shape):
    x, y, var = whet.randn(4, 3), whet.randn(4, 3), whet.rand(shape) + 1
    wide = (var.unsqueeze(1) if len(shape) == 1 else var).expand(4, 3)
    loss = nn.GaussianNLLLoss()
    assert loss(x, y, var).tolist() == loss(x, y, wide).tolist()


@pytest.mark.parametrize("call", [
    lambda: F.mse_loss(whet.ones(3, 1), whet.ones(3)),
    lambda: nn.MSELoss()(whet.ones(3, 1), whet.ones(3)),
    lambda: nn.HuberLoss()(whet.ones(3, 1), whet.ones(3)),
    lambda: F.l1_loss(whet.ones(3), whet.ones(3), size_average=False),
    lambda: whet.func.vmap(F.mse_loss)(whet.ones(2, 3, 1), whet.ones(2, 3)),
    lambda: whet.tensor(whet.ones(3))])
def test_a_warning_is_of_a_line_of_the_users(call):
    # a line of ours is one for all programs, and Python shows a warning once a line
    traced = whet.jit.trace(call)
    for f in call, traced, traced, traced:
        with pytest.warns(UserWarning) as shown:
            f()
        assert {(w.filename, w.lineno) for w in shown} == {
            (__file__, call.__code__.co_firstlineno)}


@pytest.mark.parametrize("offsets, last, error", [
    ([1, 2], False, "offsets\\[0\\] has to be 0"), ([0, 5], False, "beyond the end"),
    ([0, 3, 1], False, "must not decrease"), ([0, 3], True, "number of indices, 4")])
def test_bags_lie_one_after_the_other(offsets, last, error):
    with pytest.raises(RuntimeError, match=error):
        F.embedding_bag(whet.arange(4), whet.ones(4, 2), whet.tensor(offsets),
                        include_last_offset=last)


def test_attention_refuses_keys_without_values():
    m, x = nn.MultiheadAttention(4, 2, add_bias_kv=True), whet.ones(3, 1, 4)
    with pytest.raises(AssertionError, match="does not match value shape"):
        m(x, x, x[:2])
    with pytest.raises(AssertionError, match="`attn_mask`"):
        m(x, x, x, attn_mask=whet.zeros(3))
    m.bias_v = None
    with pytest.raises(AssertionError, match="bias_k and bias_v"):
        m(x, x, x)


@pytest.mark.parametrize("fn", [
    lambda x, w, b: F.group_norm(x, 2, w, b), lambda x, w, b: F.instance_norm(x, None, None, w, b)],
    ids=["group_norm", "instance_norm"])
@pytest.mark.parametrize("dtype", [whet.float32, whet.float64, whet.bfloat16])
def test_weights_and_biases_of_channels_are_one_pass(fn, dtype):
    x, w, b = (whet.randn(*s).to(dtype) for s in ((3, 4, 5, 6), (4,), (4,)))
    # halves round at the end alone
    plain = fn(x.float() if dtype is whet.bfloat16 else x, None, None)
    u, v = (p.reshape(1, 4, 1, 1) for p in (w, b))
    exact = (plain * u + v).to(dtype)
    f = whet.jit.trace(fn)
    for _ in range(2):
        assert f(x, w, b).float().numpy().tobytes() == exact.float().numpy().tobytes()
    assert " mul(" not in str(f.recorded)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("held", [float("inf"), float("nan"), 1.0])
def test_what_a_row_of_padding_holds_reaches_no_bag(mode, held):
    weight = whet.arange(12.0).reshape(4, 3)
    weight[2] = held
    weight.requires_grad_()
    without = weight.detach().clone().requires_grad_()
    y = F.embedding_bag(whet.tensor([[0, 2, 1], [2, 3, 3]]), weight, mode=mode, padding_idx=2)
    z = F.embedding_bag(whet.tensor([0, 1, 3, 3]), without, whet.tensor([0, 2]), mode=mode)
    assert y.tolist() == z.tolist()
    (y * y).sum().backward()
    (z * z).sum().backward()
    assert weight.grad.tolist() == without.grad.tolist()


def test_an_infinite_gradient_reaches_no_row_of_padding():
    weight = whet.ones(3, 2, requires_grad=True)
    F.embedding(whet.tensor([0, 1, 1, 2]), weight, 1).backward(whet.full((4, 2), float("inf")))
    assert weight.grad.tolist() == [[float("inf")] * 2, [0.0] * 2, [float("inf")] * 2]
