"""Python used against a tracer: what looks the same and is not, what is found by another way, and what acts when it is looked at."""
import abc
import asyncio
import builtins
import collections
import contextlib
import copy
import dataclasses
import datetime
import decimal
import enum
import fractions
import functools
import inspect
import itertools
import json
import math
import operator
import pickle
import threading
import types

import numpy as np
import whet
import whet.nn.functional as F
from whet import nn, optim

from tests.traps.harness import Box, leaf, outcome, ramp, shares, thrice, trap


# ---- names and where they lead --------------------------------------------------------------------------------------------
@trap
def a_builtin_is_patched():
    """builtins.abs = ...: a name that no module has."""
    def f(x): return abs(x - 1) * round(2.4)
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        before = builtins.round
        builtins.round = lambda v: 7
        try:
            yield from thrice(lambda: f(ramp(3)))
        finally:
            builtins.round = before
        yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def a_name_hides_a_builtin():
    """A global called `sum` appears, and goes."""
    def f(x): return x * SUM_OF([1.0, 2.0])              # noqa: F821
    f = types.FunctionType(f.__code__.replace(co_names=tuple("sum" if n == "SUM_OF" else n for n in f.__code__.co_names)), globals())
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        globals()["sum"] = max
        yield from thrice(lambda: f(ramp(3)))
        del globals()["sum"]
        yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def a_method_of_all_tensors_is_patched():
    """Tensor.relu = ...: a method that each tensor has is another one, and back."""
    def f(x): return (x - 1).relu() + 1
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        before = vars(whet.Tensor)["relu"]
        whet.Tensor.relu = lambda t: t * 10
        try:
            yield from thrice(lambda: f(ramp(3)))
        finally:
            whet.Tensor.relu = before
        yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def an_operator_of_all_tensors_is_patched():
    """Tensor.__add__ = ...: what `+` means."""
    def f(x): return x + x
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        had, before = "__add__" in vars(whet.Tensor), whet.Tensor.__add__
        whet.Tensor.__add__ = lambda a, b: a - 5
        try:
            yield from thrice(lambda: f(ramp(3)))
        finally:
            if had:
                whet.Tensor.__add__ = before
            else:
                del whet.Tensor.__add__
        yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def a_property_is_put_on_all_tensors():
    """Tensor.scale = property(...), whose function reads the outside."""
    setting = Box(scale=2.0)
    def f(x): return x * x.scale_of_trap
    def calls(f):
        whet.Tensor.scale_of_trap = property(lambda t: setting.scale)
        try:
            for setting.scale in (2.0, 3.0, 2.0):
                yield from thrice(lambda: f(ramp(3)))
            whet.Tensor.scale_of_trap = property(lambda t: 9.0)
            yield from thrice(lambda: f(ramp(3)))
        finally:
            del whet.Tensor.scale_of_trap
    return f, calls


@trap
def a_layer_class_of_whet_gets_an_attribute():
    """nn.Linear.gain = 2: an attribute of a class that is not the user's."""
    model = nn.Linear(2, 2)
    def f(x): return model(x) * getattr(model, "gain_of_trap", 1.0)
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        for k in (2.0, 3.0):
            nn.Linear.gain_of_trap = k
            yield from thrice(lambda: f(ramp(2)))
        del nn.Linear.gain_of_trap
        yield from thrice(lambda: f(ramp(2)))
    return f, calls


@trap
def the_call_of_all_modules_is_patched():
    """nn.Module.__call__ = ...: it counts and scales."""
    model = nn.Sequential(nn.Linear(2, 2), nn.Tanh())
    def f(x): return model(x)
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        before, count = nn.Module.__call__, []
        def call(self, *args, **kwargs):
            count.append(type(self).__name__)
            return before(self, *args, **kwargs) * 2
        nn.Module.__call__ = call
        try:
            yield from thrice(lambda: (f(ramp(2)), list(count)))
        finally:
            nn.Module.__call__ = before
        yield from thrice(lambda: (f(ramp(2)), list(count)))
    return f, calls


@trap
def a_functional_is_patched():
    """F.gelu = ..., by attribute of a module under an alias."""
    def f(x): return F.gelu(x)
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        before = F.gelu
        F.gelu = lambda x: x * 3
        try:
            yield from thrice(lambda: f(ramp(3)))
        finally:
            F.gelu = before
        yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def a_functional_inside_a_layer_is_patched():
    """nn.GELU uses a function of its own module; somebody patches that."""
    model = nn.GELU()
    names = [n for n in ("gelu", "F") if n in vars(inspect.getmodule(nn.GELU))]
    def f(x): return model(x)
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        before = F.gelu
        F.gelu = lambda x, **k: x * 3
        try:
            yield from thrice(lambda: f(ramp(3)))
        finally:
            F.gelu = before
        yield len(names) >= 0, f(ramp(3))
    return f, calls


@trap
def math_is_patched():
    """math.sqrt = ..."""
    def f(x): return x * math.sqrt(16.0)
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        before = math.sqrt
        math.sqrt = lambda v: v
        try:
            yield from thrice(lambda: f(ramp(3)))
        finally:
            math.sqrt = before
        yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def closures_over_a_loop_variable():
    """Lambdas that all see the last value; one binds its own."""
    late, early = [], []
    for k in range(3):
        late.append(lambda x: x * k)
        early.append(lambda x, k=k: x * k)
    def f(x): return [g(x) for g in late + early]
    def calls(f):
        nonlocal k
        for k in (2, 5, 2, 3):               # noqa: B007
            yield from thrice(lambda: f(ramp(2)))
    return f, calls


