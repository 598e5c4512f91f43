"""Random functions called over random sizes: a call of a size that was never seen, which is
replayed without a run, must give eager mode's bits.

    python -m tests.fuzz_sizes --seconds 60 --seed 1

A program is a few lines drawn from `LINES`, on tensors with a dimension of n. Some are training
steps: gradients flow to parameters, and an optimizer moves these. Sizes are drawn around the
boundaries of lanes and blocks.
"""

import copy
import functools
import math
import random
import sys

from tests import fuzz_harness
from tests.observed import observed

NEAR = [1, 2, 3, 4, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257]
FAR = [511, 512, 513, 1023, 1025, 4095, 4096, 4097]

# x and y are (n, 16), i is (n,) of places below 16, m is a mask of (n,); each line gives such an x
LINES = """
x.exp()
x * 2 + y
F.gelu(x)
x.softmax(-1)
x.softmax(0)
x.log_softmax(-1)
F.layer_norm(x, (16,), g, b)
x @ w
F.linear(x, w, b)
x - x.mean(0)
x - x.mean()
x * x.amax(0)
x.std(0) + x
x.var(-1, keepdim=True) * x
(x.t() @ x)[0] + x
(x @ y.t()) @ y
(x @ y.t()).softmax(-1) @ y
x.t().contiguous().t()
x.flip(0)
whet.cat([x, y], 0)[::2]
whet.cat([x, y], 1)[:, :16]
whet.stack([x, y]).sum(0)
x[1:].sum() + x
x[:-1].mean() * x
x[-3:].sum(0) + x
x[:40].sum(0) + x
x[100:].sum(0) + x
x[2:-2].mean(0) + y
x + x[0]
x * x[-1]
x.clamp(-1, 1)
whet.where(x > y, x, y)
x.reshape(-1, 4).sum(-1).mean() + x
F.pad(x, (1, 1))[:, 1:-1]
x.cumsum(0)
x.sort(0).values
x.prod(0) + x
x.logsumexp(0) + x
x.max(0).values + x
x @ x.t() @ x.triu()
x.repeat(2, 1)[::2] + x
x.unsqueeze(1).expand(-1, 3, 16).sum(1)
x.view(-1, 4, 4).transpose(1, 2).reshape(-1, 16)
x.unflatten(1, (4, 4)).transpose(1, 2).flatten(1)
x.chunk(2, 1)[0].repeat(1, 2)
x.split(3, 0)[0].sum(0) + x
x.narrow(0, 0, 1) + x
F.normalize(x)
F.mse_loss(x, y) + x
F.cross_entropy(x, i) + x
F.nll_loss(x.log_softmax(-1), i, reduction="none")[:, None] + x
F.embedding(i, w) + x
w[i] + x
x.gather(1, i[:, None]) + x
x[i % 1] + y
whet.zeros(16, 16).index_add(0, i, x).sum(0) + y
x.index_fill(1, k, 0.5)
whet.zeros(16, 16).scatter_add(0, i[:, None].expand(-1, 16), x).sum(0) + y
x.scatter(1, i[:, None], 0.25)
x.scatter_add(1, i[:, None], y[:, :1])
x.masked_fill(m[:, None], 0.5)
x.masked_fill(y > 0, -1.0) * y
x.double().sum(0).float() + x
x.half().float()
whet.outer(x[:, 0], y[0])
whet.einsum("ij,kj->ik", x, y) @ y
x.roll(1, 0)
x.roll(5, 0)
F.scaled_dot_product_attention(x[None], y[None], y[None])[0]
F.scaled_dot_product_attention(x[None], y[None], y[None], is_causal=True)[0]
whet.ones_like(x) * x
x.new_zeros(x.shape) + x
x / x.shape[0]
whet.arange(x.shape[0])[:, None] * 0.01 + x
x * float(len(x))
F.dropout(x, 0.3)
F.dropout(x[:, 0], 0.3)[:, None] + x
whet.rand_like(x) + x
x + whet.randn(16)
F.conv1d(x.t()[None], c, padding=1)[0].t()
F.conv2d(x.view(1, 1, -1, 16), d, padding=1)[0, 0]
F.conv1d(x.t()[None], c, padding=1, dilation=1)[0].relu().t() + x
F.conv2d(x.view(1, 1, -1, 16), d, padding=1, stride=2)[0, 0].mean(0).sum() + x
F.conv2d(x.view(-1, 4, 2, 2), e)[:, :, 0, 0].repeat(1, 4) + x
F.conv2d(x.view(1, 1, -1, 16).expand(1, 3, -1, 16), h, padding=2).mean((0, 1))[:-2, :16] + x
F.conv_transpose1d(x.t()[None], c, padding=1)[0].t()
F.max_pool1d(x, 3, 1, 1)
F.batch_norm(x, b.clone(), g.abs(), training=True)
F.batch_norm(x.t()[None], b.clone(), g.abs(), training=True)[0].t()
whet.cov(x.t()) @ w + x.mean(0)
F.cross_entropy(x @ y.t(), whet.arange(x.shape[0])) + x
F.cross_entropy(whet.cat([x, y]) @ x.t(), whet.cat([whet.arange(x.shape[0])] * 2)) + x
whet.eye(x.shape[0]) @ x
whet.eye(x.size(0), 16) + x
whet.linspace(0, 1, x.shape[0])[:, None] * x
F.interpolate(x.t()[None], scale_factor=2)[0].t()[::2] + y
F.interpolate(x.t()[None].contiguous(), scale_factor=1.5, mode="linear")[0].mean(1) + x
F.interpolate(x[None, None], size=(x.shape[0], 8), mode="bilinear")[0, 0].repeat(1, 2) + y
F.interpolate(x[None, None], size=(7, x.shape[1]), mode="bicubic")[0, 0].mean(0) + y
x.topk(3, 1)[0].sum(1)[:, None] + x
x.topk(1, 0)[0] + x
x.sort(1, descending=True)[0]
x.median(0)[0] + x
x.kthvalue(1, 0)[0] + x
whet.cdist(x, y) @ y
whet.cdist(x, x).argsort(1)[:, :1] * 0.01 + x
(x @ y.t()).diagonal()[:, None] + x
(x @ y.t()).fill_diagonal_(0) @ y
x.diagonal().sum() + y
whet.fft.rfft(x, dim=0).abs().sum(0) + x
whet.fft.fft(x, dim=1).real
whet.fft.irfft(whet.fft.rfft(x, dim=0), n=x.shape[0], dim=0)
F.pad(x.t()[None], (1, 1), mode="replicate")[0].t()[1:-1]
F.pad(x[None], (2, 2), mode="reflect")[0][:, 2:-2]
x[:1].repeat(x.size(0), 1) + y
x[:1].expand(x.size(0), -1) + y
x.unfold(0, 1, 1).sum(-1)
x[:, :8].unfold(1, 3, 2).sum() + x
whet.view_as_real(whet.view_as_complex(x.view(-1, 8, 2)) * 1j).flatten(1)
whet.repeat_interleave(x, 2, dim=0)[::2]
x.cumprod(0)
x.cummax(0)[0]
x[whet.randperm(x.shape[0])]
whet.linalg.solve(x.t() @ x + 9 * whet.eye(16), w) + x[0]
(lambda n, d: x.view(n, 2, d // 2).transpose(1, 2).reshape(n, d))(*x.size())
x.view(x.size()[:-1] + (4, 4)).sum(-1).repeat(1, 4) + x
x.sum() / whet.numel(x) + x
x * x.shape[0] ** -0.5
x[: x.shape[0] // 2 + 1].mean(0) + x
x[whet.arange(0, x.shape[0], 2)].sum(0) + y
x - 0.1 * (whet.arange(x.shape[0])[:, None] - whet.arange(16)).abs()
whet.tril(whet.ones(x.shape[0], x.shape[0])) @ x
whet.bernoulli(whet.full_like(x, 0.5)) * x
whet.zeros(x.shape[0] + 1, 16).index_add(0, whet.arange(x.shape[0]), x)[:-1]
F.max_pool2d(x[None], 2, ceil_mode=True).sum() * 0.01 + x
F.max_pool1d(x.t()[None], 2, stride=1)[0].sum(-1) + x
F.avg_pool1d(x.t()[None], 3, 2, 1, count_include_pad=False)[0].sum(-1) + x
F.adaptive_max_pool1d(x.t()[None], 3)[0].t().sum(0) + x
F.adaptive_avg_pool1d(x.t()[None], 5)[0].t().sum(0) + x
F.unfold(x.view(1, 1, -1, 16), 3, padding=1).sum(1).view(-1, 16)
F.avg_pool2d(x[None], 3, 1, 1)[0]
F.adaptive_avg_pool1d(x.t()[None], 1)[0].t() + x
x.view(-1, 2, 8).sum(1).repeat(1, 2)
whet.tensor(1.0) * x
x.unbind(1)[3][:, None] + x
x.diff(dim=1, prepend=x[:, :1])
x.tril() + y.triu(1)
x.argmax(1)[:, None] * 0.1 + x
x.index_put((i,), y[i]) if len(x) == 16 else x + 1
s * x
x * s + s
x.view(x.shape[0], 4, 4).sum(1).repeat(1, 4)
x.reshape(x.shape[0] * 2, -1).sum() + x
x.view(2, -1, 16).sum(0).mean() + x if x.shape[0] % 2 == 0 else x
x + p[:x.shape[0]]
p[whet.arange(x.shape[0])] * x
x[x.shape[0] // 2:].sum(0) + x
x[-min(x.shape[0], 10):].mean(0) + x
x[x.shape[0] - 1] + x
x[max(len(x) - 4, 0)] * x
x.narrow(0, x.shape[0] // 3, 1) + x
x.split(max(x.shape[0] // 2, 1), 0)[0].sum(0) + x
x + whet.zeros(x.shape[0], 1)
x * whet.full((x.shape[0], 1), 0.5) + x.new_ones(x.shape)
x * whet.arange(x.shape[0], dtype=x.dtype)[:, None]
x[whet.arange(x.shape[0] - 1, -1, -1)]
x * 2 if x.shape[0] > 40 else x - 1
x * 2 if x.sum() > 0 else x - 1
x + x.mean().item()
F.pad(x, (0, 0, 0, -x.shape[0] % 8))[:x.shape[0]]
F.pad(x, (0, 0, 2, 0))[2:]
whet.cat([x, whet.zeros(8 - x.shape[0] % 8, 16)])[:x.shape[0]]
whet.zeros(-(-x.shape[0] // 64) * 64, 16)[:x.shape[0]] + x
x / x.numel() + x * x.shape[0] ** -0.5
x * math.sqrt(x.size(0))
F.dropout(x[:x.shape[0] - 1], 0.2).sum(0) + x
x + whet.rand(x.shape)
x.expand(2, *x.shape)[0] * 2
x.masked_fill(whet.ones(x.shape[0], 16).triu(1) > 0, 0.5)
(x @ x.t()).masked_fill(q[:x.shape[0], :x.shape[0]], -1e9).softmax(-1) @ x if len(x) <= 600 else x
x.cummax(0).values + x
x.roll(x.shape[0] // 2, 0)
sum([x * k for k in range(min(x.shape[0], 3))])
""".strip().split("\n")

