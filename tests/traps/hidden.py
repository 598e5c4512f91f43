"""What a function reads or changes where a search for names, cells and attributes does not come by."""
import argparse
import collections
import dataclasses
import datetime
import enum
import functools
import io
import operator
import sys
import types

import numpy as np
import whet
import whet.nn.functional as F
from whet import nn

from tests.traps.harness import Box, leaf, outcome, ramp, thrice, trap


# ---- bound methods of C, which hold what they are bound to ----------------------------------------------------------------
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


# ---- functions of C that are called out of sight --------------------------------------------------------------------------
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
    """partial(stream.write, text): a method of C on an object of the library's."""
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


# ---- modules --------------------------------------------------------------------------------------------------------------
def module(**names):
    m = types.ModuleType("settings")
    vars(m).update(names)
    return m


@trap
def a_setting_by_getattr():
    """getattr(settings, "EPS"): the name is a constant, not an attribute of the code."""
    settings = module(EPS=1.0)
    def f(x): return x + getattr(settings, "EPS")
    def calls(f):
        for settings.EPS in (1.0, 2.0, 1.0):
            yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def a_setting_by_a_computed_name():
    """getattr(settings, f"lr_{kind}")."""
    settings = module(lr_a=1.0, lr_b=2.0)
    def f(x, kind): return x * getattr(settings, f"lr_{kind}")
    def calls(f):
        yield from thrice(lambda: (f(ramp(3), "a"), f(ramp(3), "b")))
        settings.lr_b = 5.0
        yield from thrice(lambda: (f(ramp(3), "a"), f(ramp(3), "b")))
    return f, calls


@trap
def a_setting_from_the_dict_of_a_module():
    """settings.__dict__["EPS"]."""
    settings = module(EPS=1.0)
    def f(x): return x + settings.__dict__["EPS"]
    def calls(f):
        for settings.EPS in (1.0, 2.0, 1.0):
            yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def a_setting_appears():
    """hasattr(settings, name) and getattr with a default: that a module has no such name was a fact."""
    settings = module()
    def f(x): return x * getattr(settings, "SCALE", 1.0) + (settings.SHIFT if hasattr(settings, "SHIFT") else 0)
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        settings.SCALE = 2.0
        yield from thrice(lambda: f(ramp(3)))
        settings.SHIFT = 7.0
        yield from thrice(lambda: f(ramp(3)))
        del settings.SCALE
        yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def a_setting_is_only_written():
    """settings.LAST = ...: stored, never loaded."""
    settings = module(LAST=0)
    def f(x):
        settings.LAST = x.shape[0]
        return x * 2
    def calls(f):
        for n in (3, 4, 3, 4, 3):
            yield f(ramp(n)), settings.LAST
    return f, calls


@trap
def a_new_setting_is_written():
    """The name was not there before."""
    settings = module()
    def f(x):
        settings.LAST = x.shape[0]
        return x * 2
    def calls(f):
        for n in (3, 4, 3, 4, 3):
            yield f(ramp(n)), settings.LAST
    return f, calls


@trap
def a_setting_of_the_own_module():
    """sys.modules[__name__].OWN"""
    def f(x): return x * sys.modules[__name__].OWN
    def calls(f):
        global OWN
        for OWN in (1.0, 2.0, 1.0):  # noqa: B007
            yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def an_import_inside():
    """import at each call: the module is taken from sys.modules, and so is what it holds."""
    sys.modules["tests_traps_settings"] = module(EPS=1.0)
    def f(x):
        import tests_traps_settings as s
        from tests_traps_settings import EPS
        return x * s.EPS + EPS
    def calls(f):
        for e in (1.0, 2.0, 1.0):
            sys.modules["tests_traps_settings"].EPS = e
            yield from thrice(lambda: f(ramp(3)))
        sys.modules["tests_traps_settings"] = module(EPS=9.0)
        yield from thrice(lambda: f(ramp(3)))
        del sys.modules["tests_traps_settings"]
        yield outcome(lambda: f(ramp(3)))
    return f, calls


