"""Functions and bound methods of C, which call and hold things out of sight."""
import collections
import datetime
import functools
import io
import types

import numpy as np

from tests.traps.harness import outcome, ramp, thrice, trap


# ---- bound methods of C, which hold what they are bound to ---------------------------------------
@trap
def a_bound_get_of_a_dict():
    """get = table.get: the table is inside a built-in method."""
    table = {"k": 2.0}
    get = table.get
    def f(x): return x * get("k")
    def calls(f):
        for table["k"] in (2.0, 3.0, 2.0):
            yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def a_bound_append_of_a_list():
    """append = log.append, as one writes for speed."""
    log = []
    append = log.append
    def f(x):
        append(x.shape[0])
        return x * 2
    def calls(f):
        for n in (3, 3, 4, 3, 4):
            yield f(ramp(n)), list(log)
    return f, calls


@trap
def a_bound_method_of_an_operator():
    """numbers.__len__ and numbers.__getitem__ as values."""
    numbers = [2.0]
    size, at = numbers.__len__, numbers.__getitem__
    def f(x): return x * at(0) + size()
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        numbers[0] = 5.0
        yield from thrice(lambda: f(ramp(3)))
        numbers.append(1.0)
        yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def a_partial_of_a_bound_method():
    """partial(table.__getitem__, key)."""
    table = {"k": 2.0}
    rate = functools.partial(table.__getitem__, "k")
    def f(x): return x * rate()
    def calls(f):
        for table["k"] in (2.0, 3.0, 2.0):
            yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def a_queue_is_emptied_by_a_bound_method():
    """pop = queue.popleft: each call takes one."""
    queue = collections.deque([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    pop = queue.popleft
    def f(x): return x * pop()
    def calls(f):
        for _ in range(6):
            yield f(ramp(3)), len(queue)
    return f, calls


# ---- C functions that are called out of sight -------------------------------------------------
@trap
def print_in_a_partial():
    """say = partial(print, flush=True), as in scripts for clusters."""
    say = functools.partial(print, "value:")
    def f(x):
        say(x.shape)
        return x + 1
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        yield f(ramp(4))
    return f, calls


@trap
def the_write_of_a_stream_in_a_partial():
    """partial(stream.write, text): a C method on an object of the library's."""
    stream = io.StringIO()
    note = functools.partial(stream.write, "called ")
    def f(x):
        note()
        return x + 1
    def calls(f):
        for _ in range(5):
            yield f(ramp(3)), stream.getvalue()
    return f, calls


@trap
def print_in_a_map():
    """list(map(print, ...)) calls print from C."""
    def f(x):
        list(map(print, x.shape))
        return x + 1
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        yield f(ramp(4))
    return f, calls


@trap
def a_key_that_prints():
    """sorted(key=print)."""
    def f(x):
        sorted(x.shape, key=lambda n: 0)
        sorted(x.shape, key=print)
        return x + 1
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        yield f(ramp(4))
    return f, calls


@trap
def a_list_that_a_map_fills():
    """deque(map(log.append, ...)): the list is reached by its name."""
    log = []
    def f(x):
        collections.deque(map(log.append, x.shape), maxlen=0)
        return x + 1
    def calls(f):
        for n in (3, 3, 4, 3, 4):
            yield f(ramp(n)), list(log)
    return f, calls


@trap
def a_date_is_read():
    """datetime.now() is a class method: no module's function is called."""
    before = []
    def f(x):
        return x * 0, datetime.datetime.now().microsecond + 1000000 * datetime.datetime.now().second
    def calls(f):
        for _ in range(6):
            y, t = f(ramp(3))
            for _ in range(20000): pass
            yield y, t in before
            before.append(t)
    return f, calls


@trap
def an_unseeded_generator_of_numpy():
    """default_rng() takes fresh entropy at each call."""
    seen = []
    def f(x): return x * 0, float(np.random.default_rng().random())
    def calls(f):
        for _ in range(6):
            y, t = f(ramp(3))
            yield y, t in seen
            seen.append(t)
    return f, calls


@trap
def the_frame_of_the_caller():
    """inspect.currentframe() is a Python function that calls sys._getframe."""
    import inspect
    def f(x): return x * inspect.currentframe().f_back.f_locals.get("scale", 1.0)
    def calls(f):
        def by(scale): return f(ramp(3))
        for s in (2.0, 3.0, 2.0):
            yield from thrice(lambda: s)
            for _ in range(3):
                yield outcome(lambda: type(by(s)).__name__)
    return f, calls


@trap
def subclasses_are_counted():
    """Base.__subclasses__() is a registry that nobody writes to."""
    class Plugin: pass
    kept = []
    def f(x): return x * len(Plugin.__subclasses__())
    def calls(f):
        for _ in range(3):
            kept.append(type("P", (Plugin,), {}))
            yield from thrice(lambda: f(ramp(3)))
    return f, calls


# ---- methods of spans of time --------------------------------------------------------------------
@trap
def a_span_of_time_that_is_another():
    """The program holds a period, and asks it for its seconds."""
    o = types.SimpleNamespace(period=datetime.timedelta(seconds=2))
    def f(x): return x * o.period.total_seconds()
    def calls(f):
        for seconds in (2, 0.5, 2, 86400):
            o.period = datetime.timedelta(seconds=seconds)
            yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def a_span_of_time_made_of_a_counter():
    """A step makes a span of how often it ran, and asks it for its seconds."""
    o = types.SimpleNamespace(n=0)
    def f(x):
        o.n += 1
        return x * datetime.timedelta(minutes=o.n).total_seconds()
    def calls(f):
        for _ in range(9):
            yield f(ramp(3))
    return f, calls