@trap
def a_star_import_of_a_module_made_by_hand():
    """A module without a file, in sys.modules, imported by name inside."""
    import sys
    made = types.ModuleType("made_by_a_trap")
    made.scale = 2.0
    sys.modules["made_by_a_trap"] = made
    def f(x):
        from made_by_a_trap import scale
        return x * scale
    def calls(f):
        for made.scale in (2.0, 3.0, 2.0):
            yield from thrice(lambda: f(ramp(2)))
        other = types.ModuleType("made_by_a_trap")
        other.scale = 7.0
        sys.modules["made_by_a_trap"] = other
        yield from thrice(lambda: f(ramp(2)))
        del sys.modules["made_by_a_trap"]
        yield outcome(lambda: f(ramp(2)))
    return f, calls


@trap
def a_class_is_exchanged_by_its_name():
    """A global class that the function instantiates is replaced by another one."""
    def f(x): return Scaler(2.0)(x)
    def calls(f):
        global Scaler
        class Scaler:
            def __init__(self, k): self.k = k
            def __call__(self, x): return x * self.k
        yield from thrice(lambda: f(ramp(2)))
        class Scaler:                        # noqa: F811
            def __init__(self, k): self.k = k
            def __call__(self, x): return x + self.k
        yield from thrice(lambda: f(ramp(2)))
        Scaler.__init__ = lambda self, k: setattr(self, "k", k * 10)
        yield from thrice(lambda: f(ramp(2)))
    return f, calls


# ---- objects that act when they are looked at -----------------------------------------------------------------------------
@trap
def an_object_counts_its_reads():
    """__getattribute__ with an effect."""
    class Shy:
        reads = 0
        def __getattribute__(self, name):
            if name == "scale":
                Shy.reads += 1
            return object.__getattribute__(self, name)
    o = Shy()
    o.__dict__["scale"] = 2.0
    def f(x): return x * o.scale
    def calls(f):
        for _ in range(5):
            yield f(ramp(2)), Shy.reads
        o.__dict__["scale"] = 3.0
        yield from thrice(lambda: (f(ramp(2)), Shy.reads))
    return f, calls


@trap
def a_property_counts():
    """A property with state: it gives another number each time."""
    class Counter:
        def __init__(self): self.n = 0
        @property
        def next(self):
            self.n += 1
            return self.n
    c = Counter()
    def f(x): return x * c.next + c.next
    def calls(f):
        for _ in range(6):
            yield f(ramp(2)), c.n
        c.n = 100
        yield from thrice(lambda: (f(ramp(2)), c.n))
    return f, calls


@trap
def a_length_that_is_computed():
    """__len__ and __bool__ that read another object."""
    state = Box(n=2)
    class Sized:
        def __len__(self): return state.n
        def __bool__(self): return state.n % 2 == 0
    s = Sized()
    def f(x): return x * len(s) if s else x - len(s)
    def calls(f):
        for state.n in (2, 3, 2, 4):
            yield from thrice(lambda: f(ramp(2)))
    return f, calls


@trap
def an_iterator_of_ones_own():
    """An object with __iter__ and __next__, made inside, over a list that changes."""
    numbers = [1.0, 2.0]
    class Over:
        def __init__(self): self.i = 0
        def __iter__(self): return self
        def __next__(self):
            if self.i == len(numbers):
                raise StopIteration
            self.i += 1
            return numbers[self.i - 1]
    def f(x):
        for v in Over():
            x = x * v
        return x
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        numbers.append(3.0)
        yield from thrice(lambda: f(ramp(2)))
        numbers[0] = -1.0
        yield from thrice(lambda: f(ramp(2)))
    return f, calls


@trap
def an_attribute_error_decides():
    """try: o.scale except AttributeError: ... with an attribute that comes and goes."""
    o = Box()
    def f(x):
        try:
            return x * o.scale
        except AttributeError:
            return x - 1
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        o.scale = 3.0
        yield from thrice(lambda: f(ramp(2)))
        del o.scale
        yield from thrice(lambda: f(ramp(2)))
    return f, calls


@trap
def a_class_attribute_under_an_instance_with_slots():
    """Slots, a class attribute of the base, and deletion that uncovers nothing."""
    class Base:
        __slots__ = ("a",)
        b = 2.0
    class Derived(Base):
        __slots__ = ("c",)
    o = Derived()
    o.a, o.c = 1.0, 3.0
    def f(x): return x * o.a + o.b * o.c
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        o.a = 5.0
        yield from thrice(lambda: f(ramp(2)))
        Base.b = 7.0
        yield from thrice(lambda: f(ramp(2)))
        Derived.b = 8.0
        yield from thrice(lambda: f(ramp(2)))
        del o.c
        yield outcome(lambda: f(ramp(2)))
    return f, calls


