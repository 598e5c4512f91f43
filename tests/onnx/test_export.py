"""Exported functions as ONNX files: checked, run in ONNX Runtime where it is installed, else in the
reference evaluator."""

import importlib.util
import io
import math
import os

import numpy as np
import pytest
import whet
import whet.nn.functional as F
from whet import nn
from whet.onnx.errors import OnnxError

onnx = pytest.importorskip("onnx")
from onnx.reference import ReferenceEvaluator  # noqa: E402

NEWEST = onnx.defs.onnx_opset_version()


def run(model, *inputs):
    """The results of a model, given as bytes."""
    proto = onnx.load_from_string(model)
    given = dict(zip([x.name for x in proto.graph.input], [x.numpy() for x in inputs]))
    if importlib.util.find_spec("onnxruntime") is None:
        return ReferenceEvaluator(proto).run(None, given)
    import onnxruntime

    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    return session.run(None, given)


def agree(got, wanted):
    wanted = wanted if isinstance(wanted, tuple | list) else [wanted]
    assert len(got) == len(wanted)
    for a, b in zip(got, wanted):
        np.testing.assert_allclose(a, b.detach().numpy(), rtol=2e-4, atol=2e-5)


def kinds(path_or_bytes):
    """The operators of a model, in order."""
    load = onnx.load_from_string if isinstance(path_or_bytes, bytes) else onnx.load
    return [n.op_type for n in load(path_or_bytes).graph.node]


class RelativePositions(nn.Module):
    """Scores with a bias by how far two places lie apart, looked up in a table."""

    def __init__(self):
        super().__init__()
        self.bias = nn.Embedding(7, 2)

    def forward(self, x):
        at = whet.arange(x.shape[1])
        apart = (at[None] - at[:, None]).clamp(-3, 3) + 3
        return (x @ x.mT).unsqueeze(1) + self.bias(apart).permute(2, 0, 1)


def test_a_number_may_be_the_square_of_a_size(tmp_path):
    model, dims = RelativePositions(), [whet.jit.Dim("batch", max=5), whet.jit.Dim("time", max=20)]
    exported = whet.export(model, whet.randn(2, 7, 3), dynamic={"x": dict(enumerate(dims))})
    exported.to_onnx(tmp_path / "model.onnx")
    for shape in ((2, 7, 3), (4, 11, 3), (3, 2, 3)):
        x = whet.randn(*shape)
        agree(run((tmp_path / "model.onnx").read_bytes(), x), model(x))


@pytest.mark.parametrize("axis, other", [(0, (7, 13)), (1, (4, 20))])
def test_windows_where_a_size_differs(tmp_path, axis, other):
    def windows(x):
        return x.unfold(1, 4, 3 if axis == 0 else 1) * 2

    sizes = {axis: whet.jit.Dim("n", min=4, max=40)}
    exported = whet.export(windows, whet.randn(4, 13), dynamic={"x": sizes})
    exported.to_onnx(tmp_path / "model.onnx")
    for shape in ((4, 13), other):
        x = whet.randn(*shape)
        agree(run((tmp_path / "model.onnx").read_bytes(), x), windows(x))


@pytest.mark.parametrize("at", [
    dict(scale_factor=2), dict(size=(7, 9)), dict(scale_factor=2, mode="bilinear"),
    dict(scale_factor=1.5, mode="bicubic", align_corners=True),
    dict(size=(3, 4), mode="bilinear", antialias=True)])
def test_resized_images_of_any_batch(at, tmp_path):
    def resized(x):
        return F.interpolate(x, **at)
    sizes = {0: whet.jit.Dim("n", max=9)}
    exported = whet.export(resized, whet.randn(2, 3, 6, 5), dynamic={"x": sizes})
    exported.to_onnx(tmp_path / "model.onnx")
    for batch in (2, 5):
        x = whet.randn(batch, 3, 6, 5)
        agree(run((tmp_path / "model.onnx").read_bytes(), x), resized(x))


