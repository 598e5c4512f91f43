"""Classes and code, what is made once and lies in several places, text and memory."""
import collections
import dataclasses
import enum
import functools
import logging
import math

import numpy as np
import whet

from tests.traps.harness import Box, leaf, outcome, ramp, trap


# ---- classes and code ----------------------------------------------------------------------------
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


# ---- what is made once and lies in several places ------------------------------------------------
@trap
def a_tensor_is_logged_and_kept_last():
    """log.append(y), last = y, best = {"y": y}: one new tensor in a list that grows, an attribute
    and a dict."""
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
            yield y, len(log), [t is y
                                for t in (log[-1], o.last, table["best"],
                                          table["all"][-1][1]["y"])], log[0]
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
            yield (ga is g, gb is ga, gz._base is g, g, g._version,
                   outcome(lambda loss=loss: loss.backward()))
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


# ---- text and memory -----------------------------------------------------------------------------
@trap
def a_loss_is_logged_by_its_number():
    """logger.info("%.3f", loss) with a history, %d of an enum, %r of a shape and of a list, a dict
    by its keys, nothing while it is disabled."""
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
    """float(loss), int(count), of tensors of several types, of numbers that vary, of what is none;
    with isinstance beside them and without."""
    o = Box(total=0.0, seen=0)
    def f(x, k):
        o.total += float(x.mean())
        o.seen += int((x > 1).sum())
        parts = [float(v) for v in x]
        return (x * float(k),
                {"loss": float(x.sum()), "count": int(x.sum() * k), "same": float((x > 2).sum())},
                int(k * 1.5), max(parts), float("1e3"))
    def calls(f):
        for k in (1, 2, 3, 4, 5, 0.5, 1.5, 2.5, 3.5, -1.5, 6, 7):
            y, d, *rest = f(ramp(3) * k, k)
            yield y, d, rest, o.total, o.seen, [type(v).__name__
                                                for v in (*d.values(), *rest, o.total, o.seen)]
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
    """A Function marks a tensor from outside as dirty, writes to it or not; memory is exchanged for
    itself by way of `.data`."""
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
