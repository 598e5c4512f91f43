"""What modules, classes and instances keep where nobody looks for it."""
import argparse
import builtins
import collections
import dataclasses
import enum
import functools
import operator
import sys
import types
import typing

import whet
import whet.nn.functional as F

from tests.traps.harness import Box, outcome, ramp, thrice, trap


# ---- modules -------------------------------------------------------------------------------------
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
    """hasattr(settings, name) and getattr with a default: that a module has no such name was a
    fact."""
    settings = module()
    def f(x): return (x * getattr(settings, "SCALE", 1.0)
                      + (settings.SHIFT if hasattr(settings, "SHIFT") else 0))
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
    space = {"__package__": "a_package", "__name__": "a_package.model",
             "__builtins__": __builtins__}
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


# ---- classes and instances -----------------------------------------------------------------------
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
    """Subclasses of bytearray, of an exception, of a C structure."""
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


@trap
def each_call_makes_a_named_tuple():
    """`namedtuple` and `NamedTuple` in the function, of fields that are read and ones by default,
    of names that the caller gives, one in use within and one given back: whose class is it?"""
    o = Box(rate=2.0)
    def parts_of(x, names):
        return collections.namedtuple("Parts", names, defaults=(o.rate,))(x, x * 3)
    def f(x, names, gives_back):
        class Both(typing.NamedTuple):
            first: object
            rate: float = o.rate
            def scaled(self): return self.first * self.rate
        p = parts_of(Both(x).scaled(), names)
        return p if gives_back else (p.a + len(p._asdict()), p._fields, p._replace(a=1.0)[0])
    def calls(f):
        for names in ("a b", "a b", "a b", "a c", "a b c"):
            yield f(ramp(2), names, False)
        o.rate = 3.0
        yield from thrice(lambda: f(ramp(2), "a b c", False))
        given = [f(ramp(2), "a b", True) for _ in range(4)]
        yield given, len(set(map(type, given)))
    return f, calls


@trap
def a_named_tuple_of_a_class_that_the_call_makes():
    """Its base is there already: each call gives back one of another class."""
    Base = collections.namedtuple("Base", "a b")
    def f(x):
        class Mine(Base):
            __slots__ = ()
        return Mine(x * 2, 1)
    def calls(f):
        given = [f(ramp(2)) for _ in range(5)]
        yield given, len(set(map(type, given))), type(given[0]) is type(given[-1])
    return f, calls


@trap
def each_call_makes_a_dataclass():
    """`dataclass` in the function: defaults from outside, a list of each instance's own, a method
    and `__post_init__` that read state, `replace` and `asdict`, an heir."""
    o, made = Box(rate=2.0), []
    def f(x, n):
        @dataclasses.dataclass
        class Parts:
            first: object
            rate: float = o.rate
            seen: list = dataclasses.field(default_factory=list)
            def __post_init__(self): made.append(self.rate)
            def scaled(self): return self.first * self.rate + o.rate * len(self.seen)
        @dataclasses.dataclass
        class More(Parts):
            count: int = dataclasses.field(default=n, kw_only=True)
            def __post_init__(self): self.seen.append(self.count)
        Plain = dataclasses.make_dataclass("Plain", ["a", ("b", int, 3)])
        p, m = Parts(x), More(x, 0.5)
        return (dataclasses.replace(p, rate=4.0).scaled(), m.scaled() * m.count, Plain(x).b,
                [v for k, v in dataclasses.asdict(m).items() if k != "first"])
    def calls(f):
        for n in (1, 1, 1, 2, 2, 2):
            yield f(ramp(2), n), list(made)
        o.rate = 3.0
        yield from thrice(lambda: (f(ramp(2), 2), list(made)))
    return f, calls


@trap
def a_dataclass_of_each_call_goes_by_builtins():
    """Its hash, its comparisons and what keeps it frozen name builtins, which somebody covers in
    the module. It may be given back, too: each call makes another class."""
    o = Box(gives_back=False)
    def f(x):
        @dataclasses.dataclass(frozen=True)
        class Key:
            n: int
        known = {Key(2): 3}
        if o.gives_back:
            return Key(x)
        return x * known[Key(2)], Key(1) == Key(1), outcome(lambda: setattr(Key(3), "n", 1))
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        for name in "hash", "type":
            covered = getattr(builtins, name)
            def covering(*args, covered=covered, name=name):
                print(name)
                return covered(*args)
            globals()[name] = covering
            try:
                yield from thrice(lambda: f(ramp(2)))
            finally:
                del globals()[name]
        o.gives_back = True
        given = [f(ramp(2)) for _ in range(4)]
        yield len(set(map(type, given))), [k.n for k in given]
    return f, calls
