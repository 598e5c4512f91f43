"""Of sequences and texts: what Python computes of sizes, layers, losses, masks, positions."""
import math

import whet as T
import whet.nn.functional as F
from whet import nn

from .common import (
    D,
    bn,
    bnt,
    conv,
    drop,
    e,
    enc,
    fc,
    gru,
    lin,
    ln,
    lstm,
    mha,
    pe,
    sequences,
    takes,
    tokens,
    tri,
)


@takes(sequences)
def unpack_size(x):
    b, t, c = x.size()
    return x.view(b, t, 2, c // 2).transpose(1, 2).contiguous().view(b * 2, t, c // 2)


@takes(sequences)
def unpack_shape(x):
    b, t, c = x.shape
    return x.reshape(b * t, c) @ lin.weight


@takes(sequences)
def star_shape(x):
    return T.zeros(*x.shape) + x


@takes(sequences)
def shape_slice(x):
    return T.ones(x.shape[:2]) + x[..., 0]


@takes(sequences)
def size_slice(x):
    return x.view(x.size()[:-1] + (2, 4)).sum(-1)


@takes(sequences)
def view_as_size(x):
    return (x * 2).view(x.size())


@takes(sequences)
def list_shape(x):
    s = list(x.shape)
    s[-1] = 1
    return T.ones(s) * x


@takes(sequences)
def tril_slice(x):
    t = x.size(1)
    a = x @ x.transpose(1, 2)
    return a.masked_fill(tri[:t, :t] == 0, float("-inf")).softmax(-1) @ x


@takes(sequences)
def triu_made(x):
    t = x.size(1)
    m = T.triu(T.ones(t, t) * float("-inf"), diagonal=1)
    return (x @ x.transpose(-2, -1) + m).softmax(-1)


@takes(sequences)
def causal_mask_bool(x):
    t = x.shape[1]
    m = T.triu(T.ones(t, t, dtype=T.bool), 1)
    return (x @ x.mT).masked_fill(m, -1000000000.0).softmax(-1)


@takes(sequences)
def pos_slice(x):
    return x + pe[:x.size(1)]


@takes(sequences)
def pos_unsq(x):
    return x + pe[None, :x.shape[1]]


@takes(sequences)
def last(x):
    return x[:, -1, :]


@takes(sequences)
def last_list(x):
    return lin(x[:, [-1], :])


@takes(sequences)
def scale(x):
    return x / math.sqrt(x.size(-1))


@takes(sequences)
def pow_n(x):
    return x * x.shape[1] ** (-0.5)


@takes(sequences)
def div_n(x):
    return x.sum(1) / x.size(1)


@takes(sequences)
def mul_n(x):
    return x.mean(1) * x.shape[1]


@takes(sequences)
def float_n(x):
    return x * float(x.shape[1])


@takes(sequences)
def numel(x):
    return x.sum() / x.numel()


@takes(sequences)
def numel_fn(x):
    return x.sum() / T.numel(x)


@takes(sequences)
def nelement(x):
    return x.sum() / x.nelement()


@takes(sequences)
def half(x):
    t = x.shape[1] // 2
    return x[:, :t].sum() + x[:, t:].sum()


@takes(sequences)
def chunk(x):
    a, b = x.chunk(2, -1)
    return a * b


@takes(sequences)
def split_n(x):
    a, b = x.split([3, 5], -1)
    return a.sum() + b.sum()


@takes(sequences)
def shift(x):
    return x[:, 1:] - x[:, :-1]


@takes(sequences)
def roll(x):
    return T.roll(x, 1, 1)


@takes(sequences)
def flip(x):
    return x.flip(1)


@takes(sequences)
def pad(x):
    return F.pad(x, (0, 0, 1, 1))


@takes(sequences)
def cat_zero(x):
    return T.cat([T.zeros(x.size(0), 1, x.size(2)), x], 1)


@takes(sequences)
def cat_new(x):
    return T.cat([x.new_zeros(x.size(0), 1, D), x], dim=1)


@takes(sequences)
def zeros_like_(x):
    return T.zeros_like(x) + x


@takes(sequences)
def full_(x):
    return T.full((x.shape[0], x.shape[1]), 0.5) + x[..., 0]


@takes(sequences)
def rand_n(x):
    return x + T.randn(x.shape[0], x.shape[1], 1)


@takes(sequences)
def dropout_(x):
    return drop(x)


@takes(sequences)
def eye_(x):
    return T.eye(x.shape[1]) @ x


@takes(sequences)
def linspace_(x):
    return T.linspace(0, 1, x.shape[1])[None, :, None] * x


@takes(sequences)
def outer_rope(x):
    t = T.arange(x.shape[1]).float()
    f = T.outer(t, T.tensor([1.0, 0.1, 0.01, 0.001]))
    c, s = (f.cos(), f.sin())
    a, b = (x[..., ::2], x[..., 1::2])
    return T.stack([a * c - b * s, a * s + b * c], -1).flatten(-2)


@takes(sequences)
def sdpa(x):
    return F.scaled_dot_product_attention(x, x, x, is_causal=True)


@takes(sequences)
def mha_(x):
    return mha(x, x, x, need_weights=False)[0]


@takes(sequences)
def attention_to_others(x):
    """The gradient of its weights is joined of parts."""
    return mha(x[:, :7], x, x, need_weights=False)[0]


@takes(sequences)
def enc_(x):
    return enc(x)


@takes(sequences)
def enc_mask(x):
    return enc(x, src_mask=nn.Transformer.generate_square_subsequent_mask(x.size(1)))


@takes(sequences)
def gru_(x):
    return gru(x)[0]


@takes(sequences)
def lstm_(x):
    return lstm(x)[0][:, -1]


@takes(sequences)
def conv_(x):
    return conv(x.transpose(1, 2)).relu()


@takes(sequences)
def bn_eval(x):
    return bn(x.transpose(1, 2))


@takes(sequences)
def bn_train(x):
    return bnt(x.transpose(1, 2))


@takes(sequences)
def ln_(x):
    return ln(x)


@takes(sequences)
def einsum_(x):
    return T.einsum("bic,bjc->bij", x, x)


@takes(sequences)
def pool_(x):
    return F.adaptive_avg_pool1d(x.transpose(1, 2), 4)


@takes(sequences)
def maxpool_(x):
    return F.max_pool1d(x.transpose(1, 2), 2)


@takes(sequences)
def max_(x):
    return x.max(1)[0]


@takes(sequences)
def topk_(x):
    return x.topk(2, 1)[0]


@takes(sequences)
def sort_(x):
    return x.sort(1)[0]


@takes(sequences)
def cumsum_(x):
    return x.cumsum(1)


@takes(sequences)
def gather_(x):
    return x.gather(1, x.argmax(1, keepdim=True))


@takes(sequences)
def expand_(x):
    return x[:, :1].expand(-1, x.size(1), -1) * x


@takes(sequences)
def repeat_(x):
    return x[:, :1].repeat(1, x.size(1), 1)


@takes(sequences)
def flatten_(x):
    return lin(x.flatten(0, 1))


@takes(sequences)
def loss_(x):
    return F.mse_loss(x, T.zeros(x.shape))


@takes(sequences)
def interp_(x):
    return F.interpolate(x.transpose(1, 2).relu().contiguous(), size=10)


@takes(sequences)
def interp2_(x):
    return F.interpolate(x.transpose(1, 2).relu().contiguous(), scale_factor=2)


@takes(sequences)
def rope_c(x):
    z = T.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    return T.view_as_real(z * fc[:x.shape[1]]).flatten(2).type_as(x)


@takes(sequences)
def gqa(x):
    b, t, c = x.shape
    k = x.view(b, t, 2, 4)
    return T.repeat_interleave(k, 2, dim=2)


@takes(sequences)
def gqa2(x):
    b, t, c = x.shape
    k = x.view(b, t, 2, 4)
    return k[:, :, :, None, :].expand(b, t, 2, 3, 4).reshape(b, t, 6, 4)


@takes(sequences)
def cumprod_(x):
    return x.cumprod(1)


@takes(sequences)
def scatter_red(x):
    at = (T.arange(x.shape[1]) % 4)[None, :, None].expand(3, -1, 8)
    return T.zeros(3, 4, 8).scatter_reduce(1, at, x, "amax")


@takes(sequences)
def reflect(x):
    return F.pad(x.transpose(1, 2), (2, 2), mode="reflect")


@takes(sequences)
def replicate(x):
    return F.pad(x.transpose(1, 2), (2, 2), mode="replicate")


@takes(sequences)
def stft_(x):
    return T.stft(x[..., 0], 4, return_complex=True, window=T.hann_window(4)).abs()


@takes(sequences)
def fft_(x):
    return T.fft.rfft(x, dim=1).abs()


@takes(sequences)
def fft2_(x):
    return T.fft.fft(x, dim=-1).real


@takes(sequences)
def unf(x):
    return x.unfold(1, 3, 2).mean(-1)


@takes(sequences)
def windows2(x):
    t = x.shape[1] // 4 * 4
    return x[:, :t].reshape(3, t // 4, 4, 8).amax(2)


@takes(sequences)
def relpos(x):
    t = x.shape[1]
    i = T.arange(t)
    r = (i[None] - i[:, None]).clamp(-4, 4) + 4
    return e(r).sum(-1) + x @ x.mT


@takes(sequences)
def alibi(x):
    t = x.shape[1]
    d = (T.arange(t)[None] - T.arange(t)[:, None]).abs().float()
    return (x @ x.mT - 0.5 * d).softmax(-1)


@takes(sequences)
def padmask(x):
    l = T.tensor([2, 4, 5])
    m = T.arange(x.shape[1])[None] < l[:, None]
    return (x * m[..., None]).sum(1) / l[:, None]


@takes(sequences)
def pooled_max(x):
    return T.cat([x.mean(1), x.max(1).values, x[:, -1]], -1)


@takes(sequences)
def stdnorm(x):
    return (x - x.mean(dim=(1, 2), keepdim=True)) / x.std(dim=(1, 2), keepdim=True)


@takes(sequences)
def instnorm(x):
    return F.instance_norm(x.transpose(1, 2))


@takes(sequences)
def groupnorm(x):
    return F.group_norm(x.transpose(1, 2), 2)


@takes(sequences)
def glu_(x):
    return F.glu(x, -1)


@takes(sequences)
def tconv(x):
    return F.conv_transpose1d(x.transpose(1, 2), conv.weight, stride=2, padding=1)


@takes(sequences)
def dconv(x):
    return F.conv1d(F.pad(x.transpose(1, 2), (2, 0)), conv.weight, dilation=1)


@takes(sequences)
def avgp(x):
    return F.avg_pool1d(x.transpose(1, 2), 3, stride=2, padding=1)


@takes(sequences)
def lstm_rev(x):
    return lstm(x.flip(1))[0].flip(1)


@takes(sequences)
def einsum2(x):
    return T.einsum("btc,bsc->bts", x, x).softmax(-1)


@takes(sequences)
def nll_(x):
    return F.nll_loss(x.log_softmax(-1).transpose(1, 2), x.argmax(-1))


@takes(sequences)
def bce_(x):
    return F.binary_cross_entropy_with_logits(x, (x > 0).float())


@takes(sequences)
def smooth(x):
    return F.smooth_l1_loss(x[:, 1:], x[:, :-1])


@takes(sequences)
def kl_(x):
    return F.kl_div(x.log_softmax(-1), x.softmax(-1), reduction="batchmean")


@takes(sequences)
def tv(x):
    return (x[:, 1:] - x[:, :-1]).abs().mean() + (x[..., 1:] - x[..., :-1]).abs().mean()


@takes(tokens)
def arange_pos(i):
    t = i.size(1)
    return e(i) + e(T.arange(t))[None]


@takes(tokens)
def arange_expand(i):
    return e(T.arange(0, i.size(1)).unsqueeze(0).expand(i.size(0), -1)) + e(i)


@takes(tokens)
def arange_dev(i):
    return e(T.arange(i.size(1), device=i.device).expand_as(i))


@takes(tokens)
def ce_(i):
    return F.cross_entropy(e(i).view(-1, D), (i % D).view(-1))


@takes(tokens)
def onehot_(i):
    return F.one_hot(i, 65).float().mean(1)


@takes(tokens)
def bow(i):
    return T.zeros(3, 65).scatter_add(1, i, T.ones(i.shape))


@takes(tokens)
def ebag(i):
    return F.embedding_bag(i, e.weight, mode="mean")


@takes(tokens)
def seqmask(i):
    m = i != 0
    return (e(i) * m.unsqueeze(-1)).sum(1) / m.sum(1, keepdim=True).clamp(min=1)


@takes(tokens)
def lm_shift(i):
    lg = e(i) @ e.weight.T
    return F.cross_entropy(lg[:, :-1].reshape(-1, lg.size(-1)), i[:, 1:].reshape(-1))


@takes(tokens)
def tokpos(i):
    return ln(e(i) + pe[:i.shape[1]])
