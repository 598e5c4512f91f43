"""Graphs as pictures and as networkx graphs."""
import itertools
import json
import random
import re
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

import networkx
import numpy as np
import pytest
import whet
from whet import jit, nn
from whet.ir import cost, drawing, drawing_layout, folded_drawing
from whet.ir.drawing import dependencies, to_networkx
from whet.ir.drawing_layout import Layout, layers, nearest
from whet.ir.folded_drawing import Folded, View
from whet.ir.interpret import interpret
from whet.jit.report import page
from whet.jit.report.explain import graph_inputs

from tests import graphs


@pytest.mark.parametrize("name", graphs.CASES)
def test_any_topological_order_computes_the_same(name):
    f, args = graphs.traced(name)
    if any(n.kind == "draw" for n in f.recorded.nodes):
        pytest.skip("draws are numbered in the order of the run")
    g, g2 = f.recorded, f.recorded
    nx = to_networkx(g)
    assert (networkx.is_directed_acyclic_graph(nx)
            and nx.number_of_nodes() == len(g.nodes) + len(g.inputs))
    arrays = [t._array.copy() for t in graph_inputs(f, args)]
    twin = [a.copy() for a in arrays]
    priority = [random.Random(1).random() for _ in g.nodes]
    order = networkx.lexicographical_topological_sort(
        nx, key=lambda k: -1 if isinstance(k, str) else priority[k])
    g2.nodes = [g.nodes[k] for k in order if not isinstance(k, str)]
    for a, b in zip([*interpret(f.recorded, *arrays), *arrays], [*interpret(g2, *twin), *twin]):
        assert a.tobytes() == b.tobytes()


def test_dominators():
    f = jit.trace(lambda x: (y := x.exp()) * 2 + y.sum())
    f(whet.ones(3))
    g = f.recorded
    names = {k: g.nodes[k].op.name if isinstance(k, int) else k for k in to_networkx(g)}
    dominator = {
        names[k]: names[d] for k, d in networkx.immediate_dominators(to_networkx(g), "%0").items()
        if k != "%0"}
    assert dominator == {"exp": "%0", "mul": "exp", "sum": "exp", "add": "exp"}


def test_writes_stay_between_reads():
    def f(x):
        a = x * 2
        x.add_(1)
        return a + x[0]
    traced = jit.trace(f)
    traced(whet.ones(3))
    assert [n.op.name for n in traced.recorded.nodes] == ["mul", "add", "slice", "add"]
    found = {(a, b, kind) for a, b, _, kind in dependencies(traced.recorded)}
    assert found == {("%0", 0, "value"), ("%0", 1, "value"), (0, 1, "order"), ("%0", 2, "value"),
                     (1, 2, "order"), (0, 3, "value"), (2, 3, "value"), (1, 3, "order")}


# ---- pictures ------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", graphs.CASES)
def test_pictures_are_whole_and_alone(name):
    f, _ = graphs.traced(name)
    for g in (f.recorded, f.graph):
        said = drawing.svg(g)
        root = ElementTree.fromstring(said)
        titles = [t.text for t in root.iter("{http://www.w3.org/2000/svg}title")]
        for n in g.nodes:
            assert any(t.startswith(n.head()) and n.line in t for t in titles)
        assert ("<script" not in said and "href" not in said and "url(" not in said
                and said.count("http") == 1)
        assert said == drawing.svg(g)


def views_of(said):
    """The graphs in a page: as it runs, and as recorded."""
    return json.loads(re.search(r'getElementById\("whet-[0-9a-f]+"\), (.*)\)</script>', said)[1])


def test_a_page_has_both_graphs_and_what_they_cost(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    f, _ = graphs.traced("chain")
    path = f.show(tmp_path / "page.html")
    said = open(path, encoding="utf-8").read()
    assert (path == str(tmp_path / "page.html") and said.startswith("<!DOCTYPE html>")
            and "As it runs" in said and "As recorded" in said)
    run, recorded = (g["views"] for g in views_of(said))
    (title, *_), = [b[6][0] for b in run[0]["boxes"] if "fused" in b[4]]
    assert (title == "kernel of 6" and len(run) == 2 and len(run[1]["boxes"]) == 6
            and len(recorded) == 1)
    # the hue of the kernel that they become
    assert sum(b[5] == 213 for b in recorded[0]["boxes"]) == 6
    assert all("graphs.py:" in b[7] for b in run[1]["boxes"])
    assert (not re.search(r"<script [^>]*src|<link|src=|href=|@import|url\(|fetch\(", said)
            and "<h1>&lt;lambda&gt; (graphs.py:" in f._repr_html_())
    assert open(f.show(), encoding="utf-8").read() == said
    picture = open(f.show(tmp_path / "picture.svg"), encoding="utf-8").read()
    assert ElementTree.fromstring(picture) is not None and picture.count("<svg") == 3


def test_a_png_is_one_or_refused(tmp_path, monkeypatch):
    f, _ = graphs.traced("chain")
    path = f.show(tmp_path / "a.PNG")
    assert open(path, "rb").read(8) == b"\x89PNG\r\n\x1a\n"
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match="drawn by matplotlib, which is not installed"):
        f.show(tmp_path / "b.png")
    for name in ("c.pdf", "d"):
        with pytest.raises(ValueError, match="a path ends in one of .html, .htm, .svg, and .png"):
            f.show(tmp_path / name)
    assert [p.name for p in tmp_path.iterdir()] == ["a.PNG"]


