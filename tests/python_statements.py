"""What tests/fuzz_python.py draws from: forms of Python's statements, and the module around them.

Slots are those of tests/python_forms.py, and {set:i}, a new name for an int, {name:i}, a name that
is one of the function, and {block}, statements.
"""

STATEMENTS = """
{set:i}

{set:f}

{set:b}

{set:z}

{set:s}

{set:l}

{set:d}

{set:o}

{set:t}

{set:u}

{set:a}

{name:i} += {i}

{name:f} *= {n}

{name:f} -= {z}

{name:t} = {name:t} * {n}

{name:i}, {name:i} = {i}, {i}

{name:i}, {name:f} = {i}, {f}

{name:f} = {name:i} = {i}
{name:f} *= 1.0

{name:l}.append({n})

{name:l}.insert(0, {n})

{name:l}.extend([{n}, {n}])

{name:l}.sort()

{name:l}[0] = {n}

{name:l}[-1] += {n}

{name:d}["x"] = {n}

{name:d}["x"] += {n}

{name:d}.update(x={n}, z={n})

{name:d}.setdefault("w", {n})

{name:o}.x = {f}

{name:o}.n += 1

setattr({name:o}, "n", {i})

if {b}:
    {block}

if {n}:
    {block}

if {b}:
    {block}
else:
    {block}

if {n} > {n}:
    {block}
else:
    {block}

if {u}.item() > {n}:
    {block}

if {z} > {n}:
    {block}
else:
    {block}

if {s} == {s}:
    {block}

for k in range({i} % 3):
    {block}

for k in range(2):
    {block}

for q in {l}:
    {name:f} = {name:f} + q

for q in {l}:
    {name:t} = {name:t} + q

for k, q in enumerate({l}):
    {name:t} = {name:t} * 0.5 + q * k

for q in {d}.values():
    {name:t} = {name:t} + q

step = {i}
while step > 2:
    step //= 2
    {name:t} = {name:t} * step

try:
    {block}
except (ValueError, ZeroDivisionError, OverflowError):
    {block}

try:
    {name:f} = {n} / {n}
except ZeroDivisionError:
    {name:f} = {f}

try:
    {block}
    if {b}:
        raise KeyError({n})
except KeyError as e:
    {name:f} = e.args[0] * 1.0
finally:
    {block}

with whet.no_grad():
    {block}

with rated(plain, {n}) as held.rate:
    {block}

with contextlib.suppress(ZeroDivisionError):
    state.total = {n} / {n}
    {block}

if {b}:
    raise LookupError({s})

{name:t} = {name:t}.clone()
{name:t}[{t} > {f}] = {n}

{name:t} = {name:t}.clone()
{name:t}[{name:t} > {f}] *= {n}

held.chosen = {t}[{t} > {f}]
{name:f} = held.chosen.numel() + {n}

state.count = {t}[{t} > {f}].shape[0]

recent.append({n})

recent.append({v})

recent += [{n}, {n}]

log += [{n}]

log.append({n}), log.append({n})

adds = log.append
{name:i} = {i}
adds({n})

held.walk = walked({l})
{name:f} = next(held.walk) * 1.0

{name:f} = next(held.walk, 1.0) * 1.0

turn = 0
def turned():
    nonlocal turn
    turn += {n}
    return turn
{name:f} = turned() + turned() * 0.5

{name:t} = eased({t}, {n})

model.steps += 1

model.rate = {f}

model.names["a"] = {n}

plain.steps = {n}

plain.rate *= {n}

plain.names = {d}

plain.names["b"] = {n}

state.total += {n}

state.total = {n}

state.last = {v}

held.kept = {t}

held.kept = {v}

held.parts = {{}}
held.parts["a"] = {t}
held.parts["n"] = {n}

held.parts = [{t}, {n}]

held.pair = {t}, {n}
{name:t} = held.pair[0] + {name:t}

held.kept = {t}
{name:t} = {name:t} * held.kept

held.encode({t})
{name:t} = {name:t} + held.code

held.encode({t})
if {b}:
    {block}
{name:t} = held.decode() - {name:t}

if {b}:
    held.code = {t}

if {b}:
    del held.kept
    {block}

{name:t} = {name:t} + held.code.sum() if whet.is_tensor(held.code) else {name:t}

{name:f} = 1.0 if hasattr(held, "kept") else 2.0

{name:i} = {{True: 0, False: 1}}[held.kept is None]

state.seen = [*state.seen[-2:], {n}]

state.count += 1

log.append({n})

log.append({v})

log[-1:] = [{n}]

table["k"] = {n}

table["k"] = table.get("k", 0) + {n}

seen.add({n})

assert {n} != 1234567, f"{{{name:n}}}"

if {n} == 1234567:
    raise ValueError({s})

def inner(q, by={n}):
    return q * by + {n}
{name:f} = inner({f})

def inner():
    return {n}
{name:f} = inner() * 1.0

{name:i} = 0 if (step := {i}) > 2 else step

match {i}:
    case 0 | 1:
        {block}
    case _:
        {block}

state.total = float(state.total) * 0.5 + {n}

del log[:-3]

{name:f} = state.total * 1.0

{name:f} = total_of({n}, {n})

{name:f} = total_of(*{l})

{name:f} = total_of(**{{"p": {n}, "q": {n}}})
"""

