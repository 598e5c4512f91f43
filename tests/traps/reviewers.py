"""Programs of somebody who does not believe it: everyday Python around tensors, with something
changed between calls."""
import collections
import dataclasses
import functools
import itertools
import os
import time
import types
import warnings
import weakref

import whet

from tests.traps.harness import Box, outcome, ramp, thrice, trap

HOOKED = types.ModuleType("hooked")
exec("scale = 2.0\ndef act(x): return x * scale\n", HOOKED.__dict__)


@trap
def a_dispatch_learns_a_class_later():
    """functools.singledispatch: a class is registered between calls, another one is abstract."""
    @functools.singledispatch
    def area(shape, x): return x * 0
    @dataclasses.dataclass
    class Square:
        side: float
    @dataclasses.dataclass
    class Cube(Square):
        deep: float = 2.0
    area.register(Square, lambda s, x: x * s.side)
    def f(x, shapes): return sum(area(s, x) for s in shapes)
    def calls(f):
        shapes = [Square(2.0), Cube(3.0), None]
        yield from thrice(lambda: f(ramp(2), shapes))
        area.register(Cube, lambda s, x: x * s.side * s.deep)
        yield from thrice(lambda: f(ramp(2), shapes))
        shapes[0].side = 5.0
        yield from thrice(lambda: f(ramp(2), shapes))
        area.register(type(None), lambda s, x: x - 1)
        yield from thrice(lambda: f(ramp(2), shapes))
    return f, calls


@trap
def a_cached_property_is_deleted_and_its_source_changed():
    """functools.cached_property of a dataclass, made inside, deleted and set by hand outside."""
    @dataclasses.dataclass
    class Basis:
        n: int
        @functools.cached_property
        def table(self): return whet.arange(self.n, dtype=whet.float32) * 2
        @functools.cached_property
        def total(self): return self.table.sum().item()
    b = Basis(3)
    def f(x): return x[:b.n] * b.table + b.total
    def calls(f):
        yield from thrice(lambda: (f(ramp(5)), sorted(vars(b))))
        b.n = 4
        yield from thrice(lambda: outcome(lambda: f(ramp(5))))
        del b.table
        yield from thrice(lambda: (f(ramp(5)), sorted(vars(b))))
        del b.total, b.table
        b.n = 2
        yield from thrice(lambda: (f(ramp(5)), sorted(vars(b))))
        b.total = 100.0
        yield from thrice(lambda: f(ramp(5)))
    return f, calls


@trap
def an_lru_cache_keeps_tensors():
    """A table by size and dtype, written to by the caller, cleared between calls."""
    made = []
    @functools.lru_cache(maxsize=2)
    def table(n, kind):
        made.append(n)
        return whet.arange(n).to(kind)
    def f(x): return x + table(len(x), x.dtype)
    def calls(f):
        for n in (2, 2, 3, 3, 2, 4, 2, 3):
            yield f(ramp(n)), list(made), table.cache_info().hits
        table(3, whet.float32).add_(10)
        yield from thrice(lambda: (f(ramp(3)), list(made)))
        table.cache_clear()
        yield from thrice(lambda: (f(ramp(3)), list(made)))
    return f, calls


@trap
def partials_of_partials_with_state():
    """A keyword dict that the caller changes, and a bound method inside of a partial."""
    class Gain:
        def __init__(self): self.k = 2.0
        def apply(self, x, *, shift=0.0, **more): return x * self.k + shift + len(more)
    g, options = Gain(), {"shift": 1.0}
    inner = functools.partial(g.apply, **options)
    outer = functools.partial(inner, extra=1)
    def f(x): return outer(x) + inner(x, **options)
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        options["shift"] = 5.0
        yield from thrice(lambda: f(ramp(2)))
        g.k = 3.0
        yield from thrice(lambda: f(ramp(2)))
        outer.keywords["more"] = 2
        yield from thrice(lambda: f(ramp(2)))
    return f, calls


