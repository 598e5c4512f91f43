"""Programs of doubters: objects that answer for others, patterns, and partials of partials."""
import array
import dataclasses
import functools
import random

import numpy as np
import whet
from whet import nn

from tests.traps.harness import Box, outcome, ramp, thrice, trap


@trap
def a_proxy_with_slots_passes_everything_on():
    """It has no dict of its own, but tells that of what it stands for; and one that counts."""
    class Proxy:
        __slots__ = ("_of", "asked")
        def __init__(self, of): self._of, self.asked = of, 0
        def __getattr__(self, name): return getattr(self._of, name)
    class Counting(Proxy):
        __slots__ = ()
        def __getattr__(self, name):
            self.asked += 1
            return getattr(self._of, name)
    o = Box(k=2.0, layer=nn.ReLU())
    p, c = Proxy(o), Counting(o)
    def f(x): return p.layer(x) * p.k + c.k, c.k
    def calls(f):
        yield from thrice(lambda: (f(ramp(2) - 1), c.asked))
        o.k = 5.0
        yield from thrice(lambda: (f(ramp(2) - 1), c.asked))
        p._of = Box(k=-1.0, layer=nn.Sigmoid())
        yield from thrice(lambda: (f(ramp(2) - 1), c.asked))
        del c._of.k
        yield outcome(lambda: f(ramp(2))), c.asked
        o.k = 1.0
        yield from thrice(lambda: (f(ramp(2) - 1), c.asked))
    return f, calls


@trap
def a_slot_is_emptied_and_its_class_answers():
    """`__getattr__` of a class without dicts, for a slot that holds nothing."""
    class Held:
        __slots__ = ("k",)
        def __getattr__(self, name): return 8.0
    o = Held()
    o.k = 2.0
    def f(x): return x * o.k + hasattr(o, "__dict__")
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        del o.k
        yield from thrice(lambda: f(ramp(2)))
        Held.__getattr__ = lambda self, name: 1.0
        yield from thrice(lambda: f(ramp(2)))
        o.k = 3.0
        yield from thrice(lambda: f(ramp(2)))
    return f, calls


@trap
def the_order_of_a_pattern_is_another():
    """`__match_args__` of a class, of a base, and of a dataclass's kind is replaced."""
    class Base:
        __match_args__ = ("a", "b")
        def __init__(self): self.a, self.b, self.c = 1.0, 2.0, 4.0
    class P(Base): pass
    p = P()
    def f(x):
        match p:
            case P(a, b):
                return x * a - b
            case P(a):
                return x - a
            case _:
                return x * 100
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        Base.__match_args__ = ("b", "a")
        yield from thrice(lambda: f(ramp(2)))
        P.__match_args__ = ("c", "a")
        yield from thrice(lambda: f(ramp(2)))
        P.__match_args__ = ("c",)
        yield from thrice(lambda: outcome(lambda: f(ramp(2))))
        del P.__match_args__
        yield from thrice(lambda: f(ramp(2)))
    return f, calls


@trap
def an_object_makes_the_array_that_it_is():
    """`__array__` that fills a new one, of a number that changes; for functions and operators."""
    class Data:
        v = 3.0
        def __array__(self, dtype=None, copy=None): return np.full(2, self.v)
    class Zeros:
        def __array__(self, dtype=None, copy=None):
            a = np.zeros(2)
            a[0] = data.v
            return a
    data, zeros = Data(), Zeros()
    def f(x):
        return (x * whet.as_tensor(np.asarray(data)) + float(np.add(data, 1).sum()),
                x + whet.tensor(np.asarray(zeros)))
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        data.v = 5.0
        yield from thrice(lambda: f(ramp(2)))
        Data.__array__ = lambda self, dtype=None, copy=None: np.ones(2) * self.v
        yield from thrice(lambda: f(ramp(2)))
    return f, calls


@trap
def an_exchanged_tensor_has_attributes():
    """Another tensor is laid where one was; what was written on it changes, comes and goes."""
    o = Box(t=ramp(2))
    o.t.k = 2.0
    def f(x): return x * o.t * o.t.k + getattr(o.t, "j", 1.0), hasattr(o.t, "j")
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        for _ in range(2):
            o.t = ramp(2) + 1
            o.t.k = 8.0
            yield from thrice(lambda: f(ramp(2)))
        o.t.j = 5.0
        yield from thrice(lambda: f(ramp(2)))
        o.t.k = 9.0
        yield from thrice(lambda: f(ramp(2)))
        del o.t.j
        yield from thrice(lambda: f(ramp(2)))
        o.t = ramp(2)
        yield outcome(lambda: f(ramp(2)))
    return f, calls


