"""Lists, tuples, dicts and objects among the arguments, whose numbers are others at each call."""
import collections
import copy
import dataclasses

import numpy as np
import whet

from tests.traps.harness import Box, outcome, ramp, trap

SEEN = set()
Options = collections.namedtuple("Options", "rate weight")


@dataclasses.dataclass
class Settings:
    """Hyper-parameters."""
    rate: float
    steps: int = 2
    betas: tuple = (0.5, 0.75)


@dataclasses.dataclass
class Pair:
    """Two numbers."""
    count: int
    size: float


def several():
    """0.5, 1.25, 2.0, ... without end."""
    k = 0.5
    while True:
        yield k
        k += 0.75


@trap
def rewards_in_a_list():
    """Returns of an episode from a list of rewards, of several lengths."""
    def f(x, rewards):
        total, returns = 0, collections.deque()
        for r in rewards[::-1]:
            total = r + 0.9 * total
            returns.appendleft(total)
        return x * whet.tensor(returns).sum(), total, sum(rewards), len(rewards)
    def calls(f):
        k = several()
        for n in (3, 3, 3, 3, 2, 2, 3, 4, 4, 2, 0, 1):
            rewards = [next(k) for _ in range(n)]
            yield f(ramp(2), rewards), rewards, [type(r) for r in rewards]
    return f, calls


@trap
def a_given_list_is_written_to():
    """Numbers of a list are exchanged, appended, moved and taken out by the function."""
    def f(x, kind, xs):
        if kind == "append":
            xs.append(xs[0] * 2)
        elif kind == "set":
            xs[1] = xs[0] + xs[1]
        elif kind == "reverse":
            xs.reverse()
        elif kind == "pop":
            x = x * xs.pop()
        elif kind == "clear":
            xs.clear()
        elif kind == "other":
            xs[2] = "text"
        elif kind == "same":
            xs[0] = xs[0]
        return x * (xs[0] if xs else 3)
    def calls(f):
        k = several()
        for kind in ("append", "set", "reverse", "pop", "clear", "other", "same", "none"):
            for _ in range(5):
                xs = [next(k), next(k), next(k)]
                yield f(ramp(2), kind, xs), xs, [type(x) for x in xs]
    return f, calls


@trap
def a_given_dict_is_written_to():
    """Numbers of a dict are exchanged, added and taken out."""
    def f(x, kind, d):
        if kind == "add":
            d["more"] = d["a"] + 1
        elif kind == "text":
            d["name"] = d["name"] + "!"
        elif kind == "pop":
            x = x + d.pop("b")
        elif kind == "swap":
            d["a"], d["b"] = d["b"], d["a"]
        elif kind == "update":
            d |= dict(a=d["a"] * d["a"])
        return x * d["a"]
    def calls(f):
        k = several()
        for make in (dict, collections.OrderedDict):
            for kind in ("add", "text", "pop", "swap", "update", "none"):
                for _ in range(5):
                    d = make(a=next(k), b=next(k), name="n")
                    yield f(ramp(2), kind, d), d, list(d)
    return f, calls


@trap
def a_given_object_of_numbers_is_written_to():
    """Settings in a dataclass and in a namespace, read and set."""
    def f(x, o, sets):
        y = x * o.rate + o.betas[0]
        if sets:
            o.rate = o.rate * 0.5
        return y
    def calls(f):
        k = several()
        for sets in (False, True):
            for make in (Settings, lambda r, betas: Box(rate=r, betas=betas)):
                for _ in range(5):
                    o = make(next(k), betas=(next(k), 0.25))
                    yield f(ramp(2), o, sets), o.rate, o.betas, type(o.rate)
    return f, calls


@trap
def one_list_of_numbers_twice():
    """The same list as two arguments, and two equal ones; whether they are one is asked."""
    def f(x, a, b):
        if a is b:
            return x * a[0]
        return x - b[0] + a[1]
    def calls(f):
        k = several()
        for _ in range(5):
            xs = [next(k), next(k)]
            yield f(ramp(2), xs, xs)
        for _ in range(5):
            xs = [next(k), next(k)]
            yield f(ramp(2), xs, list(xs))
        yield f(ramp(2), xs, xs)
    return f, calls


@trap
def equal_containers_and_one_twice():
    """A list, a tuple and a dict as two arguments that are one, or that are equal."""
    def f(x, a, b):
        return x * a[0] if a is b else x - b[0]
    def calls(f):
        for make in (list, tuple, dict):
            for pattern in (True, True, True, True, False, False, True, False):
                a = make([(0, 1.5), (1, 2.5)] if make is dict else [1.5, 2.5])
                b = a if pattern else make(list(a.items() if make is dict else a))
                yield f(ramp(2), a, b)
    return f, calls