@trap
def a_relative_import_inside():
    """from .x import NAME: the code names the module without its package."""
    sys.modules["a_package"] = types.ModuleType("a_package")
    sys.modules["a_package"].__path__ = []
    sys.modules["a_package.settings"] = settings = module(EPS=1.0)
    space = {"__package__": "a_package", "__name__": "a_package.model", "__builtins__": __builtins__}
    exec("def f(x):\n    from .settings import EPS\n    return x * EPS", space)
    def calls(f):
        for settings.EPS in (1.0, 2.0, 1.0):
            yield from thrice(lambda: f(ramp(3)))
    return space["f"], calls


@trap
def an_attribute_through_attrgetter():
    """operator.attrgetter is no attribute of the code, either."""
    settings, box = module(EPS=1.0), Box(a=Box(b=2.0))
    def f(x): return x * operator.attrgetter("EPS")(settings) + operator.attrgetter("a.b")(box)
    def calls(f):
        for settings.EPS in (1.0, 2.0):
            yield from thrice(lambda: f(ramp(3)))
        box.a.b = 5.0
        yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def a_module_with_a_getattr():
    """PEP 562: the module computes what it has not."""
    settings = module(store={"EPS": 1.0})
    settings.__getattr__ = lambda name: settings.store[name]
    def f(x): return x * settings.EPS
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        settings.store["EPS"] = 3.0
        yield from thrice(lambda: f(ramp(3)))
    return f, calls


# ---- classes and instances ------------------------------------------------------------------------------------------------
@trap
def a_class_gets_a_new_attribute():
    """getattr(C, "gain", 1.0): the class had none."""
    class Config: pass
    c = Config()
    def f(x): return x * getattr(Config, "gain", 1.0) + getattr(c, "shift", 0.0)
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        Config.gain = 2.0
        yield from thrice(lambda: f(ramp(3)))
        Config.shift = 5.0
        yield from thrice(lambda: f(ramp(3)))
        del Config.gain
        yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def a_subclass_overrides_later():
    """The method was the base's; then the subclass gets its own."""
    class Base:
        gain = 2.0
        def act(self, x): return x + 1
    class Sub(Base): pass
    s = Sub()
    def f(x): return s.act(x) * s.gain
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        Sub.gain = 3.0
        yield from thrice(lambda: f(ramp(3)))
        Sub.act = lambda self, x: x - 1
        yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def a_class_changes_its_bases():
    """C.__bases__ = ... changes what is inherited."""
    class A:
        def act(self, x): return x + 1
    class B:
        def act(self, x): return x - 1
    class C(A): pass
    c = C()
    def f(x): return c.act(x)
    def calls(f):
        for base in (A, B, A):
            C.__bases__ = (base,)
            yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def an_attribute_of_the_metaclass():
    """C.gain is found on the class of the class."""
    class Meta(type): gain = 2.0
    class C(metaclass=Meta): pass
    def f(x): return x * C.gain
    def calls(f):
        for Meta.gain in (2.0, 3.0, 2.0):
            yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def a_property_of_the_metaclass():
    """Code that runs for an attribute of a class."""
    store = {"gain": 2.0}
    class Meta(type):
        @property
        def gain(cls): return store["gain"]
    class C(metaclass=Meta): pass
    def f(x): return x * C.gain
    def calls(f):
        for store["gain"] in (2.0, 3.0, 2.0):
            yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def a_dict_is_put_in_place():
    """o.__dict__ = {...}: all attributes at once."""
    class Config: pass
    o = Config()
    o.gain = 2.0
    def f(x): return x * o.gain
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        o.__dict__ = {"gain": 3.0}
        yield from thrice(lambda: f(ramp(3)))
        o.gain = 4.0
        yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def the_arguments_of_the_command_line():
    """argparse.Namespace, read everywhere in scripts and sometimes edited."""
    args = argparse.Namespace(lr=0.1, wd=0.0)
    def f(x): return x * args.lr - args.wd
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        args.lr = 0.2
        yield from thrice(lambda: f(ramp(3)))
        args.__dict__.update(wd=1.0)
        yield from thrice(lambda: f(ramp(3)))
        args.__dict__ = dict(lr=1.0, wd=2.0)
        yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def a_descriptor_with_state():
    """A descriptor that keeps the values itself, by the object's id."""
    class Level:
        def __init__(self): self.values = {}
        def __get__(self, o, c=None): return self.values.get(id(o), 1.0)
        def __set__(self, o, v): self.values[id(o)] = v
    class Synth: level = Level()
    s = Synth()
    def f(x): return x * s.level
    def calls(f):
        for s.level in (1.0, 2.0, 1.0):
            yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def a_cached_property_is_reset():
    """functools.cached_property: the value is in the object's dict until somebody deletes it."""
    class Net:
        width = 2.0
        @functools.cached_property
        def scale(self): return 1.0 / self.width
    net = Net()
    def f(x): return x * net.scale
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        net.width = 4.0
        yield from thrice(lambda: f(ramp(3)))
        del net.scale
        for _ in range(5):
            yield f(ramp(3)), dict(vars(net))
    return f, calls


