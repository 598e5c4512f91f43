"""Models of sequences: recurrent ones, convolutions in time, attention."""

import math

import whet
import whet.nn.functional as F
from whet import models as known
from whet import nn

from tests.export import models

from .entry import Entry, rows, tokens

WORDS, WIDTH = 20, 16


class Recurrent(nn.Module):
    """An embedding, a recurrent net, and a class of what it ends with."""

    def __init__(self, kind, **how):
        super().__init__()
        self.embedding = nn.Embedding(WORDS, WIDTH)
        self.net = kind(WIDTH, 12, batch_first=True, **how)
        self.out = nn.Linear(12 * (2 if how.get("bidirectional") else 1), 4)

    def forward(self, words):
        return self.out(self.net(self.embedding(words))[0][:, -1])


class Translator(nn.Module):
    """An LSTM reads, another writes from the state that the first ends in."""

    def __init__(self):
        super().__init__()
        self.source, self.target = nn.Embedding(WORDS, WIDTH), nn.Embedding(WORDS, WIDTH)
        self.encoder = nn.LSTM(WIDTH, 16, batch_first=True)
        self.decoder = nn.LSTM(WIDTH, 16, batch_first=True)
        self.out = nn.Linear(16, WORDS)

    def forward(self, source, target):
        _, state = self.encoder(self.source(source))
        return self.out(self.decoder(self.target(target), state)[0])


class Attentive(nn.Module):
    """A GRU reads, another one looks at all that the first gave."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(WORDS, WIDTH)
        self.encoder = nn.GRU(WIDTH, 16, batch_first=True)
        self.decoder = nn.GRU(WIDTH, 16, batch_first=True)
        self.out = nn.Linear(32, WORDS)

    def forward(self, source, target):
        keys, last = self.encoder(self.embedding(source))
        x, _ = self.decoder(self.embedding(target), last)
        weights = (x @ keys.transpose(1, 2) / 4.0).softmax(-1)
        return self.out(whet.cat([x, weights @ keys], -1))


class Causal(nn.Module):
    """A convolution that sees what came before, twice as far at each layer."""

    def __init__(self, channels, dilation):
        super().__init__()
        self.reach = 2 * dilation
        self.gates = nn.Conv1d(channels, 2 * channels, 3, dilation=dilation)
        self.out = nn.Conv1d(channels, channels, 1)

    def forward(self, x):
        a, b = self.gates(F.pad(x, (self.reach, 0))).chunk(2, 1)
        return x + self.out(a.tanh() * b.sigmoid())


def wavenet():
    layers = [Causal(8, d) for d in (1, 2, 4)]
    return nn.Sequential(nn.Conv1d(1, 8, 1), *layers, nn.ReLU(), nn.Conv1d(8, 16, 1))


class GPT(known.GPT):
    """Logits at every place."""

    def __init__(self):
        super().__init__(known.GPTConfig(12, WORDS, n_layer=2, n_head=4, n_embd=32))

    def forward(self, ids):
        return self.lm_head(self.hidden(ids))


class Root(nn.Module):
    """A norm without a mean."""

    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(1 + 0.1 * whet.randn(width))

    def forward(self, x):
        return x * whet.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * self.weight


class Llama(nn.Module):
    """A block with rotated places, few heads of keys, and gates."""

    def __init__(self, width=32, heads=4, length=10):
        super().__init__()
        self.heads, self.size = heads, width // heads
        self.token = nn.Embedding(WORDS, width)
        self.q = nn.Linear(width, width, bias=False)
        self.kv = nn.Linear(width, 2 * self.size, bias=False)
        self.o = nn.Linear(width, width, bias=False)
        self.norms = nn.ModuleList([Root(width) for _ in range(3)])
        self.gate, self.up, self.down = (
            nn.Linear(width, 48), nn.Linear(width, 48), nn.Linear(48, width))
        angles = whet.arange(float(length))[:, None] * (0.1 ** whet.arange(self.size / 2))[None]
        self.register_buffer("cos", whet.cat([angles.cos()] * 2, -1))
        self.register_buffer("sin", whet.cat([angles.sin()] * 2, -1))

    def rotated(self, x):
        a, b = x.chunk(2, -1)
        return x * self.cos + whet.cat([-b, a], -1) * self.sin

    def forward(self, ids):
        x = self.token(ids)
        h = self.norms[0](x)
        q = self.rotated(self.q(h).unflatten(-1, (self.heads, self.size)).transpose(1, 2))
        k, v = self.kv(h).unsqueeze(1).chunk(2, -1)
        y = F.scaled_dot_product_attention(
            q, self.rotated(k).expand(-1, self.heads, -1, -1), v.expand(-1, self.heads, -1, -1),
            is_causal=True)
        x = x + self.o(y.transpose(1, 2).flatten(2))
        h = self.norms[1](x)
        return self.norms[2](x + self.down(F.silu(self.gate(h)) * self.up(h)))


class Bert(nn.Module):
    """An encoder that is told which words are none."""

    def __init__(self):
        super().__init__()
        self.embedding, self.place = nn.Embedding(WORDS, 32), nn.Parameter(whet.randn(9, 32))
        layer = nn.TransformerEncoderLayer(32, 4, 64, activation="gelu", batch_first=True)
        self.encoder, self.norm = nn.TransformerEncoder(layer, 2), nn.LayerNorm(32)
        self.pool, self.out = nn.Linear(32, 32), nn.Linear(32, 3)

    def forward(self, words, missing):
        x = self.norm(self.embedding(words) + self.place)
        x = self.encoder(x, src_key_padding_mask=missing)
        return self.out(self.pool(x[:, 0]).tanh())


def words_and_missing(batch):
    missing = whet.zeros(batch, 9).bool()
    missing[:, 7:] = True
    return [whet.randint(WORDS, (batch, 9)), missing]


class Seq2Seq(nn.Module):
    """A transformer with an encoder and a decoder."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(WORDS, 32)
        self.net = nn.Transformer(32, 4, 1, 1, 48, batch_first=True)
        self.out = nn.Linear(32, WORDS)
        self.register_buffer("mask", whet.full((5, 5), -math.inf).triu(1))

    def forward(self, source, target):
        x = self.net(self.embedding(source), self.embedding(target), tgt_mask=self.mask)
        return self.out(x)


