"""The short way into a replay: each thing that it compares is changed once, and the result must be
eager's."""
import collections
import enum
import gc
import sys

import numpy as np
import pytest
import whet
from whet import jit, nn, optim
from whet.cpu import memory, native
from whet.jit.machine_code import native_entry
from whet.jit.tables import outside_rows

from tests.jit.table_calls import (
    TRIED,
    armed,
    compiled,
    equal,
    hits,
    never_slow,
)


@pytest.fixture(autouse=True)
def untimed(monkeypatch):
    never_slow(monkeypatch)


def test_arguments_around_one_array_are_not_one_later():
    f = jit.trace(lambda x, y: x * 2 + y)
    for k in range(4):
        x = whet.ones(3)
        assert f(x, x.detach()).tolist() == [3.0] * 3
        assert f(whet.full((3,), 2.0), whet.full((3,), k + 5.0)).tolist() == [k + 9.0] * 3


def test_an_argument_around_the_array_of_a_captured_tensor():
    w = whet.ones(3)
    f = jit.trace(lambda x: x * 2 + w)
    for k in range(4):
        assert f(w.detach()).tolist() == [3.0] * 3
        assert f(whet.full((3,), k + 5.0)).tolist() == [2 * k + 11.0] * 3


def test_captured_tensors_around_one_array_part():
    a = whet.ones(3)
    b = a.detach()
    f = jit.trace(lambda x: x * (a + 2 * b))
    for _ in range(3):
        assert f(whet.ones(3)).tolist() == [3.0] * 3
    a.data = whet.full((3,), 10.0)
    for _ in range(3):
        assert f(whet.ones(3)).tolist() == [12.0] * 3


class Mine(whet.Tensor):
    pass


def with_gradient():
    x = whet.ones(2, 3, requires_grad=True)
    x.sum().backward()
    return x.requires_grad_(False)


def hooked():
    x = whet.ones(2, 3, requires_grad=True)
    x.register_hook(lambda g: g * 2)
    return x


OTHERS = {
    "dtype": lambda: (whet.ones(2, 3, dtype=whet.float64),), "shape": lambda: (whet.ones(3, 2),),
    "rank": lambda: (whet.ones(6),), "strides": lambda: (whet.arange(6.0).reshape(3, 2).t(),),
    "a view": lambda: (whet.arange(12.0).reshape(4, 3)[1:3],),
    "requires_grad": lambda: (whet.ones(2, 3, requires_grad=True),),
    "a history": lambda: (whet.ones(2, 3, requires_grad=True) * 2,),
    "a gradient": lambda: (with_gradient(),), "a hook": lambda: (hooked(),),
    "a subclass": lambda: (whet.ones(2, 3).as_subclass(Mine),),
    "a parameter": lambda: (nn.Parameter(whet.ones(2, 3)),), "a number": lambda: (2.0,),
    "one more": lambda: (whet.ones(2, 3), whet.ones(2, 3)),
    "an array": lambda: (whet.ones(2, 3), np.float32(3)),
}


@compiled
@pytest.mark.parametrize("change", OTHERS)
@pytest.mark.filterwarnings("ignore::whet.jit.TraceWarning")
def test_another_argument(change):
    def fn(x, y=None):
        return x * 2 + 1 if y is None else x * y
    f = armed(fn, whet.ones(2, 3))
    for _ in range(3):
        args = OTHERS[change]()
        assert equal(f(*args), f.fn(*args))
        assert equal(f(whet.ones(2, 3)), whet.full((2, 3), 3.0))


@compiled
def test_the_same_tensor_twice_and_parts_of_arguments():
    def fn(xs, d, k=1.5, *, mode="a", flag=True):
        x, y = xs
        z = x * k + y if mode == "a" else x - y
        return {"sum": z, "both": (z, x), "list": [z * d["w"], flag, None, d["n"]]}
    x, y, w = whet.randn(3), whet.randn(3), whet.randn(3)
    f = armed(fn, (x, y), {"w": w, "n": 3}, 0.5, mode="a")
    for xs in ((x, y), (x, x), [x, y], (x, y), (w, w), (x, w)):
        for d in ({"w": w, "n": 3}, {"w": w, "n": 3.0}, {"n": 3, "w": w}, {"w": w, "n": True},
                  {"w": w, "n": 1 << 70}, {"w": x, "n": 3}):
            for k in (0.5, 0.0, -0.0, 1, float("nan")):
                for kw in ({}, {"mode": "a"}, {"mode": "b"}, {"flag": False},
                           {"mode": "a", "flag": 1}, {"flag": 1, "mode": "a"}):
                    # of all calls some: each may be recorded
                    as_recorded = repr(k) == "0.5" and xs[0] is not w
                    if as_recorded or not kw and d.get("w") is w and len(f._table) < 30:
                        got, want = f(xs, d, k, **kw), fn(xs, d, k, **kw)
                        assert (equal(got, want) and got["both"][1] is xs[0]
                                and got["both"][0] is got["sum"])