@trap
def an_own_kind_of_set():
    """A subclass of set or deque has its contents elsewhere than in its dict."""
    class Names(set): pass
    class Window(collections.deque): pass
    names, window = Names({"a"}), Window([2.0], maxlen=3)
    def f(x): return x * window[-1] + (1 if "a" in names else 0)
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        window.append(5.0)
        yield from thrice(lambda: f(ramp(3)))
        names.discard("a")
        yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def an_own_kind_of_bytes():
    """Subclasses of bytearray, of an exception, of a structure of C."""
    import ctypes
    class Raw(bytearray): pass
    class Fault(Exception): pass
    class Point(ctypes.Structure): _fields_ = [("a", ctypes.c_double)]
    raw, fault, point = Raw(b"\x02"), Fault(2.0), Point(2.0)
    def f(x): return x * raw[0], x * fault.args[0], x * point.a
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        raw[0] = 5
        yield from thrice(lambda: f(ramp(3)))
        fault.args = (3.0,)
        yield from thrice(lambda: f(ramp(3)))
        point.a = 7.0
        yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def one_kind_of_hidden_contents_at_a_time(trace):
    """The same, apart from each other."""
    import ctypes
    class Fault(Exception): pass
    class Point(ctypes.Structure): _fields_ = [("a", ctypes.c_double)]
    fault, point = Fault(2.0), Point(2.0)
    def f(x): return x * fault.args[0]
    @trace
    def g(x): return x * point.a
    def calls(f):
        yield from thrice(lambda: (f(ramp(3)), g(ramp(3))))
        fault.args = (3.0,)
        point.a = 7.0
        yield from thrice(lambda: (f(ramp(3)), g(ramp(3))))
    return f, calls


@trap
def a_default_factory_is_replaced():
    """defaultdict.default_factory is an attribute that no dict shows."""
    made = collections.defaultdict(lambda: 2.0)
    def f(x):
        y = x * made["a"]
        del made["a"]
        return y
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        made.default_factory = lambda: 5.0
        yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def a_key_that_compares_equal():
    """{1: ...} and {1.0: ...} and {True: ...} have equal keys."""
    table = {1: "a"}
    def f(x):
        for k in table:
            x = x * k
        return x
    def calls(f):
        for k in (1, 1.0, True, 1):
            table.clear()
            table[k] = "a"
            yield from thrice(lambda: f(whet.arange(3)))
    return f, calls


@trap
def a_key_is_a_signed_zero():
    """{0.0: ...} and {-0.0: ...}."""
    table = {0.0: "a"}
    def f(x): return x * next(iter(table))
    def calls(f):
        for k in (0.0, -0.0, 0.0):
            table.clear()
            table[k] = "a"
            yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def a_member_of_an_enum_is_a_list():
    """The value of a member may change inside."""
    class Shapes(enum.Enum): SMALL = [2, 3]
    def f(x): return x.view(*Shapes.SMALL.value).sum(0)
    def calls(f):
        for s in ([2, 3], [3, 2], [6]):
            Shapes.SMALL.value[:] = s
            yield from thrice(lambda: f(ramp(6)))
    return f, calls


