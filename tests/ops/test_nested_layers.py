"""Layers, products and attention of nested tensors, and their gradients."""
import numpy as np
import pytest
import whet
import whet.nn.functional as F
from whet import nested, nn

from tests.nested_parts import LENGTHS, WIDTH, near, nt_of, parts, same, with_gaps


# ---- products, layers ----------------------------------------------------------------------------
def test_products():
    nt, xs = nt_of(), parts()
    rng = np.random.default_rng(2)
    w, batch = whet.tensor(rng.standard_normal((WIDTH, 3))), whet.tensor(
        rng.standard_normal((4, WIDTH, 3)))
    same(nt @ w, [x @ w for x in xs])
    same(whet.matmul(nt, batch), [x @ b for x, b in zip(xs, batch, strict=True)])
    same(whet.bmm(batch.mT, nt.mT), [b.t() @ x.t() for x, b in zip(xs, batch, strict=True)])
    same(w.t() @ nt.mT, [w.t() @ x.t() for x in xs])
    near(nt.mT @ nt.exp(), whet.stack([x.t() @ x.exp() for x in xs]))
    heads = nt.unflatten(-1, (2, 2))
    same(heads @ heads.mT, [y @ y.mT for y in (x.unflatten(-1, (2, 2)) for x in xs)])
    same(F.linear(nt, w.t(), w[0]), [F.linear(x, w.t(), w[0]) for x in xs])
    for f in (lambda: nt @ nt.mT, lambda: nt @ w[:, 0], lambda: nt.mT @ w, lambda: batch.mT @ nt):
        with pytest.raises(RuntimeError, match="matmul"):
            f()
    with pytest.raises(ValueError, match="ragged"):
        F.linear(nt.mT, w.t())


def test_layers_of_modules():
    nt, xs = nt_of(), parts()
    whet.manual_seed(0)
    model = nn.Sequential(nn.Linear(WIDTH, 8), nn.LayerNorm(8), nn.GELU(), nn.Dropout(0.5),
                          nn.Linear(8, 3), nn.RMSNorm(3), nn.Softmax(-1)).double().eval()
    same(model(nt), [model(x) for x in xs])
    with pytest.raises(RuntimeError, match="behind the ragged dimension"):
        F.layer_norm(nt, (11, WIDTH))
    table = nn.Embedding(7, 3).double()
    ids = [whet.tensor([1, 2]), whet.tensor([6]), whet.tensor([0, 0, 3])]
    n = nested.nested_tensor(ids)
    same(table(n), [table(i) for i in ids])
    near(nn.EmbeddingBag.from_pretrained(table.weight, mode="sum")(n),
         whet.stack([table(i).sum(0) for i in ids]))
    same(F.one_hot(n, 7), [F.one_hot(i, 7) for i in ids])


def test_losses():
    a = nt_of()
    b = a * 0.5 + 1
    x, y = a.values(), b.values()
    for f in (F.mse_loss, F.l1_loss, F.smooth_l1_loss, F.huber_loss):
        near(f(a, b), f(x, y))
        near(f(a, b, reduction="sum"), f(x, y, reduction="sum"))
        same(f(a, b, reduction="none"), [f(p, q, reduction="none")
                                         for p, q in zip(a, b, strict=True)])
    gaps, xs = with_gaps()
    near(F.mse_loss(gaps, gaps * 2), F.mse_loss(whet.cat(xs), whet.cat(xs) * 2))
    assert whet.equal(a, nt_of()) and whet.allclose(a, a + 0) and not whet.equal(a, b)
    assert not whet.equal(a, nt_of(lengths=(1, 3, 5, 2)))