@trap
def a_metaclass_makes_the_instances():
    """type.__call__ overridden: a singleton, reset between calls."""
    class Single(type):
        made = {}
        def __call__(cls, *args):
            if cls not in Single.made:
                Single.made[cls] = super().__call__(*args)
            return Single.made[cls]
    class Config(metaclass=Single):
        def __init__(self, k): self.k = k
    def f(x, k): return x * Config(k).k
    def calls(f):
        yield from thrice(lambda: f(ramp(2), 2.0))
        yield from thrice(lambda: f(ramp(2), 3.0))
        Single.made.clear()
        yield from thrice(lambda: f(ramp(2), 3.0))
    return f, calls


@trap
def a_subclass_registers_itself():
    """__init_subclass__ fills a registry that the function goes through."""
    registry = {}
    class Plugin:
        def __init_subclass__(cls, **kwargs): registry[cls.__name__] = cls
    class Double(Plugin):
        def __call__(self, x): return x * 2
    def f(x):
        for name in registry:
            x = registry[name]()(x)
        return x
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        type("Less", (Plugin,), {"__call__": lambda self, x: x - 1})
        yield from thrice(lambda: f(ramp(2)))
        registry.pop("Double")
        yield from thrice(lambda: f(ramp(2)))
    return f, calls


@trap
def an_abstract_class_gets_a_virtual_subclass():
    """abc's register changes what isinstance says."""
    class Scaling(abc.ABC):                  # noqa: B024
        pass
    class Plain:
        pass
    o = Plain()
    def f(x): return x * 2 if isinstance(o, Scaling) else x - 1
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        Scaling.register(Plain)
        yield from thrice(lambda: f(ramp(2)))
    return f, calls


@trap
def an_enum_with_methods_and_flags():
    """Flags that are combined, members with methods, and a lookup by value."""
    class Mode(enum.Flag):
        A, B = 1, 2
    class Act(enum.Enum):
        RELU, TANH = "relu", "tanh"
        def __call__(self, x): return getattr(whet, self.value)(x)
    o = Box(mode=Mode.A, act="relu")
    def f(x):
        y = Act(o.act)(x - 1)
        return y * 2 if Mode.B in o.mode else y
    def calls(f):
        for o.mode in (Mode.A, Mode.A | Mode.B, Mode.B):
            for o.act in ("relu", "tanh"):
                yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def a_frozen_dataclass_is_replaced():
    """dataclasses.replace makes a new one; an equal one is as good."""
    @dataclasses.dataclass(frozen=True)
    class Config:
        k: float
        n: int = 2
    o = Box(config=Config(2.0))
    def f(x, c): return x * o.config.k + c.n
    def calls(f):
        for k in (2.0, 2.0, 3.0):
            o.config = dataclasses.replace(o.config, k=k)
            yield from thrice(lambda: f(ramp(2), dataclasses.replace(o.config, n=int(k))))
    return f, calls


# ---- control of the flow ---------------------------------------------------------------------------------------------------
@trap
def finally_has_the_last_word():
    """return in finally, and a write that happens whatever is raised."""
    done = whet.zeros(2)
    def f(x, n):
        try:
            done.add_(1)
            return x.reshape(n, -1)
        except RuntimeError:
            done.mul_(2)
            raise KeyError("no such shape") from None
        finally:
            done.sub_(0.5)
            if n == 3:
                return done * 1              # noqa: B012
    def calls(f):
        for n in (2, 2, 2, 3, 3, 3, 4, 5, 5, 5):
            yield outcome(lambda: f(ramp(4), n)), done.clone()
    return f, calls


@trap
def a_context_manager_keeps_count():
    """with-blocks of a generator, nested, one of which swallows an error."""
    log = []
    @contextlib.contextmanager
    def block(name):
        log.append("+" + name)
        try:
            yield len(log)
        except ValueError:
            log.append("!" + name)
        finally:
            log.append("-" + name)
    def f(x, bad):
        with block("a"), block("b"):
            y = x * 2
            if bad:
                raise ValueError
            return y
        return x
    def calls(f):
        for bad in (False, False, False, True, True, False):
            yield f(ramp(2), bad), list(log)
            log.clear()
    return f, calls


@trap
def an_exception_with_state():
    """An exception carries a tensor and a count to its handler."""
    class Stop(Exception):
        raised = 0
        def __init__(self, value):
            super().__init__("stop")
            self.value = value
            Stop.raised += 1
    def inner(x):
        if x.sum() > 5:
            raise Stop(x * 2)
        return x
    def f(x):
        try:
            return inner(x)
        except Stop as e:
            return e.value + 1
    def calls(f):
        for k in (1, 1, 1, 4, 4, 4, 1):
            yield f(ramp(2) * k), Stop.raised
    return f, calls


@trap
def an_exception_leaves_with_a_tensor():
    """The caller catches what was computed."""
    class Found(Exception):
        pass
    def f(x):
        y = x * 2
        if y.sum() > 5:
            raise Found(y)
        return y
    def calls(f):
        for k in (1, 1, 1, 4, 4, 4, 1):
            try:
                yield f(ramp(2) * k)
            except Found as e:
                yield "found", e.args[0]
    return f, calls


@trap
def a_generator_made_outside_per_call():
    """zip, map, filter, chain over tensors and numbers that change."""
    weights = [1.0, 2.0, 3.0]
    def f(xs):
        total = 0
        for w, x in zip(itertools.cycle(weights[:2]), filter(lambda t: t.ndim == 1, xs)):
            total = total + w * x
        return total, functools.reduce(operator.add, map(lambda t: t.sum(), xs))
    def calls(f):
        yield from thrice(lambda: f([ramp(2), ramp(2, 2), ramp(2) * 3]))
        weights[1] = -2.0
        yield from thrice(lambda: f([ramp(2), ramp(2, 2), ramp(2) * 3]))
        yield from thrice(lambda: f([ramp(2)]))
    return f, calls


