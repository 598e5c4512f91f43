"""What is read past the ordinary ways: names and docs of functions, fields of classes, settings of C, who watches and what is alive; state that
hides in bound methods, records and gradients; streams that are put aside."""
import collections
import contextlib
import contextvars
import copy
import dataclasses
import datetime
import decimal
import gc
import inspect
import io
import os
import pathlib
import re
import sys
import time
import types
import typing
import weakref

import numpy as np
import whet
import whet.nn.functional as F
from whet import nn, optim
from whet.utils.checkpoint import checkpoint

from tests.traps.harness import Box, leaf, outcome, ramp, thrice, trap

HERE = sys.modules[__name__]


# ---- what functions, classes and modules say of themselves ----------------------------------------------------------------
@trap
def a_function_is_known_by_its_name():
    """__name__ is a key, __doc__ holds a number, __qualname__ and __module__ are measured; each is set."""
    def g(): "2.0"
    table = {"g": 2.0, "h": 3.0}
    def f(x): return x * table[g.__name__] * float(g.__doc__) + len(g.__qualname__) + len(g.__module__)
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        for name, value in (("__name__", "h"), ("__doc__", "5.0"), ("__qualname__", "q"), ("__module__", "m"), ("__name__", "g")):
            setattr(g, name, value)
            yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def a_class_is_known_by_its_name():
    """The same of a class, by type(o) and by itself."""
    class C: "2.0"
    o = C()
    def f(x): return x * len(type(o).__name__) * float(C.__doc__) + len(C.__qualname__) + len(C.__module__)
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        for name, value in (("__name__", "Longer"), ("__doc__", "5.0"), ("__qualname__", "q"), ("__module__", "m"), ("__name__", "C")):
            setattr(C, name, value)
            yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def only_the_name_of_a_class_is_asked_for():
    """One of these facts alone, of one class."""
    class C: "2.0"
    def f(x): return x * len(C.__name__)
    def calls(f):
        for C.__name__ in ("C", "Longer", "C"):
            yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def functions_and_classes_are_text(trace):
    """str(C) and an f-string of a function have their qualified names in them."""
    class C: pass
    def g(): pass
    function = trace(lambda x: x * len(f"{g}".partition(" at ")[0]))
    def f(x): return x * len(str(C))
    def calls(f):
        yield from thrice(lambda: (f(ramp(3)), function(ramp(3))))
        C.__qualname__ = g.__qualname__ = "Another"
        yield from thrice(lambda: (f(ramp(3)), function(ramp(3))))
        C.__module__ = "m"
        yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def annotations_are_values():
    """__annotations__ of a class and of a function are dicts: entries change, and come."""
    class C: a: "2.0"
    def g(a: 2.0): pass                      # noqa: F722
    def f(x):
        for v in C.__annotations__.values():
            x = x * float(v)
        return x + g.__annotations__["a"]
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        C.__annotations__["a"] = "3.0"
        yield from thrice(lambda: f(ramp(3)))
        C.__annotations__["b"] = "4.0"
        yield from thrice(lambda: f(ramp(3)))
        g.__annotations__["a"] = 9.0
        yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def fields_of_a_dataclass_carry_data():
    """dataclasses.fields: the default of a field, and its metadata, which shows a dict that changes."""
    meta = {"scale": 2.0}
    @dataclasses.dataclass
    class C: a: float = dataclasses.field(default=1.0, metadata=meta)
    def f(x):
        g, = dataclasses.fields(C)
        return x * g.metadata["scale"] + g.default
    def calls(f):
        for meta["scale"] in (2.0, 3.0, 2.0):
            yield from thrice(lambda: f(ramp(3)))
        C.__dataclass_fields__["a"].default = 5.0
        yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def a_module_is_asked_in_other_ways(trace):
    """Attributes of a module by __getattribute__, a format, a pattern and inspect, some by names made at run time."""
    m, name = types.ModuleType("m"), ["sca", "le"]
    @trace
    def by_pattern(x):
        match m:
            case types.ModuleType(scale=s):
                return x * s
    by_method = trace(lambda x: x * m.__getattribute__("".join(name)))
    by_object = trace(lambda x: x * object.__getattribute__(m, "".join(name)))
    by_members = trace(lambda x: x * dict(inspect.getmembers(m))["".join(name)])
    def f(x): return x * float("{m.scale}".format(m=m))      # noqa: UP032
    def calls(f):
        for m.scale in (2.0, 3.0, 2.0):
            yield from thrice(lambda: [g(ramp(3)) for g in (f, by_pattern, by_method, by_object, by_members)])
    return f, calls


