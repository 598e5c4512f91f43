"""Numbers that look alike and are not, numbers that vary, and what is made of them."""
import dataclasses
import datetime
import decimal
import fractions
import functools
import json
import math
import operator

import numpy as np
import whet

from tests.traps.harness import Box, outcome, ramp, thrice, trap


# ---- arguments and numbers -----------------------------------------------------------------------
@trap
def true_is_one_and_is_not():
    """True, 1, 1.0 and np.bool_ as an argument and as a global."""
    o = Box(flag=True)
    def f(x, flag):
        return (x * 2 if flag is True else x - 1), x * o.flag, type(o.flag).__name__
    def calls(f):
        for v in (True, 1, 1.0, np.bool_(True), False, 0, -0.0, np.int64(1)):
            o.flag = v
            yield from thrice(lambda: f(ramp(2), v))
    return f, calls


@trap
def a_not_a_number_is_kept():
    """NaN in a global, a default and a dict: equal to nothing, the same each time."""
    o = Box(limit=float("nan"))
    def f(x, limit=float("nan")):
        return (x * 2 if o.limit == o.limit else x - 1, x + limit,
                x * 3 if o.limit in [o.limit] else x)
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        o.limit = math.nan
        yield from thrice(lambda: f(ramp(2)))
        o.limit = 1.0
        yield from thrice(lambda: f(ramp(2)))
        yield from thrice(lambda: f(ramp(2), math.inf))
    return f, calls


@trap
def very_large_whole_numbers():
    """Python's ints beyond 64 bits, and a counter that comes to the limit."""
    o = Box(n=(1 << 40) - 2)
    def f(x, big):
        o.n += 1
        return x * (big % 7) + (o.n % 5), o.n * o.n
    def calls(f):
        for k in range(6):
            yield f(ramp(2), 10 ** 30 + k), o.n
        o.n = (1 << 62) - 2
        for _ in range(4):
            yield f(ramp(2), 3), o.n
    return f, calls


@trap
def keys_that_are_equal_and_differ():
    """{1: ..., 1.0: ..., True: ...} is one entry, whose key stays the first."""
    def f(d, x): return {k: v * x for k, v in d.items()}
    def calls(f):
        for d in ({1: 2.0}, {1.0: 2.0}, {True: 2.0}, {"1": 2.0}, {None: 2.0}, {0: 2.0},
                  {-0.0: 2.0}):
            yield from thrice(lambda: f(d, ramp(2)))
    return f, calls


@trap
def keywords_in_another_order():
    """**kwargs keep the order of the call."""
    def f(x, *args, **kwargs):
        for k, v in kwargs.items():
            x = x + v if k.startswith("a") else x * v
        return x, list(kwargs), len(args)
    def calls(f):
        yield from thrice(lambda: f(ramp(2), a=1.0, b=2.0))
        yield from thrice(lambda: f(ramp(2), b=2.0, a=1.0))
        yield from thrice(lambda: f(ramp(2), 5, b=2.0, a=1.0))
        yield from thrice(lambda: f(ramp(2), **{"b": 2.0, "a c": 1.0}))
    return f, calls


@trap
def integers_run_over():
    """int8 and int32 arithmetic wraps; numbers that vary meet it."""
    def f(x, y, n): return x * n, y + n, x + y, y // 3
    def calls(f):
        x, y = (whet.tensor([100, -100], dtype=whet.int8),
                whet.tensor([2**31 - 1, -2**31], dtype=whet.int32))
        for n in (1, 1, 2, 3, 100, -7, 2, 127):
            yield outcome(lambda: f(x, y, n))
    return f, calls


@trap
def powers_of_numbers_that_vary():
    """**, math.sqrt, math.exp and round of a step that counts."""
    o = Box(step=0)
    def f(x):
        o.step += 1
        rate = 0.1 * math.exp(-o.step / 3) + 2.0 ** -o.step
        bias = 1 - 0.9 ** o.step
        return x * rate / bias + math.sqrt(o.step)
    def calls(f):
        for _ in range(12):
            yield f(ramp(2)), o.step
    return f, calls


