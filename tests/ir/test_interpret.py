"""What a graph means, checked against eager mode: the interpreter gives its bits, and does to
the inputs what it does."""
import os
import subprocess
import sys

import numpy as np
import pytest
import whet
from whet import jit
from whet.ir.interpret import Diverged, interpret
from whet.ir.parse import parse
from whet.ir.serialize import dumps
from whet.jit.report.explain import graph_inputs
from whet.ops.registry import is_tensor

from tests import graphs
from tests.ir.test_text import again
from tests.ops.test_ops import REGISTRY, TESTED, calls


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


@pytest.mark.parametrize("name",
                         [n for n in graphs.CASES if n not in ("draws", "sgd", "adam", "backward")])
def test_it_gives_eagers_results_and_writes(name):
    f, args = graphs.traced(name)
    for g in (f.recorded, f.graph, again(f.recorded), again(f.graph)):
        mine, theirs = [[t.clone() for t in args] for _ in range(2)]
        want = [t for t in graphs.flat(f.fn(*theirs)) if isinstance(t, whet.Tensor)]
        got = interpret(g, *graph_inputs(f, mine))
        assert len(want) <= len(got)
        values = [a for a, (_, n) in zip(got, g.results) if not n]
        assert (len(values) == len(want)
                and all(same(a,
                             t.detach().numpy()) for a, t in zip(values, want)))
        assert all(same(a.numpy(), b.numpy()) for a, b in zip(mine, theirs))


@pytest.mark.parametrize("name", ["sgd", "adam", "backward"])
def test_a_training_step_leaves_eagers_bits(name):
    """The graph runs on copies of what the step would be given; then the step is made eagerly."""
    f, args = graphs.traced(name)
    for g in (f.recorded, f.graph):
        held = dict(zip((x.value for x in g.inputs), graph_inputs(f, args)))
        before = [held[x.value].detach().clone() for x in g.inputs]
        got = interpret(g, *before)
        with jit.disable():
            loss = f(*args)
        assert same(got[0], loss.detach().numpy())
        for x, copy in zip(g.inputs, before):
            assert same(copy.numpy(), held[x.value].detach().numpy()), x
        grads = {n: a for a, (_, n) in zip(got, g.results) if n.startswith("gradient of")}
        assert grads
        for x in g.inputs:
            if f"gradient of {x.name}" in grads:
                assert same(grads[f"gradient of {x.name}"], held[x.value].grad.numpy())


def test_draws_come_from_the_streams():
    f, args = graphs.traced("draws")
    g = f.recorded
    first = interpret(g, *args)
    assert all(same(a, b) for a, b in zip(first, interpret(g, *args))) and len(g.streams) == 2
    whet.manual_seed(5)
    f.fn.__closure__[0].cell_contents.manual_seed(6)
    with jit.disable():
        want = f(*args)
    names = {n.attrs["generator"] for n in g.nodes if n.kind == "draw"}
    for g in (f.recorded, f.graph):
        got = interpret(g, *args, streams=[(5, 0), (6, 0)])
        assert names == {0, 1} and all(same(a, t.numpy()) for a, t in zip(got, want))
    with pytest.raises(ValueError, match="draws from 2 generators, not 1"):
        interpret(g, *args, streams=[(5, 0)])


@pytest.mark.drawn(2)
@pytest.mark.parametrize("name", TESTED)
def test_every_op_after_the_passes_is_the_op(name):
    """The program's graph against the op's results, and the program itself against its graph."""
    for sample in list(calls(REGISTRY[name], dtype=whet.float32))[:4]:
        places = [i for i, x in enumerate(sample.args) if is_tensor(x)]

        def f(*tensors):
            mine = dict(zip(places, tensors))
            return REGISTRY[name](*[mine.get(i, x) for i, x in enumerate(sample.args)],
                                  **sample.kwargs)
        tensors = [x.detach() for x in sample.args if is_tensor(x)]
        try:
            before, after, program, want = graphs.recorded(f, tensors)
        except (NotImplementedError, TypeError, RuntimeError) as e:
            assert "not implemented" in str(e) or "dtype" in str(e) or "type" in str(e), e
            continue
        arrays = list({id(t): t._array for t in tensors}.values())
        for g in (before, after):
            assert all(same(a, t._array) for a, t in zip(interpret(g, *arrays), want))
        if name != "empty":
            env = program(arrays)
            assert all(same(env[v], t._array) for (v, _), t in zip(before.results, want))


def test_other_inputs_are_refused():
    f, (x, y) = graphs.traced("chain")
    g = f.recorded
    for wrong, says in ((((x,), "has 2 inputs"), ((x, y[:4]), "y is f32"),
                         ((x.double(), y), "x is f32"), ((x, 2), "not int"))):
        with pytest.raises(ValueError, match=says):
            interpret(g, *wrong)


def test_a_guard_that_fails_says_where():
    f, (x, y) = graphs.traced("guards")
    g = f.recorded
    assert interpret(g, x, y)
    with pytest.raises(Diverged, match="graphs.py"):
        interpret(g, x + 1, y)
    g = parse('''graph "f":
      %0 = input "argument 0" "x" : f32[3]
      %1 = nonzero(%0) : i64[2,1]   # a.py:1
      return %1''')
    assert interpret(g, np.array([1, 0, 2], np.float32))[0].tolist() == [[0], [2]]
    with pytest.raises(Diverged, match="nonzero gives at a.py:1"):
        interpret(g, np.ones(3, np.float32))


def test_numpy_alone_is_near():
    """The same graph in a process that compiles nothing."""
    f, args = graphs.traced("reductions")
    got = interpret(f.recorded, *args)
    code = f"""import sys, whet, numpy as np
from whet.ir.serialize import loads
from whet.ir.interpret import interpret
g = loads(bytes.fromhex({dumps(f.recorded).hex()!r}))
x = np.frombuffer(bytes.fromhex({args[0].numpy().tobytes().hex()!r}), np.float32).reshape(5, 6)
print(b"".join(a.astype(np.float64).tobytes() for a in interpret(g, x)).hex(), "llvmlite" in sys.modules)"""
    out = subprocess.run([sys.executable, "-c", code], env={**os.environ, "WHET_CPU": "numpy"},
                         capture_output=True, text=True, check=True).stdout.split()
    reference = np.frombuffer(bytes.fromhex(out[0]))
    assert (out[1] == "False" and np.allclose(
        reference, np.concatenate([a.astype(np.float64).reshape(-1)
                                   for a in got]), rtol=1e-5, atol=1e-6))