@pytest.mark.parametrize("name", ["a graph", "a large graph"])
def test_a_notebook_shows_a_graph(name, monkeypatch):
    """As a picture of its nodes, or of its groups, and nothing from outside."""
    if name == "a graph":
        g = graphs.traced("chain")[0].recorded
        boxes = len(g.nodes) + len(g.inputs) + 1
    else:
        g = training_step().recorded
        monkeypatch.setattr(folded_drawing, "LARGE", len(g.nodes) - 1)
        boxes = len(Folded(g).views[0].boxes)
        assert boxes < len(g.nodes)
    said = g._repr_html_()
    page = ElementTree.fromstring(f"<body>{said}</body>")
    nodes = [e for e in page.iter("{http://www.w3.org/2000/svg}g")
             if e.get("class", "").startswith("node")]
    assert len(nodes) == boxes and page.find("p").text == repr(g)
    assert not re.search(r"<script|href|url\(|src=", said)


def test_a_page_of_nothing_says_why(tmp_path):
    f = jit.trace(lambda x: x.numpy().fill(0))
    assert "it has not been called" in f._repr_html_()
    f(whet.ones(2))
    assert "memory through NumPy" in open(f.show(tmp_path / "a.html")).read()
    with pytest.raises(ValueError, match="no recording to show"):
        f.show(tmp_path / "a.svg")


def test_names_are_escaped(tmp_path):
    table = {"</script><b>&": whet.ones(3)}
    f = jit.trace(lambda x: x + table["</script><b>&"])
    f(whet.ones(3))
    said = open(f.show(tmp_path / "a.html")).read()
    assert said.count("</script>") == 1 and "<b>&" not in said
    assert any("</script><b>&" in b[7] for b in views_of(said)[0]["views"][0]["boxes"])


# ---- large graphs --------------------------------------------------------------------------------
def training_step():
    model = nn.Sequential(
        *[nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 4)) for _ in range(8)])
    opt = whet.optim.Adam(model.parameters())

    @jit.trace
    def step(x):
        loss = model(x).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss
    for _ in range(3):
        step(whet.ones(2, 4))
    return step


def test_a_large_graph_is_views_of_few_boxes():
    step = training_step()
    for g in (step.recorded, step.graph):
        folded = Folded(g, own=page.lines_of(step.fn))
        parts = [v for v in folded.views if v.kernel is None]
        # each node is in one
        assert (sorted(p for v in parts for p in v.parts
                       if type(p) is int) == list(range(len(g.nodes))))
        assert len(g.nodes) > 2 * folded_drawing.MOST
        assert 3 < len(folded.views[0].parts) <= folded_drawing.MOST
        for v in folded.views:
            assert len(v.boxes) <= folded_drawing.MOST + 2 * folded_drawing.AROUND + 6
            assert v.drawing().width < 9 * 400
            assert ({k for link in v.links for k in link} <= v.boxes.keys()
                    and v.opens.keys() <= v.boxes.keys())
        names = [b.lines[0][0] for b in folded.views[0].boxes.values()]
        assert (any(name.startswith("model") for name in names) and "x" in names
                and any("result" in name for name in names))


def test_every_link_of_a_large_graph_is_in_a_view():
    g = training_step().recorded
    folded = Folded(g)

    def box(v, i):
        return next(("node", p) if type(p) is int else ("group", p.number) for p in v.parts
                    if i == p or type(p) is View and p.span[0] <= i < p.span[1])
    for a, b, _, kind in dependencies(g):
        if kind == "value" and type(a) is int:
            v = folded.where[a]
            while not v.span[0] <= b < v.span[1]:
                v = v.up
            assert (box(v, a), box(v, b)) in v.links or box(v, a) == box(v, b)


def test_runs_that_are_too_many_go_together():
    merged = folded_drawing.merged([(i, i + 1) for i in range(1000)])
    assert merged[-1][1] == 1000 and len(merged) <= folded_drawing.GROUPS + 1
    assert (folded_drawing.joined([(0, 2), (2, 5), (5, 6), (6, 8), (8, 90)])
            == [(0, 5), (5, 6), (6, 8), (8, 90)])
    assert (folded_drawing.module("opt.state[model.0.weight]['step']") == ("model", "0")
            == folded_drawing.module("model.0.weight.grad") and folded_drawing.module("x") == ())
    assert drawing_layout.narrow(dict.fromkeys("abcde", 0) | {"f": 1}, [("a", "f")], 2) == {
        "a": 0, "b": 0, "c": 2, "d": 2, "e": 3, "f": 1}


