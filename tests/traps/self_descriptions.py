"""What functions, classes and modules say of themselves, settings of C code, and code that notices
a profiler."""
import dataclasses
import decimal
import gc
import inspect
import sys
import types
import weakref

import numpy as np
import whet
import whet.nn.functional as F

from tests.traps.harness import outcome, ramp, thrice, trap

HERE = sys.modules[__name__]


# ---- what functions, classes and modules say of themselves ---------------------------------------
@trap
def a_function_is_known_by_its_name():
    """__name__ is a key, __doc__ holds a number, __qualname__ and __module__ are measured; each is
    set."""
    def g(): "2.0"
    table = {"g": 2.0, "h": 3.0}
    def f(x): return (x * table[g.__name__] * float(g.__doc__) + len(g.__qualname__)
                      + len(g.__module__))
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        for name, value in (("__name__", "h"), ("__doc__", "5.0"), ("__qualname__", "q"),
                            ("__module__", "m"), ("__name__", "g")):
            setattr(g, name, value)
            yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def a_class_is_known_by_its_name():
    """The same of a class, by type(o) and by itself."""
    class C: "2.0"
    o = C()
    def f(x): return (x * len(type(o).__name__) * float(C.__doc__) + len(C.__qualname__)
                      + len(C.__module__))
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        for name, value in (("__name__", "Longer"), ("__doc__", "5.0"), ("__qualname__", "q"),
                            ("__module__", "m"), ("__name__", "C")):
            setattr(C, name, value)
            yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def only_the_name_of_a_class_is_asked_for():
    """One of these facts alone, of one class."""
    class C: "2.0"
    def f(x): return x * len(C.__name__)
    def calls(f):
        for C.__name__ in ("C", "Longer", "C"):
            yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def functions_and_classes_are_text(trace):
    """str(C) and an f-string of a function have their qualified names in them."""
    class C: pass
    def g(): pass
    function = trace(lambda x: x * len(f"{g}".partition(" at ")[0]))
    def f(x): return x * len(str(C))
    def calls(f):
        yield from thrice(lambda: (f(ramp(3)), function(ramp(3))))
        C.__qualname__ = g.__qualname__ = "Another"
        yield from thrice(lambda: (f(ramp(3)), function(ramp(3))))
        C.__module__ = "m"
        yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def annotations_are_values():
    """__annotations__ of a class and of a function are dicts: entries change, and come."""
    class C: a: "2.0"
    def g(a: 2.0): pass                      # noqa: F722
    def f(x):
        for v in C.__annotations__.values():
            x = x * float(v)
        return x + g.__annotations__["a"]
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        C.__annotations__["a"] = "3.0"
        yield from thrice(lambda: f(ramp(3)))
        C.__annotations__["b"] = "4.0"
        yield from thrice(lambda: f(ramp(3)))
        g.__annotations__["a"] = 9.0
        yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def fields_of_a_dataclass_carry_data():
    """dataclasses.fields: the default of a field, and its metadata, which shows a dict that
    changes."""
    meta = {"scale": 2.0}
    @dataclasses.dataclass
    class C: a: float = dataclasses.field(default=1.0, metadata=meta)
    def f(x):
        g, = dataclasses.fields(C)
        return x * g.metadata["scale"] + g.default
    def calls(f):
        for meta["scale"] in (2.0, 3.0, 2.0):
            yield from thrice(lambda: f(ramp(3)))
        C.__dataclass_fields__["a"].default = 5.0
        yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def a_module_is_asked_in_other_ways(trace):
    """Attributes of a module by __getattribute__, a format, a pattern and inspect, some by names
    made at run time."""
    m, name = types.ModuleType("m"), ["sca", "le"]
    @trace
    def by_pattern(x):
        match m:
            case types.ModuleType(scale=s):
                return x * s
    by_method = trace(lambda x: x * m.__getattribute__("".join(name)))
    by_object = trace(lambda x: x * object.__getattribute__(m, "".join(name)))
    by_members = trace(lambda x: x * dict(inspect.getmembers(m))["".join(name)])
    def f(x): return x * float("{m.scale}".format(m=m))      # noqa: UP032
    def calls(f):
        for m.scale in (2.0, 3.0, 2.0):
            yield from thrice(lambda: [g(ramp(3))
                                       for g in (f, by_pattern, by_method, by_object, by_members)])
    return f, calls


@trap
def a_module_is_set_in_other_ways(trace):
    """Attributes of a module by __setattr__ and __delattr__, by names made at run time."""
    m = types.ModuleType("m")
    @trace
    def by_class(x, name):
        types.ModuleType.__setattr__(m, name + "_2", 4.0)
        return x * 2
    @trace
    def by_delattr(x, name):
        m.__delattr__(name)
        return x * 3
    def f(x, name):
        m.__setattr__(name, 5.0)
        return x
    def calls(f):
        for name in ("a", "b", "a", "a", "b", "c", "a"):
            yield f(ramp(3), name), by_class(ramp(3), name), dict(vars(m))
            yield by_delattr(ramp(3), name), dict(vars(m))
            m.a_2 = m.b_2 = 1.0
    return f, calls


