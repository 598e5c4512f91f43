"""What finds accesses outside of memory: guarded buffers, and kernels that test what they do."""
import ctypes
import faulthandler
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from whet.cpu import guarded_memory, native
from whet.jit.program import arena
from whet.passes.lower_llvm import targets
from whet.passes.lower_llvm.access_checks import CheckedModule
from whet.passes.lower_llvm.builder import Val, vec

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="mprotect")


def died(act):
    """(the signal that ends a process which acts so, or 0; what it said on stderr)"""
    out, into = os.pipe()
    pid = os.fork()
    if pid == 0:
        faulthandler.disable()
        os.dup2(into, 2)
        act()
        os._exit(0)
    os.close(into)
    with os.fdopen(out) as f:
        said = f.read()
    return -os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), said


# ---- buffers -------------------------------------------------------------------------------------
def peek(a, at):
    """Read the byte `at` of an array's memory."""
    return ctypes.c_ubyte.from_address(a.ctypes.data + at).value


@pytest.mark.parametrize("size", [1, 20, guarded_memory.PAGE, guarded_memory.PAGE + 1])
def test_a_fenced_array_ends_or_begins_beside_a_page_that_nobody_may_touch(size):
    end, begin = guarded_memory.fenced(size), guarded_memory.fenced(size, "begin")
    for side, a, inside, outside in (("end", end, size - 1, size), ("begin", begin, 0, -1)):
        assert a.nbytes == size and peek(a, inside) == guarded_memory.POISON[side]
        a[:] = 1
        assert a.sum() == size
        assert died(lambda a=a, at=outside: peek(a, at))[0] == signal.SIGSEGV
    start = end.ctypes.data
    del a, end
    assert died(lambda: ctypes.c_ubyte.from_address(start).value)[0] == signal.SIGSEGV


SCRIPT = """
import ctypes, os, signal
import numpy as np, whet
from whet import jit
from whet.cpu import guarded_memory, memory, native
def dies(address):
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGSEGV, signal.SIG_DFL)
        ctypes.c_ubyte.from_address(address).value
        os._exit(0)
    return os.WIFSIGNALED(os.waitpid(pid, 0)[1])
def beside(a):
    return a.ctypes.data + (a.nbytes if guarded_memory.SIDE == "end" else -1)
results = [memory.empty((5,), np.dtype("f4")), memory.empty((3, 50000), np.dtype("f8")), (whet.ones(3, 5) @ whet.ones(5, 7)).numpy(),
           whet.nn.functional.conv2d(whet.ones(1, 2, 5, 5), whet.ones(3, 2, 2, 2)).numpy(), memory.scratch(100)]
print(all(dies(beside(a)) for a in results))
f = jit.trace(lambda x: (x @ x).softmax(1) @ x)          # one step's results are the next one's operands, in the arena
x = whet.randn(7, 7)
print(all(np.array_equal(f(x).numpy(), ((x @ x).softmax(1) @ x).numpy()) for _ in range(4)))
arena = next(iter(f._table.values()))[0].program.arena
is_large = arena > 4 * guarded_memory.PAGE
print(arena % guarded_memory.PAGE == 0 and (is_large or not native.enabled()))
"""


@pytest.mark.parametrize("native_entries", ["1", "0"])
@pytest.mark.parametrize("side", ["end", "begin"])
def test_all_memory_is_guarded(side, native_entries):
    env = {**os.environ, "WHET_GUARD": side, "WHET_NATIVE": native_entries}
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", SCRIPT], env=env,
                          capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["True"] * 3