def test_boxes_do_not_overlap_and_lines_go_down():
    r = random.Random(3)
    for n in (1, 2, 10, 60):
        sizes = {i: (r.randint(20, 200), r.randint(20, 60)) for i in range(n)}
        edges = [(a, b) for a, b in itertools.combinations(range(n), 2) if r.random() < 2.5 / n]
        layer = layers(sizes, edges, late=set(range(0, n, 5)))
        assert all(layer[a] < layer[b] for a, b in edges) and min(layer.values()) == 0
        at = Layout(sizes, edges, layer)
        for a, b in itertools.combinations(range(n), 2):
            (xa, ya), (xb, yb) = at.place[a], at.place[b]
            (wa, ha), (wb, hb) = sizes[a], sizes[b]
            assert abs(xa - xb) >= (wa + wb) / 2 or ya >= yb + hb or yb >= ya + ha
        assert all(at.place[a][1] + sizes[a][1] < at.place[b][1] for a, b in edges)
        assert all(x - sizes[k][0] / 2 >= -1e-6 and x + sizes[k][0] / 2 <= at.width + 1e-6
                   for k, (x, _) in at.place.items() if k in sizes)


def test_a_tree_is_drawn_without_crossings():
    edges = [(i, 2 * i + k) for i in range(1, 16) for k in (0, 1)]
    shuffled = random.Random(0).sample(edges, len(edges))
    at = Layout({k: (30, 20) for k in range(1, 32)}, shuffled, layers(range(1, 32), shuffled))
    assert at.crossings(at.rows) == 0
    edges = [(k, k + 1) for k in range(4)] + [(0, 4)]
    chain = Layout({k: (30, 20) for k in range(5)}, edges, layers(range(5), edges))
    assert (np.ptp([chain.place[k][0] for k in range(1, 4)]) < 4
            and np.ptp([x for x, _, _ in chain.path[0, 4]]) < 4)


def test_what_is_far_away_is_named():
    def f(x, w):
        y = x.exp()
        for _ in range(20):
            x = (x * w).tanh()
        return x @ y
    traced = jit.trace(f)
    traced(whet.ones(3, 3), whet.ones(3))
    said = drawing.svg(traced.recorded)
    assert ("← %1" in said and "%1 : f32[3,3]" in said and "← w" in said
            and ElementTree.fromstring(said) is not None)
    assert said.count('class="value"') < 3 * 41


def test_nearest_places():
    assert nearest([0, 10], [1, 1], [0, 5]) == [0, 10]
    assert nearest([0, 0], [1, 1], [0, 4]) == [-2, 2]
    assert nearest([0, 0], [3, 1], [0, 4]) == [-1, 3]
    r = np.random.default_rng(0)
    wanted, weights, apart = r.normal(size=20), r.uniform(1, 2, 20), [0, *r.uniform(0, 1, 19)]
    best = np.array(nearest(wanted, weights, apart))
    assert all(b - a >= gap - 1e-9 for a, b, gap in zip(best, best[1:], apart[1:]))
    error = lambda x: (weights * (x - wanted) ** 2).sum()
    for _ in range(200):                     # no other places that are allowed are nearer
        other = (np.maximum.accumulate(best + r.normal(size=20) * 0.1 - np.cumsum(apart))
                 + np.cumsum(apart))
        assert error(other) >= error(best) - 1e-9


# ---- costs ---------------------------------------------------------------------------------------
def test_what_nodes_move_and_compute():
    f = jit.trace(lambda x, y: ((x * 2 + y).tanh(), x @ x.T, x.expand(4, 8, 16) + 1, x.sum(1), x[0]
                                ))
    f(whet.ones(8, 16), whet.ones(16))
    g = f.recorded
    found = {
        n.op.name: (cost.moved(n, g.types), cost.operations(n, g.types)) for n in reversed(g.nodes)}
    kb = 8 * 16 * 4
    assert (found["mul"] == (2 * kb, 128) and found["tanh"] == (2 * kb, 128)
            and found["permute"] == found["expand"] == found["slice"] == (0, 0))
    assert (found["matmul"] == (kb + 8 * 8 * 4, 2 * 8 * 8 * 16)
            or found["matmul"] == (2 * kb + 8 * 8 * 4, 2 * 8 * 8 * 16))
    assert found["sum"] == (kb + 32, 128)
    expanded = next(n for n in g.nodes
                    if n.outs and g.types[n.outs[0]].shape == (4, 8, 16) and not n.op.is_view)
    assert (cost.moved(expanded, g.types) == kb + 4 * kb
            and cost.operations(expanded, g.types) == 512)
    fused = f.graph.nodes[0]
    assert (fused.kind == "fused" and cost.moved(fused, g.types) == 2 * kb + 64
            and cost.operations(fused, g.types) == 3 * 128)
