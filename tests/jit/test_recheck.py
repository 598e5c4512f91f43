"""Calls that are recorded again: what no guard sees is found, and nothing else is changed by it;
and rounds in which replays are timed."""
import ctypes
import functools
import operator
import os
import warnings

import numpy as np
import pytest
import whet
from whet import jit, nn, optim
from whet.cpu import native, tiered_compilation
from whet.ir.graph import Guard, OpNode, Ref, Type
from whet.jit.policy import timing
from whet.jit.replay.recording import Recording
from whet.jit.verify import recheck
from whet.nn import functional as F
from whet.ops.python_calls import as_length
from whet.passes.lower_llvm.builder import Module
from whet.passes.lower_llvm.calls.object_access import address_of

pytestmark = pytest.mark.filterwarnings("error::whet.jit.TraceWarning")


@pytest.fixture
def eager_loses(monkeypatch):
    """Replays are faster, and are tried once, at once."""
    monkeypatch.setattr(timing, "EARLY", 0)
    monkeypatch.setattr(tiered_compilation, "among", lambda keys: [])
    monkeypatch.setattr(Recording, "slow", property(lambda r: False, lambda r, v: None),
                        raising=False)
    monkeypatch.setattr(timing, "GROWTH", 10 ** 9)


@pytest.fixture
def often(monkeypatch, eager_loses):
    """Calls 32, 64, ... are recorded again, whatever that costs."""
    monkeypatch.setattr(recheck, "BUDGET", 1e9)


def behind_an_address():
    """A number that nobody can walk to: an object names the address where NumPy finds it."""
    memory = (ctypes.c_double * 1)(1.0)
    KEPT.append(memory)

    class There:
        __array_interface__ = {"shape": (1,), "typestr": "<f8", "version": 3,
                               "data": (ctypes.addressof(memory), False)}
    there = There()
    return lambda: float(np.asarray(there)[0]), functools.partial(operator.setitem, memory, 0)


KEPT = []                        # memory that objects name by its address


# ---- what no guard sees --------------------------------------------------------------------------
def test_a_hidden_number_that_changed_is_found_at_the_next_power_of_two(often):
    look, put = behind_an_address()
    f = jit.trace(lambda x: x * look())
    x = whet.ones(2)
    for _ in range(40):
        assert f(x).tolist() == [1.0, 1.0]
    put(3.0)
    wrong = []
    with pytest.warns(jit.TraceWarning, match=r"test_recheck.py.*call 64 .* did `%1 = mul\(%0, "
                                              r"3.0\).*test_recheck.py.*not `%1 = mul\(%0, 1.0\)"):
        for k in range(41, 70):
            wrong += [k] * (f(x).tolist() != [3.0, 3.0])
    assert max(wrong) < 65, "the call that is recorded again is eager's already"
    put(5.0)
    assert (f(x).tolist() == [5.0, 5.0] and f(whet.ones(3)).tolist()
            == [5.0] * 3), "other kinds of arguments are not trusted either"
    assert "call 64" in f.explain() and not f.explain(data=True)["paths"]


def test_a_hidden_number_is_not_looked_for_where_only_first_calls_are(often):
    for verify in ("first", "off"):
        look, put = behind_an_address()
        f = jit.trace(lambda x, look=look: x * look(), verify=verify)
        for _ in range(40):
            f(whet.ones(2))
        put(3.0)
        assert [f(whet.ones(2)).tolist() for _ in range(100)] == [[1.0, 1.0]] * 100


@pytest.mark.parametrize("part", [slice(None), slice(1, None)])
def test_tensors_made_around_a_numpy_array_are_new_each_time(part):
    array = np.array([1.0, 2.0], np.float32)
    f = jit.trace(lambda x: x + whet.as_tensor(array[part]).sum(), verify="always")
    for _ in range(4):
        assert f(whet.ones(2)).tolist() == [1.0 + array[part].sum()] * 2
    assert f._drift is None and f.explain(data=True)["paths"][0]["checked"] == 3
    array[1] = 5.0
    assert f(whet.ones(2)).tolist() == [1.0 + array[part].sum()] * 2 and f._drift is None


def test_strict_raises_now_and_later(often):
    look, put = behind_an_address()
    f = jit.trace(lambda x: x * look(), strict=True, verify="always")
    assert f(whet.ones(2)).tolist() == f(whet.ones(2)).tolist() == [1.0, 1.0]
    put(2.0)
    for _ in range(2):
        with pytest.raises(jit.TraceError, match="cannot see"):
            f(whet.ones(2))