@trap
def one_list_of_numbers_twice_is_written_to():
    """What is written to a list is read by its other name."""
    def f(x, a, b, t):
        a[0] = a[0] * 3
        return x * b[0] + t[1][0], b, t
    def calls(f):
        k = several()
        for shared in (True, False, True):
            for _ in range(5):
                xs = [next(k), next(k)]
                ys = xs if shared else list(xs)
                t = (1.5, xs if shared else ys)
                y, b, u = f(ramp(2), xs, ys, t)
                yield y, xs, ys, b is ys, u is t
    return f, calls


@trap
def tuples_of_numbers_are_the_ones_given():
    """A tuple and a named one are returned, held by an object outside and compared by identity."""
    o = Box(last=None, seen=[])
    def f(x, t, n):
        same, o.last = o.last is t, t
        return x * t[0] + n.rate, t, n, same, {"n": n}, (t[0], n.weight)
    def calls(f):
        k = several()
        t = (1.0, 2.0)
        for i in range(12):
            t = t if i % 4 == 3 else (next(k), next(k))
            n = Options(next(k), next(k))
            y, a, b, same, d, pair = f(ramp(2), t, n)
            yield y, a is t, b is n, same, d["n"] is n, pair, o.last is t, type(o.last[0])
    return f, calls


@trap
def tuples_of_numbers_in_objects_of_the_run():
    """An object that the function makes holds the given tuple, and one outside gets it appended."""
    kept = []
    def f(x, t):
        kept.append(t)
        return x * t[0], Box(t=t, first=t[0])
    def calls(f):
        k = several()
        for _ in range(8):
            t = (next(k), next(k))
            y, made = f(ramp(2), t)
            yield y, made.t is t, made.t, made.first, kept[-1] is t, type(kept[-1][0])
    return f, calls


@trap
def a_list_that_is_also_reached_from_outside():
    """A list among the arguments is a global's, too, and an attribute of another argument's."""
    o = Box(xs=[0.5, 1.5])
    class Holder:
        """Not compared by what it holds."""
        def __init__(self, xs):
            self.xs = xs
    h = Holder(o.xs)
    def f(x, xs, holder=None):
        return x * xs[0] + o.xs[1] + (holder.xs[0] if holder else 0), xs is o.xs
    def calls(f):
        k = several()
        for _ in range(4):
            yield f(ramp(2), [next(k), next(k)])
        for _ in range(6):
            o.xs[0] = next(k)
            yield f(ramp(2), o.xs)
        for _ in range(4):
            o.xs[1] = next(k)
            yield f(ramp(2), o.xs, h)
    return f, calls


@trap
def python_goes_on_from_numbers_in_a_list():
    """Branches, sizes, indices, text and sets by numbers of a list and a dict."""
    def f(x, how, xs):
        if how == "branch":
            return x * 2 if xs[0] > 2 else x * 3
        if how == "size":
            return x.repeat(xs[0])
        if how == "index":
            return x[xs[1]]
        if how == "sort":
            return x * sorted(xs)[0], max(xs), min(xs)
        if how == "member":
            return x * (2 if 2 in xs else 5), xs.count(1), outcome(lambda: xs.index(3))
        if how == "text":
            return x * 2, f"{xs}", f"{xs[0]:.3f}", str(xs[1])
        if how == "set":
            return x * len({*xs}), {xs[0]: 1}[xs[0]]
        if how == "numpy":
            return x * float(np.array(xs).sum()), np.mean(xs)
        return x * whet.tensor([xs, xs]).sum(), whet.as_tensor(xs), whet.tensor(tuple(xs))
    def calls(f):
        for how in ("branch", "size", "index", "sort", "member", "text", "set", "numpy", "tensor"):
            for a, b in ((1, 0), (2, 1), (3, 0), (3, 3), (4, 1), (1, 0)):
                yield outcome(lambda: f(ramp(2), how, [a, b]))
    return f, calls


@trap
def types_of_numbers_in_containers():
    """Ints, floats, booleans and NumPy's numbers take turns in a list and a dict."""
    def f(x, xs, d):
        kinds = [type(v).__name__ for v in xs]
        return x * xs[0] + xs[1], kinds, d["a"] + 1, isinstance(d["a"], float)
    def calls(f):
        nan, wide = float("nan"), 1 << 70
        for a in (1, 2, 2.5, 3.5, True, False, np.float64(2.5), 4, 5.5, -0.0, 0.0, nan, wide):
            for b in (1.5, 2.5):
                yield f(ramp(2), [a, b], {"a": b, "b": a})
    return f, calls


