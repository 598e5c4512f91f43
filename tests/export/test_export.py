"""Exported functions: eager's bits, names and nesting, what must be so of a call."""

import collections
import dataclasses
import threading
import warnings

import numpy as np
import pytest
import whet
from whet import nn
from whet.jit.export import Exported, ExportError, PreconditionError

from tests.export import models


@pytest.fixture(scope="module")
def exported():
    """Each model, exported once."""
    return {name: (fn, args, whet.export(fn, *args)) for name, (fn, args) in models.made().items()}


@pytest.mark.parametrize("name", models.NAMES)
def test_an_exported_function_gives_eagers_bits(exported, name):
    fn, args, e = exported[name]
    for given in (args, models.others(args), models.others(args)):
        with whet.no_grad():
            wanted = fn(*given)
        assert models.same(wanted, e(*given))


@pytest.mark.parametrize("name", models.NAMES)
def test_the_graph_means_what_the_program_does(exported, name):
    from whet.ir.interpret import interpret
    from whet.ir.parse import parse
    from whet.ir.verify import verify

    _, _, e = exported[name]
    table = []
    again = parse(verify(e.graph).text(table), table)
    assert again == e.graph
    constants = [e.constants[x.name] for x in e.graph.inputs if x.place == "constant"]
    made = interpret(again, *e.samples.inputs, *constants)
    assert all(a.tobytes() == b.tobytes() for a, b in zip(made, e.samples.results))


def test_constants_have_the_names_of_state_dict(exported):
    fn, _, e = exported["perceptron"]
    assert list(e.constants) == list(fn.state_dict())
    assert all(models.same(e.constants[k], t) for k, t in fn.state_dict().items())


def test_a_shared_constant_is_there_once(exported):
    assert list(exported["tied"][2].constants) == ["embedding.weight"]


def test_constants_of_a_function_have_its_variables_names():
    table = {"w": [whet.ones(2)]}
    layer = nn.Linear(2, 2)
    assert list(whet.export(lambda x: x + table["w"][0], whet.ones(2)).constants) == ["table.w.0"]
    assert list(whet.export(lambda x: layer(x), whet.ones(2)).constants) == ["weight", "bias"]


def test_constants_are_those_of_the_export():
    layer = nn.Linear(3, 2)
    x = whet.randn(4, 3)
    e = whet.export(layer, x)
    before = e(x)
    with whet.no_grad():
        layer.weight.zero_()
    assert models.same(e(x), before)


def test_what_constants_alone_make_is_computed_beforehand():
    w = nn.Parameter(whet.randn(3, 3))
    e = whet.export(lambda x: x + w.softmax(0).exp(), whet.ones(3, 3))
    assert [n.op.name for n in e.graph.nodes] == ["add"] and list(e.constants) == ["w.folded"]
    assert e.rewrites == ["computed 2 constants beforehand"]


def test_a_check_of_constants_is_made_beforehand():
    window = whet.hann_window(16)

    def halved(x):
        frames = whet.stft(x, 16, 4, window=window, return_complex=True)
        return whet.istft(frames / 2, 16, 4, window=window, length=64)

    x = whet.randn(2, 64)
    e = whet.export(halved, x)
    names = [n.op and n.op.name for n in e.graph.nodes]
    assert names.count("index_add") == 1 and None not in names  # no guard is left
    assert models.same(e(x), halved(x))


def test_a_named_rewrite_is_done_and_told():
    fn, args = models.made()["convolutional"]
    e = whet.export(fn, *args, rewrites=["fold_batch_norm"])
    assert "batch_norm_eval" not in [n.op.name for n in e.graph.nodes]
    assert any("put batch_norm_eval into the weights" in r for r in e.rewrites)
    assert whet.allclose(e(*args), fn(*args), atol=1e-5)
    e.verify()
    with pytest.raises(ValueError, match="rewrites are some of"):
        whet.export(fn, *args, rewrites=["magic"])


