"""State that a tracer only sees indirectly: names built from text, state inside C code, order,
identity, and mechanisms that interact."""
import collections
import contextvars
import functools
import io
import logging
import math
import operator
import os
import sys
import time
import types

import whet
import whet.nn.functional as F
from whet import nn

from tests.traps.harness import Box, leaf, outcome, ramp, thrice, trap


@trap
def a_stream_by_a_computed_name():
    """getattr(sys, "std" + "out"), vars(sys)["stdout"] and print through the builtins' dict."""
    def f(x, way):
        if way == 0:
            getattr(sys, "std" + "out").write("computed ")
        elif way == 1:
            vars(sys)["std" + "out"].write("vars ")
        else:
            getattr(__import__("builtins"), "pri" + "nt")("print", end=" ")
        return x * 2
    def calls(f):
        for way in (0, 1, 2):
            yield from thrice(lambda: f(ramp(2), way))
    return f, calls


@trap
def a_clock_by_a_computed_name():
    """getattr(time, name)() and a clock from a list."""
    clocks = [time.monotonic, time.perf_counter]
    def f(x, name):
        a, b = getattr(time, name)(), clocks[1]()
        return x * 2, a, b, clocks[0]() > 0
    def calls(f):
        last = 0.0
        for name in ("perf_counter",) * 4 + ("monotonic",) * 4:
            y, a, b, positive = f(ramp(2), name)
            now = time.perf_counter()
            yield y, b > last, b <= now, positive, type(a).__name__
            last = b
    return f, calls


@trap
def functions_of_math_in_disguise():
    """math functions as defaults, in tables, through map and operator, of numbers, bools, ints and
    tensors."""
    table = {"exp": math.exp, "root": math.sqrt}
    o = Box(n=1, v=0.25)
    def f(x, log=math.log, name="exp"):
        o.n, o.v = o.n + 1, o.v + 0.5
        a = (table[name](o.v) + log(3) + sum(map(math.sin, [o.v, 2])) + math.pow(o.n, 2)
             + math.hypot(o.v, o.n))
        return (x * a, math.floor(o.v), math.ceil(o.v), math.sqrt(True), math.exp(x.sum()),
                math.log(o.n, 2), a.__class__.__name__)
    def calls(f):
        for _ in range(9):
            yield f(ramp(2))
        table["exp"] = lambda v: -v
        yield from thrice(lambda: f(ramp(2)))
        yield from thrice(lambda: f(ramp(2), name="root"))
    return f, calls


@trap
def math_raises():
    """math.log of what becomes negative, exp of what becomes too large, powers of zero and of
    negative numbers."""
    o = Box(v=3.0, k=100.0)
    def f(x):
        o.v, o.k = o.v - 1, o.k * 1.7
        return x * math.log(o.v) * math.exp(o.k) * o.v ** -2 * o.v ** 0.5
    def calls(f):
        for _ in range(9):
            yield outcome(lambda: f(ramp(2))), o.v, o.k
        o.v, o.k = -1.0, 1.0
        yield from thrice(lambda: (outcome(lambda: f(ramp(2))), o.v))
    return f, calls


@trap
def powers_of_all_kinds():
    """int ** int, int ** -int, negative ** fraction, pow with a modulus, in place, of tensors by
    numbers that vary."""
    o = Box(n=1)
    def f(x):
        o.n += 1
        k = o.n
        k **= 2
        return (x ** o.n, o.n ** x, 2 ** o.n, k, o.n ** -1, (-0.5) ** o.n, 0.5 ** o.n, o.n ** 0.5,
                (2 ** o.n).__class__.__name__)
    def calls(f):
        for _ in range(8):
            yield f(ramp(2))
        o.n = 70
        yield from thrice(lambda: f(ramp(2)))
        o.n = -3
        yield from thrice(lambda: outcome(lambda: f(ramp(2))))
    return f, calls


