"""A program that was compiled wrongly (by a pass or a kernel that the test breaks) is found, not
used, and cut down to a file that shows it."""
import os
import re
import runpy
import subprocess
import sys

import pytest
import whet
from whet import jit
from whet.cpu import native
from whet.ir import scalar as S
from whet.ir.graph import OpNode, Ref
from whet.jit.program import node_kinds, reproducer
from whet.ops.registry import REGISTRY
from whet.passes import pipeline

compiled = pytest.mark.skipif(not native.enabled(), reason="needs machine code")


@pytest.fixture(autouse=True)
def own_folder(monkeypatch, tmp_path):
    monkeypatch.setattr(reproducer.cache, "root", lambda: str(tmp_path))


def broken(monkeypatch, name, change):
    """Let `change(node)` come after a pass, for each node."""
    def one(real):
        return lambda g: (made := real(g)).of([change(n) for n in made.nodes])

    monkeypatch.setattr(pipeline,
                        "PASSES", [(n, one(p) if n == name else p) for n, p in pipeline.PASSES])


def exp_is_expm1(n):
    return (OpNode(REGISTRY["expm1"], n.ins, n.attrs, n.outs, n.line)
            if n.kind == "op" and n.op.name == "exp" else n)


def found(f, *args, calls=4):
    """The path in the one warning; results are eager's."""
    with pytest.warns(jit.TraceWarning, match="other bits") as said:
        for _ in range(calls):
            got, want = f(*args), f.fn(*args)
            assert [t.tolist() for t in got] == [t.tolist() for t in want]
    said, = [str(w.message) for w in said if w.category is jit.TraceWarning]
    return said, re.search(r"with (/\S+\.py)", said)[1]


def busy(x, y):
    a = (x @ y).tanh()
    b = x.softmax(-1) + a.sum(0)
    c = (a * 2 - b).exp()
    d = whet.cat([c, a, b])
    return d.sort(0)[0], (d * d).mean(), c


def test_a_wrong_pass_is_cut_down_to_one_operation(monkeypatch, capsys):
    broken(monkeypatch, "merge_repeats", exp_is_expm1)
    f = jit.trace(busy)
    said, path = found(f, whet.randn(6, 6), whet.randn(6, 6))
    assert ("(1 of 12 operations show it; right without merge_repeats)" in said
            and not f.explain(data=True)["paths"])
    assert path in f.explain(full=True)
    with open(path) as file:
        text = file.read()
    assert (re.search(r"= exp\(%", text) and "matmul" not in text
            and "INPUTS = [0]" in text), "random numbers do as well"
    runpy.run_path(path)
    out = capsys.readouterr().out
    assert "and by the program" in out and "without merge_repeats: no difference" in out
    monkeypatch.undo()
    runpy.run_path(path)
    assert "the program gives the interpreter's bits" in capsys.readouterr().out


def test_the_file_runs_alone(monkeypatch):
    broken(monkeypatch, "in_place_to_new", exp_is_expm1)
    _, path = found(jit.trace(lambda x: (x.exp() * whet.tensor(list(range(100))).sum(),)),
                    whet.randn(3))
    out = subprocess.run([sys.executable, path], capture_output=True, text=True,
                         cwd=os.path.dirname(path), check=True).stdout
    assert (re.search(r"= exp\(%", out)
            and "the program gives the interpreter's bits" in out), "there nothing is broken"


@compiled
def test_a_wrong_kernel_needs_no_pass(monkeypatch):
    real = node_kinds.Pointwise

    def wrong(name, roots, n):
        return real(name, tuple(S.const(1.0) + r if name == "copy" else r for r in roots), n)
    monkeypatch.setattr(node_kinds, "Pointwise", wrong)
    f = jit.trace(lambda x, y: (x.copy_(y), y.exp()))
    said, _ = found(f, whet.zeros(4), whet.ones(4))
    assert "a kernel is wrong" in said and "1 of 2 operations" in said


def test_values_that_matter_are_kept(monkeypatch, capsys):
    """Whole numbers are not replaced by others: they are in the file, with their strides."""
    def wrong(n):
        return (OpNode(REGISTRY["relu"], n.ins, n.attrs, n.outs, n.line)
                if n.kind == "op" and n.op.name == "abs" else n)
    broken(monkeypatch, "writes_to_values", wrong)
    x = whet.tensor([[3, -1], [2, -7], [0, -2]]).t()
    _, path = found(jit.trace(lambda x: ((x + 1).abs(),)), x)
    with open(path) as file:
        text = file.read()
    assert "@(" in text and "INPUTS = ['" in text
    runpy.run_path(path)
    assert "and by the program" in capsys.readouterr().out


def test_a_wrong_backward(monkeypatch):
    def wrong(n):
        changed = n.kind == "op" and n.op.name == "tanh_grad" and type(n.ins[0]) is Ref
        return (OpNode(REGISTRY["mul"],
                       (*n.ins[:1], n.ins[0]), n.attrs, n.outs, n.line) if changed else n)
    broken(monkeypatch, "in_place_to_new", wrong)
    w = whet.randn(3, requires_grad=True)
    f = jit.trace(lambda x: ((x * w).tanh().sum(),))
    names = [n for n, _ in pipeline.PASSES]
    said, path = found(f, whet.randn(2, 3))
    assert ("its backward" in said and os.path.exists(path)
            and names == [n for n, _ in pipeline.PASSES])


def test_with_strict_it_is_an_error(monkeypatch):
    broken(monkeypatch, "in_place_to_new", exp_is_expm1)
    with pytest.raises(jit.TraceError, match="please report this, with /"):
        jit.trace(lambda x: x.exp(), strict=True)(whet.ones(2))


def test_a_file_that_cannot_be_made_is_no_error(monkeypatch):
    broken(monkeypatch, "in_place_to_new", exp_is_expm1)
    monkeypatch.setattr(reproducer, "folder", lambda: "/nowhere")
    f = jit.trace(lambda x: x.exp())
    with pytest.warns(jit.TraceWarning, match="no file that shows it could be made"):
        assert f(whet.zeros(2)).tolist() == [1.0, 1.0]
