"""Lifetime: nothing is leaked, nothing needs the garbage collector, graphs of any length come
and go."""
import gc
import os
import subprocess
import sys
import textwrap
import tracemalloc
import weakref

import numpy as np
import pytest
import whet
from whet import nn
from whet.cpu import memory, native

only_native = pytest.mark.skipif(not native.enabled(),
                                 reason="NumPy's memory and the interpreter's free lists hide it")
STEPS = int(os.environ.get("WHET_LONG_STEPS", 20_000))         # 100,000 in long runs


def run(code, native=True, timeout=300):
    """Run a program in a fresh process; what it printed."""
    env = dict(os.environ, WHET_NATIVE="1" if native else "0")
    r = subprocess.run([sys.executable, "-c", PRELUDE + textwrap.dedent(code)], env=env,
                       capture_output=True, text=True, timeout=timeout)
    assert r.returncode == 0, r.stderr[-2000:]
    return r.stdout


PRELUDE = """
import gc, os, sys, weakref
import numpy as np
import whet

def resident():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * 4096

def ours():
    "Objects of the runtime that only the garbage collector would have freed (a compilation may leave some)."
    gc.set_debug(gc.DEBUG_SAVEALL)
    gc.collect()
    found = [type(x).__name__ for x in gc.garbage if type(x).__module__.startswith("whet") and ".passes." not in type(x).__module__
             and ".ir." not in type(x).__module__]
    gc.garbage.clear()
    gc.set_debug(0)
    return found
"""


@pytest.fixture
def no_collector():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize("native", [True, False])
def test_training_leaks_nothing(native):
    run(f"""
        gc.disable()
        x, y = whet.randn(4, 8), whet.randn(4, 1)
        net = whet.nn.Sequential(whet.nn.Linear(8, 16), whet.nn.Tanh(), whet.nn.Linear(16, 1))
        opt = whet.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
        def steps(n):
            for _ in range(n):
                loss = ((net(x) - y) ** 2).mean()
                opt.zero_grad()
                loss.backward()
                opt.step()
        steps(1000)
        before = resident()
        steps({STEPS if native else 1000})
        grown = resident() - before
        assert grown < 2 << 20, grown
        assert not ours(), ours()
        """, native)


CHAIN = """
    import threading
    gc.disable()
    N = {n}
    class Twice(whet.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 1
        @staticmethod
        def backward(ctx, g):
            x, = ctx.saved_tensors
            return g * 1
    count = 0
    def mixed(v):
        global count
        count += 1
        k = count % 6
        if k == 0:
            return Twice.apply(v)
        if k == 1:
            return v.view(3)
        if k == 2:
            return whet.cat(v.chunk(3))
        if k == 3:
            return v[0:3].sin()
        if k == 4:
            return (v * 1).mul_(v)
        return v * v
    def chains():
        for f in {fs}:
            for backward in (True, False):
                x = whet.ones(3, requires_grad=True)
                v = x
                for _ in range(N):
                    v = f(v)
                node = weakref.ref(v.grad_fn)
                if backward:
                    v.sum().backward()
                    assert x.grad is not None
                del v
                assert node() is None
        done.append(True)
    done = []
    threading.stack_size({stack})
    t = threading.Thread(target=chains)
    t.start()
    t.join()
    assert done
    assert not ours()
"""
# What goes down a chain by calling itself needs more than so many bytes of stack for each link.
# Python 3.13 itself goes thousands of objects down where one holds the next, before it stops.
SMALL, LINK = (2 << 20 if sys.version_info >= (3, 13) else 256 << 10), 64


@pytest.mark.parametrize(
    "fs,native",
    [("(lambda v: v * 1.0, lambda v: v.exp() * 0, lambda v: v.view(3))", True),
     ("(mixed, Twice.apply)", True), ("(lambda v: v * 1.0,)", False), ("(mixed,)", False)])
