"""Attributes that a function sets before it reads them, if it does at all: what lies there when a
call begins is of no matter, and is laid there as eager lays it."""
import copy
import gc
import operator
import weakref

import pytest
import whet
from whet import nn
from whet.jit.guards.names_in_code import names_in
from whet.jit.policy import account

from .ledgers import calls_of, served

SIZES = [5, 6, 7, 8, 12, 20, 9, 5, 31, 6]


class Layer(nn.Module):
    last = 0

    def __init__(self):
        super().__init__()
        self.linear, self.calls, self.constants = nn.Linear(4, 6), 0, (whet.ones(2), whet.zeros(2))


class Tensors(Layer):
    def forward(self, x):
        self.last = self.linear(x)
        return x.sum(1)


class Containers(Layer):
    def forward(self, x):
        h = self.linear(x)
        self.losses = {"mean": h.mean().detach(), "all": [h.detach(), x]}
        self.state = h.detach(), len(x)
        return h.sum(1)


class OfAVariable(Layer):
    def forward(self, x):
        hidden = self.linear(x)
        self.hidden = hidden
        return hidden.sum(1)


class AtTimes(Layer):
    """It sets one of its attributes in training alone, and none to what it may hold already."""
    chosen = None

    def forward(self, x):
        if self.training:
            self.last = x * 2
        self.chosen = self.constants[len(x) % 2]
        self.odd = None if len(x) % 2 else x
        return self.linear(x).sum(1)


class OfAnother(Layer):
    def forward(self, x):
        self.linear.input = x
        return self.linear(x).sum(1)


class Hooked(Layer):
    def __init__(self):
        super().__init__()
        self.linear.register_forward_hook(set_feature)

    def forward(self, x):
        return self.linear(x).sum(1)


def set_feature(module, given, out):
    module.feature = out.detach()


ONLY_SETTING = [Tensors, Containers, OfAVariable, AtTimes, OfAnother, Hooked]


class Copied(Layer):
    def forward(self, x):
        was = copy.copy(self)
        self.last = x * 2
        return self.linear(x).sum(1), getattr(was, "last", 0)


class ByAName(Layer):
    def forward(self, x):
        was = getattr(self, "".join(["la", "st"]), 0)
        self.last = x * 2
        return self.linear(x).sum(1), was


class ByAGetter(Layer):
    get = operator.attrgetter("last")

    def forward(self, x):
        was = self.get(self) if self.calls else 0
        self.last, self.calls = x * 2, 1
        return self.linear(x).sum(1), was


class InAMatch(Layer):
    def forward(self, x):
        match self:
            case Layer(last=was):
                pass
            case _:
                was = 0
        self.last = x * 2
        return self.linear(x).sum(1), was


class ByAMethod(Layer):
    def forward(self, x):
        was = self.before() if self.calls else 0
        self.last, self.calls = x * 2, 1
        return self.linear(x).sum(1), was

    def before(self):
        return self.last


READING = [Copied, ByAName, ByAGetter, InAMatch, ByAMethod]


class HandedOn(Layer):
    def forward(self, x):
        self.encode(x)
        self.losses = {}
        self.losses["norm"] = self.last.norm()
        self.steps = []
        for i in range(2):
            self.steps.append(self.last * i)
        return self.losses["norm"] + sum(self.steps).sum(1)

    def encode(self, x):
        self.last = self.linear(x)


class ByAGenerator(Layer):
    def forward(self, x):
        later = self.generator()
        next(later)
        self.last = self.linear(x)
        return self.last.sum(1) + next(later)

    def generator(self):
        yield
        yield self.last.sum()


class OfTwo(Layer):
    def __init__(self, inner=True):
        super().__init__()
        self.inner = OfTwo(False) if inner else None

    def forward(self, x):
        self.last = self.linear(x)
        more = 0 if self.inner is None else self.inner(x) + self.inner.last.mean()
        return self.last.sum(1) + more


class Differentiated(Layer):
    def forward(self, x):
        self.last = self.linear(x)
        self.grad, = whet.autograd.grad(self.last.sum(), self.linear.weight)
        return (x.sum(1) * self.grad.mean()).sum()


SETTING_FIRST = [HandedOn, ByAGenerator, OfTwo, Differentiated]


class ReadAtTimes(Layer):
    def forward(self, x):
        self.calls += 1
        was = plain(self.last) if self.calls % 9 == 8 else 0
        self.last = self.linear(x)
        return self.last.sum(1), was


class AskedFor(Layer):
    def forward(self, x):
        was = "last" in vars(self) if len(x) == 20 else None
        self.last = self.linear(x)
        return self.last.sum(1), was


class SetAtTimes(Layer):
    def forward(self, x):
        if len(x) % 2:
            self.last = self.linear(x)
        held = self.last.mean() if isinstance(self.last, whet.Tensor) else 1
        if not len(x) % 2:
            self.last = x, x
        return x.sum(1) * held


class CopiedAtTimes(Layer):
    def forward(self, x):
        self.calls += 1
        other = copy.copy(self) if self.calls % 6 == 5 else self
        self.last = self.linear(x)
        return self.last.sum(1), other.last


class OfItsClass(Layer):
    def forward(self, x):
        was = type(self).last
        self.last = self.linear(x)
        return self.last.sum(1), was


class ABuffer(Layer):
    def __init__(self):
        super().__init__()
        self.register_buffer("held", whet.zeros(2))

    def forward(self, x):
        was = sum(b.sum() for b in self.buffers())
        self.held = self.linear(x).detach()
        return self.held.sum(1) + was


READING_AT_TIMES = [ReadAtTimes, AskedFor, SetAtTimes, CopiedAtTimes, OfItsClass, ABuffer]


