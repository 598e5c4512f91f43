"""What tests/fuzz_steps.py draws from: models, and the data that they are given.

Blocks begin with `== slot name : kinds : flags`. A model has `features`, and a layer `head` after
it; `x` is its data, of a kind: vec [b, 6], seq [b, n, 6], img [b, 3, n, n], tok [b, n]; `mask` is
None, or true where a sequence goes on. Data have `-- given`, the arguments of a step made of `x`
and `y` of NumPy, `-- params`, their names, and `-- step`, which makes `x`, `y`, `mask` of them.
The flag `each` says that each size, or each call, may need a recording of its own, `leaves` that
a model keeps what it computes, which `maps`, transforms with vmap of all of it, do not let it.
"""

MODELS = r"""
== model mlp : vec
class Net(Base):
    def __init__(s):
        super().__init__()
        s.body = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 12), nn.Tanh())
        s.head = nn.Linear(12, 3)
    def features(s, x, mask): return s.body(x)

== model residual : vec
class Net(Base):
    def __init__(s):
        super().__init__()
        s.up = nn.Linear(6, 12)
        s.blocks = nn.ModuleList(
            [nn.Sequential(nn.LayerNorm(12), nn.Linear(12, 12), nn.GELU()) for _ in range(3)]
        )
        s.head = nn.Linear(12, 3)
    def features(s, x, mask):
        x = s.up(x)
        for k, block in enumerate(s.blocks):
            x = x + block(x) / (k + 1)
        return x

== model by_name : vec
class Net(Base):
    def __init__(s):
        super().__init__()
        s.parts = nn.ModuleDict(
            {
                "low": nn.Linear(6, 8),
                "act": nn.SiLU(),
                "drop": nn.Dropout(0.3),
                "high": nn.Linear(8, 12),
            }
        )
        s.head = nn.Linear(12, 3)
    def features(s, x, mask):
        for name, part in s.parts.items():
            x = part(x) if name != "high" else part(x).relu()
        return x

== model batch_normed : vec
class Net(Base):
    def __init__(s):
        super().__init__()
        s.a, s.n, s.b, s.head = (
            nn.Linear(6, 16),
            nn.BatchNorm1d(16),
            nn.Linear(16, 12, bias=False),
            nn.Linear(12, 3),
        )
    def features(s, x, mask): return F.leaky_relu(s.b(F.relu(s.n(s.a(x)))), 0.1)

== model weight_normed : vec
class Net(Base):
    def __init__(s):
        super().__init__()
        s.a = torch.nn.utils.parametrizations.weight_norm(nn.Linear(6, 12))
        s.head = nn.Linear(12, 3)
    def features(s, x, mask): return torch.tanh(s.a(x))

== model spectral_normed : vec
class Net(Base):
    def __init__(s):
        super().__init__()
        s.a = torch.nn.utils.parametrizations.spectral_norm(nn.Linear(6, 12))
        s.b = torch.nn.utils.spectral_norm(nn.Linear(12, 12))
        s.head = nn.Linear(12, 3)
    def features(s, x, mask): return s.b(F.elu(s.a(x)))

== model parametrized : vec
class Symmetric(nn.Module):
    def forward(s, w): return w.triu() + w.triu(1).transpose(-1, -2)
class Net(Base):
    def __init__(s):
        super().__init__()
        s.a, s.head = nn.Linear(6, 6), nn.Linear(6, 3)
        torch.nn.utils.parametrize.register_parametrization(s.a, "weight", Symmetric())
    def features(s, x, mask): return torch.sigmoid(s.a(x)) * x

== model normaliser : vec : leaves
class Net(Base):
    def __init__(s):
        super().__init__()
        s.a, s.head = nn.Linear(6, 12), nn.Linear(12, 3)
        s.register_buffer("mean", torch.zeros(6))
        s.register_buffer("var", torch.ones(6))
        s.register_buffer("count", torch.tensor(0))
    def features(s, x, mask):
        if s.training:
            with torch.no_grad():
                s.mean.lerp_(x.mean(0), 0.1)
                s.var.mul_(0.9).add_(x.var(0, unbiased=False), alpha=0.1)
                s.count += 1
        return torch.tanh(s.a((x - s.mean) / (s.var + 1e-5).sqrt()))

== model experts : vec
class Net(Base):
    def __init__(s):
        super().__init__()
        s.gate, s.head = nn.Linear(6, 4), nn.Linear(12, 3)
        s.experts = nn.ModuleList(nn.Linear(6, 12) for _ in range(4))
    def features(s, x, mask):
        top, which = s.gate(x).topk(2, -1)
        top = top.softmax(-1)
        y = torch.stack([e(x) for e in s.experts], 1)
        picked = y.gather(1, which[..., None].expand(-1, -1, y.shape[-1]))
        return (picked * top[..., None]).sum(1)

== model low_rank : vec
class Net(Base):
    def __init__(s):
        super().__init__()
        s.base, s.head = nn.Linear(6, 12), nn.Linear(12, 3)
        s.down, s.up = nn.Parameter(torch.randn(2, 6) * 0.1), nn.Parameter(torch.zeros(12, 2))
        s.base.requires_grad_(False)
        s.scale = 0.5
    def features(s, x, mask): return (s.base(x) + s.scale * (x @ s.down.T @ s.up.T)).relu()

== model quantised : vec
class Rounded(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x)
        ctx.scale = scale
        return (x / scale).round() * scale
    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return g * (x.abs() < 1 / ctx.scale), None
class Net(Base):
    def __init__(s):
        super().__init__()
        s.a, s.head = nn.Linear(6, 12), nn.Linear(12, 3)
    def features(s, x, mask): return Rounded.apply(torch.tanh(s.a(x)), 0.125)

== model codebook : vec : leaves
class Net(Base):
    def __init__(s):
        super().__init__()
        s.a, s.book, s.head = nn.Linear(6, 8), nn.Embedding(5, 8), nn.Linear(8, 3)
    def features(s, x, mask):
        z = s.a(x)
        far = (
            z.pow(2).sum(1, keepdim=True) - 2 * z @ s.book.weight.t() + s.book.weight.pow(2).sum(1)
        )
        q = s.book(far.argmin(1))
        s.commit = F.mse_loss(z, q.detach()) + F.mse_loss(q, z.detach()) * 0.25
        return z + (q - z).detach()

== model variational : vec : leaves
class Net(Base):
    def __init__(s):
        super().__init__()
        s.a, s.head = nn.Linear(6, 16), nn.Linear(8, 3)
    def features(s, x, mask):
        mu, logvar = s.a(x).chunk(2, dim=-1)
        s.kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(-1)
        return mu + torch.randn_like(mu) * (0.5 * logvar).exp() if s.training else mu

== model hooked : vec : leaves
class Net(Base):
    def __init__(s):
        super().__init__()
        s.a, s.b, s.head = nn.Linear(6, 12), nn.Linear(12, 12), nn.Linear(12, 3)
        s.seen = {}
        s.a.register_forward_hook(lambda mod, args, out: s.seen.update(a=out.detach().abs().mean()))
        s.b.register_forward_pre_hook(lambda mod, args: (args[0] * 0.5,))
    def features(s, x, mask): return s.b(s.a(x).relu()).relu()

== model pooled : seq
class Net(Base):
    def __init__(s):
        super().__init__()
        s.i, s.c, s.head = nn.Linear(6, 12), nn.Conv1d(12, 12, 3, padding=1), nn.Linear(12, 3)
    def features(s, x, mask):
        y = torch.tanh(s.c(torch.relu(s.i(x)).transpose(-1, -2)))
        if mask is not None:
            y = y.masked_fill(~mask[:, None], -1e9)
        return y.amax(-1)

== model gru : seq
class Net(Base):
    def __init__(s):
        super().__init__()
        s.rnn, s.head = nn.GRU(6, 8, batch_first=True, bidirectional=True), nn.Linear(16, 3)
    def features(s, x, mask):
        y, _ = s.rnn(x)
        w = torch.ones_like(y[..., :1]) if mask is None else mask[..., None].to(y.dtype)
        return (y * w).sum(1) / w.sum(1).clamp(min=1)

== model lstm : seq : leaves
class Net(Base):
    def __init__(s):
        super().__init__()
        s.rnn, s.head = nn.LSTM(6, 8, 2, batch_first=True, dropout=0.1), nn.Linear(8, 3)
    def features(s, x, mask):
        h = torch.zeros(2, x.size(0), 8), torch.zeros(2, x.size(0), 8)
        y, (hn, cn) = s.rnn(x, h)
        s.last = hn[-1].detach()
        return hn[-1] if mask is None else y[torch.arange(x.size(0)), mask.sum(1).clamp(min=1) - 1]

== model packed : seq : each
class Net(Base):
    def __init__(s):
        super().__init__()
        s.rnn, s.head = nn.LSTM(6, 8, batch_first=True), nn.Linear(8, 3)
    def features(s, x, mask):
        lengths = torch.full((x.size(0),), x.size(1)) if mask is None else mask.sum(1)
        p = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        _, (h, _) = s.rnn(p)
        return h[-1]

== model cell : seq : each
class Net(Base):
    def __init__(s):
        super().__init__()
        s.cell, s.head = nn.GRUCell(6, 8), nn.Linear(8, 3)
    def features(s, x, mask):
        h = x.new_zeros(x.shape[0], 8)
        for t in range(x.shape[1]):
            new = s.cell(x[:, t], h)
            h = new if mask is None else torch.where(mask[:, t, None], new, h)
        return h

== model multihead : seq
class Net(Base):
    def __init__(s):
        super().__init__()
        s.i, s.att, s.norm, s.head = (
            nn.Linear(6, 8),
            nn.MultiheadAttention(8, 2, batch_first=True),
            nn.LayerNorm(8),
            nn.Linear(8, 3),
        )
    def features(s, x, mask):
        h = s.i(x)
        a, w = s.att(h, h, h, key_padding_mask=None if mask is None else ~mask)
        return s.norm(h + a).mean(1)

== model encoder : seq
class Net(Base):
    def __init__(s):
        super().__init__()
        s.i, s.head = nn.Linear(6, 8), nn.Linear(8, 3)
        layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.1, batch_first=True, norm_first=True)
        s.enc = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        s.pos = nn.Parameter(torch.randn(64, 8) * 0.1)
    def features(s, x, mask):
        h = s.i(x) + s.pos[:x.size(1)]
        return s.enc(h, src_key_padding_mask=None if mask is None else ~mask)[:, 0]

== model attention_by_hand : seq
class Net(Base):
    def __init__(s):
        super().__init__()
        s.qkv, s.out, s.head = nn.Linear(6, 24), nn.Linear(8, 8), nn.Linear(8, 3)
        s.register_buffer("tri", torch.tril(torch.ones(64, 64)).bool())
    def features(s, x, mask):
        b, n, _ = x.shape
        q, k, v = s.qkv(x).view(b, n, 3, 2, 4).permute(2, 0, 3, 1, 4)
        a = (q @ k.transpose(-2, -1)) / math.sqrt(q.size(-1))
        a = a.masked_fill(~s.tri[:n, :n], float("-inf"))
        if mask is not None:
            a = a.masked_fill(~mask[:, None, None, :], -1e4)
        y = (a.softmax(-1) @ v).transpose(1, 2).reshape(b, n, -1)
        return s.out(y)[:, -1]

== model rotary : seq
class Net(Base):
    def __init__(s):
        super().__init__()
        s.i, s.head = nn.Linear(6, 8), nn.Linear(8, 3)
        s.register_buffer(
            "freq", 1.0 / 100 ** (torch.arange(0, 8, 2).float() / 8), persistent=False
        )
    def features(s, x, mask):
        h = s.i(x)
        at = torch.outer(torch.arange(x.shape[1], dtype=torch.float32), s.freq)
        cos, sin = at.cos().repeat(1, 2), at.sin().repeat(1, 2)
        a, b = h.chunk(2, -1)
        h = h * cos + torch.cat((-b, a), -1) * sin
        return F.scaled_dot_product_attention(h, h, h, is_causal=True).mean(1)

== model state_space : seq
class Net(Base):
    def __init__(s):
        super().__init__()
        s.i, s.decay, s.head = nn.Linear(6, 8), nn.Parameter(torch.zeros(8)), nn.Linear(8, 3)
    def features(s, x, mask):
        a = F.logsigmoid(s.decay) * torch.arange(x.shape[1]).flip(0)[:, None]
        return torch.einsum("bnd,nd->bd", s.i(x), a.exp())

== model words : tok
class Net(Base):
    def __init__(s):
        super().__init__()
        s.e, s.a, s.head = nn.Embedding(20, 8, padding_idx=0), nn.Linear(8, 12), nn.Linear(12, 3)
    def features(s, x, mask):
        m = (x != 0).float()[..., None] if mask is None else mask.float().unsqueeze(-1)
        return torch.relu(s.a((s.e(x) * m).sum(1) / m.sum(1).clamp_min(1.0)))

== model convolved_words : tok
class Net(Base):
    def __init__(s):
        super().__init__()
        s.e, s.head = nn.Embedding(20, 8), nn.Linear(12, 3)
        s.cs = nn.ModuleList(nn.Conv1d(8, 4, k, padding=k // 2) for k in (1, 3, 5))
    def features(s, x, mask):
        h = s.e(x).permute(0, 2, 1)
        return torch.cat([c(h).relu().max(dim=2).values for c in s.cs], 1)

== model tied : tok : leaves
class Net(Base):
    def __init__(s):
        super().__init__()
        s.e, s.a, s.head = nn.Embedding(20, 8), nn.GRU(8, 8, batch_first=True), nn.Linear(8, 3)
        s.lm = nn.Linear(8, 20, bias=False)
        s.lm.weight = s.e.weight
    def features(s, x, mask):
        h, _ = s.a(s.e(x))
        s.lm_loss = F.cross_entropy(
            s.lm(h[:, :-1]).flatten(0, 1), x[:, 1:].reshape(-1), ignore_index=0
        )
        return h[:, -1]

== model language : tok
class Net(Base):
    def __init__(s):
        super().__init__()
        s.e, s.p, s.head = nn.Embedding(20, 8), nn.Embedding(64, 8), nn.Linear(8, 3)
        s.blocks = nn.ModuleList(
            nn.ModuleDict(
                dict(
                    n=nn.LayerNorm(8),
                    qkv=nn.Linear(8, 24),
                    up=nn.Linear(8, 16),
                    down=nn.Linear(16, 8),
                )
            )
            for _ in range(2)
        )
    def features(s, x, mask):
        h = s.e(x) + s.p(torch.arange(x.shape[-1]))
        for b in s.blocks:
            q, k, v = b["qkv"](b["n"](h)).split(8, dim=2)
            h = h + F.scaled_dot_product_attention(q, k, v, is_causal=True)
            h = h + b["down"](F.gelu(b["up"](h)))
        return F.dropout(h, 0.1, s.training)[:, -1]

== model conv_net : img
class Net(Base):
    def __init__(s):
        super().__init__()
        s.body = nn.Sequential(
            nn.Conv2d(3, 6, 3, padding=1),
            nn.BatchNorm2d(6),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(6, 8, 3, padding=1),
            nn.ReLU(),
        )
        s.pool, s.head = nn.AdaptiveAvgPool2d(1), nn.Linear(8, 3)
    def features(s, x, mask): return torch.flatten(s.pool(s.body(x)), 1)

== model resnet : img
class Block(nn.Module):
    def __init__(s, a, b):
        super().__init__()
        s.c, s.n, s.skip = (
            nn.Conv2d(a, b, 3, 2, 1, bias=False),
            nn.GroupNorm(2, b),
            nn.Conv2d(a, b, 1, 2),
        )
    def forward(s, x): return F.relu(s.n(s.c(x)) + s.skip(x), inplace=True)
class Net(Base):
    def __init__(s):
        super().__init__()
        s.one, s.two, s.head = Block(3, 6), Block(6, 8), nn.Linear(8, 3)
    def features(s, x, mask): return s.two(s.one(x)).mean((2, 3))

== model unet : img
class Net(Base):
    def __init__(s):
        super().__init__()
        s.d, s.u, s.head = nn.Conv2d(3, 6, 3, 2, 1), nn.Conv2d(9, 8, 3, padding=1), nn.Linear(8, 3)
    def features(s, x, mask):
        up = F.interpolate(s.d(x).relu(), size=x.shape[-2:], mode="nearest")
        return s.u(torch.cat([up, x], dim=1)).relu().mean(dim=(-1, -2))

== model depthwise : img
class Net(Base):
    def __init__(s):
        super().__init__()
        s.a, s.b, s.head = (
            nn.Conv2d(3, 6, 3, padding=1, groups=3),
            nn.Conv2d(6, 8, 1),
            nn.Linear(8, 3),
        )
        s.drop = nn.Dropout2d(0.2)
    def features(s, x, mask): return s.drop(s.b(F.avg_pool2d(s.a(x), 2).sigmoid())).amax((2, 3))
"""