# lines in which data decides a size
COUNTED = """
x + x[m].sum(0)
x * x[x[:, 0] > 0].mean()
whet.cat([x[m], x[~m]])
x.index_add(0, m.nonzero()[:, 0], x[m] * 2)
x.masked_scatter(m[:, None], y[m] * 2)
x + x[:int(m.sum())].sum(0)
x + x[int(m.sum()):].sum()
x[-int(m.sum()):].sum(0) + x
x * F.softmax(x[m] @ w, 0).sum()
x + x[m][y[m][:, 0] > 0].sum(0)
x.index_put((m.nonzero()[:, 0],), y[m] * 2)
x + whet.unique(i).sum()
x + F.cross_entropy(x[m] @ w, i[m])
x + whet.arange(int(i.max()) + 1).sum()
x * (x[m].sum() / max(len(x[m]), 1))
x + F.dropout(x[m], 0.3).sum(0)
x + whet.repeat_interleave(x, i % 3, dim=0).sum(0)
x + w[i[m]].sum(0)
x + F.layer_norm(x[m], (16,), g, b).sum(0)
x + x[m].std(0) if int(m.sum()) > 3 else x * 2
x + (x[m] @ y[m].t()).sum()
x + x[x[:, 1] > 0].max(0)[0] if len(x[x[:, 1] > 0]) else x
x * whet.linspace(0, 1, int(m.sum()) + 1).sum()
x.split([int(m.sum()), len(x) - int(m.sum())])[1].sum(0) + x
""".strip().split("\n")
LINES += COUNTED