@trap
def a_generator_of_the_callers_is_consumed():
    """An argument that is a generator, zip or map, half used up by the call."""
    def f(x, it): return x + sum(itertools.islice(it, 2))
    def calls(f):
        for make in (lambda: (i * 2.0 for i in range(5)), lambda: map(float, "12345"),
                     lambda: iter([1.0, 2.0, 3.0, 4.0])):
            it = make()
            for _ in range(3):
                yield outcome(lambda: f(ramp(2), it))
            yield list(it)
    return f, calls


@trap
def a_generator_that_sends_and_throws():
    """A coroutine made inside: send(), throw(), close(), and what its finally writes."""
    closed = whet.zeros(1)
    def worker(x):
        total = x
        try:
            while True:
                try:
                    got = yield total
                except KeyError:
                    total = -total
                else:
                    total = total + got
        finally:
            closed.add_(1)
    def f(x, ks):
        w = worker(x)
        next(w)
        for k in ks:
            y = w.throw(KeyError("k")) if k is None else w.send(k)
        w.close()
        return y
    def calls(f):
        for ks in ((1.0,), (1.0,), (1.0,), (2.0, None), (2.0, None), (2.0, None), (1.0,)):
            yield f(ramp(2), ks), closed.clone()
    return f, calls


@trap
def walrus_and_nonlocal():
    """A name bound in a comprehension's condition, and counted in an enclosing function."""
    def make():
        count, last = 0, None
        def f(x):
            nonlocal count, last
            count += (n := len(x))
            kept = [y for k in range(3) if (y := x * k).sum().item() > 2]
            last = y
            return sum(kept) + count * 0 + n
        return f, lambda: (count, last)
    f, seen = make()
    def calls(f):
        for k in (1, 1, 1, 3, 3, 3, 1, 0, 1):
            yield f(ramp(2) * k), seen()
    return f, calls


@trap
def class_attributes_by_instances_and_subclasses():
    """A default of the class is shadowed, deleted, and set on a base by type()."""
    class A:
        rate, table = 1.0, {"k": 1.0}
        def __call__(self, x): return x * self.rate + self.table["k"]
    class B(A):
        def __call__(self, x): return super().__call__(x) * 2
    a, b = A(), B()
    def f(x): return a(x) + b(x)
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        B.rate = 3.0
        yield from thrice(lambda: f(ramp(2)))
        type(a).table = {"k": 9.0}
        yield from thrice(lambda: f(ramp(2)))
        b.rate = 7.0
        del B.rate
        yield from thrice(lambda: f(ramp(2)))
        A.__call__ = lambda self, x: x - self.rate
        yield from thrice(lambda: f(ramp(2)))
        b.__class__ = A
        yield from thrice(lambda: f(ramp(2)))
    return f, calls


@trap
def a_module_of_the_users_is_patched():
    """Its function, the function's global, then a mock that counts."""
    seen = []
    def f(x): return HOOKED.act(x) + 1
    def calls(f):
        before = HOOKED.act
        try:
            yield from thrice(lambda: f(ramp(2)))
            HOOKED.scale = 4.0
            yield from thrice(lambda: f(ramp(2)))
            HOOKED.act = lambda x: (seen.append(tuple(x.shape)), before(x))[1]
            yield from thrice(lambda: (f(ramp(2)), list(seen)))
            HOOKED.act = functools.wraps(before)(lambda x: before(x) * 3)
            yield from thrice(lambda: f(ramp(2)))
        finally:
            HOOKED.act, HOOKED.scale = before, 2.0
    return f, calls


@trap
def attributes_that_are_made_up():
    """__getattr__, __getattribute__ and __setattr__ with state of their own."""
    class Config:
        def __init__(self):
            object.__setattr__(self, "values", {"lr": 0.5})
            object.__setattr__(self, "reads", [])
        def __getattr__(self, name):
            try:
                return self.values[name]
            except KeyError:
                raise AttributeError(name) from None
        def __setattr__(self, name, value):
            self.values[name] = value
            self.reads.append(name)
    c = Config()
    def f(x):
        c.last = len(x)
        return x * c.lr + getattr(c, "shift", 10.0) * hasattr(c, "shift")
    def calls(f):
        yield from thrice(lambda: (f(ramp(2)), len(c.reads)))
        c.lr = 2.0
        yield from thrice(lambda: (f(ramp(2)), len(c.reads)))
        c.shift = 3.0
        yield from thrice(lambda: (f(ramp(3)), c.last))
        del c.values["shift"]
        yield from thrice(lambda: (f(ramp(3)), len(c.reads)))
    return f, calls


