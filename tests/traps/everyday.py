"""What programs keep at hand: caches by `id`, heaps of the best, settings in enums and records,
files; and threads beside it all."""
import collections
import copy
import dataclasses
import enum
import functools
import heapq
import io
import json
import logging
import math
import os
import sys
import tempfile
import threading
import time
import types

import numpy as np
import whet
from whet import nn, optim

from tests.traps.harness import Box, ramp, thrice, trap


@trap
def members_of_an_enum_have_attributes():
    """An attribute of a member, a list that a member was made with, a dict that is its value;
    reached by name, attribute and argument."""
    class Mode(enum.Enum):
        FAST = 1
        SLOW = 2
        def __init__(self, v): self.extra = [v]
    class Settings(enum.Enum):
        BASE = {"lr": 0.5}
    Mode.FAST.scale = 2.0
    o = Box(mode=Mode.FAST)
    def f(x,
          m): return (x * Mode.FAST.scale + o.mode.extra[0] * Settings.BASE.value["lr"]
                      + m.value["lr"])
    def calls(f):
        yield from thrice(lambda: f(ramp(3), Settings.BASE))
        Mode.FAST.scale = 5.0
        yield from thrice(lambda: f(ramp(3), Settings.BASE))
        o.mode.extra[0] = 7
        yield from thrice(lambda: f(ramp(3), Settings.BASE))
        Settings.BASE.value["lr"] = 0.25
        yield from thrice(lambda: f(ramp(3), Settings.BASE))
        o.mode = Mode.SLOW
        yield from thrice(lambda: f(ramp(3), Settings.BASE))
    return f, calls


@trap
def arguments_are_remembered_by_their_id():
    """A set and a dict of ids of arguments; ids of what the function always reaches."""
    seen, order, known = set(), {}, ramp(3)
    ts = [ramp(3) * k for k in range(1, 4)]
    def f(x):
        n = order.setdefault(id(x), len(order))
        if id(x) in seen:
            return x * 2 + n, id(known) in seen
        seen.add(id(x))
        return x * 3 + n, id(known) in seen
    def calls(f):
        for k in (0, 0, 1, 1, 2, 0, 2, 1, 2):
            y = f(ts[k])
            yield y, [id(t) in seen for t in ts], list(order.values())
            if k == 2:
                seen.clear(), order.clear()
    return f, calls


@trap
def parameters_are_known_by_their_id():
    """ids of tensors that the function reaches from outside, one of which is exchanged."""
    o = Box(a=ramp(3), b=ramp(3) * 2)
    rate, alive = {id(o.a): 0.5, id(o.b): 0.25}, [o.b]
    def f(x): return (sum(x * t * rate.get(id(t), 1.0) for t in (o.a, o.b))
                      + len({*map(id, (o.a, o.b))}))
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        rate[id(o.b)] = 4.0
        yield from thrice(lambda: f(ramp(3)))
        o.b = o.a
        yield from thrice(lambda: f(ramp(3)))
        o.b = ramp(3) * 3
        yield from thrice(lambda: f(ramp(3)))
        o.b, = alive
        yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def records_are_compared_by_identity():
    """Dataclasses, named tuples and lists of numbers among the arguments: twice the same one, one
    that is reached from outside, the last one."""
    @dataclasses.dataclass
    class C:
        k: float
    P = collections.namedtuple("P", "a b")
    a, b, p, q, m, n = C(1.0), C(1.0), P(1, 2), P(1, 2), [1], [1]
    o = Box(last=None)
    def f(x, c, d, t, l):
        again, o.last = t is o.last, t
        return x * (2 if c is a else 3) + (5 if c is d else 7), again, l is m
    def calls(f):
        for c, d, t, l in ((a, b, p, m),) * 3 + ((b, b, p, m), (b, b, q, m), (b, a, q, n),
                                                 (b, a, q, n), (a, a, p, n), (a, b, q, m)):
            yield f(ramp(2), c, d, t, l)
        a.k = 2.0
        yield from thrice(lambda: f(ramp(2), a, b, p, m))
    return f, calls


