"""Methods that no code names, and what made an instance: left out, unless they could be run."""
import copy
import dataclasses
import functools
import operator
import random

import numpy as np
import whet
from whet import nn

from tests.traps.harness import Box, outcome, ramp, thrice, trap


def layers():
    """A class whose instances draw their weights, and count themselves."""
    counts = Box(made=0)

    class Layer(nn.Module):
        """Scales."""
        def __init__(self, scale=2.0):
            super().__init__()
            self.scale = scale
            self.reset()

        def reset(self):
            """New weights."""
            counts.made += 1
            self.weight = nn.Parameter(whet.from_numpy(np.random.randn(2).astype("f4")))

        def forward(self, x):
            """A product."""
            return x * self.weight * self.scale
    return Layer, counts


@trap
def a_module_draws_its_weights_with_numpy():
    """`__init__` draws, the call does not; its class gets another forward and `__init__`."""
    Layer, counts = layers()
    layer = Layer()
    def f(x):
        return layer(x) + counts.made
    def calls(f):
        for _ in range(4):
            yield f(ramp(2))
        layer.reset()
        for _ in range(3):
            yield f(ramp(2))
        Layer.__init__ = lambda self: None
        for _ in range(3):
            yield f(ramp(2))
        Layer.forward = lambda self, x: x - self.weight
        for _ in range(3):
            yield f(ramp(2))
    return f, calls


@trap
def instances_are_made_by_way_of_an_instance():
    """By its class's name, `type`, `__class__`, a helper, names made at run time, and copies."""
    Layer, counts = layers()
    layer = Layer()
    ways = {
        "type": lambda x: type(layer)(3.0)(x), "class": lambda x: layer.__class__(3.0)(x),
        "name": lambda x: Layer()(x), "init": lambda x: layer.__init__(0.5) or layer(x),
        "reset": lambda x: layer.reset() or layer(x), "copy": lambda x: copy.copy(layer)(x),
        "attr": lambda x: getattr(layer, "re" + "set")() or layer(x),
        "caller": lambda x: operator.methodcaller("reset")(layer) or layer(x)}
    def f(x, way):
        return ways[way](x), counts.made
    def calls(f):
        for way in ways:
            for _ in range(4):
                yield outcome(lambda: f(ramp(2), way)), counts.made, layer.weight
    return f, calls


@trap
def classes_that_are_compared_before_they_make_an_instance():
    """`__class__` and `type(...)` on either side of `is`, by name, and then called."""
    Layer, counts = layers()
    layer, other = Layer(), Layer()
    def by_type(x):
        known = type(layer)
        return known(3.0)(x) if known is type(other) else x
    def by_attribute(x):
        kind = other.__class__
        return kind(3.0)(x) if layer.__class__ is kind and kind.__name__ == "Layer" else x
    def by_name(x):
        return x * len(layer.__class__.__name__) if layer.__class__ is Layer else x
    def f(x, way):
        return way(x), counts.made
    def calls(f):
        for way in (by_name, by_type, by_attribute):
            for _ in range(4):
                yield outcome(lambda: f(ramp(2), way)), counts.made
    return f, calls


@trap
def a_helper_of_the_constructor_is_called_later():
    """A branch that early calls do not take runs what `__init__` runs."""
    Layer, counts = layers()
    layer = Layer()
    def f(x, k):
        if k > 4:
            layer.reset()
        return layer(x)
    def calls(f):
        for k in (1, 2, 3, 4, 5, 5, 4, 6):
            yield f(ramp(2), k), counts.made
    return f, calls


@trap
def replaced_records():
    """`dataclasses.replace` and a constructor's `__post_init__`, of an object outside."""
    log = []

    @dataclasses.dataclass(eq=False)
    class Options:
        """With a default that is drawn."""
        rate: float
        noise: float = 0.0

        def __post_init__(self):
            self.noise = random.random()
            log.append(self.rate)
    o = Options(0.5)
    def f(x, kind):
        if kind == "replace":
            return x * dataclasses.replace(o, rate=2.0).rate
        return x * o.rate + o.noise
    def calls(f):
        for kind in ("read", "replace", "read"):
            for k in range(4):
                o.rate = k + 0.5
                yield outcome(lambda: f(ramp(2), kind)), len(log)
    return f, calls