@trap
def the_globals_of_a_function_and_a_frame(trace):
    """g.__globals__[...], and inspect.currentframe().f_globals[...]."""
    names = {"K": 2.0}
    exec("def g(): pass", names)
    g = names["g"]
    HERE.K_OF_A_FRAME = 2.0
    by_frame = trace(lambda x: x * inspect.currentframe().f_globals["K_OF_A_FRAME"])
    def f(x): return x * g.__globals__["K"]
    def calls(f):
        for k in (2.0, 3.0, 2.0):
            names["K"] = HERE.K_OF_A_FRAME = k
            yield from thrice(lambda: (f(ramp(3)), by_frame(ramp(3))))
    return f, calls


# ---- settings of C --------------------------------------------------------------------------------------------------------
@trap
def decimals_are_rounded_by_their_context():
    """decimal's precision is of the thread, not of a number."""
    def f(x): return x * float(decimal.Decimal(1) / decimal.Decimal(3))
    def calls(f):
        with decimal.localcontext() as c:
            for c.prec in (28, 2, 28):
                yield from thrice(lambda: f(ramp(3, dtype=whet.float64)))
    return f, calls


@trap
def numpy_is_told_how_to_take_errors():
    """np.errstate decides whether a division by zero is silent, a warning, or an error."""
    a = np.array([1.0, 0.0])
    def f(x): return x + float((1 / a)[0])
    def calls(f):
        for way in ("ignore", "warn", "raise", "ignore"):
            with np.errstate(divide=way):
                yield from thrice(lambda: outcome(lambda: f(ramp(3))))
    return f, calls


@trap
def numbers_of_numpy_overflow():
    """np.float32 overflows with a warning, each time."""
    a = np.float32(3e38)
    def f(x): return x + float(a * 10)
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        with np.errstate(over="raise"):
            yield from thrice(lambda: outcome(lambda: f(ramp(3))))
    return f, calls


@trap
def arrays_are_text():
    """str(array) goes by NumPy's options; np.info prints."""
    a = np.array([1 / 3])
    def f(x): return x * len(str(a)), f"{a}"
    def calls(f):
        for digits in (8, 2, 8):
            with np.printoptions(precision=digits):
                yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def numpy_informs():
    """np.info prints, from inside of NumPy."""
    def f(x):
        np.info("nothing of this name")
        return x * 2
    def calls(f):
        for _ in range(4):
            yield f(ramp(3))
    return f, calls


@trap
def whet_warns_of_what_it_is_given(trace):
    """Sizes that hardly fit, a tensor copied by whet.tensor: a warning at each call."""
    copied = trace(lambda x: whet.tensor(x) * 2)
    def f(x, y): return F.mse_loss(x, y)
    def calls(f):
        yield from thrice(lambda: (f(ramp(3), ramp(1)), copied(ramp(3))))
        yield from thrice(lambda: (f(ramp(3), ramp(3)), copied(ramp(3))))
        yield from thrice(lambda: f(ramp(4), ramp(1)))
    return f, calls


@trap
def settings_of_whet_are_asked_for():
    """The precision of products and whether all is deterministic: remembered, and told."""
    def f(x): return x * 2, whet.get_float32_matmul_precision(), whet.are_deterministic_algorithms_enabled()
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        before = whet.get_float32_matmul_precision()
        whet.set_float32_matmul_precision("high")
        yield from thrice(lambda: f(ramp(2)))
        whet.set_float32_matmul_precision(before)
        whet.use_deterministic_algorithms(True)
        yield from thrice(lambda: f(ramp(2)))
        whet.use_deterministic_algorithms(False)
        yield from thrice(lambda: f(ramp(2)))
    return f, calls


# ---- who watches, and what is alive ---------------------------------------------------------------------------------------
@trap
def garbage_is_collected_or_not(trace):
    """gc.isenabled() inside, and gc.disable() inside that stays."""
    @trace
    def off(x):
        gc.disable()
        return x * 2
    def f(x): return x * (2 if gc.isenabled() else 3)
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        for _ in range(4):
            gc.enable()
            yield off(ramp(3)), gc.isenabled(), f(ramp(3))
        gc.enable()
    return f, calls


@trap
def a_profiler_is_asked_for_and_set(trace):
    """sys.getprofile() inside, and sys.setprofile() that stays."""
    def nothing(*args): pass
    @trace
    def on(x):
        sys.setprofile(nothing)
        return x * 2
    def f(x): return x * (2 if sys.getprofile() is None else 3)
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        for _ in range(4):
            y = on(ramp(3))
            now = sys.getprofile()
            sys.setprofile(None)
            yield y, now is nothing
    return f, calls


