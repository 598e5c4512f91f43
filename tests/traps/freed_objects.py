"""Objects that are freed: code that asks whether they still exist, and objects that only the trace
would keep alive."""
import collections
import gc
import weakref

import numpy as np
import whet
from whet import nn

from tests.traps.harness import ramp, thrice, trap


@trap
def an_entry_of_a_defaultdict_is_gone():
    """Looking for what was there makes no entry."""
    means = collections.defaultdict(lambda: whet.zeros(3))
    def f(name, x):
        means[name] = means[name] * 0.9 + x * 0.1
        means[name].clamp_(max=2)
        return means[name], len(means)
    def calls(f):
        for name in "aaababcaab":
            yield f(name, ramp(3)), dict(means)
        means.clear()
        for name in "aabb":
            yield f(name, ramp(3)), dict(means)
    return f, calls


@trap
def an_entry_of_a_dict_with_its_own_answer_is_gone():
    """`__missing__` counts how often it is asked."""
    class Counting(dict):
        asked = 0
        def __missing__(self, key):
            self.asked += 1
            return 0.5
    table = Counting(k=1.0)
    def f(x, key):
        y = x * table[key]
        table[key] = 2.0
        return y
    def calls(f):
        yield from thrice(lambda: (f(ramp(2), "k"), table.asked, dict(table)))
        del table["k"]
        yield from thrice(lambda: (f(ramp(2), "k"), table.asked, dict(table)))
        table.clear()
        yield from thrice(lambda: (f(ramp(2), "j"), table.asked, dict(table)))
    return f, calls


@trap
def an_array_is_locked_and_given_other_sizes():
    """The tensor over its memory stays what it was."""
    array = np.ones(4, np.float32)
    t = whet.from_numpy(array)
    def f(x): return t.mul_(0.5) + x
    def calls(f):
        yield from thrice(lambda: (f(ramp(4)), array.copy()))
        array.setflags(write=False)
        yield from thrice(lambda: (f(ramp(4)), array.copy()))
        array.shape = 2, 2
        yield from thrice(lambda: (f(ramp(4)), array.copy()))
    return f, calls


@trap
def keys_that_nobody_else_holds():
    """Counts by object, of a dict that holds its keys weakly."""
    class Key:
        pass
    counts = weakref.WeakKeyDictionary()
    def f(x, key):
        counts[key] = counts.get(key, 0) + 1
        return x * counts[key]
    def calls(f):
        a, b = Key(), Key()
        for key in (a, a, a, b, a):
            yield f(ramp(2), key), len(counts)
        del a, key
        gc.collect()
        for _ in range(4):
            yield f(ramp(2), b), len(counts)
    return f, calls


@trap
def a_weight_that_nobody_else_holds():
    """A function that has but a weak reference to it, when another takes its place."""
    model = nn.Linear(2, 2)
    there = weakref.ref(model.weight)
    def f(x):
        w = there()
        return x if w is None else x @ w
    def calls(f):
        with whet.no_grad():
            model.weight.copy_(ramp(2, 2))
        yield from thrice(lambda: f(ramp(2)))
        model.weight = nn.Parameter(ramp(2, 2) * 3)
        gc.collect()
        yield from thrice(lambda: f(ramp(2)))
    return f, calls
