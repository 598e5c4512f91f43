"""Programs of doubters: what calls and containers of Python can hide from a tracer."""
import contextlib
import functools
import inspect
import operator

import whet

from tests.traps.harness import Box, outcome, ramp, thrice, trap


@trap
def functions_of_functools_keep_things():
    """cached_property, lru_cache with a tuple of numbers, singledispatchmethod, reduce,
    cmp_to_key."""
    class Model:
        k = 2.0
        @functools.cached_property
        def table(self): return ramp(2) * self.k
        @functools.singledispatchmethod
        def by(self, v): return 1.0
        @by.register
        def _(self, v: int): return v * self.k
        @by.register
        def _(self, v: str): return len(v) * self.k
    m = Model()
    @functools.lru_cache(maxsize=2)
    def size(a, b=1): return a * b + Model.k
    def f(x, v):
        order = sorted([3, 1, 2], key=functools.cmp_to_key(lambda a, b: (a - b) * (1 if m.k > 0
                                                                                   else -1)))
        return (x * m.by(v) + m.table + size(v if type(v) is int else 0, 2) + order[0],
                functools.reduce(operator.mul, [x, x, m.k]))
    def calls(f):
        for v in (2, 2, 2, "abc", "abc", 2.5, 2):
            yield f(ramp(2), v)
        m.k = -3.0
        for v in (2, 2, 2, "abc"):
            yield f(ramp(2), v)
        del m.table
        Model.k = 11.0
        for v in (2, 2, 3, 4, 5, 2):
            yield f(ramp(2), v)
        size.cache_clear()
        yield from thrice(lambda: f(ramp(2), 2))
    return f, calls


@trap
def wrappers_wear_what_they_wrap():
    """functools.wraps with an attribute, a decorator with arguments, a stack of them,
    `__wrapped__`."""
    def scaled(by):
        def deco(g):
            @functools.wraps(g)
            def inner(*args, **kwargs):
                inner.calls += 1
                return g(*args, **kwargs) * by * inner.gain
            inner.calls, inner.gain = 0, 1.0
            return inner
        return deco
    @scaled(2.0)
    @scaled(3.0)
    def g(x, *, plus=1.0): return x + plus
    def f(x): return g(x, plus=2.0) + g.__wrapped__(x) + g.__wrapped__.__wrapped__(x), g.calls
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        g.gain = 10.0
        yield from thrice(lambda: f(ramp(2)))
        g.__wrapped__.gain = -1.0
        yield from thrice(lambda: f(ramp(2)))
        g.__wrapped__.__wrapped__.__kwdefaults__["plus"] = 50.0
        yield from thrice(lambda: f(ramp(2)))
        yield g.calls, g.__wrapped__.calls
    return f, calls


@trap
def managers_of_contexts_with_state():
    """ExitStack, contextmanager, a class that swallows, a reusable one, closing, nullcontext,
    nested."""
    log, o = [], Box(k=1.0, swallow=True)
    @contextlib.contextmanager
    def scaled(by):
        before, o.k = o.k, o.k * by
        try:
            yield o.k
        finally:
            o.k = before
            log.append("out")
    class Swallow:
        depth = 0
        def __enter__(self):
            Swallow.depth += 1
            return self
        def __exit__(self, kind, e, tb):
            Swallow.depth -= 1
            return o.swallow and kind is ValueError
    s = Swallow()
    def f(x, fail):
        with contextlib.ExitStack() as stack:
            k = stack.enter_context(scaled(2.0))
            stack.callback(log.append, "end")
            with s, s, contextlib.suppress(KeyError):
                x = x * k * Swallow.depth
                if fail:
                    raise (ValueError if fail == 1 else KeyError)("no")
                x = x + 1
        with scaled(3.0) as a, scaled(a) as b, contextlib.nullcontext(5.0) as c:
            return x + a + b + c + o.k
    def calls(f):
        for fail in (0, 0, 0, 1, 1, 2, 2, 0):
            yield f(ramp(2), fail), len(log), Swallow.depth, o.k
        o.swallow = False
        for fail in (0, 1, 2, 1, 0):
            yield outcome(lambda: f(ramp(2), fail)), len(log), Swallow.depth, o.k
    return f, calls


