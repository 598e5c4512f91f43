"""`jit.trace` itself: what it says, when it refuses, what is fused, and that a wrong program is
found out."""
import os
import subprocess
import sys
import warnings

import numpy as np
import pytest
import whet
from whet import jit, nn
from whet.cpu import native, tiered_compilation
from whet.ir.graph import Fused
from whet.passes import fuse_pointwise as fusion

from tests.together import in_threads

compiled = pytest.mark.skipif(not native.enabled(),
                              reason="without machine code every step is Python's")


def same(a, b):
    return a.dtype is b.dtype and a.shape == b.shape and a.numpy().tobytes() == b.numpy().tobytes()


def facts(f):
    return f.explain(data=True)


@compiled
def test_a_chain_is_one_launch_of_one_kernel():
    f = jit.trace(lambda x, y: ((x * 2 + y).tanh() - x.exp()) / 3)
    x, y = whet.randn(4, 5), whet.randn(5)
    for _ in range(3):
        assert same(f(x, y), f.fn(x, y))
    path, = facts(f)["paths"]
    assert path["nodes"] == 6 and path["after"] == path["launches"] == 1 and not path["python"]
    assert "fused" in str(f.graph) and "1 kernel launch " in f.explain(full=True)


def test_what_is_returned_on_the_way_survives_fusion():
    f = jit.trace(lambda x: (a := x * 2, b := a + 1, a * b))
    for _ in range(3):
        x = whet.randn(7)
        assert all(same(g, w) for g, w in zip(f(x), f.fn(x)))


def test_nothing_is_fused_over_a_write():
    def f(x):
        y = x * 2
        x.add_(1)
        return y + x * 3
    traced = jit.trace(f)
    for _ in range(3):
        x = whet.randn(6)
        twin = x.clone()
        assert same(traced(x), f(twin)) and same(x, twin)


@pytest.mark.parametrize("dtype",
                         [whet.float16, whet.bfloat16, whet.float64, whet.int32, whet.uint8])
def test_narrow_types_are_rounded_between_fused_operations(dtype):
    def f(x, y):
        return ((x * y + x) * 3 - y) * x
    traced = jit.trace(f, verify="off")
    for _ in range(3):
        x, y = (whet.randint(0, 50, (100,)).to(dtype) / (7 if dtype.is_floating_point else 1)
                for _ in range(2))
        x, y = x.to(dtype), y.to(dtype)
        assert same(traced(x, y), f(x, y))


def test_a_shape_that_differs_keeps_nodes_apart():
    f = jit.trace(lambda x: (x * 2).sum(0) + x.mean())
    for _ in range(3):
        x = whet.randn(3, 4)
        assert same(f(x), f.fn(x))
    assert not any(n.kind == "fused" for n in f.graph.nodes)


def test_it_says_once_why_it_runs_eagerly():
    def loud(x):
        os.getpid()
        return x + 1
    f = jit.trace(loud)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for _ in range(6):
            assert f(whet.ones(1)).item() == 2
    said = [w for w in said if w.category is jit.TraceWarning]
    assert (len(said) == 1 and "posix.getpid" in str(said[0].message)
            and "test_trace.py" in str(said[0].message))
    assert "posix.getpid" in facts(f)["refused"]
    with pytest.raises(jit.TraceError, match="posix.getpid"):
        jit.trace(loud, strict=True)(whet.ones(1))


def test_disabled():
    f = jit.trace(lambda x: x * 2)
    with jit.disable():
        f(whet.ones(2))
    assert not facts(f)["paths"]
    f(whet.ones(2))
    with jit.disable():
        f(whet.ones(2))
    assert facts(f)["paths"][0]["calls"] == 0
    code = (
        "import whet; f = whet.jit.trace(lambda x: x * 2); f(whet.ones(2)); f(whet.ones(2)); "
        "print(len(f._table))")
    out = subprocess.run([sys.executable, "-c", code], env={**os.environ, "WHET_JIT": "0"},
                         capture_output=True, text=True, check=True)
    assert out.stdout == "0\n"


def test_decorated_with_and_without_options_methods_and_modules():
    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(whet.full((3,), 2.0))

        @jit.trace
        def forward(self, x):
            return x * self.weight

        @jit.trace(strict=True)
        def shifted(self, x, by=1):
            return x + by
    a, b = Scaled(), Scaled()
    with whet.no_grad():
        b.weight.fill_(5.0)
    for _ in range(3):
        assert a(whet.ones(3)).tolist() == [2.0] * 3 and b(whet.ones(3)).tolist() == [5.0] * 3
        assert a.shifted(whet.ones(1)).item() == 2 and b.shifted(whet.ones(1), by=3).item() == 4
    f = jit.trace(a)
    assert f(whet.ones(3)).tolist() == [2.0] * 3 and jit.trace(f) is f
    with pytest.raises(TypeError, match="expected a function"):
        jit.trace(3)


