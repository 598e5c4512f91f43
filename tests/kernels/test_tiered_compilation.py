"""Kernels that recorded runs ask for: compiled in haste, then well."""
import os
import subprocess
import sys
import threading
import time

import pytest
import whet
from whet import jit
from whet.cpu import mapped_code, native, tiered_compilation

pytestmark = pytest.mark.skipif(not mapped_code.SUPPORTED or os.environ.get("WHET_CPU") == "numpy",
                                reason="nothing is compiled in haste here")


@pytest.fixture(autouse=True)
def nothing_in_the_background(monkeypatch):
    """Kernels are compiled well when a test says so; what they do is part of no other test."""
    tiered_compilation.compile_well()
    monkeypatch.setattr(tiered_compilation, "QUIET", 1e9)
    yield
    tiered_compilation.compile_well()


def fresh(salt):
    """A function whose kernels no other test has asked for."""
    def f(x):
        y = whet.exp(x * salt) - x
        return (y / (1 + y.abs())).sum(1), y.softmax(1)
    return f


def test_work_that_was_interrupted_is_over_where_a_recording_begins():
    tiered_compilation.work(tiered_compilation.LIGHT).__enter__()      # its end never comes
    with tiered_compilation.recording():
        assert not tiered_compilation.wanted()


def test_only_light_work_is_done_in_haste():
    with tiered_compilation.recording():
        assert not tiered_compilation.wanted()
        with tiered_compilation.work(tiered_compilation.LIGHT):
            assert tiered_compilation.wanted()
            with tiered_compilation.work(tiered_compilation.LIGHT + 1):
                assert not tiered_compilation.wanted()
            assert tiered_compilation.wanted()
        there = []
        with tiered_compilation.work(1):
            t = threading.Thread(target=lambda: there.append(tiered_compilation.wanted()))
            t.start()
            t.join()
        assert there == [False]
    with tiered_compilation.work(1):
        assert not tiered_compilation.wanted()


def test_a_form_may_be_asked_for():
    with tiered_compilation.form("brief"):
        assert tiered_compilation.wanted()
        with (tiered_compilation.form("full"), tiered_compilation.recording(),
              tiered_compilation.work(1)):
            assert not tiered_compilation.wanted()
        assert tiered_compilation.wanted()
    with tiered_compilation.recording(), tiered_compilation.work(1):
        assert tiered_compilation.wanted()


def test_a_door_leads_where_it_is_told():
    import ctypes
    inc = native.build("define i64 @inc(i64 %x) {\n %y = add i64 %x, 1\n ret i64 %y\n}\n",
                       ["inc"])["inc"]
    dec = native.build("define i64 @dec(i64 %x) {\n %y = sub i64 %x, 1\n ret i64 %y\n}\n",
                       ["dec"])["dec"]
    # more than one page of them
    trampolines = [tiered_compilation.trampoline(inc) for _ in range(600)]
    calls = [ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(at) for at, _ in trampolines]
    assert [f(5) for f in calls] == [6] * 600
    for _, place in trampolines[::2]:
        place.value = dec
    assert [f(5) for f in calls] == [4, 6] * 300