@trap
def values_are_sent_into_a_generator():
    """A running mean by a generator that is kept between calls."""
    def averager():
        total, n = 0.0, 0
        value = yield
        while True:
            total, n = total + value, n + 1
            value = yield total / n
    g = averager()
    next(g)
    def f(x): return x - g.send(x.mean().item())
    def calls(f):
        for k in range(5):
            yield f(ramp(2) * k)
    return f, calls


@trap
def a_walrus_and_a_chained_comparison():
    """(n := ...) inside a comprehension, and a < b < c on data."""
    def f(x):
        parts = [y for k in range(3) if (y := (x * k).sum()) > 1]
        return parts, x * 2 if 0 < x.max() < 3 else x - 1
    def calls(f):
        for k in (1, 1, 1, 5, 5, 5, -1, 1):
            yield f(ramp(2) * k)
    return f, calls


@trap
def a_class_is_made_inside():
    """A class statement in the function, over its arguments."""
    def f(x, k):
        class Local:
            scale = k * 2
            def __call__(self, t): return t * self.scale
        return Local()(x)
    def calls(f):
        for k in (1.0, 2.0, 1.0, 3.0):
            yield from thrice(lambda: f(ramp(2), k))
    return f, calls


@trap
def a_recursive_structure_of_modules():
    """A tree of modules whose depth changes between calls."""
    class Tree(nn.Module):
        def __init__(self, depth):
            super().__init__()
            self.scale = nn.Parameter(whet.tensor(float(depth + 1)))
            self.children_of_it = nn.ModuleList([Tree(depth - 1) for _ in range(2)] if depth else [])
        def forward(self, x):
            return sum((c(x) for c in self.children_of_it), x * self.scale)
    tree = Tree(1)
    def f(x): return tree(x)
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        tree.children_of_it[0] = Tree(1)
        yield from thrice(lambda: f(ramp(2)))
        tree.children_of_it[1].scale = tree.scale
        yield from thrice(lambda: f(ramp(2)))
    return f, calls


# ---- arguments and numbers ------------------------------------------------------------------------------------------------
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
        return x * 2 if o.limit == o.limit else x - 1, x + limit, x * 3 if o.limit in [o.limit] else x
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
        for d in ({1: 2.0}, {1.0: 2.0}, {True: 2.0}, {"1": 2.0}, {None: 2.0}, {0: 2.0}, {-0.0: 2.0}):
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
        x, y = whet.tensor([100, -100], dtype=whet.int8), whet.tensor([2**31 - 1, -2**31], dtype=whet.int32)
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


# ---- memory ----------------------------------------------------------------------------------------------------------------
@trap
def a_tensor_from_numpy_is_written_to_between():
    """from_numpy shares: the array changes, then is replaced behind the same name."""
    a = np.arange(3, dtype=np.float32)
    t = whet.from_numpy(a)
    def f(x): return x * t
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        a[:] = 7
        yield from thrice(lambda: f(ramp(3)))
        a[1] = np.nan
        yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def broadcast_views_are_written_to():
    """In-place on an expanded tensor is an error; on what it was expanded from it is seen by all."""
    def f(row, x):
        wide = row.expand(3, 2)
        row.add_(x)
        return wide * 1, wide.sum(0)
    def g(x):
        wide = x.expand(3, 2)
        wide.add_(1)
        return wide
    def calls(f):
        row = ramp(2)
        for _ in range(4):
            yield f(row, ramp(2)), row
        yield outcome(lambda: g(ramp(2)))
    return f, calls


@trap
def views_of_inputs_go_out_and_are_written_to():
    """What comes back is the argument's memory, at every call."""
    def f(x): return x[1:], x.view(2, 2), x.T if x.ndim == 2 else x.reshape(-1, 1), x * 2
    def calls(f):
        for _ in range(4):
            x = ramp(4)
            a, b, c, d = f(x)
            a.add_(10)
            c.mul_(2)
            yield x, b, d, shares(x, a), a._version
    return f, calls


@trap
def results_into_given_memory():
    """out= of an argument, of a captured tensor and of a slice."""
    store = whet.zeros(4)
    def f(x, out):
        whet.add(x, 1, out=out)
        whet.mul(x[:2], 3, out=store[:2])
        return out * 2
    def calls(f):
        out = whet.zeros(4)
        for k in range(5):
            yield f(ramp(4) * k, out), out, store
        store.zero_()
        yield f(ramp(4), store), store
    return f, calls


@trap
def detach_shares_and_keeps_count():
    """x.detach() written to raises when x is differentiated; versions are one."""
    def f(x):
        y = x * x
        x.detach().add_(1)
        return y
    def calls(f):
        for _ in range(4):
            x = leaf(2)
            y = f(x)
            yield outcome(lambda: y.sum().backward()), x, x._version
    return f, calls


