"""Random small models, trained by a traced step and by an eager one: everything they come to must
be the same, to the bit.

    python -m tests.fuzz_models --seconds 60 --seed 1

The programs of `tests/fuzz_jit.py` are of a few numbers and any operations; these are of layers in
the sizes of real ones, on one to four threads: products and convolutions with their packing and
scratch, whose temporaries share one arena.
"""
import dataclasses
import random
import sys

import numpy as np
import whet
from whet import nn
from whet.nn import functional as F

from tests import fuzz_harness

CALLS = 4
PARTS = ["the step", "gradients of parameters", "inference", "the gradient of the input",
         "the state"]


class Block(nn.Module):
    """A block of a transformer."""

    def __init__(self, width, heads, activation, norm):
        super().__init__()
        self.heads, self.activation, self.norm = heads, activation, norm(width)
        self.qkv, self.out, self.up = (nn.Linear(width, n * width) for n in (3, 1, 2))
        self.down = nn.Linear(2 * width, width)

    def forward(self, x):
        n, length, width = x.shape
        q, k, v = (t.reshape(n, length, self.heads, -1).transpose(1, 2)
                   for t in self.qkv(self.norm(x)).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.activation is F.gelu)
        x = x + self.out(y.transpose(1, 2).reshape(n, length, width))
        return x + self.down(self.activation(self.up(x)))


class Recurrent(nn.Module):
    """A recurrent network whose results have its input's width."""

    def __init__(self, kind, width, hidden, layers, both):
        super().__init__()
        self.net, self.out = (kind(width, hidden, layers, batch_first=True,
                                   bidirectional=both), nn.Linear(hidden * (1 + both), width))

    def forward(self, x):
        return self.out(self.net(x)[0])


class Beside(nn.Module):
    """A layer with what it was given added to its result."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return x + self.inner(x)


def images(r):
    """(a model of images, the shape of a batch)"""
    c, shape, layers = (r.choice([1, 3, 4, 8]),
                        (r.choice([1, 2, 4, 8]), r.choice([8, 12, 16, 24, 32]),
                         r.choice([8, 12, 17, 32])), [])
    first = c
    for _ in range(r.randint(2, 6)):
        k, stride, out = (r.choice([1, 2, 3, 3, 3,
                                    5]), r.choice([1, 1, 2]), r.choice([4, 8, 16, 24, 32, 64]))
        new = {
            "convolution": lambda c=c, k=k, s=stride, o=out: nn.Conv2d(
                c, o, k, s, k // 2, bias=r.random() < 0.5),
            "dilated": lambda c=c, o=out: nn.Conv2d(c, o, 3, padding=2, dilation=2),
            "in groups": lambda c=c, s=stride, o=out: nn.Conv2d(c, o, 3, s, 1, groups=1 if c % 4 else 4),
            "depthwise": lambda c=c, k=k, s=stride: nn.Conv2d(c, c * r.choice([1, 1, 2]), k, s, k // 2, groups=c),
            "of pixels": lambda c=c, o=out: nn.Conv2d(c, o, 1),
            "beside": lambda c=c: Beside(
                nn.Sequential(nn.Conv2d(c, c, 3, padding=1, bias=False), nn.BatchNorm2d(c), nn.ReLU(
                ))),
            "transposed": lambda c=c, o=out: nn.ConvTranspose2d(c, o, 2, 2),
            "batch norm": lambda c=c: nn.BatchNorm2d(c),
            "group norm": lambda c=c: nn.GroupNorm(1 if c % 2 else 2, c),
            "pointwise": lambda: r.choice([nn.ReLU, nn.GELU, nn.SiLU])(),
            "dropout": lambda: nn.Dropout(0.2),
            "pool": lambda: r.choice([nn.MaxPool2d, nn.AvgPool2d])
            (2, ceil_mode=True), "larger": lambda: nn.Upsample(
                scale_factor=2, mode=str(r.choice(["nearest", "bilinear"]))), }
        layers.append(new[r.choice(list(new))]())
        c = getattr(layers[-1], "out_channels", c)
    return (nn.Sequential(nn.Conv2d(first, first, 1),
                          *layers,
                          nn.AdaptiveAvgPool2d(r.choice([1, 2])),
                          nn.Flatten()), (shape[0], first, *shape[1:]))


def sequences(r):
    """(a model of sequences, the shape of a batch)"""
    width, length, layers = r.choice([8, 16, 32, 48, 64]), r.choice([3, 7, 16, 33]), []
    for _ in range(r.randint(1, 3)):
        new = {
            "block": lambda: Block(width, r.choice([1, 2, 4]), r.choice([F.gelu, F.relu, F.silu]), r
                                   .choice([nn.LayerNorm, nn.RMSNorm])),
            "recurrent": lambda: Recurrent(r.choice([nn.LSTM, nn.GRU, nn.RNN]), width, r.choice([
                8, 20, 32]), r.choice([1, 2]), r.random() < 0.5),
            "linear": lambda: nn.Sequential(nn.Linear(width, width), nn.Tanh()),
            "norm": lambda: nn.LayerNorm(width),
            "convolution": lambda: nn.Conv1d(length, length, 3, padding=1), }
        layers.append(new[r.choice(list(new))]())
    return nn.Sequential(nn.Linear(width, width), *layers), (r.choice([1, 2, 5]), length, width)


def bits(*tensors):
    return [t.detach().numpy().tobytes() for t in tensors]


@dataclasses.dataclass
class Program(fuzz_harness.TwoSided):
    """A model, its optimizer and its data, all drawn from a seed."""
    seed: int
    calls: int = CALLS

    @classmethod
    def drawn(cls, seed):
        return cls(seed)

    def smaller(self):
        for n in range(1, self.calls):
            yield dataclasses.replace(self, calls=n)

    def model(self, r):
        """(the model, the shape of a batch)"""
        whet.manual_seed(self.seed)
        return (images if r.random() < 0.65 else sequences)(r)

    def seen(self, traced):
        r = random.Random(self.seed)
        infer, shape = self.model(r)
        step = step_of(infer, r)
        model, seen = infer, []
        if traced:
            verify = ["first", "off"][self.seed % 2]
            step, infer = (whet.jit.trace(f, verify=verify) for f in (step, infer))

        def batch(k):
            drawn = np.random.default_rng(k).normal(size=shape)
            return whet.from_numpy(drawn.astype(np.float32))
        for k in range(self.calls):
            model.train()
            seen += [bits(*step(batch(k))), bits(*[p.grad for p in model.parameters()])]
            model.eval()
            with whet.no_grad():
                seen.append(bits(infer(batch(k + 10))))
            x = batch(k + 20).requires_grad_()
            infer(x).sum().backward()
            seen += [bits(x.grad), bits(*model.state_dict().values())]
        return [*seen, str(step._why or infer._why) if traced else "None"], step

    def place(self, k):
        call, part = divmod(k, len(PARTS))
        return f"call {call}, {PARTS[part]}" if call < self.calls else "what was not replayed"

    def __str__(self):
        return str(self.model(random.Random(self.seed))[0])


def step_of(model, r):
    """A training step of a model."""
    kind = r.choice([whet.optim.SGD, whet.optim.Adam, whet.optim.AdamW, whet.optim.RMSprop])
    optimizer = kind(model.parameters(), lr=1e-3)

    def step(x):
        y = model(x)
        loss = (y * y).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss, y
    return step


if __name__ == "__main__":
    sys.exit(fuzz_harness.main(__spec__.name))