class Relative(nn.Module):
    """Attention whose scores know how far apart two places are."""

    def __init__(self, width=16, heads=2, length=8):
        super().__init__()
        self.heads, self.qkv, self.out = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.bias = nn.Embedding(2 * length - 1, heads)
        at = whet.arange(length)
        self.register_buffer("apart", at[:, None] - at[None] + length - 1)

    def forward(self, x):
        q, k, v = (y.unflatten(-1, (self.heads, -1)).transpose(1, 2)
                   for y in self.qkv(x).chunk(3, -1))
        scores = q @ k.transpose(-1, -2) + self.bias(self.apart).permute(2, 0, 1)
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))


class Linear(nn.Module):
    """Attention that is linear in the length."""

    def __init__(self, width=16):
        super().__init__()
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        q, k = F.elu(q) + 1, F.elu(k) + 1
        y = whet.einsum("btc,bcd->btd", q, whet.einsum("btc,btd->bcd", k, v))
        return self.out(y / (q * k.sum(1, keepdim=True)).sum(-1, keepdim=True))


class Perceiver(nn.Module):
    """A few vectors of its own look at a long input."""

    def __init__(self, width=16):
        super().__init__()
        self.own = nn.Parameter(whet.randn(1, 4, width))
        self.look = nn.MultiheadAttention(width, 2, batch_first=True)
        self.block, self.out = models.Block(width), nn.Linear(width, 3)

    def forward(self, x):
        own = self.own.expand(x.shape[0], -1, -1)
        return self.out(self.block(self.look(own, x, x, need_weights=False)[0]).mean(1))


def pairs(a, b):
    return lambda batch: [whet.randint(WORDS, (batch, a)), whet.randint(WORDS, (batch, b))]


MODELS = {
    "rnn": Entry(lambda: Recurrent(nn.RNN), tokens(7, WORDS)),
    "gru": Entry(lambda: Recurrent(nn.GRU, num_layers=2), tokens(7, WORDS)),
    "lstm": Entry(lambda: Recurrent(nn.LSTM), tokens(7, WORDS)),
    "lstm_both_ways": Entry(lambda: Recurrent(nn.LSTM, bidirectional=True), tokens(6, WORDS)),
    "lstm_translator": Entry(Translator, pairs(6, 5)),
    "gru_with_attention": Entry(Attentive, pairs(6, 5)),
    "wavenet": Entry(wavenet, rows(1, 24)),
    "attention_block": Entry(models.Block, rows(6, 16)),
    "gpt": Entry(GPT, tokens(12, WORDS)),
    "llama": Entry(Llama, tokens(10, WORDS)),
    "bert": Entry(Bert, words_and_missing),
    "transformer": Entry(Seq2Seq, pairs(6, 5)),
    "relative_attention": Entry(Relative, rows(8, 16)),
    "linear_attention": Entry(Linear, rows(9, 16)),
    "perceiver": Entry(Perceiver, rows(20, 16)),
    "tied": Entry(models.Tied, tokens(5, 12)),
}