@compiled
def test_a_wrong_program_is_found_out(monkeypatch):
    real = fusion.kernel

    def wrong(*args):
        node = real(*args)
        return Fused(node.ins, node.outs, node.line, node.members, tuple(r + 1 for r in node.roots))
    monkeypatch.setattr(fusion, "kernel", wrong)
    f = jit.trace(lambda x: (x * 2 + 1) * x)
    with pytest.warns(jit.TraceWarning, match="other bits"):
        for _ in range(5):
            assert f(whet.ones(3)).tolist() == [3.0] * 3
    assert not facts(f)["paths"]


def test_where_eager_is_faster_it_runs():
    f = jit.trace(lambda x: x + 1)
    for k in range(60):
        assert f(whet.full((2,), float(k))).tolist() == [k + 1.0] * 2
        tiered_compilation.compile_well()
    path, = facts(f)["paths"]
    assert (path["microseconds"][1] < 1e6
            and (not path["slower"] or "eager is faster" in f.explain(full=True)))


def test_traces_inside_traces_are_one():
    inner = jit.trace(lambda x: x * 2)
    outer = jit.trace(lambda x: inner(x) + 1)
    for _ in range(3):
        assert outer(whet.ones(2)).tolist() == [3.0, 3.0]
    assert facts(outer)["paths"] and not facts(inner)["paths"]


def test_many_threads_call_one_trace():
    f, wrong = jit.trace(lambda x: (x * 2 + 1).tanh() @ x), []
    f(whet.randn(20, 20))

    def work(seed):
        rng = np.random.default_rng(seed)
        for _ in range(40):
            x = whet.tensor(rng.standard_normal((20, 20)))
            if not same(f(x), f.fn(x)):
                wrong.append(seed)
    in_threads(work)
    assert not wrong


def test_a_recording_for_each_kind_of_argument_and_each_way():
    def f(x):
        if x.sum() > 0:
            return x * 2
        return x - 1
    traced = jit.trace(f)
    for x in (whet.ones(3), -whet.ones(3), whet.ones(4), whet.ones(3, dtype=whet.float64)) * 3:
        assert same(traced(x), f(x))
    assert len(facts(traced)["paths"]) == 4 and facts(traced)["kinds"] == 3


def test_errors_are_eagers():
    table = whet.arange(5.0)
    f = jit.trace(lambda i: table[i] * 2)
    for _ in range(3):
        assert f(whet.tensor([0, 4])).tolist() == [0.0, 8.0]
    with pytest.raises(IndexError, match="index 7 is out of bounds for dimension 0 with size 5"):
        f(whet.tensor([0, 7]))
    assert f(whet.tensor([1, 1])).tolist() == [2.0, 2.0]


def test_a_dropped_trace_leaves_nothing():
    import gc
    import weakref

    from whet.cpu import rows
    refs = []
    for _ in range(30):
        f = jit.trace(lambda x: (x @ x).tanh().sum(0) * 2 + x)
        for _ in range(3):
            f(whet.ones(4, 4))
        refs += ([weakref.ref(r.program) for rs in f._table.values()
                  for r in rs] if native.enabled() else [])
        plans = len(rows._plans)
    del f
    gc.collect()
    refs = [r for r in refs if r() is not None]
    assert not refs and len(rows._plans) == plans


def test_strides_of_single_elements_are_eagers():
    w = whet.zeros(17, 2, 1).permute(2, 1, 0)

    def f():
        return whet.empty_like(w).fill_(2), whet.zeros_like(w), whet.full_like(w, 3.0)
    traced = jit.trace(f)
    for _ in range(3):
        assert [t.stride() for t in traced()] == [t.stride() for t in f()]
    assert facts(traced)["paths"][0]["calls"] == 2


def test_an_error_names_what_wrote():
    """Machine code, Python and a replay say the same of who wrote to a tensor."""
    def f(x):
        x *= 2
        return None
    said = []
    for call in (f, jit.trace(f)):
        for _ in range(4):
            w, x = whet.ones(3, requires_grad=True), whet.ones(3)
            y = w * x
            call(x)
            with pytest.raises(RuntimeError) as e:
                y.sum().backward()
            said.append(str(e.value))
    assert len(set(said)) == 1 and "by `mul_`" in said[0]