@trap
def two_names_for_one_tensor():
    """o.a is o.b, until one of them is a copy."""
    o = Box(a=ramp(2))
    o.b = o.a
    def f(x):
        o.a.add_(x)
        return o.b * 2, o.a is o.b
    def calls(f):
        yield from thrice(lambda: (f(ramp(2)), o.a, o.b))
        o.b = o.a.clone()
        yield from thrice(lambda: (f(ramp(2)), o.a, o.b))
        o.b = o.a
        yield from thrice(lambda: (f(ramp(2)), o.a, o.b))
    return f, calls


@trap
def tensors_are_keys_and_members():
    """A dict and a set of parameters, by identity."""
    a, b = ramp(2), ramp(2) * 3
    rates = {a: 0.1, b: 0.5}
    chosen = {a}
    def f(x): return [x * rates[p] + (p if p in chosen else 0) for p in (a, b)]
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        rates[b] = 0.7
        yield from thrice(lambda: f(ramp(2)))
        chosen.add(b)
        yield from thrice(lambda: f(ramp(2)))
        chosen.discard(a)
        yield from thrice(lambda: f(ramp(2)))
    return f, calls


@trap
def containers_are_compared_by_identity():
    """`is` between lists that are one, or two that are equal."""
    o = Box()
    o.a = o.b = [1.0]
    def f(x, p, q): return x * 2 if o.a is o.b else x - 1, x * 3 if p is q else x - 2
    def calls(f):
        p = [ramp(1)]
        yield from thrice(lambda: f(ramp(2), p, p))
        o.b = [1.0]
        yield from thrice(lambda: f(ramp(2), p, [ramp(1)]))
        o.b = o.a
        yield from thrice(lambda: f(ramp(2), p, p))
    return f, calls


@trap
def a_base_is_asked_for():
    """x._base is y: does one tensor show another's memory?"""
    def f(x, y): return x * 2 if x._base is y else x - 1
    def calls(f):
        y = ramp(4)
        v = y[:2]
        yield from thrice(lambda: f(v, y))
        yield from thrice(lambda: f(ramp(2), y))
        yield from thrice(lambda: f(v, ramp(4)))
        yield from thrice(lambda: f(y[:2], y))
    return f, calls


@trap
def the_place_in_memory_is_compared():
    """x.data_ptr() == y.data_ptr(), as code for tied weights does."""
    def f(x, y): return x * 2 if x.data_ptr() == y.data_ptr() else x + y
    def calls(f):
        x, y = ramp(2), ramp(2)
        yield from thrice(lambda: f(x, x.detach()))
        yield from thrice(lambda: f(x, y))
        yield from thrice(lambda: f(y, y[:]))
    return f, calls


# ---- modules and training ---------------------------------------------------------------------------------------------------
@trap
def a_module_with_a_call_of_its_own():
    """__call__ overridden in a subclass: hooks are skipped, results scaled."""
    class Loud(nn.Linear):
        gain = 2.0
        def __call__(self, x): return self.forward(x) * self.gain
    model = Loud(2, 2)
    seen = []
    def f(x): return model(x)
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        handle = model.register_forward_hook(lambda m, i, o: seen.append(1))
        yield from thrice(lambda: (f(ramp(2)), len(seen)))
        handle.remove()
        Loud.gain = 3.0
        yield from thrice(lambda: f(ramp(2)))
        model.gain = 4.0
        yield from thrice(lambda: f(ramp(2)))
    return f, calls


@trap
def hooks_come_and_go_between_calls():
    """A forward hook that counts, a pre-hook that scales; removed in another order."""
    model, seen = nn.Sequential(nn.Linear(2, 2), nn.ReLU()), []
    def f(x): return model(x)
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        a = model[0].register_forward_hook(lambda m, i, o: o * 2)
        b = model.register_forward_pre_hook(lambda m, i: (i[0] + 1,))
        yield from thrice(lambda: f(ramp(2)))
        c = model[1].register_forward_hook(lambda m, i, o: seen.append(tuple(o.shape)))
        yield from thrice(lambda: (f(ramp(2)), len(seen)))
        a.remove()
        yield from thrice(lambda: (f(ramp(2)), len(seen)))
        b.remove(), c.remove()
        yield from thrice(lambda: (f(ramp(2)), len(seen)))
    return f, calls


@trap
def the_gradient_flag_of_one_parameter_flips():
    """requires_grad_(False) for the bias alone, during training."""
    model = nn.Linear(2, 2)
    def f(x):
        loss = model(x).pow(2).sum()
        loss.backward()
        return loss
    def calls(f):
        for flags in ((True, True), (True, False), (False, True), (True, True)):
            model.weight.requires_grad_(flags[0]), model.bias.requires_grad_(flags[1])
            yield from thrice(lambda: (f(ramp(3, 2)), model.weight.grad, model.bias.grad))
    return f, calls


@trap
def one_child_is_in_training():
    """eval() of one child only, with dropout and statistics."""
    model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Dropout(0.5), nn.Linear(4, 2))
    def f(x): return model(x)
    def calls(f):
        yield from thrice(lambda: f(ramp(3, 4)))
        model[1].eval()
        yield from thrice(lambda: (f(ramp(3, 4)), model[1].running_mean))
        model[2].eval()
        yield from thrice(lambda: (f(ramp(3, 4)), model[1].num_batches_tracked))
        model.train()
        yield from thrice(lambda: f(ramp(3, 4)))
    return f, calls