@trap
def a_tensor_of_the_call_is_gone_already(trace):
    """A weak reference to what the function has let go, a weak dict, a finalizer: in the call itself."""
    log = []
    @trace
    def weak(x):
        d = weakref.WeakValueDictionary()
        d["a"] = x * 2
        return x * len(d)
    @trace
    def last(x):
        y = x * 2
        weakref.finalize(y, log.append, 1)
        z = y + 1
        del y
        return z, len(log)
    def f(x):
        y = x * 2
        r = weakref.ref(y)
        z = y + 1
        del y
        return z, r() is None
    def calls(f):
        for _ in range(5):
            yield f(ramp(3)), weak(ramp(3)), last(ramp(3)), list(log)
    return f, calls


# ---- state that hides -----------------------------------------------------------------------------------------------------
@trap
def bound_methods_lead_to_what_changes(trace):
    """array.sum, of an array that nothing else leads to, and the get of a context variable."""
    a, v = np.array([1.0, 2.0]), contextvars.ContextVar("v", default=2.0)
    total, get = a.sum, v.get
    by_variable = trace(lambda x: x * get())
    def f(x): return x * float(total())
    def calls(f):
        yield from thrice(lambda: (f(ramp(3)), by_variable(ramp(3))))
        a[0] = 10
        token = v.set(3.0)
        yield from thrice(lambda: (f(ramp(3)), by_variable(ramp(3))))
        v.reset(token)
    return f, calls


@trap
def records_that_are_containers(trace):
    """Dataclasses that are dicts, ordered dicts or lists, and one whose base has slots: what is in them is no field."""
    class Slotted: __slots__ = ("s",)
    @dataclasses.dataclass
    class Out(dict): a: typing.Any = None
    @dataclasses.dataclass
    class Ordered(collections.OrderedDict): k: float = 1.0
    @dataclasses.dataclass
    class Listed(list): k: float = 1.0
    @dataclasses.dataclass
    class Over(Slotted): k: float = 1.0
    def given(kind, *entries):
        o = kind()
        (o.update if isinstance(o, dict) else o.extend)(entries)
        return o
    ordered, listed = trace(lambda o: sum(o.values()) * o.k), trace(lambda o: sum(o) * o.k)
    over = trace(lambda x, o: x * o.s * o.k)
    def f(o): return o["x"] * len(o) * (o.a or 1)
    def calls(f):
        for k in (2.0, 3.0):
            for _ in range(3):
                o = Over()
                o.s = k
                x = ramp(3) * k
                yield f(given(Out, ("x", x))), ordered(given(Ordered, ("x", x), ("s", k))), listed(given(Listed, x, k)), over(ramp(3), o)
        yield from thrice(lambda: f(given(Out, ("x", ramp(3)), ("y", 1))))
    return f, calls


@trap
def a_named_tuple_is_more_than_its_fields():
    """An attribute of its class, a property, a method, and what lies beside the fields: numbers and a tensor that is written to."""
    class P(collections.namedtuple("P", "a")):
        scale = 2.0
        @property
        def b(self): return self.a * self.scale
        def c(self): return self.a + self.scale
    def f(x, p):
        p.there.add_(1)
        return x * p.b + p.c() * p.note + p.scale, p.there * 2
    def calls(f):
        for P.scale, note in ((2.0, 1.0), (3.0, 1.0), (3.0, 5.0)):
            for _ in range(3):
                p = P(2.0)
                p.note, p.there = note, ramp(3) * note
                yield f(ramp(3), p), p.there
    return f, calls


@trap
def records_with_slots_are_given():
    """Dataclasses with slots, made for each call."""
    @dataclasses.dataclass(slots=True)
    class C:
        x: typing.Any
        k: float = 1.0
    def f(c): return c.x * c.k
    def calls(f):
        for k in (1.0, 2.0, 1.0):
            for _ in range(3):
                yield f(C(ramp(2) * k, k))
    return f, calls


@trap
def a_gradient_has_a_history():
    """w.grad of a backward with create_graph=True, and without."""
    w = leaf(3)
    def f(x): return x * w.grad
    def calls(f):
        for graph in (False, True, False, True):
            w.grad = None
            (w ** 3).sum().backward(create_graph=graph)
            yield from thrice(lambda: (f(ramp(3)).requires_grad, f(ramp(3)).detach()))
        w.grad = None
    return f, calls


