"""Code that accepts exactly Python's numbers or NumPy's arrays; memory handed out as a storage; an
op that writes what it moves."""
import functools
import operator

import numpy as np
import whet

from tests.traps.harness import Box, leaf, ramp, thrice, trap


# ---- what C takes nothing else for ---------------------------------------------------------------
@trap
def a_width_is_given_by_a_star():
    """`"%*d" % (width, n)`: C takes exactly an int for the width."""
    def f(x, n): return x * n, "%*d|%-*.*f" % (int(n) + 3, 7, 8, int(n), 2.5)
    def calls(f):
        for n in (1, 1, 1, 2, 3, 4, 2.0, 2.0):
            yield f(ramp(2), n)
    return f, calls


@trap
def an_operator_is_called_by_its_text():
    """methodcaller("__add__", n)(1): an int declines what is no int."""
    def f(x, n): return x * n, str(operator.methodcaller("__add__", n)(1)), n.__doc__[:3]
    def calls(f):
        for n in (1, 1, 1, 2, 3, 4, 2.0, 2.0):
            yield f(ramp(2), n)
    return f, calls


@trap
def an_object_says_what_array_it_is():
    """__array__ computes with a number that varies: NumPy takes exactly an array from it."""
    class Data:
        def __init__(self): self.numbers, self.asked = np.arange(3, dtype=np.float32), 0
        def __array__(self, dtype=None, copy=None):
            self.asked += 1
            return self.numbers * self.asked
    data = Data()
    def f(x): return x * whet.as_tensor(np.asarray(data))
    def calls(f):
        for _ in range(6):
            yield f(ramp(3)), data.asked
        data.numbers[0] = 5
        yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def an_array_without_elements():
    """The strides of what is shown of it."""
    def f(x, n):
        part = x[n:]
        a = part.detach().numpy()
        y = whet.from_numpy(a)
        return y, y.stride(), a.strides
    def calls(f):
        for n in (2, 2, 2, 0, 0, 3):
            yield f(ramp(1).expand(2, 3), n), f(ramp(2, 3), n), f(ramp(3, 2).T, n)
    return f, calls


@trap
def types_of_functions_that_are_kept():
    """`map(type, functions)`: C's own functions, and one with a cache."""
    def kinds(functions, of=type): return [of(g).__name__ for g in functions]
    kept = Box(zeros=np.zeros, show=print, count=functools.lru_cache(lambda n: n + 1))
    def f(x):
        functions = [kept.zeros, kept.show, kept.count]
        by_name = sorted(functions, key=lambda g: type(g).__name__)
        return (x * 2, [t.__name__ for t in map(type, functions)], kinds(functions),
                by_name[0] is kept.count)
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        kept.show = len
        yield from thrice(lambda: f(ramp(2)))
    return f, calls


# ---- storages ------------------------------------------------------------------------------------
@trap
def storages_are_compared():
    """Views and `detach()` lie in one storage, tensors that were made apart do not."""
    def f(x, y): return x.untyped_storage().data_ptr() == y.untyped_storage().data_ptr()
    def calls(f):
        yield from thrice(lambda: f(ramp(2, 3), ramp(2, 3)))
        for other in (lambda x: x, lambda x: x.view(2, 3), lambda x: x.detach()):
            yield from thrice(lambda: (lambda x: f(x, other(x)))(ramp(2, 3)))
    return f, calls


# ---- ops that move and write ---------------------------------------------------------------------
@trap
def triangles_in_place():
    """x.tril_() writes a part of x over x; gradients flow through it."""
    w = leaf(3, 3)
    o = Box(k=0)
    def f(x):
        x.tril_()
        return (w * 2).triu_(o.k) + x
    def calls(f):
        for o.k in (0, 0, 0, 1, 1, -1, -1):
            for make in (lambda: ramp(3, 3), lambda: ramp(3, 3).T, lambda: ramp(3, 6)[:, ::2]):
                x, w.grad = make(), None
                y = f(x)
                y.sum().backward()
                yield x, y, w.grad
    return f, calls


# ---- what is asked by identity -------------------------------------------------------------------
LIMIT = 1.5


@trap
def a_method_is_given_a_number_as_self():
    """C.act(n, x), which asks whether that is a number of the module."""
    class C:
        def act(self, x): return x * 2 if self is LIMIT else x - 1
    def f(x, n): return C.act(n, x)
    def calls(f):
        for n in (2.5, 2.5, 3.5, 4.5, LIMIT, LIMIT, 2.5, LIMIT):
            yield f(ramp(2), n)
    return f, calls