@pytest.mark.parametrize("part", [lambda n: n**-0.5, lambda n: 1 / n])
def test_fractions_of_sizes_go_by_them(tmp_path, part):
    def some(x):
        return x * part(x.shape[1])

    whet.onnx.export(some, (whet.randn(2, 7),), tmp_path / "m.onnx", dynamic_axes={"x": {1: "n"}})
    for n in (2, 7, 30):
        x = whet.randn(2, n)
        agree(run((tmp_path / "m.onnx").read_bytes(), x), some(x))


@pytest.mark.parametrize("part", [math.sin, lambda n: math.tanh(1 / n)])
def test_a_number_that_follows_no_expression_of_sizes_is_refused(tmp_path, part):
    def some(x):
        return x * part(x.shape[1])

    with pytest.raises(OnnxError, match=r"test_export.py:\d+: .* follows no expression"):
        whet.onnx.export(
            some, (whet.randn(2, 7),), tmp_path / "m.onnx", dynamic_axes={"x": {1: "n"}})


def test_groups_that_go_by_a_size_are_refused_with_the_line(tmp_path):
    weight = whet.ones(2, 2, 3, 3)

    def modulated(x):
        items, c, height, width = x.shape
        w = (weight[None] * x.mean((2, 3)).view(items, 1, c, 1, 1)).view(-1, c, 3, 3)
        return F.conv2d(x.reshape(1, -1, height, width), w, padding=1, groups=items)

    batch = whet.jit.Dim("batch", max=4)
    net = whet.export(modulated, whet.randn(2, 2, 5, 5), dynamic={"x": {0: batch}})
    assert net(whet.ones(3, 2, 5, 5)).shape == (1, 6, 5, 5)
    with pytest.raises(OnnxError, match=r"test_export.py:\d+: .*`group` of Conv would be batch"):
        net.to_onnx(tmp_path / "m.onnx")


def test_dynamic_axes_of_a_name_that_is_not_there_are_warned_of():
    def add(x):
        return x + 1

    axes = {"x": {0: "n"}, "image": {0: "m"}, "y": {0: "n"}}
    with pytest.warns(UserWarning, match="dynamic_axes has 'image'.* inputs are x, the results y"):
        whet.onnx.export(
            add, (whet.ones(2, 3),), None, input_names=["x"], output_names=["y"], dynamic_axes=axes)


# ---- models --------------------------------------------
class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(4, 3, 3, padding=1)
        self.norm, self.head = nn.BatchNorm2d(4), nn.Linear(3, 5)

    def forward(self, image):
        x = F.relu(self.norm(self.first(image)), inplace=True)
        return self.head(F.adaptive_avg_pool2d(image + self.second(x), 1).flatten(1))


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down, self.middle = nn.Conv2d(2, 4, 3, padding=1), nn.Conv2d(4, 8, 3, padding=1)
        self.up, self.out = nn.ConvTranspose2d(8, 4, 2, stride=2), nn.Conv2d(8, 1, 1)
        self.norm = nn.GroupNorm(2, 8)

    def forward(self, image):
        x = F.silu(self.down(image))
        y = self.up(F.gelu(self.norm(self.middle(F.max_pool2d(x, 2)))))
        return self.out(whet.cat([x, y], 1)).sigmoid()


class Decoder(nn.Module):
    """A block of a language model with a causal mask."""

    def __init__(self):
        super().__init__()
        self.token, self.place = nn.Embedding(11, 8), nn.Embedding(64, 8)
        self.qkv, self.out, self.norm = nn.Linear(8, 24), nn.Linear(8, 11), nn.LayerNorm(8)

    def forward(self, tokens):
        batch, length = tokens.shape
        x = self.token(tokens) + self.place(whet.arange(length))
        parts = self.qkv(self.norm(x)).chunk(3, -1)
        q, k, v = [y.view(batch, length, 2, 4).transpose(1, 2) for y in parts]
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(x + y.transpose(1, 2).reshape(batch, length, 8))


