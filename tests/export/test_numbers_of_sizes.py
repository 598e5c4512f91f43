"""Numbers that Python computes of sizes and that are no whole ones, `1 / n`, and attributes of ops
that go by sizes: one export serves all sizes. So it does where a size decides whether elements lie
as wanted, and where whole numbers of the example are places in a dimension that differs."""

import math

import numpy as np
import pytest
import whet
import whet.nn.functional as F
from whet.jit import Dim
from whet.jit.export import ArchiveError, PreconditionError
from whet.jit.export.size_formulas import SizeFormula

from tests.export import models, test_library
from tests.export.damage import format_of, with_formula
from tests.export.test_library import CALL

BOUNDS = {"x": {0: Dim("rows", min=1, max=16), 1: Dim("n", min=2, max=30)}}
SIZES = (2, 5), (1, 2), (3, 7), (16, 30), (4, 4), (5, 3)
# each a function of a tensor of rows, n and 4
CASES = {
    "a mean by hand": lambda x: x.sum(1) * (1.0 / x.shape[1]),
    "scaled by a root": lambda x: x / math.sqrt(x.shape[1]) + x * x.shape[0] ** -0.5,
    "scaled by a logarithm": lambda x: x * math.log(x.shape[1] + 1),
    "a grid": lambda x: whet.arange(x.shape[1])[:, None] * (2.0 / (x.shape[1] - 1)) - 1 + x,
    "rounded up": lambda x: x[:, : math.ceil(x.shape[1] / 2)] * 2,
    "rounded down": lambda x: x[:, : math.floor(x.shape[1] * 0.7)] * 2,
    "rounded by int()": lambda x: x[:, : int(x.shape[1] / 2)] * 2,
    "rounded by int() of a product": lambda x: x[:, : int(x.shape[1] * 0.7)] * 2,
    "as many as in a row": lambda x: x.reshape(-1, int(x.nelement() / x.shape[0])) * 2,
    "rounded to even": lambda x: x[:, : round(x.shape[1] / 2)] * 2,
    "half as many": lambda x: F.interpolate(x.mT, scale_factor=0.5),
    "half as many again": lambda x: F.interpolate(x.mT, scale_factor=1.5, mode="linear"),
    "the largest half": lambda x: x.topk(max(1, x.shape[1] // 2), 1)[0],
    "three at most": lambda x: x.topk(min(3, x.shape[1]), 1)[0],
    "a triangle beside a past": lambda x: x.mT @ whet.ones(
        x.shape[1], x.shape[0] + x.shape[1]).tril(x.shape[0])[:, : x.shape[1]],
    "filled with a size": lambda x: x * whet.full((4,), x.shape[1]),
    "a sampled grid": lambda x: F.grid_sample(
        x[:, None], x[:, :2, None, :2].tanh(), "nearest", "border", align_corners=True),
    "chunks": lambda x: x.chunk(2, 1)[0] * 2,
}


@pytest.fixture(scope="module", params=CASES)
def exported(request):
    """(the function, what was exported)"""
    whet.manual_seed(3)
    fn = CASES[request.param]
    return fn, whet.export(fn, whet.randn(2, 5, 4), dynamic=BOUNDS)


def test_the_function_and_its_archive(exported, tmp_path):
    fn, function = exported
    assert "?" not in repr(function.results), function.results
    function.save(tmp_path / "model.whet")
    loaded = whet.load(tmp_path / "model.whet")
    for sizes in SIZES:
        x = whet.randn(*sizes, 4)
        assert models.same(function(x), fn(x)), sizes
        assert models.same(loaded(x), fn(x)), sizes


def test_the_onnx_model(exported, tmp_path):
    pytest.importorskip("onnx")
    fn, function = exported
    function.to_onnx(tmp_path / "model.onnx")
    read = whet.onnx.load(tmp_path / "model.onnx")
    for sizes in SIZES:
        x = whet.randn(*sizes, 4)
        wanted = fn(x).numpy()
        made = read(x).detach().numpy()
        assert made.shape == wanted.shape, sizes
        np.testing.assert_allclose(made, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.skipif(test_library.pytestmark.args[0], reason="no linker")
@pytest.mark.parametrize("name", (
    "a mean by hand", "scaled by a root", "scaled by a logarithm", "rounded up", "rounded to even",
    "the largest half", "a triangle beside a past"))
def test_the_library(name, tmp_path):
    fn = CASES[name]
    function = whet.export(fn, whet.randn(2, 5, 4), dynamic=BOUNDS)
    function.compile(tmp_path / "model.so", target=["x86-64-v3"])
    model = CALL.Model(tmp_path / "model.so", level="x86-64-v3")
    for rows, n in SIZES:
        x = whet.randn(rows, n, 4)
        made, = model(x.numpy(), sizes={"rows": rows, "n": n})
        assert made.tobytes() == fn(x).numpy().tobytes(), (rows, n)
    model.close()


def test_a_size_at_which_python_divides_by_zero_is_out_of_bounds():
    def grid(x):
        return x * (2.0 / (x.shape[0] - 1)) - 1

    with pytest.warns(UserWarning, match="n is at least 2, not 1"):
        function = whet.export(grid, whet.randn(5), dynamic={"x": {0: Dim("n", min=1, max=9)}})
    with pytest.raises(PreconditionError, match="n is from 2 to 9"):
        function(whet.randn(1))


@pytest.mark.parametrize("pool", (F.avg_pool1d, F.max_pool1d))
def test_sizes_smaller_than_a_window_are_out_of_bounds(pool):
    function = whet.export(
        lambda x: pool(x, 3), whet.randn(1, 2, 5), dynamic={"x": {2: Dim("n", max=9)}})
    assert function(whet.randn(1, 2, 3)).shape == (1, 2, 1)
    with pytest.raises(PreconditionError, match="n is from 3 to 9"):
        function(whet.randn(1, 2, 2))


# ---- elements that lie as wanted at some sizes ---------------------------------------------------
def windows(x):
    """Windows of a mask that is written beforehand: at a width of 4 they are a view of it."""
    rows, columns = x.shape
    mask = whet.zeros(rows, columns)
    mask[:, :-2] = 1
    return mask.view(rows // 4, 4, columns // 4, 4).permute(0, 2, 1, 3).reshape(-1, 16) + x.sum()




@pytest.mark.parametrize("sample", ((8, 12), (8, 4), (4, 4)))
def test_windows_are_copied_or_seen(sample):
    quarters = {0: Dim("rows", max=24, multiple=4), 1: Dim("columns", max=24, multiple=4)}
    function = whet.export(windows, whet.randn(*sample), dynamic={"x": quarters})
    for sizes in ((4, 4), (8, 4), (4, 8), (12, 16), (24, 24)):
        x = whet.randn(*sizes)
        assert models.same(function(x), windows(x)), sizes


def test_what_is_written_to_is_not_seen_and_copied():
    """Where writes to a view would reach its memory, and those to a copy would not."""
    def both(x):
        base = x * 1
        seen = base.view(x.shape[0] // 4, 4, x.shape[1] // 4, 4).permute(0, 2, 1, 3).reshape(-1, 16)
        seen += 1
        return base, seen

    quarters = {0: Dim("rows", max=24, multiple=4), 1: Dim("columns", max=24, multiple=4)}
    for sample in ((8, 12), (8, 4)):
        try:
            function = whet.export(both, whet.randn(*sample), dynamic={"x": quarters})
        except whet.jit.export.ExportError:
            continue
        for sizes in ((4, 4), (8, 4), (4, 8), (12, 16)):
            x = whet.randn(*sizes)
            try:
                made = function(x)
            except PreconditionError:
                continue
            assert models.same(made, both(x)), sizes


# ---- places in dimensions that differ ------------------------------------------------------------
def neighbours(x, edges):
    """What each node of a graph gets from its neighbours."""
    source, target = edges
    return whet.zeros_like(x).index_add(0, target, x[source])


def test_places_stay_within_sizes_that_are_tried(tmp_path):
    whet.manual_seed(3)
    edges = whet.tensor([[8, 0, 3, 7], [1, 8, 5, 2]])
    dims = {"x": {0: Dim("nodes", min=1, max=12)}, "edges": {1: Dim("edges", min=0, max=9)}}
    function = whet.export(neighbours, whet.randn(9, 3), edges, dynamic=dims)
    for nodes, count in ((1, 2), (4, 9), (12, 1), (5, 0)):
        x, given = whet.randn(nodes, 3), whet.randint(0, nodes, (2, count))
        assert models.same(function(x, given), neighbours(x, given)), (nodes, count)
    pytest.importorskip("onnx")
    function.to_onnx(tmp_path / "graph.onnx")  # which tries fewer nodes than the example has


def test_where_bags_begin_stays_in_order():
    """Elements of the example are repeated for more bags: they may not begin anew with 0."""
    words, offsets = whet.tensor([1, 0, 2, 1, 2]), whet.tensor([0, 1, 3])
    dims = {"words": {0: Dim("words", min=1, max=20)}, "offsets": {0: Dim("bags", min=1, max=9)}}
    bag = whet.nn.EmbeddingBag(3, 4)

    def bags(words, offsets):
        return bag(words, offsets)

    function = whet.export(bags, words, offsets, dynamic=dims)
    words, offsets = whet.tensor([2, 1, 0, 0, 1, 2, 2]), whet.tensor([0, 0, 4, 6, 7])
    assert function(words, offsets).tolist() == bag(words, offsets).tolist()


def test_an_example_may_have_an_empty_past():
    def joined(x, past):
        return whet.cat([past, x]).cumsum(0)

    dims = {"x": {0: Dim("n", min=1, max=9)}, "past": {0: Dim("past", min=0, max=9)}}
    function = whet.export(joined, whet.randn(3, 2), whet.zeros(0, 2), dynamic=dims)
    for n, past in ((1, 0), (1, 4), (5, 9)):
        x, before = whet.randn(n, 2), whet.randn(past, 2)
        assert models.same(function(x, before), joined(x, before)), (n, past)


# ---- formulas ------------------------------------------------------------------------------------
def test_formulas_with_fractions_in_words():
    formula = SizeFormula("ceil(s0 / 2)", 1)
    assert [formula.at([n]) for n in (1, 2, 5)] == [1, 1, 3] and formula.has_fractions
    assert SizeFormula("pow(s0, -0.5) * sqrt(s1) + log(s0)", 2).at([4, 9]) == 1.5 + math.log(4)
    assert not SizeFormula("max(s0 // 2, 3) % 5", 1).has_fractions
    with pytest.raises(PreconditionError, match="divides by 0"):
        SizeFormula("1.0 / (s0 - 1)", 1).at([1])
    with pytest.raises(PreconditionError, match="has no value"):
        SizeFormula("log(s0 - 1)", 1).at([1])


@pytest.mark.parametrize("text, said", (
    ("exp(s1)", "is no expression"), ("sqrt(s1, 2)", "is no expression"),
    ("1.0 / (s1 - 5)", "does not fit the example"), ("1e999", "is no expression"),
    ("0.25", "does not fit the example")))
def test_a_damaged_fraction_is_refused(text, said, tmp_path):
    fn = CASES["a mean by hand"]
    whet.export(fn, whet.randn(2, 5, 4), dynamic=BOUNDS).save(tmp_path / "x.whet")
    assert format_of(tmp_path / "x.whet") == 5
    with_formula(tmp_path / "x.whet", tmp_path / "bad.whet", text)
    with pytest.raises(ArchiveError, match=said):
        whet.load(tmp_path / "bad.whet")