@trap
def a_power_with_a_modulus():
    """pow() with two and three arguments, and what else takes nothing but a Python number."""
    import random
    o, seeds = Box(n=1), random.Random(5)
    def f(x):
        o.n += 1
        y = x * pow(3, o.n, 5) + pow(o.n, 2) + pow(2, -o.n)
        if o.n % 4 == 0:
            time.sleep(o.n * 1e-9)
            random.seed(-o.n)
            y = (y + random.random() + divmod(o.n, 3)[1] + [5][o.n - o.n] + len("a" * o.n)
                 + len([0] * o.n))
        return y
    def calls(f):
        for _ in range(9):
            yield f(ramp(2)), o.n, seeds.random()
    return f, calls


@trap
def warm_up_and_cosine():
    """A schedule in the user's own words, with Adam's corrections."""
    w, state = leaf(3), Box(step=0, m=whet.zeros(3), v=whet.zeros(3))
    def rate(step): return 0.1 * min(1.0, step / 3) * (0.5 + 0.5 * math.cos(math.pi * step / 20))
    def f(x):
        state.step += 1
        ((w * x).sum() - 1).pow(2).backward()
        with whet.no_grad():
            state.m.mul_(0.9).add_(w.grad, alpha=0.1)
            state.v.mul_(0.99).addcmul_(w.grad, w.grad, value=0.01)
            w.sub_(rate(state.step) * state.m / (1 - 0.9 ** state.step)
                   / ((state.v / (1 - 0.99 ** state.step)).sqrt() + 1e-8))
        w.grad = None
        return w.detach().clone()
    def calls(f):
        for _ in range(14):
            yield f(ramp(3)), state.step
    return f, calls


@trap
def caches_against_their_own():
    """A cache of size one, typed, of a method, cleared and refilled to the same counts, and one of
    something that prints."""
    o = Box(base=1.0)
    @functools.lru_cache(maxsize=1)
    def small(n): return o.base + n
    @functools.lru_cache(typed=True)
    def typed(n): return type(n).__name__
    class Model:
        @functools.cache                     # noqa: B019
        def scale(self, n): return o.base * n
    m = Model()
    def f(x, n): return x * small(n) + m.scale(n), typed(n)
    def g(x): return x * small(1)
    def calls(f):
        for n in (1, 1, 1, 1, 2, 2, 2, 1, 2, 1, 2, 1.0, True, 1):
            yield (f(ramp(2), n), tuple(small.cache_info()), tuple(typed.cache_info()),
                   tuple(Model.scale.cache_info()))
        o.base = 5.0
        yield from thrice(lambda: (f(ramp(2), 1), tuple(small.cache_info())))
        small.cache_clear()
        small(7)
        yield from thrice(lambda: (f(ramp(2), 1), tuple(small.cache_info())))
    return f, calls


@trap
def a_cache_that_prints_when_it_misses():
    """An effect behind a cache."""
    o = Box(n=0)
    @functools.cache
    def load(name):
        o.n += 1
        print("loading", name, o.n)
        return len(name) + o.n
    def f(x, name):
        y = x * load(name)
        print("loaded", name)
        return y
    def calls(f):
        for name in ("a", "a", "a", "a", "bb", "bb", "bb", "a"):
            yield f(ramp(2), name), o.n
        load.cache_clear()
        yield from thrice(lambda: (f(ramp(2), "a"), o.n))
    return f, calls


@trap
def a_context_variable_is_set_and_reset():
    """Tokens, nested, in a context of one's own."""
    level = contextvars.ContextVar("level")
    def inner(x):
        token = level.set(level.get(1) * 2)
        try:
            return x * level.get()
        finally:
            level.reset(token)
    def f(x): return inner(x) + inner(x) * level.get(0), level.get(None)
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        token = level.set(3)
        yield from thrice(lambda: f(ramp(2)))
        level.reset(token)
        yield from thrice(lambda: f(ramp(2)))
        yield contextvars.copy_context().run(lambda: (level.set(9), f(ramp(2))))[1]
    return f, calls


