"""Memory that overlaps, containers with methods of their own, names that are put together,
stand-ins that C does not ask."""
import collections
import contextvars
import functools
import operator
import threading
import types
import typing

import numpy as np
import whet

from tests.traps.harness import Box, leaf, outcome, ramp, thrice, trap

T = typing.TypeVar("T")


# ---- memory that overlaps ------------------------------------------------------------------------
@trap
def a_matrix_and_its_transpose():
    """f(t, t.t()) writes to one and reads the other."""
    def f(a, b):
        a.add_(b)
        return a * 1, b.mul_(2).sum()
    def calls(f):
        for _ in range(4):
            t = ramp(3, 3)
            yield f(t, t.t()), t
    return f, calls


@trap
def a_shift_within_one_memory():
    """a is t[1:], b is t[:-1]: copied, added, indexed and gathered."""
    def f(a, b):
        a.copy_(b)
        b.mul_(0.5).add_(a)
        a.index_add_(0, whet.tensor([0, 1]), b[:2])
        a[1:3] = b[:2]
        return a + b
    def calls(f):
        for _ in range(4):
            t = ramp(8)
            yield f(t[1:], t[:-1]), t
            yield f(t[:-1], t[1:]), t
    return f, calls


@trap
def a_state_that_is_shifted():
    """A captured ring: its tail becomes its head, in place."""
    ring = ramp(6)
    head, tail = ring[:-1], ring[1:]
    def f(x):
        head.copy_(tail)
        ring[-1] = x.sum()
        return ring * 1
    def calls(f):
        for k in range(5):
            yield f(ramp(k % 2 + 1)), ring
    return f, calls


# ---- gradients and attributes of tensors ---------------------------------------------------------
@trap
def a_gradient_is_given_back_and_replaced():
    """The gradient that was there is returned, and another put in its place."""
    w = leaf(3)
    def f(x):
        before, w.grad = w.grad, None
        (w * x).sum().backward()
        return before, w.grad[1:].sum()
    def calls(f):
        for _ in range(6):
            yield f(ramp(3)), w.grad
    return f, calls


@trap
def tensors_with_attributes():
    """A parameter, a captured tensor and an argument have a `scale`, which is changed, set inside,
    and taken away."""
    w, b = leaf(3), ramp(3)
    w.scale = b.scale = 2.0
    def f(x):
        x.seen = getattr(x, "seen", 0) + 1
        return x * w.scale + b.scale * getattr(x, "bias", 1.0), x.seen
    def calls(f):
        x = ramp(3)
        for change in (lambda: None, lambda: setattr(w, "scale", 3.0),
                       lambda: setattr(b, "scale", 4.0), lambda: setattr(x, "bias", 5.0),
                       lambda: delattr(x, "bias")):
            change()
            yield from thrice(lambda: f(x))
    return f, calls


# ---- attributes of functions and what stands for them --------------------------------------------
@trap
def attributes_of_what_wraps_a_function():
    """A partial, a static method, a dispatcher, a decorated function and a new type have attributes
    of their own."""
    def plain(x): return x + 1
    things = [functools.partial(plain), staticmethod(plain), functools.singledispatch(plain),
              whet.no_grad()(plain), typing.NewType("Id", int)]
    for t in things:
        t.scale = 1.0
    p, s, d, g, n = things
    def f(x): return x * p.scale + s.scale - d.scale * g.scale + n.scale
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        for i, t in enumerate(things):
            t.scale = i + 2.0
            yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def a_counter_on_the_function_itself():
    """f.calls += 1, where f is what was traced."""
    me = Box()
    def f(x):
        me.f.calls += 1
        return x * me.f.scale
    def calls(f):
        me.f, f.calls, f.scale = f, 0, 2.0
        yield from thrice(lambda: (f(ramp(3)), f.calls))
        f.scale = 3.0
        yield from thrice(lambda: (f(ramp(3)), f.calls))
        del f.scale
        yield from thrice(lambda: outcome(lambda: f(ramp(3))))
    return f, calls


