"""Programs of doubters: what containers, copies and texts can hide from a tracer."""
import collections
import copy
import functools
import itertools
import string

import whet
from whet import nn

from tests.traps.harness import Box, outcome, ramp, thrice, trap


@trap
def the_order_of_keywords_is_kept():
    """`**kwargs` in the order given decides, and dict.pop, setdefault and | change it."""
    def f(x, **kw):
        first = next(iter(kw))
        kw.setdefault("z", 9.0)
        kw |= {"a": kw.pop("a", 1.0)}
        for i, (k, v) in enumerate(kw.items()):
            x = x * v + i + (k == first)
        return x, list(kw), first
    def calls(f):
        for kw in ({"a": 1.0, "b": 2.0}, {"b": 2.0, "a": 1.0}, {"b": 2.0}, {"z": 0.5,
                                                                            "a": 3.0}) * 3:
            yield f(ramp(2), **kw)
    return f, calls


@trap
def sorting_by_what_changes():
    """sorted by a key that reads state and counts, stable ties, reverse, min with default,
    bisect."""
    o, n = Box(sign=1, order=["b", "a", "c"]), [0]
    def key(pair):
        n[0] += 1
        return pair[1] * o.sign
    def f(x):
        pairs = sorted(zip(o.order, (2, 1, 2)), key=key)
        best = min((p for p in pairs if p[1] > 1), key=key, default=("none", 0))
        for name, k in pairs:
            x = x * k + ord(name)
        return x, best[0], sorted(o.order, reverse=o.sign < 0)
    def calls(f):
        yield from thrice(lambda: (f(ramp(2)), n[0]))
        o.sign = -1
        yield from thrice(lambda: (f(ramp(2)), n[0]))
        o.order.reverse()
        yield from thrice(lambda: (f(ramp(2)), n[0]))
    return f, calls


@trap
def texts_are_made_and_taken_apart():
    """string.Template, %, format_map with `__missing__`, `__format__` of ones own, split, ord,
    int()."""
    class Names(dict):
        def __missing__(self, k): return o.default
    class Tagged:
        def __format__(self, spec): return spec.upper() + str(o.k)
    o = Box(default="7", k=2, text="3,4")
    def f(x):
        a = "{v}".format_map(Names(w=1))
        b = string.Template("$k$k").substitute(k=o.k)
        c = f"{Tagged():ab}"
        d = "%d|%s" % (o.k, o.text)
        return (x * int(a) + int(b) + len(c) + sum(map(int, o.text.split(","))), c, d,
                d.partition("|")[2])
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        o.default, o.k = "8", 5
        yield from thrice(lambda: f(ramp(2)))
        o.text = "1,1,1"
        yield from thrice(lambda: f(ramp(2)))
    return f, calls


@trap
def copies_of_what_holds_tensors():
    """copy, deepcopy of nested containers with shared tensors, `__copy__`, `__deepcopy__`, memo."""
    class Own:
        def __init__(self, t): self.t, self.n = t, 0
        def __copy__(self):
            new = Own(self.t)
            new.n = self.n + 1
            return new
        def __deepcopy__(self, memo):
            new = Own(copy.deepcopy(self.t, memo))
            new.n = self.n + 10
            return new
    own, nested = Own(ramp(2)), {"a": [ramp(2)], "k": 2.0}
    nested["same"] = nested["a"]
    def f(x):
        a, b = copy.copy(own), copy.deepcopy(own)
        c, d = copy.copy(nested), copy.deepcopy(nested)
        b.t.add_(1)
        d["a"][0].mul_(3)
        return (x + a.t + b.t + d["a"][0] * d["k"], a.t is own.t, b.t is own.t, d["same"] is d["a"],
                c["a"] is nested["a"], a.n, b.n)
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        own.t.add_(1)
        own.n, nested["k"] = 5, 7.0
        yield from thrice(lambda: (f(ramp(2)), own.t, nested))
        nested["same"] = [ramp(2)]
        yield from thrice(lambda: f(ramp(2)))
    return f, calls


@trap
def a_model_is_copied_inside():
    """deepcopy of a module in the call, an inner step on the copy, the original stays as it is."""
    model = nn.Linear(2, 2)
    with whet.no_grad():
        model.weight.copy_(ramp(2, 2)), model.bias.zero_()
    def f(x):
        fast = copy.deepcopy(model)
        loss = fast(x).pow(2).sum()
        grads = whet.autograd.grad(loss, list(fast.parameters()))
        with whet.no_grad():
            for p, g in zip(fast.parameters(), grads):
                p.sub_(g * 0.01)
        return fast(x).detach(), loss.detach(), fast.training
    def calls(f):
        yield from thrice(lambda: f(ramp(1, 2)))
        with whet.no_grad():
            model.weight.mul_(2)
        model.eval()
        yield from thrice(lambda: (f(ramp(1, 2)), model.weight))
        model.bias = nn.Parameter(ramp(2))
        yield from thrice(lambda: f(ramp(1, 2)))
    return f, calls