def test_inputs_and_results_have_names_and_types(exported):
    _, _, e = exported["scored"]
    assert list(map(repr, e.inputs)) == [
        "batch.x.first: f32[3,2]",
        "batch.x.second: f32[3,2]",
        "batch.y.0: i64[4]",
    ]
    assert [v.name for v in e.results] == [
        "scores.total",
        "scores.parts.0",
        "scores.parts.1",
        "pair.first",
        "list.0",
        "list.1",
    ]
    assert isinstance(e, Exported) and repr(e).startswith(
        "<exported scored(batch.x.first: f32[3,2]"
    )


def test_arguments_go_by_name_and_default(exported):
    fn, (batch,), e = exported["scored"]
    assert models.same(e(batch=batch), fn(batch))
    assert models.same(e(batch, 2.0, mode="sum"), fn(batch))
    for args, kwargs, said in (
        ((batch, 3.0), {}, "argument `scale` is 3.0; the function was exported for 2.0"),
        ((batch,), {"mode": "max"}, "argument `mode` is 'max'"),
        ((), {}, "argument `batch` is missing"),
        ((batch,), {"other": 1}, "unexpected keyword argument 'other'"),
        (({"x": 1},), {}, "a dict with the keys 'x', 'y'"),
        (({"x": batch["x"], "y": []},), {}, "argument `batch.y` is a list of 0; .* a list of 1"),
        (({"x": 1, "y": batch["y"]},), {}, "with the field `first`"),
    ):
        with pytest.raises(PreconditionError, match=said):
            e(*args, **kwargs)


def test_another_type_is_refused(exported):
    _, _, e = exported["perceptron"]
    for x, said in (
        (whet.ones(3, 5), r"f32\[3,5\]"),
        (whet.ones(4, 5, dtype=whet.float64), r"f64\[4,5\]"),
    ):
        with pytest.raises(
            PreconditionError, match=f"input `input` is {said}, but .* for f32\\[4,5\\]"
        ):
            e(x)


def test_any_layout_and_numpy_arrays_are_taken(exported):
    fn, _, e = exported["perceptron"]
    x = whet.randn(5, 4).t()
    assert models.same(e(x), fn(x.contiguous()))
    assert models.same(e(x.numpy()), fn(x.contiguous()))
    assert models.same(e(x.unsqueeze(0).expand(2, 4, 5)[1]), e(x))


def test_results_never_require_grad_and_have_memory_of_their_own():
    w = nn.Parameter(whet.ones(2, 2))
    x = whet.ones(2, 2, requires_grad=True)
    e = whet.export(lambda x: (x, x.t(), w, x + w), x)
    for r in e(x):
        assert not r.requires_grad
        r.zero_()
    assert x.sum() == 4 and w.sum() == 4 and e(x)[2].sum() == 4


def test_a_branch_on_data_is_a_precondition():
    def signed(x):
        if x.sum() > 0:
            return x * 2
        return -x

    e = whet.export(signed, whet.ones(3))
    assert any("test_export.py" in p.line for p in e.preconditions)
    assert models.same(e(whet.ones(3) * 3), whet.ones(3) * 6)
    with pytest.raises(
        PreconditionError, match=r"Python goes on from is another \(test_export.py:\d+\)"
    ):
        e(-whet.ones(3))


def test_eagers_error_is_raised_for_data_that_an_op_refuses(exported):
    _, _, e = exported["tied"]
    with pytest.raises(IndexError, match="index 12 is out of range for a table of 12 rows"):
        e(whet.tensor([[1, 2, 3], [12, 0, 5]]))


def test_control_flow_inside_of_the_graph():
    e = whet.export(
        lambda x: whet.cond(x.sum() > 0, lambda a: a * 2, lambda a: -a, (x,)), whet.ones(3)
    )
    assert models.same(e(-whet.ones(3)), whet.ones(3))


def test_a_traced_function_and_a_method_are_exported():
    layer = nn.Linear(3, 2)
    x = whet.randn(2, 3)
    assert models.same(whet.export(whet.jit.trace(layer), x)(x), layer(x))
    assert models.same(whet.jit.trace(layer.forward).export(x)(x), layer(x))


