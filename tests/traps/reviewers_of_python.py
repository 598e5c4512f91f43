"""Programs of somebody who does not believe it: texts, files, queues, plugins, generators, what the
interpreter tells."""
import array
import collections
import contextlib
import ctypes
import functools
import importlib
import io
import itertools
import math
import operator
import os
import pathlib
import queue
import sys
import tempfile
import threading
import types
import typing

import whet

from tests.traps.harness import Box, outcome, ramp, thrice, trap


@trap
def locals_and_frames_are_asked():
    """locals(), vars(), dir(), and sys._getframe of the caller."""
    def f(x, k=2):
        y = x * k
        names = sorted(locals())
        return y, names, len(dir()), sys._getframe().f_code.co_name, sys._getframe(1) is None
    def calls(f):
        for k in (2, 2, 2, 3, 3):
            yield f(ramp(2), k)
    return f, calls


@trap
def code_of_text():
    """eval and exec of a text that the caller changes, with a namespace that is kept."""
    o, names = Box(text="x * 2"), {"k": 1.0}
    def f(x):
        exec("k = k + 1", names)
        return eval(o.text, {"x": x, **{k: v for k, v in names.items() if k == "k"}})
    def calls(f):
        for text in ("x * 2",) * 3 + ("x + k",) * 3 + ("x * 2",) * 2:
            o.text = text
            yield f(ramp(2)), names["k"]
    return f, calls


@trap
def a_file_comes_and_goes():
    """open().read(), Path.exists() and stat of a file that changes."""
    folder = tempfile.mkdtemp()
    path = pathlib.Path(folder) / "k.txt"
    def f(x):
        if not path.exists():
            return x
        with open(path) as file:
            return x * float(file.read())
    def calls(f):
        for k in (None, None, 2, 2, 2, 3, 3, None):
            if k is None:
                path.unlink(missing_ok=True)
            else:
                path.write_text(str(k))
            yield f(ramp(2))
        os.rmdir(folder)
    return f, calls


@trap
def iterators_outside_move_on():
    """itertools.count, cycle, a file-like and a deque popped, next() with a default."""
    count, turn = itertools.count(), itertools.cycle([1.0, 2.0, 3.0])
    left = iter([10.0, 20.0])
    def f(x): return x * next(turn) + next(count) + next(left, 0.0)
    def calls(f):
        for _ in range(8):
            yield f(ramp(2))
        yield next(count), next(turn)
    return f, calls


@trap
def generator_functions_are_traced(trace):
    """A generator that is traced is used up step by step; a generator expression is returned."""
    o = Box(k=1.0)
    def steps(x):
        for i in range(3):
            x = x * o.k + i
            yield x
    gen, expr = trace(steps), trace(lambda x: (x * o.k + i for i in range(2)))
    def f(x): return list(steps(x))
    def calls(f):
        for k in (1.0, 1.0, 1.0, 2.0, 2.0):
            o.k = k
            it = gen(ramp(2))
            first = next(it)
            o.k += 1
            yield f(ramp(2)), first, list(it), list(expr(ramp(2)))
    return f, calls


@trap
def functions_are_returned():
    """A closure over what was computed, a partial, a bound method, a class with a tensor."""
    def f(x):
        y = x * 2
        def later(z): return y + z
        class Holder:
            value = y
        return later, functools.partial(whet.add, y), y.sum, Holder, [lambda: y]
    def calls(f):
        for k in range(5):
            later, add, total, holder, (get,) = f(ramp(2) * k)
            y = get()
            y.add_(1)
            yield later(ramp(2)), add(1), total(), holder.value, y, holder.value is y
    return f, calls


@trap
def queues_and_locks():
    """A queue.Queue is drained, a Lock is held, a threading.local and an Event are asked."""
    q, lock, event = queue.Queue(), threading.Lock(), threading.Event()
    def f(x):
        with lock:
            while not q.empty():
                x = x + q.get()
        return x * (2 if event.is_set() else 1)
    def calls(f):
        for k in (0, 0, 0, 1, 2, 0, 3):
            for i in range(k):
                q.put(float(i + 1))
            if k == 2:
                event.set()
            yield f(ramp(2)), lock.locked()
    return f, calls


@trap
def odd_containers_as_arguments():
    """array.array, bytes, bytearray, memoryview, ctypes arrays, range, slice, Ellipsis, deque."""
    def f(x, o):
        if isinstance(o, (range, array.array, bytes, bytearray, memoryview, collections.deque)):
            return x * sum(o) + len(o)
        if isinstance(o, (slice, type(Ellipsis), type(None))):
            return x[o]
        return x * o[0]
    def calls(f):
        raw, a = bytearray(b"ab"), array.array("d", [1.0, 2.0])
        c, d = (ctypes.c_double * 2)(3.0, 4.0), collections.deque([1, 2], 2)
        for _ in range(3):
            for o in (raw, a, c, d, bytes(raw), memoryview(raw), range(3), range(1, 7, 3),
                      slice(0, 1), slice(None, None, 2), Ellipsis, None):
                yield f(ramp(3), o)
            raw[0] += 1
            a[0] += 1
            c[0] += 1
            d.append(5)
    return f, calls