@pytest.mark.parametrize("n", [3, 2_000_000])
def test_an_error_after_a_write_leaves_one_write(n):
    def make():
        p, table = whet.zeros(n), whet.arange(5.0)

        def f(i):
            p.add_(1)
            return table[i]
        return p, f
    seen = []
    for wrap in (jit.trace, lambda f: f):
        p, f = make()
        f = wrap(f)
        for i in ([0, 1], [0, 1], [0, 1], [0, 9], [2, 2]):
            try:
                f(whet.tensor(i))
            except IndexError:
                pass
        seen.append((p[0].item(), p._version))
    assert seen[0] == seen[1] == (5.0, 5)


@compiled
@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8", "uint32"])
def test_a_kernel_asks_whether_a_divisor_is_zero(dtype):
    @jit.trace
    def f(a, b):
        return a // b, a % b
    a, b = (whet.tensor(np.arange(k, k + 40).astype(dtype)) for k in (60, 1))
    for _ in range(3):
        for one, other in zip(f(a, b), (a // b, a % b), strict=True):
            assert one.dtype is other.dtype and one.equal(other)
    with pytest.raises(RuntimeError, match="division by zero"):
        f(a, b - 1)
    assert not facts(f)["paths"][0]["python"]


def test_a_list_of_launches_works_on_any_number_of_tensors():
    """More of them than one launch is given, some through Python steps' results."""
    many = [whet.randn(3) for _ in range(1200)]

    def f(x):
        for t in many:
            t.mul_(0.5)
            t.add_(x)
        return many[700] + x
    traced, x = jit.trace(f), whet.randn(3)
    for _ in range(3):
        twins = [t.clone() for t in many]
        got = traced(x)
        assert same(got, many[700] + x)
        for t, twin in zip(many, twins):
            assert same(t, twin * 0.5 + x)
    assert not facts(traced)["refused"] and facts(traced)["paths"][0]["calls"] > 0


def test_memory_that_is_shared_is_found_among_many_tensors():
    """The pairs are those that are found two by two."""
    from whet.jit.replay.inputs import overlaps
    whole, rng = np.zeros(400, "f4"), np.random.default_rng(0)
    for _ in range(20):
        arrays = [
            whole[a:a + rng.integers(0, 30)][::rng.choice([1, 2, -1])]
            for a in rng.integers(0, 380, 25)]
        written = sorted(rng.choice(25, 6, replace=False).tolist())
        begin = [a.__array_interface__["data"][0] for a in arrays]
        assert sorted(overlaps(arrays, written)) == sorted(
            (i, k, begin[k] - begin[i]) for i in written for k in range(25)
            if i != k and np.may_share_memory(arrays[i], arrays[k]))
@pytest.mark.parametrize("foreign", [False, True])
def test_written_tensors_in_memory_of_their_own_are_not_compared_two_by_two(foreign, monkeypatch):
    """Unless other libraries handed them over, which may lead to one memory in ways that cannot
    be seen."""
    inputs = sys.modules["whet.jit.replay.inputs"]
    asked, overlaps = [], inputs.overlaps
    monkeypatch.setattr(inputs, "overlaps", lambda *args: asked.append(1) or overlaps(*args))
    w = whet.ones(5, requires_grad=True)
    optimizer = whet.optim.SGD([w], lr=0.5)

    def step(x, y):
        optimizer.zero_grad()
        (x * w + y).sum().backward()
        optimizer.step()
        x.add_(1)
        return x.sum()
    f = whet.jit.trace(step, verify="off")

    def tensors():
        raw = np.ones(10, "f4")
        return [whet.from_dlpack(a) if foreign else whet.ones(5) for a in (raw[:5], raw[5:])]
    for _ in range(4):
        f(*tensors())
    del asked[:]
    for _ in range(3):
        assert f(*tensors()).item() == 10
    replayed = f.explain(data=True)["paths"][0]["calls"]
    assert replayed >= 3 and len(asked) == (3 if foreign else 0)
    both = np.ones(5, "f4")
    x, y = whet.from_dlpack(both), whet.from_dlpack(both)    # two tensors over one memory
    assert f(x, y).item() == 10 and y.tolist() == [2.0] * 5


HOOK = """class Hook:
    def find_spec(self, *args):
        return self.look()

    def look(self):
        return None
"""


def test_what_an_import_hook_does_is_not_the_functions_doing(tmp_path):
    """The first use of some kernels loads modules of ours; who watches imports may run any code
    then."""
    (tmp_path / "hook.py").write_text(HOOK)
    code = (
        "import sys, hook, whet\nf = whet.jit.trace(lambda x: x.softmax(-1), strict=True)\n"
        "sys.meta_path.insert(0, hook.Hook())\n"
        "f(whet.ones(3, 4))\nassert f.recorded is not None")
    subprocess.run([sys.executable, "-c", code],
                   env={**os.environ, "WHET_CACHE": "0", "PYTHONPATH": str(tmp_path)},
                   check=True)
