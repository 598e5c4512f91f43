"""State hidden in bound methods, records and gradients; streams that are replaced for a while."""
import collections
import contextlib
import contextvars
import copy
import dataclasses
import datetime
import decimal
import io
import os
import pathlib
import re
import sys
import time
import typing

import numpy as np
import whet
from whet import nn, optim
from whet.utils.checkpoint import checkpoint

from tests.traps.harness import Box, leaf, outcome, ramp, thrice, trap


# ---- state that hides ----------------------------------------------------------------------------
@trap
def bound_methods_lead_to_what_changes(trace):
    """array.sum, of an array that nothing else leads to, and the get of a context variable."""
    a, v = np.array([1.0, 2.0]), contextvars.ContextVar("v", default=2.0)
    total, get = a.sum, v.get
    by_variable = trace(lambda x: x * get())
    def f(x): return x * float(total())
    def calls(f):
        yield from thrice(lambda: (f(ramp(3)), by_variable(ramp(3))))
        a[0] = 10
        token = v.set(3.0)
        yield from thrice(lambda: (f(ramp(3)), by_variable(ramp(3))))
        v.reset(token)
    return f, calls


@trap
def records_that_are_containers(trace):
    """Dataclasses that are dicts, ordered dicts or lists, and one whose base has slots: what is in
    them is no field."""
    class Slotted: __slots__ = ("s",)
    @dataclasses.dataclass
    class Out(dict): a: typing.Any = None
    @dataclasses.dataclass
    class Ordered(collections.OrderedDict): k: float = 1.0
    @dataclasses.dataclass
    class Listed(list): k: float = 1.0
    @dataclasses.dataclass
    class Over(Slotted): k: float = 1.0
    def given(kind, *entries):
        o = kind()
        (o.update if isinstance(o, dict) else o.extend)(entries)
        return o
    ordered, listed = trace(lambda o: sum(o.values()) * o.k), trace(lambda o: sum(o) * o.k)
    over = trace(lambda x, o: x * o.s * o.k)
    def f(o): return o["x"] * len(o) * (o.a or 1)
    def calls(f):
        for k in (2.0, 3.0):
            for _ in range(3):
                o = Over()
                o.s = k
                x = ramp(3) * k
                yield (f(given(Out, ("x", x))), ordered(given(Ordered, ("x", x), ("s", k))),
                       listed(given(Listed, x, k)), over(ramp(3), o))
        yield from thrice(lambda: f(given(Out, ("x", ramp(3)), ("y", 1))))
    return f, calls


@trap
def a_named_tuple_is_more_than_its_fields():
    """An attribute of its class, a property, a method, and what lies beside the fields: numbers and
    a tensor that is written to."""
    class P(collections.namedtuple("P", "a")):
        scale = 2.0
        @property
        def b(self): return self.a * self.scale
        def c(self): return self.a + self.scale
    def f(x, p):
        p.there.add_(1)
        return x * p.b + p.c() * p.note + p.scale, p.there * 2
    def calls(f):
        for P.scale, note in ((2.0, 1.0), (3.0, 1.0), (3.0, 5.0)):
            for _ in range(3):
                p = P(2.0)
                p.note, p.there = note, ramp(3) * note
                yield f(ramp(3), p), p.there
    return f, calls


@trap
def records_with_slots_are_given():
    """Dataclasses with slots, made for each call."""
    @dataclasses.dataclass(slots=True)
    class C:
        x: typing.Any
        k: float = 1.0
    def f(c): return c.x * c.k
    def calls(f):
        for k in (1.0, 2.0, 1.0):
            for _ in range(3):
                yield f(C(ramp(2) * k, k))
    return f, calls


@trap
def a_gradient_has_a_history():
    """w.grad of a backward with create_graph=True, and without."""
    w = leaf(3)
    def f(x): return x * w.grad
    def calls(f):
        for graph in (False, True, False, True):
            w.grad = None
            (w ** 3).sum().backward(create_graph=graph)
            yield from thrice(lambda: (f(ramp(3)).requires_grad, f(ramp(3)).detach()))
        w.grad = None
    return f, calls


