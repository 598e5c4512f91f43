"""Programs of doubters: what classes and their instances can hide from a tracer."""
import abc
import collections
import dataclasses
import enum
import types
import typing

import whet

from tests.traps.harness import Box, outcome, ramp, thrice, trap


@trap
def a_descriptor_learns_its_name_again():
    """`__set_name__` gives a descriptor a key; a second class shares it under another name."""
    class Scaled:
        def __set_name__(self, owner, name): self.key = "_" + name
        def __get__(self, o, t=None): return self if o is None else o.__dict__.get(self.key, 1.0)
        def __set__(self, o, v): o.__dict__[self.key] = v * 2
    d = Scaled()
    class A:
        k = d
    a = A()
    def f(x): return x * a.k + a.__dict__.get("_other", 0.0)
    def calls(f):
        a.k = 2.0
        yield from thrice(lambda: f(ramp(2)))
        a.__dict__["_other"] = 5.0
        yield from thrice(lambda: f(ramp(2)))
        d.__set_name__(A, "other")
        yield from thrice(lambda: f(ramp(2)))
        del A.k
        yield outcome(lambda: f(ramp(2)))
        A.k = 7.0
        yield from thrice(lambda: f(ramp(2)))
    return f, calls


@trap
def attributes_are_looked_up_in_odd_ways():
    """`__getattribute__` counts, `__getattr__` invents, `__slots__` and a dict beside each
    other."""
    class Odd:
        __slots__ = ("n", "__dict__")
        def __init__(self): object.__setattr__(self, "n", 0)
        def __getattribute__(self, name):
            if not name.startswith("_") and name != "n":
                object.__setattr__(self, "n", object.__getattribute__(self, "n") + 1)
            return object.__getattribute__(self, name)
        def __getattr__(self, name): return len(name) + self.n
    o = Odd()
    def f(x): return x * o.abc + o.n
    def calls(f):
        yield from thrice(lambda: (f(ramp(2)), o.n))
        o.abc = 10
        yield from thrice(lambda: (f(ramp(2)), o.n))
        del o.abc
        yield from thrice(lambda: (f(ramp(2)), o.n))
    return f, calls


@trap
def a_metaclass_answers_for_its_classes():
    """`__call__`, `__getattr__`, `__contains__`, `__iter__` and `__instancecheck__` of a
    metaclass."""
    class Meta(type):
        made: list = []
        def __call__(cls, *args):
            self = super().__call__(*args)
            Meta.made.append(cls.__name__)
            return self
        def __getattr__(cls, name): return Meta.scale if name == "scale" else 3.0
        def __instancecheck__(cls, o): return getattr(o, "tag", None) == cls.__name__
        def __iter__(cls): return iter((1.0, Meta.scale))
        def __contains__(cls, v): return v == Meta.scale
    Meta.scale = 2.0
    class A(metaclass=Meta):
        def __init__(self, k): self.k = k
    o = Box(tag="A")
    def f(x):
        a = A(4.0)
        return x * a.k + A.scale + sum(A) + (2.0 in A) + isinstance(o, A), len(Meta.made)
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        Meta.scale = 5.0
        yield from thrice(lambda: f(ramp(2)))
        o.tag = "B"
        yield from thrice(lambda: f(ramp(2)))
        yield list(Meta.made)
    return f, calls


@trap
def subclasses_are_configured_as_they_are_made():
    """`__init_subclass__` with keywords, `__class_getitem__`, classes made inside of the
    function."""
    class Base:
        k = 1.0
        def __init_subclass__(cls, k=1.0, **more):
            super().__init_subclass__(**more)
            cls.k = k * Base.k
        def __class_getitem__(cls, n): return type(cls.__name__, (cls,), {"n": n}, k=n)
    def f(x, n):
        class Here(Base, k=n + 1):
            pass
        return x * Here.k + Base[n].k + Base[n].n
    def calls(f):
        for n in (2, 2, 2, 3, 3):
            yield f(ramp(2), n)
        Base.k = 10.0
        for n in (2, 2, 2, 3):
            yield f(ramp(2), n)
    return f, calls


