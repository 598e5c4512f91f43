"""Tables for all sizes: one recording serves calls of sizes that nobody has seen, in machine code
alone, with the bits of eager mode."""
import gc
import random

import numpy as np
import pytest
import whet
from whet import jit
from whet.ir.memory_spans import address
from whet.ir.symbolic_size import Facts, SymbolicReal, at_least, at_most, chosen
from whet.jit.machine_code import native_entry
from whet.jit.machine_code.native_entry import L, enter
from whet.jit.tables import native_table
from whet.passes.lower_llvm.calls.size_code import Uncoded, coded
from whet.tensor import Tensor

pytestmark = [
    pytest.mark.skipif(enter is None, reason="there is no machine code for calls"),
    pytest.mark.usefixtures("never_sounded")]


W, B = whet.linspace(-1, 1, 24 * 16).reshape(24, 16), whet.linspace(0, 1, 24)


@whet.no_grad()
def attention(x):
    return (x @ x.t() * 0.25).softmax(-1) @ x


@whet.no_grad()
def perceptron(x):
    return whet.nn.functional.gelu(whet.nn.functional.linear(x, W, B)).log_softmax(-1)


@whet.no_grad()
def ragged(x):
    total = whet.zeros(8, 16).index_add(0, (x[:, 0] * 0).long(), x)
    return total / x.shape[0], x.mean(), {"n": x.amax(0)}


@whet.no_grad()
def by_data(x):
    y = (x * 2 + 1).tanh()
    return y / y.abs().sum(-1, keepdim=True) if y.sum() > -1e9 else y


@whet.no_grad()
def grown(x):
    return whet.cat([x, x[:1] * 2]), x[1:] + 1


K = whet.linspace(-1, 1, 4 * 54).reshape(6, 4, 3, 3)
V = whet.linspace(-1, 1, 30).reshape(5, 6, 1, 1)


@whet.no_grad()
def convolutional(x):
    F = whet.nn.functional
    y = F.max_pool2d(F.conv2d(x.view(1, 4, -1, 4), K, padding=1).relu(), 2, ceil_mode=True)
    y = F.conv2d(y, V, stride=(2, 1))
    return F.adaptive_avg_pool2d(y, 1), F.avg_pool2d(y, (1, 2), 1)


FUNCTIONS = [attention, perceptron, ragged, by_data, grown, convolutional]


def arrays(out):
    """The results of a call."""
    if isinstance(out, dict):
        out = list(out.values())
    return [a for x in out for a in arrays(x)] if type(out) in (tuple, list) else [out.numpy()]


def same(got, want):
    """The same bits, in arrays of the same shape."""
    for a, b in zip(arrays(got), arrays(want), strict=True):
        assert a.shape == b.shape and a.strides == b.strides and a.tobytes() == b.tobytes()


def tables(f):
    """The tables for all sizes of a traced function."""
    return f._calls.policy.sized


@pytest.mark.parametrize("fn", FUNCTIONS)
def test_one_recording_serves_sizes_that_nobody_has_seen(fn):
    f = jit.trace(fn)
    for n in (40, 50, 60):
        f(whet.randn(n, 16))
    rng = random.Random(0)
    for n in [*range(33, 64), *[rng.randrange(33, 64) for _ in range(60)]]:
        x = whet.randn(n, 16)
        same(f(x), fn(x))
    ledger = f._calls.policy.summary()
    assert ledger.sized >= 70 and ledger.recorded + ledger.resized <= 3, ledger
    assert len(f._calls.policy.held) <= 14