@trap
def the_environment_is_set_and_read():
    """os.environ[...] = ..., pop, setdefault, and what getenv says."""
    def f(x, k):
        os.environ["WHET_OF_A_TRAP"] = str(k)
        n = int(os.getenv("WHET_OF_A_TRAP")) + len(os.environ.get("WHET_OF_ANOTHER", ""))
        if k == 3:
            os.environ.pop("WHET_OF_A_TRAP")
        return x * n
    def calls(f):
        for k in (1, 1, 1, 2, 2, 3, 3, 3, 1):
            yield f(ramp(2), k), os.environ.get("WHET_OF_A_TRAP")
        os.environ["WHET_OF_ANOTHER"] = "abc"
        yield from thrice(lambda: f(ramp(2), 1))
    return f, calls


@trap
def containers_change_in_all_ways():
    """del, pop, update, |=, clear, sort, extend, insert, rotate, discard: each kind at once, then
    again from the start."""
    o = Box(d={}, l=[], s=set(), q=collections.deque(maxlen=4))
    def f(x):
        change(o, x)
        return x + len(o.d) + len(o.l) + len(o.s) + len(o.q)
    def calls(f):
        for k in range(7):
            (o.d.clear(), o.d.update({"a": 1, "b": 2.0}), o.s.clear(), o.s.update({1, 2}),
             o.q.clear(), o.q.extend([1, 2, 3]))
            o.l[:] = [3, 1, 2]
            yield f(ramp(2) * k), dict(o.d), list(o.l), sorted(o.s), list(o.q)
    return f, calls


def change(o, x):
    """Each kind of change of a dict, a list, a set and a deque."""
    o.d.pop("a", None)
    o.d |= {"c": x.shape[0], "t": x * 2}
    o.l.sort()
    o.l.insert(0, o.l.pop() + 1)
    del o.l[1:2]
    o.l.extend([5, x.sum()])
    o.s.discard(1)
    o.s |= {7}
    o.q.rotate(1)
    o.q.append(x.mean())


@trap
def containers_change_and_are_other_ones():
    """The same with new containers at each call, and with old ones that come back."""
    o = Box()
    def start():
        o.d, o.l, o.s, o.q = ({"a": 1, "b": 2.0}, [3, 1, 2], {1, 2},
                              collections.deque([1, 2, 3], maxlen=4))
    start()
    d0 = o.d
    def f(x):
        change(o, x)
        return x + len(o.d) + len(o.l) + len(o.s) + len(o.q)
    def calls(f):
        for k in range(7):
            start()
            if k == 4:
                o.d = d0
            yield f(ramp(2) * k), dict(o.d), list(o.l), sorted(o.s), list(o.q), list(d0)
        for k in range(3):
            yield f(ramp(2) * k), dict(o.d), len(o.l), sorted(o.s), len(o.q)
            o.l.clear(), o.l.append(1)
    return f, calls


@trap
def a_container_and_its_alias():
    """One list by two names, one of them inside a tuple; a dict that holds itself; changed and
    returned."""
    o = Box(a=[1.0])
    o.b, o.t, o.d = o.a, (o.a, 2), {}
    o.d["me"] = o.d
    def f(x):
        o.a.append(x.sum())
        o.d["n"] = len(o.b)
        return x * len(o.t[0]), o.a is o.b, o.t[0] is o.a, o.d["me"] is o.d, o.a
    def calls(f):
        for k in range(4):
            y, *same, a = f(ramp(2) * k)
            yield y, same, a is o.a, len(o.a), o.d["n"], list(o.b)
            del o.a[1:]
        o.b = list(o.a)
        for k in range(4):
            y, *same, a = f(ramp(2) * k)
            yield y, same, a is o.a, len(o.a), o.d["n"], list(o.b)
            del o.a[1:]
    return f, calls