@trap
def a_buffer_is_replaced():
    """By a tensor of another dtype, another shape, and None."""
    class Shift(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("by", ramp(2))
        def forward(self, x): return x if self.by is None else x + self.by
    model = Shift()
    def f(x): return model(x)
    def calls(f):
        for by in (ramp(2), ramp(2).double(), ramp(1), None, ramp(2) * 5, ramp(2).long()):
            model.by = by
            yield from thrice(lambda: f(ramp(2)))
    return f, calls


@trap
def a_state_is_loaded_between_calls():
    """load_state_dict writes in place, or assigns."""
    model, other = nn.Linear(2, 2), nn.Linear(2, 2)
    first = copy.deepcopy(model.state_dict())
    def f(x): return model(x)
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        model.load_state_dict(other.state_dict())
        yield from thrice(lambda: f(ramp(2)))
        model.load_state_dict(first, assign=True)
        yield from thrice(lambda: f(ramp(2)))
        yield outcome(lambda: model.load_state_dict({"weight": ramp(2, 2)})), f(ramp(2))
    return f, calls


def trained(model, optimizer, after=lambda: None):
    """A step of training, to be traced."""
    def f(x):
        optimizer.zero_grad()
        loss = (model(x) - 1).pow(2).mean()
        loss.backward()
        after()
        optimizer.step()
        return loss
    return f


@trap
def settings_of_an_optimizer_are_edited():
    """param_groups: lr, momentum, weight decay, a group that is added."""
    model, extra = nn.Linear(2, 2), nn.Parameter(ramp(2))
    optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.5)
    def calls(f):
        for key, value in (("lr", 0.1), ("lr", 0.05), ("momentum", 0.9), ("weight_decay", 0.01), ("nesterov", True), ("lr", 0.2)):
            optimizer.param_groups[0][key] = value
            yield from thrice(lambda: (f(ramp(3, 2)), model.weight))
        optimizer.add_param_group({"params": [extra], "lr": 0.3})
        yield from thrice(lambda: (f(ramp(3, 2)), model.weight, extra))
    return trained(model, optimizer), calls


@trap
def schedulers_of_several_kinds():
    """StepLR and cosine between calls, stepped outside and inside."""
    model = nn.Linear(2, 2)
    optimizer = optim.Adam(model.parameters(), lr=0.1)
    scheduler = optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)
    inside = optim.lr_scheduler.StepLR(optimizer, 2, 0.5)
    def calls(f):
        for k in range(10):
            yield f(ramp(3, 2)), model.weight, optimizer.param_groups[0]["lr"]
            if k > 4:
                scheduler.step()
    return trained(model, optimizer, inside.step), calls


@trap
def gradients_are_none_or_zero():
    """zero_grad(set_to_none=...) flips."""
    model = nn.Linear(2, 2)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    o = Box(none=True)
    def f(x):
        optimizer.zero_grad(set_to_none=o.none)
        before = model.weight.grad is None
        (model(x) - 1).pow(2).mean().backward()
        optimizer.step()
        return before
    def calls(f):
        for o.none in (True, False, True, False):
            yield from thrice(lambda: (f(ramp(3, 2)), model.weight.grad, model.weight))
    return f, calls


@trap
def gradients_are_clipped_in_other_ways():
    """clip_grad_norm_ with limits that vary, by value, and an infinite norm."""
    model = nn.Linear(2, 2)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    o = Box(limit=1.0, norms=[])
    def clip():
        o.norms.append(nn.utils.clip_grad_norm_(model.parameters(), o.limit, norm_type=2.0 if o.limit < 5 else math.inf))
        nn.utils.clip_grad_value_(model.parameters(), 0.5)
    def calls(f):
        for o.limit in (1.0, 1.0, 0.5, 0.25, 7.0, 7.0, 1.0, 2.0):
            yield f(ramp(3, 2)), model.weight, o.norms[-1], len(o.norms)
    return trained(model, optimizer, clip), calls


@trap
def every_second_call_makes_a_step():
    """Gradients add up; a counter in the loop decides about the step."""
    model = nn.Linear(2, 2)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    o = Box(n=0)
    def f(x):
        (model(x).pow(2).mean() / 2).backward()
        o.n += 1
        if o.n % 2 == 0:
            optimizer.step()
            optimizer.zero_grad()
        return model.weight.grad is None
    def calls(f):
        for _ in range(9):
            yield f(ramp(3, 2)), model.weight.clone(), model.weight.grad
    return f, calls


@trap
def a_weight_is_tied_and_untied():
    """decoder.weight = encoder.weight, and its own again."""
    a, b = nn.Linear(2, 2), nn.Linear(2, 2)
    own = b.weight
    def f(x):
        loss = b(a(x)).sum()
        loss.backward()
        return loss
    def calls(f):
        for w in (own, a.weight, own, a.weight):
            b.weight = w
            for m in (a, b):
                m.zero_grad()
            own.grad = None
            yield from thrice(lambda: (f(ramp(2)), a.weight.grad, own.grad))
    return f, calls


@trap
def a_parameter_becomes_a_plain_tensor():
    """del model.weight; model.weight = a tensor computed from two parameters."""
    model, g, v = nn.Linear(2, 2), leaf(1), leaf(2, 2)
    def f(x):
        out = model(x)
        return out
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        del model.weight
        for _ in range(3):
            model.weight = v * g / v.norm()
            y = f(ramp(2))
            y.sum().backward()
            yield y, g.grad, v.grad
    return f, calls


