"""Names and where they lead: built-ins, classes and functions that are patched or exchanged."""
import builtins
import inspect
import math
import types

import whet
import whet.nn.functional as F
from whet import nn

from tests.traps.harness import Box, outcome, ramp, thrice, trap


# ---- names and where they lead -------------------------------------------------------------------
@trap
def a_builtin_is_patched():
    """builtins.abs = ...: a name that no module has."""
    def f(x): return abs(x - 1) * round(2.4)
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        before = builtins.round
        builtins.round = lambda v: 7
        try:
            yield from thrice(lambda: f(ramp(3)))
        finally:
            builtins.round = before
        yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def a_name_hides_a_builtin():
    """A global called `sum` appears, and goes."""
    def f(x): return x * SUM_OF([1.0, 2.0])              # noqa: F821
    f = types.FunctionType(f.__code__.replace(co_names=tuple("sum" if n == "SUM_OF" else n for n in f.__code__.co_names)), globals())
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        globals()["sum"] = max
        yield from thrice(lambda: f(ramp(3)))
        del globals()["sum"]
        yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def a_method_of_all_tensors_is_patched():
    """Tensor.relu = ...: a method that each tensor has is another one, and back."""
    def f(x): return (x - 1).relu() + 1
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        before = vars(whet.Tensor)["relu"]
        whet.Tensor.relu = lambda t: t * 10
        try:
            yield from thrice(lambda: f(ramp(3)))
        finally:
            whet.Tensor.relu = before
        yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def an_operator_of_all_tensors_is_patched():
    """Tensor.__add__ = ...: what `+` means."""
    def f(x): return x + x
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        had, before = "__add__" in vars(whet.Tensor), whet.Tensor.__add__
        whet.Tensor.__add__ = lambda a, b: a - 5
        try:
            yield from thrice(lambda: f(ramp(3)))
        finally:
            if had:
                whet.Tensor.__add__ = before
            else:
                del whet.Tensor.__add__
        yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def a_property_is_put_on_all_tensors():
    """Tensor.scale = property(...), whose function reads the outside."""
    setting = Box(scale=2.0)
    def f(x): return x * x.scale_of_trap
    def calls(f):
        whet.Tensor.scale_of_trap = property(lambda t: setting.scale)
        try:
            for setting.scale in (2.0, 3.0, 2.0):
                yield from thrice(lambda: f(ramp(3)))
            whet.Tensor.scale_of_trap = property(lambda t: 9.0)
            yield from thrice(lambda: f(ramp(3)))
        finally:
            del whet.Tensor.scale_of_trap
    return f, calls


@trap
def a_layer_class_of_whet_gets_an_attribute():
    """nn.Linear.gain = 2: an attribute of a class that is not the user's."""
    model = nn.Linear(2, 2)
    def f(x): return model(x) * getattr(model, "gain_of_trap", 1.0)
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        for k in (2.0, 3.0):
            nn.Linear.gain_of_trap = k
            yield from thrice(lambda: f(ramp(2)))
        del nn.Linear.gain_of_trap
        yield from thrice(lambda: f(ramp(2)))
    return f, calls


@trap
def the_call_of_all_modules_is_patched():
    """nn.Module.__call__ = ...: it counts and scales."""
    model = nn.Sequential(nn.Linear(2, 2), nn.Tanh())
    def f(x): return model(x)
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        before, count = nn.Module.__call__, []
        def call(self, *args, **kwargs):
            count.append(type(self).__name__)
            return before(self, *args, **kwargs) * 2
        nn.Module.__call__ = call
        try:
            yield from thrice(lambda: (f(ramp(2)), list(count)))
        finally:
            nn.Module.__call__ = before
        yield from thrice(lambda: (f(ramp(2)), list(count)))
    return f, calls


@trap
def a_functional_is_patched():
    """F.gelu = ..., by attribute of a module under an alias."""
    def f(x): return F.gelu(x)
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        before = F.gelu
        F.gelu = lambda x: x * 3
        try:
            yield from thrice(lambda: f(ramp(3)))
        finally:
            F.gelu = before
        yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def a_functional_inside_a_layer_is_patched():
    """nn.GELU uses a function of its own module; somebody patches that."""
    model = nn.GELU()
    names = [n for n in ("gelu", "F") if n in vars(inspect.getmodule(nn.GELU))]
    def f(x): return model(x)
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        before = F.gelu
        F.gelu = lambda x, **k: x * 3
        try:
            yield from thrice(lambda: f(ramp(3)))
        finally:
            F.gelu = before
        yield len(names) >= 0, f(ramp(3))
    return f, calls


@trap
def math_is_patched():
    """math.sqrt = ..."""
    def f(x): return x * math.sqrt(16.0)
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        before = math.sqrt
        math.sqrt = lambda v: v
        try:
            yield from thrice(lambda: f(ramp(3)))
        finally:
            math.sqrt = before
        yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def closures_over_a_loop_variable():
    """Lambdas that all see the last value; one binds its own."""
    late, early = [], []
    for k in range(3):
        late.append(lambda x: x * k)
        early.append(lambda x, k=k: x * k)
    def f(x): return [g(x) for g in late + early]
    def calls(f):
        nonlocal k
        for k in (2, 5, 2, 3):               # noqa: B007
            yield from thrice(lambda: f(ramp(2)))
    return f, calls


@trap
def a_star_import_of_a_module_made_by_hand():
    """A module without a file, in sys.modules, imported by name inside."""
    import sys
    made = types.ModuleType("made_by_a_trap")
    made.scale = 2.0
    sys.modules["made_by_a_trap"] = made
    def f(x):
        from made_by_a_trap import scale
        return x * scale
    def calls(f):
        for made.scale in (2.0, 3.0, 2.0):
            yield from thrice(lambda: f(ramp(2)))
        other = types.ModuleType("made_by_a_trap")
        other.scale = 7.0
        sys.modules["made_by_a_trap"] = other
        yield from thrice(lambda: f(ramp(2)))
        del sys.modules["made_by_a_trap"]
        yield outcome(lambda: f(ramp(2)))
    return f, calls


@trap
def a_class_is_exchanged_by_its_name():
    """A global class that the function instantiates is replaced by another one."""
    def f(x): return Scaler(2.0)(x)
    def calls(f):
        global Scaler
        class Scaler:
            def __init__(self, k): self.k = k
            def __call__(self, x): return x * self.k
        yield from thrice(lambda: f(ramp(2)))
        class Scaler:                        # noqa: F811
            def __init__(self, k): self.k = k
            def __call__(self, x): return x + self.k
        yield from thrice(lambda: f(ramp(2)))
        Scaler.__init__ = lambda self, k: setattr(self, "k", k * 10)
        yield from thrice(lambda: f(ramp(2)))
    return f, calls
