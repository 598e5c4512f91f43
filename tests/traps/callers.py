"""Who calls, and as what: methods, copies, threads, coroutines; what is handed on by calls."""
import asyncio
import collections
import copy
import functools
import inspect
import operator
import pickle
import threading

import whet
from whet import nn

from tests.traps.harness import Box, leaf, ramp, thrice, trap


# ---- who calls, and as what ----------------------------------------------------------------------
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
                yield (m.of_class(ramp(2)), m.static(ramp(2)), m.double, m.method(ramp(2)),
                       Model.method(m, ramp(2)))
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
        yield (pickle.loads(pickle.dumps(model.state_dict()))["w"],
               inspect.signature(h) == inspect.signature(A_FUNCTION), h.__name__, h.__doc__)
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
