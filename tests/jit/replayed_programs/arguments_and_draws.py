"""Lists and objects among the arguments, random numbers, classes and copies that are made."""
import collections
import copy
import dataclasses
import functools
import itertools
import queue
import random
import threading

import numpy as np
import whet
from whet import nn

from .row import Box, row


@row("numbers in a list, a tuple or a dict among the arguments, others at each call")
def _list():
    def f(x, rewards, rates, pair): return x * sum(rewards) * rates["lr"] + pair[1]
    return f, lambda i: (whet.ones(2), [i * 0.5, 1.0], {"lr": 0.1 * i}, (i, 2.5 * i))


@row("a module whose `__init__` or `reset` draws from `numpy.random`, made outside")
def _drawn():
    class Scale(nn.Module):
        def __init__(self):
            super().__init__()
            self.reset()
        def reset(self): self.by = nn.Parameter(whet.from_numpy(np.random.randn(3)))
        def forward(self, x): return x * self.by
    scale = Scale()
    return scale.__call__, lambda i: (whet.ones(3) * i,)


@row("numbers and arrays from `random`, `numpy.random` or a generator of theirs")
def _draws():
    own = np.random.default_rng(3)
    def f(x):
        noise = own.normal(0, 0.1, size=3) + np.random.rand(3)
        return x + whet.from_numpy(noise) * random.gauss(0, 1) if random.random() < 0.5 else -x
    return f, lambda i: (whet.ones(3) * i,)


@row("a buffer of NumPy arrays that is drawn from by a method called as a function of theirs is")
def _buffer():
    class Buffer:
        def __init__(self): self.rows, self.seed = np.ones((9, 3), "f4"), 3
        def sample(self):
            return whet.as_tensor(self.rows[np.random.randint(0, 9, size=4)]) * self.seed
    kept = Buffer()
    def f(x): return kept.sample() + x
    return f, lambda i: (whet.ones(3) * i,)


@row("a step of a trainer that holds locks, queues, files and environments, which the step leaves")
def _trainer():
    class Trainer:
        def __init__(self):
            self.model, self.lock, self.asked = nn.Linear(3, 3), threading.Lock(), queue.Queue()
            self.seen, self.past = (n for n in range(3)), [object() for _ in range(9)]
        def step(self, x): return self.model(x).sum()
    trainer = Trainer()
    def inputs(i):
        trainer.past.append(object())
        trainer.asked.put(i)
        return (whet.ones(3) * i,)
    return trainer.step, inputs


@row("`nn.EmbeddingBag` over bags that begin at other places each time")
def _bags():
    table = nn.EmbeddingBag(20, 4)
    def f(words, offsets): return table(words, offsets)
    return f, lambda i: (whet.arange(9) + i % 7, whet.tensor([0, i % 3, 3 + i % 5]))


@row("rows at places that `random.sample` and `choices` give, as lists of numbers")
def _sampled_places():
    rows, kept = whet.rand(30, 3), [4, 9, 2, 7]
    def f(x):
        places = [i + 1 for i in random.sample(range(20), 4)]
        return x + rows[places].sum(0) + rows[random.choices(kept, k=3)].mean(0)
    return f, lambda i: (whet.ones(3) * i,)


@row("what these choose among objects: `random.sample`, `shuffle`",
     refused="it calls Random.sample")
def _samples():
    kept = [whet.ones(3), whet.zeros(3), whet.ones(3) * 2]
    def f(x): return x + random.sample(kept, 2)[0]
    return f, lambda i: (whet.ones(3) * i,)


@row("an object of a class of one's own as the result, with tensors and numbers in it")
def _object():
    class Output:
        def __init__(self, loss, parts): self.loss, self.parts = loss, parts
        def __repr__(self): return repr(vars(self))
    def f(x): return Output(x.sum(), {"mean": x.mean().item(), "y": x * 2})
    return f, lambda i: (whet.ones(3) * i,)


@row("a distribution that is kept in an attribute, or given back")
def _distribution():
    class Encoder(nn.Module):
        def forward(self, x): return x + 1

    model = Encoder()
    def f(x):
        model.posterior = whet.distributions.Normal(x, model(x))
        return whet.distributions.Categorical(logits=x), model.posterior.log_prob(x)
    return f, lambda i: (whet.ones(3) * i,)


@row("an object of a class of one's own among the arguments, which holds data, another each time")
def _graph():
    class Graph:
        def __init__(self, x, edges):
            self.x, self.edges = x, edges

    def f(graph):
        graph.sums = whet.zeros(4, 3).index_add(0, graph.edges[1], graph.x[graph.edges[0]])
        return graph.sums.sum()
    return f, lambda i: (Graph(whet.full((4, 3), float(i)), whet.tensor([[0, 1, 2], [1, 2, 3]])),)


@row("a cache of keys and values among the arguments, which grows at each call")
def _growing_cache():
    class Cache:
        def __init__(self, t): self.keys, self.values = [t], [t]
        def update(self, t):
            self.keys[0] = whet.cat([self.keys[0], t])
            self.values[0] = whet.cat([self.values[0], t * 2])
            return self.keys[0].sum() + self.values[0].mean()
    caches = itertools.cycle([Cache(whet.ones(1, 3)), Cache(whet.ones(1, 3))])
    def f(cache, x): return cache.update(x)
    return f, lambda i: (next(caches), whet.ones(1, 3) * i)


@row("`copy.deepcopy(model)` in the step")
def _copied():
    model = nn.Linear(3, 1)
    def f(x):
        fast = copy.deepcopy(model)
        loss = fast(x).sum()
        loss.backward()
        with whet.no_grad():
            fast.weight -= fast.weight.grad
            return fast(x)
    return f, lambda i: (whet.ones(3) * i,)


@row("a class of named tuples, or a dataclass, that the function makes, and does not give back")
def _classes_of_fields():
    def f(x):
        made = dataclasses.make_dataclass("Made", ["x"])(x * 2)
        return sum(collections.namedtuple("Outputs", "shallow deep")(made.x, x.exp()))
    return f, lambda i: (whet.ones(3) * i,)


@row("a method that `functools.partialmethod` makes")
def _partial_method():
    class Scaled:
        def __init__(self): self.k = 2.0
        def scale(self, x, by): return x * by * self.k
        double = functools.partialmethod(scale, 2.0)
    o = Scaled()
    return lambda x: o.double(x), lambda i: (whet.ones(3) * i,)


@row("a replay buffer that fills: `np.random.randint(0, self.pos, size=n)`")
def _filling():
    o, memory = Box(pos=1), np.random.rand(100, 3).astype(np.float32)
    def f(x):
        x = x + whet.as_tensor(memory[np.random.randint(0, o.pos, size=2)])
        o.pos += 1
        return x
    return f, lambda i: (whet.ones(2, 3) * i,)


@row("noise as large as a tensor: `np.random.normal(size=x.shape)`")
def _noise():
    def f(x):
        return x + whet.from_numpy(np.random.normal(0, 0.1, size=x.shape)).float()
    return f, lambda i: (whet.ones(3, 2) * i,)


@row("a replay buffer of tensors that fills: `whet.randint(0, self.size, (n,))`")
def _filling_tensors():
    o = Box(rows=whet.zeros(64, 3), size=0)
    def f(x):
        o.rows[o.size] = x
        o.size += 1
        return o.rows[whet.randint(0, o.size, (4,))].sum()
    def arguments(i):
        whet.manual_seed(i)                  # as eager drew
        return whet.ones(3) * i,
    return f, arguments