@trap
def exceptions_carry_the_flow():
    """StopIteration by hand, for-else, try-else-finally, return in finally, raise from, notes,
    groups."""
    class Found(Exception):
        def __init__(self, value, at): self.value, self.at = value, at
    def search(xs, limit):
        for i, x in enumerate(xs):
            if x.sum() > limit:
                raise Found(x * 2, i)
        else:
            raise LookupError("none")
    def f(xs, limit):
        n = 0
        try:
            search(xs, limit)
        except Found as e:
            out, n = e.value, e.at
        except LookupError as e:
            e.add_note("searched")
            try:
                raise RuntimeError("again") from e
            except RuntimeError as r:
                out = xs[0] * 0 + len(r.__cause__.__notes__)
        else:
            out = None
        finally:
            n += 10
        try:
            raise ExceptionGroup("g", [ValueError(1), TypeError(2)])
        except* ValueError as g:
            n += len(g.exceptions)
        except* TypeError:
            n += 100
        return out, n
    def calls(f):
        xs = [ramp(2) * k for k in (1, 2, 3)]
        for limit in (1, 1, 1, 2, 4, 100, 100, 1):
            yield f(xs, limit)
    return f, calls


@trap
def a_return_in_finally_hides_an_error():
    """What was raised is lost, what was written stays, and a loop is left by `continue` in
    `finally`."""
    o = Box(n=0, last=None)
    def f(x, n):
        for i in range(3):
            try:
                o.n += 1
                if i == n:
                    raise ValueError("lost")
                x = x * 2
            finally:
                o.last = x
                if i == n:
                    continue  # noqa: B012
            x = x + 1
        try:
            return x
        finally:
            if n == 2:
                return x - 100, o.n  # noqa: B012
    def calls(f):
        for n in (0, 0, 0, 1, 2, 2, 5, 0):
            yield f(ramp(2), n), o.n, o.last
    return f, calls


@trap
def generators_within_the_call():
    """`yield from` with a result, send, throw, close, a generator that reads state between
    yields."""
    o, log = Box(k=1.0), []
    def inner(x):
        try:
            got = yield x * o.k
            got = yield x + (got or 0)
        except KeyError:
            got = -1.0
        finally:
            log.append("closed")
        return x * (got or 3)
    def outer(x):
        result = yield from inner(x)
        yield result
        yield from (x + i for i in range(2))
    def f(x, how):
        g = outer(x)
        first = next(g)
        o.k = o.k + 1
        if how == "send":
            second = g.send(2.0)
        elif how == "throw":
            second = g.throw(KeyError("k"))
        else:
            g.close()
            second = x
        return first, second, list(g)
    def calls(f):
        for how in ("send", "send", "send", "throw", "close", "throw", "send"):
            yield f(ramp(2), how), len(log), o.k
    return f, calls


@trap
def walrus_and_comprehensions_share_names():
    """A walrus in a comprehension binds outside, late binding of loop variables, nested scopes."""
    o = Box(limit=2.0)
    def f(xs):
        kept = [y for x in xs if (y := x * 2).sum() > o.limit]
        late = [lambda v: v * i for i in range(3)]
        early = [lambda v, i=i: v * i for i in range(3)]
        total = sum(g(xs[0]) for g in late) - sum(g(xs[0]) for g in early)
        while (n := len(kept)) < 3:
            kept.append(y + n)
        return kept, total, {k: v for k, v in zip("ab", kept)}["a"]
    def calls(f):
        xs = [ramp(2), ramp(2) * 3, ramp(2) * 0]
        yield from thrice(lambda: f(xs))
        o.limit = 8.0
        yield from thrice(lambda: f(xs))
        yield from thrice(lambda: f(xs[::-1]))
    return f, calls


@trap
def patterns_are_matched():
    """match on classes with `__match_args__`, mappings with the rest, sequences, guards,
    captures."""
    class Op:
        __match_args__ = ("name", "k")
        def __init__(self, name, k): self.name, self.k = name, k
    o = Box(limit=3)
    def f(x, what):
        match what:
            case Op("scale", k) if k < o.limit:
                return x * k
            case Op(name="scale" | "shift" as n, k=float() | int() as k):
                return x + k + len(n)
            case {"kind": "affine", "w": w, **rest}:
                return x * w + sum(rest.values()) + len(rest)
            case [first, *middle, last]:
                return x * first + last + len(middle)
            case str(s) if s.isdigit():
                return x * int(s)
            case None | True:
                return x
            case o.limit:
                return -x
            case _:
                return x * 0
    def calls(f):
        for what in (Op("scale", 2), Op("scale", 2), Op("scale", 5), Op("shift", 1.5),
                     {"kind": "affine", "w": 2.0, "b": 1.0}, {"kind": "affine", "w": 2.0},
                     [1, 2, 3], (4, 5), "12", "x", None, True, 3, 4) * 2:
            yield f(ramp(2), what)
        Op.__match_args__ = ("k", "name")
        o.limit = 4
        for what in (Op("scale", 2), Op(2, "scale"), 3, 4):
            yield f(ramp(2), what)
    return f, calls


