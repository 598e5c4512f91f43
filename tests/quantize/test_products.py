"""Products with a known matrix are layers of bytes, as linear layers are; batches of any size."""

import warnings

import numpy as np
import pytest
import whet
import whet.onnx
from whet import nn, quantize


class Products(nn.Module):
    """A perceptron that is written with matrices."""

    def __init__(self):
        super().__init__()
        self.first = nn.Parameter(whet.randn(64, 32) / 8)
        self.bias = nn.Parameter(whet.randn(32))
        self.second = nn.Parameter(whet.randn(32, 8) / 6)

    def forward(self, x):
        return (x @ self.first + self.bias).relu() @ self.second


@pytest.fixture
def products():
    """(a model, data for it)"""
    whet.manual_seed(0)
    return Products().eval(), [whet.randn(16, 64) for _ in range(3)]


def far(a, b):
    """How far numbers are from others, against the largest."""
    return ((a - b).abs().max() / b.abs().max()).item()


def ops(exported):
    """The ops of a graph."""
    return [n.op.name for n in exported.graph.nodes]


def test_products_with_a_known_matrix_are_layers(products):
    model, data = products
    small = quantize.static(model, data)
    assert ops(small) == ["quantize_u8", "quantised_linear", "quantised_linear"]
    assert far(small(data[0]), model(data[0])) < 0.03
    assert [x.name for x in small.report.layers] == ["first", "second"]


def test_they_are_what_a_linear_layer_is(products):
    model, data = products
    first, second = nn.Linear(64, 32), nn.Linear(32, 8, bias=False)
    with whet.no_grad():
        for layer, w in ((first, model.first), (second, model.second)):
            layer.weight.copy_(w.T)
        first.bias.copy_(model.bias)
    linear = nn.Sequential(first, nn.ReLU(), second).eval()
    a, b = (quantize.static(m, data)(data[1]) for m in (model, linear))
    assert a.tolist() == b.tolist()


def test_products_of_batches_of_rows_and_of_two_activations(products):
    model, _ = products

    def fn(x):
        y = x @ model.first
        return y @ y.mT

    x = whet.randn(2, 5, 64)
    small = quantize.static(fn, [x])
    assert ops(small).count("quantised_linear") == 1 and "matmul" in ops(small)
    assert far(small(x), fn(x)) < 0.05


@pytest.mark.parametrize("by_column", [True, False])
def test_a_file_s_own_bytes_are_kept(by_column):
    onnx = pytest.importorskip("onnx")
    rng = np.random.default_rng(0)
    w = rng.integers(-127, 128, (16, 4)).astype("i1")
    scale = (rng.uniform(0.5, 1, 4) if by_column else np.array(0.7)).astype("f4") / 100
    helper, numpy_helper = onnx.helper, onnx.numpy_helper
    axis = {"axis": 1} if by_column else {}
    zero = np.zeros(scale.shape, "i1")
    held = {"w": w, "s": scale, "z": zero, "xs": np.float32(0.05), "xz": np.uint8(128),
            "b": rng.standard_normal(4).astype("f4")}
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "xs", "xz"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "xs", "xz"], ["d"]),
        helper.make_node("DequantizeLinear", ["w", "s", "z"], ["dw"], **axis),
        helper.make_node("MatMul", ["d", "dw"], ["m"]), helper.make_node("Add", ["m", "b"], ["y"])]
    ends = [helper.make_tensor_value_info(n, 1, [3, k]) for n, k in (("x", 16), ("y", 4))]
    graph = helper.make_graph(nodes, "net", ends[:1], ends[1:], [
        numpy_helper.from_array(np.asarray(a), n) for n, a in held.items()])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    model, x = whet.onnx.load(proto), whet.randn(3, 16)
    small = quantize.convert(model, x)
    assert ops(small) == ["quantize_u8", "quantised_linear"]
    (layer,) = small.report.layers
    assert layer.kind == "matmul" and far(small(x), model(x)) < 1e-6


@pytest.mark.parametrize("sizes", [[16, 5], [16, 40], [16, 1, 16]])
def test_batches_of_other_sizes(products, sizes):
    model, _ = products
    data = [whet.randn(n, 64) for n in sizes]
    data[-1][0] = 9.0  # the range follows what only the other batch has
    small = quantize.static(model, data)
    assert far(small(data[-1][:1].expand(16, -1)), model(data[-1][:1].expand(16, -1))) < 0.03


def test_batches_that_cannot_be_cut(products):
    def fn(x, y):
        return x @ products[0].first + y

    data = [(whet.randn(16, 64), whet.randn(1, 32)), (whet.randn(8, 64), whet.randn(1, 32))]
    with pytest.raises(ValueError, match="all arguments begin with that size alone"):
        quantize.static(fn, data)


def test_layers_of_other_types_are_told_of(products):
    model, data = products
    with pytest.warns(UserWarning, match=r"stay as they are: `first` \(float64\), `second`"):
        same = quantize.static(model.double(), [x.double() for x in data])
    assert not same.report.layers
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        quantize.static(model.float(), data)


def test_no_rows_and_odd_rows():
    whet.manual_seed(0)
    layer, x = nn.Linear(13, 6).eval(), whet.randn(3, 13)
    wanted = layer(x)
    for made in (quantize.weight_only(nn.Sequential(layer), bits=4, block=32),
                 quantize.dynamic(nn.Sequential(layer))):
        assert type(made[0]) is not nn.Linear and far(made(x), wanted) < 0.2
        assert made(whet.zeros(0, 13)).shape == (0, 6)
        traced = whet.jit.trace(made)
        assert [traced(x).tolist() for _ in range(4)] == [made(x).tolist()] * 4