@trap
def one_gradient_is_two():
    """a.grad is b.grad, until they are two; and a gradient that is held by another name, until it is another."""
    a, b, o = leaf(3), leaf(3), Box(g=None)
    def f(x):
        with whet.no_grad():
            a.grad.mul_(2)
            b.grad.add_(x)
            return a.grad * 1, b.grad * 1, x if o.g is None else o.g * x
    def calls(f):
        for held in (False, True):
            for one in (False, True, False, True):
                a.grad, b.grad = ramp(3), ramp(3)
                if one:
                    b.grad = a.grad
                o.g = a.grad if held else None
                yield from thrice(lambda: f(ramp(3)))
            a.grad = ramp(3) * 5
            yield from thrice(lambda: f(ramp(3)))
        a.grad = b.data
        yield from thrice(lambda: (f(ramp(3)), b))
    return f, calls


@trap
def generators_are_made_and_copied_inside():
    """Generator(), clone_state() and deepcopy: each call's draws start where they did."""
    g = whet.Generator().manual_seed(3)
    def f(x): return x + whet.randn(3, generator=whet.Generator()), whet.rand(3, generator=g.clone_state()), whet.rand(3, generator=copy.deepcopy(g))
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        g.manual_seed(5)
        yield from thrice(lambda: f(ramp(3)))
        whet.randn(3, generator=g)
        yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def seeds_in_many_places():
    """Seeds inside a fork, of two generators, between draws, and a state that is put back twice."""
    g = whet.Generator()
    def f(x, seed):
        a = whet.rand(2)
        with whet.random.fork_rng():
            whet.manual_seed(seed)
            b = whet.randn(3)
        state = whet.get_rng_state()
        c = whet.rand(2)
        whet.set_rng_state(state)
        d = whet.rand(2)
        whet.set_rng_state(state)
        g.manual_seed(seed + 1)
        return x + b, a, c - d, whet.rand(2, generator=g), whet.initial_seed() if seed == 3 else None
    def calls(f):
        for seed in (1, 1, 1, 2, 2, 2, 1, 3, 3, 3):
            yield f(ramp(3), seed), whet.rand(1), whet.rand(1, generator=g)
        whet.manual_seed(4)
        for seed in (3, 3, 3, 1):
            yield f(ramp(3), seed), whet.rand(1), whet.rand(1, generator=g)
    return f, calls


@trap
def layers_are_frozen_in_turn():
    """requires_grad_ of parameters inside: one network learns, then the other; what is left is another flag."""
    g, d = nn.Linear(3, 3), nn.Linear(3, 1)
    both = [optim.SGD(m.parameters(), lr=0.1) for m in (g, d)]
    def f(x):
        d.requires_grad_(True)
        both[1].zero_grad()
        (d(x).mean() - d(g(x).detach()).mean()).backward()
        both[1].step()
        d.requires_grad_(False)
        both[0].zero_grad()
        loss = d(g(x)).mean()
        loss.backward()
        both[0].step()
        return loss
    def calls(f):
        for k in range(9):
            if k == 5:
                d.requires_grad_(True)
            yield f(ramp(2, 3)), g.weight.detach().clone(), d.weight.detach().clone(), d.weight.requires_grad
    return f, calls


@trap
def a_flag_turns_round():
    """p.requires_grad_(not p.requires_grad)"""
    p = leaf(3)
    def f(x):
        p.requires_grad_(not p.requires_grad)
        return x * p
    def calls(f):
        for k in range(10):
            if k == 7:
                p.requires_grad_(True)
            y = f(ramp(3))
            yield y.requires_grad, y.detach(), p.requires_grad
    return f, calls


@trap
def a_class_says_it_is_another_ones():
    """__module__ may be anything."""
    class C: k = 2.0
    class D: k = 2.0
    C.__module__, D.__module__ = "collections", "whet.config"
    def f(x): return x * C.k + D.k
    def calls(f):
        for C.k in (2.0, 3.0):
            yield from thrice(lambda: f(ramp(3)))
        for D.k in (5.0, 6.0):
            yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def a_date_goes_by_the_place():
    """datetime.timestamp() of a time without a place goes by the machine's."""
    d = datetime.datetime(2020, 1, 1, 12)
    def f(x): return x + d.timestamp() % 86400
    def calls(f):
        before = os.environ.get("TZ")
        for zone in ("UTC", "Asia/Tokyo"):
            os.environ["TZ"] = zone
            time.tzset()
            yield from thrice(lambda: f(ramp(3, dtype=whet.float64)))
        os.environ.pop("TZ")
        os.environ.update({"TZ": before} if before else {})
        time.tzset()
    return f, calls