def test_pieces_of_an_arena_lie_apart(monkeypatch):
    pieces = [arena.Piece(n) for n in (1, 64, guarded_memory.PAGE, 5000)]
    for side in ("end", "begin"):
        monkeypatch.setattr(guarded_memory, "SIDE", side)
        whole, forbidden = arena.plan_apart(pieces)
        page = guarded_memory.PAGE
        for p in pieces:
            there = range(p.offset, p.offset + p.size)
            assert there.stop <= whole and not any(
                at < there.stop and there.start < at + page for at in forbidden)
            assert p.offset % 64 == 0
            wanted = p.offset + -(-p.size // 64) * 64 if side == "end" else p.offset - page
            assert wanted in forbidden


# ---- kernels that test their accesses ------------------------------------------------------------
LANES = targets.current().lanes() if os.environ.get("WHET_CPU") != "numpy" else 8
FLOATS = vec("float", LANES)
COUNT = 32


def outcome(emit, n):
    """How a checked kernel ends, whose first argument is a number."""
    m = CheckedModule()
    m.writing = "a 100 % test"
    f = m.kernel("kernel")
    number = f.load("i64", f.args[0])
    emit(m, f, number, f.alloca("float", COUNT))
    addr = native.build(m.text(), ["kernel"])["kernel"]
    return died(lambda: native.launch(addr, 1, 1, int(n)))


def alone(m, f, n, p):
    f.store(f.const(FLOATS, 0), f.at(p, n))


def carried(m, f, n, p):
    """The pointer goes through a loop, a selection and a branch."""
    q, = f.loop(0, n, 1, lambda i, q: [f.at(q, 1)], [p])
    q = f.sel(f.cmp("sgt", n, 1000), Val(f, "null", "ptr"), q)
    q, = f.if_(f.cmp("sgt", n, 2000), lambda: [Val(f, "null", "ptr")], lambda: [q])
    q, = f.while_(lambda q: f.const("i1", False), lambda q: [q], [q])
    f.load(FLOATS, q)


def in_helper(m, f, n, p):
    g = m.fn("helper", [("ptr", "q"), ("i64", "n")], linkage="internal")
    m.fns.reverse()
    g.store(g.const(FLOATS, 0), g.at(g.args[0], g.args[1]))
    f.call("helper", "void", p, n)


def given(m, f, n, p):
    """Of larger memory a piece."""
    f.load(FLOATS, f.at(f.within(f.at(f.alloca("float", 4 * COUNT), COUNT), COUNT * 4), n))


@pytest.mark.skipif(os.environ.get("WHET_CPU") == "numpy", reason="nothing is compiled")
@pytest.mark.parametrize("emit", [alone, carried, in_helper, given])
def test_an_access_outside_of_a_kernels_memory_ends_the_process(emit):
    last = COUNT - LANES
    assert outcome(emit, 0) == outcome(emit, last) == (0, "")
    code, said = outcome(emit, last + 1)
    assert code == signal.SIGABRT and "kernel a 100 % test" in said and "bytes" in said
    assert (f"{4 * last + 4} to {4 * COUNT + 4} of {4 * COUNT} (test_guarded_memory.py:" in said
            and f" in {emit.__name__})" in said)


@pytest.mark.skipif(os.environ.get("WHET_CPU") == "numpy", reason="nothing is compiled")
def test_under_a_mask_its_lanes_count():
    def emit(m, f, n, p):
        mask = f.lanes_below(n, LANES)
        x = f.mload(FLOATS, f.at(p, COUNT - 3), mask)
        f.put(mask, (x, f.at(p, COUNT - 3)))
    assert outcome(emit, -1) == outcome(emit, 0) == outcome(emit, 3) == (0, "")
    assert outcome(emit, 4)[0] == signal.SIGABRT


@pytest.mark.skipif(os.environ.get("WHET_CPU") == "numpy", reason="nothing is compiled")
def test_what_is_written_beside_a_kernels_memory_is_seen_at_its_end():
    def emit(m, f, n, p):
        unknown = f.v("ptr",
                      f"inttoptr i64 {f.v('i64', f'ptrtoint ptr {p.ref} to i64').ref} to ptr")
        f.store(f.const("float", 1), f.at(unknown, n))
    assert outcome(emit, 0) == outcome(emit, COUNT - 1) == (0, "")
    for n in (-1, COUNT):
        code, said = outcome(emit, n)
        assert (code == signal.SIGABRT
                and "wrote beside memory that it reserved (test_guarded_memory.py:" in said)


@pytest.mark.skipif(os.environ.get("WHET_CPU") == "numpy", reason="nothing is compiled")
def test_fresh_memory_is_no_number():
    m = CheckedModule()
    f = m.kernel("kernel")
    f.store(f.load("float", f.at(f.alloca("float", COUNT), COUNT - 1)), f.load("ptr", f.args[0]))
    out = np.zeros(1, "f4")
    native.launch(native.build(m.text(), ["kernel"])["kernel"], 1, 1, out)
    assert np.isnan(out[0])
