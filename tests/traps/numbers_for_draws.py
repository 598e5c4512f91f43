"""Draws that go by numbers that vary, and other things that steps of well-known scripts do."""
import copy
import random

import numpy as np
import whet
import whet.nn.functional as F
from whet import nn, optim
from whet.nn.utils import parametrize

from tests.traps.harness import Box, outcome, ramp, thrice, trap


@trap
def a_buffer_is_filled_and_drawn_from():
    """The place of the newest entry bounds the draw; then the buffer is full, and begins anew."""
    class Buffer:
        def __init__(self, size):
            self.memory, self.pos, self.full = np.zeros((size, 2), np.float32), 0, False
        def add(self, x):
            self.memory[self.pos] = x
            self.pos += 1
            self.full |= self.pos == len(self.memory)
            self.pos %= len(self.memory)
        def sample(self, n):
            bound = len(self.memory) if self.full else self.pos
            return whet.as_tensor(self.memory[np.random.randint(0, bound, size=n)])
    buffer = Buffer(12)
    def f(x): return x + buffer.sample(3), random.randint(0, buffer.pos), random.random()
    def calls(f):
        np.random.seed(5)
        random.seed(5)
        for i in range(20):
            buffer.add(i)
            yield f(ramp(3, 2))
        buffer.full, buffer.pos = False, 0
        yield outcome(lambda: f(ramp(3, 2)))          # NumPy refuses to draw below zero
        yield random.random(), np.random.rand()
        buffer.pos = 3
        yield from thrice(lambda: f(ramp(3, 2)))
    return f, calls


@trap
def draws_go_by_numbers_of_all_kinds():
    """Arguments, attributes, numbers drawn before, numbers of tensors that the run wrote to, and
    numbers that it computed."""
    o, g = Box(low=0, scale=1.0), np.random.default_rng(3)
    r = random.Random(2)
    def f(x, n, kind):
        if kind == "arguments":
            return x * random.randint(o.low, n) + float(np.random.normal(o.scale, 2.0))
        if kind == "drawn":
            k = r.randint(1, n)
            return x + g.integers(0, k, size=2), r.uniform(0.0, k), k
        if kind == "written":
            x.add_(n)
            return x * g.uniform(0.0, x[0].item(), size=2), x
        o.low += 1
        return x + r.randint(o.low, o.low + n), r.randrange(n + 1)
    def calls(f):
        random.seed(1)
        np.random.seed(1)
        kinds = "arguments", "drawn", "written", "computed"
        for kind in kinds:
            for i in range(7):
                o.scale = 1.0 + i
                yield f(ramp(2), 3 + i, kind), o.low
        for bad in (-30, 4.5, 2, True):
            for kind in kinds:
                yield outcome(lambda: f(ramp(2), bad, kind)), random.random(), g.random()
    return f, calls


