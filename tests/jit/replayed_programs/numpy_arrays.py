"""Arrays and numbers of NumPy: as arguments, in computations, written to, and given back."""
import collections

import numpy as np
import whet
from whet import nn, optim

from .row import CALLS, Box, row


@row("a NumPy array as an index")
def _index():
    x = whet.randn(8, 2)
    def f(idx): return x[idx].sum(0)
    return f, lambda i: (np.array([i % 8, 3]),)


@row("a batch of NumPy arrays in a dict: `from_numpy`, `as_tensor`, `tensor`")
def _batch():
    def f(batch):
        return (whet.from_numpy(batch["x"]) * 2 + whet.as_tensor(batch["y"], dtype=whet.float32)
                + whet.tensor(batch["x"]))
    return f, lambda i: ({"x": np.full(3, i, np.float32), "y": np.full(3, i)},)


@row("NumPy functions on such arrays, and their results")
def _functions():
    def f(a):
        return (whet.from_numpy(np.concatenate([a, a * 2])), (a - a.mean()) /
                (a.std() + 1e-8), a.argmax())
    return f, lambda i: (np.arange(4.0) * i,)


@row("tensors that say places in a NumPy array: `counts[label, guess] += 1`")
def _places():
    counts, sums = np.zeros((4, 4), int), np.zeros((2, 3), np.float32)
    def f(labels, guesses, x):
        for label, guess in zip(labels, guesses):
            counts[label, guess] += 1
        sums[0] = x
        sums[1] += x * 2
        return counts.trace() / counts.sum(), np.append(sums[0], x).sum()
    return f, lambda i: (whet.arange(2) + i % 2, whet.tensor([1, i % 4]), whet.ones(3) * i)


@row("a NumPy array that the function makes of constants, and a tensor over it")
def _made():
    def f(x):
        eye = whet.from_numpy(np.array([1, 0, 0, 1]).astype(np.float32)).view(2, 2)
        return x @ eye + whet.from_numpy(np.tile(np.arange(2.0), (2, 1)))
    return f, lambda i: (whet.ones(2, 2) * i,)


@row("NumPy functions of lists: `np.cumsum([0] + lengths)`")
def _lists():
    lengths = [2, 1, 1]
    def f(x):
        at = np.cumsum([0] + lengths)
        return [x[i:j].sum() for i, j in zip(at[:-1], at[1:])], x[np.argsort(lengths)]
    return f, lambda i: (whet.ones(4) * i,)


@row("NumPy functions of a deque of arrays: `np.stack(frames)`")
def _frames():
    o = Box(frames=collections.deque([np.zeros(3)] * 2, maxlen=2))
    def f(a):
        o.frames.append(a)
        return whet.from_numpy(np.stack(o.frames)).sum(0)
    return f, lambda i: (np.arange(3.0) * i,)


@row("a NumPy number, another at each call, such as an entry of a schedule")
def _number_of_numpy():
    rates = np.linspace(1, 0.1, CALLS)
    def f(x, rate): return x * rate, (1 - rate) / 2
    return f, lambda i: (whet.ones(3) * i, rates[i])


@row("an entry of a NumPy schedule as an option: `group['lr'] = rates[step]`")
def _option_of_numpy():
    model = nn.Linear(3, 3)
    opt = optim.AdamW(model.parameters())
    rates = np.linspace(0.1, 0.01, CALLS)
    def f(x, step):
        for group in opt.param_groups:
            group["lr"] = rates[step]
        loss = model(x).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss
    return f, lambda i: (whet.ones(2, 3) * i, i)


@row("a write to such an array, or to a tensor over it")
def _writes():
    def f(a):
        a[0] = 1
        whet.from_numpy(a).add_(2)
        return a.sum()
    return f, lambda i: (np.arange(4.0) * i,)


@row("a NumPy replay buffer outside of the function, of any size")
def _buffer():
    o = Box(obs=np.random.rand(20000, 4).astype(np.float32))
    def f(idx): return whet.as_tensor(o.obs[idx]).mean()
    return f, lambda i: (np.array([i, 5]),)


@row("`t.numpy()` that is computed with or returned")
def _numpy():
    def f(x): return np.sort(x.numpy()), (x * 2).numpy().mean()
    return f, lambda i: (whet.ones(3) * i,)