SCRIPT = """
import os, sys, time, threading
import whet
from whet import jit
from whet.cpu import tiered_compilation, native
f = jit.trace(lambda x: (whet.cos(x * 3) + x).sum())
f(whet.ones(3))
n = len(tiered_compilation._pending)
if sys.argv[1] == "bits":
    g, h = jit.trace(lambda x: (x.exp() - x).softmax(1)), lambda x: (x.exp() - x).softmax(1)
    tiered_compilation.QUIET = 1e9
    x, y = whet.randn(5, 7), whet.randn(900, 70)
    def many():
        yield from (g(x), h(x), h(y))
        for n, m in (1, 1), (1, 3), (3, 5), (4, 16), (5, 33), (9, 100), (131, 130), (2, 1000), (3, 5000), (1, 5000):
            a, b = ((whet.arange(n * m).reshape(n, m) * k % 53 - 20) / 7 for k in (17, 31))
            i, j, t = (a * 100).to(whet.int32), a > 0, (b * 30).to(whet.int8)
            yield from (a.tanh() + b, a * b.t().contiguous().t(), a[:, ::2] - b[:, 1::2][:, :1], i // 7 + t, j & (b > 1), t.to(whet.float64) / 3)
            yield from (a.double().exp(), (a + 1j * b).cos(), a.half() * b.half(), whet.where(j, a, b), a.index_select(1, (i[0] % m).long()))
            yield from (a.sum(), a.sum(0), a.sum(1), a.amax(1), a.argmin(1), a.argmax(0), i.sum(1), j.all(1), a.half().sum(1), a.double().mean(0))
            yield from (a.softmax(1), a.softmax(0), whet.nn.functional.layer_norm(a, (m,)))
            yield from ((a - b).norm(dim=1), a.var(1) if m > 1 else a, a.cumsum(1))
            yield a[:1].half() @ b[:3].half().t()
            for w in (b.t(), b.t().contiguous()):
                for rows in 1, 2, n:
                    yield from (a[:rows] @ w, a[:rows] @ w[:, :1], (a[:rows] @ w).tanh(), a[:rows].double() @ w.double(), i[:rows] @ i.t())
    with tiered_compilation.recording():
        quick = list(many())
    targets = {k: place.value for k, (*_, place) in tiered_compilation._pending.items()}
    tiered_compilation.compile_well()
    well = list(many())
    def same(a, b):
        return a.shape == b.shape and a.dtype == b.dtype and a.numpy().tobytes() == b.numpy().tobytes()
    assert len(targets) > 100, len(targets)
    print(n, len(tiered_compilation._pending), sum(native._found[k] == at for k, at in targets.items()), sum(not same(a, b) for a, b in zip(quick, well)))
    sys.exit()
if sys.argv[1] == "keep":                    # a program's kernels: how many are in haste at first, and how many from the third call on
    # where nothing may be spent, it is left to the quiet moment
    jit.policy.account.GRACE = 1e9
    tiered_compilation.QUIET = 1e9
    at, w = whet.tensor([2, 0, 2]), whet.randn(3, 7, requires_grad=True)
    f, now = jit.trace(lambda x: (x.index_add(0, at, x * w, alpha=2.5) * 3.25).cummax(1)), []
    for _ in range(3):
        w.grad = None
        f(whet.randn(3, 7)).values.sum().backward()
        r = next(iter(f._table.values()))[0]
        programs = [r.program, *(way.program for way in r.backward.ways.values())]
        now.append(sum(k in tiered_compilation._pending for p in programs for k in p.hasty))
    print(min(now[:2]), now[-1])
    sys.exit()
if sys.argv[1] == "leave":
    print(n)
    sys.exit()                               # while the thread sleeps or compiles
if sys.argv[1] == "child":                   # goes on with what its parent put off, once somebody asks
    pid = os.fork()
    if pid == 0:
        end = time.time() + 60
        while tiered_compilation.among(list(tiered_compilation._pending)) and time.time() < end:
            time.sleep(0.02)
        os._exit(len(tiered_compilation._pending))
    print(n, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    sys.exit()
if sys.argv[1] == "fork":
    tiered_compilation.QUIET, codes = 0, set()            # the thread is at it while children begin
    for op in "sin cosh atan asinh log1p expm1 erf lgamma digamma atanh".split():
        g = jit.trace(lambda x: (getattr(whet, op)(x * 3) - x).prod())
        g(whet.ones(3))
        pid = os.fork()
        if pid == 0:
            g = jit.trace(lambda x: (getattr(whet, op)(x) + whet.sinh(x)).amax())
            g(whet.ones(3))
            tiered_compilation.compile_well()
            os._exit(0 if not tiered_compilation._pending else 3)
        codes.add(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    print(n, *codes)
    sys.exit()
if sys.argv[1] == "busy":                    # replays go on, one after the other
    start, x = time.process_time(), whet.ones(3)      # others may take the processor meanwhile
    while tiered_compilation._pending and time.process_time() < start + 20:
        f(x)
    print(n, len(tiered_compilation._pending), int(time.process_time() > start + 10))
    sys.exit()
end = time.time() + 60
while (tiered_compilation._pending or tiered_compilation._background.thread) and time.time() < end:
    time.sleep(0.02)
threads = sum(t.name == "whet-compile" for t in threading.enumerate())
print(n, len(tiered_compilation._pending), threads)
"""


@pytest.mark.parametrize("how", ["bits", "keep", "wait", "busy", "leave", "fork", "child"])
def test_what_was_put_off_is_compiled_well(how, tmp_path):
    env = {**os.environ, "WHET_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", SCRIPT, how], env=env,
                          capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    n, *rest = map(int, done.stdout.split())
    assert n > 0
    assert (rest == {
        "bits": [0, 0, 0], "keep": [0], "wait": [0, 0], "busy": [0, 0], "leave": [], "fork": [0],
        "child": [0]}[how])


def test_the_background_does_not_disturb_recording():
    """Threads that record while kernels are exchanged get what eager gives."""
    wrong = []

    def many(k):
        for i in range(6):
            salt = 1 + k / 7 + i / 31
            x = whet.full((4, 3 + i), 0.25 + k)
            got, want = jit.trace(fresh(salt))(x), fresh(salt)(x)
            wrong.extend(0 for a, b in zip(got, want) if a.tolist() != b.tolist())
    threads = [threading.Thread(target=many, args=(k,)) for k in range(3)]
    for t in threads:
        t.start()
    while any(t.is_alive() for t in threads):
        tiered_compilation.compile_well()
        time.sleep(0.005)
    assert not wrong