# what else some programs give: what Python makes of sizes
TOLD = """
x.shape
list(x.shape)
x.shape[0] * 2 - 1
-x.shape[0] // 3
x.shape[0] ** 2 % 7
x.shape[0] / 3
2 ** (x.shape[0] % 9)
divmod(x.shape[0], 7)
x.shape[0] << 2 | 1
bool(x.shape[0] & 4)
(x.shape[0] > 40, x.shape == (16, 16), x.shape[0] in (3, 16, 33))
max(x.shape[0], 10) + min(len(x), 5)
math.sqrt(x.size(0)) + math.ceil(x.shape[0] / 8)
math.gcd(x.shape[0], 12), math.log2(x.shape[0])
x.numel(), x.nbytes, x.element_size() * x.numel()
x.stride(), y.t().stride()
x.shape[:1] + (3,), tuple(x.shape)[::-1], x.shape[-1]
{"n": len(x), "of": [x.shape[0], {"half": x.shape[0] // 2}]}
f"{x.shape[0]} rows of {tuple(x.shape)}"
"%d" % x.shape[0], str(x.shape), repr(x.shape[0])
[*range(x.shape[0] % 5)]
type(x.shape[0]) is int, type(x.shape[0])(5.5), isinstance(x.shape, tuple)
int(x.shape[0] * 0.5), round(x.shape[0] / 7, 2), float(x.shape[0])
hash(x.shape[0]), {x.shape[0]: 1}, {*x.shape}
sorted([x.shape[0], 20, 4]), sum(x.shape), [n + 1 for n in x.shape]
dict(zip("ab", x.shape)), [*map(str, x.shape)], any(n > 30 for n in x.shape)
(lambda n: n * 3)(x.shape[0]), (x.shape[0], x.shape[0]).count(x.shape[0])
whet.Size((x.shape[0], 2)), x.dim(), x.view(-1).shape
""".strip().split("\n")