@trap
def a_method_that_a_constructor_names_is_called_by_the_framework():
    """`__init__` runs `forward` and registers a hook; both run again in the call."""
    class Net(nn.Module):
        """Looks at what it gives when it is made."""
        def __init__(self):
            super().__init__()
            self.line = nn.Linear(2, 2)
            self.size = self.forward(ramp(2)).shape[0] + np.random.randint(3)
            self.register_forward_hook(self.seen)
            self.calls = 0

        def seen(self, module, args, out):
            """A hook."""
            self.calls += 1
            return out * 2

        def forward(self, x):
            """A layer."""
            return self.line(x)
    net = Net()
    def f(x):
        return net(x), net.calls
    def calls(f):
        for _ in range(6):
            yield f(ramp(2)), net.calls
    return f, calls


@trap
def the_environment_of_an_agent_is_reset_elsewhere():
    """`reset` and `sample` draw, and only the caller names them; later a variable holds one."""
    class World:
        """A point."""
        def __init__(self):
            self.reset()

        def reset(self):
            """Begin."""
            self.at = ramp(2) * random.random()

        def sample(self):
            """Somewhere."""
            return random.random()

        def near(self, x):
            """How near it is."""
            return (x - self.at).square().sum()
    world, o = World(), Box(draw=None)
    def f(x):
        y = world.near(x)
        return y if o.draw is None else y * o.draw()
    def calls(f):
        for k in range(10):
            if k % 3 == 0:
                world.reset()
            yield f(ramp(2)), world.sample()
        o.draw = world.sample
        for _ in range(4):
            yield f(ramp(2))
    return f, calls


@trap
def sorting_and_formatting_by_methods_that_nobody_names():
    """Python calls `__lt__` and `__format__`, a key that is an attribute calls another method."""
    log = []

    class Item:
        """With an order."""
        def __init__(self, n):
            self.n = n
            self.key = self.weigh

        def weigh(self, other=None):
            """A side effect."""
            log.append(self.n)
            return -self.n

        def __lt__(self, other):
            return self.n < other.n

        def __format__(self, spec):
            return f"<{self.n}>"
    items = [Item(3), Item(1), Item(2)]
    def f(x, kind):
        if kind == "sort":
            return x * sorted(items)[0].n
        if kind == "key":
            return x * min(items, key=lambda i: i.key()).n
        return x * len(f"{items[0]}")
    def calls(f):
        for kind in ("sort", "key", "text"):
            for k in range(4):
                items[1].n = k
                yield f(ramp(2), kind), list(log)
    return f, calls


@trap
def methods_of_pythons_that_have_another_name():
    """`__bool__`, `__index__`, `__float__` and `__hash__` are functions of other names."""
    def positive(self):
        return self.n > 0
    def count(self):
        return self.n
    def half(self):
        return self.n * 0.5
    class Meter:
        """Of what was counted."""
        n = 1
        __bool__, __index__, __hash__, __len__, __float__ = positive, count, count, count, half
    class Full:
        """Says whether there is anything, by Python's own booleans."""
        n = 1
        def __bool__(self):
            return not self.n == 3
    meter, full = Meter(), Full()
    def f(x, how):
        meter.n += 1
        full.n += 1
        if how == "bool":
            return x * 2 if meter else x
        if how == "full":
            return x * full.n if full else x
        if how == "index":
            return x * [1, 2, 3, 4, 5, 6, 7, 8][meter]
        if how == "float":
            return x * float(meter)
        return x * len({meter}), len(meter)
    def calls(f):
        for how in ("bool", "full", "index", "float", "hash"):
            meter.n = full.n = 0
            for _ in range(5):
                yield outcome(lambda: f(ramp(2), how)), meter.n
    return f, calls


@trap
def a_method_has_some_of_its_arguments():
    """functools.partialmethod: another one, other arguments in it, a subclass with its own, and an
    instance that hides it."""
    class Scaled:
        k = 2.0
        def base(self, x, by, plus=0.0): return x * by + plus * self.k
        up = functools.partialmethod(base, 3.0, plus=1.0)
    class More(Scaled):
        def base(self, x, by, plus=0.0): return x - by
        up = functools.partialmethod(base, 5.0)
    both = Scaled(), More()
    def f(x): return [o.up(x) for o in both]
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        Scaled.up = functools.partialmethod(Scaled.base, by=4.0)
        yield from thrice(lambda: f(ramp(2)))
        vars(Scaled)["up"].keywords["by"] = 6.0
        yield from thrice(lambda: f(ramp(2)))
        Scaled.k = 7.0
        vars(More)["up"].keywords["plus"] = 1.0
        yield from thrice(lambda: f(ramp(2)))
        both[1].up = lambda x: x
        yield from thrice(lambda: f(ramp(2)))
    return f, calls