@trap
def a_function_gets_an_attribute():
    """helper.scale does not exist at first."""
    def helper(x): return x * getattr(helper, "scale", 1.0)
    def f(x): return helper(x)
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        helper.scale = 3.0
        yield from thrice(lambda: f(ramp(3)))
        helper.__dict__ = {"scale": 4.0}
        yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def keyword_defaults_are_written_to():
    """__kwdefaults__ is a dict that can be edited in place."""
    def helper(x, *, scale=2.0): return x * scale
    def f(x): return helper(x)
    def calls(f):
        for helper.__kwdefaults__["scale"] in (2.0, 3.0, 2.0):
            yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def a_wrapper_wears_another_name():
    """functools.wraps gives a wrapper the module of what it wraps."""
    store = {"scale": 2.0}
    @functools.wraps(F.relu)
    def relu(x): return F.relu(x) * store["scale"]
    def f(x): return relu(x - 1)
    def calls(f):
        for store["scale"] in (2.0, 3.0, 2.0):
            yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def a_dispatch_by_type_gets_a_case():
    """functools.singledispatch keeps its cases in its closure."""
    @functools.singledispatch
    def act(n, x): return x + n
    act.register(float)(lambda n, x: x * n)
    def f(x): return act(2, x) + act(3.0, x)
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        act.register(int)(lambda n, x: x - 100)
        yield from thrice(lambda: f(ramp(3)))
    return f, calls


# ---- whet's own names are patched -----------------------------------------------------------------------------------------
def patched(owner, name, value, calls):
    """Some calls, some with a name of whet's replaced, and some more."""
    before = vars(owner)[name]
    yield from calls()
    setattr(owner, name, value)
    try:
        yield from calls()
    finally:
        setattr(owner, name, before)
    yield from calls()


@trap
def a_function_of_whet_is_patched():
    """whet.exp = ..."""
    def f(x): return whet.exp(x)
    def calls(f):
        yield from patched(whet, "exp", lambda x: x + 1, lambda: thrice(lambda: f(ramp(3))))
    return f, calls


@trap
def a_method_is_added_to_tensors():
    """Tensor.double_it = ...: tensors learn a word."""
    whet.Tensor.double_it = lambda t: t * 2
    def f(x): return x.double_it()
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        whet.Tensor.double_it = lambda t: t * 2 + 1
        yield from thrice(lambda: f(ramp(3)))
        del whet.Tensor.double_it
        yield outcome(lambda: f(ramp(3)))
    return f, calls


@trap
def a_layer_of_whet_is_patched():
    """nn.Linear.forward = ..., for all layers at once."""
    model = nn.Sequential(nn.Linear(3, 3), nn.Tanh())
    def f(x): return model(x)
    def calls(f):
        def other(self, x): return x - 1
        yield from patched(nn.Linear, "forward", other, lambda: thrice(lambda: f(ramp(2, 3))))
    return f, calls


@trap
def the_forward_of_one_layer_is_replaced():
    """model[0].forward = ..."""
    model = nn.Sequential(nn.Linear(3, 3), nn.Tanh())
    def f(x): return model(x)
    def calls(f):
        yield from thrice(lambda: f(ramp(2, 3)))
        model[0].forward = lambda x: x - 1
        yield from thrice(lambda: f(ramp(2, 3)))
        del model[0].forward
        yield from thrice(lambda: f(ramp(2, 3)))
    return f, calls


@trap
def an_attribute_of_a_layer_decides():
    """eps, negative_slope and the like are plain attributes."""
    norm, act = nn.LayerNorm(3), nn.LeakyReLU(0.1)
    def f(x): return act(norm(x) - 0.5)
    def calls(f):
        yield from thrice(lambda: f(ramp(2, 3)))
        act.negative_slope = 0.5
        yield from thrice(lambda: f(ramp(2, 3)))
        norm.eps = 10.0
        yield from thrice(lambda: f(ramp(2, 3)))
    return f, calls


# ---- tensors that carry more than numbers ---------------------------------------------------------------------------------
@trap
def an_attribute_on_an_argument():
    """x.scale, set by the caller."""
    def f(x): return x * x.scale
    def calls(f):
        for s in (2.0, 3.0, 2.0):
            for _ in range(3):
                x = nn.Parameter(ramp(3))
                x.scale = s
                yield f(x)
    return f, calls


