"""Layers that are quantised in training, at each call, or by a file."""

import copy
import pickle

import numpy as np
import pytest
import whet
import whet.nn.functional as F
from whet import nn, quantize
from whet.cpu import weight_only as few_bits


def network():
    whet.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1, bias=False),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(128, 10),
    )


def test_training_goes_on_and_becomes_bytes():
    model = network()
    weight, names = model[0].weight, list(model.state_dict())
    assert quantize.qat(model) is model and model[0].weight is weight
    assert set(names) < set(model.state_dict()) and isinstance(model[0], nn.Conv2d)
    optimizer = whet.optim.SGD(model.parameters(), lr=0.05)
    x, y = whet.randn(32, 1, 8, 8), whet.randint(10, (32,))
    losses = []
    for _ in range(30):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0]
    small = quantize.convert(model.eval(), x)
    names = [n.op.name for n in small.graph.nodes]
    assert "quantised_conv" in names and "quantised_linear" in names and "relu" not in names
    real = model(x)
    assert (small(x) - real).abs().max() < 0.05 * real.abs().max()


def test_the_range_follows_what_comes_in_training_alone():
    fake = quantize.qat(nn.Linear(4, 2)).fake
    fake(whet.tensor([-1.0, 3.0]))
    assert (fake.low.item(), fake.high.item()) == (-1.0, 3.0)
    fake(whet.tensor([-2.0, 3.0]))
    assert abs(fake.low.item() + 1.1) < 1e-6
    fake.eval()
    assert fake(whet.tensor([-50.0, 50.0])).abs().max() < 4.0
    assert abs(fake.low.item() + 1.1) < 1e-6


def test_gradients_pass_the_rounding_where_nothing_is_cut_off():
    x = whet.tensor([-3.0, -0.26, 0.26, 3.0], requires_grad=True)
    scale = whet.tensor([0.5, 0.5, 0.25, 0.25])
    y = whet.fake_quantize_per_channel_affine(x, scale, 0, 0, -4, 4)
    assert y.tolist() == [-2.0, -0.5, 0.25, 1.0]
    (y * whet.tensor([1.0, 2.0, 3.0, 4.0])).sum().backward()
    assert x.grad.tolist() == [0.0, 2.0, 3.0, 0.0]
    with pytest.raises(RuntimeError, match="quant_min"):
        whet.fake_quantize_per_tensor_affine(x, 0.5, 0, 4, -4)


@pytest.mark.parametrize("bias", [True, False])
def test_dynamic_layers(bias):
    layer = nn.Linear(100, 33, bias=bias)
    x = whet.randn(2, 7, 100)
    wanted = layer(x).detach()
    model = quantize.dynamic(nn.Sequential(copy.deepcopy(layer)))
    assert (model(x) - wanted).abs().max() < 0.03 * wanted.abs().max()
    traced = whet.jit.trace(model)
    for scale in (1.0, 10.0, 0.1, 1.0):
        assert traced(x * scale).tolist() == model(x * scale).tolist()
    exported = whet.export(model.eval(), x)
    assert exported(x * 3).tolist() == model(x * 3).tolist()
    again = pickle.loads(pickle.dumps(model))
    assert again(x).tolist() == model(x).tolist()
    same = quantize.dynamic(nn.Sequential(layer), least=10_000)
    assert type(same[0]) is nn.Linear


def test_a_text_task_loses_less_than_a_point():
    """Does a sentence of letters have more vowels than consonants?"""
    rng = np.random.default_rng(0)
    letters = rng.integers(0, 26, (3000, 24))
    vowels = np.isin(letters, [0, 4, 8, 14, 20]) * 4 + rng.integers(0, 2, letters.shape)
    x, y = whet.from_numpy(letters), whet.from_numpy((vowels.sum(1) > 30).astype("i8"))
    whet.manual_seed(0)
    model = nn.Sequential(
        nn.Embedding(26, 16), nn.Linear(16, 64), nn.GELU(), Mean(), nn.Linear(64, 2)
    )
    optimizer = whet.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(4):
        for i in range(0, 2000, 100):
            loss = F.cross_entropy(model(x[i : i + 100]), y[i : i + 100])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    def right(f):
        return float((f(x[2000:]).argmax(1) == y[2000:]).float().mean())

    model.eval()
    before = right(model)
    small = quantize.static(model, [x[i : i + 1000] for i in (0, 1000)])
    assert before > 0.75 and right(small) > before - 0.01
    assert right(quantize.dynamic(copy.deepcopy(model))) > before - 0.01


class Mean(nn.Module):
    """The mean of a sentence's words."""

    def forward(self, x):
        return x.mean(1)


