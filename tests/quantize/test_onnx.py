"""Models of bytes as ONNX files, and such files of others."""

import numpy as np
import pytest
import whet
import whet.nn.functional as F
from whet import nn, quantize

onnx = pytest.importorskip("onnx")
from onnx.reference import ReferenceEvaluator  # noqa: E402

from tests.export.onnx_runtime import Runtime  # noqa: E402


class Residual(nn.Module):
    """Convolutions with all that a layer of bytes takes in, and products."""

    def __init__(self):
        super().__init__()
        self.first, self.norm = nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16)
        self.second = nn.Conv2d(16, 16, 3, padding=1)
        self.third = nn.Conv2d(16, 16, 3, padding=1, groups=16)
        self.hidden, self.out = nn.Linear(256, 10), nn.Linear(10, 4)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.norm(self.first(x))), 2)
        x = F.relu6(self.third(F.relu(self.second(x) + x)))
        return self.out(F.relu(self.hidden(F.max_pool2d(x, 2).flatten(1))))


@pytest.fixture(scope="module")
def model():
    whet.manual_seed(0)
    made = Residual().eval()
    with whet.no_grad():  # some rows whose scale is negative
        made.norm.weight.copy_(whet.randn(16))
    return made


DATA = [whet.randn(8, 3, 16, 16, generator=whet.Generator().manual_seed(i)) for i in range(3)]


def results(path, x, folder):
    """What runners give of a file: the reference evaluator, and ONNX Runtime where it is."""
    yield ReferenceEvaluator(str(path)).run(None, {"x": x.numpy()})[0]
    if Runtime.is_there():
        runtime = Runtime()
        yield runtime.run(path, [x.numpy()], folder)[0]
        runtime.close()


@pytest.mark.parametrize("how", [{}, {"symmetric": True}, {"per_channel": False}], ids=str)
def test_pairs_of_quantise_and_dequantise(model, how, tmp_path):
    small = quantize.static(model, DATA, **how)
    small.to_onnx(tmp_path / "pairs.onnx", qdq=True)
    graph = onnx.load(tmp_path / "pairs.onnx").graph
    kinds = [n.op_type for n in graph.node]
    assert kinds[:6] == ["QuantizeLinear", *["DequantizeLinear"] * 3, "Conv", "QuantizeLinear"]
    assert "ConvInteger" not in kinds and "MatMulInteger" not in kinds and "Clip" not in kinds
    made = {o: n for n in graph.node for o in n.output}
    for n in graph.node:
        if n.op_type in ("Conv", "Gemm"):
            assert [made[x].op_type for x in n.input] == ["DequantizeLinear"] * 3
    wanted = small(DATA[1]).numpy()
    for found in results(tmp_path / "pairs.onnx", DATA[1], tmp_path):
        assert np.abs(found - wanted).max() < 0.015 * np.abs(wanted).max()


def test_pairs_become_the_same_bytes_again(model, tmp_path):
    small = quantize.static(model, DATA)
    small.to_onnx(tmp_path / "pairs.onnx", qdq=True)
    again = quantize.convert(whet.onnx.load(tmp_path / "pairs.onnx"), DATA[0])
    ops = [[n.op.name for n in m.graph.nodes if "quantised" in n.op.name] for m in (small, again)]
    assert ops[0] == ops[1]
    wanted = small(DATA[0])
    assert (again(DATA[0]) - wanted).abs().max() < 0.015 * wanted.abs().max()


def cut(x, w=None, v=None):
    """A network that says itself which bytes it has; those from zero on are in place of a relu."""
    x = quantize.dequantize_linear(quantize.quantize_linear(x, 0.05, 128), 0.05, 128)
    for weight in (w, v):
        x = F.conv2d(x, whet.fake_quantize_per_tensor_affine(weight, 0.03, 0, -127, 127))
        x = quantize.dequantize_linear(quantize.quantize_linear(x, 0.1, 0), 0.1, 0)
    return x


def test_a_report_of_what_says_its_bytes_compares_with_numbers_that_end_where_these_do():
    w, v = whet.randn(8, 3, 3, 3), whet.randn(4, 8, 3, 3)
    small = quantize.convert(lambda x: cut(x, w, v), DATA[0])
    assert [layer.error < 0.05 for layer in small.report.layers] == [True, True]


def test_a_file_of_pairs_is_written_again_as_it_is(model, tmp_path):
    quantize.static(model, DATA).to_onnx(tmp_path / "pairs.onnx", qdq=True)
    loaded = whet.onnx.load(tmp_path / "pairs.onnx").eval()
    whet.export(loaded, DATA[0]).to_onnx(tmp_path / "again.onnx")
    wanted = loaded(DATA[1]).detach().numpy()
    for found in results(tmp_path / "again.onnx", DATA[1], tmp_path):
        assert np.abs(found - wanted).max() < 0.03 * np.abs(wanted).max()


def test_integers_give_the_same_numbers(model, tmp_path):
    small = quantize.static(model, DATA)
    small.to_onnx(tmp_path / "integers.onnx")
    for found in results(tmp_path / "integers.onnx", DATA[1], tmp_path):
        assert np.abs(found - small(DATA[1]).numpy()).max() < 1e-5


@pytest.mark.parametrize("change", [quantize.dynamic, quantize.weight_only])
def test_layers_that_are_quantised_in_each_call(change, tmp_path):
    layers = nn.Sequential(nn.Linear(64, 40), nn.GELU(), nn.Linear(40, 4)).eval()
    small = change(layers)

    def called(x):
        return small(x)

    x = whet.randn(5, 64)
    whet.export(called, x).to_onnx(tmp_path / "a.onnx")
    for y in (x, 3 * x):
        for found in results(tmp_path / "a.onnx", y, tmp_path):
            assert np.abs(found - small(y).detach().numpy()).max() < 1e-4
