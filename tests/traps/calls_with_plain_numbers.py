"""Functions and types that notice what stands for a number, called by their names at some calls
only: what they are given, and what they read, is as it is without a recording."""
import json
import pickle
import time
from collections import deque
from itertools import permutations
from json import dumps

from tests.traps.harness import Box, outcome, ramp, trap


class Held:
    def __init__(self, **attributes): self.__dict__.update(attributes)


def now_and_then(step):
    """A step with a counter and a history, and another way to go at every sixth call."""
    def build():
        o = Box(n=0, rare=False, said=None, log=[], counts={"n": 0})
        def f(x): return step(o, x)
        def calls(f):
            for k in range(26):
                o.rare = k % 6 == 5
                yield outcome(lambda: f(ramp(3) + k)), o.n, o.said, list(o.log), dict(o.counts)
        return f, calls
    build.__name__, build.__doc__ = step.__name__, step.__doc__
    return trap(build)


@now_and_then
def a_deque_of_a_length_that_counts(o, x):
    """It is made where the function seldom goes."""
    o.n += 1
    if o.rare:
        o.said = list(deque([1, 2, 3, 4], maxlen=o.n % 3)), isinstance(o.log, deque)
    return x / o.n


@now_and_then
def permutations_by_a_number(o, x):
    """Of so many elements as a counter says."""
    o.n = (o.n + 1) % 4
    return x * o.n, [len(p) for p in permutations("abc", o.n if o.rare else 2)]


@now_and_then
def state_as_json(o, x):
    """What varies is within containers, and is computed with after that."""
    o.n += 1
    o.counts["n"] += 2
    twice = o.n * 2
    inside = {"twice": (twice, [twice])}
    if o.rare:
        o.said = json.dumps({"n": o.n, "counts": o.counts, "inside": inside}) + dumps(twice)
    o.n += inside["twice"][1][0] - twice
    return x * twice / o.n, twice


@now_and_then
def objects_of_the_run_as_json(o, x):
    """Twice: objects and lists that hold what varies, made before the first time and after it."""
    o.n += 1
    k, log, first = o.n * 2, o.log, Held(n=o.n)
    if o.rare:
        said = json.dumps(first, default=vars)
        log.append(k)
        second = Held(k=k, log=log, first=first)
        said += json.dumps(second, default=vars)
        log.append(said)
        o.said = said, json.dumps(Held(log=log), default=vars), pickle.loads(pickle.dumps([k, log]))
    log.append(first.n)
    return x * k


@now_and_then
def user_code_called_from_json(o, x):
    """It changes what varies meanwhile, and the function goes on with that."""
    o.n += 1
    def default(t):
        o.n += 10
        return [o.n, t.tolist()]
    if o.rare:
        o.said = json.dumps({"x": x, "n": o.n}, default=default)
    return x / o.n


@now_and_then
def a_wait_before_a_deque(o, x):
    """After the call that cannot be recorded come others with what varies."""
    o.n += 1
    k = o.n * 2
    if o.rare:
        time.sleep(k * 1e-6)
        o.said = list(deque("abcd", k % 3)), time.gmtime(o.n).tm_sec, dumps({"k": {"k": k}})
    return x * k