QDQ = """
<ir_version: 9, opset_import: ["" : 19]>
g (float[2,3,8,8] x) => (float[2,4] y)
<float sx = {0.03}, uint8 zx = {120},
 float[4] sw = {0.01, 0.02, 0.01, 0.03}, int8[4] zw = {0, 0, 0, 0},
 int32[4] b = {500, -300, 10, 0}, float[4] sb = {0.0003, 0.0006, 0.0003, 0.0009}, float sy = {0.02},
 int8 zy = {-128}, int32[4] zb = {0, 0, 0, 0}>
{
  q = QuantizeLinear(x, sx, zx)
  dq = DequantizeLinear(q, sx, zx)
  dw = DequantizeLinear <axis = 0> (w, sw, zw)
  db = DequantizeLinear <axis = 0> (b, sb, zb)
  c = Conv <pads = [1, 1, 1, 1]> (dq, dw, db)
  r = Relu(c)
  qr = QuantizeLinear(r, sy, zy)
  dr = DequantizeLinear(qr, sy, zy)
  p = GlobalAveragePool(dr)
  y = Flatten(p)
}
"""


def test_a_file_that_others_quantised_runs_in_bytes():
    onnx = pytest.importorskip("onnx")
    w = np.random.default_rng(0).integers(-127, 128, (4, 3, 3, 3)).astype("i1")
    proto = onnx.parser.parse_model(QDQ)
    proto.graph.initializer.append(onnx.numpy_helper.from_array(w, "w"))
    model, x = whet.onnx.load(proto), whet.randn(2, 3, 8, 8)
    small = quantize.convert(model, x)
    names = [n.op.name for n in small.graph.nodes]
    assert names[:2] == ["quantize_u8", "quantised_conv"] and "relu" not in names
    assert (small(x) - model(x)).abs().max() < 0.021
    # each byte of the weights is the file's
    (packed,) = [a for k, a in small.constants.items() if k.endswith("weight")]
    from whet.cpu.quantised_weights import Window, pack_window

    window = Window((3, 3), (1, 1), (1, 1), (1, 1), 1, 120)
    assert (packed.numpy() == pack_window(w, window)).all()


def test_what_is_written_as_onnx_gives_the_same(tmp_path):
    pytest.importorskip("onnx")
    model, x = network().eval(), whet.randn(4, 1, 8, 8)
    small = quantize.static(model, [x])
    small.to_onnx(tmp_path / "small.onnx")
    again = whet.onnx.load(tmp_path / "small.onnx")
    assert (again(x) - small(x)).abs().max() < 1e-5


@pytest.mark.parametrize("bits, bound", [(8, 0.01), (4, 0.15)])
def test_weights_alone(bits, bound):
    layer, x = nn.Linear(200, 70), whet.randn(6, 200)
    wanted = layer(x).detach()
    model = quantize.weight_only(nn.Sequential(layer), bits=bits, block=64)
    assert (model(x) - wanted).abs().max() < bound * wanted.abs().max()
    # each row by itself, in a trace, exported: the same bits
    rows = whet.cat([model(x[i : i + 1]) for i in range(6)])
    traced, exported = whet.jit.trace(model), whet.export(model.eval(), x)
    for found in (rows, traced(x), traced(x), exported(x)):
        assert found.tolist() == model(x).tolist()
    kept = sum(b.nbytes for b in model[0].buffers())
    assert kept < (0.3 if bits == 8 else 0.18) * 4 * 200 * 96


@pytest.mark.parametrize("bits", [8, 4])
def test_the_order_of_sums_of_weights_alone(bits):
    rng = np.random.default_rng(0)
    w = rng.standard_normal((33, 50)).astype("f4")
    packed, scales = few_bits.pack(w, bits, 16)
    bias = rng.standard_normal(scales.shape[1]).astype("f4")
    x = rng.standard_normal((7, 50)).astype("f4")
    found = few_bits.linear(x, packed, scales, bias, 33, bits, 16)
    assert found.tobytes() == few_bits._reference(x, packed, scales, bias, 33, bits, 16).tobytes()
    real = few_bits.unpacked(packed, scales, 33, bits, 16)
    assert np.abs(real - w).max() <= 0.51 * scales.max()
    np.testing.assert_allclose(found, x.astype("f8") @ real.T + bias[:33], rtol=1e-4, atol=1e-4)


def test_weights_alone_that_do_not_fit():
    with pytest.raises(ValueError, match="bits"):
        quantize.weight_only(nn.Linear(4, 4), bits=3)
    with pytest.raises(ValueError, match="block"):
        quantize.weight_only(nn.Linear(4, 4), bits=4, block=3)


@pytest.mark.parametrize("change", [quantize.dynamic, quantize.weight_only])
def test_an_input_that_does_not_fit_is_refused_as_by_real_numbers(change):
    layer = change(nn.Linear(4, 3))
    for width in (3, 5):
        with pytest.raises(RuntimeError, match=f"has {width} features, the weight is for 4"):
            layer(whet.randn(2, width))
    with pytest.raises(RuntimeError, match="expected an input of whet.float32"):
        layer(whet.randn(2, 4).double())


def test_what_does_not_say_how_it_is_quantised_is_not_converted():
    x = whet.randn(2, 4)
    with pytest.raises(ValueError, match="nothing in Linear says how it is quantised"):
        quantize.convert(nn.Linear(4, 3).eval(), x)
    with pytest.raises(ValueError, match="`0.fake` has seen no numbers in training"):
        quantize.convert(quantize.qat(nn.Sequential(nn.Linear(4, 3))).eval(), x)