@trap
def an_argument_is_what_the_function_counts():
    """A list is passed that the function also reaches: what is appended to the one is in the
    other."""
    hist, other = [1.0], [1.0]
    def f(x, into):
        into.append(2.0)
        return x * len(hist)
    def calls(f):
        for into in (other, other, hist, other, hist, hist):
            yield f(ramp(2), into), list(hist), list(other)
            del hist[1:], other[1:]
    return f, calls


@trap
def the_best_are_kept_on_a_heap():
    """heapq works on the list itself: the numbers that are pushed rise at first, then they do
    not."""
    heap, o = [], Box(v=1.0)
    def f(x):
        heapq.heappush(heap, o.v)
        return x * 2
    def calls(f):
        for v in (1.0, 2.0, 3.0, 4.0, 5.0, 0.5, 0.25, 6.0, 0.1):
            o.v = v
            yield f(ramp(2)), list(heap)
    return f, calls


@trap
def methods_by_their_class():
    """list.append, list.index and list.__len__ of a list that grows, methods of int and float of
    numbers that vary, a deque's length."""
    l, o = [1.0], Box(v=1.0, n=1)
    def f(x, way):
        list.append(l, o.v)
        if way == 0:
            return x * list.index(l, o.v) + list.__len__(l)
        if way == 1:
            return x * float.is_integer(o.v) + int.bit_length(o.n) + int.__add__(o.n, 1)
        return x * len(collections.deque(range(9), maxlen=o.n))
    def calls(f):
        for way in (0, 1, 2):
            for v in range(6):
                o.v, o.n = v / 2, v
                yield f(ramp(2), way), list(l)
    return f, calls


@trap
def what_kind_of_stream_it_is():
    """type() of a stream and of a logger, also as text; the class of a function that prints."""
    log, out = logging.getLogger("tests.traps.everyday"), io.StringIO()
    log.propagate = False
    def f(x):
        print(type(out).__name__, type(log).__name__, type(print).__name__, out.__class__.__name__)
        return (x * (1 if type(log) is logging.Logger else 2)
                * (1 if type(out) is io.StringIO else 5))
    def calls(f):
        for k in range(6):
            yield f(ramp(2) * k)
    return f, calls


@trap
def an_ordered_dict_is_a_cache():
    """The least recently used goes: move_to_end, popitem, entries that are set, moved and
    deleted."""
    cache = collections.OrderedDict()
    def f(x, k):
        if k in cache:
            cache.move_to_end(k)
            return x * cache[k]
        cache[k] = x.sum()
        if len(cache) > 2:
            cache.popitem(last=False)
        return x
    def calls(f):
        for k in "aabbccabcabcaabbcc":
            yield f(ramp(3),
                    k), list(cache), list(cache.values()), list(reversed(cache)), len(cache)
    return f, calls


@trap
def an_ordered_dict_goes_round():
    """popitem and entering again; move_to_end: only the order is another."""
    cache, other = collections.OrderedDict(a=1, b=2, c=3), collections.OrderedDict(a=1, b=2)
    def f(x):
        k, v = cache.popitem(last=False)
        cache[k] = v + 1
        other.move_to_end(next(iter(other)))
        return x * v + next(iter(other.values()))
    def calls(f):
        for k in range(12):
            yield (f(ramp(3)), list(cache.items()), list(reversed(cache)), list(other),
                   other == collections.OrderedDict(a=1, b=2))
            if k % 4 == 3:
                cache.clear(), cache.update(a=1, b=2, c=3)
    return f, calls


@trap
def an_entry_that_varies_is_deleted():
    """Numbers that were others at each call are deleted, popped and moved elsewhere."""
    o = Box(d={"n": 1, "m": 0}, n=1.5, l=[1, 2])
    def f(x):
        k = o.d.pop("n")
        v = o.n
        del o.n
        o.d["m"] += k
        return x * k + v * o.l.pop()
    def calls(f):
        for k in range(9):
            yield f(ramp(2)), dict(o.d), hasattr(o, "n"), list(o.l)
            o.d["n"], o.n = k, k / 2
            o.l.append(k)
    return f, calls


@trap
def a_large_set_has_become_small():
    """The order of a set depends on what it has been through."""
    o = Box(s=set())
    def start():
        o.s.clear(), o.s.update(range(0, 4000, 8)), o.s.difference_update(range(80, 4000, 8))
    start()
    def f(x):
        for k in o.s:
            x = x * 1.5 + k
        o.s.add(7), o.s.discard(16)
        return x
    def calls(f):
        for _ in range(7):
            yield f(ramp(2)), list(o.s)
            start()
    return f, calls


