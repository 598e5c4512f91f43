"""Random small models, trained by a traced step and by an eager one: everything they come to must
be the same, to the bit.

    python -m tests.fuzz_models --seconds 60 --seed 1

The programs of `tests/fuzz_jit.py` are of a few numbers and any operations; these are of layers in
the sizes of real ones, on one to four threads: products and convolutions with their packing and
scratch, whose temporaries share one arena.
"""
import argparse
import random
import sys
import time

import numpy as np
import whet
from whet import nn
from whet.jit.policy import account
from whet.nn import functional as F

account.GRACE = float("inf")              # whatever recordings cost: what is replayed must be right


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


def run(seed, traced, calls=4):
    """(what each step came to, the model, why it was not replayed)"""
    r = random.Random(seed)
    whet.manual_seed(seed)
    whet.set_num_threads(r.choice([1, 2, 2, 3, 4]))
    model, shape = (images if r.random() < 0.65 else sequences)(r)
    optimizer = r.choice([whet.optim.SGD, whet.optim.Adam, whet.optim.AdamW,
                          whet.optim.RMSprop])(model.parameters(), lr=1e-3)

    def batch(k):
        return whet.from_numpy(np.random.default_rng(k).normal(size=shape).astype(np.float32))

    def step(x):
        y = model(x)
        loss = (y * y).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss, y
    infer, seen = model, []
    if traced:
        step, infer = (whet.jit.trace(f, verify=["first", "off"][seed % 2]) for f in (step, model))
    for k in range(calls):
        model.train()
        got = [bits(*step(batch(k))), bits(*[p.grad for p in model.parameters()])]
        model.eval()
        with whet.no_grad():
            got.append(bits(infer(batch(k + 10))))
        x = batch(k + 20).requires_grad_()
        infer(x).sum().backward()
        seen.append([*got, bits(x.grad), bits(*model.state_dict().values())])
    return seen, model, traced and (step._why or infer._why)


def wrong(seed):
    """Where the traced model differs, in words; None where it does not."""
    threads = whet.get_num_threads()
    try:
        (want, model, _), (got, _, why) = (run(seed, traced) for traced in (False, True))
    finally:
        whet.set_num_threads(threads)
    parts = ["the step", "gradients of parameters", "inference", "the gradient of the input",
             "the state"]
    found = [f"call {k}, {name}" for k, (a, b) in enumerate(zip(want, got))
             for name, x, y in zip(parts, a, b, strict=True) if x != y]
    return f"{found[0] if found else why}\n{model}" if found or why else None


def main():
    a = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    a.add_argument("--seconds", type=float, default=10)
    a.add_argument("--seed", type=int, default=0)
    a = a.parse_args()
    end, seed, bad = time.time() + a.seconds, a.seed, 0
    while time.time() < end:
        why = wrong(seed)
        bad += why is not None
        if why:
            print(f"seed {seed}: {why}", flush=True)
        seed += 1
    print(f"{seed - a.seed} models, {bad} wrong")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