@trap
def a_failure_in_the_middle_of_changes():
    """A container has changed, a line is printed, then an error is raised."""
    o = Box(seen=[], count={})
    def f(x, n):
        o.seen.append(n)
        o.count[n] = o.count.get(n, 0) + 1
        print("try", n)
        y = x.reshape(n, -1)
        o.seen.clear()
        return y
    def calls(f):
        for n in (2, 2, 2, 3, 3, 3, 2, 4, 4):
            yield outcome(lambda: f(ramp(4), n)), list(o.seen), dict(o.count)
    return f, calls


@trap
def versions_and_addresses_go_into_everything():
    """_version before and after writes, of views; data_ptr modulo, as a key and in a comparison of
    three."""
    w, keys = whet.zeros(4), {}
    def f(x, y):
        before = x._version
        x.add_(1)
        keys.clear()
        keys[x.data_ptr() == y.data_ptr()] = w._version
        return (x * 1, before, x._version, x[1:]._version, w.data_ptr() == w[:2].data_ptr(),
                x.data_ptr() % 4)
    def calls(f):
        x, y = ramp(4), ramp(4)
        for a, b in ((x, y), (x, y), (x, x), (x, x), (y, x), (x, x[1:]), (ramp(4), ramp(4))):
            yield f(a, b), dict(keys)
        w.add_(1)
        yield f(x, y), dict(keys)
    return f, calls


@trap
def offsets_of_views_made_inside():
    """x[1:].storage_offset() when x itself is a part."""
    table = ramp(6, 3)
    def f(x): return x * x[1:].storage_offset() + x.view(-1).storage_offset()
    def calls(f):
        for i in (0, 1, 1, 1, 2, 0, 5):
            yield f(table[i])
    return f, calls


@trap
def patches_come_while_it_is_compiled():
    """A class of layers, a function of layers and a builtin are patched inside the call, and put
    back."""
    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    def f(x):
        before = F.relu
        F.relu = lambda t, inplace=False: t * 3
        try:
            return model(x), F.relu(x)
        finally:
            F.relu = before
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        yield model(ramp(2)), F.relu(ramp(2))
        yield from thrice(lambda: f(ramp(2)))
    return f, calls


@trap
def a_subclass_of_a_layer_and_its_base_is_patched():
    """class Mine(nn.Linear), without a word of its own: nn.Linear.forward changes, then nn.Module
    gets a method it asks for."""
    class Mine(nn.Linear):
        pass
    model = Mine(2, 2)
    def f(x): return model(x) * (model.extra() if hasattr(model, "extra") else 1)
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        before = nn.Linear.forward
        nn.Linear.forward = lambda self, x: x @ self.weight - 1
        try:
            yield from thrice(lambda: f(ramp(2)))
            nn.Module.extra = lambda self: 5
            yield from thrice(lambda: f(ramp(2)))
        finally:
            nn.Linear.forward = before
            if hasattr(nn.Module, "extra"):
                del nn.Module.extra
        yield from thrice(lambda: f(ramp(2)))
    return f, calls


@trap
def an_optimizer_class_is_patched():
    """optim.SGD.step = ...: all optimizers count their steps."""
    from whet import optim
    w = leaf(2)
    opt, count = optim.SGD([w], lr=0.1), []
    def f(x):
        opt.zero_grad()
        (w * x).sum().backward()
        opt.step()
        return w.detach().clone()
    def calls(f):
        yield from thrice(lambda: (f(ramp(2)), len(count)))
        before = optim.SGD.step
        def step(self, closure=None):
            count.append(1)
            return before(self, closure)
        optim.SGD.step = step
        try:
            yield from thrice(lambda: (f(ramp(2)), len(count)))
        finally:
            optim.SGD.step = before
        yield from thrice(lambda: (f(ramp(2)), len(count)))
    return f, calls


