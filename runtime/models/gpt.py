"""GPT-2 in nanoGPT's form, with its keys: `transformer.h.0.attn.c_attn.weight`.

`GPT.generate` keeps the keys and values of what it has read (`KVCache`), so that each token costs
one step.
"""
import math
from dataclasses import dataclass

from whet import arange, cat, multinomial, nn, no_grad
from whet.nn import functional as F
from whet.nn.attention.bias import causal_lower_right


@dataclass
class GPTConfig:
    """The sizes of a GPT. As they are here, they are those of GPT-2, with a rounded vocabulary.

    >>> import whet
    >>> small = whet.models.GPTConfig(block_size=64, vocab_size=100, n_layer=2, n_head=2, n_embd=32)
    >>> small.n_layer, whet.models.GPTConfig().n_embd
    (2, 768)
    """
    block_size: int = 1024
    vocab_size: int = 50304
    n_layer: int = 12
    n_head: int = 12
    n_embd: int = 768
    dropout: float = 0.0
    bias: bool = True            # in linear layers and norms


class KVCache:
    """The keys and values that each layer has seen so far.

    >>> import whet
    >>> cache = whet.models.KVCache()
    >>> cache.layers
    {}
    """

    def __init__(self):
        self.layers = {}

    def __len__(self):
        return next(iter(self.layers.values()))[0].shape[2] if self.layers else 0

    def extended(self, layer, k, v):
        """All keys and values of a layer, with these at their end."""
        if layer in self.layers:
            k, v = (cat([old, new], 2) for old, new in zip(self.layers[layer], (k, v)))
        self.layers[layer] = k, v
        return k, v


class CausalSelfAttention(nn.Module):
    """Each token looks at itself and those before it."""

    def __init__(self, config, layer):
        super().__init__()
        n, self.heads, self.dropout = config.n_embd, config.n_head, config.dropout
        self.layer = layer
        self.c_attn = nn.Linear(n, 3 * n, bias=config.bias)
        self.c_proj = nn.Linear(n, n, bias=config.bias)
        self.resid_dropout = nn.Dropout(config.dropout)

    def forward(self, x, cache=None):
        b, t, c = x.shape
        q, k, v = (y.view(b, t, self.heads, c // self.heads).transpose(1, 2)
                   for y in self.c_attn(x).split(c, 2))
        mask = None
        if cache is not None:
            k, v = cache.extended(self.layer, k, v)
            if 1 < t < k.shape[2]:           # what is new sees all that was read before
                mask = causal_lower_right(t, k.shape[2])
        y = F.scaled_dot_product_attention(
            q, k, v, attn_mask=mask, is_causal=mask is None and (cache is None or t > 1),
            dropout_p=self.dropout if self.training else 0.0)
        return self.resid_dropout(self.c_proj(y.transpose(1, 2).reshape(b, t, c)))


class MLP(nn.Module):
    """Two linear layers."""

    def __init__(self, config):
        super().__init__()
        n = config.n_embd
        self.c_fc = nn.Linear(n, 4 * n, bias=config.bias)
        self.c_proj = nn.Linear(4 * n, n, bias=config.bias)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x):
        return self.dropout(self.c_proj(F.gelu(self.c_fc(x))))


class Block(nn.Module):
    """Attention, then a perceptron, each added to what came in."""

    def __init__(self, config, layer):
        super().__init__()
        self.ln_1 = nn.LayerNorm(config.n_embd, bias=config.bias)
        self.attn = CausalSelfAttention(config, layer)
        self.ln_2 = nn.LayerNorm(config.n_embd, bias=config.bias)
        self.mlp = MLP(config)

    def forward(self, x, cache=None):
        x = x + self.attn(self.ln_1(x), cache)
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    """Logits of the next token. The last layer's weight is the embedding's.

    >>> import whet
    >>> small = whet.models.GPTConfig(block_size=64, vocab_size=100, n_layer=2, n_head=2, n_embd=32)
    >>> model = whet.models.GPT(small).eval()
    >>> tokens = whet.randint(0, 100, (1, 8))
    >>> model.generate(tokens, 4).shape
    whet.Size([1, 12])
    """

    def __init__(self, config):
        super().__init__()
        self.config = config
        self.transformer = nn.ModuleDict({
            "wte": nn.Embedding(config.vocab_size, config.n_embd),
            "wpe": nn.Embedding(config.block_size, config.n_embd),
            "drop": nn.Dropout(config.dropout),
            "h": nn.ModuleList([Block(config, i) for i in range(config.n_layer)]),
            "ln_f": nn.LayerNorm(config.n_embd, bias=config.bias)})
        self.lm_head = nn.Linear(config.n_embd, config.vocab_size, bias=False)
        self.transformer.wte.weight = self.lm_head.weight
        self.apply(start)
        for name, p in self.named_parameters():
            if name.endswith("c_proj.weight"):
                nn.init.normal_(p, std=0.02 / math.sqrt(2 * config.n_layer))

    def forward(self, idx, targets=None, cache=None):
        """(logits, loss): of all places with targets, else of the last place and no loss. A target
        of -1 does not count. With a cache, `idx` goes on where the cache ends."""
        x = self.hidden(idx, cache)
        if targets is None:
            return self.lm_head(x[:, [-1]]), None
        logits = self.lm_head(x)
        return logits, F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=-1)

    def hidden(self, idx, cache=None):
        """What the blocks make of the tokens; `lm_head` makes logits of it."""
        t, parts, done = idx.shape[1], self.transformer, 0 if cache is None else len(cache)
        x = parts.drop(parts.wte(idx) + parts.wpe(arange(done, done + t)))
        for block in parts.h:
            x = block(x, cache)
        return parts.ln_f(x)

    @no_grad()
    def generate(self, idx, max_new_tokens, temperature=1.0, top_k=None):
        """`idx` and as many tokens more, each drawn from the likeliest `top_k`."""
        cache, new = KVCache(), idx
        for _ in range(max_new_tokens):
            if len(cache) + new.shape[1] > self.config.block_size:
                # places are counted from the start of what is read: it is read again, from later on
                cache, new = KVCache(), idx[:, -self.config.block_size:]
            new = drawn(self(new, cache=cache)[0][:, -1] / temperature, top_k)
            idx = cat([idx, new], 1)
        return idx


def drawn(logits, top_k):
    """A token for each row."""
    if top_k is not None:
        least = logits.topk(min(top_k, logits.shape[-1])).values[:, [-1]]
        logits = logits.masked_fill(logits < least, -math.inf)
    return multinomial(logits.softmax(-1), 1)


def start(module):
    """The first weights, as nanoGPT draws them."""
    if isinstance(module, nn.Linear | nn.Embedding):
        nn.init.normal_(module.weight, std=0.02)
    if isinstance(module, nn.Linear) and module.bias is not None:
        nn.init.zeros_(module.bias)
