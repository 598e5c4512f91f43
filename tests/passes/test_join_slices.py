"""Slices that were put into zeros, and added, are joined (`passes/join_slices.py`)."""
import random

import numpy as np
import pytest
import whet
from whet import jit
from whet.ir.graph import Graph
from whet.ir.interpret import interpret
from whet.ir.parse import parse
from whet.ir.values import Type
from whet.passes.join_slices import join_slices
from whet.passes.listing import Listing
from whet.passes.value_uses import memories

from tests.passes.pass_cases import graph_of

WHOLE = "(None, None, None)"


def joined(lines, inputs, results, dtype="f32", visible=()):
    """(the names of the ops that the pass leaves, results before it and after it) of a graph's
    text; inputs have special values."""
    text = ['graph "f":', *[f'  %{i} = input "argument {i}" "x{i}" : {dtype}{list(shape)}'
                            for i, shape in enumerate(inputs)],
            *[f"  {line}" for line in lines],
            f"  return {', '.join(f'%{r}' for r in results)}"]
    g = parse("\n".join(text).replace(", ", ",").replace(",", ", ") + "\n")
    arrays = [np.empty(g.types[k].shape, g.types[k].dtype) for k in range(len(g.types))]
    roots = memories(g.nodes, g.roots(), arrays)
    made = join_slices(Listing(g.nodes, roots, arrays, {*results, *visible}))
    types = {k: Type(a.dtype, a.shape, a.strides) for k, a in enumerate(made.arrays)}
    rng = np.random.default_rng(0)
    xs = []
    for i, _ in enumerate(inputs):
        x = rng.standard_normal(g.types[i].shape)
        flat = x.reshape(-1)
        flat[::5], flat[1::7] = -0.0, 0.0
        xs.append(x.astype(g.types[i].dtype))
    before, after = (interpret(Graph(nodes, t, g.inputs, g.results), *[x.copy() for x in xs])
                     for nodes, t in ((g.nodes, g.types), (made.nodes, types)))
    return ([n.op.name for n in made.nodes], [a.tobytes() for a in before],
            [a.tobytes() for a in after])


@pytest.mark.parametrize("dtype", ["f32", "f64", "f16", "bf16", "i64"])
@pytest.mark.parametrize("shape, index, way", [
    ((4,), "(%d,)", "stack"), ((2, 4), f"({WHOLE}, %d)", "stack"),
    ((2, 1, 4), f"({WHOLE}, %d, None)", "cat"), ((2, 1, 4), f"({WHOLE}, None, %d)", "cat")])
def test_steps_of_a_loop_are_joined(shape, index, way, dtype):
    d = index.count(WHOLE)
    size = [*shape[:d], 3, *shape[d + (way == "cat"):]]
    kind = f"{dtype}{size}"
    lines = [f"%{3 + k} = unslice(%{k}, size={tuple(size)}, index={index % k}) : {kind}"
             for k in (2, 0, 1)]
    lines += [f"%6 = add(%5, %3) : {kind}", f"%7 = add(%4, %6) : {kind}"]
    ops, before, after = joined(lines, 3 * [shape], [7], dtype)
    assert ops == [way, "add"] and before == after


RANGES = [f"%{2 + k} = unslice(%{k}, size=(4, 5), index=(({2 * k}, {2 * k + 2}, 1),)) : f32[4,5]"
          for k in range(2)]


def test_ranges_are_joined():
    ops, before, after = joined([*RANGES, "%4 = add(%2, %3) : f32[4,5]"], 2 * [(2, 5)], [4])
    assert ops == ["cat", "add"] and before == after


@pytest.mark.parametrize("lines, results, visible", [
    (["%4 = add(%2, %3) : f32[4,5]", "%5 = mul(%4, %2) : f32[4,5]"], [5], ()),     # read twice
    (["%4 = add(%2, %3) : f32[4,5]"], [4], (2,)),                                   # seen
    (["write neg(%0)", "%4 = add(%2, %3) : f32[4,5]"], [4], ()),                    # written to
    (["write neg(%2)", "%4 = add(%2, %3) : f32[4,5]"], [4], ()),
    (["%4 = add(%2, %2) : f32[4,5]"], [4], ())])
def test_what_others_want_or_write_to_stays(lines, results, visible):
    ops, before, after = joined([*RANGES, *lines], 2 * [(2, 5)], results, visible=visible)
    assert "cat" not in ops and before == after


@pytest.mark.parametrize("indices", [
    ["((0, 2, 1),)", "((1, 3, 1),)"],                  # they overlap
    ["((0, 2, 1),)", "((3, 5, 1),)"],                  # one element is left between them
    ["((0, 4, 2),)", "((1, 5, 2),)"],                  # they have a step
    ["((0, 2, 1), (0, 5, 1))", "((2, 4, 1), (0, 5, 1))"]])