@trap
def an_attribute_on_an_argument_or_none():
    """getattr(p, "decay", default) over a list of parameters."""
    def f(p): return p * getattr(p, "decay", 1.0)
    def calls(f):
        p = nn.Parameter(ramp(3))
        yield from thrice(lambda: f(p))
        p.decay = 3.0
        yield from thrice(lambda: f(p))
        q = nn.Parameter(ramp(3))
        yield from thrice(lambda: f(q))
        q.decay = 0.0
        yield from thrice(lambda: f(q))
    return f, calls


@trap
def an_attribute_on_a_captured_parameter():
    """The same for what is reached from outside."""
    p = nn.Parameter(ramp(3))
    def f(x): return x * p * getattr(p, "decay", 1.0)
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        p.decay = 3.0
        yield from thrice(lambda: f(ramp(3)))
        p.decay = 4.0
        yield from thrice(lambda: f(ramp(3)))
        del p.decay
        yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def an_attribute_is_put_on_an_argument():
    """The function marks what it has seen."""
    def f(p):
        p.seen = getattr(p, "seen", 0) + 1
        return p * 2
    def calls(f):
        p, q = nn.Parameter(ramp(3)), nn.Parameter(ramp(3))
        for _ in range(5):
            yield f(p), f(q), p.seen, q.seen
    return f, calls


@trap
def a_class_of_tensors_has_a_setting():
    """class Scaled(nn.Parameter): gain = ..., and a property that reads it."""
    class Scaled(nn.Parameter):
        gain = 2.0
        @property
        def scaled(self): return self * self.gain
    def f(p): return p * p.gain, p.scaled
    def calls(f):
        p = Scaled(ramp(3))
        for Scaled.gain in (2.0, 3.0, 2.0):
            yield from thrice(lambda: f(p))
    return f, calls


@trap
def the_offset_of_a_view_is_asked_for():
    """Equal shapes and strides, other offsets."""
    table = ramp(4, 3)
    def f(x): return x * x.storage_offset()
    def calls(f):
        for i in (0, 1, 1, 1, 2, 0):
            yield f(table[i])
    return f, calls


@trap
def the_version_of_a_tensor_is_asked_for():
    """x._version counts the writes."""
    w = ramp(3)
    def f(x): return x * x._version + w * w._version
    def calls(f):
        x = ramp(3)
        yield from thrice(lambda: f(x))
        x.add_(1)
        yield from thrice(lambda: f(x))
        w.add_(1)
        yield from thrice(lambda: f(x))
    return f, calls


@trap
def the_history_of_an_argument_is_asked_for():
    """type(x.grad_fn).__name__ and grad_fn.name() decide."""
    w = leaf(3)
    def f(x): return x * 2 if "mul" in x.grad_fn.name().lower() else x - 1
    def calls(f):
        for make in (lambda: w * 3, lambda: w + 3, lambda: w.exp(), lambda: w * 3):
            yield from thrice(lambda: f(make()).detach())
    return f, calls


@trap
def settings_of_a_generator_are_read():
    """g.initial_seed() is a number like any other."""
    g = whet.Generator()
    def f(x): return x * (g.initial_seed() % 7) + whet.initial_seed() % 5
    def calls(f):
        for s in (3, 4, 3):
            g.manual_seed(s)
            yield from thrice(lambda: f(ramp(3)))
        whet.manual_seed(3)
        yield from thrice(lambda: f(ramp(3)))
    return f, calls


# ---- memory that others hold ----------------------------------------------------------------------------------------------
@trap
def an_array_view_is_written_to_inside():
    """np.asarray(x) and np.from_dlpack(x) are x's memory."""
    def f(x):
        np.asarray(x)[0] = 7
        return x * 2
    def calls(f):
        yield from thrice(lambda: (lambda x: (f(x), x))(ramp(3)))
        yield f(ramp(3))
    return f, calls


@trap
def a_dlpack_view_is_read_inside():
    """np.from_dlpack(x)[0] is a number that no tensor was asked for."""
    def f(x): return x * float(np.from_dlpack(x)[0])
    def calls(f):
        for k in (1.0, 2.0, 3.0):
            yield from thrice(lambda: f(ramp(3) * k))
    return f, calls


