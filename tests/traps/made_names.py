"""Attributes by names that are made at run time: it is known how they begin, or of what they are
asked."""
import collections
import functools
import queue
import random

import whet
from whet import nn

from tests.traps.harness import Box, ramp, trap


class Layers(nn.Module):
    """Layers by number, and what a layer holds besides."""

    def __init__(self, depth=3):
        super().__init__()
        self.depth, self.rng = depth, random.Random(depth)
        self.scale_a, self.scale_b, self.other = 2.0, [3.0], {"gain": 1.0}
        for i in range(depth):
            setattr(self, f"layer{i}", nn.Linear(3, 3))

    def forward(self, x):
        for i in range(self.depth):
            x = getattr(self, f"layer{i}")(x).tanh()
        return x

    def of_any_name(self, x, name):
        """What is asked of the layer alone."""
        found = getattr(self, name)
        return x * (found if type(found) is float else next(iter(
            found.values() if type(found) is dict else found)))


class Trainer:
    """Holds more than its step reads."""

    def __init__(self, model):
        self.model, self.steps, self.waiting = model, 0, queue.Queue()
        self.log_of, self.lasts = collections.deque(maxlen=3), [1.0]

    def step(self, x):
        """One step, of what others hold, too."""
        self.steps += 1
        y = self.model(x)
        self.log_of.append(self.steps)
        return y * self.steps


@trap
def layers_by_number_in_a_trainer():
    """A trainer counts its steps; a layer is replaced, a number is added, a method is patched."""
    trainer = Trainer(Layers())
    def calls(f):
        for _ in range(4):
            yield f(ramp(2, 3)), trainer.steps, [*trainer.log_of]
        trainer.model.layer1 = nn.Linear(3, 3)
        for _ in range(3):
            yield f(ramp(2, 3)), trainer.steps
        trainer.model.layer3, trainer.model.depth = nn.Linear(3, 3), 4
        for _ in range(3):
            yield f(ramp(2, 3)), trainer.steps
        Layers.layer2 = property(lambda self: lambda x: x + 1)
        try:
            for _ in range(3):
                yield f(ramp(2, 3))
        finally:
            del Layers.layer2
    return trainer.step, calls


@trap
def any_name_of_its_own_object():
    """getattr(self, name): a number, a list and a dict, each changed between calls."""
    layers = Layers()
    box = Box(name="scale_a")
    def f(x): return layers.of_any_name(x, box.name)
    def calls(f):
        for name in ("scale_a", "scale_b", "other"):
            box.name = name
            for _ in range(3):
                yield f(ramp(2))
            for change in (lambda: setattr(layers, "scale_a", layers.scale_a + 1.0),
                           lambda: layers.scale_b.insert(0, 5.0),
                           lambda: layers.other.update(gain=7.0)):
                change()
                for _ in range(3):
                    yield f(ramp(2))
    return f, calls


@trap
def a_method_that_gets_another_object():
    """Layers.of_any_name of an object that is no layer, which holds what nothing else names."""
    class Other:
        """Holds the same by the same names."""
        def __init__(self): self.scale_a, self.hidden = 2.0, [5.0]
    other = Other()
    box = Box(name="scale_a", layers=Layers())
    def f(x): return Layers.of_any_name(other, x, box.name) + box.layers.depth
    def calls(f):
        for name in ("scale_a", "hidden", "hidden"):
            box.name = name
            for _ in range(3):
                yield f(ramp(2))
            other.hidden[0] += 1.0
            for _ in range(3):
                yield f(ramp(2))
            other.scale_a += 1.0
            yield f(ramp(2))
    return f, calls


@trap
def a_loss_that_is_set_and_asked_for_by_a_made_name():
    """self.loss_a = ... in one method, getattr(self, f"loss_{kind}") in another."""
    class Step:
        loss_b, kind = 1.0, "a"
        def __call__(self, x):
            if self.kind == "a":
                self.loss_c = x.sum().item()
            y = x * getattr(self, f"loss_{self.kind}", 0.5)
            self.loss_a = float(x.shape[0])
            return y
    step = Step()
    def calls(f):
        for kind in "abca":
            step.kind = kind
            for i in range(3):
                yield f(ramp(2) + i), vars(step).copy()
            step.loss_a = 7.0
            yield f(ramp(2)), vars(step).copy()
    return step, calls