@trap
def parametrised_pruned_and_normed():
    """nn.utils: a parametrisation that is registered and removed between calls."""
    from whet.nn.utils import parametrize
    class Double(nn.Module):
        def forward(self, w): return w * 2
    model = nn.Linear(2, 2)
    def f(x): return model(x)
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        parametrize.register_parametrization(model, "weight", Double())
        yield from thrice(lambda: f(ramp(2)))
        with whet.no_grad():
            model.parametrizations.weight.original.mul_(3)
        yield from thrice(lambda: f(ramp(2)))
        parametrize.remove_parametrizations(model, "weight")
        yield from thrice(lambda: f(ramp(2)))
    return f, calls


@trap
def everything_is_named_by_text():
    """operator.methodcaller, getattr on modules with made names, globals()[...] and a dict of
    names."""
    names = {"act": "tanh", "scale": "SCALE_OF_A_TRAP"}
    def f(x):
        y = operator.methodcaller(names["act"])(x)
        return getattr(F, "re" + "lu")(y) * globals()[names["scale"]]
    def calls(f):
        global SCALE_OF_A_TRAP
        for SCALE_OF_A_TRAP in (2.0, 3.0, 2.0):              # noqa: B007
            yield from thrice(lambda: f(ramp(2)))
        names["act"] = "exp"
        yield from thrice(lambda: f(ramp(2)))
    return f, calls


@trap
def a_logger_is_asked_and_named_late():
    """logging.getLogger(name) inside, hasHandlers, a child, and a LoggerAdapter."""
    stream = io.StringIO()
    top = logging.getLogger("whet.traps.top")
    top.propagate, top.handlers[:] = False, [logging.StreamHandler(stream)]
    top.setLevel(logging.INFO)
    def f(x, name):
        log = logging.getLogger("whet.traps." + name)
        log.info("from %s", name)
        if log.hasHandlers():
            x = x * 2
        top.info("done")
        return x
    def calls(f):
        for name in ("top", "top", "top", "top.child", "top.child", "top"):
            yield f(ramp(2), name), stream.getvalue()
    return f, calls


@trap
def sets_of_tensors_and_functions():
    """Membership by identity, sets of layers' parameters, of types and of functions, that
    change."""
    model = nn.Linear(2, 2)
    frozen, acts = {model.bias}, {whet.tanh}
    def f(x):
        y = x
        for p in model.parameters():
            y = y + (p.sum() if p not in frozen else 0)
        for a in acts:
            y = a(y)
        return y
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        frozen.add(model.weight)
        yield from thrice(lambda: f(ramp(2)))
        acts.clear(), acts.add(whet.exp)
        yield from thrice(lambda: f(ramp(2)))
        frozen.clear()
        yield from thrice(lambda: f(ramp(2)))
    return f, calls


@trap
def an_environment_of_chained_settings():
    """ChainMap of instance over class over defaults, UserDict with a __missing__."""
    class Settings(collections.UserDict):
        def __missing__(self, key): return len(key)
    own, s = {}, Settings(k=2.0)
    chain = collections.ChainMap(own, s.data)
    def f(x): return x * chain["k"] + s["k"] + s["missing"]
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        own["k"] = 5.0
        yield from thrice(lambda: f(ramp(2)))
        s["missing"] = 1.0
        yield from thrice(lambda: f(ramp(2)))
        chain.maps.reverse()
        yield from thrice(lambda: f(ramp(2)))
    return f, calls


@trap
def a_function_is_built_from_code():
    """types.FunctionType over the same code with other globals, and a code object with other
    constants."""
    def make(scale): return types.FunctionType(compile("lambda x: x * SCALE + 1", "<made>",
                                                       "eval").co_consts[0], {"SCALE": scale})
    o = Box(g=make(2.0))
    def f(x): return o.g(x)
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        o.g.__globals__["SCALE"] = 3.0
        yield from thrice(lambda: f(ramp(2)))
        o.g = make(4.0)
        yield from thrice(lambda: f(ramp(2)))
        code = o.g.__code__
        o.g.__code__ = code.replace(co_consts=tuple(10 if c == 1 else c for c in code.co_consts))
        yield from thrice(lambda: f(ramp(2)))
    return f, calls