def change(owner, name, value):
    return lambda: setattr(owner, name, value)


def changed_objects():
    """name -> (function of a tensor, what is changed of an object that it reads)"""
    class Box:
        scale = 2.0

        def __init__(self):
            self.items, self.table, self.kinds, self.w = [1.0, 2.0], {"k": 3.0}, set(), whet.ones(3)
            self.word = "a"

    class Slotted:
        __slots__ = ("value", "absent")
    box, slotted = Box(), Slotted()
    slotted.value = 5.0
    empty, ordered = collections.OrderedDict(), collections.OrderedDict(a=2.0)
    made = collections.defaultdict(lambda: 2.0)
    return dict(
        attribute=(lambda x: x * (2 if box.word == "a" else 3), change(box, "word", "b")),
        new_attribute=(lambda x: x * getattr(box, "new", 1.0), change(box, "new", 4.0)),
        klass=(lambda x: x * box.scale, change(Box, "scale", 3.0)),
        its_class=(lambda x: x * (2 if type(box) is Box else 3),
                   change(box, "__class__", type("Other", (Box,), {}))),
        item=(lambda x: x * box.items[1], lambda: box.items.__setitem__(1, 9.0)),
        length=(lambda x: x * len(box.items), lambda: box.items.append(3.0)),
        key=(lambda x: x * box.table["k"], lambda: box.table.update(k=8.0)),
        keys=(lambda x: x * len(box.table), lambda: box.table.update(j=8.0)),
        members=(lambda x: x * (1 + len(box.kinds)), lambda: box.kinds.add(3)),
        slot=(lambda x: x * slotted.value, change(slotted, "value", 6.0)),
        empty_slot=(lambda x: x * getattr(slotted, "absent", 1.0), change(slotted, "absent", 6.0)),
        empty_ordered_dict=(lambda x: x * (1 + len(empty)), lambda: empty.update(a=1.0)),
        ordered_dict=(lambda x: x * sum(ordered.values()), lambda: ordered.update(a=1.0)),
        key_of_ordered_dict=(lambda x: x * sum(ordered.values()),
                             lambda: (ordered.clear(), ordered.update(b=1.0))),
        default_factory=(lambda x: x * made.default_factory(),
                         change(made, "default_factory", lambda: 3.0)),
    )


def changed_names():
    """name -> (function of a tensor, what is changed of a name or a function that it reaches)"""
    cell = 4.0

    def change_cell():
        nonlocal cell
        cell = 7.0

    def default(x, by=2.0):
        return x * by
    return dict(
        cell=(lambda x: x * cell, change_cell),
        defaults=(lambda x: default(x), lambda: setattr(default, "__defaults__", (3.0,))),
        code=(lambda x: default(x),
              lambda: setattr(default, "__code__", (lambda x, by=2.0: x - by).__code__)),
        a_global=(lambda x: x * GLOBAL, lambda: globals().update(GLOBAL=11.0)),
        a_new_global=(lambda x: x * len("ab"), lambda: globals().update(len=lambda s: 5.0)),
    )


def changed_tensors():
    """name -> (function of a tensor, what is changed of a captured tensor, or for all tensors)"""
    w, grad, frozen = whet.ones(3), whet.ones(3), whet.ones(3)
    grad.grad = whet.ones(3)
    return dict(
        values=(lambda x: x * w, lambda: w.fill_(5.0)),
        memory=(lambda x: x * w, change(w, "data", whet.full((3,), 6.0))),
        memory_of_another_type=(lambda x: x * w,
                                change(w, "data", whet.full((3,), 6.0, dtype=whet.float64))),
        memory_of_another_shape=(lambda x: x * w, change(w, "data", whet.full((1,), 6.0))),
        captured_requires_grad=(lambda x: x * w, lambda: w.requires_grad_()),
        captured_gradient=(lambda x: x * (1 if w.grad is None else 2),
                           change(w, "grad", whet.ones(3))),
        captured_gradient_goes=(lambda x: x * (1 if grad.grad is None else 2),
                                change(grad, "grad", None)),
        frozen=(lambda x: x * frozen, lambda: None),
        default_dtype=(lambda x: x * whet.ones(3), lambda: whet.set_default_dtype(whet.float64)),
        threads=(lambda x: x * whet.get_num_threads(),
                 lambda: whet.set_num_threads(whet.get_num_threads() + 1)),
    )


def outsides():
    """name -> (function of a tensor, what is changed outside of it)"""
    return changed_objects() | changed_names() | changed_tensors()


