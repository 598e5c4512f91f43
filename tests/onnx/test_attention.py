"""Attention with masks of all kinds is one operator of an ONNX model, from opset 23 on."""

import collections

import pytest
import whet
import whet.onnx
from whet import nn
from whet.nn.functional import scaled_dot_product_attention

from tests.onnx.test_export import agree, run

onnx = pytest.importorskip("onnx")
OPSETS = range(23, onnx.defs.onnx_opset_version() + 1)


def heads(queries=5, keys=7):
    """Queries, keys and values of two examples and three heads."""
    return whet.randn(2, 3, queries, 8), whet.randn(2, 3, keys, 8), whet.randn(2, 3, keys, 4)


def written(fn, args, path, opset, dynamic=None):
    """The operators of a function's model, which gives its results."""
    whet.export(fn, *args, dynamic=dynamic).to_onnx(path, opset)
    agree(run(path.read_bytes(), *args), fn(*args))
    agree([y.detach().numpy() for y in [whet.onnx.load(path)(*args)]], fn(*args))
    return collections.Counter(n.op_type for n in onnx.load(path).graph.node)


def some(*shape):
    """A mask of which each row leaves something."""
    mask = whet.randn(*shape) > 0
    mask[..., 0] = True
    return mask


def none_in_a_row(*shape):
    mask = some(*shape)
    mask[..., 2, :] = False
    return mask


MASKS = {
    "one for all": lambda: some(5, 7),
    "by heads": lambda: some(3, 5, 7),
    "by examples": lambda: some(2, 1, 1, 7),
    "a vector": lambda: some(7),
    "with rows that see nothing": lambda: none_in_a_row(5, 7),
    "of numbers": lambda: whet.randn(5, 7),
    "of numbers, by examples": lambda: whet.randn(2, 1, 1, 7),
}


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("is_given", [True, False])
@pytest.mark.parametrize("name", MASKS)
def test_a_mask(name, is_given, opset, tmp_path):
    held = MASKS[name]()

    def fn(q, k, v, mask=held):
        return scaled_dot_product_attention(q, k, v, mask)

    args = [*heads(), held] if is_given else heads()
    found = written(fn, args, tmp_path / "a.onnx", opset)
    assert found["Attention"] == 1 and not found["Softmax"]
    # what is known not to be there is not looked for
    assert is_given or found["Where"] == (name == "with rows that see nothing")


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("keys", [5, 7, 3])
def test_what_is_causal(keys, opset, tmp_path):
    def fn(q, k, v):
        return scaled_dot_product_attention(q, k, v, is_causal=True)

    written(fn, heads(5, keys), tmp_path / "a.onnx", opset)
    (node,) = [n for n in onnx.load(tmp_path / "a.onnx").graph.node if n.op_type == "Attention"]
    says_so = any(a.name == "is_causal" and a.i == 1 for a in node.attribute)
    assert says_so == (keys == 5)  # others begin to count at the other end


def test_lengths_that_differ(tmp_path):
    def fn(q, k, v):
        return scaled_dot_product_attention(q, k, v, is_causal=True)

    seq = whet.jit.Dim("seq", min=2, max=20)
    found = written(fn, heads(5, 5), tmp_path / "a.onnx", 23, {x: {2: seq} for x in "qkv"})
    assert found == {"Attention": 1}
    args = heads(9, 9)
    agree(run((tmp_path / "a.onnx").read_bytes(), *args), fn(*args))


def test_a_layer_with_padding(tmp_path):
    layer = nn.MultiheadAttention(24, 3, batch_first=True).eval()
    missing = whet.zeros(2, 5).bool()
    missing[:, 4:] = True

    def fn(x, missing):
        return layer(x, x, x, key_padding_mask=missing, need_weights=False)[0]

    found = written(fn, [whet.randn(2, 5, 24), missing], tmp_path / "a.onnx", 23)
    assert found["Attention"] == 1 and not found["Softmax"]


def other_choice(q, k, v, mask):
    weights = (q * 0.5 @ k.mT).softmax(-1)
    return whet.where(mask, weights, 0.0) @ v


def other_rest(q, k, v, mask):
    weights = whet.where(mask, q * 0.5 @ k.mT, -float("inf")).softmax(-1)
    return whet.where(mask.any(-1, keepdim=True), weights, 1.0) @ v


@pytest.mark.parametrize("fn", [other_choice, other_rest])
def test_what_only_looks_like_it(fn, tmp_path):
    assert not written(fn, [*heads(), none_in_a_row(5, 7)], tmp_path / "a.onnx", 23)["Attention"]


def test_numbers_of_16_bits(tmp_path):
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3)).eval().to(whet.bfloat16)
    x = whet.randn(2, 4).to(whet.bfloat16)
    whet.export(net, x).to_onnx(tmp_path / "a.onnx")
    graph = onnx.load(tmp_path / "a.onnx").graph
    kinds = [n.op_type for n in graph.node if n.op_type != "Cast"]  # runners have no kernels of it
    assert kinds == ["Gemm", "Relu", "Gemm"]
    assert {t.data_type for t in graph.initializer} == {onnx.TensorProto.BFLOAT16}
    again = whet.onnx.load(tmp_path / "a.onnx")(x)
    assert (again.float() - net(x).float()).abs().max() < 1e-2