@trap
def what_is_recorded_under_no_grad_is_used_with_it():
    """no_grad inside for a part, a decorator around, and the caller's own mode."""
    w = leaf(2)
    @whet.no_grad()
    def part(x): return x * w
    def f(x):
        with whet.no_grad():
            scale = (x * w).sum()
        with whet.enable_grad():
            y = x * w
        return y * scale + part(x), whet.is_grad_enabled()
    def calls(f):
        for enabled in (True, False, True):
            with whet.set_grad_enabled(enabled):
                for _ in range(3):
                    y, flag = f(ramp(2))
                    yield y, flag, outcome(lambda: y.sum().backward()), w.grad
    return f, calls


# ---- who calls, and as what -----------------------------------------------------------------------------------------------
@trap
def methods_of_all_kinds_are_traced(trace):
    """A classmethod, a staticmethod, a property and a cached property that are traces."""
    class Model:
        scale = 2.0
        @classmethod
        @trace
        def of_class(cls, x): return x * cls.scale
        @staticmethod
        @trace
        def static(x): return x - 1
        @property
        @trace
        def double(self): return self.value * 2
        @trace
        def method(self, x): return x * self.scale
    class Other(Model):
        scale = 5.0
    def calls(_):
        for m in (Model(), Other()):
            m.value = ramp(2)
            for _ in range(3):
                yield m.of_class(ramp(2)), m.static(ramp(2)), m.double, m.method(ramp(2)), Model.method(m, ramp(2))
            m.scale, m.value = 9.0, ramp(2) * 3
            yield from thrice(lambda: (m.of_class(ramp(2)), m.double, m.method(ramp(2))))
    return (lambda x: x), calls


@trap
def a_lambda_and_a_partial_are_traced(trace):
    """What has no name or no code of its own."""
    o = Box(k=2.0)
    p = functools.partial(lambda a, b, c=1.0: a * b + c + o.k, ramp(2), c=3.0)
    class Callable:
        def __call__(self, x): return x * o.k
    def calls(_):
        f, g, h, m = trace(lambda x: x * o.k), trace(p), trace(Callable()), trace(operator.add)
        for o.k in (2.0, 3.0, 2.0):
            yield from thrice(lambda: (f(ramp(2)), g(ramp(2)), h(ramp(2)), m(ramp(2), o.k)))
        p.keywords["c"] = 7.0
        yield from thrice(lambda: g(ramp(2)))
    return (lambda x: x), calls


@trap
def copies_of_a_trace(trace):
    """deepcopy, pickle and wraps: each has its own state, all have the name."""
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(ramp(2))
        def forward(self, x): return x * self.w
    model = Model()
    f = trace(model)
    def calls(_):
        yield from thrice(lambda: f(ramp(2)))
        g = copy.deepcopy(f)
        with whet.no_grad():
            model.w.mul_(5)
        yield from thrice(lambda: (f(ramp(2)), g(ramp(2))))
        h = trace(A_FUNCTION)
        yield pickle.loads(pickle.dumps(model.state_dict()))["w"], inspect.signature(h) == inspect.signature(A_FUNCTION), h.__name__, h.__doc__
        h.note = 3
        yield h.note, hasattr(A_FUNCTION, "note"), h(ramp(2)), callable(h)
    return (lambda x: x), calls


def A_FUNCTION(x, /, k: float = 2.0, *, flag=True):
    """A text about it."""
    return x * k if flag else x


@trap
def threads_with_modes_and_arguments_of_their_own(trace):
    """One traced function called from threads with other shapes and grad modes."""
    w = leaf(1)
    def f(x): return (x * w).sum()
    def calls(f):
        for _ in range(3):
            got = {}
            def work(k):
                with whet.set_grad_enabled(k % 2 == 0):
                    for _ in range(5):
                        got[k] = f(ramp(k + 1))
            threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
            yield [got[k] for k in range(4)]
    return f, calls


@trap
def it_is_entered_again_by_what_it_calls():
    """A hook calls the traced function from inside its own call, with other arguments."""
    o = Box(call=None, depth=0)
    def f(x, n):
        o.depth += 1
        y = x * 2 if n == 0 else o.call(x + 1, n - 1) * 3
        o.depth -= 1
        return y
    def calls(f):
        o.call = f
        for n in (0, 1, 2, 3, 1, 1, 1, 2, 2, 2):
            yield f(ramp(2), n), o.depth
    return f, calls


@trap
def coroutines_that_take_turns(trace):
    """Two tasks call one traced function, with awaits in between."""
    o = Box(k=1.0)
    def f(x): return x * o.k
    def calls(f):
        async def task(k, out):
            for _ in range(4):
                o.k = k
                out.append(f(ramp(2)))
                await asyncio.sleep(0)
        async def both():
            a, b = [], []
            await asyncio.gather(task(2.0, a), task(3.0, b))
            return a, b
        yield asyncio.run(both())
        yield asyncio.run(both())
    return f, calls


@trap
def a_default_that_everybody_shares():
    """def f(x, seen={}): a dict that keeps what came."""
    def f(x, seen={}):                       # noqa: B006
        n = seen.get("n", 0)
        seen["n"] = n + 1
        seen.setdefault(x.shape[0], x * 2)
        return seen[x.shape[0]] + n
    shared, = f.__defaults__
    shared.clear()
    def calls(f):
        for n in (2, 2, 2, 3, 3, 2):
            yield f(ramp(n)), dict(shared)
    return f, calls