@trap
def names_of_many_forms():
    """By %, by +, by format, and by a variable; of a module's class, a function and an object."""
    class Config:
        gain_a, gain_b, rate1, rate2 = 1.0, [2.0], 3.0, 4.0
        @classmethod
        def of(cls, kind):
            return getattr(cls, "gain_" + str(kind))
    def helper(x): return x
    helper.shift1, helper.shift2 = 1.0, 2.0
    box = Box(i=1, kind="a")
    def f(x):
        name = "rate%d" % box.i
        found = Config.of(box.kind)
        x = x * getattr(Config, name) + getattr(helper, "shift{}".format(box.i))      # noqa: UP032
        return x + (found if type(found) is float else found[0])
    def calls(f):
        for box.i, box.kind in ((1, "a"), (2, "b"), (1, "b")):
            for _ in range(3):
                yield f(ramp(2))
            Config.gain_b[0] += 1.0
            yield f(ramp(2))
            Config.rate1 += 1.0
            yield f(ramp(2))
            helper.shift2 += 1.0
            yield f(ramp(2))
    return f, calls


@trap
def a_text_with_an_addition_of_its_own():
    """"lay" + x is what x says, and no name that begins with "lay"."""
    class Name:
        def __init__(self, name): self.name = name
        def __radd__(self, other): return self.name
    layers = Layers()
    box = Box(name=Name("layer0"))
    def f(x):
        found = getattr(layers, "lay" + box.name)
        return found(x) if callable(found) else x * found[0]
    def calls(f):
        for name in ("layer0", "scale_b"):
            box.name = Name(name)
            for _ in range(3):
                yield f(ramp(2, 3))
            layers.scale_b[0] += 1.0
            for _ in range(2):
                yield f(ramp(2, 3))
    return f, calls


@trap
def methods_by_made_names():
    """getattr(self, f"step_{kind}")(x), of methods that count and of one that is patched."""
    class Steps:
        def __init__(self): self.kind, self.counts, self.done = "a", [0], 0
        def __call__(self, x): return getattr(self, f"step_{self.kind}")(x)
        def step_a(self, x):
            self.done += 1
            return x * self.done
        def step_b(self, x):
            self.counts[0] += 1
            return x + self.counts[0]
    steps = Steps()
    def calls(f):
        for kind in "abab":
            steps.kind = kind
            for _ in range(4):
                yield f(ramp(2)), steps.done, steps.counts
        steps.step_a = functools.partial(Steps.step_b, steps)
        for steps.kind in "aabb":
            yield f(ramp(2)), steps.done, steps.counts
        Steps.step_b = lambda self, x: x - 1
        for steps.kind in "aabb":
            yield f(ramp(2)), steps.done, steps.counts
    return steps, calls


@trap
def state_set_by_made_names():
    """setattr(self, f"h{i}", ...), read by a name of the code and by one that is made."""
    class Cell(nn.Module):
        def __init__(self):
            super().__init__()
            self.h0, self.h1, self.steps = whet.zeros(2), whet.zeros(2), 0
        def forward(self, x):
            for i in range(2):
                x = x + getattr(self, f"h{i}")
                setattr(self, f"h{i}", x.detach())
            self.steps += 1
            return x + self.h0, hasattr(self, f"h{len(x)}")
    cell = Cell()
    def calls(f):
        for i in range(5):
            yield f(ramp(2) + i), cell.h0, cell.h1
        cell.h0 = whet.ones(2)
        for i in range(3):
            yield f(ramp(2) + i), cell.h0, cell.h1
        del cell.h1
        cell.h1 = whet.ones(2)
        yield f(ramp(2)), cell.h0, cell.h1
    return cell, calls


@trap
def gradients_by_made_names():
    """getattr(p, f"gr{x}"): whether a gradient is there, and what it holds."""
    p = whet.ones(2, requires_grad=True)
    box = Box(end="ad")
    def f(x):
        found = getattr(p, f"gr{box.end}", None)
        return x * (1.0 if found is None else 2.0), (x * p).sum()
    def calls(f):
        for _ in range(3):
            yield f(ramp(2))[0]
        for _ in range(3):
            y, loss = f(ramp(2))
            loss.backward()
            yield y, p.grad
        box.end = "ades"
        for _ in range(3):
            yield f(ramp(2))[0]
    return f, calls