@trap
def a_loader_is_drawn_from():
    """next() of an iterator over batches that the function holds and begins again when it is
    over."""
    class Loader:
        def __init__(self): self.data, self.it = ramp(6, 2), None
        def batches(self): return iter(self.data.split(2))
        def next(self):
            if self.it is None:
                self.it = self.batches()
            try:
                return next(self.it)
            except StopIteration:
                self.it = self.batches()
                return next(self.it)
    loader = Loader()
    def f(k): return loader.next() * k
    def calls(f):
        for i in range(8):
            yield f(1.0 + i % 2)
        loader.data = ramp(4, 2) * 10
        loader.it = None
        for _ in range(5):
            yield f(2.0)
    return f, calls


@trap
def zips_and_chains_of_changing_lists():
    """zip strict, itertools.chain, accumulate, groupby, islice, pairwise, product over what
    changes."""
    o = Box(a=[1.0, 2.0, 3.0], b=[4.0, 5.0, 6.0])
    def f(x):
        for a, b in zip(o.a, o.b, strict=True):
            x = x * a + b
        acc = list(itertools.accumulate(o.a, initial=0.0))
        groups = [(k, len(list(g))) for k, g in itertools.groupby(o.b, key=lambda v: v > 4)]
        pairs = sum(a * b for a, b in itertools.pairwise(itertools.chain(o.a, o.b)))
        return x + acc[-1] + pairs + sum(1 for _ in itertools.product(o.a, o.b)), groups
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        o.a[0] = 10.0
        yield from thrice(lambda: f(ramp(2)))
        o.a.append(4.0)
        yield outcome(lambda: f(ramp(2)))
        o.b.append(1.0)
        yield from thrice(lambda: f(ramp(2)))
        o.a = tuple(o.a)
        yield from thrice(lambda: f(ramp(2)))
    return f, calls


@trap
def sets_by_their_operations():
    """Sets of text and numbers by operators, frozenset keys, a set that changes while it is
    asked."""
    o = Box(on={"a", "b"}, all=frozenset(("a", "b", "c")))
    table = {frozenset(("a", "b")): 2.0, frozenset("c"): 3.0}
    def f(x, more):
        on = o.on | more
        off = o.all - on
        o.on ^= {"z"}
        return (x * table.get(frozenset(o.on & o.all), 1.0) + len(on) + len(off) * 10
                + (o.on <= o.all), sorted(on), sorted(o.on))
    def calls(f):
        for more in (set(), set(), {"c"}, {"c", "q"}, set(), set()):
            yield f(ramp(2), more)
        o.on = {"c"}
        yield from thrice(lambda: f(ramp(2), set()))
        table.clear()
        yield from thrice(lambda: f(ramp(2), set()))
    return f, calls


@trap
def star_unpacking_and_swaps():
    """a, b = b, a on attributes and entries, starred targets, augmented assignment with side
    effects."""
    o = Box(a=1.0, b=2.0, xs=[1.0, 2.0, 3.0], n=0)
    def at():
        o.n += 1
        return o.n % 3
    def f(x):
        o.a, o.b = o.b, o.a
        first, *rest = o.xs
        o.xs[at()] += first
        o.xs[0], o.xs[-1] = o.xs[-1], o.xs[0]
        (p, q), r = (o.a, o.b), rest[-1]
        return x * o.a + p * q + r
    def calls(f):
        for _ in range(7):
            yield f(ramp(2)), o.a, list(o.xs), o.n
        o.a = 50.0
        yield from thrice(lambda: (f(ramp(2)), o.a, list(o.xs)))
    return f, calls


@trap
def deques_and_defaultdicts_move():
    """rotate, appendleft, popleft of what was there, a defaultdict that makes entries by being
    read."""
    d, table = collections.deque([1.0, 2.0, 3.0]), collections.defaultdict(lambda: 1.0)
    def f(x, key):
        d.rotate(1)
        y = x * d[0] + table[key]
        d.appendleft(d.pop() + 1)
        return y, len(table)
    def calls(f):
        for key in ("a", "a", "a", "b", "a", "c", "c"):
            yield f(ramp(2), key), list(d), list(table)
        table["a"] = 30.0
        d.clear(), d.extend([5.0, 6.0])
        for key in ("a", "a", "d"):
            yield f(ramp(2), key), list(d), list(table)
    return f, calls


def grows_as_a_cache_is_filled(log, whole):
    """A trap with two lists or deques."""
    o = Box(log=log, whole=whole)
    tripled = functools.lru_cache(lambda n: 3 * n)
    def f(x, n):
        o.log.append(tripled(n))             # the method is looked up before the cache is filled
        log = o.log
        log.append(tripled(n + 1))
        log.extend([n, *[log[-1]]])
        log += [tripled(n + 2)]
        o.whole += [tripled(n + 3)]
        return x * tripled(n)
    def calls(f):
        for n in (1, 1, 1, 8, 8, 30, 30):
            yield f(ramp(2), n), list(o.log), list(o.whole)
            tripled.cache_clear() if n == 8 else None
    return f, calls


@trap
def lists_that_grow_as_a_cache_is_filled():
    """A recording ends before a call that fills a cache, in the midst of appending."""
    return grows_as_a_cache_is_filled([], [])


@trap
def deques_that_grow_as_a_cache_is_filled():
    """The same with deques."""
    return grows_as_a_cache_is_filled(collections.deque(), collections.deque(maxlen=5))