CAPTURED = whet.arange(6.0)
SHOWING = {
    "another shape": lambda x: (x + 1).reshape(-1), "of a product": lambda x: x @ x[0],
    "two bases": lambda x: ((x * 2)[0], (x * 3).T),
    "and its base": lambda x: (lambda y: (y, y[1:], y[2], y.T[1:]))(x * 2),
    "its base after it": lambda x: (lambda y: (y[1:], y))(x * 2), "of an argument": lambda x: x.T,
    "of one and more": lambda x: (x[1], x.exp(), x),
    "of a captured tensor": lambda x: (CAPTURED[1:3], x + 1),
    "detached": lambda x: (x * 2).detach(),
    "nested": lambda x: {"a": (x + 1)[None], "b": [x.view(-1), x - 1, 3]},
    "several": lambda x: (x * 5).unbind(0), "pieces": lambda x: (x @ x.T).chunk(2, 1),
    "of a view": lambda x: (x * 2)[1:].T[None].squeeze(0)[::2],
    "twice": lambda x: (lambda y: (y, y))((x * 2).T), "expanded": lambda x: x.sum(0).expand(5, 3),
    "none left": lambda x: (x * 2)[3:], "one element": lambda x: (x * 2)[2, 1],
    "nothing but arguments": lambda x: (x, [x]),
    "laid into a list": lambda x: (LAID.append((x * 2)[0]), x.T)[1],
}
LAID: list = []


def tensors(x):
    if isinstance(x, whet.Tensor):
        return [x]
    return ([t for y in (x.values() if type(x) is dict else x) for t in tensors(y)]
            if type(x) in (tuple, list, dict) else [])


def ties(ts):
    """Who shares memory, versions and a base with whom."""
    return [[t._version,
             *(v for s in ts
               for v in (t is s, t._array is s._array, t._base is s,
                         t._base is not None and t._base is s._base,
                         np.may_share_memory(t._array, s._array)))]
            for t in ts]


@compiled
@pytest.mark.parametrize("name", SHOWING)
def test_results_that_are_views(name):
    fn, seen = SHOWING[name], []
    f = armed(fn, whet.ones(3, 3))
    assert not f.explain(data=True)["paths"][0]["python"]
    for call in fn, f:
        x = whet.arange(9.0).reshape(3, 3).clone()
        LAID.clear()
        before = hits(f)
        ts = [*tensors(call(x)), *LAID, x]
        assert hits(f) == before + (call is f)
        seen.append((ts, ties(ts)))
    (a, tied), (b, now) = seen
    assert tied == now
    for p, q in zip(a, b, strict=True):
        assert (equal(p, q) and (p._base is None) == (q._base is None) and p._rg == q._rg
                and p.is_contiguous() == q.is_contiguous())
        assert q._base is None or equal(p._base, q._base) and q._cell is q._base._cell
    if name in ("of a captured tensor", "expanded"):         # one for both; one element for many
        return
    # a view shows what is written to its base, and has its history
    for ts in a, b:
        ts[0].mul_(3)
        w = whet.full((), 2.0, requires_grad=True)
        (ts[0] if ts[0]._base is None else ts[0]._base).mul_(w)
        sum(t.sum() for t in ts).backward()
        ts.append(w.grad)
    assert ties(a) == ties(b) and all(map(equal, a, b))


@compiled
@pytest.mark.filterwarnings("ignore::whet.jit.TraceWarning")
@compiled
def test_results_that_are_views_leave_nothing_behind():
    x = whet.ones(256, 256)
    f = armed(lambda x: ((x + 1)[1:], (x * 2).detach().T, x[0], (x @ x).unbind()), x)

    def left():
        gc.collect()
        return sys.getrefcount(x), sys.getrefcount(x._array), memory.stats()["live"]
    before = left()
    for _ in range(200):
        f(x)
    assert left() == before


@pytest.mark.parametrize("calls", [1, 4, 30])
def test_a_view_whose_base_is_given_a_history(calls):
    p = whet.ones(3, requires_grad=True)
    base = whet.zeros(3)
    view, copy = base[:2], whet.zeros(2)
    f, g = jit.trace(lambda x: x * view), jit.trace(lambda x: x * 2)
    for _ in range(calls):
        f(whet.ones(2)), g(view)
    base.add_(p)
    for _ in range(3):
        assert (equal(f(whet.ones(2)), f.fn(whet.ones(2))) and equal(g(view), g.fn(view))
                and f(whet.ones(2)).requires_grad)
        assert equal(g(copy), whet.zeros(2))


@compiled
@pytest.mark.parametrize("kind",
                         [lambda x: {1: x}, lambda x: collections.OrderedDict(a=x),
                          collections.namedtuple("One", "x"), lambda x: [x]])