@trap
def a_dataclass_with_rules_of_its_own():
    """`__post_init__`, InitVar, field(default_factory=), order=True, `replace`, kw_only, slots."""
    o = Box(k=2.0)
    @dataclasses.dataclass(order=True)
    class Rule:
        size: float
        name: str = dataclasses.field(default="a", compare=False)
        seen: list = dataclasses.field(default_factory=lambda: [o.k])
        by: dataclasses.InitVar[float] = 1.0
        total: float = dataclasses.field(init=False, default=0.0)
        def __post_init__(self, by): self.total = self.size * by * o.k
    @dataclasses.dataclass(kw_only=True, slots=True, frozen=True)
    class Point:
        x: typing.Any
        y: float = 0.5
    def f(x, size):
        a, b = Rule(size, by=3.0), Rule(2.0)
        c = dataclasses.replace(a, size=5.0, by=2.0)
        p = dataclasses.replace(Point(x=x), y=c.total)
        return (x * (1 if a < b else 2) + a.total + c.total + a.seen[0] + p.y * p.x,
                dataclasses.astuple(c), p.x, p.y, sorted([a, b, c])[0].size)
    def calls(f):
        for size in (1.0, 1.0, 1.0, 2.5, 2.5):
            yield f(ramp(2), size)
        o.k = 7.0
        for size in (1.0, 1.0, 1.0, 2.5):
            yield f(ramp(2), size)
        Rule.__post_init__ = lambda self, by: setattr(self, "total", -1.0)
        yield from thrice(lambda: f(ramp(2), 1.0))
    return f, calls


class Doubled:
    """Puts twice of what it is given into the dict of its owner."""
    def __init__(self): self.asked = 0
    def __set_name__(self, owner, name): self.name = name
    def __get__(self, o, t=None):
        self.asked += o is not None
        return 1.0 if o is None else o.__dict__[self.name]
    def __set__(self, o, v):
        self.asked += 10
        o.__dict__[self.name] = v * 2


@trap
def a_field_of_the_result_is_a_descriptor():
    """The dict of a dataclass is written to past a descriptor that would change what it is
    given."""
    doubled = Doubled()
    @dataclasses.dataclass
    class Out:
        loss: typing.Any = doubled
        n: int = 1
    def f(x): return Out(x.sum())
    def calls(f):
        for k in range(6):
            out = f(ramp(2) * k)
            yield out.__dict__["loss"], out.loss, doubled.asked
    return f, calls


@trap
def a_field_of_what_is_given_is_a_descriptor():
    """A number that varies lies behind a descriptor that counts who asks."""
    doubled = Doubled()
    @dataclasses.dataclass
    class Given:
        k: typing.Any = doubled
        n: int = 1
    def f(x, o): return x * o.k + o.n
    def calls(f):
        for k in range(9):
            o = Given(k * 1.0)
            yield f(ramp(2), o), o.__dict__["k"], o.k, doubled.asked
    return f, calls