@trap
def a_record_of_numpy_changes():
    """A scalar of a structured array is a view of it."""
    table = np.zeros(1, dtype=[("a", "f4")])
    record = table[0]
    def f(x): return x + float(record["a"])
    def calls(f):
        for table["a"] in (0.0, 1.0, 2.0):
            yield from thrice(lambda: f(ramp(3)))
    return f, calls


# ---- what comes out -------------------------------------------------------------------------------------------------------
@trap
def a_function_is_returned():
    """A closure with a counter of its own, made at each call."""
    def f(x):
        count = 0
        def bump():
            nonlocal count
            count += 1
            return count
        return x * 2, bump
    def calls(f):
        for _ in range(5):
            y, bump = f(ramp(3))
            yield y, bump(), bump()
    return f, calls


@trap
def a_class_is_returned():
    """A class made inside, with a counter of its own."""
    def f(x):
        class Counter: n = 0
        return x * 2, Counter
    def calls(f):
        for _ in range(5):
            y, c = f(ramp(3))
            c.n += 1
            yield y, c.n
    return f, calls


@trap
def one_list_is_returned_twice():
    """out[0] is out[1]"""
    def f(x):
        a = [x * 2]
        return a, a
    def calls(f):
        for _ in range(5):
            a, b = f(ramp(3))
            a.append(1)
            yield a is b, len(b)
    return f, calls


@trap
def a_list_that_holds_itself_is_returned():
    """A structure without an end."""
    def f(x):
        a = [x * 2]
        a.append(a)
        return a
    def calls(f):
        for _ in range(5):
            a = f(ramp(3))
            yield a[0], a[1] is a
    return f, calls


@trap
def a_dataclass_with_slots_goes_in_and_out():
    """There is no __dict__ to look into."""
    @dataclasses.dataclass(slots=True)
    class Pair:
        a: object
        b: float = 1.0
    def f(p): return Pair(p.a * p.b, p.b + 1)
    def calls(f):
        for b in (1.0, 2.0, 1.0):
            for _ in range(3):
                q = f(Pair(ramp(3), b))
                yield q.a, q.b
    return f, calls


@trap
def a_dataclass_made_from_tensors_alone():
    """Slots, in a result only."""
    @dataclasses.dataclass(slots=True)
    class Pair:
        a: object
        b: float = 1.0
    def f(x): return Pair(x * 2, 3.0)
    def calls(f):
        for _ in range(5):
            q = f(ramp(3))
            yield q.a, q.b
    return f, calls


@trap
def a_named_tuple_with_an_attribute():
    """A subclass of a named tuple has a dict beside its fields."""
    class Pair(collections.namedtuple("Pair", "a b")): pass
    def f(x):
        p = Pair(x * 2, 1)
        p.note = "here"
        return p
    def calls(f):
        for _ in range(5):
            p = f(ramp(3))
            yield p.a, p.note
    return f, calls


@trap
def an_outcome_is_written_to_before_backward():
    """exp saves its result: a write to it is an error later."""
    w = leaf(3)
    def f(x): return (x * w).exp()
    def calls(f):
        for k in range(6):
            y = f(ramp(3))
            if k % 2:
                y.add_(1)
            w.grad = None
            yield outcome(lambda: y.sum().backward()), w.grad
    return f, calls


@trap
def an_argument_is_written_to_before_backward():
    """What the function saved of its argument is not what it was."""
    w = leaf(3)
    def f(x): return (x * w).sum()
    def calls(f):
        for k in range(6):
            x = ramp(3)
            y = f(x)
            if k % 2:
                x.add_(1)
            w.grad = None
            yield outcome(lambda: y.backward()), w.grad
    return f, calls


@trap
def inputs_of_backward_are_chosen():
    """y.backward(inputs=[a]): b must get nothing."""
    a, b = leaf(3), leaf(3)
    def f(x): return (x * a * b).sum()
    def calls(f):
        for k in range(6):
            a.grad = b.grad = None
            f(ramp(3)).backward(inputs=[a, b][k % 2:][:1])
            yield a.grad, b.grad
    return f, calls