@trap
def one_gradient_is_two():
    """a.grad is b.grad, until they are two; and a gradient that is held by another name, until it
    is another."""
    a, b, o = leaf(3), leaf(3), Box(g=None)
    def f(x):
        with whet.no_grad():
            a.grad.mul_(2)
            b.grad.add_(x)
            return a.grad * 1, b.grad * 1, x if o.g is None else o.g * x
    def calls(f):
        for held in (False, True):
            for one in (False, True, False, True):
                a.grad, b.grad = ramp(3), ramp(3)
                if one:
                    b.grad = a.grad
                o.g = a.grad if held else None
                yield from thrice(lambda: f(ramp(3)))
            a.grad = ramp(3) * 5
            yield from thrice(lambda: f(ramp(3)))
        a.grad = b.data
        yield from thrice(lambda: (f(ramp(3)), b))
    return f, calls


@trap
def generators_are_made_and_copied_inside():
    """Generator(), clone_state() and deepcopy: each call's draws start where they did."""
    g = whet.Generator().manual_seed(3)
    def f(x): return (x + whet.randn(3, generator=whet.Generator()),
                      whet.rand(3, generator=g.clone_state()),
                      whet.rand(3, generator=copy.deepcopy(g)))
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        g.manual_seed(5)
        yield from thrice(lambda: f(ramp(3)))
        whet.randn(3, generator=g)
        yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def seeds_in_many_places():
    """Seeds inside a fork, of two generators, between draws, and a state that is put back twice."""
    g = whet.Generator()
    def f(x, seed):
        a = whet.rand(2)
        with whet.random.fork_rng():
            whet.manual_seed(seed)
            b = whet.randn(3)
        state = whet.get_rng_state()
        c = whet.rand(2)
        whet.set_rng_state(state)
        d = whet.rand(2)
        whet.set_rng_state(state)
        g.manual_seed(seed + 1)
        return (x + b, a, c - d, whet.rand(2, generator=g),
                whet.initial_seed() if seed == 3 else None)
    def calls(f):
        for seed in (1, 1, 1, 2, 2, 2, 1, 3, 3, 3):
            yield f(ramp(3), seed), whet.rand(1), whet.rand(1, generator=g)
        whet.manual_seed(4)
        for seed in (3, 3, 3, 1):
            yield f(ramp(3), seed), whet.rand(1), whet.rand(1, generator=g)
    return f, calls


@trap
def layers_are_frozen_in_turn():
    """requires_grad_ of parameters inside: one network learns, then the other; what is left is
    another flag."""
    g, d = nn.Linear(3, 3), nn.Linear(3, 1)
    both = [optim.SGD(m.parameters(), lr=0.1) for m in (g, d)]
    def f(x):
        d.requires_grad_(True)
        both[1].zero_grad()
        (d(x).mean() - d(g(x).detach()).mean()).backward()
        both[1].step()
        d.requires_grad_(False)
        both[0].zero_grad()
        loss = d(g(x)).mean()
        loss.backward()
        both[0].step()
        return loss
    def calls(f):
        for k in range(9):
            if k == 5:
                d.requires_grad_(True)
            yield (f(ramp(2, 3)), g.weight.detach().clone(), d.weight.detach().clone(),
                   d.weight.requires_grad)
    return f, calls


@trap
def a_flag_turns_round():
    """p.requires_grad_(not p.requires_grad)"""
    p = leaf(3)
    def f(x):
        p.requires_grad_(not p.requires_grad)
        return x * p
    def calls(f):
        for k in range(10):
            if k == 7:
                p.requires_grad_(True)
            y = f(ramp(3))
            yield y.requires_grad, y.detach(), p.requires_grad
    return f, calls


@trap
def a_class_says_it_is_another_ones():
    """__module__ may be anything."""
    class C: k = 2.0
    class D: k = 2.0
    C.__module__, D.__module__ = "collections", "whet.config"
    def f(x): return x * C.k + D.k
    def calls(f):
        for C.k in (2.0, 3.0):
            yield from thrice(lambda: f(ramp(3)))
        for D.k in (5.0, 6.0):
            yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def a_date_goes_by_the_place():
    """datetime.timestamp() of a time without a place goes by the machine's."""
    d = datetime.datetime(2020, 1, 1, 12)
    def f(x): return x + d.timestamp() % 86400
    def calls(f):
        before = os.environ.get("TZ")
        for zone in ("UTC", "Asia/Tokyo"):
            os.environ["TZ"] = zone
            time.tzset()
            yield from thrice(lambda: f(ramp(3, dtype=whet.float64)))
        os.environ.pop("TZ")
        os.environ.update({"TZ": before} if before else {})
        time.tzset()
    return f, calls


