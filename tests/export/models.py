"""Models to export: each a function or module in eval mode, and arguments for it."""

import collections
import dataclasses

import whet
from whet import nn

Pair = collections.namedtuple("Pair", "first second")


@dataclasses.dataclass
class Scores:
    """Results of `scored`."""

    total: whet.Tensor
    parts: tuple = ()


class Block(nn.Module):
    """A transformer block."""

    def __init__(self, width=16):
        super().__init__()
        self.attention = nn.MultiheadAttention(width, 4, batch_first=True)
        self.before, self.after = nn.LayerNorm(width), nn.LayerNorm(width)
        self.perceptron = nn.Sequential(nn.Linear(width, 32), nn.GELU(), nn.Linear(32, width))

    def forward(self, x):
        h = self.before(x)
        x = x + self.attention(h, h, h, need_weights=False)[0]
        return x + self.perceptron(self.after(x))


class UNet(nn.Module):
    """One level down and up again, with what was before beside it."""

    def __init__(self):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU())
        self.middle = nn.Sequential(nn.Conv2d(4, 8, 3, stride=2, padding=1), nn.ReLU())
        self.up = nn.ConvTranspose2d(8, 4, 2, stride=2)
        self.out = nn.Conv2d(8, 1, 1)

    def forward(self, x):
        a = self.down(x)
        return self.out(whet.cat([self.up(self.middle(a)), a], 1))


class Tied(nn.Module):
    """An embedding whose weight is that of the last layer."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(12, 6)
        self.head = nn.Linear(6, 12, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, tokens):
        return self.head(self.embedding(tokens))


def scored(batch, scale=2.0, *, mode="sum"):
    """Nested arguments and results of all kinds."""
    x = batch["x"].first * scale
    return {
        "scores": Scores(x.sum(), (x, batch["x"].second.t())),
        "mode": mode,
        "pair": Pair(x.max(), None),
        "list": [x.mean().item(), batch["y"][0]],
    }


def made():
    """name -> (what is exported, its arguments)"""
    whet.manual_seed(3)
    convolutional = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(8 * 16, 10),
    )
    perceptron = nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 3), nn.Softmax(-1))
    batch = {"x": Pair(whet.randn(3, 2), whet.randn(3, 2)), "y": [whet.arange(4)]}
    return {
        "perceptron": (perceptron.eval(), [whet.randn(4, 5)]),
        "convolutional": (convolutional.eval(), [whet.randn(2, 3, 8, 8)]),
        "transformer": (Block().eval(), [whet.randn(2, 5, 16)]),
        "recurrent": (nn.LSTM(4, 8, 2, batch_first=True).eval(), [whet.randn(2, 5, 4)]),
        "unet": (UNet().eval(), [whet.randn(2, 1, 8, 8)]),
        "tied": (Tied().eval(), [whet.tensor([[1, 2, 3], [11, 0, 5]])]),
        "scored": (scored, [batch]),
    }


NAMES = list(made())


# ---- control flow --------------------------------------------------------------------------------
WEIGHTS = whet.arange(9.0).reshape(3, 3) / 9


def rounds(x):
    """Three rounds of a product."""
    start = x, whet.tensor(0)
    return whet.while_loop(lambda b, n: n < 3, lambda b, n: (b @ WEIGHTS, n + 1), start)[0]


CONTROL = {
    "cond": lambda x: whet.cond(x.sum() > 0, lambda a: a * 2, lambda a: -a, (x,)),
    "loop": lambda x: whet.while_loop(lambda a: a.sum() < 50, lambda a: (a * 2,), (x,))[0],
    "nested loop": lambda x: whet.cond(x.sum() > 0, rounds, lambda a: a - 1, (x,)),
}


def same(a, b):
    """Are two results the same, to the bit?"""
    if isinstance(a, whet.Tensor):
        a, b = a.detach().numpy(), b.detach().numpy()
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, tuple | list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if hasattr(a, "__dict__"):
        fields = vars(a)
        return all(same(fields[k], getattr(b, k)) for k in fields)
    return type(a) is type(b) and a == b


def others(x):
    """Arguments like some, with other numbers."""
    if isinstance(x, whet.Tensor):
        return whet.randn_like(x) if x.is_floating_point() else (x * 5 + 1) % 12
    if isinstance(x, Pair):
        return Pair(*map(others, x))
    if isinstance(x, list):
        return [others(y) for y in x]
    return {k: others(y) for k, y in x.items()} if isinstance(x, dict) else x