@trap
def partials_of_a_partial_that_was_read():
    """They take its arguments over as long as nobody asked it for its attributes."""
    o = Box(p=functools.partial(lambda a, b: a * 10 + b, 1.0, b=2.0))
    def f(x): return x * o.p() + o.p.args[0] + getattr(o.p, "k", 0.0), o.p.keywords["b"]
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        o.p = functools.partial(o.p, b=9.0)
        yield from thrice(lambda: f(ramp(2)))
        o.p.k = 3.0
        yield from thrice(lambda: f(ramp(2)))
        o.p.k = 4.0
        yield from thrice(lambda: f(ramp(2)))
        o.p = functools.partial(o.p, b=1.0)
        yield from thrice(lambda: outcome(lambda: f(ramp(2))))
    return f, calls


@trap
def slots_are_hidden_by_what_has_their_name():
    """A property, and another slot, of a subclass; a dataclass that refuses to be set."""
    class A:
        __slots__ = ("k",)
    class Shown(A):
        __slots__ = ()
        @property
        def k(self): return A.k.__get__(self) * 2
    class Twice(A):
        __slots__ = ("k",)
    @dataclasses.dataclass(frozen=True, slots=True)
    class Frozen:
        k: float = 2.0
    shown, twice, frozen = Shown(), Twice(), Frozen()
    def lay(a, b, c, d):
        A.k.__set__(shown, a), A.k.__set__(twice, b)
        twice.k = c
        object.__setattr__(frozen, "k", d)
    def f(x): return x * shown.k + frozen.k
    def g(x): return x * A.k.__get__(twice) + twice.k
    def calls(t):
        for values in ((1.0, 2.0, 3.0, 4.0), (5.0, 2.0, 3.0, 4.0), (5.0, 6.0, 3.0, 4.0),
                       (7.0, 6.0, 8.0, 4.0), (9.0, 1.0, 8.0, 2.0)):
            lay(*values)
            yield from thrice(lambda: t(ramp(2)))
    def both(x): return f(x), g(x)
    return both, calls


@trap
def lists_and_what_they_hold_are_shuffled():
    """By Python's generator and NumPy's, by position and by name; a chosen element is written
    to."""
    numbers, lists, tensors = [1, 2, 3, 4], [[1], [2], [3]], [ramp(2), ramp(2) * 2]
    own = random.Random(4)
    def f(x):
        random.shuffle(numbers)
        own.shuffle(x=tensors)
        np.random.shuffle(lists)
        chosen = random.choice(lists)
        chosen[0] += numbers[0]
        return x * numbers[0] + tensors[0], chosen is lists[0], random.choices(numbers, k=2)
    def calls(f):
        for _ in range(5):
            yield f(ramp(2)), numbers, lists, tensors
    return f, calls


@trap
def arrays_are_filled_by_generators():
    """`out=`, and rows and columns in another order."""
    def made(): return np.random.default_rng(3), np.arange(4.0), np.arange(6.0).reshape(3, 2)
    rng, row, table = made()
    def f(x):
        same = rng.random(out=row) is row, rng.standard_normal(out=row) is row
        rng.shuffle(table, axis=1)
        rng.shuffle(table)
        np.random.shuffle(table)
        rng.permuted(table, axis=0, out=table)
        return x * whet.from_numpy(row).float().sum() + float(table[0, 0]), same
    def calls(f):
        for _ in range(5):
            yield f(ramp(2)), row, table
    return f, calls


@trap
def methods_of_arrays_past_an_array():
    """`ndarray.sum(a)`, with the class's own names; and masked arrays, which do so."""
    a = np.arange(4.0)
    def f(x):
        return (x * float(np.ndarray.sum(a)) + float(np.ndarray.__getitem__(a, 1)),
                np.ndarray.astype(a, np.float32), np.ma.array(a, mask=[0, 1, 0, 0]).sum())
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        a[1] = 9.0
        yield from thrice(lambda: f(ramp(2)))
    return f, calls


@trap
def a_list_of_the_outer_run_is_met_by_an_inner_one(trace):
    """The inner function is recorded while something lies in place of a list that the outer one
    reads, and is replayed when the list is there again."""
    global LOG, KEPT
    LOG, KEPT = [], array.array("d", [1.0, 2.0])
    @trace
    def inner(x, n=1):
        LOG.append(n)
        return x * n
    def f(x): return inner(x) + inner(x, 2) + len(LOG) + KEPT[0]
    def calls(f):
        for _ in range(4):
            yield f(ramp(2)), LOG
        yield from thrice(lambda: (inner(ramp(2)), LOG))
        LOG.clear()
        yield from thrice(lambda: (f(ramp(2)), LOG))
    return f, calls