def test_containers_that_are_captured_too(kind):
    box = kind(whet.ones(3))
    f = jit.trace(lambda c: sum(c.values() if hasattr(c, "values") else c) * len(box))
    for k in range(30):
        assert equal(f(box), f.fn(box))
        other = kind(whet.full((3,), float(k)))
        assert equal(f(other), f.fn(other))


GLOBAL = 10.0


@pytest.fixture
def settings():
    before = whet.get_default_dtype(), whet.get_num_threads()
    yield
    whet.set_default_dtype(before[0])
    whet.set_num_threads(before[1])
    globals().update(GLOBAL=10.0)
    globals().pop("len", None)


@compiled
@pytest.mark.parametrize("versions", [True, False])
@pytest.mark.parametrize("name", outsides())
@pytest.mark.filterwarnings("ignore::whet.jit.TraceWarning")
def test_something_else_outside(name, versions, settings, monkeypatch):
    if not versions:                         # an interpreter whose dicts have no versions
        code = native.build(native_entry._source(False), native_entry.L.NAMES)
        monkeypatch.setattr(native_entry, "enter", native.function(code["traced_enter"], "enter"))
    fn, change = outsides()[name]
    f, x = armed(fn, whet.full((3,), 2.0)), whet.full((3,), 2.0)
    r = next(iter(f._table.values()))[0]
    assert equal(native_entry.enter(r.tables.ready, (x,), {}), fn(x))
    change()
    if name in ("values", "frozen"):
        assert equal(native_entry.enter(r.tables.ready, (x,), {}), fn(x))
    else:
        assert native_entry.enter(r.tables.ready, (x,), {}) is native_entry.MISSED
    for _ in range(4):
        assert equal(f(x), fn(x))


@compiled
def test_writes_that_bump_no_version_are_writes():
    def fn(x, y):
        y.data.mul_(2)
        z = x + y
        y.data.add_(x)
        return z
    f = jit.trace(fn)
    for _ in range(30):
        f(whet.zeros(3), whet.zeros(3))
    r = next(iter(f._table.values()))[0]
    assert r.replay.overlaps and r.tables.ready[0][0] == native_entry.L.PYTHON
    for _ in range(3):
        both = []
        for call in (f, fn):
            m = whet.arange(6.0)
            both.append((call(m[:3], m[1:4]).tolist(), m.tolist()))
        assert both[0] == both[1]


class Net(nn.Module):
    """A model whose parts lie in every kind of container."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(2))
        self.named = nn.ModuleDict({"norm": nn.LayerNorm(8)})
        self.weights = nn.ParameterList([nn.Parameter(whet.ones(8))])
        self.register_buffer("shift", whet.ones(8))
        self.last = nn.Sequential(collections.OrderedDict(drop=nn.Dropout(0.0), act=nn.Tanh()))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x).relu()
        return self.last(self.named["norm"](x) * self.weights[0] + self.shift)


def hooked_net():
    net = Net()
    net.register_forward_hook(lambda module, args, output: output * 2)
    return net


def training(optimizer, **options):
    """A step of training, with the rate of a schedule."""
    net = Net()
    opt = optimizer(net.parameters(), lr=0.01, **options)
    schedule = optim.lr_scheduler.CosineAnnealingLR(opt, 100)

    def step(x):
        opt.zero_grad()
        loss = net(x).square().mean()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        schedule.step()
        return loss.item()
    return step


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


Level.HIGH.extra = 0


@compiled
def test_members_of_enums_that_are_numbers():
    """Where these hold their attributes no offset tells: Python compares that alone."""
    level = [Level.LOW]
    f = armed(lambda x: x * (2 if level[0] is Level.HIGH else 3) + Level.HIGH.extra, whet.ones(2))
    for n, now in ((2, Level.HIGH), (2, Level.LOW), (5, Level.LOW), (5, Level.HIGH)):
        Level.HIGH.extra, level[0] = n, now
        assert f(whet.ones(2)).tolist() == f.fn(whet.ones(2)).tolist()


@compiled
@pytest.mark.parametrize("made", [
    lambda: nn.Linear(8, 8), Net, hooked_net, lambda: nn.BatchNorm1d(8), lambda: nn.GRU(8, 8),
    lambda: nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0),
    lambda: training(optim.SGD, momentum=0.9), lambda: training(optim.AdamW)])
def test_models_and_optimizers_are_compared_by_machine_code(made, monkeypatch):
    """A table that asks Python takes longer than a small model does."""
    asked = []
    checker = outside_rows._checker
    monkeypatch.setattr(outside_rows, "_checker", lambda rest: asked.extend(rest) or checker(rest))
    f, x = jit.trace(made()), whet.randn(2, 8)
    for _ in range(TRIED + 2):
        f(x)
    assert hits(f) and not asked
