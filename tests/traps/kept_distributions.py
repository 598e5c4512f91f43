"""Distributions that a function makes, keeps and is given: what they share with others, who changes
them, and what is changed of their classes."""
import whet
from whet import distributions as D
from whet import nn

from tests.traps.harness import Box, ramp, thrice, trap


@trap
def a_kept_distribution_is_changed_by_others():
    """Its parameter is exchanged and written to, it is held by two, and gets an attribute."""
    box = Box(q=None)
    def f(x, y):
        before = 0.0 if box.q is None else box.q.loc.sum()
        box.q = D.Normal(x * 2, y)
        return box.q.log_prob(x) + before
    def calls(f):
        held = []
        for k in range(12):
            yield f(ramp(3) + k, ramp(3)), box.q.loc, [q is box.q for q in held]
            held.append(box.q)
            if k == 6:
                box.q.loc = ramp(3) - 1
            if k == 8:
                box.q.loc.mul_(2)
            if k == 9:
                box.q.more = 1
        yield [q.loc for q in held], [sorted(vars(q)) for q in held]
    return f, calls


@trap
def a_distribution_of_tensors_from_outside():
    """What it is made of is there before, is given back beside it, or is one tensor twice."""
    weight, box = nn.Parameter(ramp(3)), Box(q=None)
    def f(x):
        y = x + 1
        box.q = D.Normal(y, y)
        p = D.Normal(weight, x)
        return p, y, p.log_prob(y).sum()
    def calls(f):
        for _ in range(9):
            p, y, loss = f(ramp(3))
            loss.backward()
            yield (loss, weight.grad, p.loc is weight, box.q.loc is box.q.scale, y.sum(),
                   p.loc._base is weight)
    return f, calls


@trap
def a_distribution_is_given_twice():
    """As two arguments, by two of the same parameters, and once more as what is outside."""
    box = Box(prior=D.Normal(ramp(2), 1.0))
    def f(p, q):
        kind = 1 if p is q else 2 if q is box.prior else 3
        return D.kl_divergence(p, q) * kind + p.loc
    def calls(f):
        for k in range(8):
            p = D.Normal(ramp(2) + k, ramp(2))
            yield f(p, D.Normal(ramp(2), ramp(2) + k)), f(p, D.Normal(p.loc, p.scale))
            yield f(p, p), f(p, box.prior), f(box.prior, box.prior)
    return f, calls


@trap
def the_class_of_a_distribution_is_patched():
    """A method of it, and one of a class that it is derived from."""
    def f(p, x):
        q = D.Normal(p.mean, x)
        return q, q.log_prob(x), q.entropy()
    def calls(f):
        def call(): return f(D.Normal(ramp(2), ramp(2)), ramp(2))
        def what(): return [(type(q), q.loc, v, h) for q, v, h in thrice(call)]
        yield what()
        log_prob, D.Normal.log_prob = D.Normal.log_prob, lambda self, x: x * 7
        try:
            yield what()
        finally:
            D.Normal.log_prob = log_prob
        yield what()
        D.Normal.tag = 1
        try:
            yield what()
        finally:
            del D.Normal.tag
        yield what()
    return f, calls


@trap
def a_distribution_of_a_class_of_ones_own():
    """It has an attribute beside the parameters, and asks for its own address."""
    class Mine(D.Normal):
        def __init__(self, loc, scale):
            super().__init__(loc, scale)
            self.calls = [loc]
    first = Mine(ramp(2), 1.0)
    def f(p, x):
        q = Mine(x, p.scale)
        return q.loc + p.calls[0], q, 5 if hash(p) == hash(first) else 6
    def calls(f):
        for k in range(8):
            y, q, n = f(Mine(ramp(2) + k, 2.0), ramp(2))
            yield y, q.calls[0] is q.loc, type(q), n, whet.is_tensor(q.scale)
            yield f(first, ramp(2))[::2]
    return f, calls
