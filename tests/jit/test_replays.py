"""What replays and what does not, a small program for each; `docs/replays.md` has the table of
them.

    python -m tests.jit.test_replays        writes the table
"""
import collections
import copy
import dataclasses
import functools
import itertools
import pathlib
import queue
import random
import threading
import types
import warnings

import numpy as np
import pytest
import whet
from whet import nn, optim

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "replays.md"
BEGIN, END = "<!-- the table is written by tests/jit/test_replays.py -->\n", "<!-- its end -->\n"
# of each program; the last of them must be replayed, or be eager with a warning
CALLS, LATE = 24, 8
ROWS: dict = {}
Box = types.SimpleNamespace


def row(what, refused=None):
    """Register a program: it gives the function, and the arguments of call i. `refused`: a part
    of the warning where it runs eagerly."""
    def register(build):
        ROWS[what] = build, refused
        return build
    return register


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


@row("a number of NumPy's, another at each call, such as an entry of a schedule")
def _number_of_numpy():
    rates = np.linspace(1, 0.1, CALLS)
    def f(x, rate): return x * rate, (1 - rate) / 2
    return f, lambda i: (whet.ones(3) * i, rates[i])


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


def _schedule(make):
    def build():
        model = nn.Linear(2, 1)
        opt = optim.AdamW(model.parameters(), lr=0.1)
        schedule = make(opt)
        def f(x):
            loss = model(x).sum()
            opt.zero_grad()
            loss.backward()
            opt.step()
            schedule.step()
            return loss.item()
        return f, lambda i: (whet.ones(3, 2) * i,)
    return build


for _name, _make in {
        "StepLR": lambda o: optim.lr_scheduler.StepLR(o, 30),
        "MultiStepLR": lambda o: optim.lr_scheduler.MultiStepLR(o, [2, 6]),
        "LambdaLR": lambda o: optim.lr_scheduler.LambdaLR(o, lambda n: min(1.0, n / 10)),
        "LinearLR": lambda o: optim.lr_scheduler.LinearLR(o),
        "ExponentialLR": lambda o: optim.lr_scheduler.ExponentialLR(o, 0.9),
        "PolynomialLR": lambda o: optim.lr_scheduler.PolynomialLR(o, 99),
        "CosineAnnealingLR": lambda o: optim.lr_scheduler.CosineAnnealingLR(o, 50),
        "CosineAnnealingWarmRestarts": lambda o: optim.lr_scheduler.CosineAnnealingWarmRestarts(
            o, 40), "CyclicLR": lambda o: optim.lr_scheduler.CyclicLR(o, 0.01, 0.1, 40),
        "OneCycleLR": lambda o: optim.lr_scheduler.OneCycleLR(o, 0.1, 99)}.items():
    row(f"`{_name}` stepped inside, with the optimizer")(_schedule(_make))


@row("a loss that is appended to a list or a deque, with or without a `maxlen`")
def _deque():
    o = Box(all=[], last=collections.deque(maxlen=5))
    def f(x):
        o.all.append(x.sum().item())
        o.last.append(x.sum().item())
        return x * 2
    return f, lambda i: (whet.ones(3) * i,)


@row("a list that is only appended to, at some calls")
def _now_and_then():
    o, log = Box(step=0), []
    def f(x):
        o.step += 1
        if o.step % 5 == 0:
            log.append(x.sum().item())
        return x * 2
    return f, lambda i: (whet.ones(3) * i,)


@row("metrics in a dict, a tensor or a view of one as an attribute")
def _metrics():
    o, m = Box(last=None), {}
    def f(x):
        m["loss"], m["n"] = x.sum().item(), m.get("n", 0) + 1
        o.last = x[0]
        return x * 2
    return f, lambda i: (whet.ones(3) * i,)


@row("what it computed, in attributes that it only sets, of any size")
def _kept():
    class Layer:
        last = losses = None
    o = Layer()
    def f(x):
        o.last, o.losses = x[0], {"loss": x.sum(), "all": x * 3}
        return x * 2
    return f, lambda i: (whet.ones(3 + i % 7) * i,)