def test_what_does_not_lie_side_by_side_stays(indices):
    n = 5 if "5" in indices[1] and "(0, 5" not in indices[1] else 4 if "4" in indices[1] else 3
    lines = [f"%{2 + k} = unslice(%{k}, size=({n}, 5), index={index}) : f32[{n},5]"
             for k, index in enumerate(indices)]
    ops, before, after = joined([*lines, f"%4 = add(%2, %3) : f32[{n},5]"], 2 * [(2, 5)], [4])
    assert "cat" not in ops and before == after


def test_what_was_added_before_is_added_to_all_of_it():
    lines = ["%3 = exp(%2) : f32[4,5]",
             *[line.replace("%3 =", "%5 =").replace("%2 =", "%4 =") for line in RANGES],
             "%6 = add(%3, %4) : f32[4,5]", "%7 = add(%6, %5) : f32[4,5]"]
    ops, before, after = joined(lines, [(2, 5), (2, 5), (4, 5)], [7])
    assert ops == ["exp", "cat", "add", "add"] and before == after
    written = [*lines[:4], "write neg(%3)", lines[4]]
    ops, before, after = joined(written, [(2, 5), (2, 5), (4, 5)], [7])
    assert "cat" not in ops and before == after


@pytest.mark.parametrize("seed", range(60))
def test_sums_in_any_order_have_their_bits(seed):
    """Pieces of one to three tensors' worth, some left out, other tensors and results between them,
    in any order, on either side of an addition."""
    rng = random.Random(seed)
    n, inputs, lines = rng.randint(2, 5), [], []
    kinds = [k for _ in range(rng.randint(1, 3)) for k in range(n) if rng.random() < 0.9]
    kinds += ["whole"] * rng.randint(0, 2) + ([] if len(kinds) > 1 else ["whole"] * 2)
    rng.shuffle(kinds)
    inputs = [(n, 3) if k == "whole" else (3,) for k in kinds]
    at, terms = len(kinds), []
    for i, k in enumerate(kinds):
        text = f"exp(%{i})" if k == "whole" else f"unslice(%{i}, size=({n}, 3), index=({k},))"
        lines.append(f"%{at} = {text} : f32[{n},3]")
        terms.append(at)
        at += 1
    acc, results = terms[0], []
    for t in terms[1:]:
        a, b = rng.choice([(acc, t), (t, acc)])
        lines.append(f"%{at} = add(%{a}, %{b}) : f32[{n},3]")
        acc, at = at, at + 1
        if rng.random() < 0.1:
            results.append(acc)
    _, before, after = joined(lines, inputs, [*results, acc] if acc not in results else results)
    assert before == after


def test_slices_that_are_read_twice_are_joined_in_layers():
    lines, at = [], 5
    for index in (0, 1, 0, 2, 1):
        lines.append(f"%{at} = unslice(%{at - 5}, size=(3, 4), index=({index},)) : f32[3,4]")
        at += 1
    total = 5
    for number in range(6, 10):
        lines.append(f"%{at} = add(%{total}, %{number}) : f32[3,4]")
        total, at = at, at + 1
    ops, before, after = joined(lines, 5 * [(4,)], [total])
    # the second ones are of the first two places alone
    assert ops == ["stack", "stack", "unslice", "add", "add"] and before == after


def test_a_loop_over_a_sequence_trains_in_a_pass_of_memory():
    def loss(x, w):
        h = whet.zeros(4, 8)
        for t in range(x.shape[1]):
            h = whet.tanh(x[:, t] @ w + h)
        return whet.autograd.grad((h * h).sum(), (x, w))
    x, w = whet.randn(4, 48, 8, requires_grad=True), whet.randn(8, 8, requires_grad=True)
    path = graph_of(loss, x, w)
    # a tensor like x for each of the 48 steps would be more
    assert path["memory"]["arena"] < 24 * x.numel() * x.element_size()


def test_sequences_of_other_batches_are_joined_by_the_same_plan():
    def loss(x):
        y = whet.zeros(x.shape[0], 3)
        for t in range(5):
            y = y + (x[:, t] * (t + 1)).exp()
        return whet.autograd.grad(y.sum(), x)[0]
    f = jit.trace(loss)
    for n in (2, 3, 4, 2, 6, 3, 4, 6):
        x = whet.randn(n, 5, 3, requires_grad=True)
        assert whet.equal(f(x), loss(x))


@pytest.mark.parametrize("part", [
    lambda x: x[:, None], lambda x: x[None], lambda x: x[..., None, :], lambda x: x[None, :, None]])
def test_gradients_of_new_axes_are_views(part):
    x = whet.randn(4, 5, requires_grad=True)
    path = graph_of(lambda x: whet.autograd.grad((part(x) * 2).exp().sum(), x), x)
    assert "unslice" not in path["graph"]


def test_steps_with_a_new_axis_are_joined():
    def scan(x, w):
        h = w
        for t in range(6):
            h = (h + x[:, t, :, None]).tanh()
        return whet.autograd.grad(h.sum(), x)
    path = graph_of(scan, whet.randn(4, 6, 5, requires_grad=True), whet.randn(4, 5, 3))
    assert "unslice" not in path["graph"], path["graph"]