@trap
def values_of_the_library_are_settings():
    """Paths, dates, decimals and patterns among the attributes of what is reached; they are
    exchanged."""
    o = Box(path=pathlib.Path("/tmp/a"), day=datetime.date(2020, 1, 3), rate=decimal.Decimal("1.5"),
            words=re.compile("a+"))
    def f(x): return x * o.day.day * float(o.rate) * len(o.words.findall("aabaa"))
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        o.path, o.day = pathlib.Path("/tmp/b"), datetime.date(2020, 1, 9)
        yield from thrice(lambda: f(ramp(3)))
        o.rate, o.words = decimal.Decimal("2.5"), re.compile("a")
        yield from thrice(lambda: f(ramp(3)))
    return f, calls


# ---- streams that are put aside ------------------------------------------------------------------
@trap
def lines_are_hidden(trace):
    """redirect_stdout to a stream of the call's, to one from outside, and sys.stdout = ... by
    hand."""
    there, by_hand = io.StringIO(), io.StringIO()
    @trace
    def outside(x):
        with contextlib.redirect_stdout(there):
            print("put", x.shape)
        print("shown")
        return x * 2
    @trace
    def hand(x):
        before, sys.stdout = sys.stdout, by_hand
        try:
            print("put")
        finally:
            sys.stdout = before
        print("shown")
        return x * 2
    def f(x):
        with contextlib.redirect_stdout(io.StringIO()):
            print("hidden")
        print("shown")
        return x * 2
    def calls(f):
        for _ in range(5):
            yield f(ramp(3)), outside(ramp(3)), hand(ramp(3)), there.getvalue(), by_hand.getvalue()
    return f, calls


# ---- what training scripts do --------------------------------------------------------------------
@trap
def blocks_run_again_in_backward():
    """Checkpointed blocks in a step: dropout draws its numbers twice, batch norm and a counter
    count twice, a line is printed twice."""
    o = Box(n=0)
    class Count(nn.Module):
        def forward(self, x):
            o.n += 1
            print("run")
            return x.tanh()
    blocks = nn.ModuleList([nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3), nn.Dropout(0.3),
                                          Count()) for _ in range(2)])
    opt = optim.AdamW(blocks.parameters(), lr=0.1)
    def f(x):
        opt.zero_grad()
        for b in blocks:
            x = x + checkpoint(b, x, use_reentrant=False)
        loss = x.pow(2).mean()
        loss.backward()
        opt.step()
        return loss
    def calls(f):
        for k in range(8):
            if k == 5:
                blocks.eval()
            yield (f(ramp(4, 3)), blocks[0][0].weight.detach().clone(),
                   blocks[1][1].running_mean.clone(), o.n, whet.rand(1))
    return f, calls


@trap
def a_gradient_is_penalised():
    """x = (...).requires_grad_(), a gradient with a graph, its norm, and backward through that; the
    result's graph is used up then."""
    d = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    opt = optim.Adam(d.parameters(), lr=0.1)
    def f(a, b):
        e = whet.rand(len(a), 1)
        x = (e * a + (1 - e) * b).requires_grad_(True)
        g, = whet.autograd.grad(d(x).sum(), x, create_graph=True)
        loss = d(a).mean() - d(b).mean() + ((g.norm(dim=1) - 1) ** 2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss
    def calls(f):
        for _ in range(6):
            loss = f(ramp(2, 3), -ramp(2, 3))
            yield loss.detach(), d[0].weight.detach().clone(), outcome(lambda: loss.backward())[:2]
    return f, calls


@trap
def tensors_are_made_of_numbers_that_vary():
    """full, tensor, new_full of counters and rates: large, negative, not finite, too large for
    float32, of other types."""
    o = Box(t=10, v=0.5)
    def f(x):
        o.t -= 1
        o.v *= -1.5
        return (x * whet.full((3,), o.t), whet.tensor(o.t), whet.full((2, 2), o.v),
                whet.tensor(o.v), x.new_full((2,), o.t), whet.full((0,), o.v),
                whet.full((3,), o.t, dtype=whet.float32), whet.full((), o.v, dtype=whet.float64),
                whet.tensor(o.v, dtype=whet.float64))
    def calls(f):
        for _ in range(8):
            yield f(ramp(3))
        for o.t, o.v in ((0, -0.0), (5, float("nan")), (2 ** 39, float("inf")), (3, 1e300),
                         (1, 5e-324), (1, 1.0)):
            yield outcome(lambda: f(ramp(3)))
    return f, calls