class Translator(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.encoder, self.decoder = kind(4, 6, batch_first=True), kind(3, 6, batch_first=True)
        self.head = nn.Linear(6, 2)

    def forward(self, source, target):
        _, state = self.encoder(source)
        return self.head(self.decoder(target, state)[0])


MLP = nn.Sequential(nn.Linear(4, 8), nn.ELU(), nn.Linear(8, 8), nn.Hardswish(), nn.Linear(8, 3))
ENCODER = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
MODELS = {
    "mlp": (lambda: MLP, lambda n: [whet.randn(n, 4)]),
    "residual": (Residual, lambda n: [whet.randn(n, 3, 6, 6)]),
    "unet": (UNet, lambda n: [whet.randn(n, 2, 8, 8)]),
    "encoder": (lambda: ENCODER, lambda n: [whet.randn(n, 5, 8)]),
    "decoder": (Decoder, lambda n: [whet.randint(11, (n, 6))]),
    "lstm": (lambda: Translator(nn.LSTM), lambda n: [whet.randn(n, 3, 4), whet.randn(n, 2, 3)]),
    "gru": (lambda: Translator(nn.GRU), lambda n: [whet.randn(n, 3, 4), whet.randn(n, 2, 3)]),
}


@pytest.mark.parametrize("name", MODELS)
def test_one_model_serves_three_batch_sizes(name):
    make, inputs = MODELS[name]
    model = make().eval()
    example = inputs(2)
    names = [f"x{i}" for i in range(len(example))]
    file = io.BytesIO()
    whet.onnx.export(
        model,
        tuple(example),
        file,
        input_names=names,
        dynamic_axes={n: {0: "batch"} for n in names},
    )
    given = onnx.load_from_string(file.getvalue()).graph.input
    assert [x.type.tensor_type.shape.dim[0].dim_param for x in given] == ["batch"] * len(names)
    for n in (1, 2, 5):
        args = inputs(n)
        agree(run(file.getvalue(), *args), model(*args))


def test_batch_and_length_may_differ_at_once():
    model, file = Decoder().eval(), io.BytesIO()
    shapes = ({0: "batch", 1: "length"},)
    whet.onnx.export(model, (whet.randint(11, (2, 6)),), file, dynamic_shapes=shapes)
    for shape in ((1, 3), (4, 9)):
        tokens = whet.randint(11, shape)
        agree(run(file.getvalue(), tokens), model(tokens))


@pytest.mark.parametrize("opset", range(17, NEWEST + 1))
@pytest.mark.parametrize("name", ["residual", "decoder"])
def test_every_opset(name, opset, tmp_path):
    make, inputs = MODELS[name]
    whet.export(make().eval(), *inputs(2)).to_onnx(tmp_path / "model.onnx", opset)
    assert onnx.load(tmp_path / "model.onnx").opset_import[0].version == opset


def test_an_opset_that_there_is_not_is_refused(tmp_path):
    exported = whet.export(MLP, whet.ones(1, 4))
    with pytest.raises(ValueError, match=f"opset: expected 17 to {NEWEST}, got 16"):
        exported.to_onnx(tmp_path / "model.onnx", 16)
    assert not os.listdir(tmp_path)


# ---- what is in a file --------------------------------------------
def test_norms_and_activations_are_operators_of_the_standard(tmp_path):
    net = nn.Sequential(nn.Linear(6, 6), nn.LayerNorm(6), nn.GELU(), nn.RMSNorm(6), nn.Mish())
    whet.export(net.eval(), whet.ones(2, 6)).to_onnx(tmp_path / "a.onnx", 23)
    found = kinds(str(tmp_path / "a.onnx"))
    assert found == ["Gemm", "LayerNormalization", "Gelu", "RMSNormalization", "Mul", "Mish"]
    whet.export(net, whet.ones(2, 6)).to_onnx(tmp_path / "b.onnx", 17)
    assert not {"Gelu", "RMSNormalization", "Mish"} & set(kinds(str(tmp_path / "b.onnx")))


def test_attention_is_one_operator_from_opset_23_on(tmp_path):
    whet.export(ENCODER.eval(), whet.randn(2, 5, 8)).to_onnx(tmp_path / "a.onnx", 23)
    found = kinds(str(tmp_path / "a.onnx"))
    assert found.count("Attention") == 1 and "Softmax" not in found

    def masked(q, k, v, mask):
        return F.scaled_dot_product_attention(q, k, v, mask)

    q, mask = whet.randn(2, 3, 5, 4), whet.randn(5, 6)
    args = q, whet.randn(2, 3, 6, 4), whet.randn(2, 3, 6, 7), mask
    whet.export(masked, *args).to_onnx(tmp_path / "b.onnx", 23)
    assert kinds(str(tmp_path / "b.onnx")) == ["Attention"]
    agree(run((tmp_path / "b.onnx").read_bytes(), *args), masked(*args))


def test_a_batch_norm_is_one_operator(tmp_path):
    net = nn.Sequential(nn.Conv1d(2, 3, 3), nn.BatchNorm1d(3), nn.ReLU()).eval()
    whet.export(net, whet.randn(2, 2, 7)).to_onnx(tmp_path / "a.onnx")
    assert kinds(str(tmp_path / "a.onnx"))[-3:] == ["Conv", "BatchNormalization", "Relu"]


def test_names_lines_and_nesting(tmp_path):
    def scores(batch, by=2.0):
        return {"scaled": batch["x"] * by, "both": [batch["x"] + batch["y"], batch["y"]]}

    batch = {"x": whet.ones(3), "y": whet.arange(3.0)}
    whet.export(scores, batch).to_onnx(tmp_path / "a.onnx")
    graph = onnx.load(tmp_path / "a.onnx").graph
    assert [x.name for x in graph.input] == ["batch.x", "batch.y"]
    assert [x.name for x in graph.output] == ["scaled", "both.0", "both.1"]
    assert graph.name == "scores" and "test_export.py:" in graph.node[0].doc_string
    assert list(graph.node[0].output) == ["scaled"]


def test_parameters_keep_their_names(tmp_path):
    whet.export(MLP, whet.ones(1, 4)).to_onnx(tmp_path / "a.onnx")
    held = {x.name for x in onnx.load(tmp_path / "a.onnx").graph.initializer}
    assert {"0.weight", "0.bias", "4.bias"} <= held


def test_writes_to_views_are_made_functional(tmp_path):
    def f(x, i):
        y = x.clone()
        y[:, 1] = 0
        y[0, ::2] += x[1, ::2]
        y.t()[2].mul_(3)
        y.view(-1)[3:5].add_(1)
        y[i] = -1.0
        return y, y.relu_().diagonal()

    x, i = whet.randn(3, 4), whet.tensor([2])
    whet.export(f, x, i).to_onnx(tmp_path / "a.onnx")
    agree(run((tmp_path / "a.onnx").read_bytes(), x, i), f(x, i))


def test_cond_and_while_loop_stay_control_flow(tmp_path):
    def f(x):
        n, y = whet.while_loop(
            lambda n, y: n < 4, lambda n, y: (n + 1, y * 2 + n), (whet.tensor(0), x)
        )
        return whet.cond(x.sum() > 0, lambda y: y + 1, lambda y: -y, (y,)), n

    whet.export(f, whet.ones(3)).to_onnx(tmp_path / "a.onnx")
    model = (tmp_path / "a.onnx").read_bytes()
    assert {"If", "Loop"} <= set(kinds(model))
    for x in (whet.ones(3), -whet.ones(3)):
        agree(run(model, x), f(x))


def test_data_lie_in_a_file_beside_where_asked(tmp_path):
    exported = whet.export(nn.Linear(40, 40).eval(), whet.ones(1, 40))
    exported.to_onnx(tmp_path / "a.onnx", external_data=True)
    assert sorted(os.listdir(tmp_path)) == ["a.onnx", "a.onnx.data"]
    assert (tmp_path / "a.onnx").stat().st_size < 1500 < (tmp_path / "a.onnx.data").stat().st_size
    model = onnx.load(tmp_path / "a.onnx")
    x = whet.randn(1, 40)
    agree(ReferenceEvaluator(model).run(None, {"input": x.numpy()}), exported(x))


def test_matrices_are_eliminated_step_by_step(tmp_path):
    def f(a, b):
        inverse, (sign, log) = whet.linalg.inv(a), whet.linalg.slogdet(a)
        root = whet.linalg.cholesky(a @ a.mT)
        return inverse, sign, log, root, whet.linalg.solve(a, b), whet.linalg.solve(a, b[0, :, 0])

    a, b = whet.randn(2, 7, 7).double(), whet.randn(2, 7, 3).double()
    a[1, 0, 0] = 0.0  # rows change places
    whet.export(f, a, b).to_onnx(tmp_path / "a.onnx")
    for x, wanted in zip(run((tmp_path / "a.onnx").read_bytes(), a, b), f(a, b)):
        np.testing.assert_allclose(x, wanted.numpy(), rtol=1e-9, atol=1e-9)


# ---- what is refused --------------------------------------------
def test_all_that_cannot_be_expressed_is_told_at_once(tmp_path):
    def f(x):
        y = whet.gcd(x, x)
        return y, whet.linalg.qr(x.float())

    (tmp_path / "a.onnx").write_text("as it was")
    with pytest.raises(OnnxError) as e:
        whet.export(f, whet.eye(2).int()).to_onnx(tmp_path / "a.onnx")
    told = str(e.value).splitlines()
    assert told[0] == "ONNX cannot express 2 operations of f:"
    assert "test_export.py:" in told[1] and "gcd" in told[1] and "qr" in told[2]
    assert (tmp_path / "a.onnx").read_text() == "as it was"


def test_a_size_that_is_a_constant_by_accident_is_found():
    def f(x):
        return x.sum(0) / float(x.shape[0] ** 3)

    with pytest.raises(OnnxError, match=r"test_export.py:\d+: a number is 8.0 in the example"):
        whet.onnx.export(f, (whet.ones(2, 3),), None, dynamic_axes={"x": {0: "n"}})


def test_a_function_that_goes_by_a_size_is_refused():
    def f(x):
        return x * 2 if x.shape[0] < 4 else x + 1

    with pytest.raises(OnnxError, match="another way where n is 5"):
        whet.onnx.export(f, (whet.ones(2, 3),), None, dynamic_axes={"x": {0: "n"}})


def test_a_model_that_gives_another_result_gets_no_name(tmp_path, monkeypatch):
    pytest.importorskip("onnxruntime")
    exported = whet.export(MLP, whet.ones(1, 4))
    exported.samples.results[0] = exported.samples.results[0] + 1
    with pytest.raises(OnnxError, match="another result `output` in ONNX Runtime: a difference of"):
        exported.to_onnx(tmp_path / "a.onnx")
    assert not os.listdir(tmp_path)


# ---- PyTorch's arguments --------------------------------------------
def test_the_mode_of_modules_is_restored():
    net = nn.Sequential(nn.Dropout(0.5), nn.Linear(3, 3).eval())
    program = whet.onnx.export(net, whet.ones(2, 3))
    assert net.training and net[0].training and not net[1].training
    assert [n.op_type for n in program.model_proto.graph.node] == ["Gemm"]


def test_keyword_arguments_may_come_as_a_dict():
    class Scaled(nn.Module):
        def forward(self, x, by):
            return x * by

    by = {"by": whet.tensor(3.0)}
    file, program = io.BytesIO(), whet.onnx.export(Scaled(), (whet.ones(2), by), verbose=False)
    program.save(file)
    agree(run(file.getvalue(), whet.ones(2), by["by"]), whet.ones(2) * 3)
    assert [x.name for x in program.model_proto.graph.input] == ["x", "by"]


def test_parameters_may_be_inputs(tmp_path):
    net = nn.Linear(3, 2)
    whet.onnx.export(net, whet.ones(1, 3), tmp_path / "a.onnx", export_params=False)
    graph = onnx.load(tmp_path / "a.onnx").graph
    assert not graph.initializer and {"weight", "bias"} <= {x.name for x in graph.input}


def test_names_that_are_too_many_are_refused():
    with pytest.raises(ValueError, match="input_names: there are 1 inputs, not 2"):
        whet.onnx.export(nn.Linear(3, 2), whet.ones(1, 3), input_names=["a", "b"])


# ---- and back --------------------------------------------
@pytest.mark.parametrize("name", ["mlp", "residual", "unet", "encoder", "decoder", "lstm", "gru"])
def test_what_is_loaded_again_gives_the_result(name, tmp_path):
    make, inputs = MODELS[name]
    model, args = make().eval(), inputs(2)
    whet.export(model, *args).to_onnx(tmp_path / "a.onnx")
    loaded = whet.onnx.load(tmp_path / "a.onnx")
    wanted, got = model(*args), loaded(*args)
    np.testing.assert_allclose(got.detach().numpy(), wanted.detach().numpy(), rtol=2e-4, atol=2e-5)


# ---- sizes that differ ---------------------------------
def test_an_export_of_sizes_that_differ_is_a_model_of_them(tmp_path):
    dims = {"image": {0: whet.jit.Dim("batch", min=1, max=9), 2: "height"}}
    e = whet.export(Residual().eval(), whet.randn(2, 3, 6, 5), dynamic=dims)
    e.to_onnx(tmp_path / "model.onnx")
    model = (tmp_path / "model.onnx").read_bytes()
    shape = onnx.load_from_string(model).graph.input[0].type.tensor_type.shape.dim
    assert [d.dim_param or d.dim_value for d in shape] == ["batch", 3, "height", 5]
    for sizes in ((1, 3, 4, 5), (9, 3, 11, 5)):
        x = whet.randn(*sizes)
        agree(run(model, x), e(x))


SIZED = {
    "pool": lambda x: F.max_pool2d(x, 2) + 1,
    "group norm": nn.GroupNorm(2, 4).eval(),
    "variance": lambda x: (x.var((2, 3)), x.std((0, 2, 3))),
    "strided": nn.Sequential(nn.Conv2d(4, 4, 3, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten()).eval(),
}


@pytest.mark.parametrize("name", SIZED)
def test_images_of_any_size(name, tmp_path):
    fn, dim = SIZED[name], whet.jit.Dim
    given = "input" if isinstance(fn, nn.Module) else "x"
    sizes = {0: dim("n", min=1, max=6), 2: dim("h", min=5, max=20), 3: dim("w", min=5, max=20)}
    e = whet.export(fn, whet.randn(2, 4, 6, 9), dynamic={given: sizes})
    e.to_onnx(tmp_path / "model.onnx")
    for shape in ((2, 4, 6, 9), (3, 4, 13, 8), (1, 4, 20, 5)):
        x = whet.randn(*shape)
        agree(run((tmp_path / "model.onnx").read_bytes(), x), e(x))


def test_numbers_of_sizes_fill_a_tensor(tmp_path):
    def counted(x):
        return whet.full((3,), x.shape[0] * 2) + x.sum()

    e = whet.export(counted, whet.ones(4), dynamic={"x": {0: whet.jit.Dim("n", max=9)}})
    e.to_onnx(tmp_path / "model.onnx")
    agree(run((tmp_path / "model.onnx").read_bytes(), whet.ones(7)), e(whet.ones(7)))