@trap
def time_decides():
    """A deadline, monotonic time and perf_counter, patched by the caller."""
    o = Box(now=100.0)
    def f(x):
        begun = time.monotonic()
        y = x * 2 if time.time() < 105 else x * 3
        return y, time.monotonic() - begun >= 0, time.time() > 0
    def calls(f):
        before = time.time
        time.time = lambda: o.now
        try:
            for now in (100, 100, 100, 106, 106, 106, 104, 106):
                o.now = now
                yield f(ramp(2))
        finally:
            time.time = before
    return f, calls


@trap
def the_environment_by_every_door():
    """os.environ's get, [], in, items, getenv with a default, and a copy that is older."""
    old = dict(os.environ)
    def f(x):
        names = [k for k, _ in os.environ.items() if k.startswith("REVIEW_")]
        return (x * len(names) + int(os.getenv("REVIEW_A", "0")) + ("REVIEW_B" in os.environ)
                + ("REVIEW_A" in old), outcome(lambda: os.environ["REVIEW_B"])[0])
    def calls(f):
        for names in ({}, {"REVIEW_A": "1"}, {"REVIEW_A": "2", "REVIEW_B": "x"}, {"REVIEW_B": "y"}):
            for k in ("REVIEW_A", "REVIEW_B"):
                os.environ.pop(k, None)
            os.environ.update(names)
            yield from thrice(lambda: f(ramp(2)))
    return f, calls


@trap
def returns_in_finally_and_nested_errors():
    """A return in finally swallows, an error in except has a context, a loop's else, and with."""
    class Swallow:
        def __enter__(self): return self
        def __exit__(self, kind, e, tb): return kind is KeyError
    def f(x, k):
        try:
            with Swallow():
                if k == 0:
                    raise KeyError("swallowed")
                if k == 1:
                    raise ValueError("first")
                x = x * 2
        except ValueError as e:
            try:
                x = x.reshape(7)
            except RuntimeError as other:
                return x - 1, type(other.__context__).__name__, str(e)
        finally:
            if k == 2:
                return x + 100  # noqa: B012
        for i in range(k):
            if i == 5:
                break
        else:
            x = x + 1
        return x
    def calls(f):
        for k in (0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 6, 6, 6, 0, 1):
            yield outcome(lambda: f(ramp(2), k))
    return f, calls


@trap
def functions_that_call_themselves(trace):
    """A traced function calls itself, and another that calls it back."""
    o = Box()
    def down(x, n): return x if n == 0 else o.down(x * 2, n - 1) + n
    def even(x, n): return x * 3 if n == 0 else o.odd(x - 1, n - 1)
    def odd(x, n): return -x if n == 0 else o.even(x + 0.5, n - 1)
    o.down, o.even, o.odd = trace(down), trace(even), trace(odd)
    def f(x, n): return o.down(x, n) + o.even(x, n)
    def calls(f):
        for n in (0, 1, 2, 3, 3, 3, 2, 5, 3, 4, 4, 4):
            yield f(ramp(2), n), o.odd(ramp(2), n)
    return f, calls