@trap
def files_are_written_and_read():
    """whet.save, whet.load and NumPy's fromfile of a file that is another now."""
    folder = tempfile.mkdtemp()
    a, b, c = (os.path.join(folder, name) for name in "abc")
    whet.save({"k": 2.0}, b)
    np.arange(3.0).tofile(c)
    def f(x):
        y = x * whet.load(b)["k"] + float(np.fromfile(c)[1])
        whet.save({"y": y}, a)
        return y
    def calls(f):
        for k in range(4):
            yield f(ramp(3) * k), whet.load(a)["y"]
        whet.save({"k": 3.0}, b)
        yield f(ramp(3))
        np.arange(3.0, 6.0).tofile(c)
        yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def only_a_saved_number_is_read():
    """whet.load gives a plain number; how tensors are shown is set inside."""
    path = os.path.join(tempfile.mkdtemp(), "k")
    whet.save({"k": 2.0}, path)
    def f(x): return x * whet.load(path)["k"]
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        whet.save({"k": 3.0}, path)
        yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def the_digits_are_set_inside():
    """set_printoptions inside; what is printed afterwards."""
    def f(x, digits):
        whet.set_printoptions(precision=digits)
        return x * 2
    def calls(f):
        for digits in (2, 2, 2, 3, 3, 4, 2):
            yield f(ramp(2) / 3, digits), repr(ramp(2) / 3)
            whet.set_printoptions(profile="default")
    return f, calls


@trap
def numpy_knows_what_time_it_is():
    """numpy.datetime64("now")."""
    def f(x): return x * 2, np.datetime64("now").astype(int).item()
    def calls(f):
        for _ in range(4):
            before = time.time()
            y, now = f(ramp(3))
            # NumPy asks a coarser clock for whole seconds
            yield y, before - 1.1 < now <= time.time()
            time.sleep(0.8)
    return f, calls


@trap
def a_partial_is_made_another():
    """functools.partial: its keywords are edited, its state is set."""
    p = functools.partial(lambda x, k=1: x * k, k=2)
    def f(x): return p(x)
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        p.keywords["k"] = 3
        yield from thrice(lambda: f(ramp(3)))
        p.__setstate__((lambda x, k: x - k, (), {"k": 5}, {}))
        yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def one_code_with_two_namespaces():
    """types.FunctionType makes a second function of one code, with globals of its own."""
    one, other = {"K": 2.0}, {"K": 3.0}
    exec("def g(x): return x * K", one)
    g, h = one["g"], types.FunctionType(one["g"].__code__, other)
    def f(x): return g(x) + h(x)
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        other["K"] = 7.0
        yield from thrice(lambda: f(ramp(2)))
        one["K"] = 9.0
        yield from thrice(lambda: f(ramp(2)))
    return f, calls


@trap
def a_thread_changes_what_the_function_reaches():
    """While the first call runs, a thread sets an attribute and appends to a list that the call
    reaches; later it does not."""
    o = Box(inside=False, flag=False, news=[])
    def f(x):
        o.inside = True
        for _ in range(2_000_000):           # the thread's turn comes
            if not o.inside:
                break
        o.inside = False
        return x * (2 if o.flag else 3)
    def calls(f):
        def work():
            while not o.flag:
                if o.inside:
                    o.flag = True
                    o.news.append(1.0)
                    o.inside = False
        thread, every = threading.Thread(target=work), sys.getswitchinterval()
        sys.setswitchinterval(1e-5)
        try:
            thread.start()
            yield f(ramp(2)), o.flag, len(o.news)
        finally:
            sys.setswitchinterval(every)
            o.flag = True
            thread.join()
        for _ in range(3):
            o.flag = False
            o.news.clear()
            yield f(ramp(2)), o.flag, len(o.news)
    return f, calls