@trap
def classes_behind_aliases():
    """Generic[int].scale, list-like aliases, unions and their parts."""
    class Gauge(typing.Generic[T]):
        scale = 2.0
    class Meter:
        scale = 3.0
    a, b, c = Gauge[int], types.GenericAlias(Meter, (int,)), Meter | None
    def f(x): return x * a.scale + b.scale + c.__args__[0].scale
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        Gauge.scale = 4.0
        yield from thrice(lambda: f(ramp(3)))
        Meter.scale = 5.0
        yield from thrice(lambda: f(ramp(3)))
    return f, calls


# ---- names that are put together -----------------------------------------------------------------
@trap
def a_name_in_a_module_is_put_together_by_a_helper():
    """The module is in an object, getattr in a helper or under another name, the list is changed in
    place."""
    mod = types.ModuleType("settings")
    mod.scale, mod.table = 2.0, [1.0, {"k": 1.0}]
    o, look = Box(mod=mod, key="".join(["sc", "ale"]), other="".join(["ta", "ble"])), getattr
    def helper(m, name): return getattr(m, name)
    def f(x): return (x * look(o.mod, o.key) + helper(o.mod, o.other)[0]
                      - helper(o.mod, o.other)[1]["k"])
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        mod.scale = 3.0
        yield from thrice(lambda: f(ramp(3)))
        mod.table[0] = 5.0
        yield from thrice(lambda: f(ramp(3)))
        mod.table[1]["k"] = 7.0
        yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def a_module_of_a_kind_of_its_own():
    """A subclass of modules has class attributes and properties."""
    class Settings(types.ModuleType):
        scale, _bias = 2.0, 1.0
        @property
        def bias(self): return type(self)._bias
    mod = Settings("mod")
    def f(x): return x * mod.scale + mod.bias
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        Settings.scale = 3.0
        yield from thrice(lambda: f(ramp(3)))
        Settings._bias = 4.0
        yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def a_function_with_builtins_of_its_own():
    """exec with a namespace whose __builtins__ holds the number."""
    names = {"__builtins__": {"SCALE": 2.0}}
    exec("def f(x): return x * SCALE", names)  # noqa: S102
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        names["__builtins__"]["SCALE"] = 3.0
        yield from thrice(lambda: f(ramp(3)))
    return names["f"], calls


@trap
def type_under_another_name():
    """T = type: a number that varies is still a float."""
    kinds = {"type": type}
    def f(x, n, of=type): return x * n if of(n) is float and kinds["type"](n) is float else x
    def calls(f):
        for n in (1.0, 2.0, 3.0, 4.0, 5.0):
            yield f(ramp(3), n)
    return f, calls


# ---- containers with methods of their own --------------------------------------------------------
@trap
def containers_that_hide_what_they_hold():
    """A dict, a list and a set of which the iteration, the length or the truth are the user's."""
    class Hidden(dict):
        def __iter__(self): return iter(())
        def keys(self): return ()
        def values(self): return ()
        def items(self): return ()
        def __len__(self): return 0
    class Listed(list):
        def __iter__(self): return iter(())
        def __len__(self): return 0
    class Chosen(set):
        def __iter__(self): return iter(())
        def __len__(self): return 0
    d, l, s = Hidden(k=2.0), Listed([3.0]), Chosen()
    def f(x): return x * d["k"] + l[0] + (1.0 if "yes" in s else 0.0)
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        d["k"] = 4.0
        yield from thrice(lambda: f(ramp(3)))
        l[0] = 5.0
        yield from thrice(lambda: f(ramp(3)))
        s.add("yes")
        yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def containers_that_count_who_asks():
    """Each iteration of a dict is counted: only the function's own are."""
    class Counted(dict):
        asked = 0
        def __iter__(self):
            Counted.asked += 1
            return dict.__iter__(self)
    d = Counted(k=2.0)
    def f(x): return x * d["k"]
    def calls(f):
        for d["k"] in (2.0, 3.0, 2.0):
            yield from thrice(lambda: (f(ramp(3)), Counted.asked))
    return f, calls