def test_long_chains(fs, native):
    run(CHAIN.format(fs=fs, n=SMALL // LINK, stack=SMALL), native)


def test_a_chain_of_a_hundred_thousand():
    run(CHAIN.format(fs="(lambda v: v * 1.0,)", n=100_000, stack=SMALL))


@only_native
@pytest.mark.parametrize("drop", ["graph", "backward", "error"])
def test_memory_is_freed_at_once(drop, no_collector):
    n = 1 << 18

    def build():
        y = x
        for _ in range(10):
            y = (y * 1.01).sin().view(2, -1).reshape(-1)
        return y.sum()
    x = whet.ones(n, requires_grad=True)
    (x * 1.01).sin().sum().backward()
    x.grad = None
    before = memory.stats()
    loss = build()
    during = memory.stats()
    if drop == "backward":
        loss.backward()
        x.grad = None
    elif drop == "error":
        x.register_hook(lambda g: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            loss.backward(retain_graph=True)
    del loss
    after = memory.stats()
    assert (during["live"] - before["live"] >= 10 * 4 * n
            and after["live"] == before["live"]), (before, during, after)


def test_backward_frees_what_was_saved_while_it_runs(no_collector):
    x = whet.ones(1000, requires_grad=True)
    y = x * 2
    arrays = [weakref.ref(y)]
    z = y.exp().sin()
    loss = z.sum()
    del y
    assert arrays[0]() is None                 # exp saved its result only
    s = x * 2
    ref = weakref.ref(s)
    t = s.sin().sum()
    del s
    assert ref() is not None
    t.backward()
    assert ref() is None and loss.requires_grad


CALLS = {
    "add": lambda a, b, w: a + b,
    "scalar": lambda a, b, w: a * 2.5,
    "int scalar": lambda a, b, w: a + 3,
    "exp": lambda a, b, w: a.exp(),
    "sum": lambda a, b, w: a.sum(),
    "function": lambda a, b, w: whet.add(a, b),
    "matmul": lambda a, b, w: a @ b,
    "reshape": lambda a, b, w: a.reshape(16),
    "view": lambda a, b, w: a.view(2, 8),
    "index": lambda a, b, w: a[0],
    "slice": lambda a, b, w: a[1:, ::2],
    "transpose": lambda a, b, w: a.t(),
    "add_": lambda a, b, w: a.add_(b),
    "mul_": lambda a, b, w: a.mul_(1.0),
    "iadd": lambda a, b, w: a.__iadd__(b),
    "max": lambda a, b, w: a.max(0),
    "neg": lambda a, b, w: -a,
    "wrong": lambda a, b, w: pytest.raises(RuntimeError, lambda: a + whet.ones(3)),
    "compare": lambda a, b, w: a < b,
    "where": lambda a, b, w: whet.where(a < b, a, b),
    "recorded": lambda a, b, w: (w * a).exp(),
    "recorded view": lambda a, b, w: w[0].t(),
    "backward": lambda a, b, w: (w * a + w).sin().sum().backward(),
    "softmax": lambda a, b, w: w.softmax(1).mean(),
    "grad": lambda a, b, w: whet.autograd.grad((w @ a).sum(), w),
    "detach": lambda a, b, w: w.detach(),
    "item": lambda a, b, w: a[0, 0].item(),
    "none": lambda a, b, w: whet.clamp(a, None, 2.0),
    "mixed": lambda a, b, w: a + True,
}


@pytest.mark.parametrize("name", CALLS)
def test_reference_counts_do_not_drift(name, no_collector):
    f = CALLS[name]
    a, b, w = whet.ones(4, 4), whet.ones(4, 4) * 0, whet.ones(4, 4, requires_grad=True)
    n = int(os.environ.get("WHET_LONG_CALLS", 1000))

    def look():
        return [
            sys.getrefcount(x)
            for x in (None, True, False, a, b, w, a._array, b._array, w._array, a._array.dtype,
                      whet.float32, (), type(a), dict, float, int, np.ndarray)]
    for _ in range(20):
        f(a, b, w)
    w.grad = None
    before = look()
    for _ in range(n):
        f(a, b, w)
    w.grad = None
    drift = [after - first for first, after in zip(before, look())]
    assert max(map(abs, drift)) < n // 50, drift


@only_native
@pytest.mark.usefixtures("nothing_compiled_meanwhile")
def test_small_calls_allocate_nothing_that_stays(no_collector):
    a, b, w = whet.ones(4, 4), whet.ones(4, 4) * 0, whet.ones(4, 4, requires_grad=True)

    def every(n):
        for name, f in CALLS.items():
            if name != "wrong":
                for _ in range(n):
                    f(a, b, w)
        w.grad = None
    every(20)
    tracemalloc.start()
    try:
        every(20)
        first = tracemalloc.get_traced_memory()[0]
        every(200)
        grown = tracemalloc.get_traced_memory()[0] - first
    finally:
        tracemalloc.stop()
    assert grown < 20_000, grown


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_changing_shapes_do_not_grow_memory_without_bound():
    run("""
        x = whet.ones(4000)
        for _ in range(3):
            for n in range(1, 3000):
                x[:n] + 1
        before = resident()
        for _ in range(3):
            for n in range(1, 3000):
                x[:n] + 1
        assert resident() - before < 4 << 20, resident() - before
        """)


class _Masked(nn.Linear):
    """A module that a hook of its parameter, or an attribute of one, leads back to."""

    def __init__(self, how):
        super().__init__(3, 3)
        if how == "hook":
            self.weight.register_hook(lambda g: g * self.bias)
        else:
            self.weight.owner = self


@pytest.mark.parametrize("how", ["hook", "attribute"])
def test_a_module_that_its_parameter_leads_back_to_is_freed(how):
    module = _Masked(how)
    module(whet.ones(2, 3)).sum().backward()
    ref = weakref.ref(module)
    del module
    gc.collect()
    assert ref() is None