@trap
def threads_see_what_is_recorded():
    """While calls with numbers that vary, a list that grows and printing are recorded, other
    threads use the same things."""
    o, out = Box(n=1, v=0.5, losses=[]), io.StringIO()
    def f(x):
        o.n += 1
        o.v *= 0.5
        o.losses.append(o.v)
        out.write(f"{o.n} ")
        print(o.n, math.sin(o.v))
        return x * o.v
    def calls(f):
        seen, go = [], [True]
        def work():
            while go[0]:
                seen.append((o.n + 1 > 0, o.v * 2 >= 0, len(o.losses) >= 0, isinstance(o.n, int),
                             callable(print), math.sin(0.0) == 0, id(o) > 0, len(str(o.n)) > 0,
                             time.time() > 0, out.closed, json.dumps([1]),
                             sorted([o.v, 1.0])[0] >= 0))
        threads = [threading.Thread(target=work) for _ in range(2)]
        [t.start() for t in threads]
        try:
            for k in range(12):
                yield f(ramp(2) * k), o.n, o.v, list(o.losses), out.getvalue()
        finally:
            go[0] = False
            [t.join() for t in threads]
        yield len(set(seen)), len(seen) > 0
    return f, calls


@trap
def the_state_of_an_optimizer_comes_and_goes():
    """opt.state, whose keys are parameters, is cleared, loaded and put back; gradients and data are
    set by hand."""
    m = nn.Linear(2, 1)
    opt = optim.SGD(m.parameters(), lr=0.1, momentum=0.9)
    def f(x):
        opt.zero_grad()
        loss = m(x).square().mean()
        loss.backward()
        opt.step()
        return loss
    def calls(f):
        with whet.no_grad():
            m.weight.copy_(ramp(1, 2)), m.bias.zero_()
        def some(n):
            for _ in range(n):
                yield f(ramp(1, 2)), m.weight.detach().clone(), m.weight.grad
        yield from some(4)
        opt.state.clear()
        yield from some(4)
        state = copy.deepcopy(opt.state_dict())
        yield from some(3)
        opt.load_state_dict(state)
        yield from some(4)
        m.weight.data = m.weight.data.clone()
        m.bias.grad = whet.ones(1)
        yield from some(3)
    return f, calls


@trap
def closures_take_numbers_with_them():
    """Numbers that vary as variables, defaults and keyword defaults of functions that are returned,
    and in a list that grows."""
    o, tape = Box(n=1, v=0.5), []
    def f(x):
        o.n, o.v = o.n + 1, o.v * 0.9
        n, v = o.n, o.v
        tape.append(lambda g: g * x * v)
        def g(a=n, *, b=v): return a, b, v
        return x * v, g, lambda: (n, v)
    def calls(f):
        for _ in range(9):
            y, a, b = f(ramp(2))
            yield y, a(), b(), [type(v).__name__
                                for v in (*a(),
                                          *b())], a.__defaults__, a.__kwdefaults__, [
                                              t(1.0) for t in tape]
    return f, calls


@trap
def results_are_keys():
    """A dict whose keys are tensors that the call made, emptied now and then."""
    d = {}
    def f(x):
        y = x * 2
        d[y] = x
        return y
    def calls(f):
        for k in range(6):
            y = f(ramp(2) * k)
            yield y in d, list(d.values()), len(d)
            if k % 2:
                d.clear()
    return f, calls


@trap
def branches_and_rounds_leave_something():
    """The branch of a cond that is taken sets an attribute, the other one changes bytes and a
    setting; rounds of a while_loop count."""
    o, raw, table = Box(last=None, n=0), bytearray(2), np.zeros(1, [("a", "f4")])
    record = table[0]
    def one(x):
        o.last = "one"
        return x * 2
    def other(x):
        raw[0] += 1
        record["a"] += 1
        whet.set_default_dtype(whet.float64)
        return x * 3
    def body(x):
        o.n += 1
        return x * 2
    def f(x, way):
        if way == 0:
            return whet.cond(x.sum() > 0, one, other, (x,))
        return whet.while_loop(lambda x: x.sum() < 50, body, (x,))
    def calls(f):
        for way in (0, 1):
            for k in (1, 1, 1, -1, 4, 0.25, 4):
                if way == 0 or k > 0:
                    yield f(ramp(2) * k,
                            way), o.last, o.n, raw[0], float(record["a"]), whet.get_default_dtype()
                whet.set_default_dtype(whet.float32)
                o.last, o.n = None, 0
    return f, calls