def test_a_trace_takes_in_an_exported_function():
    e = whet.export(nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)), whet.ones(3, 4))
    f = whet.jit.trace(lambda x: e(x).softmax(-1))
    for i in range(8):
        x = whet.randn(3, 4, requires_grad=i % 2 == 1)
        assert whet.equal(f(x), e(x).softmax(-1)) and not f(x).requires_grad
    assert f.explain(data=True)["calls"]["replayed"] > 10
    with pytest.raises(PreconditionError, match="x|input"):
        f(whet.ones(2, 4))


def test_a_trace_takes_in_an_exported_function_that_asks_its_data():
    table = nn.Embedding(9, 8)
    e = whet.export(lambda ids: table(ids) * 2, whet.randint(9, (3, 5)))
    f = whet.jit.trace(lambda ids: e(ids).sum(1))
    for _ in range(4):
        ids = whet.randint(9, (3, 5))
        assert whet.equal(f(ids), e(ids).sum(1))
    with pytest.raises(IndexError, match="out of range"):
        f(whet.full((3, 5), 9))


def test_transforms_see_the_ops_of_an_exported_function(exported):
    fn, _, e = exported["perceptron"]
    x = whet.randn(3, 4, 5)
    assert whet.allclose(whet.func.vmap(e)(x), fn(x))


@dataclasses.dataclass
class Output(collections.OrderedDict):
    """A result as libraries have it: a dataclass whose fields that are not None are entries."""
    logits: whet.Tensor = None
    loss: whet.Tensor = None
    states: tuple = None

    def __post_init__(self):
        for f in dataclasses.fields(self):
            if getattr(self, f.name) is not None:
                self[f.name] = getattr(self, f.name)


def test_a_dataclass_with_its_fields_as_entries_is_a_result(tmp_path):
    def f(x):
        return Output(logits=x * 2, states=(x + 1, x + 2))
    x = whet.ones(3)
    exported = whet.export(f, x)
    y = exported(x)
    assert type(y) is Output and list(y) == ["logits", "states"] and y.loss is None
    assert y["logits"] is y.logits and models.same(y["logits"], x * 2)
    assert y["states"] is y.states and models.same(y.states[1], x + 2)
    exported.save(tmp_path / "m.whet")
    assert models.same(whet.load(tmp_path / "m.whet")(x).logits, x * 2)


def test_a_dataclass_with_other_entries_is_refused():
    def f(x):
        y = Output(logits=x * 2)
        y["more"] = x + 1
        return y
    with pytest.raises(ExportError, match=r"returns a \S*Output, with entries that are no fields"):
        whet.export(f, whet.ones(3))


# ---- what cannot be exported -----------------------------------------------------
COUNT, SEEN = [0], []


def counts(x):
    COUNT[0] += 1
    return x


def writes(x):
    x.add_(1)
    return x


def fills(d):
    d["y"] = d["x"] + 1
    return d["x"]


def keeps(x):
    SEEN.append(x * 2)
    return x


def prints(x):
    print("x")
    return x + 1


@pytest.mark.parametrize(
    "fn, args, said",
    [
        (counts, [whet.ones(2)], r"changes Python's state: `COUNT\[0\]` \(test_export.py"),
        (writes, [whet.ones(2)], r"writes to its argument `x` \(test_export.py"),
        (fills, [{"x": whet.ones(2)}], "changes Python's state"),
        (keeps, [whet.ones(2)], "Python's state"),
        (prints, [whet.ones(2)], r"prints or logs \(test_export.py"),
        (
            lambda x: whet.rand(2) + x,
            [whet.ones(2)],
            r"draws random numbers \(\w+\) \(test_export.py",
        ),
        (lambda x: object(), [whet.ones(2)], "returns an object"),
        (lambda x: {"a": [Switch]}, [whet.ones(2)], r"returns a type \(`a.0`\)"),
        (
            lambda m, x: m(x),
            [nn.Linear(2, 2), whet.ones(2)],
            "argument `m` is a whet.nn.linear.Linear",
        ),
    ],
    ids=lambda x: getattr(x, "__name__", None),
)
def test_what_does_more_than_compute_is_refused(fn, args, said):
    with pytest.raises(ExportError, match=said):
        whet.export(fn, *args)