HEAD = """
import bisect
import contextlib
import copy
import dataclasses
import functools
import heapq
import itertools
import json
import math
import numbers
import operator
import statistics
import struct
import types
from collections import Counter, defaultdict, deque

import numpy as np

import whet
import whet.nn.functional as F


@dataclasses.dataclass
class Options:
    n: int
    x: float
    on: bool

    @property
    def doubled(self):
        return self.n * 2

    def plus(self, k):
        return self.n + k

    def scaled(self, by):
        return Options(self.n, self.x * by, not self.on)

    def times(self, t):
        return t * self.x if self.on else t + self.n


class State:
    def __init__(self):
        self.total, self.last, self.seen, self.count = 0, None, [], 0


def twice(k):
    return k + k


def chosen(k):
    return {0: 5, 1: 7}.get(k, k)


@functools.lru_cache
def remembered(k):
    return k * 3


def counted(k):
    for j in range(k % 3):
        yield j + k


def scaled(t, by):
    return t * by


def total_of(*numbers, **named):
    return float(sum(numbers) + sum(named.values()))


def walked(numbers):
    for q in numbers:
        recent.append(q)
        yield q * 2


@contextlib.contextmanager
def rated(owner, rate):
    before, owner.rate = owner.rate, rate
    try:
        yield rate
    finally:
        owner.rate = before


@whet.jit.trace
def eased(t, by):
    plain.names["eased"] = by
    return t * 0.5 + by


whet.manual_seed(0)
layer = whet.nn.Linear(4, 4)
class Model(whet.nn.Module):
    def __init__(self):
        super().__init__()
        self.rate, self.steps, self.names = 0.5, 2, {"a": 1}
        self.inner = whet.nn.Linear(4, 4)
        self.register_buffer("mean", whet.zeros(4))


class Plain:
    def __init__(self):
        self.rate, self.steps, self.names = 0.5, 2, {"a": 1}


class Held(whet.nn.Module):
    code = None

    def __init__(self):
        super().__init__()
        self.parts, self.kept, self.walk, self.chosen = None, None, iter(()), whet.ones(2)
        self.linear = whet.nn.Linear(4, 4)

    def encode(self, t):
        self.code = self.linear(t)

    def decode(self):
        return self.code * 2


model, plain, held = Model(), Plain(), Held()
state, log, table, seen, recent = State(), [], {}, set(), deque(maxlen=3)
K, EPS, W = 2, 0.5, whet.tensor([0.5, -1.0, 2.0, 0.0])
"""

# what happens between two calls, beside them: in the module
BETWEEN = """
model.rate = 0.25
model.steps = 5
model.eval()
model.mean.add_(1)
model.inner.weight.data.mul_(0.5)
plain.rate = 3.0
plain.rate = 3
plain.steps += 1
plain.names = {"a": 2, "c": 3}
plain = Plain()
held = Held()
held.kept = None
held.kept = whet.ones(2)
held.code = whet.ones(4)
held.parts = {"b": 1}
vars(held).pop("code", None)
vars(held).pop("kept", None)
state.total = 5
state.total = 0.5
state.last = None
state.seen.append(3)
state.extra = 1
state = State()
log.clear()
log.append(7)
recent.clear()
recent.extend([1, 2.0, 3, 4])
held.walk = walked([5, 6])
held.chosen = held.chosen[:1]
eased = lambda t, by: t + by
table["k"] = 3
table.clear()
table = {"k": 2}
seen.clear()
seen.add(1)
K = 3
K = 2
K = 1.5
K = True
EPS = 1.5
EPS = 0.25
EPS = 1
W.data.mul_(2)
W.data[0] = 3.0
W = whet.tensor([2.0, 0.0, 1.0, -1.0])
W = W.double()
W.requires_grad_()
layer.weight.data.mul_(0.5)
layer.bias.requires_grad_(False)
layer.eval()
layer = whet.nn.Linear(4, 4)
layer.register_forward_hook(lambda m, given, out: out * 2)
layer.forward = lambda t: t * 3
Options.plus = lambda self, k: self.n - k
Options.extra = 1
Options.doubled = property(lambda self: self.n * 3)
twice = lambda k: k * 3
chosen = twice
scaled.__defaults__ = (2,)
twice.__code__ = (lambda k: k * 4).__code__
def total_of(*numbers, **named): return 1.0
def counted(k): yield 4.0
remembered.cache_clear()
whet.manual_seed(3)
F = types.SimpleNamespace(leaky_relu=lambda t, e: t, dropout=lambda t, *a, **k: t)
np = types.SimpleNamespace(**{**vars(np), "sum": lambda a: np.float64(1.0)})
"""
