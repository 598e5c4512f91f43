"""Code that asks for types by `type(x)` gets those that it gets eagerly, whatever stands for x
while the function is recorded, and numbers that vary go on varying."""
import collections
import functools
import logging
import math
import random
import sys
import time

import numpy as np
import pytest
import whet
from whet import jit

LOG = logging.getLogger("asked")
HISTORY, LAST = [], collections.deque(maxlen=3)
TABLE = np.arange(4.0)
DRAW = random.Random(0)


@functools.lru_cache(8)
def cached(n):
    return n + 1


def kind_of(x):
    return type(x)


def told(x):
    return type(x).__name__


THINGS = {
    "the item of a tensor": lambda x, n, a: (x * 2).sum().item(),
    "a truth": lambda x, n, a: (x.sum() > 0).item(),
    "a number that is given": lambda x, n, a: n,
    "what is computed of it": lambda x, n, a: math.sqrt(n * n + 1),
    "a whole number of it": lambda x, n, a: int(n),
    "an array that is given": lambda x, n, a: a,
    "its element": lambda x, n, a: a[0],
    "an array from outside": lambda x, n, a: TABLE,
    "a size": lambda x, n, a: x.shape[0],
    "sizes": lambda x, n, a: x.shape,
    "a tensor": lambda x, n, a: x,
    "a list that grows": lambda x, n, a: HISTORY,
    "a queue": lambda x, n, a: LAST,
    "a text": lambda x, n, a: f"{n:.3f}",
    "a logger": lambda x, n, a: LOG,
    "a stream": lambda x, n, a: sys.stdout,
    "a clock": lambda x, n, a: time.perf_counter,
    "a time": lambda x, n, a: time.perf_counter(),
    "a generator": lambda x, n, a: DRAW,
    "a cache": lambda x, n, a: cached,
    "a C function": lambda x, n, a: print,
    "nothing": lambda x, n, a: None,
    "numbers": lambda x, n, a: [x.sum().item(), n],
    "a class": lambda x, n, a: float,
    "a function": lambda x, n, a: told,
}


def arguments(k):
    return whet.full((3,), k + 0.5), 1.25 * k + 1, np.full(2, float(k))


@pytest.mark.parametrize("name", THINGS)
def test_types_are_those_of_eager_mode(name):
    make = THINGS[name]

    def f(x, n, a):
        thing = make(x, n, a)
        HISTORY.append(1)
        LAST.append(n)
        t = kind_of(thing)
        asked = t is float, t is int or t is bool, t in (list, str)
        return told(thing), asked, (x * 2).sum().item()
    traced = jit.trace(f)
    for k in range(6):
        given = arguments(k)
        assert traced(*given) == f(*given), k


def handled(x):
    """Chooses by type, as a collate function or a printer does."""
    return {float: lambda: x * 2, int: lambda: -x, whet.Tensor: lambda: x.sum().item(),
            np.ndarray: lambda: x[0] * 3, list: lambda: handled(x[0])}[type(x)]()


@pytest.mark.parametrize("pick", [0, 1, 2, 3])
def test_numbers_vary_where_code_asks_for_types(pick):
    """Each other value was another recording, as each `item` is where Python goes on from it."""
    def f(x, n, a):
        given = (x, n, a, [x.mean().item()])[pick]
        return handled(given) + x.sum().item(), x * 2
    traced = jit.trace(f)
    for k in range(8):
        (number, tensor), (expected, other) = traced(*arguments(k)), f(*arguments(k))
        assert number == expected and type(number) is type(expected)
        assert tensor.tolist() == other.tolist()
    assert traced.explain(data=True)["calls"]["replayed"] >= 5


def test_a_class_that_is_made_holds_plain_numbers():
    def f(x):
        made = type("Made", (), {"scale": x.sum().item()})
        return type(made.scale) is float, made.scale * 2
    traced = jit.trace(f)
    for k in range(4):
        assert traced(whet.full((2,), float(k))) == (True, 4.0 * k)


def test_types_by_another_name_are_compared_with():
    """Where `type` is a value, nothing stands for a number."""
    def f(x):
        kinds = [*map(type, [x.sum().item(), 1, x])]
        return kinds == [float, int, whet.Tensor], type(x.sum().item()) is float
    traced = jit.trace(f)
    for k in range(4):
        assert traced(whet.full((2,), float(k))) == (True, True)


class Kind:
    def __init__(self, value):
        self.value = value

    def same(self, other):
        return type(other) is type(self) and type(self.value) is type(other.value)


def test_classes_of_the_users():
    def f(x):
        a, b = Kind(x.sum().item()), Kind(x.mean().item())
        return a.same(b), b.same(Kind(3)), a.value
    traced = jit.trace(f)
    for k in range(5):
        assert traced(whet.full((2,), float(k))) == (True, False, 2.0 * k)


def number_of(value):
    """As loggers of metrics do: `float` is asked for, and called."""
    if isinstance(value, (int, float)):
        return value
    return float(value) if isinstance(value, whet.Tensor) and not isinstance(value, type) else 0


def test_classes_that_isinstance_asks_for_may_be_called():
    def f(x, n):
        loss = x.square().sum()
        n = n if isinstance(n, int) else int(n)
        return number_of(loss), number_of(loss.item()), number_of(n), number_of("text"), float(loss)
    traced = jit.trace(f)
    for k in range(8):
        given = whet.full((3,), float(k)), (k, k + 0.5)[k % 2]
        expected = f(*given)
        got = traced(*given)
        assert got == expected and [*map(type, got)] == [*map(type, expected)]
    assert traced.explain(data=True)["calls"]["replayed"] == 4


def test_a_class_that_is_matched_is_the_class():
    def f(x):
        match x.sum().item():
            case float(n) if n > 2:
                return n * 2, float(x.mean())
            case int() | float():
                return "small", float(x.mean())
    traced = jit.trace(f)
    for k in range(6):
        x = whet.full((2,), float(k))
        assert traced(x) == f(x)


def doubled(x):
    return x * 2


def tripled(x):
    return x * 3


CHOICES = {
    "float": (float, lambda x, k: (doubled if float is k else tripled)(x).sum().item()
              + float(x[0])),
    "len": (len, lambda x, k: (len is k and doubled or tripled)(x).sum().item() + len(x)),
    "type": (type, lambda x, k: (doubled if type is k else tripled)(x).sum().item()
             + (type(x) is k)),
    "max": (max, lambda x, k: (doubled if max is k else tripled)(x).sum().item() + max(1, 2))}


@pytest.mark.parametrize("name", CHOICES)
def test_a_builtin_by_which_a_function_is_chosen_is_itself(name):
    """It comes first in what is called, and is not what is called."""
    builtin, f = CHOICES[name]
    traced = jit.trace(f)
    for k in range(5):
        for kind in (builtin, str):
            x = whet.full((3,), k + 1.0)
            assert traced(x, kind) == f(x, kind)