@trap
def the_class_of_the_result_is_made_inside():
    """Each call makes a class, and gives an object of it."""
    def f(x, n):
        class Out:
            k = n
        out = Out()
        out.y = x * 2
        return out
    def calls(f):
        seen = set()
        for k in range(6):
            out = f(ramp(2) * k, k // 4)
            seen.add(type(out))
            yield out.y, out.k, len(seen)
    return f, calls


@trap
def classes_made_inside_hold_numbers():
    """CPython keeps the attributes of classes in caches: a number that varies is replaced there,
    too."""
    seen = []
    def f(x, n):
        @dataclasses.dataclass
        class Out:
            loss: typing.Any
            k: int = n
        class Plain:
            k = n
            def get(self): return self.k
        p = Plain()
        seen[:] = [Plain]
        return Out(x.sum()), p, p.get() + Out.k
    def calls(f):
        for k in range(9):
            out, p, s = f(ramp(2) * k, k // 3 + k // 4)
            yield out.loss, out.k, s, p.get(), p.k, type(out).k, seen[0].k, type(seen[0].k) is int
            del out, p
            yield seen[0].k
    return f, calls


@trap
def a_named_tuple_with_methods_and_defaults():
    """typing.NamedTuple with a method that reads a global, `_replace`, `_asdict`, `_make`."""
    o = Box(k=2.0)
    class Pair(typing.NamedTuple):
        a: typing.Any
        b: float = 3.0
        def total(self): return self.a * self.b * o.k
    def f(x, p):
        q = p._replace(b=p.b + 1) if isinstance(p, Pair) else Pair._make(p)
        return q.total() + x, q, Pair(x)._asdict(), q == p, len(q), q[-1]
    def calls(f):
        for p in (Pair(ramp(2)), Pair(ramp(2), 4.0), (ramp(2), 1.0), [ramp(2), 1.0]) * 2:
            yield outcome(lambda: f(ramp(2), p)[:3])
        o.k = 5.0
        yield from thrice(lambda: f(ramp(2), Pair(ramp(2)))[0])
        Pair.total = lambda self: self.a
        yield from thrice(lambda: f(ramp(2), Pair(ramp(2)))[0])
    return f, calls


@trap
def members_of_enums_are_more_than_names():
    """auto(), aliases, `_missing_`, a member with a tuple, Flag arithmetic, a mutable attribute."""
    class Act(enum.Enum):
        RELU, TANH, ID = enum.auto(), enum.auto(), enum.auto()
        SAME = 3
        @classmethod
        def _missing_(cls, v): return cls[str(v).upper()]
        def __call__(self, x): return {1: whet.relu, 2: whet.tanh}.get(self.value,
                                                                       lambda y: y)(x) * self.gain
    class Opt(enum.IntFlag):
        A, B, C = 1, 2, 4
    for a in Act:
        a.gain = 1.0
    def f(x, name, opt):
        act = Act(name)
        y = act(x) + (Opt(opt) & (Opt.A | Opt.C)).value
        return y, act.name, Act.SAME is Act.ID, [m.name for m in Opt if m in Opt(opt)]
    def calls(f):
        for name, opt in (("relu", 1), ("relu", 1), ("tanh", 7), (3, 2), ("same", 5)) * 2:
            yield f(ramp(2) - 1, name, opt)
        Act.RELU.gain = 4.0
        for name, opt in (("relu", 1), ("relu", 1), ("nothing", 1)):
            yield outcome(lambda: f(ramp(2) - 1, name, opt))
    return f, calls


@trap
def operators_of_ones_own():
    """`__matmul__`, reflected and in-place operators, `__index__`, `__bool__`, `__len__`,
    chained."""
    class Scale:
        def __init__(self, k): self.k = k
        def __mul__(self, x): return x * self.k
        __rmul__ = __mul__
        def __matmul__(self, x): return x @ whet.eye(2) * self.k
        def __imul__(self, k):
            self.k *= k
            return self
        def __index__(self): return int(self.k)
        def __bool__(self): return self.k > 2
        def __len__(self): return 2
        def __lt__(self, o): return NotImplemented
        def __gt__(self, o): return self.k > o
        def __radd__(self, x): return x + self.k
        def __call__(self, x): return x - self.k
    s = Scale(1.0)
    def f(x):
        y = s * x + (s @ x) + s
        y = s(y) if s else y * 10
        return y, [10, 20, 30, 40][s % 4 if hasattr(s, "__mod__") else s], 0 < s, len(s)
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        t = s
        t *= 3
        yield from thrice(lambda: f(ramp(2)))
        Scale.__bool__ = lambda self: False
        yield from thrice(lambda: f(ramp(2)))
        del Scale.__bool__
        yield from thrice(lambda: f(ramp(2)))
    return f, calls


@trap
def containers_of_ones_own():
    """A MutableMapping, a Sequence, a set-like and a lazy list by collections.abc, UserDict,
    ChainMap."""
    class Store(collections.abc.MutableMapping):
        def __init__(self): self.held = {}
        def __getitem__(self, k): return self.held[k.lower()]
        def __setitem__(self, k, v): self.held[k.lower()] = v
        def __delitem__(self, k): del self.held[k.lower()]
        def __iter__(self): return iter(sorted(self.held))
        def __len__(self): return len(self.held)
    class Lazy(collections.abc.Sequence):
        def __init__(self, n): self.n = n
        def __len__(self): return self.n
        def __getitem__(self, i):
            if i >= self.n:
                raise IndexError(i)
            return float(i * i)
    class Counted(collections.UserDict):
        def __getitem__(self, k):
            self.reads = getattr(self, "reads", 0) + 1
            return super().__getitem__(k)
    s, lazy, c = Store(), Lazy(3), Counted(a=2.0)
    s["K"] = 2.0
    def f(x):
        y = x * s["k"] + sum(lazy) + c["a"] + s.get("Z", 0.5)
        if 4.0 in lazy:
            s["last"] = float(len(s))
        return y, list(s), dict(collections.ChainMap({"q": 1.0}, s))["q"], lazy[-1 + len(lazy)]
    def calls(f):
        yield from thrice(lambda: (f(ramp(2)), c.reads))
        s["k"], lazy.n = 5.0, 2
        yield from thrice(lambda: (f(ramp(2)), c.reads))
        c["a"] = -1.0
        del s["LAST"]
        yield from thrice(lambda: (f(ramp(2)), c.reads))
    return f, calls


@trap
def results_are_objects_of_the_users():
    """A plain class, one with slots, a subclass of a tuple, a namespace and a nested one are
    returned."""
    class Out:
        def __init__(self, loss, parts):
            self.loss, self.parts = loss, parts
        def total(self): return self.loss + sum(self.parts.values())
    class Slim:
        __slots__ = ("y", "n")
    class Named(tuple):
        @property
        def first(self): return self[0]
    def f(x, k):
        slim = Slim()
        slim.y, slim.n = x * 3, k
        out = Out(x.sum() * k, {"a": x, "b": x + 1})
        return out, slim, types.SimpleNamespace(y=x * k,
                                                inner=types.SimpleNamespace(out=out)), Named((x, k))
    def calls(f):
        for k in (1.0, 1.0, 1.0, 2.0, 3.0, 4.0):
            out, slim, space, named = f(ramp(2) * k, k)
            yield (out.loss, out.parts, out.total(), slim.y, slim.n, space.y, type(space).__name__,
                   space.inner.out is out, named.first, type(named).__name__,
                   out.parts["a"] is named[0])
        Out.total = lambda self: self.loss
        out = f(ramp(2), 1.0)[0]
        yield out.total()
    return f, calls


@trap
def objects_that_live_on_inside_the_state():
    """A run lays a new user object in an attribute; the next one reads it and goes on."""
    class Carry:
        def __init__(self, h, n): self.h, self.n = h, n
        def next(self, x): return Carry(self.h * 0.5 + x, self.n + 1)
    class Net:
        def __init__(self): self.carry = Carry(whet.zeros(2), 0)
        def __call__(self, x):
            self.carry = self.carry.next(x)
            return self.carry.h * self.carry.n
    net = Net()
    def f(x): return net(x)
    def calls(f):
        for k in range(6):
            yield f(ramp(2) * k), net.carry.n, net.carry.h
        net.carry = Carry(whet.ones(2), 100)
        yield from thrice(lambda: (f(ramp(2)), net.carry.n))
    return f, calls


@trap
def methods_are_put_on_instances_and_classes():
    """types.MethodType on an instance, a function on the class, a property that hides, super()
    anew."""
    class A:
        def act(self, x): return x * 2
    class B(A):
        def act(self, x): return super().act(x) + 1
    class C:
        def act(self, x): return x - 5
    b = B()
    def f(x): return b.act(x)
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        b.act = types.MethodType(lambda self, x: x * 100, b)
        yield from thrice(lambda: f(ramp(2)))
        del b.act
        A.act = lambda self, x: x * 7
        yield from thrice(lambda: f(ramp(2)))
        B.__bases__ = (C,)
        yield outcome(lambda: f(ramp(2)))
        B.act = C.act
        yield from thrice(lambda: f(ramp(2)))
        B.act = property(lambda self: lambda x: -x)
        yield from thrice(lambda: f(ramp(2)))
    return f, calls


@trap
def abstract_classes_and_their_registers():
    """ABC.register in between, `__subclasshook__` that reads state, isinstance in a loop of
    types."""
    class Scales(abc.ABC):
        wanted = "scale"
        @classmethod
        def __subclasshook__(cls, c): return hasattr(c, cls.wanted) or NotImplemented
        @abc.abstractmethod
        def scale(self): ...
    class A:
        def scale(self): return 2.0
    class B:
        def factor(self): return 3.0
    xs = [A(), B(), 4]
    def f(x):
        for o in xs:
            if isinstance(o, Scales):
                x = x * (o.scale() if hasattr(o, "scale") else 10)
            elif isinstance(o, (int, float)):
                x = x + o
        return x
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        Scales.register(B)
        yield from thrice(lambda: f(ramp(2)))
        B.scale = lambda self: 5.0
        yield from thrice(lambda: f(ramp(2)))
        Scales.register(int)
        yield from thrice(lambda: f(ramp(2)))
    return f, calls


@trap
def iterators_that_are_classes():
    """A class with `__iter__` and `__next__` in Python, outside: it moves on, is reset, runs
    out."""
    class Turns:
        def __init__(self, xs): self.xs, self.i = xs, 0
        def __iter__(self): return self
        def __next__(self):
            if self.i >= len(self.xs):
                raise StopIteration
            self.i += 1
            return self.xs[self.i - 1]
    turns = Turns([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    def f(x):
        k = next(turns, None)
        return x if k is None else x * k
    def calls(f):
        for _ in range(8):
            yield f(ramp(2)), turns.i
        turns.i = 0
        yield from thrice(lambda: (f(ramp(2)), turns.i))
        turns.xs = [100.0] * 5
        yield from thrice(lambda: (f(ramp(2)), turns.i))
    return f, calls


@trap
def a_class_with_a_counter_of_instances():
    """`__new__` returns one that is there, instances count up, a singleton, `__del__` counts
    down."""
    class One:
        only = None
        made = 0
        def __new__(cls, *a):
            if cls.only is None:
                cls.only = super().__new__(cls)
            return cls.only
        def __init__(self, k=1.0):
            One.made += 1
            self.k = k
    def f(x, k):
        a = One(k)
        return x * a.k * (a is One.only), One.made
    def calls(f):
        for k in (1.0, 1.0, 1.0, 2.0, 3.0):
            yield f(ramp(2), k), One.made, One.only.k
        One.only = None
        yield from thrice(lambda: (f(ramp(2), 9.0), One.made))
    return f, calls


@trap
def objects_compare_as_they_like():
    """`__eq__` that counts, `__hash__` that changes, `in` on a list, `==` of tensors in tuples."""
    class K:
        asked = 0
        def __init__(self, v): self.v = v
        def __eq__(self, o):
            K.asked += 1
            return isinstance(o, K) and self.v % 10 == o.v % 10
        def __hash__(self): return self.v % 10
    ks, table = [K(1), K(2)], {}
    table[K(12)] = 5.0
    def f(x, k):
        y = x * (2 if k in ks else 3) + table.get(k, 0.0)
        return y, K.asked, ks.index(k) if k in ks else -1
    def calls(f):
        for v in (1, 1, 11, 12, 3, 2, 1):
            yield f(ramp(2), K(v))
        ks.reverse()
        table[K(1)] = -1.0
        for v in (1, 11, 12):
            yield f(ramp(2), K(v))
    return f, calls


@trap
def chains_of_properties():
    """A property with a setter that clamps, a deleter that resets, one that hides another's,
    cached."""
    class P:
        low = 0.0
        def __init__(self): self._k, self.log = 1.0, []
        @property
        def k(self): return max(self._k, self.low)
        @k.setter
        def k(self, v):
            self.log.append(v)
            self._k = min(v, 10.0)
        @k.deleter
        def k(self): self._k = -1.0
    class Q(P):
        k = P.k.getter(lambda self: P.k.fget(self) * 2)
    q = Q()
    def f(x, v):
        if v is None:
            del q.k
        else:
            q.k = v
        return x * q.k
    def calls(f):
        for v in (1.0, 1.0, 1.0, 20.0, 3.0, None, None, 2.0):
            yield f(ramp(2), v), q._k, len(q.log)
        P.low = 5.0
        for v in (1.0, 1.0, None, 7.0):
            yield f(ramp(2), v), q._k
    return f, calls
