"""State that a step changes: schedules, histories, attributes, caches."""
import collections
import dataclasses
import datetime
import json
import random
import sys
import threading
import time
from collections import deque

import whet
from whet import nn, optim

from .row import Box, row


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


@row("a hidden state `(h, c)` that each call replaces")
def _hidden():
    o = Box(state=(whet.zeros(2), whet.zeros(2)))
    def f(x):
        h, c = o.state
        o.state = ((x + h).tanh(), c * 0.5 + x)
        return o.state[0] * 1
    return f, lambda i: (whet.ones(2) * i,)


@row("a list or a dict of tensors that each call replaces")
def _memories():
    o = Box(memories=[whet.zeros(2), whet.zeros(2)], last={"mean": whet.zeros(2)})
    def f(x):
        o.memories = [x + m * 0.5 for m in o.memories]
        o.last = {"mean": o.last["mean"] + o.memories[1]}
        return o.last["mean"] * 1
    return f, lambda i: (whet.ones(2) * i,)


@row("keys and values that grow at each call, as attributes, in a tuple, a list or a dict")
def _growing():
    o = Box(rows=whet.zeros(1, 2), pair=(whet.zeros(1, 2), whet.ones(1, 2)),
            named={"k": whet.zeros(1, 2)})
    def f(x):
        o.rows = whet.cat([o.rows, x])
        o.pair = (whet.cat([o.pair[0], x]), whet.cat([o.pair[1], x * 2]))
        o.named = {"k": whet.cat([o.named["k"], x])}
        return o.rows.mean(0) + o.pair[1].sum(0) * o.named["k"].max()
    return f, lambda i: (whet.ones(1, 2) * i,)


@row("a list, a dict or an object of tensors that some calls replace, and others write to")
def _replaced():
    class Seen:
        def __init__(self): self.rows, self.n = whet.zeros(1, 2), 0
        def add(self, x):
            self.n += 1
            self.rows = self.rows * 0.5 + x * self.n
    o = Box(sums=[whet.zeros(1, 2)], named={"k": whet.zeros(1, 2)}, seen=Seen())
    def f(x, anew):
        if anew:
            o.sums, o.named, o.seen = [whet.zeros(1, 2)], {"k": whet.ones(1, 2)}, Seen()
        o.sums[0] = o.sums[0] + x
        o.named["k"] = o.named["k"] * 0.5 + x
        o.seen.add(x)
        return o.sums[0] * o.named["k"] + o.seen.rows
    return f, lambda i: (whet.ones(1, 2) * i, i % 4 == 3)


def _cache_written_at(position):
    room = whet.zeros(64, 2)
    def f(x, at):
        room[at] = x
        return room.sum()
    return f, lambda i: (whet.ones(2), position(i))


@row("a cache that is written to at a position, a tensor of one element")
def _cache():
    return _cache_written_at(lambda i: whet.tensor([i]))


@row("a cache that is written to at a position, a Python number")
def _position():
    return _cache_written_at(lambda i: i)


@row("a cache that is written to, and read up to a position, a Python number")
def _start_pos():
    keys = whet.zeros(1, 2, 64, 4)
    def f(x, start_pos):
        k = x.expand(1, 2, 1, 4)
        keys[:, :, start_pos:start_pos + 1] = k
        seen = keys[:, :, :start_pos + 1]
        return (k @ seen.mT).softmax(-1) @ seen
    return f, lambda i: (whet.full((4,), 0.1 * i), i)


@row("a cache that is written to, and read up to a position, an attribute that counts")
def _counting_attribute():
    o = Box(keys=whet.zeros(64, 4), seen=0)
    def f(x):
        o.keys[o.seen] = x
        o.seen += 1
        kept = o.keys[:o.seen]
        return (kept @ x).softmax(0) @ kept
    return f, lambda i: (whet.full((4,), 0.1 * i),)


@row("a ring buffer: a position in an attribute, which is 0 again at the end")
def _ring():
    o = Box(rows=whet.zeros(8, 4), at=0, filled=0)
    def f(x):
        o.rows[o.at] = x
        o.at = (o.at + 1) % 8
        o.filled = min(o.filled + 1, 8)
        return o.rows[:o.filled].mean(0)
    return f, lambda i: (whet.full((4,), 0.1 * i),)


@row("a schedule in a tensor, of which an attribute says the entry")
def _schedule():
    o = Box(rates=whet.linspace(1, 0, 64), step=0)
    def f(x):
        now, then = o.rates[o.step], o.rates[o.step + 1]
        o.step += 1
        return x + (then - now) * x.tanh()
    return f, lambda i: (whet.full((4,), 0.1 * i),)


@row("a counter beside code that the call does not reach, which waits, saves JSON or makes a deque")
def _unreached():
    o = Box(n=0, ends=False, recent=collections.deque(maxlen=4))
    def save():
        o.recent = deque(o.recent, maxlen=o.n)
        time.sleep(o.n)
        with open("state.json", "w") as file:
            json.dump({"n": o.n, "recent": list(o.recent)}, file)
    def f(x):
        o.n += 1
        if o.ends:
            save()
        return x / o.n
    return f, lambda i: (whet.ones(2) * i,)


@row("layers by number, `getattr(self, f'layer{i}')`, in a trainer that holds a lock and a file")
def _made_names():
    class Layers(nn.Module):
        def __init__(self):
            super().__init__()
            self.rng = random.Random(0)
            for i in range(2):
                setattr(self, f"layer{i}", nn.Linear(2, 2))
        def forward(self, x):
            for i in range(2):
                x = getattr(self, f"layer{i}")(x)
            return x
    class Trainer:
        def __init__(self):
            self.model, self.steps = Layers(), 0
            self.lock, self.log = threading.Lock(), sys.stderr
        def step(self, x):
            self.steps += 1
            return self.model(x) / self.steps
    return Trainer().step, lambda i: (whet.ones(2, 2) * i,)


@row("a counter under a lock, which the call takes and gives back: `with self.lock`")
def _under_a_lock():
    class Counts:
        def __init__(self): self.lock, self.n = threading.Lock(), 0
        def step(self, x):
            with self.lock:
                self.n += 1
                return x * self.n
    return Counts().step, lambda i: (whet.ones(2) * i,)


@row("a named tuple or a frozen dataclass that each call replaces: `self.state = ...`")
def _functional_state():
    @dataclasses.dataclass(frozen=True)
    class State:
        weights: dict
        step: int
    o = Box(state=State({"w": whet.ones(2)}, 0))
    def f(x):
        held = {k: w * 0.5 + x for k, w in o.state.weights.items()}
        o.state = dataclasses.replace(o.state, weights=held, step=o.state.step + 1)
        return o.state.weights["w"] * o.state.step
    return f, lambda i: (whet.ones(2) * i,)


@row("a span of time that the program holds: `self.period.total_seconds()`")
def _span_of_time():
    o = Box(period=datetime.timedelta(milliseconds=1500))
    return lambda x: x * o.period.total_seconds(), lambda i: (whet.full((3,), 0.1 * i),)