# ---- attention -----------------------------------------------------------------------------------
def heads_of(nt):
    return nt.unflatten(-1, (2, 2)).transpose(1, 2)


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("lengths", [LENGTHS, (3, 3, 3, 3), (2, 0, 4, 1)])
@pytest.mark.parametrize("gaps", [False, True])
def test_attention_is_that_of_each_part(is_causal, lengths, gaps):
    nt = with_gaps()[0] if gaps else nt_of(lengths=lengths)
    q, k, v = heads_of(nt), heads_of(nt.sin()), heads_of(nt * 2)
    assert q.shape[:2] == (len(nt), 2) and q.shape[3] == 2
    found = F.scaled_dot_product_attention(q, k, v, is_causal=is_causal)
    same(found, [F.scaled_dot_product_attention(*x, is_causal=is_causal)
                 for x in zip(q, k, v, strict=True)])
    if not gaps:
        assert found.transpose(1, 2).flatten(-2).shape == nt.shape


@pytest.mark.parametrize("is_causal", [False, True])
def test_attention_to_other_parts(is_causal):
    q, kv = heads_of(nt_of()), heads_of(nt_of(1, (2, 6, 4, 1)))
    found = F.scaled_dot_product_attention(q, kv, kv * 2, is_causal=is_causal, scale=0.3)
    same(found, [F.scaled_dot_product_attention(a, b, b * 2, is_causal=is_causal, scale=0.3)
                 for a, b in zip(q, kv, strict=True)])


def test_attention_that_there_is_not():
    q, other = heads_of(nt_of()), heads_of(nt_of())
    attend = F.scaled_dot_product_attention
    with pytest.raises(NotImplementedError, match="attn_mask"):
        attend(q, q, q, whet.ones(5, 5))
    with pytest.raises(NotImplementedError, match="must all be nested"):
        attend(q, q, q.to_padded_tensor(0.))
    with pytest.raises(RuntimeError, match="key and value to share"):
        attend(q, q, other)
    with pytest.raises(RuntimeError, match="last but one"):
        attend(q.mT, q, q)


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.qkv, self.out = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x):
        q, k, v = (y.unflatten(-1, (self.heads, -1)).transpose(-2, -3)
                   for y in self.qkv(self.first(x)).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(-2, -3).flatten(-2))
        return x + self.down(F.gelu(self.up(self.second(x))))


def test_a_transformer_block_and_its_gradients():
    whet.manual_seed(0)
    block = Block(WIDTH, 2).double()

    def gradients(run):
        xs = parts(requires_grad=True)
        block.zero_grad()
        run(xs).backward()
        return [x.grad for x in xs] + [p.grad.clone() for p in block.parameters()]
    by_parts = gradients(lambda xs: sum(block(x).sin().sum() for x in xs))
    at_once = gradients(lambda xs: block(nested.as_nested_tensor(xs)).sin().sum())
    for a, b in zip(at_once, by_parts, strict=True):
        near(a, b)


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("is_causal", [False, True])
def test_transformers_encoder_layer(norm_first, is_causal):
    whet.manual_seed(0)
    layer = nn.TransformerEncoderLayer(WIDTH, 2, 8, 0., batch_first=True,
                                       norm_first=norm_first).double()
    nt, xs = nt_of(), parts()

    def of_part(x):
        mask = nn.Transformer.generate_square_subsequent_mask(len(x), dtype=x.dtype)
        return layer(x[None], src_mask=mask if is_causal else None, is_causal=is_causal)[0]
    found = layer(nt, is_causal=is_causal)
    assert found.shape == nt.shape
    same(found, [of_part(x) for x in xs])


def test_multihead_attention():
    whet.manual_seed(0)
    kv = nt_of(1, (2, 6, 4, 1), 6)
    mha = nn.MultiheadAttention(WIDTH, 2, kdim=6, vdim=6, batch_first=True).double()
    found, weights = mha(nt_of(), kv, kv, need_weights=False)
    assert weights is None
    same(found, [mha(q[None], k[None], k[None])[0][0] for q, k in zip(parts(), kv, strict=True)])
    for options, message in (({}, "need_weights=False"), (
            {"need_weights": False, "attn_mask": whet.ones(5, 6)}, "no attn_mask")):
        with pytest.raises(NotImplementedError, match=message):
            mha(nt_of(), kv, kv, **options)
    with pytest.raises(NotImplementedError, match="must all be of shape"):
        mha(nt_of(), kv.to_padded_tensor(0.), kv.to_padded_tensor(0.), need_weights=False)
    with pytest.raises(NotImplementedError, match="batch_first"):
        nn.MultiheadAttention(WIDTH, 2).double()(nt_of(), kv, kv)
    with pytest.raises(TypeError, match="not one of whet.jagged"):
        nn.GRU(WIDTH, 2, batch_first=True)(nt_of())