@trap
def lists_of_numbers_are_drawn():
    """`sample` and `choices`, of a range, of lists that change, and of such as hold no numbers
    that vary, or several types of them; a list that is branched on, changed and returned."""
    table, o, r = ramp(40, 2), Box(kept=[3, 8, 1, 4], name="rows"), random.Random(7)
    def f(x, n, kind):
        if kind == "rows":
            return table[random.sample(range(40), 5)] + x
        if kind == "branch":
            drawn = r.choices(range(n), k=3)
            drawn.append(len(drawn))
            return (x * drawn[0] if drawn[1] > 2 else -x), drawn, [type(i) for i in drawn]
        if kind == "kept":
            return whet.tensor(r.sample(o.kept, 2)) * x, r.sample(o.kept, k=3)
        if kind == "keyword":
            return x * r.sample(population=o.kept, k=1)[0]
        if kind == "weighted":
            return x, random.choices([0.5, 2.5, 1.0], weights=(1, 2, n), k=2), random.random()
        if kind == "mixed":
            return x * random.choices([1.5, 2.5, 3.5, 4.5, 2], k=2)[0]
        return x, r.choices(["a", True, 2], k=1)
    def calls(f):
        random.seed(3)
        for kind in ("rows", "branch", "kept", "keyword", "weighted", "mixed", "others"):
            for i in range(12):
                if i == 6:
                    o.kept = [*o.kept, i, 1 << 50 if kind == "kept" else 0.5]
                if i == 9:
                    o.kept = [7, float("nan"), 2]
                yield f(ramp(2), 5 + i // 4, kind), random.random(), r.random()
            o.kept = [3, 8, 1, 4]
        o.kept = [9]
        yield outcome(lambda: f(ramp(2), 0, "kept")), outcome(lambda: f(ramp(2), 0, "branch"))
    return f, calls


@trap
def a_size_of_a_draw_is_a_number_that_varies():
    """As many numbers as an attribute says."""
    o = Box(n=3)
    def f(x): return x[:1] * whet.as_tensor(np.random.rand(o.n)).sum(), np.random.permutation(o.n)
    def calls(f):
        np.random.seed(1)
        for n in (3, 3, 3, 4, 5, 3, 6, 0, 3):
            o.n = n
            yield f(ramp(2))
    return f, calls


@trap
def lists_of_tensors_of_one_number():
    """Indices and numbers that a list gathers become a tensor, of several types."""
    table = ramp(9, 2)
    def f(x, kind):
        best = x.argmax(1)
        if kind == "indices":
            return table[whet.LongTensor([[best[i] for i in range(3)]])]
        if kind == "mixed":
            return table[whet.tensor([best[0], 2, best[2]])] + whet.tensor([best[1], 0.5])
        if kind == "types":
            return whet.tensor([best[0].int(), best[1]]), whet.tensor([x[0, 0], best[1]])
        return whet.tensor([best[0], True]), whet.tensor([[best[1]], [best[2]]], dtype=whet.int32)
    def calls(f):
        for kind in ("indices", "mixed", "types", "other"):
            for i in range(6):
                yield f(whet.sin(ramp(3, 9) * (i + 1)), kind)
        yield outcome(lambda: f(ramp(2, 9), "indices")), outcome(lambda: f(ramp(3, 12), "indices"))
    return f, calls


@trap
def weights_are_computed_once_inside_of_a_step():
    """parametrize.cached() in a step, nested, left by an error, and around the step as well."""
    layer, o = nn.Linear(3, 3), Box(runs=0, fail=False)
    class Symmetric(nn.Module):
        def forward(self, w): return w.triu() + w.triu(1).T
    parametrize.register_parametrization(layer, "weight", Symmetric())
    opt = optim.SGD(layer.parameters(), 0.1)
    def f(x):
        with parametrize.cached():
            loss = layer(x).square().mean() + layer.weight.norm()
            with parametrize.cached():
                loss = loss + layer.weight.sum() * 0.01
            if o.fail:
                raise ValueError("inside")
        late = layer.weight
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss, late, layer.weight
    def calls(f):
        yield from thrice(lambda: f(ramp(2, 3)))
        o.fail = True
        yield from thrice(lambda: outcome(lambda: f(ramp(2, 3))))
        o.fail = False
        yield from thrice(lambda: f(ramp(2, 3)))
        with parametrize.cached():
            yield from thrice(lambda: f(ramp(2, 3)))
            yield layer.weight
        yield from thrice(lambda: f(ramp(2, 3)))
    return f, calls


@trap
def a_context_keeps_tensors_as_attributes():
    """`ctx.mean = mean`, in a graph that the step uses up, and with the loss, its node or its
    gradient looked at afterwards."""
    kept = []
    class Normed(whet.autograd.Function):
        @staticmethod
        def forward(ctx, x, keep):
            mean, std = x.mean(0), x.std(0)
            ctx.save_for_backward(x)
            ctx.mean, ctx.std, ctx.shape = mean, std, x.shape
            if keep:
                kept.append(std)
            return (x - mean) / std
        @staticmethod
        def backward(ctx, g):
            x, = ctx.saved_tensors
            return g / ctx.std + 0 * x + ctx.mean * g.sum(), None
    layer = nn.Linear(3, 3)
    opt = optim.SGD(layer.parameters(), 0.1)
    def f(x, y, last, keep):
        out = Normed.apply(layer(x), keep)
        loss = out.sum() if last else F.mse_loss(out, y)
        opt.zero_grad()
        (out.square().sum() if last else loss).backward()
        opt.step()
        return out if last else loss
    def calls(f):
        for last, keep in ((False, False), (True, False), (False, True), (False, False)):
            for i in range(5):
                loss = f(whet.cos(ramp(4, 3) + i), ramp(4, 3), last, keep)
                yield loss, loss.grad_fn.name(), len(kept), outcome(
                    lambda: loss.sum().backward()), getattr(loss.grad_fn, "std", None)
        yield kept
    return f, calls


@trap
def draws_as_large_as_a_tensor():
    """np.random.normal(size=x.shape), of a generator and of all, where the shape changes; and draws
    from a law whose arrays change."""
    g, mean, spread = np.random.default_rng(3), np.zeros(2), np.eye(2)
    def f(x):
        noise = np.random.normal(size=x.shape) + g.uniform(-1, 1, x.shape)
        return x + whet.from_numpy(noise).float() + g.multivariate_normal(mean, spread).sum()
    def calls(f):
        np.random.seed(5)
        for i in range(18):
            mean[0], spread[1, 1] = i // 6, 1 + i // 9
            yield f(ramp(i % 3 + 1, 2))
            yield np.random.rand(), g.random()
    return f, calls


@trap
def generators_that_the_call_makes_fill_arrays(trace):
    """What `default_rng` gives inside is passed arrays; one is kept for the next calls."""
    def anew(a):
        b = a * 2
        np.random.default_rng(0).random(out=b)
        return np.random.default_rng(1).permuted(a, axis=1, out=a), b
    class Agent:
        rng = None
        def act(self, a):
            if self.rng is None:
                self.rng = np.random.default_rng(3)
            self.rng.standard_normal(out=a)
            return a, type(self.rng).__name__, isinstance(self.rng, np.random.Generator)
    agent = Agent()
    act, fill = trace(agent.act), trace(anew)
    def calls(_):
        for k in range(5):
            a, b = np.arange(6.0).reshape(2, 3) + k, np.zeros(3)
            yield fill(a), a, act(b), b, str(agent.rng.bit_generator.state)
    return anew, calls


@trap
def types_of_generators_are_asked_for(trace):
    """By `type` of an attribute of `self`, and where it is passed on."""
    class Agent:
        def __init__(self): self.rng, self.python = np.random.default_rng(3), random.Random(3)
        def act(self, x): return x * self.rng.random(), type(self.rng).__name__
        def both(self, x):
            kinds = list(map(type, (self.rng, self.python)))
            return x * self.rng.random() + self.python.random(), [t.__name__ for t in kinds]
    agent = Agent()
    act, both = trace(agent.act), trace(agent.both)
    def calls(_):
        for _ in range(6):
            yield act(ramp(2)), both(ramp(2))
    return agent.act, calls


@trap
def rows_are_shuffled_by_generators_that_others_make(trace):
    """A generator is made by its class, by that of another one, as a copy, or spawned: its methods
    take a stand-in for an array for a sequence, and change rows one after the other."""
    g, makers = np.random.default_rng(2), {"old": np.random.RandomState}
    def by_class(a): np.random.RandomState(0).shuffle(a)
    def by_entry(a): makers["old"](3).shuffle(a)
    def by_default(a, make=np.random.RandomState): make(1).shuffle(a)
    def by_type(a): type(g)(np.random.PCG64(0)).permuted(a, out=a)
    def by_copy(a): copy.deepcopy(g).shuffle(a)
    def spawned(a): np.random.default_rng(4).spawn(1)[0].permuted(a, axis=0, out=a)
    def of_a_tensor(a):
        b = whet.tensor(a).numpy()
        np.random.RandomState(4).shuffle(b)
        a += b
    all_of_them = by_class, by_entry, by_default, by_type, by_copy, spawned, of_a_tensor
    traced = [trace(f) for f in all_of_them]
    def calls(_):
        for k in range(4):
            for f in traced:
                a = np.arange(10.0).reshape(5, 2) + k
                f(a)
                yield a
    return by_class, calls


# small and large ones, none that is above the lower bound, one that is no int
BOUNDS = (1, 2, 3, 10, 5, 7, 0, 4, -3, 2, 1 << 20, 1 << 31, (1 << 31) + 1, 1 << 33, 6, 9, True, 3,
          2.0, 5, 1 << 41, 12, 100, 127, 128, 129, 300, 4)


@trap
def whole_numbers_drawn_below_a_number():
    """Below an attribute that varies, above it, and of a type that holds small ones only."""
    o = Box(bound=1, low=-2)
    def f(x, dtype):
        places = whet.randint(o.low, o.bound, (5,), dtype=dtype)
        return places, whet.randint_like(x, o.bound), x.clone().random_(o.bound)
    def calls(f):
        for dtype in (whet.int64, whet.int8, whet.float32):
            for k, bound in enumerate(BOUNDS):
                o.bound, o.low = bound, -k
                yield outcome(lambda: f(ramp(3), dtype)), whet.rand(1)
    return f, calls