DATA = r"""
== data tensors : vec seq img tok
-- given
return torch.from_numpy(x), torch.from_numpy(y)
-- params
x, y
-- step
mask = None

== data arrays : vec seq img tok
-- given
return x, y
-- params
x, y
-- step
x, y, mask = torch.from_numpy(x), torch.as_tensor(y), None

== data copied_arrays : vec seq img tok
-- given
return x, y
-- params
x, y
-- step
x, y, mask = torch.tensor(x), torch.tensor(y, dtype=torch.long), None

== data dict : vec seq img tok
-- given
return {"inputs": torch.from_numpy(x), "labels": torch.from_numpy(y)},
-- params
batch
-- step
x, y, mask = batch["inputs"], batch["labels"], batch.get("mask")

== data dict_of_arrays : vec seq img tok
-- given
return {"x": x, "y": y},
-- params
batch
-- step
batch = {k: torch.from_numpy(v) for k, v in batch.items()}
x, y, mask = batch["x"], batch["y"], None

== data namedtuple : vec seq img tok
Batch = collections.namedtuple("Batch", "x y")
-- given
return Batch(torch.from_numpy(x), torch.from_numpy(y)),
-- params
batch
-- step
(x, y), mask = batch, None

== data dataclass : vec seq img tok
@dataclasses.dataclass
class Batch:
    x: object
    y: object
    def tensors(self):
        return [torch.as_tensor(getattr(self, f.name)) for f in dataclasses.fields(self)]
-- given
return Batch(x, y),
-- params
batch
-- step
x, y = batch.tensors()
mask = None

== data pairs : vec seq img tok : each
-- given
return [(torch.from_numpy(a), int(b)) for a, b in zip(x, y)],
-- params
pairs
-- step
x = torch.stack([a for a, _ in pairs])
y, mask = torch.tensor([b for _, b in pairs]), None

== data rest : vec seq img tok
-- given
return torch.from_numpy(x), torch.from_numpy(y), 0.5
-- params
*args, **kw
-- step
x, y, weight = args
mask = kw.pop("mask", None)

== data ragged : seq tok : each
-- given
return [torch.from_numpy(a[:max(1, len(a) - k % 3)]) for k, a in enumerate(x)], torch.from_numpy(y)
-- params
xs, y
-- step
lengths = torch.tensor([len(t) for t in xs])
x = nn.utils.rnn.pad_sequence(xs, batch_first=True)
mask = torch.arange(x.shape[1])[None, :] < lengths[:, None]

== data padded : seq tok
-- given
lengths = rng.integers(1, max(x.shape[1], 1) + 1, len(x))
return torch.from_numpy(x), torch.from_numpy(y), torch.from_numpy(lengths)
-- params
x, y, lengths
-- step
mask = torch.arange(x.shape[1]).expand(x.size(0), -1) < lengths.unsqueeze(1)

== data masked : seq tok
-- given
mask = np.arange(x.shape[1])[None] < rng.integers(1, max(x.shape[1], 1) + 1, len(x))[:, None]
return x, y, mask
-- params
x, y, mask
-- step
x, y, mask = map(torch.from_numpy, (x, y, mask))

== data normalised : vec seq
-- given
return x, y
-- params
x, y
-- step
x = (x - x.mean(0)) / (x.std(0) + 1e-6)
x, y, mask = torch.from_numpy(x).float(), torch.from_numpy(y), None

== data noisy : vec seq img
-- given
return torch.from_numpy(x), torch.from_numpy(y)
-- params
x, y, sigma=0.1
-- step
x, mask = x + sigma * torch.randn_like(x), None

== data mixed_up : vec seq img
-- given
return torch.from_numpy(x), torch.from_numpy(y)
-- params
x, y
-- step
mask, lam = None, np.random.beta(0.4, 0.4)
x = lam * x + (1 - lam) * x[torch.randperm(x.size(0))]

== data augmented : img
-- given
return torch.from_numpy(x), torch.from_numpy(y)
-- params
x, y
-- step
flip, mask = torch.rand(x.size(0), 1, 1, 1) < 0.5, None
x = torch.where(flip, x.flip(-1), x)
x = F.pad(x, (1, 1, 1, 1), mode="reflect")[..., 1:-1, 1:-1]
"""