@trap
def the_globals_of_a_function_and_a_frame(trace):
    """g.__globals__[...], and inspect.currentframe().f_globals[...]."""
    names = {"K": 2.0}
    exec("def g(): pass", names)
    g = names["g"]
    HERE.K_OF_A_FRAME = 2.0
    by_frame = trace(lambda x: x * inspect.currentframe().f_globals["K_OF_A_FRAME"])
    def f(x): return x * g.__globals__["K"]
    def calls(f):
        for k in (2.0, 3.0, 2.0):
            names["K"] = HERE.K_OF_A_FRAME = k
            yield from thrice(lambda: (f(ramp(3)), by_frame(ramp(3))))
    return f, calls


# ---- settings of C -------------------------------------------------------------------------------
@trap
def decimals_are_rounded_by_their_context():
    """decimal's precision is of the thread, not of a number."""
    def f(x): return x * float(decimal.Decimal(1) / decimal.Decimal(3))
    def calls(f):
        with decimal.localcontext() as c:
            for c.prec in (28, 2, 28):
                yield from thrice(lambda: f(ramp(3, dtype=whet.float64)))
    return f, calls


@trap
def numpy_is_told_how_to_take_errors():
    """np.errstate decides whether a division by zero is silent, a warning, or an error."""
    a = np.array([1.0, 0.0])
    def f(x): return x + float((1 / a)[0])
    def calls(f):
        for way in ("ignore", "warn", "raise", "ignore"):
            with np.errstate(divide=way):
                yield from thrice(lambda: outcome(lambda: f(ramp(3))))
    return f, calls


@trap
def numbers_of_numpy_overflow():
    """np.float32 overflows with a warning, each time."""
    a = np.float32(3e38)
    def f(x): return x + float(a * 10)
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        with np.errstate(over="raise"):
            yield from thrice(lambda: outcome(lambda: f(ramp(3))))
    return f, calls


@trap
def arrays_are_text():
    """str(array) goes by NumPy's options; np.info prints."""
    a = np.array([1 / 3])
    def f(x): return x * len(str(a)), f"{a}"
    def calls(f):
        for digits in (8, 2, 8):
            with np.printoptions(precision=digits):
                yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def numpy_informs():
    """np.info prints, from inside of NumPy."""
    def f(x):
        np.info("nothing of this name")
        return x * 2
    def calls(f):
        for _ in range(4):
            yield f(ramp(3))
    return f, calls


@trap
def whet_warns_of_what_it_is_given(trace):
    """Sizes that hardly fit, a tensor copied by whet.tensor: a warning at each call."""
    copied = trace(lambda x: whet.tensor(x) * 2)
    def f(x, y): return F.mse_loss(x, y)
    def calls(f):
        yield from thrice(lambda: (f(ramp(3), ramp(1)), copied(ramp(3))))
        yield from thrice(lambda: (f(ramp(3), ramp(3)), copied(ramp(3))))
        yield from thrice(lambda: f(ramp(4), ramp(1)))
    return f, calls


@trap
def settings_of_whet_are_asked_for():
    """The precision of products and whether all is deterministic: remembered, and told."""
    def f(x): return (x * 2, whet.get_float32_matmul_precision(),
                      whet.are_deterministic_algorithms_enabled(),
                      whet.get_deterministic_debug_mode())
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        before = whet.get_float32_matmul_precision()
        whet.set_float32_matmul_precision("high")
        yield from thrice(lambda: f(ramp(2)))
        whet.set_float32_matmul_precision(before)
        whet.use_deterministic_algorithms(True)
        yield from thrice(lambda: f(ramp(2)))
        whet.use_deterministic_algorithms(False)
        yield from thrice(lambda: f(ramp(2)))
    return f, calls


# ---- who watches, and what is alive --------------------------------------------------------------
@trap
def garbage_is_collected_or_not(trace):
    """gc.isenabled() inside, and gc.disable() inside that stays."""
    @trace
    def off(x):
        gc.disable()
        return x * 2
    def f(x): return x * (2 if gc.isenabled() else 3)
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        for _ in range(4):
            gc.enable()
            yield off(ramp(3)), gc.isenabled(), f(ramp(3))
        gc.enable()
    return f, calls


@trap
def a_profiler_is_asked_for_and_set(trace):
    """sys.getprofile() inside, and sys.setprofile() that stays."""
    def nothing(*args): pass
    @trace
    def on(x):
        sys.setprofile(nothing)
        return x * 2
    def f(x): return x * (2 if sys.getprofile() is None else 3)
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        for _ in range(4):
            y = on(ramp(3))
            now = sys.getprofile()
            sys.setprofile(None)
            yield y, now is nothing
    return f, calls


@trap
def a_tensor_of_the_call_is_gone_already(trace):
    """A weak reference to what the function has let go, a weak dict, a finalizer: in the call
    itself."""
    log = []
    @trace
    def weak(x):
        d = weakref.WeakValueDictionary()
        d["a"] = x * 2
        return x * len(d)
    @trace
    def last(x):
        y = x * 2
        weakref.finalize(y, log.append, 1)
        z = y + 1
        del y
        return z, len(log)
    def f(x):
        y = x * 2
        r = weakref.ref(y)
        z = y + 1
        del y
        return z, r() is None
    def calls(f):
        for _ in range(5):
            yield f(ramp(3)), weak(ramp(3)), last(ramp(3)), list(log)
    return f, calls
