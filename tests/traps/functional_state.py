"""States that each call replaces by new ones, as in functional code: named tuples, dataclasses that
may be frozen, and what is in them."""
import dataclasses
import typing

import whet

from tests.traps.harness import Box, ramp, trap


class Named(typing.NamedTuple):
    """Weights, and how often they were changed."""
    w: dict
    step: int


@dataclasses.dataclass(frozen=True)
class Frozen:
    """Weights, and how often they were changed."""
    w: dict
    step: int


@dataclasses.dataclass
class Open:
    """Weights, and how often they were changed."""
    w: dict
    step: int


@dataclasses.dataclass(frozen=True)
class OwnHash:
    """Frozen, with a hash that goes by something else than its fields."""
    w: dict
    step: int

    def __hash__(self): return id(self)


@dataclasses.dataclass(eq=False)
class ByIdentity:
    """Equal to itself alone."""
    w: dict
    step: int


KINDS = Named, Frozen, Open, OwnHash, ByIdentity


def changed(s, x):
    """The next state."""
    return type(s)({k: v * 0.5 + x.mean() for k, v in s.w.items()}, s.step + 1)


def states(kind, read):
    """A function of x that replaces a state of a kind, and calls of it: for each, the results and
    states that came before."""
    o, old = Box(state=kind({"a": ramp(2), "b": ramp(1)}, 0)), []
    def f(x):
        y = read(o.state, x)
        o.state = changed(o.state, x)
        return y
    def calls(f):
        for i in range(6):
            old.append(o.state)
            yield f(ramp(2) + i), o.state.w, o.state.step, old[-1].w, old[-1] is o.state
        o.state = kind({"a": ramp(2), "b": ramp(1)}, 7)
        for i in range(3):
            yield f(ramp(2) + i), o.state.w, o.state.step
        o.state = kind({"a": ramp(2)}, 0)
        for i in range(3):
            yield f(ramp(2) + i), o.state.w, o.state.step
        o.state = kind({"a": ramp(3), "b": ramp(1)}, o.state.step)
        for i in range(4):
            yield f(ramp(3) + i), o.state.w, o.state.step
    return f, calls


def ways(kind):
    """What is done with a state of a kind."""
    def computed():
        """A state is computed with."""
        return states(kind, lambda s, x: x * s.w["a"].sum() + s.step)

    def decides():
        """Python decides by a number in the state."""
        return states(kind, lambda s, x: x * 2 if s.step % 3 else x + s.step)

    def compared():
        """The state is compared with what another name holds."""
        kept = Box(first=None)
        def read(s, x):
            kept.first = s if kept.first is None or s.step == 3 else kept.first
            return x * (2.0 if s is kept.first else 3.0), kept.first.step
        return states(kind, read)

    def hashed():
        """Its hash is asked for, where it has one: by fields, or by identity."""
        counts = {}
        def read(s, x):
            try:
                counts[s.step if kind in (Named, Frozen, Open) else s] = s.step
            except TypeError:
                counts["none"] = 1
            return x * len(counts)
        return states(kind, read)
    return computed, decides, compared, hashed


for _kind in KINDS:
    for _way in ways(_kind):
        _way.__name__ = f"a_state_{_way.__name__}_as_{_kind.__name__.lower()}"
        trap(_way)


@trap
def methods_and_properties_of_the_state():
    """A property reads a global, a method is patched, a field of a subclass is set beside."""
    box = Box(gain=2.0)
    class More(Named):
        @property
        def scale(self): return self.step * box.gain
        def next(self, x): return type(self)({"a": self.w["a"] + x}, self.step + 1)
    o = Box(state=More({"a": ramp(2)}, 0))
    def f(x):
        y = x * o.state.scale + getattr(o.state, "note", 0.0)
        o.state = o.state.next(x)
        return y
    def calls(f):
        for _ in range(5):
            yield f(ramp(2)), o.state.w, o.state.step
        box.gain = 3.0
        for _ in range(3):
            yield f(ramp(2)), o.state.w, o.state.step
        o.state.note = 5.0
        for _ in range(3):
            yield f(ramp(2)), o.state.w, o.state.step
        More.next = lambda self, x: type(self)({"a": self.w["a"] - x}, self.step + 2)
        for _ in range(3):
            yield f(ramp(2)), o.state.w, o.state.step
    return f, calls


@trap
def frozen_states_as_arguments():
    """A training loop in functional style: the state is given and comes back."""
    @dataclasses.dataclass(frozen=True)
    class TrainState:
        params: dict
        moments: dict
        step: int
        rate: float = 0.1
        def replaced(self, **changes): return dataclasses.replace(self, **changes)
    def loss(params, x): return ((x @ params["w"] + params["b"]) ** 2).mean()
    def f(state, x):
        grads, value = whet.func.grad_and_value(loss)(state.params, x)
        moments = {k: 0.9 * state.moments[k] + g for k, g in grads.items()}
        params = {k: p - state.rate * moments[k] for k, p in state.params.items()}
        return state.replaced(params=params, moments=moments, step=state.step + 1), value
    def calls(f):
        params = {"w": ramp(2, 1), "b": whet.zeros(1)}
        state = TrainState(params, {k: whet.zeros_like(v) for k, v in params.items()}, 0)
        for i in range(8):
            state, value = f(state, ramp(3, 2) * 0.1)
            yield state.params, state.moments, state.step, value, hash(state.step)
            if i == 4:
                state = state.replaced(rate=0.2)
    return f, calls


@trap
def the_identity_of_a_frozen_argument():
    """It is asked whether it is the one that was given before, and it is kept."""
    box = Box(last=None)
    def f(s, x):
        same, box.last = s is box.last, s
        return x * s.step if same else x + s.step
    def calls(f):
        a, b = Frozen({"a": ramp(2)}, 1), Frozen({"a": ramp(2)}, 2)
        for s in (a, a, a, b, b, a, b, a, a):
            yield f(s, ramp(2)), box.last is s
    return f, calls
