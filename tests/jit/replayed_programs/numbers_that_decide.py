"""Numbers of tensors that become sizes or places, or that Python decides on."""
import functools

import numpy as np
import whet
from whet import nn, optim

from .row import CALLS, Box, row


@row("a place that a tensor of one number says: `bank[t]`, `bank[t] = x`, `bank[:t]`")
def _at_a_tensor():
    bank = whet.ones(32, 3)
    def f(x, t):
        bank[t] = x
        return bank[t] + bank[:t].sum(0)
    return f, lambda i: (whet.ones(3) * i, whet.tensor(i))


@row("places that several numbers of a tensor say: `p[t[0]] / p[t[1]]`")
def _at_several():
    p = whet.arange(1, 40.0)
    places = np.random.RandomState(0).randint(39, size=(CALLS, 3))
    places[::2, 0], places[1::3, 1], places[::3, 2] = 0, 1, 1
    def f(t): return (p[t[0]] / p[t[1]] - p[int(t[2])]).item()
    return f, lambda i: (whet.tensor(places[i]),)


@row("`x[mask]`, `nonzero`, `unique`, whatever number of elements they come to")
def _counted():
    weight = whet.ones(4, 4)

    def f(x):
        chosen, values = x[x[:, 0] > 0], whet.unique(x.round())
        return (chosen @ weight).sum(0) / max(len(chosen), 1), values.sum()

    def inputs(i):
        return (whet.from_numpy(np.random.default_rng(i).normal(size=(12, 4)).astype("f")),)
    return f, inputs


@row("a size that is a number of a tensor: `x[:, :int(lengths.max())]`")
def _longest():
    def f(x, lengths): return x[:, :int(lengths.max())].sum(1)

    def inputs(i):
        return whet.full((4, 12), float(i)), whet.tensor([2, 3 + i % 7, 2, 2])
    return f, inputs


@row("a loss of chosen examples, whatever number of them, whose gradients flow out")
def _chosen():
    model = nn.Linear(4, 3)

    def f(x, y):
        known = y >= 0
        return nn.functional.cross_entropy(model(x)[known], y[known])

    def inputs(i):
        rng = np.random.default_rng(i)
        return (whet.from_numpy(rng.normal(size=(12, 4)).astype("f")),
                whet.from_numpy(rng.integers(-2, 3, 12)))
    return f, inputs


@row("a loss as a number, beside a function with `functools.lru_cache`")
def _beside_a_cache():
    @functools.lru_cache(maxsize=8)
    def positions(n): return whet.arange(n)
    return (lambda x: (x * positions(x.shape[0])).sum().item()), lambda i: (whet.ones(3) * i,)


@row("`.tolist()` of what was made, up to 256 numbers")
def _listed():
    return (lambda x: [(a, b + 1) for a, b in (x * 2).tolist()]), (
        lambda i: (whet.full((3, 2), float(i)),))


@row("a loop in Python over the numbers of `.numpy()`, and a tensor of what it gathers")
def _gathered():
    def f(x):
        found, last = [], 0.0
        for numbers in (x * 2).numpy()[::-1]:
            last = 0.5 * last + numbers[0]
            found.append([last])
        return whet.tensor(found, dtype=whet.float)
    return f, lambda i: (whet.full((3, 2), float(i)),)


@row("a loss or a metric that decides something after the optimizer's step")
def _decided_late():
    model, best = nn.Linear(3, 1), Box(loss=1e9)
    opt = optim.AdamW(model.parameters())
    def f(x):
        opt.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        opt.step()
        if loss.item() < 1e6:
            best.loss = min(best.loss, loss.item())
        return loss.item()
    return f, lambda i: (whet.full((2, 3), float(i)),)


@row("a step that keeps its graph (`retain_graph=True`) and returns the loss")
def _kept():
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    opt = optim.Adam(model.parameters())
    def f(x):
        loss = model(x).square().mean()
        opt.zero_grad()
        loss.backward(retain_graph=True)
        opt.step()
        return loss
    return f, lambda i: (whet.ones(2, 3),)


@row("gradients of several calls, then a step of the optimizer")
def _accumulated():
    model, calls = nn.Linear(3, 1), [0]
    opt = optim.AdamW(model.parameters())
    def f(x):
        loss = model(x).square().mean()
        loss.backward()
        calls[0] += 1
        if calls[0] % 2 == 0:
            opt.step()
            opt.zero_grad()
        return loss.item()
    return f, lambda i: (whet.ones(2, 3),)


@row("a tensor of a list of tensors of one number: `LongTensor([best[i] for i in range(n)])`")
def _listed():
    table = whet.rand(9, 2)
    def f(x):
        best = x.argmax(1)
        return table[whet.LongTensor([best[i] for i in range(3)])]
    return f, lambda i: (whet.sin(whet.arange(27.0).reshape(3, 9) * i),)


@row("weights that `parametrize.cached()` computes once for the step")
def _computed_once():
    class Symmetric(nn.Module):
        def forward(self, w): return w.triu() + w.triu(1).T
    layer = nn.Linear(3, 3)
    nn.utils.parametrize.register_parametrization(layer, "weight", Symmetric())
    opt = optim.SGD(layer.parameters(), 0.1)
    def f(x):
        with nn.utils.parametrize.cached():
            loss = layer(x).square().mean() + layer.weight.sum()
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss
    return f, lambda i: (whet.ones(2, 3) * i,)


@row("a `Function` that keeps tensors as attributes of `ctx`, in a step that returns the loss")
def _on_the_context():
    class Scaled(whet.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mean = x.mean(0)
            return x * ctx.mean
        @staticmethod
        def backward(ctx, g): return g * ctx.mean
    model = nn.Linear(3, 1)
    opt = optim.SGD(model.parameters(), 0.1)
    def f(x):
        loss = Scaled.apply(model(x)).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss
    return f, lambda i: (whet.ones(2, 3) * i,)