HIDDEN = {
    "an operand": (lambda x, v: x * v, r"mul\(%0, 2.0\)"),
    "a result": (lambda x, v: (x + 1, v), "gave a result"),
    "a way": (lambda x, v: x + 1 if v == 1 else x - 1, r"did `%1 = sub"),
    "more": (lambda x, v: x.exp() if v == 1 else x.exp().log(), "also did `%2 = log"),
    "less": (lambda x, v: x.exp().log() if v == 1 else x.exp(), "no longer did `%2 = log"),
    "a table of numbers": (lambda x, v: x + whet.tensor([v] * 100).sum(),
                           "another constant|another result|did"),
    "a write": (lambda x, v: (x if v == 1 else x.data).add_(1).sum(), "wrote to other tensors|did"),
    "a flag": (lambda x, v: x.requires_grad_(v == 1).detach() + 1,
               "changed whether other tensors require gradients"),
    "what is not recorded": (lambda x, v: x + (1 if v == 1 else os.getpid() * 0 + 1),
                             "it calls posix.getpid"), }


@pytest.mark.parametrize("what", HIDDEN)
def test_every_difference_is_one(what):
    use, said = HIDDEN[what]
    look, put = behind_an_address()
    f = jit.trace(lambda x: use(x, look()), verify="always")
    for _ in range(4):
        f(whet.ones(3))
    put(2.0)
    with pytest.warns(jit.TraceWarning, match=said):
        f(whet.ones(3))


def test_what_is_left_in_state_is_compared():
    look, put = behind_an_address()

    class Holder:
        last = first = None

    h = Holder()
    h.last, h.first = 0, 0

    def f(x):
        setattr(h, "last" if look() == 1 else "first", 5)
        return x + 1
    t = jit.trace(f, verify="always")
    for _ in range(4):
        t(whet.ones(3))
        h.last = h.first = 0
    put(2.0)
    with pytest.warns(jit.TraceWarning, match="left something else in Python's state"):
        t(whet.ones(3))


@pytest.mark.skipif(not native.enabled(), reason="needs machine code")
def test_a_counter_in_an_extension(often):
    word = (ctypes.c_int64 * 1)()
    native.export("hidden_counter", ctypes.addressof(word))
    m = Module()
    m.decls["hidden_counter"] = "@hidden_counter = external global i8"
    f = m.fn("hidden_next", [("ptr", "self"), ("ptr", "o")], "ptr")
    f.store(f.load("i64", address_of(f, "hidden_counter")) + 1, address_of(f, "hidden_counter"))
    f.ret(f.call("PyLong_FromLongLong", "ptr", f.load("i64", address_of(f, "hidden_counter"))))
    native._forever(word)
    count = native.function(
        native.image("test/hidden_counter", m.text, ["hidden_next"])["hidden_next"],
        "count",
        flags=native.METH_O)
    t = jit.trace(lambda x: x * count(None))
    said = []
    for _ in range(100):
        with warnings.catch_warnings(record=True) as w:
            warnings.simplefilter("always")
            t(whet.ones(2))
        said += w
    assert (len(said) == 1 and issubclass(said[0].category, jit.TraceWarning)
            and said[0].filename == __file__)
    n = word[0]
    assert t(whet.ones(2)).tolist() == [n + 1.0] * 2


# ---- what is no difference -----------------------------------------------------------------------
def test_values_of_other_numbers_whose_sizes_python_is_told():
    """A loop that takes other steps numbers the values behind it otherwise."""
    def goes_on(i, a):
        return (i < 5) & (a.sum() < 50)

    def f(x):
        y = whet.while_loop(goes_on, lambda i, a: (i + 1, a * 2), (whet.tensor(0), x))[1]
        return y * y.shape[0]
    t = jit.trace(f, verify="always")
    for n, total in (0, 0), (1, 64), (2, 64), (3, 96):
        assert t(whet.ones(2) * n).tolist() == [total] * 2


def training():
    model = nn.Sequential(nn.Linear(5, 8), nn.GELU(), nn.Dropout(0.2), nn.LayerNorm(8),
                          nn.Linear(8, 3))
    opt = optim.Adam(model.parameters(), lr=0.01)
    schedule = optim.lr_scheduler.StepLR(opt, 7, 0.5)
    losses = []

    def step(x, y):
        loss = F.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
        return loss

    return (step, lambda k: (whet.randn(4, 5), whet.arange(4) % 3),
            lambda: [losses, [p.tolist() for p in model.parameters()],
                     schedule.step()])


def ways():
    def f(x, n):
        if x.sum() > 0:
            return x * n
        y = whet.cond(x.max() > 1, lambda x: x - 1, lambda x: x.exp(), (x,))
        return whet.while_loop(lambda a: a.sum() < 50, lambda a: (a * a + 1,), (y,))
    return f, lambda k: (whet.randn(3), float(k % 5)), list


