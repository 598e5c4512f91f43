"""Programs that are not replayed: they run eagerly, with a warning."""
import itertools

import whet
from whet import nn

from .row import Box, row


@row("a text that another call's numbers are in, as an attribute", refused="is 'loss=")
def _text():
    o = Box(said="")
    def f(x):
        o.said = f"loss={x.sum().item():.3f}"
        return x * 2
    return f, lambda i: (whet.ones(3) * i,)


@row("a list that is read and appended to", refused="holds more, or less, than it did")
def _both():
    seen: list = []
    def f(x):
        seen.append(x.sum().item())
        return x * len(seen)
    return f, lambda i: (whet.ones(3) * i,)


@row("a tensor's memory that NumPy writes to", refused="writes to a tensor's memory through NumPy")
def _fill():
    def f(x):
        x.numpy().fill(3)
        return x * 2
    return f, lambda i: (whet.ones(3) * i,)


@row("`weight.data = ...`")
def _data():
    w = whet.ones(3)
    def f(x):
        w.data = w.data * 0.9 + x
        return w * 2
    return f, lambda i: (whet.ones(3) * i,)


@row("`self.weight = nn.Parameter(...)` in the step")
def _new_parameter():
    model = nn.Linear(3, 1, bias=False)
    def f(x):
        model.weight = nn.Parameter(model.weight * 0.9 + x)
        loss = model(x).sum()
        loss.backward()
        return loss, model.weight.grad
    return f, lambda i: (whet.ones(3) * i,)


@row("an iterator that moves on", refused="moves on when it is read")
def _iterator():
    numbers = itertools.count()
    def f(x): return x * next(numbers)
    return f, lambda i: (whet.ones(3),)