# how x and y lie in memory
LAYOUTS = {
    "dense": lambda randn, n: randn(n, 16),
    "turned": lambda randn, n: randn(16, n).t(),
    "a part of each row": lambda randn, n: randn(n, 20)[:, 3:19],
    "a part of each column": lambda randn, n: randn(16, n + 1)[:, 1:].t(),
    "a part of two dimensions": lambda randn, n: randn(3, n + 2, 16)[1, :-2],
    "every other row": lambda randn, n: randn(2 * n, 16)[::2],
    "one of pairs": lambda randn, n: randn(16, n, 2)[..., 0].t(),
    "spread": lambda randn, n: randn(16).expand(n, 16),
}

DERIVATIVE = {}                  # name -> what is done with a result that gradients flow through


def derivative(fn):
    """Register a way to differentiate `out`; `weights` may get gradients, too."""
    DERIVATIVE[fn.__name__] = fn
    return fn


@derivative
def of_sum(out, weights, seed):
    out.sum().backward()


@derivative
def weighted(out, weights, seed):
    import whet
    out.backward(whet.randn(out.shape, generator=whet.Generator().manual_seed(seed)))


@derivative
def twice(out, weights, seed):
    out.mean().backward(retain_graph=True)
    out.square().sum().backward()


@derivative
def of_one_weight(out, weights, seed):
    import whet
    got = whet.autograd.grad(out.sum(), weights[:1], allow_unused=True)
    weights[0].grad = got[0]


@derivative
def second(out, weights, seed):
    import whet
    found = whet.autograd.grad(out.square().sum(), weights, create_graph=True, allow_unused=True)
    found = [g.square().sum() for g in found if g is not None and g.requires_grad]
    if found:
        sum(found).backward()


@derivative
def hooked(out, weights, seed):
    out.register_hook(lambda g: g * 2)
    out.sum().backward()


HEAD = "def f(x, y, i, m, s):\n"
STEP = """    loss = x.square().mean() + (x * y).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    {scheduler}
    return x.detach(), loss.detach(), told
"""