@trap
def methods_of_every_kind(trace):
    """Traced method, classmethod, staticmethod, property, __call__ and operator of one class."""
    class Op:
        factor = 2.0
        def __init__(self, k): self.k = k
        @trace
        def scaled(self, x): return x * self.k * self.factor
        @classmethod
        def of_class(cls, x): return x + cls.factor
        @staticmethod
        @trace
        def of_nobody(x): return x - 1
        @property
        def twice(self): return lambda x: x * 2 * self.k
        def __call__(self, x): return self.of_class(x) + self.scaled(x)
        def __matmul__(self, x): return self(x) * self.twice(x)
    class Sub(Op):
        factor = 5.0
    a, b = Op(1.0), Sub(3.0)
    bound = trace(Sub.of_class)
    def f(x): return (a @ x) + (b @ x) + Op.of_nobody(x) + bound(x)
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        a.k = 4.0
        yield from thrice(lambda: (f(ramp(2)), b.scaled(ramp(2))))
        Op.factor = 7.0
        yield from thrice(lambda: (f(ramp(2)), a.scaled(ramp(2))))
        Sub.factor = 1.0
        yield from thrice(lambda: f(ramp(2)))
    return f, calls


@trap
def a_default_argument_remembers():
    """f(x, seen=[]) and f(x, *, memo={}), emptied and replaced by the caller."""
    def f(x, seen=[], *, memo={}):  # noqa: B006
        seen.append(len(seen))
        key = x.shape[0]
        if key not in memo:
            memo[key] = x * 0 + len(memo)
        return x + memo[key] + len(seen)
    seen, memo = f.__defaults__[0], f.__kwdefaults__["memo"]
    def calls(call):
        for n in (2, 2, 2, 3, 3, 2, 3):
            yield call(ramp(n)), list(seen), sorted(memo)
        memo.clear(), seen.clear()
        yield from thrice(lambda: (call(ramp(2)), list(seen), sorted(memo)))
        f.__defaults__ = ([1, 2, 3],)
        yield from thrice(lambda: (call(ramp(2)), list(seen)))
    return f, calls


@trap
def returned_containers_are_the_callers():
    """What a call returned is changed, nested and kept: the next call makes it anew."""
    shared = {"n": 1}
    def f(x):
        parts = {"a": [x * 1, x * 2], "b": (x + 1, [3, {"k": x}]), "s": {1, 2}}
        return parts, [parts["a"]] * 2, shared
    def calls(f):
        for k in range(5):
            parts, twice, same = f(ramp(2))
            one = twice[0] is parts["a"], twice[0] is twice[1], same is shared
            yield parts["a"], parts["b"], one
            parts["a"].append(whet.zeros(1))
            parts["b"][1][1].clear()
            parts["a"][0].zero_()
            parts["s"].add(9)
            same["n"] += k
    return f, calls


@trap
def weak_references():
    """To the argument, to a module of layers, to what is gone by the next call."""
    class Thing:
        k = 2.0
    o = Box(thing=Thing())
    ref, table = weakref.ref(o.thing), weakref.WeakKeyDictionary()
    def f(x):
        t = ref()
        table[x] = 1
        return (x * t.k if t is not None else x - 1), len(table)
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        o.thing.k = 3.0
        yield from thrice(lambda: f(ramp(2)))
        o.thing = None
        yield from thrice(lambda: f(ramp(2)))
    return f, calls


@trap
def warnings_of_the_users():
    """warnings.warn with a text of the data, once per place, and turned into errors."""
    def f(x, k):
        if x.sum() > 3:
            warnings.warn(f"large: {x.sum().item():.1f}", RuntimeWarning, stacklevel=2)
        warnings.warn("old", DeprecationWarning, stacklevel=1 + k)
        return x * 2
    def calls(f):
        for k in (0, 0, 0, 1, 1, 1):
            yield f(ramp(2) * (k + 1), k)
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            for k in (1, 3, 1, 3):
                yield outcome(lambda: f(ramp(2) * k, 0))
    return f, calls


@trap
def isinstance_goes_by_later_classes():
    """Subclasses, a metaclass' __instancecheck__ that changes its mind, match and typing unions."""
    class Meta(type):
        allowed = True
        def __instancecheck__(cls, x): return cls.allowed and hasattr(x, "shape")
    class Shaped(metaclass=Meta):
        pass
    class Special(dict):
        pass
    def f(x, o):
        if isinstance(x, Shaped):
            x = x + 1
        match o:
            case Special():
                return x * 2
            case {"k": k, **rest}:
                return x * k + len(rest)
            case [a, *others]:
                return x + a * len(others)
            case bool():
                return -x
            case float() | int():
                return x - o
        return x
    def calls(f):
        options = (Special(k=1), {"k": 3}, {"k": 3, "l": 1}, [1, 2, 3], (4.0,), 2, 2.0, True, "no")
        for allowed in (True, False, True):
            Meta.allowed = allowed
            for o in (*options, *options[:2]):
                yield f(ramp(2), o)
    return f, calls