@trap
def copies_of_lists_of_numbers():
    """Copies, slices, joins and deep copies of what is given, returned and kept."""
    o = Box(last=None)
    def f(x, xs, d):
        o.last = [*xs, x.sum()]
        copies = list(xs), xs[1:], xs + [1.0], xs * 2, tuple(xs), xs[::-1]
        return x * xs[-1], copies, {**d}, copy.copy(d), copy.deepcopy(d)
    def calls(f):
        k = several()
        for _ in range(8):
            xs = [next(k), next(k)]
            d = {"a": xs, "b": {"c": next(k)}}
            out = f(ramp(2), xs, d)
            shallow, deep = out[3:]
            yield out, o.last, shallow["a"] is xs, deep["a"] is xs
            yield type(deep["b"]["c"]), type(o.last[0])
    return f, calls


@trap
def an_error_while_numbers_are_exchanged():
    """The function raises midway: the list is as it was."""
    def f(x, xs, fails):
        y = x * xs[0]
        xs[1] = xs[1] + 1
        if fails:
            raise ValueError(f"no {len(xs)}")
        return y
    def calls(f):
        k = several()
        for i in range(10):
            xs = [next(k), next(k), next(k)]
            yield outcome(lambda: f(ramp(2), xs, i % 3 == 2)), xs, [type(v) for v in xs]
    return f, calls


@trap
def hyper_parameters_by_name():
    """A dict of hyper-parameters, passed on by `**`, with counts among the rates."""
    def step(x, lr, scale=1.0, n=1):
        for _ in range(n):
            x = x - lr * x * scale
        return x
    def f(x, hp):
        return step(x, **hp), hp
    def calls(f):
        k = several()
        for n in (1, 1, 2, 2, 2, 1, 1):
            for _ in range(2):
                hp = dict(lr=next(k) / 64, scale=next(k), n=n)
                y, back = f(ramp(3), hp)
                yield y, back is hp, back
    return f, calls


@trap
def lists_within_lists_of_numbers():
    """Nested lists, ragged and even, of which some parts are one object."""
    def f(x, rows):
        many = sum(len(row) for row in rows)
        return [x * (row[0] if row else 1) for row in rows], many, rows[0] is rows[-1]
    def calls(f):
        k = several()
        for _ in range(6):
            row = [next(k)]
            yield f(ramp(2), [[next(k), next(k)], [], row])
        for _ in range(6):
            row = [next(k)]
            yield f(ramp(2), [row, [next(k)], row])
    return f, calls


@trap
def a_set_outside_and_an_object_made_inside():
    """A number is added to a set; another one becomes an attribute of an object that is made."""
    SEEN.clear()

    def f(options, named):
        SEEN.add(options.size)
        return Pair(named["n"], 3.25)

    def calls(f):
        for k in range(6):
            yield f(Pair(1, 0.5 + k), {"n": k - 1}), set(SEEN)
    return f, calls


def written_over(write):
    """A trap: `write` puts a number into what it is given. That equals what was there in some
    calls, and does not in others."""
    def f(x, numbers, named, pair, k):
        write(numbers, named, pair, k)
        return x * k

    def calls(f):
        for was, k in ((-1.5, 0.0), (0.0, 0.0), (2.0, 0.0), (3.0, 0.0), (3.0, 1.0), (2.0, 2.0),
                       (4.0, 2.0), (0.0, 0.0), (4.5, 2.0)):
            numbers, named, pair = [was, 2.5], {"a": was, "b": 1}, Pair(3, was)
            yield f(ramp(2), numbers, named, pair, k), numbers, named, pair
    return f, calls


@trap
def a_number_of_a_list_is_written_over_an_equal_one():
    """By an argument."""
    def write(numbers, named, pair, k):
        numbers[0] = k
    return written_over(write)


@trap
def a_number_of_a_dict_is_written_over_an_equal_one():
    """By an argument, through a method."""
    def write(numbers, named, pair, k):
        named.update(a=k, b=1)
    return written_over(write)


@trap
def a_number_of_an_object_is_written_over_an_equal_one():
    """By an argument, as an attribute."""
    def write(numbers, named, pair, k):
        pair.size = k
    return written_over(write)
