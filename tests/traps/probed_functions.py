"""C functions and types that take numbers, lists and files in ways of their own."""
import collections
import datetime
import io
import itertools
import math
import operator
import os
import tempfile
import weakref

import numpy as np
import whet

from tests.traps.harness import Box, outcome, ramp, trap
from tests.traps.unseen_calls import in_other_places


def of_counts(f, *more):
    """Calls with whole numbers that vary."""
    def calls(f):
        for n in (2, 3, 4, 2, 3, 4, 5, 6):
            yield outcome(lambda n=n: f(ramp(3), n, *more))
    return f, calls


def that_leaves_a_file(f):
    """Is the file there that each call makes?"""
    folder = tempfile.TemporaryDirectory()
    path = os.path.join(folder.name, "made")
    def calls(f):
        with folder:
            for _ in range(6):
                yield f(ramp(3), path), os.path.exists(path)
                os.remove(path) if os.path.exists(path) else None
    return f, calls


# ---- numbers of Python's own ---------------------------------------------------------------------
@trap
def a_window_by_another_name():
    """make = collections.deque: its length must be an int."""
    make = collections.deque
    def f(x, n): return x * len(make(range(9), n))
    return of_counts(f)


@trap
def a_window_of_a_kind_of_its_own():
    """A subclass of deque, made by its own constructor."""
    class Window(collections.deque):
        def __init__(self, n): super().__init__(range(9), n)
    def f(x, n): return x * len(Window(n))
    return of_counts(f)


@trap
def a_window_of_the_class_of_another():
    """seen.__class__(seen, n)."""
    seen = collections.deque([1, 2, 3, 4, 5, 6])
    def f(x, n): return x * len(seen.__class__(seen, n))
    return of_counts(f)


@trap
def the_class_of_a_window_is_passed():
    """f(x, n, deque)."""
    def f(x, n, make): return x * len(make(range(9), n))
    return of_counts(f, collections.deque)


@trap
def windows_and_constants():
    """A length that is a constant, numbers that vary within."""
    def f(x, n):
        window = collections.deque([n], maxlen=3)
        window.append(n * 2)
        return x * sum(window)
    return of_counts(f)


@trap
def a_window_in_an_enclosing_function():
    """The function that encloses two others imports deque; an inner one makes it by a class."""
    from collections import deque
    def outer(x, n):
        class Window:
            seen = deque(range(9), n)
        return x * len(Window.seen)
    def f(x, n):
        def make(n): return deque(range(9), maxlen=n)
        return outer(x, n) * len(make(n))
    return of_counts(f)


@trap
def a_window_in_the_cell_of_a_variable():
    """f.__closure__[0].cell_contents."""
    make = collections.deque
    def window(): return make([1])
    def f(x, n): return x * len(window.__closure__[0].cell_contents(range(9), n)) * len(window())
    return of_counts(f)


@trap
def orders_of_some():
    """permutations(xs, n) wants an int, combinations(xs, n) any index."""
    def f(x, n):
        return x * len(list(itertools.permutations(range(6), n))) \
            * len(list(itertools.combinations(range(6), n)))
    return of_counts(f)


@trap
def orders_of_some_by_another_name():
    """some(xs, r=n), of a tuple of functions."""
    some = itertools.permutations, math.ldexp
    def f(x, n): return x * len(list(some[0](range(6), r=n))) * some[1](1.0, n)
    return of_counts(f)


@trap
def is_it_the_same_number():
    """sum(map(operator.is_, ...))."""
    def f(x, n): return x * sum(map(operator.is_, [n, 3], [2, 3]))
    return of_counts(f)


# ---- lists that are repeated in place ------------------------------------------------------------
@trap
def a_list_times_a_number_in_place():
    """xs *= n: the list that others know is longer."""
    def f(x, n):
        ys = xs = [1.0]
        xs *= n
        return x * len(ys)
    return of_counts(f)


@trap
def a_list_from_outside_times_a_number_in_place():
    """The list is the user's."""
    known = [1.0]
    def f(x, n):
        xs = known
        xs *= n
        return x * len(known)
    def calls(f):
        for n in (1, 2, 1, 2, 1, 2):
            yield f(ramp(3), n), list(known)
    return f, calls