@row("attributes that it sets before it reads them, a dict that it fills among them, of any size")
def _handed_on():
    class Layer:
        def step(self, x):
            self.losses = {}
            self.encode(x)
            self.losses["norm"] = self.hidden.norm()
            return self.losses["norm"] * x

        def encode(self, x):
            self.hidden = x * 3
    return Layer().step, lambda i: (whet.ones(3 + i % 7) * i,)


@row("a hidden state `(h, c)` that is laid anew")
def _hidden():
    o = Box(state=(whet.zeros(2), whet.zeros(2)))
    def f(x):
        h, c = o.state
        o.state = ((x + h).tanh(), c * 0.5 + x)
        return o.state[0] * 1
    return f, lambda i: (whet.ones(2) * i,)


@row("a list or a dict of tensors that is laid anew")
def _memories():
    o = Box(memories=[whet.zeros(2), whet.zeros(2)], last={"mean": whet.zeros(2)})
    def f(x):
        o.memories = [x + m * 0.5 for m in o.memories]
        o.last = {"mean": o.last["mean"] + o.memories[1]}
        return o.last["mean"] * 1
    return f, lambda i: (whet.ones(2) * i,)


@row("a cache that is written to at a position, a tensor of one element")
def _cache():
    room = whet.zeros(64, 2)
    def f(x, at):
        room[at] = x
        return room.sum()
    return f, lambda i: (whet.ones(2), whet.tensor([i]))


@row("a cache that is written to at a position, a number of Python's")
def _position():
    room = whet.zeros(64, 2)
    def f(x, at):
        room[at] = x
        return room.sum()
    return f, lambda i: (whet.ones(2), i)


@row("a cache that is written to, and read up to a position, a number of Python's")
def _start_pos():
    keys = whet.zeros(1, 2, 64, 4)
    def f(x, start_pos):
        k = x.expand(1, 2, 1, 4)
        keys[:, :, start_pos:start_pos + 1] = k
        seen = keys[:, :, :start_pos + 1]
        return (k @ seen.mT).softmax(-1) @ seen
    return f, lambda i: (whet.full((4,), 0.1 * i), i)


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


@row("a place that a tensor of one number says: `bank[t]`, `bank[t] = x`, `bank[:t]`")
def _at_a_tensor():
    bank = whet.ones(32, 3)
    def f(x, t):
        bank[t] = x
        return bank[t] + bank[:t].sum(0)
    return f, lambda i: (whet.ones(3) * i, whet.tensor(i))


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
        for row in (x * 2).numpy()[::-1]:
            last = 0.5 * last + row[0]
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
def _gathered():
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


def fate(what):
    """(were the last calls of a program replayed, what the warnings said)."""
    from tests.loops.harness import untimed
    build, _ = ROWS[what]
    whet.manual_seed(0), np.random.seed(0), random.seed(0)
    eager, arguments = build()
    whet.manual_seed(0), np.random.seed(0), random.seed(0)
    t = whet.jit.trace(build()[0], verify="first")
    with untimed(), warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        for i in range(CALLS):
            if i == CALLS - LATE:
                before = t._policy.summary().replayed
            generators = random.getstate(), np.random.get_state()
            want = eager(*arguments(i))
            random.setstate(generators[0]), np.random.set_state(generators[1])
            got = t(*arguments(i))
            assert repr(want) == repr(got), (what, i)
    said = [str(w.message) for w in warned if issubclass(w.category, whet.jit.TraceWarning)]
    return t._policy.summary().replayed - before == LATE, said


@pytest.mark.parametrize("what", ROWS)
def test_a_row_of_the_table(what):
    replayed, said = fate(what)
    refused = ROWS[what][1]
    assert replayed == (refused is None)
    if refused:
        assert refused in said[0] and ".py:" in said[0]


def table():
    """The table, from the programs above."""
    lines = ["| what | replays |", "|---|---|"]
    lines += [
        f"| {what} | {'yes' if refused is None else 'no'} |" for what, (_, refused) in ROWS.items()]
    return "\n".join(lines) + "\n"


def test_the_page_has_this_table():
    text = PAGE.read_text()
    assert text[text.index(BEGIN) + len(BEGIN):text.index(END)] == table()


if __name__ == "__main__":
    text = PAGE.read_text()
    PAGE.write_text(text[:text.index(BEGIN) + len(BEGIN)] + table() + text[text.index(END):])