def plain(x):
    """A value with lists of numbers in place of tensors."""
    if isinstance(x, whet.Tensor):
        return x.tolist(), x.requires_grad
    if isinstance(x, list | tuple):
        return [type(x), *map(plain, x)]
    return {k: plain(v) for k, v in x.items()} if type(x) is dict else x


def state(module):
    """The attributes of a module and of its layers."""
    return [[(k, plain(v)) for k, v in vars(m).items()
             if not (k.startswith("_") or isinstance(v, nn.Module | nn.Parameter))]
            for m in module.modules()]


def meddle(module, i):
    """What somebody else may do between two calls."""
    if i % 4 == 1:
        vars(module).pop("last", None)
    if i % 4 == 2:
        vars(module)["last"] = whet.ones(2)
    if i % 4 == 3:
        module.train(not module.training)


@pytest.mark.parametrize("meddles", [False, True])
@pytest.mark.parametrize("kind", [*ONLY_SETTING, *READING, *SETTING_FIRST, *READING_AT_TIMES])
def test_attributes_are_set_as_eager_sets_them(kind, meddles):
    eager, traced = kind(), kind()
    traced.load_state_dict(eager.state_dict())
    f = whet.jit.trace(traced)
    for i, n in enumerate(SIZES * 2):
        x = whet.randn(n, 4)
        if meddles:
            meddle(eager, i)
            meddle(traced, i)
        assert plain(f(x)) == plain(eager(x))
        assert state(traced) == state(eager)


@pytest.mark.parametrize("kind", [*ONLY_SETTING, *SETTING_FIRST])
def test_what_lay_there_is_no_reason_to_record(kind):
    f = whet.jit.trace(kind().eval())
    for n in SIZES * 3:
        f(whet.randn(n, 4))
    assert calls_of(f)["replayed"] >= 2 * len(SIZES)


@pytest.mark.parametrize("kind", SETTING_FIRST)
def test_a_class_is_what_it_was(kind):
    before, module = dict(vars(kind)), kind()
    f = whet.jit.trace(module)
    for n in SIZES:
        f(whet.randn(n, 4))
        assert dict(vars(kind)) == before


def test_a_run_that_fails_leaves_the_class_as_it_was():
    before, module = dict(vars(HandedOn)), HandedOn()
    f = whet.jit.trace(module)
    for n in SIZES:
        f(whet.randn(n, 4))
        with pytest.raises(RuntimeError, match="shape"):
            f(whet.randn(n, 5))
        assert dict(vars(HandedOn)) == before


def test_a_variable_of_the_same_name_is_another_thing():
    names = names_in(OfAVariable.forward.__code__)
    assert names.only_set == {"hidden"} and "linear" in names.attributes


def test_what_lay_there_is_let_go():
    module = Tensors()
    f = whet.jit.trace(module)
    f(whet.randn(3, 4))
    gone = weakref.ref(module.last)
    for n in (3, 3, 5, 7):
        f(whet.randn(n, 4))
    gc.collect()
    assert gone() is None


def test_what_an_argument_holds_may_read_it():
    module = Tensors()
    module.last = whet.zeros(1)

    def called(x):
        return module(x) + x.get(module).sum()

    def get(module):
        return module.last
    f = whet.jit.trace(called)
    for n in (3, 4, 3, 4, 3):
        x = whet.randn(n, 4)
        x.get = get
        assert plain(f(x)) == plain(called(x))


class Trainer:
    """It hands on by attributes what it computes, and makes its optimizer's state."""

    def __init__(self):
        self.net, self.losses, self.calls = nn.Linear(4, 6), {}, 0
        self.optimizer = whet.optim.Adam(self.net.parameters(), lr=1e-2)

    def step(self, x):
        self.hidden = self.net(x)
        self.losses = {"norm": self.hidden.norm()}
        self.losses["mean"] = self.hidden.mean()
        self.optimizer.zero_grad()
        sum(self.losses.values()).backward()
        self.optimizer.step()
        self.calls += 1
        return self.losses["norm"].item()


def test_the_run_that_sets_up_shows_what_is_set_first(monkeypatch):
    monkeypatch.setattr(account, "GRACE", float("inf"))
    found = []
    for is_traced in (False, True):
        whet.manual_seed(0)
        trainer = Trainer()
        step = whet.jit.trace(trainer.step) if is_traced else trainer.step
        found.append([step(whet.full((n, 4), float(n))) for n in (5, 9, 9, 9, 9)])
        found.append([trainer.hidden.tolist(), list(trainer.losses), trainer.calls])
    assert found[:2] == found[2:]
    calls = calls_of(step)
    assert (calls["set_up"], calls["recorded"]) == (1, 1) and served(step) == 3
    assert "hidden" not in vars(Trainer) and "losses" not in vars(Trainer)


class Grids(nn.Module):
    """It makes a grid for a size that it has not seen before, and goes on with it."""

    def __init__(self):
        super().__init__()
        self.size = 0

    def forward(self, x):
        if x.shape[-1] != self.size:
            self.size = x.shape[-1]
            self.grid = whet.arange(self.size).float()
        return (x + self.grid).sum()


@pytest.mark.parametrize("is_strict", (False, True))
def test_what_the_first_call_made_for_later_ones_is_found_by_them(is_strict, monkeypatch):
    monkeypatch.setattr(account, "GRACE", float("inf"))
    grids, eager = Grids(), Grids()
    f = whet.jit.trace(grids.forward, strict=is_strict)
    for n in (4, 4, 4, 4, 4, 4, 6, 6, 4):
        x = whet.full((2, n), float(n))
        assert f(x).item() == eager(x).item()
        assert vars(grids)["grid"].tolist() == vars(eager)["grid"].tolist()
    calls = calls_of(f)
    assert not calls["failed"] and served(f) >= 3