@trap
def orders_of_dicts_and_sets():
    """The same entries in another order, a set that is listed, keys that are tuples and None."""
    def f(x, d):
        out = x * 0
        for i, v in enumerate(d.values()):
            out = out + v * (i + 1)
        return out, list(d), next(iter(d), "none")
    def calls(f):
        a, b = ramp(2), ramp(2) * 10
        for d in ({"a": a, "b": b}, {"b": b, "a": a}, {("a", 1): a, None: b},
                  {None: b, ("a", 1): a}, {True: a}, {1.0: a}, {1: a}, {}, {"a": b, "b": a}) * 2:
            yield f(ramp(2), d)
    return f, calls


@trap
def texts_that_are_kinds_of_text():
    """str subclasses, StrEnum-like, interned or not, bytes and text of equal look."""
    class Name(str):
        def __eq__(self, o): return str.__eq__(self.lower(), getattr(o, "lower", lambda: o)())
        __hash__ = str.__hash__
    def f(x, s):
        if s == "relu":
            return x.relu()
        if s == b"relu":
            return -x
        return x * len(s), type(s).__name__
    def calls(f):
        for s in ("relu", "".join(["re", "lu"]), Name("RELU"), "RELU", b"relu", Name("relu"),
                  "relu", Name("RELU"), "") * 2:
            yield f(ramp(2) - 1, s)
    return f, calls


@trap
def a_module_is_loaded_again():
    """importlib.reload gives other functions under the same names."""
    folder = tempfile.mkdtemp()
    path = pathlib.Path(folder) / "whet_review_module.py"
    path.write_text("K = 2.0\ndef act(x): return x * K\n")
    sys.path.insert(0, folder)
    try:
        import whet_review_module as m
    finally:
        sys.path.remove(folder)
    def f(x): return m.act(x)
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        path.write_text("K = 30.0\ndef act(x): return x + K + 100\n")
        sys.path.insert(0, folder)
        importlib.invalidate_caches()
        with contextlib.suppress(OSError):
            os.remove(importlib.util.cache_from_source(path))
        importlib.reload(m)
        sys.path.remove(folder)
        yield from thrice(lambda: f(ramp(2)))
        m.K = 5.0
        yield from thrice(lambda: f(ramp(2)))
        del sys.modules["whet_review_module"]
        yield from thrice(lambda: f(ramp(2)))
    return f, calls


@trap
def numbers_that_are_compared_and_sorted():
    """sorted by a key of tensors' items, min and max, any and all, bisect, sum with a start."""
    scale = [1.0, 3.0, 2.0]
    def f(xs):
        order = sorted(xs, key=lambda t: t.sum().item())
        best = max(range(len(xs)), key=lambda i: xs[i].mean().item() * scale[i])
        return order[0] + best, any(bool((x > 2).any()) for x in xs), sum(xs, whet.zeros(2)), best
    def calls(f):
        for ks in ((1, 2, 3),) * 3 + ((3, 2, 1),) * 3 + ((1, 1, 1), (-1, 0, 5), (1, 2, 3)):
            yield f([ramp(2) * k for k in ks])
        scale.reverse()
        yield from thrice(lambda: f([ramp(2) * k for k in (1, 2, 3)]))
    return f, calls


@trap
def an_exception_is_the_result():
    """An exception object with tensors is returned, kept outside, and raised the next time."""
    o = Box(error=None)
    class Bad(Exception):
        def __init__(self, x):
            super().__init__("bad", x.shape[0])
            self.x = x
    def f(x):
        if o.error is not None:
            e, o.error = o.error, None
            raise e
        try:
            if x.sum() > 2:
                raise Bad(x * 2)
        except Bad as e:
            o.error = e
            return e.x, e.args
        return x, ()
    def calls(f):
        for k in (1, 1, 1, 2, 2, 2, 2, 1, 1):
            yield outcome(lambda: f(ramp(2) * k)), o.error is None
    return f, calls