@trap
def records_with_rules():
    """A frozen dataclass with __post_init__, replace(), a namedtuple with a method, and slots."""
    @dataclasses.dataclass(frozen=True)
    class Spec:
        n: int
        scale: float = 2.0
        made: list = dataclasses.field(default_factory=list, compare=False)
        def __post_init__(self): self.made.append(self.n)
    class Pair(collections.namedtuple("Pair", "a b")):
        def total(self): return self.a + self.b
    @dataclasses.dataclass(slots=True)
    class State:
        step: int = 0
        mean: whet.Tensor | None = None
    st = State()
    def f(x, spec):
        st.step += 1
        st.mean = x.mean() if st.mean is None else st.mean * 0.5 + x.mean() * 0.5
        p = Pair(x, spec.scale)
        return p.total() * spec.n, dataclasses.replace(spec, n=spec.n + 1).n, p._replace(b=0).b
    def calls(f):
        specs = [Spec(1), Spec(2), Spec(1, 3.0)]
        for k in (0, 0, 0, 1, 1, 2, 2, 2, 0):
            yield f(ramp(2), specs[k]), st.step, st.mean, specs[k].made
        st.step, st.mean = -5, None
        yield from thrice(lambda: (f(ramp(2), specs[0]), st.step, st.mean))
    return f, calls


@trap
def descriptors_with_state():
    """A descriptor that counts reads, a property whose setter clips, __set_name__, __delete__."""
    class Counted:
        def __set_name__(self, owner, name): self.name = "_" + name
        def __get__(self, o, owner=None):
            if o is None:
                return self
            o.reads = getattr(o, "reads", 0) + 1
            return getattr(o, self.name, 1.0)
        def __set__(self, o, v): setattr(o, self.name, min(v, 10.0))
        def __delete__(self, o): delattr(o, self.name)
    class Layer:
        gain = Counted()
        @property
        def bias(self): return self._bias
        @bias.setter
        def bias(self, v): self._bias = max(v, 0.0)
    m = Layer()
    m.bias = -1.0
    def f(x):
        m.gain = m.gain * 2
        m.bias = m.bias + 0.5
        return x * m.gain + m.bias
    def calls(f):
        yield from [(f(ramp(2)), m.reads, m._bias, m._gain) for _ in range(7)]
        del m.gain
        yield from [(f(ramp(2)), m.reads, m._bias) for _ in range(3)]
        m.bias = -3.0
        yield from [(f(ramp(2)), m.reads, m._bias) for _ in range(3)]
    return f, calls


@trap
def counters_and_deques_and_chains():
    """A Counter, a bounded deque that rotates, ChainMap layers, a defaultdict's factory."""
    seen, recent = collections.Counter(), collections.deque(maxlen=3)
    base = {"k": 1.0}
    layers, groups = collections.ChainMap({}, base), collections.defaultdict(list)
    def f(x, name):
        seen[name] += 1
        recent.appendleft(seen[name])
        recent.rotate(1)
        groups[name].append(len(groups))
        top = seen.most_common(1)[0][0]
        return x * layers["k"] + sum(recent) + len(top) + len(groups[top])
    def calls(f):
        for name in "a a a bb bb bb bb a a a a a".split():
            y, lists = f(ramp(2), name), {k: list(v) for k, v in groups.items()}
            yield y, dict(seen), list(recent), lists
        layers["k"] = 2.0
        yield f(ramp(2), "a")
        del layers["k"]
        base["k"] = 5.0
        yield from thrice(lambda: f(ramp(2), "a"))
    return f, calls