@trap
def a_cache_of_python_values():
    """lru_cache and cache of numbers: hits, misses, and a cache that is cleared."""
    o = Box(base=2.0)
    @functools.lru_cache(maxsize=2)
    def scale(n): return o.base * n
    def f(x, n): return x * scale(n)
    def calls(f):
        for n in (1, 1, 1, 2, 2, 2, 3, 3, 3):
            yield f(ramp(2), n), tuple(scale.cache_info())
        o.base = 10.0
        yield from thrice(lambda: f(ramp(2), 3))
        scale.cache_clear()
        yield from thrice(lambda: (f(ramp(2), 3), tuple(scale.cache_info())))
    return f, calls


@trap
def a_chain_of_maps():
    """collections.ChainMap, OrderedDict.move_to_end, Counter and deque with a limit."""
    outer, inner = {"k": 2.0}, {}
    chain = collections.ChainMap(inner, outer)
    recent, count = collections.deque(maxlen=2), collections.Counter()
    order = collections.OrderedDict(a=1.0, b=2.0)
    def f(x):
        y = x * chain["k"]
        for v in order.values():
            y = y * 2 + v
        return y + len(recent) + count["seen"]
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        inner["k"] = 5.0
        yield from thrice(lambda: f(ramp(2)))
        order.move_to_end("a")
        yield from thrice(lambda: f(ramp(2)))
        recent.append(1), count.update(["seen"])
        yield from thrice(lambda: f(ramp(2)))
    return f, calls


@trap
def a_queue_of_recent_tensors():
    """deque(maxlen=...) that the function itself fills."""
    recent = collections.deque(maxlen=3)
    def f(x):
        recent.append(x.mean())
        return x - sum(recent) / len(recent)
    def calls(f):
        for k in range(7):
            yield f(ramp(2) * k), list(recent)
    return f, calls


@trap
def a_counter_is_updated():
    """collections.Counter and a defaultdict(list) as statistics."""
    count, lists = collections.Counter(), collections.defaultdict(list)
    def f(x, name):
        count[name] += 1
        lists[name].append(x.shape[0])
        return x * count[name]
    def calls(f):
        for name in ("a", "a", "a", "b", "b", "a", "a"):
            yield f(ramp(2), name), dict(count), {k: list(v) for k, v in lists.items()}
    return f, calls


@trap
def a_set_is_filled():
    """What was seen before is skipped."""
    seen = set()
    def f(x, name):
        if name in seen:
            return x
        seen.add(name)
        return x * 2
    def calls(f):
        for name in ("a", "a", "a", "b", "b", "a", "c"):
            yield f(ramp(2), name), sorted(seen)
        seen.clear()
        yield from thrice(lambda: f(ramp(2), "a"))
    return f, calls


@trap
def a_list_is_rewritten():
    """history[0], insert, pop, sort, slices: lists that do more than grow."""
    history = [0.0, 0.0, 0.0]
    def f(x):
        history.pop(0)
        history.append(x.shape[0] * 1.0)
        history[0] += 1
        return x + sum(history)
    def calls(f):
        for n in (2, 2, 3, 3, 3, 2, 2, 2, 2):
            yield f(ramp(n)), list(history)
    return f, calls


@trap
def a_function_makes_functions():
    """A factory with nonlocal state, called outside, its product inside."""
    def make(k):
        n = 0
        def g(x):
            nonlocal n
            n += 1
            return x * k + n
        return g
    o = Box(g=make(2.0))
    def f(x): return o.g(x)
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        o.g = make(2.0)
        yield from thrice(lambda: f(ramp(2)))
        o.g = make(3.0)
        yield from thrice(lambda: f(ramp(2)))
    return f, calls


@trap
def a_decorator_keeps_the_last_result():
    """A memo of one tensor, keyed by the object."""
    def memo(g):
        last = [None, None]
        def wrapped(x):
            if last[0] is not x:
                last[:] = [x, g(x)]
            return last[1]
        wrapped.last = last
        return wrapped
    @memo
    def slow(x): return x.exp()
    def f(x): return slow(x) + 1
    def calls(f):
        a, b = ramp(2), ramp(2) * 2
        for x in (a, a, a, b, b, a, a):
            yield f(x), slow.last[1]
        a.mul_(0)
        yield from thrice(lambda: f(a))
    return f, calls


# ---- numbers that look like numbers -----------------------------------------------------------------------------------------
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
        parts = a * o.v, o.v * a, np.multiply(a, o.v), np.where(a > 2, a, o.v), a + o.n, np.add(o.n, a), np.float32(o.v), np.full(2, o.n)
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
        return x * o.v, wait is None or wait.seconds, o.n % 5 or str(decimal.Decimal(o.n)), str(fractions.Fraction(o.n, 3)), complex(o.v, 1)
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
        o.kept.append((n, {n: n}, frozenset([n]), Point(n), functools.partial(max, n, 2), lambda: n, [(n, (n,))]))
        return x * n
    def calls(f):
        for _ in range(6):
            y = f(ramp(2))
            n, d, s, p, q, c, t = o.kept[-1]
            yield y, [type(v).__name__ for v in (n, *d, *d.values(), *s, p.step, *q.args, c(), t[0][0], t[0][1][0])], n, p.step, c(), q()
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