@pytest.mark.parametrize("fn", FUNCTIONS)
def test_machine_code_computes_the_words_that_python_does(fn):
    f = jit.trace(fn)
    for n in (40, 50, 60, 61, 300, 301, 2, 3):
        f(whet.randn(n, 16))
    compared = 0
    for n in [*range(34, 70), 299, 310, 4, 5, 17]:
        x, before = whet.randn(n, 16), {id(t): t.calls for t in tables(f)}
        same(f(x), fn(x))
        used = [t for t in tables(f) if t.calls > before.get(id(t), t.calls)]
        if not used:
            continue
        table, = used
        of_sizes = table.table[1][0].program.of_sizes
        given = f._calls.learned.key((x,), {})[1]
        own = table.first.sizes.family.recording(given.leaves, False)
        p = own.program
        words, _ = native_table.resized(of_sizes.table[1], own, given)
        mine = table.table[0].copy()
        at, length = mine[L.H["list"] // 8], mine[L.H["length"] // 8]
        for name in ("list", "count", "until", "code", "away"):
            mine[L.H[name] // 8] = words[L.H[name] // 8] = 0
        assert mine.tolist() == words.tolist()
        made = table.table[1][2]
        first = (at - made.ctypes.data) // 8
        shown, want = made[first:first + length].copy(), p.keep[0][first:first + length].copy()
        inside = (shown >= made.ctypes.data) & (shown < made.ctypes.data + made.nbytes)
        shown[inside] -= made.ctypes.data - p.keep[0].ctypes.data
        for i, which in of_sizes.words.placed:  # constants have memory of their own
            dtype = of_sizes.own.makers[which].outline.dtype
            number = table.table[1][3][which:which + 1].view(dtype)[:1]
            assert number.tobytes() == next(
                k for k in p.keep[1:] if address(k) == want[i - first]).tobytes()
            shown[i - first] = want[i - first] = 0
        assert shown.tolist() == want.tolist()
        compared += 1
    assert compared > 20


def test_calls_are_compared_with_runs_now_and_then():
    f = jit.trace(attention, verify="sample")
    for n in range(40, 64):
        f(whet.randn(n, 16))
    for table in tables(f):
        table.checks.at = 0
        native_entry_limit(table)
    x = whet.randn(63, 16)
    checked = f._calls.policy.summary().checked
    for n in range(33, 40):
        x = whet.randn(n, 16)
        same(f(x), attention(x))
    ledger = f._calls.policy.summary()
    assert ledger.checked == checked + 1 and all(t.checks.at > t.calls for t in tables(f))


def native_entry_limit(table):
    """Python makes the next call."""
    table.table[0][L.H["until"] // 8] = 0


def test_a_call_within_a_call_of_other_sizes():
    """Making the arrays of results may run the collector, and it may call the function."""
    f, calls = jit.trace(grown), []
    for n in (40, 50, 60, 61, 62):
        f(whet.randn(n, 16))
    inner = {n: whet.randn(n, 16) for n in (35, 45, 55)}
    wants = {n: grown(x) for n, x in inner.items()}

    def collected(phase, _):
        if phase == "start" and len(calls) % 2 == 0:
            n = (35, 45, 55)[len(calls) % 3]
            calls.append(n)
            same(f(inner[n]), wants[n])
            calls.append(n)
    gc.callbacks.append(collected)
    before = gc.get_threshold()
    try:
        gc.set_threshold(1)
        for n in [*range(33, 60)] * 3:
            x = whet.randn(n, 16)
            same(f(x), grown(x))
    finally:
        gc.set_threshold(*before)
        gc.callbacks.remove(collected)
    assert len(calls) > 20 and f._calls.policy.summary().sized > 60


def test_what_lies_otherwise_is_not_served():
    f = jit.trace(by_data)
    for n in (40, 50, 60, 61, 62):
        f(whet.randn(n, 16))
    for x in (whet.randn(16, 45).t(), whet.randn(90, 16)[::2], whet.randn(45, 8), whet.randn(1, 16),
              whet.randn(0, 16), whet.randn(45, 16).double(), whet.randn(45, 16, 1)):
        same(f(x), by_data(x))
    for bad in (3, None, [whet.randn(4, 16)]):
        with pytest.raises((TypeError, AttributeError)):
            f(bad)
    same(f(whet.ones(44, 16)), by_data(whet.ones(44, 16)))


def test_where_the_user_says_which_sizes_differ_others_are_not_served():
    f = jit.trace(by_data, dynamic=False)
    for n in (40, 50, 60, 61, 62, 40, 41, 42):
        x = whet.randn(n, 16)
        same(f(x), by_data(x))
    assert not tables(f)


# ---- the machine -------------------------------------------------------------------------------
def run(code, x):
    """Run code on a call with one tensor: a block that no call fits."""
    busy = np.zeros(1, np.int64)
    row = [L.SAME, 0, 4, 0]
    words = np.zeros(L.HEADER + len(row), np.int64)
    words[L.HEADER:] = row
    for name, v in dict(kind=L.LAUNCH, nargs=1, until=1 << 40, rows=1, rows_at=8 * L.HEADER,
                        busy=busy.ctypes.data, code=code.address).items():
        words[L.H[name] // 8] = v
    flags = jit.trace(lambda x: x * 2)
    flags(x)
    held, = flags._calls.policy.held
    words[L.H["flags"] // 8] = held.settings[0]
    assert enter((words, None), (x,), {}) is native_entry.MISSED


def expression(rng, facts, depth):
    """Some expression of symbols."""
    if not depth or rng.random() < 0.15:
        return rng.choice([*facts.symbols, *facts.symbols, rng.randrange(1, 40)])
    a, b = expression(rng, facts, depth - 1), expression(rng, facts, depth - 1)
    some = rng.randrange(1, 33)
    return rng.choice([
        lambda: a + b, lambda: a - b, lambda: a * some, lambda: a // some, lambda: -(-a // some),
        lambda: a % some, lambda: at_least(a, b), lambda: at_most(a, some), lambda: -a,
        lambda: chosen(lambda x, y: x * 3 - y, at_most(a, 3), at_least(b % 3, 1)),
        lambda: a if isinstance(a, SymbolicReal) else a * 1.5, lambda: a if a > b else b,
        lambda: 1 / at_least(a, 1), lambda: a // at_least(b, 1)])()


def test_the_machine_computes_what_python_does():
    rng, checked, refused = random.Random(3), 0, 0
    for _ in range(800):
        facts = Facts([rng.randrange(2, 50), rng.randrange(2, 50)])
        try:
            words = [expression(rng, facts, 3) for _ in range(4)]
        except (TypeError, AttributeError):  # of floats
            continue
        kinds = [np.float64 if type(w) in (SymbolicReal, float) else np.int64 for w in words]
        out = np.zeros(len(words), np.int64)
        try:
            code = coded(facts, [(w, out.ctypes.data + 8 * i, kinds[i])
                                 for i, w in enumerate(words)], [(0, 0), (0, 1)], id(Tensor))
        except Uncoded:
            refused += 1
            continue
        want = facts.function(words)
        for _ in range(6):
            n, m = (v + rng.randrange(3) for v in facts.values)
            try:
                expected = want(n, m)
            except ZeroDivisionError:
                expected = None
            before = out.tolist()
            # Python has just asked its functions, so the machine finds what they gave
            run(code, whet.zeros(n, m))
            got = [out[i:i + 1].view(k)[0].item() for i, k in enumerate(kinds)]
            if expected is None:
                assert out.tolist() == before
            else:
                assert [repr(x) for x in got] == [
                    repr(float(x) if k is np.float64 else x) for x, k in zip(expected, kinds)]
                checked += 1
    assert checked > 400 and refused < 300