class Program(fuzz_harness.TwoSided):
    """A function as source, what it reaches, and the sizes of its calls."""

    def __init__(self, r):
        self.lines = [r.choice(LINES) for _ in range(r.randint(1, 4))]
        self.trains, self.scheduled = r.random() < 0.4, r.random() < 0.4
        self.gives_gradients = not self.trains and r.random() < 0.5
        self.derivatives = [r.choice([*DERIVATIVE]) for _ in range(3)]     # in turn
        self.optimizer = r.choice(["SGD", "AdamW", "Adam"])
        self.told = r.choice(TOLD) if r.random() < 0.4 else "None"
        self.seed, self.varying = r.randrange(1 << 30), r.random() < 0.3
        dense = r.random() < 0.6
        self.layouts = ["dense" if dense else r.choice([*LAYOUTS]) for _ in range(2)]
        self.sizes = sizes(r)

    @classmethod
    def drawn(cls, seed):
        return cls(random.Random(seed))

    def smaller(self):
        for name in ("sizes", "lines"):
            held = getattr(self, name)
            for size in (4, 1):
                for k in range(0, len(held), size):
                    less = copy.copy(self)
                    setattr(less, name, held[:k] + held[k + size:])
                    yield less

    @property
    def source(self):
        """The text of the function."""
        body = "".join(f"    x = {line}\n" for line in self.lines)
        step = STEP.format(scheduler="scheduler.step()" if self.scheduled else "pass")
        end = step if self.trains else "    return x, told\n"
        return f"{HEAD}    told = {self.told}\n{body}{end}"

    def made(self):
        """(the function, the tensors whose state it may change)"""
        import whet
        import whet.nn.functional as F
        whet.manual_seed(self.seed)
        names = dict(whet=whet, F=F, w=whet.randn(16, 16) * 0.2, b=whet.randn(16), g=whet.randn(16),
                     c=whet.randn(16, 16, 3) * 0.1, d=whet.randn(1, 1, 3, 3) * 0.3,
                     e=whet.randn(4, 4, 1, 1), h=whet.randn(2, 3, 3, 3) * 0.2,
                     k=whet.tensor([1, 4]), p=whet.randn(4200, 16),
                     q=whet.ones(600, 600).triu(1) > 0, math=math)
        weights = [names[k] for k in "wbgcdeh"]
        if self.trains or self.gives_gradients:
            for t in weights:
                t.requires_grad_()
        if self.trains:
            optimizer = getattr(whet.optim, self.optimizer)(weights, lr=1e-3)
            names["optimizer"] = optimizer
            names["scheduler"] = whet.optim.lr_scheduler.StepLR(optimizer, 1, 0.99)
        exec(compile(self.source, "<program>", "exec"), names)
        return names["f"], weights

    def seen(self, traced):
        import whet
        f, weights = self.made()
        f, seen = whet.jit.trace(f) if traced else f, []
        for k, n in enumerate(self.sizes):
            args = given(n, self.seed + k, self.varying, self.layouts)
            args[0].requires_grad_(self.gives_gradients)
            try:
                out = f(*args)
                if self.gives_gradients and out[0].requires_grad:
                    DERIVATIVE[self.derivatives[k % 3]](out[0], weights, self.seed + k)
            except (RuntimeError, ValueError, IndexError, TypeError) as e:
                seen.append((type(e).__name__, observed(whet.get_rng_state())))
                break
            seen.append(observed(out, weights, args[0].grad, whet.get_rng_state()))
        return seen, f

    def __str__(self):
        return f"{self.source}sizes {self.sizes}, x and y lie {self.layouts}"


def sizes(r):
    """The sizes of a program's calls."""
    high = r.choice([20, 80, 300, 1200])
    near = NEAR if r.random() < 0.9 else NEAR + FAR
    drawn = [r.choice([r.randint(1, high), r.choice(near)]) for _ in range(r.randint(10, 22))]
    # some come again, after others
    return drawn if r.random() < 0.5 else r.choices(drawn[:6], k=len(drawn))


def given(n, seed, varying, layouts):
    """The arguments of a call."""
    import whet
    g = whet.Generator().manual_seed(seed)
    x, y = (LAYOUTS[name](functools.partial(whet.randn, generator=g), n) for name in layouts)
    i = whet.randint(0, 16, (n,), generator=g)
    return x, y, i, whet.rand(n, generator=g) > 0.5, (seed % 7) * 0.25 if varying else 1.5


if __name__ == "__main__":
    sys.exit(fuzz_harness.main(__spec__.name))