@trap
def arguments_in_all_forms():
    """Positional only, star args, keyword only with a mutable default, ** merged, names that
    collide."""
    def f(a, /, b=2.0, *rest, c=[1.0], d=None, **more):  # noqa: B006
        c.append(float(len(c)))
        return a * b + sum(rest) + c[-1] + (0 if d is None
                                            else d) + sum(more.values()), sorted(more)
    def calls(f):
        x = ramp(2)
        yield from thrice(lambda: f(x))
        yield f(x, 3.0), f(x, b=3.0), f(x, 3.0, 1.0, 2.0), f(x, a=5.0), f(x, **{"a": 5.0, "z": 1.0})
        yield f(x, d=1.0, c=[7.0]), f(x, d=1.0, c=[7.0])
        yield outcome(lambda: f()), outcome(lambda: f(x, 1.0, b=2.0)), outcome(lambda: f(b=1.0))
        yield from thrice(lambda: f(x))
    return f, calls


@trap
def recursion_with_a_memo():
    """A recursive function with a memo in a default, mutual recursion, a depth that is an
    attribute."""
    o = Box(depth=3)
    def power(x, n, memo={}):  # noqa: B006
        if n not in memo:
            memo[n] = 1 if n == 0 else n + power(x, n - 1)[1]
        return x * memo[n], memo[n]
    def even(n): return True if n == 0 else odd(n - 1)
    def odd(n): return False if n == 0 else even(n - 1)
    def f(x):
        y, n = power(x, o.depth)
        return y + (1 if even(o.depth) else 2), n
    def calls(f):
        for depth in (3, 3, 3, 4, 4, 6, 6, 3):
            o.depth = depth
            yield f(ramp(2))
        power.__defaults__[0].clear()
        yield f(ramp(2)), f(ramp(2))
        power.__defaults__[0][3] = 100
        yield f(ramp(2)), f(ramp(2))
    return f, calls


@trap
def closures_that_share_a_variable():
    """Two closures over one cell, a nonlocal in the inner one, a factory that is called inside."""
    def make(k):
        def get(x): return x * k
        def put(v):
            nonlocal k
            k = v
            return k
        return get, put
    get, put = make(2.0)
    def f(x, v):
        inner_get, inner_put = make(v)
        a = inner_get(x)
        inner_put(v * 2)
        b = get(x)
        put(v + 1)
        return a + inner_get(x), b, get(x)
    def calls(f):
        for v in (1.0, 1.0, 1.0, 2.0, 2.0, 5.0):
            yield f(ramp(2), v), get(ramp(2))
        put(100.0)
        yield f(ramp(2), 1.0)
    return f, calls


@trap
def globals_are_deleted_and_come_again():
    """A global is deleted (a builtin of that name shows), comes again as another kind, is
    rebound."""
    names = {"whet": whet, "__builtins__": __builtins__}
    exec("def f(x):\n    return x * round(2.5) + max(1, 2)\n", names)
    f = names["f"]
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        names["round"] = lambda v: 10
        yield from thrice(lambda: f(ramp(2)))
        del names["round"]
        yield from thrice(lambda: f(ramp(2)))
        names["max"] = min
        yield from thrice(lambda: f(ramp(2)))
        names["max"] = functools.partial(sum, start=5) and (lambda *a: sum(a))
        yield from thrice(lambda: f(ramp(2)))
    return f, calls


@trap
def signatures_and_annotations_decide():
    """inspect.signature binds and gives defaults, annotations choose a cast, `__doc__` a factor."""
    def g(x, k: float = 2.0, *, name: str = "a"):
        """3"""
        return x * k + len(name)
    def f(x, **kw):
        bound = inspect.signature(g).bind(x, **kw)
        bound.apply_defaults()
        for k, p in inspect.signature(g).parameters.items():
            if p.annotation is float:
                bound.arguments[k] = float(bound.arguments[k])
        return g(*bound.args, **bound.kwargs) * int(g.__doc__)
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        yield f(ramp(2), k=3), f(ramp(2), name="abc"), outcome(lambda: f(ramp(2), z=1))
        g.__doc__ = "5"
        yield from thrice(lambda: f(ramp(2)))
        g.__defaults__ = (10.0,)
        yield from thrice(lambda: f(ramp(2)))
        g.__annotations__["k"] = int
        yield from thrice(lambda: f(ramp(2), k=2.7))
    return f, calls


@trap
def a_protocol_of_contexts_by_a_generator_class():
    """A generator-based manager used as a decorator, an async-less awaitable by hand, iter(f,
    end)."""
    o = Box(n=0, end=3)
    @contextlib.contextmanager
    def counted():
        o.n += 1
        yield
        o.n += 10
    @counted()
    def g(x): return x * o.n
    def tick():
        o.n += 1
        return o.n
    def f(x):
        y = g(x)
        for v in iter(lambda: tick() % 5, o.end):
            y = y + v
        return y
    def calls(f):
        for _ in range(6):
            yield f(ramp(2)), o.n
        o.end = 4
        yield from thrice(lambda: (f(ramp(2)), o.n))
    return f, calls