@trap
def a_registry_of_plugins():
    """A decorator fills a dict of functions; entries are replaced, removed, added in the loop."""
    table = {}
    def register(name, order=0):
        def deco(fn):
            table[name] = (order, fn)
            return fn
        return deco
    @register("scale", 1)
    def scale(x): return x * 2
    @register("shift")
    def shift(x): return x + 1
    def f(x):
        for _, fn in sorted(table.values(), key=operator.itemgetter(0)):
            x = fn(x)
        return x
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        register("square", 5)(lambda x: x * x)
        yield from thrice(lambda: f(ramp(2)))
        table["scale"] = (9, scale)
        yield from thrice(lambda: f(ramp(2)))
        table["shift"] = (0, math.exp and (lambda x: x - 7))
        yield from thrice(lambda: f(ramp(2)))
        del table["square"]
        yield from thrice(lambda: f(ramp(2)))
    return f, calls


@trap
def generic_classes_and_protocols():
    """typing.Protocol checks at run time, Generic subclasses, overloads, cast and Literal."""
    T = typing.TypeVar("T")
    @typing.runtime_checkable
    class Scales(typing.Protocol):
        k: float
    class Holder(typing.Generic[T]):
        def __init__(self, value: T): self.value = value
        def get(self) -> T: return self.value
    class Both(Holder[float]):
        pass
    h, b = Holder(2.0), Both(3.0)
    def f(x):
        for o in (h, b):
            if isinstance(o, Scales):
                x = x * o.k
            x = x + typing.cast(float, o.get())
        return x
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        h.k = 4.0
        yield from thrice(lambda: f(ramp(2)))
        Both.k = 5.0
        yield from thrice(lambda: f(ramp(2)))
        b.value = -1.0
        yield from thrice(lambda: f(ramp(2)))
    return f, calls


@trap
def streams_take_what_is_written():
    """StringIO, BytesIO.getvalue, csv and a print into a file object that is exchanged."""
    o = Box(out=io.StringIO())
    def f(x):
        print("n", x.shape[0], file=o.out)
        o.out.write(f"{x.sum().item():.2f};")
        return x * 2
    def calls(f):
        for k in range(9):
            if k in (3, 6):
                o.out = io.StringIO() if k == 3 else open(os.devnull, "w")
            yield f(ramp(2 + k % 2)), o.out.getvalue() if k < 6 else None
        o.out.close()
    return f, calls


@trap
def proxies_and_mixins():
    """types.SimpleNamespace, MappingProxyType over a dict, a class with __slots__ and __dict__."""
    raw = {"k": 2.0}
    view = types.MappingProxyType(raw)
    class Slotted:
        __slots__ = ("a", "__dict__")
    s = Slotted()
    s.a, s.b = 1.0, 2.0
    ns = types.SimpleNamespace(inner=types.SimpleNamespace(k=1.0), view=view)
    def f(x): return x * ns.view["k"] + ns.inner.k + s.a + s.b + len(vars(s))
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        raw["k"] = 5.0
        yield from thrice(lambda: f(ramp(2)))
        s.a = 7.0
        yield from thrice(lambda: f(ramp(2)))
        s.c = 1
        yield from thrice(lambda: f(ramp(2)))
        ns.inner = types.SimpleNamespace(k=-3.0)
        yield from thrice(lambda: f(ramp(2)))
        s.__dict__ = {"b": 100.0}
        yield from thrice(lambda: f(ramp(2)))
    return f, calls


@trap
def objects_that_count_their_lives():
    """__init__ and __del__ write to a tensor and to a list; so does a context manager."""
    alive, log = whet.zeros(1), []
    class Scope:
        def __init__(self, k):
            self.k = k
            alive.add_(1)
        def __enter__(self): return self
        def __exit__(self, *e): log.append(self.k)
        def __del__(self): alive.sub_(1)
    def f(x, k):
        with Scope(k) as s:
            y = x * alive
            x = y + s.k
        return x
    def calls(f):
        for k in (1, 1, 1, 2, 2, 2, 1):
            yield f(ramp(2), k), alive.clone(), list(log)
    return f, calls


@trap
def closures_in_loops():
    """Late binding: lambdas made in a loop share its variable; defaults do not; cells are reset."""
    fs, gs, box = [], [], [1.0]
    for k in range(3):
        fs.append(lambda x: x * k + box[0])  # noqa: B023
        gs.append(lambda x, k=k: x * k - box[0])
    def f(x): return sum(h(x) for h in fs) + sum(h(x) for h in gs)
    def calls(f):
        nonlocal k
        yield from thrice(lambda: f(ramp(2)))
        box[0] = 2.0
        yield from thrice(lambda: f(ramp(2)))
        k = 7
        yield from thrice(lambda: f(ramp(2)))
        fs[0].__closure__[0].cell_contents = [9.0] if isinstance(
            fs[0].__closure__[0].cell_contents, list) else 4
        yield from thrice(lambda: f(ramp(2)))
        gs[1].__defaults__ = (50,)
        yield from thrice(lambda: f(ramp(2)))
        fs.reverse(), gs.pop()
        yield from thrice(lambda: f(ramp(2)))
    return f, calls
