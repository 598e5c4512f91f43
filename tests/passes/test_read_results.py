"""Gradients that read a result in the place of an operand (`passes/read_results.py`)."""
import numpy as np
import pytest
from whet.ir.graph import Graph
from whet.ir.interpret import interpret
from whet.ir.parse import parse
from whet.ops.registry import REGISTRY
from whet.passes.listing import Listing
from whet.passes.read_results import read_results

READS = """
graph "f":
  %0 = input "argument 0" "x" : f32[4,5]
  %1 = exp(%0) : f32[4,5]
  %2 = relu(%1) : f32[4,5]
  %3 = sin(%0) : f32[4,5]
  {before}
  %8 = relu_grad(%1, %3) : f32[4,5]
  {after}
  return %9
"""


@pytest.mark.parametrize("before, after, read", [
    ("%4 = neg(%0)", "%9 = mul(%8, %2)", 2),
    ("%4 = neg(%1)", "%9 = mul(%8, %2)", 2),
    ("%4 = neg(%2)", "%9 = mul(%8, %0)", 2),
    ("%4 = neg(%0)", "%9 = mul(%8, %0)", 1),                 # the result is not needed later,
    ("%4 = neg(%2)", "%9 = mul(%8, %1)", 1),                 # or the operand is anyway
    ("write neg(%2)", "%9 = mul(%8, %2)", 1),                # one of them is another by then
    ("write neg(%1)", "%9 = mul(%8, %2)", 1),
])
def test_gradients_read_results_where_that_lets_operands_go(before, after, read):
    typed = lambda line: line if line.startswith("write") else f"{line} : f32[4,5]"
    g = parse(READS.format(before=typed(before), after=typed(after)).strip() + "\n")
    nodes = read_results(Listing(g.nodes, g.roots(), g.types, {9})).nodes
    assert [int(n.ins[0]) for n in nodes if n.op.name == "relu_grad"] == [read]
    x = np.random.default_rng(0).standard_normal((4, 5)).astype("f4")
    one, other = (interpret(Graph(ns, g.types, g.inputs, g.results), x.copy())[0]
                  for ns in (g.nodes, nodes))
    assert one.tobytes() == other.tobytes()


def test_the_operand_of_a_gradient_that_is_a_result_is_read():
    g = parse(
        READS.format(before="%4 = neg(%0) : f32[4,5]", after="%9 = mul(%8, %2) : f32[4,5]").strip()
        + "\n")
    assert read_results(Listing(g.nodes, g.roots(), g.types, {9, 1})).nodes == g.nodes


@pytest.mark.parametrize("op", [op for op in REGISTRY.values() if getattr(op, "at_result", False)],
                         ids=str)
@pytest.mark.parametrize("dtype", ["f4", "f8", "f2"])
def test_a_gradient_that_may_be_read_at_the_result_is_the_same_there(op, dtype):
    special = [0, -0.0, np.inf, -np.inf, np.nan, 5e-324, -5e-324, 6e-8, -6e-8]
    x = np.concatenate([np.random.default_rng(0).standard_normal(100), special]).astype(dtype)
    grad, at = op.gradient(0)
    g = np.arange(1, len(x) + 1).astype(dtype)
    one, other = (grad.forward(*[v if k == 0 else g for k in at]) for v in (x, op.forward(x)))
    assert one.tobytes() == other.tobytes()
