"""What lies beneath the usual ways: memory that overlaps, containers with methods of their own, attributes of what nobody expects to have any,
names that are put together, stand-ins that C does not ask, code without a file."""
import collections
import contextvars
import dataclasses
import enum
import functools
import logging
import math
import operator
import threading
import types
import typing

import numpy as np
import whet

from tests.traps.harness import Box, leaf, outcome, ramp, thrice, trap

T = typing.TypeVar("T")


# ---- memory that overlaps --------------------------------------------------------------------------------------------------
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


# ---- gradients and attributes of tensors -----------------------------------------------------------------------------------
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
    """A parameter, a captured tensor and an argument have a `scale`, which is changed, set inside, and taken away."""
    w, b = leaf(3), ramp(3)
    w.scale = b.scale = 2.0
    def f(x):
        x.seen = getattr(x, "seen", 0) + 1
        return x * w.scale + b.scale * getattr(x, "bias", 1.0), x.seen
    def calls(f):
        x = ramp(3)
        for change in (lambda: None, lambda: setattr(w, "scale", 3.0), lambda: setattr(b, "scale", 4.0), lambda: setattr(x, "bias", 5.0),
                       lambda: delattr(x, "bias")):
            change()
            yield from thrice(lambda: f(x))
    return f, calls


# ---- attributes of functions and what stands for them ----------------------------------------------------------------------
@trap
def attributes_of_what_wraps_a_function():
    """A partial, a static method, a dispatcher, a decorated function and a new type have attributes of their own."""
    def plain(x): return x + 1
    things = [functools.partial(plain), staticmethod(plain), functools.singledispatch(plain), whet.no_grad()(plain), typing.NewType("Id", int)]
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


# ---- names that are put together -------------------------------------------------------------------------------------------
@trap
def a_name_in_a_module_is_put_together_by_a_helper():
    """The module is in an object, getattr in a helper or under another name, the list is changed in place."""
    mod = types.ModuleType("settings")
    mod.scale, mod.table = 2.0, [1.0, {"k": 1.0}]
    o, look = Box(mod=mod, key="".join(["sc", "ale"]), other="".join(["ta", "ble"])), getattr
    def helper(m, name): return getattr(m, name)
    def f(x): return x * look(o.mod, o.key) + helper(o.mod, o.other)[0] - helper(o.mod, o.other)[1]["k"]
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


# ---- containers with methods of their own ----------------------------------------------------------------------------------
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


# ---- what a run finds in place of a list or a number -----------------------------------------------------------------------
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
            yield got, o.last[0], o.last[1].args, [type(k).__name__ for k in (*o.last[0], o.last[1].args[0])]
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


# ---- variables of contexts and threads -------------------------------------------------------------------------------------
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


# ---- classes and code ------------------------------------------------------------------------------------------------------
@trap
def a_record_with_slots_beneath():
    """A dataclass whose base keeps a slot, and a class with private slots under another name."""
    class Base:
        __slots__ = ("extra",)
    @dataclasses.dataclass
    class Point(Base):
        x: float
    class Old:
        __slots__ = ("__a",)
        def __init__(self): self.__a = 2.0
        def get(self): return self.__a
        def set(self, a): self.__a = a
    o = Old()
    Old.__name__ = "New"
    def f(x):
        p = Point(1.0)
        p.extra = 5.0
        return x * o.get(), p
    def calls(f):
        for a in (2.0, 3.0, 2.0):
            o.set(a)
            for _ in range(3):
                y, p = f(ramp(2))
                yield y, p.x, p.extra
    return f, calls


@trap
def code_without_a_file():
    """A function made by exec in the run, and one that NumPy calls: both count."""
    counts, names = [0, 0], {}
    exec(compile("def made(counts, i):\n    counts[i] += 1\n    return counts[i]", "<made>", "exec"), names)  # noqa: S102
    hidden = np.frompyfunc(functools.partial(names["made"], counts), 1, 1)
    def f(x): return x * 2 + float(hidden(1))
    def calls(f):
        for _ in range(5):
            yield f(ramp(2)), list(counts)
    return f, calls


