"""Calls among calls, and what is exchanged between them: weights, layers, buffers, objects."""
import gc
import sys
import weakref

import whet
from whet import nn

from tests.traps.harness import Box, outcome, ramp, thrice, trap


@trap
def the_function_calls_itself_through_its_trace(trace):
    """Re-entrant: the name in the body is the traced function."""
    box = Box()
    def f(x, n): return x if n == 0 else box.f(x * 2, n - 1) + n
    box.f = trace(f)
    def calls(_):
        for n in (0, 1, 3, 3, 3, 2):
            yield box.f(ramp(2), n)
    return f, calls


@trap
def a_call_back_during_the_call():
    """A callback reads what the function has half done."""
    total = whet.zeros(2)
    def f(x, report):
        total.add_(x)
        report(total.clone())
        total.mul_(2)
        return total.sum()
    def calls(f):
        seen = []
        for k in range(5):
            yield f(ramp(2) * k, seen.append), list(seen), total
    return f, calls


@trap
def weights_are_written_to():
    """copy_, load_state_dict and an index: the same objects with other values."""
    model = nn.Linear(3, 2)
    def calls(f):
        yield from thrice(lambda: f(ramp(2, 3)))
        with whet.no_grad():
            model.weight.copy_(ramp(2, 3))
            model.bias[0] = 5
        yield from thrice(lambda: f(ramp(2, 3)))
        model.load_state_dict({"weight": -ramp(2, 3), "bias": ramp(2)})
        yield from thrice(lambda: f(ramp(2, 3)))
    return model, calls


@trap
def weights_are_replaced():
    """A new Parameter, one of another size, one of another dtype, and None."""
    model = nn.Linear(3, 2)
    def f(x): return model(x).sum(0)
    def calls(f):
        yield from thrice(lambda: f(ramp(2, 3)))
        for w in (ramp(2, 3), ramp(2, 3) * 2, ramp(1, 3)):
            model.weight = nn.Parameter(w)
            yield from thrice(lambda: outcome(lambda: f(ramp(2, 3))))
        model.bias = None
        yield from thrice(lambda: f(ramp(2, 3)))
        model.double()
        yield from thrice(lambda: f(ramp(2, 3, dtype=whet.float64)))
        yield outcome(lambda: f(ramp(2, 3)))
    return f, calls


@trap
def weights_are_deleted():
    """del model.weight: an AttributeError, where the compiled program still has the tensor."""
    model = nn.Linear(3, 2)
    def f(x): return model(x)
    def calls(f):
        yield from thrice(lambda: f(ramp(2, 3)))
        w, gone = model.weight, weakref.ref(model.weight)
        del model.weight
        yield outcome(lambda: f(ramp(2, 3)))
        del w
        gc.collect()
        yield gone() is None
        model.weight = nn.Parameter(ramp(2, 3))
        yield from thrice(lambda: f(ramp(2, 3)))
    return f, calls


@trap
def layers_are_exchanged():
    """A Sequential is edited, a submodule replaced, a child added, one taken away."""
    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    def f(x): return model(x)
    def calls(f):
        yield from thrice(lambda: f(ramp(2) - 1))
        model[1] = nn.Tanh()
        yield from thrice(lambda: f(ramp(2) - 1))
        model.append(nn.Linear(2, 3))
        yield from thrice(lambda: f(ramp(2) - 1))
        del model[0]
        yield from thrice(lambda: f(ramp(2) - 1))
    return f, calls


@trap
def buffers_are_registered():
    """Names that forward asks for: buffers that appear, are None, and are assigned inside."""
    class Norm(nn.Module):
        def forward(self, x):
            if getattr(self, "mean", None) is None:
                self.register_buffer("mean", x.mean(0))
            self.mean = self.mean * 0.5 + x.mean(0) * 0.5
            return x - self.mean
    model = Norm()
    def calls(f):
        for k in (1, 1, 1, 3, 3):
            yield f(ramp(2, 2) * k), dict(model.state_dict())
        model.mean = None
        yield from thrice(lambda: (f(ramp(2, 2)), dict(model.state_dict())))
    return model, calls


@trap
def a_tensor_is_put_on_an_object():
    """self.last = y: an attribute that leads to this call's tensor, and a count beside it."""
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.last, self.calls, self.scale = None, 0, nn.Parameter(ramp(2))
        def forward(self, x):
            y = x * self.scale if self.last is None else x * self.scale + self.last
            self.last, self.calls = y.detach(), self.calls + 1
            return y
    model = Model()
    def calls(f):
        kept = []
        for _ in range(5):
            yield f(ramp(2)), model.last, model.calls
            kept.append(model.last)
        yield kept
        model.last = None
        yield from thrice(lambda: (f(ramp(2)), model.last))
    return model, calls


@trap
def a_global_tensor_is_assigned():
    """global LATEST inside the function: the module's name leads to another tensor after each
    call."""
    def f(x):
        global LATEST
        LATEST = LATEST * 0.5 + x
        return LATEST * 2
    def calls(f):
        global LATEST
        LATEST = whet.zeros(2)
        kept = []
        for _ in range(5):
            y = f(ramp(2))
            kept.append(LATEST)
            yield y, LATEST
        yield kept
    return f, calls


@trap
def an_object_notices_when_it_is_written_to():
    """__setattr__, __setitem__ and a property's setter with effects of their own."""
    log = []
    class Watched(dict):
        def __setattr__(self, name, value): log.append(name), super().__setattr__(name, value)
        def __setitem__(self, key, value): log.append(key), super().__setitem__(key, value * 2)
        level = property(lambda self: self["level"], lambda self, v: self.update(level=v))
    o = Watched()
    def f(x):
        o.state = 1
        o["a"] = x
        o.level = len(o)
        return o["a"] + o.level
    def calls(f):
        for _ in range(4):
            yield f(ramp(2)), list(log), dict(o)
    return f, calls


@trap
def something_ends_with_the_call():
    """__del__, weakref callbacks, __exit__ and ExitStack run at the end of each call."""
    log = []
    class Guard:
        def __init__(self, n): self.n = n
        def __enter__(self): log.append(("in", self.n))
        def __exit__(self, *e): log.append(("out", self.n, e[0] and e[0].__name__))
        def __del__(self): log.append(("gone", self.n))
    def f(x, n):
        g = Guard(n)
        with g:
            return x.reshape(n, -1) * 2
    def calls(f):
        for n in (1, 1, 1, 3, 2):
            yield outcome(lambda: f(ramp(4), n)), list(log)
            gc.collect()
            yield list(log)
    return f, calls


@trap
def a_dead_object_is_asked_for():
    """A weak reference gives None once nobody else holds the object."""
    class Holder:
        scale = 4.0
    strong = [Holder()]
    weak = weakref.ref(strong[0])
    def f(x): return x * weak().scale if weak() is not None else x
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        strong.clear()
        gc.collect()
        yield from thrice(lambda: f(ramp(2)))
    return f, calls


@trap
def the_stack_is_looked_at():
    """A helper that reads its caller's local variables, and the name of the function."""
    def helper(): return sys._getframe(1).f_locals["factor"], sys._getframe(1).f_code.co_name
    def f(x, n):
        factor = n * 2.0
        found, name = helper()
        return x * found, name, factor
    def calls(f):
        for n in (1, 2, 1):
            yield from thrice(lambda: f(ramp(2), n))
    return f, calls