@trap
def values_of_the_library_are_settings():
    """Paths, dates, decimals and patterns among the attributes of what is reached; they are exchanged."""
    o = Box(path=pathlib.Path("/tmp/a"), day=datetime.date(2020, 1, 3), rate=decimal.Decimal("1.5"), words=re.compile("a+"))
    def f(x): return x * o.day.day * float(o.rate) * len(o.words.findall("aabaa"))
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        o.path, o.day = pathlib.Path("/tmp/b"), datetime.date(2020, 1, 9)
        yield from thrice(lambda: f(ramp(3)))
        o.rate, o.words = decimal.Decimal("2.5"), re.compile("a")
        yield from thrice(lambda: f(ramp(3)))
    return f, calls


# ---- streams that are put aside -------------------------------------------------------------------------------------------
@trap
def lines_are_hidden(trace):
    """redirect_stdout to a stream of the call's, to one from outside, and sys.stdout = ... by hand."""
    there, by_hand = io.StringIO(), io.StringIO()
    @trace
    def outside(x):
        with contextlib.redirect_stdout(there):
            print("put", x.shape)
        print("shown")
        return x * 2
    @trace
    def hand(x):
        before, sys.stdout = sys.stdout, by_hand
        try:
            print("put")
        finally:
            sys.stdout = before
        print("shown")
        return x * 2
    def f(x):
        with contextlib.redirect_stdout(io.StringIO()):
            print("hidden")
        print("shown")
        return x * 2
    def calls(f):
        for _ in range(5):
            yield f(ramp(3)), outside(ramp(3)), hand(ramp(3)), there.getvalue(), by_hand.getvalue()
    return f, calls


# ---- what training scripts do ---------------------------------------------------------------------------------------------
@trap
def blocks_run_again_in_backward():
    """Checkpointed blocks in a step: dropout draws its numbers twice, batch norm and a counter count twice, a line is printed twice."""
    o = Box(n=0)
    class Count(nn.Module):
        def forward(self, x):
            o.n += 1
            print("run")
            return x.tanh()
    blocks = nn.ModuleList([nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3), nn.Dropout(0.3), Count()) for _ in range(2)])
    opt = optim.AdamW(blocks.parameters(), lr=0.1)
    def f(x):
        opt.zero_grad()
        for b in blocks:
            x = x + checkpoint(b, x, use_reentrant=False)
        loss = x.pow(2).mean()
        loss.backward()
        opt.step()
        return loss
    def calls(f):
        for k in range(8):
            if k == 5:
                blocks.eval()
            yield f(ramp(4, 3)), blocks[0][0].weight.detach().clone(), blocks[1][1].running_mean.clone(), o.n, whet.rand(1)
    return f, calls


@trap
def a_gradient_is_penalised():
    """x = (...).requires_grad_(), a gradient with a graph, its norm, and backward through that; the result's graph is used up then."""
    d = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    opt = optim.Adam(d.parameters(), lr=0.1)
    def f(a, b):
        e = whet.rand(len(a), 1)
        x = (e * a + (1 - e) * b).requires_grad_(True)
        g, = whet.autograd.grad(d(x).sum(), x, create_graph=True)
        loss = d(a).mean() - d(b).mean() + ((g.norm(dim=1) - 1) ** 2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss
    def calls(f):
        for _ in range(6):
            loss = f(ramp(2, 3), -ramp(2, 3))
            yield loss.detach(), d[0].weight.detach().clone(), outcome(lambda: loss.backward())[:2]
    return f, calls


@trap
def tensors_are_made_of_numbers_that_vary():
    """full, tensor, new_full of counters and rates: large, negative, not finite, too large for float32, of other types."""
    o = Box(t=10, v=0.5)
    def f(x):
        o.t -= 1
        o.v *= -1.5
        return (x * whet.full((3,), o.t), whet.tensor(o.t), whet.full((2, 2), o.v), whet.tensor(o.v), x.new_full((2,), o.t), whet.full((0,), o.v),
                whet.full((3,), o.t, dtype=whet.float32), whet.full((), o.v, dtype=whet.float64), whet.tensor(o.v, dtype=whet.float64))
    def calls(f):
        for _ in range(8):
            yield f(ramp(3))
        for o.t, o.v in ((0, -0.0), (5, float("nan")), (2 ** 39, float("inf")), (3, 1e300), (1, 5e-324), (1, 1.0)):
            yield outcome(lambda: f(ramp(3)))
    return f, calls