# ---- what is made once and lies in several places --------------------------------------------------------------------------
@trap
def a_tensor_is_logged_and_kept_last():
    """log.append(y), last = y, best = {"y": y}: one new tensor in a list that grows, an attribute and a dict."""
    o, log, table = Box(last=None), [], {"all": []}
    def f(x):
        y = x * 2
        log.append(y)
        o.last = y
        table["all"].append((y[:1], {"y": y}))
        table["best"] = y
        return y
    def calls(f):
        for k in range(8):
            y = f(ramp(3) + k)
            yield y, len(log), [t is y for t in (log[-1], o.last, table["best"], table["all"][-1][1]["y"])], log[0]
    return f, calls


@trap
def a_tuple_is_given_back_twice():
    """A tuple, a record, a slice are one, in the result, in a list and in an attribute."""
    Pair = collections.namedtuple("Pair", "a b")
    o, log = Box(last=None), []
    def f(x):
        t, p, s = (x * 2, 1), Pair(x, x + 1), slice(0, x.shape[0])
        o.last = t
        log.append(t)
        return t, {"t": t}, p, [p], s, (s,)
    def calls(f):
        for k in range(8):
            t, d, p, ps, s, ss = f(ramp(3) + k)
            yield t, p, t is d["t"], t is o.last, t is log[-1], p is ps[0], s is ss[0]
    return f, calls


@trap
def a_record_that_is_a_dict():
    """A dataclass that is an OrderedDict and fills itself, as models give back."""
    @dataclasses.dataclass
    class Output(collections.OrderedDict):
        loss: object = None
        logits: object = None
        def __post_init__(self):
            for field in dataclasses.fields(self):
                self[field.name] = getattr(self, field.name)
    def f(x): return Output(loss=x.sum(), logits=x * 2)
    def calls(f):
        for k in range(6):
            out = f(ramp(3) + k)
            yield [*out.items()], out.loss, out["logits"] is out.logits, type(out) is Output
    return f, calls


@trap
def windows_of_one_memory():
    """The second argument is a window of the first, at another place each time."""
    def f(a, b):
        b.copy_(a[:128])
        return b * 1
    def calls(f):
        for start in (128, 128, 128, 64, 192, 1, 0, 128, 64):
            t = ramp(512)
            yield f(t, t[start:start + 128]), t
    return f, calls


@trap
def gradients_that_lie_in_one_memory():
    """autograd.grad through a sum gives one tensor twice, and that is the one that it was given."""
    def f(a, b): return a + b, a.t()
    def calls(f):
        for _ in range(5):
            a, b, g = leaf(3, 3), leaf(3, 3), whet.ones(3, 3)
            y, z = f(a, b)
            ga, gb = whet.autograd.grad(y, [a, b], g, retain_graph=True)
            gz, = whet.autograd.grad(z, [a], g)
            w = leaf(3, 3)
            loss = (w * gb).sum()
            ga.mul_(3)
            yield ga is g, gb is ga, gz._base is g, g, g._version, outcome(lambda loss=loss: loss.backward())
    return f, calls


@trap
def a_check_for_numbers_that_are_none():
    """math.isfinite, isnan and isinf of an item."""
    def f(x):
        v = x.sum().item()
        if not math.isfinite(v):
            raise ValueError("no number" if math.isnan(v) else "infinite")
        return x * v, math.isinf(v)
    def calls(f):
        for k in (1.0, 2.0, 3.0, 4.0, float("inf"), 5.0, float("nan"), 6.0, 7.0, 8.0, 9.0):
            yield outcome(lambda k=k: f(ramp(2) * k))
    return f, calls