# ---- what a run finds in place of a list or a number ---------------------------------------------
@trap
def a_log_is_joined_and_given_back():
    """[0.0] + log, lst += log, operator.concat, log.__class__ and log itself as a result."""
    log, others = [], []
    def joined(x):
        log.append(1.0)
        return x * len([0.0] + log)  # noqa: RUF005
    def grown(x):
        log.append(1.0)
        mine = others
        mine += log
        return x * len(others), mine is others
    def linked(x):
        log.append(1.0)
        return x * len(operator.concat([0.0], log)), log.__class__ is list
    def back(x):
        log.append(1.0)
        return x * 2, log, (log,)
    def f(x, how): return (joined, grown, linked, back)[how](x)
    def calls(f):
        for how in range(4):
            for _ in range(6):
                y = f(ramp(2), how)
                yield y, len(log), how < 3 or (y[1] is log, y[2][0] is log, type(y[1]) is list)
    return f, calls


@trap
def numbers_leave_in_parts_of_things():
    """A slice, a size, a frozen set, an exception and a Counter hold a number that varies."""
    o = Box(n=0, last=None)
    def f(x):
        o.n += 1
        o.last = collections.Counter([o.n]), ValueError(o.n, "a")
        if o.n % 4 == 3:
            raise KeyError(o.n)
        return slice(0, o.n), whet.Size([o.n, 2]), frozenset([o.n]), x * o.n
    def calls(f):
        for _ in range(12):
            got = outcome(lambda: f(ramp(2)))
            yield got, o.last[0], o.last[1].args, [type(k).__name__
                                                   for k in (*o.last[0], o.last[1].args[0])]
            if type(got) is tuple and type(got[0]) is slice:
                yield type(got[0].stop).__name__, type(got[1][0]).__name__, range(100)[got[0]]
    return f, calls


@trap
def large_unsigned_numbers():
    """item() of a uint64 that no signed number holds."""
    def f(t): return whet.ones(2) * 2, t.item()
    def calls(f):
        for n in (1, 2, 3, 2 ** 63 + 5, 2 ** 64 - 1, 4, 5, 2 ** 63):
            yield f(whet.tensor(np.array(n, np.uint64)))
    return f, calls


@trap
def the_order_of_a_set():
    """A set that is given back is gone through in the same order."""
    def f(x):
        s = set()
        for k in (33, 1, 17, 65, 9):
            s.add(k)
        return x * 2, s, [*s], frozenset(s)
    def calls(f):
        for _ in range(5):
            y, s, order, frozen = f(ramp(2))
            yield y, [*s], order, [*frozen]
    return f, calls


# ---- variables of contexts and threads -----------------------------------------------------------
@trap
def variables_of_a_context_hold_anything():
    """A ContextVar gets tuples, one of a single thing, tensors, text, nothing."""
    var = contextvars.ContextVar("var", default=None)
    def f(x, how):
        if how == 0:
            var.set((x * 2,))
        elif how == 1:
            var.set(("a", "b"))
        elif how == 2:
            var.set(x.sum())
        elif how == 3:
            var.set(())
        return x + 1
    def calls(f):
        for how in (0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 0, 2):
            yield f(ramp(2), how), var.get()
    return f, calls


@trap
def variables_of_a_thread_count():
    """A threading.local is counted up, by numbers that vary and on two threads."""
    own = threading.local()
    own.total = 1.0
    def f(x, n):
        own.total = getattr(own, "total", 0.0) + n
        own.last = x.sum()
        return x * own.total
    def calls(f):
        for n in (1.0, 2.0, 3.0, 4.0, 5.0, 6.0):
            yield f(ramp(2), n), own.total, type(own.total).__name__, own.last
        got = []
        t = threading.Thread(target=lambda: got.extend([f(ramp(2), 1.0), own.total]))
        t.start()
        t.join()
        yield got, own.total
    return f, calls