@trap
def a_warm_up_that_ends():
    """min(), max() and a comparison of a step that counts."""
    o = Box(step=0)
    def f(x):
        o.step += 1
        rate = min(1.0, o.step / 4) * max(0.1, 1 - o.step / 20)
        return x * rate if o.step % 3 else x
    def calls(f):
        for _ in range(12):
            yield f(ramp(2)), o.step
    return f, calls


@trap
def a_text_is_made_of_a_number():
    """f"step {n}" is returned and kept; a number in a key."""
    o, log = Box(step=0), {}
    def f(x):
        o.step += 1
        log[f"step {o.step}"] = o.step
        return x * o.step, f"{o.step:03d}/{o.step * 0.5:.2f}"
    def calls(f):
        for _ in range(8):
            yield f(ramp(2)), dict(log)
    return f, calls


# ---- numbers that look like numbers --------------------------------------------------------------
@trap
def the_type_of_a_number_is_asked_for():
    """type(n) is int, type(n) in a dict of types, isinstance and a match."""
    o, rate = Box(n=0), Box(v=0.5)
    by_type = {int: 2.0, float: 3.0}
    def f(x):
        o.n += 1
        rate.v *= 0.5
        y = x * (2 if type(o.n) is int else 5) + by_type[type(rate.v)]
        match o.n:
            case int(): y = y + 1
            case _: y = y - 1
        return y * rate.v, isinstance(o.n, int), o.n.__class__.__name__
    def calls(f):
        for _ in range(6):
            yield f(ramp(2)), o.n
    return f, calls


@trap
def numbers_are_written_as_json():
    """json.dumps of a step and a loss, into a list."""
    o, lines = Box(n=0), []
    def f(x):
        o.n += 1
        if o.n % 5 == 0:
            lines.append(json.dumps({"step": o.n, "loss": x.mean().item()}))
        return x * o.n
    def calls(f):
        for k in range(11):
            yield f(ramp(2) * k), list(lines)
    return f, calls


@trap
def numbers_meet_arrays():
    """float32 array * number stays float32, by operator, by function, by where."""
    a, o = np.ones(2, np.float32), Box(v=0.5, n=1)
    def f(x):
        o.v, o.n = o.v + 1, o.n + 1
        parts = (a * o.v, o.v * a, np.multiply(a, o.v), np.where(a > 2, a, o.v), a + o.n,
                 np.add(o.n, a), np.float32(o.v), np.full(2, o.n))
        return x * o.v, [p.dtype.name for p in parts], [float(p.sum()) for p in parts]
    def calls(f):
        for _ in range(6):
            yield f(ramp(2))
    return f, calls


@trap
def numbers_are_dates_and_decimals():
    """C types that accept nothing but a float."""
    o = Box(v=0.5, n=1)
    def f(x):
        o.v, o.n = o.v + 1, o.n + 1
        wait = datetime.timedelta(seconds=o.v) if o.n % 5 == 0 else None
        return (x * o.v, wait is None or wait.seconds, o.n % 5 or str(decimal.Decimal(o.n)),
                str(fractions.Fraction(o.n, 3)), complex(o.v, 1))
    def calls(f):
        for _ in range(6):
            yield f(ramp(2))
    return f, calls


@trap
def numbers_are_converted_by_methods():
    """__int__, __float__, __index__, __bool__ and __hash__ that give an attribute."""
    class Meter:
        def __init__(self): self.n, self.v = 0, 0.5
        def __int__(self): return self.n
        def __index__(self): return self.n
        def __float__(self): return self.v
        def __bool__(self): return self.n > 2
        def __hash__(self): return self.n
    m = Meter()
    def f(x):
        m.n, m.v = m.n + 1, m.v * 2
        return x * float(m) + int(m) if m else x * hash(m), [10, 20, 30, 40, 50, 60, 70, 80][m]
    def calls(f):
        for _ in range(6):
            yield f(ramp(2))
    return f, calls