class Samples(nn.Module):
    def forward(self, x):
        """Warns of itself, and has whet warn of what the default is."""
        warnings.warn(f"{type(self).__name__} is old", DeprecationWarning, stacklevel=1)
        grid = whet.linspace(-1, 1, 8).reshape(1, 2, 2, 2).expand(len(x), -1, -1, -1)
        return nn.functional.grid_sample(x, grid) * 2


@pytest.mark.parametrize("dynamic", [None, True])
def test_warnings_are_given_by_the_export_alone(dynamic):
    model, x = Samples(), whet.arange(32.0).reshape(2, 1, 4, 4)
    with pytest.warns(UserWarning, match="align_corners"), \
            pytest.warns(DeprecationWarning, match="Samples is old"):
        exported = whet.export(model, x, dynamic=dynamic)
        want = model(x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert exported(x).equal(want)


class Switch(nn.Module):
    def forward(self, x):
        return x * 2 if self.training else x


@pytest.mark.parametrize(
    "parts, name",
    [
        ([nn.Linear(3, 3), nn.BatchNorm1d(3)], "1"),
        ([nn.Linear(3, 3), nn.ReLU(), nn.Dropout(0.5)], "2"),
        ([Switch(), nn.Linear(3, 3)], "0"),
    ],
)
def test_a_module_in_training_mode_that_matters_is_refused_by_name(parts, name):
    m = nn.Sequential(*parts)
    before, state = {k: t.clone() for k, t in m.state_dict().items()}, whet.get_rng_state()
    for fn in (m, lambda x: m(x)):
        kind = type(m[int(name)]).__name__
        said = rf"module `{name}`, {kind}, is in training mode(.|\n)*eval"
        with pytest.raises(ExportError, match=said):
            whet.export(fn, whet.randn(4, 3, generator=whet.Generator().manual_seed(1)))
    assert m.training and m[int(name)].training
    assert all(models.same(t, before[k]) for k, t in m.state_dict().items())
    assert (whet.get_rng_state() == state).all()
    whet.export(m.eval(), whet.ones(4, 3))


def test_a_module_in_training_mode_that_does_the_same_is_exported():
    whet.export(nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Dropout(0.0)), whet.ones(2, 3))


# ---- telling, threads ------------------------------------------------------------
def test_explain_tells_all(exported):
    said = exported["convolutional"][2].explain()
    for part in (
        "inputs:\n  input: f32[2,3,8,8]",
        "results:\n  output: f32[2,10]",
        "0.weight: f32[8,3,3,3], 864 B",
        "preconditions:",
        "computed 2 constants beforehand",
        "convolution batch_norm_eval relu",
    ):
        assert part in said


def test_show_writes_a_page(exported, tmp_path):
    path = exported["transformer"][2].show(tmp_path / "page.html")
    with open(path, encoding="utf-8") as f:
        page = f.read()
    assert "As exported" in page and "what must be so" in page.lower()
    with pytest.raises(ValueError, match="ends in .html"):
        exported["transformer"][2].show(tmp_path / "page.txt")