# ---- gradients -----------------------------------------------------------------------------------
OFFSETS = whet.tensor([0, 3, 4, 6])
DIFFERENTIATED = {
    "elements": lambda x: (x.sin() * x + 1).values(),
    "a dense row": lambda x: (x * whet.arange(3.).double().reshape(3, 1, 1)).values(),
    "sum": lambda x: x.sum(1), "mean": lambda x: x.mean(1), "amax": lambda x: x.amax(1),
    "prod": lambda x: x.prod(1), "logsumexp": lambda x: x.logsumexp(1), "var": lambda x:
    x[:1].var(1), "softmax": lambda x: x.softmax(1).values(), "log_softmax": lambda x:
    x.log_softmax(1).values(), "cumsum": lambda x: x.cumsum(1).values(),
    "padded": lambda x: x.to_padded_tensor(1.), "parts": lambda x: x[0] * x[2][:1],
    "product": lambda x: x.mT @ x, "attention": lambda x: F.scaled_dot_product_attention(
        x.unsqueeze(1), x.unsqueeze(1).sin(), x.unsqueeze(1)).values(),
    "causal attention": lambda x: F.scaled_dot_product_attention(
        x.unsqueeze(1), x.unsqueeze(1).sin(), x.unsqueeze(1), is_causal=True).values(),
    "everything": lambda x: x.square().mean(), "layer_norm": lambda x: F.layer_norm(
        x, (2,)).values(), "contiguous": lambda x: x.mT.contiguous().values()}


@pytest.mark.parametrize("name", DIFFERENTIATED)
@pytest.mark.parametrize("gaps", [False, True])
def test_gradients_numerically(name, gaps):
    lengths = whet.tensor([2, 1, 2]) if gaps else None

    def f(values):
        return DIFFERENTIATED[name](nested.nested_tensor_from_jagged(values, OFFSETS, lengths))
    values = whet.tensor(np.random.default_rng(4).standard_normal((6, 2)), requires_grad=True)
    assert whet.autograd.gradcheck(f, (values,))
    assert whet.autograd.gradgradcheck(f, (values,))


def test_gradients_of_leaves_are_nested():
    nt = nested.nested_tensor(parts(), requires_grad=True)
    (nt * nt).sum().backward()
    assert nt.grad.shape == nt.shape
    same(nt.grad, [x * 2 for x in parts()])
    nt.grad = None
    seen = []
    nt.register_hook(lambda g: seen.append(g.shape) or g * 2)
    (nt * 3).backward(whet.ones_like(nt))
    same(nt.grad, [whet.full_like(x, 6.) for x in parts()])
    assert seen == [nt.shape]
    g, = whet.autograd.grad((nt * 3), nt, whet.ones_like(nt))
    assert g.is_nested and g.shape == nt.shape
    whet.autograd.backward([nt * 1], [whet.ones_like(nt)])
    with pytest.raises(RuntimeError, match="Mismatch in shape"):
        (nt * 3).backward(nt_of())
    with pytest.raises(RuntimeError, match="only for scalar outputs"):
        (nt * 3).backward()


def test_gradients_flow_to_parts_values_and_dense_operands():
    xs = parts(requires_grad=True)
    d = whet.ones(4, 1, WIDTH, dtype=whet.float64, requires_grad=True)
    (nested.as_nested_tensor(xs) * d).square().sum().backward()
    for i, x in enumerate(xs):
        near(x.grad, 2 * x)
        near(d.grad[i], 2 * x.square().sum(0, keepdim=True))
    values = whet.ones(6, 2, requires_grad=True)
    nested.nested_tensor_from_jagged(values, OFFSETS).unbind()[1].sum().backward()
    assert values.grad.sum(1).tolist() == [0, 0, 0, 2, 0, 0]