def outside():
    state = {"n": 0, "w": whet.randn(3)}

    def f(x):
        state["n"] += 1
        state["w"] = state["w"] * 0.5 + x
        x.mul_(2)
        return state["w"][1:], x.T, (1, slice(None), x.shape, x.dtype, {"a": x}), whet.rand(2)
    return f, lambda k: (whet.randn(3),), lambda: [state["n"], state["w"].tolist()]


def memory():
    return (lambda x: (whet.empty_like(x.T).uniform_(), whet.empty(3).fill_(1)), lambda k:
            (whet.randn(3, 4),), list)


def gradients():
    w = whet.randn(4, requires_grad=True)
    return lambda x: (x * w).tanh().sum(), lambda k: (whet.randn(3, 4),), lambda: w.grad


@pytest.mark.parametrize("make", [training, ways, outside, memory, gradients])
@pytest.mark.parametrize("verify", ["always", "sample"])
def test_what_is_recorded_again_is_as_it_was(make, verify, often):
    runs = []
    for wrap in (lambda f: f, lambda f: jit.trace(f, verify=verify)):
        whet.manual_seed(0)
        f, args, after = make()
        f = wrap(f)
        out = []
        for k in range(70):
            r = f(*args(k))
            if (isinstance(r, whet.Tensor) and r.requires_grad and r.grad_fn is not None
                    and make is gradients):
                r.backward()
            out.append(str(r))
        runs.append((out, str(after()), whet.rand(3).tolist()))
    assert runs[0] == runs[1]
    checked = [p["checked"] for p in f.explain(data=True)["paths"]]
    assert max(checked) > (30 if verify == "always" else 0), f.explain()


def test_an_error_in_a_call_that_is_recorded_again_is_the_caller_s():
    look, put = behind_an_address()

    def f(x):
        if look() == 2:
            raise KeyError("later")
        return x * look()
    f = jit.trace(f, verify="always")
    f(whet.ones(2)), f(whet.ones(2))
    put(2)
    with pytest.raises(KeyError, match="later"):
        f(whet.ones(2))
    put(1.0)
    assert f(whet.ones(2)).tolist() == [1.0, 1.0]


def test_all_that_is_recorded_again_takes_less_than_a_hundredth(monkeypatch, eager_loses):
    for cost, call in ((3e-3, 2e-5), (0.2, 4e-3), (1e-3, 1e-6), (2e-3, 1e-3)):
        checks, calls, spent = recheck.Checks("sample", cost), 20, 0.0
        checks.plan(calls, call)
        while calls < 1 << 24:
            calls, spent = checks.at, spent + cost
            checks.made += 1                 # of call 2^k
            checks.plan(calls, call)
            assert calls & calls + 1 == 0 and spent <= 0.0101 * calls * call
        assert checks.made > 5


def test_tensors_that_come_to_be_around_one_array_are_no_other_way():
    """What is kept of one call may be the next one's argument, detached."""
    class Box:
        last = None

    def make():
        box = Box()

        def f(x):
            out = x if box.last is None else x + box.last
            box.last = x.detach()
            return out * 2
        return f
    f, want = jit.trace(make(), verify="always"), make()
    x, y = whet.randn(3), whet.randn(3)
    for a in (x, y, x, y, y, x, x, y, x, y, y):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert f(a).tolist() == want(a).tolist()
    assert f._drift is None and any(r.calls for paths in f._table.values() for r in paths)


def test_what_lies_in_a_place_that_is_only_overwritten_may_be_of_another_kind():
    """Its graph may be used up or not; what comes after it among the places is where it was."""
    class Held:
        sums, last = whet.zeros(2, 2), whet.tensor(1.0)
    first, last = Held(), Held()

    def f(x):
        first.sums = first.sums * 0.5 + x.detach()
        last.last = x * x
        return last.last
    t = jit.trace(f, verify="always")
    for used_up in (True, True, True, True, False, True, True):
        y = t(whet.ones(2, 2, requires_grad=True))
        if used_up:
            y.sum().backward()
    assert t._why is None and max(p["calls"] for p in t.explain(data=True)["paths"]) >= 3


def test_a_number_that_is_read_as_one_that_varies_is_another_way():
    """Meanwhile it was seen to vary: nothing that a trace cannot see has changed."""
    number, length = Type(np.dtype("i8"), ()), Type(np.dtype("u1"), (3,))
    types = {0: number, 1: number, 2: length}

    def reads(*nodes):
        return recheck.Steps(nodes, types)
    before = reads(Guard(Ref(0), np.array(3), ""))
    assert recheck.parting(before, reads(OpNode(as_length, (Ref(0),), {}, [2], ""))) \
        is recheck.OTHER_WAY
    both = [Guard(Ref(0), np.array(3), ""), Guard(Ref(1), np.array(3), "")]
    other = [both[0], OpNode(as_length, (Ref(0),), {}, [2], "")]
    assert "as_length" in recheck.parting(reads(*both), reads(*other))