def test_threads_share_an_exported_function():
    fn, args = models.made()["convolutional"]
    e = whet.export(fn, *args)
    given = [models.others(args) for _ in range(4)]
    with whet.no_grad():
        wanted = [fn(*xs) for xs in given]
    wrong = []

    def call(i):
        for _ in range(25):
            if not models.same(e(*given[i]), wanted[i]):
                wrong.append(i)

    threads = [threading.Thread(target=call, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


class Decoder(nn.Module):
    """It chooses the likeliest token again and again, until all examples have ended."""

    def __init__(self):
        super().__init__()
        self.known, self.cell, self.said = nn.Embedding(9, 8), nn.GRUCell(8, 8), nn.Linear(8, 9)

    def forward(self, state):
        def goes_on(i, state, last, tokens):
            return (i < 6) & (last != 1).any()

        def step(i, state, last, tokens):
            state = self.cell(self.known(last), state)
            last = self.said(state).argmax(-1)
            return i + 1, state, last, whet.where(whet.arange(6) == i, last[:, None], tokens)

        first = whet.zeros(state.shape[0], dtype=whet.int64)
        carried = whet.tensor(0), state, first, whet.zeros(state.shape[0], 6, dtype=whet.int64)
        return whet.while_loop(goes_on, step, carried)[3]


def test_a_loop_that_looks_tokens_up_is_one_node(tmp_path):
    model, state = Decoder().eval(), whet.randn(2, 8)
    exported = whet.export(model, state)
    assert [n.op.name for n in exported.graph.nodes].count("while_loop") == 1
    exported.save(tmp_path / "model.whet")
    again = whet.load(tmp_path / "model.whet")
    for scale in (0.1, 3.0, 10.0):
        state = whet.randn(2, 8) * scale
        assert again(state).tolist() == exported(state).tolist() == model(state).tolist()


@pytest.mark.parametrize("dtype", [whet.bfloat16, whet.float16], ids=str)
def test_a_type_for_products(dtype, tmp_path):
    model = whet.nn.Sequential(
        whet.nn.Linear(8, 16), whet.nn.GELU(), whet.nn.Linear(16, 4)).eval()
    x = whet.randn(3, 8)
    exported = whet.export(model, x, dtype=dtype, dynamic={"input": ("n", None)})
    with whet.autocast("cpu", dtype=dtype), whet.no_grad():
        wanted = model(x)
    assert exported(x).dtype == dtype and exported(x).tolist() == wanted.tolist()
    assert {t.dtype for k, t in exported.constants.items() if "weight" in k} == {dtype}
    exported.save(tmp_path / "half.whet")
    assert whet.load(tmp_path / "half.whet")(x).tolist() == wanted.tolist()


@pytest.mark.parametrize("split", [nn.utils.weight_norm, nn.utils.spectral_norm])
def test_a_weight_that_is_put_together_before_each_call(split):
    model = nn.Sequential(split(nn.Linear(3, 4)), nn.ReLU()).eval()
    with whet.no_grad():
        for p in model.parameters():
            p.mul_(1.5)                  # what the layer holds is older
    x = whet.randn(2, 3)
    exported = whet.export(model, x)
    assert exported(x).tolist() == model(x).tolist()


class Steps(nn.Module):
    """Attributes that get tensors."""

    def __init__(self, way):
        super().__init__()
        self.way, self.a, self.b = way, whet.zeros(1), whet.ones(1)

    def forward(self, x):
        if self.way == "counts":
            self.a = self.a + 1
        elif self.way == "swaps":
            self.a, self.b = self.b + 1, self.a + 1
        else:
            self.a = x.sum()
        return x * 2


@pytest.mark.parametrize("way", ["counts", "swaps", "keeps"])
def test_attributes_that_would_be_others_after_each_call_are_refused(way):
    with pytest.raises(ExportError, match=r"changes Python's state: `self\.a`"):
        whet.export(Steps(way), whet.ones(2))


def test_other_types_and_arrays_are_refused_with_what_to_do():
    with pytest.raises(ValueError, match="dtype is bfloat16 or float16, not whet.int8"):
        whet.export(whet.relu, whet.ones(3), dtype=whet.int8)
    with pytest.raises(whet.jit.export.ExportError, match=r"Pass whet.from_numpy\(it\)"):
        whet.export(lambda x: x, np.ones(3))


def test_a_signature_says_parameters_and_types():
    exported = whet.export(lambda a, b=2: {"y": a * b}, whet.ones(3))
    assert repr(exported.signature) == "(a, b): a: f32[3] -> y: f32[3]"


def test_code_that_asks_is_told_that_it_is_exported():
    """As packages do that skip by it what data decides."""
    def attend(x, mask):
        if not whet.compiler.is_exporting() and mask.all():
            return x
        return x.masked_fill(~mask, 0.0)
    x, some = whet.randn(3), whet.tensor([True, False, True])
    exported = whet.export(attend, x, whet.ones(3, dtype=whet.bool))
    assert exported(x, some).tolist() == attend(x, some).tolist()
    assert not whet.compiler.is_exporting()
    with pytest.raises(ZeroDivisionError):
        whet.export(lambda x: x / (1 // 0), x)
    assert not whet.compiler.is_exporting()