@trap
def numbers_are_put_away():
    """In tuples, sets, keys, frozen dataclasses, partials and closures that outlive the call."""
    @dataclasses.dataclass(frozen=True)
    class Point:
        step: int
    o = Box(n=0, kept=[])
    def f(x):
        o.n += 1
        n = o.n
        o.kept.append((n, {n: n}, frozenset([n]), Point(n), functools.partial(max, n, 2), lambda: n,
                       [(n, (n,))]))
        return x * n
    def calls(f):
        for _ in range(6):
            y = f(ramp(2))
            n, d, s, p, q, c, t = o.kept[-1]
            yield y, [type(v).__name__
                      for v in (n, *d, *d.values(), *s, p.step, *q.args, c(), t[0][0],
                                t[0][1][0])], n, p.step, c(), q()
    return f, calls


@trap
def numbers_are_kept_by_an_iterator():
    """What a generator, a range and a zip over numbers keep after the call."""
    o = Box(n=0, it=None)
    def f(x):
        o.n += 1
        o.it = iter([o.n, o.n + 1])
        return x * o.n
    def calls(f):
        for _ in range(6):
            y = f(ramp(2))
            yield y, [(type(v).__name__, v) for v in o.it]
    return f, calls


@trap
def numbers_are_compared_by_identity():
    """`is`, `operator.is_` and `id` of numbers that vary: arguments, in a list, and what is made of
    them."""
    def f(x, a, few):
        return (x * 2 if a is few[0] else x, x + 1 if few[0] is few[1] else x - 1,
                x * 3 if operator.is_(a, few[1]) else x, (a > 1) is True,
                x * 5 if id(a) == id(few[0]) else x)
    def calls(f):
        for few in ([1, 2], [2, 2], [1, 1], [0, 1], [2, 1], [1, 1]):
            for a in (0, 1, 2):
                yield f(ramp(2), a, list(few))
    return f, calls


@trap
def a_number_is_compared_with_a_global_by_identity():
    """The global is a number now, and something else later."""
    o = Box(mark=1)
    def f(x, a):
        return x * 2 if a is o.mark else x
    def calls(f):
        for mark in (1, 2, None, "text", 0, 1):
            o.mark = mark
            for a in (0, 1, 2, 1, 0, 2):
                yield f(ramp(2), a)
    return f, calls


@trap
def identity_of_what_is_no_number_lets_numbers_vary():
    """The everyday questions: is something None, a certain object, of a certain class."""
    missing = object()
    def f(x, rate, scale=missing, shift=None):
        x = x * rate
        x = x if scale is missing else x * scale
        return x if shift is None else x + shift
    def calls(f):
        for i in range(9):
            yield f(ramp(2), 0.1 * i)
            yield f(ramp(2), 0.1 * i, 2.0 + i, shift=None if i % 2 else 0.5 * i)
    return f, calls


@trap
def operators_by_the_names_of_their_methods():
    """They give NotImplemented for what Python's own class of number does not know."""
    def f(x, k):
        return x * 2, repr(k.__mul__(2.0)), repr(k.__lt__(2.5)), k.__add__(1)

    def calls(f):
        for k in (1.5, -0.25, 3.5, 2, 4, 7, 2.25):
            yield f(ramp(2), k)
    return f, calls


# ---- numbers that are made of sizes --------------------------------------------------------------
@trap
def the_middle_of_some_sizes_is_the_same():
    """`x.roll(len(x) // 2)` moves 2 and 3 elements by 1, and 4 by 2. Of two dtypes, the second has
    the graph of the first."""
    def f(x): return x.roll(x.shape[0] // 2)
    def calls(f):
        for n in (2, 2, 2, 3, 4, 5, 6, 7):
            yield f(ramp(n)), f(ramp(n).double())
    return f, calls


@trap
def ops_move_by_the_middle():
    """fftshift asks for the middle itself."""
    def f(x): return whet.fft.fftshift(x)
    def calls(f):
        for n in (2, 2, 2, 3, 4, 5, 6, 7):
            yield f(ramp(n))
    return f, calls


@trap
def a_number_beside_tensors_of_one_type():
    """lerp takes tensors of one type, and a number of any."""
    def f(x, weight): return whet.lerp(x, x * 2, weight)
    def calls(f):
        for weight in (0.5, 0.5, 0.25, 0.75, 1.0):
            yield f(ramp(3).half(), weight), f(ramp(3), weight)
    return f, calls