@trap
def windows_and_bytes_times_a_number_in_place():
    """Of deques and bytearrays, by the operator and by its function."""
    def f(x, n):
        w = window = collections.deque([1.0])
        b = text = bytearray(b"a")
        window *= n
        operator.imul(text, n)
        return x * len(w) * len(b)
    return of_counts(f)


@trap
def lists_and_texts_times_a_number():
    """[0] * n, n * "ab", and what is said of a float."""
    def f(x, n):
        size = len([0] * n) + len(n * (1,)) + len("ab" * n) + len(operator.mul(n, b"a"))
        return x * size, outcome(lambda: [0] * (n * 0.5)), outcome(lambda: (n * 0.5) * "a")
    return of_counts(f)


# ---- files, and the time of this place -----------------------------------------------------------
@trap
def a_file_that_a_constructor_makes():
    """with io.FileIO(path, "w"): nobody sees a C type being called."""
    def f(x, path):
        with io.FileIO(path, "w"):
            return x * 2
    return that_leaves_a_file(f)


@trap
def a_number_of_numpy_is_written_to_a_file():
    """np.float64(2).tofile(path)."""
    number = np.float64(2)
    def f(x, path):
        number.tofile(path)
        return x * 2
    return that_leaves_a_file(f)


@trap
def a_method_of_a_date_by_its_name(trace):
    """operator.methodcaller("timestamp")(when)."""
    when = datetime.datetime(2020, 1, 1)
    def f(x): return x * (operator.methodcaller("timestamp")(when) % 1e6)
    return in_other_places(trace, f)


@trap
def windows_whose_constructors_are_given_numbers():
    """A class that defaultdict makes, and one that the call makes: what they give to a deque."""
    class Meter:
        def __init__(self, size=3): self.seen = collections.deque(maxlen=size)

    class Window:
        def __init__(self, size=3): self.seen = collections.deque(range(9), maxlen=size)
    meters = collections.defaultdict(Meter)
    def f(x, n):
        meters["n"].seen.append(n)
        return x * len(Window(n).seen), x * len(Window(size=n).seen)
    return of_counts(f)


@trap
def meters_of_numbers():
    """Each of a size that is written down."""
    class Meter:
        def __init__(self, size=3): self.seen = collections.deque(maxlen=size)
    meters = collections.defaultdict(Meter)
    def f(x, n):
        meters["n"].seen.append(n)
        return x * n
    def calls(f):
        for n in (2, 3, 4, 2, 3, 4, 5, 6):
            yield f(ramp(3), n), list(meters["n"].seen)
    return f, calls


# ---- classes that isinstance asks for ------------------------------------------------------------
@trap
def a_class_that_is_asked_for_and_made(trace):
    """isinstance(x, weakref.ref) does no more than ask; the class is called elsewhere, by another
    name, or by the same in the same code."""
    made = weakref.ref
    box = Box(of=whet.ones(1), kinds=(int, weakref.ref))
    @trace
    def asks(x, y): return x * 2 if isinstance(y, weakref.ref) else x * 3
    @trace
    def asks_for_several(x, y): return x * 2 if isinstance(y, (weakref.ref, dict)) else x * 3
    @trace
    def makes(x, y):
        return x * 2 if isinstance(y, weakref.ref) and weakref.ref(box.of)() is None else x * 3
    @trace
    def makes_by_another_name(x, y):
        return x * 2 if isinstance(y, weakref.ref) or made(box.of)() is None else x * 3
    @trace
    def makes_one_of_several(x, y): return x * (2 if isinstance(y, box.kinds) else 3)
    def f(x, y): return x * 5 if isinstance(y, made) else x
    def calls(f):
        all_of = (f, asks, asks_for_several, makes, makes_by_another_name, makes_one_of_several)
        kept = whet.ones(2)
        for y in (1, 1, 1, {}, weakref.ref(kept), weakref.ref(kept), 1, {}):
            box.of = whet.ones(1)
            yield [g(ramp(3), y) for g in all_of]
    return f, calls