# ---- text and memory ---------------------------------------------------------------------------------------------------------
@trap
def a_loss_is_logged_by_its_number():
    """logger.info("%.3f", loss) with a history, %d of an enum, %r of a shape and of a list, a dict by its keys, nothing while it is disabled."""
    logger, said, w = logging.getLogger("trap.beneath"), [], leaf(3)
    class Stage(enum.IntEnum):
        WARM, FULL = 1, 2
    class Handler(logging.Handler):
        def emit(self, record): said.append(record.getMessage())
    def f(x, how):
        loss = (w * x).sum()
        if how == 0:
            logger.info("loss %.3f, %d steps, %s", loss, 3, "warm")
        elif how == 1:
            logger.info("%d %r %r", Stage.FULL, x.shape, [1, "a"])
        elif how == 2:
            logger.info("%(a).2f", {"a": 1.5})
        else:
            logger.debug("%r", object)
        return loss
    def calls(f):
        logger.handlers, logger.propagate = [Handler()], False
        logger.setLevel(logging.INFO)
        for how in (0, 0, 0, 0, 3, 3, 3, 1, 1, 2, 2):
            yield f(ramp(3), how), list(said)
        logger.setLevel(logging.DEBUG)
        yield f(ramp(3), 3), list(said)
        logger.handlers = []
    return f, calls


@trap
def data_is_written_and_assigned():
    """w.data -= g, and a graph that saved w before."""
    w = leaf(3)
    def f(g): w.data -= 0.1 * g
    def calls(f):
        for _ in range(5):
            v = leaf(3)
            y = (w * v).sum()
            f(ramp(3))
            yield outcome(y.backward), v.grad, w, w._version
    return f, calls


@trap
def numbers_by_float_and_int():
    """float(loss), int(count), of tensors of several types, of numbers that vary, of what is none; with isinstance beside them and without."""
    o = Box(total=0.0, seen=0)
    def f(x, k):
        o.total += float(x.mean())
        o.seen += int((x > 1).sum())
        parts = [float(v) for v in x]
        return x * float(k), {"loss": float(x.sum()), "count": int(x.sum() * k), "same": float((x > 2).sum())}, int(k * 1.5), max(parts), float("1e3")
    def calls(f):
        for k in (1, 2, 3, 4, 5, 0.5, 1.5, 2.5, 3.5, -1.5, 6, 7):
            y, d, *rest = f(ramp(3) * k, k)
            yield y, d, rest, o.total, o.seen, [type(v).__name__ for v in (*d.values(), *rest, o.total, o.seen)]
        for bad in (ramp(2, 2) * float("inf"), ramp(2, 2) * float("nan"), ramp(1, 2), "a"):
            yield outcome(lambda bad=bad: f(bad, 2))
    return f, calls


@trap
def a_number_that_is_no_number():
    """int() of an infinite sum and float() of two numbers raise, after calls that did not."""
    def f(x): return x * 2, int(x.sum()), float(x[0])
    def calls(f):
        for k in (1, 2, 3, 4, float("inf"), float("nan"), None, 5, 1e18):
            x = ramp(2, 2) if k is None else ramp(2) * k
            yield outcome(lambda x=x: f(x))
    return f, calls


@trap
def writes_that_are_only_counted():
    """A Function marks a tensor from outside as dirty, writes to it or not; memory is exchanged for itself by way of `.data`."""
    class Touch(whet.autograd.Function):
        @staticmethod
        def forward(ctx, t, much):
            ctx.mark_dirty(t)
            return t.add_(1) if much else t
        @staticmethod
        def backward(ctx, g): return g, None
    t, u, w = ramp(3), ramp(3), leaf(3)
    def f(x, much):
        Touch.apply(u, False)
        if much is None:
            return x + u
        Touch.apply(t, much)
        w.data = w.data.mul_(0.5)
        return x + t
    def calls(f):
        for much in (None, None, None, None, True, True, True, False, False, False):
            v = leaf(3)
            y = (t * v).sum() + (w * v).sum() + (u * v).sum()
            yield f(ramp(3), much), t._version, w._version, u._version, outcome(y.backward), v.grad
    return f, calls
